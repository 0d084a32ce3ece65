//! The files of the repository, and source text without comments and strings.

use std::fs;
use std::path::{Path, PathBuf};

pub struct SourceFile {
    /// The path from the repository root, with `/` between the parts.
    pub path: String,
    pub text: String,
}

/// Returns the root of the repository.
pub fn repository_root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Folders with generated content.
const MADE: [&str; 6] = [".git", "target", "data", "node_modules", "vendor", "screenshots"];

/// Returns the text files below a folder (or the file itself), ordered by path. `folder` is relative to the repository
/// root; "" is all of it.
pub fn files(folder: &str) -> Vec<SourceFile> {
    let mut found = Vec::new();
    collect_files(&repository_root().join(folder), folder, &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Returns the files of a folder with one extension.
pub fn files_with_ending(folder: &str, ending: &str) -> Vec<SourceFile> {
    files(folder).into_iter().filter(|file| file.path.ends_with(ending)).collect()
}

/// Returns the Rust files of the product: those of the root package and of all crates.
pub fn rust_sources() -> Vec<SourceFile> {
    let is_source = |file: &SourceFile| file.path.starts_with("src/") || file.path.contains("/src/");
    ["src", "crates"].into_iter().flat_map(|folder| files_with_ending(folder, ".rs")).filter(is_source).collect()
}

fn collect_files(at: &Path, path: &str, found: &mut Vec<SourceFile>) {
    if at.is_dir() {
        for entry in fs::read_dir(at).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if !MADE.contains(&name.as_str()) {
                let path = if path.is_empty() { name } else { format!("{path}/{name}") };
                collect_files(&entry.path(), &path, found);
            }
        }
    } else if let Ok(text) = fs::read_to_string(at) {
        found.push(SourceFile { path: path.to_owned(), text });
    }
}

/// Returns Rust source with comments and string contents replaced by spaces. Lines and columns stay the same.
pub fn blank_comments_and_strings(text: &str) -> String {
    let source: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < source.len() {
        let end = token_end(&source, at);
        let is_code = end == at + 1;
        for &c in &source[at..end] {
            out.push(if is_code || c == '\n' { c } else { ' ' });
        }
        at = end;
    }
    out
}

/// Returns the end of the token at `at`: one character of code, or a whole comment, string or character literal.
fn token_end(source: &[char], at: usize) -> usize {
    let is = |offset: usize, wanted: char| source.get(at + offset) == Some(&wanted);
    let begins_word = at == 0 || !(source[at - 1].is_alphanumeric() || source[at - 1] == '_');
    match source[at] {
        '/' if is(1, '/') => find_end(source, at, |rest| rest[0] == '\n'),
        '/' if is(1, '*') => block_comment_end(source, at),
        '"' => quoted_end(source, at + 1, '"'),
        '\'' if is(1, '\\') => quoted_end(source, at + 1, '\''),
        '\'' if is(2, '\'') => at + 3,
        'r' if begins_word || matches!(source[at - 1], 'b' | 'c') => raw_string_end(source, at).unwrap_or(at + 1),
        _ => at + 1,
    }
}

fn find_end(source: &[char], from: usize, ends: impl Fn(&[char]) -> bool) -> usize {
    (from..source.len()).find(|&at| ends(&source[at..])).unwrap_or(source.len())
}

fn block_comment_end(source: &[char], from: usize) -> usize {
    let mut depth = 0;
    let mut at = from;
    while at < source.len() {
        match (source[at], source.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) if depth == 1 => return at + 2,
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    source.len()
}

fn quoted_end(source: &[char], from: usize, end: char) -> usize {
    let mut at = from;
    while at < source.len() && source[at] != end {
        at += if source[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(source.len())
}

fn raw_string_end(source: &[char], at: usize) -> Option<usize> {
    let hashes = source[at + 1..].iter().take_while(|&&c| c == '#').count();
    let open = at + 1 + hashes;
    if source.get(open) != Some(&'"') {
        return None;
    }
    let closes =
        |rest: &[char]| rest[0] == '"' && rest[1..].iter().take(hashes).filter(|&&c| c == '#').count() == hashes;
    Some((find_end(source, open + 1, closes) + 1 + hashes).min(source.len()))
}

/// Returns the line of a byte offset, from 1.
pub fn line_number(text: &str, offset: usize) -> usize {
    text[..offset].matches('\n').count() + 1
}

#[test]
fn source_without_comments_and_strings_keeps_code() {
    let check = |text: &str, expected: &str| {
        let squeezed = blank_comments_and_strings(text).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(squeezed, expected, "{text}");
        assert_eq!(blank_comments_and_strings(text).chars().count(), text.chars().count(), "{text}");
    };
    check("a // crate::x\nb", "a b");
    check("a /* crate /* deep */ still */ b", "a b");
    check(r#"f("http://x \" crate::y"); g"#, "f( ); g");
    check("r#\"crate::x \" // \"# ; b", "; b");
    check("br\"\\\" ; b", "b ; b");
    check("for r in x {}", "for r in x {}");
    check("fn f<'a>(c: &'a str) { '\"' '\\'' 'x' }", "fn f<'a>(c: &'a str) { }");
    check("\"one\ntwo\" three", "three");
}
