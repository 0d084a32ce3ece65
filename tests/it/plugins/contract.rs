//! The contract between host and scripts: hooks, `ctx`, return values, errors.

use std::sync::Arc;

use clotho_core::clock::Time;
use clotho_core::world::{Pointer, Schema, SchemaSet};
use clotho_plugin::{
    DiceSeeds, Hook, HookAnswer, HookCall, HookNodeInfo, Permission, PluginQuickReply, RecentMessage, Roll,
    ScriptErrorKind, ScriptLimit,
};
use serde_json::{Value, json};

use super::*;

/// S3-19: writes of a script become operations, in order, with their reasons.
#[test]
fn ctx_writes_become_ordered_operations_with_reasons() {
    let plugin = plugin(
        r#"fn on_reply(ctx) {
            ctx.add("hp", -12, "took 12 damage");
            ctx.add("pack/rope", 1);
            ctx.set("mood", #{ now: "tired", since: [1, 2.5, ()] }, "long day");
            ctx.remove("torch");
            ctx.insert("pack", "a/b", true);
            ctx.append("log", "x");
            ctx.take("log", "y", "gone");
            ctx.set("hand", 1);
            ctx.move("hand", "belt");
            ctx.add(`by name/${ctx.key("a/b~c")}`, 1);
        }"#,
    );
    let outcome = PluginRunner::new().call_on_reply(&plugin, json!({"hp": 40}), "");
    assert_eq!(outcome.error, None);
    assert_eq!(
        Value::from(operations_json(&outcome)),
        json!([
            {"op": "add", "path": "/mine/hp", "value": -12, "why": "took 12 damage", "by": "mine"},
            {"op": "add", "path": "/mine/pack/rope", "value": 1, "by": "mine"},
            {"op": "set", "path": "/mine/mood", "value": {"now": "tired", "since": [1, 2.5, null]}, "why": "long day", "by": "mine"},
            {"op": "remove", "path": "/mine/torch", "by": "mine"},
            {"op": "insert", "path": "/mine/pack", "key": "a/b", "value": true, "by": "mine"},
            {"op": "append", "path": "/mine/log", "value": "x", "by": "mine"},
            {"op": "take", "path": "/mine/log", "value": "y", "why": "gone", "by": "mine"},
            {"op": "set", "path": "/mine/hand", "value": 1, "by": "mine"},
            {"op": "move", "path": "/mine/belt", "from": "/mine/hand", "by": "mine"},
            {"op": "add", "path": "/mine/by name/a~1b~0c", "value": 1, "by": "mine"},
        ])
    );
    let vars = Value::Object(world_of(&outcome).vars.clone());
    assert_eq!(vars["mine"]["hp"], json!(28));
    assert_eq!(vars["mine"]["pack"], json!({"rope": 1, "a/b": true}));
    assert_eq!(vars["mine"]["belt"], json!(1));
    assert_eq!(vars["mine"]["by name"], json!({"a/b~c": 1}));
}

/// S3-24: a hook sees the state that it was given and its own writes, but nothing of its earlier calls.
#[test]
fn ctx_reads_see_only_writes_of_same_call() {
    let plugin = plugin(
        r#"fn on_reply(ctx) {
            ctx.add("hp", -7);
            let seen = [ctx.get("hp"), ctx.before("hp"), ctx.before("mp"), ctx.before("mp", 3), ctx.get("mp", 5)];
            ctx.set("seen", seen);
            ctx.set("keys", ctx.keys(""));
            ctx.set("list", ctx.keys("pack"));
            ctx.set("has", [ctx.has("hp"), ctx.has("nothing"), ctx.has("pack/1"), ctx.has("pack/2")]);
        }"#,
    );
    let bench = PluginRunner::new();
    for _ in 0..2 {
        let outcome = bench.call_on_reply(&plugin, json!({"hp": 40, "pack": ["a", "b"]}), "");
        let mine = &world_of(&outcome).vars["mine"];
        assert_eq!(mine["seen"], json!([33, 40, null, 3, 5]), "{:?}", outcome.error);
        assert_eq!(mine["keys"], json!(["hp", "pack", "seen"]));
        assert_eq!(mine["list"], json!([0, 1]));
        assert_eq!(mine["has"], json!([true, false, true, false]));
    }
}

/// A command must be one of the plugin's manifest, in any case. Other commands are not for this plugin.
#[test]
fn command_matches_only_those_of_plugin_manifest() {
    let manifest =
        format!("{MANIFEST}[[command]]\nname = \"drink\"\naliases = [\"喝\"]\nargs = \"what\"\nhelp = \"Drinks.\"\n");
    let script = r#"fn on_input(ctx) { ctx.set("seen", [ctx.command, ctx.args]); }"#;
    let plugin = try_plugin(&manifest, &[("main.rhai", script)]).unwrap();
    for (text, command, args) in [
        ("/Drink it all", json!("drink"), "it all"),
        ("／喝 药", json!("drink"), "药"),
        ("/me bows", Value::Null, ""),
        ("drink", Value::Null, ""),
    ] {
        let outcome = PluginRunner::new().call(&plugin, hook_call(Hook::OnInput, json!({}), text));
        assert_eq!(world_of(&outcome).vars["mine"]["seen"], json!([command, args]), "{text}");
    }
}

