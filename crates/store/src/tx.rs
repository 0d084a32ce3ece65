//! A write in progress: what one request may do in its group's transaction. Writes to the tree are in
//! `tree_writes.rs`, users in `library.rs`, the log in `journal.rs`. This file looks rows up, and it is the only
//! place that inserts nodes and log entries.

use std::sync::Arc;

use diesel::prelude::*;

use clotho_core::clock::Time;
use clotho_core::ids::{CharacterId, NodeId, PersonaId, SessionId, UserId};
use clotho_core::oplog::{Effect, Operation, OperationKind};
use clotho_core::tree::edit::{PathEdge, TreeError};
use clotho_core::tree::{Delta, Kind, NodeMetadata, Role, Status};
use clotho_core::world::fold;

use super::ancestors::{self, AncestorRow};
use super::caches::{Caches, KeyframeRepair};
use super::conn::{Conn, IdBytes};
use super::error::{StoreError, WriteError};
use super::prepared::{insert, prepared};
use super::read::{any_node_row, find_any_session};
use super::row_numbers::{self, PermanentTable};
use super::rows::{NewDeltaRow, NewTextRow, NodeRow, OperationRow, metadata_to_text};
use super::rules::{self, ActiveRules};
use super::stored::{NodeCounts, StoredSession};
use super::tables::{deltas, nodes};
use super::worlds::{self, WorldAccess};
use super::writer_cache::{LeafWorld, NumberedTable, WriterCache};

/// A durable operation, sent to readers of the log.
#[derive(Debug, Clone)]
pub struct PublishedOperation {
    /// The global cursor.
    pub cursor: i64,
    pub session: SessionId,
    pub operation: Arc<Operation>,
}

/// What every write needs and none may change.
pub struct TxContext {
    /// The store's caches. A write only reads them, because it may be rolled back.
    pub caches: Arc<Caches>,
    /// The number of nodes along a path between two keyframes.
    pub keyframe_every: i32,
}

/// A node to write.
#[derive(Debug, Clone)]
pub struct NodeDraft {
    pub id: NodeId,
    /// The role of the message.
    pub role: Role,
    pub kind: Kind,
    /// Complete, or generating for a placeholder.
    pub status: Status,
    /// The user who wrote or requested it.
    pub author: Option<UserId>,
    /// The author's persona.
    pub persona: Option<PersonaId>,
    /// The character that speaks.
    pub character: Option<CharacterId>,
    /// The speaker's name.
    pub name: Option<String>,
    pub content: String,
    pub reasoning: Option<String>,
    /// Other known data.
    pub metadata: Box<NodeMetadata>,
    /// The seed of its random draws.
    pub dice_seed: u64,
    /// Its operations on the state.
    pub delta: Delta,
    /// The rules that begin at this node; `None` means those of the parent.
    pub rules: Option<Arc<ActiveRules>>,
    pub created: Time,
}

impl NodeDraft {
    /// Creates an empty complete node of a kind.
    pub fn new(id: NodeId, role: Role, kind: Kind, dice_seed: u64, created: Time) -> Self {
        Self {
            id,
            role,
            kind,
            status: Status::Complete,
            author: None,
            persona: None,
            character: None,
            name: None,
            content: String::new(),
            reasoning: None,
            metadata: Box::default(),
            dice_seed,
            delta: Delta::default(),
            rules: None,
            created,
        }
    }
}

/// An operation before it is logged.
pub(super) struct OperationDraft {
    pub kind: OperationKind,
    pub actor: Option<UserId>,
    pub at: Time,
    pub step: Option<i64>,
    pub effects: Vec<Effect>,
}

/// The write of one request.
pub struct Tx<'a> {
    pub(super) conn: &'a mut Conn,
    pub(super) context: &'a TxContext,
    pub(super) writer_cache: &'a mut WriterCache,
    pub(super) published: Vec<PublishedOperation>,
    failure: Option<StoreError>,
    /// The nodes at which the current operation edits the arrangement.
    pub(super) edited_nodes: Vec<i64>,
    /// The changes of the node and leaf counts by the current operation.
    pub(super) count_changes: NodeCounts,
}

impl<'a> Tx<'a> {
    pub(super) fn new(conn: &'a mut Conn, context: &'a TxContext, writer_cache: &'a mut WriterCache) -> Self {
        Self {
            conn,
            context,
            writer_cache,
            published: Vec::new(),
            failure: None,
            edited_nodes: Vec::new(),
            count_changes: NodeCounts::default(),
        }
    }

    /// Ends the request. A database failure that its closure ignored still fails the group.
    pub(super) fn finish(self) -> Result<Vec<PublishedOperation>, StoreError> {
        match self.failure {
            None => Ok(self.published),
            Some(error) => Err(error),
        }
    }

