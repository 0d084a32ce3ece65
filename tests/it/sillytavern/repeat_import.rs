//! Import of the same files again, and of longer ones.

use serde_json::json;

use super::*;
use crate::support::data_root::{DataRoot, greeting_row, header_row, reply_row, swipes_row, user_row};
use crate::transfer::{export_session, import as import_file, row_counts};

fn chat_rows() -> Vec<Value> {
    vec![header_row(json!({})), greeting_row(), user_row("Hm.", 1), swipes_row(&["x", "y"], 1, 2), user_row("So.", 3)]
}

/// S4-53: a second run adds nothing, whatever was done here since.
#[test]
fn repeated_import_adds_nothing() {
    let (store, root) = (TestStore::new(), DataRoot::generate(7, 2, 6, 12));
    let first = import_folder(&store, root.path());
    assert!(first.totals.messages > 100 && first.totals.sessions == 8, "{:?}", first.totals);
    let held = sessions(&store).remove(0);
    store.append(held.session.id, held.session.head, store.user_draft("And on, here."));
    let (before, told) = (row_counts(&store), dump_sessions(&store));
    let second = import_folder(&store, root.path());
    assert_eq!((second.totals.messages, second.totals.sessions, second.totals.characters), (0, 0, 0));
    assert_eq!(second.totals.unchanged, second.totals.chats);
    assert_eq!((row_counts(&store), dump_sessions(&store)), (before, told));
    store.assert_healthy();
}

/// S4-53: a longer chat adds its new messages to the same tree. HEAD follows if it is on that branch.
#[test]
fn grown_chat_import_adds_messages_and_moves_head() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo");
    let mut rows = chat_rows();
    root.write_chat("Ivo", "a", &rows);
    import_folder(&store, root.path());
    let before = only_session(&store);
    rows.extend([reply_row("And then?", 4), user_row("Then nothing.", 5)]);
    rows[3] = swipes_row(&["x", "y", "z"], 1, 2);
    root.write_chat("Ivo", "a", &rows);
    let arrived = import_folder(&store, root.path());
    assert_eq!((arrived.totals.messages, arrived.totals.sessions, arrived.totals.unchanged), (3, 0, 0));
    let held = only_session(&store);
    assert_eq!(held.session.id, before.session.id);
    assert_eq!(
        store.visible_texts(held.session.id),
        ["Good evening.", "Hm.", "y", "So.", "And then?", "Then nothing."]
    );
    assert_eq!(child_texts(&store, &held, node_by_text(&store, &held, "Hm.").id), ["x", "y", "z"]);
    // HEAD stays if the session was continued here.
    let here = store.append(held.session.id, held.session.head, store.user_draft("And on, here."));
    rows.push(reply_row("And on, there.", 6));
    root.write_chat("Ivo", "a", &rows);
    assert_eq!(import_folder(&store, root.path()).totals.messages, 1);
    assert_eq!(store.head(held.session.id), here);
    store.assert_healthy();
}

/// S4-53: an older backup of a chat adds nothing, and HEAD stays, even if nothing was done here yet. Messages that
/// only the older one has are added without moving HEAD to its end.
#[test]
fn older_backup_import_keeps_head() {
    let (store, root, old) = (TestStore::new(), DataRoot::new(), DataRoot::new());
    let mut rows = chat_rows();
    for place in [&root, &old] {
        place.write_card("Ivo");
    }
    old.write_chat("Ivo", "a", &rows);
    rows.extend([reply_row("And then?", 4), user_row("Then nothing.", 5)]);
    root.write_chat("Ivo", "a", &rows);
    import_folder(&store, root.path());
    let head = only_session(&store).session.head;
    let arrived = import_folder(&store, old.path());
    assert_eq!((arrived.totals.messages, arrived.totals.sessions), (0, 0), "{}", arrived.report);
    assert_eq!(only_session(&store).session.head, head);
    let mut swiped = chat_rows();
    swiped[3] = swipes_row(&["x", "y", "z"], 1, 2);
    old.write_chat("Ivo", "a", &swiped);
    assert_eq!(import_folder(&store, old.path()).totals.messages, 1);
    assert_eq!(only_session(&store).session.head, head);
    store.assert_healthy();
}

