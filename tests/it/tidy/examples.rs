//! Examples in the documents are run: the small plugin of the READMEs works, settings are read, the reference names
//! every function and hook.

use std::fs;
use std::sync::Arc;

use clotho_config::Config;
use clotho_core::world::{SchemaSet, World};
use clotho_plugin::{Hook, HookCall, LoadedPlugin, PluginOrigin, PluginSource, ScriptLimits, run};
use regex::Regex;

use super::source_files::{files_with_ending, repository_root};
use super::{expect_none, expect_one};

/// One block of code and the line of text before it.
struct CodeBlock {
    title: String,
    language: String,
    code: String,
}

fn code_blocks(document: &str) -> Vec<CodeBlock> {
    let mut blocks: Vec<CodeBlock> = Vec::new();
    let (mut title, mut is_open) = (String::new(), false);
    for line in document.lines() {
        match line.strip_prefix("```") {
            Some(language) if !is_open => {
                blocks.push(CodeBlock { title: title.clone(), language: language.to_owned(), code: String::new() });
                is_open = true;
            }
            Some(_) => is_open = false,
            None if is_open => blocks.last_mut().unwrap().code += &format!("{line}\n"),
            None if !line.trim().is_empty() => line.clone_into(&mut title),
            None => {}
        }
    }
    blocks
}

fn read_file(path: &str) -> String {
    fs::read_to_string(repository_root().join(path)).unwrap()
}

/// Returns the files of a plugin in a document, by their names.
fn plugin_files(document: &str) -> Vec<(String, Vec<u8>)> {
    let all = code_blocks(document);
    let file = |name: &str| {
        let block = all.iter().find(|block| block.title.starts_with(&format!("`{name}`")));
        (name.to_owned(), block.unwrap_or_else(|| panic!("no block is titled `{name}`")).code.clone().into_bytes())
    };
    ["plugin.toml", "state.schema.json", "main.rhai"].map(file).into()
}

fn gold_after(document: &str, reply: &str) -> (Option<String>, Vec<String>) {
    let plugin = Arc::new(
        LoadedPlugin::load(
            PluginSource::new("purse", PluginOrigin::Folder, plugin_files(document)),
            &ScriptLimits::relaxed(),
        )
        .unwrap(),
    );
    let warnings: Vec<String> = plugin.warnings().iter().map(ToString::to_string).collect();
    assert!(warnings.is_empty(), "{warnings:?}");
    let schema = Arc::clone(plugin.schema().unwrap());
    let rules = Arc::new(SchemaSet::new(vec![(plugin.manifest().state.root.clone(), schema)]).unwrap());
    let begun = run::run(&plugin, HookCall::new(Hook::Init, World::default().into(), Arc::clone(&rules)));
    assert_eq!(begun.error, None);
    let mut call = HookCall::new(Hook::OnReply, begun.world.unwrap(), rules);
    call.text = reply.into();
    call.grants = plugin.manifest().permissions.clone().into();
    let done = run::run(&plugin, call);
    assert_eq!(done.error, None);
    let gold = done.world.unwrap().vars.get("purse").and_then(|purse| purse.get("gold")).map(ToString::to_string);
    (gold, done.notes)
}

#[test]
fn readme_plugin_example_runs() {
    let english = read_file("README.md");
    assert_eq!(gold_after(&english, "She finds 5 gold and pays 3 gold for bread."), (Some("12".into()), vec![]));
    let (gold, notes) = gold_after(&english, "He loses 40 gold to the sea.");
    assert_eq!((gold, notes), (Some("0".into()), vec!["The purse is empty.".to_owned()]));
    let chinese = read_file("README.zh-CN.md");
    assert_eq!(gold_after(&chinese, "她捡到5枚金币，付了3枚金币买面饼。"), (Some("12".into()), vec![]));
    assert_eq!(gold_after(&chinese, "他丢了40枚金币。").1, ["钱袋空了。"]);
}

/// Returns the problems of the settings in a document's blocks.
fn settings_errors(path: &str, document: &str) -> Vec<String> {
    let is_settings = |block: &CodeBlock| block.language == "toml" && block.code.contains("[[providers]]");
    let found = code_blocks(document).into_iter().filter(is_settings);
    let env = || [("OPENROUTER_API_KEY".to_owned(), "key".to_owned())].into_iter();
    found
        .filter_map(|block| Config::load(None, Some(block.code), env()).err())
        .map(|e| format!("{path}: {e}"))
        .collect()
}

#[test]
fn document_settings_examples_parse() {
    expect_one(
        &settings_errors("a.md", "```toml\n[[providers]]\nid = \"x\"\nbase_ulr = \"http://a\"\n```\n"),
        "base_ulr",
    );
    expect_none(
        &files_with_ending("", ".md")
            .iter()
            .flat_map(|file| settings_errors(&file.path, &file.text))
            .collect::<Vec<_>>(),
    );
}

