//! Database rows and their conversion to domain types. An invalid value is an error that names table, column and
//! row; values are never guessed.

use diesel::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use clotho_core::clock::Time;
use clotho_core::ids::{CharacterId, NodeId, PersonaId, SessionId, UserId};
use clotho_core::letters::fold_base_letters;
use clotho_core::oplog::{Effect, Operation, OperationKind};
use clotho_core::tree::{
    AuthorsNote, CardRef, Effects, Kind, Node, PersonaRef, PluginSetting, RecallSettings, RequestedSettings, Role,
    Session, Status, SummarySettings,
};

use super::conn::IdBytes;
use super::error::StoreError;
use super::prepared::insertable;
use super::tables::{deltas, keyframes, nodes, operations, sessions, texts};

/// The columns of a node without its texts.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = nodes)]
pub struct NodeRow {
    pub n: i64,
    pub id: IdBytes,
    pub session_n: i64,
    pub parent_n: Option<i64>,
    pub role: i16,
    pub kind: i16,
    pub status: i16,
    pub is_enabled: bool,
    pub is_muted: bool,
    pub is_hidden: bool,
    pub author: Option<IdBytes>,
    pub persona: Option<IdBytes>,
    pub speaker: Option<IdBytes>,
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
    /// The fragment that contains it; always `None` in a new row.
    pub fragment_n: Option<i64>,
    /// Always false in a new row.
    pub is_unread: bool,
}

insertable!(
    NodeRow,
    nodes,
    n,
    id,
    session_n,
    parent_n,
    role,
    kind,
    status,
    is_enabled,
    is_muted,
    is_hidden,
    author,
    persona,
    speaker,
    remembered_n,
    rating,
    depth,
    turn,
    since_keyframe,
    rules_n,
    begins_rules,
    dice_seed,
    revision,
    created
);

/// The texts of a new node.
pub struct NewTextRow<'a> {
    pub n: i64,
    pub name: Option<&'a str>,
    pub content: &'a str,
    pub reasoning: Option<&'a str>,
    pub metadata: String,
}

