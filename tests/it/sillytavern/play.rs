//! An imported session continues over HTTP.

use jiff::tz::TimeZone;
use serde_json::json;

use super::*;
use crate::http::api_session::ApiSession;
use crate::support::app::TestApp;
use crate::support::data_root::{
    DataRoot, chat_file_text, greeting_row, header_row, swipes_row, user_row, with_variables,
};
use crate::support::mock_model::Reply;
use crate::support::server::TestServer;

/// Returns a server with the imported data of a folder.
pub async fn start_with_import(root: &DataRoot) -> TestServer {
    let app = TestServer::start_with(TestApp::setup()).await;
    let inside = app.app().shared_app();
    let wish = ImportOptions {
        owner: inside.owner,
        language: Default::default(),
        at: inside.clock.now(),
        zone: TimeZone::UTC,
        is_dry: false,
        is_trusted: true,
        limits: ArchiveLimits::for_archive(64 << 20),
    };
    import(&inside.store, &inside.ids, ImportSource::Path(root.path().to_owned()), wish, |_| true).await.unwrap();
    app
}

/// Returns the session with this title.
pub async fn open_session(app: TestServer, title: &str) -> ApiSession {
    let list = app.get("/api/sessions").await;
    let session = list["items"].as_array().unwrap().iter().find(|one| one["title"] == title).unwrap().clone();
    ApiSession { server: app, sid: session["id"].as_str().unwrap().to_owned() }
}

