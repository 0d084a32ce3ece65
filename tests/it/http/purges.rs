//! Purged nodes are gone for good: for requests, watchers and the index, and from the disk.

use std::path::{Path, PathBuf};

use diesel::prelude::*;

use super::api_session::ApiSession;
use super::session_transfer::{export_session, run_import_job};
use super::tree_edits::start_combat_session;
use super::*;
use crate::support::test_store::{doctor_findings, query_count};
use crate::support::wait::wait_until;

impl ApiSession {
    async fn purge(&self, what: &str, piece: &str) -> Value {
        self.edit_tree(json!([{"op": "purge", what: piece, "confirm": true}])).await
    }

    fn assert_healthy(&self) {
        let found: Vec<_> =
            doctor_findings(&self.database_path(), false).into_iter().map(|found| found.finding).collect();
        assert!(found.is_empty(), "{found:?}");
    }

    fn database_path(&self) -> PathBuf {
        self.server.app().home().join("data/clotho.db")
    }

    /// Waits until a part of a running reply is on the disk.
    async fn wait_for_stored_segment(&self) {
        let mut conn = crate::support::open_second_connection(self.database_path());
        let pieces = "SELECT count(*) AS n FROM segments WHERE content <> ''";
        wait_until("a piece of the reply on the disk", async || query_count(&mut conn, pieces) > 0).await;
    }
}

/// S1-21, domain 2.16: a purge without confirmation only reports what would be deleted. A HEAD inside moves above it,
/// and labels on it are removed. Undo stops there.
#[tokio::test]
async fn purge_requires_confirmation_and_cannot_be_undone() {
    let (play, said) = start_combat_session().await;
    let side = play.regenerate_and_wait(&said[1].reply).await;
    play.checkout(&said[2].reply, true).await;
    play.edit_tree(json!([{"op": "label", "nodeId": said[2].user_node, "name": "the fight"}])).await;
    let before = play.get("tree").await;
    // Without confirmation nothing is purged.
    for asked in [json!({}), json!({"confirm": false})] {
        let mut purge = json!({"op": "purge", "nodeId": said[1].user_node});
        purge.as_object_mut().unwrap().extend(asked.as_object().unwrap().clone());
        let error = play.expect_error("PUT", "tree/edit", json!({"operations": [purge]}), "invalid").await;
        let told =
            json!({"field": "confirm", "nodes": 5, "branches": 2, "fragments": 0, "keptFragments": 0, "operation": 0});
        assert_eq!(error["details"], told);
    }
    // A list with an invalid edit is not applied at all.
    let half =
        json!([{"op": "purge", "nodeId": said[1].user_node, "confirm": true}, {"op": "unlabel", "name": "nothing"}]);
    play.expect_error("PUT", "tree/edit", json!({"operations": half}), "not_found").await;
    assert_eq!(play.get("tree").await, before, "all of a list, or nothing");

    let other = play.server.create_session().await;
    // The purge.
    let made = play.purge("nodeId", &said[1].user_node).await;
    assert_eq!(
        made["worldChanges"],
        json!([{"nodeId": said[0].reply, "path": "/combat/hp", "before": 25, "after": 33}])
    );
    assert_eq!(play.head().await, said[0].reply);
    for gone in [&said[1].user_node, &said[1].reply, &side, &said[2].user_node, &said[2].reply] {
        play.server.request("GET", &play.chat_path(&format!("node/{gone}"))).send().await.expect_error("not_found");
    }
    let tree = play.get("tree").await;
    assert_eq!((&tree["stash"], &tree["labels"]), (&json!([]), &json!([])));
    assert_eq!(tree["nodes"].as_object().unwrap().len(), before["nodes"].as_object().unwrap().len() - 5);
    assert_eq!(play.session().await["counts"]["branches"], 1);
    // Undo stops at the purge and works again for later messages.
    for way in ["undo", "redo"] {
        let error = play.expect_error("POST", way, json!({}), "nothing_to_undo").await;
        assert_eq!(error["details"], json!({"reason": "purged"}));
    }
    let more = play.run_turn("Another way.").await;
    assert_eq!(play.post("undo", json!({})).await["kind"], "message");
    play.expect_error("POST", "undo", json!({}), "nothing_to_undo").await;
    assert_eq!(play.post("redo", json!({})).await["leafId"], json!(more.reply));
    // Another session and the stored data are intact.
    let untouched = play.server.get(&format!("/api/sessions/{}", id_of(&other))).await;
    assert_eq!((&untouched["counts"], &untouched["op"]), (&other["counts"], &other["op"]));
    play.assert_healthy();
    let play = play.restart().await;
    assert_eq!(play.head().await, more.reply);
    assert_eq!(play.hp(&more.reply).await, 33);
}

