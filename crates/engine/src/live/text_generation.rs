//! One text that is being generated: its partial text, its queue position and the stop signal.

use std::sync::Mutex;

use tokio::sync::watch;

use super::lock::lock;
use super::queue::QueueTicket;
use clotho_core::ids::{NodeId, SessionId, UserId};

/// A text that is being generated or waits in the queue.
pub struct TextGeneration<T> {
    /// The id of the node or draft that the text becomes.
    pub id: T,
    pub session: SessionId,
    /// The requesting user.
    pub user: UserId,
    /// Its id in the queue.
    pub(super) ticket: QueueTicket,
    /// 0 means that it may run.
    queue_position: watch::Sender<usize>,
    partial: Mutex<PartialText>,
    stop: watch::Sender<Option<StopReason>>,
}

/// A reply; its id is that of the placeholder node.
pub type RunningReply = TextGeneration<NodeId>;

/// Why a generation is asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// A user stopped it.
    Cancelled,
    /// The server is shutting down.
    Interrupted,
}

/// The phase of a generation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GenerationPhase {
    /// `queued`, `waiting`, `thinking` or `streaming`; for drafts also `done` or `error`.
    pub word: &'static str,
    /// The queue position, counted from 1, while it is `queued`.
    pub place: Option<usize>,
}

/// What has arrived of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartialText {
    /// The text so far.
    pub content: String,
    /// The reasoning so far.
    pub reasoning: String,
    /// `waiting`, `thinking` or `streaming`; [`TextGeneration::phase`] also knows `queued`.
    pub phase: &'static str,
    /// Its place in the queue of the model server, counted from 1, while it waits there.
    server_place: Option<usize>,
    /// How many bytes of content and reasoning are already stored.
    saved: (usize, usize),
    /// How often text was taken back, and how often when it was stored.
    rewrites: u32,
    saved_rewrites: u32,
}

impl PartialText {
    /// Returns how often text was taken back, because it turned out to be a thought.
    pub fn rewrites(&self) -> u32 {
        self.rewrites
    }
}

/// What of a partial text is not stored yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsavedText {
    pub content: String,
    pub reasoning: String,
    /// It is all of the text. What was stored before counts no more.
    pub is_whole: bool,
    pub(super) rewrites: u32,
}

impl<T> TextGeneration<T> {
    /// Creates a generation that has entered the queue, with its initial text.
    pub(super) fn new(id: T, session: SessionId, user: UserId, ticket: QueueTicket, content: &str) -> Self {
        let written = PartialText { content: content.to_owned(), phase: "waiting", ..PartialText::default() };
        let (queue_position, stop) = (watch::Sender::new(usize::MAX), watch::Sender::new(None));
        Self { id, session, user, ticket, queue_position, partial: Mutex::new(written), stop }
    }

    /// Returns a copy of the partial text.
    pub fn partial_text(&self) -> PartialText {
        lock(&self.partial).clone()
    }

    /// Reads the partial text without copying it.
    pub fn with_partial_text<R>(&self, look: impl FnOnce(&PartialText) -> R) -> R {
        look(&lock(&self.partial))
    }

    /// Returns the current phase.
    pub fn phase(&self) -> GenerationPhase {
        match *self.queue_position.borrow() {
            0 => self.with_partial_text(|written| match written.server_place {
                Some(place) => GenerationPhase { word: "queued", place: Some(place) },
                None => GenerationPhase { word: written.phase, place: None },
            }),
            place => GenerationPhase { word: "queued", place: Some(place) },
        }
    }

    /// Returns whether it waits in the queue.
    pub fn is_queued(&self) -> bool {
        *self.queue_position.borrow() > 0
    }

    /// Waits until it may run, or until it is asked to stop.
    pub async fn wait_for_turn(&self) -> Result<(), StopReason> {
        let mut place = self.queue_position.subscribe();
        tokio::select! {
            biased;
            stop = self.wait_for_stop() => Err(stop),
            // The sender lives as long as this text does.
            _ = place.wait_for(|place| *place == 0) => Ok(()),
        }
    }

    /// Sets the queue position; `true` if it changed.
    pub(super) fn set_queue_position(&self, place: usize) -> bool {
        self.queue_position.send_if_modified(|now| std::mem::replace(now, place) != place)
    }

    /// Sets the place in the queue of the model server, 0 = it has begun; `true` if it changed.
    pub(super) fn set_server_place(&self, place: usize) -> bool {
        let place = Some(place).filter(|place| *place > 0);
        std::mem::replace(&mut lock(&self.partial).server_place, place) != place
    }

    /// Appends text and sets the phase.
    pub(super) fn append(&self, content: &str, reasoning: &str, phase: &'static str) {
        let mut written = lock(&self.partial);
        written.content.push_str(content);
        written.reasoning.push_str(reasoning);
        (written.phase, written.server_place) = (phase, None);
    }

    /// Replaces the text behind its first `keep` bytes, appends reasoning and sets the phase. All is unsaved then.
    pub(super) fn rewrite(&self, keep: usize, content: &str, reasoning: &str, phase: &'static str) {
        let mut written = lock(&self.partial);
        if written.content.is_char_boundary(keep) {
            written.content.truncate(keep);
        }
        written.content.push_str(content);
        written.reasoning.push_str(reasoning);
        (written.phase, written.server_place, written.saved) = (phase, None, (0, 0));
        written.rewrites += 1;
    }

    /// Asks it to stop now; the partial text is kept.
    pub fn cancel(&self) {
        self.request_stop(StopReason::Cancelled);
    }

    /// Asks it to stop because the server shuts down.
    pub fn interrupt(&self) {
        self.request_stop(StopReason::Interrupted);
    }

    fn request_stop(&self, stop: StopReason) {
        self.stop.send_if_modified(|asked| asked.is_none() && asked.replace(stop).is_none());
    }

    /// Waits until it is asked to stop. The first reason counts.
    pub async fn wait_for_stop(&self) -> StopReason {
        let mut asked = self.stop.subscribe();
        // The sender lives as long as this text does.
        asked.wait_for(Option::is_some).await.ok().and_then(|asked| *asked).unwrap_or(StopReason::Interrupted)
    }

    /// Returns the text and reasoning that are not stored yet; `None` if all is. See [`TextGeneration::mark_saved`].
    pub fn unsaved(&self) -> Option<UnsavedText> {
        let written = lock(&self.partial);
        let (content, reasoning) = written.saved;
        let new = UnsavedText {
            content: written.content.get(content..).unwrap_or_default().to_owned(),
            reasoning: written.reasoning.get(reasoning..).unwrap_or_default().to_owned(),
            is_whole: written.rewrites != written.saved_rewrites,
            rewrites: written.rewrites,
        };
        (new.is_whole || !new.content.is_empty() || !new.reasoning.is_empty()).then_some(new)
    }

    /// Records that a text is stored. If text was taken back meanwhile, all of it stays unsaved.
    pub fn mark_saved(&self, stored: &UnsavedText) {
        let mut written = lock(&self.partial);
        if written.rewrites == stored.rewrites {
            written.saved.0 += stored.content.len();
            written.saved.1 += stored.reasoning.len();
            written.saved_rewrites = stored.rewrites;
        }
    }
}
