//! The `clotho` program as its administrator starts it: a separate process, its exit code, and what it prints where.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use diesel::prelude::*;
use tempfile::TempDir;

/// Returns a command that runs the program in `folder`, without environment variables that could be settings.
fn clotho_command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clotho"));
    command.current_dir(folder).env("CLOTHO_SERVER__LISTEN", "127.0.0.1:0").env_remove("CLOTHO_CONFIG");
    command
}

/// Returns a command that runs the program in its own mount namespace, after the shell commands in `mounts`. Returns
/// `None` and prints a note if this machine does not allow that.
#[expect(clippy::print_stderr, reason = "what a machine cannot test is said")]
fn apart(folder: &Path, mounts: &str) -> Option<Command> {
    let view = || {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-ec"]);
        command
    };
    if !view().arg("mount -t tmpfs none /tmp").output().is_ok_and(|tried| tried.status.success()) {
        eprintln!("skipped: this machine allows no mounts of one's own");
        return None;
    }
    let mut command = view();
    command.arg(format!("{mounts}\nexec \"$0\"")).arg(env!("CARGO_BIN_EXE_clotho"));
    command.current_dir(folder).env("CLOTHO_SERVER__LISTEN", "127.0.0.1:0").env_remove("CLOTHO_CONFIG");
    Some(command)
}

/// Runs a command that must fail by itself, and returns its message.
fn run_failing(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    assert_eq!((status.code(), String::from_utf8(stdout).unwrap().as_str()), (Some(1), ""), "{said}");
    said
}

fn assert_contains_all(said: &str, words: &[&str]) {
    for word in words {
        assert!(said.contains(word), "\"{word}\" is not in: {said}");
    }
}

/// A running server that accepts connections.
struct CliServer {
    child: Child,
    address: SocketAddr,
}

impl CliServer {
    fn start(command: &mut Command) -> Self {
        Self::start_with_log(command, Stdio::null())
    }

    fn start_with_log(command: &mut Command, log: Stdio) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let at = line.trim_end().strip_prefix("Clotho listens on http://").expect("it says where it listens");
        Self { address: at.parse().unwrap(), child }
    }

    fn get(&self, target: &str) -> String {
        self.send_request("GET", target, "")
    }

    fn send_request(&self, method: &str, target: &str, json: &str) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let head = format!("{method} {target} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.address);
        let body = format!("Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{json}", json.len());
        stream.write_all((head + &body).as_bytes()).unwrap();
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).unwrap();
        String::from_utf8_lossy(&heard).into_owned()
    }

    /// Stops the server with a signal, as `systemctl stop` or Ctrl-C would.
    fn stop_with_signal(mut self, signal: &str) {
        // A server that answers has also installed its signal handlers.
        assert!(self.get("/healthz").starts_with("HTTP/1.1 200"));
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

impl Drop for CliServer {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
    }
}

/// The server starts in an empty folder without a configuration. It creates its data directory, prints its address,
/// and serves the page and the adventure. It stops cleanly on a signal and continues with the same data after a
/// restart.
#[test]
fn server_start_in_empty_folder_creates_data_directory() {
    let folder = TempDir::new().unwrap();
    for signal in ["-TERM", "-INT"] {
        let serving = CliServer::start(&mut clotho_command(folder.path()));
        assert!(serving.address.ip().is_loopback());
        assert!(serving.get("/").starts_with("HTTP/1.1 200"));
        assert!(serving.get("/api/characters").contains("lantern-keep"), "the adventure is there");
        serving.stop_with_signal(signal);
        assert!(folder.path().join("data/clotho.db").is_file());
    }
}

/// Returns the paths below a folder, and the folder itself, to which others than the owner have access.
#[cfg(unix)]
fn open_to_others(folder: &Path) -> Vec<String> {
    use std::os::unix::fs::PermissionsExt as _;

    let mode = std::fs::metadata(folder).unwrap().permissions().mode();
    let inner = std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let own = (mode & 0o077 != 0).then(|| format!("{} {:o}", folder.display(), mode & 0o777));
    own.into_iter().chain(inner.flat_map(|path| open_to_others(&path))).collect()
}

