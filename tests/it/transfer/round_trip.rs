//! An imported session equals the exported one.

use clotho_core::ids::{PresetId, SessionId};
use clotho_engine::transfer::{self, ImportError};
use clotho_store::archive::ArchiveLimits;
use clotho_store::{StoreError, StoredPreset, Trace};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{export_session, import, import_until, row_counts};
use crate::store_properties::{ModelTest, any_step};
use crate::support::archive_file::read_lines;
use crate::support::test_store::{
    SessionIds, TestStore, add_operation, delta, hp_rules, message_write, reply_completion, set_operation,
};

/// Returns the lines of a file without the first and last.
fn body_lines(file: &[u8]) -> Vec<Value> {
    let lines = read_lines(file);
    lines[1..lines.len() - 1].to_vec()
}

/// Returns the fragments that a log names, in its order.
fn fragment_ids(lines: &[Value]) -> Vec<String> {
    let effects = lines.iter().filter_map(|line| line["operation"]["effects"].as_array()).flatten();
    effects.filter_map(|effect| effect["fragment"].as_str().map(str::to_owned)).collect()
}

/// Returns a copy's lines with the ids of its original.
fn with_original_ids(file: &[u8], copy: SessionId, before: &[u8], original: SessionId) -> Vec<Value> {
    let mut lines = body_lines(file);
    let mut names = vec![(copy.to_string(), original.to_string())];
    let (new, old) = (fragment_ids(&lines), fragment_ids(&body_lines(before)));
    assert_eq!(new.len(), old.len());
    names.extend(new.into_iter().zip(old).filter(|(new, old)| new != old));
    let originals = body_lines(before);
    for (line, of) in lines.iter_mut().zip(&originals) {
        let Some(node) = line.get_mut("node") else { continue };
        names.push((node["id"].as_str().unwrap().to_owned(), of["node"]["id"].as_str().unwrap().to_owned()));
        let provenance = node["metadata"].as_object_mut().unwrap().remove("provenance").unwrap();
        assert_eq!(provenance, json!({"sessionId": original.to_string(), "nodeId": of["node"]["id"]}));
    }
    let text = Value::from(lines).to_string();
    let text = names.iter().fold(text, |text, (new, old)| text.replace(new, old));
    serde_json::from_str::<Vec<Value>>(&text).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, max_shrink_iters: 200, ..ProptestConfig::default() })]

    /// S4-04, S3-15: a random session that is exported and imported is equal: a second export is the same file, byte
    /// for byte. Every world, path, sibling and page matches the model of its log, with other keyframes. Beside the
    /// original it is the same under new ids.
    #[test]
    fn export_then_import_gives_equal_session(
        keyframe_every in prop::sample::select(vec![1_u16, 3, 50]),
        steps in prop::collection::vec(any_step(), 1..40),
    ) {
        let mut play = ModelTest::new(keyframe_every);
        for step in &steps {
            play.run_step(step);
            play.model.sync_and_check(&play.store);
        }
        let (session, file) = (play.model.session, export_session(&play.store, play.model.session));
        let mut other = TestStore::with_settings(|settings| settings.keyframe_every = 4);
        prop_assert_eq!(import(&other, &file).unwrap(), session);
        prop_assert!(export_session(&other, session) == file);
        play.model.assert_reads_match(&other);
        other.reopen();
        play.model.assert_reads_match(&other);
        prop_assert_eq!(other.query_count("SELECT count(*) AS n FROM pragma_foreign_key_check"), 0);
        prop_assert_eq!(other.query_count("SELECT count(*) AS n FROM operations WHERE n <= 0"), 0);
        let counts = |store: &TestStore| store.stored_session(session).counts;
        prop_assert_eq!(counts(&other), counts(&play.store));

        let copy = import(&play.store, &file).unwrap();
        prop_assert_ne!(copy, session);
        let mut originals = body_lines(&file);
        for node in originals.iter_mut().filter_map(|line| line.get_mut("node")) {
            // A copy names its original, and no longer the original of that one.
            node["metadata"].as_object_mut().unwrap().remove("provenance");
        }
        prop_assert_eq!(with_original_ids(&export_session(&play.store, copy), copy, &file, session), originals);
        play.model.assert_reads_match(&play.store);
    }
}

