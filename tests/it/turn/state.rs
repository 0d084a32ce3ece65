//! The world of each message: effects are on the reply that caused them.

use clotho_core::world::StateOperation;

use super::*;

fn parse_operation(json: Value) -> StateOperation {
    StateOperation::from_json(&json).unwrap()
}

async fn hp(story: &TestSession<'_>, node: NodeId) -> Value {
    story.var(node, "/hurt/hp").await
}

/// C6, S0-31, S0-38, S3-02, S3-04, S3-05, S3-19, S3-25: two replies, one of which costs hit points, have separate
/// worlds. Choosing one shows its world at once.
#[tokio::test]
async fn state_is_separate_for_each_reply() {
    let app = hurt_setup().start().await;
    let story = TestSession::create(&app, &["hurt"]).await;
    let greeting = story.head().await;
    app.mock.queue_reply(Reply::ok(["The ogre hits. [HP -10]"]));
    let turn = story.run_turn("I swing.").await;
    let hurt = turn.reply.id;
    let operations: Vec<Value> = story.delta(hurt).await.operations.iter().map(StateOperation::to_json).collect();
    assert_eq!(
        operations[1],
        json!({"op": "add", "path": "/hurt/hp", "value": -10, "why": "the reply says so", "by": "hurt"})
    );
    app.mock.queue_reply(Reply::ok(["The ogre misses."]));
    let unhurt = story.regenerate_and_wait(hurt).await.id;
    for (node, expected) in [(greeting, 100), (turn.user_node, 100), (hurt, 90), (unhurt, 100)] {
        assert_eq!(hp(&story, node).await, json!(expected));
    }
    for (node, expected) in [(hurt, 90), (unhurt, 100), (hurt, 90)] {
        story.checkout(node).await;
        assert_eq!(hp(&story, story.head().await).await, json!(expected));
    }
    app.mock.queue_reply(Reply::ok(["Again. [HP -10]"]));
    let deeper = story.run_turn("Once more.").await.reply.id;
    assert_eq!(hp(&story, deeper).await, json!(80));
    assert_eq!(hp(&story, unhurt).await, json!(100), "the sibling is untouched");
}

/// S3-24: rules run on the world before the reply. At a reroll the hook sees 100, not 90, and rolls other dice.
#[tokio::test]
async fn reroll_rules_see_state_before_reply() {
    let app = hurt_setup().start().await;
    let story = TestSession::create(&app, &["hurt"]).await;
    app.mock.set_default_reply(Reply::ok(["Hit. [HP -10]"]));
    let turn = story.run_turn("I swing.").await;
    let mut luck = vec![story.var(turn.reply.id, "/hurt/luck").await];
    for _ in 0..3 {
        let again = story.regenerate_and_wait(turn.reply.id).await.id;
        assert_eq!((story.var(again, "/hurt/seen").await, hp(&story, again).await), (json!(100), json!(90)));
        luck.push(story.var(again, "/hurt/luck").await);
    }
    luck.dedup();
    assert!(luck.len() > 1, "{luck:?}");
    let seen: Vec<Value> = story.delta(turn.reply.id).await.rolls;
    assert_eq!((&seen[0]["spec"], &seen[0]["total"]), (&json!("1d1000"), &luck[0]));
}

/// S3-23, `domain.md` 5.5: a stopped reply runs no rule and changes nothing, whatever its text.
#[tokio::test]
async fn cancelled_reply_leaves_state_unchanged() {
    let app = hurt_setup().start().await;
    let story = TestSession::create(&app, &["hurt"]).await;
    let before = story.world(story.head().await).await;
    app.mock.queue_reply(Reply::ok(["The ogre hits. [HP -10]"]).then_stall());
    let started = story.start_turn("I swing.").await;
    story.wait_for_text(started.generations[0], "The ogre hits. [HP -10]").await;
    story.cancel(started.generations[0]).await.unwrap();
    let reply = story.wait_for_reply(started.generations[0]).await;
    assert_eq!(reply.content, "The ogre hits. [HP -10]");
    assert!(story.delta(reply.id).await.is_empty());
    assert_eq!(story.world(reply.id).await, before);
    app.mock.queue_reply(Reply::ok(["[HP -1]"]));
    assert_eq!(hp(&story, story.run_turn("On.").await.reply.id).await, json!(99));
}

