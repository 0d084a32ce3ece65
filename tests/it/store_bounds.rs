//! Cost bounds of the store, counted and never timed: folded deltas, executed statements, written rows, database
//! steps.

use clotho_core::ids::NodeId;
use clotho_core::oplog::OperationKind;
use clotho_core::tree::edit::TreeError;
use clotho_core::tree::{Delta, Effects, Kind, Role, Status};
use clotho_store::{MessageWrite, NodeDraft, NodeStateUpdate, PathFilter, WriteError};
use diesel::prelude::*;
use serde_json::{Value, json};

use crate::support::sqlite_steps::count_vm_steps;
use crate::support::statement_spy::{SqlStatement, StatementSpy};
use crate::support::test_store::{
    SessionIds, TestStore, add_operation, delta, hp_rules, message_write, pointer, reply_completion, set_operation,
};

pub const DEEP: usize = 50_000;

/// Appends a branch of nodes below the first greeting, each with one operation, many in one request.
pub fn append_branch(store: &TestStore, begun: &SessionIds, nodes: usize) -> Vec<NodeId> {
    let mut ids = vec![begun.greetings[0]];
    let (session, actor) = (begun.session, store.actor());
    while ids.len() <= nodes {
        let drafts: Vec<NodeDraft> = (0..2_000.min(nodes + 1 - ids.len()))
            .map(|_| {
                let mut draft = store.user_draft("on");
                draft.delta = delta([add_operation("/turns", 1)]);
                draft
            })
            .collect();
        let mut parent = *ids.last().unwrap();
        ids.extend(drafts.iter().map(|draft| draft.id));
        store
            .write(move |tx| {
                for draft in &drafts {
                    let below = MessageWrite {
                        move_head: false,
                        ..message_write(session, parent, Some(draft.clone()), Vec::new())
                    };
                    tx.add_message(&actor, &below)?;
                    parent = draft.id;
                }
                tx.checkout(&actor, session, parent, true)
            })
            .unwrap();
    }
    ids
}

fn turn_count(store: &TestStore, begun: &SessionIds, node: NodeId) -> i64 {
    let world = store.world(begun.session, node);
    world.get(&pointer("/turns")).and_then(Value::as_i64).unwrap_or(0)
}

/// Returns the number of deltas folded to read a world with an empty cache. `expected`: the value of `turns` there.
fn count_folds(store: &TestStore, begun: &SessionIds, node: NodeId, expected: i64) -> u64 {
    store.store().forget_worlds();
    let before = store.store().deltas_folded();
    assert_eq!(turn_count(store, begun, node), expected);
    store.store().deltas_folded() - before
}

/// S3-28, S0-10, S1-23, S1-24, S0-53, S2-14: at depth 50 000, reading a world folds at most `keyframe_every` deltas,
/// also after an edit above all of it. A page and a step back cost the same as at depth 100.
#[test]
fn deep_session_reads_cost_same_as_shallow() {
    StatementSpy::watch();
    let store = TestStore::new();
    let begun = store.create_session(Delta::default(), None, &["Hello."]);
    let ids = append_branch(&store, &begun, DEEP);
    let number = |depth: usize| i64::try_from(depth).unwrap();
    assert_eq!(store.stored_node(begun.session, ids[DEEP]).node.depth, 50_001);
    for depth in [DEEP, DEEP - 1, DEEP - 7, DEEP / 2, 9_999, 17, 16, 1] {
        let folded = count_folds(&store, &begun, ids[depth], number(depth));
        assert!(folded <= 16, "{folded} deltas folded at depth {depth}");
    }

    // An edit on a sibling branch outdates nothing on this one; an edit near its top outdates all of it, once.
    let beside = store.append(begun.session, ids[10], store.user_draft("beside"));
    mute(&store, &begun, beside);
    assert!(count_folds(&store, &begun, ids[DEEP], 50_000) <= 16);
    mute(&store, &begun, ids[5]);
    assert!(count_folds(&store, &begun, ids[DEEP], 49_999) > 49_900, "the first look after the edit folds anew");
    store.write(|_| Ok(())).unwrap();
    for depth in [DEEP, DEEP - 9, DEEP / 2, 100] {
        let folded = count_folds(&store, &begun, ids[depth], number(depth) - 1);
        assert!(folded <= 16, "{folded} deltas folded at depth {depth} after the edit");
    }
    store.checkout(begun.session, ids[DEEP], true);

    let reader = StatementSpy { thread: store.read(|_| Ok(std::thread::current().id())) };
    assert!(reader.statements().len() > 10, "the spy sees the reader");
    let (deep, shallow) =
        (page_statement_steps(&store, &begun, ids[DEEP]), page_statement_steps(&store, &begun, ids[100]));
    assert!(shallow.1 > 500 && deep.1 <= shallow.1 + 8, "a page: {} steps, at depth 100 {}", deep.1, shallow.1);

    // Going back 5 000 turns and returning takes a few statements, independent of the distance.
    let writer = writer_spy(&store);
    let far = writer.statements_during(|| _ = store.checkout(begun.session, ids[DEEP - 5_000], true));
    let near = writer.statements_during(|| _ = store.checkout(begun.session, ids[DEEP - 5_001], true));
    assert!(far.len() <= near.len() + 8, "{} statements, to the next node {}", far.len(), near.len());
    assert_eq!(store.checkout(begun.session, ids[DEEP - 5_000], false), ids[DEEP], "the leaf last visited");
}

