//! The whole program on a free port of 127.0.0.1 with a folder of its own, a fixed clock and fixed ids; and builders of
//! what most tests begin with. It ends when dropped, in order, as the real one does.

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use clotho::app::App;
use clotho::clock::{Clock, Ids, TestClock, Time};
use clotho::config::Config;
use clotho::ids::{CharacterId, NodeId, PersonaId, SessionId, UserId};
use clotho::store::{CharacterCard, Draft, PersonaCard, User};
use clotho::tree::{CardRef, Kind, Role, Session};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;

use super::client::Ask;
use super::mock_model::MockModel;
use super::socket::Socket;

/// Saturday, 21 November 2026, in milliseconds.
const BEGINNING: Time = Time(1_795_219_200_000);

/// The program, running.
pub struct TestServer {
    /// Where it listens.
    pub at: SocketAddr,
    /// Its inside, for what no client can do.
    pub app: Option<Arc<App>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    folder: Option<TempDir>,
}

/// What a stranger has: another user of the same server, put in past its doors.
pub struct Stranger {
    /// The user.
    pub user: UserId,
    /// A character.
    pub character: CharacterId,
    /// A persona.
    pub persona: PersonaId,
    /// A session.
    pub session: SessionId,
    /// Its root.
    pub root: NodeId,
    /// Its greeting, which is HEAD.
    pub greeting: NodeId,
}

impl TestServer {
    /// A server without a model.
    pub async fn start() -> Self {
        Self::with("").await
    }

    /// A server that asks a mock model.
    pub async fn with_model(mock: &MockModel) -> Self {
        Self::with(&model(mock)).await
    }

    /// A server with more settings, as lines of `config.toml`.
    pub async fn with(settings: &str) -> Self {
        Self::open(tempfile::tempdir().unwrap(), settings).await
    }