/// S1-08, C4: the prompt has the world just before the reply, with the effects of the input.
#[tokio::test]
async fn prompt_shows_state_just_before_reply() {
    let bleeding = "fn on_input(ctx) { ctx.add(\"hp\", -7, \"bleeds\"); }\nfn init(ctx) { ctx.set(\"hp\", 100); }\n\
                    fn on_reply(ctx) { ctx.add(\"hp\", -1); }";
    let app = add_hurt_plugin(TestApp::setup(), bleeding).start().await;
    let story = TestSession::create(&app, &["hurt"]).await;
    for (n, expected) in [93, 85, 77].into_iter().enumerate() {
        let turn = story.run_turn("On.").await;
        assert_eq!(hp(&story, turn.user_node).await, json!(expected));
        let body = &app.mock.requests()[n];
        let status = format!("The state of the world now:\n- hurt/hp: {expected} (hit points)");
        let messages = request_messages(body);
        assert_eq!(messages[messages.len() - 2..], [("system", status.as_str()), ("user", "On.")]);
    }
}

/// S3-20: values are clamped to the schema's bounds and noted, and invalid operations are skipped. The text is
/// unchanged.
#[tokio::test]
async fn schema_clamps_or_skips_invalid_operations() {
    let app = hurt_setup().start().await;
    let story = TestSession::create(&app, &["hurt"]).await;
    app.mock.queue_reply(Reply::ok(["Crushed. [HP -500]"]));
    let reply = story.run_turn("I swing.").await.reply;
    assert_eq!(reply.content, "Crushed. [HP -500]");
    assert_eq!(hp(&story, reply.id).await, json!(0));
    let delta = story.delta(reply.id).await;
    let notes: Vec<(&str, &str)> = delta.notes.iter().map(|one| (one.plugin.as_str(), one.text.as_str())).collect();
    assert_eq!((notes, delta.problems.len()), (vec![("hurt", "hp: -400 is below 0, kept at 0")], 0));
    assert_eq!(delta.operations[1].to_json()["value"], json!(-500), "what was meant is kept");
}

/// `domain.md` 3.9: a manual change of the world is a change node. HEAD follows, siblings stay unchanged, and the model
/// is told.
#[tokio::test]
async fn manual_state_change_adds_change_node() {
    let app = hurt_setup().start().await;
    let story = TestSession::create(&app, &["hurt"]).await;
    let turn = story.run_turn("Hi.").await;
    let change = |node, value: Value| {
        app.turns.sessions.change_world(story.user, story.id, node, vec![parse_operation(value)], None)
    };
    let started =
        change(turn.reply.id, json!({"op": "add", "path": "/hurt/hp", "value": -30, "why": "fell"})).await.unwrap();
    let node = started.node.unwrap();
    assert_eq!(
        (story.head().await, hp(&story, node).await, hp(&story, turn.reply.id).await),
        (node, json!(70), json!(100))
    );
    assert_eq!(story.node(node).await.author, Some(story.user));
    let next = story.run_turn("On.").await;
    assert_eq!(story.node(next.user_node).await.parent, Some(node));
    assert!(app.mock.requests()[1].to_string().contains("hurt/hp: 70"));
    assert_eq!(story.path(next.reply.id).await.len(), 5, "a change is in nobody's list");

    let op = story.session().await.op;
    for refused in [
        json!({"op": "set", "path": "/hurt/hp", "value": "many"}),
        json!({"op": "set", "in": "summary", "path": "", "value": "so far"}),
        json!({"op": "append", "in": "events", "path": "", "value": {"text": "x"}}),
    ] {
        let result = change(turn.reply.id, refused.clone()).await;
        assert!(matches!(result, Err(TurnError::Invalid { field: "operations", .. })), "{refused}: {result:?}");
    }
    let nothing = app.turns.sessions.change_world(story.user, story.id, node, Vec::new(), None).await;
    assert!(matches!(nothing, Err(TurnError::Invalid { field: "operations", .. })));
    let stale = app.turns.sessions.change_world(
        story.user,
        story.id,
        node,
        vec![parse_operation(json!({"op": "add", "path": "/hurt/hp", "value": 1}))],
        Some(clotho_store::ExpectedVersion::Leaf(turn.user_node)),
    );
    assert!(matches!(stale.await, Err(TurnError::Refused(clotho_core::tree::edit::TreeError::HeadMoved { .. }))));
    assert_eq!(story.session().await.op, op);
}