    /// Runs database work and records a failure. After a failure nothing more runs: SQLite may have rolled the
    /// transaction back by itself, and later statements would run outside of it.
    pub(super) fn run<T>(&mut self, work: impl FnOnce(&mut Conn) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.run_with_cache(|conn, _| work(conn))
    }

    /// Does the same with the writer cache, which must be told of changes.
    pub(super) fn run_with_cache<T>(
        &mut self,
        work: impl FnOnce(&mut Conn, &mut WriterCache) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if let Some(error) = &self.failure {
            return Err(error.clone());
        }
        let result = work(self.conn, self.writer_cache);
        if let Err(error) = &result {
            self.failure = Some(error.clone());
        }
        result
    }

    /// Runs a write. If it fails in the middle, the request fails, whatever its closure does with the error. A
    /// refusal comes before the first write.
    pub(super) fn all_or_nothing<T>(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<T, WriteError>,
    ) -> Result<T, WriteError> {
        let result = act(self);
        if let Err(WriteError::Failed(error)) = &result {
            self.failure.get_or_insert_with(|| error.clone());
        }
        result
    }

    /// Returns a session that the caller may change.
    ///
    /// # Errors
    /// Returns an error if it does not exist or belongs to another user.
    pub fn session(&mut self, caller: UserId, id: SessionId) -> Result<StoredSession, WriteError> {
        let stored = self.any_session(id)?.filter(|stored| !stored.is_trashed && stored.session.owner == caller);
        stored.ok_or(WriteError::Refused(TreeError::NotFound("the session")))
    }

    /// Returns a session, in the trash or not.
    pub(super) fn any_session(&mut self, id: SessionId) -> Result<Option<StoredSession>, StoreError> {
        self.run_with_cache(|conn, memory| {
            if let Some(stored) = memory.session(id) {
                return Ok(Some(stored));
            }
            Ok(find_any_session(conn, id)?.inspect(|stored| memory.keep_session(stored)))
        })
    }

    pub(super) fn row_in_tree(&mut self, stored: &StoredSession, id: NodeId) -> Result<NodeRow, WriteError> {
        let found = self.any_row(stored, id)?.filter(|row| !row.is_hidden);
        found.ok_or(WriteError::Refused(TreeError::NotFound("the message")))
    }

    /// Returns the row of a node of a session, also of one that is not in the tree.
    pub(super) fn any_row(&mut self, stored: &StoredSession, id: NodeId) -> Result<Option<NodeRow>, StoreError> {
        let session_n = stored.n;
        self.run_with_cache(|conn, memory| match memory.node_number(session_n, id).and_then(|n| memory.node(n)) {
            Some(row) => Ok(Some(row.clone())),
            None => Ok(any_node_row(conn, session_n, id)?.inspect(|row| memory.keep_node(row))),
        })
    }

    /// Returns the row number of a node named in the log, in the tree or not.
    pub(super) fn node_number(&mut self, stored: &StoredSession, id: NodeId) -> Result<i64, StoreError> {
        match self.writer_cache.node_number(stored.n, id) {
            Some(n) => Ok(n),
            None => Ok(self.logged_row(stored, id)?.n),
        }
    }

    /// Returns the row of a node named in the log. It may be outside the tree, because this is also how it is
    /// restored.
    pub(super) fn logged_row(&mut self, stored: &StoredSession, id: NodeId) -> Result<NodeRow, StoreError> {
        let row = self.any_row(stored, id)?;
        self.run(|_| row.ok_or_else(|| StoreError::Database(format!("{id} is in the log, not in the tree"))))
    }

    pub(super) fn row_by_number(&mut self, n: i64) -> Result<NodeRow, StoreError> {
        let row = self.find_row_by_number(n)?;
        self.run(|_| row.ok_or(StoreError::Inconsistent { table: "nodes", column: "parent_n", row: n }))
    }

    /// Returns a row by its number; `None` if it was permanently deleted.
    pub(super) fn find_row_by_number(&mut self, n: i64) -> Result<Option<NodeRow>, StoreError> {
        self.run_with_cache(|conn, memory| {
            if let Some(row) = memory.node(n) {
                return Ok(Some(row.clone()));
            }
            let found = nodes::table.find(n).select(NodeRow::as_select()).get_result(conn).optional()?;
            Ok(found.inspect(|row| memory.keep_node(row)))
        })
    }

