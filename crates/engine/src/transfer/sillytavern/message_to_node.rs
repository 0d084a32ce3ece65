//! Turns a message into a node. Data that has no place in a node is kept in its metadata, under `sillytavern`, for
//! the export.

use serde_json::{Map, Value};

use clotho_compat::interop::chat::{ChatFileMessage, ChatFileSwipe};
use clotho_compat::interop::chat_tree::PathHash;
use clotho_core::clock::Time;
use clotho_core::ids::{CharacterId, NodeId, PersonaId, SessionId, UserId};
use clotho_core::tree::limits::MAX_SPEAKER_CHARS;
use clotho_core::tree::reply_facts::Provenance;
use clotho_core::tree::{Delta, Kind, NodeMetadata, Role};
use clotho_store::NodeDraft;

use super::worlds::STATE;

/// What all nodes of a file have in common.
pub struct ImportContext<'a> {
    pub session: SessionId,
    pub owner: UserId,
    pub persona: Option<PersonaId>,
    /// The file name for the report.
    pub file: &'a str,
}

/// One alternative (swipe) of a message, with its position.
pub struct ImportAlternative<'a> {
    pub row: &'a ChatFileMessage,
    pub position: usize,
    pub alternative: &'a ChatFileSwipe,
    pub address: PathHash,
    pub line: u64,
    /// The hash of the line, in hex.
    pub hash: &'a str,
    pub speaker: Option<CharacterId>,
    pub is_first: bool,
    pub created: Time,
    /// The variables of the previous message without the state, which became operations.
    pub before: Option<&'a Map<String, Value>>,
}

impl ImportContext<'_> {
    /// Returns the node id of a position. It has the timestamp of the session id, so that the rows of a session
    /// lie together.
    pub fn id(&self, address: &PathHash) -> NodeId {
        NodeId::new(id(self.session, address))
    }

    /// Returns the node of an alternative.
    pub fn message_to_node(&self, imported: &ImportAlternative<'_>, delta: Delta) -> NodeDraft {
        let ImportAlternative { row, alternative, .. } = *imported;
        let role = match (row.is_narration(), row.is_user) {
            (true, _) => Role::System,
            (false, true) => Role::User,
            (false, false) => Role::Assistant,
        };
        let kind = if imported.is_first && role == Role::Assistant { Kind::Greeting } else { Kind::Message };
        let seed = uuid::Uuid::from_bytes(*imported.address.as_bytes()).as_u64_pair().1;
        let mut draft = NodeDraft::new(self.id(&imported.address), role, kind, seed, imported.created);
        draft.author = (role == Role::User).then_some(self.owner);
        draft.persona = self.persona.filter(|_| role == Role::User);
        draft.character = imported.speaker.filter(|_| role == Role::Assistant);
        let name = short_name(&row.name);
        draft.name = (!name.is_empty()).then_some(name);
        draft.content = strip_nul(&alternative.text);
        draft.reasoning = reasoning(alternative).map(strip_nul);
        *draft.metadata = self.metadata(imported);
        draft.delta = delta;
        draft
    }

    fn metadata(&self, imported: &ImportAlternative<'_>) -> NodeMetadata {
        let ImportAlternative { alternative, .. } = *imported;
        let mut metadata = NodeMetadata::default();
        metadata.reply.model = alternative.extra.get("model").and_then(Value::as_str).map(str::to_owned);
        let place = [("line".to_owned(), imported.line.into()), ("hash".to_owned(), imported.hash.into())];
        let rest = Map::from_iter(place);
        metadata.provenance = Some(Provenance { file: Some(self.file.to_owned()), rest, ..Provenance::default() });
        metadata.sillytavern = Some(extra_metadata(imported));
        metadata
    }
}

/// Returns the data that has no place in a node; `transfer/out/chat.rs` writes it back.
fn extra_metadata(imported: &ImportAlternative<'_>) -> Map<String, Value> {
    let ImportAlternative { row, alternative, .. } = *imported;
    let mut kept = Map::new();
    let is_chosen = imported.position == row.selected;
    if row.has_swipes || row.swipes.len() > 1 {
        kept.insert("swipe".into(), imported.position.into());
    }
    let mut extra = alternative.extra.clone();
    if extra.get("model").is_some_and(Value::is_string) {
        extra.shift_remove("model");
    }
    if reasoning(alternative).is_some() {
        extra.shift_remove("reasoning");
    }
    let parts = [("extra", extra), ("swipe_info", alternative.info.clone())];
    let rest = if is_chosen { row.rest.clone() } else { Map::new() };
    for (name, part) in parts.into_iter().chain([("line", rest)]).filter(|(_, part)| !part.is_empty()) {
        kept.insert(name.into(), Value::Object(part));
    }
    // Keep the original date if the node would be written with another one; `null` if there was none.
    if alternative.date.as_ref().and_then(Value::as_str) != Some(imported.created.to_string().as_str()) {
        kept.insert("send_date".into(), alternative.date.clone().unwrap_or(Value::Null));
    }
    let variables = non_state_variables(alternative);
    if variables.as_ref() != imported.before {
        kept.insert("variables".into(), variables.map_or(Value::Null, Value::Object));
    }
    if alternative.variables.as_ref().is_some_and(|variables| !variables.contains_key(STATE)) {
        kept.insert("stateless".into(), true.into());
    }
    if row.name != short_name(&row.name) {
        kept.insert("name".into(), row.name.clone().into());
    }
    if row.is_user && row.is_narration() {
        kept.insert("is_user".into(), true.into());
    }
    kept
}

/// Returns a name without NUL, trimmed to the length that a node allows.
fn short_name(name: &str) -> String {
    name.trim().chars().filter(|c| *c != '\0').take(MAX_SPEAKER_CHARS).collect()
}

/// Returns the variables of a message without the state, which became operations.
pub fn non_state_variables(alternative: &ChatFileSwipe) -> Option<Map<String, Value>> {
    let mut variables = alternative.variables.clone()?;
    variables.shift_remove(STATE);
    Some(variables)
}

fn reasoning(alternative: &ChatFileSwipe) -> Option<&str> {
    alternative.extra.get("reasoning")?.as_str().filter(|text| !text.is_empty())
}

/// Replaces U+0000, which the database cannot store in text.
pub fn strip_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// Returns an id with the 48-bit timestamp of the session; the other bits are a hash of session and position.
pub fn id(session: SessionId, address: &PathHash) -> uuid::Uuid {
    const TIME: u128 = 0xffff_ffff_ffff << 80;
    const VERSION: u128 = 0xf << 76;
    const VARIANT: u128 = 0b11 << 62;
    let mut hasher = blake3::Hasher::new();
    hasher.update(session.as_bytes()).update(address.as_bytes());
    let mut hash = [0; 16];
    hasher.finalize_xof().fill(&mut hash);
    let (time, hash) = (u128::from_be_bytes(*session.as_bytes()) & TIME, u128::from_be_bytes(hash));
    uuid::Uuid::from_u128(time | (hash & !(TIME | VERSION | VARIANT)) | (7 << 76) | (0b10 << 62))
}
