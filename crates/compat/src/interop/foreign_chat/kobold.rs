//! KoboldAI and KoboldAI Lite: a saved story. Its text is a `prompt` and the `actions` added to it. How to tell the
//! speakers apart depends on the mode (`savedsettings.opmode`):
//!
//! - chat: names at the start of lines
//! - instruct: marks around the texts
//! - adventure: `>` at the start of the user's lines
//! - story: nothing marks the speakers; the prompt counts as the user's and the rest as the model's
//!
//! The memory becomes the description of the character that stands for the story. The world info becomes a lorebook.

use serde_json::{Map, Value, json};

use super::keys::{drop_empty, list, text};
use super::message_tree::build_line;
use super::{ForeignChat, ForeignMessage, ForeignProgram, ForeignRole};
use crate::interop::{FindingDetail, ImportFinding, lorebook};

/// Separates the names of several characters.
const NAME_SEPARATOR: &str = "||$||";
/// Marks and the role that speaks after them. End marks have no role.
const TURN_MARKS: [(&str, Option<ForeignRole>); 6] = [
    ("{{[INPUT]}}", Some(ForeignRole::User)),
    ("{{[OUTPUT]}}", Some(ForeignRole::Assistant)),
    ("{{[SYSTEM]}}", Some(ForeignRole::System)),
    ("{{[INPUT_END]}}", None),
    ("{{[OUTPUT_END]}}", None),
    ("{{[SYSTEM_END]}}", None),
];

/// Returns whether an object is a story.
pub fn is_story(map: &Map<String, Value>) -> bool {
    let is_list = map.get("actions").is_some_and(Value::is_array);
    is_list && ["prompt", "savedsettings", "gamestarted"].into_iter().any(|key| map.contains_key(key))
}

/// Reads a story.
pub fn read(mut map: Map<String, Value>) -> ForeignChat {
    // Read the mode, the names and the text.
    let settings = map.get("savedsettings").and_then(Value::as_object).cloned().unwrap_or_default();
    let mode = settings.get("opmode").and_then(Value::as_u64).unwrap_or(0);
    let says = |key: &str| settings.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    let user = says("chatname");
    let voices: Vec<&str> =
        says("chatopponent").into_iter().flat_map(|names| names.split(NAME_SEPARATOR)).map(str::trim).collect();
    let prompt = map.shift_remove("prompt").and_then(|prompt| prompt.as_str().map(str::to_owned)).unwrap_or_default();
    let pieces: Vec<String> =
        list(&mut map, "actions").iter().map(|piece| piece.as_str().unwrap_or_default().to_owned()).collect();
    let whole = || [prompt.as_str()].into_iter().chain(pieces.iter().map(String::as_str)).collect::<String>();
    // Tell the speakers apart.
    let mut findings = Vec::new();
    let has_marks =
        TURN_MARKS.iter().any(|(mark, _)| prompt.contains(mark) || pieces.iter().any(|piece| piece.contains(mark)));
    let messages = match mode {
        _ if has_marks => split_by_marks(&whole(), &TURN_MARKS.map(|(mark, who)| (mark.to_owned(), who))),
        4 => split_by_marks(&whole(), &custom_marks(&settings)),
        3 => split_by_names(&whole(), user.unwrap_or("You"), &voices),
        2 => split_by_arrows(&whole()),
        _ => {
            findings.push(ImportFinding::translated(&FindingDetail::UnknownAuthors {}));
            split_by_actions(prompt, pieces)
        }
    };
    // Build the chat, its character and its lorebook.
    let grown = build_line(messages.into_iter().map(|messages| (vec![Some(messages)], 0)));
    let memory = text(&mut map, "memory").map(|memory| ("description".to_owned(), Value::from(memory)));
    let entries = list(&mut map, "worldinfo");
    findings.extend(grown.findings);
    map.shift_remove("gamestarted");
    drop_empty(&mut map);
    ForeignChat {
        program: ForeignProgram::Kobold,
        id: None,
        title: None,
        started_at: None,
        assistant_name: voices.first().filter(|_| mode == 3).map(|name| (*name).to_owned()),
        card_fields: memory.into_iter().collect(),
        lorebook: world_info(&entries),
        messages: grown.messages,
        head: grown.head,
        rest: map,
        findings,
    }
}

fn message(who: ForeignRole, name: Option<&str>, text: &str) -> Option<ForeignMessage> {
    let text = text.trim();
    let name = name.map(str::to_owned);
    (!text.is_empty()).then(|| ForeignMessage { role: who, name, text: text.to_owned(), ..ForeignMessage::default() })
}

