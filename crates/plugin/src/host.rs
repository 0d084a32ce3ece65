//! Runs scripts. A trait allows a separate worker process, for servers that run plugins of strangers. The default is a
//! pool of threads.

use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::call::{HookCall, HookOutcome};
use super::loaded::LoadedPlugin;
use super::run;
use super::thread::STACK_BYTES;

/// A running call. It starts at the first poll; if it is dropped before, nothing runs.
pub type PendingCall = Pin<Box<dyn Future<Output = HookOutcome> + Send>>;

/// Runs hooks within their limits. The returned state is trusted. A caller whose host runs untrusted scripts must fold
/// the proposed operations itself.
pub trait ScriptHost: Send + Sync {
    /// Runs one hook. The future always resolves to an outcome, even if the script or the host fails. A hook that the
    /// script does not define resolves at once.
    fn call(&self, plugin: Arc<LoadedPlugin>, call: HookCall) -> PendingCall;
}

/// Queue capacity of the pool. Further calls wait for a permit, in order; none is lost.
const QUEUE_CAPACITY: usize = 64;

/// A pool of threads that run scripts in this process.
pub struct ScriptPool {
    jobs: Sender<ScriptJob>,
    permits: Arc<Semaphore>,
}

struct ScriptJob {
    plugin: Arc<LoadedPlugin>,
    call: HookCall,
    answer: oneshot::Sender<HookOutcome>,
    _permit: OwnedSemaphorePermit,
}

impl ScriptPool {
    /// Creates a pool with `threads` threads, at least one.
    ///
    /// # Errors
    /// Returns an error if a thread cannot be started.
    pub fn new(threads: usize) -> io::Result<Self> {
        let (jobs, queue) = channel::<ScriptJob>();
        let queue = Arc::new(Mutex::new(queue));
        for n in 0..threads.max(1) {
            let queue = Arc::clone(&queue);
            thread::Builder::new()
                .name(format!("script-{n}"))
                .stack_size(STACK_BYTES)
                .spawn(move || worker_loop(&queue))?;
        }
        Ok(Self { jobs, permits: Arc::new(Semaphore::new(QUEUE_CAPACITY)) })
    }

    /// Creates a pool with one thread for each core.
    ///
    /// # Errors
    /// Returns an error if a thread cannot be started.
    pub fn with_all_cores() -> io::Result<Self> {
        Self::new(thread::available_parallelism().map_or(1, std::num::NonZero::get))
    }
}

/// Runs jobs on one thread until the pool is dropped.
fn worker_loop(queue: &Mutex<Receiver<ScriptJob>>) {
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(ScriptJob { plugin, call, answer, _permit: _place }) = next else { return };
        let outcome = run::run(&plugin, call);
        // Dropping the last reference to a plugin, or sending to a caller that is gone, must not end this thread.
        let _ = catch_unwind(AssertUnwindSafe(move || {
            drop(plugin);
            let _ = answer.send(outcome);
        }));
    }
}

impl ScriptHost for ScriptPool {
    fn call(&self, plugin: Arc<LoadedPlugin>, call: HookCall) -> PendingCall {
        if !plugin.defines_call(&call) {
            return Box::pin(std::future::ready(HookOutcome::empty(call.world)));
        }
        let (jobs, places) = (self.jobs.clone(), Arc::clone(&self.permits));
        Box::pin(async move {
            let lost = (Arc::clone(&plugin), HookCall { world: Arc::default(), ..call.clone() });
            let Ok(place) = places.acquire_owned().await else {
                return run::failed_outcome(&plugin, call, "the scripts' threads have ended");
            };
            let (answer, answered) = oneshot::channel();
            let sent = jobs.send(ScriptJob { plugin, call, answer, _permit: place });
            match (sent, answered.await) {
                (Ok(()), Ok(outcome)) => outcome,
                _ => run::failed_outcome(&lost.0, lost.1, "the scripts' threads have ended"),
            }
        })
    }
}
