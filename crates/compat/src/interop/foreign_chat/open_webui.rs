//! Open WebUI: exported chats. A chat has a `history` of messages by id, each with its parent and children. `currentId`
//! is where it was left. The oldest chats have only a list of `messages`.
//!
//! Reasoning and tool calls stand in the text as HTML `<details>` elements, or beside it in a list `output`.

use serde_json::{Map, Value};

use super::details_blocks::{UnfoldedText, unfold};
use super::keys::{drop_empty, join_paragraphs, list, name, names, object, text, timestamp};
use super::message_tree::{UnlinkedMessage, build_tree};
use super::{ForeignChat, ForeignMessage, ForeignProgram, ForeignRole};
use crate::interop::{FindingDetail, ImportFinding};

/// The key under which the tool calls of a message are kept.
const TOOL_CALLS: &str = "tool_calls";
/// The keys of a message that may contain its thoughts.
const REASONING_KEYS: [&str; 2] = ["reasoning_content", "reasoning"];

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
    let mut findings = grown.findings;
    findings.extend(tool_calls_finding(&grown.messages));
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
        findings,
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
    let content = text(&mut message, "content").unwrap_or_else(|| content_text(&mut message));
    let output = MessageOutput::take(&mut message);
    // Only a reply has folded blocks. What users write in their own messages is text.
    let folded = match who {
        ForeignRole::Assistant => unfold(&content),
        ForeignRole::User | ForeignRole::System => UnfoldedText { text: content, ..UnfoldedText::default() },
    };
    let words = if folded.text.trim().is_empty() { output.text } else { folded.text };
    // The list repeats the thoughts of the text.
    let thoughts = if folded.thoughts.is_empty() { output.thoughts } else { folded.thoughts };
    let is_same = |one: &str, other: &str| one.trim() == other.trim();
    let mut own: Vec<String> = REASONING_KEYS.iter().filter_map(|key| text(&mut message, key)).collect();
    own.dedup_by(|one, other| is_same(one, other));
    own.retain(|own| !thoughts.iter().any(|thought| is_same(thought, own)));
    let thought = Some(join_paragraphs(own.into_iter().chain(thoughts))).filter(|thought| !thought.is_empty());
    let error = error_words(&mut message);
    if words.trim().is_empty() && error.is_none() {
        return UnlinkedMessage { expects_text: thought.is_none(), reasoning: thought, ..found };
    }
    if !folded.tool_calls.is_empty() {
        message.insert(TOOL_CALLS.to_owned(), folded.tool_calls.into());
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
        error,
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

/// What a message has beside its text in `output`, a list of items or one item.
#[derive(Default)]
struct MessageOutput {
    thoughts: Vec<String>,
    text: String,
}

impl MessageOutput {
    /// Takes the thoughts and the text out of a message. The items stay if there is anything else, such as tool calls.
    fn take(message: &mut Map<String, Value>) -> Self {
        let items = items(message.get("output")).to_vec();
        let kind = |item: &Value| item.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let of_kind = |wanted: &'static str| items.iter().filter(move |item| kind(item) == wanted);
        let thoughts = of_kind("reasoning").filter_map(|item| {
            let mut texts = ["content", "summary", "text"].into_iter().map(|key| part_texts(item.get(key)));
            texts.find(|text| !text.trim().is_empty())
        });
        let thoughts = thoughts.collect();
        let text = join_paragraphs(of_kind("message").map(|item| part_texts(item.get("content"))));
        let is_read = |item: &Value| matches!(kind(item).as_str(), "reasoning" | "message");
        if !items.is_empty() && items.iter().all(is_read) {
            message.shift_remove("output");
        }
        Self { thoughts, text }
    }
}

/// Returns the items of a list. An object is one item, and anything else none.
fn items(value: Option<&Value>) -> &[Value] {
    match value {
        Some(Value::Array(list)) => list,
        Some(item @ Value::Object(_)) => std::slice::from_ref(item),
        _ => &[],
    }
}

/// Returns the texts of a list of parts. A plain text is one part, and so is an object.
fn part_texts(parts: Option<&Value>) -> String {
    match parts {
        Some(Value::String(text)) => text.clone(),
        parts => {
            let texts = items(parts).iter().filter_map(|part| part.get("text").unwrap_or(part).as_str());
            texts.collect::<Vec<_>>().concat()
        }
    }
}

/// Returns why a reply failed, in the words of the server. Empty if the file does not say why; `None` if it did not
/// fail.
fn error_words(message: &mut Map<String, Value>) -> Option<String> {
    let error = message.get("error").filter(|error| !matches!(error, Value::Null | Value::Bool(false)))?;
    let words = ["/content/message", "/content/error/message", "/content/detail", "/content", "/message", "/detail"];
    let words = words.iter().find_map(|path| error.pointer(path)?.as_str()).or_else(|| error.as_str());
    let words = words.map(|words| words.trim().chars().take(2_000).collect::<String>());
    if error.is_boolean() || error.is_string() {
        message.shift_remove("error");
    }
    Some(words.unwrap_or_default())
}

/// Returns the finding for tool calls, which are kept beside their messages.
fn tool_calls_finding(messages: &[ForeignMessage]) -> Option<ImportFinding> {
    let of = |message: &ForeignMessage| {
        let list = |key: &str| items(message.rest.get(key));
        let is_call =
            |item: &&Value| item.get("type").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("_call"));
        list(TOOL_CALLS).len().max(list("output").iter().filter(is_call).count())
    };
    let count: usize = messages.iter().map(of).sum();
    (count > 0).then(|| ImportFinding::kept(&FindingDetail::ToolCalls { count }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_reply(reply: Value) -> (ForeignMessage, Vec<ImportFinding>) {
        let mut reply = reply.as_object().cloned().unwrap();
        reply.extend([("parentId".to_owned(), json!("a")), ("role".to_owned(), json!("assistant"))]);
        let user = json!({"role": "user", "content": "Hi.", "childrenIds": ["b"]});
        let chat = json!({"chat": {"history": {"currentId": "b", "messages": {"a": user, "b": reply}}}});
        let mut chat = read(chat.as_object().cloned().unwrap());
        assert_eq!((chat.messages.len(), chat.head), (2, Some(1)));
        (chat.messages.pop().unwrap(), chat.findings)
    }

    #[test]
    fn open_webui_output_gives_thoughts_and_text() {
        let thought = json!({"type": "reasoning", "content": [{"type": "output_text", "text": "hmm "}, {"type": "output_text", "text": "well"}], "summary": null});
        let summary = json!({"type": "reasoning", "content": [], "summary": [{"type": "summary_text", "text": "So."}]});
        let words = json!({"type": "message", "content": [{"type": "output_text", "text": "One two."}]});
        for content in ["One two.", ""] {
            let (read, findings) = read_reply(json!({"content": content, "output": [thought, summary, words]}));
            assert_eq!((read.text.as_str(), read.reasoning.as_deref()), ("One two.", Some("hmm well\n\nSo.")));
            assert_eq!((read.rest.get("output"), findings.len()), (None, 0));
        }
        let folded = "<details type=\"reasoning\">\n<summary>T</summary>\n> hmm well\n</details>\nOne two.";
        let call = json!({"type": "function_call", "name": "look"});
        let (read, findings) = read_reply(json!({"content": folded, "output": [thought, call, words]}));
        assert_eq!((read.text.as_str(), read.reasoning.as_deref()), ("One two.", Some("hmm well")), "not twice");
        assert!(read.rest.contains_key("output"), "the call is kept");
        assert_eq!((findings[0].code, findings[0].count), ("tool_calls", 1));
    }

    #[test]
    fn open_webui_thought_in_any_field_is_kept() {
        for thoughts in [
            json!({"output": {"type": "reasoning", "text": "hmm"}}),
            json!({"output": [{"type": "reasoning", "content": [], "text": "hmm"}]}),
            json!({"output": {"type": "reasoning", "content": {"type": "output_text", "text": "hmm"}}}),
            json!({"reasoning": "hmm"}),
            json!({"reasoning_content": "hmm"}),
            json!({"reasoning_content": "hmm", "reasoning": "hmm\n", "output": [{"type": "reasoning", "text": "hmm"}]}),
        ] {
            let mut reply = thoughts.as_object().cloned().unwrap();
            reply.insert("content".to_owned(), json!("One two."));
            let (read, _) = read_reply(reply.into());
            assert_eq!((read.text.as_str(), read.reasoning.as_deref()), ("One two.", Some("hmm")), "{thoughts}");
            assert!(["output", "reasoning", "reasoning_content"].iter().all(|key| !read.rest.contains_key(*key)));
        }
    }

    #[test]
    fn open_webui_block_in_a_message_of_the_user_stays() {
        let words = "See: <details type=\"reasoning\">mine</details>";
        let user = json!({"role": "user", "content": words});
        let chat = json!({"chat": {"history": {"currentId": "a", "messages": {"a": user}}}});
        let chat = read(chat.as_object().cloned().unwrap());
        assert_eq!((chat.messages[0].text.as_str(), chat.messages[0].reasoning.as_deref()), (words, None));
    }

    #[test]
    fn open_webui_failed_reply_keeps_its_error() {
        for (error, words) in [
            (json!({"content": {"message": "It broke.", "code": "boom"}}), "It broke."),
            (json!({"content": "Slow down"}), "Slow down"),
            (json!({"detail": "No."}), "No."),
            (json!("plain"), "plain"),
            (json!(true), ""),
            (json!({"odd": 1}), ""),
        ] {
            for text in ["One two", ""] {
                let (read, _) = read_reply(json!({"content": text, "error": error}));
                assert_eq!((read.text.as_str(), read.error.as_deref()), (text, Some(words)), "{error}");
            }
        }
        let (read, _) = read_reply(json!({"content": "Fine.", "error": false}));
        assert_eq!(read.error, None);
    }
}
