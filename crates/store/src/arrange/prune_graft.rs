//! Prunes parts of a tree and grafts them elsewhere.

use clotho_core::clock::Time;
use clotho_core::ids::{FragmentId, NodeId};
use clotho_core::oplog::{Effect, FragmentInfo};
use clotho_core::tree::arrange::{self, EditTarget};
use clotho_core::tree::edit::{self, TreeError};
use clotho_core::tree::{Kind, Status};

use super::super::ancestors::{self, AncestorRow};
use super::super::error::WriteError;
use super::super::rows::NodeRow;
use super::super::stored::StoredSession;
use super::super::tx::{Tx, row_id};
use super::stash::FragmentRow;

impl Tx<'_> {
    /// Returns a node in the tree that the request names.
    pub(super) fn node_in_tree(
        &mut self,
        stored: &StoredSession,
        id: NodeId,
        field: &'static str,
    ) -> Result<NodeRow, WriteError> {
        let row = self.any_row(stored, id)?;
        match row {
            Some(row) if !row.is_hidden => Ok(row),
            Some(row) if row.fragment_n.is_some() => Err(TreeError::InStash.into()),
            _ => Err(TreeError::ReferenceNotFound { what: "the message", field }.into()),
        }
    }

    /// Returns a node that may be moved: not the root, and without a reply being generated at or below it.
    pub(in super::super) fn movable_node(&mut self, stored: &StoredSession, id: NodeId) -> Result<NodeRow, WriteError> {
        let row = self.node_in_tree(stored, id, "nodeId")?;
        if row.kind == Kind::Root.code() {
            return Err(TreeError::Conflict("the root cannot be moved".into()).into());
        }
        if row.status == Status::Generating.code() || self.is_generating_below(stored, &row)? {
            return Err(TreeError::Generating.into());
        }
        Ok(row)
    }

    /// Returns a node below which something may be grafted.
    pub(super) fn graft_target(&mut self, stored: &StoredSession, id: NodeId) -> Result<NodeRow, WriteError> {
        let row = self.node_in_tree(stored, id, "targetId")?;
        if row.status == Status::Generating.code() {
            return Err(TreeError::Generating.into());
        }
        Ok(row)
    }

    /// Prunes a node with everything below it. If HEAD is in there, it moves to the parent
    /// (`docs/domain.md` 2.10).
    pub(super) fn prune(
        &mut self,
        stored: &StoredSession,
        id: NodeId,
        fragment: FragmentId,
        name: Option<&str>,
        since: Time,
    ) -> Result<Vec<Effect>, WriteError> {
        let row = self.movable_node(stored, id)?;
        let name = name.map(|name| arrange::validate_name("name", name)).transpose()?;
        let mut effects = vec![Effect::Detached { node: id, fragment: FragmentInfo { fragment, name, since } }];
        if let Some(parent_n) = row.parent_n
            && self.contains_head(stored, &row)?
        {
            let parent = self.row_by_number(parent_n)?;
            effects.extend(edit::move_head(Some(stored.session.head), row_id(&parent)?, &[]));
        }
        Ok(effects)
    }

    /// Returns whether HEAD is at a node or below it.
    pub(super) fn contains_head(&mut self, stored: &StoredSession, row: &NodeRow) -> Result<bool, WriteError> {
        let head_n = stored.head_n;
        Ok(self.run(|conn| ancestors::ancestor_at(conn, head_n, row.depth))? == Some(row.n))
    }

    /// Grafts a piece below another node. A fragment without a target returns to its old place.
    pub(super) fn graft(
        &mut self,
        stored: &StoredSession,
        piece: EditTarget,
        target: Option<NodeId>,
    ) -> Result<Vec<Effect>, WriteError> {
        match piece {
            EditTarget::Node(id) => {
                let row = self.movable_node(stored, id)?;
                let target = target
                    .ok_or(TreeError::Invalid { field: "targetId", message: "expected the new parent".into() })?;
                let to = self.graft_target(stored, target)?;
                if self.run(|conn| ancestors::ancestor_at(conn, to.n, row.depth))? == Some(row.n) {
                    return Err(TreeError::Cycle.into());
                }
                self.reparent_effects(stored, &row, &to)
            }
            EditTarget::Fragment(id) => {
                let fragment = self.fragment(stored, id, "fragmentId")?;
                let row = self.row_by_number(fragment.top_n)?;
                let to = match target {
                    Some(target) => self.graft_target(stored, target)?,
                    None => self.fragment_origin(&row)?,
                };
                let mut effects = self.reparent_effects(stored, &row, &to)?;
                effects.push(Effect::Attached { node: row_id(&row)?, fragment: fragment.to_info(id) });
                Ok(effects)
            }
        }
    }

    /// Returns the old parent of a fragment, if it is in the tree.
    fn fragment_origin(&mut self, row: &NodeRow) -> Result<NodeRow, WriteError> {
        let parent = row.parent_n.map(|n| self.row_by_number(n)).transpose()?.filter(|parent| !parent.is_hidden);
        let gone = "its former parent is not in the tree any more: choose another parent";
        Ok(parent.ok_or_else(|| TreeError::Conflict(gone.into()))?)
    }

    /// Returns the effects of moving a node below another parent; empty if it is already there. The old parent
    /// no longer remembers it. If HEAD is in the moved part, the remembered path leads through it.
    pub(in super::super) fn reparent_effects(
        &mut self,
        stored: &StoredSession,
        row: &NodeRow,
        to: &NodeRow,
    ) -> Result<Vec<Effect>, WriteError> {
        let Some(old_n) = row.parent_n.filter(|n| *n != to.n) else { return Ok(Vec::new()) };
        let (node, old) = (row_id(row)?, self.row_by_number(old_n)?);
        let mut effects = vec![Effect::Moved { node, from: row_id(&old)?, to: row_id(to)? }];
        if old.remembered_n == Some(row.n) {
            effects.push(Effect::Remembered { node: row_id(&old)?, from: Some(node), to: None });
        }
        if self.contains_head(stored, row)? {
            effects.extend(self.remember_path_to(stored, row, to)?);
        }
        Ok(effects)
    }

    /// Returns the effects that make each fork on the new path remember the moved part.
    fn remember_path_to(
        &mut self,
        stored: &StoredSession,
        row: &NodeRow,
        to: &NodeRow,
    ) -> Result<Vec<Effect>, WriteError> {
        let Some(old_n) = row.parent_n else { return Ok(Vec::new()) };
        let old = AncestorRow::from_row(&self.row_by_number(old_n)?);
        let up = self.run(|conn| ancestors::path_from_common_ancestor(conn, old, AncestorRow::from_row(to)))?;
        let mut way: Vec<(AncestorRow, i64)> = vec![(AncestorRow::from_row(to), row.n)];
        way.extend(up.iter().zip(up.iter().skip(1)).map(|(child, parent)| (*parent, child.n)));
        let mut edges = Vec::with_capacity(way.len());
        for (mut parent, child_n) in
            way.into_iter().rev().filter(|(parent, child_n)| parent.remembered_n != Some(*child_n))
        {
            // The effect that clears this remembered child was added before.
            if parent.n == old.n && parent.remembered_n == Some(row.n) {
                parent.remembered_n = None;
            }
            edges.push(self.edge(&parent, child_n)?);
        }
        Ok(edit::move_head(Some(stored.session.head), stored.session.head, &edges))
    }

    /// Renames a fragment.
    pub(super) fn rename_fragment(
        &mut self,
        stored: &StoredSession,
        id: FragmentId,
        name: Option<&str>,
    ) -> Result<Vec<Effect>, WriteError> {
        let FragmentRow { name: from, .. } = self.fragment(stored, id, "fragmentId")?;
        let to = name.map(|name| arrange::validate_name("name", name)).transpose()?;
        let renamed = Effect::Renamed { fragment: id, from: from.clone(), to: to.clone() };
        Ok(if from == to { Vec::new() } else { vec![renamed] })
    }
}
