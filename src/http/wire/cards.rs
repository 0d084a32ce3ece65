//! Characters and personas. A card is stored as one JSON object in this form, so fields unknown to this version are
//! kept. The types here define which fields a request may have, and their maximum lengths.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::ids::{WireCharacterId, WireId, WireLorebookId, WirePersonaId};
use super::import_report::ImportReportResponse;
use super::script_consent::{RequestedScriptsResponse, ScriptAnswer};
use super::{deserialize_null, deserialize_nullable_option};
use crate::http::error::{ApiError, ApiErrorCode};
use crate::http::json_schema::JsonMap;
use clotho_core::tree::ScriptConsent;
use clotho_core::tree::card::{self, ValidationError};
use clotho_store::{CharacterCard, PersonaCard, PersonaChoices};

/// A character that a session is played with.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Character)]
pub struct CharacterResponse {
    /// Id of the character.
    pub id: WireCharacterId,
    /// Name of the character; `{{char}}` in prompts.
    pub name: String,
    /// Description of the character.
    pub description: String,
    /// Personality of the character.
    pub personality: String,
    /// Setting of the story.
    pub scenario: String,
    /// First greeting.
    pub first_message: String,
    /// Alternative greetings.
    pub alternate_greetings: Vec<String>,
    /// Example dialogue.
    pub example_messages: String,
    /// Replaces the default system prompt.
    pub system_prompt: String,
    /// Instructions after the chat history.
    pub post_history_instructions: String,
    /// Notes of the creator for users of the card.
    pub creator_notes: String,
    /// Tags for search and sorting.
    pub tags: Vec<String>,
    /// Whether the character is a favourite of its owner; favourites are listed first.
    pub is_favourite: bool,
    /// URL of the avatar on this server; null if there is none.
    #[schema(required)]
    pub avatar: Option<String>,
    /// The main lorebook of the character.
    #[schema(required)]
    pub lorebook_id: Option<String>,
    /// Further lorebooks of the character, usually from an imported card.
    pub extra_lorebook_ids: Vec<String>,
    /// All other fields of the card.
    #[schema(value_type = JsonMap)]
    pub metadata: Map<String, Value>,
    /// Whether the regex scripts of the card run in new sessions; `true` also if it has none.
    pub regex_scripts: bool,
    /// What the imported card wants and nobody has accepted or declined yet; null = nothing.
    #[schema(required)]
    pub requested_settings: Option<RequestedScriptsResponse>,
    /// Creation or import time, ISO 8601 UTC.
    pub created_at: String,
    /// Time of the last change, ISO 8601 UTC.
    pub updated_at: String,
}

/// A persona that the user plays.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PersonaResponse {
    /// Id of the persona.
    pub id: WirePersonaId,
    /// Name of the persona; `{{user}}` in prompts.
    pub name: String,
    /// Description of the persona.
    pub description: String,
    /// URL of the avatar on this server; null if there is none.
    #[schema(required)]
    pub avatar: Option<String>,
    /// All other fields of the persona.
    #[schema(value_type = JsonMap)]
    pub metadata: Map<String, Value>,
    /// Creation or import time, ISO 8601 UTC.
    pub created_at: String,
    /// Time of the last change, ISO 8601 UTC.
    pub updated_at: String,
}

/// A character imported from a card.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CharacterImportResponse {
    /// The created character.
    #[serde(flatten)]
    pub character: CharacterResponse,
    /// What was imported, and which parts work here.
    pub report: ImportReportResponse,
}

/// The result of an import of personas.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PersonasImportResponse {
    /// The personas that exist now.
    pub items: Vec<PersonaResponse>,
    /// What was imported, and which parts work here.
    pub report: ImportReportResponse,
}

/// The format of a card export.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct CardExportQuery {
    /// File format of the card.
    #[param(inline)]
    pub format: CardFormatParam,
}

/// A file format of character cards.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CardFormatParam {
    /// PNG picture with the card embedded, readable by programs of all card versions.
    #[default]
    Png,
    /// JSON of card version 3.
    Json,
    /// ZIP archive (CharX) with the card and its assets.
    Charx,
}

