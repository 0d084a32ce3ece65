//! The log is dense, can be read, and rebuilds the arrangement.

use diesel::prelude::*;

use crate::ids::NodeId;
use crate::store::conn::Conn;
use crate::store::error::StoreError;
use crate::store::rows::{NodeRow, OperationRow};
use crate::store::tables::operations;
use crate::tree::mirror::{Mirror, Place};

use super::tree::id;
use super::{Check, Notes, Patient};

/// Operations read at once.
const PAGE: i64 = 1_000;

/// Rebuilds the tree from the log and compares.
pub fn look(conn: &mut Conn, patient: &Patient, notes: &mut Notes) -> Result<(), StoreError> {
    let Some(mirror) = replay(conn, patient, notes)? else { return Ok(()) };
    let head = patient.forest.find(patient.head_n).and_then(|(_, row)| id(row));
    if mirror.head() != head {
        notes.name(Check::Arrangement, head, format!("HEAD is here, but by the log at {}", named(mirror.head())));
    }
    let mut met = 0;
    for row in &patient.forest.rows {
        let Some(node) = id(row) else { continue };
        match mirror.nodes().get(&node) {
            None => notes.name(Check::Arrangement, Some(node), "the log does not know it"),
            Some(place) => {
                met += 1;
                compare(patient, row, place, notes);
            }
        }
    }
    if met < mirror.nodes().len() {
        let missing =
            mirror.nodes().keys().filter(|node| !patient.forest.rows.iter().any(|row| id(row) == Some(**node)));
        for node in missing {
            notes.name(Check::Arrangement, Some(*node), "the log knows it, and it is not there");
        }
    }
    Ok(())
}

/// The tree as the log tells it; none if the log itself is wrong.
fn replay(conn: &mut Conn, patient: &Patient, notes: &mut Notes) -> Result<Option<Mirror>, StoreError> {
    let (mut mirror, mut last) = (Mirror::default(), 0);
    loop {
        let later = operations::table.filter(operations::session_n.eq(patient.n)).filter(operations::op.gt(last));
        let page: Vec<OperationRow> =
            later.order(operations::op).limit(PAGE).select(OperationRow::as_select()).load(conn)?;
        if page.is_empty() {
            break;
        }
        for row in page {
            last = row.op;
            let told = row.into_operation().map_err(|error| error.to_string());
            if let Err(message) = told.and_then(|operation| mirror.apply(&operation)) {
                notes.name(Check::Log, None, message);
                return Ok(None);
            }
        }
    }
    if last != patient.op {
        notes.name(Check::Log, None, format!("the log ends at {last}, and the session at {}", patient.op));
        return Ok(None);
    }
    Ok(Some(mirror))
}

fn compare(patient: &Patient, row: &NodeRow, place: &Place, notes: &mut Notes) {
    let named_n = |n: Option<i64>| n.and_then(|n| patient.forest.find(n)).and_then(|(_, row)| id(row));
    let stored = Place {
        parent: named_n(row.parent_n),
        remembered: named_n(row.remembered_n),
        is_hidden: row.is_hidden,
        fragment: place.fragment.filter(|_| row.fragment_n.is_some()),
        is_disabled: !row.is_enabled,
        is_muted: row.is_muted,
        rating: row.rating.and_then(|stars| u8::try_from(stars).ok()),
    };
    if stored != *place {
        notes.name(Check::Arrangement, id(row), format!("{stored:?} is not what the log tells, {place:?}"));
    }
}

fn named(node: Option<NodeId>) -> String {
    node.map_or_else(|| "none".to_owned(), |node| node.to_string())
}
