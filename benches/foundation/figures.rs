//! The figures of `docs/performance.md`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use clotho::http::wire::tree::TreeSkeleton;
use clotho_core::ids::{NodeId, SessionId, UserId};
use clotho_queries::node_view::NodeRenderer;
use clotho_queries::tree::tree_outline;
use clotho_store::{PathFilter, StoreError, StoreReader, StoredNode};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;

use super::bare::{BareStore, READING, RawQuery, SqlValue};
use super::session::{Bench, TEXT, open};
use super::table::{
    format_kilobytes, format_micros, format_ratio, measure_time, median, print_header, print_row, process_usage,
    quantile,
};

const TURNS: usize = 300;
/// Columns of a node; the next constant has those of an outline row.
const NODE: usize = 23;
const OUTLINE: usize = 12;

/// Measures one durable turn, which must cost the same in a session of ten nodes and of a hundred thousand.
pub fn measure_turn_by_size() {
    print_header(
        "A durable turn, by the size of its session (two commits, one writer)",
        &["nodes", "p50", "p99", "p50 / smallest", "CPU", "to disk", "database"],
    );
    let mut first = None;
    for (nodes, vars) in [(10, 0), (1_000, 0), (10_000, 0), (100_000, 0), (10_000, 100)] {
        let folder = tempfile::tempdir().unwrap();
        let bench = open(folder.path());
        let (session, root) = bench.create_session(vars);
        let mut leaf = bench.append_nodes(session, root, nodes);
        let database = || super::bare::database_size(&folder.path().join("clotho.db"));
        let (before, (bytes, cpu)) = (database(), process_usage());
        let mut times = Vec::new();
        for _ in 0..TURNS {
            let start = Instant::now();
            leaf = bench.runtime.block_on(bench.write_turn(session, leaf));
            times.push(start.elapsed());
        }
        let (bytes_after, cpu_after) = process_usage();
        let p50 = median(&mut times);
        let base = *first.get_or_insert(p50);
        print_row(&[
            if vars == 0 { nodes.to_string() } else { format!("{nodes}, {vars} variables") },
            format_micros(p50),
            format_micros(quantile(&mut times, 99)),
            format_ratio(p50, base),
            format_micros((cpu_after - cpu) / u32::try_from(TURNS).unwrap()),
            format_kilobytes(bytes_after - bytes, TURNS),
            format_kilobytes(database().saturating_sub(before), TURNS),
        ]);
    }
}

/// Measures many writers that share commits, compared with a bare loop with the same group size.
pub fn measure_writers() {
    print_header(
        "Appends by many writers, 1 kB each, full durability (rounds take turns)",
        &["writers", "clotho", "bare loop, same group", "clotho / bare", "limit", "requests a commit"],
    );
    for writers in [1, 16, 64] {
        let rounds = 7;
        let (mut ours, mut limit) = (Vec::new(), Vec::new());
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let bench = Arc::new(open(folder.path()));
        let mut bare = BareStore::open(other.path(), writers);
        let mut sessions: Vec<_> = (0..writers).map(|_| bench.create_session(0)).collect();
        let each = 1_280 / writers;
        let commits = bench.store.commits();
        for _ in 0..rounds {
            ours.push(measure_time(|| run_writers(&bench, &mut sessions, each)));
            let text = "z".repeat(TEXT);
            limit.push(measure_time(|| {
                for _ in 0..each {
                    bare.begin();
                    (0..writers).for_each(|session| bare.append(session, &text));
                    bare.commit();
                }
            }));
        }
        let rate = |time: Duration| format!("{:.0}/s", (each * writers) as f64 / time.as_secs_f64());
        let (ours, limit) = (median(&mut ours), median(&mut limit));
        let target = if writers == 1 { ">= 0.67" } else { ">= 0.70" };
        let shared = (rounds * each * writers) as f64 / (bench.store.commits() - commits) as f64;
        print_row(&[
            writers.to_string(),
            rate(ours),
            rate(limit),
            format_ratio(limit, ours),
            target.to_owned(),
            format!("{shared:.0}"),
        ]);
    }
}

/// Lets each writer continue at the end of its session, as the bare loop does.
fn run_writers(bench: &Arc<Bench>, sessions: &mut [(SessionId, NodeId)], each: usize) {
    let tasks: Vec<_> = sessions
        .iter()
        .map(|(session, leaf)| {
            let (bench, session, mut leaf) = (Arc::clone(bench), *session, *leaf);
            let handle = bench.runtime.handle().clone();
            handle.spawn(async move {
                for _ in 0..each {
                    leaf = bench.append(session, leaf).await;
                }
                leaf
            })
        })
        .collect();
    bench.runtime.block_on(async {
        for (task, (_, leaf)) in tasks.into_iter().zip(sessions) {
            *leaf = task.await.unwrap();
        }
    });
}

