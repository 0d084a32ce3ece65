//! What is kept of files that come in, for those who ask after a restart: that they were handed in, and which session each
//! became. How far one is stands in memory (`transfer/`); what failed is forgotten with it.

use diesel::prelude::*;

use clotho_core::clock::Time;
use clotho_core::ids::{JobId, SessionId, UserId};

use super::error::{StoreError, WriteError};
use super::read::StoreReader;
use super::tables::{jobs, users};
use super::tx::Tx;

/// How long a job is remembered, in milliseconds: a week.
const RETENTION_MS: i64 = 7 * 24 * 60 * 60 * 1_000;

/// What is kept of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRecord {
    /// The session that it has brought.
    pub session: Option<SessionId>,
    /// The report of what it has brought from another program, as JSON. With neither it has not ended.
    pub report: Option<String>,
}

impl StoreReader<'_> {
    /// What is kept of a caller's job.
    ///
    /// # Errors
    /// The database fails.
    pub fn job(&mut self, owner: UserId, id: JobId) -> Result<Option<JobRecord>, StoreError> {
        let kept: Option<(Option<Vec<u8>>, Option<String>)> = jobs::table
            .inner_join(users::table.on(users::n.eq(jobs::owner_n)))
            .filter(users::id.eq(owner.as_bytes().to_vec()))
            .filter(jobs::id.eq(id.as_bytes().to_vec()))
            .select((jobs::session, jobs::report))
            .get_result(self.conn)
            .optional()?;
        Ok(kept.map(|(session, report)| {
            let session = session.and_then(|id| SessionId::from_slice(&id));
            JobRecord { session, report }
        }))
    }
}

impl Tx<'_> {
    /// A file was handed in. What is older than a week is forgotten.
    ///
    /// # Errors
    /// The owner does not exist, or the database fails.
    pub fn begin_job(&mut self, owner: UserId, id: JobId, at: Time) -> Result<(), WriteError> {
        let owner_n = self.user_row(owner)?;
        self.run(|conn| {
            diesel::delete(jobs::table.filter(jobs::began.lt(at.0.saturating_sub(RETENTION_MS)))).execute(conn)?;
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

    /// The files of another program are in; with the report of what became of each.
    ///
    /// # Errors
    /// The database fails.
    pub fn end_job_with_report(&mut self, id: JobId, report: &str) -> Result<(), WriteError> {
        let of_id = jobs::table.filter(jobs::id.eq(id.as_bytes().to_vec()));
        self.run(|conn| Ok(diesel::update(of_id).set(jobs::report.eq(Some(report))).execute(conn)?))?;
        Ok(())
    }

    /// The file was refused, and the caller knows.
    ///
    /// # Errors
    /// The database fails.
    pub fn delete_job(&mut self, id: JobId) -> Result<(), WriteError> {
        let of_id = jobs::table.filter(jobs::id.eq(id.as_bytes().to_vec()));
        self.run(|conn| Ok(diesel::delete(of_id).execute(conn)?))?;
        Ok(())
    }
}
