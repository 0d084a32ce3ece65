//! Detects the kind of a JSON file that is not a chat: card, lorebook or personas. This is stricter than the readers,
//! which accept almost anything because their caller names the kind.

use serde_json::{Map, Value};

/// The kind of a JSON file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonFileKind {
    /// A character card.
    Card,
    Book,
    /// Personas, or settings that contain them.
    Personas,
}

/// Detects the kind by the keys of an object. Returns `None` if they are not conclusive.
pub fn detect(map: &Map<String, Value>) -> Option<JsonFileKind> {
    let has = |keys: &[&str]| keys.iter().any(|key| map.contains_key(*key));
    let is = |key: &str, word: &str| map.get(key).is_some_and(|value| value == word);
    if has(&["power_user", "persona_descriptions"]) {
        return Some(JsonFileKind::Personas);
    }
    if is("spec", super::lorebook::BOOK_SPEC) {
        return Some(JsonFileKind::Book);
    }
    if has(&["spec", "first_mes", "char_name", "char_greeting"]) || is("kind", "character") {
        return Some(JsonFileKind::Card);
    }
    let has_entries = map.get("entries").is_some_and(|entries| entries.is_object() || entries.is_array());
    if is("type", "risu") || is("kind", "memory") || has(&["lorebookVersion"]) || has_entries {
        return Some(JsonFileKind::Book);
    }
    let is_described = has(&["description", "personality", "scenario", "mes_example", "persona"]);
    (map.contains_key("name") && is_described).then_some(JsonFileKind::Card)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn file_kind_is_detected_by_keys() {
        let check = |value: Value, expected: Option<JsonFileKind>| {
            assert_eq!(detect(value.as_object().unwrap()), expected, "{value}")
        };
        check(json!({"spec": "chara_card_v2", "data": {}}), Some(JsonFileKind::Card));
        check(json!({"name": "Ivo", "persona": {"attributes": {}}, "greeting": ""}), Some(JsonFileKind::Card));
        check(json!({"name": "Lamps", "description": "", "entries": {}}), Some(JsonFileKind::Book));
        check(json!({"spec": "lorebook_v3", "data": {"entries": []}}), Some(JsonFileKind::Book));
        check(json!({"type": "risu", "data": []}), Some(JsonFileKind::Book));
        check(json!({"personas": {}, "persona_descriptions": {}}), Some(JsonFileKind::Personas));
        check(json!({"name": "Ivo"}), None);
        check(json!({"hello": 1}), None);
    }
}
