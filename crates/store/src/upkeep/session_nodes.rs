//! All nodes of one session in memory without their texts, a few hundred bytes each. The order has parents
//! before children, so that values derived from the path are computed in one pass at any depth.

use std::collections::HashMap;

use diesel::prelude::*;

use crate::conn::Conn;
use crate::error::StoreError;
use crate::rows::NodeRow;
use crate::tables::{edits, nodes};

/// The nodes of a session.
pub struct SessionNodes {
    pub rows: Vec<NodeRow>,
    /// The index of each row, by row number.
    positions: HashMap<i64, usize>,
    /// Indexes of the rows, parents first, without rows that are not connected to a root.
    pub order: Vec<usize>,
}

impl SessionNodes {
    /// Reads the nodes of a session.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn read(conn: &mut Conn, session_n: i64) -> Result<Self, StoreError> {
        let own = nodes::table.filter(nodes::session_n.eq(session_n)).order(nodes::n);
        let rows: Vec<NodeRow> = own.select(NodeRow::as_select()).load(conn)?;
        let places: HashMap<i64, usize> = rows.iter().enumerate().map(|(at, row)| (row.n, at)).collect();
        let mut below: HashMap<usize, Vec<usize>> = HashMap::new();
        for (at, row) in rows.iter().enumerate() {
            if let Some(parent) = row.parent_n.and_then(|n| places.get(&n)) {
                below.entry(*parent).or_default().push(at);
            }
        }
        let mut order: Vec<usize> = (0..rows.len()).filter(|at| rows.get(*at).is_some_and(is_top)).collect();
        let mut done = 0;
        while let Some(at) = order.get(done) {
            let children = below.remove(at);
            order.extend(children.into_iter().flatten());
            done += 1;
        }
        Ok(Self { rows, positions: places, order })
    }

    /// Returns the index and the row of a node.
    pub fn find(&self, n: i64) -> Option<(usize, &NodeRow)> {
        let at = *self.positions.get(&n)?;
        Some((at, self.rows.get(at)?))
    }

    /// Iterates over the rows in order, each with its parent.
    pub fn walk(&self) -> impl Iterator<Item = (usize, &NodeRow, Option<(usize, &NodeRow)>)> {
        self.order.iter().filter_map(|at| {
            let row = self.rows.get(*at)?;
            Some((*at, row, row.parent_n.and_then(|n| self.find(n))))
        })
    }

    /// Returns for each row the number of the last arrangement edit at or above it. A keyframe that was cut
    /// under an earlier edit is outdated (`domain.md` 3.1).
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn last_edits(&self, conn: &mut Conn, session_n: i64) -> Result<Vec<i64>, StoreError> {
        let all: Vec<(i64, i64)> =
            edits::table.filter(edits::session_n.eq(session_n)).select((edits::node_n, edits::edit)).load(conn)?;
        let mut own: HashMap<i64, i64> = HashMap::new();
        for (node_n, edit) in all {
            let last = own.entry(node_n).or_default();
            *last = edit.max(*last);
        }
        let mut last = vec![0; self.rows.len()];
        for (at, row, parent) in self.walk() {
            let above = parent.and_then(|(at, _)| last.get(at)).copied().unwrap_or(0);
            if let Some(edit) = last.get_mut(at) {
                *edit = above.max(own.get(&row.n).copied().unwrap_or(0));
            }
        }
        Ok(last)
    }
}

fn is_top(row: &NodeRow) -> bool {
    row.parent_n.is_none()
}
