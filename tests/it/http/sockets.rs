//! Live events over a WebSocket: nothing is missing or repeated, for late and slow readers too.

use super::api_session::{ApiSession, ids_of};
use super::*;
use crate::support::socket::{Socket, frame_types};
use crate::support::wait::wait_until;

/// Sends a message with one reply below HEAD.
async fn start_turn(play: &ApiSession, text: &str) -> (Value, String) {
    let body = json!({"parentId": play.head().await, "content": text, "generate": true});
    let started = play.post("message", body).await;
    let reply = id_of(&started["generations"][0]);
    (started, reply)
}

/// Joins the pieces of a reply by their offsets; fails at a gap or an overlap.
fn join_chunks(frames: &[Value], node: &str) -> String {
    let (mut text, mut length) = (String::new(), 0);
    for frame in frames.iter().filter(|frame| frame["type"] == "node.content.updated" && frame["id"] == node) {
        assert_eq!(frame["offset"], json!(length), "{frame}");
        let piece = frame["contentChunk"].as_str().unwrap();
        length += piece.encode_utf16().count();
        text += piece;
    }
    text
}

/// Returns the operation numbers of frames.
fn operation_numbers(frames: &[Value]) -> Vec<i64> {
    let mut ops: Vec<i64> = frames[1..].iter().filter_map(|frame| frame["op"].as_i64()).collect();
    ops.dedup();
    ops
}

fn is_completion_of(node: &str) -> impl Fn(&Value) -> bool {
    move |frame| frame["type"] == "node.completed" && frame["node"]["id"] == node
}

/// S4-45, S4-46, S4-47, C17: two tabs get the user's node and the placeholder once, then the text in pieces. Then they
/// get the whole node once and the new HEAD.
#[tokio::test]
async fn websocket_tabs_receive_whole_turn_once() {
    let play = ApiSession::start().await;
    let (mut one, mut two) =
        (play.server.open_socket(&play.sid, None).await, play.server.open_socket(&play.sid, None).await);
    let pieces = ["夜色", "渐深🌙, ", "she ", "waits."];
    play.server.mock().queue_reply(Reply::ok(pieces));
    let (started, reply) = start_turn(&play, "Hi.").await;
    for socket in [&mut one, &mut two] {
        let frames = socket.read_until(|frame| frame["type"] == "head.moved" && frame["leafId"] == json!(reply)).await;
        assert_eq!(frames[0]["type"], "hello");
        let created: Vec<&Value> = frames.iter().filter(|frame| frame["type"] == "node.created").collect();
        assert_eq!(
            created.iter().map(|frame| id_of(&frame["node"])).collect::<Vec<_>>(),
            [id_of(&started["node"]), reply.clone()]
        );
        assert_eq!(created[1]["node"]["status"], "generating");
        let at = frames.iter().position(is_completion_of(&reply)).unwrap();
        assert_eq!(frames.iter().filter(|frame| frame["type"] == "node.completed").count(), 1);
        assert_eq!(join_chunks(&frames[..at], &reply), pieces.concat());
        assert_eq!(join_chunks(&frames[at..], &reply), "", "no piece comes after the end");
        assert_eq!(frames[at]["node"]["content"], pieces.concat());
        assert_eq!(frames[at]["worldDelta"]["operations"], json!([]));
        assert_eq!(operation_numbers(&frames), [2, 3]);
        let known = ["hello", "node.created", "node.progress", "node.content.updated", "node.completed", "head.moved"];
        assert!(frame_types(&frames).iter().all(|name| known.contains(name)), "{frames:#?}");
        let last = frames.last().unwrap();
        assert_eq!(last["contextNodeId"], started["node"]["id"]);
    }
}

