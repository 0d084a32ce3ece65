//! Edits of the arrangement: a list is planned and carried out one after the other, each on what the ones before it left,
//! and logged as one operation. If one is refused, its request fails, and the writer takes all of it back.
//!
//! - `pieces`: prune and graft, and what every edit that moves a part of the tree needs
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
mod pieces;
mod purge;
mod refused;
mod runs;
mod stash;
mod witness;

pub use labels::{Label, put_label};
pub use refused::{CopyRefusal, MOST_REFUSED};
pub use stash::{StashFragment, put_fragment};
pub use witness::NodeWorldDiff;

use crate::clock::IdGenerator;
use crate::ids::{FragmentId, NodeId, SessionId};
use crate::oplog::{Effect, OperationKind};
use crate::tree::EditTarget;
use crate::tree::arrange::{TreeEdit, act_of};
use crate::tree::edit::TreeError;

use super::acts::{Actor, expect_leaf};
use super::error::WriteError;
use super::held::StoredSession;
use super::tx::{OperationDraft, Tx};
use copies::MOST_COPIED;
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
    pub leaves: Vec<NodeId>,
    /// How many of them there are.
    pub affected: usize,
    /// What the rules of the place refuse of what was copied there from another session.
    pub refused: Vec<CopyRefusal>,
    /// What is cut off in other sessions, since it moved to this one: by edit, session, node, and the fragment it becomes.
    leaving: Vec<(usize, SessionId, NodeId, FragmentId)>,
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
        self.whole(|tx| tx.arrange_all(actor, session, edits))
    }

    fn arrange_all(
        &mut self,
        actor: &Actor,
        session: SessionId,
        edits: &[TreeEdit],
    ) -> Result<ArrangeResult, WriteError> {
        let mut held = self.session(actor.user, session)?;
        expect_leaf(&held, actor.expected_leaf)?;
        let mut witness = self.witness(&held, edits.iter().any(TreeEdit::touches_worlds))?;
        let (mut effects, mut made) = (Vec::new(), ArrangeReport::default());
        for (index, edit) in edits.iter().enumerate() {
            let plan = self.plan(actor, &held, (index, edit), &mut made);
            let plan = plan.map_err(|error| in_list(index, error))?;
            self.see_moved(&held, &mut witness, &plan)?;
            self.carry_out_all(&mut held, &plan)?;
            effects.extend(plan);
            may_grow(&effects).map_err(|refusal| in_list(index, refusal.into()))?;
        }
        let op = if effects.is_empty() {
            held.session.op
        } else {
            let entry =
                OperationDraft { act: act_of(edits), actor: Some(actor.user), at: actor.at, step: None, effects };
            self.enter(&mut held, entry)?
        };
        for (index, source, node, fragment) in std::mem::take(&mut made.leaving) {
            self.cut_off(actor, source, node, fragment).map_err(|error| in_list(index, error))?;
        }
        Ok(ArrangeResult { op, worlds: self.changed(&held, witness)?, made })
    }

    /// The other half of a move between sessions: what was copied is pruned where it was, as an operation there.
    fn cut_off(
        &mut self,
        actor: &Actor,
        session: SessionId,
        node: NodeId,
        fragment: FragmentId,
    ) -> Result<(), WriteError> {
        let mut source = self.source(actor, session)?;
        let effects = self.prune(&source, node, fragment, None, actor.at)?;
        self.log(
            &mut source,
            OperationDraft { act: OperationKind::Prune, actor: Some(actor.user), at: actor.at, step: None, effects },
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
            TreeEdit::Copy { piece, target, from, leaves, seed } => {
                let source = match from.filter(|id| *id != held.session.id) {
                    Some(id) => self.source(actor, id)?,
                    None if leaves.is_some() => return self.graft(held, *piece, Some(*target)),
                    None => held.clone(),
                };
                let effects = self.copy(held, &source, *piece, *target, (&IdGenerator::new(*seed), actor.at), made)?;
                // A fragment is cut off already.
                if let (Some(fragment), EditTarget::Node(node)) = (leaves, piece) {
                    made.leaving.push((index, source.session.id, *node, *fragment));
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
            TreeEdit::Rename { fragment, name } => self.rename(held, *fragment, name.as_deref()),
            TreeEdit::Label { node, name, following } => self.label(held, *node, name, *following),
            TreeEdit::Unlabel { name } => self.unlabel(held, name),
        }
    }
}

/// Copies of copies grow without end: there is a limit to how much one list makes.
fn may_grow(effects: &[Effect]) -> Result<(), TreeError> {
    let made = effects.iter().filter(|effect| matches!(effect, Effect::Added { .. })).count();
    if made <= MOST_COPIED {
        return Ok(());
    }
    let message = format!("a list of edits makes {MOST_COPIED} messages at most");
    Err(TreeError::TooMuch { message, most: MOST_COPIED })
}

/// A refusal of one of several edits.
fn in_list(index: usize, error: WriteError) -> WriteError {
    match error {
        WriteError::Refused(refusal) => TreeError::InList { index, refusal: Box::new(refusal) }.into(),
        failed => failed,
    }
}
