//! Queued replies: what is reported of them, the order in which they start, and that only a user or a shutdown ends
//! them early.

use super::api_session::ApiSession;
use super::*;

/// Starts a program in which one reply runs at a time.
async fn start_with_one_generation() -> ApiSession {
    ApiSession::start_with(TestApp::setup().set("limits.generations_per_user", "1"), json!({})).await
}

/// Sends a message with one reply below a node and returns the reply's id.
async fn start_turn_at(play: &ApiSession, parent: &str, text: &str) -> String {
    let body = json!({"parentId": parent, "content": text, "generate": true});
    id_of(&play.post("message", body).await["generations"][0])
}

/// Returns the last message of each model request.
fn last_message_per_request(play: &ApiSession) -> Vec<String> {
    let last =
        |body: &Value| body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
    play.server.mock().requests().iter().map(last).collect()
}

fn queue_status(node: &Value) -> (&Value, &Value) {
    (&node["metadata"]["phase"], &node["metadata"]["queuePosition"])
}

/// S4-07, S4-11, S4-33, S4-45, S4-46, S4-47: replies over the limit are accepted and wait. Every tab gets their
/// positions, then the text without a gap, then the end once. A waiting reply can be cancelled, and no model is asked
/// for it.
#[tokio::test]
async fn reply_queue_reports_positions_and_allows_cancel() {
    // Start three replies; one runs and two wait.
    let play = start_with_one_generation().await;
    let gate = Gate::new();
    play.server.mock().set_default_reply(Reply::ok(["One ", "by ", "one."]).gate(&gate));
    let greeting = play.head().await;
    let before = play.session().await["op"].as_i64().unwrap();
    let mut tab = play.server.open_socket(&play.sid, None).await;
    let mut replies = Vec::new();
    for n in 0..3 {
        replies.push(start_turn_at(&play, &greeting, &format!("{n}?")).await);
    }
    play.server.mock().wait_for_requests(1).await;
    let places = [json!("waiting"), json!("queued"), json!("queued")];
    for (n, reply) in replies.iter().enumerate() {
        let node = play.get(&format!("node/{reply}")).await;
        let place = if n == 0 { Value::Null } else { json!(n) };
        assert_eq!((queue_status(&node), &node["status"]), ((&places[n], &place), &json!("generating")));
    }
    // Positions reported together come in any order.
    let mut heard = std::collections::BTreeSet::new();
    while heard.len() < 2 {
        let told = tab.read_until(|frame| frame["queuePosition"].is_u64()).await.pop().unwrap();
        heard.insert((told["queuePosition"].as_u64(), id_of(&told)));
    }
    assert_eq!(heard.into_iter().map(|(_, reply)| reply).collect::<Vec<_>>(), replies[1..]);

    // The second reply is cancelled while it waits: the third moves up, and the model never gets the second.
    play.post(&format!("node/{}/cancel", replies[1]), json!({})).await;
    let stopped = play.wait_for_reply(&replies[1]).await;
    assert_eq!((&stopped["status"], &stopped["metadata"]["error"]["code"]), (&json!("error"), &json!("cancelled")));
    let moved = |frame: &Value| frame["id"] == json!(replies[2]) && frame["queuePosition"] == 1;
    tab.read_until(moved).await;
    // A tab that joins now gets the position too.
    let mut late = play.server.open_socket(&play.sid, Some(before)).await;
    late.read_until(moved).await;
    gate.open();
    for tab in [&mut tab, &mut late] {
        let frames =
            tab.read_until(|frame| frame["type"] == "node.completed" && frame["node"]["id"] == json!(replies[2])).await;
        let own: Vec<&Value> = frames.iter().filter(|frame| frame["id"] == json!(replies[2])).collect();
        let phases: Vec<&Value> = own.iter().filter(|f| f["type"] == "node.progress").map(|f| &f["phase"]).collect();
        assert!(phases.iter().all(|phase| **phase != "queued"), "its turn has come: {phases:?}");
        let pieces: Vec<&Value> = own.into_iter().filter(|frame| frame["type"] == "node.content.updated").collect();
        let mut text = String::new();
        for piece in pieces {
            assert_eq!(piece["offset"], json!(text.encode_utf16().count()));
            text += piece["contentChunk"].as_str().unwrap();
        }
        assert_eq!((text.as_str(), &frames.last().unwrap()["node"]["content"]), ("One by one.", &json!("One by one.")));
    }
    assert_eq!(last_message_per_request(&play), ["0?", "2?"]);
    let waited = play.get(&format!("node/{}/trace", replies[2])).await["timings"].clone();
    assert!(waited["queued"].is_u64() && waited["total"].as_u64() >= waited["queued"].as_u64(), "{waited}");
    let first = play.get(&format!("node/{}/trace", replies[0])).await["timings"].clone();
    assert!(first.get("queued").is_none(), "it began at once: {first}");
}

