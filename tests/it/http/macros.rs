//! Macros in cards and messages: what they write is recorded with the reply or the greeting. A preview equals the sent
//! prompt.

use super::api_session::ApiSession;
use super::*;

/// Starts a session with a card and the plugin *combat*, which has hit points.
async fn start_with_card(card: Value) -> ApiSession {
    let app = TestServer::start_with(TestApp::setup()).await;
    let character = app.create_character(&card).await;
    let fields = json!({"characterIds": [character], "plugins": [{"id": "combat"}]});
    let sid = id_of(&app.post("/api/sessions", &fields).await);
    ApiSession { server: app, sid }
}

/// Returns messages of a request or of a preview as pairs of role and text.
fn role_text_pairs(messages: &Value) -> Vec<(String, String)> {
    let text = |one: &Value, key: &str| one[key].as_str().unwrap().to_owned();
    messages.as_array().unwrap().iter().map(|one| (text(one, "role"), text(one, "content"))).collect()
}

fn last_request_messages(play: &ApiSession) -> Vec<(String, String)> {
    role_text_pairs(&play.server.mock().requests().last().unwrap()["messages"])
}

async fn hp(play: &ApiSession, node: &str) -> Value {
    play.get(&format!("node/{node}/world")).await["world"]["vars"]["combat"]["hp"].clone()
}

/// Returns a variable of the state at a node.
async fn variable(play: &ApiSession, node: &str, path: &str) -> Value {
    let state = play.get(&format!("node/{node}/world")).await;
    state["world"]["vars"].pointer(path).cloned().unwrap_or_default()
}

/// Returns the text of the first message of the last request.
fn system_prompt(play: &ApiSession) -> String {
    last_request_messages(play)[0].1.clone()
}

fn macro_card() -> Value {
    json!({
        "name": "Rin", "firstMessage": "{{user}}, hello. {{unheard}}",
        "systemPrompt": "{{setvar::mood::grey}}Be {{getvar::mood}}.{{addvar::combat.hp::-5}}",
        "description": "{{user}} has {{getvar::combat.hp}} of {{getvar::none}}40.",
        "postHistoryInstructions": "{{getvar::mood}} {{roll::1d1000}} {{random::a::b::c}} {{date}} {{unheard::{{char}}}}",
    })
}

/// `domain.md` 6.4: what macros write becomes operations on the reply, and a sibling starts from the same world.
#[tokio::test]
async fn macro_setvar_is_recorded_with_the_reply() {
    let play = start_with_card(macro_card()).await;
    let said = play.run_turn("I wait. {{getvar::mood}}").await;
    let sent = last_request_messages(&play);
    assert!(sent[0].1.starts_with("Be grey.\n\nYou has 35 of 40."), "{sent:?}");
    assert!(sent.iter().any(|(_, text)| text == "I wait. grey"), "{sent:?}");
    assert!(sent.last().unwrap().1.starts_with("grey ") && sent.last().unwrap().1.ends_with("{{unheard::Rin}}"));
    let node = play.get(&format!("node/{}", said.user_node)).await;
    assert_eq!(node["content"], "I wait. {{getvar::mood}}", "a fact");
    let delta = play.get(&format!("node/{}/delta", said.reply)).await;
    let operations = delta["operations"].as_array().unwrap();
    for (path, value) in [("/combat/hp", json!(35)), ("/mood", json!("grey"))] {
        let set = json!({"op": "set", "path": path, "value": value, "why": "a macro in the prompt", "by": "server"});
        assert!(operations.contains(&set), "{set} {delta}");
    }
    assert_eq!(operations.len(), 2, "{delta}");
    let trace = play.get(&format!("node/{}/trace", said.reply)).await;
    assert_eq!(trace["macros"]["written"].as_array().map(Vec::len), Some(2), "{trace}");
    assert_eq!((hp(&play, &said.user_node).await, hp(&play, &said.reply).await), (json!(40), json!(35)));
    assert_eq!(variable(&play, &said.reply, "/mood").await, "grey");
    assert_eq!(variable(&play, &said.user_node, "/mood").await, json!(null));
    let sibling = play.regenerate_and_wait(&said.reply).await;
    assert!(last_request_messages(&play)[0].1.contains("has 35"), "a sibling does not see it");
    assert_eq!(hp(&play, &sibling).await, 35);
    let edited = play.post(&format!("node/{}/edit", said.reply), json!({"content": "Other words."})).await;
    assert_eq!(hp(&play, &id_of(&edited["node"])).await, 35, "other words change nothing of it");
    let next = play.run_turn_at(&sibling, "And now?").await;
    assert_eq!(hp(&play, &next.reply).await, 30, "what comes below does");
}

