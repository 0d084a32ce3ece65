//! The rules in force at a node depend only on its path (`domain.md` 3.2).

use clotho_core::oplog::OperationKind;
use clotho_core::tree::{Kind, Session};
use clotho_engine::turn::{EditSpec, PluginChoice};
use clotho_store::PathFilter;

use super::*;

const COUNTER: &str = "fn init(ctx) { ctx.set(\"n\", 0); }\nfn on_reply(ctx) { ctx.add(\"n\", 1); }";

fn with_counter() -> Setup {
    TestApp::with().script("counter", COUNTER)
}

async fn n(story: &TestSession<'_>, node: NodeId) -> Value {
    story.var(node, "/counter/n").await
}

/// A plugin enabled mid-session starts with a change node. Earlier nodes keep their rules, and `init` runs once.
#[tokio::test]
async fn plugin_enabled_mid_session_starts_with_change_node() {
    let app = with_counter().start().await;
    let story = TestSession::begin(&app, &[]).await;
    let before = story.say("Before.").await;
    story.plugins(&["counter"]).await.unwrap();
    let change = story.node(story.head().await).await;
    assert_eq!((change.kind, change.parent), (Kind::Change, Some(before.reply.id)));
    assert_eq!(story.in_force(change.id).await, ["counter"]);
    assert_eq!(n(&story, change.id).await, json!(0));
    let after = story.say("After.").await;
    assert_eq!(story.node(after.user).await.parent, Some(change.id));
    assert_eq!(n(&story, after.reply.id).await, json!(1));
    assert_eq!(n(&story, story.say("More.").await.reply.id).await, json!(2), "init ran once");

    let old = story.another(before.reply.id).await;
    assert_eq!(
        (story.in_force(old.id).await.len(), n(&story, old.id).await),
        (0, json!(null)),
        "the past keeps its rules"
    );
    assert_eq!(n(&story, before.reply.id).await, json!(null));
}

/// Each branch gets its own rules change before its next turn. A disabled plugin stops running and its values stay.
#[tokio::test]
async fn rules_change_is_recorded_once_per_branch() {
    let app = with_counter().start().await;
    let story = TestSession::begin(&app, &[]).await;
    let greeting = story.head().await;
    let branch = story.say("A branch.").await;
    story.checkout(greeting).await;
    story.plugins(&["counter"]).await.unwrap();
    story.say("The trunk.").await;
    let turn = story.say_to(branch.reply.id, "The branch again.").await;
    let path = story.whole_path(turn.reply.id, PathFilter::All).await;
    let kinds: Vec<Kind> = path.iter().map(|node| node.kind).collect();
    use Kind::{Change, Greeting, Message, Root};
    assert_eq!(kinds, [Root, Greeting, Message, Message, Change, Message, Message]);
    assert_eq!(n(&story, turn.reply.id).await, json!(1));
    assert_eq!(turn.reply.depth, 6);

    story.plugins(&[]).await.unwrap();
    assert!(story.in_force(story.head().await).await.is_empty());
    let off = story.say("Off.").await;
    assert_eq!(n(&story, off.reply.id).await, json!(1), "what it kept is still there, and counts no more");
    let log = story.log().await;
    assert_eq!(
        log.iter().filter(|op| op.kind == OperationKind::Rules).count(),
        2,
        "the branch's record came with its message"
    );
    assert_eq!(
        n(&story, story.say_to(turn.reply.id, "On.").await.reply.id).await,
        json!(1),
        "off here too from now on"
    );
}

/// Messages sent from the same node are siblings and share the rules change above them, even when sent at the same
/// time.
#[tokio::test]
async fn rules_change_is_shared_by_sibling_messages() {
    let app = with_counter().start().await;
    let story = TestSession::begin(&app, &[]).await;
    let greeting = story.head().await;
    let place = story.say("Here.").await.reply.id;
    story.checkout(greeting).await;
    story.plugins(&["counter"]).await.unwrap();
    let sent = futures_util::future::join_all((0..6).map(|n| story.send(message(place, &format!("Message {n}.")))));
    let mut parents = Vec::new();
    for started in sent.await {
        let started = started.unwrap();
        let reply = story.done(started.generations[0]).await;
        assert_eq!(n(&story, reply.id).await, json!(1));
        parents.push(story.node(started.node.unwrap()).await.parent.unwrap());
    }
    let later = story.say_to(place, "Later.").await;
    parents.push(story.node(later.user).await.parent.unwrap());
    parents.dedup();
    assert_eq!(parents.len(), 1, "seven siblings below one record");
    let below = story.children(place).await;
    assert_eq!((below.len(), below[0].kind), (1, Kind::Change));
    assert_eq!(story.children(parents[0]).await.len(), 7);
}

