//! Replies that end without the model: cancel, disconnected clients, panics, limits and shutdown.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clotho_core::clock::{Clock, TestClock, Time};
use clotho_core::tree::edit::TreeError;

use super::*;

/// A cancelled reply keeps its text, is complete and truncated, and its model request is aborted.
#[tokio::test]
async fn cancel_during_stream_keeps_partial_text() {
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    app.mock.queue_reply(Reply::ok(["Half a ", "sentence"]).then_stall());
    let started = story.start_turn("Hi.").await;
    let reply = started.generations[0];
    story.wait_for_text(reply, "Half a sentence").await;
    story.cancel(reply).await.unwrap();
    let done = story.wait_for_reply(reply).await;
    assert_eq!((done.status, done.content.as_str()), (Status::Complete, "Half a sentence"));
    assert_eq!(
        (&done.metadata.to_json()["finishReason"], &done.metadata.to_json()["isTruncated"]),
        (&json!("cancelled"), &json!(true))
    );
    app.mock.wait_for_aborted_replies(1).await;
    let op = story.session().await.op;
    for node in [reply, started.node.unwrap()] {
        assert!(matches!(story.cancel(node).await, Err(TurnError::Refused(TreeError::Conflict(_)))));
    }
    assert_eq!(story.session().await.op, op, "cancelling what has ended does nothing");
    story.run_turn("Go on.").await;
    assert!(app.mock.requests()[1].to_string().contains("Half a sentence"));
}

/// A reply cancelled before any text is an error node that says so, with no text.
#[tokio::test]
async fn cancel_before_text_gives_error_node() {
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    app.mock.queue_reply(Reply::silent());
    let started = story.start_turn("Hi.").await;
    story.cancel(started.generations[0]).await.unwrap();
    let done = story.wait_for_reply(started.generations[0]).await;
    assert_eq!((done.status, &done.metadata.to_json()["error"]["code"]), (Status::Error, &json!("cancelled")));
    assert_eq!(story.head().await, started.node.unwrap());
}

/// A reply cancelled during reasoning keeps the reasoning and has no text.
#[tokio::test]
async fn cancel_during_reasoning_keeps_reasoning_only() {
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    let thinking = Reply::ok([""; 0]).reasoning(crate::support::mock_model::ReasoningField::Reasoning, ["Let me see"]);
    app.mock.queue_reply(thinking.then_stall());
    let started = story.start_turn("Hi.").await;
    let reply = started.generations[0];
    let written = story.wait_for_partial_text(reply, |written| written.reasoning == "Let me see").await;
    assert_eq!((written.phase, written.content.as_str()), ("thinking", ""));
    story.cancel(reply).await.unwrap();
    let done = story.wait_for_reply(reply).await;
    assert_eq!((done.status, &done.metadata.to_json()["error"]["code"]), (Status::Error, &json!("cancelled")));
    assert_eq!((done.content.as_str(), done.reasoning.as_deref()), ("", Some("Let me see")));
    assert_eq!(story.head().await, started.node.unwrap());
    app.mock.wait_for_aborted_replies(1).await;
}

/// A cancel while a narrator or rule runs either prevents all effects or comes too late and prevents none.
#[tokio::test]
async fn cancel_while_scripts_run_is_all_or_nothing() {
    let script = "fn narrate(ctx) { ctx.add(\"n\", 1); for i in 0..20000 {} \"Told.\" }\n\
                  fn on_reply(ctx) { for i in 0..20000 {} ctx.add(\"m\", 1); }";
    let app = TestApp::setup().with_script("slow", script).set("generation.model", "plugin:slow").start().await;
    let story = TestSession::create(&app, &["slow"]).await;
    let user = story.write_message(story.head().await, "Go.").await;
    let mut in_time = 0;
    for n in 0..60_u32 {
        let reply = story.regenerate(user, GenerationSpec::default()).await.unwrap().generations[0];
        // From an immediate cancel to one in the middle of the script.
        for _ in 0..n {
            tokio::task::yield_now().await;
        }
        let cancelled = story.cancel(reply).await;
        let done = story.wait_for_reply(reply).await;
        let happened = [story.var(reply, "/slow/n").await, story.var(reply, "/slow/m").await];
        if done.status == Status::Complete {
            assert_eq!((happened, done.content.as_str()), ([json!(1), json!(1)], "Told."));
        } else {
            assert!(cancelled.is_ok() && done.metadata.to_json()["error"]["code"] == "cancelled", "{done:?}");
            assert_eq!((happened, done.content.as_str()), ([json!(null), json!(null)], ""));
            in_time += 1;
        }
        assert!(matches!(story.cancel(reply).await, Err(TurnError::Refused(TreeError::Conflict(_)))));
    }
    assert!(in_time > 0, "a cancel right after the beginning comes in time");
}