/// S4-32, S0-28: the request returns while the model still waits, and the placeholder is in the tree before the first
/// piece.
#[tokio::test]
async fn message_post_returns_before_model_replies() {
    let play = ApiSession::start().await;
    let gate = Gate::new();
    play.server.mock().queue_reply(Reply::ok(["Late."]).head_gate(&gate));
    let parent = play.head().await;
    let body = json!({"parentId": parent, "content": "Hi.", "generate": true});
    let heard = play.server.request("POST", &play.chat_path("message")).json(&body).send().await;
    let started = heard.expect(202);
    play.server.mock().wait_for_requests(1).await;
    let reply = id_of(&started["generations"][0]);
    assert_eq!(
        (&started["generations"][0]["status"], &started["generations"][0]["content"]),
        (&json!("generating"), &json!(""))
    );
    assert_eq!(play.nodes().await[&reply]["status"], "generating");
    assert_eq!(play.head().await, id_of(&started["node"]), "HEAD waits at the message");
    gate.open();
    assert_eq!(play.wait_for_reply(&reply).await["content"], "Late.");
    assert_eq!(play.head().await, reply);
}

/// A client that names its last operation gets every later one, in order.
#[tokio::test]
async fn websocket_resume_replays_missed_operations() {
    let play = ApiSession::start_with(TestApp::setup().set("limits.ws_queue", "16"), json!({})).await;
    let greeting = play.head().await;
    for n in 0..40 {
        let state = json!({"isEnabled": n % 2 == 1});
        play.server.put(&play.chat_path(&format!("node/{greeting}/state")), &state).await;
    }
    let said = play.run_turn("Hi.").await;
    let newest = play.session().await["op"].as_i64().unwrap();
    for since in [0, 1, 20, newest - 1] {
        let mut socket = play.server.open_socket(&play.sid, Some(since)).await;
        let frames = socket.read_until(|frame| frame["op"] == json!(newest) && frame["type"] == "head.moved").await;
        assert_eq!((&frames[0]["op"], &frames[0]["leafId"]), (&json!(newest), &json!(said.reply)));
        assert_eq!(operation_numbers(&frames), (since + 1..=newest).collect::<Vec<_>>());
        assert_eq!(frames.iter().filter(|frame| is_completion_of(&said.reply)(frame)).count(), 1);
        assert_eq!(join_chunks(&frames, &said.reply), play.get(&format!("node/{}", said.reply)).await["content"]);
    }
    // Without a number, with the newest or with a future one, only new events come.
    for since in [None, Some(newest), Some(newest + 1_000)] {
        let mut socket = play.server.open_socket(&play.sid, since).await;
        socket.send(&json!({"type": "ping"})).await;
        assert_eq!(frame_types(&socket.read_until_type("pong").await), ["hello", "pong"]);
    }
}

/// An operation on a stashed message shows nothing of it but still counts.
#[tokio::test]
async fn websocket_resume_counts_operations_on_stashed_nodes() {
    let play = ApiSession::start().await;
    let said = play.run_turn("Hi.").await;
    let before = play.session().await["op"].as_i64().unwrap();
    play.server.put(&play.chat_path(&format!("node/{}/state", said.reply)), &json!({"rating": 1})).await;
    play.edit_tree(json!([{"op": "prune", "nodeId": said.user_node}])).await;
    let newest = play.session().await["op"].as_i64().unwrap();
    let mut socket = play.server.open_socket(&play.sid, Some(before)).await;
    let frames = socket.read_until(|frame| frame["op"] == json!(newest) && frame["type"] == "head.moved").await;
    assert_eq!(operation_numbers(&frames), (before + 1..=newest).collect::<Vec<_>>());
    assert_eq!((&frames[1]["type"], &frames[1]["operation"]["op"]), (&json!("tree.changed"), &json!(before + 1)));
}

