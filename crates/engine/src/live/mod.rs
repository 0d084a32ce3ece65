//! Live events: watchers of sessions, running generations, and the newest operations.
//!
//! Watchers *pull*. A room only signals that something is new. Each watcher then takes the operations after its last
//! one, and the text after its offset. So a slow reader gets larger pieces less often, but never a gap, and nothing
//! queues up for it. The newest operations are kept in memory (`recent_operations.rs`); older ones are read from the
//! log.
//!
//! `queue.rs` decides which generation runs next, `text_generation.rs` is one running text, `draft.rs` a text that
//! becomes no node. To add a kind of text that a model writes: an id for [`TextGeneration`], and its map in
//! `active_generations.rs`.

mod active_generations;
mod draft;
mod lock;
mod queue;
mod recent_operations;
mod text_generation;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::watch;

use self::active_generations::ActiveGenerations;
use self::lock::lock;
use self::queue::QueueTicket;
use self::recent_operations::RecentOperations;
use clotho_core::ids::{DraftId, NodeId, SessionId, UserId};
use clotho_core::oplog::{Effect, Operation};

pub use draft::{Draft, DraftFailure, DraftKind};
pub use queue::GenerationLimits;
pub use text_generation::{GenerationPhase, PartialText, RunningReply, StopReason, TextGeneration, UnsavedText};

/// All sessions that are watched or have running generations.
pub struct LiveSessions {
    limits: GenerationLimits,
    rooms: Mutex<HashMap<SessionId, WatchedRoom>>,
    active: Mutex<ActiveGenerations>,
    /// The number of running and waiting generations, for tasks that wait for a change.
    count: watch::Sender<usize>,
}

/// A room and the number of its watchers. The number changes only under the lock of all rooms, so that exactly one of
/// the leaving watchers is the last.
struct WatchedRoom {
    room: Arc<SessionRoom>,
    watchers: usize,
}

/// The shared state of a session's watchers.
struct SessionRoom {
    version: watch::Sender<u64>,
    /// Whether the session was deleted. Watchers can no longer read that from the log.
    is_deleted: AtomicBool,
    operations: Mutex<RecentOperations>,
}

impl LiveSessions {
    /// Creates the state without watchers or generations.
    pub fn new(limits: GenerationLimits) -> Self {
        Self { limits, rooms: Mutex::default(), active: Mutex::default(), count: watch::Sender::new(0) }
    }

    /// Returns whether `n` more replies of a user may run or wait.
    pub fn has_room(&self, user: UserId, n: usize) -> bool {
        lock(&self.active).queue.has_room(user, n, &self.limits)
    }

    /// Returns how many replies one request may ask for.
    pub fn max_per_request(&self) -> usize {
        self.limits.max_per_request()
    }

    /// Adds the replies of one request to the queue; each starts with `content`. Adds all or none: returns `None` if
    /// there is no room for all.
    pub fn enqueue_replies(
        &self,
        session: SessionId,
        nodes: &[NodeId],
        user: UserId,
        content: &str,
    ) -> Option<Vec<Arc<RunningReply>>> {
        let mut active = lock(&self.active);
        let tickets = active.queue.enter(user, session, nodes.len(), &self.limits)?;
        let begin = |(node, ticket): (&NodeId, QueueTicket)| {
            Arc::new(TextGeneration::new(*node, session, user, ticket, content))
        };
        let begun: Vec<_> = nodes.iter().zip(tickets).map(begin).collect();
        active.replies.extend(begun.iter().map(|one| (one.id, Arc::clone(one))));
        self.start_queued(active);
        Some(begun)
    }

    /// Starts replies that may run now, and publishes the new queue positions.
    fn start_queued(&self, mut active: MutexGuard<'_, ActiveGenerations>) {
        let news = active.advance(&self.limits);
        self.count.send_replace(active.replies.len() + active.running_drafts().count());
        drop(active);
        news.into_iter().for_each(|session| self.notify_watchers(session));
    }

    /// Appends text to a generation.
    pub fn append<T>(&self, writing: &TextGeneration<T>, content: &str, reasoning: &str, phase: &'static str) {
        writing.append(content, reasoning, phase);
        self.notify_watchers(writing.session);
    }

    /// Tells that the request of a generation is at this place in the queue of the model server, counted from 1; 0 = it
    /// has begun.
    pub fn show_queued<T>(&self, writing: &TextGeneration<T>, place: usize) {
        if writing.set_server_place(place) {
            self.notify_watchers(writing.session);
        }
    }

