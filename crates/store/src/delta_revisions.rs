//! New revisions of deltas, from a replay that was accepted. Earlier revisions stay as they are. The current
//! revision is part of the arrangement, so the change is logged and can be undone like any other.

use diesel::prelude::*;

use clotho_core::ids::{NodeId, SessionId};
use clotho_core::oplog::{Effect, OperationKind};
use clotho_core::tree::Delta;
use clotho_core::tree::edit::TreeError;

use super::arrange::{ArrangeReport, ArrangeResult};
use super::error::WriteError;
use super::tables::deltas;
use super::tree_writes::Actor;
use super::tx::{OperationDraft, Tx};

/// New deltas for the nodes of a branch whose rules ran again.
#[derive(Debug, Clone)]
pub struct DeltaRevision {
    /// The newest operation of the session when the rules ran. Any later one may have changed their input.
    pub expected_op: i64,
    /// The new deltas.
    pub deltas: Vec<(NodeId, Delta)>,
}

impl Tx<'_> {
    /// Sets new deltas for nodes in one operation.
    ///
    /// # Errors
    /// Returns an error if a node does not exist, HEAD is not where the actor saw it, or the session has
    /// changed.
    pub fn revise_deltas(
        &mut self,
        actor: &Actor,
        session: SessionId,
        revision: &DeltaRevision,
    ) -> Result<ArrangeResult, WriteError> {
        self.all_or_nothing(|tx| tx.write_revisions(actor, session, revision))
    }

    fn write_revisions(
        &mut self,
        actor: &Actor,
        session: SessionId,
        wanted: &DeltaRevision,
    ) -> Result<ArrangeResult, WriteError> {
        let mut stored = self.session(actor.user, session)?;
        super::tree_writes::check_expected_version(&stored, actor.expected_leaf)?;
        if stored.session.op != wanted.expected_op {
            let message = "the session changed during the replay: start the replay again";
            return Err(TreeError::Conflict(message.into()).into());
        }
        let mut effects = Vec::with_capacity(wanted.deltas.len());
        for (node, delta) in &wanted.deltas {
            let row = self.row_in_tree(&stored, *node)?;
            let to = if delta.is_empty() { 0 } else { self.next_revision(row.n)? };
            self.write_delta(row.n, to, delta)?;
            effects.push(Effect::Revised { node: *node, from: row.revision, to });
        }
        if effects.is_empty() {
            return Ok(ArrangeResult { op: stored.session.op, worlds: Vec::new(), report: ArrangeReport::default() });
        }
        let baseline = self.world_baseline(&stored, true)?;
        let entry =
            OperationDraft { kind: OperationKind::Replay, actor: Some(actor.user), at: actor.at, step: None, effects };
        let op = self.log_operation(&mut stored, entry)?;
        Ok(ArrangeResult { op, worlds: self.world_diffs(&stored, baseline)?, report: ArrangeReport::default() })
    }

    fn next_revision(&mut self, node_n: i64) -> Result<i32, WriteError> {
        let newest = diesel::dsl::max(deltas::revision);
        let of_node = deltas::table.filter(deltas::node_n.eq(node_n));
        let newest: Option<i32> = self.run(|conn| Ok(of_node.select(newest).get_result(conn)?))?;
        Ok(newest.unwrap_or(0).saturating_add(1))
    }
}
