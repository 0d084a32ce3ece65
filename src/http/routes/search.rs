//! Searching over all branches.

use std::collections::HashMap;
use std::sync::Arc;
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
use crate::ids::{NodeId, SessionId};
use crate::search::{self, Found, SearchError};
use crate::store::{Reader, Spot};

/// So many hits are read from the index at once, at least.
const FEWEST: usize = 32;

/// What is asked of a hit that only the tree knows.
#[derive(Clone)]
struct Wanted {
    place: Place,
    label: Option<String>,
    rating: Option<i16>,
}

/// What the tree knows of a node.
#[derive(Clone)]
struct Known {
    spot: Spot,
    session_title: String,
    on_trunk: bool,
    /// Whether it lies on the line to the label that was asked for.
    on_label: bool,
}

/// A hit of the index and what the tree knows of it.
struct Seen {
    hit: search::Hit,
    known: Known,
}

impl Wanted {
    fn read(query: &SearchQuery) -> Result<Self, ApiError> {
        if query.rating.is_some_and(|stars| !(1..=5).contains(&stars)) {
            return Err(ApiError::invalid("rating", "1 to 5 stars are expected"));
        }
        let place = query.place.unwrap_or(Place::All);
        Ok(Self { place, label: query.label.clone(), rating: query.rating.map(i16::from) })
    }

    fn is_anything(&self) -> bool {
        self.place == Place::All && self.label.is_none() && self.rating.is_none()
    }

    fn fits(&self, known: &Known) -> bool {
        let is_stashed = known.spot.fragment.is_some();
        let is_there = match self.place {
            Place::All => true,
            Place::Trunk => known.on_trunk,
            Place::OffTrunk => !known.on_trunk && !is_stashed,
            Place::Stash => is_stashed,
        };
        let is_on_label = self.label.is_none() || known.on_label;
        is_there && is_on_label && (self.rating.is_none() || known.spot.rating >= self.rating)
    }
}

/// What is found, with the piece that shows why.
///
/// # Errors
/// The query is none, or the index cannot be read.
pub async fn search(app: Program, caller: Caller, query: Query<SearchQuery>) -> Answer<SearchAnswer> {
    let begun = Instant::now();
    let limit = usize::try_from(limit(query.0.limit, 50)?).unwrap_or(0);
    let request = request(caller, &query.0)?;
    let wanted = Wanted::read(&query.0)?;
    let index = app.search.clone();
    let visible = index.progress().visible;
    let found = tokio::task::spawn_blocking(move || index.find(&request)).await.map_err(ApiError::internal)?;
    let found = Arc::new(found);
    let newest = app.store.read::<_, ApiError, _>(|reader| Ok(reader.newest_cursor()?)).await?;
    let stale = visible < newest;
    let (seen, total) = gather(&app, caller, &found, &wanted, limit, stale).await?;
    let show = move || seen.into_iter().map(|one| shape(&found, one)).collect();
    let items = tokio::task::spawn_blocking(show).await.map_err(ApiError::internal)?;
    let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    Reply::ok(&SearchAnswer { items, total, stale, took_ms })
}

/// Hits in their order until there are enough of them: the index knows neither the place in the tree nor what left it since,
/// so as many are looked at as it takes.
async fn gather(
    app: &Program,
    caller: Caller,
    found: &Arc<Found>,
    wanted: &Wanted,
    limit: usize,
    stale: bool,
) -> Result<(Vec<Seen>, Total), ApiError> {
    let (mut kept, mut offset, mut fetch, mut gone) = (Vec::new(), 0, limit.max(FEWEST), 0);
    loop {
        let index = Arc::clone(found);
        let page = tokio::task::spawn_blocking(move || index.page(offset, fetch)).await;
        let page = page.map_err(ApiError::internal)??;
        let (total, read) = (page.total, page.hits.len());
        let label = wanted.label.clone();
        let seen = app.store.read(move |reader| seen(reader, caller, page.hits, label.as_deref())).await?;
        gone += read - seen.len();
        kept.extend(seen.into_iter().filter(|one| wanted.fits(&one.known)));
        offset += read;
        if read < fetch {
            let value = count(kept.len());
            kept.truncate(limit);
            return Ok((kept, Total { value, exact: true }));
        }
        if kept.len() >= limit {
            // Of what comes after these it is only known that the index has it.
            let (value, exact) = if wanted.is_anything() {
                (total.saturating_sub(count(gone)), gone == 0 && !stale)
            } else {
                (count(kept.len()), false)
            };
            kept.truncate(limit);
            return Ok((kept, Total { value, exact }));
        }
        fetch *= 2;
    }
}

fn count(things: usize) -> u64 {
    u64::try_from(things).unwrap_or(u64::MAX)
}

fn request(caller: Caller, query: &SearchQuery) -> Result<search::Request, ApiError> {
    let parsed = if query.q.trim().is_empty() && query.is_narrowed() {
        search::Query::everything()
    } else {
        search::Query::parse(&query.q).map_err(|error| {
            let refusal = ApiError::invalid("q", error.to_string());
            error.at().into_iter().fold(refusal, |refusal, at| refusal.detail("at", at))
        })?
    };
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

/// What the tree knows of hits. What the index still has and the tree has no more is left out, and so is what the caller may
/// not see: the index is asked for the caller's own, and the store is asked again.
fn seen(
    reader: &mut Reader<'_>,
    caller: Caller,
    hits: Vec<search::Hit>,
    label: Option<&str>,
) -> Result<Vec<Seen>, ApiError> {
    let mut sessions: HashMap<SessionId, Vec<NodeId>> = HashMap::new();
    for hit in &hits {
        sessions.entry(hit.session).or_default().push(hit.node);
    }
    let mut places: HashMap<NodeId, Known> = HashMap::new();
    for (session, ids) in sessions {
        let Some(held) = reader.session(caller.0, session)? else { continue };
        let spots = reader.spots(&held, &ids)?;
        let trunk = reader.on_path(&held, held.session.head, &spots)?;
        let named = label.map(|label| reader.labelled(&held, label)).transpose()?.flatten();
        let line = named.map(|named| reader.on_path(&held, named, &spots)).transpose()?.unwrap_or_default();
        for spot in spots {
            let (on_trunk, on_label) = (trunk.contains(&spot.id), line.contains(&spot.id));
            places.insert(spot.id, Known { spot, session_title: held.session.title.clone(), on_trunk, on_label });
        }
    }
    let seen = hits.into_iter().filter_map(|hit| {
        let known = places.get(&hit.node)?.clone();
        Some(Seen { hit, known })
    });
    Ok(seen.collect())
}

fn shape(found: &Found, seen: Seen) -> Hit {
    let Seen { hit, known: Known { spot, session_title, on_trunk, on_label: _ } } = seen;
    let snippet = found.snippet(&hit);
    Hit {
        session_id: Id(hit.session),
        session_title,
        node_id: Id(hit.node),
        role: hit.role.into(),
        name: Some(hit.name).filter(|name| !name.is_empty()),
        snippet: Snippet { text: snippet.text, marks: snippet.marks.iter().map(|(a, b)| [*a, *b]).collect() },
        depth: spot.depth,
        on_trunk,
        stashed: spot.fragment.is_some(),
        fragment_id: spot.fragment.map(Id),
        rating: spot.rating,
        timestamp: hit.time.to_string(),
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
