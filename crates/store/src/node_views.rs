//! Reads many nodes at once for views of a tree: a page with siblings and notes, the whole tree, its outline.
//! Each read takes a few statements, whatever the number of nodes.

use std::collections::{HashMap, HashSet};

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Text};

use clotho_core::ids::{FragmentId, NodeId};
use clotho_core::tree::{Delta, Kind, NodeNote, NodeProblem, SiblingPosition};

use super::conn::{Conn, IdBytes};
use super::error::StoreError;
use super::page::NodePage;
use super::prepared::prepared;
use super::read::{StoreReader, load_nodes, node_row, pad_to_power_of_two};
use super::replies::is_generating;
use super::stored::{StoredNode, StoredSession};
use super::tables::{deltas, fragments, nodes, texts};

/// The maximum number of values bound in one statement.
const BATCH_SIZE: usize = 500;

/// A node with its siblings, children, notes and problems.
#[derive(Debug, Clone)]
pub struct NodeDetails {
    pub node: StoredNode,
    /// Its children, in creation order.
    pub children: Vec<NodeId>,
    /// Its position among its siblings.
    pub siblings: SiblingPosition,
    /// The lines shown below the message.
    pub notes: Vec<NodeNote>,
    /// Problems from when the node was made.
    pub problems: Vec<NodeProblem>,
}

/// The columns of one node of an outline.
#[derive(Queryable)]
struct OutlineRow {
    n: i64,
    parent_n: Option<i64>,
    depth: i32,
    id: IdBytes,
    role: i16,
    kind: i16,
    status: i16,
    is_enabled: bool,
    is_muted: bool,
    is_unread: bool,
    since_keyframe: i32,
    beginning: String,
}

/// One node of an outline: everything but the full texts.
#[derive(Debug, Clone)]
pub struct TreeOutlineNode {
    pub id: NodeId,
    /// The index of its parent in the list; `None` for the root.
    pub parent: Option<usize>,
    /// The numeric code of its role.
    pub role: i16,
    /// The numeric code of its kind.
    pub kind: i16,
    /// The numeric code of its status.
    pub status: i16,
    /// Whether it is enabled.
    pub is_enabled: bool,
    /// Whether its delta is muted.
    pub is_muted: bool,
    /// Whether it is a reply that nobody has seen.
    pub is_unread: bool,
    /// Whether it has a keyframe.
    pub is_keyframe: bool,
    /// The beginning of its text: 80 characters, or up to 4,000 if it begins with `<`.
    pub excerpt: String,
}

/// The position and rating of a node, without its texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodePosition {
    pub id: NodeId,
    /// The number of edges from the root.
    pub depth: i32,
    /// Its rating in stars.
    pub rating: Option<i16>,
    /// The fragment that contains it, if it is not in the tree.
    pub fragment: Option<FragmentId>,
    n: i64,
}

type PositionColumns = (i64, IdBytes, i32, Option<i16>, Option<IdBytes>);

