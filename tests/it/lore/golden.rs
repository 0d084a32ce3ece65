//! Lore scans compared with recorded scans of SillyTavern 1.19.0, turn by turn and byte for byte.

use std::collections::BTreeMap;

use clotho_compat::prompt::lore::{
    LoreAudience, LoreDepthTexts, LoreHost, LoreTimer, LoreTimers, LorebookScope, ScanBook, ScanCharacter, ScanMessage,
    ScanOutcome, ScanRequest, ScopedBook, WordCharacters, WorldInfoSettings, scan,
};
use clotho_core::stop_check::StopCheck;
use serde_json::{Map, Value, json};

const FAMILIES: [(&str, &str); 14] = [
    ("books", include_str!("../../fixtures/golden/lore/books.jsonl")),
    ("budget", include_str!("../../fixtures/golden/lore/budget.jsonl")),
    ("edge", include_str!("../../fixtures/golden/lore/edge.jsonl")),
    ("filters", include_str!("../../fixtures/golden/lore/filters.jsonl")),
    ("groups", include_str!("../../fixtures/golden/lore/groups.jsonl")),
    ("keys", include_str!("../../fixtures/golden/lore/keys.jsonl")),
    ("minact", include_str!("../../fixtures/golden/lore/minact.jsonl")),
    ("mixed", include_str!("../../fixtures/golden/lore/mixed.jsonl")),
    ("output", include_str!("../../fixtures/golden/lore/output.jsonl")),
    ("probability", include_str!("../../fixtures/golden/lore/probability.jsonl")),
    ("recursion", include_str!("../../fixtures/golden/lore/recursion.jsonl")),
    ("scan", include_str!("../../fixtures/golden/lore/scan.jsonl")),
    ("secondary", include_str!("../../fixtures/golden/lore/secondary.jsonl")),
    ("timed", include_str!("../../fixtures/golden/lore/timed.jsonl")),
];

/// The host of a scan: macros, tokens and draws as in a recorded case.
struct LoreCaseHost<'a> {
    case: &'a Value,
    draw_count: u64,
}

impl LoreHost for LoreCaseHost<'_> {
    fn fill(&mut self, text: &str) -> String {
        let text = text.replace("{{user}}", json_str(&self.case["user"])).replace("{{noop}}", "");
        text.replace("{{char}}", json_str(&self.case["character"]["name"])).replace("{{reverse::etag}}", "gate")
    }

    fn apply_scripts(&mut self, text: String, depth: Option<i64>) -> String {
        let scripts = self.case["regex_scripts"].as_array().into_iter().flatten();
        let binds = |apply_scripts: &&Value| match (apply_scripts["maxDepth"].as_i64(), depth) {
            (Some(most), Some(depth)) => depth <= most,
            _ => true,
        };
        scripts.filter(binds).fold(text, |text, apply_scripts| match json_str(&apply_scripts["findRegex"]) {
            "/red/g" => text.replace("red", json_str(&apply_scripts["replaceString"])),
            "/^wipe.*$/" if text.starts_with("wipe") => String::new(),
            _ => text,
        })
    }

    fn variable(&mut self, _: &[String]) -> Option<Value> {
        None
    }

    fn count_tokens(&mut self, text: &str) -> usize {
        text.encode_utf16().count().div_ceil(4)
    }

    fn random(&mut self) -> f64 {
        self.draw_count += 1;
        self.case["random"].as_f64().unwrap()
    }
}

fn json_str(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn json_strings(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|one| json_str(one).to_owned()).collect()
}

struct CaseRun<'a> {
    case: &'a Value,
    books: Vec<(LorebookScope, String, Map<String, Value>)>,
    chat: Vec<Value>,
    timers: LoreTimers,
    settings: WorldInfoSettings,
}

