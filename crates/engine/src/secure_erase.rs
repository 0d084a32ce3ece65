//! Secure erase: removes the bytes of purged data from all files (`docs/domain.md` 2.16).
//!
//! The commit that purges leaves a mark in the database. While there is a mark, everything that may contain such bytes
//! is cleaned, and the mark is removed last. So nothing is done without a purge, and a crash or failure is made up for
//! later.
//!
//! To clean another place: a line in `SecureEraser::erase_bytes`. It must be idempotent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use indexmap::IndexSet;
use tokio::runtime::Handle;
use tokio::task::{JoinError, spawn_blocking};

use clotho_core::ids::SessionId;
use clotho_search::{Index, IndexChange, IndexSendError, SearchError};
use clotho_store::{Store, StoreError, StoreReader, WriteError};

/// How often it checks for a mark.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// The pause after the first failure; it doubles with each further one, up to [`LONGEST_PAUSE`].
const PAUSE: Duration = Duration::from_millis(250);
/// The longest pause after a failure.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// After this many failures in a row, users are told.
const ALERT_AFTER: u32 = 3;
/// How often removing sessions from the index is tried again while the index is being fed.
const ASKED: usize = 8;

/// Erases purged data from the disk.
pub struct SecureEraser {
    index: Arc<Index>,
    /// Failures in a row.
    failures: AtomicU32,
}

/// Why purged data is still in files.
#[derive(Debug, thiserror::Error)]
pub enum EraseError {
    /// The database cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The database cannot be read, or its write-ahead log cannot be truncated.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The index cannot be written.
    #[error(transparent)]
    Index(#[from] SearchError),
    /// The index accepts no changes now.
    #[error(transparent)]
    Send(#[from] IndexSendError),
    /// The task panicked or was cancelled.
    #[error(transparent)]
    Broken(#[from] JoinError),
    /// The index has not processed the purge yet.
    #[error("the search index is behind")]
    IndexBehind,
    /// A reader still uses the write-ahead log.
    #[error("a reader uses the write-ahead log")]
    LogInUse,
}

impl SecureEraser {
    /// Creates an eraser without failures.
    pub fn new(index: Arc<Index>) -> Self {
        Self { index, failures: AtomicU32::new(0) }
    }

    /// Starts the task, which runs as long as the store exists.
    pub fn spawn(self: &Arc<Self>, runtime: &Handle, store: &Arc<Store>) {
        let (wiping, store) = (Arc::clone(self), Arc::downgrade(store));
        runtime.spawn(async move {
            loop {
                let Some(store) = store.upgrade() else { return };
                let pause = match wiping.erase(&store).await {
                    Ok(()) => LOOK_AGAIN,
                    Err(_) => retry_delay(wiping.failures()),
                };
                drop(store);
                tokio::time::sleep(pause).await;
            }
        });
    }

    /// Returns the failures in a row, if there are enough to tell users.
    pub fn repeated_failures(&self) -> Option<u32> {
        Some(self.failures()).filter(|failed| *failed >= ALERT_AFTER)
    }

    /// Returns the failures in a row.
    pub fn failures(&self) -> u32 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Erases what is marked, if anything is.
    ///
    /// # Errors
    /// Returns an error if a step fails. The mark stays, and everything is tried again.
    pub async fn erase(&self, store: &Arc<Store>) -> Result<(), EraseError> {
        match self.erase_bytes(store).await {
            Ok(()) => self.failures.store(0, Ordering::Relaxed),
            Err(error) => {
                let failed = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
                if failed < ALERT_AFTER {
                    tracing::info!("deleted data is no longer visible, but still in files for a moment: {error}");
                } else {
                    tracing::warn!(failed, "deleted data is no longer visible, but still in files: {error}");
                }
                return Err(error);
            }
        }
        Ok(())
    }

    async fn erase_bytes(&self, store: &Arc<Store>) -> Result<(), EraseError> {
        if store.read(|reader| reader.pending_erasure()).await?.is_none() {
            return Ok(());
        }
        // Rows that are deleted in pieces set marks in pieces, so delete them first.
        store.clear_deleted_rows().await?;
        let Some(remains) = store.read(|reader| reader.pending_erasure()).await? else { return Ok(()) };
        if self.index.cursor() < remains.cursor {
            return Err(EraseError::IndexBehind);
        }
        store.forget_worlds();
        self.forget_sessions(store).await?;
        // Keyframes below a moved node may still contain the old state.
        store.gc_keyframes().await?;
        store.gc_blobs().await?;
        let (index, own) = (Arc::clone(&self.index), Arc::clone(store));
        let emptied = move || {
            index.purge_removed()?;
            if own.checkpoint_wal()? { Ok(()) } else { Err(EraseError::LogInUse) }
        };
        spawn_blocking(emptied).await??;
        Ok(store.write(move |tx| tx.clear_erasure(remains)).await?)
    }

    /// Removes sessions from the index that no longer exist. Their log is purged with them, so the log follower cannot
    /// do it. If a crash loses the change, the mark is still there, and everything is done again.
    async fn forget_sessions(&self, store: &Arc<Store>) -> Result<(), EraseError> {
        for _ in 0..ASKED {
            let index = Arc::clone(&self.index);
            let look = move || {
                index.flush()?;
                // Read the cursor first: a session added after this advances the cursor, and the send below is refused.
                let cursor = index.cursor();
                Ok::<_, SearchError>((cursor, index.sessions()?))
            };
            let (cursor, indexed) = spawn_blocking(look).await??;
            let gone: Vec<IndexChange> = store.read(move |reader| destroyed_sessions(reader, indexed)).await?;
            if gone.is_empty() {
                return Ok(());
            }
            let index = Arc::clone(&self.index);
            match spawn_blocking(move || index.send(cursor, gone, cursor)).await? {
                Err(IndexSendError::CursorMismatch(_)) => {}
                sent => return Ok(sent?),
            }
        }
        Err(EraseError::IndexBehind)
    }
}

/// Returns the pause after this many failures.
fn retry_delay(failed: u32) -> Duration {
    let doubled = 2_u32.saturating_pow(failed.saturating_sub(1));
    PAUSE.saturating_mul(doubled).min(LONGEST_PAUSE)
}

/// Returns the changes that remove purged or trashed sessions from the index.
fn destroyed_sessions(
    reader: &mut StoreReader<'_>,
    indexed: IndexSet<SessionId>,
) -> Result<Vec<IndexChange>, StoreError> {
    let mut changes = Vec::new();
    for session in indexed {
        if reader.any_session(session)?.is_none() {
            changes.push(IndexChange::RemoveSession(session));
        }
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secure_erase_retry_delay_grows_to_limit() {
        let seconds = [1, 2, 3, 8, 40, u32::MAX].map(|failed| retry_delay(failed).as_secs_f32());
        assert_eq!(seconds, [0.25, 0.5, 1.0, 32.0, 300.0, 300.0]);
    }
}
