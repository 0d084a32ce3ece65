//! Parses JSON in which each message contains its replies. Such a chat of a hundred messages exceeds the parser's
//! recursion limit. So replies are cut out and parsed separately, and all messages go into one list. They refer to
//! their parents by id.

use clotho_core::json_scan::{self, JsonBounds};
use serde_json::Value;

use super::ForeignChatError;

/// The maximum number of lists and objects inside each other. Each reply adds two.
const MAX_REPLY_DEPTH: usize = 200_000;

/// The key under which a message contains its replies.
const REPLIES_KEY: &[u8] = b"\"children\"";

/// Parses JSON, however deeply messages are nested.
///
/// # Errors
/// Returns an error if the text is not JSON, or is nested too deeply in another way.
pub fn parse(text: &str) -> Result<Value, ForeignChatError> {
    let bounds = JsonBounds { depth: MAX_REPLY_DEPTH, ..JsonBounds::CHAT };
    json_scan::check_bounds(text, bounds).map_err(|error| ForeignChatError::NotJson(error.to_string()))?;
    match serde_json::from_str(text) {
        Err(error) if error.to_string().starts_with("recursion limit") => {}
        read => return read.map_err(|error| ForeignChatError::NotJson(error.to_string())),
    }
    let (top, below) = split_replies(text.as_bytes());
    let read =
        |bytes: &[u8]| serde_json::from_slice(bytes).map_err(|error| ForeignChatError::NotJson(error.to_string()));
    let mut top: Value = read(&top)?;
    let messages = ["messagesTree", "messages"].into_iter().find(|key| top.get(key).is_some_and(Value::is_array));
    let list = messages.and_then(|key| top.get_mut(key)?.as_array_mut()).ok_or(ForeignChatError::Unknown)?;
    for message in below {
        list.push(read(&message)?);
    }
    Ok(top)
}

/// The kind of an open bracket.
enum BracketKind {
    Plain,
    /// The list of replies to a message.
    Replies,
    /// A message in such a list.
    Message,
}

/// Returns the text with empty lists of replies, and the text of each reply, in order of appearance.
fn split_replies(text: &[u8]) -> (Vec<u8>, Vec<Vec<u8>>) {
    let (mut done, mut numbers) = (Vec::new(), 0_usize);
    // The texts under construction: the file, and messages nested in each other.
    let mut writing: Vec<(usize, Vec<u8>)> = vec![(0, Vec::new())];
    let mut open: Vec<BracketKind> = Vec::new();
    // Nesting depth inside a list among replies, which is skipped.
    let mut strange = 0_usize;
    let mut rest = text;
    while let Some(byte) = rest.first().copied() {
        let (token, after) = rest.split_at(token_length(rest));
        rest = after;
        if strange > 0 {
            strange =
                if matches!(byte, b'{' | b'[') { strange + 1 } else { strange - usize::from(is_closing_bracket(byte)) };
            continue;
        }
        let is_between = matches!(open.last(), Some(BracketKind::Replies));
        match byte {
            b'{' if is_between => {
                numbers += 1;
                writing.push((numbers, Vec::new()));
                open.push(BracketKind::Message);
            }
            b'[' if is_between => {
                strange = 1;
                continue;
            }
            _ if is_between && !is_closing_bracket(byte) => continue,
            b'[' if ends_in_replies_key(&writing) => open.push(BracketKind::Replies),
            b'{' | b'[' => open.push(BracketKind::Plain),
            _ => {}
        }
        if let Some((_, text)) = writing.last_mut() {
            text.extend_from_slice(token);
        }
        if is_closing_bracket(byte)
            && let Some(BracketKind::Message) = open.pop()
            && writing.len() > 1
        {
            done.extend(writing.pop());
        }
    }
    // Keep truncated messages, so that parsing them fails visibly.
    while writing.len() > 1 {
        done.extend(writing.pop());
    }
    done.sort_by_key(|(number, _)| *number);
    let top = writing.pop().map(|(_, text)| text).unwrap_or_default();
    (top, done.into_iter().map(|(_, text)| text).collect())
}

/// Returns whether the text so far ends with the key of replies.
fn ends_in_replies_key(writing: &[(usize, Vec<u8>)]) -> bool {
    let text = writing.last().map(|(_, text)| text.trim_ascii_end()).unwrap_or_default();
    text.strip_suffix(b":").is_some_and(|text| text.trim_ascii_end().ends_with(REPLIES_KEY))
}

/// Returns the length of the string at the start, of the bracket, or of the run up to the next string or bracket.
fn token_length(rest: &[u8]) -> usize {
    let first = rest.first().copied().unwrap_or_default();
    if first == b'"' {
        let mut is_escaped = false;
        let end = rest.iter().skip(1).position(|byte| {
            let is_end = *byte == b'"' && !is_escaped;
            is_escaped = *byte == b'\\' && !is_escaped;
            is_end
        });
        return end.map_or(rest.len(), |end| end + 2);
    }
    if is_structural(first) {
        return 1;
    }
    rest.iter().position(|byte| is_structural(*byte)).unwrap_or(rest.len())
}

fn is_closing_bracket(byte: u8) -> bool {
    matches!(byte, b'}' | b']')
}

fn is_structural(byte: u8) -> bool {
    matches!(byte, b'"' | b'{' | b'}' | b'[' | b']')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nested_chat_replies_are_flattened() {
        let deep = r#"{"messages": [{"id": "a", "children": [ {"id": "\"b", "children": []}, {"id": "c", "x": [{}], "children":[{"id": "d"}]}], "y": 1}]}"#;
        let (top, below) = split_replies(deep.as_bytes());
        let read = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
        assert_eq!(read(&top), json!({"messages": [{"id": "a", "children": [], "y": 1}]}));
        let below: Vec<Value> = below.iter().map(|one| read(one)).collect();
        let expected =
            [json!({"id": "\"b", "children": []}), json!({"id": "c", "x": [{}], "children": []}), json!({"id": "d"})];
        assert_eq!(below, expected);
    }

    #[test]
    fn nested_chat_other_deep_json_returns_error() {
        let lists = format!("{{\"messages\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
        assert!(matches!(parse(&lists), Err(ForeignChatError::NotJson(_))));
        let open = "{\"children\":[".repeat(100_000);
        assert!(parse(&open).is_err());
        let inside = format!("{{\"messages\":[{{\"children\":[{}{}]}}]}}", "[".repeat(10_000), "]".repeat(10_000));
        assert_eq!(parse(&inside), Ok(json!({"messages": [{"children": []}]})));
        let line = "{\"children\":[".repeat(50_000) + &"]}".repeat(50_000);
        let story = format!("{{\"messages\":[{line}]}}");
        assert_eq!(parse(&story).unwrap()["messages"].as_array().unwrap().len(), 50_000);
    }
}
