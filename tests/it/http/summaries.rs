//! Rolling summaries of messages that no longer fit: they belong to their branch, follow undo and checkouts, and never
//! delay a reply.

use super::api_session::{ApiSession, TurnIds};
use super::purges::{files_with, until_gone};
use super::*;
use crate::support::mock_model::MockModel;
use crate::support::wait::until;

/// The first words of the summary block.
const HEAD: &str = "What happened before the messages that follow";

/// Returns a preset with a context so short that little history fits.
pub(super) fn narrow() -> Value {
    let on = |id: &str| json!({"identifier": id, "enabled": true});
    json!({
        "openai_max_context": 700, "openai_max_tokens": 60, "new_chat_prompt": "", "new_example_chat_prompt": "",
        "prompts": [{"identifier": "main", "role": "system", "content": "Tell it. {{summary}}"}],
        "prompt_order": [{"character_id": 100_001, "order": [on("main"), on("chatHistory")]}],
    })
}

/// A session with a short context, and the model that summarises it.
struct SummarySession {
    play: ApiSession,
    teller: MockModel,
}

impl SummarySession {
    /// Starts a session with automatic summaries.
    async fn start() -> Self {
        let telling = Self::quiet(TestApp::with()).await;
        telling.switch(true).await;
        telling
    }

    /// Starts a session with automatic summaries still off.
    async fn quiet(setup: Setup) -> Self {
        let teller = MockModel::start().await;
        let setup = setup
            .set("providers.2.id", "teller")
            .set("providers.2.base_url", &teller.base_url())
            .set("summaries.share", "30")
            .set("summaries.every", "100")
            .set("summaries.chapter", "2");
        let play = ApiSession::with(setup, json!({})).await;
        play.app.mock().always(Reply::ok(["Night falls over the empty road and nobody speaks for a long while."]));
        teller.always(Reply::ok(["ALPHA: they walked on."]).usage(500, 20));
        let made = play.app.post("/api/presets", &json!({"kind": "openai", "name": "Narrow", "body": narrow()})).await;
        let telling = Self { play, teller };
        telling.set(json!({"presetId": made["id"]})).await;
        telling
    }

    async fn set(&self, change: Value) -> Value {
        let path = format!("/api/sessions/{}", self.play.sid);
        self.play.app.ask("PATCH", &path).json(&change).send().await.expect(200)
    }

    async fn switch(&self, is_on: bool) {
        let summaries = json!({"enabled": is_on, "every": null, "model": "teller/mock"});
        assert_eq!(self.set(json!({"summaries": summaries})).await["summaries"], summaries);
    }

    /// Adds enough filler turns that earlier messages no longer fit, and waits for their summaries.
    async fn wander(&self, miles: usize) -> Vec<TurnIds> {
        let mut said = Vec::new();
        for mile in 0..miles {
            let text = format!("We walk on, mile {mile}, {}", "past dull hedges and grey fields ".repeat(8));
            said.push(self.play.say(&text).await);
            self.settled().await;
        }
        said
    }

    /// Waits until the summariser is idle.
    async fn settled(&self) {
        until("rest", async || self.list("").await["isWorking"] == false).await;
    }

    async fn list(&self, query: &str) -> Value {
        self.play.app.get(&format!("/api/sessions/{}/summaries{query}", self.play.sid)).await
    }

    async fn items(&self) -> Vec<Value> {
        self.list("").await["items"].as_array().unwrap().clone()
    }

    /// Returns the newest prompt of the story.
    fn request(&self) -> Value {
        self.play.app.mock().requests().pop().unwrap()
    }

    /// Returns the summary in the world at a node.
    async fn world(&self, node: &str) -> String {
        let world = self.play.get(&format!("node/{node}/world")).await;
        world["world"]["summary"].as_str().unwrap().to_owned()
    }

    async fn trace(&self, node: &str) -> Value {
        self.play.get(&format!("node/{node}/trace")).await
    }
}

