//! Edits of the arrangement. The edits of a list are planned and applied one after the other, each on the result
//! of the previous one. They are logged as one operation. If one is refused, the request fails and the writer
//! rolls all of it back.
//!
//! - `prune_graft`: prune and graft, and what every edit that moves a part of the tree needs
//! - `copies`: copies of parts of a tree, also to another session
//! - `refusals`: what the active rules at the target refuse of copies from another session
//! - `runs`: runs of messages and their summaries
//! - `merges`: merges of operations of another branch
//! - `labels`: labels, also those that follow appended nodes
//! - `stash`: views of the fragments in the stash
//! - `purge`: permanent deletion
//! - `world_diffs`: how the state changed at HEAD and at labels
//!
//! To add an edit: a variant of [`TreeEdit`], its plan in a file here, its arm in [`Tx::plan`].

mod copies;
mod labels;
mod merges;
mod prune_graft;
mod purge;
mod refusals;
mod runs;
mod stash;
mod world_diffs;

pub use labels::{Label, put_label};
pub use refusals::{CopyRefusal, MAX_REFUSALS};
pub use stash::{StashFragment, put_fragment};
pub use world_diffs::NodeWorldDiff;

use clotho_core::clock::IdGenerator;
use clotho_core::ids::{FragmentId, NodeId, SessionId};
use clotho_core::oplog::{Effect, OperationKind};
use clotho_core::tree::EditTarget;
use clotho_core::tree::arrange::{TreeEdit, combined_operation_kind};
use clotho_core::tree::edit::TreeError;

use super::error::WriteError;
use super::stored::StoredSession;
use super::tree_writes::{Actor, check_expected_version};
use super::tx::{OperationDraft, Tx};
use copies::{CopySpec, MAX_COPIES};
use merges::MergeSpec;

/// The result of a list of edits.
#[derive(Debug, Clone)]
pub struct ArrangeResult {
    /// The operation; the newest one if nothing had to change.
    pub op: i64,
    /// How the state changed at HEAD, at labels and at the tops of moved parts.
    pub worlds: Vec<NodeWorldDiff>,
    pub report: ArrangeReport,
}

/// What the edits created, and what their caller has to know.
#[derive(Debug, Clone, Default)]
pub struct ArrangeReport {
    /// The tops of copies, the summaries and the ends of merges, in the order of the edits.
    pub nodes: Vec<NodeId>,
    /// Some leaves of other branches that lost texts to a summary.
    pub affected_leaves: Vec<NodeId>,
    /// The total number of such leaves.
    pub affected_count: usize,
    /// What the rules at the target refuse of copies from another session.
    pub refusals: Vec<CopyRefusal>,
    /// Nodes to prune in other sessions because they moved to this one: edit index, session, node, and the new
    /// fragment.
    pending_prunes: Vec<(usize, SessionId, NodeId, FragmentId)>,
}

