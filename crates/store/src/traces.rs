//! Traces: why a reply exists. Block texts are content-addressed and history is a list of nodes kept as the difference to
//! an ancestor's, so that traces grow with what is new in each turn (`domain.md` 6.5).
//!
//! The traces of a path are counted from 1. Number `t` stands on number `t` without its lowest bit (12 on 8, 8 on none),
//! as in a Fenwick tree: a trace is read back in at most as many steps as `t` has bits, and all of them together keep each
//! node of the history only some `log t` times.

use std::collections::{HashMap, HashSet};

use diesel::prelude::*;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::blobs;
use super::compression;
use super::conn::Conn;
use super::error::StoreError;
use super::tables::{nodes, purged, texts, traces};

/// Traces that are looked into at once.
const INDEX_BATCH_SIZE: i64 = 200;

/// So many rows are named in one statement.
const BATCH_SIZE: usize = 512;

/// Stands in the column of those that stand on no other.
const NO_BASE: i64 = 0;

/// How far up the path an earlier trace is looked for.
const MAX_BASE_DISTANCE: usize = 8;

/// Stands for the row of a node that was destroyed before the trace came in with a file.
pub const GONE: i64 = 0;

/// Stands for the row of a node of another session, which did not come along with the file of a trace.
pub const ELSEWHERE: i64 = -1;

/// Where a node is that a trace names and that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MissingNode {
    /// It was destroyed; the hash of its text in hex, where that is known.
    Purged(Option<String>),
    /// It is of another session, and did not come along with the file of this one.
    Elsewhere,
}

/// A trace as the turn hands it over and reads it back.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trace {
    /// Parameters, model, timings, rules, usage: everything that is neither block nor history.
    pub head: Map<String, Value>,
    /// The blocks of the blueprint: what each is, and its text.
    pub blocks: Vec<(Value, String)>,
    /// The rows of the nodes whose texts were sent, oldest first.
    pub history: Vec<i64>,
}

/// A trace without its texts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TraceOutline {
    /// As in [`Trace`].
    pub head: Map<String, Value>,
    /// As in [`Trace`].
    pub history: Vec<i64>,
}

/// Keeps the trace of a node.
pub fn put(conn: &mut Conn, node_n: i64, trace: &Trace) -> Result<(), StoreError> {
    let mut blocks = Vec::new();
    for (about, text) in &trace.blocks {
        blocks.push(json!([about, blobs::put(conn, text.as_bytes())?.1]));
    }
    let history = difference(conn, node_n, &trace.history)?;
    save(conn, node_n, &json!({"head": trace.head, "blocks": blocks, "history": history}))
}

/// Keeps the trace of a node for its copy too; `copies` has the rows of all copies by those of their originals. What came
/// along is named by its copy; in what did not, the trace goes on naming the original.
pub fn copy(conn: &mut Conn, from: i64, copies: &HashMap<i64, i64>) -> Result<(), StoreError> {
    let (Some(to), Some(body)) = (copies.get(&from), read::<Value>(conn, from)?) else { return Ok(()) };
    let kept = StoredHistory::of(from, &body)?;
    let there = |rows: Vec<i64>| rows.into_iter().map(|n| copies.get(&n).copied().unwrap_or(n)).collect::<Vec<_>>();
    let history = match kept.base.and_then(|base| copies.get(&base)) {
        Some(base) => json!({"number": kept.number, "base": base, "skip": kept.skip, "add": there(kept.add)}),
        None => json!({"number": kept.number, "add": there(history_of(conn, from)?)}),
    };
    save(conn, *to, &with_history(from, body, history)?)
}

/// Takes the trace of a node away, for another one.
pub fn delete(conn: &mut Conn, node_n: i64) -> Result<(), StoreError> {
    diesel::delete(traces::table.find(node_n)).execute(conn)?;
    Ok(())
}

