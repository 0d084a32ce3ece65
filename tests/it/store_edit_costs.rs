//! Costs of rearranging a tree by session size and depth: loop rounds in the database, and stack frames.

use clotho_core::clock::Time;
use clotho_core::ids::{FragmentId, NodeId};
use clotho_core::tree::{Delta, EditTarget, TreeEdit};
use clotho_engine::transfer;
use clotho_store::archive::{ArchiveError, ArchiveLimits, ArchiveReader};
use clotho_store::{DatabaseSnapshot, NodeStateUpdate, StoreError, Trace, Tx};

use crate::store_bounds::{DEEP, append_branch};
use crate::support::sqlite_steps::{count_progress_calls, start_counting};
use crate::support::test_store::{SessionIds, TestStore, message_write, reply_completion};

/// Messages of each branch.
const BRANCH: usize = 20;

/// A long branch with two side branches near its end.
struct BranchedTree {
    store: TestStore,
    session_ids: SessionIds,
    /// A little above the branches, as a graft target.
    graft_target: NodeId,
    fork: NodeId,
    left: Vec<NodeId>,
    right: Vec<NodeId>,
}

impl BranchedTree {
    fn new(nodes: usize) -> Self {
        let store = TestStore::new();
        let begun = store.create_session(Delta::default(), None, &["Hello."]);
        let ids = append_branch(&store, &begun, nodes);
        let branch = || {
            let mut branch = vec![store.append(begun.session, ids[nodes - 5], store.user_draft("aside"))];
            while branch.len() < BRANCH {
                branch.push(store.append(begun.session, branch[branch.len() - 1], store.user_draft("on")));
            }
            branch
        };
        let (left, right) = (branch(), branch());
        Self { graft_target: ids[nodes - 15], fork: ids[nodes - 5], left, right, session_ids: begun, store }
    }

    fn edit(&self, edit: TreeEdit) {
        self.store.arrange(self.session_ids.session, edit);
    }

    fn prune(&self, node: NodeId) -> FragmentId {
        let fragment = FragmentId::new(self.store.ids.next_id(self.store.now()));
        self.edit(TreeEdit::Prune { node, fragment, name: None });
        fragment
    }

    fn graft(&self, piece: EditTarget, target: Option<NodeId>) {
        self.edit(TreeEdit::Graft { source: piece, target });
    }

    fn set_enabled(&self, node: NodeId, is_enabled: bool) {
        let (actor, session) = (self.store.actor(), self.session_ids.session);
        let update =
            NodeStateUpdate { node, is_enabled: Some(is_enabled), effects: None, rating: None, is_unread: None };
        self.store.write(move |tx| tx.set_state(&actor, session, &[update])).unwrap();
    }

    fn undo(&self) {
        let (actor, session) = (self.store.actor(), self.session_ids.session);
        self.store.write(move |tx| tx.undo(&actor, session)).unwrap();
    }

    fn checkout(&self, node: NodeId) {
        self.store.checkout(self.session_ids.session, node, true);
    }

    /// Returns the rounds of each edit. Each is done and undone once before, so that nothing is read for the first
    /// time.
    fn measure_costs(&self) -> Vec<(&'static str, u64)> {
        let writer = self.store.writer_thread_id();
        let (top, end) = (self.right[0], self.right[BRANCH - 1]);
        let copy = |piece| TreeEdit::Copy {
            source: piece,
            target: self.graft_target,
            from: None,
            source_fragment: None,
            seed: 7,
        };
        let label = |name: &str| TreeEdit::Label { node: top, name: name.into(), following: false };
        self.checkout(self.left[BRANCH - 1]);
        let mut costs = Vec::new();
        for _ in 0..2 {
            costs.clear();
            let mut cost = |name, work: &dyn Fn()| costs.push((name, count_progress_calls(writer, work)));
            cost("checkout", &|| self.checkout(end));
            cost("checkout back", &|| self.checkout(self.left[BRANCH - 1]));
            cost("disable", &|| self.set_enabled(end, false));
            cost("enable", &|| self.set_enabled(end, true));
            cost("label", &|| self.edit(label("here")));
            cost("undo of the label", &|| self.undo());
            let pruned = std::cell::Cell::new(None);
            cost("prune", &|| pruned.set(Some(self.prune(top))));
            cost("put back", &|| self.graft(EditTarget::Fragment(pruned.get().unwrap()), None));
            cost("graft (move)", &|| self.graft(EditTarget::Node(top), Some(self.graft_target)));
            cost("graft back", &|| self.graft(EditTarget::Node(top), Some(self.fork)));
            cost("graft (copy)", &|| self.edit(copy(EditTarget::Node(top))));
            cost("undo of the copy", &|| self.undo());
            cost("summarise", &|| {
                let nodes = self.left[2..12].to_vec();
                self.edit(TreeEdit::Summarise { nodes, content: "Much.".into(), seed: 8 });
            });
            cost("undo of the summary", &|| self.undo());
        }
        costs
    }
}

