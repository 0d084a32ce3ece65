//! Searching over all branches.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value};

use super::Program;
use crate::clock::Time;
use crate::http::answer::{Answer, Reply};
use crate::http::caller::Caller;
use crate::http::error::{ApiError, Code};
use crate::http::query::Query;
use crate::http::wire::ids::Id;
use crate::http::wire::limit;
use crate::http::wire::search::{Hit, Place, SearchAnswer, SearchQuery, Snippet, Total};
use crate::ids::{CharacterId, NodeId, SessionId};
use crate::search::{self, Ask, Found, QueryError, SearchError, Today};
use crate::store::{Reader, Spot};

/// So many hits are read from the index at once, at least.
const FEWEST: usize = 32;
/// So many stories and characters may be meant by a word in the search.
const NAMES_MAX: i64 = 10_000;
/// So many names of values are told to who asks for one that there is not.
const KEYS_NAMED: usize = 20;
/// Nobody's clock is so many hours and more from UTC.
const HOURS_MAX: i32 = 17;

/// What is asked of a hit that only the tree knows.
#[derive(Clone)]
struct Wanted {
    asks: Vec<Ask>,
    rating: Option<i16>,
}

/// What the tree knows of a node.
#[derive(Clone)]
struct Known {
    spot: Spot,
    session_title: String,
    on_trunk: bool,
    /// Of the names that were asked for, those to which its line leads.
    on_labels: Vec<String>,
}

/// A hit of the index and what the tree knows of it.
struct Seen {
    hit: search::Hit,
    known: Known,
}

impl Wanted {
    /// What the search itself asks for, and what stands beside it.
    fn read(query: &SearchQuery, typed: &search::Query) -> Result<Self, ApiError> {
        if query.rating.is_some_and(|stars| !(1..=5).contains(&stars)) {
            return Err(ApiError::invalid("rating", "1 to 5 stars are expected"));
        }
        let place = match query.place.unwrap_or(Place::All) {
            Place::All => None,
            Place::Trunk => Some(search::Place::Trunk),
            Place::OffTrunk => Some(search::Place::OffTrunk),
            Place::Stash => Some(search::Place::Stash),
        };
        let label = query.label.clone().map(search::Spot::Label);
        let beside = place.map(search::Spot::In).into_iter().chain(label);
        let beside = beside.map(|what| Ask { unwanted: false, what });
        Ok(Self { asks: typed.asks().iter().cloned().chain(beside).collect(), rating: query.rating.map(i16::from) })
    }

    fn is_anything(&self) -> bool {
        self.asks.is_empty() && self.rating.is_none()
    }

    /// The names that are asked for.
    fn labels(&self) -> Vec<String> {
        let label = |ask: &Ask| if let search::Spot::Label(label) = &ask.what { Some(label.clone()) } else { None };
        self.asks.iter().filter_map(label).collect()
    }

    fn fits(&self, known: &Known) -> bool {
        let is_stashed = known.spot.fragment.is_some();
        let holds = |what: &search::Spot| match what {
            search::Spot::In(search::Place::Trunk) => known.on_trunk,
            search::Spot::In(search::Place::OffTrunk) => !known.on_trunk && !is_stashed,
            search::Spot::In(search::Place::Stash) => is_stashed,
            search::Spot::Label(label) => known.on_labels.contains(label),
        };
        let is_rated = self.rating.is_none() || known.spot.rating >= self.rating;
        is_rated && self.asks.iter().all(|ask| holds(&ask.what) != ask.unwanted)
    }
}

/// What is found, with the piece that shows why.
///
/// # Errors
/// The query is none, or the index cannot be read.
pub async fn search(app: Program, caller: Caller, query: Query<SearchQuery>) -> Answer<SearchAnswer> {
    let begun = Instant::now();
    let limit = usize::try_from(limit(query.0.limit, 50)?).unwrap_or(0);
    let mut typed = typed(&app, &query.0)?;
    let wanted = Wanted::read(&query.0, &typed)?;
    name(&app, caller, &mut typed).await?;
    let request = request(caller, &query.0, settled(&app, caller, typed).await?)?;
    let notes = request.query.notes().iter().map(Into::into).collect();
    let index = app.search.clone();
    let progress = index.progress();
    let found = tokio::task::spawn_blocking(move || index.find(&request)).await.map_err(ApiError::internal)?;
    let found = Arc::new(found);
    let newest = app.store.read::<_, ApiError, _>(|reader| Ok(reader.newest_cursor()?)).await?;
    let stale = progress.visible < newest;
    let (seen, total) = gather(&app, caller, &found, &wanted, limit, stale).await?;
    let (seen, branches) = app.store.read(move |reader| branches(reader, caller, seen)).await?;
    let show = move || seen.into_iter().map(|one| shape(&found, one, &branches)).collect();
    let items = tokio::task::spawn_blocking(show).await.map_err(ApiError::internal)?;
    let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    Reply::ok(&SearchAnswer { items, total, stale, rebuilding: progress.rebuilt(), notes, took_ms })
}

/// The search with every name before a colon decided.
async fn settled(app: &Program, caller: Caller, mut typed: search::Query) -> Result<search::Query, ApiError> {
    let (index, rebuilt) = (app.search.clone(), app.search.progress().rebuilt());
    let settle = move || match index.settle(caller.0, &mut typed)? {
        Ok(()) => Ok(Ok(typed)),
        Err(error) => index.keys(caller.0, KEYS_NAMED).map(|known| Err((error, known))),
    };
    let settled: Result<_, SearchError> = tokio::task::spawn_blocking(settle).await.map_err(ApiError::internal)?;
    settled?.map_err(|(error, known)| {
        let refusal = not_a_search(error).detail("known", known);
        match rebuilt {
            // What is not in the index yet may only seem not to be there.
            Some(percent) => refusal.hint(format!("the search index is made anew, {percent} % are there: try again")),
            None => refusal,
        }
    })
}

