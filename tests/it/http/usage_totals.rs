//! The total usage of a session's replies.

use super::api_session::{ApiSession, TurnIds};
use super::*;

/// S4-54: the totals of a session equal the exact sums of its nodes: tokens, time and cost. Stashed and undone replies
/// count, copies do not, and replies without a price are counted separately.
#[tokio::test]
async fn usage_totals_equal_sum_of_nodes() {
    let play = ApiSession::start().await;
    let none = json!({"prompt": 0, "completion": 0});
    let empty = play.get("spent").await;
    assert_eq!((&empty["replies"], &empty["tokenCount"], &empty["cost"]), (&json!(0), &none, &Value::Null));
    let mut said = Vec::new();
    for cost in ["0.1", "0.2", "0.0000157"] {
        let cost: serde_json::Number = cost.parse().unwrap();
        play.server.mock().queue_reply(
            Reply::ok(["Yes."]).usage_with_finish(json!({"prompt_tokens": 12, "completion_tokens": 5, "cost": cost})),
        );
        said.push(play.run_turn("Well?").await);
    }
    play.server.mock().queue_reply(Reply::ok(["No."]).usage(7, 2));
    let unpriced = json!({"parentId": play.head().await, "content": "And?", "generate": {"model": "mock/mock-plain"}});
    let started = play.post("message", unpriced).await;
    said.push(TurnIds { user_node: id_of(&started["node"]), reply: id_of(&started["generations"][0]) });
    play.wait_for_reply(&said[3].reply).await;
    let sums = play.get("spent").await;
    let nodes = play.nodes().await;
    let of_nodes =
        |path: &str| -> u64 { nodes.values().filter_map(|node| node["metadata"].pointer(path)?.as_u64()).sum() };
    assert_eq!((&sums["replies"], &sums["withoutCost"]), (&json!(4), &json!(1)));
    assert_eq!(sums["tokenCount"]["prompt"], json!(of_nodes("/tokenCount/prompt")));
    assert_eq!(sums["tokenCount"]["completion"], json!(of_nodes("/tokenCount/completion")));
    assert_eq!(sums["tokenCount"], json!({"prompt": 43, "completion": 17}));
    assert_eq!(sums["latencyMs"], json!(of_nodes("/latencyMs")));
    assert_eq!(sums["cost"].to_string(), "0.3000157");

    let node = |one: usize| said[one].user_node.clone();
    play.edit_tree(json!([{"op": "graft", "nodeId": node(3), "targetId": node(0), "mode": "copy"}, {"op": "prune", "nodeId": node(1)}])).await;
    play.post("undo", json!({})).await;
    play.post("undo", json!({})).await;
    let later = play.get("spent").await;
    assert_ne!(later["op"], sums["op"]);
    for field in ["replies", "tokenCount", "cachedTokens", "latencyMs", "cost", "saved", "withoutCost", "beyondCost"] {
        assert_eq!(later[field], sums[field], "{field}");
    }
}

/// Cached tokens and what they saved are added up too.
#[tokio::test]
async fn usage_totals_include_cached_tokens_and_savings() {
    let prices = "{ mock = { prompt = 3.0, completion = 15.0, cached = 0.3 } }";
    let play =
        ApiSession::start_with(TestApp::setup().set("providers.0.prices", prices), json!({"model": "mock/mock"})).await;
    let empty = play.get("spent").await;
    assert_eq!((&empty["cachedTokens"], &empty["saved"]), (&json!(0), &Value::Null));
    for cached in [800, 1000] {
        let usage =
            json!({"prompt_tokens": 1000, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": cached}});
        play.server.mock().queue_reply(Reply::ok(["Yes."]).usage_with_finish(usage));
        play.run_turn("Well?").await;
    }
    let sums = play.get("spent").await;
    assert_eq!((&sums["cachedTokens"], sums["saved"].to_string().as_str()), (&json!(1800), "0.00486"));
}

/// S4-54: a cost too large to add, as only a broken model server reports it, is counted separately. It is distinct from
/// a missing price, in whatever order they come.
#[tokio::test]
async fn usage_totals_count_overflowing_prices_separately() {
    let play = ApiSession::start().await;
    for (cost, sum, beyond) in
        [("1e200", None, 1), ("0.5", Some("0.5"), 1), ("1e300", Some("0.5"), 2), ("0.25", Some("0.75"), 2)]
    {
        let cost: serde_json::Number = cost.parse().unwrap();
        let usage = json!({"prompt_tokens": 12, "completion_tokens": 5, "cost": cost});
        play.server.mock().queue_reply(Reply::ok(["Yes."]).usage_with_finish(usage));
        play.run_turn("Well?").await;
        let sums = play.get("spent").await;
        assert_eq!(sums["cost"].as_number().map(ToString::to_string).as_deref(), sum, "{sums}");
        assert_eq!((&sums["beyondCost"], &sums["withoutCost"]), (&json!(beyond), &json!(0)));
    }
}
