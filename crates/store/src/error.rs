//! The errors of the store. [`StoreError`] is a failure of the database or the disk. A mistake of the caller is
//! a [`TreeError`] and rolls back only that caller's request.

use diesel::result::{DatabaseErrorInformation, DatabaseErrorKind, Error};

use clotho_core::tree::edit::TreeError;

/// A failure of the database or the disk. Nothing of the request was written.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    #[error("the disk is full")]
    Full,
    /// The database reached its quota, but the disk has space.
    #[error("the database has reached its quota")]
    Quota,
    /// The data directory is read-only.
    #[error("the database is read-only")]
    ReadOnly,
    /// Another process holds the lock.
    #[error("the database is locked by another process")]
    Locked,
    /// A column has an invalid value: the database was damaged or written by something else.
    #[error("inconsistent row: {table}.{column} of {row}")]
    Inconsistent {
        table: &'static str,
        column: &'static str,
        /// The row number.
        row: i64,
    },
    /// The database was written by a newer version of this program.
    #[error("the database has the newer schema {0}; this program cannot read it")]
    Newer(String),
    /// The database has a trigger or a view, which this program never makes.
    #[error("the database has the {0}, which this program did not make")]
    ForeignSchema(String),
    /// This version cannot open the database.
    #[error("cannot open the database: {0}")]
    Open(String),
    /// Nobody waits for the result of a read any more.
    #[error("nobody waits for this read any more")]
    Abandoned,
    /// The store has been closed.
    #[error("the store is closed")]
    Closed,
    /// Any other error of the database.
    #[error("database: {0}")]
    Database(String),
}

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        match &error {
            Error::DatabaseError(DatabaseErrorKind::ReadOnlyTransaction, _) => Self::ReadOnly,
            Error::DatabaseError(_, info) => from_message(info.as_ref()),
            _ => Self::Database(error.to_string()),
        }
    }
}

fn from_message(info: &(dyn DatabaseErrorInformation + Send + Sync)) -> StoreError {
    let message = info.message();
    let says = |words: &str| message.contains(words);
    if says("disk is full") {
        StoreError::Full
    } else if says("readonly") || says("read-only") {
        StoreError::ReadOnly
    } else if says("locked") {
        StoreError::Locked
    } else {
        StoreError::Database(message.to_owned())
    }
}

/// The reason why a write failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WriteError {
    /// The caller's request is invalid; other requests of the group are not affected.
    #[error(transparent)]
    Refused(#[from] TreeError),
    /// The database failed; the whole group was rolled back.
    #[error(transparent)]
    Failed(#[from] StoreError),
}

impl From<Error> for WriteError {
    fn from(error: Error) -> Self {
        Self::Failed(error.into())
    }
}
