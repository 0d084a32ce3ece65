//! Replies that ended away from HEAD: marked as unread everywhere until HEAD is on or below them.

use super::api_session::{ApiSession, ids_of};
use super::*;

/// Sends a message with `n` replies that HEAD does not follow, and waits for them. Returns the message and the replies.
async fn send_without_moving_head(play: &ApiSession, parent: &str, n: u64) -> (String, Vec<String>) {
    let body = json!({"parentId": parent, "content": "Aside.", "generate": {"n": n}, "moveHead": false});
    let started = play.post("message", body).await;
    let replies = ids_of(&started["generations"]);
    for reply in &replies {
        play.wait_for_reply(reply).await;
    }
    (id_of(&started["node"]), replies)
}

async fn is_unread(play: &ApiSession, node: &str) -> bool {
    play.get(&format!("node/{node}")).await["isUnread"].as_bool().unwrap()
}

/// Returns the unread replies in the outline.
async fn unread_ids_in_outline(play: &ApiSession) -> Vec<String> {
    let outline = play.get("tree?shape=skeleton").await;
    assert_eq!(outline["legend"]["flags"], json!(["disabled", "muted", "keyframe", "unread"]));
    let flags = outline["flags"].as_array().unwrap().iter().map(|flags| flags.as_u64().unwrap());
    let ids = outline["ids"].as_array().unwrap().iter();
    ids.zip(flags).filter(|(_, flags)| flags & 8 > 0).map(|(id, _)| id.as_str().unwrap().to_owned()).collect()
}

/// `domain.md` 5.2, C13: a reply that ends away from HEAD does not move it and is marked in every view and tab until
/// HEAD goes there. The log has both changes, and a restart changes nothing.
#[tokio::test]
async fn unread_mark_set_when_reply_ends_off_head() {
    let play = ApiSession::start().await;
    let greeting = play.head().await;
    let said = play.run_turn("Hi.").await;
    assert!(!is_unread(&play, &said.reply).await, "it took HEAD");
    let mut tab = play.server.open_socket(&play.sid, None).await;
    let (question, replies) = send_without_moving_head(&play, &greeting, 2).await;
    assert_eq!(play.head().await, said.reply);
    for _ in &replies {
        let frames = tab.read_until_type("node.completed").await;
        assert_eq!(frames.last().unwrap()["node"]["isUnread"], true);
    }
    assert_eq!(unread_ids_in_outline(&play).await, replies);
    let versions = play.get(&format!("node/{}/alternatives", replies[0])).await;
    assert!(versions["items"].as_array().unwrap().iter().all(|one| one["isUnread"] == true), "{versions:#}");
    assert_eq!(play.nodes().await[&replies[1]]["isUnread"], true);
    let play = play.restart().await;
    assert_eq!(unread_ids_in_outline(&play).await, replies);

    // Viewing a reply without a checkout keeps its mark. A checkout clears the mark of this reply only.
    play.projection_ids(&replies[0]).await;
    assert!(is_unread(&play, &replies[0]).await);
    let mut tab = play.server.open_socket(&play.sid, None).await;
    play.checkout(&replies[0], true).await;
    let frames = tab.read_until_type("head.moved").await;
    assert_eq!(crate::support::socket::frame_types(&frames), ["hello", "node.state.updated", "head.moved"]);
    assert_eq!((&frames[1]["id"], &frames[1]["isUnread"]), (&json!(replies[0]), &json!(false)));
    assert_eq!(unread_ids_in_outline(&play).await, replies[1..]);
    let log = play.get("ops").await["items"].clone();
    let told = |to: bool| {
        let effects = log.as_array().unwrap().iter().flat_map(|entry| entry["effects"].as_array().unwrap());
        effects.filter(|effect| effect["unread"].is_string() && effect["to"] == to).count()
    };
    assert_eq!((told(true), told(false)), (2, 1), "{log:#}");

    // Writing below a reply clears its mark too.
    play.run_turn_at(&replies[1], "And?").await;
    assert_eq!(unread_ids_in_outline(&play).await, Vec::<String>::new());
    assert_eq!(play.get(&format!("node/{question}")).await["isUnread"], false);
}

/// The mark can be set and cleared manually, and setting it again is no operation. A reply that failed or was cancelled
/// in the queue is not marked.
#[tokio::test]
async fn unread_mark_can_be_set_and_cleared() {
    let play = ApiSession::start().await;
    let greeting = play.head().await;
    play.run_turn("Hi.").await;
    let (_, replies) = send_without_moving_head(&play, &greeting, 1).await;
    let path = play.chat_path(&format!("node/{}/state", replies[0]));
    let set = async |to: bool| play.server.put(&path, &json!({"isUnread": to})).await;
    let seen = set(false).await;
    assert_eq!(seen["nodes"][0]["isUnread"], false);
    assert_eq!(set(false).await["op"], seen["op"]);
    assert_eq!(set(true).await["nodes"][0]["isUnread"], true);
    assert!(is_unread(&play, &replies[0]).await);
    play.post("undo", json!({})).await;
    assert!(!is_unread(&play, &replies[0]).await);

    play.server.mock().queue_reply(Reply::ok([""; 0]));
    let (_, failed) = send_without_moving_head(&play, &greeting, 1).await;
    assert!(!is_unread(&play, &failed[0]).await);
    // Of several replies only the first may take HEAD, so the others are unread.
    let several = json!({"parentId": greeting, "content": "Three?", "generate": {"n": 3}});
    let several = ids_of(&play.post("message", several).await["generations"]);
    for reply in &several {
        play.wait_for_reply(reply).await;
    }
    assert_eq!((play.head().await, unread_ids_in_outline(&play).await), (several[0].clone(), several[1..].to_vec()));
}
