//! Views of one tree: all of it, one branch, the turns and the versions of a node. They must agree.

use std::collections::HashSet;
use std::sync::Arc;

use clotho_core::clock::{TestClock, Time};
use clotho_core::ids::NodeId;
use clotho_core::oplog::OperationKind;
use clotho_core::tree::{Kind, Role};
use clotho_core::world::StateOperation;
use clotho_store::{Actor, MessageWrite, NodeDraft};

use super::api_session::{ApiSession, ids_of, path_to_node};
use super::*;
use crate::support::test_session::TestSession;

/// Returns the texts of a list of nodes.
fn node_texts(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|node| node["content"].as_str().unwrap()).collect()
}

/// Returns the kinds of the effects of operations.
fn effect_kinds(operations: &Value) -> Vec<&str> {
    let operations = operations["items"].as_array().unwrap().iter();
    let effects = operations.flat_map(|operation| operation["effects"].as_array().unwrap());
    effects.map(|effect| effect.as_object().unwrap().keys().next().unwrap().as_str()).collect()
}

/// S0-02, S1-06: the tree has all three branches, the projection only the one of HEAD. Checkouts write nothing but HEAD
/// and the remembered children.
#[tokio::test]
async fn tree_has_all_branches_projection_has_one() {
    let play = ApiSession::start().await;
    let first = play.run_turn("One.").await;
    let second = play.regenerate_and_wait(&first.reply).await;
    let below = play.run_turn_at(&first.reply, "Two.").await;
    let edited = play.post(&format!("node/{}/edit", below.user_node), json!({"content": "Three."})).await;
    let third = id_of(&edited["generations"][0]);
    play.wait_for_reply(&third).await;
    let nodes = play.nodes().await;
    assert_eq!(nodes.len(), 9, "root, greeting, three texts and their four replies");
    assert_eq!(nodes.values().filter(|node| node["parentId"].is_null()).count(), 1);
    let op = play.session().await["op"].as_i64().unwrap();
    for leaf in [&second, &below.reply, &third, &second, &below.reply] {
        assert_eq!(&play.checkout(leaf, true).await, leaf);
        let shown = play.get("projection").await;
        assert_eq!(
            (ids_of(&shown["items"]), shown["leafId"].as_str()),
            (path_to_node(&nodes, leaf), Some(leaf.as_str()))
        );
    }
    let since = play.get(&format!("ops?since={op}")).await;
    assert!(effect_kinds(&since).iter().all(|word| ["head", "remembered"].contains(word)), "{since}");
    assert_eq!(since["items"].as_array().unwrap().len(), 5);
    assert_eq!(play.nodes().await, nodes, "not a byte of a node has changed");
}

/// S0-13: the choice among replies is remembered, after a restart too.
#[tokio::test]
async fn remembered_child_survives_restart() {
    let play = ApiSession::start().await;
    let greeting = play.head().await;
    let said = play.run_turn("Hi.").await;
    let second = play.regenerate_and_wait(&said.reply).await;
    let third = play.regenerate_and_wait(&said.reply).await;
    assert_eq!(play.checkout(&second, false).await, second);
    assert_eq!(play.checkout(&greeting, true).await, greeting);
    let play = play.restart().await;
    assert_eq!(play.head().await, greeting);
    let turn = play.get(&format!("turns?leaf={}", said.user_node)).await[1].clone();
    assert_eq!((&turn["defaultGeneration"], &turn["selectedRecordId"]), (&json!(second), &json!(second)));
    assert_eq!(ids_of(&turn["records"]), [said.reply, second.clone(), third.clone()]);
    let versions = play.get(&format!("node/{third}/alternatives")).await;
    assert_eq!(versions["selectedId"], json!(second));
    assert_eq!(play.checkout(&said.user_node, false).await, second);
}

