//! One branch of the maximum depth: work near its end must not depend on the nodes above.

use clotho_core::clock::Time;
use clotho_core::ids::{FragmentId, NodeId};
use clotho_core::tree::{EditTarget, TreeEdit};
use clotho_store::{Actor, PathFilter, StoreError, Tx, WriteError};

use super::session::open;
use super::table::{format_micros, measure_time, median, print_header, print_row};

/// A job for the writer.
type OperationKind = Box<dyn FnMut(&mut Tx<'_>, &Actor) -> Result<(), WriteError> + Send>;

const DEPTH: usize = 50_000;
const ROUNDS: usize = 11;

pub fn measure(most: usize) {
    // One branch, and a node beside its top.
    let depth = DEPTH.min(most);
    let folder = tempfile::tempdir().unwrap();
    let bench = open(folder.path());
    let (session, root) = bench.create_session(10);
    let top = bench.append_nodes(session, root, 1);
    let end = bench.append_nodes(session, top, depth - 1);
    let beside = bench.append_nodes(session, root, 1);
    // The edits.
    let actor = Actor { user: bench.user, at: Time(5), expected_leaf: None };
    let write = |mut act: OperationKind| {
        bench.runtime.block_on(bench.store.write(move |tx| act(tx, &actor))).unwrap();
    };
    let checkout = |to: NodeId| write(Box::new(move |tx, actor| tx.checkout(actor, session, to, true).map(|_| ())));
    let edit = |edit: TreeEdit| {
        write(Box::new(move |tx, actor| tx.arrange(actor, session, std::slice::from_ref(&edit)).map(|_| ())));
    };
    let undo = || write(Box::new(move |tx, actor| tx.undo(actor, session).map(|_| ())));
    // The reads.
    let user = bench.user;
    let page = || {
        let read = bench.store.read::<_, StoreError, _>(move |reader| {
            let held = reader.session(user, session)?.unwrap();
            reader.page(&held, end, None, 50, PathFilter::Enabled)
        });
        assert_eq!(bench.runtime.block_on(read).unwrap().nodes.len(), 50.min(depth));
    };
    let diff = || {
        let read = bench.store.read::<_, StoreError, _>(move |reader| {
            let held = reader.session(user, session)?.unwrap();
            let (from, to) = (reader.node(&held, beside)?.unwrap(), reader.node(&held, end)?.unwrap());
            let ancestor = reader.common_ancestor(&held, &from, &to)?;
            let (_, way) = reader.path_page_below(&held, &ancestor, &to, 200)?;
            let _ = (reader.world(&held, &from)?, reader.world(&held, &to)?);
            Ok(way.nodes.len())
        });
        assert_eq!(bench.runtime.block_on(read).unwrap(), 200.min(depth));
    };
    // Run each figure in rounds, and restore the tree after each round.
    print_header(&format!("One line of {depth} messages"), &["", "median"]);
    let figure = |name: &str, work: &dyn Fn(), after: &dyn Fn()| {
        let mut times: Vec<_> = (0..ROUNDS)
            .map(|_| {
                let time = measure_time(work);
                after();
                time
            })
            .collect();
        print_row(&[name.to_owned(), format_micros(median(&mut times))]);
    };
    checkout(end);
    figure("checkout of the root", &|| checkout(root), &|| checkout(end));
    checkout(root);
    figure("checkout of the end", &|| checkout(end), &|| checkout(root));
    checkout(end);
    let prune = || {
        let fragment = FragmentId::new(bench.ids.next_id(Time(5)));
        edit(TreeEdit::Prune { node: top, fragment, name: None });
    };
    figure("prune below the root: all of it", &prune, &undo);
    figure(
        "graft all of it elsewhere",
        &|| edit(TreeEdit::Graft { source: EditTarget::Node(top), target: Some(beside) }),
        &undo,
    );
    prune();
    figure("undo of the prune", &undo, &prune);
    undo();
    figure("newest page of 50", &page, &|| ());
    figure("diff of the end and a message beside the top", &diff, &|| ());
}
