//! Names and marks that an export of sessions hands over to the other parts of a data folder.

use std::collections::{BTreeMap, HashMap};

use clotho_core::clock::Time;
use clotho_core::ids::{CharacterId, PersonaId};
use serde_json::{Map, Value};

/// Groups as they came in, by their files, each with the id of its preset.
pub type ImportedGroups = BTreeMap<String, (String, Map<String, Value>)>;

/// What chats name.
pub struct ExportFileNames<'a> {
    /// The files of the cards, without ending.
    pub cards: &'a HashMap<CharacterId, String>,
    /// The files of the personas.
    pub personas: &'a HashMap<PersonaId, String>,
}

/// The chat of each character that was open last, with its moment.
pub type OpenChats = HashMap<CharacterId, Option<(Time, String)>>;