/// Returns the summary block of a prompt; empty if there is none.
pub(super) fn told(request: &Value) -> String {
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
    let play = &telling.play;
    let begin = play.head().await;
    let walked = telling.wander(9).await;
    let last = play.say("Where are we?").await;
    telling.settled().await;
    let block = told(&telling.request());
    assert!(block.contains("ALPHA"), "{}", telling.request());
    assert_eq!(telling.world(&walked[0].reply).await, "");
    let world = telling.world(&last.reply).await;
    assert!(world.starts_with("ALPHA") && block.ends_with(&world), "{world}");
    // Its sources are messages of this branch that the prompt does not have.
    let trace = telling.trace(&last.reply).await;
    assert_eq!(trace["isExact"], true, "{trace}");
    let line = play.line(&last.reply).await;
    let items = telling.items().await;
    for text in trace["summaries"]["texts"].as_array().unwrap() {
        let item = items.iter().find(|item| item["id"] == text["id"]).unwrap();
        let nodes = api_session::ids(&json!(
            item["nodeIds"].as_array().unwrap().iter().map(|id| json!({"id": id})).collect::<Vec<_>>()
        ));
        assert!(nodes.iter().all(|node| line.contains(node)), "{item}");
        assert_eq!((&text["firstId"], &text["lastId"]), (&json!(nodes[0]), &json!(nodes[nodes.len() - 1])));
        let sent = trace["history"].as_array().unwrap();
        assert!(sent.iter().all(|id| !nodes.contains(&id.as_str().unwrap().to_owned())), "{trace}");
    }
    // Another branch from the start.
    telling.teller.always(Reply::ok(["BETA: they sailed."]));
    play.checkout(&begin, true).await;
    telling.wander(7).await;
    let other = play.say("And here?").await;
    telling.settled().await;
    let block = told(&telling.request());
    assert!(block.contains("BETA") && !telling.request().to_string().contains("ALPHA"), "{block}");
    assert!(telling.world(&other.reply).await.starts_with("BETA"));
    assert!(telling.items().await.iter().all(|item| item["content"] == "BETA: they sailed."));
    // Back on the first branch.
    let again = play.say_to(&last.reply, "On with it.").await;
    assert!(!telling.request().to_string().contains("BETA"));
    assert!(telling.world(&again.reply).await.starts_with("ALPHA"));
    play.say_to(&walked[0].reply, "Another way.").await;
    assert_eq!(told(&telling.request()), "", "nothing was out of sight then");
    let then = telling.list(&format!("?nodeId={begin}")).await;
    assert_eq!(then["items"], json!([]), "{then}");
}

/// Domain 6.3, 6.6: the preview equals the sent prompt, and the block stays the same while the history starts at the
/// same message.
#[tokio::test]
async fn summary_in_preview_matches_sent_prompt() {
    let telling = SummarySession::start().await;
    let play = &telling.play;
    for n in 0..4 {
        telling.teller.always(Reply::ok([format!("Chapter {n} of it.")]));
        telling.wander(3).await;
    }
    let (parent, content) = (play.head().await, "Where are we?");
    let preview = play.post("prompt", json!({"parentId": parent, "content": content})).await;
    let said = play.say(content).await;
    assert_eq!(preview["messages"], telling.request()["messages"]);
    assert_eq!(preview["summaries"], telling.trace(&said.reply).await["summaries"]);
    assert!(told(&telling.request()).contains("of it."));
    let begin = |request: &Value| {
        let mut texts = request["messages"].as_array().unwrap().iter().map(|message| message["content"].clone());
        texts.find(|text| text.as_str().unwrap().starts_with("We walk"))
    };
    let requests = play.app.mock().requests();
    let mut stayed = 0;
    for pair in requests.windows(2) {
        let (before, after) = (told(&pair[0]), told(&pair[1]));
        if !before.is_empty() && begin(&pair[0]) == begin(&pair[1]) {
            assert_eq!(before, after);
            stayed += 1;
        }
    }
    assert!(stayed > 0);
    // The macro has the summary of the world.
    let world = telling.world(&said.reply).await;
    play.say("And now?").await;
    assert_eq!(telling.request()["messages"][0]["content"], json!(format!("Tell it. {world}")));
}

/// Summaries are off by default: no model is asked, and prompts have none.
#[tokio::test]
async fn summaries_off_by_default_make_no_request() {
    let telling = SummarySession::quiet(TestApp::with()).await;
    let before = telling.play.session().await["summaries"].clone();
    assert_eq!(before, json!({"enabled": false, "every": null, "model": null}));
    let walked = telling.wander(9).await;
    let last = &walked[8].reply;
    assert_eq!((telling.teller.requests().len(), telling.items().await.len()), (0, 0));
    assert_eq!(
        (telling.trace(last).await["summaries"].clone(), telling.world(last).await),
        (Value::Null, String::new())
    );
    assert_eq!(telling.play.app.mock().requests().len(), 9);
    // Turning them on summarises the whole story at once.
    telling.switch(true).await;
    telling.settled().await;
    assert!(telling.items().await.len() > 2);
    let spent = telling.play.get("spent").await;
    let asked = telling.teller.requests().len();
    assert_eq!((&spent["replies"], &spent["summaries"]), (&json!(9), &json!(asked)));
    assert!(spent["tokenCount"]["prompt"].as_u64().unwrap() >= 500 * asked as u64, "{spent}");
    telling.switch(false).await;
    telling.play.say("Where are we?").await;
    assert_eq!(told(&telling.request()), "");
}

