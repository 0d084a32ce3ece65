//! Rules for the repository: which crate may depend on which, how large things may grow, what every file must
//! document, and that documents are right about names, keys and files.
//!
//! - `source_files.rs`: source text without comments and strings, and the files of the repository
//! - `module_cycles.rs`: the files of a folder depend on each other in one direction
//! - `sql_dialect.rs`: SQL that only one database understands, and where it may be used
//! - `examples.rs`: the examples in documents are run
//! - `crate_layers.rs`: which crate may depend on which, who may name the heavy libraries, what stays pure
//! - `file_rules.rs`: sizes of files and functions, heads of folders, reasons of silenced lints, forbidden leftovers
//! - `type_names.rs`: names of types
//! - `page_history.rs`: the page builds no history of its own
//! - `flows.rs`: the tests of the four flows of a story exist and run
//! - `documents.rs`: documents, settings, migrations
//! - `licences.rs`: licences of all dependencies, checked against `deny.toml`
//!
//! Every rule is a function from text to complaints. It is tested on a planted fault and then on the repository; a new
//! rule needs both tests. A complaint names the file and says what to do.

mod crate_layers;
mod documents;
mod examples;
mod file_rules;
mod flows;
mod licences;
mod module_cycles;
mod page_history;
mod source_files;
mod sql_dialect;
mod type_names;

/// Fails with all complaints at once, so that one run shows everything to fix.
fn expect_none(complaints: &[String]) {
    assert!(complaints.is_empty(), "{} complaint(s):\n{}", complaints.len(), complaints.join("\n"));
}

/// Asserts that the planted fault is found exactly once.
fn expect_one(complaints: &[String], words: &str) {
    assert!(complaints.len() == 1 && complaints[0].contains(words), "{words:?} expected, got {complaints:#?}");
}
