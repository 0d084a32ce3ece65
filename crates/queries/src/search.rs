//! Search over all branches. The index finds messages, and the store tells where they are in the tree.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use clotho_core::clock::Time;
use clotho_core::ids::{CharacterId, NodeId, SessionId, UserId};
use clotho_core::tree::Role;
use clotho_search::{
    Index, LocalNow, ParsedQuery, QueryError, QueryNote, SearchError, SearchHit, SearchRequest, SearchResults,
    SearchSort, Snippet, TreeCondition, TreeLocation, TreeScope,
};
use clotho_store::{NodePosition, Store, StoreError, StoreReader};

/// Minimum number of hits read from the index at once.
const MIN_FETCH: usize = 32;
/// Maximum number of sessions and characters that a word in the query can match.
const MAX_NAMES: i64 = 10_000;
/// Maximum number of known value names listed for an unknown one.
const MAX_NAMED_KEYS: usize = 20;

/// What to search for.
#[derive(Debug, Clone, Default)]
pub struct MessageSearch {
    /// The query text. Without words, it matches everything that passes the filters.
    pub text: String,
    /// The UTC offset of the caller, for dates in the text.
    pub utc_offset_minutes: i32,
    /// Only in this session.
    pub session: Option<SessionId>,
    /// Only messages of this character.
    pub character: Option<CharacterId>,
    pub role: Option<Role>,
    /// Only in this part of a tree.
    pub scope: Option<TreeScope>,
    /// Only on the path from the root to the node with this label.
    pub label: Option<String>,
    /// Minimum rating in stars.
    pub rating: Option<i16>,
    /// Only messages of this time or later.
    pub after: Option<Time>,
    /// Only messages before this time.
    pub before: Option<Time>,
    pub sort: SearchSort,
    /// Maximum number of matches to return.
    pub limit: usize,
}

/// The matches of a search.
#[derive(Debug)]
pub struct MessageMatches {
    /// In the requested order.
    pub items: Vec<MessageMatch>,
    /// Number of matches.
    pub total: u64,
    /// Whether `total` is exact; otherwise it is a minimum.
    pub is_exact: bool,
    /// Whether the index lags behind the newest writes.
    pub is_stale: bool,
    /// Progress of an index rebuild in percent; `None` if none is running.
    pub rebuilding: Option<u8>,
    pub notes: Vec<QueryNote>,
}

/// A message that matches, with its place in the tree.
#[derive(Debug)]
pub struct MessageMatch {
    pub hit: SearchHit,
    pub snippet: Snippet,
    pub position: NodePosition,
    pub session_title: String,
    /// Whether the node is on the path to HEAD.
    pub is_on_current_branch: bool,
    /// Nearest label below the node; without one, the nearest above it.
    pub branch: Option<String>,
}