insertable!(NewTextRow<'a>, texts, n, name, content, reasoning, metadata);

/// A new revision of a node's delta.
pub struct NewDeltaRow {
    pub n: i64,
    pub node_n: i64,
    pub revision: i32,
    pub body: String,
}

insertable!(NewDeltaRow, deltas, n, node_n, revision, body);

/// The first keyframe of a node.
pub struct NewKeyframeRow {
    pub node_n: i64,
    pub edits: i64,
    pub body: Vec<u8>,
}

insertable!(NewKeyframeRow, keyframes, node_n, edits, body);

/// The columns of a node for readers, with its texts.
#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = nodes)]
pub struct NodeViewRow {
    pub n: i64,
    pub id: IdBytes,
    pub parent_n: Option<i64>,
    pub role: i16,
    pub kind: i16,
    pub status: i16,
    pub is_enabled: bool,
    pub is_muted: bool,
    pub author: Option<IdBytes>,
    pub persona: Option<IdBytes>,
    pub speaker: Option<IdBytes>,
    pub remembered_n: Option<i64>,
    pub rating: Option<i16>,
    pub depth: i32,
    pub turn: i32,
    pub since_keyframe: i32,
    pub dice_seed: i64,
    pub created: i64,
    pub is_unread: bool,
    #[diesel(embed)]
    pub text: TextRow,
}

/// The texts of a node.
#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = texts)]
pub struct TextRow {
    pub name: Option<String>,
    pub content: String,
    pub reasoning: Option<String>,
    pub metadata: String,
}

impl NodeViewRow {
    /// Converts to the domain's node. `session` is its session; `parent` and `remembered` are the ids of these
    /// rows.
    pub fn into_node(
        self,
        session: SessionId,
        parent: Option<IdBytes>,
        remembered: Option<IdBytes>,
    ) -> Result<Node, StoreError> {
        let (n, text) = (self.n, self.text);
        let bad = |column| move || StoreError::Inconsistent { table: "nodes", column, row: n };
        Ok(Node {
            id: NodeId::from_slice(self.id.bytes()).ok_or_else(bad("id"))?,
            session,
            parent: id(parent, NodeId::from_slice).ok_or_else(bad("parent_n"))?,
            role: Role::from_code(self.role).ok_or_else(bad("role"))?,
            kind: Kind::from_code(self.kind).ok_or_else(bad("kind"))?,
            status: Status::from_code(self.status).ok_or_else(bad("status"))?,
            author: id(self.author, UserId::from_slice).ok_or_else(bad("author"))?,
            persona: id(self.persona, PersonaId::from_slice).ok_or_else(bad("persona"))?,
            character: id(self.speaker, CharacterId::from_slice).ok_or_else(bad("speaker"))?,
            name: text.name,
            content: text.content,
            reasoning: text.reasoning,
            metadata: metadata_from_text(&text.metadata).ok_or(StoreError::Inconsistent {
                table: "texts",
                column: "metadata",
                row: n,
            })?,
            is_enabled: self.is_enabled,
            effects: if self.is_muted { Effects::Muted } else { Effects::On },
            remembered: id(remembered, NodeId::from_slice).ok_or_else(bad("remembered_n"))?,
            rating: self.rating.map(u8::try_from).transpose().ok().ok_or_else(bad("rating"))?,
            depth: self.depth,
            turn: self.turn,
            is_keyframe: self.since_keyframe == 0,
            dice_seed: self.dice_seed.cast_unsigned(),
            created: Time(self.created),
            is_unread: self.is_unread,
        })
    }
}

/// Returns `Some(None)` for no value, `Some(Some(id))` for a valid id, and `None` for an invalid one.
fn id<T>(key: Option<IdBytes>, read: impl FnOnce(&[u8]) -> Option<T>) -> Option<Option<T>> {
    optional(key.as_ref().map(IdBytes::bytes), read)
}

/// Returns the text form of recall settings; `None` for the defaults.
pub fn recall_to_text(recall: &RecallSettings) -> Option<String> {
    (*recall != RecallSettings::default()).then(|| recall.to_json().to_string())
}

/// Reads the text form of recall settings; `None` if it is invalid.
pub fn recall_from_text(text: Option<&str>) -> Option<RecallSettings> {
    RecallSettings::from_json(&text.map_or(Some(Value::Null), |text| serde_json::from_str(text).ok())?)
}

/// Reads an author's note; `None` if it is invalid.
pub fn note_from_text(text: &str) -> Option<AuthorsNote> {
    AuthorsNote::from_json(&serde_json::from_str(text).ok()?)
}

/// Returns the text form of summary settings; `None` for the defaults.
pub fn summaries_to_text(summaries: &SummarySettings) -> Option<String> {
    (*summaries != SummarySettings::default()).then(|| summaries.to_json().to_string())
}

/// Reads the text form of summary settings; `None` if it is invalid.
pub fn summaries_from_text(text: Option<&str>) -> Option<SummarySettings> {
    SummarySettings::from_json(&text.map_or(Some(Value::Null), |text| serde_json::from_str(text).ok())?)
}

/// Reads the text form of requested settings; `None` if it is invalid.
fn requested_from_text(text: Option<&str>) -> Option<RequestedSettings> {
    RequestedSettings::from_json(&text.map_or(Some(Value::Null), |text| serde_json::from_str(text).ok())?)
}

/// A node number that no row has: a session gets its nodes after its own row.
pub const NO_NODE: i64 = 0;

/// The columns of a session.
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
    pub preset: Option<String>,
    pub scripts: String,
    pub recall: Option<String>,
    pub note: Option<String>,
    pub summaries: Option<String>,
    pub values_model: Option<String>,
    pub requested: Option<String>,
    pub connection_profile_id: Option<String>,
    /// The folded title; `None` only in a row of an older program, until the next start.
    pub title_form: Option<String>,
    pub folder: Option<String>,
    pub is_pinned: bool,
}

