//! Rerolls, continuing from old messages, and edits.

use clotho_core::tree::Kind;
use clotho_core::tree::edit::TreeError;
use clotho_engine::turn::EditSpec;

use super::*;

fn without_seed(body: &Value) -> Value {
    let mut body = body.clone();
    assert!(body.as_object_mut().unwrap().shift_remove("seed").is_some_and(|seed| seed.is_u64()));
    body
}

/// S1-19, S0-34, S0-50: a reroll has the same context. Its request differs only in the seed and does not have the
/// previous reply.
#[tokio::test]
async fn reroll_sends_same_request_with_new_seed() {
    let app = hurt_setup().start().await;
    let story = TestSession::create(&app, &["hurt"]).await;
    app.mock.queue_reply(Reply::ok(["FIRST. [HP -10]"]));
    let turn = story.run_turn("I swing.").await;
    story.regenerate_and_wait(turn.reply.id).await;
    story.checkout(turn.reply.id).await;
    story.run_turn("On.").await;
    story.regenerate_and_wait(turn.user_node).await;
    let bodies = app.mock.requests();
    for again in [1, 3] {
        assert_eq!(without_seed(&bodies[0]), without_seed(&bodies[again]));
        assert_ne!(bodies[0]["seed"], bodies[again]["seed"]);
        assert!(!bodies[again].to_string().contains("FIRST"));
    }
}

/// S3-10: a retry uses the parameters of the original request unless it sets others, even if the session's have
/// changed.
#[tokio::test]
async fn retry_keeps_parameters_of_original_request() {
    let app = TestApp::start().await;
    let (one, two) = (
        app.add_character(rin_card()).await,
        app.add_character(json!({"name": "Moss", "systemPrompt": "Be Moss."})).await,
    );
    let new = SessionSpec { character_ids: vec![one, two], ..SessionSpec::default() };
    let story = TestSession::create_with_spec(&app, new).await;
    app.mock.queue_reply(Reply::ok(["Cut"]).then_cut());
    let params = json!({"temperature": 0.1, "seed": 5}).as_object().unwrap().clone();
    let generate =
        GenerationSpec { params, model: Some("mock/other".into()), character: Some(two), ..GenerationSpec::default() };
    let new = MessageSpec { generate: Some(generate), ..message_spec(story.head().await, "Hi.") };
    let started = story.send(new).await.unwrap();
    let failed = story.wait_for_reply(started.generations[0]).await;
    assert_eq!((failed.status, failed.name.as_deref()), (Status::Error, Some("Moss")));
    story.set_setting("params", json!({"top_p": 0.5})).await;
    let retried = story.regenerate_and_wait(failed.id).await;
    assert_eq!(
        (retried.character, retried.name.as_deref(), retried.content.is_empty()),
        (Some(two), Some("Moss"), false)
    );
    let bodies = app.mock.requests();
    assert_eq!((&bodies[0]["seed"], &bodies[0]["model"]), (&json!(5), &json!("other")));
    assert_ne!(bodies[1]["seed"], json!(5), "another reply has another seed");
    let told = |body: &Value| (body["model"].clone(), body["temperature"].clone(), body["top_p"].clone());
    assert_eq!(told(&bodies[1]), (json!("other"), json!(0.1), json!(0.5)));
    assert_eq!(request_messages(&bodies[1])[0], ("system", "Be Moss."));
    let other = GenerationSpec { model: Some("mock/mock".into()), character: Some(one), ..GenerationSpec::default() };
    let started = story.regenerate(retried.id, other).await.unwrap();
    story.wait_for_reply(started.generations[0]).await;
    let body = app.mock.requests().pop().unwrap();
    assert_eq!((body["model"].clone(), request_messages(&body)[0].1), (json!("mock"), "Be Rin."));
}

