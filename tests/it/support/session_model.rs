//! The reference model that property tests compare the store with.
//!
//! It has the arrangement from the log and the facts as the test wrote them. It applies the rules in the slow, simple
//! way: walk up, reverse, fold everything.

use std::collections::{BTreeMap, BTreeSet};

use clotho_core::ids::{NodeId, SessionId};
use clotho_core::oplog::Effect;
use clotho_core::tree::reference_tree::ReferenceTree;
use clotho_core::tree::{Kind, Role, Status};
use clotho_core::world::{SchemaSet, StateOperation, World, fold};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Bool, Integer, Nullable, SmallInt};

use super::test_store::TestStore;

/// The facts of a node, which never change once it is complete.
#[derive(Debug, Clone)]
pub struct NodeFacts {
    pub role: Role,
    pub kind: Kind,
    pub status: Status,
    pub operations: Vec<StateOperation>,
    /// Rules that start at this node.
    pub rules: Option<SchemaSet>,
    /// For a merge node: the source nodes and the number of operations from each. The remaining operations are its own.
    pub merge_sources: Vec<(NodeId, usize)>,
}

/// The expected contents of one session.
pub struct SessionModel {
    pub session: SessionId,
    /// Nodes in the order of their creation.
    pub node_order: Vec<NodeId>,
    pub facts: BTreeMap<NodeId, NodeFacts>,
    pub mirror: ReferenceTree,
    pub op: i64,
    paths: BTreeMap<NodeId, Vec<NodeId>>,
}

/// A node row of the database.
#[derive(Debug, Clone, PartialEq, QueryableByName)]
struct NodeRow {
    #[diesel(sql_type = BigInt)]
    n: i64,
    #[diesel(sql_type = Binary)]
    id: Vec<u8>,
    #[diesel(sql_type = Nullable<BigInt>)]
    parent_n: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    remembered_n: Option<i64>,
    #[diesel(sql_type = Bool)]
    is_hidden: bool,
    #[diesel(sql_type = Nullable<BigInt>)]
    fragment_n: Option<i64>,
    #[diesel(sql_type = Bool)]
    is_enabled: bool,
    #[diesel(sql_type = Bool)]
    is_muted: bool,
    #[diesel(sql_type = Nullable<SmallInt>)]
    rating: Option<i16>,
    #[diesel(sql_type = SmallInt)]
    status: i16,
    #[diesel(sql_type = Integer)]
    depth: i32,
    #[diesel(sql_type = Integer)]
    turn: i32,
    #[diesel(sql_type = Nullable<BigInt>)]
    rules_n: Option<i64>,
    #[diesel(sql_type = Bool)]
    begins_rules: bool,
}

#[derive(Debug, QueryableByName)]
struct SessionRow {
    #[diesel(sql_type = BigInt)]
    root_n: i64,
    #[diesel(sql_type = BigInt)]
    head_n: i64,
    #[diesel(sql_type = BigInt)]
    op: i64,
}

impl SessionModel {
    pub fn new(session: SessionId) -> Self {
        let (order, facts, paths) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        Self { session, node_order: order, facts, mirror: ReferenceTree::default(), op: 0, paths }
    }

    pub fn add(&mut self, id: NodeId, fact: NodeFacts) {
        self.node_order.push(id);
        self.facts.insert(id, fact);
    }

    pub fn head(&self) -> NodeId {
        self.mirror.head().unwrap()
    }

    /// Returns the visible nodes that are not placeholders.
    pub fn settled_nodes(&self) -> Vec<NodeId> {
        self.node_order
            .iter()
            .copied()
            .filter(|id| self.facts[id].status != Status::Generating && self.is_visible(*id))
            .collect()
    }

    /// Returns whether a node is visible in the tree.
    pub fn is_visible(&self, id: NodeId) -> bool {
        !self.mirror.nodes()[&id].is_hidden
    }

