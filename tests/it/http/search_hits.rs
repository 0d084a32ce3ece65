//! Search over HTTP: which hits are found, how many, and searches while typing.

use clotho_core::ids::NodeId;
use clotho_core::oplog::OperationKind;
use clotho_core::tree::{Kind, Role};
use clotho_store::{Actor, MessageWrite, NodeDraft};

use super::api_session::ApiSession;
use super::*;

/// The index does not know the place in the tree, so hits are filtered until the page is full. The total says whether
/// all hits were counted.
#[tokio::test]
async fn search_trunk_filter_finds_low_ranked_hit() {
    const BETTER: usize = 2_300;
    let play = ApiSession::start().await;
    let (parent, app) = (play.head().await, play.server.app());
    let now = app.clock.now();
    let better = |_| NodeDraft {
        content: "fog fog fog".to_owned(),
        ..NodeDraft::new(NodeId::new(app.ids.next_id(now)), Role::User, Kind::Message, 1, now)
    };
    let message = MessageWrite {
        session: play.sid.parse().unwrap(),
        parent: parent.parse().unwrap(),
        rules_change: None,
        draft: None,
        move_children_from: None,
        replies: (0..BETTER).map(better).collect(),
        move_head: false,
        kind: OperationKind::Message,
    };
    let actor = Actor { user: app.owner, at: now, expected_leaf: None };
    app.store.write(move |tx| tx.add_message(&actor, &message)).await.unwrap();
    let long = format!("One patch of fog, {}", "far away and hardly seen, ".repeat(40));
    let worst = id_of(&play.post("message", json!({"parentId": parent, "content": long})).await["node"]);
    search_until(&play.server, "patch", 1).await;
    let total = |value: usize, exact: bool| json!({"value": value, "exact": exact});
    let trunk = play.server.get("/api/search?q=fog&where=trunk&limit=5").await;
    assert_eq!((hit_node_ids(&trunk), &trunk["total"]), (vec![worst.clone()], &total(1, true)));
    let off = play.server.get("/api/search?q=fog&where=off-trunk&limit=500").await;
    let found = hit_node_ids(&off);
    assert!(found.len() == 500 && !found.contains(&worst));
    assert!(off["total"]["value"].as_u64().unwrap() >= 500 && off["total"]["exact"] == false, "{}", off["total"]);
    let all = play.server.get("/api/search?q=fog&limit=5").await;
    assert_eq!((hit_node_ids(&all).len(), &all["total"]), (5, &total(BETTER + 1, true)));
    assert_eq!(play.server.get("/api/search?q=fog&where=stash").await["total"], total(0, true));
    let last = play.server.get(&format!("/api/search?q=fog&session={}&after=2999-01-01T00:00:00Z", play.sid)).await;
    assert_eq!((&last["items"], &last["total"]), (&json!([]), &total(0, true)));
}

/// The search finds what readers see and no machine blocks. Changed tag settings rebuild the index.
#[tokio::test]
async fn search_skips_hidden_tags_and_reindexes_on_change() {
    let play = ApiSession::start().await;
    let text = "<think>zanzibar</think>A harbour. <UpdateVariable>_.set('quagga', 1);</UpdateVariable>";
    play.server.mock().queue_reply(Reply::ok([text]));
    let said = play.run_turn("Where are <think>we, and this okapi?</think>").await;
    let mine = play.get(&format!("node/{}", said.user_node)).await;
    assert_eq!(mine["display"], Value::Null, "what people write is shown as it stands");
    assert_eq!(hit_node_ids(&search_until(&play.server, "okapi", 1).await), [said.user_node]);
    let found = search_until(&play.server, "harbour", 1).await;
    assert_eq!(hit_node_ids(&found), [said.reply.as_str()]);
    assert_eq!(found["items"][0]["snippet"]["text"], "A harbour.");
    for hidden in ["zanzibar", "quagga"] {
        assert_eq!(play.server.get(&format!("/api/search?q={hidden}")).await["items"], json!([]), "{hidden}");
    }
    let ApiSession { server: app, sid: _ } = play;
    let app = TestServer::start_with(app.stop().await.set("generation.hide_tags", "[\"think\"]")).await;
    assert_eq!(hit_node_ids(&search_until(&app, "quagga", 1).await), [said.reply]);
    assert_eq!(app.get("/api/search?q=zanzibar").await["items"], json!([]));
}

/// A search while typing accepts an unclosed quotation mark. An unknown field is refused with the list of known ones.
#[tokio::test]
async fn search_accepts_unclosed_quote_and_explains_bad_field() {
    let play = ApiSession::start().await;
    let parent = play.head().await;
    let node = id_of(&play.post("message", json!({"parentId": parent, "content": "The red lantern."})).await["node"]);
    search_until(&play.server, "lantern", 1).await;
    for q in ["%22red", "%22red%20lantern", "red%20%22lantern", "lantern%20-%22green", "name:%22You"] {
        assert_eq!(hit_node_ids(&play.server.get(&format!("/api/search?q={q}")).await), [node.as_str()], "{q}");
    }
    for (q, word) in [("lantern%20hp:%3C20", "the state has no values"), ("mood:sad", "\"mood:\"")] {
        let error = play.server.request("GET", &format!("/api/search?q={q}")).send().await.expect_error("invalid");
        let message = error["message"].as_str().unwrap();
        for word in [word, "words", "phrases", "role:user", "name:Rin"] {
            assert!(message.contains(word), "{message}");
        }
        assert!(error["details"]["at"].is_u64(), "{error}");
    }
}

fn hit_node_ids(found: &Value) -> Vec<String> {
    found["items"].as_array().unwrap().iter().map(|hit| hit["nodeId"].as_str().unwrap().to_owned()).collect()
}

