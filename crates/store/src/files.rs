//! Files of characters and personas: their pictures, and what else came with a card. The bytes are blobs, kept once however
//! many cards bring them.

use diesel::prelude::*;
use uuid::Uuid;

use clotho_core::ids::{CharacterId, UserId};

use super::blobs;
use super::conn::Conn;
use super::error::{StoreError, WriteError};
use super::read::StoreReader;
use super::tables::{blobs as blob_rows, card_files, characters, personas, users};
use super::tx::Tx;

/// A file of a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardFile {
    /// Its name, unique for the card; never a path on the disk.
    pub name: String,
    /// Its media type.
    pub kind: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The names of files that are not assets of a card.
impl CardFile {
    /// The picture.
    pub const PICTURE: &'static str = "avatar";
    /// A small copy of the picture.
    pub const THUMBNAIL: &'static str = "avatar.small";

    /// The name of a picture that another server has, by its address. It belongs to the card as long as it is here, and
    /// never travels.
    pub fn remote_picture_name(address: &str) -> String {
        format!("{REMOTE_PREFIX}{}", blake3::hash(address.as_bytes()).to_hex())
    }
}

/// How the names of pictures of other servers begin.
const REMOTE_PREFIX: &str = "outside/";
/// So many of them are kept with a card.
const MAX_REMOTE_PICTURES: usize = 200;

impl StoreReader<'_> {
    /// A file of one of the caller's characters or personas that is not in the trash.
    ///
    /// # Errors
    /// The database fails or the bytes are damaged.
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

    /// All files of one of the caller's cards, in the order in which they came, without pictures of other servers.
    ///
    /// # Errors
    /// The database fails.
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

    /// Whether pictures of other servers are shown for one of the caller's characters that is not in the trash: the first is
    /// `None` where there is no such character, the second where nobody was asked.
    ///
    /// # Errors
    /// The database fails.
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

    /// The hashes of all bytes that some card's file is.
    ///
    /// # Errors
    /// The database fails.
    pub(super) fn hashes_of_card_files(&mut self) -> Result<Vec<Vec<u8>>, StoreError> {
        let named = card_files::table.inner_join(blob_rows::table.on(blob_rows::n.eq(card_files::blob_n)));
        Ok(named.select(blob_rows::hash).distinct().load(self.conn)?)
    }
}

/// Whether a character or persona is the caller's and not in the trash.
fn is_own(conn: &mut Conn, caller: UserId, card: Uuid) -> Result<bool, StoreError> {
    macro_rules! look {
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
    Ok(look!(characters).is_some() || look!(personas).is_some())
}

impl Tx<'_> {
    /// Keeps a file of a card, in the place of one of that name. Whether the card is the caller's is for who calls.
    ///
    /// # Errors
    /// The database fails.
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

    /// Says whether pictures of other servers are shown for a character; those that are here go where they are not. Whether
    /// the character is the caller's is for who calls.
    ///
    /// # Errors
    /// The database fails.
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

    /// Keeps a picture of another server with a card; where a card has very many, the oldest goes.
    ///
    /// # Errors
    /// The database fails.
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

    /// Forgets a file of a card, if there is one of that name.
    ///
    /// # Errors
    /// The database fails.
    pub fn delete_card_file(&mut self, card: Uuid, name: &str) -> Result<(), WriteError> {
        self.run(|conn| {
            let own = card_files::table.filter(card_files::card.eq(card.as_bytes().to_vec()));
            diesel::delete(own.filter(card_files::name.eq(name))).execute(conn)?;
            Ok(())
        })?;
        Ok(())
    }
}

/// Forgets the files of cards that are no more.
///
/// # Errors
/// The database fails.
pub(super) fn delete_orphans(conn: &mut Conn) -> QueryResult<usize> {
    let is_left = card_files::card
        .eq_any(characters::table.select(characters::id))
        .or(card_files::card.eq_any(personas::table.select(personas::id)));
    diesel::delete(card_files::table.filter(diesel::dsl::not(is_left))).execute(conn)
}
