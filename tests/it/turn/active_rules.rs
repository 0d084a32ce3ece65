//! The rules in force at a node depend only on its path (`domain.md` 3.2).

use clotho_core::oplog::OperationKind;
use clotho_core::tree::{Kind, Session};
use clotho_engine::turn::{EditSpec, PluginChoice};
use clotho_store::PathFilter;

use super::*;

const COUNTER: &str = "fn init(ctx) { ctx.set(\"n\", 0); }\nfn on_reply(ctx) { ctx.add(\"n\", 1); }";

fn counter_setup() -> Setup {
    TestApp::setup().with_script("counter", COUNTER)
}

async fn counter_value(story: &TestSession<'_>, node: NodeId) -> Value {
    story.var(node, "/counter/n").await
}

/// A plugin enabled mid-session starts with a change node. Earlier nodes keep their rules, and `init` runs once.
#[tokio::test]
async fn plugin_enabled_mid_session_starts_with_change_node() {
    let app = counter_setup().start().await;
    let story = TestSession::create(&app, &[]).await;
    let before = story.run_turn("Before.").await;
    story.set_plugins(&["counter"]).await.unwrap();
    let change = story.node(story.head().await).await;
    assert_eq!((change.kind, change.parent), (Kind::Change, Some(before.reply.id)));
    assert_eq!(story.active_plugin_ids(change.id).await, ["counter"]);
    assert_eq!(counter_value(&story, change.id).await, json!(0));
    let after = story.run_turn("After.").await;
    assert_eq!(story.node(after.user_node).await.parent, Some(change.id));
    assert_eq!(counter_value(&story, after.reply.id).await, json!(1));
    assert_eq!(counter_value(&story, story.run_turn("More.").await.reply.id).await, json!(2), "init ran once");

    let old = story.regenerate_and_wait(before.reply.id).await;
    assert_eq!(
        (story.active_plugin_ids(old.id).await.len(), counter_value(&story, old.id).await),
        (0, json!(null)),
        "the past keeps its rules"
    );
    assert_eq!(counter_value(&story, before.reply.id).await, json!(null));
}

/// Each branch gets its own rules change before its next turn. A disabled plugin stops running and its values stay.
#[tokio::test]
async fn rules_change_is_recorded_once_per_branch() {
    let app = counter_setup().start().await;
    let story = TestSession::create(&app, &[]).await;
    let greeting = story.head().await;
    let branch = story.run_turn("A branch.").await;
    story.checkout(greeting).await;
    story.set_plugins(&["counter"]).await.unwrap();
    story.run_turn("The trunk.").await;
    let turn = story.run_turn_at(branch.reply.id, "The branch again.").await;
    let path = story.path_with_filter(turn.reply.id, PathFilter::All).await;
    let kinds: Vec<Kind> = path.iter().map(|node| node.kind).collect();
    use Kind::{Change, Greeting, Message, Root};
    assert_eq!(kinds, [Root, Greeting, Message, Message, Change, Message, Message]);
    assert_eq!(counter_value(&story, turn.reply.id).await, json!(1));
    assert_eq!(turn.reply.depth, 6);

    story.set_plugins(&[]).await.unwrap();
    assert!(story.active_plugin_ids(story.head().await).await.is_empty());
    let off = story.run_turn("Off.").await;
    assert_eq!(counter_value(&story, off.reply.id).await, json!(1), "what it kept is still there, and counts no more");
    let log = story.log().await;
    assert_eq!(
        log.iter().filter(|op| op.kind == OperationKind::Rules).count(),
        2,
        "the branch's record came with its message"
    );
    assert_eq!(
        counter_value(&story, story.run_turn_at(turn.reply.id, "On.").await.reply.id).await,
        json!(1),
        "off here too from now on"
    );
}

