//! Runs the whole program in its own folder, with the mock as its model server.
//!
//! ```ignore
//! let setup = TestApp::setup().with_plugin("hurt", &[("plugin.toml", …), ("main.rhai", …)]);
//! let app = setup.set("limits.generations", "2").start().await;
//! app.mock.queue_reply(Reply::ok(["Hello"]));
//! app.turns.replies.send_message(app.owner, …).await
//! let app = app.restart().await;      // the same folder, another program
//! ```
//!
//! The clock is a [`TestClock`], and the ids come from a fixed seed. Building and closing the program block, so both
//! run on a thread without a runtime.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use clotho::app::App;
use clotho_config::Config;
use clotho_core::clock::{Clock, IdGenerator, TestClock, Time};
use clotho_core::ids::{CharacterId, LorebookId, PersonaId, UserId};
use clotho_store::{CharacterCard, Lorebook, PersonaCard, UserAccount};
use serde_json::Value;
use tempfile::TempDir;

use super::mock_model::MockModel;

/// The configuration of a program that is not running.
pub struct Setup {
    home: PathBuf,
    _temp_dir: Option<TempDir>,
    env: Vec<(String, String)>,
    clock: Arc<dyn Clock>,
    seed: u64,
    mock: Option<MockModel>,
}

/// The running program.
pub struct TestApp {
    app: Option<Arc<App>>,
    /// The model server behind `mock/mock`, `mock/other` and `second/mock`.
    pub mock: MockModel,
    setup: Setup,
}

impl Deref for TestApp {
    type Target = App;

    fn deref(&self) -> &App {
        self.app.as_ref().unwrap()
    }
}

impl Setup {
    /// Sets a configuration key, such as `limits.generations`.
    pub fn set(mut self, key: &str, value: &str) -> Self {
        let name = format!("CLOTHO_{}", key.to_uppercase().replace('.', "__"));
        self.env.retain(|(other, _)| *other != name);
        self.env.push((name, value.to_owned()));
        self
    }

    /// Writes a plugin into the plugin folder.
    pub fn with_plugin(self, id: &str, files: &[(&str, &str)]) -> Self {
        let folder = self.plugin_folder().join(id);
        std::fs::create_dir_all(&folder).unwrap();
        for (path, text) in files {
            std::fs::write(folder.join(path), text).unwrap();
        }
        self
    }

    /// Removes a plugin from the plugin folder.
    pub fn without_plugin(self, id: &str) -> Self {
        std::fs::remove_dir_all(self.plugin_folder().join(id)).unwrap();
        self
    }

    fn plugin_folder(&self) -> PathBuf {
        self.home.join("plugins")
    }

    /// Replaces the clock.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Uses a mock that already exists, perhaps with scripted replies.
    pub fn mock(mut self, mock: MockModel) -> Self {
        self.mock = Some(mock);
        self
    }

    /// Starts the program, with a new mock if none is set.
    pub async fn start(mut self) -> TestApp {
        let mock = match self.mock.take() {
            Some(mock) => mock,
            None => MockModel::start().await,
        };
        let config = self.config(&mock);
        let (clock, ids) = (Arc::clone(&self.clock), Arc::new(IdGenerator::new(self.seed)));
        self.seed += 1;
        let app = run_on_thread(move || App::build(config, clock, ids).unwrap_or_else(|error| panic!("{error}"))).await;
        TestApp { app: Some(Arc::new(app)), mock, setup: self }
    }

    fn config(&self, mock: &MockModel) -> Config {
        let text = |path: PathBuf| path.to_str().unwrap().to_owned();
        let base_url = mock.base_url();
        let fixed = [
            ("CLOTHO_STORAGE__DATA_DIR", text(self.home.join("data"))),
            ("CLOTHO_PLUGINS__DIR", text(self.plugin_folder())),
            ("CLOTHO_SEARCH__COMMIT_MS", "10".to_owned()),
            ("CLOTHO_GENERATION__MODEL", "mock/mock".to_owned()),
            ("CLOTHO_PROVIDERS__0__ID", "mock".to_owned()),
            ("CLOTHO_PROVIDERS__0__BASE_URL", base_url.clone()),
            ("CLOTHO_PROVIDERS__0__MODELS", "[\"mock\", \"other\"]".to_owned()),
            ("CLOTHO_PROVIDERS__1__ID", "second".to_owned()),
            ("CLOTHO_PROVIDERS__1__BASE_URL", base_url),
            ("CLOTHO_PROVIDERS__1__EXTRA", "{ top_k = 7 }".to_owned()),
        ];
        let own = |name: &str| self.env.iter().any(|(other, _)| other == name);
        let fixed = fixed.into_iter().filter(|(name, _)| !own(name)).map(|(name, value)| (name.to_owned(), value));
        Config::load(None, None, fixed.chain(self.env.clone())).unwrap_or_else(|error| panic!("{error}"))
    }
}

