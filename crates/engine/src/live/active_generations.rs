//! Everything that is being written or waits, as it stands under one lock.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;

use super::draft::Draft;
use super::queue::{GenerationLimits, GenerationQueue, QueueTicket};
use super::text_generation::{RunningReply, TextGeneration};
use clotho_core::ids::{DraftId, NodeId, SessionId};

/// What is being written, and what waits for its turn.
#[derive(Default)]
pub struct ActiveGenerations {
    /// Whose turn it is.
    pub queue: GenerationQueue,
    /// Replies, by their placeholders.
    pub replies: HashMap<NodeId, Arc<RunningReply>>,
    /// Drafts, also such as have ended, in the order in which they were asked for.
    pub drafts: IndexMap<DraftId, Arc<Draft>>,
}

impl ActiveGenerations {
    /// Lets begin what may, and tells each its place; answers with the sessions for which that is news.
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

    /// The drafts that run or wait.
    pub fn running_drafts(&self) -> impl Iterator<Item = &Arc<Draft>> {
        self.drafts.values().filter(|draft| !draft.is_over())
    }
}

/// Tells a text its place, if it has one among these; answers whether that is news.
fn update_position<T>(writing: &TextGeneration<T>, places: &HashMap<QueueTicket, usize>) -> bool {
    places.get(&writing.ticket).is_some_and(|place| writing.set_queue_position(*place))
}
