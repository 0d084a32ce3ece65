//! LibreChat: an exported conversation. Messages refer to their parents, or contain their replies if exported
//! "recursively". The file does not say where the chat was left, so that is the newest leaf.

use serde_json::{Map, Value};

use super::keys::{drop_empty, flag, join_paragraphs, list, name, object, text, timestamp};
use super::message_tree::{UnlinkedMessage, build_tree};
use super::{ForeignChat, ForeignMessage, ForeignProgram, ForeignRole};
use crate::interop::{FindingDetail, ImportFinding};

/// Parent id of a message that answers nothing.
const ROOT_PARENT_ID: &str = "00000000-0000-0000-0000-000000000000";
/// How older versions mark reasoning.
const THINKING_MARKS: (&str, &str) = (":::thinking", ":::");

/// Reads a conversation.
pub fn read(mut map: Map<String, Value>) -> ForeignChat {
    let nested = list(&mut map, "messagesTree");
    let flat = list(&mut map, "messages");
    let mut loose = Vec::new();
    // Messages still to be read, each with the id of the message that contains it.
    let mut waiting: Vec<(Option<String>, Value)> =
        nested.into_iter().chain(flat).rev().map(|message| (None, message)).collect();
    while let Some((above, message)) = waiting.pop() {
        let Value::Object(mut message) = message else {
            loose.push(UnlinkedMessage { expects_text: true, ..UnlinkedMessage::default() });
            continue;
        };
        let children = list(&mut message, "children");
        let found = read_message(message, above);
        waiting.extend(children.into_iter().rev().map(|child| (Some(found.id.clone()), child)));
        loose.push(found);
    }
    // Build the tree and the chat.
    let grown = build_tree(loose, None);
    let messages = grown.messages;
    let mut findings = grown.findings;
    findings.extend(tool_calls_finding(&messages));
    let begun = messages.iter().filter_map(|one| one.date).min();
    let mut options = object(&mut map, "options");
    let voice = ["chatGptLabel", "modelLabel"].into_iter().find_map(|key| text(&mut options, key));
    map.insert("options".to_owned(), options.into());
    let tale = ForeignChat {
        program: ForeignProgram::LibreChat,
        id: name(&mut map, "conversationId"),
        title: text(&mut map, "title"),
        started_at: begun,
        assistant_name: voice,
        card_fields: Map::new(),
        lorebook: None,
        messages,
        head: grown.head,
        rest: Map::new(),
        findings,
    };
    // Keep the unknown fields.
    for key in ["recursive", "branches", "exportAt"] {
        map.shift_remove(key);
    }
    drop_empty(&mut map);
    ForeignChat { rest: map, ..tale }
}

fn read_message(mut message: Map<String, Value>, above: Option<String>) -> UnlinkedMessage {
    let id = name(&mut message, "messageId").unwrap_or_default();
    let parent = name(&mut message, "parentMessageId").filter(|parent| parent != ROOT_PARENT_ID).or(above);
    let found = UnlinkedMessage { id: id.clone(), parent, ..UnlinkedMessage::default() };
    let (thought, words) = content(&mut message);
    if words.trim().is_empty() {
        return UnlinkedMessage { expects_text: thought.is_none(), reasoning: thought, ..found };
    }
    let is_user = flag(&message, "isCreatedByUser");
    let sender = text(&mut message, "sender").filter(|_| !is_user);
    let is_system = sender.as_deref().is_some_and(|sender| sender.eq_ignore_ascii_case("system"));
    let who = match (is_user, is_system) {
        (true, _) => ForeignRole::User,
        (false, true) => ForeignRole::System,
        (false, false) => ForeignRole::Assistant,
    };
    let chat_message = ForeignMessage {
        id: Some(id).filter(|id| !id.is_empty()),
        role: who,
        name: sender,
        text: words,
        reasoning: thought,
        model: text(&mut message, "model").filter(|_| !is_user),
        date: timestamp(&mut message, "createdAt"),
        is_hidden: is_system,
        ..ForeignMessage::default()
    };
    for key in ["isCreatedByUser", "updatedAt", "conversationId", "_id", "__v", "user"] {
        message.shift_remove(key);
    }
    drop_empty(&mut message);
    message.retain(|_, value| value != &Value::Bool(false));
    UnlinkedMessage { message: Some(ForeignMessage { rest: message, ..chat_message }), ..found }
}

