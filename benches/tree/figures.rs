//! The measured work. Each function does one thing once; preparation and cleanup are not timed.

use clotho_core::clock::Time;
use clotho_core::ids::{FragmentId, NodeId, SessionId};
use clotho_core::oplog::OperationKind;
use clotho_core::tree::{EditTarget, Effects, Kind, Role, Status, TreeEdit};
use clotho_store::{
    Actor, MessageWrite, NodeDraft, NodeStateUpdate, PathFilter, StoreError, StoreReader, StoredSession, Tx, WriteError,
};

use super::Meter;
use super::session::{Bench, open, reply_completion};

/// Nodes of each branch.
const BRANCH: usize = 100;

/// A session with one long branch and two side branches near its end.
pub struct Tree {
    bench: Bench,
    session: SessionId,
    /// Where the branches part.
    fork: NodeId,
    /// A little above, as a graft target.
    graft_target: NodeId,
    /// The first and last node of each branch.
    left_ends: (NodeId, NodeId),
    right_ends: (NodeId, NodeId),
    /// The messages of the left branch, from its top down.
    run: Vec<NodeId>,
    /// Where messages are appended, away from the branches.
    leaf: NodeId,
    _folder: tempfile::TempDir,
}

impl Tree {
    pub fn new(size: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bench = open(folder.path());
        let (session, root) = bench.create_session(10);
        let above = bench.append_nodes(session, root, size - 2 * BRANCH - 20);
        let fork = bench.append_nodes(session, above, 10);
        let branch = || {
            let top = bench.append_nodes(session, fork, 1);
            (top, bench.append_nodes(session, top, BRANCH - 1))
        };
        let (left, right) = (branch(), branch());
        let leaf = bench.append_nodes(session, fork, 10);
        let mut tree = Self {
            bench,
            session,
            fork,
            graft_target: above,
            left_ends: left,
            right_ends: right,
            run: Vec::new(),
            leaf,
            _folder: folder,
        };
        tree.run = tree.branch_messages(left.1);
        tree
    }

    /// Returns the messages of a branch, from its top down.
    fn branch_messages(&self, end: NodeId) -> Vec<NodeId> {
        let page = self.read(move |reader, held| reader.page(held, end, None, 100, PathFilter::All));
        page.nodes.into_iter().map(|placed| placed.node.id).collect()
    }

    fn write<T: Send + 'static>(
        &self,
        write: impl FnMut(&mut Tx<'_>, &Actor, SessionId) -> Result<T, WriteError> + Send + 'static,
    ) -> T {
        let (user, session, mut write) = (self.bench.user, self.session, write);
        let actor = Actor { user, at: Time(5), expected_leaf: None };
        self.bench.runtime.block_on(self.bench.store.write(move |tx| write(tx, &actor, session))).unwrap()
    }

    fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut StoreReader<'_>, &StoredSession) -> Result<T, StoreError> + Send + 'static,
    ) -> T {
        let (user, session) = (self.bench.user, self.session);
        let read = move |reader: &mut StoreReader<'_>| {
            let held = reader.session(user, session)?.unwrap();
            read(reader, &held)
        };
        self.bench.runtime.block_on(self.bench.store.read(read)).unwrap()
    }

    fn edit(&self, edit: TreeEdit) {
        self.write(move |tx, actor, session| tx.arrange(actor, session, std::slice::from_ref(&edit)).map(|_| ()));
    }

    fn checkout(&self, node: NodeId) {
        self.write(move |tx, actor, session| tx.checkout(actor, session, node, true).map(|_| ()));
    }

    fn undo(&self) {
        self.write(|tx, actor, session| tx.undo(actor, session).map(|_| ()));
    }

    fn prune_right(&self) -> FragmentId {
        let fragment = FragmentId::new(self.bench.ids.next_id(Time(5)));
        self.edit(TreeEdit::Prune { node: self.right_ends.0, fragment, name: None });
        fragment
    }

    fn restore_fragment(&self, fragment: FragmentId) {
        self.edit(TreeEdit::Graft { source: EditTarget::Fragment(fragment), target: None });
    }

    fn graft_right(&self, target: NodeId) {
        self.edit(TreeEdit::Graft { source: EditTarget::Node(self.right_ends.0), target: Some(target) });
    }

    fn set_state(&self, is_enabled: Option<bool>, effects: Option<Effects>) {
        let update = NodeStateUpdate { node: self.left_ends.1, is_enabled, effects, rating: None, is_unread: None };
        self.write(move |tx, actor, session| tx.set_state(actor, session, std::slice::from_ref(&update)).map(|_| ()));
    }
}

pub fn append(tree: &mut Tree, meter: &mut Meter) {
    let mut leaf = tree.leaf;
    meter.record(|| leaf = tree.bench.runtime.block_on(tree.bench.append(tree.session, leaf)));
    tree.leaf = leaf;
}