/// A failing model delays no reply. The failure is reported, and the work is done after a restart.
#[tokio::test]
async fn summary_model_failure_is_retried_after_restart() {
    let telling = SummarySession::quiet(TestApp::with()).await;
    telling.teller.always(Reply::error(500, "out of order"));
    telling.switch(true).await;
    for mile in 0..8 {
        let text = format!("We walk on, mile {mile}, {}", "past dull hedges and grey fields ".repeat(8));
        let said = telling.play.say(&text).await;
        assert_eq!(telling.play.get(&format!("node/{}", said.reply)).await["status"], "complete");
    }
    until("a word about it", async || telling.list("").await["problem"].is_string()).await;
    let problem = telling.list("").await["problem"].as_str().unwrap().to_owned();
    assert!(problem.contains("teller/mock"), "{problem}");
    assert_eq!(telling.items().await.len(), 0);
    telling.teller.always(Reply::ok(["GAMMA: at last."]));
    let telling = SummarySession { play: telling.play.restart().await, teller: telling.teller };
    until("a summary", async || !telling.items().await.is_empty()).await;
    telling.settled().await;
    assert_eq!(telling.list("").await["problem"], Value::Null);
    telling.wander(3).await;
    assert!(told(&telling.request()).contains("GAMMA"));
}

/// A summary of messages that were disabled or changed is not used. It is used again when they are back.
#[tokio::test]
async fn summary_of_changed_messages_is_left_out() {
    let telling = SummarySession::start().await;
    let play = &telling.play;
    let walked = telling.wander(9).await;
    play.say("Where are we?").await;
    telling.settled().await;
    let first = telling.items().await[0].clone();
    let source = first["lastId"].as_str().unwrap().to_owned();
    let state = async |is_enabled: bool| {
        play.app.put(&play.chat(&format!("node/{source}/state")), &json!({"isEnabled": is_enabled})).await;
    };
    telling.teller.always(Reply::ok(["DELTA: without it."]));
    state(false).await;
    let find = async || telling.items().await.into_iter().find(|item| item["id"] == first["id"]).unwrap();
    assert_eq!(find().await["isStale"], true);
    let said = play.say("And now?").await;
    telling.settled().await;
    let texts = telling.trace(&said.reply).await["summaries"]["texts"].clone();
    assert!(texts.as_array().unwrap().iter().all(|text| text["id"] != first["id"]), "{texts}");
    // The remaining messages get a new summary.
    assert!(telling.items().await.iter().any(|item| item["content"] == "DELTA: without it."));
    state(true).await;
    assert_eq!(find().await["isStale"], false);
    // An edited message starts another branch, whose prompts have no summary of the old one.
    let edited = play.post(&format!("node/{}/edit", walked[0].user), json!({"content": "We ride."})).await;
    play.done(&id(&edited["generations"][0])).await;
    assert_eq!(told(&telling.request()), "");
}