/// S0-26: the path from the root to here, with one entry for each turn.
#[tokio::test]
async fn turns_view_has_one_entry_per_turn() {
    let play = ApiSession::start().await;
    let mut users = Vec::new();
    let mut replies = Vec::new();
    for text in ["One.", "Two.", "Three."] {
        let said = play.run_turn(text).await;
        users.push(said.user_node);
        replies.push(said.reply);
    }
    let session = play.session().await;
    let stops = play.get("context-path").await;
    let stops = stops.as_array().unwrap();
    assert_eq!(stops[0]["id"], session["rootNodeId"]);
    assert!(stops[0]["parentId"].is_null());
    assert_eq!(stops.last().unwrap()["id"], session["contextNodeId"]);
    assert_eq!(stops.len() - 1, usize::try_from(session["counts"]["turns"].as_u64().unwrap()).unwrap());
    for (n, stop) in stops.iter().enumerate() {
        assert_eq!((stop["turn"].as_u64(), &stop["isCurrent"]), (Some(n as u64), &json!(n == 3)), "{stop}");
        if n > 0 {
            assert_eq!((&stop["id"], &stop["parentId"]), (&json!(users[n - 1]), &stops[n - 1]["id"]));
        }
    }
    assert_eq!(stops[2]["preview"], "Two.");
    let earlier = play.get(&format!("context-path?leaf={}", replies[1])).await;
    assert_eq!(ids_of(&earlier), [id_of(&stops[0]), users[0].clone(), users[1].clone()]);
    assert_eq!(earlier[2]["isCurrent"], true);
    let page = play.server.request("GET", &play.chat_path("context-path?limit=2")).send().await;
    assert_eq!(ids_of(&page.json()), [users[1].clone(), users[2].clone()]);
    let next = page.header("link").unwrap().trim_start_matches('<').split('>').next().unwrap().to_owned();
    assert_eq!(ids_of(&play.server.get(&next).await), [id_of(&stops[0]), users[0].clone()]);
}

/// The list of sessions has the beginning of each newest message, as readers see it and limited in length.
#[tokio::test]
async fn session_list_shows_preview_of_newest_message() {
    let play = ApiSession::start().await;
    let previews = async || -> Vec<Value> {
        let list = play.server.get("/api/sessions").await;
        list["items"].as_array().unwrap().iter().map(|session| session["preview"].clone()).collect()
    };
    assert_eq!(previews().await, ["Hello."]);
    let long = "far ".repeat(100);
    play.server.mock().queue_reply(Reply::ok([format!("<think>Where to?</think>\nSouth,\n\n  {long}")]));
    let said = play.run_turn("Where to?").await;
    assert_eq!(previews().await, [format!("South, {}", long.chars().take(153).collect::<String>())]);
    play.checkout(&said.user_node, true).await;
    assert_eq!(previews().await, ["Where to?"]);
}

/// S0-29: a turn after a reply has all fields of a context node: its origin, plugin state, event history and selected
/// reply.
#[tokio::test]
async fn context_node_after_reply_has_all_fields() {
    let play = ApiSession::start_with(TestApp::setup(), json!({"plugins": [{"id": "combat"}]})).await;
    play.server.mock().queue_reply(Reply::ok(["It bites. [HP -7]"]));
    let first = play.run_turn("One.").await;
    let met = write_event_message(&play, &first.reply, "met the ogre").await;
    let second = play.run_turn_at(&met, "Two.").await;
    let turns = play.get("turns").await;
    assert_eq!(turns.as_array().unwrap().len(), 4);
    let turn = &turns[3];
    assert_eq!((&turn["contextNodeId"], &turn["parentId"]), (&json!(second.user_node), &json!(met)));
    assert_eq!(turn["eventHistory"], json!([{"text": "met the ogre"}]));
    assert_eq!(turns[1]["eventHistory"], json!([]), "it had not happened yet");
    assert_eq!(turn["defaultGeneration"], json!(second.reply));
    assert!(turn["ragPosition"].is_null() && turn.as_object().unwrap().contains_key("ragPosition"), "memory is off");
    assert!(turn["isKeyframe"] == false && turns[0]["isKeyframe"] == true);
    let world = |node: &str| format!("node/{node}/world");
    let (before, after) = (play.get(&world(&first.user_node)).await, play.get(&world(&second.user_node)).await);
    let hp = |world: &Value| world["world"]["vars"]["combat"]["hp"].clone();
    assert_eq!((hp(&before), hp(&after)), (json!(40), json!(33)));
    assert_eq!((&before["world"]["events"], &after["world"]["events"]), (&json!([]), &turn["eventHistory"]));
    // In the tree its parent is still the node below which it was written.
    assert_eq!(play.get(&format!("node/{}", second.user_node)).await["parentId"], json!(met));
    // A sibling branch has none of it.
    let beside = play.run_turn_at(&first.reply, "Elsewhere.").await;
    let turns = play.get(&format!("turns?leaf={}", beside.reply)).await;
    assert_eq!(turns[2]["eventHistory"], json!([]));
}