    /// Writes a node below a parent: its rows, and a keyframe if one is due.
    pub(super) fn insert(
        &mut self,
        session_n: i64,
        edits: i64,
        parent: Option<&NodeRow>,
        draft: &NodeDraft,
    ) -> Result<NodeRow, StoreError> {
        // The rules: its own or those of the parent.
        let rules_n = match &draft.rules {
            Some(rules) => Some(self.run(|conn| rules::write(conn, rules))?),
            None => parent.and_then(|parent| parent.rules_n),
        };
        let mut row = self.node_row(session_n, parent, draft, rules_n)?;
        let is_due = draft.status == Status::Complete && self.is_keyframe_due(&row);
        if is_due {
            row.since_keyframe = 0;
        }
        // Write the row, its texts and its delta.
        let text = NewTextRow {
            n: row.n,
            name: draft.name.as_deref(),
            content: &draft.content,
            reasoning: draft.reasoning.as_deref(),
            metadata: metadata_to_text(&draft.metadata),
        };
        self.write_node(&row, &text)?;
        self.writer_cache.keep_new_node(&row);
        self.write_delta(row.n, row.revision, &draft.delta)?;
        if draft.status == Status::Complete {
            self.advance_world(edits, &row, &draft.delta)?;
        }
        Ok(row)
    }

    /// Returns the row number for a new node, and whether it will be the first child of its parent in the tree.
    pub(super) fn next_node_number(&mut self, parent_n: i64) -> Result<(i64, bool), StoreError> {
        self.run_with_cache(|conn, memory| {
            let n = memory.next_number(NumberedTable::Nodes, || row_numbers::highest(conn, PermanentTable::Nodes))?;
            Ok((n, memory.is_first_child(parent_n, || has_other_child(conn, parent_n, 0))?))
        })
    }

    fn node_row(
        &mut self,
        session_n: i64,
        parent: Option<&NodeRow>,
        draft: &NodeDraft,
        rules_n: Option<i64>,
    ) -> Result<NodeRow, StoreError> {
        let parent_n = parent.map_or(0, |parent| parent.n);
        let (n, is_first) = self.next_node_number(parent_n)?;
        // The first child of a leaf replaces it as a leaf.
        self.count_changes.nodes += i64::from(parent.is_some());
        self.count_changes.leaves += i64::from(parent.is_none() || !is_first);
        Ok(NodeRow {
            n,
            id: IdBytes::new(draft.id.as_bytes()),
            session_n,
            parent_n: parent.map(|parent| parent.n),
            role: draft.role.code(),
            kind: draft.kind.code(),
            status: draft.status.code(),
            is_enabled: true,
            is_muted: false,
            is_hidden: false,
            author: draft.author.map(|id| IdBytes::new(id.as_bytes())),
            persona: draft.persona.map(|id| IdBytes::new(id.as_bytes())),
            speaker: draft.character.map(|id| IdBytes::new(id.as_bytes())),
            remembered_n: None,
            rating: None,
            depth: parent.map_or(0, |parent| parent.depth + 1),
            turn: turn_below(parent, draft.role, draft.kind),
            // The root counts as overdue, so it always has a keyframe.
            since_keyframe: parent.map_or(self.context.keyframe_every, |parent| parent.since_keyframe + 1),
            rules_n,
            begins_rules: draft.rules.is_some(),
            dice_seed: draft.dice_seed.cast_signed(),
            revision: i32::from(!draft.delta.is_empty()),
            created: draft.created.0,
            fragment_n: None,
            is_unread: false,
        })
    }

    /// Inserts a node with its texts.
    pub(super) fn write_node(&mut self, row: &NodeRow, text: &NewTextRow<'_>) -> Result<(), StoreError> {
        self.run(|conn| {
            insert::<NodeRow>(conn, row)?;
            insert::<NewTextRow<'_>>(conn, text)?;
            Ok(())
        })
    }

    /// Inserts a log entry.
    pub(super) fn write_operation(&mut self, row: &OperationRow) -> Result<(), StoreError> {
        self.run(|conn| Ok(insert::<OperationRow>(conn, row)?))
    }

    pub(super) fn write_delta(&mut self, node_n: i64, revision: i32, delta: &Delta) -> Result<(), StoreError> {
        if revision == 0 {
            return Ok(());
        }
        let body = delta.to_text();
        self.run_with_cache(|conn, memory| {
            let newest = || deltas::table.select(diesel::dsl::max(deltas::n)).get_result(conn);
            let n = memory.next_number(NumberedTable::Deltas, newest)?;
            Ok(insert::<NewDeltaRow>(conn, &NewDeltaRow { n, node_n, revision, body })?)
        })
    }

    /// Returns whether the distance to the last keyframe requires a new one.
    pub(super) fn is_keyframe_due(&self, row: &NodeRow) -> bool {
        row.since_keyframe >= self.context.keyframe_every
    }

