//! Records the statements that connections run: the text, the thread, and whether the statement is cached as prepared.
//! It sees only connections opened after [`StatementSpy::watch`], so call that before opening the store.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use diesel::connection::{Instrumentation, InstrumentationEvent, set_default_instrumentation};

/// A statement that was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlStatement {
    pub thread: ThreadId,
    /// The number of the connection.
    pub connection: usize,
    /// The text, with `?` for bound values.
    pub sql: String,
    /// The bound values as diesel prints them: `[1, "x"]`.
    pub binds: String,
}

#[derive(Default)]
struct StatementLog {
    statements: Vec<SqlStatement>,
    /// Statements that were prepared for the cache: thread, connection and text.
    prepared_statements: Vec<(ThreadId, usize, String)>,
}

static LOG: Mutex<Option<StatementLog>> = Mutex::new(None);

fn lock_log() -> MutexGuard<'static, Option<StatementLog>> {
    LOG.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Instruments a connection that is being opened.
fn new_instrumentation() -> Option<Box<dyn Instrumentation>> {
    static OPENED: AtomicUsize = AtomicUsize::new(0);
    let connection = OPENED.fetch_add(1, Ordering::Relaxed);
    Some(Box::new(move |event: InstrumentationEvent<'_>| record_event(connection, event)))
}

fn record_event(connection: usize, event: InstrumentationEvent<'_>) {
    let thread = thread::current().id();
    let mut seen = lock_log();
    let seen = seen.get_or_insert_default();
    match event {
        InstrumentationEvent::StartQuery { query, .. } => {
            let text = query.to_string();
            let (sql, binds) = text.split_once(" -- binds: ").unwrap_or((&text, "[]"));
            seen.statements.push(SqlStatement { thread, connection, sql: sql.trim().into(), binds: binds.into() });
        }
        InstrumentationEvent::CacheQuery { sql, .. } => seen.prepared_statements.push((thread, connection, sql.into())),
        _ => {}
    }
}

/// The statements of one thread.
pub struct StatementSpy {
    pub thread: ThreadId,
}

impl StatementSpy {
    /// Starts watching new connections.
    pub fn watch() {
        set_default_instrumentation(new_instrumentation).unwrap();
    }

    /// Returns what the thread ran during `work`.
    pub fn statements_during(&self, work: impl FnOnce()) -> Vec<SqlStatement> {
        let so_far = self.statements().len();
        work();
        self.statements().split_off(so_far)
    }

    /// Returns everything that the thread ran.
    pub fn statements(&self) -> Vec<SqlStatement> {
        let seen = lock_log();
        seen.iter().flat_map(|seen| &seen.statements).filter(|ran| ran.thread == self.thread).cloned().collect()
    }

    /// Returns the statements that the thread's connection keeps prepared.
    pub fn prepared_statements(&self) -> BTreeSet<String> {
        self.preparation_log().into_iter().collect()
    }

    /// Returns the same with one entry for each preparation.
    pub fn preparation_log(&self) -> Vec<String> {
        let seen = lock_log();
        let own = seen.iter().flat_map(|seen| &seen.prepared_statements).filter(|(thread, ..)| *thread == self.thread);
        own.map(|(.., sql)| sql.clone()).collect()
    }
}

/// Returns everything that all watched connections have run, oldest first, and whether each statement is cached.
pub fn all_statements() -> Vec<(SqlStatement, bool)> {
    let seen = lock_log();
    let Some(seen) = seen.as_ref() else { return Vec::new() };
    let is_kept = |ran: &SqlStatement| {
        seen.prepared_statements.iter().any(|(_, connection, sql)| *connection == ran.connection && *sql == ran.sql)
    };
    seen.statements.iter().map(|ran| (ran.clone(), is_kept(ran))).collect()
}