impl CardFormatParam {
    /// Returns the file name extension.
    pub const fn file_extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Json => "json",
            Self::Charx => "charx",
        }
    }

    /// Returns the media type.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Json => "application/json",
            Self::Charx => "application/zip",
        }
    }
}

/// The size of an avatar.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct AvatarQuery {
    /// Size of the scaled copy; absent = the original.
    #[param(inline)]
    pub size: Option<AvatarSize>,
    /// Version of the picture, as in the `avatar` URL. With it, the answer may be cached permanently.
    pub v: Option<String>,
}

/// A scaled copy of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
pub enum AvatarSize {
    /// At most 96 pixels per side, for lists.
    #[serde(rename = "96")]
    Row,
    /// At most 384 pixels per side, for cards and portraits.
    #[serde(rename = "384", alias = "small")]
    Card,
}

/// Fields of a character: all fields of a new one, or the fields to change.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct CharacterFields {
    /// Name of the character; required on creation.
    pub name: Option<String>,
    /// Description of the character.
    pub description: Option<String>,
    /// Personality of the character.
    pub personality: Option<String>,
    /// Setting of the story.
    pub scenario: Option<String>,
    /// First greeting.
    pub first_message: Option<String>,
    /// Alternative greetings.
    pub alternate_greetings: Option<Vec<String>>,
    /// Example dialogue.
    pub example_messages: Option<String>,
    /// Replaces the default system prompt.
    pub system_prompt: Option<String>,
    /// Instructions after the chat history.
    pub post_history_instructions: Option<String>,
    /// Notes of the creator for users of the card.
    pub creator_notes: Option<String>,
    /// Tags for search and sorting.
    pub tags: Option<Vec<String>>,
    /// Whether the character is a favourite. Belongs to the owner and is not exported with the card.
    pub is_favourite: Option<bool>,
    /// URL of the avatar on this server; null removes it.
    #[serde(deserialize_with = "deserialize_nullable_option")]
    #[schema(value_type = Option<String>)]
    pub avatar: Option<Option<String>>,
    /// The main lorebook, one of the caller's; null removes it.
    #[serde(deserialize_with = "deserialize_nullable_option")]
    #[schema(value_type = Option<WireLorebookId>)]
    pub lorebook_id: Option<Option<WireLorebookId>>,
    /// All other fields of the card. An update merges keys; null removes a key.
    #[schema(value_type = Option<JsonMap>)]
    pub metadata: Option<Map<String, Value>>,
    /// Whether the regex scripts of the card run in new sessions. Ends the question of an imported card.
    pub regex_scripts: Option<bool>,
    /// Only null: ends the question about what an imported card wants. Without `regexScripts`, its scripts do not run.
    #[serde(deserialize_with = "deserialize_null")]
    #[schema(value_type = Option<JsonMap>)]
    pub requested_settings: Option<()>,
}

/// How personas of another program are imported.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct PersonasImportQuery {
    /// Whether the default persona of the file becomes the caller's if there is none; default `false`.
    pub trust: Option<bool>,
}

/// The personas that new sessions get if a request names none.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PersonaChoicesResponse {
    /// The default persona; null if there is none.
    #[schema(required)]
    pub default_id: Option<String>,
    /// Characters that a persona is locked to.
    pub locks: Vec<PersonaLock>,
}

/// A persona that is locked to a character: new sessions with the character get it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PersonaLock {
    /// The character.
    pub character_id: WireCharacterId,
    /// The persona.
    pub persona_id: WirePersonaId,
}

/// A choice of a persona for new sessions.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChoosePersonaRequest {
    /// The character to lock the persona to; null or absent = choose the default persona.
    #[serde(default)]
    pub character_id: Option<WireCharacterId>,
    /// The persona; null removes the choice.
    #[schema(required)]
    #[serde(deserialize_with = "Option::deserialize")]
    pub persona_id: Option<WirePersonaId>,
}

impl From<PersonaChoices> for PersonaChoicesResponse {
    fn from(choices: PersonaChoices) -> Self {
        let lock = |(character, persona)| PersonaLock { character_id: WireId(character), persona_id: WireId(persona) };
        Self {
            default_id: choices.default.map(|id| id.to_string()),
            locks: choices.locks.into_iter().map(lock).collect(),
        }
    }
}