/// Limits of a call do not depend on earlier calls: patterns built at run time count in each call.
#[test]
fn dynamic_regex_limit_counts_in_every_call() {
    let script = |most: u32| {
        format!(
            "fn on_reply(ctx) {{ for i in 0..{most} {{ ctx.find(`word${{i}}`); }} ctx.find(\"free\"); ctx.find(\"word0\"); ctx.add(\"n\", 1); }}"
        )
    };
    let (few, many) = (plugin(&script(16)), plugin(&script(18)));
    for _ in 0..3 {
        let outcome = PluginRunner::new().call_on_reply(&few, json!({}), "word1 word15");
        assert_eq!((&outcome.error, outcome.operations.len()), (&None, 1));
        let outcome = PluginRunner::new().call_on_reply(&many, json!({}), "word1 word15");
        assert_eq!(outcome.error.and_then(|error| error.limit), Some(ScriptLimit::Regex));
    }
}

#[test]
fn ctx_exposes_call_facts() {
    // A plugin that stores everything it can read.
    let manifest =
        format!("{MANIFEST}[[command]]\nname = \"drink\"\naliases = [\"喝\"]\nargs = \"what\"\nhelp = \"Drinks.\"\n");
    let plugin = try_plugin(
        &manifest,
        &[(
            "main.rhai",
            r#"fn on_input(ctx) {
            ctx.set("seen", [ctx.text, ctx.role, ctx.command, ctx.args, ctx.user.name, ctx.char.name, ctx.language,
                ctx.node.id, ctx.node.depth, ctx.node.turn, ctx.node.time, ctx.config.max_hp, ctx.recent(2)]);
        }"#,
        )],
    )
    .unwrap();
    // A call with a value for each.
    let mut call = hook_call(Hook::OnInput, json!({}), "/drink the red one");
    call.role = "user".into();
    call.config = Arc::new(json!({"max_hp": 40}).as_object().unwrap().clone());
    call.node = HookNodeInfo { id: "7f3a".into(), depth: 9, turn: 4, time: Some(Time(1_700_000_000_123)) };
    call.recent = (0..3)
        .map(|n| RecentMessage { role: "assistant".into(), name: "Rin".into(), text: format!("line {n}") })
        .collect::<Vec<_>>()
        .into();
    let outcome = PluginRunner::new().call(&plugin, call);
    assert_eq!(outcome.error, None);
    // The values as the plugin saw them.
    let message = |text: &str| json!({"role": "assistant", "name": "Rin", "text": text});
    assert_eq!(
        world_of(&outcome).vars["mine"]["seen"],
        json!([
            "/drink the red one",
            "user",
            "drink",
            "the red one",
            "Alice",
            "Rin",
            "en",
            "7f3a",
            9,
            4,
            1_700_000_000_123_i64,
            40,
            [message("line 1"), message("line 2")]
        ])
    );
}

#[test]
fn ctx_find_and_block_search_text() {
    let plugin = plugin(
        r#"const HIT = "(?<who>[A-Z]\\w+) takes (?<n>\\d+)";
        fn on_reply(ctx) {
            let m = ctx.find(global::HIT);
            ctx.set("first", [m.who, m.n, m["0"]]);
            ctx.set("all", ctx.find_all(global::HIT).map(|m| m.n));
            ctx.set("none", ctx.find("nothing (here)?"));
            ctx.set("in", ctx.find("(b)|(a)", "cab")["2"]);
            ctx.set("block", ctx.block("note"));
            ctx.set("rest", ctx.strip_block("note"));
            ctx.set("mvu", ctx.mvu_commands());
            ctx.set("clamp", [clamp(9, 1, 5), clamp(-1, 0, 5), clamp(2.5, 0, 5)]);
        }"#,
    );
    let text = "Alice takes 3 and Bob takes 4 <note>hm</note>_.add('rin.affinity', 2);//smile";
    let outcome = PluginRunner::new().call_on_reply(&plugin, json!({}), text);
    assert_eq!(outcome.error, None);
    let mine = &world_of(&outcome).vars["mine"];
    assert_eq!(mine["first"], json!(["Alice", "3", "Alice takes 3"]));
    assert_eq!(mine["all"], json!(["3", "4"]));
    assert_eq!(mine["none"], Value::Null);
    assert_eq!(mine["in"], json!("a"));
    assert_eq!(mine["block"], json!("hm"));
    assert_eq!(mine["rest"], json!("Alice takes 3 and Bob takes 4 _.add('rin.affinity', 2);//smile"));
    assert_eq!(mine["mvu"], json!([{"op": "add", "path": "rin/affinity", "reason": "smile", "value": 2}]));
    assert_eq!(mine["clamp"], json!([5, 0, 2.5]));
}

