//! Checks of display hints. They only give warnings, since an unknown hint breaks nothing.

use serde_json::{Map, Value};

use super::SchemaError;
use super::keywords;
use super::subschemas;

/// The supported ways to show a value.
const SHAPES: [&str; 5] = ["bar", "chip", "list", "text", "hidden"];
/// The supported keys of an `x-ui` map.
const KEYS: [&str; 5] = ["as", "danger", "title", "description", "values"];

/// Returns a warning for every invalid hint, with its place.
pub(super) fn advice(source: &Value) -> Vec<SchemaError> {
    let looked = subschemas::collect_subschemas(source).into_iter().filter_map(|(at, map)| {
        let message = hint_problem(map.get("x-ui")?, map)?;
        Some(SchemaError { path: at.child("x-ui"), message })
    });
    looked.collect()
}

fn hint_problem(hint: &Value, schema: &Map<String, Value>) -> Option<String> {
    match hint {
        Value::String(shape) => shape_problem(shape, schema),
        Value::Object(map) => {
            if let Some(key) = map.keys().find(|key| !KEYS.contains(&key.as_str())) {
                let guess = guess(key, &KEYS);
                let stop = keywords::sentence_end(&guess);
                return Some(format!(
                    "\"{key}\" is not a part of \"x-ui\"{guess}{stop} Supported are {}",
                    KEYS.join(", ")
                ));
            }
            if map.get("danger").is_some_and(|danger| !danger.is_number()) {
                return Some("\"danger\" must be a number: at or below it, a bar is red".to_owned());
            }
            let texts = |key: &str| map.get(key).filter(|texts| !texts.is_object());
            if let Some(key) = ["title", "description", "values"].into_iter().find(|key| texts(key).is_some()) {
                return Some(format!("\"{key}\" has a text for each language: {{\"en\": …, \"zh\": …}}"));
            }
            shape_problem(map.get("as")?.as_str().unwrap_or_default(), schema)
        }
        _ => None,
    }
}

fn shape_problem(shape: &str, schema: &Map<String, Value>) -> Option<String> {
    if !SHAPES.contains(&shape) {
        let guess = guess(shape, &SHAPES);
        let stop = keywords::sentence_end(&guess);
        return Some(format!(
            "\"{shape}\" is not a supported way to show a value{guess}{stop} Supported are {}",
            SHAPES.join(", ")
        ));
    }
    let has = |word: &str| schema.contains_key(word);
    let is_range = (has("minimum") || has("exclusiveMinimum")) && (has("maximum") || has("exclusiveMaximum"));
    let lacks_range = shape == "bar" && !is_range && !has("$ref");
    lacks_range.then(|| "a bar needs \"minimum\" and \"maximum\"".to_owned())
}

fn guess(word: &str, names: &[&'static str]) -> String {
    keywords::suggestion(word, names.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ui_hints_unknown_hint_reports_path() {
        let check = |part: Value, message: &str| {
            let found = advice(&json!({"properties": {"people": {"additionalProperties": part}}}));
            let findings: Vec<String> = found.iter().map(ToString::to_string).collect();
            let place = "/properties/people/additionalProperties/x-ui: ";
            let expected: Vec<String> =
                Some(message).filter(|m| !m.is_empty()).map(|m| format!("{place}{m}")).into_iter().collect();
            assert_eq!(findings, expected);
        };
        check(json!({"x-ui": "chip"}), "");
        check(json!({"x-ui": {"as": "bar", "danger": 3, "title": {"zh": "x"}}, "minimum": 0, "maximum": 9}), "");
        check(
            json!({"x-ui": "bars"}),
            "\"bars\" is not a supported way to show a value; did you mean \"bar\"? Supported are bar, chip, list, text, hidden",
        );
        check(
            json!({"x-ui": {"danegr": 3}}),
            "\"danegr\" is not a part of \"x-ui\"; did you mean \"danger\"? Supported are as, danger, title, description, values",
        );
        check(json!({"x-ui": {"danger": "3"}}), "\"danger\" must be a number: at or below it, a bar is red");
        check(json!({"x-ui": {"title": "Life"}}), "\"title\" has a text for each language: {\"en\": …, \"zh\": …}");
        check(json!({"x-ui": "bar", "minimum": 0}), "a bar needs \"minimum\" and \"maximum\"");
    }
}