/// Messages sent from the same node are siblings and share the rules change above them, even when sent at the same
/// time.
#[tokio::test]
async fn rules_change_is_shared_by_sibling_messages() {
    let app = counter_setup().start().await;
    let story = TestSession::create(&app, &[]).await;
    let greeting = story.head().await;
    let place = story.run_turn("Here.").await.reply.id;
    story.checkout(greeting).await;
    story.set_plugins(&["counter"]).await.unwrap();
    let sent =
        futures_util::future::join_all((0..6).map(|n| story.send(message_spec(place, &format!("Message {n}.")))));
    let mut parents = Vec::new();
    for started in sent.await {
        let started = started.unwrap();
        let reply = story.wait_for_reply(started.generations[0]).await;
        assert_eq!(counter_value(&story, reply.id).await, json!(1));
        parents.push(story.node(started.node.unwrap()).await.parent.unwrap());
    }
    let later = story.run_turn_at(place, "Later.").await;
    parents.push(story.node(later.user_node).await.parent.unwrap());
    parents.dedup();
    assert_eq!(parents.len(), 1, "seven siblings below one record");
    let below = story.children(place).await;
    assert_eq!((below.len(), below[0].kind), (1, Kind::Change));
    assert_eq!(story.children(parents[0]).await.len(), 7);
}

/// Returning to a node and choosing the same rules reuses the existing rules change.
#[tokio::test]
async fn rules_change_is_reused_for_same_rules() {
    let app = counter_setup().start().await;
    let story = TestSession::create(&app, &[]).await;
    let place = story.head().await;
    story.set_plugins(&["counter"]).await.unwrap();
    let record = story.head().await;
    story.checkout(place).await;
    story.set_plugins(&["counter"]).await.unwrap();
    assert_eq!((story.head().await, story.children(place).await.len()), (record, 1));
}

/// Setting the plugins and the rules change it causes are one step. Undo restores both the list and the world.
#[tokio::test]
async fn plugin_settings_change_is_one_undo_step() {
    let app = counter_setup().start().await;
    let story = TestSession::create(&app, &[]).await;
    let (place, before) = (story.head().await, story.log().await.len());
    story.set_plugins(&["counter"]).await.unwrap();
    let (record, log) = (story.head().await, story.log().await);
    assert_eq!((log.len(), log.last().unwrap().kind), (before + 1, OperationKind::Rules));
    let (actor, id) = (story.actor(), story.id);
    let is_on = |session: Session| !session.plugins.is_empty();
    for _ in 0..2 {
        let undone = app.store.write(move |tx| tx.undo(&actor, id)).await.unwrap();
        assert_eq!((undone.kind, undone.head, is_on(story.session().await)), (OperationKind::Rules, place, false));
        let redone = app.store.write(move |tx| tx.redo(&actor, id)).await.unwrap();
        assert_eq!((redone.head, is_on(story.session().await)), (record, true));
        assert_eq!(counter_value(&story, record).await, json!(0));
    }
    // With an existing rules change, the setting and the move of HEAD to it are one step too.
    app.store.write(move |tx| tx.undo(&actor, id)).await.unwrap();
    app.store.write(move |tx| tx.redo(&actor, id)).await.unwrap();
    story.set_plugins(&[]).await.unwrap();
    story.checkout(place).await;
    story.set_plugins(&["counter"]).await.unwrap();
    assert_eq!((story.head().await, story.children(place).await.len()), (record, 1));
    let undone = app.store.write(move |tx| tx.undo(&actor, id)).await.unwrap();
    assert_eq!((undone.kind, undone.head, is_on(story.session().await)), (OperationKind::Rules, place, false));
}

/// Settings are part of the rules: new settings add a rules change, and `init` does not run again.
#[tokio::test]
async fn plugin_new_settings_add_record_without_init() {
    let script = "fn init(ctx) { ctx.set(\"n\", 0); }\nfn on_reply(ctx) { ctx.add(\"n\", ctx.config.by); }";
    let setting = "[config.by]\ntype = \"integer\"\ndefault = 1\n";
    let app = TestApp::setup().with_manifest_and_script("counter", setting, script).start().await;
    let story = TestSession::create(&app, &["counter"]).await;
    let one = story.run_turn("One.").await.reply;
    let config = json!({"by": 10}).as_object().unwrap().clone();
    let ten = PluginChoice { config, ..enabled_plugin("counter") };
    app.turns.sessions.set_plugins(story.user, story.id, vec![ten]).await.unwrap();
    let two = story.run_turn("Two.").await.reply;
    assert_eq!((counter_value(&story, one.id).await, counter_value(&story, two.id).await), (json!(1), json!(11)));
    assert_eq!(
        counter_value(&story, story.regenerate_and_wait(one.id).await.id).await,
        json!(1),
        "a reroll of the past has the old settings"
    );
}

