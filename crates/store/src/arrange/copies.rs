//! Copies a part of a tree or a fragment, also from another session of the same owner. A copy has new ids and a
//! new place. Its texts, deltas, seeds and traces are those of the original, and its metadata names the
//! original.

use std::collections::{BTreeMap, HashMap};

use diesel::prelude::*;
use diesel::sql_types::BigInt;
use serde_json::{Map, Value};

use clotho_core::clock::{IdGenerator, Time};
use clotho_core::ids::{NodeId, SessionId};
use clotho_core::oplog::Effect;
use clotho_core::tree::edit::TreeError;
use clotho_core::tree::reply_facts::Provenance;
use clotho_core::tree::{Delta, EditTarget, NodeMetadata};
use clotho_core::world::{StateChange, StateOperation, WorldSection};

use super::super::ancestors;
use super::super::conn::{Conn, IdBytes};
use super::super::error::{StoreError, WriteError};
use super::super::prepared::prepared;
use super::super::read::pad_to_power_of_two;
use super::super::rows::{NewTextRow, NodeRow, TextRow, object_from_text, object_to_text};
use super::super::stored::StoredSession;
use super::super::tables::{nodes, texts};
use super::super::tree_writes::Actor;
use super::super::tx::{Tx, row_id, starts_turn};
use super::super::{traces, worlds};
use super::ArrangeReport;

/// The maximum number of nodes that one list of edits may copy, because other writes wait meanwhile.
pub const MAX_COPIES: usize = 20_000;

/// The parameters of a copy.
pub struct CopySpec<'a> {
    /// The session of the piece.
    pub source: &'a StoredSession,
    pub piece: EditTarget,
    /// The node below which the copy goes.
    pub target: NodeId,
}

/// The nodes to copy.
pub struct CopySource<'a> {
    /// The session of the nodes.
    pub session: &'a StoredSession,
    /// Parents before their children, otherwise in the order of creation.
    pub rows: Vec<NodeRow>,
    /// Changes of copies, by the row of the original.
    pub overrides: HashMap<i64, CopyOverride>,
}

/// How a copy differs from its original.
pub struct CopyOverride {
    /// Its operations on the state.
    pub operations: Vec<StateOperation>,
    /// Additional metadata.
    pub metadata: NodeMetadata,
}

/// The copies by their originals.
struct CopyIds {
    ids: HashMap<NodeId, NodeId>,
    /// The rows of the copies, by the rows of the originals.
    rows: HashMap<i64, NodeRow>,
}

#[derive(QueryableByName)]
struct SubtreeRow {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

impl Tx<'_> {
    /// Returns a session of the caller that the request names as the source.
    pub(super) fn source_session(&mut self, actor: &Actor, id: SessionId) -> Result<StoredSession, WriteError> {
        let missing = TreeError::ReferenceNotFound { what: "the session", field: "fromSessionId" };
        self.session(actor.user, id).map_err(|error| match error {
            WriteError::Refused(TreeError::NotFound(_)) => missing.into(),
            other => other,
        })
    }

    /// Plans and writes a copy of a piece below a node; returns its effects. Reports the top of the copy, and
    /// what the rules there refuse of a copy from another session.
    pub(super) fn copy(
        &mut self,
        stored: &StoredSession,
        wanted: &CopySpec<'_>,
        ids: &IdGenerator,
        at: Time,
        report: &mut ArrangeReport,
    ) -> Result<Vec<Effect>, WriteError> {
        let CopySpec { source, piece, target } = *wanted;
        // Check the target and collect the rows.
        let to = self.graft_target(stored, target)?;
        let rows = self.piece_rows(source, piece)?;
        if let Some(top) = rows.first().filter(|top| top.session_n == stored.n && !top.is_hidden)
            && self.run(|conn| ancestors::ancestor_at(conn, to.n, top.depth))? == Some(top.n)
        {
            return Err(TreeError::Cycle.into());
        }
        // Copy them, then report what the rules of another session refuse.
        let originals = CopySource { session: source, rows, overrides: HashMap::new() };
        let (effects, copies) = self.copy_all(stored, &originals, &to, ids, at)?;
        let top = copies.first().map(row_id).transpose()?;
        report.nodes.push(top.ok_or(TreeError::NotFound("the message"))?);
        if source.n != stored.n {
            let muted = originals.rows.iter().map(|row| row.is_muted);
            report.refusals.extend(self.copy_refusals(
                stored,
                &to,
                &copies.into_iter().zip(muted).collect::<Vec<_>>(),
            )?);
        }
        Ok(effects)
    }