/// Formats 2b, step 10: lore timers depend on the number of messages. Counting costs only the messages since the last
/// count, at any depth. Hidden nodes and nodes that are not messages do not count.
#[test]
fn ancestor_count_costs_only_new_messages() {
    let store = TestStore::new();
    let begun = store.create_session(Delta::default(), None, &["Hello."]);
    let ids = append_branch(&store, &begun, 2_000);
    let last = store.stored_node(begun.session, ids[2_000]);
    let count = |until: Option<i64>, most: i64| {
        let last = last.clone();
        store.read(move |reader| reader.count_ancestors(&last, until, PathFilter::Enabled, most))
    };
    let row = |at: usize| Some(store.stored_node(begun.session, ids[at]).n);
    assert_eq!(count(None, 100_000), (2_001, false), "up to the root, which is none");
    assert_eq!((count(None, 500), count(row(1_990), 100_000)), ((500, false), (10, true)));
    assert_eq!((count(row(2_000), 100_000), count(row(5), 500)), ((0, true), (500, false)));
    let (actor, session, hidden) = (store.actor(), begun.session, ids[1_995]);
    let update =
        NodeStateUpdate { node: hidden, is_enabled: Some(false), effects: None, rating: None, is_unread: None };
    store.write(move |tx| tx.set_state(&actor, session, &[update])).unwrap();
    assert_eq!((count(row(1_990), 100_000), count(row(1_995), 100_000)), ((9, true), (5, true)));
}

fn mute(store: &TestStore, begun: &SessionIds, node: NodeId) {
    let (actor, session) = (store.actor(), begun.session);
    let update =
        NodeStateUpdate { node, is_enabled: None, effects: Some(Effects::Muted), rating: None, is_unread: None };
    store.write(move |tx| tx.set_state(&actor, session, &[update])).unwrap();
}

fn writer_spy(store: &TestStore) -> StatementSpy {
    StatementSpy { thread: store.writer_thread_id() }
}

/// Returns the recursive statement for a page of 50 nodes up from a leaf, and its number of steps.
fn page_statement_steps(store: &TestStore, begun: &SessionIds, leaf: NodeId) -> (String, i32) {
    let held = store.stored_session(begun.session);
    let (thread, nodes) = store.read(move |reader| {
        let page = reader.page(&held, leaf, None, 50, PathFilter::Enabled)?;
        Ok((std::thread::current().id(), page.nodes.len()))
    });
    assert_eq!(nodes, 50);
    let mut walks = StatementSpy { thread }
        .statements()
        .into_iter()
        .filter(|ran| ran.sql.contains("RECURSIVE") && ran.sql.contains("LIMIT"));
    let SqlStatement { sql, binds, .. } = walks.next_back().unwrap();
    let binds: Vec<i64> = serde_json::from_str(&binds).unwrap();
    let steps = count_vm_steps(&store.database_path(), &sql, &binds);
    (sql, steps)
}

