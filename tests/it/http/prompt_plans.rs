//! The `plan` hook: where its texts are in a prompt, what it does to lore, and that a preview changes nothing.

use super::api_session::ApiSession;
use super::lore_activation::{entry, lore_trace, uids};
use super::*;

fn manifest(id: &str) -> String {
    format!(
        "id = \"{id}\"\ntitle = \"{id}\"\nversion = \"1.0.0\"\napi = \"1\"\n[permissions]\nrequest = \
         [\"prompt.inject:status\", \"prompt.inject:system\", \"prompt.inject:note\", \"lore.select\"]\n"
    )
}

fn with_plugin(setup: Setup, id: &str, script: &str) -> Setup {
    setup.with_plugin(id, &[("plugin.toml", &manifest(id)), ("main.rhai", script)])
}

async fn start_with_plugins(setup: Setup, plugins: &[&str]) -> ApiSession {
    let plugins: Vec<Value> = plugins.iter().map(|id| json!({"id": id})).collect();
    ApiSession::start_with(setup, json!({"plugins": plugins})).await
}

/// Returns the messages of the newest request.
fn last_request_messages(play: &ApiSession) -> Vec<Value> {
    play.server.mock().requests().pop().unwrap()["messages"].as_array().unwrap().clone()
}

fn system_message(text: &str) -> Value {
    json!({"role": "system", "content": text})
}

