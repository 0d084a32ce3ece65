//! Converts Agnai characters to cards. The attributes of `persona` become the description; other fields are renamed.

use serde_json::{Map, Value};

/// Agnai's field name and the card's.
const NAMES: [(&str, &str); 8] = [
    ("greeting", "first_mes"),
    ("sampleChat", "mes_example"),
    ("systemPrompt", "system_prompt"),
    ("postHistoryInstructions", "post_history_instructions"),
    ("alternateGreetings", "alternate_greetings"),
    ("characterVersion", "character_version"),
    ("characterBook", "character_book"),
    ("description", "creator_notes"),
];

/// Returns whether an object is an Agnai character.
pub fn is_agnai_character(card: &Map<String, Value>) -> bool {
    let attributes = card.get("persona").and_then(|persona| persona.get("attributes"));
    attributes.is_some_and(Value::is_object) && card.contains_key("greeting") && !card.contains_key("data")
}

/// Converts a character to a card.
pub fn to_card(mut card: Map<String, Value>) -> Map<String, Value> {
    for (theirs, ours) in NAMES {
        if let Some(value) = card.shift_remove(theirs) {
            card.insert(ours.to_owned(), value);
        }
    }
    // The book has Agnai's own format.
    if let Some(book) = card.get("character_book").filter(|book| book.is_object())
        && let Ok(read) = crate::interop::lorebook::read(book.to_string().as_bytes())
    {
        card.insert("character_book".to_owned(), crate::interop::lorebook::to_card(&read));
    }
    let described = card.get("persona").map(describe_persona).unwrap_or_default();
    card.insert("description".to_owned(), described.into());
    card
}

/// Returns a persona as text: plain text unchanged, attributes one per line.
fn describe_persona(persona: &Value) -> String {
    let kind = persona.get("kind").and_then(Value::as_str).unwrap_or_default();
    let attributes = persona.get("attributes").and_then(Value::as_object).into_iter().flatten();
    let lines = attributes.filter_map(|(name, values)| {
        let said: Vec<&str> = match values {
            Value::String(text) => vec![text.as_str()],
            Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let said = said.join(", ");
        (!said.trim().is_empty()).then(|| if kind == "text" { said } else { format!("{name}: {said}") })
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use crate::interop::card;
    use serde_json::json;

    /// S4-53: an Agnai character becomes a card whose description lists the attributes. Unknown fields are kept.
    #[test]
    fn card_agnai_character_is_converted() {
        let character = json!({
            "kind": "character", "name": "Ivo", "description": "by me", "scenario": "A tower.", "greeting": "Evening.",
            "sampleChat": "Ivo: Hm.", "appearance": "tall",
            "persona": {"kind": "boostyle", "attributes": {"likes": ["oil", "wicks"], "age": ["40"], "empty": [""]}},
            "characterBook": {"kind": "memory", "name": "Oil", "entries": [
                {"name": "Oil", "entry": "It burns.", "keywords": ["oil"], "weight": 1, "enabled": true},
            ]},
        });
        let read = card::read(character.to_string().as_bytes()).unwrap();
        assert_eq!(read.card["description"], "likes: oil, wicks\nage: 40");
        assert_eq!((&read.card["firstMessage"], &read.card["creatorNotes"]), (&json!("Evening."), &json!("by me")));
        assert_eq!(read.card["metadata"]["appearance"], "tall");
        assert_eq!(read.book.unwrap()["entries"][0]["keys"], json!(["oil"]));
        let plain = json!({"name": "Ivo", "greeting": "", "persona": {"kind": "text", "attributes": {"text": ["Keeps lamps."]}}});
        assert_eq!(card::read(plain.to_string().as_bytes()).unwrap().card["description"], "Keeps lamps.");
    }
}
