//! Rules for the repository: which crate may depend on which, how large things may grow, what every file must
//! document, and that documents are right about names, keys and files.
//!
//! - `code.rs`: source text without comments and strings, and the files of the repository
//! - `circles.rs`: the files of a folder depend on each other in one direction
//! - `dialect.rs`: SQL that only one database understands, and where it may be used
//! - `examples.rs`: the examples in documents are run
//! - `rooms.rs`: which crate may depend on which, who may name the heavy libraries, what stays pure
//! - `shape.rs`: sizes of files and functions, heads of folders, reasons of silenced lints, forbidden leftovers
//! - `names.rs`: names of types
//! - `documents.rs`: documents, settings, migrations
//! - `licences.rs`: licences of all dependencies, checked against `deny.toml`
//!
//! Every rule is a function from text to complaints. It is tested on a planted fault and then on the repository; a new
//! rule needs both tests. A complaint names the file and says what to do.

mod circles;
mod code;
mod dialect;
mod documents;
mod examples;
mod licences;
mod names;
mod rooms;
mod shape;

/// Fails with all complaints at once, so that one run shows everything to fix.
fn expect_none(complaints: &[String]) {
    assert!(complaints.is_empty(), "{} complaint(s):\n{}", complaints.len(), complaints.join("\n"));
}

/// Asserts that the planted fault is found exactly once.
fn expect_one(complaints: &[String], words: &str) {
    assert!(complaints.len() == 1 && complaints[0].contains(words), "{words:?} expected, got {complaints:#?}");
}
