//! Rolling summaries of messages that no longer fit: they belong to their branch, follow undo and checkouts, and never
//! delay a reply.

use super::api_session::{ApiSession, TurnIds};
use super::purges::{files_containing, wait_until_gone};
use super::*;
use crate::support::mock_model::MockModel;
use crate::support::wait::wait_until;

/// The first words of the summary block.
const HEAD: &str = "What happened before the messages that follow";

/// The main prompt of a preset that shows summaries.
pub(super) const SUMMARY_PROMPT: &str = "Tell it. {{summary}}";

/// A session with a short context, and the model that summarises it.
pub(super) struct SummarySession {
    pub(super) session: ApiSession,
    pub(super) summary_model: MockModel,
}

impl SummarySession {
    /// Starts a session with automatic summaries.
    pub(super) async fn start() -> Self {
        let telling = Self::start_without_summaries(TestApp::setup()).await;
        telling.set_summaries_enabled(true).await;
        telling
    }

    /// Starts a session with automatic summaries still off.
    pub(super) async fn start_without_summaries(setup: Setup) -> Self {
        let teller = MockModel::start().await;
        let setup = setup
            .set("providers.2.id", "teller")
            .set("providers.2.base_url", &teller.base_url())
            .set("summaries.share", "30")
            .set("summaries.every", "100")
            .set("summaries.chapter", "2");
        let play = ApiSession::start_with(setup, json!({})).await;
        teller.set_default_reply(Reply::ok(["ALPHA: they walked on."]).usage(500, 20));
        let preset = play.set_up_short_context(SUMMARY_PROMPT).await;
        let telling = Self { session: play, summary_model: teller };
        telling.patch_session(json!({"presetId": preset})).await;
        telling
    }

    async fn patch_session(&self, change: Value) -> Value {
        let path = format!("/api/sessions/{}", self.session.sid);
        self.session.server.request("PATCH", &path).json(&change).send().await.expect(200)
    }

    pub(super) async fn set_summaries_enabled(&self, is_on: bool) {
        let summaries = json!({"enabled": is_on, "every": null, "model": "teller/mock"});
        assert_eq!(self.patch_session(json!({"summaries": summaries})).await["summaries"], summaries);
    }

    /// Adds enough filler turns that earlier messages no longer fit, and waits for their summaries.
    async fn add_filler_turns(&self, miles: usize) -> Vec<TurnIds> {
        let mut said = Vec::new();
        for mile in 0..miles {
            let text = format!("We walk on, mile {mile}, {}", "past dull hedges and grey fields ".repeat(8));
            said.push(self.session.run_turn(&text).await);
            self.wait_until_idle().await;
        }
        said
    }

    /// Waits until the summariser is idle.
    pub(super) async fn wait_until_idle(&self) {
        wait_until("rest", async || self.get_summaries("").await["isWorking"] == false).await;
    }

    pub(super) async fn get_summaries(&self, query: &str) -> Value {
        self.session.server.get(&format!("/api/sessions/{}/summaries{query}", self.session.sid)).await
    }

    async fn summaries(&self) -> Vec<Value> {
        self.get_summaries("").await["items"].as_array().unwrap().clone()
    }

    /// Returns the newest prompt of the story.
    fn last_request(&self) -> Value {
        self.session.server.mock().requests().pop().unwrap()
    }

    /// Returns the summary in the world at a node.
    async fn summary_at(&self, node: &str) -> String {
        let world = self.session.get(&format!("node/{node}/world")).await;
        world["world"]["summary"].as_str().unwrap().to_owned()
    }

    async fn trace(&self, node: &str) -> Value {
        self.session.get(&format!("node/{node}/trace")).await
    }
}

/// Returns the summary block of a prompt; empty if there is none.
pub(super) fn summary_block(request: &Value) -> String {
    let messages = request["messages"].as_array().unwrap();
    let mut texts = messages.iter().map(|message| message["content"].as_str().unwrap());
    texts.find(|text| text.starts_with(HEAD)).unwrap_or_default().to_owned()
}

