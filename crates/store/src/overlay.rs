//! The acts that change no tree: what of a node counts, its stars, and the settings of a session.

use std::collections::BTreeMap;

use diesel::prelude::*;
use serde_json::Value;

use clotho_core::ids::{NodeId, SessionId};
use clotho_core::oplog::{Effect, OperationKind};
use clotho_core::tree::edit::{self, TreeError};
use clotho_core::tree::{Effects, Kind, Status};

use super::arrange::{ArrangeReport, ArrangeResult};
use super::error::{StoreError, WriteError};
use super::session_settings::{check_setting, setting_value};
use super::stored::StoredSession;
use super::tables::nodes;
use super::tree_writes::Actor;
use super::tx::{OperationDraft, Tx, row_id};

/// What becomes of a node's overlay; `None` = as it is.
#[derive(Debug, Clone, Copy)]
pub struct NodeStateUpdate {
    /// The node.
    pub node: NodeId,
    /// Whether its text counts.
    pub is_enabled: Option<bool>,
    /// Whether its delta counts.
    pub effects: Option<Effects>,
    /// Stars, 1 to 5; `Some(None)` takes them away.
    pub rating: Option<Option<u8>>,
    /// Whether nobody has seen it.
    pub is_unread: Option<bool>,
}

/// The overlay of a node as it will be after the updates seen so far.
struct NodeOverlay {
    is_enabled: bool,
    is_muted: bool,
    rating: Option<u8>,
    is_unread: bool,
}

impl Tx<'_> {
    /// Switches texts and deltas of nodes on or off and rates them, in one operation; what is so already is left alone.
    ///
    /// # Errors
    /// A node is not there, still being generated, or the root, or a rating is no number of stars; nothing was changed
    /// then.
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
        let mut held = self.session(actor.user, session)?;
        let mut overlays: BTreeMap<NodeId, NodeOverlay> = BTreeMap::new();
        let mut effects = Vec::new();
        for update in updates {
            if matches!(update.rating, Some(Some(0 | 6..))) {
                let message = "1 to 5 stars are expected".to_owned();
                return Err(TreeError::Invalid { field: "rating", message }.into());
            }
            let mut overlay = match overlays.remove(&update.node) {
                Some(overlay) => overlay,
                None => self.overlay(&held, update.node)?,
            };
            effects.extend(overlay.apply(update));
            overlays.insert(update.node, overlay);
        }
        if effects.is_empty() {
            return Ok(ArrangeResult { op: held.session.op, worlds: Vec::new(), made: ArrangeReport::default() });
        }
        let mutes = effects.iter().any(|effect| matches!(effect, Effect::Muted { .. }));
        let witness = self.world_baseline(&held, mutes)?;
        let entry =
            OperationDraft { kind: OperationKind::State, actor: Some(actor.user), at: actor.at, step: None, effects };
        let op = self.log_operation(&mut held, entry)?;
        Ok(ArrangeResult { op, worlds: self.world_diffs(&held, witness)?, made: ArrangeReport::default() })
    }

    fn overlay(&mut self, held: &StoredSession, node: NodeId) -> Result<NodeOverlay, WriteError> {
        let row = self.row_in_tree(held, node)?;
        if row.status == Status::Generating.code() {
            return Err(TreeError::Generating.into());
        }
        if row.kind == Kind::Root.code() {
            return Err(TreeError::Conflict("the root cannot be switched off".into()).into());
        }
        let rating = row.rating.and_then(|stars| u8::try_from(stars).ok());
        Ok(NodeOverlay { is_enabled: row.is_enabled, is_muted: row.is_muted, rating, is_unread: row.is_unread })
    }

    /// Changes settings of the session, each named as on the wire, in one operation.
    ///
    /// # Errors
    /// The session is not there or somebody else's; no setting has that name, or it cannot have that value.
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
        let mut held = self.session(actor.user, session)?;
        let mut effects = setting_effects(&held, settings)?;
        if effects.is_empty() {
            return Ok(held.session.op);
        }
        if settings.iter().any(|(name, to)| name == "mode" && to == "linear") {
            effects.extend(self.follow_newest(&held)?);
        }
        let entry =
            OperationDraft { kind: OperationKind::Session, actor: Some(actor.user), at: actor.at, step: None, effects };
        Ok(self.log_operation(&mut held, entry)?)
    }
}

/// What becomes of the settings of a session; what is so already is left alone.
pub(super) fn setting_effects(held: &StoredSession, settings: &[(String, Value)]) -> Result<Vec<Effect>, TreeError> {
    let mut seen: BTreeMap<&str, Value> = BTreeMap::new();
    let mut effects = Vec::new();
    for (name, to) in settings {
        check_setting(name, to)?;
        let from = seen.insert(name, to.clone()).unwrap_or_else(|| setting_value(&held.session, name));
        if from != *to {
            effects.push(Effect::Setting { name: name.clone(), from, to: to.clone() });
        }
    }
    Ok(effects)
}

impl Tx<'_> {
    /// Who reads one line only reads the newest: HEAD goes to the leaf that was made last (`docs/domain.md` 2.14).
    fn follow_newest(&mut self, held: &StoredSession) -> Result<Vec<Effect>, StoreError> {
        let session_n = held.n;
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
                // Greetings came all at once: none of them is newer than the one that was chosen.
                .filter(nodes::kind.ne(Kind::Greeting.code()));
            let leaves = standing.filter(diesel::dsl::not(diesel::dsl::exists(children)));
            Ok(leaves.order(nodes::n.desc()).select(nodes::n).first(conn).optional()?)
        })?;
        let Some(newest) = newest else { return Ok(Vec::new()) };
        let row = self.row_by_number(newest)?;
        let way = self.remembered_edges(held, &row)?;
        Ok(edit::move_head(Some(held.session.head), row_id(&row)?, &way))
    }
}

impl NodeOverlay {
    /// Carries an update out; answers with what differs.
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
