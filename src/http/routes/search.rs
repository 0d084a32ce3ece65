//! Search over all branches.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value};

use super::AppData;
use crate::http::caller::Caller;
use crate::http::error::{ApiError, ApiErrorCode};
use crate::http::query::QueryParams;
use crate::http::response::{ApiResponse, ApiResult};
use crate::http::wire::check_limit;
use crate::http::wire::ids::WireId;
use crate::http::wire::search::{
    SearchHitResponse, SearchPlaceParam, SearchQuery, SearchResponse, SearchSnippetResponse, SearchTotalResponse,
};
use clotho_core::clock::Time;
use clotho_core::ids::{CharacterId, NodeId, SessionId};
use clotho_search::{self as search, LocalNow, QueryError, SearchError, SearchResults, TreeCondition};
use clotho_store::{NodePosition, StoreReader};

/// Minimum number of hits read from the index at once.
const MIN_FETCH: usize = 32;
/// Maximum number of sessions and characters that a word in the query can match.
const MAX_NAMES: i64 = 10_000;
/// Maximum number of known value names listed for an unknown one.
const MAX_NAMED_KEYS: usize = 20;
/// UTC offsets of this many hours or more are invalid.
const MAX_OFFSET_HOURS: i32 = 17;

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
    hit: search::SearchHit,
    place: SearchHitPlace,
}

impl SearchTreeFilter {
    /// Returns the filters of the query text and of the other parameters.
    fn read(query: &SearchQuery, typed: &search::ParsedQuery) -> Result<Self, ApiError> {
        if query.rating.is_some_and(|stars| !(1..=5).contains(&stars)) {
            return Err(ApiError::invalid("rating", "1 to 5 stars are expected"));
        }
        let place = match query.place.unwrap_or(SearchPlaceParam::All) {
            SearchPlaceParam::All => None,
            SearchPlaceParam::Trunk => Some(search::TreeScope::Trunk),
            SearchPlaceParam::OffTrunk => Some(search::TreeScope::OtherBranch),
            SearchPlaceParam::Stash => Some(search::TreeScope::Stash),
        };
        let label = query.label.clone().map(search::TreeLocation::Label);
        let beside = place.map(search::TreeLocation::In).into_iter().chain(label);
        let beside = beside.map(|what| TreeCondition { negated: false, what });
        Ok(Self {
            conditions: typed.asks().iter().cloned().chain(beside).collect(),
            rating: query.rating.map(i16::from),
        })
    }

    fn is_empty(&self) -> bool {
        self.conditions.is_empty() && self.rating.is_none()
    }

    /// Returns the requested labels.
    fn labels(&self) -> Vec<String> {
        let label = |ask: &TreeCondition| {
            if let search::TreeLocation::Label(label) = &ask.what { Some(label.clone()) } else { None }
        };
        self.conditions.iter().filter_map(label).collect()
    }

    fn matches(&self, known: &SearchHitPlace) -> bool {
        let is_stashed = known.spot.fragment.is_some();
        let holds = |what: &search::TreeLocation| match what {
            search::TreeLocation::In(search::TreeScope::Trunk) => known.on_trunk,
            search::TreeLocation::In(search::TreeScope::OtherBranch) => !known.on_trunk && !is_stashed,
            search::TreeLocation::In(search::TreeScope::Stash) => is_stashed,
            search::TreeLocation::Label(label) => known.on_labels.contains(label),
        };
        let is_rated = self.rating.is_none() || known.spot.rating >= self.rating;
        is_rated && self.conditions.iter().all(|ask| holds(&ask.what) != ask.negated)
    }
}