/// `domain.md` 5.2: the sessions of one user alternate, so that many replies in one do not hold up another.
#[tokio::test]
async fn reply_queue_alternates_between_sessions() {
    let play = start_with_one_generation().await;
    let gate = Gate::new();
    play.server.mock().set_default_reply(Reply::ok(["Yes."]).gate(&gate));
    let greeting = play.head().await;
    let many = json!({"parentId": greeting, "content": "Three?", "generate": {"n": 3}});
    let first: Vec<String> = api_session::ids_of(&play.post("message", many).await["generations"]);
    play.server.mock().wait_for_requests(1).await;
    let other = play.server.create_session().await;
    let path = format!("/api/chat/{}/message", id_of(&other));
    let two = json!({"parentId": other["activeLeafId"], "content": "Two?", "generate": {"n": 2}});
    play.server.post(&path, &two).await;
    gate.open();
    for reply in &first {
        assert_eq!(play.wait_for_reply(reply).await["content"], "Yes.");
    }
    play.server.mock().wait_for_requests(5).await;
    assert_eq!(last_message_per_request(&play), ["Three?", "Three?", "Two?", "Three?", "Two?"]);
}

/// S4-45, S4-46, S4-47: if the tab closes right after its request, the reply still waits, runs and is there on return.
#[tokio::test]
async fn reply_queue_continues_after_client_disconnects() {
    let play = start_with_one_generation().await;
    let gate = Gate::new();
    play.server.mock().set_default_reply(Reply::ok(["There ", "on return."]).gate(&gate));
    let greeting = play.head().await;
    let first = start_turn_at(&play, &greeting, "First?").await;
    play.server.mock().wait_for_requests(1).await;
    let known = play.session().await["op"].as_i64().unwrap();
    let mut watcher = play.server.open_socket(&play.sid, None).await;
    let body = json!({"parentId": greeting, "content": "Second?", "generate": true});
    let is_second = |frame: &Value| frame["type"] == "node.created" && frame["node"]["status"] == "generating";
    let mut created = Vec::new();
    // The client never reads the answer.
    let asked = play.server.request("POST", &play.chat_path("message")).json(&body);
    asked.send_and_reset(async { created = watcher.read_until(is_second).await }).await;
    let second = id_of(&created.last().unwrap()["node"]);
    drop(watcher);
    gate.open();
    play.wait_for_reply(&first).await;
    assert_eq!(play.wait_for_reply(&second).await["content"], "There on return.");
    // A returning client gets what it missed: the placeholder, the whole text, and the end once.
    let mut back = play.server.open_socket(&play.sid, Some(known)).await;
    let frames =
        back.read_until(|frame| frame["type"] == "node.completed" && frame["node"]["id"] == json!(second)).await;
    let text: String = frames
        .iter()
        .filter(|frame| frame["type"] == "node.content.updated" && frame["id"] == json!(second))
        .map(|frame| frame["contentChunk"].as_str().unwrap())
        .collect();
    assert_eq!(text, "There on return.");
}

/// S4-11, `domain.md` 5.6: a reply that waits during a shutdown is marked as interrupted and can be retried.
#[tokio::test]
async fn reply_queue_on_restart_marks_replies_interrupted() {
    let play = start_with_one_generation().await;
    let gate = Gate::new();
    play.server.mock().set_default_reply(Reply::ok(["Half", " a loaf."]).gate(&gate));
    let greeting = play.head().await;
    let running = start_turn_at(&play, &greeting, "First?").await;
    let waiting = start_turn_at(&play, &greeting, "Second?").await;
    play.server.mock().wait_for_requests(1).await;
    let play = play.restart().await;
    for reply in [&running, &waiting] {
        let node = play.get(&format!("node/{reply}")).await;
        assert_eq!((&node["status"], &node["metadata"]["error"]["code"]), (&json!("error"), &json!("interrupted")));
    }
    gate.open();
    let again = play.regenerate_and_wait(&waiting).await;
    assert_eq!(play.get(&format!("node/{again}")).await["content"], "Half a loaf.");
}
