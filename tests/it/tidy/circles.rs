//! No circles: the files of a room know each other in one direction, so that each can be read after those it builds on. A
//! folder inside a room counts as one file. What a room's `mod.rs` hands on counts as named where it stands; `mod.rs`
//! itself is the front door and knows everyone.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

use super::code::{File, bare, files_of};
use super::{expect_none, expect_one};

/// Who names whom, by the parts of a room.
type Names = BTreeMap<String, BTreeSet<String>>;

/// `src/plugin/ctx/read.rs` -> `plugin` and `ctx`; nothing for front doors and for rooms of one file.
fn part_of(path: &str) -> Option<(&str, &str)> {
    let (room, rest) = path.strip_prefix("src/")?.split_once('/')?;
    let part = rest.split('/').next()?.trim_end_matches(".rs");
    (rest != "mod.rs").then_some((room, part))
}

/// Code without comments, texts, tests and blanks.
fn squeezed(file: &File) -> String {
    let code = bare(&file.text);
    let tests = Regex::new(r"#\[cfg\(test\)\]\s*mod \w+ \{").unwrap();
    let code = &code[..tests.find(&code).map_or(code.len(), |found| found.start())];
    let renamed = Regex::new(r"\s+as\s+\w+").unwrap().replace_all(code, "");
    let words = Regex::new(r"(\w)\s+(\w)").unwrap().replace_all(&renamed, "$1 $2").into_owned();
    words.split_inclusive(' ').map(|word| word.split_whitespace().collect::<String>() + " ").collect()
}

/// The paths that begin here: one, or those of a group in braces.
fn paths(text: &str) -> Vec<String> {
    let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':');
    let end = text.find(|c| !is_path(c)).unwrap_or(text.len());
    let (head, rest) = text.split_at(end);
    let Some(group) = rest.strip_prefix('{') else { return vec![head.to_owned()] };
    let (mut depth, mut start, mut found) = (0_usize, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            ',' | '}' if depth == 0 => {
                found.extend(paths(group[start..at].trim_start()).into_iter().map(|path| format!("{head}{path}")));
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

/// The first name of every path into the file's own room.
fn inward(file: &File, room: &str) -> Vec<String> {
    let text = squeezed(file);
    let up = file.path.trim_end_matches("/mod.rs").matches('/').count() - 1;
    let mut found = Vec::new();
    for begin in Regex::new(r"\bcrate::|\b(?:super::)+").unwrap().find_iter(&text) {
        for path in paths(&text[begin.end()..]) {
            let mut names = path.split("::");
            let is_own = match begin.as_str().matches("super").count() {
                0 => names.next() == Some(room),
                steps => steps == up,
            };
            found.extend(names.next().filter(|_| is_own).map(str::to_owned));
        }
    }
    found
}

/// Where the names stand that a front door hands on.
fn handed_on(door: &File, parts: &BTreeSet<&str>) -> BTreeMap<String, String> {
    let mut known = BTreeMap::new();
    for begin in Regex::new(r"\buse (?:self::)?").unwrap().find_iter(&squeezed(door)) {
        for path in paths(&squeezed(door)[begin.end()..]) {
            if let Some((part, name)) = path.split_once("::").filter(|(part, _)| parts.contains(part)) {
                known.insert(name.to_owned(), part.to_owned());
            }
        }
    }
    known
}

fn names(room: &str, files: &[&File]) -> Names {
    let parts: BTreeSet<&str> = files.iter().filter_map(|file| part_of(&file.path)).map(|(_, part)| part).collect();
    let door = files.iter().find(|file| file.path == format!("src/{room}/mod.rs"));
    let known = door.map(|door| handed_on(door, &parts)).unwrap_or_default();
    let mut all = Names::new();
    for file in files {
        let Some((_, own)) = part_of(&file.path) else { continue };
        let named = inward(file, room)
            .into_iter()
            .filter_map(|name| if parts.contains(name.as_str()) { Some(name) } else { known.get(&name).cloned() });
        all.entry(own.to_owned()).or_default().extend(named.filter(|part| part != own));
    }
    all
}

/// A way from a part back to itself.
fn circle(names: &Names, from: &str, way: &mut Vec<String>, done: &mut BTreeSet<String>) -> Option<Vec<String>> {
    if let Some(at) = way.iter().position(|part| part == from) {
        return Some(way[at..].iter().cloned().chain([from.to_owned()]).collect());
    }
    if !done.insert(from.to_owned()) {
        return None;
    }
    way.push(from.to_owned());
    let found = names.get(from).into_iter().flatten().find_map(|next| circle(names, next, way, done));
    way.pop();
    found
}

fn circles(files: &[File]) -> Vec<String> {
    let inside = |file: &&File| !file.path.contains("/tests/");
    let mut rooms: BTreeMap<&str, Vec<&File>> = BTreeMap::new();
    for file in files.iter().filter(inside) {
        if let Some((room, _)) = file.path.strip_prefix("src/").and_then(|rest| rest.split_once('/')) {
            rooms.entry(room).or_default().push(file);
        }
    }
    let mut complaints = Vec::new();
    for (room, files) in rooms {
        let (names, mut done) = (names(room, &files), BTreeSet::new());
        let found = names.keys().find_map(|part| circle(&names, part, &mut Vec::new(), &mut done));
        complaints
            .extend(found.map(|way| format!("src/{room}: {} is a circle: part what both need", way.join(" -> "))));
    }
    complaints
}

#[test]
fn a_circle_is_found_however_it_is_written() {
    let check = |one: &str, two: &str, words: &str| {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let door = file("src/attic/mod.rs", "mod box;\nmod lid;\npub use lid::{Hinge, Lid as L};\nuse box::Box;");
        let files = [door, file("src/attic/box.rs", one), file("src/attic/lid/mod.rs", two)];
        match words {
            "" => expect_none(&circles(&files)),
            words => expect_one(&circles(&files), words),
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
fn nobody_goes_in_circles() {
    let files = files_of("src", ".rs");
    assert!(files.len() > 50, "the sources are not where they should be");
    expect_none(&circles(&files));
}
