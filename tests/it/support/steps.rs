//! How much work a statement is to the database itself: the steps of its virtual machine. They do not depend on the
//! machine's speed, so growth can be asserted.

#![expect(unsafe_code, reason = "only the C interface tells how many steps a statement took")]

use std::ffi::CString;
use std::path::Path;
use std::ptr;

use libsqlite3_sys as ffi;

/// Runs a statement over integers to its end and counts the steps.
pub fn steps(database: &Path, sql: &str, binds: &[i64]) -> i32 {
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
