//! Clock jumps: back a day, forward a year, back ten years and before the epoch. Order comes from the order of writes,
//! never from times or ids.

use std::sync::Arc;

use clotho_core::clock::{TestClock, Time};

use super::api_session::{ApiSession, TurnIds, ids_of, path_to_node};
use super::*;

const DAY: i64 = 86_400_000;

/// `domain.md` 2: messages and versions stay in the order of their creation, whatever the clock did and after restarts.
/// Undo takes back the last step, and a repeated request is recognised.
#[tokio::test]
async fn clock_jumps_keep_message_and_undo_order() {
    let clock = Arc::new(TestClock::new(Time(1_700_000_000_000)));
    let mut play = ApiSession::start_with(TestApp::setup().clock(clock.clone()), json!({})).await;
    let mut said: Vec<TurnIds> = Vec::new();
    for (n, jump) in [0, -DAY, 365 * DAY, -3650 * DAY, -40 * 365 * DAY, 1].into_iter().enumerate() {
        clock.advance(jump);
        // A restarted program does not know the earlier time.
        play = play.restart().await;
        said.push(play.run_turn(&format!("Step {n}.")).await);
    }
    let order: Vec<String> = said.iter().flat_map(|one| [one.user_node.clone(), one.reply.clone()]).collect();
    let head = play.head().await;
    assert_eq!(play.projection_ids(&head).await[1..], order);
    assert_eq!(path_to_node(&play.nodes().await, &head)[1..], order);

    let first = &said[2];
    clock.advance(-2 * 365 * DAY);
    let second = play.regenerate_and_wait(&first.reply).await;
    let third = play.regenerate_and_wait(&first.reply).await;
    let node = play.get(&format!("node/{}", first.user_node)).await;
    let versions: Vec<&Value> = node["childrenIds"].as_array().unwrap().iter().collect();
    assert_eq!(versions, [&json!(first.reply), &json!(second), &json!(third)]);
    search_until(&play.server, "step", said.len()).await;

    let asked = |play: &ApiSession, parent: &str| {
        let ask = play.server.request("POST", &play.chat_path("message"));
        ask.header("Idempotency-Key", "once").json(&json!({"parentId": parent, "content": "Once.", "generate": false}))
    };
    let before = play.head().await;
    let once = asked(&play, &third).send().await.expect(201);
    clock.advance(-30 * DAY);
    let again = asked(&play, &third).send().await.expect(201);
    assert_eq!(once["node"]["id"], again["node"]["id"], "the same request, the same answer");
    assert_eq!(
        ids_of(&play.get(&format!("projection?leaf={}", id_of(&once["node"]))).await["items"]).last(),
        Some(&id_of(&once["node"]))
    );
    play.post("undo", json!({})).await;
    assert_eq!(play.head().await, before, "what came last is taken back first");
}
