//! A fair queue for generations, as plain data. Users take turns, and so do the sessions of one user; within a session
//! the oldest is first. A user at the limit of running generations is skipped but keeps the turn.

use std::collections::{HashMap, VecDeque};

use indexmap::IndexMap;

use clotho_core::ids::{SessionId, UserId};

/// How many generations may run and wait at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GenerationLimits {
    /// Running generations of one user.
    pub per_user: usize,
    /// Running generations of all users.
    pub total: usize,
    /// Waiting generations of one user.
    pub waiting_per_user: usize,
}

impl GenerationLimits {
    /// Returns how many replies one request may ever ask for: more would not fit into an empty queue.
    pub fn max_per_request(&self) -> usize {
        self.per_user.min(self.total).saturating_add(self.waiting_per_user)
    }
}

/// The id of a generation in the queue.
pub type QueueTicket = u64;

/// The running and waiting generations.
#[derive(Debug, Default)]
pub struct GenerationQueue {
    last: QueueTicket,
    running: HashMap<QueueTicket, UserId>,
    running_of: HashMap<UserId, usize>,
    waiting: WaitingQueue,
}

/// The waiting generations: users in turn order, each with sessions in turn order, each with the oldest first. Empty
/// entries are removed.
#[derive(Debug, Clone, Default)]
struct WaitingQueue(IndexMap<UserId, SessionQueues>);

/// The waiting generations of one user by session.
type SessionQueues = IndexMap<SessionId, VecDeque<QueueTicket>>;

impl GenerationQueue {
    /// Adds the generations of one request; they wait until [`GenerationQueue::next`] returns them. Adds all or none:
    /// returns `None` if there is no room for all.
    pub fn enter(
        &mut self,
        user: UserId,
        session: SessionId,
        n: usize,
        most: &GenerationLimits,
    ) -> Option<Vec<QueueTicket>> {
        if !self.has_room(user, n, most) {
            return None;
        }
        let tickets: Vec<QueueTicket> = (self.last + 1..).take(n).collect();
        self.last = tickets.last().copied().unwrap_or(self.last);
        self.waiting.join(user, session, &tickets);
        Some(tickets)
    }

    /// Returns whether `n` more generations of a user fit. Free slots count in full, because generations wait only if
    /// there is no free slot.
    pub fn has_room(&self, user: UserId, n: usize, most: &GenerationLimits) -> bool {
        let (own, all) = self.count(user);
        let free = most.per_user.saturating_sub(own).min(most.total.saturating_sub(all));
        self.waiting.count_for(user).saturating_add(n.saturating_sub(free)) <= most.waiting_per_user
    }

    /// Starts and returns the next generation that may run now.
    pub fn next(&mut self, most: &GenerationLimits) -> Option<QueueTicket> {
        if self.running.len() >= most.total {
            return None;
        }
        let running_of = &self.running_of;
        let may = |user| running_of.get(&user).copied().unwrap_or(0) < most.per_user;
        let (user, ticket) = self.waiting.take(may)?;
        self.running.insert(ticket, user);
        *self.running_of.entry(user).or_default() += 1;
        Some(ticket)
    }

    /// Removes a running or waiting generation.
    pub fn leave(&mut self, ticket: QueueTicket) {
        let Some(user) = self.running.remove(&ticket) else { return self.waiting.leave(ticket) };
        if let Some(running) = self.running_of.get_mut(&user) {
            *running -= 1;
            if *running == 0 {
                self.running_of.remove(&user);
            }
        }
    }

    /// Returns the position of each waiting generation, counted from 1. While the server has free slots, only the
    /// user's own generations count.
    pub fn places(&self, most: &GenerationLimits) -> Vec<(QueueTicket, usize)> {
        let lines: Vec<WaitingQueue> = match self.running.len() >= most.total {
            true => vec![self.waiting.clone()],
            false => {
                self.waiting.0.iter().map(|(user, own)| WaitingQueue(IndexMap::from([(*user, own.clone())]))).collect()
            }
        };
        let turns = |mut line: WaitingQueue| std::iter::from_fn(move || line.take(|_| true)).zip(1..);
        lines.into_iter().flat_map(turns).map(|((_, ticket), place)| (ticket, place)).collect()
    }

    /// Returns how many generations run: of one user, and in total.
    pub fn count(&self, user: UserId) -> (usize, usize) {
        (self.running_of.get(&user).copied().unwrap_or(0), self.running.len())
    }

    /// Returns how many generations wait.
    pub fn waiting(&self) -> usize {
        self.waiting.0.values().map(in_sessions).sum()
    }
}

impl WaitingQueue {
    fn count_for(&self, user: UserId) -> usize {
        self.0.get(&user).map_or(0, in_sessions)
    }

    /// Adds tickets; new users and sessions go to the end.
    fn join(&mut self, user: UserId, session: SessionId, tickets: &[QueueTicket]) {
        if !tickets.is_empty() {
            self.0.entry(user).or_default().entry(session).or_default().extend(tickets);
        }
    }

    /// Takes the first ticket of the first allowed user; user and session then go to the end.
    fn take(&mut self, may: impl Fn(UserId) -> bool) -> Option<(UserId, QueueTicket)> {
        let user = *self.0.keys().find(|user| may(**user))?;
        let mut sessions = self.0.shift_remove(&user)?;
        let (session, mut tickets) = sessions.shift_remove_index(0)?;
        let ticket = tickets.pop_front()?;
        if !tickets.is_empty() {
            sessions.insert(session, tickets);
        }
        if !sessions.is_empty() {
            self.0.insert(user, sessions);
        }
        Some((user, ticket))
    }

