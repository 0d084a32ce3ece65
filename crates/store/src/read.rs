//! Reads: all methods of a reader use the one snapshot of its closure. Lookups return `None` for what does not
//! exist. Access is also checked here, by the owner that each session lookup gets.

use std::collections::HashMap;
use std::sync::Arc;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary};

use clotho_core::ids::{NodeId, SessionId, UserId};
use clotho_core::oplog::Operation;
use clotho_core::stop_check::StopCheck;
use clotho_core::tree::{Delta, Role, SiblingPosition};
use clotho_core::world::World;

use super::ancestors;
use super::caches::Caches;
use super::conn::{self, Conn, IdBytes};
use super::error::StoreError;
use super::prepared::prepared;
use super::row_numbers::{self, PermanentTable};
use super::rows::{NodeRow, NodeViewRow, OperationRow, SessionRow};
use super::rules::ActiveRules;
use super::session_tags;
use super::stored::{NodeCounts, StoredNode, StoredSession};
use super::tables::{nodes, operations, sessions, texts, users};
use super::traces::{self, MissingNode, Trace, TraceOutline};
use super::worlds::{self, WorldAccess};

diesel::alias! {
    const PARENTS: Alias<Parents> = nodes as parents;
    const REMEMBERED: Alias<Remembered> = nodes as remembered;
    const ROOTS: Alias<Roots> = nodes as roots;
    const HEADS: Alias<Heads> = nodes as heads;
}

/// Query for nodes with their texts, the ids of their parents and of their remembered children.
macro_rules! full_nodes {
    () => {
        nodes::table
            .inner_join(texts::table.on(texts::n.eq(nodes::n)))
            .left_join(PARENTS.on(PARENTS.field(nodes::n).nullable().eq(nodes::parent_n)))
            .left_join(REMEMBERED.on(REMEMBERED.field(nodes::n).nullable().eq(nodes::remembered_n)))
            .select((
                NodeViewRow::as_select(),
                PARENTS.field(nodes::id).nullable(),
                REMEMBERED.field(nodes::id).nullable(),
            ))
    };
}

/// A reader on one snapshot.
pub struct StoreReader<'a> {
    pub(super) conn: &'a mut Conn,
    pub(super) caches: &'a Arc<Caches>,
    stop: StopCheck,
}

impl<'a> StoreReader<'a> {
    pub(super) fn new(conn: &'a mut Conn, caches: &'a Arc<Caches>) -> Self {
        Self { conn, caches, stop: StopCheck::NEVER }
    }

    pub(super) fn snapshot<T, E: From<StoreError>>(
        &mut self,
        closure: impl FnOnce(&mut StoreReader<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let stop = self.stop.clone();
        self.snapshot_until(&stop, closure)
    }

    /// As [`StoreReader::snapshot`]; `stop` is set when nobody waits for the result any more.
    pub(super) fn snapshot_until<T, E: From<StoreError>>(
        &mut self,
        stop: &StopCheck,
        closure: impl FnOnce(&mut StoreReader<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        conn::begin_read(self.conn)?;
        let result = closure(&mut StoreReader { conn: self.conn, caches: self.caches, stop: stop.clone() });
        conn::end_read(self.conn);
        result
    }

    /// Checks whether somebody still waits for the result of this read. Long reads call it between their steps.
    ///
    /// # Errors
    /// Returns [`StoreError::Abandoned`] if nobody does: the request was cancelled, or its time is over.
    pub fn check_wanted(&self) -> Result<(), StoreError> {
        if self.stop.is_stopped() { Err(StoreError::Abandoned) } else { Ok(()) }
    }

    /// Returns the sign that is set when nobody waits for the result of this read any more. Work within one step, such
    /// as a search in a long text, looks at it.
    pub fn stop_check(&self) -> StopCheck {
        self.stop.clone()
    }

    /// Returns a session that the caller may see.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn session(&mut self, caller: UserId, id: SessionId) -> Result<Option<StoredSession>, StoreError> {
        Ok(find_session(self.conn, id)?.filter(|stored| stored.session.owner == caller))
    }

    /// Returns a session of any owner. For the server's own work, never for a caller.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn any_session(&mut self, id: SessionId) -> Result<Option<StoredSession>, StoreError> {
        find_session(self.conn, id)
    }