/// S0-35, S1-17, S1-21, S2-12, C3: after continuing from an old reply, the prompt has only that reply, and no other
/// branch changes.
#[tokio::test]
async fn continuing_from_old_reply_leaves_other_branches_unchanged() {
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    app.mock.queue_reply(Reply::ok(["RECORD-1"]));
    let turn = story.run_turn("Hi.").await;
    app.mock.queue_reply(Reply::ok(["RECORD-2"]));
    let second = story.regenerate_and_wait(turn.reply.id).await;
    let below_second = story.run_turn("From two.").await;
    let line: Vec<NodeId> = story.path(below_second.reply.id).await.iter().map(|node| node.id).collect();
    assert!(app.mock.requests()[2].to_string().contains("RECORD-2"));
    assert!(!app.mock.requests()[2].to_string().contains("RECORD-1"));

    story.run_turn_at(turn.reply.id, "From one.").await;
    let body = app.mock.requests().pop().unwrap();
    let texts: Vec<&str> = request_messages(&body).iter().map(|(_, text)| *text).collect();
    assert_eq!(texts, ["Be Rin.", "Hello, You.", "Hi.", "RECORD-1", "From one."]);
    let now: Vec<NodeId> = story.path(below_second.reply.id).await.iter().map(|node| node.id).collect();
    assert_eq!(now, line);
    assert_eq!(immutable_facts(&second), immutable_facts(&story.node(second.id).await));
}

/// S0-34: a reroll at the root or without a message to answer is refused.
#[tokio::test]
async fn reroll_without_message_to_answer_is_refused() {
    let app = hurt_setup().start().await;
    let story = TestSession::create(&app, &["hurt"]).await;
    let root = story.session().await.root;
    let greeting = story.head().await;
    let op = story.session().await.op;
    let refused = story.regenerate(root, GenerationSpec::default()).await;
    assert!(matches!(refused, Err(TurnError::Refused(TreeError::Conflict(_)))), "{refused:?}");
    assert_eq!(story.session().await.op, op);
    let heal = serde_json::from_value::<Value>(json!({"op": "add", "path": "/hurt/hp", "value": -1})).unwrap();
    let operations = vec![clotho_core::world::StateOperation::from_json(&heal).unwrap()];
    let change =
        app.turns.sessions.change_world(story.user, story.id, greeting, operations.clone(), None).await.unwrap();
    let refused = story.regenerate(change.node.unwrap(), GenerationSpec::default()).await;
    assert!(matches!(refused, Err(TurnError::Refused(TreeError::Conflict(_)))), "{refused:?}");

    app.mock.queue_reply(Reply::error(401, "no"));
    let failed = story.run_turn("Hi.").await;
    let change =
        app.turns.sessions.change_world(story.user, story.id, failed.user_node, operations, None).await.unwrap();
    let change = change.node.unwrap();
    assert_eq!(story.head().await, change);
    let reply = story.regenerate_and_wait(change).await;
    assert_eq!(
        (reply.parent, story.head().await),
        (Some(change), reply.id),
        "the message above still waits for an answer"
    );
    assert_eq!(story.var(reply.id, "/hurt/hp").await, json!(98));
}

/// S2-10, S2-11, S1-20: an edited message is a sibling with HEAD on it, and the model is asked once, below it. The old
/// branch is unchanged.
#[tokio::test]
async fn edited_message_becomes_sibling_and_is_answered() {
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    let mut turns = Vec::new();
    for n in 0..6 {
        turns.push(story.run_turn(&format!("Turn {n}.")).await);
    }
    let old_leaf = story.head().await;
    let old_line: Vec<Node> = story.path(old_leaf).await.iter().map(immutable_facts).collect();
    let asked = app.mock.requests().len();
    let gate = Gate::new();
    app.mock.queue_reply(Reply::ok(["Anew."]).head_gate(&gate));
    let started = story.edit(turns[1].user_node, edit_spec("Turn 1, in other words.")).await.unwrap();
    let edited = story.node(started.node.unwrap()).await;
    assert_eq!(story.head().await, edited.id);
    gate.open();
    let reply = story.wait_for_reply(started.generations[0]).await;
    assert_eq!((edited.parent, reply.parent), (Some(turns[0].reply.id), Some(edited.id)));
    assert_eq!(edited.metadata.to_json()["editedFrom"], json!(turns[1].user_node.to_string()));
    assert_eq!(story.children(turns[0].reply.id).await.len(), 2);
    assert_eq!(app.mock.requests().len(), asked + 1);
    let line = story.path(story.head().await).await;
    assert_eq!(line.len(), old_line.len() - 8, "five turns back: so much shorter");
    assert_eq!(node_texts(&line)[3..], ["Turn 1, in other words.", "Anew."]);
    assert_eq!(story.path(old_leaf).await.iter().map(immutable_facts).collect::<Vec<_>>(), old_line);
}

