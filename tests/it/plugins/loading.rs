//! Loading plugins: the checks before anything runs, the limits of a folder, and that a broken plugin does not affect
//! others.

use std::path::Path;
use std::sync::Arc;

use clotho_plugin::{
    Catalogue, Hook, LoadedPlugin, PluginOrigin, PluginSource, ScriptErrorKind, ScriptLimits, load_order,
};
use serde_json::json;

use super::*;

/// Returns the kind of the load error, and its file, line and message.
fn load_error(manifest: &str, files: &[(&str, &str)]) -> (ScriptErrorKind, String) {
    let error = try_plugin(manifest, files).unwrap_err();
    let place = format!("{}:{}", error.file.clone().unwrap_or_default(), error.line.unwrap_or_default());
    (error.kind, format!("{place} {}", error.message))
}

#[test]
fn script_parse_errors_are_reported_at_load() {
    let check = |script: &str, message: &str| {
        assert_eq!(
            load_error(MANIFEST, &[("main.rhai", script)]),
            (ScriptErrorKind::Parse, format!("main.rhai:{message}"))
        );
    };
    check(
        "\n\nfn on_reply(ctx) { gold }",
        "3 there is no variable \"gold\" here; functions and closures only see their parameters. Use global::gold \
            for a const of the file",
    );
    check("fn on_reply() {}", "1 the hook takes one value: write \"fn on_reply(ctx)\", not \"fn on_reply()\"");
    check(
        "// x\nfn init(ctx, more) {}",
        "2 the hook takes one value: write \"fn init(ctx)\", not \"fn init(ctx, more)\"",
    );
    check(
        "fn f() {\n let a = 1\n let b = 2;\n}",
        "3 \";\" is missing to terminate this statement (it may be missing at the end of an earlier line)",
    );
    check("eval(\"1\")", "1 \"eval\" is disabled here");
    check("let f = Fn(\"a\"); f.curry(1);", "1 expecting name of a property");
    check(
        "let gold = 1; let f = |x| x + gold;",
        "1 there is no variable \"gold\" here; functions and closures only see their parameters. Use global::gold \
            for a const of the file",
    );
    check("fn clotho_text(x) { x }", "0 \"clotho_text\" is a reserved word");
    check("let match = 1;", "1 \"match\" is a reserved word");
}

#[test]
fn script_files_over_limits_are_refused() {
    let long = "// long\n".repeat(17 << 10);
    let (kind, message) = load_error(MANIFEST, &[("main.rhai", &long)]);
    assert_eq!(
        (kind, message.as_str()),
        (ScriptErrorKind::Limit, "main.rhai:0 a script file may have 128 KiB, and all of them 512 KiB")
    );
    let part = "// long\n".repeat(15 << 10);
    let many: Vec<(String, &str)> = (0..5).map(|n| (format!("p{n}.rhai"), part.as_str())).collect();
    let mut files: Vec<(&str, &str)> = many.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    files.push(("main.rhai", ""));
    assert_eq!(load_error(MANIFEST, &files).0, ScriptErrorKind::Limit);
    let deep = format!("let a = {}1{};", "(".repeat(3_000), ")".repeat(3_000));
    assert_eq!(load_error(MANIFEST, &[("main.rhai", &deep)]).0, ScriptErrorKind::Limit);
    let within = |depth: usize| format!("fn f() {{ let a = {}1{}; a }}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(
        load_error(MANIFEST, &[("main.rhai", &within(40))]).0,
        ScriptErrorKind::Limit,
        "half as deep inside a function"
    );
    assert!(try_plugin(MANIFEST, &[("main.rhai", &within(10))]).is_ok());
    let functions: String = (0..300).map(|n| format!("fn f{n}() {{}}\n")).collect();
    assert_eq!(load_error(MANIFEST, &[("main.rhai", &functions)]).0, ScriptErrorKind::Limit);
    let text = format!("let a = \"{}\";", "x".repeat(70_000));
    assert_ne!(load_error(MANIFEST, &[("main.rhai", &text)]).0, ScriptErrorKind::Host);
}

