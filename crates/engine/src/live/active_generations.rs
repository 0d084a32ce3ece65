//! All running and queued generations, behind one lock.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;

use super::draft::Draft;
use super::queue::{GenerationLimits, GenerationQueue, QueueTicket};
use super::text_generation::{RunningReply, TextGeneration};
use clotho_core::ids::{DraftId, NodeId, SessionId};

/// The running and queued generations.
#[derive(Default)]
pub struct ActiveGenerations {
    pub queue: GenerationQueue,
    /// Replies by their placeholder nodes.
    pub replies: HashMap<NodeId, Arc<RunningReply>>,
    /// Drafts in the order of their requests, finished ones included.
    pub drafts: IndexMap<DraftId, Arc<Draft>>,
}

impl ActiveGenerations {
    /// Starts generations that may run now, and updates queue positions. Returns the sessions with changes.
    pub fn advance(&mut self, most: &GenerationLimits) -> Vec<SessionId> {
        let begun: Vec<QueueTicket> = std::iter::from_fn(|| self.queue.next(most)).collect();
        let places: HashMap<QueueTicket, usize> =
            begun.into_iter().map(|ticket| (ticket, 0)).chain(self.queue.places(most)).collect();
        if places.is_empty() {
            return Vec::new();
        }
        let replies = self.replies.values().filter(|reply| update_position(reply, &places)).map(|reply| reply.session);
        let drafts =
            self.running_drafts().map(|draft| &draft.generation).filter(|draft| update_position(draft, &places));
        replies.chain(drafts.map(|draft| draft.session)).collect()
    }

    /// Returns the drafts that run or wait.
    pub fn running_drafts(&self) -> impl Iterator<Item = &Arc<Draft>> {
        self.drafts.values().filter(|draft| !draft.is_over())
    }
}

/// Updates the queue position of a generation; `true` if it changed.
fn update_position<T>(writing: &TextGeneration<T>, places: &HashMap<QueueTicket, usize>) -> bool {
    places.get(&writing.ticket).is_some_and(|place| writing.set_queue_position(*place))
}
