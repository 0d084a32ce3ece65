//! Worlds: the fold along a path, begun at the nearest valid keyframe (`domain.md` 3.1).

use std::collections::HashSet;
use std::sync::Arc;

use diesel::prelude::*;
use diesel::sql_types::BigInt;
use serde_json::{Map, Value, json};

use crate::tree::Delta;
use crate::world::{Rules, World, fold};

use super::blobs;
use super::caches::Caches;
use super::conn::Conn;
use super::error::StoreError;
use super::rules;
use super::tables::{deltas, edits, keyframes, nodes};

/// Above this many bytes of JSON a keyframe keeps its large sections apart, by hash: unchanged ones cost nothing.
const LARGE_WORLD: usize = 64 << 10;
/// A section is kept apart from this many bytes on.
const LARGE_SECTION: usize = 4 << 10;

/// What the walk up reads of each node.
#[derive(Debug, Clone, Queryable)]
struct Step {
    n: i64,
    parent_n: Option<i64>,
    session_n: i64,
    since_keyframe: i32,
    rules_n: Option<i64>,
    revision: i32,
    is_muted: bool,
}

/// The world after a node, under the arrangement numbered `edits`.
///
/// # Errors
/// The database fails, or a row on the way is damaged.
pub fn at(conn: &mut Conn, caches: &Caches, node_n: i64, edits: i64) -> Result<Arc<World>, StoreError> {
    let mut pending = Vec::new();
    let mut next = Some(node_n);
    let mut base = None;
    while let Some(n) = next {
        base = caches.world(n, edits);
        if base.is_some() {
            break;
        }
        let step = step(conn, n)?;
        if step.since_keyframe == 0 {
            base = keyframe(conn, &step, edits)?.map(Arc::new);
            if base.is_some() {
                break;
            }
        }
        next = step.parent_n;
        pending.push(step);
    }
    let mut world = base.unwrap_or_default();
    for step in pending.iter().rev().filter(|step| step.revision > 0 && !step.is_muted) {
        let delta = delta(conn, step.n, step.revision)?;
        let rules = in_force(conn, caches, step.rules_n)?;
        fold(Arc::make_mut(&mut world), &delta.operations, &rules);
        caches.count_folds(1);
    }
    caches.keep_world(node_n, edits, &world);
    Ok(world)
}

/// The schemas behind a rules row.
pub fn in_force(conn: &mut Conn, caches: &Caches, rules_n: Option<i64>) -> Result<Rules, StoreError> {
    match rules_n {
        None => Ok(Rules::default()),
        Some(n) => Ok(caches.rules(n, || rules::read(conn, n))?.rules.clone()),
    }
}

fn step(conn: &mut Conn, n: i64) -> Result<Step, StoreError> {
    let columns = (
        nodes::n,
        nodes::parent_n,
        nodes::session_n,
        nodes::since_keyframe,
        nodes::rules_n,
        nodes::revision,
        nodes::is_muted,
    );
    let step = nodes::table.find(n).select(columns).first(conn).optional()?;
    step.ok_or(StoreError::Inconsistent { table: "nodes", column: "parent_n", row: n })
}

/// A node's delta in one revision.
pub fn delta(conn: &mut Conn, node_n: i64, revision: i32) -> Result<Delta, StoreError> {
    if revision == 0 {
        return Ok(Delta::default());
    }
    let bad = || StoreError::Inconsistent { table: "deltas", column: "body", row: node_n };
    let of_node = deltas::table.filter(deltas::node_n.eq(node_n)).filter(deltas::revision.eq(revision));
    let body: String = of_node.select(deltas::body).first(conn).optional()?.ok_or_else(bad)?;
    let value: Value = serde_json::from_str(&body).map_err(|_| bad())?;
    Delta::from_json(&value).ok_or_else(bad)
}