impl<'a> CaseRun<'a> {
    fn new(case: &'a Value) -> Self {
        let books = case["books"].as_array().unwrap().iter().map(|book| {
            let scope = match json_str(&book["scope"]) {
                "global" => LorebookScope::Global,
                "character" => LorebookScope::Character,
                "chat" => LorebookScope::Chat,
                _ => LorebookScope::Persona,
            };
            (scope, json_str(&book["name"]).to_owned(), book["book"].as_object().unwrap().clone())
        });
        let mut settings = WorldInfoSettings::from_sillytavern(case["settings"].as_object().unwrap());
        settings.removes_twice = true;
        Self { case, books: books.collect(), chat: Vec::new(), timers: LoreTimers::default(), settings }
    }

    /// Runs the next turn. Returns its outcome and the number of draws.
    fn run_turn(&mut self, turn: &Value) -> (ScanOutcome, u64) {
        // The messages and entries that this turn removes, adds or edits.
        self.chat.truncate(self.chat.len().saturating_sub(usize::try_from(turn["drop"].as_u64().unwrap()).unwrap()));
        self.chat.extend(turn["add"].as_array().unwrap().iter().cloned());
        if let Some(edit) = turn.get("edit") {
            for (_, name, book) in &mut self.books {
                if name == json_str(&edit["book"]) {
                    let entry = book["entries"].get_mut(edit["uid"].to_string()).unwrap().as_object_mut().unwrap();
                    entry.extend(edit["set"].as_object().unwrap().clone());
                }
            }
        }
        // Read the books.
        let read_book = |(scope, name, book): &(LorebookScope, String, Map<String, Value>)| {
            let mut book = book.clone();
            book.insert(WordCharacters::FIELD.to_owned(), "ascii".into());
            (*scope, ScanBook::read(name.as_str(), name.as_str(), &book))
        };
        let read: Vec<(LorebookScope, ScanBook)> = self.books.iter().map(read_book).collect();
        let bound: Vec<ScopedBook<'_>> = read.iter().map(|(scope, book)| ScopedBook { scope: *scope, book }).collect();
        // Build the request.
        let case = self.case;
        let visible = self.chat.iter().filter(|row| row["is_system"] != true);
        let messages: Vec<ScanMessage> = visible
            .map(|row| ScanMessage { name: json_str(&row["name"]).to_owned(), text: json_str(&row["mes"]).to_owned() })
            .rev()
            .collect();
        let scanned = ScanRequest {
            audience: LoreAudience::default(),
            has_values_call: false,
            similar: Vec::new(),
            overrides: Vec::new(),
            count: messages.len() as u64,
            messages,
            card: [
                "personaDescription",
                "characterDescription",
                "characterPersonality",
                "characterDepthPrompt",
                "scenario",
                "creatorNotes",
            ]
            .map(|key| json_str(&case["card"][key]).to_owned()),
            injects: json_strings(&case["scan_injects"]),
            trigger: json_str(&turn["trigger"]).to_owned(),
            character: ScanCharacter {
                file: json_str(&case["character"]["file"]).to_owned(),
                tags: json_strings(&case["character"]["tags"]),
            },
            prompt: usize::try_from(case["max_prompt_tokens"].as_u64().unwrap()).unwrap(),
            max_tokens: None,
            ignores_timers: turn["dry_run"] == true,
            stop: StopCheck::NEVER,
        };
        // Scan, and keep the timers for the next turn.
        let mut around = LoreCaseHost { case, draw_count: 0 };
        let outcome = scan(&bound, &self.settings, &scanned, &self.timers, &mut around);
        self.timers = outcome.timers.clone();
        (outcome, around.draw_count)
    }
}

