//! The contract of the store through its public interface: everything that is written is read back, before and after a
//! restart. Properties, bounds and faults have their own files.

use clotho_core::ids::{NodeId, PersonaId, UserId};
use clotho_core::oplog::{Effect, OperationKind};
use clotho_core::tree::edit::TreeError;
use clotho_core::tree::reference_tree::ReferenceTree;
use clotho_core::tree::{Delta, Effects, Kind, PersonaRef, PluginSetting, Role, Status};
use clotho_core::world::{Pointer, StateChange, StateOperation, World, WorldSection};
use clotho_store::{
    Actor, DeltaRevision, ExpectedVersion, MessageWrite, NodeStateUpdate, PathFilter, ReplyCompletion, Trace,
};
use serde_json::{Value, json};

use crate::support::test_store::{
    SessionIds, TestStore, add_operation, delta, expect_refusal, hp_rules, message_write, object, pointer,
    reply_completion, set_operation,
};

fn hp(world: &World) -> Option<i64> {
    world.get(&pointer("/combat/hp")).and_then(Value::as_i64)
}

/// Begins a session with a rule for hit points and two greetings.
fn create_hp_session(store: &TestStore) -> SessionIds {
    store.create_session(
        delta([set_operation("/combat/hp", json!(100))]),
        Some(hp_rules("combat", 100)),
        &["Welcome.", "Halt!"],
    )
}

/// S0-08, S0-33, S1-16, S1-18, S2-08, S3-05, S3-19, S3-21, S3-22, S3-25, S0-35, C3, C4, C6, C11: a session with
/// rerolls, a checkout and a branch reads back unchanged after a restart.
#[test]
fn session_reads_back_same_after_restart() {
    let mut store = TestStore::new();
    let SessionIds { session, root, greetings } = create_hp_session(&store);

    // The root is never shown and always has a keyframe, with the rules and the world of the beginning.
    let anchor = store.stored_node(session, root);
    assert!(anchor.node.is_keyframe && anchor.node.parent.is_none() && anchor.node.kind == Kind::Root);
    assert_eq!(store.head(session), greetings[0]);
    assert_eq!(store.visible_texts(session), ["Welcome."]);
    assert_eq!(hp(&store.world(session, greetings[1])), Some(100), "a greeting stands in the world of its root");
    assert!(!store.stored_node(session, greetings[1]).node.is_keyframe, "a keyframe a node would be none");

    // A turn: the user's node and a placeholder, then the reply in one commit.
    let (said, reply) = (store.user_draft("I open the gate."), store.placeholder());
    let (u1, r1) = (said.id, reply.id);
    let written = store.try_add_message(message_write(session, greetings[0], Some(said), vec![reply])).unwrap();
    assert_eq!((written.head, store.head(session)), (u1, u1), "HEAD waits at the user's node");
    assert_eq!(hp(&store.world(session, r1)), Some(100), "a placeholder changes nothing yet");
    store.complete_reply(session, r1, &written, "A blade flashes.", delta([add_operation("/combat/hp", -12)]));
    assert_eq!(store.head(session), r1);
    assert_eq!(hp(&store.world(session, r1)), Some(88), "also where the placeholder's world was looked at before");
    assert_eq!(hp(&store.world(session, u1)), Some(100), "the world before the reply is its parent's");
    assert_eq!(store.visible_texts(session), ["Welcome.", "I open the gate.", "A blade flashes."]);

    // Two more rerolls in one request add siblings. A reply that completes takes HEAD unless HEAD has moved since the
    // request.
    let (a, b) = (store.placeholder(), store.placeholder());
    let (r2, r3) = (a.id, b.id);
    let rolled = store.try_add_message(message_write(session, u1, None, vec![a, b])).unwrap();
    assert_eq!(rolled.head, r1, "a reroll moves no HEAD by itself");
    store.complete_reply(session, r2, &rolled, "The gate is stuck.", Delta::default());
    assert_eq!(store.head(session), r2);
    store.complete_reply(session, r3, &rolled, "It hits hard.", delta([add_operation("/combat/hp", -500)]));
    assert_eq!(store.head(session), r2, "HEAD has moved since it was asked for: only a badge");
    assert_eq!(hp(&store.world(session, r3)), Some(0), "the rules in force keep it at 0");
    assert_eq!(hp(&store.world(session, r2)), Some(100));

    let held = store.stored_session(session);
    let (siblings, generations, context) = store.read(move |reader| {
        let placed = reader.node(&held, r2)?.unwrap();
        let context = reader.context_of(&held, r2)?.unwrap().node.id;
        Ok((reader.siblings(&placed)?, reader.generations(&held, u1)?, context))
    });
    assert_eq!((siblings.index, siblings.ids), (1, vec![r1, r2, r3]));
    assert_eq!((generations.len(), context), (3, u1));

    // Continues from the first reply, leaves and comes back: HEAD returns to the leaf visited last.
    store.checkout(session, r1, false);
    let u2 = store.append(session, r1, store.user_draft("I step back."));
    assert_eq!(store.path(session, u2), [root, greetings[0], u1, r1, u2]);
    assert_eq!(store.checkout(session, r2, false), r2);
    assert_eq!(store.checkout(session, r1, false), u2, "C11: the leaf last visited below it");
    assert_eq!(store.checkout(session, r1, true), r1, "C11: exactly here");
    assert_eq!(store.path(session, u2), [root, greetings[0], u1, r1, u2], "choosing changes nobody's past");
    store.checkout(session, u2, false);

    let before = (
        store.stored_session(session).session,
        store.visible_texts(session),
        store.world(session, r3),
        store.log(session),
    );
    store.reopen();
    let after = (
        store.stored_session(session).session,
        store.visible_texts(session),
        store.world(session, r3),
        store.log(session),
    );
    assert_eq!(before, after);
    let mirror = ReferenceTree::replay(&after.3).unwrap();
    assert_eq!(mirror.path(u2), store.path(session, u2));
    assert_eq!(mirror.head(), Some(u2));
}

