//! Writes with a stale HEAD: refused, appended or branched, as the request says, and never lost.

use super::api_session::{ApiSession, ids_of};
use super::*;
use crate::support::schema;
use clotho::http::route_table::RouteEntry;

/// Returns the routes whose bodies may name the expected HEAD.
fn routes_with_expected_head() -> Vec<RouteEntry> {
    let document = clotho::http::openapi::json(&clotho::http::all_routes());
    let names = |entry: &RouteEntry| {
        let shape =
            schema::request_schema(entry.method.as_str(), &entry.openapi_path()).and_then(|body| body["$ref"].as_str());
        let shape = shape.and_then(|path| document.pointer(path.trim_start_matches('#')));
        shape.is_some_and(|shape| shape["properties"]["expectedLeafId"].is_object())
    };
    clotho::http::all_routes().into_iter().filter(names).collect()
}

/// Returns a body that the route accepts.
fn body(entry: &RouteEntry, node: &str) -> Value {
    match entry.path.rsplit('/').next().unwrap() {
        "message" => json!({"parentId": node, "content": "x"}),
        "reroll" | "continue" | "undo" | "redo" => json!({}),
        "edit" if entry.path.ends_with("tree/edit") => {
            json!({"operations": [{"op": "label", "nodeId": node, "name": "here"}]})
        }
        "edit" => json!({"content": "x", "generate": false}),
        "world" => json!({"operations": [{"op": "set", "path": "/a", "value": 1}]}),
        "active_leaf" => json!({"nodeId": node}),
        other => panic!("say here what {other} takes"),
    }
}

/// S4-44: every route with an expected HEAD refuses a stale one, reports the current HEAD, and changes nothing. With
/// the current HEAD the request succeeds.
#[tokio::test]
async fn stale_head_is_refused_on_every_write_route() {
    let play = ApiSession::start().await;
    let said = play.run_turn("Hi.").await;
    let routes = routes_with_expected_head();
    assert!(routes.len() >= 5, "{}", routes.len());
    for entry in routes {
        let node = if entry.path.ends_with("continue") { &said.reply } else { &said.user_node };
        let path = entry.path.replace("{sid}", &play.sid).replace("{nid}", node);
        let before = play.session().await;
        let mut stale = body(&entry, &said.user_node);
        stale["expectedLeafId"] = json!(said.user_node);
        if before["activeLeafId"] == stale["expectedLeafId"] {
            stale["expectedLeafId"] = json!(said.reply);
        }
        let error =
            play.server.request(entry.method.as_str(), &path).json(&stale).send().await.expect_error("head_moved");
        assert_eq!((&error["details"]["leafId"], &error["details"]["op"]), (&before["activeLeafId"], &before["op"]));
        assert_eq!(play.session().await, before, "{path}");
        // `expectedOp` works too: an earlier number is stale, and both fields at once are invalid.
        let mut by_op = body(&entry, &said.user_node);
        by_op["expectedOp"] = json!(before["op"].as_i64().unwrap() - 1);
        let error =
            play.server.request(entry.method.as_str(), &path).json(&by_op).send().await.expect_error("head_moved");
        assert_eq!((&error["details"]["leafId"], &error["details"]["op"]), (&before["activeLeafId"], &before["op"]));
        by_op["expectedLeafId"] = before["activeLeafId"].clone();
        let error = play.server.request(entry.method.as_str(), &path).json(&by_op).send().await.expect_error("invalid");
        assert_eq!(error["details"]["field"], "expectedOp", "{path}");
        assert_eq!(play.session().await, before, "{path}");
        by_op.as_object_mut().unwrap().remove("expectedLeafId");
        by_op["expectedOp"] = before["op"].clone();
        let heard = play.server.request(entry.method.as_str(), &path).json(&by_op).send().await;
        assert!(heard.status < 300, "{path}: {}", heard.text());
        for reply in heard.json()["generations"].as_array().into_iter().flatten() {
            play.wait_for_reply(&id_of(reply)).await;
        }
        let before = play.session().await;
        stale["expectedLeafId"] = before["activeLeafId"].clone();
        let heard = play.server.request(entry.method.as_str(), &path).json(&stale).send().await;
        assert!(heard.status < 300, "{path}: {}", heard.text());
        for reply in heard.json()["generations"].as_array().into_iter().flatten() {
            play.wait_for_reply(&id_of(reply)).await;
        }
    }
}