/// S0-09, S0-11, S0-29: with memory on, each turn says how many messages of its branch memory can use.
#[tokio::test]
async fn rag_position_with_memory_counts_messages_of_branch() {
    let play = ApiSession::start().await;
    let path = format!("/api/sessions/{}", play.sid);
    let recall = json!({"recall": {"enabled": true, "collections": []}});
    play.server.request("PATCH", &path).json(&recall).send().await.expect(200);
    let first = play.run_turn("One.").await;
    play.run_turn("Two.").await;
    let beside = play.run_turn_at(&first.reply, "Elsewhere.").await;
    let positions = async |query: &str| {
        let turns = play.get(&format!("turns{query}")).await;
        turns.as_array().unwrap().iter().map(|turn| turn["ragPosition"].clone()).collect::<Vec<_>>()
    };
    // The greeting is the first message, the user's are the second and the fourth.
    let expected = [json!(0), json!(2), json!(4)];
    assert_eq!(positions("").await, expected);
    assert_eq!(positions(&format!("?leaf={}", beside.reply)).await, expected);
    assert_eq!(positions(&format!("?leaf={}", first.reply)).await, expected[..2]);
}

/// Writes a message with an event directly to the store, since no route can write events yet.
async fn write_event_message(play: &ApiSession, parent: &str, what: &str) -> String {
    let app = play.server.app();
    let now = app.clock.now();
    let event = json!({"in": "events", "op": "append", "path": "", "value": {"text": what}});
    let mut draft = NodeDraft::new(NodeId::new(app.ids.next_id(now)), Role::User, Kind::Message, 1, now);
    draft.delta.operations = vec![StateOperation::from_json(&event).unwrap()];
    let node = draft.id.to_string();
    let message = MessageWrite {
        session: play.sid.parse().unwrap(),
        parent: parent.parse().unwrap(),
        rules_change: None,
        draft: Some(draft),
        move_children_from: None,
        replies: Vec::new(),
        move_head: true,
        kind: OperationKind::Message,
    };
    let actor = Actor { user: app.owner, at: now, expected_leaf: None };
    app.store.write(move |tx| tx.add_message(&actor, &message)).await.unwrap();
    node
}

/// S0-30: HEAD moves to a turn by its id, and stays for an unknown id.
#[tokio::test]
async fn head_move_to_unknown_node_is_refused() {
    let play = ApiSession::start().await;
    let first = play.run_turn("One.").await;
    let second = play.run_turn("Two.").await;
    assert_eq!(play.checkout(&first.user_node, true).await, first.user_node);
    assert_eq!(play.session().await["contextNodeId"], json!(first.user_node));
    assert_eq!(
        play.checkout(&first.user_node, false).await,
        second.reply,
        "without \"exact\" to the leaf last visited"
    );
    let elsewhere = play.server.create_session().await["activeLeafId"].clone();
    let before = play.session().await;
    for unknown in [json!("018f3e2a-0000-7000-8000-0000000000aa"), elsewhere] {
        play.expect_error("PUT", "active_leaf", json!({"nodeId": unknown}), "not_found").await;
    }
    play.expect_error("PUT", "active_leaf", json!({"nodeId": "two"}), "invalid").await;
    assert_eq!(play.session().await, before);
}

/// S1-01, S1-11: a turn is one input with any number of replies, each with its own text, parameters and time.
#[tokio::test]
async fn turn_view_groups_input_with_its_replies() {
    let play = ApiSession::start().await;
    for text in ["First.", "Second.", "Third."] {
        play.server.mock().queue_reply(Reply::ok([text]));
    }
    let said = play.run_turn("Hi.").await;
    let warm = play.post(&format!("node/{}/reroll", said.reply), json!({"params": {"temperature": 1.5}})).await;
    play.wait_for_reply(&id_of(&warm["generations"][0])).await;
    play.regenerate_and_wait(&said.reply).await;
    let turns = play.get("turns").await;
    assert_eq!(turns.as_array().unwrap().len(), 2, "rerolls add no turn");
    assert_eq!(turns[1]["userContent"], "Hi.");
    let records = turns[1]["records"].as_array().unwrap();
    assert_eq!(node_texts(&turns[1]["records"]), ["First.", "Second.", "Third."]);
    assert!(records.iter().all(|record| record["nodeId"] == turns[1]["contextNodeId"]));
    assert!(records.iter().all(|record| record["metadata"]["model"] == "mock/mock" && record["status"] == "complete"));
    assert_eq!(records[1]["metadata"]["params"]["temperature"], json!(1.5));
    assert!(records[0]["metadata"]["params"]["temperature"].is_null());
    let times: Vec<&str> = records.iter().map(|record| record["createdAt"].as_str().unwrap()).collect();
    assert!(times.is_sorted() && times[0] < times[2], "{times:?}");
}

