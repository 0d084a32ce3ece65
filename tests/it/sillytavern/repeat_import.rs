//! Import of the same files again, and of longer ones.

use serde_json::json;

use super::*;
use crate::support::data_root::{DataRoot, greeting, header, reply, said, swipes};
use crate::transfer::{exported, import as import_file, rows};

fn story() -> Vec<Value> {
    vec![header(json!({})), greeting(), said("Hm.", 1), swipes(&["x", "y"], 1, 2), said("So.", 3)]
}

/// S4-53: a second run adds nothing, whatever was done here since.
#[test]
fn repeated_import_adds_nothing() {
    let (store, root) = (TestStore::new(), DataRoot::of_size(7, 2, 6, 12));
    let first = taken(&store, root.path());
    assert!(first.totals.messages > 100 && first.totals.sessions == 8, "{:?}", first.totals);
    let held = sessions(&store).remove(0);
    store.append(held.session.id, held.session.head, store.said("And on, here."));
    let (before, told) = (rows(&store), face(&store));
    let second = taken(&store, root.path());
    assert_eq!((second.totals.messages, second.totals.sessions, second.totals.characters), (0, 0, 0));
    assert_eq!(second.totals.unchanged, second.totals.chats);
    assert_eq!((rows(&store), face(&store)), (before, told));
    store.is_well();
}

/// S4-53: a longer chat adds its new messages to the same tree. HEAD follows if it is on that branch.
#[test]
fn grown_chat_import_adds_messages_and_moves_head() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.card("Ivo");
    let mut rows = story();
    root.chat("Ivo", "a", &rows);
    taken(&store, root.path());
    let before = only(&store);
    rows.extend([reply("And then?", 4), said("Then nothing.", 5)]);
    rows[3] = swipes(&["x", "y", "z"], 1, 2);
    root.chat("Ivo", "a", &rows);
    let arrived = taken(&store, root.path());
    assert_eq!((arrived.totals.messages, arrived.totals.sessions, arrived.totals.unchanged), (3, 0, 0));
    let held = only(&store);
    assert_eq!(held.session.id, before.session.id);
    assert_eq!(store.shown(held.session.id), ["Good evening.", "Hm.", "y", "So.", "And then?", "Then nothing."]);
    assert_eq!(children(&store, &held, node(&store, &held, "Hm.").id), ["x", "y", "z"]);
    // HEAD stays if the session was continued here.
    let here = store.append(held.session.id, held.session.head, store.said("And on, here."));
    rows.push(reply("And on, there.", 6));
    root.chat("Ivo", "a", &rows);
    assert_eq!(taken(&store, root.path()).totals.messages, 1);
    assert_eq!(store.head(held.session.id), here);
    store.is_well();
}

/// S4-53: an older backup of a chat adds nothing, and HEAD stays, even if nothing was done here yet. Messages that
/// only the older one has are added without moving HEAD to its end.
#[test]
fn older_backup_import_keeps_head() {
    let (store, root, old) = (TestStore::new(), DataRoot::new(), DataRoot::new());
    let mut rows = story();
    for place in [&root, &old] {
        place.card("Ivo");
    }
    old.chat("Ivo", "a", &rows);
    rows.extend([reply("And then?", 4), said("Then nothing.", 5)]);
    root.chat("Ivo", "a", &rows);
    taken(&store, root.path());
    let head = only(&store).session.head;
    let arrived = taken(&store, old.path());
    assert_eq!((arrived.totals.messages, arrived.totals.sessions), (0, 0), "{}", arrived.report);
    assert_eq!(only(&store).session.head, head);
    let mut swiped = story();
    swiped[3] = swipes(&["x", "y", "z"], 1, 2);
    old.chat("Ivo", "a", &swiped);
    assert_eq!(taken(&store, old.path()).totals.messages, 1);
    assert_eq!(only(&store).session.head, head);
    store.is_well();
}

/// S4-53: a session whose import was interrupted exists as far as it was written, and the same call imports the rest.
#[test]
fn interrupted_import_keeps_partial_session_and_resumes() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.card("Ivo");
    let mut rows = vec![header(json!({})), greeting()];
    rows.extend((1..600).map(|n| said(&format!("{n} {}", "on and on ".repeat(100)), n)));
    root.chat("Ivo", "a", &rows);
    // The second reading writes; it is stopped halfway.
    taken_until(&store, root.path(), |way| way.done < way.total / 4 * 3).unwrap_err();
    let half = only(&store);
    let shown = store.shown(half.session.id);
    assert!((100..600).contains(&shown.len()), "{} messages", shown.len());
    assert!(shown[shown.len() - 1].starts_with(&format!("{} on", shown.len() - 1)));
    taken(&store, root.path());
    assert_eq!(store.shown(half.session.id).len(), 600);
    store.is_well();
}

/// A chat that had only a greeting is recognised by its name when it has grown. A chat of the same name with another
/// beginning is another session.
#[test]
fn chat_is_recognised_by_name_and_first_messages() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.card("Ivo");
    root.chat("Ivo", "a", &story()[..2]);
    taken(&store, root.path());
    root.chat("Ivo", "a", &story());
    assert_eq!(taken(&store, root.path()).totals.sessions, 0);
    assert_eq!(store.shown(only(&store).session.id).len(), 4);
    root.chat("Ivo", "a", &[reply("Another evening.", 0), said("Who?", 1)]);
    assert_eq!(taken(&store, root.path()).totals.sessions, 1);
    assert_eq!(sessions(&store).len(), 2);
}

