//! Searching over all branches.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::enums::Role;
use super::ids::{WireCharacterId, WireNodeId, WireSessionId};
use super::tree_edits::WireFragmentId;
use clotho_search as search;

/// What to look for, and where.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct SearchQuery {
    /// Words, `"phrases"`, `begin*`, `slip~`, `-not`, `AND`, `OR`, brackets; `role:user`, `name:Rin`, `session:Tower`,
    /// `character:Rin`, `label:name`, `in:trunk`, `in:off-trunk`, `in:stash`, `after:2026-11-01`, `before:`, `on:`; values of the
    /// world such as `hp:<20`, `hp:5..10`, `place:tower`. Where something else narrows the search there need be none: then all
    /// that fits is found, the newest first.
    #[param(required = false)]
    pub q: String,
    /// Only in this session.
    #[param(value_type = Option<String>)]
    pub session: Option<WireSessionId>,
    /// Only what this character says.
    #[param(value_type = Option<String>)]
    pub character: Option<WireCharacterId>,
    /// Only what this role says.
    #[param(inline)]
    pub role: Option<Role>,
    /// Only on the line that leads to HEAD, only elsewhere in the tree, or only in the stash; `all` unless said.
    #[serde(rename = "where")]
    #[param(inline)]
    pub place: Option<SearchPlaceParam>,
    /// Only on the line from the root to the message of this name.
    pub label: Option<String>,
    /// Only what has at least so many stars, 1 to 5.
    #[param(minimum = 1, maximum = 5)]
    pub rating: Option<u8>,
    /// Only at or after this time, in ISO 8601.
    pub after: Option<String>,
    /// Only before this time, in ISO 8601.
    pub before: Option<String>,
    /// What comes first; what fits best unless said.
    #[param(inline)]
    pub sort: Option<SearchSortParam>,
    /// How far the clock of who searches is ahead of UTC, such as `+02:00` or `-05:30`: days in `q` are theirs.
    pub zone: Option<String>,
    /// How many, 1 to 500; 50 unless said.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
}

impl SearchQuery {
    /// Whether something narrows it besides words.
    pub fn has_filters(&self) -> bool {
        let by_fact = self.session.is_some() || self.character.is_some() || self.role.is_some();
        let by_place = self.place.is_some_and(|place| place != SearchPlaceParam::All) || self.label.is_some();
        by_fact || by_place || self.rating.is_some() || self.after.is_some() || self.before.is_some()
    }
}

/// Where in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SearchPlaceParam {
    /// On the line that leads to HEAD.
    Trunk,
    /// Anywhere else in the tree.
    OffTrunk,
    /// In what was pruned.
    Stash,
    /// Everywhere.
    All,
}

/// In which order hits come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SearchSortParam {
    /// Best first; of equally good ones the newest first.
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

/// What was found.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SearchAnswer)]
pub struct SearchResponse {
    /// In the order that was asked for.
    pub items: Vec<SearchHitResponse>,
    /// How many there are in all.
    pub total: SearchTotalResponse,
    /// Whether the index is behind what was written.
    pub stale: bool,
    /// How much of the index is there, in percent, while it is made anew: what is not in it yet is not found.
    pub rebuilding: Option<u8>,
    /// What is worth knowing about the search: that it was too long, has no word, or names nobody.
    pub notes: Vec<SearchNoteResponse>,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

/// What is worth knowing about a search.
#[derive(Debug, Serialize, ToSchema)]
pub struct SearchNoteResponse {
    /// `no_word`, `cut`, `no_session` or `no_character`.
    pub code: &'static str,
    /// A sentence for people.
    pub message: String,
    /// The name that nobody has.
    pub name: Option<String>,
}

impl From<&search::QueryNote> for SearchNoteResponse {
    fn from(note: &search::QueryNote) -> Self {
        Self { code: note.word(), message: note.to_string(), name: note.name().map(str::to_owned) }
    }
}

/// How many hits there are.
#[derive(Debug, Serialize, ToSchema)]
pub struct SearchTotalResponse {
    /// The number.
    pub value: u64,
    /// Whether it is exact, or at least so many.
    pub exact: bool,
}

/// One hit.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Hit)]
pub struct SearchHitResponse {
    /// The session.
    pub session_id: WireSessionId,
    /// Its title.
    pub session_title: String,
    /// The node.
    pub node_id: WireNodeId,
    /// Who it speaks as.
    pub role: Role,
    /// The speaker's name.
    pub name: Option<String>,
    /// The piece of the text that shows why it was found.
    pub snippet: SearchSnippetResponse,
    /// Edges from the root.
    pub depth: i32,
    /// Whether it lies on the line that leads to HEAD.
    pub on_trunk: bool,
    /// The name of the branch that leads on from it, the nearest if there are several; else the nearest name above it.
    pub branch: Option<String>,
    /// Whether it lies in the stash.
    pub stashed: bool,
    /// The fragment in which it lies there.
    #[schema(value_type = Option<String>)]
    pub fragment_id: Option<WireFragmentId>,
    /// Its stars.
    pub rating: Option<i16>,
    /// When it was made.
    pub timestamp: String,
    /// How well it matches; only the order means something, and nothing where hits are ordered by time.
    pub score: f32,
}

/// A piece of a text with what matched in it.
#[derive(Debug, Serialize, ToSchema)]
pub struct SearchSnippetResponse {
    /// The piece, on one line.
    pub text: String,
    /// What matched: ranges `[start, end)` in UTF-16 code units.
    pub marks: Vec<[usize; 2]>,
}
