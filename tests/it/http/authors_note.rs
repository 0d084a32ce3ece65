//! The author's note: its position, its interval, the lore around it, and invalid notes.

use super::api_session::ApiSession;
use super::*;

fn rin_card() -> Value {
    json!({"name": "Rin", "firstMessage": "Hello."})
}

/// Starts a session with a card and an author's note.
async fn start_with_note(card: Value, note: Value) -> ApiSession {
    let app = TestServer::start().await;
    let character = app.create_character(&card).await;
    let sid = id_of(&app.post("/api/sessions", &json!({"characterIds": [character]})).await);
    let play = ApiSession { server: app, sid };
    let session = patch_session(&play, json!({"authorsNote": note})).await;
    assert_eq!(session["authorsNote"]["text"], note["text"]);
    play
}

async fn patch_session(play: &ApiSession, change: Value) -> Value {
    play.server.request("PATCH", &format!("/api/sessions/{}", play.sid)).json(&change).send().await.expect(200)
}

/// Returns the texts of the newest request, last message first.
fn messages_newest_first(play: &ApiSession) -> Vec<(String, String)> {
    let request = play.server.mock().requests().pop().unwrap();
    let text = |message: &Value, key: &str| message[key].as_str().unwrap().to_owned();
    let all = request["messages"].as_array().unwrap().iter().rev();
    all.map(|message| (text(message, "role"), text(message, "content"))).collect()
}

fn depth_of_text(play: &ApiSession, text: &str) -> Option<usize> {
    messages_newest_first(play).iter().position(|(_, sent)| sent.contains(text))
}

/// S4-51: a note is at its position with its macros filled in. Preview and trace have it, and no node does.
#[tokio::test]
async fn authors_note_is_inserted_at_its_position() {
    let play = start_with_note(rin_card(), json!({"text": "{{char}} is afraid.", "depth": 1})).await;
    play.run_turn("Hi.").await;
    let parent = play.head().await;
    let preview = play.post("prompt", json!({"parentId": parent, "content": "Again."})).await;
    let said = play.run_turn("Again.").await;
    let sent_now = messages_newest_first(&play);
    assert!(sent_now[0].1.contains("Again."), "{sent_now:?}");
    assert_eq!(depth_of_text(&play, " is afraid."), Some(1), "{sent_now:?}");
    assert!(!sent_now[1].1.contains("{{char}}") && sent_now[1].0 == "system", "{sent_now:?}");
    let trace = play.get(&format!("node/{}/trace", said.reply)).await;
    let request = play.server.mock().requests().pop().unwrap();
    assert_eq!((&trace["messages"], &trace["isExact"]), (&request["messages"], &json!(true)));
    assert_eq!(preview["messages"], request["messages"]);
    let note = trace["blueprint"].as_array().unwrap().iter().find(|block| block["slot"] == "authorsNote").cloned();
    assert_eq!(note.expect("a block of its own")["source"], "session", "{trace}");
    let nodes = play.get("projection").await.to_string();
    assert!(!nodes.contains("is afraid."), "{nodes}");
    for (to, expected) in [("beforeMain", true), ("afterMain", false)] {
        patch_session(&play, json!({"authorsNote": {"text": "Keep it dark.", "place": to}})).await;
        play.run_turn("On.").await;
        let first = messages_newest_first(&play).pop().unwrap().1;
        let note = first.find("Keep it dark.").unwrap_or_else(|| panic!("{first}"));
        assert_eq!(note == 0, expected, "{to}: {first}");
    }
    patch_session(&play, json!({"authorsNote": null})).await;
    play.run_turn("And now?").await;
    assert_eq!(depth_of_text(&play, "dark"), None);
}

/// The note appears with every nth user message of the path, so each branch counts separately.
#[tokio::test]
async fn authors_note_interval_counts_user_messages_per_branch() {
    let play = start_with_note(rin_card(), json!({"text": "Keep it dark.", "every": 2})).await;
    let mut came = Vec::new();
    let mut replies = Vec::new();
    for n in 0..4 {
        replies.push(play.run_turn(&format!("Word {n}.")).await.reply);
        came.push(depth_of_text(&play, "Keep it dark.").is_some());
    }
    assert_eq!(came, [false, true, false, true]);
    play.run_turn_at(&replies[0], "Another second word.").await;
    assert!(depth_of_text(&play, "Keep it dark.").is_some());
    patch_session(&play, json!({"authorsNote": {"text": "Keep it dark.", "every": 0}})).await;
    play.run_turn("On.").await;
    assert_eq!(depth_of_text(&play, "Keep it dark."), None);
}

