//! Others go on while a file comes in: the order in which things happen, never how long they take.

use clotho_core::ids::NodeId;
use clotho_store::PathFilter;
use clotho_store::archive::ArchiveLimits;

use super::import_file;
use crate::support::file::long_line;
use crate::support::test_store::{Begun, TestStore};

/// Somebody writes below a node, reads it back, and sees one session.
fn turn(store: &TestStore, own: &Begun, parent: NodeId) -> NodeId {
    let id = store.append(own.session, parent, store.said("I go on."));
    let (held, owner) = (store.held(own.session), store.owner);
    let page = store.read(move |reader| reader.page(&held, id, None, 5, PathFilter::Enabled));
    assert_eq!(page.nodes.last().unwrap().node.id, id);
    assert_eq!(store.read(move |reader| reader.sessions(owner, 0, 10)).len(), 1, "nobody sees the other yet");
    id
}

/// S4-04, S4-61: the writer belongs to nobody: between any two pieces of a file others write and read, and their writes are
/// there before the next piece; a piece is small; nobody sees anything of the session before all of it is there.
#[test]
fn import_lets_other_writes_run_between_chunks() {
    const MESSAGES: i64 = 2_000;
    let store = TestStore::new();
    let own = store.begin(Default::default(), None, &["Hello."]);
    let mut file = tempfile::tempfile().unwrap();
    long_line(&mut file, usize::try_from(MESSAGES).unwrap(), 100);
    let rows = || store.count("SELECT count(*) AS n FROM nodes") + store.count("SELECT count(*) AS n FROM operations");
    let (mut parent, mut before, mut between) = (own.greetings[0], rows(), 0);
    let session = import_file(&store, &mut file, ArchiveLimits::of(1 << 30), |_| {
        let now = rows();
        if now == before {
            // Nothing has been written since: the file is only looked at.
            return true;
        }
        assert!(now - before <= 256, "{} rows in one piece", now - before);
        // Somebody else, on a thread of their own: their write ends while the import waits here.
        parent = std::thread::scope(|scope| scope.spawn(|| turn(&store, &own, parent)).join().unwrap());
        (before, between) = (rows(), between + 1);
        true
    });
    assert!(between > MESSAGES / 128, "others wrote {between} times");
    let held = store.held(session.unwrap());
    assert_eq!(held.counts.nodes, MESSAGES);
    assert_eq!(store.held(own.session).counts.nodes, between + 1);
    store.is_well();
}
