//! Regex scripts leave imported messages alone, in every way of asking and in every copy.

use serde_json::{Value, json};

use super::play::{open_session, start_with_import};
use crate::http::api_session::ApiSession;
use crate::support::data_root::{DataRoot, header_row, reply_row, user_row};
use crate::support::mock_model::Reply;
use crate::support::server::id_of;

/// Returns an imported session, and a script that would have run once on saved texts.
async fn start_with_script() -> ApiSession {
    let root = DataRoot::new();
    root.write_card("Ivo");
    let rows = [
        header_row(json!({})),
        reply_row("A cat greets.", 0),
        user_row("I see a cat.", 1),
        reply_row("The cat waits.", 2),
    ];
    root.write_chat("Ivo", "Night", &rows);
    let play = open_session(start_with_import(&root).await, "Night").await;
    let script = json!({"scriptName": "cats", "findRegex": "/cat/g", "replaceString": "DOG", "placement": [1, 2]});
    play.server.post("/api/presets", &json!({"kind": "regex", "name": "cats", "body": script})).await;
    play
}

/// Returns the texts of a list of sent messages, without those of the system.
fn spoken_texts(messages: &Value) -> Vec<String> {
    let spoken = messages.as_array().unwrap().iter().filter(|message| message["role"] != "system");
    spoken.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

fn last_request_texts(play: &ApiSession) -> Vec<String> {
    spoken_texts(&play.server.mock().requests().pop().unwrap()["messages"])
}

/// Continues a reply and returns its new text.
async fn continue_and_wait(play: &ApiSession, reply: &str) -> String {
    play.server.mock().queue_reply(Reply::ok([" It purrs."]));
    let more = play.post(&format!("node/{reply}/continue"), json!({})).await;
    let reply = play.wait_for_reply(&id_of(&more["generations"][0])).await;
    reply["content"].as_str().unwrap().to_owned()
}

/// Asserts that the imported messages are sent as they are below a node, and a new message after the script.
async fn assert_import_left_alone(play: &ApiSession, leaf: &str) {
    let preview = play.post("prompt", json!({"parentId": leaf, "content": "A new cat."})).await;
    let texts = spoken_texts(&preview["messages"]);
    for (text, expected) in texts.iter().zip(["A cat greets.", "I see a cat.", "The cat waits.", "A new DOG."]) {
        assert!(text.ends_with(expected), "{texts:?}");
    }
    assert_eq!(texts.len(), 4, "{texts:?}");
}

/// A continued reply keeps its origin: what was imported is not changed again, and neither is a version of it.
#[tokio::test]
async fn imported_reply_continued_is_left_alone_by_scripts() {
    let play = start_with_script().await;
    let imported = play.head().await;
    assert_eq!(continue_and_wait(&play, &imported).await, "The cat waits. It purrs.");
    let sent = last_request_texts(&play);
    assert!(sent.iter().any(|text| text.ends_with("The cat waits.")), "{sent:?}");
    assert!(sent.iter().all(|text| !text.contains("DOG")), "{sent:?}");
    let edited = play.post(&format!("node/{imported}/edit"), json!({"content": "The cat sleeps."})).await;
    continue_and_wait(&play, &id_of(&edited["node"])).await;
    let sent = last_request_texts(&play);
    assert!(sent.iter().any(|text| text.ends_with("The cat sleeps.")), "{sent:?}");
    // A reply that was written here still runs through the script.
    play.server.mock().queue_reply(Reply::ok(["A cat of ours."]));
    let own = play.run_turn("Who is there?").await;
    continue_and_wait(&play, &own.reply).await;
    let sent = last_request_texts(&play);
    assert!(sent.iter().any(|text| text.ends_with("A DOG of ours.")), "{sent:?}");
}

/// A new message below an imported one is new, so its preview equals the sent prompt.
#[tokio::test]
async fn preview_below_imported_message_equals_send() {
    let play = start_with_script().await;
    let asked = json!({"parentId": play.head().await, "content": "A new cat."});
    let preview = play.post("prompt", asked).await;
    play.run_turn("A new cat.").await;
    let sent = last_request_texts(&play);
    assert!(sent.last().unwrap().ends_with("A new DOG."), "{sent:?}");
    assert_eq!(spoken_texts(&preview["messages"]), sent);
}

/// Domain 2.10: a copy within the story names its original and still knows that it was imported.
#[tokio::test]
async fn imported_messages_grafted_as_copy_are_left_alone_by_scripts() {
    let play = start_with_script().await;
    let nodes = play.nodes().await;
    let by_text = |text: &str| id_of(nodes.values().find(|node| node["content"] == text).unwrap());
    let (greeting, last) = (by_text("A cat greets."), by_text("The cat waits."));
    let root = nodes[&greeting]["parentId"].clone();
    let copy = json!([{"op": "graft", "nodeId": greeting, "targetId": root, "mode": "copy"}]);
    play.server.put(&play.chat_path("tree/edit"), &json!({"operations": copy})).await;
    let nodes = play.nodes().await;
    let is_copy = |node: &&Value| node["content"] == "The cat waits." && node["id"] != json!(last);
    let copied = nodes.values().find(is_copy).unwrap();
    let provenance = &copied["metadata"]["provenance"];
    assert_eq!((&provenance["sessionId"], &provenance["nodeId"]), (&json!(play.sid), &json!(last)));
    assert_eq!(provenance["file"], nodes[&last]["metadata"]["provenance"]["file"]);
    assert!(provenance["file"].as_str().unwrap().ends_with("Night.jsonl"), "{provenance}");
    assert_import_left_alone(&play, &id_of(copied)).await;
}

/// A copy of the story, made here or from its file, still knows what was imported.
#[tokio::test]
async fn imported_session_copied_is_left_alone_by_scripts() {
    let play = start_with_script().await;
    let begun = play.server.post(&format!("/api/sessions/{}/copies", play.sid), &json!({})).await;
    let made = play.server.wait_for_job(begun["jobId"].as_str().unwrap()).await;
    let file = play.server.request("GET", &format!("/api/sessions/{}/export", play.sid)).send().await;
    assert_eq!(file.status, 200, "{}", file.text());
    let sent = play.server.request("POST", "/api/sessions/import").bytes(&file.body, "application/zstd").send().await;
    let read = play.server.wait_for_job(sent.expect(202)["jobId"].as_str().unwrap()).await;
    let ids = [&made, &read].map(|job| job["result"]["sessionId"].as_str().unwrap().to_owned());
    let mut play = play;
    for sid in ids {
        assert_ne!(sid, play.sid);
        play.sid = sid;
        let leaf = play.head().await;
        let provenance = play.get(&format!("node/{leaf}")).await["metadata"]["provenance"].clone();
        assert!(provenance["file"].is_string() && provenance["nodeId"].is_string(), "{provenance}");
        assert_import_left_alone(&play, &leaf).await;
    }
}
