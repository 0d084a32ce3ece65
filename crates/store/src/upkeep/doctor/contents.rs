//! Checks that everything nodes and sessions refer to exists, can be read, and matches its hash.

use std::collections::{BTreeSet, HashSet};

use diesel::connection::DefaultLoadingMode;
use diesel::prelude::*;
use serde_json::{Map, Value};

use crate::conn::Conn;
use crate::error::StoreError;
use crate::tables::{blobs as blob_rows, deltas, nodes, sessions, texts, traces};
use crate::{blobs, compression, rules};
use clotho_core::ids::NodeId;
use clotho_core::tree::Delta;

use super::tree::id;
use super::{DoctorCheck, DoctorRepair, ExaminedSession, FindingLog};

/// The number of rows that are read at once.
const PAGE: i64 = 200;

/// Checks the texts, deltas, rules and cards of one session.
pub fn check_contents(conn: &mut Conn, examined: &ExaminedSession, notes: &mut FindingLog) -> Result<(), StoreError> {
    check_texts(conn, examined, notes)?;
    check_deltas(conn, examined, notes)?;
    let rules_in_force: BTreeSet<i64> = examined.nodes.rows.iter().filter_map(|row| row.rules_n).collect();
    // The rules of all nodes.
    for n in rules_in_force {
        match rules::read(conn, n) {
            Err(StoreError::Inconsistent { .. }) => {
                let at = examined.nodes.rows.iter().find(|row| row.rules_n == Some(n)).and_then(id);
                notes.note_unrepairable(
                    DoctorCheck::Rules,
                    at,
                    format!("the rules that begin here cannot be read (blob {n})"),
                );
            }
            other => _ = other?,
        }
    }
    // The cards of the session.
    let (cards, persona): (String, Option<String>) =
        sessions::table.find(examined.n).select((sessions::cards, sessions::persona)).get_result(conn)?;
    let cards: Option<Vec<(String, String)>> = serde_json::from_str(&cards).ok();
    let persona: Option<Option<(String, String)>> = persona.map_or(Some(None), |text| serde_json::from_str(&text).ok());
    let (Some(cards), Some(persona)) = (cards, persona) else {
        notes.note_unrepairable(DoctorCheck::Card, None, "the list of its cards cannot be read");
        return Ok(());
    };
    for (card, hash) in cards.into_iter().chain(persona) {
        match blobs::by_hash(conn, &hash) {
            Err(StoreError::Inconsistent { .. }) => {
                notes.note_unrepairable(
                    DoctorCheck::Card,
                    None,
                    format!("its version of the card of {card} is missing"),
                );
            }
            other => _ = other?,
        }
    }
    Ok(())
}

fn check_texts(conn: &mut Conn, examined: &ExaminedSession, notes: &mut FindingLog) -> Result<(), StoreError> {
    let mut without: HashSet<i64> = examined.nodes.rows.iter().map(|row| row.n).collect();
    let own = texts::table.inner_join(nodes::table.on(nodes::n.eq(texts::n))).filter(nodes::session_n.eq(examined.n));
    let rows = own.select((texts::n, texts::metadata)).load_iter::<(i64, String), DefaultLoadingMode>(conn)?;
    for row in rows {
        let (n, metadata) = row?;
        without.remove(&n);
        if serde_json::from_str::<Map<String, Value>>(&metadata).is_err() {
            notes.note_unrepairable(DoctorCheck::Text, node_id(examined, n), "its metadata cannot be read");
        }
    }
    for n in without {
        notes.note_unrepairable(DoctorCheck::Text, node_id(examined, n), "its text is missing");
    }
    Ok(())
}

fn check_deltas(conn: &mut Conn, examined: &ExaminedSession, notes: &mut FindingLog) -> Result<(), StoreError> {
    let mut without: HashSet<(i64, i32)> =
        examined.nodes.rows.iter().filter(|row| row.revision != 0).map(|row| (row.n, row.revision)).collect();
    let own =
        deltas::table.inner_join(nodes::table.on(nodes::n.eq(deltas::node_n))).filter(nodes::session_n.eq(examined.n));
    let columns = (deltas::node_n, deltas::revision, deltas::body);
    for row in own.select(columns).load_iter::<(i64, i32, String), DefaultLoadingMode>(conn)? {
        let (n, revision, body) = row?;
        without.remove(&(n, revision));
        let delta = serde_json::from_str(&body).ok().and_then(|value| Delta::from_json(&value));
        if delta.is_none() {
            notes.note_unrepairable(
                DoctorCheck::Delta,
                node_id(examined, n),
                format!("revision {revision} of its delta cannot be read"),
            );
        }
    }
    for (n, revision) in without {
        notes.note_unrepairable(
            DoctorCheck::Delta,
            node_id(examined, n),
            format!("revision {revision} of its delta is active, but missing"),
        );
    }
    Ok(())
}

