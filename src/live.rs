//! Live events: who watches a session, what is being written in it right now, and which operations just happened.
//!
//! Watchers *pull*. A room only says that something is new; each watcher then takes the operations since the one it has
//! and the text since the offset it has. A slow reader therefore gets larger pieces less often, never a gap, and nothing
//! queues up for it. The newest operations are kept in memory; for older ones a watcher reads the log.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::ids::{NodeId, SessionId, UserId};
use crate::oplog::{Effect, Operation};

/// How many operations of a watched session stay in memory.
const KEPT: usize = 256;

/// All sessions that are watched or being written to.
#[derive(Default)]
pub struct Live {
    rooms: Mutex<HashMap<SessionId, Watched>>,
    running: Mutex<HashMap<NodeId, Arc<Running>>>,
    /// How many replies run, for who waits until that changes.
    count: watch::Sender<usize>,
}

/// A room and how many watchers hold it. Counted under the lock of all rooms: of two watchers that leave at once, one is
/// the last.
struct Watched {
    room: Arc<Room>,
    watchers: usize,
}

struct Room {
    version: watch::Sender<u64>,
    /// The session was deleted. Its log says so too, but nobody may read that any more.
    is_gone: AtomicBool,
    operations: Mutex<VecDeque<Arc<Operation>>>,
}

/// A reply that is being written.
pub struct Running {
    /// The session.
    pub session: SessionId,
    /// The placeholder.
    pub node: NodeId,
    /// Who asked for it.
    pub user: UserId,
    written: Mutex<Written>,
    stop: watch::Sender<Option<Stop>>,
    /// Nothing more comes; what came is being committed.
    is_closing: AtomicBool,
}

/// Why a running reply is asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// A person stopped it.
    Cancelled,
    /// The server is shutting down.
    Interrupted,
}

/// How many replies may run at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Most {
    /// Of one user.
    pub per_user: usize,
    /// Of all users.
    pub in_all: usize,
}

/// What has arrived of a reply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// The text so far.
    pub content: String,
    /// The thinking so far.
    pub reasoning: String,
    /// `waiting`, `thinking` or `streaming`.
    pub phase: &'static str,
    /// Bytes of both that are on disk already.
    saved: (usize, usize),
}

impl Running {
    /// What has arrived.
    pub fn written(&self) -> Written {
        lock(&self.written).clone()
    }

    /// Looks at what has arrived without copying it.
    pub fn look<T>(&self, look: impl FnOnce(&Written) -> T) -> T {
        look(&lock(&self.written))
    }

    /// Asks the reply to end now; what arrived is kept.
    pub fn cancel(&self) {
        self.ask(Stop::Cancelled);
    }

    /// Asks the reply to end because the server does.
    pub fn interrupt(&self) {
        self.ask(Stop::Interrupted);
    }

    fn ask(&self, stop: Stop) {
        self.stop.send_if_modified(|asked| asked.is_none() && asked.replace(stop).is_none());
    }

    /// Waits until someone asks for the end; the first who asked counts.
    pub async fn stopped(&self) -> Stop {
        let mut asked = self.stop.subscribe();
        // The sender lives as long as this reply does.
        asked.wait_for(Option::is_some).await.ok().and_then(|asked| *asked).unwrap_or(Stop::Interrupted)
    }

    /// Nothing more comes, and what came is about to be committed: it makes room for the next reply now, because whoever
    /// sees the commit may ask for one at once.
    pub fn close(&self) {
        self.is_closing.store(true, Ordering::SeqCst);
    }

    fn takes_room(&self) -> bool {
        !self.is_closing.load(Ordering::SeqCst)
    }

    /// What is not on disk yet; `None` if all is. [`Running::saved`] says when it is.
    pub fn unsaved(&self) -> Option<(String, String)> {
        let written = lock(&self.written);
        let (content, reasoning) = written.saved;
        let new = (
            written.content.get(content..).unwrap_or_default().to_owned(),
            written.reasoning.get(reasoning..).unwrap_or_default().to_owned(),
        );
        if new.0.is_empty() && new.1.is_empty() { None } else { Some(new) }
    }

    /// So many more bytes of text and of thinking are on disk now.
    pub fn saved(&self, content: usize, reasoning: usize) {
        let mut written = lock(&self.written);
        written.saved.0 += content;
        written.saved.1 += reasoning;
    }
}

