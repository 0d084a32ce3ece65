//! The list of sessions in the store: filters, orders, folders, tags and pins.

use clotho_core::ids::SessionId;
use clotho_core::tree::{Kind, Role};
use clotho_store::{Actor, SessionFilter, SessionListChange, SessionOrder, SessionSortKey, StoredSession};
use serde_json::json;

use crate::support::test_store::TestStore;

const BY_TITLE: SessionOrder = SessionOrder { key: SessionSortKey::Title, is_descending: false };

fn begin(store: &TestStore, title: &str, messages: usize) -> SessionId {
    let root = store.draft(Role::System, Kind::Root, "");
    let greeting = store.draft(Role::Assistant, Kind::Greeting, "Hello.");
    let mut parent = greeting.id;
    let session = clotho_core::tree::Session { title: title.into(), ..store.unsaved_session(root.id) };
    let (id, at) = (session.id, store.now());
    store.write(move |tx| tx.begin_session(&session, &root, std::slice::from_ref(&greeting), at)).unwrap();
    for n in 0..messages {
        parent = store.append(id, parent, store.draft(Role::User, Kind::Message, &format!("{n}")));
    }
    id
}

fn change(store: &TestStore, id: SessionId, change: SessionListChange) {
    let actor = Actor { user: store.owner, at: store.now(), expected_leaf: None };
    store.write(move |tx| tx.change_session_list(&actor, id, &change)).unwrap();
}

fn list(store: &TestStore, filter: SessionFilter, order: SessionOrder) -> Vec<StoredSession> {
    let owner = store.owner;
    store.read(move |reader| reader.filtered_sessions(owner, &filter, order, 0, 50))
}

fn titles(store: &TestStore, filter: SessionFilter, order: SessionOrder) -> Vec<String> {
    list(store, filter, order).into_iter().map(|held| held.session.title).collect()
}

/// Each order has pinned sessions first, and pages of one session have the same order as a page of all.
#[test]
fn session_list_in_each_order_has_pins_first_and_equal_pages() {
    let store = TestStore::new();
    let ids =
        [("Éclair", 1), ("eagle", 3), ("Zoo", 0), ("Äpfel", 2), ("zoo", 0)].map(|(title, n)| begin(&store, title, n));
    change(&store, ids[2], SessionListChange::Pin(true));
    let of = |key, is_descending| titles(&store, SessionFilter::default(), SessionOrder { key, is_descending });
    assert_eq!(of(SessionSortKey::Title, false), ["Zoo", "Äpfel", "eagle", "Éclair", "zoo"]);
    assert_eq!(of(SessionSortKey::Title, true), ["Zoo", "zoo", "Éclair", "eagle", "Äpfel"]);
    assert_eq!(of(SessionSortKey::Created, true), ["Zoo", "zoo", "Äpfel", "eagle", "Éclair"]);
    assert_eq!(of(SessionSortKey::Created, false), ["Zoo", "Éclair", "eagle", "Äpfel", "zoo"]);
    assert_eq!(of(SessionSortKey::Length, true), ["Zoo", "eagle", "Äpfel", "Éclair", "zoo"]);
    assert_eq!(of(SessionSortKey::Updated, true)[0], "Zoo");
    let owner = store.owner;
    for key in [SessionSortKey::Updated, SessionSortKey::Created, SessionSortKey::Title, SessionSortKey::Length] {
        for is_descending in [false, true] {
            let order = SessionOrder { key, is_descending };
            let pages: Vec<String> = (0..5)
                .flat_map(|skip| {
                    store.read(move |reader| reader.filtered_sessions(owner, &SessionFilter::default(), order, skip, 1))
                })
                .map(|held| held.session.title)
                .collect();
            assert_eq!(pages, titles(&store, SessionFilter::default(), order), "{order:?}");
        }
    }
}

