//! Costs of reading and rearranging a tree: `cargo bench --bench tree [-- size deep files many] [NODES]`.
//!
//! - `size`: the same work in sessions of 1 000, 10 000 and 100 000 nodes: one long branch, with two branches of a
//!   hundred nodes each near its end. The database counts written rows, so that they can be compared between machines.
//! - `deep`: one branch of 50 000 nodes.
//! - `files`: sessions of 10 000 and 100 000 nodes, exported and imported into another store, with the peak memory.
//! - `many`: a database of ten sessions of 100 000 nodes each.
//!
//! A number limits the nodes of a session, to check quickly that everything runs. To add a figure, add a function in
//! `figures.rs` and its name in [`FIGURES`], or a row in one of the other files.
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

mod deep;
mod figures;
mod files;
mod many;
mod rows;
#[path = "../foundation/session.rs"]
#[allow(dead_code, reason = "the other bench needs more of it")]
mod session;
#[path = "../foundation/table.rs"]
#[allow(dead_code, reason = "the other bench needs more of it")]
mod table;

use std::time::Duration;

use figures::Tree;
use table::{
    format_kilobytes, format_micros, format_ratio, measure_time, median, print_header, print_row, process_usage,
};

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];
/// Repetitions of each figure.
const ROUNDS: usize = 40;

/// A part of the bench; the argument is the most nodes of a session.
type Part = fn(usize);
/// The function that measures a figure.
type Figure = fn(&mut Tree, &mut Meter);

const FIGURES: [(&str, Figure); 17] = [
    ("append a message", figures::append),
    ("reroll (its two commits)", figures::reroll),
    ("checkout of the other branch", figures::checkout),
    ("disable one of the last nodes", figures::disable),
    ("mute one of the last nodes", figures::mute),
    ("prune 100 nodes", figures::prune),
    ("put them back", figures::restore),
    ("graft 100 nodes elsewhere (move)", figures::graft),
    ("undo of that", figures::undo),
    ("graft 100 nodes elsewhere (copy)", figures::copy),
    ("summarise 100 nodes", figures::summarise),
    ("merge what 100 nodes did", figures::merge),
    ("undo of a message", figures::undo_message),
    ("diff of two branches of 100 nodes", figures::read_diff),
    ("a variable along the last 100 nodes", figures::read_variables),
    ("outline of the whole tree", figures::read_outline),
    ("newest page of 50", figures::read_page),
];

/// The measurements of one figure.
#[derive(Default)]
pub struct Meter {
    times: Vec<Duration>,
    row_count: u64,
    byte_count: u64,
}

impl Meter {
    /// Runs the work once and records time, rows and bytes.
    pub fn record(&mut self, work: impl FnOnce()) {
        let (rows, (bytes, _)) = (rows::written_row_count(), process_usage());
        self.times.push(measure_time(work));
        self.row_count += rows::written_row_count() - rows;
        self.byte_count += process_usage().0 - bytes;
    }
}

fn main() {
    rows::start_counting();
    // cargo adds its own flags; our arguments have no leading dash.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let most = wanted.iter().find_map(|word| word.parse().ok()).unwrap_or(usize::MAX);
    let words: Vec<&String> = wanted.iter().filter(|word| word.parse::<usize>().is_err()).collect();
    let parts: [(&str, Part); 4] =
        [("size", measure_by_size), ("deep", deep::measure), ("files", files::measure), ("many", many::measure)];
    for (name, part) in parts {
        if words.is_empty() || words.iter().any(|word| *word == name) {
            part(most);
        }
    }
}

fn measure_by_size(most: usize) {
    let sizes: Vec<usize> = SIZES.into_iter().filter(|size| *size <= most).collect();
    if sizes.is_empty() {
        return;
    }
    let mut tables: Vec<Vec<String>> = FIGURES.iter().map(|(name, _)| vec![(*name).to_owned()]).collect();
    let mut ends: Vec<Vec<Duration>> = vec![Vec::new(); FIGURES.len()];
    for size in sizes.iter().copied() {
        let mut tree = Tree::new(size);
        for (at, (_, figure)) in FIGURES.iter().enumerate() {
            let mut meter = Meter::default();
            (0..ROUNDS).for_each(|_| figure(&mut tree, &mut meter));
            let p50 = median(&mut meter.times);
            ends[at].push(p50);
            let rows = meter.row_count as f64 / meter.times.len() as f64;
            tables[at].push(format!(
                "{}, {rows:.0}, {}",
                format_micros(p50),
                format_kilobytes(meter.byte_count, meter.times.len())
            ));
        }
    }
    let sizes = sizes.iter().map(|size| format!("{size} nodes"));
    let columns: Vec<String> =
        std::iter::once(String::new()).chain(sizes).chain(["largest / smallest".to_owned()]).collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    print_header("By the size of the session: median time, rows written, bytes to the disk", &columns);
    for (mut cells, times) in tables.into_iter().zip(ends) {
        cells.push(format_ratio(times[times.len() - 1], times[0]));
        print_row(&cells);
    }
}
