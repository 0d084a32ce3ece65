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

use bare::TantivyIndex;
use corpus::Corpus;
use fts::Fts;
use table::{format_ratio, measure_time, print_header, print_row, quantile};

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
const SEARCHES: [(&str, SearchCase); 6] = [
    ("a rare word", SearchCase::Word(corpus::RARE)),
    ("a common word", SearchCase::Word(corpus::COMMON)),
    ("two words", SearchCase::SnippetTimes(corpus::COMMON, corpus::SOME)),
    ("either of two words", SearchCase::Either(corpus::SOME, corpus::OTHER)),
    ("a phrase", SearchCase::Phrase(corpus::COMMON, corpus::SOME)),
    ("a word that only begins so", SearchCase::Begun(corpus::SOME)),
];

/// A search, by the ranks of its words.
#[derive(Clone, Copy)]
pub enum SearchCase {
    Word(usize),
    SnippetTimes(usize, usize),
    Either(usize, usize),
    Phrase(usize, usize),
    Begun(usize),
}

impl SearchCase {
    /// Returns the query as a person types it.
    fn query_text(self, corpus: &Corpus) -> String {
        let word = |rank: usize| corpus.word(rank);
        match self {
            Self::Word(one) => word(one).to_owned(),
            Self::SnippetTimes(one, other) => format!("{} {}", word(one), word(other)),
            Self::Either(one, other) => format!("{} OR {}", word(one), word(other)),
            Self::Phrase(one, other) => format!("\"{} {}\"", word(one), word(other)),
            Self::Begun(one) => format!("{}*", word(one).chars().take(4).collect::<String>()),
        }
    }
}

fn main() {
    let wanted = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(MESSAGES);
    let folder = tempfile::tempdir().unwrap();
    let corpus = Corpus::generate(wanted);
    let index = build_index(&corpus, &folder.path().join("index"));
    let fts = Fts::build(&corpus, folder.path());
    let bare = TantivyIndex::open(&folder.path().join("index"));
    println!("\n{wanted} messages, {HITS} hits of each search, {ROUNDS} rounds");
    let both: Vec<SnippetTimes> =
        SEARCHES.iter().map(|(_, asked)| measure_search(*asked, &corpus, &index, &bare, &fts)).collect();
    let columns =
        ["", "hits", "Clotho p50", "bare tantivy p50", "Clotho / it", "Clotho p99", "bare tantivy p99", "Clotho / it"];
    print_header("Hits with their texts", &columns);
    for ((name, asked), both) in SEARCHES.iter().zip(&both) {
        let SnippetTimes { total_hits: total, without_snippets: alone, .. } = both;
        print_row(
            &[&[format!("{name} (`{}`)", asked.query_text(&corpus)), total.to_string()], &alone.cells()[..]].concat(),
        );
    }
    print_header("With the pieces that show why", &[&columns[..], &["FTS5 p99", "Clotho / it"]].concat());
    for ((name, asked), SnippetTimes { total_hits: total, with_snippets: shown, fts_time: sql, .. }) in
        SEARCHES.iter().zip(&both)
    {
        let sql = [table::format_micros(*sql), format!("**{}**", format_ratio(shown.p99, *sql))];
        print_row(
            &[&[format!("{name} (`{}`)", asked.query_text(&corpus)), total.to_string()], &shown.cells()[..], &sql]
                .concat(),
        );
    }
    index.close().unwrap();
}

fn open_index(folder: &std::path::Path) -> Index {
    let upstream = IndexSource { id: Uuid::from_u128(1), newest: i64::MAX, texts: 1 };
    Index::open(folder, upstream, config::SearchConfig::default()).unwrap()
}

/// Fills the index and opens it as a start does: some segments are still being merged when everything can be found.
fn build_index(corpus: &Corpus, folder: &std::path::Path) -> Index {
    let index = open_index(folder);
    let (mut cursor, mut longest) = (0, Duration::ZERO);
    let all = measure_time(|| {
        for batch in 0..corpus.message_count.div_ceil(BATCH) {
            let changes = corpus.changes(batch * BATCH..(batch * BATCH + BATCH).min(corpus.message_count));
            index.send(cursor, changes, cursor + 1).unwrap();
            cursor += 1;
        }
        longest = measure_time(|| index.flush().unwrap());
    });
    let each = all.as_secs_f64() / corpus.message_count as f64 * 1e6;
    println!("indexed in {:.1} s ({each:.1} us a message); the last commit took {longest:?}", all.as_secs_f64());
    index.close().unwrap();
    drop(index);
    open_index(folder)
}

/// Runs one search through the program's index, with snippets if wanted.
fn search_index(index: &Index, corpus: &Corpus, text: &str, is_shown: bool) -> u64 {
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
struct SearchTimes {
    p50: Duration,
    p99: Duration,
    bare_p50: Duration,
    bare_p99: Duration,
}

impl SearchTimes {
    fn from_times(own: &mut [Duration], bare: &mut [Duration]) -> Self {
        let both = |times: &mut [Duration]| (quantile(times, 50), quantile(times, 99));
        let ((half, most), (bare_half, bare_most)) = (both(own), both(bare));
        Self { p50: half, p99: most, bare_p50: bare_half, bare_p99: bare_most }
    }

    fn cells(&self) -> [String; 6] {
        let [half, most] = [self.p50, self.p99].map(table::format_micros);
        let [bare_half, bare_most] = [self.bare_p50, self.bare_p99].map(table::format_micros);
        let beside = |own, bare| format!("**{}**", format_ratio(own, bare));
        [half, bare_half, beside(self.p50, self.bare_p50), most, bare_most, beside(self.p99, self.bare_p99)]
    }
}

/// A search without and with snippets, and the time of FTS5 with snippets.
struct SnippetTimes {
    total_hits: u64,
    without_snippets: SearchTimes,
    with_snippets: SearchTimes,
    fts_time: Duration,
}

fn measure_search(asked: SearchCase, corpus: &Corpus, index: &Index, bare: &TantivyIndex, fts: &Fts) -> SnippetTimes {
    let text = asked.query_text(corpus);
    let query = bare.build_query(asked, corpus);
    let total = search_index(index, corpus, &text, true);
    assert_eq!(usize::try_from(total).unwrap(), bare.search(&query, HITS), "{text}");
    fts.search(asked, corpus, HITS);
    let (mut alone, mut shown, mut sql) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()), Vec::new());
    for round in 0..ROUNDS {
        let mut both = [(&mut alone, false), (&mut shown, true)];
        for ((own, others), is_shown) in &mut both {
            let mut we = || own.push(measure_time(|| _ = search_index(index, corpus, &text, *is_shown)));
            let mut they =
                || others.push(measure_time(|| _ = bare.run_search(&query, is_shown.then_some((asked, corpus)), HITS)));
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
        sql.push(measure_time(|| fts.search(asked, corpus, HITS)));
    }
    let (alone, shown) =
        (SearchTimes::from_times(&mut alone.0, &mut alone.1), SearchTimes::from_times(&mut shown.0, &mut shown.1));
    SnippetTimes { total_hits: total, without_snippets: alone, with_snippets: shown, fts_time: quantile(&mut sql, 99) }
}
