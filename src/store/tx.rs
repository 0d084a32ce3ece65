//! A write in progress: what one request may do inside its savepoint. Acts on the tree live in `acts.rs`, people in
//! `people.rs`; this file writes rows and the log.

use std::sync::Arc;

use diesel::prelude::*;

use crate::clock::Time;
use crate::ids::{CharacterId, NodeId, PersonaId, SessionId, UserId};
use crate::oplog::{Act, Effect, Operation};
use crate::tree::edit::{Edge, Refusal};
use crate::tree::{Delta, Kind, Role, Status};
use crate::world::{World, fold};

use super::caches::Caches;
use super::conn::Conn;
use super::error::{StoreError, WriteError};
use super::read::{Held, held, node_row};
use super::rows::{NodeRow, OperationRow, TextRow};
use super::rules::{self, RulesInForce};
use super::tables::{deltas, edits, nodes, operations, sessions, texts};
use super::worlds;

/// An operation that is durable, told to whoever follows the log.
#[derive(Debug, Clone)]
pub struct Published {
    /// The global cursor.
    pub cursor: i64,
    /// The session.
    pub session: SessionId,
    /// What happened.
    pub operation: Arc<Operation>,
}

/// What every write needs and none may change.
pub struct TxContext {
    /// The store's caches; a write only reads them, since what it does may be taken back.
    pub caches: Arc<Caches>,
    /// A keyframe is cut after so many nodes along a path.
    pub keyframe_every: i32,
}

/// A node to be written.
#[derive(Debug, Clone)]
pub struct Draft {
    /// Its id.
    pub id: NodeId,
    /// Who it speaks as.
    pub role: Role,
    /// What it is for.
    pub kind: Kind,
    /// Complete, or a placeholder.
    pub status: Status,
    /// Who wrote it or asked for it.
    pub author: Option<UserId>,
    /// The author's persona.
    pub persona: Option<PersonaId>,
    /// The character that speaks.
    pub character: Option<CharacterId>,
    /// The speaker's name.
    pub name: Option<String>,
    /// The text.
    pub content: String,
    /// The thinking.
    pub reasoning: Option<String>,
    /// Everything else known about it.
    pub metadata: serde_json::Map<String, serde_json::Value>,
    /// The seed of its dice.
    pub dice_seed: u64,
    /// What it does to the world.
    pub delta: Delta,
    /// Rules that begin at this node; `None` = those of the parent go on.
    pub rules: Option<Arc<RulesInForce>>,
    /// When.
    pub created: Time,
}

impl Draft {
    /// An empty complete node of a kind.
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
            metadata: serde_json::Map::new(),
            dice_seed,
            delta: Delta::default(),
            rules: None,
            created,
        }
    }
}

/// An operation in the making.
pub(super) struct Entry {
    pub act: Act,
    pub actor: Option<UserId>,
    pub at: Time,
    pub step: Option<i64>,
    pub effects: Vec<Effect>,
}

/// One request's write.
pub struct Tx<'a> {
    pub(super) conn: &'a mut Conn,
    pub(super) context: &'a TxContext,
    published: Vec<Published>,
    failed: Option<StoreError>,
}

impl<'a> Tx<'a> {
    pub(super) fn new(conn: &'a mut Conn, context: &'a TxContext) -> Self {
        Self { conn, context, published: Vec::new(), failed: None }
    }

    /// Ends the request; a database failure that its closure swallowed still fails the group.
    pub(super) fn finish(self) -> Result<Vec<Published>, StoreError> {
        match self.failed {
            None => Ok(self.published),
            Some(error) => Err(error),
        }
    }

    /// Runs a piece of database work and remembers if it failed.
    pub(super) fn run<T>(&mut self, work: impl FnOnce(&mut Conn) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let result = work(self.conn);
        if let Err(error) = &result {
            self.failed = Some(error.clone());
        }
        result
    }

    /// A session that the caller may change.
    ///
    /// # Errors
    /// It does not exist or is somebody else's.
    pub fn session(&mut self, caller: UserId, id: SessionId) -> Result<Held, WriteError> {
        let found = self.run(|conn| held(conn, id))?.filter(|held| held.session.owner == caller);
        found.ok_or(WriteError::Refused(Refusal::NotFound("the session")))
    }

