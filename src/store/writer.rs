//! The writer: one thread owns the one writing connection and commits in groups, so that many requests share one fsync
//! while each hears of its own result.
//!
//! A write closure is synchronous and may run more than once. If it refuses, its group is rolled back and run again with a
//! savepoint for each request, so that only what the refused one did is taken back; if the database fails in the middle of
//! a group, each request is run again alone, so that only the one that cannot succeed fails.

use std::collections::VecDeque;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::Disk;
use super::conn::{self, Conn};
use super::error::{StoreError, WriteError};
use super::memory::Memory;
use super::tx::{Published, Tx, TxContext};

/// How long the writer waits for those who shared the last commit.
const LINGER: Duration = Duration::from_micros(200);

/// What the writer thread is asked to do.
trait Job: Send {
    /// Runs the closure; keeps the result inside. `Err` is a database failure: the group must be rolled back.
    fn run(&mut self, tx: &mut Tx<'_>) -> Result<Verdict, StoreError>;
    /// The request is over: its result stands, or the failure that befell it.
    fn answer(self: Box<Self>, outcome: Result<(), StoreError>);
}

/// What can be taken back while a group is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Guard {
    /// The group as a whole: hardly ever is a request refused, and savepoints would copy every page for each.
    Group,
    /// Each request alone, by a savepoint of its own.
    Each,
}

/// Why a group was taken back.
struct Failed {
    error: StoreError,
    is_begun: bool,
}

/// What became of one request.
enum Verdict {
    Keep,
    TakeBack,
}

struct Request<T, F> {
    closure: F,
    result: Option<Result<T, WriteError>>,
    reply: oneshot::Sender<Result<T, WriteError>>,
}

