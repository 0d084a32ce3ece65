//! The writer: one thread owns the only write connection and commits in groups. Many requests share one fsync,
//! and each gets its own result. A group is written while it gathers: a request that arrives before the commit
//! joins it.
//!
//! A write closure is synchronous and may run more than once. If one is refused, its group is rolled back and
//! run again with a savepoint for each request. So only the refused one is undone. If the database fails in the
//! middle of a group, each request is run again alone, so that only the failing one fails.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::DiskProbe;
use super::conn::{self, Conn};
use super::error::{StoreError, WriteError};
use super::tx::{PublishedOperation, Tx, TxContext};
use super::writer_cache::WriterCache;

/// How long the writer waits for the requests that shared the last commit.
const LINGER: Duration = Duration::from_micros(200);

/// The writer spins this long before it blocks, because blocking and waking up cost about the same.
const SPIN_TIME: Duration = Duration::from_micros(20);

/// A job of the writer thread.
trait WriteJob: Send {
    /// Runs the closure and keeps its result. `Err` is a database failure: the group must be rolled back.
    fn run(&mut self, tx: &mut Tx<'_>) -> Result<WriteVerdict, StoreError>;
    /// Sends the result of the request, or the failure of its group.
    fn answer(self: Box<Self>, outcome: Result<(), StoreError>);
}

/// What can be rolled back while a group is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SavepointMode {
    /// Only the whole group. Refusals are rare, and savepoints would copy every page for each request.
    WholeGroup,
    /// Each request, by its own savepoint.
    EachRequest,
}

/// The reason why a group was rolled back.
struct GroupFailure {
    error: StoreError,
    is_begun: bool,
}

/// What to do with the changes of one request.
enum WriteVerdict {
    Commit,
    Rollback,
}

struct WriteRequest<T, F> {
    closure: F,
    result: Option<Result<T, WriteError>>,
    reply: oneshot::Sender<Result<T, WriteError>>,
}

