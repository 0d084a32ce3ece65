//! The changes of a whole branch in one answer.

use super::api_session::{ApiSession, ids_of};
use super::*;

/// Returns the node ids of the answer.
fn delta_node_ids(deltas: &Value) -> Vec<String> {
    deltas["items"].as_array().unwrap().iter().map(|one| one["nodeId"].as_str().unwrap().to_owned()).collect()
}

/// Every message of a branch with changes is listed with the same delta as its own route gives. Others are left out,
/// hidden changes come on request, and pages match those of the branch.
#[tokio::test]
async fn deltas_of_branch_match_each_message_delta() {
    // A change by a reply, a reply without changes, a manual change and another change.
    let play = ApiSession::start_with(TestApp::setup(), json!({"plugins": [{"id": "combat"}]})).await;
    play.server.mock().queue_reply(Reply::ok(["It bites. [HP -7]"]));
    let bitten = play.run_turn("One.").await;
    play.server.mock().queue_reply(Reply::ok(["Nothing stirs."]));
    let calm = play.run_turn("Two.").await;
    let operations = json!([{"op": "set", "path": "/combat/hp", "value": 20}]);
    let change =
        id_of(&play.post(&format!("node/{}/world", calm.reply), json!({"operations": operations})).await["node"]);
    play.server.mock().queue_reply(Reply::ok(["Again. [HP -2]"]));
    let again = play.run_turn_at(&change, "Three.").await;

    // The whole branch.
    let whole = play.get("deltas?all=1").await;
    let nodes = delta_node_ids(&whole);
    assert_eq!(nodes[nodes.len() - 3..], [bitten.reply.clone(), change.clone(), again.reply.clone()]);
    for quiet in [&bitten.user_node, &calm.user_node, &calm.reply] {
        assert!(!nodes.contains(quiet), "{whole}");
    }
    for one in whole["items"].as_array().unwrap() {
        let mut alone = play.get(&format!("node/{}/delta", one["nodeId"].as_str().unwrap())).await;
        alone["nodeId"] = one["nodeId"].clone();
        assert_eq!(*one, alone);
    }
    let changes = |of: &str| {
        whole["items"].as_array().unwrap().iter().find(|one| one["nodeId"] == of).unwrap()["changes"].clone()
    };
    assert_eq!(changes(&change), json!([{"path": "/combat/hp", "before": 33, "after": 20}]));
    assert_eq!(changes(&again.reply), json!([{"path": "/combat/hp", "before": 20, "after": 18}]));
    assert_eq!((&whole["leafId"], &whole["next"]), (&json!(again.reply), &Value::Null));
    assert_eq!(whole["op"], play.session().await["op"]);

    // Hidden changes and pages.
    assert!(!delta_node_ids(&play.get("deltas").await).contains(&change), "hidden as in the linear view");
    let line = ids_of(&play.get("projection?all=1").await["items"]);
    let page = play.get(&format!("deltas?all=1&limit=3&leaf={}", again.user_node)).await;
    assert_eq!((delta_node_ids(&page), &page["next"]), (vec![change], &json!(calm.reply)), "{line:?}");
    let older = play.get(&format!("deltas?all=1&limit=3&before={}", calm.reply)).await;
    assert_eq!(delta_node_ids(&older), std::slice::from_ref(&bitten.reply));

    // In a linear session the linear view ignores disabled flags, and so do the deltas.
    let off = json!({"isEnabled": false});
    let state = format!("/api/chat/{}/node/{}/state", play.sid, bitten.reply);
    play.server.request("PUT", &state).json(&off).send().await.expect(200);
    assert!(!delta_node_ids(&play.get("deltas").await).contains(&bitten.reply));
    let session = format!("/api/sessions/{}", play.sid);
    play.server.request("PATCH", &session).json(&json!({"mode": "linear"})).send().await.expect(200);
    assert!(ids_of(&play.get("projection").await["items"]).contains(&bitten.reply));
    assert!(delta_node_ids(&play.get("deltas").await).contains(&bitten.reply));
}