    /// Returns all rows of a piece: those at and below a node, or those of a fragment.
    fn piece_rows(&mut self, source: &StoredSession, piece: EditTarget) -> Result<Vec<NodeRow>, WriteError> {
        let (top_n, mut all) = match piece {
            EditTarget::Node(id) => {
                let top_n = self.movable_node(source, id)?.n;
                (top_n, self.run(|conn| subtree_rows(conn, top_n))?)
            }
            EditTarget::Fragment(id) => {
                let fragment = self.fragment(source, id, "fragmentId")?;
                let lying = nodes::table.filter(nodes::fragment_n.eq(fragment.n)).select(nodes::n);
                (fragment.top_n, self.run(|conn| Ok(lying.load(conn)?))?)
            }
        };
        if all.len() > MAX_COPIES {
            let message = format!("a list of edits copies at most {MAX_COPIES} messages");
            return Err(TreeError::TooLarge { message, most: MAX_COPIES }.into());
        }
        all.sort_unstable();
        let mut rows: Vec<NodeRow> = Vec::with_capacity(all.len());
        for chunk in all.chunks(512) {
            let some = nodes::table.filter(nodes::n.eq_any(pad_to_power_of_two(chunk))).select(NodeRow::as_select());
            rows.extend(self.run(|conn| Ok(prepared(some).load::<NodeRow>(conn)?))?);
        }
        Ok(parents_first(rows, top_n))
    }

    /// Copies rows below a node in O(k); returns the effects and the rows of the copies. No world is folded;
    /// keyframes that are due are cut at the first read.
    pub(super) fn copy_all(
        &mut self,
        stored: &StoredSession,
        originals: &CopySource<'_>,
        to: &NodeRow,
        ids: &IdGenerator,
        at: Time,
    ) -> Result<(Vec<Effect>, Vec<NodeRow>), StoreError> {
        let mut names = CopyIds { ids: HashMap::new(), rows: HashMap::new() };
        for row in &originals.rows {
            names.ids.insert(row_id(row)?, NodeId::new(ids.next_id(at)));
        }
        let mut effects = Vec::with_capacity(originals.rows.len());
        let mut copies = Vec::with_capacity(originals.rows.len());
        for row in &originals.rows {
            let above = row.parent_n.and_then(|n| names.rows.get(&n)).unwrap_or(to).clone();
            let copy = self.copy_one(stored, originals, row, &above, &names.ids)?;
            effects.push(Effect::Added { node: row_id(&copy)?, parent: Some(row_id(&above)?) });
            names.rows.insert(row.n, copy.clone());
            copies.push(copy);
        }
        for row in &originals.rows {
            effects.extend(overlay_effects(row, &names)?);
        }
        let places: HashMap<i64, i64> = names.rows.iter().map(|(n, copy)| (*n, copy.n)).collect();
        self.run(|conn| originals.rows.iter().try_for_each(|row| traces::copy(conn, row.n, &places)))?;
        Ok((effects, copies))
    }

    fn copy_one(
        &mut self,
        stored: &StoredSession,
        originals: &CopySource<'_>,
        row: &NodeRow,
        above: &NodeRow,
        ids: &HashMap<NodeId, NodeId>,
    ) -> Result<NodeRow, StoreError> {
        // The delta, with the ids of the copies.
        let mut delta = self.run(|conn| worlds::delta(conn, row.n, row.revision))?;
        let changed = originals.overrides.get(&row.n);
        if let Some(changed) = changed {
            delta.operations.clone_from(&changed.operations);
        }
        rename_ids_in_delta(&mut delta, ids);
        // The texts and the metadata, with the provenance.
        let text: TextRow =
            self.run(|conn| Ok(prepared(texts::table.find(row.n).select(TextRow::as_select())).get_result(conn)?))?;
        let read = object_from_text(&text.metadata);
        let bad = StoreError::Inconsistent { table: "texts", column: "metadata", row: row.n };
        let mut metadata = self.run(|_| read.ok_or(bad))?;
        metadata.values_mut().for_each(|value| rename_ids(value, ids));
        metadata.extend(changed.into_iter().flat_map(|changed| Map::from(changed.metadata.clone())));
        let original = row_id(row)?;
        let provenance = Provenance::of_copy(metadata.get("provenance"), originals.session.session.id, original);
        metadata.insert("provenance".into(), provenance);
        let id = ids.get(&original).copied().unwrap_or(original);
        // Write all of it.
        let copy = self.row_of_copy(stored, row, above, id, &delta)?;
        let text = NewTextRow {
            n: copy.n,
            name: text.name.as_deref(),
            content: &text.content,
            reasoning: text.reasoning.as_deref(),
            metadata: object_to_text(&metadata),
        };
        self.write_node(&copy, &text)?;
        self.writer_cache.keep_new_node(&copy);
        self.write_delta(copy.n, copy.revision, &delta)?;
        Ok(copy)
    }

