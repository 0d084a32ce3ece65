//! Merges: apply what happened on another branch since the fork, with or without its messages. Nodes keep one
//! parent; the merged nodes record their origin.

use std::collections::{BTreeMap, HashMap, HashSet};

use diesel::prelude::*;
use serde_json::Value;

use clotho_core::clock::IdGenerator;
use clotho_core::ids::NodeId;
use clotho_core::oplog::Effect;
use clotho_core::tree::edit::{self, TreeError};
use clotho_core::tree::merge::{self, ConflictResolution, MergeConflict, ResolutionError};
use clotho_core::tree::merge_parts::{self, MergePart, MergedNodeRecord};
use clotho_core::tree::{Delta, Kind, NodeMetadata, Role, Status};
use clotho_core::world::StateOperation;

use super::super::ancestors::{self, AncestorRow};
use super::super::conn::Conn;
use super::super::error::{StoreError, WriteError};
use super::super::read::pad_to_power_of_two;
use super::super::rows::{NodeRow, metadata_from_text};
use super::super::stored::StoredSession;
use super::super::tables::texts;
use super::super::tree_writes::Actor;
use super::super::tx::{NodeDraft, Tx, row_id};
use super::super::worlds;
use super::ArrangeReport;
use super::copies::{CopyOverride, CopySource};

/// The metadata key with the origins of merged operations, for SQL.
const MERGED_NODES: &str = "mergedNodes";
/// The number of rows in one statement.
const BATCH_SIZE: usize = 512;

/// The parameters of a merge.
pub struct MergeSpec<'a> {
    /// The leaf of the other branch.
    pub from: NodeId,
    /// The leaf of the branch that receives the merge.
    pub onto: NodeId,
    /// The messages to copy.
    pub nodes: &'a [NodeId],
    /// How to resolve conflicts.
    pub resolve: &'a BTreeMap<String, ConflictResolution>,
}

