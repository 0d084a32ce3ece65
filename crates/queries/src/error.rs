//! Why a query has no answer.

use clotho_engine::turn::TurnError;
use clotho_store::StoreError;

/// Why a query has no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReadError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Turn(#[from] TurnError),
    /// It does not exist or belongs to another user; the two look the same.
    #[error("{0} does not exist")]
    NotFound(&'static str),
    /// A branch is named by its leaf and by a label.
    #[error("expected either leaf or label, not both")]
    LeafAndLabel,
    #[error("the tree has {nodes} nodes, too many for one answer")]
    TreeTooLarge { nodes: i64, limit: i64 },
    #[error("the values are too large for one answer")]
    ValuesTooLarge {
        /// In bytes of JSON.
        limit: usize,
    },
    /// A message was purged between two pages of a transcript.
    #[error("a message of the branch was deleted")]
    Purged,
}