impl SessionRow {
    /// Creates the row of a session without nodes.
    pub fn new(n: i64, owner_n: i64, session: &Session) -> Self {
        Self {
            n,
            id: session.id.as_bytes().to_vec(),
            owner_n,
            title: session.title.clone(),
            cards: cards_to_text(&session.cards),
            persona: session.persona.as_ref().map(persona_to_text),
            root_n: NO_NODE,
            head_n: NO_NODE,
            op: session.op,
            head_op: session.head_op,
            mode: session.mode.clone(),
            model: session.model.clone(),
            params: object_to_text(&session.params),
            plugins: plugins_to_text(&session.plugins),
            seed: session.seed.cast_signed(),
            edits: session.edits,
            created: session.created.0,
            updated: session.updated.0,
            trashed: None,
            node_count: 0,
            leaf_count: 0,
            preset: session.preset.map(|id| id.to_string()),
            scripts: json!(session.scripts).to_string(),
            recall: recall_to_text(&session.recall),
            note: session.note.as_ref().map(|note| note.to_json().to_string()),
            summaries: summaries_to_text(&session.summaries),
            values_model: session.values_model.clone(),
            requested: (!session.requested.is_empty()).then(|| session.requested.to_json().to_string()),
            connection_profile_id: session.profile.map(|id| id.to_string()),
            title_form: Some(fold_base_letters(&session.title)),
            folder: session.folder.clone(),
            is_pinned: session.is_pinned,
        }
    }

    /// Converts to the domain's session; the ids are those of the referenced rows.
    pub fn into_session(
        self,
        owner: UserId,
        root: NodeId,
        head: NodeId,
        tags: Vec<String>,
    ) -> Result<Session, StoreError> {
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
            params: object_from_text(&self.params).ok_or_else(bad("params"))?,
            preset: optional(self.preset.as_deref(), |id| id.parse().ok()).ok_or_else(bad("preset"))?,
            scripts: serde_json::from_str(&self.scripts).map_err(|_| bad("scripts")())?,
            recall: recall_from_text(self.recall.as_deref()).ok_or_else(bad("recall"))?,
            note: optional(self.note.as_deref(), note_from_text).ok_or_else(bad("note"))?,
            summaries: summaries_from_text(self.summaries.as_deref()).ok_or_else(bad("summaries"))?,
            values_model: self.values_model,
            profile: optional(self.connection_profile_id.as_deref(), |id| id.parse().ok())
                .ok_or_else(bad("connection_profile_id"))?,
            plugins: plugins_from_text(&self.plugins).ok_or_else(bad("plugins"))?,
            requested: requested_from_text(self.requested.as_deref()).ok_or_else(bad("requested"))?,
            folder: self.folder,
            tags,
            is_pinned: self.is_pinned,
            seed: self.seed.cast_unsigned(),
            edits: self.edits,
            created: Time(self.created),
            updated: Time(self.updated),
        })
    }
}

/// A log entry.
#[derive(Debug, Clone, Queryable, QueryableByName, Selectable)]
#[diesel(table_name = operations)]
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

insertable!(OperationRow, operations, n, session_n, op, step, act, actor, at, effects);

impl OperationRow {
    /// Creates the row of an operation.
    pub fn new(n: i64, session_n: i64, operation: &Operation) -> Self {
        Self {
            n,
            session_n,
            op: operation.op,
            step: operation.step,
            act: operation.kind.as_str().to_owned(),
            actor: operation.actor.map(|actor| actor.as_bytes().to_vec()),
            at: operation.at.0,
            effects: serde_json::to_string(&operation.effects).unwrap_or_default(),
        }
    }

    /// Converts to the domain's operation.
    pub fn into_operation(self) -> Result<Operation, StoreError> {
        let n = self.n;
        let bad = |column| move || StoreError::Inconsistent { table: "operations", column, row: n };
        let effects: Vec<Value> = serde_json::from_str(&self.effects).ok().ok_or_else(bad("effects"))?;
        Ok(Operation {
            op: self.op,
            kind: OperationKind::parse(&self.act).ok_or_else(bad("act"))?,
            actor: optional(self.actor.as_deref(), UserId::from_slice).ok_or_else(bad("actor"))?,
            at: Time(self.at),
            step: self.step,
            effects: effects.iter().map(Effect::from_json).collect::<Option<_>>().ok_or_else(bad("effects"))?,
        })
    }
}

