//! Rows as the database keeps them, and their way into the domain. A row that does not say what it must is an error that
//! names table, column and row, never a guess.

use diesel::prelude::*;
use serde_json::{Map, Value};

use crate::clock::Time;
use crate::ids::{CharacterId, NodeId, PersonaId, SessionId, UserId};
use crate::oplog::{Act, Effect, Operation};
use crate::tree::{CardRef, Effects, Kind, Node, PersonaRef, PluginSetting, Role, Session, Status};

use super::error::StoreError;
use super::tables::{nodes, operations, sessions, texts};

/// The narrow part of a node.
#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = nodes, treat_none_as_default_value = false)]
pub struct NodeRow {
    pub n: i64,
    pub id: Vec<u8>,
    pub session_n: i64,
    pub parent_n: Option<i64>,
    pub ordinal: i32,
    pub role: i16,
    pub kind: i16,
    pub status: i16,
    pub is_enabled: bool,
    pub is_muted: bool,
    pub is_hidden: bool,
    pub author: Option<Vec<u8>>,
    pub persona: Option<Vec<u8>>,
    pub speaker: Option<Vec<u8>>,
    pub remembered_n: Option<i64>,
    pub rating: Option<i16>,
    pub depth: i32,
    pub turn: i32,
    pub since_keyframe: i32,
    pub rules_n: Option<i64>,
    pub begins_rules: bool,
    pub dice_seed: i64,
    pub revision: i32,
    pub created: i64,
}

/// The texts of a node.
#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = texts, treat_none_as_default_value = false)]
pub struct TextRow {
    pub n: i64,
    pub name: Option<String>,
    pub content: String,
    pub reasoning: Option<String>,
    pub metadata: String,
}

/// A node with its texts and the ids its integers stand for.
pub struct FullNode {
    pub row: NodeRow,
    pub text: TextRow,
    pub parent: Option<Vec<u8>>,
    pub remembered: Option<Vec<u8>>,
}

impl FullNode {
    /// The domain's node; `session` is the session that the row was found in.
    pub fn into_node(self, session: SessionId) -> Result<Node, StoreError> {
        let Self { row, text, parent, remembered } = self;
        let n = row.n;
        let bad = |column| move || StoreError::Inconsistent { table: "nodes", column, row: n };
        Ok(Node {
            id: NodeId::from_slice(&row.id).ok_or_else(bad("id"))?,
            session,
            parent: optional(parent.as_deref(), NodeId::from_slice).ok_or_else(bad("parent_n"))?,
            role: Role::from_code(row.role).ok_or_else(bad("role"))?,
            kind: Kind::from_code(row.kind).ok_or_else(bad("kind"))?,
            status: Status::from_code(row.status).ok_or_else(bad("status"))?,
            author: optional(row.author.as_deref(), UserId::from_slice).ok_or_else(bad("author"))?,
            persona: optional(row.persona.as_deref(), PersonaId::from_slice).ok_or_else(bad("persona"))?,
            character: optional(row.speaker.as_deref(), CharacterId::from_slice).ok_or_else(bad("speaker"))?,
            name: text.name,
            content: text.content,
            reasoning: text.reasoning,
            metadata: object(&text.metadata).ok_or(StoreError::Inconsistent {
                table: "texts",
                column: "metadata",
                row: n,
            })?,
            is_enabled: row.is_enabled,
            effects: if row.is_muted { Effects::Muted } else { Effects::On },
            remembered: optional(remembered.as_deref(), NodeId::from_slice).ok_or_else(bad("remembered_n"))?,
            rating: row.rating.map(u8::try_from).transpose().ok().ok_or_else(bad("rating"))?,
            ordinal: row.ordinal,
            depth: row.depth,
            turn: row.turn,
            is_keyframe: row.since_keyframe == 0,
            dice_seed: row.dice_seed.cast_unsigned(),
            created: Time(row.created),
        })
    }
}

/// A session.
#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = sessions, treat_none_as_default_value = false)]
pub struct SessionRow {
    pub n: i64,
    pub id: Vec<u8>,
    pub owner_n: i64,
    pub title: String,
    pub cards: String,
    pub persona: Option<String>,
    pub root_n: i64,
    pub head_n: i64,
    pub op: i64,
    pub head_op: i64,
    pub mode: String,
    pub model: Option<String>,
    pub params: String,
    pub plugins: String,
    pub seed: i64,
    pub edits: i64,
    pub created: i64,
    pub updated: i64,
    pub trashed: Option<i64>,
    pub node_count: i64,
    pub leaf_count: i64,
}