/// Nobody else on the machine can read the data: not the index, the locks or an existing folder either.
#[cfg(unix)]
#[test]
fn data_directory_belongs_to_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    std::fs::create_dir_all(data.join("search")).unwrap();
    for old in [data.clone(), data.join("search")] {
        std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    for name in ["lock", "search/meta.json"] {
        std::fs::write(data.join(name), "").unwrap();
        std::fs::set_permissions(data.join(name), std::fs::Permissions::from_mode(0o644)).unwrap();
    }
    let serving = CliServer::start(&mut clotho_command(folder.path()));
    assert!(data.join("search/meta.json").is_file() && data.join("clotho.db.lock").is_file());
    assert_eq!(open_to_others(&data), [] as [&str; 0]);
    serving.stop_with_signal("-TERM");
    assert_eq!(open_to_others(&data), [] as [&str; 0]);
}

/// A second server may not use the same data directory. It may not use the same port either, and is refused before it
/// changes anything.
#[test]
fn second_server_on_same_data_is_refused() {
    let folder = TempDir::new().unwrap();
    let serving = CliServer::start(&mut clotho_command(folder.path()));
    assert_contains_all(&run_failing(&mut clotho_command(folder.path())), &["data directory", "another"]);

    let other = TempDir::new().unwrap();
    let said = run_failing(clotho_command(other.path()).env("CLOTHO_SERVER__LISTEN", serving.address.to_string()));
    assert_contains_all(
        &said,
        &["cannot listen on", &serving.address.to_string(), "server.listen", "CLOTHO_SERVER__LISTEN"],
    );
    assert!(!other.path().join("data").exists());
}

/// A wrong value or an unknown key is refused with file, line, key and the expected value. For an environment
/// variable, the error names the variable.
#[test]
fn config_invalid_setting_reports_file_line_and_key() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("config.toml");
    let check = |text: &str, words: &[&str]| {
        std::fs::write(&file, text).unwrap();
        assert_contains_all(&run_failing(&mut clotho_command(folder.path())), words);
    };
    check("[server]\nlissten = \"127.0.0.1:1\"\n", &["config.toml", "2", "lissten", "listen"]);
    check("[storage]\n\nkeyframe_every = \"ten\"\n", &["config.toml", "3", "[storage] keyframe_every", "\"ten\""]);
    check("[server\n", &["config.toml", "1"]);
    check("[log]\nlevel = \"loud=very=\"\n", &["config.toml:2", "[log] level", "loud"]);
    std::fs::remove_file(&file).unwrap();

    let said = run_failing(clotho_command(folder.path()).env("CLOTHO_SERVER__LISTEN", "0.0.0.0:7317"));
    assert_contains_all(&said, &["CLOTHO_SERVER__LISTEN", "other machines", "127.0.0.1"]);
    assert_contains_all(
        &run_failing(clotho_command(folder.path()).env("CLOTHO_SERVR__LISTEN", "x")),
        &["CLOTHO_SERVR__LISTEN"],
    );
    let missing = folder.path().join("nowhere.toml");
    assert_contains_all(&run_failing(clotho_command(folder.path()).arg("--config").arg(&missing)), &["nowhere.toml"]);
    assert!(!folder.path().join("data").exists(), "nothing was begun");
}

/// S0-19: a database of a newer version stays unchanged, and the error says which version to use.
#[test]
fn database_from_newer_version_is_left_unchanged() {
    let folder = TempDir::new().unwrap();
    CliServer::start(&mut clotho_command(folder.path())).stop_with_signal("-TERM");
    let database = folder.path().join("data/clotho.db");
    let mut conn = crate::support::open_second_connection(&database);
    let newer = "INSERT INTO __diesel_schema_migrations (version) VALUES ('29991231000001')";
    diesel::sql_query(newer).execute(&mut conn).unwrap();
    diesel::sql_query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut conn).unwrap();
    drop(conn);
    let before = std::fs::read(&database).unwrap();
    assert_contains_all(
        &run_failing(&mut clotho_command(folder.path())),
        &["newer version", "29991231000001", "use that version"],
    );
    assert_eq!(std::fs::read(&database).unwrap(), before);
}

