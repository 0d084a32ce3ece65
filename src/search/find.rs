//! From clauses and filters to hits. The owner is a term of every query: what one may not read is not found.

use std::ops::Bound;
use std::sync::Arc;

use tantivy::collector::sort_key::{SortBySimilarityScore, SortByStaticFastValue};
use tantivy::collector::{Count, TopDocs};
use tantivy::query::{BooleanQuery, ConstScoreQuery, Occur, PhraseQuery, RangeQuery, TermQuery};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocAddress, Order, Searcher, TantivyDocument, TantivyError, Term};

use super::SearchError;
use super::query::{Clause, Query, What};
use super::schema::{FIELDS, TIME};
use super::shared::Shared;
use super::snippet::{Snippet, snippet};
use crate::clock::Time;
use crate::ids::{CharacterId, NodeId, SessionId, UserId};
use crate::tree::Role;

/// What to look for, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Who asks: only what this user owns is found.
    pub owner: UserId,
    /// What was typed.
    pub query: Query,
    /// Only in this session.
    pub session: Option<SessionId>,
    /// Only what this character says.
    pub character: Option<CharacterId>,
    /// Only what is said as this.
    pub role: Option<Role>,
    /// Only what was said then or later.
    pub after: Option<Time>,
    /// Only what was said earlier.
    pub before: Option<Time>,
}

impl Request {
    /// A search without filters.
    pub fn new(owner: UserId, query: Query) -> Self {
        Self { owner, query, session: None, character: None, role: None, after: None, before: None }
    }
}

/// A node that matches.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The node.
    pub node: NodeId,
    /// Its session.
    pub session: SessionId,
    /// The character that speaks.
    pub character: Option<CharacterId>,
    /// Who it speaks as.
    pub role: Role,
    /// The speaker's name.
    pub name: String,
    /// The whole text; [`Found::snippet`] has the piece to show.
    pub text: String,
    /// When it was said.
    pub time: Time,
    /// How well it matches (BM25); only its order means something.
    pub score: f32,
}

/// Some of the hits.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// Best first; of equally good ones the newest first.
    pub hits: Vec<Hit>,
    /// How many match in all; exact.
    pub total: u64,
}

/// What matches, as the index was when the search began.
pub struct Found {
    shared: Arc<Shared>,
    searcher: Searcher,
    query: BooleanQuery,
    /// What to mark in the texts.
    phrases: Vec<Vec<(usize, String)>>,
}

impl Found {
    pub(super) fn new(shared: Arc<Shared>, searcher: Searcher, request: &Request) -> Self {
        let marks = request.query.clauses.iter().filter_map(|clause| match &clause.what {
            What::Text(phrase) if !clause.unwanted => Some(phrase.clone()),
            _ => None,
        });
        Self { shared, searcher, query: query(request), phrases: marks.collect() }
    }

    /// At most `limit` hits after the first `offset`.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn page(&self, offset: usize, limit: usize) -> Result<Page, SearchError> {
        self.shared.read(|| {
            // More than there is would only cost memory.
            let all = usize::try_from(self.searcher.num_docs()).unwrap_or(usize::MAX);
            let limit = limit.min(all.saturating_sub(offset));
            if limit == 0 {
                let total = self.searcher.search(&self.query, &Count)?;
                return Ok(Page { hits: Vec::new(), total: count(total) });
            }
            let newest = (SortByStaticFastValue::<i64>::for_field(TIME), Order::Desc);
            let best = (SortBySimilarityScore, Order::Desc);
            let top = TopDocs::with_limit(limit).and_offset(offset).order_by((best, newest));
            let (total, top) = self.searcher.search(&self.query, &(Count, top))?;
            let hits = top.into_iter().map(|((score, _), address)| self.hit(score, address));
            Ok(Page { hits: hits.collect::<tantivy::Result<_>>()?, total: count(total) })
        })
    }

    /// The piece of a hit's text that shows why it was found.
    pub fn snippet(&self, hit: &Hit) -> Snippet {
        let phrases: Vec<&[(usize, String)]> = self.phrases.iter().map(Vec::as_slice).collect();
        snippet(&hit.text, &phrases)
    }

    fn hit(&self, score: f32, address: DocAddress) -> tantivy::Result<Hit> {
        let doc: TantivyDocument = self.searcher.doc(address)?;
        let stored = FIELDS.read(&doc).ok_or_else(|| TantivyError::InternalError("a document is incomplete".into()))?;
        Ok(Hit {
            node: stored.node,
            session: stored.session,
            character: stored.character,
            role: stored.role,
            name: stored.name,
            text: stored.text,
            time: stored.time,
            score,
        })
    }
}

fn count(total: usize) -> u64 {
    u64::try_from(total).unwrap_or(u64::MAX)
}

type Part = (Occur, Box<dyn tantivy::query::Query>);

fn query(request: &Request) -> BooleanQuery {
    let filters = [
        Some(FIELDS.owner_term(request.owner)),
        request.session.map(|session| FIELDS.session_term(session)),
        request.character.map(|character| FIELDS.character_term(character)),
        request.role.map(role_term),
    ];
    let mut parts: Vec<Part> = filters.into_iter().flatten().map(|term| filter(Box::new(exact(term)))).collect();
    if request.after.is_some() || request.before.is_some() {
        let term = |time: Time| Term::from_field_i64(FIELDS.time, time.0);
        let after = request.after.map_or(Bound::Unbounded, |time| Bound::Included(term(time)));
        let before = request.before.map_or(Bound::Unbounded, |time| Bound::Excluded(term(time)));
        parts.push(filter(Box::new(RangeQuery::new(after, before))));
    }
    parts.extend(request.query.clauses.iter().map(part));
    BooleanQuery::new(parts)
}

fn part(clause: &Clause) -> Part {
    let query: Box<dyn tantivy::query::Query> = match &clause.what {
        What::Text(words) => phrase(FIELDS.text, words),
        What::Name(words) => phrase(FIELDS.name, words),
        What::Role(role) => Box::new(ConstScoreQuery::new(Box::new(exact(role_term(*role))), 0.0)),
    };
    (if clause.unwanted { Occur::MustNot } else { Occur::Must }, query)
}

/// Must match, and says nothing about how well.
fn filter(query: Box<dyn tantivy::query::Query>) -> Part {
    (Occur::Must, Box::new(ConstScoreQuery::new(query, 0.0)))
}

fn exact(term: Term) -> TermQuery {
    TermQuery::new(term, IndexRecordOption::Basic)
}

fn role_term(role: Role) -> Term {
    Term::from_field_text(FIELDS.role, role.word())
}

fn phrase(field: Field, words: &[(usize, String)]) -> Box<dyn tantivy::query::Query> {
    let mut terms: Vec<(usize, Term)> =
        words.iter().map(|(offset, word)| (*offset, Term::from_field_text(field, word))).collect();
    match terms.pop() {
        Some((_, term)) if terms.is_empty() => Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)),
        Some(last) => {
            terms.push(last);
            Box::new(PhraseQuery::new_with_offset(terms))
        }
        None => Box::new(tantivy::query::EmptyQuery),
    }
}