#[derive(QueryableByName)]
struct ContextPathRow {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

impl StoreReader<'_> {
    /// Reads the children, siblings, notes and problems of nodes.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn node_details(&mut self, placed: Vec<StoredNode>) -> Result<Vec<NodeDetails>, StoreError> {
        let rows: Vec<i64> = placed.iter().map(|one| one.n).collect();
        // Read the parents, then all children of the nodes and of their parents.
        let places = node_revisions(self.conn, &rows)?;
        let mut parents: HashSet<i64> = rows.iter().copied().collect();
        parents.extend(places.values().filter_map(|place| place.parent));
        let families = children_by_parent(self.conn, &parents.into_iter().collect::<Vec<_>>())?;
        let mut remarks = notes_and_problems(self.conn, &places)?;
        let empty = Vec::new();
        Ok(placed
            .into_iter()
            .map(|one| {
                let parent = places.get(&one.n).and_then(|place| place.parent);
                let family = parent.and_then(|parent| families.get(&parent)).unwrap_or(&empty);
                let (notes, problems) = remarks.remove(&one.n).unwrap_or_default();
                let own = families.get(&one.n).unwrap_or(&empty);
                let children = own.iter().map(|child| child.id).collect();
                NodeDetails { siblings: siblings(&one, family), node: one, children, notes, problems }
            })
            .collect())
    }

    /// Returns one page of a whole tree in creation order, after row `after`; 0 starts at the beginning.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn tree_page(&mut self, stored: &StoredSession, after: i64, limit: i64) -> Result<Vec<StoredNode>, StoreError> {
        let rows: Vec<i64> = nodes::table
            .filter(nodes::session_n.eq(stored.n))
            .filter(nodes::is_hidden.eq(false))
            .filter(nodes::n.gt(after))
            .order(nodes::n)
            .limit(limit)
            .select(nodes::n)
            .load(self.conn)?;
        load_nodes(self.conn, stored.session.id, &rows)
    }

    /// Returns the outline of a whole tree, parents before children.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn outline(&mut self, stored: &StoredSession) -> Result<Vec<TreeOutlineNode>, StoreError> {
        let tree = nodes::table.inner_join(texts::table.on(texts::n.eq(nodes::n)));
        let own = tree.filter(nodes::session_n.eq(stored.n)).filter(nodes::is_hidden.eq(false));
        let columns = (
            nodes::n,
            nodes::parent_n,
            nodes::depth,
            nodes::id,
            nodes::role,
            nodes::kind,
            nodes::status,
            nodes::is_enabled,
            nodes::is_muted,
            nodes::is_unread,
            nodes::since_keyframe,
            sql::<Text>("CASE WHEN content LIKE '<%' THEN substr(content, 1, 4000) ELSE substr(content, 1, 80) END"),
        );
        let mut rows: Vec<OutlineRow> = prepared(own.select(columns)).load(self.conn)?;
        // Sorted here because SQLite would write all rows to a temporary file. They arrive almost sorted.
        rows.sort_by_key(|row| (row.depth, row.n));
        let mut places: HashMap<i64, usize> = HashMap::with_capacity(rows.len());
        let mut sketches = Vec::with_capacity(rows.len());
        for row in rows {
            let parent = row.parent_n.map(|parent| places.get(&parent).copied());
            // A node below a hidden one is not in the tree either.
            let Some(parent) = parent.map_or(Some(None), |place| place.map(Some)) else { continue };
            places.insert(row.n, sketches.len());
            sketches.push(row.into_outline_node(parent)?);
        }
        Ok(sketches)
    }

    /// Returns the newest `limit` context nodes before `before` on the path to `leaf`, oldest first. These are
    /// the root and every message that a model can answer (`domain.md` 1).
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn context_page(
        &mut self,
        stored: &StoredSession,
        leaf: NodeId,
        before: Option<NodeId>,
        limit: i64,
    ) -> Result<NodePage, StoreError> {
        let start = match before {
            Some(before) => node_row(self.conn, stored.n, before)?.and_then(|row| row.parent_n),
            None => node_row(self.conn, stored.n, leaf)?.map(|row| row.n),
        };
        let Some(start) = start else { return Ok(NodePage::default()) };
        // role 2: assistant; kind 3: change; status 0: generating.
        let query = diesel::sql_query(
            "WITH RECURSIVE up (n, parent_n, role, kind, status) AS ( \
               SELECT n, parent_n, role, kind, status FROM nodes WHERE n = $1 \
               UNION ALL SELECT p.n, p.parent_n, p.role, p.kind, p.status FROM nodes p JOIN up ON p.n = up.parent_n) \
             SELECT n FROM up WHERE role <> 2 AND kind <> 3 AND status <> 0 LIMIT 0 + $2",
        );
        let query = query.bind::<BigInt, _>(start).bind::<BigInt, _>(limit + 1);
        let walked: Vec<ContextPathRow> = prepared(query).load(self.conn)?;
        let mut rows: Vec<i64> = walked.into_iter().map(|row| row.n).collect();
        let has_more = i64::try_from(rows.len()).unwrap_or(i64::MAX) > limit;
        if has_more {
            rows.pop();
        }
        rows.reverse();
        let nodes = load_nodes(self.conn, stored.session.id, &rows)?;
        let next = if has_more { nodes.first().map(|oldest| oldest.node.id) } else { None };
        Ok(NodePage { nodes, next })
    }

    /// Returns the positions of nodes in the tree or in the stash. Unknown ids are left out.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn node_positions(&mut self, stored: &StoredSession, ids: &[NodeId]) -> Result<Vec<NodePosition>, StoreError> {
        let mut spots = Vec::with_capacity(ids.len());
        for chunk in ids.chunks(BATCH_SIZE) {
            let mut names: Vec<Vec<u8>> = chunk.iter().map(|id| id.as_bytes().to_vec()).collect();
            names.resize(
                chunk.len().next_power_of_two(),
                chunk.last().map(|id| id.as_bytes().to_vec()).unwrap_or_default(),
            );
            let some = nodes::table
                .left_join(fragments::table.on(fragments::n.nullable().eq(nodes::fragment_n)))
                .filter(nodes::session_n.eq(stored.n))
                .filter(nodes::is_hidden.eq(false).or(nodes::fragment_n.is_not_null()))
                .filter(nodes::id.eq_any(names))
                .select((nodes::n, nodes::id, nodes::depth, nodes::rating, fragments::id.nullable()));
            let found: Vec<PositionColumns> = prepared(some).load(self.conn)?;
            spots.extend(found.into_iter().filter_map(|(n, id, depth, rating, fragment)| {
                let fragment = fragment.and_then(|id| FragmentId::from_slice(id.bytes()));
                Some(NodePosition { id: NodeId::from_slice(id.bytes())?, depth, rating, fragment, n })
            }));
        }
        Ok(spots)
    }

    /// Returns which of these nodes are on the path from the root to `leaf`.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn positions_on_path(
        &mut self,
        stored: &StoredSession,
        leaf: NodeId,
        spots: &[NodePosition],
    ) -> Result<HashSet<NodeId>, StoreError> {
        let Some(start) = node_row(self.conn, stored.n, leaf)? else { return Ok(HashSet::new()) };
        let Some(highest) = spots.iter().map(|spot| spot.depth).min() else { return Ok(HashSet::new()) };
        let query = diesel::sql_query(
            "WITH RECURSIVE up (n, parent_n, depth) AS (SELECT n, parent_n, depth FROM nodes WHERE n = $1 UNION ALL \
             SELECT p.n, p.parent_n, p.depth FROM nodes p JOIN up ON p.n = up.parent_n WHERE p.depth >= $2) \
             SELECT n FROM up",
        );
        let query = query.bind::<BigInt, _>(start.n).bind::<Integer, _>(highest);
        let walked: Vec<ContextPathRow> = prepared(query).load(self.conn)?;
        let path: HashSet<i64> = walked.into_iter().map(|row| row.n).collect();
        Ok(spots.iter().filter(|spot| path.contains(&spot.n)).map(|spot| spot.id).collect())
    }

    /// Returns the placeholders of a session: replies that are being generated.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn placeholders(&mut self, stored: &StoredSession) -> Result<Vec<NodeId>, StoreError> {
        let running = nodes::table
            .filter(is_generating())
            .filter((nodes::session_n + 0_i64).eq(stored.n))
            .filter(nodes::is_hidden.eq(false))
            .order(nodes::n);
        let ids: Vec<Vec<u8>> = prepared(running.select(nodes::id)).load(self.conn)?;
        Ok(ids.iter().filter_map(|id| NodeId::from_slice(id)).collect())
    }
}

