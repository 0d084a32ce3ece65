//! Worlds: the fold along a path, from the nearest valid keyframe (`domain.md` 3.1).
//!
//! A keyframe stores the number of the last arrangement edit under which it was cut. It is valid as long as no
//! later edit touched a node on the path to it. If a read passes outdated, damaged or missing keyframes, it puts
//! the computed worlds into `caches.rs`. The store then cuts these keyframes again, so that the next read is
//! bounded.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use diesel::connection::DefaultLoadingMode;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Integer, Nullable, SmallInt, Text};
use serde_json::{Map, Value, json};

use clotho_core::tree::{Delta, Status};
use clotho_core::world::{SchemaSet, World, fold};

use super::ancestors;
use super::blobs;
use super::caches::{Caches, KeyframeRepair};
use super::compression;
use super::conn::Conn;
use super::error::StoreError;
use super::prepared::{insert, prepared, update};
use super::rows::NewKeyframeRow;
use super::rules;
use super::tables::{deltas, edits, keyframes, nodes, sessions};
use super::writer_cache::WriterCache;

/// Above this size in bytes of JSON, a keyframe stores large sections as blobs, so that unchanged ones cost
/// nothing.
const LARGE_WORLD: usize = 64 << 10;
/// Sections from this size in bytes on are stored as blobs.
const LARGE_SECTION: usize = 4 << 10;
/// If proving a keyframe valid takes more steps than this, it is cut again under the current arrangement.
const MAX_VALIDATION_STEPS: usize = 1_000;

/// Whether a read or a write computes a world.
pub enum WorldAccess<'a> {
    /// A read: it sees committed data, so results may be cached for other readers.
    Snapshot,
    /// A write: it may be rolled back and its row numbers reused. It cuts keyframes in its own transaction and
    /// caches only in the writer cache.
    Transaction(&'a mut WriterCache),
}

/// The columns of a node that the walk to the keyframe reads.
#[derive(Debug, Clone, QueryableByName)]
pub(super) struct FoldStep {
    #[diesel(sql_type = BigInt)]
    pub n: i64,
    #[diesel(sql_type = Nullable<BigInt>)]
    pub parent_n: Option<i64>,
    #[diesel(sql_type = BigInt)]
    session_n: i64,
    #[diesel(sql_type = Integer)]
    pub depth: i32,
    #[diesel(sql_type = SmallInt)]
    pub status: i16,
    #[diesel(sql_type = Integer)]
    since_keyframe: i32,
    #[diesel(sql_type = Nullable<BigInt>)]
    rules_n: Option<i64>,
    #[diesel(sql_type = Integer)]
    revision: i32,
    #[diesel(sql_type = Bool)]
    is_muted: bool,
    /// The stored form of the current delta.
    #[diesel(sql_type = Nullable<Text>)]
    body: Option<String>,
}

/// Returns the number of the last arrangement edit of a session.
///
/// # Errors
/// Returns an error if the database fails.
pub fn edits_now(conn: &mut Conn, session_n: i64) -> Result<i64, StoreError> {
    Ok(sessions::table.find(session_n).select(sessions::edits).get_result(conn)?)
}

/// Returns the world after a node under the arrangement numbered `edits`.
///
/// # Errors
/// Returns an error if the database fails, or if a row on the path is damaged.
pub fn world_at(
    conn: &mut Conn,
    caches: &Caches,
    view: &mut WorldAccess<'_>,
    node_n: i64,
    edits: i64,
) -> Result<Arc<World>, StoreError> {
    // Walk up to a cached world or a valid keyframe.
    let mut line = KeyframeWalk { edits, ..KeyframeWalk::default() };
    let mut pending = Vec::new();
    let mut next = Some(node_n);
    let mut base = None;
    while let Some(n) = next {
        base = read_ancestors(conn, caches, n, edits, &mut pending)?;
        if base.is_some() {
            break;
        }
        next = pending.last().and_then(|step| step.parent_n);
        if let Some(step) = pending.pop_if(|step| step.since_keyframe == 0) {
            base = line.keyframe(conn, &step)?.map(Arc::new);
            if let Some(world) = &base {
                if line.steps > MAX_VALIDATION_STEPS {
                    request_repair(conn, caches, view, &step, edits, world)?;
                }
                break;
            }
            pending.push(step);
        }
    }
    // Fold down again, and repair the keyframes that were not valid.
    let mut world = base.unwrap_or_default();
    for step in pending.iter().rev() {
        apply(conn, caches, view, step, &mut world)?;
        if step.since_keyframe == 0 {
            request_repair(conn, caches, view, step, edits, &world)?;
        }
    }
    // The world of a placeholder is not final, because its delta comes when it is complete.
    let is_final = pending.first().is_none_or(|own| own.status != Status::Generating.code());
    if matches!(view, WorldAccess::Snapshot) && is_final {
        caches.keep_world(node_n, edits, &world);
    }
    Ok(world)
}

