//! Undo and redo (`docs/domain.md` 2.15). A step is one request of an actor in a session. The end of a reply
//! belongs to the step that requested it; checkouts and imports are no steps. Undo and redo append an operation
//! and remove nothing from the log. They apply the inverse of each effect that is in force, and refuse if its
//! target has changed.
//!
//! To make another effect undoable: add its inverse in `oplog.rs`, and its precondition in [`Tx::check_effect`].

use std::collections::{HashMap, HashSet};

use diesel::prelude::*;

use clotho_core::ids::{NodeId, SessionId, UserId};
use clotho_core::oplog::{Effect, LabelTarget, Operation, OperationKind};
use clotho_core::tree::edit::{self, TreeError};
use clotho_core::tree::{Kind, Status};

use super::ancestors;
use super::arrange::NodeWorldDiff;
use super::error::{StoreError, WriteError};
use super::prepared::prepared;
use super::rows::{NodeRow, OperationRow};
use super::session_settings::{are_list_effects, setting_value};
use super::stored::StoredSession;
use super::tables::operations;
use super::tree_writes::{Actor, check_expected_version};
use super::tx::{OperationDraft, Tx, has_other_child, row_id};

/// The number of log entries that are read at once.
const BATCH_SIZE: i64 = 64;

/// The result of an undo or redo.
#[derive(Debug, Clone)]
pub struct UndoResult {
    /// The number of the undo or redo itself.
    pub op: i64,
    /// The operation that began the step.
    pub step: i64,
    /// The kind of the step.
    pub kind: OperationKind,
    /// The new HEAD.
    pub head: NodeId,
    /// How the state changed at HEAD, at labels and at the tops of moved parts.
    pub worlds: Vec<NodeWorldDiff>,
}

/// A log entry without its effects.
#[derive(Debug, Clone, Copy)]
struct UndoLogEntry {
    op: i64,
    step: i64,
    kind: OperationKind,
    is_own: bool,
}

/// The columns of an entry: number, step, kind, actor and row.
type UndoLogColumns = (i64, i64, String, Option<Vec<u8>>, i64);

/// One step, read from the log.
struct UndoStep {
    kind: OperationKind,
    /// Its original effects, including the ends of its replies.
    effects: Vec<Effect>,
    /// The effects in force: the original ones, or those of its last undo or redo.
    current_effects: Vec<Effect>,
    number: i64,
}