#[test]
fn reference_manifest_example_parses() {
    let document = read_file("docs/modders.md");
    let all = code_blocks(&document);
    let manifest = all.iter().find(|block| block.code.starts_with("id = \"purse\"")).unwrap();
    clotho_plugin::Manifest::parse(&manifest.code, "purse", &ScriptLimits::default()).unwrap();
}

/// Returns the functions and properties of `ctx` that a document does not name.
fn undocumented_ctx_names(sources: &str, document: &str) -> Vec<String> {
    let registered = Regex::new(r#"surface\s*\.(?:add|get)\(\s*"(\w+)""#).unwrap();
    let names = registered.captures_iter(sources).map(|found| found[1].to_owned());
    let mut missing: Vec<String> =
        names.filter(|name| *name != "clamp").filter(|name| !document.contains(&format!("`ctx.{name}"))).collect();
    missing.dedup();
    missing.iter().map(|name| format!("docs/modders.md does not name ctx.{name}")).collect()
}

#[test]
fn reference_lists_every_function_and_hook() {
    expect_one(&undocumented_ctx_names("surface.add(\n    \"dance\",\n", "`ctx.roll(x)`"), "ctx.dance");
    let document = read_file("docs/modders.md");
    let sources: String =
        files_with_ending("crates/plugin/src/ctx", ".rs").iter().map(|file| file.text.as_str()).collect();
    assert!(sources.matches("surface").count() > 20, "the functions of ctx are not registered as they were");
    let hooks = Hook::ALL.map(Hook::name).into_iter().filter(|hook| !document.contains(&format!("`{hook}(ctx")));
    let hooks = hooks.map(|hook| format!("docs/modders.md does not name the hook {hook}"));
    expect_none(&undocumented_ctx_names(&sources, &document).into_iter().chain(hooks).collect::<Vec<_>>());
}

/// Returns the routes that only the table or only the document has.
fn route_differences(source: &str, document: &str) -> Vec<String> {
    let in_table = Regex::new(r#"route\(\s*([A-Z]+),\s*"([^"]+)""#).unwrap();
    let in_document = Regex::new(r"`(GET|POST|PUT|PATCH|DELETE) (/[^`\s?]*)`").unwrap();
    let is_told =
        |path: &str| path.starts_with("/api/") && !path.ends_with(".css") || path.ends_with('z') || path == "/metrics";
    let all = |text: &str, pattern: &Regex| -> Vec<String> {
        let found = pattern.captures_iter(text).map(|found| format!("{} {}", &found[1], found[2].replace(":.*}", "}")));
        found.filter(|route| is_told(route.split(' ').nth(1).unwrap())).collect()
    };
    let routes = document.split("## Routes").nth(1).unwrap_or_default();
    let (mut table, told) = (all(source, &in_table), all(routes, &in_document));
    // One kind of link of a lorebook has two routes.
    let links = Regex::new(r#"link_routes::<[^>]*>\(\s*"([^"]+)""#).unwrap();
    table.extend(
        links.captures_iter(source).flat_map(|found| ["PUT", "DELETE"].map(|method| format!("{method} {}", &found[1]))),
    );
    let untold = table.iter().filter(|route| !told.contains(route)).map(|route| format!("docs/api.md lacks {route}"));
    let gone = told
        .iter()
        .filter(|route| !table.contains(route))
        .map(|route| format!("docs/api.md tells of {route}, which is not there"));
    untold.chain(gone).collect()
}

#[test]
fn api_document_lists_all_routes() {
    let table = "route(GET, \"/api/a\", User, \"A\", a)";
    expect_one(&route_differences(table, "## Routes\n`GET /api/a` `POST /api/a`"), "POST /api/a, which is not there");
    expect_one(&route_differences(table, "## Routes\n"), "lacks GET /api/a");
    let table = read_file("src/http/mod.rs");
    assert!(table.matches("route(").count() > 30, "the table of routes is not written as it was");
    expect_none(&route_differences(&table, &read_file("docs/api.md")));
}

#[test]
fn reference_test_case_example_passes() {
    let reference = read_file("docs/modders.md");
    let case =
        code_blocks(&reference).into_iter().find(|block| block.title.starts_with("`tests/market.toml`")).unwrap();
    let files = plugin_files(&read_file("README.md"))
        .into_iter()
        .chain([("tests/market.toml".to_owned(), case.code.into_bytes())]);
    let plugin =
        LoadedPlugin::load(PluginSource::new("purse", PluginOrigin::Folder, files), &ScriptLimits::relaxed()).unwrap();
    let report = clotho_plugin::testing::run_tests(&Arc::new(plugin));
    assert!(report.passed() && report.cases.len() == 1, "{report}");
}
