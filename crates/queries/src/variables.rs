//! The history of values along branches.

use std::ops::Range;

use serde_json::Value;

use clotho_core::ids::NodeId;
use clotho_core::world::{Pointer, World};
use clotho_store::{PathPoint, StoreReader, StoredNode, StoredSession};

use crate::error::ReadError;
use crate::lookup::load_node;

/// Maximum size of the values of one answer, in bytes of JSON.
const MAX_VALUE_BYTES: usize = 8 << 20;

/// The values to follow, and the branches.
#[derive(Debug, Clone)]
pub struct ValueSelection {
    /// Paths from `vars`.
    pub paths: Vec<Pointer>,
    /// Leaves of the branches; empty = HEAD.
    pub leaves: Vec<NodeId>,
    /// The depths of the nodes.
    pub depths: Range<i32>,
}

/// The history of values along branches.
#[derive(Debug)]
pub struct ValueHistory {
    /// One series for each pair of branch and path, in the requested order.
    pub series: Vec<ValueSeries>,
    /// Whether a branch has deeper nodes.
    pub has_more: bool,
    /// Number of the newest operation of the session.
    pub op: i64,
}

/// The history of one value along one branch.
#[derive(Debug)]
pub struct ValueSeries {
    pub leaf: NodeId,
    pub path: Pointer,
    /// The value after each node, oldest first; null if there is none.
    pub points: Vec<(PathPoint, Value)>,
}

/// Returns the value at each path after each node of each branch.
///
/// # Errors
/// Returns an error if a node does not exist, or the values exceed the size limit.
pub fn value_history(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    selection: &ValueSelection,
) -> Result<ValueHistory, ReadError> {
    let ValueSelection { paths, leaves, depths } = selection;
    let head = [stored.session.head];
    let leaves = if leaves.is_empty() { head.as_slice() } else { leaves };
    let (mut all, mut room, mut has_more) = (Vec::new(), MAX_VALUE_BYTES, false);
    for leaf in leaves {
        let leaf = load_node(reader, stored, *leaf)?;
        has_more |= leaf.node.depth >= depths.end;
        let mut series = empty_series(&leaf, paths);
        reader.worlds_along(stored, &leaf, depths.clone(), |stop, world| {
            series.iter_mut().try_for_each(|one| add_point(one, stop, world, &mut room))
        })?;
        all.extend(series);
    }
    Ok(ValueHistory { series: all, has_more, op: stored.session.op })
}

/// Returns the empty series of one branch.
fn empty_series(leaf: &StoredNode, paths: &[Pointer]) -> Vec<ValueSeries> {
    let series = |path: &Pointer| ValueSeries { leaf: leaf.node.id, path: path.clone(), points: Vec::new() };
    paths.iter().map(series).collect()
}

/// Adds the value after one node, as far as the size limit allows.
fn add_point(series: &mut ValueSeries, stop: PathPoint, world: &World, room: &mut usize) -> Result<(), ReadError> {
    let value = world.get(&series.path).cloned().unwrap_or_default();
    let weight = value.to_string().len();
    *room = room.checked_sub(weight).ok_or(ReadError::ValuesTooLarge { limit: MAX_VALUE_BYTES })?;
    series.points.push((stop, value));
    Ok(())
}
