//! Export and import of whole sessions between servers, as their owner sees them.

use super::api_session::ApiSession;
use super::*;
use crate::support::archive_file::{compress_text, pack_lines, read_lines, write_long_session};
use crate::support::client::HttpResponse;
use crate::support::data_root::DataRoot;
use clotho_core::clock::{TestClock, Time};
use clotho_core::tree::{NodeMetadata, ReplyFacts};
use clotho_engine::transfer::sillytavern::{self, ImportOptions, ImportSource};
use clotho_engine::transfer::{ImportProgress, SessionImportOptions, import};
use clotho_store::archive::ArchiveLimits;
use jiff::tz::TimeZone;
use std::sync::Arc;

/// Starts an unrelated server, whose ids come from another time.
pub async fn start_unrelated_server() -> TestServer {
    TestServer::start_with(TestApp::setup().clock(Arc::new(TestClock::new(Time(1_800_000_000_000))))).await
}

pub async fn export_session(app: &TestServer, sid: &str) -> HttpResponse {
    let heard = app.request("GET", &format!("/api/sessions/{sid}/export")).send().await;
    assert_eq!(heard.status, 200, "{}", heard.text());
    heard
}

/// Imports a file and returns its finished job.
pub async fn run_import_job(app: &TestServer, file: &[u8]) -> Value {
    let heard = app.request("POST", "/api/sessions/import?trust=true").bytes(file, "application/zstd").send().await;
    let job = heard.expect(202)["jobId"].as_str().unwrap().to_owned();
    app.wait_for_job(&job).await
}

pub async fn import_session(app: &TestServer, file: &[u8]) -> String {
    let job = run_import_job(app, file).await;
    assert_eq!((&job["state"], &job["error"]), (&json!("done"), &Value::Null), "{job}");
    assert!(job["done"] == job["total"] && job["total"].as_u64().unwrap() > 0, "{job}");
    job["result"]["sessionId"].as_str().unwrap().to_owned()
}

/// Returns everything that the owner sees of a session, without the owner's id.
async fn dump_session(app: &TestServer, sid: &str) -> String {
    let chat = |rest: &str| format!("/api/chat/{sid}/{rest}");
    let tree = app.get(&chat("tree")).await;
    let mut seen = json!({
        "session": app.get(&format!("/api/sessions/{sid}")).await,
        "log": app.get(&chat("ops?limit=500")).await,
        "turns": app.get(&chat("turns")).await,
        "nodes": {}, "versions": {},
    });
    for node in tree["nodes"].as_object().unwrap().keys() {
        seen["nodes"][node] = app.get(&chat(&format!("node/{node}?expand=world,trace,delta"))).await;
        seen["versions"][node] = app.get(&chat(&format!("node/{node}/alternatives"))).await;
    }
    seen["tree"] = tree;
    seen.to_string().replace(&app.app().owner.to_string(), "the owner")
}

/// Sorts the keys of JSON objects, since the order of the nodes in a tree does not matter.
fn sort_keys(text: &str) -> String {
    let mut value: Value = serde_json::from_str(text).unwrap();
    value.sort_all_objects();
    value.to_string()
}

/// Checks that two long texts are equal and shows the first difference.
fn assert_same_json(one: &str, other: &str) {
    let (one, other) = (&sort_keys(one), &sort_keys(other));
    if let Some(at) =
        one.bytes().zip(other.bytes()).position(|(a, b)| a != b).or((one.len() != other.len()).then_some(0))
    {
        let part = |text: &str| {
            String::from_utf8_lossy(&text.as_bytes()[at.saturating_sub(300)..text.len().min(at + 200)]).into_owned()
        };
        panic!("at {at}:\n{}\n\nbut\n{}", part(one), part(other));
    }
}