/// A client that resets the connection during its request does not stop the turn.
#[tokio::test]
async fn client_disconnect_during_request_does_not_stop_turn() {
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    let head = story.head().await;
    let mut watcher = app.live.watch(story.id);
    {
        let request = story.send(message_spec(head, "Hi."));
        tokio::pin!(request);
        assert!(futures_util::poll!(request.as_mut()).is_pending());
    }
    let reply = with_timeout(async {
        loop {
            if let [user] = story.children(head).await.as_slice() {
                let replies = story.children(user.id).await;
                if replies.first().is_some_and(|reply| reply.status == Status::Complete) {
                    return replies[0].clone();
                }
            }
            watcher.changed().await;
        }
    })
    .await;
    assert_eq!(story.head().await, reply.id);
    assert_eq!(app.mock.requests().len(), 1);
}

/// A clock that panics once when armed.
struct PanickingClock {
    clock: TestClock,
    is_armed: AtomicBool,
}

impl Clock for PanickingClock {
    fn now(&self) -> Time {
        assert!(!self.is_armed.swap(false, Ordering::SeqCst), "as the test wants it");
        self.clock.now()
    }
}

/// A panic in the task of a reply becomes an internal error on the node, with the partial text. Everything else goes
/// on.
#[tokio::test]
async fn panic_in_reply_task_becomes_node_error() {
    let bomb =
        Arc::new(PanickingClock { clock: TestClock::new(Time(1_700_000_000_000)), is_armed: AtomicBool::new(false) });
    let app = TestApp::setup().clock(bomb.clone()).start().await;
    let story = TestSession::create(&app, &[]).await;
    let (reply, gate) = gated_reply(&["Before ", "and after."]);
    app.mock.queue_reply(reply);
    let started = story.start_turn("Hi.").await;
    gate.release(1);
    story.wait_for_text(started.generations[0], "Before ").await;
    bomb.is_armed.store(true, Ordering::SeqCst);
    gate.open();
    let done = story.wait_for_reply(started.generations[0]).await;
    assert_eq!((done.status, &done.metadata.to_json()["error"]["code"]), (Status::Error, &json!("internal")));
    assert_eq!((done.content.as_str(), done.name.as_deref()), ("Before ", Some("Rin")));
    assert!(
        !done.metadata.to_json()["error"]["message"].as_str().unwrap().contains("as the test wants it"),
        "causes go to the log"
    );
    assert_eq!(story.head().await, started.node.unwrap());
    // S3-03: the request was still in memory, and its trace is kept.
    let trace = story.trace(done.id).await;
    assert_eq!(
        (&trace.head.to_json()["error"]["code"], &trace.head.to_json()["model"]),
        (&json!("internal"), &json!("mock/mock"))
    );
    assert!(trace.is_exact && trace.messages.iter().any(|sent| sent.text == "Hi."), "{trace:?}");
    assert_eq!(trace.head.to_json()["params"], done.metadata.to_json()["params"]);
    assert_eq!(story.regenerate_and_wait(done.id).await.status, Status::Complete);
    with_timeout(app.live.watch_count().wait_for(|count| *count == 0)).await.unwrap();
}

