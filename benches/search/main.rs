//! Costs of a search: `cargo bench --bench search [-- MESSAGES]`, by default with 100 000 messages; the figure that
//! counts has 1 000 000.
//!
//! The same corpus three times in one run: through [`Index`], as the program searches, in bare tantivy, and in
//! SQLite's FTS5. Bare tantivy opens the files of that index and runs the program's query. The rounds alternate. Each
//! search asks for the best ten hits, their texts and the total number, once without and once with snippets, which all
//! three cut.
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

use std::time::Duration;

use clotho_config as config;
use clotho_core::clock::Time;
use clotho_search::{Index, IndexSource, LocalNow, ParsedQuery, SearchRequest};
use uuid::Uuid;

use bare::Bare;
use corpus::Corpus;
use fts::Fts;
use table::{head, quantile, ratio, row, timed};

/// Messages, unless a number is given.
const MESSAGES: usize = 100_000;
/// Rounds of each search: ten of them are above the 99th percentile.
const ROUNDS: usize = 1_000;
/// FTS5 runs once in this many rounds, because a common word takes it a second.
const SELDOM: usize = 50;
/// Messages given to the index at once.
const BATCH: usize = 1_000;
/// Hits asked for.
const HITS: usize = 10;

/// The searches: a name, and the query for each of the three.
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
    /// Returns the query as a person types it.
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
    let both: Vec<Both> = SEARCHES.iter().map(|(_, asked)| compare(*asked, &corpus, &index, &bare, &fts)).collect();
    let columns =
        ["", "hits", "Clotho p50", "bare tantivy p50", "Clotho / it", "Clotho p99", "bare tantivy p99", "Clotho / it"];
    head("Hits with their texts", &columns);
    for ((name, asked), both) in SEARCHES.iter().zip(&both) {
        let Both { total, alone, .. } = both;
        row(&[&[format!("{name} (`{}`)", asked.typed(&corpus)), total.to_string()], &alone.cells()[..]].concat());
    }
    head("With the pieces that show why", &[&columns[..], &["FTS5 p99", "Clotho / it"]].concat());
    for ((name, asked), Both { total, shown, sql, .. }) in SEARCHES.iter().zip(&both) {
        let sql = [table::micros(*sql), format!("**{}**", ratio(shown.most, *sql))];
        row(&[&[format!("{name} (`{}`)", asked.typed(&corpus)), total.to_string()], &shown.cells()[..], &sql].concat());
    }
    index.close().unwrap();
}

fn open(folder: &std::path::Path) -> Index {
    let upstream = IndexSource { id: Uuid::from_u128(1), newest: i64::MAX, texts: 1 };
    Index::open(folder, upstream, config::SearchConfig::default()).unwrap()
}

/// Fills the index and opens it as a start does: some segments are still being merged when everything can be found.
fn fill(corpus: &Corpus, folder: &std::path::Path) -> Index {
    let index = open(folder);
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
    index.close().unwrap();
    drop(index);
    open(folder)
}

/// Runs one search through the program's index, with snippets if wanted.
fn ours(index: &Index, corpus: &Corpus, text: &str, is_shown: bool) -> u64 {
    let query = ParsedQuery::parse(text, LocalNow { now: Time(0), utc_offset_minutes: 0 }).unwrap();
    let found = index.find(&SearchRequest::new(corpus.owner, query));
    let page = found.page(0, HITS).unwrap();
    if is_shown {
        let marks: usize = page.hits.iter().map(|hit| found.snippet(hit).marks.len()).sum();
        assert!(page.hits.is_empty() || marks > 0);
    }
    page.total
}

/// Times of one kind of search, for the program and for bare tantivy.
struct Beside {
    half: Duration,
    most: Duration,
    bare_half: Duration,
    bare_most: Duration,
}

impl Beside {
    fn of(own: &mut [Duration], bare: &mut [Duration]) -> Self {
        let both = |times: &mut [Duration]| (quantile(times, 50), quantile(times, 99));
        let ((half, most), (bare_half, bare_most)) = (both(own), both(bare));
        Self { half, most, bare_half, bare_most }
    }

    fn cells(&self) -> [String; 6] {
        let [half, most] = [self.half, self.most].map(table::micros);
        let [bare_half, bare_most] = [self.bare_half, self.bare_most].map(table::micros);
        let beside = |own, bare| format!("**{}**", ratio(own, bare));
        [half, bare_half, beside(self.half, self.bare_half), most, bare_most, beside(self.most, self.bare_most)]
    }
}

/// A search without and with snippets, and the time of FTS5 with snippets.
struct Both {
    total: u64,
    alone: Beside,
    shown: Beside,
    sql: Duration,
}

fn compare(asked: Asked, corpus: &Corpus, index: &Index, bare: &Bare, fts: &Fts) -> Both {
    let text = asked.typed(corpus);
    let query = bare.query(asked, corpus);
    let total = ours(index, corpus, &text, true);
    assert_eq!(usize::try_from(total).unwrap(), bare.search(&query, HITS), "{text}");
    fts.search(asked, corpus, HITS);
    let (mut alone, mut shown, mut sql) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()), Vec::new());
    for round in 0..ROUNDS {
        let mut both = [(&mut alone, false), (&mut shown, true)];
        for ((own, others), is_shown) in &mut both {
            let mut we = || own.push(timed(|| _ = ours(index, corpus, &text, *is_shown)));
            let mut they = || others.push(timed(|| _ = bare.look(&query, is_shown.then_some((asked, corpus)), HITS)));
            // The second one finds the files cached.
            if round % 2 == 0 {
                we();
                they();
            } else {
                they();
                we();
            }
        }
    }
    // Separately, because it would fill the machine's caches with its own data.
    for _ in 0..ROUNDS / SELDOM {
        sql.push(timed(|| fts.search(asked, corpus, HITS)));
    }
    let (alone, shown) = (Beside::of(&mut alone.0, &mut alone.1), Beside::of(&mut shown.0, &mut shown.1));
    Both { total, alone, shown, sql: quantile(&mut sql, 99) }
}
