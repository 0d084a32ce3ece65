//! Pending erasures: deleted data is invisible at once, but its bytes may remain in files for a while. They can
//! be in the write-ahead log, in the search index or in unused blobs. The commit that deletes records a pending
//! erasure, which is cleared after the bytes are wiped (`docs/domain.md` 2.16).

use diesel::prelude::*;

use super::conn::Conn;
use super::error::{StoreError, WriteError};
use super::read::StoreReader;
use super::tables::remains;
use super::tx::Tx;

/// All erasures that were pending at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingErasure {
    newest: i64,
    /// The log cursor that the search index must have reached before it can be wiped.
    pub cursor: i64,
}

/// Records a pending erasure in the transaction that deletes data.
pub fn mark_erasure(conn: &mut Conn) -> QueryResult<()> {
    let newest: Option<i64> = remains::table.select(diesel::dsl::max(remains::n)).get_result(conn)?;
    diesel::insert_into(remains::table).values(remains::n.eq(newest.unwrap_or(0) + 1)).execute(conn)?;
    Ok(())
}

impl StoreReader<'_> {
    /// Returns the pending erasures; `None` if there are none.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn pending_erasure(&mut self) -> Result<Option<PendingErasure>, StoreError> {
        let newest: Option<i64> = remains::table.select(diesel::dsl::max(remains::n)).get_result(self.conn)?;
        newest.map(|newest| Ok(PendingErasure { newest, cursor: self.newest_cursor()? })).transpose()
    }
}

impl Tx<'_> {
    /// Clears the erasures that are done; newer ones stay.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn clear_erasure(&mut self, wiped: PendingErasure) -> Result<(), WriteError> {
        let seen = remains::table.filter(remains::n.le(wiped.newest));
        self.run(|conn| Ok(diesel::delete(seen).execute(conn)?))?;
        Ok(())
    }
}
