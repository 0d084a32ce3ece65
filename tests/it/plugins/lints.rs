//! What `clotho plugin check` finds in rules and scripts without running them.

use super::{MANIFEST, try_plugin};

const SCHEMA: &str = r#"{"properties": {"gold": {"type": "integer", "minimum": 0, "maximum": 99},
    "mood": {"enum": ["calm", "angry"]}, "place": {"type": "string"}, "over": {"type": "boolean"},
    "bag": {"type": "object", "additionalProperties": false, "properties": {"rope": {"type": "integer"}}},
    "list": {"type": "array", "items": {"type": "integer"}},
    "next": {"type": "integer", "x-computed": "gold + 1"}}, "required": ["gold"], "additionalProperties": false}"#;

/// Returns what is reported for a rule: an error, or warnings, each with its line.
fn rule_warnings(rule: &str) -> Vec<String> {
    let manifest = format!("{MANIFEST}[state]\nschema = \"s.json\"\n[[rule]]\nname = \"r\"\n{rule}");
    let at = |error: &clotho_plugin::ScriptError| format!("{}: {}", error.line.unwrap_or_default(), error.message);
    match try_plugin(&manifest, &[("s.json", SCHEMA)]) {
        Ok(plugin) => plugin.warnings().iter().map(at).collect(),
        Err(error) => vec![at(&error)],
    }
}

fn condition_warnings(condition: &str) -> Vec<String> {
    rule_warnings(&format!(
        "on = \"gold\"\nif = {condition:?}\ndo = [{{ op = \"add\", path = \"gold\", value = 1 }}]\n"
    ))
}

#[test]
fn condition_syntax_error_names_key() {
    let parts = "a condition has parts like \"affinity >= 20\", joined by \"and\" and \"or\"";
    assert_eq!(condition_warnings("gold 3"), [format!("10: \"if\": {parts}")]);
    assert_eq!(rule_warnings("when = \"gold >\"\ndo = []\nnote = \"x\""), [format!("9: \"when\": {parts}")]);
    for brackets in ["(gold > 3 or over) and place", "not (gold > 3)", "not(over)", "gold > (3)"] {
        let said = condition_warnings(brackets).join("\n");
        assert!(said.starts_with("10: \"if\": a condition has no brackets: "), "{brackets}: {said}");
    }
}

#[test]
fn condition_comparing_two_values_is_refused() {
    let two = "10: the right side must be a string or a number; two values cannot be compared";
    assert_eq!(condition_warnings("gold > bag.rope"), [two]);
    assert_eq!(condition_warnings("place == mood"), [two]);
    assert_eq!(condition_warnings("place == \"mood\""), [""; 0]);
    assert_eq!(condition_warnings("place == quay and mood == calm"), [""; 0]);
}

#[test]
fn condition_that_never_holds_warns() {
    let check = |condition: &str, message: &str| {
        assert_eq!(condition_warnings(condition), [format!("10: \"{condition}\": {message}")]);
    };
    check("gold >= 100", "that is never true: its range is from 0 to 99");
    check("gold < 0", "that is never true: its range is from 0 to 99");
    let said = condition_warnings("mood == clam").join("\n");
    assert!(said.contains("it is never \"clam\"; did you mean \"calm\"?") && said.contains("\"angry\""), "{said}");
    assert!(
        condition_warnings("gold == many")
            .join("\n")
            .contains("it is a whole number, so a comparison with \"many\" is never true")
    );
    assert!(
        condition_warnings("place > 3").join("\n").contains("it is a string, so a comparison with 3 needs a number")
    );
    assert!(
        condition_warnings("over == 1")
            .join("\n")
            .contains("it is true or false, so a comparison with 1 is never true")
    );
    for good in ["gold >= 99", "gold", "bag >= 2", "list == 0", "over == true", "mood != calm", "place == null"] {
        assert_eq!(condition_warnings(good), [""; 0], "{good}");
    }
}

