//! `on_input` and `quick_replies`.

use clotho_engine::turn::SuggestedReply;

use super::*;

const COMMANDS: &str = r#"
fn on_input(ctx) {
    if ctx.text == "refuse" { ctx.fail("Not now."); }
    if ctx.text == "stop" { return #{ stop: true }; }
    if ctx.text == "ask and stop" { return #{ reply: "Nobody else is asked.", stop: true }; }
    if ctx.text == "ask" { return #{ reply: "I answer myself. [HP -10]" }; }
    if ctx.text == "roll" { return `*rolls ${ctx.roll("1d1000").total}*`; }
    if ctx.text.contains("shout") { ctx.add("shouts", 1); return ctx.text.to_upper(); }
}
fn quick_replies(ctx) {
    let out = [#{ label: "Shout", send: "shout!" }, #{ label: "Hidden", "if": false }];
    if ctx.text.contains("ogre") { out.push(#{ label: "Run" }); }
    out.push(#{ label: `${ctx.recent(50).len()} before, ${ctx.before("shouts", 0)} then, ${ctx.get("shouts", 0)} now` });
    out
}
"#;

fn commands_setup() -> Setup {
    TestApp::setup().with_script("commands", COMMANDS)
}

/// A rewritten input is sent and stored, with the typed text beside it. The plugin's operations are on the user's node.
#[tokio::test]
async fn on_input_rewrite_keeps_original_text() {
    let app = commands_setup().start().await;
    let story = TestSession::create(&app, &["commands"]).await;
    let turn = story.run_turn("shout hello").await;
    let user = story.node(turn.user_node).await;
    assert_eq!(
        (user.content.as_str(), &user.metadata.to_json()["originalContent"]),
        ("SHOUT HELLO", &json!("shout hello"))
    );
    assert_eq!(request_messages(&app.mock.requests()[0]).last(), Some(&("user", "SHOUT HELLO")));
    assert_eq!(story.var(turn.user_node, "/commands/shouts").await, json!(1));
    assert!(story.node(story.run_turn("quiet").await.user_node).await.metadata.original_content.is_none());
}

/// If a plugin stops, the message is written and no reply is generated. If it refuses, nothing is written.
#[tokio::test]
async fn on_input_stop_writes_message_refuse_writes_nothing() {
    let app = commands_setup().start().await;
    let story = TestSession::create(&app, &["commands"]).await;
    let started = story.start_turn("stop").await;
    assert!(started.generations.is_empty());
    assert_eq!(story.head().await, started.node.unwrap());
    let op = story.session().await.op;
    match story.send(message_spec(story.head().await, "refuse")).await {
        Err(TurnError::InputRefused { plugin, message }) => {
            assert_eq!((plugin.as_str(), message.as_str()), ("commands", "Not now."));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!((story.session().await.op, app.mock.requests().len()), (op, 0));
    assert_eq!(app.live.count(story.user), (0, 0));
    let edited = story.edit(started.node.unwrap(), edit_spec("refuse")).await;
    assert!(matches!(edited, Err(TurnError::InputRefused { .. })));
}

/// If a plugin answers, its text is the reply, once. No model is asked, and the rules read it like any other reply.
#[tokio::test]
async fn on_input_answer_replaces_model_reply() {
    let app = hurt_setup().with_script("commands", COMMANDS).start().await;
    let story = TestSession::create(&app, &["commands", "hurt"]).await;
    let several = GenerationSpec { n: 3, ..GenerationSpec::default() };
    let new = MessageSpec { generate: Some(several), ..message_spec(story.head().await, "ask") };
    let started = story.send(new).await.unwrap();
    assert_eq!(started.generations.len(), 1);
    let reply = story.wait_for_reply(started.generations[0]).await;
    assert_eq!((reply.content.as_str(), reply.status), ("I answer myself. [HP -10]", Status::Complete));
    assert_eq!(reply.metadata.to_json()["model"], "plugin:commands");
    assert_eq!(story.trace(reply.id).await.head.to_json()["model"], "plugin:commands");
    assert_eq!((story.head().await, story.var(reply.id, "/hurt/hp").await), (reply.id, json!(90)));
    assert!(app.mock.requests().is_empty());
    let again = story.regenerate_and_wait(reply.id).await;
    assert_eq!(
        (app.mock.requests().len(), &again.metadata.to_json()["model"]),
        (1, &json!("mock/mock")),
        "a reroll asks the model"
    );
}

/// If a plugin answers and stops, no model is asked and its answer is written.
#[tokio::test]
async fn on_input_answer_with_stop_writes_answer() {
    let app = commands_setup().start().await;
    let story = TestSession::create(&app, &["commands"]).await;
    let turn = story.run_turn("ask and stop").await;
    assert_eq!((turn.reply.content.as_str(), turn.reply.status), ("Nobody else is asked.", Status::Complete));
    assert_eq!(
        (&turn.reply.metadata.to_json()["model"], story.head().await),
        (&json!("plugin:commands"), turn.reply.id)
    );
    let edited = story.edit(turn.user_node, edit_spec("ask and stop")).await.unwrap();
    assert_eq!(story.wait_for_reply(edited.generations[0]).await.content, "Nobody else is asked.");
    let unasked = MessageSpec { generate: None, ..message_spec(story.head().await, "ask and stop") };
    assert!(story.send(unasked).await.unwrap().generations.is_empty());
    assert!(app.mock.requests().is_empty());
}

/// An edited message gives input hooks the same dice as the version before.
#[tokio::test]
async fn on_input_after_edit_rolls_same_dice() {
    let app = commands_setup().start().await;
    let story = TestSession::create(&app, &["commands"]).await;
    let rolled = story.node(story.run_turn("roll").await.user_node).await;
    assert!(rolled.content.starts_with("*rolls "));
    let edited = story.edit(rolled.id, edit_spec("roll")).await.unwrap().node.unwrap();
    assert_eq!(story.node(edited).await.content, rolled.content);
    let other = story.node(story.run_turn("roll").await.user_node).await;
    assert_ne!(other.content, rolled.content, "another message has others");
}

/// A command of two plugins goes to the one that runs first. The other plugin and the user who sets the plugins are
/// warned.
#[tokio::test]
async fn command_conflict_goes_to_first_plugin_with_warning() {
    let manifest = |id: &str, word: &str| {
        format!(
            "id = \"{id}\"\ntitle = \"t\"\nversion = \"1.0.0\"\napi = \"1\"\n\
             [[command]]\nname = \"{word}\"\naliases = [\"throw\"]\nhelp = \"Rolls.\"\n"
        )
    };
    let script = "fn on_input(ctx) { if ctx.command != () { ctx.add(\"n\", 1); } }";
    let (first, second) = (manifest("aa", "roll"), manifest("bb", "Throw").replace("aliases = [\"throw\"]\n", ""));
    let setup = TestApp::setup()
        .with_plugin("aa", &[("plugin.toml", &first), ("main.rhai", script)])
        .with_plugin("bb", &[("plugin.toml", &second), ("main.rhai", script)]);
    let app = setup.start().await;
    let story = TestSession::create(&app, &[]).await;
    let set = app
        .turns
        .sessions
        .set_plugins(story.user, story.id, vec![enabled_plugin("bb"), enabled_plugin("aa")])
        .await
        .unwrap();
    let told: Vec<String> = set.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["/Throw: aa runs it, bb does not receive it"]);
    let turn = story.run_turn("/THROW 2d6").await;
    let n = async |id: &str| story.var(turn.user_node, &format!("/{id}/n")).await;
    assert_eq!((n("aa").await, n("bb").await), (json!(1), json!(null)));
    let delta = story.delta(turn.user_node).await;
    let warnings: Vec<&Value> = delta.runs.iter().map(|run| &run["warnings"]).collect();
    assert_eq!(warnings[0], &json!([]));
    assert!(warnings[1][0].as_str().unwrap().contains("goes to \"aa\""), "{warnings:?}");
    let alone = app.turns.sessions.set_plugins(story.user, story.id, vec![enabled_plugin("bb")]).await.unwrap();
    assert!(alone.warnings.is_empty());
    assert_eq!(
        story.var(story.run_turn("/throw").await.user_node, "/bb/n").await,
        json!(1),
        "alone it has its command"
    );
}

/// Plugins run in the order of `after` and then of their ids, independent of the settings. Each sees the text and world
/// that the earlier ones changed.
#[tokio::test]
async fn on_input_runs_plugins_in_after_order() {
    let script = |letter: &str| {
        format!(
            "fn on_input(ctx) {{ ctx.append(\"/log\", \"{letter}\"); return ctx.text + \"{letter}\"; }}\n\
             fn on_reply(ctx) {{ ctx.append(\"/log\", `{letter}${{ctx.get(\"/log\").len()}}`); }}"
        )
    };
    let grant = |after: &str| {
        format!(
            "id = \"ID\"\ntitle = \"t\"\nversion = \"1.0.0\"\napi = \"1\"\nafter = [{after}]\n[permissions]\nrequest = [\"state.write:log\", \"input.rewrite\"]\n"
        )
    };
    let setup = [("aa", "\"cc\"", "A"), ("bb", "", "B"), ("cc", "", "C")].into_iter().fold(
        TestApp::setup(),
        |setup, (id, after, letter)| {
            let (manifest, script) = (grant(after).replace("ID", id), script(letter));
            setup.with_plugin(id, &[("plugin.toml", &manifest), ("main.rhai", &script)])
        },
    );
    let app = setup.start().await;
    let story = TestSession::create(&app, &["cc", "aa", "bb"]).await;
    let turn = story.run_turn("Order: ").await;
    assert_eq!(story.node(turn.user_node).await.content, "Order: BCA");
    assert_eq!(story.var(turn.reply.id, "/log").await, json!(["B", "C", "A", "B3", "C4", "A5"]));
    let by: Vec<String> = story.delta(turn.reply.id).await.operations.iter().map(|one| one.by.clone()).collect();
    assert_eq!(by, ["bb", "cc", "aa"]);
}

/// Quick replies are those of the viewed node: its text, the previous message, its world and its parent's world.
#[tokio::test]
async fn quick_replies_depend_on_viewed_node() {
    let app = commands_setup().start().await;
    let story = TestSession::create(&app, &["commands"]).await;
    let greeting = story.head().await;
    app.mock.queue_reply(Reply::ok(["An ogre!"]));
    let turn = story.run_turn("shout").await;
    let log = story.log().await.len();
    for (node, expected) in [
        (greeting, ["Shout=shout!", "0 before, 0 then, 0 now=0 before, 0 then, 0 now"].as_slice()),
        (turn.user_node, &["Shout=shout!", "1 before, 0 then, 1 now=1 before, 0 then, 1 now"]),
        (turn.reply.id, &["Shout=shout!", "Run=Run", "2 before, 1 then, 1 now=2 before, 1 then, 1 now"]),
    ] {
        let offered = story.quick_replies(node).await.replies;
        assert!(offered.iter().all(|one| one.plugin == "commands"));
        let offered: Vec<String> =
            offered.iter().map(|SuggestedReply { label, send, .. }| format!("{label}={send}")).collect();
        assert_eq!(offered, expected);
    }
    assert_eq!(story.log().await.len(), log, "offering writes nothing");
}

/// A plugin that fails in `quick_replies` loses only its own buttons, and the failure is reported beside the others.
#[tokio::test]
async fn quick_replies_failure_is_reported_beside_others() {
    log_capture::start_capture();
    let app = commands_setup().with_script("sulky", "fn quick_replies(ctx) { throw \"not today\"; }").start().await;
    let story = TestSession::create(&app, &["commands", "sulky"]).await;
    story.quick_replies(story.head().await).await;
    let offered = story.quick_replies(story.head().await).await;
    assert_eq!(offered.replies[0].label, "Shout");
    let problems: Vec<_> =
        offered.problems.iter().map(|one| (one.code.as_str(), one.message.as_str(), one.plugin.as_deref())).collect();
    assert_eq!(problems, [("plugin_runtime", "not today", Some("sulky"))]);
    let told = log_capture::lines_with(&["a plugin failed", &story.id.to_string(), "sulky", "quick_replies"]);
    assert_eq!(told.len(), 1, "once, however often one looks: {told:?}");
}