/// S4-17, S4-09: hits in the stash are found and marked, also after a rebuild of the index. Undone messages are not
/// found. A label narrows a search to its branch.
#[tokio::test]
async fn search_marks_stash_hits_and_skips_undone_messages() {
    // Four messages, of which two are pruned.
    let play = ApiSession::start().await;
    let write = |parent: String, content: &'static str| {
        let body = json!({"parentId": parent, "content": content});
        let play = &play;
        async move { id_of(&play.post("message", body).await["node"]) }
    };
    let head = play.head().await;
    let kept = write(head.clone(), "A kept lantern.").await;
    let cut = write(head.clone(), "A cut lantern.").await;
    let below = write(cut.clone(), "A deep lantern.").await;
    let trunk = write(kept.clone(), "A last lantern.").await;
    search_until(&play.server, "lantern", 4).await;
    let edits = json!({"operations": [
        {"op": "prune", "nodeId": cut, "name": "Rejected"},
        {"op": "label", "nodeId": kept, "name": "the keep"},
    ]});
    let made = play.server.put(&play.chat_path("tree/edit"), &edits).await;
    let search = |rest: &'static str| {
        let app = &play.server;
        async move {
            let found = app.get(&format!("/api/search?q=lantern{rest}")).await;
            let mut ids = hit_node_ids(&found);
            ids.sort();
            ids
        }
    };
    let sorted = |ids: &[&String]| {
        let mut ids: Vec<String> = ids.iter().map(|id| (*id).clone()).collect();
        ids.sort();
        ids
    };
    // Searches by place and label.
    assert_eq!(search("").await, sorted(&[&kept, &cut, &below, &trunk]));
    assert_eq!(search("&where=stash").await, sorted(&[&cut, &below]));
    assert_eq!(search("&where=trunk").await, sorted(&[&kept, &trunk]));
    assert_eq!(search("&where=off-trunk").await, sorted(&[]));
    assert_eq!(search("&label=the+keep").await, sorted(&[&kept]));
    assert_eq!(search("&label=nobody").await, sorted(&[]));
    let found = play.server.get("/api/search?q=lantern&where=stash").await;
    for hit in found["items"].as_array().unwrap() {
        assert_eq!([&hit["stashed"], &hit["fragmentId"]], [&json!(true), &made["fragmentIds"][0]], "{hit}");
    }
    let hit = &play.server.get("/api/search?q=kept").await["items"][0];
    assert_eq!([&hit["stashed"], &hit["fragmentId"]], [&json!(false), &Value::Null]);

    // After an undo of the edits the stash is empty, and an undone message is not found.
    play.post("undo", json!({})).await;
    assert_eq!(search("&where=stash").await, sorted(&[]));
    play.post("redo", json!({})).await;
    let gone = write(trunk.clone(), "A gone lantern.").await;
    search_until(&play.server, "gone", 1).await;
    play.post("undo", json!({})).await;
    assert!(!search("").await.contains(&gone));
    // A rebuilt index finds the same.
    let ApiSession { server: app, sid: _ } = play;
    let app = TestServer::start_with(app.stop().await.set("generation.hide_tags", "[\"other\"]")).await;
    search_until(&app, "lantern", 4).await;
    let mut again = hit_node_ids(&app.get("/api/search?q=lantern").await);
    again.sort();
    assert_eq!(again, sorted(&[&kept, &cut, &below, &trunk]));
    assert_eq!(hit_node_ids(&app.get("/api/search?q=deep&where=stash").await), [below]);
}

/// S4-55: the search can filter by rating. With a filter it needs no words, and the newest hits come first.
#[tokio::test]
async fn search_by_rating_without_words_sorts_newest_first() {
    let play = ApiSession::start().await;
    let head = play.head().await;
    let mut nodes = Vec::new();
    for stars in [None, Some(2), Some(4), Some(5)] {
        let node = id_of(&play.post("message", json!({"parentId": head, "content": "A star."})).await["node"]);
        if let Some(stars) = stars {
            play.server.put(&play.chat_path(&format!("node/{node}/state")), &json!({"rating": stars})).await;
        }
        nodes.push(node);
    }
    search_until(&play.server, "star", 4).await;
    let found = play.server.get("/api/search?q=star&rating=4").await;
    let found: Vec<(&str, i64)> = found["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| (hit["nodeId"].as_str().unwrap(), hit["rating"].as_i64().unwrap()))
        .collect();
    assert_eq!(found.len(), 2);
    assert!(found.contains(&(&nodes[2], 4)) && found.contains(&(&nodes[3], 5)), "{found:?}");
    for (narrowed, count) in
        [("rating=2", 3), ("q=%20&rating=5", 1), (&format!("session={}&where=trunk&role=user", play.sid), 1)]
    {
        let found = play.server.get(&format!("/api/search?{narrowed}")).await;
        let times: Vec<&str> =
            found["items"].as_array().unwrap().iter().map(|hit| hit["timestamp"].as_str().unwrap()).collect();
        assert_eq!((times.len(), found["total"]["value"].as_u64()), (count, Some(count as u64)), "{narrowed}: {found}");
        assert!(times.is_sorted_by(|newer, older| newer >= older), "{times:?}");
    }
    for nothing in ["", "q=", "q=&where=all"] {
        let error = play.server.request("GET", &format!("/api/search?{nothing}")).send().await.expect_error("invalid");
        assert_eq!(error["details"]["field"], "q", "{nothing}");
    }
    for bad in ["0", "6", "many"] {
        let error = play
            .server
            .request("GET", &format!("/api/search?q=star&rating={bad}"))
            .send()
            .await
            .expect_error("invalid");
        assert_eq!(error["details"]["field"], "rating");
    }
}