/// S0-32: four rerolls give five records in order, one of them selected. Records of other turns are not included.
#[tokio::test]
async fn four_rerolls_list_five_replies_one_selected() {
    let play = ApiSession::start().await;
    let first = play.run_turn("Hi.").await;
    let mut replies = vec![first.reply.clone()];
    for _ in 0..4 {
        replies.push(play.regenerate_and_wait(&first.reply).await);
    }
    play.checkout(&replies[2], true).await;
    let other = play.run_turn("And on.").await;
    for (node, list, selected) in
        [(&first.user_node, "generations", "selectedGenerationId"), (&replies[4], "items", "selectedId")]
    {
        let found = play.get(&format!("node/{node}/alternatives")).await;
        assert_eq!(ids_of(&found[list]), replies);
        assert_eq!(found[selected], json!(replies[2]));
    }
    let found = play.get(&format!("node/{}/alternatives", other.user_node)).await;
    assert_eq!(ids_of(&found["generations"]), [other.reply]);
}

/// S0-32, S1-01, S1-11: a change node between a message and its replies keeps all of them in the turn.
#[tokio::test]
async fn turn_view_includes_replies_below_change_node() {
    let play = ApiSession::start().await;
    let first = play.run_turn("Hi.").await;
    play.checkout(&first.user_node, true).await;
    let operations = json!({"operations": [{"op": "set", "path": "/a", "value": 1}]});
    let change = id_of(&play.post(&format!("node/{}/world", first.user_node), operations).await["node"]);
    let second = play.regenerate_and_wait(&change).await;
    let third = play.regenerate_and_wait(&first.reply).await;
    play.checkout(&second, true).await;
    let turns = play.get("turns").await;
    assert_eq!(turns.as_array().unwrap().len(), 2);
    let turn = &turns[1];
    let replies = [first.reply, second.clone(), third];
    assert_eq!(ids_of(&turn["records"]), replies);
    assert!(turn["records"].as_array().unwrap().iter().all(|record| record["nodeId"] == json!(first.user_node)));
    for chosen in ["selectedRecordId", "shownRecordId", "defaultGeneration"] {
        assert_eq!(turn[chosen], json!(second), "{chosen}");
    }
    let found = play.get(&format!("node/{}/alternatives", first.user_node)).await;
    assert_eq!(ids_of(&found["generations"]), replies);
    assert_eq!(found["selectedGenerationId"], json!(second));
}

/// S3-18: machine blocks of a model's text are hidden, but stored; its thoughts are its reasoning.
#[tokio::test]
async fn reply_machine_blocks_are_hidden_but_stored() {
    let play = ApiSession::start().await;
    let text = "The ogre <b>hits</b>.\n<UpdateVariable>{\"hp\": 3}</UpdateVariable>";
    play.server.mock().queue_reply(Reply::ok(["<think>A plan.</think>", text]));
    let marked = play.run_turn("Hi.").await;
    let plain = play.run_turn("On.").await;
    let nodes = play.nodes().await;
    assert_eq!(
        (&nodes[&marked.reply]["content"], &nodes[&marked.reply]["display"]),
        (&json!(text), &json!("The ogre <b>hits</b>."))
    );
    assert_eq!(nodes[&marked.reply]["reasoning"], "A plan.");
    assert!(nodes[&plain.reply]["display"].is_null(), "nothing is hidden");
}

/// S1-02, S1-14: a reply is a candidate until something follows it. Viewing another one selects nothing.
#[tokio::test]
async fn reply_is_candidate_until_something_follows() {
    let play = ApiSession::start().await;
    let said = play.run_turn("Hi.").await;
    let second = play.regenerate_and_wait(&said.reply).await;
    let candidates = |turns: &Value| -> Vec<bool> {
        turns[1]["records"].as_array().unwrap().iter().map(|record| record["candidate"].as_bool().unwrap()).collect()
    };
    assert_eq!(candidates(&play.get("turns").await), [true, true]);
    play.run_turn_at(&second, "Go on.").await;
    assert_eq!(candidates(&play.get("turns").await), [true, false]);
    let before = play.session().await;
    let peeked = play.get(&format!("turns?leaf={}", said.reply)).await;
    assert_eq!((&peeked[1]["shownRecordId"], &peeked[1]["selectedRecordId"]), (&json!(said.reply), &json!(second)));
    assert_eq!(play.session().await, before);
}

