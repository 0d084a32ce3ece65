//! Malicious and damaged files: each refusal is reported, the rest is imported, and existing data is never harmed.

use std::fs;
use std::io::{BufWriter, Cursor, Write};

use serde_json::json;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::*;
use crate::support::data_root::{DataRoot, chat_file_text, greeting_row, header_row, reply_row, user_row};

/// Returns an archive with these entries.
pub fn zip_archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        archive
            .start_file(*name, SimpleFileOptions::default().compression_method(CompressionMethod::Deflated))
            .unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// Returns a chat of two messages.
pub fn two_message_chat() -> String {
    chat_file_text(&[greeting_row(), user_row("Hm.", 1)])
}

/// Security: symbolic links are not followed, and are reported.
#[cfg(unix)]
#[test]
fn import_symlinks_are_not_followed() {
    use std::os::unix::fs::symlink;
    let (store, root, secret) = (TestStore::new(), DataRoot::new(), DataRoot::new());
    let outside = secret.write_file("secret.jsonl", &two_message_chat());
    root.write_card("Ivo");
    root.write_chat("Ivo", "mine", &[greeting_row(), user_row("Mine.", 1)]);
    symlink(&outside, root.path().join("chats/Ivo/link.jsonl")).unwrap();
    symlink(secret.path(), root.path().join("chats/elsewhere")).unwrap();
    symlink(root.path().join("chats"), root.path().join("chats/round")).unwrap();
    fs::remove_dir(root.path().join("groups")).unwrap();
    symlink(secret.path(), root.path().join("groups")).unwrap();
    let arrived = import_folder(&store, root.path());
    assert_eq!((arrived.totals.sessions, arrived.totals.skipped), (1, 4), "{}", arrived.report);
    let told = arrived.report.to_string();
    assert!(["link.jsonl", "elsewhere", "round", "groups"].iter().all(|name| told.contains(name)), "{told}");
}

/// Security: only regular files are opened, since reading a pipe would wait forever for a writer.
#[cfg(unix)]
#[test]
fn import_named_pipes_are_not_read() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo");
    root.write_chat("Ivo", "mine", &[greeting_row(), user_row("Mine.", 1)]);
    for name in ["chats/Ivo/pipe.jsonl", "characters/pipe.png", "settings.json"] {
        assert!(std::process::Command::new("mkfifo").arg(root.path().join(name)).status().unwrap().success());
    }
    let arrived = import_folder(&store, root.path());
    let told = arrived.report.to_string();
    assert_eq!((arrived.totals.sessions, told.matches("it is not a file").count()), (1, 3), "{told}");
    let error = import_folder_until(&store, &root.path().join("settings.json"), |_| true).unwrap_err();
    assert!(error.to_string().contains("neither a file nor a folder"), "{error}");
}

/// Security: the lines around any invalid line are imported.
#[test]
fn chat_bad_lines_are_skipped_others_import() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo");
    let deep = format!("{{\"mes\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let long_key = json!({"mes": "Long key.", "is_user": true, "k".repeat(1 << 20): 1}).to_string();
    let nul = json!({"mes": "a\u{0}b", "name": "Wr\u{0}en", "is_user": true}).to_string();
    let odd = r#"{"mes": 7, "name": ["x"], "is_user": "true", "swipes": {"a": 1}, "swipe_info": 5, "extra": [], "send_date": {}}"#;
    let surrogate = r#"{"mes": "\ud800", "is_user": true}"#;
    let mut bytes = chat_file_text(&[header_row(json!({"variables": {"x": 1}})), greeting_row()]).into_bytes();
    let utf16: Vec<u8> = "\n{\"mes\":\"x\"}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for line in [
        deep.as_bytes(),
        long_key.as_bytes(),
        nul.as_bytes(),
        odd.as_bytes(),
        surrogate.as_bytes(),
        b"\xff\xfe",
        &utf16,
    ] {
        bytes.push(b'\n');
        bytes.extend(line);
    }
    bytes.extend(format!("\n{}", user_row("The end.", 9)).bytes());
    let path = root.path().join("chats/Ivo/a.jsonl");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, &bytes).unwrap();
    let arrived = import_folder(&store, root.path());
    let held = only_session(&store);
    assert_eq!(
        store.visible_texts(held.session.id),
        ["Good evening.", "Long key.", "a\u{fffd}b", "7", "\u{fffd}", "The end."]
    );
    assert_eq!(store.world(held.session.id, held.session.head).vars["x"], 1);
    let told = arrived.report.to_string();
    for wanted in [
        "line 3: it is not JSON: the JSON has more than 127 levels",
        "line 7: 1 broken character was",
        "line 8: it is not UTF-8",
    ] {
        assert!(told.contains(wanted), "{wanted}: {told}");
    }
    assert_eq!(import_folder(&store, root.path()).totals.unchanged, 1);
    store.assert_healthy();
}