/// S1-21, S1-27, S2-14: an edit of a branch costs what the branch is, not what the session is. With twenty times as
/// many messages above, it costs less than a tenth more.
#[test]
fn edit_cost_is_independent_of_session_length() {
    start_counting();
    // Both are at the same distance from keyframes.
    let (small, large) = (BranchedTree::new(1_008).measure_costs(), BranchedTree::new(20_000).measure_costs());
    for ((name, few), (_, many)) in small.into_iter().zip(large) {
        assert!(few > 0, "{name}: {few} rounds, so nothing is counted");
        assert!(many <= few + few / 10 + 40, "{name}: {few} rounds in a short session, {many} in a long one");
    }
}

/// S2-14: a prune costs what it removes: about ten times as much for ten times as many messages, not a hundred times.
#[test]
fn prune_cost_grows_linearly_with_removed_nodes() {
    start_counting();
    let cost = |messages: usize| {
        let store = TestStore::new();
        let begun = store.create_session(Delta::default(), None, &["Hello."]);
        let top = append_branch(&store, &begun, messages)[1];
        let fragment = FragmentId::new(store.ids.next_id(store.now()));
        let (session, writer) = (begun.session, store.writer_thread_id());
        let cut = count_progress_calls(writer, || {
            store.arrange(session, TreeEdit::Prune { node: top, fragment, name: None })
        });
        let back = TreeEdit::Graft { source: EditTarget::Fragment(fragment), target: None };
        (cut, count_progress_calls(writer, || store.arrange(session, back)))
    };
    let (few, many) = (cost(300), cost(3_000));
    assert!(many.0 < 15 * few.0 && many.1 < 15 * few.1, "{few:?} rounds for 300 messages, {many:?} for 3 000");
}

/// Appends turns below a node and returns the messages and replies. Each reply has a trace of the last `window`
/// messages, or none for 0.
fn append_traced_turns(
    store: &TestStore,
    begun: &SessionIds,
    top: NodeId,
    turns: usize,
    window: usize,
) -> Vec<[NodeId; 2]> {
    let (session, mut parent, mut line) = (begun.session, top, Vec::new());
    // The history of the top node continues below it.
    let placed = store.stored_node(session, top);
    let above = store.read(move |reader| reader.trace(&placed)).map(|trace| trace.history);
    let mut history = above.unwrap_or_default();
    history.push(store.stored_node(session, top).n);
    while line.len() < turns {
        let mut n = store.query_count("SELECT max(n) AS n FROM nodes");
        let mut batch = Vec::new();
        for _ in 0..250.min(turns - line.len()) {
            let (said, reply) = (store.user_draft("And?"), store.placeholder());
            line.push([said.id, reply.id]);
            history.push(n + 1);
            let sent = history[history.len().saturating_sub(window)..].to_vec();
            history.push(n + 2);
            n += 2;
            let trace = (window > 0).then(|| Trace { history: sent, ..Trace::default() });
            let below = reply.id;
            batch.push((message_write(session, parent, Some(said), vec![reply]), trace));
            parent = below;
        }
        let (actor, at) = (store.actor(), store.now());
        let write = move |tx: &mut Tx<'_>| {
            for (message, trace) in &batch {
                let written = tx.add_message(&actor, message)?;
                let mut well = reply_completion("So.", Delta::default(), Some(written.asked));
                well.trace.clone_from(trace);
                tx.complete_reply(session, message.replies[0].id, written.op, at, &well)?;
            }
            Ok(())
        };
        store.write(write).unwrap();
    }
    line
}

