//! The recorded cases (`golden`), what they do not show (`rules`), and texts of strangers (`hostile`).
//!
//! To add a case: a line of [`check`] in `rules`, with the text and what becomes of it.

mod golden;
mod hostile;
mod rules;

use serde_json::{Map, Value, json};

use super::{CardTexts, MacroContext, MacroEngine, MacroHistory};

/// Facts of a small story.
fn facts() -> MacroContext {
    MacroContext {
        user: "Ann".into(),
        character: "林".into(),
        persona: "{{user}} is a smith.".into(),
        card: CardTexts {
            description: "{{char}} keeps a lamp for {{user}}.".into(),
            greetings: vec!["Hello, {{user}}.".into(), "Again, {{user}}?".into()],
            system: "Be brief. {{original}}".into(),
            ..CardTexts::default()
        },
        said: MacroHistory {
            last: "{{user}} knocks.".into(),
            last_id: Some(3),
            version: Some((2, 4)),
            ..MacroHistory::default()
        },
        ..MacroContext::default()
    }
}

fn map(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

/// Each text filled in turn, with these variables and the same facts; what became of them, and the variables.
fn filled(local: &Value, texts: &[&str]) -> (Vec<String>, Value) {
    let facts = facts();
    let mut draw = || 0.5;
    let mut macros = MacroEngine::new(&facts, map(local), Map::new(), &mut draw);
    let told = texts.iter().map(|text| macros.fill(text)).collect();
    (told, Value::Object(macros.local.map().clone()))
}

fn check(text: &str, expected: &str) {
    let local = json!({"hp": 12, "name": "Ash", "off": "off", "list": "[1,2]"});
    assert_eq!(filled(&local, &[text]).0, [expected], "{text}");
}
