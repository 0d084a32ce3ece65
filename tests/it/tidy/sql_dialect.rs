//! Only one file knows the SQL dialect of the database; the rest of the store uses SQL that other databases understand
//! too.

use regex::Regex;

use super::source_files::{SourceFile, blank_comments_and_strings, files_with_ending, line_number};
use super::{expect_none, expect_one};

/// The file that may use the dialect.
const ROOM: &str = "crates/store/src/conn.rs";

/// Diesel functions that exist for only some databases, and names of databases.
const FORMS: &str = r"(?i)\b(on_conflict\w*|returning|insert_or_ignore_into|replace_into|batch_execute|immediate_transaction|exclusive_transaction|rowid|sqlite\w*|pg\w*|postgres\w*)\b";

/// The beginning of hand-written SQL.
const WRITTEN: &str = r#"\b(?:sql_query|push_sql|sql(?:::<[^>]*>+)?)\(\s*"((?:[^"\\]|\\(?s:.))*)""#;

/// Words in hand-written SQL that only one database understands. Values are bound as `$1`, which both number the same
/// way.
const WORDS: &str = r"(?i)\?|\b(PRAGMA|RETURNING|ON\s+CONFLICT|INSERT\s+OR|REPLACE\s+INTO|GLOB|IFNULL|ROWID|JSON\w*|STRFTIME|DATETIME|ILIKE|BEGIN|COMMIT|SAVEPOINT)\b|::|\bSET\b[^()]*\bFROM\b";

fn dialect_specific_sql(file: &SourceFile) -> Vec<String> {
    if file.path == ROOM {
        return Vec::new();
    }
    let complain = |line: usize, form: &str| {
        format!("{}:{line} says {form:?}: what not every database takes belongs into {ROOM}", file.path)
    };
    let code = blank_comments_and_strings(&file.text);
    let forms = Regex::new(FORMS).unwrap();
    let mut found: Vec<String> =
        forms.find_iter(&code).map(|form| complain(line_number(&code, form.start()), form.as_str())).collect();
    let words = Regex::new(WORDS).unwrap();
    for sql in Regex::new(WRITTEN).unwrap().captures_iter(&file.text) {
        let (text, at) = (&sql[1], sql.get(1).unwrap().start());
        found.extend(
            words.find_iter(text).map(|word| complain(line_number(&file.text, at + word.start()), word.as_str())),
        );
    }
    found
}

#[test]
fn sql_dialect_check_finds_planted_faults() {
    let file = |text: &str| SourceFile { path: "crates/store/src/rows.rs".to_owned(), text: text.to_owned() };
    let check = |text: &str, words: &str| expect_one(&dialect_specific_sql(&file(text)), words);
    check("fn f() { sql_query(\"SELECT n FROM nodes WHERE n = ?\") }", "\"?\"");
    check("fn f() {\n sql_query(\n \"UPDATE nodes SET n = up.n \\\n FROM up\") }", "rows.rs:3 says \"SET");
    check("fn f() { diesel::sql_query(\"PRAGMA foreign_keys\") }", "PRAGMA");
    check("fn f() { pass.push_sql(\" ON CONFLICT DO NOTHING\") }", "ON CONFLICT");
    check("fn f() { insert.on_conflict_do_nothing() }", "on_conflict_do_nothing");
    check("fn f(conn: &mut SqliteConnection) {}", "SqliteConnection");
    check("fn f() { conn.batch_execute(text) }", "batch_execute");
    expect_none(&dialect_specific_sql(&file(
        "// What about PRAGMA?\nfn f() { g(\"really?\"); sql_query(\"SELECT $1\") }",
    )));
    expect_none(&dialect_specific_sql(&file(
        "fn f() { sql_query(\"UPDATE nodes SET n = $1 WHERE n IN (SELECT n FROM up)\") }",
    )));
    expect_none(&dialect_specific_sql(&SourceFile {
        path: ROOM.to_owned(),
        ..file("fn f() { sql_query(\"PRAGMA x\") }")
    }));
}

#[test]
fn sql_dialect_is_used_in_one_file_only() {
    let files = files_with_ending("crates/store/src", ".rs");
    assert!(files.iter().any(|file| file.path == ROOM), "the room that knows the dialect is not where it should be");
    expect_none(&files.iter().flat_map(dialect_specific_sql).collect::<Vec<_>>());
}
