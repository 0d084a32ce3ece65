//! The cost of one session in a database of a million messages.

use clotho_core::clock::Time;
use clotho_store::{Actor, PathFilter, StoreError};

use super::session::open;
use super::table::{format_micros, measure_time, median, print_header, print_row};

const SESSIONS: usize = 10;
const MESSAGES: usize = 100_000;
const ROUNDS: usize = 200;

pub fn measure(most: usize) {
    // The sessions, each with a fork near its end.
    let messages = MESSAGES.min(most);
    let folder = tempfile::tempdir().unwrap();
    let bench = open(folder.path());
    let mut lines: Vec<_> = (0..SESSIONS)
        .map(|_| {
            let (session, root) = bench.create_session(10);
            let fork = bench.append_nodes(session, root, messages - 20);
            let aside = bench.append_nodes(session, fork, 10);
            (session, aside, bench.append_nodes(session, fork, 10))
        })
        .collect();
    let bytes = std::fs::metadata(folder.path().join("clotho.db")).unwrap().len();
    let title = format!("{SESSIONS} sessions of {messages} messages, {:.1} GB", bytes as f64 / 1e9);
    print_header(&title, &["in a session of many, in turns", "median"]);
    // Append in each session in turn.
    let user = bench.user;
    let mut times = Vec::new();
    for round in 0..ROUNDS {
        let (session, _, leaf) = &mut lines[round % SESSIONS];
        times.push(measure_time(|| *leaf = bench.runtime.block_on(bench.append(*session, *leaf))));
    }
    print_row(&["append a message".to_owned(), format_micros(median(&mut times))]);
    times.clear();
    // Read pages.
    for round in 0..ROUNDS {
        let (session, _, leaf) = lines[round % SESSIONS];
        times.push(measure_time(|| {
            let read = bench.store.read::<_, StoreError, _>(move |reader| {
                let held = reader.session(user, session)?.unwrap();
                reader.page(&held, leaf, None, 50, PathFilter::Enabled)
            });
            assert!(bench.runtime.block_on(read).unwrap().nodes.len() > 10);
        }));
    }
    print_row(&["newest page of 50".to_owned(), format_micros(median(&mut times))]);
    times.clear();
    // Move HEAD to the other branch and back.
    for round in 0..ROUNDS {
        let (session, aside, leaf) = lines[round % SESSIONS];
        let actor = Actor { user, at: Time(5), expected_leaf: None };
        let go = |to| {
            let write = bench.store.write(move |tx| tx.checkout(&actor, session, to, true).map(|_| ()));
            bench.runtime.block_on(write).unwrap();
        };
        times.push(measure_time(|| go(aside)));
        go(leaf);
    }
    print_row(&["checkout of another branch".to_owned(), format_micros(median(&mut times))]);
}
