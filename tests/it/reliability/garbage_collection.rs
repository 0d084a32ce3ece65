//! Garbage collection removes only what may go, and blocks nobody.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clotho_core::clock::Time;
use clotho_core::tree::{Delta, Effects, Kind, Role};
use clotho_store::{GcReport, NodeStateUpdate, SavedResponse, Trace};
use serde_json::json;

use crate::support::mock_model::Reply;
use crate::support::server::{TestServer, id_of};
use crate::support::test_session::TestSession;
use crate::support::test_store::{
    TestStore, add_operation, delta, hp_rules, message_write, reply_completion, set_operation,
};

const DAY: i64 = 24 * 60 * 60 * 1_000;

fn collect_garbage_after(store: &TestStore, after: i64) -> GcReport {
    let now = Time(store.now().0 + after);
    store.block_on(store.store().collect_garbage(now)).unwrap()
}

/// `domain.md` 3.1, 6.5: rules, schemas, parts of large worlds, blocks of traces and the cards of sessions stay.
/// Unreferenced rows are removed, and their numbers are never reused.
#[test]
fn gc_keeps_referenced_rows_and_removes_others() {
    let mut store = TestStore::new();
    let large = json!({"pages": "x".repeat(90_000)});
    let begun = store.create_session(
        delta([set_operation("/book", large.clone())]),
        Some(hp_rules("combat", 100)),
        &["Welcome."],
    );
    let (said, reply) = (store.user_draft("Hi."), store.placeholder());
    let node = reply.id;
    let written =
        store.try_add_message(message_write(begun.session, begun.greetings[0], Some(said), vec![reply])).unwrap();
    let block = (json!({"slot": "system"}), "You are Rin.".to_owned());
    let trace = Trace { head: Box::default(), blocks: vec![block], history: Vec::new() };
    let mut well = reply_completion("Hello.", delta([add_operation("/combat/hp", -1)]), None);
    well.trace = Some(trace.clone());
    store.complete_reply_with(begun.session, node, &written, well);
    let idle = ["one", "two", "three"];
    let hashes = idle.map(|text| store.write(move |tx| tx.put_blob(text.as_bytes())).unwrap());

    store.delete_keyframes();
    let world = store.world(begun.session, node);
    let swept = collect_garbage_after(&store, 0);
    assert_eq!((swept.blobs, swept.bytes), (3, 11));
    store.reopen();
    let is_there = |hash: &String| {
        let hash = hash.clone();
        store.block_on(store.store().read(move |reader| reader.blob(&hash))).is_ok()
    };
    assert_eq!(hashes.each_ref().map(is_there), [false; 3]);
    assert_eq!(store.world(begun.session, node), world);
    assert_eq!(world.vars["book"], large);
    let placed = store.stored_node(begun.session, node);
    assert_eq!(store.read(move |reader| reader.trace(&placed)), Some(trace));
    let placed = store.stored_node(begun.session, node);
    assert_eq!(store.read(move |reader| Ok(reader.rules(&placed)?.plugins.len())), 1);
    assert_eq!(collect_garbage_after(&store, 0), GcReport::default());
    // Removed data can be added again.
    let highest = store.query_count("SELECT highest AS n FROM numbers WHERE name = 'blobs'");
    let again = store.write(|tx| tx.put_blob(b"one")).unwrap();
    assert_eq!(store.query_count("SELECT max(n) AS n FROM blobs"), highest + 1);
    assert_eq!(again, hashes[0]);
    assert_eq!(collect_garbage_after(&store, 0).blobs, 1);
}

/// If the references cannot be read, nothing is removed, not even a blob that looks unused.
#[test]
fn gc_with_unreadable_references_removes_nothing() {
    let store = TestStore::new();
    store.create_session(Delta::default(), None, &["Welcome."]);
    for text in ["one", "two", "three"] {
        store.write(move |tx| tx.put_blob(text.as_bytes())).unwrap();
    }
    let blobs = || store.query_count("SELECT count(*) AS n FROM blobs");
    let before = blobs();
    store.execute_sql("UPDATE sessions SET cards = '{'");
    let now = store.now();
    let damage = store.block_on(store.store().collect_garbage(now)).unwrap_err().to_string();
    assert!(damage.contains("sessions.cards"), "{damage}");
    assert_eq!(blobs(), before);
    store.execute_sql("UPDATE sessions SET cards = '[]'");
    assert_eq!(collect_garbage_after(&store, 0).blobs, 3);
}

