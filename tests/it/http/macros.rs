//! Macros in cards and messages: their writes last for one prompt, except for values that a schema declares. A preview
//! equals the sent prompt.

use super::api_session::ApiSession;
use super::*;

/// Starts a session with a card and the plugin *combat*, which has hit points.
async fn play(card: Value) -> ApiSession {
    let app = TestServer::with(TestApp::with()).await;
    let character = app.character(&card).await;
    let fields = json!({"characterIds": [character], "plugins": [{"id": "combat"}]});
    let sid = id(&app.post("/api/sessions", &fields).await);
    ApiSession { app, sid }
}

/// Returns messages of a request or of a preview as pairs of role and text.
fn told(messages: &Value) -> Vec<(String, String)> {
    let text = |one: &Value, key: &str| one[key].as_str().unwrap().to_owned();
    messages.as_array().unwrap().iter().map(|one| (text(one, "role"), text(one, "content"))).collect()
}

fn last_sent(play: &ApiSession) -> Vec<(String, String)> {
    told(&play.app.mock().requests().last().unwrap()["messages"])
}

async fn hp(play: &ApiSession, node: &str) -> Value {
    play.get(&format!("node/{node}/world")).await["world"]["vars"]["combat"]["hp"].clone()
}

fn card() -> Value {
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
    let play = play(card()).await;
    let said = play.say("I wait. {{getvar::mood}}").await;
    let sent = last_sent(&play);
    assert!(sent[0].1.starts_with("Be grey.\n\nYou has 35 of 40."), "{sent:?}");
    assert!(sent.iter().any(|(_, text)| text == "I wait. grey"), "{sent:?}");
    assert!(sent.last().unwrap().1.starts_with("grey ") && sent.last().unwrap().1.ends_with("{{unheard::Rin}}"));
    let node = play.get(&format!("node/{}", said.user)).await;
    assert_eq!(node["content"], "I wait. {{getvar::mood}}", "a fact");
    let delta = play.get(&format!("node/{}/delta", said.reply)).await;
    let operation =
        json!({"op": "set", "path": "/combat/hp", "value": 35, "why": "a macro in the prompt", "by": "server"});
    assert_eq!(delta["operations"], json!([operation]));
    assert_eq!((hp(&play, &said.user).await, hp(&play, &said.reply).await), (json!(40), json!(35)));
    assert_eq!(play.get(&format!("node/{}/world", said.reply)).await["world"]["vars"]["mood"], json!(null));
    let sibling = play.another(&said.reply).await;
    assert!(last_sent(&play)[0].1.contains("has 35"), "a sibling does not see it");
    assert_eq!(hp(&play, &sibling).await, 35);
    let edited = play.post(&format!("node/{}/edit", said.reply), json!({"content": "Other words."})).await;
    assert_eq!(hp(&play, &id(&edited["node"])).await, 35, "other words change nothing of it");
    let next = play.say_to(&sibling, "And now?").await;
    assert_eq!(hp(&play, &next.reply).await, 30, "what comes below does");
}

/// S3-17, `domain.md` 6.6: the preview equals the sent prompt, random draws included, and writes nothing.
#[tokio::test]
async fn prompt_preview_with_macros_matches_sent_prompt() {
    let play = play(card()).await;
    let before = (play.session().await, play.nodes().await);
    let asked = json!({"parentId": play.head().await, "content": "I wait. {{lastMessage}}"});
    let preview = play.post("prompt", asked.clone()).await;
    assert_eq!((play.session().await, play.nodes().await), before);
    assert_eq!(play.post("prompt", asked).await["messages"], preview["messages"], "and again");
    let said = play.say("I wait. {{lastMessage}}").await;
    assert_eq!(last_sent(&play), told(&preview["messages"]));
    let waiting = play.post("prompt", json!({"parentId": said.user})).await;
    let another = play.another(&said.reply).await;
    assert_eq!(last_sent(&play), told(&waiting["messages"]));
    assert_ne!(waiting["messages"], preview["messages"], "another reply has other chance");
    let slots = |trace: &Value| {
        trace["blueprint"].as_array().unwrap().iter().map(|block| block["slot"].clone()).collect::<Vec<_>>()
    };
    let trace = play.get(&format!("node/{another}/trace")).await;
    assert_eq!((slots(&trace), &trace["history"]), (slots(&waiting), &waiting["history"]));
    for refused in [json!({"parentId": said.reply}), json!({"parentId": said.user, "content": " "})] {
        let field = play.refused("POST", "prompt", refused, "invalid").await["details"]["field"].clone();
        assert_eq!(field, "content");
    }
    let nobody = json!({"parentId": "018f3e2a-0000-7000-8000-0000000000aa", "content": "x"});
    assert_eq!(play.refused("POST", "prompt", nobody, "not_found").await["details"]["field"], "parentId");
}

/// `domain.md` 6.5: a trace rebuilds the filled-in texts, in the history too, and lists macros that stayed as text.
#[tokio::test]
async fn trace_rebuilds_prompt_with_macros_exactly() {
    let play = play(card()).await;
    play.app.mock().script(Reply::ok(["{{char}} nods to <USER>. {{setvar::mood::blue}}{{getvar::mood}}"]));
    play.say("{{user}} asks {{char}}: {{random::x::y::z}}{{roll::1d20}}?").await;
    let second = play.say("{{unheard}} plain").await;
    let trace = play.get(&format!("node/{}/trace", second.reply)).await;
    assert_eq!(trace["isExact"], true, "{trace}");
    assert_eq!(told(&trace["messages"]), last_sent(&play));
    assert!(last_sent(&play).iter().any(|(_, text)| text == "Rin nods to You. blue"), "{:?}", last_sent(&play));
    assert_eq!((&trace["macros"]["names"], &trace["macros"]["left"]), (&json!(["You", "Rin"]), &json!(["unheard"])));
}