impl TestApp {
    /// Starts a program in an empty folder.
    pub async fn start() -> Self {
        Self::setup().start().await
    }

    /// Returns a setup with an empty temporary folder.
    pub fn setup() -> Setup {
        let home = tempfile::tempdir().unwrap();
        let setup = Self::setup_in(home.path().to_owned());
        Setup { _temp_dir: Some(home), ..setup }
    }

    /// Returns a setup in a folder that the caller removes.
    pub fn setup_in(home: PathBuf) -> Setup {
        let clock = Arc::new(TestClock::new(Time(1_700_000_000_000)));
        Setup { home, _temp_dir: None, env: Vec::new(), clock, seed: 7, mock: None }
    }

    /// Returns the folder that contains the data directory `data` and the plugin folder `plugins`.
    pub fn home(&self) -> PathBuf {
        self.setup.home.clone()
    }

    /// Returns the program for a server. The server must drop it before the program is stopped.
    pub fn shared_app(&self) -> Arc<App> {
        Arc::clone(self.app.as_ref().unwrap())
    }

    /// Shuts the program down cleanly and keeps its folder and mock.
    pub async fn stop(mut self) -> Setup {
        let app = self.app.take().unwrap();
        run_on_thread(move || {
            app.close();
            drop(wait_until_unshared(app));
        })
        .await;
        let Self { mock, setup, .. } = self;
        Setup { mock: Some(mock), ..setup }
    }

    /// Stops the program and starts it again in the same folder, with the same mock.
    pub async fn restart(self) -> Self {
        self.stop().await.start().await
    }

    /// Stores a character of the owner.
    pub async fn add_character(&self, card: Value) -> CharacterId {
        self.add_character_for(self.owner, card).await
    }

    /// Stores a character of a user.
    pub async fn add_character_for(&self, owner: UserId, card: Value) -> CharacterId {
        let now = self.clock.now();
        let id = CharacterId::new(self.ids.next_id(now));
        let card = CharacterCard { id, card: card.as_object().unwrap().clone(), created: now, updated: now };
        self.store.write(move |tx| tx.put_character(owner, &card)).await.unwrap();
        id
    }

    /// Stores a persona of the owner.
    pub async fn add_persona(&self, card: Value) -> PersonaId {
        self.add_persona_for(self.owner, card).await
    }

    /// Stores a persona of a user.
    pub async fn add_persona_for(&self, owner: UserId, card: Value) -> PersonaId {
        let now = self.clock.now();
        let id = PersonaId::new(self.ids.next_id(now));
        let card = PersonaCard { id, card: card.as_object().unwrap().clone(), created: now, updated: now };
        self.store.write(move |tx| tx.put_persona(owner, &card)).await.unwrap();
        id
    }

    /// Stores a lorebook of a user.
    pub async fn add_lorebook_for(&self, owner: UserId, book: Value) -> LorebookId {
        let now = self.clock.now();
        let id = LorebookId::new(self.ids.next_id(now));
        let book = Lorebook { id, card: book.as_object().unwrap().clone(), created: now, updated: now };
        self.store.write(move |tx| tx.put_lorebook(owner, &book)).await.unwrap();
        id
    }

    /// Adds another user to the server.
    pub async fn add_user(&self, name: &str) -> UserId {
        let now = self.clock.now();
        let user =
            UserAccount { id: UserId::new(self.ids.next_id(now)), name: name.to_owned(), role: "user".to_owned() };
        let id = user.id;
        self.store.write(move |tx| tx.put_user(&user, now)).await.unwrap();
        id
    }
}

/// Runs blocking work on a thread without a runtime.
async fn run_on_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = tokio::sync::oneshot::channel();
    let thread = std::thread::spawn(move || drop(done.send(work())));
    match result.await {
        Ok(result) => result,
        Err(_) => match thread.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => panic!("the thread ended without a result"),
        },
    }
}

/// Returns the program once no other reference exists. The workers of a server drop theirs shortly after the server has
/// ended, and only then is the folder free.
fn wait_until_unshared(mut app: Arc<App>) -> App {
    for _ in 0..60_000 {
        match Arc::try_unwrap(app) {
            Ok(app) => return app,
            Err(shared) => app = shared,
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("somebody holds the program for ever");
}
