//! What a turn of the whole program asks of the database, counted.

use std::collections::BTreeMap;

use super::play::Play;
use super::*;
use crate::support::spy::{Spy, all_ran};

/// Turns before the one that is looked at: every statement was run by then.
const BEFORE: usize = 11;
/// What runs without being prepared: the frame of a transaction.
const FRAME: [&str; 7] =
    ["BEGIN", "BEGIN IMMEDIATE", "COMMIT", "ROLLBACK", "SAVEPOINT request", "RELEASE request", "PRAGMA"];

/// A turn over HTTP with someone who watches: a bounded number of statements, each of them prepared before.
#[tokio::test]
async fn a_turn_prepares_nothing_anew() {
    Spy::watch();
    let play = Play::with(TestApp::with().set("storage.readers", "1"), json!({})).await;
    let mut socket = play.app.socket(&play.sid, None).await;
    let mut so_far = 0;
    for turn in 0..=BEFORE {
        if turn == BEFORE {
            so_far = all_ran().len();
        }
        let body = json!({"parentId": play.head().await, "content": "on", "generate": true});
        play.app.post(&play.chat("message"), &body).await;
        socket.until_type("node.completed").await;
        socket.until_type("head.moved").await;
    }
    let ran = all_ran().split_off(so_far);
    let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
    for (ran, is_kept) in &ran {
        assert!(*is_kept || FRAME.contains(&ran.sql.as_str()), "not kept prepared: {}", ran.sql);
        *counted.entry(&ran.sql).or_default() += 1;
    }
    let mut counted: Vec<(usize, &str)> = counted.into_iter().map(|(sql, times)| (times, sql)).collect();
    counted.sort_unstable_by(|a, b| b.cmp(a));
    assert!(ran.len() > 40 && ran.len() <= 120, "{}: {counted:#?}", ran.len());
}
