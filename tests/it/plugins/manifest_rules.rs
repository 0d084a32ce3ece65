//! Rules of a manifest, without a script: which are refused at load, and when they fire. Rank 3 of the later ideas:
//! every so many messages, when a value crosses, once, cooldown, chains of three.

use std::sync::Arc;

use clotho_core::world::{SchemaSet, StateOperation, World};
use clotho_plugin::manifest_rules::{RuleFiring, RuleInput, RulesOutcome, fire};
use clotho_plugin::{LoadedPlugin, Permission, testing};
use serde_json::{Value, json};

use super::*;

/// Returns a manifest with these rules that requests notes and writes to `purse`.
fn manifest_with_rules(rules: &str) -> String {
    format!("{MANIFEST}[permissions]\nrequest = [\"notes\", \"state.write:purse\"]\n{rules}")
}

fn plugin_with_rules(rules: &str) -> Arc<LoadedPlugin> {
    try_plugin(&manifest_with_rules(rules), &[]).unwrap_or_else(|error| panic!("{error}"))
}

/// A message on which the rules of a plugin run, between two states.
struct RuleRun {
    is_reply: bool,
    turn: u64,
    replies: u64,
    grants: Vec<Permission>,
}

const REPLY: RuleRun = RuleRun { is_reply: true, turn: 1, replies: 1, grants: Vec::new() };

impl RuleRun {
    fn run_rules(&self, plugin: &LoadedPlugin, before: &Arc<World>, after: &mut Arc<World>) -> RulesOutcome {
        let manifest = plugin.manifest();
        let grants = if self.grants.is_empty() { &manifest.permissions } else { &self.grants };
        let occasion = RuleInput {
            plugin: &manifest.id,
            root: &manifest.state.root,
            rules: &manifest.rules,
            before,
            is_reply: self.is_reply,
            is_side_call: false,
            turn: self.turn,
            replies: self.replies,
            schemas: &SchemaSet::default(),
            grants,
            language: "zh",
        };
        fire(&occasion, after)
    }

    fn run_between(&self, plugin: &LoadedPlugin, before: Value, after: Value) -> (RulesOutcome, Value) {
        let mut world = world(json!({"mine": after}));
        let ran = self.run_rules(plugin, &super::world(json!({"mine": before})), &mut world);
        (ran, world.vars["mine"].clone())
    }
}

fn fired_names(ran: &RulesOutcome) -> Vec<&str> {
    ran.fired.iter().map(|fired| fired.rule.as_str()).collect()
}