impl Live {
    /// Replies of one request begin together; `None` if there is no room for all of them, and then none begins.
    pub fn begin_all(
        &self,
        session: SessionId,
        nodes: &[NodeId],
        user: UserId,
        most: Most,
    ) -> Option<Vec<Arc<Running>>> {
        let mut all = lock(&self.running);
        let (own, in_all) = counted(&all, user);
        if own.saturating_add(nodes.len()) > most.per_user || in_all.saturating_add(nodes.len()) > most.in_all {
            return None;
        }
        let begun: Vec<_> = nodes.iter().map(|node| running(session, *node, user)).collect();
        all.extend(begun.iter().map(|one| (one.node, Arc::clone(one))));
        self.count.send_replace(all.len());
        Some(begun)
    }

    /// More of a reply arrived.
    pub fn write(&self, running: &Running, content: &str, reasoning: &str, phase: &'static str) {
        {
            let mut written = lock(&running.written);
            written.content.push_str(content);
            written.reasoning.push_str(reasoning);
            written.phase = phase;
        }
        self.touch(running.session);
    }

    /// A reply is over: its node is a fact now.
    pub fn end(&self, node: NodeId) {
        let mut all = lock(&self.running);
        all.remove(&node);
        self.count.send_replace(all.len());
    }

    /// How many replies run, now and whenever that changes.
    pub fn counting(&self) -> watch::Receiver<usize> {
        self.count.subscribe()
    }

    /// A running reply.
    pub fn running(&self, node: NodeId) -> Option<Arc<Running>> {
        lock(&self.running).get(&node).cloned()
    }

    /// All running replies.
    pub fn all_running(&self) -> Vec<Arc<Running>> {
        lock(&self.running).values().cloned().collect()
    }

    /// How many replies take room: for one user, and in all.
    pub fn count(&self, user: UserId) -> (usize, usize) {
        counted(&lock(&self.running), user)
    }

    /// An operation is durable: whoever watches the session may take it. The replies that it completes are over before
    /// anyone hears of it.
    pub fn publish(&self, session: SessionId, operation: &Arc<Operation>) {
        for effect in &operation.effects {
            if let Effect::Completed { node } = effect {
                self.end(*node);
            }
        }
        let Some(room) = lock(&self.rooms).get(&session).map(|watched| Arc::clone(&watched.room)) else { return };
        {
            let mut kept = lock(&room.operations);
            kept.push_back(Arc::clone(operation));
            if kept.len() > KEPT {
                kept.pop_front();
            }
        }
        room.version.send_modify(|version| *version += 1);
    }

    fn touch(&self, session: SessionId) {
        if let Some(watched) = lock(&self.rooms).get(&session) {
            watched.room.version.send_modify(|version| *version += 1);
        }
    }

    /// A session was deleted: its running replies are stopped, and whoever watches it hears of it.
    pub fn forget(&self, session: SessionId) {
        let of_it = |running: &Arc<Running>| running.session == session;
        self.all_running().into_iter().filter(of_it).for_each(|running| running.cancel());
        if let Some(watched) = lock(&self.rooms).get(&session) {
            watched.room.is_gone.store(true, Ordering::SeqCst);
            watched.room.version.send_modify(|version| *version += 1);
        }
    }

    /// Begins to watch a session. Watch first and read the log afterwards: then nothing falls in between.
    pub fn watch(self: &Arc<Self>, session: SessionId) -> Watcher {
        let mut rooms = lock(&self.rooms);
        let watched = rooms.entry(session).or_insert_with(|| {
            let room = Room {
                version: watch::Sender::new(0),
                is_gone: AtomicBool::new(false),
                operations: Mutex::new(VecDeque::new()),
            };
            Watched { room: Arc::new(room), watchers: 0 }
        });
        watched.watchers += 1;
        let (room, version) = (Arc::clone(&watched.room), watched.room.version.subscribe());
        Watcher { live: Arc::clone(self), session, room, version }
    }

    /// How many sessions are watched, and by how many watchers in all.
    pub fn watched(&self) -> (usize, usize) {
        let rooms = lock(&self.rooms);
        (rooms.len(), rooms.values().map(|watched| watched.watchers).sum())
    }
}