/// S3-09, S0-11, section 4 rank 11: messages that no longer fit are summarised, with their sources. A branch uses its
/// own summaries, an earlier node those of its time, and never a sibling's.
#[tokio::test]
async fn summaries_are_separate_per_branch() {
    // The first branch gets a summary.
    let telling = SummarySession::start().await;
    let play = &telling.session;
    let begin = play.head().await;
    let walked = telling.add_filler_turns(9).await;
    let last = play.run_turn("Where are we?").await;
    telling.wait_until_idle().await;
    let block = summary_block(&telling.last_request());
    assert!(block.contains("ALPHA"), "{}", telling.last_request());
    assert_eq!(telling.summary_at(&walked[0].reply).await, "");
    let world = telling.summary_at(&last.reply).await;
    assert!(world.starts_with("ALPHA") && block.ends_with(&world), "{world}");
    // Its sources are messages of this branch that the prompt does not have.
    let trace = telling.trace(&last.reply).await;
    assert_eq!(trace["isExact"], true, "{trace}");
    let line = play.projection_ids(&last.reply).await;
    let items = telling.summaries().await;
    for text in trace["summaries"]["texts"].as_array().unwrap() {
        let item = items.iter().find(|item| item["id"] == text["id"]).unwrap();
        let nodes = api_session::ids_of(&json!(
            item["nodeIds"].as_array().unwrap().iter().map(|id| json!({"id": id})).collect::<Vec<_>>()
        ));
        assert!(nodes.iter().all(|node| line.contains(node)), "{item}");
        assert_eq!((&text["firstId"], &text["lastId"]), (&json!(nodes[0]), &json!(nodes[nodes.len() - 1])));
        let sent = trace["history"].as_array().unwrap();
        assert!(sent.iter().all(|id| !nodes.contains(&id.as_str().unwrap().to_owned())), "{trace}");
    }
    // Another branch from the start.
    telling.summary_model.set_default_reply(Reply::ok(["BETA: they sailed."]));
    play.checkout(&begin, true).await;
    telling.add_filler_turns(7).await;
    let other = play.run_turn("And here?").await;
    telling.wait_until_idle().await;
    let block = summary_block(&telling.last_request());
    assert!(block.contains("BETA") && !telling.last_request().to_string().contains("ALPHA"), "{block}");
    assert!(telling.summary_at(&other.reply).await.starts_with("BETA"));
    assert!(telling.summaries().await.iter().all(|item| item["content"] == "BETA: they sailed."));
    // Back on the first branch.
    let again = play.run_turn_at(&last.reply, "On with it.").await;
    assert!(!telling.last_request().to_string().contains("BETA"));
    assert!(telling.summary_at(&again.reply).await.starts_with("ALPHA"));
    play.run_turn_at(&walked[0].reply, "Another way.").await;
    assert_eq!(summary_block(&telling.last_request()), "", "nothing was out of sight then");
    let then = telling.get_summaries(&format!("?nodeId={begin}")).await;
    assert_eq!(then["items"], json!([]), "{then}");
}