#[test]
fn rule_errors_report_manifest_line() {
    let check = |rule: &str, line: u32, message: &str| {
        let error = try_plugin(&manifest_with_rules(rule), &[("main.rhai", "")]).unwrap_err();
        assert_eq!((error.file.as_deref(), error.line), (Some("plugin.toml"), Some(line)), "{error}");
        assert!(error.message.contains(message), "{message:?} is not in {:?}", error.message);
    };
    // Each rule, the line of its error, and a part of the message.
    check(
        "[[rule]]\nname = \"a\"\nwhen = \"x > 1\"\nnoet = \"b\"",
        10,
        "there is no \"noet\" here (did you mean \"note\"?)",
    );
    check("[[rule]]\nname = \"A b\"\nwhen = \"x\"\nnote = \"b\"", 8, "a rule name has");
    check("[[rule]]\nname = \"a\"\nnote = \"b\"", 8, "needs exactly one of");
    check("[[rule]]\nname = \"a\"\nwhen = \"x\"\non = \"y\"\nnote = \"b\"", 8, "needs exactly one of");
    check("[[rule]]\nname = \"a\"\nwhen = \"x\"", 8, "has no effect");
    check("[[rule]]\nname = \"a\"\nwhen = \"x >\"\nnote = \"b\"", 9, "has parts like");
    check("[[rule]]\nname = \"a\"\nevery = 0\nnote = \"b\"", 9, "\"every\" must be from 1");
    check("[[rule]]\nname = \"a\"\nevery = 2\nof = \"all\"\nnote = \"b\"", 10, "\"all\" is not known here");
    check("[[rule]]\nname = \"a\"\nwhen = \"x\"\nof = \"user\"\nnote = \"b\"", 10, "only works with \"every\"");
    check("[[rule]]\nname = \"a\"\nwhen = \"/other/x\"\nnote = \"b\"", 9, "\"state.read:*\"");
    check("[[rule]]\nname = \"a\"\nwhen = \"x\"\nnote = \"{{/other/x}}\"", 10, "\"state.read:*\"");
    check(
        "[[rule]]\nname = \"a\"\nwhen = \"x\"\ndo = [{ op = \"add\", path = \"/combat/hp\", value = 1 }]",
        10,
        "state.write:combat",
    );
    check(
        "[[rule]]\nname = \"a\"\nwhen = \"x\"\ndo = [{ op = \"ad\", path = \"x\", value = 1 }]",
        10,
        "\"op\": expected add, set",
    );
    check(
        "[[rule]]\nname = \"a\"\nwhen = \"x\"\ndo = [{ op = \"add\", path = \"x\", value = 1, in = \"lore\" }]",
        10,
        "is not allowed here",
    );
    check(
        "[[rule]]\nname = \"a\"\nwhen = \"x\"\nnote = \"b\"\n[[rule]]\nname = \"a\"\nwhen = \"y\"\nnote = \"b\"",
        12,
        "two rules",
    );
    // Without a script, and without the permission for a note.
    let silent = format!("{MANIFEST}[[rule]]\nname = \"a\"\nwhen = \"x\"\nnote = \"b\"");
    assert!(try_plugin(&silent, &[]).unwrap_err().message.contains("needs \"notes\""));
    assert!(try_plugin(MANIFEST, &[]).is_err(), "without rules a script is needed");
}

#[test]
fn rule_path_unknown_to_schema_is_refused() {
    let schema = r#"{"type": "object", "properties": {"affinity": {"type": "integer"}, "pack": {"type": "object"},
        "people": {"type": "object", "additionalProperties": {"type": "object", "properties": {"mood": {"type": "string"}}}}}}"#;
    let load = |rule: &str| {
        let manifest = manifest_with_rules(&format!("[[rule]]\nname = \"a\"\n{rule}\n[state]\nschema = \"s.json\"\n"));
        try_plugin(&manifest, &[("s.json", schema)]).map(drop).map_err(|error| (error.line, error.message.clone()))
    };
    assert_eq!(
        load("when = \"afinity >= 2\"\nnote = \"b\""),
        Err((Some(9), "the schema has no \"afinity\" (did you mean \"affinity\"?)".to_owned()))
    );
    assert_eq!(
        load("when = \"people.rin.mod == 2\"\nnote = \"b\"").unwrap_err().1,
        "the schema has no \"people/rin/mod\" in \"people/rin\" (did you mean \"mood\"?)"
    );
    assert_eq!(load("on = \"affinity\"\ndo = [{ op = \"set\", path = \"met\", value = 1 }]").unwrap_err().0, Some(10));
    assert_eq!(load("on = \"affinity\"\nnote = \"{{afinity}}\"").unwrap_err().0, Some(10));
    assert_eq!(load("when = \"pack.rope and people.rin.mood == 'calm'\"\nnote = \"{{affinity}}\""), Ok(()));
}