    /// Replaces the text of a generation behind its first `keep` bytes, and appends reasoning.
    pub fn rewrite<T>(
        &self,
        writing: &TextGeneration<T>,
        keep: usize,
        content: &str,
        reasoning: &str,
        phase: &'static str,
    ) {
        writing.rewrite(keep, content, reasoning, phase);
        self.notify_watchers(writing.session);
    }

    /// Frees the queue slot of a generation that is complete but not committed yet. Clients that see the commit may
    /// then ask for the next one at once.
    pub fn free_slot<T>(&self, writing: &TextGeneration<T>) {
        let mut active = lock(&self.active);
        active.queue.leave(writing.ticket);
        self.start_queued(active);
    }

    /// Removes a reply whose node is committed.
    pub fn end(&self, node: NodeId) {
        let mut active = lock(&self.active);
        if let Some(ended) = active.replies.remove(&node) {
            active.queue.leave(ended.ticket);
        }
        self.start_queued(active);
    }

    /// Adds a draft to the queue; `None` if there is no room.
    pub fn enqueue_draft(
        &self,
        id: DraftId,
        session: SessionId,
        user: UserId,
        kind: DraftKind,
        model: &str,
    ) -> Option<Arc<Draft>> {
        let mut active = lock(&self.active);
        let ticket = active.queue.enter(user, session, 1, &self.limits)?.pop()?;
        let draft = Arc::new(Draft::new(TextGeneration::new(id, session, user, ticket, ""), kind, model.to_owned()));
        let overdue = draft::expired_drafts(active.drafts.values().map(AsRef::as_ref), user);
        active.drafts.retain(|id, _| !overdue.contains(id));
        active.drafts.insert(id, Arc::clone(&draft));
        self.start_queued(active);
        Some(draft)
    }

    /// Ends a draft. Its text can still be read for a while.
    pub fn end_draft(&self, draft: &Draft, failed: Option<DraftFailure>) {
        let mut active = lock(&self.active);
        draft.end(failed);
        active.queue.leave(draft.generation.ticket);
        self.start_queued(active);
        self.notify_watchers(draft.generation.session);
    }

    /// Returns a draft of a user in a session.
    pub fn draft(&self, user: UserId, session: SessionId, id: DraftId) -> Option<Arc<Draft>> {
        let is_own = |draft: &&Arc<Draft>| draft.generation.user == user && draft.generation.session == session;
        lock(&self.active).drafts.get(&id).filter(is_own).cloned()
    }

    /// Returns all drafts of a user in a session, in the order of their requests.
    pub fn drafts(&self, user: UserId, session: SessionId) -> Vec<Arc<Draft>> {
        let is_own = |draft: &&Arc<Draft>| draft.generation.user == user && draft.generation.session == session;
        lock(&self.active).drafts.values().filter(is_own).cloned().collect()
    }

    /// Forgets a draft.
    pub fn forget_draft(&self, id: DraftId) {
        lock(&self.active).drafts.shift_remove(&id);
    }

    /// Asks all generations to stop, because the server shuts down.
    pub fn interrupt_all(&self) {
        let active = lock(&self.active);
        active.replies.values().for_each(|reply| reply.interrupt());
        active.running_drafts().for_each(|draft| draft.generation.interrupt());
    }

    /// Returns a receiver for the number of running and waiting generations.
    pub fn watch_count(&self) -> watch::Receiver<usize> {
        self.count.subscribe()
    }

    /// Returns a reply that runs or waits.
    pub fn running_reply(&self, node: NodeId) -> Option<Arc<RunningReply>> {
        lock(&self.active).replies.get(&node).cloned()
    }

    /// Returns all replies that run or wait.
    pub fn all_running_replies(&self) -> Vec<Arc<RunningReply>> {
        lock(&self.active).replies.values().cloned().collect()
    }

    /// Returns how many generations run: of one user, and in total.
    pub fn count(&self, user: UserId) -> (usize, usize) {
        lock(&self.active).queue.count(user)
    }

    /// Returns how many generations wait.
    pub fn waiting_count(&self) -> usize {
        lock(&self.active).queue.waiting()
    }

    /// Publishes a durable operation to the watchers of a session. Replies that it completes are removed first, so that
    /// no watcher sees them as still running.
    pub fn publish(&self, session: SessionId, operation: &Arc<Operation>) {
        for effect in &operation.effects {
            if let Effect::Completed { node } = effect {
                self.end(*node);
            }
        }
        let Some(room) = lock(&self.rooms).get(&session).map(|watched| Arc::clone(&watched.room)) else { return };
        lock(&room.operations).push(operation);
        room.version.send_modify(|version| *version += 1);
    }

