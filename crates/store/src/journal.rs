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
        held: &mut StoredSession,
        mut entry: OperationDraft,
    ) -> Result<i64, StoreError> {
        let seen = self.mark_read_effects(held, &entry.effects)?;
        entry.effects.extend(seen);
        self.apply_effects(held, &entry.effects)?;
        self.append_operation(held, entry)
    }

    /// Applies effects to the overlay for an operation that is not complete yet.
    pub(super) fn apply_effects(&mut self, held: &mut StoredSession, effects: &[Effect]) -> Result<(), StoreError> {
        let op = held.session.op + 1;
        for effect in effects {
            self.apply_effect(held, op, effect)?;
        }
        self.record_edited_nodes(held)
    }

    /// Appends an operation whose effects have been applied.
    pub(super) fn append_operation(
        &mut self,
        held: &mut StoredSession,
        entry: OperationDraft,
    ) -> Result<i64, StoreError> {
        let op = held.session.op + 1;
        let grown = std::mem::take(&mut self.count_changes);
        held.counts = NodeCounts { nodes: held.counts.nodes + grown.nodes, leaves: held.counts.leaves + grown.leaves };
        let operation = Operation {
            op,
            kind: entry.kind,
            actor: entry.actor,
            at: entry.at,
            step: entry.step.unwrap_or(op),
            effects: entry.effects,
        };
        // Write the log entry.
        let (session_n, session) = (held.n, &held.session);
        let (head_n, head_op, edits_now) = (held.head_n, session.head_op, session.edits);
        let counts = held.counts;
        let n = self.run_with_cache(|conn, memory| {
            memory.next(NumberedTable::Operations, || row_numbers::highest(conn, PermanentTable::Operations))
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
        held.session.op = op;
        held.session.updated = operation.at;
        self.writer_cache.update_session(held, &operation.effects);
        self.published.push(PublishedOperation { cursor: n, session: held.session.id, operation: Arc::new(operation) });
        Ok(op)
    }

    /// Records at which nodes the operation edited the arrangement: worlds at and below these nodes may have
    /// changed.
    fn record_edited_nodes(&mut self, held: &mut StoredSession) -> Result<(), StoreError> {
        let edited = std::mem::take(&mut self.edited_nodes);
        if edited.is_empty() {
            return Ok(());
        }
        held.session.edits += 1;
        let (session_n, edit) = (held.n, held.session.edits);
        self.run_with_cache(|conn, memory| {
            for node_n in edited {
                let n = memory
                    .next(NumberedTable::Edits, || edits::table.select(diesel::dsl::max(edits::n)).get_result(conn))?;
                let row =
                    (edits::n.eq(n), edits::session_n.eq(session_n), edits::edit.eq(edit), edits::node_n.eq(node_n));
                diesel::insert_into(edits::table).values(row).execute(conn)?;
            }
            Ok(())
        })
    }
}