/// Names the stories and characters that the search has words for.
async fn name(app: &Program, caller: Caller, typed: &mut search::Query) -> Result<(), ApiError> {
    if typed.names_sessions() {
        let titles = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.titles(caller.0, NAMES_MAX)?)).await?;
        let titles: Vec<(SessionId, &str)> = titles.iter().map(|(id, title)| (*id, title.as_str())).collect();
        typed.name_sessions(&titles);
    }
    if typed.names_characters() {
        let cards =
            app.store.read::<_, ApiError, _>(move |reader| Ok(reader.characters(caller.0, 0, NAMES_MAX)?)).await?;
        let name =
            |card: &'_ Map<String, Value>| card.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let names: Vec<(CharacterId, String)> = cards.iter().map(|card| (card.id, name(&card.card))).collect();
        let names: Vec<(CharacterId, &str)> = names.iter().map(|(id, name)| (*id, name.as_str())).collect();
        typed.name_characters(&names);
    }
    Ok(())
}

/// The names of the branches on which hits lie.
fn branches(
    reader: &mut Reader<'_>,
    caller: Caller,
    seen: Vec<Seen>,
) -> Result<(Vec<Seen>, HashMap<NodeId, String>), ApiError> {
    let mut sessions: HashMap<SessionId, Vec<Spot>> = HashMap::new();
    for one in seen.iter().filter(|one| one.known.spot.fragment.is_none()) {
        sessions.entry(one.hit.session).or_default().push(one.known.spot);
    }
    let mut named = HashMap::new();
    for (session, spots) in sessions {
        if let Some(held) = reader.session(caller.0, session)? {
            named.extend(reader.branches_of(&held, &spots)?);
        }
    }
    Ok((seen, named))
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
        let labels = wanted.labels();
        let seen = app.store.read(move |reader| seen(reader, caller, page.hits, &labels)).await?;
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

/// What was typed. Without words everything is looked for that the rest leaves.
fn typed(app: &Program, query: &SearchQuery) -> Result<search::Query, ApiError> {
    let ahead = query.zone.as_deref().map_or(Some(0), minutes);
    let ahead = ahead.ok_or_else(|| ApiError::invalid("zone", "an offset such as +02:00 or -05:30 is expected"))?;
    if query.q.trim().is_empty() && query.is_narrowed() {
        return Ok(search::Query::everything());
    }
    search::Query::parse(&query.q, Today { now: app.clock.now(), ahead }).map_err(not_a_search)
}

/// The minutes of an offset such as `+02:00`.
fn minutes(zone: &str) -> Option<i32> {
    let (sign, rest) = match (zone.strip_prefix('+'), zone.strip_prefix('-')) {
        (Some(rest), _) => (1, rest),
        (_, Some(rest)) => (-1, rest),
        _ => return (zone == "Z").then_some(0),
    };
    let is_number = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = |text: &str| if is_number(text) { text.parse::<u8>().ok().map(i32::from) } else { None };
    let (hours, minutes) = rest.split_once(':')?;
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    (hours <= HOURS_MAX && minutes < 60).then_some(sign * (hours * 60 + minutes))
}

/// What is wrong with a search, with its place.
fn not_a_search(error: QueryError) -> ApiError {
    let refusal = ApiError::invalid("q", error.to_string()).detail("at", error.at()).detail("length", error.length());
    refusal.detail("reason", error.word()).detail("what", error.what())
}

fn request(caller: Caller, query: &SearchQuery, typed: search::Query) -> Result<search::Request, ApiError> {
    let mut request = search::Request::new(caller.0, typed);
    request.sort = query.sort.map(Into::into).unwrap_or_default();
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
    labels: &[String],
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
        let mut lines = Vec::new();
        for label in labels {
            if let Some(named) = reader.labelled(&held, label)? {
                lines.push((label, reader.on_path(&held, named, &spots)?));
            }
        }
        for spot in spots {
            let on = lines.iter().filter(|(_, line)| line.contains(&spot.id)).map(|(label, _)| (*label).clone());
            let (on_trunk, on_labels) = (trunk.contains(&spot.id), on.collect());
            places.insert(spot.id, Known { spot, session_title: held.session.title.clone(), on_trunk, on_labels });
        }
    }
    let seen = hits.into_iter().filter_map(|hit| {
        let known = places.get(&hit.node)?.clone();
        Some(Seen { hit, known })
    });
    Ok(seen.collect())
}

fn shape(found: &Found, seen: Seen, branches: &HashMap<NodeId, String>) -> Hit {
    let Seen { hit, known: Known { spot, session_title, on_trunk, on_labels: _ } } = seen;
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
        branch: branches.get(&spot.id).cloned(),
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

#[cfg(test)]
mod tests {
    use super::minutes;

    #[test]
    fn offsets_are_read() {
        for (zone, expected) in [("Z", 0), ("+00:00", 0), ("+02:00", 120), ("-05:30", -330), ("+17:59", 1_079)] {
            assert_eq!(minutes(zone), Some(expected), "{zone}");
        }
        for none in ["", "+2", "+2:00", "02:00", "+18:00", "+02:60", "+a2:00", "-05:3", "++1:00", "+灯:00"] {
            assert_eq!(minutes(none), None, "{none}");
        }
    }
}