/// Returns the reasoning and the text, which are in one text or in parts.
fn content(message: &mut Map<String, Value>) -> (Option<String>, String) {
    let parts = message.get("content").and_then(Value::as_array).cloned().unwrap_or_default();
    let (mut thoughts, mut words, mut is_plain) = (Vec::new(), Vec::new(), true);
    for part in &parts {
        let says = |key: &str| match part.get(key) {
            Some(Value::String(text)) => Some(text.clone()),
            Some(inner) => inner.get("value").and_then(Value::as_str).map(str::to_owned),
            None => None,
        };
        match part.get("type").and_then(Value::as_str) {
            Some("think") => thoughts.extend(says("think")),
            Some("text") => words.extend(says("text")),
            // It stays in the list of parts.
            Some("tool_call") => is_plain = false,
            Some(other) => {
                words.push(format!("[{other}]"));
                is_plain = false;
            }
            None => is_plain = false,
        }
    }
    let own = text(message, "text");
    if is_plain {
        message.shift_remove("content");
    }
    let words = join_paragraphs(words);
    let (marked, words) = if words.is_empty() { split_thinking(own.unwrap_or_default()) } else { (None, words) };
    thoughts.extend(marked);
    (Some(join_paragraphs(thoughts)).filter(|thought| !thought.is_empty()), words)
}

fn split_thinking(words: String) -> (Option<String>, String) {
    let marks = words.trim_start().strip_prefix(THINKING_MARKS.0).and_then(|rest| rest.split_once(THINKING_MARKS.1));
    match marks {
        Some((thought, rest)) => (Some(thought.trim().to_owned()), rest.trim_start().to_owned()),
        None => (None, words),
    }
}

/// Returns the finding for tool calls, which are kept beside their messages.
fn tool_calls_finding(messages: &[ForeignMessage]) -> Option<ImportFinding> {
    let parts = messages.iter().filter_map(|message| message.rest.get("content")?.as_array()).flatten();
    let count = parts.filter(|part| part.get("type").is_some_and(|kind| kind == "tool_call")).count();
    (count > 0).then(|| ImportFinding::kept(&FindingDetail::ToolCalls { count }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn librechat_tool_calls_are_counted_and_not_in_the_text() {
        let look = json!({"type": "tool_call", "tool_call": {"name": "look", "args": "{}", "output": "a lamp"}});
        let say = |text: &str| json!({"type": "text", "text": text});
        let user = json!({"messageId": "a", "isCreatedByUser": true, "text": "Look."});
        let reply = |parts: Value| json!({"messageId": "b", "parentMessageId": "a", "content": parts});
        let read_reply = |parts: Value| {
            let chat = json!({"conversationId": "c", "messages": [user, reply(parts)]});
            let mut chat = read(chat.as_object().cloned().unwrap());
            (chat.messages.pop().unwrap(), chat.findings)
        };
        let (read, findings) = read_reply(json!([say("Let me see."), look, look, say("A lamp.")]));
        assert_eq!(read.text, "Let me see.\n\nA lamp.");
        assert_eq!((findings.len(), findings[0].code, findings[0].count), (1, "tool_calls", 2));
        assert_eq!(read.rest["content"][1], look, "the call is kept");
        let (read, findings) = read_reply(json!([say("A lamp.")]));
        assert_eq!((read.text.as_str(), read.rest.get("content"), findings.len()), ("A lamp.", None, 0));
    }
}
