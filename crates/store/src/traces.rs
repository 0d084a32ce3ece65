//! Traces: how replies were made. Block texts are content-addressed. The history is a list of nodes, stored as
//! the difference to that of an ancestor's trace. So traces grow only with what is new in each turn
//! (`domain.md` 6.5).
//!
//! The traces of a path are numbered from 1. The base of number `t` is number `t` without its lowest bit (12 on
//! 8, 8 on none), as in a Fenwick tree. A trace is read in at most as many steps as `t` has bits. All traces
//! together store each node of the history about `log t` times.

use std::collections::{HashMap, HashSet};

use diesel::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::blobs;
use super::compression;
use super::conn::Conn;
use super::error::StoreError;
use super::tables::{nodes, purged, texts, traces};
use clotho_core::tree::TraceHead;

/// The number of traces to index at once.
const INDEX_BATCH_SIZE: i64 = 200;

/// The number of rows in one statement.
const BATCH_SIZE: usize = 512;

/// The value of `base_n` for traces without a base.
const NO_BASE: i64 = 0;

/// How many ancestors are searched for an earlier trace.
const MAX_BASE_DISTANCE: usize = 8;

/// The row of a node that had been deleted before the trace was imported.
pub const GONE: i64 = 0;

/// The row of a node of another session that was not imported with the trace.
pub const ELSEWHERE: i64 = -1;

/// What became of a node that a trace names and that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MissingNode {
    /// It was deleted; the hash of its text in hex, if known.
    Purged(Option<String>),
    /// It belongs to another session and was not imported with this one.
    Elsewhere,
}

/// A trace as the turn engine writes and reads it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trace {
    /// Parameters, model, timings, rules and usage: everything except blocks and history.
    pub head: Box<TraceHead>,
    /// The blocks of the prompt: a description and the text of each.
    pub blocks: Vec<(Value, String)>,
    /// The rows of the nodes whose texts were sent, oldest first.
    pub history: Vec<i64>,
}

/// A trace without its texts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TraceOutline {
    /// As in [`Trace`].
    pub head: Box<TraceHead>,
    /// As in [`Trace`].
    pub history: Vec<i64>,
}

/// Writes the trace of a node.
pub fn put(conn: &mut Conn, node_n: i64, trace: &Trace) -> Result<(), StoreError> {
    let mut blocks = Vec::new();
    for (about, text) in &trace.blocks {
        blocks.push((about, blobs::put(conn, text.as_bytes())?.1));
    }
    let history = difference(conn, node_n, &trace.history)?;
    let base = history.get("base").and_then(Value::as_i64);
    let stored = NewStoredTrace { head: &trace.head, blocks, history };
    let text = serde_json::to_vec(&stored).map_err(|_| damaged(node_n))?;
    save_text(conn, node_n, base, &text)
}

/// The stored form of a new trace.
#[derive(Serialize)]
struct NewStoredTrace<'a> {
    head: &'a TraceHead,
    blocks: Vec<(&'a Value, String)>,
    history: Value,
}

/// Copies the trace of a node to its copy; `copies` maps rows of originals to rows of copies. References to
/// copied nodes are replaced by their copies, others stay.
pub fn copy(conn: &mut Conn, from: i64, copies: &HashMap<i64, i64>) -> Result<(), StoreError> {
    let (Some(to), Some(body)) = (copies.get(&from), read::<Value>(conn, from)?) else { return Ok(()) };
    let stored = StoredHistory::from_json(from, &body)?;
    let there = |rows: Vec<i64>| rows.into_iter().map(|n| copies.get(&n).copied().unwrap_or(n)).collect::<Vec<_>>();
    let history = match stored.base.and_then(|base| copies.get(&base)) {
        Some(base) => json!({"number": stored.number, "base": base, "skip": stored.skip, "add": there(stored.add)}),
        None => json!({"number": stored.number, "add": there(history_of(conn, from)?)}),
    };
    save(conn, *to, &with_history(from, body, history)?)
}

/// Deletes the trace of a node, so that another one can be written.
pub fn delete(conn: &mut Conn, node_n: i64) -> Result<(), StoreError> {
    diesel::delete(traces::table.find(node_n)).execute(conn)?;
    Ok(())
}

