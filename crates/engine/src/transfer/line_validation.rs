//! Checks each line of a session file by itself. A file must not contain what could not have been created here, so
//! the limits are those of the API, which both take from `tree/`.

use std::collections::HashSet;

use serde_json::{Map, Value};

use clotho_config::MAX_TEXT_BYTES;
use clotho_core::clock::Time;
use clotho_core::oplog::{Effect, FragmentInfo};
use clotho_core::tree::limits::{MAX_CHARACTERS, check_speaker};
use clotho_core::tree::{Delta, Kind, Role, Status, arrange, card};
use clotho_store::IncomingSession;
use clotho_store::archive::{NodeLine, OperationLine, SessionLine, SourceLine};

/// The result of a check; the error is one sentence.
pub type LineValidity = Result<(), String>;

/// Checks the settings and characters of a session.
pub fn check_session(line: &SessionLine) -> LineValidity {
    IncomingSession::check_line(line).map_err(|refusal| refusal.to_string())?;
    check_date(line.created)?;
    check_date(line.updated)?;
    if line.cards.len() > MAX_CHARACTERS {
        return Err(format!("a session has at most {MAX_CHARACTERS} characters"));
    }
    let mut seen = HashSet::new();
    match line.cards.iter().find(|(id, _)| !seen.insert(*id)) {
        Some((twice, _)) => Err(format!("the character {twice} appears twice")),
        None => Ok(()),
    }
}

/// Checks the text of a card.
pub fn check_card(text: &str) -> LineValidity {
    let card = object(text).ok_or("a card must be an object")?;
    card::validate_card(&card).map_err(|unfit| match &unfit.field {
        Some(field) => format!("the card's {field}: {unfit}"),
        None => unfit.to_string(),
    })
}

/// Checks a source record.
pub fn check_source(line: &SourceLine) -> LineValidity {
    const LONGEST_NAME: usize = 4_000;
    if line.name.is_empty() || line.name.len() > LONGEST_NAME {
        return Err(format!("the name of a file has 1 to {LONGEST_NAME} bytes"));
    }
    if line.hash.as_ref().is_some_and(|hash| blake3::Hash::from_hex(hash).is_err()) {
        return Err("the hash of a file is 64 digits in hex".into());
    }
    match &line.header {
        Some(header) if object(header).is_none() => Err("the header of a file must be an object".into()),
        _ => Ok(()),
    }
}

/// Checks an entry of the log and its effects.
pub fn check_operation(line: &OperationLine, effects: &[Effect]) -> LineValidity {
    if !(0..=line.op).contains(&line.step) {
        return Err("an operation cannot complete a later one".into());
    }
    check_date(line.at)?;
    effects.iter().try_for_each(check_effect)
}

fn check_effect(effect: &Effect) -> LineValidity {
    match effect {
        Effect::Setting { name, from, to } => {
            let fits = |value| IncomingSession::check_setting(name, value).map_err(|refusal| refusal.to_string());
            fits(from).and_then(|()| fits(to))
        }
        Effect::Detached { fragment: FragmentInfo { name, since, .. }, .. }
        | Effect::Attached { fragment: FragmentInfo { name, since, .. }, .. } => {
            check_date(since.0)?;
            name.as_deref().map_or(Ok(()), check_name)
        }
        Effect::Renamed { from, to, .. } => [from, to].into_iter().flatten().try_for_each(|name| check_name(name)),
        Effect::Labelled { name, .. } => check_name(name),
        Effect::Rated { from, to, .. } => [from, to].into_iter().flatten().try_for_each(|stars| check_rating(*stars)),
        _ => Ok(()),
    }
}

/// Checks the name of a fragment or label, which has no white space around it.
fn check_name(name: &str) -> LineValidity {
    match arrange::validate_name("name", name) {
        Ok(kept) if kept == name => Ok(()),
        Ok(_) => Err(format!("the name \"{name}\" has spaces around it")),
        Err(refusal) => Err(refusal.to_string()),
    }
}