/// S2-11: an edited reply is a sibling. No model is asked, and the rules read it with the same dice.
#[tokio::test]
async fn edited_reply_runs_rules_with_same_dice() {
    let app = hurt_setup().start().await;
    let story = TestSession::create(&app, &["hurt"]).await;
    app.mock.queue_reply(Reply::ok(["It hurts. [HP -10]"]));
    let turn = story.run_turn("I swing.").await;
    let (asked, luck) = (app.mock.requests().len(), story.var(turn.reply.id, "/hurt/luck").await);
    let started = story.edit(turn.reply.id, edit_spec("It hurts a lot. [HP -40]")).await.unwrap();
    assert_eq!((started.generations.len(), app.mock.requests().len()), (0, asked));
    let edited = story.node(started.node.unwrap()).await;
    assert_eq!((edited.parent, edited.role, edited.status), (Some(turn.user_node), Role::Assistant, Status::Complete));
    assert_eq!(story.head().await, edited.id);
    assert_eq!(story.var(edited.id, "/hurt/hp").await, json!(60));
    assert_eq!(story.var(edited.id, "/hurt/luck").await, luck);
    assert_eq!(story.delta(edited.id).await.rolls, story.delta(turn.reply.id).await.rolls);
    assert_eq!(story.var(turn.reply.id, "/hurt/hp").await, json!(90));
    let wants_reply = EditSpec { generate: Some(Some(GenerationSpec::default())), ..edit_spec("x") };
    assert!(matches!(
        story.edit(turn.reply.id, wants_reply).await,
        Err(TurnError::Refused(TreeError::Invalid { field: "generate", .. }))
    ));
}

/// `domain.md` 2.7: `carry` corrects a typo and keeps the following messages, which are folded again on the new
/// effects.
#[tokio::test]
async fn edit_with_carry_keeps_following_messages() {
    let app = hurt_setup().start().await;
    let story = TestSession::create(&app, &["hurt"]).await;
    app.mock.queue_reply(Reply::ok(["One. [HP -10]"]));
    let first = story.run_turn("I swing.").await;
    app.mock.queue_reply(Reply::ok(["Two. [HP -5]"]));
    let second = story.run_turn("Again.").await;
    assert_eq!(story.var(second.reply.id, "/hurt/hp").await, json!(85));
    let started =
        story.edit(first.reply.id, EditSpec { move_children: true, ..edit_spec("One! [HP -20]") }).await.unwrap();
    let new = started.node.unwrap();
    assert_eq!(story.head().await, second.reply.id, "HEAD stays on the leaf that moved along");
    assert_eq!(story.node(second.user_node).await.parent, Some(new));
    assert_eq!(
        node_texts(&story.path(story.head().await).await)[1..],
        ["I swing.", "One! [HP -20]", "Again.", "Two. [HP -5]"]
    );
    assert_eq!(story.var(second.reply.id, "/hurt/hp").await, json!(75));
    assert_eq!(story.var(first.reply.id, "/hurt/hp").await, json!(90));
    assert!(story.children(first.reply.id).await.is_empty(), "the old version is a leaf");
    let typo = story.edit(first.user_node, EditSpec { move_children: true, ..edit_spec("I swing!") }).await.unwrap();
    assert!(typo.generations.is_empty(), "what follows is kept, so nothing is asked");
    assert_eq!(story.node(first.reply.id).await.parent, typo.node);
    let both = EditSpec { move_children: true, generate: Some(Some(GenerationSpec::default())), ..edit_spec("x") };
    assert!(matches!(
        story.edit(first.user_node, both).await,
        Err(TurnError::Refused(TreeError::Invalid { field: "carry", .. }))
    ));
}