/// Security: invalid files are reported, and others are imported.
#[test]
fn invalid_files_are_reported_others_import() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo");
    root.write_file("characters/bad.json", "{");
    root.write_file("characters/empty.png", "");
    root.write_file("groups/1.json", "[");
    root.write_file("settings.json", "\u{0}");
    root.write_file("chats/Ivo/empty.jsonl", "");
    root.write_file("chats/Ivo/only header.jsonl", &header_row(json!({})).to_string());
    root.write_file("chats/Ivo/fine.jsonl", &two_message_chat());
    let arrived = import_folder(&store, root.path());
    let told = arrived.report.to_string();
    for wanted in ["bad.json", "empty.png", "groups/1.json", "settings.json", "empty.jsonl", "only header.jsonl"] {
        assert!(told.contains(wanted), "{wanted}: {told}");
    }
    assert_eq!(told.matches("the file is empty").count(), 2, "{told}");
    assert_eq!(arrived.totals.sessions, 1, "{told}");
    assert_eq!(import_folder(&store, root.path()).totals.messages, 0);
    store.assert_healthy();
}

/// Security: the files of groups and the index have the bound of any JSON. A small file cannot become gigabytes.
#[test]
fn group_and_index_with_too_many_values_are_refused() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    let lists = |count: usize| format!("[{}]", vec!["[]"; count].join(","));
    root.write_card("Ivo");
    root.write_file("groups/1.json", &format!("{{\"name\": \"Ferry\", \"x\": {}}}", lists(700_000)));
    root.write_file("groups/2.json", r#"{"name": "Fine", "members": [], "chats": []}"#);
    root.write_file("chats/Ivo/fine.jsonl", &two_message_chat());
    let arrived = import_folder(&store, root.path());
    let told = arrived.report.to_string();
    assert!(told.contains("groups/1.json") && told.contains("too many values"), "{told}");
    assert_eq!((arrived.totals.sessions, arrived.totals.presets), (1, 1), "{told}");
    root.write_file("clotho.json", &format!("{{\"files\": {{}}, \"sessions\": {{}}, \"x\": {}}}", lists(2_500_000)));
    let refused = import_folder_until(&store, root.path(), |_| true).unwrap_err();
    assert!(matches!(&refused, ImportError::BadList(why) if why.contains("too many values")), "{refused}");
}

/// Security: cyclic links between chats, a thousand names at one message, and a branch of itself.
#[test]
fn chat_links_with_cycles_are_imported() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo");
    let mut many = reply_row("Many.", 2);
    many["extra"] = json!({"branches": (0..1_000).map(|n| format!("b{n}")).collect::<Vec<_>>(), "bookmark_link": "a"});
    root.write_chat("Ivo", "a", &[header_row(json!({"main_chat": "b"})), greeting_row(), user_row("One.", 1), many]);
    root.write_chat("Ivo", "b", &[header_row(json!({"main_chat": "a"})), greeting_row(), user_row("Two.", 1)]);
    root.write_chat("Ivo", "c", &[header_row(json!({"main_chat": "c"})), greeting_row()]);
    assert_eq!(import_folder(&store, root.path()).totals.sessions, 2);
    store.assert_healthy();
}

/// An archive is read in place and gives the same result as the folder.
#[test]
fn archive_import_equals_folder_import() {
    let root = DataRoot::generate(21, 2, 4, 9);
    let mut entries = Vec::new();
    for folder in ["characters", "chats/Keeper 0", "chats/Keeper 1"] {
        for entry in fs::read_dir(root.path().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root.path()).unwrap().to_str().unwrap().to_owned();
            entries.push((format!("data/default-user/{name}"), fs::read(&path).unwrap()));
        }
    }
    let entries: Vec<(&str, &[u8])> = entries.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    let archive = root.write_file("all.zip", "");
    fs::write(&archive, zip_archive(&entries)).unwrap();
    let (folder, zip) = (TestStore::new(), TestStore::new());
    let (one, other) = (import_folder(&folder, root.path()), import_folder(&zip, &archive));
    assert_eq!(one.totals, other.totals);
    let plain = |face: Value| face.to_string().replace("data/default-user/", "");
    assert_eq!(plain(dump_sessions(&zip)), plain(dump_sessions(&folder)));
    assert_eq!(import_folder(&zip, root.path()).totals.messages, 0, "they are the same files");
}

