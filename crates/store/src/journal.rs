//! Writes the operation log of a session. One transaction applies the effects to the overlay, appends the
//! operation and updates the session row.

use std::sync::Arc;

use diesel::prelude::*;

use clotho_core::oplog::{Effect, Operation};

use super::error::StoreError;
use super::prepared::update;
use super::row_numbers::{self, PermanentTable};
use super::rows::OperationRow;
use super::stored::{NodeCounts, StoredSession};
use super::tables::{edits, sessions};
use super::tx::{OperationDraft, PublishedOperation, Tx};
use super::writer_cache::NumberedTable;

impl Tx<'_> {
    /// Applies the effects of an operation to the overlay and appends it to the log.
    pub(super) fn log_operation(
        &mut self,
        stored: &mut StoredSession,
        mut entry: OperationDraft,
    ) -> Result<i64, StoreError> {
        let seen = self.mark_read_effects(stored, &entry.effects)?;
        entry.effects.extend(seen);
        self.apply_effects(stored, &entry.effects)?;
        self.append_operation(stored, entry)
    }

    /// Applies effects to the overlay for an operation that is not complete yet.
    pub(super) fn apply_effects(&mut self, stored: &mut StoredSession, effects: &[Effect]) -> Result<(), StoreError> {
        let op = stored.session.op + 1;
        for effect in effects {
            self.apply_effect(stored, op, effect)?;
        }
        self.record_edited_nodes(stored)
    }

    /// Appends an operation whose effects have been applied.
    pub(super) fn append_operation(
        &mut self,
        stored: &mut StoredSession,
        entry: OperationDraft,
    ) -> Result<i64, StoreError> {
        let op = stored.session.op + 1;
        let grown = std::mem::take(&mut self.count_changes);
        stored.counts =
            NodeCounts { nodes: stored.counts.nodes + grown.nodes, leaves: stored.counts.leaves + grown.leaves };
        let operation = Operation {
            op,
            kind: entry.kind,
            actor: entry.actor,
            at: entry.at,
            step: entry.step.unwrap_or(op),
            effects: entry.effects,
        };
        // Write the log entry.
        let (session_n, session) = (stored.n, &stored.session);
        let (head_n, head_op, edits_now) = (stored.head_n, session.head_op, session.edits);
        let counts = stored.counts;
        let n = self.run_with_cache(|conn, memory| {
            memory.next_number(NumberedTable::Operations, || row_numbers::highest(conn, PermanentTable::Operations))
        })?;
        self.write_operation(&OperationRow::new(n, session_n, &operation))?;
        self.run(|conn| {
            // Update the session row, if its log still ends where this operation expects it.
            let places = (
                sessions::op.eq(op),
                sessions::head_n.eq(head_n),
                sessions::head_op.eq(head_op),
                sessions::edits.eq(edits_now),
                sessions::updated.eq(operation.at.0),
                sessions::node_count.eq(counts.nodes),
                sessions::leaf_count.eq(counts.leaves),
            );
            let own = sessions::n.eq(session_n).and(sessions::op.eq(op - 1));
            let changed = update(sessions::table, places, own).execute(conn)?;
            if changed == 1 { Ok(()) } else { Err(StoreError::Database("the session's log has a fork".into())) }
        })?;
        // Update the memory and publish the operation.
        stored.session.op = op;
        stored.session.updated = operation.at;
        self.writer_cache.update_session(stored, &operation.effects);
        self.published.push(PublishedOperation {
            cursor: n,
            session: stored.session.id,
            operation: Arc::new(operation),
        });
        Ok(op)
    }

    /// Records at which nodes the operation edited the arrangement: worlds at and below these nodes may have
    /// changed.
    fn record_edited_nodes(&mut self, stored: &mut StoredSession) -> Result<(), StoreError> {
        let edited = std::mem::take(&mut self.edited_nodes);
        if edited.is_empty() {
            return Ok(());
        }
        stored.session.edits += 1;
        let (session_n, edit) = (stored.n, stored.session.edits);
        self.run_with_cache(|conn, memory| {
            for node_n in edited {
                let n = memory.next_number(NumberedTable::Edits, || {
                    edits::table.select(diesel::dsl::max(edits::n)).get_result(conn)
                })?;
                let row =
                    (edits::n.eq(n), edits::session_n.eq(session_n), edits::edit.eq(edit), edits::node_n.eq(node_n));
                diesel::insert_into(edits::table).values(row).execute(conn)?;
            }
            Ok(())
        })
    }
}