/// Checks the fields of a node.
pub fn check_node(line: &NodeLine) -> LineValidity {
    let unknown = |what: &str, word: &str| format!("\"{word}\" is not a {what}");
    let role = Role::parse(&line.role).ok_or_else(|| unknown("role", &line.role))?;
    let status = Status::parse(&line.status).ok_or_else(|| unknown("status", &line.status))?;
    let kind = Kind::parse(&line.kind).ok_or_else(|| unknown("kind", &line.kind))?;
    if (kind == Kind::Root) != line.parent.is_none() {
        return Err("only the root can have no parent".into());
    }
    check_texts(line)?;
    match kind {
        Kind::Root => check_root(line, role, status)?,
        Kind::Change => check_hidden(line, status)?,
        Kind::Message | Kind::Greeting | Kind::Summary | Kind::Merge => {}
    }
    if status == Status::Generating {
        check_running(line, role, kind)?;
    }
    line.rating.map_or(Ok(()), check_rating)?;
    object(line.metadata.get()).ok_or("the metadata must be an object")?;
    check_date(line.created)?;
    check_deltas(line)
}

fn check_texts(line: &NodeLine) -> LineValidity {
    let texts = [Some(&line.content), line.name.as_ref(), line.reasoning.as_ref()];
    for text in texts.into_iter().flatten() {
        if text.contains('\0') {
            return Err("a text cannot contain U+0000".into());
        }
        if text.len() > MAX_TEXT_BYTES {
            return Err(format!("a text has at most {MAX_TEXT_BYTES} bytes"));
        }
    }
    line.name.as_deref().map_or(Ok(()), |name| check_speaker(name).map_err(|refusal| refusal.to_string()))
}

/// Checks that the root is empty, complete, enabled and not rated.
fn check_root(line: &NodeLine, role: Role, status: Status) -> LineValidity {
    let says_nothing = line.content.is_empty() && line.reasoning.is_none() && line.name.is_none();
    if role != Role::System || !says_nothing {
        return Err("the root must have the role \"system\" and no text".into());
    }
    let is_plain = !line.is_disabled && !line.is_muted && line.rating.is_none();
    if status == Status::Complete && is_plain {
        return Ok(());
    }
    Err("the root must be complete, enabled and without a rating".into())
}

fn check_hidden(line: &NodeLine, status: Status) -> LineValidity {
    if line.content.is_empty() && line.reasoning.is_none() && status == Status::Complete {
        return Ok(());
    }
    Err("a \"change\" must be complete and have no text".into())
}

/// Checks that a node being generated is a reply without deltas.
fn check_running(line: &NodeLine, role: Role, kind: Kind) -> LineValidity {
    if role == Role::Assistant && kind == Kind::Message && line.deltas.is_empty() {
        return Ok(());
    }
    Err("a \"generating\" node must be a reply without a delta".into())
}

fn check_deltas(line: &NodeLine) -> LineValidity {
    let mut last = 0;
    for delta in &line.deltas {
        let body: Value = parse_json(delta.body.get())?;
        if Delta::from_json(&body).is_none() || delta.revision <= last {
            return Err(format!("revision {} of the delta cannot be read", delta.revision));
        }
        last = delta.revision;
    }
    let is_known = line.revision == 0 || line.deltas.iter().any(|delta| delta.revision == line.revision);
    if is_known { Ok(()) } else { Err(format!("the delta has no revision {}", line.revision)) }
}

fn check_rating(stars: u8) -> LineValidity {
    if (1..=5).contains(&stars) { Ok(()) } else { Err("expected 1 to 5 stars".into()) }
}

fn check_date(milliseconds: i64) -> LineValidity {
    if Time(milliseconds).has_date() {
        return Ok(());
    }
    Err(format!("{milliseconds} is not a time: expected milliseconds since 1970, in the years 0 to 9999"))
}

fn object(text: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(text).ok()
}

/// Parses JSON inside a line.
pub fn parse_json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| format!("JSON that cannot be read: {error}"))
}