/// `domain.md` 2.7: the root, a change node and a running reply cannot be edited. A message above a running reply
/// cannot be carried.
#[tokio::test]
async fn edit_of_root_change_or_generating_is_refused() {
    let app = hurt_setup().start().await;
    let story = TestSession::create(&app, &["hurt"]).await;
    let root = story.session().await.root;
    assert!(matches!(story.edit(root, edit_spec("x")).await, Err(TurnError::Refused(TreeError::Conflict(_)))));
    let heal =
        clotho_core::world::StateOperation::from_json(&json!({"op": "set", "path": "/hurt/hp", "value": 50})).unwrap();
    let change =
        app.turns.sessions.change_world(story.user, story.id, story.head().await, vec![heal], None).await.unwrap();
    assert!(matches!(
        story.edit(change.node.unwrap(), edit_spec("x")).await,
        Err(TurnError::Refused(TreeError::Conflict(_)))
    ));
    let (reply, gate) = gated_reply(&["Slow."]);
    app.mock.queue_reply(reply);
    let started = story.start_turn("Hi.").await;
    let (user, reply) = (started.node.unwrap(), started.generations[0]);
    let op = story.session().await.op;
    assert!(matches!(story.edit(reply, edit_spec("x")).await, Err(TurnError::Refused(TreeError::Generating))));
    let carry = EditSpec { move_children: true, ..edit_spec("x") };
    assert!(matches!(story.edit(user, carry).await, Err(TurnError::Refused(TreeError::Generating))));
    assert!(matches!(story.send(message_spec(reply, "x")).await, Err(TurnError::Refused(TreeError::Generating))));
    assert!(matches!(
        story.regenerate(change.node.unwrap(), GenerationSpec::default()).await,
        Err(TurnError::Refused(_))
    ));
    assert_eq!(story.session().await.op, op);
    gate.open();
    assert_eq!(story.wait_for_reply(reply).await.content, "Slow.");
}

/// An edited greeting is a greeting, and no rule runs on it.
#[tokio::test]
async fn edited_greeting_stays_greeting_without_rules() {
    let app = hurt_setup().start().await;
    let story = TestSession::create(&app, &["hurt"]).await;
    let greeting = story.head().await;
    let started = story.edit(greeting, edit_spec("Hello! [HP -50]")).await.unwrap();
    let edited = story.node(started.node.unwrap()).await;
    assert_eq!((edited.kind, edited.parent), (Kind::Greeting, Some(story.session().await.root)));
    assert_eq!(story.var(edited.id, "/hurt/hp").await, json!(100));
}

/// S1-25, S1-04: two hundred rerolls of an early turn add siblings and no depth. Everything else is unchanged.
#[tokio::test]
async fn two_hundred_rerolls_add_siblings_not_depth() {
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    let first = story.run_turn("One.").await;
    for n in 2..6 {
        story.run_turn(&format!("{n}.")).await;
    }
    let leaf = story.head().await;
    let line: Vec<Node> = story.path(leaf).await.iter().map(immutable_facts).collect();
    let mut asked = vec![first.reply.id];
    for _ in 0..25 {
        let eight = GenerationSpec { n: 8, ..GenerationSpec::default() };
        let wish = RegenerateSpec { node: first.reply.id, generate: eight, move_head: false, expected_leaf: None };
        let started = story.reroll_with_spec(wish).await.unwrap();
        asked.extend(&started.generations);
        for reply in started.generations {
            assert_eq!(story.wait_for_reply(reply).await.depth, first.reply.depth);
        }
    }
    let replies = story.children(first.user_node).await;
    assert_eq!(replies.len(), 201);
    assert_eq!(replies.iter().map(|reply| reply.id).collect::<Vec<_>>(), asked, "S0-15");
    assert_eq!(story.path(leaf).await.iter().map(immutable_facts).collect::<Vec<_>>(), line);
    assert_eq!(story.head().await, leaf);
}
