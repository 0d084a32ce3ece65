//! Faults of databases and disks, each provoked on a real file. The cases were found by reading the sources of the
//! crates; a new one gets its test here.

use std::sync::mpsc;
use std::thread;

use clotho_core::ids::{FragmentId, SessionId};
use clotho_core::tree::edit::TreeError;
use clotho_core::tree::reference_tree::ReferenceTree;
use clotho_core::tree::{Delta, EditTarget, Kind, Role, TreeEdit};
use clotho_store::{MessageReceipt, MessageWrite, Store, StoreError, WriteError};
use diesel::connection::SimpleConnection;
use futures_util::future::join_all;
use futures_util::poll;
use serde_json::json;

use crate::support::test_store::{SessionIds, TestStore, delta, message_write, set_operation};

fn create_session(store: &TestStore) -> SessionIds {
    store.create_session(Delta::default(), None, &["Welcome."])
}

fn user_message_write(store: &TestStore, begun: &SessionIds, text: &str) -> MessageWrite {
    message_write(begun.session, begun.greetings[0], Some(store.user_draft(text)), Vec::new())
}

/// Puts all writes into one group, by keeping the writer busy until they are queued.
fn write_in_one_group(store: &TestStore, writes: Vec<MessageWrite>) -> Vec<Result<MessageReceipt, WriteError>> {
    let (started, has_started) = mpsc::channel();
    let (open, gate) = mpsc::channel::<()>();
    let mut busy = Box::pin(store.store().write(move |_| {
        let _ = (started.send(()), gate.recv());
        Ok(())
    }));
    let jobs = writes.into_iter().map(|message| {
        let (actor, text) = (store.actor(), message.draft.as_ref().unwrap().content.clone());
        Box::pin(store.store().write(move |tx| {
            let written = tx.add_message(&actor, &message);
            assert!(!text.ends_with("panic"), "as it was told to");
            written
        }))
    });
    let mut all = join_all(jobs);
    store.block_on(async {
        // A write is queued when it is first polled.
        assert!(poll!(&mut busy).is_pending());
        has_started.recv().unwrap();
        assert!(poll!(&mut all).is_pending());
        drop(open);
        busy.await.unwrap();
        all.await
    })
}

/// A request that was cancelled does not keep a reader busy, whether its read runs or waits.
#[test]
fn read_whose_caller_is_gone_ends_at_next_check() {
    let store = TestStore::new();
    let (started, has_started) = mpsc::channel();
    let (open, gate) = mpsc::channel::<()>();
    let (ended, end) = mpsc::channel();
    let mut running = Box::pin(store.store().read(move |reader| {
        reader.check_wanted()?;
        let _ = (started.send(()), gate.recv());
        let checked = reader.check_wanted();
        let _ = ended.send(checked.clone());
        checked
    }));
    store.block_on(async { assert!(poll!(&mut running).is_pending()) });
    has_started.recv().unwrap();
    drop(running);
    drop(open);
    assert!(matches!(end.recv().unwrap(), Err(StoreError::Abandoned)));
    // The threads are free again, and a read whose future was dropped in the queue has not run.
    let begun = create_session(&store);
    assert_eq!(store.stored_node(begun.session, begun.greetings[0]).node.content, "Welcome.");
}

fn child_texts(store: &TestStore, begun: &SessionIds) -> Vec<String> {
    let (held, parent) = (store.stored_session(begun.session), begun.greetings[0]);
    store.read(move |reader| reader.children(&held, parent)).into_iter().map(|one| one.node.content).collect()
}

/// Asserts that the log numbers every operation once, in order, and gives the stored tree.
fn assert_log_intact(store: &TestStore, session: SessionId) {
    let log = store.log(session);
    assert!(log.iter().zip(1..).all(|(entry, op)| entry.op == op), "no gap in the log");
    assert_eq!(ReferenceTree::replay(&log).unwrap().head(), Some(store.head(session)));
    assert_eq!(store.query_count("SELECT count(*) AS n FROM nodes WHERE n NOT IN (SELECT n FROM texts)"), 0);
    assert_eq!(store.query_count("SELECT count(*) AS n FROM pragma_foreign_key_check"), 0);
}

