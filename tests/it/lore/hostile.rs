//! Malicious lorebooks and chats: a scan always ends, reports what it skipped, and never panics.

use clotho_compat::prompt::lore::{LoreNote, LoreTimers, LorebookScope, ScopedBook, WorldInfoSettings, scan};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{StubHost, active_uids, book, run_scan, scan_request};

/// Bad input: a runaway pattern counts as no match and leaves a note.
#[test]
fn lore_runaway_regex_counts_as_no_match() {
    let book = book(&[json!({"key": ["/^(a+)+\\1$/s"]}), json!({"key": ["lantern"]})]);
    let text = format!("{}! lantern", "a".repeat(20_000));
    let outcome = run_scan(&book, &[&text], &mut StubHost::default());
    assert_eq!(active_uids(&outcome), ["1"]);
    let many: Vec<Value> = (0..2_000).map(|n| json!({"key": [format!("/(?:a|a?)+{n}\\b/")]})).collect();
    let outcome = run_scan(&super::book(&many), &[&text], &mut StubHost::default());
    assert!(!outcome.notes.is_empty(), "nothing was given up");
}

/// Bad input: a key of a megabyte, longer messages, thousands of keys with the same beginning.
#[test]
fn lore_large_keys_and_texts_are_scanned() {
    let large = "a".repeat(1 << 20);
    let mut entries = vec![json!({"key": [large.clone()]}), json!({"key": [format!("{large}b")]})];
    entries.extend(
        (1..400).map(|n| json!({"key": ["a".repeat(n)], "matchWholeWords": false, "caseSensitive": n % 2 == 0})),
    );
    let book = book(&entries);
    let outcome = run_scan(&book, &[&format!("{large} and more"), &large.repeat(3)], &mut StubHost::default());
    assert!(active_uids(&outcome).contains(&"0") && !active_uids(&outcome).contains(&"1"));
    assert!(outcome.notes.contains(&LoreNote::MessagesTooLong {}), "{:?}", outcome.notes);
}

/// Bad input: entries that activate each other, in cycles and in an endless chain.
#[test]
fn lore_recursive_entries_terminate() {
    let circle = book(&[json!({"key": ["one"], "content": "two"}), json!({"key": ["two"], "content": "one"})]);
    assert_eq!(active_uids(&run_scan(&circle, &["one"], &mut StubHost::default())), ["0", "1"]);
    let chain: Vec<Value> = (0..5_000)
        .map(|n| json!({"key": [format!("k{n}k")], "content": format!("k{}k", n + 1), "ignoreBudget": true}))
        .collect();
    let outcome = run_scan(&book(&chain), &["k0k"], &mut StubHost::default());
    assert_eq!(outcome.active.len(), outcome.passes);
    assert!(outcome.notes.contains(&LoreNote::EndlessActivation {}), "{:?}", outcome.notes);
}

/// Bad input: 100 000 entries of one group. Entries over the limit are not read, with a note.
#[test]
fn lore_entries_over_limit_are_skipped_with_note() {
    let entries: Map<String, Value> = (0..100_001)
        .map(|n| (n.to_string(), json!({"uid": n, "key": ["lantern"], "content": "x", "group": "g", "position": 0})))
        .collect();
    let book = clotho_compat::prompt::lore::ScanBook::read("b", "b", json!({"entries": entries}).as_object().unwrap());
    let outcome = run_scan(&book, &["a lantern"], &mut StubHost::default());
    assert_eq!(outcome.active.len(), 1);
    assert_eq!(outcome.notes.len(), 1, "{:?}", outcome.notes);
}

/// Bad input: more keys than the limit. The others work, and the note names the entries whose keys were ignored.
#[test]
fn lore_keys_over_limit_are_ignored_with_note() {
    let keys = |most: usize| (0..most).map(|n| json!(format!("k{n}k"))).collect::<Value>();
    let many = [
        json!({"key": keys(10_001)}),
        json!({"key": keys(10_000)}),
        json!({"key": ["a"], "keysecondary": keys(10_001)}),
    ];
    let outcome = run_scan(&book(&many), &["k10000k"], &mut StubHost::default());
    assert!(active_uids(&outcome).is_empty(), "{:?}", active_uids(&outcome));
    let note = |uid: &str| LoreNote::TooManyEntryKeys { limit: 10_000, uid: uid.to_owned() };
    assert_eq!(outcome.notes, [note("0"), note("2")]);
    assert_eq!(active_uids(&run_scan(&book(&many), &["k9999k"], &mut StubHost::default())), ["0", "1"]);
}

/// Returns a strategy for arbitrary JSON as an entry.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        Just(json!(1e308)),
        "[a-c/@{}\\\\\u{1}\n ]{0,6}".prop_map(Value::from),
    ];
    prop_oneof![leaf.clone(), proptest::collection::vec(leaf, 0..3).prop_map(Value::from)]
}

proptest! {
    /// Bad input: a scan of any entry and any message ends, and the next scan can continue with its timers.
    #[test]
    fn lore_scan_of_arbitrary_book_terminates(
        entries in proptest::collection::vec(
            proptest::collection::vec(any_json(), FIELDS.len()), 0..6,
        ),
        texts in proptest::collection::vec("[a-c/ \u{1}\n]{0,12}", 0..4),
        depth in -2_i64..2_000, min_activations in 0_usize..4, draw in 0.0_f64..1.0,
    ) {
        let entries: Vec<Value> = entries
            .into_iter()
            .map(|values| Value::Object(FIELDS.iter().map(|name| (*name).to_owned()).zip(values).collect()))
            .collect();
        let book = book(&entries);
        let bound = [ScopedBook { scope: LorebookScope::Global, book: &book }, ScopedBook { scope: LorebookScope::Persona, book: &book }];
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let settings = WorldInfoSettings { depth, min_activations, ..WorldInfoSettings::default() };
        let mut house = StubHost { draw, ..StubHost::default() };
        let mut timers = LoreTimers::default();
        for count in 1..4 {
            let scanned = clotho_compat::prompt::lore::ScanRequest { count, ..scan_request(&texts) };
            let outcome = scan(&bound, &settings, &scanned, &timers, &mut house);
            prop_assert_eq!(outcome.active.len() + outcome.stopped.len() + outcome.silent, entries.len());
            timers = outcome.timers;
        }
    }
}

const FIELDS: [&str; 22] = [
    "key",
    "keysecondary",
    "content",
    "constant",
    "selective",
    "selectiveLogic",
    "order",
    "position",
    "depth",
    "role",
    "probability",
    "useProbability",
    "group",
    "groupOverride",
    "groupWeight",
    "scanDepth",
    "sticky",
    "cooldown",
    "delay",
    "delayUntilRecursion",
    "when",
    "preventRecursion",
];
