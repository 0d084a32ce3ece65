//! Drafts, which are texts of a model that become no node: events, reading, cancelling, deleting, and no trace in the
//! tree.

use super::api_session::ApiSession;
use super::*;
use crate::support::socket::Socket;

/// Requests a draft and returns its id.
async fn request_draft(play: &ApiSession, what: &str, body: Value) -> String {
    play.post(what, body).await["draftId"].as_str().unwrap().to_owned()
}

fn is_update_of(draft: &str) -> impl Fn(&Value) -> bool {
    move |frame| frame["type"] == "draft.updated" && frame["id"] == json!(draft)
}

/// Returns the text of a draft from a socket up to its end, and the last frame. Checks the offset of each piece.
async fn read_draft(socket: &mut Socket, draft: &str) -> (String, Value) {
    let mut text = String::new();
    loop {
        let frame = socket.read_until(is_update_of(draft)).await.pop().unwrap();
        assert_eq!(frame["offset"], json!(text.encode_utf16().count()), "{frame}");
        text += frame["contentChunk"].as_str().unwrap();
        if frame["status"] == "done" || frame["status"] == "error" {
            return (text, frame);
        }
    }
}

/// Waits for the end of a draft without a socket.
async fn wait_for_draft(play: &ApiSession, id: &str) -> Value {
    let mut tab = play.server.open_socket(&play.sid, None).await;
    let now = play.get(&format!("draft/{id}")).await;
    if now["status"] != "done" && now["status"] != "error" {
        tab.read_until(|frame| is_update_of(id)(frame) && (frame["status"] == "done" || frame["status"] == "error"))
            .await;
    }
    play.get(&format!("draft/{id}")).await
}

/// `domain.md` 5.8: the model drafts the user's next message. Every tab gets it piece by piece, a later reader gets all
/// of it, and the tree is unchanged.
#[tokio::test]
async fn impersonate_streams_draft_without_writing_nodes() {
    // Start a draft and read its first pieces.
    let play = ApiSession::start().await;
    let said = play.run_turn("Hi.").await;
    let before = (play.session().await, play.nodes().await);
    let gate = Gate::new();
    let pieces = ["I light", " the 🌙", " lamp."];
    play.server.mock().queue_reply(Reply::ok(pieces).gate(&gate));
    let mut one = play.server.open_socket(&play.sid, None).await;
    let id = request_draft(&play, "impersonate", json!({"params": {"temperature": 0.3}})).await;
    gate.release(2);
    one.read_until(|frame| is_update_of(&id)(frame) && frame["contentChunk"] != "").await;
    drop(one);
    // A tab that joins in the middle gets all of it.
    let mut two = play.server.open_socket(&play.sid, None).await;
    let first = two.read_until(is_update_of(&id)).await.pop().unwrap();
    assert_eq!(first["offset"], 0);
    drop(two);
    let mut three = play.server.open_socket(&play.sid, None).await;
    gate.open();
    let (text, last) = read_draft(&mut three, &id).await;
    assert_eq!((text.as_str(), &last["status"]), (pieces.concat().as_str(), &json!("done")));
    let kept = play.get(&format!("draft/{id}")).await;
    let expected = json!({"id": id, "kind": "impersonate", "status": "done", "queuePosition": null,
        "content": pieces.concat(), "model": "mock/mock", "error": null});
    assert_eq!(kept, expected);
    assert_eq!((play.session().await, play.nodes().await), before, "nothing was written");

    let request = play.server.mock().requests().pop().unwrap();
    let messages = request["messages"].as_array().unwrap();
    let last = messages.last().unwrap();
    assert_eq!((&last["role"], &request["temperature"]), (&json!("user"), &json!(0.3)));
    assert!(last["content"].as_str().unwrap().contains("next message of You"), "{last}");
    assert!(messages.iter().any(|one| one["content"] == "Hi."));
    // After the end a new tab hears nothing of the draft, and it can be deleted.
    let mut four = play.server.open_socket(&play.sid, None).await;
    four.send(&json!({"type": "ping"})).await;
    assert_eq!(crate::support::socket::frame_types(&four.read_until_type("pong").await), ["hello", "pong"]);
    let path = play.chat_path(&format!("draft/{id}"));
    assert_eq!(play.server.request("DELETE", &path).send().await.status, 204);
    play.server.request("GET", &path).send().await.expect_error("not_found");
    // The leaf decides the history: at the user's own message the reply is left out.
    let there = request_draft(&play, "impersonate", json!({"leafId": said.user_node})).await;
    wait_for_draft(&play, &there).await;
    let messages = play.server.mock().requests().pop().unwrap()["messages"].to_string();
    assert!(messages.contains("Hi.") && !messages.contains("she waits"), "{messages}");
}