/// Gives traces their full histories if their base is about to be deleted. Most such traces are below the base
/// and are deleted too; the rest were moved elsewhere.
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
        let stored = StoredHistory::from_json(n, &body)?;
        let history = json!({"number": stored.number, "add": history_of(conn, n)?});
        alone.push((n, with_history(n, body, history)?));
    }
    for (n, body) in alone {
        delete(conn, n)?;
        save(conn, n, &body)?;
    }
    Ok(())
}

/// Returns the traces of a session that are not indexed yet and whose base is one of these nodes.
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

/// Returns a batch of traces whose base is not indexed, after a row.
fn unindexed(conn: &mut Conn, after: i64) -> Result<Vec<i64>, StoreError> {
    let unread = traces::table.filter(traces::base_n.is_null()).filter(traces::node_n.gt(after));
    let some = unread.order(traces::node_n).limit(INDEX_BATCH_SIZE).select(traces::node_n);
    Ok(some.load(conn)?)
}

/// Indexes the bases of a batch of traces; returns their number. A trace that cannot be read gets no base; its
/// readers get an error.
pub fn index_bases(conn: &mut Conn) -> Result<usize, StoreError> {
    let some = unindexed(conn, 0)?;
    for n in &some {
        let base = stored_history(conn, *n).ok().and_then(|stored| stored.base);
        let indexed_base = traces::base_n.eq(Some(base.unwrap_or(NO_BASE)));
        diesel::update(traces::table.find(*n)).set(indexed_base).execute(conn)?;
    }
    Ok(some.len())
}

/// Stores the text hashes of nodes that are about to be deleted, because other traces still name them.
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

/// Returns what became of a node that a trace names and that does not exist.
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

/// Returns the history as the difference to an ancestor's trace. It is stored in full if no trace is near, or if
/// it does not continue that one. The window may have moved past it, or a node in the middle was disabled.
fn difference(conn: &mut Conn, node_n: i64, history: &[i64]) -> Result<Value, StoreError> {
    let Some((near, stored)) = nearest_trace(conn, node_n)? else { return Ok(json!({"number": 1, "add": history})) };
    let number = stored.number + 1;
    let Some(base) = base_numbered(conn, near, stored, number & (number - 1))? else {
        return Ok(json!({"number": number, "add": history}));
    };
    let base_history = history_of(conn, base)?;
    let skip = history.first().and_then(|first| base_history.iter().position(|n| n == first));
    let shared = skip.and_then(|skip| base_history.get(skip..));
    match (skip, shared.and_then(|shared| history.strip_prefix(shared))) {
        (Some(skip), Some(new)) => Ok(json!({"number": number, "base": base, "skip": skip, "add": new})),
        _ => Ok(json!({"number": 1, "add": history})),
    }
}

/// Returns the trace numbered `wanted` among `from` and its bases; `None` if there is none.
fn base_numbered(conn: &mut Conn, from: i64, stored: StoredHistory, wanted: i64) -> Result<Option<i64>, StoreError> {
    let (mut n, mut stored) = (from, stored);
    while stored.number > wanted {
        let Some(base) = stored.base else { return Ok(None) };
        (n, stored) = (base, stored_history(conn, base)?);
    }
    Ok((stored.number == wanted).then_some(n))
}

/// Returns the nearest ancestor with a trace.
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

/// A stored history: what follows the base's history, of which the first `skip` nodes have left the window.
#[derive(Deserialize)]
struct StoredHistory {
    number: i64,
    base: Option<i64>,
    #[serde(default)]
    skip: usize,
    add: Vec<i64>,
}

impl StoredHistory {
    fn from_json(n: i64, body: &Value) -> Result<Self, StoreError> {
        body.get("history").and_then(|history| Self::deserialize(history).ok()).ok_or(damaged(n))
    }
}

/// The part of a trace that is needed to follow histories; the rest is skipped and takes no memory.
#[derive(Deserialize)]
struct TraceHistory {
    history: StoredHistory,
}

/// A stored trace without its texts.
#[derive(Deserialize)]
struct StoredOutline {
    head: Box<TraceHead>,
    history: StoredHistory,
}

fn stored_history(conn: &mut Conn, n: i64) -> Result<StoredHistory, StoreError> {
    Ok(read::<TraceHistory>(conn, n)?.ok_or(damaged(n))?.history)
}

