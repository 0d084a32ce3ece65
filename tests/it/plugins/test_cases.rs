//! Mistakes in the test cases of `clotho plugin test`: each is reported, and none passes silently.

use std::sync::Arc;

use clotho_plugin::LoadedPlugin;
use clotho_plugin::testing::{self, CaseReport, PluginTestReport};

use super::{MANIFEST, join_failures, try_plugin};

const MORE: &str = "[state]\nschema = \"s.json\"\n[permissions]\nrequest = [\"tools\"]\n\
    [[command]]\nname = \"worse\"\naliases = [\"bad\"]\n\
    [[tool]]\nname = \"pay\"\ndescription = \"Pays.\"\nparameters = { type = \"object\", required = [\"coins\"], \
    properties = { coins = { type = \"integer\" } } }\n\
    [[rule]]\nname = \"rich\"\nwhen = \"gold >= 20\"\ndo = [{ op = \"add\", path = \"gold\", value = 1 }]\n";

const SCHEMA: &str = r#"{"properties": {"gold": {"type": "integer", "maximum": 99}, "pack": {"type": "object",
    "properties": {"rope": {"type": "integer"}}, "additionalProperties": false}},
    "additionalProperties": false}"#;

const SCRIPT: &str = "fn init(ctx) { ctx.set(\"gold\", 9); }\n\
    fn on_input(ctx) { if ctx.command == \"worse\" { ctx.fail(\"No.\\nNever.\"); } ctx.add(\"gold\", ctx.node.turn); }\n\
    fn tool_pay(ctx, args) { ctx.add(\"gold\", -args.coins); ctx.get(\"gold\") }\n\
    fn plan(ctx) { ctx.get(\"nothing\") }";

fn plugin_with_test(file: &str) -> Arc<LoadedPlugin> {
    let manifest = format!("{MANIFEST}{MORE}");
    try_plugin(&manifest, &[("main.rhai", SCRIPT), ("s.json", SCHEMA), ("tests/a.toml", file)])
        .unwrap_or_else(|error| panic!("{error}"))
}

fn run_test_file(file: &str) -> PluginTestReport {
    testing::run_tests(&plugin_with_test(file))
}

fn run_case(file: &str) -> CaseReport {
    let mut cases = run_test_file(file).cases;
    assert_eq!(cases.len(), 1);
    cases.remove(0)
}

#[test]
fn test_case_with_unknown_hook_or_name_fails() {
    let check = |file: &str, part: &str| {
        let failures = join_failures(&run_case(file).failures);
        assert!(failures.contains(part), "{part}\n{failures}");
    };
    check("\nhook = \"on_replay\"\n[expect]\nops = []", "a.toml:2");
    check("hook = \"on_replay\"\n[expect]\nops = []", "no hook \"on_replay\" (did you mean \"on_reply\"?)");
    check("hook = \"on_edits\"\n", "no hook \"on_edits\" (did you mean \"on_edit\"?)");
    check(
        "hook = \"narrate\"\n[expect]\nops = []",
        "the plugin has no \"narrate\"; it has init, on_input, plan, tool_pay",
    );
    check("hook = \"tool_pya\"\n", "no tool for \"tool_pya\" (did you mean \"tool_pay\"?)");
    check("hook = \"tool\"\n", "there is no hook \"tool\"");
    // Without a script, the rules of the manifest read replies.
    assert_eq!(join_failures(&run_case("hook = \"on_reply\"\n[expect]\nops = []").failures), "");
}

#[test]
fn test_case_without_expectations_is_counted_separately() {
    for file in ["hook = \"init\"", "hook = \"init\"\n[expect]\n"] {
        let report = run_test_file(file);
        assert!(report.passed() && report.cases[0].expects_nothing() && !report.cases[0].passed(), "{report}");
        let said = report.to_string();
        assert!(said.starts_with("none tests/a.toml has no expectation: run with --bless  ("), "{said}");
        assert!(said.ends_with("\n1 tests, 0 failed, 1 without an expectation"), "{said}");
    }
    assert!(run_case("hook = \"init\"\n[expect]\nops = [{ op = \"set\" }]").passed());
}