/// S0-17: variables are numbers or any JSON and belong to a node. Earlier nodes have none of them.
#[tokio::test]
async fn variables_set_later_are_absent_before() {
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    let before = story.run_turn("Hi.").await.reply.id;
    let set = |path: &str, value: Value| {
        clotho_core::world::StateOperation::from_json(&json!({"op": "set", "path": path, "value": value})).unwrap()
    };
    let bag = json!({"coins": [1, 2.5], "天": {"open": null}});
    let operations = vec![set("/gold", json!(7)), set("/bag", bag.clone())];
    app.turns.sessions.change_world(story.user, story.id, before, operations, None).await.unwrap();
    let after = story.run_turn("On.").await.reply.id;
    assert_eq!((story.var(after, "/gold").await, story.var(after, "/bag").await), (json!(7), bag));
    assert_eq!((story.var(before, "/gold").await, story.var(before, "/bag").await), (json!(null), json!(null)));
    assert_eq!(story.world(before).await.to_json()["vars"], json!({}));
}

/// S3-31: two users and two branches at the same time do not affect each other.
#[tokio::test]
async fn state_of_parallel_sessions_stays_separate() {
    let app = hurt_setup().start().await;
    let mine = TestSession::create(&app, &["hurt"]).await;
    let bob = app.add_user("Bob").await;
    let card = app.add_character_for(bob, rin_card()).await;
    let new = SessionSpec {
        character_ids: vec![card],
        plugins: Some(vec![enabled_plugin("hurt")]),
        ..SessionSpec::default()
    };
    let theirs = TestSession { app: &app, user: bob, id: app.turns.sessions.begin(bob, new).await.unwrap() };
    let greeting = mine.head().await;
    let (left, right) = (mine.write_message(greeting, "Left.").await, mine.write_message(greeting, "Right.").await);

    let gate = Gate::new();
    app.mock.set_default_reply(Reply::ok(["Ow. [HP -10]", "", " [HP -5]"]).gate(&gate));
    let (a, b, c) = tokio::join!(
        mine.regenerate(left, GenerationSpec::default()),
        mine.regenerate(right, GenerationSpec::default()),
        theirs.send(message_spec(theirs.head().await, "Bob's words."))
    );
    let (a, b, c) = (a.unwrap().generations[0], b.unwrap().generations[0], c.unwrap().generations[0]);
    app.mock.wait_for_requests(3).await;
    gate.open();
    for (story, node) in [(mine, a), (mine, b), (theirs, c)] {
        assert_eq!(story.wait_for_reply(node).await.status, Status::Complete);
        assert_eq!(hp(&story, node).await, json!(85));
        assert_eq!(story.var(node, "/hurt/seen").await, json!(100));
    }
    let bodies = app.mock.requests();
    for body in &bodies {
        let text = body.to_string();
        assert_eq!(["Left.", "Right.", "Bob's words."].iter().filter(|words| text.contains(**words)).count(), 1);
    }
    assert_eq!(hp(&mine, greeting).await, json!(100));
    let foreign = app.turns.replies.send_message(app.owner, theirs.id, message_spec(greeting, "x")).await;
    assert!(matches!(foreign, Err(TurnError::Refused(clotho_core::tree::edit::TreeError::NotFound(_)))));
    let foreign = theirs.send(message_spec(greeting, "x")).await;
    assert!(
        matches!(foreign, Err(TurnError::Refused(clotho_core::tree::edit::TreeError::NotFound(_)))),
        "a parent elsewhere"
    );
}