#[test]
fn rule_operation_refused_by_schema_warns() {
    let check = |operation: &str, message: &str| {
        let said = rule_warnings(&format!("on = \"gold\"\ndo = [\n  {{ {operation} }},\n]\n"));
        assert_eq!(said, [format!("11: the rule \"r\": {message}")], "{operation}");
    };
    check("op = \"set\", path = \"mood\", value = \"clam\"", "mood: \"clam\" is not one of \"calm\", \"angry\"");
    check("op = \"set\", path = \"gold\", value = \"9\"", "gold: \"9\" is not a whole number");
    check("op = \"set\", path = \"gold\", value = 120", "gold: 120 is above 99, kept at 99");
    check(
        "op = \"add\", path = \"place\", value = 1",
        "nothing can be added to \"place\": the schema defines it as string",
    );
    check(
        "op = \"add\", path = \"next\", value = 1",
        "\"next\" is computed: change the values that it is computed \
        from",
    );
    check(
        "op = \"set\", path = \"gold/coins\", value = 1",
        "\"gold/coins\" is inside of \"gold\", which is not a map or list",
    );
    check("op = \"append\", path = \"list\", value = \"x\"", "list/0: \"x\" is not a whole number");
    check("op = \"insert\", path = \"bag\", key = \"rope\", value = true", "rope: true is not a whole number");
    check("op = \"remove\", path = \"gold\"", "\"gold\" cannot be removed: the schema requires it");
    let good = "op = \"add\", path = \"gold\", value = -500 }, { op = \"append\", path = \"list\", value = 2";
    assert_eq!(rule_warnings(&format!("on = \"gold\"\ndo = [{{ {good} }}]\n")), [""; 0]);
}

/// Returns what is reported for one line of a script.
fn script_warnings(line: &str) -> Vec<String> {
    let manifest = format!(
        "{MANIFEST}[state]\nschema = \"s.json\"\n[permissions]\nrequest = [\"prompt.inject:status\", \"state.write:other\"]\n\
         [config.max_gold]\ntype = \"integer\"\n"
    );
    let script = format!("fn plan(ctx) {{\n    {line}\n}}");
    let plugin = try_plugin(&manifest, &[("s.json", SCHEMA), ("main.rhai", &script)]).unwrap();
    plugin
        .warnings()
        .iter()
        .map(|error| {
            format!("{}:{}: {}", error.line.unwrap_or_default(), error.column.unwrap_or_default(), error.message)
        })
        .collect()
}

#[test]
fn schema_errors_report_line_and_column() {
    let manifest = format!("{MANIFEST}[state]\nschema = \"s.json\"\n");
    let load = |schema: &str| try_plugin(&manifest, &[("s.json", schema), ("main.rhai", "fn on_reply(ctx) {}")]);
    let place = |error: &clotho_plugin::ScriptError| (error.line.unwrap_or_default(), error.column.unwrap_or_default());
    let odd = r#"{"type": "object",
 "required": ["gold", "glod"],
 "properties": {"gold": {"type": "integer"},
 "mood": {"type": "string", "enum": ["calm", 1]},
 "gold": {"type": "integer"}}}"#;
    let plugin = load(odd).unwrap();
    let places: Vec<_> = plugin.warnings().iter().map(place).collect();
    assert_eq!(places, [(5, 2), (2, 23), (4, 46)], "{:?}", plugin.warnings());
    assert!(plugin.warnings()[0].message.starts_with("\"gold\" appears twice"));
    let bad = load("{\"type\": \"object\",\n  \"propertys\": {}}").unwrap_err();
    assert_eq!((place(&bad), place(&load("{\n  nothing").unwrap_err())), ((2, 3), (2, 3)));
}

