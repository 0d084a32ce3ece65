//! What came in from files of other programs: what each has become, and what it said that has no other place here. A file
//! is known again by its name, a story by a place in it that a grown copy still has. To keep more of a file: a column here.

use diesel::prelude::*;

use clotho_core::ids::{NodeId, SessionId, UserId};

use super::error::{StoreError, WriteError};
use super::read::{StoreReader, find_any_session};
use super::tables::{sources, users};
use super::tx::Tx;

/// A file, or a place in a story, and what it has become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRecord {
    /// By what it is known again.
    pub name: String,
    /// The hash of the file; nothing while not all of it is in.
    pub hash: Option<Vec<u8>>,
    /// The sixteen bytes of the id of what it has become.
    pub became: Vec<u8>,
    /// The node at which a chat ends.
    pub node: Option<NodeId>,
    /// What a chat says of itself beside its messages, as JSON.
    pub header: Option<String>,
}

impl SourceRecord {
    /// What is known by a name from now on.
    pub fn new(name: impl Into<String>, became: &[u8; 16]) -> Self {
        Self { name: name.into(), hash: None, became: became.to_vec(), node: None, header: None }
    }
}

/// The columns of a source.
type SourceRecordColumns = (String, Option<Vec<u8>>, Vec<u8>, Option<Vec<u8>>, Option<String>);

/// Where something is that came in once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionPresence {
    /// Its owner has it.
    Present,
    /// It waits in the trash.
    InTrash,
    /// It is gone for good.
    Deleted,
}

impl StoreReader<'_> {
    /// Where a session of the caller's is.
    ///
    /// # Errors
    /// The database fails or a row is damaged.
    pub fn session_presence(&mut self, owner: UserId, session: SessionId) -> Result<SessionPresence, StoreError> {
        let held = find_any_session(self.conn, session)?.filter(|held| held.session.owner == owner);
        Ok(match held {
            Some(held) if held.is_trashed => SessionPresence::InTrash,
            Some(_) => SessionPresence::Present,
            None => SessionPresence::Deleted,
        })
    }

    /// What one of the caller's files has become.
    ///
    /// # Errors
    /// The database fails.
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

    /// The caller's chats that had these bytes when they came in.
    ///
    /// # Errors
    /// The database fails.
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

    /// Everything of the caller's that has become this thing, in the order in which it came.
    ///
    /// # Errors
    /// The database fails or a row is damaged.
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
    /// Keeps what a file has become, in place of what it had become before.
    ///
    /// # Errors
    /// The owner does not exist, or the database fails.
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
