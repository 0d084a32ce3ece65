//! Files imported from other programs: what each became, and data that has no other place. A file is recognized
//! by its name, a chat by a position in it that a longer copy still has. To keep more data of a file, add a
//! column here.

use diesel::prelude::*;

use clotho_core::ids::{NodeId, SessionId, UserId};

use super::error::{StoreError, WriteError};
use super::read::{StoreReader, find_any_session};
use super::tables::{sources, users};
use super::tx::Tx;

/// An imported file, or a position in a chat, and what it became.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRecord {
    /// The name by which it is recognized.
    pub name: String,
    /// The hash of the file; `None` until it is completely imported.
    pub hash: Option<Vec<u8>>,
    /// The 16 bytes of the id of what it became.
    pub became: Vec<u8>,
    /// The last node of a chat.
    pub node: Option<NodeId>,
    /// Data of a chat besides its messages, as JSON.
    pub header: Option<String>,
}

impl SourceRecord {
    /// Creates a record without a hash, a node and a header.
    pub fn new(name: impl Into<String>, became: &[u8; 16]) -> Self {
        Self { name: name.into(), hash: None, became: became.to_vec(), node: None, header: None }
    }
}

/// The columns of a source.
type SourceRecordColumns = (String, Option<Vec<u8>>, Vec<u8>, Option<Vec<u8>>, Option<String>);

/// Where an imported session is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionPresence {
    /// The owner has it.
    Present,
    /// It is in the trash.
    InTrash,
    /// It was permanently deleted.
    Deleted,
}

impl StoreReader<'_> {
    /// Returns where a session of the caller is.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn session_presence(&mut self, owner: UserId, session: SessionId) -> Result<SessionPresence, StoreError> {
        let stored = find_any_session(self.conn, session)?.filter(|stored| stored.session.owner == owner);
        Ok(match stored {
            Some(stored) if stored.is_trashed => SessionPresence::InTrash,
            Some(_) => SessionPresence::Present,
            None => SessionPresence::Deleted,
        })
    }

    /// Returns what one of the caller's files became.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn source(&mut self, owner: UserId, name: &str) -> Result<Option<SourceRecord>, StoreError> {
        let row: Option<SourceRecordColumns> = sources::table
            .inner_join(users::table.on(users::n.eq(sources::owner_n)))
            .filter(users::id.eq(owner.as_bytes().to_vec()))
            .filter(sources::name.eq(name))
            .select((sources::name, sources::hash, sources::became, sources::node, sources::header))
            .get_result(self.conn)
            .optional()?;
        Ok(row.map(source))
    }

    /// Returns the caller's chats that were imported from a file with this hash.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn chats_of_hash(&mut self, owner: UserId, hash: &[u8]) -> Result<Vec<SourceRecord>, StoreError> {
        let rows: Vec<SourceRecordColumns> = sources::table
            .inner_join(users::table.on(users::n.eq(sources::owner_n)))
            .filter(users::id.eq(owner.as_bytes().to_vec()))
            .filter(sources::hash.eq(hash.to_vec()))
            .filter(sources::node.is_not_null())
            .order(sources::n)
            .select((sources::name, sources::hash, sources::became, sources::node, sources::header))
            .load(self.conn)?;
        Ok(rows.into_iter().map(source).collect())
    }

    /// Returns all of the caller's files that became this item, in the order of their import.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn sources_of(&mut self, owner: UserId, became: &[u8; 16]) -> Result<Vec<SourceRecord>, StoreError> {
        let rows: Vec<SourceRecordColumns> = sources::table
            .inner_join(users::table.on(users::n.eq(sources::owner_n)))
            .filter(users::id.eq(owner.as_bytes().to_vec()))
            .filter(sources::became.eq(became.to_vec()))
            .order(sources::n)
            .select((sources::name, sources::hash, sources::became, sources::node, sources::header))
            .load(self.conn)?;
        Ok(rows.into_iter().map(source).collect())
    }
}

fn source((name, hash, became, node, header): SourceRecordColumns) -> SourceRecord {
    let node = node.and_then(|node| NodeId::from_slice(&node));
    SourceRecord { name, hash, became, node, header }
}

impl Tx<'_> {
    /// Stores what a file became, and replaces an earlier record.
    ///
    /// # Errors
    /// Returns an error if the owner does not exist, or if the database fails.
    pub fn put_source(&mut self, owner: UserId, source: &SourceRecord) -> Result<(), WriteError> {
        let owner_n = self.user_row(owner)?;
        let values = (
            sources::hash.eq(&source.hash),
            sources::became.eq(&source.became),
            sources::node.eq(source.node.map(|node| node.as_bytes().to_vec())),
            sources::header.eq(&source.header),
        );
        self.run(|conn| {
            let own = sources::table.filter(sources::owner_n.eq(owner_n)).filter(sources::name.eq(&source.name));
            if diesel::update(own).set(values.clone()).execute(conn)? == 0 {
                let newest: Option<i64> = sources::table.select(diesel::dsl::max(sources::n)).get_result(conn)?;
                let named = (
                    sources::n.eq(newest.unwrap_or(0) + 1),
                    sources::owner_n.eq(owner_n),
                    sources::name.eq(&source.name),
                    values,
                );
                diesel::insert_into(sources::table).values(named).execute(conn)?;
            }
            Ok(())
        })?;
        Ok(())
    }
}
