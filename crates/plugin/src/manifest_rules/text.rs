//! Note lines with values in them: `Rin now trusts you ({{affinity}}).`

use serde_json::Value;

use crate::localized_text::LocalizedText;
use clotho_core::world::condition::VariablePath;

/// Returns the text in every language.
pub(super) fn all_languages(words: &LocalizedText) -> Vec<&str> {
    if words.all().is_empty() {
        vec![words.get("")]
    } else {
        words.all().iter().map(|(_, text)| text.as_str()).collect()
    }
}

/// Returns the variables that a text names.
pub(super) fn variables(text: &str) -> Vec<VariablePath> {
    parts(text).into_iter().filter_map(|(_, name)| VariablePath::parse(name?)).collect()
}

/// Returns what is wrong with a text, if anything.
pub(super) fn text_problem(text: &str) -> Option<String> {
    parts(text).into_iter().find_map(|(_, name)| match name {
        Some(name) if VariablePath::parse(name).is_none() => {
            Some(format!("\"{{{{{name}}}}}\" is not the name of a value"))
        }
        _ => None,
    })
}

/// Fills the values into the text; a missing value becomes "–".
pub(super) fn fill(text: &str, mut value: impl FnMut(&VariablePath) -> Option<Value>) -> String {
    let mut told = String::new();
    for (before, name) in parts(text) {
        told.push_str(before);
        match name.and_then(VariablePath::parse).map(|variable| value(&variable)) {
            None => {}
            Some(Some(Value::String(text))) => told.push_str(&text),
            Some(Some(value)) if !value.is_null() => told.push_str(&value.to_string()),
            Some(_) => told.push('–'),
        }
    }
    told
}

/// Splits the text into pieces, each with the name in braces that follows it.
fn parts(text: &str) -> Vec<(&str, Option<&str>)> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("{{") {
        let Some((name, after)) = behind.split_once("}}") else { break };
        parts.push((before, Some(name.trim())));
        rest = after;
    }
    parts.push((rest, None));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rule_text_variables_are_filled_in() {
        let told = |text: &str| {
            fill(text, |variable| json!({"a": 5, "who": "Rin", "no": null}).get(variable.keys.join(".")).cloned())
        };
        assert_eq!(told("{{who}}: {{ a }}."), "Rin: 5.");
        assert_eq!(told("{{no}} {{gone}} {a} {{open"), "– – {a} {{open");
        assert_eq!(variables("{{a.b}} {{/c}}").iter().map(|v| v.keys.join("/")).collect::<Vec<_>>(), ["a/b", "c"]);
        assert!(
            text_problem("{{}}").is_some_and(|why| why.contains("is not the name of a value"))
                && text_problem("{{a}}").is_none()
        );
    }
}
