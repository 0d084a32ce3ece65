//! Characters that were deleted here, and the import of their folder again.

use clotho_core::ids::{CharacterId, TrashId};
use clotho_store::CharacterCard;
use serde_json::json;

use super::*;
use crate::support::data_root::{DataRoot, chat_file_text, greeting_row, reply_row, user_row};
use crate::transfer::row_counts;

fn characters(store: &TestStore) -> Vec<CharacterCard> {
    let owner = store.owner;
    store.read(move |reader| reader.characters(owner, 0, 10))
}

fn trash_character(store: &TestStore, id: CharacterId) {
    let (owner, at) = (store.owner, store.now());
    store.write(move |tx| tx.trash_character(owner, id, at)).unwrap();
}

fn finding_codes(arrived: &ForeignImportResult, kind: &str) -> Vec<&'static str> {
    let of_kind = arrived.report.items.iter().filter(|item| item.kind == kind);
    of_kind.flat_map(|item| &item.findings).map(|finding| finding.code).collect()
}

/// Writes a card with a chat that ends with these messages of the user.
fn write_folder(root: &DataRoot, texts: &[&str]) {
    root.write_card("Ivo");
    let rows = texts.iter().enumerate().map(|(n, text)| user_row(text, n + 1));
    let rows: Vec<Value> = std::iter::once(greeting_row()).chain(rows).collect();
    root.write_chat("Ivo", "a", &rows);
}

/// Returns a store with an imported character, its id and its folder.
fn start_with_character() -> (TestStore, DataRoot, CharacterId) {
    let (store, root) = (TestStore::new(), DataRoot::new());
    write_folder(&root, &["Hm."]);
    import_folder(&store, root.path());
    let id = characters(&store)[0].id;
    (store, root, id)
}

/// Asserts that this is the only character, with its card, and that all sessions name it.
fn assert_only_character(store: &TestStore, id: CharacterId) {
    let all = characters(store);
    assert_eq!(all.iter().map(|one| one.id).collect::<Vec<_>>(), [id]);
    assert_eq!(all[0].card["description"], "Keeps the lamps.");
    for held in sessions(store) {
        assert_eq!(held.session.cards.iter().map(|card| card.id).collect::<Vec<_>>(), [id]);
    }
    store.assert_healthy();
}

/// Domain 2.17: the folder brings a card back from the trash, also for chats that grew or are new. Nothing hollow
/// appears beside it.
#[test]
fn trashed_character_returns_with_its_folder() {
    let (store, root, id) = start_with_character();
    trash_character(&store, id);
    write_folder(&root, &["Hm.", "More."]);
    root.write_chat("Ivo", "b", &[greeting_row(), user_row("Elsewhere.", 1)]);
    let arrived = import_folder(&store, root.path());
    assert_eq!(finding_codes(&arrived, "character"), ["from_trash"], "{}", arrived.report);
    assert_eq!((arrived.totals.characters, arrived.totals.known, arrived.totals.sessions), (0, 1, 1));
    assert_eq!(sessions(&store).len(), 2);
    assert_only_character(&store, id);
    let before = row_counts(&store);
    let again = import_folder(&store, root.path());
    assert!(again.report.items.is_empty(), "{}", again.report);
    assert_eq!(row_counts(&store), before);
}

/// A changed card of a character in the trash is restored and updated. A dry run says so and leaves it there.
#[test]
fn trashed_character_with_changed_card_is_restored_and_updated() {
    let (store, root, id) = start_with_character();
    trash_character(&store, id);
    let card = json!({"spec": "chara_card_v2", "data": {"name": "Ivo", "description": "New.", "first_mes": "Hello."}});
    root.write_file("characters/Ivo.json", &card.to_string());
    let dry = ImportOptions { is_dry: true, ..import_options(&store) };
    let given = ImportSource::Path(root.path().to_owned());
    let dry = store.block_on(import(store.store(), &store.ids, given, dry, |_| true)).unwrap();
    assert!(finding_codes(&dry, "character").contains(&"from_trash"), "{}", dry.report);
    assert!(characters(&store).is_empty(), "a dry run leaves it there");
    let arrived = import_folder(&store, root.path());
    assert!(finding_codes(&arrived, "character").contains(&"from_trash"), "{}", arrived.report);
    assert_eq!((arrived.totals, arrived.totals.characters), (dry.totals, 1));
    let all = characters(&store);
    assert_eq!((all.len(), all[0].id, &all[0].card["description"]), (1, id, &json!("New.")));
}

/// A character that was deleted permanently is imported anew, under the id that its sessions name.
#[test]
fn purged_character_is_imported_again_under_its_id() {
    let (store, root, id) = start_with_character();
    trash_character(&store, id);
    let owner = store.owner;
    store.write(move |tx| tx.delete_permanently(owner, TrashId::new(id.uuid()))).unwrap();
    write_folder(&root, &["Hm.", "More."]);
    let arrived = import_folder(&store, root.path());
    assert!(finding_codes(&arrived, "character").contains(&"imported_again"), "{}", arrived.report);
    assert_eq!((arrived.totals.characters, arrived.totals.messages), (1, 1));
    assert_only_character(&store, id);
    assert_eq!(import_folder(&store, root.path()).totals.characters, 0);
}

/// A chat without its card brings back the character that was made for it.
#[test]
fn trashed_placeholder_returns_with_its_chat() {
    let (store, root) = (TestStore::new(), DataRoot::without_subfolders());
    let write = |more: &[Value]| {
        let mut rows = vec![reply_row("Good evening.", 0), user_row("Hm.", 1)];
        rows.extend_from_slice(more);
        root.write_file("Night.jsonl", &chat_file_text(&rows))
    };
    import_folder(&store, &write(&[]));
    let id = characters(&store)[0].id;
    trash_character(&store, id);
    let arrived = import_folder(&store, &write(&[reply_row("Aye.", 2)]));
    assert_eq!(finding_codes(&arrived, "character"), ["from_trash"], "{}", arrived.report);
    let all = characters(&store);
    assert_eq!((all.len(), all[0].id, only_session(&store).session.cards[0].id), (1, id, id));
}

/// The folder of an export brings its character back too, though it was made here.
#[test]
fn trashed_exported_character_returns_with_its_folder() {
    let (store, _, id) = start_with_character();
    store.execute_sql("DELETE FROM sources");
    let (folder, _) = super::folder_export::export_folder(&store);
    trash_character(&store, id);
    let arrived = import_folder(&store, folder.path());
    assert_eq!(finding_codes(&arrived, "character"), ["from_trash"], "{}", arrived.report);
    assert_only_character(&store, id);
}
