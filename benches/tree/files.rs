//! Whole sessions out of a store and into another one: time, and the most memory that the program held.

use std::fs::File;
use std::io::BufWriter;

use clotho::archive::Limits;
use clotho::clock::Time;
use clotho::store::Snapshot;
use clotho::transfer::{self, Arrival};

use super::session::open;
use super::table::{head, row, timed};

const SIZES: [usize; 2] = [10_000, 100_000];

pub fn figures(most: usize) {
    head("A session as a file", &["messages", "out", "memory", "file", "in", "memory"]);
    for size in SIZES.into_iter().filter(|size| *size <= most) {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = to.path().join("story.clotho");
        let id = {
            let bench = open(from.path());
            let (session, root) = bench.begin(10);
            bench.grow(session, root, size);
            session
        };
        let mut snapshot = Snapshot::open(&from.path().join("clotho.db")).unwrap();
        let held = snapshot.session(None, id).unwrap().unwrap();
        begin_peak();
        let out = timed(|| {
            let file = BufWriter::new(File::create(&path).unwrap());
            transfer::export(&mut snapshot, &held, file, Time(0), |_| {}).unwrap().into_inner().unwrap();
        });
        let out_peak = peak();
        drop(snapshot);
        let bench = open(&to.path().join("data"));
        let mut file = File::open(&path).unwrap();
        let bytes = file.metadata().unwrap().len();
        begin_peak();
        let taken = timed(|| {
            let arrival = Arrival { owner: bench.user, job: None };
            let limits = Limits::of(1 << 40);
            let import = transfer::import(&bench.store, &mut file, arrival, &bench.ids, Time(9), limits, |_| true);
            bench.runtime.block_on(import).unwrap();
        });
        row(&[
            size.to_string(),
            format!("{:.1} s", out.as_secs_f64()),
            out_peak,
            format!("{:.1} MB", bytes as f64 / 1e6),
            format!("{:.1} s", taken.as_secs_f64()),
            peak(),
        ]);
    }
}

/// From now on the most memory is counted anew.
fn begin_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The most memory of this program since then, pages of mapped files included.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let most =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<f64>().ok());
    most.map_or_else(|| "?".to_owned(), |kilobytes| format!("{:.0} MB", kilobytes / 1e3))
}