/// S0-01, S1-20, S2-10, S2-12, S1-03: an edit creates a sibling. With `carry`, the later messages move below the new
/// version.
#[test]
fn edit_creates_sibling_and_carry_moves_future() {
    let store = TestStore::new();
    let SessionIds { session, root, greetings } = create_hp_session(&store);
    let u1 = store.append(session, greetings[0], store.user_draft("Hello, gatekeper."));
    let r1 = store.append(session, u1, store.draft(Role::Assistant, Kind::Message, "Who goes there?"));
    let r2 = store.append(session, u1, store.draft(Role::Assistant, Kind::Message, "Hm?"));
    let u2 = store.append(session, r1, store.user_draft("A friend."));
    let old = store.stored_node(session, u1).node;
    let edit = |carry: bool, text: &str| MessageWrite {
        move_children_from: carry.then_some(u1),
        kind: OperationKind::Edit,
        ..message_write(session, greetings[0], Some(store.user_draft(text)), Vec::new())
    };

    let typo = edit(true, "Hello, gatekeeper.");
    let u1b = typo.draft.as_ref().unwrap().id;
    assert_eq!(store.try_add_message(typo).unwrap().head, u2, "HEAD moves along with its leaf");
    assert_eq!(store.path(session, u2), [root, greetings[0], u1b, r1, u2]);
    assert_eq!(store.path(session, r2), [root, greetings[0], u1b, r2]);
    assert_eq!(store.checkout(session, greetings[0], false), u2, "the line last visited goes through the new version");
    let left = store.stored_node(session, u1).node;
    assert_eq!((left.content, left.remembered), (old.content, None), "the old version stays, as a leaf");

    // The old version is now a leaf: from there HEAD follows another edit.
    store.checkout(session, u1, true);
    let again = edit(true, "Hello, keeper of the gate.");
    let u1d = again.draft.as_ref().unwrap().id;
    assert_eq!(store.try_add_message(again).unwrap().head, u1d);
    assert_eq!(store.path(session, u2), [root, greetings[0], u1b, r1, u2], "it had nothing to carry any more");

    let other = edit(false, "I say nothing.");
    let u1c = other.draft.as_ref().unwrap().id;
    assert_eq!(store.try_add_message(other).unwrap().head, u1c);
    assert_eq!(store.path(session, u2), [root, greetings[0], u1b, r1, u2], "without carry nobody's path changes");
    let held = store.stored_session(session);
    let siblings = store.read(move |reader| {
        let placed = reader.node(&held, u1c)?.unwrap();
        reader.siblings(&placed)
    });
    assert_eq!((siblings.index, siblings.ids), (3, vec![u1, u1b, u1d, u1c]));
}

