//! The floors: a file imports only from lower floors or from its own room.

use regex::Regex;

use super::code::{File, bare, files_of, line_of, top};
use super::{expect_none, expect_one};

/// Every room and its floor. A new room gets its line here and in `ARCHITECTURE.md`.
const FLOORS: [(&str, u8); 29] = [
    ("main", 9),
    ("cli", 9),
    ("http", 8),
    ("app", 7),
    ("turn", 6),
    ("follow", 6),
    ("embed", 6),
    ("transfer", 6),
    ("night", 6),
    ("wipe", 6),
    ("devices", 6),
    ("store", 5),
    ("search", 5),
    ("live", 5),
    ("plugin", 4),
    ("prompt", 4),
    ("archive", 4),
    ("tree", 3),
    ("oplog", 3),
    ("provider", 2),
    ("clock", 2),
    ("interop", 2),
    ("outside", 2),
    ("keyring", 2),
    ("world", 1),
    ("config", 1),
    ("ids", 1),
    ("assets", 1),
    ("tls", 1),
];

/// The only imports between rooms of one floor, in this direction.
const BESIDE: [(&str, &str); 2] = [("main", "cli"), ("tree", "oplog")];

/// Rooms without I/O, clock, threads and frameworks: everything in them is tested by plain calls.
const PURE: [&str; 3] = ["tree", "world", "prompt"];

/// Rooms that are pure too, and read and write bytes in memory through the traits of `std::io`.
const PURE_OVER_BYTES: [&str; 1] = ["interop"];

/// What a pure room may not name.
const IMPURE: &str = r"\b(actix_\w+|diesel\w*|tokio|reqwest|tantivy|rhai|futures_util|async|await|std::(fs|net|env|io|thread|process)|Instant|SystemTime)\b";

/// Crates that belong to rooms: nobody else may name them.
const OWNED: [(&str, &[&str]); 13] = [
    ("diesel", &["store"]),
    ("diesel_migrations", &["store"]),
    ("libsqlite3_sys", &["store"]),
    ("tantivy", &["search"]),
    ("rhai", &["plugin"]),
    ("reqwest", &["provider", "outside", "config"]),
    ("minijinja", &["provider"]),
    ("minijinja_contrib", &["provider"]),
    ("tiktoken_rs", &["provider"]),
    ("tokenizers", &["provider"]),
    ("actix_web", &["http", "cli"]),
    ("actix_ws", &["http"]),
    ("utoipa", &["http"]),
];

fn floor(room: &str) -> Option<u8> {
    FLOORS.iter().find(|(name, _)| *name == room).map(|(_, floor)| *floor)
}

/// `src/store/rows.rs` -> `store`; `src/live.rs` -> `live`.
fn room(path: &str) -> &str {
    let inner = path.strip_prefix("src/").unwrap_or(path);
    inner.split('/').next().unwrap_or(inner).trim_end_matches(".rs")
}

/// How many folders of modules a file lies in: `crate` is so many `super` up.
fn depth(path: &str) -> usize {
    path.trim_end_matches("/mod.rs").matches('/').count()
}

/// Every room that a file names, with the line and the place named.
fn imports(file: &File) -> Vec<(usize, String)> {
    let text = bare(&file.text);
    let start = Regex::new(r"\b(?:crate|clotho)\s*::\s*|\b(?:super\s*::\s*)+").unwrap();
    let mut found = Vec::new();
    for begin in start.find_iter(&text) {
        let up = begin.as_str().matches("super").count();
        if up > 0 && up < depth(&file.path) {
            continue;
        }
        let line = line_of(&text, begin.start());
        for name in heads(&text[begin.end()..]) {
            // From inside a `mod tests` of the same file, so many `super` still end in the room itself.
            if up == 0 || floor(room(&name)).is_some() {
                found.push((line, name));
            }
        }
    }
    found
}

/// The paths after `crate::`: one, or those of a group.
fn heads(rest: &str) -> Vec<String> {
    let path = |text: &str| {
        let parts = text.split("::").map(str::trim).take(2);
        let name = |part: &&str| part.chars().all(|c| c.is_alphanumeric() || c == '_') && !part.is_empty();
        parts.take_while(name).collect::<Vec<_>>().join("/")
    };
    let Some(group) = rest.strip_prefix('{') else {
        let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | ':'))).unwrap_or(rest.len());
        return vec![path(&rest[..end])];
    };
    let mut depth = 1;
    let mut parts = vec![String::new()];
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => parts.push(String::new()),
            _ => {}
        }
        if depth == 0 {
            break;
        }
        if let Some(part) = parts.last_mut().filter(|_| c != ',' || depth > 1) {
            part.push(c);
        }
    }
    let first =
        |part: &String| path(part.split(['{', ' ']).find(|text| !text.trim().is_empty()).unwrap_or_default().trim());
    parts.iter().map(first).filter(|head| !head.is_empty()).collect()
}