pub fn reroll(tree: &mut Tree, meter: &mut Meter) {
    let mut reply =
        NodeDraft::new(NodeId::new(tree.bench.ids.next_id(Time(5))), Role::Assistant, Kind::Message, 3, Time(5));
    reply.status = Status::Generating;
    let id = reply.id;
    let message = MessageWrite {
        session: tree.session,
        parent: tree.fork,
        rules_change: None,
        draft: None,
        move_children_from: None,
        replies: vec![reply],
        move_head: false,
        kind: OperationKind::Reroll,
    };
    meter.record(|| {
        let written = tree.write(move |tx, actor, _| tx.add_message(actor, &message));
        let ending = reply_completion(Some(written.asked));
        tree.write(move |tx, _, session| tx.complete_reply(session, id, written.op, Time(6), &ending).map(|_| ()));
    });
}

pub fn checkout(tree: &mut Tree, meter: &mut Meter) {
    tree.checkout(tree.left_ends.1);
    meter.record(|| tree.checkout(tree.right_ends.1));
    tree.checkout(tree.leaf);
}

pub fn disable(tree: &mut Tree, meter: &mut Meter) {
    meter.record(|| tree.set_state(Some(false), None));
    tree.set_state(Some(true), None);
}

pub fn mute(tree: &mut Tree, meter: &mut Meter) {
    meter.record(|| tree.set_state(None, Some(Effects::Muted)));
    tree.set_state(None, Some(Effects::On));
}

pub fn prune(tree: &mut Tree, meter: &mut Meter) {
    let mut fragment = None;
    meter.record(|| fragment = Some(tree.prune_right()));
    tree.restore_fragment(fragment.unwrap());
}

pub fn restore(tree: &mut Tree, meter: &mut Meter) {
    let fragment = tree.prune_right();
    meter.record(|| tree.restore_fragment(fragment));
}

pub fn graft(tree: &mut Tree, meter: &mut Meter) {
    meter.record(|| tree.graft_right(tree.graft_target));
    tree.graft_right(tree.fork);
}

pub fn copy(tree: &mut Tree, meter: &mut Meter) {
    let (piece, target, seed) = (EditTarget::Node(tree.right_ends.0), tree.graft_target, tree.bench.ids.next_seed());
    meter.record(|| tree.edit(TreeEdit::Copy { source: piece, target, from: None, source_fragment: None, seed }));
    tree.undo();
}

pub fn summarise(tree: &mut Tree, meter: &mut Meter) {
    let (nodes, seed) = (tree.run.clone(), tree.bench.ids.next_seed());
    meter.record(|| tree.edit(TreeEdit::Summarise { nodes, content: "Much happened.".into(), seed }));
    tree.undo();
}

/// Measures merging the changes of 100 messages into one node.
pub fn merge(tree: &mut Tree, meter: &mut Meter) {
    let (from, onto, seed) = (tree.right_ends.1, tree.left_ends.1, tree.bench.ids.next_seed());
    meter.record(|| tree.edit(TreeEdit::Merge { from, onto, nodes: vec![], resolve: Default::default(), seed }));
    tree.undo();
}

pub fn undo(tree: &mut Tree, meter: &mut Meter) {
    tree.graft_right(tree.graft_target);
    meter.record(|| tree.undo());
}

pub fn undo_message(tree: &mut Tree, meter: &mut Meter) {
    tree.bench.runtime.block_on(tree.bench.append(tree.session, tree.leaf));
    meter.record(|| tree.undo());
}

/// Measures the store's work for `GET …/diff`.
pub fn read_diff(tree: &mut Tree, meter: &mut Meter) {
    let (from, to) = (tree.left_ends.1, tree.right_ends.1);
    meter.record(|| {
        let nodes = tree.read(move |reader, held| {
            let (from, to) = (reader.node(held, from)?.unwrap(), reader.node(held, to)?.unwrap());
            let ancestor = reader.common_ancestor(held, &from, &to)?;
            let (_, left) = reader.path_page_below(held, &ancestor, &from, 200)?;
            let (_, right) = reader.path_page_below(held, &ancestor, &to, 200)?;
            let nodes = reader.node_details(left.nodes)?.len() + reader.node_details(right.nodes)?.len();
            let _ = (reader.world(held, &from)?, reader.world(held, &to)?);
            reader.path_operations(&ancestor, &from, |_, _| true)?;
            reader.path_operations(&ancestor, &to, |_, _| true)?;
            Ok(nodes)
        });
        assert_eq!(nodes, 2 * BRANCH);
    });
}

/// Measures the store's work for `GET …/variables`.
pub fn read_variables(tree: &mut Tree, meter: &mut Meter) {
    let leaf = tree.left_ends.1;
    meter.record(|| {
        let stops = tree.read(move |reader, held| {
            let (leaf, mut stops) = (reader.node(held, leaf)?.unwrap(), 0);
            let depths = leaf.node.depth - 99..leaf.node.depth + 1;
            reader.worlds_along(held, &leaf, depths, |_, _| {
                stops += 1;
                Ok::<_, StoreError>(())
            })?;
            Ok(stops)
        });
        assert_eq!(stops, 100);
    });
}

pub fn read_outline(tree: &mut Tree, meter: &mut Meter) {
    meter.record(|| assert!(tree.read(|reader, held| reader.outline(held)).len() >= 1_000));
}

pub fn read_page(tree: &mut Tree, meter: &mut Meter) {
    let leaf = tree.leaf;
    meter.record(|| {
        let page = tree.read(move |reader, held| reader.page(held, leaf, None, 50, PathFilter::Enabled));
        assert_eq!(page.nodes.len(), 50);
    });
}