/// While a reply that may take HEAD is running, HEAD stays. The new rules start with the next message.
#[tokio::test]
async fn rules_change_during_reply_starts_with_next_message() {
    let app = counter_setup().start().await;
    let story = TestSession::create(&app, &[]).await;
    let (reply, gate) = gated_reply(&["Slow."]);
    app.mock.queue_reply(reply);
    let started = story.start_turn("Hi.").await;
    story.set_plugins(&["counter"]).await.unwrap();
    assert_eq!(story.head().await, started.node.unwrap());
    gate.open();
    let reply = story.wait_for_reply(started.generations[0]).await;
    assert_eq!((story.head().await, counter_value(&story, reply.id).await), (reply.id, json!(null)));
    let next = story.run_turn("On.").await;
    assert_eq!(counter_value(&story, next.reply.id).await, json!(1));
    assert_eq!(story.node(story.node(next.user_node).await.parent.unwrap()).await.kind, Kind::Change);
}

/// Invalid settings are refused with a message, and nothing is written.
#[tokio::test]
async fn plugin_invalid_settings_are_refused() {
    let schema = "[state]\nschema = \"s.json\"\nroot = \"shared\"\n";
    let setup = counter_setup().with_manifest_and_script("needy", "[requires]\ncounter = \"^2\"\n", COUNTER);
    let setup = setup.with_manifest_and_script("grumpy", "conflicts = [\"counter\"]\n", COUNTER);
    let twin = |setup: Setup, id: &str| {
        let manifest = manifest(id, schema);
        setup.with_plugin(
            id,
            &[("plugin.toml", manifest.as_str()), ("main.rhai", COUNTER), ("s.json", "{\"type\": \"object\"}")],
        )
    };
    let app = twin(twin(setup, "twin-a"), "twin-b").start().await;
    let story = TestSession::create(&app, &[]).await;
    let op = story.session().await.op;
    let with_grant = |grant: &str| PluginChoice { grants: Some(vec![grant.to_owned()]), ..enabled_plugin("counter") };
    let strange = PluginChoice { config: json!({"size": 3}).as_object().unwrap().clone(), ..enabled_plugin("counter") };
    for (plugins, words) in [
        (vec![enabled_plugin("nobody")], "no plugin \"nobody\" is installed"),
        (vec![enabled_plugin("counter"), enabled_plugin("counter")], "appears twice"),
        (vec![strange], "size"),
        (vec![with_grant("state.read:*")], "state.read:*"),
        (vec![with_grant("everything")], "everything"),
        (vec![enabled_plugin("needy")], "needs the plugin \"counter\""),
        (vec![enabled_plugin("needy"), enabled_plugin("counter")], "needs the plugin \"counter\""),
        (vec![enabled_plugin("counter"), enabled_plugin("grumpy")], "conflicts with"),
        (vec![enabled_plugin("twin-a"), enabled_plugin("twin-b")], "roots cannot be nested"),
    ] {
        match app.turns.sessions.set_plugins(story.user, story.id, plugins).await {
            Err(TurnError::Invalid { field: "plugins", message }) => assert!(message.contains(words), "{message}"),
            other => panic!("{words}: {other:?}"),
        }
    }
    assert_eq!(story.session().await.op, op);
    let off = PluginChoice { enabled: false, ..enabled_plugin("grumpy") };
    app.turns.sessions.set_plugins(story.user, story.id, vec![enabled_plugin("counter"), off]).await.unwrap();
    assert_eq!(story.active_plugin_ids(story.head().await).await, ["counter"]);
}