/// S3-02, C15, C20, S4-24, S2-17: the state of a node can be switched, with undo, and the worlds below follow.
#[test]
fn node_state_update_is_undoable_and_refolds_worlds() {
    let mut store = TestStore::new();
    let SessionIds { session, greetings, .. } = create_hp_session(&store);
    let u1 = store.append(session, greetings[0], store.user_draft("I fight."));
    let mut hit = store.draft(Role::Assistant, Kind::Message, "It bites.");
    hit.delta = delta([add_operation("/combat/hp", -30)]);
    let r1 = store.append(session, u1, hit);
    let u2 = store.append(session, r1, store.user_draft("Ow."));
    let update =
        |node, is_enabled, effects, rating| NodeStateUpdate { node, is_enabled, effects, rating, is_unread: None };
    let switch = |updates: Vec<NodeStateUpdate>| {
        let actor = store.actor();
        store.write(move |tx| tx.set_state(&actor, session, &updates).map(|arranged| arranged.op))
    };

    // Disabled: the text is hidden, the effects stay. Muted: the effects are gone too. Of two updates, the last wins.
    let op = switch(vec![update(r1, Some(false), None, Some(Some(4)))]).unwrap();
    assert_eq!(store.visible_texts(session), ["Welcome.", "I fight.", "Ow."]);
    assert_eq!(hp(&store.world(session, u2)), Some(70), "the text is out, its effect stays");
    assert_eq!(store.stored_node(session, r1).node.rating, Some(4));
    assert_eq!(
        switch(vec![update(r1, Some(false), None, Some(Some(4)))]).unwrap(),
        op,
        "S4-42: the same again is no act"
    );
    switch(vec![update(r1, None, Some(Effects::Muted), None)]).unwrap();
    assert_eq!(hp(&store.world(session, u2)), Some(100), "its effect is out too");
    let twice =
        vec![update(r1, Some(true), Some(Effects::On), Some(None)), update(r1, Some(false), None, Some(Some(1)))];
    switch(twice).unwrap();
    let node = store.stored_node(session, r1).node;
    assert_eq!((node.is_enabled, node.effects, node.rating), (false, Effects::On, Some(1)));
    assert_eq!(hp(&store.world(session, u2)), Some(70));

    // Invalid updates change nothing.
    let before = store.log(session).len();
    let root = store.stored_session(session).session.root;
    for bad in [
        update(root, Some(false), None, None),
        update(store.next_node_id(), Some(false), None, None),
        update(r1, None, None, Some(Some(6))),
        update(r1, None, None, Some(Some(0))),
    ] {
        expect_refusal(switch(vec![update(u1, Some(false), None, None), bad]));
    }
    assert!(store.stored_node(session, u1).node.is_enabled, "S4-41: one bad update, none carried out");
    assert_eq!(store.log(session).len(), before);
    store.reopen();
    assert_eq!(hp(&store.world(session, u2)), Some(70));
}

