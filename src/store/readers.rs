//! The readers: a few threads, each with its own connection; a read sees one snapshot from its first statement to its last.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

use tokio::sync::oneshot;

use super::caches::Caches;
use super::conn::{self, Conn};
use super::error::StoreError;
use super::read::Reader;

type Job = Box<dyn FnOnce(&mut Reader<'_>) + Send>;

/// The door to the reader threads.
pub struct Readers {
    jobs: Option<mpsc::Sender<Job>>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Readers {
    /// Opens `count` connections, each on its own thread.
    ///
    /// # Errors
    /// The database cannot be opened, or the system gives no thread.
    pub fn start(path: &Path, count: usize, caches: &Arc<Caches>) -> Result<Self, StoreError> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let queue = Arc::new(Mutex::new(queue));
        let threads = (0..count.max(1))
            .map(|_| {
                let (conn, queue, caches) = (conn::open_reader(path)?, Arc::clone(&queue), Arc::clone(caches));
                thread::Builder::new()
                    .name("store-reader".into())
                    .spawn(move || serve(conn, &queue, &caches))
                    .map_err(|error| StoreError::Open(error.to_string()))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { jobs: Some(jobs), threads })
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
        let jobs = self.jobs.as_ref().ok_or(StoreError::Closed)?;
        jobs.send(job).map_err(|_| StoreError::Closed)?;
        result.await.unwrap_or_else(|_| Err(StoreError::Database("a read panicked".into()).into()))
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn serve(mut conn: Conn, queue: &Mutex<mpsc::Receiver<Job>>, caches: &Arc<Caches>) {
    loop {
        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        let mut reader = Reader::new(&mut conn, caches);
        // A panic in one read drops its reply, which the caller hears of; the thread and its connection live on.
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| job(&mut reader))).is_err() {
            conn::end_read(&mut conn);
        }
    }
}
