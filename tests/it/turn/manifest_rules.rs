//! Manifest rules in a story: they run after the hooks, are recorded as separate runs, and rewind with the node.

use super::*;

const RULES: &str = "[[rule]]\nname = \"friend\"\nwhen = \"affinity >= 3\"\nonce = true\nnote = \"Friends at {{affinity}}.\"\n\
    do = [{ op = \"set\", path = \"stage\", value = \"friend\" }]\n\
    [[rule]]\nname = \"wages\"\nevery = 2\nof = \"model\"\ndo = [{ op = \"add\", path = \"gold\", value = 5, why = \"wages\" }]\n\
    [[rule]]\nname = \"tax\"\nevery = 2\ndo = [{ op = \"add\", path = \"gold\", value = -1 }]\n";
const SCRIPT: &str = "fn init(ctx) { ctx.set(\"affinity\", 0); }\nfn on_reply(ctx) { ctx.add(\"affinity\", 1); }";

async fn plugin_values(story: &TestSession<'_>, node: NodeId) -> Value {
    story.var(node, "/mine").await
}

/// Returns the names of the rules that fired on a node.
async fn fired_rules(story: &TestSession<'_>, node: NodeId) -> Vec<String> {
    let runs = story.delta(node).await.runs;
    let hooks = runs.iter().filter_map(|run| run["hook"].as_str()?.strip_prefix("rule:").map(str::to_owned));
    hooks.collect()
}

/// Rank 3 of the later ideas: counters come from the path and crossings from the world, so all of it rewinds.
#[tokio::test]
async fn manifest_rules_fire_along_path_and_rewind() {
    let app = TestApp::setup().with_manifest_and_script("mine", RULES, SCRIPT).start().await;
    let story = TestSession::create(&app, &["mine"]).await;
    let one = story.run_turn("One.").await.reply;
    let two = story.run_turn("Two.").await;
    assert_eq!(fired_rules(&story, two.user_node).await, ["tax"], "the second turn");
    assert_eq!(fired_rules(&story, two.reply.id).await, ["wages"], "the second reply");
    assert_eq!(plugin_values(&story, two.reply.id).await, json!({"affinity": 2, "gold": 4}));
    let three = story.run_turn("Three.").await.reply;
    assert_eq!(fired_rules(&story, three.id).await, ["friend"]);
    let delta = story.delta(three.id).await;
    assert_eq!((delta.notes[0].plugin.as_str(), delta.notes[0].text.as_str()), ("mine", "Friends at 3."));
    let run = delta.runs.last().unwrap();
    assert_eq!((&run["because"], &run["ops"], &run["plugin"]), (&json!("affinity >= 3"), &json!(2), &json!("mine")));
    assert_eq!(plugin_values(&story, three.id).await, json!({"affinity": 3, "gold": 4, "stage": "friend"}));
    let four = story.run_turn("Four.").await.reply;
    assert_eq!(fired_rules(&story, four.id).await, ["wages"], "friends but once");

    let again = story.regenerate_and_wait(three.id).await;
    assert_eq!(
        (fired_rules(&story, again.id).await, plugin_values(&story, again.id).await),
        (vec!["friend".to_owned()], plugin_values(&story, three.id).await)
    );
    let back = story.run_turn_at(one.id, "Another two.").await;
    assert_eq!(
        (fired_rules(&story, back.user_node).await, fired_rules(&story, back.reply.id).await),
        (vec!["tax".into()], vec!["wages".into()])
    );
    let edited = story.edit(three.id, edit_spec("Other words.")).await.unwrap().node.unwrap();
    assert_eq!(
        (fired_rules(&story, edited).await, plugin_values(&story, edited).await["stage"].clone()),
        (vec!["friend".to_owned()], json!("friend"))
    );
}

/// A command that some plugin answers is not a turn for counting rules of any plugin. A command that goes on to the
/// model is. A replay gives the same result.
#[tokio::test]
async fn manifest_rules_do_not_count_answered_commands() {
    let commands = "[[command]]\nname = \"hp\"\nhelp = \"How it is.\"\n";
    let script = "fn on_input(ctx) { if ctx.command == () { return; } ctx.roll(\"1d6\");\n\
                  switch ctx.args { \"stop\" => #{ stop: true }, \"on\" => \"I look.\", _ => #{ reply: \"10\" } } }";
    let quiet = "[[rule]]\nname = \"silence\"\nevery = 1\ndo = [{ op = \"add\", path = \"quiet\", value = 1 }]\n";
    let app = TestApp::setup()
        .with_manifest_and_script("aa", quiet, "")
        .with_manifest_and_script("zz", commands, script)
        .start()
        .await;
    let story = TestSession::create(&app, &["aa", "zz"]).await;
    let quiet = async |node: NodeId| story.var(node, "/aa/quiet").await;
    let one = story.run_turn("One.").await;
    assert_eq!(quiet(one.user_node).await, json!(1));
    let asked = story.run_turn("/hp").await;
    assert_eq!((asked.reply.content.as_str(), quiet(asked.reply.id).await), ("10", json!(1)));
    let delta = story.delta(asked.user_node).await;
    assert_eq!((delta.runs.len(), delta.rolls.len(), &delta.runs[0]["answered"]), (1, 1, &json!(true)), "{delta:?}");
    let gone_on = story.run_turn("/hp on").await;
    assert_eq!((quiet(gone_on.reply.id).await, app.mock.requests().len()), (json!(2), 2));
    let unasked = MessageSpec { generate: None, ..message_spec(story.head().await, "/hp stop") };
    assert_eq!(quiet(story.send(unasked).await.unwrap().node.unwrap()).await, json!(2));
    let plugin = app.catalogue.current().get("aa").cloned().unwrap();
    let replay = ReplaySpec { plugin, session: story.id, leaf: None, from: None };
    let rows = app.turns.rules.replay(story.user, replay).await.unwrap().rows;
    let changed: Vec<_> = rows.iter().filter(|row| row.old != row.new).map(|row| (&row.old, &row.new)).collect();
    assert!(!rows.is_empty() && changed.is_empty(), "{changed:?}");
}

/// S0-12: rules and scripts record events of the story. They belong to their branch and rewind with it.
#[tokio::test]
async fn events_of_rules_and_scripts_belong_to_branch() {
    let rules = "[[rule]]\nname = \"friend\"\nwhen = \"affinity >= 2\"\nevent = \"Friends at {{affinity}}.\"\n";
    let script = "fn on_input(ctx) { if ctx.text == \"Wave.\" { ctx.event(\"They met.\"); } }\n\
                  fn on_reply(ctx) { ctx.add(\"affinity\", 1); }";
    let app = TestApp::setup().with_manifest_and_script("mine", rules, script).start().await;
    let story = TestSession::create(&app, &["mine"]).await;
    let events = async |node: NodeId| story.world(node).await.events.clone();
    let one = story.run_turn("Wave.").await;
    assert_eq!(events(one.user_node).await, [json!({"text": "They met."})]);
    let two = story.run_turn("On.").await;
    let both = [json!({"text": "They met."}), json!({"text": "Friends at 2."})];
    assert_eq!(events(two.reply.id).await, both);
    let operations = story.delta(two.reply.id).await.operations;
    assert!(operations.iter().any(|one| one.why == "rule friend" && one.by == "mine"), "{operations:?}");
    let beside = story.run_turn_at(one.reply.id, "Elsewhere.").await;
    assert_eq!(events(beside.user_node).await, both[..1]);
    assert_eq!(events(beside.reply.id).await, both);
    assert_eq!(events(story.session().await.root).await, Vec::<Value>::new());
}