/// S0-27, S1-07, S2-08: one append executes the same statements and writes the same rows at depth 10 and at depth
/// 10 000.
#[test]
fn append_cost_is_same_at_any_depth() {
    StatementSpy::watch();
    let store = TestStore::new();
    let begun = store.create_session(Delta::default(), None, &["Hello."]);
    // One node more, so that both nodes already have a child.
    let ids = append_branch(&store, &begun, 10_001);
    let writer = writer_spy(&store);
    let rows = "SELECT (SELECT count(*) FROM nodes) + (SELECT count(*) FROM texts) + (SELECT count(*) FROM deltas) + \
                (SELECT count(*) FROM keyframes) + (SELECT count(*) FROM operations) + (SELECT count(*) FROM edits) + \
                (SELECT count(*) FROM blobs) + (SELECT count(*) FROM traces) + (SELECT count(*) FROM segments) AS n";
    let cost = |depth: usize| {
        store.checkout(begun.session, ids[depth], true);
        let mut draft = store.user_draft("one more");
        draft.delta = delta([add_operation("/turns", 1)]);
        clear_writer_cache(&store);
        let before = store.query_count(rows);
        let ran = writer.statements_during(|| _ = store.append(begun.session, ids[depth], draft));
        let ran: Vec<String> = ran.into_iter().map(|ran| ran.sql).collect();
        (store.query_count(rows) - before, ran)
    };
    let (shallow, deep) = (cost(10), cost(10_000));
    assert_eq!(shallow, deep);
    assert_eq!(shallow.0, 4, "node, text, delta, operation");
    assert!(shallow.1.len() < 40, "{:#?}", shallow.1);
}

/// Makes a write that rolls back, so that the writer's cache is empty.
fn clear_writer_cache(store: &TestStore) {
    let refusal = || TreeError::Conflict("taken back".into());
    assert!(store.write(move |_| Err::<(), _>(refusal().into())).is_err());
}

/// S3-27: on a state of 10 kB one operation adds less than 300 bytes to the node; the state is not copied.
#[test]
fn node_delta_stays_small_on_large_state() {
    let store = TestStore::with_settings(|settings| settings.keyframe_every = 1_000);
    let large: serde_json::Map<String, Value> =
        (0..100).map(|n| (format!("item {n}"), json!("x".repeat(90)))).collect();
    let begun = store.create_session(
        delta([set_operation("/pack", large.into()), set_operation("/combat/hp", json!(100))]),
        None,
        &["Hello."],
    );
    assert!(store.world(begun.session, begun.root).to_json().to_string().len() > 10_000);
    let bytes = "SELECT (SELECT sum(length(body)) FROM deltas) + (SELECT sum(length(body)) FROM keyframes) + \
                 (SELECT sum(2 * 16 + 8 * 12) FROM nodes) AS n";
    let before = store.query_count(bytes);
    let mut said = store.user_draft("I fight.");
    said.delta = delta([add_operation("/combat/hp", -12)]);
    store.append(begun.session, begun.greetings[0], said);
    let grown = store.query_count(bytes) - before;
    assert!((100..300).contains(&grown), "{grown} bytes");
}

/// Does everything that a session does in a day; `n` varies it.
fn run_session_day(store: &TestStore, begun: &SessionIds, n: i64) {
    let session = begun.session;
    let head = store.head(session);
    let (mut said, reply) = (store.user_draft("on"), store.placeholder());
    said.delta = delta([add_operation("/turns", 1)]);
    // Optional names, personas and authors must not make two statements of one.
    said.name = (n % 2 == 0).then(|| "Ada".to_owned());
    said.author = (n % 3 == 0).then_some(store.owner);
    let (user, node) = (said.id, reply.id);
    let written = store.try_add_message(message_write(session, head, Some(said), vec![reply])).unwrap();
    store.write(move |tx| tx.save_segments(&[(node, "So ".into(), String::new())])).unwrap();
    let trace = clotho_store::Trace { blocks: vec![(json!({}), format!("block {n}"))], ..Default::default() };
    let ending = clotho_store::ReplyCompletion {
        trace: Some(trace),
        ..reply_completion("So.", delta([add_operation("/turns", 1)]), Some(written.asked))
    };
    store.complete_reply_with(session, node, &written, ending);
    let other = store.placeholder();
    let rolled = store.try_add_message(message_write(session, user, None, vec![other.clone()])).unwrap();
    let failed = clotho_store::ReplyCompletion { status: Status::Error, ..super::store_bounds::failed_completion() };
    store.complete_reply_with(session, other.id, &rolled, failed);
    store.checkout(session, user, true);
    store.checkout(session, user, false);
    let edit = MessageWrite {
        move_children_from: Some(user),
        kind: OperationKind::Edit,
        ..message_write(session, head, Some(store.user_draft("On")), vec![])
    };
    store.try_add_message(edit).unwrap();
    let mut change = store.draft(Role::System, Kind::Change, "");
    change.delta = delta([add_operation("/turns", 1)]);
    change.rules = (n % 2 == 0).then(|| hp_rules("combat", 100 + n).into());
    let (actor, at) = (store.actor(), store.head(session));
    store.write(move |tx| tx.append_change(&actor, session, at, &change, OperationKind::Change)).unwrap();
    let update = NodeStateUpdate {
        node,
        is_enabled: Some(n % 2 == 0),
        effects: Some(if n % 2 == 0 { Effects::Muted } else { Effects::On }),
        rating: Some(Some(u8::try_from(n % 5 + 1).unwrap())),
        is_unread: Some(n % 2 == 0),
    };
    store.write(move |tx| tx.set_state(&actor, session, &[update])).unwrap();
    read_everything(store, begun, node);
}

