//! The tests of plugin authors: those of the bundled plugins, and what the runner reports when one fails.

use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex};

use clotho_plugin::{LoadedPlugin, PluginSource, testing};
use proptest::prelude::*;

/// The tests of the bundled plugins pass.
#[test]
fn bundled_plugins_pass_own_tests() {
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("plugins");
    for (name, source) in PluginSource::read_all(&plugins).unwrap() {
        let plugin = Arc::new(
            LoadedPlugin::load(source.unwrap(), &super::without_deadline()).unwrap_or_else(|error| panic!("{error}")),
        );
        let report = testing::run_tests(&plugin);
        assert!(report.passed(), "{report}");
        assert!(name != "combat" || report.cases.len() >= 8, "{}", report.cases.len());
    }
}

proptest! {
    /// Whatever a model writes, the combat plugin neither fails nor leaves its schema.
    #[test]
    fn combat_plugin_handles_any_prose(words in proptest::collection::vec(
        prop_oneof![
            "You|you|Alice|The goblin|Rin|你|爱丽丝|哥布林|and|but|[.!?\\n,，。]",
            "take|takes|lost|hits|bites|heals|recovers|picks up|受到了|失去|恢复了|捡起|对你造成",
            "[0-9]{1,4}|五|十二|a|the|for|to|you|damage|hp|hit points|点|伤害|生命|rusty key|钥匙",
            "\\[HP -?[0-9]{0,4}\\]|\\[GET [a-z ]{0,9}\\]|【体力 \\+[0-9]】|HP: [0-9]/40|.{0,8}",
        ],
        0..80,
    ), joint in " |") {
        let text = words.join(&joint);
        let outcome = with_combat_plugin(|combat, bench| {
            let config = combat.manifest().check_settings(&serde_json::Map::new()).unwrap();
            let call = super::hook_call(clotho_plugin::Hook::OnReply, serde_json::json!({}), &text);
            let root = combat.manifest().state.root.clone();
            let rules = clotho_core::world::SchemaSet::new(vec![(root, Arc::clone(combat.schema().unwrap()))]).unwrap();
            let world = super::world(serde_json::json!({"combat": {"hp": 20, "down": false, "pack": {}}}));
            let call = clotho_plugin::HookCall { config: Arc::new(config), world, rules: Arc::new(rules), ..call };
            bench.call(combat, call)
        });
        prop_assert_eq!(&outcome.error, &None, "{}", text);
        let hp = super::world_of(&outcome).vars["combat"]["hp"].as_i64().unwrap();
        prop_assert!((0..=40).contains(&hp), "{hp}");
    }
}

fn with_combat_plugin<R>(run: impl FnOnce(&Arc<LoadedPlugin>, &super::PluginRunner) -> R) -> R {
    static COMBAT: LazyLock<(Arc<LoadedPlugin>, Mutex<super::PluginRunner>)> = LazyLock::new(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("plugins/combat");
        let loaded = LoadedPlugin::load(PluginSource::read(&folder).unwrap(), &super::without_deadline()).unwrap();
        (Arc::new(loaded), Mutex::new(super::PluginRunner::new()))
    });
    run(&COMBAT.0, &COMBAT.1.lock().unwrap())
}

/// Returns what the runner reports about one test of a small plugin.
fn test_failures(script: &str, test: &str) -> String {
    let files = [("plugin.toml", super::MANIFEST), ("main.rhai", script), ("tests/a.toml", test)];
    let files = files.map(|(path, text)| (path, text.as_bytes().to_vec()));
    let loaded = LoadedPlugin::load(
        PluginSource::new("mine", clotho_plugin::PluginOrigin::Folder, files),
        &super::without_deadline(),
    )
    .unwrap();
    let report = testing::run_tests(&Arc::new(loaded));
    assert_eq!(report.cases.len(), 1);
    super::join_failures(&report.cases[0].failures)
}

#[test]
fn passing_test_case_reports_no_failure() {
    let script = "fn init(ctx) { ctx.set(\"hp\", 40); } fn on_reply(ctx) { ctx.add(\"hp\", -ctx.roll(\"1d6\").total); ctx.note(\"ouch\"); }";
    let manifest_asks_for_nothing =
        test_failures(script, "hook = \"on_reply\"\ngrants = [\"notes\"]\n[expect]\nnotes = [\"ouch\"]\n");
    assert_eq!(manifest_asks_for_nothing, "");
    assert_eq!(test_failures(script, "hook = \"init\"\n[expect]\nstate.hp = 40.0\nops = [{ op = \"set\" }]"), "");
}

/// Each hook reads a text of the same role as on the server (`turn::narrator`).
#[test]
fn test_case_hook_role_matches_server() {
    for (hook, role) in [("init", "system"), ("on_input", "user"), ("narrate", "user"), ("on_reply", "assistant")] {
        let script = format!("fn {hook}(ctx) {{ ctx.set(\"role\", ctx.role); () }}");
        let returns = if hook == "narrate" { script.replace("()", "\"Said.\"") } else { script };
        assert_eq!(test_failures(&returns, &format!("hook = \"{hook}\"\n[expect]\nstate.role = \"{role}\"\n")), "");
    }
    let offers = "fn quick_replies(ctx) { [#{ label: ctx.role }] }";
    assert_eq!(test_failures(offers, "hook = \"quick_replies\"\n[expect]\nlabels = [\"assistant\"]\n"), "");
}