impl<T, F> Job for Request<T, F>
where
    T: Send,
    F: FnMut(&mut Tx<'_>) -> Result<T, WriteError> + Send,
{
    fn run(&mut self, tx: &mut Tx<'_>) -> Result<Verdict, StoreError> {
        // What it said in a group that was taken back says nothing about this run.
        self.result = None;
        match (self.closure)(tx) {
            Err(WriteError::Failed(error)) => Err(error),
            result => {
                let verdict = if result.is_ok() { Verdict::Keep } else { Verdict::TakeBack };
                self.result = Some(result);
                Ok(verdict)
            }
        }
    }

    fn answer(self: Box<Self>, outcome: Result<(), StoreError>) {
        let result = match (outcome, self.result) {
            (Ok(()), Some(result)) => result,
            (Ok(()), None) => Err(WriteError::Failed(StoreError::Closed)),
            // A refusal stands even if the commit then failed: nothing of it was to be kept.
            (Err(_), Some(Err(refused))) => Err(refused),
            (Err(error), _) => Err(WriteError::Failed(error)),
        };
        // A caller that went away does not undo what was committed.
        let _ = self.reply.send(result);
    }
}

/// The door to the writer thread.
pub struct Writer {
    jobs: Option<mpsc::Sender<Box<dyn Job>>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread. `published` hears of every operation after it is durable, in the order of the log.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(
        conn: Conn,
        context: TxContext,
        group_max: usize,
        disk: Disk,
        published: tokio::sync::mpsc::UnboundedSender<Published>,
    ) -> Result<Self, StoreError> {
        let (jobs, queue) = mpsc::channel();
        let mut group = Group { conn, context, memory: Memory::default(), published, group_max, disk };
        let thread = thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || group.serve(&queue))
            .map_err(|error| StoreError::Open(error.to_string()))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Runs a closure in a transaction and waits until it is durable.
    ///
    /// # Errors
    /// The closure's own refusal, or the database's failure; either way nothing of it was kept.
    pub async fn write<T, F>(&self, closure: F) -> Result<T, WriteError>
    where
        T: Send + 'static,
        F: FnMut(&mut Tx<'_>) -> Result<T, WriteError> + Send + 'static,
    {
        let (reply, result) = oneshot::channel();
        let job = Box::new(Request { closure, result: None, reply });
        let jobs = self.jobs.as_ref().ok_or(StoreError::Closed)?;
        jobs.send(job).map_err(|_| StoreError::Closed)?;
        result.await.map_err(|_| StoreError::Closed)?
    }

    /// Runs a closure in a transaction some time soon, for nobody: work that may as well be lost.
    pub fn post<F>(&self, closure: F)
    where
        F: FnMut(&mut Tx<'_>) -> Result<(), WriteError> + Send + 'static,
    {
        let (reply, _) = oneshot::channel();
        if let Some(jobs) = &self.jobs {
            let _ = jobs.send(Box::new(Request { closure, result: None, reply }));
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Group {
    conn: Conn,
    context: TxContext,
    memory: Memory,
    published: tokio::sync::mpsc::UnboundedSender<Published>,
    group_max: usize,
    disk: Disk,
}

impl Group {
    fn serve(&mut self, queue: &mpsc::Receiver<Box<dyn Job>>) {
        let mut last = 1;
        while let Ok(first) = queue.recv() {
            let jobs = self.gather(queue, first, last);
            last = jobs.len();
            self.together(jobs);
        }
    }

    /// Takes what waits. Those who shared the last commit were answered just now, and under load most of them come again
    /// at once: as many are waited for, for much less time than the commit takes that they would otherwise miss.
    fn gather(&self, queue: &mpsc::Receiver<Box<dyn Job>>, first: Box<dyn Job>, last: usize) -> VecDeque<Box<dyn Job>> {
        let mut jobs = VecDeque::from([first]);
        let until = Instant::now() + LINGER;
        while jobs.len() < self.group_max {
            let missed =
                if jobs.len() < last { until.saturating_duration_since(Instant::now()) } else { Duration::ZERO };
            match queue.recv_timeout(missed) {
                Ok(job) => jobs.push_back(job),
                Err(_) => break,
            }
        }
        jobs
    }

    /// One transaction for all. At the first database failure nothing of the group may be trusted (on a full disk the
    /// database itself has rolled back, and a later statement would commit alone): take all back, then one by one.
    fn together(&mut self, mut jobs: VecDeque<Box<dyn Job>>) {
        let mut outcome = self.transaction(jobs.make_contiguous(), Guard::Group);
        if matches!(outcome, Ok(None)) {
            outcome = self.transaction(jobs.make_contiguous(), Guard::Each);
        }
        match outcome {
            Ok(published) => self.finish(jobs, published.unwrap_or_default()),
            // The group was not even begun: alone each would wait as long for the same lock.
            Err(Failed { error, is_begun }) if jobs.len() == 1 || !is_begun => {
                let error = self.disk.name(error);
                jobs.into_iter().for_each(|job| job.answer(Err(error.clone())));
            }
            Err(_) => {
                for job in jobs {
                    self.together(VecDeque::from([job]));
                }
            }
        }
    }

    fn finish(&mut self, jobs: VecDeque<Box<dyn Job>>, published: Vec<Published>) {
        for event in published {
            // Nobody follows during shutdown; the log still has it.
            let _ = self.published.send(event);
        }
        jobs.into_iter().for_each(|job| job.answer(Ok(())));
    }

    /// Runs all and commits; whatever does not end so is taken back. `None`: one was refused and nothing guarded the others.
    fn transaction(&mut self, jobs: &mut [Box<dyn Job>], guard: Guard) -> Result<Option<Vec<Published>>, Failed> {
        let begun = conn::begin_write(&mut self.conn);
        let is_begun = begun.is_ok();
        let run = begun.and_then(|()| self.requests(jobs, guard));
        let result = run.and_then(|published| {
            if published.is_some() {
                conn::commit(&mut self.conn)?;
            }
            Ok(published)
        });
        match &result {
            Ok(Some(_)) => self.context.caches.count_commit(),
            // If an earlier transaction could not be ended, this ends it.
            _ => {
                conn::rollback(&mut self.conn);
                self.memory.forget();
            }
        }
        result.map_err(|error| Failed { error, is_begun })
    }

    fn requests(&mut self, jobs: &mut [Box<dyn Job>], guard: Guard) -> Result<Option<Vec<Published>>, StoreError> {
        let mut published = Vec::new();
        for job in jobs {
            if guard == Guard::Each {
                conn::savepoint(&mut self.conn)?;
            }
            let mut tx = Tx::new(&mut self.conn, &self.context, &mut self.memory);
            let verdict = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| job.run(&mut tx)))
                .unwrap_or_else(|_| Err(StoreError::Database("a write panicked".into())))?;
            let events = tx.finish()?;
            match (verdict, guard) {
                (Verdict::Keep, Guard::Group) => published.extend(events),
                (Verdict::Keep, Guard::Each) => {
                    conn::release(&mut self.conn)?;
                    published.extend(events);
                }
                (Verdict::TakeBack, Guard::Group) => return Ok(None),
                (Verdict::TakeBack, Guard::Each) => {
                    conn::rollback_to_savepoint(&mut self.conn)?;
                    self.memory.forget();
                }
            }
        }
        Ok(Some(published))
    }
}