/// Domain 6.3, 6.6: the preview equals the sent prompt, and the block stays the same while the history starts at the
/// same message.
#[tokio::test]
async fn summary_in_preview_matches_sent_prompt() {
    let telling = SummarySession::start().await;
    let play = &telling.session;
    for n in 0..4 {
        telling.summary_model.set_default_reply(Reply::ok([format!("Chapter {n} of it.")]));
        telling.add_filler_turns(3).await;
    }
    let (parent, content) = (play.head().await, "Where are we?");
    let preview = play.post("prompt", json!({"parentId": parent, "content": content})).await;
    let said = play.run_turn(content).await;
    assert_eq!(preview["messages"], telling.last_request()["messages"]);
    assert_eq!(preview["summaries"], telling.trace(&said.reply).await["summaries"]);
    assert!(summary_block(&telling.last_request()).contains("of it."));
    let begin = |request: &Value| {
        let mut texts = request["messages"].as_array().unwrap().iter().map(|message| message["content"].clone());
        texts.find(|text| text.as_str().unwrap().starts_with("We walk"))
    };
    let requests = play.server.mock().requests();
    let mut stayed = 0;
    for pair in requests.windows(2) {
        let (before, after) = (summary_block(&pair[0]), summary_block(&pair[1]));
        if !before.is_empty() && begin(&pair[0]) == begin(&pair[1]) {
            assert_eq!(before, after);
            stayed += 1;
        }
    }
    assert!(stayed > 0);
    // The macro has the summary of the world.
    let world = telling.summary_at(&said.reply).await;
    play.run_turn("And now?").await;
    assert_eq!(telling.last_request()["messages"][0]["content"], json!(format!("Tell it. {world}")));
}

/// Summaries are off by default: no model is asked, and prompts have none.
#[tokio::test]
async fn summaries_off_by_default_make_no_request() {
    let telling = SummarySession::start_without_summaries(TestApp::setup()).await;
    let before = telling.session.session().await["summaries"].clone();
    assert_eq!(before, json!({"enabled": false, "every": null, "model": null}));
    let walked = telling.add_filler_turns(9).await;
    let last = &walked[8].reply;
    assert_eq!((telling.summary_model.requests().len(), telling.summaries().await.len()), (0, 0));
    assert_eq!(
        (telling.trace(last).await["summaries"].clone(), telling.summary_at(last).await),
        (Value::Null, String::new())
    );
    assert_eq!(telling.session.server.mock().requests().len(), 9);
    // Turning them on summarises the whole story at once.
    telling.set_summaries_enabled(true).await;
    telling.wait_until_idle().await;
    assert!(telling.summaries().await.len() > 2);
    let spent = telling.session.get("spent").await;
    let asked = telling.summary_model.requests().len();
    assert_eq!((&spent["replies"], &spent["summaries"]), (&json!(9), &json!(asked)));
    assert!(spent["tokenCount"]["prompt"].as_u64().unwrap() >= 500 * asked as u64, "{spent}");
    telling.set_summaries_enabled(false).await;
    telling.session.run_turn("Where are we?").await;
    assert_eq!(summary_block(&telling.last_request()), "");
}

/// A failing model delays no reply. The failure is reported, and the work is done after a restart.
#[tokio::test]
async fn summary_model_failure_is_retried_after_restart() {
    let telling = SummarySession::start_without_summaries(TestApp::setup()).await;
    telling.summary_model.set_default_reply(Reply::error(500, "out of order"));
    telling.set_summaries_enabled(true).await;
    for mile in 0..8 {
        let text = format!("We walk on, mile {mile}, {}", "past dull hedges and grey fields ".repeat(8));
        let said = telling.session.run_turn(&text).await;
        assert_eq!(telling.session.get(&format!("node/{}", said.reply)).await["status"], "complete");
    }
    wait_until("a word about it", async || telling.get_summaries("").await["problem"].is_string()).await;
    let problem = telling.get_summaries("").await["problem"].as_str().unwrap().to_owned();
    assert!(problem.contains("teller/mock"), "{problem}");
    assert_eq!(telling.summaries().await.len(), 0);
    telling.summary_model.set_default_reply(Reply::ok(["GAMMA: at last."]));
    let telling = SummarySession { session: telling.session.restart().await, summary_model: telling.summary_model };
    wait_until("a summary", async || !telling.summaries().await.is_empty()).await;
    telling.wait_until_idle().await;
    assert_eq!(telling.get_summaries("").await["problem"], Value::Null);
    telling.add_filler_turns(3).await;
    assert!(summary_block(&telling.last_request()).contains("GAMMA"));
}