const GUIDE: &str = r#"
fn init(ctx) { ctx.set("hp", 7); }
fn plan(ctx) {
    let before = ctx.recent(2).map(|one| `${one.name}: ${one.text}`);
    ctx.inject("status", `turn ${ctx.node.turn}, depth ${ctx.node.depth}, hp ${ctx.get("hp")}, after ${before}, ${ctx.text}`);
    ctx.inject("system", "Be {{char}}, brief.");
    ctx.inject("system", "Above all, be kind.", #{ priority: 5 });
    ctx.warn("a thought of its own");
}
"#;

/// S3-11, S0-38: texts of plugins are where their slots say, and the preview equals the sent prompt. Thoughts are
/// visible to the author only.
#[tokio::test]
async fn plan_texts_in_preview_match_sent_prompt() {
    let play = start_with_plugins(with_plugin(TestApp::setup(), "guide", GUIDE), &["guide"]).await;
    play.run_turn("Hi.").await;
    let before = (play.head().await, play.session().await["op"].clone());
    let shown = play.post("prompt", json!({"parentId": before.0, "content": "Well?"})).await;
    assert_eq!((play.head().await, play.session().await["op"].clone()), before, "a look changes nothing");
    let said = play.run_turn("Well?").await;
    let sent = last_request_messages(&play);
    assert_eq!(shown["messages"], Value::from(sent.clone()), "byte for byte");
    let [.., status, newest, last] = sent.as_slice() else { panic!("{sent:?}") };
    let text = status["content"].as_str().unwrap();
    assert!(text.starts_with("turn 2, depth 5, hp 7, after [") && text.ends_with("Well?\"], Well?"), "{text}");
    assert_eq!((&status["role"], newest), (&json!("system"), &json!({"role": "user", "content": "Well?"})));
    assert_eq!(*last, system_message("Be {{char}}, brief.\n\nAbove all, be kind."));

    let trace = play.get(&format!("node/{}/trace", said.reply)).await;
    assert_eq!(trace["isExact"], true);
    let block = |slot: &str| {
        trace["blueprint"].as_array().unwrap().iter().filter(|one| one["slot"] == slot).cloned().collect::<Vec<_>>()
    };
    let own = block("plugin:guide:status");
    assert_eq!((own.len(), &own[0]["source"], &own[0]["kept"]), (1, &json!("plugin"), &json!(true)));
    assert_eq!(block("plugin:guide:system").len(), 2);
    let plan = &trace["plan"][0];
    assert_eq!((&plan["plugin"], &plan["hook"], &plan["error"]), (&json!("guide"), &json!("plan"), &json!(null)));
    assert_eq!(plan["injected"], json!(["status", "system", "system"]));
    assert_eq!(plan["warnings"], json!(["a thought of its own"]));
    assert_eq!(shown["plan"][0]["warnings"], plan["warnings"]);
    assert!(!trace["messages"].to_string().contains("a thought"), "thoughts are never sent");
    for node in play.nodes().await.keys() {
        let content = play.get(&format!("node/{node}")).await["content"].clone();
        assert!(!content.to_string().contains("kind"), "what is injected becomes no part of a message: {content}");
    }
    let reply = play.get(&format!("node/{}/delta", said.reply)).await;
    assert_eq!(reply["problems"], json!([]));
}

/// `domain.md` 6.3: texts that change with every turn come after those that stay, so that the model server can reuse
/// its cache.
#[tokio::test]
async fn plan_texts_keep_prompt_prefix_stable() {
    let play = start_with_plugins(with_plugin(TestApp::setup(), "guide", GUIDE), &["guide"]).await;
    play.run_turn("One.").await;
    let one = last_request_messages(&play);
    play.run_turn("Two.").await;
    let two = last_request_messages(&play);
    let stays = one.iter().zip(&two).take_while(|(one, two)| one == two).count();
    let kept: Vec<&Value> = one.iter().filter(|message| message["role"] != "system").collect();
    assert!(stays + 1 >= kept.len(), "all before the newest message of then: {one:?} {two:?}");
    assert_eq!(
        two.iter().filter(|message| message.to_string().contains("Be {{char}}")).count(),
        1,
        "never in the past"
    );
}

/// S0-38: a failing plan loses only its own texts and is reported on the reply. The chat goes on.
#[tokio::test]
async fn plan_failure_is_reported_and_chat_continues() {
    let setup = with_plugin(TestApp::setup(), "guide", GUIDE);
    let broken = "fn plan(ctx) { ctx.inject(\"status\", \"unheard\"); ctx.add(\"hp\", 1); }";
    let play = start_with_plugins(with_plugin(setup, "broken", broken), &["broken", "guide"]).await;
    let said = play.run_turn("Hi.").await;
    let text = Value::from(last_request_messages(&play)).to_string();
    assert!(text.contains("Above all") && !text.contains("unheard"));
    let trace = play.get(&format!("node/{}/trace", said.reply)).await;
    let error = &trace["plan"][0]["error"];
    assert_eq!((&error["message"], &error["line"]), (&json!("add(\"hp\"): this hook is read-only"), &json!(1)));
    let problem = &trace["problems"][0];
    assert_eq!((&problem["code"], &problem["plugin"]), (&json!("plugin_permission"), &json!("broken")));
    assert_eq!(play.get(&format!("node/{}", said.reply)).await["status"], "complete");
}

/// A plan that repeatedly exceeds its limits is turned off like any other hook, and that is reported.
#[tokio::test]
async fn plan_exceeding_limits_repeatedly_switches_plugin_off() {
    let play =
        start_with_plugins(with_plugin(TestApp::setup(), "endless", "fn plan(ctx) { loop { } }"), &["endless"]).await;
    let head = play.head().await;
    let look = async || play.post("prompt", json!({"parentId": head, "content": "Hi."})).await;
    for _ in 0..5 {
        assert_eq!(look().await["plan"][0]["error"]["kind"], "limit");
    }
    assert_eq!(look().await["plan"], json!(null), "it is not asked any more");
    let said = play.run_turn("Hi.").await;
    let trace = play.get(&format!("node/{}/trace", said.reply)).await;
    assert_eq!(trace["problems"][0]["code"], "plugin_off");
}

/// S3-11: a text without room is reported with the reason, like any other block.
#[tokio::test]
async fn plan_text_over_budget_is_reported_with_reason() {
    let script = r#"fn plan(ctx) {
        let long = ""; for n in 0..2000 { long += "abcdefg "; }
        ctx.inject("status", long);
        ctx.inject("status", "short", #{ priority: 1 });
    }"#;
    let narrow = TestApp::setup().set("generation.model", "mock/other").set("generation.context_tokens", "600");
    let play =
        start_with_plugins(with_plugin(narrow.set("generation.reply_tokens", "100"), "wordy", script), &["wordy"])
            .await;
    let said = play.run_turn("Hi.").await;
    let trace = play.get(&format!("node/{}/trace", said.reply)).await;
    let blocks = trace["blueprint"].as_array().unwrap().iter().filter(|one| one["slot"] == "plugin:wordy:status");
    let told: Vec<(&Value, &Value)> = blocks.map(|one| (&one["kept"], &one["why"])).collect();
    assert_eq!(told, [(&json!(true), &json!(null)), (&json!(false), &json!("budget"))]);
    assert_eq!(trace["isExact"], true);
}

const LIBRARIAN: &str = r#"fn plan(ctx) {
    ctx.lore("The wounds"); ctx.lore("7"); ctx.lore("Off"); ctx.lore("Nowhere");
    ctx.unlore("The gate");
}"#;

