//! The file of a session taken apart and put together again, so that tests can change what is in it.

use std::io::Read as _;

use serde_json::{Value, json};

/// The lines of a file, the last one included.
pub fn lines(file: &[u8]) -> Vec<Value> {
    let mut text = String::new();
    zstd::Decoder::new(file).unwrap().read_to_string(&mut text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Lines as a file whose last line is right: it counts and hashes those before it, whatever stood there.
pub fn sealed(lines: &[Value]) -> Vec<u8> {
    let before: Vec<&Value> = lines.iter().filter(|line| line.get("end").is_none()).collect();
    let text: String = before.iter().map(|line| format!("{line}\n")).collect();
    let count = |kind: &str| before.iter().filter(|line| line.get(kind).is_some()).count();
    let end = json!({"end": {
        "lines": before.len(), "nodes": count("node"), "operations": count("operation"),
        "blake3": blake3::hash(text.as_bytes()).to_hex().as_str(),
    }});
    packed(&format!("{text}{end}\n"))
}

/// A text as a file.
pub fn packed(text: &str) -> Vec<u8> {
    zstd::encode_all(text.as_bytes(), 3).unwrap()
}