/// Domain 2.16, 9: the root and running replies cannot be purged, and nodes of other users are not found.
#[tokio::test]
async fn purge_of_root_or_streaming_node_is_refused() {
    let play = ApiSession::start().await;
    let said = play.run_turn("One.").await;
    let stranger = play.server.create_other_user().await;
    let check = async |edit: Value, code: &str, field: Option<&str>| {
        let error = play.expect_error("PUT", "tree/edit", json!({"operations": [edit]}), code).await;
        assert_eq!(error["details"]["field"].as_str(), field, "{error}");
    };
    let purge = |what: &str, piece: Value| json!({"op": "purge", what: piece, "confirm": true});
    check(purge("nodeId", play.session().await["rootNodeId"].clone()), "conflict", None).await;
    check(purge("nodeId", json!(stranger.greeting.to_string())), "not_found", Some("nodeId")).await;
    check(purge("fragmentId", json!(stranger.greeting.to_string())), "not_found", Some("fragmentId")).await;
    check(json!({"op": "purge", "confirm": true}), "invalid", Some("operations[0].nodeId")).await;
    check(json!({"op": "prune", "nodeId": said.user_node, "confirm": true}), "invalid", Some("operations[0].confirm"))
        .await;
    play.server.mock().queue_reply(Reply::silent());
    let body = json!({"parentId": said.reply, "content": "Two.", "generate": true});
    let running = id_of(&play.post("message", body).await["generations"][0]);
    for node in [&said.user_node, &running] {
        check(purge("nodeId", json!(node)), "generating", None).await;
    }
    play.server.request("POST", &play.chat_path(&format!("node/{running}/cancel"))).send().await.expect(202);
    play.wait_for_reply(&running).await;
    play.purge("nodeId", &said.user_node).await;
    assert_eq!(play.nodes().await.len(), 2);
    play.assert_healthy();
}

/// Domain 2.15, 2.16: an undone node is invisible but still has its text. It is purged by its id, with undone nodes
/// below it and nothing else, and redo cannot restore it.
#[tokio::test]
async fn purge_removes_undone_nodes_and_redo() {
    let play = ApiSession::start().await;
    let first = play.run_turn("One.").await;
    let second = play.run_turn("Two, the secret.").await;
    play.post("undo", json!({})).await;
    let roll = play.regenerate_and_wait(&first.reply).await;
    play.post("undo", json!({})).await;
    let before = (play.get("tree").await["nodes"].clone(), play.session().await["counts"].clone());
    let asked = json!({"operations": [{"op": "purge", "nodeId": second.user_node}]});
    let details = play.expect_error("PUT", "tree/edit", asked, "invalid").await["details"].clone();
    let told =
        json!({"field": "confirm", "nodes": 2, "branches": 0, "fragments": 0, "keptFragments": 0, "operation": 0});
    assert_eq!(details, told);
    let made = play.purge("nodeId", &second.user_node).await;
    assert_eq!(made["worldChanges"], json!([]));
    let mut conn = crate::support::open_second_connection(play.database_path());
    let mut texts = |what: &str| query_count(&mut conn, &format!("SELECT count(*) AS n FROM {what}"));
    assert_eq!(texts("texts WHERE content LIKE '%secret%'"), 0);
    let hidden = "nodes WHERE is_hidden";
    assert_eq!(texts(hidden), 1, "the other reply that was taken back stays");
    play.purge("nodeId", &roll).await;
    assert_eq!(texts(hidden), 0);
    assert_eq!((play.get("tree").await["nodes"].clone(), play.session().await["counts"].clone()), before);
    assert_eq!(play.head().await, first.reply);
    for gone in [&second.user_node, &second.reply, &roll] {
        let again = json!({"operations": [{"op": "purge", "nodeId": gone, "confirm": true}]});
        assert_eq!(play.expect_error("PUT", "tree/edit", again, "not_found").await["details"]["field"], "nodeId");
    }
    play.expect_error("POST", "redo", json!({}), "nothing_to_undo").await;
    play.assert_healthy();
}

