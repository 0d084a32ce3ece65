//! A server with tree edits disabled.

use super::tree_edits::start_combat_session_with;
use super::*;

/// S2-19: a story grows and branches without any rearranging. With prune, move, copy, summarise and merge disabled,
/// everything else works as before. That is messages, rerolls, edits, checkouts, labels and undo. The refusal names the
/// edit and who can allow it, and nothing of its list is applied.
#[tokio::test]
async fn tree_edits_disabled_refuses_rearranging_but_allows_chat() {
    let (play, said) = start_combat_session_with(TestApp::setup().set("tree.edits", "false")).await;
    assert_eq!(play.server.get("/api/auth/me").await["mayRearrange"], json!(false));
    let other = play.regenerate_and_wait(&said[2].reply).await;
    let last = play.get("projection").await["items"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((id_of(&last), &last["siblings"]["ids"]), (other.clone(), &json!([said[2].reply, other])));
    assert_eq!(play.checkout(&said[2].reply, false).await, said[2].reply);
    let version = play.post(&format!("node/{}/edit", said[1].user_node), json!({"content": "Two, again."})).await;
    let (version, reply) = (id_of(&version["node"]), id_of(&version["generations"][0]));
    play.wait_for_reply(&reply).await;
    assert_eq!(play.head().await, reply);
    let nodes = play.nodes().await;
    assert_eq!(nodes[&version]["parentId"], nodes[&said[1].user_node]["parentId"]);
    assert_eq!(play.checkout(&said[1].user_node, false).await, said[2].reply, "the leaf last visited there");
    assert_eq!((play.hp(&said[2].reply).await, play.hp(&said[0].reply).await), (json!(25), json!(33)));

    let before = play.get("tree").await;
    let (node, target) = (&said[2].user_node, &said[0].user_node);
    let label = json!({"op": "label", "nodeId": node, "name": "here"});
    for edit in [
        json!({"op": "prune", "nodeId": node}),
        json!({"op": "graft", "nodeId": node, "targetId": target}),
        json!({"op": "graft", "nodeId": node, "targetId": target, "mode": "copy"}),
        json!({"op": "summarise", "nodeIds": [node], "content": "It bit."}),
        json!({"op": "merge", "fromLeafId": reply, "ontoLeafId": said[2].reply}),
    ] {
        let error = play.expect_error("PUT", "tree/edit", json!({"operations": [label, edit]}), "forbidden").await;
        assert_eq!(error["details"], json!({"operation": 1}));
        assert!(error["hint"].as_str().unwrap().contains("edits = true"), "{error}");
        assert_eq!(play.get("tree").await, before);
    }
    play.edit_tree(json!([label])).await;
    assert_eq!(play.get("labels").await["items"][0]["name"], "here");
    assert_eq!(play.post("undo", json!({})).await["kind"], "label");
    assert_eq!(play.post("undo", json!({})).await["kind"], "edit");
    assert_eq!(play.projection_ids(&said[2].reply).await.len(), 7);
}