#[test]
fn plugin_with_missing_files_fails_to_load() {
    assert_eq!(load_error(MANIFEST, &[]).1, "main.rhai:0 the file is missing");
    let with_schema = format!("{MANIFEST}[state]\nschema = \"s.json\"\n");
    assert_eq!(
        load_error(&with_schema, &[("main.rhai", "")]),
        (ScriptErrorKind::Schema, "s.json:0 the file is missing or not UTF-8".into())
    );
    let (kind, message) = load_error(&with_schema, &[("main.rhai", ""), ("s.json", "{\n \"type\": \n}")]);
    assert!(kind == ScriptErrorKind::Schema && message.starts_with("s.json:3 not JSON"), "{message}");
    let (kind, message) = load_error(&with_schema, &[("main.rhai", ""), ("s.json", "{\"tpye\": \"object\"}")]);
    assert!(kind == ScriptErrorKind::Schema && message.contains("tpye"), "{message}");
    let other = MANIFEST.replace("\"mine\"", "\"other\"");
    assert_eq!(
        load_error(&other, &[("main.rhai", "")]).1,
        "plugin.toml:0 the id is \"other\", but the name of the folder is \"mine\""
    );
}

#[test]
fn imports_outside_plugin_folder_are_refused() {
    let good = try_plugin(
        MANIFEST,
        &[
            ("main.rhai", "import \"lib/dice\" as dice; const N = 2; fn on_reply(ctx) { dice::twice(ctx, global::N) }"),
            ("lib/dice.rhai", "import \"lib/more.rhai\" as more; fn twice(ctx, n) { more::more(ctx, n * 2) }"),
            ("lib/more.rhai", "const KEY = \"n\"; fn more(ctx, n) { ctx.add(global::KEY, n) }"),
        ],
    )
    .unwrap();
    let outcome = PluginRunner::new().call_on_reply(&good, json!({}), "");
    assert_eq!(world_of(&outcome).vars["mine"]["n"], json!(4), "{:?}", outcome.error);

    for path in ["../other/main", "/etc/passwd", "lib/../../x", "C:\\x"] {
        let script = format!("fn on_reply(ctx) {{ import {path:?} as x; x::f() }}");
        let error = PluginRunner::new().call_on_reply(&plugin(&script), json!({}), "").error.unwrap();
        assert_eq!(error.kind, ScriptErrorKind::Permission, "{error}");
    }
    let missing = "fn on_reply(ctx) { import \"sya\" as x; x::f() }";
    let loaded = try_plugin(MANIFEST, &[("main.rhai", missing), ("say.rhai", "")]).unwrap();
    let error = PluginRunner::new().call_on_reply(&loaded, json!({}), "").error.unwrap();
    assert_eq!(error.message, "the plugin has no file \"sya.rhai\" (did you mean \"say\"?)");
}

#[test]
fn error_in_imported_file_names_that_file() {
    let files = [
        ("main.rhai", "import \"lib\" as lib;\nfn on_reply(ctx) { lib::f(ctx) }"),
        ("lib.rhai", "fn f(ctx) {\n    g(ctx)\n}\nfn g(ctx) { `${1} ${ctx.get(\"hp\")}` }"),
    ];
    let outcome = PluginRunner::new().call_on_reply(&try_plugin(MANIFEST, &files).unwrap(), json!({}), "");
    assert_eq!(
        outcome.error.unwrap().to_string(),
        "mine/lib.rhai:4:25  in on_reply, plugin mine 1.0.0\n  state has no \"hp\" (give a default: ctx.get(\"hp\", 0))\n      \
         2 |     g(ctx)\n      3 | }\n  >   4 | fn g(ctx) { `${1} ${ctx.get(\"hp\")}` }\n  called from: f < on_reply"
    );
    let broken = [("main.rhai", ""), ("lib.rhai", "fn f( {")];
    assert!(load_error(MANIFEST, &broken).1.starts_with("lib.rhai:1 "));
    let circle =
        [("main.rhai", "import \"a\" as a;"), ("a.rhai", "import \"b\" as b;"), ("b.rhai", "import \"a\" as a;")];
    assert!(load_error(MANIFEST, &circle).1.contains("import each other in a cycle"));
    let endless = [("main.rhai", ""), ("a.rhai", "loop {}")];
    assert_eq!(load_error(MANIFEST, &endless).0, ScriptErrorKind::Limit);
}

