//! Applies the effects of an operation to the overlay columns, one match arm for each kind.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Nullable};
use serde_json::Value;

use clotho_core::ids::NodeId;
use clotho_core::letters::fold_base_letters;
use clotho_core::oplog::Effect;

use super::ancestors;
use super::conn::Conn;
use super::error::StoreError;
use super::prepared::update;
use super::session_settings::tags_from_json;
use super::session_tags;
use super::stored::StoredSession;
use super::tables::{nodes, sessions};
use super::tx::{Tx, has_other_child};

impl Tx<'_> {
    /// Changes the rows as one effect says. `Added` and `Completed` were already written with the node.
    pub(super) fn apply_effect(
        &mut self,
        stored: &mut StoredSession,
        op: i64,
        effect: &Effect,
    ) -> Result<(), StoreError> {
        match effect {
            Effect::Added { .. } | Effect::Completed { .. } => Ok(()),
            Effect::Head { to, .. } => {
                stored.head_n = self.node_number(stored, *to)?;
                stored.session.head = *to;
                stored.session.head_op = op;
                Ok(())
            }
            Effect::Remembered { node, to, .. } => {
                let n = self.node_number(stored, *node)?;
                let child = to.map(|child| self.node_number(stored, child)).transpose()?;
                self.update_row(|conn| {
                    update(nodes::table, nodes::remembered_n.eq(child), nodes::n.eq(n)).execute(conn)
                })?;
                self.writer_cache.change_node(n, |row| row.remembered_n = child);
                Ok(())
            }
            Effect::Moved { node, to, .. } => self.reparent(stored, *node, *to),
            Effect::Shown { node, to } => self.set_in_tree(stored, *node, *to),
            Effect::Enabled { node, to } => {
                let n = self.node_number(stored, *node)?;
                self.update_row(|conn| update(nodes::table, nodes::is_enabled.eq(*to), nodes::n.eq(n)).execute(conn))?;
                self.writer_cache.change_node(n, |row| row.is_enabled = *to);
                Ok(())
            }
            Effect::Muted { node, to } => {
                let n = self.node_number(stored, *node)?;
                self.update_row(|conn| update(nodes::table, nodes::is_muted.eq(*to), nodes::n.eq(n)).execute(conn))?;
                self.writer_cache.change_node(n, |row| row.is_muted = *to);
                self.edited_nodes.push(n);
                Ok(())
            }
            Effect::Revised { node, to, .. } => {
                let n = self.node_number(stored, *node)?;
                self.update_row(|conn| update(nodes::table, nodes::revision.eq(*to), nodes::n.eq(n)).execute(conn))?;
                self.writer_cache.change_node(n, |row| row.revision = *to);
                self.edited_nodes.push(n);
                Ok(())
            }
            Effect::Unread { node, to } => {
                let n = self.node_number(stored, *node)?;
                self.update_row(|conn| update(nodes::table, nodes::is_unread.eq(*to), nodes::n.eq(n)).execute(conn))?;
                self.writer_cache.change_node(n, |row| row.is_unread = *to);
                Ok(())
            }
            Effect::Rated { node, to, .. } => {
                let (n, stars) = (self.node_number(stored, *node)?, to.map(i16::from));
                self.update_row(|conn| update(nodes::table, nodes::rating.eq(stars), nodes::n.eq(n)).execute(conn))?;
                self.writer_cache.change_node(n, |row| row.rating = stars);
                Ok(())
            }
            Effect::Purged { node, .. } => self.apply_purge(stored, *node),
            Effect::Detached { .. } | Effect::Attached { .. } | Effect::Renamed { .. } => {
                self.apply_stash_effect(stored, effect)
            }
            Effect::Labelled { name, to, .. } => self.apply_label_effect(stored, name, *to),
            Effect::Setting { name, to, .. } => self.apply_setting(stored, name, to),
        }
    }

    /// Runs a statement that must change exactly one row. Any other number means that tree and log disagree.
    pub(super) fn update_row(
        &mut self,
        work: impl FnOnce(&mut Conn) -> Result<usize, diesel::result::Error>,
    ) -> Result<(), StoreError> {
        self.run(|conn| match work(conn)? {
            1 => Ok(()),
            n => Err(StoreError::Database(format!("{n} rows changed, expected one"))),
        })
    }

    /// Moves a node out of the tree or back into it, and updates the counts.
    fn set_in_tree(&mut self, stored: &StoredSession, node: NodeId, to: bool) -> Result<(), StoreError> {
        let row = self.logged_row(stored, node)?;
        let n = row.n;
        self.update_row(|conn| update(nodes::table, nodes::is_hidden.eq(!to), nodes::n.eq(n)).execute(conn))?;
        self.writer_cache.change_node(n, |row| row.is_hidden = !to);
        if let Some(parent_n) = row.parent_n.filter(|_| row.is_hidden == to) {
            let sign = if to { 1 } else { -1 };
            let has_below = self.run(|conn| Ok(has_other_child(conn, n, 0)?))?;
            self.count_changes.nodes += sign;
            self.count_changes.leaves += sign * i64::from(!has_below);
            self.count_changes.leaves -= sign * self.leaf_count_without(parent_n, n)?;
            self.writer_cache.forget_children(parent_n);
        }
        Ok(())
    }

    /// Returns 1 if the row is in the tree and has no child other than `child_n`, else 0.
    fn leaf_count_without(&mut self, n: i64, child_n: i64) -> Result<i64, StoreError> {
        let is_hidden = self.row_by_number(n)?.is_hidden;
        let has_others = self.run(|conn| Ok(has_other_child(conn, n, child_n)?))?;
        Ok(i64::from(!is_hidden && !has_others))
    }

    /// Moves a node below another parent without changing the order of siblings. Columns derived from the path
    /// are recomputed below it.
    fn reparent(&mut self, stored: &StoredSession, node: NodeId, to: NodeId) -> Result<(), StoreError> {
        let (row, above) = (self.logged_row(stored, node)?, self.logged_row(stored, to)?);
        let Some(old_n) = row.parent_n else {
            return self.run(|_| Err(StoreError::Database(format!("{node} is the root and cannot be moved"))));
        };
        // A node cannot move below itself.
        if self.run(|conn| ancestors::ancestor_at(conn, above.n, row.depth))? == Some(row.n) {
            return self.run(|_| Err(StoreError::Database(format!("{node} cannot be below itself"))));
        }
        let old = self.row_by_number(old_n)?;
        // Update the leaf count, then the parent.
        if !row.is_hidden && old.n != above.n {
            self.count_changes.leaves +=
                self.leaf_count_without(old.n, row.n)? - self.leaf_count_without(above.n, row.n)?;
        }
        let (parent_n, own) = (nodes::parent_n.eq(Some(above.n)), nodes::n.eq(row.n));
        self.update_row(|conn| update(nodes::table, parent_n, own).execute(conn))?;
        self.writer_cache.forget_nodes();
        self.edited_nodes.push(row.n);
        // Shift the columns that are derived from the path.
        let (deeper, later) = (above.depth - old.depth, above.turn - old.turn);
        if (deeper, later) != (0, 0) {
            self.run(|conn| shift_depth_and_turn(conn, row.n, deeper, later))?;
        }
        let farther = above.since_keyframe + 1 - row.since_keyframe;
        if row.since_keyframe != 0 && farther != 0 {
            self.run(|conn| shift_keyframe_distance(conn, row.n, farther))?;
        }
        if !row.begins_rules && row.rules_n != above.rules_n {
            self.run(|conn| propagate_rules(conn, row.n, above.rules_n))?;
        }
        Ok(())
    }

    fn apply_setting(&mut self, stored: &mut StoredSession, name: &str, to: &Value) -> Result<(), StoreError> {
        let row = sessions::table.find(stored.n);
        let text = to.as_str().map(str::to_owned);
        let json = to.to_string();
        match name {
            "title" => {
                let title = text.unwrap_or_default();
                let named = (sessions::title_form.eq(Some(fold_base_letters(&title))), sessions::title.eq(title));
                self.update_row(|conn| diesel::update(row).set(named).execute(conn))
            }
            "mode" => {
                let mode = text.unwrap_or_default();
                self.update_row(|conn| diesel::update(row).set(sessions::mode.eq(mode)).execute(conn))
            }
            "model" => self.update_row(|conn| diesel::update(row).set(sessions::model.eq(text)).execute(conn)),
            "valuesModel" => {
                self.update_row(|conn| diesel::update(row).set(sessions::values_model.eq(text)).execute(conn))
            }
            "preset" => self.update_row(|conn| diesel::update(row).set(sessions::preset.eq(text)).execute(conn)),
            "profile" => {
                self.update_row(|conn| diesel::update(row).set(sessions::connection_profile_id.eq(text)).execute(conn))
            }
            "scripts" => self.update_row(|conn| diesel::update(row).set(sessions::scripts.eq(json)).execute(conn)),
            "recall" => {
                let recall = if to.is_null() { None } else { Some(json) };
                self.update_row(|conn| diesel::update(row).set(sessions::recall.eq(recall)).execute(conn))
            }
            "note" => {
                let note = if to.is_null() { None } else { Some(json) };
                self.update_row(|conn| diesel::update(row).set(sessions::note.eq(note)).execute(conn))
            }
            "summaries" => {
                let summaries = if to.is_null() { None } else { Some(json) };
                self.update_row(|conn| diesel::update(row).set(sessions::summaries.eq(summaries)).execute(conn))
            }
            "requested" => {
                let requested = if to.is_null() { None } else { Some(json) };
                self.update_row(|conn| diesel::update(row).set(sessions::requested.eq(requested)).execute(conn))
            }
            "params" => self.update_row(|conn| diesel::update(row).set(sessions::params.eq(json)).execute(conn)),
            "plugins" => self.update_row(|conn| diesel::update(row).set(sessions::plugins.eq(json)).execute(conn)),
            "persona" => {
                let persona = if to.is_null() { None } else { Some(json) };
                self.update_row(|conn| diesel::update(row).set(sessions::persona.eq(persona)).execute(conn))
            }
            "cards" => self.update_row(|conn| diesel::update(row).set(sessions::cards.eq(json)).execute(conn)),
            "folder" => self.update_row(|conn| diesel::update(row).set(sessions::folder.eq(text)).execute(conn)),
            "tags" => {
                let tags = tags_from_json(to).unwrap_or_default();
                self.run(|conn| session_tags::replace(conn, stored.n, &tags))
            }
            "isPinned" => {
                let is_pinned = to.as_bool().unwrap_or_default();
                self.update_row(|conn| diesel::update(row).set(sessions::is_pinned.eq(is_pinned)).execute(conn))
            }
            // The session's `trashed` column is set by the caller, which knows the time.
            "trashed" => Ok(()),
            other => self.run(|_| Err(StoreError::Database(format!("no setting is named {other}")))),
        }
    }
}

