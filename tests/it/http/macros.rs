//! Macros in cards and messages: their writes last for one prompt, except for values that a schema declares. A preview
//! equals the sent prompt.

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

fn macro_card() -> Value {
    json!({
        "name": "Rin", "firstMessage": "{{user}}, hello. {{unheard}}",
        "systemPrompt": "{{setvar::mood::grey}}Be {{getvar::mood}}.{{addvar::combat.hp::-5}}",
        "description": "{{user}} has {{getvar::combat.hp}} of {{getvar::none}}40.",
        "postHistoryInstructions": "{{getvar::mood}} {{roll::1d1000}} {{random::a::b::c}} {{date}} {{unheard::{{char}}}}",
    })
}

/// `domain.md` 6.4: macro writes are visible later in the same prompt and nowhere else. A declared value becomes one
/// operation on the reply, and a sibling starts from the same world.
#[tokio::test]
async fn macro_setvar_persists_declared_values_only() {
    let play = start_with_card(macro_card()).await;
    let said = play.run_turn("I wait. {{getvar::mood}}").await;
    let sent = last_request_messages(&play);
    assert!(sent[0].1.starts_with("Be grey.\n\nYou has 35 of 40."), "{sent:?}");
    assert!(sent.iter().any(|(_, text)| text == "I wait. grey"), "{sent:?}");
    assert!(sent.last().unwrap().1.starts_with("grey ") && sent.last().unwrap().1.ends_with("{{unheard::Rin}}"));
    let node = play.get(&format!("node/{}", said.user_node)).await;
    assert_eq!(node["content"], "I wait. {{getvar::mood}}", "a fact");
    let delta = play.get(&format!("node/{}/delta", said.reply)).await;
    let operation =
        json!({"op": "set", "path": "/combat/hp", "value": 35, "why": "a macro in the prompt", "by": "server"});
    assert_eq!(delta["operations"], json!([operation]));
    assert_eq!((hp(&play, &said.user_node).await, hp(&play, &said.reply).await), (json!(40), json!(35)));
    assert_eq!(play.get(&format!("node/{}/world", said.reply)).await["world"]["vars"]["mood"], json!(null));
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