/// Without a list of grants a plugin gets the permissions of its manifest. With an empty list it gets none, and a
/// refused call reports it.
#[tokio::test]
async fn plugin_grants_default_to_manifest_empty_grants_nothing() {
    let app = TestApp::setup().with_script("crier", "fn on_reply(ctx) { ctx.note(\"Hear!\"); }").start().await;
    let story = TestSession::create(&app, &["crier"]).await;
    let granted = |session: &Session| session.plugins[0].grants.clone();
    assert_eq!(granted(&story.session().await), ["notes", "events", "input.rewrite", "input.stop"]);
    let free = story.delta(story.run_turn("One.").await.reply.id).await;
    assert_eq!((free.notes[0].text.as_str(), free.problems.len()), ("Hear!", 0));

    for (grants, problem) in [(vec![], Some("note: needs the permission \"notes\"")), (vec!["notes".to_owned()], None)]
    {
        let choice = PluginChoice { grants: Some(grants.clone()), ..enabled_plugin("crier") };
        app.turns.sessions.set_plugins(story.user, story.id, vec![choice]).await.unwrap();
        assert_eq!(granted(&story.session().await), grants);
        let delta = story.delta(story.run_turn("More.").await.reply.id).await;
        assert_eq!(
            delta.problems.first().map(|one| (one.code.as_str(), one.message.as_str())),
            problem.map(|words| ("plugin_permission", words))
        );
        assert_eq!(delta.notes.len(), usize::from(problem.is_none()));
    }
}

/// Permissions that a user refused are remembered until they are granted. Contradictory or unrequested refusals are
/// rejected.
#[tokio::test]
async fn plugin_denied_permissions_are_remembered() {
    let app = TestApp::setup().with_script("crier", "fn on_reply(ctx) { }").start().await;
    let story = TestSession::create(&app, &["crier"]).await;
    let words = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    let choice = |grants, refused| vec![PluginChoice { grants, refused, ..enabled_plugin("crier") }];
    let set = async |choice| app.turns.sessions.set_plugins(story.user, story.id, choice).await;
    let kept = async || story.session().await.plugins[0].refused.clone();
    assert!(kept().await.is_empty());
    set(choice(words(&["input.stop"]), words(&["notes", "input.rewrite"]))).await.unwrap();
    assert_eq!(kept().await, ["notes", "input.rewrite"]);
    let (head, log) = (story.head().await, story.log().await.len());
    set(choice(words(&["input.stop"]), words(&["notes"]))).await.unwrap();
    assert_eq!((story.head().await, story.log().await.len()), (head, log + 1), "no rules begin by it");
    set(choice(words(&[]), None)).await.unwrap();
    assert_eq!(kept().await, ["notes"], "it is as it was");
    for (grants, refused) in [(words(&["notes"]), words(&["notes"])), (words(&[]), words(&["dice"]))] {
        assert!(matches!(set(choice(grants, refused)).await, Err(TurnError::Invalid { field: "plugins", .. })));
    }
    set(choice(None, None)).await.unwrap();
    assert!(kept().await.is_empty(), "all is granted");
}

/// A plugin that exists but cannot run is reported as broken, with the location, and not as missing.
#[tokio::test]
async fn plugin_broken_is_reported_as_broken_not_missing() {
    let app = hurt_setup().start().await;
    let story = TestSession::create(&app, &["hurt"]).await;
    let (user, id) = (story.user, story.id);
    let app = app.stop().await.with_script("hurt", "fn on_reply(ctx) {\n    ctx.add(\"hp\", 1\n}").start().await;
    let story = TestSession { app: &app, user, id };
    let delta = story.delta(story.run_turn("Hi.").await.reply.id).await;
    let place = "main.rhai:3:1: ";
    assert_eq!(delta.problems[0].code, "plugin_broken");
    assert!(delta.problems[0].message.starts_with(&format!("hurt: it cannot run: {place}")), "{delta:?}");
    match app.turns.sessions.set_plugins(story.user, story.id, vec![enabled_plugin("hurt")]).await {
        Err(TurnError::Invalid { message, .. }) => {
            assert!(message.starts_with(&format!("the plugin \"hurt\" is broken: {place}")))
        }
        other => panic!("{other:?}"),
    }
}

