//! Wiping: the bytes of what was destroyed leave the files (`docs/domain.md` 2.16). The commit that destroys leaves a mark in
//! the database. Where one stands, everything that may hold such bytes is freed of them, and the mark goes last: so nothing is
//! done where nothing was destroyed, and what a crash or a failure left is done later.
//!
//! To wipe another place where texts lie: a line in `SecureEraser::erase_bytes`. It must do no harm to do it twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use indexmap::IndexSet;
use tokio::runtime::Handle;
use tokio::task::{JoinError, spawn_blocking};

use clotho_core::ids::SessionId;
use clotho_search::{Index, IndexChange, IndexSendError, SearchError};
use clotho_store::{Store, StoreError, StoreReader, WriteError};

/// How often it looks whether a mark stands.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// The first pause after a failure; each further one is twice as long, up to the longest.
const PAUSE: Duration = Duration::from_millis(250);
/// The longest pause after a failure.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// After so many failures in a row people are told.
const ALERT_AFTER: u32 = 3;
/// So often the index is asked again to forget sessions while it is fed.
const ASKED: usize = 8;

/// Takes what was destroyed off the disk.
pub struct SecureEraser {
    index: Arc<Index>,
    /// How often in a row it failed.
    failures: AtomicU32,
}

/// Why bytes of what is gone are still in files.
#[derive(Debug, thiserror::Error)]
pub enum EraseError {
    /// The database failed.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The database cannot be read, or its write-ahead log cannot be emptied.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The index cannot be written.
    #[error(transparent)]
    Index(#[from] SearchError),
    /// The index takes nothing now.
    #[error(transparent)]
    Send(#[from] IndexSendError),
    /// The work broke off.
    #[error(transparent)]
    Broken(#[from] JoinError),
    /// The index must hear of it first.
    #[error("the search index has not come so far")]
    IndexBehind,
    /// Somebody does not let the log go.
    #[error("somebody reads in the write-ahead log")]
    LogInUse,
}

impl SecureEraser {
    /// Nothing has failed yet.
    pub fn new(index: Arc<Index>) -> Self {
        Self { index, failures: AtomicU32::new(0) }
    }

    /// Begins to look after the store, as long as it lives.
    pub fn begin(self: &Arc<Self>, runtime: &Handle, store: &Arc<Store>) {
        let (wiping, store) = (Arc::clone(self), Arc::downgrade(store));
        runtime.spawn(async move {
            loop {
                let Some(store) = store.upgrade() else { return };
                let pause = match wiping.erase(&store).await {
                    Ok(()) => LOOK_AGAIN,
                    Err(_) => retry_delay(wiping.failed()),
                };
                drop(store);
                tokio::time::sleep(pause).await;
            }
        });
    }

    /// How often in a row it failed, once that is so often that people should know.
    pub fn repeated_failures(&self) -> Option<u32> {
        Some(self.failed()).filter(|failed| *failed >= ALERT_AFTER)
    }

    /// How often in a row it failed.
    pub fn failed(&self) -> u32 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Wipes what is marked, if anything is.
    ///
    /// # Errors
    /// Something is in the way; the mark stands, and all of it is to be done again.
    pub async fn erase(&self, store: &Arc<Store>) -> Result<(), EraseError> {
        match self.erase_bytes(store).await {
            Ok(()) => self.failures.store(0, Ordering::Relaxed),
            Err(error) => {
                let failed = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
                if failed < ALERT_AFTER {
                    tracing::info!("what was destroyed is out of sight, and for a moment still in files: {error}");
                } else {
                    tracing::warn!(failed, "what was destroyed is out of sight and still in files: {error}");
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
        // What goes piece by piece is marked piece by piece: it goes first.
        store.clear_deleted_rows().await?;
        let Some(remains) = store.read(|reader| reader.pending_erasure()).await? else { return Ok(()) };
        if self.index.cursor() < remains.cursor {
            return Err(EraseError::IndexBehind);
        }
        store.forget_worlds();
        self.forget_sessions(store).await?;
        // Below what was hung elsewhere they still have the world of where it was.
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

    /// Takes out of the index whatever it has of sessions that are not there: the log of a session goes with it, and so tells
    /// nobody that it is gone. Should it be lost on the way, the next scouring fails, and all is done again.
    async fn forget_sessions(&self, store: &Arc<Store>) -> Result<(), EraseError> {
        for _ in 0..ASKED {
            let index = Arc::clone(&self.index);
            let look = move || {
                index.flush()?;
                // Read first: a session that comes in from here on moves the index on.
                let cursor = index.cursor();
                Ok::<_, SearchError>((cursor, index.sessions()?))
            };
            let (cursor, known) = spawn_blocking(look).await??;
            let gone: Vec<IndexChange> = store.read(move |reader| destroyed_sessions(reader, known)).await?;
            if gone.is_empty() {
                return Ok(());
            }
            let index = Arc::clone(&self.index);
            match spawn_blocking(move || index.send(cursor, gone, cursor)).await? {
                Err(IndexSendError::Elsewhere(_)) => {}
                sent => return Ok(sent?),
            }
        }
        Err(EraseError::IndexBehind)
    }
}

/// How long it rests after so many failures.
fn retry_delay(failed: u32) -> Duration {
    let doubled = 2_u32.saturating_pow(failed.saturating_sub(1));
    PAUSE.saturating_mul(doubled).min(LONGEST_PAUSE)
}

/// What takes those of some sessions out of the index that are destroyed or lie in the trash.
fn destroyed_sessions(
    reader: &mut StoreReader<'_>,
    known: IndexSet<SessionId>,
) -> Result<Vec<IndexChange>, StoreError> {
    let mut changes = Vec::new();
    for session in known {
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
