//! Live events: who watches a session, what is being written in it right now, and which operations just happened.
//!
//! Watchers *pull*. A room only says that something is new; each watcher then takes the operations since the one it has
//! and the text since the offset it has. A slow reader therefore gets larger pieces less often, never a gap, and nothing
//! queues up for it. The newest operations are kept in memory; for older ones a watcher reads the log.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};

use crate::ids::{NodeId, SessionId, UserId};
use crate::oplog::Operation;

/// How many operations of a watched session stay in memory.
const KEPT: usize = 256;

/// All sessions that are watched or being written to.
#[derive(Default)]
pub struct Live {
    rooms: Mutex<HashMap<SessionId, Arc<Room>>>,
    running: Mutex<HashMap<NodeId, Arc<Running>>>,
}

struct Room {
    version: watch::Sender<u64>,
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
    cancelled: AtomicBool,
    cancel: Notify,
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
        self.cancelled.store(true, Ordering::Release);
        self.cancel.notify_waiters();
        self.cancel.notify_one();
    }

    /// Waits until someone cancels.
    pub async fn cancelled(&self) {
        while !self.cancelled.load(Ordering::Acquire) {
            self.cancel.notified().await;
        }
    }

    /// What arrived since the last time this was asked, to be saved; `None` if nothing did.
    pub fn unsaved(&self) -> Option<(String, String)> {
        let mut written = lock(&self.written);
        let (content, reasoning) = written.saved;
        let new = (
            written.content.get(content..).unwrap_or_default().to_owned(),
            written.reasoning.get(reasoning..).unwrap_or_default().to_owned(),
        );
        written.saved = (written.content.len(), written.reasoning.len());
        if new.0.is_empty() && new.1.is_empty() { None } else { Some(new) }
    }
}

impl Live {
    /// A reply begins.
    pub fn begin(&self, session: SessionId, node: NodeId, user: UserId) -> Arc<Running> {
        let running = Arc::new(Running {
            session,
            node,
            user,
            written: Mutex::new(Written { phase: "waiting", ..Written::default() }),
            cancelled: AtomicBool::new(false),
            cancel: Notify::new(),
        });
        lock(&self.running).insert(node, Arc::clone(&running));
        running
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
        lock(&self.running).remove(&node);
    }

    /// A running reply.
    pub fn running(&self, node: NodeId) -> Option<Arc<Running>> {
        lock(&self.running).get(&node).cloned()
    }

    /// All running replies.
    pub fn all_running(&self) -> Vec<Arc<Running>> {
        lock(&self.running).values().cloned().collect()
    }

    /// How many replies run: for one user, and in all.
    pub fn count(&self, user: UserId) -> (usize, usize) {
        let running = lock(&self.running);
        (running.values().filter(|one| one.user == user).count(), running.len())
    }

    /// An operation is durable: whoever watches the session may take it.
    pub fn publish(&self, session: SessionId, operation: &Arc<Operation>) {
        let Some(room) = lock(&self.rooms).get(&session).cloned() else { return };
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
        if let Some(room) = lock(&self.rooms).get(&session) {
            room.version.send_modify(|version| *version += 1);
        }
    }

    /// Begins to watch a session. Watch first and read the log afterwards: then nothing falls in between.
    pub fn watch(self: &Arc<Self>, session: SessionId) -> Watcher {
        let mut rooms = lock(&self.rooms);
        let room = rooms.entry(session).or_insert_with(|| {
            Arc::new(Room { version: watch::Sender::new(0), operations: Mutex::new(VecDeque::new()) })
        });
        let version = room.version.subscribe();
        Watcher { live: Arc::clone(self), session, room: Arc::clone(room), version }
    }

    /// How many sessions are watched, and by how many watchers in all.
    pub fn watched(&self) -> (usize, usize) {
        let rooms = lock(&self.rooms);
        (rooms.len(), rooms.values().map(|room| room.version.receiver_count()).sum())
    }
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

    /// The replies being written in this session.
    pub fn running(&self) -> Vec<Arc<Running>> {
        let session = self.session;
        lock(&self.live.running).values().filter(|one| one.session == session).cloned().collect()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let mut rooms = lock(&self.live.rooms);
        // This watcher's own receiver still counts.
        if self.room.version.receiver_count() <= 1 {
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
    fn unsaved_text_is_handed_out_once() {
        let live = Live::default();
        let user = UserId::new(uuid::Uuid::from_u128(2));
        let running = live.begin(session(), NodeId::new(uuid::Uuid::from_u128(3)), user);
        live.write(&running, "天空", "", "streaming");
        assert_eq!(running.unsaved(), Some(("天空".into(), String::new())));
        assert_eq!(running.unsaved(), None);
        live.write(&running, "!", "hm", "streaming");
        assert_eq!(running.unsaved(), Some(("!".into(), "hm".into())));
        assert_eq!(live.count(user), (1, 1));
        live.end(running.node);
        assert_eq!(live.count(user), (0, 0));
    }
}
