//! The house stays tidy: which room may know which, how large things grow, what every room owes its reader, and that the
//! documents tell the truth about names, keys and files.
//!
//! - `code.rs`: source text without comments and strings, and the files of the repository
//! - `circles.rs`: the files of a folder know each other in one direction
//! - `dialect.rs`: what only one database understands, and where it may stand
//! - `examples.rs`: what the documents show is tried
//! - `rooms.rs`: which crate may depend on which, who may name the heavy libraries, what stays pure
//! - `shape.rs`: sizes of files and functions, heads of folders, reasons of silenced lints, words that must not stay
//! - `names.rs`: names of types
//! - `documents.rs`: documents, settings, migrations
//! - `licences.rs`: licences of everything that is linked in, against `deny.toml`
//!
//! Every rule is a function from text to complaints, tried here on a planted fault and then on the repository. To add a
//! rule: such a function with both tests. A complaint names the file and says what to do.

mod circles;
mod code;
mod dialect;
mod documents;
mod examples;
mod licences;
mod names;
mod rooms;
mod shape;

/// Fails with all complaints at once, so that one run is enough to put everything right.
fn expect_none(complaints: &[String]) {
    assert!(complaints.is_empty(), "{} complaint(s):\n{}", complaints.len(), complaints.join("\n"));
}

/// The planted fault is found, and found once.
fn expect_one(complaints: &[String], words: &str) {
    assert!(complaints.len() == 1 && complaints[0].contains(words), "{words:?} expected, got {complaints:#?}");
}
