//! Drafts, which are texts of a model that become no node: events, reading, cancelling, deleting, and no trace in the
//! tree.

use super::api_session::ApiSession;
use super::*;
use crate::support::socket::Socket;

/// Requests a draft and returns its id.
async fn draft(play: &ApiSession, what: &str, body: Value) -> String {
    play.post(what, body).await["draftId"].as_str().unwrap().to_owned()
}

fn is_of(draft: &str) -> impl Fn(&Value) -> bool {
    move |frame| frame["type"] == "draft.updated" && frame["id"] == json!(draft)
}

/// Returns the text of a draft from a socket up to its end, and the last frame. Checks the offset of each piece.
async fn heard(socket: &mut Socket, draft: &str) -> (String, Value) {
    let mut text = String::new();
    loop {
        let frame = socket.until(is_of(draft)).await.pop().unwrap();
        assert_eq!(frame["offset"], json!(text.encode_utf16().count()), "{frame}");
        text += frame["contentChunk"].as_str().unwrap();
        if frame["status"] == "done" || frame["status"] == "error" {
            return (text, frame);
        }
    }
}

/// Waits for the end of a draft without a socket.
async fn ended(play: &ApiSession, id: &str) -> Value {
    let mut tab = play.app.socket(&play.sid, None).await;
    let now = play.get(&format!("draft/{id}")).await;
    if now["status"] != "done" && now["status"] != "error" {
        tab.until(|frame| is_of(id)(frame) && (frame["status"] == "done" || frame["status"] == "error")).await;
    }
    play.get(&format!("draft/{id}")).await
}

/// `domain.md` 5.8: the model drafts the user's next message. Every tab gets it piece by piece, a later reader gets all
/// of it, and the tree is unchanged.
#[tokio::test]
async fn impersonate_streams_draft_without_writing_nodes() {
    // Start a draft and read its first pieces.
    let play = ApiSession::start().await;
    let said = play.say("Hi.").await;
    let before = (play.session().await, play.nodes().await);
    let gate = Gate::new();
    let pieces = ["I light", " the 🌙", " lamp."];
    play.app.mock().script(Reply::ok(pieces).gated(&gate));
    let mut one = play.app.socket(&play.sid, None).await;
    let id = draft(&play, "impersonate", json!({"params": {"temperature": 0.3}})).await;
    gate.release(2);
    one.until(|frame| is_of(&id)(frame) && frame["contentChunk"] != "").await;
    drop(one);
    // A tab that joins in the middle gets all of it.
    let mut two = play.app.socket(&play.sid, None).await;
    let first = two.until(is_of(&id)).await.pop().unwrap();
    assert_eq!(first["offset"], 0);
    drop(two);
    let mut three = play.app.socket(&play.sid, None).await;
    gate.open();
    let (text, last) = heard(&mut three, &id).await;
    assert_eq!((text.as_str(), &last["status"]), (pieces.concat().as_str(), &json!("done")));
    let kept = play.get(&format!("draft/{id}")).await;
    let expected = json!({"id": id, "kind": "impersonate", "status": "done", "queuePosition": null,
        "content": pieces.concat(), "model": "mock/mock", "error": null});
    assert_eq!(kept, expected);
    assert_eq!((play.session().await, play.nodes().await), before, "nothing was written");

    let request = play.app.mock().requests().pop().unwrap();
    let messages = request["messages"].as_array().unwrap();
    let last = messages.last().unwrap();
    assert_eq!((&last["role"], &request["temperature"]), (&json!("user"), &json!(0.3)));
    assert!(last["content"].as_str().unwrap().contains("next message of You"), "{last}");
    assert!(messages.iter().any(|one| one["content"] == "Hi."));
    // After the end a new tab hears nothing of the draft, and it can be deleted.
    let mut four = play.app.socket(&play.sid, None).await;
    four.say(&json!({"type": "ping"})).await;
    assert_eq!(crate::support::socket::types(&four.until_type("pong").await), ["hello", "pong"]);
    let path = play.chat(&format!("draft/{id}"));
    assert_eq!(play.app.ask("DELETE", &path).send().await.status, 204);
    play.app.ask("GET", &path).send().await.refused("not_found");
    // The leaf decides the history: at the user's own message the reply is left out.
    let there = draft(&play, "impersonate", json!({"leafId": said.user})).await;
    ended(&play, &there).await;
    let messages = play.app.mock().requests().pop().unwrap()["messages"].to_string();
    assert!(messages.contains("Hi.") && !messages.contains("she waits"), "{messages}");
}