/// Domain 2.16, S4-58: a fragment is purged as it is. Nodes that were cut from it before stay in the stash, and they
/// return to the message above it.
#[tokio::test]
async fn purge_of_fragment_keeps_nodes_cut_from_it() {
    let (play, said) = start_combat_session().await;
    let cut = async |node: &str| {
        play.edit_tree(json!([{"op": "prune", "nodeId": node}])).await["fragmentIds"][0].as_str().unwrap().to_owned()
    };
    let (inner, outer) = (cut(&said[2].user_node).await, cut(&said[1].user_node).await);
    let asked = json!({"operations": [{"op": "purge", "fragmentId": outer}]});
    let details = play.expect_error("PUT", "tree/edit", asked, "invalid").await["details"].clone();
    let told =
        json!({"field": "confirm", "nodes": 2, "branches": 1, "fragments": 1, "keptFragments": 1, "operation": 0});
    assert_eq!(details, told);
    play.purge("fragmentId", &outer).await;
    let stash = play.get("stash").await["items"].clone();
    assert_eq!((stash.as_array().unwrap().len(), &stash[0]["id"]), (1, &json!(inner)));
    assert_eq!((&stash[0]["originId"], &stash[0]["canReturn"]), (&json!(said[0].reply), &json!(true)));
    play.assert_healthy();
    play.edit_tree(json!([{"op": "graft", "fragmentId": inner}])).await;
    assert_eq!(play.nodes().await[&said[2].user_node]["parentId"], json!(said[0].reply));
    assert_eq!(play.hp(&said[2].reply).await, 30, "without the bite that is gone");
    play.assert_healthy();
}

/// S4-45, domain 2.16: watchers get the purge, and late ones read it from the log, without any text.
#[tokio::test]
async fn purge_is_sent_to_watchers_without_text() {
    let play = ApiSession::start().await;
    let (first, second) = (play.run_turn("One.").await, play.run_turn("Two, the secret.").await);
    let mut watching = play.server.open_socket(&play.sid, None).await;
    let before = play.session().await["op"].as_i64().unwrap();
    let op = play.purge("nodeId", &second.user_node).await["op"].clone();
    let mut late = play.server.open_socket(&play.sid, Some(before)).await;
    for socket in [&mut watching, &mut late] {
        let frames = socket.read_until(|frame| frame["type"] == "tree.changed").await;
        let told = frames.last().unwrap();
        assert_eq!((&told["op"], &told["operation"]["kind"]), (&op, &json!("purge")));
        let effects = told["operation"]["effects"].as_array().unwrap();
        let purged = json!({"purged": second.user_node, "parent": first.reply, "below": [second.reply]});
        assert!(effects.contains(&purged), "{effects:?}");
    }
    assert!(!play.get("ops?since=0").await.to_string().contains("secret"));
}

/// Domain 2.16, 6.5: the trace of a reply that was below a purged node can still be read. Purged texts are named by
/// their hash, and nothing else is missing.
#[tokio::test]
async fn purge_leaves_trace_naming_missing_hash() {
    let (play, said) = start_combat_session().await;
    let trace = async || play.get(&format!("node/{}/trace", said[2].reply)).await;
    let before = trace().await;
    let sent = before["history"].as_array().unwrap();
    assert_eq!((sent.len(), &sent[1], &before["isExact"]), (6, &json!(said[0].user_node), &json!(true)));
    play.edit_tree(json!([{"op": "graft", "nodeId": said[2].user_node, "targetId": sent[0]}])).await;
    play.purge("nodeId", &said[0].user_node).await;
    let after = trace().await;
    let hash = |text: &str| json!({"purged": true, "hash": blake3::hash(text.as_bytes()).to_hex().as_str()});
    let gone = ["One.", "It bites. [HP -7]", "Two.", "It bites. [HP -5]"].map(hash);
    assert_eq!(after["history"], json!([sent[0], gone[0], gone[1], gone[2], gone[3], sent[5]]));
    assert_eq!((&after["isExact"], &after["params"]), (&json!(false), &before["params"]));
    let messages = after["messages"].to_string();
    assert!(messages.contains("Three.") && !messages.contains("One.") && !messages.contains("Two."), "{messages}");
    play.assert_healthy();
    assert_eq!(play.restart().await.hp(&said[2].reply).await, 37);
}

