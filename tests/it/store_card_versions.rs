//! Versions of a card in the store: they outlive garbage collection, and are deleted with their character.

use clotho_core::clock::Time;
use clotho_core::ids::{CharacterId, TrashId};
use clotho_store::{CardVersionOrigin, CharacterCard, StoreReader};
use serde_json::{Value, json};

use crate::support::test_store::{TestStore, object};

/// Stores a character and changes its description once. Returns its id.
fn changed_character(store: &TestStore) -> CharacterId {
    let (owner, at) = (store.owner, store.now());
    let card = object(json!({"name": "Rin", "description": "A pilot."}));
    let rin = CharacterCard { id: CharacterId::new(store.ids.next_id(at)), card, created: at, updated: at };
    let id = rin.id;
    let newer = CharacterCard {
        card: object(json!({"name": "Rin", "description": "A smuggler."})),
        updated: Time(at.0 + 5),
        ..rin.clone()
    };
    store.write(move |tx| tx.put_character(owner, &rin)).unwrap();
    let same = newer.clone();
    let kept = store.write(move |tx| tx.save_card_version(owner, &newer, CardVersionOrigin::Edited)).unwrap();
    assert!(kept);
    let again = store.write(move |tx| tx.save_card_version(owner, &same, CardVersionOrigin::Edited)).unwrap();
    assert!(!again, "equal content is no version");
    id
}

#[test]
fn card_versions_outlive_garbage_collection() {
    let store = TestStore::new();
    let (owner, id) = (store.owner, changed_character(&store));
    store.block_on(store.store().collect_garbage(store.now())).unwrap();
    let found = store.read(move |reader| reader.card_versions(owner, id, 0, 50)).unwrap();
    let outline: Vec<_> = found.iter().map(|one| (one.number, one.origin, one.changed.clone())).collect();
    let changed = vec!["description".to_owned()];
    assert_eq!(outline, [(2, CardVersionOrigin::Edited, changed), (1, CardVersionOrigin::Created, Vec::new())]);
    let first = store.read(move |reader| reader.card_version(owner, id, 1)).unwrap();
    assert_eq!(first.card["description"], "A pilot.");
}

#[test]
fn deleted_character_takes_its_card_versions_along() {
    let store = TestStore::new();
    let (owner, id, at) = (store.owner, changed_character(&store), store.now());
    store.write(move |tx| tx.trash_character(owner, id, at)).unwrap();
    assert_eq!(store.read(move |reader| reader.card_versions(owner, id, 0, 50)), None);
    store.write(move |tx| tx.delete_permanently(owner, TrashId::new(id.uuid()))).unwrap();
    store.block_on(store.store().collect_garbage(store.now())).unwrap();
    let hash = |text: &str| blake3::hash(json!({"name": "Rin", "description": text}).to_string().as_bytes());
    for text in ["A pilot.", "A smuggler."] {
        let hash = hash(text).to_hex().to_string();
        let card = store.block_on(store.store().read(move |reader: &mut StoreReader<'_>| reader.blob(&hash)));
        assert!(card.is_err(), "{text} is gone: {:?}", card.map(|bytes| serde_json::from_slice::<Value>(&bytes)));
    }
}
