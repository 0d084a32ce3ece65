//! Traces: why a reply exists. Block texts are content-addressed and history is a list of nodes kept as the difference to
//! an ancestor's, so that traces grow with what is new in each turn (`domain.md` 6.5).

use diesel::prelude::*;
use serde_json::{Map, Value, json};

use super::blobs;
use super::conn::Conn;
use super::error::StoreError;
use super::tables::{nodes, traces};

/// So many differences may stand on each other before a full list is written.
const MAX_CHAIN: i64 = 24;
/// How far up the path an earlier trace is looked for.
const LOOK_BACK: usize = 8;

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

/// Keeps the trace of a node.
pub fn put(conn: &mut Conn, node_n: i64, trace: &Trace) -> Result<(), StoreError> {
    let mut blocks = Vec::new();
    for (about, text) in &trace.blocks {
        blocks.push(json!([about, blobs::put(conn, text.as_bytes())?.1]));
    }
    let history = difference(conn, node_n, &trace.history)?;
    let body = json!({"head": trace.head, "blocks": blocks, "history": history}).to_string();
    let row = (traces::node_n.eq(node_n), traces::body.eq(lz4_flex::compress_prepend_size(body.as_bytes())));
    diesel::insert_into(traces::table).values(row).execute(conn)?;
    Ok(())
}

/// The history as what is new since an ancestor's trace, or in full where there is none near.
fn difference(conn: &mut Conn, node_n: i64, history: &[i64]) -> Result<Value, StoreError> {
    let Some((base, chain)) = nearest(conn, node_n)? else { return Ok(json!({"add": history})) };
    if chain >= MAX_CHAIN {
        return Ok(json!({"add": history}));
    }
    let known = history_of(conn, base)?;
    let skip = history.first().and_then(|first| known.iter().position(|n| n == first));
    let kept = skip.and_then(|skip| known.get(skip..));
    match (skip, kept.and_then(|kept| history.strip_prefix(kept))) {
        (Some(skip), Some(new)) => Ok(json!({"base": base, "chain": chain + 1, "skip": skip, "add": new})),
        _ => Ok(json!({"add": history})),
    }
}

/// The nearest ancestor with a trace, and how many differences it stands on.
fn nearest(conn: &mut Conn, node_n: i64) -> Result<Option<(i64, i64)>, StoreError> {
    let mut next = parent(conn, node_n)?;
    for _ in 0..LOOK_BACK {
        let Some(n) = next else { return Ok(None) };
        if let Some(body) = body(conn, n)? {
            let chain = body.get("history").and_then(|h| h.get("chain")).and_then(Value::as_i64).unwrap_or(0);
            return Ok(Some((n, chain)));
        }
        next = parent(conn, n)?;
    }
    Ok(None)
}

fn parent(conn: &mut Conn, n: i64) -> Result<Option<i64>, StoreError> {
    Ok(nodes::table.find(n).select(nodes::parent_n).first::<Option<i64>>(conn).optional()?.flatten())
}

fn body(conn: &mut Conn, n: i64) -> Result<Option<Value>, StoreError> {
    let packed: Option<Vec<u8>> = traces::table.find(n).select(traces::body).first(conn).optional()?;
    let bad = || StoreError::Inconsistent { table: "traces", column: "body", row: n };
    packed
        .map(|packed| {
            let bytes = lz4_flex::decompress_size_prepended(&packed).map_err(|_| bad())?;
            serde_json::from_slice(&bytes).map_err(|_| bad())
        })
        .transpose()
}

fn history_of(conn: &mut Conn, n: i64) -> Result<Vec<i64>, StoreError> {
    let mut parts = Vec::new();
    let mut next = Some(n);
    while let Some(n) = next {
        let bad = || StoreError::Inconsistent { table: "traces", column: "body", row: n };
        let body = body(conn, n)?.ok_or_else(bad)?;
        let history = body.get("history").ok_or_else(bad)?;
        let add = history.get("add").and_then(Value::as_array).ok_or_else(bad)?;
        let add: Vec<i64> = add.iter().map(Value::as_i64).collect::<Option<_>>().ok_or_else(bad)?;
        let skip = history.get("skip").and_then(Value::as_u64).and_then(|skip| usize::try_from(skip).ok());
        next = history.get("base").and_then(Value::as_i64);
        parts.push((skip.unwrap_or(0), add));
    }
    let empty = Vec::new();
    Ok(parts.into_iter().rev().fold(empty, |known, (skip, add)| known.into_iter().skip(skip).chain(add).collect()))
}

/// The trace of a node, whole again.
pub fn get(conn: &mut Conn, node_n: i64) -> Result<Option<Trace>, StoreError> {
    let Some(body) = body(conn, node_n)? else { return Ok(None) };
    let bad = || StoreError::Inconsistent { table: "traces", column: "body", row: node_n };
    let mut blocks = Vec::new();
    for block in body.get("blocks").and_then(Value::as_array).ok_or_else(bad)? {
        let about = block.get(0).cloned().ok_or_else(bad)?;
        let hash = block.get(1).and_then(Value::as_str).ok_or_else(bad)?;
        let text = String::from_utf8(blobs::by_hash(conn, hash)?).map_err(|_| bad())?;
        blocks.push((about, text));
    }
    let head = body.get("head").and_then(Value::as_object).cloned().ok_or_else(bad)?;
    Ok(Some(Trace { head, blocks, history: history_of(conn, node_n)? }))
}
