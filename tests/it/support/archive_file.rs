//! Unpacks and repacks session files, so that tests can change their contents.

use std::io::{Read as _, Write};

use clotho_store::archive::{ArchiveLine, ArchiveWriter};
use serde_json::{Value, json};
use uuid::Uuid;

/// Returns the lines of a file, with the last one.
pub fn read_lines(file: &[u8]) -> Vec<Value> {
    let mut text = String::new();
    zstd::Decoder::new(file).unwrap().read_to_string(&mut text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Packs lines into a file with a correct last line. It counts and hashes the other lines and replaces any given last
/// line.
pub fn pack_lines(lines: &[Value]) -> Vec<u8> {
    let before: Vec<&Value> = lines.iter().filter(|line| line.get("end").is_none()).collect();
    let text: String = before.iter().map(|line| format!("{line}\n")).collect();
    let count = |kind: &str| before.iter().filter(|line| line.get(kind).is_some()).count();
    let end = json!({"end": {
        "lines": before.len(), "nodes": count("node"), "operations": count("operation"),
        "blake3": blake3::hash(text.as_bytes()).to_hex().as_str(),
    }});
    compress_text(&format!("{text}{end}\n"))
}

/// Compresses a text into a file.
pub fn compress_text(text: &str) -> Vec<u8> {
    zstd::encode_all(text.as_bytes(), 3).unwrap()
}

/// Writes the file of a session with one branch of `messages` messages. Each text has about `bytes` bytes that do not
/// compress well. The file is never in memory as a whole.
pub fn write_long_session(out: impl Write, messages: usize, bytes: usize) {
    let id = |n: usize| Uuid::from_u128((0x018f_3e2a << 96) + u128::try_from(n).unwrap()).to_string();
    let mut file = ArchiveWriter::begin(out, 0).unwrap();
    let mut put =
        |line: Value| file.write_line(&serde_json::from_str::<ArchiveLine>(&line.to_string()).unwrap()).unwrap();
    put(json!({"session": {
        "id": id(1), "owner": id(2), "title": "A long line", "cards": [], "root": id(10), "head": id(10 + messages),
        "op": messages + 1, "headOp": messages + 1, "mode": "tree", "params": {}, "plugins": [], "seed": 7,
        "created": 0, "updated": 0, "nodes": messages + 1,
    }}));
    for n in 0..=messages {
        let effects = match n {
            0 => json!([{"added": id(10), "parent": null}, {"head": id(10), "from": null}]),
            n => json!([{"added": id(10 + n), "parent": id(9 + n)}, {"head": id(10 + n), "from": id(9 + n)}]),
        };
        let act = if n == 0 { "begin" } else { "message" };
        put(json!({"operation": {"op": n + 1, "step": n + 1, "act": act, "at": 0, "effects": effects}}));
    }
    for n in 0..=messages {
        let mut node = json!({
            "id": id(10 + n), "role": "user", "kind": "message", "status": "complete", "metadata": {}, "diceSeed": n,
            "created": 0,
        });
        if n == 0 {
            (node["role"], node["kind"]) = (json!("system"), json!("root"));
        } else {
            let parts = (0..bytes / 64).map(|part| blake3::hash(format!("{n} {part}").as_bytes()).to_hex());
            let text: String = parts.map(|part| part.to_string()).collect();
            (node["parent"], node["content"]) = (json!(id(9 + n)), json!(text));
        }
        put(json!({"node": node}));
    }
    file.finish().unwrap();
}