/// Returns the matches with excerpts.
///
/// # Errors
/// Returns an error if the query is invalid or the index cannot be read.
pub async fn search(app: AppData, caller: Caller, query: QueryParams<SearchQuery>) -> ApiResult<SearchResponse> {
    let begun = Instant::now();
    let limit = usize::try_from(check_limit(query.0.limit, 50)?).unwrap_or(0);
    let mut typed = parse_query(&app, &query.0)?;
    let wanted = SearchTreeFilter::read(&query.0, &typed)?;
    resolve_names(&app, caller, &mut typed).await?;
    let request = build_request(caller, &query.0, resolve_query(&app, caller, typed).await?)?;
    let notes = request.query.notes().iter().map(Into::into).collect();
    let index = app.search.clone();
    let progress = index.progress();
    let found = tokio::task::spawn_blocking(move || index.find(&request)).await.map_err(ApiError::internal)?;
    let found = Arc::new(found);
    let newest = app.store.read::<_, ApiError, _>(|reader| Ok(reader.newest_cursor()?)).await?;
    let stale = progress.visible < newest;
    let (seen, total) = gather_hits(&app, caller, &found, &wanted, limit, stale).await?;
    let (seen, branches) = app.store.read(move |reader| branch_labels(reader, caller, seen)).await?;
    let show = move || seen.into_iter().map(|one| hit_response(&found, one, &branches)).collect();
    let items = tokio::task::spawn_blocking(show).await.map_err(ApiError::internal)?;
    let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    ApiResponse::ok(&SearchResponse { items, total, stale, rebuilding: progress.rebuild_percent(), notes, took_ms })
}

/// Resolves every name before a colon.
async fn resolve_query(
    app: &AppData,
    caller: Caller,
    mut typed: search::ParsedQuery,
) -> Result<search::ParsedQuery, ApiError> {
    let (index, rebuilt) = (app.search.clone(), app.search.progress().rebuild_percent());
    let settle = move || match index.resolve_names(caller.0, &mut typed)? {
        Ok(()) => Ok(Ok(typed)),
        Err(error) => index.keys(caller.0, MAX_NAMED_KEYS).map(|known| Err((error, known))),
    };
    let settled: Result<_, SearchError> = tokio::task::spawn_blocking(settle).await.map_err(ApiError::internal)?;
    settled?.map_err(|(error, known)| {
        let refusal = query_error(error).detail("known", known);
        match rebuilt {
            // The unknown name may only be missing from the index so far.
            Some(percent) => refusal.hint(format!("the search index is made anew, {percent} % are there: try again")),
            None => refusal,
        }
    })
}

/// Resolves the sessions and characters that the query names.
async fn resolve_names(app: &AppData, caller: Caller, typed: &mut search::ParsedQuery) -> Result<(), ApiError> {
    if typed.names_sessions() {
        let titles = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.titles(caller.0, MAX_NAMES)?)).await?;
        let titles: Vec<(SessionId, &str)> = titles.iter().map(|(id, title)| (*id, title.as_str())).collect();
        typed.resolve_sessions(&titles);
    }
    if typed.names_characters() {
        let cards =
            app.store.read::<_, ApiError, _>(move |reader| Ok(reader.characters(caller.0, 0, MAX_NAMES)?)).await?;
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
    caller: Caller,
    seen: Vec<SearchHitWithPlace>,
) -> Result<(Vec<SearchHitWithPlace>, HashMap<NodeId, String>), ApiError> {
    let mut sessions: HashMap<SessionId, Vec<NodePosition>> = HashMap::new();
    for one in seen.iter().filter(|one| one.place.spot.fragment.is_none()) {
        sessions.entry(one.hit.session).or_default().push(one.place.spot);
    }
    let mut named = HashMap::new();
    for (session, spots) in sessions {
        if let Some(held) = reader.session(caller.0, session)? {
            named.extend(reader.branch_names(&held, &spots)?);
        }
    }
    Ok((seen, named))
}

