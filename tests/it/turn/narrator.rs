//! Plugins that write replies themselves (`plugin:<id>`).

use clotho_engine::turn::EditSpec;
use clotho_plugin::{DiceSeeds, DiceSpec};

use super::*;

const TELLER: &str = r#"
fn init(ctx) { ctx.set("hp", 20); }
fn narrate(ctx) {
    if ctx.text == "tear" { ctx.add("hp", -5); throw "the book is torn"; }
    if ctx.text == "nothing" { return ""; }
    if ctx.text == "mute" { ctx.add("hp", -5); return ""; }
    ctx.add("hp", -1, "walking tires");
    ["You said: " + ctx.text + ".\n\n", `You rolled ${ctx.roll("1d1000").total}.`]
}
fn on_reply(ctx) { ctx.set("heard", ctx.text.len()); ctx.set("seen", ctx.get("hp")); }
"#;

async fn create_narrated_session(app: &TestApp) -> TestSession<'_> {
    let character = app.add_character(rin_card()).await;
    let new =
        SessionSpec { character_ids: vec![character], model: Some("plugin:teller".into()), ..SessionSpec::default() };
    TestSession::create_with_spec(app, new).await
}

/// A narrator writes the reply in its session, with its text, operations and dice on the node. No model is asked.
#[tokio::test]
async fn narrator_writes_reply_without_model_request() {
    let app = TestApp::setup().with_script("teller", TELLER).start().await;
    let story = create_narrated_session(&app).await;
    assert_eq!(story.active_plugin_ids(story.head().await).await, ["teller"]);
    let turn = story.run_turn("go north").await;
    let reply = &turn.reply;
    assert!(reply.content.starts_with("You said: go north.\n\nYou rolled "), "{}", reply.content);
    assert_eq!((reply.status, reply.metadata.to_json()["model"].as_str()), (Status::Complete, Some("plugin:teller")));
    assert_eq!((&reply.metadata.to_json()["finishReason"], story.head().await), (&json!("stop"), reply.id));
    assert_eq!(story.var(reply.id, "/teller/hp").await, json!(19));
    assert_eq!(story.var(reply.id, "/teller/seen").await, json!(19), "on_reply comes after narrate");
    assert_eq!(story.var(reply.id, "/teller/heard").await, json!(reply.content.chars().count()));
    assert!(app.mock.requests().is_empty());
    let hooks: Vec<Value> = story.delta(reply.id).await.runs.iter().map(|run| run["hook"].clone()).collect();
    assert_eq!(hooks, ["narrate", "on_reply"]);
    assert_eq!(story.trace(reply.id).await.head.to_json()["model"], "plugin:teller");
}

/// `domain.md` 3.8: dice are recorded, another reply rolls others, and the seeds reproduce each roll.
#[tokio::test]
async fn narrator_dice_are_recorded_and_reproducible_by_seed() {
    let app = TestApp::setup().with_script("teller", TELLER).start().await;
    let story = create_narrated_session(&app).await;
    let first = story.run_turn("roll").await.reply;
    let mut totals = Vec::new();
    for node in [first.clone(), story.regenerate_and_wait(first.id).await, story.regenerate_and_wait(first.id).await] {
        let roll = &story.delta(node.id).await.rolls[0];
        let total = roll["total"].as_i64().unwrap();
        assert!(node.content.ends_with(&format!("You rolled {total}.")));
        let seeds = DiceSeeds { session: story.session().await.seed, node: node.dice_seed };
        let again = DiceSpec::parse("1d1000").unwrap().roll(&mut seeds.generator("teller", "narrate", 0));
        assert_eq!((again.total, &roll["hook"], &roll["n"]), (total, &json!("narrate"), &json!(0)));
        assert_eq!(story.var(node.id, "/teller/hp").await, json!(19));
        totals.push(total);
    }
    totals.dedup();
    assert!(totals.len() > 1, "{totals:?}");
}

/// A narrator that throws or returns no text gives an error node with a message, no effects and an unmoved HEAD. The
/// story can go on.
#[tokio::test]
async fn narrator_failure_gives_error_node_without_effects() {
    let app = TestApp::setup().with_script("teller", TELLER).start().await;
    let story = create_narrated_session(&app).await;
    for (text, code, words) in
        [("tear", "plugin_failed", "the book is torn"), ("nothing", "empty_reply", "an empty reply")]
    {
        let turn = story.run_turn(text).await;
        let error = &turn.reply.metadata.to_json()["error"].clone();
        assert_eq!((turn.reply.status, &error["code"]), (Status::Error, &json!(code)));
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with("the plugin \"teller\" ") && message.contains(words), "{message}");
        assert!(!error["hint"].as_str().unwrap().is_empty());
        assert_eq!(story.head().await, turn.user_node);
        assert_eq!(story.var(turn.reply.id, "/teller/hp").await, json!(20));
    }
    assert_eq!(story.run_turn("go on").await.reply.status, Status::Complete);
}

