//! Measures the work of a statement in steps of SQLite's virtual machine. The number does not depend on the speed of
//! the machine, so tests can assert how it grows.

#![expect(unsafe_code, reason = "only the C interface tells how many steps a statement took")]

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};

use libsqlite3_sys as ffi;

/// Runs a statement with integer parameters to its end and returns the number of steps.
pub fn count_vm_steps(database: &Path, sql: &str, binds: &[i64]) -> i32 {
    let path = CString::new(database.to_str().unwrap()).unwrap();
    let sql = CString::new(sql).unwrap();
    let (mut conn, mut statement) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: both handles are made, used and closed here, in this order, on this thread, and the texts outlive them.
    unsafe {
        assert_eq!(ffi::sqlite3_open(path.as_ptr(), &mut conn), ffi::SQLITE_OK);
        assert_eq!(ffi::sqlite3_prepare_v2(conn, sql.as_ptr(), -1, &mut statement, ptr::null_mut()), ffi::SQLITE_OK);
        for (position, value) in (1..).zip(binds) {
            assert_eq!(ffi::sqlite3_bind_int64(statement, position, *value), ffi::SQLITE_OK);
        }
        while ffi::sqlite3_step(statement) == ffi::SQLITE_ROW {}
        let steps = ffi::sqlite3_stmt_status(statement, ffi::SQLITE_STMTSTATUS_VM_STEP, 0);
        assert_eq!(ffi::sqlite3_finalize(statement), ffi::SQLITE_OK);
        ffi::sqlite3_close(conn);
        steps
    }
}

/// Calls of the progress handler per thread, over all connections opened since [`start_counting`].
static PROGRESS_CALLS: Mutex<Option<HashMap<ThreadId, &'static Mutex<u64>>>> = Mutex::new(None);

thread_local! {
    static THREAD_COUNTER: Cell<Option<&'static Mutex<u64>>> = const { Cell::new(None) };
}

/// Starts counting for new connections. Call it before opening a store.
pub fn start_counting() {
    // SAFETY: the entry point has the signature that the database calls it with, and lives as long as the program.
    let result = unsafe { ffi::sqlite3_auto_extension(Some(install_progress_handler)) };
    assert_eq!(result, ffi::SQLITE_OK);
}

/// Returns how often SQLite called the progress handler on a thread during `work`. This is a measure of work over any
/// statements.
pub fn count_progress_calls(thread: ThreadId, work: impl FnOnce()) -> u64 {
    let so_far = || {
        let all = PROGRESS_CALLS.lock().unwrap_or_else(PoisonError::into_inner);
        let own = all.as_ref().and_then(|all| all.get(&thread)).copied();
        own.map_or(0, |own| *own.lock().unwrap_or_else(PoisonError::into_inner))
    };
    let before = so_far();
    work();
    so_far() - before
}

unsafe extern "C" fn install_progress_handler(
    db: *mut ffi::sqlite3,
    _: *mut *mut c_char,
    _: *const ffi::sqlite3_api_routines,
) -> c_int {
    // SAFETY: SQLite passes an open connection, and the handler needs no data.
    unsafe { ffi::sqlite3_progress_handler(db, 1, Some(count_progress_call), ptr::null_mut()) };
    ffi::SQLITE_OK
}

unsafe extern "C" fn count_progress_call(_: *mut c_void) -> c_int {
    let own = THREAD_COUNTER.with(|own| {
        own.get().unwrap_or_else(|| {
            let counter: &'static Mutex<u64> = Box::leak(Box::new(Mutex::new(0)));
            let mut all = PROGRESS_CALLS.lock().unwrap_or_else(PoisonError::into_inner);
            all.get_or_insert_default().insert(thread::current().id(), counter);
            own.set(Some(counter));
            counter
        })
    });
    *own.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    0
}
