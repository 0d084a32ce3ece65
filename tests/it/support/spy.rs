//! A spy on the statements that connections run: what they were, on which thread, and whether they are kept prepared.
//! It sees connections opened after [`Spy::watch`], so it is set before the store is.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use diesel::connection::{Instrumentation, InstrumentationEvent, set_default_instrumentation};

/// A statement that was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// The thread that ran it.
    pub thread: ThreadId,
    /// Which connection it was run on.
    pub connection: usize,
    /// Its text, with `?` for what was bound.
    pub sql: String,
    /// What was bound, as diesel prints it: `[1, "x"]`.
    pub binds: String,
}

#[derive(Default)]
struct Seen {
    ran: Vec<Ran>,
    /// What was prepared to be kept: by which thread, on which connection.
    kept: Vec<(ThreadId, usize, String)>,
}

static SEEN: Mutex<Option<Seen>> = Mutex::new(None);

fn seen() -> MutexGuard<'static, Option<Seen>> {
    SEEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Watches a connection that is just being opened.
fn instrument() -> Option<Box<dyn Instrumentation>> {
    static OPENED: AtomicUsize = AtomicUsize::new(0);
    let connection = OPENED.fetch_add(1, Ordering::Relaxed);
    Some(Box::new(move |event: InstrumentationEvent<'_>| note(connection, event)))
}

fn note(connection: usize, event: InstrumentationEvent<'_>) {
    let thread = thread::current().id();
    let mut seen = seen();
    let seen = seen.get_or_insert_default();
    match event {
        InstrumentationEvent::StartQuery { query, .. } => {
            let text = query.to_string();
            let (sql, binds) = text.split_once(" -- binds: ").unwrap_or((&text, "[]"));
            seen.ran.push(Ran { thread, connection, sql: sql.trim().into(), binds: binds.into() });
        }
        InstrumentationEvent::CacheQuery { sql, .. } => seen.kept.push((thread, connection, sql.into())),
        _ => {}
    }
}

/// What one thread does with its connection.
pub struct Spy {
    pub thread: ThreadId,
}

impl Spy {
    /// From now on new connections are watched.
    pub fn watch() {
        set_default_instrumentation(instrument).unwrap();
    }

    /// What the thread ran while `work` was done.
    pub fn during(&self, work: impl FnOnce()) -> Vec<Ran> {
        let so_far = self.ran().len();
        work();
        self.ran().split_off(so_far)
    }

    /// Everything the thread ran.
    pub fn ran(&self) -> Vec<Ran> {
        let seen = seen();
        seen.iter().flat_map(|seen| &seen.ran).filter(|ran| ran.thread == self.thread).cloned().collect()
    }

    /// The statements that the thread's connection keeps prepared.
    pub fn kept(&self) -> BTreeSet<String> {
        self.prepared().into_iter().collect()
    }

    /// The same, one for each time one was prepared to be kept.
    pub fn prepared(&self) -> Vec<String> {
        let seen = seen();
        let own = seen.iter().flat_map(|seen| &seen.kept).filter(|(thread, ..)| *thread == self.thread);
        own.map(|(.., sql)| sql.clone()).collect()
    }
}

/// What all watched connections have run so far, the oldest first; whether each was kept prepared.
pub fn all_ran() -> Vec<(Ran, bool)> {
    let seen = seen();
    let Some(seen) = seen.as_ref() else { return Vec::new() };
    let is_kept =
        |ran: &Ran| seen.kept.iter().any(|(_, connection, sql)| *connection == ran.connection && *sql == ran.sql);
    seen.ran.iter().map(|ran| (ran.clone(), is_kept(ran))).collect()
}
