//! Which crate may depend on which, who may name the heavy libraries, and what stays pure. Cargo itself refuses cycles
//! between crates; these tests check the direction that `ARCHITECTURE.md` shows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use regex::Regex;

use super::source_files::{
    SourceFile, blank_comments_and_strings, files_with_ending, line_number, repository_root, rust_sources,
};
use super::{expect_none, expect_one};

/// The crates of the workspace, each after those that it may depend on. The last one is the root package.
const ORDER: [&str; 10] =
    ["core", "config", "compat", "provider", "plugin", "search", "store", "engine", "queries", "clotho"];

/// Folders without I/O, clock, threads and frameworks: plain calls test everything in them.
const PURE: [&str; 3] = ["crates/core/src/tree/", "crates/core/src/world/", "crates/compat/src/prompt/"];

/// Folders that are pure too, but read and write bytes in memory through the traits of `std::io`.
const PURE_OVER_BYTES: [&str; 1] = ["crates/compat/src/interop/"];

/// Names that a pure folder may not contain.
const IMPURE: &str = r"\b(actix_\w+|diesel\w*|tokio|reqwest|tantivy|rhai|futures_util|async|await|std::(fs|net|env|io|thread|process)|Instant|SystemTime)\b";

/// Libraries that only some crates may depend on.
const OWNERS: [(&str, &[&str]); 13] = [
    ("diesel", &["store"]),
    ("diesel_migrations", &["store"]),
    ("libsqlite3-sys", &["store"]),
    ("tantivy", &["search"]),
    ("rhai", &["plugin"]),
    ("reqwest", &["provider", "config", "clotho"]),
    ("minijinja", &["provider"]),
    ("minijinja-contrib", &["provider"]),
    ("tiktoken-rs", &["provider"]),
    ("tokenizers", &["provider"]),
    ("actix-web", &["clotho"]),
    ("actix-ws", &["clotho"]),
    ("utoipa", &["clotho"]),
];

/// Returns the direct dependencies of a crate, without those of its tests.
fn parse_dependencies(manifest: &str) -> BTreeSet<String> {
    let manifest: toml::Table = manifest.parse().unwrap();
    let table = manifest.get("dependencies").and_then(toml::Value::as_table);
    table.map(|table| table.keys().cloned().collect()).unwrap_or_default()
}

/// Returns the dependencies of every crate of the workspace.
fn workspace_dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let read = |path: String| parse_dependencies(&fs::read_to_string(repository_root().join(path)).unwrap());
    let members = fs::read_dir(repository_root().join("crates")).unwrap();
    let members = members.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let crates = members.map(|name| (name.clone(), read(format!("crates/{name}/Cargo.toml"))));
    crates.chain([("clotho".to_owned(), read("Cargo.toml".to_owned()))]).collect()
}

/// Returns a crate's dependencies on other crates of the workspace.
fn internal_dependencies(dependencies: &BTreeSet<String>) -> BTreeSet<String> {
    dependencies.iter().filter_map(|name| name.strip_prefix("clotho-")).map(str::to_owned).collect()
}

/// Returns dependencies on crates that do not come earlier in the order, and on libraries reserved for other crates.
fn forbidden_dependencies(name: &str, dependencies: &BTreeSet<String>) -> Vec<String> {
    let place = |name: &str| ORDER.iter().position(|other| *other == name);
    let Some(here) = place(name) else { return vec![format!("{name} has no place in tests/it/tidy/crate_layers.rs")] };
    let up =
        internal_dependencies(dependencies).into_iter().filter(|other| place(other).is_none_or(|there| there >= here));
    let up = up.map(|other| format!("{name} depends on {other}, which does not come before it"));
    let foreign = OWNERS.iter().filter(|(library, owners)| dependencies.contains(*library) && !owners.contains(&name));
    let foreign = foreign.map(|(library, owners)| format!("{name} depends on {library}: only {owners:?} may"));
    up.chain(foreign).collect()
}

