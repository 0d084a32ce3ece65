//! Intended differences from SillyTavern, and features that SillyTavern does not have.

use clotho_compat::prompt::lore::{LoreTimers, LorebookScope, ScopedBook, WorldInfoSettings, scan};
use serde_json::{Value, json};

use super::{StubHost, active_uids, book, run_scan, scan_request};

fn verdict_reasons(book: &clotho_compat::prompt::lore::ScanBook, texts: &[&str], house: &mut StubHost) -> Value {
    let outcome = run_scan(book, texts, house);
    let told = outcome.active.iter().map(|fired| &fired.verdict).chain(&outcome.stopped);
    let told = told.map(|verdict| (verdict.uid.clone(), serde_json::to_value(&verdict.why).unwrap()));
    Value::Object(told.collect())
}

/// `domain.md` 7.1: an entry can have a condition on the state.
#[test]
fn lore_condition_on_variables_activates_entry() {
    let book = book(&[
        json!({"key": ["lantern"], "when": "affinity >= 20"}),
        json!({"key": ["lantern"], "when": "affinity < 20"}),
        json!({"constant": true, "when": "combat.hp < 5 or place == \"quay\""}),
        json!({"constant": true, "when": "affinity >="}),
    ]);
    let mut house = StubHost { world: json!({"affinity": 25, "place": "quay"}), ..StubHost::default() };
    assert_eq!(active_uids(&run_scan(&book, &["The lantern."], &mut house)), ["0", "2"]);
    house.world = json!({"affinity": 3});
    assert_eq!(active_uids(&run_scan(&book, &["The lantern."], &mut house)), ["1"]);
    let told = verdict_reasons(&book, &["The lantern."], &mut house);
    assert_eq!(told["0"], json!({"why": "condition"}));
    assert_eq!(told["3"]["why"], "unreadable");
}

/// `domain.md` 7.3: each relevant entry says why it is active, or why not.
#[test]
fn lore_entry_reports_activation_reason() {
    // One entry for each reason.
    let book = book(&[
        json!({"constant": true}),
        json!({"key": ["/lan\\w+/"], "content": "@@x\ntext"}),
        json!({"content": "@@activate\ntext"}),
        json!({"key": ["lantern"], "content": "@@dont_activate\ntext"}),
        json!({"key": ["lantern"], "disable": true}),
        json!({"key": ["lantern"], "triggers": ["swipe"]}),
        json!({"key": ["lantern"], "characterFilter": {"isExclude": false, "names": ["x"], "tags": []}}),
        json!({"key": ["lantern"], "delay": 9}),
        json!({"key": ["lantern"], "delayUntilRecursion": 1, "excludeRecursion": true}),
        json!({"key": ["lantern"], "keysecondary": ["ship"]}),
        json!({"key": ["lantern"], "group": "g", "groupOverride": true}),
        json!({"key": ["lantern"], "group": "g"}),
        json!({"key": ["lantern"], "useProbability": true, "probability": 10}),
        json!({"key": ["ship"]}),
        json!({"key": ["lantern"], "content": "x".repeat(9_000)}),
    ]);
    // Entries 4 and 13 give no reason.
    let told = verdict_reasons(&book, &["The lantern."], &mut StubHost::default());
    let words: Vec<(&str, &str)> = (0..15)
        .filter_map(|uid| told.get(uid.to_string()).map(|why| (uid, why)))
        .map(|(uid, why)| (["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14"][uid], why))
        .map(|(uid, why)| (uid, why["why"].as_str().unwrap()))
        .collect();
    assert_eq!(
        words,
        [
            ("0", "constant"),
            ("1", "key"),
            ("2", "forced"),
            ("3", "suppressed"),
            ("5", "trigger"),
            ("6", "character"),
            ("7", "delay"),
            ("8", "recursion"),
            ("9", "secondary"),
            ("10", "key"),
            ("11", "group"),
            ("12", "probability"),
            ("14", "budget"),
        ]
    );
    // Some reasons have details.
    assert_eq!(told["1"]["key"], "/lan\\w+/");
    assert_eq!(told["11"]["lost"], "priority");
    assert_eq!(
        run_scan(&book, &["The lantern."], &mut StubHost::default()).silent,
        2,
        "one is off, one is not spoken of"
    );
}

