//! Generates the reference of everything scripts can call from its single registration: the page for people
//! (`docs/plugins/reference.md`) and the definitions file for an editor's language server.

use std::collections::BTreeSet;

use super::call::Hook;
use super::ctx::{self, FunctionDoc};
use super::interpolate::FUNCTION;
use super::script_functions::script_functions;

/// Returns the page `docs/plugins/reference.md`.
pub fn page() -> String {
    let mut page = String::from(
        "# What scripts can call\n\n\
         `clotho plugin doc` generates this page: edit the registration, not this page. `docs/modders.md` says when each\n\
         hook runs and how to write one.\n\n## Hooks\n\n| hook | when | may write and roll |\n| --- | --- | --- |\n",
    );
    for hook in Hook::ALL {
        let may = if hook.may_write() { "yes" } else { "no" };
        page += &format!("| `{}` | {} | {may} |\n", hook.name(), hook.description());
    }
    let described = ctx::function_docs();
    let mut group = "";
    for one in &described {
        if one.group != group {
            group = one.group;
            page += &format!("\n## {group}\n\n| | gives | |\n| --- | --- | --- |\n");
        }
        page += &format!("| `{}` | {} | {} |\n", call(one), result(one), table_cell(&one.doc));
    }
    page += "\n## Functions of Rhai\n\nScripts can also call these functions. [The Rhai book](https://rhai.rs/book/) describes them.\n\n";
    page += &wrapped(&standard(&described));
    page
}

/// Documentation of one function or property that Clotho provides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferenceItem {
    pub name: String,
    /// Whether it is called on `ctx`.
    pub is_of_ctx: bool,
    /// Whether it is read without parentheses.
    pub is_property: bool,
    /// How it is called, with the parameter types.
    pub signature: String,
    /// Type of the result; empty for none.
    pub result: String,
    /// Heading of its group.
    pub group: &'static str,
    /// What it does.
    pub doc: String,
}

/// Returns everything that Clotho provides to scripts, in the order of the page.
pub fn items() -> Vec<ReferenceItem> {
    let item = |one: FunctionDoc| ReferenceItem {
        signature: call(&one),
        result: result(&one),
        is_of_ctx: one.params.first().is_some_and(|first| first.starts_with("ctx:")),
        is_property: one.is_property,
        name: one.name,
        group: one.group,
        doc: one.doc,
    };
    ctx::function_docs().into_iter().map(item).collect()
}

/// Returns the names that come from the language itself.
pub fn language() -> Vec<String> {
    standard(&ctx::function_docs()).into_iter().collect()
}

/// Returns the notation of a call, such as `ctx.get(path, default)`, with types.
fn call(one: &FunctionDoc) -> String {
    let (of_ctx, params) = match one.params.split_first() {
        Some((first, rest)) if first.starts_with("ctx:") => ("ctx.", rest),
        _ => ("", one.params.as_slice()),
    };
    if one.is_property {
        return format!("{of_ctx}{}", one.name);
    }
    let params: Vec<String> = params.iter().map(|param| param.replace(": ?", "")).collect();
    format!("{of_ctx}{}({})", one.name, params.join(", "))
}

fn result(one: &FunctionDoc) -> String {
    match one.result.as_str() {
        "()" => String::new(),
        "?" => "any value".to_owned(),
        other => other.to_owned(),
    }
}

/// Escapes a text for a table cell.
fn table_cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

/// Returns the names of the standard library that a script can write.
fn standard(described: &[FunctionDoc]) -> BTreeSet<String> {
    let is_word = |name: &str| name.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_own = |name: &str| described.iter().any(|one| one.name == name);
    // Leave out functions that only explain their absence, those that need a clock, and those only the host calls.
    let is_refused = |name: &str| matches!(name, "sleep" | "timestamp" | "elapsed") || name == FUNCTION;
    let names = script_functions().iter().map(|function| function.name.as_str());
    let names = names.filter(|name| is_word(name) && !name.contains('$') && !is_own(name) && !is_refused(name));
    names.map(str::to_owned).collect()
}

fn wrapped(names: &BTreeSet<String>) -> String {
    let (mut text, mut line) = (String::new(), String::new());
    for name in names {
        if line.len() + name.len() > 110 {
            text += line.trim_end();
            text.push('\n');
            line.clear();
        }
        line += &format!("`{name}` ");
    }
    text + line.trim_end() + "\n"
}

/// Returns the definitions file for an editor's language server.
pub fn definitions() -> String {
    let mut file = String::from("module static;\n");
    for one in ctx::function_docs() {
        let params: Vec<String> = one.params.iter().map(|param| typed(param)).collect();
        let get = if one.is_property { "get " } else { "" };
        file += &format!("\n/// {}\nfn {get}{}({}) -> {};\n", one.doc, one.name, params.join(", "), kind(&one.result));
    }
    file
}

/// Converts `path: string` to the type name of the language server.
fn typed(param: &str) -> String {
    match param.split_once(": ") {
        Some((name, of)) => format!("{name}: {}", kind(of)),
        None => param.to_owned(),
    }
}

fn kind(name: &str) -> &str {
    match name {
        "string" => "String",
        "number" => "?",
        map if map.starts_with("#{") => "Map",
        other => other,
    }
}