/// S3-03: every reply has text, world and trace.
#[tokio::test]
async fn every_reply_has_text_state_and_trace() {
    let app = hurt_setup().start().await;
    let story = TestSession::create(&app, &["hurt"]).await;
    for n in 1..=4 {
        app.mock.queue_reply(Reply::ok(["Hit. [HP -3]"]));
        let reply = story.run_turn("On.").await.reply;
        assert_eq!((reply.content.as_str(), hp(&story, reply.id).await), ("Hit. [HP -3]", json!(100 - 3 * n)));
        let trace = story.trace(reply.id).await;
        assert!(trace.is_exact && !trace.messages.is_empty());
        let runs = story.delta(reply.id).await.runs;
        assert_eq!(
            (&runs[0]["plugin"], &runs[0]["hook"], &runs[0]["ops"]),
            (&json!("hurt"), &json!("on_reply"), &json!(3))
        );
    }
}

/// Rank 1 of the later ideas: a computed value exists from where its rules start, follows manual changes, and cannot be
/// written. A value that its schema hides until then is sent to no model.
#[tokio::test]
async fn computed_values_update_on_every_branch() {
    const SCHEMA: &str = r#"{"type": "object", "properties": {
        "love": {"type": "integer", "minimum": 0, "maximum": 100},
        "stage": {"type": "string", "x-computed": [{"when": "love >= 20", "is": "friend"}, {"is": "stranger"}]},
        "secret": {"type": "string", "x-visible": "stage == friend"}}}"#;
    let script = "fn init(ctx) { ctx.set(\"love\", 18); ctx.set(\"secret\", \"she was a spy\"); }\n\
        fn on_reply(ctx) { ctx.set(\"stage\", \"beloved\"); ctx.add(\"love\", 1); }";
    let manifest = manifest("mine", "[state]\nschema = \"s.json\"");
    let files = [("plugin.toml", manifest.as_str()), ("main.rhai", script), ("s.json", SCHEMA)];
    let app = TestApp::setup().with_plugin("mine", &files).start().await;
    let story = TestSession::create(&app, &["mine"]).await;
    let stage = async |node| story.var(node, "/mine/stage").await;
    let one = story.run_turn("One.").await;
    assert_eq!((stage(one.user_node).await, stage(one.reply.id).await), (json!("stranger"), json!("stranger")));
    let refused = story.delta(one.reply.id).await.problems;
    assert_eq!(
        (refused.len(), refused[0].message.as_str()),
        (
            1,
            "stage: it is computed: change the values that it \
        is computed from"
        )
    );
    let two = story.run_turn("Two.").await.reply;
    assert_eq!(stage(two.id).await, json!("friend"));
    let by_hand = parse_operation(json!({"op": "add", "path": "/mine/love", "value": 40}));
    let change =
        app.turns.sessions.change_world(story.user, story.id, one.reply.id, vec![by_hand], None).await.unwrap();
    assert_eq!(stage(change.node.unwrap()).await, json!("friend"));
    story.run_turn("Three.").await;
    let requests = app.mock.requests();
    assert!(!requests[1].to_string().contains("a spy"), "at the second message they are strangers");
    assert!(requests[2].to_string().contains("mine/secret: she was a spy"));
}
