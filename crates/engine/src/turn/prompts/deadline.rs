//! The time that building a prompt may take. A card or a lorebook of a stranger can make a prompt slow, and it occupies a
//! thread that others read with.

use std::time::Duration;

use clotho_store::{Store, StoreReader};

use crate::turn::TurnError;

/// The longest time from the request of a prompt to its end. The limit of `docs/performance.md` for a long prompt is
/// 10 ms, so only a prompt that is made to be slow reaches it.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Reads a prompt on a reader thread. If the future is dropped, or takes longer than the limit, the closure ends at its
/// next step.
///
/// # Errors
/// Returns the closure's error, an error of the database, or [`TurnError::PromptTooSlow`].
pub async fn read_in_time<T, F>(store: &Store, closure: F) -> Result<T, TurnError>
where
    T: Send + 'static,
    F: FnOnce(&mut StoreReader<'_>) -> Result<T, TurnError> + Send + 'static,
{
    match tokio::time::timeout(TIMEOUT, store.read(closure)).await {
        Ok(outcome) => outcome,
        Err(_) => Err(TurnError::PromptTooSlow { seconds: TIMEOUT.as_secs() }),
    }
}
