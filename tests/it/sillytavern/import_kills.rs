//! An import that is killed repeatedly.

use std::process::{Command, Stdio};

use clotho_core::clock::SplitMix64;
use clotho_store::StoreSettings;
use tempfile::TempDir;

use super::command::run_clotho;
use super::*;
use crate::support::data_root::DataRoot;
use crate::support::test_store::{doctor_findings, query_count};
use diesel::prelude::*;

/// Returns how many messages are written, read from the database file while the import runs.
fn count_written_nodes(database: &Path) -> i64 {
    let Ok(mut conn) = SqliteConnection::establish(database.to_str().unwrap()) else { return 0 };
    let query = "SELECT count(*) AS n FROM sqlite_master WHERE name = 'sources'";
    drop(diesel::sql_query("PRAGMA busy_timeout = 5000").execute(&mut conn));
    if query_count(&mut conn, query) == 0 { 0 } else { query_count(&mut conn, "SELECT count(*) AS n FROM nodes") }
}

/// Domain 4, C23: an import is killed at moments drawn from a seed, counted in written messages, and run again. It
/// ends with the same result as an undisturbed import.
#[test]
fn import_killed_repeatedly_reaches_same_result() {
    let (home, root) = (TempDir::new().unwrap(), DataRoot::generate(5, 2, 4, 100));
    let data = home.path().join("data");
    let path = root.path().to_str().unwrap();
    let mut random = SplitMix64::new(13);
    let (mut kills, mut so_far) = (0, 0);
    loop {
        // Import until this many messages are written.
        let wanted = so_far + 1 + i64::try_from(random.next_below(200)).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_clotho"));
        command.env("CLOTHO_STORAGE__DATA_DIR", &data).env_remove("CLOTHO_CONFIG").current_dir(home.path());
        let silent = command.args(["import", "sillytavern", path]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = silent.spawn().unwrap();
        let ended = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break Some(status);
            }
            if data.join("clotho.db").exists() && count_written_nodes(&data.join("clotho.db")) >= wanted {
                break None;
            }
        };
        // The import ended before the kill.
        if let Some(status) = ended {
            assert!(status.success());
            break;
        }
        // Kill it; the doctor must find nothing.
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        so_far = count_written_nodes(&data.join("clotho.db"));
        let found = doctor_findings(&data.join("clotho.db"), true);
        assert!(found.is_empty(), "{found:#?}");
    }
    assert!(kills >= 3, "{kills}");
    // Another import adds nothing.
    let (code, told, _) = run_clotho(&data, &["import", "sillytavern", path]);
    assert!(code == Some(0) && told.contains("0 sessions, 0 messages"), "{told}");

    // The result equals an undisturbed import.
    let undisturbed = TestStore::new();
    import_folder(&undisturbed, root.path());
    let mut store = TestStore::without_user(|settings: &mut StoreSettings| settings.data_dir.clone_from(&data));
    let owner = store.read(|reader| reader.users()).remove(0).id;
    store.owner = owner;
    assert_eq!(dump_sessions(&store), dump_sessions(&undisturbed));
    store.assert_healthy();
}
