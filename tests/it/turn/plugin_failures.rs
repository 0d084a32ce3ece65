//! Plugins that fail: their operations are dropped and recorded, the text stays, and other plugins go on.

use super::*;

/// Scripts that fail after a first operation, with the error kind.
const FAILING: [(&str, &str); 6] = [
    ("throw \"on purpose\";", "plugin_runtime"),
    ("loop { ctx.get(\"x\", 0); }", "plugin_limit"),
    ("let a = []; loop { a.push(\"0123456789\".to_upper() + \"x\"); }", "plugin_limit"),
    ("let s = \"0123456789abcdef\"; loop { s += s; }", "plugin_limit"),
    ("ctx.get(\"nobody\")", "plugin_runtime"),
    ("ctx.set(\"/elsewhere/hp\", 1);", "plugin_permission"),
];

/// Bad input, "a plugin that throws, loops, eats memory": its operations are dropped and recorded, and the reply is
/// complete. The plugins before and after it run and do not see the dropped operations.
#[tokio::test]
async fn plugin_failure_drops_only_its_own_operations() {
    let count = "fn on_reply(ctx) { ctx.add(\"n\", 1); ctx.note(\"counted\"); }";
    let setup =
        FAILING.iter().enumerate().fold(TestApp::setup().with_script("a-first", count), |setup, (i, (body, _))| {
            setup.with_script(
                &format!("m{i}"),
                &format!("fn on_reply(ctx) {{ ctx.set(\"half\", 1); ctx.roll(\"1d6\"); {body} }}"),
            )
        });
    let app = setup.with_script("z-last", count).start().await;
    for (i, (body, code)) in FAILING.iter().enumerate() {
        let story = TestSession::create(&app, &["a-first", &format!("m{i}"), "z-last"]).await;
        app.mock.queue_reply(Reply::ok(["The prose."]));
        let reply = story.run_turn("Hi.").await.reply;
        assert_eq!(
            (reply.content.as_str(), reply.status, story.head().await),
            ("The prose.", Status::Complete, reply.id)
        );
        for plugin in ["a-first", "z-last"] {
            assert_eq!(story.var(reply.id, &format!("/{plugin}/n")).await, json!(1), "{body}");
        }
        assert_eq!(story.var(reply.id, &format!("/m{i}/half")).await, json!(null), "{body}");
        let delta = story.delta(reply.id).await;
        let problems: Vec<(&str, Option<&str>)> =
            delta.problems.iter().map(|one| (one.code.as_str(), one.plugin.as_deref())).collect();
        assert_eq!(problems, [(*code, Some(format!("m{i}").as_str()))], "{body}");
        let run = &delta.runs[1];
        assert_eq!(
            (&run["ops"], &run["error"]["opsDropped"], &run["error"]["hook"]),
            (&json!(0), &json!(1), &json!("on_reply"))
        );
        assert!(run["error"]["file"] == "main.rhai" && !run["error"]["message"].as_str().unwrap().is_empty(), "{run}");
        assert_eq!(delta.rolls.len(), 1, "what was rolled was rolled");
        assert_eq!(delta.notes.len(), 2);
    }
}

/// "A plugin that answers the wrong type": the result is ignored and recorded on the user's node.
#[tokio::test]
async fn plugin_result_of_wrong_type_is_recorded() {
    let setup = TestApp::setup()
        .with_script("wrong", "fn on_input(ctx) { ctx.set(\"half\", 1); 42 }\nfn init(ctx) { throw \"no\"; }");
    let app = setup.with_script("ungranted", "fn on_input(ctx) { \"rewritten\" }").start().await;
    let story = TestSession::create(&app, &["wrong"]).await;
    let root = story.session().await.root;
    assert_eq!(story.delta(root).await.problems[0].code, "plugin_runtime", "init is no exception");
    let turn = story.run_turn("Hi.").await;
    let user = story.node(turn.user_node).await;
    assert_eq!((user.content.as_str(), turn.reply.status), ("Hi.", Status::Complete));
    let delta = story.delta(turn.user_node).await;
    assert_eq!((delta.problems[0].code.as_str(), delta.operations.len()), ("plugin_runtime", 0));
    assert!(delta.problems[0].message.contains("on_input must return"), "{}", delta.problems[0].message);
}