impl SessionRow {
    /// The domain's session; the ids are those its integers stand for.
    pub fn into_session(self, owner: UserId, root: NodeId, head: NodeId) -> Result<Session, StoreError> {
        let n = self.n;
        let bad = |column| move || StoreError::Inconsistent { table: "sessions", column, row: n };
        Ok(Session {
            id: SessionId::from_slice(&self.id).ok_or_else(bad("id"))?,
            owner,
            title: self.title,
            cards: cards_from_text(&self.cards).ok_or_else(bad("cards"))?,
            persona: optional(self.persona.as_deref(), persona_from_text).ok_or_else(bad("persona"))?,
            root,
            head,
            op: self.op,
            head_op: self.head_op,
            mode: self.mode,
            model: self.model,
            params: object(&self.params).ok_or_else(bad("params"))?,
            plugins: plugins_from_text(&self.plugins).ok_or_else(bad("plugins"))?,
            seed: self.seed.cast_unsigned(),
            edits: self.edits,
            created: Time(self.created),
            updated: Time(self.updated),
        })
    }
}

/// An entry of the log.
#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = operations, treat_none_as_default_value = false)]
pub struct OperationRow {
    pub n: i64,
    pub session_n: i64,
    pub op: i64,
    pub step: i64,
    pub act: String,
    pub actor: Option<Vec<u8>>,
    pub at: i64,
    pub effects: String,
}

impl OperationRow {
    /// The row of an operation.
    pub fn new(n: i64, session_n: i64, operation: &Operation) -> Self {
        let effects: Vec<Value> = operation.effects.iter().map(Effect::to_json).collect();
        Self {
            n,
            session_n,
            op: operation.op,
            step: operation.step,
            act: operation.kind.word().to_owned(),
            actor: operation.actor.map(|actor| actor.as_bytes().to_vec()),
            at: operation.at.0,
            effects: Value::Array(effects).to_string(),
        }
    }

    /// The domain's operation.
    pub fn into_operation(self) -> Result<Operation, StoreError> {
        let n = self.n;
        let bad = |column| move || StoreError::Inconsistent { table: "operations", column, row: n };
        let effects: Vec<Value> = serde_json::from_str(&self.effects).ok().ok_or_else(bad("effects"))?;
        Ok(Operation {
            op: self.op,
            kind: Act::from_word(&self.act).ok_or_else(bad("act"))?,
            actor: optional(self.actor.as_deref(), UserId::from_slice).ok_or_else(bad("actor"))?,
            at: Time(self.at),
            step: self.step,
            effects: effects.iter().map(Effect::from_json).collect::<Option<_>>().ok_or_else(bad("effects"))?,
        })
    }
}

/// `Some(None)` for nothing, `Some(Some(x))` for what reads well, `None` for what does not.
fn optional<T: ?Sized, U>(value: Option<&T>, read: impl FnOnce(&T) -> Option<U>) -> Option<Option<U>> {
    match value {
        None => Some(None),
        Some(value) => read(value).map(Some),
    }
}

fn object(text: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(text).ok()
}

/// The text form of card references: `[[id, hash], …]`.
pub fn cards_to_text(cards: &[CardRef]) -> String {
    let pairs: Vec<(String, &str)> = cards.iter().map(|card| (card.id.to_string(), card.hash.as_str())).collect();
    serde_json::to_string(&pairs).unwrap_or_default()
}

fn cards_from_text(text: &str) -> Option<Vec<CardRef>> {
    let pairs: Vec<(String, String)> = serde_json::from_str(text).ok()?;
    pairs.into_iter().map(|(id, hash)| Some(CardRef { id: id.parse().ok()?, hash })).collect()
}

/// The text form of a persona reference: `[id, hash]`.
pub fn persona_to_text(persona: &PersonaRef) -> String {
    serde_json::to_string(&(persona.id.to_string(), &persona.hash)).unwrap_or_default()
}

/// Reads the text form of a persona reference.
pub fn persona_from_text(text: &str) -> Option<PersonaRef> {
    let (id, hash): (String, String) = serde_json::from_str(text).ok()?;
    Some(PersonaRef { id: id.parse().ok()?, hash })
}

/// The text form of plugin settings: `[{id, enabled, config, grants}]`.
pub fn plugins_to_text(plugins: &[PluginSetting]) -> String {
    let list = plugins.iter().map(|plugin| {
        serde_json::json!({
            "id": plugin.id, "enabled": plugin.enabled, "config": plugin.config, "grants": plugin.grants,
        })
    });
    Value::Array(list.collect()).to_string()
}

/// Reads the text form of plugin settings.
pub fn plugins_from_text(text: &str) -> Option<Vec<PluginSetting>> {
    let list: Vec<Value> = serde_json::from_str(text).ok()?;
    list.iter().map(plugin_from_json).collect()
}

fn plugin_from_json(value: &Value) -> Option<PluginSetting> {
    let grants = value.get("grants")?.as_array()?.iter().map(|grant| grant.as_str().map(str::to_owned));
    Some(PluginSetting {
        id: value.get("id")?.as_str()?.to_owned(),
        enabled: value.get("enabled")?.as_bool()?,
        config: value.get("config")?.as_object()?.clone(),
        grants: grants.collect::<Option<_>>()?,
    })
}
