//! Rules of a manifest in a story: they run after the hooks, are recorded as runs of their own, and go back with the node.

use super::*;

const RULES: &str = "[[rule]]\nname = \"friend\"\nwhen = \"affinity >= 3\"\nonce = true\nnote = \"Friends at {{affinity}}.\"\n\
    do = [{ op = \"set\", path = \"stage\", value = \"friend\" }]\n\
    [[rule]]\nname = \"wages\"\nevery = 2\nof = \"model\"\ndo = [{ op = \"add\", path = \"gold\", value = 5, why = \"wages\" }]\n\
    [[rule]]\nname = \"tax\"\nevery = 2\ndo = [{ op = \"add\", path = \"gold\", value = -1 }]\n";
const SCRIPT: &str = "fn init(ctx) { ctx.set(\"affinity\", 0); }\nfn on_reply(ctx) { ctx.add(\"affinity\", 1); }";

async fn mine(story: &Story<'_>, node: NodeId) -> Value {
    story.var(node, "/mine").await
}

/// The names of the rules that fired on a node.
async fn fired(story: &Story<'_>, node: NodeId) -> Vec<String> {
    let runs = story.delta(node).await.runs;
    let hooks = runs.iter().filter_map(|run| run["hook"].as_str()?.strip_prefix("rule:").map(str::to_owned));
    hooks.collect()
}

/// Rank 3 of the later ideas: counters come from the path and crossings from the world, so that all of it rewinds.
#[tokio::test]
async fn rules_fire_along_the_path_and_rewind() {
    let app = TestApp::with().script_with("mine", RULES, SCRIPT).start().await;
    let story = Story::begin(&app, &["mine"]).await;
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
