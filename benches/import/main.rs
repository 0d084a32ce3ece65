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
mod data_folder;
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
use data_folder::DataFolder;
use session::{Bench, open};
use table::{MemoryPeak, format_ratio, measure_time, print_header, print_row};

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
    let parts: [(&str, Part); 3] = [("root", measure_folder), ("long", measure_long_chat), ("beside", beside::measure)];
    for (name, part) in parts {
        if words.is_empty() || words.iter().any(|word| *word == name) {
            part(files);
        }
    }
}

fn measure_folder(files: usize) {
    measure_import("A folder of many chats", &DataFolder::generate_files(files));
}

fn measure_long_chat(_: usize) {
    measure_import("One chat", &DataFolder::generate_one_chat(LONG));
}

/// Imports a folder twice, compared with reading it.
fn measure_import(title: &str, data_folder: &DataFolder) {
    let read = measure_time(|| data_folder.chat_paths().for_each(|chat| parse_chat(&chat)));
    let home = tempfile::tempdir().unwrap();
    let bench = open(home.path());
    let columns = ["", "chats", "messages", "time", "rate", "beside parsing once", "memory", "database"];
    print_header(&format!("{title}: {:.0} MB", data_folder.chat_bytes as f64 / 1e6), &columns);
    for name in ["taken in", "once more"] {
        let peak = MemoryPeak::start();
        let mut arrived = ForeignImportResult::default();
        let time = measure_time(|| arrived = import_folder(&bench, data_folder.path(), || peak.sample()));
        print_row(&[
            name.to_owned(),
            arrived.totals.chats.to_string(),
            arrived.totals.messages.to_string(),
            format!("{:.1} s", time.as_secs_f64()),
            format_rate(data_folder.chat_bytes, time),
            format_ratio(time, read),
            peak.format_growth(),
            format!("{:.0} MB", folder_size(home.path()) as f64 / 1e6),
        ]);
    }
}

/// Imports a folder.
fn import_folder(bench: &Bench, path: &Path, looked: impl Fn() + Sync) -> ForeignImportResult {
    let zone = jiff::tz::TimeZone::UTC;
    let wish = ImportOptions {
        owner: bench.user,
        language: Default::default(),
        at: Time(9),
        zone,
        is_dry: false,
        is_trusted: true,
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
fn parse_chat(chat: &Path) {
    for line in BufReader::with_capacity(1 << 16, File::open(chat).unwrap()).lines() {
        std::hint::black_box(serde_json::from_str::<serde_json::Value>(&line.unwrap()).unwrap());
    }
}

fn format_rate(bytes: u64, time: Duration) -> String {
    format!("{:.1} MB/s", bytes as f64 / 1e6 / time.as_secs_f64())
}

fn folder_size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).filter(std::fs::Metadata::is_file).map(|file| file.len()).sum()
}
