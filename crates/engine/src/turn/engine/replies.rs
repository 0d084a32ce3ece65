//! Messages and replies: what grows a tree.

use std::sync::Arc;

use clotho_core::ids::{DraftId, NodeId, SessionId, UserId};

use crate::turn::error::TurnError;
use crate::turn::requests::{
    ContinueSpec, EditSpec, ImpersonateSpec, MessageSpec, RegenerateSpec, SummarySpec, TurnReceipt,
};
use crate::turn::services::TurnServices;
use crate::turn::{draft, side_calls, start};

/// Writes messages and has models reply.
#[derive(Clone)]
pub struct ReplyTurns {
    pub(super) services: Arc<TurnServices>,
}

impl ReplyTurns {
    /// Writes a message and starts its replies.
    ///
    /// # Errors
    /// See [`TurnError`]; nothing was written then.
    pub async fn send_message(
        &self,
        caller: UserId,
        session: SessionId,
        new: MessageSpec,
    ) -> Result<TurnReceipt, TurnError> {
        let parts = Arc::clone(&self.services);
        self.services.work.run_once(async move { start::message(&parts, caller, session, new).await }).await
    }

    /// Starts other replies beside an assistant node, or below a context node.
    ///
    /// # Errors
    /// See [`TurnError`]; nothing was written then.
    pub async fn regenerate(
        &self,
        caller: UserId,
        session: SessionId,
        asked: RegenerateSpec,
    ) -> Result<TurnReceipt, TurnError> {
        let parts = Arc::clone(&self.services);
        let work = async move {
            let expected_leaf =
                side_calls::advance_expected(&parts.storage, caller, session, asked.expected_leaf).await?;
            start::regenerate::regenerate(&parts, caller, session, RegenerateSpec { expected_leaf, ..asked }).await
        };
        self.services.work.run_once(work).await
    }

    /// Starts another reply that continues the text of an existing one.
    ///
    /// # Errors
    /// Returns an error if the node is no reply with text, a plugin writes it, or as [`TurnError`] says. Nothing was
    /// written then.
    pub async fn continue_reply(
        &self,
        caller: UserId,
        session: SessionId,
        asked: ContinueSpec,
    ) -> Result<TurnReceipt, TurnError> {
        let parts = Arc::clone(&self.services);
        let work = async move {
            let expected_leaf =
                side_calls::advance_expected(&parts.storage, caller, session, asked.expected_leaf).await?;
            start::regenerate::continue_reply(&parts, caller, session, ContinueSpec { expected_leaf, ..asked }).await
        };
        self.services.work.run_once(work).await
    }

    /// Writes an edited version of a message as its sibling.
    ///
    /// # Errors
    /// See [`TurnError`]; nothing was written then.
    pub async fn edit(
        &self,
        caller: UserId,
        session: SessionId,
        node: NodeId,
        edit: EditSpec,
    ) -> Result<TurnReceipt, TurnError> {
        let parts = Arc::clone(&self.services);
        let work = async move {
            let expected_leaf =
                side_calls::advance_expected(&parts.storage, caller, session, edit.expected_leaf).await?;
            start::edit::edit_message(&parts, caller, session, node, EditSpec { expected_leaf, ..edit }).await
        };
        self.services.work.run_once(work).await
    }

    /// Stops a running reply and keeps its text. Returns when the stop is requested; the end itself is an event.
    ///
    /// # Errors
    /// Returns an error if the node does not exist or the reply has already ended.
    pub async fn cancel_reply(&self, caller: UserId, session: SessionId, node: NodeId) -> Result<(), TurnError> {
        start::cancel_reply(&self.services.storage, &self.services.work, caller, session, node).await
    }
}

/// Has models write text that becomes no node.
#[derive(Clone)]
pub struct DraftTurns {
    pub(super) services: Arc<TurnServices>,
}

impl DraftTurns {
    /// Starts a draft of the user's next message. Its text comes as events and stays readable for a while.
    ///
    /// # Errors
    /// Returns an error if the leaf does not exist, no model is available, or too many replies are running.
    pub async fn impersonate(
        &self,
        caller: UserId,
        session: SessionId,
        asked: ImpersonateSpec,
    ) -> Result<DraftId, TurnError> {
        let parts = Arc::clone(&self.services);
        self.services.work.run_detached(async move { draft::impersonate(&parts, caller, session, asked).await }).await
    }

    /// Starts a draft of a summary of a run of messages; like [`DraftTurns::impersonate`].
    ///
    /// # Errors
    /// Returns an error if the messages are no run of one branch, no model is available, or too many replies are
    /// running.
    pub async fn summarise(
        &self,
        caller: UserId,
        session: SessionId,
        asked: SummarySpec,
    ) -> Result<DraftId, TurnError> {
        let parts = Arc::clone(&self.services);
        self.services.work.run_detached(async move { draft::summarise(&parts, caller, session, asked).await }).await
    }
}
