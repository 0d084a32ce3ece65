//! Writes that do not change the shape of the tree: enabled texts and deltas, ratings, and the settings of a
//! session.

use std::collections::BTreeMap;

use diesel::prelude::*;
use serde_json::{Value, json};

use clotho_core::ids::{NodeId, SessionId};
use clotho_core::oplog::{Effect, OperationKind};
use clotho_core::tree::edit::{self, TreeError};
use clotho_core::tree::{Effects, Kind, Status};

use super::arrange::{ArrangeReport, ArrangeResult};
use super::error::{StoreError, WriteError};
use super::session_settings::{are_list_settings, check_setting, setting_value, tags_from_json};
use super::session_tags::in_order;
use super::stored::StoredSession;
use super::tables::nodes;
use super::tree_writes::Actor;
use super::tx::{OperationDraft, Tx, row_id};

/// Changes of a node's overlay; `None` leaves a value as it is.
#[derive(Debug, Clone, Copy)]
pub struct NodeStateUpdate {
    pub node: NodeId,
    /// Whether the node is enabled.
    pub is_enabled: Option<bool>,
    /// Whether its delta applies.
    pub effects: Option<Effects>,
    /// The rating, 1 to 5 stars; `Some(None)` clears it.
    pub rating: Option<Option<u8>>,
    pub is_unread: Option<bool>,
}

/// The overlay of a node after the updates so far.
struct NodeOverlay {
    is_enabled: bool,
    is_muted: bool,
    rating: Option<u8>,
    is_unread: bool,
}

impl Tx<'_> {
    /// Enables, mutes and rates nodes in one operation; values that do not change are skipped.
    ///
    /// # Errors
    /// Returns an error if a node does not exist, is generating or is the root, or if a rating is not 1 to 5.
    /// Nothing is changed then.
    pub fn set_state(
        &mut self,
        actor: &Actor,
        session: SessionId,
        updates: &[NodeStateUpdate],
    ) -> Result<ArrangeResult, WriteError> {
        self.all_or_nothing(|tx| tx.update_state(actor, session, updates))
    }

    fn update_state(
        &mut self,
        actor: &Actor,
        session: SessionId,
        updates: &[NodeStateUpdate],
    ) -> Result<ArrangeResult, WriteError> {
        let mut stored = self.session(actor.user, session)?;
        let mut overlays: BTreeMap<NodeId, NodeOverlay> = BTreeMap::new();
        let mut effects = Vec::new();
        for update in updates {
            if matches!(update.rating, Some(Some(0 | 6..))) {
                let message = "expected 1 to 5 stars".to_owned();
                return Err(TreeError::Invalid { field: "rating", message }.into());
            }
            let mut overlay = match overlays.remove(&update.node) {
                Some(overlay) => overlay,
                None => self.overlay(&stored, update.node)?,
            };
            effects.extend(overlay.apply(update));
            overlays.insert(update.node, overlay);
        }
        if effects.is_empty() {
            return Ok(ArrangeResult { op: stored.session.op, worlds: Vec::new(), report: ArrangeReport::default() });
        }
        let mutes = effects.iter().any(|effect| matches!(effect, Effect::Muted { .. }));
        let baseline = self.world_baseline(&stored, mutes)?;
        let entry =
            OperationDraft { kind: OperationKind::State, actor: Some(actor.user), at: actor.at, step: None, effects };
        let op = self.log_operation(&mut stored, entry)?;
        Ok(ArrangeResult { op, worlds: self.world_diffs(&stored, baseline)?, report: ArrangeReport::default() })
    }

    fn overlay(&mut self, stored: &StoredSession, node: NodeId) -> Result<NodeOverlay, WriteError> {
        let row = self.row_in_tree(stored, node)?;
        if row.status == Status::Generating.code() {
            return Err(TreeError::Generating.into());
        }
        if row.kind == Kind::Root.code() {
            return Err(TreeError::Conflict("the root cannot be disabled".into()).into());
        }
        let rating = row.rating.and_then(|stars| u8::try_from(stars).ok());
        Ok(NodeOverlay { is_enabled: row.is_enabled, is_muted: row.is_muted, rating, is_unread: row.is_unread })
    }

    /// Changes settings of a session in one operation. The names are those of the wire format.
    ///
    /// # Errors
    /// Returns an error if the session does not exist or belongs to another user, or if a name or value is
    /// invalid.
    pub fn set_settings(
        &mut self,
        actor: &Actor,
        session: SessionId,
        settings: &[(String, Value)],
    ) -> Result<i64, WriteError> {
        self.all_or_nothing(|tx| tx.change_settings(actor, session, settings))
    }

    fn change_settings(
        &mut self,
        actor: &Actor,
        session: SessionId,
        settings: &[(String, Value)],
    ) -> Result<i64, WriteError> {
        let mut stored = self.session(actor.user, session)?;
        let mut effects = setting_effects(&stored, settings)?;
        if effects.is_empty() {
            return Ok(stored.session.op);
        }
        if settings.iter().any(|(name, to)| name == "mode" && to == "linear") {
            effects.extend(self.follow_newest(&stored)?);
        }
        let at = if are_list_settings(settings) { stored.session.updated } else { actor.at };
        let entry = OperationDraft { kind: OperationKind::Session, actor: Some(actor.user), at, step: None, effects };
        Ok(self.log_operation(&mut stored, entry)?)
    }
}