#[test]
fn test_case_with_impossible_values_warns() {
    let check = |file: &str, warnings: &[&str]| {
        assert_eq!(
            run_case(&format!("hook = \"on_input\"\n{file}\n[expect]\nno_warnings = true")).warnings,
            warnings,
            "{file}"
        );
    };
    check("state = { gold = 3, pack = { rope = 1 } }", &[]);
    check(
        "state = { glod = 3 }",
        &["no session has a \"state\" like this: glod: this key is not allowed here (did you mean \"gold\"?)"],
    );
    check("state = { gold = 120 }", &["no session has a \"state\" like this: gold: 120 is above 99, kept at 99"]);
    check(
        "state = { pack = { rpoe = 1 } }",
        &["no session has a \"state\" like this: rpoe: this key is not allowed here (did you mean \"rope\"?)"],
    );
    check(
        "state = { gold = 3 }\nbefore = { gold = \"3\" }",
        &["no session has a \"before\" like this: gold: \"3\" is not a whole number"],
    );
    check("fired = { rihc = 3 }", &["\"fired\" names an unknown rule: rihc (did you mean \"rich\"?)"]);
    check("fired = { rich = 3 }", &[]);
    let typed = |command: &str| run_case(&format!("command = \"{command}\"\n[expect]\nno_warnings = true")).warnings;
    assert_eq!(typed("wores 2d6"), ["the manifest has no command \"wores\" (did you mean \"worse\"?)"]);
    assert_eq!(typed("bad"), [""; 0]);
}

/// The first message is turn one.
#[test]
fn test_case_turn_number_starts_at_one() {
    let added = |node: &str| format!("hook = \"on_input\"\nstate = {{ gold = 3 }}\n{node}\n[expect]\nstate.gold = ");
    for (node, gold) in [("", 4), ("node = { turn = 0 }", 3), ("node = { turn = 5 }", 8)] {
        assert_eq!(join_failures(&run_case(&format!("{}{gold}", added(node))).failures), "");
    }
}

#[test]
fn test_case_can_expect_invalid_tool_arguments() {
    let file = "hook = \"tool_pay\"\nargs = { coins = \"many\" }\n";
    let said = join_failures(&run_case(file).failures);
    assert!(said.contains("refused: expected no refusal") && said.contains("the arguments do not fit: "), "{said}");
    assert_eq!(join_failures(&run_case(&format!("{file}[expect]\nrefused = \"coins\"")).failures), "");
    assert_eq!(
        join_failures(&run_case("hook = \"tool_pay\"\nargs = { coins = 2 }\n[expect]\nanswer = 7").failures),
        ""
    );
}

/// Refusals and errors are results too and are written. The file keeps its line endings.
#[test]
fn bless_writes_refusals_and_errors() {
    let blessed = |file: &str| {
        let plugin = plugin_with_test(file);
        let text = testing::bless(&plugin, &testing::run_tests(&plugin).cases[0]).unwrap_or_else(|| panic!("{file}"));
        assert!(run_case(&text).passed(), "{}", run_test_file(&text));
        text
    };
    let refused = blessed("command = \"worse\"\r\n# A refusal.\r\n");
    let expected = "command = \"worse\"\r\n# A refusal.\r\n\r\n[expect]\r\nops = []\r\nrefused = \"No.\\nNever.\"\r\n";
    assert_eq!(refused, expected);
    assert_eq!(
        blessed("hook = \"tool_pay\"\n[expect]"),
        "hook = \"tool_pay\"\n[expect]\nops = []\nrefused = \"the arguments do not fit: \\\"coins\\\" is missing\"\n"
    );
    assert!(blessed("hook = \"plan\"\n").contains("\n[expect]\nerror = \"state has no \\\"nothing\\\""));
    let unlike = plugin_with_test("hook = \"init\"\n[expect]\nops = []");
    assert_eq!(testing::bless(&unlike, &testing::run_tests(&unlike).cases[0]), None);
}