    fn leave(&mut self, ticket: QueueTicket) {
        self.0.retain(|_, sessions| {
            sessions.retain(|_, tickets| {
                tickets.retain(|one| *one != ticket);
                !tickets.is_empty()
            });
            !sessions.is_empty()
        });
    }
}

fn in_sessions(sessions: &SessionQueues) -> usize {
    sessions.values().map(VecDeque::len).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MOST: GenerationLimits = GenerationLimits { per_user: 2, total: 3, waiting_per_user: 4 };

    fn user_id(n: u128) -> UserId {
        UserId::new(uuid::Uuid::from_u128(n))
    }

    fn session_id(n: u128) -> SessionId {
        SessionId::new(uuid::Uuid::from_u128(n))
    }

    fn start_ready(queue: &mut GenerationQueue, most: &GenerationLimits) -> Vec<QueueTicket> {
        std::iter::from_fn(|| queue.next(most)).collect()
    }

    /// Returns the start order with one slot in total.
    fn start_order(queue: &mut GenerationQueue) -> Vec<QueueTicket> {
        let one = GenerationLimits { per_user: 1, total: 1, waiting_per_user: 0 };
        let next = || {
            let ticket = queue.next(&one)?;
            queue.leave(ticket);
            Some(ticket)
        };
        std::iter::from_fn(next).collect()
    }

    /// S4-07: the texts of a request are added all or none; as many as fit start, the rest waits.
    #[test]
    fn queue_over_limit_texts_wait() {
        let mut queue = GenerationQueue::default();
        assert_eq!(queue.enter(user_id(1), session_id(1), 7, &MOST), None, "two may run and four may wait");
        assert_eq!(queue.enter(user_id(1), session_id(1), 4, &MOST), Some(vec![1, 2, 3, 4]));
        assert_eq!(start_ready(&mut queue, &MOST), [1, 2]);
        assert_eq!((queue.count(user_id(1)), queue.waiting()), ((2, 2), 2));
        assert_eq!(queue.enter(user_id(1), session_id(1), 3, &MOST), None);
        assert!(queue.enter(user_id(2), session_id(2), 2, &MOST).is_some());
        assert_eq!(start_ready(&mut queue, &MOST), [5], "the first user has two, so the second's turn comes");
        queue.leave(1);
        assert_eq!(start_ready(&mut queue, &MOST), [3]);
        queue.leave(4);
        queue.leave(5);
        assert_eq!((start_ready(&mut queue, &MOST), queue.waiting()), (vec![6], 0), "4 went away before its turn");
        queue.leave(6);
        queue.leave(6);
        assert_eq!(queue.count(user_id(2)), (0, 2));
    }

    /// A user with many requests does not block others: users take turns, and so do the sessions of one user.
    #[test]
    fn queue_users_and_sessions_alternate() {
        let most = GenerationLimits { per_user: 1, total: 1, waiting_per_user: 64 };
        let mut queue = GenerationQueue::default();
        for (who, whose, n) in [(1, 11, 3), (1, 12, 2), (2, 21, 1), (3, 31, 2)] {
            queue.enter(user_id(who), session_id(whose), n, &most).unwrap();
        }
        // The first user has 1 2 3 and 4 5, the second 6, the third 7 8.
        assert_eq!(start_order(&mut queue), [1, 6, 7, 4, 8, 2, 5, 3]);
    }

    /// Positions match the start order; where only the user's own limit applies, other users do not count.
    #[test]
    fn queue_places_match_start_order() {
        let mut queue = GenerationQueue::default();
        let most = GenerationLimits { per_user: 1, total: 2, waiting_per_user: 64 };
        queue.enter(user_id(1), session_id(11), 3, &most).unwrap();
        assert_eq!(start_ready(&mut queue, &most), [1]);
        assert_eq!(queue.places(&most), [(2, 1), (3, 2)]);
        queue.enter(user_id(2), session_id(21), 3, &most).unwrap();
        assert_eq!(start_ready(&mut queue, &most), [4]);
        assert_eq!(queue.places(&most), [(2, 1), (5, 2), (3, 3), (6, 4)], "the server is full: all stand in one line");
        queue.leave(4);
        queue.leave(5);
        queue.leave(6);
        assert_eq!(queue.places(&most), [(2, 1), (3, 2)]);
    }

    proptest! {
        /// After any steps: no limit is exceeded, nothing waits that may run, each generation starts at most once, and
        /// in the end all have run.
        #[test]
        fn queue_any_steps_start_every_text(steps in proptest::collection::vec((0_u128..4, 0_u128..3, 1_usize..4, 0_usize..3), 1..40)) {
            let mut queue = GenerationQueue::default();
            let (mut entered, mut begun, mut running) = (Vec::new(), Vec::new(), Vec::new());
            for (who, whose, n, gone) in steps {
                entered.extend(queue.enter(user_id(who), session_id(whose), n, &MOST).unwrap_or_default());
                running.extend(start_ready(&mut queue, &MOST));
                let full = (0..4).all(|who| queue.count(user_id(who)).0 >= MOST.per_user || queue.waiting.count_for(user_id(who)) == 0);
                prop_assert!(running.len() <= MOST.total);
                prop_assert!(full || running.len() == MOST.total);
                for ticket in running.drain(..gone.min(running.len())).collect::<Vec<_>>() {
                    queue.leave(ticket);
                    begun.push(ticket);
                }
            }
            while !running.is_empty() || queue.waiting() > 0 {
                running.drain(..).for_each(|ticket| {
                    queue.leave(ticket);
                    begun.push(ticket);
                });
                running.extend(start_ready(&mut queue, &MOST));
            }
            begun.sort_unstable();
            prop_assert_eq!(begun, entered);
            prop_assert!(queue.running_of.is_empty() && queue.waiting.0.is_empty());
        }
    }
}
