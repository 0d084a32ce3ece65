//! Writing to the terminal, which may be gone: then there is nobody to tell.

use std::io::Write;

/// A line for the one who asked.
pub fn line(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// Something that the next thing takes the place of, for whoever waits.
pub fn print_progress(text: &str) {
    let mut out = std::io::stderr().lock();
    let _ = write!(out, "{text}").and_then(|()| out.flush());
}

/// A line about what went wrong.
pub fn error(text: &str) {
    let mut out = std::io::stderr().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}
