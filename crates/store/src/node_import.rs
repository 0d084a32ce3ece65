//! A tree grows by many messages at once that were written elsewhere: a chat of another program, a piece at a time. Who
//! brings them gives each the id that follows from what it says and where, so that what is there already is passed over: a
//! piece may come twice, and after a crash the rest of it.

use diesel::prelude::*;

use clotho_core::clock::Time;
use clotho_core::ids::{NodeId, SessionId};
use clotho_core::oplog::{Effect, LabelTarget, OperationKind};
use clotho_core::tree::arrange::{self, normalize_name};
use clotho_core::tree::{Kind, edit};

use super::ancestors;
use super::error::{StoreError, WriteError};
use super::prepared::update;
use super::stored::StoredSession;
use super::tables::{operations, sessions};
use super::tree_writes::{Actor, check_storable_text};
use super::tx::{NodeDraft, OperationDraft, Tx, row_id};

/// A message that was written elsewhere.
#[derive(Debug, Clone)]
pub struct ImportedNode {
    /// Where it goes.
    pub parent: NodeId,
    /// What it is.
    pub draft: NodeDraft,
    /// Whether its text counts.
    pub is_enabled: bool,
    /// Whether its parent remembers it, if it remembers none.
    pub is_remembered: bool,
}

/// What came of some messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NodeImportCounts {
    /// So many are new.
    pub added: usize,
    /// So many were left out, because what they hang below has been taken out of the tree.
    pub left: usize,
}

/// How a tree stands when all of a story is in.
#[derive(Debug, Clone, Default)]
pub struct NodeImportEnd {
    /// Names: each with its node, and whether it follows. One that stood at the given node before moves along.
    pub labels: Vec<(String, LabelTarget, Option<NodeId>)>,
    /// Where HEAD goes.
    pub head: Option<NodeId>,
    /// When the story was last played, where nobody has played it here.
    pub last_played: Option<Time>,
}