/// Returns the names of I/O and frameworks in a pure folder.
fn impure_names(file: &SourceFile) -> Vec<String> {
    let is_in = |folders: &[&str]| folders.iter().any(|folder| file.path.starts_with(folder));
    if !is_in(&PURE) && !is_in(&PURE_OVER_BYTES) {
        return Vec::new();
    }
    let text = blank_comments_and_strings(&file.text);
    let names = Regex::new(IMPURE).unwrap();
    let found = names.find_iter(&text).filter(|name| !(is_in(&PURE_OVER_BYTES) && name.as_str() == "std::io"));
    found
        .map(|name| {
            format!("{}:{} names {} in a pure folder", file.path, line_number(&text, name.start()), name.as_str())
        })
        .collect()
}

/// Dependencies that no source names, each with its reason.
const UNNAMED: [(&str, &str); 1] = [("libsqlite3-sys", "its feature compiles SQLite into the program")];

/// Returns the dependencies of a crate that none of its files names.
fn unused_dependencies(name: &str, dependencies: &BTreeSet<String>, files: &[SourceFile]) -> Vec<String> {
    let is_named = |library: &str| {
        let word = Regex::new(&format!(r"\b{}\b", library.replace('-', "_"))).unwrap();
        files.iter().any(|file| word.is_match(&blank_comments_and_strings(&file.text)))
    };
    let unnamed = dependencies.iter().filter(|library| !UNNAMED.iter().any(|(other, _)| other == library));
    unnamed
        .filter(|library| !is_named(library))
        .map(|library| format!("{name} depends on {library} and does not name it: remove it from its manifest"))
        .collect()
}

fn file(path: &str, text: &str) -> SourceFile {
    SourceFile { path: path.to_owned(), text: text.to_owned() }
}

#[test]
fn crate_dependency_upward_is_found() {
    let on = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    expect_one(&forbidden_dependencies("core", &on(&["clotho-store", "serde"])), "core depends on store");
    expect_one(&forbidden_dependencies("search", &on(&["diesel", "clotho-core"])), "search depends on diesel");
    expect_one(&forbidden_dependencies("attic", &on(&[])), "no place");
    expect_none(&forbidden_dependencies("store", &on(&["diesel", "clotho-core"])));
    expect_none(
        &workspace_dependencies().iter().flat_map(|(name, on)| forbidden_dependencies(name, on)).collect::<Vec<_>>(),
    );
}

#[test]
fn unused_dependency_is_found() {
    let planted = [file("src/a.rs", "use serde_json::Value; // rhai")];
    let on = BTreeSet::from(["serde_json".to_owned(), "rhai".to_owned()]);
    expect_one(&unused_dependencies("attic", &on, &planted), "attic depends on rhai");
    let complaints = workspace_dependencies().into_iter().flat_map(|(name, dependencies)| {
        let folder = if name == "clotho" { "src".to_owned() } else { format!("crates/{name}/src") };
        unused_dependencies(&name, &dependencies, &files_with_ending(&folder, ".rs"))
    });
    expect_none(&complaints.collect::<Vec<_>>());
}

#[test]
fn pure_folder_impure_name_is_found() {
    let check = |path: &str, text: &str, words: &str| expect_one(&impure_names(&file(path, text)), words);
    check("crates/core/src/world/op.rs", "async fn f() {}", "names async");
    check("crates/compat/src/prompt/mod.rs", "let x = std::fs::read(p);", "names std::fs");
    check("crates/compat/src/interop/text.rs", "use std::io::Read; use std::fs::File;", "names std::fs");
    expect_none(&impure_names(&file("crates/store/src/tx.rs", "use diesel::prelude::*;")));
    expect_none(
        &impure_names(&file("crates/core/src/tree/node.rs", "// tokio\nlet tokio = \"tokio::\";")).clone()[1..],
    );
    let sources = rust_sources();
    let pure = sources.iter().filter(|file| PURE.iter().any(|folder| file.path.starts_with(folder))).count();
    assert!(pure > 50, "the pure folders are not where they should be");
    expect_none(&sources.iter().flat_map(impure_names).collect::<Vec<_>>());
}