    /// Returns the caller's sessions, the most recently changed first, after skipping `skip` of them.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn sessions(&mut self, caller: UserId, skip: i64, limit: i64) -> Result<Vec<StoredSession>, StoreError> {
        let ids: Vec<Vec<u8>> = sessions::table
            .inner_join(users::table.on(users::n.eq(sessions::owner_n)))
            .filter(users::id.eq(caller.as_bytes().to_vec()))
            .filter(sessions::trashed.is_null())
            .order((sessions::updated.desc(), sessions::n.desc()))
            .offset(skip)
            .limit(limit)
            .select(sessions::id)
            .load(self.conn)?;
        let found = ids.iter().filter_map(|id| SessionId::from_slice(id)).map(|id| find_session(self.conn, id));
        found.filter_map(Result::transpose).collect()
    }

    /// Returns the number of turns up to the HEAD of each session.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn turn_counts(&mut self, stored: &[StoredSession]) -> Result<Vec<i32>, StoreError> {
        let heads: Vec<i64> = stored.iter().map(|stored| stored.head_n).collect();
        let some = nodes::table.filter(nodes::n.eq_any(pad_to_power_of_two(&heads))).select((nodes::n, nodes::turn));
        let turns: HashMap<i64, i32> = prepared(some).load::<(i64, i32)>(self.conn)?.into_iter().collect();
        Ok(heads.iter().map(|n| turns.get(n).copied().unwrap_or(0)).collect())
    }

    /// Returns a node of a session that is in the tree.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn node(&mut self, stored: &StoredSession, id: NodeId) -> Result<Option<StoredNode>, StoreError> {
        let named = nodes::id.eq(id.as_bytes().to_vec());
        let own = nodes::session_n.eq(stored.n).and(nodes::is_hidden.eq(false));
        let found: Option<NodeColumns> = full_nodes!().filter(named).filter(own).get_result(self.conn).optional()?;
        found.map(|found| stored_node(stored.session.id, found)).transpose()
    }

    /// Returns a node of a session that is in the tree or in the stash.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn node_or_stashed(&mut self, stored: &StoredSession, id: NodeId) -> Result<Option<StoredNode>, StoreError> {
        let row = any_node_row(self.conn, stored.n, id)?.filter(|row| !row.is_hidden || row.fragment_n.is_some());
        let Some(row) = row else { return Ok(None) };
        Ok(load_nodes(self.conn, stored.session.id, &[row.n])?.pop())
    }

    /// Returns nodes of a session by id, in the given order; unknown ones are left out.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn nodes(&mut self, stored: &StoredSession, ids: &[NodeId]) -> Result<Vec<StoredNode>, StoreError> {
        let found = ids.iter().map(|id| self.node(stored, *id));
        found.filter_map(Result::transpose).collect()
    }

    /// Returns nodes by row number, from any session; used to rebuild traces.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn nodes_by_row(&mut self, stored: &StoredSession, rows: &[i64]) -> Result<Vec<StoredNode>, StoreError> {
        load_nodes(self.conn, stored.session.id, rows)
    }

    /// Returns the children of a node that are in the tree, in creation order.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn children(&mut self, stored: &StoredSession, parent: NodeId) -> Result<Vec<StoredNode>, StoreError> {
        let Some(parent) = node_row(self.conn, stored.n, parent)? else { return Ok(Vec::new()) };
        let rows: Vec<i64> = nodes::table
            .filter(nodes::parent_n.eq(parent.n))
            .filter(nodes::is_hidden.eq(false))
            .order(nodes::n)
            .select(nodes::n)
            .load(self.conn)?;
        load_nodes(self.conn, stored.session.id, &rows)
    }

    /// Returns the siblings of a node: children of its parent with its role, without change nodes
    /// (`domain.md` 1).
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn siblings(&mut self, placed: &StoredNode) -> Result<SiblingPosition, StoreError> {
        let alone = SiblingPosition { index: 0, ids: vec![placed.node.id] };
        let parent: Option<i64> = nodes::table.find(placed.n).select(nodes::parent_n).get_result(self.conn)?;
        let Some(parent) = parent else { return Ok(alone) };
        let ids: Vec<Vec<u8>> = nodes::table
            .filter(nodes::parent_n.eq(parent))
            .filter(nodes::role.eq(placed.node.role.code()))
            .filter(nodes::kind.ne(clotho_core::tree::Kind::Change.code()))
            .filter(nodes::is_hidden.eq(false))
            .order(nodes::n)
            .select(nodes::id)
            .load(self.conn)?;
        let ids: Vec<NodeId> = ids.iter().filter_map(|id| NodeId::from_slice(id)).collect();
        match ids.iter().position(|id| *id == placed.node.id) {
            Some(index) => Ok(SiblingPosition { index, ids }),
            None => Ok(alone),
        }
    }

    /// Returns the nearest context node at or above a node.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn context_of(&mut self, stored: &StoredSession, id: NodeId) -> Result<Option<StoredNode>, StoreError> {
        let Some(row) = node_row(self.conn, stored.n, id)? else { return Ok(None) };
        match ancestors::nearest_context(self.conn, row.n)? {
            Some(n) => Ok(load_nodes(self.conn, stored.session.id, &[n])?.pop()),
            None => Ok(None),
        }
    }

    /// Returns the generations of a context node in creation order: its assistant children, also those below
    /// change nodes (`domain.md` 1).
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn generations(&mut self, stored: &StoredSession, context: NodeId) -> Result<Vec<StoredNode>, StoreError> {
        let Some(context) = node_row(self.conn, stored.n, context)? else { return Ok(Vec::new()) };
        let (mut replies, mut above) = (Vec::new(), vec![context.n]);
        // The depth grows in every round, so the search ends even in a damaged tree.
        let mut depth = context.depth;
        while !above.is_empty() {
            let below: Vec<(i64, i32, i16, i16)> = nodes::table
                .filter(nodes::parent_n.eq_any(&above))
                .filter(nodes::is_hidden.eq(false))
                .filter(nodes::depth.gt(depth))
                .order((nodes::parent_n, nodes::n))
                .select((nodes::n, nodes::depth, nodes::role, nodes::kind))
                .load(self.conn)?;
            let is_change = |kind: i16| kind == clotho_core::tree::Kind::Change.code();
            above = below.iter().filter(|(.., kind)| is_change(*kind)).map(|(n, ..)| *n).collect();
            depth = below.iter().map(|(_, depth, ..)| *depth).min().unwrap_or(depth);
            let is_reply = |role: i16, kind: i16| role == Role::Assistant.code() && !is_change(kind);
            replies.extend(below.iter().filter(|(.., role, kind)| is_reply(*role, *kind)).map(|(n, ..)| *n));
        }
        let mut placed = load_nodes(self.conn, stored.session.id, &replies)?;
        placed.sort_by_key(|one| (one.node.created, one.n));
        Ok(placed)
    }

    /// Returns the remembered generation of a context node: the one last visited, also below change nodes.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn remembered_generation(
        &mut self,
        stored: &StoredSession,
        context: &StoredNode,
        generations: &[StoredNode],
    ) -> Result<Option<NodeId>, StoreError> {
        let mut next = context.node.remembered;
        while let Some(id) = next {
            if generations.iter().any(|one| one.node.id == id) {
                return Ok(Some(id));
            }
            let change = self.node(stored, id)?.filter(|placed| placed.node.kind == clotho_core::tree::Kind::Change);
            next = change.and_then(|change| change.node.remembered);
        }
        Ok(None)
    }

    /// Returns the world after a node.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn world(&mut self, stored: &StoredSession, placed: &StoredNode) -> Result<Arc<World>, StoreError> {
        self.world_of(stored, placed.n)
    }

    /// Returns the world before a node, which is that of its parent (`domain.md` 3.5).
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn world_before(&mut self, stored: &StoredSession, placed: &StoredNode) -> Result<Arc<World>, StoreError> {
        let parent: Option<i64> = nodes::table.find(placed.n).select(nodes::parent_n).get_result(self.conn)?;
        match parent {
            Some(parent) => self.world_of(stored, parent),
            None => Ok(Arc::default()),
        }
    }

    /// Computes a world under the arrangement of this snapshot, because `stored` may come from an earlier one.
    pub(super) fn world_of(&mut self, stored: &StoredSession, node_n: i64) -> Result<Arc<World>, StoreError> {
        let edits = worlds::edits_now(self.conn, stored.n)?;
        worlds::world_at(self.conn, self.caches, &mut WorldAccess::Snapshot, node_n, edits)
    }

    /// Returns the active rules at a node.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn rules(&mut self, placed: &StoredNode) -> Result<Arc<ActiveRules>, StoreError> {
        let rules_n: Option<i64> = nodes::table.find(placed.n).select(nodes::rules_n).get_result(self.conn)?;
        match rules_n {
            Some(n) => self.caches.rules(n, || super::rules::read(self.conn, n)),
            None => Ok(Arc::default()),
        }
    }

    /// Returns the current revision of a node's delta.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn delta(&mut self, placed: &StoredNode) -> Result<Delta, StoreError> {
        let revision: i32 = nodes::table.find(placed.n).select(nodes::revision).get_result(self.conn)?;
        worlds::delta(self.conn, placed.n, revision)
    }

    /// Returns the trace of a node.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn trace(&mut self, placed: &StoredNode) -> Result<Option<Trace>, StoreError> {
        traces::get(self.conn, placed.n)
    }

    /// Returns the head and the history of a node's trace, without its texts.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn trace_outline(&mut self, placed: &StoredNode) -> Result<Option<TraceOutline>, StoreError> {
        traces::outline(self.conn, placed.n)
    }

    /// Returns what became of a node that a trace names and that is not in the tree.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn missing_node(&mut self, n: i64) -> Result<MissingNode, StoreError> {
        traces::missing_node(self.conn, n)
    }

    /// Returns the operations of a session after number `since`, at most `limit`.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn operations(&mut self, stored: &StoredSession, since: i64, limit: i64) -> Result<Vec<Operation>, StoreError> {
        // Operations are numbered without gaps, so no `LIMIT` is needed.
        let rows: Vec<OperationRow> = operations::table
            .filter(operations::session_n.eq(stored.n))
            .filter(operations::op.gt(since))
            .filter(operations::op.le(since.saturating_add(limit)))
            .order(operations::op)
            .select(OperationRow::as_select())
            .load(self.conn)?;
        rows.into_iter().map(OperationRow::into_operation).collect()
    }

    /// Returns operations of all sessions after a global cursor, with their cursors. The search index is updated
    /// from them.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn log_after(&mut self, cursor: i64, limit: i64) -> Result<Vec<(i64, SessionId, Operation)>, StoreError> {
        let query = diesel::sql_query(
            "SELECT o.n, o.session_n, o.op, o.step, o.act, o.actor, o.at, o.effects, s.id AS session FROM operations o \
             JOIN sessions s ON s.n = o.session_n WHERE o.n > $1 ORDER BY o.n LIMIT 0 + $2",
        );
        let query = query.bind::<BigInt, _>(cursor).bind::<BigInt, _>(limit);
        let rows: Vec<LogEntryRow> = prepared(query).load(self.conn)?;
        let read = |LogEntryRow { entry, session }: LogEntryRow| {
            let n = entry.n;
            let bad = StoreError::Inconsistent { table: "sessions", column: "id", row: n };
            Ok((n, SessionId::from_slice(&session).ok_or(bad)?, entry.into_operation()?))
        };
        rows.into_iter().map(read).collect()
    }

    /// Returns the newest global cursor.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn newest_cursor(&mut self) -> Result<i64, StoreError> {
        Ok(row_numbers::highest(self.conn, PermanentTable::Operations)?.unwrap_or(0).max(0))
    }

    /// Returns whether a node is on the path from the root to `leaf`.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn is_on_path(&mut self, stored: &StoredSession, node: NodeId, leaf: NodeId) -> Result<bool, StoreError> {
        let (Some(node), Some(leaf)) = (node_row(self.conn, stored.n, node)?, node_row(self.conn, stored.n, leaf)?)
        else {
            return Ok(false);
        };
        Ok(ancestors::ancestor_at(self.conn, leaf.n, node.depth)? == Some(node.n))
    }
}

