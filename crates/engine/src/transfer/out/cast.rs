//! Who speaks in a session, by the names that files of others have for them.

use std::collections::HashMap;

use serde_json::{Map, Value};

use clotho_core::ids::CharacterId;
use clotho_core::tree::{Node, Role};
use clotho_store::{StoreError, StoreReader, StoredSession};

use super::file_names::safe_file_name;

/// The name of a user who has none.
const USER: &str = "User";
/// The name of nobody's words.
const NARRATOR: &str = "Narrator";

/// Everybody who plays.
pub struct ExportCast {
    /// The characters, in speaking order.
    pub characters: Vec<ExportCharacter>,
    /// The name of the persona that plays.
    pub persona: Option<String>,
    /// The names of those whose card cannot be read as the session has it.
    pub damaged: Vec<String>,
}

/// A character that plays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportCharacter {
    /// Its id.
    pub id: CharacterId,
    /// Its name.
    pub name: String,
    /// The file of its card, without ending.
    pub file: String,
}

impl ExportCast {
    /// The cast of a session, in the versions that it plays with.
    pub fn of(reader: &mut StoreReader<'_>, held: &StoredSession) -> Result<Self, StoreError> {
        let (mut characters, mut damaged) = (Vec::with_capacity(held.session.cards.len()), Vec::new());
        let owner = held.session.owner;
        for card in &held.session.cards {
            let name = match name(reader, &card.hash)? {
                Some(name) => name,
                None => {
                    let now = reader.character(owner, card.id)?;
                    damaged.push(now.and_then(|now| card_name(&now.card)).unwrap_or_default());
                    damaged.last().cloned().unwrap_or_default()
                }
            };
            let file = file(reader, held, card.id)?.unwrap_or_else(|| safe_file_name(&name));
            characters.push(ExportCharacter { id: card.id, name, file });
        }
        let persona = match &held.session.persona {
            Some(persona) => match name(reader, &persona.hash)? {
                None => reader.persona(owner, persona.id)?.and_then(|now| card_name(&now.card)),
                said => said,
            },
            None => None,
        };
        Ok(Self { characters, persona: persona.filter(|name| !name.is_empty()), damaged })
    }

    /// The same with other files of the cards.
    #[must_use]
    pub fn with_files(mut self, files: &HashMap<CharacterId, String>) -> Self {
        for player in &mut self.characters {
            if let Some(file) = files.get(&player.id) {
                player.file.clone_from(file);
            }
        }
        self
    }

    /// The name of who speaks.
    pub fn name(&self, node: &Node) -> String {
        let own = node.name.as_deref().filter(|name| !name.is_empty());
        let named = own.or_else(|| match node.role {
            Role::User => self.persona.as_deref(),
            Role::Assistant => self.character(node).map(|player| player.name.as_str()),
            Role::System => None,
        });
        let nobody = if node.role == Role::User { USER } else { NARRATOR };
        named.unwrap_or(nobody).to_owned()
    }

    /// The character that speaks; the first, where nobody is named.
    pub fn character(&self, node: &Node) -> Option<&ExportCharacter> {
        let own = node.character.and_then(|id| self.characters.iter().find(|player| player.id == id));
        own.or(self.characters.first())
    }
}

/// The name in a card as a session has it; nothing where that is damaged.
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

/// The file in which a card came in.
fn file(reader: &mut StoreReader<'_>, held: &StoredSession, id: CharacterId) -> Result<Option<String>, StoreError> {
    let sources = reader.sources_of(held.session.owner, id.as_bytes())?;
    Ok(sources.iter().find_map(|source| source.name.strip_prefix("characters/")).map(str::to_owned))
}
