//! The queue of uploaded files. One thread imports them one after the other while the server keeps running.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use jiff::tz::TimeZone;
use serde_json::Value;

use clotho_core::clock::{Clock, IdGenerator};
use clotho_core::ids::{JobId, SessionId, UserId};
use clotho_store::archive::ArchiveLimits;
use clotho_store::{Store, StoreError, WriteError};

use super::foreign;
use super::import::{ImportError, ImportProgress, SessionImportOptions, import};
use super::jobs::{ImportResult, TooManyImports, TransferJob, TransferJobState, TransferJobs};
use super::session_titles::TitleLanguage;
use super::sillytavern::{ImportOptions, ImportSource};

/// An uploaded file that waits for its import.
struct ImportJob {
    job: JobId,
    owner: UserId,
    file: File,
    kind: UploadKind,
}

/// An upload slot. It is released on drop, also when the client disconnects, so failed uploads do not use up the
/// limit.
#[must_use]
pub struct UploadSlot {
    jobs: Arc<TransferJobs>,
    owner: UserId,
    job: JobId,
    is_submitted: bool,
}

impl UploadSlot {
    /// Returns the id of the job that will report on the file.
    pub fn job(&self) -> JobId {
        self.job
    }
}

impl Drop for UploadSlot {
    fn drop(&mut self) {
        if !self.is_submitted {
            self.jobs.forget(self.job);
        }
    }
}

/// The kind of an uploaded file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UploadKind {
    /// A session file of Clotho.
    Session(SessionUpload),
    /// Data of another program.
    Foreign(ForeignUpload),
}

/// The options for importing a session file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionUpload {
    /// A title that replaces the one in the file.
    pub title: Option<String>,
    /// Whether all settings of the file come into force (see `SessionImportOptions`).
    pub is_trusted: bool,
}

/// The options for importing data of another program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignUpload {
    /// The file name; it becomes the title of a chat without one.
    pub name: String,
    /// The time zone of dates that name none.
    pub zone: TimeZone,
    /// The language of dates in titles.
    pub language: TitleLanguage,
    /// Whether this is a dry run: only the report is made, nothing is written.
    pub is_dry: bool,
    /// Whether all settings of exported sessions come into force (see `SessionImportOptions`).
    pub is_trusted: bool,
}

/// The import queue.
pub struct ImportQueue {
    store: Arc<Store>,
    jobs: Arc<TransferJobs>,
    clock: Arc<dyn Clock>,
    ids: Arc<IdGenerator>,
    is_closed: Arc<AtomicBool>,
    open: Mutex<Option<ImportQueueThread>>,
}

struct ImportQueueThread {
    sender: Sender<ImportJob>,
    thread: JoinHandle<()>,
}

/// What the import thread works with.
struct ImportWorker {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    ids: Arc<IdGenerator>,
    limits: ArchiveLimits,
    jobs: Arc<TransferJobs>,
    is_closed: Arc<AtomicBool>,
}

impl ImportQueue {
    /// Starts the import thread.
    ///
    /// # Errors
    /// Returns an error if the thread cannot be started.
    pub fn open(
        store: Arc<Store>,
        clock: Arc<dyn Clock>,
        ids: Arc<IdGenerator>,
        limits: ArchiveLimits,
    ) -> io::Result<Self> {
        let (errands, queue) = mpsc::channel();
        let (jobs, is_closed) = (Arc::new(TransferJobs::default()), Arc::new(AtomicBool::new(false)));
        let clerk = ImportWorker {
            store: Arc::clone(&store),
            clock: Arc::clone(&clock),
            ids: Arc::clone(&ids),
            limits,
            jobs: Arc::clone(&jobs),
            is_closed: Arc::clone(&is_closed),
        };
        // The thread only waits for store and files, so one runtime thread is enough.
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        let thread = thread::Builder::new().name("import".into()).spawn(move || clerk.run(&runtime, &queue))?;
        Ok(Self {
            store,
            jobs,
            clock,
            ids,
            is_closed,
            open: Mutex::new(Some(ImportQueueThread { sender: errands, thread })),
        })
    }

    /// Reserves an upload slot.
    ///
    /// # Errors
    /// Returns an error if too many imports of the caller are waiting or running.
    pub fn reserve_slot(&self, owner: UserId) -> Result<UploadSlot, TooManyImports> {
        let job = JobId::new(self.ids.next_id(self.clock.now()));
        self.jobs.begin(owner, job)?;
        Ok(UploadSlot { jobs: Arc::clone(&self.jobs), owner, job, is_submitted: false })
    }

    /// Cancels a job of the caller, which ends at its next progress report. Returns `false` if there is no such job.
    pub fn cancel(&self, owner: UserId, id: JobId) -> bool {
        self.jobs.cancel(owner, id)
    }