/// Domain 2.16, 6.5: nodes cut from a purged part, or grafted elsewhere in the same list, keep their traces. The
/// session can still be exported and imported.
#[tokio::test]
async fn purge_keeps_traces_of_nodes_cut_out() {
    for is_one_list in [false, true] {
        let (play, said) = start_combat_session().await;
        let last = &said[2];
        let begin = play.nodes().await[&said[0].user_node]["parentId"].clone();
        let purge = json!({"op": "purge", "nodeId": said[0].user_node, "confirm": true});
        if is_one_list {
            play.edit_tree(json!([{"op": "graft", "nodeId": last.user_node, "targetId": begin}, purge])).await;
        } else {
            play.edit_tree(json!([{"op": "prune", "nodeId": last.user_node}])).await;
            play.edit_tree(json!([purge])).await;
            let stash = play.get("stash").await;
            play.edit_tree(json!([{"op": "graft", "fragmentId": stash["items"][0]["id"]}])).await;
        }
        let trace = play.get(&format!("node/{}/trace", last.reply)).await;
        assert_eq!(
            trace["history"].as_array().unwrap().iter().filter(|one| one["purged"] == true).count(),
            4,
            "{trace}"
        );
        play.assert_healthy();
        let file = export_session(&play.server, &play.sid).await;
        let job = run_import_job(&play.server, &file.body).await;
        assert_eq!((&job["state"], &job["error"]), (&json!("done"), &Value::Null), "{job}");
    }
}

/// Domain 2.10, 6.5: the trace of a copy names messages of its source session. If that session is not in the file, they
/// are marked as elsewhere, after any number of exports. Purged messages are marked as purged.
#[tokio::test]
async fn session_export_marks_trace_sources_elsewhere_or_purged() {
    let (play, said) = start_combat_session().await;
    let session = play.server.create_session().await;
    let (other, head) = (id_of(&session), &session["activeLeafId"]);
    let copy = json!([{"op": "graft", "nodeId": said[2].user_node, "targetId": head, "fromSessionId": play.sid, "mode": "copy"}]);
    play.server.put(&format!("/api/chat/{other}/tree/edit"), &json!({"operations": copy})).await;
    // One message of the copy's trace is purged, and the others stay.
    let begin = play.nodes().await[&said[0].user_node]["parentId"].clone();
    play.edit_tree(json!([{"op": "graft", "nodeId": said[1].user_node, "targetId": begin}])).await;
    play.purge("nodeId", &said[0].user_node).await;
    let mut sid = other;
    for _ in 0..2 {
        let file = export_session(&play.server, &sid).await;
        let job = run_import_job(&play.server, &file.body).await;
        assert_eq!((&job["state"], &job["error"]), (&json!("done"), &Value::Null), "{job}");
        sid = job["result"]["sessionId"].as_str().unwrap().to_owned();
        let nodes = play.server.get(&format!("/api/chat/{sid}/tree")).await["nodes"].clone();
        let is_reply = |node: &Value| node["role"] == "assistant" && node["kind"] == "message";
        let (reply, _) = nodes.as_object().unwrap().iter().find(|(_, node)| is_reply(node)).unwrap();
        let trace = play.server.get(&format!("/api/chat/{sid}/node/{reply}/trace")).await;
        let history = trace["history"].as_array().unwrap();
        let (elsewhere, gone) = (json!({"elsewhere": true}), json!({"purged": true, "hash": null}));
        let own = history.last().unwrap();
        assert!(own.is_string(), "{history:?}");
        assert_eq!(history[..5], [elsewhere.clone(), gone.clone(), gone, elsewhere.clone(), elsewhere], "{history:?}");
        assert_eq!(trace["isExact"], false);
    }
}

/// Returns every file of a folder that contains these bytes.
pub fn files_containing(folder: &Path, word: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_containing(&path, word));
        } else if let Ok(bytes) = std::fs::read(&path)
            && bytes.windows(word.len()).any(|window| window == word.as_bytes())
        {
            found.push(path.display().to_string());
        }
    }
    found
}

