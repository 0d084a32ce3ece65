//! The program is killed again and again while clients write, edit and wait for replies. Afterwards everything
//! acknowledged is there, the doctor finds nothing, and nobody waits forever. A seed determines when each kill
//! happens, counted in acknowledged requests, not in time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use clotho_core::clock::SplitMix64;
use clotho_core::ids::{NodeId, SessionId};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Text};
use serde_json::{Value, json};

use crate::http::purges::wait_until_gone;
use crate::support::anonymous_memory_kb;
use crate::support::mock_model::{MockModel, Reply};
use crate::support::test_store::doctor_findings;

/// Number of concurrent writers, each in its own session.
const WRITERS: usize = 4;
/// The model's reply, in three pieces.
const SAID: [&str; 3] = ["Well. ", "Let us ", "go on."];

/// Resources that a process holds.
#[derive(Debug)]
pub struct ProcessResources {
    /// Open files, connections included.
    pub open_file_count: usize,
    pub thread_count: usize,
    /// Private memory.
    pub memory_kb: u64,
}

/// The program in a separate process.
pub struct ServerProcess {
    child: Child,
    pub address: SocketAddr,
}

impl ServerProcess {
    pub fn start(home: &Path, model: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_clotho"));
        command.current_dir(home);
        Self::spawn(Self::configure_command(&mut command, model))
    }

