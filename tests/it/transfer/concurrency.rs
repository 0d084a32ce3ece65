//! Concurrent requests during an import: the order of events, never their duration.

use clotho_core::ids::NodeId;
use clotho_store::PathFilter;
use clotho_store::archive::ArchiveLimits;

use super::import_file;
use crate::support::archive_file::write_long_session;
use crate::support::test_store::{SessionIds, TestStore};

/// Writes below a node and reads it back. Asserts that the session being imported is not visible.
fn append_and_read_back(store: &TestStore, own: &SessionIds, parent: NodeId) -> NodeId {
    let id = store.append(own.session, parent, store.user_draft("I go on."));
    let (held, owner) = (store.stored_session(own.session), store.owner);
    let page = store.read(move |reader| reader.page(&held, id, None, 5, PathFilter::Enabled));
    assert_eq!(page.nodes.last().unwrap().node.id, id);
    assert_eq!(store.read(move |reader| reader.sessions(owner, 0, 10)).len(), 1, "nobody sees the other yet");
    id
}

/// S4-04: an import does not block the writer: between any two chunks others write and read, and their writes
/// are done before the next chunk. A chunk is small. Nobody sees the session before it is complete.
#[test]
fn import_lets_other_writes_run_between_chunks() {
    const MESSAGES: i64 = 2_000;
    let store = TestStore::new();
    let own = store.create_session(Default::default(), None, &["Hello."]);
    let mut file = tempfile::tempfile().unwrap();
    write_long_session(&mut file, usize::try_from(MESSAGES).unwrap(), 100);
    let rows = || {
        store.query_count("SELECT count(*) AS n FROM nodes") + store.query_count("SELECT count(*) AS n FROM operations")
    };
    let (mut parent, mut before, mut between) = (own.greetings[0], rows(), 0);
    let session = import_file(&store, &mut file, ArchiveLimits::for_archive(1 << 30), |_| {
        let now = rows();
        if now == before {
            // Nothing has been written since: the file is only being checked.
            return true;
        }
        assert!(now - before <= 256, "{} rows in one piece", now - before);
        // Another request on its own thread: its write completes while the import waits here.
        parent = std::thread::scope(|scope| scope.spawn(|| append_and_read_back(&store, &own, parent)).join().unwrap());
        (before, between) = (rows(), between + 1);
        true
    });
    assert!(between > MESSAGES / 128, "others wrote {between} times");
    let held = store.stored_session(session.unwrap());
    assert_eq!(held.counts.nodes, MESSAGES);
    assert_eq!(store.stored_session(own.session).counts.nodes, between + 1);
    store.assert_healthy();
}
