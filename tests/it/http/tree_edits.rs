//! Edits of the arrangement by clients: prune, graft, labels, undo and redo.

use super::api_session::{ApiSession, TurnIds, ids_of, path_to_node};
use super::*;

/// Starts a combat story of three turns with these losses: 40 - 7 = 33, - 5 = 28, - 3 = 25.
pub(super) async fn start_combat_session() -> (ApiSession, Vec<TurnIds>) {
    start_combat_session_with(TestApp::setup()).await
}

/// Starts the same story on a server with other settings.
pub(super) async fn start_combat_session_with(setup: Setup) -> (ApiSession, Vec<TurnIds>) {
    let play = ApiSession::start_with(setup, json!({"plugins": [{"id": "combat"}]})).await;
    let mut said = Vec::new();
    for (text, hp) in [("One.", 7), ("Two.", 5), ("Three.", 3)] {
        play.server.mock().queue_reply(Reply::ok([format!("It bites. [HP -{hp}]").as_str()]));
        said.push(play.run_turn(text).await);
    }
    (play, said)
}

impl ApiSession {
    pub(super) async fn edit_tree(&self, operations: Value) -> Value {
        self.server.put(&self.chat_path("tree/edit"), &json!({"operations": operations})).await
    }

    pub(super) async fn hp(&self, node: &str) -> Value {
        self.get(&format!("node/{node}/world")).await["world"]["vars"]["combat"]["hp"].clone()
    }

    /// Returns the tree without the fields that every operation changes.
    pub(super) async fn comparable_tree(&self) -> Value {
        let mut tree = self.get("tree").await;
        for field in ["op", "updatedAt"] {
            tree.as_object_mut().unwrap().shift_remove(field);
        }
        tree
    }
}

/// S4-18: a fragment is titled by its first message, even if an edit of that message is newer than what follows.
#[tokio::test]
async fn stash_fragment_is_titled_by_its_first_message() {
    let (play, said) = start_combat_session().await;
    let edited = json!({"content": "I wait.", "carry": true});
    let edited = play.post(&format!("node/{}/edit", said[1].user_node), edited).await;
    play.edit_tree(json!([{"op": "prune", "nodeId": edited["node"]["id"]}])).await;
    let stash = play.get("stash").await["items"].clone();
    assert_eq!((&stash[0]["firstLine"], &stash[0]["count"]), (&json!("I wait."), &json!(4)));
}

/// S4-17, S4-18, S4-58: a pruned part leaves the branch and stays whole and readable in the stash, after a restart too.
/// HEAD moves to the parent of the cut. A graft puts it back, and both can be undone.
#[tokio::test]
async fn pruned_fragment_stays_in_stash_and_graft_restores() {
    let (play, said) = start_combat_session().await;
    let before = play.comparable_tree().await;
    let made = play.edit_tree(json!([{"op": "prune", "nodeId": said[1].user_node, "name": " the fight "}])).await;
    assert_eq!(play.head().await, said[0].reply);
    let world = json!([{"nodeId": said[0].reply, "path": "/combat/hp", "before": 25, "after": 33}]);
    assert_eq!(made["worldChanges"], world, "HEAD stands elsewhere, and so does the world there");
    let play = play.restart().await;
    let stash = play.get("stash").await["items"].clone();
    let lies = &stash[0];
    assert_eq!((&lies["name"], &lies["count"], &lies["firstLine"]), (&json!("the fight"), &json!(4), &json!("Two.")));
    assert_eq!((&lies["originId"], &lies["canReturn"]), (&json!(said[0].reply), &json!(true)));
    assert_eq!(play.get("tree").await["stash"], stash);
    let fragment = made["fragmentIds"][0].as_str().unwrap();
    let inside = play.get(&format!("stash/{fragment}/tree")).await;
    assert_eq!(ids_of(&inside["items"])[..2], [said[1].user_node.clone(), said[1].reply.clone()]);
    assert_eq!(
        play.expect_error("PUT", "active_leaf", json!({"nodeId": said[1].reply}), "not_found").await["details"],
        json!({})
    );

    play.edit_tree(json!([{"op": "rename", "fragmentId": fragment, "name": "later"}])).await;
    assert_eq!(play.get("stash").await["items"][0]["name"], "later");
    let back = play.edit_tree(json!([{"op": "graft", "fragmentId": fragment}])).await;
    assert_eq!(back["fragmentIds"], json!([]));
    assert_eq!((play.get("stash").await["items"].clone(), play.hp(&said[2].reply).await), (json!([]), json!(25)));
    for kind in ["graft", "rename", "prune"] {
        assert_eq!(play.post("undo", json!({})).await["kind"], kind);
    }
    assert_eq!(play.comparable_tree().await, before);
    assert_eq!(play.post("redo", json!({})).await["kind"], "prune");
    assert_eq!(play.get("stash").await["items"], stash);
}

