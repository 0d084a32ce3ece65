//! A merge: what happened on another line since the two parted is brought over, alone or with its messages. Nodes keep one
//! parent; what comes says from where.

use std::collections::{BTreeMap, HashMap, HashSet};

use diesel::prelude::*;
use serde_json::{Map, Value};

use crate::clock::Ids;
use crate::ids::NodeId;
use crate::oplog::Effect;
use crate::tree::edit::{self, Refusal};
use crate::tree::merge::{self, Brought, Conflict, Resolution, Unsettled};
use crate::tree::{Delta, Kind, Role, Status};
use crate::world::Operation;

use super::super::acts::Actor;
use super::super::climb::{self, Rung};
use super::super::conn::Conn;
use super::super::error::{StoreError, WriteError};
use super::super::held::Held;
use super::super::rows::{NodeRow, object};
use super::super::tables::{nodes, texts};
use super::super::tx::{Draft, Tx, row_id};
use super::super::worlds;
use super::Made;
use super::copies::Originals;

/// Where the metadata of what a merge made names the end of the other line.
const MERGED_FROM: &str = "mergedFrom";
/// Where that of a `merge` node names what it carries.
const MERGED_NODES: &str = "mergedNodes";
/// So many nodes are looked at in one question.
const LOOKED_AT: usize = 512;

/// A merge as it was asked for.
pub struct Wanted<'a> {
    /// The end of the other line.
    pub from: NodeId,
    /// The end of the line that goes on.
    pub onto: NodeId,
    /// The messages to bring along.
    pub nodes: &'a [NodeId],
    /// What becomes of the conflicts.
    pub resolve: &'a BTreeMap<String, Resolution>,
}

impl Tx<'_> {
    /// What happened on another line is brought over to this one.
    pub(super) fn merge(
        &mut self,
        (actor, ids): (&Actor, &Ids),
        held: &Held,
        wanted: &Wanted<'_>,
        made: &mut Made,
    ) -> Result<Vec<Effect>, WriteError> {
        let from = self.line_end(held, wanted.from, "fromLeafId")?;
        let onto = self.line_end(held, wanted.onto, "ontoLeafId")?;
        let (theirs, ours) = (self.since_parting(&onto, &from)?, self.since_parting(&from, &onto)?);
        let (theirs, ours) = self.apart(held, theirs, ours)?;
        if theirs.is_empty() {
            return Err(Refusal::Conflict("all of that line is on this one already".into()).into());
        }
        let theirs = self.brought(held, theirs, wanted.nodes)?;
        let (done, ours) = (self.done_by(&theirs)?, self.done_by(&ours)?);
        let settled = settle(&done, &ours, wanted.resolve)?;
        let mut metadata = Map::new();
        metadata.insert(MERGED_FROM.into(), wanted.from.to_string().into());
        let (mut effects, result) = if wanted.nodes.is_empty() {
            let node = NodeId::new(ids.next(actor.at));
            let mut draft = Draft::new(node, Role::System, Kind::Merge, ids.seed(), actor.at);
            let nodes: Vec<Value> =
                theirs.iter().map(|row| Ok(row_id(row)?.to_string().into())).collect::<Result<_, StoreError>>()?;
            metadata.insert(MERGED_NODES.into(), nodes.into());
            let operations = settled.into_iter().flat_map(|(_, operations)| operations).collect();
            draft.delta = Delta { operations, ..Delta::default() };
            (draft.author, draft.metadata) = (Some(actor.user), metadata);
            let row = self.insert(held.n, held.session.edits, Some(&onto), &draft)?;
            (vec![Effect::Added { node, parent: Some(wanted.onto) }], row)
        } else {
            let operations: HashMap<i64, Vec<Operation>> = settled.into_iter().collect();
            let originals = Originals { session: held, rows: theirs, operations, metadata };
            let (effects, mut copies) = self.copy_all(held, &originals, &onto, (ids, actor.at))?;
            (effects, copies.pop().ok_or(Refusal::NotFound("the message"))?)
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
    fn line_end(&mut self, held: &Held, id: NodeId, field: &'static str) -> Result<NodeRow, WriteError> {
        let row = self.standing(held, id, field)?;
        if row.status == Status::Generating.code() {
            return Err(Refusal::Generating.into());
        }
        Ok(row)
    }

    /// What is on the way to `to` since it parted from the way to `other`, the oldest first.
    fn since_parting(&mut self, other: &NodeRow, to: &NodeRow) -> Result<Vec<NodeRow>, StoreError> {
        let way = self.run(|conn| climb::up_to_meeting(conn, Rung::of(other), Rung::of(to)))?;
        let own = way.iter().rev().skip(1);
        own.map(|rung| self.row_n(rung.n)).collect()
    }

    /// What each of two lines has that the other does not have, also not by an earlier merge.
    fn apart(
        &mut self,
        held: &Held,
        theirs: Vec<NodeRow>,
        ours: Vec<NodeRow>,
    ) -> Result<(Vec<NodeRow>, Vec<NodeRow>), StoreError> {
        let ids = |rows: &[NodeRow]| rows.iter().map(row_id).collect::<Result<Vec<_>, _>>();
        let (their_ids, our_ids) = (ids(&theirs)?, ids(&ours)?);
        let brought = self.run(|conn| brought_to(conn, held.n, their_ids.iter().chain(&our_ids)))?;
        let lacking = |rows: Vec<NodeRow>, side: &[NodeId], other: &[NodeId]| {
            let lacking = merge::lacking(side, other, &brought);
            rows.into_iter().zip(side).filter(|(_, id)| lacking.contains(id)).map(|(row, _)| row).collect::<Vec<_>>()
        };
        Ok((lacking(theirs, &their_ids, &our_ids), lacking(ours, &our_ids, &their_ids)))
    }

    /// What is brought over: everything, or a run of it.
    fn brought(&mut self, held: &Held, theirs: Vec<NodeRow>, ids: &[NodeId]) -> Result<Vec<NodeRow>, WriteError> {
        if ids.is_empty() {
            return Ok(theirs);
        }
        let run = self.run_of(held, ids)?;
        let there: HashSet<i64> = theirs.iter().map(|row| row.n).collect();
        if run.iter().all(|row| there.contains(&row.n)) {
            return Ok(run);
        }
        let message = "messages of the other line are expected that this one does not have yet".to_owned();
        Err(Refusal::Invalid { field: "nodeIds", message }.into())
    }

    /// What each of some nodes does to the world, where that counts.
    fn done_by(&mut self, rows: &[NodeRow]) -> Result<Vec<(i64, Vec<Operation>)>, StoreError> {
        let counting = rows.iter().filter(|row| !row.is_muted);
        counting.map(|row| Ok((row.n, self.run(|conn| worlds::delta(conn, row.n, row.revision))?.operations))).collect()
    }
}

/// What earlier merges brought to some nodes of a session, and to what they brought.
fn brought_to<'a>(
    conn: &mut Conn,
    session_n: i64,
    ids: impl Iterator<Item = &'a NodeId>,
) -> Result<Brought, StoreError> {
    let mut brought = Brought::new();
    let mut seen: HashSet<NodeId> = ids.copied().collect();
    let mut open: Vec<NodeId> = seen.iter().copied().collect();
    while !open.is_empty() {
        let mut next = Vec::new();
        for chunk in open.chunks(LOOKED_AT) {
            let names = chunk.iter().map(|id| id.as_bytes().to_vec());
            let merged = nodes::table.inner_join(texts::table.on(texts::n.eq(nodes::n)));
            let merged = merged.filter(nodes::session_n.eq(session_n)).filter(nodes::id.eq_any(names));
            let by_a_merge = texts::metadata.like(format!("%\"{MERGED_FROM}\"%"));
            let merged = merged.filter(nodes::kind.eq(Kind::Merge.code()).or(by_a_merge));
            let found: Vec<(i64, Vec<u8>, String)> =
                merged.select((nodes::n, nodes::id, texts::metadata)).load(conn)?;
            for (n, id, metadata) in found {
                let bad = |column| StoreError::Inconsistent { table: "texts", column, row: n };
                let id = NodeId::from_slice(&id).ok_or_else(|| bad("id"))?;
                let originals = originals(&object(&metadata).ok_or_else(|| bad("metadata"))?);
                next.extend(originals.iter().copied().filter(|original| seen.insert(*original)));
                brought.insert(id, originals);
            }
        }
        open = next;
    }
    Ok(brought)
}