/// S4-53: a session whose import was interrupted exists as far as it was written, and the same call imports the rest.
#[test]
fn interrupted_import_keeps_partial_session_and_resumes() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo");
    let mut rows = vec![header_row(json!({})), greeting_row()];
    rows.extend((1..600).map(|n| user_row(&format!("{n} {}", "on and on ".repeat(100)), n)));
    root.write_chat("Ivo", "a", &rows);
    // The second reading writes; it is stopped halfway.
    import_folder_until(&store, root.path(), |way| way.done < way.total / 4 * 3).unwrap_err();
    let half = only_session(&store);
    let shown = store.visible_texts(half.session.id);
    assert!((100..600).contains(&shown.len()), "{} messages", shown.len());
    assert!(shown[shown.len() - 1].starts_with(&format!("{} on", shown.len() - 1)));
    import_folder(&store, root.path());
    assert_eq!(store.visible_texts(half.session.id).len(), 600);
    store.assert_healthy();
}

/// A chat that had only a greeting is recognised by its name when it has grown. A chat of the same name with another
/// beginning is another session.
#[test]
fn chat_is_recognised_by_name_and_first_messages() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo");
    root.write_chat("Ivo", "a", &chat_rows()[..2]);
    import_folder(&store, root.path());
    root.write_chat("Ivo", "a", &chat_rows());
    assert_eq!(import_folder(&store, root.path()).totals.sessions, 0);
    assert_eq!(store.visible_texts(only_session(&store).session.id).len(), 4);
    root.write_chat("Ivo", "a", &[reply_row("Another evening.", 0), user_row("Who?", 1)]);
    assert_eq!(import_folder(&store, root.path()).totals.sessions, 1);
    assert_eq!(sessions(&store).len(), 2);
}

/// Domain 2.17: a story in the trash is not imported again, but the character of one outside of it is. What was undone
/// or pruned stays where it is.
#[test]
fn repeated_import_keeps_trashed_and_pruned_parts_removed() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo");
    let mut chat = chat_rows();
    root.write_chat("Ivo", "a", &chat);
    import_folder(&store, root.path());
    let held = only_session(&store);
    let (session, x) = (held.session.id, node_by_text(&store, &held, "y").id);
    let prune = clotho_core::tree::TreeEdit::Prune {
        node: x,
        fragment: clotho_core::ids::FragmentId::new(store.ids.next_id(store.now())),
        name: None,
    };
    store.arrange(session, prune);
    chat.push(reply_row("On.", 9));
    root.write_chat("Ivo", "a", &chat);
    let told = import_folder(&store, root.path()).report.to_string();
    assert!(told.contains("1 messages follow a part that was removed here"), "{told}");
    assert_eq!(child_texts(&store, &held, node_by_text(&store, &held, "Hm.").id), ["x"]);
    let (owner, at, card) = (store.owner, store.now(), held.session.cards[0].id);
    store.write(move |tx| tx.trash_character(owner, card, at)).unwrap();
    let told = import_folder(&store, root.path());
    assert_eq!((told.totals.characters, told.totals.known), (0, 1), "{}", told.report);
    assert!(told.report.to_string().contains("it was in the trash and is back"), "{}", told.report);
    store.assert_healthy();
    let (owner, at) = (store.owner, store.now());
    store.write(move |tx| tx.trash_session(owner, session, at)).unwrap();
    chat.push(user_row("More.", 10));
    root.write_chat("Ivo", "a", &chat);
    let arrived = import_folder(&store, root.path());
    assert_eq!((arrived.totals.sessions, arrived.totals.messages), (0, 0));
    assert!(arrived.report.to_string().contains("is in the trash"), "{}", arrived.report);
}

