//! The only place that permanently deletes nodes, texts and log entries (`docs/domain.md` 2.16): purged ones,
//! and the rows of sessions that were given up. Their row numbers are never reused. A pending erasure stays
//! recorded until their bytes are wiped.

use diesel::prelude::*;

use super::conn::Conn;
use super::pending_erasures;
use super::read::pad_to_power_of_two;
use super::row_numbers::{self, PermanentTable};
use super::tables::{deltas, fragments, keyframes, labels, nodes, operations, segments, texts, traces};
use super::{summaries, vectors};

/// The number of rows in one statement.
const BATCH_SIZE: usize = 512;

/// Deletes nodes with everything that belongs to them; returns the number of deleted rows. No remaining node may
/// be below one of them.
pub fn delete_nodes(conn: &mut Conn, rows: &[i64]) -> QueryResult<usize> {
    row_numbers::save_highest(conn, PermanentTable::Nodes)?;
    pending_erasures::mark_erasure(conn)?;
    let mut gone = 0;
    for some in rows.chunks(BATCH_SIZE).map(pad_to_power_of_two) {
        gone += diesel::delete(labels::table.filter(labels::node_n.eq_any(&some))).execute(conn)?;
        gone += diesel::delete(fragments::table.filter(fragments::top_n.eq_any(&some))).execute(conn)?;
        gone += diesel::delete(deltas::table.filter(deltas::node_n.eq_any(&some))).execute(conn)?;
        gone += diesel::delete(keyframes::table.filter(keyframes::node_n.eq_any(&some))).execute(conn)?;
        gone += diesel::delete(traces::table.filter(traces::node_n.eq_any(&some))).execute(conn)?;
        gone += diesel::delete(segments::table.filter(segments::node_n.eq_any(&some))).execute(conn)?;
        vectors::delete_for_nodes(conn, &some)?;
        summaries::delete_for_nodes(conn, &some)?;
        gone += diesel::delete(texts::table.filter(texts::n.eq_any(&some))).execute(conn)?;
        gone += diesel::delete(nodes::table.filter(nodes::n.eq_any(&some))).execute(conn)?;
    }
    Ok(gone)
}

/// Deletes log entries of a session that nobody owns any more; returns their number.
pub fn delete_operations(conn: &mut Conn, rows: &[i64]) -> QueryResult<usize> {
    row_numbers::save_highest(conn, PermanentTable::Operations)?;
    pending_erasures::mark_erasure(conn)?;
    diesel::delete(operations::table.filter(operations::n.eq_any(rows))).execute(conn)
}
