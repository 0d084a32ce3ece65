//! Views of several branches: their list, their differences, and values along them.

use clotho_core::ids::NodeId;
use clotho_core::oplog::OperationKind;
use clotho_core::tree::{Kind, Role};
use clotho_store::{Actor, MessageWrite, NodeDraft};

use super::api_session::{ApiSession, ids_of};
use super::*;

/// Starts a session with the combat plugin.
async fn start_with_combat() -> ApiSession {
    ApiSession::start_with(TestApp::setup(), json!({"plugins": [{"id": "combat"}]})).await
}

/// Adds a turn whose reply costs hit points.
async fn run_damage_turn(play: &ApiSession, parent: &str, harm: i32) -> super::api_session::TurnIds {
    play.server.mock().queue_reply(Reply::ok([format!("It bites. [HP -{harm}]")]));
    play.run_turn_at(parent, "On.").await
}

/// Writes a long branch below a node in one transaction.
async fn write_long_branch(play: &ApiSession, parent: &str, nodes: usize) -> Vec<String> {
    let app = play.server.app();
    let now = app.clock.now();
    let mut above: NodeId = parent.parse().unwrap();
    let mut messages = Vec::new();
    for n in 0..nodes {
        let role = if n % 2 == 0 { Role::User } else { Role::Assistant };
        let draft = NodeDraft {
            content: format!("step {n}"),
            ..NodeDraft::new(NodeId::new(app.ids.next_id(now)), role, Kind::Message, 1, now)
        };
        let id = draft.id;
        messages.push(MessageWrite {
            session: play.sid.parse().unwrap(),
            parent: above,
            rules_change: None,
            draft: Some(draft),
            move_children_from: None,
            replies: Vec::new(),
            move_head: false,
            kind: OperationKind::Message,
        });
        above = id;
    }
    let line = messages.iter().map(|one| one.draft.as_ref().unwrap().id.to_string()).collect();
    let actor = Actor { user: app.owner, at: now, expected_leaf: None };
    let write = move |tx: &mut clotho_store::Tx<'_>| {
        messages.iter().try_for_each(|message| tx.add_message(&actor, message).map(|_| ()))
    };
    app.store.write(write).await.unwrap();
    line
}

/// S4-06, S3-25: the diff of two leaves has what each has since the last common node. It also has the differing values
/// and the nodes that caused them.
#[tokio::test]
async fn diff_two_branches_lists_messages_and_state_changes() {
    let play = start_with_combat().await;
    let shared = play.run_turn("One.").await;
    let left = run_damage_turn(&play, &shared.reply, 7).await;
    let right = run_damage_turn(&play, &shared.reply, 2).await;
    let deeper = run_damage_turn(&play, &right.reply, 3).await;
    let diff = play.get(&format!("diff?from={}&to={}", left.reply, deeper.reply)).await;
    assert_eq!(diff["ancestorId"], json!(shared.reply));
    assert_eq!(ids_of(&diff["from"]["items"]), [left.user_node.clone(), left.reply.clone()]);
    assert_eq!(
        ids_of(&diff["to"]["items"]),
        [&right.user_node, &right.reply, &deeper.user_node, &deeper.reply].map(String::clone)
    );
    assert_eq!((&diff["from"]["count"], &diff["to"]["count"]), (&json!(2), &json!(4)));
    assert_eq!((&diff["from"]["next"], &diff["to"]["next"]), (&Value::Null, &Value::Null));
    let hp = diff["world"].as_array().unwrap().iter().find(|one| one["path"] == "/combat/hp").unwrap();
    assert_eq!((&hp["from"], &hp["to"]), (&json!(33), &json!(35)));
    let done = |side: &str| -> Vec<(Value, Value)> {
        let deeds = hp["operations"][side].as_array().unwrap().iter();
        deeds.map(|one| (one["nodeId"].clone(), one["value"].clone())).collect()
    };
    assert_eq!(done("from"), [(json!(left.reply), json!(-7))]);
    assert_eq!(done("to"), [(json!(right.reply), json!(-2)), (json!(deeper.reply), json!(-3))]);
    assert_eq!(hp["operations"]["more"], false);
    let deed = &hp["operations"]["from"][0];
    assert!(deed["op"] == "add" && deed["by"] == "combat" && deed["why"].is_string(), "{deed}");

    // Swapped sides give the same diff mirrored, and a leaf does not differ from itself.
    let back = play.get(&format!("diff?from={}&to={}", deeper.reply, left.reply)).await;
    assert_eq!((&back["from"], &back["to"]), (&diff["to"], &diff["from"]));
    let own = play.get("diff").await;
    assert_eq!((&own["from"]["count"], &own["world"]), (&json!(0), &json!([])));
    assert_eq!(own["ancestorId"], json!(play.head().await));
    // If one leaf is above the other, the upper one has nothing new.
    let above = play.get(&format!("diff?from={}&to={}", right.reply, deeper.reply)).await;
    assert_eq!((&above["ancestorId"], &above["from"]["items"]), (&json!(right.reply), &json!([])));
    // A muted node has no effects, and equal values reached in different ways do not differ.
    let muted = json!({"effects": "muted"});
    play.server.put(&play.chat_path(&format!("node/{}/state", deeper.reply)), &muted).await;
    let diff = play.get(&format!("diff?from={}&to={}", right.reply, deeper.reply)).await;
    assert_eq!(diff["world"], json!([]));
}

