//! A message: one line with all its swipes.
//!
//! A line contains most data twice. `mes` and `extra` describe the selected swipe; `swipes` and `swipe_info` describe
//! all of them. In old files they can disagree. Then `mes` wins, because SillyTavern shows it, at the index in
//! `swipe_id`. If its text is not the swipe at that index, it becomes another swipe, so nothing is lost.

use serde_json::{Map, Value};

use super::ChatFileError;
use super::header::ChatFileHeader;
use crate::interop::text;

/// A parsed line.
#[derive(Debug, Clone, PartialEq)]
pub enum ChatFileLine {
    Header(ChatFileHeader),
    Message(Box<ChatFileMessage>),
}

/// A message of a chat.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChatFileMessage {
    /// Name of the speaker.
    pub name: String,
    pub is_user: bool,
    /// Whether it is shown but not sent to models.
    pub is_hidden: bool,
    /// All its versions, in order; at least one.
    pub swipes: Vec<ChatFileSwipe>,
    /// Index of the selected swipe.
    pub selected: usize,
    /// Whether the line has a list of swipes, even of only one.
    pub has_swipes: bool,
    /// All other fields of the line.
    pub rest: Map<String, Value>,
}

/// One version of a message.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChatFileSwipe {
    pub text: String,
    /// When it was written, as in the file.
    pub date: Option<Value>,
    /// Data about the generation.
    pub extra: Map<String, Value>,
    /// Other data about this swipe.
    pub info: Map<String, Value>,
    /// MVU variables after this swipe.
    pub variables: Option<Map<String, Value>>,
}

impl ChatFileMessage {
    /// Returns the selected swipe.
    pub fn selected_swipe(&self) -> Option<&ChatFileSwipe> {
        self.swipes.get(self.selected)
    }

    /// Returns the names of chats that branch here or are bookmarked here.
    pub fn links(&self) -> impl Iterator<Item = &str> {
        let extra = self.selected_swipe().map(|shown| &shown.extra);
        let branches = extra.and_then(|extra| extra.get("branches")).and_then(Value::as_array).into_iter().flatten();
        branches.filter_map(Value::as_str).chain(self.bookmark())
    }

    /// Returns the name of the chat bookmarked here.
    pub fn bookmark(&self) -> Option<&str> {
        self.selected_swipe()?.extra.get("bookmark_link")?.as_str().filter(|name| !name.is_empty())
    }

    /// Returns the card file of the speaker in a group chat.
    pub fn speaker_card_file(&self) -> Option<&str> {
        self.rest.get("original_avatar")?.as_str().filter(|name| !name.is_empty())
    }

    /// Returns whether neither a person nor a character wrote it: narrator lines, comments and tool results.
    pub fn is_narration(&self) -> bool {
        let Some(extra) = self.selected_swipe().map(|shown| &shown.extra) else { return false };
        let kind = extra.get("type").and_then(Value::as_str).unwrap_or_default();
        matches!(kind, "narrator" | "comment") || extra.contains_key("tool_invocations")
    }
}

/// Parses a line.
///
/// # Errors
/// Returns an error if the line is not UTF-8, not JSON, or neither a header nor a message.
pub fn read(line: &[u8]) -> Result<ChatFileLine, ChatFileError> {
    let value: Value = match std::str::from_utf8(line) {
        Ok(text) => text::parse_json_lenient(text),
        Err(_) => return Err(ChatFileError("it is not UTF-8".into())),
    }
    .map_err(|error| ChatFileError(format!("it is not JSON: {}", error_without_position(&error))))?;
    let Value::Object(map) = value else { return Err(ChatFileError("it is JSON, but not a message".into())) };
    if ChatFileHeader::is_header(&map) {
        return Ok(ChatFileLine::Header(ChatFileHeader(map)));
    }
    if !map.contains_key("mes") && !map.contains_key("swipes") {
        return Err(ChatFileError("it is JSON, but not a message".into()));
    }
    Ok(ChatFileLine::Message(Box::new(parse_message(map))))
}

/// Returns an error's cause without its position, because the line number is always 1.
fn error_without_position(error: &text::JsonTextError) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