/// S4-46: a client that joins during a reply asks for the text so far, and a returning one continues where it stopped.
#[tokio::test]
async fn websocket_late_subscriber_gets_text_so_far() {
    let play = ApiSession::start().await;
    let gate = Gate::new();
    let pieces = ["First 🌙", " second", " third", " last."];
    play.server.mock().queue_reply(Reply::ok(pieces).gate(&gate));
    let before = play.session().await["op"].as_i64().unwrap();
    let mut first = play.server.open_socket(&play.sid, None).await;
    let (_, reply) = start_turn(&play, "Hi.").await;
    gate.release(2);
    let so_far = "First 🌙 second";
    let mut frames = Vec::new();
    while join_chunks(&frames, &reply) != so_far {
        frames.push(first.next_frame().await.unwrap());
    }
    drop(first);

    // A client without text asks from the start. A client that knows the log gets it unasked.
    let mut late = play.server.open_socket(&play.sid, None).await;
    late.send(&json!({"type": "resume", "id": reply, "offset": 0})).await;
    let mut late_frames = late.read_until_type("node.content.updated").await;
    assert_eq!(join_chunks(&late_frames, &reply), so_far);
    let mut caught_up = play.server.open_socket(&play.sid, Some(before)).await;
    let mut caught_frames = caught_up.read_until_type("node.content.updated").await;
    assert_eq!(join_chunks(&caught_frames, &reply), so_far);
    // A client with a part asks for the rest; offsets count UTF-16 code units.
    let mut back = play.server.open_socket(&play.sid, None).await;
    back.send(&json!({"type": "resume", "id": reply, "offset": 8})).await;
    let rest = back.read_until_type("node.content.updated").await;
    assert_eq!(rest.last().unwrap()["contentChunk"], " second");
    gate.open();
    late_frames.extend(late.read_until(is_completion_of(&reply)).await);
    caught_frames.extend(caught_up.read_until(is_completion_of(&reply)).await);
    for frames in [late_frames, caught_frames] {
        assert_eq!(join_chunks(&frames, &reply), pieces.concat());
    }
    let after = back.read_until(is_completion_of(&reply)).await;
    let mut whole = String::from(so_far);
    for frame in after.iter().filter(|frame| frame["type"] == "node.content.updated") {
        assert_eq!(frame["offset"], json!(whole.encode_utf16().count()));
        whole += frame["contentChunk"].as_str().unwrap();
    }
    assert_eq!(whole, pieces.concat());
    // A finished reply can be requested too.
    back.send(&json!({"type": "resume", "id": reply, "offset": 15})).await;
    assert_eq!(back.read_until_type("node.content.updated").await.last().unwrap()["contentChunk"], " third last.");
}

/// A slow reader holds up nobody, gets larger pieces less often, and misses nothing.
#[tokio::test]
async fn websocket_slow_reader_gets_larger_chunks() {
    let play = ApiSession::start_with(TestApp::setup().set("limits.reply_kb", "16384"), json!({})).await;
    let gate = Gate::new();
    let piece = "0123456789abcdef".repeat(1 << 10);
    play.server.mock().queue_reply(Reply::ok(vec![piece.clone(); PIECES]).gate(&gate));
    let (mut quick, mut slow) =
        (play.server.open_socket(&play.sid, None).await, play.server.open_socket(&play.sid, None).await);
    let (_, reply) = start_turn(&play, "Hi.").await;
    let mut seen = Vec::new();
    for _ in 0..PIECES {
        gate.release(1);
        seen.extend(quick.read_until_type("node.content.updated").await);
    }
    gate.open();
    seen.extend(quick.read_until(is_completion_of(&reply)).await);
    let late = slow.read_until(is_completion_of(&reply)).await;
    let count = |frames: &[Value]| frames.iter().filter(|frame| frame["type"] == "node.content.updated").count();
    assert_eq!(count(&seen), PIECES);
    assert!(count(&late) < PIECES, "{} pieces", count(&late));
    for frames in [&seen, &late] {
        assert!(join_chunks(frames, &reply) == piece.repeat(PIECES), "a gap or an overlap");
        assert_eq!(operation_numbers(frames), [2, 3]);
    }
}

/// More pieces than fit into the buffers of a local connection.
const PIECES: usize = 300;