/// A revised delta applies from then on, across keyframes and on every branch below. Undo restores the old one. A
/// revision based on an outdated view is refused.
#[test]
fn delta_revision_refolds_descendants_and_undoes() {
    let mut store = TestStore::with_settings(|settings| settings.keyframe_every = 4);
    let SessionIds { session, greetings, .. } = create_hp_session(&store);
    let mut line = vec![greetings[0]];
    for _ in 0..20 {
        let mut hit = store.draft(Role::Assistant, Kind::Message, "It bites.");
        hit.delta = delta([add_operation("/combat/hp", -1)]);
        line.push(store.append(session, *line.last().unwrap(), hit));
    }
    let other = store.append(session, line[10], store.user_draft("Another way."));
    let worlds = |store: &TestStore| [line[2], line[3], line[20], other].map(|node| hp(&store.world(session, node)));
    assert_eq!(worlds(&store), [Some(98), Some(97), Some(80), Some(90)]);
    let revise = |seen: i64, deltas: Vec<(NodeId, Delta)>| {
        let (actor, revision) = (store.actor(), DeltaRevision { expected_op: seen, deltas });
        store.write(move |tx| tx.revise_deltas(&actor, session, &revision))
    };
    let seen = store.stored_session(session).session.op;
    let wanted = vec![(line[3], delta([add_operation("/combat/hp", -30)])), (line[5], Delta::default())];
    let op = revise(seen, wanted.clone()).unwrap().op;
    assert_eq!(op, seen + 1);
    assert_eq!(worlds(&store), [Some(98), Some(68), Some(52), Some(62)]);
    assert!(matches!(expect_refusal(revise(seen, wanted)), TreeError::Conflict(_)), "something was done since");
    assert_eq!(revise(op, Vec::new()).unwrap().op, op, "nothing is no operation");
    store.assert_healthy();
    let actor = store.actor();
    store.write(move |tx| tx.undo(&actor, session)).unwrap();
    assert_eq!(worlds(&store), [Some(98), Some(97), Some(80), Some(90)]);
    let actor = store.actor();
    store.write(move |tx| tx.redo(&actor, session)).unwrap();
    store.reopen();
    assert_eq!(worlds(&store), [Some(98), Some(68), Some(52), Some(62)]);
    store.assert_healthy();
}

/// S3-23, S1-16, S4-44, C23: an invalid write is refused with its own error and changes nothing.
#[test]
fn invalid_writes_are_refused_and_change_nothing() {
    let store = TestStore::new();
    let SessionIds { session, greetings, .. } = create_hp_session(&store);
    let other = create_hp_session(&store);
    let (said, reply) = (store.user_draft("Hello."), store.placeholder());
    let (u1, running) = (said.id, reply.id);
    let written = store.try_add_message(message_write(session, greetings[0], Some(said), vec![reply])).unwrap();
    let rows = || store.query_count("SELECT (SELECT count(*) FROM nodes) + (SELECT sum(op) FROM sessions) AS n");
    let before = rows();
    let say = |parent| message_write(session, parent, Some(store.user_draft("x")), Vec::new());

    assert_eq!(expect_refusal(store.try_add_message(say(running))), TreeError::Generating);
    assert_eq!(expect_refusal(store.try_add_message(say(other.greetings[0]))), TreeError::NotFound("the message"));
    assert_eq!(expect_refusal(store.try_add_message(say(store.next_node_id()))), TreeError::NotFound("the message"));
    let stranger = Actor { user: UserId::new(store.ids.next_id(store.now())), ..store.actor() };
    let hello = say(u1);
    let foreign = store.write(move |tx| tx.add_message(&stranger, &hello));
    assert_eq!(expect_refusal(foreign), TreeError::NotFound("the session"));
    let stale = Actor { expected_leaf: Some(ExpectedVersion::Leaf(greetings[1])), ..store.actor() };
    let late = say(u1);
    let moved = expect_refusal(store.write(move |tx| tx.add_message(&stale, &late)));
    assert_eq!(moved, TreeError::HeadMoved { leaf: u1, op: written.op });
    let first = greetings[0];
    let late = expect_refusal(store.write(move |tx| tx.checkout(&stale, session, first, false)));
    assert_eq!(late, TreeError::HeadMoved { leaf: u1, op: written.op });
    let actor = store.actor();
    let to_running = expect_refusal(store.write(move |tx| tx.checkout(&actor, session, running, true)));
    assert_eq!(to_running, TreeError::Generating);

    // `carry` works only beside the old version. It generates nothing and moves no running reply.
    let carry = |from, parent| MessageWrite { move_children_from: Some(from), ..say(parent) };
    assert_eq!(
        expect_refusal(store.try_add_message(carry(greetings[0], store.stored_session(session).session.root))),
        TreeError::Generating
    );
    assert!(matches!(expect_refusal(store.try_add_message(carry(greetings[0], u1))), TreeError::Conflict(_)));
    let both = MessageWrite {
        replies: vec![store.placeholder()],
        ..carry(greetings[1], store.stored_session(session).session.root)
    };
    assert!(matches!(expect_refusal(store.try_add_message(both)), TreeError::Invalid { field: "carry", .. }));

    let nul = MessageWrite { draft: Some(store.user_draft("a\0b")), ..say(u1) };
    assert!(matches!(expect_refusal(store.try_add_message(nul)), TreeError::Invalid { field: "content", .. }));
    assert_eq!(rows(), before, "nothing was written");

    // A reply completes only once.
    store.complete_reply(session, running, &written, "Hi\0.", Delta::default());
    assert_eq!(
        store.stored_node(session, running).node.content,
        "Hi\u{fffd}.",
        "a model's text is not lost for a U+0000"
    );
    let (step, at, again) = (written.op, store.now(), reply_completion("Twice.", Delta::default(), None));
    let again = store.write(move |tx| tx.complete_reply(session, running, step, at, &again));
    assert!(matches!(expect_refusal(again), TreeError::Conflict(_)));
    assert_eq!(store.stored_node(session, running).node.content, "Hi\u{fffd}.");
}