/// A SillyTavern bug that is not copied: an entry without a group is removed because another one lost twice.
#[test]
fn lore_group_losing_twice_keeps_ungrouped_entry() {
    let book = book(&[
        json!({"key": ["lantern"], "group": "x, y"}),
        json!({"key": ["lantern"], "group": "x", "groupOverride": true}),
        json!({"key": ["lantern"], "group": "y", "groupOverride": true}),
        json!({"key": ["lantern"]}),
    ]);
    let bound = [ScopedBook { scope: LorebookScope::Global, book: &book }];
    let of = |removes_twice: bool| {
        let settings = WorldInfoSettings { removes_twice, recursive: false, ..WorldInfoSettings::default() };
        let outcome =
            scan(&bound, &settings, &scan_request(&["lantern"]), &LoreTimers::default(), &mut StubHost::default());
        active_uids(&outcome).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(of(false), ["1", "2", "3"]);
    assert_eq!(of(true), ["1", "2"], "as in SillyTavern");
}

/// SillyTavern quirks that are kept: a key of blanks matches any text, even an empty one. A text that was left out by
/// the budget is still scanned. A recursion level opens only after another entry activated. An entry with the depth
/// `null` keeps it.
#[test]
fn lore_sillytavern_quirks_are_kept() {
    let house = &mut StubHost::default();
    let blank = book(&[json!({"key": ["  "], "scanDepth": 0}), json!({"key": [""]})]);
    assert_eq!(active_uids(&run_scan(&blank, &["x"], house)), ["0"]);
    let left_out = book(&[
        json!({"key": ["lantern"], "content": format!("{} gate", "x".repeat(9_000))}),
        json!({"key": ["gate"], "ignoreBudget": true}),
        json!({"key": ["nobody"], "delayUntilRecursion": 1}),
        json!({"key": ["nobody"], "delayUntilRecursion": 2}),
    ]);
    assert_eq!(active_uids(&run_scan(&left_out, &["lantern"], house)), ["1"]);
    let level = book(&[json!({"key": ["lantern"], "delayUntilRecursion": 1})]);
    assert_eq!(active_uids(&run_scan(&level, &["lantern"], house)), Vec::<&str>::new());
    let nowhere = book(&[json!({"constant": true, "position": 4, "depth": null, "role": null})]);
    let printed = run_scan(&nowhere, &["x"], house).placement;
    assert_eq!(json!(printed.at_depth), json!([{"depth": null, "role": 0, "entries": ["text 0"]}]));
}

/// One search for all keys of a text and a separate search for each key agree on case, whole words and scripts without
/// spaces.
#[test]
fn lore_key_matching_agrees_in_both_searches() {
    let long = "a key that is much longer than what the automaton knows of it";
    for (key, text, whole, sensitive, expected) in [
        ("Lamp", "the LAMP.", true, false, true),
        ("Lamp", "the LAMP.", true, true, false),
        ("lamp", "a lamppost", true, false, false),
        ("lamp", "a lamppost, a lamp", true, false, true),
        ("lamp", "a lamppost", false, false, true),
        ("lamp post", "lamp posts", true, false, true),
        ("灯塔", "我看见灯塔在", true, false, true),
        ("ΟΔΟΣ", "η οδος εδώ", true, false, true),
        ("İ", "x i\u{307} y", true, false, true),
        ("K", "\u{212a}elvin", true, false, false),
        ("K", "5 \u{212a}", true, false, true),
        (long, "A KEY THAT IS MUCH LONGER THAN WHAT THE AUTOMATON KNOWS OF IT!", true, false, true),
        (long, "a key that is much longer than what the automaton knows of", true, false, false),
        ("{{user}}'s", "ann's", true, false, true),
        ("a\u{1}b", "a\u{1}b", true, false, true),
        ("smith's forge", "at the smith’s forge", true, false, true),
        ("smith’s", "THE SMITH'S.", true, false, true),
        ("smith's", "the smithʼs", true, true, true),
        ("Smith's", "the smith’s", true, true, false),
        ("\"Gull\"", "on the “Gull”", true, false, true),
        ("half-elf", "a half–elf", true, false, true),
        ("café", "the cafe\u{301}", true, false, true),
        ("café", "the cafe\u{301}", true, true, true),
        ("cafe", "the café", true, false, false),
        ("ABC", "ａｂｃ", true, false, true),
        ("ABC", "ＡＢＣ", true, true, false),
        ("straße", "STRASSE", true, false, true),
        ("final", "the ﬁnal", true, false, true),
        ("кот", "Который час?", true, false, false),
        ("кот", "Вот КОТ, смотри.", true, false, true),
        ("кот", "Который час?", false, false, true),
        ("na", "Quel naïf, dit-elle.", true, false, false),
        ("λόγο", "ο λόγος", true, false, false),
        ("龙城", "我去了龙城看看", true, false, true),
        ("龙城", "abc龙城123", true, false, true),
        ("마법사", "그 마법사는", true, false, true),
        ("HP", "他的HP很低", true, false, true),
        ("\u{200b}", "x y", true, false, false),
        ("/smith's/", "the smith’s", true, false, false),
        ("\u{0}", "x\u{0}y", false, false, true),
    ] {
        let entry = json!({"key": [key], "matchWholeWords": whole, "caseSensitive": sensitive});
        let found = !run_scan(&book(&[entry]), &["", text], &mut StubHost::default()).active.is_empty();
        assert_eq!(found, expected, "{key} in {text}");
    }
}

/// A book can ask for SillyTavern's own borders of words.
#[test]
fn lore_word_characters_ascii_are_those_of_sillytavern() {
    for (words, expected) in [(json!("ascii"), 3), (json!("unicode"), 1), (json!(7), 1), (json!(null), 1)] {
        let entries = json!({
            "0": {"uid": 0, "key": ["кот"], "content": "a", "position": 0},
            "1": {"uid": 1, "key": ["na", "{{noop}}na"], "content": "b", "position": 0},
            "2": {"uid": 2, "key": ["naïf"], "content": "c", "position": 0},
        });
        let book = json!({"entries": entries, "wordCharacters": words});
        let book = clotho_compat::prompt::lore::ScanBook::read("b", "Book", book.as_object().unwrap());
        let outcome = run_scan(&book, &["Который naïf час"], &mut StubHost::default());
        assert_eq!(outcome.active.len(), expected, "{words}");
    }
}

/// Entries at one depth keep their order, whatever their roles; neighbours with one role are one text.
#[test]
fn lore_roles_at_one_depth_keep_their_order() {
    let at = |role: u8, depth: u8| json!({"constant": true, "position": 4, "depth": depth, "role": role});
    let book = book(&[at(0, 1), at(2, 1), at(1, 1), at(1, 1), at(0, 3), at(0, 1)]);
    let printed = run_scan(&book, &["x"], &mut StubHost::default()).placement;
    let told: Vec<(Option<i64>, u8, String)> =
        printed.at_depth.iter().map(|one| (one.depth, one.role, one.entries.join("|"))).collect();
    let one = |depth: i64, role: u8, texts: &str| (Some(depth), role, texts.to_owned());
    let expected = [
        one(1, 0, "text 5"),
        one(3, 0, "text 4"),
        one(1, 1, "text 3|text 2"),
        one(1, 2, "text 1"),
        one(1, 0, "text 0"),
    ];
    assert_eq!(told, expected);
}

/// Keys may be written as one text, as people do by hand; numbers are keys too.
#[test]
fn lore_keys_as_one_text_fire_separately() {
    let entry = |key: Value| json!({"key": key, "keysecondary": "lit； dark"});
    let book = book(&[entry(json!("lamp, lantern")), entry(json!("/la.p, x/, fog")), entry(json!([7, null]))]);
    let fired = |text: &str| {
        let outcome = run_scan(&book, &[text], &mut StubHost::default());
        active_uids(&outcome).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(fired("The lantern is lit."), ["0"]);
    assert_eq!(fired("a dark lamp, x"), ["0", "1"]);
    assert_eq!(fired("dark fog, 7 of them"), ["1", "2"]);
    assert_eq!(fired("lamp, lantern"), [""; 0]);
}
