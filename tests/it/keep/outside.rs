//! Trouble from outside: a database that another program holds, clients that begin and never go on.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::kills::{Program, ask};
use crate::support::sql_beside;
use crate::support::test_store::examine;

/// A program without a model, and a session in it.
fn house() -> (TempDir, Program, Value) {
    let home = tempfile::tempdir().unwrap();
    let program = Program::start(home.path(), "http://127.0.0.1:9/v1");
    let post = |target: &str, body: Value| ask(program.at, "POST", target, &body).unwrap().1;
    let character = post("/api/characters", json!({"name": "Rin", "firstMessage": "Hello."}))["id"].take();
    let session = post("/api/sessions", json!({"characterIds": [character]}));
    (home, program, session)
}

/// S0-22, `domain.md` 4: while another program holds the database nothing is written and all is read; who writes is told so and
/// what to do, and writes as before once it is free.
#[test]
fn a_database_that_another_program_holds() {
    let (home, program, session) = house();
    let chat = format!("/api/chat/{}", session["id"].as_str().unwrap());
    let message = json!({"parentId": session["activeLeafId"], "role": "user", "content": "To the north."});
    let write = || ask(program.at, "POST", &format!("{chat}/message"), &message).unwrap();
    let line = || ask(program.at, "GET", &format!("{chat}/projection"), &Value::Null).unwrap().1["items"].clone();
    let database = home.path().join("data/clotho.db");
    let mut other = sql_beside(&database);
    other.batch_execute("BEGIN IMMEDIATE").unwrap();
    let (status, told) = write();
    assert_eq!((status, &told["error"]["code"]), (503, &json!("unavailable")), "{told}");
    assert!(told["error"]["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{told}");
    assert_eq!(line().as_array().unwrap().len(), 1, "nothing is half done, and reading goes on");
    other.batch_execute("ROLLBACK").unwrap();
    assert_eq!(write().0, 201);
    assert_eq!(line().as_array().unwrap().len(), 2);
    drop(program);
    assert!(examine(&database, true).is_empty());
}

/// Clients that send a byte now and then and never end their request are closed, and nobody waits for them.
#[test]
fn requests_that_never_end() {
    let (_home, program, _) = house();
    let mut slow: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(program.at).unwrap()).collect();
    for stream in &mut slow {
        stream.write_all(b"GET /api/sess").unwrap();
    }
    assert_eq!(ask(program.at, "GET", "/api/sessions", &Value::Null).unwrap().0, 200, "beside them");
    for mut stream in slow {
        stream.set_read_timeout(Some(Duration::from_secs(100))).unwrap();
        // Closed by the server, with an answer or without one.
        let mut heard = Vec::new();
        let end = stream.read_to_end(&mut heard).map_err(|error| error.kind());
        assert!(!matches!(end, Err(std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)), "it is still open");
    }
    assert_eq!(ask(program.at, "GET", "/api/sessions", &Value::Null).unwrap().0, 200, "after them");
}
