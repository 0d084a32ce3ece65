//! Turns of another session while a folder is imported.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::house::House;
use super::import;
use super::session::open;
use super::table::{head, quantile, ratio, row, timed};

/// Turns without an import.
const TURNS: usize = 300;

pub fn figures(files: usize) {
    let house = House::of_files(files.min(90));
    let home = tempfile::tempdir().unwrap();
    let bench = open(home.path());
    let (session, root) = bench.begin(10);
    let mut leaf = root;
    let mut turn = || timed(|| leaf = bench.runtime.block_on(bench.turn(session, leaf)));
    let alone: Vec<Duration> = (0..TURNS).map(|_| turn()).collect();
    let is_over = AtomicBool::new(false);
    let mut beside = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            import(&bench, house.path(), || ());
            is_over.store(true, Ordering::Release);
        });
        while !is_over.load(Ordering::Acquire) {
            beside.push(turn());
        }
    });
    let title = format!("A turn's two commits, alone and while {:.0} MB come in", house.bytes as f64 / 1e6);
    head(&title, &["", "turns", "p50", "p99", "p50 beside alone"]);
    let (mut alone, mut beside) = (alone, beside);
    let base = quantile(&mut alone, 50);
    for (name, times) in [("alone", &mut alone), ("while it comes in", &mut beside)] {
        let (p50, p99) = (quantile(times, 50), quantile(times, 99));
        let milliseconds = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1e3);
        row(&[name.to_owned(), times.len().to_string(), milliseconds(p50), milliseconds(p99), ratio(p50, base)]);
    }
}