/// Collects hits in order until there are enough. The index knows neither places in the tree nor removed nodes, so it
/// reads as many hits as needed.
async fn gather_hits(
    app: &AppData,
    caller: Caller,
    found: &Arc<SearchResults>,
    wanted: &SearchTreeFilter,
    limit: usize,
    stale: bool,
) -> Result<(Vec<SearchHitWithPlace>, SearchTotalResponse), ApiError> {
    let (mut kept, mut offset, mut fetch, mut gone) = (Vec::new(), 0, limit.max(MIN_FETCH), 0);
    loop {
        let index = Arc::clone(found);
        let page = tokio::task::spawn_blocking(move || index.page(offset, fetch)).await;
        let page = page.map_err(ApiError::internal)??;
        let (total, read) = (page.total, page.hits.len());
        let labels = wanted.labels();
        let seen = app.store.read(move |reader| place_hits(reader, caller, page.hits, &labels)).await?;
        gone += read - seen.len();
        kept.extend(seen.into_iter().filter(|one| wanted.matches(&one.place)));
        offset += read;
        if read < fetch {
            let value = to_count(kept.len());
            kept.truncate(limit);
            return Ok((kept, SearchTotalResponse { value, exact: true }));
        }
        if kept.len() >= limit {
            // Of the remaining hits it is only known that the index has them.
            let (value, exact) = if wanted.is_empty() {
                (total.saturating_sub(to_count(gone)), gone == 0 && !stale)
            } else {
                (to_count(kept.len()), false)
            };
            kept.truncate(limit);
            return Ok((kept, SearchTotalResponse { value, exact }));
        }
        fetch *= 2;
    }
}

fn to_count(things: usize) -> u64 {
    u64::try_from(things).unwrap_or(u64::MAX)
}

/// Parses the query text. Without words, it matches everything that passes the filters.
fn parse_query(app: &AppData, query: &SearchQuery) -> Result<search::ParsedQuery, ApiError> {
    let ahead = query.zone.as_deref().map_or(Some(0), parse_offset_minutes);
    let ahead = ahead.ok_or_else(|| ApiError::invalid("zone", "an offset such as +02:00 or -05:30 is expected"))?;
    if query.q.trim().is_empty() && query.has_filters() {
        return Ok(search::ParsedQuery::match_all());
    }
    search::ParsedQuery::parse(&query.q, LocalNow { now: app.clock.now(), utc_offset_minutes: ahead })
        .map_err(query_error)
}

/// Returns the minutes of an offset such as `+02:00`.
fn parse_offset_minutes(zone: &str) -> Option<i32> {
    let (sign, rest) = match (zone.strip_prefix('+'), zone.strip_prefix('-')) {
        (Some(rest), _) => (1, rest),
        (_, Some(rest)) => (-1, rest),
        _ => return (zone == "Z").then_some(0),
    };
    let is_number = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = |text: &str| if is_number(text) { text.parse::<u8>().ok().map(i32::from) } else { None };
    let (hours, minutes) = rest.split_once(':')?;
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    (hours <= MAX_OFFSET_HOURS && minutes < 60).then_some(sign * (hours * 60 + minutes))
}

/// Returns the error for an invalid query, with its position.
fn query_error(error: QueryError) -> ApiError {
    let refusal = ApiError::invalid("q", error.to_string()).detail("at", error.at()).detail("length", error.length());
    refusal.detail("reason", error.word()).detail("what", error.what())
}

fn build_request(
    caller: Caller,
    query: &SearchQuery,
    typed: search::ParsedQuery,
) -> Result<search::SearchRequest, ApiError> {
    let mut request = search::SearchRequest::new(caller.0, typed);
    request.sort = query.sort.map(Into::into).unwrap_or_default();
    request.session = query.session.map(|id| id.0);
    request.character = query.character.map(|id| id.0);
    request.role = query.role.map(Into::into);
    request.after = query.after.as_deref().map(|text| parse_time("after", text)).transpose()?;
    request.before = query.before.as_deref().map(|text| parse_time("before", text)).transpose()?;
    Ok(request)
}

