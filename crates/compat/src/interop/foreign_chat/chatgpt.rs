//! ChatGPT: `conversations.json` of its data export. A conversation has a `mapping` of messages by id, each with its
//! parent and children. `current_node` is where it was left.
//!
//! Reasoning comes in messages of its own and moves to the answer after it. Calls to tools, their results and messages
//! that were never shown are kept, but hidden. Images and audio are not in the file; placeholder text replaces them.

use serde_json::{Map, Value};

use super::keys::{drop_empty, flag, join_paragraphs, list, name, names, object, text, timestamp};
use super::message_tree::{UnlinkedMessage, build_tree};
use super::{ForeignChat, ForeignMessage, ForeignProgram, ForeignRole};
use crate::interop::{FindingDetail, ImportFinding};

/// Keys that contain the text of other content types.
const TEXT_KEYS: [&str; 8] =
    ["text", "result", "content", "summary", "user_profile", "user_instructions", "model_set_context", "title"];

/// Common values that need not be kept.
const DEFAULT_VALUES: [(&str, &str); 3] =
    [("status", "finished_successfully"), ("recipient", "all"), ("channel", "final")];

/// Reads a conversation.
pub fn read(mut map: Map<String, Value>) -> ForeignChat {
    let mapping = object(&mut map, "mapping");
    let current = name(&mut map, "current_node");
    let mut notes = 0;
    let loose = mapping.into_iter().map(|(id, node)| match node {
        Value::Object(node) => convert_node(id, node, &mut notes),
        _ => UnlinkedMessage { id, expects_text: true, ..UnlinkedMessage::default() },
    });
    let loose: Vec<UnlinkedMessage> = loose.collect();
    let grown = build_tree(loose, current.as_deref());
    let mut findings = grown.findings;
    if notes > 0 {
        findings.push(ImportFinding::kept(&FindingDetail::MissingAttachments { count: notes }));
    }
    let own = name(&mut map, "conversation_id");
    let id = name(&mut map, "id");
    let tale = ForeignChat {
        program: ForeignProgram::ChatGpt,
        id: own.or(id),
        title: text(&mut map, "title"),
        started_at: timestamp(&mut map, "create_time"),
        assistant_name: None,
        card_fields: Map::new(),
        lorebook: None,
        messages: grown.messages,
        head: grown.head,
        rest: Map::new(),
        findings,
    };
    map.shift_remove("update_time");
    drop_empty(&mut map);
    ForeignChat { rest: map, ..tale }
}

fn convert_node(id: String, mut node: Map<String, Value>, notes: &mut usize) -> UnlinkedMessage {
    let parent = name(&mut node, "parent");
    let children = names(&mut node, "children");
    let mut found = UnlinkedMessage { id, parent, children, ..UnlinkedMessage::default() };
    if !node.get("message").is_some_and(Value::is_object) {
        return found;
    }
    // Read the parts of the node; reasoning is not a message of its own.
    let mut message = object(&mut node, "message");
    let mut content = object(&mut message, "content");
    let mut author = object(&mut message, "author");
    let mut metadata = object(&mut message, "metadata");
    let role = text(&mut author, "role").unwrap_or_default();
    let kind = text(&mut content, "content_type").unwrap_or_else(|| "text".into());
    if let "thoughts" | "reasoning_recap" = kind.as_str() {
        found.reasoning = reasoning(&kind, &mut content);
        return found;
    }
    let is_to_tool = message.get("recipient").and_then(Value::as_str).is_some_and(|to| to != "all");
    let is_out = message.get("weight").and_then(Value::as_f64) == Some(0.0);
    let (words, whole) = message_text(&kind, content, notes);
    if words.trim().is_empty() {
        // Every conversation starts with an empty system message.
        found.expects_text = matches!(role.as_str(), "user" | "assistant") && !is_to_tool;
        return found;
    }
    let who = match role.as_str() {
        "user" => ForeignRole::User,
        "assistant" => ForeignRole::Assistant,
        _ => ForeignRole::System,
    };
    // Build the message.
    let is_unseen = flag(&metadata, "is_visually_hidden_from_conversation");
    let mut chat_message = ForeignMessage {
        id: name(&mut message, "id"),
        role: who,
        name: text(&mut author, "name"),
        text: words,
        model: text(&mut metadata, "model_slug"),
        date: timestamp(&mut message, "create_time"),
        is_hidden: who == ForeignRole::System || is_to_tool || is_out || is_unseen,
        ..ForeignMessage::default()
    };
    // Keep everything unknown in `rest`.
    message.shift_remove("update_time");
    DEFAULT_VALUES.iter().for_each(|(key, usual)| {
        if message.get(*key).is_some_and(|value| value == usual) {
            message.shift_remove(*key);
        }
    });
    if message.get("weight").and_then(Value::as_f64) == Some(1.0) {
        message.shift_remove("weight");
    }
    for (key, part) in [("author", author), ("metadata", metadata), ("content", whole)] {
        message.insert(key.to_owned(), without_empty(part).into());
    }
    node.shift_remove("id");
    message.insert("node".to_owned(), without_empty(node).into());
    chat_message.rest = without_empty(message);
    found.message = Some(chat_message);
    found
}

