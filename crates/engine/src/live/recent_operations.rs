//! The newest operations of a watched session, for watchers that are slightly behind. Older ones are in the log.

use std::collections::VecDeque;
use std::sync::Arc;

use clotho_core::oplog::Operation;

/// How many operations are kept in memory.
const MAX_OPERATIONS: usize = 256;
/// How many effects they may have in total. The newest operation is always kept: copying a branch has thousands.
const MAX_EFFECTS: usize = 8_192;

/// The newest operations, oldest first.
#[derive(Default)]
pub struct RecentOperations(VecDeque<Arc<Operation>>);

impl RecentOperations {
    /// Adds a durable operation and drops old ones beyond the limits.
    pub fn push(&mut self, operation: &Arc<Operation>) {
        self.0.push_back(Arc::clone(operation));
        let mut effects: usize = self.0.iter().map(|one| one.effects.len()).sum();
        while self.0.len() > MAX_OPERATIONS || (self.0.len() > 1 && effects > MAX_EFFECTS) {
            effects -= self.0.pop_front().map_or(0, |oldest| oldest.effects.len());
        }
    }

    /// Returns the operations after number `op`; `None` if they do not reach back that far.
    pub fn since(&self, op: i64) -> Option<Vec<Arc<Operation>>> {
        match (self.0.front(), self.0.back()) {
            (_, Some(newest)) if newest.op <= op => Some(Vec::new()),
            (Some(oldest), _) if oldest.op <= op + 1 => {
                Some(self.0.iter().filter(|operation| operation.op > op).cloned().collect())
            }
            (None, _) => Some(Vec::new()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clotho_core::clock::Time;
    use clotho_core::ids::NodeId;
    use clotho_core::oplog::{Effect, OperationKind};

    fn operation(op: i64, effects: usize) -> Arc<Operation> {
        let effects = vec![Effect::Completed { node: NodeId::new(uuid::Uuid::nil()) }; effects];
        Arc::new(Operation { op, kind: OperationKind::Graft, actor: None, at: Time(0), step: op, effects })
    }

    /// S0-54: a watched session keeps a limited number of operations and effects, and always the newest operation.
    #[test]
    fn recent_operations_over_limit_drops_oldest() {
        let mut kept = RecentOperations::default();
        for op in 1..=1_000 {
            kept.push(&operation(op, usize::try_from(op).unwrap() % 300));
            assert!(
                kept.0.len() <= MAX_OPERATIONS
                    && kept.0.iter().map(|one| one.effects.len()).sum::<usize>() <= MAX_EFFECTS
            );
        }
        assert!(kept.since(990).is_some_and(|some| some.len() == 10) && kept.since(700).is_none());
        kept.push(&operation(1_001, 2 * MAX_EFFECTS));
        assert!(kept.since(1_000).is_some_and(|some| some.len() == 1) && kept.since(999).is_none());
        kept.push(&operation(1_002, 1));
        assert!(kept.since(1_001).is_some_and(|some| some.len() == 1) && kept.since(1_000).is_none());
    }
}