/// Begins a session with rules, traces that build on each other, an edit that carried them below a newer node, and a
/// running reply.
pub fn create_session(store: &TestStore) -> SessionIds {
    let begun = store.create_session(
        delta([set_operation("/combat/hp", json!(40))]),
        Some(hp_rules("combat", 100)),
        &["Hello.", "Hi."],
    );
    let sid = begun.session;
    let mut parent = begun.greetings[0];
    let mut line = Vec::new();
    for turn in 0..6 {
        let (said, reply) = (store.user_draft(&format!("turn {turn}")), store.placeholder());
        let (user, node) = (said.id, reply.id);
        let written = store.try_add_message(message_write(sid, parent, Some(said), vec![reply])).unwrap();
        let history = store.path(sid, user).into_iter().map(|id| store.stored_node(sid, id).n).collect();
        let blocks = vec![(json!({"slot": "system", "role": "system"}), format!("You are Rin, turn {turn}."))];
        let head = json!({"model": "mock", "historyCut": {"through": user.to_string()}}).as_object().unwrap().clone();
        let trace = Some(Trace { head: head.into(), blocks, history });
        let ending = clotho_store::ReplyCompletion {
            trace,
            ..reply_completion("replied", delta([add_operation("/combat/hp", -3)]), Some(written.asked))
        };
        store.complete_reply_with(sid, node, &written, ending);
        line.push(user);
        parent = node;
    }
    let mut edit = message_write(sid, begun.greetings[0], Some(store.user_draft("turn 0, better")), Vec::new());
    (edit.move_children_from, edit.kind) = (Some(line[0]), clotho_core::oplog::OperationKind::Edit);
    store.try_add_message(edit).unwrap();
    let running = store.placeholder();
    let id = running.id;
    store.try_add_message(message_write(sid, parent, Some(store.user_draft("and?")), vec![running])).unwrap();
    store
        .write(move |tx| tx.save_segments(&[(id, "half a".into(), "hm".into()), (id, " word".into(), String::new())]))
        .unwrap();
    begun
}

fn traces(store: &TestStore, session: SessionId) -> Vec<Option<Trace>> {
    let held = store.stored_session(session);
    store.read(move |reader| {
        let placed = reader.tree_page(&held, 0, 1_000)?;
        let traces: Result<Vec<_>, StoreError> = placed.iter().map(|one| reader.trace(one)).collect();
        let mut traces = traces?;
        for trace in traces.iter_mut().flatten() {
            // Row numbers differ elsewhere: the nodes they stand for are compared.
            let nodes = reader.nodes_by_row(&held, &trace.history)?;
            trace.head.rest.insert("nodes".into(), nodes.iter().map(|one| one.node.id.to_string()).collect());
            trace.history.clear();
        }
        Ok(traces)
    })
}

/// S0-11, S4-04: traces read back unchanged, in the order of the nodes or not. A running reply is transferred with the
/// text that had arrived.
#[test]
fn traces_and_partial_reply_survive_transfer() {
    let (store, other) = (TestStore::new(), TestStore::new());
    let begun = create_session(&store);
    let file = export_session(&store, begun.session);
    import(&other, &file).unwrap();
    assert!(export_session(&other, begun.session) == file);
    let sorted = |store: &TestStore| {
        let mut told: Vec<String> =
            traces(store, begun.session).iter().flatten().map(|trace| format!("{trace:?}")).collect();
        told.sort();
        told
    };
    assert_eq!(sorted(&store).len(), 6);
    assert_eq!(sorted(&other), sorted(&store));
    let orphans = other.write(|tx| tx.generating_replies()).unwrap();
    assert_eq!((orphans.len(), orphans[0].content.as_str(), orphans[0].reasoning.as_str()), (1, "half a word", "hm"));
}

