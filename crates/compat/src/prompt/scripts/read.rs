//! Reads a script from JSON, as loosely as JavaScript. The file itself is stored and exported unchanged; only the
//! needed fields are read.

use serde_json::{Map, Value};

use super::placement;

/// A parsed script.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RegexScript {
    /// Name; may be empty.
    pub name: String,
    /// Pattern to find.
    pub find: String,
    /// Replacement for a match.
    pub replace: String,
    /// Strings removed from inserted groups.
    pub trim: Vec<String>,
    /// Kinds of text that it is for; `None` = missing.
    pub placements: Option<Vec<i64>>,
    pub is_disabled: bool,
    /// Runs only on displayed texts.
    pub for_display: bool,
    /// Runs only on sent texts.
    pub for_prompt: bool,
    /// Also runs when a text is edited.
    pub on_edit: bool,
    /// How macros in the pattern are handled.
    pub macros: FindMacros,
    /// Smallest depth, in messages from the end.
    pub min_depth: Option<f64>,
    /// Largest depth, in messages from the end.
    pub max_depth: Option<f64>,
}

/// How macros in the pattern are handled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FindMacros {
    /// Not expanded.
    #[default]
    Plain,
    /// Expanded; the values are part of the pattern.
    Raw,
    /// Expanded; the values are escaped.
    Escaped,
}

impl FindMacros {
    /// Returns the word used in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Raw => "raw",
            Self::Escaped => "escaped",
        }
    }
}

impl RegexScript {
    /// Reads a script; `None` if it is not a JSON object.
    pub fn read(value: &Value) -> Option<Self> {
        let map = value.as_object()?;
        let text = |key: &str| map.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let is = |key: &str| map.get(key).is_some_and(is_true);
        let list = |key: &str| map.get(key).and_then(Value::as_array);
        let trim = list("trimStrings").into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        Some(Self {
            name: text("scriptName"),
            find: text("findRegex"),
            replace: text("replaceString"),
            trim: trim.collect(),
            placements: list("placement").map(|list| list.iter().filter_map(Value::as_i64).collect()),
            is_disabled: is("disabled"),
            for_display: is("markdownOnly"),
            for_prompt: is("promptOnly"),
            on_edit: is("runOnEdit"),
            macros: find_macros(map),
            min_depth: depth(map, "minDepth").filter(|depth| *depth >= -1.0),
            max_depth: depth(map, "maxDepth").filter(|depth| *depth >= 0.0),
        })
    }

    /// Returns whether it affects displayed messages: it is for display, or (without either flag) for stored texts.
    pub fn affects_display(&self) -> bool {
        const READ: [i64; 4] = [placement::USER, placement::REPLY, placement::COMMAND, placement::REASONING];
        let is_there = self.placements.iter().flatten().any(|one| READ.contains(one));
        !self.is_disabled && !self.find.is_empty() && is_there && (self.for_display || !self.for_prompt)
    }

    /// Returns whether the script contains a lower-case text, ignoring case.
    pub fn contains_text(&self, words: &str) -> bool {
        let mut texts = [&self.find, &self.replace].into_iter().chain(&self.trim);
        texts.any(|text| text.to_lowercase().contains(words))
    }

    /// Returns whether a depth is within the bounds; a text without a depth always is.
    pub fn is_in_depth(&self, depth: Option<i64>) -> bool {
        // Depths above a million are all treated the same.
        let depth = depth.map(|depth| f64::from(i32::try_from(depth.clamp(-1, 1_000_000)).unwrap_or(i32::MAX)));
        depth.is_none_or(|depth| {
            self.min_depth.is_none_or(|min| depth >= min) && self.max_depth.is_none_or(|max| depth <= max)
        })
    }
}

/// Returns whether JavaScript treats a value as true.
fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(is) => *is,
        Value::Number(number) => number.as_f64().is_some_and(|number| number != 0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

fn find_macros(map: &Map<String, Value>) -> FindMacros {
    match map.get("substituteRegex").and_then(number) {
        Some(1.0) => FindMacros::Raw,
        Some(2.0) => FindMacros::Escaped,
        _ => FindMacros::Plain,
    }
}

fn depth(map: &Map<String, Value>, key: &str) -> Option<f64> {
    map.get(key).and_then(number)
}

/// Reads a number, also from a string or boolean.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(is) => Some(f64::from(u8::from(*is))),
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
    .filter(|number: &f64| !number.is_nan())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn script_missing_or_odd_fields_use_defaults() {
        let bare = RegexScript::read(&json!({"findRegex": "a"})).unwrap();
        assert_eq!((bare.placements, bare.macros, bare.min_depth), (None, FindMacros::Plain, None));
        assert!(RegexScript::read(&json!("a")).is_none());
        for (value, expected) in [
            (json!(1), FindMacros::Raw),
            (json!(true), FindMacros::Raw),
            (json!(2), FindMacros::Escaped),
            (json!("2"), FindMacros::Escaped),
            (json!(7), FindMacros::Plain),
            (json!(null), FindMacros::Plain),
            (json!({}), FindMacros::Plain),
        ] {
            assert_eq!(RegexScript::read(&json!({"substituteRegex": value})).unwrap().macros, expected, "{value}");
        }
    }

    /// Scripts without either flag change stored texts and so the display; lore is never displayed.
    #[test]
    fn script_affects_display_is_detected() {
        for (more, expected) in [
            (json!({}), true),
            (json!({"markdownOnly": true}), true),
            (json!({"markdownOnly": true, "promptOnly": true}), true),
            (json!({"promptOnly": true}), false),
            (json!({"disabled": true}), false),
            (json!({"placement": [5, 0]}), false),
            (json!({"placement": null}), false),
            (json!({"placement": [6]}), true),
            (json!({"findRegex": ""}), false),
        ] {
            let mut script = json!({"findRegex": "A", "placement": [2], "trimStrings": ["{{Char}}"]});
            script.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let script = RegexScript::read(&script).unwrap();
            assert_eq!((script.affects_display(), script.contains_text("{{char")), (expected, true), "{more}");
        }
    }

    /// `minDepth` below -1 and `maxDepth` below 0 set no bound; neither do values that are no numbers.
    #[test]
    fn script_depth_bounds_are_respected() {
        let reaches = |min: Value, max: Value, depth| {
            RegexScript::read(&json!({"minDepth": min, "maxDepth": max})).unwrap().is_in_depth(depth)
        };
        assert!(reaches(json!(-2), json!(-1), Some(-1)) && reaches(json!("x"), json!(null), Some(0)));
        assert!(!reaches(json!(0), json!(null), Some(-1)) && reaches(json!(-1), json!(null), Some(-1)));
        assert!(!reaches(json!(null), json!(0), Some(1)) && reaches(json!(null), json!(0), Some(-1)));
        assert!(reaches(json!(5), json!(2), None) && !reaches(json!(5), json!(2), Some(3)));
        assert!(!reaches(json!(1e300), json!(null), Some(i64::MAX)) && reaches(json!("1"), json!("2"), Some(2)));
    }
}
