//! Turns a node into a SillyTavern message. Imported data goes back to where it was (see
//! `sillytavern/message_to_node.rs`); new data is written as SillyTavern would.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use clotho_compat::interop::chat::{ChatFileMessage, ChatFileSwipe};
use clotho_core::clock::Time;
use clotho_core::ids::NodeId;
use clotho_core::tree::{Kind, Node, Role, Status};
use clotho_store::{StoreError, StoreReader, StoredNode, StoredSession};

use super::super::sillytavern::STATE;
use super::branch::MessageWithSiblings;
use super::cast::ExportCast;

/// Variables that MVU derives from the state; they are not exported for new messages.
const DERIVED: [&str; 2] = ["display_data", "delta_data"];
/// Start and end of a reply. Each swipe has them, and the message repeats those of the selected one.
const TIMES: [&str; 2] = ["gen_started", "gen_finished"];

/// A chat that is being exported.
pub struct ChatExport<'a> {
    pub stored: &'a StoredSession,
    pub cast: &'a ExportCast,
    /// The bookmark files, by the message at which they end.
    pub bookmarks: Option<&'a HashMap<NodeId, String>>,
    /// Whether messages have variables.
    pub has_state: bool,
    /// The variables of the previous message, without the state.
    pub previous_variables: Option<Map<String, Value>>,
}

impl ChatExport<'_> {
    /// Returns the message for a node with its swipes; `None` if the node has nothing to export.
    pub fn row(
        &mut self,
        reader: &mut StoreReader<'_>,
        message: &MessageWithSiblings,
    ) -> Result<Option<ChatFileMessage>, StoreError> {
        let own = &message.message.node;
        if own.content.is_empty() && (own.kind == Kind::Merge || own.status == Status::Error) {
            return Ok(None);
        }
        let alike: Vec<&StoredNode> = message.siblings.iter().filter(|one| is_swipe(&one.node, own)).collect();
        let chosen = alike.iter().position(|one| one.node.id == own.id).unwrap_or(0);
        let mut alternatives = Vec::with_capacity(alike.len());
        let mut after = None;
        for one in &alike {
            let beside = self.other_variables(&one.node);
            // A sibling can have variables even if no message of this branch has.
            let may_have = self.has_state || beside.is_some();
            let state = if may_have { reader.world(self.stored, one)?.vars.get(STATE).cloned() } else { None };
            if one.node.id == own.id {
                after.clone_from(&beside);
            }
            let mut alternative = alternative(&one.node, state, beside);
            if let Some(name) = self.bookmarks.and_then(|bookmarks| bookmarks.get(&one.node.id)) {
                alternative.extra.entry("bookmark_link").or_insert_with(|| name.as_str().into());
            }
            alternatives.push(alternative);
        }
        self.previous_variables = after;
        let imported = imported_metadata(own);
        Ok(Some(ChatFileMessage {
            name: self.name(own),
            is_user: own.role == Role::User || imported.is_some_and(|imported| imported.contains_key("is_user")),
            is_hidden: !own.is_enabled || own.status == Status::Error,
            selected: chosen,
            has_swipes: imported.map_or(own.role == Role::Assistant, |imported| imported.contains_key("swipe")),
            rest: self.row_extra(own, &alike),
            swipes: alternatives,
        }))
    }

    fn name(&self, node: &Node) -> String {
        match imported_metadata(node) {
            Some(imported) => text(imported, "name").or(node.name.as_deref()).unwrap_or_default().to_owned(),
            None => self.cast.name(node),
        }
    }

    /// Returns the variables of a node without the state. If it does not have its own, they are those of the
    /// previous message.
    fn other_variables(&self, node: &Node) -> Option<Map<String, Value>> {
        match imported_metadata(node) {
            Some(imported) => {
                imported.get("variables").map_or(self.previous_variables.clone(), |own| own.as_object().cloned())
            }
            None => {
                let mut before = self.previous_variables.clone().or_else(|| self.has_state.then(Map::new))?;
                before.retain(|key, _| !DERIVED.contains(&key.as_str()));
                Some(before)
            }
        }
    }

    /// Returns the remaining fields of the message line.
    fn row_extra(&self, own: &Node, alike: &[&StoredNode]) -> Map<String, Value> {
        if let Some(line) = metadata_object(own, "line") {
            return line.clone();
        }
        let mut rest = alike.iter().find_map(|one| metadata_object(&one.node, "line")).cloned().unwrap_or_default();
        rest.retain(|key, _| !TIMES.contains(&key.as_str()));
        let several = self.cast.characters.len() > 1 && own.role == Role::Assistant && imported_metadata(own).is_none();
        if let Some(character) = self.cast.character(own).filter(|_| several) {
            let file = format!("{}.png", character.file);
            rest.insert("force_avatar".into(), format!("/thumbnail?type=avatar&file={file}").into());
            rest.insert("original_avatar".into(), file.into());
        }
        let info = swipe_info(own);
        rest.extend(TIMES.iter().filter_map(|key| info.get_key_value(*key)).map(|(k, v)| (k.clone(), v.clone())));
        rest
    }
}