/// Security: paths that lead out of an archive are reported and not used, and bombs are not unpacked. A file that is
/// not an archive is refused.
#[test]
fn archive_path_traversal_and_bombs_are_refused() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    let bomb = vec![b' '; 64 << 20];
    let fine = two_message_chat();
    let bytes = zip_archive(&[
        ("characters/Ivo.json", br#"{"name": "Ivo"}"#),
        ("chats/Ivo/fine.jsonl", fine.as_bytes()),
        ("chats/Ivo/../../../out.jsonl", fine.as_bytes()),
        ("chats/Ivo/bomb.jsonl", &bomb),
        ("chats/Ivo/..\\..\\back.jsonl", fine.as_bytes()),
    ]);
    let path = root.write_file("a.zip", "");
    fs::write(&path, &bytes).unwrap();
    let arrived = import_folder(&store, &path);
    let told = arrived.report.to_string();
    assert_eq!(arrived.totals.sessions, 1, "{told}");
    assert!(told.contains("bomb.jsonl") && told.contains("compression ratio"), "{told}");
    assert!(told.contains("back.jsonl") && told.contains("points outside of the archive"), "{told}");
    assert!(!root.path().join("out.jsonl").exists() && !root.path().parent().unwrap().join("out.jsonl").exists());
    for (broken, why) in [(&bytes[..bytes.len() / 2], "readable archive"), (b"hello", "readable archive")] {
        fs::write(&path, broken).unwrap();
        let error = import_folder_until(&store, &path, |_| true).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
    // An archive whose directory claims a huge size.
    let mut lying = zip_archive(&[("chats/Ivo/a.jsonl", fine.as_bytes())]);
    let end = lying.len() - 22;
    lying.truncate(end);
    lying.extend(b"PK\x06\x06");
    lying.extend([0; 28]);
    lying.extend(u64::MAX.to_le_bytes());
    lying.extend([0; 30]);
    fs::write(&path, &lying).unwrap();
    assert!(import_folder_until(&store, &path, |_| true).unwrap_err().to_string().contains("entries"));
    store.assert_healthy();
}

/// Security: an entry whose checksum does not match is reported as damaged and not imported.
#[test]
fn archive_entry_with_bad_checksum_is_reported() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, text) in [("chats/Ivo/fine.jsonl", "Mine."), ("chats/Ivo/bad.jsonl", "Yours.")] {
        archive.start_file(name, stored).unwrap();
        archive.write_all(chat_file_text(&[greeting_row(), user_row(text, 1)]).as_bytes()).unwrap();
    }
    let mut bytes = archive.finish().unwrap().into_inner();
    let at = bytes.windows(6).position(|window| window == b"Yours.").unwrap();
    bytes[at] = b'H';
    let path = root.write_file("a.zip", "");
    fs::write(&path, &bytes).unwrap();
    let arrived = import_folder(&store, &path);
    let told = arrived.report.to_string();
    assert_eq!(store.visible_texts(only_session(&store).session.id), ["Good evening.", "Mine."]);
    assert!(told.contains("bad.jsonl") && told.contains("it is damaged"), "{told}");
}

/// Security: an entry at another offset than the directory says is reported, and so are two directory entries with one
/// name.
#[test]
fn archive_entry_at_wrong_offset_is_reported() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    let (fine, other) = (two_message_chat(), chat_file_text(&[greeting_row(), user_row("Other.", 1)]));
    let bytes = zip_archive(&[
        ("chats/Ivo/fine.jsonl", fine.as_bytes()),
        ("chats/Ivo/lost.jsonl", other.as_bytes()),
        ("chats/Ivo/some.jsonl", other.as_bytes()),
        ("chats/Ivo/same.jsonl", other.as_bytes()),
    ]);
    let entries: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(b"PK\x01\x02")).collect();
    let mut lost = bytes.clone();
    lost[entries[1] + 42] ^= 0x55;
    let mut twice = bytes.clone();
    twice[entries[2] + 46..][..20].copy_from_slice(b"chats/Ivo/same.jsonl");
    for (broken, words) in [(lost, "lost.jsonl"), (twice, "1 entry of the archive's directory cannot be read")] {
        let path = root.write_bytes("a.zip", &broken);
        let arrived = import_folder(&store, &path);
        let told = arrived.report.to_string();
        assert!(arrived.totals.skipped == 1 && told.contains(words), "{words}: {told}");
    }
    assert!(!import_folder(&store, &root.write_bytes("a.zip", &bytes)).report.to_string().contains("cannot be read"));
}

