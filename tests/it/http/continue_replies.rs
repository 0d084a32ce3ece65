//! Replies that continue the text of another reply.

use super::api_session::ApiSession;
use super::*;
use crate::support::socket::Socket;

/// Starts a session with half a reply.
async fn start_with_partial_reply(reply: Reply) -> (ApiSession, api_session::TurnIds) {
    let play = ApiSession::start().await;
    play.server.mock().queue_reply(reply);
    let said = play.run_turn("Light the lamp.").await;
    (play, said)
}

/// Continues a reply and returns the placeholder.
async fn continue_reply(play: &ApiSession, reply: &str, body: Value) -> Value {
    let started = play.post(&format!("node/{reply}/continue"), body).await;
    assert_eq!(started["node"], Value::Null, "nothing else is written");
    started["generations"][0].clone()
}

/// Returns the text of a reply from a socket up to its end, and checks the offset of each piece.
async fn read_reply_text(socket: &mut Socket, reply: &str) -> String {
    let frames =
        socket.read_until(|frame| frame["type"] == "node.completed" && frame["node"]["id"] == json!(reply)).await;
    let mut text = String::new();
    for frame in frames.iter().filter(|frame| frame["type"] == "node.content.updated" && frame["id"] == json!(reply)) {
        assert_eq!(frame["offset"], json!(text.encode_utf16().count()), "{frame}");
        text += frame["contentChunk"].as_str().unwrap();
    }
    text
}

