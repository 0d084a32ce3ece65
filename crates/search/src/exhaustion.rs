//! Tells a system without free files or memory from a damaged index.

use std::io;

use tantivy::TantivyError;
use tantivy::directory::error::{OpenDirectoryError, OpenReadError, OpenWriteError};

/// Returns whether the system has no more open files or memory.
pub(super) fn is_exhausted(error: &TantivyError) -> bool {
    let cause = match error {
        TantivyError::IoError(cause)
        | TantivyError::OpenReadError(OpenReadError::IoError { io_error: cause, .. })
        | TantivyError::OpenWriteError(OpenWriteError::IoError { io_error: cause, .. })
        | TantivyError::OpenDirectoryError(OpenDirectoryError::IoError { io_error: cause, .. }) => cause,
        _ => return false,
    };
    /// `ENFILE` and `EMFILE`: the system, or this process, has too many open files.
    const TOO_MANY_FILES: [i32; 2] = [23, 24];
    let is_files = cfg!(unix) && cause.raw_os_error().is_some_and(|code| TOO_MANY_FILES.contains(&code));
    is_files || cause.kind() == io::ErrorKind::OutOfMemory
}
