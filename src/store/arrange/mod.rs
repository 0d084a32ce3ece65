//! Edits of the arrangement: a list is planned and carried out one after the other, each on what the ones before it left,
//! and logged as one operation. If one is refused, its request fails, and the writer takes all of it back.
//!
//! - `pieces`: prune and graft, and what every edit that moves a part of the tree needs
//! - `labels`: names on nodes, and those that follow what is appended
//! - `stash`: what lies in the stash, to look at
//! - `witness`: how the world changed where people look
//!
//! To add an edit: a variant of [`TreeEdit`], its plan in a file here, its arm in [`Tx::plan`].

mod labels;
mod pieces;
mod stash;
mod witness;

pub use labels::{Label, put_label};
pub use stash::{Fragment, put_fragment};
pub use witness::WorldAt;

use crate::ids::SessionId;
use crate::oplog::Effect;
use crate::tree::arrange::{TreeEdit, act_of};
use crate::tree::edit::Refusal;

use super::acts::{Actor, expect_leaf};
use super::error::WriteError;
use super::held::Held;
use super::tx::{Entry, Tx};

/// What became of a list of edits.
#[derive(Debug, Clone)]
pub struct Arranged {
    /// The operation; the newest one if nothing had to change.
    pub op: i64,
    /// How the world changed at HEAD, at labels and at the tops of what moved.
    pub worlds: Vec<WorldAt>,
}

impl Tx<'_> {
    /// Makes a list of edits, all of them or none.
    ///
    /// # Errors
    /// One of them does not fit the tree (which one, and why), or HEAD is not where the actor saw it. Whoever asks must
    /// fail the request then: those before it were carried out.
    pub fn arrange(&mut self, actor: &Actor, session: SessionId, edits: &[TreeEdit]) -> Result<Arranged, WriteError> {
        self.whole(|tx| tx.arrange_all(actor, session, edits))
    }

    fn arrange_all(&mut self, actor: &Actor, session: SessionId, edits: &[TreeEdit]) -> Result<Arranged, WriteError> {
        let mut held = self.session(actor.user, session)?;
        expect_leaf(&held, actor.expected_leaf)?;
        let mut witness = self.witness(&held, edits.iter().any(TreeEdit::touches_worlds))?;
        let mut effects = Vec::new();
        for (index, edit) in edits.iter().enumerate() {
            let plan = self.plan(actor, &held, edit).map_err(|error| in_list(index, error))?;
            self.see_moved(&held, &mut witness, &plan)?;
            self.carry_out_all(&mut held, &plan)?;
            effects.extend(plan);
        }
        let op = if effects.is_empty() {
            held.session.op
        } else {
            let entry = Entry { act: act_of(edits), actor: Some(actor.user), at: actor.at, step: None, effects };
            self.enter(&mut held, entry)?
        };
        Ok(Arranged { op, worlds: self.changed(&held, witness)? })
    }

    fn plan(&mut self, actor: &Actor, held: &Held, edit: &TreeEdit) -> Result<Vec<Effect>, WriteError> {
        match edit {
            TreeEdit::Prune { node, fragment, name } => self.prune(held, *node, *fragment, name.as_deref(), actor.at),
            TreeEdit::Graft { piece, target } => self.graft(held, *piece, *target),
            TreeEdit::Rename { fragment, name } => self.rename(held, *fragment, name.as_deref()),
            TreeEdit::Label { node, name, following } => self.label(held, *node, name, *following),
            TreeEdit::Unlabel { name } => self.unlabel(held, name),
        }
    }
}

/// A refusal of one of several edits.
fn in_list(index: usize, error: WriteError) -> WriteError {
    match error {
        WriteError::Refused(refusal) => Refusal::InList { index, refusal: Box::new(refusal) }.into(),
        failed => failed,
    }
}
