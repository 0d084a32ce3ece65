//! What the writer keeps in memory between requests, so that it need not read what it has just written. There is
//! only one writer, so nobody else changes these rows. After a rollback it forgets everything.

use std::collections::HashMap;
use std::sync::Arc;

use diesel::prelude::*;

use clotho_core::ids::{NodeId, SessionId};
use clotho_core::oplog::Effect;

use super::caches::estimated_size;
use super::conn::Conn;
use super::error::StoreError;
use super::rows::NodeRow;
use super::rules::{self, ActiveRules};
use super::stored::StoredSession;
use clotho_core::world::World;

/// The maximum number of nodes.
const MAX_NODES: usize = 4_096;
/// The maximum number of sessions.
const MAX_SESSIONS: usize = 256;
/// The maximum number of rule sets.
const MAX_RULES: usize = 64;
/// The maximum number of leaf worlds.
const MAX_LEAF_WORLDS: usize = 256;
/// The maximum size of a leaf world in bytes of JSON. A larger one is folded again when its next keyframe is
/// due.
const MAX_LEAF_WORLD_BYTES: usize = 32 << 10;

/// A table whose row numbers the writer assigns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NumberedTable {
    /// Nodes and their texts.
    Nodes,
    Deltas,
    /// Segments of running replies.
    Segments,
    /// Edits of arrangements.
    Edits,
    /// The stash.
    Fragments,
    Labels,
    /// The operation log.
    Operations,
}

/// The writer's cache.
#[derive(Default)]
pub struct WriterCache {
    newest: HashMap<NumberedTable, i64>,
    sessions: HashMap<SessionId, StoredSession>,
    nodes: HashMap<i64, CachedNode>,
    /// Row numbers by session row and node id; both never change.
    node_numbers: HashMap<(i64, NodeId), i64>,
    rules: HashMap<i64, Arc<ActiveRules>>,
    /// By session row.
    labels: HashMap<i64, Vec<LabelRow>>,
    /// By the node of the world, with the arrangement edit under which it was folded.
    leaf_worlds: HashMap<i64, (i64, LeafWorld)>,
}

/// The world of the newest node of a branch: the world of the next node is folded from it in place.
#[derive(Default)]
pub struct LeafWorld {
    pub world: Arc<World>,
    /// Its size in bytes of JSON; an estimate until a keyframe is cut.
    pub bytes: usize,
}

impl LeafWorld {
    /// Creates a leaf world from a computed world. A world in memory takes about eight times the size of its
    /// JSON.
    pub fn new(world: Arc<World>) -> Self {
        let bytes = estimated_size(&world) / 8;
        Self { world, bytes }
    }
}

/// A label with the row of its node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelRow {
    pub name: String,
    pub node_n: i64,
    /// Whether it moves with appended nodes.
    pub following: bool,
}

struct CachedNode {
    row: NodeRow,
    /// Whether it has children in the tree, if known.
    has_children: Option<bool>,
}

impl WriterCache {
    /// Forgets everything after a rollback, because its row numbers are given out again.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns the next row number of a table; `newest` reads the highest existing one.
    pub fn next_number(
        &mut self,
        table: NumberedTable,
        newest: impl FnOnce() -> QueryResult<Option<i64>>,
    ) -> Result<i64, StoreError> {
        let newest = match self.newest.get(&table) {
            Some(n) => *n,
            // Imported log entries have negative numbers until they are published.
            None => newest()?.unwrap_or(0).max(0),
        };
        self.newest.insert(table, newest + 1);
        Ok(newest + 1)
    }

    /// Returns a cached session that is not in the trash.
    pub fn session(&self, id: SessionId) -> Option<StoredSession> {
        self.sessions.get(&id).cloned()
    }

    /// Caches a session as it was read.
    pub fn keep_session(&mut self, stored: &StoredSession) {
        if stored.is_trashed {
            return;
        }
        if self.sessions.len() >= MAX_SESSIONS {
            self.sessions.clear();
        }
        self.sessions.insert(stored.session.id, stored.clone());
    }

    /// Updates a session after an operation. If the operation changed a setting, the session is forgotten.
    pub fn update_session(&mut self, stored: &StoredSession, effects: &[Effect]) {
        let id = stored.session.id;
        if effects.iter().any(|effect| matches!(effect, Effect::Setting { .. })) {
            self.sessions.remove(&id);
        } else if let Some(cached) = self.sessions.get_mut(&id) {
            cached.head_n = stored.head_n;
            cached.session.head = stored.session.head;
            cached.session.head_op = stored.session.head_op;
            cached.session.op = stored.session.op;
            cached.session.edits = stored.session.edits;
            cached.session.updated = stored.session.updated;
            cached.counts = stored.counts;
        }
    }

