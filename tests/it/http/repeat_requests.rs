//! Repeated requests and answers: `Idempotency-Key` on writes, tags on reads, and pages of lists.

use std::sync::Arc;

use clotho_core::clock::{TestClock, Time};

use diesel::prelude::*;

use super::api_session::{ApiSession, ids_of};
use super::*;
use crate::support::client::{HttpRequest, HttpResponse};
use crate::support::test_session::TestSession;

const DAY_MS: i64 = 24 * 3_600 * 1_000;

/// Returns a message request with a key.
fn keyed_request(play: &ApiSession, key: &str, body: &Value) -> HttpRequest {
    play.server.request("POST", &play.chat_path("message")).json(body).header("idempotency-key", key)
}

fn is_replayed(heard: &HttpResponse) -> bool {
    heard.header("idempotency-replayed") == Some("true")
}

/// Returns the number of messages below the greeting.
async fn child_count(play: &ApiSession, parent: &str) -> usize {
    play.get(&format!("node/{parent}")).await["childrenIds"].as_array().unwrap().len()
}

/// Few requests with large bodies are worked on at once. Those with a key read theirs twice, and must not wait for
/// each other.
#[tokio::test]
async fn idempotency_key_of_many_large_bodies_answers_all() {
    let app = TestServer::start().await;
    let card = json!({"name": "Rin", "description": "The map is not finished. ".repeat(4_000)});
    let create = |n: usize| {
        app.request("POST", "/api/characters").json(&card).header("idempotency-key", &format!("large-{n}")).send()
    };
    let answers = futures_util::future::join_all((0..8).map(create)).await;
    assert!(answers.iter().all(|answer| answer.status == 201));
}

#[tokio::test]
async fn idempotency_key_repeat_replays_first_answer() {
    let play = ApiSession::start().await;
    let parent = play.head().await;
    let body = json!({"parentId": parent, "content": "Once.", "generate": true});
    let first = keyed_request(&play, "k-1", &body).send().await;
    assert!(!is_replayed(&first));
    play.wait_for_reply(&id_of(&first.expect(202)["generations"][0])).await;
    let again = keyed_request(&play, "k-1", &body).send().await;
    assert!(is_replayed(&again));
    assert_eq!((again.status, &again.body), (202, &first.body));
    assert_eq!((child_count(&play, &parent).await, play.server.mock().requests().len()), (1, 1));
    // Another key, or none, acts again.
    assert!(!is_replayed(&keyed_request(&play, "k-2", &body).send().await));
    play.post("message", body.clone()).await;
    assert_eq!(child_count(&play, &parent).await, 3);
    let play = play.restart().await;
    let again = keyed_request(&play, "k-1", &body).send().await;
    assert!(is_replayed(&again) && again.body == first.body, "also after a restart");
    let metrics = play.server.request("GET", "/metrics").send_raw().await.text();
    assert!(metrics.contains("clotho_http_replayed_total 1\n"), "{metrics}");
}

#[tokio::test]
async fn idempotency_key_of_other_request_is_invalid() {
    let play = ApiSession::start().await;
    let parent = play.head().await;
    let body = json!({"parentId": parent, "content": "Once."});
    keyed_request(&play, "k", &body).send().await.expect(201);
    let other = json!({"parentId": parent, "content": "Twice."});
    let elsewhere = play.server.request("POST", &play.chat_path(&format!("node/{parent}/edit"))).json(&body);
    for ask in [keyed_request(&play, "k", &other), elsewhere.header("idempotency-key", "k")] {
        assert_eq!(ask.send().await.expect_error("invalid")["details"]["field"], "Idempotency-Key");
    }
    for key in ["", "a b", "ä", &"x".repeat(201)] {
        assert_eq!(
            keyed_request(&play, key, &other).send().await.expect_error("invalid")["details"]["field"],
            "Idempotency-Key"
        );
    }
    let two = keyed_request(&play, "a", &other).header("idempotency-key", "b").send().await;
    assert_eq!(two.expect_error("invalid")["details"]["field"], "Idempotency-Key");
    assert_eq!(child_count(&play, &parent).await, 1);
    keyed_request(&play, &"x".repeat(200), &other).send().await.expect(201);
}