#[test]
fn probable_script_mistakes_are_warnings() {
    let script = "const BAD = \"(\";\nfn on_reply(ctx) {\n  if false { ctx.teleprot(1); }\n  ctx.find(global::BAD);\n  ctx.find(\"[\");\n  own(1);\n  ctx.add(\"a\", 1);\n}\nfn own(n) { n.rol() }\nfn add(path, n) {}";
    let warnings: Vec<String> =
        plugin(script).warnings().iter().map(|w| format!("{}: {}", w.line.unwrap(), w.message)).collect();
    assert_eq!(
        warnings,
        [
            "7: this calls \"fn add\" of this file, not ctx.add: rename the function",
            "9: there is no function \"rol\" (did you mean \"roll\"?)",
            "4: the pattern is wrong: unclosed group",
            "5: the pattern is wrong: unclosed character class",
        ]
    );
}

/// A misspelt hook never runs, and only a warning tells so. A function that is called, private or unlike every hook
/// gives none.
#[test]
fn misspelt_hook_name_is_warning() {
    let warnings = |script: &str| -> Vec<String> {
        plugin(script).warnings().iter().map(|w| format!("{}: {}", w.line.unwrap(), w.message)).collect()
    };
    let hooks = "the hooks are init, migrate, on_input, plan, on_reply, on_edit, on_answer, on_greeting, narrate, quick_replies, \
        on_display";
    let check = |script: &str, name: &str, hint: &str| {
        assert_eq!(warnings(script), [format!("2: \"{name}\" is not a hook, and is never called{hint}; {hooks}")]);
    };
    check("\nfn on_replay(ctx) { ctx.add(\"n\", 1); }", "on_replay", " (did you mean \"on_reply\"?)");
    check("\nfn quickreplies(ctx) { [] }", "quickreplies", " (did you mean \"quick_replies\"?)");
    check("\nfn inti(ctx) {}", "inti", " (did you mean \"init\"?)");
    check("\nfn on_every_moon(a, b) {}", "on_every_moon", "");
    let own = "fn on_fire(ctx) { 1 }\nfn on_reply(ctx) { on_fire(ctx) }\nprivate fn on_replays(ctx) {}\nfn sing(ctx) {}\n\
               fn unit(a, b) {}";
    assert_eq!(warnings(own), [""; 0]);
    let files = [("main.rhai", "import \"lib\" as lib;"), ("lib.rhai", "fn on_replay(ctx) {}")];
    assert_eq!(try_plugin(MANIFEST, &files).unwrap().warnings(), [], "only the entry has hooks");
}

/// A permission that is used but not requested cannot be granted, and gives a warning.
#[test]
fn notes_without_permission_request_warn() {
    let script = "fn on_reply(ctx) {\n    ctx.note(\"Ouch.\");\n}";
    let loaded = plugin(script);
    let [warning] = loaded.warnings() else { panic!("{:?}", loaded.warnings()) };
    let words = "ctx.note needs \"notes\" in the manifest's [permissions] request";
    assert_eq!((warning.line, warning.message.as_str()), (Some(2), words));
    let asking = format!("{MANIFEST}[permissions]\nrequest = [\"notes\"]\n");
    assert_eq!(try_plugin(&asking, &[("main.rhai", script)]).unwrap().warnings(), []);
}

/// A plugin that asks a model needs the permission and a hook for the answer; otherwise it gets a warning.
#[test]
fn ask_without_permission_or_on_answer_warns() {
    let script = "fn on_reply(ctx) {\n    ctx.ask(\"n\", #{messages: \"Hm?\"});\n}";
    let said: Vec<String> = plugin(script).warnings().iter().map(|warning| warning.message.clone()).collect();
    let ungranted = "ctx.ask needs \"model.call\" in the manifest's [permissions] request";
    assert_eq!(said, [ungranted, "ctx.ask: the plugin has no on_answer(ctx) to read the answer"]);
}

