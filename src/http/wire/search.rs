//! Search over all branches.

use serde::{Deserialize, Serialize};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, ArrayItems, ObjectBuilder, Schema, Type};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use super::enums::Role;
use super::ids::{WireCharacterId, WireId, WireNodeId, WireSessionId};
use super::limit_or;
use super::query_number::{PageLimit, QueryNumber};
use super::string_enums::SearchNoteEnum;
use super::tree_edits::WireFragmentId;
use crate::http::error::ApiError;
use clotho_core::clock::Time;
use clotho_queries::search::{MessageMatch, MessageMatches, MessageSearch};
use clotho_search as search;

/// UTC offsets of this many hours or more are invalid.
const MAX_OFFSET_HOURS: i32 = 17;

/// The query and the filters of a search.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct SearchQuery {
    /// Words, `"phrases"`, `begin*`, `slip~`, `-not`, `AND`, `OR`, parentheses; `role:user`, `name:Rin`,
    /// `session:Tower`, `character:Rin`, `label:name`, `in:trunk`, `in:off-trunk`, `in:stash`, `after:2026-11-01`,
    /// `before:`, `on:`; values of the state such as `hp:<20`, `hp:5..10`, `place:tower`. May be empty if another
    /// filter is set; then all matches are returned, newest first.
    #[param(required = false)]
    pub q: String,
    /// Only in this session.
    #[param(value_type = Option<String>)]
    pub session: Option<WireSessionId>,
    /// Only messages of this character.
    #[param(value_type = Option<String>)]
    pub character: Option<WireCharacterId>,
    /// Only messages of this role.
    #[param(inline)]
    pub role: Option<Role>,
    /// Part of the tree to search; default `all`.
    #[serde(rename = "where")]
    #[param(inline)]
    pub place: Option<SearchPlaceParam>,
    /// Only on the path from the root to the node with this label.
    pub label: Option<String>,
    /// Minimum rating, 1 to 5 stars.
    #[param(minimum = 1, maximum = 5, value_type = Option<u8>)]
    pub rating: Option<QueryNumber<1, 5>>,
    /// Only at or after this time, ISO 8601.
    pub after: Option<String>,
    /// Only before this time, ISO 8601.
    pub before: Option<String>,
    /// Order of the results; default `relevance`.
    #[param(inline)]
    pub sort: Option<SearchSortParam>,
    /// UTC offset of the caller, such as `+02:00` or `-05:30`, used for dates in `q`.
    pub zone: Option<String>,
    /// Maximum number of results, 1 to 500; default 50.
    #[param(minimum = 1, maximum = 500, value_type = Option<u32>)]
    pub limit: Option<PageLimit>,
}

impl SearchQuery {
    /// Returns what to search for.
    ///
    /// # Errors
    /// Returns an error that names the invalid field.
    pub fn read(self) -> Result<MessageSearch, ApiError> {
        let limit = usize::try_from(limit_or(self.limit, 50)).unwrap_or(0);
        let ahead = self.zone.as_deref().map_or(Some(0), parse_offset_minutes);
        let ahead = ahead.ok_or_else(|| ApiError::invalid("zone", "expected an offset such as +02:00 or -05:30"))?;
        Ok(MessageSearch {
            text: self.q,
            utc_offset_minutes: ahead,
            session: self.session.map(|id| id.0),
            character: self.character.map(|id| id.0),
            role: self.role.map(Into::into),
            scope: self.place.and_then(SearchPlaceParam::scope),
            label: self.label,
            rating: self.rating.and_then(|stars| i16::try_from(stars.get()).ok()),
            after: self.after.as_deref().map(|text| parse_time("after", text)).transpose()?,
            before: self.before.as_deref().map(|text| parse_time("before", text)).transpose()?,
            sort: self.sort.map(Into::into).unwrap_or_default(),
            limit,
        })
    }
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

fn parse_time(field: &str, text: &str) -> Result<Time, ApiError> {
    let stamp: Result<jiff::Timestamp, _> = text.parse();
    let message = "expected a time in ISO 8601, such as 2026-11-21T04:05:06Z";
    stamp.map(|stamp| Time(stamp.as_millisecond())).map_err(|_| ApiError::invalid(field, message))
}

/// The part of a tree to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SearchPlaceParam {
    /// On the path to HEAD.
    Trunk,
    /// Elsewhere in the tree.
    OffTrunk,
    /// In the stash.
    Stash,
    /// Everywhere.
    All,
}

impl SearchPlaceParam {
    /// Returns the part of the tree; `None` for all of it.
    const fn scope(self) -> Option<search::TreeScope> {
        match self {
            Self::Trunk => Some(search::TreeScope::Trunk),
            Self::OffTrunk => Some(search::TreeScope::OtherBranch),
            Self::Stash => Some(search::TreeScope::Stash),
            Self::All => None,
        }
    }
}

/// The order of search results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SearchSortParam {
    /// Best match first; equal matches newest first.
    Relevance,
    /// Newest first.
    Newest,
    /// Oldest first.
    Oldest,
}