/// S3-09, `domain.md` 3.2, 3.9: the player changes the world by hand. Rules apply from a node on, only below it.
#[test]
fn world_change_applies_rules_in_force_at_node() {
    let store = TestStore::new();
    let SessionIds { session, root, greetings } = create_hp_session(&store);
    let u1 = store.append(session, greetings[0], store.user_draft("I rest."));
    let actor = store.actor();
    let mut healed = store.draft(Role::System, Kind::Change, "");
    healed.delta = delta([add_operation("/combat/hp", 50)]);
    let healed_id = healed.id;
    let op = store.write(move |tx| tx.append_change(&actor, session, u1, &healed, OperationKind::Change)).unwrap().op;
    assert_eq!(store.head(session), healed_id);
    assert_eq!(hp(&store.world(session, healed_id)), Some(100), "the rules in force clamp it");
    assert_eq!(store.log(session)[usize::try_from(op).unwrap() - 1].kind, OperationKind::Change);
    assert_eq!(store.visible_texts(session), ["Welcome.", "I rest."], "a change is not shown");

    // Other rules start with the next message, on a rules change; the sibling branch keeps its own.
    let mut bridge = store.draft(Role::System, Kind::Change, "");
    bridge.rules = Some(hp_rules("combat", 200).into());
    bridge.delta = delta([add_operation("/combat/hp", 50)]);
    let said = store.user_draft("Stronger now.");
    let (bridge_id, strong) = (bridge.id, said.id);
    let bridged =
        MessageWrite { rules_change: Some(bridge), ..message_write(session, healed_id, Some(said), Vec::new()) };
    assert_eq!(store.try_add_message(bridged).unwrap().head, strong);
    assert_eq!(store.path(session, strong), [root, greetings[0], u1, healed_id, bridge_id, strong]);
    assert_eq!(hp(&store.world(session, strong)), Some(150));
    let weak = store.append(session, healed_id, store.user_draft("Weak still."));
    assert_eq!(hp(&store.world(session, weak)), Some(100));
    let held = store.stored_session(session);
    let (new, old) = store.read(move |reader| {
        let (strong, weak) = (reader.node(&held, strong)?.unwrap(), reader.node(&held, weak)?.unwrap());
        Ok((reader.rules(&strong)?, reader.rules(&weak)?))
    });
    assert!(new.is_same(&hp_rules("combat", 200)) && old.is_same(&hp_rules("combat", 100)));
    assert_eq!(new.plugins[0].root, Some(Pointer::from_keys(["combat"])));
}

