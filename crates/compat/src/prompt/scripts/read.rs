//! A script as its file writes it. The file stays as it is and goes out again; here only what has to be known is taken out,
//! as loosely as JavaScript would.

use serde_json::{Map, Value};

use super::placement;

/// What a script says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RegexScript {
    /// Its name; empty where it has none.
    pub name: String,
    /// What it looks for.
    pub find: String,
    /// What is put there instead.
    pub replace: String,
    /// What is taken out of inserted groups.
    pub trim: Vec<String>,
    /// The kinds of text that it is for; `None` = it does not say.
    pub placements: Option<Vec<i64>>,
    /// It is switched off.
    pub is_disabled: bool,
    /// Only what is shown.
    pub for_display: bool,
    /// Only what is sent.
    pub for_prompt: bool,
    /// Also when a text is edited.
    pub on_edit: bool,
    /// Macros in what it looks for.
    pub macros: FindMacros,
    /// The newest message that it is for, in messages from the end.
    pub min_depth: Option<f64>,
    /// The oldest message that it is for.
    pub max_depth: Option<f64>,
}

/// What happens to macros in what a script looks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FindMacros {
    /// Nothing.
    #[default]
    Plain,
    /// They are filled in, and what they say is part of the pattern.
    Raw,
    /// They are filled in, and what they say stands for itself.
    Escaped,
}

impl FindMacros {
    /// The word for it on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Raw => "raw",
            Self::Escaped => "escaped",
        }
    }
}

impl RegexScript {
    /// Reads a script; `None` where it is no object.
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

    /// Whether it has a part in how messages are shown: what would be kept of them where scripts come from, and what is
    /// for display.
    pub fn affects_display(&self) -> bool {
        const READ: [i64; 4] = [placement::USER, placement::REPLY, placement::COMMAND, placement::REASONING];
        let is_there = self.placements.iter().flatten().any(|one| READ.contains(one));
        !self.is_disabled && !self.find.is_empty() && is_there && (self.for_display || !self.for_prompt)
    }

    /// Whether these words, in small letters, stand in it.
    pub fn contains_text(&self, words: &str) -> bool {
        let mut texts = [&self.find, &self.replace].into_iter().chain(&self.trim);
        texts.any(|text| text.to_lowercase().contains(words))
    }

    /// Whether the depth of a message is within its bounds; a text without a depth always is.
    pub fn is_in_depth(&self, depth: Option<i64>) -> bool {
        // Beyond a million all messages are as old as one another.
        let depth = depth.map(|depth| f64::from(i32::try_from(depth.clamp(-1, 1_000_000)).unwrap_or(i32::MAX)));
        depth.is_none_or(|depth| {
            self.min_depth.is_none_or(|min| depth >= min) && self.max_depth.is_none_or(|max| depth <= max)
        })
    }
}

/// What JavaScript takes for true.
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

/// A number, also one in quotes.
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

    /// What neither flag is for is kept where scripts come from, and so shown; lore is nobody's message.
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

    /// `minDepth` below -1 and `maxDepth` below 0 bound nothing; neither does what is no number.
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
