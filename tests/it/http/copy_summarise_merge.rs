//! Copies of parts of a story, summaries of runs, and merges of branches.

use super::api_session::{ApiSession, ids_of, path_to_node};
use super::tree_edits::start_combat_session;
use super::*;

use diesel::connection::SimpleConnection;

/// C9, domain 2.10: a copy has its own ids and its provenance, with texts, dice, deltas, traces and metadata. The
/// original stays. Undo removes the copy, and redo restores the same one.
#[tokio::test]
async fn graft_copy_gets_new_ids_and_provenance() {
    let (play, said) = start_combat_session().await;
    let state = json!({"isEnabled": false, "rating": 4});
    play.server.put(&play.chat_path(&format!("node/{}/state", said[2].user_node)), &state).await;
    let before = play.comparable_tree().await;
    let copied = json!([{"op": "graft", "nodeId": said[1].user_node, "targetId": said[0].user_node, "mode": "copy"}]);
    let made = play.edit_tree(copied).await;
    let nodes = play.nodes().await;
    let (top, head) = (made["nodeIds"][0].as_str().unwrap().to_owned(), play.head().await);
    assert_eq!((head.as_str(), &nodes[&top]["parentId"]), (said[2].reply.as_str(), &json!(said[0].user_node)));
    let mut line = vec![top];
    while let Some(child) = nodes[line.last().unwrap()]["childrenIds"].as_array().unwrap().first() {
        line.push(child.as_str().unwrap().to_owned());
    }
    let originals = [&said[1].user_node, &said[1].reply, &said[2].user_node, &said[2].reply];
    assert_eq!(line.len(), originals.len());
    for (copy, original) in line.iter().zip(originals) {
        let (copy, original) = (&nodes[copy], &nodes[original]);
        for field in ["role", "kind", "content", "name", "isEnabled", "effects", "timestamp", "notes"] {
            assert_eq!(copy[field], original[field], "{field}");
        }
        assert_eq!(copy["metadata"]["rating"], original["metadata"]["rating"]);
        assert_eq!(copy["metadata"]["provenance"], json!({"sessionId": play.sid, "nodeId": original["id"]}));
        assert!(original["metadata"]["provenance"].is_null());
        assert!(line.contains(&id_of(copy)) && !line.contains(&id_of(original)));
    }
    assert_eq!(play.hp(&line[3]).await, 32, "40 - 5 - 3: the first bite is not above the copy");
    let trace = async |node: &str| play.get(&format!("node/{node}/trace")).await;
    let (copy, original) = (trace(&line[3]).await, trace(&said[2].reply).await);
    assert_eq!((&copy["params"], &copy["messages"]), (&original["params"], &original["messages"]));
    let sent = copy["history"].as_array().unwrap();
    assert!(sent.contains(&json!(line[0])) && sent.contains(&json!(said[0].reply)), "{sent:?}");
    let after = play.comparable_tree().await;
    assert_eq!(play.post("undo", json!({})).await["kind"], "graft");
    assert_eq!(play.comparable_tree().await, before);
    play.post("redo", json!({})).await;
    assert_eq!(play.comparable_tree().await, after);
    let below_itself =
        json!([{"op": "graft", "nodeId": said[0].user_node, "targetId": said[1].user_node, "mode": "copy"}]);
    play.expect_error("PUT", "tree/edit", json!({"operations": below_itself}), "cycle").await;
}