/// `domain.md` 2.12: a run of one branch is summarised from its enabled texts with their speakers, and nothing is
/// written. Anything but a run is refused.
#[tokio::test]
async fn summarise_draft_of_run_sends_enabled_messages_only() {
    let play = ApiSession::start().await;
    // Three turns, with a disabled reply.
    let first = play.run_turn("One.").await;
    play.server.mock().queue_reply(Reply::ok(["Two."]));
    let second = play.run_turn("And?").await;
    let off = json!({"isEnabled": false});
    play.server.put(&play.chat_path(&format!("node/{}/state", first.reply)), &off).await;
    // A manual change in between is no message.
    let change = json!({"operations": [{"op": "set", "path": "/a", "value": 1}]});
    let change = id_of(&play.post(&format!("node/{}/world", second.reply), change).await["node"]);
    play.server.mock().queue_reply(Reply::ok(["Three."]));
    let third = play.run_turn_at(&change, "And then?").await;
    let before = (play.session().await, play.nodes().await);
    // Summarise the whole run.
    play.server.mock().queue_reply(Reply::ok(["They counted."]));
    let run = [&first.user_node, &first.reply, &second.user_node, &second.reply, &third.user_node, &third.reply];
    let draft = request_draft(&play, "summarise", json!({"nodeIds": run})).await;
    let done = wait_for_draft(&play, &draft).await;
    assert_eq!((&done["kind"], &done["content"]), (&json!("summarise"), &json!("They counted.")));
    assert_eq!((play.session().await, play.nodes().await), before, "tree/edit would write it");
    let request = play.server.mock().requests().pop().unwrap();
    let messages = request["messages"].as_array().unwrap();
    assert_eq!(messages.iter().map(|one| &one["role"]).collect::<Vec<_>>(), ["system", "user"]);
    assert_eq!(messages[1]["content"], "You: One.\n\nYou: And?\n\nRin: Two.\n\nYou: And then?\n\nRin: Three.");

    // The same nodes in another order give the same request.
    play.server.mock().queue_reply(Reply::ok(["Again."]));
    let mixed =
        [&third.user_node, &first.reply, &change, &second.reply, &third.reply, &second.user_node, &first.user_node];
    let again = play.post("summarise", json!({"nodeIds": mixed})).await["draftId"].clone();
    wait_for_draft(&play, again.as_str().unwrap()).await;
    assert_eq!(play.server.mock().requests().pop().unwrap()["messages"], request["messages"], "as tree/edit takes it");

    // Invalid and unknown nodes are refused.
    let refused =
        async |ids: Value, code: &str| play.expect_error("POST", "summarise", json!({"nodeIds": ids}), code).await;
    for ids in [
        json!([]),
        json!([first.user_node, second.user_node]),
        json!([first.user_node, first.user_node]),
        json!([change]),
        json!([play.session().await["rootNodeId"]]),
        json!([first.reply]),
    ] {
        assert_eq!(refused(ids, "invalid").await["details"]["field"], "nodeIds");
    }
    let nobody = json!([first.user_node, "018f3e2a-0000-7000-8000-0000000000aa"]);
    assert_eq!(refused(nobody, "not_found").await["details"]["field"], "nodeIds[1]");
    let nobody = json!({"leafId": "018f3e2a-0000-7000-8000-0000000000aa"});
    assert_eq!(play.expect_error("POST", "impersonate", nobody, "not_found").await["details"]["field"], "leafId");
    let narrator = json!({"model": "plugin:lantern-keep"});
    assert_eq!(play.expect_error("POST", "impersonate", narrator, "invalid").await["details"]["field"], "model");
}

