//! A session gets other plugins: the setting and what begins by it are one operation, so that one undo takes back both.

use crate::ids::{NodeId, SessionId};
use crate::oplog::{Effect, OperationKind};
use crate::tree::edit::{self, TreeError};
use crate::tree::{PluginSetting, Status};

use super::acts::Actor;
use super::error::WriteError;
use super::held::StoredSession;
use super::overlay::set_in;
use super::rows::plugins_to_json;
use super::tx::{NodeDraft, OperationDraft, Tx, row_id};

/// Where the rules of a session begin when its plugins are set.
#[derive(Debug, Clone, Copy)]
pub enum RulesStart<'a> {
    /// With the next message.
    Later,
    /// At a change node below a place that has their record already: HEAD goes there if it stands at the place.
    There(NodeId),
    /// At a new change node below the place; HEAD follows where it stands there.
    New(&'a NodeDraft),
}

impl Tx<'_> {
    /// Sets the plugins of a session and lets them begin below `place`, in one operation.
    ///
    /// # Errors
    /// The session or a node is not there or still being generated, or the setting cannot have that value.
    pub fn set_plugins(
        &mut self,
        actor: &Actor,
        session: SessionId,
        plugins: &[PluginSetting],
        place: NodeId,
        beginning: RulesStart<'_>,
    ) -> Result<i64, WriteError> {
        self.whole(|tx| {
            let mut held = tx.session(actor.user, session)?;
            let mut effects = set_in(&held, &[("plugins".to_owned(), plugins_to_json(plugins))])?;
            let begins = tx.begin_below(&held, place, beginning)?;
            let act = if begins.is_empty() { OperationKind::Session } else { OperationKind::Rules };
            effects.extend(begins);
            if effects.is_empty() {
                return Ok(held.session.op);
            }
            Ok(tx.log(&mut held, OperationDraft { act, actor: Some(actor.user), at: actor.at, step: None, effects })?)
        })
    }

    fn begin_below(
        &mut self,
        held: &StoredSession,
        place: NodeId,
        beginning: RulesStart<'_>,
    ) -> Result<Vec<Effect>, WriteError> {
        let (mut effects, is_head) = (Vec::new(), held.session.head == place);
        let to = match beginning {
            RulesStart::Later => return Ok(effects),
            RulesStart::There(_) if !is_head => return Ok(effects),
            RulesStart::There(node) => self.row(held, node)?,
            RulesStart::New(draft) => {
                let above = self.row(held, place)?;
                if above.status == Status::Generating.code() {
                    return Err(TreeError::Generating.into());
                }
                let row = self.insert(held.n, held.session.edits, Some(&above), draft)?;
                effects.push(Effect::Added { node: draft.id, parent: Some(place) });
                effects.extend(self.labels_follow(held, above.n, draft.id)?);
                row
            }
        };
        if is_head {
            let way = self.way(held, &to)?;
            effects.extend(edit::move_head(Some(held.session.head), row_id(&to)?, &way));
        }
        Ok(effects)
    }
}