/// `domain.md` 3.1: keyframes outdated by an edit above them are removed. Those beside the edit stay, and every answer
/// is the same.
#[test]
fn gc_removes_outdated_keyframes() {
    let store = TestStore::with_settings(|settings| settings.keyframe_every = 4);
    let begun = store.create_session(delta([set_operation("/hp", json!(1_000))]), None, &["Welcome."]);
    let line = |count: i64| {
        let mut line = vec![begun.greetings[0]];
        for n in 0..count {
            let mut draft = store.draft(Role::User, Kind::Message, "On.");
            draft.delta = delta([add_operation("/hp", -n)]);
            line.push(store.append(begun.session, *line.last().unwrap(), draft));
        }
        line
    };
    let (left, right) = (line(20), line(20));
    let kept = store.query_count("SELECT count(*) AS n FROM keyframes");
    assert_eq!(collect_garbage_after(&store, 0).keyframes, 0);
    let (actor, session, node) = (store.actor(), begun.session, left[10]);
    let mute = NodeStateUpdate { node, is_enabled: None, effects: Some(Effects::Muted), rating: None, is_unread: None };
    store.write(move |tx| tx.set_state(&actor, session, &[mute])).unwrap();
    let ends = [*left.last().unwrap(), *right.last().unwrap()].map(|end| (end, store.world(session, end)));
    store.block_on(async {
        // Waits for the keyframes that reading the worlds made; the writer handles its jobs in order.
        store.store().write(|_| Ok(())).await.unwrap();
    });
    let cut_again = store.query_count("SELECT count(*) AS n FROM keyframes WHERE edits = 1");
    let swept = collect_garbage_after(&store, 0).keyframes;
    let left_over = store.query_count("SELECT count(*) AS n FROM keyframes");
    assert_eq!(i64::try_from(swept).unwrap() + left_over, kept);
    assert!(left_over >= kept / 2 + cut_again, "only what lies below the edit went: {kept} {cut_again} {left_over}");
    store.store().forget_worlds();
    for (end, world) in ends {
        assert_eq!(store.world(session, end), world);
    }
}

/// `domain.md` 2.17: stored answers are kept for a day, trash for thirty days, and not an hour less.
#[test]
fn gc_removes_answers_and_trash_after_their_terms() {
    let store = TestStore::new();
    let begun = store.create_session(Delta::default(), None, &["Welcome."]);
    let (owner, at, session) = (store.owner, store.now(), begun.session);
    store
        .write(move |tx| {
            let answer = SavedResponse { request: vec![1], status: 200, body: "{}".into() };
            tx.save_response(owner, "key", &answer, at, Time(0))?;
            tx.trash_session(owner, session, at)
        })
        .unwrap();
    assert_eq!(collect_garbage_after(&store, DAY - 60_000), GcReport::default());
    assert_eq!(collect_garbage_after(&store, DAY), GcReport { responses: 1, ..GcReport::default() });
    assert_eq!(collect_garbage_after(&store, 30 * DAY - 60_000), GcReport::default());
    let swept = collect_garbage_after(&store, 30 * DAY);
    assert_eq!(swept.trash, 1);
    assert!(swept.rows > 0);
    assert_eq!(store.query_count("SELECT count(*) AS n FROM texts"), 0);
}

/// Turns continue during garbage collection, and nothing that a turn uses is removed.
#[tokio::test]
async fn gc_runs_beside_turns_without_loss() {
    let app = Arc::new(TestServer::start().await);
    app.mock().set_default_reply(Reply::ok(["Well."]));
    let (session, is_over) = (app.create_session().await, Arc::new(AtomicBool::new(false)));
    let sid = id_of(&session);
    let sweeping = {
        let (app, is_over) = (Arc::clone(&app), Arc::clone(&is_over));
        tokio::spawn(async move {
            let mut times = 0;
            while !is_over.load(Ordering::Relaxed) {
                let now = app.app().clock.now();
                app.app().store.collect_garbage(now).await.unwrap();
                times += 1;
            }
            times
        })
    };
    let mut parent = session["activeLeafId"].as_str().unwrap().to_owned();
    let mut replies = Vec::new();
    for n in 0..25 {
        let body = json!({"parentId": parent, "content": format!("turn {n}"), "generate": true});
        let said = app.post(&format!("/api/chat/{sid}/message"), &body).await;
        parent = id_of(&said["generations"][0]);
        replies.push(parent.clone());
        let story = TestSession { app: app.app(), user: app.app().owner, id: sid.parse().unwrap() };
        story.wait_for_reply(parent.parse().unwrap()).await;
        assert_eq!(app.get(&format!("/api/chat/{sid}/node/{parent}")).await["status"], "complete");
    }
    is_over.store(true, Ordering::Relaxed);
    assert!(sweeping.await.unwrap() > 0);
    for reply in replies {
        let trace = app.get(&format!("/api/chat/{sid}/node/{reply}/trace")).await;
        assert!(!trace["messages"].as_array().unwrap().is_empty());
    }
}