/// The file that a place like `store/rows` stands in.
fn file_of(place: &str) -> String {
    let exists = |path: &String| top().join(path).is_file();
    let own = room(place).to_owned();
    [format!("src/{place}.rs"), format!("src/{place}/mod.rs"), format!("src/{own}.rs"), format!("src/{own}/mod.rs")]
        .into_iter()
        .find(exists)
        .unwrap_or_else(|| format!("src/{own}"))
}

fn climbs(file: &File) -> Vec<String> {
    let own = room(&file.path);
    if own == "lib" {
        return Vec::new();
    }
    let Some(here) = floor(own) else {
        return vec![format!("{}: the room {own} has no floor: give it one in tests/it/tidy/floors.rs", file.path)];
    };
    let mut complaints = Vec::new();
    for (line, place) in imports(file) {
        let other = room(&place);
        let Some(there) = floor(other) else { continue };
        let is_down = there < here || other == own || BESIDE.contains(&(own, other));
        if !is_down {
            let target = file_of(&place);
            complaints.push(format!("{}:{line} (floor {here}) climbs to {target} (floor {there})", file.path));
        }
    }
    complaints
}

fn strangers(file: &File) -> Vec<String> {
    let own = room(&file.path);
    let text = bare(&file.text);
    let mut complaints = Vec::new();
    let over_bytes = PURE_OVER_BYTES.contains(&own);
    if PURE.contains(&own) || over_bytes {
        for found in Regex::new(IMPURE).unwrap().find_iter(&text) {
            if over_bytes && found.as_str() == "std::io" {
                continue;
            }
            let (line, what) = (line_of(&text, found.start()), found.as_str());
            complaints.push(format!("{}:{line} names {what}, but {own} is pure", file.path));
        }
    }
    for (name, rooms) in OWNED.iter().filter(|(_, rooms)| !rooms.contains(&own)) {
        let named = Regex::new(&format!(r"\b{name}\s*::|\buse\s+{name}\b|#\[{name}\b")).unwrap();
        for found in named.find_iter(&text) {
            let line = line_of(&text, found.start());
            let rooms = rooms.join(" and ");
            complaints.push(format!("{}:{line} names {name}, which belongs to {rooms}", file.path));
        }
    }
    complaints
}

fn file(path: &str, text: &str) -> File {
    File { path: path.to_owned(), text: text.to_owned() }
}

#[test]
fn a_climb_is_found_however_it_is_written() {
    let check = |path: &str, text: &str, words: &str| expect_one(&climbs(&file(path, text)), words);
    check("src/world/op.rs", "use crate::store::Store;", "src/world/op.rs:1 (floor 1) climbs to src/store/mod.rs");
    check(
        "src/tree/edit.rs",
        "\nfn f() { crate::store::rows::x() }",
        ":2 (floor 3) climbs to src/store/rows.rs (floor 5)",
    );
    check("src/store/read.rs", "use crate::{\n  ids::NodeId, search::{Index, Change}};", "climbs to src/search/mod.rs");
    check("src/search/mod.rs", "use crate::store as s;", "floor 5) climbs to src/store/mod.rs (floor 5)");
    check("src/plugin/host.rs", "use crate::prompt;", "climbs to src/prompt/mod.rs (floor 4)");
    check("src/oplog.rs", "use crate::tree::Node;", "climbs to src/tree/");
    check("src/live.rs", "use super::turn::Turns;", "climbs to src/turn/mod.rs");
    check("src/store/tx.rs", "use super::super::turn::{Turns};", "climbs to src/turn/mod.rs");
    check("src/attic/mod.rs", "", "the room attic has no floor");
}

#[test]
fn what_is_no_climb_is_let_be() {
    let check = |path: &str, text: &str| expect_none(&climbs(&file(path, text)));
    check("src/turn/mod.rs", "use crate::{store::Store, plugin::{self, Hook}, world};");
    check("src/tree/edit.rs", "use crate::oplog::Effect; use super::Node;");
    check("src/world/op.rs", "//! See [`crate::store`].\n/// And [`crate::turn`].\nconst X: &str = \"crate::http\";");
    check("src/store/rows.rs", "use super::tx::Tx; mod tests { use super::super::tx; }");
    check("src/live.rs", "mod tests { use super::*; }");
    check("src/main.rs", "fn main() { clotho::cli::run() }");
    check("src/lib.rs", "pub mod app;");
}