/// A read-only data directory or database stops the start, and the error names the path.
#[test]
fn read_only_data_directory_stops_start() {
    let folder = TempDir::new().unwrap();
    CliServer::start(&mut clotho_command(folder.path())).stop_with_signal("-TERM");
    for at in ["data", "data/clotho.db"] {
        let mounts = format!("mount --bind {at} {at}\nmount -o remount,bind,ro {at}");
        let Some(mut command) = apart(folder.path(), &mounts) else { return };
        assert_contains_all(&run_failing(&mut command), &["cannot be written", "permissions", "clotho.db"]);
    }
    CliServer::start(&mut clotho_command(folder.path())).stop_with_signal("-TERM");
}

/// A trigger or a view of somebody else stops the start, and the doctor lists it. Nothing is changed.
#[test]
fn database_with_foreign_trigger_or_view_stops_start() {
    let folder = TempDir::new().unwrap();
    CliServer::start(&mut clotho_command(folder.path())).stop_with_signal("-TERM");
    let database = folder.path().join("data/clotho.db");
    let run = |sql: &str| {
        let mut conn = crate::support::open_second_connection(&database);
        diesel::sql_query(sql).execute(&mut conn).unwrap();
    };
    for (make, object, drop) in [
        ("CREATE TRIGGER t AFTER INSERT ON nodes BEGIN SELECT 1; END", "trigger \"t\"", "DROP TRIGGER t"),
        ("CREATE VIEW v AS SELECT title FROM sessions", "view \"v\"", "DROP VIEW v"),
    ] {
        run(make);
        let said = run_failing(&mut clotho_command(folder.path()));
        assert_contains_all(&said, &[object, "did not make", "\"clotho doctor\"", "restore a backup"]);
        let doctor = clotho_command(folder.path()).arg("doctor").output().unwrap();
        assert_eq!(doctor.status.code(), Some(1));
        assert_contains_all(&String::from_utf8(doctor.stdout).unwrap(), &[object]);
        run(drop);
        CliServer::start(&mut clotho_command(folder.path())).stop_with_signal("-TERM");
    }
}

/// Files of strangers that the settings name keep nobody from the doctor or the server: they are reported.
#[test]
fn hostile_template_and_tokenizer_files_are_reported() {
    let folder = TempDir::new().unwrap();
    let nested = |open: &str, close: &str| format!("{}{}", open.repeat(50_000), close.repeat(50_000));
    let files = [
        ("chain.jinja", format!("{{{{ {}a }}}}", "-".repeat(200_000))),
        ("elif.jinja", format!("{{% if a %}}{}{{% endif %}}", "{% elif a %}".repeat(15_000))),
        ("brackets.jinja", format!("{{{{ {}", "(".repeat(200_000))),
        ("large.jinja", " ".repeat(1 << 20)),
        ("deep.json", nested("[", "]")),
        ("steps.json", format!("{{\"normalizer\": {}}}", nested("{\"type\": \"Sequence\", \"normalizers\": [", "]}"))),
        ("empty.json", String::new()),
    ];
    let models: Vec<String> = (0..2_000).map(|n| format!("\"model-{n}\"")).collect();
    let mut config = String::new();
    for (n, (name, text)) in files.iter().enumerate() {
        std::fs::write(folder.path().join(name), text).unwrap();
        let key = if name.ends_with(".json") { "tokenizer" } else { "template" };
        config += &format!(
            "[[providers]]\nid = \"p{n}\"\nkind = \"koboldcpp\"\nbase_url = \"http://127.0.0.1:9\"\n\
             {key} = \"{name}\"\nmodels = [{}]\n",
            models.join(", ")
        );
    }
    std::fs::write(folder.path().join("config.toml"), config).unwrap();
    CliServer::start(&mut clotho_command(folder.path())).stop_with_signal("-TERM");
    let doctor = clotho_command(folder.path()).arg("doctor").output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&doctor.stdout), String::from_utf8_lossy(&doctor.stderr));
    assert_eq!(doctor.status.code(), Some(0), "{said}");
    assert_contains_all(&said, &files.iter().map(|(name, _)| *name).collect::<Vec<_>>());
}