/// A side longer than the answer reports its length and where to read the rest. Nothing recurses on depth.
#[tokio::test]
async fn diff_long_branch_is_cut_with_next_cursor() {
    const DEEP: usize = 3_000;
    let play = ApiSession::start().await;
    let parent = play.head().await;
    let line = write_long_branch(&play, &parent, DEEP).await;
    let beside = write_long_branch(&play, &parent, 1).await;
    let (from, to) = (&beside[0], line.last().unwrap());
    let diff = play.get(&format!("diff?from={from}&to={to}")).await;
    assert_eq!(
        (&diff["ancestorId"], &diff["from"]["count"], &diff["to"]["count"]),
        (&json!(parent), &json!(1), &json!(DEEP))
    );
    assert_eq!(ids_of(&diff["to"]["items"]), line[DEEP - 200..]);
    let next = diff["to"]["next"].as_str().unwrap();
    let older = play.get(&format!("projection?leaf={to}&before={next}&all=1&limit=2")).await;
    assert_eq!(ids_of(&older["items"]), line[DEEP - 202..DEEP - 200]);
    let whole = play.get(&format!("diff?from={from}&to={}&limit=3", line[2])).await;
    assert_eq!((ids_of(&whole["to"]["items"]).len(), &whole["to"]["next"]), (3, &Value::Null));
}

