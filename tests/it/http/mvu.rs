//! MVU cards: a card is imported, its values start the story, replies change them, and each branch sends its own to the
//! model.

use super::api_session::ApiSession;
use super::*;

const CARD: &[u8] = include_bytes!("../../fixtures/mvu/lamplighter.json");

/// Starts a session with the card as the page does, without choosing plugins.
async fn start_with_card() -> ApiSession {
    let app = TestServer::start_with(TestApp::setup()).await;
    let came = app.request("POST", "/api/characters/import").bytes(CARD, "application/json").send().await.expect(201);
    assert_eq!(came["metadata"]["clotho"], json!({"plugins": [{"id": "mvu"}]}), "what the page offers to switch on");
    let sid = id_of(&app.post("/api/sessions", &json!({"characterIds": [id_of(&came)]})).await);
    ApiSession { server: app, sid }
}

async fn stat_data(play: &ApiSession, node: &str) -> Value {
    play.get(&format!("node/{node}/world")).await["world"]["vars"]["stat_data"].clone()
}

fn last_request_text(play: &ApiSession) -> String {
    let messages = play.server.mock().requests().last().unwrap()["messages"].clone();
    let text = |one: &Value| one["content"].as_str().unwrap().to_owned();
    messages.as_array().unwrap().iter().map(text).collect::<Vec<_>>().join("\n")
}

const GLAD: &str = "She nods.\n<UpdateVariable><Analysis>kind</Analysis>\n\
    _.add('stat_data.Ilse.trust', 3);//a kind word\n_.set('ilse.Mood', 'calm', 'glad');\n_.set('Ilse.height', 9);\n\
    </UpdateVariable>\n<StatusPlaceHolderImpl/>";
const COLD: &str = "She turns away.\n<UpdateVariable><JSONPatch>```json\n\
    [{\"op\": \"delta\", \"path\": \"/Ilse/trust\", \"value\": -4}, {\"op\": \"insert\", \"path\": \"lamps/lost\", \"value\": 1},]\n\
    ```</JSONPatch></UpdateVariable>";

/// S3-11, S3-18: the card's lorebook sets the initial values. Two replies to one message have separate values. What
/// follows them gets its own values and no machine text.
#[tokio::test]
async fn mvu_values_are_separate_per_branch() {
    let play = start_with_card().await;
    assert_eq!(play.session().await["plugins"][0]["id"], "mvu", "the card brings values: its plugin is on");
    let begun = json!({
        "Ilse": {"trust": 10, "mood": ["calm", "how she feels; changes with what is said"], "met": "You"},
        "lamps": {"lit": 0},
    });
    assert_eq!(stat_data(&play, &play.head().await).await, begun);
    play.server.mock().queue_reply(Reply::ok([GLAD]));
    let said = play.run_turn("You do this well.").await;
    let told = last_request_text(&play);
    let yaml = "Ilse:\n  trust: 10\n  mood:\n    - calm\n    - how she feels; changes with what is said\n  met: You\nlamps:\n  lit: 0\n</status";
    assert!(told.contains(yaml) && told.contains("Trust is 10."), "{told}");
    assert!(told.contains("End with <UpdateVariable>") && told.contains("nine lamps"), "{told}");
    assert!(!told.contains("extensible") && !told.contains("StatusPlaceHolder"), "{told}");

    play.server.mock().queue_reply(Reply::ok([COLD]));
    let other = play.regenerate_and_wait(&said.reply).await;
    assert!(last_request_text(&play).contains("Trust is 10."), "a sibling begins where the first did");
    let (glad, cold) = (stat_data(&play, &said.reply).await, stat_data(&play, &other).await);
    assert_eq!((&glad["Ilse"]["trust"], &glad["Ilse"]["mood"][0]), (&json!(13), &json!("glad")));
    assert_eq!((&cold["Ilse"]["trust"], &cold["lamps"]["lost"]), (&json!(6), &json!(1)));
    assert_eq!(glad["Ilse"]["mood"][1], begun["Ilse"]["mood"][1], "the description stays");

    for (below, trust, other_trust) in
        [(&said.reply, "Trust is 13.", "Trust is 6."), (&other, "Trust is 6.", "Trust is 13.")]
    {
        play.server.mock().queue_reply(Reply::ok(["And the night goes on."]));
        play.run_turn_at(below, "Go on.").await;
        let told = last_request_text(&play);
        assert!(told.contains(trust) && !told.contains(other_trust), "{told}");
        for machine in ["_.add", "JSONPatch", "Analysis", "StatusPlaceHolder"] {
            assert!(!told.contains(machine), "{machine}: {told}");
        }
    }
}

/// S3-18: repaired or rejected changes are noted on the message. Readers see the panel and no commands.
#[tokio::test]
async fn mvu_display_draws_panel_and_notes_rejected_changes() {
    let play = start_with_card().await;
    let first = play.get(&format!("node/{}", play.head().await)).await;
    let panel = "- **Ilse**\n  - **trust**: 10\n  - **mood**: calm\n  - **met**: You\n- **lamps**\n  - **lit**: 0\n";
    assert!(first["display"].as_str().unwrap().ends_with(panel), "{first}");
    play.server.mock().queue_reply(Reply::ok([GLAD]));
    let said = play.run_turn("You do this well.").await;
    let node = play.get(&format!("node/{}", said.reply)).await;
    let shown = node["display"].as_str().unwrap();
    assert!(shown.starts_with("She nods.") && shown.contains("**trust**: 13") && !shown.contains("_.add"), "{shown}");
    assert!(node["content"].as_str().unwrap().contains("_.add"), "the node keeps its text");
    let delta = play.get(&format!("node/{}/delta", said.reply)).await;
    let note = "Variables: 1 of the changes in this reply left out: set Ilse/height: there is no such value";
    assert_eq!(delta["notes"], json!([{"plugin": "mvu", "text": note}]));
    let trace = play.get(&format!("node/{}/trace", said.reply)).await.to_string();
    assert!(trace.contains("read \\\"ilse/Mood\\\" as \\\"Ilse/mood\\\""), "{trace}");
    let own = delta["operations"].as_array().unwrap().iter().find(|operation| operation["by"] == "mvu");
    let trust = json!({"op": "add", "path": "/stat_data/Ilse/trust", "value": 3, "why": "a kind word", "by": "mvu"});
    assert_eq!(own, Some(&trust));
}