/// A full disk stops the first start with a readable error.
#[test]
fn full_disk_on_first_start_reports_error() {
    let folder = TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("data")).unwrap();
    // First no room for the files beside the database, then no room for the database itself.
    for size in ["16k", "96k"] {
        let Some(mut command) = apart(folder.path(), &format!("mount -t tmpfs -o size={size} none data")) else {
            return;
        };
        assert_contains_all(&run_failing(&mut command), &["disk", "data", "is full", "free some space"]);
    }
}

/// A disk that fills up while the server runs: writes are refused, reads work, and writes work again once there is
/// room.
#[test]
fn full_disk_while_running_refuses_writes_then_recovers() {
    let folder = TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("data")).unwrap();
    let Some(mut command) = apart(folder.path(), "mount -t tmpfs -o size=64m none data") else { return };
    let serving = CliServer::start(&mut command);
    let large = format!("{{\"name\": \"Large\", \"description\": \"{}\"}}", "x".repeat(500_000));
    let create = || serving.send_request("POST", "/api/characters", &large);
    assert!(create().starts_with("HTTP/1.1 201"));
    // The folder as the server's mount namespace sees it.
    let data = format!("/proc/{}/root{}", serving.child.id(), folder.path().join("data").display());
    let filler = Path::new(&data).join("filler");
    let mut file = std::fs::File::create(&filler).unwrap();
    while file.write_all(&[0; 4_096]).is_ok() {}
    let heard = create();
    assert!(heard.starts_with("HTTP/1.1 507"), "{heard}");
    assert_contains_all(&heard, &["\"storage_full\"", "disk is full", "nothing was changed", "\"incident\":\""]);
    assert!(serving.get("/api/characters").matches("\"Large\"").count() == 1, "what is there is read");
    drop(file);
    std::fs::remove_file(&filler).unwrap();
    assert!(create().starts_with("HTTP/1.1 201"));
    serving.stop_with_signal("-TERM");
}

/// `domain.md` 4: a backup is made beside a running server and restored when none runs. Each refusal says why and what
/// to do.
#[test]
fn backup_of_running_server_can_be_restored() {
    let folder = TempDir::new().unwrap();
    let run = |arguments: &[&str]| clotho_command(folder.path()).args(arguments).output().unwrap();
    assert_contains_all(
        &run_failing(clotho_command(folder.path()).args(["backup", "copy.db"])),
        &["clotho.db does not exist", "storage.data_dir"],
    );
    let serving = CliServer::start(&mut clotho_command(folder.path()));
    let keep = |serving: &CliServer, name: &str| {
        assert!(
            serving
                .send_request("POST", "/api/characters", &format!("{{\"name\": \"{name}\"}}"))
                .contains("201 Created")
        );
    };
    keep(&serving, "Before");
    let made = run(&["backup", "copy.db"]);
    assert_eq!(made.status.code(), Some(0));
    assert_contains_all(&String::from_utf8(made.stdout).unwrap(), &["copy.db is complete", "checked"]);
    assert_contains_all(
        &run_failing(clotho_command(folder.path()).args(["backup", "copy.db"])),
        &["copy.db already exists", "another name"],
    );
    keep(&serving, "After");
    assert_contains_all(
        &run_failing(clotho_command(folder.path()).args(["restore", "copy.db"])),
        &["another server", "data directory"],
    );
    serving.stop_with_signal("-TERM");

    std::fs::write(folder.path().join("letter"), "Dear diary.").unwrap();
    assert_contains_all(
        &run_failing(clotho_command(folder.path()).args(["restore", "letter"])),
        &["letter is not a backup of a Clotho database"],
    );
    assert_contains_all(
        &run_failing(clotho_command(folder.path()).args(["restore", "nothing"])),
        &["nothing does not exist"],
    );
    assert_eq!(run(&["restore"]).status.code(), Some(2));
    let put_back = run(&["restore", "copy.db"]);
    assert_eq!(put_back.status.code(), Some(0));
    assert_contains_all(
        &String::from_utf8(put_back.stdout).unwrap(),
        &["is kept as", "clotho-before-", "copy.db was restored"],
    );
    let serving = CliServer::start(&mut clotho_command(folder.path()));
    let known = serving.get("/api/characters");
    assert!(known.contains("\"Before\"") && !known.contains("\"After\""), "{known}");
    serving.stop_with_signal("-TERM");
}