fn node_id(examined: &ExaminedSession, n: i64) -> Option<NodeId> {
    examined.nodes.find(n).and_then(|(_, row)| id(row))
}

/// Checks all blobs; returns the first eight bytes of their hashes.
pub fn check_blobs(conn: &mut Conn, notes: &mut FindingLog) -> Result<HashSet<u64>, StoreError> {
    let (mut hashes, mut after) = (HashSet::new(), 0);
    loop {
        let later = blob_rows::table.filter(blob_rows::n.gt(after)).order(blob_rows::n).limit(PAGE);
        let page: Vec<(i64, Vec<u8>, Vec<u8>)> = later.load(conn)?;
        let Some((last, ..)) = page.last() else { return Ok(hashes) };
        after = *last;
        for (n, hash, bytes) in page {
            if blake3::hash(&bytes).as_bytes().as_slice() == hash {
                hashes.extend(hash_prefix(&hash));
            } else {
                notes.note_unrepairable(DoctorCheck::Blob, None, format!("blob {n} does not match its hash"));
            }
        }
    }
}

/// A trace: its row, the id of its node, its body, and the indexed row of its base.
type TraceCheckColumns = (i64, Vec<u8>, Vec<u8>, Option<i64>);

/// Checks that all traces can be read, and that their blocks and bases exist.
pub fn check_traces(conn: &mut Conn, hashes: &HashSet<u64>, notes: &mut FindingLog) -> Result<(), StoreError> {
    let mut after = 0;
    loop {
        let later =
            traces::table.inner_join(nodes::table.on(nodes::n.eq(traces::node_n))).filter(traces::node_n.gt(after));
        let columns = (traces::node_n, nodes::id, traces::body, traces::base_n);
        let page: Vec<TraceCheckColumns> = later.order(traces::node_n).limit(PAGE).select(columns).load(conn)?;
        let Some((last, ..)) = page.last() else { return Ok(()) };
        after = *last;
        for (n, node, body, base_n) in page {
            let node = NodeId::from_slice(&node);
            // The body can be read and its blocks exist.
            let Some((blocks, base)) = blocks_and_base(&body) else {
                notes.note_unrepairable(DoctorCheck::Trace, node, "its trace cannot be read");
                continue;
            };
            if !blocks.iter().all(|hash| hashes.contains(hash)) {
                notes.note_unrepairable(
                    DoctorCheck::Trace,
                    node,
                    "its trace names a part of the prompt that is missing",
                );
            }
            // The indexed base is right and exists.
            if base_n.is_some_and(|base_n| base_n != base.unwrap_or(0)) {
                let message = "its trace continues another one than its row names";
                notes.note(DoctorCheck::Derived, node, message, Some(DoctorRepair::IndexTrace { trace: n }));
            }
            let Some(base) = base else { continue };
            let there = traces::table.find(base).select(traces::node_n).get_result::<i64>(conn).optional()?;
            if there.is_none() {
                notes.note_unrepairable(DoctorCheck::Trace, node, "its trace continues an earlier one that is missing");
            }
        }
    }
}

/// Returns the hash prefixes of the blocks of a trace, and the row of its base.
fn blocks_and_base(body: &[u8]) -> Option<(Vec<u64>, Option<i64>)> {
    let body: Value = serde_json::from_slice(&compression::unpack(body)?).ok()?;
    let hash = |block: &Value| hash_prefix(blake3::Hash::from_hex(block.get(1)?.as_str()?).ok()?.as_bytes());
    let blocks = body.get("blocks")?.as_array()?.iter().map(hash).collect::<Option<_>>()?;
    Some((blocks, body.pointer("/history/base").and_then(Value::as_i64)))
}

fn hash_prefix(hash: &[u8]) -> Option<u64> {
    hash.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}