/// A condition fires when it becomes true, and not again while it stays true.
#[test]
fn rule_when_fires_once_per_crossing() {
    let plugin = plugin_with_rules(
        "[[rule]]\nname = \"friend\"\nwhen = \"affinity >= 20\"\nnote = { en = \"Friends: {{affinity}}\", zh = \"朋友：{{affinity}}\" }\ndo = [{ op = \"set\", path = \"met\", value = true, why = \"twenty\" }, { op = \"append\", path = \"/purse/log\", value = \"friends\" }]",
    );
    let on =
        |before: i64, after: i64| REPLY.run_between(&plugin, json!({"affinity": before}), json!({"affinity": after})).0;
    let ran = on(19, 21);
    let RuleFiring { reason: because, operations, notes, warnings, .. } = &ran.fired[0];
    assert_eq!(
        (because.as_str(), notes.as_slice(), warnings.len()),
        ("affinity >= 20", ["朋友：21".to_owned()].as_slice(), 0)
    );
    let told: Vec<Value> = operations.iter().map(StateOperation::to_json).collect();
    let expected = [
        json!({"op": "set", "path": "/mine/met", "value": true, "why": "twenty", "by": "mine"}),
        json!({"op": "append", "path": "/purse/log", "value": "friends", "why": "rule friend", "by": "mine"}),
    ];
    assert_eq!(told, expected);
    assert!(on(20, 25).fired.is_empty(), "it held already");
    assert!(on(5, 6).fired.is_empty() && on(21, 19).fired.is_empty());
    assert!(
        !REPLY.run_between(&plugin, json!({}), json!({"affinity": 20})).0.fired.is_empty(),
        "what was not there did not hold"
    );
    let no_notes = RuleRun { grants: vec!["state.write:x".parse().unwrap()], ..REPLY };
    let (ran, _) = no_notes.run_between(&plugin, json!({"affinity": 1}), json!({"affinity": 30}));
    assert_eq!((ran.fired[0].operations.len(), ran.fired[0].notes.len(), ran.fired[0].warnings.len()), (1, 0, 2));
}

#[test]
fn rule_on_fires_when_value_changes() {
    let plugin = plugin_with_rules("[[rule]]\nname = \"moved\"\non = \"place\"\nif = \"hp > 0\"\nnote = \"{{place}}\"");
    let moved = |before: Value, after: Value| fired_names(&REPLY.run_between(&plugin, before, after).0).len();
    assert_eq!(moved(json!({"place": "a", "hp": 1}), json!({"place": "b", "hp": 1})), 1);
    assert_eq!(moved(json!({"place": "a", "hp": 1}), json!({"place": "a", "hp": 2})), 0);
    assert_eq!(moved(json!({"hp": 1}), json!({"place": "a", "hp": 1})), 1);
    assert_eq!(moved(json!({"place": 1, "hp": 1}), json!({"place": 1.0, "hp": 1})), 0, "the same number");
    assert_eq!(moved(json!({"place": "a"}), json!({"place": "b", "hp": 0})), 0, "the other condition does not hold");
}

/// Turns, replies and all messages are counted along the path.
#[test]
fn rule_every_counts_turns_replies_or_messages() {
    let rule = |of: &str| plugin_with_rules(&format!("[[rule]]\nname = \"r\"\nevery = 3\n{of}\nnote = \"x\""));
    let fires = |plugin: &LoadedPlugin, is_reply: bool, turn: u64, replies: u64| {
        let message = RuleRun { is_reply, turn, replies, grants: Vec::new() };
        !message.run_between(plugin, json!({}), json!({})).0.fired.is_empty()
    };
    let (user, model, total) = (rule(""), rule("of = \"model\""), rule("of = \"total\""));
    assert!(fires(&user, false, 3, 0) && fires(&user, false, 6, 9) && !fires(&user, false, 4, 3));
    assert!(!fires(&user, true, 3, 3), "a reply is no turn");
    assert!(fires(&model, true, 1, 3) && !fires(&model, false, 3, 3) && !fires(&model, true, 3, 4));
    assert!(fires(&total, false, 2, 1) && fires(&total, true, 2, 1) && !fires(&total, true, 2, 2));
}

