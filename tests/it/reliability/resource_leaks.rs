//! Resource leaks: after many failures the program has as many files, threads and as much memory as before. To add a
//! kind of failure, add it to [`failures`]. Replies that never end by themselves are cancelled.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::kill_recovery::{ServerProcess, send_request};
use crate::support::mock_model::{MockModel, Reply};
use crate::support::test_store::doctor_findings;
use crate::support::wait::wait_until;

/// Rounds before the first measurement: they create the shared threads and connections.
const BEFORE: usize = 3;
/// Rounds after the first measurement.
const ROUNDS: usize = 12;

/// Returns every way in which a model server fails, and two replies that never end. The flag says whether to cancel.
fn failures() -> Vec<(Reply, bool)> {
    let partial = || Reply::ok(["PARTIAL ", "text"]);
    let ends = [
        Reply::error(401, "your key is not mine"),
        Reply::error(429, "slow down").header("Retry-After", "60"),
        Reply::error(500, "out of order").header("Retry-After", "0"),
        Reply::html(502, "Bad Gateway").header("Retry-After", "0"),
        Reply::html(200, "Please log in"),
        Reply::redirect("http://127.0.0.1:9/"),
        Reply::events(["{\"choices\": nonsense"]),
        Reply::ok([""; 0]),
        partial().then_cut(),
        partial().then_reset(),
        partial().without_finish(),
        partial().then_error(503, "the model was unloaded"),
    ];
    let never = [Reply::silent(), partial().then_stall(), Reply::endless("on and on ")];
    ends.map(|reply| (reply, false)).into_iter().chain(never.map(|reply| (reply, true))).collect()
}

/// Clients that hold connections open never take the files that the server needs: a client that is connected still plays,
/// and everybody else waits until they are gone.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_leave_files_for_the_server() {
    let (home, mock) = (tempfile::tempdir().unwrap(), MockModel::start().await);
    let mut command = Command::new("sh");
    let start = "ulimit -n 200 && exec \"$0\"";
    command.args(["-c", start, env!("CARGO_BIN_EXE_clotho")]).current_dir(home.path());
    let program = ServerProcess::spawn(ServerProcess::configure_command(&mut command, &mock.base_url()));
    let player = ChatClient::with_new_session(program, Arc::new(mock));
    let at = player.program.address;
    let mut connected = TcpStream::connect(at).unwrap();
    let before = player.program.resources().open_file_count;
    let idle: Vec<TcpStream> = (0..150).map(|_| TcpStream::connect(at).unwrap()).collect();
    wait_until("most are accepted", async || player.program.resources().open_file_count >= before + 45).await;
    let character = json!({"name": "Kay"}).to_string();
    let head = "Content-Type: application/json\r\nConnection: close\r\nContent-Length";
    write!(connected, "POST /api/characters HTTP/1.1\r\nHost: {at}\r\n{head}: {}\r\n\r\n{character}", character.len())
        .unwrap();
    let mut answer = String::new();
    connected.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    let files = player.program.resources().open_file_count;
    assert!(files <= before + 60, "{files} files, {before} before");
    drop(idle);
    let reply = player.start_reply(Reply::ok(["Well."]));
    assert_eq!(player.wait_for_reply(&reply)["content"], "Well.");
}

