//! Everything that is being written or waits, as it stands under one lock.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;

use super::draft::Draft;
use super::queue::{Most, Queue, Ticket};
use super::running::{Running, Writing};
use crate::ids::{DraftId, NodeId, SessionId};

/// What is being written, and what waits for its turn.
#[derive(Default)]
pub struct Held {
    /// Whose turn it is.
    pub queue: Queue,
    /// Replies, by their placeholders.
    pub replies: HashMap<NodeId, Arc<Running>>,
    /// Drafts, also such as have ended, in the order in which they were asked for.
    pub drafts: IndexMap<DraftId, Arc<Draft>>,
}

impl Held {
    /// Lets begin what may, and tells each its place; answers with the sessions for which that is news.
    pub fn advance(&mut self, most: &Most) -> Vec<SessionId> {
        let begun: Vec<Ticket> = std::iter::from_fn(|| self.queue.next(most)).collect();
        let places: HashMap<Ticket, usize> =
            begun.into_iter().map(|ticket| (ticket, 0)).chain(self.queue.places(most)).collect();
        if places.is_empty() {
            return Vec::new();
        }
        let replies = self.replies.values().filter(|reply| stands(reply, &places)).map(|reply| reply.session);
        let drafts = self.running_drafts().map(|draft| &draft.writing).filter(|draft| stands(draft, &places));
        replies.chain(drafts.map(|draft| draft.session)).collect()
    }

    /// The drafts that run or wait.
    pub fn running_drafts(&self) -> impl Iterator<Item = &Arc<Draft>> {
        self.drafts.values().filter(|draft| !draft.is_over())
    }
}

/// Tells a text its place, if it has one among these; answers whether that is news.
fn stands<T>(writing: &Writing<T>, places: &HashMap<Ticket, usize>) -> bool {
    places.get(&writing.ticket).is_some_and(|place| writing.stand(*place))
}
