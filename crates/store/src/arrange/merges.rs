//! A merge: what happened on another line since the two parted is brought over, alone or with its messages. Nodes keep one
//! parent; what comes says from where.

use std::collections::{BTreeMap, HashMap, HashSet};

use diesel::prelude::*;
use serde_json::{Map, Value};

use clotho_core::clock::IdGenerator;
use clotho_core::ids::NodeId;
use clotho_core::oplog::Effect;
use clotho_core::tree::edit::{self, TreeError};
use clotho_core::tree::merge::{self, ConflictResolution, MergeConflict, ResolutionError};
use clotho_core::tree::merge_parts::{self, MergePart, MergedNodeRecord};
use clotho_core::tree::{Delta, Kind, Role, Status};
use clotho_core::world::StateOperation;

use super::super::ancestors::{self, AncestorRow};
use super::super::conn::Conn;
use super::super::error::{StoreError, WriteError};
use super::super::read::pad_to_power_of_two;
use super::super::rows::{NodeRow, object_from_text};
use super::super::stored::StoredSession;
use super::super::tables::texts;
use super::super::tree_writes::Actor;
use super::super::tx::{NodeDraft, Tx, row_id};
use super::super::worlds;
use super::ArrangeReport;
use super::copies::{CopyOverride, CopySource};

