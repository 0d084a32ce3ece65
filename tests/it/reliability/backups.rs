//! Backups of the database: complete, checked, from one moment, and without blocking anything.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clotho_core::clock::Time;
use clotho_core::tree::Delta;
use clotho_core::tree::reference_tree::ReferenceTree;
use clotho_store::backups::{self, BackupError};
use clotho_store::{Store, StoreError, StoreSettings};
use diesel::Connection;
use diesel::connection::SimpleConnection;
use diesel::sqlite::SqliteConnection;
use serde_json::json;

use crate::support::app::TestApp;
use crate::support::server::{TestServer, id_of};
use crate::support::test_store::{TestStore, message_write};

const DAY: i64 = 24 * 60 * 60 * 1_000;

fn file_names(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Opens a backup as a separate database.
fn open_backup(copy: &Path, folder: &Path) -> Store {
    let database = folder.join("opened.db");
    std::fs::copy(copy, &database).unwrap();
    let settings = StoreSettings {
        data_dir: folder.to_owned(),
        database: Some(database),
        keyframe_every: 16,
        readers: 1,
        group_max: 64,
        max_pages: None,
    };
    Store::open(&settings).unwrap().0
}

/// `domain.md` 4: backups made while messages are written contain everything that was acknowledged before they began.
/// They contain nothing partially: the log of every session rebuilds its tree.
#[tokio::test]
async fn backup_under_load_is_consistent_snapshot() {
    let app = Arc::new(TestServer::start().await);
    let folder = tempfile::tempdir().unwrap();
    let (is_over, mut writers) = (Arc::new(AtomicBool::new(false)), Vec::new());
    // Three writers run until the end.
    for _ in 0..3 {
        let session = app.create_session().await;
        let (app, is_over) = (Arc::clone(&app), Arc::clone(&is_over));
        writers.push(tokio::spawn(async move {
            let mut parent = session["activeLeafId"].as_str().unwrap().to_owned();
            while !is_over.load(Ordering::Relaxed) {
                let body = json!({"parentId": parent, "content": "On and on."});
                parent = id_of(&app.post(&format!("/api/chat/{}/message", id_of(&session)), &body).await["node"]);
            }
        }));
    }
    // Each backup has everything acknowledged before it, and its logs rebuild its trees.
    let newest = || app.app().store.read(|reader| reader.newest_cursor());
    for n in 0..4 {
        let before = newest().await.unwrap();
        let (database, copy) = (app.app().home().join("data/clotho.db"), folder.path().join(format!("{n}.db")));
        let to = copy.clone();
        tokio::task::spawn_blocking(move || backups::create(&database, &to).unwrap()).await.unwrap();
        let home = tempfile::tempdir().unwrap();
        let (store, owner) = (open_backup(&copy, home.path()), app.app().owner);
        let check = move |reader: &mut clotho_store::StoreReader<'_>| {
            assert!(reader.newest_cursor()? >= before, "what was acknowledged is there");
            for held in reader.sessions(owner, 0, 10)? {
                let log = reader.operations(&held, 0, i64::MAX)?;
                let mirror = ReferenceTree::replay(&log).unwrap();
                assert_eq!(mirror.head(), Some(held.session.head));
                assert_eq!(i64::try_from(mirror.nodes().len()).unwrap(), held.counts.nodes + 1);
            }
            Ok::<_, StoreError>(())
        };
        store.read(check).await.unwrap();
    }
    // Stop the writers.
    is_over.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(file_names(folder.path()).len(), 4, "nothing else is left behind");
}

/// A backup never replaces an existing file, and a failed one leaves no file.
#[test]
fn backup_failure_leaves_no_file() {
    let store = TestStore::new();
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("copy.db");
    std::fs::write(&to, "mine").unwrap();
    assert!(matches!(backups::create(&store.database_path(), &to), Err(BackupError::Exists(_))));
    assert_eq!(std::fs::read_to_string(&to).unwrap(), "mine");
    std::fs::remove_file(&to).unwrap();

    assert!(matches!(backups::create(&folder.path().join("nothing.db"), &to), Err(BackupError::Missing(_))));
    let letter = folder.path().join("letter.db");
    std::fs::write(&letter, "Dear diary. ".repeat(1_000)).unwrap();
    assert!(backups::create(&letter, &to).is_err());
    assert!(matches!(
        backups::create(&store.database_path(), &folder.path().join("no/where.db")),
        Err(BackupError::Failed(_))
    ));
    assert_eq!(file_names(folder.path()), ["letter.db"]);
    backups::create(&store.database_path(), &to).unwrap();
    backups::check(&to).unwrap();
    assert_eq!(file_names(folder.path()), ["copy.db", "letter.db"]);
}