/// Returns the instruct marks in the story's settings. Line feeds are written there as `\n` in two characters.
fn custom_marks(settings: &Map<String, Value>) -> Vec<(String, Option<ForeignRole>)> {
    let keys = [
        ("instruct_starttag", Some(ForeignRole::User)),
        ("instruct_endtag", Some(ForeignRole::Assistant)),
        ("instruct_systag", Some(ForeignRole::System)),
        ("instruct_starttag_end", None),
        ("instruct_endtag_end", None),
        ("instruct_systag_end", None),
    ];
    let mark = |key: &str| settings.get(key)?.as_str().map(|mark| mark.replace("\\n", "\n").trim().to_owned());
    keys.into_iter().filter_map(|(key, who)| Some((mark(key).filter(|mark| !mark.is_empty())?, who))).collect()
}

fn split_by_marks(text: &str, marks: &[(String, Option<ForeignRole>)]) -> Vec<ForeignMessage> {
    let mut found = Vec::new();
    let (mut who, mut rest) = (ForeignRole::Assistant, text);
    loop {
        let next = marks.iter().filter_map(|(mark, who)| Some((rest.find(mark.as_str())?, mark, *who)));
        // Of two marks at the same position, take the longer one.
        let next = next.min_by_key(|(at, mark, _)| (*at, usize::MAX - mark.len()));
        let Some((at, mark, speaks)) = next else {
            found.extend(message(who, None, rest));
            return found;
        };
        let (before, after) = rest.split_at(at);
        found.extend(message(who, None, before));
        who = speaks.unwrap_or(ForeignRole::Assistant);
        rest = after.get(mark.len()..).unwrap_or_default();
    }
}

fn split_by_names(text: &str, user: &str, voices: &[&str]) -> Vec<ForeignMessage> {
    let mut found: Vec<ForeignMessage> = Vec::new();
    let (mut who, mut name, mut words) = (ForeignRole::Assistant, None, String::new());
    for line in text.split('\n') {
        let speaks = line.split_once(':').and_then(|(speaker, rest)| {
            let is_voice = voices.contains(&speaker.trim());
            (is_voice || speaker.trim() == user).then(|| (speaker.trim(), is_voice, rest))
        });
        match speaks {
            Some((speaker, is_voice, rest)) => {
                found.extend(message(who, name, &words));
                who = if is_voice { ForeignRole::Assistant } else { ForeignRole::User };
                (name, words) = (Some(speaker), rest.to_owned());
            }
            None => {
                words.push('\n');
                words.push_str(line);
            }
        }
    }
    found.extend(message(who, name, &words));
    found
}

fn split_by_arrows(text: &str) -> Vec<ForeignMessage> {
    let (mut found, mut words) = (Vec::new(), String::new());
    for line in text.split('\n') {
        match line.strip_prefix('>') {
            Some(act) => {
                found.extend(message(ForeignRole::Assistant, None, &words));
                words.clear();
                found.extend(message(ForeignRole::User, None, act));
            }
            None => {
                words.push('\n');
                words.push_str(line);
            }
        }
    }
    found.extend(message(ForeignRole::Assistant, None, &words));
    found
}

fn split_by_actions(prompt: String, pieces: Vec<String>) -> Vec<ForeignMessage> {
    let rest = pieces.iter().filter_map(|piece| message(ForeignRole::Assistant, None, piece));
    message(ForeignRole::User, None, &prompt).into_iter().chain(rest).collect()
}

/// Converts world info to a lorebook.
fn world_info(entries: &[Value]) -> Option<Map<String, Value>> {
    let entry = |(n, entry): (usize, &Value)| {
        let says = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        let keys = |key: &str| {
            let keys = says(key).split(',').map(str::trim).filter(|key| !key.is_empty());
            keys.map(Value::from).collect::<Vec<_>>()
        };
        let is = |key: &str| entry.get(key).and_then(Value::as_bool).unwrap_or(false);
        let share = entry.get("probability").and_then(Value::as_u64).unwrap_or(100);
        let own = json!({
            "uid": n, "key": keys("key"), "keysecondary": keys("keysecondary"), "content": says("content"),
            "comment": says("comment"), "constant": is("constant"), "selective": is("selective"),
            "disable": is("widisabled"), "probability": share, "extensions": {"kobold": entry},
        });
        let Value::Object(own) = own else { return None };
        Some((n.to_string(), Value::Object(lorebook::with_defaults(&own, n))))
    };
    let entries: Map<String, Value> =
        entries.iter().filter(|entry| entry.is_object()).enumerate().filter_map(entry).collect();
    (!entries.is_empty()).then(|| Map::from_iter([("entries".to_owned(), entries.into())]))
}
