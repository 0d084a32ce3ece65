//! Reports what the active rules at the target refuse of copies from another session. The delta of a node is a
//! fact and is copied unchanged. The fold skips operations that do not fit, and the user is told.

use std::collections::HashMap;
use std::sync::Arc;

use clotho_core::coded_message::{CodedMessage, MessageArgs};
use clotho_core::ids::NodeId;
use clotho_core::world::{Pointer, ProblemKind, World, fold};

use super::super::error::StoreError;
use super::super::rows::NodeRow;
use super::super::stored::StoredSession;
use super::super::tx::{Tx, row_id};
use super::super::worlds::{self, WorldAccess};

/// The maximum number of refusals reported; one more means that there are others.
pub const MAX_REFUSALS: usize = 200;

/// An operation of a copy that the active rules refuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyRefusal {
    /// The copy.
    pub node: NodeId,
    /// The path in the state.
    pub path: Pointer,
    /// Why it is refused, as a stable code with its arguments.
    pub code: &'static str,
    /// The arguments of the code.
    pub args: MessageArgs,
    /// One sentence for people, made from the code and its arguments.
    pub reason: String,
}

impl Tx<'_> {
    /// Folds copies below their target, parents before children, and returns what is refused. The world of a
    /// node is kept only until its last child is folded.
    pub(super) fn copy_refusals(
        &mut self,
        stored: &StoredSession,
        to: &NodeRow,
        copies: &[(NodeRow, bool)],
    ) -> Result<Vec<CopyRefusal>, StoreError> {
        let mut left: HashMap<i64, usize> = HashMap::new();
        for (copy, _) in copies {
            *left.entry(copy.parent_n.unwrap_or_default()).or_default() += 1;
        }
        let mut worlds = HashMap::from([(to.n, self.world_now(stored, to.n)?)]);
        let mut refused = Vec::new();
        for (copy, is_muted) in copies {
            let above = copy.parent_n.unwrap_or_default();
            let Some(mut world) = take_parent_world(&mut worlds, &mut left, above) else { continue };
            if copy.revision != 0 && !is_muted {
                self.fold_copy(copy, &mut world, &mut refused)?;
            }
            if refused.len() > MAX_REFUSALS {
                break;
            }
            if left.contains_key(&copy.n) {
                worlds.insert(copy.n, world);
            }
        }
        Ok(refused)
    }

    fn fold_copy(
        &mut self,
        copy: &NodeRow,
        world: &mut Arc<World>,
        refused: &mut Vec<CopyRefusal>,
    ) -> Result<(), StoreError> {
        let caches = Arc::clone(&self.context.caches);
        let delta = self.run(|conn| worlds::delta(conn, copy.n, copy.revision))?;
        let rules = self.run_with_cache(|conn, memory| {
            worlds::active_rules(conn, &caches, &mut WorldAccess::Transaction(memory), copy.rules_n)
        })?;
        let problems = fold(Arc::make_mut(world), &delta.operations, &rules);
        let node = row_id(copy)?;
        let told = problems.into_iter().filter(|problem| problem.kind() == ProblemKind::Refused);
        refused.extend(told.map(|problem| CopyRefusal {
            node,
            code: problem.code(),
            args: problem.args(),
            reason: problem.to_string(),
            path: problem.path,
        }));
        Ok(())
    }
}

/// Returns the world of a copy's parent; the last child takes it without a clone.
fn take_parent_world(
    worlds: &mut HashMap<i64, Arc<World>>,
    left: &mut HashMap<i64, usize>,
    n: i64,
) -> Option<Arc<World>> {
    let more = left.get_mut(&n)?;
    *more = more.saturating_sub(1);
    if *more == 0 { worlds.remove(&n) } else { worlds.get(&n).cloned() }
}