/// A client that disconnects in the middle changes nothing, whether it asked or only watched.
#[tokio::test]
async fn websocket_disconnect_does_not_affect_reply() {
    let play = ApiSession::start().await;
    let gate = Gate::new();
    play.server.mock().queue_reply(Reply::ok(["One ", "two ", "three."]).gate(&gate));
    let mut watcher = play.server.open_socket(&play.sid, None).await;
    let mut doomed = play.server.open_socket(&play.sid, None).await;
    let body = json!({"parentId": play.head().await, "content": "Hi.", "generate": true});
    let asked = play.server.request("POST", &play.chat_path("message")).json(&body);
    // The turn has started, and the client never reads the answer.
    asked.send_and_reset(play.server.mock().wait_for_requests(1)).await;
    gate.release(1);
    doomed.read_until_type("node.content.updated").await;
    doomed.reset();
    gate.open();
    let frames = watcher.read_until_type("node.completed").await;
    let reply = id_of(&frames.last().unwrap()["node"]);
    assert_eq!(join_chunks(&frames, &reply), "One two three.");
    watcher.read_until_type("head.moved").await;
    assert_eq!(play.head().await, reply);
    let node = play.get(&format!("node/{reply}")).await;
    assert_eq!((&node["status"], &node["content"]), (&json!("complete"), &json!("One two three.")));
    assert_eq!(play.server.mock().aborted_count(), 0);
}

/// S4-48: enabling or disabling nodes, one or many, is sent to all tabs once, in one frame.
#[tokio::test]
async fn websocket_node_state_changes_sent_once() {
    let play = ApiSession::start().await;
    let said = play.run_turn("Hi.").await;
    let (mut one, mut two) =
        (play.server.open_socket(&play.sid, None).await, play.server.open_socket(&play.sid, None).await);
    let path = play.chat_path(&format!("node/{}/state", said.reply));
    let off = play.server.put(&path, &json!({"isEnabled": false, "rating": 4})).await;
    // Repeating it is no change, and nothing is sent.
    assert_eq!(play.server.put(&path, &json!({"isEnabled": false})).await["op"], off["op"]);
    let both = json!({"updates": [
        {"nodeId": said.user_node, "isEnabled": false, "effects": "muted"},
        {"nodeId": said.reply, "isEnabled": true, "effects": "muted"},
    ]});
    let many = play.server.put(&play.chat_path("nodes/state"), &both).await;
    for socket in [&mut one, &mut two] {
        let frames = socket.read_until(|frame| frame["ids"].is_array()).await;
        assert_eq!(frame_types(&frames), ["hello", "node.state.updated", "node.state.updated"]);
        let expected = json!({"type": "node.state.updated", "op": off["op"], "id": said.reply, "isEnabled": false,
            "effects": "on", "rating": 4, "isUnread": false});
        assert_eq!(frames[1], expected);
        assert_eq!((&frames[2]["ids"], &frames[2]["op"]), (&json!([said.user_node, said.reply]), &many["op"]));
        assert_eq!((&frames[2]["effects"], &frames[2]["isEnabled"]), (&json!("muted"), &Value::Null));
        assert_eq!(frames[2]["nodes"][1]["isEnabled"], true);
    }
    assert_eq!(ids_of(&play.get("projection").await["items"]).len(), 2, "greeting and reply");
    assert_eq!(play.get(&format!("node/{}", said.reply)).await["metadata"]["rating"], 4);
}

/// Changes of settings, HEAD and places of nodes are sent too.
#[tokio::test]
async fn websocket_settings_head_and_moves_are_sent() {
    let play = ApiSession::start().await;
    let said = play.run_turn("Hi.").await;
    let mut tab = play.server.open_socket(&play.sid, None).await;
    let session = format!("/api/sessions/{}", play.sid);
    play.server
        .request("PATCH", &session)
        .json(&json!({"title": "Another", "mode": "linear"}))
        .send()
        .await
        .expect(200);
    let frames = tab.read_until_type("session.updated").await;
    let told = frames.last().unwrap();
    assert_eq!((&told["title"], &told["session"]["mode"]), (&json!("Another"), &json!("linear")));
    play.checkout(&said.user_node, true).await;
    let frames = tab.read_until_type("head.moved").await;
    assert_eq!((frame_types(&frames), &frames[0]["leafId"]), (vec!["head.moved"], &json!(said.user_node)));
    let edit = json!({"content": "Hi!", "carry": true});
    let version = id_of(&play.post(&format!("node/{}/edit", said.user_node), edit).await["node"]);
    let frames = tab.read_until_type("tree.changed").await;
    assert_eq!(frame_types(&frames), ["node.created", "tree.changed"]);
    let moved = &frames[1]["operation"]["effects"][1];
    assert_eq!((&moved["moved"], &moved["to"]), (&json!(said.reply), &json!(version)));
}