    /// Returns the cached row of a node.
    pub fn node(&self, n: i64) -> Option<&NodeRow> {
        self.nodes.get(&n).map(|cached| &cached.row)
    }

    /// Returns the row number of a node of a session.
    pub fn node_number(&self, session_n: i64, id: NodeId) -> Option<i64> {
        self.node_numbers.get(&(session_n, id)).copied()
    }

    /// Caches the current row of a node.
    pub fn keep_node(&mut self, row: &NodeRow) {
        if self.nodes.len() >= MAX_NODES {
            self.forget_nodes();
        }
        if let Some(id) = NodeId::from_slice(row.id.bytes()) {
            self.node_numbers.insert((row.session_n, id), row.n);
        }
        let has_children = self.nodes.get(&row.n).and_then(|cached| cached.has_children);
        self.nodes.insert(row.n, CachedNode { row: row.clone(), has_children });
    }

    /// Changes the cached row of a node.
    pub fn change_node(&mut self, n: i64, change: impl FnOnce(&mut NodeRow)) {
        if let Some(cached) = self.nodes.get_mut(&n) {
            change(&mut cached.row);
        }
    }

    /// Forgets all nodes after a move, because their derived columns have changed.
    pub fn forget_nodes(&mut self) {
        self.nodes.clear();
        self.node_numbers.clear();
    }

    /// Returns whether the next child of a node is its first in the tree; `has_children` reads this from the
    /// database. The caller must write that child.
    pub fn is_first_child(
        &mut self,
        parent_n: i64,
        has_children: impl FnOnce() -> QueryResult<bool>,
    ) -> Result<bool, StoreError> {
        let cached = self.nodes.get_mut(&parent_n);
        let before = match cached.as_ref().and_then(|cached| cached.has_children) {
            Some(has_children) => has_children,
            None => has_children()?,
        };
        if let Some(cached) = cached {
            cached.has_children = Some(true);
        }
        Ok(!before)
    }

    /// Forgets whether a node has children, after one left the tree or came back.
    pub fn forget_children(&mut self, parent_n: i64) {
        if let Some(cached) = self.nodes.get_mut(&parent_n) {
            cached.has_children = None;
        }
    }

    /// Caches a node that was just written and has no children.
    pub fn keep_new_node(&mut self, row: &NodeRow) {
        self.keep_node(row);
        if let Some(cached) = self.nodes.get_mut(&row.n) {
            cached.has_children = Some(false);
        }
    }

    /// Returns the labels of a session; `read` reads them from the database.
    pub fn labels(
        &mut self,
        session_n: i64,
        read: impl FnOnce() -> QueryResult<Vec<LabelRow>>,
    ) -> Result<Vec<LabelRow>, StoreError> {
        if let Some(labels) = self.labels.get(&session_n) {
            return Ok(labels.clone());
        }
        if self.labels.len() >= MAX_SESSIONS {
            self.labels.clear();
        }
        let labels = read()?;
        self.labels.insert(session_n, labels.clone());
        Ok(labels)
    }

    /// Forgets the labels of a session after a change.
    pub fn forget_labels(&mut self, session_n: i64) {
        self.labels.remove(&session_n);
    }

    /// Takes the world of a node under an arrangement out of the cache, to fold it on to a child.
    pub fn take_leaf_world(&mut self, node_n: i64, edits: i64) -> Option<LeafWorld> {
        let (folded_under, tip) = self.leaf_worlds.remove(&node_n)?;
        (folded_under == edits).then_some(tip)
    }

    /// Caches the world of a node under an arrangement.
    pub fn keep_leaf_world(&mut self, node_n: i64, edits: i64, tip: LeafWorld) {
        if tip.bytes > MAX_LEAF_WORLD_BYTES {
            return;
        }
        if self.leaf_worlds.len() >= MAX_LEAF_WORLDS {
            self.leaf_worlds.clear();
        }
        self.leaf_worlds.insert(node_n, (edits, tip));
    }