/// S0-09, S1-09: the fields of a context node. Without a choice the newest reply is selected.
#[tokio::test]
async fn context_node_fields_default_to_newest_reply() {
    let play = ApiSession::start().await;
    let parent = play.head().await;
    let several = json!({"parentId": parent, "content": "Hi.", "generate": {"n": 2}, "moveHead": false});
    let started = play.post("message", several).await;
    let replies = ids_of(&started["generations"]);
    for reply in &replies {
        play.wait_for_reply(reply).await;
    }
    let user = id_of(&started["node"]);
    let turns = play.get(&format!("turns?leaf={user}")).await;
    assert!(turns[0]["parentId"].is_null(), "nothing comes before the root");
    assert_eq!(turns[0]["userContent"], "");
    let turn = &turns[1];
    assert_eq!((&turn["contextNodeId"], &turn["parentId"]), (&json!(user), &turns[0]["contextNodeId"]));
    assert_eq!((&turn["userContent"], &turn["createdAt"]), (&json!("Hi."), &started["node"]["timestamp"]));
    assert_eq!(turn["selectedRecordId"], json!(replies[1]), "nobody has chosen: the newest");
    assert!(turn["defaultGeneration"].is_null() && turn["shownRecordId"].is_null());
    // The state comes on request.
    assert!(play.get(&format!("node/{user}?expand=world")).await["world"]["vars"].is_object());
    assert_eq!(play.head().await, parent);
}