impl From<SearchSortParam> for search::SearchSort {
    fn from(sort: SearchSortParam) -> Self {
        match sort {
            SearchSortParam::Relevance => Self::Best,
            SearchSortParam::Newest => Self::Newest,
            SearchSortParam::Oldest => Self::Oldest,
        }
    }
}

/// Search results.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SearchAnswer)]
pub struct SearchResponse {
    /// Results in the requested order.
    pub items: Vec<SearchHitResponse>,
    /// Total number of matches.
    pub total: SearchTotalResponse,
    /// Whether the index lags behind the newest writes.
    pub stale: bool,
    /// Progress of an index rebuild in percent; null if none is running. Messages not yet indexed are not found.
    #[schema(required)]
    pub rebuilding: Option<u8>,
    /// Hints about the query: it was cut, has no word, or names something unknown.
    pub notes: Vec<SearchNoteResponse>,
    /// Duration in milliseconds.
    pub took_ms: u64,
}

/// A hint about the query.
#[derive(Debug, Serialize, ToSchema)]
pub struct SearchNoteResponse {
    /// `no_word`, `cut`, `no_session` or `no_character`.
    #[schema(value_type = SearchNoteEnum)]
    pub code: &'static str,
    /// Explanation for people.
    pub message: String,
    /// The unknown name.
    #[schema(required)]
    pub name: Option<String>,
}

impl From<&search::QueryNote> for SearchNoteResponse {
    fn from(note: &search::QueryNote) -> Self {
        Self { code: note.code(), message: note.to_string(), name: note.name().map(str::to_owned) }
    }
}

/// The total number of matches.
#[derive(Debug, Serialize, ToSchema)]
pub struct SearchTotalResponse {
    /// Number of matches.
    pub value: u64,
    /// Whether `value` is exact; otherwise it is a minimum.
    pub exact: bool,
}

/// One search result.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Hit)]
pub struct SearchHitResponse {
    /// Id of the session.
    pub session_id: WireSessionId,
    /// Title of the session.
    pub session_title: String,
    /// Id of the node.
    pub node_id: WireNodeId,
    /// Role of the message.
    pub role: Role,
    /// Name of the speaker.
    #[schema(required)]
    pub name: Option<String>,
    /// Excerpt that shows the match.
    pub snippet: SearchSnippetResponse,
    /// Number of edges from the root.
    pub depth: i32,
    /// Whether the node is on the path to HEAD.
    pub on_trunk: bool,
    /// Nearest label below the node; without one, the nearest above it.
    #[schema(required)]
    pub branch: Option<String>,
    /// Whether the node is in the stash.
    pub stashed: bool,
    /// Fragment that contains the node, if it is in the stash.
    #[schema(required, value_type = Option<String>)]
    pub fragment_id: Option<WireFragmentId>,
    /// Rating, 1 to 5 stars; null if unrated.
    #[schema(required)]
    pub rating: Option<i16>,
    /// Creation time, ISO 8601 UTC.
    pub timestamp: String,
    /// Relevance; only comparable within this answer, and meaningless when sorted by time.
    pub score: f32,
}

/// An excerpt with highlighted matches.
#[derive(Debug, Serialize, ToSchema)]
pub struct SearchSnippetResponse {
    /// The excerpt on one line.
    pub text: String,
    /// Matches as ranges `[start, end)` in UTF-16 code units.
    #[schema(value_type = Vec<SnippetMark>)]
    pub marks: Vec<[usize; 2]>,
}

/// The schema of one range `[start, end)`.
#[derive(Debug)]
pub struct SnippetMark;

impl PartialSchema for SnippetMark {
    fn schema() -> RefOr<Schema> {
        let bound = || Schema::Object(ObjectBuilder::new().schema_type(Type::Integer).build());
        ArrayBuilder::new()
            .prefix_items([bound(), bound()])
            .items(ArrayItems::False)
            .description(Some("Start and end of a match"))
            .into()
    }
}

impl ToSchema for SnippetMark {}

impl SearchResponse {
    /// Describes the matches of a search that took so long.
    pub fn new(found: MessageMatches, took_ms: u64) -> Self {
        Self {
            items: found.items.into_iter().map(SearchHitResponse::from).collect(),
            total: SearchTotalResponse { value: found.total, exact: found.is_exact },
            stale: found.is_stale,
            rebuilding: found.rebuilding,
            notes: found.notes.iter().map(Into::into).collect(),
            took_ms,
        }
    }
}

impl From<MessageMatch> for SearchHitResponse {
    fn from(found: MessageMatch) -> Self {
        let MessageMatch { hit, snippet, position, session_title, is_on_current_branch, branch } = found;
        Self {
            session_id: WireId(hit.session),
            session_title,
            node_id: WireId(hit.node),
            role: hit.role.into(),
            name: Some(hit.name).filter(|name| !name.is_empty()),
            snippet: SearchSnippetResponse {
                text: snippet.text,
                marks: snippet.marks.iter().map(|(a, b)| [*a, *b]).collect(),
            },
            depth: position.depth,
            on_trunk: is_on_current_branch,
            branch,
            stashed: position.fragment.is_some(),
            fragment_id: position.fragment.map(WireId),
            rating: position.rating,
            timestamp: hit.time.to_string(),
            score: hit.score,
        }
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
