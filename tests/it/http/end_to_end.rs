//! One story from beginning to end, only with what a client has.

use super::api_session::{ApiSession, ids_of};
use super::*;

/// Returns the hit points at a node.
async fn hp(play: &ApiSession, node: &str) -> Value {
    play.get(&format!("node/{node}/world")).await["world"]["vars"]["combat"]["hp"].clone()
}

/// S0-49, S3-02, S3-03, S1-19, S1-20: a story with a character and rules. It has a turn that costs hit points, a reroll
/// that does not, an edit with carry, a checkout, a manual change and a search.
#[tokio::test]
async fn end_to_end_story_with_edits_and_search() {
    let play =
        ApiSession::start_with(TestApp::setup(), json!({"plugins": [{"id": "combat"}], "title": "The ogre"})).await;
    let greeting = play.head().await;
    assert_eq!(play.get("projection").await["items"][0]["content"], "Hello.");
    assert_eq!(hp(&play, &greeting).await, 40);

    // A message, its reply piece by piece, and the damage.
    let mut socket = play.server.open_socket(&play.sid, None).await;
    play.server.mock().queue_reply(Reply::ok(["The ogre ", "hits. ", "[HP -12]"]).usage(20, 7));
    let first = play.run_turn("I swing.").await;
    let frames = socket.read_until_type("node.completed").await;
    let end = frames.last().unwrap();
    assert_eq!(end["worldDelta"]["changes"], json!([{"path": "/combat/hp", "before": 40, "after": 28}]));
    assert_eq!((hp(&play, &first.user_node).await, hp(&play, &first.reply).await), (json!(40), json!(28)));

    // A reroll without the damage.
    play.server.mock().queue_reply(Reply::ok(["It misses."]));
    let second = play.regenerate_and_wait(&first.reply).await;
    assert_eq!((play.head().await, hp(&play, &second).await), (second.clone(), json!(40)));
    let shown = play.get("projection").await["items"][2].clone();
    assert_eq!((&shown["siblings"]["index"], &shown["siblings"]["count"]), (&json!(1), &json!(2)));

    // A corrected typo keeps the following messages.
    let edit = json!({"content": "I swing my axe.", "carry": true});
    let mended = id_of(&play.post(&format!("node/{}/edit", first.user_node), edit).await["node"]);
    assert_eq!(play.projection_ids(&second).await, [greeting.clone(), mended.clone(), second.clone()]);
    assert_eq!(play.get(&format!("node/{}", first.user_node)).await["childrenIds"], json!([]));
    assert_eq!((play.head().await, hp(&play, &first.reply).await), (second.clone(), json!(28)));

    // Back to exactly the damaged branch, and a manual potion.
    assert_eq!(play.checkout(&first.reply, true).await, first.reply);
    let operations = json!([{"op": "add", "path": "/combat/hp", "value": 5, "why": "a gift"}]);
    let changed = play.post(&format!("node/{}/world", first.reply), json!({"operations": operations})).await;
    let change = id_of(&changed["node"]);
    assert_eq!((&changed["node"]["kind"], play.head().await), (&json!("change"), change.clone()));
    assert_eq!((hp(&play, &change).await, hp(&play, &first.reply).await), (json!(33), json!(28)));
    assert_eq!(play.projection_ids(&change).await, [greeting, mended.clone(), first.reply.clone()], "it is hidden");
    let all = play.get("projection?all=1").await;
    assert!(ids_of(&all["items"]).contains(&change));

    // The delta and the trace explain it.
    let delta = play.get(&format!("node/{}/delta", first.reply)).await;
    assert_eq!(
        (&delta["operations"][0]["path"], &delta["operations"][0]["value"]),
        (&json!("/combat/hp"), &json!(-12))
    );
    assert_eq!(delta["rules"][0]["plugin"], "combat");
    let trace = play.get(&format!("node/{}/trace", first.reply)).await;
    let sent = play.server.mock().requests()[0]["messages"].clone();
    assert_eq!((&trace["messages"], &trace["isExact"]), (&sent, &json!(true)));
    assert_eq!(trace["usage"], json!({"prompt": 20, "completion": 7}));
    let (begun, total) =
        (trace["timings"]["firstToken"].as_u64().unwrap(), trace["timings"]["total"].as_u64().unwrap());
    assert!(begun > 0 && total > begun, "{trace}");
    let whole = play.get(&format!("node/{}?expand=world,delta,trace", first.reply)).await;
    assert_eq!((&whole["delta"], &whole["trace"]), (&delta, &trace));
    assert_eq!(whole["world"]["vars"]["combat"]["hp"], 28);
    assert_eq!(whole["schemas"][0]["plugin"], "combat");

    // The search finds all branches, and each hit leads to its branch.
    let found = search_until(&play.server, "misses", 1).await;
    let hit = &found["items"][0];
    assert_eq!(
        (&hit["nodeId"], &hit["onTrunk"], &hit["sessionTitle"]),
        (&json!(second), &json!(false), &json!("The ogre"))
    );
    let text: Vec<u16> = hit["snippet"]["text"].as_str().unwrap().encode_utf16().collect();
    let mark = |n: usize| usize::try_from(hit["snippet"]["marks"][0][n].as_u64().unwrap()).unwrap();
    assert_eq!(String::from_utf16(&text[mark(0)..mark(1)]).unwrap(), "misses");
    assert_eq!(play.checkout(&second, false).await, second);
    let here = play.server.get("/api/search?q=misses&where=trunk").await;
    assert_eq!(here["items"].as_array().unwrap().len(), 1);
    assert_eq!(play.server.get("/api/search?q=misses&where=off-trunk").await["items"], json!([]));
    let mended_hit = search_until(&play.server, "axe", 1).await;
    assert_eq!(mended_hit["items"][0]["nodeId"], json!(mended));
}