#[test]
fn a_stranger_is_found() {
    let check = |path: &str, text: &str, words: &str| expect_one(&strangers(&file(path, text)), words);
    check("src/turn/start.rs", "use diesel::prelude::*;", "names diesel, which belongs to store");
    check("src/search/find.rs", "#[diesel(x)] struct A;", "names diesel");
    check("src/turn/start.rs", "fn f(e: rhai::Engine) {}", "names rhai, which belongs to plugin");
    check("src/world/op.rs", "async fn f() {}", "names async, but world is pure");
    check("src/prompt/mod.rs", "let x = std::fs::read(p);", "names std::fs, but prompt is pure");
    check(
        "src/interop/text.rs",
        "use std::{io::Read}; use std::fs::File; use std::io::Read;",
        "names std::fs, but interop is pure",
    );
    expect_none(&strangers(&file("src/store/tx.rs", "use diesel::prelude::*;")));
    expect_none(&strangers(&file("src/turn/start.rs", "// diesel::x\nlet diesel = \"diesel::\";")));
}

#[test]
fn nobody_climbs() {
    let files = files_of("src", ".rs");
    assert!(files.len() > 50, "the sources are not where they should be");
    expect_none(&files.iter().flat_map(climbs).collect::<Vec<_>>());
}

#[test]
fn crates_stay_in_their_rooms() {
    expect_none(&files_of("src", ".rs").iter().flat_map(strangers).collect::<Vec<_>>());
}

#[test]
fn the_map_shows_every_room() {
    let map = std::fs::read_to_string(top().join("ARCHITECTURE.md")).unwrap();
    let shown = |room: &str| map.contains(&format!("`{room}`")) || map.contains(&format!("`{room}/`"));
    let missing = FLOORS.iter().map(|(room, _)| *room).filter(|room| !shown(room));
    expect_none(&missing.map(|room| format!("ARCHITECTURE.md does not show the room `{room}`")).collect::<Vec<_>>());
}

/// S1-28: nodes, texts and the log have one door, at which rows are only ever added. One place takes
/// them away: what is purged, and what was given up in the trash (`domain.md` 2.16).
#[test]
fn the_tree_is_written_through_one_door() {
    let writes = Regex::new(
        r"diesel::(insert_into|delete)\(\s*(nodes|texts|operations)::table|\b(insert)::<(NodeRow|NewTextRow|OperationRow)\b|(insertable)!\(\s*\w+[^,]*,\s*(nodes|texts|operations)\b",
    )
    .unwrap();
    // A call that does not say what it writes, and SQL by hand, would go round the door.
    let unseen = Regex::new(r"(?:^|[^.\w])insert\(\s*conn|(?i:insert into|delete from)").unwrap();
    let mut found: Vec<String> = Vec::new();
    for file in files_of("src", ".rs") {
        let text = bare(&file.text);
        for write in writes.captures_iter(&text) {
            let words: Vec<&str> = write.iter().skip(1).flatten().map(|word| word.as_str()).collect();
            found.push(format!("{} {}", file.path, words.join(" ")));
        }
        let may_hide = file.path.starts_with("src/store/") && file.path != "src/store/prepared.rs";
        found.extend(
            unseen
                .find_iter(if may_hide { &file.text } else { "" })
                .map(|write| format!("{}: {:?}", file.path, write.as_str())),
        );
    }
    found.sort();
    let expected = [
        "src/store/destroy.rs delete nodes",
        "src/store/destroy.rs delete operations",
        "src/store/destroy.rs delete texts",
        "src/store/rows.rs insertable nodes",
        "src/store/rows.rs insertable operations",
        "src/store/rows.rs insertable texts",
        "src/store/tx.rs insert NewTextRow",
        "src/store/tx.rs insert NodeRow",
        "src/store/tx.rs insert OperationRow",
    ];
    assert_eq!(found, expected);
}

/// S0-03, S1-29: who assembles a prompt is handed lines of text with a role; of nodes, ids and branches it knows nothing.
#[test]
fn the_prompt_knows_no_tree() {
    let tree = Regex::new(r"\b(tree::(?:\{[^}]*\}|\w+)|ids(?:::\w+)?|NodeId|SessionId|oplog)\b").unwrap();
    let files: Vec<File> = files_of("src/prompt", ".rs");
    assert!(files.len() > 3, "the prompt is not where it should be");
    for file in files {
        let text = bare(&file.text);
        let foreign = tree.find_iter(&text).find(|named| named.as_str() != "tree::Role");
        let said =
            foreign.map(|named| format!("{}:{} names {}", file.path, line_of(&text, named.start()), named.as_str()));
        assert_eq!(said, None);
    }
}