#[tokio::test]
async fn idempotency_key_concurrent_requests_act_once() {
    let play = ApiSession::start().await;
    let parent = play.head().await;
    let body = json!({"parentId": parent, "content": "Once."});
    let heard = futures_util::future::join_all((0..8).map(|_| keyed_request(&play, "k", &body).send())).await;
    assert_eq!(heard.iter().filter(|heard| !is_replayed(heard)).count(), 1);
    assert!(heard.iter().all(|one| one.status == 201 && one.body == heard[0].body));
    assert_eq!(child_count(&play, &parent).await, 1);
}

/// A refusal changes nothing and does not use up its key. It is repeated as it was, and a corrected request may use the
/// key. After that the key belongs to that request.
#[tokio::test]
async fn idempotency_key_after_refusal_stays_unused() {
    let script = "fn on_input(ctx) { if ctx.text == \"no\" { ctx.fail(\"Not that.\"); } }";
    let manifest = "id = \"picky\"\nversion = \"1.0.0\"\ntitle = \"Picky\"\napi = \"1\"\n\n[permissions]\nrequest = [\"input.stop\"]\n";
    let setup = TestApp::setup().with_plugin("picky", &[("plugin.toml", manifest), ("main.rhai", script)]);
    let play = ApiSession::start_with(setup, json!({"plugins": [{"id": "picky"}]})).await;
    let parent = play.head().await;
    let text = |parent: &str, content: &str| json!({"parentId": parent, "content": content});
    for (wrong, code) in [
        (text(&parent, ""), "invalid"),
        (json!({"parentId": parent, "contnet": "Right."}), "invalid"),
        (text("018f3e2a-0000-7000-8000-0000000000aa", "Right."), "not_found"),
        (text(&parent, "no"), "input_refused"),
        (text(&parent, &"x".repeat(300 << 10)), "too_large"),
    ] {
        for _ in 0..2 {
            let heard = keyed_request(&play, "k", &wrong).send().await;
            assert!(!is_replayed(&heard));
            heard.expect_error(code);
        }
    }
    assert_eq!(child_count(&play, &parent).await, 0);
    let right = text(&parent, "Right.");
    let first = keyed_request(&play, "k", &right).send().await;
    assert!(first.status == 201 && !is_replayed(&first));
    let again = keyed_request(&play, "k", &right).send().await;
    assert!(is_replayed(&again) && again.body == first.body);
    assert_eq!(
        keyed_request(&play, "k", &text(&parent, "")).send().await.expect_error("invalid")["details"]["field"],
        "Idempotency-Key"
    );
    assert_eq!(child_count(&play, &parent).await, 1);
}

/// Temporary refusals are not stored: a moved HEAD, or too many replies.
#[tokio::test]
async fn idempotency_key_after_conflict_can_be_retried() {
    let limits = TestApp::setup().set("limits.generations_per_user", "1").set("limits.waiting_per_user", "0");
    let play = ApiSession::start_with(limits, json!({})).await;
    let greeting = play.head().await;
    let gate = Gate::new();
    play.server.mock().queue_reply(Reply::ok(["Wait."]).gate(&gate));
    let first = play.post("message", json!({"parentId": greeting, "content": "First.", "generate": true})).await;
    let second = json!({"parentId": greeting, "content": "Second.", "generate": true});
    keyed_request(&play, "busy", &second).send().await.expect_error("too_many_generating");
    gate.open();
    play.wait_for_reply(&id_of(&first["generations"][0])).await;
    let through = keyed_request(&play, "busy", &second).send().await;
    assert!(!is_replayed(&through));
    play.wait_for_reply(&id_of(&through.expect(202)["generations"][0])).await;
    let stale = json!({"parentId": greeting, "content": "Third.", "expectedLeafId": greeting});
    keyed_request(&play, "stale", &stale).send().await.expect_error("head_moved");
    play.checkout(&greeting, true).await;
    let through = keyed_request(&play, "stale", &stale).send().await;
    assert!(through.status == 201 && !is_replayed(&through));
}

