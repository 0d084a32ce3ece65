//! Turns of another session while a folder is imported.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::data_folder::DataFolder;
use super::import_folder;
use super::session::open;
use super::table::{format_ratio, measure_time, print_header, print_row, quantile};

/// Turns without an import.
const TURNS: usize = 300;

pub fn measure(files: usize) {
    let data_folder = DataFolder::generate_files(files.min(90));
    let home = tempfile::tempdir().unwrap();
    let bench = open(home.path());
    let (session, root) = bench.create_session(10);
    let mut leaf = root;
    let mut turn = || measure_time(|| leaf = bench.runtime.block_on(bench.write_turn(session, leaf)));
    let alone: Vec<Duration> = (0..TURNS).map(|_| turn()).collect();
    let is_over = AtomicBool::new(false);
    let mut beside = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            import_folder(&bench, data_folder.path(), || ());
            is_over.store(true, Ordering::Release);
        });
        while !is_over.load(Ordering::Acquire) {
            beside.push(turn());
        }
    });
    let title = format!("A turn's two commits, alone and while {:.0} MB come in", data_folder.chat_bytes as f64 / 1e6);
    print_header(&title, &["", "turns", "p50", "p99", "p50 beside alone"]);
    let (mut alone, mut beside) = (alone, beside);
    let base = quantile(&mut alone, 50);
    for (name, times) in [("alone", &mut alone), ("while it comes in", &mut beside)] {
        let (p50, p99) = (quantile(times, 50), quantile(times, 99));
        let milliseconds = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1e3);
        print_row(&[
            name.to_owned(),
            times.len().to_string(),
            milliseconds(p50),
            milliseconds(p99),
            format_ratio(p50, base),
        ]);
    }
}
