//! Who plays in a session: the cards in the versions that the session keeps.

use serde_json::{Map, Value};

use crate::ids::CharacterId;
use crate::prompt::Cast;
use crate::store::{Reader, StoreError};
use crate::tree::Session;

/// The name of a user without a persona.
const NOBODY: &str = "You";

/// The cast with `speaker`, or the session's first character.
///
/// # Errors
/// A card that the session keeps is not there any more.
pub fn read(reader: &mut Reader<'_>, session: &Session, speaker: Option<CharacterId>) -> Result<Cast, StoreError> {
    let wanted = session.cards.iter().find(|card| Some(card.id) == speaker).or(session.cards.first());
    let character = match wanted {
        Some(card) => object(&reader.blob(&card.hash)?),
        None => Map::new(),
    };
    let persona = match &session.persona {
        Some(persona) => object(&reader.blob(&persona.hash)?),
        None => Map::new(),
    };
    Ok(cast(&character, &persona))
}

/// The cast of two cards.
pub fn cast(character: &Map<String, Value>, persona: &Map<String, Value>) -> Cast {
    let text =
        |card: &Map<String, Value>, key: &str| card.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let user = text(persona, "name");
    Cast {
        user: if user.is_empty() { NOBODY.to_owned() } else { user },
        persona: text(persona, "description"),
        character: text(character, "name"),
        description: text(character, "description"),
        personality: text(character, "personality"),
        scenario: text(character, "scenario"),
        examples: text(character, "exampleMessages"),
        system: text(character, "systemPrompt"),
        post_history: text(character, "postHistoryInstructions"),
    }
}

/// A card's bytes as an object; what is no object is an empty one.
pub fn object(bytes: &[u8]) -> Map<String, Value> {
    serde_json::from_slice(bytes).unwrap_or_default()
}
