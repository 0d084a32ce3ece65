//! Values whose shape changes with a plugin version (`domain.md` 3.2): the branch goes on with the new shape, and
//! earlier nodes keep the old one.

use clotho_core::oplog::OperationKind;
use clotho_core::tree::Kind;

use super::*;

const OLD: &str = "fn init(ctx) { ctx.set(\"gold\", 10); }\nfn on_reply(ctx) { ctx.add(\"gold\", 1); }";
const OLD_SCHEMA: &str =
    r#"{"type": "object", "additionalProperties": false, "properties": {"gold": {"type": "integer"}}}"#;
const NEW: &str = r#"
fn migrate(ctx, from) {
    if from < 2 { ctx.move("gold", "coins/gold", `from version ${from}`); }
}
fn on_reply(ctx) { ctx.add("coins/gold", 100); }
"#;
const NEW_SCHEMA: &str = r#"{"type": "object", "additionalProperties": false, "properties": {
    "coins": {"type": "object", "additionalProperties": {"type": "integer"}}}}"#;

fn add_purse_plugin(setup: Setup, version: u32, script: &str, schema: &str) -> Setup {
    let manifest = manifest("purse", &format!("[state]\nschema = \"state.schema.json\"\nversion = {version}"));
    setup.with_plugin(
        "purse",
        &[("plugin.toml", manifest.as_str()), ("main.rhai", script), ("state.schema.json", schema)],
    )
}

async fn purse_values(story: &TestSession<'_>, node: NodeId) -> Value {
    story.var(node, "/purse").await
}

/// `domain.md` 3.2, S3-20: one node migrates the values where a branch first uses the new version. Earlier nodes keep
/// their values, other branches migrate separately, and undo reverts it.
#[tokio::test]
async fn migration_runs_once_per_branch() {
    let app = add_purse_plugin(TestApp::setup(), 1, OLD, OLD_SCHEMA).start().await;
    let story = TestSession::create(&app, &["purse"]).await;
    let (user, id) = (story.user, story.id);
    let greeting = story.head().await;
    let old = story.run_turn("Old.").await.reply;
    let branch = story.run_turn_at(greeting, "A branch.").await.reply;
    story.run_turn_at(branch.id, "Longer.").await;
    story.checkout(old.id).await;

    let app = add_purse_plugin(app.stop().await, 2, NEW, NEW_SCHEMA).start().await;
    let story = TestSession { app: &app, user, id };
    let new = story.run_turn("New.").await;
    let record = story.node(story.node(new.user_node).await.parent.unwrap()).await;
    assert_eq!((record.kind, record.parent), (Kind::Change, Some(old.id)));
    let delta = story.delta(record.id).await;
    let told: Vec<Value> = delta.operations.iter().map(|operation| operation.to_json()).collect();
    let moved = json!({"op": "move", "path": "/purse/coins/gold", "from": "/purse/gold", "why": "from version 1", "by": "purse"});
    assert_eq!((told, delta.problems), (vec![moved], vec![]));
    assert_eq!(purse_values(&story, record.id).await, json!({"coins": {"gold": 11}}));
    assert_eq!(purse_values(&story, new.reply.id).await, json!({"coins": {"gold": 111}}));
    assert_eq!(purse_values(&story, old.id).await, json!({"gold": 11}), "the past keeps its shape");
    let next = story.run_turn("Next.").await;
    assert_eq!(story.node(next.user_node).await.parent, Some(new.reply.id), "once");

    let other = story.run_turn_at(branch.id, "The branch again.").await.reply;
    assert_eq!(purse_values(&story, other.id).await, json!({"coins": {"gold": 111}}), "each branch by itself");
    assert_eq!(
        story.log().await.iter().filter(|op| op.kind == OperationKind::Rules).count(),
        0,
        "it comes with the message"
    );
    let app = app.restart().await;
    let story = TestSession { app: &app, user, id };
    assert_eq!(purse_values(&story, next.reply.id).await, json!({"coins": {"gold": 211}}));
    let kept = story.run_turn_at(next.reply.id, "After a restart.").await;
    assert_eq!(story.node(kept.user_node).await.parent, Some(next.reply.id), "the version is known");
}

/// Undo takes back the message and its rules change, and the old values are there again.
#[tokio::test]
async fn migration_undo_restores_old_values() {
    let app = add_purse_plugin(TestApp::setup(), 1, OLD, OLD_SCHEMA).start().await;
    let story = TestSession::create(&app, &["purse"]).await;
    let (user, id) = (story.user, story.id);
    let old = story.run_turn("Old.").await.reply;
    let app = add_purse_plugin(app.stop().await, 2, NEW, NEW_SCHEMA).start().await;
    let story = TestSession { app: &app, user, id };
    story.run_turn("New.").await;
    let actor = story.actor();
    app.store.write(move |tx| tx.undo(&actor, id)).await.unwrap();
    let head = story.head().await;
    assert_eq!((head, purse_values(&story, head).await), (old.id, json!({"gold": 11})));
}

/// A failing `migrate` changes nothing and is reported. The same code is not retried with every message; other code is.
#[tokio::test]
async fn migration_failure_is_retried_only_with_new_code() {
    let app = add_purse_plugin(TestApp::setup(), 1, OLD, OLD_SCHEMA).start().await;
    let story = TestSession::create(&app, &["purse"]).await;
    let (user, id) = (story.user, story.id);
    story.run_turn("Old.").await;
    let broken = "fn migrate(ctx, from) { ctx.set(\"coins\", #{}); ctx.get(\"nothing\"); }";
    let app = add_purse_plugin(app.stop().await, 2, broken, NEW_SCHEMA).start().await;
    let story = TestSession { app: &app, user, id };
    let first = story.run_turn("One.").await;
    let record = story.node(first.user_node).await.parent.unwrap();
    let delta = story.delta(record).await;
    assert!(delta.operations.is_empty());
    assert_eq!(delta.problems[0].code, "plugin_runtime");
    assert_eq!(purse_values(&story, record).await, json!({"gold": 11}));
    let second = story.run_turn("Two.").await;
    assert_eq!(story.node(second.user_node).await.parent, Some(first.reply.id), "not asked again");

    let app = add_purse_plugin(app.stop().await, 2, NEW, NEW_SCHEMA).start().await;
    let story = TestSession { app: &app, user, id };
    let third = story.run_turn("Three.").await;
    assert_eq!(purse_values(&story, third.reply.id).await, json!({"coins": {"gold": 111}}));

    let app = add_purse_plugin(app.stop().await, 1, OLD, OLD_SCHEMA).start().await;
    let story = TestSession { app: &app, user, id };
    let back = story.run_turn("Back.").await;
    let record = story.node(back.user_node).await.parent.unwrap();
    let codes: Vec<String> = story.delta(record).await.problems.into_iter().map(|problem| problem.code).collect();
    assert_eq!(codes, ["plugin_older"]);
}