/// Section 4 rank 11: enough summaries become a chapter with all their messages. With little room it stands for the
/// oldest ones.
#[tokio::test]
async fn summaries_beyond_threshold_merge_into_chapters() {
    let telling = SummarySession::start().await;
    let long = "ALPHA: they walked on and on and on. ".repeat(4);
    telling.teller.always(Reply::ok([long.clone()]));
    telling.wander(10).await;
    let is_chapter = |item: &&Value| item["level"].as_i64().unwrap() > 1;
    let items = telling.items().await;
    let chapter = items.iter().find(is_chapter).unwrap_or_else(|| panic!("{items:?}"));
    let of: Vec<&Value> = items.iter().filter(|item| item["level"] == 1).take(2).collect();
    let sources: Vec<Value> = of.iter().flat_map(|item| item["nodeIds"].as_array().unwrap().clone()).collect();
    assert_eq!(chapter["nodeIds"], json!(sources));
    let asked = telling.teller.requests().into_iter().find(|request| request.to_string().contains("given summaries"));
    assert!(asked.unwrap()["messages"][1]["content"].as_str().unwrap().contains(long.trim()));
    // After a correction the chapter is made again.
    let path = format!("/api/sessions/{}/summaries/", telling.play.sid);
    let app = &telling.play.app;
    let one = format!("{path}{}", id(of[0]));
    let changed = app.ask("PATCH", &one).json(&json!({"content": "EPSILON."})).send().await.expect(200);
    assert_eq!((&changed["content"], &changed["isEdited"]), (&json!("EPSILON."), &json!(true)));
    telling.settled().await;
    assert!(telling.items().await.iter().all(|item| item["id"] != chapter["id"]));
    telling.teller.always(Reply::ok(["ZETA."]));
    telling.wander(4).await;
    let items = telling.items().await;
    assert!(items.iter().any(|item| is_chapter(&item) && item["content"] == "ZETA."), "{items:?}");
    let said = telling.play.say("Where are we?").await;
    let texts = telling.trace(&said.reply).await["summaries"]["texts"].clone();
    let texts = texts.as_array().unwrap();
    assert!(texts.iter().any(|text| text["level"].as_i64().unwrap() > 1), "{texts:?}");
    assert_eq!(texts.last().unwrap()["level"], 1, "the newest are told whole: {texts:?}");
    // A deleted summary is made again.
    app.ask("DELETE", &one).send().await.expect(204);
    app.ask("DELETE", &one).send().await.refused("not_found");
    telling.settled().await;
    let items = telling.items().await;
    assert!(items.iter().any(|item| item["firstId"] == of[0]["firstId"] && item["id"] != of[0]["id"]), "{items:?}");
}

/// Domain 2.16: a purge deletes the summaries of its messages from the disk.
#[tokio::test]
async fn summaries_of_purged_messages_leave_disk() {
    const WORD: &str = "Xylophonebananas";
    let telling = SummarySession::start().await;
    telling.teller.always(Reply::ok([format!("They spoke of {WORD}.")]));
    let walked = telling.wander(8).await;
    telling.settled().await;
    let data = telling.play.app.inside().home().join("data");
    assert!(!telling.items().await.is_empty() && !files_with(&data, WORD).is_empty());
    telling.switch(false).await;
    let purge = json!({"operations": [{"op": "purge", "nodeId": walked[0].user, "confirm": true}]});
    telling.play.app.put(&telling.play.chat("tree/edit"), &purge).await;
    until_gone(&data, WORD).await;
    assert!(telling.play.get("spent").await["summaries"].as_u64().unwrap() > 0, "what it cost stays");
}

#[tokio::test]
async fn summary_invalid_settings_or_foreign_ids_are_refused() {
    let telling = SummarySession::start().await;
    let app = &telling.play.app;
    let path = format!("/api/sessions/{}", telling.play.sid);
    let refused = async |summaries: Value, field: &str| {
        let error = app.ask("PATCH", &path).json(&json!({"summaries": summaries})).send().await.refused("invalid");
        assert_eq!(error["details"]["field"], field, "{error}");
    };
    refused(json!({"enabled": true, "every": 5}), "summaries.every").await;
    refused(json!({"enabled": true, "model": "nobody"}), "summaries.model").await;
    for bad in [json!(true), json!({"every": 500}), json!({"enabled": true, "often": 1})] {
        app.ask("PATCH", &path).json(&json!({"summaries": bad})).send().await.refused("invalid");
    }
    telling.wander(8).await;
    let one = format!("{path}/summaries/{}", id(&telling.items().await[0]));
    app.ask("PATCH", &one).json(&json!({"content": "x".repeat(300_000)})).send().await.refused("invalid");
    app.ask("PATCH", &one).json(&json!({})).send().await.refused("invalid");
    // A summary emptied by the user is not made again.
    let before = telling.items().await.len();
    app.ask("PATCH", &one).json(&json!({"content": " "})).send().await.expect(200);
    telling.settled().await;
    assert_eq!((telling.items().await.len(), telling.items().await[0]["content"].clone()), (before, json!("")));
    // Summaries of other users are not found.
    let stranger = app.stranger().await;
    let theirs = format!("/api/sessions/{}/summaries", stranger.session);
    app.ask("GET", &theirs).send().await.refused("not_found");
    let mine = one.replace(&telling.play.sid, &stranger.session.to_string());
    app.ask("DELETE", &mine).send().await.refused("not_found");
    app.ask("PATCH", &mine).json(&json!({"content": "x"})).send().await.refused("not_found");
    let other = app.session().await;
    let elsewhere = one.replace(&telling.play.sid, &id(&other));
    app.ask("DELETE", &elsewhere).send().await.refused("not_found");
}