/// Returning to a node and choosing the same rules reuses the existing rules change.
#[tokio::test]
async fn rules_change_is_reused_for_same_rules() {
    let app = with_counter().start().await;
    let story = TestSession::begin(&app, &[]).await;
    let place = story.head().await;
    story.plugins(&["counter"]).await.unwrap();
    let record = story.head().await;
    story.checkout(place).await;
    story.plugins(&["counter"]).await.unwrap();
    assert_eq!((story.head().await, story.children(place).await.len()), (record, 1));
}

/// Setting the plugins and the rules change it causes are one step. Undo restores both the list and the world.
#[tokio::test]
async fn plugin_settings_change_is_one_undo_step() {
    let app = with_counter().start().await;
    let story = TestSession::begin(&app, &[]).await;
    let (place, before) = (story.head().await, story.log().await.len());
    story.plugins(&["counter"]).await.unwrap();
    let (record, log) = (story.head().await, story.log().await);
    assert_eq!((log.len(), log.last().unwrap().kind), (before + 1, OperationKind::Rules));
    let (actor, id) = (story.actor(), story.id);
    let is_on = |session: Session| !session.plugins.is_empty();
    for _ in 0..2 {
        let undone = app.store.write(move |tx| tx.undo(&actor, id)).await.unwrap();
        assert_eq!((undone.kind, undone.head, is_on(story.session().await)), (OperationKind::Rules, place, false));
        let redone = app.store.write(move |tx| tx.redo(&actor, id)).await.unwrap();
        assert_eq!((redone.head, is_on(story.session().await)), (record, true));
        assert_eq!(n(&story, record).await, json!(0));
    }
    // With an existing rules change, the setting and the move of HEAD to it are one step too.
    app.store.write(move |tx| tx.undo(&actor, id)).await.unwrap();
    app.store.write(move |tx| tx.redo(&actor, id)).await.unwrap();
    story.plugins(&[]).await.unwrap();
    story.checkout(place).await;
    story.plugins(&["counter"]).await.unwrap();
    assert_eq!((story.head().await, story.children(place).await.len()), (record, 1));
    let undone = app.store.write(move |tx| tx.undo(&actor, id)).await.unwrap();
    assert_eq!((undone.kind, undone.head, is_on(story.session().await)), (OperationKind::Rules, place, false));
}

/// Settings are part of the rules: new settings add a rules change, and `init` does not run again.
#[tokio::test]
async fn plugin_new_settings_add_record_without_init() {
    let script = "fn init(ctx) { ctx.set(\"n\", 0); }\nfn on_reply(ctx) { ctx.add(\"n\", ctx.config.by); }";
    let setting = "[config.by]\ntype = \"integer\"\ndefault = 1\n";
    let app = TestApp::with().script_with("counter", setting, script).start().await;
    let story = TestSession::begin(&app, &["counter"]).await;
    let one = story.say("One.").await.reply;
    let config = json!({"by": 10}).as_object().unwrap().clone();
    let ten = PluginChoice { config, ..on("counter") };
    app.turns.sessions.set_plugins(story.user, story.id, vec![ten]).await.unwrap();
    let two = story.say("Two.").await.reply;
    assert_eq!((n(&story, one.id).await, n(&story, two.id).await), (json!(1), json!(11)));
    assert_eq!(n(&story, story.another(one.id).await.id).await, json!(1), "a reroll of the past has the old settings");
}

/// While a reply that may take HEAD is running, HEAD stays. The new rules start with the next message.
#[tokio::test]
async fn rules_change_during_reply_starts_with_next_message() {
    let app = with_counter().start().await;
    let story = TestSession::begin(&app, &[]).await;
    let (reply, gate) = gated(&["Slow."]);
    app.mock.script(reply);
    let started = story.start("Hi.").await;
    story.plugins(&["counter"]).await.unwrap();
    assert_eq!(story.head().await, started.node.unwrap());
    gate.open();
    let reply = story.done(started.generations[0]).await;
    assert_eq!((story.head().await, n(&story, reply.id).await), (reply.id, json!(null)));
    let next = story.say("On.").await;
    assert_eq!(n(&story, next.reply.id).await, json!(1));
    assert_eq!(story.node(story.node(next.user).await.parent.unwrap()).await.kind, Kind::Change);
}

