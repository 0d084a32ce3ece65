//! Summaries proposed by plugins: they are kept, used, undone and destroyed as the server's own summaries are.

use super::api_session::{ApiSession, TurnIds};
use super::purges::{files_containing, wait_until_gone};
use super::summaries::{SUMMARY_PROMPT, summary_block};
use super::*;
use crate::support::wait::wait_for_some;

const MANIFEST: &str = r#"
id = "scribe"
title = "Scribe"
version = "1.0.0"
api = "1"
[permissions]
request = ["tree.summarise", "model.call"]
"#;

/// Proposes the text between brackets in a reply, as `[turns words]`, and asks a model at `[ask]`.
const SCRIPT: &str = r#"
fn on_reply(ctx) {
    if ctx.text.contains("[ask]") { ctx.ask("sum", #{ messages: ctx.text }); return; }
    let found = ctx.find("\\[(?<turns>-?\\d+) (?<words>.*)\\]");
    if found != () { ctx.propose_summary(found.words, parse_int(found.turns)); }
}
fn on_answer(ctx) { ctx.propose_summary(ctx.text, 1); }
"#;

/// Starts a story with a short context and without automatic summaries.
async fn start_with_plugin(script: &str) -> ApiSession {
    let setup = TestApp::setup()
        .set("summaries.share", "30")
        .with_plugin("scribe", &[("plugin.toml", MANIFEST), ("main.rhai", script)]);
    let play = ApiSession::start_with(setup, json!({"plugins": [{"id": "scribe"}]})).await;
    let preset = play.set_up_short_context(SUMMARY_PROMPT).await;
    let path = format!("/api/sessions/{}", play.sid);
    play.server.request("PATCH", &path).json(&json!({"presetId": preset})).send().await.expect(200);
    play
}

async fn summaries_at(play: &ApiSession, node: &str) -> Vec<Value> {
    let path = format!("/api/sessions/{}/summaries?nodeId={node}", play.sid);
    play.server.get(&path).await["items"].as_array().unwrap().clone()
}

/// Sends a message that gets this reply.
async fn run_turn_with_reply(play: &ApiSession, reply: &str) -> TurnIds {
    play.server.mock().queue_reply(Reply::ok([reply]));
    play.run_turn("What do you see?").await
}

/// Adds enough filler turns that earlier messages no longer fit, and returns the newest prompt.
async fn add_filler_turns(play: &ApiSession) -> Value {
    for mile in 0..8 {
        play.run_turn(&format!("We walk on, mile {mile}, {}", "past dull hedges and grey fields ".repeat(8))).await;
    }
    play.server.mock().requests().pop().unwrap()
}

async fn problems(play: &ApiSession, said: &TurnIds) -> Value {
    play.get(&format!("node/{}/delta", said.reply)).await["problems"].clone()
}

/// S3-09, domain 7.9: a summary that a plugin proposes at a reply applies to its branch only. It is used where its
/// messages no longer fit, while the plugin is enabled, and costs nothing.
#[tokio::test]
async fn plugin_summary_is_used_only_on_its_branch() {
    let play = start_with_plugin(SCRIPT).await;
    let first = run_turn_with_reply(&play, "A road.").await;
    let second = run_turn_with_reply(&play, "A gate. [2 OMEGA: they found the gate.]").await;
    let found = summaries_at(&play, &second.reply).await;
    let [one] = found.as_slice() else { panic!("{found:?}") };
    let line = play.projection_ids(&second.reply).await;
    let of: Vec<&str> = one["nodeIds"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
    assert!(of.len() >= 4 && line.ends_with(&of.iter().map(ToString::to_string).collect::<Vec<_>>()), "{one}");
    assert_eq!((&one["content"], &one["plugin"]), (&json!("OMEGA: they found the gate."), &json!("scribe")));
    assert_eq!((&one["isStale"], &one["isEdited"], &one["level"]), (&json!(false), &json!(false), &json!(1)));
    assert_eq!(summaries_at(&play, &first.reply).await, [] as [Value; 0]);
    let run = play.get(&format!("node/{}/delta", second.reply)).await["rules"][0]["summary"].clone();
    assert_eq!(run, json!({"text": "OMEGA: they found the gate.", "turns": 2, "upto": 2}));

    // A sibling of the reply does not have the summary.
    let other = play.regenerate_and_wait(&second.reply).await;
    assert_eq!(summaries_at(&play, &other).await, [] as [Value; 0]);
    let said = play.run_turn_at(&other, "On.").await;
    assert!(!add_filler_turns(&play).await.to_string().contains("OMEGA"), "{}", said.reply);

    play.checkout(&second.reply, true).await;
    let request = add_filler_turns(&play).await;
    assert!(summary_block(&request).ends_with("OMEGA: they found the gate."), "{request}");
    let head = play.head().await;
    let trace = play.get(&format!("node/{head}/trace")).await;
    assert_eq!(trace["summaries"]["texts"][0]["id"], one["id"], "{trace}");
    assert_eq!(trace["isExact"], true);
    let world = play.get(&format!("node/{head}/world")).await["world"]["summary"].clone();
    assert_eq!(world, "OMEGA: they found the gate.");
    assert_eq!(play.get("spent").await["summaries"], 0, "nobody was asked for it");

    let path = format!("/api/sessions/{}/plugins", play.sid);
    play.server.request("PUT", &path).json(&json!([{"id": "scribe", "enabled": false}])).send().await.expect(200);
    play.run_turn("And now?").await;
    assert!(summary_block(&play.server.mock().requests().pop().unwrap()).is_empty());
}

/// A summary from a model's answer covers the turns up to the asking message, wherever the answer lands. The same
/// messages have one summary, and a user's correction stays.
#[tokio::test]
async fn plugin_summary_from_answer_covers_asking_turns() {
    let play = start_with_plugin(SCRIPT).await;
    run_turn_with_reply(&play, "A road. [1 OLD: a road.]").await;
    play.server.mock().queue_reply(Reply::ok(["A gate. [ask]"]));
    play.server.mock().queue_reply(Reply::ok(["SIGMA: a gate."]));
    let said = play.run_turn("Well?").await;
    let answer = wait_for_some("the answer", async || {
        let nodes = play.nodes().await;
        nodes.values().find(|one| one["parentId"] == *said.reply && one["kind"] == "change").map(id_of)
    })
    .await;
    let found = summaries_at(&play, &answer).await;
    let texts: Vec<&Value> = found.iter().map(|one| &one["content"]).collect();
    assert_eq!(texts, ["OLD: a road.", "SIGMA: a gate."]);
    assert_eq!(found[1]["nodeIds"], json!([said.user_node, said.reply]));
    let said = run_turn_with_reply(&play, "[3 ALL: a road and a gate.]").await;
    let found = summaries_at(&play, &said.reply).await;
    let all = found.iter().find(|one| one["content"] == "ALL: a road and a gate.").unwrap();
    assert_eq!(all["level"], 1, "it is of more than those two: {found:?}");

    // The user's correction replaces the proposed text.
    let path = format!("/api/sessions/{}/summaries/{}", play.sid, id_of(&found[0]));
    play.server.request("PATCH", &path).json(&json!({"content": "MINE."})).send().await.expect(200);
    assert_eq!(summaries_at(&play, &said.reply).await[0]["content"], "MINE.");
}

/// Undo hides the summary with its message, redo restores it, and a purge deletes it from the disk. Domain 2.16.
#[tokio::test]
async fn plugin_summary_follows_undo_redo_and_purge() {
    const WORD: &str = "Quincemarmalade";
    let play = start_with_plugin(SCRIPT).await;
    let first = run_turn_with_reply(&play, "A road.").await;
    let second = run_turn_with_reply(&play, &format!("A gate. [2 They found {WORD}.]")).await;
    play.post("undo", json!({})).await;
    let head = play.head().await;
    assert_eq!(summaries_at(&play, &head).await, [] as [Value; 0]);
    play.post("redo", json!({})).await;
    assert_eq!(summaries_at(&play, &second.reply).await.len(), 1);
    let state = format!("node/{}/state", first.user_node);
    play.server.put(&play.chat_path(&state), &json!({"isEnabled": false})).await;
    assert_eq!(summaries_at(&play, &second.reply).await[0]["isStale"], true);
    play.server.put(&play.chat_path(&state), &json!({"isEnabled": true})).await;
    assert_eq!(summaries_at(&play, &second.reply).await[0]["isStale"], false);
    let data = play.server.app().home().join("data");
    assert!(!files_containing(&data, WORD).is_empty());
    let purge = json!({"operations": [{"op": "purge", "nodeId": first.user_node, "confirm": true}]});
    play.server.put(&play.chat_path("tree/edit"), &purge).await;
    wait_until_gone(&data, WORD).await;
}

/// S3-20: an invalid proposal is reported to the plugin's author, and the reply stays.
#[tokio::test]
async fn plugin_summary_invalid_is_reported_and_reply_kept() {
    let play = start_with_plugin(SCRIPT).await;
    let said = run_turn_with_reply(&play, "A gate. [9 Too much.]").await;
    let problem = problems(&play, &said).await[0].clone();
    assert_eq!(problem["code"], "plugin_runtime", "{problem}");
    let message = problem["message"].as_str().unwrap();
    assert!(message.contains("there is 1 turn up to there, and a summary of 9 was proposed"), "{message}");
    assert_eq!(summaries_at(&play, &said.reply).await, [] as [Value; 0]);
    let path = format!("/api/sessions/{}/plugins", play.sid);
    let bare = json!([{"id": "scribe", "enabled": true, "grants": []}]);
    play.server.request("PUT", &path).json(&bare).send().await.expect(200);
    let said = run_turn_with_reply(&play, "A gate. [1 Fine.]").await;
    assert_eq!(problems(&play, &said).await[0]["code"], "plugin_permission");
}

/// The bundled summariser stores the model's answer as the summary of its turns.
#[tokio::test]
async fn bundled_summariser_stores_model_answer_as_summary() {
    let play =
        ApiSession::start_with(TestApp::setup(), json!({"plugins": [{"id": "summariser", "config": {"every": 2}}]}))
            .await;
    run_turn_with_reply(&play, "A road.").await;
    play.server.mock().queue_reply(Reply::ok(["A gate."]));
    play.server.mock().queue_reply(Reply::ok(["They came to a gate."]));
    let said = play.run_turn("On.").await;
    let found = wait_for_some("the summary", async || {
        let head = play.head().await;
        summaries_at(&play, &head).await.pop()
    })
    .await;
    assert_eq!((&found["content"], &found["plugin"]), (&json!("They came to a gate."), &json!("summariser")));
    assert_eq!(found["lastId"], json!(said.reply));
    assert_eq!(found["nodeIds"].as_array().unwrap().len(), 5, "two turns and the greeting before them: {found}");
}

/// A replay shows proposed summaries and stores nothing. An accepted replay stores them.
#[tokio::test]
async fn plugin_summary_in_replay_saved_only_on_accept() {
    let play = start_with_plugin(SCRIPT).await;
    let said = run_turn_with_reply(&play, "A gate. [1 OMEGA: a gate.]").await;
    let ask = async |more: Value| {
        let mut body = json!({"sessionId": play.sid});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = play.server.post("/api/plugins/scribe/replay", &body).await;
        let rows = answer["rows"].as_array().unwrap().clone();
        rows.into_iter().find(|row| row["nodeId"] == *said.reply).unwrap()["summary"].clone()
    };
    let other = "fn on_reply(ctx) { ctx.propose_summary(\"PSI.\", 1); }";
    assert_eq!(ask(json!({"source": other})).await, json!({"text": "PSI.", "turns": 1, "upto": 1}));
    let found = summaries_at(&play, &said.reply).await;
    assert_eq!((found.len(), &found[0]["content"]), (1, &json!("OMEGA: a gate.")));
    let path = format!("/api/sessions/{}/summaries/{}", play.sid, id_of(&found[0]));
    play.server.request("DELETE", &path).send().await.expect(204);
    assert_eq!(summaries_at(&play, &said.reply).await, [] as [Value; 0]);
    let accepted = super::plugin_workshop::accept_replay(&play, "scribe").await;
    let row = accepted["rows"].as_array().unwrap().iter().find(|row| row["nodeId"] == *said.reply).unwrap();
    assert_eq!(row["summary"]["text"], "OMEGA: a gate.");
    assert_eq!(summaries_at(&play, &said.reply).await.len(), 1);
    // A trial proposes too, and stores nothing.
    let body = json!({"sessionId": play.sid, "nodeId": said.reply, "hook": "on_reply", "source": other});
    let tried = play.server.post("/api/plugins/scribe/try", &body).await;
    assert_eq!(tried["summary"], json!({"text": "PSI.", "turns": 1, "upto": 1}));
    assert_eq!(summaries_at(&play, &said.reply).await[0]["content"], "OMEGA: a gate.");
}
