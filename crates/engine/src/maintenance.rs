//! What the server does for itself once a day: a copy of the database, and clearing away what may go. Each of the two goes on
//! beside turns, and a failure of one keeps nobody from the other.
//!
//! To add a chore: a line in [`Maintenance::run_pass`]. Whatever takes long is cut into small writes there where it is done.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;

use clotho_core::clock::{Clock, Time};
use clotho_search::Index;
use clotho_store::{GcReport, Store, backups};

/// How often it looks whether a day has begun; the first time a while after the start, which has enough to do.
const LOOK_AGAIN: Duration = Duration::from_secs(300);
/// Milliseconds of a day.
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// What is done once a day.
pub struct Maintenance {
    /// The database file.
    pub database: PathBuf,
    /// The folder of the backups.
    pub folder: PathBuf,
    /// So many backups are kept; none are made for 0.
    pub backups: usize,
    /// The search index.
    pub index: Arc<Index>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// The day, counted from 1970, of the last pass.
    last_day: Mutex<Option<i64>>,
}

impl Maintenance {
    /// Nothing has been done yet.
    pub fn new(database: PathBuf, folder: PathBuf, backups: usize, index: Arc<Index>, clock: Arc<dyn Clock>) -> Self {
        Self { database, folder, backups, index, clock, last_day: Mutex::default() }
    }

    /// Begins to look after the store, as long as it lives.
    pub fn begin(self: &Arc<Self>, runtime: &Handle, store: &Arc<Store>) {
        let (night, store) = (Arc::clone(self), Arc::downgrade(store));
        runtime.spawn(async move {
            loop {
                tokio::time::sleep(LOOK_AGAIN).await;
                let Some(store) = store.upgrade() else { return };
                if night.is_due() {
                    night.run_pass(&store).await;
                }
            }
        });
    }

    fn is_due(&self) -> bool {
        *self.last_day.lock().unwrap_or_else(PoisonError::into_inner) != Some(day(self.clock.now()))
    }

    /// Does what is to be done on a day.
    pub async fn run_pass(&self, store: &Arc<Store>) {
        let now = self.clock.now();
        *self.last_day.lock().unwrap_or_else(PoisonError::into_inner) = Some(day(now));
        let (database, folder, most) = (self.database.clone(), self.folder.clone(), self.backups);
        let copied = tokio::task::spawn_blocking(move || backups::daily_backup(&database, &folder, most, now)).await;
        match copied {
            Ok(Ok(Some(file))) => tracing::info!(file = %file.display(), "the copy of the day was made"),
            Ok(Ok(None)) => {}
            Ok(Err(error)) => tracing::error!("the copy of the day could not be made: {error}"),
            Err(error) => tracing::error!("the copy of the day could not be made: {error}"),
        }
        match store.collect_garbage(now).await {
            Ok(swept) if swept == GcReport::default() => {}
            Ok(swept) => tracing::info!("cleared away: {swept}"),
            Err(error) => tracing::error!("clearing away failed, the rest goes the next time: {error}"),
        }
        let (store, index) = (Arc::clone(store), Arc::clone(&self.index));
        let emptied = tokio::task::spawn_blocking(move || {
            // What was destroyed has left at once; what else is not found any more leaves here.
            if let Err(error) = index.purge_removed() {
                tracing::warn!("what is not found any more is still in the index: {error}");
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