/// S0-12: events belong to their branch, and are there again after a checkout of it.
#[test]
fn events_stay_on_their_branch() {
    let store = TestStore::new();
    let SessionIds { session, greetings, .. } = create_hp_session(&store);
    let event = json!({"text": "met Ann at the ferry", "tags": ["ann"]});
    let mut met = store.draft(Role::Assistant, Kind::Message, "Ann waves.");
    let happened = StateOperation::new(pointer(""), StateChange::Append(event.clone()), "", "server");
    met.delta = delta([StateOperation { section: WorldSection::Events, ..happened }]);
    let met = store.append(session, greetings[0], met);
    let after = store.append(session, met, store.user_draft("I wave back."));
    let beside = store.append(session, greetings[0], store.user_draft("I stay at home."));
    let events = |node| store.world(session, node).events.clone();
    assert_eq!((events(met), events(after)), (vec![event.clone()], vec![event.clone()]));
    assert!(events(beside).is_empty() && events(greetings[0]).is_empty());
    store.checkout(session, beside, true);
    store.checkout(session, after, true);
    assert_eq!(events(store.head(session)), [event]);
}

/// S0-08, S0-40, S2-06: settings are logged and read back. Those that would make the session unreadable are refused.
#[test]
fn session_settings_are_logged_and_invalid_refused() {
    let mut store = TestStore::new();
    let begun = create_hp_session(&store);
    let session = begun.session;
    let change = |settings: Vec<(&str, Value)>| {
        let settings: Vec<(String, Value)> = settings.into_iter().map(|(name, to)| (name.into(), to)).collect();
        let actor = store.actor();
        store.write(move |tx| tx.set_settings(&actor, session, &settings))
    };
    // Valid settings, in one operation.
    let persona = PersonaId::new(store.ids.next_id(store.now()));
    let plugin = json!({"id": "combat", "enabled": true, "config": {"hp": 7}, "grants": ["dice"]});
    let op = change(vec![
        ("title", json!("The tower")),
        ("mode", json!("linear")),
        ("model", json!("llama/small")),
        ("params", json!({"temperature": 0.7})),
        ("plugins", json!([plugin])),
        ("persona", json!([persona.to_string(), "ab12"])),
    ])
    .unwrap();
    assert_eq!(change(vec![("title", json!("The tower"))]).unwrap(), op, "what is so already is no act");
    let changed = &store.log(session)[usize::try_from(op).unwrap() - 1];
    assert_eq!((changed.kind, changed.effects.len()), (OperationKind::Session, 6));
    let title = Effect::Setting { name: "title".into(), from: json!("The keep"), to: json!("The tower") };
    assert_eq!(changed.effects[0], title);

    // Invalid settings are refused, together with valid ones.
    for (name, bad) in [
        ("title", json!(5)),
        ("title", json!("a\u{0}b")),
        ("mode", json!("circular")),
        ("model", json!(["x"])),
        ("params", json!("hot")),
        ("plugins", json!([{"id": "combat"}])),
        ("persona", json!("Rin")),
        ("colour", json!("red")),
    ] {
        let refusal = expect_refusal(change(vec![("title", json!("Lost")), (name, bad)]));
        assert!(matches!(refusal, TreeError::Invalid { .. }), "{name}: {refusal:?}");
    }
    // They read back after a restart.
    store.reopen();
    let kept = store.stored_session(session).session;
    assert_eq!(
        (kept.title.as_str(), kept.mode.as_str(), kept.model.as_deref()),
        ("The tower", "linear", Some("llama/small"))
    );
    assert_eq!(kept.params, object(json!({"temperature": 0.7})));
    assert_eq!(kept.persona, Some(PersonaRef { id: persona, hash: "ab12".into() }));
    let plugins = [PluginSetting {
        id: "combat".into(),
        enabled: true,
        config: object(json!({"hp": 7})),
        grants: vec!["dice".into()],
        refused: vec![],
    }];
    assert_eq!(kept.plugins, plugins);
}