/// Waits until no file of a folder contains these bytes.
pub async fn wait_until_gone(folder: &Path, word: &str) {
    wait_until(&format!("a folder without \"{word}\""), async || files_containing(folder, word).is_empty()).await;
}

/// S4-39, domain 2.16: repeating a purge with the same key returns the first answer, even if the server died before it
/// could answer. The stored answer has no values that may have been purged.
#[tokio::test]
async fn purge_repeated_request_returns_same_answer() {
    let (play, said) = start_combat_session().await;
    let ask = async |play: &ApiSession, node: &str, key: &str| {
        let body = json!({"operations": [{"op": "purge", "nodeId": node, "confirm": true}]});
        play.server.request("PUT", &play.chat_path("tree/edit")).header("Idempotency-Key", key).json(&body).send().await
    };
    let first = ask(&play, &said[2].user_node, "k1").await.expect(200);
    assert_eq!(first["worldChanges"][0]["before"], 25);
    let again = ask(&play, &said[2].user_node, "k1").await;
    assert_eq!((again.status, again.header("idempotency-replayed")), (200, Some("true")));
    let told = again.json();
    assert_eq!((&told["op"], &told["worldChanges"], &told["isCutShort"]), (&first["op"], &json!([]), &json!(true)));
    ask(&play, &said[2].user_node, "k2").await.expect_error("not_found");

    let mut behind = crate::support::open_second_connection(play.database_path());
    let lose = "CREATE TRIGGER lose BEFORE UPDATE ON answers BEGIN SELECT RAISE(ABORT, 'lost'); END";
    diesel::sql_query(lose).execute(&mut behind).unwrap();
    let first = ask(&play, &said[1].user_node, "k3").await.expect(200);
    let turned = async |play: &ApiSession| {
        play.server
            .request("POST", &play.chat_path("undo"))
            .header("Idempotency-Key", "k4")
            .json(&json!({}))
            .send()
            .await
    };
    let more = play.run_turn("More.").await;
    let undone = turned(&play).await.expect(200);
    // A server does not start on a database with a trigger.
    diesel::sql_query("DROP TRIGGER lose").execute(&mut behind).unwrap();
    let play = play.restart().await;
    let op = play.session().await["op"].clone();
    let again = ask(&play, &said[1].user_node, "k3").await;
    assert_eq!((again.status, again.header("idempotency-replayed")), (200, Some("true")));
    assert_eq!((&again.json()["op"], &again.json()["worldChanges"]), (&first["op"], &json!([])));
    assert_eq!(turned(&play).await.expect(200), undone);
    assert_eq!(play.session().await["op"], op, "nothing was done twice");
    assert_eq!(play.post("redo", json!({})).await["leafId"], json!(more.reply));
}

/// Domain 2.16, S4-39: stored answers of edits, undo, redo and node states have no values of a world. They do not name
/// the message a value came from, so they would keep it after a purge. A repeated request still reports what was done.
#[tokio::test]
async fn idempotent_answers_store_no_state_values() {
    const WORD: &str = "Quarterstaffmelon";
    let play = ApiSession::start().await;
    let begin = play.head().await;
    let by_hand = async |node: &str, value: &str| {
        let operations = json!([{"op": "set", "path": "/free", "value": value}]);
        id_of(&play.post(&format!("node/{node}/world"), json!({"operations": operations})).await["node"])
    };
    let secret = by_hand(&begin, WORD).await;
    let later = by_hand(&secret, "another").await;
    let written = play.post("message", json!({"parentId": later, "content": "On.", "generate": false})).await;
    assert_eq!(play.head().await, id_of(&written["node"]));
    let graft = json!({"operations": [{"op": "graft", "nodeId": later, "targetId": begin}]});
    let acts = [
        ("PUT", format!("node/{later}/state"), json!({"effects": "muted"})),
        ("PUT", "tree/edit".to_owned(), graft),
        ("POST", "undo".to_owned(), json!({})),
        ("POST", "redo".to_owned(), json!({})),
    ];
    let ask = async |key: usize| {
        let (method, rest, body) = &acts[key];
        let ask = play.server.request(method, &play.chat_path(rest)).header("Idempotency-Key", &format!("k{key}"));
        ask.json(body).send().await.expect(200)
    };
    let mut first = Vec::new();
    for key in 0..acts.len() {
        let told = ask(key).await;
        assert!(told["worldChanges"].to_string().contains(WORD), "{told}");
        first.push(told);
    }
    play.purge("nodeId", &secret).await;
    wait_until_gone(&play.server.app().home().join("data"), WORD).await;
    let op = play.session().await["op"].clone();
    for (key, mut told) in first.into_iter().enumerate() {
        (told["worldChanges"], told["isCutShort"]) = (json!([]), json!(true));
        assert_eq!(ask(key).await, told);
    }
    assert_eq!(play.session().await["op"], op, "nothing was done twice");
    play.assert_healthy();
}