/// The traces that stand on one that is about to go have their histories in full from then on. Most hang below it and go too;
/// what stays was hung elsewhere.
pub fn detach_histories(conn: &mut Conn, session_n: i64, going: &HashSet<i64>) -> Result<(), StoreError> {
    let rows: Vec<i64> = going.iter().copied().collect();
    let mut staying = Vec::new();
    for some in rows.chunks(BATCH_SIZE) {
        let standing = traces::table.filter(traces::base_n.eq_any(some)).select(traces::node_n);
        staying.extend(standing.load::<i64>(conn)?);
    }
    staying.extend(unindexed_on(conn, session_n, going)?);
    let mut alone = Vec::new();
    for n in staying.into_iter().filter(|n| !going.contains(n)) {
        let body: Value = read(conn, n)?.ok_or(damaged(n))?;
        let kept = StoredHistory::of(n, &body)?;
        let history = json!({"number": kept.number, "add": history_of(conn, n)?});
        alone.push((n, with_history(n, body, history)?));
    }
    for (n, body) in alone {
        delete(conn, n)?;
        save(conn, n, &body)?;
    }
    Ok(())
}

/// The traces of a session that nobody has looked into yet and that stand on one of some nodes.
fn unindexed_on(conn: &mut Conn, session_n: i64, going: &HashSet<i64>) -> Result<Vec<i64>, StoreError> {
    let (mut found, mut after) = (Vec::new(), 0);
    loop {
        let page = unindexed(conn, after)?;
        let Some(last) = page.last() else { return Ok(found) };
        after = *last;
        let own = nodes::table.filter(nodes::n.eq_any(&page)).filter(nodes::session_n.eq(session_n));
        for n in own.select(nodes::n).load::<i64>(conn)? {
            found.extend(stored_history(conn, n)?.base.filter(|base| going.contains(base)).map(|_| n));
        }
    }
}

/// Some traces of which nobody knows what they stand on, after a row.
fn unindexed(conn: &mut Conn, after: i64) -> Result<Vec<i64>, StoreError> {
    let unread = traces::table.filter(traces::base_n.is_null()).filter(traces::node_n.gt(after));
    let some = unread.order(traces::node_n).limit(INDEX_BATCH_SIZE).select(traces::node_n);
    Ok(some.load(conn)?)
}

/// Looks into some of the traces of which nobody knows what they stand on; answers with how many those were. One that cannot be
/// read stands on none: whoever reads it is told that it is damaged.
pub fn index_bases(conn: &mut Conn) -> Result<usize, StoreError> {
    let some = unindexed(conn, 0)?;
    for n in &some {
        let base = stored_history(conn, *n).ok().and_then(|kept| kept.base);
        let known = traces::base_n.eq(Some(base.unwrap_or(NO_BASE)));
        diesel::update(traces::table.find(*n)).set(known).execute(conn)?;
    }
    Ok(some.len())
}

/// Keeps the hashes of the texts of nodes that are about to go: the traces of others go on naming them.
pub fn keep_hashes(conn: &mut Conn, going: &[i64]) -> Result<(), StoreError> {
    for some in going.chunks(BATCH_SIZE) {
        let of_some = texts::table.filter(texts::n.eq_any(some)).select((texts::n, texts::content));
        for (n, content) in of_some.load::<(i64, String)>(conn)? {
            let row = (purged::n.eq(n), purged::hash.eq(blake3::hash(content.as_bytes()).as_bytes().to_vec()));
            diesel::insert_into(purged::table).values(row).execute(conn)?;
        }
    }
    Ok(())
}

/// Where a node is that a trace names and that is not there.
pub fn missing_node(conn: &mut Conn, n: i64) -> Result<MissingNode, StoreError> {
    if n == ELSEWHERE {
        return Ok(MissingNode::Elsewhere);
    }
    let hash: Option<Vec<u8>> = purged::table.find(n).select(purged::hash).get_result(conn).optional()?;
    let hash = hash.and_then(|hash| Some(blake3::Hash::from_bytes(hash.try_into().ok()?).to_hex().to_string()));
    Ok(MissingNode::Purged(hash))
}

fn with_history(n: i64, mut body: Value, history: Value) -> Result<Value, StoreError> {
    body.as_object_mut().ok_or(damaged(n))?.insert("history".into(), history);
    Ok(body)
}

