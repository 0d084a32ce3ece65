//! Cards, personas and saved responses in the store: each belongs to one owner, and others neither see nor change it.

use clotho_core::clock::Time;
use clotho_core::ids::{CharacterId, PersonaId, UserId};
use clotho_core::tree::edit::TreeError;
use clotho_core::tree::{CardRef, Delta, Kind, PersonaRef, Role, Session};
use clotho_store::{CharacterCard, PersonaCard, SavedResponse, UserAccount, WriteError};
use serde_json::{Value, json};

use crate::support::test_store::{TestStore, expect_refusal, message_write, object};

fn expect_not_found<T: std::fmt::Debug>(result: Result<T, WriteError>) {
    assert!(matches!(expect_refusal(result), TreeError::NotFound(_)));
}

/// S0-05, S0-06, S0-20, `domain.md` 2.17, C21: cards are stored, listed by owner, changed and moved to the trash. A
/// session keeps the version it began with, and has its own way to the trash.
#[test]
fn cards_are_kept_per_owner_and_versioned() {
    let mut store = TestStore::new();
    let (owner, at) = (store.owner, store.now());
    let guest = UserAccount { id: UserId::new(store.ids.next_id(at)), name: "Ben".into(), role: "user".into() };
    let guest_id = guest.id;
    store.write(move |tx| tx.put_user(&guest, at)).unwrap();
    assert_eq!(
        store.read(|reader| reader.users()).iter().map(|user| user.name.clone()).collect::<Vec<_>>(),
        ["Ada", "Ben"]
    );

    let card = object(json!({"name": "Rin", "extensions": {"unknown": [1, "二"]}}));
    let rin = CharacterCard { id: CharacterId::new(store.ids.next_id(at)), card, created: at, updated: at };
    let me = PersonaCard {
        id: PersonaId::new(store.ids.next_id(at)),
        card: object(json!({"name": "Wanderer"})),
        created: at,
        updated: at,
    };
    let (rin_id, me_id) = (rin.id, me.id);
    let (first, persona) = (rin.clone(), me.clone());
    let hash = store
        .write(move |tx| {
            tx.put_character(owner, &first)?;
            tx.put_persona(owner, &persona)?;
            tx.put_blob(Value::Object(first.card.clone()).to_string().as_bytes())
        })
        .unwrap();
    assert_eq!(store.read(move |reader| reader.character(owner, rin_id)), Some(rin.clone()));
    assert_eq!(store.read(move |reader| reader.persona(owner, me_id)), Some(me));
    assert_eq!(store.read(move |reader| reader.character(guest_id, rin_id)), None, "not for others");
    assert!(store.read(move |reader| reader.characters(guest_id, 0, 50)).is_empty());

    // A session with the current card.
    let root = store.draft(Role::System, Kind::Root, "");
    let session = Session {
        cards: vec![CardRef { id: rin_id, hash: hash.clone() }],
        persona: Some(PersonaRef { id: me_id, hash: hash.clone() }),
        ..store.unsaved_session(root.id)
    };
    let id = session.id;
    let begun = session.clone();
    store.write(move |tx| tx.begin_session(&session, &root, &[], at)).unwrap();
    let changed =
        CharacterCard { card: object(json!({"name": "Rin the Grey"})), updated: Time(at.0 + 5), ..rin.clone() };
    let newer = changed.clone();
    store.write(move |tx| tx.update_character(owner, &newer)).unwrap();
    let stolen = changed.clone();
    expect_not_found(store.write(move |tx| tx.update_character(guest_id, &stolen)));
    assert_eq!(store.read(move |reader| reader.characters(owner, 0, 50)), [changed]);
    store.write(move |tx| tx.trash_character(owner, rin_id, at)).unwrap();
    expect_not_found(store.write(move |tx| tx.trash_character(owner, rin_id, at)));
    assert_eq!(store.read(move |reader| reader.character(owner, rin_id)), None);
    store.write(move |tx| tx.trash_persona(owner, me_id, at)).unwrap();
    assert!(store.read(move |reader| reader.personas(owner, 0, 50)).is_empty());

    store.reopen();
    let kept = store.stored_session(id).session;
    assert_eq!((kept.cards, kept.persona), (begun.cards, begun.persona));
    let bytes = store.read(move |reader| reader.blob(&hash));
    assert_eq!(serde_json::from_slice::<Value>(&bytes).unwrap(), Value::Object(rin.card), "the version it began with");

    // A reply that runs while its session goes to the trash still completes.
    let (said, reply) = (store.user_draft("Bye."), store.placeholder());
    let (root, running) = (kept.root, reply.id);
    let written = store.try_add_message(message_write(id, root, Some(said), vec![reply])).unwrap();
    assert_eq!(store.read(move |reader| reader.sessions(owner, 0, 50)).len(), 1);
    expect_not_found(store.write(move |tx| tx.trash_session(guest_id, id, at)));
    store.write(move |tx| tx.trash_session(owner, id, at)).unwrap();
    assert!(store.read(move |reader| reader.session(owner, id)).is_none());
    assert!(store.read(move |reader| reader.sessions(owner, 0, 50)).is_empty());
    expect_not_found(store.write(move |tx| tx.trash_session(owner, id, at)));
    store.complete_reply(id, running, &written, "Farewell.", Delta::default());
    assert!(store.write(|tx| tx.generating_replies()).unwrap().is_empty(), "S4-11: nothing stays generating");
}

/// A response is stored under its caller's key and returned again, but not to others, until it expires.
#[test]
fn idempotency_key_returns_first_response_until_expiry() {
    let store = TestStore::new();
    let owner = store.owner;
    let first = SavedResponse { request: vec![1, 2, 3], status: 202, body: "{\"op\": 5}".into() };
    let keep = |key: &'static str, answer: SavedResponse, at: i64| {
        store.write(move |tx| tx.save_response(owner, key, &answer, Time(at), Time(at - 100)))
    };
    keep("k", first.clone(), 1_000).unwrap();
    let again = keep("k", SavedResponse { status: 500, ..first.clone() }, 1_050);
    assert!(matches!(expect_refusal(again), TreeError::Conflict(_)), "the first answer stands");
    let asked =
        |caller, key: &'static str, after| store.read(move |reader| reader.saved_response(caller, key, Time(after)));
    assert_eq!(asked(owner, "k", 900), Some(first.clone()));
    assert_eq!(asked(owner, "k", 1_001), None, "too old");
    assert_eq!(asked(owner, "other", 0), None);
    assert_eq!(asked(UserId::new(store.ids.next_id(store.now())), "k", 0), None);
    keep("k", SavedResponse { status: 404, ..first }, 1_200).unwrap();
    assert_eq!(asked(owner, "k", 0).unwrap().status, 404, "what is forgotten makes room");
    assert_eq!(store.query_count("SELECT count(*) AS n FROM answers"), 1);
}