/// A plugin removed from the server stays in force on its paths. Its values keep their schema, and the reply reports
/// it.
#[tokio::test]
async fn plugin_removed_from_server_keeps_its_schema() {
    let app = hurt_setup().start().await;
    let story = TestSession::create(&app, &["hurt"]).await;
    app.mock.queue_reply(Reply::ok(["[HP -10]"]));
    let turn = story.run_turn("Hi.").await;
    let (user, id) = (story.user, story.id);
    let app = app.stop().await.without_plugin("hurt").start().await;
    let story = TestSession { app: &app, user, id };
    app.mock.queue_reply(Reply::ok(["[HP -10]"]));
    let reply = story.run_turn("On.").await.reply;
    assert_eq!(reply.status, Status::Complete);
    assert_eq!(story.var(reply.id, "/hurt/hp").await, json!(90), "nobody counts any more");
    assert_eq!(story.active_plugin_ids(reply.id).await, ["hurt"]);
    let problems = story.delta(reply.id).await.problems;
    assert_eq!((problems[0].code.as_str(), problems[0].plugin.as_deref()), ("plugin_missing", Some("hurt")));
    let raise =
        clotho_core::world::StateOperation::from_json(&json!({"op": "add", "path": "/hurt/hp", "value": 500})).unwrap();
    let change = app.turns.sessions.change_world(user, id, turn.reply.id, vec![raise], None).await.unwrap();
    assert_eq!(story.var(change.node.unwrap(), "/hurt/hp").await, json!(100), "the schema holds");
}

/// A card suggests a model and plugins. Suggestions that this server does not have are skipped, and the session still
/// starts.
#[tokio::test]
async fn card_suggestions_unavailable_on_server_are_skipped() {
    let app = counter_setup().start().await;
    let mut card = rin_card();
    card["metadata"] = json!({"clotho": {"model": "plugin:nobody", "plugins": [{"id": "nobody"}, {"id": "counter"}]}});
    let character = app.add_character(card).await;
    let new = SessionSpec { character_ids: vec![character], ..SessionSpec::default() };
    let story = TestSession::create_with_spec(&app, new.clone()).await;
    assert_eq!(
        (story.active_plugin_ids(story.head().await).await, story.session().await.model),
        (vec!["counter".into()], None)
    );
    assert_eq!(story.session().await.title, "Rin");
    for (new, field) in [
        (SessionSpec { model: Some("plugin:nobody".into()), ..new.clone() }, "model"),
        (SessionSpec { plugins: Some(vec![enabled_plugin("nobody")]), ..new.clone() }, "plugins"),
        (SessionSpec { mode: Some("loop".into()), ..new.clone() }, "mode"),
        (SessionSpec { character_ids: Vec::new(), ..new }, "characterIds"),
    ] {
        match app.turns.sessions.begin(app.owner, new).await {
            Err(TurnError::Invalid { field: named, .. }) => assert_eq!(named, field),
            other => panic!("{field}: {other:?}"),
        }
    }
}

/// An edited message is a sibling of the old one. The session's current rules start between it and its reply, once.
#[tokio::test]
async fn edited_message_reply_uses_new_rules() {
    let app = counter_setup().start().await;
    let story = TestSession::create(&app, &[]).await;
    let old = story.run_turn("One.").await;
    story.set_plugins(&["counter"]).await.unwrap();
    let started = story.edit(old.user_node, edit_spec("One, in other words.")).await.unwrap();
    let edited = story.node(started.node.unwrap()).await;
    let reply = story.wait_for_reply(started.generations[0]).await;
    let record = story.node(reply.parent.unwrap()).await;
    assert_eq!((edited.parent, record.parent), (story.node(old.user_node).await.parent, Some(edited.id)));
    assert_eq!((record.kind, record.depth, record.turn), (Kind::Change, edited.depth + 1, edited.turn));
    assert_eq!(
        (story.active_plugin_ids(edited.id).await.len(), story.active_plugin_ids(reply.id).await),
        (0, vec!["counter".into()])
    );
    assert_eq!((story.head().await, counter_value(&story, reply.id).await), (reply.id, json!(1)));
    assert_eq!(counter_value(&story, story.regenerate_and_wait(reply.id).await.id).await, json!(1));
    let next = story.run_turn_at(reply.id, "Two.").await;
    assert_eq!(
        (story.node(next.user_node).await.parent, counter_value(&story, next.reply.id).await),
        (Some(reply.id), json!(2))
    );
    assert_eq!(counter_value(&story, old.reply.id).await, json!(null));
    clotho_core::tree::reference_tree::ReferenceTree::replay(&story.log().await).unwrap();
}

