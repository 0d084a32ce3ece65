//! Counts the database statements of a whole turn.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::api_session::ApiSession;
use super::*;
use crate::support::statement_spy::{SqlStatement, StatementSpy, all_statements};

/// Turns before the measured one; they run every statement once.
const BEFORE: usize = 11;
/// The statement that reads the log for the search index. The index is fed at intervals for several turns at once.
const FEEDS: &str = "FROM operations o JOIN";

/// A turn over HTTP with a watcher runs a bounded number of statements, all prepared before.
#[tokio::test]
async fn turn_runs_bounded_prepared_statements_only() {
    StatementSpy::watch();
    let play = ApiSession::start_with(TestApp::setup().set("storage.readers", "1"), json!({})).await;
    let mut socket = play.server.open_socket(&play.sid, None).await;
    let mut so_far = 0;
    for turn in 0..=BEFORE {
        if turn == BEFORE {
            so_far = all_statements().len();
        }
        let body = json!({"parentId": play.head().await, "content": "on", "generate": true});
        play.server.post(&play.chat_path("message"), &body).await;
        socket.read_until_type("node.completed").await;
        socket.read_until_type("head.moved").await;
    }
    let ran = all_statements();
    let of_feeding = search_feed_flags(&ran);
    let ran: Vec<_> =
        ran.into_iter().zip(of_feeding).skip(so_far).filter_map(|(ran, feeds)| (!feeds).then_some(ran)).collect();
    let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
    for (ran, is_kept) in &ran {
        assert!(*is_kept, "not kept prepared: {}", ran.sql);
        *counted.entry(&ran.sql).or_default() += 1;
    }
    let mut counted: Vec<(usize, &str)> = counted.into_iter().map(|(sql, times)| (times, sql)).collect();
    counted.sort_unstable_by(|a, b| b.cmp(a));
    assert!(ran.len() > 40 && ran.len() <= 120, "{}: {counted:#?}", ran.len());
}

/// Returns which statements belong to a transaction that feeds the search index. A transaction is identified by its
/// connection and its start.
fn search_feed_flags(ran: &[(SqlStatement, bool)]) -> Vec<bool> {
    let mut open = HashMap::new();
    let begun: Vec<usize> = (0..)
        .zip(ran)
        .map(|(at, (ran, _))| {
            let begun = open.entry(ran.connection).or_insert(at);
            if ran.sql.starts_with("BEGIN") {
                *begun = at;
            }
            *begun
        })
        .collect();
    let feeds: HashSet<&usize> =
        begun.iter().zip(ran).filter(|(_, (ran, _))| ran.sql.contains(FEEDS)).map(|(begun, _)| begun).collect();
    begun.iter().map(|begun| feeds.contains(begun)).collect()
}