/// S3-11, S3-16: a plugin can activate an entry or keep one out, whatever the other conditions are. Both are recorded
/// with the reason, in the trace and in a test of a book.
#[tokio::test]
async fn plan_activates_and_blocks_lore_with_reason() {
    let play = start_with_plugins(with_plugin(TestApp::setup(), "librarian", LIBRARIAN), &["librarian"]).await;
    let named = |uid: u64, title: &str, more: Value| {
        let mut entry = entry(uid, "gate", &format!("Text of {title}."), more);
        entry["comment"] = title.into();
        entry
    };
    let entries = json!([
        named(1, "The wounds", json!({"key": [], "useProbability": true, "probability": 0})),
        named(2, "The gate", json!({"constant": true})),
        named(3, "Off", json!({"disable": true})),
        named(7, "By number", json!({"key": ["no such word"], "group": "one"})),
        named(8, "The rival", json!({"group": "one", "groupWeight": 1_000_000})),
    ]);
    let book = super::lore_activation::create_lorebook(&play, entries).await;
    super::lore_activation::put_lorebook_holds(&play, &book, json!({"sessionIds": [play.sid]})).await;
    let said = play.run_turn("Open the gate!").await;
    let text = Value::from(last_request_messages(&play)).to_string();
    assert!(text.contains("Text of The wounds.") && text.contains("Text of By number."), "{text}");
    assert!(!text.contains("Text of The gate.") && !text.contains("Text of Off.") && !text.contains("rival"), "{text}");
    let lore = lore_trace(&play, &said).await;
    assert_eq!(uids(&lore["fired"]), ["1", "7"]);
    assert_eq!((&lore["fired"][0]["why"], &lore["fired"][0]["plugin"]), (&json!("called"), &json!("librarian")));
    let stopped =
        |uid: &str| lore["stopped"].as_array().unwrap().iter().find(|one| one["uid"] == uid).cloned().unwrap();
    assert_eq!((stopped("2")["why"].clone(), stopped("2")["plugin"].clone()), (json!("keptOut"), json!("librarian")));
    assert_eq!((stopped("8")["why"].clone(), stopped("8")["lost"].clone()), (json!("group"), json!("taken")));
    let world = play.get(&format!("node/{}/world", said.reply)).await;
    assert_eq!(world["world"]["lore"]["active"][0]["why"], "called");
    let trace = play.get(&format!("node/{}/trace", said.reply)).await;
    let warned =
        ["lore(\"Off\"): the entry is switched off", "lore(\"Nowhere\"): no lorebook in force here has such an entry"];
    assert_eq!(trace["plan"][0]["warnings"], json!(warned));

    let tested =
        play.server.post("/api/lorebooks/test", &json!({"sessionId": play.sid, "text": "Open the gate!"})).await;
    assert_eq!(uids(&tested["fired"]), ["1", "7"]);
    assert_eq!(tested["fired"][0]["why"], "called");
    assert!(tested["notes"].to_string().contains("librarian: lore(\\\"Nowhere\\\")"), "{tested}");
}

/// An edited reply runs `on_edit` with the dice of the version before, and so does the next edit.
#[tokio::test]
async fn edited_reply_runs_on_edit_with_same_dice() {
    let script = r#"
        fn on_reply(ctx) { ctx.set("by", "reply"); ctx.set("luck", ctx.roll("1d1000").total); }
        fn on_edit(ctx) { ctx.set("by", "edit"); ctx.set("luck", ctx.roll("1d1000").total); }
    "#;
    let play = start_with_plugins(with_plugin(TestApp::setup(), "reader", script), &["reader"]).await;
    let said = play.run_turn("Hi.").await;
    let world = async |node: &str| play.get(&format!("node/{node}/world")).await["world"]["vars"]["reader"].clone();
    let first = world(&said.reply).await;
    assert_eq!(first["by"], "reply");
    let mut node = said.reply.clone();
    for text in ["Other words.", "And others."] {
        let edited = play.post(&format!("node/{node}/edit"), json!({"content": text})).await;
        node = id_of(&edited["node"]);
        assert_eq!(world(&node).await, json!({"by": "edit", "luck": first["luck"]}), "{text}");
    }
    let trace = play.get(&format!("node/{node}/trace")).await;
    assert_eq!((&trace["rules"][0]["hook"], &trace["rolls"][0]["hook"]), (&json!("on_edit"), &json!("on_reply")));
    let other = play.regenerate_and_wait(&said.reply).await;
    let other = world(&other).await;
    assert!(other["by"] == "reply" && other["luck"] != first["luck"], "a reroll is another reply");
    let written =
        play.post("message", json!({"parentId": said.user_node, "content": "By hand.", "role": "assistant"})).await;
    assert_eq!(world(&id_of(&written["node"])).await["by"], "reply", "what a person writes anew is no edit");
}
