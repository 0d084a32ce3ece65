//! Shape: what fits a screen, what every folder must document, and forbidden leftovers.

use std::collections::BTreeSet;

use regex::Regex;

use super::source_files::{
    SourceFile, blank_comments_and_strings, files, files_with_ending, line_number, repository_root, rust_sources,
};
use super::{expect_none, expect_one};

/// The most lines of a file. The usual size is half of it.
const FILE: usize = 700;
/// The most lines of a function. The usual size is half of it; a function that needs a second screen lacks a noun.
const FUNCTION: usize = 80;

/// Functions that may be longer because they are tables, which are read line by line.
const LONG: [&str; 1] = ["crates/core/src/world/fold/tests/operations.rs fold_append_and_take_change_list"];

/// The least lines of a folder's head comment.
const HEAD: usize = 3;

fn file_length_errors(file: &SourceFile) -> Vec<String> {
    let lines = file.text.lines().count();
    let complaint = format!("{} has {lines} lines, {FILE} at most: split it along its nouns", file.path);
    if lines > FILE { vec![complaint] } else { Vec::new() }
}

/// Returns functions over the limit. The source is formatted: a function ends at the first brace with its indentation.
fn long_functions(file: &SourceFile) -> Vec<String> {
    let text = blank_comments_and_strings(&file.text);
    let lines: Vec<&str> = text.lines().collect();
    let begin = Regex::new(r"^(\s*)(?:[\w()]+ |pub\(.*?\) )*fn (\w+)").unwrap();
    let mut complaints = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(found) = begin.captures(line) else { continue };
        let (indent, name) = (&found[1], &found[2]);
        let ends = |line: &&str| {
            **line == format!("{indent}}}") || line.ends_with(';') && line.starts_with(&format!("{indent}f"))
        };
        let length = lines[at..].iter().position(|line| ends(&line.trim_end())).unwrap_or(0) + 1;
        let is_one_line = line.trim_end().ends_with(['}', ';']);
        if length > FUNCTION && !is_one_line && !LONG.contains(&format!("{} {name}", file.path).as_str()) {
            complaints.push(format!("{}:{} {name} has {length} lines, {FUNCTION} at most", file.path, at + 1));
        }
    }
    complaints
}

/// Returns a complaint if a file of a crate does not begin by saying what it is for. A folder's head also explains how
/// to add the next thing.
fn missing_file_head(file: &SourceFile, folders: &BTreeSet<String>) -> Vec<String> {
    let head = file.text.lines().take_while(|line| line.starts_with("//!")).count();
    let own = file.path.trim_end_matches("/mod.rs").trim_end_matches("/lib.rs").trim_end_matches(".rs");
    let (least, what) = if folders.contains(own) { (HEAD, "the head of its folder") } else { (1, "a file") };
    let complaint = format!("{}: {what} begins with `//!` ({least} lines at least), not {head}", file.path);
    if head < least { vec![complaint] } else { Vec::new() }
}

/// Returns public functions, types, traits and constants without a doc comment. Fields and variants need one only for
/// a unit, a shape, a range or a reason, so the compiler's own lint asks for too much.
fn undocumented_items(file: &SourceFile) -> Vec<String> {
    let item =
        Regex::new(r"^\s*pub (?:(?:async|const|unsafe) )*(?:fn|struct|enum|trait|type|const|static|union) (\w+)")
            .unwrap();
    let lines: Vec<&str> = file.text.lines().collect();
    let code = blank_comments_and_strings(&file.text);
    let mut complaints = Vec::new();
    for (at, line) in code.lines().enumerate() {
        let Some(found) = item.captures(line) else { continue };
        // Attributes, over several lines, may be between the comment and the item.
        let above =
            lines[..at].iter().rev().take_while(|line| !line.trim().is_empty() && !line.trim().starts_with('}'));
        if !above.clone().any(|line| line.trim_start().starts_with("///")) {
            complaints.push(format!("{}:{} {} has no doc comment", file.path, at + 1, &found[1]));
        }
    }
    complaints
}

fn unexplained_lint_attributes(file: &SourceFile) -> Vec<String> {
    let silenced = Regex::new(r"#!?\[(?:allow|expect)\s*\(").unwrap();
    let text = blank_comments_and_strings(&file.text);
    let mut complaints = Vec::new();
    for found in silenced.find_iter(&text) {
        let rest = &text[found.start()..];
        let attribute = &rest[..rest.find(']').unwrap_or(rest.len())];
        if !attribute.contains("reason") {
            let line = line_number(&text, found.start());
            complaints.push(format!("{}:{line} silences a lint without a reason", file.path));
        }
    }
    complaints
}