/// The retry of a disconnected client gets the first answer.
#[tokio::test]
async fn idempotency_key_after_disconnect_replays_answer() {
    let play = ApiSession::start().await;
    let parent = play.head().await;
    let body = json!({"parentId": parent, "content": "Once.", "generate": true});
    keyed_request(&play, "k", &body).send_and_reset(play.server.mock().wait_for_requests(1)).await;
    let found = keyed_request(&play, "k", &body).send().await;
    assert!(is_replayed(&found));
    play.wait_for_reply(&id_of(&found.expect(202)["generations"][0])).await;
    assert_eq!((child_count(&play, &parent).await, play.server.mock().requests().len()), (1, 1));
}

/// A crash between an act and its answer: every write with a key is done and its answer is lost. The retry, to another
/// program in the same folder, gets what the first one made.
#[tokio::test]
async fn idempotency_key_after_crash_does_not_act_twice() {
    let play = ApiSession::start().await;
    let said = play.run_turn("Hi.").await;
    let parent = play.head().await;
    // From here on no answer is stored.
    let database = play.server.app().home().join("data").join("clotho.db");
    let mut behind = crate::support::open_second_connection(&database);
    let lose = "CREATE TRIGGER lose BEFORE UPDATE ON answers BEGIN SELECT RAISE(ABORT, 'lost'); END";
    diesel::sql_query(lose).execute(&mut behind).unwrap();
    let character = play.server.get("/api/characters").await["items"][0]["id"].clone();
    let writes = [
        (play.chat_path("message"), json!({"parentId": parent, "content": "Once.", "generate": true})),
        (play.chat_path(&format!("node/{}/reroll", said.reply)), json!({})),
        (play.chat_path(&format!("node/{}/continue", said.reply)), json!({})),
        (play.chat_path(&format!("node/{}/edit", said.user_node)), json!({"content": "Once more."})),
        (
            play.chat_path(&format!("node/{parent}/world")),
            json!({"operations": [{"op": "set", "path": "/a", "value": 1}]}),
        ),
        ("/api/sessions".to_owned(), json!({"characterIds": [character]})),
        ("/api/characters".to_owned(), json!({"name": "Kept"})),
        ("/api/personas".to_owned(), json!({"name": "Kept"})),
    ];
    // Do every write once.
    let mut made = Vec::new();
    for (i, (path, body)) in writes.iter().enumerate() {
        let heard =
            play.server.request("POST", path).json(body).header("idempotency-key", &format!("k-{i}")).send().await;
        assert!(matches!(heard.status, 201 | 202) && !is_replayed(&heard), "{path}: {}", heard.status);
        let value = heard.json();
        for reply in value["generations"].as_array().into_iter().flatten() {
            play.wait_for_reply(&id_of(reply)).await;
        }
        made.push((heard.status, value));
    }
    // After a restart every retry gets the first result.
    diesel::sql_query("DROP TRIGGER lose").execute(&mut behind).unwrap();
    let play = play.restart().await;
    let op = play.session().await["op"].clone();
    for (i, ((path, body), (status, first))) in writes.iter().zip(&made).enumerate() {
        let ask = || play.server.request("POST", path).json(body).header("idempotency-key", &format!("k-{i}"));
        let found = ask().send().await;
        assert!(is_replayed(&found) && found.status == *status, "{path}: {}", found.status);
        for field in ["/id", "/node/id", "/generations/0/id", "/op"] {
            assert_eq!(found.json().pointer(field), first.pointer(field), "{path}: {field}");
        }
        let again = ask().send().await;
        assert!(is_replayed(&again) && again.body == found.body, "{path}: now its answer is kept");
        let other = ask().json(&json!({"name": "Another"})).send().await;
        assert_eq!(other.expect_error("invalid")["details"]["field"], "Idempotency-Key", "{path}");
    }
    // Nothing was done twice.
    assert_eq!(play.session().await["op"], op, "nothing was done twice");
    assert_eq!(play.server.get("/api/sessions").await["items"].as_array().unwrap().len(), 2);
    let kept = |list: &Value| list["items"].as_array().unwrap().iter().filter(|one| one["name"] == "Kept").count();
    assert_eq!(kept(&play.server.get("/api/characters").await), 1);
    assert_eq!(kept(&play.server.get("/api/personas").await), 1);
}