/// Returns a session with its row numbers, unless it is in the trash.
pub(super) fn find_session(conn: &mut Conn, id: SessionId) -> Result<Option<StoredSession>, StoreError> {
    Ok(find_any_session(conn, id)?.filter(|stored| !stored.is_trashed))
}

/// A log entry with the id of its session.
#[derive(QueryableByName)]
struct LogEntryRow {
    #[diesel(embed)]
    entry: OperationRow,
    #[diesel(sql_type = Binary)]
    session: Vec<u8>,
}

/// A session's row with the ids of its owner, root and HEAD.
type SessionColumns = (SessionRow, Vec<u8>, Vec<u8>, Vec<u8>);
/// A node's rows with the ids of its parent and of its remembered child.
type NodeColumns = (NodeViewRow, Option<IdBytes>, Option<IdBytes>);

/// Returns a session with its row numbers, in the trash or not.
pub(super) fn find_any_session(conn: &mut Conn, id: SessionId) -> Result<Option<StoredSession>, StoreError> {
    let found: Option<SessionColumns> = sessions::table
        .inner_join(users::table.on(users::n.eq(sessions::owner_n)))
        .inner_join(ROOTS.on(ROOTS.field(nodes::n).eq(sessions::root_n)))
        .inner_join(HEADS.on(HEADS.field(nodes::n).eq(sessions::head_n)))
        .filter(sessions::id.eq(id.as_bytes().to_vec()))
        .select((SessionRow::as_select(), users::id, ROOTS.field(nodes::id), HEADS.field(nodes::id)))
        .get_result(conn)
        .optional()?;
    let Some((row, owner, root, head)) = found else { return Ok(None) };
    let (n, head_n, is_trashed) = (row.n, row.head_n, row.trashed.is_some());
    let counts = NodeCounts { nodes: row.node_count, leaves: row.leaf_count };
    let bad = |column| move || StoreError::Inconsistent { table: "sessions", column, row: n };
    let owner = UserId::from_slice(&owner).ok_or_else(bad("owner_n"))?;
    let root = NodeId::from_slice(&root).ok_or_else(bad("root_n"))?;
    let head = NodeId::from_slice(&head).ok_or_else(bad("head_n"))?;
    let tags = session_tags::of_session(conn, n)?;
    Ok(Some(StoredSession { session: row.into_session(owner, root, head, tags)?, counts, n, head_n, is_trashed }))
}