    /// Returns the rules of a row.
    pub fn rules(&mut self, conn: &mut Conn, rules_n: i64) -> Result<Arc<ActiveRules>, StoreError> {
        if let Some(rules) = self.rules.get(&rules_n) {
            return Ok(Arc::clone(rules));
        }
        if self.rules.len() >= MAX_RULES {
            self.rules.clear();
        }
        let rules = Arc::new(rules::read(conn, rules_n)?);
        self.rules.insert(rules_n, Arc::clone(&rules));
        Ok(rules)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conn::IdBytes;
    use crate::stored::NodeCounts;
    use clotho_core::clock::Time;
    use clotho_core::tree::{AllowedScripts, RecallSettings, RequestedSettings, Session, SummarySettings};
    use serde_json::{Map, json};
    use uuid::Uuid;

    fn to_i64(n: usize) -> i64 {
        i64::try_from(n).unwrap()
    }

    fn stored_session(n: usize) -> StoredSession {
        let id = SessionId::new(Uuid::from_u128(u128::try_from(n).unwrap()));
        let node = NodeId::new(id.uuid());
        let session = Session {
            id,
            owner: clotho_core::ids::UserId::new(Uuid::nil()),
            title: "One of many".into(),
            cards: Vec::new(),
            persona: None,
            root: node,
            head: node,
            op: 1,
            head_op: 1,
            mode: "tree".into(),
            model: None,
            params: Map::new(),
            preset: None,
            scripts: AllowedScripts::default(),
            recall: RecallSettings::default(),
            note: None,
            summaries: SummarySettings::default(),
            values_model: None,
            profile: None,
            plugins: Vec::new(),
            requested: RequestedSettings::default(),
            folder: None,
            tags: Vec::new(),
            is_pinned: false,
            seed: 7,
            edits: 0,
            created: Time(0),
            updated: Time(0),
        };
        StoredSession { n: to_i64(n), head_n: 1, counts: NodeCounts::default(), is_trashed: false, session }
    }

    fn node_row(n: usize) -> NodeRow {
        NodeRow {
            n: to_i64(n),
            id: IdBytes::new(Uuid::from_u128(u128::try_from(n).unwrap()).as_bytes()),
            session_n: 1,
            parent_n: None,
            role: 0,
            kind: 0,
            status: 1,
            is_enabled: true,
            is_muted: false,
            is_hidden: false,
            author: None,
            persona: None,
            speaker: None,
            remembered_n: None,
            rating: None,
            depth: 0,
            turn: 0,
            since_keyframe: 0,
            rules_n: None,
            begins_rules: false,
            dice_seed: 7,
            revision: 0,
            created: 0,
            fragment_n: None,
            is_unread: false,
        }
    }

    fn world(bytes: usize) -> Arc<World> {
        let vars = json!({"diary": "x".repeat(bytes)});
        Arc::new(World::from_json(json!({"vars": vars, "lore": {}, "summary": "", "events": []})).unwrap())
    }

    /// S0-54: the cache stays within its limits, whatever the number and length of open sessions.
    #[test]
    fn writer_cache_many_long_sessions_stays_within_limits() {
        let mut memory = WriterCache::default();
        for n in 0..3 * MAX_SESSIONS {
            memory.keep_session(&stored_session(n));
            memory.labels(to_i64(n), || Ok(Vec::new())).unwrap();
            memory.keep_leaf_world(to_i64(n), 0, LeafWorld::new(world(100)));
            assert!(
                memory.sessions.len() <= MAX_SESSIONS
                    && memory.labels.len() <= MAX_SESSIONS
                    && memory.leaf_worlds.len() <= MAX_LEAF_WORLDS
            );
        }
        for n in 0..3 * MAX_NODES {
            memory.keep_new_node(&node_row(n));
            assert!(memory.nodes.len() <= MAX_NODES && memory.node_numbers.len() <= MAX_NODES);
        }
        // A large world is not cached, neither before its first keyframe nor afterwards.
        let (small, large) = (LeafWorld::new(world(100)), LeafWorld::new(world(1 << 20)));
        assert!(small.bytes <= MAX_LEAF_WORLD_BYTES && large.bytes > MAX_LEAF_WORLD_BYTES);
        memory.keep_leaf_world(-1, 0, large);
        assert!(memory.take_leaf_world(-1, 0).is_none());
        memory.keep_leaf_world(-1, 0, LeafWorld { world: world(100), bytes: MAX_LEAF_WORLD_BYTES + 1 });
        assert!(memory.take_leaf_world(-1, 0).is_none());
    }
}