impl OutlineRow {
    fn into_outline_node(self, parent: Option<usize>) -> Result<TreeOutlineNode, StoreError> {
        let bad = StoreError::Inconsistent { table: "nodes", column: "id", row: self.n };
        Ok(TreeOutlineNode {
            id: NodeId::from_slice(self.id.bytes()).ok_or(bad)?,
            parent,
            role: self.role,
            kind: self.kind,
            status: self.status,
            is_enabled: self.is_enabled,
            is_muted: self.is_muted,
            is_unread: self.is_unread,
            is_keyframe: self.since_keyframe == 0,
            excerpt: self.beginning,
        })
    }
}

/// The parent of a node, and the current revision of its delta.
struct NodeRevision {
    parent: Option<i64>,
    revision: i32,
}

struct ChildNode {
    id: NodeId,
    role: i16,
    kind: i16,
}

fn node_revisions(conn: &mut Conn, rows: &[i64]) -> Result<HashMap<i64, NodeRevision>, StoreError> {
    let mut places = HashMap::with_capacity(rows.len());
    for chunk in rows.chunks(BATCH_SIZE) {
        let some = nodes::table.filter(nodes::n.eq_any(pad_to_power_of_two(chunk)));
        let found: Vec<(i64, Option<i64>, i32)> =
            prepared(some.select((nodes::n, nodes::parent_n, nodes::revision))).load(conn)?;
        places.extend(found.into_iter().map(|(n, parent, revision)| (n, NodeRevision { parent, revision })));
    }
    Ok(places)
}