/// S1-21, domain 2.16, 6.5: the cost of a purge depends on what it removes, also after a graft. Only traces that build
/// on removed ones are unpacked, and they are complete on their own afterwards.
#[test]
fn purge_cost_depends_on_removed_nodes() {
    start_counting();
    let cost = |turns: usize, window: usize| {
        let store = TestStore::new();
        let begun = store.create_session(Delta::default(), None, &["Hello."]);
        let session = begun.session;
        let line = append_traced_turns(&store, &begun, begun.greetings[0], turns, window);
        let goes = append_traced_turns(&store, &begun, line[turns - 1][1], 1, window)[0];
        let stays = append_traced_turns(&store, &begun, goes[1], 3, window);
        let moved = TreeEdit::Graft { source: EditTarget::Node(stays[0][0]), target: Some(line[turns - 1][1]) };
        store.arrange(session, moved);
        let traces = || {
            let placed = stays.iter().map(|turn| store.stored_node(session, turn[1]));
            placed.map(|placed| store.read(move |reader| reader.trace(&placed))).collect::<Vec<_>>()
        };
        let before = traces();
        let purge = TreeEdit::Purge { source: EditTarget::Node(goes[0]), is_confirmed: true };
        let rounds = count_progress_calls(store.writer_thread_id(), || store.arrange(session, purge));
        assert_eq!(traces(), before, "what stood on what went is whole");
        store.assert_healthy();
        rounds
    };
    // The cost of traces is the difference to a session without them.
    let [few, many] = [31, 255].map(|turns| (cost(turns, usize::MAX), cost(turns, 0)));
    let [few_more, many_more] = [few, many].map(|(with, without)| with - without);
    assert!(few_more > 0 && many_more <= 2 * few_more, "{few:?} rounds after 31 turns, {many:?} after 255");
}

/// Measures a purge of a hundred turns in a session of 100 000 messages after a move. It runs with the stored
/// dependencies of the traces, and without them, where every trace must be unpacked.
#[test]
#[ignore = "a measurement, which takes minutes: cargo nextest run --run-ignored only --no-capture measured"]
#[expect(clippy::print_stdout, reason = "what was measured is for reading")]
fn purge_duration_in_long_session_measured() {
    let store = TestStore::new();
    let begun = store.create_session(Delta::default(), None, &["Hello."]);
    let session = begun.session;
    let line = append_traced_turns(&store, &begun, begun.greetings[0], 50_000, 100);
    let end = line[49_999][1];
    let [first, second] = [0, 1].map(|_| append_traced_turns(&store, &begun, end, 101, 100));
    let aside = append_traced_turns(&store, &begun, end, 1, 100)[0][0];
    store.arrange(session, TreeEdit::Graft { source: EditTarget::Node(aside), target: Some(line[0][1]) });
    for (top, what) in [(first[0][0], "kept"), (second[0][0], "not kept")] {
        let begun = std::time::Instant::now();
        store.arrange(session, TreeEdit::Purge { source: EditTarget::Node(top), is_confirmed: true });
        println!("{what}: {:?}", begun.elapsed());
        store.execute_sql("UPDATE traces SET base_n = NULL");
    }
}

/// Domain 6.5: for older traces, their dependencies are computed once a day, and by a purge that comes before that.
#[test]
fn old_traces_are_backfilled_daily_and_before_purge() {
    let store = TestStore::new();
    let begun = store.create_session(Delta::default(), None, &["Hello."]);
    let session = begun.session;
    let line = append_traced_turns(&store, &begun, begun.greetings[0], 7, usize::MAX);
    let kept = "SELECT sum(base_n * node_n) AS n FROM traces";
    let (before, unread) = (store.query_count(kept), "SELECT count(*) AS n FROM traces WHERE base_n IS NULL");
    store.execute_sql("UPDATE traces SET base_n = NULL");
    store.block_on(store.store().collect_garbage(store.now())).unwrap();
    assert_eq!((store.query_count(kept), store.query_count(unread)), (before, 0));

    store.execute_sql("UPDATE traces SET base_n = NULL");
    store.arrange(session, TreeEdit::Graft { source: EditTarget::Node(line[5][0]), target: Some(begun.greetings[0]) });
    let placed = store.stored_node(session, line[6][1]);
    let sent = store.read(move |reader| reader.trace(&placed)).unwrap().history;
    store.arrange(session, TreeEdit::Purge { source: EditTarget::Node(line[0][0]), is_confirmed: true });
    let placed = store.stored_node(session, line[6][1]);
    assert_eq!(store.read(move |reader| reader.trace(&placed)).unwrap().history, sent);
    store.assert_healthy();
}

