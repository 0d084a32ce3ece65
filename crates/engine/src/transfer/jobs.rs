//! Long work that somebody waits for: how far it is and how it ended. Jobs live in memory and belong to a caller; a few may
//! wait or run for each, and the newest that ended are remembered.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use clotho_core::ids::{JobId, SessionId, UserId};

use super::import::{ImportError, ImportProgress};

/// Jobs of one caller that wait or run.
const MAX_PER_CALLER: usize = 4;
/// Jobs remembered at most, the oldest ended ones go first.
const MAX_FINISHED: usize = 256;

/// One job.
#[derive(Debug, Clone)]
pub struct TransferJob {
    /// Its id.
    pub id: JobId,
    /// Whose it is.
    pub owner: UserId,
    /// How far it is.
    pub progress: ImportProgress,
    /// Where it stands.
    pub state: TransferJobState,
    /// Whether nobody wants it any more: it ends when it looks next.
    pub is_cancelled: bool,
}

/// Where a job stands.
#[derive(Debug, Clone)]
pub enum TransferJobState {
    /// It waits for others.
    Queued,
    /// It runs.
    Running,
    /// It is done.
    Done(ImportResult),
    /// It failed.
    Failed(ImportError),
}

/// What a job has brought.
#[derive(Debug, Clone)]
pub enum ImportResult {
    /// A session.
    Session(SessionId),
    /// What another program kept: the report, as JSON.
    Foreign(Arc<Value>),
}

/// The caller has enough jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{MAX_PER_CALLER} files are coming in for you already")]
pub struct TooManyImports;

/// All jobs, oldest first.
#[derive(Default)]
pub struct TransferJobs {
    all: Mutex<Vec<TransferJob>>,
}

impl TransferJobs {
    /// A new job that waits.
    ///
    /// # Errors
    /// The caller has enough of them.
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

    /// A caller's job.
    pub fn get(&self, owner: UserId, id: JobId) -> Option<TransferJob> {
        self.all().iter().find(|job| job.id == id && job.owner == owner).cloned()
    }

    /// A job that came to nothing before it began.
    pub fn forget(&self, id: JobId) {
        self.all().retain(|job| job.id != id);
    }

    /// A caller does not want a job any more. `false`: there is none that could still end.
    pub fn cancel(&self, owner: UserId, id: JobId) -> bool {
        let mut all = self.all();
        let job = all.iter_mut().find(|job| job.id == id && job.owner == owner && !job.is_finished());
        job.map(|job| job.is_cancelled = true).is_some()
    }

    /// Whether nobody wants a job any more.
    pub fn is_cancelled(&self, id: JobId) -> bool {
        self.all().iter().any(|job| job.id == id && job.is_cancelled)
    }

    /// A job runs, and is so far.
    pub fn runs(&self, id: JobId, progress: ImportProgress) {
        self.change(id, |job| (job.state, job.progress) = (TransferJobState::Running, progress));
    }

    /// A job is over.
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

    /// S4-53: only its caller ends a job, and only one that is not over; it is told once it looks.
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
