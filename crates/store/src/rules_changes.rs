//! Finds change nodes where rules begin, so that several messages below one parent share one of them.

use diesel::prelude::*;

use clotho_core::ids::{NodeId, SessionId, UserId};
use clotho_core::tree::{Kind, Status};

use super::error::{StoreError, WriteError};
use super::read::{StoreReader, load_nodes};
use super::rules::{self, ActiveRules};
use super::stored::{StoredNode, StoredSession};
use super::tables::nodes;
use super::tx::Tx;

impl StoreReader<'_> {
    /// Returns the oldest change node right below a node with exactly these active rules.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn find_rules_change(
        &mut self,
        stored: &StoredSession,
        below: &StoredNode,
        wanted: &ActiveRules,
    ) -> Result<Option<StoredNode>, StoreError> {
        let changes: Vec<i64> = nodes::table
            .filter(nodes::parent_n.eq(below.n))
            .filter(nodes::kind.eq(Kind::Change.code()))
            .filter(nodes::is_hidden.eq(false))
            .order(nodes::n)
            .select(nodes::n)
            .load(self.conn)?;
        for placed in load_nodes(self.conn, stored.session.id, &changes)? {
            if self.rules(&placed)?.is_same(wanted) {
                return Ok(Some(placed));
            }
        }
        Ok(None)
    }

    /// Returns whether a reply is being generated right below a node.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn has_pending_reply(&mut self, placed: &StoredNode) -> Result<bool, StoreError> {
        let running = nodes::table
            .filter(nodes::parent_n.eq(placed.n))
            .filter(nodes::status.eq(Status::Generating.code()))
            .filter(nodes::is_hidden.eq(false));
        Ok(running.select(nodes::n).get_result::<i64>(self.conn).optional()?.is_some())
    }
}

impl Tx<'_> {
    /// Returns whether another request has added a change node right below `parent` with exactly these active
    /// rules.
    ///
    /// # Errors
    /// Returns an error if the session or node does not exist, or if the database fails.
    pub fn has_rules_change(
        &mut self,
        caller: UserId,
        session: SessionId,
        parent: NodeId,
        wanted: &ActiveRules,
    ) -> Result<bool, WriteError> {
        let stored = self.session(caller, session)?;
        let parent = self.row_in_tree(&stored, parent)?;
        // Rules are content-addressed: equal rules have the same row.
        let rules_n = self.run(|conn| rules::write(conn, wanted))?;
        let found = self.run(|conn| {
            let bridges = nodes::table
                .filter(nodes::parent_n.eq(parent.n))
                .filter(nodes::kind.eq(Kind::Change.code()))
                .filter(nodes::rules_n.eq(rules_n))
                .filter(nodes::is_hidden.eq(false));
            Ok(bridges.select(nodes::n).get_result::<i64>(conn).optional()?.is_some())
        })?;
        Ok(found)
    }
}