/// A narrator that is missing or not enabled in the session gives an error node that says so.
#[tokio::test]
async fn narrator_missing_gives_error_node() {
    let app = TestApp::setup().with_script("teller", TELLER).start().await;
    let absent = TestSession::create(&app, &[]).await;
    let generate = GenerationSpec { model: Some("plugin:teller".into()), ..GenerationSpec::default() };
    let new = MessageSpec { generate: Some(generate), ..message_spec(absent.head().await, "Hi.") };
    let started = absent.send(new).await.unwrap();
    let reply = absent.wait_for_reply(started.generations[0]).await;
    let said = |reply: &Node| reply.metadata.to_json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(said(&reply).contains("\"teller\" is not active in this session"), "{}", said(&reply));

    let story = create_narrated_session(&app).await;
    story.run_turn("go north").await;
    let (user, id, head) = (story.user, story.id, story.head().await);
    let app = app.stop().await.without_plugin("teller").start().await;
    let story = TestSession { app: &app, user, id };
    let turn = story.run_turn_at(head, "go south").await;
    assert_eq!((turn.reply.status, story.head().await), (Status::Error, turn.user_node));
    assert_eq!(turn.reply.metadata.to_json()["error"]["code"], "provider_misconfigured");
    let head = story.trace(turn.reply.id).await.head.to_json();
    assert_eq!((&head["model"], &head["error"]["code"]), (&json!("plugin:teller"), &json!("provider_misconfigured")));
    assert!(said(&turn.reply).contains("there is no plugin \"teller\" that writes replies"), "{}", said(&turn.reply));
    story.set_setting("model", json!("mock/mock")).await;
    assert_eq!(story.regenerate_and_wait(turn.reply.id).await.status, Status::Complete);
}

/// A narrator as the default model serves every session that names no other model.
#[tokio::test]
async fn narrator_as_default_model_serves_all_sessions() {
    let app = TestApp::setup().with_script("teller", TELLER).set("generation.model", "plugin:teller").start().await;
    let story = TestSession::create(&app, &[]).await;
    assert_eq!(story.run_turn("go").await.reply.status, Status::Complete);
    story.set_plugins(&[]).await.unwrap();
    assert_eq!(story.run_turn("on").await.reply.status, Status::Complete);
}

/// An edited reply keeps what its narrator did, and the rules read the new text. A second edit does the same.
#[tokio::test]
async fn narrator_reply_edit_keeps_its_operations() {
    let note = "ctx.note(\"Tired.\"); ctx.add(\"hp\", -1,";
    let script = TELLER
        .replace("ctx.add(\"hp\", -1,", note)
        .replace("fn on_reply(ctx) {", "fn on_reply(ctx) { ctx.note(\"Heard.\");");
    let app = TestApp::setup().with_script("teller", &script).start().await;
    let story = create_narrated_session(&app).await;
    let told = story.run_turn("go north").await.reply;
    let old = story.delta(told.id).await;
    let mut edited = told.id;
    for words in ["You went north.", "You walked north."] {
        edited = story.edit(edited, edit_spec(words)).await.unwrap().node.unwrap();
        let new = story.delta(edited).await;
        assert_eq!(story.var(edited, "/teller/hp").await, json!(19), "once, not once more");
        assert_eq!(story.var(edited, "/teller/heard").await, json!(words.len()));
        assert_eq!(story.var(edited, "/teller/seen").await, json!(19), "on_reply sees what happened");
        assert_eq!((&new.operations[0], &new.rolls, &new.notes), (&old.operations[0], &old.rolls, &old.notes));
        let hooks: Vec<&Value> = new.runs.iter().map(|run| &run["hook"]).collect();
        assert_eq!(hooks, ["narrate", "on_reply"]);
    }
    assert_eq!(story.var(told.id, "/teller/heard").await, json!(told.content.chars().count()), "the old one as it was");

    for failing in ["tear", "mute"] {
        let torn = story.run_turn_at(edited, failing).await.reply;
        let mended = story.edit(torn.id, edit_spec("It was only a page.")).await.unwrap().node.unwrap();
        assert_eq!(story.var(mended, "/teller/hp").await, json!(19), "what failed did nothing");
        let hooks: Vec<Value> = story.delta(mended).await.runs.iter().map(|run| run["hook"].clone()).collect();
        assert_eq!(hooks, ["on_reply"]);
    }
}

