//! S0-21: the page builds no history of its own. The server's projection says which messages a branch has; only the
//! drawing of the story tree follows parents.

use regex::Regex;

use super::source_files::{SourceFile, blank_comments_and_strings, files_with_ending, line_number};
use super::{expect_none, expect_one};

/// Draws the tree from its skeleton, which is no history.
const TREE: &str = "static/src/tree/";

/// Skips the change nodes above a message, one request each.
const SKIPS_CHANGES: &str = "static/src/actions/branches.ts";

/// Returns the loops of a file that go from node to parent.
fn parent_loops(file: &SourceFile) -> Vec<String> {
    let text = blank_comments_and_strings(&file.text);
    let walks = Regex::new(r"\b(?:while|for) \([^\n]*\bparent(?:Id|Of|s)?\b").unwrap();
    let is_allowed = file.path.starts_with(TREE) || file.path == SKIPS_CHANGES;
    let found = walks.find_iter(&text).filter(|_| !is_allowed);
    found
        .map(|at| {
            let line = line_number(&text, at.start());
            format!("{}:{line} follows parents: the messages of a branch come from the projection", file.path)
        })
        .collect()
}

#[test]
fn page_builds_no_history_from_parents() {
    let page = [".ts", ".tsx"].into_iter().flat_map(|ending| files_with_ending("static/src", ending));
    let sources: Vec<SourceFile> = page.filter(|file| !file.path.ends_with(".d.ts")).collect();
    assert!(sources.iter().any(|file| file.path == SKIPS_CHANGES), "the exception is where it was");
    expect_none(&sources.iter().flat_map(parent_loops).collect::<Vec<_>>());
}

#[test]
fn loop_over_parents_is_found() {
    let planted = |path: &str| SourceFile {
        path: path.into(),
        text: "const path = [];\nwhile (node) { path.push(node); node = nodes.get(node.parentId); }\n\
               for (const one of path) show(one);\n"
            .into(),
    };
    expect_one(&parent_loops(&planted("static/src/model/story.ts")), ":2 follows parents");
    assert!(parent_loops(&planted("static/src/tree/layout.ts")).is_empty());
}
