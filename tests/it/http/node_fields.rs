//! The fields of every node, however it was created, and which nodes are on the trunk.

use std::collections::BTreeSet;

use futures_util::future::join_all;

use super::api_session::{ApiSession, ids_of, path_to_node};
use super::*;
use crate::support::schema;

const ROLES: [&str; 3] = ["user", "assistant", "system"];

/// Returns a text that a client might send: other scripts, marks, control characters, JSON, markup, lone signs.
fn odd_text(n: usize) -> String {
    let odd =
        ["{\"a\": [1]}", "<b>\u{202e}gnol</b>", "灯塔\r\n🌙\u{301}", "\u{1}\t\u{feff}x", "`~*_#", "%00\\u0000'\";--"];
    format!("{n} {}", odd[n % odd.len()].repeat(1 + n % 3))
}

/// S4-08, S4-26, S4-27, S4-28: every input and reply is a node with text, author, time, id and links in both
/// directions. Over a thousand nodes match the contract, and there are three roles.
#[tokio::test]
async fn nodes_have_author_timestamp_and_consistent_links() {
    let play = ApiSession::start().await;
    let said = play.run_turn("One.").await;
    // Write a thousand messages, fifty at a time.
    let mut parents = vec![play.head().await];
    for round in 0..20 {
        let write = |n: usize| {
            let (play, parent, content) = (&play, &parents[n * 7 % parents.len()], odd_text(round * 50 + n));
            async move {
                let body = json!({"parentId": parent, "content": content, "role": ROLES[n % 3], "moveHead": false});
                (content, play.post("message", body).await["node"].clone())
            }
        };
        let written = join_all((0..50).map(write)).await;
        for (content, node) in written {
            assert_eq!(node["content"], json!(content));
            parents.push(id_of(&node));
        }
    }
    // Check every node and its links in both directions.
    let tree = play.get("tree").await;
    let nodes = tree["nodes"].as_object().unwrap();
    assert_eq!(nodes.len(), 1_000 + 4, "the root, the greeting, a message and its reply");
    let (shape, root) = (schema::schema_reference("ChatMessageNode"), tree["rootNodeId"].as_str().unwrap());
    let me = play.server.get("/api/auth/me").await["user"]["id"].clone();
    let mut roles = BTreeSet::new();
    for (key, node) in nodes {
        assert_eq!(schema::faults(&shape, node), Vec::<String>::new(), "{node}");
        assert!(id_of(node) == *key && uuid::Uuid::parse_str(key).is_ok_and(|uuid| uuid.to_string() == *key));
        assert_eq!((&node["status"], &node["isEnabled"]), (&json!("complete"), &json!(true)));
        let at = node["timestamp"].as_str().unwrap();
        assert!(at.ends_with('Z') && at.parse::<jiff::Timestamp>().is_ok(), "ISO 8601, UTC: {at}");
        match node["parentId"].as_str() {
            Some(parent) => assert!(nodes[parent]["childrenIds"].as_array().unwrap().contains(&json!(key))),
            None => assert_eq!(key, root),
        }
        for child in node["childrenIds"].as_array().unwrap() {
            assert_eq!(nodes[child.as_str().unwrap()]["parentId"], json!(key));
        }
        roles.insert(node["role"].as_str().unwrap());
        if node["kind"] == "message" {
            assert_eq!(node["authorId"], me, "who wrote it or asked for it");
        }
    }
    assert_eq!(roles, BTreeSet::from(ROLES));
    assert_eq!(nodes[&said.reply]["parentId"], json!(said.user_node));
}

/// S4-10: the trunk is the branch to HEAD in every view: the path, the search, the branches and the turns.
#[tokio::test]
async fn trunk_is_same_branch_in_every_view() {
    let play = ApiSession::start().await;
    let first = play.run_turn("A lantern stands here.").await;
    let side = play.run_turn_at(&first.reply, "A lantern to the left.").await;
    play.regenerate_and_wait(&side.reply).await;
    let main = play.run_turn_at(&first.reply, "A lantern to the right.").await;
    for head in [&main.reply, &side.reply] {
        play.checkout(head, true).await;
        let trunk = path_to_node(&play.nodes().await, &play.head().await);
        assert_eq!((trunk.last(), ids_of(&play.get("projection").await["items"])), (Some(head), trunk.clone()));
        let branches = play.get("branches").await;
        let of_trunk = branches["items"].as_array().unwrap().iter().filter(|one| one["isTrunk"] == true);
        assert_eq!(of_trunk.map(|one| one["leafId"].clone()).collect::<Vec<_>>(), [json!(head)]);
        search_until(&play.server, "lantern", 3).await;
        let found = play.server.get(&format!("/api/search?q=lantern&session={}&where=trunk", play.sid)).await;
        let found: BTreeSet<String> =
            found["items"].as_array().unwrap().iter().map(|hit| hit["nodeId"].as_str().unwrap().to_owned()).collect();
        let said = [&first.user_node, if *head == main.reply { &main.user_node } else { &side.user_node }];
        assert_eq!(found, said.into_iter().cloned().collect::<BTreeSet<_>>());
        let contexts = play.get("context-path").await;
        let contexts: Vec<&str> = contexts.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
        assert!(contexts.len() >= 2 && contexts[1..].iter().all(|id| trunk.iter().any(|node| node == id)));
    }
}

/// S4-42, S4-43: disabling five hundred nodes is one operation and one event. Repeating it is neither.
#[tokio::test]
async fn disabling_500_nodes_is_one_operation_and_event() {
    let app = TestServer::start().await;
    let (session, line) = app.create_branch(500).await;
    let play = ApiSession { server: app, sid: id_of(&session) };
    let op = session["op"].as_i64().unwrap();
    let mut tab = play.server.open_socket(&play.sid, Some(op)).await;
    let all = |nodes: &[String]| json!({"updates": nodes.iter().map(|node| json!({"nodeId": node, "isEnabled": false})).collect::<Vec<_>>()});
    let done = play.server.put(&play.chat_path("nodes/state"), &all(&line[1..])).await;
    assert_eq!(done["op"], json!(op + 1));
    let told = tab.read_until_type("node.state.updated").await.pop().unwrap();
    assert_eq!((&told["op"], &told["isEnabled"], &told["ids"]), (&json!(op + 1), &json!(false), &json!(line[1..])));
    let again = play.server.put(&play.chat_path("nodes/state"), &all(&line[1..])).await;
    assert_eq!((&again["op"], &play.session().await["op"]), (&json!(op + 1), &json!(op + 1)));
    tab.send(&json!({"type": "ping"})).await;
    assert_eq!(
        crate::support::socket::frame_types(&tab.read_until_type("pong").await),
        ["pong"],
        "and nothing else is told"
    );
    assert_eq!(ids_of(&play.get("projection").await["items"]), line[..1]);
}
