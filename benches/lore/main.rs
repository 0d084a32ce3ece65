//! Costs of a lore scan, compared with reading the same bytes once: `cargo bench --bench lore [-- NAME… SIZE]`.
//!
//! `scan` scans books of ten megabytes in all for the last messages, `large` for the last hundred messages. `read` is
//! the cost of reading a book, once after each change. The limit is 50 ms for ten megabytes. A number sets the size of
//! the books in megabytes: a small one only shows that the bench runs.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::string_slice,
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "a bench that cannot go on stops, and its numbers are for reading"
)]

mod books;
#[path = "../foundation/table.rs"]
#[allow(dead_code, reason = "the other benches need more of it")]
mod table;

use std::hint::black_box;
use std::time::Duration;

use clotho_compat::prompt::lore::{
    LoreTimers, LoreWordIndex, LorebookScope, ScanBook, ScanMessage, ScanRequest, ScopedBook, WorldInfoSettings, scan,
};
use clotho_compat::prompt::recall::RecallQuery;

use books::{BenchLoreHost, Lore, scan_messages};
use table::{format_ratio, measure_time, median, print_header, print_row};

const ROUNDS: usize = 21;
/// The most that ten megabytes may take.
const LIMIT: Duration = Duration::from_millis(50);

/// A figure; the argument is the size of the books.
type Figure = fn(usize);

const FIGURES: [(&str, Figure); 4] = [
    ("scan", measure_small_scan),
    ("large", measure_large_scan),
    ("read", measure_read),
    ("words", measure_word_index),
];

fn main() {
    let said: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let (sizes, wanted): (Vec<String>, Vec<String>) = said.into_iter().partition(|word| word.parse::<usize>().is_ok());
    let size = sizes.first().and_then(|size| size.parse().ok()).unwrap_or(10);
    for (name, figure) in FIGURES {
        if wanted.is_empty() || wanted.iter().any(|one| one == name) {
            figure(size << 20);
        }
    }
}

fn measure_small_scan(bytes: usize) {
    measure_scan("Lore looked through for the last two messages", bytes, 2);
}

fn measure_large_scan(bytes: usize) {
    measure_scan("Lore looked through for the last hundred messages", bytes, 100);
}

/// Measures a scan, compared with adding up every byte of the books once.
fn measure_scan(title: &str, bytes: usize, messages: usize) {
    print_header(title, &["lore", "entries", "active", "p50", "limit", "reading the bytes once", "scan / reading"]);
    let lore = Lore::generate(bytes);
    let books: Vec<ScanBook> = lore.scan_books();
    let bound: Vec<ScopedBook<'_>> =
        books.iter().map(|book| ScopedBook { scope: LorebookScope::Global, book }).collect();
    let settings = WorldInfoSettings { depth: i64::try_from(messages).unwrap(), ..WorldInfoSettings::default() };
    let scanned = ScanRequest { messages: scan_messages(messages), count: 9, prompt: 32_000, ..ScanRequest::default() };
    let (mut scans, mut reads, mut active) = (Vec::new(), Vec::new(), 0);
    for _ in 0..ROUNDS {
        scans.push(measure_time(|| {
            let outcome = scan(&bound, &settings, &scanned, &LoreTimers::default(), &mut BenchLoreHost);
            active = black_box(outcome).active.len();
        }));
        reads.push(measure_time(|| _ = black_box(lore.sum_bytes())));
    }
    let (scans, reads) = (median(&mut scans), median(&mut reads));
    print_row(&[
        format!("{:.1} MB", lore.len() as f64 / f64::from(1 << 20)),
        books.iter().map(|book| book.entries.len()).sum::<usize>().to_string(),
        active.to_string(),
        format!("{:.2} ms", scans.as_secs_f64() * 1e3),
        format!("{} ms", LIMIT.as_millis()),
        format!("{:.2} ms", reads.as_secs_f64() * 1e3),
        format_ratio(scans, reads),
    ]);
}

/// Measures reading books, compared with parsing the same JSON once.
fn measure_read(bytes: usize) {
    print_header("Lore read once after a change", &["lore", "p50", "parsing the JSON once", "read / parsing"]);
    let lore = Lore::generate(bytes);
    let (mut reads, mut parses) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS.min(5) {
        reads.push(measure_time(|| _ = black_box(lore.scan_books())));
        parses.push(measure_time(|| _ = black_box(lore.parse())));
    }
    let (reads, parses) = (median(&mut reads), median(&mut parses));
    print_row(&[
        format!("{:.1} MB", lore.len() as f64 / f64::from(1 << 20)),
        format!("{:.1} ms", reads.as_secs_f64() * 1e3),
        format!("{:.1} ms", parses.as_secs_f64() * 1e3),
        format_ratio(reads, parses),
    ]);
}

/// Measures finding entries by words that they share with messages, compared with reading the bytes once.
fn measure_word_index(bytes: usize) {
    print_header(
        "Entries found by the words that they share with two messages",
        &["lore", "p50", "reading the bytes once", "words / reading", "cut into words once"],
    );
    let lore = Lore::generate(bytes);
    let books = lore.scan_books();
    let mut cut = |text: &str, take: &mut dyn FnMut(&str)| text.split(' ').for_each(take);
    let mut words: Vec<LoreWordIndex> = Vec::new();
    let once =
        measure_time(|| words = books.iter().map(|book| LoreWordIndex::build(&book.entries, &mut cut)).collect());
    let mut query = RecallQuery::default();
    for ScanMessage { text, .. } in scan_messages(2) {
        text.split(' ').for_each(|word| query.add_term(word, 1.0));
    }
    let (mut finds, mut reads) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        finds.push(measure_time(|| {
            let counted: Vec<_> = words.iter().flat_map(|words| words.match_counts(&query)).collect();
            black_box(query.rank(&counted, 5));
        }));
        reads.push(measure_time(|| _ = black_box(lore.sum_bytes())));
    }
    let (finds, reads) = (median(&mut finds), median(&mut reads));
    print_row(&[
        format!("{:.1} MB", lore.len() as f64 / f64::from(1 << 20)),
        format!("{:.2} ms", finds.as_secs_f64() * 1e3),
        format!("{:.2} ms", reads.as_secs_f64() * 1e3),
        format_ratio(finds, reads),
        format!("{:.0} ms", once.as_secs_f64() * 1e3),
    ]);
}