/// Why a search has no answer.
#[derive(Debug, thiserror::Error)]
pub enum MessageSearchError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Index(#[from] SearchError),
    /// The query text is invalid.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// A name before a colon is no value of the state.
    #[error("{error}")]
    UnknownName {
        error: QueryError,
        /// Names that exist.
        known: Vec<String>,
        /// Progress of an index rebuild in percent: the name may only be missing so far.
        rebuilding: Option<u8>,
    },
    /// A task of the search did not end.
    #[error("a search task failed: {0}")]
    Task(#[from] tokio::task::JoinError),
}

/// Filters that only the tree can decide.
#[derive(Clone)]
struct SearchTreeFilter {
    conditions: Vec<TreeCondition>,
    rating: Option<i16>,
}

/// What the tree knows of a node.
#[derive(Clone)]
struct SearchHitPlace {
    spot: NodePosition,
    session_title: String,
    on_trunk: bool,
    /// Requested labels whose branch contains the node.
    on_labels: Vec<String>,
}

/// A hit of the index with its place in the tree.
struct SearchHitWithPlace {
    hit: SearchHit,
    place: SearchHitPlace,
}

/// The hits of a search so far, and how many there are.
struct GatheredHits {
    hits: Vec<SearchHitWithPlace>,
    total: u64,
    is_exact: bool,
}

impl MessageSearch {
    /// Returns whether there is a filter besides words.
    fn has_filters(&self) -> bool {
        let by_fact = self.session.is_some() || self.character.is_some() || self.role.is_some();
        let by_place = self.scope.is_some() || self.label.is_some();
        by_fact || by_place || self.rating.is_some() || self.after.is_some() || self.before.is_some()
    }

    /// Parses the query text.
    fn parse(&self, now: Time) -> Result<ParsedQuery, QueryError> {
        if self.text.trim().is_empty() && self.has_filters() {
            return Ok(ParsedQuery::match_all());
        }
        ParsedQuery::parse(&self.text, LocalNow { now, utc_offset_minutes: self.utc_offset_minutes })
    }

    fn request(&self, user: UserId, typed: ParsedQuery) -> SearchRequest {
        SearchRequest {
            sort: self.sort,
            session: self.session,
            character: self.character,
            role: self.role,
            after: self.after,
            before: self.before,
            ..SearchRequest::new(user, typed)
        }
    }
}

impl SearchTreeFilter {
    /// Returns the filters of the query text and of the other parameters.
    fn new(wanted: &MessageSearch, typed: &ParsedQuery) -> Self {
        let label = wanted.label.clone().map(TreeLocation::Label);
        let beside = wanted.scope.map(TreeLocation::In).into_iter().chain(label);
        let beside = beside.map(|what| TreeCondition { negated: false, location: what });
        Self { conditions: typed.tree_conditions().iter().cloned().chain(beside).collect(), rating: wanted.rating }
    }

    fn is_empty(&self) -> bool {
        self.conditions.is_empty() && self.rating.is_none()
    }

    /// Returns the requested labels.
    fn labels(&self) -> Vec<String> {
        let label = |ask: &TreeCondition| {
            if let TreeLocation::Label(label) = &ask.location { Some(label.clone()) } else { None }
        };
        self.conditions.iter().filter_map(label).collect()
    }

    fn matches(&self, place: &SearchHitPlace) -> bool {
        let is_stashed = place.spot.fragment.is_some();
        let holds = |what: &TreeLocation| match what {
            TreeLocation::In(TreeScope::Trunk) => place.on_trunk,
            TreeLocation::In(TreeScope::OtherBranch) => !place.on_trunk && !is_stashed,
            TreeLocation::In(TreeScope::Stash) => is_stashed,
            TreeLocation::Label(label) => place.on_labels.contains(label),
        };
        let is_rated = self.rating.is_none() || place.spot.rating >= self.rating;
        is_rated && self.conditions.iter().all(|ask| holds(&ask.location) != ask.negated)
    }
}

/// Returns the user's messages that match, with excerpts. `now` is the time for relative dates in the text.
///
/// # Errors
/// Returns an error if the query is invalid or the index cannot be read.
pub async fn search_messages(
    store: &Store,
    index: &Arc<Index>,
    user: UserId,
    wanted: &MessageSearch,
    now: Time,
) -> Result<MessageMatches, MessageSearchError> {
    // The query, with every name in it.
    let mut typed = wanted.parse(now)?;
    let filter = SearchTreeFilter::new(wanted, &typed);
    resolve_names(store, user, &mut typed).await?;
    let request = wanted.request(user, resolve_query(index, user, typed).await?);
    let notes = request.query.notes().to_vec();
    // The hits, with their places in the tree.
    let (index_to_search, progress) = (Arc::clone(index), index.progress());
    let found = Arc::new(tokio::task::spawn_blocking(move || index_to_search.find(&request)).await?);
    let newest = store.read(|reader| reader.newest_cursor()).await?;
    let is_stale = progress.visible < newest;
    let GatheredHits { hits, total, is_exact } =
        gather_hits(store, user, &found, &filter, wanted.limit, is_stale).await?;
    let (hits, branches) = store.read(move |reader| branch_labels(reader, user, hits)).await?;
    // The excerpts.
    let show = move || hits.into_iter().map(|one| match_of(&found, one, &branches)).collect();
    let items = tokio::task::spawn_blocking(show).await?;
    Ok(MessageMatches { items, total, is_exact, is_stale, rebuilding: progress.rebuild_percent(), notes })
}

/// Resolves every name before a colon.
async fn resolve_query(
    index: &Arc<Index>,
    user: UserId,
    mut typed: ParsedQuery,
) -> Result<ParsedQuery, MessageSearchError> {
    let (index, rebuilding) = (Arc::clone(index), index.progress().rebuild_percent());
    let settle = move || match index.resolve_names(user, &mut typed)? {
        Ok(()) => Ok(Ok(typed)),
        Err(error) => index.keys(user, MAX_NAMED_KEYS).map(|known| Err((error, known))),
    };
    let settled: Result<_, SearchError> = tokio::task::spawn_blocking(settle).await?;
    settled?.map_err(|(error, known)| MessageSearchError::UnknownName { error, known, rebuilding })
}

/// Resolves the sessions and characters that the query names.
async fn resolve_names(store: &Store, user: UserId, typed: &mut ParsedQuery) -> Result<(), StoreError> {
    if typed.names_sessions() {
        let titles = store.read(move |reader| reader.titles(user, MAX_NAMES)).await?;
        let titles: Vec<(SessionId, &str)> = titles.iter().map(|(id, title)| (*id, title.as_str())).collect();
        typed.resolve_sessions(&titles);
    }
    if typed.names_characters() {
        let cards = store.read(move |reader| reader.characters(user, 0, MAX_NAMES)).await?;
        let name =
            |card: &'_ Map<String, Value>| card.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let names: Vec<(CharacterId, String)> = cards.iter().map(|card| (card.id, name(&card.card))).collect();
        let names: Vec<(CharacterId, &str)> = names.iter().map(|(id, name)| (*id, name.as_str())).collect();
        typed.resolve_characters(&names);
    }
    Ok(())
}

/// Returns the labels of the branches on which hits are.
fn branch_labels(
    reader: &mut StoreReader<'_>,
    user: UserId,
    seen: Vec<SearchHitWithPlace>,
) -> Result<(Vec<SearchHitWithPlace>, HashMap<NodeId, String>), StoreError> {
    let mut sessions: HashMap<SessionId, Vec<NodePosition>> = HashMap::new();
    for one in seen.iter().filter(|one| one.place.spot.fragment.is_none()) {
        sessions.entry(one.hit.session).or_default().push(one.place.spot);
    }
    let mut named = HashMap::new();
    for (session, spots) in sessions {
        if let Some(stored) = reader.session(user, session)? {
            named.extend(reader.branch_names(&stored, &spots)?);
        }
    }
    Ok((seen, named))
}

/// Collects hits in order until there are enough. The index knows neither places in the tree nor removed nodes, so it
/// reads as many hits as needed.
async fn gather_hits(
    store: &Store,
    user: UserId,
    found: &Arc<SearchResults>,
    filter: &SearchTreeFilter,
    limit: usize,
    is_stale: bool,
) -> Result<GatheredHits, MessageSearchError> {
    let (mut kept, mut offset, mut fetch, mut gone) = (Vec::new(), 0, limit.max(MIN_FETCH), 0);
    loop {
        let index = Arc::clone(found);
        let page = tokio::task::spawn_blocking(move || index.page(offset, fetch)).await??;
        let (total, read) = (page.total, page.hits.len());
        let labels = filter.labels();
        let seen = store.read(move |reader| place_hits(reader, user, page.hits, &labels)).await?;
        gone += read - seen.len();
        kept.extend(seen.into_iter().filter(|one| filter.matches(&one.place)));
        offset += read;
        if read < fetch {
            let total = to_count(kept.len());
            kept.truncate(limit);
            return Ok(GatheredHits { hits: kept, total, is_exact: true });
        }
        if kept.len() >= limit {
            // Of the remaining hits it is only known that the index has them.
            let (total, is_exact) = if filter.is_empty() {
                (total.saturating_sub(to_count(gone)), gone == 0 && !is_stale)
            } else {
                (to_count(kept.len()), false)
            };
            kept.truncate(limit);
            return Ok(GatheredHits { hits: kept, total, is_exact });
        }
        fetch *= 2;
    }
}

fn to_count(things: usize) -> u64 {
    u64::try_from(things).unwrap_or(u64::MAX)
}

/// Adds the place in the tree to hits. Leaves out nodes that are no longer in the tree or not visible to the user; the
/// index is filtered by owner, and the store checks again.
fn place_hits(
    reader: &mut StoreReader<'_>,
    user: UserId,
    hits: Vec<SearchHit>,
    labels: &[String],
) -> Result<Vec<SearchHitWithPlace>, StoreError> {
    let mut sessions: HashMap<SessionId, Vec<NodeId>> = HashMap::new();
    for hit in &hits {
        sessions.entry(hit.session).or_default().push(hit.node);
    }
    let mut places: HashMap<NodeId, SearchHitPlace> = HashMap::new();
    for (session, ids) in sessions {
        let Some(stored) = reader.session(user, session)? else { continue };
        let spots = reader.node_positions(&stored, &ids)?;
        let trunk = reader.positions_on_path(&stored, stored.session.head, &spots)?;
        let mut lines = Vec::new();
        for label in labels {
            if let Some(named) = reader.node_with_label(&stored, label)? {
                lines.push((label, reader.positions_on_path(&stored, named, &spots)?));
            }
        }
        for spot in spots {
            let on = lines.iter().filter(|(_, line)| line.contains(&spot.id)).map(|(label, _)| (*label).clone());
            let (on_trunk, on_labels) = (trunk.contains(&spot.id), on.collect());
            places.insert(
                spot.id,
                SearchHitPlace { spot, session_title: stored.session.title.clone(), on_trunk, on_labels },
            );
        }
    }
    let seen = hits.into_iter().filter_map(|hit| {
        let hit_place = places.get(&hit.node)?.clone();
        Some(SearchHitWithPlace { hit, place: hit_place })
    });
    Ok(seen.collect())
}

fn match_of(found: &SearchResults, seen: SearchHitWithPlace, branches: &HashMap<NodeId, String>) -> MessageMatch {
    let SearchHitWithPlace { hit, place: SearchHitPlace { spot, session_title, on_trunk, on_labels: _ } } = seen;
    let (snippet, branch) = (found.snippet(&hit), branches.get(&spot.id).cloned());
    MessageMatch { hit, snippet, position: spot, session_title, is_on_current_branch: on_trunk, branch }
}
