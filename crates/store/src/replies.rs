//! Replies: segments received so far, completion, and replies orphaned by a crash.

use diesel::dsl::sql;
use diesel::expression::SqlLiteral;
use diesel::prelude::*;
use diesel::sql_types::Bool;

use clotho_core::clock::Time;
use clotho_core::ids::{NodeId, SessionId};
use clotho_core::oplog::{Effect, OperationKind};
use clotho_core::tree::edit::{self, HeadRequest, TreeError};
use clotho_core::tree::{Delta, NodeMetadata, Status};

use super::conn::Conn;
use super::error::{StoreError, WriteError};
use super::prepared::{prepared, update};
use super::rows::{NodeRow, metadata_from_text, metadata_to_text};
use super::stored::StoredSession;
use super::tables::{nodes, segments, sessions, texts};
use super::traces::{self, Trace};
use super::tx::{OperationDraft, Tx};
use super::writer_cache::{NumberedTable, WriterCache};

/// The result of a reply.
#[derive(Debug, Clone)]
pub struct ReplyCompletion {
    /// Complete or error.
    pub status: Status,
    /// The text exactly as received, except that U+0000 is replaced because it cannot be stored.
    pub content: String,
    pub reasoning: Option<String>,
    /// The speaker's name.
    pub name: Option<String>,
    /// Other known data.
    pub metadata: Box<NodeMetadata>,
    /// Its delta; empty unless the reply is complete and was not cancelled.
    pub delta: Delta,
    pub trace: Option<Trace>,
    /// What was recorded when it was requested, to decide whether it takes HEAD; `None` means never.
    pub asked: Option<HeadRequest>,
}

/// A reply that was still being generated when the server stopped.
#[derive(Debug, Clone)]
pub struct OrphanReply {
    pub session: SessionId,
    pub node: NodeId,
    /// The text received so far.
    pub content: String,
    /// The reasoning received so far.
    pub reasoning: String,
    /// The metadata known so far.
    pub metadata: Box<NodeMetadata>,
}

/// The columns of an orphaned reply.
#[derive(Queryable)]
struct OrphanReplyRow {
    n: i64,
    id: Vec<u8>,
    session: Vec<u8>,
    metadata: String,
}

/// Returns the condition that selects generating nodes. The value is a literal, because only then SQLite uses
/// the partial index of generating nodes. A query for one session must compare `session_n + 0`, or SQLite scans
/// the whole session.
pub fn is_generating() -> SqlLiteral<Bool> {
    sql("nodes.status = 0")
}

