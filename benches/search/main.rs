//! What a search costs: `cargo bench --bench search [-- MESSAGES]`, 100 000 messages unless told; 1 000 000 is the figure that
//! counts.
//!
//! The same corpus three times in one run: through [`Index`], as the program searches; by bare tantivy, which opens the very
//! files of that index and runs the query that ours becomes; and in SQLite's FTS5. Rounds take turns, each search asks for the
//! best ten, their texts and how many there are in all.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    missing_docs,
    reason = "a bench that cannot go on stops, and its numbers are for reading"
)]

mod bare;
mod corpus;
mod fts;
#[path = "../foundation/table.rs"]
#[allow(dead_code, reason = "the other benches need more of it")]
mod table;

use std::time::{Duration, Instant};

use clotho::clock::Time;
use clotho::config;
use clotho::search::{Index, Query, Request, Today, Upstream};
use uuid::Uuid;

use bare::Bare;
use corpus::Corpus;
use fts::Fts;
use table::{head, quantile, ratio, row, timed};

/// So many messages, unless a number is given.
const MESSAGES: usize = 100_000;
/// So often each search is asked.
const ROUNDS: usize = 200;
/// So many messages are given to the index at once.
const BATCH: usize = 1_000;
/// So many hits are wanted.
const HITS: usize = 10;

/// What is looked for: what it is, and as each of the three wants it.
const SEARCHES: [(&str, Asked); 6] = [
    ("a rare word", Asked::Word(corpus::RARE)),
    ("a common word", Asked::Word(corpus::COMMON)),
    ("two words", Asked::Both(corpus::COMMON, corpus::SOME)),
    ("either of two words", Asked::Either(corpus::SOME, corpus::OTHER)),
    ("a phrase", Asked::Phrase(corpus::COMMON, corpus::SOME)),
    ("a word that only begins so", Asked::Begun(corpus::SOME)),
];

/// A search, by the ranks of its words.
#[derive(Clone, Copy)]
pub enum Asked {
    Word(usize),
    Both(usize, usize),
    Either(usize, usize),
    Phrase(usize, usize),
    Begun(usize),
}

impl Asked {
    /// As a person types it.
    fn typed(self, corpus: &Corpus) -> String {
        let word = |rank: usize| corpus.word(rank);
        match self {
            Self::Word(one) => word(one).to_owned(),
            Self::Both(one, other) => format!("{} {}", word(one), word(other)),
            Self::Either(one, other) => format!("{} OR {}", word(one), word(other)),
            Self::Phrase(one, other) => format!("\"{} {}\"", word(one), word(other)),
            Self::Begun(one) => format!("{}*", word(one).chars().take(4).collect::<String>()),
        }
    }
}

fn main() {
    let wanted = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(MESSAGES);
    let folder = tempfile::tempdir().unwrap();
    let corpus = Corpus::of(wanted);
    let index = fill(&corpus, &folder.path().join("index"));
    let fts = Fts::fill(&corpus, folder.path());
    let bare = Bare::open(&folder.path().join("index"));
    println!("\n{wanted} messages, {HITS} hits of each search, {ROUNDS} rounds");
    head("Searching", &["", "hits", "Clotho p50", "p99", "bare tantivy p99", "Clotho / it", "FTS5 p99", "Clotho / it"]);
    for (name, asked) in SEARCHES {
        compare(name, asked, &corpus, &index, &bare, &fts);
    }
    index.close().unwrap();
}

fn fill(corpus: &Corpus, folder: &std::path::Path) -> Index {
    let upstream = Upstream { id: Uuid::from_u128(1), newest: i64::MAX, texts: 1 };
    let index = Index::open(folder, upstream, config::Search::default()).unwrap();
    let (mut cursor, mut longest) = (0, Duration::ZERO);
    let all = timed(|| {
        for batch in 0..corpus.messages.div_ceil(BATCH) {
            let changes = corpus.changes(batch * BATCH..(batch * BATCH + BATCH).min(corpus.messages));
            index.send(cursor, changes, cursor + 1).unwrap();
            cursor += 1;
        }
        longest = timed(|| index.flush().unwrap());
    });
    let each = all.as_secs_f64() / corpus.messages as f64 * 1e6;
    println!("indexed in {:.1} s ({each:.1} us a message); the last commit took {longest:?}", all.as_secs_f64());
    index
}

/// One search of ours, with everything that the page is shown.
fn ours(index: &Index, corpus: &Corpus, text: &str) -> u64 {
    let query = Query::parse(text, Today { now: Time(0), ahead: 0 }).unwrap();
    let found = index.find(&Request::new(corpus.owner, query));
    let page = found.page(0, HITS).unwrap();
    let marks: usize = page.hits.iter().map(|hit| found.snippet(hit).marks.len()).sum();
    assert!(page.hits.is_empty() || marks > 0);
    page.total
}

fn compare(name: &str, asked: Asked, corpus: &Corpus, index: &Index, bare: &Bare, fts: &Fts) {
    let text = asked.typed(corpus);
    let query = bare.query(asked, corpus);
    let total = ours(index, corpus, &text);
    assert_eq!(usize::try_from(total).unwrap(), bare.search(&query, HITS), "{text}");
    fts.search(asked, corpus, HITS);
    let (mut own, mut others, mut sql) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let clock = Instant::now();
        ours(index, corpus, &text);
        own.push(clock.elapsed());
        others.push(timed(|| _ = bare.search(&query, HITS)));
        sql.push(timed(|| fts.search(asked, corpus, HITS)));
    }
    let (half, most) = (quantile(&mut own, 50), quantile(&mut own, 99));
    let (bare, sql) = (quantile(&mut others, 99), quantile(&mut sql, 99));
    let micros = table::micros;
    row(&[
        format!("{name} (`{text}`)"),
        total.to_string(),
        micros(half),
        micros(most),
        micros(bare),
        format!("**{}**", ratio(most, bare)),
        micros(sql),
        format!("**{}**", ratio(most, sql)),
    ]);
}