#[test]
fn failing_test_case_names_every_difference() {
    let script = "fn on_reply(ctx) { ctx.add(\"a/hp\", -3, \"hit\"); ctx.warn(\"odd\"); }";
    let check = |test: &str, message: &str| {
        let said = test_failures(script, &format!("hook = \"on_reply\"\nstate = {{ a = {{ hp = 9 }} }}\n{test}"));
        assert_eq!(said, message, "{test}");
    };
    check("[expect]\nstate.a.hp = 5", "state a/hp: expected 5\n            but got 6");
    check("[expect]\nstate.b = true", "state b: expected true\n         but got null");
    check(
        "[expect]\nops = []",
        "ops: expected\nbut got\n  {\"op\":\"add\",\"path\":\"a/hp\",\"value\":-3,\"why\":\"hit\"}",
    );
    check("[expect]\nops = [{ op = \"add\", value = -3 }]", "");
    check("[expect]\nno_warnings = true", "no_warnings: expected none\n             but got \"odd\"");
    check("[expect]\nnotes = [\"x\"]", "notes: expected [\"x\"]\n       but got []");
    check("[expect]\nrolls = [3]", "rolls: expected [3]\n       but got []");
    check("[expect]\nerror = \"gold\"", "error: expected gold\n       but got no error");
    check(
        "[expect]\nstaet.hp = 1",
        "mine/tests/a.toml:4  plugin mine 1.0.0\n  there is no \"staet\" here (did you mean \"state\"?); there are \"ops\", \"state\", \"notes\", \"warnings\", \"rules\", \"no_warnings\", \"rolls\", \"text\", \"contains\", \"reply\", \"stop\", \"refused\", \"inject\", \"lore\", \"unlore\", \"asks\", \"summary\", \"labels\", \"sends\", \"answer\", \"error\"\n      2 | state = { a = { hp = 9 } }\n      3 | [expect]\n  >   4 | staet.hp = 1",
    );
    check(
        "hook = \"on_repyl\"",
        "mine/tests/a.toml:3  plugin mine 1.0.0\n  duplicate key\n      1 | hook = \"on_reply\"\n      2 | state = { a = { hp = 9 } }\n  >   3 | hook = \"on_repyl\"",
    );
}

#[test]
fn failing_script_shows_error_location() {
    let said = test_failures("fn on_reply(ctx) {\n    ctx.get(\"hp\")\n}", "hook = \"on_reply\"\nstate = {}\n");
    assert!(said.starts_with("mine/main.rhai:2:9  in on_reply, plugin mine 1.0.0\n  state has no \"hp\""), "{said}");
}

/// A rule that writes results instead of changes would be wrong on another branch, and the runner reports it.
#[test]
fn set_used_as_add_fails_test_case() {
    let script = "fn on_reply(ctx) { ctx.set(\"hp\", ctx.get(\"hp\") - 12); }";
    assert_eq!(
        test_failures(script, "hook = \"on_reply\"\nstate = { hp = 40 }\n"),
        "with another start value (hp 41 instead of 40) the rule proposes something else:\n  {\"op\":\"set\",\"path\":\"/mine/hp\",\"value\":28,\"by\":\"mine\"}\n  {\"op\":\"set\",\"path\":\"/mine/hp\",\"value\":29,\"by\":\"mine\"}\nThis set looks like an add.\nIf this is intended, because the rule depends on the amount, write `graft = false`."
    );
    assert_eq!(test_failures(script, "hook = \"on_reply\"\nstate = { hp = 40 }\ngraft = false\n"), "");
    let beside = "fn on_reply(ctx) { for key in ctx.keys(\"pack\") { ctx.remove(`pack/${key}`); } }";
    let said_of_keys = test_failures(beside, "hook = \"on_reply\"\nstate = { pack = { rope = \"long\" } }\n");
    assert!(
        said_of_keys.starts_with("with another start value (pack has the additional key \"graft-1\")"),
        "{said_of_keys}"
    );
    let clamped = "fn on_reply(ctx) { ctx.add(\"hp\", if ctx.get(\"hp\") < 41 { -40 } else { -41 }); }";
    assert!(
        test_failures(clamped, "hook = \"on_reply\"\nstate = { hp = 40 }\n")
            .starts_with("with another start value (hp 41 instead of 40)")
    );
}

/// An operation that the schema refuses gives a warning even if nothing was expected. A test case of a tool begins
/// with the state that `init` makes.
#[test]
fn test_case_warns_of_refused_operation() {
    let manifest = format!(
        "{}\n[state]\nschema = \"s.json\"\n[permissions]\nrequest = [\"tools\"]\n\
         [[tool]]\nname = \"pay\"\ndescription = \"Pays.\"\n",
        super::MANIFEST
    );
    let schema = r#"{"properties": {"gold": {"type": "integer"}}, "additionalProperties": false}"#;
    let script = "fn init(ctx) { ctx.set(\"gold\", 9); } fn on_reply(ctx) { ctx.add(\"glod\", 1); }\n\
                  fn tool_pay(ctx, args) { ctx.add(\"gold\", -1); ctx.get(\"gold\") }";
    let tests =
        [("tests/a.toml", "hook = \"on_reply\""), ("tests/b.toml", "hook = \"tool_pay\"\n[expect]\nanswer = 8")];
    let files = [&[("main.rhai", script), ("s.json", schema)], tests.as_slice()].concat();
    let plugin = super::try_plugin(&manifest, &files).unwrap();
    let said: Vec<String> = plugin.warnings().iter().map(|warning| warning.message.clone()).collect();
    assert_eq!(said, ["the schema has no \"glod\" (did you mean \"gold\"?)"], "and it is said before anything runs");
    let report = testing::run_tests(&plugin);
    assert!(report.passed(), "{report}");
    let [typo, tool] = &*report.cases else { panic!("{report}") };
    assert_eq!(tool.warnings, [""; 0]);
    assert!(typo.warnings[0].starts_with("the schema rejects /mine/glod: "), "{:?}", typo.warnings);
}
