//! Invalid session archives, each refused with the number of the faulty line. Nothing of them is kept.

use std::io::Write as _;

use clotho_engine::transfer::ImportError;
use clotho_store::archive::ArchiveLimits;
use serde_json::{Value, json};

use super::round_trip::create_session;
use super::{export_session, import, import_with_limits, row_counts};
use crate::support::archive_file::{compress_text, pack_lines, read_lines};
use crate::support::test_store::TestStore;

/// Returns the index of the `n`th line of a kind, both counted from 0.
fn nth_line(lines: &[Value], kind: &str, n: usize) -> usize {
    lines.iter().enumerate().filter(|(_, line)| line.get(kind).is_some()).nth(n).unwrap().0
}

/// Returns a blob with a card.
fn card_blob(card: &Value) -> Value {
    let text = card.to_string();
    let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
    json!({"blob": {"kind": "card", "hash": hash, "text": text}})
}

/// Appends a source after all others. Returns its index.
fn append_source(lines: &mut Vec<Value>, source: Value) -> usize {
    let at = lines.iter().rposition(|line| line.get("end").is_none()).unwrap() + 1;
    lines.insert(at, json!({ "source": source }));
    at
}

type ArchiveEdit = fn(&mut Vec<Value>) -> usize;

/// Changes of a valid file, and the expected error. Each change returns the index of the faulty line, from 0.
const CASES: &[(&str, ArchiveEdit)] = &[
    ("this is not the header of a \"clotho-session\" file", |lines| {
        lines.remove(0);
        0
    }),
    ("the file has version 2, and this program reads version 1", |lines| {
        lines[0]["version"] = json!(2);
        0
    }),
    ("unknown field \"colour\"", |lines| {
        lines[0]["colour"] = json!("red");
        0
    }),
    ("expected the session", |lines| {
        lines.remove(1);
        1
    }),
    ("a file has only one session", |lines| {
        let twice = lines[1].clone();
        lines.insert(2, twice);
        2
    }),
    ("expected \"tree\" or \"linear\"", |lines| {
        lines[1]["session"]["mode"] = json!("forest");
        1
    }),
    ("unknown variant \"song\"", |lines| {
        lines.insert(2, json!({"song": {}}));
        2
    }),
    ("unknown field \"text\"", |lines| {
        let at = nth_line(lines, "node", 3);
        lines[at]["node"]["text"] = json!("x");
        at
    }),
    ("appears twice", |lines| {
        let at = nth_line(lines, "node", 3);
        let twice = lines[at].clone();
        lines.insert(at + 1, twice);
        at + 1
    }),
    ("must come before its child: it is missing", |lines| {
        let at = nth_line(lines, "node", 3);
        lines[at]["node"]["parent"] = json!("018f3e2a-0000-7000-8000-0000000000aa");
        at
    }),
    ("or the nodes have a cycle", |lines| {
        let (upper, lower) = (nth_line(lines, "node", 3), nth_line(lines, "node", 4));
        lines[upper]["node"]["parent"] = lines[lower]["node"]["id"].clone();
        lines[lower]["node"]["parent"] = lines[upper]["node"]["id"].clone();
        upper
    }),
    ("or the nodes have a cycle", |lines| {
        let at = nth_line(lines, "node", 3);
        lines[at]["node"]["parent"] = lines[at]["node"]["id"].clone();
        at
    }),
    ("would be a second root", |lines| {
        let at = nth_line(lines, "node", 3);
        lines[at]["node"].as_object_mut().unwrap().remove("parent");
        at
    }),
    ("the first node must be the root, which has no parent", |lines| {
        let at = nth_line(lines, "node", 0);
        lines.remove(at);
        nth_line(lines, "node", 0)
    }),
    ("differs from the log", |lines| {
        let at = nth_line(lines, "node", 3);
        lines[at]["node"]["isMuted"] = json!(true);
        at
    }),
    ("is not a role", |lines| {
        let at = nth_line(lines, "node", 3);
        lines[at]["node"]["role"] = json!("narrator");
        at
    }),
    ("U+0000", |lines| {
        let at = nth_line(lines, "node", 3);
        lines[at]["node"]["content"] = json!("a\0b");
        at
    }),
    ("1 to 5 stars", |lines| {
        let at = nth_line(lines, "node", 3);
        lines[at]["node"]["rating"] = json!(9);
        at
    }),
    ("the metadata must be an object", |lines| {
        let at = nth_line(lines, "node", 3);
        lines[at]["node"]["metadata"] = (0..200).fold(json!({}), |deep, _| json!({"a": deep}));
        at
    }),
    ("the root must have the role \"system\" and no text", |lines| {
        let at = nth_line(lines, "node", 0);
        lines[at]["node"]["content"] = json!("I am the root.");
        at
    }),
    ("the root must have the role", |lines| {
        let at = nth_line(lines, "node", 0);
        lines[at]["node"]["role"] = json!("user");
        at
    }),
    ("the root must be complete", |lines| {
        let at = nth_line(lines, "node", 0);
        lines[at]["node"]["isDisabled"] = json!(true);
        at
    }),
    ("a name has 1 to 200 characters", |lines| {
        let at = nth_line(lines, "node", 3);
        lines[at]["node"]["name"] = json!("x".repeat(201));
        at
    }),
    ("a text has at most 16777216 bytes", |lines| {
        let at = nth_line(lines, "node", 3);
        lines[at]["node"]["content"] = json!("x".repeat((16 << 20) + 1));
        at
    }),
    ("9223372036854775807 is not a time", |lines| {
        let at = nth_line(lines, "node", 3);
        lines[at]["node"]["created"] = json!(i64::MAX);
        at
    }),
    ("is not a time", |lines| {
        lines[1]["session"]["created"] = json!(-99_999_999_999_999_i64);
        1
    }),
    ("253402300800000 is not a time", |lines| {
        let at = nth_line(lines, "operation", 1);
        lines[at]["operation"]["at"] = json!(253_402_300_800_000_i64);
        at
    }),
    ("a title has at most 300 characters", |lines| {
        lines[1]["session"]["title"] = json!("狐".repeat(301));
        1
    }),
    ("a title cannot be empty", |lines| {
        let at = nth_line(lines, "operation", 2);
        lines[at]["operation"]["effects"] = json!([{"setting": "title", "from": "The keep", "to": " "}]);
        at
    }),
    ("expected a model name", |lines| {
        lines[1]["session"]["model"] = json!("");
        1
    }),
    ("a session has at most 64 plugins", |lines| {
        let plugin = json!({"id": "combat", "enabled": true, "config": {}, "grants": []});
        lines[1]["session"]["plugins"] = json!(vec![plugin; 65]);
        1
    }),
    ("appears twice", |lines| {
        let card = json!(["018f3e2a-0000-7000-8000-0000000000aa", "00"]);
        lines[1]["session"]["cards"] = json!([card, card]);
        1
    }),
    ("the card's name: a name is required", |lines| {
        let at = nth_line(lines, "blob", 0);
        lines.insert(at, card_blob(&json!({"description": "Nobody."})));
        at
    }),
    ("the card's avatar: expected a path on this server", |lines| {
        let at = nth_line(lines, "blob", 0);
        lines.insert(at, card_blob(&json!({"name": "Rin", "avatar": "https://elsewhere.example/rin.png"})));
        at
    }),
    ("1 to 100 characters on one line", |lines| {
        let at = nth_line(lines, "operation", 2);
        let node = lines[1]["session"]["root"].clone();
        let mark = json!({"node": node, "following": false});
        lines[at]["operation"]["effects"] = json!([{"labelled": "two\nlines", "from": null, "to": mark}]);
        at
    }),
    ("a \"generating\" node must be a reply", |lines| {
        let at = nth_line(lines, "node", 2);
        lines[at]["node"]["status"] = json!("generating");
        at
    }),
    ("which is still being generated", |lines| {
        let is_reply = |line: &Value| line["node"]["role"] == "assistant" && line["node"]["kind"] == "message";
        let at = lines.iter().position(is_reply).unwrap();
        let reply = lines[at]["node"].as_object_mut().unwrap();
        reply.retain(|key, _| key != "deltas" && key != "revision");
        reply.insert("status".into(), json!("generating"));
        let id = lines[at]["node"]["id"].clone();
        lines.iter().position(|line| line["node"]["parent"] == id).unwrap()
    }),
    ("continues one that does not come before it", |lines| {
        let at = nth_line(lines, "trace", 0);
        lines[at]["trace"]["history"]["number"] = json!(i64::MAX);
        at
    }),
    ("revision 1 of the delta cannot be read", |lines| {
        let at = nth_line(lines, "node", 0);
        lines[at]["node"]["deltas"][0]["body"] = json!({"operations": 5});
        at
    }),
    ("the delta has no revision 7", |lines| {
        let at = nth_line(lines, "node", 0);
        lines[at]["node"]["revision"] = json!(7);
        at
    }),
    ("must come before it", |lines| {
        let at = nth_line(lines, "node", 0);
        lines[at]["node"]["rules"] = json!("00");
        at
    }),
    ("does not match its hash", |lines| {
        let at = nth_line(lines, "blob", 0);
        lines[at]["blob"]["text"] = json!("{}");
        at
    }),
    ("appears twice", |lines| {
        let at = nth_line(lines, "blob", 0);
        let twice = lines[at].clone();
        lines.insert(at + 1, twice);
        at + 1
    }),
    ("must come before it", |lines| {
        let at = lines.iter().position(|line| line["blob"]["kind"] == "block").unwrap();
        lines.remove(at);
        nth_line(lines, "trace", 0)
    }),
    ("the schema", |lines| {
        let at = lines.iter().position(|line| line["blob"]["kind"] == "schema").unwrap();
        lines.remove(at);
        nth_line(lines, "node", 0)
    }),
    ("operation 4 follows 2", |lines| {
        let at = nth_line(lines, "operation", 2);
        lines.remove(at);
        at
    }),
    ("is not a kind of operation", |lines| {
        let at = nth_line(lines, "operation", 2);
        lines[at]["operation"]["act"] = json!("dance");
        at
    }),
    ("not every effect can be read", |lines| {
        let at = nth_line(lines, "operation", 2);
        lines[at]["operation"]["effects"] = json!([{"flew": 1}]);
        at
    }),
    ("a session has no setting", |lines| {
        let at = nth_line(lines, "operation", 2);
        lines[at]["operation"]["effects"] = json!([{"setting": "owner", "from": 1, "to": 2}]);
        at
    }),
    ("differs from the one in its log", |lines| {
        lines[1]["session"]["head"] = lines[1]["session"]["root"].clone();
        nth_line(lines, "node", 0)
    }),
    ("the order must be log", |lines| {
        let (at, later) = (nth_line(lines, "operation", 0), nth_line(lines, "node", 0) + 1);
        let late = lines[at].clone();
        lines.insert(later, late);
        later
    }),
    ("is in the log, but missing", |lines| {
        let last = lines.iter().rposition(|line| line.get("node").is_some()).unwrap();
        lines.remove(last);
        lines.len() - 1
    }),
    ("the session names 3", |lines| {
        lines[1]["session"]["nodes"] = json!(3);
        lines.len() - 1
    }),
    ("which is missing", |lines| {
        let at = nth_line(lines, "trace", 1);
        lines[at]["trace"]["history"]["add"] = json!(["018f3e2a-0000-7000-8000-0000000000aa"]);
        at
    }),
    ("continues one that does not come before it", |lines| {
        // The third builds on the second.
        let at = nth_line(lines, "trace", 1);
        lines.remove(at);
        nth_line(lines, "trace", 1)
    }),
    ("appears twice", |lines| {
        let at = nth_line(lines, "trace", 0);
        let twice = lines[at].clone();
        lines.insert(at + 1, twice);
        at + 1
    }),
    ("\"chats/a.jsonl\" appears twice", |lines| {
        append_source(lines, json!({"name": "chats/a.jsonl"}));
        append_source(lines, json!({"name": "chats/a.jsonl"}))
    }),
    ("the leaf of the source must come before it", |lines| {
        append_source(lines, json!({"name": "a", "node": "018f3e2a-0000-7000-8000-0000000000aa"}))
    }),
    ("64 digits", |lines| append_source(lines, json!({"name": "a", "hash": "x"}))),
    ("the header of a file must be an object", |lines| append_source(lines, json!({"name": "a", "header": "[]"}))),
    ("has 1 to 4000 bytes", |lines| append_source(lines, json!({"name": ""}))),
];