/// C23, S0-55, S4-11: the text of a reply that had arrived when the server died is recovered in order, and the reply
/// ends as failed. A retry works.
#[test]
fn interrupted_replies_are_recovered_as_failed() {
    let mut store = TestStore::new();
    let SessionIds { session, greetings, .. } = create_hp_session(&store);
    let (said, mut reply) = (store.user_draft("Tell me."), store.placeholder());
    reply.metadata.reply.model = Some("mock".to_owned());
    let (u1, r1) = (said.id, reply.id);
    let written = store.try_add_message(message_write(session, greetings[0], Some(said), vec![reply])).unwrap();
    for part in ["Once ", "upon ", "a ti"] {
        store.write(move |tx| tx.save_segments(&[(r1, part.into(), "hm ".into())])).unwrap();
    }
    let unknown = store.next_node_id();
    store.write(move |tx| tx.save_segments(&[(unknown, "lost".into(), String::new())])).unwrap();
    store.reopen();

    let orphans = store.write(|tx| tx.generating_replies()).unwrap();
    let [orphan] = orphans.as_slice() else { panic!("{orphans:?}") };
    assert_eq!((orphan.session, orphan.node), (session, r1));
    assert_eq!((orphan.content.as_str(), orphan.reasoning.as_str()), ("Once upon a ti", "hm hm hm "));
    assert_eq!(orphan.metadata.to_json()["model"], "mock");
    let failed = ReplyCompletion { status: Status::Error, ..reply_completion(&orphan.content, Delta::default(), None) };
    store.complete_reply_with(session, r1, &written, failed);
    assert_eq!(store.query_count("SELECT count(*) AS n FROM segments"), 0);
    assert!(store.write(|tx| tx.generating_replies()).unwrap().is_empty());
    let node = store.stored_node(session, r1).node;
    assert_eq!((node.status, node.content.as_str()), (Status::Error, "Once upon a ti"));
    assert_eq!(store.head(session), u1, "a failure never takes HEAD");
    assert_eq!(store.checkout(session, greetings[0], false), u1, "nor does one land on it unasked");
    assert_eq!(store.checkout(session, r1, true), r1, "but one may look at it");
    store.checkout(session, u1, true);
    store.write(move |tx| tx.save_segments(&[(r1, "late".into(), String::new())])).unwrap();
    assert_eq!(store.query_count("SELECT count(*) AS n FROM segments"), 0, "what has ended takes no more");

    let retry = store.placeholder();
    let r2 = retry.id;
    let rolled = store.try_add_message(message_write(session, u1, None, vec![retry])).unwrap();
    store.complete_reply(session, r2, &rolled, "Once upon a time.", Delta::default());
    assert_eq!(store.head(session), r2);
}

/// C19, S3-03, S3-13, S3-14, S3-32: the trace of every reply reads back completely. Sixty turns with a growing history
/// store only the new part of each turn.
#[test]
fn traces_are_stored_as_differences_and_read_whole() {
    let mut store = TestStore::new();
    let SessionIds { session, greetings, .. } = create_hp_session(&store);
    let mut leaf = greetings[0];
    let mut history = vec![store.stored_node(session, leaf).n];
    let mut kept: Vec<(clotho_core::ids::NodeId, Trace)> = Vec::new();
    let mut bytes = Vec::new();
    for turn in 0..60 {
        let (said, reply) = (store.user_draft(&format!("turn {turn}")), store.placeholder());
        let (user, node) = (said.id, reply.id);
        let written = store.try_add_message(message_write(session, leaf, Some(said), vec![reply])).unwrap();
        history.push(store.stored_node(session, user).n);
        // At turn 40 the window is cut: the oldest messages leave it.
        if turn == 40 {
            history.drain(..30);
        }
        let trace = Trace {
            head: object(json!({"model": "mock", "params": {"temperature": 0.5}, "turn": turn})).into(),
            blocks: vec![
                (json!({"slot": "system"}), "You are the keeper of the gate. ".repeat(40)),
                (json!({"slot": "state", "depth": 0}), format!("hp {turn}")),
            ],
            history: history.clone(),
        };
        let ending = ReplyCompletion {
            trace: Some(trace.clone()),
            ..reply_completion("So it goes.", Delta::default(), Some(written.asked))
        };
        store.complete_reply_with(session, node, &written, ending);
        history.push(store.stored_node(session, node).n);
        kept.push((node, trace));
        bytes.push(store.query_count("SELECT sum(length(body)) AS n FROM traces"));
        leaf = node;
    }
    store.reopen();
    for (node, trace) in kept {
        let placed = store.stored_node(session, node);
        assert_eq!(store.read(move |reader| reader.trace(&placed)).as_ref(), Some(&trace));
    }
    let greeting = store.stored_node(session, greetings[0]);
    assert_eq!(store.read(move |reader| reader.trace(&greeting)), None);
    let (early, late) = (bytes[19] - bytes[0], bytes[39] - bytes[20]);
    assert!(late * 10 < early * 13, "twenty turns cost {early} bytes, then {late}");
    assert_eq!(
        store.query_count("SELECT count(*) AS n FROM blobs WHERE length(bytes) > 1000"),
        1,
        "a block is kept once"
    );
}

