//! Checks roots, parents, cycles, derived columns, HEAD, remembered children, counts, fragments and labels.

use std::collections::{HashMap, HashSet};

use crate::rows::NodeRow;
use crate::upkeep::session_nodes::SessionNodes;
use clotho_core::ids::NodeId;
use clotho_core::tree::{Kind, Role, Status};

use super::{DerivedColumns, DoctorCheck, DoctorRepair, ExaminedSession, FindingLog, describe_differences};

/// Checks the shape of a tree.
pub fn check(examined: &ExaminedSession, notes: &mut FindingLog) {
    check_roots(examined, notes);
    check_parents(&examined.nodes, notes);
    check_derived_columns(&examined.nodes, notes);
    check_head(examined, notes);
    check_counts(examined, notes);
    check_fragments(examined, notes);
    for (name, node_n, _) in &examined.labels {
        if examined.nodes.find(*node_n).is_none() {
            notes.note_unrepairable(
                DoctorCheck::Label,
                None,
                format!("the label \"{name}\" has no node in its session"),
            );
        }
    }
    for row in &examined.nodes.rows {
        if row.remembered_n.is_some_and(|n| examined.nodes.find(n).is_none()) {
            notes.note_unrepairable(DoctorCheck::Remembered, id(row), "its remembered child is not in its session");
        }
    }
}

/// Returns the id of a row, if it is valid.
pub fn id(row: &NodeRow) -> Option<NodeId> {
    NodeId::from_slice(row.id.bytes())
}

fn check_roots(examined: &ExaminedSession, notes: &mut FindingLog) {
    let tops: Vec<&NodeRow> = examined.nodes.rows.iter().filter(|row| row.parent_n.is_none()).collect();
    if !tops.iter().any(|row| row.n == examined.root_n) {
        notes.note_unrepairable(DoctorCheck::Root, None, "its root is missing, or has a parent");
    }
    for row in tops {
        if row.n != examined.root_n {
            notes.note_unrepairable(DoctorCheck::Root, id(row), "it has no parent, but is not the root");
        } else if row.kind != Kind::Root.code() || row.role != Role::System.code() {
            notes.note_unrepairable(DoctorCheck::Root, id(row), "it is the root, but has another kind");
        }
    }
}

/// Checks that parents exist and that there are no cycles. Nodes below a fault are not reported, because their
/// own parent exists.
fn check_parents(forest: &SessionNodes, notes: &mut FindingLog) {
    let mut rows: HashSet<i64> = forest.order.iter().filter_map(|at| forest.rows.get(*at)).map(|row| row.n).collect();
    for row in forest.rows.iter().filter(|row| row.parent_n.is_some_and(|n| forest.find(n).is_none())) {
        notes.note_unrepairable(DoctorCheck::Parent, id(row), "its parent is not in its session");
    }
    for row in &forest.rows {
        let (mut way, mut next) = (HashSet::new(), Some(row));
        while let Some(row) = next.filter(|row| !rows.contains(&row.n)) {
            if !way.insert(row.n) {
                notes.note_unrepairable(DoctorCheck::Cycle, id(row), "it is below itself");
                break;
            }
            next = row.parent_n.and_then(|n| forest.find(n)).map(|(_, row)| row);
        }
        rows.extend(way);
    }
}

/// Checks derived columns. The expected values are computed from the root and not from the stored parent, so
/// that one wrong row is one finding.
fn check_derived_columns(forest: &SessionNodes, notes: &mut FindingLog) {
    let none = DerivedColumns { depth: -1, turn: 0, since_keyframe: 0, rules_n: None };
    let mut all = vec![none; forest.rows.len()];
    for (at, row, parent) in forest.walk() {
        let above = parent.and_then(|(at, _)| all.get(at)).copied().unwrap_or(none);
        let speaks =
            row.role != Role::Assistant.code() && row.kind != Kind::Change.code() && row.kind != Kind::Root.code();
        let expected = DerivedColumns {
            depth: above.depth + 1,
            turn: above.turn + i32::from(speaks),
            // Where keyframes are cut was decided when they were due.
            since_keyframe: if row.since_keyframe == 0 { 0 } else { above.since_keyframe + 1 },
            rules_n: if row.begins_rules { row.rules_n } else { above.rules_n },
        };
        if let Some(own) = all.get_mut(at) {
            *own = expected;
        }
        let stored = DerivedColumns {
            depth: row.depth,
            turn: row.turn,
            since_keyframe: row.since_keyframe,
            rules_n: row.rules_n,
        };
        if stored != expected {
            let message = describe_differences("its path", &describe_derived(&stored, &expected));
            notes.note(
                DoctorCheck::Derived,
                id(row),
                message,
                Some(DoctorRepair::Derive { node_n: row.n, derived: expected }),
            );
        }
    }
}