/// Returns the row of a node that is in the tree.
pub(super) fn node_row(conn: &mut Conn, session_n: i64, id: NodeId) -> Result<Option<NodeRow>, StoreError> {
    Ok(any_node_row(conn, session_n, id)?.filter(|row| !row.is_hidden))
}

/// Returns the row of a node, also of one that is not in the tree.
pub(super) fn any_node_row(conn: &mut Conn, session_n: i64, id: NodeId) -> Result<Option<NodeRow>, StoreError> {
    Ok(nodes::table
        .filter(nodes::id.eq(id.as_bytes().to_vec()))
        .filter(nodes::session_n.eq(session_n))
        .select(NodeRow::as_select())
        .get_result(conn)
        .optional()?)
}

fn stored_node(session: SessionId, (row, parent, remembered): NodeColumns) -> Result<StoredNode, StoreError> {
    let n = row.n;
    Ok(StoredNode { node: row.into_node(session, parent, remembered)?, n })
}

/// Returns full nodes in the order of `rows`; a repeated row gives a repeated node.
pub(super) fn load_nodes(conn: &mut Conn, session: SessionId, rows: &[i64]) -> Result<Vec<StoredNode>, StoreError> {
    if let [n] = rows {
        let one = full_nodes!().filter(nodes::n.eq(*n)).get_result(conn).optional()?;
        return one.map(|one| stored_node(session, one)).into_iter().collect();
    }
    let mut found: HashMap<i64, StoredNode> = HashMap::with_capacity(rows.len());
    for chunk in rows.chunks(512) {
        let some = prepared(full_nodes!().filter(nodes::n.eq_any(pad_to_power_of_two(chunk)))).load(conn)?;
        for one in some {
            let one = stored_node(session, one)?;
            found.insert(one.n, one);
        }
    }
    Ok(rows.iter().filter_map(|n| found.get(n).cloned()).collect())
}

/// Pads rows to the next power of two by repeating the last one. So there are few different statements, and each
/// is prepared once.
pub(super) fn pad_to_power_of_two(rows: &[i64]) -> Vec<i64> {
    let mut padded = rows.to_vec();
    if let Some(last) = rows.last() {
        padded.resize(rows.len().next_power_of_two(), *last);
    }
    padded
}