/// Folds the delta of a node into the world before it.
///
/// # Errors
/// Returns an error if the database fails, or if the row is damaged.
pub(super) fn apply(
    conn: &mut Conn,
    caches: &Caches,
    view: &mut WorldAccess<'_>,
    step: &FoldStep,
    world: &mut Arc<World>,
) -> Result<(), StoreError> {
    if step.is_muted {
        return Ok(());
    }
    let rules = active_rules(conn, caches, view, step.rules_n)?;
    if step.revision == 0 {
        // There is no delta, but new rules may have computed values.
        if rules.has_computed() {
            fold(Arc::make_mut(world), &[], &rules);
        }
        return Ok(());
    }
    let delta = read_delta(step.n, step.body.as_deref())?;
    fold(Arc::make_mut(world), &delta.operations, &rules);
    caches.count_folds(1);
    Ok(())
}

/// Replaces a missing, damaged or outdated keyframe, now that its world is known.
fn request_repair(
    conn: &mut Conn,
    caches: &Caches,
    view: &WorldAccess<'_>,
    step: &FoldStep,
    edits: i64,
    world: &Arc<World>,
) -> Result<(), StoreError> {
    match view {
        WorldAccess::Transaction(_) => put_keyframe(conn, step.n, edits, world),
        WorldAccess::Snapshot => {
            let world = Arc::clone(world);
            caches.request_keyframe(KeyframeRepair { session_n: step.session_n, node_n: step.n, edits, world });
            Ok(())
        }
    }
}

/// Returns the schemas of a rules row.
///
/// # Errors
/// Returns an error if the database fails, or if the row is damaged.
pub fn active_rules(
    conn: &mut Conn,
    caches: &Caches,
    view: &mut WorldAccess<'_>,
    rules_n: Option<i64>,
) -> Result<SchemaSet, StoreError> {
    let Some(n) = rules_n else { return Ok(SchemaSet::default()) };
    let cached = match view {
        WorldAccess::Snapshot => caches.rules(n, || rules::read(conn, n))?,
        WorldAccess::Transaction(memory) => memory.rules(conn, n)?,
    };
    Ok(cached.rules.clone())
}