/// Malformed requests cannot fill the log: anybody on the network can send them.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn malformed_requests_write_few_log_lines() {
    let (home, mock) = (tempfile::tempdir().unwrap(), MockModel::start().await);
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" 2>log", env!("CARGO_BIN_EXE_clotho")]).current_dir(home.path());
    let program = ServerProcess::spawn(ServerProcess::configure_command(&mut command, &mock.base_url()));
    for _ in 0..40 {
        let mut stream = TcpStream::connect(program.address).unwrap();
        stream.write_all(b"NOT HTTP\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    }
    let log = std::fs::read_to_string(home.path().join("log")).unwrap();
    let lines = log.lines().filter(|line| line.contains("actix_http")).count();
    assert!((1..=10).contains(&lines), "{log}");
}

/// A player whose replies all fail.
pub struct ChatClient {
    pub program: ServerProcess,
    pub mock: Arc<MockModel>,
    session: Value,
}

impl ChatClient {
    pub fn with_new_session(program: ServerProcess, mock: Arc<MockModel>) -> Self {
        let post = |target: &str, body: Value| send_request(program.address, "POST", target, &body).unwrap().1;
        let character = post("/api/characters", json!({"name": "Rin", "firstMessage": "Hello."}))["id"].take();
        let session = post("/api/sessions", json!({"characterIds": [character]}));
        Self { program, mock, session }
    }

    pub fn send_request(&self, method: &str, rest: &str, body: &Value) -> (u16, Value) {
        let target = format!("/api/chat/{}/{rest}", self.session["id"].as_str().unwrap());
        send_request(self.program.address, method, &target, body).unwrap()
    }

    /// Writes a message that asks for a reply. Returns the path of the reply.
    pub fn start_reply(&self, reply: Reply) -> String {
        self.mock.set_default_reply(reply);
        let body = json!({"parentId": self.session["activeLeafId"], "content": "To the north.", "generate": true});
        let (status, begun) = self.send_request("POST", "message", &body);
        assert_eq!(status, 202, "{begun}");
        format!("node/{}", begun["generations"][0]["id"].as_str().unwrap())
    }

    /// Waits until a reply meets a condition, and returns it.
    pub fn wait_until(&self, reply: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            let node = self.send_request("GET", reply, &Value::Null).1;
            if is_so(&node) {
                return node;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "in vain: {node}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until a reply is no longer generating, and returns it.
    pub fn wait_for_reply(&self, reply: &str) -> Value {
        self.wait_until(reply, |node| node["status"] != "generating")
    }

    /// Writes a message whose reply fails, and sends an invalid request in between.
    fn run_failed_turn(&self, reply: Reply, is_cancelled: bool) {
        let reply = self.start_reply(reply);
        assert_eq!(self.send_request("POST", "message", &json!({"parentId": "nobody"})).0, 422);
        if is_cancelled {
            assert_eq!(self.send_request("POST", &format!("{reply}/cancel"), &json!({})).0, 202);
        }
        // A cancelled reply keeps the text that had arrived.
        let node = self.wait_for_reply(&reply);
        assert!(node["status"] != "complete" || is_cancelled, "it did not fail: {node}");
    }

    fn run_failure_rounds(&self, count: usize) {
        for (reply, is_cancelled) in (0..count).flat_map(|_| failures()) {
            self.run_failed_turn(reply, is_cancelled);
        }
    }
}

/// After failed replies of every kind, cancelled replies and refused requests, no resources are held and the doctor
/// finds nothing.
#[tokio::test(flavor = "multi_thread")]
async fn repeated_failures_leak_no_resources() {
    let mock = Arc::new(MockModel::start().await);
    let work = move || {
        let home = tempfile::tempdir().unwrap();
        let program = ServerProcess::start(home.path(), &mock.base_url());
        let unlucky = ChatClient::with_new_session(program, mock);
        unlucky.run_failure_rounds(BEFORE);
        let before = unlucky.program.resources();
        unlucky.run_failure_rounds(ROUNDS);
        unlucky.program.assert_resources_released(&before);
        let ready = send_request(unlucky.program.address, "GET", "/readyz", &Value::Null).unwrap();
        assert_eq!(ready.0, 200, "{ready:?}");
        let database = home.path().join("data/clotho.db");
        drop(unlucky);
        assert!(doctor_findings(&database, true).is_empty());
    };
    tokio::task::spawn_blocking(work).await.unwrap();
}

/// After a power loss during a reply, the doctor finds nothing wrong and says what the next start does with the reply.
#[tokio::test(flavor = "multi_thread")]
async fn doctor_after_power_loss_reports_interrupted_reply_only() {
    let mock = Arc::new(MockModel::start().await);
    let work = move || {
        let home = tempfile::tempdir().unwrap();
        let player = ChatClient::with_new_session(ServerProcess::start(home.path(), &mock.base_url()), mock);
        player.start_reply(Reply::silent());
        drop(player);
        let mut doctor = Command::new(env!("CARGO_BIN_EXE_clotho"));
        let seen = doctor.arg("doctor").current_dir(home.path()).env_remove("CLOTHO_CONFIG").output().unwrap();
        let told = String::from_utf8(seen.stdout).unwrap();
        assert_eq!(seen.status.code(), Some(0), "{told}");
        assert!(told.contains("a reply was interrupted; the next start ends it"), "{told}");
        assert!(told.trim_end().ends_with("1 session, no problems"), "{told}");
    };
    tokio::task::spawn_blocking(work).await.unwrap();
}
