//! A branch as a file to keep.

use super::api_session::{ApiSession, ids};
use super::*;
use crate::support::client::HttpResponse;

async fn file(play: &ApiSession, rest: &str) -> HttpResponse {
    let heard = play.app.ask("GET", &play.chat(&format!("line{rest}"))).send().await;
    assert_eq!(heard.status, 200, "{}", heard.text());
    heard
}

/// S4-04: a transcript has the enabled texts of one branch in order, as readers see them. Other branches are left out,
/// and the JSON form has everything.
#[tokio::test]
async fn transcript_has_enabled_texts_of_one_branch() {
    // A story with a sibling and a disabled turn.
    let play = ApiSession::with(TestApp::with(), json!({"title": "The \"Lantern\" / 灯塔"})).await;
    play.app.mock().script(Reply::ok(["<think>Hm.</think>A door."]));
    let first = play.say("I look\naround.").await;
    play.another(&first.reply).await;
    play.checkout(&first.reply, true).await;
    let second = play.say("A mistake.").await;
    play.app.mock().script(Reply::ok(["It opens."]));
    let third = play.say("I push.").await;
    let off = json!({"updates": [
        {"nodeId": second.user, "isEnabled": false}, {"nodeId": second.reply, "isEnabled": false},
    ]});
    play.app.put(&play.chat("nodes/state"), &off).await;

    // Markdown.
    let markdown = file(&play, "").await;
    let who = |node: &Value| node["name"].as_str().unwrap_or_else(|| node["role"].as_str().unwrap()).to_owned();
    let you = who(&play.get(&format!("node/{}", third.user)).await);
    let expected = format!(
        "# The \"Lantern\" / 灯塔\n\n**Rin**\n\nHello.\n\n**{you}**\n\nI look\naround.\n\n**Rin**\n\nA door.\n\n\
         **{you}**\n\nI push.\n\n**Rin**\n\nIt opens.\n\n"
    );
    assert_eq!(markdown.text(), expected);
    assert_eq!(markdown.header("content-type"), Some("text/markdown; charset=utf-8"));
    assert_eq!(markdown.header("clotho-op"), Some(play.session().await["op"].to_string().as_str()));

    // Plain text, up to an earlier leaf.
    let text = file(&play, &format!("?format=text&leaf={}", first.reply)).await;
    let name = "attachment; filename=\"The-Lantern-__.txt\"; filename*=UTF-8''The-Lantern-%E7%81%AF%E5%A1%94.txt";
    assert_eq!(
        (text.header("content-disposition"), text.header("content-type")),
        (Some(name), Some("text/plain; charset=utf-8"))
    );
    let text = text.text();
    assert_eq!(text, format!("The \"Lantern\" / 灯塔\n\nRin: Hello.\n\n{you}: I look\naround.\n\nRin: A door.\n\n"));

    // JSON, with and without disabled messages.
    let whole = file(&play, "?format=json&all=1").await;
    assert_eq!(whole.header("content-type"), Some("application/json"));
    let (whole, nodes) = (whole.json(), play.nodes().await);
    assert_eq!((&whole["sessionId"], &whole["leafId"]), (&json!(play.sid), &json!(third.reply)));
    assert_eq!(whole["title"], "The \"Lantern\" / 灯塔");
    let line = play.get("projection?all=1").await;
    assert_eq!(ids(&whole["items"]), ids(&line["items"]));
    for node in whole["items"].as_array().unwrap() {
        assert_eq!(*node, nodes[&id(node)], "nothing is lost");
    }
    let some = file(&play, "?format=json").await.json();
    assert_eq!(ids(&some["items"]), ids(&play.get("projection").await["items"]));
    play.refused("GET", "line?format=pdf", json!({}), "invalid").await;
}

/// S4-04: a code block that a message leaves open is closed at its end. The text itself is unchanged.
#[tokio::test]
async fn transcript_closes_open_code_block_per_message() {
    let play = ApiSession::start().await;
    play.app.mock().script(Reply::ok(["Look:\n~~~~js\nlet a;\n~~~"]));
    play.say("Show me.").await;
    play.app.mock().script(Reply::ok(["```\nwhole\n```"]));
    play.say("And then?").await;
    let markdown = file(&play, "").await.text();
    assert!(markdown.contains("Look:\n~~~~js\nlet a;\n~~~\n~~~~\n\n**"), "{markdown}");
    assert!(markdown.ends_with("**Rin**\n\n```\nwhole\n```\n\n"), "{markdown}");
    let text = file(&play, "?format=text").await.text();
    assert!(text.contains("let a;\n~~~\n\n"), "{text}");
}

/// A branch of many pages is complete in each format, and a session without messages is empty.
#[tokio::test]
async fn transcript_of_long_branch_is_complete() {
    let app = TestServer::start().await;
    let (session, line) = app.line(100).await;
    let play = ApiSession { app, sid: id(&session) };
    let whole = file(&play, "?format=json").await.json();
    assert_eq!(ids(&whole["items"]), line);
    let text = file(&play, "?format=text").await.text();
    let said: Vec<&str> = text.lines().filter_map(|line| line.split_once(": ")).map(|(_, said)| said).collect();
    assert_eq!((said.len(), said[0], said[1], said[100]), (101, "Hello.", "message 1", "message 100"));
    let root = session["rootNodeId"].as_str().unwrap();
    let empty = file(&play, &format!("?format=json&leaf={root}")).await.json();
    assert_eq!(empty["items"], json!([]));
}