fn running(session: SessionId, node: NodeId, user: UserId) -> Arc<Running> {
    let written = Mutex::new(Written { phase: "waiting", ..Written::default() });
    let (stop, is_closing) = (watch::Sender::new(None), AtomicBool::new(false));
    Arc::new(Running { session, node, user, written, stop, is_closing })
}

fn counted(all: &HashMap<NodeId, Arc<Running>>, user: UserId) -> (usize, usize) {
    let taking = || all.values().filter(|one| one.takes_room());
    (taking().filter(|one| one.user == user).count(), taking().count())
}

/// One watcher of one session.
pub struct Watcher {
    live: Arc<Live>,
    session: SessionId,
    room: Arc<Room>,
    version: watch::Receiver<u64>,
}

impl Watcher {
    /// Waits until something is new since the last time this returned.
    pub async fn changed(&mut self) {
        // The sender lives as long as this watcher holds the room.
        let _ = self.version.changed().await;
    }

    /// The operations after number `op`, oldest first; `None` if memory does not reach back that far (read the log).
    pub fn operations_since(&self, op: i64) -> Option<Vec<Arc<Operation>>> {
        let kept = lock(&self.room.operations);
        match (kept.front(), kept.back()) {
            (_, Some(newest)) if newest.op <= op => Some(Vec::new()),
            (Some(oldest), _) if oldest.op <= op + 1 => {
                Some(kept.iter().filter(|operation| operation.op > op).cloned().collect())
            }
            (None, _) => Some(Vec::new()),
            _ => None,
        }
    }

    /// Whether the session was deleted since the watching began.
    pub fn is_gone(&self) -> bool {
        self.room.is_gone.load(Ordering::SeqCst)
    }

