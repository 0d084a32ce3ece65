//! Agnai: an exported chat. Messages name their parents if the chat branches, otherwise they form a list. `retries`
//! contains earlier versions of a message.

use serde_json::{Map, Value};

use super::keys::{drop_empty, list, name, text, timestamp};
use super::message_tree::{UnlinkedMessage, build_line, build_tree};
use super::{ForeignChat, ForeignMessage, ForeignProgram, ForeignRole};

/// Character fields of a chat: Agnai's key and ours.
const CHARACTER_KEYS: [(&str, &str); 3] =
    [("scenario", "scenario"), ("greeting", "firstMessage"), ("sampleChat", "exampleMessages")];

/// Returns whether an object is a chat.
pub fn is_chat(map: &Map<String, Value>) -> bool {
    let messages = map.get("messages").and_then(Value::as_array);
    messages.is_some_and(|messages| messages.iter().any(|message| message.get("msg").is_some_and(Value::is_string)))
}

/// Reads a chat.
pub fn read(mut map: Map<String, Value>) -> ForeignChat {
    let messages = list(&mut map, "messages");
    let leaf = name(&mut map, "treeLeafId");
    let is_tree = messages.iter().any(|message| message.get("parent").is_some_and(Value::is_string));
    let grown = if is_tree {
        build_tree(messages.into_iter().flat_map(convert_message).collect(), leaf.as_deref())
    } else {
        build_line(messages.into_iter().map(|message| {
            let all = message_versions(message);
            let last = all.len().saturating_sub(1);
            (all, last)
        }))
    };
    let title = text(&mut map, "name");
    let about =
        CHARACTER_KEYS.into_iter().filter_map(|(theirs, ours)| Some((ours.to_owned(), text(&mut map, theirs)?.into())));
    let about: Map<String, Value> = about.collect();
    let spoken = grown.messages.iter().find(|chat_message| chat_message.role == ForeignRole::Assistant);
    let tale = ForeignChat {
        program: ForeignProgram::Agnai,
        id: name(&mut map, "_id"),
        title,
        started_at: timestamp(&mut map, "createdAt"),
        assistant_name: spoken.and_then(|chat_message| chat_message.name.clone()),
        card_fields: about,
        lorebook: None,
        messages: grown.messages,
        head: grown.head,
        rest: Map::new(),
        findings: grown.findings,
    };
    map.shift_remove("updatedAt");
    drop_empty(&mut map);
    ForeignChat { rest: map, ..tale }
}

/// Converts a message of a tree and its earlier versions, which become siblings.
fn convert_message(message: Value) -> Vec<UnlinkedMessage> {
    let (id, parent) = match &message {
        Value::Object(map) => {
            let says = |key: &str| map.get(key).and_then(Value::as_str).map(str::to_owned);
            (says("_id").unwrap_or_default(), says("parent").filter(|parent| !parent.is_empty()))
        }
        _ => Default::default(),
    };
    let mut all = message_versions(message);
    let own = UnlinkedMessage {
        id,
        parent: parent.clone(),
        message: all.pop().flatten(),
        expects_text: true,
        ..UnlinkedMessage::default()
    };
    let earlier = all.into_iter().map(|chat_message| UnlinkedMessage {
        parent: parent.clone(),
        message: chat_message,
        ..UnlinkedMessage::default()
    });
    earlier.chain([own]).collect()
}

/// Returns all versions of a message, the current one last.
fn message_versions(message: Value) -> Vec<Option<ForeignMessage>> {
    let Value::Object(mut message) = message else { return vec![None] };
    let Some(words) = text(&mut message, "msg") else { return vec![None] };
    let is_user = message.get("userId").is_some_and(|user| !user.is_null());
    let retries = list(&mut message, "retries");
    let is_note = message.get("ooc").and_then(Value::as_bool).unwrap_or(false);
    let mut chat_message = ForeignMessage {
        id: name(&mut message, "_id"),
        role: if is_user { ForeignRole::User } else { ForeignRole::Assistant },
        name: text(&mut message, "handle").or_else(|| text(&mut message, "name")),
        text: words,
        date: timestamp(&mut message, "createdAt"),
        is_hidden: is_note,
        ..ForeignMessage::default()
    };
    message.shift_remove("parent");
    message.shift_remove("updatedAt");
    drop_empty(&mut message);
    let earlier: Vec<Option<ForeignMessage>> = retries
        .iter()
        .filter_map(|text| text.as_str().filter(|text| !text.trim().is_empty() && *text != chat_message.text))
        .map(|text| Some(ForeignMessage { id: None, text: text.to_owned(), ..chat_message.clone() }))
        .collect();
    chat_message.rest = message;
    earlier.into_iter().chain([Some(chat_message)]).collect()
}
