//! Search results, access control and recovery of the index.
//!
//! New syntax gets a line in the tables of `language.rs`, and a variant in `reference.rs`, which compares random
//! searches with a reference matcher.

mod best;
mod language;
mod reference;

use std::fs;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use clotho_config as config;

const UPSTREAM: IndexSource = IndexSource { id: Uuid::from_u128(99), newest: 1_000, texts: 7 };

/// Settings that commit only on request.
fn manual_commit_settings() -> config::SearchConfig {
    config::SearchConfig { commit_interval: Duration::from_secs(3_600), ..config::SearchConfig::default() }
}

fn user_id(n: u128) -> UserId {
    UserId::new(Uuid::from_u128(n))
}

fn node_id(n: u128) -> NodeId {
    NodeId::new(Uuid::from_u128(n))
}

fn session_id(n: u128) -> SessionId {
    SessionId::new(Uuid::from_u128(n))
}

fn document(n: u128, text: &str) -> SearchDocument {
    SearchDocument {
        node: node_id(n),
        session: session_id(1),
        owner: user_id(1),
        character: None,
        role: Role::User,
        name: "Rin".to_owned(),
        text: text.to_owned(),
        time: Time(i64::try_from(n).unwrap()),
        facts: Vec::new(),
    }
}

fn put_documents(index: &Index, documents: &[SearchDocument]) {
    let from = index.cursor();
    index.send(from, documents.iter().cloned().map(IndexChange::Put).collect(), from + 1).unwrap();
    index.flush().unwrap();
}

/// An index in a temporary folder.
struct TestIndex {
    index: Index,
    _folder: tempfile::TempDir,
}

impl std::ops::Deref for TestIndex {
    type Target = Index;

    fn deref(&self) -> &Index {
        &self.index
    }
}

fn new_index(settings: config::SearchConfig) -> TestIndex {
    let folder = tempfile::tempdir().unwrap();
    TestIndex { index: Index::open(folder.path(), UPSTREAM, settings).unwrap(), _folder: folder }
}

fn index_with_texts(texts: &[&str]) -> TestIndex {
    let index = new_index(manual_commit_settings());
    let documents: Vec<SearchDocument> = (1..).zip(texts).map(|(n, text)| document(n, text)).collect();
    put_documents(&index, &documents);
    index
}

fn parse(text: &str) -> ParsedQuery {
    ParsedQuery::parse(text, LocalNow { now: Time(0), utc_offset_minutes: 0 }).unwrap()
}

fn request(text: &str) -> SearchRequest {
    SearchRequest::new(user_id(1), parse(text))
}

fn search_nodes(index: &Index, request: &SearchRequest) -> Vec<u128> {
    let page = index.find(request).page(0, 100).unwrap();
    assert_eq!(page.total, page.hits.len() as u64);
    page.hits.iter().map(|hit| hit.node.uuid().as_u128()).collect()
}

/// Returns the found nodes, sorted by number.
fn find_nodes(index: &Index, text: &str) -> Vec<u128> {
    let mut nodes = search_nodes(index, &request(text));
    nodes.sort_unstable();
    nodes
}

