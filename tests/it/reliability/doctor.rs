//! The doctor on databases that were damaged in each way that it checks. It repairs derived data, only reports other
//! damage, and finds nothing in an intact database.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clotho_core::ids::{CharacterId, FragmentId, NodeId, PersonaId};
use clotho_core::tree::{CardRef, Effects, Kind, PersonaRef, Role, TreeEdit};
use clotho_store::doctor::{Doctor, DoctorCheck, DoctorFinding, RepairableFinding};
use clotho_store::{NodeStateUpdate, Store, Trace, backups};
use diesel::connection::SimpleConnection;
use serde_json::json;

use crate::support::server::{TestServer, id_of};
use crate::support::test_store::{
    TestStore, add_operation, delta, doctor_findings, hp_rules, message_write, reply_completion, set_operation,
};

/// Returns a store with a session: cards, rules, branches, a reply with a trace, a muted node, many keyframes.
fn create_sample_store() -> TestStore {
    let store = TestStore::with_settings(|settings| settings.keyframe_every = 4);
    let mut root = store.draft(Role::System, Kind::Root, "");
    (root.delta, root.rules) = (delta([set_operation("/combat/hp", json!(100))]), Some(hp_rules("combat", 100).into()));
    let greeting = store.draft(Role::Assistant, Kind::Greeting, "Welcome.");
    let (mut session, first, at) = (store.unsaved_session(root.id), greeting.id, store.now());
    let (card, persona) = (CharacterId::new(store.ids.next_id(at)), PersonaId::new(store.ids.next_id(at)));
    let id = session.id;
    store
        .write(move |tx| {
            session.cards = vec![CardRef { id: card, hash: tx.put_blob(b"{\"name\": \"Rin\"}")? }];
            session.persona = Some(PersonaRef { id: persona, hash: tx.put_blob(b"{\"name\": \"Ada\"}")? });
            tx.begin_session(&session, &root, std::slice::from_ref(&greeting), at)
        })
        .unwrap();
    let (said, reply) = (store.user_draft("I swing."), store.placeholder());
    let mut parent = reply.id;
    let written = store.try_add_message(message_write(id, first, Some(said), vec![reply])).unwrap();
    let block = (json!({"slot": "system"}), "You are Rin.".to_owned());
    let mut well = reply_completion("It hits.", delta([add_operation("/combat/hp", -12)]), Some(written.asked));
    well.trace = Some(Trace { head: Box::default(), blocks: vec![block], history: Vec::new() });
    store.complete_reply_with(id, parent, &written, well);
    let mut line: Vec<NodeId> = Vec::new();
    for n in 0..30 {
        let mut draft = store.draft(if n % 2 == 0 { Role::User } else { Role::Assistant }, Kind::Message, "On.");
        draft.delta = delta([add_operation("/combat/hp", -1)]);
        parent = store.append(id, parent, draft);
        line.push(parent);
    }
    store.append(id, line[9], store.user_draft("Another way."));
    let (actor, node) = (store.actor(), line[12]);
    let mute = NodeStateUpdate {
        node,
        is_enabled: Some(false),
        effects: Some(Effects::Muted),
        rating: Some(Some(4)),
        is_unread: Some(true),
    };
    store.write(move |tx| tx.set_state(&actor, id, &[mute])).unwrap();
    // Reading a world writes its outdated keyframes below again.
    store.world(id, parent);
    store.write(|_| Ok(())).unwrap();
    let fragment = FragmentId::new(store.next_node_id().uuid());
    let edits = [
        TreeEdit::Label { node: line[3], name: "the gate".into(), following: false },
        TreeEdit::Prune { node: line[25], fragment, name: Some("the end".into()) },
    ];
    let actor = store.actor();
    store.write(move |tx| tx.arrange(&actor, id, &edits)).unwrap();
    store
}

fn findings(found: &[RepairableFinding]) -> Vec<&DoctorFinding> {
    found.iter().map(|found| &found.finding).collect()
}

fn checks(found: &[RepairableFinding]) -> BTreeSet<String> {
    found.iter().map(|found| format!("{:?}", found.finding.check)).collect()
}