/// S3-11: each greeting has its own values, and an edited greeting has those of its text.
#[tokio::test]
async fn mvu_greetings_start_with_own_values() {
    let play = start_with_card().await;
    let first = play.head().await;
    let greetings = play.get(&format!("node/{first}/alternatives")).await;
    let second = id_of(&greetings["items"][1]);
    let own = stat_data(&play, &second).await;
    assert_eq!((&own["Ilse"]["trust"], &own["Ilse"]["mood"]), (&json!(8), &json!("hurried")));
    assert_eq!(stat_data(&play, &first).await["Ilse"]["trust"], 10);
    let shown = greetings["items"][1]["display"].as_str().unwrap();
    assert_eq!(shown, "It rains, and Ilse is late. Trust: 10.");
    play.server.mock().queue_reply(Reply::ok(["She hurries on."]));
    play.run_turn_at(&second, "Wait!").await;
    assert!(
        last_request_text(&play).contains("Trust is 8.") && !last_request_text(&play).contains("initvar"),
        "{}",
        last_request_text(&play)
    );
}

/// S3-11: a plugin enabled later starts from the lorebook and the last message.
#[tokio::test]
async fn mvu_enabled_later_starts_from_lorebook_and_message() {
    let app = TestServer::start_with(TestApp::setup()).await;
    let came = app.request("POST", "/api/characters/import").bytes(CARD, "application/json").send().await.expect(201);
    let fields = json!({"characterIds": [id_of(&came)], "plugins": []});
    let play = ApiSession { sid: id_of(&app.post("/api/sessions", &fields).await), server: app };
    let greeting = play.get(&format!("node/{}", play.head().await)).await;
    assert_eq!(
        greeting["display"], "Ilse lifts her pole. \"Another night.\"",
        "nobody draws a panel, and its place is gone"
    );
    play.server.mock().queue_reply(Reply::ok(["Fine.<UpdateVariable>_.add('Ilse.trust', 1);</UpdateVariable>"]));
    let said = play.run_turn("Hello.").await;
    assert_eq!(stat_data(&play, &said.reply).await, json!(null));
    assert!(
        last_request_text(&play).contains("Trust is .") && !last_request_text(&play).contains("trust: 10"),
        "what begins values is never sent"
    );
    let path = format!("/api/sessions/{}/plugins", play.sid);
    play.server.request("PUT", &path).json(&json!([{"id": "mvu"}])).send().await.expect(200);
    assert_eq!(stat_data(&play, &play.head().await).await["Ilse"]["trust"], 11);
    assert_eq!(stat_data(&play, &said.reply).await, json!(null), "the past stays");
}

/// Unreadable initial values are reported at the import and under the first message. Nothing else is affected.
#[tokio::test]
async fn mvu_unreadable_initvar_is_reported_on_import() {
    let entry = |title: &str, content: &str| json!({"keys": [], "comment": title, "content": content, "enabled": false, "insertion_order": 1, "extensions": {}});
    let entries = [entry("[initvar] wrong", "Ilse: [1, {"), entry("[initvar] right", "lamps: {{roll:1d6}}")];
    let card = json!({"spec": "chara_card_v2", "spec_version": "2.0", "data": {
        "name": "Ilse", "first_mes": "Hello.<initvar>\n- nothing\n</initvar>", "alternate_greetings": ["Good evening."],
        "character_book": {"entries": entries, "extensions": {}}, "extensions": {},
    }});
    let app = TestServer::start_with(TestApp::setup()).await;
    let bytes = card.to_string().into_bytes();
    let came = app.request("POST", "/api/characters/import").bytes(&bytes, "application/json").send().await.expect(201);
    let unread = |item: usize| {
        let findings = came["report"]["items"][item]["findings"].as_array().unwrap().iter();
        findings.filter(|one| one["code"] == "start_unread").map(|one| one["names"].clone()).collect::<Vec<_>>()
    };
    assert_eq!((unread(0), unread(1)), (vec![json!(["<initvar>"])], vec![json!(["[initvar] wrong"])]), "{came}");
    let sid = id_of(&app.post("/api/sessions", &json!({"characterIds": [id_of(&came)]})).await);
    let play = ApiSession { server: app, sid };
    let told = play.get(&format!("node/{}", play.head().await)).await["problems"].clone();
    let lines: Vec<_> =
        told.as_array().unwrap().iter().map(|one| (&one["code"], one["message"].as_str().unwrap())).collect();
    let [(code, book), (_, own)] = lines.as_slice() else { panic!("{told}") };
    assert_eq!(*code, "start_unread");
    assert!(
        book.starts_with("\"[initvar] wrong\" is neither") && own.starts_with("\"<initvar>\" is neither"),
        "{told}"
    );
    assert!(stat_data(&play, &play.head().await).await["lamps"].is_number(), "the other one began");
}
