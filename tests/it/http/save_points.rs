//! Messages as save points: whoever opens one later finds the state, lore, summary and prompt of its moment.

use super::lore_activation::{create_lorebook, entry, put_lorebook_holds};
use super::summaries::SummarySession;
use super::*;

/// Returns what a player has at a message: its state, lore and summary, and the prompt that a next message would send.
/// With summaries on, a later one may stand in that prompt for messages that were there already, so it is left out.
async fn moment_at(telling: &SummarySession, node: &str, has_summaries: bool) -> Value {
    let play = &telling.session;
    let world = play.get(&format!("node/{node}/world")).await["world"].clone();
    if has_summaries {
        return world;
    }
    let next = play.post("prompt", json!({"parentId": node, "content": "The gate, again?"})).await;
    json!({"world": world, "messages": next["messages"], "lore": next["lore"]})
}

/// Plays two branches, each with wounds and lore that stays active. Returns each reply with what its moment had.
async fn play_two_branches(telling: &SummarySession, has_summaries: bool) -> Vec<(String, Value)> {
    let play = &telling.session;
    let begin = play.head().await;
    let mut moments = Vec::new();
    for (branch, place) in [("ALPHA", "gate"), ("BETA", "ferry")] {
        telling.summary_model.set_default_reply(Reply::ok([format!("{branch}: they walked on.")]));
        play.checkout(&begin, true).await;
        for mile in 0..8 {
            let wound = if mile % 3 == 0 { "It bites. [HP -2]" } else { "Nothing but dull hedges and grey fields." };
            play.server.mock().queue_reply(Reply::ok([wound.to_owned(), " On and on.".repeat(20)]));
            let said = if mile == 1 { place } else { "We walk on past dull hedges and grey fields." };
            let turn = play.run_turn(&format!("{said} {}", "On and on. ".repeat(15))).await;
            telling.wait_until_idle().await;
            moments.push((turn.reply.clone(), moment_at(telling, &turn.reply, has_summaries).await));
        }
    }
    moments
}

/// S3-01, S0-52: any message can be opened later as it was when it was the newest one, also after other branches got
/// other states, lore and summaries.
#[tokio::test]
async fn node_opened_later_has_state_and_prompt_of_its_moment() {
    for has_summaries in [false, true] {
        let telling = SummarySession::start_without_summaries(TestApp::setup()).await;
        telling.set_summaries_enabled(has_summaries).await;
        let play = &telling.session;
        play.server.put(&format!("/api/sessions/{}/plugins", play.sid), &json!([{"id": "combat"}])).await;
        // At a depth, because the preset has no place for World Info.
        let sticky = json!({"position": 4, "depth": 1, "scanDepth": 20, "sticky": 4, "cooldown": 2});
        let plain = json!({"position": 4, "depth": 1, "scanDepth": 20});
        let (gate, ferry) = (entry(1, "gate", "It squeaks.", sticky), entry(2, "ferry", "It leaks.", plain));
        let book = create_lorebook(play, json!([gate, ferry])).await;
        put_lorebook_holds(play, &book, json!({"sessionIds": [play.sid]})).await;
        let moments = play_two_branches(&telling, has_summaries).await;
        let wanted = if has_summaries { ["ALPHA", "BETA"] } else { ["It squeaks.", "It leaks."] };
        for what in wanted {
            assert!(moments.iter().any(|(_, moment)| moment.to_string().contains(what)), "{what}");
        }
        // Each message is opened again, in another order than they were written.
        for (node, then) in moments.iter().rev().step_by(3).chain(moments.iter().step_by(2)) {
            play.checkout(node, true).await;
            assert_eq!(moment_at(&telling, node, has_summaries).await, *then, "{node}");
        }
    }
}