/// S4-07: drafts share the queue and the limits of replies. A running or waiting one can be cancelled, a failure has a
/// hint, and a shutdown ends them.
#[tokio::test]
async fn drafts_share_queue_limit_and_can_be_cancelled() {
    let limits = TestApp::setup().set("limits.generations_per_user", "1").set("limits.waiting_per_user", "1");
    let play = ApiSession::start_with(limits, json!({})).await;
    let gate = Gate::new();
    play.server.mock().queue_reply(Reply::ok(["Half", " a loaf."]).gate(&gate));
    let mut tab = play.server.open_socket(&play.sid, None).await;
    let running = request_draft(&play, "impersonate", json!({})).await;
    gate.release(1);
    tab.read_until(|frame| is_update_of(&running)(frame) && frame["contentChunk"] == "Half").await;
    let waiting = request_draft(&play, "impersonate", json!({})).await;
    let frame = tab.read_until(is_update_of(&waiting)).await.pop().unwrap();
    assert_eq!((&frame["status"], &frame["queuePosition"]), (&json!("queued"), &json!(1)));
    play.expect_error("POST", "impersonate", json!({}), "too_many_generating").await;
    let more = json!({"parentId": play.head().await, "content": "Hi.", "generate": true});
    play.expect_error("POST", "message", more, "too_many_generating").await;
    for (id, code, text) in [(&waiting, json!("cancelled"), ""), (&running, Value::Null, "Half")] {
        let heard = play.server.request("DELETE", &play.chat_path(&format!("draft/{id}"))).send().await;
        assert_eq!(heard.status, 204);
        let end = wait_for_draft(&play, id).await;
        assert_eq!((&end["error"]["code"], &end["content"]), (&code, &json!(text)), "{end}");
    }
    play.server.mock().wait_for_aborted_replies(1).await;
    play.server.mock().queue_reply(Reply::ok([""; 0]));
    let empty = request_draft(&play, "impersonate", json!({})).await;
    let empty = wait_for_draft(&play, &empty).await;
    assert_eq!((&empty["status"], &empty["error"]["code"]), (&json!("error"), &json!("empty_reply")));
    play.server.mock().queue_reply(Reply::ok(["Half"]).then_stall());
    let lost = request_draft(&play, "impersonate", json!({})).await;
    play.server.mock().wait_for_requests(3).await;
    let play = play.restart().await;
    play.server.request("GET", &play.chat_path(&format!("draft/{lost}"))).send().await.expect_error("not_found");
}

/// A draft belongs to its owner and its session, and only a limited number of finished ones is kept.
#[tokio::test]
async fn drafts_are_limited_and_private_to_owner() {
    let play = ApiSession::start().await;
    let mut all = Vec::new();
    for _ in 0..34 {
        let id = request_draft(&play, "impersonate", json!({})).await;
        wait_for_draft(&play, &id).await;
        all.push(id);
    }
    let status =
        async |id: &str| play.server.request("GET", &play.chat_path(&format!("draft/{id}"))).send().await.status;
    assert_eq!((status(&all[0]).await, status(&all[1]).await, status(&all[33]).await), (404, 200, 200));
    let other = id_of(&play.server.create_session().await);
    play.server.request("GET", &format!("/api/chat/{other}/draft/{}", all[33])).send().await.expect_error("not_found");
    let stranger = play.server.create_other_user().await.user;
    let (session, draft) = (play.sid.parse().unwrap(), all[33].parse().unwrap());
    assert!(play.server.app().live.draft(stranger, session, draft).is_none());
}