impl<T, F> WriteJob for WriteRequest<T, F>
where
    T: Send,
    F: FnMut(&mut Tx<'_>) -> Result<T, WriteError> + Send,
{
    fn run(&mut self, tx: &mut Tx<'_>) -> Result<WriteVerdict, StoreError> {
        // A result from a group that was rolled back does not count.
        self.result = None;
        match (self.closure)(tx) {
            Err(WriteError::Failed(error)) => Err(error),
            result => {
                let verdict = if result.is_ok() { WriteVerdict::Commit } else { WriteVerdict::Rollback };
                self.result = Some(result);
                Ok(verdict)
            }
        }
    }

    fn answer(self: Box<Self>, outcome: Result<(), StoreError>) {
        let result = match (outcome, self.result) {
            (Ok(()), Some(result)) => result,
            (Ok(()), None) => Err(WriteError::Failed(StoreError::Closed)),
            // A refusal is returned even if the commit then fails, because nothing of the request was to be
            // kept.
            (Err(_), Some(Err(refused))) => Err(refused),
            (Err(error), _) => Err(WriteError::Failed(error)),
        };
        // If the caller has gone away, the commit still stands.
        let _ = self.reply.send(result);
    }
}

/// The handle of the writer thread.
pub struct StoreWriter {
    jobs: Option<mpsc::Sender<Box<dyn WriteJob>>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl StoreWriter {
    /// Starts the thread. `published` gets every operation after it is durable, in log order.
    ///
    /// # Errors
    /// Returns an error if the thread cannot be started.
    pub fn start(
        conn: Conn,
        context: TxContext,
        group_max: usize,
        disk: DiskProbe,
        published: tokio::sync::mpsc::UnboundedSender<PublishedOperation>,
    ) -> Result<Self, StoreError> {
        let (jobs, queue) = mpsc::channel();
        let mut group = WriterThread { conn, context, memory: WriterCache::default(), published, group_max, disk };
        let thread = thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || group.serve(&queue))
            .map_err(|error| StoreError::Open(error.to_string()))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Runs a closure in a transaction and waits until it is durable.
    ///
    /// # Errors
    /// Returns the closure's error or an error of the database. In both cases nothing was written.
    pub async fn write<T, F>(&self, closure: F) -> Result<T, WriteError>
    where
        T: Send + 'static,
        F: FnMut(&mut Tx<'_>) -> Result<T, WriteError> + Send + 'static,
    {
        let (reply, result) = oneshot::channel();
        let job = Box::new(WriteRequest { closure, result: None, reply });
        let jobs = self.jobs.as_ref().ok_or(StoreError::Closed)?;
        jobs.send(job).map_err(|_| StoreError::Closed)?;
        result.await.map_err(|_| StoreError::Closed)?
    }

    /// Runs a closure in a later transaction without waiting. The work may be lost.
    pub fn post<F>(&self, closure: F)
    where
        F: FnMut(&mut Tx<'_>) -> Result<(), WriteError> + Send + 'static,
    {
        let (reply, _) = oneshot::channel();
        if let Some(jobs) = &self.jobs {
            let _ = jobs.send(Box::new(WriteRequest { closure, result: None, reply }));
        }
    }
}

impl Drop for StoreWriter {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct WriterThread {
    conn: Conn,
    context: TxContext,
    memory: WriterCache,
    published: tokio::sync::mpsc::UnboundedSender<PublishedOperation>,
    group_max: usize,
    disk: DiskProbe,
}

/// The requests that may still join a group.
struct GroupQueue<'a> {
    queue: &'a mpsc::Receiver<Box<dyn WriteJob>>,
    /// How many requests shared the last commit. Under load most of their callers send the next one at once.
    expected: usize,
    max_size: usize,
    wait_budget: Duration,
}

impl GroupQueue<'_> {
    /// Returns one more request for a group of `len`. It waits for the expected ones, in total for much less
    /// time than the next commit would cost them.
    fn next(&mut self, len: usize) -> Option<Box<dyn WriteJob>> {
        if len >= self.max_size {
            return None;
        }
        if let Ok(job) = self.queue.try_recv() {
            return Some(job);
        }
        if len >= self.expected || self.wait_budget.is_zero() {
            return None;
        }
        let since = Instant::now();
        let mut job = None;
        while job.is_none() && since.elapsed() < self.wait_budget.min(SPIN_TIME) {
            thread::yield_now();
            job = self.queue.try_recv().ok();
        }
        let left = self.wait_budget.saturating_sub(since.elapsed());
        let job = job.or_else(|| self.queue.recv_timeout(left).ok());
        self.wait_budget = self.wait_budget.saturating_sub(since.elapsed());
        job
    }
}

impl WriterThread {
    fn serve(&mut self, queue: &mpsc::Receiver<Box<dyn WriteJob>>) {
        let mut expected = 1;
        while let Ok(first) = queue.recv() {
            let mut more = GroupQueue { queue, expected, max_size: self.group_max, wait_budget: LINGER };
            expected = self.commit_together(vec![first], Some(&mut more));
        }
    }

    /// Commits all jobs, and those that arrive meanwhile, in one transaction; returns their number. After a
    /// database failure nothing of the group can be trusted: on a full disk SQLite has rolled back by itself,
    /// and a later statement would commit alone. So all is rolled back and each job runs alone.
    fn commit_together(&mut self, mut jobs: Vec<Box<dyn WriteJob>>, mut more: Option<&mut GroupQueue<'_>>) -> usize {
        let mut outcome = self.transaction(&mut jobs, more.as_deref_mut(), SavepointMode::WholeGroup);
        if matches!(outcome, Ok(None)) {
            outcome = self.transaction(&mut jobs, None, SavepointMode::EachRequest);
        }
        // The transaction could not begin. Waiting requests would wait as long for the same lock, so they get
        // the same error.
        if let (Err(GroupFailure { is_begun: false, .. }), Some(more)) = (&outcome, more) {
            while jobs.len() < more.max_size
                && let Ok(job) = more.queue.try_recv()
            {
                jobs.push(job);
            }
        }
        let count = jobs.len();
        match outcome {
            Ok(published) => self.finish(jobs, published.unwrap_or_default()),
            Err(GroupFailure { error, is_begun }) if count == 1 || !is_begun => {
                let error = self.disk.classify_error(error);
                jobs.into_iter().for_each(|job| job.answer(Err(error.clone())));
            }
            Err(_) => jobs.into_iter().for_each(|job| _ = self.commit_together(vec![job], None)),
        }
        count
    }

    fn finish(&mut self, jobs: Vec<Box<dyn WriteJob>>, published: Vec<PublishedOperation>) {
        for event in published {
            // During shutdown nobody receives this; the log still has it.
            let _ = self.published.send(event);
        }
        jobs.into_iter().for_each(|job| job.answer(Ok(())));
    }

    /// Runs all jobs and commits, or rolls back. `None`: one was refused, and there were no savepoints.
    fn transaction(
        &mut self,
        jobs: &mut Vec<Box<dyn WriteJob>>,
        more: Option<&mut GroupQueue<'_>>,
        guard: SavepointMode,
    ) -> Result<Option<Vec<PublishedOperation>>, GroupFailure> {
        let begun = conn::begin_write(&mut self.conn);
        let is_begun = begun.is_ok();
        let run = begun.and_then(|()| self.run_jobs(jobs, more, guard));
        let result = run.and_then(|published| {
            if published.is_some() {
                conn::commit(&mut self.conn)?;
            }
            Ok(published)
        });
        match &result {
            Ok(Some(_)) => self.context.caches.count_commit(),
            // This also ends an earlier transaction that could not be ended.
            _ => {
                conn::rollback(&mut self.conn);
                self.memory.clear();
            }
        }
        result.map_err(|error| GroupFailure { error, is_begun })
    }

    fn run_jobs(
        &mut self,
        jobs: &mut Vec<Box<dyn WriteJob>>,
        mut more: Option<&mut GroupQueue<'_>>,
        guard: SavepointMode,
    ) -> Result<Option<Vec<PublishedOperation>>, StoreError> {
        let mut published = Vec::new();
        let mut at = 0;
        loop {
            let Some(job) = jobs.get_mut(at) else {
                match more.as_mut().and_then(|more| more.next(at)) {
                    Some(job) => jobs.push(job),
                    None => return Ok(Some(published)),
                }
                continue;
            };
            if !self.run_job(job.as_mut(), guard, &mut published)? {
                return Ok(None);
            }
            at += 1;
        }
    }

    /// Runs one job; `false` if it was refused and there was no savepoint.
    fn run_job(
        &mut self,
        job: &mut dyn WriteJob,
        guard: SavepointMode,
        published: &mut Vec<PublishedOperation>,
    ) -> Result<bool, StoreError> {
        if guard == SavepointMode::EachRequest {
            conn::savepoint(&mut self.conn)?;
        }
        let mut tx = Tx::new(&mut self.conn, &self.context, &mut self.memory);
        let verdict = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| job.run(&mut tx)))
            .unwrap_or_else(|_| Err(StoreError::Database("a write panicked".into())))?;
        let events = tx.finish()?;
        match (verdict, guard) {
            (WriteVerdict::Commit, SavepointMode::WholeGroup) => published.extend(events),
            (WriteVerdict::Commit, SavepointMode::EachRequest) => {
                conn::release(&mut self.conn)?;
                published.extend(events);
            }
            (WriteVerdict::Rollback, SavepointMode::WholeGroup) => return Ok(false),
            (WriteVerdict::Rollback, SavepointMode::EachRequest) => {
                conn::rollback_to_savepoint(&mut self.conn)?;
                self.memory.clear();
            }
        }
        Ok(true)
    }
}
