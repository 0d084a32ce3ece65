//! The `clotho export` and `clotho import` commands.

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use super::round_trip::create_session;
use crate::support::test_store::TestStore;

pub fn run_clotho(data: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clotho"));
    command.env("CLOTHO_STORAGE__DATA_DIR", data).env_remove("CLOTHO_CONFIG").current_dir(data.parent().unwrap());
    let Output { status, stdout, stderr } = command.args(arguments).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// S4-04: a session moves out of a data directory, also while a server uses it, and into another. An existing output
/// file, a running server and an invalid file are refused with a hint.
#[test]
fn export_and_import_commands_move_session() {
    let store = TestStore::new();
    let sid = create_session(&store).session.to_string();
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (from, to) = (store.settings.data_dir.clone(), folder.path().join("data"));

    let (code, said, _) = run_clotho(&from, &["export", &sid, &path("story.clotho")]);
    assert_eq!((code, said.contains(&sid)), (Some(0), true), "{said}");
    let (code, _, said) = run_clotho(&from, &["export", &sid, &path("story.clotho")]);
    assert!(code == Some(1) && said.contains("already exists"), "{said}");
    let (code, _, said) = run_clotho(&from, &["export", "018f3e2a-0000-7000-8000-0000000000aa", &path("none.clotho")]);
    assert!(code == Some(1) && said.contains("there is no session"), "{said}");
    assert_eq!(run_clotho(&from, &["export"]).0, Some(2));
    let (code, said, _) = run_clotho(&from, &["export", "--all", &path("all")]);
    assert_eq!((code, said.lines().count()), (Some(0), 1));
    let one = std::fs::read(path("story.clotho")).unwrap();
    assert!(one.len() > 1_000 && folder.path().join(format!("all/{sid}.clotho")).is_file());

    let (code, _, said) = run_clotho(&from, &["import", &path("story.clotho")]);
    assert!(code == Some(1) && said.contains("a server uses the data directory") && said.contains("curl"), "{said}");
    let (code, _, said) = run_clotho(&to, &["export", "--all", &path("none")]);
    assert!(code == Some(1) && said.contains("does not exist"), "{said}");
    std::fs::write(path("broken.clotho"), &one[..one.len() / 2]).unwrap();
    let (code, _, said) = run_clotho(&to, &["import", &path("broken.clotho")]);
    assert!(code == Some(1) && said.contains("nothing of it was kept") && said.contains("line "), "{said}");
    assert_eq!(run_clotho(&to, &["import", &path("story.clotho")]), (Some(0), format!("{sid}\n"), String::new()));
    let (code, said, _) = run_clotho(&to, &["import", &path("story.clotho")]);
    assert!(code == Some(0) && said.trim() != sid, "a copy beside it: {said}");
    assert_eq!(run_clotho(&to, &["export", "--all", &path("both")]).1.lines().count(), 2);
}
