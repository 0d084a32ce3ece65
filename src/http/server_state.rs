//! State shared by all requests of a server: counters, open WebSockets, idempotency locks, and the shutdown signal.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use clotho_core::ids::UserId;

/// The lock of an idempotency key.
type IdempotencyKeyLock = Arc<tokio::sync::Mutex<()>>;

/// Shared state of one server.
pub struct ServerState {
    /// Counters for `/metrics`.
    pub metrics: HttpMetrics,
    sockets: Mutex<HashMap<UserId, usize>>,
    keys: Mutex<HashMap<(UserId, String), IdempotencyKeyLock>>,
    closing: watch::Sender<bool>,
    /// Number of running requests, each until the last byte of its answer; an open WebSocket counts as one.
    running_requests: watch::Sender<usize>,
}

/// Counters since the start.
#[derive(Default)]
pub struct HttpMetrics {
    /// Answers by the first digit of their status, 1 to 5.
    answers: [AtomicU64; 6],
    /// Frames sent over WebSockets.
    frames: AtomicU64,
    /// Requests answered with a stored answer.
    replayed: AtomicU64,
}

impl Default for ServerState {
    fn default() -> Self {
        Self {
            metrics: HttpMetrics::default(),
            sockets: Mutex::default(),
            keys: Mutex::default(),
            closing: watch::Sender::new(false),
            running_requests: watch::Sender::new(0),
        }
    }
}

impl ServerState {
    /// Reserves a WebSocket for a user; `None` if the user already has `limit` open ones.
    pub fn open_socket(self: &Arc<Self>, user: UserId, limit: usize) -> Option<SocketPermit> {
        let mut sockets = lock(&self.sockets);
        let open = sockets.entry(user).or_default();
        if *open >= limit {
            return None;
        }
        *open += 1;
        Some(SocketPermit { shared: Arc::clone(self), user })
    }

    /// Returns the number of open WebSockets.
    pub fn open_sockets(&self) -> usize {
        lock(&self.sockets).values().sum()
    }

    /// Waits until no other request with this key of this user is running, and locks the key.
    pub async fn lock_key(self: &Arc<Self>, user: UserId, key: &str) -> IdempotencyKeyGuard {
        let id = (user, key.to_owned());
        let turn = Arc::clone(lock(&self.keys).entry(id.clone()).or_default());
        let guard = turn.lock_owned().await;
        IdempotencyKeyGuard { shared: Arc::clone(self), id, guard: Some(guard) }
    }

    /// Counts a request as running until the guard is dropped.
    pub fn begin_request(self: &Arc<Self>) -> RunningRequestGuard {
        self.running_requests.send_modify(|serving| *serving += 1);
        RunningRequestGuard(Arc::clone(self))
    }

    /// Waits until no request is running.
    pub async fn wait_until_idle(&self) {
        // Cannot fail, because the sender is part of `self`.
        let _ = self.running_requests.subscribe().wait_for(|serving| *serving == 0).await;
    }

    /// Tells every WebSocket to close.
    pub fn begin_shutdown(&self) {
        self.closing.send_replace(true);
    }

    /// Returns a receiver that becomes true when the server stops.
    pub fn subscribe_shutdown(&self) -> watch::Receiver<bool> {
        self.closing.subscribe()
    }
}

/// A running request; ends when dropped.
pub struct RunningRequestGuard(Arc<ServerState>);

impl Drop for RunningRequestGuard {
    fn drop(&mut self) {
        self.0.running_requests.send_modify(|serving| *serving = serving.saturating_sub(1));
    }
}

/// A reserved WebSocket of a user; released on drop.
pub struct SocketPermit {
    shared: Arc<ServerState>,
    user: UserId,
}

impl Drop for SocketPermit {
    fn drop(&mut self) {
        let mut sockets = lock(&self.shared.sockets);
        if let Some(open) = sockets.get_mut(&self.user) {
            *open = open.saturating_sub(1);
            if *open == 0 {
                sockets.remove(&self.user);
            }
        }
    }
}

/// The lock on an idempotency key; released on drop.
pub struct IdempotencyKeyGuard {
    shared: Arc<ServerState>,
    id: (UserId, String),
    guard: Option<tokio::sync::OwnedMutexGuard<()>>,
}

impl Drop for IdempotencyKeyGuard {
    fn drop(&mut self) {
        let mut keys = lock(&self.shared.keys);
        self.guard = None;
        // Nobody else waits: only the map still refers to the key.
        if keys.get(&self.id).is_some_and(|turn| Arc::strong_count(turn) == 1) {
            keys.remove(&self.id);
        }
    }
}

impl HttpMetrics {
    /// Counts a sent answer.
    pub fn count_response(&self, status: u16) {
        if let Some(counter) = self.answers.get(usize::from(status / 100)) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts a sent frame.
    pub fn count_frame(&self) {
        self.frames.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a replayed answer.
    pub fn count_replay(&self) {
        self.replayed.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of answers by the first digit of their status.
    pub fn responses_by_status_class(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.answers.iter().enumerate().skip(1).map(|(digit, count)| (digit, count.load(Ordering::Relaxed)))
    }

    /// Returns the number of sent frames and of replayed answers.
    pub fn frames_and_replays(&self) -> (u64, u64) {
        (self.frames.load(Ordering::Relaxed), self.replayed.load(Ordering::Relaxed))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user_id() -> UserId {
        UserId::new(uuid::Uuid::from_u128(1))
    }

    #[test]
    fn server_state_socket_limit_per_user_is_enforced() {
        let shared = Arc::new(ServerState::default());
        let first = shared.open_socket(user_id(), 2).unwrap();
        let _second = shared.open_socket(user_id(), 2).unwrap();
        assert!(shared.open_socket(user_id(), 2).is_none());
        drop(first);
        assert!(shared.open_socket(user_id(), 2).is_some());
        assert_eq!(shared.open_sockets(), 1);
    }

    #[tokio::test]
    async fn server_state_idle_after_last_response_dropped() {
        let shared = Arc::new(ServerState::default());
        shared.wait_until_idle().await;
        let (first, second) = (shared.begin_request(), shared.begin_request());
        let waiting = tokio::spawn({
            let shared = Arc::clone(&shared);
            async move { shared.wait_until_idle().await }
        });
        drop(first);
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(second);
        waiting.await.unwrap();
    }

    #[tokio::test]
    async fn server_state_idempotency_key_is_exclusive() {
        let shared = Arc::new(ServerState::default());
        let held = shared.lock_key(user_id(), "k").await;
        let other = tokio::spawn({
            let shared = Arc::clone(&shared);
            async move { drop(shared.lock_key(user_id(), "k").await) }
        });
        tokio::task::yield_now().await;
        assert!(!other.is_finished());
        drop(shared.lock_key(user_id(), "other").await);
        drop(held);
        other.await.unwrap();
        assert!(lock(&shared.keys).is_empty());
    }
}