/// Feeds like the log follower: pulls from the cursor of the index until it reaches the end.
fn feed(index: &Index, log: &[SearchDocument]) {
    loop {
        let from = index.cursor();
        let rest = &log[usize::try_from(from).unwrap()..];
        let sent = match rest.first() {
            Some(next) => index.send(from, vec![IndexChange::Put(next.clone())], from + 1).is_ok(),
            None => index.flush().is_ok() && index.cursor() == i64::try_from(log.len()).unwrap(),
        };
        match (sent, rest.is_empty()) {
            (true, true) => return,
            (true, false) => {}
            (false, _) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

fn numbered_documents(count: u128) -> Vec<SearchDocument> {
    (1..=count).map(|n| document(n, &format!("lantern number {n} 灯塔"))).collect()
}

#[test]
fn search_english_words_and_phrases_are_found() {
    let index =
        index_with_texts(&["The red lantern burns.", "A lantern, red as rust", "Fog on the water; the Keeper's café"]);
    assert_eq!(find_nodes(&index, "RED lantern"), [1, 2]);
    assert_eq!(find_nodes(&index, "\"red lantern\""), [1]);
    assert_eq!(find_nodes(&index, "lantern -rust"), [1]);
    assert_eq!(find_nodes(&index, "lantern -\"red lantern\""), [2]);
    assert_eq!(find_nodes(&index, "keeper cafe"), [3]);
    assert_eq!(find_nodes(&index, "lan"), [] as [u128; 0]);
}

/// Any substring of Chinese and Japanese text can be found, also a single character.
#[test]
fn search_chinese_and_japanese_are_found() {
    let index = index_with_texts(&["守灯人点亮了灯塔，HP只剩三点。", "灯下的塔", "カフェで灯台を見た", "등대지기"]);
    assert_eq!(find_nodes(&index, "灯塔"), [1]);
    assert_eq!(find_nodes(&index, "灯"), [1, 2, 3]);
    assert_eq!(find_nodes(&index, "灯人点亮"), [1]);
    assert_eq!(find_nodes(&index, "人灯"), [] as [u128; 0]);
    assert_eq!(find_nodes(&index, "塔 HP"), [1]);
    assert_eq!(find_nodes(&index, "灯 -塔"), [3]);
    assert_eq!(find_nodes(&index, "“灯塔，HP”"), [1]);
    assert_eq!(find_nodes(&index, "カフェ"), [3]);
    assert_eq!(find_nodes(&index, "台を"), [3]);
    assert_eq!(find_nodes(&index, "등대"), [4]);
}

#[test]
fn search_emoji_is_found() {
    let index = index_with_texts(&["fire 🔥🔥", "rocket 👩\u{200d}🚀", "❤\u{fe0f}"]);
    assert_eq!(find_nodes(&index, "🔥"), [1]);
    assert_eq!(find_nodes(&index, "👩\u{200d}🚀"), [2]);
    assert_eq!(find_nodes(&index, "❤"), [3]);
}

/// Security promise 2: nobody finds nodes of others, not even by negation or counting.
#[test]
fn search_other_owner_finds_nothing() {
    let index = new_index(manual_commit_settings());
    let foreign = SearchDocument { owner: user_id(2), session: session_id(2), ..document(2, "the secret lantern") };
    put_documents(&index, &[document(1, "the lantern"), foreign]);
    for text in ["lantern", "the -fog", "role:user", "name:Rin"] {
        assert_eq!(find_nodes(&index, text), [1], "{text}");
    }
    assert_eq!(find_nodes(&index, "secret"), [] as [u128; 0]);
    let elsewhere = SearchRequest { session: Some(session_id(2)), ..request("lantern") };
    assert_eq!(index.find(&elsewhere).page(0, 0).unwrap().total, 0);
    assert_eq!(search_nodes(&index, &SearchRequest::new(user_id(2), parse("lantern"))), [2]);
    assert_eq!(search_nodes(&index, &SearchRequest::new(user_id(3), parse("lantern"))), [] as [u128; 0]);
}

#[test]
fn search_filters_narrow_results() {
    let character = CharacterId::new(Uuid::from_u128(7));
    let index = new_index(manual_commit_settings());
    let spoken = SearchDocument {
        role: Role::Assistant,
        character: Some(character),
        name: "Old Keeper 老守灯人".to_owned(),
        session: session_id(2),
        ..document(2, "fog")
    };
    put_documents(&index, &[document(1, "fog"), spoken, document(3, "fog")]);
    let check = |request: SearchRequest, expected: &[u128]| assert_eq!(search_nodes(&index, &request), expected);
    check(request("fog"), &[3, 2, 1]);
    check(SearchRequest { session: Some(session_id(2)), ..request("fog") }, &[2]);
    check(SearchRequest { character: Some(character), ..request("fog") }, &[2]);
    check(SearchRequest { role: Some(Role::User), ..request("fog") }, &[3, 1]);
    check(SearchRequest { after: Some(Time(2)), ..request("fog") }, &[3, 2]);
    check(SearchRequest { before: Some(Time(2)), ..request("fog") }, &[1]);
    check(SearchRequest { after: Some(Time(2)), before: Some(Time(3)), ..request("fog") }, &[2]);
    check(request("fog role:assistant"), &[2]);
    check(request("-role:assistant fog"), &[3, 1]);
    check(request("name:keeper"), &[2]);
    check(request("name:守灯 fog"), &[2]);
    check(request("name:\"keeper old\""), &[]);
    let hit = index.find(&request("name:keeper")).page(0, 1).unwrap().hits.remove(0);
    assert_eq!((hit.node, hit.session, hit.character), (node_id(2), session_id(2), Some(character)));
    assert_eq!((hit.role, hit.name.as_str(), hit.time), (Role::Assistant, "Old Keeper 老守灯人", Time(2)));
}

#[test]
fn search_results_sort_by_score_then_time() {
    let index = index_with_texts(&["fog", "fog and a very long tale of other things entirely", "fog"]);
    assert_eq!(search_nodes(&index, &request("fog")), [3, 1, 2]);
}

#[test]
fn search_snippet_returns_ranges() {
    let index = index_with_texts(&["🔥 <b>守灯人</b> took the red lantern"]);
    let found = index.find(&request("守灯人 \"red lantern\" -fog name:rin"));
    let hit = found.page(0, 1).unwrap().hits.remove(0);
    let snippet = found.snippet(&hit);
    assert_eq!(snippet.text, "🔥 <b>守灯人</b> took the red lantern");
    assert_eq!(snippet.marks, [(6, 9), (23, 34)]);
}

#[test]
fn search_pages_are_consistent() {
    let index = new_index(manual_commit_settings());
    put_documents(&index, &numbered_documents(150));
    let found = index.find(&request("lantern"));
    let all: Vec<NodeId> = found.page(0, 1_000).unwrap().hits.iter().map(|hit| hit.node).collect();
    assert_eq!(all, (1..=150).rev().map(node_id).collect::<Vec<_>>());
    let page = found.page(40, 7).unwrap();
    assert_eq!((page.total, page.hits.len(), page.hits[0].node), (150, 7, all[40]));
    for (offset, limit) in [(150, 5), (usize::MAX, usize::MAX), (0, 0)] {
        let page = found.page(offset, limit).unwrap();
        assert_eq!((page.total, page.hits.len()), (150, 0));
    }
    put_documents(&index, &[document(200, "lantern")]);
    assert_eq!(found.page(0, 1).unwrap().total, 150, "a search sees one moment");
}

#[test]
fn index_removed_node_is_not_found() {
    let index = index_with_texts(&["old words", "other"]);
    put_documents(&index, &[document(1, "new words")]);
    put_documents(&index, &[document(1, "new words"), document(1, "newest words")]);
    assert_eq!(find_nodes(&index, "words"), [1]);
    assert_eq!(find_nodes(&index, "old"), [] as [u128; 0]);
    assert_eq!(find_nodes(&index, "newest"), [1]);
    let from = index.cursor();
    let elsewhere = SearchDocument { session: session_id(2), ..document(3, "other") };
    let changes =
        vec![IndexChange::Remove(node_id(1)), IndexChange::Put(elsewhere), IndexChange::RemoveSession(session_id(1))];
    index.send(from, changes, from + 1).unwrap();
    index.flush().unwrap();
    assert_eq!(find_nodes(&index, "words"), [] as [u128; 0]);
    assert_eq!(find_nodes(&index, "other"), [3]);
    assert_eq!(index.len(), 1);
}

#[test]
fn index_changes_are_committed_automatically() {
    let index = new_index(config::SearchConfig::default());
    index.send(0, vec![IndexChange::Put(document(1, "fog"))], 5).unwrap();
    while index.progress().visible < 5 {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(find_nodes(&index, "fog"), [1]);
    let by_count = new_index(config::SearchConfig { commit_docs: 3, ..manual_commit_settings() });
    by_count.send(0, (1..=3).map(|n| IndexChange::Put(document(n, "fog"))).collect(), 3).unwrap();
    while by_count.progress().committed < 3 {
        std::thread::sleep(Duration::from_millis(1));
    }
    // Batches without changes are visible at once and cause no commit.
    by_count.send(3, Vec::new(), 9).unwrap();
    while by_count.progress().visible < 9 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let expected =
        IndexProgress { fed: 9, visible: 9, committed: 3, complete_at: 1_000, is_down: false, is_suspect: false };
    assert_eq!(by_count.progress(), expected);
}

#[test]
fn index_send_wrong_cursor_returns_error() {
    let index = new_index(manual_commit_settings());
    index.send(0, Vec::new(), 4).unwrap();
    assert_eq!(index.send(0, vec![IndexChange::Put(document(1, "fog"))], 5), Err(IndexSendError::CursorMismatch(4)));
    assert_eq!(index.cursor(), 4);
    index.close().unwrap();
    assert_eq!(index.send(4, Vec::new(), 5), Err(IndexSendError::Down));
    assert_eq!(find_nodes(&index, "fog"), [] as [u128; 0]);
}

/// The cursor of the last commit survives a crash; later changes are requested again.
#[test]
fn index_crash_resumes_at_last_commit() {
    let dir = tempfile::tempdir().unwrap();
    let log = numbered_documents(10);
    {
        let index = Index::open(dir.path(), UPSTREAM, manual_commit_settings()).unwrap();
        assert_eq!(index.cursor(), 0);
        feed(&index, &log[..6]);
        index.send(6, vec![IndexChange::Put(log[6].clone())], 7).unwrap();
        assert_eq!((index.cursor(), index.progress().committed), (7, 6));
    }
    let index = Index::open(dir.path(), UPSTREAM, manual_commit_settings()).unwrap();
    assert_eq!(index.cursor(), 6);
    assert_eq!(find_nodes(&index, "lantern").len(), 6);
    feed(&index, &log);
    assert_eq!(find_nodes(&index, "灯塔").len(), 10);
    index.close().unwrap();
    drop(index);
    let index = Index::open(dir.path(), UPSTREAM, manual_commit_settings()).unwrap();
    assert_eq!((index.cursor(), index.len()), (10, 10));
}

/// A server that has no more open files keeps its index: nothing is wrong with it.
#[cfg(unix)]
#[test]
fn search_error_without_open_files_is_no_damage() {
    use std::{io, sync::Arc};

    use tantivy::directory::error::OpenReadError;

    let check = |code: i32, is_exhausted: bool| {
        let cause = || io::Error::from_raw_os_error(code);
        for error in [
            tantivy::TantivyError::IoError(Arc::new(cause())),
            OpenReadError::wrap_io_error(cause(), "meta.json".into()).into(),
        ] {
            assert_eq!(matches!(SearchError::from(error), SearchError::Exhausted(_)), is_exhausted, "{code}");
        }
    };
    for (code, is_exhausted) in [(23, true), (24, true), (12, true), (5, false), (2, false)] {
        check(code, is_exhausted);
    }
}

/// Whatever happens to a file: after feeding, each document is found once, and foreign files are untouched.
#[test]
fn index_damaged_files_are_rebuilt() {
    let log = numbered_documents(30);
    /// Damages one file.
    type IndexDamage = fn(&Path);
    let damages: [(&str, IndexDamage); 3] = [
        ("cut", |path| fs::write(path, &fs::read(path).unwrap()[..3]).unwrap()),
        ("flipped", |path| {
            let mut bytes = fs::read(path).unwrap();
            let middle = bytes.len() / 3;
            bytes[middle] ^= 0x55;
            fs::write(path, bytes).unwrap();
        }),
        ("gone", |path| fs::remove_file(path).unwrap()),
    ];
    let names = {
        let dir = tempfile::tempdir().unwrap();
        fill_and_crash(dir.path(), &log);
        segment_extensions(dir.path())
    };
    assert!(names.len() > 4, "{names:?}");
    for (how, damage) in damages {
        for name in &names {
            let dir = tempfile::tempdir().unwrap();
            fill_and_crash(dir.path(), &log);
            fs::write(dir.path().join("notes.txt"), "mine").unwrap();
            let target = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
            let target = target.into_iter().find(|path| path.to_str().unwrap().ends_with(name.as_str())).unwrap();
            damage(&target);
            let index = Index::open(dir.path(), UPSTREAM, manual_commit_settings()).unwrap();
            let _whatever = index.find(&request("lantern -fog 灯塔")).page(0, 50);
            feed(&index, &log);
            assert_eq!(find_nodes(&index, "lantern"), (1..=30).collect::<Vec<_>>(), "{name} {how}");
            assert_eq!(find_nodes(&index, "\"number 7\""), [7], "{name} {how}");
            assert_eq!(fs::read_to_string(dir.path().join("notes.txt")).unwrap(), "mine");
        }
    }
}

/// Fills an index and leaves it as after a crash.
fn fill_and_crash(folder: &Path, log: &[SearchDocument]) {
    feed(&Index::open(folder, UPSTREAM, manual_commit_settings()).unwrap(), log);
    let _ = fs::remove_file(folder.join("clean"));
}

/// Returns the name endings of the relevant files: `idx`, `meta.json` …
fn segment_extensions(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut ends: Vec<String> = names
        .filter(|name| !name.ends_with(".lock") && name != ".managed.json")
        .map(|name| if name == "meta.json" { name } else { name.split_once('.').unwrap().1.to_owned() })
        .collect();
    ends.sort();
    ends.dedup();
    ends
}

#[test]
fn index_foreign_format_is_replaced() {
    let log = numbered_documents(3);
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("sub")).unwrap();
    let mut builder = tantivy::schema::Schema::builder();
    builder.add_text_field("body", tantivy::schema::TEXT);
    tantivy::Index::create_in_dir(dir.path(), builder.build()).unwrap();
    let index = Index::open(dir.path(), UPSTREAM, manual_commit_settings()).unwrap();
    assert_eq!(index.cursor(), 0);
    feed(&index, &log);
    index.close().unwrap();
    drop(index);

    let meta = dir.path().join("meta.json");
    let text = fs::read_to_string(&meta).unwrap();
    let payload = disk::payload(UPSTREAM, 3);
    let other_format = payload.replace("clotho ", "clotho 9");
    for foreign in [other_format, format!("{payload} 4"), "3".to_owned(), payload.replace(" 3 ", " 03 ")] {
        let other = text.replace(&payload, &foreign);
        assert_ne!(text, other);
        fs::write(&meta, other).unwrap();
        let index = Index::open(dir.path(), IndexSource { newest: 3, ..UPSTREAM }, manual_commit_settings()).unwrap();
        assert_eq!((index.cursor(), index.len(), index.progress().rebuild_percent()), (0, 0, Some(0)), "{foreign}");
        put_documents(&index, &log[..1]);
        assert_eq!((index.progress().rebuild_percent(), find_nodes(&index, "lantern").len()), (Some(33), 1));
        feed(&index, &log);
        assert_eq!(index.progress().rebuild_percent(), None);
    }
    assert!(dir.path().join("sub").is_dir());
}

/// An index of a replaced database or an older backup is not searched.
#[test]
fn index_other_source_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let log = numbered_documents(3);
    let cursor = |upstream: IndexSource| Index::open(dir.path(), upstream, manual_commit_settings()).unwrap().cursor();
    let fill = || feed(&Index::open(dir.path(), UPSTREAM, manual_commit_settings()).unwrap(), &log);
    fill();
    assert_eq!(cursor(IndexSource { newest: 3, ..UPSTREAM }), 3);
    assert_eq!(cursor(IndexSource { newest: 2, ..UPSTREAM }), 0);
    fill();
    assert_eq!(cursor(IndexSource { id: Uuid::from_u128(98), ..UPSTREAM }), 0);
    fill();
    assert_eq!(cursor(IndexSource { texts: 8, ..UPSTREAM }), 0, "the same texts were given otherwise");
}

#[test]
fn index_unusable_folder_returns_error() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "x").unwrap();
    let error = Index::open(&dir.path().join("file"), UPSTREAM, manual_commit_settings()).err().unwrap();
    assert!(matches!(error, SearchError::Folder { .. }), "{error}");
}

