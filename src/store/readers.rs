//! The readers: a few connections, and as many threads that read by them; a read sees one snapshot from its first statement to
//! its last. What was used last is used next: it still has the pages in its caches, and the others sleep on.
//!
//! A short read is made by whoever wants it, while fewer than half of the connections are in use: waking a thread, and being
//! woken by it, takes longer than a hundred rows. Among many who read threads are awake, and handing a read over costs next to
//! nothing.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use tokio::sync::oneshot;

use super::caches::Caches;
use super::conn::{self, Conn};
use super::error::StoreError;
use super::read::StoreReader;

type ReadJob = Box<dyn FnOnce(&mut StoreReader<'_>) + Send>;

/// The door to the connections that read.
pub struct ReaderPool {
    desk: Arc<ReadQueue>,
    threads: Vec<thread::JoinHandle<()>>,
    caches: Arc<Caches>,
}

/// Where reads wait for a connection and a thread, and both wait for a read.
#[derive(Default)]
struct ReadQueue {
    queue: Mutex<ReadQueueState>,
}

#[derive(Default)]
struct ReadQueueState {
    jobs: VecDeque<ReadJob>,
    /// The connections that nobody reads by; the last one was used last.
    idle: Vec<Conn>,
    /// The bells of the threads that sleep; the last one fell asleep last.
    asleep: Vec<Arc<Condvar>>,
    is_closed: bool,
}

impl ReadQueueState {
    /// Whoever sleeps is needed when a read waits and a connection is free for it.
    fn needed(&mut self) -> Option<Arc<Condvar>> {
        if self.jobs.is_empty() || self.idle.is_empty() { None } else { self.asleep.pop() }
    }
}

impl ReadQueue {
    fn queue(&self) -> MutexGuard<'_, ReadQueueState> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hand_in(&self, job: ReadJob) {
        let mut queue = self.queue();
        queue.jobs.push_back(job);
        ring(queue);
    }

    /// One of all connections, for whoever wants to read where it stands; none while half of them are read by.
    fn lend(&self, all: usize) -> Option<Conn> {
        let mut queue = self.queue();
        if queue.idle.len() * 2 > all { queue.idle.pop() } else { None }
    }

    fn give_back(&self, conn: Conn) {
        let mut queue = self.queue();
        queue.idle.push(conn);
        ring(queue);
    }

    /// The next read and a connection for it, or `None` when there will be none. `bell` is the waiting thread's own, `used`
    /// the connection of its last read.
    fn next(&self, bell: &Arc<Condvar>, used: Option<Conn>) -> Option<(ReadJob, Conn)> {
        let mut queue = self.queue();
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
            queue.asleep.push(Arc::clone(bell));
            queue = bell.wait(queue).unwrap_or_else(PoisonError::into_inner);
            // A thread may wake although nobody rang; then its bell still hangs there.
            queue.asleep.retain(|hung| !Arc::ptr_eq(hung, bell));
        }
    }

    fn close(&self) {
        let mut queue = self.queue();
        queue.is_closed = true;
        queue.asleep.drain(..).for_each(|bell| bell.notify_one());
    }
}

/// Wakes a thread if one is needed, once nobody holds what it will look at.
fn ring(mut queue: MutexGuard<'_, ReadQueueState>) {
    let woken = queue.needed();
    drop(queue);
    if let Some(bell) = woken {
        bell.notify_one();
    }
}

impl ReaderPool {
    /// Opens `count` connections, and as many threads for reads that take their time.
    ///
    /// # Errors
    /// The database cannot be opened, or the system gives no thread.
    pub fn start(path: &Path, count: usize, caches: &Arc<Caches>) -> Result<Self, StoreError> {
        // Dropping it ends the threads that are there already when a later one fails.
        let mut readers = Self { desk: Arc::default(), threads: Vec::new(), caches: Arc::clone(caches) };
        for _ in 0..count.max(1) {
            readers.desk.give_back(conn::open_reader(path)?);
            let (desk, caches) = (Arc::clone(&readers.desk), Arc::clone(caches));
            let thread = thread::Builder::new()
                .name("store-reader".into())
                .spawn(move || serve(&desk, &caches))
                .map_err(|error| StoreError::Open(error.to_string()))?;
            readers.threads.push(thread);
        }
        Ok(readers)
    }

    /// Runs a closure on one snapshot, on a thread of the readers.
    ///
    /// # Errors
    /// The closure's own error, or the database's.
    pub async fn read<T, E, F>(&self, closure: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&mut StoreReader<'_>) -> Result<T, E> + Send + 'static,
    {
        let (reply, result) = oneshot::channel();
        let job: ReadJob = Box::new(move |reader| {
            let outcome = reader.snapshot(closure);
            let _ = reply.send(outcome);
        });
        self.desk.hand_in(job);
        result.await.unwrap_or_else(|_| Err(panicked().into()))
    }

    /// Runs a short closure on one snapshot, right here if few others read.
    ///
    /// # Errors
    /// The closure's own error, or the database's.
    pub async fn glance<T, E, F>(&self, closure: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&mut StoreReader<'_>) -> Result<T, E> + Send + 'static,
    {
        let Some(mut conn) = self.desk.lend(self.threads.len()) else { return self.read(closure).await };
        let outcome = guarded(&mut conn, &self.caches, |reader| reader.snapshot(closure));
        self.desk.give_back(conn);
        outcome.unwrap_or_else(|| Err(panicked().into()))
    }
}

impl Drop for ReaderPool {
    fn drop(&mut self) {
        self.desk.close();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn serve(desk: &ReadQueue, caches: &Arc<Caches>) {
    let bell = Arc::new(Condvar::new());
    let mut used = None;
    while let Some((job, mut conn)) = desk.next(&bell, used.take()) {
        // Of a panic the caller hears by the reply that it drops.
        let _ = guarded(&mut conn, caches, job);
        used = Some(conn);
    }
}

/// Runs one read; `None`: it panicked, and the connection lives on.
fn guarded<T>(conn: &mut Conn, caches: &Arc<Caches>, read: impl FnOnce(&mut StoreReader<'_>) -> T) -> Option<T> {
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