/// S4-53, domain 2.10: between two sessions of one owner a move is a copy there and a prune here, two steps that undo
/// separately. A copied fragment stays in its stash too. Unknown ids are named.
#[tokio::test]
async fn graft_move_between_sessions_is_copy_plus_cut() {
    let (play, said) = start_combat_session().await;
    let character = play.server.create_character(&json!({"name": "Aki", "firstMessage": "Hi."})).await;
    let other = id_of(&play.server.post("/api/sessions", &json!({"characterIds": [character]})).await);
    let there = format!("/api/chat/{other}");
    let target = play.server.get(&format!("/api/sessions/{other}")).await["activeLeafId"].clone();
    let graft = |mode: &str, what: &str, piece: &str| json!({"op": "graft", what: piece, "targetId": target, "mode": mode, "fromSessionId": play.sid});
    let edit = |one: Value| json!({"operations": [one]});
    // A move, and the undo of its two steps.
    let (here, before) =
        (play.comparable_tree().await, play.server.get(&format!("{there}/tree")).await["nodes"].clone());
    let made = play.server.put(&format!("{there}/tree/edit"), &edit(graft("move", "nodeId", &said[2].user_node))).await;
    let top = made["nodeIds"][0].as_str().unwrap();
    let moved = play.server.get(&format!("{there}/node/{top}")).await;
    assert_eq!((&moved["content"], &moved["parentId"]), (&json!("Three."), &target));
    assert_eq!(moved["metadata"]["provenance"], json!({"sessionId": play.sid, "nodeId": said[2].user_node}));
    assert_eq!(
        (play.head().await, play.get("stash").await["items"][0]["count"].clone()),
        (said[1].reply.clone(), json!(2))
    );
    assert_eq!(play.post("undo", json!({})).await["kind"], "prune");
    assert_eq!(play.comparable_tree().await, here);
    play.server.post(&format!("{there}/undo"), &json!({})).await;
    assert_eq!(play.server.get(&format!("{there}/tree")).await["nodes"], before);

    // A copied fragment stays in the stash.
    let cut = play.edit_tree(json!([{"op": "prune", "nodeId": said[1].user_node}])).await;
    let fragment = cut["fragmentIds"][0].as_str().unwrap();
    let made = play.server.put(&format!("{there}/tree/edit"), &edit(graft("copy", "fragmentId", fragment))).await;
    let top = made["nodeIds"][0].as_str().unwrap();
    assert_eq!(play.server.get(&format!("{there}/node/{top}")).await["content"], "Two.");
    assert_eq!(play.get("stash").await["items"].as_array().unwrap().len(), 1);

    // Unknown and foreign sources are named.
    let refused = async |one: Value, field: &str| {
        let error = play
            .server
            .request("PUT", &format!("{there}/tree/edit"))
            .json(&edit(one))
            .send()
            .await
            .expect_error("not_found");
        assert_eq!(error["details"]["field"], field, "{error}");
    };
    let stranger = play.server.create_other_user().await;
    for session in [json!(uuid::Uuid::from_u128(5)), json!(stranger.session.to_string())] {
        let mut foreign = graft("copy", "nodeId", &stranger.greeting.to_string());
        foreign["fromSessionId"] = session;
        refused(foreign, "fromSessionId").await;
    }
    let mut from_here = graft("copy", "nodeId", &said[0].user_node);
    from_here.as_object_mut().unwrap().shift_remove("fromSessionId");
    refused(from_here, "nodeId").await;
}

/// Domain 2.10: operations copied from another session apply under the rules in force here. Refused operations are
/// listed and change nothing. A copy within one session folds and lists nothing.
#[tokio::test]
async fn graft_copy_operations_refused_by_rules_are_listed() {
    let play = ApiSession::start().await;
    let (greeting, said) = (play.head().await, play.run_turn("One.").await);
    let odd = json!({"operations": [
        {"op": "set", "path": "/combat/hp", "value": "many"}, {"op": "add", "path": "/gold", "value": 3},
    ]});
    let odd = id_of(&play.post(&format!("node/{}/world", said.reply), odd).await["node"]);
    let here =
        play.edit_tree(json!([{"op": "graft", "nodeId": said.user_node, "targetId": greeting, "mode": "copy"}])).await;
    assert_eq!(here["refused"], json!([]));
    let character = play.server.create_character(&json!({"name": "Aki", "firstMessage": "Hi."})).await;
    let fighting = json!({"characterIds": [character], "plugins": [{"id": "combat"}]});
    let there = id_of(&play.server.post("/api/sessions", &fighting).await);
    let target = play.server.get(&format!("/api/sessions/{there}")).await["activeLeafId"].clone();
    let graft =
        json!({"op": "graft", "nodeId": said.user_node, "targetId": target, "mode": "copy", "fromSessionId": play.sid});
    let made = play.server.put(&format!("/api/chat/{there}/tree/edit"), &json!({"operations": [graft]})).await;
    let nodes = play.server.get(&format!("/api/chat/{there}/tree")).await["nodes"].clone();
    let copy = nodes.as_object().unwrap().values().find(|node| node["metadata"]["provenance"]["nodeId"] == json!(odd));
    let copy = id_of(copy.unwrap());
    let refused = made["refused"].as_array().unwrap();
    assert_eq!((refused.len(), &made["isCutShort"]), (1, &json!(false)), "{made}");
    assert_eq!((&refused[0]["nodeId"], &refused[0]["path"]), (&json!(copy), &json!("/combat/hp")));
    assert!(refused[0]["reason"].as_str().unwrap().contains("hp"), "{refused:?}");
    let world = play.server.get(&format!("/api/chat/{there}/node/{copy}/world")).await["world"]["vars"].clone();
    assert_eq!((&world["combat"]["hp"], &world["gold"]), (&json!(40), &json!(3)));
}

