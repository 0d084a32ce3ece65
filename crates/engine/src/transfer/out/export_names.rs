//! Names and marks that the parts of a data folder export pass to each other.

use std::collections::{BTreeMap, HashMap};

use clotho_core::clock::Time;
use clotho_core::ids::{CharacterId, PersonaId};
use serde_json::{Map, Value};

/// Imported groups by file name, each with the id of its preset.
pub type ImportedGroups = BTreeMap<String, (String, Map<String, Value>)>;

/// File names that chats refer to.
pub struct ExportFileNames<'a> {
    /// The card files, without extension.
    pub cards: &'a HashMap<CharacterId, String>,
    /// The picture files of personas.
    pub personas: &'a HashMap<PersonaId, String>,
}

/// The chat of each character that was open last, with its time.
pub type OpenChats = HashMap<CharacterId, Option<(Time, String)>>;
