//! A merge: what happened on another line since the two parted is brought over, alone or with its messages. Nodes keep one
//! parent; what comes says from where.

use std::collections::{BTreeMap, HashMap, HashSet};

use diesel::prelude::*;
use serde_json::{Map, Value};

use crate::clock::IdGenerator;
use crate::ids::NodeId;
use crate::oplog::Effect;
use crate::tree::brought::{self, MergePart, MergedNodeRecord};
use crate::tree::edit::{self, TreeError};
use crate::tree::merge::{self, ConflictResolution, MergeConflict, ResolutionError};
use crate::tree::{Delta, Kind, Role, Status};
use crate::world::StateOperation;

use super::super::acts::Actor;
use super::super::climb::{self, AncestorRow};
use super::super::conn::Conn;
use super::super::error::{StoreError, WriteError};
use super::super::held::StoredSession;
use super::super::read::padded;
use super::super::rows::{NodeRow, object};
use super::super::tables::texts;
use super::super::tx::{NodeDraft, Tx, row_id};
use super::super::worlds;
use super::ArrangeReport;
use super::copies::{CopyOverride, CopySource};

/// Where the metadata of what a merge made names the end of the other line.
const MERGED_FROM: &str = "mergedFrom";
/// Where it says whose doing that is.
const MERGED_NODES: &str = "mergedNodes";
/// So many rows are looked at in one question.
const LOOKED_AT: usize = 512;

/// A merge as it was asked for.
pub struct MergeSpec<'a> {
    /// The end of the other line.
    pub from: NodeId,
    /// The end of the line that goes on.
    pub onto: NodeId,
    /// The messages to bring along.
    pub nodes: &'a [NodeId],
    /// What becomes of the conflicts.
    pub resolve: &'a BTreeMap<String, ConflictResolution>,
}