/// The bundled adventure: correcting a typo in a reply changes no hit points, and the following messages stay.
#[tokio::test]
async fn adventure_typo_edit_keeps_hit_points() {
    let app = TestApp::start().await;
    let character = app.add_character(rin_card()).await;
    let model = Some("plugin:lantern-keep".to_owned());
    let story = TestSession::create_with_spec(
        &app,
        SessionSpec { character_ids: vec![character], model, ..SessionSpec::default() },
    )
    .await;
    let mut hurt = story.run_turn("jump!").await.reply;
    assert!(story.var(hurt.id, "/keep/hp").await.is_number());
    let mut tries = 0;
    while story.var(hurt.id, "/keep/hp").await == json!(20) {
        tries += 1;
        assert!(tries < 50, "the water never hurts");
        hurt = story.regenerate_and_wait(hurt.id).await;
    }
    let hp = story.var(hurt.id, "/keep/hp").await;
    let next = story.run_turn("look").await.reply;
    let typo = EditSpec { move_children: true, ..edit_spec(&format!("{} (mended)", hurt.content)) };
    let mended = story.edit(hurt.id, typo).await.unwrap().node.unwrap();
    let (old, new) = (story.delta(hurt.id).await, story.delta(mended).await);
    assert_eq!((&new.operations, &new.rolls), (&old.operations, &old.rolls));
    assert!(!new.operations.is_empty() && !new.rolls.is_empty());
    assert_eq!(story.world(mended).await, story.world(hurt.id).await);
    assert_eq!((story.head().await, story.var(next.id, "/keep/hp").await), (next.id, hp));
    assert!(story.path_with_filter(next.id, clotho_store::PathFilter::All).await.iter().any(|node| node.id == mended));
}

/// Each hook gets the role of its text. The plugin test runner uses the same roles (`plugins::test_runner`).
#[tokio::test]
async fn hooks_receive_role_of_text() {
    let hooks = ["init", "on_input", "narrate", "on_reply"];
    let mut script = "fn quick_replies(ctx) { [#{ label: ctx.role }] }\n".to_owned();
    for hook in hooks {
        let returns = if hook == "narrate" { "\"Said.\"" } else { "()" };
        script.push_str(&format!("fn {hook}(ctx) {{ ctx.set(\"{hook}\", ctx.role); {returns} }}\n"));
    }
    let app = TestApp::setup().with_script("teller", &script).start().await;
    let story = create_narrated_session(&app).await;
    let reply = story.run_turn("Hi.").await.reply;
    let mut told = Vec::new();
    for hook in hooks {
        told.push(story.var(reply.id, &format!("/teller/{hook}")).await);
    }
    assert_eq!(told, ["system", "user", "user", "assistant"]);
    let free =
        clotho_core::world::StateOperation::from_json(&json!({"op": "set", "path": "/free", "value": 1})).unwrap();
    let change =
        app.turns.sessions.change_world(story.user, story.id, reply.parent.unwrap(), vec![free], None).await.unwrap();
    let again = story.regenerate_and_wait(change.node.unwrap()).await;
    assert_eq!(story.var(again.id, "/teller/narrate").await, "user", "a change node says nothing");
    let offered = story.quick_replies(reply.id).await;
    assert_eq!(offered.replies[0].label, "assistant");
}

/// A rule that sees every message gets all of it: a message over its limit is refused.
#[tokio::test]
async fn message_too_long_for_rule_is_refused() {
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &["combat"]).await;
    let (head, op) = (story.head().await, story.session().await.op);
    match story.send(message_spec(head, &"a".repeat((64 << 10) + 1))).await {
        Err(TurnError::TooLong { plugin, most }) => assert_eq!((plugin.as_str(), most), ("combat", 64 << 10)),
        other => panic!("{other:?}"),
    }
    assert_eq!(story.session().await.op, op);
    assert_eq!(story.run_turn(&"a".repeat(64 << 10)).await.reply.status, Status::Complete);
}

/// A message over the limit of a narrator is refused before anything is written, and is no limit violation. A message
/// at the limit is answered, even if lower case makes it longer.
#[tokio::test]
async fn message_too_long_for_narrator_is_refused() {
    let app = TestApp::start().await;
    let character = app.add_character(rin_card()).await;
    let model = Some("plugin:lantern-keep".to_owned());
    let story = TestSession::create_with_spec(
        &app,
        SessionSpec { character_ids: vec![character], model, ..SessionSpec::default() },
    )
    .await;
    let (head, op) = (story.head().await, story.session().await.op);
    let too_long = "a".repeat((32 << 10) + 1);
    for _ in 0..6 {
        match story.send(message_spec(head, &too_long)).await {
            Err(TurnError::TooLong { plugin, most }) => assert_eq!((plugin.as_str(), most), ("lantern-keep", 32 << 10)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((story.session().await.op, app.live.count(story.user)), (op, (0, 0)));
    // This letter is longer in lower case.
    let turn = story.run_turn(&"İ".repeat(16 << 10)).await;
    assert_eq!(turn.reply.status, Status::Complete, "{:?}", turn.reply.metadata);
    assert!(matches!(story.edit(turn.user_node, edit_spec(&too_long)).await, Err(TurnError::TooLong { .. })));
    let kept = story.write_message(story.head().await, &too_long).await;
    assert!(matches!(story.regenerate(kept, GenerationSpec::default()).await, Err(TurnError::TooLong { .. })));
    let generate = Some(GenerationSpec { model: Some("mock/mock".into()), ..GenerationSpec::default() });
    let started = story.send(MessageSpec { generate, ..message_spec(kept, &too_long) }).await.unwrap();
    assert_eq!(story.wait_for_reply(started.generations[0]).await.status, Status::Complete, "a model reads it");
}
