//! Messages as save points: whoever opens one later finds the state, lore, summary and prompt of its moment.

use super::lore_activation::{create_lorebook, entry, put_lorebook_holds};
use super::summaries::{HEAD, SummarySession};
use super::*;

/// What a player has at a message.
struct Moment {
    /// The state, lore and summary, and the prompt that a next message would send, without summaries.
    facts: Value,
    /// The ids of the summaries in that prompt.
    summaries: Vec<Value>,
}

async fn moment_at(telling: &SummarySession, node: &str) -> Moment {
    let play = &telling.session;
    let world = play.get(&format!("node/{node}/world")).await["world"].clone();
    let mut next = play.post("prompt", json!({"parentId": node, "content": "The gate, again?"})).await;
    let messages = next["messages"].as_array_mut().unwrap();
    messages.retain(|message| !message["content"].as_str().unwrap().starts_with(HEAD));
    let texts = next["summaries"]["texts"].as_array().unwrap();
    let summaries = texts.iter().map(|text| text["id"].clone()).collect();
    Moment { facts: json!({"world": world, "messages": next["messages"], "lore": next["lore"]}), summaries }
}

/// S3-01, S0-11, S0-52: any message can be opened later as it was when it was the newest one, also after other branches
/// got other states, lore and summaries. Only summaries of messages that it had already may have come since.
#[tokio::test]
async fn node_opened_later_has_state_and_prompt_of_its_moment() {
    let telling = SummarySession::start().await;
    let play = &telling.session;
    play.server.put(&format!("/api/sessions/{}/plugins", play.sid), &json!([{"id": "combat"}])).await;
    // At a depth, because the preset has no place for World Info.
    let sticky = json!({"position": 4, "depth": 1, "scanDepth": 20, "sticky": 4, "cooldown": 2});
    let plain = json!({"position": 4, "depth": 1, "scanDepth": 20});
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
    let has = |what: &str| moments.iter().any(|(_, moment)| moment.facts.to_string().contains(what));
    for what in ["ALPHA", "BETA", "The gate squeaks.", "The ferry leaks."] {
        assert!(has(what), "{what}");
    }
    // Each message is opened again, in another order than they were written.
    for (node, then) in moments.iter().rev().step_by(3).chain(moments.iter().step_by(2)) {
        play.checkout(node, true).await;
        let now = moment_at(&telling, node).await;
        assert_eq!(now.facts, then.facts, "{node}");
        assert!(now.summaries.starts_with(&then.summaries), "{node}: {:?} {:?}", now.summaries, then.summaries);
    }
}