/// The picture in `ARCHITECTURE.md` has a line `name -> others` for each crate.
#[test]
fn architecture_picture_matches_manifests() {
    let map = fs::read_to_string(repository_root().join("ARCHITECTURE.md")).unwrap();
    let line = Regex::new(r"(?m)^(\w+) +-> +(.*)$").unwrap();
    let shown: BTreeMap<String, BTreeSet<String>> = line
        .captures_iter(&map)
        .map(|found| (found[1].to_owned(), found[2].split(", ").filter(|s| *s != "-").map(str::to_owned).collect()))
        .collect();
    let real: BTreeMap<String, BTreeSet<String>> = workspace_dependencies()
        .into_iter()
        .map(|(name, dependencies)| (name, internal_dependencies(&dependencies)))
        .collect();
    assert_eq!(shown, real);
}

/// S1-28: nodes, texts and the log have one writer, which only adds rows. One place deletes them: purged parts, and
/// what is deleted from the trash (`domain.md` 2.16).
#[test]
fn tree_tables_have_one_writer() {
    let writes = Regex::new(
        r"diesel::(insert_into|delete)\(\s*(nodes|texts|operations)::table|\b(insert)::<(NodeRow|NewTextRow|OperationRow)\b|(insertable)!\(\s*\w+[^,]*,\s*(nodes|texts|operations)\b",
    )
    .unwrap();
    // The pattern above would miss an insert that does not name its table, and hand-written SQL.
    let unseen = Regex::new(r"(?:^|[^.\w])insert\(\s*conn|(?i:insert into|delete from)").unwrap();
    let store = "crates/store/src/";
    let mut found: Vec<String> = Vec::new();
    for file in rust_sources() {
        let text = blank_comments_and_strings(&file.text);
        for write in writes.captures_iter(&text) {
            let words: Vec<&str> = write.iter().skip(1).flatten().map(|word| word.as_str()).collect();
            found.push(format!("{} {}", file.path.trim_start_matches(store), words.join(" ")));
        }
        let may_hide = file.path.starts_with(store) && !file.path.ends_with("src/prepared.rs");
        found.extend(
            unseen
                .find_iter(if may_hide { &file.text } else { "" })
                .map(|write| format!("{}: {:?}", file.path, write.as_str())),
        );
    }
    found.sort();
    let expected = [
        "destroy.rs delete nodes",
        "destroy.rs delete operations",
        "destroy.rs delete texts",
        "rows.rs insertable nodes",
        "rows.rs insertable operations",
        "rows.rs insertable texts",
        "tx.rs insert NewTextRow",
        "tx.rs insert NodeRow",
        "tx.rs insert OperationRow",
    ];
    assert_eq!(found, expected);
}

/// S0-03, S1-29: prompt assembly gets texts with a role. It knows no nodes, ids or branches.
#[test]
fn prompt_names_no_tree_types() {
    let tree = Regex::new(r"\b(tree::(?:\{[^}]*\}|\w+)|ids(?:::\w+)?|NodeId|SessionId|oplog)\b").unwrap();
    let files: Vec<SourceFile> = files_with_ending("crates/compat/src/prompt", ".rs");
    assert!(files.len() > 3, "the prompt is not where it should be");
    for file in files {
        let text = blank_comments_and_strings(&file.text);
        let foreign = tree.find_iter(&text).find(|named| named.as_str() != "tree::Role");
        let complaint = foreign
            .map(|named| format!("{}:{} names {}", file.path, line_number(&text, named.start()), named.as_str()));
        assert_eq!(complaint, None);
    }
}