#[test]
fn script_literal_arguments_are_checked() {
    let check = |line: &str, message: &str| {
        let said = script_warnings(line);
        assert!(said.len() == 1 && said[0].starts_with(message), "{line}\n{said:?}");
    };
    check("ctx.add(\"gold\");", "2:9: ctx.add cannot be called with 1 value; its signature is ctx.add(");
    check(
        "ctx.set(\"gold\", 1, \"why\", 2);",
        "2:9: ctx.set cannot be called with 4 values; its signature is ctx.set(",
    );
    check("ctx.config.max_glod", "2:16: the manifest has no [config.max_glod] (did you mean \"max_gold\"?)");
    check(
        "if ctx.config[\"min_gold\"] > 3 { }",
        "2:19: the manifest has no [config.min_gold] (did you mean \"max_gold\"?)",
    );
    check("ctx.roll(\"2x6\").total", "2:14: ctx.roll: \"2x6\" is not a roll");
    check(
        "ctx.set(\"/quests/open\", 1)",
        "2:13: \"/quests/open\" is outside of the plugin's own values; writing it needs \"state.write:quests\"",
    );
    check(
        "ctx.get(\"/quests/open\", 1)",
        "2:13: \"/quests/open\" is outside of the plugin's own values; reading it needs \"state.read:*\"",
    );
    check("ctx.add(\"next\", 1)", "2:13: \"next\" is computed: change the values that it is computed from");
    check("ctx.inject(\"statsu\", \"x\")", "2:16: ctx.inject: there is no slot \"statsu\" (did you mean \"status\"?)");
    check("ctx.inject(\"note\", \"x\")", "2:16: ctx.inject(\"note\") needs \"prompt.inject:note\"");
    for good in [
        "ctx.add(\"gold\", ctx.config.max_gold, \"why\")",
        "ctx.config.keys().len()",
        "ctx.set(\"/mine/gold\", 1); ctx.set(\"/other/x\", 2); ctx.get(\"/other/x\", 0)",
        "ctx.roll(\"2d6+3\").total + ctx.roll(`${ctx.config.max_gold}d6`).total",
        "ctx.inject(\"status\", \"x\"); let ctx = #{}; ctx.add = 3;",
    ] {
        assert_eq!(script_warnings(good), [""; 0], "{good}");
    }
}

#[test]
fn rule_operation_misspelt_key_suggests_name() {
    let said = rule_warnings("on = \"gold\"\ndo = [{ op = \"add\", path = \"gold\", valeu = 1 }]\n").join("\n");
    assert!(said.contains("\"valeu\" is unknown (did you mean \"value\"?)"), "{said}");
}

/// Syntax of another language gets a hint with the right syntax.
#[test]
fn script_syntax_of_other_languages_gets_hint() {
    let said = |script: &str| match try_plugin(MANIFEST, &[("main.rhai", script)]) {
        Ok(plugin) => plugin.warnings().iter().map(|warning| warning.message.clone()).collect::<Vec<_>>().join("\n"),
        Err(error) => error.message,
    };
    for (line, hint) in [
        ("function add(a) { a }", "write a function as fn name(a)"),
        ("ctx.note('text');", "write a string in double quotes"),
        ("let x = null;", "write () for no value"),
        ("for (let x of [1]) { }", "write a loop as for x in list"),
        ("if [1].includes(1) { }", "(write contains(x) here)"),
    ] {
        let said = said(&format!("fn plan(ctx) {{\n    {line}\n}}"));
        assert!(said.contains(hint), "{line}: {said}");
    }
    let plugin = super::plugin("fn on_reply(ctx) { let a = [1]; ctx.set(\"n\", a.length); }");
    let error = super::PluginRunner::new().call_on_reply(&plugin, serde_json::json!({}), "").error.unwrap();
    assert!(error.message.contains("(write len() here)"), "{}", error.message);
}

/// A byte order mark, which some editors write, is ignored.
#[test]
fn byte_order_mark_in_plugin_files_is_ignored() {
    let marked = |text: &str| format!("\u{feff}{text}");
    let manifest = marked(&format!("{MANIFEST}[state]\nschema = \"s.json\"\n"));
    let plugin = try_plugin(&manifest, &[("s.json", &marked(SCHEMA)), ("main.rhai", &marked("fn on_reply(ctx) { }"))]);
    assert_eq!(plugin.map(|plugin| plugin.warnings().len()).map_err(|error| error.message), Ok(0));
}
