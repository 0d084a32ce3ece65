//! The thread for scripts, with a stack of a fixed size.

use std::io;
use std::thread;

/// Stack size of a script's thread in bytes: enough for nested values, measured on hostile scripts.
pub const STACK_BYTES: usize = 16 << 20;

/// Runs a job on a new thread with a script-sized stack and waits for it. Meant for callers that may block.
///
/// # Errors
/// Returns an error if no thread can be started or the job panicked.
pub(super) fn on_script_thread<R: Send>(job: impl FnOnce() -> R + Send) -> io::Result<R> {
    thread::scope(|scope| {
        let thread =
            thread::Builder::new().name("script".to_owned()).stack_size(STACK_BYTES).spawn_scoped(scope, job)?;
        thread.join().map_err(|_| io::Error::other("the thread of the script panicked"))
    })
}
