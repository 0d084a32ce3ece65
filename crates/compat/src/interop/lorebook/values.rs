//! Gives the fields of an entry their types. Programs write numbers and flags as texts, which would mean something else
//! or nothing here: the text `"false"` counts as true.

use serde_json::{Map, Value};

use super::conversion::ConversionNotes;
use crate::interop::lenient;

/// The type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoreFieldType {
    Truth,
    Number,
    /// A truth, or the number of a level.
    Level,
    /// A number, or one of these words for the numbers from 0.
    Choice(&'static [&'static str]),
}

const POSITIONS: &[&str] =
    &["before_char", "after_char", "an_top", "an_bottom", "at_depth", "em_top", "em_bottom", "outlet"];
const ROLES: &[&str] = &["system", "user", "assistant"];
const LOGICS: &[&str] = &["and_any", "not_all", "not_any", "and_all"];

use LoreFieldType::{Choice, Level, Number, Truth};

/// Fields of world info with a type that is not text, and whether null means that nothing is set.
const FIELDS: [(&str, LoreFieldType, bool); 32] = [
    ("constant", Truth, false),
    ("vectorized", Truth, false),
    ("selective", Truth, false),
    ("disable", Truth, false),
    ("ignoreBudget", Truth, false),
    ("excludeRecursion", Truth, false),
    ("preventRecursion", Truth, false),
    ("matchPersonaDescription", Truth, false),
    ("matchCharacterDescription", Truth, false),
    ("matchCharacterPersonality", Truth, false),
    ("matchCharacterDepthPrompt", Truth, false),
    ("matchScenario", Truth, false),
    ("matchCreatorNotes", Truth, false),
    ("useProbability", Truth, false),
    ("groupOverride", Truth, false),
    ("addMemo", Truth, false),
    ("delayUntilRecursion", Level, false),
    ("order", Number, false),
    ("probability", Number, false),
    ("depth", Number, false),
    ("groupWeight", Number, false),
    ("displayIndex", Number, false),
    ("position", Choice(POSITIONS), false),
    ("role", Choice(ROLES), false),
    ("selectiveLogic", Choice(LOGICS), false),
    ("scanDepth", Number, true),
    ("caseSensitive", Truth, true),
    ("matchWholeWords", Truth, true),
    ("useGroupScoring", Truth, true),
    ("sticky", Number, true),
    ("cooldown", Number, true),
    ("delay", Number, true),
];

/// Replaces values of another type by those that they stand for. A value that cannot be read becomes that of `blank`,
/// and is noted. Booleans and numbers in each other's place stay, because the scan reads them.
pub fn normalize(entry: &mut Map<String, Value>, blank: &Map<String, Value>, notes: &mut ConversionNotes) {
    for (name, kind, is_optional) in FIELDS {
        let Some(value) = entry.get_mut(name).filter(|value| !value.is_null()) else { continue };
        let is_plain = value.is_boolean() || (value.is_number() && is_in_range(value, kind));
        if is_plain {
            continue;
        }
        let is_unset =
            is_optional && value.as_str().is_some_and(|text| matches!(text.trim(), "" | "null" | "undefined"));
        match read(value, kind).filter(|_| !is_unset) {
            Some(read) => *value = read,
            None => {
                *value = blank.get(name).cloned().unwrap_or_default();
                if !is_unset {
                    notes.unreadable_field(name);
                }
            }
        }
    }
}

/// Returns whether a number is one of the choices of its field.
fn is_in_range(value: &Value, kind: LoreFieldType) -> bool {
    match kind {
        Choice(words) => lenient::count(value).is_some_and(|at| usize::try_from(at).is_ok_and(|at| at < words.len())),
        _ => true,
    }
}

fn read(value: &Value, kind: LoreFieldType) -> Option<Value> {
    match kind {
        Truth => lenient::truth(value).map(Value::Bool),
        Number => lenient::number(value).map(Value::Number),
        Level => lenient::number(value).map(Value::Number).or_else(|| lenient::truth(value).map(Value::Bool)),
        Choice(words) => choice(value, words),
    }
}

/// Returns the number of a choice, given as a number in a text or as its word.
pub fn choice(value: &Value, words: &[&str]) -> Option<Value> {
    let word = value.as_str().map(|word| word.trim().to_ascii_lowercase().replace([' ', '-'], "_"));
    let named = word.and_then(|word| words.iter().position(|known| *known == word));
    let number = || usize::try_from(lenient::count(value)?).ok().filter(|at| *at < words.len());
    named.or_else(number).map(Value::from)
}

/// Returns the number of a position, given as a number in a text or as its word.
pub fn position(value: &Value) -> Option<Value> {
    choice(value, POSITIONS)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn blank() -> Map<String, Value> {
        let blank = json!({"order": 100, "depth": 4, "constant": false, "position": 0, "sticky": null, "role": 0});
        blank.as_object().cloned().unwrap()
    }

    #[test]
    fn lore_values_of_other_types_are_read_or_reported() {
        let mut entry = json!({
            "constant": "false", "selective": "true", "disable": "0", "order": "12", "probability": "50.0", "depth": "2",
            "position": "4", "role": "assistant", "selectiveLogic": "NOT_ANY", "sticky": "", "cooldown": "3", "scanDepth": null,
            "caseSensitive": "true", "delayUntilRecursion": "2", "useProbability": 1, "groupWeight": 7.5, "key": "5",
        });
        let mut notes = ConversionNotes::default();
        let entry = entry.as_object_mut().unwrap();
        normalize(entry, &blank(), &mut notes);
        let expected = json!({
            "constant": false, "selective": true, "disable": false, "order": 12, "probability": 50, "depth": 2,
            "position": 4, "role": 2, "selectiveLogic": 2, "sticky": null, "cooldown": 3, "scanDepth": null,
            "caseSensitive": true, "delayUntilRecursion": 2, "useProbability": 1, "groupWeight": 7.5, "key": "5",
        });
        assert_eq!((Value::Object(entry.clone()), notes.findings().len()), (expected, 0));
        let mut bad =
            json!({"order": "first", "depth": "", "constant": "maybe", "position": 99, "sticky": "x", "role": []});
        let mut notes = ConversionNotes::default();
        let bad = bad.as_object_mut().unwrap();
        normalize(bad, &blank(), &mut notes);
        assert_eq!(*bad, blank());
        let told = notes.findings();
        assert_eq!((told[0].code, told[0].count), ("lore_values", 6));
        assert!(told[0].message.contains("constant, order, depth"), "{}", told[0].message);
    }
}
