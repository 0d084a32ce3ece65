//! Checks that the log is dense, can be read, and rebuilds the arrangement.

use std::collections::{BTreeMap, BTreeSet};

use diesel::prelude::*;

use crate::conn::Conn;
use crate::error::StoreError;
use crate::rows::{NodeRow, OperationRow};
use crate::tables::operations;
use clotho_core::clock::Time;
use clotho_core::ids::{FragmentId, NodeId};
use clotho_core::oplog::{FragmentInfo, LabelTarget};
use clotho_core::tree::reference_tree::{ReferenceNode, ReferenceTree};

use super::tree::id;
use super::{DoctorCheck, ExaminedSession, FindingLog, FragmentCheckRow, describe_differences};

/// The number of operations that are read at once.
const PAGE: i64 = 1_000;

/// Rebuilds the tree from the log and compares it with the stored one.
pub fn check(conn: &mut Conn, examined: &ExaminedSession, notes: &mut FindingLog) -> Result<(), StoreError> {
    let Some(mirror) = replay(conn, examined, notes)? else { return Ok(()) };
    let head = examined.nodes.find(examined.head_n).and_then(|(_, row)| id(row));
    if mirror.head() != head {
        notes.note_unrepairable(
            DoctorCheck::Arrangement,
            head,
            format!("HEAD is here, but at {} in the log", node_name(mirror.head())),
        );
    }
    compare_stash(examined, &mirror, notes);
    compare_labels(examined, &mirror, notes);
    let mut met = 0;
    for row in &examined.nodes.rows {
        let Some(node) = id(row) else { continue };
        match mirror.nodes().get(&node) {
            None => notes.note_unrepairable(DoctorCheck::Arrangement, Some(node), "the log does not contain it"),
            Some(place) => {
                met += 1;
                compare(examined, row, place, notes);
            }
        }
    }
    if met < mirror.nodes().len() {
        let missing =
            mirror.nodes().keys().filter(|node| !examined.nodes.rows.iter().any(|row| id(row) == Some(**node)));
        for node in missing {
            notes.note_unrepairable(DoctorCheck::Arrangement, Some(*node), "the log contains it, but it is missing");
        }
    }
    Ok(())
}

/// Rebuilds the tree from the log; `None` if the log itself is wrong.
fn replay(
    conn: &mut Conn,
    examined: &ExaminedSession,
    notes: &mut FindingLog,
) -> Result<Option<ReferenceTree>, StoreError> {
    let (mut mirror, mut last) = (ReferenceTree::default(), 0);
    loop {
        let later = operations::table.filter(operations::session_n.eq(examined.n)).filter(operations::op.gt(last));
        let page: Vec<OperationRow> =
            later.order(operations::op).limit(PAGE).select(OperationRow::as_select()).load(conn)?;
        if page.is_empty() {
            break;
        }
        for row in page {
            last = row.op;
            let entry = row.into_operation().map_err(|error| error.to_string());
            if let Err(message) = entry.and_then(|operation| mirror.apply(&operation)) {
                notes.note_unrepairable(DoctorCheck::Log, None, message);
                return Ok(None);
            }
        }
    }
    if last != examined.op {
        notes.note_unrepairable(
            DoctorCheck::Log,
            None,
            format!("the log ends at {last}, but its session at {}", examined.op),
        );
        return Ok(None);
    }
    Ok(Some(mirror))
}

fn compare_stash(examined: &ExaminedSession, mirror: &ReferenceTree, notes: &mut FindingLog) {
    let read = |row: &FragmentCheckRow| {
        let (fragment, top) = (FragmentId::from_slice(&row.id)?, node_id(examined, Some(row.top_n))?);
        Some((fragment, (top, FragmentInfo { fragment, name: row.name.clone(), since: Time(row.created) })))
    };
    let stored: BTreeMap<FragmentId, (NodeId, FragmentInfo)> = examined.fragments.iter().filter_map(read).collect();
    let ids: BTreeSet<&FragmentId> = stored.keys().chain(mirror.fragments().keys()).collect();
    for id in ids.into_iter().filter(|id| stored.get(*id) != mirror.fragments().get(*id)) {
        notes.note_unrepairable(DoctorCheck::Arrangement, None, format!("the fragment {id} differs from the log"));
    }
}

fn compare_labels(examined: &ExaminedSession, mirror: &ReferenceTree, notes: &mut FindingLog) {
    let mut stored: BTreeMap<String, LabelTarget> = BTreeMap::new();
    for (name, node_n, following) in &examined.labels {
        if let Some(node) = node_id(examined, Some(*node_n)) {
            stored.insert(name.clone(), LabelTarget { node, following: *following });
        }
    }
    let names: BTreeSet<&String> = stored.keys().chain(mirror.labels().keys()).collect();
    for name in names.into_iter().filter(|name| stored.get(*name) != mirror.labels().get(*name)) {
        notes.note_unrepairable(
            DoctorCheck::Arrangement,
            None,
            format!("the label \"{name}\" has another node in the log"),
        );
    }
}

fn node_id(examined: &ExaminedSession, n: Option<i64>) -> Option<NodeId> {
    n.and_then(|n| examined.nodes.find(n)).and_then(|(_, row)| id(row))
}

fn compare(examined: &ExaminedSession, row: &NodeRow, place: &ReferenceNode, notes: &mut FindingLog) {
    let stored = ReferenceNode {
        parent: node_id(examined, row.parent_n),
        remembered: node_id(examined, row.remembered_n),
        is_hidden: row.is_hidden,
        fragment: row.fragment_n.and_then(|n| fragment_of(examined, n)),
        is_disabled: !row.is_enabled,
        is_muted: row.is_muted,
        is_unread: row.is_unread,
        rating: row.rating.and_then(|stars| u8::try_from(stars).ok()),
        revision: place.revision.map(|_| row.revision),
    };
    if stored != *place {
        notes.note_unrepairable(
            DoctorCheck::Arrangement,
            id(row),
            describe_differences("the log", &describe_arrangement(&stored, place)),
        );
    }
}

/// Describes the stored and the expected arrangement of a node.
fn describe_arrangement(is: &ReferenceNode, must: &ReferenceNode) -> [(&'static str, String, String); 9] {
    let both = |what, say: &dyn Fn(&ReferenceNode) -> String| (what, say(is), say(must));
    let word = |holds: bool, yes: &str, no: &str| if holds { yes.to_owned() } else { no.to_owned() };
    let fragment = |of: &ReferenceNode| of.fragment.map_or_else(|| "none".to_owned(), |id| id.to_string());
    [
        both("parent", &|of| node_name(of.parent)),
        both("child visited last", &|of| node_name(of.remembered)),
        both("place", &|of| word(of.is_hidden, "outside the tree", "in the tree")),
        both("fragment", &fragment),
        both("text", &|of| word(of.is_disabled, "disabled", "enabled")),
        both("effect on the state", &|of| word(of.is_muted, "muted", "on")),
        both("state", &|of| word(of.is_unread, "unread", "read")),
        both("rating", &|of| of.rating.map_or_else(|| "none".to_owned(), |stars| stars.to_string())),
        both("revision", &|of| of.revision.map_or_else(|| "none".to_owned(), |revision| revision.to_string())),
    ]
}

fn fragment_of(examined: &ExaminedSession, n: i64) -> Option<FragmentId> {
    examined.fragments.iter().find(|fragment| fragment.n == n).and_then(|fragment| FragmentId::from_slice(&fragment.id))
}

fn node_name(node: Option<NodeId>) -> String {
    node.map_or_else(|| "none".to_owned(), |node| node.to_string())
}