/// Invalid settings are refused with a message, and nothing is written.
#[tokio::test]
async fn plugin_invalid_settings_are_refused() {
    let schema = "[state]\nschema = \"s.json\"\nroot = \"shared\"\n";
    let setup = with_counter().script_with("needy", "[requires]\ncounter = \"^2\"\n", COUNTER);
    let setup = setup.script_with("grumpy", "conflicts = [\"counter\"]\n", COUNTER);
    let twin = |setup: Setup, id: &str| {
        let manifest = manifest(id, schema);
        setup.plugin(
            id,
            &[("plugin.toml", manifest.as_str()), ("main.rhai", COUNTER), ("s.json", "{\"type\": \"object\"}")],
        )
    };
    let app = twin(twin(setup, "twin-a"), "twin-b").start().await;
    let story = TestSession::begin(&app, &[]).await;
    let op = story.session().await.op;
    let with_grant = |grant: &str| PluginChoice { grants: Some(vec![grant.to_owned()]), ..on("counter") };
    let strange = PluginChoice { config: json!({"size": 3}).as_object().unwrap().clone(), ..on("counter") };
    for (plugins, words) in [
        (vec![on("nobody")], "no plugin \"nobody\" is installed"),
        (vec![on("counter"), on("counter")], "appears twice"),
        (vec![strange], "size"),
        (vec![with_grant("state.read:*")], "state.read:*"),
        (vec![with_grant("everything")], "everything"),
        (vec![on("needy")], "needs the plugin \"counter\""),
        (vec![on("needy"), on("counter")], "needs the plugin \"counter\""),
        (vec![on("counter"), on("grumpy")], "conflicts with"),
        (vec![on("twin-a"), on("twin-b")], "roots cannot be nested"),
    ] {
        match app.turns.sessions.set_plugins(story.user, story.id, plugins).await {
            Err(TurnError::Invalid { field: "plugins", message }) => assert!(message.contains(words), "{message}"),
            other => panic!("{words}: {other:?}"),
        }
    }
    assert_eq!(story.session().await.op, op);
    let off = PluginChoice { enabled: false, ..on("grumpy") };
    app.turns.sessions.set_plugins(story.user, story.id, vec![on("counter"), off]).await.unwrap();
    assert_eq!(story.in_force(story.head().await).await, ["counter"]);
}