/// Returns the children of many parents, each list in creation order.
fn children_by_parent(conn: &mut Conn, parents: &[i64]) -> Result<HashMap<i64, Vec<ChildNode>>, StoreError> {
    let mut families: HashMap<i64, Vec<ChildNode>> = HashMap::with_capacity(parents.len());
    for chunk in parents.chunks(BATCH_SIZE) {
        let some = nodes::table
            .filter(nodes::parent_n.eq_any(pad_to_power_of_two(chunk)))
            .filter(nodes::is_hidden.eq(false))
            .order((nodes::parent_n, nodes::n));
        let found: Vec<(Option<i64>, Vec<u8>, i16, i16)> =
            prepared(some.select((nodes::parent_n, nodes::id, nodes::role, nodes::kind))).load(conn)?;
        for (parent, id, role, kind) in found {
            if let (Some(parent), Some(id)) = (parent, NodeId::from_slice(&id)) {
                families.entry(parent).or_default().push(ChildNode { id, role, kind });
            }
        }
    }
    Ok(families)
}

fn siblings(one: &StoredNode, family: &[ChildNode]) -> SiblingPosition {
    let alike = |child: &&ChildNode| child.role == one.node.role.code() && child.kind != Kind::Change.code();
    let ids: Vec<NodeId> = family.iter().filter(alike).map(|child| child.id).collect();
    match ids.iter().position(|id| *id == one.node.id) {
        Some(index) => SiblingPosition { index, ids },
        None => SiblingPosition { index: 0, ids: vec![one.node.id] },
    }
}

type NotesAndProblems = HashMap<i64, (Vec<NodeNote>, Vec<NodeProblem>)>;

/// Returns the notes and problems of current deltas.
fn notes_and_problems(conn: &mut Conn, places: &HashMap<i64, NodeRevision>) -> Result<NotesAndProblems, StoreError> {
    let changed: Vec<i64> = places.iter().filter(|(_, place)| place.revision > 0).map(|(n, _)| *n).collect();
    let mut remarks = NotesAndProblems::new();
    for chunk in changed.chunks(BATCH_SIZE) {
        let some = deltas::table.filter(deltas::node_n.eq_any(pad_to_power_of_two(chunk)));
        let found: Vec<(i64, i32, String)> =
            prepared(some.select((deltas::node_n, deltas::revision, deltas::body))).load(conn)?;
        let in_force = |(n, revision, _): &(i64, i32, String)| places.get(n).is_some_and(|p| p.revision == *revision);
        for (n, _, body) in found.into_iter().filter(in_force) {
            let bad = || StoreError::Inconsistent { table: "deltas", column: "body", row: n };
            let value: serde_json::Value = serde_json::from_str(&body).map_err(|_| bad())?;
            let delta = Delta::from_json(&value).ok_or_else(bad)?;
            remarks.insert(n, (delta.notes, delta.problems));
        }
    }
    Ok(remarks)
}
