//! A test's program behind a free port of 127.0.0.1, and builders for common starting points. [`Setup`] configures the
//! program; this file adds the listener. The server shuts down cleanly when dropped, as the real one does.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;

use clotho::app::App;
use clotho_core::ids::{CharacterId, LorebookId, NodeId, PersonaId, SessionId, UserId};
use clotho_engine::transfer::UploadSlot;
use clotho_engine::turn::SessionSpec;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::app::{Setup, TestApp};
use super::client::HttpRequest;
use super::mock_model::MockModel;
use super::socket::Socket;
use super::wait::wait_for_some;

/// The program with a running HTTP server.
pub struct TestServer {
    /// The address on which it listens.
    pub address: SocketAddr,
    app: Option<TestApp>,
    stop_sender: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Another user of the same server and their data, created without HTTP.
pub struct OtherUser {
    pub user: UserId,
    pub character: CharacterId,
    pub persona: PersonaId,
    pub lorebook: LorebookId,
    pub session: SessionId,
    /// The greeting of the session, which is HEAD.
    pub greeting: NodeId,
    /// A slot for a file upload.
    pub upload_slot: UploadSlot,
}

impl TestServer {
    /// Starts a server in an empty folder.
    pub async fn start() -> Self {
        Self::start_with(TestApp::setup()).await
    }

    /// Starts a server with a setup.
    pub async fn start_with(setup: Setup) -> Self {
        let app = setup.start().await;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let served = app.shared_app();
        let thread = std::thread::spawn(move || run_server(served, listener, stopped));
        Self { address: at, app: Some(app), stop_sender: Some(stop), thread: Some(thread) }
    }

    /// Shuts the server down cleanly and keeps its folder and mock.
    pub async fn stop(mut self) -> Setup {
        self.signal_stop();
        let thread = self.thread.take().unwrap();
        tokio::task::spawn_blocking(move || thread.join()).await.unwrap().unwrap();
        self.app.take().unwrap().stop().await
    }

    /// Stops the server and starts it again in the same folder.
    pub async fn restart(self) -> Self {
        Self::start_with(self.stop().await).await
    }

    /// Waits until a job has ended and returns it.
    pub async fn wait_for_job(&self, job: &str) -> Value {
        wait_for_some("the end of a job", async || {
            let told = self.get(&format!("/api/jobs/{job}")).await;
            matches!(told["state"].as_str(), Some("done" | "failed" | "cancelled")).then_some(told)
        })
        .await
    }

    fn signal_stop(&mut self) {
        if let Some(stop) = self.stop_sender.take() {
            let _ = stop.send(());
        }
    }

    /// Returns the program itself, for what no client can do.
    pub fn app(&self) -> &TestApp {
        self.app.as_ref().unwrap()
    }

    /// Returns the model server.
    pub fn mock(&self) -> &MockModel {
        &self.app().mock
    }

    /// Creates a request.
    pub fn request(&self, method: &str, target: &str) -> HttpRequest {
        HttpRequest::new(self.address, method, target)
    }

    /// Sends a GET and returns the body of a 200.
    pub async fn get(&self, target: &str) -> Value {
        self.request("GET", target).send().await.expect(200)
    }

    /// Sends a POST and returns the body of any success.
    pub async fn post(&self, target: &str, body: &Value) -> Value {
        let heard = self.request("POST", target).json(body).send().await;
        assert!(heard.status < 300, "{target}: {}", heard.text());
        heard.json()
    }

    /// Sends a PUT and returns the body of a 200.
    pub async fn put(&self, target: &str, body: &Value) -> Value {
        self.request("PUT", target).json(body).send().await.expect(200)
    }

    /// Creates a character and returns its id.
    pub async fn create_character(&self, fields: &Value) -> String {
        id_of(&self.post("/api/characters", fields).await)
    }

    /// Creates a session with one character that has a greeting.
    pub async fn create_session(&self) -> Value {
        let character = self.create_character(&json!({"name": "Rin", "firstMessage": "Hello."})).await;
        self.post("/api/sessions", &json!({"characterIds": [character]})).await
    }

    /// Creates a session with a branch of messages below its greeting, none of them generated. Returns the session and
    /// the ids of the branch, the greeting first.
    pub async fn create_branch(&self, messages: usize) -> (Value, Vec<String>) {
        let session = self.create_session().await;
        let sid = id_of(&session);
        let mut line = vec![session["activeLeafId"].as_str().unwrap().to_owned()];
        for n in 1..=messages {
            let role = if n % 2 == 1 { "user" } else { "assistant" };
            let body = json!({"parentId": line.last(), "content": format!("message {n}"), "role": role});
            let started = self.post(&format!("/api/chat/{sid}/message"), &body).await;
            line.push(id_of(&started["node"]));
        }
        (self.get(&format!("/api/sessions/{sid}")).await, line)
    }

    /// Opens a WebSocket on a session.
    pub async fn open_socket(&self, sid: &str, since: Option<i64>) -> Socket {
        Socket::open(self.address, sid, since).await
    }

    /// Creates another user with a character, a persona, a lorebook and a session, without HTTP.
    pub async fn create_other_user(&self) -> OtherUser {
        let app = self.app();
        let user = app.add_user("Stranger").await;
        let card = json!({"name": "Somebody else's", "firstMessage": "A stranger's secret."});
        let character = app.add_character_for(user, card).await;
        let persona = app.add_persona_for(user, json!({"name": "Somebody else's"})).await;
        let lorebook = app.add_lorebook_for(user, json!({"name": "Somebody else's", "entries": {}})).await;
        let title = Some("A stranger's story".to_owned());
        let new = SessionSpec { character_ids: vec![character], title, ..SessionSpec::default() };
        let session = app.turns.sessions.begin(user, new).await.unwrap();
        let held = app.store.read(move |reader| reader.session(user, session)).await.unwrap().unwrap();
        let place = app.import_queue.reserve_slot(user).unwrap();
        OtherUser { user, character, persona, lorebook, session, greeting: held.session.head, upload_slot: place }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.signal_stop();
        if let Some(thread) = self.thread.take() {
            let joined = thread.join();
            if !std::thread::panicking() {
                joined.expect("the server ends well");
            }
        }
    }
}

/// Returns the `id` of a JSON object.
pub fn id_of(value: &Value) -> String {
    value["id"].as_str().unwrap_or_else(|| panic!("no id in {value}")).to_owned()
}

fn run_server(app: Arc<App>, listener: TcpListener, stopped: oneshot::Receiver<()>) {
    let until = async {
        // A dropped sender means stop as well.
        let _ = stopped.await;
    };
    actix_web::rt::System::new().block_on(clotho::http::serve_until(app, listener, until)).unwrap();
}
