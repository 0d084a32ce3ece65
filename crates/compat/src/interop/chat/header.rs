//! The first line of a chat, with data about the whole file. It is kept unchanged; the methods find fields in it.

use serde_json::{Map, Value};

/// The header. Empty for a file that has none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChatFileHeader(pub Map<String, Value>);

impl ChatFileHeader {
    /// Returns whether an object is a header and not a message.
    pub(super) fn is_header(line: &Map<String, Value>) -> bool {
        let names = ["chat_metadata", "user_name", "character_name", "create_date"];
        !line.contains_key("mes") && names.iter().any(|name| line.contains_key(*name))
    }

    /// Returns an entry of the chat's metadata: note, lorebook, timers and data of extensions.
    pub fn metadata(&self, key: &str) -> Option<&Value> {
        self.0.get("chat_metadata")?.get(key)
    }

    /// Returns an entry of the metadata that is a non-empty text.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.metadata(key).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    /// Returns the variables of the chat as a whole.
    pub fn variables(&self) -> Option<&Map<String, Value>> {
        self.metadata("variables").and_then(Value::as_object).filter(|map| !map.is_empty())
    }

    /// Returns the name of the chat that this one branched from.
    pub fn parent(&self) -> Option<&str> {
        self.text("main_chat")
    }

    /// Returns when the chat was created; only older versions write it.
    pub fn created_at(&self) -> Option<&Value> {
        self.0.get("create_date")
    }
}