impl Tx<'_> {
    /// Writes messages whose parents are there, or come before them; what is there already is passed over. Answers with what
    /// came of them. Until somebody does something in the session HEAD goes along, so that half a story is shown as far as it
    /// is there.
    ///
    /// # Errors
    /// The session is not there or somebody else's, a parent is not there, or a text cannot be kept.
    pub fn import_nodes(
        &mut self,
        actor: &Actor,
        session: SessionId,
        seedlings: &[ImportedNode],
    ) -> Result<NodeImportCounts, WriteError> {
        self.all_or_nothing(|tx| tx.write_imported_nodes(actor, session, seedlings))
    }

    fn write_imported_nodes(
        &mut self,
        actor: &Actor,
        session: SessionId,
        seedlings: &[ImportedNode],
    ) -> Result<NodeImportCounts, WriteError> {
        let mut held = self.session(actor.user, session)?;
        for ImportedNode { draft, .. } in seedlings {
            check_storable_text("content", &draft.content)?;
            check_storable_text("reasoning", draft.reasoning.as_deref().unwrap_or_default())?;
        }
        let (mut effects, mut overlay, mut grown, mut newest) =
            (Vec::new(), Vec::new(), NodeImportCounts::default(), None);
        for seedling in seedlings {
            if self.any_row(&held, seedling.draft.id)?.is_some() {
                continue;
            }
            // A parent that was taken out of the tree takes along what hangs below it.
            let Some(parent) = self.any_row(&held, seedling.parent)?.filter(|row| !row.is_hidden) else {
                grown.left += 1;
                continue;
            };
            self.insert(held.n, held.session.edits, Some(&parent), &seedling.draft)?;
            let node = seedling.draft.id;
            grown.added += usize::from(seedling.draft.kind != Kind::Change);
            effects.push(Effect::Added { node, parent: Some(seedling.parent) });
            if seedling.is_remembered {
                newest = Some(node);
            }
            if !seedling.is_enabled {
                overlay.push(Effect::Enabled { node, to: false });
            }
            let is_remembered =
                |effect: &Effect| matches!(effect, Effect::Remembered { node, .. } if *node == seedling.parent);
            if seedling.is_remembered && parent.remembered_n.is_none() && !overlay.iter().any(is_remembered) {
                overlay.push(Effect::Remembered { node: seedling.parent, from: None, to: Some(node) });
            }
        }
        if !effects.is_empty() {
            effects.extend(overlay);
            if let Some(newest) = newest
                && self.is_untouched(&held)?
            {
                effects.extend(edit::move_head(Some(held.session.head), newest, &[]));
            }
            let entry = OperationDraft {
                kind: OperationKind::Import,
                actor: Some(actor.user),
                at: actor.at,
                step: None,
                effects,
            };
            self.log_operation(&mut held, entry)?;
        }
        Ok(grown)
    }

    /// Whether nobody has done anything in a session but bring in what is there.
    fn is_untouched(&mut self, held: &StoredSession) -> Result<bool, StoreError> {
        let done = operations::table.filter(operations::session_n.eq(held.n)).filter(
            operations::act.ne(OperationKind::Begin.word()).and(operations::act.ne(OperationKind::Import.word())),
        );
        Ok(!self.run(|conn| Ok(diesel::select(diesel::dsl::exists(done)).get_result(conn)?))?)
    }

    /// Puts names and HEAD where a story ends. HEAD moves where it stands on the line that leads there, or where nobody has
    /// done anything yet: whoever has gone another way is left there.
    ///
    /// # Errors
    /// The session is not there or somebody else's.
    pub fn finish_node_import(
        &mut self,
        actor: &Actor,
        session: SessionId,
        ends: &NodeImportEnd,
    ) -> Result<(), WriteError> {
        self.all_or_nothing(|tx| tx.write_import_end(actor, session, ends))
    }

    fn write_import_end(&mut self, actor: &Actor, session: SessionId, ends: &NodeImportEnd) -> Result<(), WriteError> {
        let mut held = self.session(actor.user, session)?;
        let mut effects = Vec::new();
        for (name, mark, before) in &ends.labels {
            effects.extend(self.label_imported_branch(&held, name, *mark, *before)?);
        }
        if let Some(head) = ends.head {
            let to = self.any_row(&held, head)?.filter(|row| !row.is_hidden);
            let from = self.row_by_number(held.head_n)?;
            if let Some(to) = to
                && (self.run(|conn| ancestors::ancestor_at(conn, to.n, from.depth))? == Some(from.n)
                    || self.is_untouched(&held)?)
            {
                let way = self.remembered_edges(&held, &to)?;
                effects.extend(edit::move_head(Some(held.session.head), row_id(&to)?, &way));
            }
        }
        if !effects.is_empty() {
            let entry = OperationDraft {
                kind: OperationKind::Import,
                actor: Some(actor.user),
                at: actor.at,
                step: None,
                effects,
            };
            self.log_operation(&mut held, entry)?;
        }
        if let Some(played) = ends.last_played {
            held.session.updated = played;
            let n = held.n;
            self.update_row(|conn| {
                update(sessions::table, sessions::updated.eq(played.0), sessions::n.eq(n)).execute(conn)
            })?;
            self.writer_cache.update_session(&held, &[]);
        }
        Ok(())
    }

    /// A name of a line that came in. One that somebody has given to another node stays there.
    fn label_imported_branch(
        &mut self,
        held: &StoredSession,
        name: &str,
        mark: LabelTarget,
        before: Option<NodeId>,
    ) -> Result<Vec<Effect>, WriteError> {
        let Ok(name) = arrange::name("name", name) else { return Ok(Vec::new()) };
        if self.any_row(held, mark.node)?.is_none_or(|row| row.is_hidden) {
            return Ok(Vec::new());
        }
        let known = self.label_rows(held)?.into_iter().find(|label| normalize_name(&label.name) == name);
        let Some(known) = known else {
            return Ok(vec![Effect::Labelled { name, from: None, to: Some(mark) }]);
        };
        let from = LabelTarget { node: row_id(&self.row_by_number(known.node_n)?)?, following: known.following };
        if Some(from.node) != before || from == mark {
            return Ok(Vec::new());
        }
        Ok(vec![Effect::Labelled { name: known.name, from: Some(from), to: Some(mark) }])
    }
}
