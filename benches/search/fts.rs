//! SQLite's own full-text index on the same texts.

use std::cell::RefCell;
use std::path::Path;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};

use super::SearchCase;
use super::corpus::Corpus;

pub struct Fts {
    conn: RefCell<SqliteConnection>,
}

#[derive(QueryableByName)]
struct SnippetRow {
    #[diesel(sql_type = Text)]
    snippet: String,
}

#[derive(QueryableByName)]
struct CountRow {
    #[diesel(sql_type = BigInt)]
    total: i64,
}

impl Fts {
    pub fn build(corpus: &Corpus, folder: &Path) -> Self {
        let mut conn = SqliteConnection::establish(folder.join("fts.db").to_str().unwrap()).unwrap();
        conn.batch_execute(
            "PRAGMA journal_mode = WAL; PRAGMA cache_size = -65536; CREATE VIRTUAL TABLE said USING fts5(text);",
        )
        .unwrap();
        conn.transaction(|conn| {
            for message in 0..corpus.message_count {
                diesel::sql_query("INSERT INTO said (rowid, text) VALUES ($1, $2)")
                    .bind::<BigInt, _>(i64::try_from(message).unwrap() + 1)
                    .bind::<Text, _>(corpus.text(message))
                    .execute(conn)?;
            }
            QueryResult::Ok(())
        })
        .unwrap();
        conn.batch_execute("INSERT INTO said (said) VALUES ('optimize');").unwrap();
        Self { conn: RefCell::new(conn) }
    }

    /// Loads the best hits with snippets, and the total number of hits.
    pub fn search(&self, asked: SearchCase, corpus: &Corpus, hits: usize) {
        let word = |rank: usize| corpus.word(rank);
        let text = match asked {
            SearchCase::Word(one) => word(one).to_owned(),
            SearchCase::SnippetTimes(one, other) => format!("{} AND {}", word(one), word(other)),
            SearchCase::Either(one, other) => format!("{} OR {}", word(one), word(other)),
            SearchCase::Phrase(one, other) => format!("\"{} {}\"", word(one), word(other)),
            SearchCase::Begun(one) => format!("{}*", word(one).chars().take(4).collect::<String>()),
        };
        let conn = &mut *self.conn.borrow_mut();
        let found: Vec<SnippetRow> = diesel::sql_query(
            "SELECT snippet(said, 0, '[', ']', '…', 30) AS snippet FROM said WHERE said MATCH $1 ORDER BY rank LIMIT $2",
        )
        .bind::<Text, _>(&text)
        .bind::<BigInt, _>(i64::try_from(hits).unwrap())
        .load(conn)
        .unwrap();
        let total: CountRow = diesel::sql_query("SELECT count(*) AS total FROM said WHERE said MATCH $1")
            .bind::<Text, _>(&text)
            .get_result(conn)
            .unwrap();
        assert!(total.total == 0 || found.iter().any(|hit| !hit.snippet.is_empty()));
    }
}