/// `domain.md` 2.12: a run of one branch is summarised from its enabled texts with their speakers, and nothing is
/// written. Anything but a run is refused.
#[tokio::test]
async fn summarise_draft_of_run_sends_enabled_messages_only() {
    let play = ApiSession::start().await;
    // Three turns, with a disabled reply.
    let first = play.say("One.").await;
    play.app.mock().script(Reply::ok(["Two."]));
    let second = play.say("And?").await;
    let off = json!({"isEnabled": false});
    play.app.put(&play.chat(&format!("node/{}/state", first.reply)), &off).await;
    // A manual change in between is no message.
    let change = json!({"operations": [{"op": "set", "path": "/a", "value": 1}]});
    let change = id(&play.post(&format!("node/{}/world", second.reply), change).await["node"]);
    play.app.mock().script(Reply::ok(["Three."]));
    let third = play.say_to(&change, "And then?").await;
    let before = (play.session().await, play.nodes().await);
    // Summarise the whole run.
    play.app.mock().script(Reply::ok(["They counted."]));
    let run = [&first.user, &first.reply, &second.user, &second.reply, &third.user, &third.reply];
    let draft = draft(&play, "summarise", json!({"nodeIds": run})).await;
    let done = ended(&play, &draft).await;
    assert_eq!((&done["kind"], &done["content"]), (&json!("summarise"), &json!("They counted.")));
    assert_eq!((play.session().await, play.nodes().await), before, "tree/edit would write it");
    let request = play.app.mock().requests().pop().unwrap();
    let messages = request["messages"].as_array().unwrap();
    assert_eq!(messages.iter().map(|one| &one["role"]).collect::<Vec<_>>(), ["system", "user"]);
    assert_eq!(messages[1]["content"], "You: One.\n\nYou: And?\n\nRin: Two.\n\nYou: And then?\n\nRin: Three.");

    // The same nodes in another order give the same request.
    play.app.mock().script(Reply::ok(["Again."]));
    let mixed = [&third.user, &first.reply, &change, &second.reply, &third.reply, &second.user, &first.user];
    let again = play.post("summarise", json!({"nodeIds": mixed})).await["draftId"].clone();
    ended(&play, again.as_str().unwrap()).await;
    assert_eq!(play.app.mock().requests().pop().unwrap()["messages"], request["messages"], "as tree/edit takes it");

    // Invalid and unknown nodes are refused.
    let refused = async |ids: Value, code: &str| play.refused("POST", "summarise", json!({"nodeIds": ids}), code).await;
    for ids in [
        json!([]),
        json!([first.user, second.user]),
        json!([first.user, first.user]),
        json!([change]),
        json!([play.session().await["rootNodeId"]]),
        json!([first.reply]),
    ] {
        assert_eq!(refused(ids, "invalid").await["details"]["field"], "nodeIds");
    }
    let nobody = json!([first.user, "018f3e2a-0000-7000-8000-0000000000aa"]);
    assert_eq!(refused(nobody, "not_found").await["details"]["field"], "nodeIds[1]");
    let nobody = json!({"leafId": "018f3e2a-0000-7000-8000-0000000000aa"});
    assert_eq!(play.refused("POST", "impersonate", nobody, "not_found").await["details"]["field"], "leafId");
    let narrator = json!({"model": "plugin:lantern-keep"});
    assert_eq!(play.refused("POST", "impersonate", narrator, "invalid").await["details"]["field"], "model");
}

/// S4-07: drafts share the queue and the limits of replies. A running or waiting one can be cancelled, a failure has a
/// hint, and a shutdown ends them.
#[tokio::test]
async fn drafts_share_queue_limit_and_can_be_cancelled() {
    let limits = TestApp::with().set("limits.generations_per_user", "1").set("limits.waiting_per_user", "1");
    let play = ApiSession::with(limits, json!({})).await;
    let gate = Gate::new();
    play.app.mock().script(Reply::ok(["Half", " a loaf."]).gated(&gate));
    let mut tab = play.app.socket(&play.sid, None).await;
    let running = draft(&play, "impersonate", json!({})).await;
    gate.release(1);
    tab.until(|frame| is_of(&running)(frame) && frame["contentChunk"] == "Half").await;
    let waiting = draft(&play, "impersonate", json!({})).await;
    let frame = tab.until(is_of(&waiting)).await.pop().unwrap();
    assert_eq!((&frame["status"], &frame["queuePosition"]), (&json!("queued"), &json!(1)));
    play.refused("POST", "impersonate", json!({}), "too_many_generating").await;
    let more = json!({"parentId": play.head().await, "content": "Hi.", "generate": true});
    play.refused("POST", "message", more, "too_many_generating").await;
    for (id, code, text) in [(&waiting, json!("cancelled"), ""), (&running, Value::Null, "Half")] {
        let heard = play.app.ask("DELETE", &play.chat(&format!("draft/{id}"))).send().await;
        assert_eq!(heard.status, 204);
        let end = ended(&play, id).await;
        assert_eq!((&end["error"]["code"], &end["content"]), (&code, &json!(text)), "{end}");
    }
    play.app.mock().until_aborted(1).await;
    play.app.mock().script(Reply::ok([""; 0]));
    let empty = draft(&play, "impersonate", json!({})).await;
    let empty = ended(&play, &empty).await;
    assert_eq!((&empty["status"], &empty["error"]["code"]), (&json!("error"), &json!("empty_reply")));
    play.app.mock().script(Reply::ok(["Half"]).then_stall());
    let lost = draft(&play, "impersonate", json!({})).await;
    play.app.mock().until_requests(3).await;
    let play = play.restart().await;
    play.app.ask("GET", &play.chat(&format!("draft/{lost}"))).send().await.refused("not_found");
}

/// A draft belongs to its owner and its session, and only a limited number of finished ones is kept.
#[tokio::test]
async fn drafts_are_limited_and_private_to_owner() {
    let play = ApiSession::start().await;
    let mut all = Vec::new();
    for _ in 0..34 {
        let id = draft(&play, "impersonate", json!({})).await;
        ended(&play, &id).await;
        all.push(id);
    }
    let status = async |id: &str| play.app.ask("GET", &play.chat(&format!("draft/{id}"))).send().await.status;
    assert_eq!((status(&all[0]).await, status(&all[1]).await, status(&all[33]).await), (404, 200, 200));
    let other = id(&play.app.session().await);
    play.app.ask("GET", &format!("/api/chat/{other}/draft/{}", all[33])).send().await.refused("not_found");
    let stranger = play.app.stranger().await.user;
    let (session, draft) = (play.sid.parse().unwrap(), all[33].parse().unwrap());
    assert!(play.app.inside().live.draft(stranger, session, draft).is_none());
}
