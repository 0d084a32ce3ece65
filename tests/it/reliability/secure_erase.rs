//! Wiping of purged data: a mark exists from the purging commit until no file contains the bytes, and nothing is wiped
//! without a mark. The bytes themselves are checked in `http/purges.rs`, `http/trash.rs` and `import_kills.rs`.

use std::path::Path;
use std::process::Command;

use clotho_core::clock::Time;
use clotho_core::ids::TrashId;
use clotho_core::tree::{Delta, EditTarget, TreeEdit};
use clotho_store::TRASH_RETENTION_MS;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use serde_json::{Value, json};

use crate::support::server::{TestServer, id_of};
use crate::support::test_store::{TestStore, query_count};
use crate::support::wait::wait_until;

const MARKS: &str = "SELECT count(*) AS n FROM remains";

fn open_connection(app: &TestServer) -> SqliteConnection {
    let file = app.app().home().join("data/clotho.db");
    crate::support::open_second_connection(&file)
}

/// Purges a message and everything below it.
async fn purge(app: &TestServer, session: &Value, node: &str) {
    let edit = json!({"operations": [{"op": "purge", "nodeId": node, "confirm": true}]});
    app.put(&format!("/api/chat/{}/tree/edit", id_of(session)), &edit).await;
}

/// Runs a command on a server's folder, which must succeed, and returns its output.
fn run_cli(home: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clotho"));
    command.env("CLOTHO_STORAGE__DATA_DIR", home.join("data")).current_dir(home).env_remove("CLOTHO_CONFIG");
    let run = command.args(arguments).output().unwrap();
    assert!(run.status.success(), "{run:?}");
    String::from_utf8(run.stdout).unwrap()
}

/// Domain 2.16, 2.17: a commit that purges or deletes leaves a mark; no other commit does.
#[test]
fn wipe_mark_set_only_by_destroying_commit() {
    let store = TestStore::new();
    let begun = store.create_session(Delta::default(), None, &["Welcome."]);
    let (owner, session, at) = (store.owner, begun.session, store.now());
    let said = store.append(session, begun.greetings[0], store.user_draft("Hi."));
    let purge = |is_confirmed| TreeEdit::Purge { source: EditTarget::Node(said), is_confirmed };
    let (actor, asked) = (store.actor(), purge(false));
    store.write(move |tx| tx.arrange(&actor, session, std::slice::from_ref(&asked))).unwrap_err();
    assert_eq!(store.query_count(MARKS), 0);
    store.arrange(session, purge(true));
    assert_eq!(store.query_count(MARKS), 1);

    // Marks that were read are removed; marks added meanwhile stay.
    let seen = store.read(|reader| reader.pending_erasure()).unwrap();
    store.write(move |tx| tx.trash_session(owner, session, at)).unwrap();
    assert_eq!(store.query_count(MARKS), 1, "the trash keeps what it has");
    store.write(move |tx| tx.delete_permanently(owner, TrashId::new(session.uuid()))).unwrap();
    store.write(move |tx| tx.clear_erasure(seen)).unwrap();
    assert_eq!(store.query_count(MARKS), 1);
    let forget = || {
        let seen = store.read(|reader| reader.pending_erasure()).unwrap();
        store.write(move |tx| tx.clear_erasure(seen)).unwrap();
    };
    store.block_on(store.store().clear_deleted_rows()).unwrap();
    forget();
    assert_eq!(store.read(|reader| reader.pending_erasure()), None);

    let late = Time(at.0 + TRASH_RETENTION_MS + 1);
    store.block_on(store.store().collect_garbage(late)).unwrap();
    assert_eq!(store.query_count(MARKS), 0, "nothing was too old");
    let other = store.create_session(Delta::default(), None, &["Welcome."]).session;
    store.write(move |tx| tx.trash_session(owner, other, at)).unwrap();
    store.write(move |tx| tx.delete_expired_trash(late)).unwrap();
    assert_eq!(store.query_count(MARKS), 1);
}

/// Domain 2.16: without a mark nothing is searched, also at a start. With a mark everything is wiped, and then the
/// mark is removed.
#[tokio::test]
async fn wipe_without_mark_does_nothing() {
    let app = TestServer::start().await;
    let (session, line) = app.create_branch(3).await;
    // An unreferenced blob: a search of all data would find and remove it.
    app.app().store.write(|tx| tx.put_blob(b"idle")).await.unwrap();
    let idle = |app: &TestServer| {
        query_count(&mut open_connection(app), "SELECT count(*) AS n FROM blobs WHERE bytes = x'69646c65'")
    };
    app.app().secure_erase.erase(&app.app().store).await.unwrap();
    let app = app.restart().await;
    app.app().secure_erase.erase(&app.app().store).await.unwrap();
    assert_eq!((idle(&app), query_count(&mut open_connection(&app), MARKS)), (1, 0));
    purge(&app, &session, &line[2]).await;
    wait_until("a clean house", async || query_count(&mut open_connection(&app), MARKS) == 0).await;
    assert_eq!(idle(&app), 0);
}

/// Domain 2.16: if something blocks the wipe, the server keeps retrying and reports it to the administrator until it
/// is done.
#[tokio::test]
async fn wipe_failure_is_reported_and_retried() {
    let app = TestServer::start().await;
    let (session, line) = app.create_branch(3).await;
    let told =
        async || app.request("GET", "/readyz").send().await.expect(200)["parts"]["wiping"].as_str().unwrap().to_owned();
    assert_eq!(told().await, "ok");
    // A long read on the write-ahead log of the database prevents emptying it.
    let mut reading = open_connection(&app);
    reading.batch_execute("BEGIN; SELECT count(*) FROM nodes").unwrap();
    assert!(query_count(&mut reading, "SELECT count(*) AS n FROM nodes") > 0);
    purge(&app, &session, &line[2]).await;
    wait_until("a word about it", async || told().await.contains("still in files")).await;
    assert!(app.app().secure_erase.failures() >= 3);
    assert!(query_count(&mut open_connection(&app), MARKS) > 0);
    let doctor = run_cli(&app.app().home(), &["doctor"]);
    assert!(doctor.contains("the running server erases it") && doctor.contains("/readyz"), "{doctor}");
    reading.batch_execute("ROLLBACK").unwrap();
    wait_until("a clean house", async || query_count(&mut open_connection(&app), MARKS) == 0).await;
    wait_until("peace", async || told().await == "ok").await;
}

/// Domain 2.16: a wipe that a server did not finish is not a fault. The doctor, `gc` (which does not touch the index)
/// and `stats` report it.
#[tokio::test]
async fn wipe_pending_is_reported_by_commands() {
    let app = TestServer::start().await;
    app.create_branch(1).await;
    let home = app.app().home();
    let setup = app.stop().await;
    let says = |arguments: &[&str], word: &str| run_cli(&home, arguments).contains(word);
    let (next, marks) = ("the next server erases it", "pending erasures: 1 mark");
    let asked: [(&[&str], _); 3] = [(&["doctor", "--json"], next), (&["gc"], next), (&["stats"], marks)];
    for (command, word) in asked {
        assert!(!says(command, word), "{command:?}");
    }
    let file = home.join("data/clotho.db");
    let mut conn = crate::support::open_second_connection(&file);
    conn.batch_execute("INSERT INTO remains (n) VALUES (1)").unwrap();
    drop(conn);
    for (command, word) in asked {
        assert!(says(command, word), "{command:?}");
    }
    let app = TestServer::start_with(setup).await;
    wait_until("a clean house", async || query_count(&mut open_connection(&app), MARKS) == 0).await;
}