/// Imported regular expressions and global variables apply to new messages. What they did to a message there is
/// not done again.
#[tokio::test]
async fn imported_scripts_and_variables_apply_to_new_messages() {
    let root = DataRoot::new();
    root.write_card("Ivo");
    let script = |find: &str, replace: &str, key: &str| json!({"scriptName": find, "findRegex": find, "replaceString": replace, "placement": [1], key: true});
    let scripts =
        [script("/lamp/g", "LAMP", "x"), script("/oil/g", "OIL", "promptOnly"), script("/door/g", "DOOR", "runOnEdit")];
    let all = json!({"regex": scripts, "variables": {"global": {"gold": "7"}}});
    root.write_file("settings.json", &json!({"extension_settings": all}).to_string());
    root.write_chat(
        "Ivo",
        "Night",
        &[header_row(json!({})), greeting_row(), user_row("lamp, oil, door", 1), swipes_row(&["Yes."], 0, 2)],
    );
    let play = open_session(start_with_import(&root).await, "Night").await;
    let preset = json!({"kind": "openai", "name": "Own", "body": {"prompts": [], "names_behavior": -1}});
    let preset = play.server.post("/api/presets", &preset).await;
    let path = format!("/api/sessions/{}", play.sid);
    play.server.request("PATCH", &path).json(&json!({"presetId": preset["id"]})).send().await.expect(200);
    let texts = || {
        let request = play.server.mock().requests().pop().unwrap();
        let users = request["messages"].as_array().unwrap().iter().filter(|one| one["role"] == "user");
        users.map(|one| one["content"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    play.run_turn("lamp, oil, door, {{$gold}}").await;
    assert_eq!(texts(), ["lamp, OIL, door", "LAMP, OIL, DOOR, 7"]);
    let shown = play.get("projection").await;
    let imported = shown["items"][1]["id"].as_str().unwrap().to_owned();
    let edited = play.post(&format!("node/{imported}/edit"), json!({"content": "A lamp, oil, door"})).await;
    play.wait_for_reply(edited["generations"][0]["id"].as_str().unwrap()).await;
    assert_eq!(texts(), ["A lamp, OIL, DOOR"]);
    let own = play.run_turn("lamp").await;
    let edited = play.post(&format!("node/{}/edit", own.user_node), json!({"content": "A lamp, oil, door"})).await;
    play.wait_for_reply(edited["generations"][0]["id"].as_str().unwrap()).await;
    assert_eq!(texts().last().unwrap(), "A LAMP, OIL, DOOR");
}

/// S4-53, S1-01: an imported session opens and continues, one of its replies is regenerated, and its world goes back.
#[tokio::test]
async fn imported_session_can_be_continued_and_swiped() {
    // A chat with variables, imported.
    let root = DataRoot::new();
    root.write_card("Ivo");
    let oil = |n: i64| json!({"oil": n});
    let rows = [
        header_row(json!({})),
        with_variables(greeting_row(), &[oil(10)]),
        with_variables(user_row("I light the lamp.", 1), &[oil(10)]),
        with_variables(swipes_row(&["It is dark.", "It burns."], 1, 2), &[oil(9), oil(8)]),
    ];
    root.write_chat("Ivo", "Night", &rows);
    let play = open_session(start_with_import(&root).await, "Night").await;
    let shown = play.get("projection").await;
    let texts: Vec<&str> =
        shown["items"].as_array().unwrap().iter().map(|node| node["content"].as_str().unwrap()).collect();
    assert_eq!(texts, ["Good evening.", "I light the lamp.", "It burns."]);
    let last = shown["items"][2].clone();
    assert_eq!((&last["siblings"]["index"], &last["siblings"]["count"]), (&json!(1), &json!(2)));
    assert_eq!(last["name"], "Ivo");
    let burning = last["id"].as_str().unwrap().to_owned();

    // Continue, and reroll an imported reply.
    play.server.mock().queue_reply(Reply::ok(["It goes on."]));
    let turn = play.run_turn("I wait.").await;
    assert_eq!(play.get(&format!("node/{}", turn.reply)).await["content"], "It goes on.");
    let sent = play.server.mock().requests().pop().unwrap().to_string();
    assert!(sent.contains("It burns.") && sent.contains("Keeps the lamps.") && !sent.contains("It is dark."), "{sent}");
    play.server.mock().queue_reply(Reply::ok(["It flickers."]));
    let other = play.regenerate_and_wait(&burning).await;
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
    crate::http::search_until(&play.server, "flickers", 1).await;
    crate::http::search_until(&play.server, "burns", 1).await;
}

/// The variables of a chat and the state of its messages survive edits, other replies and continued ones, also at the
/// greeting.
#[tokio::test]
async fn imported_state_survives_edits_and_other_replies() {
    let root = DataRoot::new();
    root.write_card("Ivo");
    let oil = |n: i64| json!({"oil": n});
    let rows = [
        header_row(json!({"variables": {"hp": "7"}})),
        with_variables(greeting_row(), &[oil(10)]),
        with_variables(user_row("I light the lamp.", 1), &[oil(9)]),
        with_variables(swipes_row(&["It burns."], 0, 2), &[oil(8)]),
    ];
    root.write_chat("Ivo", "Night", &rows);
    let play = open_session(start_with_import(&root).await, "Night").await;
    let shown = play.get("projection").await;
    let ids: Vec<&str> = shown["items"].as_array().unwrap().iter().map(|node| node["id"].as_str().unwrap()).collect();
    let vars = async |node: &str| play.get(&format!("node/{node}/world")).await["world"]["vars"].clone();
    let state = |n: i64| json!({"hp": "7", "stat_data": {"oil": n}});
    // Edits keep the state of their old version.
    for (node, body, n) in [
        (ids[0], json!({"content": "Good morning."}), 10),
        (ids[0], json!({"content": "Good night.", "carry": true}), 10),
        (ids[1], json!({"content": "I light it."}), 9),
        (ids[2], json!({"content": "It glows."}), 8),
    ] {
        let edited = play.post(&format!("node/{node}/edit"), body).await;
        assert_eq!(vars(edited["node"]["id"].as_str().unwrap()).await, state(n), "{edited}");
        if let Some(reply) = edited["generations"][0]["id"].as_str() {
            play.wait_for_reply(reply).await;
        }
    }
    // Another reply and a continued one begin with the state before them.
    let other = play.regenerate_and_wait(ids[2]).await;
    assert_eq!(vars(&other).await, state(9));
    let longer = play.post(&format!("node/{}/continue", ids[2]), json!({})).await;
    let longer = play.wait_for_reply(longer["generations"][0]["id"].as_str().unwrap()).await;
    assert_eq!(vars(longer["id"].as_str().unwrap()).await, state(9));
}

/// Uploads a file and waits until its job is over.
pub async fn run_import_job(app: &TestServer, query: &str, bytes: &[u8]) -> Value {
    let ask = app.request("POST", &format!("/api/import{query}")).bytes(bytes, "application/zip");
    app.wait_for_job(ask.send().await.expect(202)["jobId"].as_str().unwrap()).await
}

/// S4-53: an uploaded archive is imported while other requests run, and its job has the report, also after a restart.
/// An invalid archive fails with a reason, and another content type is refused.
#[tokio::test]
async fn archive_upload_runs_job_with_report() {
    let app = TestServer::start_with(TestApp::setup()).await;
    let chat = super::hostile::two_message_chat();
    let archive = super::hostile::zip_archive(&[
        ("default-user/characters/Ivo.json", br#"{"name": "Ivo"}"#),
        ("default-user/chats/Ivo/Night.jsonl", chat.as_bytes()),
    ]);
    let job = run_import_job(&app, "", &archive).await;
    assert_eq!((&job["state"], &job["result"]["sessionId"]), (&json!("done"), &Value::Null), "{job}");
    let report = job["result"]["report"].clone();
    assert_eq!((&report["totals"]["sessions"], &report["totals"]["messages"]), (&json!(1), &json!(2)));
    assert_eq!(report["report"]["items"][1]["name"], "Night");
    let again = run_import_job(&app, "?name=all.zip", &archive).await;
    assert_eq!(again["result"]["report"]["totals"]["unchanged"], 1);
    let single = run_import_job(&app, "?name=Alone.jsonl", chat.as_bytes()).await;
    assert_eq!(single["result"]["report"]["totals"]["sessions"], 1, "{single}");
    let none = run_import_job(&app, "", b"hello").await;
    assert_eq!((&none["state"], &none["error"]["code"]), (&json!("failed"), &json!("invalid")), "{none}");
    assert!(none["error"]["message"].as_str().unwrap().contains("it is not an archive"), "{none}");
    let bad_list = super::hostile::zip_archive(&[("clotho.json", b"{"), ("chats/Ivo/Other.jsonl", chat.as_bytes())]);
    let refused = run_import_job(&app, "", &bad_list).await;
    assert_eq!((&refused["state"], &refused["error"]["code"]), (&json!("failed"), &json!("invalid")), "{refused}");
    let hint = refused["error"]["hint"].as_str().unwrap();
    assert!(
        hint.contains("correct it") && refused["error"]["message"].as_str().unwrap().contains("clotho.json"),
        "{hint}"
    );
    app.request("POST", "/api/import").bytes(b"{}", "text/plain").send().await.expect_error("unsupported_media");
    app.request("POST", "/api/import?nome=x").bytes(b"x", "application/zip").send().await.expect_error("invalid");
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
    let app = TestServer::start_with(TestApp::setup()).await;
    let mut row = user_row("Who is there?", 1);
    row["send_date"] = json!("June 19, 2023 2:20pm");
    let chat = chat_file_text(&[header_row(json!({})), greeting_row(), row]);
    let name = "?name=Night.jsonl&utcOffset=5.5";
    let looked = run_import_job(&app, &format!("{name}&dryRun=true"), chat.as_bytes()).await;
    assert_eq!(looked["result"]["report"]["totals"]["sessions"], 1, "{looked}");
    assert_eq!(app.get("/api/sessions").await["items"], json!([]), "nothing is written");
    run_import_job(&app, name, chat.as_bytes()).await;
    let id = app.get("/api/sessions").await["items"][0]["id"].as_str().unwrap().to_owned();
    let line = app.get(&format!("/api/chat/{id}/projection")).await;
    assert!(line["items"][1]["timestamp"].as_str().unwrap().starts_with("2023-06-19T08:50:00"), "{line}");
    for wrong in ["utcOffset=26", "utcOffset=-40", "utcOffset=NaN", "utcOffset=east", "dryRun=perhaps"] {
        let ask = app.request("POST", &format!("/api/import?{wrong}")).bytes(b"x", "application/zip");
        ask.send().await.expect_error("invalid");
    }
}

/// S4-53: a cancelled job ends early, or just before its end. What was imported until then stays, and a repeated
/// upload imports the rest. A finished or unknown job cannot be cancelled.
#[tokio::test]
async fn import_job_cancelled_can_be_repeated() {
    let app = TestServer::start_with(TestApp::setup()).await;
    let texts: Vec<String> = (0..200)
        .map(|n| chat_file_text(&[header_row(json!({})), greeting_row(), user_row(&format!("Night {n}"), n)]))
        .collect();
    let names: Vec<String> = (0..200).map(|n| format!("chats/Ivo/{n}.jsonl")).collect();
    let files: Vec<(&str, &[u8])> =
        names.iter().zip(&texts).map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
    let archive = super::hostile::zip_archive(&files);
    let begun = app.request("POST", "/api/import").bytes(&archive, "application/zip").send().await.expect(202);
    let job = begun["jobId"].as_str().unwrap().to_owned();
    let cancel = || app.request("DELETE", &format!("/api/jobs/{job}")).send();
    let was_cancelled = cancel().await.status == 204;
    let ended = app.wait_for_job(&job).await;
    assert!(was_cancelled || ended["state"] == "done", "{ended}");
    if ended["state"] == "cancelled" {
        assert_eq!((&ended["result"], &ended["error"]["code"]), (&Value::Null, &json!("conflict")), "{ended}");
    }
    cancel().await.expect_error("conflict");
    let nothing = "/api/jobs/018f3e2a-0000-7000-8000-0000000000aa";
    app.request("DELETE", nothing).send().await.expect_error("not_found");
    let again = run_import_job(&app, "", &archive).await;
    assert_eq!(again["state"], "done", "{again}");
    let all = app.get("/api/sessions?limit=500").await;
    assert_eq!(all["items"].as_array().unwrap().len(), 200);
}