/// Replies over a limit are refused before anything is written, for one request or several.
#[tokio::test]
async fn reply_limit_exceeded_is_refused_before_write() {
    let limits = TestApp::setup().set("limits.generations_per_user", "2").set("limits.generations", "3");
    let app = limits.set("limits.waiting_per_user", "0").start().await;
    app.mock.set_default_reply(Reply::ok(["Half"]).then_stall());
    let story = TestSession::create(&app, &[]).await;
    let bob = app.add_user("Bob").await;
    let card = app.add_character_for(bob, rin_card()).await;
    let new = SessionSpec { character_ids: vec![card], ..SessionSpec::default() };
    let theirs = TestSession { app: &app, user: bob, id: app.turns.sessions.begin(bob, new).await.unwrap() };
    let greeting = story.head().await;
    let several = |n| MessageSpec {
        generate: Some(GenerationSpec { n, ..GenerationSpec::default() }),
        ..message_spec(greeting, "Hi.")
    };
    let op = story.session().await.op;
    // A number that never fits is an invalid field, since a retry would not help.
    for n in [3, u32::MAX] {
        match story.send(several(n)).await {
            Err(TurnError::Invalid { field: "n", message }) => assert!(message.contains("at most 2"), "{message}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((story.session().await.op, story.children(greeting).await.len()), (op, 0));

    let at_once = futures_util::future::join_all((0..6).map(|_| story.send(several(1)))).await;
    let begun: Vec<NodeId> = at_once.iter().flatten().map(|started| started.generations[0]).collect();
    assert_eq!((begun.len(), story.children(greeting).await.len()), (2, 2), "two of six");
    assert!(at_once.iter().all(|one| matches!(one, Ok(_) | Err(TurnError::TooMany))));
    let head = theirs.head().await;
    theirs.send(message_spec(head, "Mine.")).await.unwrap();
    assert!(matches!(theirs.send(message_spec(head, "Mine too.")).await, Err(TurnError::TooMany)), "three in all");

    story.wait_for_text(begun[0], "Half").await;
    story.cancel(begun[0]).await.unwrap();
    with_timeout(app.live.watch_count().wait_for(|count| *count == 2)).await.unwrap();
    let next = story.regenerate(begun[0], GenerationSpec::default()).await.unwrap();
    assert_eq!(next.generations.len(), 1, "there is room again");
}

/// Shutdown commits running replies with their partial text, as after a crash. No new turn starts, and the next start
/// has nothing to repair.
#[tokio::test]
async fn shutdown_commits_partial_replies() {
    let app = hurt_setup().start().await;
    let story = TestSession::create(&app, &["hurt"]).await;
    app.mock.queue_reply(Reply::ok(["Half. [HP -10]"]).then_stall());
    let started = story.start_turn("Hi.").await;
    let reply = started.generations[0];
    story.wait_for_text(reply, "Half. [HP -10]").await;
    app.turns.tasks.stop().await;
    let done = story.node(reply).await;
    assert_eq!((done.status, &done.metadata.to_json()["error"]["code"]), (Status::Error, &json!("interrupted")));
    assert_eq!(done.content, "Half. [HP -10]");
    assert!(matches!(story.send(message_spec(started.node.unwrap(), "More.")).await, Err(TurnError::Stopped)));
    app.mock.wait_for_aborted_replies(1).await;

    let (user, id) = (story.user, story.id);
    let app = app.restart().await;
    let story = TestSession { app: &app, user, id };
    assert_eq!(story.node(reply).await, done);
    assert_eq!(story.var(reply, "/hurt/hp").await, json!(100));
    assert_eq!(story.head().await, started.node.unwrap());
    let retried = story.regenerate_and_wait(reply).await;
    assert_eq!((retried.status, story.head().await), (Status::Complete, retried.id));
}

/// Moving a session to the trash cancels its replies.
#[tokio::test]
async fn session_trashed_cancels_its_replies() {
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    app.mock.queue_reply(Reply::ok(["Half"]).then_stall());
    let started = story.start_turn("Hi.").await;
    story.wait_for_text(started.generations[0], "Half").await;
    let (user, id, now) = (story.user, story.id, app.clock.now());
    app.store.write(move |tx| tx.trash_session(user, id, now)).await.unwrap();
    with_timeout(app.live.watch_count().wait_for(|count| *count == 0)).await.unwrap();
    app.mock.wait_for_aborted_replies(1).await;
}

/// `domain.md` 5.1: the sweeper ends orphaned replies and leaves running ones alone.
#[tokio::test]
async fn sweeper_ends_only_orphaned_replies() {
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    app.mock.queue_reply(Reply::ok(["Half"]).then_stall());
    let held = story.start_turn("Hi.").await.generations[0];
    story.wait_for_text(held, "Half").await;
    app.mock.queue_reply(Reply::ok(["Lost"]).then_stall());
    let lost = story.regenerate(held, GenerationSpec::default()).await.unwrap().generations[0];
    story.wait_for_text(lost, "Lost").await;
    app.live.end(lost);
    assert_eq!(app.turns.tasks.end_interrupted_replies().await.unwrap(), 1);
    let ended = story.node(lost).await;
    assert_eq!((ended.status, &ended.metadata.to_json()["error"]["code"]), (Status::Error, &json!("interrupted")));
    assert_eq!(ended.name.as_deref(), Some("Rin"));
    assert_eq!(story.node(held).await.status, Status::Generating);
    assert_eq!(app.turns.tasks.end_interrupted_replies().await.unwrap(), 0);
    story.cancel(held).await.unwrap();
    assert_eq!(story.wait_for_reply(held).await.content, "Half");
}

/// `domain.md` 5.1, 5.3: saving partial texts and sweeping run on their own timers, independent of the wall clock.
#[tokio::test]
async fn partial_text_saved_and_swept_on_timer() {
    use clotho_engine::turn::{SaveIntervals, TurnDeps, TurnEngine};
    use clotho_plugin::ScriptPool;
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    app.mock.queue_reply(Reply::ok(["Half"]).then_stall());
    let held = story.start_turn("Hi.").await.generations[0];
    story.wait_for_text(held, "Half").await;
    app.mock.queue_reply(Reply::ok(["Lost"]).then_stall());
    let lost = story.regenerate(held, GenerationSpec::default()).await.unwrap().generations[0];
    story.wait_for_text(lost, "Lost").await;
    let step = std::time::Duration::from_millis(1);
    let needs = TurnDeps {
        config: Arc::clone(&app.config),
        store: Arc::clone(&app.store),
        live: Arc::clone(&app.live),
        catalogue: Arc::clone(&app.catalogue),
        embedder: None,
        models: Arc::clone(&app.models),
        host: Arc::new(ScriptPool::with_all_cores().unwrap()),
        clock: Arc::clone(&app.clock),
        ids: Arc::clone(&app.ids),
        save_intervals: SaveIntervals { save: step, request: step, orphan_check_every: 2 },
    };
    TurnEngine::new(needs, tokio::runtime::Handle::current()).tasks.spawn_background_tasks();
    let saved = async || app.store.write(|tx| tx.generating_replies()).await.unwrap();
    with_timeout(async { while !saved().await.iter().any(|one| one.node == held && one.content == "Half") {} }).await;
    assert_eq!(story.node(lost).await.status, Status::Generating, "somebody holds it");
    app.live.end(lost);
    with_timeout(async { while saved().await.iter().any(|one| one.node == lost) {} }).await;
    let ended = story.node(lost).await;
    assert_eq!((ended.status, &ended.metadata.to_json()["error"]["code"]), (Status::Error, &json!("interrupted")));
    assert_eq!(story.trace(lost).await.head.to_json()["error"]["code"], "interrupted");
    assert_eq!(story.node(held).await.status, Status::Generating);
    story.cancel(held).await.unwrap();
    assert_eq!(story.wait_for_reply(held).await.content, "Half");
}

/// If the database refuses a reply and also its failure, the reply is released. The sweeper can end it when the
/// database works again.
#[tokio::test]
async fn reply_commit_failure_releases_it_for_sweeper() {
    use diesel::connection::SimpleConnection;
    let app = hurt_setup().start().await;
    let story = TestSession::create(&app, &["hurt"]).await;
    let database = app.home().join("data/clotho.db");
    let run = |sql: &str| {
        let mut conn = crate::support::open_second_connection(&database);
        conn.batch_execute(sql).unwrap();
    };
    let (reply, gate) = gated_reply(&["Half. ", "[HP -10]"]);
    app.mock.queue_reply(reply);
    let started = story.start_turn("Hi.").await;
    let reply = started.generations[0];
    gate.release(1);
    story.wait_for_text(reply, "Half. ").await;
    run(
        "CREATE TRIGGER broken BEFORE UPDATE OF status ON nodes BEGIN SELECT RAISE(ABORT, 'as the test wants it'); END",
    );
    gate.open();
    with_timeout(app.live.watch_count().wait_for(|count| *count == 0)).await.unwrap();
    assert_eq!((story.node(reply).await.status, story.head().await), (Status::Generating, started.node.unwrap()));
    run("DROP TRIGGER broken");
    assert_eq!(app.turns.tasks.end_interrupted_replies().await.unwrap(), 1);
    let ended = story.node(reply).await;
    assert_eq!((ended.status, &ended.metadata.to_json()["error"]["code"]), (Status::Error, &json!("interrupted")));
    assert!("Half. [HP -10]".starts_with(&ended.content), "{}", ended.content);
    assert_eq!(story.var(reply, "/hurt/hp").await, json!(100));
    assert_eq!(story.regenerate_and_wait(reply).await.status, Status::Complete);
}
