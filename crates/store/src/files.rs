//! Files of characters and personas: pictures and other assets of a card. The bytes are blobs, stored once for
//! any number of cards.

use diesel::prelude::*;
use uuid::Uuid;

use clotho_core::ids::{CharacterId, UserId};

use super::blobs;
use super::card_versions;
use super::conn::Conn;
use super::error::{StoreError, WriteError};
use super::read::StoreReader;
use super::tables::{blobs as blob_rows, card_files, characters, personas, users};
use super::tx::Tx;

/// A file of a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardFile {
    /// Its name, unique for the card. It is never a path on the disk.
    pub name: String,
    /// Its media type.
    pub kind: String,
    pub bytes: Vec<u8>,
}

/// The names of files that are not assets of a card.
impl CardFile {
    /// The picture.
    pub const PICTURE: &'static str = "avatar";
    /// A thumbnail of the picture.
    pub const THUMBNAIL: &'static str = "avatar.small";

    /// Returns the name for a remote picture with this address. Such a file is a local copy and is never
    /// exported.
    pub fn remote_picture_name(address: &str) -> String {
        format!("{REMOTE_PREFIX}{}", blake3::hash(address.as_bytes()).to_hex())
    }
}

/// The prefix of the names of remote pictures.
const REMOTE_PREFIX: &str = "outside/";
/// The maximum number of remote pictures of one card.
const MAX_REMOTE_PICTURES: usize = 200;

impl StoreReader<'_> {
    /// Returns a file of one of the caller's characters or personas outside the trash.
    ///
    /// # Errors
    /// Returns an error if the database fails or the bytes are damaged.
    pub fn card_file(&mut self, caller: UserId, card: Uuid, name: &str) -> Result<Option<CardFile>, StoreError> {
        if !is_own(self.conn, caller, card)? {
            return Ok(None);
        }
        let row: Option<(String, String, i64)> = card_files::table
            .filter(card_files::card.eq(card.as_bytes().to_vec()))
            .filter(card_files::name.eq(name))
            .select((card_files::name, card_files::kind, card_files::blob_n))
            .get_result(self.conn)
            .optional()?;
        row.map(|(name, kind, n)| Ok(CardFile { name, kind, bytes: blobs::get(self.conn, n)? })).transpose()
    }

    /// Returns all files of one of the caller's cards in the order in which they were added, without remote
    /// pictures.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn card_files(&mut self, caller: UserId, card: Uuid) -> Result<Vec<CardFile>, StoreError> {
        if !is_own(self.conn, caller, card)? {
            return Ok(Vec::new());
        }
        let rows: Vec<(String, String, Vec<u8>)> = card_files::table
            .inner_join(blob_rows::table.on(blob_rows::n.eq(card_files::blob_n)))
            .filter(card_files::card.eq(card.as_bytes().to_vec()))
            .filter(card_files::name.not_like(format!("{REMOTE_PREFIX}%")))
            .order(card_files::n)
            .select((card_files::name, card_files::kind, blob_rows::bytes))
            .load(self.conn)?;
        Ok(rows.into_iter().map(|(name, kind, bytes)| CardFile { name, kind, bytes }).collect())
    }

    /// Returns whether remote pictures are shown for one of the caller's characters outside the trash. The outer
    /// `None` means no such character, the inner one that the user was not asked yet.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn remote_pictures_permission(
        &mut self,
        caller: UserId,
        character: CharacterId,
    ) -> Result<Option<Option<bool>>, StoreError> {
        let own = characters::table
            .inner_join(users::table.on(users::n.eq(characters::owner_n)))
            .filter(users::id.eq(caller.as_bytes().to_vec()))
            .filter(characters::id.eq(character.as_bytes().to_vec()))
            .filter(characters::trashed.is_null());
        Ok(own.select(characters::outside).get_result(self.conn).optional()?)
    }

    /// Returns the hashes of all blobs that card files use.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub(super) fn hashes_of_card_files(&mut self) -> Result<Vec<Vec<u8>>, StoreError> {
        let named = card_files::table.inner_join(blob_rows::table.on(blob_rows::n.eq(card_files::blob_n)));
        Ok(named.select(blob_rows::hash).distinct().load(self.conn)?)
    }
}

