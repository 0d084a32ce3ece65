//! The `clotho plugin …` commands.

use std::path::Path;
use std::process::Command;

/// Runs the program in a folder. Returns its exit code, stdout and stderr.
fn run_clotho(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clotho"));
    let output = command.args(arguments).current_dir(folder).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Bundled plugins are in the program without their tests: testing one by id reports that and fails. Its folder can be
/// tested, also as the current folder.
#[test]
fn plugin_test_of_bundled_plugin_reports_no_tests() {
    let nowhere = tempfile::tempdir().unwrap();
    let (code, said, wrong) = run_clotho(nowhere.path(), &["plugin", "test", "combat"]);
    assert_eq!((code, said.as_str()), (1, "0 passed, 0 failed\n"));
    assert!(
        wrong.starts_with("combat ") && wrong.contains("no tests; bundled plugins have no tests in the program"),
        "{wrong}"
    );
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("plugins");
    for (folder, name) in [(plugins.clone(), "./combat"), (plugins.join("combat"), ".")] {
        let (code, said, wrong) = run_clotho(&folder, &["plugin", "test", name]);
        assert_eq!((code, wrong.as_str()), (0, ""), "{said}");
        assert!(said.contains("ok   tests/") && said.ends_with(" passed, 0 failed\n"), "{said}");
    }
    let (code, _, wrong) = run_clotho(nowhere.path(), &["plugin", "test", "nobody"]);
    assert_eq!(code, 1);
    assert!(wrong.contains("there is no plugin \"nobody\""), "{wrong}");
}

/// Problems of a plugin are shown under its folder's name, also for the folder `.`.
#[test]
fn plugin_check_parse_error_names_folder_and_line() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("broken");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("plugin.toml"), "id = 7\n").unwrap();
    for command in ["check", "test"] {
        let (code, said, wrong) = run_clotho(&folder, &["plugin", command, "."]);
        assert_eq!((code, said.as_str()), (1, ""));
        assert!(wrong.contains("broken/plugin.toml:1:6"), "{wrong}");
    }
}

/// `check` and `test` both report a misspelt hook, even if every test passes.
#[test]
fn plugin_check_and_test_report_misspelt_hook() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("purse");
    std::fs::create_dir_all(folder.join("tests")).unwrap();
    let manifest = "id = \"purse\"\ntitle = \"Purse\"\nversion = \"1.0.0\"\napi = \"1\"\n";
    std::fs::write(folder.join("plugin.toml"), manifest).unwrap();
    std::fs::write(folder.join("main.rhai"), "fn init(ctx) {}\nfn on_replay(ctx) { ctx.add(\"n\", 1); }\n").unwrap();
    std::fs::write(folder.join("tests/a.toml"), "hook = \"init\"\n[expect]\nops = []\n").unwrap();
    for (command, end) in [("check", "purse 1.0.0: 1 warning\n"), ("test", "1 passed, 0 failed, 1 warning\n")] {
        let (code, said, wrong) = run_clotho(temp.path(), &["plugin", command, "purse"]);
        assert!(code == 1 && said.ends_with(end), "{said}");
        assert!(wrong.contains("purse/main.rhai:2") && wrong.contains("did you mean \"on_reply\"?"), "{wrong}");
    }
}