impl Tx<'_> {
    /// What happened on another line is brought over to this one.
    pub(super) fn merge(
        &mut self,
        (actor, ids): (&Actor, &IdGenerator),
        held: &StoredSession,
        wanted: &MergeSpec<'_>,
        made: &mut ArrangeReport,
    ) -> Result<Vec<Effect>, WriteError> {
        let from = self.line_end(held, wanted.from, "fromLeafId")?;
        let onto = self.line_end(held, wanted.onto, "ontoLeafId")?;
        let (theirs, ours) = (self.since_parting(&onto, &from)?, self.since_parting(&from, &onto)?);
        let run = self.chosen(held, &theirs, wanted.nodes)?;
        // Of a run comes what was done up to its end.
        let last = run.last().or(theirs.last()).map_or(i64::MAX, |row| row.depth.into());
        let theirs: Vec<NodeRow> = theirs.into_iter().filter(|row| i64::from(row.depth) <= last).collect();
        let (theirs, ours) = (self.read_line(&theirs)?, self.read_line(&ours)?);
        if run.is_empty() && theirs.lacks_nothing_of(&ours) {
            return Err(TreeError::Conflict("all of that line is on this one already".into()).into());
        }
        let settled = settle(&theirs, &ours, &run, wanted.resolve)?;
        let (mut effects, result) = if run.is_empty() {
            let node = NodeId::new(ids.next(actor.at));
            let mut draft = NodeDraft::new(node, Role::System, Kind::Merge, ids.seed(), actor.at);
            draft.metadata = said_of(wanted.from, settled.parts.iter().map(|(_, carried, _)| *carried));
            let operations = settled.parts.into_iter().flat_map(|(_, _, kept)| kept).chain(settled.sets).collect();
            draft.delta = Delta { operations, ..Delta::default() };
            draft.author = Some(actor.user);
            let row = self.insert(held.n, held.session.edits, Some(&onto), &draft)?;
            (vec![Effect::Added { node, parent: Some(wanted.onto) }], row)
        } else {
            let changed = self.as_copies(&run, settled, wanted.from)?;
            let originals = CopySource { session: held, rows: run, changed };
            let (effects, mut copies) = self.copy_all(held, &originals, &onto, (ids, actor.at))?;
            (effects, copies.pop().ok_or(TreeError::NotFound("the message"))?)
        };
        let node = row_id(&result)?;
        made.nodes.push(node);
        if held.head_n == onto.n {
            let way = self.way(held, &result)?;
            effects.extend(edit::move_head(Some(held.session.head), node, &way));
        }
        effects.extend(self.labels_follow(held, onto.n, node)?);
        Ok(effects)
    }

    /// The end of a line, which is written to its end.
    fn line_end(&mut self, held: &StoredSession, id: NodeId, field: &'static str) -> Result<NodeRow, WriteError> {
        let row = self.standing(held, id, field)?;
        if row.status == Status::Generating.code() {
            return Err(TreeError::Generating.into());
        }
        Ok(row)
    }

    /// What is on the way to `to` since it parted from the way to `other`, the oldest first.
    fn since_parting(&mut self, other: &NodeRow, to: &NodeRow) -> Result<Vec<NodeRow>, StoreError> {
        let way = self.run(|conn| climb::up_to_meeting(conn, AncestorRow::of(other), AncestorRow::of(to)))?;
        let own = way.iter().rev().skip(1);
        own.map(|rung| self.row_n(rung.n)).collect()
    }

    /// The run of the other line that is to come with its messages; nothing where none was named.
    fn chosen(&mut self, held: &StoredSession, theirs: &[NodeRow], ids: &[NodeId]) -> Result<Vec<NodeRow>, WriteError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let run = self.run_of(held, ids)?;
        let there: HashSet<i64> = theirs.iter().map(|row| row.n).collect();
        if run.iter().all(|row| there.contains(&row.n)) {
            return Ok(run);
        }
        let message = "messages of the other line after the two parted are expected".to_owned();
        Err(TreeError::Invalid { field: "nodeIds", message }.into())
    }

    /// What was done on a line, and counts.
    fn read_line(&mut self, rows: &[NodeRow]) -> Result<MergeSide, StoreError> {
        let counting: Vec<NodeRow> = rows.iter().filter(|row| !row.is_muted).cloned().collect();
        let records = self.run(|conn| records(conn, &counting))?;
        let mut line = MergeSide::default();
        for row in &counting {
            let parts = self.parts_of(row, records.get(&row.n))?;
            line.hosts.extend(parts.iter().map(|_| row.n));
            line.parts.extend(parts);
        }
        Ok(line)
    }

    fn parts_of(
        &mut self,
        row: &NodeRow,
        record: Option<&Vec<MergedNodeRecord>>,
    ) -> Result<Vec<MergePart>, StoreError> {
        let done = self.run(|conn| worlds::delta(conn, row.n, row.revision))?.operations;
        Ok(brought::parts(row_id(row)?, done, record.map_or(&[], Vec::as_slice)))
    }

    /// What the copies of a run have of their own. One that is muted comes as it is.
    fn as_copies(
        &mut self,
        run: &[NodeRow],
        settled: MergePlan,
        from: NodeId,
    ) -> Result<HashMap<i64, CopyOverride>, StoreError> {
        let mut changed = HashMap::new();
        let mut sets = settled.sets;
        for row in run.iter().rev() {
            let (mut operations, mut record) = (Vec::new(), Vec::new());
            for (_, carried, kept) in settled.parts.iter().filter(|(host, ..)| *host == row.n) {
                record.push(*carried);
                operations.extend(kept.iter().cloned());
            }
            if row.is_muted {
                let records = self.run(|conn| records(conn, std::slice::from_ref(row)))?;
                for part in self.parts_of(row, records.get(&row.n))? {
                    record.push(MergedNodeRecord { of: part.of, operations: part.operations.len() });
                    operations.extend(part.operations);
                }
            } else {
                operations.append(&mut sets);
            }
            changed.insert(row.n, CopyOverride { operations, metadata: said_of(from, record.into_iter()) });
        }
        Ok(changed)
    }
}

/// What was done on a line since it parted from another.
#[derive(Default)]
struct MergeSide {
    parts: Vec<MergePart>,
    /// In whose row each part stands.
    hosts: Vec<i64>,
}

impl MergeSide {
    fn lacks_nothing_of(&self, other: &Self) -> bool {
        brought::had(&self.parts).is_subset(&brought::had(&other.parts))
    }
}

/// What comes over.
struct MergePlan {
    /// In whose row it stands there, whose doing it is, and what of it holds here.
    parts: Vec<(i64, MergedNodeRecord, Vec<StateOperation>)>,
    /// What conflicts were settled with.
    sets: Vec<StateOperation>,
}