/// Domain 2.17: what is in the trash is not imported again. What was undone or pruned stays where it is.
#[test]
fn repeated_import_keeps_trashed_and_pruned_parts_removed() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.card("Ivo");
    let mut chat = story();
    root.chat("Ivo", "a", &chat);
    taken(&store, root.path());
    let held = only(&store);
    let (session, x) = (held.session.id, node(&store, &held, "y").id);
    let prune = clotho_core::tree::TreeEdit::Prune {
        node: x,
        fragment: clotho_core::ids::FragmentId::new(store.ids.next_id(store.now())),
        name: None,
    };
    store.arrange(session, prune);
    chat.push(reply("On.", 9));
    root.chat("Ivo", "a", &chat);
    let told = taken(&store, root.path()).report.to_string();
    assert!(told.contains("1 messages follow a part that was removed here"), "{told}");
    assert_eq!(children(&store, &held, node(&store, &held, "Hm.").id), ["x"]);
    let (owner, at, card) = (store.owner, store.now(), held.session.cards[0].id);
    store.write(move |tx| tx.trash_character(owner, card, at)).unwrap();
    let told = taken(&store, root.path());
    assert!(told.totals.characters == 0 && told.report.to_string().contains("you deleted it here"), "{}", told.report);
    store.is_well();
    let (owner, at) = (store.owner, store.now());
    store.write(move |tx| tx.trash_session(owner, session, at)).unwrap();
    chat.push(said("More.", 10));
    root.chat("Ivo", "a", &chat);
    let arrived = taken(&store, root.path());
    assert_eq!((arrived.totals.sessions, arrived.totals.messages), (0, 0));
    assert!(arrived.report.to_string().contains("is in the trash"), "{}", arrived.report);
}

/// A dry run writes nothing and reports the same totals.
#[test]
fn dry_run_writes_nothing_and_reports_same_totals() {
    let (store, root) = (TestStore::new(), DataRoot::of_size(3, 2, 5, 10));
    let before = rows(&store);
    let dry = ImportOptions { is_dry: true, ..wish(&store) };
    let told = store
        .block_on(import(store.store(), &store.ids, ImportSource::Path(root.path().to_owned()), dry, |_| true))
        .unwrap();
    assert_eq!(rows(&store), before);
    assert_eq!(told.totals, taken(&store, root.path()).totals);
}

/// Domain 4: an import stopped at any moment and restarted gives the same result as one undisturbed run.
#[test]
fn import_stopped_anywhere_resumes_to_same_result() {
    let root = DataRoot::of_size(11, 2, 5, 40);
    let whole = TestStore::new();
    taken(&whole, root.path());
    let mut calls = 0;
    taken_until(&TestStore::new(), root.path(), |_| {
        calls += 1;
        true
    })
    .unwrap();
    let store = TestStore::new();
    for stop in 1..calls {
        let mut left = stop;
        let stopped = taken_until(&store, root.path(), |_| {
            left -= 1;
            left > 0
        });
        assert!(stopped.is_ok() || matches!(stopped, Err(ImportError::Stopped)));
    }
    taken(&store, root.path());
    assert_eq!(face(&store), face(&whole));
    store.is_well();
}

/// Domain 2.15: an import is no step. Undo takes back only what was done by hand.
#[test]
fn undo_after_import_skips_imported_messages() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.card("Ivo");
    let long: Vec<Value> = (0..400).map(|n| said(&format!("{n}"), n)).collect();
    root.chat("Ivo", "a", &long);
    taken(&store, root.path());
    let session = only(&store).session.id;
    let before = face(&store);
    let actor = store.actor();
    let undo = move |tx: &mut clotho_store::Tx<'_>| tx.undo(&actor, session).map(|undone| undone.kind);
    assert!(store.write(undo).is_err(), "there is nothing to take back");
    assert_eq!(face(&store), before);
    let line = |store: &TestStore| store.shown(session).len();
    store.append(session, store.head(session), store.said("By hand."));
    assert_eq!(line(&store), 401);
    store.write(undo).unwrap();
    assert_eq!((line(&store), store.write(undo).is_err()), (400, true));
    store.is_well();
}

/// S4-53: a session that was moved to another server as a session archive is recognised there by its source files. A
/// copy beside the original is not.
#[test]
fn session_archive_on_other_server_recognises_source_chats() {
    let (store, elsewhere, root) = (TestStore::new(), TestStore::new(), DataRoot::new());
    root.card("Ivo");
    let mut rows = story();
    root.chat("Ivo", "a", &rows);
    taken(&store, root.path());
    let (session, before) = (only(&store).session.id, face(&store));
    let file = exported(&store, session);
    assert_eq!(import_file(&elsewhere, &file).unwrap(), session);
    assert_eq!(exported(&elsewhere, session), file, "equal to the last byte");
    let there = taken(&elsewhere, root.path());
    assert_eq!((there.totals.sessions, there.totals.messages, there.totals.unchanged), (0, 0, 1), "{}", there.report);
    assert_eq!(face(&elsewhere), before);
    rows.push(reply("On.", 9));
    root.chat("Ivo", "a", &rows);
    let copy = import_file(&store, &file).unwrap();
    assert_eq!(taken(&store, root.path()).totals.messages, 1);
    assert_eq!(store.shown(copy).len() + 1, store.shown(session).len());
    store.is_well();
    elsewhere.is_well();
}
