//! Daily maintenance: a backup and garbage collection. Both run beside turns, and a failure of one does not stop the
//! other.
//!
//! To add a task: a line in [`Maintenance::run_pass`]. Long tasks must split their work into small writes.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;

use clotho_core::clock::{Clock, Time};
use clotho_search::Index;
use clotho_store::{GcReport, Store, backups};

/// How often it checks whether a new day has begun. The first check is this long after the start.
const LOOK_AGAIN: Duration = Duration::from_secs(300);
/// Milliseconds per day.
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// The daily maintenance.
pub struct Maintenance {
    pub database: PathBuf,
    pub folder: PathBuf,
    /// How many backups are kept; 0 makes none.
    pub backups: usize,
    pub index: Arc<Index>,
    pub clock: Arc<dyn Clock>,
    /// The day of the last pass, counted from 1970.
    last_day: Mutex<Option<i64>>,
}

impl Maintenance {
    /// Creates the maintenance; no pass has run yet.
    pub fn new(database: PathBuf, folder: PathBuf, backups: usize, index: Arc<Index>, clock: Arc<dyn Clock>) -> Self {
        Self { database, folder, backups, index, clock, last_day: Mutex::default() }
    }

    /// Starts the task, which runs as long as the store exists.
    pub fn spawn(self: &Arc<Self>, runtime: &Handle, store: &Arc<Store>) {
        let (maintenance, store) = (Arc::clone(self), Arc::downgrade(store));
        runtime.spawn(async move {
            loop {
                tokio::time::sleep(LOOK_AGAIN).await;
                let Some(store) = store.upgrade() else { return };
                if maintenance.is_due() {
                    maintenance.run_pass(&store).await;
                }
            }
        });
    }

    fn is_due(&self) -> bool {
        *self.last_day.lock().unwrap_or_else(PoisonError::into_inner) != Some(day(self.clock.now()))
    }

    /// Runs one pass: backup, garbage collection, and compaction of index and write-ahead log.
    pub async fn run_pass(&self, store: &Arc<Store>) {
        let now = self.clock.now();
        *self.last_day.lock().unwrap_or_else(PoisonError::into_inner) = Some(day(now));
        let (database, folder, most) = (self.database.clone(), self.folder.clone(), self.backups);
        let copied = tokio::task::spawn_blocking(move || backups::daily_backup(&database, &folder, most, now)).await;
        match copied {
            Ok(Ok(Some(file))) => tracing::info!(file = %file.display(), "the daily backup was made"),
            Ok(Ok(None)) => {}
            Ok(Err(error)) => tracing::error!("the daily backup failed: {error}"),
            Err(error) => tracing::error!("the daily backup failed: {error}"),
        }
        match store.collect_garbage(now).await {
            Ok(swept) if swept == GcReport::default() => {}
            Ok(swept) => tracing::info!("removed: {swept}"),
            Err(error) => tracing::error!("removing unused data failed, the next run continues: {error}"),
        }
        let (store, index) = (Arc::clone(store), Arc::clone(&self.index));
        let emptied = tokio::task::spawn_blocking(move || {
            // Purged data was erased at once; this erases everything else that was removed from the index.
            if let Err(error) = index.purge_removed() {
                tracing::warn!("deleted texts are still in the search index: {error}");
            }
            store.checkpoint_wal()
        });
        if let Ok(Err(error)) = emptied.await {
            tracing::warn!("the write-ahead log could not be emptied: {error}");
        }
    }
}

fn day(now: Time) -> i64 {
    now.0.div_euclid(DAY_MS)
}
