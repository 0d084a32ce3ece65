//! The thread that a script runs on: one with a stack of its own size.

use std::io;
use std::thread;

/// The stack of a script's thread: what nested values may need, measured on hostile scripts.
pub const STACK_BYTES: usize = 16 << 20;

/// Runs something that calls scripts directly on a thread with a script's stack, and waits for it: for tests and the
/// command line, where nothing else has to go on meanwhile.
///
/// # Errors
/// The system gives no thread, or what ran panicked.
pub(super) fn on_script_thread<R: Send>(job: impl FnOnce() -> R + Send) -> io::Result<R> {
    thread::scope(|scope| {
        let thread =
            thread::Builder::new().name("script".to_owned()).stack_size(STACK_BYTES).spawn_scoped(scope, job)?;
        thread.join().map_err(|_| io::Error::other("the thread of the script panicked"))
    })
}