/// Reads ancestors until one has a cached world, which is returned, or a keyframe. It is one statement, which
/// SQLite runs only as far as it is read.
fn read_ancestors(
    conn: &mut Conn,
    caches: &Caches,
    from: i64,
    edits: i64,
    pending: &mut Vec<FoldStep>,
) -> Result<Option<Arc<World>>, StoreError> {
    // The node itself may be cached.
    let cached = caches.world(from, edits);
    if cached.is_some() {
        return Ok(cached);
    }
    let query = diesel::sql_query(
        "WITH RECURSIVE up (n, parent_n, since_keyframe) AS ( \
           SELECT n, parent_n, since_keyframe FROM nodes WHERE n = $1 UNION ALL \
           SELECT p.n, p.parent_n, p.since_keyframe FROM up JOIN nodes p ON p.n = up.parent_n \
           WHERE up.since_keyframe <> 0) \
         SELECT s.n, s.parent_n, s.session_n, s.depth, s.status, s.since_keyframe, s.rules_n, s.revision, s.is_muted, \
           d.body FROM up CROSS JOIN nodes s LEFT JOIN deltas d ON d.node_n = s.n AND d.revision = s.revision \
         WHERE s.n = up.n",
    );
    let so_far = pending.len();
    let mut expected = Some(from);
    for step in prepared(query.bind::<BigInt, _>(from)).load_iter::<FoldStep, DefaultLoadingMode>(conn)? {
        let step = step?;
        let parent_n = step.parent_n;
        // An ORDER BY would read the whole path first, so the join relies on the order of the recursion and this
        // checks it.
        if expected != Some(step.n) {
            return Err(StoreError::Database(format!("the path to {from} has a wrong order")));
        }
        expected = parent_n;
        let is_keyframe = step.since_keyframe == 0;
        pending.push(step);
        let cached = parent_n.and_then(|n| caches.world(n, edits));
        if is_keyframe || cached.is_some() {
            return Ok(cached.filter(|_| !is_keyframe));
        }
    }
    let missing = match pending.get(so_far..).and_then(<[FoldStep]>::last) {
        Some(top) => top.parent_n,
        None => Some(from),
    };
    match missing {
        Some(n) => Err(StoreError::Inconsistent { table: "nodes", column: "parent_n", row: n }),
        None => Ok(None),
    }
}

/// Returns one revision of a node's delta.
///
/// # Errors
/// Returns an error if the database fails, or if the row is missing or damaged.
pub fn delta(conn: &mut Conn, node_n: i64, revision: i32) -> Result<Delta, StoreError> {
    if revision == 0 {
        return Ok(Delta::default());
    }
    let of_node = deltas::table.filter(deltas::node_n.eq(node_n)).filter(deltas::revision.eq(revision));
    let body: Option<String> = of_node.select(deltas::body).get_result(conn).optional()?;
    read_delta(node_n, body.as_deref())
}

/// Parses a stored delta.
///
/// # Errors
/// Returns an error if it is invalid.
pub(super) fn read_delta(node_n: i64, body: Option<&str>) -> Result<Delta, StoreError> {
    let value: Option<Value> = body.and_then(|body| serde_json::from_str(body).ok());
    let delta = value.and_then(|value| Delta::from_json(&value));
    delta.ok_or(StoreError::Inconsistent { table: "deltas", column: "body", row: node_n })
}

/// One walk to the root, with what it learned about edits off its path. So passing a thousand outdated keyframes
/// does not read the path a thousand times.
#[derive(Default)]
struct KeyframeWalk {
    edits: i64,
    steps: usize,
    /// The nodes edited after a keyframe, with their depth, by the edit number of the keyframe.
    later: HashMap<i64, Vec<(i64, i32)>>,
    /// Whether an edited node is on this path.
    on_line: HashMap<i64, bool>,
}

impl KeyframeWalk {
    /// Returns the keyframe of a node if it exists, can be read and is valid under the arrangement. A damaged
    /// one is treated as missing, because it is only a cache (S3-15).
    fn keyframe(&mut self, conn: &mut Conn, step: &FoldStep) -> Result<Option<World>, StoreError> {
        let row: Option<(i64, Vec<u8>)> =
            keyframes::table.find(step.n).select((keyframes::edits, keyframes::body)).get_result(conn).optional()?;
        match row {
            Some((cut_under, body)) if cut_under == self.edits || !self.is_outdated(conn, step, cut_under)? => {
                unpack_world(conn, &body)
            }
            _ => Ok(None),
        }
    }