    /// Returns the nodes that an undo took back.
    pub fn undone_nodes(&self) -> Vec<NodeId> {
        let is_taken_back = |id: &NodeId| {
            let place = &self.mirror.nodes()[id];
            place.is_hidden && place.fragment.is_none()
        };
        self.node_order.iter().copied().filter(is_taken_back).collect()
    }

    pub fn generating_nodes(&self) -> Vec<NodeId> {
        self.node_order.iter().copied().filter(|id| self.facts[id].status == Status::Generating).collect()
    }

    /// Computes `world(node) = fold(operations of every node from root to node whose effects are on)`. Each node is
    /// folded under the rules in force there (`domain.md` 3.1, 3.2).
    pub fn world(&self, node: NodeId) -> World {
        let (mut world, mut rules) = (World::default(), SchemaSet::default());
        for id in self.mirror.path(node) {
            let fact = &self.facts[&id];
            if let Some(own) = &fact.rules {
                rules = own.clone();
            }
            if !self.mirror.nodes()[&id].is_muted {
                fold(&mut world, &fact.operations, &rules);
            }
        }
        world
    }

    /// Returns the operations of a node by source node. For a merge these are the merged operations first, then its
    /// own.
    pub fn operations_by_source(&self, node: NodeId) -> Vec<(NodeId, Vec<StateOperation>)> {
        let fact = &self.facts[&node];
        let (mut parts, mut at) = (Vec::new(), 0);
        for (of, many) in &fact.merge_sources {
            parts.push((*of, fact.operations[at..at + many].to_vec()));
            at += many;
        }
        if fact.merge_sources.is_empty() || at < fact.operations.len() {
            parts.push((node, fact.operations[at..].to_vec()));
        }
        parts
    }

    /// Applies the new log entries and compares the database with the result.
    pub fn sync_and_check(&mut self, store: &TestStore) {
        let (held, since) = (store.stored_session(self.session), self.op);
        for operation in store.read(move |reader| reader.operations(&held, since, i64::MAX)) {
            self.mirror.apply(&operation).unwrap();
            self.op = operation.op;
            // Purged nodes are gone; everything else is unchanged.
            self.node_order.retain(|id| self.mirror.nodes().contains_key(id));
            self.paths.retain(|id, _| self.mirror.nodes().contains_key(id));
            self.assert_paths_unchanged(&operation.effects);
        }
        self.assert_arrangement_matches(store);
    }

    /// S1-26: the path of a node never changes, except by logged moves at or above it.
    fn assert_paths_unchanged(&mut self, effects: &[Effect]) {
        let moved: BTreeSet<NodeId> = effects
            .iter()
            .filter_map(|effect| match effect {
                Effect::Moved { node, .. } => Some(*node),
                _ => None,
            })
            .collect();
        for id in &self.node_order {
            let path = self.mirror.path(*id);
            if let Some(before) = self.paths.insert(*id, path.clone())
                && before != path
            {
                assert!(path.iter().any(|above| moved.contains(above)), "the past of {id} changed by itself");
            }
        }
    }

