//! The whole program under load, as its users meet it: the built program as a process of its own, a model server and players
//! beside it on 127.0.0.1. `cargo run --release --locked --manifest-path benches/load/Cargo.toml [-- NAME…] [--small]`.
//!
//! Each scenario is a module that prints its tables; no name means all of them, `--small` means seconds instead of minutes.
//! `CLOTHO_BIN` says which program is driven, `target/release/clotho` of the repository unless it is set. Players and model server share
//! the machine with the program: what they need themselves stands in the tables, as the limit of what can be seen.
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

/// How large the scenarios are.
#[derive(Clone, Copy)]
pub struct Size {
    is_small: bool,
}

impl Size {
    /// The first where everything is measured, the second where it only has to run.
    pub fn of<T>(self, whole: T, small: T) -> T {
        if self.is_small { small } else { whole }
    }
}

type Scenario = fn(Size);

/// The scenarios, by their names.
const SCENARIOS: [(&str, Scenario); 8] = [
    ("writers", writers::figures),
    ("streams", streams::figures),
    ("watchers", watchers::figures),
    ("crowd", crowd::figures),
    ("million", million::figures),
    ("growth", growth::figures),
    ("search", search::figures),
    ("burn", burn::figures),
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
    have_files(&words);
    for (name, scenario) in SCENARIOS {
        if wanted.is_empty() || wanted.iter().any(|word| *word == name) {
            scenario(size);
        }
    }
}

/// A thousand streams are two thousand connections here and as many there, which is more than a process may open by custom.
const FILES: u64 = 5_000;

/// Begins anew with as many open files as are needed, where there are fewer; the program inherits them.
fn have_files(words: &[String]) {
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

/// Runs what a scenario does on this thread; the model server has one of its own.
pub fn run(work: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work);
}