/// Without a list of grants a plugin gets the permissions of its manifest. With an empty list it gets none, and a
/// refused call reports it.
#[tokio::test]
async fn plugin_grants_default_to_manifest_empty_grants_nothing() {
    let app = TestApp::with().script("crier", "fn on_reply(ctx) { ctx.note(\"Hear!\"); }").start().await;
    let story = TestSession::begin(&app, &["crier"]).await;
    let granted = |session: &Session| session.plugins[0].grants.clone();
    assert_eq!(granted(&story.session().await), ["notes", "input.rewrite", "input.stop"]);
    let free = story.delta(story.say("One.").await.reply.id).await;
    assert_eq!((free.notes[0].text.as_str(), free.problems.len()), ("Hear!", 0));

    for (grants, problem) in [(vec![], Some("note: needs the permission \"notes\"")), (vec!["notes".to_owned()], None)]
    {
        let choice = PluginChoice { grants: Some(grants.clone()), ..on("crier") };
        app.turns.sessions.set_plugins(story.user, story.id, vec![choice]).await.unwrap();
        assert_eq!(granted(&story.session().await), grants);
        let delta = story.delta(story.say("More.").await.reply.id).await;
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
    let app = TestApp::with().script("crier", "fn on_reply(ctx) { }").start().await;
    let story = TestSession::begin(&app, &["crier"]).await;
    let words = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    let choice = |grants, refused| vec![PluginChoice { grants, refused, ..on("crier") }];
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
    let app = with_hurt().start().await;
    let story = TestSession::begin(&app, &["hurt"]).await;
    let (user, id) = (story.user, story.id);
    let app = app.stop().await.script("hurt", "fn on_reply(ctx) {\n    ctx.add(\"hp\", 1\n}").start().await;
    let story = TestSession { app: &app, user, id };
    let delta = story.delta(story.say("Hi.").await.reply.id).await;
    let place = "main.rhai:3:1: ";
    assert_eq!(delta.problems[0].code, "plugin_broken");
    assert!(delta.problems[0].message.starts_with(&format!("hurt: it cannot run: {place}")), "{delta:?}");
    match app.turns.sessions.set_plugins(story.user, story.id, vec![on("hurt")]).await {
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
    let app = with_hurt().start().await;
    let story = TestSession::begin(&app, &["hurt"]).await;
    app.mock.script(Reply::ok(["[HP -10]"]));
    let turn = story.say("Hi.").await;
    let (user, id) = (story.user, story.id);
    let app = app.stop().await.without_plugin("hurt").start().await;
    let story = TestSession { app: &app, user, id };
    app.mock.script(Reply::ok(["[HP -10]"]));
    let reply = story.say("On.").await.reply;
    assert_eq!(reply.status, Status::Complete);
    assert_eq!(story.var(reply.id, "/hurt/hp").await, json!(90), "nobody counts any more");
    assert_eq!(story.in_force(reply.id).await, ["hurt"]);
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
    let app = with_counter().start().await;
    let mut card = rin();
    card["metadata"] = json!({"clotho": {"model": "plugin:nobody", "plugins": [{"id": "nobody"}, {"id": "counter"}]}});
    let character = app.character(card).await;
    let new = SessionSpec { character_ids: vec![character], ..SessionSpec::default() };
    let story = TestSession::with(&app, new.clone()).await;
    assert_eq!((story.in_force(story.head().await).await, story.session().await.model), (vec!["counter".into()], None));
    assert_eq!(story.session().await.title, "Rin");
    for (new, field) in [
        (SessionSpec { model: Some("plugin:nobody".into()), ..new.clone() }, "model"),
        (SessionSpec { plugins: Some(vec![on("nobody")]), ..new.clone() }, "plugins"),
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
    let app = with_counter().start().await;
    let story = TestSession::begin(&app, &[]).await;
    let old = story.say("One.").await;
    story.plugins(&["counter"]).await.unwrap();
    let started = story.edit(old.user, edit("One, in other words.")).await.unwrap();
    let edited = story.node(started.node.unwrap()).await;
    let reply = story.done(started.generations[0]).await;
    let record = story.node(reply.parent.unwrap()).await;
    assert_eq!((edited.parent, record.parent), (story.node(old.user).await.parent, Some(edited.id)));
    assert_eq!((record.kind, record.depth, record.turn), (Kind::Change, edited.depth + 1, edited.turn));
    assert_eq!((story.in_force(edited.id).await.len(), story.in_force(reply.id).await), (0, vec!["counter".into()]));
    assert_eq!((story.head().await, n(&story, reply.id).await), (reply.id, json!(1)));
    assert_eq!(n(&story, story.another(reply.id).await.id).await, json!(1));
    let next = story.say_to(reply.id, "Two.").await;
    assert_eq!((story.node(next.user).await.parent, n(&story, next.reply.id).await), (Some(reply.id), json!(2)));
    assert_eq!(n(&story, old.reply.id).await, json!(null));
    clotho_core::tree::reference_tree::ReferenceTree::replay(&story.log().await).unwrap();
}

/// A new version of a plugin starts with its own rules change before the next turn. Earlier nodes keep their worlds.
#[tokio::test]
async fn plugin_update_adds_record_before_next_turn() {
    let app = with_counter().start().await;
    let story = TestSession::begin(&app, &["counter"]).await;
    let one = story.say("One.").await.reply;
    let (user, id) = (story.user, story.id);
    let doubled = COUNTER.replace("\"n\", 1", "\"n\", 100");
    let app = app.stop().await.script("counter", &doubled).start().await;
    let story = TestSession { app: &app, user, id };
    let two = story.say("Two.").await;
    assert_eq!(story.node(story.node(two.user).await.parent.unwrap()).await.kind, Kind::Change);
    assert_eq!(
        (n(&story, one.id).await, n(&story, two.reply.id).await),
        (json!(1), json!(101)),
        "init did not run again"
    );
    let three = story.say("Three.").await;
    assert_eq!(story.node(three.user).await.parent, Some(two.reply.id), "once recorded, nothing more to record");
    assert!(story.delta(three.reply.id).await.problems.is_empty());
    let again = story.another(one.id).await;
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
        setup.plugin(id, &[("plugin.toml", &manifest), ("main.rhai", &script), ("s.json", "{\"type\": \"object\"}")])
    };
    let app = schema(schema(TestApp::with(), "one", "shared"), "two", "own").start().await;
    let story = TestSession::begin(&app, &["one", "two"]).await;
    assert_eq!(story.var(story.say("Hi.").await.reply.id, "/own/two").await, json!(1));
    let (user, id) = (story.user, story.id);
    let app = schema(app.stop().await, "two", "shared").start().await;
    let story = TestSession { app: &app, user, id };
    let turn = story.say("On.").await;
    assert_eq!(story.in_force(turn.reply.id).await, ["one"]);
    assert_eq!(story.var(turn.reply.id, "/shared/one").await, json!(2));
    let record = story.node(turn.user).await.parent.unwrap();
    let problems = story.delta(record).await.problems;
    assert_eq!((problems[0].code.as_str(), problems[0].plugin.as_deref()), ("plugin_conflict", Some("two")));
    assert_eq!(story.node(story.say("On.").await.user).await.parent, Some(turn.reply.id));
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
    let app = TestApp::with().script("shout", SHOUT).start().await;
    let story = TestSession::begin(&app, &[]).await;
    let old = story.say("One.").await;
    story.plugins(&["shout"]).await.unwrap();
    let started = story.edit(old.user, edit("One again.")).await.unwrap();
    let reply = story.done(started.generations[0]).await;
    let (edited, record) = (story.node(started.node.unwrap()).await, story.node(reply.parent.unwrap()).await);
    assert_eq!((edited.content.as_str(), record.kind, record.parent), ("ONE AGAIN.", Kind::Change, Some(edited.id)));
    assert_eq!(edited.metadata.to_json()["originalContent"], "One again.");
    assert_eq!(story.var(edited.id, "/shout/n").await, json!(null), "they begin below it");
    assert_eq!((story.var(record.id, "/shout/n").await, story.var(reply.id, "/shout/n").await), (json!(11), json!(11)));
    let (said, recorded) = (story.delta(edited.id).await, story.delta(record.id).await);
    assert_eq!((said.operations.len(), &said.runs[0]["hook"], said.rolls.len()), (0, &json!("on_input"), 1));
    assert_eq!(recorded.operations.len(), 3);

    // The next version is a sibling of the message, without the rules change above it, and rolls the same dice.
    let again = story.edit(edited.id, edit("One once more.")).await.unwrap();
    let again = story.done(again.generations[0]).await;
    assert_eq!(story.var(again.id, "/shout/rolled").await, story.var(reply.id, "/shout/rolled").await);
    assert_eq!(story.var(again.id, "/shout/n").await, json!(11));

    // A disabled plugin does not read the message, even where it was in force.
    let loud = story.say("Two.").await;
    assert_eq!(story.node(loud.user).await.content, "TWO.");
    story.plugins(&[]).await.unwrap();
    let quiet = story.edit(loud.user, edit("Two again.")).await.unwrap();
    let answer = story.done(quiet.generations[0]).await;
    assert_eq!(story.node(quiet.node.unwrap()).await.content, "Two again.");
    assert!(story.in_force(answer.id).await.is_empty());
    clotho_core::tree::reference_tree::ReferenceTree::replay(&story.log().await).unwrap();
}

/// If the plugin stops the turn, the rules change still has what it did, and the story goes on below it. An edit that
/// carries the following messages, or asks for no reply, keeps the rules of its node.
#[tokio::test]
async fn edited_message_without_reply_still_records_rules() {
    let app = TestApp::with().script("shout", SHOUT).start().await;
    let story = TestSession::begin(&app, &[]).await;
    let old = story.say("One.").await;
    story.say("Two.").await;
    story.plugins(&["shout"]).await.unwrap();
    let halted = story.edit(old.user, edit("halt")).await.unwrap();
    let (edited, head) = (halted.node.unwrap(), story.node(story.head().await).await);
    assert!(halted.generations.is_empty() && app.live.count(story.user) == (0, 0));
    assert_eq!((head.kind, head.parent, story.var(head.id, "/shout/n").await), (Kind::Change, Some(edited), json!(11)));
    let next = story.say_to(edited, "On.").await;
    assert_eq!(
        (story.node(next.user).await.parent, story.var(next.user, "/shout/n").await),
        (Some(head.id), json!(12))
    );

    for quiet in [
        EditSpec { move_children: true, ..edit("One, corrected.") },
        EditSpec { generate: Some(None), ..edit("One, corrected.") },
    ] {
        let kept = story.edit(old.user, quiet).await.unwrap().node.unwrap();
        assert_eq!(story.node(kept).await.content, "One, corrected.");
        assert!(story.in_force(kept).await.is_empty() && story.delta(kept).await.runs.is_empty());
    }
    clotho_core::tree::reference_tree::ReferenceTree::replay(&story.log().await).unwrap();
}
