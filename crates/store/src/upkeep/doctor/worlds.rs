//! Checks that keyframes are equal to the fold. Each keyframe is compared with the fold from the nearest
//! verified one above it. So the cost is linear in the length of a branch.

use std::collections::HashMap;
use std::sync::Arc;

use diesel::prelude::*;

use crate::conn::Conn;
use crate::error::StoreError;
use crate::rows::NodeRow;
use crate::tables::{keyframes, nodes};
use crate::upkeep::session_nodes::SessionNodes;
use crate::{rules, worlds};
use clotho_core::world::{SchemaSet, World, fold};

use super::tree::id;
use super::{DoctorCheck, DoctorRepair, ExaminedSession, FindingLog};

/// The maximum number of worlds cached in addition to verified keyframes.
const MAX_CACHED_WORLDS: usize = 64;

/// Checks every keyframe of a session that a read could use.
pub fn check(conn: &mut Conn, examined: &ExaminedSession, notes: &mut FindingLog) -> Result<(), StoreError> {
    let forest = &examined.nodes;
    let keyframes_by_node: HashMap<i64, i64> = keyframes::table
        .inner_join(nodes::table.on(nodes::n.eq(keyframes::node_n)))
        .filter(nodes::session_n.eq(examined.n))
        .select((keyframes::node_n, keyframes::edits))
        .load::<(i64, i64)>(conn)?
        .into_iter()
        .collect();
    let last_edits = forest.last_edits(conn, examined.n)?;
    let mut folds = FoldCache {
        nodes: forest,
        verified: vec![false; forest.rows.len()],
        worlds: HashMap::new(),
        rules: HashMap::new(),
    };
    for (at, row, _) in forest.walk() {
        let Some(cut_under) = keyframes_by_node.get(&row.n).copied() else { continue };
        let is_outdated = last_edits.get(at).is_some_and(|edit| *edit > cut_under);
        // No fold begins at a node where no keyframe is due, or at an outdated keyframe.
        if row.since_keyframe != 0 || (is_outdated && cut_under <= examined.edits) {
            continue;
        }
        let world = match folds.world(conn, at) {
            Ok(world) => world,
            Err(StoreError::Inconsistent { table, column, row: n }) => {
                // The checks of deltas and rules report this fault; the worlds below cannot be compared.
                tracing::debug!(table, column, n, "a keyframe cannot be compared");
                continue;
            }
            Err(error) => return Err(error),
        };
        let stored = read(conn, row.n)?;
        if cut_under <= examined.edits && stored.as_ref() == Some(&*world) {
            if let Some(right) = folds.verified.get_mut(at) {
                *right = true;
            }
            continue;
        }
        let why = if stored.is_none() { "cannot be read" } else { "differs from the fold" };
        notes.note(
            DoctorCheck::Keyframe,
            id(row),
            format!("its keyframe {why}"),
            Some(DoctorRepair::DeleteKeyframe { keyframe: row.n }),
        );
        folds.cache_world(at, world);
    }
    Ok(())
}

fn read(conn: &mut Conn, node_n: i64) -> Result<Option<World>, StoreError> {
    let body: Option<Vec<u8>> = keyframes::table.find(node_n).select(keyframes::body).get_result(conn).optional()?;
    body.map_or(Ok(None), |body| worlds::unpack_world(conn, &body))
}

/// Folds along the paths of one session.
struct FoldCache<'a> {
    nodes: &'a SessionNodes,
    /// Whether the keyframe of each node was verified.
    verified: Vec<bool>,
    /// Computed worlds of nodes whose keyframes were not.
    worlds: HashMap<usize, Arc<World>>,
    rules: HashMap<i64, SchemaSet>,
}

impl FoldCache<'_> {
    /// Returns the world at a node, folded from the operations on its path.
    fn world(&mut self, conn: &mut Conn, at: usize) -> Result<Arc<World>, StoreError> {
        let (mut way, mut base, mut next) = (Vec::new(), None, Some(at));
        while let Some(at) = next {
            let Some(row) = self.nodes.rows.get(at) else { break };
            base = self.fold_base(conn, at, row)?;
            if base.is_some() {
                break;
            }
            way.push(row);
            next = row.parent_n.and_then(|n| self.nodes.find(n)).map(|(at, _)| at);
        }
        let mut world = base.unwrap_or_default();
        for row in way.into_iter().rev().filter(|row| row.revision != 0 && !row.is_muted) {
            let delta = worlds::delta(conn, row.n, row.revision)?;
            let rules = self.rules(conn, row.rules_n)?;
            fold(Arc::make_mut(&mut world), &delta.operations, &rules);
        }
        Ok(world)
    }

    /// Returns the world from which a fold can begin at this node.
    fn fold_base(&self, conn: &mut Conn, at: usize, row: &NodeRow) -> Result<Option<Arc<World>>, StoreError> {
        if let Some(world) = self.worlds.get(&at) {
            return Ok(Some(Arc::clone(world)));
        }
        if self.verified.get(at) == Some(&true) { Ok(read(conn, row.n)?.map(Arc::new)) } else { Ok(None) }
    }

    fn cache_world(&mut self, at: usize, world: Arc<World>) {
        if self.worlds.len() >= MAX_CACHED_WORLDS {
            self.worlds.clear();
        }
        self.worlds.insert(at, world);
    }

    fn rules(&mut self, conn: &mut Conn, rules_n: Option<i64>) -> Result<SchemaSet, StoreError> {
        let Some(n) = rules_n else { return Ok(SchemaSet::default()) };
        if let Some(rules) = self.rules.get(&n) {
            return Ok(rules.clone());
        }
        let read = rules::read(conn, n)?.rules;
        self.rules.insert(n, read.clone());
        Ok(read)
    }
}