fn without_empty(mut map: Map<String, Value>) -> Map<String, Value> {
    drop_empty(&mut map);
    map
}

/// Returns the reasoning in a message.
fn reasoning(kind: &str, content: &mut Map<String, Value>) -> Option<String> {
    if kind == "reasoning_recap" {
        // It contains only the duration; the reasoning is in the message before it.
        return None;
    }
    let thoughts = list(content, "thoughts").into_iter().map(|one| match one {
        Value::Object(mut one) => {
            let (head, body) = (text(&mut one, "summary"), text(&mut one, "content"));
            match (head, body) {
                (Some(head), Some(body)) => format!("**{head}**\n{body}"),
                (head, body) => head.or(body).unwrap_or_default(),
            }
        }
        Value::String(text) => text,
        _ => String::new(),
    });
    Some(join_paragraphs(thoughts)).filter(|text| !text.is_empty())
}

/// Returns the text of a message, and the rest of its content.
fn message_text(kind: &str, mut content: Map<String, Value>, notes: &mut usize) -> (String, Map<String, Value>) {
    let parts = list(&mut content, "parts");
    let is_plain = parts.iter().all(|part| part.is_string() || part.is_null());
    let spoken = parts.iter().map(|part| match part {
        Value::String(text) => text.clone(),
        Value::Object(part) => part_text(part, notes),
        _ => String::new(),
    });
    let mut all: Vec<String> = spoken.collect();
    if !is_plain {
        content.insert("parts".to_owned(), parts.into());
    }
    for key in TEXT_KEYS {
        all.extend(text(&mut content, key));
    }
    let mut words = join_paragraphs(all);
    if words.is_empty() && !content.is_empty() && !matches!(kind, "text" | "multimodal_text" | "code") {
        words = format!("[{kind}]");
    }
    if kind == "code" && !words.is_empty() {
        let language = text(&mut content, "language").filter(|language| language != "unknown").unwrap_or_default();
        words = format!("```{language}\n{words}\n```");
    }
    if kind != "text" {
        content.insert("content_type".to_owned(), kind.into());
    }
    (words, content)
}

/// Returns the text of a part, or a placeholder. Counts placeholders in `notes`.
fn part_text(part: &Map<String, Value>, notes: &mut usize) -> String {
    let says = |key: &str| part.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let kind = says("content_type").unwrap_or("file");
    if let Some(text) = says("text") {
        return text.to_owned();
    }
    *notes += 1;
    let what = match kind.split('_').next() {
        Some("image") => "image",
        Some("audio" | "real") => "audio",
        _ => kind,
    };
    let place = says("asset_pointer").or_else(|| says("name")).unwrap_or_default();
    format!("[{what}: {place}]")
}
