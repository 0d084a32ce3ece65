//! The limit: the program's queries, run by bare tantivy on the same files, with and without tantivy's own snippets.

use std::hint::black_box;
use std::ops::Bound;
use std::path::Path;

use tantivy::collector::{Count, TopDocs};
use tantivy::query::{BooleanQuery, BoostQuery, ConstScoreQuery, Occur, PhraseQuery, Query, RangeQuery, TermQuery};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::snippet::SnippetGenerator;
use tantivy::tokenizer::{LowerCaser, SimpleTokenizer, TextAnalyzer};
use tantivy::{IndexReader, TantivyDocument, Term};

use super::SearchCase;
use super::corpus::Corpus;

pub struct TantivyIndex {
    reader: IndexReader,
    text_field: Field,
    stem_field: Field,
}

impl TantivyIndex {
    pub fn open(folder: &Path) -> Self {
        let index = tantivy::Index::open_in_dir(folder).unwrap();
        let schema = index.schema();
        let field = |name: &str| schema.get_field(name).unwrap();
        Self { reader: index.reader().unwrap(), text_field: field("text"), stem_field: field("stems") }
    }

    pub fn build_query(&self, asked: SearchCase, corpus: &Corpus) -> Box<dyn Query> {
        let word = |rank: usize| self.word_query(corpus.word(rank));
        let both = |occur: Occur, one: usize, other: usize| -> Box<dyn Query> {
            Box::new(BooleanQuery::new(vec![(occur, word(one)), (occur, word(other))]))
        };
        match asked {
            SearchCase::Word(one) => word(one),
            SearchCase::SnippetTimes(one, other) => both(Occur::Must, one, other),
            SearchCase::Either(one, other) => both(Occur::Should, one, other),
            SearchCase::Phrase(one, other) => {
                let term = |rank: usize| Term::from_field_text(self.text_field, corpus.word(rank));
                Box::new(PhraseQuery::new(vec![term(one), term(other)]))
            }
            SearchCase::Begun(one) => {
                let begun: String = corpus.word(one).chars().take(4).collect();
                let term = |text: &str| Term::from_field_text(self.text_field, text);
                let from = Bound::Included(term(&begun));
                let until = Bound::Included(term(&format!("{begun}\u{10ffff}")));
                let range = ConstScoreQuery::new(Box::new(RangeQuery::new(from, until)), 0.5);
                let whole = TermQuery::new(term(&begun), IndexRecordOption::WithFreqs);
                Box::new(BooleanQuery::new(vec![(Occur::Should, Box::new(whole)), (Occur::Should, Box::new(range))]))
            }
        }
    }

    /// Returns the query for a word in any form. The words of the corpus have no English endings, so each is its own
    /// stem.
    fn word_query(&self, word: &str) -> Box<dyn Query> {
        let stem = rust_stemmers::Stemmer::create(rust_stemmers::Algorithm::English).stem(word).into_owned();
        let term = |field: Field, word: &str| {
            Box::new(TermQuery::new(Term::from_field_text(field, word), IndexRecordOption::WithFreqs)) as Box<dyn Query>
        };
        let forms = Box::new(BoostQuery::new(term(self.stem_field, &stem), 0.4));
        Box::new(BooleanQuery::new(vec![(Occur::Should, term(self.text_field, word)), (Occur::Should, forms)]))
    }

    /// Loads the best hits with their texts. Returns the total number of hits.
    pub fn search(&self, query: &dyn Query, hits: usize) -> usize {
        self.visit_hits(query, hits, |document| assert!(document.get_first(self.text_field).is_some()))
    }

    /// Runs one search, with snippets if `shown` is given.
    pub fn run_search(&self, query: &dyn Query, shown: Option<(SearchCase, &Corpus)>, hits: usize) -> usize {
        match shown {
            Some((asked, corpus)) => self.search_with_snippets(query, asked, corpus, hits),
            None => self.search(query, hits),
        }
    }

    /// Runs one search with snippets cut by tantivy itself.
    fn search_with_snippets(&self, query: &dyn Query, asked: SearchCase, corpus: &Corpus, hits: usize) -> usize {
        let ranks = match asked {
            SearchCase::Word(one) | SearchCase::Begun(one) => vec![one],
            SearchCase::SnippetTimes(one, other) | SearchCase::Either(one, other) | SearchCase::Phrase(one, other) => {
                vec![one, other]
            }
        };
        let terms = ranks.into_iter().map(|rank| (corpus.word(rank).to_owned(), 1.0)).collect();
        let words = TextAnalyzer::builder(SimpleTokenizer::default()).filter(LowerCaser).build();
        let generator = SnippetGenerator::new(terms, words, self.text_field, 200);
        self.visit_hits(query, hits, |document| _ = black_box(generator.snippet_from_doc(document)))
    }

    fn visit_hits(&self, query: &dyn Query, hits: usize, mut take: impl FnMut(&TantivyDocument)) -> usize {
        let searcher = self.reader.searcher();
        let (total, top) = searcher.search(query, &(Count, TopDocs::with_limit(hits).order_by_score())).unwrap();
        for (_, address) in top {
            take(&searcher.doc(address).unwrap());
        }
        total
    }
}