    /// The replies being written in this session.
    pub fn running(&self) -> Vec<Arc<Running>> {
        let session = self.session;
        lock(&self.live.running).values().filter(|one| one.session == session).cloned().collect()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let mut rooms = lock(&self.live.rooms);
        let Some(watched) = rooms.get_mut(&self.session) else { return };
        watched.watchers -= 1;
        if watched.watchers == 0 {
            rooms.remove(&self.session);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Time;
    use crate::oplog::Act;

    fn session() -> SessionId {
        SessionId::new(uuid::Uuid::from_u128(1))
    }

    fn operation(op: i64) -> Arc<Operation> {
        Arc::new(Operation { op, kind: Act::Checkout, actor: None, at: Time(0), step: op, effects: vec![] })
    }

    fn begin(live: &Live, n: u128, user: UserId) -> Arc<Running> {
        let most = Most { per_user: usize::MAX, in_all: usize::MAX };
        live.begin_all(session(), &[node(n)], user, most).unwrap().remove(0)
    }

    #[tokio::test]
    async fn a_watcher_takes_what_it_has_not_seen() {
        let live = Arc::new(Live::default());
        live.publish(session(), &operation(1));
        let mut watcher = live.watch(session());
        assert_eq!(watcher.operations_since(1).map(|list| list.len()), Some(0));
        live.publish(session(), &operation(2));
        live.publish(session(), &operation(3));
        watcher.changed().await;
        let ops: Vec<i64> = watcher.operations_since(1).unwrap().iter().map(|one| one.op).collect();
        assert_eq!(ops, [2, 3]);
        for op in 4..1_000 {
            live.publish(session(), &operation(op));
        }
        assert!(watcher.operations_since(3).is_none(), "older than memory: the log has it");
        assert_eq!(watcher.operations_since(990).unwrap().len(), 9);
    }

    #[tokio::test]
    async fn who_watches_a_deleted_session_is_told() {
        let live = Arc::new(Live::default());
        let user = UserId::new(uuid::Uuid::from_u128(2));
        let running = begin(&live, 1, user);
        let mut watcher = live.watch(session());
        assert!(!watcher.is_gone());
        live.forget(session());
        watcher.changed().await;
        assert!(watcher.is_gone());
        assert_eq!(running.stopped().await, Stop::Cancelled);
        drop(watcher);
        assert!(!live.watch(session()).is_gone(), "a room is a new one after its last watcher");
    }

    #[test]
    fn rooms_go_with_their_last_watcher() {
        let live = Arc::new(Live::default());
        let (a, b) = (live.watch(session()), live.watch(session()));
        assert_eq!(live.watched(), (1, 2));
        drop(a);
        assert_eq!(live.watched(), (1, 1));
        drop(b);
        assert_eq!(live.watched(), (0, 0));
    }

    #[test]
    fn rooms_go_also_when_watchers_leave_at_once() {
        let live = Arc::new(Live::default());
        for _ in 0..500 {
            let both = [live.watch(session()), live.watch(session())];
            let start = std::sync::Barrier::new(2);
            std::thread::scope(|scope| {
                for watcher in both {
                    scope.spawn(|| {
                        start.wait();
                        drop(watcher);
                    });
                }
            });
            assert_eq!(live.watched(), (0, 0));
        }
    }

    fn node(n: u128) -> NodeId {
        NodeId::new(uuid::Uuid::from_u128(n))
    }

    #[test]
    fn text_is_unsaved_until_it_is_said_to_be_saved() {
        let live = Live::default();
        let user = UserId::new(uuid::Uuid::from_u128(2));
        let running = begin(&live, 3, user);
        live.write(&running, "天空", "", "streaming");
        let piece = Some(("天空".to_owned(), String::new()));
        assert_eq!((running.unsaved(), running.unsaved()), (piece.clone(), piece), "the disk may have been full");
        running.saved("天空".len(), 0);
        assert_eq!(running.unsaved(), None);
        live.write(&running, "!", "hm", "streaming");
        assert_eq!(running.unsaved(), Some(("!".into(), "hm".into())));
        assert_eq!(live.count(user), (1, 1));
        live.end(running.node);
        assert_eq!(live.count(user), (0, 0));
    }

    /// A request's replies begin all or not at all, and the check and the beginning are one step.
    #[test]
    fn no_more_replies_run_than_may() {
        let live = Live::default();
        let (ann, bob) = (UserId::new(uuid::Uuid::from_u128(2)), UserId::new(uuid::Uuid::from_u128(3)));
        let most = Most { per_user: 2, in_all: 3 };
        assert!(live.begin_all(session(), &[node(1), node(2), node(3)], ann, most).is_none());
        assert_eq!(live.count(ann), (0, 0));
        assert!(live.begin_all(session(), &[node(1), node(2)], ann, most).is_some());
        assert!(live.begin_all(session(), &[node(3)], ann, most).is_none());
        assert!(live.begin_all(session(), &[node(3), node(4)], bob, most).is_none());
        assert!(live.begin_all(session(), &[node(3)], bob, most).is_some());
        live.end(node(1));
        assert!(live.begin_all(session(), &[node(4)], ann, most).is_some());
        assert_eq!(*live.counting().borrow(), 3);
        assert!(live.begin_all(session(), &[node(5)], ann, most).is_none());
        live.running(node(4)).unwrap().close();
        assert!(live.begin_all(session(), &[node(5)], ann, most).is_some(), "what is being committed takes no room");
        assert_eq!((live.count(ann), *live.counting().borrow()), ((2, 3), 4), "but is held until it is");
    }

    /// Who hears that a reply is complete does not find it running.
    #[test]
    fn a_reply_is_over_before_its_end_is_told() {
        let live = Arc::new(Live::default());
        let watcher = live.watch(session());
        let user = UserId::new(uuid::Uuid::from_u128(2));
        begin(&live, 1, user);
        begin(&live, 2, user);
        let effects = vec![Effect::Completed { node: node(1) }];
        let completed = Operation { effects, ..(*operation(1)).clone() };
        live.publish(session(), &Arc::new(completed));
        assert_eq!(watcher.operations_since(0).map(|list| list.len()), Some(1));
        assert_eq!(watcher.running().iter().map(|one| one.node).collect::<Vec<_>>(), [node(2)]);
    }

    #[tokio::test]
    async fn who_first_asks_for_the_end_counts() {
        let live = Live::default();
        let running = begin(&live, 1, UserId::new(uuid::Uuid::from_u128(2)));
        running.interrupt();
        running.cancel();
        assert_eq!((running.stopped().await, running.stopped().await), (Stop::Interrupted, Stop::Interrupted));
    }
}