/// The history as what is new since an ancestor's trace; in full where none is near or it does not go on from there (the
/// window was cut past it, or a node in the middle was switched off).
fn difference(conn: &mut Conn, node_n: i64, history: &[i64]) -> Result<Value, StoreError> {
    let Some((near, kept)) = nearest_trace(conn, node_n)? else { return Ok(json!({"number": 1, "add": history})) };
    let number = kept.number + 1;
    let Some(base) = base_numbered(conn, near, kept, number & (number - 1))? else {
        return Ok(json!({"number": number, "add": history}));
    };
    let known = history_of(conn, base)?;
    let skip = history.first().and_then(|first| known.iter().position(|n| n == first));
    let shared = skip.and_then(|skip| known.get(skip..));
    match (skip, shared.and_then(|shared| history.strip_prefix(shared))) {
        (Some(skip), Some(new)) => Ok(json!({"number": number, "base": base, "skip": skip, "add": new})),
        _ => Ok(json!({"number": 1, "add": history})),
    }
}

/// The trace numbered `wanted` among those that `from` stands on, itself included; number 0 is none.
fn base_numbered(conn: &mut Conn, from: i64, kept: StoredHistory, wanted: i64) -> Result<Option<i64>, StoreError> {
    let (mut n, mut kept) = (from, kept);
    while kept.number > wanted {
        let Some(base) = kept.base else { return Ok(None) };
        (n, kept) = (base, stored_history(conn, base)?);
    }
    Ok((kept.number == wanted).then_some(n))
}

/// The nearest ancestor with a trace.
fn nearest_trace(conn: &mut Conn, node_n: i64) -> Result<Option<(i64, StoredHistory)>, StoreError> {
    let mut next = parent(conn, node_n)?;
    for _ in 0..MAX_BASE_DISTANCE {
        let Some(n) = next else { return Ok(None) };
        if let Some(TraceHistory { history }) = read(conn, n)? {
            return Ok(Some((n, history)));
        }
        next = parent(conn, n)?;
    }
    Ok(None)
}

fn parent(conn: &mut Conn, n: i64) -> Result<Option<i64>, StoreError> {
    Ok(nodes::table.find(n).select(nodes::parent_n).get_result::<Option<i64>>(conn).optional()?.flatten())
}

/// A history as it is kept: what comes after the base's, of which the first `skip` have left the window.
#[derive(Deserialize)]
struct StoredHistory {
    number: i64,
    base: Option<i64>,
    #[serde(default)]
    skip: usize,
    add: Vec<i64>,
}

impl StoredHistory {
    fn of(n: i64, body: &Value) -> Result<Self, StoreError> {
        body.get("history").and_then(|history| Self::deserialize(history).ok()).ok_or(damaged(n))
    }
}

/// What is read of a trace where one only follows its history: the rest is passed over, and takes no memory.
#[derive(Deserialize)]
struct TraceHistory {
    history: StoredHistory,
}

/// A trace whose texts are not wanted, as it is kept.
#[derive(Deserialize)]
struct StoredOutline {
    head: Map<String, Value>,
    history: StoredHistory,
}

fn stored_history(conn: &mut Conn, n: i64) -> Result<StoredHistory, StoreError> {
    Ok(read::<TraceHistory>(conn, n)?.ok_or(damaged(n))?.history)
}

/// The trace of a node, as much of it as is asked for.
fn read<T: DeserializeOwned>(conn: &mut Conn, n: i64) -> Result<Option<T>, StoreError> {
    let packed: Option<Vec<u8>> = traces::table.find(n).select(traces::body).get_result(conn).optional()?;
    packed.map(|packed| parse_as(n, &packed)).transpose()
}

fn parse_as<T: DeserializeOwned>(n: i64, packed: &[u8]) -> Result<T, StoreError> {
    let bytes = compression::unpack(packed).ok_or(damaged(n))?;
    serde_json::from_slice(&bytes).map_err(|_| damaged(n))
}

fn history_of(conn: &mut Conn, n: i64) -> Result<Vec<i64>, StoreError> {
    let kept = stored_history(conn, n)?;
    full_history(conn, kept)
}