/// Item 7: values along branches fold each branch once, in pages that fit together. A missing value is null.
#[tokio::test]
async fn variables_along_branches_match_node_state() {
    let play = start_with_combat().await;
    let shared = run_damage_turn(&play, &play.head().await, 5).await;
    let left = run_damage_turn(&play, &shared.reply, 7).await;
    let right = run_damage_turn(&play, &shared.reply, 2).await;
    let query = format!("path=/combat/hp&path=/nobody/has~1this&leaf={}&leaf={}", left.reply, right.reply);
    let told = play.get(&format!("variables?{query}")).await;
    let items = told["items"].as_array().unwrap();
    let named: Vec<_> =
        items.iter().map(|one| (one["leafId"].as_str().unwrap(), one["path"].as_str().unwrap())).collect();
    let expected =
        [&left.reply, &right.reply].map(|leaf| ["/combat/hp", "/nobody/has~1this"].map(|path| (leaf.as_str(), path)));
    assert_eq!((named, &told["next"]), (expected.concat(), &Value::Null));
    // Each point equals the value in the world of its node, and every node of the branch has one.
    let all = play.get(&format!("projection?leaf={}&all=1", left.reply)).await;
    let points = items[0]["points"].as_array().unwrap();
    for (point, node) in points.iter().zip(all["items"].as_array().unwrap()) {
        assert_eq!([&point["nodeId"], &point["depth"], &point["turn"]], [&node["id"], &node["depth"], &node["turn"]]);
        let world = play.get(&format!("node/{}/world", id_of(node))).await;
        assert_eq!(point["value"], *world["world"].pointer("/vars/combat/hp").unwrap_or(&Value::Null));
    }
    assert_eq!(points.len(), all["items"].as_array().unwrap().len());
    assert_eq!(points.last().unwrap()["value"], 28);
    assert_eq!(items[2]["points"].as_array().unwrap().last().unwrap()["value"], 33);
    assert!(items[1]["points"].as_array().unwrap().iter().all(|point| point["value"].is_null()));
    // The pages together are the whole list.
    let (mut paged, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = play.get(&format!("variables?path=/combat/hp&leaf={}&limit=3{cursor}", left.reply)).await;
        assert!(page["items"][0]["points"].as_array().unwrap().len() <= 3);
        paged.extend(page["items"][0]["points"].as_array().unwrap().clone());
        let Some(next) = page["next"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(paged, *points);
    // The default leaf is HEAD.
    let head = play.get("variables?path=/combat/hp").await;
    assert_eq!(head["items"][0]["leafId"], json!(play.head().await));
}

/// Invalid paths and leaves are refused with their field, and so are more values than one answer can have.
#[tokio::test]
async fn variables_invalid_path_or_leaf_is_refused() {
    let play = ApiSession::start().await;
    let ask = |query: String| play.server.request("GET", &play.chat_path(&format!("variables{query}"))).send();
    for query in ["", "?path=hp", "?path=/a~2", "?path=", &format!("?{}", "path=/a&".repeat(17))] {
        assert_eq!(ask(query.to_owned()).await.expect_error("invalid")["details"]["field"], "path", "{query}");
    }
    let head = play.head().await;
    let many = format!("?path=/a{}", format!("&leaf={head}").repeat(17));
    assert_eq!(ask(many).await.expect_error("invalid")["details"]["field"], "leaf");
    assert_eq!(ask("?path=/a&leaf=x".to_owned()).await.expect_error("invalid")["details"]["field"], "leaf[0]");
    ask("?path=/a&path=/a&cursor=x".to_owned()).await.expect_error("invalid");
    // A large value along a long branch is too large for one answer.
    let value = "x".repeat(200_000);
    let operations = json!([{"op": "set", "path": "/tale", "value": value}]);
    let change = id_of(&play.post(&format!("node/{head}/world"), json!({"operations": operations})).await["node"]);
    let line = write_long_branch(&play, &change, 60).await;
    let leaf = line.last().unwrap();
    ask(format!("?path=/tale&leaf={leaf}")).await.expect_error("too_large");
    assert_eq!(ask(format!("?path=/tale&leaf={leaf}&limit=20")).await.status, 200);
}

/// S4-09, S4-03: every branch of a session is listed, named or not, newest first, with the node where it leaves the
/// current branch.
#[tokio::test]
async fn branches_list_newest_first_with_parting_node() {
    let play = ApiSession::start().await;
    let first = play.run_turn("One.").await;
    play.server.mock().queue_reply(Reply::ok(["<think>No.</think>Another\nday."]));
    let other = play.regenerate_and_wait(&first.reply).await;
    let deeper = write_long_branch(&play, &first.reply, 100).await;
    let beside = write_long_branch(&play, &deeper[79], 1).await;
    let listed = play.get("branches").await;
    let items = listed["items"].as_array().unwrap();
    let leaves: Vec<&str> = items.iter().map(|one| one["leafId"].as_str().unwrap()).collect();
    assert_eq!(leaves, [&beside[0], &deeper[99], &other]);
    assert_eq!(play.head().await, other);
    let of = |leaf: &str| items.iter().find(|one| one["leafId"] == leaf).unwrap();
    assert_eq!((&of(&other)["partingId"], &of(&other)["isTrunk"]), (&json!(other), &json!(true)));
    assert_eq!(of(&other)["preview"], "Another day.");
    for leaf in [&deeper[99], &beside[0]] {
        assert_eq!((&of(leaf)["partingId"], &of(leaf)["isTrunk"]), (&json!(first.user_node), &json!(false)), "{leaf}");
    }
    let node = play.get(&format!("node/{}", deeper[99])).await;
    assert_eq!((&of(&deeper[99])["depth"], &of(&deeper[99])["turns"]), (&node["depth"], &node["turn"]));
    assert_eq!(of(&deeper[99])["timestamp"], node["timestamp"]);
    assert_eq!(play.session().await["counts"]["branches"], leaves.len());

    // Pages, seen from inside another branch.
    play.checkout(&deeper[90], true).await;
    let mut paged = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = play.get(&format!("branches?limit=1{cursor}")).await;
        paged.extend(page["items"].as_array().unwrap().clone());
        let Some(next) = page["next"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    let partings: Vec<(&str, &str)> =
        paged.iter().map(|one| (one["leafId"].as_str().unwrap(), one["partingId"].as_str().unwrap())).collect();
    let expected = [(&beside[0], &deeper[79]), (&deeper[99], &deeper[90]), (&other, &first.user_node)];
    assert_eq!(partings, expected.map(|(leaf, parting)| (leaf.as_str(), parting.as_str())));
}

/// S4-09: a branch is listed and opened by its label, which follows appended messages. A second label is another name
/// for the same leaf.
#[tokio::test]
async fn branch_label_opens_branch_in_every_view() {
    let play = ApiSession::start().await;
    // Two branches with labels, and the list of branches.
    let first = play.run_turn("One.").await;
    let left = write_long_branch(&play, &first.reply, 3).await;
    let right = write_long_branch(&play, &first.reply, 2).await;
    let name = |node: &str, name: &str| json!({"op": "label", "nodeId": node, "name": name, "following": true});
    let edits = json!({"operations": [name(&left[2], "the left way"), name(&first.reply, "crossing")]});
    play.server.put(&play.chat_path("tree/edit"), &edits).await;
    let labels = |listed: &Value| -> Vec<(String, Vec<String>)> {
        let names = |one: &Value| {
            one["labels"].as_array().unwrap().iter().map(|label| label["name"].as_str().unwrap().to_owned()).collect()
        };
        listed["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (one["leafId"].as_str().unwrap().to_owned(), names(one)))
            .collect()
    };
    let expected = [(&right[1], None), (&left[2], Some("the left way")), (&first.reply, Some("crossing"))];
    let expected = expected.map(|(leaf, name)| (leaf.clone(), name.into_iter().map(str::to_owned).collect()));
    assert_eq!(labels(&play.get("branches").await), expected);

    // Every view of one branch takes a label instead of an id.
    let way = "label=the+left+way";
    assert_eq!(play.get(&format!("projection?{way}")).await["leafId"], json!(left[2]));
    assert_eq!(play.get(&format!("deltas?{way}")).await["leafId"], json!(left[2]));
    assert_eq!(play.get(&format!("line?{way}&format=json")).await["leafId"], json!(left[2]));
    let leaf = play.server.put(&play.chat_path("active_leaf"), &json!({"label": "the left way", "exact": true})).await;
    assert_eq!(leaf["leafId"], json!(left[2]));
    // The following label moves with an appended message.
    let grown = play.post("message", json!({"parentId": left[2], "content": "On."})).await;
    assert_eq!(play.get(&format!("projection?{way}")).await["leafId"], json!(id_of(&grown["node"])));

    // A removed label is not found, and another one names the same leaf.
    play.server
        .put(
            &play.chat_path("tree/edit"),
            &json!({"operations": [
                {"op": "unlabel", "name": "the left way"}, name(&id_of(&grown["node"]), "the east"),
            ]}),
        )
        .await;
    play.expect_error("GET", &format!("projection?{way}"), json!({}), "not_found").await;
    assert_eq!(play.get("projection?label=the+east").await["leafId"], json!(id_of(&grown["node"])));
    // A label and a node at once are refused, and so is neither.
    for query in [format!("projection?label=x&leaf={}", left[0]), format!("line?label=x&leaf={}", left[0])] {
        assert_eq!(play.expect_error("GET", &query, json!({}), "invalid").await["details"]["field"], "label");
    }
    let both = json!({"label": "the east", "nodeId": left[0]});
    assert_eq!(play.expect_error("PUT", "active_leaf", both, "invalid").await["details"]["field"], "label");
    assert_eq!(play.expect_error("PUT", "active_leaf", json!({}), "invalid").await["details"]["field"], "nodeId");
    play.expect_error("PUT", "active_leaf", json!({"label": "nobody"}), "not_found").await;
}