fn expect_store_error<T: std::fmt::Debug>(result: Result<T, WriteError>) -> StoreError {
    match result {
        Err(WriteError::Failed(error)) => error,
        other => panic!("it did not fail: {other:?}"),
    }
}

/// The disk fills up in the middle of a group, and SQLite rolls back the whole transaction, not only the last
/// statement. No message is stored partially, those with room are stored, and each request gets its own result.
#[test]
fn full_disk_refuses_only_writes_without_room() {
    let mut store = TestStore::new();
    let begun = create_session(&store);
    let pages = store.query_count("SELECT page_count AS n FROM pragma_page_count");
    store.reopen_with(|settings| settings.max_pages = Some(u32::try_from(pages).unwrap() + 8));
    let large = "x".repeat(400_000);
    let nowhere = message_write(begun.session, store.next_node_id(), Some(store.user_draft("lost")), Vec::new());
    let writes = ["one", "two", &large, "three", "four"].map(|text| user_message_write(&store, &begun, text));
    let mut writes = Vec::from(writes);
    writes.insert(4, nowhere);
    let _ = store.take_published_operations();

    let results = write_in_one_group(&store, writes);
    let outcome = |result: &Result<MessageReceipt, WriteError>| match result {
        Ok(_) => "kept",
        Err(WriteError::Failed(StoreError::Quota)) => "full",
        Err(WriteError::Refused(TreeError::NotFound(_))) => "refused",
        other => panic!("{other:?}"),
    };
    let outcomes: Vec<&str> = results.iter().map(outcome).collect();
    assert_eq!(outcomes, ["kept", "kept", "full", "kept", "refused", "kept"]);
    assert_eq!(child_texts(&store, &begun), ["one", "two", "three", "four"]);
    assert_eq!(store.take_published_operations().len(), 4, "only what is durable is told");
    assert_log_intact(&store, begun.session);

    // The disk stays full: every write is refused, every read works.
    let filler = "y".repeat(3_000);
    let last = (0..100)
        .map(|_| store.try_add_message(user_message_write(&store, &begun, &filler)))
        .find(Result::is_err)
        .unwrap();
    assert!(matches!(expect_store_error(last), StoreError::Quota), "the disk has room");
    let (actor, ignored) = (store.actor(), user_message_write(&store, &begun, &large));
    let swallowed = store.write(move |tx| {
        let _ = tx.add_message(&actor, &ignored);
        Ok(())
    });
    assert!(matches!(expect_store_error(swallowed), StoreError::Quota), "also where the caller pays no heed");
    let standing = child_texts(&store, &begun);
    assert_log_intact(&store, begun.session);

    // Room again: nothing was lost, and writes work.
    store.reopen_with(|settings| settings.max_pages = None);
    assert_eq!(child_texts(&store, &begun), standing);
    store.try_add_message(user_message_write(&store, &begun, &large)).unwrap();
    assert_log_intact(&store, begun.session);
}

/// S4-17, `domain.md` 2.18: a list of edits that does not fit on a full disk has no effect at all, and the store keeps
/// working. With room again the same list succeeds.
#[test]
fn full_disk_rolls_back_whole_edit_list() {
    let mut store = TestStore::new();
    let begun = create_session(&store);
    let session = begun.session;
    let leaf = store.append(session, begun.greetings[0], store.user_draft("cut me"));
    let pages = store.query_count("SELECT page_count AS n FROM pragma_page_count");
    store.reopen_with(|settings| settings.max_pages = Some(u32::try_from(pages).unwrap() + 2));
    let edits = |store: &TestStore, n: usize| {
        let name = format!("{n} {}", "x".repeat(90));
        let fragment = FragmentId::new(store.next_node_id().uuid());
        [
            TreeEdit::Label { node: begun.greetings[0], name: name.clone(), following: false },
            TreeEdit::Prune { node: leaf, fragment, name: Some(name) },
            TreeEdit::Graft { source: EditTarget::Fragment(fragment), target: None },
        ]
    };
    let make = |store: &TestStore, n: usize| {
        let (actor, edits) = (store.actor(), edits(store, n));
        store.write(move |tx| tx.arrange(&actor, session, &edits))
    };
    let (made, refused) = (0..900).map(|n| (n, make(&store, n))).find(|(_, made)| made.is_err()).unwrap();
    assert!(matches!(expect_store_error(refused), StoreError::Quota));
    let labels = |store: &TestStore| store.query_count("SELECT count(*) AS n FROM labels");
    assert_eq!(usize::try_from(labels(&store)).unwrap(), made);
    assert_eq!(store.query_count("SELECT count(*) AS n FROM fragments"), 0);
    store.assert_healthy();
    store.reopen_with(|settings| settings.max_pages = None);
    make(&store, made).unwrap();
    assert_eq!(usize::try_from(labels(&store)).unwrap(), made + 1);
    store.assert_healthy();
}