/// S3-16: lore above or below the note is placed around it. Its keys are searched in the note if the note allows it.
#[tokio::test]
async fn authors_note_lore_is_placed_above_or_below() {
    let entry = |uid: u64, text: &str, position: u64| json!({"uid": uid, "key": ["lamp"], "content": text, "position": position});
    let book = json!({"name": "Coast", "entries": [entry(1, "The lamp burns oil.", 2), entry(2, "Oil is dear.", 3)]});
    let play = start_with_note(rin_card(), json!({"text": "Mind the lamp.", "depth": 0, "lore": false})).await;
    let made = play.server.post("/api/lorebooks", &book).await;
    play.server.put(&format!("/api/lorebooks/{}/holds", id_of(&made)), &json!({"sessionIds": [play.sid]})).await;
    play.run_turn("Hi.").await;
    assert_eq!(depth_of_text(&play, "burns oil"), None);
    patch_session(&play, json!({"authorsNote": {"text": "Mind the lamp.", "depth": 0, "lore": true}})).await;
    play.run_turn("Hi again.").await;
    let all = messages_newest_first(&play);
    assert!(all[0].1.contains("The lamp burns oil.\nMind the lamp.\nOil is dear."), "{all:?}");
}

/// The note of a card is added to the session's note, if it was on in SillyTavern.
#[tokio::test]
async fn authors_note_of_card_joins_session_note() {
    let kept = |is_on: bool| json!({"name": "Rin", "metadata": {"sillytavern": {"note": {"prompt": "Rin limps.", "useChara": is_on, "position": 2}}}});
    let play = start_with_note(kept(true), json!({"text": "Keep it dark.", "depth": 0})).await;
    play.run_turn("Hi.").await;
    assert!(depth_of_text(&play, "Keep it dark.\nRin limps.").is_some(), "{:?}", messages_newest_first(&play));
    patch_session(&play, json!({"authorsNote": null})).await;
    play.run_turn("Hi.").await;
    assert!(depth_of_text(&play, "Rin limps.").is_some());
    let play = start_with_note(kept(false), json!({"text": "Keep it dark."})).await;
    play.run_turn("Hi.").await;
    assert_eq!(depth_of_text(&play, "Rin limps."), None);
}

/// An invalid note is refused and nothing changes. A note can be removed again.
#[tokio::test]
async fn authors_note_invalid_returns_error_and_changes_nothing() {
    let play = start_with_note(rin_card(), json!({"text": "Keep it dark."})).await;
    let before = play.session().await["authorsNote"].clone();
    let own =
        json!({"text": "Keep it dark.", "place": "inChat", "depth": 4, "role": "system", "every": 1, "lore": false});
    assert_eq!(before, own);
    for bad in [
        json!("Keep it dark."),
        json!(["Keep it dark."]),
        json!({}),
        json!({"text": "  "}),
        json!({"text": "x".repeat(100_001)}),
        json!({"text": "a", "place": "above"}),
        json!({"text": "a", "depth": -1}),
        json!({"text": "a", "depth": 10_001}),
        json!({"text": "a", "every": 10_001}),
        json!({"text": "a", "role": "narrator"}),
        json!({"text": "a", "order": 1}),
    ] {
        let ask =
            play.server.request("PATCH", &format!("/api/sessions/{}", play.sid)).json(&json!({"authorsNote": bad}));
        let refused = ask.send().await.expect_error("invalid");
        assert!(
            refused["details"]["field"].as_str().is_some_and(|field| field.contains("authorsNote")),
            "{bad}: {refused}"
        );
        assert_eq!(play.session().await["authorsNote"], before);
    }
    patch_session(&play, json!({"authorsNote": null})).await;
    play.server.post(&format!("/api/chat/{}/undo", play.sid), &json!({})).await;
    assert_eq!(play.session().await["authorsNote"], before);
}

/// Domain 6.2: a note at the very end, or deeper than the messages that fit, takes no room from the newest message. A
/// note without room says so in the trace.
#[tokio::test]
async fn authors_note_without_room_leaves_newest_message_whole() {
    let play = start_with_note(rin_card(), json!({"text": "Keep it dark.", "depth": 0})).await;
    play.run_turn("Hi.").await;
    let long = "word ".repeat(8_000);
    let said = play.run_turn(&long).await;
    assert!(
        depth_of_text(&play, &long).is_some(),
        "{:?}",
        messages_newest_first(&play).iter().map(|(_, text)| text.len()).collect::<Vec<_>>()
    );
    let trace = play.get(&format!("node/{}/trace", said.reply)).await;
    let left = |slot: &str| {
        let all = trace["blueprint"].as_array().unwrap().iter();
        all.filter(|block| block["slot"] == slot && block["why"] == "budget").count()
    };
    assert_eq!((left("authorsNote"), &trace["isExact"]), (1, &json!(true)), "{trace}");
    let play = start_with_note(rin_card(), json!({"text": "Keep it dark.", "depth": 6})).await;
    for n in 0..5 {
        play.server.mock().queue_reply(Reply::ok(["She waits. ".repeat(800).as_str()]));
        play.run_turn(&format!("Word {n}. {}", "and on ".repeat(1_000))).await;
    }
    let all = messages_newest_first(&play);
    assert!(all.len() < 7 && depth_of_text(&play, "Keep it dark.").is_some_and(|at| at > 0), "{}", all.len());
}

/// Machine tags are stripped from model text only: a user's text is sent unchanged.
#[tokio::test]
async fn user_text_in_machine_tags_is_sent_unchanged() {
    let play = ApiSession::start().await;
    play.run_turn("I write <think> in my text and go on.").await;
    assert_eq!(depth_of_text(&play, "I write <think> in my text and go on."), Some(0));
}
