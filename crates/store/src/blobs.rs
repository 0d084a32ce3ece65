//! Content-addressed bytes, stored once and found by hash.

use std::cell::RefCell;
use std::collections::HashSet;

use diesel::prelude::*;

use super::conn::Conn;
use super::error::StoreError;
use super::row_numbers::{self, PermanentTable};
use super::tables::blobs;

thread_local! {
    /// The hashes put since garbage collection began; `None` while there is none. Only the writer thread puts
    /// blobs.
    static PUT: RefCell<Option<HashSet<Vec<u8>>>> = const { RefCell::new(None) };
}

/// Starts recording puts, because a blob that garbage collection found idle may be in use again.
pub fn start_recording_puts() {
    PUT.set(Some(HashSet::new()));
}

/// Stops recording puts.
pub fn stop_recording_puts() {
    PUT.set(None);
}

/// Deletes rows with these hashes, except those put since [`start_recording_puts`]. Returns their number and
/// total bytes.
pub fn delete_idle(conn: &mut Conn, idle: &[(i64, Vec<u8>)]) -> Result<(usize, i64), StoreError> {
    let is_idle = |hash: &Vec<u8>| PUT.with_borrow(|put| put.as_ref().is_some_and(|put| !put.contains(hash)));
    let (mut gone, mut bytes) = (0, 0);
    row_numbers::save_highest(conn, PermanentTable::Blobs)?;
    for (n, _) in idle.iter().filter(|(_, hash)| is_idle(hash)) {
        bytes += get(conn, *n)?.len();
        gone += diesel::delete(blobs::table.find(n)).execute(conn)?;
    }
    Ok((gone, i64::try_from(bytes).unwrap_or(i64::MAX)))
}

/// Stores bytes, equal bytes only once. Returns the row and the hash in hex.
pub fn put(conn: &mut Conn, bytes: &[u8]) -> Result<(i64, String), StoreError> {
    let hash = blake3::hash(bytes);
    PUT.with_borrow_mut(|put| put.as_mut().map(|put| put.insert(hash.as_bytes().to_vec())));
    let found: Option<i64> =
        blobs::table.filter(blobs::hash.eq(hash.as_bytes().to_vec())).select(blobs::n).get_result(conn).optional()?;
    let n = match found {
        Some(n) => n,
        None => {
            let n = row_numbers::highest(conn, PermanentTable::Blobs)?.unwrap_or(0) + 1;
            let row = (blobs::n.eq(n), blobs::hash.eq(hash.as_bytes().to_vec()), blobs::bytes.eq(bytes.to_vec()));
            diesel::insert_into(blobs::table).values(row).execute(conn)?;
            n
        }
    };
    Ok((n, hash.to_hex().to_string()))
}

/// Returns the bytes of a row.
pub fn get(conn: &mut Conn, n: i64) -> Result<Vec<u8>, StoreError> {
    let bytes = blobs::table.find(n).select(blobs::bytes).get_result(conn).optional()?;
    bytes.ok_or(StoreError::Inconsistent { table: "blobs", column: "n", row: n })
}

/// Returns the row of a hash in hex.
pub fn row_of(conn: &mut Conn, hex: &str) -> Result<i64, StoreError> {
    let bad = StoreError::Inconsistent { table: "blobs", column: "hash", row: 0 };
    let Ok(hash) = blake3::Hash::from_hex(hex) else { return Err(bad) };
    let of_hash = blobs::table.filter(blobs::hash.eq(hash.as_bytes().to_vec())).select(blobs::n);
    of_hash.get_result(conn).optional()?.ok_or(bad)
}

/// Returns the bytes of a hash in hex. Damaged bytes are treated as missing.
pub fn by_hash(conn: &mut Conn, hex: &str) -> Result<Vec<u8>, StoreError> {
    let bad = StoreError::Inconsistent { table: "blobs", column: "hash", row: 0 };
    let Ok(hash) = blake3::Hash::from_hex(hex) else { return Err(bad) };
    let bytes: Option<Vec<u8>> = blobs::table
        .filter(blobs::hash.eq(hash.as_bytes().to_vec()))
        .select(blobs::bytes)
        .get_result(conn)
        .optional()?;
    bytes.filter(|bytes| blake3::hash(bytes) == hash).ok_or(bad)
}
