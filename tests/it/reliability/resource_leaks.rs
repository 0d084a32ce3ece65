//! Resource leaks: after many failures the program has as many files, threads and as much memory as before. To add a
//! kind of failure, add it to [`failures`]. Replies that never end by themselves are cancelled.

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::kill_recovery::{ServerProcess, send_request};
use crate::support::mock_model::{MockModel, Reply};
use crate::support::test_store::doctor_findings;

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
