//! Messages as save points: whoever opens one later finds the state, lore, summary and prompt of its moment.

use super::api_session::ApiSession;
use super::lore_activation::{create_lorebook, entry, put_lorebook_holds};
use super::summaries::{SummarySession, summary_block};
use super::*;

/// What a player has at a message.
struct Moment {
    node: String,
    /// The state, with the active lore and the summary.
    world: Value,
    /// The prompt that a next message would send.
    prompt: Value,
    /// The branch to the message.
    line: Vec<String>,
}

impl Moment {
    async fn read(play: &ApiSession, node: &str) -> Self {
        let world = play.get(&format!("node/{node}/world")).await["world"].clone();
        let prompt = play.post("prompt", json!({"parentId": node, "content": "The gate, again?"})).await;
        Self { node: node.to_owned(), world, prompt, line: play.projection_ids(node).await }
    }

    /// Returns the messages of the prompt without the summaries: the first one, and the rest.
    fn messages(&self) -> (Value, Vec<Value>) {
        let all = self.prompt["messages"].as_array().unwrap().iter();
        let block = summary_block(&self.prompt);
        let mut rest: Vec<Value> =
            all.filter(|message| block.is_empty() || message["content"] != block.as_str()).cloned().collect();
        (rest.remove(0), rest)
    }

    fn history(&self) -> Vec<&str> {
        self.prompt["history"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect()
    }
}

/// Checks that a moment is as it was then. State and lore are the same, and so is a prompt that had all messages. In
/// another one, further summaries may stand for messages that were there already and did not fit (`docs/domain.md`
/// 7.9).
async fn check_same_moment(telling: &SummarySession, then: &Moment) {
    let now = Moment::read(&telling.session, &then.node).await;
    assert_eq!((&now.world, &now.prompt["lore"]), (&then.world, &then.prompt["lore"]), "{}", then.node);
    let was_whole = then.prompt["historyCut"].is_null();
    if was_whole || now.prompt["summaries"] == then.prompt["summaries"] {
        assert_eq!(now.prompt["messages"], then.prompt["messages"], "{}", then.node);
        return;
    }
    let items = telling.get_summaries(&format!("?nodeId={}", then.node)).await["items"].clone();
    for text in now.prompt["summaries"]["texts"].as_array().unwrap() {
        let item = items.as_array().unwrap().iter().find(|item| item["id"] == text["id"]).unwrap();
        for node in item["nodeIds"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()) {
            assert!(then.line.iter().any(|id| id == node), "{item} is of what stood there");
            assert!(!now.history().contains(&node), "{item} is of what did not fit");
        }
    }
    assert!(then.history().ends_with(&now.history()), "{} {}", then.prompt, now.prompt);
    let ((first, rest), (first_now, rest_now)) = (then.messages(), now.messages());
    assert_eq!(first_now, first);
    assert!(rest.ends_with(&rest_now), "{} {}", then.prompt, now.prompt);
}

/// Plays two branches, each with wounds and lore that stays active. Returns the moment of each reply.
async fn play_two_branches(telling: &SummarySession) -> Vec<Moment> {
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
            moments.push(Moment::read(play, &turn.reply).await);
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
        let moments = play_two_branches(&telling).await;
        let wanted = if has_summaries { ["ALPHA", "BETA"] } else { ["It squeaks.", "It leaks."] };
        for what in wanted {
            let has = |one: &Moment| one.world.to_string().contains(what) || one.prompt.to_string().contains(what);
            assert!(moments.iter().any(has), "{what}");
        }
        let is_whole = |one: &&Moment| one.prompt["historyCut"].is_null();
        assert!((2..14).contains(&moments.iter().filter(is_whole).count()), "some prompts are cut");
        // Each message is opened again, in another order than they were written.
        for then in moments.iter().rev().step_by(3).chain(moments.iter().step_by(2)) {
            play.checkout(&then.node, true).await;
            check_same_moment(&telling, then).await;
        }
    }
}
