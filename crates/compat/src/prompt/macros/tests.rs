//! Tests: recorded cases (`golden`), additional rules (`rules`), and hostile texts (`hostile`).
//!
//! To add a case, add a line with [`check`] to `rules`: the text and its expansion.

mod golden;
mod hostile;
mod rules;

use serde_json::{Map, Value, json};

use super::{CardTexts, MacroContext, MacroEngine, MacroHistory};

/// Returns the facts of a small story.
fn test_context() -> MacroContext {
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
        history: MacroHistory {
            last: "{{user}} knocks.".into(),
            last_id: Some(3),
            version: Some((2, 4)),
            ..MacroHistory::default()
        },
        ..MacroContext::default()
    }
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

/// Expands each text in turn with the same variables; returns the results and the variables.
fn fill_texts(local: &Value, texts: &[&str]) -> (Vec<String>, Value) {
    let facts = test_context();
    let mut draw = || 0.5;
    let mut macros = MacroEngine::new(&facts, object(local), Map::new(), &mut draw);
    let told = texts.iter().map(|text| macros.fill(text)).collect();
    (told, Value::Object(macros.local.map().clone()))
}

fn check(text: &str, expected: &str) {
    let local = json!({"hp": 12, "name": "Ash", "off": "off", "list": "[1,2]"});
    assert_eq!(fill_texts(&local, &[text]).0, [expected], "{text}");
}