/// Starts a story with rules, dice, branches, an edit, a manual change, a muted node and a rated node.
async fn create_sample_session() -> ApiSession {
    let play =
        ApiSession::start_with(TestApp::setup(), json!({"plugins": [{"id": "combat"}], "title": "狐 and \"Kit\""}))
            .await;
    play.server.mock().queue_reply(Reply::ok(["It bites. [HP -7] [GET rusty key]"]).usage(5, 7));
    let first = play.run_turn("/roll 2d6").await;
    let second = play.run_turn("I run.").await;
    play.regenerate_and_wait(&second.reply).await;
    play.post(&format!("node/{}/edit", first.user_node), json!({"content": "I wait. 我等。", "carry": true})).await;
    let hand = json!({"operations": [{"op": "set", "path": "/seen", "value": {"node": second.user_node}}]});
    play.post(&format!("node/{}/world", second.reply), hand).await;
    for (node, state) in
        [(&second.user_node, json!({"isEnabled": false})), (&first.reply, json!({"effects": "muted", "rating": 4}))]
    {
        play.server.put(&play.chat_path(&format!("node/{node}/state")), &state).await;
    }
    play.checkout(&first.reply, true).await;
    play
}

/// S4-04: a session imported on another server is the same byte for byte, with the same ids and only another
/// owner. It can be searched and continued, and its cards are in the library.
#[tokio::test]
async fn session_import_on_other_server_is_identical() {
    let (play, other) = (create_sample_session().await, start_unrelated_server().await);
    let file = export_session(&play.server, &play.sid).await;
    assert_eq!(file.header("content-type"), Some("application/zstd"));
    assert!(file.header("content-disposition").unwrap().contains("filename*=UTF-8''%E7%8B%90"), "{:?}", file.headers);
    assert!(file.header("content-encoding").is_none());
    let sid = import_session(&other, &file.body).await;
    assert_eq!(sid, play.sid);
    assert_same_json(&dump_session(&other, &sid).await, &dump_session(&play.server, &play.sid).await);
    search_until(&other, "bites", 1).await;
    let character = other.get(&format!("/api/sessions/{sid}")).await["characterIds"][0].as_str().unwrap().to_owned();
    assert_eq!(other.get(&format!("/api/characters/{character}")).await["name"], "Rin");
    // Its export equals the imported file except for the time and the owner.
    let again = export_session(&other, &sid).await;
    let plain = |app: &TestServer, file: &[u8]| {
        let lines = read_lines(file);
        let body = Value::from(lines[1..lines.len() - 1].to_vec()).to_string();
        body.replace(&app.app().owner.to_string(), "the owner")
    };
    assert_same_json(&plain(&other, &again.body), &plain(&play.server, &file.body));
    let head = other.get(&format!("/api/sessions/{sid}")).await["activeLeafId"].clone();
    let said = other.post(&format!("/api/chat/{sid}/message"), &json!({"parentId": head, "content": "And on."})).await;
    assert_eq!(said["node"]["content"], "And on.");
    // It is unchanged after a restart.
    let before = dump_session(&other, &sid).await;
    let other = other.restart().await;
    assert_same_json(&dump_session(&other, &sid).await, &before);
}

/// An import beside the original becomes a copy: new ids everywhere, also in metadata, worlds, traces and the log. The
/// old ids are kept as provenance.
#[tokio::test]
async fn session_import_beside_original_gets_new_ids() {
    let play = create_sample_session().await;
    let file = export_session(&play.server, &play.sid).await.body;
    let before = dump_session(&play.server, &play.sid).await;
    let copy = import_session(&play.server, &file).await;
    assert_ne!(copy, play.sid);
    let (mut nodes, mut seen) =
        (play.server.get(&format!("/api/chat/{copy}/tree")).await, dump_session(&play.server, &copy).await);
    for (id, node) in nodes["nodes"].as_object_mut().unwrap() {
        let provenance = &node["metadata"]["provenance"];
        assert_eq!(provenance["sessionId"], play.sid.as_str());
        let old = provenance["nodeId"].as_str().unwrap();
        let only = format!("\"provenance\":{provenance}");
        seen = seen.replace(&format!(",{only}"), "").replace(&only, "").replace(id.as_str(), old);
    }
    assert_same_json(&seen.replace(&copy, &play.sid), &before);
    assert_same_json(&dump_session(&play.server, &play.sid).await, &before);
    let twice = import_session(&play.server, &file).await;
    assert!(twice != copy && twice != play.sid);
}