/// A summary of messages that were disabled or changed is not used. It is used again when they are back.
#[tokio::test]
async fn summary_of_changed_messages_is_left_out() {
    let telling = SummarySession::start().await;
    let play = &telling.session;
    let walked = telling.add_filler_turns(9).await;
    play.run_turn("Where are we?").await;
    telling.wait_until_idle().await;
    let first = telling.summaries().await[0].clone();
    let source = first["lastId"].as_str().unwrap().to_owned();
    let state = async |is_enabled: bool| {
        play.server.put(&play.chat_path(&format!("node/{source}/state")), &json!({"isEnabled": is_enabled})).await;
    };
    telling.summary_model.set_default_reply(Reply::ok(["DELTA: without it."]));
    state(false).await;
    let find = async || telling.summaries().await.into_iter().find(|item| item["id"] == first["id"]).unwrap();
    assert_eq!(find().await["isStale"], true);
    let said = play.run_turn("And now?").await;
    telling.wait_until_idle().await;
    let texts = telling.trace(&said.reply).await["summaries"]["texts"].clone();
    assert!(texts.as_array().unwrap().iter().all(|text| text["id"] != first["id"]), "{texts}");
    // The remaining messages get a new summary.
    assert!(telling.summaries().await.iter().any(|item| item["content"] == "DELTA: without it."));
    state(true).await;
    assert_eq!(find().await["isStale"], false);
    // An edited message starts another branch, whose prompts have no summary of the old one.
    let edited = play.post(&format!("node/{}/edit", walked[0].user_node), json!({"content": "We ride."})).await;
    play.wait_for_reply(&id_of(&edited["generations"][0])).await;
    assert_eq!(summary_block(&telling.last_request()), "");
}

/// Section 4 rank 11: enough summaries become a chapter with all their messages. With little room it stands for the
/// oldest ones.
#[tokio::test]
async fn summaries_beyond_threshold_merge_into_chapters() {
    let telling = SummarySession::start().await;
    let long = "ALPHA: they walked on and on and on. ".repeat(4);
    telling.summary_model.set_default_reply(Reply::ok([long.clone()]));
    telling.add_filler_turns(10).await;
    let is_chapter = |item: &&Value| item["level"].as_i64().unwrap() > 1;
    let items = telling.summaries().await;
    let chapter = items.iter().find(is_chapter).unwrap_or_else(|| panic!("{items:?}"));
    let of: Vec<&Value> = items.iter().filter(|item| item["level"] == 1).take(2).collect();
    let sources: Vec<Value> = of.iter().flat_map(|item| item["nodeIds"].as_array().unwrap().clone()).collect();
    assert_eq!(chapter["nodeIds"], json!(sources));
    let asked =
        telling.summary_model.requests().into_iter().find(|request| request.to_string().contains("given summaries"));
    assert!(asked.unwrap()["messages"][1]["content"].as_str().unwrap().contains(long.trim()));
    // After a correction the chapter is made again.
    let path = format!("/api/sessions/{}/summaries/", telling.session.sid);
    let app = &telling.session.server;
    let one = format!("{path}{}", id_of(of[0]));
    let changed = app.request("PATCH", &one).json(&json!({"content": "EPSILON."})).send().await.expect(200);
    assert_eq!((&changed["content"], &changed["isEdited"]), (&json!("EPSILON."), &json!(true)));
    telling.wait_until_idle().await;
    assert!(telling.summaries().await.iter().all(|item| item["id"] != chapter["id"]));
    telling.summary_model.set_default_reply(Reply::ok(["ZETA."]));
    telling.add_filler_turns(4).await;
    let items = telling.summaries().await;
    assert!(items.iter().any(|item| is_chapter(&item) && item["content"] == "ZETA."), "{items:?}");
    let said = telling.session.run_turn("Where are we?").await;
    let texts = telling.trace(&said.reply).await["summaries"]["texts"].clone();
    let texts = texts.as_array().unwrap();
    assert!(texts.iter().any(|text| text["level"].as_i64().unwrap() > 1), "{texts:?}");
    assert_eq!(texts.last().unwrap()["level"], 1, "the newest are told whole: {texts:?}");
    // A deleted summary is made again.
    app.request("DELETE", &one).send().await.expect(204);
    app.request("DELETE", &one).send().await.expect_error("not_found");
    telling.wait_until_idle().await;
    let items = telling.summaries().await;
    assert!(items.iter().any(|item| item["firstId"] == of[0]["firstId"] && item["id"] != of[0]["id"]), "{items:?}");
}