#[tokio::test]
async fn idempotency_key_expires_after_one_day() {
    let clock = Arc::new(TestClock::new(Time(1_700_000_000_000)));
    let play = ApiSession::start_with(TestApp::setup().clock(clock.clone()), json!({})).await;
    let parent = play.head().await;
    let body = json!({"parentId": parent, "content": "Daily."});
    keyed_request(&play, "k", &body).send().await.expect(201);
    clock.advance(DAY_MS - 60_000);
    assert!(is_replayed(&keyed_request(&play, "k", &body).send().await));
    clock.advance(60_000);
    assert!(!is_replayed(&keyed_request(&play, "k", &body).send().await));
    assert_eq!(child_count(&play, &parent).await, 2);
}

/// S4-39: a large read has a tag, and a request with that tag gets 304 until something changes.
#[tokio::test]
async fn etag_match_returns_304_until_change() {
    let play = ApiSession::start().await;
    let said = play.run_turn("Hi.").await;
    let node = format!("node/{}", said.reply);
    let parts = ["", "?expand=world,delta,trace", "/alternatives", "/world", "/delta", "/trace"];
    let parts = parts.map(|part| format!("{node}{part}"));
    let whole = ["tree", "tree?shape=skeleton", "tree?cursor=&limit=2", "projection", "projection?limit=1&all=1"];
    let turns = ["turns", "turns?limit=1", "context-path", "deltas", "branches", "diff", "variables?path=/hp", "line"];
    for path in whole.into_iter().chain(turns).chain(parts.iter().map(String::as_str)) {
        let ask = |tag: Option<&str>| {
            let ask = play.server.request("GET", &play.chat_path(path));
            tag.map_or(ask.clone(), |tag| ask.header("if-none-match", tag)).send()
        };
        let first = ask(None).await;
        let tag = first.header("etag").unwrap().to_owned();
        for known in [tag.clone(), format!("\"other\", {tag}"), "*".into(), tag.trim_start_matches("W/").into()] {
            let same = ask(Some(&known)).await;
            assert_eq!((same.status, same.body.len(), same.header("etag")), (304, 0, Some(tag.as_str())), "{path}");
        }
        assert_eq!(ask(Some("\"other\"")).await.status, 200);
        play.server.put(&play.chat_path("active_leaf"), &json!({"nodeId": said.user_node, "exact": true})).await;
        let changed = ask(Some(&tag)).await;
        assert_eq!(changed.status, 200, "{path}");
        assert_ne!(changed.header("etag"), Some(tag.as_str()));
        play.checkout(&said.reply, true).await;
    }
    // With `If-None-Match: *` a missing node is still not found.
    let nowhere = play.server.request("GET", &play.chat_path("node/018f3e2a-0000-7000-8000-0000000000aa"));
    nowhere.header("if-none-match", "*").send().await.expect_error("not_found");
    // The tag of one route does not match another.
    let tag = |heard: &HttpResponse| heard.header("etag").unwrap().to_owned();
    let (tree, line) = (
        play.server.request("GET", &play.chat_path("tree")),
        play.server.request("GET", &play.chat_path("projection")),
    );
    let (tree, line) = (tag(&tree.send().await), tag(&line.send().await));
    let foreign = play.server.request("GET", &play.chat_path("projection?limit=1")).header("if-none-match", &line);
    assert_eq!(foreign.send().await.status, 200);
    assert_eq!(
        play.server.request("GET", &play.chat_path("projection")).header("if-none-match", &tree).send().await.status,
        200
    );
}