/// A session can be duplicated by its id. The copy has the whole tree with new ids and another title and shares
/// nothing with the original. Only the owner can make one.
#[tokio::test]
async fn session_duplicate_shares_nothing_with_original() {
    let play = create_sample_session().await;
    let copies = format!("/api/sessions/{}/copies", play.sid);
    let before = dump_session(&play.server, &play.sid).await;
    let copied = async |body: Value| {
        let job = play.server.post(&copies, &body).await["jobId"].as_str().unwrap().to_owned();
        play.server.wait_for_job(&job).await["result"]["sessionId"].as_str().unwrap().to_owned()
    };
    let (named, same) = (copied(json!({"title": "狐, again"})).await, copied(json!({})).await);
    let of = async |sid: &str| play.server.get(&format!("/api/sessions/{sid}")).await;
    let (original, one) = (of(&play.sid).await, of(&named).await);
    assert_eq!((&one["title"], &of(&same).await["title"]), (&json!("狐, again"), &original["title"]));
    for kept in ["characterIds", "plugins", "counts", "model", "mode"] {
        assert_eq!(one[kept], original[kept], "{kept}");
    }
    assert_ne!(one["activeLeafId"], original["activeLeafId"]);
    assert_eq!(play.server.request("DELETE", &format!("/api/sessions/{named}")).send().await.status, 204);
    assert_same_json(&dump_session(&play.server, &play.sid).await, &before);
    let nobody = "/api/sessions/01900000-0000-7000-8000-000000000000/copies";
    for (path, body, code) in [
        (copies.as_str(), json!({"title": "x".repeat(301)}), "invalid"),
        (copies.as_str(), json!({"name": "x"}), "invalid"),
        (nobody, json!({}), "not_found"),
    ] {
        play.server.request("POST", path).json(&body).send().await.expect_error(code);
    }
    // A refused request uses no slot.
    assert_ne!(copied(json!({})).await, same);
}

/// A request that ends before its file has arrived uses no slot, however it ends. Its client may have disconnected.
#[tokio::test]
async fn session_import_aborted_frees_its_slot() {
    let (app, play) = (TestServer::start().await, create_sample_session().await);
    let (desk, owner) = (&app.app().import_queue, app.app().owner);
    let places: Vec<_> = (0..4).map(|_| desk.reserve_slot(owner).unwrap()).collect();
    assert!(desk.reserve_slot(owner).is_err());
    let job = format!("/api/jobs/{}", places[0].job());
    app.get(&job).await;
    drop(places);
    app.request("GET", &job).send().await.expect_error("not_found");
    import_session(&app, &export_session(&play.server, &play.sid).await.body).await;
}

/// S4-04: during a long import a whole turn runs in another session of the same server. The message is written,
/// the model asked and the reply stored before the import goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn session_import_upload_does_not_block_other_turn() {
    const MESSAGES: usize = 600;
    let play = ApiSession::start().await;
    let mut file = tempfile::tempfile().unwrap();
    write_long_session(&mut file, MESSAGES, 200);
    let (half_way, mut is_half_way) = tokio::sync::mpsc::unbounded_channel();
    let (go_on, may_go_on) = std::sync::mpsc::channel();
    let app = play.server.app().shared_app();
    let import = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (arrival, limits) = (
            SessionImportOptions { owner: app.owner, job: None, title: None, is_trusted: true },
            ArchiveLimits::for_archive(1 << 30),
        );
        let mut is_told = false;
        let told = move |progress: ImportProgress| {
            if !is_told && progress.done * 10 > progress.total * 6 {
                is_told = true;
                half_way.send(()).unwrap();
                may_go_on.recv().unwrap();
            }
            true
        };
        runtime.block_on(import(&app.store, &mut file, arrival, &app.ids, Time(0), limits, told)).unwrap()
    });
    is_half_way.recv().await.unwrap();
    let turn = play.run_turn("I run.").await;
    assert_eq!(play.get(&format!("node/{}", turn.reply)).await["status"], "complete");
    assert_eq!(play.server.get("/api/sessions").await["items"].as_array().unwrap().len(), 1);
    go_on.send(()).unwrap();
    let session = tokio::task::spawn_blocking(|| import.join().unwrap()).await.unwrap();
    assert_eq!(play.server.get(&format!("/api/sessions/{session}")).await["counts"]["nodes"], MESSAGES);
}