/// Copies of one database, each to be damaged.
struct DatabaseCopies {
    store: TestStore,
    folder: tempfile::TempDir,
    copy_count: usize,
}

impl DatabaseCopies {
    fn new() -> Self {
        Self { store: create_sample_store(), folder: tempfile::tempdir().unwrap(), copy_count: 0 }
    }

    fn create_damaged_copy(&mut self, sql: &str) -> PathBuf {
        self.copy_count += 1;
        let file = self.folder.path().join(format!("{}.db", self.copy_count));
        backups::create(&self.store.database_path(), &file).unwrap();
        let mut conn = crate::support::open_second_connection(&file);
        conn.batch_execute("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;").unwrap();
        conn.batch_execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        file
    }

    fn repair_and_recheck(&self, file: &Path) -> Vec<RepairableFinding> {
        let mut settings = self.store.settings.clone();
        (settings.data_dir, settings.database) = (self.folder.path().join("data"), Some(file.to_owned()));
        let (store, _published) = Store::open(&settings).unwrap();
        let found = doctor_findings(file, true);
        self.store.block_on(store.repair(&found)).unwrap();
        drop(store);
        doctor_findings(file, true)
    }
}

/// A row far down the branch, with a delta and below the last edit.
const DEEP: &str = "(SELECT max(n) - 12 FROM nodes)";

/// `domain.md` 2.1, 2.2, 3.1: the doctor finds nothing in a session that was made only through the public interface.
#[test]
fn doctor_on_intact_database_finds_nothing() {
    let store = create_sample_store();
    let found = doctor_findings(&store.database_path(), true);
    assert!(found.is_empty(), "{:#?}", findings(&found));
}

/// `domain.md` 2.1, 3.1: damaged derived data is reported, repaired, and then as it was before.
#[test]
fn doctor_repairs_derived_data() {
    let mut ward = DatabaseCopies::new();
    let (session, head) = {
        let owner = ward.store.owner;
        let held = ward.store.read(move |reader| reader.sessions(owner, 0, 1)).pop().unwrap();
        (held.session.id, held.session.head)
    };
    let world = ward.store.world(session, head);
    let last_keyframe = "(SELECT max(node_n) FROM keyframes)";
    for (sql, check) in [
        (format!("UPDATE nodes SET depth = depth + 7 WHERE n = {DEEP}"), "Derived"),
        (format!("UPDATE nodes SET turn = 0 WHERE n = {DEEP}"), "Derived"),
        (format!("UPDATE nodes SET since_keyframe = 77 WHERE n = {DEEP}"), "Derived"),
        ("UPDATE nodes SET rules_n = NULL WHERE n = (SELECT max(n) FROM nodes)".to_owned(), "Derived"),
        ("UPDATE sessions SET node_count = 7".to_owned(), "Counts"),
        ("UPDATE sessions SET leaf_count = 0".to_owned(), "Counts"),
        (
            format!("UPDATE keyframes SET body = (SELECT body FROM keyframes LIMIT 1) WHERE node_n = {last_keyframe}"),
            "Keyframe",
        ),
        (format!("UPDATE keyframes SET body = x'00' WHERE node_n = {last_keyframe}"), "Keyframe"),
        (format!("UPDATE keyframes SET edits = 1000, body = x'00' WHERE node_n = {last_keyframe}"), "Keyframe"),
        (
            "UPDATE keyframes SET node_n = 100000 WHERE node_n = (SELECT max(node_n) FROM keyframes)".to_owned(),
            "References",
        ),
    ] {
        let file = ward.create_damaged_copy(&sql);
        let found = doctor_findings(&file, true);
        assert_eq!(checks(&found), BTreeSet::from([check.to_owned()]), "{sql}: {:#?}", findings(&found));
        assert!(found.len() == 1 && found[0].finding.is_derived, "{sql}: {:#?}", findings(&found));
        let left = ward.repair_and_recheck(&file);
        assert!(left.is_empty(), "{sql}: {:#?}", findings(&left));
    }
    assert_eq!(ward.store.world(session, head), world);
}