/// Security: an archive that claims a million entries is refused before its directory is loaded.
#[cfg(target_os = "linux")]
#[test]
fn archive_with_million_entries_is_refused() {
    use crate::support::anonymous_memory_kb;
    let (store, root) = (TestStore::new(), DataRoot::new());
    let path = root.path().join("many.zip");
    let mut file = BufWriter::new(fs::File::create(&path).unwrap());
    for n in 0..1_000_000_u32 {
        let entry = [b"PK\x01\x02".as_slice(), &[0; 24], &[8, 0], &[0; 16], format!("{n:08}").as_bytes()].concat();
        file.write_all(&entry).unwrap();
    }
    let (bytes, count) = ((1_000_000_u64 * 54).to_le_bytes(), 1_000_000_u64.to_le_bytes());
    // The ZIP64 end record, its locator, and the short end record, which only refers to them.
    let long = [b"PK\x06\x06".as_slice(), &44_u64.to_le_bytes(), &[0; 12], &count, &count, &bytes, &[0; 8]].concat();
    let place = [b"PK\x06\x07".as_slice(), &[0; 4], &bytes, &1_u32.to_le_bytes()].concat();
    let short = [b"PK\x05\x06".as_slice(), &[0; 4], &[255; 12], &[0; 2]].concat();
    file.write_all(&[long, place, short].concat()).unwrap();
    file.into_inner().unwrap();
    let before = anonymous_memory_kb(std::process::id());
    let error = import_folder_until(&store, &path, |_| true).unwrap_err().to_string();
    assert!(error.contains("1000000 entries"), "{error}");
    let grown = anonymous_memory_kb(std::process::id()).saturating_sub(before);
    assert!(grown < 32_000, "{grown} kB");
}

/// Security: files that vanish, grow or are replaced between the two readings are reported, do no harm, and are
/// imported the next time.
#[test]
fn files_changed_during_import_are_reported() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo");
    let rows = |word: &str| [header_row(json!({})), greeting_row(), user_row(word, 1), reply_row("So.", 2)];
    for name in ["a gone", "b cut", "c other", "d still"] {
        root.write_chat("Ivo", name, &rows(name));
    }
    let mut looks = 0;
    let arrived = import_folder_until(&store, root.path(), |_| {
        looks += 1;
        // A card and four chats are scanned before sessions are written. At the last call three have been read once.
        if looks == 5 {
            fs::remove_file(root.path().join("chats/Ivo/a gone.jsonl")).unwrap();
            root.write_chat("Ivo", "b cut", &rows("b cut")[..3]);
            root.write_chat("Ivo", "c other", &rows("other"));
        }
        true
    });
    let arrived = arrived.unwrap();
    let told = arrived.report.to_string();
    assert!(looks >= 5 && told.contains("chats/Ivo/a gone.jsonl"), "{told}");
    assert_eq!(told.matches("changed during the import").count(), 2, "{told}");
    let titles: Vec<String> = sessions(&store).into_iter().map(|held| held.session.title).collect();
    assert_eq!(titles, ["b cut", "c other", "d still"], "{told}");
    store.assert_healthy();
    root.write_chat("Ivo", "a gone", &rows("a gone"));
    root.write_chat("Ivo", "b cut", &rows("b cut"));
    let again = import_folder(&store, root.path());
    assert_eq!((again.totals.sessions, again.totals.unchanged), (1, 1), "{}", again.report);
    let cut = sessions(&store).into_iter().find(|held| held.session.title == "b cut").unwrap();
    assert_eq!(store.visible_texts(cut.session.id), ["Good evening.", "b cut", "So."]);
    assert_eq!(import_folder(&store, root.path()).totals.messages, 0);
    store.assert_healthy();
}