const DICE: &str = r#"fn on_reply(ctx) {
    ctx.set("rolls", [ctx.roll("2d6+3").total, ctx.roll("d20").dice, ctx.chance(0.5), ctx.pick(["a", "b", "c"])]);
}"#;

/// S3-24: the same node rolls the same dice; another generation rolls others.
#[test]
fn dice_rolls_are_seeded_by_node_and_generation() {
    let (plugin, bench) = (plugin(DICE), PluginRunner::new());
    let roll = |seeds: DiceSeeds, recorded: &[Roll]| {
        let call = HookCall { seeds, recorded_rolls: Arc::from(recorded), ..hook_call(Hook::OnReply, json!({}), "") };
        let outcome = bench.call(&plugin, call);
        assert_eq!(outcome.error, None);
        outcome
    };
    let first = roll(DiceSeeds { session: 1, node: 1 }, &[]);
    assert_eq!(first.rolls, roll(DiceSeeds { session: 1, node: 1 }, &[]).rolls);
    let others: Vec<_> = (2..12).map(|node| roll(DiceSeeds { session: 1, node }, &[]).rolls).collect();
    assert!(others.iter().all(|rolls| *rolls != first.rolls));
    let specs: Vec<(u32, &str)> = first.rolls.iter().map(|roll| (roll.n, roll.spec.as_str())).collect();
    assert_eq!(specs, [(0, "2d6+3"), (1, "1d20"), (2, "chance(0.5)"), (3, "pick(3)")]);
}

/// Recorded rolls override seeded rolls.
#[test]
fn dice_recorded_rolls_override_seeded_rolls() {
    let (plugin, bench) = (plugin(DICE), PluginRunner::new());
    let old = |n: u32, spec: &str, dice: Vec<i64>, total: i64| Roll {
        plugin: "mine".into(),
        hook: "on_reply".into(),
        n,
        spec: spec.into(),
        dice,
        total,
    };
    let recorded = [old(0, "2d6+3", vec![1, 1], 5), old(1, "3d20", vec![9], 9), old(3, "pick(3)", vec![2], 2)];
    let given = HookCall { recorded_rolls: Arc::from(recorded.clone()), ..hook_call(Hook::OnReply, json!({}), "") };
    let outcome = bench.call(&plugin, given);
    assert_eq!((&outcome.rolls[0], &outcome.rolls[3]), (&recorded[0], &recorded[2]));
    assert_eq!(outcome.rolls[1].spec, "1d20", "another spec is another roll");
    assert_eq!(world_of(&outcome).vars["mine"]["rolls"][0], json!(5));
    assert_eq!(world_of(&outcome).vars["mine"]["rolls"][3], json!("c"));
}

