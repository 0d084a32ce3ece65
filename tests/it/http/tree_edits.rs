//! Edits of the arrangement by clients: prune, graft, labels, undo and redo.

use super::api_session::{ApiSession, TurnIds, ids, walk};
use super::*;

/// Starts a combat story of three turns with these losses: 40 - 7 = 33, - 5 = 28, - 3 = 25.
pub(super) async fn bitten() -> (ApiSession, Vec<TurnIds>) {
    bitten_on(TestApp::with()).await
}

/// Starts the same story on a server with other settings.
pub(super) async fn bitten_on(setup: Setup) -> (ApiSession, Vec<TurnIds>) {
    let play = ApiSession::with(setup, json!({"plugins": [{"id": "combat"}]})).await;
    let mut said = Vec::new();
    for (text, hp) in [("One.", 7), ("Two.", 5), ("Three.", 3)] {
        play.app.mock().script(Reply::ok([format!("It bites. [HP -{hp}]").as_str()]));
        said.push(play.say(text).await);
    }
    (play, said)
}

impl ApiSession {
    pub(super) async fn edit(&self, operations: Value) -> Value {
        self.app.put(&self.chat("tree/edit"), &json!({"operations": operations})).await
    }

    pub(super) async fn hp(&self, node: &str) -> Value {
        self.get(&format!("node/{node}/world")).await["world"]["vars"]["combat"]["hp"].clone()
    }

