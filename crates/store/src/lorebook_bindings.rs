//! Bindings of lorebooks: to everything, or to sessions, personas and characters. Cards can also name their own
//! books. So bindings to characters are read from cards and rows, and removed from both.

use diesel::prelude::*;
use serde_json::Value;

use clotho_core::clock::Time;
use clotho_core::ids::{CharacterId, LorebookId, PersonaId, SessionId, UserId};
use clotho_core::tree::edit::TreeError;
use clotho_core::tree::lorebook;

use super::conn::Conn;
use super::error::{StoreError, WriteError};
use super::read::StoreReader;
use super::tables::{characters, holds, lorebooks, personas, sessions, users};
use super::tx::Tx;

/// Something to which a lorebook may be linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BindingTarget {
    /// Every session.
    Everything,
    /// One session.
    Session(SessionId),
    /// Sessions with this persona.
    Persona(PersonaId),
    /// Replies of this character.
    Character(CharacterId),
}

impl BindingTarget {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Everything => "everything",
            Self::Session(_) => "session",
            Self::Persona(_) => "persona",
            Self::Character(_) => "character",
        }
    }

    fn target(self) -> Vec<u8> {
        match self {
            Self::Everything => Vec::new(),
            Self::Session(id) => id.as_bytes().to_vec(),
            Self::Persona(id) => id.as_bytes().to_vec(),
            Self::Character(id) => id.as_bytes().to_vec(),
        }
    }
}

/// All bindings of one lorebook.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BindingSet {
    /// Whether it applies in every session.
    pub everything: bool,
    pub sessions: Vec<SessionId>,
    pub personas: Vec<PersonaId>,
    /// The characters, including those whose cards name the book.
    pub characters: Vec<CharacterId>,
}

impl BindingSet {
    fn targets(&self) -> Vec<BindingTarget> {
        let everything = self.everything.then_some(BindingTarget::Everything);
        let sessions = self.sessions.iter().copied().map(BindingTarget::Session);
        let personas = self.personas.iter().copied().map(BindingTarget::Persona);
        let characters = self.characters.iter().copied().map(BindingTarget::Character);
        everything.into_iter().chain(sessions).chain(personas).chain(characters).collect()
    }
}

impl From<BindingTarget> for BindingSet {
    fn from(one: BindingTarget) -> Self {
        let mut all = Self::default();
        match one {
            BindingTarget::Everything => all.everything = true,
            BindingTarget::Session(id) => all.sessions.push(id),
            BindingTarget::Persona(id) => all.personas.push(id),
            BindingTarget::Character(id) => all.characters.push(id),
        }
        all
    }
}

/// The id of a linked lorebook with the time of its last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LorebookVersion {
    pub id: LorebookId,
    /// When it last changed.
    pub updated: Time,
}

/// The ids of one table that belong to the owner and are not in the trash, in the order of their creation.
macro_rules! existing_ids {
    ($conn:expr, $table:ident, $owner:expr, $ids:expr) => {
        $table::table
            .filter($table::owner_n.eq($owner))
            .filter($table::trashed.is_null())
            .filter($table::id.eq_any($ids))
            .order($table::n)
            .select($table::id)
            .load::<Vec<u8>>($conn)
    };
}

/// Returns those targets of a set that exist for this owner.
fn existing_targets(conn: &mut Conn, owner_n: i64, wanted: &BindingSet) -> Result<BindingSet, StoreError> {
    let bytes = |ids: Vec<&[u8; 16]>| ids.into_iter().map(|id| id.to_vec()).collect::<Vec<_>>();
    let ids = bytes(wanted.sessions.iter().map(SessionId::as_bytes).collect());
    let sessions = existing_ids!(conn, sessions, owner_n, ids)?;
    let ids = bytes(wanted.personas.iter().map(PersonaId::as_bytes).collect());
    let personas = existing_ids!(conn, personas, owner_n, ids)?;
    let ids = bytes(wanted.characters.iter().map(CharacterId::as_bytes).collect());
    let characters = existing_ids!(conn, characters, owner_n, ids)?;
    Ok(BindingSet {
        everything: wanted.everything,
        sessions: sessions.iter().filter_map(|id| SessionId::from_slice(id)).collect(),
        personas: personas.iter().filter_map(|id| PersonaId::from_slice(id)).collect(),
        characters: characters.iter().filter_map(|id| CharacterId::from_slice(id)).collect(),
    })
}

