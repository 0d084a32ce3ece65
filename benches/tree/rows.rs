//! Counts written rows, by a database hook on every connection that is opened.

#![expect(unsafe_code, reason = "only the C interface tells which rows are written")]

use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use libsqlite3_sys as ffi;

static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// Starts counting the rows of new connections.
pub fn start_counting() {
    // SAFETY: the entry point has the signature that SQLite calls, and lives as long as the program.
    let result = unsafe { ffi::sqlite3_auto_extension(Some(opened)) };
    assert_eq!(result, ffi::SQLITE_OK);
}

/// Returns the number of rows inserted, changed and deleted so far.
pub fn written_row_count() -> u64 {
    WRITTEN.load(Ordering::Relaxed)
}

unsafe extern "C" fn opened(db: *mut ffi::sqlite3, _: *mut *mut c_char, _: *const ffi::sqlite3_api_routines) -> c_int {
    // SAFETY: SQLite passes an open connection, and the hook needs no data of its own.
    unsafe { ffi::sqlite3_update_hook(db, Some(row), ptr::null_mut()) };
    ffi::SQLITE_OK
}

unsafe extern "C" fn row(_: *mut c_void, _: c_int, _: *const c_char, _: *const c_char, _: ffi::sqlite3_int64) {
    WRITTEN.fetch_add(1, Ordering::Relaxed);
}