/// A new version of a plugin starts with its own rules change before the next turn. Earlier nodes keep their worlds.
#[tokio::test]
async fn plugin_update_adds_record_before_next_turn() {
    let app = counter_setup().start().await;
    let story = TestSession::create(&app, &["counter"]).await;
    let one = story.run_turn("One.").await.reply;
    let (user, id) = (story.user, story.id);
    let doubled = COUNTER.replace("\"n\", 1", "\"n\", 100");
    let app = app.stop().await.with_script("counter", &doubled).start().await;
    let story = TestSession { app: &app, user, id };
    let two = story.run_turn("Two.").await;
    assert_eq!(story.node(story.node(two.user_node).await.parent.unwrap()).await.kind, Kind::Change);
    assert_eq!(
        (counter_value(&story, one.id).await, counter_value(&story, two.reply.id).await),
        (json!(1), json!(101)),
        "init did not run again"
    );
    let three = story.run_turn("Three.").await;
    assert_eq!(story.node(three.user_node).await.parent, Some(two.reply.id), "once recorded, nothing more to record");
    assert!(story.delta(three.reply.id).await.problems.is_empty());
    let again = story.regenerate_and_wait(one.id).await;
    let problems = story.delta(again.id).await.problems;
    assert_eq!((problems.len(), problems[0].code.as_str()), (1, "plugin_changed"), "other code than the path records");
    assert_eq!(problems[0].plugin.as_deref(), Some("counter"));
}

/// When an update makes two plugins claim the same path, the later one is left out and the others go on.
#[tokio::test]
async fn plugin_path_conflict_leaves_out_later_plugin() {
    let schema = |setup: Setup, id: &str, root: &str| {
        let manifest = manifest(id, &format!("[state]\nschema = \"s.json\"\nroot = \"{root}\"\n"));
        let script = format!("fn on_reply(ctx) {{ ctx.add(\"{id}\", 1); }}");
        setup.with_plugin(
            id,
            &[("plugin.toml", &manifest), ("main.rhai", &script), ("s.json", "{\"type\": \"object\"}")],
        )
    };
    let app = schema(schema(TestApp::setup(), "one", "shared"), "two", "own").start().await;
    let story = TestSession::create(&app, &["one", "two"]).await;
    assert_eq!(story.var(story.run_turn("Hi.").await.reply.id, "/own/two").await, json!(1));
    let (user, id) = (story.user, story.id);
    let app = schema(app.stop().await, "two", "shared").start().await;
    let story = TestSession { app: &app, user, id };
    let turn = story.run_turn("On.").await;
    assert_eq!(story.active_plugin_ids(turn.reply.id).await, ["one"]);
    assert_eq!(story.var(turn.reply.id, "/shared/one").await, json!(2));
    let record = story.node(turn.user_node).await.parent.unwrap();
    let problems = story.delta(record).await.problems;
    assert_eq!((problems[0].code.as_str(), problems[0].plugin.as_deref()), ("plugin_conflict", Some("two")));
    assert_eq!(story.node(story.run_turn("On.").await.user_node).await.parent, Some(turn.reply.id));
}