/// Whether a node is a swipe of another: a complete sibling by the same speaker. User and system messages are swipes
/// only if they were imported as such.
pub fn is_swipe(one: &Node, own: &Node) -> bool {
    let was = |node: &Node| imported_metadata(node).is_some_and(|imported| imported.contains_key("swipe"));
    let is_whole = one.status == Status::Complete && one.kind != Kind::Merge;
    let is_by_same = one.name == own.name && one.character == own.character;
    one.id == own.id || (is_whole && is_by_same && (own.role == Role::Assistant || (was(one) && was(own))))
}

/// Returns the imported data that has no place in a node.
fn imported_metadata(node: &Node) -> Option<&Map<String, Value>> {
    node.metadata.sillytavern.as_ref()
}

fn metadata_object<'a>(node: &'a Node, name: &str) -> Option<&'a Map<String, Value>> {
    imported_metadata(node)?.get(name)?.as_object()
}

fn text<'a>(imported: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    imported.get(name)?.as_str()
}

fn alternative(node: &Node, state: Option<Value>, beside: Option<Map<String, Value>>) -> ChatFileSwipe {
    let is_stateless = imported_metadata(node).is_some_and(|imported| imported.contains_key("stateless"));
    let variables = beside.map(|beside| {
        let state = state.filter(|_| !is_stateless).map(|state| (STATE.to_owned(), state));
        state.into_iter().chain(beside).collect()
    });
    let date = match imported_metadata(node).and_then(|imported| imported.get("send_date")) {
        Some(Value::Null) => None,
        Some(date) => Some(date.clone()),
        None => Some(node.created.to_string().into()),
    };
    ChatFileSwipe { text: node.content.clone(), date, extra: extra(node), info: swipe_info(node), variables }
}

/// Returns the `extra` object: model, reasoning and other facts about the generation.
fn extra(node: &Node) -> Map<String, Value> {
    let mut extra = match (imported_metadata(node), node.role) {
        (Some(_), _) => metadata_object(node, "extra").cloned().unwrap_or_default(),
        (None, Role::System) => Map::from_iter([("type".to_owned(), json!("narrator"))]),
        (None, _) => {
            let tokens = node.metadata.reply.token_count.as_ref().and_then(|count| count.completion);
            tokens.map(|count| ("token_count".to_owned(), count.into())).into_iter().collect()
        }
    };
    let own = [
        ("model", node.metadata.reply.model.clone().map(Value::from)),
        ("reasoning", node.reasoning.clone().map(Value::from)),
    ];
    // SillyTavern writes them right after `api`.
    let mut at = extra.keys().position(|key| key == "api").map_or(0, |at| at + 1);
    for (key, value) in own {
        if let Some(value) = value {
            extra.shift_insert(at, key.to_owned(), value);
            at += 1;
        }
    }
    extra
}

/// Returns the remaining data of a swipe.
fn swipe_info(node: &Node) -> Map<String, Value> {
    if imported_metadata(node).is_some() {
        return metadata_object(node, "swipe_info").cloned().unwrap_or_default();
    }
    let took = node.metadata.reply.latency_ms.and_then(|took| i64::try_from(took).ok());
    let Some(took) = took.filter(|_| node.role == Role::Assistant) else { return Map::new() };
    let ended = Time(node.created.0.saturating_add(took));
    let times = [node.created, ended].map(|time| Value::from(time.to_string()));
    TIMES.iter().map(|key| (*key).to_owned()).zip(times).collect()
}