/// The keyframe of a node, if it is there, reads well and is valid under the arrangement. A damaged one is as good as
/// none: it is only a cache (S3-15).
fn keyframe(conn: &mut Conn, step: &Step, edits: i64) -> Result<Option<World>, StoreError> {
    let row: Option<(i64, Vec<u8>)> =
        keyframes::table.find(step.n).select((keyframes::edits, keyframes::body)).first(conn).optional()?;
    match row {
        Some((cut_under, body)) if cut_under == edits || !is_outdated(conn, step, cut_under)? => unpack(conn, &body),
        _ => Ok(None),
    }
}

/// Whether the arrangement above a keyframe changed since it was cut: an edit on one of its ancestors, or on itself.
fn is_outdated(conn: &mut Conn, step: &Step, cut_under: i64) -> Result<bool, StoreError> {
    let later = edits::table.filter(edits::session_n.eq(step.session_n)).filter(edits::edit.gt(cut_under));
    let edited: HashSet<i64> = later.select(edits::node_n).load::<i64>(conn)?.into_iter().collect();
    if edited.is_empty() {
        return Ok(false);
    }
    Ok(ancestors(conn, step.n)?.iter().any(|n| edited.contains(n)))
}

#[derive(QueryableByName)]
struct Ancestor {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

fn ancestors(conn: &mut Conn, n: i64) -> Result<Vec<i64>, StoreError> {
    let rows: Vec<Ancestor> = diesel::sql_query(
        "WITH RECURSIVE up (n, parent_n) AS (SELECT n, parent_n FROM nodes WHERE n = ? UNION ALL \
         SELECT nodes.n, nodes.parent_n FROM nodes JOIN up ON nodes.n = up.parent_n) SELECT n FROM up",
    )
    .bind::<BigInt, _>(n)
    .load(conn)?;
    Ok(rows.into_iter().map(|row| row.n).collect())
}

/// Keeps a keyframe.
pub fn cut(conn: &mut Conn, node_n: i64, edits: i64, world: &World) -> Result<(), StoreError> {
    let body = pack(conn, world)?;
    diesel::delete(keyframes::table.find(node_n)).execute(conn)?;
    let row = (keyframes::node_n.eq(node_n), keyframes::edits.eq(edits), keyframes::body.eq(body));
    diesel::insert_into(keyframes::table).values(row).execute(conn)?;
    diesel::update(nodes::table.find(node_n)).set(nodes::since_keyframe.eq(0)).execute(conn)?;
    Ok(())
}

fn pack(conn: &mut Conn, world: &World) -> Result<Vec<u8>, StoreError> {
    let mut json = world.to_json();
    let mut text = json.to_string();
    if text.len() > LARGE_WORLD {
        let mut apart = Map::new();
        if let Some(vars) = json.get_mut("vars").and_then(Value::as_object_mut) {
            for (key, value) in vars.iter_mut() {
                let section = value.to_string();
                if section.len() >= LARGE_SECTION {
                    apart.insert(key.clone(), blobs::put(conn, section.as_bytes())?.1.into());
                    *value = Value::Null;
                }
            }
        }
        text = json!({"world": json, "apart": apart}).to_string();
    } else {
        text = json!({"world": json}).to_string();
    }
    Ok(lz4_flex::compress_prepend_size(text.as_bytes()))
}

fn unpack(conn: &mut Conn, body: &[u8]) -> Result<Option<World>, StoreError> {
    let Ok(bytes) = lz4_flex::decompress_size_prepended(body) else { return Ok(None) };
    let Ok(Value::Object(mut frame)) = serde_json::from_slice(&bytes) else { return Ok(None) };
    let Some(mut world) = frame.shift_remove("world").and_then(World::from_json) else { return Ok(None) };
    for (key, hash) in frame.get("apart").and_then(Value::as_object).into_iter().flatten() {
        let Some(hash) = hash.as_str() else { return Ok(None) };
        let Ok(value) = serde_json::from_slice(&blobs::by_hash(conn, hash)?) else { return Ok(None) };
        world.vars.insert(key.clone(), value);
    }
    Ok(Some(world))
}