/// Returns whether a character or persona belongs to the caller and is not in the trash.
fn is_own(conn: &mut Conn, caller: UserId, card: Uuid) -> Result<bool, StoreError> {
    macro_rules! owned_row {
        ($table:ident) => {
            $table::table
                .inner_join(users::table.on(users::n.eq($table::owner_n)))
                .filter(users::id.eq(caller.as_bytes().to_vec()))
                .filter($table::id.eq(card.as_bytes().to_vec()))
                .filter($table::trashed.is_null())
                .select($table::n)
                .get_result::<i64>(conn)
                .optional()?
        };
    }
    Ok(owned_row!(characters).is_some() || owned_row!(personas).is_some())
}

impl Tx<'_> {
    /// Stores a file of a card and replaces one of the same name. The caller must check that the card is the
    /// user's.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn put_card_file(&mut self, card: Uuid, file: &CardFile) -> Result<(), WriteError> {
        self.delete_card_file(card, &file.name)?;
        self.run(|conn| {
            let (blob_n, _) = blobs::put(conn, &file.bytes)?;
            let n: Option<i64> = card_files::table.select(diesel::dsl::max(card_files::n)).get_result(conn)?;
            let row = (
                card_files::n.eq(n.unwrap_or(0) + 1),
                card_files::card.eq(card.as_bytes().to_vec()),
                card_files::name.eq(&file.name),
                card_files::kind.eq(&file.kind),
                card_files::blob_n.eq(blob_n),
            );
            diesel::insert_into(card_files::table).values(row).execute(conn)?;
            Ok(())
        })?;
        Ok(())
    }

    /// Sets whether remote pictures are shown for a character. If they are not, the stored ones are deleted. The
    /// caller must check that the character is the user's.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn set_remote_pictures_permission(
        &mut self,
        character: CharacterId,
        is_allowed: Option<bool>,
    ) -> Result<(), WriteError> {
        self.run(|conn| {
            let own = characters::table.filter(characters::id.eq(character.as_bytes().to_vec()));
            diesel::update(own).set(characters::outside.eq(is_allowed)).execute(conn)?;
            if is_allowed != Some(true) {
                let files = card_files::table.filter(card_files::card.eq(character.as_bytes().to_vec()));
                diesel::delete(files.filter(card_files::name.like(format!("{REMOTE_PREFIX}%")))).execute(conn)?;
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Stores a remote picture of a card, and deletes the oldest ones above the limit.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn put_remote_picture(&mut self, card: Uuid, file: &CardFile) -> Result<(), WriteError> {
        self.put_card_file(card, file)?;
        self.run(|conn| {
            let of_card = card_files::table
                .filter(card_files::card.eq(card.as_bytes().to_vec()))
                .filter(card_files::name.like(format!("{REMOTE_PREFIX}%")));
            let all: Vec<i64> = of_card.order(card_files::n.desc()).select(card_files::n).load(conn)?;
            let old: Vec<i64> = all.into_iter().skip(MAX_REMOTE_PICTURES).collect();
            diesel::delete(card_files::table.filter(card_files::n.eq_any(old))).execute(conn)?;
            Ok(())
        })?;
        Ok(())
    }

    /// Deletes a file of a card, if there is one of that name.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn delete_card_file(&mut self, card: Uuid, name: &str) -> Result<(), WriteError> {
        self.run(|conn| {
            let own = card_files::table.filter(card_files::card.eq(card.as_bytes().to_vec()));
            diesel::delete(own.filter(card_files::name.eq(name))).execute(conn)?;
            Ok(())
        })?;
        Ok(())
    }

    /// Deletes the files of a card whose names begin with a prefix, which has no `%` and no `_`.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn delete_card_files_below(&mut self, card: Uuid, prefix: &str) -> Result<(), WriteError> {
        self.run(|conn| {
            let own = card_files::table.filter(card_files::card.eq(card.as_bytes().to_vec()));
            diesel::delete(own.filter(card_files::name.like(format!("{prefix}%")))).execute(conn)?;
            Ok(())
        })?;
        Ok(())
    }
}

/// Deletes the files and versions of cards that no longer exist.
///
/// # Errors
/// Returns an error if the database fails.
pub(super) fn delete_orphans(conn: &mut Conn) -> QueryResult<usize> {
    let is_left = card_files::card
        .eq_any(characters::table.select(characters::id))
        .or(card_files::card.eq_any(personas::table.select(personas::id)));
    card_versions::delete_orphans(conn)?;
    diesel::delete(card_files::table.filter(diesel::dsl::not(is_left))).execute(conn)
}