    fn notify_watchers(&self, session: SessionId) {
        if let Some(watched) = lock(&self.rooms).get(&session) {
            watched.room.version.send_modify(|version| *version += 1);
        }
    }

    /// Stops the generations of a deleted session and notifies its watchers.
    pub fn remove_session(&self, session: SessionId) {
        {
            let mut active = lock(&self.active);
            active.replies.values().filter(|reply| reply.session == session).for_each(|reply| reply.cancel());
            let of_it = |draft: &Draft| draft.generation.session == session;
            active.running_drafts().filter(|draft| of_it(draft)).for_each(|draft| draft.generation.cancel());
            active.drafts.retain(|_, draft| !of_it(draft) || !draft.is_over());
        }
        if let Some(watched) = lock(&self.rooms).get(&session) {
            watched.room.is_deleted.store(true, Ordering::SeqCst);
            watched.room.version.send_modify(|version| *version += 1);
        }
    }

    /// Starts watching a session. Watch first and read the log afterwards, so that no operation is missed.
    pub fn watch(self: &Arc<Self>, session: SessionId) -> SessionWatcher {
        let mut rooms = lock(&self.rooms);
        let watched = rooms.entry(session).or_insert_with(|| {
            let room = SessionRoom {
                version: watch::Sender::new(0),
                is_deleted: AtomicBool::new(false),
                operations: Mutex::default(),
            };
            WatchedRoom { room: Arc::new(room), watchers: 0 }
        });
        watched.watchers += 1;
        let (room, version) = (Arc::clone(&watched.room), watched.room.version.subscribe());
        SessionWatcher { live: Arc::clone(self), session, room, version }
    }

    /// Returns how many sessions are watched, and by how many watchers in total.
    pub fn watcher_counts(&self) -> (usize, usize) {
        let rooms = lock(&self.rooms);
        (rooms.len(), rooms.values().map(|watched| watched.watchers).sum())
    }
}

/// One watcher of one session.
pub struct SessionWatcher {
    live: Arc<LiveSessions>,
    session: SessionId,
    room: Arc<SessionRoom>,
    version: watch::Receiver<u64>,
}

impl SessionWatcher {
    /// Waits until something has changed since the last call.
    pub async fn changed(&mut self) {
        // The sender lives as long as this watcher holds the room.
        let _ = self.version.changed().await;
    }

    /// Returns the operations after number `op`, oldest first; `None` if memory does not reach back that far (read the
    /// log).
    pub fn operations_since(&self, op: i64) -> Option<Vec<Arc<Operation>>> {
        lock(&self.room.operations).since(op)
    }

    /// Returns whether the session was deleted while it was watched.
    pub fn is_deleted(&self) -> bool {
        self.room.is_deleted.load(Ordering::SeqCst)
    }

    /// Returns the running and waiting replies of the session.
    pub fn running_replies(&self) -> Vec<Arc<RunningReply>> {
        let session = self.session;
        lock(&self.live.active).replies.values().filter(|one| one.session == session).cloned().collect()
    }
}

