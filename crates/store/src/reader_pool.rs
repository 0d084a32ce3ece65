//! The pool of read connections and reader threads. A read sees one snapshot from its first statement to its
//! last. The connection and the thread used last are used next: their caches are warm, and the others stay
//! asleep.
//!
//! A short read runs on the caller's thread while fewer than half of the connections are in use. Waking a thread
//! and being woken by it takes longer than reading 100 rows. With many readers the threads are awake, and
//! handing a read over costs almost nothing.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use clotho_core::stop_check::StopCheck;
use tokio::sync::oneshot;

use super::caches::Caches;
use super::conn::{self, Conn};
use super::error::StoreError;
use super::read::StoreReader;

type ReadJob = Box<dyn FnOnce(&mut StoreReader<'_>) + Send>;

/// The pool of read connections and threads.
pub struct ReaderPool {
    queue: Arc<ReadQueue>,
    threads: Vec<thread::JoinHandle<()>>,
    caches: Arc<Caches>,
}

/// The queue in which reads wait for a connection and a thread.
#[derive(Default)]
struct ReadQueue {
    state: Mutex<ReadQueueState>,
}

#[derive(Default)]
struct ReadQueueState {
    jobs: VecDeque<ReadJob>,
    /// The idle connections; the last one was used last.
    idle: Vec<Conn>,
    /// The condition variables of sleeping threads; the last one fell asleep last.
    sleeping_threads: Vec<Arc<Condvar>>,
    is_closed: bool,
}

impl ReadQueueState {
    /// Returns the thread to wake, if a read waits and a connection is idle.
    fn thread_to_wake(&mut self) -> Option<Arc<Condvar>> {
        if self.jobs.is_empty() || self.idle.is_empty() { None } else { self.sleeping_threads.pop() }
    }
}

impl ReadQueue {
    fn lock_state(&self) -> MutexGuard<'_, ReadQueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn submit(&self, job: ReadJob) {
        let mut queue = self.lock_state();
        queue.jobs.push_back(job);
        wake_thread(queue);
    }

    /// Takes an idle connection for a read on the caller's thread; `None` if half of all connections are in use.
    fn try_take_conn(&self, all: usize) -> Option<Conn> {
        let mut queue = self.lock_state();
        if queue.idle.len() * 2 > all { queue.idle.pop() } else { None }
    }

    fn return_conn(&self, conn: Conn) {
        let mut queue = self.lock_state();
        queue.idle.push(conn);
        wake_thread(queue);
    }

    /// Waits for the next read and a connection for it; `None` when the pool is closed. `bell` belongs to the
    /// calling thread, `used` is the connection of its last read.
    fn next(&self, bell: &Arc<Condvar>, used: Option<Conn>) -> Option<(ReadJob, Conn)> {
        let mut queue = self.lock_state();
        queue.idle.extend(used);
        loop {
            if let Some(conn) = queue.idle.pop() {
                if let Some(job) = queue.jobs.pop_front() {
                    return Some((job, conn));
                }
                queue.idle.push(conn);
            }
            if queue.is_closed && queue.jobs.is_empty() {
                return None;
            }
            queue.sleeping_threads.push(Arc::clone(bell));
            queue = bell.wait(queue).unwrap_or_else(PoisonError::into_inner);
            // After a spurious wake-up the thread is still in the list.
            queue.sleeping_threads.retain(|hung| !Arc::ptr_eq(hung, bell));
        }
    }

    fn close(&self) {
        let mut queue = self.lock_state();
        queue.is_closed = true;
        queue.sleeping_threads.drain(..).for_each(|bell| bell.notify_one());
    }
}

/// Stops a read when its caller is dropped before it has the result.
struct WaitingCaller(Option<StopCheck>);

impl Drop for WaitingCaller {
    fn drop(&mut self) {
        if let Some(stop) = &self.0 {
            stop.stop();
        }
    }
}

/// Wakes a thread if one is needed, after the lock is released.
fn wake_thread(mut queue: MutexGuard<'_, ReadQueueState>) {
    let woken = queue.thread_to_wake();
    drop(queue);
    if let Some(bell) = woken {
        bell.notify_one();
    }
}

impl ReaderPool {
    /// Opens `count` connections and starts as many threads for long reads.
    ///
    /// # Errors
    /// Returns an error if the database cannot be opened, or if a thread cannot be started.
    pub fn start(path: &Path, count: usize, caches: &Arc<Caches>) -> Result<Self, StoreError> {
        // If a later step fails, dropping this ends the threads that were started.
        let mut readers = Self { queue: Arc::default(), threads: Vec::new(), caches: Arc::clone(caches) };
        for _ in 0..count.max(1) {
            readers.queue.return_conn(conn::open_reader(path)?);
            let (desk, caches) = (Arc::clone(&readers.queue), Arc::clone(caches));
            let thread = thread::Builder::new()
                .name("store-reader".into())
                .spawn(move || run_thread(&desk, &caches))
                .map_err(|error| StoreError::Open(error.to_string()))?;
            readers.threads.push(thread);
        }
        Ok(readers)
    }

    /// Runs a closure on one snapshot, on a reader thread. If the future is dropped, a closure that waits does not run,
    /// and one that runs ends at its next [`StoreReader::check_wanted`].
    ///
    /// # Errors
    /// Returns the closure's error, or an error of the database.
    pub async fn read<T, E, F>(&self, closure: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&mut StoreReader<'_>) -> Result<T, E> + Send + 'static,
    {
        let (reply, result) = oneshot::channel();
        let stop = StopCheck::new();
        let mut waiting = WaitingCaller(Some(stop.clone()));
        let job: ReadJob = Box::new(move |reader| {
            if stop.is_stopped() {
                return;
            }
            let outcome = reader.snapshot_until(&stop, closure);
            let _ = reply.send(outcome);
        });
        self.queue.submit(job);
        let outcome = result.await;
        // What was read may keep the sign. It is only for those who are gone.
        waiting.0 = None;
        outcome.unwrap_or_else(|_| Err(panicked().into()))
    }

    /// Runs a short closure on one snapshot, on the caller's thread if few others read.
    ///
    /// # Errors
    /// Returns the closure's error, or an error of the database.
    pub async fn read_inline<T, E, F>(&self, closure: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&mut StoreReader<'_>) -> Result<T, E> + Send + 'static,
    {
        let Some(mut conn) = self.queue.try_take_conn(self.threads.len()) else { return self.read(closure).await };
        let outcome = catch_panic(&mut conn, &self.caches, |reader| reader.snapshot(closure));
        self.queue.return_conn(conn);
        outcome.unwrap_or_else(|| Err(panicked().into()))
    }
}

impl Drop for ReaderPool {
    fn drop(&mut self) {
        self.queue.close();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn run_thread(queue: &ReadQueue, caches: &Arc<Caches>) {
    let bell = Arc::new(Condvar::new());
    let mut used = None;
    while let Some((job, mut conn)) = queue.next(&bell, used.take()) {
        // The caller learns of a panic because its reply channel is dropped.
        let _ = catch_panic(&mut conn, caches, job);
        used = Some(conn);
    }
}

/// Runs one read. `None` means that it panicked; the connection stays usable.
fn catch_panic<T>(conn: &mut Conn, caches: &Arc<Caches>, read: impl FnOnce(&mut StoreReader<'_>) -> T) -> Option<T> {
    let mut reader = StoreReader::new(conn, caches);
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| read(&mut reader)));
    if outcome.is_err() {
        conn::end_read(conn);
    }
    outcome.ok()
}

fn panicked() -> StoreError {
    StoreError::Database("a read panicked".into())
}