/// Returns the rows of a lorebook and its owner, if it is the caller's and not in the trash.
fn own_lorebook(conn: &mut Conn, owner: UserId, book: LorebookId) -> QueryResult<Option<(i64, i64)>> {
    lorebooks::table
        .inner_join(users::table.on(users::n.eq(lorebooks::owner_n)))
        .filter(users::id.eq(owner.as_bytes().to_vec()))
        .filter(lorebooks::id.eq(book.as_bytes().to_vec()))
        .filter(lorebooks::trashed.is_null())
        .select((lorebooks::n, users::n))
        .get_result(conn)
        .optional()
}

/// Returns the characters whose cards name a book: row, id, card.
fn characters_naming(
    conn: &mut Conn,
    owner_n: i64,
    book: LorebookId,
) -> Result<Vec<(i64, CharacterId, Value)>, StoreError> {
    let rows: Vec<(i64, Vec<u8>, String)> = characters::table
        .filter(characters::owner_n.eq(owner_n))
        .filter(characters::trashed.is_null())
        .filter(characters::card.like(format!("%{book}%")))
        .order(characters::n)
        .select((characters::n, characters::id, characters::card))
        .load(conn)?;
    let read = |(n, id, card): (i64, Vec<u8>, String)| {
        let card: Value = serde_json::from_str(&card).ok()?;
        let is_named = lorebook::card_lorebooks(card.as_object()?).contains(&book);
        Some((n, CharacterId::from_slice(&id)?, card)).filter(|_| is_named)
    };
    Ok(rows.into_iter().filter_map(read).collect())
}

fn read_bindings(conn: &mut Conn, owner_n: i64, book_n: i64, book: LorebookId) -> Result<BindingSet, StoreError> {
    let own = holds::table.filter(holds::lorebook_n.eq(book_n)).order(holds::n);
    let rows: Vec<(String, Vec<u8>)> = own.select((holds::scope, holds::target)).load(conn)?;
    let mut all = BindingSet::default();
    for (scope, target) in rows {
        match scope.as_str() {
            "everything" => all.everything = true,
            "session" => all.sessions.extend(SessionId::from_slice(&target)),
            "persona" => all.personas.extend(PersonaId::from_slice(&target)),
            _ => all.characters.extend(CharacterId::from_slice(&target)),
        }
    }
    for (_, id, _) in characters_naming(conn, owner_n, book)? {
        if !all.characters.contains(&id) {
            all.characters.push(id);
        }
    }
    existing_targets(conn, owner_n, &all)
}

fn insert_binding(conn: &mut Conn, book_n: i64, one: BindingTarget) -> QueryResult<()> {
    let there = holds::table
        .filter(holds::lorebook_n.eq(book_n))
        .filter(holds::scope.eq(one.as_str()))
        .filter(holds::target.eq(one.target()));
    if there.count().get_result::<i64>(conn)? > 0 {
        return Ok(());
    }
    let n: Option<i64> = holds::table.select(diesel::dsl::max(holds::n)).get_result(conn)?;
    let row = (
        holds::n.eq(n.unwrap_or(0) + 1),
        holds::lorebook_n.eq(book_n),
        holds::scope.eq(one.as_str()),
        holds::target.eq(one.target()),
    );
    diesel::insert_into(holds::table).values(row).execute(conn)?;
    Ok(())
}

fn delete_binding(conn: &mut Conn, book_n: i64, one: BindingTarget) -> QueryResult<()> {
    let row = holds::table
        .filter(holds::lorebook_n.eq(book_n))
        .filter(holds::scope.eq(one.as_str()))
        .filter(holds::target.eq(one.target()));
    diesel::delete(row).execute(conn).map(|_| ())
}

