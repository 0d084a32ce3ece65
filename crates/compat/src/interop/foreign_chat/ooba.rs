//! text-generation-webui: pairs of what the user and the model said. `internal` has the pairs as the model saw them,
//! and `visible` (`data_visible` in older files) as the reader did. `visible` is HTML. `metadata` contains other
//! versions.

use serde_json::{Map, Value};

use super::details_blocks::unescape_html;
use super::keys::{drop_empty, list, object};
use super::message_tree::build_line;
use super::{ForeignChat, ForeignMessage, ForeignProgram, ForeignRole};
use crate::interop::chat::date;

/// Stands for the user's message before a greeting.
const GREETING_MARK: &str = "<|BEGIN-VISIBLE-CHAT|>";

/// Returns whether an object is a chat.
pub fn is_chat(map: &Map<String, Value>) -> bool {
    ["visible", "data_visible"].into_iter().any(|key| map.get(key).is_some_and(Value::is_array))
}

/// Reads a chat.
pub fn read(mut map: Map<String, Value>) -> ForeignChat {
    let (seen, old) = (list(&mut map, "visible"), list(&mut map, "data_visible"));
    let (inner, old_inner) = (list(&mut map, "internal"), list(&mut map, "data"));
    let is_html = !seen.is_empty();
    let (shown, inner) = if is_html { (seen, inner) } else { (old, old_inner) };
    let mut metadata = object(&mut map, "metadata");
    let mut steps = Vec::with_capacity(shown.len() * 2);
    for (n, pair) in shown.iter().enumerate() {
        for (place, who, word) in [(0, ForeignRole::User, "user"), (1, ForeignRole::Assistant, "assistant")] {
            let Some(shown) = pair_text(Some(pair), place) else { continue };
            let facts = object(&mut metadata, &format!("{word}_{n}"));
            let words = if is_html { unescape_html(shown) } else { shown.to_owned() };
            if words.trim().is_empty() || words == GREETING_MARK {
                continue;
            }
            let inner = pair_text(inner.get(n), place).filter(|inner| *inner != words && *inner != GREETING_MARK);
            steps.push(convert_side(who, words, inner.filter(|_| is_html), facts));
        }
    }
    let grown = build_line(steps);
    map.insert("metadata".to_owned(), metadata.into());
    drop_empty(&mut map);
    ForeignChat {
        program: ForeignProgram::TextGeneration,
        id: None,
        title: None,
        started_at: grown.messages.iter().filter_map(|message| message.date).min(),
        assistant_name: None,
        card_fields: Map::new(),
        lorebook: None,
        messages: grown.messages,
        head: grown.head,
        rest: map,
        findings: grown.findings,
    }
}

/// Returns one side of a pair.
fn pair_text(pair: Option<&Value>, place: usize) -> Option<&str> {
    pair?.get(place)?.as_str()
}

/// Returns the versions of a message and the index of the shown one.
fn convert_side(
    who: ForeignRole,
    words: String,
    inner: Option<&str>,
    mut facts: Map<String, Value>,
) -> (Vec<Option<ForeignMessage>>, usize) {
    let moment = |facts: &Map<String, Value>| {
        let timestamp = facts.get("timestamp")?.as_str()?;
        date::read(&Value::from(timestamp), &jiff::tz::TimeZone::UTC).or_else(|| parse_timestamp(timestamp))
    };
    let own = ForeignMessage { role: who, text: words, date: moment(&facts), ..ForeignMessage::default() };
    let versions = list(&mut facts, "versions");
    let shown = facts.shift_remove("current_version_index").and_then(|n| usize::try_from(n.as_u64()?).ok());
    if own.date.is_some() {
        facts.shift_remove("timestamp");
    }
    inner.map(|inner| facts.insert("internal".to_owned(), inner.into()));
    let mut all: Vec<Option<ForeignMessage>> = Vec::new();
    for (n, version) in versions.iter().enumerate() {
        let text = version.get("visible_content").or(version.get("content")).and_then(Value::as_str).map(unescape_html);
        let date = version.as_object().and_then(moment);
        if Some(n) == shown {
            all.push(Some(ForeignMessage { rest: std::mem::take(&mut facts), ..own.clone() }));
        } else if let Some(text) = text.filter(|text| !text.trim().is_empty() && *text != own.text) {
            all.push(Some(ForeignMessage { text, date, role: who, ..ForeignMessage::default() }));
        }
    }
    let is_own = |message: &Option<ForeignMessage>| message.as_ref().is_some_and(|message| message.text == own.text);
    let chosen = all.iter().position(is_own).unwrap_or(all.len());
    if chosen == all.len() {
        all.push(Some(ForeignMessage { rest: facts, ..own }));
    }
    (all, chosen)
}

/// Parses a timestamp such as `Jan 02, 2025 15:04`.
fn parse_timestamp(timestamp: &str) -> Option<i64> {
    let moment = jiff::civil::DateTime::strptime("%b %d, %Y %H:%M", timestamp).ok()?;
    Some(moment.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_millisecond())
}
