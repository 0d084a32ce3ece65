//! The cast at a node of a session, from the card versions that the session keeps.

use serde_json::{Map, Value};

use clotho_compat::interop::lenient;
use clotho_compat::prompt::{CardAuthorsNote, CardNotePosition, DEFAULT_DEPTH, PromptCast};
use clotho_core::ids::{CharacterId, PersonaId};
use clotho_core::tree::limits::MAX_SPEAKER_CHARS;
use clotho_core::tree::{CardRef, Role, Session};
use clotho_store::{StoreError, StoreReader};

/// The name of a user without a persona.
const DEFAULT_USER_NAME: &str = "You";

/// The user's persona: that of the newest user message on the branch, or of the message to be written.
#[derive(Debug, Clone, Default)]
pub struct UserPersona {
    /// The persona; `None` = the session's.
    pub persona: Option<PersonaId>,
    /// The name stored with the message, used if the persona was deleted.
    pub name: Option<String>,
}

/// Reads the cast, with `speaker` or else the session's first character.
///
/// # Errors
/// Returns an error if a card that the session keeps is missing.
pub fn read(
    reader: &mut StoreReader<'_>,
    session: &Session,
    speaker: Option<CharacterId>,
    voice: &UserPersona,
) -> Result<PromptCast, StoreError> {
    let character = match self::speaker(session, speaker) {
        Some(card) => card_object(&reader.blob(&card.hash)?),
        None => Map::new(),
    };
    let persona = persona(reader, session, voice)?;
    Ok(cast_of_cards(&character, &persona))
}

/// Returns the character that answers: the wanted one, else the first.
pub fn speaker(session: &Session, wanted: Option<CharacterId>) -> Option<&CardRef> {
    session.cards.iter().find(|card| Some(card.id) == wanted).or(session.cards.first())
}

/// Reads the persona's card: the kept version for the session's own persona, the current one for any other.
fn persona(
    reader: &mut StoreReader<'_>,
    session: &Session,
    voice: &UserPersona,
) -> Result<Map<String, Value>, StoreError> {
    let own = session.persona.as_ref().filter(|own| voice.persona.is_none_or(|wanted| wanted == own.id));
    let mut card = match (own, voice.persona) {
        (Some(own), _) => card_object(&reader.blob(&own.hash)?),
        (None, Some(other)) => reader.persona(session.owner, other)?.map(|persona| persona.card).unwrap_or_default(),
        (None, None) => Map::new(),
    };
    let is_named = card.get("name").and_then(Value::as_str).is_some_and(|name| !name.is_empty());
    if let Some(name) = voice.name.clone().filter(|_| !is_named) {
        card.insert("name".into(), name.into());
    }
    Ok(card)
}

/// Builds the cast from two cards.
pub fn cast_of_cards(character: &Map<String, Value>, persona: &Map<String, Value>) -> PromptCast {
    let text =
        |card: &Map<String, Value>, key: &str| card.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let user = text(persona, "name");
    PromptCast {
        user: if user.is_empty() { DEFAULT_USER_NAME.to_owned() } else { user },
        persona: text(persona, "description"),
        character: text(character, "name"),
        nickname: extension_text(character, "/nickname").trim().chars().take(MAX_SPEAKER_CHARS).collect(),
        description: text(character, "description"),
        personality: text(character, "personality"),
        scenario: text(character, "scenario"),
        examples: text(character, "exampleMessages"),
        system: text(character, "systemPrompt"),
        post_history: text(character, "postHistoryInstructions"),
        greetings: greetings(character),
        depth_prompt: extension_text(character, "/extensions/depth_prompt/prompt"),
        depth_prompt_position: Some(depth_position(character)),
        creator_notes: text(character, "creatorNotes"),
        version: extension_text(character, "/character_version"),
        scripts: card_scripts(character),
        author_note: card_note(character),
    }
}

/// Returns the greetings of a card. Includes the empty ones, because macros count them.
pub fn greetings(card: &Map<String, Value>) -> Vec<String> {
    let first = card.get("firstMessage").and_then(Value::as_str).unwrap_or_default();
    let others = card.get("alternateGreetings").and_then(Value::as_array).into_iter().flatten();
    [first].into_iter().chain(others.filter_map(Value::as_str)).map(str::to_owned).collect()
}

/// Reads a text of the imported metadata of a card.
fn extension_text(card: &Map<String, Value>, path: &str) -> String {
    let text = card.get("metadata").and_then(|metadata| metadata.pointer(path)?.as_str());
    text.unwrap_or_default().to_owned()
}

/// Returns depth and role of a card's depth prompt.
fn depth_position(card: &Map<String, Value>) -> (usize, Role) {
    let own = card.get("metadata").and_then(|metadata| metadata.pointer("/extensions/depth_prompt"));
    let field = |key: &str| own.and_then(|own| own.get(key));
    let depth = field("depth").and_then(lenient::count).and_then(|depth| usize::try_from(depth).ok());
    let role = field("role").and_then(Value::as_str).and_then(Role::parse);
    (depth.unwrap_or(DEFAULT_DEPTH.0), role.unwrap_or(DEFAULT_DEPTH.1))
}

/// Returns the author's note of a card, as SillyTavern stored it, if it is switched on.
fn card_note(card: &Map<String, Value>) -> Option<CardAuthorsNote> {
    let own = card.get("metadata")?.pointer("/sillytavern/note")?;
    let is_on = own.get("useChara").and_then(Value::as_bool).unwrap_or(false);
    let text = own.get("prompt").and_then(Value::as_str).filter(|text| is_on && !text.trim().is_empty())?.to_owned();
    let place = match own.get("position").and_then(Value::as_u64) {
        Some(1) => CardNotePosition::Above,
        Some(2) => CardNotePosition::Below,
        _ => CardNotePosition::Instead,
    };
    Some(CardAuthorsNote { text, position: place })
}

/// Returns the regex scripts of the imported metadata of a card.
fn card_scripts(card: &Map<String, Value>) -> Vec<Value> {
    let list = card.get("metadata").and_then(|metadata| metadata.pointer("/extensions/regex_scripts")?.as_array());
    list.cloned().unwrap_or_default()
}

/// Parses a card as a JSON object; anything else becomes an empty object.
pub fn card_object(bytes: &[u8]) -> Map<String, Value> {
    serde_json::from_slice(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Version 3: the nickname of a card replaces its name in `{{char}}`, also in messages by the character.
    #[test]
    fn card_nickname_is_char_macro() {
        let card = json!({"name": "Anna Ferrywoman", "metadata": {"nickname": " Anna "}});
        let cast = cast_of_cards(card.as_object().unwrap(), &Map::new());
        assert_eq!((cast.character.as_str(), cast.nickname.as_str()), ("Anna Ferrywoman", "Anna"));
        let facts = cast.macro_context();
        assert_eq!(facts.char_name(None), "Anna");
        assert_eq!(facts.char_name(Some("Anna Ferrywoman")), "Anna");
        assert_eq!(facts.char_name(Some("Berta")), "Berta");
        assert_eq!(cast.names().fill("{{char}} waves."), "Anna waves.");
        let plain =
            cast_of_cards(json!({"name": "Anna", "metadata": {"nickname": ""}}).as_object().unwrap(), &Map::new());
        assert_eq!(plain.macro_context().char_name(None), "Anna");
    }
}
