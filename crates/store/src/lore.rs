//! Lore settings of users, and which texts of lorebooks have vectors. An embedding model goes through the books
//! one by one; the time of the book's last change tells whether its vectors are current.

use diesel::prelude::*;
use serde_json::{Map, Value};

use clotho_core::clock::Time;
use clotho_core::ids::UserId;

use super::conn::Conn;
use super::error::{StoreError, WriteError};
use super::prepared::prepared;
use super::read::StoreReader;
use super::tables::{lore_embedded, lore_texts, lorebooks, users};
use super::tx::Tx;
use super::vectors;

/// A lorebook for which a model has no vectors yet.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingLorebook {
    pub n: i64,
    pub updated: Time,
    pub book: Map<String, Value>,
    /// Its owner's lore settings; `None` means the defaults.
    pub settings: Option<Map<String, Value>>,
}

impl StoreReader<'_> {
    /// Returns a user's lore settings; `None` means the defaults.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn lore_settings(&mut self, user: UserId) -> Result<Option<Map<String, Value>>, StoreError> {
        let own = users::table.filter(users::id.eq(user.as_bytes().to_vec()));
        let text: Option<Option<String>> = prepared(own.select(users::lore)).get_result(self.conn).optional()?;
        Ok(text.flatten().and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// Returns whether any lorebook of a user has texts that can be found by meaning.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn has_lore_texts(&mut self, user: UserId) -> Result<bool, StoreError> {
        let own = lore_texts::table
            .inner_join(lorebooks::table.on(lorebooks::n.eq(lore_texts::lorebook_n)))
            .inner_join(users::table.on(users::n.eq(lorebooks::owner_n)))
            .filter(users::id.eq(user.as_bytes().to_vec()))
            .filter(lorebooks::trashed.is_null());
        Ok(diesel::select(diesel::dsl::exists(own)).get_result(self.conn)?)
    }

    /// Returns the lorebook whose vectors of this model are missing or outdated, of any owner. The one with the
    /// oldest change comes first.
    ///
    /// # Errors
    /// Returns an error if the database fails or the row is damaged.
    pub fn next_lorebook_to_embed(&mut self, model: &str) -> Result<Option<PendingLorebook>, StoreError> {
        let embedded = lore_embedded::table
            .filter(lore_embedded::lorebook_n.eq(lorebooks::n))
            .filter(lore_embedded::model.eq(model))
            .filter(lore_embedded::updated.eq(lorebooks::updated));
        let first = lorebooks::table
            .filter(lorebooks::trashed.is_null())
            .filter(diesel::dsl::not(diesel::dsl::exists(embedded)))
            .order((lorebooks::updated, lorebooks::n))
            .select(lorebooks::n);
        let Some(n) = first.first::<i64>(self.conn).optional()? else { return Ok(None) };
        let (updated, book, rules): (i64, String, Option<String>) = lorebooks::table
            .inner_join(users::table.on(users::n.eq(lorebooks::owner_n)))
            .filter(lorebooks::n.eq(n))
            .select((lorebooks::updated, lorebooks::book, users::lore))
            .get_result(self.conn)?;
        let bad = StoreError::Inconsistent { table: "lorebooks", column: "book", row: n };
        let book = serde_json::from_str(&book).map_err(|_| bad)?;
        let rules = rules.and_then(|rules| serde_json::from_str(&rules).ok());
        Ok(Some(PendingLorebook { n, updated: Time(updated), book, settings: rules }))
    }
}

impl Tx<'_> {
    /// Sets a user's lore settings; `None` means the defaults. They determine which entries have vectors, so all
    /// of the user's books are marked as not embedded.
    ///
    /// # Errors
    /// Returns an error if the database fails, or if there is no such user.
    pub fn set_lore_settings(&mut self, user: UserId, settings: Option<&Map<String, Value>>) -> Result<(), WriteError> {
        let user_n = self.user_row(user)?;
        let text = settings.map(|settings| Value::Object(settings.clone()).to_string());
        self.run(|conn| {
            diesel::update(users::table.find(user_n)).set(users::lore.eq(text)).execute(conn)?;
            let own = lorebooks::table.filter(lorebooks::owner_n.eq(user_n)).select(lorebooks::n);
            diesel::delete(lore_embedded::table.filter(lore_embedded::lorebook_n.eq_any(own))).execute(conn)?;
            Ok(())
        })?;
        Ok(())
    }

    /// Sets which texts of a lorebook have vectors; if the book no longer exists, none have. Vectors that no
    /// text uses any more are deleted.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn set_lore_texts(&mut self, book_n: i64, hashes: &[blake3::Hash]) -> Result<(), WriteError> {
        self.run(|conn| {
            let own = lore_texts::table.filter(lore_texts::lorebook_n.eq(book_n));
            let before: Vec<Vec<u8>> = own.select(lore_texts::hash).load(conn)?;
            diesel::delete(own).execute(conn)?;
            let is_there: bool = diesel::select(diesel::dsl::exists(lorebooks::table.find(book_n))).get_result(conn)?;
            let last: Option<i64> = lore_texts::table.select(diesel::dsl::max(lore_texts::n)).get_result(conn)?;
            let named = hashes.iter().filter(|_| is_there);
            for (n, hash) in (last.unwrap_or(0) + 1..).zip(named) {
                let row = (
                    lore_texts::n.eq(n),
                    lore_texts::lorebook_n.eq(book_n),
                    lore_texts::hash.eq(hash.as_bytes().to_vec()),
                );
                diesel::insert_into(lore_texts::table).values(row).execute(conn)?;
            }
            vectors::delete_vectors(conn, &before)?;
            Ok(())
        })?;
        Ok(())
    }

    /// Records that a model has embedded a lorebook as of its change at `updated`.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn mark_lorebook_embedded(&mut self, book_n: i64, model: &str, updated: Time) -> Result<(), WriteError> {
        self.run(|conn| {
            let own = lore_embedded::table
                .filter(lore_embedded::lorebook_n.eq(book_n))
                .filter(lore_embedded::model.eq(model));
            diesel::delete(own).execute(conn)?;
            let is_there: bool = diesel::select(diesel::dsl::exists(lorebooks::table.find(book_n))).get_result(conn)?;
            if is_there {
                let n: Option<i64> =
                    lore_embedded::table.select(diesel::dsl::max(lore_embedded::n)).get_result(conn)?;
                let row = (
                    lore_embedded::n.eq(n.unwrap_or(0) + 1),
                    lore_embedded::lorebook_n.eq(book_n),
                    lore_embedded::model.eq(model),
                    lore_embedded::updated.eq(updated.0),
                );
                diesel::insert_into(lore_embedded::table).values(row).execute(conn)?;
            }
            Ok(())
        })?;
        Ok(())
    }
}

/// Deletes the vector data of lorebooks that are permanently deleted.
///
/// # Errors
/// Returns an error if the database fails.
pub(super) fn delete_for_lorebooks(conn: &mut Conn, books: &[i64]) -> QueryResult<()> {
    let own = || lore_texts::table.filter(lore_texts::lorebook_n.eq_any(books.to_vec()));
    let hashes: Vec<Vec<u8>> = own().select(lore_texts::hash).load(conn)?;
    diesel::delete(own()).execute(conn)?;
    diesel::delete(lore_embedded::table.filter(lore_embedded::lorebook_n.eq_any(books.to_vec()))).execute(conn)?;
    vectors::delete_vectors(conn, &hashes)
}
