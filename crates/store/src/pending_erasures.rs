//! Remains: what was destroyed is out of everybody's sight at once, and its bytes may lie in files for a while: in the
//! write-ahead log, in the search index, in texts that nothing names any more. The commit that destroys leaves a mark, and
//! whoever has wiped all of them takes it away (`docs/domain.md` 2.16).

use diesel::prelude::*;

use super::conn::Conn;
use super::error::{StoreError, WriteError};
use super::read::StoreReader;
use super::tables::remains;
use super::tx::Tx;

/// What was destroyed until a moment and is still marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingErasure {
    newest: i64,
    /// Up to here the search index must have heard of the log before it can be wiped.
    pub cursor: i64,
}

/// Marks that something is destroyed, in the transaction that does it.
pub fn mark_erasure(conn: &mut Conn) -> QueryResult<()> {
    let newest: Option<i64> = remains::table.select(diesel::dsl::max(remains::n)).get_result(conn)?;
    diesel::insert_into(remains::table).values(remains::n.eq(newest.unwrap_or(0) + 1)).execute(conn)?;
    Ok(())
}

impl StoreReader<'_> {
    /// What was destroyed and may still lie in files; nothing if no mark stands.
    ///
    /// # Errors
    /// The database fails.
    pub fn pending_erasure(&mut self) -> Result<Option<PendingErasure>, StoreError> {
        let newest: Option<i64> = remains::table.select(diesel::dsl::max(remains::n)).get_result(self.conn)?;
        newest.map(|newest| Ok(PendingErasure { newest, cursor: self.newest_cursor()? })).transpose()
    }
}

impl Tx<'_> {
    /// Takes the marks away of what was wiped; those that came meanwhile stay.
    ///
    /// # Errors
    /// The database fails.
    pub fn clear_erasure(&mut self, wiped: PendingErasure) -> Result<(), WriteError> {
        let seen = remains::table.filter(remains::n.le(wiped.newest));
        self.run(|conn| Ok(diesel::delete(seen).execute(conn)?))?;
        Ok(())
    }
}
