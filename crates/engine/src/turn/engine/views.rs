//! What readers of a tree need of turns: the display of replies, suggested replies, and documents.

use std::sync::Arc;

use clotho_core::ids::{NodeId, SessionId, UserId};
use clotho_store::{StoreError, StoreReader};

use crate::turn::display::ReplyDisplay;
use crate::turn::error::TurnError;
use crate::turn::prompts::PromptServices;
use crate::turn::prompts::recall::RankedDocuments;
use crate::turn::rules::RuleServices;
use crate::turn::snapshot::{self, LeafSnapshot, ReplySuggestions};
use crate::turn::storage::TreeStorage;

/// Has plugins change how replies are shown, and suggest replies.
#[derive(Clone)]
pub struct TurnViews {
    pub(super) storage: Arc<TreeStorage>,
    pub(super) rules: Arc<RuleServices>,
}

impl TurnViews {
    /// Returns the display of replies for one read; `None` if no plugin has `on_display`.
    pub fn display(&self) -> Option<ReplyDisplay> {
        ReplyDisplay::new(&self.storage, &self.rules)
    }

    /// Reads a leaf for [`TurnViews::suggest_replies`], in the snapshot of an existing reader.
    ///
    /// # Errors
    /// Returns an error if the session or node does not exist, or the database fails.
    pub fn read_leaf(
        &self,
        reader: &mut StoreReader<'_>,
        caller: UserId,
        session: SessionId,
        leaf: NodeId,
    ) -> Result<LeafSnapshot, TurnError> {
        snapshot::read_leaf(reader, &snapshot::SnapshotQuery::at_node(&self.rules, caller, session, leaf))
    }

    /// Asks the plugins for suggested replies at a leaf.
    pub async fn suggest_replies(&self, leaf: LeafSnapshot) -> ReplySuggestions {
        snapshot::suggest_replies(&self.rules, leaf).await
    }

    /// Returns the plugins known to be turned off in a session, without reading. Only plugins already used there are
    /// known.
    pub fn disabled_plugins(&self, session: SessionId) -> Vec<String> {
        self.rules.hooks.known_disabled(session)
    }
}

/// Finds documents for a question.
#[derive(Clone)]
pub struct DocumentRecall {
    pub(super) storage: Arc<TreeStorage>,
    pub(super) prompts: Arc<PromptServices>,
}

impl DocumentRecall {
    /// Returns the caller's documents in these collections that match a question best, at most `most`.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub async fn find_documents(
        &self,
        caller: UserId,
        collections: Vec<String>,
        question: String,
        most: usize,
    ) -> Result<RankedDocuments, StoreError> {
        let (storage, now) = (&self.storage, self.storage.clock.now());
        self.prompts.query_embedder.search_documents(&storage.store, now, caller, collections, question, most).await
    }

    /// Returns the hash under which the vector of a text is stored.
    pub fn text_hash(&self, text: &str) -> blake3::Hash {
        self.prompts.query_embedder.text_hash(text)
    }
}
