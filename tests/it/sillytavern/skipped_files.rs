//! Files of a folder that are not read: each is reported by name or counted.

use super::*;
use crate::support::data_root::{DataRoot, greeting_row, user_row};

/// Returns what the report says about a folder.
fn finding_messages(arrived: &ForeignImportResult, folder: &str) -> Vec<String> {
    let of = arrived.report.items.iter().filter(|item| item.name == folder);
    of.flat_map(|item| &item.findings).map(|finding| finding.message.clone()).collect()
}

/// S4-53: files of other kinds inside the folders that are read are named; if there are many, they are counted with
/// examples. Deeper files and expression pictures are counted.
#[test]
fn skipped_files_of_other_kinds_are_reported() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo");
    root.write_chat("Ivo", "Night", &[greeting_row(), user_row("Hm.", 1)]);
    for name in [
        "characters/notes.txt",
        "characters/Ivo/joy.png",
        "characters/Ivo/sad/1.png",
        "chats/stray.jsonl",
        "chats/Ivo/old.txt",
        "chats/Ivo/deeper/Day.jsonl",
        "chats/Ivo/deeper/still/Day.jsonl",
        "worlds/readme.txt",
        "User Avatars/list.csv",
        "group chats/a.bak",
        "themes/dark.css",
    ] {
        root.write_file(name, "x");
    }
    for n in 0..30 {
        root.write_file(&format!("groups/{n:02}.txt"), "x");
    }
    let arrived = import_folder(&store, root.path());
    let check =
        |folder: &str, words: &[&str]| assert_eq!(finding_messages(&arrived, folder), words, "{}", arrived.report);
    check(
        "characters",
        &[
            "not imported: 1 file of another type: notes.txt",
            "not imported, 2 files: expression images and other files, which are not used here",
        ],
    );
    check("chats", &["not imported: 1 file not in the folder of a card: stray.jsonl"]);
    check("chats/Ivo", &["not imported: 3 files of another type: deeper/, old.txt"]);
    check("worlds", &["not imported: 1 file of another type: readme.txt"]);
    check("User Avatars", &["not imported: 1 file of another type: list.csv"]);
    check("group chats", &["not imported: 1 file of another type: a.bak"]);
    check("themes", &["not imported: 1 file of another type: dark.css"]);
    check("groups", &["not imported: 30 files of another type: 00.txt, 01.txt, 02.txt, 03.txt, 04.txt, …"]);
    assert_eq!((arrived.totals.sessions, arrived.totals.skipped), (1, 0), "{}", arrived.report);
}

/// S4-53: files in a data folder that do not belong to SillyTavern are named.
#[test]
fn skipped_files_unknown_to_sillytavern_are_named() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo");
    root.write_file("diary.txt", "x");
    root.write_file("Old/conversations.json", "x");
    let told = import_folder(&store, root.path()).report.to_string();
    assert!(told.contains("diary.txt") && told.contains("file Old"), "{told}");
    assert_eq!(told.matches("not a file of SillyTavern").count(), 2, "{told}");
}
