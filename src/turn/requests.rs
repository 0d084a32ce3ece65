//! What running replies were asked with: parameters, seed and prompt. Kept in memory until the reply ends, and put on disk
//! when it does not end at once, so that also a reply which is cut off can say why it exists.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};
use tokio::sync::Notify;

use crate::ids::NodeId;
use crate::store::Trace;

/// What one reply was asked with.
#[derive(Debug)]
pub struct Request {
    /// What is known of the reply so far.
    pub metadata: Map<String, Value>,
    /// Its prompt.
    pub trace: Trace,
}

/// Those of all running replies.
#[derive(Debug, Default)]
pub struct Requests {
    known: Mutex<HashMap<NodeId, (Arc<Request>, bool)>>,
    new: Notify,
}

impl Requests {
    /// Keeps a request until its reply ends.
    pub fn keep(&self, node: NodeId, request: Request) {
        self.lock().insert(node, (Arc::new(request), false));
        self.new.notify_one();
    }

    /// Waits until there is one that was kept since the last time.
    pub async fn until_new(&self) {
        self.new.notified().await;
    }

    /// Those that are not on disk.
    pub fn unsaved(&self) -> Vec<(NodeId, Arc<Request>)> {
        let unsaved = |(node, (request, is_saved)): (&NodeId, &(Arc<Request>, bool))| {
            (!is_saved).then(|| (*node, Arc::clone(request)))
        };
        self.lock().iter().filter_map(unsaved).collect()
    }

    /// Notes that one is on disk.
    pub fn saved(&self, node: NodeId) {
        if let Some((_, is_saved)) = self.lock().get_mut(&node) {
            *is_saved = true;
        }
    }

    /// Forgets one: its reply has ended.
    pub fn take(&self, node: NodeId) -> Option<Arc<Request>> {
        self.lock().remove(&node).map(|(request, _)| request)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<NodeId, (Arc<Request>, bool)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