impl Tx<'_> {
    /// Merges what happened on another branch into this one.
    pub(super) fn merge(
        &mut self,
        actor: &Actor,
        stored: &StoredSession,
        ids: &IdGenerator,
        wanted: &MergeSpec<'_>,
        report: &mut ArrangeReport,
    ) -> Result<Vec<Effect>, WriteError> {
        // Read both sides since the fork.
        let from = self.branch_tip(stored, wanted.from, "fromLeafId")?;
        let onto = self.branch_tip(stored, wanted.onto, "ontoLeafId")?;
        let (theirs, ours) = (self.rows_since_fork(&onto, &from)?, self.rows_since_fork(&from, &onto)?);
        let run = self.chosen_run(stored, &theirs, wanted.nodes)?;
        // With a run, only what happened up to its end is merged.
        let last = run.last().or(theirs.last()).map_or(i64::MAX, |row| row.depth.into());
        let theirs: Vec<NodeRow> = theirs.into_iter().filter(|row| i64::from(row.depth) <= last).collect();
        let (theirs, ours) = (self.read_side(&theirs)?, self.read_side(&ours)?);
        if run.is_empty() && theirs.contains_all_of(&ours) {
            return Err(TreeError::NothingToMerge.into());
        }
        // Plan the merge, then write one merge node or the copies of the run.
        let settled = plan_merge(&theirs, &ours, &run, wanted.resolve)?;
        let (mut effects, result) = if run.is_empty() {
            let node = NodeId::new(ids.next_id(actor.at));
            let mut draft = NodeDraft::new(node, Role::System, Kind::Merge, ids.next_seed(), actor.at);
            let record = settled.parts.iter().map(|(_, carried, _)| *carried);
            *draft.metadata = merge_metadata(wanted.from, record);
            let operations =
                settled.parts.into_iter().flat_map(|(_, _, choices)| choices).chain(settled.sets).collect();
            draft.delta = Delta { operations, ..Delta::default() };
            draft.author = Some(actor.user);
            let row = self.insert(stored.n, stored.session.edits, Some(&onto), &draft)?;
            (vec![Effect::Added { node, parent: Some(wanted.onto) }], row)
        } else {
            let changed = self.copy_overrides(&run, settled, wanted.from)?;
            let originals = CopySource { session: stored, rows: run, overrides: changed };
            let (effects, mut copies) = self.copy_all(stored, &originals, &onto, ids, actor.at)?;
            (effects, copies.pop().ok_or(TreeError::NotFound("the message"))?)
        };
        // Move HEAD and following labels.
        let node = row_id(&result)?;
        report.nodes.push(node);
        if stored.head_n == onto.n {
            let way = self.remembered_edges(stored, &result)?;
            effects.extend(edit::move_head(Some(stored.session.head), node, &way));
        }
        effects.extend(self.move_following_labels(stored, onto.n, node)?);
        Ok(effects)
    }

    /// Returns the leaf of a branch, which must not be generating.
    fn branch_tip(&mut self, stored: &StoredSession, id: NodeId, field: &'static str) -> Result<NodeRow, WriteError> {
        let row = self.node_in_tree(stored, id, field)?;
        if row.status == Status::Generating.code() {
            return Err(TreeError::Generating.into());
        }
        Ok(row)
    }

    /// Returns the rows on the path to `to` since the fork from the path to `other`, oldest first.
    fn rows_since_fork(&mut self, other: &NodeRow, to: &NodeRow) -> Result<Vec<NodeRow>, StoreError> {
        let way = self.run(|conn| {
            ancestors::path_from_common_ancestor(conn, AncestorRow::from_row(other), AncestorRow::from_row(to))
        })?;
        let own = way.iter().rev().skip(1);
        own.map(|rung| self.row_by_number(rung.n)).collect()
    }

    /// Returns the run of the other branch whose messages are copied; empty if none was given.
    fn chosen_run(
        &mut self,
        stored: &StoredSession,
        theirs: &[NodeRow],
        ids: &[NodeId],
    ) -> Result<Vec<NodeRow>, WriteError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let run = self.run_of(stored, ids)?;
        let there: HashSet<i64> = theirs.iter().map(|row| row.n).collect();
        if run.iter().all(|row| there.contains(&row.n)) {
            return Ok(run);
        }
        let message = "expected messages of the other branch, after the fork".to_owned();
        Err(TreeError::Invalid { field: "nodeIds", message }.into())
    }

    /// Reads the operations of a branch that are not muted.
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

    /// Returns the operations and metadata of the copies of a run. Muted nodes are copied unchanged.
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
            for (_, carried, choices) in settled.parts.iter().filter(|(host, ..)| *host == row.n) {
                record.push(*carried);
                operations.extend(choices.iter().cloned());
            }
            if row.is_muted {
                let records = self.run(|conn| merge_records(conn, std::slice::from_ref(row)))?;
                for part in self.parts_of(row, records.get(&row.n))? {
                    record.push(MergedNodeRecord { origin: part.origin, operations: part.operations.len() });
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

/// What happened on one branch since the fork.
#[derive(Default)]
struct MergeSide {
    parts: Vec<MergePart>,
    /// The row that contains each part.
    hosts: Vec<i64>,
}

impl MergeSide {
    fn contains_all_of(&self, other: &Self) -> bool {
        merge_parts::origins(&self.parts).is_subset(&merge_parts::origins(&other.parts))
    }
}

/// The result of planning a merge.
struct MergePlan {
    /// For each part: the row that contains it, its origin, and its operations that apply here.
    parts: Vec<(i64, MergedNodeRecord, Vec<StateOperation>)>,
    /// Operations that resolve conflicts.
    sets: Vec<StateOperation>,
}

/// Selects the operations of the other branch that apply here: of all of it, or of a run.
fn plan_merge(
    theirs: &MergeSide,
    ours: &MergeSide,
    run: &[NodeRow],
    resolve: &BTreeMap<String, ConflictResolution>,
) -> Result<MergePlan, TreeError> {
    // Select the parts that are not on this branch yet.
    let (here, there) = (merge_parts::origins(&ours.parts), merge_parts::origins(&theirs.parts));
    let chosen: HashSet<i64> = run.iter().map(|row| row.n).collect();
    let is_chosen = |at: usize| chosen.is_empty() || theirs.hosts.get(at).is_some_and(|host| chosen.contains(host));
    let coming = merge_parts::select_operations(&theirs.parts, &here, is_chosen);
    let mut parts = Vec::new();
    for (at, ((part, comes), host)) in theirs.parts.iter().zip(coming).zip(&theirs.hosts).enumerate() {
        let done = part.operations.iter().zip(comes).filter(|(one, comes)| *comes && one.applies_on_other_branch());
        let done: Vec<StateOperation> = done.map(|(operation, _)| operation.clone()).collect();
        let is_new = !here.contains(&part.origin) || !chosen.is_empty();
        if is_chosen(at) && (is_new || !done.is_empty()) {
            parts.push((*host, part.origin, done));
        }
    }
    // Resolve the conflicts with the operations of this branch.
    let brought: Vec<StateOperation> = parts.iter().flat_map(|(.., done)| done.clone()).collect();
    let own = ours.parts.iter().filter(|part| !there.contains(&part.origin));
    let own: Vec<StateOperation> = own.flat_map(|part| part.operations.clone()).collect();
    let settled = merge::resolve_conflicts(&brought, &own, resolve).map_err(|unsettled| match unsettled {
        ResolutionError::Unresolved(open) => {
            TreeError::Diverged { conflicts: Value::Array(open.iter().map(MergeConflict::to_json).collect()) }
        }
        ResolutionError::NoSuchConflict(path) => {
            TreeError::Invalid { field: "resolve", message: format!("\"{path}\" is not a conflict") }
        }
    })?;
    let mut choices = settled.applies.into_iter();
    let mut hold = |(host, of, done): (i64, NodeId, Vec<StateOperation>)| {
        let held: Vec<StateOperation> = done.into_iter().filter(|_| choices.next().unwrap_or(false)).collect();
        (host, MergedNodeRecord { origin: of, operations: held.len() }, held)
    };
    Ok(MergePlan { parts: parts.into_iter().map(&mut hold).collect(), sets: settled.replacements })
}

/// Returns the metadata of a node that a merge made.
fn merge_metadata(from: NodeId, record: impl Iterator<Item = MergedNodeRecord>) -> NodeMetadata {
    NodeMetadata { merged_from: Some(from), merged_nodes: Some(record.collect()), ..NodeMetadata::default() }
}

/// Returns the recorded origins of those rows that a merge made.
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
            let parsed: NodeMetadata = metadata_from_text(&metadata).ok_or_else(bad)?;
            records.insert(n, parsed.merged_nodes.unwrap_or_default());
        }
    }
    Ok(records)
}