/// `domain.md` 4: a read belongs to one operation, and the answer names it.
#[tokio::test]
async fn reads_send_clotho_op_header() {
    let play = ApiSession::start().await;
    let said = play.run_turn("Hi.").await;
    let op = play.session().await["op"].to_string();
    let node = format!("node/{}", said.reply);
    let whole = format!("{node}?expand=world,delta,trace");
    let parts = ["/alternatives", "/world", "/delta", "/trace"].map(|part| format!("{node}{part}"));
    for path in ["turns", "context-path", "deltas", "commands", &node, &whole]
        .into_iter()
        .chain(parts.iter().map(String::as_str))
    {
        let heard = play.server.request("GET", &play.chat_path(path)).send().await;
        assert_eq!((heard.status, heard.header("clotho-op")), (200, Some(op.as_str())), "{path}");
    }
    let whole = play.get(&whole).await;
    assert_eq!(whole["trace"], play.get(&parts[3]).await);
    assert_eq!(whole["delta"], play.get(&parts[2]).await);
}

/// A running reply grows without an operation, but its tag still changes.
#[tokio::test]
async fn etag_of_running_reply_changes_with_each_chunk() {
    let play = ApiSession::start().await;
    let gate = Gate::new();
    play.server.mock().queue_reply(Reply::ok(["One. ", "Two. ", "Three."]).gate(&gate));
    let parent = play.head().await;
    let started = play.post("message", json!({"parentId": parent, "content": "Hi.", "generate": true})).await;
    let (user, reply) = (id_of(&started["node"]), id_of(&started["generations"][0]));
    let app = play.server.app();
    let story = TestSession { app, user: app.owner, id: play.sid.parse().unwrap() };
    gate.release(1);
    story.wait_for_text(reply.parse().unwrap(), "One. ").await;
    for (path, so_far) in
        [(format!("node/{reply}"), "One. Two. "), (format!("node/{user}/alternatives"), "One. Two. Three.")]
    {
        let ask = |tag: &str| play.server.request("GET", &play.chat_path(&path)).header("if-none-match", tag).send();
        let tag = ask("\"none\"").await.header("etag").unwrap().to_owned();
        assert_eq!(ask(&tag).await.status, 304, "{path}");
        gate.release(1);
        story.wait_for_text(reply.parse().unwrap(), so_far).await;
        let heard = ask(&tag).await;
        assert!(heard.status == 200 && heard.text().contains(so_far), "{path}: {}", heard.text());
    }
    gate.open();
    play.wait_for_reply(&reply).await;
}

/// S4-39: what plugins add to an answer depends on their code: a tag from before an update does not match after it.
#[tokio::test]
async fn etag_changes_after_plugin_code_update() {
    let manifest = "id = \"offer\"\nversion = \"1.0.0\"\ntitle = \"Offer\"\napi = \"1\"\n";
    let files = |word: &str| {
        let script = format!("fn quick_replies(ctx) {{ [#{{ label: \"{word}\", send: \"{word}\" }}] }}");
        [("plugin.toml", manifest.to_owned()), ("main.rhai", script)]
    };
    let put = |setup: Setup, word: &str| {
        let files = files(word);
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        setup.with_plugin("offer", &files)
    };
    let play = ApiSession::start_with(put(TestApp::setup(), "before"), json!({"plugins": [{"id": "offer"}]})).await;
    let first = play.server.request("GET", &play.chat_path("projection")).send().await;
    assert_eq!(first.json()["quickReplies"][0]["send"], "before");
    let tag = first.header("etag").unwrap().to_owned();
    let ApiSession { server: app, sid } = play;
    let play = ApiSession { server: app.restart().await, sid };
    let ask =
        |play: &ApiSession| play.server.request("GET", &play.chat_path("projection")).header("if-none-match", &tag);
    assert_eq!(ask(&play).send().await.status, 304, "the same code");
    let ApiSession { server: app, sid } = play;
    let play = ApiSession { server: TestServer::start_with(put(app.stop().await, "after")).await, sid };
    let heard = ask(&play).send().await;
    assert_eq!((heard.status, &heard.json()["quickReplies"][0]["send"]), (200, &json!("after")));
}