/// A later merge reads from an earlier one what it brought over. If that record is damaged, the merge is refused as
/// internal, and nothing counts twice.
#[tokio::test]
async fn merge_after_damaged_merge_returns_internal_error() {
    let (play, said) = start_combat_session().await;
    let side = play.run_turn_at(&said[0].reply, "Elsewhere.").await;
    let merge = |onto: &str| json!({"operations": [{"op": "merge", "fromLeafId": side.reply, "ontoLeafId": onto}]});
    let made = play.server.put(&play.chat_path("tree/edit"), &merge(&said[2].reply)).await;
    let merged = made["nodeIds"][0].as_str().unwrap().to_owned();
    play.expect_error("PUT", "tree/edit", merge(&merged), "conflict").await;
    let database = play.server.app().home().join("data/clotho.db");
    let damage = format!(
        "UPDATE texts SET metadata = '{{' WHERE n = (SELECT n FROM nodes WHERE id = x'{}')",
        merged.replace('-', "")
    );
    let mut sql = crate::support::open_second_connection(&database);
    sql.batch_execute(&damage).unwrap();
    let op = play.session().await["op"].clone();
    play.expect_error("PUT", "tree/edit", merge(&merged), "internal").await;
    assert_eq!(play.session().await["op"], op);
}

/// S4-23, S4-30, domain 2.12: a summary follows its run, and the later messages follow the summary. The run leaves the
/// prompt and its effects stay. Branches that leave the run early are reported, and undo restores everything.
#[tokio::test]
async fn summarise_replaces_run_in_prompt_and_keeps_effects() {
    let (play, said) = start_combat_session().await;
    let side = play.run_turn_at(&said[0].reply, "Elsewhere.").await;
    play.checkout(&said[2].reply, true).await;
    let before = play.comparable_tree().await;
    let run = json!([said[1].user_node, said[0].reply, said[0].user_node]);
    let made = play.edit_tree(json!([{"op": "summarise", "nodeIds": run, "content": "They fought."}])).await;
    let summary = made["nodeIds"][0].as_str().unwrap().to_owned();
    assert_eq!(made["affected"], json!({"leafIds": [side.reply], "count": 1}));
    let nodes = play.nodes().await;
    let node = &nodes[&summary];
    assert_eq!(
        (&node["kind"], &node["role"], &node["content"]),
        (&json!("summary"), &json!("system"), &json!("They fought."))
    );
    assert_eq!(node["metadata"]["summarizedFrom"], json!([said[0].user_node, said[0].reply, said[1].user_node]));
    let line = path_to_node(&nodes, &said[2].reply);
    let after = line.iter().skip_while(|id| **id != said[1].user_node).cloned().collect::<Vec<_>>();
    assert_eq!(
        after,
        [&said[1].user_node, &summary, &said[1].reply, &said[2].user_node, &said[2].reply].map(Clone::clone)
    );
    assert_eq!((play.head().await, play.hp(&said[2].reply).await), (said[2].reply.clone(), json!(25)));
    assert!(
        !nodes[&said[0].user_node]["isEnabled"].as_bool().unwrap()
            && nodes[&said[1].reply]["isEnabled"].as_bool().unwrap()
    );

    let asked = play.server.mock().requests().len();
    play.run_turn("Four.").await;
    let prompt = play.server.mock().requests()[asked]["messages"].to_string();
    assert!(prompt.contains("They fought.") && !prompt.contains("One.") && prompt.contains("Three."), "{prompt}");
    for kind in ["message", "summarise"] {
        assert_eq!(play.post("undo", json!({})).await["kind"], kind);
    }
    assert_eq!(play.comparable_tree().await, before);

    let gap =
        json!({"operations": [{"op": "summarise", "nodeIds": [said[0].user_node, said[1].user_node], "content": "x"}]});
    let error = play.expect_error("PUT", "tree/edit", gap, "invalid").await;
    assert_eq!((&error["details"]["field"], &error["details"]["operation"]), (&json!("nodeIds"), &json!(0)));
    let empty = json!({"operations": [{"op": "summarise", "nodeIds": [said[0].user_node], "content": " "}]});
    play.expect_error("PUT", "tree/edit", empty, "invalid").await;
    let at_head = play.edit_tree(json!([{"op": "summarise", "nodeIds": [said[2].reply], "content": "The end."}])).await;
    assert_eq!(json!(play.head().await), at_head["nodeIds"][0], "HEAD on the last of the run goes to the summary");
}

