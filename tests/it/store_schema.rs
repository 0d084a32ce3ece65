//! The schema across versions. Every version leaves a database in `tests/fixtures/databases`, named by its newest
//! migration, in which [`story`] was run. The current program opens each and finds the same content as in a new one.
//! To add a migration, run these tests once: they write the missing database beside the test program, and the failure
//! says where, so that you can check and add it.

use std::path::{Path, PathBuf};

use clotho_core::tree::{Kind, Node, Role, Status};
use clotho_core::world::World;
use clotho_store::{Store, StoreError};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_migrations::{FileBasedMigrations, MigrationHarness};
use serde_json::json;

use crate::support::test_store::{SessionIds, TestStore, add_operation, delta, hp_rules, message_write, set_operation};

/// Begins a session with rules, rolls, an edit, a manual change, a branch and a checkout.
fn create_sample_session(store: &TestStore) -> SessionIds {
    let begun = store.create_session(
        delta([set_operation("/combat/hp", json!(100))]),
        Some(hp_rules("combat", 100)),
        &["Welcome.", "Halt!"],
    );
    let session = begun.session;
    let (said, reply) = (store.user_draft("I open the gate. 我推开门。"), store.placeholder());
    let (u1, r1) = (said.id, reply.id);
    let written = store.try_add_message(message_write(session, begun.greetings[0], Some(said), vec![reply])).unwrap();
    store.complete_reply(session, r1, &written, "A blade flashes.", delta([add_operation("/combat/hp", -12)]));
    let roll = store.placeholder();
    let r2 = roll.id;
    let rolled = store.try_add_message(message_write(session, u1, None, vec![roll])).unwrap();
    store.complete_reply(
        session,
        r2,
        &rolled,
        "The gate is stuck.",
        delta([set_operation("/mood", json!({"now": [1, 0.5, null]}))]),
    );
    let mut parent = r1;
    for n in 0..40 {
        let mut draft =
            store.draft(if n % 2 == 0 { Role::User } else { Role::Assistant }, Kind::Message, &format!("{n}"));
        draft.delta = delta([add_operation("/combat/hp", -1)]);
        parent = store.append(session, parent, draft);
    }
    store.checkout(session, r2, true);
    begun
}

/// Returns everything that a reader sees of the owner's sessions: where HEAD is, and each node with its world.
fn dump_sessions(store: &TestStore) -> Vec<(String, Vec<(Node, World)>)> {
    let owner = store.owner;
    let sessions = store.read(move |reader| reader.sessions(owner, 0, 100));
    let all = sessions.into_iter().map(|held| {
        let (title, head, root, counts) =
            (held.session.title.clone(), held.session.head, held.session.root, held.counts);
        let nodes = store.read(move |reader| {
            let mut nodes = Vec::new();
            let mut next = vec![root];
            while let Some(id) = next.pop() {
                let placed = reader.node(&held, id)?.unwrap();
                let world = (*reader.world(&held, &placed)?).clone();
                next.extend(reader.children(&held, id)?.into_iter().map(|child| child.node.id));
                nodes.push((placed.node, world));
            }
            Ok::<_, StoreError>(nodes)
        });
        let counted = format!("{} nodes, {} ends", counts.nodes, counts.leaves);
        (format!("{title} at {head}, {counted}"), nodes)
    });
    all.collect()
}

fn database_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/databases")
}

fn migrations() -> FileBasedMigrations {
    FileBasedMigrations::from_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/sqlite")).unwrap()
}

fn newest_migration() -> String {
    let all = diesel::migration::MigrationSource::<diesel::sqlite::Sqlite>::migrations(&migrations()).unwrap();
    all.iter().map(|migration| migration.name().version().to_string()).max().unwrap()
}