#[tokio::test]
async fn compression_applies_to_large_answers_only() {
    let play = ApiSession::start().await;
    let parent = play.head().await;
    play.post("message", json!({"parentId": parent, "content": "long ".repeat(5_000)})).await;
    for (accepted, used) in [("gzip", Some("gzip")), ("br", Some("br")), ("identity", None), ("zstd", None)] {
        let heard =
            play.server.request("GET", &play.chat_path("tree")).header("accept-encoding", accepted).send_raw().await;
        assert_eq!((heard.status, heard.header("content-encoding")), (200, used), "{accepted}");
        assert!(heard.header("etag").unwrap().starts_with("W/"), "the bytes differ, the answer does not");
        if used.is_some() {
            assert!(heard.body.len() < 5_000, "{}", heard.body.len());
            assert!(
                heard.header("vary").is_some_and(|vary| vary.eq_ignore_ascii_case("accept-encoding")),
                "{accepted}"
            );
        }
    }
    let small = play.server.request("GET", "/healthz").header("accept-encoding", "gzip").send().await;
    assert_eq!(small.header("content-encoding"), None);
}

/// S4-39: every list and tree has pages with each item once and in order.
#[tokio::test]
async fn pagination_returns_every_item_once_in_order() {
    let app = TestServer::start().await;
    for n in 0..7 {
        app.create_character(&json!({"name": format!("Character {n}")})).await;
        app.post("/api/personas", &json!({"name": format!("Persona {n}")})).await;
        app.create_session().await;
    }
    // Lists.
    for path in ["/api/characters", "/api/personas", "/api/sessions"] {
        let whole = app.get(&format!("{path}?limit=500")).await;
        assert!(whole["next"].is_null());
        let (mut found, mut next) = (Vec::new(), String::new());
        loop {
            let page = app.get(&format!("{path}?limit=3{next}")).await;
            assert!(page["items"].as_array().unwrap().len() <= 3);
            found.extend(ids_of(&page["items"]));
            let Some(cursor) = page["next"].as_str() else { break };
            next = format!("&cursor={cursor}");
        }
        assert_eq!(found, ids_of(&whole["items"]), "{path}");
        let exact = app.get(&format!("{path}?limit={}", found.len())).await;
        assert!(exact["next"].is_null(), "{path}");
        for cursor in ["x", "", "MA", "%00", "Yy0x"] {
            app.request("GET", &format!("{path}?cursor={cursor}")).send().await.expect_error("invalid");
        }
    }
    // The tree, the projection and the log.
    let (session, line) = app.create_branch(9).await;
    let chat = |rest: &str| format!("/api/chat/{}/{rest}", id_of(&session));
    let (mut nodes, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = app.get(&chat(&format!("tree?limit=4&cursor={cursor}"))).await;
        nodes.extend(page["nodes"].as_object().unwrap().clone());
        match page["next"].as_str() {
            Some(next) => cursor = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(serde_json::Map::from_iter(nodes), *app.get(&chat("tree")).await["nodes"].as_object().unwrap());
    let (mut items, mut before) = (Vec::new(), String::new());
    loop {
        let page = app.get(&chat(&format!("projection?limit=4{before}"))).await;
        items.splice(0..0, ids_of(&page["items"]));
        let Some(next) = page["next"].as_str() else { break };
        before = format!("&before={next}");
    }
    assert_eq!(items, line);
    let (mut ops, mut since) = (Vec::new(), Some(0));
    while let Some(from) = since {
        let page = app.get(&chat(&format!("ops?limit=4&since={from}"))).await;
        ops.extend(page["items"].as_array().unwrap().iter().map(|one| one["op"].as_i64().unwrap()));
        since = page["next"].as_i64();
    }
    assert_eq!(ops, (1..=session["op"].as_i64().unwrap()).collect::<Vec<_>>());
}
