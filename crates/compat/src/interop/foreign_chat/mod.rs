//! Stories as programs other than SillyTavern keep them: one file, or one of many in it, is a [`ForeignChat`], a tree of what was
//! said. [`read`] says by the content which program a story is of, and no file's name is asked.
//!
//! `json_elements.rs` cuts a file of any size into its stories, `nested.rs` reads what is nested deeper than JSON is read, `message_tree.rs`
//! makes a tree of messages that name each other, whatever they name. Each program has a file that knows its keys:
//! `chatgpt.rs`, `librechat.rs`, `open_webui.rs`, `agnai.rs` for trees; `risu.rs`, `kobold.rs`, `ooba.rs` (text-generation-webui) and
//! `character_ai.rs` (CAI Tools) for lines. `keys.rs` is how they read them.
//!
//! To add a program: a variant of [`ForeignProgram`], a file with its name, its sign in [`read`]. What it says and nobody here knows
//! is kept in `rest`; what was passed over is a finding.

mod agnai;
mod character_ai;
mod chatgpt;
mod json_elements;
mod keys;
mod kobold;
mod librechat;
mod message_tree;
mod nested;
mod ooba;
mod open_webui;
mod risu;

use serde_json::{Map, Value};

use super::ImportFinding;
pub use json_elements::{JsonElements, MAX_ELEMENT_BYTES};

/// A program whose stories are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ForeignProgram {
    /// ChatGPT: `conversations.json` of its export.
    ChatGpt,
    /// LibreChat: an exported conversation.
    LibreChat,
    /// Open WebUI: its exported chats.
    OpenWebUi,
    /// RisuAI: exported chats.
    Risu,
    /// Agnai: an exported chat.
    Agnai,
    /// KoboldAI and KoboldAI Lite: a saved story.
    Kobold,
    /// text-generation-webui: a saved chat.
    TextGeneration,
    /// Character.AI, as CAI Tools saves it.
    CharacterAi,
}

impl ForeignProgram {
    /// The word under which things of it are kept.
    pub const fn word(self) -> &'static str {
        match self {
            Self::ChatGpt => "chatgpt",
            Self::LibreChat => "librechat",
            Self::OpenWebUi => "open-webui",
            Self::Risu => "risu",
            Self::Agnai => "agnai",
            Self::Kobold => "kobold",
            Self::TextGeneration => "text-generation-webui",
            Self::CharacterAi => "cai",
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ChatGpt => "ChatGPT",
            Self::LibreChat => "LibreChat",
            Self::OpenWebUi => "Open WebUI",
            Self::Risu => "RisuAI",
            Self::Agnai => "Agnai",
            Self::Kobold => "KoboldAI",
            Self::TextGeneration => "text-generation-webui",
            Self::CharacterAi => "CAI Tools",
        }
    }

    /// Who answers in its stories where they do not say; nobody where that is a character whom its file does not name.
    pub const fn default_assistant_name(self) -> Option<&'static str> {
        match self {
            Self::ChatGpt => Some("ChatGPT"),
            Self::LibreChat | Self::OpenWebUi => Some("Assistant"),
            Self::Kobold => Some("Narrator"),
            Self::Risu | Self::Agnai | Self::TextGeneration | Self::CharacterAi => None,
        }
    }
}

/// A story.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignChat {
    /// The program that it is of.
    pub program: ForeignProgram,
    /// By what that program knows it, where it has a name for it.
    pub id: Option<String>,
    /// What it is called.
    pub title: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub started_at: Option<i64>,
    /// Who answers.
    pub assistant_name: Option<String>,
    /// What the file says of them, as fields of a card.
    pub card_fields: Map<String, Value>,
    /// A lorebook that belongs to it, in the form of world info.
    pub book: Option<Map<String, Value>>,
    /// What was said, each after what it answers.
    pub said: Vec<ForeignMessage>,
    /// Where it was left, by its place in `said`.
    pub head: Option<usize>,
    /// What else the file says of it.
    pub rest: Map<String, Value>,
    /// What is to say of it.
    pub findings: Vec<ImportFinding>,
}

/// Who says something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ForeignRole {
    /// A person.
    #[default]
    User,
    /// The one who answers.
    Assistant,
    /// Neither: a note to the model, the answer of a tool.
    System,
}

/// One thing that was said.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ForeignMessage {
    /// What it answers, by its place; nothing at a beginning.
    pub parent: Option<usize>,
    /// By what the program knows it.
    pub id: Option<String>,
    /// Who says it.
    pub role: ForeignRole,
    /// The name under which it is said.
    pub name: Option<String>,
    /// The text.
    pub text: String,
    /// What was thought before it.
    pub reasoning: Option<String>,
    /// The model that wrote it.
    pub model: Option<String>,
    /// When, in milliseconds since 1970.
    pub date: Option<i64>,
    /// Whether a reader does not see it there, or the model does not.
    pub is_hidden: bool,
    /// What else the file says of it.
    pub rest: Map<String, Value>,
}

/// Why a file, or one of the stories in it, is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForeignChatError {
    /// It is no JSON.
    #[error("it is not JSON: {0}")]
    NotJson(String),
    /// It is JSON of something else.
    #[error("it is JSON, but no story of a program that is known here")]
    Unknown,
}

/// The stories of one piece of a file.
///
/// # Errors
/// It is no JSON, or no story.
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

/// The stories of an object, by what stands in it.
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