fn parse_message(mut map: Map<String, Value>) -> ChatFileMessage {
    let name = text(map.shift_remove("name"));
    let is_user = flag(map.shift_remove("is_user").as_ref());
    let is_hidden = flag(map.shift_remove("is_system").as_ref());
    let (shown, info) = unwrap_text(map.shift_remove("mes"));
    let own = ChatFileSwipe {
        text: shown,
        date: map.shift_remove("send_date"),
        extra: take_object(&mut map, "extra"),
        info,
        variables: None,
    };
    let place = map.shift_remove("swipe_id").and_then(|place| usize::try_from(place.as_u64()?).ok()).unwrap_or(0);
    let swipes = take_list(&mut map, "swipes");
    let infos = take_list(&mut map, "swipe_info");
    let has_swipes = !swipes.is_empty();
    let variables = variables(map.shift_remove("variables"), place, &mut map);
    let (mut alternatives, chosen) = collect_swipes(own, place, swipes, infos);
    for (position, variables) in variables {
        // An index outside the swipes can only mean the message itself.
        let position = if position == place { chosen } else { position };
        if let Some(alternative) = alternatives.get_mut(position) {
            alternative.variables = Some(variables);
        }
    }
    ChatFileMessage { name, is_user, is_hidden, swipes: alternatives, selected: chosen, has_swipes, rest: map }
}

/// Returns all swipes and the index of the selected one.
fn collect_swipes(
    own: ChatFileSwipe,
    place: usize,
    swipes: Vec<Value>,
    infos: Vec<Value>,
) -> (Vec<ChatFileSwipe>, usize) {
    let mut infos = infos.into_iter();
    let mut all: Vec<ChatFileSwipe> = swipes
        .into_iter()
        .map(|swipe| {
            let (text, beside) = unwrap_text(Some(swipe));
            let mut info = object(infos.next());
            info.extend(beside);
            ChatFileSwipe {
                text,
                date: info.shift_remove("send_date"),
                extra: take_object(&mut info, "extra"),
                info,
                variables: None,
            }
        })
        .collect();
    match all.get_mut(place) {
        Some(there) if there.text == own.text => {
            there.date = own.date.or(there.date.take());
            there.extra = own.extra;
            (all, place)
        }
        _ => {
            let last = all.len();
            all.push(own);
            (all, last)
        }
    }
}

/// Returns the variables with the index of their swipe. Unknown forms stay in `rest`.
fn variables(value: Option<Value>, place: usize, rest: &mut Map<String, Value>) -> Vec<(usize, Map<String, Value>)> {
    match value {
        Some(Value::Array(list)) => {
            let known = list.into_iter().enumerate();
            known.filter_map(|(place, value)| Some((place, non_empty_object(value)?))).collect()
        }
        Some(Value::Object(map)) if map.contains_key("stat_data") => vec![(place, map)],
        Some(Value::Object(map)) => {
            let by_place = |(key, value): (String, Value)| Some((key.parse().ok()?, non_empty_object(value)?));
            map.into_iter().filter_map(by_place).collect()
        }
        Some(other) => {
            rest.insert("variables".into(), other);
            Vec::new()
        }
        None => Vec::new(),
    }
}

fn non_empty_object(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(map) => Some(map),
        _ => None,
    }
}

fn object(value: Option<Value>) -> Map<String, Value> {
    value.and_then(non_empty_object).unwrap_or_default()
}

/// Takes an object out of a line. Null counts as empty; another type stays where it was.
fn take_object(map: &mut Map<String, Value>, key: &str) -> Map<String, Value> {
    match map.get(key) {
        Some(Value::Object(_) | Value::Null) => object(map.shift_remove(key)),
        _ => Map::new(),
    }
}