/// S4-19, S3-06: a grafted part is folded on its new parent, and the answer has the changed values. Nothing can be
/// grafted below itself. A fragment can go below any message.
#[tokio::test]
async fn graft_move_recomputes_state_on_new_parent() {
    let (play, said) = start_combat_session().await;
    let moved = json!([{"op": "graft", "nodeId": said[2].user_node, "targetId": said[0].reply, "mode": "move"}]);
    let made = play.edit_tree(moved).await;
    assert_eq!(
        made["worldChanges"][0],
        json!({"nodeId": said[2].reply, "path": "/combat/hp", "before": 25, "after": 30})
    );
    assert_eq!((play.head().await, play.hp(&said[2].reply).await), (said[2].reply.clone(), json!(30)));
    let nodes = play.nodes().await;
    assert_eq!(
        path_to_node(&nodes, &said[2].reply)[1..],
        [&said[0].user_node, &said[0].reply, &said[2].user_node, &said[2].reply].map(Clone::clone)
    );
    assert_eq!(play.projection_ids(&said[2].reply).await, path_to_node(&nodes, &said[2].reply));
    let below_itself = json!({"operations": [{"op": "graft", "nodeId": said[0].user_node, "targetId": said[2].reply}]});
    play.expect_error("PUT", "tree/edit", below_itself, "cycle").await;
    assert_eq!(play.post("undo", json!({})).await["worldChanges"][0]["after"], 25);
    assert_eq!(play.projection_ids(&said[2].reply).await.len(), 7);
}

/// S4-41, domain 2.18: a list of edits applies as a whole or not at all, and the refusal names the edit.
#[tokio::test]
async fn edit_list_with_one_error_changes_nothing() {
    let (play, said) = start_combat_session().await;
    let before = play.get("tree").await;
    let list = |third: Value| {
        let (first, second) = (
            json!({"op": "prune", "nodeId": said[1].user_node}),
            json!({"op": "label", "nodeId": said[0].user_node, "name": "x"}),
        );
        json!({"operations": [first, second, third]})
    };
    let check = async |third: Value, code: &str, field: Option<&str>| {
        let error = play.expect_error("PUT", "tree/edit", list(third.clone()), code).await;
        assert_eq!((&error["details"]["operation"], error["details"]["field"].as_str()), (&json!(2), field), "{error}");
        assert_eq!(play.get("tree").await, before, "{third}");
    };
    let root = before["rootNodeId"].clone();
    check(json!({"op": "prune", "nodeId": root}), "conflict", None).await;
    check(json!({"op": "prune", "nodeId": said[2].user_node}), "conflict", None).await;
    check(json!({"op": "label", "nodeId": said[0].reply, "name": "x"}), "conflict", None).await;
    check(json!({"op": "graft", "nodeId": said[0].user_node, "targetId": said[0].reply}), "cycle", None).await;
    check(json!({"op": "prune", "nodeId": uuid::Uuid::from_u128(5)}), "not_found", Some("nodeId")).await;
    check(json!({"op": "rename", "fragmentId": uuid::Uuid::from_u128(5)}), "not_found", Some("fragmentId")).await;
    check(json!({"op": "unlabel", "name": "y"}), "not_found", Some("name")).await;
    check(json!({"op": "label", "nodeId": said[0].user_node, "name": " "}), "invalid", Some("name")).await;
    check(json!({"op": "shrink"}), "invalid", Some("operations[2].op")).await;
    check(
        json!({"op": "prune", "nodeId": said[0].user_node, "targetId": root}),
        "invalid",
        Some("operations[2].targetId"),
    )
    .await;
    let stale =
        json!({"operations": [{"op": "prune", "nodeId": said[1].user_node}], "expectedLeafId": said[0].user_node});
    play.expect_error("PUT", "tree/edit", stale, "head_moved").await;
    play.expect_error("PUT", "tree/edit", json!({"operations": []}), "invalid").await;
}

