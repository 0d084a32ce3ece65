//! The speakers of a session, with the names and files that an export uses.

use std::collections::HashMap;

use serde_json::{Map, Value};

use clotho_core::ids::CharacterId;
use clotho_core::tree::{Node, Role};
use clotho_store::{StoreError, StoreReader, StoredSession};

use super::file_names::safe_file_name;

/// The name of a user without persona.
const USER: &str = "User";
/// The speaker of system messages.
const NARRATOR: &str = "Narrator";

/// Everybody who speaks in a session.
pub struct ExportCast {
    /// The characters, in speaking order.
    pub characters: Vec<ExportCharacter>,
    /// The name of the persona.
    pub persona: Option<String>,
    /// The names of characters whose stored card cannot be read.
    pub damaged: Vec<String>,
}

/// A character of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportCharacter {
    pub id: CharacterId,
    pub name: String,
    /// The file name of its card, without extension.
    pub file: String,
}

impl ExportCast {
    /// Returns the cast of a session, with the card versions that it uses.
    pub fn read(reader: &mut StoreReader<'_>, stored: &StoredSession) -> Result<Self, StoreError> {
        let (mut characters, mut damaged) = (Vec::with_capacity(stored.session.cards.len()), Vec::new());
        let owner = stored.session.owner;
        for card in &stored.session.cards {
            let name = match name(reader, &card.hash)? {
                Some(name) => name,
                None => {
                    let now = reader.character(owner, card.id)?;
                    damaged.push(now.and_then(|now| card_name(&now.card)).unwrap_or_default());
                    damaged.last().cloned().unwrap_or_default()
                }
            };
            let file = file(reader, stored, card.id)?.unwrap_or_else(|| safe_file_name(&name));
            characters.push(ExportCharacter { id: card.id, name, file });
        }
        let persona = match &stored.session.persona {
            Some(persona) => match name(reader, &persona.hash)? {
                None => reader.persona(owner, persona.id)?.and_then(|now| card_name(&now.card)),
                said => said,
            },
            None => None,
        };
        Ok(Self { characters, persona: persona.filter(|name| !name.is_empty()), damaged })
    }

    /// Replaces the card file names.
    #[must_use]
    pub fn with_files(mut self, files: &HashMap<CharacterId, String>) -> Self {
        for character in &mut self.characters {
            if let Some(file) = files.get(&character.id) {
                character.file.clone_from(file);
            }
        }
        self
    }

    /// Returns the speaker of a node.
    pub fn name(&self, node: &Node) -> String {
        let own = node.name.as_deref().filter(|name| !name.is_empty());
        let named = own.or_else(|| match node.role {
            Role::User => self.persona.as_deref(),
            Role::Assistant => self.character(node).map(|character| character.name.as_str()),
            Role::System => None,
        });
        let nobody = if node.role == Role::User { USER } else { NARRATOR };
        named.unwrap_or(nobody).to_owned()
    }

    /// Returns the character that speaks, or the first one if the node names none.
    pub fn character(&self, node: &Node) -> Option<&ExportCharacter> {
        let own = node.character.and_then(|id| self.characters.iter().find(|character| character.id == id));
        own.or(self.characters.first())
    }
}

/// Returns the name in a stored card; `None` if the card is damaged.
fn name(reader: &mut StoreReader<'_>, hash: &str) -> Result<Option<String>, StoreError> {
    let bytes = match reader.blob(hash) {
        Err(StoreError::Inconsistent { .. }) => return Ok(None),
        read => read?,
    };
    let card: Option<Map<String, Value>> = serde_json::from_slice(&bytes).ok();
    Ok(card.map(|card| card_name(&card).unwrap_or_default()))
}

fn card_name(card: &Map<String, Value>) -> Option<String> {
    Some(card.get("name")?.as_str()?.trim().to_owned())
}

/// Returns the file name under which a card was imported.
fn file(reader: &mut StoreReader<'_>, stored: &StoredSession, id: CharacterId) -> Result<Option<String>, StoreError> {
    let sources = reader.sources_of(stored.session.owner, id.as_bytes())?;
    Ok(sources.iter().find_map(|source| source.name.strip_prefix("characters/")).map(str::to_owned))
}