/// S0-19: a database of every version opens with equal content.
#[test]
fn database_of_every_older_version_opens_equal() {
    let today = TestStore::new();
    create_sample_session(&today);
    let expected = dump_sessions(&today);
    assert_eq!(expected[0].1.len(), 46);
    assert!(expected[0].0.ends_with("45 nodes, 3 ends"), "{}", expected[0].0);
    assert!(expected[0].1.iter().all(|(node, _)| node.status == Status::Complete));
    let own = format!("{}.db", newest_migration());
    if !database_folder().join(&own).exists() {
        let written = Path::new(env!("CARGO_TARGET_TMPDIR")).join(&own);
        let _ = std::fs::remove_file(&written);
        let text = format!("PRAGMA page_size = 1024; VACUUM INTO '{}'", written.display());
        today.open_connection().batch_execute(&text).unwrap();
        panic!(
            "no database of this version in {}: look at {} and add it",
            database_folder().display(),
            written.display()
        );
    }
    for entry in std::fs::read_dir(database_folder()).unwrap() {
        let path = entry.unwrap().path();
        let mut store = TestStore::without_user(|_| {});
        store.close();
        std::fs::copy(&path, store.database_path()).unwrap();
        // Connections that close at the same moment may leave the write-ahead log there.
        for beside in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{beside}", store.database_path().display()));
        }
        store.reopen();
        assert_eq!(dump_sessions(&store), expected, "{}", path.display());
        let head = store.read(|reader| reader.log_after(0, 1)).first().unwrap().1;
        store.append(head, store.head(head), store.user_draft("And on."));
    }
}

/// S0-19: a database of a newer version is refused with its name and stays unchanged, byte for byte.
#[test]
fn database_of_newer_version_is_refused_unchanged() {
    let mut store = TestStore::new();
    create_sample_session(&store);
    store.close();
    let newer =
        "INSERT INTO __diesel_schema_migrations (version) VALUES ('29991231000001'); PRAGMA wal_checkpoint(TRUNCATE)";
    store.open_connection().batch_execute(newer).unwrap();
    let before = std::fs::read(store.database_path()).unwrap();
    assert!(
        matches!(Store::open(&store.settings).err(), Some(StoreError::Newer(version)) if version == "29991231000001")
    );
    assert_eq!(std::fs::read(store.database_path()).unwrap(), before);
}

/// A misspelled name in double quotes is an error. SQLite would otherwise read it as a text.
#[test]
fn sql_unknown_name_in_double_quotes_is_refused() {
    let store = TestStore::new();
    let mut conn = store.open_connection();
    for sql in ["SELECT \"depht\" FROM nodes", "CREATE INDEX odd ON nodes (\"depht\")"] {
        let refused = conn.batch_execute(sql).unwrap_err().to_string();
        assert!(refused.contains("no such column"), "{sql}: {refused}");
    }
    conn.batch_execute("SELECT \"depth\" FROM nodes").unwrap();
}

#[derive(QueryableByName, PartialEq, Debug)]
struct SchemaRow {
    #[diesel(sql_type = diesel::sql_types::Text)]
    sql: String,
}

fn load_schema(conn: &mut SqliteConnection) -> Vec<SchemaRow> {
    let query =
        "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE '\\_\\_%' ESCAPE '\\' ORDER BY name";
    diesel::sql_query(query).load(conn).unwrap()
}

/// S1-22: a new database, one migrated down and up again, and the program's own have the same tables. Every table that
/// the session needs holds rows.
#[test]
fn migrations_up_down_up_give_same_schema() {
    let store = TestStore::new();
    create_sample_session(&store);
    let mut conn = SqliteConnection::establish(":memory:").unwrap();
    conn.run_pending_migrations(migrations()).unwrap();
    let fresh = load_schema(&mut conn);
    assert_eq!(fresh, load_schema(&mut store.open_connection()));
    conn.revert_all_migrations(migrations()).unwrap();
    assert_eq!(load_schema(&mut conn), []);
    conn.run_pending_migrations(migrations()).unwrap();
    assert_eq!(load_schema(&mut conn), fresh);

    let text = fresh.iter().map(|one| one.sql.to_lowercase()).collect::<String>();
    assert!(!text.contains("jsonb") && !text.contains("without rowid"), "JSON is text or bytes, rows have numbers");
    for table in ["users", "sessions", "nodes", "texts", "deltas", "keyframes", "blobs", "operations"] {
        assert!(store.query_count(&format!("SELECT count(*) AS n FROM {table}")) > 0, "{table}");
    }
}