    /// Adds the settings of the program, except its folder.
    pub fn configure_command<'c>(command: &'c mut Command, model: &str) -> &'c mut Command {
        command.env_remove("CLOTHO_CONFIG");
        for (name, value) in [
            ("SERVER__LISTEN", "127.0.0.1:0"),
            ("SERVER__WORKERS", "2"),
            ("LIMITS__WS_PER_USER", "200"),
            ("GENERATION__MODEL", "mock/mock"),
            ("PROVIDERS__0__ID", "mock"),
            ("PROVIDERS__0__BASE_URL", model),
            ("PROVIDERS__0__MODELS", "[\"mock\"]"),
        ] {
            command.env(format!("CLOTHO_{name}"), value);
        }
        command
    }

    /// Starts the program, and waits until it listens.
    pub fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let at = line.trim_end().strip_prefix("Clotho listens on http://").expect("it says where it listens");
        Self { address: at.parse().unwrap(), child }
    }

    /// Stops the program as a service manager does, and waits for its end.
    fn stop(&mut self) -> ExitStatus {
        let told = Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        assert!(told.success());
        self.child.wait().unwrap()
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the resources that the process holds now.
    pub fn resources(&self) -> ProcessResources {
        let count = |what: &str| fs::read_dir(format!("/proc/{}/{what}", self.id())).unwrap().count();
        ProcessResources {
            open_file_count: count("fd"),
            thread_count: count("task"),
            memory_kb: anonymous_memory_kb(self.id()),
        }
    }

    /// Waits until the program has released the files and the memory of the work since `before`, and asserts that
    /// threads are released too. The limits leave room for shared threads and database connections, and for memory that the
    /// allocator keeps.
    pub fn assert_resources_released(&self, before: &ProcessResources) {
        let is_released = |now: &ProcessResources| {
            now.open_file_count <= before.open_file_count + 8 && now.memory_kb < before.memory_kb + (16 << 10)
        };
        let (began, mut now) = (Instant::now(), self.resources());
        while !is_released(&now) {
            assert!(began.elapsed() < Duration::from_secs(150), "{now:?}, {before:?} before");
            std::thread::sleep(Duration::from_millis(20));
            now = self.resources();
        }
        assert!(now.thread_count <= before.thread_count + 4, "{now:?}, {before:?} before");
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Returns status and body of a response, if it arrived completely.
pub fn send_request(at: SocketAddr, method: &str, target: &str, body: &Value) -> Option<(u16, Value)> {
    let mut stream = TcpStream::connect(at).ok()?;
    let body = body.to_string();
    let head = format!(
        "{method} {target} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).ok()?;
    let mut heard = Vec::new();
    stream.read_to_end(&mut heard).ok()?;
    let heard = String::from_utf8(heard).ok()?;
    let (head, body) = heard.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    (length == Some(body.len())).then(|| serde_json::from_str(body).ok()).flatten().map(|body| (status, body))
}

/// An acknowledged fact: an operation of a session, or the text of a message.
#[derive(Debug)]
enum Acknowledgement {
    Operation { session: String, op: i64, act: &'static str },
    Text { node: String, content: String },
}

/// A client that writes in one session until the server is gone.
struct WriterClient {
    address: SocketAddr,
    session_id: String,
    random: SplitMix64,
    /// Acknowledged messages.
    nodes: Vec<String>,
    write_count: u64,
    fact_sender: Sender<Acknowledgement>,
}

impl WriterClient {
    fn write_until_server_ends(&mut self) {
        while self.run_random_action().is_some() {}
    }

    fn pick_node(&mut self) -> String {
        let at = self.random.next_below(self.nodes.len() as u64);
        self.nodes[usize::try_from(at).unwrap()].clone()
    }

    /// Does one random action. Returns `None` if the server is gone.
    fn run_random_action(&mut self) -> Option<()> {
        let (one, other) = (self.pick_node(), self.pick_node());
        let draw = self.random.next_below(21);
        self.write_count += 1;
        let content = format!("{} {}", self.session_id, self.write_count);
        match draw {
            0..=5 => self.send_message(&one, &content, false),
            6..=8 => self.send_message(&one, &content, true),
            9 => self.send_and_record(
                "POST",
                &format!("node/{one}/edit"),
                json!({"content": content, "generate": false}),
                "edit",
            ),
            10 => self.send_and_record(
                "PUT",
                &format!("node/{one}/state"),
                json!({"isEnabled": self.write_count.is_multiple_of(2)}),
                "state",
            ),
            11 => self.send_and_record("PUT", "active_leaf", json!({"nodeId": one}), "checkout"),
            12 | 13 => self.edit_tree(json!({"op": "prune", "nodeId": one}), "prune"),
            14 => self.edit_tree(json!({"op": "graft", "nodeId": one, "targetId": other, "mode": "move"}), "graft"),
            15 => {
                let (_, stash) = send_request(self.address, "GET", &self.chat_path("stash"), &Value::Null)?;
                match stash["items"].as_array().and_then(|items| items.first()).and_then(|first| first["id"].as_str()) {
                    Some(fragment) => self.edit_tree(json!({"op": "graft", "fragmentId": fragment}), "graft"),
                    None => Some(()),
                }
            }
            16 => self.edit_tree(json!({"op": "label", "nodeId": one, "name": content}), "label"),
            17 | 18 => self.send_and_record("POST", "undo", json!({}), "undo"),
            19 => self.edit_tree(json!({"op": "purge", "nodeId": one, "confirm": true}), "purge"),
            _ => self.send_and_record("POST", "redo", json!({}), "redo"),
        }
    }

    fn chat_path(&self, rest: &str) -> String {
        format!("/api/chat/{}/{rest}", self.session_id)
    }

    fn edit_tree(&mut self, edit: Value, act: &'static str) -> Option<()> {
        self.send_and_record("PUT", "tree/edit", json!({"operations": [edit]}), act)
    }

    fn send_message(&mut self, parent: &str, content: &str, generate: bool) -> Option<()> {
        self.send_and_record(
            "POST",
            "message",
            json!({"parentId": parent, "content": content, "generate": generate}),
            "message",
        )
    }

    /// Sends a request and records what was acknowledged. A refusal is a valid response.
    fn send_and_record(&mut self, method: &str, rest: &str, body: Value, act: &'static str) -> Option<()> {
        let before = self.newest_operation()?;
        let (status, answer) = send_request(self.address, method, &self.chat_path(rest), &body)?;
        assert!(status < 500, "{method} {rest} {body}: {answer}");
        if status >= 300 {
            return Some(());
        }
        if let Some(node) = answer["node"]["id"].as_str() {
            self.nodes.push(node.to_owned());
            let content = answer["node"]["content"].as_str().unwrap().to_owned();
            self.fact_sender.send(Acknowledgement::Text { node: node.to_owned(), content }).unwrap();
        }
        // A request that changes nothing makes no operation.
        if let Some(op) = answer["op"].as_i64().filter(|op| *op > before) {
            self.fact_sender.send(Acknowledgement::Operation { session: self.session_id.clone(), op, act }).unwrap();
        }
        Some(())
    }

    fn newest_operation(&self) -> Option<i64> {
        send_request(self.address, "GET", &format!("/api/sessions/{}", self.session_id), &Value::Null)?.1["op"].as_i64()
    }
}

/// The sessions, and everything that was ever acknowledged.
struct KillHistory {
    home: tempfile::TempDir,
    acknowledgements: Vec<Acknowledgement>,
    /// Some messages of each session.
    session_nodes: BTreeMap<String, Vec<String>>,
}

#[derive(QueryableByName)]
struct OperationRow {
    #[diesel(sql_type = BigInt)]
    op: i64,
    #[diesel(sql_type = Text)]
    act: String,
    #[diesel(sql_type = Binary)]
    id: Vec<u8>,
}

#[derive(QueryableByName)]
struct TextRow {
    #[diesel(sql_type = Binary)]
    id: Vec<u8>,
    #[diesel(sql_type = Text)]
    content: String,
}

impl KillHistory {
    fn database_path(&self) -> PathBuf {
        self.home.path().join("data/clotho.db")
    }

    /// Creates the sessions.
    fn create_sessions(model: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let program = ServerProcess::start(home.path(), model);
        let post = |target: &str, body: Value| send_request(program.address, "POST", target, &body).unwrap().1;
        let card = json!({"name": "Rin", "firstMessage": "Hello."});
        let character = post("/api/characters", card)["id"].clone();
        let session = |_| {
            let session = post("/api/sessions", json!({"characterIds": [character]}));
            let text = |key: &str| session[key].as_str().unwrap().to_owned();
            (text("id"), vec![text("activeLeafId")])
        };
        let stories = (0..WRITERS).map(session).collect();
        drop(program);
        Self { home, acknowledgements: Vec::new(), session_nodes: stories }
    }

    /// Runs the program once: all writers write until a random number of acknowledgements, then `end` ends it.
    fn run_program_once(&mut self, model: &str, random: &mut SplitMix64, end: fn(&mut ServerProcess)) {
        let mut program = ServerProcess::start(self.home.path(), model);
        self.assert_intact(&program);
        let (tell, told) = mpsc::channel();
        let mut writers = Vec::new();
        for (session, nodes) in &self.session_nodes {
            let random = SplitMix64::new(random.next_u64());
            let written = random.clone().next_u64() % 1_000_000;
            let (session, nodes, tell) = (session.clone(), nodes.clone(), tell.clone());
            let mut writer = WriterClient {
                address: program.address,
                session_id: session,
                random,
                nodes,
                write_count: written,
                fact_sender: tell,
            };
            writers.push(std::thread::spawn(move || {
                writer.write_until_server_ends();
                (writer.session_id, writer.nodes)
            }));
        }
        drop(tell);
        let lives = 5 + random.next_below(60);
        self.record_acknowledgements(&told, lives);
        end(&mut program);
        for writer in writers {
            let (session, mut nodes) = writer.join().unwrap();
            // Keeps a choice of old and new messages.
            while nodes.len() > 40 {
                nodes.remove(usize::try_from(1 + random.next_below(nodes.len() as u64 - 1)).unwrap());
            }
            self.session_nodes.insert(session, nodes);
        }
        self.record_acknowledgements(&told, u64::MAX);
    }

    fn record_acknowledgements(&mut self, told: &Receiver<Acknowledgement>, most: u64) {
        let mut heard = 0;
        while heard < most
            && let Ok(fact) = told.recv()
        {
            self.acknowledgements.push(fact);
            heard += 1;
        }
    }

    /// Asserts that everything acknowledged is there, nothing is damaged, and nothing is pending.
    fn assert_intact(&self, program: &ServerProcess) {
        let (status, _) = send_request(program.address, "GET", "/api/sessions", &Value::Null).unwrap();
        assert_eq!(status, 200);
        let mut conn = crate::support::open_second_connection(self.database_path());
        let acts = "SELECT o.op, o.act, s.id FROM operations o JOIN sessions s ON s.n = o.session_n";
        let acts: Vec<OperationRow> = diesel::sql_query(acts).load(&mut conn).unwrap();
        let acts: BTreeMap<(String, i64), String> = acts
            .into_iter()
            .map(|one| ((SessionId::from_slice(&one.id).unwrap().to_string(), one.op), one.act))
            .collect();
        let said = "SELECT n.id, t.content FROM nodes n JOIN texts t ON t.n = n.n";
        let said: Vec<TextRow> = diesel::sql_query(said).load(&mut conn).unwrap();
        let said: BTreeMap<String, String> =
            said.into_iter().map(|one| (NodeId::from_slice(&one.id).unwrap().to_string(), one.content)).collect();
        let purged = purged_nodes(&mut conn);
        assert!(!said.keys().any(|node| purged.contains(node)), "what was purged is gone, all of it or nothing");
        for fact in &self.acknowledgements {
            match fact {
                Acknowledgement::Text { node, .. } if purged.contains(node) => {}
                Acknowledgement::Operation { session, op, act } => {
                    let kept = acts.get(&(session.clone(), *op)).map(String::as_str);
                    // A request that changes nothing answers with the newest operation, perhaps of a reply that has
                    // just ended.
                    let is_idle = matches!(*act, "state" | "checkout" | "graft" | "label") && kept == Some("reply");
                    assert!(kept == Some(*act) || is_idle, "{fact:?}: {kept:?}");
                }
                Acknowledgement::Text { node, content } => assert_eq!(said.get(node), Some(content), "{fact:?}"),
            }
        }
        let running =
            diesel::sql_query("SELECT n.id, t.content FROM nodes n JOIN texts t ON t.n = n.n WHERE n.status = 0");
        assert_eq!(running.load::<TextRow>(&mut conn).unwrap().len(), 0, "nobody writes for ever");
        let found = doctor_findings(&self.database_path(), true);
        assert!(found.is_empty(), "{found:#?}");
    }
}

/// Returns the nodes that the log says were purged.
fn purged_nodes(conn: &mut SqliteConnection) -> BTreeSet<String> {
    let purges = diesel::sql_query("SELECT op, effects AS act, X'' AS id FROM operations WHERE act = 'purge'");
    let effects = purges.load::<OperationRow>(conn).unwrap().into_iter();
    let effects = effects.flat_map(|one| serde_json::from_str::<Vec<Value>>(&one.act).unwrap());
    let mut ids = BTreeSet::new();
    for effect in effects.filter(|effect| effect["purged"].is_string()) {
        let below = effect["below"].as_array().unwrap().iter().chain([&effect["purged"]]);
        ids.extend(below.map(|id| id.as_str().unwrap().to_owned()));
    }
    ids
}

/// Runs and ends the program several times in the same way, under load.
async fn run_and_end_repeatedly(seed: u64, times: usize, end: fn(&mut ServerProcess)) {
    let mock = MockModel::start().await;
    mock.set_default_reply(Reply::ok(SAID));
    let model = mock.base_url();
    let lives = move || {
        let mut random = SplitMix64::new(seed);
        let mut chronicle = KillHistory::create_sessions(&model);
        for _ in 0..times {
            chronicle.run_program_once(&model, &mut random, end);
        }
        let program = ServerProcess::start(chronicle.home.path(), &model);
        chronicle.assert_intact(&program);
        let acts = |act: &str| {
            chronicle
                .acknowledgements
                .iter()
                .filter(|fact| matches!(fact, Acknowledgement::Operation { act: told, .. } if *told == act))
                .count()
        };
        for act in ["message", "edit", "prune", "graft", "undo", "purge"] {
            assert!(acts(act) > 0, "nobody has tried to {act}");
        }
    };
    tokio::task::spawn_blocking(lives).await.unwrap();
}

/// `domain.md` 4, 5.6, C23: killed fifty times at moments drawn from a seed, in two data directories.
#[tokio::test]
async fn kill_loop_first_run_keeps_acknowledged_writes() {
    run_and_end_repeatedly(7, 25, |program| program.child.kill().unwrap()).await;
}

/// The same with the second data directory.
#[tokio::test]
async fn kill_loop_second_run_keeps_acknowledged_writes() {
    run_and_end_repeatedly(11, 25, |program| program.child.kill().unwrap()).await;
}

/// `domain.md` 4: a program that is asked to stop under load exits successfully and keeps what it acknowledged.
/// Running replies end with the text received so far.
#[tokio::test]
async fn stop_loop_under_load_keeps_acknowledged_writes() {
    run_and_end_repeatedly(13, 15, |program| assert!(program.stop().success())).await;
}

/// Sends a DELETE request, whose response has no body.
fn send_delete(at: SocketAddr, target: &str) {
    let mut stream = TcpStream::connect(at).unwrap();
    let head = format!("DELETE {target} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut heard = String::new();
    stream.read_to_string(&mut heard).unwrap();
    assert!(heard.starts_with("HTTP/1.1 204"), "{heard}");
}

/// Domain 2.16: killed right after it acknowledged a purge or deletion, the program wipes the data soon after the next
/// start.
#[tokio::test]
async fn kill_after_purge_is_wiped_at_next_start() {
    const WORDS: [&str; 2] = ["Xylophonebananas", "Quincemarmalade"];
    let home = tempfile::tempdir().unwrap();
    let (folder, data) = (home.path().to_owned(), home.path().join("data"));
    let begin = move || ServerProcess::start(&folder, "http://127.0.0.1:9/v1");
    let start = begin.clone();
    let life = move || {
        let program = start();
        let call =
            |method: &str, target: &str, body: Value| send_request(program.address, method, target, &body).unwrap();
        let character =
            call("POST", "/api/characters", json!({"name": "Rin", "firstMessage": "Hello."})).1["id"].clone();
        let [purged, destroyed] = WORDS.map(|word| {
            let session = call("POST", "/api/sessions", json!({"characterIds": [character]})).1;
            let chat = format!("/api/chat/{}", session["id"].as_str().unwrap());
            let body =
                json!({"parentId": session["activeLeafId"], "content": format!("It is {word}."), "generate": false});
            let (status, said) = call("POST", &format!("{chat}/message"), body);
            assert!(status < 300, "{said}");
            let is_found = || call("GET", &format!("/api/search?q={word}"), Value::Null).1["items"] != json!([]);
            let looks = (0..1_500).map(|_| std::thread::sleep(std::time::Duration::from_millis(20)));
            assert!(is_found() || looks.into_iter().any(|()| is_found()), "\"{word}\" is not found");
            (session["id"].as_str().unwrap().to_owned(), said["node"]["id"].clone())
        });
        send_delete(program.address, &format!("/api/sessions/{}", destroyed.0));
        let purge = json!({"operations": [{"op": "purge", "nodeId": purged.1, "confirm": true}]});
        assert_eq!(call("PUT", &format!("/api/chat/{}/tree/edit", purged.0), purge).0, 200);
        send_delete(program.address, &format!("/api/trash/{}?confirm=true", destroyed.0));
    };
    tokio::task::spawn_blocking(life).await.unwrap();
    let program = tokio::task::spawn_blocking(begin).await.unwrap();
    for word in WORDS {
        wait_until_gone(&data, word).await;
    }
    drop(program);
    let found = doctor_findings(&data.join("clotho.db"), true);
    assert!(found.is_empty(), "{found:#?}");
}