/// S0-20, `domain.md` 2.2, 2.3, 4: damaged facts, log entries and arrangement are reported and not changed.
#[test]
fn doctor_reports_damaged_facts_without_repair() {
    let mut ward = DatabaseCopies::new();
    // Each damage, and the check that must find it.
    for (sql, check) in [
        ("CREATE TRIGGER t AFTER INSERT ON nodes BEGIN SELECT 1; END".to_owned(), DoctorCheck::Schema),
        ("CREATE VIEW v AS SELECT title FROM sessions".to_owned(), DoctorCheck::Schema),
        (format!("UPDATE nodes SET parent_n = NULL WHERE n = {DEEP}"), DoctorCheck::Root),
        ("UPDATE nodes SET kind = 1 WHERE parent_n IS NULL".to_owned(), DoctorCheck::Root),
        ("UPDATE sessions SET root_n = head_n".to_owned(), DoctorCheck::Root),
        (format!("UPDATE nodes SET parent_n = 99999 WHERE n = {DEEP}"), DoctorCheck::Parent),
        (format!("UPDATE nodes SET parent_n = {DEEP} + 2 WHERE n = {DEEP}"), DoctorCheck::Cycle),
        (format!("UPDATE nodes SET parent_n = n WHERE n = {DEEP}"), DoctorCheck::Cycle),
        ("UPDATE sessions SET head_n = 99999".to_owned(), DoctorCheck::Head),
        ("UPDATE nodes SET is_hidden = 1 WHERE n = (SELECT head_n FROM sessions)".to_owned(), DoctorCheck::Head),
        (format!("UPDATE nodes SET remembered_n = 99999 WHERE n = {DEEP}"), DoctorCheck::Remembered),
        ("DELETE FROM operations WHERE op = 3".to_owned(), DoctorCheck::Log),
        ("DELETE FROM operations WHERE op = (SELECT max(op) FROM operations)".to_owned(), DoctorCheck::Log),
        ("UPDATE operations SET effects = '[{\"x\": 1}]' WHERE op = 3".to_owned(), DoctorCheck::Log),
        ("UPDATE operations SET act = 'party' WHERE op = 3".to_owned(), DoctorCheck::Log),
        (
            "UPDATE operations SET effects = '[]' WHERE op = (SELECT max(op) FROM operations)".to_owned(),
            DoctorCheck::Arrangement,
        ),
        (format!("UPDATE nodes SET is_enabled = 0 WHERE n = {DEEP}"), DoctorCheck::Arrangement),
        (format!("UPDATE nodes SET is_muted = 1 WHERE n = {DEEP}"), DoctorCheck::Arrangement),
        (format!("UPDATE nodes SET rating = 5 WHERE n = {DEEP}"), DoctorCheck::Arrangement),
        (format!("UPDATE nodes SET remembered_n = NULL WHERE n = {DEEP}"), DoctorCheck::Arrangement),
        (format!("DELETE FROM nodes WHERE n = {DEEP}"), DoctorCheck::Arrangement),
        (format!("DELETE FROM texts WHERE n = {DEEP}"), DoctorCheck::Text),
        (format!("UPDATE texts SET metadata = '[1]' WHERE n = {DEEP}"), DoctorCheck::Text),
        (format!("DELETE FROM deltas WHERE node_n = {DEEP}"), DoctorCheck::Delta),
        (format!("UPDATE deltas SET body = '{{' WHERE node_n = {DEEP}"), DoctorCheck::Delta),
        ("DELETE FROM labels".to_owned(), DoctorCheck::Arrangement),
        ("UPDATE labels SET node_n = 99999".to_owned(), DoctorCheck::Label),
        ("UPDATE fragments SET name = 'another'".to_owned(), DoctorCheck::Arrangement),
        ("DELETE FROM fragments".to_owned(), DoctorCheck::Fragment),
        ("UPDATE fragments SET top_n = 1".to_owned(), DoctorCheck::Fragment),
        ("UPDATE nodes SET fragment_n = 1 WHERE parent_n IS NULL".to_owned(), DoctorCheck::Fragment),
        (
            "UPDATE nodes SET fragment_n = NULL WHERE n = (SELECT top_n + 1 FROM fragments)".to_owned(),
            DoctorCheck::Fragment,
        ),
        ("UPDATE traces SET body = x'00'".to_owned(), DoctorCheck::Trace),
        ("DELETE FROM blobs WHERE CAST(bytes AS TEXT) = 'You are Rin.'".to_owned(), DoctorCheck::Trace),
        (
            "UPDATE blobs SET bytes = 'You are Bo.' WHERE CAST(bytes AS TEXT) = 'You are Rin.'".to_owned(),
            DoctorCheck::Blob,
        ),
        ("DELETE FROM blobs WHERE CAST(bytes AS TEXT) LIKE '%\"Rin\"%'".to_owned(), DoctorCheck::Card),
        ("DELETE FROM blobs WHERE CAST(bytes AS TEXT) LIKE '%\"Ada\"%'".to_owned(), DoctorCheck::Card),
        ("UPDATE sessions SET cards = '{}'".to_owned(), DoctorCheck::Card),
        ("DELETE FROM blobs WHERE CAST(bytes AS TEXT) LIKE '%codeHash%'".to_owned(), DoctorCheck::Rules),
        ("DELETE FROM blobs WHERE CAST(bytes AS TEXT) LIKE '%\"minimum\"%'".to_owned(), DoctorCheck::Rules),
        ("INSERT INTO traces (node_n, body) VALUES (99999, x'00')".to_owned(), DoctorCheck::References),
        ("INSERT INTO texts (n, content, metadata) VALUES (99999, '', '{}')".to_owned(), DoctorCheck::References),
    ] {
        // The check reports the damage as not derived.
        let file = ward.create_damaged_copy(&sql);
        let found = doctor_findings(&file, true);
        let named: Vec<&DoctorFinding> =
            findings(&found).into_iter().filter(|finding| finding.check == check).collect();
        assert!(!named.is_empty(), "{sql}: {:#?}", findings(&found));
        assert!(named.iter().all(|finding| !finding.is_derived && !finding.message.is_empty()), "{sql}");
    }
}

