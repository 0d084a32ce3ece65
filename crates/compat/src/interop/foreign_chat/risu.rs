//! RisuAI: one exported chat (`risuChat`) or all chats of a character (`risuAllChats`). A chat is a list of messages
//! with its own lorebook. Reasoning comes before the answer.

use serde_json::{Map, Value, json};

use super::keys::{drop_empty, list, name, object, text, timestamp};
use super::message_tree::build_line;
use super::{ForeignChat, ForeignMessage, ForeignProgram, ForeignRole};
use crate::interop::lorebook;

/// Start and end of reasoning.
const THOUGHT_TAGS: (&str, &str) = ("<Thoughts>", "</Thoughts>");

/// Reads the chats of a file.
pub fn read(mut map: Map<String, Value>) -> Vec<ForeignChat> {
    let one = object(&mut map, "data");
    let all = list(&mut map, "data");
    let chats = all.into_iter().filter_map(|chat| match chat {
        Value::Object(chat) => Some(chat),
        _ => None,
    });
    Some(one).filter(|one| !one.is_empty()).into_iter().chain(chats).map(convert_chat).collect()
}

fn convert_chat(mut map: Map<String, Value>) -> ForeignChat {
    let messages = list(&mut map, "message").into_iter().map(|message| (vec![convert_message(message)], 0));
    let grown = build_line(messages);
    let lore = list(&mut map, "localLore");
    let title = text(&mut map, "name");
    let lore = (!lore.is_empty()).then(|| json!({"type": "risu", "data": lore}).to_string());
    let lore = lore.and_then(|lore| lorebook::read_with_findings(lore.as_bytes()).ok()).unwrap_or_default();
    let findings = grown.findings.into_iter().chain(lore.findings).collect();
    let tale = ForeignChat {
        program: ForeignProgram::Risu,
        id: name(&mut map, "id"),
        title,
        started_at: grown.messages.iter().filter_map(|chat_message| chat_message.date).min(),
        assistant_name: None,
        card_fields: Map::new(),
        lorebook: Some(lore.book).filter(|book| !book.is_empty()),
        messages: grown.messages,
        head: grown.head,
        rest: Map::new(),
        findings,
    };
    drop_empty(&mut map);
    ForeignChat { rest: map, ..tale }
}

fn convert_message(message: Value) -> Option<ForeignMessage> {
    let Value::Object(mut message) = message else { return None };
    let (reasoning, words) = split_thoughts(text(&mut message, "data")?);
    let role = text(&mut message, "role").unwrap_or_default();
    let mut making = object(&mut message, "generationInfo");
    let chat_message = ForeignMessage {
        id: name(&mut message, "chatId"),
        role: if role == "user" { ForeignRole::User } else { ForeignRole::Assistant },
        name: text(&mut message, "name"),
        text: words,
        reasoning,
        model: text(&mut making, "model"),
        date: timestamp(&mut message, "time"),
        is_hidden: message.get("disabled").is_some_and(|disabled| disabled != &Value::Bool(false)),
        ..ForeignMessage::default()
    };
    message.insert("generationInfo".to_owned(), making.into());
    drop_empty(&mut message);
    Some(ForeignMessage { rest: message, ..chat_message })
}

fn split_thoughts(words: String) -> (Option<String>, String) {
    let inside = words.trim_start().strip_prefix(THOUGHT_TAGS.0).and_then(|rest| rest.split_once(THOUGHT_TAGS.1));
    match inside {
        Some((thought, rest)) if !rest.trim().is_empty() => {
            (Some(thought.trim().to_owned()), rest.trim_start().to_owned())
        }
        _ => (None, words),
    }
}