    pub(super) fn row(&mut self, held: &Held, id: NodeId) -> Result<NodeRow, WriteError> {
        let session_n = held.n;
        let found = self.run(|conn| node_row(conn, session_n, id))?;
        found.ok_or(WriteError::Refused(Refusal::NotFound("the message")))
    }

    pub(super) fn row_n(&mut self, n: i64) -> Result<NodeRow, StoreError> {
        self.run(|conn| {
            let found = nodes::table.find(n).select(NodeRow::as_select()).first(conn).optional()?;
            found.ok_or(StoreError::Inconsistent { table: "nodes", column: "parent_n", row: n })
        })
    }

    /// Writes a node under a parent: its rows, and a keyframe of the world if one is due.
    pub(super) fn insert(
        &mut self,
        session_n: i64,
        edits: i64,
        parent: Option<&NodeRow>,
        draft: &Draft,
    ) -> Result<NodeRow, StoreError> {
        let rules_n = match &draft.rules {
            Some(rules) => Some(self.run(|conn| rules::write(conn, rules))?),
            None => parent.and_then(|parent| parent.rules_n),
        };
        let row = self.node_row(session_n, parent, draft, rules_n)?;
        let text = TextRow {
            n: row.n,
            name: draft.name.clone(),
            content: draft.content.clone(),
            reasoning: draft.reasoning.clone(),
            metadata: serde_json::Value::Object(draft.metadata.clone()).to_string(),
        };
        self.run(|conn| {
            diesel::insert_into(nodes::table).values(&row).execute(conn)?;
            diesel::insert_into(texts::table).values(&text).execute(conn)?;
            Ok(())
        })?;
        self.write_delta(row.n, row.revision, &draft.delta)?;
        if draft.status == Status::Complete {
            self.keyframe_if_due(edits, &row, &draft.delta)?;
        }
        Ok(row)
    }

    fn node_row(
        &mut self,
        session_n: i64,
        parent: Option<&NodeRow>,
        draft: &Draft,
        rules_n: Option<i64>,
    ) -> Result<NodeRow, StoreError> {
        let (n, ordinal) = self.run(|conn| {
            let n = nodes::table.select(diesel::dsl::max(nodes::n)).first::<Option<i64>>(conn)?.unwrap_or(0) + 1;
            let siblings = nodes::table.filter(nodes::parent_n.eq(parent.map_or(0, |parent| parent.n)));
            let last: Option<i32> = siblings.select(diesel::dsl::max(nodes::ordinal)).first(conn)?;
            Ok((n, last.unwrap_or(0) + 1))
        })?;
        let speaks = draft.role != Role::Assistant && !matches!(draft.kind, Kind::Change | Kind::Root);
        Ok(NodeRow {
            n,
            id: draft.id.as_bytes().to_vec(),
            session_n,
            parent_n: parent.map(|parent| parent.n),
            ordinal,
            role: draft.role.code(),
            kind: draft.kind.code(),
            status: draft.status.code(),
            is_enabled: true,
            is_muted: false,
            is_hidden: false,
            author: draft.author.map(|id| id.as_bytes().to_vec()),
            persona: draft.persona.map(|id| id.as_bytes().to_vec()),
            speaker: draft.character.map(|id| id.as_bytes().to_vec()),
            remembered_n: None,
            depth: parent.map_or(0, |parent| parent.depth + 1),
            turn: parent.map_or(0, |parent| parent.turn) + i32::from(speaks),
            // The root counts as overdue: it is always a keyframe.
            since_keyframe: parent.map_or(self.context.keyframe_every, |parent| parent.since_keyframe + 1),
            rules_n,
            dice_seed: draft.dice_seed.cast_signed(),
            revision: i32::from(!draft.delta.is_empty()),
            created: draft.created.0,
        })
    }

    pub(super) fn write_delta(&mut self, node_n: i64, revision: i32, delta: &Delta) -> Result<(), StoreError> {
        if revision == 0 {
            return Ok(());
        }
        let body = delta.to_json().to_string();
        self.run(|conn| {
            let n = deltas::table.select(diesel::dsl::max(deltas::n)).first::<Option<i64>>(conn)?.unwrap_or(0) + 1;
            let row =
                (deltas::n.eq(n), deltas::node_n.eq(node_n), deltas::revision.eq(revision), deltas::body.eq(body));
            diesel::insert_into(deltas::table).values(row).execute(conn)?;
            Ok(())
        })
    }