/// One request of a group is refused, another panics: both leave nothing. The others are stored, and the writer goes
/// on.
#[test]
fn failed_request_in_group_keeps_other_requests() {
    let store = TestStore::new();
    let begun = create_session(&store);
    let nowhere = message_write(begun.session, store.next_node_id(), Some(store.user_draft("lost")), Vec::new());
    let mut writes = Vec::from(["one", "a panic", "two"].map(|text| user_message_write(&store, &begun, text)));
    writes.insert(1, nowhere);
    let [one, refused, panicked, two] = <[_; 4]>::try_from(write_in_one_group(&store, writes)).unwrap();
    assert!(one.is_ok() && two.is_ok());
    assert!(matches!(refused, Err(WriteError::Refused(TreeError::NotFound("the message")))));
    assert!(matches!(expect_store_error(panicked), StoreError::Database(message) if message == "a write panicked"));
    assert_eq!(child_texts(&store, &begun), ["one", "two"]);
    assert_log_intact(&store, begun.session);
}

/// A group shares one commit. A write that arrives while the group is written is part of it.
#[test]
fn group_of_writes_shares_one_commit() {
    let store = TestStore::new();
    let begun = create_session(&store);
    let before = store.store().commits();
    let results = write_in_one_group(
        &store,
        (0..40).map(|n| user_message_write(&store, &begun, &format!("message {n}"))).collect(),
    );
    assert!(results.iter().all(Result::is_ok));
    assert_eq!(store.store().commits() - before, 1, "the forty, and the one that kept the writer busy meanwhile");
    assert_eq!(child_texts(&store, &begun).len(), 40);
}

/// The store waits for another program's short write.
#[test]
fn database_lock_released_later_is_awaited() {
    let store = TestStore::new();
    let begun = create_session(&store);
    let mut other = store.open_connection();
    other.batch_execute("BEGIN IMMEDIATE").unwrap();
    let written = store.store().write({
        let (actor, message) = (store.actor(), user_message_write(&store, &begun, "patient"));
        move |tx| tx.add_message(&actor, &message)
    });
    let (written, ()) =
        store.block_on(async { tokio::join!(written, async { other.batch_execute("COMMIT").unwrap() }) });
    written.unwrap();
    assert_eq!(child_texts(&store, &begun), ["patient"]);
}

/// A second program is refused, for the same data directory and for a database that two directories name. Closing
/// releases the lock.
#[test]
fn second_program_on_same_data_is_refused() {
    let mut store = TestStore::new();
    let begun = create_session(&store);
    let again = || Store::open(&store.settings).err();
    assert!(matches!(again(), Some(StoreError::Locked)));

    let elsewhere = tempfile::tempdir().unwrap();
    let mut beside = store.settings.clone();
    (beside.data_dir, beside.database) = (elsewhere.path().join("data"), Some(store.database_path()));
    assert!(matches!(Store::open(&beside).err(), Some(StoreError::Locked)));

    store.close();
    drop(Store::open(&beside).unwrap());
    store.reopen();
    assert_eq!(child_texts(&store, &begun), [""; 0]);
}

