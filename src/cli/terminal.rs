//! Writing to the terminal. Write errors are ignored: there is nobody left to tell. Texts of strangers cannot control the
//! terminal; a name that must stay on its line is a [`Printable`](clotho_core::printable::Printable).

use std::io::Write;

use clotho_core::printable::PrintableLines;

/// Writes a line to standard output.
pub fn print_line(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{}", PrintableLines(text)).and_then(|()| out.flush());
}

/// Writes a text to standard error without a line break; the next progress text overwrites it.
pub fn print_progress(text: &str) {
    let mut out = std::io::stderr().lock();
    let _ = write!(out, "{text}").and_then(|()| out.flush());
}

/// Writes an error line to standard error.
pub fn print_error(text: &str) {
    let mut out = std::io::stderr().lock();
    let _ = writeln!(out, "{}", PrintableLines(text)).and_then(|()| out.flush());
}
