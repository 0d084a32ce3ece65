//! The list of sessions: its filters and its order, its folders and tags, and changes of many sessions at once.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::ids::{WireCharacterId, WireSessionId};
use super::query_number::PageLimit;
use super::{PageQuery, deserialize_nullable_option};
use crate::http::error::{ApiError, ErrorFields};
use clotho_core::tree::limits;
use clotho_store::{SessionFilter, SessionGroup, SessionListChange, SessionOrder, SessionSortKey};

/// Maximum length of the searched words, in characters.
const MAX_SEARCH_CHARS: usize = 300;
/// Maximum number of sessions that one request changes.
const MAX_BULK_SESSIONS: usize = 500;

/// The filters, the order and the page of the list of sessions. Pinned sessions come first in every order.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct SessionListQuery {
    /// Words that the title contains, at most 300 characters. Case and accents do not count.
    pub q: Option<String>,
    /// Only sessions with this tag; several keys: with all of them. Case and accents do not count.
    #[param(value_type = Vec<String>)]
    pub tag: Vec<String>,
    /// Only sessions in this folder; empty: only those in no folder.
    pub folder: Option<String>,
    /// Only sessions with this character.
    #[param(value_type = Option<String>)]
    pub character_id: Option<WireCharacterId>,
    /// Only pinned sessions, or only the others.
    pub pinned: Option<bool>,
    /// By what the sessions are sorted; default `updated`.
    #[param(inline)]
    pub sort: Option<SessionSortParam>,
    /// Direction of the order; default `asc` for titles and `desc` otherwise.
    #[param(inline)]
    pub order: Option<SortOrderParam>,
    /// Maximum number of items, 1 to 500; default 50.
    #[param(minimum = 1, maximum = 500, value_type = Option<u32>)]
    pub limit: Option<PageLimit>,
    /// `next` of the previous page, with the same filters and the same order.
    pub cursor: Option<String>,
}

/// By what the list of sessions is sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum SessionSortParam {
    /// Time of the last change. Folders, tags and pins do not count.
    Updated,
    /// Time of creation.
    Created,
    /// Title, without case and accents.
    Title,
    /// Number of nodes.
    Length,
}

/// Direction of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum SortOrderParam {
    /// Smallest, oldest or first in the alphabet first.
    Asc,
    /// Largest, newest or last in the alphabet first.
    Desc,
}

impl SessionListQuery {
    /// Returns the filter and the order.
    ///
    /// # Errors
    /// Returns an error if a text is too long.
    pub fn read(&self) -> Result<(SessionFilter, SessionOrder), ApiError> {
        if self.q.as_ref().is_some_and(|words| words.chars().count() > MAX_SEARCH_CHARS) {
            return Err(ApiError::invalid("q", format!("expected at most {MAX_SEARCH_CHARS} characters")));
        }
        if !self.tag.is_empty() {
            limits::check_tags(&self.tag)
                .map_err(|error| ApiError::invalid("tag", ApiError::from(error).message.clone()))?;
        }
        if let Some(folder) = self.folder.as_deref().filter(|folder| !folder.is_empty()) {
            limits::check_folder(folder)?;
        }
        let filter = SessionFilter {
            title: self.q.clone(),
            tags: self.tag.clone(),
            folder: self.folder.clone().map(|folder| Some(folder).filter(|folder| !folder.is_empty())),
            character: self.character_id.map(|id| id.0),
            is_pinned: self.pinned,
        };
        let key = match self.sort.unwrap_or(SessionSortParam::Updated) {
            SessionSortParam::Updated => SessionSortKey::Updated,
            SessionSortParam::Created => SessionSortKey::Created,
            SessionSortParam::Title => SessionSortKey::Title,
            SessionSortParam::Length => SessionSortKey::Length,
        };
        let is_descending = match self.order {
            Some(order) => order == SortOrderParam::Desc,
            None => key != SessionSortKey::Title,
        };
        Ok((filter, SessionOrder { key, is_descending }))
    }

    /// Returns the page.
    pub fn page(&self) -> PageQuery {
        PageQuery { limit: self.limit, cursor: self.cursor.clone() }
    }
}