fn failed_completion() -> clotho_store::ReplyCompletion {
    reply_completion("", Delta::default(), None)
}

fn read_everything(store: &TestStore, begun: &SessionIds, node: NodeId) {
    let held = store.stored_session(begun.session);
    let owner = store.owner;
    store.store().forget_worlds();
    store.read(move |reader| {
        let placed = reader.node(&held, node)?.unwrap();
        reader.world(&held, &placed)?;
        reader.rules(&placed)?;
        reader.delta(&placed)?;
        reader.trace(&placed)?;
        reader.siblings(&placed)?;
        reader.children(&held, node)?;
        reader.context_of(&held, node)?;
        let page = reader.page(&held, held.session.head, None, 20, PathFilter::Enabled)?;
        let ids: Vec<NodeId> = page.nodes.iter().map(|placed| placed.node.id).collect();
        let spots = reader.node_positions(&held, &ids)?;
        reader.positions_on_path(&held, held.session.head, &spots)?;
        // The number of requested nodes is padded to the next power of two; a live event needs one node.
        reader.node_details(vec![placed])?;
        reader.context_page(&held, held.session.head, None, 20)?;
        reader.tree_page(&held, 0, 20)?;
        reader.outline(&held)?;
        reader.turn_counts(std::slice::from_ref(&held))?;
        reader.placeholders(&held)?;
        reader.is_on_path(&held, node, held.session.head)?;
        reader.operations(&held, 0, 50)?;
        reader.log_after(0, 50)?;
        reader.newest_cursor()?;
        reader.sessions(owner, 0, 50)?;
        reader.characters(owner, 0, 50)?;
        reader.personas(owner, 0, 50)?;
        reader.saved_response(owner, "k", clotho_core::clock::Time(0))
    });
}

/// The statement cache: every statement of a session's day is prepared once per connection and kept, with or without
/// optional columns.
#[test]
fn statements_are_prepared_once_per_connection() {
    StatementSpy::watch();
    let store = TestStore::with_settings(|settings| (settings.readers, settings.keyframe_every) = (1, 4));
    let begun = store.create_session(Delta::default(), None, &["Hello."]);
    for n in 0..8 {
        run_session_day(&store, &begun, n);
    }
    let (writer, reader) =
        (writer_spy(&store), StatementSpy { thread: store.read(|_| Ok(std::thread::current().id())) });
    for spy in [writer, reader] {
        let kept = spy.prepared_statements();
        let (before, prepared) = (spy.statements().len(), spy.preparation_log().len());
        for n in 8..12 {
            run_session_day(&store, &begun, n);
        }
        let ran = spy.statements().split_off(before);
        assert!(ran.len() > 100);
        for SqlStatement { sql, .. } in &ran {
            assert!(kept.contains(sql), "not kept prepared: {sql}");
        }
        assert_eq!(spy.preparation_log().len(), prepared, "prepared again: {:#?}", &spy.preparation_log()[prepared..]);
        let distinct = kept.len();
        assert_eq!(distinct, prepared, "prepared twice");
    }
}

#[derive(QueryableByName)]
struct QueryPlanRow {
    #[diesel(sql_type = diesel::sql_types::Text)]
    detail: String,
}

