//! When a reply takes HEAD (`domain.md` 5.2), and that nothing else moves it.

use clotho_core::ids::NodeId;
use clotho_core::oplog::Effect;
use clotho_store::ExpectedVersion;

use super::*;

/// Returns a program and a reply that says a little and then stalls until it is cancelled.
async fn start_with_stalled_reply() -> (TestApp, Reply) {
    let stalled = Reply::ok(["Half"]).then_stall();
    let app = TestApp::start().await;
    app.mock.set_default_reply(stalled.clone());
    (app, stalled)
}

/// Takes a started reply and waits until its first text has arrived.
async fn wait_for_first_text(story: &TestSession<'_>, started: Result<TurnReceipt, TurnError>) -> TurnReceipt {
    let started = started.unwrap();
    for reply in &started.generations {
        story.wait_for_text(*reply, "Half").await;
    }
    started
}

async fn cancel_and_wait(story: &TestSession<'_>, node: NodeId) -> Node {
    story.cancel(node).await.unwrap();
    story.wait_for_reply(node).await
}

/// S1-18: HEAD moves to a reply that was requested at HEAD.
#[tokio::test]
async fn head_moves_to_requested_reply() {
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    let turn = story.run_turn("Hi.").await;
    assert_eq!(story.head().await, turn.reply.id);
    assert_eq!(story.node(turn.user_node).await.remembered, Some(turn.reply.id));
}

/// S2-09, S0-04: a reroll is a sibling and takes HEAD. The old reply is unchanged.
#[tokio::test]
async fn head_moves_to_reroll_sibling() {
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    let turn = story.run_turn("Hi.").await;
    for n in 2..=5 {
        let reply = story.regenerate_and_wait(turn.reply.id).await;
        assert_eq!((reply.parent, reply.turn, reply.depth), (Some(turn.user_node), 1, turn.reply.depth));
        assert_eq!(story.head().await, reply.id);
        assert_eq!(story.children(turn.user_node).await.len(), n);
    }
    assert_eq!(immutable_facts(&story.node(turn.reply.id).await), immutable_facts(&turn.reply));
}

/// C13: of several replies to one request only the first may take HEAD, whichever ends first.
#[tokio::test]
async fn head_goes_to_first_of_several_replies() {
    let (app, _) = start_with_stalled_reply().await;
    let story = TestSession::create(&app, &[]).await;
    let several = GenerationSpec { n: 3, ..GenerationSpec::default() };
    let new = MessageSpec { generate: Some(several.clone()), ..message_spec(story.head().await, "Hi.") };
    let started = wait_for_first_text(&story, story.send(new).await).await;
    let user = started.node.unwrap();
    for last in [2, 1] {
        assert_eq!(cancel_and_wait(&story, started.generations[last]).await.status, Status::Complete);
        assert_eq!(story.head().await, user);
    }
    cancel_and_wait(&story, started.generations[0]).await;
    assert_eq!(story.head().await, started.generations[0]);
    let again = wait_for_first_text(&story, story.regenerate(started.generations[1], several).await).await;
    cancel_and_wait(&story, again.generations[2]).await;
    assert_eq!(story.head().await, started.generations[0]);
    cancel_and_wait(&story, again.generations[0]).await;
    assert_eq!(story.head().await, again.generations[0]);
    let children: Vec<NodeId> = story.children(user).await.iter().map(|node| node.id).collect();
    let asked = [started.generations, again.generations].concat();
    assert_eq!(children, asked, "S0-15: siblings keep their order");
}

/// C13: if HEAD moved elsewhere meanwhile, it stays there, even if it came back.
#[tokio::test]
async fn head_moved_elsewhere_is_not_pulled_back() {
    let (app, _) = start_with_stalled_reply().await;
    let story = TestSession::create(&app, &[]).await;
    let greeting = story.head().await;
    let started = wait_for_first_text(&story, Ok(story.start_turn("Hi.").await)).await;
    let user = started.node.unwrap();
    story.checkout(greeting).await;
    cancel_and_wait(&story, started.generations[0]).await;
    assert_eq!(story.head().await, greeting);

    story.checkout(user).await;
    let again = wait_for_first_text(&story, story.regenerate(user, GenerationSpec::default()).await).await;
    story.checkout(greeting).await;
    story.checkout(user).await;
    let reply = cancel_and_wait(&story, again.generations[0]).await;
    assert_eq!((reply.status, story.head().await), (Status::Complete, user), "moved and back is moved");
    let last = story.log().await.pop().unwrap();
    assert_eq!(last.effects, [Effect::Completed { node: reply.id }, Effect::Unread { node: reply.id, to: true }]);
}