/// Removes a book from the cards of those characters that name it and are no longer linked.
fn unlink_from_cards(
    conn: &mut Conn,
    owner_n: i64,
    book: LorebookId,
    at: Time,
    is_unlinked: impl Fn(CharacterId) -> bool,
) -> Result<(), StoreError> {
    for (n, id, mut card) in characters_naming(conn, owner_n, book)? {
        let Some(fields) = card.as_object_mut().filter(|_| is_unlinked(id)) else { continue };
        lorebook::unlink_lorebook(fields, book);
        let set = (characters::card.eq(card.to_string()), characters::updated.eq(at.0));
        diesel::update(characters::table.find(n)).set(set).execute(conn)?;
    }
    Ok(())
}

impl StoreReader<'_> {
    /// Returns the bindings of one of the caller's lorebooks; `None` if it does not exist.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn lorebook_bindings(&mut self, caller: UserId, book: LorebookId) -> Result<Option<BindingSet>, StoreError> {
        let Some((book_n, owner_n)) = own_lorebook(self.conn, caller, book)? else { return Ok(None) };
        read_bindings(self.conn, owner_n, book_n, book).map(Some)
    }

    /// Returns the caller's lorebooks that are linked to a target, in the order of linking. Books named by cards
    /// are not included.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn bound_lorebooks(&mut self, caller: UserId, what: BindingTarget) -> Result<Vec<LorebookVersion>, StoreError> {
        let rows: Vec<(i64, Vec<u8>, i64)> = holds::table
            .inner_join(lorebooks::table.on(lorebooks::n.eq(holds::lorebook_n)))
            .inner_join(users::table.on(users::n.eq(lorebooks::owner_n)))
            .filter(users::id.eq(caller.as_bytes().to_vec()))
            .filter(holds::scope.eq(what.as_str()))
            .filter(holds::target.eq(what.target()))
            .filter(lorebooks::trashed.is_null())
            .order(holds::n)
            .select((lorebooks::n, lorebooks::id, lorebooks::updated))
            .load(self.conn)?;
        let read = |(n, id, updated): (i64, Vec<u8>, i64)| {
            let bad = StoreError::Inconsistent { table: "lorebooks", column: "id", row: n };
            Ok(LorebookVersion { id: LorebookId::from_slice(&id).ok_or(bad)?, updated: Time(updated) })
        };
        rows.into_iter().map(read).collect()
    }

    /// Returns when one of the caller's lorebooks last changed, without reading its entries; `None` if it does
    /// not exist.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn lorebook_version(
        &mut self,
        caller: UserId,
        book: LorebookId,
    ) -> Result<Option<LorebookVersion>, StoreError> {
        let Some((n, _)) = own_lorebook(self.conn, caller, book)? else { return Ok(None) };
        let updated: i64 = lorebooks::table.find(n).select(lorebooks::updated).get_result(self.conn)?;
        Ok(Some(LorebookVersion { id: book, updated: Time(updated) }))
    }
}