/// Fields of a persona: all fields of a new one, or the fields to change.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PersonaFields {
    /// Name of the persona; required on creation.
    pub name: Option<String>,
    /// Description of the persona.
    pub description: Option<String>,
    /// URL of the avatar on this server; null removes it.
    #[serde(deserialize_with = "deserialize_nullable_option")]
    #[schema(value_type = Option<String>)]
    pub avatar: Option<Option<String>>,
    /// All other fields of the persona. An update merges keys; null removes a key.
    #[schema(value_type = Option<JsonMap>)]
    pub metadata: Option<Map<String, Value>>,
}

impl CharacterFields {
    /// Returns what the request says about the regex scripts of the card.
    pub const fn script_answer(&self) -> ScriptAnswer {
        ScriptAnswer { is_allowed: self.regex_scripts, ends_question: self.requested_settings.is_some() }
    }

    /// Writes the fields into a card.
    ///
    /// # Errors
    /// Returns an error if a required field is empty or a field is too long.
    pub fn apply(self, card: &mut Map<String, Value>) -> Result<(), ApiError> {
        let mut fill = CardFieldWriter { card };
        fill.set("name", self.name.map(|name| name.trim().to_owned()));
        fill.set("description", self.description);
        fill.set("personality", self.personality);
        fill.set("scenario", self.scenario);
        fill.set("firstMessage", self.first_message);
        fill.set("alternateGreetings", self.alternate_greetings);
        fill.set("exampleMessages", self.example_messages);
        fill.set("systemPrompt", self.system_prompt);
        fill.set("postHistoryInstructions", self.post_history_instructions);
        fill.set("creatorNotes", self.creator_notes);
        fill.set("tags", self.tags);
        fill.set("isFavourite", self.is_favourite);
        fill.set("avatar", self.avatar);
        fill.set("lorebookId", self.lorebook_id.map(|id| id.map(|id| id.0.to_string())));
        fill.merge_metadata(self.metadata);
        Ok(card::validate_card(card)?)
    }
}

impl PersonaFields {
    /// Writes the fields into a card.
    ///
    /// # Errors
    /// Returns an error if a required field is empty or a field is too long.
    pub fn apply(self, card: &mut Map<String, Value>) -> Result<(), ApiError> {
        let mut fill = CardFieldWriter { card };
        fill.set("name", self.name.map(|name| name.trim().to_owned()));
        fill.set("description", self.description);
        fill.set("avatar", self.avatar);
        fill.merge_metadata(self.metadata);
        Ok(card::validate_card(card)?)
    }
}

impl From<ValidationError> for ApiError {
    fn from(ValidationError { field, message, most }: ValidationError) -> Self {
        let code = if most.is_some() { ApiErrorCode::TooLarge } else { ApiErrorCode::Invalid };
        let error = field.into_iter().fold(Self::new(code, message), |error, field| error.detail("field", field));
        most.into_iter().fold(error, |error, most| error.detail("limit", most))
    }
}

struct CardFieldWriter<'a> {
    card: &'a mut Map<String, Value>,
}

impl CardFieldWriter<'_> {
    fn set(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.card.insert(key.to_owned(), value.into());
        }
    }

    fn merge_metadata(&mut self, metadata: Option<Map<String, Value>>) {
        let Some(metadata) = metadata else { return };
        let kept = self.card.entry("metadata").or_insert_with(|| Map::new().into());
        if !kept.is_object() {
            *kept = Map::new().into();
        }
        let Some(kept) = kept.as_object_mut() else { return };
        for (key, value) in metadata {
            if value.is_null() {
                kept.shift_remove(&key);
            } else {
                kept.insert(key, value);
            }
        }
    }
}

/// Reads the fields of a stored card.
struct CardFieldReader<'a>(&'a Map<String, Value>);

impl CardFieldReader<'_> {
    fn text(&self, key: &str) -> String {
        self.optional(key).unwrap_or_default()
    }

    fn optional(&self, key: &str) -> Option<String> {
        self.0.get(key).and_then(Value::as_str).map(str::to_owned)
    }

    fn texts(&self, key: &str) -> Vec<String> {
        let list = self.0.get(key).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    fn metadata(&self) -> Map<String, Value> {
        self.0.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default()
    }
}