/// S0-53, S4-39: pages of a path, from the leaf back to the root, with the nodes that each filter shows.
#[test]
fn path_pages_from_leaf_to_root() {
    let store = TestStore::new();
    let SessionIds { session, root, greetings } = create_hp_session(&store);
    // A branch with one disabled message.
    let mut leaf = greetings[0];
    let mut line = vec![leaf];
    for turn in 0..23 {
        leaf = store.append(session, leaf, store.user_draft(&format!("line {turn}")));
        line.push(leaf);
    }
    let actor = store.actor();
    let off = NodeStateUpdate { node: line[3], is_enabled: Some(false), effects: None, rating: None, is_unread: None };
    store.write(move |tx| tx.set_state(&actor, session, &[off])).unwrap();
    // Pages of five with each filter.
    for (show, expected) in [
        (PathFilter::Enabled, line.iter().copied().filter(|id| *id != line[3]).collect::<Vec<_>>()),
        (PathFilter::WithDisabled, line.clone()),
        (PathFilter::All, std::iter::once(root).chain(line.clone()).collect()),
    ] {
        let (mut before, mut seen) = (None, Vec::new());
        loop {
            let held = store.stored_session(session);
            let page = store.read(move |reader| reader.page(&held, leaf, before, 5, show));
            let ids: Vec<_> = page.nodes.iter().map(|placed| placed.node.id).collect();
            assert!(ids.len() <= 5);
            seen.splice(0..0, ids);
            before = page.next;
            if before.is_none() {
                break;
            }
        }
        assert_eq!(seen, expected, "{show:?}");
    }
    // Which nodes are on the path.
    let held = store.stored_session(session);
    let (first, last, beside) = (line[0], line[20], greetings[1]);
    let on_path = store.read(move |reader| {
        let up = reader.is_on_path(&held, first, last)?;
        Ok((up, reader.is_on_path(&held, last, first)?, reader.is_on_path(&held, beside, last)?))
    });
    assert_eq!(on_path, (true, false, false));
    let held = store.stored_session(session);
    // Several nodes by id, in the requested order.
    let nobody = store.next_node_id();
    let asked = [line[7], nobody, line[2], line[7]];
    let found = store.read(move |reader| reader.nodes(&held, &asked));
    assert_eq!(found.iter().map(|placed| placed.node.id).collect::<Vec<_>>(), [line[7], line[2], line[7]]);
}

/// S2-17, S1-31: every commit publishes its operation once, in the order of the log, which can be read from any
/// cursor.
#[test]
fn commit_events_follow_operation_log_order() {
    let mut store = TestStore::new();
    let (a, b) = (create_hp_session(&store), create_hp_session(&store));
    for turn in 0..5 {
        store.append(a.session, store.head(a.session), store.user_draft(&format!("a {turn}")));
        store.append(b.session, store.head(b.session), store.user_draft(&format!("b {turn}")));
    }
    let heard = store.take_published_operations();
    let log = store.read(|reader| reader.log_after(0, 1_000));
    let told: Vec<_> = heard.iter().map(|event| (event.cursor, event.session, (*event.operation).clone())).collect();
    assert_eq!(told, log);
    assert!(told.windows(2).all(|pair| pair[0].0 < pair[1].0));
    let newest = store.read(|reader| reader.newest_cursor());
    assert_eq!(newest, told.last().unwrap().0);
    let middle = told[6].0;
    assert_eq!(store.read(move |reader| reader.log_after(middle, 3)), told[7..10].to_vec());
    for session in [a.session, b.session] {
        let numbers: Vec<i64> = store.log(session).iter().map(|operation| operation.op).collect();
        assert_eq!(numbers, (1..=6).collect::<Vec<_>>(), "dense");
    }
}