/// Every template of a new plugin passes check and tests. Existing files are never overwritten.
#[test]
fn plugin_new_templates_pass_check_and_tests() {
    let temp = tempfile::tempdir().unwrap();
    for (template, tests) in [("counter", 3), ("combat", 5), ("affinity", 3)] {
        let id = format!("my-{template}");
        let (code, said, wrong) = run_clotho(temp.path(), &["plugin", "new", &id, "--template", template]);
        assert_eq!((code, wrong.as_str()), (0, ""), "{said}");
        assert!(said.contains(&format!("clotho plugin test ./{id}\n")) && said.contains("[plugins] dir = "), "{said}");
        let (code, said, wrong) = run_clotho(temp.path(), &["plugin", "check", &id]);
        assert_eq!((code, said, wrong.as_str()), (0, format!("{id} 0.1.0: 0 warnings\n"), ""));
        let (code, said, wrong) = run_clotho(temp.path(), &["plugin", "test", &id]);
        assert_eq!((code, wrong.as_str()), (0, ""), "{said}");
        assert!(said.ends_with(&format!("{tests} passed, 0 failed\n")), "{said}");
    }
    let readme = std::fs::read_to_string(temp.path().join("my-counter").join("README.md")).unwrap();
    assert!(readme.contains("\nclotho plugin check my-counter\n"), "{readme}");
    let script = temp.path().join("my-counter/main.rhai");
    std::fs::write(&script, "// mine\n").unwrap();
    let (code, said, wrong) = run_clotho(temp.path(), &["plugin", "new", "my-counter"]);
    assert_eq!((code, said.as_str()), (1, ""));
    assert!(wrong.contains("already exists"), "{wrong}");
    assert_eq!(std::fs::read_to_string(&script).unwrap(), "// mine\n");
    for bad in ["Purse", "../purse", "a/b", "", "1st"] {
        let (code, said, wrong) = run_clotho(temp.path(), &["plugin", "new", bad]);
        assert_eq!((code, said.as_str()), (1, ""), "{bad}");
        assert!(wrong.contains("an id has lower-case letters"), "{bad}: {wrong}");
    }
    let (code, said, _) = run_clotho(temp.path(), &["plugin", "new", "deep", "--into", "plugins/of/mine"]);
    assert!(code == 0 && temp.path().join("plugins/of/mine/deep/tests/begin.toml").is_file(), "{said}");
    let readme = std::fs::read_to_string(temp.path().join("plugins/of/mine/deep").join("README.md")).unwrap();
    assert!(
        readme.contains("\nclotho plugin test plugins/of/mine/deep\n") && !said.contains("has a bundled plugin"),
        "{readme}"
    );
    let (code, said, _) = run_clotho(temp.path(), &["plugin", "new", "combat"]);
    assert!(code == 0 && said.contains("has a bundled plugin \"combat\""), "{said}");
}

/// `test --bless` writes the results of a case that expects nothing into its file, once. What the author wrote stays.
#[test]
fn plugin_test_bless_writes_results_once() {
    // A plugin with two cases that expect nothing, and one that expects something.
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("purse");
    std::fs::create_dir_all(folder.join("tests")).unwrap();
    let manifest = "id = \"purse\"\ntitle = \"Purse\"\nversion = \"1.0.0\"\napi = \"1\"\n";
    std::fs::write(folder.join("plugin.toml"), manifest).unwrap();
    let script = "fn on_reply(ctx) { ctx.add(\"gold\", -3, \"3 paid\"); ctx.insert(\"bag\", \"a \\\"b\\\"\", 1.5); ctx.warn(\"odd\"); }\n\
                  fn quick_replies(ctx) { [#{ label: \"Pay\\n\", send: \"/pay\" }] }\n";
    std::fs::write(folder.join("main.rhai"), script).unwrap();
    let cases = [
        ("bare", "# Nothing yet.\nhook = \"on_reply\"\nstate = { gold = 9 }"),
        ("empty", "hook = \"quick_replies\"\n[expect] # none\n\n[config]\n"),
        ("mine", "hook = \"on_reply\"\n[expect]\nwarnings = [\"odd\"]\n"),
    ];
    let file = |name: &str| folder.join(format!("tests/{name}.toml"));
    for (name, text) in cases {
        std::fs::write(file(name), text).unwrap();
    }
    // The first run writes both.
    let (code, said, wrong) = run_clotho(temp.path(), &["plugin", "test", "purse", "--bless"]);
    assert_eq!((code, wrong.as_str()), (0, ""), "{said}");
    assert_eq!(said.matches("wrote the expectations of ").count(), 2, "{said}");
    assert!(said.ends_with("3 passed, 0 failed\n"), "{said}");
    let read = |name: &str| std::fs::read_to_string(file(name)).unwrap();
    assert_eq!(
        read("bare"),
        "# Nothing yet.\nhook = \"on_reply\"\nstate = { gold = 9 }\n\n[expect]\nops = [\n  \
         { op = \"add\", path = \"gold\", value = -3 },\n  \
         { op = \"insert\", path = \"bag\", key = \"a \\\"b\\\"\", value = 1.5 },\n]\nwarnings = [\"odd\"]\n"
    );
    assert_eq!(
        read("empty"),
        "hook = \"quick_replies\"\n[expect] # none\nops = []\nlabels = [\"Pay\\n\"]\nsends = [\"/pay\"]\n\n[config]\n"
    );
    assert_eq!(read("mine"), cases[2].1);
    // A second run writes nothing, even if the results differ.
    let (code, said, _) = run_clotho(temp.path(), &["plugin", "test", "purse", "--bless"]);
    assert!(code == 0 && !said.contains("blessed"), "{said}");
    std::fs::write(folder.join("main.rhai"), script.replace("-3", "-4")).unwrap();
    let (code, said, _) = run_clotho(temp.path(), &["plugin", "test", "purse", "--bless"]);
    assert!(code == 1 && said.contains("FAIL tests/bare.toml") && !said.contains("blessed"), "{said}");
    // A bundled plugin has no files to write.
    let (code, _, wrong) = run_clotho(temp.path(), &["plugin", "test", "combat", "--bless"]);
    assert!(code == 1 && wrong.contains("bundled with the program"), "{wrong}");
}

