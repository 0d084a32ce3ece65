//! Why a turn, or a request around one, failed.

use clotho_core::tree::edit::TreeError;
use clotho_store::{StoreError, WriteError};

/// The reason why a request failed. Nothing was written, unless the method says otherwise.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TurnError {
    /// The request does not fit the tree.
    #[error(transparent)]
    Refused(#[from] TreeError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A plugin refused the input. The message is for the user.
    #[error("{message}")]
    InputRefused { plugin: String, message: String },
    /// The message is longer than a plugin that reads or answers it accepts.
    #[error("the plugin \"{plugin}\" accepts messages of up to {} KiB", .most >> 10)]
    TooLong {
        plugin: String,
        /// The limit in bytes.
        most: usize,
    },
    #[error("too many replies are being generated")]
    TooMany,
    /// Building the prompt took too long.
    #[error("building the prompt took longer than {seconds} s")]
    PromptTooSlow {
        /// The limit.
        seconds: u64,
    },
    /// A model, plugin or setting is unknown or invalid.
    #[error("{message}")]
    Invalid {
        /// The field, as spelled in the HTTP API.
        field: &'static str,
        /// One sentence.
        message: String,
    },
    /// The replay to accept is not the one that was shown.
    #[error("the session or the plugin has changed since this replay")]
    ReplayChanged,
    /// The server is shutting down, or the request's task failed.
    #[error("the server is shutting down")]
    Stopped,
}

impl From<WriteError> for TurnError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Refused(refusal) => Self::Refused(refusal),
            WriteError::Failed(error) => Self::Store(error),
        }
    }
}
