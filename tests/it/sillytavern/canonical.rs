//! What a chat says once everything that it says twice is said in one way. These are all differences between a chat that comes
//! in and the same chat as it goes out again:
//!
//! - lines that are no messages are gone, and a chat without a header has one;
//! - what the alternatives say of the one that is shown is what the message says of itself: its text, its date, its facts; a
//!   text that stands in no list is the last of it; there are as many facts as texts, and a list of none is none;
//! - a message has facts, be they none;
//! - the variables of alternatives stand in a list that ends with the last that has some.

use serde_json::{Map, Value, json};

/// The messages of a chat as they go out.
pub fn rows(text: &str) -> Vec<Value> {
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line.trim_start_matches('\u{feff}')).ok());
    lines.filter(|line| line.get("mes").is_some()).map(row).collect()
}

/// A message as it goes out.
pub fn row(mut row: Value) -> Value {
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
        swipes(map, texts);
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

fn swipes(map: &mut Map<String, Value>, mut texts: Vec<Value>) {
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