/// `stats` counts the data for people and for programs, also beside a server. `gc` is refused while a server runs.
#[test]
fn stats_and_gc_commands_count_and_clean() {
    let folder = TempDir::new().unwrap();
    for command in ["stats", "gc"] {
        assert_contains_all(
            &run_failing(clotho_command(folder.path()).arg(command)),
            &["clotho.db does not exist", "storage.data_dir"],
        );
    }
    assert!(!folder.path().join("data").exists(), "nothing was begun");
    let serving = CliServer::start(&mut clotho_command(folder.path()));
    let said = |arguments: &[&str]| {
        let run = clotho_command(folder.path()).args(arguments).output().unwrap();
        assert_eq!(run.status.code(), Some(0));
        String::from_utf8(run.stdout).unwrap()
    };
    assert_contains_all(&said(&["stats"]), &["table", "characters", "0 sessions", "0 nodes"]);
    let figures: serde_json::Value = serde_json::from_str(&said(&["stats", "--json"])).unwrap();
    let characters = figures["tables"].as_array().unwrap().iter().find(|table| table["name"] == "characters").unwrap();
    assert!(characters["rows"].as_i64().unwrap() > 0 && characters["bytes"].as_i64().unwrap() >= 4_096);
    assert_eq!((&figures["sessions"], &figures["largestSession"]), (&0.into(), &serde_json::Value::Null));
    assert_contains_all(&run_failing(clotho_command(folder.path()).arg("gc")), &["a server uses", "once a day"]);
    serving.stop_with_signal("-TERM");
    assert_contains_all(&said(&["gc"]), &["removed: 0 stored answers"]);
    assert_eq!(clotho_command(folder.path()).args(["stats", "--jsn"]).output().unwrap().status.code(), Some(2));
}

/// `reindex` rebuilds the index only if no server runs.
#[test]
fn reindex_command_rebuilds_index_when_no_server_runs() {
    let folder = TempDir::new().unwrap();
    assert_contains_all(
        &run_failing(clotho_command(folder.path()).arg("reindex")),
        &["clotho.db does not exist", "storage.data_dir"],
    );
    let serving = CliServer::start(&mut clotho_command(folder.path()));
    let answer = serving.get("/api/characters");
    let (from, until) = (answer.find('{').unwrap(), answer.rfind('}').unwrap());
    let characters: serde_json::Value = serde_json::from_str(&answer[from..=until]).unwrap();
    let body = serde_json::json!({"characterIds": [characters["items"][0]["id"]]}).to_string();
    serving.send_request("POST", "/api/sessions", &body);
    assert_contains_all(
        &run_failing(clotho_command(folder.path()).arg("reindex")),
        &["a server uses the data directory", "stop it"],
    );
    serving.stop_with_signal("-TERM");
    let index = folder.path().join("data/search");
    std::fs::write(index.join("notes.txt"), "mine").unwrap();
    std::fs::write(index.join("meta.json"), "{}").unwrap();
    let again = || {
        let run = clotho_command(folder.path()).arg("reindex").output().unwrap();
        assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
        String::from_utf8(run.stdout).unwrap()
    };
    let said = again();
    assert_contains_all(&said, &["rebuil", "can be found"]);
    assert!(!said.contains(" 0 messages"), "{said}");
    assert_eq!(again(), said);
    assert!(index.join("notes.txt").exists());
    let doctor = clotho_command(folder.path()).arg("doctor").output().unwrap();
    assert_contains_all(&String::from_utf8(doctor.stdout).unwrap(), &["no problems"]);
}