    /// A server on a folder that may have been used before.
    pub async fn open(folder: TempDir, settings: &str) -> Self {
        let path = folder.path().join("data").display().to_string();
        let text = format!("[storage]\ndata_dir = {path:?}\n{settings}");
        let config = Config::load(None, Some(text), std::iter::empty()).unwrap();
        let (ready, started) = mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || run(config, &ready, stopped));
        let (at, app) = tokio::task::spawn_blocking(move || started.recv()).await.unwrap().expect("the server starts");
        Self { at, app: Some(app), stop: Some(stop), thread: Some(thread), folder: Some(folder) }
    }

    /// Stops the server in order and hands its folder out.
    pub async fn stop(mut self) -> TempDir {
        self.end();
        let thread = self.thread.take().unwrap();
        tokio::task::spawn_blocking(move || thread.join()).await.unwrap().unwrap();
        self.folder.take().unwrap()
    }

    fn end(&mut self) {
        self.app = None;
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }

    /// Its inside.
    pub fn inside(&self) -> &App {
        self.app.as_ref().unwrap()
    }

    /// A request in the making.
    pub fn ask(&self, method: &str, target: &str) -> Ask {
        Ask::new(self.at, method, target)
    }

    /// The body of a GET.
    pub async fn get(&self, target: &str) -> Value {
        self.ask("GET", target).send().await.expect(200)
    }

    /// The body of a POST, whatever its success.
    pub async fn post(&self, target: &str, body: &Value) -> Value {
        let heard = self.ask("POST", target).json(body).send().await;
        assert!(heard.status < 300, "{target}: {}", heard.text());
        heard.json()
    }

    /// The body of a PUT.
    pub async fn put(&self, target: &str, body: &Value) -> Value {
        self.ask("PUT", target).json(body).send().await.expect(200)
    }

    /// A new character's id.
    pub async fn character(&self, fields: &Value) -> String {
        id(&self.post("/api/characters", fields).await)
    }

    /// A session with one character that greets.
    pub async fn session(&self) -> Value {
        let character = self.character(&json!({"name": "Rin", "firstMessage": "Hello."})).await;
        self.post("/api/sessions", &json!({"characterIds": [character]})).await
    }

    /// A session with a line of messages below its greeting, nothing generated; answers with it and the ids of the line,
    /// the greeting first.
    pub async fn line(&self, messages: usize) -> (Value, Vec<String>) {
        let session = self.session().await;
        let sid = id(&session);
        let mut line = vec![session["activeLeafId"].as_str().unwrap().to_owned()];
        for n in 1..=messages {
            let role = if n % 2 == 1 { "user" } else { "assistant" };
            let body = json!({"parentId": line.last(), "content": format!("message {n}"), "role": role});
            let started = self.post(&format!("/api/chat/{sid}/message"), &body).await;
            line.push(id(&started["node"]));
        }
        (self.get(&format!("/api/sessions/{sid}")).await, line)
    }

    /// A socket on a session.
    pub async fn socket(&self, sid: &str, since: Option<i64>) -> Socket {
        Socket::open(self.at, sid, since).await
    }

    /// Another user with a character, a persona and a session, put in past the doors.
    pub async fn stranger(&self) -> Stranger {
        let app = self.inside();
        let now = app.clock.now();
        let (user, session) = (UserId::new(app.ids.next(now)), SessionId::new(app.ids.next(now)));
        let (character, persona) = (CharacterId::new(app.ids.next(now)), PersonaId::new(app.ids.next(now)));
        let (root, greeting) = (NodeId::new(app.ids.next(now)), NodeId::new(app.ids.next(now)));
        let Value::Object(card) = json!({"name": "Somebody else's"}) else { unreachable!() };
        let story = story(user, session, character, root, now);
        let draft = |id, role, kind| Draft::new(id, role, kind, 0, now);
        let (first, mut second) =
            (draft(root, Role::System, Kind::Root), draft(greeting, Role::Assistant, Kind::Greeting));
        second.content = "A stranger's secret.".into();
        app.store
            .write(move |tx| {
                tx.put_user(&User { id: user, name: "Stranger".into(), role: "user".into() }, now)?;
                tx.put_character(
                    user,
                    &CharacterCard { id: character, card: card.clone(), created: now, updated: now },
                )?;
                tx.put_persona(user, &PersonaCard { id: persona, card: card.clone(), created: now, updated: now })?;
                tx.begin_session(&story, &first, std::slice::from_ref(&second), now)
            })
            .await
            .unwrap();
        Stranger { user, character, persona, session, root, greeting }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.end();
        if let Some(thread) = self.thread.take() {
            let joined = thread.join();
            if !std::thread::panicking() {
                joined.expect("the server ends well");
            }
        }
    }
}

/// The settings of a mock model, which sessions use by default.
pub fn model(mock: &MockModel) -> String {
    format!(
        "[generation]\nmodel = \"mock/mock\"\n\n[[providers]]\nid = \"mock\"\nkind = \"openai\"\nbase_url = \"{}\"\n\
         models = [\"mock\"]\n",
        mock.base_url()
    )
}

/// The `id` of something.
pub fn id(value: &Value) -> String {
    value["id"].as_str().unwrap_or_else(|| panic!("no id in {value}")).to_owned()
}

fn run(config: Config, ready: &mpsc::Sender<(SocketAddr, Arc<App>)>, stopped: oneshot::Receiver<()>) {
    let clock: Arc<dyn Clock> = Arc::new(TestClock::new(BEGINNING));
    let app = Arc::new(App::build(config, clock, Arc::new(Ids::new(7))).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    ready.send((at, Arc::clone(&app))).unwrap();
    let until = async {
        // A test that was dropped has stopped it as well.
        let _ = stopped.await;
    };
    actix_web::rt::System::new().block_on(clotho::http::serve_until(Arc::clone(&app), listener, until)).unwrap();
    app.close();
}

fn story(owner: UserId, id: SessionId, character: CharacterId, root: NodeId, now: Time) -> Session {
    Session {
        id,
        owner,
        title: "A stranger's story".into(),
        cards: vec![CardRef { id: character, hash: String::new() }],
        persona: None,
        root,
        head: root,
        op: 0,
        head_op: 0,
        mode: "tree".into(),
        model: None,
        params: Map::new(),
        plugins: Vec::new(),
        seed: 0,
        edits: 0,
        created: now,
        updated: now,
    }
}