/// A missing import is found before anything runs. It is an error in the imports of the entry file, which every hook
/// needs, and a warning elsewhere.
#[test]
fn missing_import_is_error_or_warning_at_load() {
    let first = "// Mine\nimport \"lib/dise\" as dice;\nfn on_reply(ctx) {}";
    let missing = |path: &str, hint: &str| format!("the plugin has no file \"{path}.rhai\"{hint}");
    let (kind, message) = load_error(MANIFEST, &[("main.rhai", first), ("lib/dice.rhai", "")]);
    assert_eq!(
        (kind, message),
        (ScriptErrorKind::Parse, format!("main.rhai:2 {}", missing("lib/dise", " (did you mean \"lib/dice\"?)")))
    );
    let (_, message) = load_error(MANIFEST, &[("main.rhai", "import \"../b/main\" as b;")]);
    assert!(message.contains("only files in the plugin's own folder"), "{message}");

    let inside = "fn on_reply(ctx) {\n    if ctx.text == \"never\" {\n        import \"say\" as say;\n        say::f();\n    }\n}";
    let loaded = try_plugin(MANIFEST, &[("main.rhai", inside)]).unwrap();
    let [warning] = loaded.warnings() else { panic!("{:?}", loaded.warnings()) };
    assert_eq!((warning.line, &warning.message), (Some(3), &missing("say", "")));
}

#[test]
fn broken_plugin_is_listed_and_others_load() {
    let temp = tempfile::tempdir().unwrap();
    let put = |name: &str, files: &[(&str, &str)]| {
        let folder = temp.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        for (path, text) in files {
            std::fs::write(folder.join(path), text).unwrap();
        }
    };
    put("broken", &[("plugin.toml", "id = 7\n"), ("main.rhai", "")]);
    put("mine", &[("plugin.toml", MANIFEST), ("main.rhai", "fn init(ctx) {}")]);
    put(".hidden", &[]);
    let limits = ScriptLimits::default();
    let bundled = PluginSource::new(
        "mine",
        PluginOrigin::Bundled,
        [("plugin.toml", MANIFEST.as_bytes().to_vec()), ("main.rhai", b"fn on_reply(ctx) {}".to_vec())],
    );
    let mut catalogue = Catalogue::bundled([bundled], &limits);
    assert!(catalogue.get("mine").unwrap().has_hook(Hook::OnReply));
    catalogue.add_folder(temp.path(), &limits);
    catalogue.add_folder(&temp.path().join("nowhere"), &limits);
    let names: Vec<(&str, bool, PluginOrigin)> =
        catalogue.entries().map(|entry| (entry.name.as_str(), entry.state.is_ok(), entry.origin)).collect();
    assert_eq!(names, [("broken", false, PluginOrigin::Folder), ("mine", true, PluginOrigin::Folder)]);
    assert!(catalogue.get("mine").unwrap().has_hook(Hook::Init), "a folder's plugin stands for the bundled one");
    let error = catalogue.entries().next().unwrap().state.as_ref().unwrap_err();
    assert_eq!((error.file.as_deref(), error.line), (Some("plugin.toml"), Some(1)));
}

/// `performance.md` 2 (idle memory): a bundled plugin is compiled at its first call. What is known of it before is the
/// same as afterwards.
#[test]
fn bundled_plugins_compile_on_first_call() {
    let (limits, folder) = (without_deadline(), Path::new(env!("CARGO_MANIFEST_DIR")).join("plugins"));
    let found = PluginSource::read_all(&folder).unwrap();
    assert!(found.len() >= 6);
    for (name, source) in found {
        let source = source.unwrap();
        let (later, now) =
            (LoadedPlugin::load_lazily(source.clone(), &limits).unwrap(), LoadedPlugin::load(source, &limits).unwrap());
        assert_eq!(later.hooks().collect::<Vec<_>>(), now.hooks().collect::<Vec<_>>(), "{name}");
        assert_eq!((later.code_hash(), now.warnings()), (now.code_hash(), [].as_slice()), "{name}");
    }
    let files =
        [("plugin.toml", MANIFEST.as_bytes()), ("main.rhai", "fn on_reply(ctx) { ctx.set(\"x\", 1); }".as_bytes())];
    let later =
        Arc::new(LoadedPlugin::load_lazily(PluginSource::new("mine", PluginOrigin::Bundled, files), &limits).unwrap());
    let outcome = PluginRunner::new().call_on_reply(&later, json!({}), "");
    assert_eq!(world_of(&outcome).vars["mine"]["x"], 1);
}

