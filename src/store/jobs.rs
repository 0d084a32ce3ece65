//! What is kept of files that come in, for those who ask after a restart: that they were handed in, and which session each
//! became. How far one is stands in memory (`transfer/`); what failed is forgotten with it.

use diesel::prelude::*;

use crate::clock::Time;
use crate::ids::{JobId, SessionId, UserId};

use super::error::{StoreError, WriteError};
use super::read::Reader;
use super::tables::{jobs, users};
use super::tx::Tx;

/// How long a job is remembered, in milliseconds: a week.
const KEPT_MS: i64 = 7 * 24 * 60 * 60 * 1_000;

impl Reader<'_> {
    /// The session that a caller's job brought in, or none if it did not end; nothing if there is no such job.
    ///
    /// # Errors
    /// The database fails.
    pub fn job(&mut self, owner: UserId, id: JobId) -> Result<Option<Option<SessionId>>, StoreError> {
        let session: Option<Option<Vec<u8>>> = jobs::table
            .inner_join(users::table.on(users::n.eq(jobs::owner_n)))
            .filter(users::id.eq(owner.as_bytes().to_vec()))
            .filter(jobs::id.eq(id.as_bytes().to_vec()))
            .select(jobs::session)
            .get_result(self.conn)
            .optional()?;
        Ok(session.map(|session| session.and_then(|id| SessionId::from_slice(&id))))
    }
}

impl Tx<'_> {
    /// A file was handed in. What is older than a week is forgotten.
    ///
    /// # Errors
    /// The owner does not exist, or the database fails.
    pub fn begin_job(&mut self, owner: UserId, id: JobId, at: Time) -> Result<(), WriteError> {
        let owner_n = self.user_n(owner)?;
        self.run(|conn| {
            diesel::delete(jobs::table.filter(jobs::began.lt(at.0.saturating_sub(KEPT_MS)))).execute(conn)?;
            let newest: Option<i64> = jobs::table.select(diesel::dsl::max(jobs::n)).get_result(conn)?;
            let row = (
                jobs::n.eq(newest.unwrap_or(0) + 1),
                jobs::id.eq(id.as_bytes().to_vec()),
                jobs::owner_n.eq(owner_n),
                jobs::began.eq(at.0),
            );
            diesel::insert_into(jobs::table).values(row).execute(conn)?;
            Ok(())
        })?;
        Ok(())
    }

    /// The file has become a session; in the commit that makes it one.
    ///
    /// # Errors
    /// The database fails.
    pub fn end_job(&mut self, id: JobId, session: SessionId) -> Result<(), WriteError> {
        let became = jobs::session.eq(Some(session.as_bytes().to_vec()));
        let of_id = jobs::table.filter(jobs::id.eq(id.as_bytes().to_vec()));
        self.run(|conn| Ok(diesel::update(of_id).set(became).execute(conn)?))?;
        Ok(())
    }

    /// The file was refused, and the caller knows.
    ///
    /// # Errors
    /// The database fails.
    pub fn forget_job(&mut self, id: JobId) -> Result<(), WriteError> {
        let of_id = jobs::table.filter(jobs::id.eq(id.as_bytes().to_vec()));
        self.run(|conn| Ok(diesel::delete(of_id).execute(conn)?))?;
        Ok(())
    }
}
