//! Character.AI histories as saved by CAI Tools. Older ones are lists of messages. Newer ones are turns with several
//! candidates, one of which is shown.

use serde_json::{Map, Value};

use super::keys::{drop_empty, flag, list, name, object, text, timestamp};
use super::message_tree::build_line;
use super::{ForeignChat, ForeignMessage, ForeignProgram, ForeignRole};

/// Reads the histories of a file.
pub fn read(mut map: Map<String, Value>) -> Vec<ForeignChat> {
    let mut info = object(&mut map, "info");
    let voice = assistant_name(&mut info);
    let mut histories = object(&mut map, "histories");
    let all = [list(&mut histories, "histories"), list(&mut map, "histories")].concat();
    let tales = all.into_iter().filter_map(|history| match history {
        Value::Object(history) => Some(convert_history(history, voice.clone())),
        _ => None,
    });
    tales.collect()
}

fn assistant_name(info: &mut Map<String, Value>) -> Option<String> {
    let mut character = object(info, "character");
    ["name", "participant__name"].into_iter().find_map(|key| text(&mut character, key)).or_else(|| text(info, "name"))
}

fn convert_history(mut history: Map<String, Value>, voice: Option<String>) -> ForeignChat {
    let (messages, turns) = (list(&mut history, "msgs"), list(&mut history, "turns"));
    let grown = build_line(
        messages
            .into_iter()
            .map(|message| (vec![convert_message(message)], 0))
            .chain(turns.into_iter().map(convert_turn)),
    );
    let spoken = grown
        .messages
        .iter()
        .find(|chat_message| chat_message.role == ForeignRole::Assistant)
        .and_then(|chat_message| chat_message.name.clone());
    let tale = ForeignChat {
        program: ForeignProgram::CharacterAi,
        id: name(&mut history, "external_id").or_else(|| name(&mut history, "chat_id")),
        title: text(&mut history, "title"),
        started_at: timestamp(&mut history, "created"),
        assistant_name: voice.or(spoken),
        card_fields: Map::new(),
        lorebook: None,
        messages: grown.messages,
        head: grown.head,
        rest: Map::new(),
        findings: grown.findings,
    };
    drop_empty(&mut history);
    ForeignChat { rest: history, ..tale }
}

fn convert_message(message: Value) -> Option<ForeignMessage> {
    let Value::Object(mut message) = message else { return None };
    let words = text(&mut message, "text")?;
    let mut source = object(&mut message, "src");
    let is_user = flag(&source, "is_human");
    source.shift_remove("is_human");
    let chat_message = ForeignMessage {
        id: name(&mut message, "id").or_else(|| name(&mut message, "uuid")),
        role: if is_user { ForeignRole::User } else { ForeignRole::Assistant },
        name: text(&mut source, "name").or_else(|| text(&mut message, "display_name")),
        text: words,
        date: timestamp(&mut message, "created"),
        ..ForeignMessage::default()
    };
    message.insert("src".to_owned(), source.into());
    drop_empty(&mut message);
    Some(ForeignMessage { rest: message, ..chat_message })
}

/// Returns the candidates of a turn and the index of the shown one.
fn convert_turn(turn: Value) -> (Vec<Option<ForeignMessage>>, usize) {
    let Value::Object(mut turn) = turn else { return (vec![None], 0) };
    let mut author = object(&mut turn, "author");
    let who = if flag(&author, "is_human") { ForeignRole::User } else { ForeignRole::Assistant };
    let speaker = text(&mut author, "name");
    let primary = name(&mut turn, "primary_candidate_id");
    let begun = timestamp(&mut turn, "create_time");
    let mut chosen = 0;
    let mut all = Vec::new();
    for candidate in list(&mut turn, "candidates") {
        let Value::Object(mut candidate) = candidate else { continue };
        let Some(words) = text(&mut candidate, "raw_content") else { continue };
        let id = name(&mut candidate, "candidate_id");
        if id.is_some() && id == primary {
            chosen = all.len();
        }
        let date = timestamp(&mut candidate, "create_time").or(begun);
        drop_empty(&mut candidate);
        all.push(Some(ForeignMessage {
            id,
            role: who,
            name: speaker.clone(),
            text: words,
            date,
            rest: candidate,
            ..ForeignMessage::default()
        }));
    }
    if all.is_empty() {
        all.push(None);
    }
    (all, chosen)
}
