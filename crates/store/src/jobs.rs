//! Import jobs that survive a restart: that a file was submitted, and which session it became. Progress and
//! failures are kept only in memory (`transfer/`).

use diesel::prelude::*;

use clotho_core::clock::Time;
use clotho_core::ids::{JobId, SessionId, UserId};

use super::error::{StoreError, WriteError};
use super::read::StoreReader;
use super::tables::{jobs, users};
use super::tx::Tx;

/// How long a job is kept: a week in milliseconds.
const RETENTION_MS: i64 = 7 * 24 * 60 * 60 * 1_000;

/// The stored result of a job. If neither field is set, the job has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRecord {
    /// The imported session.
    pub session: Option<SessionId>,
    /// The report of an import from another program, as JSON.
    pub report: Option<String>,
}

impl StoreReader<'_> {
    /// Returns the stored data of one of the caller's jobs.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn job(&mut self, owner: UserId, id: JobId) -> Result<Option<JobRecord>, StoreError> {
        let stored: Option<(Option<Vec<u8>>, Option<String>)> = jobs::table
            .inner_join(users::table.on(users::n.eq(jobs::owner_n)))
            .filter(users::id.eq(owner.as_bytes().to_vec()))
            .filter(jobs::id.eq(id.as_bytes().to_vec()))
            .select((jobs::session, jobs::report))
            .get_result(self.conn)
            .optional()?;
        Ok(stored.map(|(session, report)| {
            let session = session.and_then(|id| SessionId::from_slice(&id));
            JobRecord { session, report }
        }))
    }
}

impl Tx<'_> {
    /// Adds a job for a submitted file, and deletes jobs older than a week.
    ///
    /// # Errors
    /// Returns an error if the owner does not exist, or if the database fails.
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

    /// Sets the session that the file became, in the same commit that creates it.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn end_job(&mut self, id: JobId, session: SessionId) -> Result<(), WriteError> {
        let became = jobs::session.eq(Some(session.as_bytes().to_vec()));
        let of_id = jobs::table.filter(jobs::id.eq(id.as_bytes().to_vec()));
        self.run(|conn| Ok(diesel::update(of_id).set(became).execute(conn)?))?;
        Ok(())
    }

    /// Sets the report of an import from another program.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn end_job_with_report(&mut self, id: JobId, report: &str) -> Result<(), WriteError> {
        let of_id = jobs::table.filter(jobs::id.eq(id.as_bytes().to_vec()));
        self.run(|conn| Ok(diesel::update(of_id).set(jobs::report.eq(Some(report))).execute(conn)?))?;
        Ok(())
    }

    /// Deletes the job of a file that was refused after its user was told.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn delete_job(&mut self, id: JobId) -> Result<(), WriteError> {
        let of_id = jobs::table.filter(jobs::id.eq(id.as_bytes().to_vec()));
        self.run(|conn| Ok(diesel::delete(of_id).execute(conn)?))?;
        Ok(())
    }
}