    /// Queues an uploaded file. From here on the job survives a restart.
    ///
    /// # Errors
    /// Returns an error if the store fails; there is no job then.
    pub async fn submit(&self, mut place: UploadSlot, file: File, kind: UploadKind) -> Result<JobId, WriteError> {
        let (job, owner, at) = (place.job, place.owner, self.clock.now());
        self.store.write(move |tx| tx.begin_job(owner, job, at)).await?;
        place.is_submitted = true;
        self.enqueue(ImportJob { job, owner, file, kind });
        Ok(job)
    }

    fn enqueue(&self, queued: ImportJob) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let job = queued.job;
        if open.as_ref().is_none_or(|open| open.sender.send(queued).is_err()) {
            self.jobs.finish(job, Err(ImportError::Stopped));
        }
    }

    /// Returns a job of the caller. One that only the store knows is from before the last start: it either
    /// completed or was interrupted.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub async fn job(&self, owner: UserId, id: JobId) -> Result<Option<TransferJob>, StoreError> {
        if let Some(job) = self.jobs.get(owner, id) {
            return Ok(Some(job));
        }
        let stored_job = self.store.read(move |reader| reader.job(owner, id)).await?;
        Ok(stored_job.map(|stored| {
            let report = stored.report.and_then(|report| serde_json::from_str(&report).ok());
            let brought = stored
                .session
                .map(ImportResult::Session)
                .or(report.map(|report| ImportResult::Foreign(Arc::new(report))));
            let state = brought.map_or(TransferJobState::Failed(ImportError::Stopped), TransferJobState::Done);
            TransferJob { id, owner, progress: ImportProgress::default(), state, is_cancelled: false }
        }))
    }

    /// Stops the running import and waits for it. An incomplete session is not kept.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(ImportQueueThread { sender: errands, thread }) = open {
            drop(errands);
            let _ = thread.join();
        }
    }
}

impl Drop for ImportQueue {
    fn drop(&mut self) {
        self.close();
    }
}

impl ImportWorker {
    fn run(&self, runtime: &tokio::runtime::Runtime, queue: &Receiver<ImportJob>) {
        while let Ok(ImportJob { job, owner, file, kind }) = queue.recv() {
            let result = match kind {
                _ if self.jobs.is_cancelled(job) => Err(ImportError::Cancelled),
                UploadKind::Session(SessionUpload { title, is_trusted }) => {
                    let arrival = SessionImportOptions { owner, job: Some(job), title, is_trusted };
                    runtime.block_on(self.import_session(job, arrival, file)).map(ImportResult::Session)
                }
                UploadKind::Foreign(how) => {
                    runtime.block_on(self.import_foreign(job, owner, file, how)).map(ImportResult::Foreign)
                }
            };
            let result = result.map_err(|error| match error {
                ImportError::Stopped if self.jobs.is_cancelled(job) => ImportError::Cancelled,
                error => error,
            });
            if let Err(error) = &result {
                runtime.block_on(self.record_failure(job, error));
            }
            match &result {
                Err(error @ (ImportError::Store(_) | ImportError::Read(_))) => {
                    tracing::error!(%job, "an import failed: {error}");
                }
                Err(error) => tracing::info!(%job, "an import failed: {error}"),
                Ok(_) => tracing::info!(%job, "an import ended"),
            }
            self.jobs.finish(job, result);
        }
    }

    async fn import_session(
        &self,
        job: JobId,
        arrival: SessionImportOptions,
        mut file: File,
    ) -> Result<SessionId, ImportError> {
        let report_progress = |progress| self.report_progress(job, progress);
        import(&self.store, &mut file, arrival, &self.ids, self.clock.now(), self.limits, report_progress).await
    }

    async fn import_foreign(
        &self,
        job: JobId,
        owner: UserId,
        file: File,
        how: ForeignUpload,
    ) -> Result<Arc<Value>, ImportError> {
        let ForeignUpload { name, zone, language, is_dry, is_trusted } = how;
        let (at, limits) = (self.clock.now(), self.limits);
        let options = ImportOptions { owner, at, zone, language, is_dry, is_trusted, limits };
        let given = ImportSource::File(file, name);
        let report_progress = |progress| self.report_progress(job, progress);
        let arrived = foreign::import(&self.store, &self.ids, given, options, report_progress).await?;
        let report = serde_json::to_value(&arrived).unwrap_or_default();
        let text = report.to_string();
        self.store.write(move |tx| tx.end_job_with_report(job, &text)).await?;
        Ok(Arc::new(report))
    }

    fn report_progress(&self, job: JobId, progress: ImportProgress) -> bool {
        self.jobs.set_progress(job, progress);
        !self.is_closed.load(Ordering::SeqCst) && !self.jobs.is_cancelled(job)
    }

    /// Deletes the record of a failed job, unless it was interrupted. Otherwise it would look interrupted after a
    /// restart.
    async fn record_failure(&self, job: JobId, error: &ImportError) {
        if matches!(error, ImportError::Stopped) {
            return;
        }
        if let Err(error) = self.store.write(move |tx| tx.delete_job(job)).await {
            tracing::warn!(%job, "the job could not be deleted: {error}");
        }
    }
}
