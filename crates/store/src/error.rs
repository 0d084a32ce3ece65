//! What can go wrong below the store's door. [`StoreError`] is the database's fault or the disk's; a caller's own fault is
//! a [`TreeError`] and rolls back only that caller's request.

use diesel::result::{DatabaseErrorInformation, DatabaseErrorKind, Error};

use clotho_core::tree::edit::TreeError;

/// The database or the disk failed. Nothing of the request was kept.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The disk is full.
    #[error("the disk is full")]
    Full,
    /// The database has grown to its quota; the disk has room.
    #[error("the database has reached its quota")]
    Quota,
    /// The data directory cannot be written.
    #[error("the database is read-only")]
    ReadOnly,
    /// Another process holds the database.
    #[error("the database is locked by another process")]
    Locked,
    /// A row does not say what it must; the database was damaged or written by something else.
    #[error("inconsistent row: {table}.{column} of {row}")]
    Inconsistent {
        /// The table.
        table: &'static str,
        /// The column.
        column: &'static str,
        /// The row's number.
        row: i64,
    },
    /// The database was written by a newer version of this program.
    #[error("the database has the newer schema {0}; this program cannot read it")]
    Newer(String),
    /// This version cannot open it.
    #[error("cannot open the database: {0}")]
    Open(String),
    /// The store has been closed.
    #[error("the store is closed")]
    Closed,
    /// Anything else the database said.
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

/// Why a write was not carried out.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WriteError {
    /// The caller's request does not fit; other requests of the group are not touched.
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
