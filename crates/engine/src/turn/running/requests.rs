//! The requests of running replies: parameters, seed and prompt. They are kept in memory until the reply ends, and
//! saved to disk if that takes a while, so that an interrupted reply has its trace too.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use clotho_core::ids::NodeId;
use clotho_core::tree::NodeMetadata;
use clotho_store::Trace;

/// The request of one reply.
#[derive(Debug)]
pub struct RunningRequest {
    /// The metadata known so far.
    pub metadata: Box<NodeMetadata>,
    pub trace: Trace,
}

/// The state of a request on its way to disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestSaveState {
    New,
    /// Seen by one check, to be saved at the next.
    Pending,
    Saved,
}

/// The requests of all running replies.
#[derive(Debug, Default)]
pub struct RunningRequests {
    running: Mutex<HashMap<NodeId, (Arc<RunningRequest>, RequestSaveState)>>,
    new: Notify,
}

impl RunningRequests {
    /// Stores a request until its reply ends.
    pub fn keep(&self, node: NodeId, request: RunningRequest) {
        self.lock().insert(node, (Arc::new(request), RequestSaveState::New));
        self.new.notify_one();
    }

    /// Waits until a request is new or pending.
    pub async fn wait_for_new(&self) {
        self.new.notified().await;
    }

    /// Returns the unsaved requests that an earlier check has seen already. The others are due at the next check.
    pub fn due_for_save(&self) -> Vec<(NodeId, Arc<RunningRequest>)> {
        let mut ripe = Vec::new();
        for (node, (request, state)) in self.lock().iter_mut() {
            match state {
                RequestSaveState::New => {
                    *state = RequestSaveState::Pending;
                    self.new.notify_one();
                }
                RequestSaveState::Pending => ripe.push((*node, Arc::clone(request))),
                RequestSaveState::Saved => {}
            }
        }
        ripe
    }

    /// Marks a request as saved.
    pub fn mark_saved(&self, node: NodeId) {
        if let Some((_, state)) = self.lock().get_mut(&node) {
            *state = RequestSaveState::Saved;
        }
    }

    /// Removes a request; its reply has ended.
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

    /// A request is due at the second check, until it is saved. A reply that ends sooner is never due.
    #[test]
    fn running_requests_second_check_returns_due() {
        let requests = RunningRequests::default();
        let node = |n: u128| NodeId::new(uuid::Uuid::from_u128(n));
        let keep = |n| requests.keep(node(n), RunningRequest { metadata: Box::default(), trace: Trace::default() });
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