/// An invalid frame gets an error, and the socket stays open.
#[tokio::test]
async fn websocket_invalid_frames_get_error_and_stay_open() {
    let play = ApiSession::start().await;
    let said = play.run_turn("Hi 🌙.").await;
    let elsewhere = play.server.create_session().await["activeLeafId"].as_str().unwrap().to_owned();
    let stranger = play.server.create_other_user().await.greeting.to_string();
    let mut socket = play.server.open_socket(&play.sid, None).await;
    let resume = |id: &str, offset: Value| json!({"type": "resume", "id": id, "offset": offset}).to_string();
    let deep = format!("{}1{}", "{\"a\":".repeat(65), "}".repeat(65));
    // Invalid frames.
    for (frame, code, field) in [
        ("{".to_owned(), "malformed", None),
        ("[]".into(), "invalid", Some(".")),
        ("{}".into(), "invalid", Some("type")),
        ("{\"type\": 5}".into(), "invalid", Some("type")),
        ("{\"type\": \"message\", \"content\": \"x\"}".into(), "invalid", Some("content")),
        ("{\"type\": \"checkout\"}".into(), "invalid", Some("type")),
        ("{\"type\": \"ping\", \"typo\": 1}".into(), "invalid", Some("typo")),
        ("{\"type\": \"resume\"}".into(), "invalid", Some("id")),
        (json!({"type": "resume", "id": said.reply}).to_string(), "invalid", Some("offset")),
        (resume("x", json!(0)), "invalid", Some("id")),
        (resume(&said.reply, json!(-1)), "invalid", Some("offset")),
        (resume(&said.reply, json!(1_000_000)), "invalid", Some("offset")),
        (resume(&said.user_node, json!(4)), "invalid", Some("offset")),
        (resume(&elsewhere, json!(0)), "not_found", None),
        (resume(&stranger, json!(0)), "not_found", None),
        (deep, "invalid", None),
        ("{\"type\": \"a\\u0000b\"}".into(), "invalid", Some("type")),
    ] {
        socket.send_text(&frame).await;
        let frames = socket.read_until_type("error").await;
        let error = &frames.last().unwrap()["error"];
        assert_eq!(error["code"], code, "{frame}: {error}");
        assert!(error["hint"].is_string(), "{error}");
        if let Some(field) = field {
            assert_eq!(error["details"]["field"], field, "{frame}: {error}");
        }
    }
    // A binary frame is refused, and the socket still works.
    socket.send_bytes(b"{\"type\": \"ping\"}").await;
    assert_eq!(socket.read_until_type("error").await.last().unwrap()["error"]["code"], "unsupported_media");
    socket.send(&json!({"type": "typing"})).await;
    socket.send(&json!({"type": "ping"})).await;
    assert_eq!(frame_types(&socket.read_until_type("pong").await), ["pong"]);
    // A frame over the size limit gets an error and closes the socket.
    socket.send_text(&"x".repeat(65 << 10)).await;
    assert_eq!(socket.next_frame().await.unwrap()["error"]["code"], "too_large");
    assert_eq!(socket.next_frame().await, None);
    assert_eq!(play.head().await, said.reply);
}

/// A request without an upgrade is refused, and so is an invalid `since`.
#[tokio::test]
async fn websocket_request_without_upgrade_is_refused() {
    let play = ApiSession::start().await;
    play.server.request("GET", &play.chat_path("ws")).send().await.expect_error("malformed");
    for since in ["-1", "x", "", "1.5", "99999999999999999999"] {
        let error = play
            .server
            .request("GET", &play.chat_path(&format!("ws?since={since}")))
            .send()
            .await
            .expect_error("invalid");
        assert_eq!(error["details"]["field"], "since");
    }
    play.server.request("GET", &play.chat_path("ws?sinse=1")).send().await.expect_error("invalid");
}