/// `domain.md` 2.19: a stale message follows its option.
#[tokio::test]
async fn stale_message_follows_refuse_append_or_branch_option() {
    let play = ApiSession::start().await;
    let greeting = play.head().await;
    let first = id_of(&play.post("message", json!({"parentId": greeting, "content": "First."})).await["node"]);
    let late = |content: &str, how: &str| json!({"parentId": greeting, "content": content, "expectedLeafId": greeting, "onStale": how});
    play.expect_error("POST", "message", late("Refused.", "refuse"), "head_moved").await;
    let appended = play.post("message", late("Appended.", "append")).await["node"].clone();
    assert_eq!(appended["parentId"], json!(first));
    let branched = play.post("message", late("Branched.", "branch")).await["node"].clone();
    assert_eq!(branched["parentId"], json!(greeting));
    assert_eq!(branched["siblings"]["ids"], json!([first, id_of(&branched)]));
    assert_eq!(play.head().await, id_of(&branched));
    assert_eq!(
        ids_of(&play.get(&format!("projection?leaf={}", id_of(&appended))).await["items"]),
        [greeting, first, id_of(&appended)]
    );
}

/// Of many simultaneous writes with the same expected HEAD one succeeds, and the others are refused.
#[tokio::test]
async fn expected_head_concurrent_writes_accept_one() {
    let play = ApiSession::start().await;
    let greeting = play.head().await;
    let asks = (0..8).map(|n| {
        let body = json!({"parentId": greeting, "content": format!("I am {n}."), "expectedLeafId": greeting});
        play.server.request("POST", &play.chat_path("message")).json(&body).send()
    });
    let heard = futures_util::future::join_all(asks).await;
    let (through, refused): (Vec<_>, Vec<_>) = heard.iter().partition(|heard| heard.status == 201);
    assert_eq!((through.len(), refused.len()), (1, 7));
    assert!(refused.iter().all(|heard| heard.expect_error("head_moved")["details"]["leafId"].is_string()));
    assert_eq!(play.head().await, id_of(&through[0].json()["node"]));
    assert_eq!(play.nodes().await.len(), 3);
}

/// A placeholder cannot be a parent or HEAD, and cannot be edited, rated or disabled (`domain.md` 5.7).
#[tokio::test]
async fn running_reply_refuses_edits_and_children() {
    let play = ApiSession::start().await;
    let gate = Gate::new();
    play.server.mock().queue_reply(Reply::ok(["One ", "two."]).gate(&gate));
    let greeting = play.head().await;
    let started = play.post("message", json!({"parentId": greeting, "content": "Hi.", "generate": true})).await;
    let running = id_of(&started["generations"][0]);
    let node = |rest: &str| format!("node/{running}/{rest}");
    for (method, rest, body) in [
        ("POST", "message".to_owned(), json!({"parentId": running, "content": "x"})),
        ("PUT", "active_leaf".to_owned(), json!({"nodeId": running})),
        ("POST", node("edit"), json!({"content": "x"})),
        ("POST", node("world"), json!({"operations": [{"op": "set", "path": "/a", "value": 1}]})),
        ("PUT", node("state"), json!({"isEnabled": false})),
        ("PUT", "nodes/state".to_owned(), json!({"updates": [{"nodeId": running, "isEnabled": false}]})),
    ] {
        play.expect_error(method, &rest, body, "generating").await;
    }
    let line = play.get("projection").await;
    assert!(!ids_of(&line["items"]).contains(&running), "it is in nobody's line");
    gate.open();
    assert_eq!(play.wait_for_reply(&running).await["content"], "One two.");
    play.post("message", json!({"parentId": running, "content": "x"})).await;
}
