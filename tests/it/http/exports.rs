//! Exports of single branches as files for other programs and for readers.

use super::api_session::ApiSession;
use super::*;
use crate::support::client::HttpResponse;

pub async fn export_session(app: &TestServer, sid: &str, rest: &str) -> HttpResponse {
    let heard = app.request("GET", &format!("/api/sessions/{sid}/export{rest}")).send().await;
    assert_eq!(heard.status, 200, "{}", heard.text());
    heard
}

/// Returns the rows of a chat file.
fn parse_rows(heard: &HttpResponse) -> Vec<Value> {
    heard.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Starts a story with rerolls, a disabled message and markup in its texts.
async fn create_sample_session() -> (ApiSession, String) {
    let play = ApiSession::start_with(TestApp::setup(), json!({"title": "Lamp & <Key> / 灯"})).await;
    play.server.mock().queue_reply(Reply::ok(["<think>Hm.</think>*waves* <b>no</b>"]).usage(5, 7));
    let first = play.run_turn("I look\naround.").await;
    play.regenerate_and_wait(&first.reply).await;
    play.checkout(&first.reply, true).await;
    let second = play.run_turn("A mistake.").await;
    play.server.put(&play.chat_path(&format!("node/{}/state", second.user_node)), &json!({"isEnabled": false})).await;
    (play, first.reply)
}

/// S4-53: in an exported chat the siblings of a reply are swipes chosen by index, with consistent fields. Disabled
/// messages are hidden, and other branches are left out.
#[tokio::test]
async fn export_sillytavern_chat_has_siblings_as_swipes() {
    let (play, first) = create_sample_session().await;
    let file = export_session(&play.server, &play.sid, "?format=sillytavern").await;
    assert_eq!(file.header("content-type"), Some("application/jsonl"));
    assert!(file.header("content-disposition").unwrap().contains(".jsonl"));
    assert!(!file.text().ends_with('\n'));
    let lines = parse_rows(&file);
    assert_eq!(lines[0]["user_name"], "unused");
    let told = |row: &Value| (row["name"].clone(), row["is_user"].clone(), row["is_system"].clone());
    assert_eq!(told(&lines[1]), (json!("Rin"), json!(false), json!(false)));
    let nodes = play.nodes().await;
    let who = nodes[&first]["parentId"].as_str().unwrap();
    let you = nodes[who]["name"].as_str().unwrap_or("User");
    assert_eq!(told(&lines[2]), (json!(you), json!(true), json!(false)));
    assert_eq!((lines[2]["mes"].as_str(), lines[2].get("swipes")), (Some("I look\naround."), None));
    let reply = &lines[3];
    let swipes = reply["swipes"].as_array().unwrap();
    assert_eq!((swipes.len(), &reply["swipe_id"], &swipes[0]), (2, &json!(0), &reply["mes"]));
    assert_eq!((&reply["mes"], &reply["extra"]["reasoning"]), (&json!("*waves* <b>no</b>"), &json!("Hm.")));
    assert_eq!(reply["swipe_info"][0]["extra"], reply["extra"]);
    assert_eq!(reply["swipe_info"].as_array().unwrap().len(), 2);
    assert_eq!((&reply["extra"]["token_count"], &reply["send_date"]), (&json!(7), &nodes[&first]["timestamp"]));
    assert_eq!(told(&lines[4]).2, true);
    assert_eq!(lines.len(), 6);

    let short = export_session(&play.server, &play.sid, &format!("?format=sillytavern&leaf={first}")).await;
    assert_eq!(self::parse_rows(&short).len(), 4);
}

/// S4-53: for readers a branch is Markdown that shows every text as written, or a self-contained page in which no text
/// is active.
#[tokio::test]
async fn export_markdown_and_html_escape_text() {
    let (play, _) = create_sample_session().await;
    let markdown = export_session(&play.server, &play.sid, "?format=markdown").await;
    assert_eq!(markdown.header("content-type"), Some("text/markdown; charset=utf-8"));
    let text = markdown.text();
    assert!(text.starts_with("# Lamp \\& \\<Key\\> / 灯\n\nRin"), "{text}");
    assert!(text.contains("I look\\\naround.\n\n**Rin**\n\n\\*waves\\* \\<b\\>no\\</b\\>\n\n"), "{text}");
    assert!(!text.contains("Hm.") && !text.contains("mistake"), "{text}");

    let html = export_session(&play.server, &play.sid, "?format=html").await;
    assert_eq!(html.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(html.header("content-disposition").unwrap().starts_with("attachment"));
    let text = html.text();
    assert!(text.contains("<title>Lamp &amp; &lt;Key&gt; / 灯</title>"), "{text}");
    assert!(text.contains("<em>waves</em> &lt;b&gt;no&lt;/b&gt;"), "{text}");
    assert!(text.contains("default-src 'none'") && text.ends_with("</html>\n"), "{text}");
    assert!(!text.contains("<script") && !text.contains("mistake"), "{text}");
}

/// S0-05: the page embeds the pictures of the characters.
#[tokio::test]
async fn export_html_embeds_character_avatar() {
    let play = ApiSession::start().await;
    let cid = play.session().await["characterIds"][0].as_str().unwrap().to_owned();
    let picture = clotho_compat::interop::picture::png_or_placeholder(None);
    let kept =
        play.server.request("PUT", &format!("/api/characters/{cid}/avatar")).bytes(&picture, "image/png").send().await;
    assert_eq!(kept.status, 200, "{}", kept.text());
    let html = export_session(&play.server, &play.sid, "?format=html").await.text();
    assert!(html.contains("<img alt=\"\" src=\"data:image/jpeg;base64,") && html.contains("<bdi>Rin</bdi>"), "{html}");
}

/// Domain 9: only one's own branches are exported. An id that is no leaf of one is refused with its field.
#[tokio::test]
async fn export_of_foreign_or_unknown_leaf_is_refused() {
    let (play, first) = create_sample_session().await;
    let characters = play.session().await["characterIds"].clone();
    let other = play.server.post("/api/sessions", &json!({"characterIds": characters})).await;
    let elsewhere = other["activeLeafId"].as_str().unwrap();
    let ask = |rest: String| {
        let address = format!("/api/sessions/{}/export{rest}", play.sid);
        play.server.request("GET", &address).send()
    };
    for (rest, field) in [
        (format!("?leaf={first}"), "leaf"),
        (format!("?format=html&leaf={elsewhere}"), "leaf"),
        ("?format=html&leaf=x".to_owned(), "leaf"),
        ("?format=pdf".to_owned(), "format"),
        ("?form=html".to_owned(), "form"),
    ] {
        let refused = ask(rest.clone()).await.expect_error("invalid");
        assert_eq!(refused["details"]["field"], field, "{rest}");
    }
    let nobody = "/api/sessions/00000000-0000-7000-8000-000000000000/export?format=html";
    play.server.request("GET", nobody).send().await.expect_error("not_found");
}

/// S4-53, S0-05: an archive has everything of the caller and nothing of other users. SillyTavern and another Clotho
/// server can import it, and importing it here adds nothing.
#[tokio::test]
async fn export_archive_imports_into_another_server() {
    let (play, _) = create_sample_session().await;
    let packed = play.server.request("GET", "/api/export?format=sillytavern").send().await;
    assert_eq!((packed.status, packed.header("content-type")), (200, Some("application/zip")), "{}", packed.text());
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(packed.body.clone())).unwrap();
    let names: Vec<String> = archive.file_names().map(|name| name.unwrap().into_owned()).collect();
    assert!(
        names.contains(&"characters/Rin.png".to_owned()) && names.contains(&"settings.json".to_owned()),
        "{names:?}"
    );
    let chat = names.iter().find(|name| name.starts_with("chats/Rin/")).unwrap().clone();
    let text = std::io::read_to_string(archive.by_name(&chat).unwrap()).unwrap();
    let line = export_session(&play.server, &play.sid, "?format=sillytavern").await;
    assert_eq!(text, line.text());

    let here = import_archive(&play.server, &packed.body).await;
    assert_eq!(
        (&here["sessions"], &here["messages"], &here["characters"]),
        (&json!(0), &json!(0), &json!(0)),
        "{here}"
    );
    let other = TestServer::start().await;
    let there = import_archive(&other, &packed.body).await;
    assert_eq!(
        (&there["sessions"], &there["characters"], &there["skipped"]),
        (&json!(1), &json!(1), &json!(0)),
        "{there}"
    );
    let sid = other.get("/api/sessions").await["items"][0]["id"].as_str().unwrap().to_owned();
    let came = export_session(&other, &sid, "?format=markdown").await.text();
    assert_eq!(came, export_session(&play.server, &play.sid, "?format=markdown").await.text());
    play.server.request("GET", "/api/export?format=zip").send().await.expect_error("invalid");
}

/// Imports an archive and returns the totals of the report.
async fn import_archive(app: &TestServer, archive: &[u8]) -> Value {
    let begun = app.request("POST", "/api/import").bytes(archive, "application/zip").send().await.expect(202);
    let job = app.wait_for_job(begun["jobId"].as_str().unwrap()).await;
    assert_eq!(job["state"], "done", "{job}");
    job["result"]["report"]["totals"].clone()
}

/// Presets of the same name get different file names, also if the names differ only in case.
#[tokio::test]
async fn export_presets_with_same_name_get_numbered_files() {
    let app = TestServer::start().await;
    for (kind, name) in [("openai", "Nice"), ("openai", "nice"), ("openai", "Nice"), ("instruct", "Nice")] {
        app.post("/api/presets", &json!({"kind": kind, "name": name, "body": {"temperature": 1}})).await;
    }
    let packed = app.request("GET", "/api/export?format=sillytavern").send().await;
    assert_eq!(packed.status, 200, "{}", packed.text());
    let archive = zip::ZipArchive::new(std::io::Cursor::new(packed.body.clone())).unwrap();
    let names: Vec<String> = archive.file_names().map(|name| name.unwrap().into_owned()).collect();
    for name in ["OpenAI Settings/Nice.json", "OpenAI Settings/nice 2.json", "OpenAI Settings/Nice 3.json"] {
        assert!(names.iter().any(|there| there == name), "{name} of {names:?}");
    }
    assert!(names.iter().any(|there| there == "instruct/Nice.json"), "{names:?}");
    let here = import_archive(&app, &packed.body).await;
    assert_eq!(here["presets"], 0, "{here}");
}
