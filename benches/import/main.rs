//! Costs of importing years of chats: `cargo bench --bench import [-- root long beside] [FILES]`.
//!
//! - `root`: a folder of many cards, each with chats of 1.3 MB, some of them branches of the one before. It is
//!   generated from a seed, imported, and imported once more.
//! - `long`: one chat of 100 MB.
//! - `beside`: a turn of another session, alone and during an import of a folder.
//!
//! A number sets the files of the folder, 900 by default. The time is printed beside the minimum for any reader: each
//! line read and parsed once, and nothing else.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    missing_docs,
    reason = "a bench that cannot go on stops, and its numbers are for reading"
)]

mod beside;
mod house;
#[path = "../foundation/session.rs"]
#[allow(dead_code, reason = "the other bench needs more of it")]
mod session;
#[path = "../foundation/table.rs"]
#[allow(dead_code, reason = "the other bench needs more of it")]
mod table;

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::time::Duration;

use clotho_core::clock::Time;
use clotho_engine::transfer::sillytavern::{self, ForeignImportResult, ImportOptions, ImportSource};
use clotho_store::archive::ArchiveLimits;
use house::House;
use session::{Bench, open};
use table::{Peak, head, ratio, row, timed};

/// Files of the folder, unless a number is given.
const FILES: usize = 900;
/// Bytes of the long chat.
const LONG: u64 = 100_000_000;

type Part = fn(usize);

fn main() {
    // cargo adds its own flags; our arguments have no leading dash.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let files = wanted.iter().find_map(|word| word.parse().ok()).unwrap_or(FILES);
    let words: Vec<&String> = wanted.iter().filter(|word| word.parse::<usize>().is_err()).collect();
    let parts: [(&str, Part); 3] = [("root", root), ("long", long), ("beside", beside::figures)];
    for (name, part) in parts {
        if words.is_empty() || words.iter().any(|word| *word == name) {
            part(files);
        }
    }
}

fn root(files: usize) {
    taken_in("A folder of many chats", &House::of_files(files));
}

fn long(_: usize) {
    taken_in("One chat", &House::of_one_chat(LONG));
}

/// Imports a folder twice, compared with reading it.
fn taken_in(title: &str, house: &House) {
    let read = timed(|| house.chats().for_each(|chat| parse(&chat)));
    let home = tempfile::tempdir().unwrap();
    let bench = open(home.path());
    let columns = ["", "chats", "messages", "time", "rate", "beside parsing once", "memory", "database"];
    head(&format!("{title}: {:.0} MB", house.bytes as f64 / 1e6), &columns);
    for name in ["taken in", "once more"] {
        let peak = Peak::begin();
        let mut arrived = ForeignImportResult::default();
        let time = timed(|| arrived = import(&bench, house.path(), || peak.look()));
        row(&[
            name.to_owned(),
            arrived.totals.chats.to_string(),
            arrived.totals.messages.to_string(),
            format!("{:.1} s", time.as_secs_f64()),
            rate(house.bytes, time),
            ratio(time, read),
            peak.grown(),
            format!("{:.0} MB", weight(home.path()) as f64 / 1e6),
        ]);
    }
}

/// Imports a folder.
fn import(bench: &Bench, path: &Path, looked: impl Fn() + Sync) -> ForeignImportResult {
    let zone = jiff::tz::TimeZone::UTC;
    let wish = ImportOptions {
        owner: bench.user,
        at: Time(9),
        zone,
        is_dry: false,
        limits: ArchiveLimits::for_archive(64 << 20),
    };
    let told = |_| {
        looked();
        true
    };
    let import = sillytavern::import(&bench.store, &bench.ids, ImportSource::Path(path.to_owned()), wish, told);
    bench.runtime.block_on(import).unwrap()
}

/// Reads and parses a chat, the minimum cost of any reader.
fn parse(chat: &Path) {
    for line in BufReader::with_capacity(1 << 16, File::open(chat).unwrap()).lines() {
        std::hint::black_box(serde_json::from_str::<serde_json::Value>(&line.unwrap()).unwrap());
    }
}

fn rate(bytes: u64, time: Duration) -> String {
    format!("{:.1} MB/s", bytes as f64 / 1e6 / time.as_secs_f64())
}

fn weight(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).filter(std::fs::Metadata::is_file).map(|file| file.len()).sum()
}