const SHOUT: &str = r#"
fn init(ctx) { ctx.set("n", 10); }
fn on_input(ctx) {
    ctx.add("n", 1);
    ctx.set("rolled", ctx.roll("1d1000").total);
    if ctx.text == "halt" { return #{ stop: true }; }
    return ctx.text.to_upper();
}
"#;

/// `domain.md` 3.2: an edited message starts a turn, so plugins read it under the session's current rules. Their
/// operations are in the rules change, which has their schemas. The next version of the message gets the same dice.
#[tokio::test]
async fn edited_message_input_hooks_use_new_rules() {
    let app = TestApp::setup().with_script("shout", SHOUT).start().await;
    let story = TestSession::create(&app, &[]).await;
    let old = story.run_turn("One.").await;
    story.set_plugins(&["shout"]).await.unwrap();
    let started = story.edit(old.user_node, edit_spec("One again.")).await.unwrap();
    let reply = story.wait_for_reply(started.generations[0]).await;
    let (edited, record) = (story.node(started.node.unwrap()).await, story.node(reply.parent.unwrap()).await);
    assert_eq!((edited.content.as_str(), record.kind, record.parent), ("ONE AGAIN.", Kind::Change, Some(edited.id)));
    assert_eq!(edited.metadata.to_json()["originalContent"], "One again.");
    assert_eq!(story.var(edited.id, "/shout/n").await, json!(null), "they begin below it");
    assert_eq!((story.var(record.id, "/shout/n").await, story.var(reply.id, "/shout/n").await), (json!(11), json!(11)));
    let (said, recorded) = (story.delta(edited.id).await, story.delta(record.id).await);
    assert_eq!((said.operations.len(), &said.runs[0]["hook"], said.rolls.len()), (0, &json!("on_input"), 1));
    assert_eq!(recorded.operations.len(), 3);

    // The next version is a sibling of the message, without the rules change above it, and rolls the same dice.
    let again = story.edit(edited.id, edit_spec("One once more.")).await.unwrap();
    let again = story.wait_for_reply(again.generations[0]).await;
    assert_eq!(story.var(again.id, "/shout/rolled").await, story.var(reply.id, "/shout/rolled").await);
    assert_eq!(story.var(again.id, "/shout/n").await, json!(11));

    // A disabled plugin does not read the message, even where it was in force.
    let loud = story.run_turn("Two.").await;
    assert_eq!(story.node(loud.user_node).await.content, "TWO.");
    story.set_plugins(&[]).await.unwrap();
    let quiet = story.edit(loud.user_node, edit_spec("Two again.")).await.unwrap();
    let answer = story.wait_for_reply(quiet.generations[0]).await;
    assert_eq!(story.node(quiet.node.unwrap()).await.content, "Two again.");
    assert!(story.active_plugin_ids(answer.id).await.is_empty());
    clotho_core::tree::reference_tree::ReferenceTree::replay(&story.log().await).unwrap();
}

/// If the plugin stops the turn, the rules change still has what it did, and the story goes on below it. An edit that
/// carries the following messages, or asks for no reply, keeps the rules of its node.
#[tokio::test]
async fn edited_message_without_reply_still_records_rules() {
    let app = TestApp::setup().with_script("shout", SHOUT).start().await;
    let story = TestSession::create(&app, &[]).await;
    let old = story.run_turn("One.").await;
    story.run_turn("Two.").await;
    story.set_plugins(&["shout"]).await.unwrap();
    let halted = story.edit(old.user_node, edit_spec("halt")).await.unwrap();
    let (edited, head) = (halted.node.unwrap(), story.node(story.head().await).await);
    assert!(halted.generations.is_empty() && app.live.count(story.user) == (0, 0));
    assert_eq!((head.kind, head.parent, story.var(head.id, "/shout/n").await), (Kind::Change, Some(edited), json!(11)));
    let next = story.run_turn_at(edited, "On.").await;
    assert_eq!(
        (story.node(next.user_node).await.parent, story.var(next.user_node, "/shout/n").await),
        (Some(head.id), json!(12))
    );

    for quiet in [
        EditSpec { move_children: true, ..edit_spec("One, corrected.") },
        EditSpec { generate: Some(None), ..edit_spec("One, corrected.") },
    ] {
        let kept = story.edit(old.user_node, quiet).await.unwrap().node.unwrap();
        assert_eq!(story.node(kept).await.content, "One, corrected.");
        assert!(story.active_plugin_ids(kept).await.is_empty() && story.delta(kept).await.runs.is_empty());
    }
    clotho_core::tree::reference_tree::ReferenceTree::replay(&story.log().await).unwrap();
}
