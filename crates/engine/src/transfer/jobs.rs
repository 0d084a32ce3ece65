//! Import jobs: their progress and results. They live in memory and belong to a caller. Each caller may have a few
//! unfinished ones; finished ones are kept up to a limit.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use clotho_core::ids::{JobId, SessionId, UserId};

use super::import::{ImportError, ImportProgress};

/// The most unfinished jobs of one caller.
const MAX_PER_CALLER: usize = 4;
/// The number of jobs from which the oldest finished one is removed for a new one.
const MAX_FINISHED: usize = 256;

/// An import job.
#[derive(Debug, Clone)]
pub struct TransferJob {
    pub id: JobId,
    pub owner: UserId,
    pub progress: ImportProgress,
    pub state: TransferJobState,
    /// Whether it was cancelled. It ends at its next progress report.
    pub is_cancelled: bool,
}

/// The state of a job.
#[derive(Debug, Clone)]
pub enum TransferJobState {
    Queued,
    Running,
    Done(ImportResult),
    Failed(ImportError),
}

/// What a job imported.
#[derive(Debug, Clone)]
pub enum ImportResult {
    Session(SessionId),
    /// Data of another program: the report, as JSON.
    Foreign(Arc<Value>),
}

/// The error for a caller with too many unfinished jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("you already have {MAX_PER_CALLER} imports in the queue")]
pub struct TooManyImports;

/// All jobs, oldest first.
#[derive(Default)]
pub struct TransferJobs {
    all: Mutex<Vec<TransferJob>>,
}

impl TransferJobs {
    /// Adds a queued job.
    ///
    /// # Errors
    /// Returns an error if the caller has too many unfinished jobs.
    pub fn begin(&self, owner: UserId, id: JobId) -> Result<(), TooManyImports> {
        let mut all = self.all();
        if all.iter().filter(|job| job.owner == owner && !job.is_finished()).count() >= MAX_PER_CALLER {
            return Err(TooManyImports);
        }
        if all.len() >= MAX_FINISHED
            && let Some(oldest) = all.iter().position(TransferJob::is_finished)
        {
            all.remove(oldest);
        }
        all.push(TransferJob {
            id,
            owner,
            progress: ImportProgress::default(),
            state: TransferJobState::Queued,
            is_cancelled: false,
        });
        Ok(())
    }

    /// Returns a job of the caller.
    pub fn get(&self, owner: UserId, id: JobId) -> Option<TransferJob> {
        self.all().iter().find(|job| job.id == id && job.owner == owner).cloned()
    }

    /// Removes a job whose file never arrived.
    pub fn forget(&self, id: JobId) {
        self.all().retain(|job| job.id != id);
    }

    /// Cancels a job of the caller. Returns `false` if there is no such unfinished job.
    pub fn cancel(&self, owner: UserId, id: JobId) -> bool {
        let mut all = self.all();
        let job = all.iter_mut().find(|job| job.id == id && job.owner == owner && !job.is_finished());
        job.map(|job| job.is_cancelled = true).is_some()
    }

    /// Whether a job was cancelled.
    pub fn is_cancelled(&self, id: JobId) -> bool {
        self.all().iter().any(|job| job.id == id && job.is_cancelled)
    }

    /// Marks a job as running, with its progress.
    pub fn set_progress(&self, id: JobId, progress: ImportProgress) {
        self.change(id, |job| (job.state, job.progress) = (TransferJobState::Running, progress));
    }

    /// Stores the result of a job.
    pub fn finish(&self, id: JobId, result: Result<ImportResult, ImportError>) {
        self.change(id, |job| {
            if result.is_ok() {
                job.progress.done = job.progress.total;
            }
            job.state = result.map_or_else(TransferJobState::Failed, TransferJobState::Done);
        });
    }

    fn change(&self, id: JobId, change: impl FnOnce(&mut TransferJob)) {
        if let Some(job) = self.all().iter_mut().find(|job| job.id == id) {
            change(job);
        }
    }

    fn all(&self) -> MutexGuard<'_, Vec<TransferJob>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TransferJob {
    fn is_finished(&self) -> bool {
        matches!(self.state, TransferJobState::Done(_) | TransferJobState::Failed(_))
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    /// S4-53: only the owner can cancel a job, and only while it is unfinished.
    #[test]
    fn import_job_cancel_by_owner_stops_job() {
        let (jobs, job) = (TransferJobs::default(), JobId::new(Uuid::from_u128(1)));
        let (owner, stranger) = (UserId::new(Uuid::from_u128(2)), UserId::new(Uuid::from_u128(3)));
        jobs.begin(owner, job).unwrap();
        assert!(!jobs.cancel(stranger, job) && !jobs.is_cancelled(job));
        assert!(jobs.cancel(owner, job) && jobs.is_cancelled(job));
        jobs.finish(job, Err(ImportError::Cancelled));
        assert!(!jobs.cancel(owner, job), "it is over");
        assert!(!jobs.cancel(owner, JobId::new(Uuid::from_u128(4))), "there is none");
    }
}