/// C13: HEAD stays if it was elsewhere at the request, or if the request does not want it to move.
#[tokio::test]
async fn head_elsewhere_at_request_stays_there() {
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    let greeting = story.head().await;
    let turn = story.run_turn("Hi.").await;
    let started = story.send(MessageSpec { move_head: false, ..message_spec(greeting, "Aside.") }).await.unwrap();
    story.wait_for_reply(started.generations[0]).await;
    assert_eq!(story.head().await, turn.reply.id);

    let elsewhere = story.regenerate(started.generations[0], GenerationSpec::default()).await.unwrap();
    story.wait_for_reply(elsewhere.generations[0]).await;
    assert_eq!(story.head().await, turn.reply.id, "HEAD was not at its context when it was asked for");

    let (node, generate) = (turn.reply.id, GenerationSpec::default());
    let again = RegenerateSpec { node, generate, move_head: false, expected_leaf: None };
    let reroll = story.reroll_with_spec(again).await.unwrap();
    assert_eq!(story.wait_for_reply(reroll.generations[0]).await.status, Status::Complete);
    assert_eq!(story.head().await, turn.reply.id, "it was not to follow");
}

/// C13: of two simultaneous requests the first to end takes HEAD, and the other is marked unread.
#[tokio::test]
async fn head_goes_to_first_finished_of_two_rerolls() {
    let (app, _) = start_with_stalled_reply().await;
    let story = TestSession::create(&app, &[]).await;
    let first = wait_for_first_text(&story, Ok(story.start_turn("Hi.").await)).await;
    cancel_and_wait(&story, first.generations[0]).await;
    let one =
        wait_for_first_text(&story, story.regenerate(first.generations[0], GenerationSpec::default()).await).await;
    let two =
        wait_for_first_text(&story, story.regenerate(first.generations[0], GenerationSpec::default()).await).await;
    cancel_and_wait(&story, two.generations[0]).await;
    assert_eq!(story.head().await, two.generations[0]);
    cancel_and_wait(&story, one.generations[0]).await;
    assert_eq!(story.head().await, two.generations[0]);
}

/// `domain.md` 5.5: an error node never takes HEAD.
#[tokio::test]
async fn head_never_moves_to_error_node() {
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    app.mock.queue_reply(Reply::ok(["Some text."]).then_cut());
    let turn = story.run_turn("Hi.").await;
    assert_eq!((turn.reply.status, turn.reply.content.as_str()), (Status::Error, "Some text."));
    assert_eq!(story.head().await, turn.user_node);
}

/// `domain.md` 2.19: what happens to a write when HEAD is not where the writer saw it.
#[tokio::test]
async fn stale_head_write_is_refused_appended_or_branched() {
    use clotho_core::tree::edit::TreeError;
    use clotho_engine::turn::StaleHeadPolicy;
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    let seen = story.head().await;
    let turn = story.run_turn("I was faster.").await;
    let before = story.session().await.op;
    let stale = |on_stale| MessageSpec {
        expected_leaf: Some(ExpectedVersion::Leaf(seen)),
        on_stale,
        generate: None,
        ..message_spec(seen, "I saw the greeting.")
    };
    match story.send(stale(StaleHeadPolicy::Refuse)).await {
        Err(TurnError::Refused(TreeError::HeadMoved { leaf, op })) => assert_eq!((leaf, op), (turn.reply.id, before)),
        other => panic!("{other:?}"),
    }
    assert_eq!(story.session().await.op, before, "nothing was written");
    let appended = story.send(stale(StaleHeadPolicy::Append)).await.unwrap().node.unwrap();
    assert_eq!(story.node(appended).await.parent, Some(turn.reply.id));
    let branched = story.send(stale(StaleHeadPolicy::Branch)).await.unwrap().node.unwrap();
    assert_eq!(story.node(branched).await.parent, Some(seen));
    assert_eq!(story.head().await, branched);
    let expected_leaf = Some(ExpectedVersion::Leaf(seen));
    let again =
        RegenerateSpec { node: turn.reply.id, generate: GenerationSpec::default(), move_head: true, expected_leaf };
    let reroll = story.reroll_with_spec(again).await;
    assert!(matches!(reroll, Err(TurnError::Refused(TreeError::HeadMoved { .. }))));
    let edited = story
        .edit(
            turn.user_node,
            clotho_engine::turn::EditSpec { expected_leaf: Some(ExpectedVersion::Leaf(seen)), ..edit_spec("x") },
        )
        .await;
    assert!(matches!(edited, Err(TurnError::Refused(TreeError::HeadMoved { .. }))));
}

/// Parallel appends by several people each go below the previous message, and none is lost.
#[tokio::test]
async fn parallel_appends_keep_every_message() {
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    let seen = story.head().await;
    let send = |n: usize| {
        let on_stale = clotho_engine::turn::StaleHeadPolicy::Append;
        let new = message_spec(seen, &format!("Voice {n}."));
        story.send(MessageSpec { expected_leaf: Some(ExpectedVersion::Leaf(seen)), on_stale, generate: None, ..new })
    };
    for started in futures_util::future::join_all((0..16).map(send)).await {
        started.unwrap();
    }
    let line = story.path(story.head().await).await;
    assert_eq!(line.len(), 17);
    let mut voices = node_texts(&line)[1..].to_vec();
    voices.sort_unstable();
    voices.dedup();
    assert_eq!(voices.len(), 16);
}
