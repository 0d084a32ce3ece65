//! A full or read-only disk, as a small in-memory file system that only the program sees, in a mount namespace. Where
//! the system does not allow namespaces, the tests print that and check nothing.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use super::kill_recovery::{ServerProcess, send_request};
use crate::support::test_store::doctor_findings;

/// Returns a command that runs the program in a folder with its own file system. `how` holds the arguments of `mount`.
fn command_on_tmpfs(home: &Path, how: &str) -> Command {
    let mut command = Command::new("unshare");
    let script = "mount -t tmpfs -o \"$3\" none \"$1\" && cd \"$1\" && exec \"$2\" serve";
    command.args(["--mount", "--map-root-user", "sh", "-c", script, "sh"]);
    command.arg(home).arg(env!("CARGO_BIN_EXE_clotho")).arg(how);
    command
}

#[expect(clippy::print_stdout, reason = "nothing is left out in silence")]
fn can_mount() -> bool {
    let tried = Command::new("unshare").args(["--mount", "--map-root-user", "true"]).output();
    let may = tried.is_ok_and(|output| output.status.success());
    if !may {
        println!("no namespace of mounts can be made here: nothing was tried");
    }
    may
}

/// Fills the remaining space of a file system to the last byte.
fn fill_disk(file: &Path) {
    let mut filler = File::create(file).unwrap();
    for size in [1 << 20, 4096, 1] {
        let piece = vec![7; size];
        let full = loop {
            if let Err(error) = filler.write_all(&piece) {
                break error;
            }
        };
        assert_eq!(full.kind(), ErrorKind::StorageFull, "{full}");
    }
}

/// `domain.md` 4: on a full disk a write gets `507 storage_full` with a hint, and all acknowledged data can be read.
/// Once there is room, writes work without a restart, and the doctor finds nothing. Refused requests leave no
/// resources behind.
#[test]
fn disk_full_returns_507_and_recovers_without_restart() {
    if !can_mount() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let program = ServerProcess::spawn(ServerProcess::configure_command(
        &mut command_on_tmpfs(home.path(), "size=32m"),
        "http://127.0.0.1:9/v1",
    ));
    // The program's own view of its folder.
    let inside = PathBuf::from(format!("/proc/{}/root{}", program.id(), home.path().display()));
    let post = |target: &str, body: &Value| send_request(program.address, "POST", target, body).unwrap();
    let character = post("/api/characters", &json!({"name": "Rin", "firstMessage": "Hello."})).1["id"].take();
    let session = post("/api/sessions", &json!({"characterIds": [character]})).1;
    let chat = format!("/api/chat/{}", session["id"].as_str().unwrap());
    let line = || send_request(program.address, "GET", &format!("{chat}/projection?limit=500"), &Value::Null).unwrap();
    let mut head = session["activeLeafId"].clone();
    let mut say = |text: &str| {
        let body = json!({"parentId": head, "role": "user", "content": text.repeat(400), "generate": false});
        let (status, told) = post(&format!("{chat}/message"), &body);
        if status == 201 {
            head = told["node"]["id"].clone();
        }
        (status, told)
    };
    assert_eq!(say("North. ").0, 201);

    fill_disk(&inside.join("filler"));
    // The write-ahead log of the database may have room of its own for a while.
    let (mut said, told) = (1, write_until_refused(&mut say));
    said += told.0;
    let refused = told.1;
    assert_eq!((refused.0, &refused.1["error"]["code"]), (507, &json!("storage_full")), "{}", refused.1);
    assert!(refused.1["error"]["hint"].as_str().is_some_and(|hint| hint.contains("space")), "{}", refused.1);
    let (status, shown) = line();
    assert_eq!((status, shown["items"].as_array().unwrap().len()), (200, said + 1), "what was acknowledged is there");
    let before = program.resources();
    for _ in 0..200 {
        assert_eq!(say("South. ").0, 507);
    }
    program.assert_resources_released(&before);

    fs::remove_file(inside.join("filler")).unwrap();
    assert_eq!(say("East. ").0, 201, "there is room again");
    assert_eq!(line().1["items"].as_array().unwrap().len(), said + 2);
    let copy = tempfile::tempdir().unwrap();
    for name in ["clotho.db", "clotho.db-wal"] {
        let from = inside.join("data").join(name);
        if from.exists() {
            fs::copy(from, copy.path().join(name)).unwrap();
        }
    }
    drop(program);
    assert!(doctor_findings(&copy.path().join("clotho.db"), true).is_empty());
}

/// Writes until a write is refused. Returns the number of accepted writes and the refusal.
fn write_until_refused(say: &mut impl FnMut(&str) -> (u16, Value)) -> (usize, (u16, Value)) {
    for taken in 0..10_000 {
        let answer = say("Further. ");
        if answer.0 != 201 {
            return (taken, answer);
        }
    }
    panic!("nothing was ever refused");
}

/// A read-only folder stops the start at once with a message.
#[test]
fn read_only_folder_refuses_start_with_message() {
    if !can_mount() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let mut command = command_on_tmpfs(home.path(), "ro,size=1m");
    ServerProcess::configure_command(&mut command, "http://127.0.0.1:9/v1");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = String::new();
    child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    let Output { status, stdout, .. } = child.wait_with_output().unwrap();
    assert_eq!(status.code(), Some(1), "{told}");
    assert!(stdout.is_empty(), "it never listened");
    assert!(told.contains("cannot be written"), "{told}");
    assert!(!told.contains("panicked"), "{told}");
}
