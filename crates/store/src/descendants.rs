//! Queries over all nodes below a node.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Nullable};

use clotho_core::ids::NodeId;

use super::error::StoreError;
use super::prepared::prepared;
use super::read::StoreReader;
use super::rules::{self, ActiveRules};
use super::stored::StoredSession;

#[derive(QueryableByName)]
struct NodeRulesRow {
    #[diesel(sql_type = Binary)]
    id: Vec<u8>,
    #[diesel(sql_type = Nullable<BigInt>)]
    rules_n: Option<i64>,
}

impl StoreReader<'_> {
    /// Returns the nodes at and below a node whose active rules match `fits`.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn descendants_with_rules(
        &mut self,
        stored: &StoredSession,
        node: NodeId,
        fits: fn(&ActiveRules) -> bool,
    ) -> Result<Vec<NodeId>, StoreError> {
        let query = diesel::sql_query(
            "WITH RECURSIVE down (n) AS (SELECT n FROM nodes WHERE session_n = $1 AND id = $2 UNION ALL \
               SELECT c.n FROM down JOIN nodes c ON c.parent_n = down.n) \
             SELECT nodes.id, nodes.rules_n FROM down JOIN nodes ON nodes.n = down.n",
        );
        let query = query.bind::<BigInt, _>(stored.n).bind::<Binary, _>(node.as_bytes().to_vec());
        let rows: Vec<NodeRulesRow> = prepared(query).load(self.conn)?;
        let mut cache: HashMap<i64, bool> = HashMap::new();
        let mut found = Vec::new();
        for NodeRulesRow { id, rules_n } in rows {
            let Some(n) = rules_n else { continue };
            let is_wanted = match cache.get(&n) {
                Some(is_wanted) => *is_wanted,
                None => {
                    let rules = self.caches.rules(n, || rules::read(self.conn, n))?;
                    *cache.entry(n).or_insert(fits(&rules))
                }
            };
            found.extend(NodeId::from_slice(&id).filter(|_| is_wanted));
        }
        Ok(found)
    }
}
