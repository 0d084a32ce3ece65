//! Documents name only existing things, settings are explained, and migrations go both ways.

use std::collections::BTreeMap;
use std::fs;

use regex::Regex;

use super::source_files::{SourceFile, files, files_with_ending, repository_root, rust_sources};
use super::{expect_none, expect_one};

/// Returns the dead links among `[text](place)` and `src="place"`. `exists` takes a path from the repository root.
fn dead_links(file: &SourceFile, exists: &dyn Fn(&str) -> bool) -> Vec<String> {
    let link = Regex::new(r#"\]\(([^)\s]+)\)|(?:src|href)="([^"]+)""#).unwrap();
    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut complaints = Vec::new();
    for found in link.captures_iter(&file.text) {
        let target = found.get(1).or(found.get(2)).map_or("", |m| m.as_str());
        let place = target.split(['#', '?']).next().unwrap_or_default();
        if place.is_empty() || target.contains("://") || target.starts_with("mailto:") {
            continue;
        }
        let place = resolve(folder, place);
        if !exists(&place) {
            complaints.push(format!("{}: the link to {target} leads nowhere ({place} is not there)", file.path));
        }
    }
    complaints
}

fn resolve(folder: &str, place: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in place.split('/') {
        match part {
            "." | "" => {}
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Returns the documents that sources refer to and that do not exist.
fn dead_references(file: &SourceFile, exists: &dyn Fn(&str) -> bool) -> Vec<String> {
    let name = Regex::new(r"[\w./-]*\b\w[\w-]*\.md\b").unwrap();
    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let is_there = |place: &str| ["", "docs", folder].iter().any(|from| exists(&resolve(from, place)));
    let dead = name.find_iter(&file.text).map(|found| found.as_str()).filter(|place| !is_there(place));
    dead.map(|place| format!("{} refers to {place}, which is not in the repository", file.path)).collect()
}

/// Returns the keys of a settings file as `section.key`, including commented ones.
fn settings_keys(settings: &str) -> Vec<String> {
    let head = Regex::new(r"^(?:# )?\[\[?(\w+)\]\]?$").unwrap();
    let key = Regex::new(r"^(?:# )?([a-z_]+) = ").unwrap();
    let mut section = String::new();
    let mut keys = Vec::new();
    for line in settings.lines() {
        if let Some(found) = head.captures(line) {
            section = found[1].to_owned();
        } else if let Some(found) = key.captures(line) {
            keys.push(format!("{section}.{}", &found[1]));
        }
    }
    keys
}

/// Returns the keys without a row `| `key` |` in the section of the document about them.
fn undocumented_keys(settings: &str, document: &str) -> Vec<String> {
    let mut parts: BTreeMap<String, String> = BTreeMap::new();
    let head = Regex::new(r"^#+ `\[\[?(\w+)\]\]?`").unwrap();
    let mut section = String::new();
    for line in document.lines() {
        if line.starts_with('#') {
            section = head.captures(line).map_or(String::new(), |found| found[1].to_owned());
        }
        *parts.entry(section.clone()).or_default() += &format!("{line}\n");
    }
    let explains = |key: &String| {
        let (section, name) = key.split_once('.').unwrap();
        parts.get(section).is_some_and(|part| part.contains(&format!("\n| `{name}` |")))
    };
    let all = settings_keys(settings).into_iter().filter(|key| !explains(key));
    all.map(|key| format!("docs/hosts.md has no row for {key}")).collect()
}

/// Returns the migrations without a way back, and names that differ between dialects.
fn irreversible_migrations(dialects: &BTreeMap<String, BTreeMap<String, Vec<String>>>) -> Vec<String> {
    let mut complaints = Vec::new();
    let first: Vec<&String> = dialects.values().next().into_iter().flat_map(BTreeMap::keys).collect();
    for (dialect, migrations) in dialects {
        if migrations.keys().collect::<Vec<_>>() != first {
            complaints.push(format!("migrations/{dialect} has other names than the first dialect"));
        }
        for (migration, files) in migrations {
            for wanted in ["up.sql", "down.sql"].iter().filter(|wanted| !files.iter().any(|file| file == *wanted)) {
                complaints.push(format!("migrations/{dialect}/{migration} has no {wanted}"));
            }
        }
    }
    complaints
}

fn migrations() -> BTreeMap<String, BTreeMap<String, Vec<String>>> {
    let mut dialects: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for file in files("migrations") {
        let parts: Vec<&str> = file.path.split('/').collect();
        if let [_, dialect, migration, name] = parts[..]
            && !file.text.trim().is_empty()
        {
            let migrations = dialects.entry(dialect.to_owned()).or_default();
            migrations.entry(migration.to_owned()).or_default().push(name.to_owned());
        }
    }
    dialects
}

fn file(path: &str, text: &str) -> SourceFile {
    SourceFile { path: path.to_owned(), text: text.to_owned() }
}

fn path_exists(place: &str) -> bool {
    repository_root().join(place).exists()
}

#[test]
fn document_checks_find_planted_faults() {
    let exists = |place: &str| ["README.md", "docs/players.md", "docs/a.png"].contains(&place);
    expect_one(&dead_links(&file("README.md", "[x](docs/plyers.md#a) [y](docs/players.md)"), &exists), "plyers.md");
    expect_one(
        &dead_links(&file("docs/players.md", "<img src=\"b.png\"> ![a](a.png) [r](../README.md)"), &exists),
        "docs/b.png",
    );
    expect_none(&dead_links(&file("README.md", "[x](https://example.org/x.md) [y](#here)"), &exists));

    expect_one(&dead_references(&file("src/a.rs", "/// As `rules.md` 3 and `players.md` say."), &exists), "rules.md");

    let settings = "[server]\n# Why.\nlisten = 1\n# [[providers]]\n# # What.\n# id = \"x\"\n";
    assert_eq!(settings_keys(settings), ["server.listen", "providers.id"]);
    let document = "## `[server]`\n\n| `listen` | x |\n\n## `[[providers]]`\n\n| `kind` | x |\n";
    expect_one(&undocumented_keys(settings, document), "providers.id");

    let both = || BTreeMap::from([("1_a".to_owned(), vec!["up.sql".to_owned(), "down.sql".to_owned()])]);
    let mut dialects = BTreeMap::from([("sqlite".to_owned(), both())]);
    expect_none(&irreversible_migrations(&dialects));
    dialects.insert("postgres".to_owned(), BTreeMap::from([("1_a".to_owned(), vec!["up.sql".to_owned()])]));
    expect_one(&irreversible_migrations(&dialects), "no down.sql");
}

#[test]
fn document_links_resolve() {
    expect_none(
        &files_with_ending("", ".md").iter().flat_map(|file| dead_links(file, &path_exists)).collect::<Vec<_>>(),
    );
}

#[test]
fn source_references_to_documents_resolve() {
    let folders =
        ["src", "crates", "tests", "benches", "migrations", "plugins", "static", "scripts", "config.toml", "build.rs"];
    let sources = folders.into_iter().filter(|folder| path_exists(folder)).flat_map(files);
    let own = |file: &SourceFile| file.path.starts_with("tests/it/tidy/");
    expect_none(
        &sources.filter(|file| !own(file)).flat_map(|file| dead_references(&file, &path_exists)).collect::<Vec<_>>(),
    );
}

/// Reasons of refusals (`details.reason`) that the page translates must exist in the server's source. A planted one is
/// found. No sentence of the server is a key any more.
#[test]
fn translated_refusal_reasons_exist_in_server_source() {
    let sentence = Regex::new(r#""(?:reason|said)\.([^"]+)":"#).unwrap();
    let server: Vec<SourceFile> = rust_sources();
    let unsaid = |text: &str| -> Vec<String> {
        let sentences = sentence.captures_iter(text).map(|found| found[1].to_owned());
        let quoted = sentences.map(|reason| format!("\"{reason}\""));
        quoted.filter(|reason| !server.iter().any(|file| file.text.contains(reason.as_str()))).collect()
    };
    assert_eq!(unsaid(r#""reason.nobody_gives_this": "…","#), ["\"nobody_gives_this\""]);
    let words = files("static/src/lib/strings");
    assert!(words.iter().any(|file| sentence.is_match(&file.text)));
    expect_none(&words.iter().flat_map(|file| unsaid(&file.text)).collect::<Vec<_>>());
}

#[test]
fn config_settings_are_all_documented() {
    let read = |path: &str| fs::read_to_string(repository_root().join(path)).unwrap();
    let settings = read("config.toml");
    assert!(settings_keys(&settings).len() > 30, "the keys are not written as they were");
    expect_none(&undocumented_keys(&settings, &read("docs/hosts.md")));
}

#[test]
fn migrations_all_have_up_and_down() {
    let migrations = migrations();
    assert!(migrations.values().any(|dialect| !dialect.is_empty()));
    expect_none(&irreversible_migrations(&migrations));
}
