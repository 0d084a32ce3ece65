//! Names for search results: the titles of sessions, and the name of the branch of a message.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Integer, Text};

use clotho_core::ids::{NodeId, SessionId, UserId};

use super::arrange::Label;
use super::conn::IdBytes;
use super::error::StoreError;
use super::node_views::NodePosition;
use super::prepared::prepared;
use super::read::StoreReader;
use super::stored::StoredSession;
use super::tables::{sessions, users};

/// The maximum number of named branches that are searched for the nodes.
const MAX_LABELLED_BRANCHES: usize = 64;
/// The maximum number of edges from a node up to a label that names it.
const MAX_LABEL_DISTANCE: i32 = 1_000;

#[derive(QueryableByName)]
struct LabelNameRow {
    #[diesel(sql_type = Text)]
    name: String,
}

impl StoreReader<'_> {
    /// Returns the caller's sessions with their titles, the most recently changed first, at most `limit`.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn titles(&mut self, caller: UserId, limit: i64) -> Result<Vec<(SessionId, String)>, StoreError> {
        let rows: Vec<(IdBytes, String)> = sessions::table
            .inner_join(users::table.on(users::n.eq(sessions::owner_n)))
            .filter(users::id.eq(caller.as_bytes().to_vec()))
            .filter(sessions::trashed.is_null())
            .order((sessions::updated.desc(), sessions::n.desc()))
            .limit(limit)
            .select((sessions::id, sessions::title))
            .load(self.conn)?;
        Ok(rows.into_iter().filter_map(|(id, title)| Some((SessionId::from_slice(id.bytes())?, title))).collect())
    }

    /// Returns branch names for nodes. A following label below the node comes first, the nearest one if there
    /// are several; otherwise the nearest label above. Nodes without a name are left out.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn branch_names(
        &mut self,
        stored: &StoredSession,
        spots: &[NodePosition],
    ) -> Result<HashMap<NodeId, String>, StoreError> {
        let labels: Vec<Label> = self.labels(stored)?.into_iter().filter(|label| label.is_in_tree).collect();
        let mut named = HashMap::new();
        if labels.is_empty() {
            return Ok(named);
        }
        let following: Vec<&Label> = labels.iter().filter(|label| label.following).collect();
        let ends: Vec<NodeId> = following.iter().map(|label| label.node).collect();
        let depths: HashMap<NodeId, i32> =
            self.node_positions(stored, &ends)?.iter().map(|spot| (spot.id, spot.depth)).collect();
        let mut ends: Vec<(i32, &Label)> =
            following.into_iter().filter_map(|label| Some((*depths.get(&label.node)?, label))).collect();
        ends.sort_by_key(|(depth, _)| *depth);
        for (_, label) in ends.into_iter().take(MAX_LABELLED_BRANCHES) {
            for node in self.positions_on_path(stored, label.node, spots)? {
                named.entry(node).or_insert_with(|| label.name.clone());
            }
        }
        for spot in spots {
            if !named.contains_key(&spot.id) {
                named.extend(self.nearest_label_above(stored, spot.id)?.map(|name| (spot.id, name)));
            }
        }
        Ok(named)
    }

    fn nearest_label_above(&mut self, stored: &StoredSession, node: NodeId) -> Result<Option<String>, StoreError> {
        let query = diesel::sql_query(
            "WITH RECURSIVE up (n, parent_n, steps) AS (SELECT n, parent_n, 0 FROM nodes WHERE session_n = $1 AND id = $2 \
               UNION ALL SELECT p.n, p.parent_n, up.steps + 1 FROM up JOIN nodes p ON p.n = up.parent_n \
               WHERE up.steps < $3) \
             SELECT labels.name FROM up JOIN labels ON labels.node_n = up.n ORDER BY up.steps, labels.name LIMIT 1",
        );
        let query = query.bind::<BigInt, _>(stored.n).bind::<Binary, _>(node.as_bytes().to_vec());
        let names: Vec<LabelNameRow> = prepared(query.bind::<Integer, _>(MAX_LABEL_DISTANCE)).load(self.conn)?;
        Ok(names.into_iter().next().map(|named| named.name))
    }
}