/// What a merge carries; of a message that came over by one, its original.
fn originals(metadata: &Map<String, Value>) -> Vec<NodeId> {
    let id = |value: &Value| value.as_str()?.parse().ok();
    if !metadata.contains_key(MERGED_FROM) {
        return Vec::new();
    }
    match metadata.get(MERGED_NODES).and_then(Value::as_array) {
        Some(nodes) => nodes.iter().filter_map(id).collect(),
        None => metadata.get("provenance").and_then(|from| id(from.get("nodeId")?)).into_iter().collect(),
    }
}

/// What holds of theirs, node by node; what a conflict was settled with comes last.
fn settle(
    theirs: &[(i64, Vec<Operation>)],
    ours: &[(i64, Vec<Operation>)],
    resolve: &BTreeMap<String, Resolution>,
) -> Result<Vec<(i64, Vec<Operation>)>, Refusal> {
    let flat = |side: &[(i64, Vec<Operation>)]| side.iter().flat_map(|(_, done)| done.clone()).collect::<Vec<_>>();
    let settled = merge::settle(&flat(theirs), &flat(ours), resolve).map_err(|unsettled| match unsettled {
        Unsettled::Open(open) => {
            Refusal::Diverged { conflicts: Value::Array(open.iter().map(Conflict::to_json).collect()) }
        }
        Unsettled::Needless(path) => {
            Refusal::Invalid { field: "resolve", message: format!("\"{path}\" is no conflict") }
        }
    })?;
    let mut kept = settled.kept.into_iter();
    let mut brought: Vec<(i64, Vec<Operation>)> = theirs
        .iter()
        .map(|(n, done)| (*n, done.iter().filter(|_| kept.next().unwrap_or(false)).cloned().collect()))
        .collect();
    if let Some((_, last)) = brought.last_mut() {
        last.extend(settled.sets);
    }
    Ok(brought)
}