    /// S2-05, S2-17, S0-15: the rows match the log exactly, with one root, no cycle and no dangling reference. The
    /// values derived from the path match too.
    fn assert_arrangement_matches(&self, store: &TestStore) {
        let mut conn = store.open_connection();
        let session = load_session_row(&mut conn, self.session);
        let rows: BTreeMap<i64, NodeRow> =
            load_node_rows(&mut conn, self.session).into_iter().map(|row| (row.n, row)).collect();
        let id = |n: i64| NodeId::from_slice(&rows[&n].id).unwrap();
        assert_eq!(rows.len(), self.mirror.nodes().len());
        assert_eq!((session.op, Some(id(session.head_n))), (self.op, self.mirror.head()));
        let roots: Vec<i64> = rows.values().filter(|row| row.parent_n.is_none()).map(|row| row.n).collect();
        assert_eq!(roots, [session.root_n]);
        for row in rows.values() {
            let place = &self.mirror.nodes()[&id(row.n)];
            let told = (place.parent, place.remembered, place.is_hidden, place.fragment.is_some());
            let kept = (row.parent_n.map(id), row.remembered_n.map(id), row.is_hidden, row.fragment_n.is_some());
            assert_eq!(kept, told, "{:?}", id(row.n));
            let told = (!place.is_disabled, place.is_muted, place.rating.map(i16::from));
            assert_eq!((row.is_enabled, row.is_muted, row.rating), told, "{:?}", id(row.n));
            assert_eq!(row.status, self.facts[&id(row.n)].status.code());
            assert!(
                row.remembered_n.is_none_or(|child| rows[&child].parent_n == Some(row.n)),
                "a stranger is remembered"
            );
            self.assert_derived_values_match(&rows, row);
        }
        self.assert_head_reachable(&rows, session.root_n);
        self.assert_stash_matches(store);
        let shown: Vec<&NodeRow> = rows.values().filter(|row| !row.is_hidden).collect();
        let is_leaf = |row: &&&NodeRow| !shown.iter().any(|other| other.parent_n == Some(row.n));
        let (nodes, leaves) = (shown.len() - 1, shown.iter().filter(is_leaf).count());
        let kept = store.stored_session(self.session).counts;
        assert_eq!((kept.nodes, kept.leaves), (i64::try_from(nodes).unwrap(), i64::try_from(leaves).unwrap()));
    }

    fn assert_derived_values_match(&self, rows: &BTreeMap<i64, NodeRow>, row: &NodeRow) {
        let fact = &self.facts[&NodeId::from_slice(&row.id).unwrap()];
        assert_eq!(row.begins_rules, fact.rules.is_some());
        let speaks = fact.role != Role::Assistant && !matches!(fact.kind, Kind::Root | Kind::Change);
        let expected = match row.parent_n.map(|n| &rows[&n]) {
            None => (0, 0, row.rules_n),
            Some(parent) => {
                let rules_n = if row.begins_rules { row.rules_n } else { parent.rules_n };
                (parent.depth + 1, parent.turn + i32::from(speaks), rules_n)
            }
        };
        assert_eq!((row.depth, row.turn, row.rules_n), expected, "{:?}", NodeId::from_slice(&row.id));
    }

    /// Checks that HEAD is on the way down from the root. The way follows the remembered child, or else the newest
    /// complete child.
    fn assert_head_reachable(&self, rows: &BTreeMap<i64, NodeRow>, root_n: i64) {
        let (mut n, mut seen) = (root_n, BTreeSet::new());
        loop {
            assert!(seen.insert(rows[&n].id.clone()), "a cycle");
            let newest = || {
                let shown = rows.values().filter(|row| row.parent_n == Some(n) && !row.is_hidden);
                shown.filter(|row| row.status == Status::Complete.code()).map(|row| row.n).max()
            };
            let remembered = rows[&n].remembered_n.filter(|child| !rows[child].is_hidden);
            match remembered.or_else(newest) {
                Some(child) => n = child,
                None => break,
            }
        }
        assert!(seen.contains(self.head().as_bytes().as_slice()), "the way down does not pass HEAD");
    }

    /// Checks that stash and labels match the log.
    fn assert_stash_matches(&self, store: &TestStore) {
        let held = store.stored_session(self.session);
        let (stash, labels) = store.read(move |reader| Ok((reader.stash(&held)?, reader.labels(&held)?)));
        let told: BTreeSet<_> =
            self.mirror.fragments().iter().map(|(id, (top, cut))| (*id, *top, cut.name.clone())).collect();
        assert_eq!(stash.iter().map(|one| (one.id, one.top, one.name.clone())).collect::<BTreeSet<_>>(), told);
        for one in &stash {
            let lying = self.mirror.nodes().values().filter(|place| place.fragment == Some(one.id)).count();
            assert_eq!((one.count, one.origin), (i64::try_from(lying).unwrap(), self.mirror.nodes()[&one.top].parent));
        }
        let told: Vec<_> =
            self.mirror.labels().iter().map(|(name, mark)| (name.clone(), mark.node, mark.following)).collect();
        let kept: Vec<_> = labels.into_iter().map(|label| (label.name, label.node, label.following)).collect();
        assert_eq!(kept, told);
    }