/// Domain 2.16: a purge deletes the summaries of its messages from the disk.
#[tokio::test]
async fn summaries_of_purged_messages_leave_disk() {
    const WORD: &str = "Xylophonebananas";
    let telling = SummarySession::start().await;
    telling.summary_model.set_default_reply(Reply::ok([format!("They spoke of {WORD}.")]));
    let walked = telling.add_filler_turns(8).await;
    telling.wait_until_idle().await;
    let data = telling.session.server.app().home().join("data");
    assert!(!telling.summaries().await.is_empty() && !files_containing(&data, WORD).is_empty());
    telling.set_summaries_enabled(false).await;
    let purge = json!({"operations": [{"op": "purge", "nodeId": walked[0].user_node, "confirm": true}]});
    telling.session.server.put(&telling.session.chat_path("tree/edit"), &purge).await;
    wait_until_gone(&data, WORD).await;
    assert!(telling.session.get("spent").await["summaries"].as_u64().unwrap() > 0, "what it cost stays");
}

#[tokio::test]
async fn summary_invalid_settings_or_foreign_ids_are_refused() {
    let telling = SummarySession::start().await;
    let app = &telling.session.server;
    let path = format!("/api/sessions/{}", telling.session.sid);
    let refused = async |summaries: Value, field: &str| {
        let error =
            app.request("PATCH", &path).json(&json!({"summaries": summaries})).send().await.expect_error("invalid");
        assert_eq!(error["details"]["field"], field, "{error}");
    };
    refused(json!({"enabled": true, "every": 5}), "summaries.every").await;
    refused(json!({"enabled": true, "model": "nobody"}), "summaries.model").await;
    for bad in [json!(true), json!({"every": 500}), json!({"enabled": true, "often": 1})] {
        app.request("PATCH", &path).json(&json!({"summaries": bad})).send().await.expect_error("invalid");
    }
    telling.add_filler_turns(8).await;
    let one = format!("{path}/summaries/{}", id_of(&telling.summaries().await[0]));
    app.request("PATCH", &one).json(&json!({"content": "x".repeat(300_000)})).send().await.expect_error("invalid");
    app.request("PATCH", &one).json(&json!({})).send().await.expect_error("invalid");
    // A summary emptied by the user is not made again.
    let before = telling.summaries().await.len();
    app.request("PATCH", &one).json(&json!({"content": " "})).send().await.expect(200);
    telling.wait_until_idle().await;
    assert_eq!((telling.summaries().await.len(), telling.summaries().await[0]["content"].clone()), (before, json!("")));
    // Summaries of other users are not found.
    let stranger = app.create_other_user().await;
    let theirs = format!("/api/sessions/{}/summaries", stranger.session);
    app.request("GET", &theirs).send().await.expect_error("not_found");
    let mine = one.replace(&telling.session.sid, &stranger.session.to_string());
    app.request("DELETE", &mine).send().await.expect_error("not_found");
    app.request("PATCH", &mine).json(&json!({"content": "x"})).send().await.expect_error("not_found");
    let other = app.create_session().await;
    let elsewhere = one.replace(&telling.session.sid, &id_of(&other));
    app.request("DELETE", &elsewhere).send().await.expect_error("not_found");
}
