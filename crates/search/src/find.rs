//! From clauses and filters to hits. The owner is a term of every query: what one may not read is not found.

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

/// In which order hits come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SearchSort {
    /// Best first; of equally good ones the newest first.
    #[default]
    Best,
    /// Newest first.
    Newest,
    /// Oldest first.
    Oldest,
}

/// What to look for, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchRequest {
    /// Who asks: only what this user owns is found.
    pub owner: UserId,
    /// What was typed.
    pub query: ParsedQuery,
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
    /// What comes first.
    pub sort: SearchSort,
}

impl SearchRequest {
    /// A search without filters.
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

/// A node that matches.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchHit {
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
    /// The whole text; [`SearchResults::snippet`] has the piece to show.
    pub text: String,
    /// When it was said.
    pub time: Time,
    /// How well it matches (BM25); only its order means something.
    pub score: f32,
}

/// Some of the hits.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchPage {
    /// In the order that was asked for.
    pub hits: Vec<SearchHit>,
    /// How many match in all; exact.
    pub total: u64,
}

/// How many hits there are in all, and some of them.
type RankedAddresses = (usize, Vec<(Score, DocAddress)>);

/// What matches, as the index was when the search began.
pub struct SearchResults {
    shared: Arc<SharedIndex>,
    searcher: Searcher,
    query: Box<dyn Compiled>,
    sort: SearchSort,
    /// What to mark in the texts.
    marks: Vec<SearchTerms>,
}

impl SearchResults {
    pub(super) fn new(shared: Arc<SharedIndex>, searcher: Searcher, request: &SearchRequest) -> Self {
        let marks = request.query.text_terms().into_iter().cloned().collect();
        let query = query(request, &searcher);
        Self { shared, searcher, query, sort: request.sort, marks }
    }

    /// At most `limit` hits after the first `offset`.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn page(&self, offset: usize, limit: usize) -> Result<SearchPage, SearchError> {
        self.shared.read(|| {
            // More than there is would only cost memory.
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
        let best = BestHitsCollector::new(offset.saturating_add(limit), self.shared.times.of(&self.searcher)?);
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

    /// The piece of a hit's text that shows why it was found.
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
    // Where everything is theirs, asking it of each hit again would only take time.
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
    // One part alone is found faster than one part of which all must be.
    match parts.pop() {
        Some(part) if parts.is_empty() => part,
        last => Box::new(BooleanQuery::intersection(parts.into_iter().chain(last).collect())),
    }
}

/// Whether every document of a snapshot has a term, those included that were removed from it. What cannot be read has not.
fn is_everywhere(searcher: &Searcher, term: &Term) -> bool {
    let all: u64 = searcher.segment_readers().iter().map(|segment| u64::from(segment.max_doc())).sum();
    searcher.doc_freq(term).is_ok_and(|with| with == all)
}