/// `domain.md` 5.8, S4-46: continuing a truncated reply adds a sibling that starts with its text. The model is asked
/// with that text as its own last message, and its answer follows. The old reply is unchanged.
#[tokio::test]
async fn continue_adds_swipe_with_old_text_prefilled() {
    let (play, said) = start_with_partial_reply(Reply::ok(["She lights 🌙"]).finish_reason("length")).await;
    let before = play.get(&format!("node/{}", said.reply)).await;
    let mut tab = play.server.open_socket(&play.sid, None).await;
    play.server.mock().queue_reply(Reply::ok([" the", " lamp."]));
    let placeholder = continue_reply(&play, &said.reply, json!({"params": {"temperature": 0.5}})).await;
    let longer = id_of(&placeholder);
    assert_eq!(read_reply_text(&mut tab, &longer).await, "She lights 🌙 the lamp.");
    let node = play.wait_for_reply(&longer).await;
    assert_eq!((&node["content"], &node["parentId"]), (&json!("She lights 🌙 the lamp."), &before["parentId"]));
    let metadata = &node["metadata"];
    assert_eq!((&metadata["continuedFrom"], &metadata["isTruncated"]), (&json!(said.reply), &json!(false)));
    assert_eq!(metadata["params"]["temperature"], 0.5);
    let mut after = play.get(&format!("node/{}", said.reply)).await;
    after["siblings"] = before["siblings"].clone();
    assert_eq!(after, before);
    assert_eq!(play.head().await, longer);

    let request = play.server.mock().requests().pop().unwrap();
    let last = request["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(last, &json!({"role": "assistant", "content": "She lights 🌙"}));
    let trace = play.get(&format!("node/{longer}/trace")).await;
    assert_eq!((&trace["isExact"], &trace["messages"]), (&json!(true), &request["messages"]));
    // The next prompt has the longer text, once.
    play.run_turn("Good.").await;
    let next = play.server.mock().requests().pop().unwrap()["messages"].to_string();
    assert_eq!(next.matches("She lights").count(), 1, "{next}");
}

/// Some servers repeat the whole text: neither watchers nor the node get it twice.
#[tokio::test]
async fn continue_with_echoed_text_does_not_double_it() {
    let (play, said) = start_with_partial_reply(Reply::ok(["She lights"])).await;
    for (pieces, whole) in [
        (vec!["She li", "ghts", " the lamp."], "She lights the lamp."),
        (vec!["She lights the lamp."], "She lights the lamp."),
        (vec!["She", " says."], "She lightsShe says."),
    ] {
        play.server.mock().queue_reply(Reply::ok(pieces));
        let mut tab = play.server.open_socket(&play.sid, None).await;
        let longer = id_of(&continue_reply(&play, &said.reply, json!({})).await);
        assert_eq!(read_reply_text(&mut tab, &longer).await, whole);
        assert_eq!(play.wait_for_reply(&longer).await["content"], whole);
    }
}

/// `domain.md` 5.5, 5.6: an interrupted reply can be continued too, also after a restart. A continued reply that is cut
/// again keeps all of its text.
#[tokio::test]
async fn continue_after_interrupt_or_cancel_keeps_all_text() {
    let gate = Gate::new();
    let play = ApiSession::start().await;
    play.server.mock().queue_reply(Reply::ok(["She", " never"]).gate(&gate));
    let body = json!({"parentId": play.head().await, "content": "Light the lamp.", "generate": true});
    let reply = id_of(&play.post("message", body).await["generations"][0]);
    let mut tab = play.server.open_socket(&play.sid, Some(0)).await;
    gate.release(1);
    tab.read_until_type("node.content.updated").await;
    drop(tab);
    let play = play.restart().await;
    let broken = play.get(&format!("node/{reply}")).await;
    assert_eq!((&broken["metadata"]["error"]["code"], &broken["content"]), (&json!("interrupted"), &json!("She")));

    let gate = Gate::new();
    play.server.mock().queue_reply(Reply::ok([" lights", " never"]).gate(&gate));
    let second = id_of(&continue_reply(&play, &reply, json!({})).await);
    let mut tab = play.server.open_socket(&play.sid, None).await;
    gate.release(1);
    let piece = tab.read_until_type("node.content.updated").await.pop().unwrap();
    assert_eq!((&piece["offset"], &piece["contentChunk"]), (&json!(3), &json!(" lights")));
    tab.send(&json!({"type": "resume", "id": second, "offset": 0})).await;
    let whole = tab.read_until_type("node.content.updated").await.pop().unwrap();
    assert_eq!((&whole["offset"], &whole["contentChunk"]), (&json!(0), &json!("She lights")));
    play.post(&format!("node/{second}/cancel"), json!({})).await;
    let second = play.wait_for_reply(&second).await;
    assert_eq!((&second["status"], &second["content"]), (&json!("complete"), &json!("She lights")));
    assert_eq!(second["metadata"]["finishReason"], "cancelled");

    play.server.mock().queue_reply(Reply::ok([" the lamp"]).then_cut());
    let third = play.wait_for_reply(&id_of(&continue_reply(&play, &id_of(&second), json!({})).await)).await;
    assert_eq!((&third["status"], &third["content"]), (&json!("error"), &json!("She lights the lamp")));
    play.server.mock().queue_reply(Reply::ok(["."]));
    let fourth = play.wait_for_reply(&id_of(&continue_reply(&play, &id_of(&third), json!({})).await)).await;
    assert_eq!((&fourth["status"], &fourth["content"]), (&json!("complete"), &json!("She lights the lamp.")));
    assert_eq!(fourth["siblings"]["count"], 4);
}

/// Only a reply with text can be continued, and only by a model.
#[tokio::test]
async fn continue_without_reply_text_or_model_is_refused() {
    let (play, said) = start_with_partial_reply(Reply::ok([""; 0])).await;
    let refused = async |node: &str, code: &str| {
        play.expect_error("POST", &format!("node/{node}/continue"), json!({}), code).await["message"].to_string()
    };
    assert!(refused(&said.user_node, "conflict").await.contains("only a reply"));
    assert!(refused(&said.reply, "conflict").await.contains("no text"));
    let gate = Gate::new();
    play.server.mock().queue_reply(Reply::ok(["Wait."]).gate(&gate));
    let running = id_of(&play.post(&format!("node/{}/reroll", said.reply), json!({})).await["generations"][0]);
    refused(&running, "generating").await;
    gate.open();
    play.wait_for_reply(&running).await;
    let narrator = json!({"model": "plugin:lantern-keep"});
    let error = play.expect_error("POST", &format!("node/{running}/continue"), narrator, "invalid").await;
    assert_eq!(error["details"]["field"], "model");
    let nobody =
        play.expect_error("POST", &format!("node/{running}/continue"), json!({"model": "nobody/x"}), "invalid").await;
    assert_eq!(nobody["details"]["field"], "model");
}

/// A model that adds nothing gives an error, and the text is kept for the next try.
#[tokio::test]
async fn continue_without_new_text_gives_empty_reply_error() {
    let (play, said) = start_with_partial_reply(Reply::ok(["She lights the lamp."])).await;
    play.server.mock().queue_reply(Reply::ok(["She lights the lamp."]));
    let node = play.wait_for_reply(&id_of(&continue_reply(&play, &said.reply, json!({})).await)).await;
    assert_eq!((&node["status"], &node["metadata"]["error"]["code"]), (&json!("error"), &json!("empty_reply")));
    assert_eq!(node["content"], "She lights the lamp.");
    assert_eq!(play.head().await, said.reply);
}

/// A greeting can be written anew by the model, below the root, and continued, as in SillyTavern.
#[tokio::test]
async fn greeting_is_regenerated_and_continued() {
    let play = ApiSession::start().await;
    let greeting = play.head().await;
    let root = play.session().await["rootNodeId"].clone();
    play.server.mock().queue_reply(Reply::ok(["Good evening."]));
    let other = play.regenerate_and_wait(&greeting).await;
    let node = play.get(&format!("node/{other}")).await;
    assert_eq!((&node["content"], &node["parentId"]), (&json!("Good evening."), &root));
    let request = play.server.mock().requests().pop().unwrap();
    assert!(!request.to_string().contains("Hello."), "{request}");
    play.server.mock().queue_reply(Reply::ok([" Who are you?"]));
    let longer = id_of(&continue_reply(&play, &greeting, json!({})).await);
    let node = play.wait_for_reply(&longer).await;
    assert_eq!((&node["content"], &node["parentId"]), (&json!("Hello. Who are you?"), &root));
    // The story goes on below either.
    let said = play.run_turn_at(&other, "I sit down.").await;
    assert!(play.projection_ids(&said.reply).await.contains(&other));
    play.expect_error("POST", &format!("node/{}/reroll", root.as_str().unwrap()), json!({}), "conflict").await;
}
