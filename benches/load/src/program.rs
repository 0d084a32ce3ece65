//! The program as a separate process with its own folder.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::mock::Mock;
use super::process::{self, Memory, Usage};
use super::wire::Wire;

/// Timeout of the start.
const START: Duration = Duration::from_secs(60);
/// Time until a program that does not stop is killed.
const STOP: Duration = Duration::from_secs(20);

/// The folder of a server: configuration, data and log. It is deleted when dropped.
pub struct ServerFolder {
    folder: TempDir,
    address: SocketAddr,
}

impl ServerFolder {
    /// Creates a folder with settings of `[generation]` and further sections. The limits of replies and sockets are
    /// high enough for every scenario.
    pub fn new(mock: &Mock, generation: &str, sections: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // The port is free now, and no other program on this machine is likely to take it.
        let at = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let text = format!(
            "[server]\nlisten = \"{at}\"\n[storage]\ndata_dir = \"data\"\n[log]\nlevel = \"warn\"\n\
             [generation]\nmodel = \"mock/mock\"\n{generation}\n\
             [limits]\ngenerations_per_user = 2000\ngenerations = 2000\nwaiting_per_user = 2000\nws_per_user = 10000\n\
             [[providers]]\nid = \"mock\"\nkind = \"openai\"\nbase_url = \"http://{}/v1\"\nmodels = [\"mock\"]\n{sections}\n",
            mock.address
        );
        fs::write(folder.path().join("config.toml"), text).unwrap();
        Self { folder, address: at }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the size of the database in bytes.
    pub fn database_size(&self) -> u64 {
        fs::metadata(self.folder.path().join("data/clotho.db")).map_or(0, |file| file.len())
    }

    /// Starts the program and waits until it answers.
    pub async fn start(&self) -> Program<'_> {
        let program = self.spawn();
        program.wait_for_answer("/healthz").await;
        program
    }

    /// Starts the program without waiting.
    pub fn spawn(&self) -> Program<'_> {
        let path = binary_path();
        let log = File::create(self.folder.path().join("log")).unwrap();
        let started = Instant::now();
        let child = Command::new(&path)
            .args(["serve", "--config", "config.toml"])
            .current_dir(self.folder.path())
            .env_remove("CLOTHO_BIN")
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("starting {}: {error}", path.display()));
        Program { server_folder: self, child, address: self.address, started_at: started }
    }

    fn read_log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

fn binary_path() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/release/clotho");
    let path = std::env::var_os("CLOTHO_BIN").map_or_else(beside, PathBuf::from);
    path.canonicalize().unwrap_or_else(|error| panic!("{}: {error}; build it, or set CLOTHO_BIN", path.display()))
}

/// The running program. Its warnings are printed when it ends.
pub struct Program<'a> {
    server_folder: &'a ServerFolder,
    child: Child,
    pub address: SocketAddr,
    pub started_at: Instant,
}

impl Program<'_> {
    /// Retries a request until it is answered. Returns the time since the start.
    pub async fn wait_for_answer(&self, target: &str) -> Duration {
        let mut wire = loop {
            match Wire::try_open(self.address).await {
                Ok(wire) => break wire,
                Err(_) if self.started_at.elapsed() < START => tokio::time::sleep(Duration::from_millis(1)).await,
                Err(error) => panic!("the program does not answer: {error}\n{}", self.server_folder.read_log()),
            }
        };
        wire.get(target).await;
        self.started_at.elapsed()
    }

    pub fn usage(&self) -> Usage {
        process::read_usage(self.child.id())
    }

    pub fn memory(&self) -> Memory {
        process::read_memory(self.child.id())
    }

    pub fn reset_peak(&self) {
        process::reset_peak(self.child.id());
    }

    /// Stops the program cleanly, so that everything is on the disk.
    pub async fn stop(mut self) {
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill").args(["-TERM", &id]).status().unwrap().success(),
            "the program has ended by itself"
        );
        let asked = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(asked.elapsed() < STOP, "the program does not end");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // Killing a program that has already ended fails.
        _ = self.child.kill();
        _ = self.child.wait();
        let log = self.server_folder.read_log();
        let complaints: Vec<&str> = log.lines().filter(|line| !line.starts_with("Clotho listens")).collect();
        if let [first, rest @ ..] = &complaints[..] {
            println!("\nThe program logged {} lines, beginning with: {first}", rest.len() + 1);
        }
    }
}
