//! The list of sessions: which ones it shows, in which order, and the folders and tags that they have.

use std::collections::HashSet;

use diesel::prelude::*;
use serde_json::{Value, json};

use clotho_core::ids::{CharacterId, SessionId, UserId};
use clotho_core::letters::fold_base_letters;
use clotho_core::tree::limits;

use super::conn::Conn;
use super::error::{StoreError, WriteError};
use super::read::{StoreReader, find_session};
use super::stored::StoredSession;
use super::tables::{session_tags, sessions, users};
use super::tree_writes::Actor;
use super::tx::Tx;

/// The number of sessions whose title is folded in one transaction.
const BATCH_SIZE: i64 = 500;

/// Room for the number behind a title that is taken: ` (123456)`.
const TITLE_SUFFIX_CHARS: usize = 9;

/// By what the list of sessions is sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SessionSortKey {
    /// The time of the last change.
    #[default]
    Updated,
    /// The time of creation.
    Created,
    /// The title, without case and accents.
    Title,
    /// The number of nodes.
    Length,
}

/// Which sessions a list shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionFilter {
    /// Words that the title contains, without case and accents.
    pub title: Option<String>,
    /// Tags that the session has, all of them.
    pub tags: Vec<String>,
    /// `Some(None)`: the sessions without a folder.
    pub folder: Option<Option<String>>,
    /// A character of the session.
    pub character: Option<CharacterId>,
    pub is_pinned: Option<bool>,
}

/// The order of a list. Pinned sessions come first in every order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionOrder {
    pub key: SessionSortKey,
    pub is_descending: bool,
}

/// A folder or a tag with the number of its sessions.
#[derive(Debug, Clone, PartialEq, Eq, Queryable)]
pub struct SessionGroup {
    pub name: String,
    /// The number of sessions that are not in the trash.
    pub count: i64,
}

/// A change of how the list shows a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionListChange {
    /// Moves it to a folder, or out of every folder.
    Move(Option<String>),
    Tag(String),
    Untag(String),
    Pin(bool),
}

impl StoreReader<'_> {
    /// Returns a title that no session of the owner has outside of the trash: the wanted one, or it with a number behind
    /// it. Case and accents do not count, and a title that is too long is cut. The title depends only on what is stored,
    /// so an interrupted import that is continued gives the same titles.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn unique_session_title(&mut self, owner: UserId, wanted: &str) -> Result<String, StoreError> {
        let wanted: String = wanted.chars().take(limits::MAX_TITLE_CHARS - TITLE_SUFFIX_CHARS).collect();
        let form = fold_base_letters(&wanted);
        let taken: Vec<Option<String>> = sessions::table
            .inner_join(users::table.on(users::n.eq(sessions::owner_n)))
            .filter(users::id.eq(owner.as_bytes().to_vec()))
            .filter(sessions::trashed.is_null())
            .filter(sessions::title_form.like(format!("{}%", escape_pattern(&form))).escape('\\'))
            .select(sessions::title_form)
            .load(self.conn)?;
        let taken: HashSet<String> = taken.into_iter().flatten().collect();
        let mut title = wanted.clone();
        let mut number = 2_u64;
        while taken.contains(&fold_base_letters(&title)) {
            title = format!("{wanted} ({number})");
            number += 1;
        }
        Ok(title)
    }

    /// Returns the caller's sessions that fit a filter, after skipping `skip` of them.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn filtered_sessions(
        &mut self,
        caller: UserId,
        filter: &SessionFilter,
        order: SessionOrder,
        skip: i64,
        limit: i64,
    ) -> Result<Vec<StoredSession>, StoreError> {
        let mut query = sessions::table
            .inner_join(users::table.on(users::n.eq(sessions::owner_n)))
            .filter(users::id.eq(caller.as_bytes().to_vec()))
            .filter(sessions::trashed.is_null())
            .into_boxed();
        for word in filter.title.iter().flat_map(|title| title.split_whitespace()) {
            query = query.filter(sessions::title_form.like(contains_pattern(&fold_base_letters(word))).escape('\\'));
        }
        for tag in &filter.tags {
            let tagged = session_tags::table.filter(session_tags::form.eq(fold_base_letters(tag)));
            query = query.filter(sessions::n.eq_any(tagged.select(session_tags::session_n)));
        }
        query = match &filter.folder {
            Some(Some(folder)) => query.filter(sessions::folder.eq(folder.clone())),
            Some(None) => query.filter(sessions::folder.is_null()),
            None => query,
        };
        if let Some(character) = filter.character {
            query = query.filter(sessions::cards.like(format!("%[\"{character}\",%")));
        }
        if let Some(is_pinned) = filter.is_pinned {
            query = query.filter(sessions::is_pinned.eq(is_pinned));
        }
        query = query.order(sessions::is_pinned.desc());
        query = match (order.key, order.is_descending) {
            (SessionSortKey::Updated, true) => query.then_order_by(sessions::updated.desc()),
            (SessionSortKey::Updated, false) => query.then_order_by(sessions::updated),
            (SessionSortKey::Created, true) => query.then_order_by(sessions::created.desc()),
            (SessionSortKey::Created, false) => query.then_order_by(sessions::created),
            (SessionSortKey::Title, true) => query.then_order_by(sessions::title_form.desc()),
            (SessionSortKey::Title, false) => query.then_order_by(sessions::title_form),
            (SessionSortKey::Length, true) => query.then_order_by(sessions::node_count.desc()),
            (SessionSortKey::Length, false) => query.then_order_by(sessions::node_count),
        };
        // Equal sessions stand in one order on every page.
        query = match order.is_descending {
            true => query.then_order_by(sessions::n.desc()),
            false => query.then_order_by(sessions::n),
        };
        let ids: Vec<Vec<u8>> = query.offset(skip).limit(limit).select(sessions::id).load(self.conn)?;
        let found = ids.iter().filter_map(|id| SessionId::from_slice(id)).map(|id| find_session(self.conn, id));
        found.filter_map(Result::transpose).collect()
    }

    /// Returns the folders of the caller's sessions, in alphabetical order.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn session_folders(&mut self, caller: UserId) -> Result<Vec<SessionGroup>, StoreError> {
        let own = sessions::table
            .inner_join(users::table.on(users::n.eq(sessions::owner_n)))
            .filter(users::id.eq(caller.as_bytes().to_vec()))
            .filter(sessions::trashed.is_null())
            .filter(sessions::folder.is_not_null())
            .group_by(sessions::folder)
            .select((sessions::folder.assume_not_null(), diesel::dsl::count(sessions::n)));
        let mut folders: Vec<SessionGroup> = own.load(self.conn)?;
        folders.sort_by_cached_key(|folder| (fold_base_letters(&folder.name), folder.name.clone()));
        Ok(folders)
    }

    /// Returns the tags of the caller's sessions, in alphabetical order.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn session_tags(&mut self, caller: UserId) -> Result<Vec<SessionGroup>, StoreError> {
        let own = session_tags::table
            .inner_join(sessions::table.on(sessions::n.eq(session_tags::session_n)))
            .inner_join(users::table.on(users::n.eq(sessions::owner_n)))
            .filter(users::id.eq(caller.as_bytes().to_vec()))
            .filter(sessions::trashed.is_null())
            .group_by(session_tags::form)
            .order(session_tags::form)
            .select((diesel::dsl::min(session_tags::tag).assume_not_null(), diesel::dsl::count(sessions::n)));
        Ok(own.load(self.conn)?)
    }
}