/// S0-53: neither a session's daily work nor a start reads a whole table.
#[test]
fn queries_never_scan_whole_tables() {
    StatementSpy::watch();
    let store = TestStore::with_settings(|settings| (settings.readers, settings.keyframe_every) = (1, 4));
    let begun = store.create_session(Delta::default(), None, &["Hello."]);
    for n in 0..6 {
        run_session_day(&store, &begun, n);
    }
    store.write(|tx| tx.generating_replies()).unwrap();
    let (writer, reader) =
        (writer_spy(&store), StatementSpy { thread: store.read(|_| Ok(std::thread::current().id())) });
    let statements = writer.prepared_statements().into_iter().chain(reader.prepared_statements());
    let mut conn = store.open_connection();
    let mut checked = 0;
    for sql in statements {
        let plan: Vec<QueryPlanRow> = diesel::sql_query(format!("EXPLAIN QUERY PLAN {sql}")).load(&mut conn).unwrap();
        for QueryPlanRow { detail } in plan {
            // The rows of a recursive walk, the users, and the small index of running replies may be read completely.
            let whole = detail.strip_prefix("SCAN ").map(|rest| rest.split(' ').next().unwrap_or(rest));
            let small = ["up", "down", "below", "users", "CONSTANT"];
            let is_small = |name: &str| small.contains(&name) || detail.contains("nodes_generating");
            assert!(whole.is_none_or(is_small), "{detail}: {sql}");
        }
        checked += 1;
    }
    assert!(checked > 40, "{checked}");
}

/// A very wide fork and a world of one megabyte are stored and read back.
#[test]
fn wide_forks_and_large_worlds_are_stored() {
    let store = TestStore::with_settings(|settings| settings.keyframe_every = 2);
    let begun = store.create_session(Delta::default(), None, &["Hello."]);
    let session = begun.session;
    let user = store.append(session, begun.greetings[0], store.user_draft("Again."));
    let replies: Vec<NodeDraft> = (0..700).map(|_| store.placeholder()).collect();
    let ids: Vec<NodeId> = replies.iter().map(|reply| reply.id).collect();
    let written = store.try_add_message(message_write(session, user, None, replies)).unwrap();
    let at = store.now();
    let ended = ids.clone();
    store
        .write(move |tx| {
            for id in &ended {
                tx.complete_reply(session, *id, written.op, at, &reply_completion("roll", Delta::default(), None))?;
            }
            Ok(())
        })
        .unwrap();
    let held = store.stored_session(session);
    let (children, generations) =
        store.read(move |reader| Ok((reader.children(&held, user)?.len(), reader.generations(&held, user)?)));
    assert_eq!(children, 700);
    assert_eq!(generations.iter().map(|placed| placed.node.id).collect::<Vec<_>>(), ids, "S0-15: in order");
    // Correcting a typo moves all of them, in one operation and one effect.
    let edit = MessageWrite {
        move_children_from: Some(user),
        kind: OperationKind::Edit,
        ..message_write(session, begun.greetings[0], Some(store.user_draft("Again!")), vec![])
    };
    let newer = edit.draft.as_ref().unwrap().id;
    store.try_add_message(edit).unwrap();
    let held = store.stored_session(session);
    assert_eq!(held.session.edits, 1);
    assert_eq!(store.read(move |reader| reader.children(&held, newer)).len(), 700);

    let section = |n: usize| json!("y".repeat(100_000 + n));
    let mut leaf = ids[3];
    // The thirteenth node from here has a keyframe again, so that the newest section is kept too.
    for n in 0..13 {
        let mut said = store.user_draft("more");
        said.delta =
            delta([set_operation(&format!("/big/{n}"), json!(n)), set_operation(&format!("/section {n}"), section(n))]);
        leaf = store.append(session, leaf, said);
    }
    let world = store.world(session, leaf).to_json().to_string();
    assert!(world.len() > 1_300_000);
    assert!(store.stored_node(session, leaf).node.is_keyframe);
    store.store().forget_worlds();
    assert_eq!(store.world(session, leaf).to_json().to_string(), world, "read back from sections kept apart");
    let blobs = store.query_count("SELECT count(*) AS n FROM blobs WHERE length(bytes) > 100000");
    assert_eq!(blobs, 13, "each large section is kept once, whatever the number of keyframes");
}

/// The writer runs no query in either commit of a turn, since it caches what it wrote. Two replies cost two replies'
/// writes. The transaction statements are counted too.
#[test]
fn turn_writer_runs_no_queries_for_cached_rows() {
    StatementSpy::watch();
    let store = TestStore::with_settings(|settings| settings.keyframe_every = 1_000);
    let begun = store.create_session(Delta::default(), None, &["Hello."]);
    let writer = writer_spy(&store);
    let turn = |parent: NodeId| {
        let (mut said, reply) = (store.user_draft("on"), store.placeholder());
        said.delta = delta([add_operation("/turns", 1)]);
        let (node, mut written) = (reply.id, None);
        let first = writer.statements_during(|| {
            written =
                Some(store.try_add_message(message_write(begun.session, parent, Some(said), vec![reply])).unwrap());
        });
        let told = delta([add_operation("/turns", 1)]);
        let second =
            writer.statements_during(|| _ = store.complete_reply(begun.session, node, &written.unwrap(), "So.", told));
        (node, first, second)
    };
    let (node, ..) = turn(begun.greetings[0]);
    let (_, first, second) = turn(node);
    // Two nodes with their texts, a delta, the remembered child, the log, the session.
    assert_eq!(first.len(), 2 + 8, "{first:#?}");
    // Node, text, partial text of the running reply, delta, the remembered child, the log, the session.
    assert_eq!(second.len(), 2 + 7, "{second:#?}");
    assert!(first.iter().chain(&second).all(|ran| !ran.sql.contains("SELECT")), "{first:#?}\n{second:#?}");
}