/// S4-59, domain 2.13: merged effects count once, however they arrive again: back to their own branch, through a third
/// branch, or message by message. What both branches share is no conflict.
#[tokio::test]
async fn merge_repeated_applies_each_effect_once() {
    let (play, said) = start_combat_session().await;
    let gold = async |node: &str, amount: i64| {
        let operations = json!([{"op": "add", "path": "/gold", "value": amount}]);
        id_of(&play.post(&format!("node/{node}/world"), json!({"operations": operations})).await["node"])
    };
    let place = async |node: &str, name: &str| {
        let operations = json!([{"op": "set", "path": "/place", "value": name}]);
        id_of(&play.post(&format!("node/{node}/world"), json!({"operations": operations})).await["node"])
    };
    let merge = async |from: &str, onto: &str, nodes: Value| {
        let edit = json!({"op": "merge", "fromLeafId": from, "ontoLeafId": onto, "nodeIds": nodes});
        play.edit_tree(json!([edit])).await["nodeIds"][0].as_str().unwrap().to_owned()
    };
    let has = async |node: &str| {
        let vars = play.get(&format!("node/{node}/world")).await["world"]["vars"].clone();
        (vars["gold"].clone(), vars["place"].clone())
    };
    let spoken = play.run_turn_at(&said[1].reply, "Look, a purse.").await;
    let theirs = place(&gold(&spoken.reply, 100).await, "wood").await;
    let ours = gold(&said[2].reply, 10).await;

    // Back and forth: only what is new since then comes back.
    let merged = merge(&theirs, &ours, json!([])).await;
    let ours = gold(&merged, 1).await;
    assert_eq!(has(&ours).await, (json!(111), json!("wood")));
    let on = place(&gold(&theirs, 1000).await, "hill").await;
    let back = merge(&ours, &on, json!([])).await;
    assert_eq!(has(&back).await, (json!(1111), json!("hill")), "their own place is no conflict with what came from it");
    let once_more = json!({"operations": [{"op": "merge", "fromLeafId": on, "ontoLeafId": back}]});
    play.expect_error("PUT", "tree/edit", once_more, "conflict").await;
    let again = merge(&back, &ours, json!([])).await;
    assert_eq!(has(&again).await, (json!(1111), json!("hill")));

    // Through a third branch.
    let third = gold(&said[0].reply, 10_000).await;
    let third = merge(&again, &third, json!([])).await;
    let known = json!({"operations": [{"op": "merge", "fromLeafId": on, "ontoLeafId": third}]});
    let error = play.expect_error("PUT", "tree/edit", known, "conflict").await;
    assert!(error["message"].as_str().unwrap().contains("already"), "{error}");

    // Message by message, then the rest, and then only texts, whose effects are already here.
    let fourth = gold(&said[0].user_node, 5).await;
    let some = merge(&spoken.reply, &fourth, json!([spoken.user_node, spoken.reply])).await;
    let rest = merge(&theirs, &some, json!([])).await;
    let carried = play.nodes().await[&rest]["metadata"]["mergedNodes"].clone();
    let carries = |node: &String| carried.as_array().unwrap().iter().any(|one| one["nodeId"] == json!(node));
    assert!(carries(&theirs) && !carries(&spoken.user_node) && !carries(&spoken.reply), "{carried}");
    let before = has(&rest).await;
    let read = merge(&theirs, &rest, json!([spoken.user_node])).await;
    assert_eq!((has(&read).await, play.nodes().await[&read]["content"].clone()), (before, json!("Look, a purse.")));
}

