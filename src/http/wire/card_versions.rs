//! Versions of a character's card, and which of them a session uses.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::cards::CharacterResponse;
use super::ids::{WireCharacterId, WireId};
use super::string_enums::CardVersionOriginEnum;
use clotho_core::tree::ScriptConsent;
use clotho_store::{CardVersion, CardVersionSummary, CharacterCard, SessionCardVersion};

/// A version of a character's card, without its texts.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CardVersionHead)]
pub struct CardVersionSummaryResponse {
    /// Number of the version, from 1.
    pub number: i64,
    /// Time at which the card became this version, ISO 8601 UTC.
    pub created_at: String,
    /// Where the version came from.
    #[schema(value_type = CardVersionOriginEnum)]
    pub origin: &'static str,
    /// Hash of the content. Two versions with one hash differ in nothing that a version has.
    pub hash: String,
    /// Fields that differ from the version before, such as `firstMessage` and `metadata.creator`; empty for the first.
    pub changed_fields: Vec<String>,
}

impl From<CardVersionSummary> for CardVersionSummaryResponse {
    fn from(summary: CardVersionSummary) -> Self {
        Self {
            number: summary.number,
            created_at: summary.created.to_string(),
            origin: summary.origin.as_str(),
            hash: summary.hash,
            changed_fields: summary.changed,
        }
    }
}

/// A version of a character's card.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CardVersion)]
pub struct CardVersionResponse {
    /// Number, time and origin of the version.
    #[serde(flatten)]
    pub summary: CardVersionSummaryResponse,
    /// The character as it was in this version. Its picture, favourite mark and lorebooks are those of today.
    pub character: CharacterResponse,
}

impl CardVersionResponse {
    /// Returns a version of a character; `consent` tells whether the scripts of this version may run.
    pub fn new(version: CardVersion, present: CharacterCard, consent: ScriptConsent) -> Self {
        let card: Map<String, Value> = version.restored(&present.card);
        Self {
            summary: version.summary.into(),
            character: CharacterResponse::new(CharacterCard { card, ..present }, consent),
        }
    }
}

/// A version of a character's card for a session.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = UseCard)]
pub struct UseCardVersionRequest {
    /// One of the characters of the session.
    pub character_id: WireCharacterId,
    /// Number of the version; absent = the newest.
    #[serde(default)]
    pub version: Option<i64>,
}

/// The card that a session uses for one of its characters.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SessionCard)]
pub struct SessionCardResponse {
    /// The character.
    pub character_id: WireCharacterId,
    /// Version of its card that prompts use; null = a card that is none of its versions here.
    #[schema(required)]
    pub version: Option<i64>,
    /// Newest version of the character; null if the character is in the trash or deleted.
    #[schema(required)]
    pub newest_version: Option<i64>,
    /// Whether the character has another card now than the session uses.
    pub has_newer: bool,
}

impl From<SessionCardVersion> for SessionCardResponse {
    fn from(used: SessionCardVersion) -> Self {
        Self {
            character_id: WireId(used.character),
            version: used.version,
            newest_version: used.newest,
            has_newer: used.is_outdated,
        }
    }
}