/// The folders or the tags of the caller's sessions, in alphabetical order.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionGroupsResponse {
    /// The folders or tags.
    pub items: Vec<SessionGroupResponse>,
}

/// A folder or a tag of sessions.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionGroupResponse {
    /// Its name.
    pub name: String,
    /// Number of sessions that are not in the trash.
    pub count: i64,
}

impl From<Vec<SessionGroup>> for SessionGroupsResponse {
    fn from(groups: Vec<SessionGroup>) -> Self {
        let item = |SessionGroup { name, count }| SessionGroupResponse { name, count };
        Self { items: groups.into_iter().map(item).collect() }
    }
}

/// One change of several sessions.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChangeSessionsRequest {
    /// The sessions, 1 to 500.
    pub ids: Vec<WireSessionId>,
    /// What happens to them.
    pub action: SessionsAction,
    /// Only for `move`, which needs it: the folder; null = no folder.
    #[serde(default, deserialize_with = "deserialize_nullable_option")]
    #[schema(value_type = Option<String>)]
    pub folder: Option<Option<String>>,
    /// Only for `tag` and `untag`, which need it: the tag.
    #[serde(default)]
    pub tag: Option<String>,
}

/// A change of several sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum SessionsAction {
    /// Moves them to the trash.
    Delete,
    /// Moves them to a folder.
    Move,
    /// Adds a tag.
    Tag,
    /// Removes a tag.
    Untag,
    /// Pins them.
    Pin,
    /// Unpins them.
    Unpin,
}

impl ChangeSessionsRequest {
    /// Returns the change; `None` if the sessions go to the trash.
    ///
    /// # Errors
    /// Returns an error that names the invalid field.
    pub fn read(&self) -> Result<Option<SessionListChange>, ApiError> {
        let ids = &self.ids;
        if ids.is_empty() || ids.len() > MAX_BULK_SESSIONS {
            return Err(ApiError::invalid("ids", format!("expected 1 to {MAX_BULK_SESSIONS} sessions")));
        }
        let mut seen = std::collections::BTreeSet::new();
        if let Some(twice) = ids.iter().position(|id| !seen.insert(id.0)) {
            return Err(ApiError::invalid(&format!("ids[{twice}]"), "the session appears twice"));
        }
        if self.folder.is_some() && self.action != SessionsAction::Move {
            return Err(ApiError::invalid("folder", "expected a folder only for \"move\""));
        }
        let is_tagging = matches!(self.action, SessionsAction::Tag | SessionsAction::Untag);
        if self.tag.is_some() != is_tagging {
            return Err(ApiError::invalid("tag", "expected a tag for \"tag\" and \"untag\", and only for them"));
        }
        let tag = self.tag.clone().unwrap_or_default();
        if is_tagging {
            let checked = limits::check_tags(std::slice::from_ref(&tag)).map_err(ApiError::from);
            checked.map_err(|error| ApiError::invalid("tag", error.message.clone()))?;
        }
        Ok(match self.action {
            SessionsAction::Delete => None,
            SessionsAction::Move => {
                let folder = self.folder.clone();
                let folder = folder.ok_or_else(|| ApiError::invalid("folder", "\"move\" needs a folder or null"))?;
                folder.as_deref().map_or(Ok(()), limits::check_folder)?;
                Some(SessionListChange::Move(folder))
            }
            SessionsAction::Tag => Some(SessionListChange::Tag(tag)),
            SessionsAction::Untag => Some(SessionListChange::Untag(tag)),
            SessionsAction::Pin => Some(SessionListChange::Pin(true)),
            SessionsAction::Unpin => Some(SessionListChange::Pin(false)),
        })
    }
}

/// What happened to each session.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChangeSessionsResponse {
    /// The sessions, in the order of the request.
    pub items: Vec<ChangedSessionResponse>,
}

/// What happened to one session.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangedSessionResponse {
    /// Id of the session.
    pub id: WireSessionId,
    /// Whether it was changed, or already was as requested.
    pub is_done: bool,
    /// Why it was not changed; only if it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, inline)]
    pub error: Option<ErrorFields>,
}
