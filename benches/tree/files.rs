//! Export of whole sessions and import into another store: time, and growth of the program's private memory.

use std::fs::File;
use std::io::BufWriter;

use clotho_core::clock::Time;
use clotho_engine::transfer::{self, SessionImportOptions};
use clotho_store::DatabaseSnapshot;
use clotho_store::archive::ArchiveLimits;

use super::session::open;
use super::table::{MemoryPeak, measure_time, print_header, print_row};

const SIZES: [usize; 2] = [10_000, 100_000];

pub fn measure(most: usize) {
    print_header("A session as a file", &["messages", "out", "memory", "file", "in", "memory"]);
    for size in SIZES.into_iter().filter(|size| *size <= most) {
        // The session to export.
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = to.path().join("story.clotho");
        let id = {
            let bench = open(from.path());
            let (session, root) = bench.create_session(10);
            bench.append_nodes(session, root, size);
            session
        };
        // Export it.
        let mut snapshot = DatabaseSnapshot::open(&from.path().join("clotho.db")).unwrap();
        let held = snapshot.session(None, id).unwrap().unwrap();
        let out_peak = MemoryPeak::start();
        let out = measure_time(|| {
            let file = BufWriter::new(File::create(&path).unwrap());
            let exported = transfer::export(&mut snapshot, &held, file, Time(0), |_| out_peak.sample());
            exported.unwrap().into_inner().unwrap();
        });
        drop(snapshot);
        // Import it into another store.
        let bench = open(&to.path().join("data"));
        let mut file = File::open(&path).unwrap();
        let bytes = file.metadata().unwrap().len();
        let in_peak = MemoryPeak::start();
        let taken = measure_time(|| {
            let arrival = SessionImportOptions { owner: bench.user, job: None, title: None, is_trusted: true };
            let limits = ArchiveLimits::for_archive(1 << 40);
            let import = transfer::import(&bench.store, &mut file, arrival, &bench.ids, Time(9), limits, |_| {
                in_peak.sample();
                true
            });
            bench.runtime.block_on(import).unwrap();
        });
        // Print the row.
        print_row(&[
            size.to_string(),
            format!("{:.1} s", out.as_secs_f64()),
            out_peak.format_growth(),
            format!("{:.1} MB", bytes as f64 / 1e6),
            format!("{:.1} s", taken.as_secs_f64()),
            in_peak.format_growth(),
        ]);
    }
}