/// Returns `Some(None)` for no value, `Some(Some(x))` for a valid value, and `None` for an invalid one.
fn optional<T: ?Sized, U>(value: Option<&T>, read: impl FnOnce(&T) -> Option<U>) -> Option<Option<U>> {
    match value {
        None => Some(None),
        Some(value) => read(value).map(Some),
    }
}

/// Returns the text form of an object.
pub fn object_to_text(object: &Map<String, Value>) -> String {
    // All keys are strings, so this cannot fail.
    serde_json::to_string(object).unwrap_or_default()
}

/// Parses a JSON object. Returns `None` if the text is not one.
pub fn object_from_text(text: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(text).ok()
}

/// Returns the text form of a node's or a summary's metadata.
pub fn metadata_to_text(metadata: &impl Serialize) -> String {
    // All keys are strings, so this cannot fail.
    serde_json::to_string(metadata).unwrap_or_else(|_| "{}".to_owned())
}

/// Parses the metadata of a node or a summary. Returns `None` if the text is not a JSON object.
pub fn metadata_from_text<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_str(text).ok()
}

/// Returns the text form of card references: `[[id, hash], …]`.
pub fn cards_to_text(cards: &[CardRef]) -> String {
    let pairs: Vec<(String, &str)> = cards.iter().map(|card| (card.id.to_string(), card.hash.as_str())).collect();
    serde_json::to_string(&pairs).unwrap_or_default()
}

/// Parses the text form of card references. Returns `None` if it is malformed.
pub fn cards_from_text(text: &str) -> Option<Vec<CardRef>> {
    let pairs: Vec<(String, String)> = serde_json::from_str(text).ok()?;
    pairs.into_iter().map(|(id, hash)| Some(CardRef { id: id.parse().ok()?, hash })).collect()
}

/// Returns the text form of a persona reference: `[id, hash]`.
pub fn persona_to_text(persona: &PersonaRef) -> String {
    serde_json::to_string(&(persona.id.to_string(), &persona.hash)).unwrap_or_default()
}

/// Reads the text form of a persona reference.
pub fn persona_from_text(text: &str) -> Option<PersonaRef> {
    let (id, hash): (String, String) = serde_json::from_str(text).ok()?;
    Some(PersonaRef { id: id.parse().ok()?, hash })
}

/// Returns the text form of plugin settings.
pub fn plugins_to_text(plugins: &[PluginSetting]) -> String {
    plugins_to_json(plugins).to_string()
}

/// Returns plugin settings as the log stores them: `[{id, enabled, config, grants, refused?}]`. `refused` is
/// omitted if empty, so that older entries stay equal.
pub fn plugins_to_json(plugins: &[PluginSetting]) -> Value {
    let list = plugins.iter().map(|plugin| {
        let mut json = json!({
            "id": plugin.id, "enabled": plugin.enabled, "config": plugin.config, "grants": plugin.grants,
        });
        if let Some(map) = json.as_object_mut().filter(|_| !plugin.refused.is_empty()) {
            map.insert("refused".into(), plugin.refused.clone().into());
        }
        json
    });
    Value::Array(list.collect())
}

/// Reads the text form of plugin settings.
pub fn plugins_from_text(text: &str) -> Option<Vec<PluginSetting>> {
    let list: Vec<Value> = serde_json::from_str(text).ok()?;
    list.iter().map(plugin_from_json).collect()
}

fn plugin_from_json(value: &Value) -> Option<PluginSetting> {
    let words = |list: &Value| -> Option<Vec<String>> {
        list.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect()
    };
    Some(PluginSetting {
        id: value.get("id")?.as_str()?.to_owned(),
        enabled: value.get("enabled")?.as_bool()?,
        config: value.get("config")?.as_object()?.clone(),
        grants: words(value.get("grants")?)?,
        refused: value.get("refused").map_or(Some(Vec::new()), words)?,
    })
}
