//! Characters and personas. A card is kept as one JSON object in this very form, so that what no version of this program
//! knows stays in it; the shapes here say which fields a request may carry and how long they may be.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::deserialize_nullable_option;
use super::ids::{WireCharacterId, WireId, WireLorebookId, WirePersonaId};
use super::import_report::ImportReportResponse;
use crate::http::error::{ApiError, ApiErrorCode};
use clotho_core::tree::card::{self, ValidationError};
use clotho_store::{CharacterCard, PersonaCard};

/// A character: who a session is played with.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Character)]
pub struct CharacterResponse {
    /// Its id.
    pub id: WireCharacterId,
    /// Its name.
    pub name: String,
    /// Who it is.
    pub description: String,
    /// How it is.
    pub personality: String,
    /// Where the story is set.
    pub scenario: String,
    /// How it greets.
    pub first_message: String,
    /// Other greetings.
    pub alternate_greetings: Vec<String>,
    /// Example turns.
    pub example_messages: String,
    /// Instructions in the place of the default ones.
    pub system_prompt: String,
    /// The last word to the model.
    pub post_history_instructions: String,
    /// For people who choose it.
    pub creator_notes: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Whether it is one of its owner's favourites, which stand before the others.
    pub is_favourite: bool,
    /// The address of its picture.
    pub avatar: Option<String>,
    /// The lorebook that belongs to it.
    pub lorebook_id: Option<String>,
    /// Lorebooks that belong to it as well, where it came with some.
    pub extra_lorebook_ids: Vec<String>,
    /// Everything else that its card says.
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
    /// When it came.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
}

/// A persona: who the user plays.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PersonaResponse {
    /// Its id.
    pub id: WirePersonaId,
    /// Its name.
    pub name: String,
    /// Who it is.
    pub description: String,
    /// The address of its picture.
    pub avatar: Option<String>,
    /// Everything else known.
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
    /// When it came.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
}

/// A character that came as a card of another program.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CharacterImportResponse {
    /// The character.
    #[serde(flatten)]
    pub character: CharacterResponse,
    /// What came over, and what of it works here.
    pub report: ImportReportResponse,
}

/// Personas that came from another program.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PersonasImportResponse {
    /// Those that are there now.
    pub items: Vec<PersonaResponse>,
    /// What came over, and what of it works here.
    pub report: ImportReportResponse,
}

/// In which form a card goes out.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct CardExportQuery {
    /// The form.
    #[param(inline)]
    pub format: CardFormatParam,
}

/// A form of cards.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CardFormatParam {
    /// The picture with the card inside, for readers of all versions.
    #[default]
    Png,
    /// JSON of version 3.
    Json,
    /// A packed folder with the card and its files.
    Charx,
}

impl CardFormatParam {
    /// How the name of a file ends.
    pub const fn file_extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Json => "json",
            Self::Charx => "charx",
        }
    }

    /// What such a file is.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Json => "application/json",
            Self::Charx => "application/zip",
        }
    }
}

/// Which copy of a picture.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct AvatarQuery {
    /// A small copy, for lists; without it the picture itself.
    #[param(inline)]
    pub size: Option<AvatarSize>,
    /// Names the content, as the character's `avatar` does: such an answer may be kept for good.
    pub v: Option<String>,
}

/// A copy of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
pub enum AvatarSize {
    /// At most 96 pixels on a side: a list.
    #[serde(rename = "96")]
    Row,
    /// At most 384 pixels on a side: a card, a portrait.
    #[serde(rename = "384", alias = "small")]
    Card,
}

/// Fields of a character: all of a new one, or those that change.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct CharacterFields {
    /// Its name; a new one must have one.
    pub name: Option<String>,
    /// Who it is.
    pub description: Option<String>,
    /// How it is.
    pub personality: Option<String>,
    /// Where the story is set.
    pub scenario: Option<String>,
    /// How it greets.
    pub first_message: Option<String>,
    /// Other greetings.
    pub alternate_greetings: Option<Vec<String>>,
    /// Example turns.
    pub example_messages: Option<String>,
    /// Instructions in the place of the default ones.
    pub system_prompt: Option<String>,
    /// The last word to the model.
    pub post_history_instructions: Option<String>,
    /// For people who choose it.
    pub creator_notes: Option<String>,
    /// Words to find it by.
    pub tags: Option<Vec<String>>,
    /// Whether it stands before the others. It says something of its owner, and does not travel with the card.
    pub is_favourite: Option<bool>,
    /// The address of its picture on this server, or null.
    #[serde(deserialize_with = "deserialize_nullable_option")]
    #[schema(value_type = Option<String>)]
    pub avatar: Option<Option<String>>,
    /// The lorebook that belongs to it, one of the caller's, or null.
    #[serde(deserialize_with = "deserialize_nullable_option")]
    #[schema(value_type = Option<WireLorebookId>)]
    pub lorebook_id: Option<Option<WireLorebookId>>,
    /// Everything else that its card says. In a change, keys are merged and a null takes a key away.
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Map<String, Value>>,
}

/// Fields of a persona: all of a new one, or those that change.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PersonaFields {
    /// Its name; a new one must have one.
    pub name: Option<String>,
    /// Who it is.
    pub description: Option<String>,
    /// The address of its picture on this server, or null.
    #[serde(deserialize_with = "deserialize_nullable_option")]
    #[schema(value_type = Option<String>)]
    pub avatar: Option<Option<String>>,
    /// Everything else known. In a change, keys are merged and a null takes a key away.
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Map<String, Value>>,
}

impl CharacterFields {
    /// Puts the fields into a card.
    ///
    /// # Errors
    /// A field is empty where it must not be, or too long.
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
    /// Puts the fields into a card.
    ///
    /// # Errors
    /// A field is empty where it must not be, or too long.
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

/// Fields of a card, in the form of the wire.
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

impl From<CharacterCard> for CharacterResponse {
    fn from(card: CharacterCard) -> Self {
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
            created_at: card.created.to_string(),
            updated_at: card.updated.to_string(),
        }
    }
}

impl CharacterResponse {
    /// A character in a list: without what cards of other programs bring along and no list shows.
    pub fn without_texts(card: CharacterCard) -> Self {
        let mut brief = Self::from(card);
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

    fn fields(value: Value) -> CharacterFields {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn card_fields_change_merges_metadata() {
        let card = json!({"name": "Rin", "tags": ["a"], "metadata": {"x": 1, "y": 2}, "other": 5});
        let mut card = card.as_object().unwrap().clone();
        let change = fields(json!({"tags": ["b"], "metadata": {"y": null, "z": 3}, "avatar": null}));
        change.apply(&mut card).unwrap();
        let expected = json!({"name": "Rin", "tags": ["b"], "metadata": {"x": 1, "z": 3}, "other": 5, "avatar": null});
        assert_eq!(Value::Object(card), expected);
    }

    #[test]
    fn card_fields_out_of_bounds_name_the_field() {
        let check = |value: Value, code: ApiErrorCode, field: &str| {
            let error = fields(value.clone()).apply(&mut Map::new()).unwrap_err();
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
