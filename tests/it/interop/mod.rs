//! Files of other programs, read and written without a server: the recorded cases of `tests/fixtures/golden/`, and
//! broken files that the tests build.

mod cards;
mod lorebooks;

use std::path::{Path, PathBuf};

use serde_json::Value;

/// Returns the path of a recorded case.
pub fn fixture_path(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/golden").join(path)
}

/// Returns the bytes of a recorded case.
pub fn read_fixture(path: &str) -> Vec<u8> {
    std::fs::read(fixture_path(path)).unwrap()
}

/// Returns what was recorded for a case.
pub fn read_fixture_json(path: &str) -> Value {
    serde_json::from_slice(&read_fixture(path)).unwrap()
}

/// Returns the case files of a folder, without the recorded results.
pub fn case_files(folder: &str) -> Vec<String> {
    let files =
        std::fs::read_dir(fixture_path(folder)).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut cases: Vec<String> = files.filter(|file| !file.ends_with(".expect.json")).collect();
    cases.sort();
    cases
}

/// Collects the places where `got` lacks or contradicts a recorded value. Additional values are allowed.
pub fn collect_missing_paths(recorded: &Value, got: &Value, at: &str, found: &mut Vec<String>) {
    match (recorded, got) {
        (Value::String(text), _) if text == "<varies>" => {}
        (Value::Object(recorded), Value::Object(got)) => {
            for (key, value) in recorded {
                match got.get(key) {
                    Some(own) => collect_missing_paths(value, own, &format!("{at}/{key}"), found),
                    None if value == "<varies>" => {}
                    None => found.push(format!("{at}/{key}")),
                }
            }
        }
        (Value::Array(recorded), Value::Array(got)) if recorded.len() == got.len() => {
            for (n, (value, own)) in recorded.iter().zip(got).enumerate() {
                collect_missing_paths(value, own, &format!("{at}/{n}"), found);
            }
        }
        _ if recorded == got => {}
        _ => found.push(at.to_owned()),
    }
}