/// Takes a list out of a line. Null counts as empty; another type stays where it was.
fn take_list(map: &mut Map<String, Value>, key: &str) -> Vec<Value> {
    match map.get(key) {
        Some(Value::Array(_) | Value::Null) => match map.shift_remove(key) {
            Some(Value::Array(list)) => list,
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Returns a text and the data around it. Chub writes each text as an object.
fn unwrap_text(value: Option<Value>) -> (String, Map<String, Value>) {
    match value {
        Some(Value::Object(mut map)) if map.get("message").is_some_and(Value::is_string) => {
            let words = text(map.shift_remove("message"));
            (words, Map::from_iter([("chub".to_owned(), map.into())]).into_iter().filter(is_set).collect())
        }
        other => (text(other), Map::new()),
    }
}

fn is_set((_, value): &(String, Value)) -> bool {
    value.as_object().is_none_or(|map| !map.is_empty())
}

fn text(value: Option<Value>) -> String {
    match value {
        Some(Value::String(text)) => text,
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

fn flag(value: Option<&Value>) -> bool {
    match value {
        Some(Value::Bool(flag)) => *flag,
        Some(Value::String(word)) => word == "true",
        Some(Value::Number(number)) => number.as_i64() != Some(0),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read_row(line: &Value) -> ChatFileMessage {
        match read(line.to_string().as_bytes()).unwrap() {
            ChatFileLine::Message(row) => *row,
            ChatFileLine::Header(header) => panic!("{header:?}"),
        }
    }

    fn swipe_texts(row: &ChatFileMessage) -> Vec<&str> {
        row.swipes.iter().map(|one| one.text.as_str()).collect()
    }

    #[test]
    fn chat_message_selected_swipe_is_shown() {
        let check = |line: Value, expected: &[&str], chosen: usize| {
            let row = read_row(&line);
            assert_eq!((swipe_texts(&row), row.selected), (expected.to_vec(), chosen), "{line}");
        };
        check(json!({"mes": "b", "swipe_id": 1, "swipes": ["a", "b", "c"]}), &["a", "b", "c"], 1);
        // Two swipes with the same text: the index decides.
        check(json!({"mes": "a", "swipe_id": 1, "swipes": ["a", "a"]}), &["a", "a"], 1);
        // They disagree: nothing is lost, and the shown text is selected.
        check(json!({"mes": "x", "swipe_id": 1, "swipes": ["a", "b"]}), &["a", "b", "x"], 2);
        check(json!({"mes": "x", "swipe_id": 5, "swipes": ["a"]}), &["a", "x"], 1);
        check(json!({"mes": "x", "swipe_id": -1, "swipes": []}), &["x"], 0);
        check(json!({"mes": "x"}), &["x"], 0);
        check(json!({"mes": 5, "swipes": "none"}), &["5"], 0);
    }

    /// S4-53: fields of an unexpected type are kept unchanged.
    #[test]
    fn chat_message_unknown_shapes_are_kept() {
        let odd = json!({"mes": "a", "extra": [1], "swipes": {"x": 1}, "swipe_info": 5});
        let mut kept = odd.clone();
        kept.as_object_mut().unwrap().shift_remove("mes");
        assert_eq!(Value::Object(read_row(&odd).rest), kept);
        let info = read_row(&json!({"mes": "a", "swipes": ["a"], "extra": null, "swipe_info": [{"extra": "x"}]}));
        assert_eq!((&info.swipes[0].info["extra"], info.rest.len()), (&json!("x"), 0));
    }

    #[test]
    fn chat_message_swipes_keep_own_metadata() {
        let row = read_row(&json!({
            "name": "Rin", "is_user": false, "mes": "b", "swipe_id": 1, "swipes": ["a", "b"], "send_date": 7,
            "extra": {"model": "two"}, "own": [1],
            "swipe_info": [{"send_date": 5, "gen_started": 4, "extra": {"model": "one"}}, {"extra": {"model": "old"}}],
            "variables": [null, {"stat_data": {"hp": 1}}],
        }));
        let [a, b] = &row.swipes[..] else { panic!("{row:?}") };
        assert_eq!((&a.extra["model"], &a.date, &a.info["gen_started"]), (&json!("one"), &Some(json!(5)), &json!(4)));
        assert_eq!((&b.extra["model"], &b.date), (&json!("two"), &Some(json!(7))));
        assert_eq!((&a.variables, b.variables.is_some()), (&None, true));
        assert_eq!(Value::Object(row.rest), json!({"own": [1]}));
    }

    #[test]
    fn chat_line_invalid_message_returns_error() {
        let check = |line: &[u8], expected: &str| assert_eq!(read(line).unwrap_err().to_string(), expected);
        check(b"[1]", "it is JSON, but not a message");
        check(b"null", "it is JSON, but not a message");
        check(b"{\"a\":1}", "it is JSON, but not a message");
        check(b"{\"mes\":\"cut", "it is not JSON: EOF while parsing a string");
        check(b"{\"mes\":\"\xff\"}", "it is not UTF-8");
        let deep = format!("{{\"mes\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
        check(deep.as_bytes(), "it is not JSON: the JSON has more than 127 levels");
        assert!(matches!(read(b"{\"user_name\":\"x\"}"), Ok(ChatFileLine::Header(_))));
        assert!(matches!(read(b"{\"user_name\":\"x\",\"mes\":\"y\"}"), Ok(ChatFileLine::Message(_))));
    }
}