impl Tx<'_> {
    /// Returns the rows of one of the caller's lorebooks and of the caller.
    fn own_lorebook(&mut self, owner: UserId, book: LorebookId) -> Result<(i64, i64), WriteError> {
        Ok(self.run(|conn| Ok(own_lorebook(conn, owner, book)?))?.ok_or(TreeError::NotFound("the lorebook"))?)
    }

    /// Checks that a lorebook exists and belongs to the caller.
    ///
    /// # Errors
    /// Returns an error if it does not exist or belongs to another user.
    pub fn check_lorebook(&mut self, owner: UserId, book: LorebookId) -> Result<(), WriteError> {
        self.own_lorebook(owner, book).map(|_| ())
    }

    /// Adds a binding to one of the caller's lorebooks.
    ///
    /// # Errors
    /// Returns an error if it does not exist or belongs to another user.
    pub fn bind_lorebook(&mut self, owner: UserId, book: LorebookId, what: BindingTarget) -> Result<(), WriteError> {
        let (book_n, _) = self.own_lorebook(owner, book)?;
        Ok(self.run(|conn| Ok(insert_binding(conn, book_n, what)?))?)
    }

    /// Replaces all bindings of one of the caller's lorebooks. Bindings to items in the trash are kept.
    ///
    /// # Errors
    /// Returns an error if the book or a target does not exist or belongs to another user.
    pub fn set_lorebook_bindings(
        &mut self,
        owner: UserId,
        book: LorebookId,
        wanted: &BindingSet,
        at: Time,
    ) -> Result<(), WriteError> {
        let (book_n, owner_n) = self.own_lorebook(owner, book)?;
        self.check_targets(owner_n, wanted)?;
        self.all_or_nothing(|tx| {
            tx.run(|conn| {
                let before = read_bindings(conn, owner_n, book_n, book)?.targets();
                let wanted = wanted.targets();
                for gone in before.iter().filter(|one| !wanted.contains(one)) {
                    delete_binding(conn, book_n, *gone)?;
                }
                for new in wanted.iter().filter(|one| !before.contains(one)) {
                    insert_binding(conn, book_n, *new)?;
                }
                let is_unlinked = |id| !wanted.contains(&BindingTarget::Character(id));
                unlink_from_cards(conn, owner_n, book, at, is_unlinked)
            })?;
            Ok(())
        })
    }

    /// Adds one binding to one of the caller's lorebooks, if it is missing.
    ///
    /// # Errors
    /// Returns an error if the book or the target does not exist or belongs to another user.
    pub fn add_lorebook_binding(
        &mut self,
        owner: UserId,
        book: LorebookId,
        target: BindingTarget,
    ) -> Result<(), WriteError> {
        let (book_n, owner_n) = self.own_lorebook(owner, book)?;
        self.check_targets(owner_n, &BindingSet::from(target))?;
        Ok(self.run(|conn| Ok(insert_binding(conn, book_n, target)?))?)
    }

    /// Removes one binding from one of the caller's lorebooks, if it is there. The card of a character stops naming
    /// the book.
    ///
    /// # Errors
    /// Returns an error if the book or the target does not exist or belongs to another user.
    pub fn remove_lorebook_binding(
        &mut self,
        owner: UserId,
        book: LorebookId,
        target: BindingTarget,
        at: Time,
    ) -> Result<(), WriteError> {
        let (book_n, owner_n) = self.own_lorebook(owner, book)?;
        self.check_targets(owner_n, &BindingSet::from(target))?;
        self.all_or_nothing(|tx| {
            tx.run(|conn| {
                delete_binding(conn, book_n, target)?;
                unlink_from_cards(conn, owner_n, book, at, |id| target == BindingTarget::Character(id))
            })?;
            Ok(())
        })
    }

    /// Checks that all targets exist and belong to the owner.
    fn check_targets(&mut self, owner_n: i64, wanted: &BindingSet) -> Result<(), WriteError> {
        let there = self.run(|conn| existing_targets(conn, owner_n, wanted))?;
        for (what, has_all) in [
            ("the session", wanted.sessions.iter().all(|id| there.sessions.contains(id))),
            ("the persona", wanted.personas.iter().all(|id| there.personas.contains(id))),
            ("the character", wanted.characters.iter().all(|id| there.characters.contains(id))),
        ] {
            if !has_all {
                return Err(TreeError::NotFound(what).into());
            }
        }
        Ok(())
    }
}

/// Deletes bindings whose target no longer exists.
///
/// # Errors
/// Returns an error if the database fails.
pub(super) fn delete_orphans(conn: &mut Conn) -> QueryResult<usize> {
    let is_left = holds::scope
        .eq("everything")
        .or(holds::target.eq_any(sessions::table.select(sessions::id)))
        .or(holds::target.eq_any(personas::table.select(personas::id)))
        .or(holds::target.eq_any(characters::table.select(characters::id)));
    diesel::delete(holds::table.filter(diesel::dsl::not(is_left))).execute(conn)
}

/// Deletes the bindings of lorebooks that are permanently deleted.
///
/// # Errors
/// Returns an error if the database fails.
pub(super) fn delete_for_lorebooks(conn: &mut Conn, books: &[i64]) -> QueryResult<usize> {
    diesel::delete(holds::table.filter(holds::lorebook_n.eq_any(books.to_vec()))).execute(conn)
}
