//! What running replies were asked with: parameters, seed and prompt. Kept in memory until the reply ends, and put on disk
//! when it does not end at once, so that also a reply which is cut off can say why it exists.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};
use tokio::sync::Notify;

use clotho_core::ids::NodeId;
use clotho_store::Trace;

/// What one reply was asked with.
#[derive(Debug)]
pub struct RunningRequest {
    /// What is known of the reply so far.
    pub metadata: Map<String, Value>,
    /// Its prompt.
    pub trace: Trace,
}

/// How far one is on its way to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestSaveState {
    New,
    /// It was there when somebody looked.
    Pending,
    Saved,
}

/// Those of all running replies.
#[derive(Debug, Default)]
pub struct RunningRequests {
    running: Mutex<HashMap<NodeId, (Arc<RunningRequest>, RequestSaveState)>>,
    new: Notify,
}

impl RunningRequests {
    /// Keeps a request until its reply ends.
    pub fn keep(&self, node: NodeId, request: RunningRequest) {
        self.lock().insert(node, (Arc::new(request), RequestSaveState::New));
        self.new.notify_one();
    }

    /// Waits until there is one that is not ripe.
    pub async fn wait_for_new(&self) {
        self.new.notified().await;
    }

    /// Those that are not on disk and were there the last time too. The others are ripe the next time.
    pub fn due_for_save(&self) -> Vec<(NodeId, Arc<RunningRequest>)> {
        let mut ripe = Vec::new();
        for (node, (request, stage)) in self.lock().iter_mut() {
            match stage {
                RequestSaveState::New => {
                    *stage = RequestSaveState::Pending;
                    self.new.notify_one();
                }
                RequestSaveState::Pending => ripe.push((*node, Arc::clone(request))),
                RequestSaveState::Saved => {}
            }
        }
        ripe
    }

    /// Notes that one is on disk.
    pub fn mark_saved(&self, node: NodeId) {
        if let Some((_, stage)) = self.lock().get_mut(&node) {
            *stage = RequestSaveState::Saved;
        }
    }

    /// Forgets one: its reply has ended.
    pub fn take(&self, node: NodeId) -> Option<Arc<RunningRequest>> {
        self.lock().remove(&node).map(|(request, _)| request)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<NodeId, (Arc<RunningRequest>, RequestSaveState)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reply that ends at once is never written twice; one that does not is ripe the second time, until it is saved.
    #[test]
    fn running_requests_second_check_returns_due() {
        let requests = RunningRequests::default();
        let node = |n: u128| NodeId::new(uuid::Uuid::from_u128(n));
        let keep = |n| requests.keep(node(n), RunningRequest { metadata: Map::new(), trace: Trace::default() });
        let ripe = || {
            let mut ripe: Vec<NodeId> = requests.due_for_save().into_iter().map(|(node, _)| node).collect();
            ripe.sort_unstable();
            ripe
        };
        keep(1);
        keep(2);
        assert_eq!(ripe(), []);
        assert!(requests.take(node(1)).is_some() && requests.take(node(1)).is_none());
        keep(3);
        assert_eq!(ripe(), [node(2)]);
        assert_eq!(ripe(), [node(2), node(3)], "what could not be saved is saved the next time");
        requests.mark_saved(node(2));
        assert_eq!(ripe(), [node(3)]);
    }
}