/// If the folder disappears while the server runs, the index is recreated and fed again after the wait.
#[test]
fn index_lost_folder_is_recreated() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("search");
    let log = numbered_documents(8);
    let index = Index::open(&folder, UPSTREAM, manual_commit_settings()).unwrap();
    feed(&index, &log[..5]);
    fs::remove_dir_all(&folder).unwrap();
    feed(&index, &log);
    assert_eq!(find_nodes(&index, "lantern").len(), 8);
    assert!(folder.join("meta.json").exists());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any typed text returns only own hits or an error.
    #[test]
    fn search_any_query_does_not_panic(text in "[ -~“”：灯塔🔥]{0,30}|.{0,40}") {
        let index = new_index(manual_commit_settings());
        put_documents(&index, &[document(1, &text), SearchDocument { owner: user_id(2), ..document(2, &text) }]);
        if let Ok(query) = ParsedQuery::parse(&text, LocalNow { now: Time(0), utc_offset_minutes: 0 }) {
            let found = index.find(&SearchRequest::new(user_id(1), query));
            for hit in found.page(0, 10).unwrap().hits {
                prop_assert_eq!(hit.node, node_id(1));
                found.snippet(&hit);
            }
        }
    }

    /// Every substring of a Chinese text finds it.
    #[test]
    fn search_any_chinese_substring_is_found(text in "[一-十丁七万丈三上下]{1,40}", from in 0_usize..40, count in 1_usize..40) {
        let stretch: String = text.chars().skip(from % text.chars().count()).take(count).collect();
        let index = index_with_texts(&[&text]);
        prop_assert_eq!(find_nodes(&index, &stretch), [1]);
    }
}