impl Drop for SessionWatcher {
    fn drop(&mut self) {
        let mut rooms = lock(&self.live.rooms);
        let Some(watched) = rooms.get_mut(&self.session) else { return };
        watched.watchers -= 1;
        if watched.watchers == 0 {
            rooms.remove(&self.session);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clotho_core::clock::Time;
    use clotho_core::oplog::OperationKind;

    fn session_id() -> SessionId {
        SessionId::new(uuid::Uuid::from_u128(1))
    }

    fn operation(op: i64) -> Arc<Operation> {
        Arc::new(Operation { op, kind: OperationKind::Checkout, actor: None, at: Time(0), step: op, effects: vec![] })
    }

    fn live_with_limits(per_user: usize, in_all: usize, waiting_per_user: usize) -> LiveSessions {
        LiveSessions::new(GenerationLimits { per_user, total: in_all, waiting_per_user })
    }

    fn live_without_limits() -> LiveSessions {
        live_with_limits(usize::MAX, usize::MAX, 0)
    }

    fn enqueue_reply(live: &LiveSessions, n: u128, user: UserId) -> Arc<RunningReply> {
        live.enqueue_replies(session_id(), &[node_id(n)], user, "").unwrap().remove(0)
    }

    #[tokio::test]
    async fn live_watcher_reads_unseen_operations() {
        let live = Arc::new(live_without_limits());
        live.publish(session_id(), &operation(1));
        let mut watcher = live.watch(session_id());
        assert_eq!(watcher.operations_since(1).map(|list| list.len()), Some(0));
        live.publish(session_id(), &operation(2));
        live.publish(session_id(), &operation(3));
        watcher.changed().await;
        let ops: Vec<i64> = watcher.operations_since(1).unwrap().iter().map(|one| one.op).collect();
        assert_eq!(ops, [2, 3]);
        for op in 4..1_000 {
            live.publish(session_id(), &operation(op));
        }
        assert!(watcher.operations_since(3).is_none(), "older than memory: the log has it");
        assert_eq!(watcher.operations_since(990).unwrap().len(), 9);
    }

    #[tokio::test]
    async fn live_deleted_session_notifies_watcher() {
        let live = Arc::new(live_without_limits());
        let user = UserId::new(uuid::Uuid::from_u128(2));
        let running = enqueue_reply(&live, 1, user);
        let mut watcher = live.watch(session_id());
        assert!(!watcher.is_deleted());
        live.remove_session(session_id());
        watcher.changed().await;
        assert!(watcher.is_deleted());
        assert_eq!(running.wait_for_stop().await, StopReason::Cancelled);
        drop(watcher);
        assert!(!live.watch(session_id()).is_deleted(), "a room is a new one after its last watcher");
    }

    #[test]
    fn live_room_is_removed_with_last_watcher() {
        let live = Arc::new(live_without_limits());
        let (a, b) = (live.watch(session_id()), live.watch(session_id()));
        assert_eq!(live.watcher_counts(), (1, 2));
        drop(a);
        assert_eq!(live.watcher_counts(), (1, 1));
        drop(b);
        assert_eq!(live.watcher_counts(), (0, 0));
    }

    #[test]
    fn live_concurrent_drops_remove_room() {
        let live = Arc::new(live_without_limits());
        for _ in 0..500 {
            let both = [live.watch(session_id()), live.watch(session_id())];
            let start = std::sync::Barrier::new(2);
            std::thread::scope(|scope| {
                for watcher in both {
                    scope.spawn(|| {
                        start.wait();
                        drop(watcher);
                    });
                }
            });
            assert_eq!(live.watcher_counts(), (0, 0));
        }
    }

    fn node_id(n: u128) -> NodeId {
        NodeId::new(uuid::Uuid::from_u128(n))
    }

    #[test]
    fn live_text_is_unsaved_until_marked_saved() {
        let live = live_without_limits();
        let user = UserId::new(uuid::Uuid::from_u128(2));
        let running = enqueue_reply(&live, 3, user);
        live.append(&running, "天空", "", "streaming");
        let piece = |content: &str, reasoning: &str, rewrites| {
            Some(UnsavedText {
                content: content.to_owned(),
                reasoning: reasoning.to_owned(),
                rewrites,
                is_whole: false,
            })
        };
        let first = running.unsaved();
        assert_eq!((&first, running.unsaved()), (&piece("天空", "", 0), first.clone()), "the disk may have been full");
        running.mark_saved(&first.unwrap());
        assert_eq!(running.unsaved(), None);
        live.append(&running, "!", "hm", "streaming");
        assert_eq!(running.unsaved(), piece("!", "hm", 0));
        assert_eq!(live.count(user), (1, 1));
        live.end(running.id);
        assert_eq!(live.count(user), (0, 0));
    }

    /// The place in the queue of the model server is shown until the server begins.
    #[test]
    fn live_queue_of_the_model_server_is_shown_until_it_begins() {
        let live = live_without_limits();
        let running = enqueue_reply(&live, 3, UserId::new(uuid::Uuid::from_u128(2)));
        let queued = |place| GenerationPhase { word: "queued", place: Some(place) };
        let waiting = GenerationPhase { word: "waiting", place: None };
        assert_eq!(running.phase(), waiting);
        for (place, expected) in [(4, queued(4)), (1, queued(1)), (0, waiting), (2, queued(2))] {
            live.show_queued(&running, place);
            assert_eq!(running.phase(), expected);
        }
        live.append(&running, "a", "", "streaming");
        assert_eq!(running.phase(), GenerationPhase { word: "streaming", place: None });
    }

    /// A text that turns out to be a thought is saved again, whole, also if it is rewritten while it is being saved.
    #[test]
    fn live_rewritten_text_is_saved_whole() {
        let live = live_without_limits();
        let running = enqueue_reply(&live, 3, UserId::new(uuid::Uuid::from_u128(2)));
        live.append(&running, "A plan.", "", "streaming");
        let late = running.unsaved().unwrap();
        live.rewrite(&running, 0, "", "A plan.", "thinking");
        running.mark_saved(&late);
        let whole = running.unsaved().unwrap();
        assert_eq!((whole.content.as_str(), whole.reasoning.as_str(), whole.is_whole), ("", "A plan.", true));
        running.mark_saved(&whole);
        assert_eq!(running.unsaved(), None);
        live.append(&running, "No.", "", "streaming");
        let more = running.unsaved().unwrap();
        assert_eq!((more.content.as_str(), more.reasoning.as_str(), more.is_whole), ("No.", "", false));
        running.with_partial_text(|text| assert_eq!((text.content.as_str(), text.rewrites()), ("No.", 1)));
    }

    /// The replies of a request are added all or none; check and addition are atomic.
    #[test]
    fn live_reply_limit_is_enforced() {
        let live = live_with_limits(2, 3, 0);
        let (ann, bob) = (UserId::new(uuid::Uuid::from_u128(2)), UserId::new(uuid::Uuid::from_u128(3)));
        let begin = |user, nodes: &[u128]| {
            let nodes: Vec<NodeId> = nodes.iter().copied().map(node_id).collect();
            live.enqueue_replies(session_id(), &nodes, user, "").is_some()
        };
        assert!(!begin(ann, &[1, 2, 3]));
        assert_eq!(live.count(ann), (0, 0));
        assert!(begin(ann, &[1, 2]) && !begin(ann, &[3]));
        assert!(!begin(bob, &[3, 4]) && begin(bob, &[3]));
        live.end(node_id(1));
        assert!(begin(ann, &[4]));
        assert_eq!(*live.watch_count().borrow(), 3);
        assert!(!begin(ann, &[5]));
        live.free_slot(&live.running_reply(node_id(4)).unwrap());
        assert!(begin(ann, &[5]), "what is being committed takes no room");
        assert_eq!((live.count(ann), *live.watch_count().borrow()), ((2, 3), 4), "but is held until it is");
    }

    /// A waiting reply is notified of its position, and of its start, as soon as an earlier one closes.
    #[tokio::test]
    async fn live_queued_reply_is_notified_of_turn() {
        let live = Arc::new(live_with_limits(1, 9, 2));
        let user = UserId::new(uuid::Uuid::from_u128(2));
        let [one, two, three] = [1, 2, 3].map(|n| enqueue_reply(&live, n, user));
        assert!(live.enqueue_replies(session_id(), &[node_id(4)], user, "").is_none(), "two may wait");
        assert_eq!(one.phase(), GenerationPhase { word: "waiting", place: None });
        assert_eq!(three.phase(), GenerationPhase { word: "queued", place: Some(2) });
        assert_eq!((live.count(user), live.waiting_count(), *live.watch_count().borrow()), ((1, 1), 2, 3));
        let mut watcher = live.watch(session_id());
        live.free_slot(&one);
        watcher.changed().await;
        assert_eq!((two.wait_for_turn().await, two.is_queued(), three.phase().place), (Ok(()), false, Some(1)));
        three.cancel();
        assert_eq!(three.wait_for_turn().await, Err(StopReason::Cancelled));
        live.end(node_id(3));
        live.end(node_id(1));
        live.end(node_id(2));
        assert_eq!((live.count(user), live.waiting_count(), *live.watch_count().borrow()), ((0, 0), 0, 0));
    }

    /// A client that sees a reply complete no longer finds it running.
    #[test]
    fn live_reply_ends_before_publish() {
        let live = Arc::new(live_without_limits());
        let watcher = live.watch(session_id());
        let user = UserId::new(uuid::Uuid::from_u128(2));
        enqueue_reply(&live, 1, user);
        enqueue_reply(&live, 2, user);
        let effects = vec![Effect::Completed { node: node_id(1) }];
        let completed = Operation { effects, ..(*operation(1)).clone() };
        live.publish(session_id(), &Arc::new(completed));
        assert_eq!(watcher.operations_since(0).map(|list| list.len()), Some(1));
        assert_eq!(watcher.running_replies().iter().map(|one| one.id).collect::<Vec<_>>(), [node_id(2)]);
    }

    #[tokio::test]
    async fn live_first_stop_reason_wins() {
        let live = live_without_limits();
        let running = enqueue_reply(&live, 1, UserId::new(uuid::Uuid::from_u128(2)));
        running.interrupt();
        running.cancel();
        assert_eq!(
            (running.wait_for_stop().await, running.wait_for_stop().await),
            (StopReason::Interrupted, StopReason::Interrupted)
        );
    }
}
