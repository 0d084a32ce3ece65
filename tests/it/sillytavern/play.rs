//! An imported session continues over HTTP.

use jiff::tz::TimeZone;
use serde_json::json;

use super::*;
use crate::http::api_session::ApiSession;
use crate::support::app::TestApp;
use crate::support::data_root::{DataRoot, greeting, header, lines, said, swipes, with_state};
use crate::support::mock_model::Reply;
use crate::support::server::TestServer;

/// Returns a server with the imported data of a folder.
async fn with(root: &DataRoot) -> TestServer {
    let app = TestServer::with(TestApp::with()).await;
    let inside = app.inside().shared();
    let wish = ImportOptions {
        owner: inside.owner,
        at: inside.clock.now(),
        zone: TimeZone::UTC,
        is_dry: false,
        limits: ArchiveLimits::for_archive(64 << 20),
    };
    import(&inside.store, &inside.ids, ImportSource::Path(root.path().to_owned()), wish, |_| true).await.unwrap();
    app
}

/// Returns the session with this title.
async fn story(app: TestServer, title: &str) -> ApiSession {
    let list = app.get("/api/sessions").await;
    let session = list["items"].as_array().unwrap().iter().find(|one| one["title"] == title).unwrap().clone();
    ApiSession { app, sid: session["id"].as_str().unwrap().to_owned() }
}

