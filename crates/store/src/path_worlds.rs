//! Computes the worlds along a path: the first is known, and each delta is folded once.

use std::ops::Range;
use std::sync::Arc;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Integer};

use clotho_core::ids::NodeId;
use clotho_core::tree::Status;
use clotho_core::world::World;

use super::ancestors::ancestor_at;
use super::error::StoreError;
use super::prepared::prepared;
use super::read::StoreReader;
use super::stored::{StoredNode, StoredSession};
use super::worlds::{self, FoldStep, WorldAccess};

/// A node on a path for which the world was computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathPoint {
    pub id: NodeId,
    /// The number of edges from the root.
    pub depth: i32,
    /// The number of its turn.
    pub turn: i32,
}

#[derive(QueryableByName)]
struct PathRow {
    #[diesel(embed)]
    step: FoldStep,
    #[diesel(sql_type = Binary)]
    id: Vec<u8>,
    #[diesel(sql_type = Integer)]
    turn: i32,
}

impl StoreReader<'_> {
    /// Passes the worlds of the nodes at these depths on the path to `leaf` to `each`, oldest first.
    /// Placeholders are skipped, because their world is not known yet.
    ///
    /// # Errors
    /// Returns the error of `each`, or an error if the database fails or a row is damaged.
    pub fn worlds_along<E: From<StoreError>>(
        &mut self,
        stored: &StoredSession,
        leaf: &StoredNode,
        depths: Range<i32>,
        mut each: impl FnMut(PathPoint, &World) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut passed = self.rows_at_depths(leaf, depths)?;
        let above = passed.last().and_then(|top| top.step.parent_n);
        let mut world = match above {
            Some(above) => self.world_of(stored, above)?,
            None => Arc::default(),
        };
        while let Some(PathRow { step, id, turn }) = passed.pop() {
            worlds::apply(self.conn, self.caches, &mut WorldAccess::Snapshot, &step, &mut world)?;
            if step.status != Status::Generating.code() {
                let bad = StoreError::Inconsistent { table: "nodes", column: "id", row: step.n };
                each(PathPoint { id: NodeId::from_slice(&id).ok_or(bad)?, depth: step.depth, turn }, &world)?;
            }
        }
        Ok(())
    }

    /// Returns the nodes of a path at these depths, nearest to the leaf first.
    fn rows_at_depths(&mut self, leaf: &StoredNode, depths: Range<i32>) -> Result<Vec<PathRow>, StoreError> {
        let lowest = leaf.node.depth.min(depths.end - 1);
        if lowest < depths.start {
            return Ok(Vec::new());
        }
        let Some(start) = ancestor_at(self.conn, leaf.n, lowest)? else { return Ok(Vec::new()) };
        let query = diesel::sql_query(
            "WITH RECURSIVE up (n, parent_n, depth) AS (SELECT n, parent_n, depth FROM nodes WHERE n = $1 UNION ALL \
               SELECT p.n, p.parent_n, p.depth FROM up JOIN nodes p ON p.n = up.parent_n \
               WHERE p.depth >= $2 AND p.depth < up.depth) \
             SELECT s.n, s.id, s.parent_n, s.session_n, s.depth, s.turn, s.status, s.since_keyframe, s.rules_n, \
               s.revision, s.is_muted, d.body \
             FROM up CROSS JOIN nodes s LEFT JOIN deltas d ON d.node_n = s.n AND d.revision = s.revision \
             WHERE s.n = up.n ORDER BY s.depth DESC",
        );
        Ok(prepared(query.bind::<BigInt, _>(start).bind::<Integer, _>(depths.start)).load(self.conn)?)
    }
}