/// Every fault of a file is reported with its line, and nothing of the file stays. Jobs are visible to their caller
/// only.
#[tokio::test]
async fn session_import_invalid_file_leaves_nothing() {
    let (play, other) = (create_sample_session().await, start_unrelated_server().await);
    let file = export_session(&play.server, &play.sid).await.body;
    let mut changed = read_lines(&file);
    let node = changed.iter().position(|line| line.get("node").is_some()).unwrap();
    changed[node + 1]["node"]["role"] = json!("narrator");
    let job = run_import_job(&other, &pack_lines(&changed)).await;
    assert_eq!((&job["state"], &job["result"]), (&json!("failed"), &Value::Null));
    assert_eq!(job["error"]["code"], "invalid");
    assert_eq!(
        job["error"]["details"],
        json!({"field": "file", "line": node + 2, "fault": "\"narrator\" is not a role"}),
        "{job}"
    );
    assert_eq!(job["error"]["message"], format!("line {}: \"narrator\" is not a role", node + 2));
    let job = run_import_job(&other, &compress_text("no file\n")).await;
    let details = &job["error"]["details"];
    assert_eq!(
        (&details["field"], &details["line"], &details["flaw"]),
        (&json!("file"), &json!(1), &json!("other_format"))
    );
    assert_eq!(job["error"]["message"], format!("line 1: {}", details["fault"].as_str().unwrap()));
    let halved = &file[..file.len() / 2];
    assert_eq!(run_import_job(&other, halved).await["error"]["details"]["flaw"], "breaks_off");
    assert_eq!(other.get("/api/sessions").await["items"], json!([]));
    assert_eq!(other.get("/api/trash").await["items"], json!([]));
    let stranger = other.app().add_user("Stranger").await;
    let id = job["id"].as_str().unwrap().parse().unwrap();
    assert!(other.app().import_queue.job(stranger, id).await.unwrap().is_none());
}

/// A file can hold anything as metadata. What has another type than the API promises is kept and not shown; the test
/// client compares each response with the OpenAPI document.
#[tokio::test]
async fn session_import_metadata_of_other_types_is_not_shown() {
    let play = ApiSession::start().await;
    let turn = play.run_turn("Hello.").await;
    let lines = read_lines(&export_session(&play.server, &play.sid).await.body);
    let keys = || NodeMetadata::KEYS.iter().chain(ReplyFacts::KEYS).chain(&["rating", "phase", "queuePosition"]);
    for odd in [json!(5), json!(-1.5), json!("x"), json!(true), json!(null), json!([[5]]), json!({"a": [null]})] {
        let mut changed = lines.clone();
        for line in changed.iter_mut().filter(|line| line["node"]["kind"] == "message") {
            line["node"]["metadata"] = keys().map(|key| ((*key).to_owned(), odd.clone())).collect();
        }
        let other = start_unrelated_server().await;
        let sid = import_session(&other, &pack_lines(&changed)).await;
        let node = other.get(&format!("/api/chat/{sid}/node/{}?expand=world,delta", turn.reply)).await;
        assert!(node["content"].as_str().is_some_and(|text| !text.is_empty()), "{node}");
        for rest in ["tree", "turns", "projection", "branches", "context-path", "spent"] {
            other.get(&format!("/api/chat/{sid}/{rest}")).await;
        }
        let again = read_lines(&export_session(&other, &sid).await.body);
        let kept = again.iter().filter(|line| line["node"]["metadata"].get("summarizedFrom") == Some(&odd));
        assert_eq!(kept.count(), 2, "{odd}");
    }
}

