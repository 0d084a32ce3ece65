//! `clotho plugin test --bless`: writes the result of a case without expectations into its file as `[expect]`. The
//! author reviews it. Existing expectations are never changed.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::CaseReport;
use super::expect::as_in_scripts;
use crate::call::{HookAnswer, HookOutcome};
use crate::loaded::LoadedPlugin;
use crate::plan::TextInjection;

/// Returns the text of a case's file with its result added, even if that is a refusal or an error. `None` if the case
/// has expectations already, or if its result may differ next time.
pub fn bless(plugin: &LoadedPlugin, case: &CaseReport) -> Option<String> {
    let text = plugin.source().text(&case.file)?;
    let outcome = case.outcome.as_ref().filter(|_| case.is_deterministic)?;
    let file: toml::Table = toml::from_str(text).ok()?;
    let nl = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let lines = expectation(plugin, outcome).replace('\n', nl);
    match file.get("expect") {
        None => Some(format!("{}{nl}{nl}[expect]{nl}{lines}", text.trim_end())),
        Some(toml::Value::Table(expect)) if expect.is_empty() => insert_below_header(text, &lines),
        Some(_) => None,
    }
}

/// Inserts lines below `[expect]`; `None` if the table is written in another way.
fn insert_below_header(text: &str, lines: &str) -> Option<String> {
    let is_header = |line: &str| line.split('#').next().unwrap_or_default().trim() == "[expect]";
    let mut out = String::new();
    let mut found = false;
    for line in text.split_inclusive('\n') {
        out.push_str(line);
        if is_header(line) && !found {
            found = true;
            if !line.ends_with('\n') {
                out.push_str(if text.contains("\r\n") { "\r\n" } else { "\n" });
            }
            out.push_str(lines);
        }
    }
    found.then_some(out)
}

/// Returns the lines of `[expect]`.
fn expectation(plugin: &LoadedPlugin, outcome: &HookOutcome) -> String {
    let mut lines = String::new();
    // A failed call has nothing but its error.
    if let Some(error) = &outcome.error {
        return format!("error = {}\n", quoted(&error.message));
    }
    operations(plugin, outcome, &mut lines);
    let mut put = |name: &str, value: Value| {
        if let Some(text) = inline_toml(&value) {
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "{name} = {text}");
        }
    };
    // Notes, warnings and rolls.
    for (name, list) in [("notes", &outcome.notes), ("warnings", &outcome.warnings)] {
        if !list.is_empty() {
            put(name, list.as_slice().into());
        }
    }
    if !outcome.rolls.is_empty() {
        put("rolls", outcome.rolls.iter().map(|roll| roll.total).collect());
    }
    // Requests to the host: injections, model calls, summary, lore.
    if !outcome.plan.injections.is_empty() {
        let text = |one: &TextInjection| json!({"slot": one.slot, "text": one.text});
        put("inject", outcome.plan.injections.iter().map(text).collect());
    }
    if !outcome.model_calls.is_empty() {
        put(
            "asks",
            outcome.model_calls.iter().map(|ask| json!({"name": ask.name, "maxTokens": ask.max_tokens})).collect(),
        );
    }
    if let Some(summary) = &outcome.summary {
        put("summary", summary.to_json());
    }
    for (name, is_in) in [("lore", true), ("unlore", false)] {
        let named = outcome.plan.lore.iter().filter(|choice| choice.is_included == is_in);
        let named: Vec<&str> = named.map(|choice| choice.entry.as_str()).collect();
        if !named.is_empty() {
            put(name, named.into());
        }
    }
    // The return value of the hook.
    match &outcome.answer {
        HookAnswer::Nothing => {}
        HookAnswer::Input { text, reply, stop } => {
            for (name, said) in [("text", text), ("reply", reply)] {
                if let Some(said) = said {
                    put(name, said.as_str().into());
                }
            }
            if *stop {
                put("stop", true.into());
            }
        }
        HookAnswer::Refused(why) => put("refused", why.as_str().into()),
        HookAnswer::Narration(parts) => put("text", parts.concat().into()),
        HookAnswer::Display(shown) => put("text", shown.as_str().into()),
        HookAnswer::Value(value) => put("answer", value.clone()),
        HookAnswer::QuickReplies(replies) => {
            put("labels", replies.iter().map(|reply| reply.label.as_str()).collect());
            put("sends", replies.iter().map(|reply| reply.send.as_str()).collect());
        }
    }
    lines
}

/// Writes the operations, one per line. Their reasons contain amounts and are left out, as are values that TOML cannot
/// express.
fn operations(plugin: &LoadedPlugin, outcome: &HookOutcome, lines: &mut String) {
    let root = &plugin.manifest().state.root;
    let all = outcome.operations.iter().map(|operation| {
        let mut json = as_in_scripts(operation.to_json(), root);
        if let Some(map) = json.as_object_mut() {
            map.shift_remove("why");
        }
        json
    });
    let all: Vec<String> = all.filter_map(|operation| inline_toml(&operation)).collect();
    match all.as_slice() {
        [] => lines.push_str("ops = []\n"),
        all => {
            lines.push_str("ops = [\n");
            for operation in all {
                // Writing to a string cannot fail.
                let _ = writeln!(lines, "  {operation},");
            }
            lines.push_str("]\n");
        }
    }
}

/// Formats a value as one line of TOML; `None` if TOML cannot express it.
fn inline_toml(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(b) => b.to_string(),
        Value::Number(n) => n.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(list) => format!("[{}]", list.iter().map(inline_toml).collect::<Option<Vec<_>>>()?.join(", ")),
        Value::Object(map) => inline_table(map),
    })
}

/// Formats an inline table without `null` values: in each map only written keys are compared.
fn inline_table(map: &Map<String, Value>) -> String {
    let is_bare =
        |key: &str| !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    let pair = |(key, value): (&String, &Value)| {
        let key = if is_bare(key) { key.clone() } else { quoted(key) };
        Some(format!("{key} = {}", inline_toml(value)?))
    };
    let pairs: Vec<String> = map.iter().filter_map(pair).collect();
    if pairs.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", pairs.join(", ")) }
}

fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            // Writing to a string cannot fail.
            c if c.is_control() => drop(write!(out, "\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