/// The firing of a rule is stored in the state, so that it is undone with the node. A turn on another branch does not
/// count.
#[test]
fn rule_once_and_cooldown_are_stored_in_world() {
    let plugin = plugin_with_rules(
        "[[rule]]\nname = \"first\"\non = \"n\"\nonce = true\nnote = \"x\"\n[[rule]]\nname = \"rare\"\non = \"n\"\ncooldown = 3\nnote = \"x\"",
    );
    let mut line = world(json!({"mine": {"n": 0}}));
    let mut fired = Vec::new();
    let mut early = None;
    for turn in 1..=8 {
        let before = Arc::clone(&line);
        Arc::make_mut(&mut line).vars["mine"]["n"] = json!(turn);
        let ran = RuleRun { turn, ..REPLY }.run_rules(&plugin, &before, &mut line);
        fired.push(fired_names(&ran).join("+"));
        early.get_or_insert_with(|| Arc::clone(&before));
    }
    assert_eq!(fired, ["first+rare", "", "", "rare", "", "", "rare", ""]);
    assert_eq!(line.lore["rules"], json!({"mine": {"first": {"once": true}, "rare": {"turn": 7}}}));
    let (before, mut after) = (early.unwrap(), world(json!({"mine": {"n": 5}})));
    assert_eq!(
        fired_names(&REPLY.run_rules(&plugin, &before, &mut after)),
        ["first", "rare"],
        "back there nothing has fired"
    );
    let mut moved = world(json!({"mine": {"n": 9}}));
    Arc::make_mut(&mut moved).lore = line.lore.clone();
    assert_eq!(
        fired_names(&RuleRun { turn: 2, ..REPLY }.run_rules(&plugin, &before, &mut moved)),
        ["rare"],
        "turn 7 is of another line"
    );
}

/// A change by a rule can fire other rules, to a depth of three. What would go deeper is cut and reported.
#[test]
fn rule_chain_stops_at_depth_three() {
    let link = |n: u32| {
        let next = n + 1;
        format!(
            "[[rule]]\nname = \"r{n}\"\nwhen = \"a{n} > 0\"\ndo = [{{ op = \"add\", path = \"a{next}\", value = 1 }}]\n"
        )
    };
    let chain = plugin_with_rules(&(0..6).map(link).collect::<String>());
    let (ran, state) = REPLY.run_between(&chain, json!({"a0": 0}), json!({"a0": 1}));
    assert_eq!((fired_names(&ran), ran.cut_off.as_slice()), (vec!["r0", "r1", "r2"], ["r3".to_owned()].as_slice()));
    assert_eq!(state, json!({"a0": 1, "a1": 1, "a2": 1, "a3": 1}));
    assert!(ran.rule_problems()[0].to_string().starts_with("the rule \"r3\" did not fire again"));

    let circle = plugin_with_rules(
        "[[rule]]\nname = \"more\"\non = \"gold\"\ndo = [{ op = \"add\", path = \"gold\", value = 1 }]",
    );
    let (ran, state) = REPLY.run_between(&circle, json!({"gold": 1}), json!({"gold": 2}));
    assert_eq!((fired_names(&ran), ran.cut_off.len(), state), (vec!["more"], 1, json!({"gold": 3})));
}

/// Rules can be tested with test cases, like everything else.
#[test]
fn rules_can_be_tested_with_test_cases() {
    let manifest = manifest_with_rules(
        "[[rule]]\nname = \"friend\"\nwhen = \"affinity >= 20\"\nonce = true\nnote = \"Friends.\"\ndo = [{ op = \"add\", path = \"gold\", value = 5 }]\n[[rule]]\nname = \"often\"\nevery = 2\nof = \"model\"\nnote = \"Again.\"",
    );
    let said = |test: &str| {
        let plugin = try_plugin(&manifest, &[("tests/a.toml", test)]).unwrap();
        super::join_failures(&testing::run_tests(&plugin).cases[0].failures)
    };
    let crossing = "hook = \"on_reply\"\nbefore = { affinity = 19 }\nstate = { affinity = 22 }\n";
    assert_eq!(
        said(&format!(
            "{crossing}[expect]\nrules = [\"friend\"]\nnotes = [\"Friends.\"]\nstate.gold = 5\nops = [{{ op = \"add\", path = \"gold\", value = 5 }}]\nno_warnings = true"
        )),
        ""
    );
    assert_eq!(said(&format!("{crossing}fired = {{ friend = 1 }}\n[expect]\nrules = []\nops = []")), "");
    assert_eq!(said("hook = \"on_reply\"\nstate = {}\nnode = { replies = 4 }\n[expect]\nrules = [\"often\"]"), "");
    assert!(said(&format!("{crossing}[expect]\nrules = [\"often\"]")).contains("rules: expected [\"often\"]"));
}