    /// Returns whether the arrangement on the path to a node has changed since: an edit at the node or at one of
    /// its ancestors. Nodes that left the path need no check, because something on the path moved with them.
    fn is_outdated(&mut self, conn: &mut Conn, step: &FoldStep, cut_under: i64) -> Result<bool, StoreError> {
        let later = match self.later.entry(cut_under) {
            Entry::Occupied(cached) => cached.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(edited_since(conn, step.session_n, cut_under)?),
        };
        let above = later.iter().filter(|(_, depth)| *depth <= step.depth);
        let unknown = above.clone().filter(|(n, _)| !self.on_line.contains_key(n));
        if let Some(highest) = unknown.map(|(_, depth)| *depth).min() {
            let found: HashSet<i64> =
                ancestors::ancestors_up_to_depth(conn, step.n, highest)?.iter().map(|rung| rung.n).collect();
            self.steps += found.len();
            let cached: HashMap<i64, bool> =
                above.clone().filter(|(_, depth)| *depth >= highest).map(|(n, _)| (*n, found.contains(n))).collect();
            for (n, is_on) in cached {
                self.on_line.entry(n).or_insert(is_on);
            }
        }
        Ok(above.into_iter().any(|(n, _)| self.on_line.get(n) == Some(&true)))
    }
}

/// Returns the nodes at which the arrangement was edited after an edit, with their depth.
fn edited_since(conn: &mut Conn, session_n: i64, edit: i64) -> Result<Vec<(i64, i32)>, StoreError> {
    Ok(edits::table
        .inner_join(nodes::table.on(nodes::n.eq(edits::node_n)))
        .filter(edits::session_n.eq(session_n))
        .filter(edits::edit.gt(edit))
        .select((edits::node_n, nodes::depth))
        .distinct()
        .load(conn)?)
}

/// Writes a keyframe and replaces an older one.
///
/// # Errors
/// Returns an error if the database fails.
pub fn put_keyframe(conn: &mut Conn, node_n: i64, edits: i64, world: &World) -> Result<(), StoreError> {
    let (body, _) = pack_world(conn, world)?;
    let changes = (keyframes::edits.eq(edits), keyframes::body.eq(&body));
    if update(keyframes::table, changes, keyframes::node_n.eq(node_n)).execute(conn)? == 0 {
        insert::<NewKeyframeRow>(conn, &NewKeyframeRow { node_n, edits, body })?;
    }
    Ok(())
}

/// Writes the first keyframe of a node; returns the size of its world in bytes of JSON.
///
/// # Errors
/// Returns an error if the database fails.
pub fn put_first_keyframe(conn: &mut Conn, node_n: i64, edits: i64, world: &World) -> Result<usize, StoreError> {
    let (body, bytes) = pack_world(conn, world)?;
    insert::<NewKeyframeRow>(conn, &NewKeyframeRow { node_n, edits, body })?;
    Ok(bytes)
}

/// Returns the body of a keyframe, and the size of the world in bytes of JSON.
fn pack_world(conn: &mut Conn, world: &World) -> Result<(Vec<u8>, usize), StoreError> {
    let text = world.to_text();
    let bytes = text.len();
    let frame =
        if bytes > LARGE_WORLD { to_json_with_shared_sections(conn, world)? } else { format!("{{\"world\":{text}}}") };
    Ok((compression::pack(frame.as_bytes()), bytes))
}

fn to_json_with_shared_sections(conn: &mut Conn, world: &World) -> Result<String, StoreError> {
    let mut json = world.to_json();
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
    Ok(json!({"world": json, "apart": apart}).to_string())
}

/// Reads the world of a keyframe; `None` if its body is damaged or a section is missing.
///
/// # Errors
/// Returns an error if the database fails.
pub fn unpack_world(conn: &mut Conn, body: &[u8]) -> Result<Option<World>, StoreError> {
    let Some(bytes) = compression::unpack(body) else { return Ok(None) };
    let Ok(Value::Object(mut frame)) = serde_json::from_slice(&bytes) else { return Ok(None) };
    let Some(mut world) = frame.shift_remove("world").and_then(World::from_json) else { return Ok(None) };
    for (key, hash) in frame.get("apart").and_then(Value::as_object).into_iter().flatten() {
        let section = match hash.as_str().map(|hash| blobs::by_hash(conn, hash)) {
            Some(Ok(section)) => section,
            Some(Err(StoreError::Inconsistent { .. })) | None => return Ok(None),
            Some(Err(error)) => return Err(error),
        };
        let Ok(value) = serde_json::from_slice(&section) else { return Ok(None) };
        world.vars.insert(key.clone(), value);
    }
    Ok(Some(world))
}
