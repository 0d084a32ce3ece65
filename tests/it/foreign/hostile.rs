//! Malicious files: each refusal is reported, the rest is imported, and nothing panics.

use proptest::prelude::*;

use super::*;
use crate::sillytavern::hostile::zip_archive;
use crate::sillytavern::{nodes_with_paths, only_session};

/// Security: messages in cycles, duplicates, orphans and several roots are all kept and reported.
#[test]
fn chatgpt_broken_parent_links_keep_all_messages() {
    let store = TestStore::new();
    let mapping: serde_json::Map<String, Value> = [
        chatgpt_message("a", Some("b"), "user", "A"),
        chatgpt_message("b", Some("a"), "assistant", "B"),
        chatgpt_message("self", Some("self"), "user", "S"),
        chatgpt_message("stray", Some("nobody"), "user", "X"),
        chatgpt_message("top", None, "user", "T\u{0}"),
    ]
    .into_iter()
    .collect();
    let arrived = import_json(&store, &json!([{"id": "c", "mapping": mapping, "current_node": "nobody"}]));
    let held = only_session(&store);
    assert_eq!(nodes_with_paths(&store, &held).len(), 5);
    let told = arrived.report.to_string();
    assert!(told.contains("in a loop") && told.contains("missing"), "{told}");
    store.assert_healthy();
}

/// Security: a malformed conversation does not affect the others.
#[test]
fn malformed_conversation_is_skipped_others_import() {
    let (store, folder) = (TestStore::new(), DataRoot::without_subfolders());
    let deep = format!("{{\"mapping\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let odd = r#"{"mapping": {"a": 5, "b": {"message": {"author": 7, "content": {"parts": {"x": 1}}, "create_time": "soon"}}}, "title": [1]}"#;
    let story = chatgpt_conversation();
    let text = format!("[{deep}, 7, {odd}, {{\"hello\": 1}}, {story}, {{\"mapping\": {{\"cut\": ");
    let arrived = import_path(&store, &folder.write_file("conversations.json", &text));
    let told = arrived.report.to_string();
    assert_eq!(arrived.totals.sessions, 1, "{told}");
    for wanted in [
        "chat 1 of the file: it is not JSON",
        "chat 2 of the file: it is JSON, but not a chat",
        "chat 4 of the file: it is JSON, but not a chat",
        "chat 6 of the file: it is not JSON",
        "no messages",
    ] {
        assert!(told.contains(wanted), "{wanted}: {told}");
    }
    store.assert_healthy();
}

/// Security: a chat of twenty thousand messages on one branch is imported in chunks.
#[test]
fn long_conversation_of_20000_messages_imports() {
    let store = TestStore::new();
    let name = |n: usize| format!("m{n}");
    let mapping: serde_json::Map<String, Value> = (0..20_000)
        .map(|n: usize| {
            let role = if n.is_multiple_of(2) { "user" } else { "assistant" };
            let parent = n.checked_sub(1).map(name);
            let message =
                json!({"author": {"role": role}, "content": {"content_type": "text", "parts": [format!("Line {n}.")]}});
            (name(n), json!({"parent": parent, "message": message}))
        })
        .collect();
    let arrived = import_json(&store, &json!([{"id": "long", "title": "Long", "mapping": mapping}]));
    assert_eq!(arrived.totals.messages, 20_000, "{}", arrived.report);
    let held = only_session(&store);
    assert_eq!(store.stored_node(held.session.id, held.session.head).node.content, "Line 19999.");
}

/// Security: all archives of an import share one budget of unpacked bytes, so archives in archives cannot multiply.
/// Files that are not packed cost nothing.
#[test]
fn archives_beyond_total_budget_stop_import() {
    let (store, folder) = (TestStore::new(), DataRoot::without_subfolders());
    let import_within = |megabytes: u64| {
        let limits = clotho_store::archive::ArchiveLimits::for_archive(megabytes << 20);
        let options = clotho_engine::transfer::sillytavern::ImportOptions { limits, ..import_options(&store) };
        let given = ImportSource::Path(folder.path().to_owned());
        store.block_on(import(store.store(), &store.ids, given, options, |_| true))
    };
    let note = vec![b'a'; 300_000];
    for n in 0..5 {
        folder.write_bytes(&format!("note {n}.txt"), &note);
    }
    assert!(matches!(import_within(1), Err(ImportError::Unknown(_))), "nothing is packed");
    let inner = zip_archive(&[("note.txt", &note)]);
    let names: Vec<String> = (0..5).map(|n| format!("{n}.zip")).collect();
    let entries: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), inner.as_slice())).collect();
    folder.write_bytes("all.zip", &zip_archive(&entries));
    let stopped = import_within(1).unwrap_err();
    assert!(matches!(stopped, ImportError::TooLarge(_)), "{stopped}");
    assert!(stopped.to_string().contains("more than 1 MB in all"), "{stopped}");
    assert!(matches!(import_within(2), Err(ImportError::Unknown(_))), "they have 1.5 MB");
    // What was imported before stays, and an import without them goes on.
    folder.write_file("a.json", &json!([chatgpt_conversation()]).to_string());
    assert!(matches!(import_within(1), Err(ImportError::TooLarge(_))));
    assert_eq!(only_session(&store).session.title, "The lamp");
    assert_eq!(import_within(2).unwrap().totals.messages, 0, "it was imported already");
    store.assert_healthy();
}

/// Keys that the readers use, and a few that they do not.
const KEYS: &[&str] = &[
    "mapping",
    "message",
    "parent",
    "children",
    "author",
    "role",
    "content",
    "parts",
    "text",
    "content_type",
    "current_node",
    "conversationId",
    "messages",
    "messagesTree",
    "messageId",
    "parentMessageId",
    "chat",
    "history",
    "currentId",
    "id",
    "type",
    "data",
    "actions",
    "prompt",
    "savedsettings",
    "opmode",
    "histories",
    "msgs",
    "src",
    "visible",
    "internal",
    "data_visible",
    "msg",
    "retries",
    "thoughts",
    "metadata",
    "create_time",
    "worldinfo",
    "localLore",
    "a",
    "b",
    "c",
];

/// Returns a strategy for arbitrary JSON under these keys.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| serde_json::Number::from_f64(number).map_or(Value::Null, Value::Number)),
        "[a-c\u{0}<>:{}\\[\\]]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(KEYS), inner), 0..6)
                .prop_map(|pairs| pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

proptest! {
    /// Security: the reader returns a result for any file, and every chat that it returns is a tree.
    #[test]
    fn foreign_chat_reader_never_panics_on_any_json(value in any_json(), kind in prop::sample::select(&["risuChat", "risuAllChats", ""][..])) {
        let mut value = value;
        if let (Value::Object(map), false) = (&mut value, kind.is_empty()) {
            map.insert("type".to_owned(), kind.into());
        }
        for tale in clotho_compat::interop::foreign_chat::read(value.to_string().as_bytes()).unwrap_or_default() {
            prop_assert!(tale.messages.iter().enumerate().all(|(n, said)| said.parent.is_none_or(|parent| parent < n)));
            prop_assert!(tale.head.is_none_or(|head| head < tale.messages.len()));
        }
    }
}
