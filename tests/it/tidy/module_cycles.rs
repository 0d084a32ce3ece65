//! No cycles: the files of a folder depend on each other in one direction, so that each can be read after those it
//! uses. A sub-folder counts as one file among its neighbours and is checked by itself. A name that a `mod.rs`
//! re-exports counts as named where it is defined. A `mod.rs` counts like any other file, except in the folders of
//! [`HUBS`].

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

use super::source_files::{SourceFile, blank_comments_and_strings, rust_sources};
use super::{expect_none, expect_one};

/// The name of a folder's `mod.rs` among its parts.
const DOOR: &str = "mod.rs";

/// Folders whose `mod.rs` still defines what its own files use. The list may only get shorter.
const HUBS: [&str; 21] = [
    "crates/compat/src/interop/card",
    "crates/compat/src/interop/foreign_chat",
    "crates/compat/src/interop/lorebook",
    "crates/compat/src/prompt",
    "crates/compat/src/prompt/js_regex",
    "crates/compat/src/prompt/macros/table",
    "crates/compat/src/prompt/scripts",
    "crates/core/src/world/fold",
    "crates/core/src/world/schema",
    "crates/engine/src/transfer/out",
    "crates/engine/src/transfer/sillytavern",
    "crates/plugin/src/ctx",
    "crates/plugin/src/manifest",
    "crates/plugin/src/mvu",
    "crates/plugin/src/testing",
    "crates/search/src/query",
    "crates/store/src",
    "crates/store/src/arrange",
    "crates/store/src/upkeep/doctor",
    "src/cli",
    "src/http",
];

/// Which parts of a folder each part names.
type ModuleUses = BTreeMap<String, BTreeSet<String>>;

/// Returns the crate and module path of a file: `crates/plugin/src/ctx/read.rs` -> `crates/plugin/src`, `[ctx, read]`.
fn module_of(path: &str) -> Option<(&str, Vec<&str>)> {
    let begin = if path.starts_with("src/") { 3 } else { path.find("/src/")? + 4 };
    let (root, rest) = (&path[..begin], &path[begin + 1..]);
    let mut parts: Vec<&str> = rest.trim_end_matches(".rs").split('/').collect();
    if matches!(parts.last(), Some(&("mod" | "lib" | "main"))) {
        parts.pop();
    }
    Some((root, parts))
}

/// Returns the code without comments, strings, tests and spaces.
fn squeeze_code(file: &SourceFile) -> String {
    let code = blank_comments_and_strings(&file.text);
    let tests = Regex::new(r"#\[cfg\(test\)\]\s*mod \w+ \{").unwrap();
    let code = &code[..tests.find(&code).map_or(code.len(), |found| found.start())];
    let renamed = Regex::new(r"\s+as\s+\w+").unwrap().replace_all(code, "");
    let words = Regex::new(r"(\w)\s+(\w)").unwrap().replace_all(&renamed, "$1 $2").into_owned();
    words.split_inclusive(' ').map(|word| word.split_whitespace().collect::<String>() + " ").collect()
}

