//! Edits of the arrangement: a list is planned and carried out one after the other, each on what the ones before it left,
//! and logged as one operation. If one is refused, its request fails, and the writer takes all of it back.
//!
//! - `prune_graft`: prune and graft, and what every edit that moves a part of the tree needs
//! - `copies`: pieces that come again elsewhere, also in another session
//! - `refused`: what the rules of a place refuse of copies from another session
//! - `runs`: messages that follow each other, and their summaries
//! - `merges`: what happened on another line, brought over
//! - `labels`: names on nodes, and those that follow what is appended
//! - `stash`: what lies in the stash, to look at
//! - `purge`: what goes for good
//! - `witness`: how the world changed where people look
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
use copies::MAX_COPIES;
use merges::MergeSpec;

/// What became of a list of edits.
#[derive(Debug, Clone)]
pub struct ArrangeResult {
    /// The operation; the newest one if nothing had to change.
    pub op: i64,
    /// How the world changed at HEAD, at labels and at the tops of what moved.
    pub worlds: Vec<NodeWorldDiff>,
    /// What came besides.
    pub made: ArrangeReport,
}

/// What edits made.
#[derive(Debug, Clone, Default)]
pub struct ArrangeReport {
    /// The tops of copies, the summaries, and the ends of what merges brought over, in the order of the edits.
    pub nodes: Vec<NodeId>,
    /// Leaves of lines that lost texts by a summary elsewhere: some of them.
    pub affected_leaves: Vec<NodeId>,
    /// How many of them there are.
    pub affected_count: usize,
    /// What the rules of the place refuse of what was copied there from another session.
    pub refused: Vec<CopyRefusal>,
    /// What is cut off in other sessions, since it moved to this one: by edit, session, node, and the fragment it becomes.
    pending_cuts: Vec<(usize, SessionId, NodeId, FragmentId)>,
}

impl Tx<'_> {
    /// Makes a list of edits, all of them or none.
    ///
    /// # Errors
    /// One of them does not fit the tree (which one, and why), or HEAD is not where the actor saw it. Whoever asks must
    /// fail the request then: those before it were carried out.
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
        let mut held = self.session(actor.user, session)?;
        check_expected_version(&held, actor.expected_leaf)?;
        let mut witness = self.world_baseline(&held, edits.iter().any(TreeEdit::affects_world))?;
        let (mut effects, mut made) = (Vec::new(), ArrangeReport::default());
        for (index, edit) in edits.iter().enumerate() {
            let plan = self.plan(actor, &held, (index, edit), &mut made);
            let plan = plan.map_err(|error| with_edit_index(index, error))?;
            self.add_moved_to_baseline(&held, &mut witness, &plan)?;
            self.apply_effects(&mut held, &plan)?;
            effects.extend(plan);
            check_copy_limit(&effects).map_err(|refusal| with_edit_index(index, refusal.into()))?;
        }
        let op = if effects.is_empty() {
            held.session.op
        } else {
            let entry = OperationDraft {
                kind: combined_operation_kind(edits),
                actor: Some(actor.user),
                at: actor.at,
                step: None,
                effects,
            };
            self.append_operation(&mut held, entry)?
        };
        for (index, source, node, fragment) in std::mem::take(&mut made.pending_cuts) {
            self.cut_off(actor, source, node, fragment).map_err(|error| with_edit_index(index, error))?;
        }
        Ok(ArrangeResult { op, worlds: self.world_diffs(&held, witness)?, made })
    }

    /// The other half of a move between sessions: what was copied is pruned where it was, as an operation there.
    fn cut_off(
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
        held: &StoredSession,
        (index, edit): (usize, &TreeEdit),
        made: &mut ArrangeReport,
    ) -> Result<Vec<Effect>, WriteError> {
        match edit {
            TreeEdit::Prune { node, fragment, name } => self.prune(held, *node, *fragment, name.as_deref(), actor.at),
            TreeEdit::Graft { piece, target } => self.graft(held, *piece, *target),
            TreeEdit::Copy { piece, target, from, source_fragment: leaves, seed } => {
                let source = match from.filter(|id| *id != held.session.id) {
                    Some(id) => self.source_session(actor, id)?,
                    None if leaves.is_some() => return self.graft(held, *piece, Some(*target)),
                    None => held.clone(),
                };
                let effects = self.copy(held, &source, *piece, *target, (&IdGenerator::new(*seed), actor.at), made)?;
                // A fragment is cut off already.
                if let (Some(fragment), EditTarget::Node(node)) = (leaves, piece) {
                    made.pending_cuts.push((index, source.session.id, *node, *fragment));
                }
                Ok(effects)
            }
            TreeEdit::Summarise { nodes, content, seed } => {
                self.summarise((actor, &IdGenerator::new(*seed)), held, nodes, content, made)
            }
            TreeEdit::Merge { from, onto, nodes, resolve, seed } => {
                let wanted = MergeSpec { from: *from, onto: *onto, nodes, resolve };
                self.merge((actor, &IdGenerator::new(*seed)), held, &wanted, made)
            }
            TreeEdit::Purge { piece, is_confirmed } => self.purge(held, *piece, *is_confirmed),
            TreeEdit::Rename { fragment, name } => self.rename_fragment(held, *fragment, name.as_deref()),
            TreeEdit::Label { node, name, following } => self.add_label(held, *node, name, *following),
            TreeEdit::Unlabel { name } => self.remove_label(held, name),
        }
    }
}

/// Copies of copies grow without end: there is a limit to how much one list makes.
fn check_copy_limit(effects: &[Effect]) -> Result<(), TreeError> {
    let made = effects.iter().filter(|effect| matches!(effect, Effect::Added { .. })).count();
    if made <= MAX_COPIES {
        return Ok(());
    }
    let message = format!("a list of edits makes {MAX_COPIES} messages at most");
    Err(TreeError::TooLarge { message, most: MAX_COPIES })
}

/// A refusal of one of several edits.
fn with_edit_index(index: usize, error: WriteError) -> WriteError {
    match error {
        WriteError::Refused(refusal) => TreeError::InEdit { index, refusal: Box::new(refusal) }.into(),
        failed => failed,
    }
}
