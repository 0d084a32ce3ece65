//! Texts that a model drafts for somebody and that become no node: they are here alone, and gone with the program.

use std::sync::OnceLock;

use super::text_generation::{GenerationPhase, TextGeneration};
use clotho_core::ids::{DraftId, UserId};

/// How many drafts of one user that have ended are kept to be read.
const MAX_FINISHED_DRAFTS: usize = 32;

/// What a draft is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DraftKind {
    /// A message in the user's own voice.
    Impersonate,
    /// A summary of some messages.
    Summarise,
}

impl DraftKind {
    /// The word for it on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Impersonate => "impersonate",
            Self::Summarise => "summarise",
        }
    }
}

/// One draft.
pub struct Draft {
    /// Its text, on its way.
    pub generation: TextGeneration<DraftId>,
    /// What it is for.
    pub kind: DraftKind,
    /// The model that was asked.
    pub model: String,
    end: OnceLock<Option<DraftFailure>>,
}

/// Why a draft failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftFailure {
    /// A code of the table for nodes.
    pub code: String,
    /// One sentence.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl Draft {
    pub(super) fn new(generation: TextGeneration<DraftId>, kind: DraftKind, model: String) -> Self {
        Self { generation, kind, model, end: OnceLock::new() }
    }

    /// Ends it, once.
    pub(super) fn end(&self, failed: Option<DraftFailure>) {
        let _ = self.end.set(failed);
    }

    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        self.end.get().is_some()
    }

    /// Why it failed, if it did.
    pub fn failed(&self) -> Option<&DraftFailure> {
        self.end.get().and_then(Option::as_ref)
    }

    /// Where it stands: as a reply does, and `done` or `error` at its end.
    pub fn phase(&self) -> GenerationPhase {
        match self.end.get() {
            None => self.generation.phase(),
            Some(None) => GenerationPhase { word: "done", place: None },
            Some(Some(_)) => GenerationPhase { word: "error", place: None },
        }
    }
}

/// The drafts of a user that are to be forgotten, oldest first in `all`: those that ended longest ago.
pub fn expired_drafts<'a>(all: impl DoubleEndedIterator<Item = &'a Draft>, user: UserId) -> Vec<DraftId> {
    let ended = all.rev().filter(|draft| draft.generation.user == user && draft.is_over());
    ended.skip(MAX_FINISHED_DRAFTS).map(|draft| draft.generation.id).collect()
}
