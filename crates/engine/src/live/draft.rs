//! Drafts: texts that a model writes and that become no node. They exist only in memory.

use std::sync::OnceLock;

use super::text_generation::{GenerationPhase, TextGeneration};
use clotho_core::coded_message::RenderedMessage;
use clotho_core::ids::{DraftId, UserId};

/// How many finished drafts of one user are kept.
const MAX_FINISHED_DRAFTS: usize = 32;

/// The purpose of a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DraftKind {
    /// A message in the style of the user.
    Impersonate,
    Summarise,
}

impl DraftKind {
    /// Returns the name in the HTTP interface.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Impersonate => "impersonate",
            Self::Summarise => "summarise",
        }
    }
}

/// A draft that runs, waits or is finished.
pub struct Draft {
    pub generation: TextGeneration<DraftId>,
    pub kind: DraftKind,
    pub model: String,
    end: OnceLock<Option<DraftFailure>>,
}

/// Why a draft failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftFailure {
    /// What failed, with a code as for failed nodes.
    pub failure: RenderedMessage,
    /// What the user can do about it.
    pub hint: String,
}

impl Draft {
    /// Creates a draft that has not ended.
    pub(super) fn new(generation: TextGeneration<DraftId>, kind: DraftKind, model: String) -> Self {
        Self { generation, kind, model, end: OnceLock::new() }
    }

    /// Ends the draft. Only the first call counts.
    pub(super) fn end(&self, failed: Option<DraftFailure>) {
        let _ = self.end.set(failed);
    }

    /// Returns whether the draft has ended.
    pub fn is_over(&self) -> bool {
        self.end.get().is_some()
    }

    /// Returns why the draft failed, if it did.
    pub fn failure(&self) -> Option<&DraftFailure> {
        self.end.get().and_then(Option::as_ref)
    }

    /// Returns the phase: that of the generation, or `done` or `error` after its end.
    pub fn phase(&self) -> GenerationPhase {
        match self.end.get() {
            None => self.generation.phase(),
            Some(None) => GenerationPhase { word: "done", place: None },
            Some(Some(_)) => GenerationPhase { word: "error", place: None },
        }
    }
}

/// Returns the drafts of a user to forget: all but the last [`MAX_FINISHED_DRAFTS`] finished ones. `all` is oldest
/// first.
pub fn expired_drafts<'a>(all: impl DoubleEndedIterator<Item = &'a Draft>, user: UserId) -> Vec<DraftId> {
    let ended = all.rev().filter(|draft| draft.generation.user == user && draft.is_over());
    ended.skip(MAX_FINISHED_DRAFTS).map(|draft| draft.generation.id).collect()
}