/// A plugin that repeatedly exceeds its limits is turned off in that session until it is set again.
#[tokio::test]
async fn plugin_after_five_limit_violations_is_off() {
    let script = "fn on_reply(ctx) { if ctx.text == \"fine\" { ctx.add(\"n\", 1); } else { loop {} } }";
    let app = TestApp::setup().with_script("endless", script).start().await;
    let (story, other) = (TestSession::create(&app, &["endless"]).await, TestSession::create(&app, &["endless"]).await);
    let problem = async |node: NodeId| story.delta(node).await.problems.pop().map(|one| one.code);
    let first = story.run_turn("Hi.").await.reply;
    assert_eq!(problem(first.id).await.as_deref(), Some("plugin_limit"));
    for _ in 0..4 {
        let again = story.regenerate_and_wait(first.id).await;
        assert_eq!(problem(again.id).await.as_deref(), Some("plugin_limit"));
    }
    app.mock.queue_reply(Reply::ok(["fine"]));
    let out = story.regenerate_and_wait(first.id).await;
    assert_eq!(problem(out.id).await.as_deref(), Some("plugin_off"));
    assert_eq!(story.var(out.id, "/endless/n").await, json!(null));
    app.mock.queue_reply(Reply::ok(["fine"]));
    let elsewhere = other.run_turn("Hi.").await.reply;
    assert_eq!(other.var(elsewhere.id, "/endless/n").await, json!(1), "only in that session");
    story.set_plugins(&["endless"]).await.unwrap();
    app.mock.queue_reply(Reply::ok(["fine"]));
    let forgiven = story.regenerate_and_wait(first.id).await;
    assert_eq!(story.var(forgiven.id, "/endless/n").await, json!(1));
}

/// A turned-off plugin stays off after a restart, because the violations are on the nodes. A plugin that was set again
/// stays on. The log reports the turning off.
#[tokio::test]
async fn plugin_limit_violations_survive_restart() {
    log_capture::start_capture();
    let script = "fn on_reply(ctx) { if ctx.text == \"fine\" { ctx.add(\"n\", 1); } else { loop {} } }";
    let app = TestApp::setup().with_script("endless", script).start().await;
    let (user, id) = (app.owner, TestSession::create(&app, &["endless"]).await.id);
    let story = TestSession { app: &app, user, id };
    let first = story.run_turn("Hi.").await.reply.id;
    for _ in 0..4 {
        story.regenerate_and_wait(first).await;
    }
    let told = log_capture::lines_with(&["a plugin was turned off", &id.to_string(), "endless", "plugin_off"]);
    assert_eq!(told.len(), 1, "{told:?}");

    let app = app.restart().await;
    let story = TestSession { app: &app, user, id };
    app.mock.queue_reply(Reply::ok(["fine"]));
    let out = story.regenerate_and_wait(first).await;
    assert_eq!(story.delta(out.id).await.problems[0].code, "plugin_off");
    story.set_plugins(&["endless"]).await.unwrap();
    app.mock.queue_reply(Reply::ok(["fine"]));
    story.regenerate_and_wait(first).await;

    let app = app.restart().await;
    let story = TestSession { app: &app, user, id };
    app.mock.queue_reply(Reply::ok(["fine"]));
    let forgiven = story.regenerate_and_wait(first).await;
    assert_eq!(story.var(forgiven.id, "/endless/n").await, json!(1));
}

/// The log reports which plugin failed where, without any chat text.
#[tokio::test]
async fn plugin_failure_is_logged_without_chat_text() {
    log_capture::start_capture();
    let script = "fn on_input(ctx) { if ctx.text.contains(\"SECRET\") { throw ctx.text; } }\nfn on_reply(ctx) { throw ctx.text; }";
    let app = TestApp::setup().with_script("chatterbox", script).start().await;
    let story = TestSession::create(&app, &["chatterbox"]).await;
    app.mock.queue_reply(Reply::ok(["A SECRET too."]));
    let turn = story.run_turn("My SECRET.").await;
    let session = story.id.to_string();
    for (node, hook) in [(turn.user_node, "on_input"), (turn.reply.id, "on_reply")] {
        let node = node.to_string();
        let told = log_capture::lines_with(&[
            "a plugin failed",
            &session,
            &node,
            "chatterbox",
            hook,
            "plugin_runtime",
            "main.rhai",
        ]);
        assert_eq!(told.len(), 1, "{hook}: {told:?}");
        assert!(told[0].contains("WARN"), "{told:?}");
    }
    assert_eq!(log_capture::lines_with(&["SECRET"]), [""; 0]);
}