impl Tx<'_> {
    /// Undoes the actor's newest step.
    ///
    /// # Errors
    /// Returns an error if there is none, a later change depends on it, or one of its replies is generating.
    /// Also if HEAD is not where the actor saw it.
    pub fn undo(&mut self, actor: &Actor, session: SessionId) -> Result<UndoResult, WriteError> {
        self.all_or_nothing(|tx| tx.undo_or_redo(actor, session, OperationKind::Undo))
    }

    /// Redoes the step that the actor undid last, unless a newer step prevents it.
    ///
    /// # Errors
    /// Returns an error as [`Tx::undo`] does.
    pub fn redo(&mut self, actor: &Actor, session: SessionId) -> Result<UndoResult, WriteError> {
        self.all_or_nothing(|tx| tx.undo_or_redo(actor, session, OperationKind::Redo))
    }

    fn undo_or_redo(
        &mut self,
        actor: &Actor,
        session: SessionId,
        act: OperationKind,
    ) -> Result<UndoResult, WriteError> {
        let mut stored = self.session(actor.user, session)?;
        check_expected_version(&stored, actor.expected_leaf)?;
        // Find the step.
        let mut is_barred = false;
        let number = match act {
            OperationKind::Redo => self.last_undone_step(&stored, actor.user, &mut is_barred)?,
            _ => self.newest_step(&stored, actor.user, &mut is_barred)?,
        };
        let nothing = if is_barred { TreeError::NothingSincePurge } else { TreeError::NothingToRevert };
        let number = number.ok_or(nothing(act.as_str()))?;
        let step = self.step(&stored, number)?;
        self.check_no_later_change(&stored, actor.user, &step)?;
        // Apply the inverse effects, newest first.
        let mut baseline = self.world_baseline(&stored, true)?;
        let mut effects = Vec::new();
        for effect in step.current_effects.iter().rev().filter_map(plain_inverse) {
            let Some(effect) = self.adjust_label_effect(&stored, effect)? else { continue };
            self.check_effect(&stored, &step, &effect)?;
            let plan = self.with_remembered_children(&stored, effect)?;
            self.add_moved_to_baseline(&stored, &mut baseline, &plan)?;
            self.apply_effects(&mut stored, &plan)?;
            effects.extend(plan);
        }
        // Move HEAD and log one operation.
        let plan = self.head_effects(&stored, &step, act)?;
        self.apply_effects(&mut stored, &plan)?;
        effects.extend(plan);
        let at = if are_list_effects(&effects) { stored.session.updated } else { actor.at };
        let entry = OperationDraft { kind: act, actor: Some(actor.user), at, step: Some(number), effects };
        let op = self.append_operation(&mut stored, entry)?;
        let worlds = self.world_diffs(&stored, baseline)?;
        Ok(UndoResult { op, step: number, kind: step.kind, head: stored.session.head, worlds })
    }

    /// Returns the actor's newest step that is not undone. Purged data cannot come back, so the search stops at
    /// a purge.
    fn newest_step(
        &mut self,
        stored: &StoredSession,
        user: UserId,
        is_barred: &mut bool,
    ) -> Result<Option<i64>, StoreError> {
        let mut is_undone: HashMap<i64, bool> = HashMap::new();
        self.scan_log_backwards(stored, user, |line| match line.kind {
            OperationKind::Purge | OperationKind::Begin => {
                *is_barred = line.kind == OperationKind::Purge;
                Some(None)
            }
            _ if !line.is_own => None,
            OperationKind::Undo => {
                is_undone.entry(line.step).or_insert(true);
                None
            }
            OperationKind::Redo => {
                is_undone.entry(line.step).or_insert(false);
                None
            }
            OperationKind::Checkout | OperationKind::Reply | OperationKind::Import => None,
            _ if is_undone.get(&line.op) == Some(&true) => None,
            _ => Some(Some(line.op)),
        })
    }

    /// Returns the step that the actor undid last. A newer step ends redo except for messages: an undone message
    /// comes back as a sibling of the new one, so that no text is lost.
    fn last_undone_step(
        &mut self,
        stored: &StoredSession,
        user: UserId,
        is_barred: &mut bool,
    ) -> Result<Option<i64>, StoreError> {
        let mut redone: HashSet<i64> = HashSet::new();
        let (mut is_late, mut late) = (false, Vec::new());
        let last = self.scan_log_backwards(stored, user, |line| match line.kind {
            OperationKind::Purge | OperationKind::Begin => {
                *is_barred = line.kind == OperationKind::Purge;
                Some(None)
            }
            _ if !line.is_own => None,
            OperationKind::Redo => {
                redone.insert(line.step);
                None
            }
            OperationKind::Undo if redone.remove(&line.step) => None,
            OperationKind::Undo if is_late => {
                late.push(line.step);
                None
            }
            OperationKind::Undo => Some(Some(line.step)),
            OperationKind::Checkout | OperationKind::Reply | OperationKind::Import => None,
            _ => {
                is_late = true;
                None
            }
        })?;
        for step in late {
            let is_text = |act: OperationKind| {
                matches!(act, OperationKind::Message | OperationKind::Edit | OperationKind::Reroll)
            };
            if last.is_none() && is_text(self.step(stored, step)?.kind) {
                return Ok(Some(step));
            }
        }
        Ok(last)
    }

    /// Reads the log backwards until `look` returns an answer.
    fn scan_log_backwards(
        &mut self,
        stored: &StoredSession,
        user: UserId,
        mut look: impl FnMut(UndoLogEntry) -> Option<Option<i64>>,
    ) -> Result<Option<i64>, StoreError> {
        let (session_n, mut before) = (stored.n, stored.session.op + 1);
        while before > 1 {
            let after = before - BATCH_SIZE;
            let rows: Vec<UndoLogColumns> = self.run(|conn| {
                let part = operations::table
                    .filter(operations::session_n.eq(session_n))
                    .filter(operations::op.lt(before))
                    .filter(operations::op.ge(after))
                    .order(operations::op.desc());
                let columns = (operations::op, operations::step, operations::act, operations::actor, operations::n);
                Ok(prepared(part.select(columns)).load(conn)?)
            })?;
            for (op, step, act, actor, row) in rows {
                let bad = StoreError::Inconsistent { table: "operations", column: "act", row };
                let is_own = actor.as_deref() == Some(user.as_bytes().as_slice());
                let act = OperationKind::parse(&act);
                let act = self.run(|_| act.ok_or(bad))?;
                if let Some(answer) = look(UndoLogEntry { op, step, kind: act, is_own }) {
                    return Ok(answer);
                }
            }
            before = after;
        }
        Ok(None)
    }

    /// Reads a step with all of its log entries.
    fn step(&mut self, stored: &StoredSession, number: i64) -> Result<UndoStep, StoreError> {
        let of_step = self.entries(stored, number, |entry| entry.step == number)?;
        let first = of_step.first().map_or(OperationKind::Message, |entry| entry.kind);
        let turned = |entry: &&Operation| matches!(entry.kind, OperationKind::Undo | OperationKind::Redo);
        let done: Vec<Effect> =
            of_step.iter().filter(|entry| !turned(entry)).flat_map(|entry| entry.effects.clone()).collect();
        let stands = of_step.iter().rev().find(turned).map_or_else(|| done.clone(), |entry| entry.effects.clone());
        Ok(UndoStep { kind: first, effects: done, current_effects: stands, number })
    }

    /// Returns the log entries from a number on that match `wanted`.
    fn entries(
        &mut self,
        stored: &StoredSession,
        from: i64,
        wanted: impl Fn(&OperationRow) -> bool,
    ) -> Result<Vec<Operation>, StoreError> {
        let session_n = stored.n;
        let rows: Vec<OperationRow> = self.run(|conn| {
            let part = operations::table.filter(operations::session_n.eq(session_n)).filter(operations::op.ge(from));
            Ok(prepared(part.order(operations::op).select(OperationRow::as_select())).load(conn)?)
        })?;
        let read = rows.into_iter().filter(wanted).map(OperationRow::into_operation);
        let read: Result<Vec<_>, _> = read.collect();
        self.run(|_| read)
    }

    /// Refuses if another actor has later changed what the step changed.
    fn check_no_later_change(
        &mut self,
        stored: &StoredSession,
        user: UserId,
        step: &UndoStep,
    ) -> Result<(), WriteError> {
        let own = user.as_bytes().as_slice();
        let is_other = |entry: &OperationRow| entry.actor.as_deref().is_some_and(|actor| actor != own);
        let touched: HashSet<NodeId> = step.current_effects.iter().filter_map(affected_node).collect();
        for other in self.entries(stored, step.number + 1, is_other)? {
            if other.kind != OperationKind::Checkout && other.effects.iter().any(|effect| affects_any(effect, &touched))
            {
                let what = "another user changed it later".to_owned();
                return Err(TreeError::BlockedByLater { op: other.op, kind: other.kind.as_str(), what }.into());
            }
        }
        Ok(())
    }

    /// Adjusts a label effect to the label's current node: a reply that was requested earlier may have moved the
    /// label meanwhile. Returns `None` if the label was removed, or if nothing would change.
    fn adjust_label_effect(&mut self, stored: &StoredSession, effect: Effect) -> Result<Option<Effect>, StoreError> {
        let Effect::Labelled { name, from: Some(_), to } = effect else { return Ok(Some(effect)) };
        let present = self.label_mark(stored, &name)?.filter(|present| to != Some(*present));
        Ok(present.map(|present| Effect::Labelled { name, from: Some(present), to }))
    }

    /// Checks that an effect can be applied to the current state of the tree.
    fn check_effect(&mut self, stored: &StoredSession, step: &UndoStep, effect: &Effect) -> Result<(), WriteError> {
        let holds = match effect {
            Effect::Shown { node, to } => self.may_show(stored, *node, *to)?,
            Effect::Moved { node, from, to } => self.may_move(stored, *node, *from, *to)?,
            Effect::Detached { node, .. } => self.movable_node(stored, *node).map(|_| true)?,
            Effect::Attached { node, fragment } => {
                let row = self.logged_row(stored, *node)?;
                self.fragment(stored, fragment.fragment, "fragmentId").is_ok() && self.is_in_tree(&row)?
            }
            Effect::Renamed { fragment, from, .. } => {
                self.fragment(stored, *fragment, "fragmentId").is_ok_and(|row| row.name == *from)
            }
            Effect::Labelled { name, from, .. } => self.label_mark(stored, name)? == *from,
            Effect::Rated { node, from, .. } => self.logged_row(stored, *node)?.rating == from.map(i16::from),
            Effect::Revised { node, from, .. } => self.logged_row(stored, *node)?.revision == *from,
            Effect::Setting { name, from, .. } => setting_value(&stored.session, name) == *from,
            _ => true,
        };
        if holds { Ok(()) } else { Err(self.later_change_refusal(stored, step, effect)?.into()) }
    }

    /// Returns whether a node can be shown or hidden: its parent must be in the tree, or it must have no
    /// children there.
    fn may_show(&mut self, stored: &StoredSession, node: NodeId, to: bool) -> Result<bool, WriteError> {
        let row = self.logged_row(stored, node)?;
        if to {
            return Ok(row.is_hidden && row.fragment_n.is_none() && self.is_in_tree(&row)?);
        }
        if row.status == Status::Generating.code() {
            return Err(TreeError::Generating.into());
        }
        Ok(!row.is_hidden && !self.run(|conn| Ok(has_other_child(conn, row.n, 0)?))?)
    }

    fn may_move(&mut self, stored: &StoredSession, node: NodeId, from: NodeId, to: NodeId) -> Result<bool, WriteError> {
        let (row, from_n, to) =
            (self.logged_row(stored, node)?, self.node_number(stored, from)?, self.logged_row(stored, to)?);
        if row.parent_n != Some(from_n)
            || self.run(|conn| ancestors::ancestor_at(conn, to.n, row.depth))? == Some(row.n)
        {
            return Ok(false);
        }
        // A node in the stash may move below any parent, also below a hidden one.
        Ok(row.is_hidden || !to.is_hidden)
    }

    fn is_in_tree(&mut self, row: &NodeRow) -> Result<bool, StoreError> {
        match row.parent_n {
            Some(parent) => Ok(!self.row_by_number(parent)?.is_hidden),
            None => Ok(row.kind == Kind::Root.code()),
        }
    }

    fn label_mark(&mut self, stored: &StoredSession, name: &str) -> Result<Option<LabelTarget>, StoreError> {
        let existing = self.label_rows(stored)?.into_iter().find(|label| label.name == name);
        match existing {
            Some(label) => {
                Ok(Some(LabelTarget { node: row_id(&self.row_by_number(label.node_n)?)?, following: label.following }))
            }
            None => Ok(None),
        }
    }

    /// Returns a refusal that names the later operation on the same node.
    fn later_change_refusal(
        &mut self,
        stored: &StoredSession,
        step: &UndoStep,
        effect: &Effect,
    ) -> Result<TreeError, StoreError> {
        let named: HashSet<NodeId> = affected_node(effect).into_iter().collect();
        let number = step.number;
        let later = self.entries(stored, number + 1, |entry| entry.step != number)?;
        let touches = |entry: &&Operation| entry.effects.iter().any(|effect| affects_any(effect, &named));
        let (op, kind) = match later.iter().rev().find(touches) {
            Some(entry) => (entry.op, entry.kind.as_str()),
            None => (stored.session.op, "later"),
        };
        Ok(TreeError::BlockedByLater { op, kind, what: "its former position has changed".to_owned() })
    }

    /// Returns the effect, with changes of remembered children if a node moves.
    fn with_remembered_children(&mut self, stored: &StoredSession, effect: Effect) -> Result<Vec<Effect>, WriteError> {
        match &effect {
            Effect::Moved { node, to, .. } => {
                let (row, to) = (self.logged_row(stored, *node)?, self.logged_row(stored, *to)?);
                self.reparent_effects(stored, &row, &to)
            }
            _ => Ok(vec![effect]),
        }
    }

    /// Returns the effects that move HEAD to where it was before the step, or after it for redo. If that node is
    /// not in the tree, HEAD stays, or moves up to the nearest ancestor in the tree.
    fn head_effects(
        &mut self,
        stored: &StoredSession,
        step: &UndoStep,
        act: OperationKind,
    ) -> Result<Vec<Effect>, StoreError> {
        let mut moves = step.effects.iter().filter_map(|effect| match effect {
            Effect::Head { from: Some(from), to } => Some((*from, *to)),
            _ => None,
        });
        let wanted = match act {
            OperationKind::Redo => moves.next_back().map(|(_, to)| to),
            _ => moves.next().map(|(from, _)| from),
        };
        let wanted = wanted.map(|node| self.logged_row(stored, node)).transpose()?.filter(|row| !row.is_hidden);
        let mut to = match wanted {
            Some(row) => row,
            None => self.row_by_number(stored.head_n)?,
        };
        while let Some(parent_n) = to.parent_n.filter(|_| to.is_hidden) {
            to = self.row_by_number(parent_n)?;
        }
        let way = self.remembered_edges(stored, &to)?;
        Ok(edit::move_head(Some(stored.session.head), row_id(&to)?, &way))
    }
}