/// Describes the stored and the expected derived columns.
fn describe_derived(is: &DerivedColumns, must: &DerivedColumns) -> [(&'static str, String, String); 4] {
    let rules = |of: &DerivedColumns| of.rules_n.map_or_else(|| "none".to_owned(), |n| format!("those of blob {n}"));
    [
        ("depth", is.depth.to_string(), must.depth.to_string()),
        ("turn", is.turn.to_string(), must.turn.to_string()),
        ("distance from the last keyframe", is.since_keyframe.to_string(), must.since_keyframe.to_string()),
        ("rule set", rules(is), rules(must)),
    ]
}

fn check_head(examined: &ExaminedSession, notes: &mut FindingLog) {
    match examined.nodes.find(examined.head_n) {
        None => notes.note_unrepairable(DoctorCheck::Head, None, "HEAD is not in its session"),
        Some((_, row)) if row.is_hidden => {
            notes.note_unrepairable(DoctorCheck::Head, id(row), "HEAD is outside of the tree")
        }
        Some((_, row)) if row.status == Status::Generating.code() => {
            notes.note_unrepairable(DoctorCheck::Head, id(row), "HEAD is still being generated");
        }
        Some(_) => {}
    }
}

/// Checks that each fragment has its top, and that its nodes are below it and outside the tree.
fn check_fragments(examined: &ExaminedSession, notes: &mut FindingLog) {
    let tops: HashMap<i64, i64> = examined.fragments.iter().map(|fragment| (fragment.n, fragment.top_n)).collect();
    for fragment in &examined.fragments {
        if examined.nodes.find(fragment.top_n).is_none_or(|(_, row)| row.fragment_n != Some(fragment.n)) {
            notes.note_unrepairable(
                DoctorCheck::Fragment,
                None,
                format!("the top of fragment {} is missing", fragment.n),
            );
        }
    }
    for row in &examined.nodes.rows {
        let Some(fragment_n) = row.fragment_n else { continue };
        let above = row.parent_n.and_then(|n| examined.nodes.find(n)).and_then(|(_, parent)| parent.fragment_n);
        match tops.get(&fragment_n) {
            None => notes.note_unrepairable(DoctorCheck::Fragment, id(row), "it is in a fragment that is missing"),
            Some(_) if !row.is_hidden => {
                notes.note_unrepairable(DoctorCheck::Fragment, id(row), "it is both in a fragment and in the tree")
            }
            Some(top_n) if *top_n != row.n && above != Some(fragment_n) => {
                notes.note_unrepairable(DoctorCheck::Fragment, id(row), "it is in a fragment, but not below its top");
            }
            Some(_) => {}
        }
    }
}

fn check_counts(examined: &ExaminedSession, notes: &mut FindingLog) {
    let shown = || examined.nodes.rows.iter().filter(|row| !row.is_hidden);
    let above: HashSet<i64> = shown().filter_map(|row| row.parent_n).collect();
    let count = |rows: usize| i64::try_from(rows).unwrap_or(i64::MAX);
    let nodes = count(shown().filter(|row| row.parent_n.is_some()).count());
    let leaves = count(shown().filter(|row| !above.contains(&row.n)).count());
    if (nodes, leaves) != (examined.node_count, examined.leaf_count) {
        let (node_count, leaf_count) = (examined.node_count, examined.leaf_count);
        let counts = [
            ("number of nodes", node_count.to_string(), nodes.to_string()),
            ("number of leaves", leaf_count.to_string(), leaves.to_string()),
        ];
        let message = describe_differences("a count", &counts);
        notes.note(
            DoctorCheck::Counts,
            None,
            message,
            Some(DoctorRepair::Count { session_n: examined.n, nodes, leaves }),
        );
    }
}