/// S4-09: a fixed label stays, and a following one moves with appended messages and replies. Undo restores both.
#[tokio::test]
async fn labels_fixed_stay_and_following_move_with_replies() {
    let (play, said) = start_combat_session().await;
    let label = |name: &str, following: bool| json!({"op": "label", "nodeId": said[2].reply, "name": name, "following": following});
    play.edit_tree(json!([label("here", false), label("story", true)])).await;
    let more = play.run_turn("Four.").await;
    let labels = play.get("labels").await["items"].clone();
    assert_eq!(play.get("tree").await["labels"], labels, "they stand in the whole tree as well");
    let at = |labels: &Value| labels.as_array().unwrap().iter().map(|one| one["nodeId"].clone()).collect::<Vec<_>>();
    assert_eq!(at(&labels), [json!(said[2].reply), json!(more.reply)]);
    play.regenerate_and_wait(&more.reply).await;
    assert_eq!(play.get("tree").await["labels"], labels, "another version is another branch");
    play.post("undo", json!({})).await;
    assert_eq!(play.post("undo", json!({})).await["kind"], "message");
    assert_eq!(at(&play.get("tree").await["labels"]), [json!(said[2].reply), json!(said[2].reply)]);
    play.edit_tree(json!([{"op": "unlabel", "name": "here"}])).await;
    assert_eq!(play.get("tree").await["labels"].as_array().unwrap().len(), 1);
}

/// S4-09: two Unicode forms of the same characters are one label name. A conflict names the node that has it and what
/// to do, once.
#[tokio::test]
async fn label_names_in_other_unicode_form_conflict() {
    let play = ApiSession::start().await;
    let (greeting, said) = (play.head().await, play.run_turn("One.").await);
    let label = |node: &str, name: &str| json!([{"op": "label", "nodeId": node, "name": name}]);
    play.edit_tree(label(&said.user_node, "Cafe\u{301} 한")).await;
    assert_eq!(play.get("labels").await["items"][0]["name"], "Caf\u{e9} 한");
    let taken = json!({"operations": label(&greeting, "Caf\u{e9} \u{1112}\u{1161}\u{11ab}")});
    let error = play.expect_error("PUT", "tree/edit", taken, "conflict").await;
    assert_eq!(
        (&error["details"]["nodeId"], &error["details"]["name"]),
        (&json!(said.user_node), &json!("Caf\u{e9} 한"))
    );
    assert_eq!(error["message"], "another message already has the label \"Caf\u{e9} 한\"");
    assert_eq!(error["hint"], "choose another label, or remove it from the other message first");
    let line = play.get("projection?label=Cafe%CC%81%20%ED%95%9C").await;
    assert_eq!(ids_of(&line["items"]).last(), Some(&said.user_node));
    play.edit_tree(json!([{"op": "unlabel", "name": "Cafe\u{301} 한"}])).await;
    assert_eq!(play.get("labels").await["items"], json!([]));
}