/// Returns the inverse of an effect, except for HEAD and remembered children, which are handled separately.
fn plain_inverse(effect: &Effect) -> Option<Effect> {
    match effect {
        Effect::Head { .. } | Effect::Remembered { .. } => None,
        other => other.inverse(),
    }
}

/// Returns the node that an effect changes.
fn affected_node(effect: &Effect) -> Option<NodeId> {
    match effect {
        Effect::Added { node, .. }
        | Effect::Completed { node }
        | Effect::Shown { node, .. }
        | Effect::Moved { node, .. }
        | Effect::Detached { node, .. }
        | Effect::Attached { node, .. }
        | Effect::Purged { node, .. }
        | Effect::Enabled { node, .. }
        | Effect::Muted { node, .. }
        | Effect::Revised { node, .. }
        | Effect::Rated { node, .. } => Some(*node),
        Effect::Labelled { from, to, .. } => to.or(*from).map(|mark| mark.node),
        Effect::Head { .. }
        | Effect::Remembered { .. }
        | Effect::Unread { .. }
        | Effect::Renamed { .. }
        | Effect::Setting { .. } => None,
    }
}

/// Returns whether an effect changes one of these nodes or adds a child to one.
fn affects_any(effect: &Effect, nodes: &HashSet<NodeId>) -> bool {
    let below = match effect {
        Effect::Added { parent, .. } => *parent,
        Effect::Moved { to, .. } => Some(*to),
        _ => None,
    };
    [affected_node(effect), below].into_iter().flatten().any(|node| nodes.contains(&node))
}