/// S3-17, `domain.md` 6.6: the preview equals the sent prompt, random draws included, and writes nothing.
#[tokio::test]
async fn prompt_preview_with_macros_matches_sent_prompt() {
    let play = start_with_card(macro_card()).await;
    let before = (play.session().await, play.nodes().await);
    let asked = json!({"parentId": play.head().await, "content": "I wait. {{lastMessage}}"});
    let preview = play.post("prompt", asked.clone()).await;
    assert_eq!((play.session().await, play.nodes().await), before);
    assert_eq!(play.post("prompt", asked).await["messages"], preview["messages"], "and again");
    let said = play.run_turn("I wait. {{lastMessage}}").await;
    assert_eq!(last_request_messages(&play), role_text_pairs(&preview["messages"]));
    let waiting = play.post("prompt", json!({"parentId": said.user_node})).await;
    let another = play.regenerate_and_wait(&said.reply).await;
    assert_eq!(last_request_messages(&play), role_text_pairs(&waiting["messages"]));
    assert_ne!(waiting["messages"], preview["messages"], "another reply has other chance");
    let slots = |trace: &Value| {
        trace["blueprint"].as_array().unwrap().iter().map(|block| block["slot"].clone()).collect::<Vec<_>>()
    };
    let trace = play.get(&format!("node/{another}/trace")).await;
    assert_eq!((slots(&trace), &trace["history"]), (slots(&waiting), &waiting["history"]));
    for refused in [json!({"parentId": said.reply}), json!({"parentId": said.user_node, "content": " "})] {
        let field = play.expect_error("POST", "prompt", refused, "invalid").await["details"]["field"].clone();
        assert_eq!(field, "content");
    }
    let nobody = json!({"parentId": "018f3e2a-0000-7000-8000-0000000000aa", "content": "x"});
    assert_eq!(play.expect_error("POST", "prompt", nobody, "not_found").await["details"]["field"], "parentId");
}

/// `domain.md` 6.5: a trace rebuilds the filled-in texts, in the history too, and lists macros that stayed as text.
#[tokio::test]
async fn trace_rebuilds_prompt_with_macros_exactly() {
    let play = start_with_card(macro_card()).await;
    play.server.mock().queue_reply(Reply::ok(["{{char}} nods to <USER>. {{setvar::mood::blue}}{{getvar::mood}}"]));
    play.run_turn("{{user}} asks {{char}}: {{random::x::y::z}}{{roll::1d20}}?").await;
    let second = play.run_turn("{{unheard}} plain").await;
    let trace = play.get(&format!("node/{}/trace", second.reply)).await;
    assert_eq!(trace["isExact"], true, "{trace}");
    assert_eq!(role_text_pairs(&trace["messages"]), last_request_messages(&play));
    assert!(
        last_request_messages(&play).iter().any(|(_, text)| text == "Rin nods to You. blue"),
        "{:?}",
        last_request_messages(&play)
    );
    assert_eq!((&trace["macros"]["names"], &trace["macros"]["left"]), (&json!(["You", "Rin"]), &json!(["unheard"])));
}

/// What a greeting chooses is in its text, in the card's texts and in each later prompt of its branch.
#[tokio::test]
async fn macro_variable_of_a_greeting_lasts_on_its_branch() {
    let choice =
        "{{setvar::coat::{{random::red::blue::green}}}}{{addvar::coins::7}}{{incvar::coins}}{{incglobalvar::met}}";
    let play = start_with_card(json!({
        "name": "Mira",
        "firstMessage": format!("{choice} Mira waves in her {{{{getvar::coat}}}} coat."),
        "alternateGreetings": ["{{setvar::coat::grey}}Mira sleeps."],
        "systemPrompt": "She wears a {{getvar::coat}} coat, has {{getvar::coins}} coins, met {{getglobalvar::met}}.",
    }))
    .await;
    let greeting = play.head().await;
    let text = play.get(&format!("node/{greeting}")).await["content"].as_str().unwrap().to_owned();
    let coat = text.split(' ').rev().nth(1).unwrap().to_owned();
    assert!(["red", "blue", "green"].contains(&coat.as_str()), "{text}");
    let expected = format!("She wears a {coat} coat, has 8 coins, met 1.");
    for _ in 0..2 {
        play.run_turn("Hello.").await;
        assert!(system_prompt(&play).starts_with(&expected), "{}", system_prompt(&play));
    }
    let delta = play.get(&format!("node/{greeting}/delta")).await;
    assert_eq!(delta["operations"][0]["why"], "a macro in the greeting");
    let nodes = play.nodes().await;
    let other = nodes.values().find(|node| node["content"] == "Mira sleeps.").map(id_of).unwrap();
    play.checkout(&other, true).await;
    play.run_turn_at(&other, "Hello.").await;
    assert!(system_prompt(&play).starts_with("She wears a grey coat, has  coins, met ."), "{}", system_prompt(&play));
}