impl Tx<'_> {
    /// Ends a reply in one operation: text, delta, trace, keyframe if due, status, and HEAD if the rules say so.
    /// `step` is the operation that requested it. This also works if the session is in the trash or the node was
    /// pruned meanwhile, so that no node stays `generating`.
    ///
    /// # Errors
    /// Returns an error if the node is no longer generating (another writer ended it), or if the session is
    /// gone.
    pub fn complete_reply(
        &mut self,
        session: SessionId,
        node: NodeId,
        step: i64,
        at: Time,
        ending: &ReplyCompletion,
    ) -> Result<i64, WriteError> {
        self.all_or_nothing(|tx| tx.write_completion(session, node, step, at, ending))
    }

    fn write_completion(
        &mut self,
        session: SessionId,
        node: NodeId,
        step: i64,
        at: Time,
        ending: &ReplyCompletion,
    ) -> Result<i64, WriteError> {
        let mut stored = self.any_session(session)?.ok_or(TreeError::NotFound("the session"))?;
        let row = self.any_row(&stored, node)?.ok_or(TreeError::NotFound("the message"))?;
        if row.status != Status::Generating.code() {
            return Err(TreeError::Conflict("the reply has already ended".into()).into());
        }
        if ending.status == Status::Generating {
            return Err(TreeError::Conflict("a reply must end complete or failed".into()).into());
        }
        // Write the text, the delta and the trace, and delete the segments.
        let row = self.write_completed_row(stored.session.edits, &row, ending)?;
        let saved =
            self.run(|conn| Ok(diesel::delete(segments::table.filter(segments::node_n.eq(row.n))).execute(conn)?))?;
        if let Some(trace) = &ending.trace {
            // If segments were saved, an earlier trace exists. Short replies skip this delete.
            if saved > 0 {
                self.run(|conn| traces::delete(conn, row.n))?;
            }
            self.run(|conn| traces::put(conn, row.n, trace))?;
        }
        // Move following labels and HEAD, and log one operation.
        let mut effects = vec![Effect::Completed { node }];
        if let Some(context_n) = row.parent_n.filter(|_| ending.status == Status::Complete && !row.is_hidden) {
            effects.extend(self.move_following_labels(&stored, context_n, node)?);
        }
        if self.moves_head(&stored, &row, ending)? {
            let way = self.remembered_edges(&stored, &row)?;
            effects.extend(edit::move_head(Some(stored.session.head), node, &way));
        }
        effects.extend(unread_effect(&row, ending, &effects));
        let entry = OperationDraft { kind: OperationKind::Reply, actor: None, at, step: Some(step), effects };
        Ok(self.log_operation(&mut stored, entry)?)
    }

    fn write_completed_row(
        &mut self,
        edits: i64,
        row: &NodeRow,
        ending: &ReplyCompletion,
    ) -> Result<NodeRow, StoreError> {
        let is_due = self.is_keyframe_due(row);
        let row = NodeRow {
            status: ending.status.code(),
            revision: i32::from(!ending.delta.is_empty()),
            since_keyframe: if is_due { 0 } else { row.since_keyframe },
            ..row.clone()
        };
        let places = (
            nodes::status.eq(row.status),
            nodes::revision.eq(row.revision),
            nodes::since_keyframe.eq(row.since_keyframe),
        );
        self.update_row(|conn| update(nodes::table, places, nodes::n.eq(row.n)).execute(conn))?;
        self.writer_cache.keep_node(&row);
        let text = (
            texts::content.eq(replace_nul(&ending.content)),
            texts::reasoning.eq(ending.reasoning.as_deref().map(replace_nul)),
            texts::name.eq(ending.name.as_deref().map(replace_nul)),
            texts::metadata.eq(metadata_to_text(&ending.metadata)),
        );
        self.update_row(|conn| update(texts::table, text, texts::n.eq(row.n)).execute(conn))?;
        self.write_delta(row.n, row.revision, &ending.delta)?;
        self.advance_world(edits, &row, &ending.delta)?;
        Ok(row)
    }

    fn moves_head(
        &mut self,
        stored: &StoredSession,
        row: &NodeRow,
        ending: &ReplyCompletion,
    ) -> Result<bool, StoreError> {
        let Some(asked) = ending.asked.filter(|_| ending.status == Status::Complete && !row.is_hidden) else {
            return Ok(false);
        };
        if !edit::reply_takes_head(&asked, stored.session.head_op) {
            return Ok(false);
        }
        match row.parent_n {
            Some(parent) => {
                let context = self.row_by_number(parent)?;
                self.is_at_context(stored, &context)
            }
            None => Ok(false),
        }
    }

    /// Saves segments of running replies; replies that have ended are skipped.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn save_segments(&mut self, arrived: &[(NodeId, String, String)]) -> Result<(), WriteError> {
        for (node, content, reasoning) in arrived {
            self.run_with_cache(|conn, memory| match generating_row(conn, *node)? {
                Some(node_n) => append_segment(conn, memory, node_n, content, reasoning),
                None => Ok(()),
            })?;
        }
        Ok(())
    }

    /// Empties the segments of running replies whose text has changed. Save all of their text next.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn clear_segments(&mut self, replies: &[NodeId]) -> Result<(), WriteError> {
        for node in replies {
            self.run(|conn| {
                let Some(node_n) = generating_row(conn, *node)? else { return Ok(()) };
                diesel::delete(segments::table.filter(segments::node_n.eq(node_n))).execute(conn)?;
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Saves the request of a running reply, in case the reply never ends by itself. It also writes an empty
    /// first segment.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn save_request(&mut self, node: NodeId, metadata: &NodeMetadata, trace: &Trace) -> Result<(), WriteError> {
        self.run_with_cache(|conn, memory| {
            let Some(node_n) = generating_row(conn, node)? else { return Ok(()) };
            append_segment(conn, memory, node_n, "", "")?;
            let same_metadata = texts::metadata.eq(metadata_to_text(metadata));
            update(texts::table, same_metadata, texts::n.eq(node_n)).execute(conn)?;
            traces::delete(conn, node_n)?;
            traces::put(conn, node_n, trace)
        })?;
        Ok(())
    }

    /// Returns the replies that are still generating with their text so far. After a crash, these are orphaned.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn generating_replies(&mut self) -> Result<Vec<OrphanReply>, WriteError> {
        let rows: Vec<OrphanReplyRow> = self.run(|conn| {
            let running = nodes::table
                .inner_join(sessions::table.on(sessions::n.eq(nodes::session_n)))
                .inner_join(texts::table.on(texts::n.eq(nodes::n)))
                .filter(is_generating())
                .order(nodes::n)
                .select((nodes::n, nodes::id, sessions::id, texts::metadata));
            Ok(prepared(running).load(conn)?)
        })?;
        rows.into_iter().map(|row| self.orphan_reply(row)).collect()
    }

    fn orphan_reply(&mut self, row: OrphanReplyRow) -> Result<OrphanReply, WriteError> {
        let OrphanReplyRow { n, id, session, metadata } = row;
        let parts: Vec<(String, String)> = self.run(|conn| {
            let of_node = segments::table.filter(segments::node_n.eq(n)).order(segments::n);
            Ok(of_node.select((segments::content, segments::reasoning)).load(conn)?)
        })?;
        let (Some(node), Some(session)) = (NodeId::from_slice(&id), SessionId::from_slice(&session)) else {
            return Err(StoreError::Inconsistent { table: "nodes", column: "id", row: n }.into());
        };
        Ok(OrphanReply {
            session,
            node,
            content: parts.iter().map(|(content, _)| content.as_str()).collect(),
            reasoning: parts.iter().map(|(_, reasoning)| reasoning.as_str()).collect(),
            metadata: metadata_from_text(&metadata).unwrap_or_default(),
        })
    }
}

