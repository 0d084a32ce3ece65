//! The export command for one branch as a file for other programs, and for everything as a folder.

use tempfile::TempDir;

use super::command::run_clotho;
use super::round_trip::create_session;
use crate::support::test_store::TestStore;

/// S4-53: a branch is exported for SillyTavern and for readers, also while a server runs. Another leaf can be named.
/// Nothing is overwritten, and an unknown message is reported.
#[test]
fn export_command_writes_one_line_as_chat() {
    let store = TestStore::new();
    let story = create_session(&store);
    let (sid, data) = (story.session.to_string(), store.settings.data_dir.clone());
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let text = |name: &str| std::fs::read_to_string(path(name)).unwrap();

    let (code, said, _) = run_clotho(&data, &["export", "sillytavern", &sid, &path("a.jsonl")]);
    assert_eq!((code, said.contains(&sid)), (Some(0), true), "{said}");
    let shown = store.visible_texts(story.session);
    let chat = text("a.jsonl");
    assert!(chat.starts_with("{\"chat_metadata\":") && chat.lines().count() > shown.len(), "{chat}");
    for form in ["markdown", "html"] {
        assert_eq!(run_clotho(&data, &["export", form, &sid, &path(form)]).0, Some(0));
        let words: Vec<&str> = shown.iter().filter_map(|text| text.split_whitespace().next()).collect();
        assert!(words.iter().any(|word| text(form).contains(word)), "{}", text(form));
    }
    let root = store.stored_session(story.session).session.root.to_string();
    assert_eq!(run_clotho(&data, &["export", "sillytavern", &sid, &path("b.jsonl"), "--leaf", &root]).0, Some(0));
    assert_eq!(text("b.jsonl").lines().count(), 1);

    let (code, _, said) = run_clotho(&data, &["export", "html", &sid, &path("html")]);
    assert!(code == Some(1) && said.contains("already exists"), "{said}");
    let (code, _, said) = run_clotho(&data, &["export", "html", &sid, &path("c"), "--leaf", &sid]);
    assert!(code == Some(1) && said.contains("this session has no message"), "{said}");
    assert!(!folder.path().join("c").exists() && !folder.path().join("c.part").exists());
    assert_eq!(run_clotho(&data, &["export", "html", &sid]).0, Some(2));
}

/// S4-53: everything is exported as a folder or as an archive that can be imported elsewhere. A folder that is not
/// empty is left alone. The user whose data is exported can be named.
#[test]
fn export_all_command_writes_folder_or_archive() {
    let store = TestStore::new();
    create_session(&store);
    let data = store.settings.data_dir.clone();
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (code, said, error) = run_clotho(&data, &["export", "sillytavern", "--all", &path("all")]);
    assert!(code == Some(0) && said.contains("1 sessions"), "{said}{error}");
    assert!(folder.path().join("all/settings.json").is_file() && folder.path().join("all/clotho.json").is_file());
    let (code, _, said) = run_clotho(&data, &["export", "sillytavern", "--all", &path("all")]);
    assert!(code == Some(1) && said.contains("not empty"), "{said}");
    assert_eq!(run_clotho(&data, &["export", "sillytavern", "--all", &path("all.zip")]).0, Some(0));
    let (code, _, said) = run_clotho(&data, &["export", "sillytavern", "--all", &path("b"), "--user", "Nobody"]);
    assert!(code == Some(1) && said.contains("the users are "), "{said}");
    let there = folder.path().join("data");
    let (code, said, error) = run_clotho(&there, &["import", "sillytavern", &path("all.zip")]);
    assert!(code == Some(0) && said.contains(" 1 sessions"), "{said}{error}");
}

/// Exported stories are as private as the data folder.
#[cfg(unix)]
#[test]
fn export_all_command_writes_private_files() {
    use std::os::unix::fs::PermissionsExt as _;

    let store = TestStore::new();
    let sid = create_session(&store).session.to_string();
    let data = store.settings.data_dir.clone();
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    assert_eq!(run_clotho(&data, &["export", "--all", &path("all")]).0, Some(0));
    assert_eq!(run_clotho(&data, &["export", "sillytavern", "--all", &path("tavern")]).0, Some(0));
    assert_eq!(run_clotho(&data, &["export", &sid, &path("one.clotho")]).0, Some(0));
    let mode = |name: &str| std::fs::metadata(path(name)).unwrap().permissions().mode() & 0o777;
    for private in ["all", "tavern"] {
        assert_eq!(mode(private), 0o700, "{private}");
    }
    for private in [&format!("all/{sid}.clotho"), "tavern/settings.json", "one.clotho"] {
        assert_eq!(mode(private), 0o600, "{private}");
    }
}