/// Each finding is described in words: what is wrong and what it must be.
#[test]
fn doctor_findings_are_described_in_words() {
    let mut ward = DatabaseCopies::new();
    for (sql, expected) in [
        (format!("UPDATE nodes SET depth = 999 WHERE n = {DEEP}"), "its depth is 999, but "),
        ("UPDATE sessions SET node_count = 7".to_owned(), "its number of nodes is 7, but "),
        (
            format!("UPDATE nodes SET is_enabled = 0 WHERE n = {DEEP}"),
            "its text is disabled, but enabled according to the log",
        ),
        (format!("UPDATE nodes SET rating = 5 WHERE n = {DEEP}"), "its rating is 5, but none according to the log"),
        (
            format!("UPDATE nodes SET is_muted = 1, is_unread = 1 WHERE n = {DEEP}"),
            "muted, but on according to the log; its state is unread, but read",
        ),
    ] {
        let found = doctor_findings(&ward.create_damaged_copy(&sql), true);
        let said: Vec<&str> = found.iter().map(|found| found.finding.message.as_str()).collect();
        assert!(said.iter().any(|message| message.contains(expected)), "{said:?}");
        assert!(said.iter().all(|message| !message.contains("Some(") && !message.contains(" { ")), "{said:?}");
    }
}

/// S0-20: a reply that is being generated is counted and is not a finding, whether or not a server runs. The next
/// start ends it.
#[test]
fn doctor_counts_generating_reply_without_finding() {
    let mut ward = DatabaseCopies::new();
    let file = ward.create_damaged_copy(&format!("UPDATE nodes SET status = 0 WHERE n = {DEEP}"));
    let mut doctor = Doctor::open(&file).unwrap();
    assert_eq!(doctor.count_generating().unwrap(), 1);
    let found = doctor.sessions().unwrap().into_iter().flat_map(|session| doctor.check_session(session).unwrap());
    assert!(found.count() == 0);
}

