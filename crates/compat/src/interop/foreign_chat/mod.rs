//! Chats of programs other than SillyTavern. A file contains one or many; each becomes a [`ForeignChat`], a tree of
//! messages. [`read`] detects the program from the content, not from the file name.
//!
//! `json_elements.rs` splits a file of any size into chats. `nested.rs` parses JSON deeper than the parser's recursion
//! limit. `message_tree.rs` builds a tree from messages that refer to each other, even if the references are wrong.
//! `keys.rs` reads fields, `details_blocks.rs` folded blocks in texts.
//!
//! Each program has a file for its format:
//! - trees: `chatgpt.rs`, `librechat.rs`, `open_webui.rs`, `agnai.rs`
//! - lists: `risu.rs`, `kobold.rs`, `novelai.rs`, `ooba.rs` (text-generation-webui), `character_ai.rs` (CAI Tools)
//!
//! To add a program: add a variant of [`ForeignProgram`] and a file, and detect its format in [`read`]. Keep unknown
//! fields in `rest`, and report skipped content as findings.

mod agnai;
mod character_ai;
mod chatgpt;
mod details_blocks;
mod json_elements;
mod keys;
mod kobold;
mod librechat;
mod message_tree;
mod nested;
mod novelai;
mod ooba;
mod open_webui;
mod risu;

use serde_json::{Map, Value};

use super::ImportFinding;
pub use json_elements::{JsonElements, MAX_ELEMENT_BYTES};

/// A program whose chats can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ForeignProgram {
    /// `conversations.json` of a data export.
    ChatGpt,
    /// An exported conversation.
    LibreChat,
    /// Exported chats.
    OpenWebUi,
    /// Exported chats.
    Risu,
    /// An exported chat.
    Agnai,
    /// A saved story of KoboldAI or KoboldAI Lite.
    Kobold,
    /// A saved story or scenario.
    NovelAi,
    /// A saved chat of text-generation-webui.
    TextGeneration,
    /// Character.AI, as saved by CAI Tools.
    CharacterAi,
}

impl ForeignProgram {
    /// Returns the key under which its data is stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ChatGpt => "chatgpt",
            Self::LibreChat => "librechat",
            Self::OpenWebUi => "open-webui",
            Self::Risu => "risu",
            Self::Agnai => "agnai",
            Self::Kobold => "kobold",
            Self::NovelAi => "novelai",
            Self::TextGeneration => "text-generation-webui",
            Self::CharacterAi => "cai",
        }
    }

    /// Returns the display name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ChatGpt => "ChatGPT",
            Self::LibreChat => "LibreChat",
            Self::OpenWebUi => "Open WebUI",
            Self::Risu => "RisuAI",
            Self::Agnai => "Agnai",
            Self::Kobold => "KoboldAI",
            Self::NovelAi => "NovelAI",
            Self::TextGeneration => "text-generation-webui",
            Self::CharacterAi => "CAI Tools",
        }
    }

    /// Returns the speaker of replies that name none. `None` if that is a character whose name the file does not
    /// contain.
    pub const fn default_assistant_name(self) -> Option<&'static str> {
        match self {
            Self::ChatGpt => Some("ChatGPT"),
            Self::LibreChat | Self::OpenWebUi => Some("Assistant"),
            Self::Kobold | Self::NovelAi => Some("Narrator"),
            Self::Risu | Self::Agnai | Self::TextGeneration | Self::CharacterAi => None,
        }
    }
}

/// A chat of another program.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignChat {
    pub program: ForeignProgram,
    /// Its id in the source program, if any.
    pub id: Option<String>,
    pub title: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub started_at: Option<i64>,
    /// Name of the character or model that answers.
    pub assistant_name: Option<String>,
    /// What the file says about that character, as fields of a card.
    pub card_fields: Map<String, Value>,
    /// Its lorebook, as world info.
    pub lorebook: Option<Map<String, Value>>,
    /// The messages; each comes after its parent.
    pub messages: Vec<ForeignMessage>,
    /// Index in `said` of the message at which the chat was left.
    pub head: Option<usize>,
    /// Unknown fields of the chat.
    pub rest: Map<String, Value>,
    pub findings: Vec<ImportFinding>,
}

/// The role of a speaker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ForeignRole {
    #[default]
    User,
    /// The model or character that answers.
    Assistant,
    /// Neither: instructions to the model, or the result of a tool.
    System,
}

/// A message of a foreign chat.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ForeignMessage {
    /// Index of the message it answers; `None` at a beginning.
    pub parent: Option<usize>,
    /// Its id in the source program.
    pub id: Option<String>,
    pub role: ForeignRole,
    /// The speaker's name.
    pub name: Option<String>,
    pub text: String,
    /// The model's reasoning before it.
    pub reasoning: Option<String>,
    /// The model that wrote it.
    pub model: Option<String>,
    /// When it was written, in milliseconds since 1970.
    pub date: Option<i64>,
    /// Whether the source program hid it from the reader or from the model.
    pub is_hidden: bool,
    /// Why a reply failed, in the words of the program; empty if it does not say why. `None` if it did not fail.
    pub error: Option<String>,
    /// Unknown fields of the message.
    pub rest: Map<String, Value>,
}

/// Why a file, or one element of it, could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForeignChatError {
    #[error("it is not JSON: {0}")]
    NotJson(String),
    /// JSON in no known format.
    #[error("it is JSON, but not a chat of a supported program")]
    Unknown,
}

/// Returns the chats in one element of a file.
///
/// # Errors
/// Returns an error if the element is not JSON, or is in no known format.
pub fn read(piece: &[u8]) -> Result<Vec<ForeignChat>, ForeignChatError> {
    let text = super::text::decode(piece).map_err(|error| ForeignChatError::NotJson(error.to_string()))?;
    let all = match nested::parse(&text)? {
        Value::Array(list) => list,
        one => vec![one],
    };
    let mut tales = Vec::new();
    for one in all {
        let Value::Object(map) = one else { return Err(ForeignChatError::Unknown) };
        tales.extend(from_object(map)?);
    }
    Ok(tales)
}

/// Returns the chats in an object, after detecting the program by its keys.
fn from_object(map: Map<String, Value>) -> Result<Vec<ForeignChat>, ForeignChatError> {
    let is_object = |key: &str| map.get(key).is_some_and(Value::is_object);
    let is_list = |key: &str| map.get(key).is_some_and(Value::is_array);
    if is_object("mapping") {
        return Ok(vec![chatgpt::read(map)]);
    }
    if is_object("chat") || (is_object("history") && open_webui::is_chat(&map)) {
        return Ok(vec![open_webui::read(map)]);
    }
    if map.contains_key("conversationId") && (is_list("messages") || is_list("messagesTree")) {
        return Ok(vec![librechat::read(map)]);
    }
    if map.get("type").is_some_and(|kind| kind == "risuChat" || kind == "risuAllChats") {
        return Ok(risu::read(map));
    }
    if novelai::is_story(&map) {
        return Ok(vec![novelai::read(map)]);
    }
    if kobold::is_story(&map) {
        return Ok(vec![kobold::read(map)]);
    }
    if is_object("histories") || is_list("histories") {
        return Ok(character_ai::read(map));
    }
    if ooba::is_chat(&map) {
        return Ok(vec![ooba::read(map)]);
    }
    if agnai::is_chat(&map) {
        return Ok(vec![agnai::read(map)]);
    }
    Err(ForeignChatError::Unknown)
}
