//! The recorded chats, line by line.

use std::fs;

use clotho_compat::interop::chat::{self, ChatFileLine, ChatFileMessage, ChatFileReader, date};
use clotho_core::clock::Time;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::chat_fixture_path;

/// Returns the valid lines of a recorded chat, and the numbers of the invalid ones.
fn read_chat(name: &str) -> (Vec<ChatFileLine>, Vec<u64>) {
    let bytes = fs::read(chat_fixture_path(name)).unwrap();
    let (mut lines, mut found, mut bad) = (ChatFileReader::new(bytes.as_slice()), Vec::new(), Vec::new());
    while let Some((number, line)) = lines.next_line().unwrap() {
        match line.and_then(chat::read) {
            Ok(line) => found.push(line),
            Err(_) => bad.push(number),
        }
    }
    (found, bad)
}

fn read_messages(name: &str) -> Vec<ChatFileMessage> {
    let row = |line| match line {
        ChatFileLine::Message(row) => Some(*row),
        ChatFileLine::Header(_) => None,
    };
    read_chat(name).0.into_iter().filter_map(row).collect()
}

/// Every date of the recorded list is read as recorded.
#[test]
fn dates_of_all_formats_match_recording() {
    let list: Value = serde_json::from_slice(&fs::read(chat_fixture_path("dates.json")).unwrap()).unwrap();
    for case in list["dates"].as_array().unwrap() {
        let found = date::read(&case["input"], &TimeZone::UTC).map(|ms| Time(ms).to_string());
        assert_eq!(found.as_deref(), case["utc"].as_str(), "{case}");
    }
    assert!(list["dates"].as_array().unwrap().len() >= 11);
}

/// S4-53: each recorded chat is read as SillyTavern shows it, message by message.
#[test]
fn recorded_chats_match_sillytavern_messages() {
    let mut seen = 0;
    for entry in fs::read_dir(chat_fixture_path("")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(stem) = name.strip_suffix(".jsonl") else { continue };
        let expected: Value =
            serde_json::from_slice(&fs::read(chat_fixture_path(&format!("{stem}.expect.json"))).unwrap()).unwrap();
        let shown: Vec<&Value> =
            expected["get"].as_array().unwrap().iter().filter(|row| row["mes"].is_string()).collect();
        let rows = read_messages(&name);
        assert_eq!(rows.len(), shown.len(), "{name}");
        for (row, shown) in rows.iter().zip(shown) {
            let own = row.selected_swipe().unwrap();
            assert_eq!(own.text, shown["mes"], "{name}");
            assert_eq!((row.name.as_str(), row.is_user), (shown["name"].as_str().unwrap(), shown["is_user"] == true));
            assert_eq!(row.is_hidden, shown["is_system"] == true);
            assert_eq!(Value::Object(own.extra.clone()), shown["extra"], "{name}");
            let swipes = shown["swipes"].as_array().cloned().unwrap_or_default();
            let texts: Vec<&str> = row.swipes.iter().map(|one| one.text.as_str()).collect();
            assert!(swipes.iter().all(|swipe| texts.contains(&swipe.as_str().unwrap())), "{name}: {texts:?}");
        }
        seen += 1;
    }
    assert!(seen >= 11, "{seen}");
}

/// Bad lines are reported by number, and the rest is read.
#[test]
fn chat_file_bad_lines_are_numbered() {
    assert_eq!(read_chat("broken-lines.jsonl").1, [3, 5, 6, 7]);
    assert_eq!(read_messages("broken-lines.jsonl").len(), 2);
}

/// A chat without a header is read; all its lines are messages.
#[test]
fn chat_file_without_header_is_read() {
    let (lines, bad) = read_chat("no-header.jsonl");
    assert!(bad.is_empty() && lines.iter().all(|line| matches!(line, ChatFileLine::Message(_))) && lines.len() == 2);
}
