//! How the state changed at the nodes that users look at: HEAD, labels and the tops of moved parts.

use std::sync::Arc;

use clotho_core::ids::NodeId;
use clotho_core::oplog::Effect;
use clotho_core::world::World;

use super::super::error::StoreError;
use super::super::stored::StoredSession;
use super::super::tx::{Tx, row_id};
use super::super::worlds::{self, WorldAccess};

/// The maximum number of labels that are compared.
const MAX_LABELS: usize = 100;

/// The world at a node before and after an edit.
#[derive(Debug, Clone)]
pub struct NodeWorldDiff {
    pub node: NodeId,
    /// The world before; if HEAD moved, the world at its old node.
    pub before: Arc<World>,
    pub after: Arc<World>,
}

/// The worlds before an edit.
pub struct WorldBaseline {
    worlds: Vec<(i64, Arc<World>)>,
    head: Option<(i64, Arc<World>)>,
}

impl Tx<'_> {
    /// Remembers the worlds at HEAD and at labels, if the edit can change them.
    pub(in super::super) fn world_baseline(
        &mut self,
        stored: &StoredSession,
        looks: bool,
    ) -> Result<WorldBaseline, StoreError> {
        let mut baseline = WorldBaseline { worlds: Vec::new(), head: None };
        if looks {
            baseline.head = Some((stored.head_n, self.world_now(stored, stored.head_n)?));
            for label in self.label_rows(stored)?.into_iter().take(MAX_LABELS) {
                self.add_to_baseline(stored, &mut baseline, label.node_n)?;
            }
        }
        Ok(baseline)
    }

    /// Remembers the worlds at the tops of parts that are about to move.
    pub(in super::super) fn add_moved_to_baseline(
        &mut self,
        stored: &StoredSession,
        baseline: &mut WorldBaseline,
        plan: &[Effect],
    ) -> Result<(), StoreError> {
        for effect in plan {
            if let Effect::Moved { node, .. } | Effect::Attached { node, .. } = effect {
                let n = self.node_number(stored, *node)?;
                self.add_to_baseline(stored, baseline, n)?;
            }
        }
        Ok(())
    }

    fn add_to_baseline(
        &mut self,
        stored: &StoredSession,
        baseline: &mut WorldBaseline,
        n: i64,
    ) -> Result<(), StoreError> {
        if !baseline.worlds.iter().any(|(seen, _)| *seen == n) {
            baseline.worlds.push((n, self.world_now(stored, n)?));
        }
        Ok(())
    }

    /// Returns the worlds that differ now; nodes that left the tree are skipped.
    pub(in super::super) fn world_diffs(
        &mut self,
        stored: &StoredSession,
        baseline: WorldBaseline,
    ) -> Result<Vec<NodeWorldDiff>, StoreError> {
        let head_n = stored.head_n;
        let head = baseline.head.map(|(_, before)| (head_n, before));
        let others = baseline.worlds.into_iter().filter(|(n, _)| *n != head_n);
        let mut changed = Vec::new();
        for (n, before) in head.into_iter().chain(others) {
            let Some(row) = self.find_row_by_number(n)?.filter(|row| !row.is_hidden) else { continue };
            let after = self.world_now(stored, n)?;
            if before != after {
                changed.push(NodeWorldDiff { node: row_id(&row)?, before, after });
            }
        }
        Ok(changed)
    }

    pub(super) fn world_now(&mut self, stored: &StoredSession, n: i64) -> Result<Arc<World>, StoreError> {
        let (caches, edits) = (Arc::clone(&self.context.caches), stored.session.edits);
        self.run_with_cache(|conn, memory| {
            worlds::world_at(conn, &caches, &mut WorldAccess::Transaction(memory), n, edits)
        })
    }
}