/// Domain 2.16: keyframes below a message have the values that it set, also after a graft. Purging the message wipes
/// them too.
#[tokio::test]
async fn purge_wipes_keyframes_of_grafted_nodes() {
    let play = ApiSession::start().await;
    let begin = play.head().await;
    let operations = json!([{"op": "set", "path": "/free", "value": "Quarterstaffmelon"}]);
    let secret = id_of(&play.post(&format!("node/{begin}/world"), json!({"operations": operations})).await["node"]);
    let mut line = vec![secret.clone()];
    for _ in 0..18 {
        let body = json!({"parentId": line.last().unwrap(), "content": "On.", "generate": false});
        line.push(id_of(&play.post("message", body).await["node"]));
    }
    play.checkout(&begin, true).await;
    let mut conn = crate::support::open_second_connection(play.database_path());
    let mut is_there = || {
        let deep = "SELECT count(*) AS n FROM keyframes k JOIN nodes ON nodes.n = k.node_n WHERE nodes.depth > 9";
        query_count(&mut conn, deep) > 0
    };
    assert!(is_there());
    play.edit_tree(json!([{"op": "graft", "nodeId": line[1], "targetId": begin}])).await;
    assert!(is_there(), "an edit outdates and destroys nothing");
    play.purge("nodeId", &secret).await;
    wait_until("a database without the outdated keyframes", async || !is_there()).await;
    let world = play.get(&format!("node/{}/world", line[18])).await;
    assert_eq!(world["world"]["vars"]["free"], Value::Null);
    play.assert_healthy();
}

/// Domain 2.16: after a purge no file contains the purged word: no message, edit, partial reply, prompt, index or
/// stored answer. This holds after a restart too, and the repeated request reports that its answer is gone.
#[tokio::test]
async fn purge_removes_bytes_from_every_file() {
    const WORD: &str = "Xylophonebananas";
    let play = ApiSession::start().await;
    let stays = play.run_turn("Nothing special.").await;
    let secret = format!("The password is {WORD}. {}", "More of it. ".repeat(40));
    let gate = Gate::new();
    play.server.mock().queue_reply(Reply::ok(vec![secret.as_str(); 40]).gate(&gate));
    let body = json!({"parentId": stays.reply, "content": secret, "generate": true});
    let ask = async || {
        play.server.request("POST", &play.chat_path("message")).header("Idempotency-Key", "k1").json(&body).send().await
    };
    let started = ask().await.expect(202);
    let (node, reply) = (id_of(&started["node"]), id_of(&started["generations"][0]));
    gate.release(20);
    play.wait_for_stored_segment().await;
    gate.open();
    play.wait_for_reply(&reply).await;
    let edited = play.post(&format!("node/{node}/edit"), json!({"content": format!("{secret} Really.")})).await;
    play.wait_for_reply(&id_of(&edited["generations"][0])).await;
    search_until(&play.server, WORD, 3).await;
    let data = play.server.app().home().join("data");
    assert!(!files_containing(&data, WORD).is_empty());

    for top in [&node, &id_of(&edited["node"])] {
        play.purge("nodeId", top).await;
    }
    wait_until_gone(&data, WORD).await;
    ask().await.expect_error("gone_purged");
    play.assert_healthy();
    let play = play.restart().await;
    assert_eq!(files_containing(&data, WORD), [""; 0]);
    assert_eq!(play.server.get(&format!("/api/search?q={WORD}")).await["items"], json!([]));
    assert_eq!(play.head().await, stays.reply);
}