/// The error of a database that has reached its quota names the quota, not a full disk.
#[test]
fn quota_exceeded_at_start_names_database_quota() {
    let folder = TempDir::new().unwrap();
    // The quota is so small that not one table fits.
    std::fs::create_dir(folder.path().join("data")).unwrap();
    let database = folder.path().join("data/clotho.db");
    let mut conn = crate::support::open_second_connection(&database);
    for sql in ["CREATE TABLE filler (bytes)", "INSERT INTO filler VALUES (zeroblob(1048576))"] {
        diesel::sql_query(sql).execute(&mut conn).unwrap();
    }
    drop(conn);
    let said = run_failing(clotho_command(folder.path()).env("CLOTHO_STORAGE__MAX_DATABASE_MB", "1"));
    assert_contains_all(&said, &["quota", "storage.max_database_mb"]);
    assert!(!said.contains("disk"), "{said}");
}

/// An impossible default model is refused with its position before anything is changed. The error says what is valid.
#[test]
fn config_invalid_default_model_stops_start() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("config.toml");
    let provider =
        |more: &str| format!("[[providers]]\nid = \"local\"\nbase_url = \"http://127.0.0.1:9/v1\"\n{more}\n");
    let check = |text: String, words: &[&str]| {
        std::fs::write(&file, text).unwrap();
        assert_contains_all(&run_failing(&mut clotho_command(folder.path())), words);
    };
    let place = "config.toml:2:1: [generation] model: ";
    let model = |name: &str| format!("[generation]\nmodel = \"{name}\"\n");
    check(model("gpt"), &[place, "there is no model \"gpt\"", "\"plugin:lantern-keep\""]);
    check(model("plugin:nobody"), &[place, "no plugin \"nobody\"", "\"plugin:lantern-keep\""]);
    check(model("plugin:combat"), &[place, "there is no plugin \"combat\" that writes replies"]);
    check(model("loocal/tiny") + &provider(""), &[place, "did you mean \"local/tiny\"?"]);
    check(model("tiny") + &provider("models = [\"small\"]"), &[place, "\"tiny\"", "\"local/…\""]);
    // An unknown kind and undefined names, both reported at once.
    check(
        provider("models = [\"small\"]\nkind = \"claude\"") + "[models]\nsmart = [\"local/small\", \"far\"]\n",
        &[
            "config.toml:5:1: [[providers]] kind: expected one of \"openai\", \"anthropic\"",
            "config.toml:7:1: [models] smart: there is no model \"far\"",
        ],
    );
    std::fs::remove_file(&file).unwrap();
    let said = run_failing(clotho_command(folder.path()).env("CLOTHO_GENERATION__MODEL", "gpt"));
    assert_contains_all(&said, &["environment CLOTHO_GENERATION__MODEL: [generation] model: "]);
    assert!(!folder.path().join("data").exists(), "nothing was begun");
}

/// Problems that may resolve later do not stop the start: a missing key, a model that its server has not listed yet, a
/// broken plugin. The log reports each.
#[test]
fn config_recoverable_problems_are_logged_only() {
    let folder = TempDir::new().unwrap();
    let provider = "[[providers]]\nid = \"local\"\nbase_url = \"http://127.0.0.1:9/v1\"\n";
    std::fs::create_dir_all(folder.path().join("plugins/sick")).unwrap();
    std::fs::write(folder.path().join("plugins/sick/plugin.toml"), "id = 7\n").unwrap();
    for (text, words) in [
        (format!("{provider}api_key_env = \"CLOTHOS_KEY\"\n"), ["local", "variable \"CLOTHOS_KEY\" is missing"]),
        (format!("[generation]\nmodel = \"tiny\"\n{provider}"), ["cannot get replies", "\"tiny\""]),
        (
            "[plugins]\ndir = \"plugins\"\n[generation]\nmodel = \"plugin:sick\"\n".to_owned(),
            ["is broken", "plugin.toml:1:6"],
        ),
    ] {
        std::fs::write(folder.path().join("config.toml"), text).unwrap();
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let serving = CliServer::start_with_log(&mut clotho_command(folder.path()), log.into());
        assert!(serving.get("/healthz").starts_with("HTTP/1.1 200"));
        drop(serving);
        assert_contains_all(&std::fs::read_to_string(folder.path().join("log")).unwrap(), &words);
    }
}

