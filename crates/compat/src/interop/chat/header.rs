//! The first line of a chat: what holds for the whole file. Kept as it is; this only says where things are.

use serde_json::{Map, Value};

/// The header. A file that has none has an empty one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChatFileHeader(pub Map<String, Value>);

impl ChatFileHeader {
    /// Whether an object is a header and no message.
    pub(super) fn is_header(line: &Map<String, Value>) -> bool {
        let names = ["chat_metadata", "user_name", "character_name", "create_date"];
        !line.contains_key("mes") && names.iter().any(|name| line.contains_key(*name))
    }

    /// A setting of the chat: note, lorebook, timers and whatever extensions have put there.
    pub fn metadata(&self, key: &str) -> Option<&Value> {
        self.0.get("chat_metadata")?.get(key)
    }

    /// A setting that is a text and says something.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.metadata(key).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    /// The variables of the chat, which belong to no message.
    pub fn variables(&self) -> Option<&Map<String, Value>> {
        self.metadata("variables").and_then(Value::as_object).filter(|map| !map.is_empty())
    }

    /// The chat that this one branched off, by its name.
    pub fn parent(&self) -> Option<&str> {
        self.text("main_chat")
    }

    /// When the chat was begun, as older versions say.
    pub fn created_at(&self) -> Option<&Value> {
        self.0.get("create_date")
    }
}
