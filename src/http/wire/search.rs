//! Search over all branches.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::enums::Role;
use super::ids::{WireCharacterId, WireNodeId, WireSessionId};
use super::tree_edits::WireFragmentId;
use clotho_search as search;

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
    #[param(minimum = 1, maximum = 5)]
    pub rating: Option<u8>,
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
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
}

impl SearchQuery {
    /// Returns whether there is a filter besides words.
    pub fn has_filters(&self) -> bool {
        let by_fact = self.session.is_some() || self.character.is_some() || self.role.is_some();
        let by_place = self.place.is_some_and(|place| place != SearchPlaceParam::All) || self.label.is_some();
        by_fact || by_place || self.rating.is_some() || self.after.is_some() || self.before.is_some()
    }
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
    pub code: &'static str,
    /// Explanation for people.
    pub message: String,
    /// The unknown name.
    pub name: Option<String>,
}

impl From<&search::QueryNote> for SearchNoteResponse {
    fn from(note: &search::QueryNote) -> Self {
        Self { code: note.word(), message: note.to_string(), name: note.name().map(str::to_owned) }
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
    pub name: Option<String>,
    /// Excerpt that shows the match.
    pub snippet: SearchSnippetResponse,
    /// Number of edges from the root.
    pub depth: i32,
    /// Whether the node is on the path to HEAD.
    pub on_trunk: bool,
    /// Nearest label below the node; without one, the nearest above it.
    pub branch: Option<String>,
    /// Whether the node is in the stash.
    pub stashed: bool,
    /// Fragment that contains the node, if it is in the stash.
    #[schema(value_type = Option<String>)]
    pub fragment_id: Option<WireFragmentId>,
    /// Rating, 1 to 5 stars; null if unrated.
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
    pub marks: Vec<[usize; 2]>,
}
