//! Manifest rules in a story: they run after the hooks, are recorded as separate runs, and rewind with the node.

use super::*;

const RULES: &str = "[[rule]]\nname = \"friend\"\nwhen = \"affinity >= 3\"\nonce = true\nnote = \"Friends at {{affinity}}.\"\n\
    do = [{ op = \"set\", path = \"stage\", value = \"friend\" }]\n\
    [[rule]]\nname = \"wages\"\nevery = 2\nof = \"model\"\ndo = [{ op = \"add\", path = \"gold\", value = 5, why = \"wages\" }]\n\
    [[rule]]\nname = \"tax\"\nevery = 2\ndo = [{ op = \"add\", path = \"gold\", value = -1 }]\n";
const SCRIPT: &str = "fn init(ctx) { ctx.set(\"affinity\", 0); }\nfn on_reply(ctx) { ctx.add(\"affinity\", 1); }";

async fn mine(story: &TestSession<'_>, node: NodeId) -> Value {
    story.var(node, "/mine").await
}

/// Returns the names of the rules that fired on a node.
async fn fired(story: &TestSession<'_>, node: NodeId) -> Vec<String> {
    let runs = story.delta(node).await.runs;
    let hooks = runs.iter().filter_map(|run| run["hook"].as_str()?.strip_prefix("rule:").map(str::to_owned));
    hooks.collect()
}

/// Rank 3 of the later ideas: counters come from the path and crossings from the world, so all of it rewinds.
#[tokio::test]
async fn manifest_rules_fire_along_path_and_rewind() {
    let app = TestApp::with().script_with("mine", RULES, SCRIPT).start().await;
    let story = TestSession::begin(&app, &["mine"]).await;
    let one = story.say("One.").await.reply;
    let two = story.say("Two.").await;
    assert_eq!(fired(&story, two.user).await, ["tax"], "the second turn");
    assert_eq!(fired(&story, two.reply.id).await, ["wages"], "the second reply");
    assert_eq!(mine(&story, two.reply.id).await, json!({"affinity": 2, "gold": 4}));
    let three = story.say("Three.").await.reply;
    assert_eq!(fired(&story, three.id).await, ["friend"]);
    let delta = story.delta(three.id).await;
    assert_eq!((delta.notes[0].plugin.as_str(), delta.notes[0].text.as_str()), ("mine", "Friends at 3."));
    let run = delta.runs.last().unwrap();
    assert_eq!((&run["because"], &run["ops"], &run["plugin"]), (&json!("affinity >= 3"), &json!(2), &json!("mine")));
    assert_eq!(mine(&story, three.id).await, json!({"affinity": 3, "gold": 4, "stage": "friend"}));
    let four = story.say("Four.").await.reply;
    assert_eq!(fired(&story, four.id).await, ["wages"], "friends but once");

    let again = story.another(three.id).await;
    assert_eq!(
        (fired(&story, again.id).await, mine(&story, again.id).await),
        (vec!["friend".to_owned()], mine(&story, three.id).await)
    );
    let back = story.say_to(one.id, "Another two.").await;
    assert_eq!(
        (fired(&story, back.user).await, fired(&story, back.reply.id).await),
        (vec!["tax".into()], vec!["wages".into()])
    );
    let edited = story.edit(three.id, edit("Other words.")).await.unwrap().node.unwrap();
    assert_eq!(
        (fired(&story, edited).await, mine(&story, edited).await["stage"].clone()),
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
    let app = TestApp::with().script_with("aa", quiet, "").script_with("zz", commands, script).start().await;
    let story = TestSession::begin(&app, &["aa", "zz"]).await;
    let quiet = async |node: NodeId| story.var(node, "/aa/quiet").await;
    let one = story.say("One.").await;
    assert_eq!(quiet(one.user).await, json!(1));
    let asked = story.say("/hp").await;
    assert_eq!((asked.reply.content.as_str(), quiet(asked.reply.id).await), ("10", json!(1)));
    let delta = story.delta(asked.user).await;
    assert_eq!((delta.runs.len(), delta.rolls.len(), &delta.runs[0]["answered"]), (1, 1, &json!(true)), "{delta:?}");
    let gone_on = story.say("/hp on").await;
    assert_eq!((quiet(gone_on.reply.id).await, app.mock.requests().len()), (json!(2), 2));
    let unasked = MessageSpec { generate: None, ..message(story.head().await, "/hp stop") };
    assert_eq!(quiet(story.send(unasked).await.unwrap().node.unwrap()).await, json!(2));
    let plugin = app.catalogue.current().get("aa").cloned().unwrap();
    let replay = ReplaySpec { plugin, session: story.id, leaf: None, from: None };
    let rows = app.turns.rules.replay(story.user, replay).await.unwrap().rows;
    let changed: Vec<_> = rows.iter().filter(|row| row.old != row.new).map(|row| (&row.old, &row.new)).collect();
    assert!(!rows.is_empty() && changed.is_empty(), "{changed:?}");
}
