//! Compiles an expression to a tantivy query.

use std::ops::Bound;

use tantivy::Term;
use tantivy::query::{
    AllQuery, BooleanQuery, BoostQuery, ConstScoreQuery, EmptyQuery, FuzzyTermQuery, Occur, PhrasePrefixQuery,
    PhraseQuery, Query, RangeQuery, TermQuery, TermSetQuery,
};
use tantivy::schema::{Field, IndexRecordOption};
use uuid::Uuid;

use super::analyzer::{self, PhraseTerm};
use super::exclusion::ExclusionQuery;
use super::query::{QueryCondition, QueryExpr, SearchTerms, TermMatch, TimeSpan, ValueCondition, ValueMatch};
use super::schema::FIELDS;
use super::values::ValueTerms;
use clotho_core::tree::Role;

/// The weight of another form of the word, relative to the exact word.
const FORM: f32 = 0.4;
/// The score of a prefix or fuzzy match.
const GUESS: f32 = 0.5;
/// How many words a prefix at the end of a phrase may expand to.
const ENDINGS_MAX: u32 = 10_000;
/// Sorts after every text with the same prefix.
const LAST: char = '\u{10ffff}';

/// A boxed tantivy query.
type BoxedQuery = Box<dyn Query>;

/// Compiles an expression. A negation is subtracted from everything, so it means the same in every position.
pub(super) fn compile(expr: &QueryExpr) -> BoxedQuery {
    match expr {
        QueryExpr::Everything | QueryExpr::Tree(..) => unscored(AllQuery),
        QueryExpr::Nothing => Box::new(EmptyQuery),
        QueryExpr::All(parts) => {
            let mut all: Vec<(Occur, BoxedQuery)> = parts.iter().map(part).collect();
            if all.iter().all(|(occur, _)| *occur == Occur::MustNot) {
                all.push((Occur::Must, unscored(AllQuery)));
            }
            Box::new(BooleanQuery::new(all))
        }
        QueryExpr::Any(parts) => any(parts.iter().map(compile)),
        QueryExpr::Not(inner) => {
            Box::new(BooleanQuery::new(vec![(Occur::Must, unscored(AllQuery)), exclusion(compile(inner))]))
        }
        QueryExpr::Condition(what) => condition(what),
    }
}

fn part(expr: &QueryExpr) -> (Occur, BoxedQuery) {
    match expr {
        QueryExpr::Not(inner) => exclusion(compile(inner)),
        wanted => (Occur::Must, compile(wanted)),
    }
}

fn exclusion(query: BoxedQuery) -> (Occur, BoxedQuery) {
    (Occur::MustNot, Box::new(ExclusionQuery(query)))
}

/// Returns a query that matches without a score.
pub(super) fn unscored(query: impl Query) -> BoxedQuery {
    Box::new(ConstScoreQuery::new(Box::new(query), 0.0))
}

/// Returns a query for one term, without frequencies.
pub(super) fn exact(term: Term) -> TermQuery {
    TermQuery::new(term, IndexRecordOption::Basic)
}

/// Returns the term of a role.
pub(super) fn role(role: Role) -> Term {
    Term::from_field_text(FIELDS.role, role.as_str())
}

/// Returns a query for a time span; everything if it is unbounded.
pub(super) fn time(span: TimeSpan) -> BoxedQuery {
    let term = |moment: i64| Term::from_field_i64(FIELDS.time, moment);
    let from = span.from.map_or(Bound::Unbounded, |moment| Bound::Included(term(moment)));
    let until = span.until.map_or(Bound::Unbounded, |moment| Bound::Excluded(term(moment)));
    if span == TimeSpan::default() { unscored(AllQuery) } else { unscored(RangeQuery::new(from, until)) }
}

fn condition(what: &QueryCondition) -> BoxedQuery {
    match what {
        QueryCondition::Text(looked_for) => words(FIELDS.text, looked_for),
        QueryCondition::Name(looked_for) => words(FIELDS.name, looked_for),
        QueryCondition::Role(wanted) => unscored(exact(role(*wanted))),
        QueryCondition::Session(named) => one_of(FIELDS.session, &named.ids),
        QueryCondition::Character(named) => one_of(FIELDS.character, &named.ids),
        QueryCondition::Time(span) => time(*span),
        QueryCondition::World(wanted) => world(wanted),
    }
}

fn one_of(field: Field, ids: &[Uuid]) -> BoxedQuery {
    unscored(TermSetQuery::new(ids.iter().map(|id| Term::from_field_bytes(field, id.as_bytes()))))
}

fn any(parts: impl Iterator<Item = BoxedQuery>) -> BoxedQuery {
    Box::new(BooleanQuery::new(parts.map(|part| (Occur::Should, part)).collect()))
}