impl CharacterResponse {
    /// Returns a character; `consent` tells whether its regex scripts may run.
    pub fn new(card: CharacterCard, consent: ScriptConsent) -> Self {
        let fields = CardFieldReader(&card.card);
        Self {
            id: WireId(card.id),
            name: fields.text("name"),
            description: fields.text("description"),
            personality: fields.text("personality"),
            scenario: fields.text("scenario"),
            first_message: fields.text("firstMessage"),
            alternate_greetings: fields.texts("alternateGreetings"),
            example_messages: fields.text("exampleMessages"),
            system_prompt: fields.text("systemPrompt"),
            post_history_instructions: fields.text("postHistoryInstructions"),
            creator_notes: fields.text("creatorNotes"),
            tags: fields.texts("tags"),
            is_favourite: card.card.get("isFavourite") == Some(&Value::Bool(true)),
            avatar: fields.optional("avatar"),
            lorebook_id: fields.optional("lorebookId"),
            extra_lorebook_ids: fields.texts("extraLorebookIds"),
            metadata: fields.metadata(),
            regex_scripts: consent == ScriptConsent::Allowed,
            requested_settings: RequestedScriptsResponse::new(consent),
            created_at: card.created.to_string(),
            updated_at: card.updated.to_string(),
        }
    }

    /// Returns the character as a list entry, without the card texts that no list shows.
    pub fn without_texts(card: CharacterCard, consent: ScriptConsent) -> Self {
        let mut brief = Self::new(card, consent);
        brief.metadata.retain(|key, _| !matches!(key.as_str(), "extensions" | "card" | "assets"));
        brief
    }
}

impl From<PersonaCard> for PersonaResponse {
    fn from(card: PersonaCard) -> Self {
        let fields = CardFieldReader(&card.card);
        Self {
            id: WireId(card.id),
            name: fields.text("name"),
            description: fields.text("description"),
            avatar: fields.optional("avatar"),
            metadata: fields.metadata(),
            created_at: card.created.to_string(),
            updated_at: card.updated.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse_fields(value: Value) -> CharacterFields {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn card_fields_change_merges_metadata() {
        let card = json!({"name": "Rin", "tags": ["a"], "metadata": {"x": 1, "y": 2}, "other": 5});
        let mut card = card.as_object().unwrap().clone();
        let change = parse_fields(json!({"tags": ["b"], "metadata": {"y": null, "z": 3}, "avatar": null}));
        change.apply(&mut card).unwrap();
        let expected = json!({"name": "Rin", "tags": ["b"], "metadata": {"x": 1, "z": 3}, "other": 5, "avatar": null});
        assert_eq!(Value::Object(card), expected);
    }

    #[test]
    fn card_fields_out_of_bounds_name_the_field() {
        let check = |value: Value, code: ApiErrorCode, field: &str| {
            let error = parse_fields(value.clone()).apply(&mut Map::new()).unwrap_err();
            assert_eq!((error.code, error.details["field"].as_str()), (code, Some(field)), "{value}");
        };
        check(json!({}), ApiErrorCode::Invalid, "name");
        check(json!({"name": "  "}), ApiErrorCode::Invalid, "name");
        check(json!({"name": "x".repeat(201)}), ApiErrorCode::Invalid, "name");
        check(
            json!({"name": "a", "description": "x".repeat(card::MAX_TEXT_BYTES + 1)}),
            ApiErrorCode::TooLarge,
            "description",
        );
        check(json!({"name": "a", "tags": vec!["t"; 101]}), ApiErrorCode::Invalid, "tags");
        check(json!({"name": "a", "tags": ["x".repeat(101)]}), ApiErrorCode::TooLarge, "tags[0]");
        for address in ["http://evil.example/x.png", "//evil.example/x", "/\\evil.example", "javascript:1"] {
            check(json!({"name": "a", "avatar": address}), ApiErrorCode::Invalid, "avatar");
        }
    }
}