/// Reads the trace of a node, or a part of it, depending on the type.
fn read<T: DeserializeOwned>(conn: &mut Conn, n: i64) -> Result<Option<T>, StoreError> {
    let packed: Option<Vec<u8>> = traces::table.find(n).select(traces::body).get_result(conn).optional()?;
    packed.map(|packed| parse_as(n, &packed)).transpose()
}

fn parse_as<T: DeserializeOwned>(n: i64, packed: &[u8]) -> Result<T, StoreError> {
    let bytes = compression::unpack(packed).ok_or(damaged(n))?;
    serde_json::from_slice(&bytes).map_err(|_| damaged(n))
}

fn history_of(conn: &mut Conn, n: i64) -> Result<Vec<i64>, StoreError> {
    let stored = stored_history(conn, n)?;
    full_history(conn, stored)
}

/// Rebuilds a history from all of its bases.
fn full_history(conn: &mut Conn, newest: StoredHistory) -> Result<Vec<i64>, StoreError> {
    let mut next = newest.base;
    let mut parts = vec![(newest.skip, newest.add)];
    while let Some(n) = next {
        let stored = stored_history(conn, n)?;
        next = stored.base;
        parts.push((stored.skip, stored.add));
    }
    let empty = Vec::new();
    Ok(parts.into_iter().rev().fold(empty, |history, (skip, add)| history.into_iter().skip(skip).chain(add).collect()))
}

/// Reads the complete trace of a node.
pub fn get(conn: &mut Conn, node_n: i64) -> Result<Option<Trace>, StoreError> {
    let Some(body) = read::<Value>(conn, node_n)? else { return Ok(None) };
    let bad = || damaged(node_n);
    let mut blocks = Vec::new();
    for (about, hash) in blocks_of(&body).ok_or_else(bad)? {
        let text = String::from_utf8(blobs::by_hash(conn, &hash)?).map_err(|_| bad())?;
        blocks.push((about, text));
    }
    let head = body.get("head").and_then(Value::as_object).cloned().ok_or_else(bad)?.into();
    Ok(Some(Trace { head, blocks, history: full_history(conn, StoredHistory::from_json(node_n, &body)?)? }))
}

/// Reads the head and the history of a node's trace, without its texts.
pub fn outline(conn: &mut Conn, node_n: i64) -> Result<Option<TraceOutline>, StoreError> {
    let Some(StoredOutline { head, history }) = read(conn, node_n)? else { return Ok(None) };
    Ok(Some(TraceOutline { head, history: full_history(conn, history)? }))
}

/// Returns the description and the text hash of each block.
fn blocks_of(body: &Value) -> Option<Vec<(Value, String)>> {
    let pair = |block: &Value| Some((block.get(0)?.clone(), block.get(1)?.as_str()?.to_owned()));
    body.get("blocks")?.as_array()?.iter().map(pair).collect()
}

/// A trace in its stored form, which is also the form in exported files: texts by hash, the history as a
/// difference.
#[derive(Debug, Clone, PartialEq)]
pub struct RawTrace {
    pub head: Value,
    pub blocks: Vec<(Value, String)>,
    pub number: i64,
    pub base: Option<i64>,
    pub skip: u64,
    pub add: Vec<i64>,
}

/// Parses the stored trace of a node.
pub fn read_raw(node_n: i64, packed: &[u8]) -> Result<RawTrace, StoreError> {
    let body: Value = parse_as(node_n, packed)?;
    let stored = StoredHistory::from_json(node_n, &body)?;
    let blocks = blocks_of(&body).ok_or(damaged(node_n))?;
    let head = body.get("head").filter(|head| head.is_object()).cloned().ok_or(damaged(node_n))?;
    let skip = u64::try_from(stored.skip).unwrap_or(u64::MAX);
    Ok(RawTrace { head, blocks, number: stored.number, base: stored.base, skip, add: stored.add })
}

/// Writes a trace that is already in its stored form.
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
    save_text(conn, node_n, base, body.to_string().as_bytes())
}

fn save_text(conn: &mut Conn, node_n: i64, base: Option<i64>, text: &[u8]) -> Result<(), StoreError> {
    let packed = compression::pack(text);
    let row = (traces::node_n.eq(node_n), traces::body.eq(packed), traces::base_n.eq(Some(base.unwrap_or(NO_BASE))));
    diesel::insert_into(traces::table).values(row).execute(conn)?;
    Ok(())
}

fn damaged(n: i64) -> StoreError {
    StoreError::Inconsistent { table: "traces", column: "body", row: n }
}