    /// Compares every world, path and list of siblings that the store returns.
    pub fn assert_reads_match(&self, store: &TestStore) {
        let held = store.stored_session(self.session);
        let ids: Vec<NodeId> = self.node_order.iter().copied().filter(|id| self.is_visible(*id)).collect();
        let told = store.read(move |reader| {
            let mut told = Vec::new();
            for id in ids {
                let placed = reader.node(&held, id)?.unwrap();
                let world = reader.world(&held, &placed)?;
                let page = reader.page(&held, id, None, i64::MAX - 1, clotho_store::PathFilter::All)?;
                let path: Vec<NodeId> = page.nodes.iter().map(|placed| placed.node.id).collect();
                let context = reader.context_of(&held, id)?;
                let siblings = reader.siblings(&placed)?;
                let children = reader.node_details(vec![placed])?.remove(0).children;
                told.push((id, world, path, siblings, children, context));
            }
            Ok(told)
        });
        for (id, world, path, siblings, children, context) in told {
            let expected = self.world(id);
            assert_eq!(*world, expected, "the world of {id}");
            assert_eq!(world.to_json().to_string(), expected.to_json().to_string(), "byte for byte");
            // S0-25, S2-07: the projection is the path to the root, reversed; it never contains placeholders.
            let mut line = self.mirror.path(id);
            let nearest = line.iter().rev().copied().find(|id| self.is_context(*id));
            line.retain(|id| self.facts[id].status != Status::Generating);
            assert_eq!(path, line);
            assert_eq!(context.map(|placed| placed.node.id), nearest);
            assert_eq!(siblings.ids, self.siblings(id));
            // S3-04: the served list of children matches the parents of the nodes.
            let nodes = self.mirror.nodes();
            let below = |other: &&NodeId| nodes[*other].parent == Some(id) && !nodes[*other].is_hidden;
            assert_eq!(children, self.node_order.iter().filter(below).copied().collect::<Vec<_>>());
            assert_eq!(siblings.ids[siblings.index], id);
        }
    }

    fn is_context(&self, id: NodeId) -> bool {
        self.facts[&id].role != Role::Assistant && self.facts[&id].kind != Kind::Change
    }

    /// S0-15, S0-32: children of one parent with one role, without change nodes, in the order of their creation.
    fn siblings(&self, id: NodeId) -> Vec<NodeId> {
        let fact = &self.facts[&id];
        let parent = self.mirror.nodes()[&id].parent;
        if fact.kind == Kind::Change || parent.is_none() {
            return vec![id];
        }
        let alike = |other: &&NodeId| {
            let (place, other) = (&self.mirror.nodes()[*other], &self.facts[*other]);
            place.parent == parent && !place.is_hidden && other.role == fact.role && other.kind != Kind::Change
        };
        self.node_order.iter().filter(alike).copied().collect()
    }
}

fn load_node_rows(conn: &mut SqliteConnection, session: SessionId) -> Vec<NodeRow> {
    let query =
        "SELECT nodes.* FROM nodes JOIN sessions ON sessions.n = session_n WHERE sessions.id = ? ORDER BY nodes.n";
    diesel::sql_query(query).bind::<Binary, _>(session.as_bytes().to_vec()).load(conn).unwrap()
}

fn load_session_row(conn: &mut SqliteConnection, session: SessionId) -> SessionRow {
    let query = "SELECT root_n, head_n, op FROM sessions WHERE id = ?";
    diesel::sql_query(query).bind::<Binary, _>(session.as_bytes().to_vec()).get_result(conn).unwrap()
}
