//! The readers: a few threads, each with its own connection; a read sees one snapshot from its first statement to its last.
//! Whoever read last reads next: its connection still has the pages in its cache, and the others sleep on.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use tokio::sync::oneshot;

use super::caches::Caches;
use super::conn::{self, Conn};
use super::error::StoreError;
use super::read::Reader;

type Job = Box<dyn FnOnce(&mut Reader<'_>) + Send>;

/// The door to the reader threads.
pub struct Readers {
    desk: Arc<Desk>,
    threads: Vec<thread::JoinHandle<()>>,
}

/// Where reads wait for a thread and threads wait for a read.
#[derive(Default)]
struct Desk {
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// The bells of the threads that sleep; the last one fell asleep last.
    asleep: Vec<Arc<Condvar>>,
    is_closed: bool,
}

impl Desk {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hand_in(&self, job: Job) {
        let mut queue = self.queue();
        queue.jobs.push_back(job);
        let woken = queue.asleep.pop();
        drop(queue);
        if let Some(bell) = woken {
            bell.notify_one();
        }
    }

    /// The next read, or `None` when there will be none. `bell` is the waiting thread's own.
    fn next(&self, bell: &Arc<Condvar>) -> Option<Job> {
        let mut queue = self.queue();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                return Some(job);
            }
            if queue.is_closed {
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

impl Readers {
    /// Opens `count` connections, each on its own thread.
    ///
    /// # Errors
    /// The database cannot be opened, or the system gives no thread.
    pub fn start(path: &Path, count: usize, caches: &Arc<Caches>) -> Result<Self, StoreError> {
        // Dropping it ends the threads that are there already when a later one fails.
        let mut readers = Self { desk: Arc::new(Desk::default()), threads: Vec::new() };
        for _ in 0..count.max(1) {
            let (conn, desk, caches) = (conn::open_reader(path)?, Arc::clone(&readers.desk), Arc::clone(caches));
            let thread = thread::Builder::new()
                .name("store-reader".into())
                .spawn(move || serve(conn, &desk, &caches))
                .map_err(|error| StoreError::Open(error.to_string()))?;
            readers.threads.push(thread);
        }
        Ok(readers)
    }

    /// Runs a closure on one snapshot.
    ///
    /// # Errors
    /// The closure's own error, or the database's.
    pub async fn read<T, E, F>(&self, closure: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&mut Reader<'_>) -> Result<T, E> + Send + 'static,
    {
        let (reply, result) = oneshot::channel();
        let job: Job = Box::new(move |reader| {
            let outcome = reader.snapshot(closure);
            let _ = reply.send(outcome);
        });
        self.desk.hand_in(job);
        result.await.unwrap_or_else(|_| Err(StoreError::Database("a read panicked".into()).into()))
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.desk.close();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn serve(mut conn: Conn, desk: &Desk, caches: &Arc<Caches>) {
    let bell = Arc::new(Condvar::new());
    while let Some(job) = desk.next(&bell) {
        let mut reader = Reader::new(&mut conn, caches);
        // A panic in one read drops its reply, which the caller hears of; the thread and its connection live on.
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| job(&mut reader))).is_err() {
            conn::end_read(&mut conn);
        }
    }
}