/// The doctor reports what SQLite says about a damaged file.
#[test]
fn doctor_reports_damaged_database_file() {
    let mut ward = DatabaseCopies::new();
    let file = ward.create_damaged_copy("PRAGMA user_version = 7");
    let mut bytes = std::fs::read(&file).unwrap();
    let index = "SELECT rootpage AS n FROM sqlite_master WHERE name = 'nodes_by_session'";
    let page = {
        let mut conn = crate::support::open_second_connection(&file);
        usize::try_from(crate::support::test_store::query_count(&mut conn, index)).unwrap()
    };
    // One entry of an index points elsewhere.
    let at = page * 4_096 - 1;
    bytes[at] = bytes[at].wrapping_add(1);
    std::fs::write(&file, bytes).unwrap();
    let mut doctor = Doctor::open(&file).unwrap();
    let found = doctor.check_file().unwrap();
    assert_eq!(checks(&found), BTreeSet::from(["File".to_owned()]), "{:#?}", findings(&found));
}

/// `domain.md` 8: the index has every message that can be found and no other. A wrong index is deleted and rebuilt.
/// Checking works beside a running server, repairing does not.
#[tokio::test]
async fn doctor_compares_search_index_and_rebuilds_it() {
    let app = TestServer::start().await;
    let (session, line) = app.create_branch(4).await;
    crate::http::search_until(&app, "message", 4).await;
    let home = app.app().home();
    let data = home.join("data");
    let doctor = |more: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_clotho"));
        command.env("CLOTHO_STORAGE__DATA_DIR", &data).current_dir(&home).env_remove("CLOTHO_CONFIG");
        let run = command.arg("doctor").args(more).output().unwrap();
        let report: serde_json::Value =
            serde_json::from_slice(&run.stdout).unwrap_or_else(|_| json!(String::from_utf8_lossy(&run.stdout)));
        (run.status.code(), report, String::from_utf8(run.stderr).unwrap())
    };
    let (code, report, said) = doctor(&["--json"]);
    assert_eq!((code, &report["isClean"]), (Some(0), &json!(true)), "{report} {said}");
    assert_eq!(doctor(&[]).1.as_str().unwrap().lines().last(), Some("1 session, no problems"));
    let (code, _, said) = doctor(&["--repair"]);
    assert!(code == Some(1) && said.contains("a server uses"), "{said}");
    assert_eq!(doctor(&["--mend"]).0, Some(2));

    let setup = app.stop().await;
    assert_eq!(doctor(&["--json"]).1["findings"], json!([]));
    let database = data.join("clotho.db");
    let mut sql = crate::support::open_second_connection(&database);
    let of = |node: &str| format!("(SELECT n FROM nodes WHERE id = x'{}')", node.replace('-', ""));
    sql.batch_execute(&format!(
        "UPDATE texts SET content = 'another' WHERE n = {}; UPDATE texts SET content = '' WHERE n = {}",
        of(&line[1]),
        of(&line[2])
    ))
    .unwrap();
    drop(sql);
    let (code, report, _) = doctor(&["--json"]);
    let told = |finding: &serde_json::Value| (finding["check"].clone(), finding["node"].clone());
    let named: Vec<_> = report["findings"].as_array().unwrap().iter().map(told).collect();
    assert_eq!((code, named), (Some(1), vec![(json!("index"), json!(line[1])), (json!("index"), json!(line[2]))]));
    let told = doctor(&[]).1.as_str().unwrap().to_owned();
    let last = told.lines().last().unwrap();
    assert_eq!(last, "1 session, 2 findings; \"clotho doctor --repair\" repairs them", "{told}");
    let (code, report, said) = doctor(&["--repair", "--json"]);
    assert_eq!((code, &report["repaired"], &report["isClean"]), (Some(0), &json!(2), &json!(true)), "{said}");
    // The index may be deleted at any time: a missing index is not a fault and needs no repair.
    std::fs::remove_dir_all(data.join("search")).unwrap();
    for arguments in [&["--json"][..], &["--repair", "--json"]] {
        let (code, report, said) = doctor(arguments);
        assert_eq!((code, &report["findings"], &report["repaired"]), (Some(0), &json!([]), &json!(0)), "{said}");
        assert_eq!(report["remarks"], json!(["there is no search index; the next start of the server builds it"]));
    }
    let app = TestServer::start_with(setup).await;
    crate::http::search_until(&app, "another", 1).await;
    assert_eq!(app.get("/api/search?q=message").await["total"]["value"], 2);
    assert_eq!(id_of(&session), id_of(&app.get(&format!("/api/sessions/{}", id_of(&session))).await));
}
