//! Writes a message as a line, the inverse of `row.rs`.
//!
//! Repeated data is written twice, as in SillyTavern: `mes` and `extra` for the selected swipe, `swipes` and
//! `swipe_info` for all. If these disagreed in a file, the line is written as SillyTavern showed it.
//! `tests/it/sillytavern/canonical.rs` lists all such differences. Keys have SillyTavern's order; unknown keys come
//! last.

use serde_json::{Map, Value};

use super::row::{ChatFileMessage, ChatFileSwipe};

/// Keys written before `extra`.
const LEADING_KEYS: [&str; 1] = ["title"];
/// Keys written before `extra` in group chats, otherwise after it.
const GROUP_SPEAKER_KEYS: [&str; 2] = ["force_avatar", "original_avatar"];

/// Returns a message as the object of a line.
pub fn message_line(row: &ChatFileMessage) -> Map<String, Value> {
    let mut rest = row.rest.clone();
    let mut line = Map::new();
    let nothing = ChatFileSwipe::default();
    let shown = row.selected_swipe().unwrap_or(&nothing);
    line.insert("name".into(), row.name.clone().into());
    line.insert("is_user".into(), row.is_user.into());
    line.insert("is_system".into(), row.is_hidden.into());
    line.extend(shown.date.clone().map(|date| ("send_date".into(), date)));
    line.insert("mes".into(), shown.text.clone().into());
    let speaker: &[&str] = if rest.contains_key("original_avatar") { &GROUP_SPEAKER_KEYS } else { &[] };
    for key in LEADING_KEYS.iter().chain(speaker) {
        line.extend(rest.shift_remove_entry(*key));
    }
    line.insert("extra".into(), Value::Object(shown.extra.clone()));
    if row.has_swipes || row.swipes.len() > 1 {
        line.insert("swipe_id".into(), row.selected.into());
        line.insert("swipes".into(), row.swipes.iter().map(|one| Value::from(one.text.clone())).collect());
        line.insert("swipe_info".into(), row.swipes.iter().map(swipe_info).collect());
    }
    line.extend(rest);
    line.extend(variables(&row.swipes).map(|variables| ("variables".into(), variables)));
    line
}

/// Returns the data of a swipe other than its text.
fn swipe_info(one: &ChatFileSwipe) -> Value {
    let mut info = Map::new();
    info.extend(one.date.clone().map(|date| ("send_date".into(), date)));
    info.extend(one.info.clone());
    info.insert("extra".into(), Value::Object(one.extra.clone()));
    Value::Object(info)
}

/// Returns the variables of all swipes by index, up to the last that has any.
fn variables(alternatives: &[ChatFileSwipe]) -> Option<Value> {
    let last = alternatives.iter().rposition(|one| one.variables.is_some())?;
    let each = alternatives.iter().take(last + 1).map(|one| one.variables.clone().map_or(Value::Null, Value::Object));
    Some(each.collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::{ChatFileLine, read};
    use super::*;

    fn round_trip(row: &ChatFileMessage) -> ChatFileMessage {
        let line = Value::Object(message_line(row)).to_string();
        match read(line.as_bytes()).unwrap() {
            ChatFileLine::Message(row) => *row,
            ChatFileLine::Header(header) => panic!("{header:?}"),
        }
    }

    fn any_map(key: &'static str) -> impl Strategy<Value = Map<String, Value>> {
        let value = prop_oneof![Just(json!(null)), Just(json!([1, {"a": "b"}])), Just(json!("text"))];
        prop::option::of(value).prop_map(move |value| value.map(|value| (key.to_owned(), value)).into_iter().collect())
    }

    fn any_swipe() -> impl Strategy<Value = ChatFileSwipe> {
        let date =
            prop::option::of(prop_oneof![Just(json!(1_687_184_412_123_i64)), Just(json!("June 19, 2023 2:20pm"))]);
        let state = prop::option::of(any_map("stat_data"));
        (".{0,6}", date, any_map("model"), any_map("gen_started"), state)
            .prop_map(|(text, date, extra, info, variables)| ChatFileSwipe { text, date, extra, info, variables })
    }

    proptest! {
        /// S4-53: a message that is written and read again is unchanged.
        #[test]
        fn chat_message_written_line_reads_back_equal(
            mut alternatives in prop::collection::vec(any_swipe(), 1..5), chosen in 0..5_usize, name in ".{0,6}",
            flags in any::<[bool; 3]>(), rest in any_map("force_avatar"), own in any_map("own"),
        ) {
            let [is_user, is_hidden, is_swiped] = flags;
            let chosen = chosen % alternatives.len();
            let has_swipes = is_swiped || alternatives.len() > 1;
            if !has_swipes {
                // A line without a list of swipes has no place for this.
                alternatives[0].info.clear();
            }
            let rest = rest.into_iter().chain(own).collect();
            let row = ChatFileMessage { name, is_user, is_hidden, swipes: alternatives, selected: chosen, has_swipes, rest };
            prop_assert_eq!(round_trip(&row), row);
        }
    }

    /// A line with its keys in SillyTavern's order is written unchanged.
    #[test]
    fn chat_message_canonical_line_is_unchanged() {
        for text in [
            r#"{"name":"Ivo","is_user":false,"is_system":false,"send_date":"2025-02-03T10:00:00.000Z","mes":"b","title":"","extra":{"api":"x"},"swipe_id":1,"swipes":["a","b"],"swipe_info":[{"send_date":1,"extra":{}},{"send_date":"2025-02-03T10:00:00.000Z","gen_started":2,"extra":{"api":"x"}}],"gen_started":2,"variables":[null,{"stat_data":{}}]}"#,
            r#"{"name":"Wren","is_user":true,"is_system":true,"send_date":1,"mes":"Hm.","extra":{},"force_avatar":""}"#,
            r#"{"name":"Odo","is_user":false,"is_system":false,"send_date":1,"mes":"Aye.","force_avatar":"/a","original_avatar":"odo.png","extra":{}}"#,
        ] {
            let ChatFileLine::Message(row) = read(text.as_bytes()).unwrap() else { panic!("{text}") };
            assert_eq!(Value::Object(message_line(&row)).to_string(), text);
        }
    }
}
