//! Captures the log of the program. The log is shared by the whole process, so search only for lines that your own test
//! can have caused.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use tracing_subscriber::EnvFilter;

static LINES: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static STARTED: Once = Once::new();

struct LogWriter;

impl Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        lock_buffer().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn lock_buffer() -> MutexGuard<'static, Vec<u8>> {
    LINES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts capturing the log, from level `info` up.
pub fn start_capture() {
    STARTED.call_once(|| {
        let log = tracing_subscriber::fmt().with_env_filter(EnvFilter::new("info")).with_ansi(false);
        log.with_writer(|| LogWriter).init();
    });
}

/// Returns the lines that contain all of these words.
pub fn lines_with(words: &[&str]) -> Vec<String> {
    let kept = String::from_utf8(lock_buffer().clone()).unwrap();
    kept.lines().filter(|line| words.iter().all(|word| line.contains(word))).map(str::to_owned).collect()
}