impl Tx<'_> {
    /// Applies a list of edits, all or none.
    ///
    /// # Errors
    /// Returns an error if an edit does not fit the tree (with its index), or if HEAD is not where the actor saw
    /// it. The caller must then fail the request, because earlier edits of the list were applied.
    pub fn arrange(
        &mut self,
        actor: &Actor,
        session: SessionId,
        edits: &[TreeEdit],
    ) -> Result<ArrangeResult, WriteError> {
        self.all_or_nothing(|tx| tx.arrange_all(actor, session, edits))
    }

    fn arrange_all(
        &mut self,
        actor: &Actor,
        session: SessionId,
        edits: &[TreeEdit],
    ) -> Result<ArrangeResult, WriteError> {
        let mut stored = self.session(actor.user, session)?;
        check_expected_version(&stored, actor.expected_leaf)?;
        // Remember the state before the edits, then plan and apply them one by one.
        let mut baseline = self.world_baseline(&stored, edits.iter().any(TreeEdit::affects_world))?;
        let (mut effects, mut report) = (Vec::new(), ArrangeReport::default());
        for (index, edit) in edits.iter().enumerate() {
            let plan = self.plan(actor, &stored, index, edit, &mut report);
            let plan = plan.map_err(|error| with_edit_index(index, error))?;
            self.add_moved_to_baseline(&stored, &mut baseline, &plan)?;
            self.apply_effects(&mut stored, &plan)?;
            effects.extend(plan);
            check_copy_limit(&effects).map_err(|refusal| with_edit_index(index, refusal.into()))?;
        }
        // Log all effects as one operation.
        let op = if effects.is_empty() {
            stored.session.op
        } else {
            let entry = OperationDraft {
                kind: combined_operation_kind(edits),
                actor: Some(actor.user),
                at: actor.at,
                step: None,
                effects,
            };
            self.append_operation(&mut stored, entry)?
        };
        // Prune in the source sessions what moved here.
        for (index, source, node, fragment) in std::mem::take(&mut report.pending_prunes) {
            self.prune_in_source(actor, source, node, fragment).map_err(|error| with_edit_index(index, error))?;
        }
        Ok(ArrangeResult { op, worlds: self.world_diffs(&stored, baseline)?, report })
    }

    /// Completes a move between sessions: prunes the copied node in its source session, as an operation there.
    fn prune_in_source(
        &mut self,
        actor: &Actor,
        session: SessionId,
        node: NodeId,
        fragment: FragmentId,
    ) -> Result<(), WriteError> {
        let mut source = self.source_session(actor, session)?;
        let effects = self.prune(&source, node, fragment, None, actor.at)?;
        self.log_operation(
            &mut source,
            OperationDraft { kind: OperationKind::Prune, actor: Some(actor.user), at: actor.at, step: None, effects },
        )?;
        Ok(())
    }

    fn plan(
        &mut self,
        actor: &Actor,
        stored: &StoredSession,
        index: usize,
        edit: &TreeEdit,
        report: &mut ArrangeReport,
    ) -> Result<Vec<Effect>, WriteError> {
        match edit {
            TreeEdit::Prune { node, fragment, name } => self.prune(stored, *node, *fragment, name.as_deref(), actor.at),
            TreeEdit::Graft { source: piece, target } => self.graft(stored, *piece, *target),
            TreeEdit::Copy { source: piece, target, from, source_fragment, seed } => {
                let source = match from.filter(|id| *id != stored.session.id) {
                    Some(id) => self.source_session(actor, id)?,
                    None if source_fragment.is_some() => return self.graft(stored, *piece, Some(*target)),
                    None => stored.clone(),
                };
                let wanted = CopySpec { source: &source, piece: *piece, target: *target };
                let effects = self.copy(stored, &wanted, &IdGenerator::new(*seed), actor.at, report)?;
                // A fragment is already outside the tree.
                if let (Some(fragment), EditTarget::Node(node)) = (source_fragment, piece) {
                    report.pending_prunes.push((index, source.session.id, *node, *fragment));
                }
                Ok(effects)
            }
            TreeEdit::Summarise { nodes, content, seed } => {
                self.summarise(actor, stored, &IdGenerator::new(*seed), nodes, content, report)
            }
            TreeEdit::Merge { from, onto, nodes, resolve, seed } => {
                let wanted = MergeSpec { from: *from, onto: *onto, nodes, resolve };
                self.merge(actor, stored, &IdGenerator::new(*seed), &wanted, report)
            }
            TreeEdit::Purge { source: piece, is_confirmed } => self.purge(stored, *piece, *is_confirmed),
            TreeEdit::Rename { fragment, name } => self.rename_fragment(stored, *fragment, name.as_deref()),
            TreeEdit::Label { node, name, following } => self.add_label(stored, *node, name, *following),
            TreeEdit::Unlabel { name } => self.remove_label(stored, name),
        }
    }
}

/// Limits the nodes that one list creates, because copies of copies grow exponentially.
fn check_copy_limit(effects: &[Effect]) -> Result<(), TreeError> {
    let added = effects.iter().filter(|effect| matches!(effect, Effect::Added { .. })).count();
    if added <= MAX_COPIES {
        return Ok(());
    }
    let message = format!("a list of edits makes at most {MAX_COPIES} messages");
    Err(TreeError::TooLarge { message, most: MAX_COPIES })
}

/// Adds the index of the edit to its refusal.
fn with_edit_index(index: usize, error: WriteError) -> WriteError {
    match error {
        WriteError::Refused(refusal) => TreeError::InEdit { index, refusal: Box::new(refusal) }.into(),
        failed => failed,
    }
}