/// A user has a limited number of sockets, and a closed one makes room.
#[tokio::test]
async fn websocket_limit_per_user_is_enforced() {
    let play = ApiSession::start_with(TestApp::setup().set("limits.ws_per_user", "2"), json!({})).await;
    let open = || Socket::try_open(play.server.address, &play.sid, None, &[]);
    let (first, _second) = (open().await.ok().unwrap(), open().await.ok().unwrap());
    assert_eq!(open().await.err(), Some(429));
    first.reset();
    // The server notices the reset when it next checks the connection.
    wait_until("a place that is free again", async || {
        open().await.inspect_err(|status| assert_eq!(*status, 429)).is_ok()
    })
    .await;
}

/// RFC 6455, 5.5.1: a goodbye is answered with its own code, 1000 if it has none.
#[tokio::test]
async fn websocket_goodbye_is_answered_with_its_code() {
    let play = ApiSession::start().await;
    for (sent, answered) in [(Some(1000), 1000), (Some(1001), 1001), (Some(4001), 4001), (None, 1000)] {
        let mut socket = play.server.open_socket(&play.sid, None).await;
        socket.read_until_type("hello").await;
        socket.say_goodbye(sent).await;
        assert_eq!(socket.next_frame().await, None);
        assert_eq!(socket.close_code, Some(answered));
    }
}

/// Watchers of a session that is deleted during a reply get an error and nothing more.
#[tokio::test]
async fn websocket_session_deleted_during_reply_notifies_watchers() {
    let play = ApiSession::start().await;
    let gate = Gate::new();
    play.server.mock().queue_reply(Reply::ok(["One ", "two."]).gate(&gate));
    let mut socket = play.server.open_socket(&play.sid, None).await;
    let mut other = play.server.open_socket(&id_of(&play.server.create_session().await), None).await;
    start_turn(&play, "Hi.").await;
    gate.release(1);
    socket.read_until_type("node.content.updated").await;
    play.server.request("DELETE", &format!("/api/sessions/{}", play.sid)).send().await.expect(204);
    let frames = socket.read_until_type("error").await;
    assert_eq!(frames.last().unwrap()["error"]["code"], "not_found");
    assert_eq!(socket.next_frame().await, None);
    assert!(matches!(Socket::try_open(play.server.address, &play.sid, None, &[]).await, Err(404)));
    other.send(&json!({"type": "ping"})).await;
    other.read_until_type("pong").await;
}

/// The same without a running reply, so that no operation triggers it.
#[tokio::test]
async fn websocket_idle_session_deleted_notifies_watchers() {
    let play = ApiSession::start().await;
    let mut socket = play.server.open_socket(&play.sid, None).await;
    socket.read_until_type("hello").await;
    play.server.request("DELETE", &format!("/api/sessions/{}", play.sid)).send().await.expect(204);
    assert_eq!(socket.next_frame().await.unwrap()["error"]["code"], "not_found");
    assert_eq!(socket.next_frame().await, None);
}

/// A stopping server tells all watchers and ends running replies.
#[tokio::test]
async fn websocket_server_shutdown_notifies_watchers() {
    let play = ApiSession::start().await;
    play.server.mock().queue_reply(Reply::ok(["Half"]).then_stall());
    let mut socket = play.server.open_socket(&play.sid, None).await;
    let (_, reply) = start_turn(&play, "Hi.").await;
    socket.read_until_type("node.content.updated").await;
    let watch = async {
        let frames = socket.read_until_type("error").await;
        assert_eq!(frames.last().unwrap()["error"]["code"], "unavailable");
        assert_eq!(socket.next_frame().await, None);
        assert_eq!(socket.close_code, Some(1001), "it goes away");
    };
    let (play, ()) = tokio::join!(play.restart(), watch);
    let node = play.get(&format!("node/{reply}")).await;
    assert_eq!((&node["status"], &node["content"]), (&json!("error"), &json!("Half")));
    assert_eq!(node["metadata"]["error"]["code"], "interrupted");
}