/// Writing a keyframe needs no query either: the parent's world is cached and passed on. The keyframe equals the world
/// that is folded with an empty cache.
#[test]
fn keyframe_writer_runs_no_queries_for_cached_world() {
    StatementSpy::watch();
    let store = TestStore::with_settings(|settings| settings.keyframe_every = 3);
    let begun = store.create_session(delta([set_operation("/turns", json!(0))]), None, &["Hello."]);
    let writer = writer_spy(&store);
    let mut leaf = store.append(begun.session, begun.greetings[0], store.user_draft("first"));
    for n in 1..=7 {
        let mut said = store.user_draft("on");
        said.delta = delta([add_operation("/turns", 1)]);
        let ran = writer.statements_during(|| leaf = store.append(begun.session, leaf, said));
        assert!(ran.iter().all(|ran| !ran.sql.contains("SELECT")), "{ran:#?}");
        let cut = ran.iter().filter(|ran| ran.sql.contains("keyframes")).count();
        assert_eq!(cut, usize::from(store.stored_node(begun.session, leaf).node.is_keyframe), "{ran:#?}");
        assert!(count_folds(&store, &begun, leaf, n) < 3);
    }
    assert_eq!(store.query_count("SELECT count(*) AS n FROM keyframes"), 4, "the root's, and every third below it");
    // On another branch, and after an edit of the arrangement, the cache does not apply.
    let beside = store.append(begun.session, begun.greetings[0], store.user_draft("beside"));
    mute(&store, &begun, beside);
    let mut other = beside;
    for n in 1..=5 {
        let mut said = store.user_draft("on");
        said.delta = delta([add_operation("/turns", 1)]);
        other = store.append(begun.session, other, said);
        assert!(count_folds(&store, &begun, other, n) < 5);
    }
    assert_eq!((turn_count(&store, &begun, leaf), turn_count(&store, &begun, other)), (7, 5));
}

/// A rollback clears the writer's cache, whether the request was refused after writing or the whole group failed. Row
/// numbers, HEAD, the log and the nodes are as before.
#[test]
fn rollback_clears_writer_cache() {
    let mut store = TestStore::new();
    let begun = store.create_session(Delta::default(), None, &["Hello."]);
    let session = begun.session;
    let mut head = store.append(session, begun.greetings[0], store.user_draft("Kept."));
    for panics in [false, true] {
        let (gone, op) = (store.user_draft("Taken back."), store.stored_session(session).session.op);
        let (id, actor) = (gone.id, store.actor());
        let half = message_write(session, head, Some(gone), vec![store.placeholder()]);
        let failed = store.write(move |tx| {
            tx.add_message(&actor, &half)?;
            assert!(!panics, "a write that panics fails its group");
            Err::<(), _>(TreeError::Conflict("taken back".into()).into())
        });
        assert_eq!(matches!(failed, Err(WriteError::Refused(_))), !panics, "{failed:?}");
        let below = store.try_add_message(message_write(session, id, Some(store.user_draft("Below it.")), vec![]));
        assert!(matches!(below, Err(WriteError::Refused(TreeError::NotFound(_)))), "{below:?}");
        store.take_published_operations();
        let kept = store.append(session, head, store.user_draft("Kept too."));
        let held = store.stored_session(session);
        assert_eq!((held.session.op, held.session.head), (op + 1, kept));
        assert_eq!(
            store.take_published_operations().iter().map(|event| event.operation.op).collect::<Vec<_>>(),
            [op + 1]
        );
        assert_eq!(store.query_count("SELECT max(n) - count(*) AS n FROM nodes"), 0, "numbers without gaps");
        assert_eq!(store.query_count("SELECT max(n) - count(*) AS n FROM operations"), 0, "numbers without gaps");
        head = kept;
    }
}