/// Only files up to the limit are accepted. Sessions of other users are not found.
#[tokio::test]
async fn session_import_wrong_type_or_size_is_refused() {
    let app = TestServer::start_with(TestApp::setup().set("limits.import_mb", "1")).await;
    let ask = || app.request("POST", "/api/sessions/import");
    for kind in ["application/json", "text/plain", "multipart/form-data"] {
        ask().bytes(b"{}", kind).send().await.expect_error("unsupported_media");
    }
    ask()
        .bytes(b"x", "application/zstd")
        .header("content-encoding", "gzip")
        .send()
        .await
        .expect_error("unsupported_media");
    let large = vec![7; (1 << 20) + 1];
    assert_eq!(
        ask().bytes(&large, "application/zstd").send().await.expect_error("too_large")["details"]["limit"],
        1 << 20
    );
    ask()
        .header("content-type", "application/zstd")
        .content_length(99_999_999_999)
        .send()
        .await
        .expect_error("too_large");
    let bomb = zstd::encode_all(&*vec![b' '; 8 << 20], 3).unwrap();
    assert!(bomb.len() < 10_000);
    let job = run_import_job(&app, &bomb).await;
    assert_eq!(job["error"]["message"], "line 1: the file has more than 1048576 bytes, unpacked");
    let stranger = app.create_other_user().await;
    app.request("GET", &format!("/api/sessions/{}/export", stranger.session)).send().await.expect_error("not_found");
}

/// S4-53, domain 5: turns go on while an import is paused in its middle, since it holds nothing that they need.
#[tokio::test]
async fn session_import_paused_does_not_block_turns() {
    let (play, root) = (ApiSession::start().await, DataRoot::generate(5, 1, 2, 400));
    let inside = play.server.app();
    let (store, ids) = (Arc::clone(&inside.store), Arc::clone(&inside.ids));
    let wish = ImportOptions {
        owner: inside.owner,
        language: Default::default(),
        at: inside.clock.now(),
        zone: TimeZone::UTC,
        is_dry: false,
        is_trusted: true,
        limits: ArchiveLimits::for_archive(64 << 20),
    };
    let (tells, told) = std::sync::mpsc::channel();
    let (lets_go, let_go) = std::sync::mpsc::channel::<()>();
    let given = ImportSource::Path(root.path().to_owned());
    let import = std::thread::spawn(move || {
        let mut is_held = false;
        let stand = move |progress: ImportProgress| {
            // In the second pass, which writes.
            if !is_held && progress.done > progress.total / 2 {
                is_held = true;
                tells.send(()).unwrap();
                let_go.recv().unwrap();
            }
            true
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(sillytavern::import(&store, &ids, given, wish, stand)).unwrap()
    });
    tokio::task::spawn_blocking(move || told.recv().unwrap()).await.unwrap();
    let said = play.run_turn("Hm.").await;
    let status = play.get(&format!("node/{}", said.reply)).await["status"].clone();
    assert_eq!((play.head().await, status), (said.reply, json!("complete")));
    lets_go.send(()).unwrap();
    let arrived = tokio::task::spawn_blocking(move || import.join().unwrap()).await.unwrap();
    assert_eq!((arrived.totals.sessions, arrived.totals.skipped), (2, 0), "{}", arrived.report);
}

/// A file of version 0.1.0 with its server's recorded answers: metadata and traces of replies read back as they were
/// stored, with every key.
#[actix_web::test]
async fn recorded_file_of_first_version_reads_back_replies_and_traces() {
    let app = TestServer::start().await;
    let sid = import_session(&app, include_bytes!("../../fixtures/replies/replies-0.1.0.clotho")).await;
    let recorded: Vec<Value> =
        serde_json::from_str(include_str!("../../fixtures/replies/replies-0.1.0.json")).expect("recorded answers");
    for reply in &recorded {
        let node = format!("/api/chat/{sid}/node/{}", reply["id"].as_str().unwrap());
        assert_same_json(&app.get(&node).await["metadata"].to_string(), &reply["metadata"].to_string());
        assert_same_json(&app.get(&format!("{node}/trace")).await.to_string(), &reply["trace"].to_string());
    }
    assert_eq!(recorded.len(), 3);
}