/// Returns an outcome in the form of the cases.
fn outcome_json(outcome: &ScanOutcome, draws: u64) -> Value {
    let printed = &outcome.placement;
    let note = [printed.note_top.clone(), vec!["NOTE".to_owned()], printed.note_bottom.clone()].concat();
    let note = if note.len() > 1 { Value::from(note.join("\n")) } else { Value::Null };
    let timers = |timers: &BTreeMap<String, LoreTimer>| {
        let all = timers.iter().map(|(key, timer)| {
            (key.clone(), json!({"start": timer.start, "end": timer.end, "protected": timer.protected}))
        });
        Value::Object(all.collect())
    };
    let place = |top: bool| if top { "before" } else { "after" };
    let examples: Vec<Value> =
        printed.examples.iter().map(|(top, text)| json!({"position": place(*top), "content": text})).collect();
    json!({
        "activated": outcome.active.iter().map(|one| format!("{}.{}", one.verdict.book, one.verdict.uid)).collect::<Vec<_>>(),
        "before": printed.before,
        "after": printed.after,
        "an_top": printed.note_top,
        "an_bottom": printed.note_bottom,
        "author_note": note,
        "examples": examples,
        "at_depth": group_by_role(&printed.at_depth),
        "outlets": printed.outlets,
        "budget": outcome.budget,
        "overflowed": outcome.overflowed,
        "draws": draws,
        "timed": {"sticky": timers(&outcome.timers.sticky), "cooldown": timers(&outcome.timers.cooldown)},
        "passes": outcome.passes,
    })
}

/// Groups texts at a depth by role, as SillyTavern does. Here, entries of several roles keep their order.
fn group_by_role(at_depth: &[LoreDepthTexts]) -> Vec<LoreDepthTexts> {
    let mut groups: Vec<LoreDepthTexts> = Vec::new();
    for run in at_depth.iter().rev() {
        match groups.iter_mut().find(|group| group.depth == run.depth && group.role == run.role) {
            Some(group) => _ = group.entries.splice(0..0, run.entries.iter().cloned()),
            None => groups.push(run.clone()),
        }
    }
    groups
}

/// Returns the recorded result without the parts that have another form here.
fn expected_json(recorded: &Value) -> Value {
    let mut expected = recorded.clone();
    let own = expected.as_object_mut().unwrap();
    let passes = own.shift_remove("loops").unwrap().as_array().unwrap().len();
    own.insert("passes".into(), passes.into());
    own.shift_remove("variables");
    for kind in ["sticky", "cooldown"] {
        for timer in expected["timed"][kind].as_object_mut().unwrap().values_mut() {
            timer.as_object_mut().unwrap().shift_remove("hash");
        }
    }
    expected
}

fn differences(told: &Value, expected: &Value) -> Vec<String> {
    let keys = expected.as_object().unwrap().iter();
    keys.filter(|(key, value)| told[key.as_str()] != **value)
        .map(|(key, value)| format!("  {key}: {}\n  expected: {value}", told[key.as_str()]))
        .collect()
}

/// S3-16 and `domain.md` 7.1: every recorded scan of 14 families matches in each turn, byte for byte.
#[test]
fn lore_scan_matches_recorded_sillytavern_cases() {
    let (mut right, mut wrong) = (0, Vec::new());
    for (family, lines) in FAMILIES {
        let mut cases = 0;
        for case in lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            let mut story = CaseRun::new(&case);
            let turns = case["turns"].as_array().unwrap().iter().zip(case["expect"].as_array().unwrap());
            let wrong_turns: Vec<String> = turns
                .enumerate()
                .flat_map(|(at, (turn, recorded))| {
                    let (outcome, draws) = story.run_turn(turn);
                    let found = differences(&outcome_json(&outcome, draws), &expected_json(recorded));
                    found.into_iter().map(move |difference| format!(" turn {at}\n{difference}"))
                })
                .collect();
            cases += 1;
            if wrong_turns.is_empty() {
                right += 1;
            } else {
                wrong.push(format!("{}\n{}", case["id"], wrong_turns.join("\n")));
            }
        }
        assert!(cases > 0, "{family} has no cases");
    }
    assert!(wrong.is_empty(), "{right} right, {} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