/// A folder that cannot be written, a file that is not a database and a path through a file give different errors.
#[test]
fn open_failure_reports_cause() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = TestStore::new().settings.clone();
    // Nobody can create folders there, not even root.
    if cfg!(target_os = "linux") {
        settings.data_dir = "/sys/clotho".into();
        assert!(matches!(Store::open(&settings).err(), Some(StoreError::ReadOnly)));
    }
    settings.data_dir = folder.path().join("data");
    std::fs::create_dir_all(&settings.data_dir).unwrap();
    let file = settings.data_dir.join("clotho.db");
    let letters = b"Dear diary, this is no database. ".repeat(200);
    std::fs::write(&file, &letters).unwrap();
    let Some(StoreError::Open(message)) = Store::open(&settings).err() else { panic!("it opened a letter") };
    assert!(message.contains("not a database"), "{message}");
    assert_eq!(std::fs::read(&file).unwrap(), letters, "it was left as it is");

    settings.data_dir = file.join("below");
    assert!(matches!(Store::open(&settings).err(), Some(StoreError::Open(_))));
}

/// A damaged row gives an error with table, column and row. The rest stays readable.
#[test]
fn damaged_row_error_names_table_column_and_row() {
    let mut store = TestStore::new();
    let SessionIds { session, greetings, .. } = create_session(&store);
    let mut draft = store.draft(Role::Assistant, Kind::Message, "A reply.");
    draft.delta = delta([set_operation("/x", json!(1))]);
    let node = store.append(session, greetings[0], draft);
    store.checkout(session, greetings[0], true);
    let n = store.query_count("SELECT max(n) AS n FROM nodes");
    for (harm, expected) in [
        ("UPDATE nodes SET role = 99", ("nodes", "role")),
        ("UPDATE nodes SET status = -1", ("nodes", "status")),
        ("UPDATE nodes SET author = x'0102'", ("nodes", "author")),
        ("UPDATE texts SET metadata = '[1]'", ("texts", "metadata")),
        ("UPDATE deltas SET body = '{'", ("deltas", "body")),
    ] {
        let (table, column) = expected;
        let key = if table == "deltas" { "node_n" } else { "n" };
        let mut sql = store.open_connection();
        let keep = format!("CREATE TABLE kept AS SELECT * FROM {table} WHERE {key} = {n}");
        sql.batch_execute(&format!("{keep}; {harm} WHERE {key} = {n}")).unwrap();
        store.reopen();
        let held = store.stored_session(session);
        let found = store.block_on(store.store().read(move |reader| {
            let page = reader.page(&held, node, None, 10, clotho_store::PathFilter::All)?;
            let placed = page.nodes.last().unwrap();
            reader.delta(placed)?;
            reader.world(&held, placed).map(|_| ())
        }));
        let Err(StoreError::Inconsistent { table: t, column: c, row }) = found else { panic!("{harm}: {found:?}") };
        assert_eq!(((t, c), row), (expected, n), "{harm}");
        assert_eq!(store.visible_texts(session), ["Welcome."], "{harm}: the rest is there");
        sql.batch_execute(&format!(
            "UPDATE {table} SET {column} = (SELECT {column} FROM kept) WHERE {key} = {n}; DROP TABLE kept"
        ))
        .unwrap();
    }
    store.reopen();
    assert_eq!(store.visible_texts_at(session, node), ["Welcome.", "A reply."]);
}

/// A short read runs on the caller's thread, and on a thread of the store while half of the connections are in use. A
/// panic in it is an ordinary error and loses no connection.
#[test]
fn inline_read_uses_caller_thread_unless_busy() {
    let store = TestStore::new();
    let glance = || store.store().read_inline(|_| Ok::<_, StoreError>(thread::current().id()));
    let own = thread::current().id();
    assert_eq!(store.block_on(glance()).unwrap(), own);
    let (started, has_started) = mpsc::channel();
    let (open, gate) = mpsc::channel::<()>();
    store.block_on(async {
        let mut busy = Box::pin(store.store().read(move |_| {
            let _ = (started.send(()), gate.recv());
            Ok::<_, StoreError>(thread::current().id())
        }));
        assert!(poll!(&mut busy).is_pending());
        has_started.recv().unwrap();
        let other = glance().await.unwrap();
        drop(open);
        let busy = busy.await.unwrap();
        assert!(![own, busy].contains(&other), "the one waits, the other reads");
    });
    for _ in 0..3 {
        let told =
            store.block_on(store.store().read_inline(|_| -> Result<(), StoreError> { panic!("as it was told to") }));
        assert!(matches!(told, Err(StoreError::Database(message)) if message == "a read panicked"));
    }
    // The last reading thread may still be returning its connection.
    while store.block_on(glance()).unwrap() != own {}
}
