//! The newest deltas of a session, on any branch.

use std::collections::HashMap;

use diesel::prelude::*;

use clotho_core::ids::SessionId;
use clotho_core::tree::Delta;

use super::error::StoreError;
use super::read::{StoreReader, pad_to_power_of_two};
use super::tables::{deltas, nodes, sessions};

impl StoreReader<'_> {
    /// Returns the deltas of the newest `most` nodes of a session, oldest first. Nodes without a delta are left
    /// out.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn newest_deltas(&mut self, session: SessionId, most: i64) -> Result<Vec<Delta>, StoreError> {
        let own = sessions::table.filter(sessions::id.eq(session.as_bytes().to_vec())).select(sessions::n);
        let Some(session_n) = own.get_result::<i64>(self.conn).optional()? else { return Ok(Vec::new()) };
        let newest: Vec<(i64, i32)> = nodes::table
            .filter(nodes::session_n.eq(session_n))
            .order(nodes::n.desc())
            .limit(most)
            .select((nodes::n, nodes::revision))
            .load(self.conn)?;
        let rows: Vec<i64> = newest.iter().map(|(n, _)| *n).collect();
        let revisions: HashMap<i64, i32> = newest.into_iter().collect();
        let mut found: Vec<(i64, i32, String)> = deltas::table
            .filter(deltas::node_n.eq_any(pad_to_power_of_two(&rows)))
            .select((deltas::node_n, deltas::revision, deltas::body))
            .load(self.conn)?;
        found.retain(|(n, revision, _)| revisions.get(n) == Some(revision));
        found.sort_unstable_by_key(|(n, ..)| *n);
        let read = |(n, _, body): (i64, i32, String)| {
            let value = serde_json::from_str(&body).ok().and_then(|value| Delta::from_json(&value));
            value.ok_or(StoreError::Inconsistent { table: "deltas", column: "body", row: n })
        };
        found.into_iter().map(read).collect()
    }
}