fn expect_archive_error(
    result: Result<clotho_core::ids::SessionId, ImportError>,
    about: &str,
) -> clotho_store::archive::ArchiveError {
    match result {
        Err(ImportError::Fault(fault)) => fault,
        other => panic!("{about}: {other:?}"),
    }
}

/// S4-04: inconsistent data is refused with its line and one sentence, and nothing of it is kept.
#[test]
fn archive_with_inconsistent_data_is_refused_with_line() {
    let (store, other) = (TestStore::new(), TestStore::new());
    let file = export_session(&store, create_session(&store).session);
    let before = row_counts(&other);
    for (said, change) in CASES {
        let mut changed = read_lines(&file);
        let at = change(&mut changed);
        let fault = expect_archive_error(import(&other, &pack_lines(&changed)), said);
        assert!(fault.message.contains(said), "{said}: {fault}");
        assert_eq!(fault.line, u64::try_from(at + 1).unwrap(), "{said}: {fault}");
        assert!(!fault.message.ends_with('.') && !fault.message.contains('\n'), "{fault}");
        assert_eq!(row_counts(&other), before, "{said}");
    }
    assert!(import(&other, &pack_lines(&read_lines(&file))).is_ok(), "the table changes a good file");
}

/// S4-04: truncated and changed files, files with data after their end, and files of another kind.
#[test]
fn archive_truncated_or_changed_is_refused() {
    let (store, other) = (TestStore::new(), TestStore::new());
    let file = export_session(&store, create_session(&store).session);
    let before = row_counts(&other);
    for length in (0..file.len()).step_by(37).chain([file.len() - 1]) {
        expect_archive_error(import(&other, &file[..length]), &format!("cut at {length}"));
    }
    let text: String = read_lines(&file).iter().map(|line| format!("{line}\n")).collect();
    let check = |text: &str, said: &str| {
        let fault = expect_archive_error(import(&other, &compress_text(text)), said);
        assert!(fault.message.contains(said), "{said}: {fault}");
    };
    check(&text.replacen("turn 3", "turn 4", 1), "the file was changed");
    check(&text[..text.len() - 1], "is incomplete");
    check(&text[..text.trim_end().rfind('\n').unwrap() + 1], "the last line of the file is missing");
    check(&format!("{text}\n"), "there is text after the last line");
    check("", "the file is empty");
    check("[]\n", "not the header");
    check(
        &format!("{}\n{{\"node\": {}1{}}}\n", read_lines(&file)[0], "[".repeat(100_000), "]".repeat(100_000)),
        "the line has a wrong format",
    );
    expect_archive_error(import(&other, b"PK\x03\x04 some other kind of file"), "not packed so");
    assert_eq!(row_counts(&other), before);
}

/// S4-04: a file cannot make the reader exceed its memory limits: a long line, a large total, a wide window.
#[test]
fn archive_over_memory_limits_is_refused() {
    let other = TestStore::new();
    let check = |file: &[u8], limits: ArchiveLimits, said: &str| {
        let fault = expect_archive_error(import_with_limits(&other, file, limits), said);
        assert!(fault.message.contains(said), "{said}: {fault}");
    };
    let spaces = |count: usize| compress_text(&" ".repeat(count));
    check(&spaces(2_000_000), ArchiveLimits { total: 1_000_000, line: 4_000_000 }, "more than 1000000 bytes, unpacked");
    check(&spaces(2_000_000), ArchiveLimits { total: 4_000_000, line: 1_000_000 }, "longer than 1000000 bytes");
    let mut wide = zstd::Encoder::new(Vec::new(), 3).unwrap();
    wide.window_log(27).unwrap();
    wide.write_all(&[b' '; 4_096]).unwrap();
    check(&wide.finish().unwrap(), ArchiveLimits::for_archive(64 << 20), "cannot be decompressed");
}