/// Checks settings and returns the effects of those that change.
pub(super) fn setting_effects(stored: &StoredSession, settings: &[(String, Value)]) -> Result<Vec<Effect>, TreeError> {
    let mut seen: BTreeMap<&str, Value> = BTreeMap::new();
    let mut effects = Vec::new();
    for (name, to) in settings {
        check_setting(name, to)?;
        let to = match name.as_str() {
            "tags" => &json!(in_order(tags_from_json(to).unwrap_or_default())),
            _ => to,
        };
        let from = seen.insert(name, to.clone()).unwrap_or_else(|| setting_value(&stored.session, name));
        if from != *to {
            effects.push(Effect::Setting { name: name.clone(), from, to: to.clone() });
        }
    }
    Ok(effects)
}

impl Tx<'_> {
    /// Linear mode follows the newest branch: returns the effects that move HEAD to the newest leaf
    /// (`docs/domain.md` 2.14).
    fn follow_newest(&mut self, stored: &StoredSession) -> Result<Vec<Effect>, StoreError> {
        let session_n = stored.n;
        let newest: Option<i64> = self.run(|conn| {
            let below = diesel::alias!(nodes as below);
            let children = below
                .filter(below.field(nodes::parent_n).eq(nodes::n.nullable()))
                .filter(below.field(nodes::is_hidden).eq(false))
                .filter(below.field(nodes::status).eq(Status::Complete.code()));
            let standing = nodes::table
                .filter(nodes::session_n.eq(session_n))
                .filter(nodes::is_hidden.eq(false))
                .filter(nodes::status.eq(Status::Complete.code()))
                // Greetings are all created at once, so none of them is newer than the chosen one.
                .filter(nodes::kind.ne(Kind::Greeting.code()));
            let leaves = standing.filter(diesel::dsl::not(diesel::dsl::exists(children)));
            Ok(leaves.order(nodes::n.desc()).select(nodes::n).first(conn).optional()?)
        })?;
        let Some(newest) = newest else { return Ok(Vec::new()) };
        let row = self.row_by_number(newest)?;
        let way = self.remembered_edges(stored, &row)?;
        Ok(edit::move_head(Some(stored.session.head), row_id(&row)?, &way))
    }
}

impl NodeOverlay {
    /// Applies an update; returns the effects of values that change.
    fn apply(&mut self, update: &NodeStateUpdate) -> Vec<Effect> {
        let node = update.node;
        let mut effects = Vec::new();
        if let Some(to) = update.is_enabled.filter(|to| *to != self.is_enabled) {
            self.is_enabled = to;
            effects.push(Effect::Enabled { node, to });
        }
        let muted = update.effects.map(|effects| effects == Effects::Muted);
        if let Some(to) = muted.filter(|to| *to != self.is_muted) {
            self.is_muted = to;
            effects.push(Effect::Muted { node, to });
        }
        if let Some(to) = update.rating.filter(|to| *to != self.rating) {
            effects.push(Effect::Rated { node, from: self.rating, to });
            self.rating = to;
        }
        if let Some(to) = update.is_unread.filter(|to| *to != self.is_unread) {
            self.is_unread = to;
            effects.push(Effect::Unread { node, to });
        }
        effects
    }
}
