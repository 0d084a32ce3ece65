//! A session file may hold any value under any key of its metadata, traces and deltas. The API sends what its document
//! promises, and nothing else. The client checks each answer against the document.

use super::api_session::ApiSession;
use super::session_transfer::{export_session, import_session, start_unrelated_server};
use super::*;
use crate::support::archive_file::{pack_lines, read_lines};
use clotho_core::tree::{ReplyFacts, TraceHead};
use serde_json::Map;

/// One value of each type, and some that are almost right.
fn odd_values() -> [Value; 9] {
    [
        json!(5),
        json!(-1.5),
        json!("x"),
        json!(true),
        json!(null),
        json!([[5]]),
        json!([{"name": 5, "plugin": 5}]),
        json!({"a": [null]}),
        serde_json::from_str("1e999").unwrap(),
    ]
}

/// Reads everything that the API sends of a story.
async fn read_all(app: &TestServer, sid: &str, nodes: &[&str]) {
    for node in nodes {
        for rest in ["", "?expand=world,trace,delta", "/trace", "/world", "/delta", "/alternatives"] {
            let heard = app.request("GET", &format!("/api/chat/{sid}/node/{node}{rest}")).send().await;
            assert!(matches!(heard.status, 200 | 404), "{rest}: {}", heard.text());
        }
    }
    for rest in ["tree", "turns", "projection", "branches", "context-path", "deltas", "spent", "ops"] {
        app.get(&format!("/api/chat/{sid}/{rest}")).await;
    }
    app.get(&format!("/api/sessions/{sid}/summaries")).await;
}

/// Plays a turn with dice, a plugin and a model.
async fn played_session() -> (ApiSession, String, String) {
    let settings = json!({"plugins": [{"id": "combat"}]});
    let play = ApiSession::start_with(TestApp::setup(), settings).await;
    play.server.mock().queue_reply(Reply::ok(["It bites. [HP -7]"]).usage(5, 7));
    let turn = play.run_turn("/roll 2d6").await;
    (play, turn.user_node, turn.reply)
}

#[tokio::test]
async fn imported_trace_of_other_types_is_sent_as_documented() {
    let (play, said, reply) = played_session().await;
    let lines = read_lines(&export_session(&play.server, &play.sid).await.body);
    assert!(lines.iter().any(|line| line["trace"].is_object()), "there is a trace");
    let own = ["blueprint", "messages", "history", "isExact", "rules", "rolls", "problems", "timings", "usage"];
    let keys = || TraceHead::KEYS.iter().chain(ReplyFacts::KEYS).chain(&own);
    for odd in odd_values() {
        let mut changed = lines.clone();
        for trace in changed.iter_mut().filter_map(|line| line.get_mut("trace")) {
            trace["head"] = keys().map(|key| ((*key).to_owned(), odd.clone())).collect();
            for block in trace["blocks"].as_array_mut().into_iter().flatten() {
                block[0] = odd.clone();
            }
        }
        let other = start_unrelated_server().await;
        let sid = import_session(&other, &pack_lines(&changed)).await;
        read_all(&other, &sid, &[&said, &reply]).await;
    }
}

#[tokio::test]
async fn imported_delta_of_other_types_is_sent_as_documented() {
    let (play, said, reply) = played_session().await;
    let lines = read_lines(&export_session(&play.server, &play.sid).await.body);
    for odd in odd_values() {
        let mut changed = lines.clone();
        let mut count = 0;
        for line in &mut changed {
            let deltas = line.get_mut("node").and_then(|node| node.get_mut("deltas")).and_then(Value::as_array_mut);
            for delta in deltas.into_iter().flatten() {
                count += 1;
                let body = &mut delta["body"];
                for record in ["rolls", "rules"] {
                    let kept = body[record].as_array().cloned().unwrap_or_default();
                    let mistyped = kept.iter().flat_map(|record| {
                        let keys = record.as_object().map(Map::keys).into_iter().flatten();
                        keys.map(|key| json_with(record, key, &odd)).collect::<Vec<_>>()
                    });
                    let all = mistyped.chain([odd.clone()]).collect::<Vec<_>>();
                    body[record] = all.into();
                }
                if let Some(operations) = body["operations"].as_array_mut() {
                    operations.extend(odd_operations(&odd));
                }
            }
        }
        assert!(count > 0, "there is a delta");
        let other = start_unrelated_server().await;
        let sid = import_session(&other, &pack_lines(&changed)).await;
        read_all(&other, &sid, &[&said, &reply]).await;
    }
}

/// Returns operations that put a value among the events, and in the place of what lore keeps.
fn odd_operations(odd: &Value) -> [Value; 3] {
    // No state holds a number that is not finite.
    let value = if odd.is_number() { json!(5) } else { odd.clone() };
    let operation = |section: &str, op: &str, path: &str| -> Value {
        let value = value.clone();
        json!({"in": section, "op": op, "path": path, "value": value, "by": "user"})
    };
    [operation("events", "append", ""), operation("lore", "set", "/active"), operation("lore", "set", "/timers")]
}

/// Returns an object with another value under a key.
fn json_with(object: &Value, key: &str, value: &Value) -> Value {
    let mut changed = object.clone();
    changed[key] = value.clone();
    changed
}
