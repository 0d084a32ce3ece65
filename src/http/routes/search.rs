//! Searching over all branches.

use std::collections::HashMap;
use std::time::Instant;

use super::Program;
use crate::clock::Time;
use crate::http::answer::{Answer, Reply};
use crate::http::caller::Caller;
use crate::http::error::{ApiError, Code};
use crate::http::query::Query;
use crate::http::wire::ids::Id;
use crate::http::wire::limit;
use crate::http::wire::search::{Hit, Place, SearchAnswer, SearchQuery, Snippet, Total};
use crate::ids::SessionId;
use crate::search::{self, Found, SearchError};
use crate::store::{Held, Placed, Reader};

/// So many hits are looked at when the place in the tree counts, which the index does not know.
const LOOKED_AT: usize = 2_000;

/// A hit of the index with its snippet.
type Piece = (search::Hit, search::Snippet);

/// What is found, with the piece that shows why.
///
/// # Errors
/// The query is none, or the index cannot be read.
pub async fn search(app: Program, caller: Caller, query: Query<SearchQuery>) -> Answer<SearchAnswer> {
    let begun = Instant::now();
    let limit = usize::try_from(limit(query.0.limit, 50)?).unwrap_or(0);
    let request = request(caller, &query.0)?;
    let place = query.0.place.unwrap_or(Place::All);
    let index = app.search.clone();
    let wanted = if place == Place::All { limit } else { LOOKED_AT };
    let found = tokio::task::spawn_blocking(move || hits(&index.find(&request), wanted)).await;
    let (pieces, total) = found.map_err(ApiError::internal)??;
    let all_seen = u64::try_from(pieces.len()).is_ok_and(|seen| seen == total);
    let visible = app.search.progress().visible;
    let read = move |reader: &mut Reader<'_>| {
        let newest = reader.newest_cursor()?;
        Ok::<_, ApiError>((dress(reader, caller, pieces, place)?, newest))
    };
    let (mut items, newest) = app.store.read(read).await?;
    let total = match place {
        Place::All => Total { value: total, exact: true },
        _ => Total { value: u64::try_from(items.len()).unwrap_or(0), exact: all_seen },
    };
    items.truncate(limit);
    let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    Reply::ok(&SearchAnswer { items, total, stale: visible < newest, took_ms })
}

fn request(caller: Caller, query: &SearchQuery) -> Result<search::Request, ApiError> {
    let parsed = search::Query::parse(&query.q).map_err(|error| {
        let refusal = ApiError::invalid("q", error.to_string());
        error.at().into_iter().fold(refusal, |refusal, at| refusal.detail("at", at))
    })?;
    let mut request = search::Request::new(caller.0, parsed);
    request.session = query.session.map(|id| id.0);
    request.character = query.character.map(|id| id.0);
    request.role = query.role.map(Into::into);
    request.after = query.after.as_deref().map(|text| time("after", text)).transpose()?;
    request.before = query.before.as_deref().map(|text| time("before", text)).transpose()?;
    Ok(request)
}

fn time(field: &str, text: &str) -> Result<Time, ApiError> {
    let stamp: Result<jiff::Timestamp, _> = text.parse();
    let message = "a time in ISO 8601 is expected, such as 2026-11-21T04:05:06Z";
    stamp.map(|stamp| Time(stamp.as_millisecond())).map_err(|_| ApiError::invalid(field, message))
}

fn hits(found: &Found, wanted: usize) -> Result<(Vec<Piece>, u64), ApiError> {
    let page = found.page(0, wanted)?;
    let pieces = page.hits.into_iter().map(|hit| (hit.clone(), found.snippet(&hit))).collect();
    Ok((pieces, page.total))
}

/// Hits with what the tree knows of them. What the index still has and the tree has no more is left out, and so is what
/// the caller may not see: the index is asked for the caller's own, and the store is asked again.
fn dress(reader: &mut Reader<'_>, caller: Caller, pieces: Vec<Piece>, place: Place) -> Result<Vec<Hit>, ApiError> {
    let mut sessions: HashMap<SessionId, Option<Held>> = HashMap::new();
    let mut placed: Vec<(Piece, Placed)> = Vec::new();
    for piece in pieces {
        let session = piece.0.session;
        if let std::collections::hash_map::Entry::Vacant(slot) = sessions.entry(session) {
            slot.insert(reader.session(caller.0, session)?);
        }
        let Some(Some(held)) = sessions.get(&session) else { continue };
        if let Some(at) = reader.node(held, piece.0.node)? {
            placed.push((piece, at));
        }
    }
    let mut trunks: HashMap<SessionId, std::collections::HashSet<i64>> = HashMap::new();
    for (id, held) in sessions.iter().filter_map(|(id, held)| Some((id, held.as_ref()?))) {
        let here: Vec<&Placed> = placed.iter().filter(|((hit, _), _)| hit.session == *id).map(|(_, at)| at).collect();
        trunks.insert(*id, reader.on_path(held, held.session.head, &here)?);
    }
    let mut items = Vec::new();
    for ((hit, snippet), at) in placed {
        let Some(Some(held)) = sessions.get(&hit.session) else { continue };
        let on_trunk = trunks.get(&hit.session).is_some_and(|trunk| trunk.contains(&at.n));
        let fits = match place {
            Place::All => true,
            Place::Trunk => on_trunk,
            Place::OffTrunk => !on_trunk,
            Place::Stash => false,
        };
        if fits {
            items.push(shape(&hit, snippet, held, &at, on_trunk));
        }
    }
    Ok(items)
}

fn shape(hit: &search::Hit, snippet: search::Snippet, held: &Held, at: &Placed, on_trunk: bool) -> Hit {
    Hit {
        session_id: Id(hit.session),
        session_title: held.session.title.clone(),
        node_id: Id(hit.node),
        role: hit.role.into(),
        name: at.node.name.clone(),
        snippet: Snippet { text: snippet.text, marks: snippet.marks.iter().map(|(a, b)| [*a, *b]).collect() },
        depth: at.node.depth,
        on_trunk,
        timestamp: at.node.created.to_string(),
        score: hit.score,
    }
}

impl From<SearchError> for ApiError {
    fn from(error: SearchError) -> Self {
        let mut refusal = Self::new(Code::Unavailable, "the search index cannot be read at the moment");
        refusal.cause = Some(error.to_string());
        refusal
    }
}
