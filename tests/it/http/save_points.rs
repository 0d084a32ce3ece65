//! Messages as save points: whoever opens one later finds the state, lore, summary and prompt of its moment.

use super::lore_activation::{create_lorebook, entry, put_lorebook_holds};
use super::summaries::SummarySession;
use super::*;

/// Returns what a player has at a message: its state, lore and summary, and the prompt that a next message would send.
async fn moment_at(telling: &SummarySession, node: &str) -> Value {
    let play = &telling.session;
    let world = play.get(&format!("node/{node}/world")).await["world"].clone();
    let next = play.post("prompt", json!({"parentId": node, "content": "The gate, again?"})).await;
    json!({"world": world, "messages": next["messages"], "lore": next["lore"], "summaries": next["summaries"]})
}

/// S3-01, S0-52: any message can be opened later as it was when it was the newest one, also after other branches got
/// other states, lore and summaries.
#[tokio::test]
async fn node_opened_later_has_state_and_prompt_of_its_moment() {
    let telling = SummarySession::start().await;
    let play = &telling.session;
    play.server.put(&format!("/api/sessions/{}/plugins", play.sid), &json!([{"id": "combat"}])).await;
    // At a depth, because the preset has no place for World Info.
    let sticky = json!({"position": 4, "depth": 1, "sticky": 4, "cooldown": 2});
    let plain = json!({"position": 4, "depth": 1});
    let entries = json!([entry(1, "gate", "The gate squeaks.", sticky), entry(2, "ferry", "The ferry leaks.", plain)]);
    let book = create_lorebook(play, entries).await;
    put_lorebook_holds(play, &book, json!({"sessionIds": [play.sid]})).await;
    let begin = play.head().await;
    let mut moments = Vec::new();
    // Two branches, each with wounds, lore that stays active, and summaries.
    for (branch, place) in [("ALPHA", "gate"), ("BETA", "ferry")] {
        telling.summary_model.set_default_reply(Reply::ok([format!("{branch}: they walked on.")]));
        play.checkout(&begin, true).await;
        for mile in 0..8 {
            let wound = if mile % 3 == 0 { "It bites. [HP -2]" } else { "Nothing but dull hedges and grey fields." };
            play.server.mock().queue_reply(Reply::ok([wound.to_owned(), " On and on.".repeat(20)]));
            let said = if mile == 1 { place } else { "We walk on past dull hedges and grey fields." };
            let turn = play.run_turn(&format!("{said} {}", "On and on. ".repeat(15))).await;
            telling.wait_until_idle().await;
            moments.push((turn.reply.clone(), moment_at(&telling, &turn.reply).await));
        }
    }
    let has = |what: &str| moments.iter().any(|(_, moment)| moment.to_string().contains(what));
    for what in ["ALPHA", "BETA", "The gate squeaks.", "The ferry leaks."] {
        assert!(has(what), "{what}: {:?}", moments.last());
    }
    // Each message is opened again, in another order than they were written.
    for (node, then) in moments.iter().rev().step_by(3).chain(moments.iter().step_by(2)) {
        play.checkout(node, true).await;
        assert_eq!(moment_at(&telling, node).await, *then, "{node}");
    }
}