fn words(field: Field, words: &SearchTerms) -> BoxedQuery {
    let as_it_stands = || phrase(field, &words.terms);
    let Some((last, before)) = words.terms.split_last() else { return Box::new(EmptyQuery) };
    let guess = |query: BoxedQuery| -> BoxedQuery { Box::new(ConstScoreQuery::new(query, GUESS)) };
    match &words.matching {
        TermMatch::Exact => as_it_stands(),
        TermMatch::Forms(stem) if field == FIELDS.text => {
            let forms = TermQuery::new(Term::from_field_text(FIELDS.stems, stem), IndexRecordOption::WithFreqs);
            any([as_it_stands(), Box::new(BoostQuery::new(Box::new(forms), FORM)) as BoxedQuery].into_iter())
        }
        TermMatch::Forms(_) => as_it_stands(),
        TermMatch::Prefix if before.is_empty() => {
            any([as_it_stands(), guess(prefix_query(field, "", &last.text))].into_iter())
        }
        TermMatch::Prefix => {
            let mut query = PhrasePrefixQuery::new_with_offset(terms(field, &adjacent_terms(before, last)));
            query.set_max_expansions(ENDINGS_MAX);
            Box::new(query)
        }
        TermMatch::Near(slips) => {
            let near = FuzzyTermQuery::new(Term::from_field_text(field, &last.text), *slips, true);
            any([as_it_stands(), guess(Box::new(near))].into_iter())
        }
    }
}

/// Adds a term so that the last one directly follows another: tantivy matches a prefix only there. A pair of characters
/// spans two positions, so its second character is added at the second one.
fn adjacent_terms(before: &[PhraseTerm], last: &PhraseTerm) -> Vec<PhraseTerm> {
    let mut terms = before.to_vec();
    if let Some(PhraseTerm { offset, text: pair }) = before.last()
        && offset + 2 == last.offset
    {
        let second = pair.chars().next_back();
        terms.extend(second.map(|second| PhraseTerm { offset: offset + 1, text: second.to_string() }));
    }
    terms.push(last.clone());
    terms
}

fn terms(field: Field, words: &[PhraseTerm]) -> Vec<(usize, Term)> {
    words.iter().map(|term| (term.offset, Term::from_field_text(field, &term.text))).collect()
}

fn phrase(field: Field, words: &[PhraseTerm]) -> BoxedQuery {
    let mut terms = terms(field, words);
    match terms.pop() {
        Some((_, term)) if terms.is_empty() => Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)),
        Some(last) => {
            terms.push(last);
            Box::new(PhraseQuery::new_with_offset(terms))
        }
        None => Box::new(EmptyQuery),
    }
}

/// Returns a query for any term that starts with `before` and `beginning`.
fn prefix_query(field: Field, before: &str, beginning: &str) -> BoxedQuery {
    let (from, until) = (format!("{before}{beginning}"), format!("{before}{beginning}{LAST}"));
    between(field, Bound::Included(&from), Bound::Included(&until))
}

fn between(field: Field, from: Bound<&String>, until: Bound<&String>) -> BoxedQuery {
    let term = |text: &String| Term::from_field_text(field, text);
    Box::new(RangeQuery::new(from.map(term), until.map(term)))
}

fn world(condition: &ValueCondition) -> BoxedQuery {
    let terms = ValueTerms::for_key(&condition.key);
    let is_there = || exact(Term::from_field_text(FIELDS.keys, &condition.key));
    let query = match &condition.wanted {
        ValueMatch::Any => Box::new(is_there()) as BoxedQuery,
        ValueMatch::Between(from, until) => numbers(&terms, from.as_ref(), until.as_ref()),
        ValueMatch::Equals(text, is_whole) => value_query(&terms, text, *is_whole),
        ValueMatch::NotEquals(text, is_whole) => Box::new(BooleanQuery::new(vec![
            (Occur::Must, Box::new(is_there())),
            exclusion(value_query(&terms, text, *is_whole)),
        ])),
        ValueMatch::Prefix(word) => prefix_query(FIELDS.values, &terms.word(""), word),
    };
    unscored_box(query)
}

fn unscored_box(query: BoxedQuery) -> BoxedQuery {
    Box::new(ConstScoreQuery::new(query, 0.0))
}

fn numbers(terms: &ValueTerms, from: Option<&(String, bool)>, until: Option<&(String, bool)>) -> BoxedQuery {
    let bound = |end: Option<&(String, bool)>, open: &String| match end {
        None => Bound::Excluded(open.clone()),
        Some((code, true)) => Bound::Included(terms.code(code)),
        Some((code, false)) => Bound::Excluded(terms.code(code)),
    };
    let (from, until) = (bound(from, &terms.numbers.0), bound(until, &terms.numbers.1));
    between(FIELDS.values, from.as_ref(), until.as_ref())
}

/// Returns a query for a number, a flag, or a text with these words, whichever the value is.
fn value_query(terms: &ValueTerms, text: &str, is_whole: bool) -> BoxedQuery {
    let has = |term: String| -> BoxedQuery { Box::new(exact(Term::from_field_text(FIELDS.values, &term))) };
    let mut ways: Vec<BoxedQuery> = vec![has(terms.whole_text(text))];
    if !is_whole {
        ways.extend(terms.number(text).map(has));
        ways.extend(text.to_lowercase().parse().ok().map(|flag| has(terms.flag(flag))));
        let words = analyzer::phrase_terms(text).into_iter().map(|term| (Occur::Must, has(terms.word(&term.text))));
        let words: Vec<(Occur, BoxedQuery)> = words.collect();
        if !words.is_empty() {
            ways.push(Box::new(BooleanQuery::new(words)));
        }
    }
    any(ways.into_iter())
}