/// A history with all that it stands on.
fn full_history(conn: &mut Conn, newest: StoredHistory) -> Result<Vec<i64>, StoreError> {
    let mut next = newest.base;
    let mut parts = vec![(newest.skip, newest.add)];
    while let Some(n) = next {
        let kept = stored_history(conn, n)?;
        next = kept.base;
        parts.push((kept.skip, kept.add));
    }
    let empty = Vec::new();
    Ok(parts.into_iter().rev().fold(empty, |known, (skip, add)| known.into_iter().skip(skip).chain(add).collect()))
}

/// The trace of a node, whole again.
pub fn get(conn: &mut Conn, node_n: i64) -> Result<Option<Trace>, StoreError> {
    let Some(body) = read::<Value>(conn, node_n)? else { return Ok(None) };
    let bad = || damaged(node_n);
    let mut blocks = Vec::new();
    for (about, hash) in blocks_of(&body).ok_or_else(bad)? {
        let text = String::from_utf8(blobs::by_hash(conn, &hash)?).map_err(|_| bad())?;
        blocks.push((about, text));
    }
    let head = body.get("head").and_then(Value::as_object).cloned().ok_or_else(bad)?;
    Ok(Some(Trace { head, blocks, history: full_history(conn, StoredHistory::of(node_n, &body)?)? }))
}

/// The head and the history of the trace of a node; its texts are not looked up.
pub fn outline(conn: &mut Conn, node_n: i64) -> Result<Option<TraceOutline>, StoreError> {
    let Some(StoredOutline { head, history }) = read(conn, node_n)? else { return Ok(None) };
    Ok(Some(TraceOutline { head, history: full_history(conn, history)? }))
}

/// What each block is, and its text by hash.
fn blocks_of(body: &Value) -> Option<Vec<(Value, String)>> {
    let pair = |block: &Value| Some((block.get(0)?.clone(), block.get(1)?.as_str()?.to_owned()));
    body.get("blocks")?.as_array()?.iter().map(pair).collect()
}

/// A trace as it is kept: texts by hash, the history as the difference to the trace of a row. So it travels.
#[derive(Debug, Clone, PartialEq)]
pub struct RawTrace {
    pub head: Value,
    pub blocks: Vec<(Value, String)>,
    pub number: i64,
    pub base: Option<i64>,
    pub skip: u64,
    pub add: Vec<i64>,
}

/// A trace as it is kept at a node.
pub fn read_raw(node_n: i64, packed: &[u8]) -> Result<RawTrace, StoreError> {
    let body: Value = parse_as(node_n, packed)?;
    let kept = StoredHistory::of(node_n, &body)?;
    let blocks = blocks_of(&body).ok_or(damaged(node_n))?;
    let head = body.get("head").filter(|head| head.is_object()).cloned().ok_or(damaged(node_n))?;
    let skip = u64::try_from(kept.skip).unwrap_or(u64::MAX);
    Ok(RawTrace { head, blocks, number: kept.number, base: kept.base, skip, add: kept.add })
}

/// Keeps a trace that came as it is kept.
pub fn put_raw(conn: &mut Conn, node_n: i64, trace: &RawTrace) -> Result<(), StoreError> {
    let mut history = json!({"number": trace.number});
    if let (Some(base), Some(map)) = (trace.base, history.as_object_mut()) {
        map.insert("base".into(), base.into());
        map.insert("skip".into(), trace.skip.into());
    }
    if let Some(map) = history.as_object_mut() {
        map.insert("add".into(), trace.add.clone().into());
    }
    save(conn, node_n, &json!({"head": trace.head, "blocks": trace.blocks, "history": history}))
}

fn save(conn: &mut Conn, node_n: i64, body: &Value) -> Result<(), StoreError> {
    let base = body.pointer("/history/base").and_then(Value::as_i64);
    let packed = compression::pack(body.to_string().as_bytes());
    let row = (traces::node_n.eq(node_n), traces::body.eq(packed), traces::base_n.eq(Some(base.unwrap_or(NO_BASE))));
    diesel::insert_into(traces::table).values(row).execute(conn)?;
    Ok(())
}

fn damaged(n: i64) -> StoreError {
    StoreError::Inconsistent { table: "traces", column: "body", row: n }
}