/// S4-59, domain 2.13: a merge of a merge brings only what is missing here, as it was there. This holds with partial
/// overlaps, resolved conflicts, and effects that were muted during the first merge.
#[tokio::test]
async fn merge_of_merge_brings_only_missing_parts() {
    let (play, said) = start_combat_session().await;
    let does = async |node: &str, operations: Value| {
        id_of(&play.post(&format!("node/{node}/world"), json!({"operations": operations})).await["node"])
    };
    let merge = async |from: &str, onto: &str, resolve: Value| {
        let edit = json!({"op": "merge", "fromLeafId": from, "ontoLeafId": onto, "resolve": resolve});
        play.edit_tree(json!([edit])).await["nodeIds"][0].as_str().unwrap().to_owned()
    };
    let vars = async |node: &str| play.get(&format!("node/{node}/world")).await["world"]["vars"].clone();
    let add = |path: &str| json!([{"op": "add", "path": path, "value": 1}]);
    let top = &said[0].reply;

    let one = does(top, add("/a")).await;
    let two = does(&one, add("/b")).await;
    let other = does(top, add("/c")).await;
    let both = merge(&two, &other, json!({})).await;
    let back = vars(&merge(&both, &one, json!({})).await).await;
    assert_eq!((&back["a"], &back["b"], &back["c"]), (&json!(1), &json!(1), &json!(1)));

    let set = |value: &str| json!([{"op": "set", "path": "/s", "value": value}]);
    for (resolution, holds) in [(json!("theirs"), "V"), (json!("ours"), "Q"), (json!("third"), "third")] {
        let (v, q) = (does(top, set("V")).await, does(top, set("Q")).await);
        let settled = merge(&v, &q, json!({"/s": resolution})).await;
        assert_eq!(vars(&settled).await["s"], json!(holds));
        let back = merge(&settled, &v, json!({})).await;
        assert_eq!(vars(&back).await["s"], json!(holds), "what was settled there holds here");
    }

    let quiet = does(top, add("/m")).await;
    let loud = does(&quiet, add("/n")).await;
    let state = play.chat_path(&format!("node/{quiet}/state"));
    play.server.put(&state, &json!({"effects": "muted"})).await;
    let onto = does(top, add("/o")).await;
    let some = merge(&loud, &onto, json!({})).await;
    play.server.put(&state, &json!({"effects": "on"})).await;
    let rest = vars(&merge(&loud, &some, json!({})).await).await;
    assert_eq!((&rest["m"], &rest["n"], &rest["o"]), (&json!(1), &json!(1), &json!(1)));
}

/// S4-30, domain 2.7: an edited summary covers the same messages, and what follows continues below it.
#[tokio::test]
async fn summary_edit_covers_the_same_messages() {
    let (play, said) = start_combat_session().await;
    let run = json!([said[0].user_node, said[0].reply]);
    let made = play.edit_tree(json!([{"op": "summarise", "nodeIds": run, "content": "They fought."}])).await;
    let summary = made["nodeIds"][0].as_str().unwrap();
    let edited = json!({"content": "They fought bravely.", "carry": true});
    let other = play.post(&format!("node/{summary}/edit"), edited).await["node"].clone();
    assert_eq!((&other["kind"], &other["metadata"]["summarizedFrom"]), (&json!("summary"), &run));
    let nodes = play.nodes().await;
    assert_eq!(nodes[&said[1].user_node]["parentId"], other["id"]);
}