/// A counter counts each turn once: another reply, a preview, and another branch see the value before.
#[tokio::test]
async fn macro_counter_counts_each_turn_once() {
    let play = start_with_card(json!({
        "name": "Rin", "firstMessage": "Hello.",
        "systemPrompt": "Turn {{incvar::turns}}, left {{decvar::left}}, all {{incglobalvar::all}}.",
    }))
    .await;
    let start = play.head().await;
    let mut turns = Vec::new();
    for turn in 1..=3 {
        let preview = play.post("prompt", json!({"parentId": play.head().await, "content": "On."})).await;
        turns.push(play.run_turn("On.").await);
        let expected = format!("Turn {turn}, left {}, all {turn}.", -turn);
        assert!(system_prompt(&play).starts_with(&expected), "{}", system_prompt(&play));
        assert_eq!(last_request_messages(&play), role_text_pairs(&preview["messages"]));
    }
    let second = play.regenerate_and_wait(&turns[1].reply).await;
    assert!(system_prompt(&play).starts_with("Turn 2,"), "{}", system_prompt(&play));
    assert_eq!(variable(&play, &second, "/turns").await, 2);
    play.run_turn_at(&second, "On.").await;
    assert!(system_prompt(&play).starts_with("Turn 3,"), "{}", system_prompt(&play));
    play.run_turn_at(&start, "Again.").await;
    assert!(system_prompt(&play).starts_with("Turn 1,"), "{}", system_prompt(&play));
    assert_eq!(variable(&play, &turns[0].user_node, "/turns").await, json!(null));
    assert_eq!(variable(&play, &turns[2].reply, "/turns").await, json!(3));
}

/// Macros of a new message count once, although older messages run theirs again in each prompt.
#[tokio::test]
async fn macro_writes_of_a_message_last_from_its_turn_on() {
    let play = start_with_card(json!({
        "name": "Rin", "firstMessage": "Hello.", "systemPrompt": "Seen {{getvar::seen}}, mood {{getvar::mood}}.",
    }))
    .await;
    play.server.mock().queue_reply(Reply::ok(["Well. {{setvar::mood::blue}}"]));
    play.run_turn("{{incvar::seen}} I come in.").await;
    for _ in 0..2 {
        play.run_turn("On.").await;
        assert!(system_prompt(&play).starts_with("Seen 1, mood ."), "{}", system_prompt(&play));
    }
}

/// Dates are those of the person who writes: the zone of the request, that of the messages before, or the server's.
#[tokio::test]
async fn macro_time_is_in_the_zone_of_the_person() {
    let setup = TestApp::setup().set("generation.time_zone", "+01:00");
    let app = TestServer::start_with(setup).await;
    let card =
        json!({"name": "Rin", "firstMessage": "{{datetimeformat::Z}}", "systemPrompt": "Zone {{datetimeformat::Z}}."});
    let character = app.create_character(&card).await;
    let fields = json!({"characterIds": [character], "timeZone": "+09:00"});
    let sid = id_of(&app.post("/api/sessions", &fields).await);
    let play = ApiSession { server: app, sid };
    let greeting = play.head().await;
    assert_eq!(play.get(&format!("node/{greeting}")).await["content"], "+09:00");
    let asked = json!({"parentId": greeting, "content": "Hi.", "timeZone": "-03:30"});
    let preview = play.post("prompt", asked.clone()).await;
    let mut message = asked.as_object().unwrap().clone();
    message.insert("generate".into(), true.into());
    let started = play.post("message", message.into()).await;
    let reply = id_of(&started["generations"][0]);
    play.wait_for_reply(&reply).await;
    assert!(system_prompt(&play).starts_with("Zone -03:30."), "{}", system_prompt(&play));
    assert_eq!(last_request_messages(&play), role_text_pairs(&preview["messages"]));
    assert_eq!(started["node"]["metadata"]["timeZone"], "-03:30");
    play.regenerate_and_wait(&reply).await;
    assert!(system_prompt(&play).starts_with("Zone -03:30."), "{}", system_prompt(&play));
    play.run_turn("On.").await;
    assert!(system_prompt(&play).starts_with("Zone +01:00."), "{}", system_prompt(&play));
    for path in ["message", "prompt"] {
        let wrong = json!({"parentId": greeting, "content": "Hi.", "timeZone": "Mars/Olympus"});
        let error = play.expect_error("POST", path, wrong, "invalid").await;
        assert_eq!(error["details"]["field"], "timeZone");
    }
}