    /// Cuts a keyframe where the distance along the path says so.
    pub(super) fn keyframe_if_due(&mut self, edits: i64, row: &NodeRow, delta: &Delta) -> Result<(), StoreError> {
        if row.since_keyframe < self.context.keyframe_every {
            return Ok(());
        }
        let caches = Arc::clone(&self.context.caches);
        let (parent_n, rules_n, n) = (row.parent_n, row.rules_n, row.n);
        self.run(|conn| {
            let mut world = match parent_n {
                Some(parent) => worlds::at(conn, &caches, parent, edits)?,
                None => Arc::new(World::default()),
            };
            let rules = worlds::in_force(conn, &caches, rules_n)?;
            fold(Arc::make_mut(&mut world), &delta.operations, &rules);
            worlds::cut(conn, n, edits, &world)
        })
    }

    /// The edges from the last common ancestor of HEAD and `to` down to `to`.
    pub(super) fn way(&mut self, held: &Held, to: &NodeRow) -> Result<Vec<Edge>, StoreError> {
        let mut old = self.row_n(held.head_n)?;
        let mut new = to.clone();
        let mut edges = Vec::new();
        while old.n != new.n {
            if new.depth >= old.depth {
                let Some(parent_n) = new.parent_n else { break };
                let parent = self.row_n(parent_n)?;
                edges.push((parent.clone(), new));
                new = parent;
            } else {
                let Some(parent_n) = old.parent_n else { break };
                old = self.row_n(parent_n)?;
            }
        }
        edges.reverse();
        edges.iter().map(|(parent, child)| self.edge(parent, child)).collect()
    }

    fn edge(&mut self, parent: &NodeRow, child: &NodeRow) -> Result<Edge, StoreError> {
        let remembered = match parent.remembered_n {
            Some(n) => Some(row_id(&self.row_n(n)?)?),
            None => None,
        };
        Ok(Edge { parent: row_id(parent)?, remembered, child: row_id(child)? })
    }

    /// Carries an operation's effects out on the overlay and appends it to the log.
    pub(super) fn log(&mut self, held: &mut Held, entry: Entry) -> Result<i64, StoreError> {
        let op = held.session.op + 1;
        for effect in &entry.effects {
            self.carry_out(held, op, effect)?;
        }
        let operation = Operation {
            op,
            kind: entry.act,
            actor: entry.actor,
            at: entry.at,
            step: entry.step.unwrap_or(op),
            effects: entry.effects,
        };
        let (session_n, session) = (held.n, &held.session);
        let (head_n, head_op, edits_now) = (held.head_n, session.head_op, session.edits);
        let cursor = self.run(|conn| {
            let last: Option<i64> = operations::table.select(diesel::dsl::max(operations::n)).first(conn)?;
            let n = last.unwrap_or(0) + 1;
            let row = OperationRow::new(n, session_n, &operation);
            diesel::insert_into(operations::table).values(&row).execute(conn)?;
            let changed = diesel::update(sessions::table.find(session_n))
                .filter(sessions::op.eq(op - 1))
                .set((
                    sessions::op.eq(op),
                    sessions::head_n.eq(head_n),
                    sessions::head_op.eq(head_op),
                    sessions::edits.eq(edits_now),
                    sessions::updated.eq(operation.at.0),
                ))
                .execute(conn)?;
            if changed == 1 { Ok(n) } else { Err(StoreError::Database("the session's log forked".into())) }
        })?;
        held.session.op = op;
        held.session.updated = operation.at;
        self.published.push(Published { cursor, session: held.session.id, operation: Arc::new(operation) });
        Ok(op)
    }

    /// Notes that worlds below a node may differ from now on.
    pub(super) fn outdate(&mut self, held: &mut Held, node_n: i64) -> Result<(), StoreError> {
        held.session.edits += 1;
        let (session_n, edit) = (held.n, held.session.edits);
        self.run(|conn| {
            let n = edits::table.select(diesel::dsl::max(edits::n)).first::<Option<i64>>(conn)?.unwrap_or(0) + 1;
            let row = (edits::n.eq(n), edits::session_n.eq(session_n), edits::edit.eq(edit), edits::node_n.eq(node_n));
            diesel::insert_into(edits::table).values(row).execute(conn)?;
            Ok(())
        })
    }
}

/// The id of a row.
pub(super) fn row_id(row: &NodeRow) -> Result<NodeId, StoreError> {
    NodeId::from_slice(&row.id).ok_or(StoreError::Inconsistent { table: "nodes", column: "id", row: row.n })
}