/// What of theirs comes over and holds: of all of it, or of a run.
fn settle(
    theirs: &MergeSide,
    ours: &MergeSide,
    run: &[NodeRow],
    resolve: &BTreeMap<String, ConflictResolution>,
) -> Result<MergePlan, TreeError> {
    let (here, there) = (brought::had(&ours.parts), brought::had(&theirs.parts));
    let chosen: HashSet<i64> = run.iter().map(|row| row.n).collect();
    let is_chosen = |at: usize| chosen.is_empty() || theirs.hosts.get(at).is_some_and(|host| chosen.contains(host));
    let coming = brought::coming(&theirs.parts, &here, is_chosen);
    let mut parts = Vec::new();
    for (at, ((part, comes), host)) in theirs.parts.iter().zip(coming).zip(&theirs.hosts).enumerate() {
        let done = part.operations.iter().zip(comes).filter(|(one, comes)| *comes && one.holds_elsewhere());
        let done: Vec<StateOperation> = done.map(|(operation, _)| operation.clone()).collect();
        let is_new = !here.contains(&part.of) || !chosen.is_empty();
        if is_chosen(at) && (is_new || !done.is_empty()) {
            parts.push((*host, part.of, done));
        }
    }
    let brought: Vec<StateOperation> = parts.iter().flat_map(|(.., done)| done.clone()).collect();
    let own = ours.parts.iter().filter(|part| !there.contains(&part.of));
    let own: Vec<StateOperation> = own.flat_map(|part| part.operations.clone()).collect();
    let settled = merge::settle(&brought, &own, resolve).map_err(|unsettled| match unsettled {
        ResolutionError::Open(open) => {
            TreeError::Diverged { conflicts: Value::Array(open.iter().map(MergeConflict::to_json).collect()) }
        }
        ResolutionError::Needless(path) => {
            TreeError::Invalid { field: "resolve", message: format!("\"{path}\" is no conflict") }
        }
    })?;
    let mut kept = settled.kept.into_iter();
    let mut hold = |(host, of, done): (i64, NodeId, Vec<StateOperation>)| {
        let held: Vec<StateOperation> = done.into_iter().filter(|_| kept.next().unwrap_or(false)).collect();
        (host, MergedNodeRecord { of, operations: held.len() }, held)
    };
    Ok(MergePlan { parts: parts.into_iter().map(&mut hold).collect(), sets: settled.sets })
}

/// What something says that a merge made.
fn said_of(from: NodeId, record: impl Iterator<Item = MergedNodeRecord>) -> Map<String, Value> {
    let record: Vec<Value> = record.map(|carried| carried.to_json()).collect();
    Map::from_iter([(MERGED_FROM.into(), from.to_string().into()), (MERGED_NODES.into(), record.into())])
}

/// Whose doing is held by those of some rows that a merge made.
fn records(conn: &mut Conn, rows: &[NodeRow]) -> Result<HashMap<i64, Vec<MergedNodeRecord>>, StoreError> {
    let merged: HashSet<i64> = rows.iter().filter(|row| row.kind == Kind::Merge.code()).map(|row| row.n).collect();
    let mut records = HashMap::new();
    for chunk in rows.chunks(LOOKED_AT) {
        let all: Vec<i64> = chunk.iter().map(|row| row.n).collect();
        let merges: Vec<i64> = all.iter().copied().filter(|n| merged.contains(n)).collect();
        let says = texts::metadata.like(format!("%\"{MERGED_NODES}\"%")).or(texts::n.eq_any(padded(&merges)));
        let some = texts::table.filter(texts::n.eq_any(padded(&all))).filter(says).select((texts::n, texts::metadata));
        for (n, metadata) in some.load::<(i64, String)>(conn)? {
            let bad = || StoreError::Inconsistent { table: "texts", column: "metadata", row: n };
            let said = object(&metadata).ok_or_else(bad)?;
            let record = said.get(MERGED_NODES).and_then(Value::as_array).into_iter().flatten();
            records.insert(
                n,
                record.map(|one| MergedNodeRecord::from_json(one).ok_or_else(bad)).collect::<Result<_, _>>()?,
            );
        }
    }
    Ok(records)
}
