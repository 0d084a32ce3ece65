//! Who runs scripts. One trait, so that a worker process can stand behind it where strangers' plugins run; in one's own
//! house a pool of threads does.

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

/// A call under way. It begins when it is first awaited; dropped before that, nothing runs.
pub type PendingCall = Pin<Box<dyn Future<Output = HookOutcome> + Send>>;

/// Runs hooks somewhere, within their limits. The world that it brings back is believed: whoever runs scripts where they could
/// reach it folds what they propose himself.
pub trait ScriptHost: Send + Sync {
    /// Runs one hook. The future always ends with an outcome, also when the script or the host fails. A hook that the
    /// script does not define is answered at once.
    fn call(&self, plugin: Arc<LoadedPlugin>, call: HookCall) -> PendingCall;
}

/// How many calls may wait inside the pool; more wait outside, in order, and lose nothing.
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
    /// A pool with so many threads (at least one).
    ///
    /// # Errors
    /// The system gives no more threads.
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

    /// A pool with a thread for each core.
    ///
    /// # Errors
    /// The system gives no more threads.
    pub fn with_all_cores() -> io::Result<Self> {
        Self::new(thread::available_parallelism().map_or(1, std::num::NonZero::get))
    }
}

/// One thread's life: takes jobs until the pool is gone.
fn worker_loop(queue: &Mutex<Receiver<ScriptJob>>) {
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(ScriptJob { plugin, call, answer, _permit: _place }) = next else { return };
        let outcome = run::run(&plugin, call);
        // The plugin may be the last of its kind, and the asker may be gone: neither may end this thread.
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