/// Returns the effect that marks a complete reply without HEAD as unread. A failed reply is reported to its
/// requester and is not marked.
fn unread_effect(row: &NodeRow, ending: &ReplyCompletion, effects: &[Effect]) -> Option<Effect> {
    let Some(Effect::Completed { node }) = effects.first() else { return None };
    let takes_head = effects.iter().any(|effect| matches!(effect, Effect::Head { .. }));
    let is_news = ending.status == Status::Complete && !row.is_hidden && !takes_head;
    is_news.then_some(Effect::Unread { node: *node, to: true })
}

/// Returns the row of a reply that has not ended.
fn generating_row(conn: &mut Conn, node: NodeId) -> Result<Option<i64>, StoreError> {
    let of_id = nodes::table.filter(nodes::id.eq(node.as_bytes().to_vec()));
    let running = of_id.filter(nodes::status.eq(Status::Generating.code()));
    Ok(running.select(nodes::n).get_result::<i64>(conn).optional()?)
}

/// Writes a segment of a reply.
pub(super) fn append_segment(
    conn: &mut Conn,
    memory: &mut WriterCache,
    node_n: i64,
    content: &str,
    reasoning: &str,
) -> Result<(), StoreError> {
    let newest = || segments::table.select(diesel::dsl::max(segments::n)).get_result(conn);
    let row = (
        segments::n.eq(memory.next_number(NumberedTable::Segments, newest)?),
        segments::node_n.eq(node_n),
        segments::content.eq(replace_nul(content)),
        segments::reasoning.eq(replace_nul(reasoning)),
    );
    diesel::insert_into(segments::table).values(row).execute(conn)?;
    Ok(())
}

/// Replaces U+0000, which cannot be stored, with U+FFFD, so that the reply is not lost.
fn replace_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
