//! The `clotho import sillytavern` command.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::data_root::{DataRoot, greeting_row, header_row, user_row};
use crate::support::test_store::TestStore;

pub fn run_clotho(data: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clotho"));
    command.env("CLOTHO_STORAGE__DATA_DIR", data).env_remove("CLOTHO_CONFIG").current_dir(data.parent().unwrap());
    let Output { status, stdout, stderr } = command.args(arguments).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// S4-53: a folder is imported for the owner or a named user, with a report. A dry run only reports, a second run adds
/// nothing, and each error says what to do.
#[test]
fn import_command_reads_folder_and_reports() {
    // A card, and a chat with one broken line.
    let (home, root) = (TempDir::new().unwrap(), DataRoot::new());
    let data = home.path().join("data");
    root.write_card("Ivo");
    let broken = "{\"mes\": \"cut";
    let rows =
        [header_row(json!({"note_prompt": "dark"})), greeting_row(), user_row("Hm.", 1)].map(|row| row.to_string());
    root.write_file("chats/Ivo/Night.jsonl", &format!("{}\n{broken}", rows.join("\n")));
    let path = root.path().to_str().unwrap();

    // A dry run, an import with a JSON report, and a second import.
    let (code, told, _) = run_clotho(&data, &["import", "sillytavern", path, "--dry-run"]);
    assert!(
        code == Some(0) && told.contains("would be imported: 1 characters, 0 personas, 1 sessions, 2 messages"),
        "{told}"
    );
    let (code, told, _) = run_clotho(&data, &["import", "sillytavern", path, "--json"]);
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!((code, &told["totals"]["sessions"], &told["totals"]["skipped"]), (Some(0), &json!(1), &json!(1)));
    let findings = told["report"]["items"][1]["findings"].to_string();
    assert!(
        findings.contains("\"line\":4") && findings.contains("not JSON") && findings.contains("author_note"),
        "{findings}"
    );
    let (code, told, _) = run_clotho(&data, &["import", "sillytavern", path]);
    assert!(
        code == Some(0) && told.contains("0 sessions, 0 messages; 1 chats read, 1 of them already known"),
        "{told}"
    );

    // Errors: user, folder, path, time zone, arguments.
    let (code, _, said) = run_clotho(&data, &["import", "sillytavern", path, "--user", "Nobody"]);
    assert!(code == Some(1) && said.contains("the users are You"), "{said}");
    let (code, _, said) = run_clotho(&data, &["import", "sillytavern", home.path().to_str().unwrap()]);
    assert!(code == Some(1) && said.contains("no folder characters or chats"), "{said}");
    let (code, _, said) = run_clotho(&data, &["import", "sillytavern", "/nonexistent"]);
    assert!(code == Some(1) && said.contains("/nonexistent was not imported at all"), "{said}");
    assert!(!said.contains("continues from there"), "{said}");
    for offset in ["99", "-40", "NaN", "east"] {
        let (code, _, said) = run_clotho(&data, &["import", "sillytavern", path, "--utc-offset", offset]);
        assert!(code == Some(2) && said.contains("between -25 and 25"), "{said}");
    }
    assert_eq!(run_clotho(&data, &["import"]).0, Some(2));
    // A server uses the data directory.
    let running = TestStore::new();
    let (code, _, said) = run_clotho(&running.settings.data_dir, &["import", "sillytavern", path]);
    assert!(code == Some(1) && said.contains("a server uses the data directory"), "{said}");
}