/// Where the metadata of what a merge made names the end of the other line.
const MERGED_FROM: &str = "mergedFrom";
/// Where it says whose doing that is.
const MERGED_NODES: &str = "mergedNodes";
/// So many rows are looked at in one question.
const BATCH_SIZE: usize = 512;

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
        let from = self.branch_tip(held, wanted.from, "fromLeafId")?;
        let onto = self.branch_tip(held, wanted.onto, "ontoLeafId")?;
        let (theirs, ours) = (self.rows_since_fork(&onto, &from)?, self.rows_since_fork(&from, &onto)?);
        let run = self.chosen_run(held, &theirs, wanted.nodes)?;
        // Of a run comes what was done up to its end.
        let last = run.last().or(theirs.last()).map_or(i64::MAX, |row| row.depth.into());
        let theirs: Vec<NodeRow> = theirs.into_iter().filter(|row| i64::from(row.depth) <= last).collect();
        let (theirs, ours) = (self.read_side(&theirs)?, self.read_side(&ours)?);
        if run.is_empty() && theirs.contains_all_of(&ours) {
            return Err(TreeError::Conflict("all of that line is on this one already".into()).into());
        }
        let settled = plan_merge(&theirs, &ours, &run, wanted.resolve)?;
        let (mut effects, result) = if run.is_empty() {
            let node = NodeId::new(ids.next(actor.at));
            let mut draft = NodeDraft::new(node, Role::System, Kind::Merge, ids.next_seed(), actor.at);
            draft.metadata = merge_metadata(wanted.from, settled.parts.iter().map(|(_, carried, _)| *carried));
            let operations = settled.parts.into_iter().flat_map(|(_, _, kept)| kept).chain(settled.sets).collect();
            draft.delta = Delta { operations, ..Delta::default() };
            draft.author = Some(actor.user);
            let row = self.insert(held.n, held.session.edits, Some(&onto), &draft)?;
            (vec![Effect::Added { node, parent: Some(wanted.onto) }], row)
        } else {
            let changed = self.copy_overrides(&run, settled, wanted.from)?;
            let originals = CopySource { session: held, rows: run, changed };
            let (effects, mut copies) = self.copy_all(held, &originals, &onto, (ids, actor.at))?;
            (effects, copies.pop().ok_or(TreeError::NotFound("the message"))?)
        };
        let node = row_id(&result)?;
        made.nodes.push(node);
        if held.head_n == onto.n {
            let way = self.remembered_edges(held, &result)?;
            effects.extend(edit::move_head(Some(held.session.head), node, &way));
        }
        effects.extend(self.move_following_labels(held, onto.n, node)?);
        Ok(effects)
    }

    /// The end of a line, which is written to its end.
    fn branch_tip(&mut self, held: &StoredSession, id: NodeId, field: &'static str) -> Result<NodeRow, WriteError> {
        let row = self.node_in_tree(held, id, field)?;
        if row.status == Status::Generating.code() {
            return Err(TreeError::Generating.into());
        }
        Ok(row)
    }

    /// What is on the way to `to` since it parted from the way to `other`, the oldest first.
    fn rows_since_fork(&mut self, other: &NodeRow, to: &NodeRow) -> Result<Vec<NodeRow>, StoreError> {
        let way = self.run(|conn| {
            ancestors::path_from_common_ancestor(conn, AncestorRow::from_row(other), AncestorRow::from_row(to))
        })?;
        let own = way.iter().rev().skip(1);
        own.map(|rung| self.row_by_number(rung.n)).collect()
    }

    /// The run of the other line that is to come with its messages; nothing where none was named.
    fn chosen_run(
        &mut self,
        held: &StoredSession,
        theirs: &[NodeRow],
        ids: &[NodeId],
    ) -> Result<Vec<NodeRow>, WriteError> {
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
    fn read_side(&mut self, rows: &[NodeRow]) -> Result<MergeSide, StoreError> {
        let counting: Vec<NodeRow> = rows.iter().filter(|row| !row.is_muted).cloned().collect();
        let records = self.run(|conn| merge_records(conn, &counting))?;
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
        Ok(merge_parts::split_node(row_id(row)?, done, record.map_or(&[], Vec::as_slice)))
    }

    /// What the copies of a run have of their own. One that is muted comes as it is.
    fn copy_overrides(
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
                let records = self.run(|conn| merge_records(conn, std::slice::from_ref(row)))?;
                for part in self.parts_of(row, records.get(&row.n))? {
                    record.push(MergedNodeRecord { of: part.of, operations: part.operations.len() });
                    operations.extend(part.operations);
                }
            } else {
                operations.append(&mut sets);
            }
            changed.insert(row.n, CopyOverride { operations, metadata: merge_metadata(from, record.into_iter()) });
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
    fn contains_all_of(&self, other: &Self) -> bool {
        merge_parts::origins(&self.parts).is_subset(&merge_parts::origins(&other.parts))
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
fn plan_merge(
    theirs: &MergeSide,
    ours: &MergeSide,
    run: &[NodeRow],
    resolve: &BTreeMap<String, ConflictResolution>,
) -> Result<MergePlan, TreeError> {
    let (here, there) = (merge_parts::origins(&ours.parts), merge_parts::origins(&theirs.parts));
    let chosen: HashSet<i64> = run.iter().map(|row| row.n).collect();
    let is_chosen = |at: usize| chosen.is_empty() || theirs.hosts.get(at).is_some_and(|host| chosen.contains(host));
    let coming = merge_parts::select_operations(&theirs.parts, &here, is_chosen);
    let mut parts = Vec::new();
    for (at, ((part, comes), host)) in theirs.parts.iter().zip(coming).zip(&theirs.hosts).enumerate() {
        let done = part.operations.iter().zip(comes).filter(|(one, comes)| *comes && one.applies_on_other_branch());
        let done: Vec<StateOperation> = done.map(|(operation, _)| operation.clone()).collect();
        let is_new = !here.contains(&part.of) || !chosen.is_empty();
        if is_chosen(at) && (is_new || !done.is_empty()) {
            parts.push((*host, part.of, done));
        }
    }
    let brought: Vec<StateOperation> = parts.iter().flat_map(|(.., done)| done.clone()).collect();
    let own = ours.parts.iter().filter(|part| !there.contains(&part.of));
    let own: Vec<StateOperation> = own.flat_map(|part| part.operations.clone()).collect();
    let settled = merge::resolve_conflicts(&brought, &own, resolve).map_err(|unsettled| match unsettled {
        ResolutionError::Unresolved(open) => {
            TreeError::Diverged { conflicts: Value::Array(open.iter().map(MergeConflict::to_json).collect()) }
        }
        ResolutionError::NoSuchConflict(path) => {
            TreeError::Invalid { field: "resolve", message: format!("\"{path}\" is no conflict") }
        }
    })?;
    let mut kept = settled.kept.into_iter();
    let mut hold = |(host, of, done): (i64, NodeId, Vec<StateOperation>)| {
        let held: Vec<StateOperation> = done.into_iter().filter(|_| kept.next().unwrap_or(false)).collect();
        (host, MergedNodeRecord { of, operations: held.len() }, held)
    };
    Ok(MergePlan { parts: parts.into_iter().map(&mut hold).collect(), sets: settled.replacements })
}

/// What something says that a merge made.
fn merge_metadata(from: NodeId, record: impl Iterator<Item = MergedNodeRecord>) -> Map<String, Value> {
    let record: Vec<Value> = record.map(|carried| carried.to_json()).collect();
    Map::from_iter([(MERGED_FROM.into(), from.to_string().into()), (MERGED_NODES.into(), record.into())])
}

/// Whose doing is held by those of some rows that a merge made.
fn merge_records(conn: &mut Conn, rows: &[NodeRow]) -> Result<HashMap<i64, Vec<MergedNodeRecord>>, StoreError> {
    let merged: HashSet<i64> = rows.iter().filter(|row| row.kind == Kind::Merge.code()).map(|row| row.n).collect();
    let mut records = HashMap::new();
    for chunk in rows.chunks(BATCH_SIZE) {
        let all: Vec<i64> = chunk.iter().map(|row| row.n).collect();
        let merges: Vec<i64> = all.iter().copied().filter(|n| merged.contains(n)).collect();
        let says =
            texts::metadata.like(format!("%\"{MERGED_NODES}\"%")).or(texts::n.eq_any(pad_to_power_of_two(&merges)));
        let some = texts::table
            .filter(texts::n.eq_any(pad_to_power_of_two(&all)))
            .filter(says)
            .select((texts::n, texts::metadata));
        for (n, metadata) in some.load::<(i64, String)>(conn)? {
            let bad = || StoreError::Inconsistent { table: "texts", column: "metadata", row: n };
            let said = object_from_text(&metadata).ok_or_else(bad)?;
            let record = said.get(MERGED_NODES).and_then(Value::as_array).into_iter().flatten();
            records.insert(
                n,
                record.map(|one| MergedNodeRecord::from_json(one).ok_or_else(bad)).collect::<Result<_, _>>()?,
            );
        }
    }
    Ok(records)
}
