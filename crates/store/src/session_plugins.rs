//! Sets the plugins of a session. The setting and the nodes where the rules begin are one operation, so that one
//! undo reverts both.

use clotho_core::ids::{NodeId, SessionId};
use clotho_core::oplog::{Effect, OperationKind};
use clotho_core::tree::edit::{self, TreeError};
use clotho_core::tree::{PluginSetting, Status};

use super::error::WriteError;
use super::overlay::setting_effects;
use super::rows::plugins_to_json;
use super::stored::StoredSession;
use super::tree_writes::Actor;
use super::tx::{NodeDraft, OperationDraft, Tx, row_id};

/// Where the new rules of a session begin.
#[derive(Debug, Clone, Copy)]
pub enum RulesStart<'a> {
    /// With the next message.
    NextMessage,
    /// At an existing change node with these rules; HEAD moves there if it is at its parent.
    ExistingNode(NodeId),
    /// At a new change node; HEAD moves there if it is at its parent.
    NewNode(&'a NodeDraft),
}

impl Tx<'_> {
    /// Sets the plugins of a session and starts their rules below `place`, in one operation.
    ///
    /// # Errors
    /// Returns an error if the session or a node does not exist, a node is generating, or the setting is
    /// invalid.
    pub fn set_plugins(
        &mut self,
        actor: &Actor,
        session: SessionId,
        plugins: &[PluginSetting],
        place: NodeId,
        beginning: RulesStart<'_>,
    ) -> Result<i64, WriteError> {
        self.all_or_nothing(|tx| {
            let mut stored = tx.session(actor.user, session)?;
            let mut effects = setting_effects(&stored, &[("plugins".to_owned(), plugins_to_json(plugins))])?;
            let begins = tx.start_rules_below(&stored, place, beginning)?;
            let act = if begins.is_empty() { OperationKind::Session } else { OperationKind::Rules };
            effects.extend(begins);
            if effects.is_empty() {
                return Ok(stored.session.op);
            }
            Ok(tx.log_operation(
                &mut stored,
                OperationDraft { kind: act, actor: Some(actor.user), at: actor.at, step: None, effects },
            )?)
        })
    }

    fn start_rules_below(
        &mut self,
        stored: &StoredSession,
        place: NodeId,
        beginning: RulesStart<'_>,
    ) -> Result<Vec<Effect>, WriteError> {
        let (mut effects, is_head) = (Vec::new(), stored.session.head == place);
        let to = match beginning {
            RulesStart::NextMessage => return Ok(effects),
            RulesStart::ExistingNode(_) if !is_head => return Ok(effects),
            RulesStart::ExistingNode(node) => self.row_in_tree(stored, node)?,
            RulesStart::NewNode(draft) => {
                let above = self.row_in_tree(stored, place)?;
                if above.status == Status::Generating.code() {
                    return Err(TreeError::Generating.into());
                }
                let row = self.insert(stored.n, stored.session.edits, Some(&above), draft)?;
                effects.push(Effect::Added { node: draft.id, parent: Some(place) });
                effects.extend(self.move_following_labels(stored, above.n, draft.id)?);
                row
            }
        };
        if is_head {
            let way = self.remembered_edges(stored, &to)?;
            effects.extend(edit::move_head(Some(stored.session.head), row_id(&to)?, &way));
        }
        Ok(effects)
    }
}
