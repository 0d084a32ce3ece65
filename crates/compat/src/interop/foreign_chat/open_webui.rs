//! Open WebUI: exported chats. A chat has a `history` of messages by id, each with its parent and children. `currentId`
//! is where it was left. The oldest chats have only a list of `messages`.
//!
//! Reasoning comes before the answer in an HTML `<details>` element.

use serde_json::{Map, Value};

use super::keys::{drop_empty, join_paragraphs, list, name, names, object, text, timestamp};
use super::message_tree::{UnlinkedMessage, build_tree};
use super::{ForeignChat, ForeignMessage, ForeignProgram, ForeignRole};

/// Start and end of reasoning.
const REASONING_TAGS: (&str, &str) = ("<details type=\"reasoning\"", "</details>");

/// Returns whether an object is a bare chat, without the record around it.
pub fn is_chat(map: &Map<String, Value>) -> bool {
    map.get("history").and_then(|history| history.get("messages")).is_some_and(Value::is_object)
}

/// Reads a chat.
pub fn read(mut map: Map<String, Value>) -> ForeignChat {
    let mut chat = if is_chat(&map) { std::mem::take(&mut map) } else { object(&mut map, "chat") };
    let mut history = object(&mut chat, "history");
    let by_id = object(&mut history, "messages");
    let linear = list(&mut chat, "messages");
    let current = name(&mut history, "currentId");
    let mut loose: Vec<UnlinkedMessage> = by_id.into_iter().map(|(id, message)| read_message(id, message)).collect();
    if loose.is_empty() {
        loose = link_in_order(linear);
    }
    let grown = build_tree(loose, current.as_deref());
    let inner = name(&mut chat, "id");
    let (title, inner_title) = (text(&mut map, "title"), text(&mut chat, "title"));
    let begun = timestamp(&mut map, "created_at");
    let timestamp = timestamp(&mut chat, "timestamp");
    let tale = ForeignChat {
        program: ForeignProgram::OpenWebUi,
        id: name(&mut map, "id").or(inner),
        title: title.or(inner_title),
        started_at: begun.or(timestamp),
        assistant_name: None,
        card_fields: Map::new(),
        lorebook: None,
        messages: grown.messages,
        head: grown.head,
        rest: Map::new(),
        findings: grown.findings,
    };
    for (key, part) in [("history", history), ("chat", chat)] {
        map.insert(key.to_owned(), part.into());
    }
    map.shift_remove("updated_at");
    if let Some(Value::Object(chat)) = map.get_mut("chat") {
        drop_empty(chat);
    }
    drop_empty(&mut map);
    ForeignChat { rest: map, ..tale }
}

/// Links messages so that each answers the one before it.
fn link_in_order(messages: Vec<Value>) -> Vec<UnlinkedMessage> {
    let before = |n: usize| n.checked_sub(1).map(|before| before.to_string());
    let each = messages.into_iter().enumerate().map(|(n, message)| {
        let found = read_message(n.to_string(), message);
        UnlinkedMessage { id: n.to_string(), parent: before(n), children: Vec::new(), ..found }
    });
    each.collect()
}

fn read_message(id: String, message: Value) -> UnlinkedMessage {
    let Value::Object(mut message) = message else {
        return UnlinkedMessage { id, expects_text: true, ..UnlinkedMessage::default() };
    };
    let parent = name(&mut message, "parentId");
    let children = names(&mut message, "childrenIds");
    let found = UnlinkedMessage { id, parent, children, ..UnlinkedMessage::default() };
    let role = text(&mut message, "role").unwrap_or_default();
    let who = match role.as_str() {
        "user" => ForeignRole::User,
        "assistant" => ForeignRole::Assistant,
        _ => ForeignRole::System,
    };
    let (folded, words) = match text(&mut message, "content") {
        Some(words) => split_reasoning(&words),
        None => (None, content_text(&mut message)),
    };
    let thought = text(&mut message, "reasoning_content").into_iter().chain(folded);
    let thought = Some(join_paragraphs(thought)).filter(|thought| !thought.is_empty());
    if words.trim().is_empty() {
        return UnlinkedMessage { expects_text: thought.is_none(), reasoning: thought, ..found };
    }
    let model = text(&mut message, "model");
    let chat_message = ForeignMessage {
        id: name(&mut message, "id"),
        role: who,
        name: text(&mut message, "modelName"),
        text: words,
        reasoning: thought,
        model,
        date: timestamp(&mut message, "timestamp"),
        is_hidden: who == ForeignRole::System,
        ..ForeignMessage::default()
    };
    message.shift_remove("done");
    drop_empty(&mut message);
    UnlinkedMessage { message: Some(ForeignMessage { rest: message, ..chat_message }), ..found }
}

/// Returns the text parts of a message.
fn content_text(message: &mut Map<String, Value>) -> String {
    let parts = message.get("content").and_then(Value::as_array).into_iter().flatten();
    join_paragraphs(parts.filter_map(|part| Some(part.get("text")?.as_str()?.to_owned())))
}

/// Splits a text into reasoning and answer.
fn split_reasoning(words: &str) -> (Option<String>, String) {
    let (mut thoughts, mut rest) = (Vec::new(), words.trim_start());
    while let Some(folded) = rest.strip_prefix(REASONING_TAGS.0) {
        let Some((inside, after)) = folded.split_once(REASONING_TAGS.1) else { break };
        let body = inside.split_once('>').map_or("", |(_, body)| body).trim_start();
        let body =
            body.strip_prefix("<summary>").and_then(|body| body.split_once("</summary>")).map_or(body, |two| two.1);
        let lines = body.trim().lines().map(|line| line.strip_prefix("> ").or(line.strip_prefix('>')).unwrap_or(line));
        thoughts.push(unescape_html(&lines.collect::<Vec<_>>().join("\n")));
        rest = after.trim_start();
    }
    if thoughts.is_empty() {
        return (None, words.to_owned());
    }
    (Some(join_paragraphs(thoughts)), rest.to_owned())
}

/// Replaces HTML entities.
pub fn unescape_html(text: &str) -> String {
    let marks = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#x27;", "'"), ("&#39;", "'"), ("&amp;", "&")];
    marks.iter().fold(text.to_owned(), |text, (mark, plain)| text.replace(mark, plain))
}