/// A dry run writes nothing and reports the same totals.
#[test]
fn dry_run_writes_nothing_and_reports_same_totals() {
    let (store, root) = (TestStore::new(), DataRoot::generate(3, 2, 5, 10));
    let before = row_counts(&store);
    let dry = ImportOptions { is_dry: true, ..import_options(&store) };
    let told = store
        .block_on(import(store.store(), &store.ids, ImportSource::Path(root.path().to_owned()), dry, |_| true))
        .unwrap();
    assert_eq!(row_counts(&store), before);
    assert_eq!(told.totals, import_folder(&store, root.path()).totals);
}

/// Domain 4: an import stopped at any moment and restarted gives the same result as one undisturbed run.
#[test]
fn import_stopped_anywhere_resumes_to_same_result() {
    let root = DataRoot::generate(11, 2, 5, 40);
    let whole = TestStore::new();
    import_folder(&whole, root.path());
    let mut calls = 0;
    import_folder_until(&TestStore::new(), root.path(), |_| {
        calls += 1;
        true
    })
    .unwrap();
    let store = TestStore::new();
    for stop in 1..calls {
        let mut left = stop;
        let stopped = import_folder_until(&store, root.path(), |_| {
            left -= 1;
            left > 0
        });
        assert!(stopped.is_ok() || matches!(stopped, Err(ImportError::Stopped)));
    }
    import_folder(&store, root.path());
    assert_eq!(dump_sessions(&store), dump_sessions(&whole));
    store.assert_healthy();
}

/// Domain 2.15: an import is no step. Undo takes back only what was done by hand.
#[test]
fn undo_after_import_skips_imported_messages() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo");
    let long: Vec<Value> = (0..400).map(|n| user_row(&format!("{n}"), n)).collect();
    root.write_chat("Ivo", "a", &long);
    import_folder(&store, root.path());
    let session = only_session(&store).session.id;
    let before = dump_sessions(&store);
    let actor = store.actor();
    let undo = move |tx: &mut clotho_store::Tx<'_>| tx.undo(&actor, session).map(|undone| undone.kind);
    assert!(store.write(undo).is_err(), "there is nothing to take back");
    assert_eq!(dump_sessions(&store), before);
    let line = |store: &TestStore| store.visible_texts(session).len();
    store.append(session, store.head(session), store.user_draft("By hand."));
    assert_eq!(line(&store), 401);
    store.write(undo).unwrap();
    assert_eq!((line(&store), store.write(undo).is_err()), (400, true));
    store.assert_healthy();
}

/// S4-53: a session that was moved to another server as a session archive is recognised there by its source files. A
/// copy beside the original is not.
#[test]
fn session_archive_on_other_server_recognises_source_chats() {
    let (store, elsewhere, root) = (TestStore::new(), TestStore::new(), DataRoot::new());
    root.write_card("Ivo");
    let mut rows = chat_rows();
    root.write_chat("Ivo", "a", &rows);
    import_folder(&store, root.path());
    let (session, before) = (only_session(&store).session.id, dump_sessions(&store));
    let file = export_session(&store, session);
    assert_eq!(import_file(&elsewhere, &file).unwrap(), session);
    assert_eq!(export_session(&elsewhere, session), file, "equal to the last byte");
    let there = import_folder(&elsewhere, root.path());
    assert_eq!((there.totals.sessions, there.totals.messages, there.totals.unchanged), (0, 0, 1), "{}", there.report);
    assert_eq!(dump_sessions(&elsewhere), before);
    rows.push(reply_row("On.", 9));
    root.write_chat("Ivo", "a", &rows);
    let copy = import_file(&store, &file).unwrap();
    assert_eq!(import_folder(&store, root.path()).totals.messages, 1);
    assert_eq!(store.visible_texts(copy).len() + 1, store.visible_texts(session).len());
    store.assert_healthy();
    elsewhere.assert_healthy();
}
