//! One text that is being written: what has arrived of it, whether its turn has come, and the word to stop.

use std::sync::Mutex;

use tokio::sync::watch;

use super::lock::lock;
use super::queue::QueueTicket;
use clotho_core::ids::{NodeId, SessionId, UserId};

/// A text that is being written, or waits for its turn.
pub struct TextGeneration<T> {
    /// What it becomes.
    pub id: T,
    /// The session.
    pub session: SessionId,
    /// Who asked for it.
    pub user: UserId,
    /// Its place in the queue.
    pub(super) ticket: QueueTicket,
    /// 0 = its turn has come.
    queue_position: watch::Sender<usize>,
    partial: Mutex<PartialText>,
    stop: watch::Sender<Option<StopReason>>,
}

/// A reply that is being written; the id is the placeholder's.
pub type RunningReply = TextGeneration<NodeId>;

/// Why a running text is asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// A person stopped it.
    Cancelled,
    /// The server is shutting down.
    Interrupted,
}

/// Where a text stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GenerationPhase {
    /// `queued`, `waiting`, `thinking` or `streaming`.
    pub word: &'static str,
    /// Before how many turns it comes, counted from 1, while it is `queued`.
    pub place: Option<usize>,
}

/// What has arrived of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartialText {
    /// The text so far.
    pub content: String,
    /// The thinking so far.
    pub reasoning: String,
    /// `waiting`, `thinking` or `streaming`; as long as it is queued [`TextGeneration::phase`] says so.
    pub phase: &'static str,
    /// Bytes of both that are on disk already.
    saved: (usize, usize),
}

impl<T> TextGeneration<T> {
    /// A text that has entered the queue, with what it begins with.
    pub(super) fn new(id: T, session: SessionId, user: UserId, ticket: QueueTicket, content: &str) -> Self {
        let written = PartialText { content: content.to_owned(), phase: "waiting", ..PartialText::default() };
        let (queue_position, stop) = (watch::Sender::new(usize::MAX), watch::Sender::new(None));
        Self { id, session, user, ticket, queue_position, partial: Mutex::new(written), stop }
    }

    /// What has arrived.
    pub fn written(&self) -> PartialText {
        lock(&self.partial).clone()
    }

    /// Looks at what has arrived without copying it.
    pub fn with_partial_text<R>(&self, look: impl FnOnce(&PartialText) -> R) -> R {
        look(&lock(&self.partial))
    }

    /// Where it stands.
    pub fn phase(&self) -> GenerationPhase {
        match *self.queue_position.borrow() {
            0 => GenerationPhase { word: self.with_partial_text(|written| written.phase), place: None },
            place => GenerationPhase { word: "queued", place: Some(place) },
        }
    }

    /// Whether it waits for its turn.
    pub fn is_queued(&self) -> bool {
        *self.queue_position.borrow() > 0
    }

    /// Waits until its turn has come, or somebody asks for the end before that.
    pub async fn turn(&self) -> Result<(), StopReason> {
        let mut place = self.queue_position.subscribe();
        tokio::select! {
            biased;
            stop = self.wait_for_stop() => Err(stop),
            // The sender lives as long as this text does.
            _ = place.wait_for(|place| *place == 0) => Ok(()),
        }
    }

    /// Tells it its place; answers whether that is news.
    pub(super) fn set_queue_position(&self, place: usize) -> bool {
        self.queue_position.send_if_modified(|now| std::mem::replace(now, place) != place)
    }

    /// More of it arrived.
    pub(super) fn append(&self, content: &str, reasoning: &str, phase: &'static str) {
        let mut written = lock(&self.partial);
        written.content.push_str(content);
        written.reasoning.push_str(reasoning);
        written.phase = phase;
    }

    /// Asks it to end now; what arrived is kept.
    pub fn cancel(&self) {
        self.request_stop(StopReason::Cancelled);
    }

    /// Asks it to end because the server does.
    pub fn interrupt(&self) {
        self.request_stop(StopReason::Interrupted);
    }

    fn request_stop(&self, stop: StopReason) {
        self.stop.send_if_modified(|asked| asked.is_none() && asked.replace(stop).is_none());
    }

    /// Waits until someone asks for the end; the first who asked counts.
    pub async fn wait_for_stop(&self) -> StopReason {
        let mut asked = self.stop.subscribe();
        // The sender lives as long as this text does.
        asked.wait_for(Option::is_some).await.ok().and_then(|asked| *asked).unwrap_or(StopReason::Interrupted)
    }

    /// What is not on disk yet; `None` if all is. [`TextGeneration::saved`] says when it is.
    pub fn unsaved(&self) -> Option<(String, String)> {
        let written = lock(&self.partial);
        let (content, reasoning) = written.saved;
        let new = (
            written.content.get(content..).unwrap_or_default().to_owned(),
            written.reasoning.get(reasoning..).unwrap_or_default().to_owned(),
        );
        if new.0.is_empty() && new.1.is_empty() { None } else { Some(new) }
    }

    /// So many more bytes of text and of thinking are on disk now.
    pub fn mark_saved(&self, content: usize, reasoning: usize) {
        let mut written = lock(&self.partial);
        written.saved.0 += content;
        written.saved.1 += reasoning;
    }
}
