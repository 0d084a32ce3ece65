//! Many sessions open at once.

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::reliability::kill_recovery::ServerProcess;
use crate::support::archive_file::write_long_session;
use crate::support::client::HttpRequest;
use crate::support::mock_model::MockModel;
use crate::support::socket::Socket;
use crate::support::wait::wait_until;
use crate::transfer::kill::upload_and_wait_until;

/// Number of sessions open at first.
const FEW: usize = 40;
/// Number of sessions open in the end.
const MANY: usize = 100;
/// Messages of each session.
const MESSAGES: usize = 100;
/// Bytes of each message.
const TEXT: usize = 6_400;

/// Reads a complete session and keeps its socket open.
async fn open_session(program: &ServerProcess, session: &str) -> Socket {
    let socket = Socket::open(program.address, session, None).await;
    let get = async |what: &str| HttpRequest::new(program.address, "GET", what).send().await.expect(200);
    let head = get(&format!("/api/sessions/{session}")).await["activeLeafId"].as_str().unwrap().to_owned();
    let outline = get(&format!("/api/chat/{session}/tree?shape=skeleton")).await;
    assert!(outline.to_string().contains(&head));
    let line = get(&format!("/api/chat/{session}/projection?limit=200")).await;
    assert!(line.to_string().len() > MESSAGES * TEXT, "all of its texts");
    get(&format!("/api/chat/{session}/node/{head}/world")).await;
    socket
}

/// S0-54: memory does not grow with the texts of the sessions that are open and watched.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hundred_open_sessions_use_bounded_memory() {
    let (home, model) = (TempDir::new().unwrap(), MockModel::start().await);
    let mut file = Vec::new();
    write_long_session(&mut file, MESSAGES, TEXT);
    let mut sessions = Vec::new();
    {
        let program = ServerProcess::start(home.path(), &model.base_url());
        for _ in 0..MANY {
            let job = upload_and_wait_until(&program, &file, |job: &Value| job["result"] != json!(null)).await;
            sessions.push(job["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{job}")).to_owned());
        }
    }
    let program = ServerProcess::start(home.path(), &model.base_url());
    // Memory for catching up the index does not count as memory of open sessions.
    wait_until("an index that has caught up", async || {
        let told = HttpRequest::new(program.address, "GET", "/readyz").send().await;
        told.status == 200 && told.json()["parts"]["indexBehind"] == 0
    })
    .await;
    let mut watched = Vec::new();
    let mut held = Vec::new();
    for session in &sessions {
        watched.push(open_session(&program, session).await);
        held.push(program.resources().memory_kb);
    }
    // Responses use memory for a while; the minimum of several samples is what stays.
    let stays = |sessions: usize| *held[sessions - 10..sessions].iter().min().unwrap();
    let (few, many) = (stays(FEW), stays(MANY));
    let texts = u64::try_from((MANY - FEW) * MESSAGES * TEXT / 1_024).unwrap();
    assert!(few > 1_000 && many < few + texts / 2, "{few} kB with {FEW}, {many} kB with {MANY}: {held:?}");
}