/// Domain 2.15: a turn is one step with its reply, and checkouts are no steps. A running reply cannot be undone. With
/// nothing left to undo the answer says so.
#[tokio::test]
async fn undo_reverts_whole_turn_but_refuses_while_generating() {
    let play = ApiSession::start().await;
    let (greeting, empty) = (play.head().await, play.comparable_tree().await);
    play.expect_error("POST", "undo", json!({}), "nothing_to_undo").await;
    let said = play.run_turn("One.").await;
    let full = play.comparable_tree().await;
    play.checkout(&greeting, true).await;
    let undone = play.post("undo", json!({})).await;
    assert_eq!((&undone["kind"], &undone["leafId"]), (&json!("message"), &json!(greeting)));
    assert_eq!(play.comparable_tree().await, empty);
    assert_eq!(play.get("stash").await["items"], json!([]), "what is taken back is no fragment");
    assert_eq!(play.post("redo", json!({})).await["leafId"], json!(said.reply));
    assert_eq!(play.comparable_tree().await, full);
    play.expect_error("POST", "redo", json!({}), "nothing_to_undo").await;
    play.server.mock().queue_reply(Reply::silent());
    let body = json!({"parentId": said.reply, "content": "Two.", "generate": true});
    let running = id_of(&play.post("message", body).await["generations"][0]);
    play.expect_error("POST", "undo", json!({}), "generating").await;
    play.expect_error(
        "PUT",
        "tree/edit",
        json!({"operations": [{"op": "prune", "nodeId": said.user_node}]}),
        "generating",
    )
    .await;
    play.server.request("POST", &play.chat_path(&format!("node/{running}/cancel"))).send().await.expect(202);
    play.wait_for_reply(&running).await;
    play.post("undo", json!({})).await;
    assert_eq!(play.comparable_tree().await, full);
}

/// S4-12, S4-20, domain 2.11: effects of a node stay when it is disabled and go when it is muted. The answer has the
/// changed values at HEAD and at labels. Many changes at once are one step.
#[tokio::test]
async fn muted_effects_recompute_state_but_disabling_does_not() {
    let (play, said) = start_combat_session().await;
    play.edit_tree(json!([{"op": "label", "nodeId": said[1].reply, "name": "half way"}])).await;
    let state = |body: Value| play.server.request("PUT", &play.chat_path("nodes/state")).json(&body).send();
    let updates = |field: &str, value: Value| {
        let one = |node: &String| json!({"nodeId": node, field: value});
        json!({"updates": [one(&said[0].reply), one(&said[1].reply)]})
    };
    let off = state(updates("isEnabled", json!(false))).await.expect(200);
    assert_eq!((&off["worldChanges"], play.hp(&said[2].reply).await), (&json!([]), json!(25)));
    let muted = state(updates("effects", json!("muted"))).await.expect(200);
    let at = |node: &str, before: i64, after: i64| json!({"nodeId": node, "path": "/combat/hp", "before": before, "after": after});
    assert_eq!(muted["worldChanges"], json!([at(&said[2].reply, 25, 37), at(&said[1].reply, 28, 40)]));
    assert_eq!(play.post("undo", json!({})).await["worldChanges"][0], at(&said[2].reply, 37, 25));
    assert_eq!(play.post("undo", json!({})).await["kind"], "state");
    assert_eq!(play.get("projection").await["items"].as_array().unwrap().len(), 7);
}

/// C14, S4-50: linear mode shows only the newest branch. The flags of the tree and the old branch stay.
#[tokio::test]
async fn linear_mode_follows_the_newest_leaf() {
    let play = ApiSession::start().await;
    let first = play.run_turn("One.").await;
    let second = play.regenerate_and_wait(&first.reply).await;
    let off = json!({"isEnabled": false});
    play.server
        .request("PUT", &play.chat_path(&format!("node/{}/state", first.user_node)))
        .json(&off)
        .send()
        .await
        .expect(200);
    play.checkout(&first.reply, true).await;
    let session = format!("/api/sessions/{}", play.sid);
    let change =
        async |mode: &str| play.server.request("PATCH", &session).json(&json!({"mode": mode})).send().await.expect(200);
    assert_eq!(change("linear").await["activeLeafId"], json!(second));
    assert_eq!(play.get("projection").await["items"].as_array().unwrap().len(), 3, "the flags are ignored there");
    assert_eq!(change("tree").await["activeLeafId"], json!(second));
    assert_eq!(play.get("projection").await["items"].as_array().unwrap().len(), 2, "and were kept");
    play.post("undo", json!({})).await;
    play.post("undo", json!({})).await;
    assert_eq!(play.head().await, first.reply);
}

