//! Adds many imported messages to a tree, such as a chat of another program, in batches. The caller derives the
//! id of each message from its text and place, and existing ids are skipped. So a batch may be repeated, and an
//! import can continue after a crash.

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

/// A message of another program.
#[derive(Debug, Clone)]
pub struct ImportedNode {
    pub parent: NodeId,
    pub draft: NodeDraft,
    /// Whether it is enabled.
    pub is_enabled: bool,
    /// Whether it becomes its parent's remembered child, if that has none.
    pub is_remembered: bool,
}

/// The result of one batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NodeImportCounts {
    /// The number of new messages.
    pub added: usize,
    /// The number of messages left out because their parent is no longer in the tree.
    pub skipped: usize,
}

/// The labels and HEAD to set after the last batch.
#[derive(Debug, Clone, Default)]
pub struct NodeImportEnd {
    /// Labels, each with its target. A label that is at the given node moves along.
    pub labels: Vec<(String, LabelTarget, Option<NodeId>)>,
    /// The new HEAD.
    pub head: Option<NodeId>,
    /// When the session was last played elsewhere, if nobody has played it here.
    pub last_played: Option<Time>,
}

impl Tx<'_> {
    /// Writes messages whose parents exist or come earlier in the list; existing ones are skipped. HEAD moves
    /// along as long as nobody has used the session, so that a partial import shows its newest message.
    ///
    /// # Errors
    /// Returns an error if the session or a parent does not exist, the session belongs to another user, or a
    /// text cannot be stored.
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
        let mut stored = self.session(actor.user, session)?;
        // Check all texts before writing any.
        for ImportedNode { draft, .. } in seedlings {
            check_storable_text("content", &draft.content)?;
            check_storable_text("reasoning", draft.reasoning.as_deref().unwrap_or_default())?;
        }
        let (mut effects, mut overlay, mut grown, mut newest) =
            (Vec::new(), Vec::new(), NodeImportCounts::default(), None);
        for seedling in seedlings {
            if self.any_row(&stored, seedling.draft.id)?.is_some() {
                continue;
            }
            // If the parent was taken out of the tree, its descendants are left out too.
            let Some(parent) = self.any_row(&stored, seedling.parent)?.filter(|row| !row.is_hidden) else {
                grown.skipped += 1;
                continue;
            };
            self.insert(stored.n, stored.session.edits, Some(&parent), &seedling.draft)?;
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
            // Move HEAD to the newest message, and log one operation.
            if let Some(newest) = newest
                && self.is_untouched(&stored)?
            {
                effects.extend(edit::move_head(Some(stored.session.head), newest, &[]));
            }
            let entry = OperationDraft {
                kind: OperationKind::Import,
                actor: Some(actor.user),
                at: actor.at,
                step: None,
                effects,
            };
            self.log_operation(&mut stored, entry)?;
        }
        Ok(grown)
    }

    /// Returns whether a session has no operations other than its creation and imports.
    fn is_untouched(&mut self, stored: &StoredSession) -> Result<bool, StoreError> {
        let done = operations::table.filter(operations::session_n.eq(stored.n)).filter(
            operations::act.ne(OperationKind::Begin.as_str()).and(operations::act.ne(OperationKind::Import.as_str())),
        );
        Ok(!self.run(|conn| Ok(diesel::select(diesel::dsl::exists(done)).get_result(conn)?))?)
    }

    /// Sets labels and HEAD at the end of an import. HEAD moves only if it is on the path to its new node, or if
    /// nobody has used the session. Otherwise the user has gone elsewhere and stays there.
    ///
    /// # Errors
    /// Returns an error if the session does not exist or belongs to another user.
    pub fn finish_node_import(
        &mut self,
        actor: &Actor,
        session: SessionId,
        ends: &NodeImportEnd,
    ) -> Result<(), WriteError> {
        self.all_or_nothing(|tx| tx.write_import_end(actor, session, ends))
    }

    fn write_import_end(&mut self, actor: &Actor, session: SessionId, ends: &NodeImportEnd) -> Result<(), WriteError> {
        let mut stored = self.session(actor.user, session)?;
        let mut effects = Vec::new();
        for (name, mark, before) in &ends.labels {
            effects.extend(self.label_imported_branch(&stored, name, *mark, *before)?);
        }
        if let Some(head) = ends.head {
            let to = self.any_row(&stored, head)?.filter(|row| !row.is_hidden);
            let from = self.row_by_number(stored.head_n)?;
            if let Some(to) = to
                && (self.run(|conn| ancestors::ancestor_at(conn, to.n, from.depth))? == Some(from.n)
                    || self.is_untouched(&stored)?)
            {
                let way = self.remembered_edges(&stored, &to)?;
                effects.extend(edit::move_head(Some(stored.session.head), row_id(&to)?, &way));
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
            self.log_operation(&mut stored, entry)?;
        }
        if let Some(played) = ends.last_played {
            stored.session.updated = played;
            let n = stored.n;
            self.update_row(|conn| {
                update(sessions::table, sessions::updated.eq(played.0), sessions::n.eq(n)).execute(conn)
            })?;
            self.writer_cache.update_session(&stored, &[]);
        }
        Ok(())
    }

    /// Returns the effect that sets a label of an imported branch. A label that a user has put on another node
    /// stays there.
    fn label_imported_branch(
        &mut self,
        stored: &StoredSession,
        name: &str,
        mark: LabelTarget,
        before: Option<NodeId>,
    ) -> Result<Vec<Effect>, WriteError> {
        let Ok(name) = arrange::validate_name("name", name) else { return Ok(Vec::new()) };
        if self.any_row(stored, mark.node)?.is_none_or(|row| row.is_hidden) {
            return Ok(Vec::new());
        }
        let existing = self.label_rows(stored)?.into_iter().find(|label| normalize_name(&label.name) == name);
        let Some(existing) = existing else {
            return Ok(vec![Effect::Labelled { name, from: None, to: Some(mark) }]);
        };
        let from = LabelTarget { node: row_id(&self.row_by_number(existing.node_n)?)?, following: existing.following };
        if Some(from.node) != before || from == mark {
            return Ok(Vec::new());
        }
        Ok(vec![Effect::Labelled { name: existing.name, from: Some(from), to: Some(mark) }])
    }
}
