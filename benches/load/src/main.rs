//! The whole program under load, as its users meet it: the built program as a separate process, with a model server
//! and players on 127.0.0.1. `cargo run --release --locked --manifest-path benches/load/Cargo.toml [-- NAME…]
//! [--small]`.
//!
//! Each scenario is a module that prints its tables. No name runs all, and `--small` takes seconds instead of minutes.
//! `CLOTHO_BIN` is the program to run, by default `target/release/clotho` of the repository. Players and model server
//! share the machine with the program: the tables show their own cost, as the limit of what can be measured.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a bench that cannot go on stops, and its numbers are for reading"
)]

mod burn;
mod chats;
mod crowd;
mod growth;
mod million;
mod mock;
mod player;
mod process;
mod program;
mod search;
mod streams;
#[path = "../../foundation/table.rs"]
#[allow(dead_code, reason = "the other benches need more of it")]
mod table;
mod watchers;
mod wire;
mod writers;

use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// The size of the scenarios.
#[derive(Clone, Copy)]
pub struct Size {
    is_small: bool,
}

impl Size {
    /// Returns `whole` for a full measurement, `small` for a check that it runs.
    pub fn pick<T>(self, whole: T, small: T) -> T {
        if self.is_small { small } else { whole }
    }
}

type Scenario = fn(Size);

/// The scenarios by name.
const SCENARIOS: [(&str, Scenario); 8] = [
    ("writers", writers::measure),
    ("streams", streams::measure),
    ("watchers", watchers::measure),
    ("crowd", crowd::measure),
    ("million", million::measure),
    ("growth", growth::measure),
    ("search", search::measure),
    ("burn", burn::measure),
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (flags, wanted): (Vec<&String>, Vec<&String>) = words.iter().partition(|word| word.starts_with('-'));
    let is_known = |word: &&String| SCENARIOS.iter().any(|(name, _)| name == word);
    let stranger = wanted.iter().find(|word| !is_known(word)).or(flags.iter().find(|flag| **flag != "--small"));
    if let Some(word) = stranger {
        let names: Vec<&str> = SCENARIOS.iter().map(|(name, _)| *name).collect();
        panic!("there is no \"{word}\": any of {} and --small are understood", names.join(", "));
    }
    let size = Size { is_small: !flags.is_empty() };
    ensure_open_file_limit(&words);
    for (name, scenario) in SCENARIOS {
        if wanted.is_empty() || wanted.iter().any(|word| *word == name) {
            scenario(size);
        }
    }
}

/// A thousand streams need two thousand connections in this process and in the program, more than the usual limit.
const FILES: u64 = 5_000;

/// Starts this program again with enough open files if the limit is lower; the child process inherits the limit.
fn ensure_open_file_limit(words: &[String]) {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap_or_default();
    let may: Vec<Option<u64>> = line.split_whitespace().take(2).map(|number| number.parse().ok()).collect();
    let [Some(now), most] = may[..] else { return };
    if now >= FILES {
        return;
    }
    assert!(most.is_none_or(|most| most >= FILES), "{FILES} open files are needed, and the system allows {most:?}");
    let own = std::env::current_exe().unwrap();
    let script = format!("ulimit -n {FILES} && exec \"$0\" \"$@\"");
    let failed = Command::new("sh").args(["-c", &script]).arg(own).args(words).exec();
    panic!("beginning anew with more open files: {failed}");
}

/// Runs a scenario's work on this thread; the model server has its own.
pub fn block_on(work: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work);
}
