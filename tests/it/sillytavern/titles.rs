//! The titles of imported chats: what a person would say, and no two the same.

use clotho_engine::transfer::TitleLanguage;
use serde_json::{Value, json};

use super::*;
use crate::support::data_root::{DataRoot, header_row, reply_row, user_row};

/// Returns a chat whose first message has a date.
fn chat_rows(date: &str, text: &str) -> [Value; 3] {
    let mut greeting = reply_row(text, 0);
    greeting["send_date"] = json!(date);
    [header_row(json!({})), greeting, user_row(text, 1)]
}

fn titles(store: &TestStore) -> Vec<String> {
    sessions(store).into_iter().map(|held| held.session.title).collect()
}

fn write_chats(root: &DataRoot) {
    root.write_card("Ivo");
    root.write_chat("Ivo", "Ivo - 2024-5-1@10h20m30s", &chat_rows("2024-05-01T10:20:30Z", "One."));
    root.write_chat("Ivo", "Ivo - 2024-5-1@22h20m30s", &chat_rows("2024-05-01T22:20:30Z", "Two."));
    root.write_chat("Ivo", "1714640400000", &chat_rows("2024-05-02T10:20:30Z", "Three."));
    root.write_chat("Ivo", "The lamp", &chat_rows("2024-05-03T10:20:30Z", "Four."));
}

/// A name that SillyTavern made becomes the character's name and the date of the first message. A name that somebody
/// chose stays, and a second import changes nothing.
#[test]
fn technical_chat_name_becomes_character_and_date() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    write_chats(&root);
    import_folder(&store, root.path());
    assert_eq!(titles(&store), ["Ivo, 1 May 2024", "Ivo, 1 May 2024 (2)", "Ivo, 2 May 2024", "The lamp"]);
    assert_eq!(import_folder(&store, root.path()).totals.unchanged, 4);
    assert_eq!(titles(&store).len(), 4);
    store.assert_healthy();
}

/// The date is in the language of the reader.
#[test]
fn technical_chat_name_in_chinese_has_chinese_date() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    write_chats(&root);
    let options = ImportOptions { language: TitleLanguage::Chinese, ..import_options(&store) };
    let source = ImportSource::Path(root.path().to_owned());
    store.block_on(import(store.store(), &store.ids, source, options, |_| true)).unwrap();
    let expected = ["Ivo，2024年5月1日", "Ivo，2024年5月1日 (2)", "Ivo，2024年5月2日", "The lamp"];
    assert_eq!(titles(&store), expected);
}