/// Returns notes to oneself, and paths that exist on one machine only.
fn leftovers(file: &SourceFile) -> Vec<String> {
    let notes = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")].join("|");
    let places =
        [concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/Us", "ers/"), concat!("/wo", "rk/")].join("|");
    let pattern = Regex::new(&format!(r"\b({notes})\b|(^|[^\w.~}}*-])({places})|C:\\Users")).unwrap();
    let complaint = |(at, line): (usize, &str)| {
        let found = pattern.find(line)?;
        Some(format!("{}:{} leaves {:?} behind", file.path, at + 1, found.as_str().trim()))
    };
    file.text.lines().enumerate().filter_map(complaint).collect()
}

/// Returns the sources that people write, without generated and vendored files.
fn handwritten_sources() -> Vec<SourceFile> {
    let rust = ["src", "crates", "tests", "benches", "build.rs"]
        .into_iter()
        .flat_map(|folder| files_with_ending(folder, ".rs"));
    let page = [".ts", ".tsx"].into_iter().flat_map(|ending| files_with_ending("static/src", ending));
    let is_description = |file: &SourceFile| file.path.ends_with(".d.ts");
    let scripts = page.filter(|file| !is_description(file)).chain(files_with_ending("tests", "js"));
    rust.chain(scripts).filter(|file| repository_root().join(&file.path).is_file()).collect()
}

fn file(path: &str, text: &str) -> SourceFile {
    SourceFile { path: path.to_owned(), text: text.to_owned() }
}

#[test]
fn source_shape_checks_find_planted_faults() {
    expect_one(&file_length_errors(&file("src/a.rs", &"x\n".repeat(701))), "701 lines");
    expect_none(&file_length_errors(&file("src/a.rs", &"x\n".repeat(700))));

    let body = |lines: usize| {
        format!(
            "impl A {{\n    pub(crate) async fn f(\n        a: B,\n    ) {{\n{}    }}\n}}\n",
            "        g();\n".repeat(lines)
        )
    };
    expect_one(&long_functions(&file("src/a.rs", &body(77))), "src/a.rs:2 f has 81 lines");
    expect_none(&long_functions(&file("src/a.rs", &body(76))));

    let folders = BTreeSet::from(["src/a".to_owned()]);
    expect_one(&missing_file_head(&file("src/a/mod.rs", "//! One.\n//! Two.\nmod b;"), &folders), "3 lines at least");
    expect_one(&missing_file_head(&file("src/a.rs", "//! One.\n"), &folders), "3 lines at least");
    expect_one(&missing_file_head(&file("src/b.rs", "use x;"), &folders), "1 lines at least");
    expect_none(&missing_file_head(&file("src/b.rs", "//! One.\n"), &folders));

    let documented = "/// One.\n#[derive(\n    Debug,\n)]\npub struct A;\n\npub fn b() {}\n";
    expect_one(&undocumented_items(&file("a.rs", documented)), "a.rs:7 b has no doc comment");

    expect_one(&unexplained_lint_attributes(&file("a.rs", "\n#[allow(dead_code)]\nfn f() {}")), "a.rs:2");
    expect_none(&unexplained_lint_attributes(&file("a.rs", "#![expect(\n    x,\n    reason = \"y\"\n)]")));
}

#[test]
fn leftover_check_finds_planted_faults() {
    let note = concat!("// TO", "DO: later");
    expect_one(&leftovers(&file("a.js", note)), "a.js:1 leaves");
    expect_one(&leftovers(&file("a.sh", concat!("\ncd /ho", "me/me/clotho"))), "a.sh:2");
    expect_one(&leftovers(&file("a.md", concat!("see `/wo", "rk/x`"))), "a.md:1");
    expect_none(&leftovers(&file("a.rs", concat!("todo!(); \"$HO", "ME/.cache\"; target/wo", "rk/x; ~/ho", "me/x"))));
}

#[test]
fn files_and_functions_stay_within_size_limits() {
    let sources = handwritten_sources();
    let long = sources.iter().filter(|file| file.path.ends_with(".rs")).flat_map(long_functions);
    expect_none(&sources.iter().flat_map(file_length_errors).chain(long).collect::<Vec<_>>());
}

#[test]
fn folders_have_module_doc_comment() {
    let files = rust_sources();
    let parent = |file: &SourceFile| file.path.rsplit_once('/').map(|(folder, _)| folder.to_owned());
    let folders: BTreeSet<String> = files.iter().filter_map(parent).filter(|folder| folder != "src").collect();
    expect_none(&files.iter().flat_map(|file| missing_file_head(file, &folders)).collect::<Vec<_>>());
}

#[test]
fn public_items_have_doc_comments() {
    let product =
        rust_sources().into_iter().filter(|file| !file.path.contains("/tests/") && !file.path.ends_with("tests.rs"));
    expect_none(&product.flat_map(|file| undocumented_items(&file)).collect::<Vec<_>>());
}

#[test]
fn silenced_lints_have_reasons() {
    expect_none(
        &handwritten_sources()
            .iter()
            .filter(|f| f.path.ends_with(".rs"))
            .flat_map(unexplained_lint_attributes)
            .collect::<Vec<_>>(),
    );
}

#[test]
fn repository_has_no_leftovers() {
    expect_none(&files("").iter().flat_map(leftovers).collect::<Vec<_>>());
}
