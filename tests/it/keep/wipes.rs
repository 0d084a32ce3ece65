//! Wiping: a mark stands from the commit that destroys until no file has the bytes, and only where one stands is anything
//! done. The bytes themselves are looked for in `http/purges.rs`, `http/trash.rs` and `kills.rs`.

use std::path::Path;
use std::process::Command;

use clotho_core::clock::Time;
use clotho_core::ids::TrashId;
use clotho_core::tree::{Delta, EditTarget, TreeEdit};
use clotho_store::TRASH_RETENTION_MS;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use serde_json::{Value, json};

use crate::support::server::{TestServer, id};
use crate::support::test_store::{TestStore, count};
use crate::support::wait::until;

const MARKS: &str = "SELECT count(*) AS n FROM remains";

fn sql(app: &TestServer) -> SqliteConnection {
    let file = app.inside().home().join("data/clotho.db");
    crate::support::sql_beside(&file)
}

/// Destroys a message with what hangs below it.
async fn purge(app: &TestServer, session: &Value, node: &str) {
    let edit = json!({"operations": [{"op": "purge", "nodeId": node, "confirm": true}]});
    app.put(&format!("/api/chat/{}/tree/edit", id(session)), &edit).await;
}

/// What a command says of a server's folder; it must end well.
fn said(home: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clotho"));
    command.env("CLOTHO_STORAGE__DATA_DIR", home.join("data")).current_dir(home).env_remove("CLOTHO_CONFIG");
    let run = command.args(arguments).output().unwrap();
    assert!(run.status.success(), "{run:?}");
    String::from_utf8(run.stdout).unwrap()
}

/// Domain 2.16, 2.17: whatever destroys leaves a mark in its own commit, and what does not leaves none.
#[test]
fn wipe_mark_set_only_by_destroying_commit() {
    let store = TestStore::new();
    let begun = store.begin(Delta::default(), None, &["Welcome."]);
    let (owner, session, at) = (store.owner, begun.session, store.now());
    let said = store.append(session, begun.greetings[0], store.said("Hi."));
    let purge = |is_confirmed| TreeEdit::Purge { piece: EditTarget::Node(said), is_confirmed };
    let (actor, asked) = (store.actor(), purge(false));
    store.write(move |tx| tx.arrange(&actor, session, std::slice::from_ref(&asked))).unwrap_err();
    assert_eq!(store.count(MARKS), 0);
    store.arrange(session, purge(true));
    assert_eq!(store.count(MARKS), 1);

    // The marks that were seen go, and those that came meanwhile stay.
    let seen = store.read(|reader| reader.pending_erasure()).unwrap();
    store.write(move |tx| tx.trash_session(owner, session, at)).unwrap();
    assert_eq!(store.count(MARKS), 1, "the trash keeps what it has");
    store.write(move |tx| tx.delete_permanently(owner, TrashId::new(session.uuid()))).unwrap();
    store.write(move |tx| tx.clear_erasure(seen)).unwrap();
    assert_eq!(store.count(MARKS), 1);
    let forget = || {
        let seen = store.read(|reader| reader.pending_erasure()).unwrap();
        store.write(move |tx| tx.clear_erasure(seen)).unwrap();
    };
    store.block_on(store.store().clear_deleted_rows()).unwrap();
    forget();
    assert_eq!(store.read(|reader| reader.pending_erasure()), None);

    let late = Time(at.0 + TRASH_RETENTION_MS + 1);
    store.block_on(store.store().collect_garbage(late)).unwrap();
    assert_eq!(store.count(MARKS), 0, "nothing was too old");
    let other = store.begin(Delta::default(), None, &["Welcome."]).session;
    store.write(move |tx| tx.trash_session(owner, other, at)).unwrap();
    store.write(move |tx| tx.delete_expired_trash(late)).unwrap();
    assert_eq!(store.count(MARKS), 1);
}

/// Domain 2.16: nothing is looked through where nothing was destroyed, at a start neither; once something was, all of it is, and
/// the mark goes.
#[tokio::test]
async fn wipe_without_mark_does_nothing() {
    let app = TestServer::start().await;
    let (session, line) = app.line(3).await;
    // Nothing names it: looking through everything would find that and take it away.
    app.inside().store.write(|tx| tx.put_blob(b"idle")).await.unwrap();
    let idle = |app: &TestServer| count(&mut sql(app), "SELECT count(*) AS n FROM blobs WHERE bytes = x'69646c65'");
    app.inside().secure_erase.erase(&app.inside().store).await.unwrap();
    let app = app.restart().await;
    app.inside().secure_erase.erase(&app.inside().store).await.unwrap();
    assert_eq!((idle(&app), count(&mut sql(&app), MARKS)), (1, 0));
    purge(&app, &session, &line[2]).await;
    until("a clean house", async || count(&mut sql(&app), MARKS) == 0).await;
    assert_eq!(idle(&app), 0);
}

/// Domain 2.16: where something is in the way of the wiping it goes on trying, and whoever looks after the server is told, until
/// it is done.
#[tokio::test]
async fn wipe_failure_is_reported_and_retried() {
    let app = TestServer::start().await;
    let (session, line) = app.line(3).await;
    let told =
        async || app.ask("GET", "/readyz").send().await.expect(200)["parts"]["wiping"].as_str().unwrap().to_owned();
    assert_eq!(told().await, "ok");
    // Somebody reads on and on in the log of the database: it cannot be emptied.
    let mut reading = sql(&app);
    reading.batch_execute("BEGIN; SELECT count(*) FROM nodes").unwrap();
    assert!(count(&mut reading, "SELECT count(*) AS n FROM nodes") > 0);
    purge(&app, &session, &line[2]).await;
    until("a word about it", async || told().await.contains("still lies in files")).await;
    assert!(app.inside().secure_erase.failed() >= 3);
    assert!(count(&mut sql(&app), MARKS) > 0);
    let doctor = said(&app.inside().home(), &["doctor"]);
    assert!(doctor.contains("the server that runs wipes it off") && doctor.contains("/readyz"), "{doctor}");
    reading.batch_execute("ROLLBACK").unwrap();
    until("a clean house", async || count(&mut sql(&app), MARKS) == 0).await;
    until("peace", async || told().await == "ok").await;
}

/// Domain 2.16: what a server has not wiped before it ended is no fault; the doctor, the clearing away, which does not touch the
/// index, and the figures say that it is there.
#[tokio::test]
async fn wipe_pending_is_reported_by_commands() {
    let app = TestServer::start().await;
    app.line(1).await;
    let home = app.inside().home();
    let setup = app.stop().await;
    let says = |arguments: &[&str], word: &str| said(&home, arguments).contains(word);
    let (next, marks) = ("the next server wipes it off", "remains: 1 mark of what was destroyed");
    let asked: [(&[&str], _); 3] = [(&["doctor", "--json"], next), (&["gc"], next), (&["stats"], marks)];
    for (command, word) in asked {
        assert!(!says(command, word), "{command:?}");
    }
    let file = home.join("data/clotho.db");
    let mut conn = crate::support::sql_beside(&file);
    conn.batch_execute("INSERT INTO remains (n) VALUES (1)").unwrap();
    drop(conn);
    for (command, word) in asked {
        assert!(says(command, word), "{command:?}");
    }
    let app = TestServer::with(setup).await;
    until("a clean house", async || count(&mut sql(&app), MARKS) == 0).await;
}