/// Measures the newest page of a deep session against its bare query. With the columns of a page the query is the
/// limit; with the texts only, it shows the cost of the walk. The same page is also read on a thread of the store, as
/// happens while another read runs.
pub fn measure_projection() {
    print_header(
        "A projection of 200 nodes (rounds take turns)",
        &[
            "depth",
            "clotho",
            "the query alone in C, same columns",
            "clotho / query",
            "limit",
            "read by another thread",
            "it / query",
            "one column",
            "clotho / it",
        ],
    );
    for depth in [1_000, 50_000] {
        // A session of this depth, and both bare queries on its database.
        let folder = tempfile::tempdir().unwrap();
        let bench = open(folder.path());
        let (session, root) = bench.create_session(10);
        let leaf = bench.append_nodes(session, root, depth);
        let path = folder.path().join("clotho.db");
        let mut conn = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
        conn.batch_execute(READING).unwrap();
        let mut plain = RawQuery::prepare_page(&path);
        let (mut ours, mut limit, mut walk, mut handed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let leaf_n = i64::try_from(depth).unwrap() + 1;
        let mut query = || plain.query_rows::<NODE>(&[leaf_n, 201]);
        assert!(query().iter().flatten().map(SqlValue::len).sum::<usize>() > 201 * TEXT);
        // The four reads, in alternating rounds.
        for _ in 0..400 {
            let user: UserId = bench.user;
            let read = move |reader: &mut StoreReader<'_>| -> Result<Vec<StoredNode>, StoreError> {
                let Some(held) = reader.session(user, session)? else { return Ok(Vec::new()) };
                Ok(reader.page(&held, leaf, None, 200, PathFilter::Enabled)?.nodes)
            };
            let whole = |page: Result<Vec<StoredNode>, StoreError>| assert_eq!(page.unwrap().len(), 200);
            ours.push(measure_time(|| whole(bench.runtime.block_on(bench.store.read_inline(read)))));
            handed.push(measure_time(|| whole(bench.runtime.block_on(bench.store.read(read)))));
            limit.push(measure_time(|| assert_eq!(query().len(), 201)));
            walk.push(measure_time(|| assert_eq!(BareStore::query_projection(&mut conn, leaf_n, 200), 200 * TEXT)));
        }
        // Print the row.
        let (ours, limit) = (median(&mut ours), median(&mut limit));
        let (walk, handed) = (median(&mut walk), median(&mut handed));
        print_row(&[
            depth.to_string(),
            format_micros(ours),
            format_micros(limit),
            format_ratio(ours, limit),
            "<= 1.50".into(),
            format_micros(handed),
            format_ratio(handed, limit),
            format_micros(walk),
            format_ratio(ours, walk),
        ]);
    }
}

/// Measures the outline of a whole tree against one query for its columns: as the store returns it, and as the HTTP
/// response.
pub fn measure_outline() {
    print_header(
        "The outline of a tree (rounds take turns)",
        &[
            "nodes",
            "one query in C",
            "clotho, rows",
            "clotho / query",
            "clotho, as JSON",
            "it / query",
            "limit",
            "bytes",
        ],
    );
    for nodes in [10_000, 100_000] {
        // A session of this many nodes.
        let folder = tempfile::tempdir().unwrap();
        let bench = open(folder.path());
        let (session, root) = bench.create_session(10);
        bench.append_nodes(session, root, nodes);
        let mut plain = RawQuery::prepare_outline(&folder.path().join("clotho.db"));
        let (mut limit, mut ours, mut answered) = (Vec::new(), Vec::new(), Vec::new());
        let mut bytes = 0;
        // The bare query, the store's rows, and the rows as JSON, in alternating rounds.
        for _ in 0..(1_000_000 / nodes).max(15) {
            limit.push(measure_time(|| assert_eq!(plain.query_rows::<OUTLINE>(&[1]).len(), nodes + 1)));
            let user: UserId = bench.user;
            let rows = move |reader: &mut StoreReader<'_>| -> Result<usize, StoreError> {
                let held = reader.session(user, session)?.unwrap();
                Ok(reader.outline(&held)?.len())
            };
            ours.push(measure_time(|| assert_eq!(bench.runtime.block_on(bench.store.read(rows)).unwrap(), nodes + 1)));
            let answer = move |reader: &mut StoreReader<'_>| -> Result<usize, StoreError> {
                let look = NodeRenderer { hide_tags: Arc::from(["think".to_owned()]), live: None, turns: None };
                let held = reader.session(user, session)?.unwrap();
                let skeleton = TreeSkeleton::new(&held.session, tree_outline(reader, &held, &look)?);
                Ok(serde_json::to_vec(&skeleton).unwrap().len())
            };
            answered.push(measure_time(|| bytes = bench.runtime.block_on(bench.store.read(answer)).unwrap()));
        }
        // Print the row.
        let (limit, ours, answered) = (median(&mut limit), median(&mut ours), median(&mut answered));
        print_row(&[
            nodes.to_string(),
            format_micros(limit),
            format_micros(ours),
            format_ratio(ours, limit),
            format_micros(answered),
            format_ratio(answered, limit),
            "<= 3".into(),
            format_kilobytes(bytes.try_into().unwrap(), 1),
        ]);
    }
}

/// Measures reading a world in a deep session with an empty cache.
pub fn measure_world() {
    print_header("The world at depth 50 000, cold", &["variables", "p50", "deltas folded at most", "limit"]);
    for vars in [10, 1_000] {
        let folder = tempfile::tempdir().unwrap();
        let bench = open(folder.path());
        let (session, root) = bench.create_session(vars);
        // The last node before the next keyframe: the largest possible distance to a keyframe.
        let leaf = bench.append_nodes(session, root, 50_015);
        let mut times = Vec::new();
        let mut most = 0;
        for _ in 0..100 {
            bench.store.forget_worlds();
            let folded = bench.store.deltas_folded();
            let user = bench.user;
            times.push(measure_time(|| {
                let read = move |reader: &mut StoreReader<'_>| -> Result<(), StoreError> {
                    let Some(held) = reader.session(user, session)? else { return Ok(()) };
                    let Some(placed) = reader.node(&held, leaf)? else { return Ok(()) };
                    reader.world(&held, &placed).map(|_| ())
                };
                bench.runtime.block_on(bench.store.read(read)).unwrap();
            }));
            most = most.max(bench.store.deltas_folded() - folded);
        }
        print_row(&[
            vars.to_string(),
            format_micros(median(&mut times)),
            most.to_string(),
            "16 (keyframe_every)".into(),
        ]);
    }
}