/// S4-61: imported regular expressions and global variables apply to new messages. What they did to a message there is
/// not done again.
#[tokio::test]
async fn imported_scripts_and_variables_apply_to_new_messages() {
    let root = DataRoot::new();
    root.card("Ivo");
    let script = |find: &str, replace: &str, key: &str| json!({"scriptName": find, "findRegex": find, "replaceString": replace, "placement": [1], key: true});
    let scripts =
        [script("/lamp/g", "LAMP", "x"), script("/oil/g", "OIL", "promptOnly"), script("/door/g", "DOOR", "runOnEdit")];
    let all = json!({"regex": scripts, "variables": {"global": {"gold": "7"}}});
    root.file("settings.json", &json!({"extension_settings": all}).to_string());
    root.chat("Ivo", "Night", &[header(json!({})), greeting(), said("lamp, oil, door", 1), swipes(&["Yes."], 0, 2)]);
    let play = story(with(&root).await, "Night").await;
    let preset = json!({"kind": "openai", "name": "Own", "body": {"prompts": [], "names_behavior": -1}});
    let preset = play.app.post("/api/presets", &preset).await;
    let path = format!("/api/sessions/{}", play.sid);
    play.app.ask("PATCH", &path).json(&json!({"presetId": preset["id"]})).send().await.expect(200);
    let texts = || {
        let request = play.app.mock().requests().pop().unwrap();
        let users = request["messages"].as_array().unwrap().iter().filter(|one| one["role"] == "user");
        users.map(|one| one["content"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    play.say("lamp, oil, door, {{$gold}}").await;
    assert_eq!(texts(), ["lamp, OIL, door", "LAMP, OIL, DOOR, 7"]);
    let shown = play.get("projection").await;
    let imported = shown["items"][1]["id"].as_str().unwrap().to_owned();
    let edited = play.post(&format!("node/{imported}/edit"), json!({"content": "A lamp, oil, door"})).await;
    play.done(edited["generations"][0]["id"].as_str().unwrap()).await;
    assert_eq!(texts(), ["A lamp, OIL, DOOR"]);
    let own = play.say("lamp").await;
    let edited = play.post(&format!("node/{}/edit", own.user), json!({"content": "A lamp, oil, door"})).await;
    play.done(edited["generations"][0]["id"].as_str().unwrap()).await;
    assert_eq!(texts().last().unwrap(), "A LAMP, OIL, DOOR");
}

/// S4-53, S1-01: an imported session opens and continues, one of its replies is regenerated, and its world goes back.
#[tokio::test]
async fn imported_session_can_be_continued_and_swiped() {
    // A chat with variables, imported.
    let root = DataRoot::new();
    root.card("Ivo");
    let oil = |n: i64| json!({"oil": n});
    let rows = [
        header(json!({})),
        with_state(greeting(), &[oil(10)]),
        with_state(said("I light the lamp.", 1), &[oil(10)]),
        with_state(swipes(&["It is dark.", "It burns."], 1, 2), &[oil(9), oil(8)]),
    ];
    root.chat("Ivo", "Night", &rows);
    let play = story(with(&root).await, "Night").await;
    let shown = play.get("projection").await;
    let texts: Vec<&str> =
        shown["items"].as_array().unwrap().iter().map(|node| node["content"].as_str().unwrap()).collect();
    assert_eq!(texts, ["Good evening.", "I light the lamp.", "It burns."]);
    let last = shown["items"][2].clone();
    assert_eq!((&last["siblings"]["index"], &last["siblings"]["count"]), (&json!(1), &json!(2)));
    assert_eq!(last["name"], "Ivo");
    let burning = last["id"].as_str().unwrap().to_owned();

    // Continue, and reroll an imported reply.
    play.app.mock().script(Reply::ok(["It goes on."]));
    let turn = play.say("I wait.").await;
    assert_eq!(play.get(&format!("node/{}", turn.reply)).await["content"], "It goes on.");
    let sent = play.app.mock().requests().pop().unwrap().to_string();
    assert!(sent.contains("It burns.") && sent.contains("Keeps the lamps.") && !sent.contains("It is dark."), "{sent}");
    play.app.mock().script(Reply::ok(["It flickers."]));
    let other = play.another(&burning).await;
    assert_eq!(play.get(&format!("node/{other}")).await["content"], "It flickers.");
    let siblings = play.get(&format!("node/{other}?expand=world")).await;
    assert_eq!(siblings["world"]["vars"]["stat_data"]["oil"], 10, "before it was answered: {siblings}");

    // The world of each node.
    let dark = last["siblings"]["ids"][0].as_str().unwrap();
    for (node, expected) in [(burning.as_str(), 8), (dark, 9), (turn.reply.as_str(), 8)] {
        play.checkout(node, true).await;
        let world = play.get(&format!("node/{node}/world")).await;
        assert_eq!(world["world"]["vars"]["stat_data"]["oil"], expected, "{world}");
    }
    // Back at the greeting, with its world.
    let greeting = shown["items"][0]["id"].as_str().unwrap().to_owned();
    play.checkout(&greeting, true).await;
    assert_eq!(play.get(&format!("node/{greeting}/world")).await["world"]["vars"]["stat_data"]["oil"], 10);
    // Search finds new and imported replies.
    crate::http::search_until(&play.app, "flickers", 1).await;
    crate::http::search_until(&play.app, "burns", 1).await;
}

/// Uploads a file and waits until its job is over.
pub async fn sent(app: &TestServer, query: &str, bytes: &[u8]) -> Value {
    let ask = app.ask("POST", &format!("/api/import{query}")).bytes(bytes, "application/zip");
    app.over(ask.send().await.expect(202)["jobId"].as_str().unwrap()).await
}

/// S4-53: an uploaded archive is imported while other requests run, and its job has the report, also after a restart.
/// An invalid archive fails with a reason, and another content type is refused.
#[tokio::test]
async fn archive_upload_runs_job_with_report() {
    let app = TestServer::with(TestApp::with()).await;
    let chat = super::hostile::chat();
    let archive = super::hostile::packed(&[
        ("default-user/characters/Ivo.json", br#"{"name": "Ivo"}"#),
        ("default-user/chats/Ivo/Night.jsonl", chat.as_bytes()),
    ]);
    let job = sent(&app, "", &archive).await;
    assert_eq!((&job["state"], &job["result"]["sessionId"]), (&json!("done"), &Value::Null), "{job}");
    let report = job["result"]["report"].clone();
    assert_eq!((&report["totals"]["sessions"], &report["totals"]["messages"]), (&json!(1), &json!(2)));
    assert_eq!(report["report"]["items"][1]["name"], "Night");
    let again = sent(&app, "?name=all.zip", &archive).await;
    assert_eq!(again["result"]["report"]["totals"]["unchanged"], 1);
    let single = sent(&app, "?name=Alone.jsonl", chat.as_bytes()).await;
    assert_eq!(single["result"]["report"]["totals"]["sessions"], 1, "{single}");
    let none = sent(&app, "", b"hello").await;
    assert_eq!((&none["state"], &none["error"]["code"]), (&json!("failed"), &json!("invalid")), "{none}");
    assert!(none["error"]["message"].as_str().unwrap().contains("it is not an archive"), "{none}");
    let bad_list = super::hostile::packed(&[("clotho.json", b"{"), ("chats/Ivo/Other.jsonl", chat.as_bytes())]);
    let refused = sent(&app, "", &bad_list).await;
    assert_eq!((&refused["state"], &refused["error"]["code"]), (&json!("failed"), &json!("invalid")), "{refused}");
    let hint = refused["error"]["hint"].as_str().unwrap();
    assert!(
        hint.contains("correct it") && refused["error"]["message"].as_str().unwrap().contains("clotho.json"),
        "{hint}"
    );
    app.ask("POST", "/api/import").bytes(b"{}", "text/plain").send().await.refused("unsupported_media");
    app.ask("POST", "/api/import?nome=x").bytes(b"x", "application/zip").send().await.refused("invalid");
    let app = app.restart().await;
    let told = app.get(&format!("/api/jobs/{}", job["id"].as_str().unwrap())).await;
    assert_eq!((&told["state"], &told["result"]["report"]), (&json!("done"), &report));
    let titles = app.get("/api/sessions").await;
    assert!(titles["items"].as_array().unwrap().iter().any(|session| session["title"] == "Alone"), "{titles}");
}

/// S4-53: a dry run only returns the report. Old dates are read in the requested time zone, and an invalid time zone
/// is refused.
#[tokio::test]
async fn chat_upload_dry_run_only_reports() {
    let app = TestServer::with(TestApp::with()).await;
    let mut row = said("Who is there?", 1);
    row["send_date"] = json!("June 19, 2023 2:20pm");
    let chat = lines(&[header(json!({})), greeting(), row]);
    let name = "?name=Night.jsonl&utcOffset=5.5";
    let looked = sent(&app, &format!("{name}&dryRun=true"), chat.as_bytes()).await;
    assert_eq!(looked["result"]["report"]["totals"]["sessions"], 1, "{looked}");
    assert_eq!(app.get("/api/sessions").await["items"], json!([]), "nothing is written");
    sent(&app, name, chat.as_bytes()).await;
    let id = app.get("/api/sessions").await["items"][0]["id"].as_str().unwrap().to_owned();
    let line = app.get(&format!("/api/chat/{id}/projection")).await;
    assert!(line["items"][1]["timestamp"].as_str().unwrap().starts_with("2023-06-19T08:50:00"), "{line}");
    for wrong in ["utcOffset=26", "utcOffset=-40", "utcOffset=NaN", "utcOffset=east", "dryRun=perhaps"] {
        let ask = app.ask("POST", &format!("/api/import?{wrong}")).bytes(b"x", "application/zip");
        ask.send().await.refused("invalid");
    }
}

/// S4-53: a cancelled job ends early, or just before its end. What was imported until then stays, and a repeated
/// upload imports the rest. A finished or unknown job cannot be cancelled.
#[tokio::test]
async fn import_job_cancelled_can_be_repeated() {
    let app = TestServer::with(TestApp::with()).await;
    let texts: Vec<String> =
        (0..200).map(|n| lines(&[header(json!({})), greeting(), said(&format!("Night {n}"), n)])).collect();
    let names: Vec<String> = (0..200).map(|n| format!("chats/Ivo/{n}.jsonl")).collect();
    let files: Vec<(&str, &[u8])> =
        names.iter().zip(&texts).map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
    let archive = super::hostile::packed(&files);
    let begun = app.ask("POST", "/api/import").bytes(&archive, "application/zip").send().await.expect(202);
    let job = begun["jobId"].as_str().unwrap().to_owned();
    let cancel = || app.ask("DELETE", &format!("/api/jobs/{job}")).send();
    let was_cancelled = cancel().await.status == 204;
    let ended = app.over(&job).await;
    assert!(was_cancelled || ended["state"] == "done", "{ended}");
    if ended["state"] == "cancelled" {
        assert_eq!((&ended["result"], &ended["error"]["code"]), (&Value::Null, &json!("conflict")), "{ended}");
    }
    cancel().await.refused("conflict");
    let nothing = "/api/jobs/018f3e2a-0000-7000-8000-0000000000aa";
    app.ask("DELETE", nothing).send().await.refused("not_found");
    let again = sent(&app, "", &archive).await;
    assert_eq!(again["state"], "done", "{again}");
    let all = app.get("/api/sessions?limit=500").await;
    assert_eq!(all["items"].as_array().unwrap().len(), 200);
}
