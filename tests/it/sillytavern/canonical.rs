//! The canonical form of a SillyTavern chat, in which everything that a chat may say twice is said in one way. An
//! imported chat and its export differ only in the following:
//!
//! - Lines that are not messages are removed, and a missing header is added.
//! - The alternative that is shown has the text, date and facts of its message. A text outside the list of
//!   alternatives becomes the last one. There are as many facts as texts, and an empty list counts as no list.
//! - A message has facts, even if they are empty.
//! - The list of the alternatives' variables ends with the last alternative that has some.

use serde_json::{Map, Value, json};

/// Returns the messages of a chat in canonical form.
pub fn canonical_rows(text: &str) -> Vec<Value> {
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line.trim_start_matches('\u{feff}')).ok());
    lines.filter(|line| line.get("mes").is_some()).map(canonical_row).collect()
}

/// Returns a message in canonical form.
pub fn canonical_row(mut row: Value) -> Value {
    let map = row.as_object_mut().unwrap();
    map.entry("extra").or_insert_with(|| json!({}));
    for (key, default) in [("name", json!("")), ("is_user", json!(false)), ("is_system", json!(false))] {
        map.entry(key).or_insert(default);
    }
    let texts = map.get("swipes").and_then(Value::as_array).cloned().unwrap_or_default();
    if texts.is_empty() {
        for key in ["swipes", "swipe_id", "swipe_info"] {
            map.shift_remove(key);
        }
    } else {
        canonicalize_swipes(map, texts);
    }
    if let Some(Value::Array(list)) = map.get_mut("variables") {
        while list.last().is_some_and(Value::is_null) {
            list.pop();
        }
    }
    if map.get("variables") == Some(&json!([])) {
        map.shift_remove("variables");
    }
    row
}

fn canonicalize_swipes(map: &mut Map<String, Value>, mut texts: Vec<Value>) {
    let place = map.get("swipe_id").and_then(Value::as_u64).and_then(|place| usize::try_from(place).ok()).unwrap_or(0);
    let chosen = if texts.get(place) == map.get("mes") { place } else { texts.len() };
    if chosen == texts.len() {
        texts.push(map["mes"].clone());
    }
    let mut infos = map.get("swipe_info").and_then(Value::as_array).cloned().unwrap_or_default();
    infos.resize(texts.len(), json!({}));
    for info in &mut infos {
        info.as_object_mut().unwrap().entry("extra").or_insert_with(|| json!({}));
    }
    match map.get("send_date") {
        Some(date) => infos[chosen]["send_date"] = date.clone(),
        None => map.extend(infos[chosen].get("send_date").map(|date| ("send_date".to_owned(), date.clone()))),
    }
    infos[chosen]["extra"] = map["extra"].clone();
    map.insert("swipe_id".into(), chosen.into());
    map.insert("swipes".into(), texts.into());
    map.insert("swipe_info".into(), infos.into());
}
