//! Files and sessions may be larger than the memory: memory use does not grow with their texts.

use std::fs::File;
use std::io::{BufWriter, Seek as _, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use clotho_core::clock::Time;
use clotho_engine::transfer;
use clotho_plugin::heap;
use clotho_store::DatabaseSnapshot;
use clotho_store::archive::{ArchiveError, ArchiveLimits, ArchiveReader};
use tempfile::TempDir;

use super::import_file;
use crate::support::anonymous_memory_kb;
use crate::support::archive_file::write_long_session;
use crate::support::test_store::TestStore;

/// Bytes of each text.
const TEXT: usize = 6_400;

fn write_session_file(messages: usize) -> File {
    let mut file = tempfile::tempfile().unwrap();
    write_long_session(BufWriter::new(&mut file), messages, TEXT);
    file.rewind().unwrap();
    file
}

/// Returns the peak number of bytes that this thread holds during the work.
fn peak_bytes_during(work: impl FnOnce()) -> i64 {
    heap::reset_peak();
    let before = heap::live_bytes();
    work();
    heap::peak_bytes() - before
}

/// Returns the bytes for each additional message, measured between two sizes. Texts have [`TEXT`] bytes.
fn bytes_per_message(small: (usize, i64), large: (usize, i64)) -> i64 {
    (large.1 - small.1) / i64::try_from(large.0 - small.0).unwrap()
}

/// S0-54, S4-04: checking a file holds an entry for each message and never the texts.
#[test]
fn archive_check_memory_excludes_texts() {
    let look = |messages| {
        let file = write_session_file(messages);
        let held = peak_bytes_during(|| {
            let mut lines = ArchiveReader::begin(&file, ArchiveLimits::for_archive(1 << 30)).unwrap();
            transfer::check::<_, ArchiveError>(&mut lines, || Ok(())).unwrap();
        });
        (messages, held)
    };
    let each = bytes_per_message(look(1_000), look(4_000));
    assert!((16..400).contains(&each), "{each} bytes for each further message");
}

/// S0-54, S4-04: a session is exported in chunks: a few numbers for each message are held, and never the texts.
#[test]
fn export_memory_does_not_grow_with_text() {
    let store = TestStore::new();
    let out = |messages| {
        let session =
            import_file(&store, &mut write_session_file(messages), ArchiveLimits::for_archive(1 << 30), |_| true)
                .unwrap();
        let mut snapshot = DatabaseSnapshot::open(&store.database_path()).unwrap();
        let kept = snapshot.session(None, session).unwrap().unwrap();
        let held = peak_bytes_during(|| {
            transfer::export(&mut snapshot, &kept, std::io::sink(), Time(0), |_| {}).unwrap();
        });
        (messages, held)
    };
    let each = bytes_per_message(out(500), out(2_500));
    assert!((8..200).contains(&each), "{each} bytes for each further message");
}

/// Returns the peak private memory of `clotho import` in kilobytes, as the system counts it.
pub fn import_peak_kilobytes(folder: &Path, arguments: &[&str]) -> u64 {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clotho"));
    command.env("CLOTHO_STORAGE__DATA_DIR", folder.join("data")).env_remove("CLOTHO_CONFIG").current_dir(folder);
    let mut child = command.arg("import").args(arguments).stdout(Stdio::null()).spawn().unwrap();
    let mut most = 0;
    loop {
        most = most.max(anonymous_memory_kb(child.id()));
        if let Some(ended) = child.try_wait().unwrap() {
            assert!(ended.success());
            return most;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// S0-54, S4-04: the whole program imports a session whose texts are larger than its memory limit.
#[cfg(target_os = "linux")]
#[test]
fn import_memory_does_not_grow_with_text() {
    let most = |messages: usize| {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("long.clotho");
        let mut out = BufWriter::new(File::create(&path).unwrap());
        write_long_session(&mut out, messages, TEXT);
        out.flush().unwrap();
        drop(out);
        import_peak_kilobytes(folder.path(), &[path.to_str().unwrap()])
    };
    let (small, large) = (most(500), most(10_000));
    // 9 500 more messages are 61 MB of texts.
    assert!(small > 1_000 && large < small + 32_000, "{small} kB, and {large} kB for twenty times as much");
}
