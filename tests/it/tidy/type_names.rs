//! Names of types: each is unique, and says what the thing is.

use std::collections::BTreeMap;

use regex::Regex;

use super::source_files::{SourceFile, blank_comments_and_strings, line_number, rust_sources};
use super::{expect_none, expect_one};

/// Names that several modules may use, because their path says the rest: `provider::Error`, `picture::Kind`.
const SHARED: [&str; 3] = ["Error", "Kind", "Request"];

/// Last words of names that look like participles but are nouns.
const NOUNS: [&str; 6] = ["Embed", "Feed", "Seed", "Speed", "Token", "Screen"];

/// Irregular participles.
const PARTICIPLES: [&str; 14] =
    ["Said", "Held", "Told", "Made", "Kept", "Sent", "Found", "Known", "Gone", "Left", "Cut", "Put", "Brought", "Lost"];

/// Returns the types that a file declares outside of functions and tests, with their lines.
fn declared_types(file: &SourceFile) -> Vec<(usize, String)> {
    let text = blank_comments_and_strings(&file.text);
    let product = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let declared = Regex::new(r"(?m)^(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|type|union) (\w+)").unwrap();
    declared
        .captures_iter(product)
        .map(|found| (line_number(&text, found.get(1).unwrap().start()), found[1].to_owned()))
        .collect()
}

/// Returns the names that are used more than once, with all their places.
fn repeated_type_names(files: &[SourceFile]) -> Vec<String> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files {
        for (line, name) in declared_types(file) {
            places.entry(name).or_default().push(format!("{}:{line}", file.path));
        }
    }
    places.retain(|name, places| places.len() > 1 && !SHARED.contains(&name.as_str()));
    places.iter().map(|(name, places)| format!("{name} is the name of several types: {}", places.join(", "))).collect()
}

/// Returns the names that end in a participle: they say what happened to a thing, not what it is.
fn participle_names(file: &SourceFile) -> Vec<String> {
    let last_word = Regex::new(r"[A-Z][a-z0-9]*$").unwrap();
    let is_participle = |name: &str| {
        let word = last_word.find(name).map_or(name, |found| found.as_str());
        let has_ending = word.len() > 3 && (word.ends_with("ed") || word.ends_with("en"));
        PARTICIPLES.contains(&word) || has_ending && !NOUNS.contains(&word)
    };
    let named = declared_types(file).into_iter().filter(|(_, name)| is_participle(name));
    named.map(|(line, name)| format!("{}:{line} {name} is a participle: name the thing", file.path)).collect()
}

fn planted_file(text: &str) -> SourceFile {
    SourceFile { path: "src/planted.rs".into(), text: text.into() }
}

fn product_sources() -> Vec<SourceFile> {
    let is_product = |file: &SourceFile| !file.path.ends_with("tests.rs") && !file.path.contains("/tests/");
    rust_sources().into_iter().filter(is_product).collect()
}

#[test]
fn type_name_repeated_is_found() {
    let twice =
        "struct Line;\nstruct Error;\n\npub enum Line {}\n#[cfg(test)]\nmod tests {\nstruct Error;\nstruct Error;\n}\n";
    expect_one(
        &repeated_type_names(&[planted_file(twice)]),
        "Line is the name of several types: src/planted.rs:1, src/planted.rs:4",
    );
    expect_none(&repeated_type_names(&product_sources()));
}

#[test]
fn type_name_participle_is_found() {
    for (text, found) in
        [("pub struct NodeHeld;", 1), ("type Seen = u8;", 1), ("struct Embed;", 0), ("struct TokenFeed;", 0)]
    {
        assert_eq!(participle_names(&planted_file(text)).len(), found, "{text}");
    }
    expect_one(&participle_names(&planted_file("struct Line;\n/// ed\nenum Changed {}")), "src/planted.rs:3 Changed");
    let files = product_sources();
    assert!(
        files.iter().map(|file| declared_types(file).len()).sum::<usize>() > 1000,
        "types are not written as they were"
    );
    expect_none(&files.iter().flat_map(participle_names).collect::<Vec<_>>());
}
