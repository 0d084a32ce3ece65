//! A message as a line: what `row.rs` takes apart is put together again.
//!
//! What a line says twice is said twice: `mes` is the text of the alternative that is chosen and `extra` its facts, `swipes`
//! and `swipe_info` are equally long and have those of all. So a line of a file whose two sayings differed comes out as the
//! other program showed it, and not as it was (`tests/it/sillytavern/canonical.rs` has all such differences). The keys stand
//! in the order in which the other program writes them; what it would not have written comes after.

use serde_json::{Map, Value};

use super::row::{ChatFileMessage, ChatFileSwipe};

/// Keys that stand before the facts of a message.
const LEADING_KEYS: [&str; 1] = ["title"];
/// Keys that stand there too where several characters speak, and after the facts otherwise.
const GROUP_SPEAKER_KEYS: [&str; 2] = ["force_avatar", "original_avatar"];

/// A message as a line.
pub fn line(row: &ChatFileMessage) -> Map<String, Value> {
    let mut rest = row.rest.clone();
    let mut line = Map::new();
    let nothing = ChatFileSwipe::default();
    let shown = row.shown().unwrap_or(&nothing);
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

/// What is known of an alternative beside its text.
fn swipe_info(one: &ChatFileSwipe) -> Value {
    let mut info = Map::new();
    info.extend(one.date.clone().map(|date| ("send_date".into(), date)));
    info.extend(one.info.clone());
    info.insert("extra".into(), Value::Object(one.extra.clone()));
    Value::Object(info)
}

/// The variables of all alternatives by their places, up to the last that has some.
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

    fn again(row: &ChatFileMessage) -> ChatFileMessage {
        let line = Value::Object(line(row)).to_string();
        match read(line.as_bytes()).unwrap() {
            ChatFileLine::Row(row) => *row,
            ChatFileLine::Header(header) => panic!("{header:?}"),
        }
    }

    fn map(key: &'static str) -> impl Strategy<Value = Map<String, Value>> {
        let value = prop_oneof![Just(json!(null)), Just(json!([1, {"a": "b"}])), Just(json!("text"))];
        prop::option::of(value).prop_map(move |value| value.map(|value| (key.to_owned(), value)).into_iter().collect())
    }

    fn alternative() -> impl Strategy<Value = ChatFileSwipe> {
        let date =
            prop::option::of(prop_oneof![Just(json!(1_687_184_412_123_i64)), Just(json!("June 19, 2023 2:20pm"))]);
        let state = prop::option::of(map("stat_data"));
        (".{0,6}", date, map("model"), map("gen_started"), state)
            .prop_map(|(text, date, extra, info, variables)| ChatFileSwipe { text, date, extra, info, variables })
    }

    proptest! {
        /// S4-53: a message that is written and read again is the same, whatever is in it.
        #[test]
        fn chat_message_written_line_reads_back_equal(
            mut alternatives in prop::collection::vec(alternative(), 1..5), chosen in 0..5_usize, name in ".{0,6}",
            flags in any::<[bool; 3]>(), rest in map("force_avatar"), own in map("own"),
        ) {
            let [is_user, is_hidden, is_swiped] = flags;
            let chosen = chosen % alternatives.len();
            let has_swipes = is_swiped || alternatives.len() > 1;
            if !has_swipes {
                // Nowhere else would they be said.
                alternatives[0].info.clear();
            }
            let rest = rest.into_iter().chain(own).collect();
            let row = ChatFileMessage { name, is_user, is_hidden, swipes: alternatives, selected: chosen, has_swipes, rest };
            prop_assert_eq!(again(&row), row);
        }
    }

    /// A line in the order in which the other program writes its keys comes out to the letter.
    #[test]
    fn chat_message_canonical_line_is_unchanged() {
        for text in [
            r#"{"name":"Ivo","is_user":false,"is_system":false,"send_date":"2025-02-03T10:00:00.000Z","mes":"b","title":"","extra":{"api":"x"},"swipe_id":1,"swipes":["a","b"],"swipe_info":[{"send_date":1,"extra":{}},{"send_date":"2025-02-03T10:00:00.000Z","gen_started":2,"extra":{"api":"x"}}],"gen_started":2,"variables":[null,{"stat_data":{}}]}"#,
            r#"{"name":"Wren","is_user":true,"is_system":true,"send_date":1,"mes":"Hm.","extra":{},"force_avatar":""}"#,
            r#"{"name":"Odo","is_user":false,"is_system":false,"send_date":1,"mes":"Aye.","force_avatar":"/a","original_avatar":"odo.png","extra":{}}"#,
        ] {
            let ChatFileLine::Row(row) = read(text.as_bytes()).unwrap() else { panic!("{text}") };
            assert_eq!(Value::Object(line(&row)).to_string(), text);
        }
    }
}