    /// Updates the leaf world after a node is complete, if its parent's world is known or a keyframe is due.
    /// Writes the keyframe if one is due.
    pub(super) fn advance_world(&mut self, edits: i64, row: &NodeRow, delta: &Delta) -> Result<(), StoreError> {
        let caches = Arc::clone(&self.context.caches);
        let is_due = row.since_keyframe == 0;
        self.run_with_cache(|conn, memory| {
            let tip = row.parent_n.and_then(|parent| memory.take_leaf_world(parent, edits));
            let mut tip = match (tip, row.parent_n) {
                (Some(tip), _) => tip,
                (None, _) if !is_due => return Ok(()),
                (None, Some(parent)) => LeafWorld::new(worlds::world_at(
                    conn,
                    &caches,
                    &mut WorldAccess::Transaction(memory),
                    parent,
                    edits,
                )?),
                (None, None) => LeafWorld::default(),
            };
            if !delta.operations.is_empty() {
                let rules = worlds::active_rules(conn, &caches, &mut WorldAccess::Transaction(memory), row.rules_n)?;
                fold(Arc::make_mut(&mut tip.world), &delta.operations, &rules);
                caches.count_folds(1);
            }
            if is_due {
                tip.bytes = worlds::put_first_keyframe(conn, row.n, edits, &tip.world)?;
            }
            memory.keep_leaf_world(row.n, edits, tip);
            Ok(())
        })
    }

    /// Cuts keyframes again that a read found missing, damaged or outdated, unless the arrangement has changed
    /// since.
    pub(super) fn cut_requested_keyframes(&mut self, cuts: &[KeyframeRepair]) -> Result<(), WriteError> {
        for cut in cuts {
            let edits_now = self.run(|conn| worlds::edits_now(conn, cut.session_n))?;
            if edits_now == cut.edits {
                self.run(|conn| worlds::put_keyframe(conn, cut.node_n, cut.edits, &cut.world))?;
            }
        }
        Ok(())
    }

    /// Returns the edges to change so that `to` is on the remembered path: those from the lowest common ancestor
    /// with HEAD down to `to` where the parent remembers another child or none.
    pub(super) fn remembered_edges(
        &mut self,
        stored: &StoredSession,
        to: &NodeRow,
    ) -> Result<Vec<PathEdge>, StoreError> {
        let head = AncestorRow::from_row(&self.row_by_number(stored.head_n)?);
        let way = match to.parent_n {
            Some(parent) if parent == head.n => vec![AncestorRow::from_row(to), head],
            _ => self.run(|conn| ancestors::path_from_common_ancestor(conn, head, AncestorRow::from_row(to)))?,
        };
        let edges = way.iter().zip(way.iter().skip(1)).rev();
        let differing = edges.filter(|(child, parent)| parent.remembered_n != Some(child.n));
        differing.map(|(child, parent)| self.edge(parent, child.n)).collect()
    }

    /// Returns the edge from a node to one of its children.
    pub(super) fn edge(&mut self, parent: &AncestorRow, child_n: i64) -> Result<PathEdge, StoreError> {
        let remembered = parent.remembered_n.map(|n| self.id_of(n)).transpose()?;
        Ok(PathEdge { parent: self.id_of(parent.n)?, remembered, child: self.id_of(child_n)? })
    }

    fn id_of(&mut self, n: i64) -> Result<NodeId, StoreError> {
        row_id(&self.row_by_number(n)?)
    }
}

/// Returns the turn number of a node below a parent.
pub(super) fn turn_below(parent: Option<&NodeRow>, role: Role, kind: Kind) -> i32 {
    parent.map_or(0, |parent| parent.turn) + i32::from(starts_turn(role.code(), kind.code()))
}

/// Returns whether a row has a child in the tree other than `besides`.
pub(super) fn has_other_child(conn: &mut Conn, parent_n: i64, besides: i64) -> QueryResult<bool> {
    let shown = nodes::table.filter(nodes::parent_n.eq(parent_n)).filter(nodes::is_hidden.eq(false));
    let other: Option<i64> =
        prepared(shown.filter(nodes::n.ne(besides)).select(nodes::n)).get_result(conn).optional()?;
    Ok(other.is_some())
}

/// Returns whether a message of this role and kind starts a turn.
pub(super) fn starts_turn(role: i16, kind: i16) -> bool {
    role != Role::Assistant.code() && kind != Kind::Change.code() && kind != Kind::Root.code()
}

/// Returns the id of a row.
pub(super) fn row_id(row: &NodeRow) -> Result<NodeId, StoreError> {
    NodeId::from_slice(row.id.bytes()).ok_or(StoreError::Inconsistent { table: "nodes", column: "id", row: row.n })
}