/// C9, S4-59, domain 2.13: a merge without messages brings over the effects, and conflicting values need a resolution.
/// Chosen messages come as copies. No node has two parents, and HEAD moves along.
#[tokio::test]
async fn merge_combines_branches_and_reports_conflicts() {
    // Two branches that set the same value.
    let (play, said) = start_combat_session().await;
    let change = async |node: &str, operations: Value| {
        let made = play.post(&format!("node/{node}/world"), json!({"operations": operations})).await;
        id_of(&made["node"])
    };
    let ours = change(&said[1].reply, json!([{"op": "set", "path": "/place", "value": "town"}])).await;
    play.checkout(&ours, true).await;
    let values = json!([
        {"op": "set", "path": "/place", "value": "wood"}, {"op": "set", "path": "/lamp", "value": true},
    ]);
    let theirs = change(&said[2].reply, values).await;
    play.checkout(&ours, true).await;
    let before = play.comparable_tree().await;
    let merge = |more: Value| {
        let mut edit = json!({"op": "merge", "fromLeafId": theirs, "ontoLeafId": ours});
        edit.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"operations": [edit]})
    };
    // Without a resolution the merge is refused, and so is a needless resolution.
    let error = play.expect_error("PUT", "tree/edit", merge(json!({})), "conflict").await;
    let conflicts = &error["details"]["conflicts"];
    assert_eq!((conflicts.as_array().unwrap().len(), &conflicts[0]["path"]), (1, &json!("/place")), "{conflicts}");
    assert_eq!(
        (&conflicts[0]["theirs"][0]["value"], &conflicts[0]["ours"][0]["value"]),
        (&json!("wood"), &json!("town"))
    );
    let needless = merge(json!({"resolve": {"/place": "ours", "/lamp": "ours"}}));
    assert_eq!(play.expect_error("PUT", "tree/edit", needless, "invalid").await["details"]["field"], "resolve");
    assert_eq!(play.comparable_tree().await, before);

    // Each kind of resolution.
    let world = async |node: &str| play.get(&format!("node/{node}/world")).await["world"]["vars"].clone();
    let plainly = |value: Value| json!({"value": value});
    for (resolution, place) in [
        (json!("ours"), json!("town")),
        (json!("theirs"), json!("wood")),
        (json!("sea"), json!("sea")),
        (plainly(json!("theirs")), json!("theirs")),
        (plainly(json!("ours")), json!("ours")),
        (plainly(plainly(json!(1))), plainly(json!(1))),
        (json!({"value": 1, "unit": "m"}), json!({"value": 1, "unit": "m"})),
    ] {
        let merged = merge(json!({"resolve": {"/place": resolution}}));
        let made = play.server.put(&play.chat_path("tree/edit"), &merged).await;
        let result = made["nodeIds"][0].as_str().unwrap().to_owned();
        assert_eq!(play.head().await, result);
        let vars = world(&result).await;
        assert_eq!((&vars["place"], &vars["lamp"], &vars["combat"]["hp"]), (&place, &json!(true), &json!(25)));
        let node = play.get(&format!("node/{result}")).await;
        assert_eq!((&node["kind"], &node["content"], &node["parentId"]), (&json!("merge"), &json!(""), &json!(ours)));
        assert_eq!(node["metadata"]["mergedFrom"], json!(theirs));
        let again = json!({"operations": [{"op": "merge", "fromLeafId": theirs, "ontoLeafId": result}]});
        let error = play.expect_error("PUT", "tree/edit", again, "conflict").await;
        assert!(error["message"].as_str().unwrap().contains("already"), "it would count twice: {error}");
        assert_eq!(play.post("undo", json!({})).await["kind"], "merge");
        assert_eq!(play.comparable_tree().await, before);
    }

    let made = play
        .server
        .put(&play.chat_path("tree/edit"), &merge(json!({"nodeIds": [said[2].user_node, said[2].reply]})))
        .await;
    let result = made["nodeIds"][0].as_str().unwrap().to_owned();
    let line = play.get("projection").await["items"].clone();
    let shown = ids_of(&line);
    assert_eq!((shown.last(), play.head().await), (Some(&result), result.clone()));
    let copies = line.as_array().unwrap().iter().rev().take(2).rev().collect::<Vec<_>>();
    for (copy, original) in copies.iter().zip([&said[2].user_node, &said[2].reply]) {
        assert_eq!(copy["metadata"]["provenance"]["nodeId"], json!(original));
        assert_eq!(copy["metadata"]["mergedFrom"], json!(theirs));
    }
    assert_eq!(
        (world(&result).await["combat"]["hp"].clone(), world(&result).await["place"].clone()),
        (json!(25), json!("town"))
    );
    let again = json!({"operations": [{"op": "merge", "fromLeafId": said[0].user_node, "ontoLeafId": result}]});
    play.expect_error("PUT", "tree/edit", again, "conflict").await;
}
