//! Where files are handed in: one thread takes them in, one after the other, while the server goes on.

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
use super::sillytavern::{ImportOptions, ImportSource};

/// A file that is to come in.
struct ImportJob {
    job: JobId,
    owner: UserId,
    file: File,
    kind: UploadKind,
}

/// A place for a file that is about to arrive. It is given back when it is let go of, also by a request whose client has
/// gone: nobody's places are used up by files that never came.
#[must_use]
pub struct UploadSlot {
    jobs: Arc<TransferJobs>,
    owner: UserId,
    job: JobId,
    is_submitted: bool,
}

impl UploadSlot {
    /// The job that will tell of the file.
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

/// What a file that is handed in is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UploadKind {
    /// A session, as this program writes it, and how it is to be called if not as the file has it.
    Session(Option<String>),
    /// What another program keeps.
    Foreign(ForeignUpload),
}

/// What another program keeps, and how it is taken in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignUpload {
    /// How the file is called: a chat without a title is called so.
    pub name: String,
    /// The time zone of moments that name none.
    pub zone: TimeZone,
    /// Whether nothing is written, and only the report is wanted.
    pub is_dry: bool,
}

/// The desk.
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

/// What the thread works with.
struct ImportWorker {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    ids: Arc<IdGenerator>,
    limits: ArchiveLimits,
    jobs: Arc<TransferJobs>,
    is_closed: Arc<AtomicBool>,
}

impl ImportQueue {
    /// Opens the desk.
    ///
    /// # Errors
    /// The system gives no thread.
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
        // Store and files are waited for; nothing else happens on this thread.
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

    /// A place for a file that is about to arrive.
    ///
    /// # Errors
    /// The caller has enough of them.
    pub fn expect(&self, owner: UserId) -> Result<UploadSlot, TooManyImports> {
        let job = JobId::new(self.ids.next(self.clock.now()));
        self.jobs.begin(owner, job)?;
        Ok(UploadSlot { jobs: Arc::clone(&self.jobs), owner, job, is_submitted: false })
    }

    /// Ends a caller's job that waits or runs, when it looks next. `false`: there is none.
    pub fn cancel(&self, owner: UserId, id: JobId) -> bool {
        self.jobs.cancel(owner, id)
    }

    /// The file is there: it is taken in when its turn comes. From here on a restart does not forget the job.
    ///
    /// # Errors
    /// The store fails; there is no job then.
    pub async fn submit(&self, mut place: UploadSlot, file: File, kind: UploadKind) -> Result<JobId, WriteError> {
        let (job, owner, at) = (place.job, place.owner, self.clock.now());
        self.store.write(move |tx| tx.begin_job(owner, job, at)).await?;
        place.is_submitted = true;
        self.enqueue(ImportJob { job, owner, file, kind });
        Ok(job)
    }

    fn enqueue(&self, errand: ImportJob) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let job = errand.job;
        if open.as_ref().is_none_or(|open| open.sender.send(errand).is_err()) {
            self.jobs.finish(job, Err(ImportError::Stopped));
        }
    }

    /// A caller's job. One that only the store knows is from before the start: it brought its session in, or was
    /// interrupted.
    ///
    /// # Errors
    /// The store fails.
    pub async fn job(&self, owner: UserId, id: JobId) -> Result<Option<TransferJob>, StoreError> {
        if let Some(job) = self.jobs.get(owner, id) {
            return Ok(Some(job));
        }
        let known = self.store.read(move |reader| reader.job(owner, id)).await?;
        Ok(known.map(|kept| {
            let report = kept.report.and_then(|report| serde_json::from_str(&report).ok());
            let brought = kept
                .session
                .map(ImportResult::Session)
                .or(report.map(|report| ImportResult::Foreign(Arc::new(report))));
            let state = brought.map_or(TransferJobState::Failed(ImportError::Stopped), TransferJobState::Done);
            TransferJob { id, owner, progress: ImportProgress::default(), state, is_cancelled: false }
        }))
    }

    /// Ends what runs, and waits for it. What was not whole is not kept.
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
                UploadKind::Session(title) => {
                    let arrival = SessionImportOptions { owner, job: Some(job), title };
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
                    tracing::error!(%job, "a file did not come in: {error}");
                }
                Err(error) => tracing::info!(%job, "a file did not come in: {error}"),
                Ok(_) => tracing::info!(%job, "a file came in"),
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
        let told = |progress| self.report_progress(job, progress);
        import(&self.store, &mut file, arrival, &self.ids, self.clock.now(), self.limits, told).await
    }

    async fn import_foreign(
        &self,
        job: JobId,
        owner: UserId,
        file: File,
        how: ForeignUpload,
    ) -> Result<Arc<Value>, ImportError> {
        let wish =
            ImportOptions { owner, at: self.clock.now(), zone: how.zone, is_dry: how.is_dry, limits: self.limits };
        let given = ImportSource::File(file, how.name);
        let told = |progress| self.report_progress(job, progress);
        let arrived = foreign::import(&self.store, &self.ids, given, wish, told).await?;
        let report = serde_json::to_value(&arrived).unwrap_or_default();
        let text = report.to_string();
        self.store.write(move |tx| tx.end_job_with_report(job, &text)).await?;
        Ok(Arc::new(report))
    }

    fn report_progress(&self, job: JobId, progress: ImportProgress) -> bool {
        self.jobs.runs(job, progress);
        !self.is_closed.load(Ordering::SeqCst) && !self.jobs.is_cancelled(job)
    }

    /// What was interrupted is told after the restart too; what was refused is not to look interrupted then.
    async fn record_failure(&self, job: JobId, error: &ImportError) {
        if matches!(error, ImportError::Stopped) {
            return;
        }
        if let Err(error) = self.store.write(move |tx| tx.delete_job(job)).await {
            tracing::warn!(%job, "the job is not forgotten: {error}");
        }
    }
}