/// Runs work on a thread whose stack has no room for a frame at each of [`DEEP`] levels: twenty bytes for each.
fn run_on_small_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(1 << 20);
        thread.spawn_scoped(scope, work).unwrap().join().unwrap()
    })
}

/// S1-23, S2-14, S3-28: nothing recurses down a branch. The store's threads have two megabytes of stack, or forty
/// bytes for each level here, and work on the caller's thread has half of that. Any recursion would abort the program.
#[test]
fn deep_line_operations_do_not_overflow_stack() {
    // A branch of the full depth.
    let store = TestStore::new();
    let begun = store.create_session(Delta::default(), None, &["Hello.", "Hi."]);
    let ids = append_branch(&store, &begun, DEEP);
    let (session, other) = (begun.session, begun.greetings[1]);
    let tree = BranchedTree {
        graft_target: other,
        fork: ids[1],
        left: Vec::new(),
        right: Vec::new(),
        session_ids: begun,
        store,
    };
    let store = &tree.store;
    // Every edit on all of it.
    tree.prune(ids[1]);
    tree.undo();
    tree.checkout(ids[DEEP]);
    tree.graft(EditTarget::Node(ids[1]), Some(other));
    tree.undo();
    tree.set_enabled(ids[1], false);
    let nodes = ids[1..=2_000].to_vec();
    tree.edit(TreeEdit::Summarise { nodes, content: "Long ago.".into(), seed: 5 });
    let aside = store.append(session, ids[2], store.user_draft("aside"));
    tree.edit(TreeEdit::Copy {
        source: EditTarget::Node(ids[DEEP - 15_000]),
        target: aside,
        from: None,
        source_fragment: None,
        seed: 6,
    });
    tree.edit(TreeEdit::Merge {
        from: ids[DEEP],
        onto: aside,
        nodes: Vec::new(),
        resolve: Default::default(),
        seed: 7,
    });
    // Every read of a branch.
    let held = store.stored_session(session);
    let (top, end) = (ids[1], ids[DEEP]);
    let seen = store.read(move |reader| {
        let (aside, end) = (reader.node(&held, aside)?.unwrap(), reader.node(&held, end)?.unwrap());
        let ancestor = reader.common_ancestor(&held, &aside, &end)?;
        let (_, way) = reader.path_page_below(&held, &ancestor, &end, 100_000)?;
        let (mut deeds, mut stops) = (0, 0);
        reader.path_operations(&ancestor, &end, |_, _| {
            deeds += 1;
            true
        })?;
        reader.worlds_along(&held, &end, 0..end.node.depth + 1, |_, _| {
            stops += 1;
            Ok::<_, StoreError>(())
        })?;
        assert!(reader.is_on_path(&held, top, end.node.id)?);
        let sketches = reader.outline(&held)?.len();
        Ok((way.nodes.len(), deeds, stops, sketches))
    });
    assert!(seen.0 > 49_900 && seen.1 > 49_900 && seen.2 > 49_900 && seen.3 > 60_000, "{seen:?}");
    // Export, archive check and doctor.
    run_on_small_stack(|| {
        let mut snapshot = DatabaseSnapshot::open(&store.database_path()).unwrap();
        let held = snapshot.session(None, session).unwrap().unwrap();
        let file = transfer::export(&mut snapshot, &held, Vec::new(), Time(0), |_| {}).unwrap();
        let mut lines = ArchiveReader::begin(&*file, ArchiveLimits::for_archive(1 << 30)).unwrap();
        transfer::check::<_, ArchiveError>(&mut lines, || Ok(())).unwrap();
    });
    run_on_small_stack(|| store.assert_healthy());
}
