//! From query and filters to hits. Every search is limited to the nodes of the searching user.

use std::sync::Arc;

use tantivy::collector::sort_key::SortByStaticFastValue;
use tantivy::collector::{Count, TopDocs};
use tantivy::query::{BooleanQuery, Query as Compiled};
use tantivy::{DocAddress, Order, Score, Searcher, Term};

use super::SearchError;
use super::best_hits::BestHitsCollector;
use super::compile::{compile, exact, role, time, unscored};
use super::highlight::HighlightTerms;
use super::query::{ParsedQuery, SearchTerms, TimeSpan};
use super::schema::{FIELDS, TIME};
use super::shared::SharedIndex;
use super::snippet::{Snippet, build_snippet};
use super::stored_fields::StoredFields;
use clotho_core::clock::Time;
use clotho_core::ids::{CharacterId, NodeId, SessionId, UserId};
use clotho_core::tree::Role;

/// The order of hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SearchSort {
    /// Best first; ties newest first.
    #[default]
    Best,
    Newest,
    Oldest,
}

/// A query with filters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchRequest {
    /// The searching user: only nodes of this owner are found.
    pub owner: UserId,
    pub query: ParsedQuery,
    /// Only nodes of this session.
    pub session: Option<SessionId>,
    /// Only messages of this character.
    pub character: Option<CharacterId>,
    pub role: Option<Role>,
    /// Only messages of this time or later.
    pub after: Option<Time>,
    /// Only messages before this time.
    pub before: Option<Time>,
    pub sort: SearchSort,
}

impl SearchRequest {
    /// Creates a search without filters.
    pub fn new(owner: UserId, query: ParsedQuery) -> Self {
        Self {
            owner,
            query,
            session: None,
            character: None,
            role: None,
            after: None,
            before: None,
            sort: SearchSort::default(),
        }
    }
}

/// A matching node.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchHit {
    pub node: NodeId,
    pub session: SessionId,
    /// The speaking character.
    pub character: Option<CharacterId>,
    pub role: Role,
    /// The name of the speaker.
    pub name: String,
    /// The whole text; [`SearchResults::snippet`] returns the excerpt to show.
    pub text: String,
    /// When the message was written.
    pub time: Time,
    /// The BM25 score; only its order has a meaning.
    pub score: f32,
}

/// One page of hits.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchPage {
    /// The hits in the requested order.
    pub hits: Vec<SearchHit>,
    /// The exact number of all hits.
    pub total: u64,
}

/// The number of all hits, and some of them.
type RankedAddresses = (usize, Vec<(Score, DocAddress)>);

/// The results of a search, on the index as it was at the start of the search.
pub struct SearchResults {
    shared: Arc<SharedIndex>,
    searcher: Searcher,
    query: Box<dyn Compiled>,
    sort: SearchSort,
    /// The terms to mark in texts.
    marks: Vec<SearchTerms>,
}

impl SearchResults {
    /// Compiles a request; nothing is searched yet.
    pub(super) fn new(shared: Arc<SharedIndex>, searcher: Searcher, request: &SearchRequest) -> Self {
        let marks = request.query.text_terms().into_iter().cloned().collect();
        let query = query(request, &searcher);
        Self { shared, searcher, query, sort: request.sort, marks }
    }

    /// Returns at most `limit` hits after the first `offset`.
    ///
    /// # Errors
    /// Returns an error if the index cannot be read.
    pub fn page(&self, offset: usize, limit: usize) -> Result<SearchPage, SearchError> {
        self.shared.read(|| {
            // A limit beyond the number of documents would only cost memory.
            let all = usize::try_from(self.searcher.num_docs()).unwrap_or(usize::MAX);
            let limit = limit.min(all.saturating_sub(offset));
            if limit == 0 {
                let total = self.searcher.search(&self.query, &Count)?;
                return Ok(SearchPage { hits: Vec::new(), total: count(total) });
            }
            let (total, top) = match self.sort {
                SearchSort::Best => self.best(offset, limit)?,
                SearchSort::Newest => self.by_time(Order::Desc, offset, limit)?,
                SearchSort::Oldest => self.by_time(Order::Asc, offset, limit)?,
            };
            let hits = top.into_iter().map(|(score, address)| self.hit(score, address));
            Ok(SearchPage { hits: hits.collect::<tantivy::Result<_>>()?, total: count(total) })
        })
    }

    fn best(&self, offset: usize, limit: usize) -> tantivy::Result<RankedAddresses> {
        let best = BestHitsCollector::new(offset.saturating_add(limit), self.shared.times.segments(&self.searcher)?);
        let (total, mut top) = self.searcher.search(&self.query, &best)?;
        top.drain(..offset.min(top.len()));
        Ok((total, top))
    }

    fn by_time(&self, order: Order, offset: usize, limit: usize) -> tantivy::Result<RankedAddresses> {
        let by_time = SortByStaticFastValue::<i64>::for_field(TIME);
        let top = TopDocs::with_limit(limit).and_offset(offset).order_by((by_time, order));
        let (total, top) = self.searcher.search(&self.query, &(Count, top))?;
        Ok((total, top.into_iter().map(|(_, address)| (0.0, address)).collect()))
    }

    /// Returns the excerpt of a hit's text with the matches marked.
    pub fn snippet(&self, hit: &SearchHit) -> Snippet {
        let words: Vec<&SearchTerms> = self.marks.iter().collect();
        build_snippet(&hit.text, &HighlightTerms::new(&words))
    }

    fn hit(&self, score: f32, address: DocAddress) -> tantivy::Result<SearchHit> {
        let stored: StoredFields = self.searcher.doc(address)?;
        Ok(SearchHit {
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

fn query(request: &SearchRequest, searcher: &Searcher) -> Box<dyn Compiled> {
    let mut parts = vec![compile(&request.query.expr)];
    let owner = FIELDS.owner_term(request.owner);
    // If every document belongs to this owner, the filter would only cost time.
    if !is_everywhere(searcher, &owner) {
        parts.push(unscored(exact(owner)));
    }
    let filters = [
        request.session.map(|session| FIELDS.session_term(session)),
        request.character.map(|character| FIELDS.character_term(character)),
        request.role.map(role),
    ];
    parts.extend(filters.into_iter().flatten().map(|term| unscored(exact(term))));
    let span = TimeSpan { from: request.after.map(|time| time.0), until: request.before.map(|time| time.0) };
    if span != TimeSpan::default() {
        parts.push(time(span));
    }
    // A single query is faster than an intersection of one.
    match parts.pop() {
        Some(part) if parts.is_empty() => part,
        last => Box::new(BooleanQuery::intersection(parts.into_iter().chain(last).collect())),
    }
}

/// Returns whether every document has a term, removed documents included; `false` if the index cannot be read.
fn is_everywhere(searcher: &Searcher, term: &Term) -> bool {
    let all: u64 = searcher.segment_readers().iter().map(|segment| u64::from(segment.max_doc())).sum();
    searcher.doc_freq(term).is_ok_and(|with| with == all)
}