/// Titles are found in any case, without accents, and with the characters that SQL takes for wildcards.
#[test]
fn session_list_filter_folds_titles_and_tags() {
    let store = TestStore::new();
    let [cafe, percent, tower] =
        ["Das Café an der Straße", "100% sure_thing", "Башня Ёлки"].map(|title| begin(&store, title, 0));
    let named =
        |words: &str| titles(&store, SessionFilter { title: Some(words.into()), ..Default::default() }, BY_TITLE);
    assert_eq!(named("CAFE strasse"), ["Das Café an der Straße"]);
    assert_eq!(named("елки"), ["Башня Ёлки"]);
    assert_eq!(named("0% sure_"), ["100% sure_thing"]);
    assert!(named("%cafe").is_empty() && named("d_s").is_empty());
    assert_eq!(named("  ").len(), 3);

    change(&store, cafe, SessionListChange::Tag("Überfall".into()));
    change(&store, cafe, SessionListChange::Tag("cosy".into()));
    change(&store, cafe, SessionListChange::Tag("COSY".into()));
    change(&store, tower, SessionListChange::Tag("Cosy".into()));
    change(&store, percent, SessionListChange::Move(Some("Work".into())));
    let tagged = |tags: &[&str]| {
        let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        titles(&store, SessionFilter { tags, ..Default::default() }, BY_TITLE)
    };
    assert_eq!(tagged(&["cosy"]), ["Das Café an der Straße", "Башня Ёлки"]);
    assert_eq!(tagged(&["cosy", "uberfall"]), ["Das Café an der Straße"]);
    assert_eq!(store.stored_session(cafe).session.tags, ["cosy", "Überfall"]);
    let owner = store.owner;
    let groups = store.read(move |reader| Ok((reader.session_folders(owner)?, reader.session_tags(owner)?)));
    let named: Vec<(String, i64)> = groups.1.into_iter().map(|group| (group.name, group.count)).collect();
    assert_eq!(named, [("Cosy".to_owned(), 2), ("Überfall".to_owned(), 1)]);
    assert_eq!(groups.0.len(), 1);
    let in_no_folder = SessionFilter { folder: Some(None), ..Default::default() };
    assert_eq!(titles(&store, in_no_folder, BY_TITLE).len(), 2);
    change(&store, cafe, SessionListChange::Untag("UBERFALL".into()));
    assert_eq!(store.stored_session(cafe).session.tags, ["cosy"]);
    store.assert_healthy();
}

/// A title of an older program is found and sorted after the next start. A new title is folded at once.
#[test]
fn session_list_title_of_older_program_is_folded_at_start() {
    let mut store = TestStore::new();
    let id = begin(&store, "Élan", 0);
    store.execute_sql("UPDATE sessions SET title_form = NULL");
    let named = |store: &TestStore, words: &str| {
        titles(store, SessionFilter { title: Some(words.into()), ..Default::default() }, BY_TITLE).len()
    };
    assert_eq!(named(&store, "elan"), 0);
    store.reopen();
    assert_eq!(named(&store, "elan"), 1);
    let actor = Actor { user: store.owner, at: store.now(), expected_leaf: None };
    store.write(move |tx| tx.set_settings(&actor, id, &[("title".into(), json!("Über"))])).unwrap();
    assert_eq!((named(&store, "elan"), named(&store, "uber")), (0, 1));
}

/// Folders, tags and pins do not count as played, can be undone, and end with their session.
#[test]
fn session_list_change_keeps_time_and_is_undone() {
    let store = TestStore::new();
    let id = begin(&store, "Night", 1);
    let before = store.stored_session(id).session;
    change(&store, id, SessionListChange::Tag("dark".into()));
    change(&store, id, SessionListChange::Pin(true));
    let after = store.stored_session(id).session;
    assert_eq!((after.updated, after.is_pinned, after.tags.len()), (before.updated, true, 1));
    assert_eq!(after.op, before.op + 2);
    change(&store, id, SessionListChange::Pin(true));
    assert_eq!(store.stored_session(id).session.op, after.op, "nothing changed");
    let (owner, at) = (store.owner, store.now());
    store.write(move |tx| tx.trash_session(owner, id, at)).unwrap();
    assert!(store.read(move |reader| reader.session_tags(owner)).is_empty());
    let trashed = clotho_core::ids::TrashId::new(id.uuid());
    store.write(move |tx| tx.delete_permanently(owner, trashed)).unwrap();
    while store.write(|tx| tx.clear_deleted_batch()).unwrap() > 0 {}
    let next = begin(&store, "Day", 0);
    assert!(store.stored_session(next).session.tags.is_empty(), "a row number that is used again has no old tags");
}