/// Domain 2.15: undone messages are not lost by writing on: redo restores them as siblings of the new ones.
#[tokio::test]
async fn redo_after_new_message_restores_sibling() {
    let play = ApiSession::start().await;
    let lost = play.run_turn("Lost words.").await;
    play.post("undo", json!({})).await;
    let other = play.run_turn("Other words.").await;
    let back = play.post("redo", json!({})).await;
    assert_eq!((&back["kind"], &back["leafId"]), (&json!("message"), &json!(lost.reply)));
    let nodes = play.nodes().await;
    assert_eq!(nodes[&lost.user_node]["parentId"], nodes[&other.user_node]["parentId"]);
    play.expect_error("POST", "redo", json!({}), "nothing_to_undo").await;
    let rated = json!({"rating": 3});
    play.server
        .request("PUT", &play.chat_path(&format!("node/{}/state", other.user_node)))
        .json(&rated)
        .send()
        .await
        .expect(200);
    play.post("undo", json!({})).await;
    play.run_turn("More.").await;
    play.expect_error("POST", "redo", json!({}), "nothing_to_undo").await;
}

/// Copies of copies grow without bound, so one list has a limit. A list over it changes nothing.
#[tokio::test]
async fn edit_list_with_growing_copies_is_too_large() {
    let play = ApiSession::start().await;
    let greeting = play.head().await;
    let write = async || {
        let body = json!({"parentId": greeting, "content": "x", "generate": false});
        id_of(&play.post("message", body).await["node"])
    };
    let (a, b) = (write().await, write().await);
    let copy = |from: &str, to: &str| json!({"op": "graft", "nodeId": from, "targetId": to, "mode": "copy"});
    let list: Vec<Value> = (0..40).map(|n| if n % 2 == 0 { copy(&a, &b) } else { copy(&b, &a) }).collect();
    let before = play.get("tree").await;
    let error = play.expect_error("PUT", "tree/edit", json!({"operations": list}), "too_large").await;
    assert_eq!(error["details"]["limit"], 20_000);
    assert_eq!(play.get("tree").await, before);
}

/// S4-24: a flag below a fork affects its own branch only, and one above the fork affects both.
#[tokio::test]
async fn disabled_flag_does_not_affect_other_branches() {
    let play = ApiSession::start().await;
    let shared = play.run_turn("The fork.").await;
    let left = play.run_turn_at(&shared.reply, "To the left.").await;
    let right = play.run_turn_at(&shared.reply, "To the right.").await;
    let asked_at = async |reply: &str| {
        play.regenerate_and_wait(reply).await;
        play.server.mock().requests().pop().unwrap()["messages"].clone()
    };
    let switch = async |node: &str| {
        let off = json!({"isEnabled": false});
        play.server.put(&play.chat_path(&format!("node/{node}/state")), &off).await;
    };
    let before = asked_at(&right.reply).await;
    assert!(before.to_string().contains("The fork.") && before.to_string().contains("To the right."));
    switch(&left.user_node).await;
    assert_eq!(asked_at(&right.reply).await, before);
    assert!(!asked_at(&left.reply).await.to_string().contains("To the left."));
    switch(&shared.user_node).await;
    for reply in [&left.reply, &right.reply] {
        assert!(!asked_at(reply).await.to_string().contains("The fork."));
    }
}
