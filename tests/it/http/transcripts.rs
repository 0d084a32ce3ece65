//! A branch as a file to keep.

use super::api_session::{ApiSession, ids_of};
use super::*;
use crate::support::client::HttpResponse;

async fn get_transcript(play: &ApiSession, rest: &str) -> HttpResponse {
    let heard = play.server.request("GET", &play.chat_path(&format!("line{rest}"))).send().await;
    assert_eq!(heard.status, 200, "{}", heard.text());
    heard
}

/// S4-04: a transcript has the enabled texts of one branch in order, as readers see them. Other branches are left out,
/// and the JSON form has everything.
#[tokio::test]
async fn transcript_has_enabled_texts_of_one_branch() {
    // A story with a sibling and a disabled turn.
    let play = ApiSession::start_with(TestApp::setup(), json!({"title": "The \"Lantern\" / 灯塔"})).await;
    play.server.mock().queue_reply(Reply::ok(["<think>Hm.</think>A door."]));
    let first = play.run_turn("I look\naround.").await;
    play.regenerate_and_wait(&first.reply).await;
    play.checkout(&first.reply, true).await;
    let second = play.run_turn("A mistake.").await;
    play.server.mock().queue_reply(Reply::ok(["It opens."]));
    let third = play.run_turn("I push.").await;
    let off = json!({"updates": [
        {"nodeId": second.user_node, "isEnabled": false}, {"nodeId": second.reply, "isEnabled": false},
    ]});
    play.server.put(&play.chat_path("nodes/state"), &off).await;

    // Markdown.
    let markdown = get_transcript(&play, "").await;
    let who = |node: &Value| node["name"].as_str().unwrap_or_else(|| node["role"].as_str().unwrap()).to_owned();
    let you = who(&play.get(&format!("node/{}", third.user_node)).await);
    let expected = format!(
        "# The \"Lantern\" / 灯塔\n\n**Rin**\n\nHello.\n\n**{you}**\n\nI look\naround.\n\n**Rin**\n\nA door.\n\n\
         **{you}**\n\nI push.\n\n**Rin**\n\nIt opens.\n\n"
    );
    assert_eq!(markdown.text(), expected);
    assert_eq!(markdown.header("content-type"), Some("text/markdown; charset=utf-8"));
    assert_eq!(markdown.header("clotho-op"), Some(play.session().await["op"].to_string().as_str()));

    // Plain text, up to an earlier leaf.
    let text = get_transcript(&play, &format!("?format=text&leaf={}", first.reply)).await;
    let name = "attachment; filename=\"The-Lantern-__.txt\"; filename*=UTF-8''The-Lantern-%E7%81%AF%E5%A1%94.txt";
    assert_eq!(
        (text.header("content-disposition"), text.header("content-type")),
        (Some(name), Some("text/plain; charset=utf-8"))
    );
    let text = text.text();
    assert_eq!(text, format!("The \"Lantern\" / 灯塔\n\nRin: Hello.\n\n{you}: I look\naround.\n\nRin: A door.\n\n"));

    // JSON, with and without disabled messages.
    let whole = get_transcript(&play, "?format=json&all=1").await;
    assert_eq!(whole.header("content-type"), Some("application/json"));
    let (whole, nodes) = (whole.json(), play.nodes().await);
    assert_eq!((&whole["sessionId"], &whole["leafId"]), (&json!(play.sid), &json!(third.reply)));
    assert_eq!(whole["title"], "The \"Lantern\" / 灯塔");
    let line = play.get("projection?all=1").await;
    assert_eq!(ids_of(&whole["items"]), ids_of(&line["items"]));
    for node in whole["items"].as_array().unwrap() {
        assert_eq!(*node, nodes[&id_of(node)], "nothing is lost");
    }
    let some = get_transcript(&play, "?format=json").await.json();
    assert_eq!(ids_of(&some["items"]), ids_of(&play.get("projection").await["items"]));
    play.expect_error("GET", "line?format=pdf", json!({}), "invalid").await;
}

/// S4-04: a code block that a message leaves open is closed at its end. The text itself is unchanged.
#[tokio::test]
async fn transcript_closes_open_code_block_per_message() {
    let play = ApiSession::start().await;
    play.server.mock().queue_reply(Reply::ok(["Look:\n~~~~js\nlet a;\n~~~"]));
    play.run_turn("Show me.").await;
    play.server.mock().queue_reply(Reply::ok(["```\nwhole\n```"]));
    play.run_turn("And then?").await;
    let markdown = get_transcript(&play, "").await.text();
    assert!(markdown.contains("Look:\n~~~~js\nlet a;\n~~~\n~~~~\n\n**"), "{markdown}");
    assert!(markdown.ends_with("**Rin**\n\n```\nwhole\n```\n\n"), "{markdown}");
    let text = get_transcript(&play, "?format=text").await.text();
    assert!(text.contains("let a;\n~~~\n\n"), "{text}");
}

/// A branch of many pages is complete in each format, and a session without messages is empty.
#[tokio::test]
async fn transcript_of_long_branch_is_complete() {
    let app = TestServer::start().await;
    let (session, line) = app.create_branch(100).await;
    let play = ApiSession { server: app, sid: id_of(&session) };
    let whole = get_transcript(&play, "?format=json").await.json();
    assert_eq!(ids_of(&whole["items"]), line);
    let text = get_transcript(&play, "?format=text").await.text();
    let said: Vec<&str> = text.lines().filter_map(|line| line.split_once(": ")).map(|(_, said)| said).collect();
    assert_eq!((said.len(), said[0], said[1], said[100]), (101, "Hello.", "message 1", "message 100"));
    let root = session["rootNodeId"].as_str().unwrap();
    let empty = get_transcript(&play, &format!("?format=json&leaf={root}")).await.json();
    assert_eq!(empty["items"], json!([]));
}
