//! Connection profiles in the store: each belongs to one owner, and a session remembers one by its id.

use clotho_core::ids::{ConnectionProfileId, UserId};
use clotho_core::tree::ConnectionSettings;
use clotho_core::tree::edit::TreeError;
use clotho_store::{ConnectionProfile, UserAccount};
use serde_json::{Value, json};

use crate::support::test_store::{TestStore, delta, expect_refusal};

impl TestStore {
    fn profile(&self, name: &str, model: &str) -> ConnectionProfile {
        let at = self.now();
        let settings = ConnectionSettings { model: Some(model.to_owned()), ..ConnectionSettings::default() };
        let id = ConnectionProfileId::new(self.ids.next_id(at));
        ConnectionProfile { id, name: name.to_owned(), settings, created: at, updated: at }
    }
}

/// Names are unique for each owner. Others neither see nor change a profile.
#[test]
fn connection_profiles_are_kept_per_owner() {
    let mut store = TestStore::new();
    let (owner, at) = (store.owner, store.now());
    let guest = UserAccount { id: UserId::new(store.ids.next_id(at)), name: "Ben".into(), role: "user".into() };
    let guest_id = guest.id;
    store.write(move |tx| tx.put_user(&guest, at)).unwrap();
    let (fast, slow) = (store.profile("Fast", "mock/small"), store.profile("Slow", "mock/large"));
    for profile in [slow.clone(), fast.clone()] {
        store.write(move |tx| tx.put_connection_profile(owner, &profile)).unwrap();
    }
    let again = store.profile("Fast", "mock/other");
    let taken = again.clone();
    let refusal = expect_refusal(store.write(move |tx| tx.put_connection_profile(owner, &taken)));
    assert!(matches!(refusal, TreeError::Invalid { field: "name", .. }), "{refusal}");
    store.write(move |tx| tx.put_connection_profile(guest_id, &again)).unwrap();
    let renamed = ConnectionProfile { name: "Fast".into(), ..slow.clone() };
    let refusal = expect_refusal(store.write(move |tx| tx.update_connection_profile(owner, &renamed)));
    assert!(matches!(refusal, TreeError::Invalid { field: "name", .. }), "{refusal}");

    let (id, changed) = (slow.id, ConnectionProfile { name: "Best".into(), ..slow });
    let theirs = changed.clone();
    let refusal = expect_refusal(store.write(move |tx| tx.update_connection_profile(guest_id, &theirs)));
    assert!(matches!(refusal, TreeError::NotFound(_)), "{refusal}");
    let refusal = expect_refusal(store.write(move |tx| tx.delete_connection_profile(guest_id, id)));
    assert!(matches!(refusal, TreeError::NotFound(_)), "{refusal}");
    let stored = changed.clone();
    store.write(move |tx| tx.update_connection_profile(owner, &stored)).unwrap();
    store.reopen();
    assert_eq!(store.read(move |reader| reader.connection_profiles(owner, 0, 9)), [changed.clone(), fast.clone()]);
    assert!(store.read(move |reader| reader.connection_profiles_by_id(guest_id, &[id])).is_empty());
    store.write(move |tx| tx.delete_connection_profile(owner, id)).unwrap();
    assert_eq!(store.read(move |reader| reader.connection_profiles(owner, 0, 9)), [fast]);
}

/// The id of the profile is a setting of the session: it is logged, undone and read back after a restart.
#[test]
fn session_remembers_profile_until_undo() {
    let mut store = TestStore::new();
    let session = store.create_session(delta([]), None, &["Welcome."]).session;
    let (owner, actor, profile) = (store.owner, store.actor(), store.profile("Fast", "mock/small"));
    let (id, stored) = (profile.id, profile.clone());
    store.write(move |tx| tx.put_connection_profile(owner, &stored)).unwrap();
    let chosen = profile.settings.clone();
    let write = move |tx: &mut clotho_store::Tx<'_>| {
        let mut settings = chosen.changes_of(&tx.session(owner, session)?.session);
        settings.push(("profile".to_owned(), json!(id.to_string())));
        tx.set_settings(&actor, session, &settings)
    };
    store.write(write).unwrap();
    store.reopen();
    let held = store.read(move |reader| reader.session(owner, session)).unwrap().session;
    assert_eq!((held.profile, held.model.as_deref()), (Some(id), Some("mock/small")));
    assert_eq!(ConnectionSettings::of_session(&held), profile.settings);
    let actor = store.actor();
    for bad in [json!("x"), json!(1), json!([])] {
        let settings: Vec<(String, Value)> = vec![("profile".to_owned(), bad)];
        let refusal = expect_refusal(store.write(move |tx| tx.set_settings(&actor, session, &settings)));
        assert!(matches!(refusal, TreeError::Invalid { field: "profileId", .. }), "{refusal}");
    }
    store.write(move |tx| tx.undo(&actor, session)).unwrap();
    let held = store.read(move |reader| reader.session(owner, session)).unwrap().session;
    assert_eq!((held.profile, held.model), (None, None));
}
