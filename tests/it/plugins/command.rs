//! `clotho plugin …` as it is typed.

use std::path::Path;
use std::process::Command;

/// What the program says in a folder: its exit code, what was asked for, and what went wrong.
fn clotho(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clotho"));
    let output = command.args(arguments).current_dir(folder).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// A bundled plugin is in the program without its tests: that is said, and is no success. By its folder it is tested, also
/// by the folder one stands in.
#[test]
fn testing_says_what_there_was_to_test() {
    let nowhere = tempfile::tempdir().unwrap();
    let (code, said, wrong) = clotho(nowhere.path(), &["plugin", "test", "combat"]);
    assert_eq!((code, said.as_str()), (1, "0 passed, 0 failed\n"));
    assert!(wrong.starts_with("combat ") && wrong.contains("no tests; the program carries"), "{wrong}");
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("plugins");
    for (folder, name) in [(plugins.clone(), "./combat"), (plugins.join("combat"), ".")] {
        let (code, said, wrong) = clotho(&folder, &["plugin", "test", name]);
        assert_eq!((code, wrong.as_str()), (0, ""), "{said}");
        assert!(said.contains("ok   tests/") && said.ends_with(" passed, 0 failed\n"), "{said}");
    }
    let (code, _, wrong) = clotho(nowhere.path(), &["plugin", "test", "nobody"]);
    assert_eq!(code, 1);
    assert!(wrong.contains("no plugin is named \"nobody\""), "{wrong}");
}

/// What is wrong with a plugin is shown under the name of its folder, also when that is `.`.
#[test]
fn a_plugin_that_does_not_parse_is_shown() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("broken");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("plugin.toml"), "id = 7\n").unwrap();
    for command in ["check", "test"] {
        let (code, said, wrong) = clotho(&folder, &["plugin", command, "."]);
        assert_eq!((code, said.as_str()), (1, ""));
        assert!(wrong.contains("broken/plugin.toml:1:6"), "{wrong}");
    }
}

/// A hook with a wrong name is found by `check` and by `test`, though every test passes.
#[test]
fn a_hook_with_a_wrong_name_is_found() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("purse");
    std::fs::create_dir_all(folder.join("tests")).unwrap();
    let manifest = "id = \"purse\"\ntitle = \"Purse\"\nversion = \"1.0.0\"\napi = \"1\"\n";
    std::fs::write(folder.join("plugin.toml"), manifest).unwrap();
    std::fs::write(folder.join("main.rhai"), "fn init(ctx) {}\nfn on_replay(ctx) { ctx.add(\"n\", 1); }\n").unwrap();
    std::fs::write(folder.join("tests/a.toml"), "hook = \"init\"\n[expect]\nops = []\n").unwrap();
    for (command, end) in [("check", "purse 1.0.0: 1 warning\n"), ("test", "1 passed, 0 failed, 1 warning\n")] {
        let (code, said, wrong) = clotho(temp.path(), &["plugin", command, "purse"]);
        assert!(code == 1 && said.ends_with(end), "{said}");
        assert!(wrong.contains("purse/main.rhai:2") && wrong.contains("did you mean \"on_reply\"?"), "{wrong}");
    }
}