    /// Returns the row of a copy: the original's facts, and the derived columns of its new place.
    fn row_of_copy(
        &mut self,
        stored: &StoredSession,
        row: &NodeRow,
        above: &NodeRow,
        id: NodeId,
        delta: &Delta,
    ) -> Result<NodeRow, StoreError> {
        let (n, is_first) = self.next_node_number(above.n)?;
        self.count_changes.nodes += 1;
        self.count_changes.leaves += i64::from(!is_first);
        let mut copy = NodeRow {
            n,
            id: IdBytes::new(id.as_bytes()),
            session_n: stored.n,
            parent_n: Some(above.n),
            is_enabled: true,
            is_muted: false,
            is_hidden: false,
            is_unread: false,
            remembered_n: None,
            rating: None,
            depth: above.depth + 1,
            turn: above.turn + i32::from(starts_turn(row.role, row.kind)),
            since_keyframe: above.since_keyframe + 1,
            rules_n: if row.begins_rules { row.rules_n } else { above.rules_n },
            revision: i32::from(!delta.is_empty()),
            fragment_n: None,
            ..row.clone()
        };
        if self.is_keyframe_due(&copy) {
            copy.since_keyframe = 0;
        }
        Ok(copy)
    }
}

/// Returns the rows at and below a node.
fn subtree_rows(conn: &mut Conn, top_n: i64) -> Result<Vec<i64>, StoreError> {
    let query = diesel::sql_query(
        "WITH RECURSIVE below (n) AS (SELECT n FROM nodes WHERE n = $1 UNION ALL \
           SELECT c.n FROM below JOIN nodes c ON c.parent_n = below.n AND NOT c.is_hidden) SELECT n FROM below",
    );
    let rows: Vec<SubtreeRow> = prepared(query.bind::<BigInt, _>(top_n)).load(conn)?;
    Ok(rows.into_iter().map(|row| row.n).collect())
}

/// Sorts parents before their children, otherwise by row, so that siblings keep their order.
fn parents_first(rows: Vec<NodeRow>, top_n: i64) -> Vec<NodeRow> {
    let mut order = Vec::with_capacity(rows.len());
    let mut below: HashMap<i64, Vec<NodeRow>> = HashMap::new();
    let mut next = BTreeMap::new();
    for row in rows {
        match row.parent_n.filter(|_| row.n != top_n) {
            Some(parent_n) => below.entry(parent_n).or_default().push(row),
            None => _ = next.insert(row.n, row),
        }
    }
    while let Some((n, row)) = next.pop_first() {
        next.extend(below.remove(&n).into_iter().flatten().map(|row| (row.n, row)));
        order.push(row);
    }
    order
}

/// Returns the effects that give a copy the overlay of its original.
fn overlay_effects(row: &NodeRow, names: &CopyIds) -> Result<Vec<Effect>, StoreError> {
    let Some(copy) = names.rows.get(&row.n) else { return Ok(Vec::new()) };
    let node = row_id(copy)?;
    let mut effects = Vec::new();
    if !row.is_enabled {
        effects.push(Effect::Enabled { node, to: false });
    }
    if row.is_muted {
        effects.push(Effect::Muted { node, to: true });
    }
    if let Some(stars) = row.rating.and_then(|stars| u8::try_from(stars).ok()) {
        effects.push(Effect::Rated { node, from: None, to: Some(stars) });
    }
    if let Some(child) = row.remembered_n.and_then(|n| names.rows.get(&n)) {
        effects.push(Effect::Remembered { node, from: None, to: Some(row_id(child)?) });
    }
    Ok(effects)
}

/// Replaces node ids in events and timers by the ids of their copies.
fn rename_ids_in_delta(delta: &mut Delta, ids: &HashMap<NodeId, NodeId>) {
    for operation in delta.operations.iter_mut().filter(|operation| operation.section != WorldSection::Vars) {
        match &mut operation.change {
            StateChange::Set(value)
            | StateChange::Append(value)
            | StateChange::Take(value)
            | StateChange::Insert { value, .. } => {
                rename_ids(value, ids);
            }
            StateChange::Add(_) | StateChange::Remove | StateChange::Move { .. } => {}
        }
    }
}

fn rename_ids(value: &mut Value, ids: &HashMap<NodeId, NodeId>) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => {
                if let Some(copy) = text.parse().ok().and_then(|id: NodeId| ids.get(&id)) {
                    *text = copy.to_string();
                }
            }
            Value::Array(list) => open.extend(list.iter_mut()),
            Value::Object(map) => open.extend(map.values_mut()),
            _ => {}
        }
    }
}