/// S2-15: the sibling count of every node is the same in all views.
#[tokio::test]
async fn sibling_counts_agree_in_all_views() {
    let play = ApiSession::start().await;
    let said = play.run_turn("Hi.").await;
    let second = play.regenerate_and_wait(&said.reply).await;
    play.regenerate_and_wait(&said.reply).await;
    let edited = play.post(&format!("node/{}/edit", said.user_node), json!({"content": "Ho."})).await;
    play.wait_for_reply(&id_of(&edited["generations"][0])).await;
    play.run_turn_at(&second, "More.").await;
    let nodes = play.nodes().await;
    let mut counted = Vec::new();
    for (own, node) in nodes.iter().filter(|(_, node)| node["kind"] != "root") {
        let alike =
            |other: &&String| nodes[*other]["parentId"] == node["parentId"] && nodes[*other]["role"] == node["role"];
        let expected: Vec<String> = nodes.keys().filter(alike).cloned().collect();
        let index = expected.iter().position(|other| other == own).unwrap();
        let items = play.get(&format!("node/{own}/alternatives")).await["items"].clone();
        assert_eq!(ids_of(&items), expected);
        let line = play.get(&format!("projection?leaf={own}")).await;
        let last = line["items"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(id_of(&last), *own);
        for shown in [&last, &items[index], &play.get(&format!("node/{own}")).await] {
            assert_eq!(shown["siblings"], json!({"index": index, "count": expected.len(), "ids": expected}));
        }
        counted.push(expected.len());
    }
    counted.sort_unstable();
    assert_eq!(counted, [1, 1, 1, 1, 2, 2, 3, 3, 3]);
}

/// S2-04: a node knows its parent and nothing of its branch. No field names a branch, and neither a fork elsewhere nor
/// the place of HEAD changes a node.
#[tokio::test]
async fn node_fields_contain_no_branch_information() {
    let schema =
        clotho::http::openapi::json(&clotho::http::all_routes())["components"]["schemas"]["ChatMessageNode"].clone();
    let fields: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    assert!(fields.len() > 15 && fields.iter().any(|field| *field == "parentId"));
    for word in ["branch", "line", "trunk", "label", "leaf", "head", "path"] {
        assert!(!fields.iter().any(|field| field.to_lowercase().contains(word)), "{fields:?}");
    }
    let play = ApiSession::start().await;
    let first = play.run_turn("One.").await;
    play.run_turn("Two.").await;
    let before = play.nodes().await;
    play.run_turn_at(&first.reply, "Elsewhere.").await;
    play.checkout(&first.user_node, true).await;
    let after = play.nodes().await;
    for (own, node) in &before {
        let mut now = after[own].clone();
        if *own == first.reply {
            now["childrenIds"].as_array_mut().unwrap().pop();
        }
        assert_eq!(now, *node);
    }
}

/// S2-18: messages, rerolls, edits of earlier messages and checkouts need only node ids. The log has only effects of
/// nodes, HEAD and unread marks.
#[tokio::test]
async fn operation_log_of_chat_has_only_node_effects() {
    let play = ApiSession::start().await;
    let first = play.run_turn("One.").await;
    play.run_turn("Two.").await;
    play.regenerate_and_wait(&first.reply).await;
    let edited = play.post(&format!("node/{}/edit", first.user_node), json!({"content": "Uno."})).await;
    play.wait_for_reply(&id_of(&edited["generations"][0])).await;
    play.checkout(&first.reply, false).await;
    play.checkout(&first.user_node, true).await;
    let log = play.get("ops").await;
    let words: std::collections::BTreeSet<&str> = effect_kinds(&log).into_iter().collect();
    // The reroll ended away from HEAD and is unread.
    assert_eq!(words.into_iter().collect::<Vec<_>>(), ["added", "completed", "head", "remembered", "unread"]);
    let kinds: Vec<&str> =
        log["items"].as_array().unwrap().iter().map(|operation| operation["kind"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        ["begin", "message", "reply", "message", "reply", "reroll", "reply", "edit", "reply", "checkout", "checkout"]
    );
}

/// S3-29: no session state lives in memory only. A program stopped during a reply answers as before except for that
/// reply, which kept its text, and the story goes on.
#[tokio::test]
async fn session_views_survive_restart_during_reply() {
    // Stop the program in the middle of a reply.
    let play =
        ApiSession::start_with(TestApp::setup(), json!({"plugins": [{"id": "combat"}], "title": "A title"})).await;
    play.server.mock().queue_reply(Reply::ok(["It bites. [HP -7]"]));
    let first = play.run_turn("One.").await;
    play.regenerate_and_wait(&first.reply).await;
    play.checkout(&first.reply, true).await;
    play.server.mock().queue_reply(Reply::ok(["It bites again. [HP -7]"]).then_stall());
    let started = play.post("message", json!({"parentId": first.reply, "content": "And now?", "generate": true})).await;
    let (asked, stopped) = (id_of(&started["node"]), id_of(&started["generations"][0]));
    let app = play.server.app();
    let story = TestSession { app, user: app.owner, id: play.sid.parse().unwrap() };
    story.wait_for_text(stopped.parse().unwrap(), "It bites again. [HP -7]").await;
    let expanded = format!("node/{}?expand=world,trace,delta", first.reply);
    let paths = ["projection", "turns", "context-path", "commands", "ops?limit=5", &expanded];
    // Only the running reply changes: its turn has one more record, which is no longer running.
    let settled = |mut value: Value| {
        value.as_object_mut().map(|fields| fields.remove("op"));
        for turn in value.as_array_mut().into_iter().flatten() {
            if let Some(records) = turn.get_mut("records").and_then(Value::as_array_mut) {
                records.retain(|record| record["id"] != stopped.as_str());
            }
        }
        value
    };
    let mut before = Vec::new();
    for path in paths {
        before.push(settled(play.get(path).await));
    }
    let (session, nodes) = (play.session().await, play.nodes().await);
    let play = play.restart().await;
    // The views are as before.
    for field in ["activeLeafId", "contextNodeId", "title", "plugins", "counts", "createdAt"] {
        assert_eq!(play.session().await[field], session[field], "{field}");
    }
    for (path, before) in paths.into_iter().zip(before) {
        assert_eq!(settled(play.get(path).await), before, "{path}");
    }
    // Only the interrupted reply changed, and it had no effects.
    let mut after = play.nodes().await;
    let ended = after.insert(stopped.clone(), nodes[&stopped].clone()).unwrap();
    assert_eq!(after, nodes, "every other node is as it was");
    assert_eq!((&ended["status"], &ended["metadata"]["error"]["code"]), (&json!("error"), &json!("interrupted")));
    assert_eq!((&ended["content"], &ended["parentId"]), (&json!("It bites again. [HP -7]"), &json!(asked)));
    for node in [&asked, &stopped] {
        let world = play.get(&format!("node/{node}/world")).await;
        assert_eq!(world["world"]["vars"]["combat"]["hp"], 33, "half a reply does nothing");
    }
    // The story goes on.
    play.server.mock().queue_reply(Reply::ok(["It bites again. [HP -7]"]));
    let again = play.regenerate_and_wait(&stopped).await;
    assert_eq!((play.head().await, play.projection_ids(&again).await.len()), (again.clone(), 5));
    assert_eq!(play.get(&format!("node/{again}/world")).await["world"]["vars"]["combat"]["hp"], 26);
}

/// S4-31: the whole tree has every field and every parent, one root, and HEAD is reachable from it.
#[tokio::test]
async fn tree_view_is_complete_and_connected() {
    let play = ApiSession::start().await;
    let said = play.run_turn("One.").await;
    play.regenerate_and_wait(&said.reply).await;
    let head = play.run_turn_at(&said.reply, "Two.").await.reply;
    let tree = play.get("tree").await;
    let session = play.session().await;
    for (field, of_session) in [
        ("sessionId", "id"),
        ("title", "title"),
        ("rootNodeId", "rootNodeId"),
        ("activeLeafId", "activeLeafId"),
        ("op", "op"),
        ("createdAt", "createdAt"),
        ("updatedAt", "updatedAt"),
    ] {
        assert!(!tree[field].is_null() && tree[field] == session[of_session], "{field}: {}", tree[field]);
    }
    let nodes = tree["nodes"].as_object().unwrap();
    assert_eq!(nodes.len(), 7, "root, greeting, two texts, three replies");
    let mut roots = Vec::new();
    for (key, node) in nodes {
        assert_eq!(node["id"], json!(key));
        match node["parentId"].as_str() {
            Some(parent) => assert!(nodes[parent]["childrenIds"].as_array().unwrap().contains(&json!(key))),
            None => roots.push(json!(key)),
        }
        for child in node["childrenIds"].as_array().unwrap() {
            assert_eq!(nodes[child.as_str().unwrap()]["parentId"], json!(key));
        }
    }
    assert_eq!(roots, [tree["rootNodeId"].clone()]);
    assert_eq!(tree["activeLeafId"], json!(head));
    let way = path_to_node(nodes, &head);
    assert_eq!((way.len(), &nodes[&way[0]]["parentId"]), (5, &tree["rootNodeId"]));
}

/// S4-39: a tree too large for one answer is refused with two alternatives, and both return all of it.
#[tokio::test]
async fn tree_view_too_large_returns_hint_with_alternatives() {
    const MANY: usize = 20_000;
    let play = ApiSession::start().await;
    let (parent, app) = (play.head().await.parse().unwrap(), play.server.app());
    let now = app.clock.now();
    let draft = |_| NodeDraft::new(NodeId::new(app.ids.next_id(now)), Role::User, Kind::Message, 1, now);
    let message = MessageWrite {
        session: play.sid.parse().unwrap(),
        parent,
        rules_change: None,
        draft: None,
        move_children_from: None,
        replies: (0..MANY).map(draft).collect(),
        move_head: false,
        kind: OperationKind::Message,
    };
    let actor = Actor { user: app.owner, at: now, expected_leaf: None };
    app.store.write(move |tx| tx.add_message(&actor, &message)).await.unwrap();
    let error = play.server.request("GET", &play.chat_path("tree")).send().await.expect_error("too_large");
    assert_eq!(error["details"], json!({"nodes": MANY + 2, "limit": MANY}));
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.contains("shape=skeleton") && hint.contains("cursor="), "{hint}");
    let skeleton = play.get("tree?shape=skeleton").await;
    let outlined: HashSet<&str> = skeleton["ids"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
    assert_eq!((outlined.len(), &skeleton["count"]), (MANY + 2, &json!(MANY + 2)));
    let (mut paged, mut cursor) = (HashSet::new(), String::new());
    loop {
        let page = play.get(&format!("tree?limit=500&cursor={cursor}")).await;
        paged.extend(page["nodes"].as_object().unwrap().keys().cloned());
        let Some(next) = page["next"].as_str() else { break };
        cursor = next.to_owned();
    }
    assert!(paged.len() == MANY + 2 && paged.iter().all(|id| outlined.contains(id.as_str())));
}

/// S0-06, S0-08, S2-06: two sessions of one character are independent, also when one is deleted. `updatedAt` changes
/// with every turn, and HEAD survives a restart.
#[tokio::test]
async fn sessions_of_same_character_are_independent() {
    let clock = Arc::new(TestClock::new(Time(1_700_000_000_000)));
    let play = ApiSession::start_with(TestApp::setup().clock(clock.clone()), json!({})).await;
    let characters = play.server.get("/api/characters").await;
    let rin = characters["items"].as_array().unwrap().iter().find(|one| one["name"] == "Rin").unwrap()["id"].clone();
    let other = id_of(&play.server.post("/api/sessions", &json!({"characterIds": [rin]})).await);
    let address = format!("/api/sessions/{other}");
    let untouched = play.server.get(&address).await;
    let mut updated = play.session().await["updatedAt"].as_str().unwrap().to_owned();
    let mut first = None;
    for text in ["One.", "Two."] {
        clock.advance(1_000);
        let said = play.run_turn(text).await;
        first.get_or_insert(said);
        let now = play.session().await["updatedAt"].as_str().unwrap().to_owned();
        assert!(now > updated, "{now} is not after {updated}");
        updated = now;
    }
    let first = first.unwrap();
    assert_eq!(play.checkout(&first.reply, true).await, first.reply);
    assert_eq!(play.server.get(&address).await, untouched);
    let play = play.restart().await;
    assert_eq!(play.head().await, first.reply);
    assert_eq!(play.server.get(&address).await["activeLeafId"], untouched["activeLeafId"]);
    let (session, nodes) = (play.session().await, play.nodes().await);
    assert_eq!(play.server.request("DELETE", &address).send().await.status, 204);
    play.server.request("GET", &address).send().await.expect_error("not_found");
    assert_eq!((play.session().await, play.nodes().await), (session, nodes));
}

/// S0-24: the projection of an empty session is empty. After a checkout it is the path to HEAD.
#[tokio::test]
async fn projection_of_empty_session_is_empty() {
    let play = ApiSession::start().await;
    let silent = id_of(&play.server.post("/api/characters", &json!({"name": "Silent"})).await);
    let session = play.server.post("/api/sessions", &json!({"characterIds": [silent]})).await;
    assert_eq!(session["activeLeafId"], session["rootNodeId"]);
    let line = play.server.get(&format!("/api/chat/{}/projection", id_of(&session))).await;
    assert_eq!((&line["items"], &line["next"]), (&json!([]), &Value::Null));
    let first = play.run_turn("One.").await;
    play.run_turn("Two.").await;
    play.checkout(&first.user_node, true).await;
    assert_eq!(ids_of(&play.get("projection").await["items"]), path_to_node(&play.nodes().await, &first.user_node));
}

/// S3-24: problems of plugins on a message are listed on request, even if no model wrote anything. The trace has no
/// fields for what the server does not do.
#[tokio::test]
async fn trace_lists_plugin_problems_without_model_reply() {
    let manifest = "id = \"torn\"\ntitle = \"t\"\nversion = \"1.0.0\"\napi = \"1\"\n";
    let script = "fn on_input(ctx) { throw \"the page is torn\"; }\nfn on_reply(ctx) { throw \"so is this\"; }";
    let setup = TestApp::setup().with_plugin("torn", &[("plugin.toml", manifest), ("main.rhai", script)]);
    let play = ApiSession::start_with(setup, json!({"plugins": [{"id": "torn", "enabled": true}]})).await;
    let greeting = play.head().await;
    let said = play.run_turn("Hi.").await;
    for (node, hook, words) in
        [(&said.user_node, "on_input", "the page is torn"), (&said.reply, "on_reply", "so is this")]
    {
        let trace = play.get(&format!("node/{node}/trace")).await;
        let rule = &trace["rules"][0];
        assert_eq!((&rule["plugin"], &rule["hook"], &rule["error"]["line"]).0, &json!("torn"), "{trace}");
        assert_eq!(rule["hook"], hook);
        assert!(rule["error"]["message"].as_str().unwrap().contains(words), "{rule}");
        assert_eq!(trace["problems"][0]["code"], "plugin_runtime");
        assert_eq!(play.get(&format!("node/{node}?expand=trace")).await["trace"], trace);
        for reserved in ["plan", "tools"] {
            assert_eq!(trace.get(reserved), None, "{trace}");
        }
        assert_eq!(trace["timings"].get("queued"), None);
    }
    let trace = play.get(&format!("node/{}/trace", said.user_node)).await;
    assert_eq!((&trace["blueprint"], &trace["messages"], &trace["isExact"]), (&json!([]), &json!([]), &json!(true)));
    let trace = play.get(&format!("node/{}/trace", said.reply)).await;
    assert!(trace["blueprint"].as_array().unwrap().iter().all(|block| block["kept"] == json!(true)));
    assert_eq!(trace["historyCut"], json!(null));
    play.server
        .request("GET", &play.chat_path(&format!("node/{greeting}/trace")))
        .send()
        .await
        .expect_error("not_found");
}

/// A message that the narrator cannot read is refused by name before anything is written.
#[tokio::test]
async fn message_over_narrator_limit_is_refused_before_write() {
    let play = ApiSession::start_with(TestApp::setup(), json!({"model": "plugin:lantern-keep"})).await;
    let head = play.head().await;
    let body = json!({"parentId": head, "content": "a".repeat(100_000), "generate": true});
    let error = play.expect_error("POST", "message", body, "too_large").await;
    assert_eq!(error["details"]["plugin"], "lantern-keep");
    assert!(error["message"].as_str().unwrap().contains("up to 32 KiB"), "{error}");
    assert_eq!(play.head().await, head);
}