/// `domain.md` 4: a restore returns to the moment of the backup and keeps the replaced database with all its data. It
/// refuses a damaged, foreign or newer file, or while the database is open. A refused restore changes nothing.
#[test]
fn backup_restore_replaces_database_and_refuses_bad_files() {
    let mut store = TestStore::new();
    let begun = store.create_session(Delta::default(), None, &["Welcome."]);
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.db");
    backups::create(&store.database_path(), &copy).unwrap();
    let late = message_write(begun.session, begun.greetings[0], Some(store.user_draft("Later.")), Vec::new());
    store.try_add_message(late).unwrap();
    let (settings, now) = (store.settings.clone(), Time(1_763_734_500_000));
    let put_back = |file: &Path| backups::restore(&settings, file, now);
    assert!(matches!(put_back(&copy), Err(BackupError::Failed(StoreError::Locked))));
    store.close();

    let bytes = std::fs::read(&copy).unwrap();
    let bad = |name: &str, bytes: &[u8]| {
        let file = folder.path().join(name);
        std::fs::write(&file, bytes).unwrap();
        file
    };
    let mut holed = bytes.clone();
    holed[4_096 * 4..4_096 * 6].fill(0xab);
    for file in [bad("cut.db", &bytes[..bytes.len() / 2]), bad("holed.db", &holed), bad("letter.db", b"Dear diary.")] {
        assert!(matches!(put_back(&file), Err(BackupError::Damaged { .. } | BackupError::Foreign { .. })), "{file:?}");
    }
    let triggered = bad("triggered.db", &bytes);
    let mut conn = SqliteConnection::establish(triggered.to_str().unwrap()).unwrap();
    conn.batch_execute("CREATE TRIGGER t AFTER INSERT ON nodes BEGIN SELECT 1; END").unwrap();
    drop(conn);
    let refused = put_back(&triggered).unwrap_err();
    assert!(
        matches!(refused, BackupError::Foreign { .. }) && refused.to_string().contains("trigger \"t\""),
        "{refused}"
    );
    assert!(matches!(put_back(&folder.path().join("nothing")), Err(BackupError::Missing(_))));
    store.reopen();
    assert_eq!(store.visible_texts(begun.session), ["Welcome.", "Later."], "nothing was touched");
    store.close();

    let aside: PathBuf = put_back(&copy).unwrap().unwrap();
    assert_eq!(aside.file_name().unwrap(), "clotho-before-20251121T141500Z.db");
    store.reopen();
    assert_eq!(store.visible_texts(begun.session), ["Welcome."]);
    store.close();
    put_back(&aside).unwrap();
    store.reopen();
    assert_eq!(store.visible_texts(begun.session), ["Welcome.", "Later."], "what was there is whole");
}

/// Daily backups: one a day. The oldest is removed once a new one exists, and a failed one removes no good one.
#[test]
fn daily_backups_keep_seven_newest() {
    let store = TestStore::new();
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("backups");
    let first = 1_763_734_500_000;
    let of_day = |n: i64| backups::daily_backup(&store.database_path(), &folder, 7, Time(first + n * DAY));
    assert_eq!(backups::daily_backup(&store.database_path(), &folder, 0, Time(first)).unwrap(), None);
    assert!(!folder.exists());
    for n in 0..9 {
        assert!(of_day(n).unwrap().is_some());
        assert!(of_day(n).unwrap().is_none(), "one is enough");
    }
    std::fs::write(folder.join("mine.db"), "not theirs").unwrap();
    let kept = file_names(&folder);
    assert_eq!((kept.len(), kept[0].as_str(), kept[6].as_str()), (8, "clotho-2025-11-23.db", "clotho-2025-11-29.db"));

    // The database cannot be read: nothing is removed.
    let nowhere = home.path().join("nowhere.db");
    assert!(backups::daily_backup(&nowhere, &folder, 3, Time(first + 9 * DAY)).is_err());
    assert_eq!(file_names(&folder), kept);
    assert!(backups::daily_backup(&store.database_path(), &folder, 3, Time(first + 9 * DAY)).unwrap().is_some());
    assert_eq!(file_names(&folder).len(), 4);
}

/// The server makes the daily backup by itself, in its own folder.
#[tokio::test]
async fn daily_backup_is_made_by_server() {
    let app = TestApp::start().await;
    app.maintenance.run_pass(&app.store).await;
    let folder = app.home().join("data/backups");
    assert_eq!(file_names(&folder), ["clotho-2023-11-14.db"]);
    backups::check(&folder.join("clotho-2023-11-14.db")).unwrap();
}