/// S4-04: nobody sees a file that is being imported, and other requests continue. The next cleanup removes the rest of
/// an aborted import, and then the same file can be imported normally.
#[test]
fn import_is_atomic_and_cleans_up_after_abort() {
    let (store, other) = (TestStore::new(), TestStore::new());
    let begun = store.create_session(Default::default(), None, &["Hello."]);
    let mut parent = begun.greetings[0];
    for turn in 0..600 {
        parent = store.append(begun.session, parent, store.user_draft(&format!("turn {turn}")));
    }
    let file = export_session(&store, begun.session);
    // Its own ids come from another time.
    other.clock.advance(1_000_000_000);
    let own = other.create_session(Default::default(), None, &["Mine."]);
    let before = row_counts(&other);
    let (mut told, mut last) = (0, clotho_engine::transfer::ImportProgress::default());
    let broken = import_until(&other, &file, ArchiveLimits::for_archive(64 << 20), |progress| {
        assert!(progress.done >= last.done && progress.done <= progress.total);
        (told, last) = (told + 1, progress);
        // Far into the second reading.
        told < 1_209
    });
    assert!(matches!(broken, Err(ImportError::Stopped)), "{broken:?}");
    assert_eq!(row_counts(&other), before);

    // The same, but the program dies in the middle.
    let mut bytes = tempfile::tempfile().unwrap();
    std::io::Write::write_all(&mut bytes, &file).unwrap();
    let mut told = 0;
    let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        import_until(&other, &file, ArchiveLimits::for_archive(64 << 20), |_| {
            told += 1;
            assert!(told < 1_209, "dies here");
            true
        })
    }));
    assert!(died.is_err());
    assert!(other.query_count("SELECT count(*) AS n FROM nodes") > before[1] + 100, "it was in the middle");
    let owner = other.owner;
    assert_eq!(other.read(move |reader| reader.sessions(owner, 0, 10)).len(), 1);
    assert!(other.read(move |reader| reader.trash(owner, 0, 10)).is_empty());
    other.append(own.session, own.greetings[0], other.user_draft("I go on."));
    let mut other = other;
    other.reopen();
    assert_eq!(other.read(move |reader| reader.sessions(owner, 0, 10)).len(), 1);
    other.block_on(transfer::discard(other.store())).unwrap();
    let after = row_counts(&other);
    assert_eq!((after[0], after[1]), (before[0], before[1] + 1), "{after:?}");
    assert_eq!(import(&other, &file).unwrap(), begun.session);
    assert!(export_session(&other, begun.session) == file);
}

/// The preset of a session is exported with its file, without secrets. If it already exists at the target, or
/// is in the trash there, it is not changed.
#[test]
fn session_preset_is_exported_without_secrets() {
    let store = TestStore::new();
    let begun = create_session(&store);
    let (sid, owner, now) = (begun.session, store.owner, store.now());
    let body = json!({"temperature": 0.5, "prompts": [], "proxy_password": "hush", "big": 7.50});
    let card = json!({"kind": "openai", "name": "Mine", "body": body}).as_object().unwrap().clone();
    let preset = StoredPreset { id: PresetId::new(store.ids.next_id(now)), card, created: now, updated: now };
    let id = preset.id;
    store.write(move |tx| tx.put_preset(owner, &preset)).unwrap();
    let actor = store.actor();
    store.write(move |tx| tx.set_settings(&actor, sid, &[("preset".to_owned(), id.to_string().into())])).unwrap();
    let file = export_session(&store, sid);
    assert!(!String::from_utf8_lossy(&file).contains("hush"));

    let other = TestStore::new();
    let kept = |store: &TestStore| {
        let owner = store.owner;
        store.read(move |reader| reader.preset(owner, id))
    };
    for _ in 0..2 {
        let there = import(&other, &file).unwrap();
        assert_eq!(other.stored_session(there).session.preset, Some(id));
        let kept = kept(&other).unwrap().card;
        assert_eq!(kept["name"], "Mine");
        assert_eq!(kept["body"].to_string(), json!({"temperature": 0.5, "prompts": [], "big": 7.50}).to_string());
    }
    let (owner, at) = (other.owner, other.now());
    other.write(move |tx| tx.trash_preset(owner, id, at)).unwrap();
    import(&other, &file).unwrap();
    assert!(kept(&other).is_none(), "what was thrown away stays there");
}