/// S3-20: the schema clamps in the fold, and the operation keeps the value that was meant.
#[test]
fn schema_clamps_world_but_keeps_operation_value() {
    let plugin =
        plugin(r#"fn on_reply(ctx) { ctx.add("hp", -99); ctx.set("hp", "many"); ctx.set("seen", ctx.get("hp")); }"#);
    let schema =
        json!({"type": "object", "properties": {"hp": {"type": "integer", "minimum": 0, "maximum": 40}, "seen": {}}});
    let rules =
        SchemaSet::new(vec![("/mine".parse::<Pointer>().unwrap(), Arc::new(Schema::parse(schema).unwrap()))]).unwrap();
    let given = HookCall { rules: Arc::new(rules), ..hook_call(Hook::OnReply, json!({"hp": 25}), "") };
    let outcome = PluginRunner::new().call(&plugin, given);
    assert_eq!(outcome.error, None);
    assert_eq!(world_of(&outcome).vars["mine"], json!({"hp": 0, "seen": 0}));
    assert_eq!(operations_json(&outcome)[0]["value"], json!(-99));
    let problems: Vec<usize> = outcome.problems.iter().map(|problem| problem.operation).collect();
    assert_eq!((outcome.operations.len(), problems), (3, vec![0, 1]));
}

fn run_on_input(script: &str, text: &str) -> Result<HookAnswer, (ScriptErrorKind, String)> {
    let outcome = PluginRunner::new().call(&plugin(script), hook_call(Hook::OnInput, json!({"hp": 1}), text));
    match outcome.error {
        None => Ok(outcome.answer),
        Some(error) => Err((error.kind, error.message)),
    }
}

fn input_answer(text: Option<&str>, reply: Option<&str>, stop: bool) -> HookAnswer {
    HookAnswer::Input { text: text.map(str::to_owned), reply: reply.map(str::to_owned), stop }
}

#[test]
fn on_input_accepts_all_four_answer_forms() {
    assert_eq!(run_on_input("fn on_input(ctx) {}", "hi"), Ok(HookAnswer::Nothing));
    assert_eq!(run_on_input("fn on_input(ctx) { if false { 1 } }", "hi"), Ok(HookAnswer::Nothing));
    assert_eq!(run_on_input("fn on_input(ctx) { `*${ctx.text}*` }", "hi"), Ok(input_answer(Some("*hi*"), None, false)));
    let all = "fn on_input(ctx) { #{ text: \"a\", reply: \"b\", stop: true } }";
    assert_eq!(run_on_input(all, "hi"), Ok(input_answer(Some("a"), Some("b"), true)));
    assert_eq!(run_on_input("fn on_input(ctx) { #{ stop: true } }", "hi"), Ok(input_answer(None, None, true)));
    let refused = "fn on_input(ctx) { ctx.add(\"hp\", -1); try { ctx.fail(\"not now\") } catch {} 1 }";
    assert_eq!(run_on_input(refused, "hi"), Ok(HookAnswer::Refused("not now".into())));
}

#[test]
fn hook_invalid_answer_is_runtime_error() {
    let check = |script: &str, message: &str| {
        assert_eq!(run_on_input(script, "hi"), Err((ScriptErrorKind::Runtime, message.to_owned())), "{script}");
    };
    check("fn on_input(ctx) { 7 }", "on_input must return nothing, a string, or #{text, reply, stop}, not a number");
    check("fn on_input(ctx) { #{ text: 7 } }", "on_input must return a string as \"text\", not a number");
    check(
        "fn on_input(ctx) { #{ txt: \"a\" } }",
        "on_input returned a map with \"txt\" (did you mean \"text\"?); allowed are text, reply, stop",
    );
    check("fn on_input(ctx) { ctx }", "on_input must return nothing, a string, or #{text, reply, stop}, not ctx");
    check("fn on_input(ctx) { \"a\\u0000\" }", "a string cannot contain the character U+0000");
}

/// Each hook has its own return types. What `init` and `on_reply` return is ignored.
#[test]
fn hook_return_types_are_checked_per_hook() {
    let check = |hook: Hook, returned: &str, message: Option<&str>| {
        let script = format!("fn {}(ctx) {{ {returned} }}", hook.name());
        let error = PluginRunner::new().call(&plugin(&script), hook_call(hook, json!({}), "text")).error;
        let said = error.map(|error| (error.kind, error.message));
        assert_eq!(said, message.map(|message| (ScriptErrorKind::Runtime, message.to_owned())), "{script}");
    };
    for hook in [Hook::Init, Hook::OnReply] {
        for returned in ["7", "\"text\"", "#{ text: 1 }", "[ctx]"] {
            check(hook, returned, None);
        }
    }
    let narrate = |given: &str| format!("narrate must return a string or a list of strings, not {given}");
    check(Hook::Narrate, "7", Some(&narrate("a number")));
    check(Hook::Narrate, "", Some(&narrate("nothing")));
    check(Hook::Narrate, "#{ text: \"a\" }", Some(&narrate("a map")));
    check(Hook::Narrate, "[\"a\", 7]", Some(&narrate("a number")));
    check(Hook::Narrate, "[\"a\", [\"b\"]]", Some(&narrate("a list")));
    let replies = |given: &str| format!("quick_replies must return a list of #{{label, send}}, not {given}");
    check(Hook::QuickReplies, "\"Run\"", Some(&replies("a string")));
    check(Hook::QuickReplies, "[\"Run\"]", Some(&replies("a string")));
    check(
        Hook::QuickReplies,
        "[#{ send: \"x\" }]",
        Some("quick_replies must return a string as \"label\", not nothing"),
    );
    check(
        Hook::QuickReplies,
        "[#{ label: \"x\", send: 1 }]",
        Some("quick_replies must return a string as \"send\", not a number"),
    );
    check(
        Hook::QuickReplies,
        "[#{ lable: \"x\" }]",
        Some("quick_replies returned a map with \"lable\" (did you mean \"label\"?); allowed are label, send, if"),
    );
    check(Hook::QuickReplies, "", None);
}

/// Everything that a script returns has a size limit, whichever way it leaves. A list of quick replies is cut.
#[test]
fn hook_answer_over_size_limit_fails() {
    let run = |hook: Hook, body: &str| {
        let script = format!("fn {}(ctx) {{ let s = \"\"; s.pad(30000, \"x\"); {body} }}", hook.name());
        PluginRunner::new().call(&plugin(&script), hook_call(hook, json!({}), "text"))
    };
    for (hook, body) in [
        (Hook::Narrate, "[s, s, s]"),
        (Hook::OnInput, "#{ text: s, reply: s + s }"),
        (Hook::QuickReplies, "[#{ label: \"a\", send: s }, #{ label: \"b\", send: s }, #{ label: \"c\", send: s }]"),
    ] {
        let error = run(hook, body).error.unwrap();
        assert!(matches!(error.limit, Some(ScriptLimit::Size | ScriptLimit::Result)), "{error}");
    }
    assert!(matches!(run(Hook::Narrate, "[s, s]").answer, HookAnswer::Narration(pieces) if pieces.len() == 2));
    let many = run(Hook::QuickReplies, "let a = []; for i in 0..20 { a.push(#{ label: s }) } a");
    assert!(many.error.is_some(), "twenty labels of 30 kB are too much, though only their beginning is shown");
    match run(Hook::QuickReplies, "let a = []; for i in 0..20 { a.push(#{ label: `${i}` + \"é\".repeat(99) }) } a} fn repeat(n) { let t = \"\"; t.pad(n, this); t").answer {
        HookAnswer::QuickReplies(replies) => {
            assert_eq!(replies.len(), 12);
            assert!(replies.iter().all(|reply| reply.label.chars().count() == 80 && reply.send.chars().count() > 80));
        }
        other => panic!("{other:?}"),
    }
}

/// A wrong return value drops the operations that the hook proposed, and the error says how many.
#[test]
fn hook_failure_drops_proposed_operations() {
    let script =
        "fn narrate(ctx) { ctx.add(\"hp\", 1); ctx.roll(\"d6\"); ctx.note(\"n\"); ctx.warn(\"w\"); print(1); 7 }";
    let outcome = PluginRunner::new().call(&plugin(script), hook_call(Hook::Narrate, json!({"hp": 1}), ""));
    let error = outcome.error.unwrap();
    assert_eq!((error.kind, error.ops_dropped), (ScriptErrorKind::Runtime, 1));
    assert!(outcome.operations.is_empty() && outcome.notes.is_empty());
    assert_eq!((outcome.rolls.len(), outcome.warnings.len(), outcome.log), (1, 1, vec!["1".to_owned()]));
    assert_eq!(outcome.world, None);
}

#[test]
fn narrate_returns_narration_in_pieces() {
    let run = |script: &str| PluginRunner::new().call(&plugin(script), hook_call(Hook::Narrate, json!({}), "")).answer;
    assert_eq!(run("fn narrate(ctx) { \"All of it.\" }"), HookAnswer::Narration(vec!["All of it.".into()]));
    assert_eq!(
        run("fn narrate(ctx) { [\"One \", \"two.\"] }"),
        HookAnswer::Narration(vec!["One ".into(), "two.".into()])
    );
    assert_eq!(run("fn on_reply(ctx) {}"), HookAnswer::Nothing);
}

#[test]
fn quick_replies_are_read_only() {
    let run =
        |script: &str| PluginRunner::new().call(&plugin(script), hook_call(Hook::QuickReplies, json!({"hp": 3}), ""));
    let script = "fn quick_replies(ctx) { [#{ label: \"Drink\", send: \"/drink\", \"if\": ctx.get(\"hp\") < 5 }, \
        #{ label: \"Run\", send: \"/run\", \"if\": false }, #{ label: \"Wait\" }] }";
    let reply = |label: &str, send: &str| PluginQuickReply { label: label.into(), send: send.into() };
    assert_eq!(run(script).answer, HookAnswer::QuickReplies(vec![reply("Drink", "/drink"), reply("Wait", "Wait")]));
    for (script, message) in [
        ("ctx.add(\"hp\", 1)", "add(\"hp\"): this hook is read-only"),
        ("ctx.roll(\"d6\")", "roll: this hook is read-only and cannot roll"),
        ("ctx.note(\"x\")", "note: this hook is read-only"),
    ] {
        let error = run(&format!("fn quick_replies(ctx) {{ {script}; [] }}")).error.unwrap();
        assert_eq!((error.kind, error.message.as_str()), (ScriptErrorKind::Permission, message));
    }
}

/// A plugin cannot do what it has no grant for.
#[test]
fn permissions_missing_grant_refuses_call() {
    let check = |hook: Hook, body: &str, grants: &[Permission], message: Option<&str>| {
        let script = format!("fn {}(ctx) {{ {body} }}", hook.name());
        let given = HookCall { grants: Arc::from(grants), ..hook_call(hook, json!({"hp": 1}), "text") };
        let outcome = PluginRunner::new().call(&plugin(&script), given);
        let error = outcome.error.map(|error| (error.kind, error.message));
        assert_eq!(error, message.map(|message| (ScriptErrorKind::Permission, message.to_owned())), "{body}");
    };
    // Writes outside the plugin's root.
    let write = || Permission::StateWrite("/quests".parse().unwrap());
    let outside = "set(\"/quests/a\"): writing outside the plugin's own values needs \"state.write:quests\"";
    check(Hook::OnReply, "ctx.set(\"/mine/a\", 1)", &[], None);
    check(Hook::OnReply, "ctx.set(\"/quests/a\", 1)", &[], Some(outside));
    check(Hook::OnReply, "ctx.set(\"/quests/a\", ctx.get(\"/quests/b\", 1))", &[write()], None);
    check(
        Hook::OnReply,
        "ctx.set(\"/questsx/a\", 1)",
        &[write()],
        Some("set(\"/questsx/a\"): writing outside the plugin's own values needs \"state.write:questsx\""),
    );
    check(
        Hook::OnReply,
        "ctx.remove(\"/\")",
        &[write()],
        Some("remove(\"/\"): writing outside the plugin's own values needs \"state.write:\""),
    );
    check(
        Hook::OnReply,
        "ctx.move(\"/quests/a\", \"a\")",
        &[],
        Some("move(\"/quests/a\"): writing outside the plugin's own values needs \"state.write:quests\""),
    );
    // Reads outside the plugin's root.
    check(
        Hook::OnReply,
        "ctx.get(\"/other\", 1)",
        &[],
        Some("get(\"/other\"): reading outside the plugin's own values needs \"state.read:*\""),
    );
    check(Hook::OnReply, "ctx.get(\"/other\", 1)", &[Permission::StateRead], None);
    // Notes.
    check(Hook::OnReply, "ctx.note(\"x\")", &[], Some("note: needs the permission \"notes\""));
    // Changing and stopping the user's text.
    check(
        Hook::OnInput,
        "\"other\"",
        &[],
        Some("on_input: changing the user's message needs the permission \"input.rewrite\""),
    );
    check(Hook::OnInput, "ctx.text", &[], None);
    check(
        Hook::OnInput,
        "#{ stop: true }",
        &[Permission::InputRewrite],
        Some("on_input: answering or stopping needs the permission \"input.stop\""),
    );
}

/// Returns the text of an error as a plugin author sees it.
fn error_text(script: &str) -> String {
    let outcome = PluginRunner::new().call_on_reply(&plugin(script), json!({"hp": 40, "pack": {"rope": 1}}), "text");
    assert!(outcome.operations.is_empty());
    outcome.error.expect("an error").to_string()
}

#[test]
fn script_error_reports_file_line_and_excerpt() {
    let script = "fn hurt(ctx) {\n    let n = 3;\n    ctx.add(\"hp\", -n);\n    ctx.get(\"hpp\")\n}\nfn on_reply(ctx) {\n    hurt(ctx);\n}\n";
    assert_eq!(
        error_text(script),
        "mine/main.rhai:4:9  in on_reply, plugin mine 1.0.0\n  state has no \"hpp\" (did you mean \"hp\"?)\n      \
         2 |     let n = 3;\n      3 |     ctx.add(\"hp\", -n);\n  >   4 |     ctx.get(\"hpp\")\n  \
         called from: on_reply\n  ops so far: 1 (dropped)"
    );
}

/// An error that no script can catch reports where the hook was: the line itself, or the call that ran into the limit.
#[test]
fn script_limit_error_reports_line() {
    let check = |script: &str, line: u32| {
        let outcome = PluginRunner::new().call_on_reply(&plugin(script), json!({}), "text");
        let error = outcome.error.expect("an error");
        assert_eq!(
            (error.kind, error.line, error.file.as_deref()),
            (ScriptErrorKind::Limit, Some(line), Some("main.rhai")),
            "{error}"
        );
        assert_eq!(error.excerpt.last().map(|one| one.line), Some(line), "{error}");
    };
    check("fn on_reply(ctx) {\n    let n = 0;\n    loop {\n        n += 1;\n    }\n}", 4);
    check("fn on_reply(ctx) {\n    let s = \"x\";\n    loop {\n        s += s;\n    }\n}", 4);
    check("fn f(n) {\n    f(n + 1)\n}\nfn on_reply(ctx) {\n    let a = 1;\n    f(a);\n}", 6);
    let heap = "let i = 0;\n    loop { let s = `${i}`; s.pad(60000, \"x\");\n        m[`k${i}`] = s; i += 1; }";
    let outcome = PluginRunner::new().call_on_reply(
        &plugin(&format!("fn on_reply(ctx) {{\n    let m = #{{}};\n    {heap}\n}}")),
        json!({}),
        "",
    );
    let error = outcome.error.unwrap();
    assert_eq!(error.limit, Some(ScriptLimit::Heap));
    assert!(matches!(error.line, Some(4 | 5)), "{error}");
}

/// A hook sees constants and imports of its file. Constants of a hook are not visible in the file's functions. A hook
/// may return from anywhere.
#[test]
fn hook_sees_file_constants_and_imports() {
    let script = "import \"lib\" as lib;\nconst A = 1;\nlet seen = 5;\n\
        fn two() { global::A + 1 }\n\
        fn on_reply(it) {\n    const B = 10;\n    let list = [];\n    for n in 0..3 {\n        if n == 2 { it.set(\"n\", n + global::A + two() + lib::three() + B); return; }\n    }\n    it.set(\"n\", 0);\n}";
    let loaded = try_plugin(MANIFEST, &[("main.rhai", script), ("lib.rhai", "fn three() { 3 }")]).unwrap();
    let outcome = PluginRunner::new().call_on_reply(&loaded, json!({}), "");
    assert_eq!((&outcome.error, &world_of(&outcome).vars["mine"]["n"]), (&None, &json!(18)));
    let leaking = plugin("fn b() { global::B }\nfn on_reply(ctx) { const B = 10; ctx.set(\"n\", b()); }");
    assert!(
        PluginRunner::new().call_on_reply(&leaking, json!({}), "").error.is_some(),
        "a constant of a hook is its own"
    );
}

#[test]
fn script_error_suggests_fix() {
    let check = |body: &str, message: &str| {
        let text = error_text(&format!("fn on_reply(ctx) {{ {body} }}"));
        let second = text.lines().nth(1).unwrap_or_default().trim().to_owned();
        assert_eq!(second, message, "{body}");
    };
    check("ctx.get(\"mana\")", "state has no \"mana\" (give a default: ctx.get(\"mana\", 0))");
    check("ctx.get(\"pack/rop\")", "state has no \"pack/rop\" (did you mean \"pack/rope\"?)");
    check("ctx.rol(\"d6\")", "there is no function \"rol\" (did you mean \"roll\"?)");
    check("ctx.roll(6)", "\"roll\" cannot be called with (Ctx, number); its signature is ctx.roll(spec: string)");
    check("ctx.roll(\"sword\")", "roll: \"sword\" is not a roll; write \"d20\", \"2d6+3\" or \"4d6kh3\"");
    check("ctx.add(\"hp\", \"much\")", "add(\"hp\"): expected a number, not a string");
    check(
        "ctx.set(\"hp\", Fn(\"x\"))",
        "set(\"hp\"): a function cannot be stored; use numbers, strings, true/false, (), lists and maps",
    );
    check("ctx.set(\"a~2\", 1)", "set(\"a~2\"): \"~\" in a path is written \"~0\", \"/\" inside a key \"~1\"");
    check("ctx.config.hp", "the plugin has no setting \"hp\"");
    check("ctx.txet", "there is no \"txet\" here (did you mean \"text\"?)");
    check("ctx.user.nmae", "the map has no \"nmae\" (test for it with \"nmae\" in map)");
    check("ctx.text = \"x\"", "\"text\" can be read but not set");
    check("ctx.find(\"(\")", "find: the pattern is wrong: unclosed group");
    check("ctx.fail(\"no\")", "fail: only on_input and tools can refuse: a user's message, or a model's call");
    check("throw \"my own words\"", "my own words");
    check("throw #{ code: 7 }", "the script threw {\"code\":7}");
    check("let a = [1]; a[5]", "Array index 5 out of bounds: only 1 element in array");
    check("parse_int(\"x\")", "Error parsing integer number 'x': invalid digit found in string");
    check(
        "chance(1)",
        "\"chance\" cannot be called with (number); its signature is ctx.chance(p: float), ctx.chance(p: int)",
    );
}

#[test]
fn script_can_catch_host_refusals() {
    let script = "fn on_reply(ctx) { try { ctx.roll(\"sword\") } catch (e) { ctx.set(\"why\", `${e}`) } }";
    let outcome = PluginRunner::new().call_on_reply(&plugin(script), json!({}), "");
    let why = world_of(&outcome).vars["mine"]["why"].as_str().unwrap();
    assert!(why.starts_with("roll: \"sword\" is not a roll"), "{why}");
}

#[test]
fn script_log_is_kept_up_to_limit() {
    let script = "fn on_reply(ctx) { print(`hp ${ctx.get(\"hp\")}`); print(#{a: [1, \"x\"]}); debug(2); for i in 0..2000 { print(\"spam\"); } }";
    let outcome = PluginRunner::new().call_on_reply(&plugin(script), json!({"hp": 3}), "");
    assert_eq!(outcome.log[..3], ["hp 3", "#{\"a\": [1, \"x\"]}", "main.rhai:1 2"]);
    assert!(outcome.log.iter().map(String::len).sum::<usize>() < 9 << 10);
    assert_eq!(outcome.log.last().unwrap(), "… the log is full");
}

/// S3-31: concurrent calls of many branches do not affect each other.
#[test]
fn concurrent_calls_are_isolated() {
    let plugin = plugin("fn on_reply(ctx) { for i in 0..200 { ctx.add(\"n\", ctx.get(\"step\")); } }");
    let pool = Arc::new(ScriptPool::new(2).unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let waiting: Vec<_> = (1..=200_i64)
        .map(|step| {
            runtime.spawn(pool.call(Arc::clone(&plugin), hook_call(Hook::OnReply, json!({"n": 0, "step": step}), "")))
        })
        .collect();
    for (step, outcome) in (1..=200_i64).zip(waiting) {
        let outcome = runtime.block_on(outcome).unwrap();
        assert_eq!(world_of(&outcome).vars["mine"]["n"], json!(200 * step), "{:?}", outcome.error);
    }
}

/// A dropped call leaves the pool usable.
#[test]
fn dropped_call_leaves_pool_usable() {
    let bench = PluginRunner::new();
    let plugin = plugin("fn on_reply(ctx) { ctx.add(\"n\", 1); }");
    for _ in 0..200 {
        drop(bench.pool.call(Arc::clone(&plugin), hook_call(Hook::OnReply, json!({}), "")));
        let pending = bench.pool.call(Arc::clone(&plugin), hook_call(Hook::OnReply, json!({}), ""));
        let late = std::time::Duration::from_nanos(1);
        let _ = bench.runtime.block_on(async move { tokio::time::timeout(late, pending).await });
    }
    assert_eq!(bench.call_on_reply(&plugin, json!({}), "").operations.len(), 1);
}

/// A long text is not an error: the plugin reads its beginning and can search all of it.
#[test]
fn long_texts_are_truncated_but_fully_searched() {
    let script = "fn on_reply(ctx) { ctx.set(\"seen\", [ctx.text.bytes, ctx.find(\"needle\") != (), ctx.recent(50).len, ctx.recent(1)[0].text.bytes]); }";
    let given = HookCall {
        recent: vec![RecentMessage { role: "user".into(), name: "猫".repeat(999), text: "猫".repeat(40_000) }; 60]
            .into(),
        ..hook_call(Hook::OnReply, json!({}), &format!("{}needle", "猫".repeat(60_000)))
    };
    let outcome = PluginRunner::new().call(&plugin(script), given);
    assert_eq!(world_of(&outcome).vars["mine"]["seen"], json!([65_535, true, 50, 32_766]), "{:?}", outcome.error);
}

/// The turn range of a summary is checked where the summary is proposed.
#[test]
fn propose_summary_checks_turn_range() {
    let propose = |hook: &str, arguments: &str, grants: Vec<Permission>| {
        let plugin = plugin(&format!("fn {hook}(ctx) {{ ctx.propose_summary({arguments}); }}"));
        let node = HookNodeInfo { turn: 12, ..HookNodeInfo::default() };
        let call = HookCall { node, grants: grants.into(), ..hook_call(Hook::from_name(hook).unwrap(), json!({}), "") };
        PluginRunner::new().call(&plugin, call)
    };
    // Valid summaries.
    let allowed = || vec![Permission::TreeSummarise];
    let summary = |arguments: &str| {
        let outcome = propose("on_reply", arguments, allowed());
        assert_eq!(outcome.error, None);
        outcome.summary.unwrap().to_json()
    };
    assert_eq!(summary("\" Long ago. \", 10"), json!({"text": "Long ago.", "turns": 10, "upto": 12}));
    assert_eq!(summary("\"Long ago.\", 4, 7"), json!({"text": "Long ago.", "turns": 4, "upto": 7}));
    // Invalid ones, each with its error.
    let long = format!("\"{}\", 1", "x".repeat(8_001));
    for (hook, arguments, grants, kind, part) in [
        ("on_reply", "\"a\", 0", allowed(), ScriptErrorKind::Runtime, "\"turns\" must be a whole number from 1, not 0"),
        ("on_reply", "\"a\", -3", allowed(), ScriptErrorKind::Runtime, "from 1, not -3"),
        ("on_reply", "\"a\", 13", allowed(), ScriptErrorKind::Runtime, "there are 12 turns up to there"),
        ("on_reply", "\"a\", 5, 4", allowed(), ScriptErrorKind::Runtime, "there are 4 turns up to there"),
        (
            "on_reply",
            "\"a\", 1, 13",
            allowed(),
            ScriptErrorKind::Runtime,
            "\"upto\" must be a turn of this branch, from 1 to 12",
        ),
        ("on_reply", "\" \", 1", allowed(), ScriptErrorKind::Runtime, "the text is empty"),
        ("on_reply", &long, allowed(), ScriptErrorKind::Runtime, "at most 8000 characters, and this one has 8001"),
        ("on_reply", "\"a\", 1", Vec::new(), ScriptErrorKind::Permission, "needs the permission \"tree.summarise\""),
        ("plan", "\"a\", 1", allowed(), ScriptErrorKind::Permission, "this hook is read-only"),
        ("on_input", "\"a\", 1", allowed(), ScriptErrorKind::Runtime, "only on_reply, on_edit and on_answer"),
        ("on_reply", "\"a\", 1); ctx.propose_summary(\"b\", 2", allowed(), ScriptErrorKind::Limit, "one summary"),
    ] {
        let outcome = propose(hook, arguments, grants);
        let error = outcome.error.unwrap();
        assert_eq!((error.kind, error.line), (kind, Some(1)), "{error}");
        assert!(error.message.contains(part), "{error}");
        assert_eq!(outcome.summary, None);
    }
    // A misspelt function gets a hint.
    let said = plugin("fn on_reply(ctx) { ctx.propose_sumary(\"a\", 1); }");
    let error = PluginRunner::new().call_on_reply(&said, json!({}), "").error.unwrap();
    assert!(error.message.contains("propose_summary"), "{error}");
}