/// Returns the paths at the beginning of the text: one, or those of a group in braces.
fn parse_paths(text: &str) -> Vec<String> {
    let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':');
    let end = text.find(|c| !is_path(c)).unwrap_or(text.len());
    let (head, rest) = text.split_at(end);
    let Some(group) = rest.strip_prefix('{') else { return vec![head.to_owned()] };
    let (mut depth, mut start, mut found) = (0_usize, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            ',' | '}' if depth == 0 => {
                found
                    .extend(parse_paths(group[start..at].trim_start()).into_iter().map(|path| format!("{head}{path}")));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    found
}

/// Returns every path of a file into its own crate, from the crate's root.
fn references(file: &SourceFile, module: &[&str]) -> Vec<Vec<String>> {
    let text = squeeze_code(file);
    let mut found = Vec::new();
    for begin in Regex::new(r"\bcrate::|\b(?:super::)+").unwrap().find_iter(&text) {
        let steps = begin.as_str().matches("super").count();
        let Some(kept) = (if steps == 0 { Some(0) } else { module.len().checked_sub(steps) }) else { continue };
        for path in parse_paths(&text[begin.end()..]) {
            let inner = path.split("::").filter(|name| !name.is_empty()).map(str::to_owned);
            found.push(module[..kept].iter().map(|name| (*name).to_owned()).chain(inner).collect());
        }
    }
    found
}

/// Returns for each name that a `mod.rs` re-exports the part that defines it.
fn exports(door: &SourceFile, parts: &BTreeSet<String>) -> BTreeMap<String, String> {
    let text = squeeze_code(door);
    let mut known = BTreeMap::new();
    for begin in Regex::new(r"\buse (?:self::)?").unwrap().find_iter(&text) {
        for path in parse_paths(&text[begin.end()..]) {
            if let Some((part, name)) = path.split_once("::").filter(|(part, _)| parts.contains(*part)) {
                known.insert(name.to_owned(), part.to_owned());
            }
        }
    }
    known
}

/// Returns the parts that a `mod.rs` uses itself, without those that it only re-exports.
fn parts_used_by_mod_file(door: &SourceFile, folder: &[&str], parts: &BTreeSet<String>) -> BTreeSet<String> {
    let text = squeeze_code(door);
    let text = Regex::new(r"\bpub(?:\([^)]*\))? ?use [^;]*;").unwrap().replace_all(&text, ";");
    let heads = Regex::new(r"(?:^|[^:\w])(?:self::)?(\w+)::").unwrap();
    let heads = heads.captures_iter(&text).map(|found| found[1].to_owned());
    let from_crate = references(door, folder).into_iter().filter(|path| path.iter().zip(folder).all(|(a, b)| a == b));
    let from_crate = from_crate.filter_map(|path| path.get(folder.len()).cloned());
    heads.chain(from_crate).filter(|name| parts.contains(name)).collect()
}

/// A crate's files with their modules.
type Modules<'a> = Vec<(&'a SourceFile, Vec<&'a str>)>;

/// Returns which parts of a folder name which others.
fn module_uses(folder: &[&str], modules: &Modules<'_>) -> ModuleUses {
    let depth = folder.len();
    let inside: Vec<_> =
        modules.iter().filter(|(_, module)| module.len() > depth && module.starts_with(folder)).collect();
    let parts: BTreeSet<String> = inside.iter().map(|(_, module)| module[depth].to_owned()).collect();
    let door = modules.iter().find(|(_, module)| module == folder);
    let known = door.map(|(door, _)| exports(door, &parts)).unwrap_or_default();
    let mut all = ModuleUses::new();
    for (file, module) in inside {
        let own = module[depth].to_owned();
        let named = references(file, module).into_iter().filter_map(|path| {
            let is_here = path.len() > depth && path.iter().zip(folder).all(|(a, b)| a == b);
            let name = path.get(depth).filter(|_| is_here)?;
            if parts.contains(name) {
                return Some(name.clone());
            }
            // A name that is neither a part nor re-exported is defined in `mod.rs`.
            Some(known.get(name).cloned().unwrap_or_else(|| DOOR.to_owned()))
        });
        all.entry(own.clone()).or_default().extend(named.filter(|part| *part != own));
    }
    if let Some((door, _)) = door {
        all.insert(DOOR.to_owned(), parts_used_by_mod_file(door, folder, &parts));
    }
    all
}

/// Returns a path from a part back to itself, if there is one.
fn find_cycle(
    names: &ModuleUses,
    from: &str,
    way: &mut Vec<String>,
    done: &mut BTreeSet<String>,
) -> Option<Vec<String>> {
    if let Some(at) = way.iter().position(|part| part == from) {
        return Some(way[at..].iter().cloned().chain([from.to_owned()]).collect());
    }
    if !done.insert(from.to_owned()) {
        return None;
    }
    way.push(from.to_owned());
    let found = names.get(from).into_iter().flatten().find_map(|next| find_cycle(names, next, way, done));
    way.pop();
    found
}

fn find_cycles(files: &[SourceFile]) -> Vec<String> {
    let mut crates: BTreeMap<&str, Modules<'_>> = BTreeMap::new();
    for file in files.iter().filter(|file| !file.path.contains("/tests/") && !file.path.ends_with("/tests.rs")) {
        if let Some((root, module)) = module_of(&file.path) {
            crates.entry(root).or_default().push((file, module));
        }
    }
    let mut complaints = Vec::new();
    for (root, modules) in crates {
        let folders: BTreeSet<&[&str]> =
            modules.iter().flat_map(|(_, module)| (0..module.len()).map(|end| &module[..end])).collect();
        for folder in folders {
            let (mut names, mut done) = (module_uses(folder, &modules), BTreeSet::new());
            let place = [&[root], folder].concat().join("/");
            if HUBS.contains(&place.as_str()) {
                names.remove(DOOR);
            }
            let found = names.keys().find_map(|part| find_cycle(&names, part, &mut Vec::new(), &mut done));
            complaints
                .extend(found.map(|way| format!("{place}: {} is a circle: split what both need", way.join(" -> "))));
        }
    }
    complaints
}

#[test]
fn circle_is_found_however_it_is_written() {
    let check = |one: &str, two: &str, words: &str| {
        let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
        let door = file("src/attic/mod.rs", "mod box;\nmod lid;\npub use lid::{Hinge, Lid as L};\nuse box::Box;");
        let files = [door, file("src/attic/box.rs", one), file("src/attic/lid/mod.rs", two)];
        match words {
            "" => expect_none(&find_cycles(&files)),
            words => expect_one(&find_cycles(&files), words),
        }
    };
    let words = "src/attic: box -> lid -> box is a circle";
    check("use super::lid::Lid;", "use super::r#box::Box;\nuse crate::attic::box::Box;", words);
    check("use super::{ids,\n  lid::{self, Hinge}};", "fn f() { crate::attic::box::f() }", words);
    check("use crate::attic::Hinge;", "use super::Box;", words);
    check("use crate::{ids, attic::{Lid}};", "use super::box as other;", words);
    check("use super::lid;", "// use super::box;\nuse self::inner::X;\nuse super::super::box::X;", "");
    check("use super::lid;", "#[cfg(test)]\nmod tests { use super::super::box; }", "");
    check("use super::lid;", "use crate::other::box::X; const A: &str = \"super::box\";", "");
}

#[test]
fn circle_in_sub_folder_is_found() {
    let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
    let files = [
        file("crates/attic/src/lib.rs", "mod lid;"),
        file("crates/attic/src/lid/mod.rs", "mod hinge; mod pin;"),
        file("crates/attic/src/lid/hinge.rs", "use super::pin::Pin;"),
        file("crates/attic/src/lid/pin.rs", "use crate::lid::hinge::Hinge;"),
    ];
    expect_one(&find_cycles(&files), "crates/attic/src/lid: hinge -> pin -> hinge is a circle");
}

#[test]
fn circle_with_mod_file_is_found() {
    let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
    let check = |door: &str, words: &str| {
        let files = [
            file("src/attic/mod.rs", door),
            file("src/attic/lid.rs", "use super::{Hinge, Pin};\nfn f() {}"),
            file("src/attic/pin.rs", ""),
        ];
        match words {
            "" => expect_none(&find_cycles(&files)),
            words => expect_one(&find_cycles(&files), words),
        }
    };
    let words = "src/attic: lid -> mod.rs -> lid is a circle";
    check("mod lid;\npub struct Hinge;\npub struct Pin;\nfn g() { lid::f() }", words);
    check("mod lid;\npub struct Hinge;\npub struct Pin;\nuse self::lid::f;", words);
    check("mod lid;\npub struct Hinge;\npub struct Pin;\npub use lid::f;\npub(crate) use lid::g;", "");
    check("mod lid;\nmod pin;\npub use pin::{Hinge, Pin};\nfn g() { lid::f() }", "");
}

#[test]
fn hubs_are_circles() {
    let files = rust_sources();
    let is_hub = |hub: &&str| {
        let is_inside =
            |file: &SourceFile| file.path.starts_with(&format!("{hub}/")) || file.path == format!("{hub}.rs");
        let inside = files.iter().filter(|file| is_inside(file));
        let inside = inside.filter(|file| !file.path.contains("/tests/") && !file.path.ends_with("/tests.rs"));
        let modules: Modules<'_> = inside.map(|file| (file, module_of(&file.path).unwrap().1)).collect();
        // The head of the folder has the shortest path.
        let folder = modules.iter().map(|(_, module)| module).min_by_key(|module| module.len()).unwrap();
        let (names, mut done) = (module_uses(folder, &modules), BTreeSet::new());
        names.keys().any(|part| find_cycle(&names, part, &mut Vec::new(), &mut done).is_some())
    };
    let rest =
        HUBS.iter().filter(|hub| !is_hub(hub)).map(|hub| format!("{hub} is no hub any more: take it off the list"));
    expect_none(&rest.collect::<Vec<_>>());
}

#[test]
fn files_know_each_other_in_one_direction() {
    let files = rust_sources();
    assert!(files.len() > 500, "the sources are not where they should be");
    expect_none(&find_cycles(&files));
}