/// Plugins offer commands, quick replies, notes and their own refusals, and can be disabled from here on.
#[tokio::test]
async fn plugin_commands_quick_replies_and_notes_are_served() {
    let play = ApiSession::start_with(TestApp::setup(), json!({"plugins": [{"id": "combat"}]})).await;
    let commands = play.get("commands").await;
    assert!(commands.as_array().unwrap().iter().any(|command| command["name"] == "roll"), "{commands}");
    let send = |replies: &Value| -> Vec<String> {
        replies["quickReplies"].as_array().unwrap().iter().map(|one| one["send"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(send(&play.get("projection").await), ["/roll 1d20"]);
    play.server.mock().queue_reply(Reply::ok(["It bites. [HP -9]"]));
    let said = play.run_turn("I wait.").await;
    let line = play.get("projection").await;
    assert_eq!(send(&line), ["/drink", "/roll 1d20"]);
    let notes = line["items"][2]["notes"].as_array().unwrap();
    assert!(notes[0]["plugin"] == "combat" && notes[0]["text"].as_str().unwrap().contains("31"), "{notes:?}");
    let told = play.run_turn("/hp").await;
    let reply = play.get(&format!("node/{}", told.reply)).await;
    assert_eq!(reply["metadata"]["model"], "plugin:combat");
    assert!(reply["content"].as_str().unwrap().contains("31"), "{reply}");
    assert_eq!(play.server.mock().requests().len(), 1, "no model was asked");
    let set = play.server.put(&format!("/api/sessions/{}/plugins", play.sid), &json!([])).await;
    assert_eq!(set["plugins"], json!([]));
    play.server.mock().queue_reply(Reply::ok(["It bites again. [HP -9]"]));
    let after = play.run_turn("I wait.").await;
    assert_eq!((hp(&play, &after.reply).await, hp(&play, &said.reply).await), (json!(31), json!(31)));
    assert!(send(&play.get("projection").await).is_empty());
}

/// A failed reply reports its error and can be retried. A cancelled one keeps its text.
#[tokio::test]
async fn failed_reply_reports_error_and_can_be_retried() {
    let play = ApiSession::start().await;
    play.server.mock().set_default_reply(Reply::error(400, "the model is out of order"));
    let failed = play.run_turn("Hi.").await;
    let node = play.get(&format!("node/{}", failed.reply)).await;
    assert_eq!(node["status"], "error");
    let error = &node["metadata"]["error"];
    assert!(error["message"].as_str().unwrap().contains("out of order") && error["hint"].is_string(), "{error}");
    assert_eq!(play.head().await, failed.user_node, "HEAD waits where a retry makes sense");
    play.server.mock().set_default_reply(Reply::ok(["Half"]).then_stall());
    let running = id_of(&play.post(&format!("node/{}/reroll", failed.reply), json!({})).await["generations"][0]);
    let mut socket = play.server.open_socket(&play.sid, None).await;
    socket.send(&json!({"type": "ping"})).await;
    socket.read_until_type("pong").await;
    loop {
        let so_far = play.get(&format!("node/{running}")).await;
        if so_far["content"] == "Half" {
            assert_eq!(so_far["metadata"]["phase"], "streaming");
            break;
        }
        tokio::task::yield_now().await;
    }
    let stopped =
        play.server.request("POST", &play.chat_path(&format!("node/{running}/cancel"))).send().await.expect(202);
    assert_eq!(id_of(&stopped), running);
    let node = play.wait_for_reply(&running).await;
    assert_eq!((&node["status"], &node["content"]), (&json!("complete"), &json!("Half")));
    assert_eq!(
        (&node["metadata"]["isTruncated"], &node["metadata"]["finishReason"]),
        (&json!(true), &json!("cancelled"))
    );
    play.server
        .request("POST", &play.chat_path(&format!("node/{running}/cancel")))
        .send()
        .await
        .expect_error("conflict");
    assert_eq!(play.head().await, running);
}