/// If the late compilation fails, every call returns that error and has no effect.
#[test]
fn lazy_compile_error_fails_every_call() {
    let files = [("plugin.toml", MANIFEST.as_bytes()), ("main.rhai", "fn on_reply(ctx) { let; }".as_bytes())];
    let later = Arc::new(
        LoadedPlugin::load_lazily(PluginSource::new("mine", PluginOrigin::Bundled, files), &without_deadline())
            .unwrap(),
    );
    for _ in 0..2 {
        let outcome = PluginRunner::new().call_on_reply(&later, json!({}), "");
        let error = outcome.error.unwrap();
        assert_eq!(
            (error.kind, error.file.as_deref(), error.line),
            (ScriptErrorKind::Parse, Some("main.rhai"), Some(1))
        );
        assert!(outcome.operations.is_empty() && outcome.world.is_none());
    }
}

fn plugin_ordered_after(id: &str, after: &str) -> Arc<LoadedPlugin> {
    let manifest = format!("id = \"{id}\"\ntitle = \"T\"\nversion = \"1.0.0\"\napi = \"1\"\nafter = [{after}]\n");
    let files = [("plugin.toml", manifest.into_bytes()), ("main.rhai", Vec::new())];
    Arc::new(LoadedPlugin::load(PluginSource::new(id, PluginOrigin::Folder, files), &ScriptLimits::default()).unwrap())
}

#[test]
fn load_order_follows_after_declarations() {
    let check = |plugins: &[(&str, &str)], expected: &[&str]| {
        let loaded: Vec<_> = plugins.iter().map(|(id, after)| plugin_ordered_after(id, after)).collect();
        let ids: Vec<String> = load_order(&loaded).iter().map(|plugin| plugin.id().to_owned()).collect();
        assert_eq!(ids, expected);
    };
    check(&[("c", ""), ("a", ""), ("b", "")], &["a", "b", "c"]);
    check(&[("a", "\"c\""), ("b", ""), ("c", "")], &["b", "c", "a"]);
    check(&[("a", "\"missing\""), ("b", "")], &["a", "b"]);
    check(&[("a", "\"b\""), ("b", "\"a\""), ("c", "\"a\"")], &["a", "b", "c"]);
}

/// Grants belong to exactly this code: a change of any file changes the hash.
#[test]
fn code_hash_covers_every_file() {
    let hash = |files: &[(&str, &str)]| try_plugin(MANIFEST, files).unwrap().code_hash().to_owned();
    let first = hash(&[("main.rhai", "1"), ("a.txt", "x")]);
    assert_eq!(first, hash(&[("a.txt", "x"), ("main.rhai", "1")]));
    for other in [
        hash(&[("main.rhai", "2"), ("a.txt", "x")]),
        hash(&[("main.rhai", "1"), ("a.txt", "")]),
        hash(&[("main.rhai", "1"), ("b.txt", "x")]),
    ] {
        assert_ne!(first, other);
    }
}

/// Every bundled plugin loads without a warning.
#[test]
fn bundled_plugins_load_without_warnings() {
    let plugins = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("plugins");
    let mut catalogue = Catalogue::default();
    catalogue.add_folder(&plugins, &ScriptLimits::default());
    let mut found = Vec::new();
    for entry in catalogue.entries() {
        let plugin = entry.state.as_ref().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(plugin.warnings(), [], "{}", entry.name);
        found.push(entry.name.as_str());
    }
    assert_eq!(found, ["affinity", "combat", "lantern-keep", "mvu", "quest-log", "summariser"]);
}

/// Bindings throw only the host's opaque refusal, so that "the script threw" and "the host refused" can be told apart.
#[test]
fn ctx_bindings_throw_only_host_refusals() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/plugin/src/ctx");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for way in ["EvalAltResult", "Err(\"", "Err(format!", "?\")"] {
            assert!(!text.contains(way), "{} has {way}", path.display());
        }
    }
}