/// A value that is set where it should be added to gives a warning, also in a case that asks for no other base.
#[test]
fn plugin_test_warns_of_set_used_as_add() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("purse");
    std::fs::create_dir_all(folder.join("tests")).unwrap();
    let manifest = "id = \"purse\"\ntitle = \"Purse\"\nversion = \"1.0.0\"\napi = \"1\"\n";
    std::fs::write(folder.join("plugin.toml"), manifest).unwrap();
    let script =
        "fn on_reply(ctx) { ctx.set(\"hp\", ctx.get(\"hp\") - 12); ctx.set(\"shown\", ctx.get(\"hp\") + 1); }\n";
    std::fs::write(folder.join("main.rhai"), script).unwrap();
    let case = "hook = \"on_reply\"\nstate = { hp = 40, shown = 41 }\ngraft = false\n[expect]\nstate.hp = 28\n";
    std::fs::write(folder.join("tests/a.toml"), case).unwrap();
    let (code, said, _) = run_clotho(temp.path(), &["plugin", "test", "purse"]);
    assert_eq!(code, 1, "{said}");
    let warning =
        "warning: the set of hp to 28 looks like an add: ctx.add(\"hp\", -12) stays correct if hp is not 40\n";
    assert!(said.contains(warning) && said.ends_with("1 passed, 0 failed, 1 warning\n"), "{said}");
}

/// The reference document equals the output of `plugin doc`. The definitions for editors have the same names and
/// types.
#[test]
fn plugin_doc_and_defs_match_reference() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (code, said, wrong) = run_clotho(top, &["plugin", "doc"]);
    assert_eq!((code, wrong.as_str()), (0, ""));
    let page = std::fs::read_to_string(top.join("docs/plugins/reference.md")).unwrap();
    assert!(said == page, "docs/plugins/reference.md is stale: clotho plugin doc > docs/plugins/reference.md");
    let temp = tempfile::tempdir().unwrap();
    for folder in [vec![], vec!["nowhere"]] {
        let (code, said, wrong) = run_clotho(temp.path(), &[vec!["plugin", "defs"], folder].concat());
        assert_eq!((code, said.as_str()), (1, ""), "{wrong}");
    }
    assert!(!temp.path().join(".rhai").exists() && !temp.path().join("nowhere").exists());
    std::fs::create_dir(temp.path().join("purse")).unwrap();
    std::fs::write(temp.path().join("purse/plugin.toml"), "").unwrap();
    let (code, said, _) = run_clotho(temp.path(), &["plugin", "defs"]);
    assert_eq!((code, said.as_str()), (0, "./.rhai/clotho.d.rhai\n"));
    let defs = std::fs::read_to_string(temp.path().join(".rhai/clotho.d.rhai")).unwrap();
    assert!(defs.starts_with("module static;\n"), "{defs}");
    for line in [
        "/// Rolls dice like \"2d6+3\", \"d20\" or \"4d6kh3\": #{total, dice}.\nfn roll(ctx: Ctx, spec: String) -> Map;\n",
        "fn get text(ctx: Ctx) -> String;\n",
        "fn add(ctx: Ctx, path: String, n: ?, why: String) -> ();\n",
    ] {
        assert!(defs.contains(line), "{line}{defs}");
    }
}
