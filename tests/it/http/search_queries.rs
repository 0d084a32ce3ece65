//! The query language of the search over HTTP: fields of the tree, values of the world, sort orders, and hints on what
//! was typed.

use super::api_session::{ApiSession, ids_of};
use super::tree_edits::start_combat_session;
use super::*;

/// Returns the path of a search.
fn search_path(q: &str, rest: &[(&str, &str)]) -> String {
    let mut query = percent_encode(q);
    for (name, value) in rest {
        query += &format!("&{name}={value}");
    }
    format!("/api/search?q={query}")
}

/// Escapes every byte, so that no special cases are needed.
fn percent_encode(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

async fn search_node_ids(app: &TestServer, q: &str) -> Vec<String> {
    let answer = app.get(&search_path(q, &[])).await;
    sort_ids(answer["items"].as_array().unwrap().iter().map(|hit| hit["nodeId"].as_str().unwrap().to_owned()).collect())
}

fn sort_ids(mut ids: Vec<String>) -> Vec<String> {
    ids.sort();
    ids
}

async fn wait_for_hits(app: &TestServer, q: &str, expected: &[&String]) {
    let expected = sort_ids(expected.iter().map(|id| (*id).clone()).collect());
    wait_for_some(&format!("what \"{q}\" finds"), async || (search_node_ids(app, q).await == expected).then_some(()))
        .await;
}

/// Writes messages below one another and returns their ids.
async fn write_messages(play: &ApiSession, parent: &str, texts: &[&str]) -> Vec<String> {
    let (mut parent, mut nodes) = (parent.to_owned(), Vec::new());
    for text in texts {
        let made = play.post("message", json!({"parentId": parent, "content": text, "onStale": "branch"})).await;
        parent = id_of(&made["node"]);
        nodes.push(parent.clone());
    }
    nodes
}

/// Domain 8: messages are found by values of the world after them, with numeric comparisons. An edit above changes
/// these values and the hits.
#[tokio::test]
async fn search_by_state_value_follows_edits() {
    let (play, said) = start_combat_session().await;
    let app = &play.server;
    let (second, third, fourth) = (&said[1].reply, &said[2].user_node, &said[2].reply);
    search_until(app, "bites", 3).await;
    wait_for_hits(app, "hp:<30", &[second, third, fourth]).await;
    assert_eq!(search_node_ids(app, "combat.hp:<30 AND bites").await, sort_ids(vec![second.clone(), fourth.clone()]));
    assert_eq!(search_node_ids(app, "hp:26..28 -bites").await, [third.as_str()]);
    assert_eq!(
        search_node_ids(app, "hp:25 OR hp:33 role:assistant").await,
        sort_ids(vec![fourth.clone(), said[0].reply.clone()])
    );
    assert_eq!(search_node_ids(app, "hp:>40").await, [] as [String; 0]);

    let moved = json!([{"op": "graft", "nodeId": third, "targetId": said[0].reply, "mode": "move"}]);
    play.edit_tree(moved).await;
    wait_for_hits(app, "hp:<30", &[second]).await;
    assert_eq!(search_node_ids(app, "hp:30").await, [fourth.as_str()]);
    play.post("undo", json!({})).await;
    wait_for_hits(app, "hp:<30", &[second, third, fourth]).await;
    app.put(&play.chat_path(&format!("node/{}/state", said[0].reply)), &json!({"effects": "muted"})).await;
    wait_for_hits(app, "hp:<33", &[fourth]).await;

    let error = app.request("GET", &search_path("bites mana:<3", &[])).send().await.expect_error("invalid");
    let known = ["combat.hp", "hp"];
    let details =
        json!({"field": "q", "at": 6, "length": 4, "reason": "unknown_value", "what": "mana", "known": known});
    assert_eq!(error["details"], details);
}

/// S4-17, S4-09: trunk, stash and labels are search terms too, alone or negated. A hit names its branch.
#[tokio::test]
async fn search_by_trunk_stash_and_label() {
    let play = ApiSession::start().await;
    // Two branches with labels.
    let head = play.head().await;
    let main = write_messages(&play, &head, &["fog one", "fog two", "fog three"]).await;
    let side = write_messages(&play, &main[0], &["fog left", "fog far left"]).await;
    play.checkout(&main[2], true).await;
    play.server
        .put(
            &play.chat_path("tree/edit"),
            &json!({"operations": [
                {"op": "label", "nodeId": side[1], "name": "the left way", "following": true},
                {"op": "label", "nodeId": main[1], "name": "the keep"},
            ]}),
        )
        .await;
    let app = &play.server;
    search_until(app, "fog", 5).await;
    let check = async |q: &str, expected: &[&String]| {
        let expected = sort_ids(expected.iter().map(|id| (*id).clone()).collect());
        assert_eq!(search_node_ids(app, q).await, expected, "{q}");
    };
    let (one, two, three, left, far) = (&main[0], &main[1], &main[2], &side[0], &side[1]);
    // Places and labels, alone and negated.
    check("fog in:trunk", &[one, two, three]).await;
    check("in:off-trunk", &[left, far]).await;
    check("fog -in:trunk", &[left, far]).await;
    check("label:\"the left way\" fog", &[one, left, far]).await;
    check("label:\"the left way\" -in:trunk far", &[far]).await;
    check("fog -label:\"the left way\"", &[two, three]).await;
    check("in:stash", &[]).await;
    // Each hit has its branch.
    let hits = app.get(&search_path("fog", &[("sort", "oldest")])).await;
    let branches: Vec<(&str, &Value, bool)> = hits["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| (hit["nodeId"].as_str().unwrap(), &hit["branch"], hit["onTrunk"] == true))
        .collect();
    let way = json!("the left way");
    let keep = json!("the keep");
    let expected =
        [(one, &way, true), (two, &keep, true), (three, &keep, true), (left, &way, false), (far, &way, false)];
    assert_eq!(branches, expected.map(|(id, branch, on)| (id.as_str(), branch, on)));
    // Such a term cannot be combined with OR.
    let error = app.request("GET", &search_path("fog OR in:trunk", &[])).send().await.expect_error("invalid");
    assert_eq!([&error["details"]["at"], &error["details"]["length"]], [&json!(7), &json!(2)]);
}

/// Sessions and characters are found by name and times by day, with sort orders.
#[tokio::test]
async fn search_by_session_character_date_and_sort() {
    let play = ApiSession::start().await;
    let app = &play.server;
    let nodes = write_messages(&play, &play.head().await, &["fog", "fog fog fog", "lanterns in the fog"]).await;
    search_until(app, "fog", 3).await;
    let title = play.session().await["title"].as_str().unwrap().to_owned();
    assert_eq!(search_node_ids(app, &format!("fog session:\"{title}\"")).await.len(), 3);
    let nowhere = app.get(&search_path("fog session:\"no such story\"", &[])).await;
    assert_eq!((nowhere["items"].as_array().unwrap().len(), nowhere["notes"].as_array().unwrap().len()), (0, 1));
    assert!(nowhere["notes"][0]["name"] == "no such story");
    assert_eq!(search_node_ids(app, "character:Rin").await.len(), 1, "the greeting");
    assert_eq!(search_node_ids(app, "character:Ri").await.len(), 1, "while one types");
    assert_eq!(
        search_node_ids(app, "fog on:today").await.len() + search_node_ids(app, "fog on:yesterday").await.len(),
        3
    );
    assert_eq!(search_node_ids(app, "fog before:1999").await, [] as [String; 0]);
    let in_order = async |sort: &str| hit_node_ids(&app.get(&search_path("fog", &[("sort", sort)])).await);
    assert_eq!(in_order("oldest").await, nodes);
    assert_eq!(in_order("newest").await, nodes.iter().rev().cloned().collect::<Vec<_>>());
    assert_eq!(in_order("relevance").await[0], nodes[1]);
    assert_eq!(search_node_ids(app, "lantern*").await, [nodes[2].clone()]);
    assert_eq!(search_node_ids(app, "lantren~ OR nothing").await, [nodes[2].clone()]);
    let hit = &app.get(&search_path("lantern", &[])).await["items"][0];
    assert_eq!((&hit["nodeId"], &hit["snippet"]["marks"]), (&json!(nodes[2]), &json!([[0, 8]])));
    for (name, bad) in [("sort", "best"), ("zone", "%2B99:00"), ("zone", "x")] {
        let error = app.request("GET", &search_path("fog", &[(name, bad)])).send().await.expect_error("invalid");
        assert_eq!(error["details"]["field"], name, "{bad}");
    }
    assert_eq!(app.get(&search_path("fog on:today", &[("zone", "-05:00")])).await["rebuilding"], Value::Null);
}

fn hit_node_ids(answer: &Value) -> Vec<String> {
    answer["items"].as_array().unwrap().iter().map(|hit| hit["nodeId"].as_str().unwrap().to_owned()).collect()
}

/// An empty or only negative search is refused with the position and the reason.
#[tokio::test]
async fn search_empty_or_negative_only_returns_invalid() {
    let app = TestServer::start().await;
    for (q, at, length) in [("-fog", 0, 4), (" -(small)", 1, 8), ("-role:user -灯", 0, 13), ("  ", 2, 0), ("", 0, 0)] {
        let error = app.request("GET", &search_path(q, &[])).send().await.expect_error("invalid");
        let expected = json!({"field": "q", "at": at, "length": length, "reason": "empty", "what": ""});
        assert_eq!(error["details"], expected, "{q}");
    }
}

/// Any plain text gets an answer, with hints about it.
#[tokio::test]
async fn search_plain_text_always_returns_answer() {
    let play = ApiSession::start().await;
    let app = &play.server;
    let long = "the keeper walks along the shore and ".repeat(270);
    let nodes = write_messages(&play, &play.head().await, &["the fog of the sea and the tide", &long]).await;
    search_until(app, "shore", 1).await;
    for (q, expected, notes) in [
        ("\"", &[][..], 1),
        ("?!", &[], 1),
        ("()", &[], 1),
        ("AND AND", &nodes[..], 0),
        ("the of and", &nodes[..1], 0),
        (&long, &nodes[1..], 1),
        ("http://example.org/x C:\\temp", &[], 0),
        ("(fog OR (shore", &nodes[..], 0),
    ] {
        let answer = app.get(&search_path(q, &[])).await;
        assert_eq!(sort_ids(hit_node_ids(&answer)), sort_ids(expected.to_vec()), "{q}");
        assert_eq!(answer["notes"].as_array().unwrap().len(), notes, "{q}: {answer}");
    }
    assert!(search_node_ids(app, "*").await.len() >= 3);
    let all_but = search_node_ids(app, "* -shore").await;
    assert!(all_but.contains(&nodes[0]) && !all_but.contains(&nodes[1]));
    assert_eq!(app.get(&search_path(&"灯".repeat(3_000), &[])).await["items"], json!([]));
    let line = ids_of(&play.get("projection").await["items"]);
    assert!(line.contains(&nodes[1]));
}