fn parse_time(field: &str, text: &str) -> Result<Time, ApiError> {
    let stamp: Result<jiff::Timestamp, _> = text.parse();
    let message = "a time in ISO 8601 is expected, such as 2026-11-21T04:05:06Z";
    stamp.map(|stamp| Time(stamp.as_millisecond())).map_err(|_| ApiError::invalid(field, message))
}

/// Adds the place in the tree to hits. Leaves out nodes that are no longer in the tree or not visible to the caller;
/// the index is filtered by owner, and the store checks again.
fn place_hits(
    reader: &mut StoreReader<'_>,
    caller: Caller,
    hits: Vec<search::SearchHit>,
    labels: &[String],
) -> Result<Vec<SearchHitWithPlace>, ApiError> {
    let mut sessions: HashMap<SessionId, Vec<NodeId>> = HashMap::new();
    for hit in &hits {
        sessions.entry(hit.session).or_default().push(hit.node);
    }
    let mut places: HashMap<NodeId, SearchHitPlace> = HashMap::new();
    for (session, ids) in sessions {
        let Some(held) = reader.session(caller.0, session)? else { continue };
        let spots = reader.node_positions(&held, &ids)?;
        let trunk = reader.positions_on_path(&held, held.session.head, &spots)?;
        let mut lines = Vec::new();
        for label in labels {
            if let Some(named) = reader.node_with_label(&held, label)? {
                lines.push((label, reader.positions_on_path(&held, named, &spots)?));
            }
        }
        for spot in spots {
            let on = lines.iter().filter(|(_, line)| line.contains(&spot.id)).map(|(label, _)| (*label).clone());
            let (on_trunk, on_labels) = (trunk.contains(&spot.id), on.collect());
            places.insert(
                spot.id,
                SearchHitPlace { spot, session_title: held.session.title.clone(), on_trunk, on_labels },
            );
        }
    }
    let seen = hits.into_iter().filter_map(|hit| {
        let known = places.get(&hit.node)?.clone();
        Some(SearchHitWithPlace { hit, place: known })
    });
    Ok(seen.collect())
}

fn hit_response(
    found: &SearchResults,
    seen: SearchHitWithPlace,
    branches: &HashMap<NodeId, String>,
) -> SearchHitResponse {
    let SearchHitWithPlace { hit, place: SearchHitPlace { spot, session_title, on_trunk, on_labels: _ } } = seen;
    let snippet = found.snippet(&hit);
    SearchHitResponse {
        session_id: WireId(hit.session),
        session_title,
        node_id: WireId(hit.node),
        role: hit.role.into(),
        name: Some(hit.name).filter(|name| !name.is_empty()),
        snippet: SearchSnippetResponse {
            text: snippet.text,
            marks: snippet.marks.iter().map(|(a, b)| [*a, *b]).collect(),
        },
        depth: spot.depth,
        on_trunk,
        branch: branches.get(&spot.id).cloned(),
        stashed: spot.fragment.is_some(),
        fragment_id: spot.fragment.map(WireId),
        rating: spot.rating,
        timestamp: hit.time.to_string(),
        score: hit.score,
    }
}

impl From<SearchError> for ApiError {
    fn from(error: SearchError) -> Self {
        let mut refusal = Self::new(ApiErrorCode::Unavailable, "the search index cannot be read at the moment");
        refusal.cause = Some(error.to_string());
        refusal
    }
}

#[cfg(test)]
mod tests {
    use super::parse_offset_minutes;

    #[test]
    fn search_zone_offset_parses_to_minutes() {
        for (zone, expected) in [("Z", 0), ("+00:00", 0), ("+02:00", 120), ("-05:30", -330), ("+17:59", 1_079)] {
            assert_eq!(parse_offset_minutes(zone), Some(expected), "{zone}");
        }
        for none in ["", "+2", "+2:00", "02:00", "+18:00", "+02:60", "+a2:00", "-05:3", "++1:00", "+灯:00"] {
            assert_eq!(parse_offset_minutes(none), None, "{none}");
        }
    }
}