/// Shifts depth and turn of a moved node and its descendants.
fn shift_depth_and_turn(conn: &mut Conn, n: i64, deeper: i32, later: i32) -> Result<(), StoreError> {
    let query = diesel::sql_query(
        "UPDATE nodes SET depth = depth + $1, turn = turn + $2 WHERE n IN ( \
           WITH RECURSIVE below (n) AS (SELECT n FROM nodes WHERE n = $3 UNION ALL \
             SELECT c.n FROM below JOIN nodes c ON c.parent_n = below.n) SELECT n FROM below)",
    );
    query.bind::<Integer, _>(deeper).bind::<Integer, _>(later).bind::<BigInt, _>(n).execute(conn)?;
    Ok(())
}

/// Shifts the distance to the last keyframe of a moved node and its descendants, down to nodes with their own
/// keyframe.
fn shift_keyframe_distance(conn: &mut Conn, n: i64, farther: i32) -> Result<(), StoreError> {
    let query = diesel::sql_query(
        "UPDATE nodes SET since_keyframe = since_keyframe + $1 WHERE n IN ( \
           WITH RECURSIVE below (n) AS (SELECT n FROM nodes WHERE n = $2 UNION ALL \
             SELECT c.n FROM below JOIN nodes c ON c.parent_n = below.n AND c.since_keyframe <> 0) SELECT n FROM below)",
    );
    query.bind::<Integer, _>(farther).bind::<BigInt, _>(n).execute(conn)?;
    Ok(())
}

/// Sets the active rules of a moved node and its descendants, down to nodes where other rules begin.
fn propagate_rules(conn: &mut Conn, n: i64, rules_n: Option<i64>) -> Result<(), StoreError> {
    let query = diesel::sql_query(
        "UPDATE nodes SET rules_n = $1 WHERE n IN ( \
           WITH RECURSIVE below (n) AS (SELECT n FROM nodes WHERE n = $2 UNION ALL \
             SELECT c.n FROM below JOIN nodes c ON c.parent_n = below.n AND NOT c.begins_rules) SELECT n FROM below)",
    );
    query.bind::<Nullable<BigInt>, _>(rules_n).bind::<BigInt, _>(n).execute(conn)?;
    Ok(())
}
