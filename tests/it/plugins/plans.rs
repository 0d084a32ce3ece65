//! The `plan` hook: what a script may request for a prompt, and what it may not.

use clotho_plugin::{Hook, LoreSelection, PluginPromptPlan, ScriptErrorKind, TextInjection};
use serde_json::json;

use super::*;

fn run_plan(script: &str, grants: &[&str]) -> HookOutcome {
    let plugin = plugin(script);
    let mut call = hook_call(Hook::Plan, json!({"hp": 7}), "The last word.");
    call.grants = grants.iter().map(|grant| grant.parse().unwrap()).collect::<Vec<_>>().into();
    PluginRunner::new().call(&plugin, call)
}

const ALL: &[&str] = &[
    "prompt.inject:status",
    "prompt.inject:system",
    "prompt.inject:note",
    "lore.select",
    "state.write:other",
    "notes",
];

/// S3-11: a plan returns injected texts with slot, depth and priority, a selection of lore, and warnings.
#[test]
fn plan_returns_injections_and_lore_selection() {
    let outcome = run_plan(
        r#"fn plan(ctx) {
            ctx.inject("status", `hp ${ctx.get("hp")} after: ${ctx.text}`);
            ctx.inject("system", "Now.", #{ priority: 3 });
            ctx.inject("note", "Later.", #{ priority: -100, depth: 9 });
            ctx.inject("status", "  ");
            ctx.lore("wounds");
            ctx.unlore(" peace ");
            ctx.warn("I thought so.");
        }"#,
        ALL,
    );
    assert_eq!(outcome.error, None);
    let text = |slot: &str, text: &str, depth: usize, priority: i64| TextInjection {
        slot: slot.into(),
        text: text.into(),
        depth,
        priority,
    };
    let wish = |entry: &str, is_in: bool| LoreSelection { entry: entry.into(), is_included: is_in };
    let injected = vec![
        text("status", "hp 7 after: The last word.", 1, 0),
        text("system", "Now.", 0, 3),
        text("note", "Later.", 9, -100),
    ];
    assert_eq!(
        outcome.plan,
        PluginPromptPlan { injections: injected, lore: vec![wish("wounds", true), wish("peace", false)] }
    );
    assert_eq!(outcome.warnings, ["I thought so."]);
}

/// S0-38, S3-11: `plan` cannot write or roll, whatever is granted. A failing hook plans nothing.
#[test]
fn plan_hook_cannot_write_or_roll() {
    let check = |line: &str, kind: ScriptErrorKind, message: &str| {
        let outcome = run_plan(&format!("fn plan(ctx) {{ ctx.inject(\"status\", \"x\"); {line} }}"), ALL);
        let error = outcome.error.clone().unwrap_or_else(|| panic!("{line}"));
        assert_eq!((error.kind, error.message.as_str()), (kind, message), "{line}");
        assert!(outcome.plan.is_empty() && outcome.operations.is_empty() && outcome.rolls.is_empty(), "{line}");
    };
    check("ctx.add(\"hp\", 1);", ScriptErrorKind::Permission, "add(\"hp\"): this hook is read-only");
    check("ctx.set(\"/other/x\", 1);", ScriptErrorKind::Permission, "set(\"/other/x\"): this hook is read-only");
    check("ctx.roll(\"d6\");", ScriptErrorKind::Permission, "roll: this hook is read-only and cannot roll");
    check("ctx.note(\"Seen!\");", ScriptErrorKind::Permission, "note: this hook is read-only");
    let slots =
        "inject(\"staus\"): there is no slot of this name (did you mean \"status\"?); there are status, system, note";
    check("ctx.inject(\"staus\", \"x\");", ScriptErrorKind::Runtime, slots);
    let options = "inject(\"status\"): there is no \"deph\" (did you mean \"depth\"?); there are priority and depth";
    check("ctx.inject(\"status\", \"x\", #{ deph: 1 });", ScriptErrorKind::Runtime, options);
    let depth = "inject(\"status\"): depth must be from 0 to 1000, not -1";
    check("ctx.inject(\"status\", \"x\", #{ depth: -1 });", ScriptErrorKind::Runtime, depth);
    let whole = "inject(\"status\"): priority must be a whole number, not a string";
    check("ctx.inject(\"status\", \"x\", #{ priority: \"high\" });", ScriptErrorKind::Runtime, whole);
    let many = "inject(\"status\"): one call may add at most 20 texts";
    check("for n in 0..20 { ctx.inject(\"status\", `${n}`); }", ScriptErrorKind::Limit, many);
    let long = "let x = \"x\"; x.pad(40000, \"x\"); ctx.inject(\"status\", x); ctx.inject(\"status\", x);";
    let error = run_plan(&format!("fn plan(ctx) {{ {long} }}"), ALL).error.unwrap();
    assert_eq!(error.kind, ScriptErrorKind::Limit, "{error}");
}

/// S3-11: each slot and lore needs its own grant. Other hooks than `plan` cannot change a prompt.
#[test]
fn plan_inject_and_lore_require_grants() {
    let refused = |script: &str, grants: &[&str]| run_plan(script, grants).error.unwrap().message;
    let inject = "fn plan(ctx) { ctx.inject(\"system\", \"x\"); }";
    let needs = "inject(\"system\"): needs the permission \"prompt.inject:system\"";
    assert_eq!(refused(inject, &["prompt.inject:status", "lore.select"]), needs);
    let lore = "lore(\"wounds\"): needs the permission \"lore.select\"";
    assert_eq!(refused("fn plan(ctx) { ctx.lore(\"wounds\"); }", &["prompt.inject:status"]), lore);
    let careful = "fn plan(ctx) { if ctx.may(\"lore.select\") { ctx.lore(\"wounds\"); } }";
    assert_eq!(run_plan(careful, &[]).error, None);
    assert_eq!(run_plan(careful, ALL).plan.lore.len(), 1);
    let unknown = refused("fn plan(ctx) { ctx.may(\"everything\"); }", ALL);
    assert!(unknown.starts_with("may: \"everything\" is not a permission"), "{unknown}");

    let elsewhere = plugin("fn on_reply(ctx) { ctx.lore(\"wounds\"); }");
    let error = PluginRunner::new().call_on_reply(&elsewhere, json!({}), "").error.unwrap();
    assert_eq!(error.message, "lore: only plan(ctx) can change the prompt");
}

/// A permission that the manifest does not request cannot be granted; using it gives a warning at load.
#[test]
fn plan_unrequested_permissions_warn_at_load() {
    let script = "fn plan(ctx) { ctx.inject(\"status\", \"x\"); ctx.unlore(\"a\"); }";
    let warnings = |request: &str| {
        let manifest = format!(
            "id = \"mine\"\ntitle = \"Mine\"\nversion = \"1.0.0\"\napi = \"1\"\n[permissions]\nrequest = [{request}]\n"
        );
        let loaded = try_plugin(&manifest, &[("main.rhai", script)]).unwrap();
        loaded.warnings().iter().map(|warning| warning.message.clone()).collect::<Vec<_>>()
    };
    let told = "needs \"prompt.inject:<slot>\" in the manifest's [permissions] request";
    assert_eq!(warnings("\"lore.select\""), [format!("ctx.inject {told}")]);
    assert_eq!(warnings("\"prompt.inject:status\", \"lore.select\""), Vec::<String>::new());
    assert_eq!(warnings("\"prompt.inject:status\"").len(), 1);
}