/// A data directory that cannot be written or used is reported with its path and the fix.
#[test]
fn data_directory_unusable_reports_path_and_fix() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "not a folder").unwrap();
    assert_contains_all(
        &run_failing(clotho_command(folder.path()).env("CLOTHO_STORAGE__DATA_DIR", file.join("data"))),
        &["data directory", "file"],
    );
    if cfg!(target_os = "linux") {
        // Nobody can create folders there, not even root.
        let said = run_failing(clotho_command(folder.path()).env("CLOTHO_STORAGE__DATA_DIR", "/sys/clotho"));
        assert_contains_all(&said, &["/sys/clotho", "cannot be written", "permissions"]);
    }
    std::fs::create_dir(folder.path().join("data")).unwrap();
    std::fs::write(folder.path().join("data/clotho.db"), "Dear diary. ".repeat(100)).unwrap();
    assert_contains_all(&run_failing(&mut clotho_command(folder.path())), &["data directory", "not a database"]);
}

/// `help` and `version` succeed. Unknown arguments fail with their own exit code.
#[test]
fn command_line_help_version_and_exit_codes() {
    let folder = TempDir::new().unwrap();
    let run = |arguments: &[&str]| clotho_command(folder.path()).args(arguments).output().unwrap();
    let version = run(&["--version"]);
    assert_eq!(String::from_utf8(version.stdout).unwrap(), format!("clotho {}\n", env!("CARGO_PKG_VERSION")));
    let help = String::from_utf8(run(&["--help"]).stdout).unwrap();
    assert_contains_all(&help, &["serve", "plugin", "--config"]);
    assert_eq!(run(&["srve"]).status.code(), Some(2));

    let list = run(&["plugin", "list"]);
    assert_eq!(list.status.code(), Some(0));
    assert_contains_all(&String::from_utf8(list.stdout).unwrap(), &["lantern-keep", "combat"]);
    assert_eq!(run(&["plugin", "check", "combat"]).status.code(), Some(0));
    assert_contains_all(
        &run_failing(clotho_command(folder.path()).args(["plugin", "check", "kombat"])),
        &["kombat", "no plugin"],
    );
}

/// A broken plugin among several is named, and the others are still tested.
#[test]
fn plugin_test_reports_broken_plugin_and_tests_others() {
    let folder = TempDir::new().unwrap();
    let combat = Path::new(env!("CARGO_MANIFEST_DIR")).join("plugins/combat");
    let [good, broken] = ["good", "broken"].map(|name| folder.path().join("plugins").join(name));
    std::fs::create_dir_all(good.join("tests")).unwrap();
    std::fs::create_dir_all(&broken).unwrap();
    for entry in std::fs::read_dir(&combat).unwrap().chain(std::fs::read_dir(combat.join("tests")).unwrap()) {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::copy(&path, good.join(path.strip_prefix(&combat).unwrap())).unwrap();
        }
    }
    let manifest = std::fs::read_to_string(good.join("plugin.toml")).unwrap();
    std::fs::write(good.join("plugin.toml"), manifest.replace("\"combat\"", "\"good\"")).unwrap();
    std::fs::write(broken.join("plugin.toml"), "id = \"broken\"\n").unwrap();
    let run = clotho_command(folder.path()).args(["plugin", "test", "--all", "plugins"]).output().unwrap();
    let (out, error) = (String::from_utf8(run.stdout).unwrap(), String::from_utf8(run.stderr).unwrap());
    assert_eq!(run.status.code(), Some(1));
    assert!(
        error.contains("broken: ") && out.contains(" passed, 0 failed") && !out.contains("\n0 passed"),
        "{out}{error}"
    );
    assert_contains_all(
        &run_failing(clotho_command(folder.path()).args(["plugin", "test", "--all", "nowhere"])),
        &["nowhere"],
    );
}

/// The log of a server that writes to a file has no colours, and reports a missing plugin folder.
#[test]
fn log_to_file_has_no_colours() {
    let folder = TempDir::new().unwrap();
    let mut command = clotho_command(folder.path());
    command.env("CLOTHO_PLUGINS__DIR", "nowhere");
    let log = std::fs::File::create(folder.path().join("log")).unwrap();
    let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let _ = (child.kill(), child.wait());
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(log.contains("nowhere") && !log.contains('\u{1b}'), "{log}");
}
