//! Long sessions, created as a user would: chats of another program, uploaded to the import.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::mock::word;
use super::program::Program;
use super::wire::{Wire, json_string};

/// Words of a message.
const WORDS: usize = 24;
/// Timeout of the import of a file.
const TAKEN_IN: Duration = Duration::from_secs(600);
/// Timeout of completing the index.
const INDEXED: Duration = Duration::from_secs(900);

/// Returns a chat of `messages` messages as JSON lines. `number` makes its texts unique.
fn chat_jsonl(number: usize, messages: usize) -> String {
    let mut lines = json!({"user_name": "Wren", "character_name": "Ivo", "chat_metadata": {}}).to_string();
    for at in 0..messages {
        let is_user = at % 2 == 0;
        let name = if is_user { "Wren" } else { "Ivo" };
        let words: String = (0..WORDS).map(|place| word(number * 7 + at, place)).collect();
        // A word that only one message in a hundred has, to search for.
        let said = format!("{words}in chat{number} at mark{}.", at % 100);
        let date = 1_740_000_000_000_u64 + 60_000 * at as u64;
        lines += "\n";
        lines +=
            &json!({"name": name, "is_user": is_user, "is_system": false, "send_date": date, "mes": said}).to_string();
    }
    lines
}

/// Imports a chat. Returns the id of its session.
pub async fn import_chat(program: &Program<'_>, number: usize, messages: usize) -> String {
    let mut wire = Wire::open(program.address).await;
    let before = session_ids(&mut wire).await;
    let file = chat_jsonl(number, messages);
    let line = format!("POST /api/import?name=Chat{number}.jsonl");
    wire.send(&line, "application/zip", file.as_bytes()).await;
    let job = json_string(&wire.read_response(&line).await["jobId"]);
    let sent = Instant::now();
    loop {
        let job = wire.get(&format!("/api/jobs/{job}")).await;
        match job["state"].as_str() {
            Some("done") => break,
            Some("queued" | "running") if sent.elapsed() < TAKEN_IN => {}
            _ => panic!("chat {number} does not come in: {job}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let after = session_ids(&mut wire).await;
    let new: Vec<&String> = after.difference(&before).collect();
    let [session] = new[..] else { panic!("chat {number} became {} sessions", new.len()) };
    let counts = wire.get(&format!("/api/sessions/{session}")).await["counts"].take();
    let nodes = counts["nodes"].as_u64().unwrap_or_else(|| panic!("no nodes are counted: {counts}"));
    assert!(nodes >= messages as u64, "of {messages} messages {nodes} came in");
    session.clone()
}

async fn session_ids(wire: &mut Wire) -> BTreeSet<String> {
    let list = wire.get("/api/sessions?limit=500").await;
    list["items"].as_array().unwrap().iter().map(|session| json_string(&session["id"])).collect()
}

/// Waits until the search index is complete. Returns how long that took.
pub async fn wait_until_indexed(program: &Program<'_>) -> Duration {
    let (mut wire, asked) = (Wire::open(program.address).await, Instant::now());
    loop {
        // No message has this word, so that the search costs almost nothing.
        let found = wire.get("/api/search?q=nowhere&limit=1").await;
        let is_there = found["stale"] == false && found["rebuilding"] == Value::Null;
        if is_there {
            return asked.elapsed();
        }
        assert!(asked.elapsed() < INDEXED, "the search index does not come to an end: {found}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