impl Tx<'_> {
    /// Changes how the list shows a session.
    ///
    /// # Errors
    /// Returns an error if it does not exist, belongs to another user, or would have too many tags.
    pub fn change_session_list(
        &mut self,
        actor: &Actor,
        id: SessionId,
        change: &SessionListChange,
    ) -> Result<(), WriteError> {
        let mut tags = self.session(actor.user, id)?.session.tags;
        let is_tag = |tag: &str, other: &str| fold_base_letters(tag) == fold_base_letters(other);
        let (name, to) = match change {
            SessionListChange::Move(folder) => ("folder", Value::from(folder.clone())),
            SessionListChange::Pin(is_pinned) => ("isPinned", json!(is_pinned)),
            SessionListChange::Tag(tag) => {
                if !tags.iter().any(|other| is_tag(tag, other)) {
                    tags.push(tag.clone());
                    limits::check_tags(&tags)?;
                }
                ("tags", json!(tags))
            }
            SessionListChange::Untag(tag) => {
                tags.retain(|other| !is_tag(tag, other));
                ("tags", json!(tags))
            }
        };
        self.set_settings(actor, id, &[(name.to_owned(), to)])?;
        Ok(())
    }
}

/// Returns the pattern of texts that contain a text.
fn contains_pattern(text: &str) -> String {
    format!("%{}%", escape_pattern(text))
}

/// Escapes what has a meaning in patterns.
fn escape_pattern(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

/// Folds the titles of sessions that an older program wrote. SQL cannot fold, so the migration could not.
///
/// # Errors
/// Returns an error if the database fails.
pub fn fill_title_forms(conn: &mut Conn) -> Result<(), StoreError> {
    loop {
        let unfilled = sessions::table.filter(sessions::title_form.is_null()).order(sessions::n).limit(BATCH_SIZE);
        let batch: Vec<(i64, String)> = unfilled.select((sessions::n, sessions::title)).load(conn)?;
        if batch.is_empty() {
            return Ok(());
        }
        conn.transaction(|conn| {
            for (n, title) in &batch {
                let form = sessions::title_form.eq(Some(fold_base_letters(title)));
                diesel::update(sessions::table.find(*n)).set(form).execute(conn)?;
            }
            Ok::<_, diesel::result::Error>(())
        })?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_of_wildcards_matches_them_alone() {
        assert_eq!(contains_pattern("50%_\\"), "%50\\%\\_\\\\%");
    }
}