    /// Returns the tree without the fields that every operation changes.
    pub(super) async fn face(&self) -> Value {
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
    let (play, said) = bitten().await;
    let edited = json!({"content": "I wait.", "carry": true});
    let edited = play.post(&format!("node/{}/edit", said[1].user), edited).await;
    play.edit(json!([{"op": "prune", "nodeId": edited["node"]["id"]}])).await;
    let stash = play.get("stash").await["items"].clone();
    assert_eq!((&stash[0]["firstLine"], &stash[0]["count"]), (&json!("I wait."), &json!(4)));
}

/// S4-17, S4-18, S4-58: a pruned part leaves the branch and stays whole and readable in the stash, after a restart too.
/// HEAD moves to the parent of the cut. A graft puts it back, and both can be undone.
#[tokio::test]
async fn pruned_fragment_stays_in_stash_and_graft_restores() {
    let (play, said) = bitten().await;
    let before = play.face().await;
    let made = play.edit(json!([{"op": "prune", "nodeId": said[1].user, "name": " the fight "}])).await;
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
    assert_eq!(ids(&inside["items"])[..2], [said[1].user.clone(), said[1].reply.clone()]);
    assert_eq!(
        play.refused("PUT", "active_leaf", json!({"nodeId": said[1].reply}), "not_found").await["details"],
        json!({})
    );

    play.edit(json!([{"op": "rename", "fragmentId": fragment, "name": "later"}])).await;
    assert_eq!(play.get("stash").await["items"][0]["name"], "later");
    let back = play.edit(json!([{"op": "graft", "fragmentId": fragment}])).await;
    assert_eq!(back["fragmentIds"], json!([]));
    assert_eq!((play.get("stash").await["items"].clone(), play.hp(&said[2].reply).await), (json!([]), json!(25)));
    for kind in ["graft", "rename", "prune"] {
        assert_eq!(play.post("undo", json!({})).await["kind"], kind);
    }
    assert_eq!(play.face().await, before);
    assert_eq!(play.post("redo", json!({})).await["kind"], "prune");
    assert_eq!(play.get("stash").await["items"], stash);
}

/// S4-19, S3-06: a grafted part is folded on its new parent, and the answer has the changed values. Nothing can be
/// grafted below itself. A fragment can go below any message.
#[tokio::test]
async fn graft_move_recomputes_state_on_new_parent() {
    let (play, said) = bitten().await;
    let moved = json!([{"op": "graft", "nodeId": said[2].user, "targetId": said[0].reply, "mode": "move"}]);
    let made = play.edit(moved).await;
    assert_eq!(
        made["worldChanges"][0],
        json!({"nodeId": said[2].reply, "path": "/combat/hp", "before": 25, "after": 30})
    );
    assert_eq!((play.head().await, play.hp(&said[2].reply).await), (said[2].reply.clone(), json!(30)));
    let nodes = play.nodes().await;
    assert_eq!(
        walk(&nodes, &said[2].reply)[1..],
        [&said[0].user, &said[0].reply, &said[2].user, &said[2].reply].map(Clone::clone)
    );
    assert_eq!(play.line(&said[2].reply).await, walk(&nodes, &said[2].reply));
    let below_itself = json!({"operations": [{"op": "graft", "nodeId": said[0].user, "targetId": said[2].reply}]});
    play.refused("PUT", "tree/edit", below_itself, "cycle").await;
    assert_eq!(play.post("undo", json!({})).await["worldChanges"][0]["after"], 25);
    assert_eq!(play.line(&said[2].reply).await.len(), 7);
}

/// S4-41, domain 2.18: a list of edits applies as a whole or not at all, and the refusal names the edit.
#[tokio::test]
async fn edit_list_with_one_error_changes_nothing() {
    let (play, said) = bitten().await;
    let before = play.get("tree").await;
    let list = |third: Value| {
        let (first, second) = (
            json!({"op": "prune", "nodeId": said[1].user}),
            json!({"op": "label", "nodeId": said[0].user, "name": "x"}),
        );
        json!({"operations": [first, second, third]})
    };
    let check = async |third: Value, code: &str, field: Option<&str>| {
        let error = play.refused("PUT", "tree/edit", list(third.clone()), code).await;
        assert_eq!((&error["details"]["operation"], error["details"]["field"].as_str()), (&json!(2), field), "{error}");
        assert_eq!(play.get("tree").await, before, "{third}");
    };
    let root = before["rootNodeId"].clone();
    check(json!({"op": "prune", "nodeId": root}), "conflict", None).await;
    check(json!({"op": "prune", "nodeId": said[2].user}), "conflict", None).await;
    check(json!({"op": "label", "nodeId": said[0].reply, "name": "x"}), "conflict", None).await;
    check(json!({"op": "graft", "nodeId": said[0].user, "targetId": said[0].reply}), "cycle", None).await;
    check(json!({"op": "prune", "nodeId": uuid::Uuid::from_u128(5)}), "not_found", Some("nodeId")).await;
    check(json!({"op": "rename", "fragmentId": uuid::Uuid::from_u128(5)}), "not_found", Some("fragmentId")).await;
    check(json!({"op": "unlabel", "name": "y"}), "not_found", Some("name")).await;
    check(json!({"op": "label", "nodeId": said[0].user, "name": " "}), "invalid", Some("name")).await;
    check(json!({"op": "shrink"}), "invalid", Some("operations[2].op")).await;
    check(json!({"op": "prune", "nodeId": said[0].user, "targetId": root}), "invalid", Some("operations[2].targetId"))
        .await;
    let stale = json!({"operations": [{"op": "prune", "nodeId": said[1].user}], "expectedLeafId": said[0].user});
    play.refused("PUT", "tree/edit", stale, "head_moved").await;
    play.refused("PUT", "tree/edit", json!({"operations": []}), "invalid").await;
}

/// S4-09: a fixed label stays, and a following one moves with appended messages and replies. Undo restores both.
#[tokio::test]
async fn labels_fixed_stay_and_following_move_with_replies() {
    let (play, said) = bitten().await;
    let label = |name: &str, following: bool| json!({"op": "label", "nodeId": said[2].reply, "name": name, "following": following});
    play.edit(json!([label("here", false), label("story", true)])).await;
    let more = play.say("Four.").await;
    let labels = play.get("labels").await["items"].clone();
    assert_eq!(play.get("tree").await["labels"], labels, "they stand in the whole tree as well");
    let at = |labels: &Value| labels.as_array().unwrap().iter().map(|one| one["nodeId"].clone()).collect::<Vec<_>>();
    assert_eq!(at(&labels), [json!(said[2].reply), json!(more.reply)]);
    play.another(&more.reply).await;
    assert_eq!(play.get("tree").await["labels"], labels, "another version is another branch");
    play.post("undo", json!({})).await;
    assert_eq!(play.post("undo", json!({})).await["kind"], "message");
    assert_eq!(at(&play.get("tree").await["labels"]), [json!(said[2].reply), json!(said[2].reply)]);
    play.edit(json!([{"op": "unlabel", "name": "here"}])).await;
    assert_eq!(play.get("tree").await["labels"].as_array().unwrap().len(), 1);
}

/// S4-09: two Unicode forms of the same characters are one label name. A conflict names the node that has it and what
/// to do, once.
#[tokio::test]
async fn label_names_in_other_unicode_form_conflict() {
    let play = ApiSession::start().await;
    let (greeting, said) = (play.head().await, play.say("One.").await);
    let label = |node: &str, name: &str| json!([{"op": "label", "nodeId": node, "name": name}]);
    play.edit(label(&said.user, "Cafe\u{301} 한")).await;
    assert_eq!(play.get("labels").await["items"][0]["name"], "Caf\u{e9} 한");
    let taken = json!({"operations": label(&greeting, "Caf\u{e9} \u{1112}\u{1161}\u{11ab}")});
    let error = play.refused("PUT", "tree/edit", taken, "conflict").await;
    assert_eq!((&error["details"]["nodeId"], &error["details"]["name"]), (&json!(said.user), &json!("Caf\u{e9} 한")));
    assert_eq!(error["message"], "another message already has the label \"Caf\u{e9} 한\"");
    assert_eq!(error["hint"], "choose another label, or remove it from the other message first");
    let line = play.get("projection?label=Cafe%CC%81%20%ED%95%9C").await;
    assert_eq!(ids(&line["items"]).last(), Some(&said.user));
    play.edit(json!([{"op": "unlabel", "name": "Cafe\u{301} 한"}])).await;
    assert_eq!(play.get("labels").await["items"], json!([]));
}

/// Domain 2.15: a turn is one step with its reply, and checkouts are no steps. A running reply cannot be undone. With
/// nothing left to undo the answer says so.
#[tokio::test]
async fn undo_reverts_whole_turn_but_refuses_while_generating() {
    let play = ApiSession::start().await;
    let (greeting, empty) = (play.head().await, play.face().await);
    play.refused("POST", "undo", json!({}), "nothing_to_undo").await;
    let said = play.say("One.").await;
    let full = play.face().await;
    play.checkout(&greeting, true).await;
    let undone = play.post("undo", json!({})).await;
    assert_eq!((&undone["kind"], &undone["leafId"]), (&json!("message"), &json!(greeting)));
    assert_eq!(play.face().await, empty);
    assert_eq!(play.get("stash").await["items"], json!([]), "what is taken back is no fragment");
    assert_eq!(play.post("redo", json!({})).await["leafId"], json!(said.reply));
    assert_eq!(play.face().await, full);
    play.refused("POST", "redo", json!({}), "nothing_to_undo").await;
    play.app.mock().script(Reply::silent());
    let body = json!({"parentId": said.reply, "content": "Two.", "generate": true});
    let running = id(&play.post("message", body).await["generations"][0]);
    play.refused("POST", "undo", json!({}), "generating").await;
    play.refused("PUT", "tree/edit", json!({"operations": [{"op": "prune", "nodeId": said.user}]}), "generating").await;
    play.app.ask("POST", &play.chat(&format!("node/{running}/cancel"))).send().await.expect(202);
    play.done(&running).await;
    play.post("undo", json!({})).await;
    assert_eq!(play.face().await, full);
}

/// S4-12, S4-20, domain 2.11: effects of a node stay when it is disabled and go when it is muted. The answer has the
/// changed values at HEAD and at labels. Many changes at once are one step.
#[tokio::test]
async fn muted_effects_recompute_state_but_disabling_does_not() {
    let (play, said) = bitten().await;
    play.edit(json!([{"op": "label", "nodeId": said[1].reply, "name": "half way"}])).await;
    let state = |body: Value| play.app.ask("PUT", &play.chat("nodes/state")).json(&body).send();
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
    let first = play.say("One.").await;
    let second = play.another(&first.reply).await;
    let off = json!({"isEnabled": false});
    play.app.ask("PUT", &play.chat(&format!("node/{}/state", first.user))).json(&off).send().await.expect(200);
    play.checkout(&first.reply, true).await;
    let session = format!("/api/sessions/{}", play.sid);
    let change =
        async |mode: &str| play.app.ask("PATCH", &session).json(&json!({"mode": mode})).send().await.expect(200);
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
    let lost = play.say("Lost words.").await;
    play.post("undo", json!({})).await;
    let other = play.say("Other words.").await;
    let back = play.post("redo", json!({})).await;
    assert_eq!((&back["kind"], &back["leafId"]), (&json!("message"), &json!(lost.reply)));
    let nodes = play.nodes().await;
    assert_eq!(nodes[&lost.user]["parentId"], nodes[&other.user]["parentId"]);
    play.refused("POST", "redo", json!({}), "nothing_to_undo").await;
    let rated = json!({"rating": 3});
    play.app.ask("PUT", &play.chat(&format!("node/{}/state", other.user))).json(&rated).send().await.expect(200);
    play.post("undo", json!({})).await;
    play.say("More.").await;
    play.refused("POST", "redo", json!({}), "nothing_to_undo").await;
}

/// Copies of copies grow without bound, so one list has a limit. A list over it changes nothing.
#[tokio::test]
async fn edit_list_with_growing_copies_is_too_large() {
    let play = ApiSession::start().await;
    let greeting = play.head().await;
    let write = async || {
        let body = json!({"parentId": greeting, "content": "x", "generate": false});
        id(&play.post("message", body).await["node"])
    };
    let (a, b) = (write().await, write().await);
    let copy = |from: &str, to: &str| json!({"op": "graft", "nodeId": from, "targetId": to, "mode": "copy"});
    let list: Vec<Value> = (0..40).map(|n| if n % 2 == 0 { copy(&a, &b) } else { copy(&b, &a) }).collect();
    let before = play.get("tree").await;
    let error = play.refused("PUT", "tree/edit", json!({"operations": list}), "too_large").await;
    assert_eq!(error["details"]["limit"], 20_000);
    assert_eq!(play.get("tree").await, before);
}

/// S4-24: a flag below a fork affects its own branch only, and one above the fork affects both.
#[tokio::test]
async fn disabled_flag_does_not_affect_other_branches() {
    let play = ApiSession::start().await;
    let shared = play.say("The fork.").await;
    let left = play.say_to(&shared.reply, "To the left.").await;
    let right = play.say_to(&shared.reply, "To the right.").await;
    let asked_at = async |reply: &str| {
        play.another(reply).await;
        play.app.mock().requests().pop().unwrap()["messages"].clone()
    };
    let switch = async |node: &str| {
        let off = json!({"isEnabled": false});
        play.app.put(&play.chat(&format!("node/{node}/state")), &off).await;
    };
    let before = asked_at(&right.reply).await;
    assert!(before.to_string().contains("The fork.") && before.to_string().contains("To the right."));
    switch(&left.user).await;
    assert_eq!(asked_at(&right.reply).await, before);
    assert!(!asked_at(&left.reply).await.to_string().contains("To the left."));
    switch(&shared.user).await;
    for reply in [&left.reply, &right.reply] {
        assert!(!asked_at(reply).await.to_string().contains("The fork."));
    }
}
