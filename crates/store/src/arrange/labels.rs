//! Labels: names on nodes. A following label moves with appended nodes, so it names a branch.

use diesel::prelude::*;

use clotho_core::ids::NodeId;
use clotho_core::oplog::{Effect, LabelTarget};
use clotho_core::tree::Status;
use clotho_core::tree::arrange::{self, normalize_name};
use clotho_core::tree::edit::TreeError;

use super::super::conn::{Conn, IdBytes};
use super::super::error::{StoreError, WriteError};
use super::super::prepared::prepared;
use super::super::read::StoreReader;
use super::super::stored::StoredSession;
use super::super::tables::{labels, nodes};
use super::super::tx::{Tx, row_id};
use super::super::writer_cache::{LabelRow, NumberedTable, WriterCache};

/// The maximum number of labels in a session.
const MAX_LABELS: usize = 1_000;

/// A label with its node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    pub name: String,
    pub node: NodeId,
    /// Whether it moves with appended nodes.
    pub following: bool,
    /// Whether its node is in the tree; otherwise it is in the stash or was undone.
    pub is_in_tree: bool,
}

impl StoreReader<'_> {
    /// Returns the labels of a session, ordered by name.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn labels(&mut self, stored: &StoredSession) -> Result<Vec<Label>, StoreError> {
        let of_session = labels::table
            .inner_join(nodes::table.on(nodes::n.eq(labels::node_n)))
            .filter(labels::session_n.eq(stored.n))
            .order(labels::name)
            .select((labels::name, nodes::id, labels::following, nodes::is_hidden, labels::n));
        let rows: Vec<(String, IdBytes, bool, bool, i64)> = prepared(of_session).load(self.conn)?;
        let read = |(name, id, following, is_hidden, row): (String, IdBytes, bool, bool, i64)| {
            let bad = StoreError::Inconsistent { table: "labels", column: "node_n", row };
            Ok(Label { name, node: NodeId::from_slice(id.bytes()).ok_or(bad)?, following, is_in_tree: !is_hidden })
        };
        rows.into_iter().map(read).collect()
    }
}

impl Tx<'_> {
    /// Returns the current labels of a session.
    pub(in super::super) fn label_rows(&mut self, stored: &StoredSession) -> Result<Vec<LabelRow>, StoreError> {
        let session_n = stored.n;
        self.run_with_cache(|conn, memory| {
            memory.labels(session_n, || {
                let of_session = labels::table.filter(labels::session_n.eq(session_n)).order(labels::name);
                let rows: Vec<(String, i64, bool)> =
                    prepared(of_session.select((labels::name, labels::node_n, labels::following))).load(conn)?;
                let read = |(name, node_n, following)| LabelRow { name, node_n, following };
                Ok(rows.into_iter().map(read).collect())
            })
        })
    }

    /// Puts a label on a node. A name that another node has is refused, because that node would lose it.
    pub(super) fn add_label(
        &mut self,
        stored: &StoredSession,
        node: NodeId,
        name: &str,
        following: bool,
    ) -> Result<Vec<Effect>, WriteError> {
        let row = self.node_in_tree(stored, node, "nodeId")?;
        if row.status == Status::Generating.code() {
            return Err(TreeError::Generating.into());
        }
        let name = arrange::validate_name("name", name)?;
        let all = self.label_rows(stored)?;
        let existing = all.iter().find(|label| normalize_name(&label.name) == name);
        if let Some(other) = existing.filter(|existing| existing.node_n != row.n) {
            let node = row_id(&self.row_by_number(other.node_n)?)?;
            return Err(TreeError::NameTaken { name, node }.into());
        }
        // A name that was stored before names were normalized stays as it is.
        let name = existing.map_or(name, |existing| existing.name.clone());
        if existing.is_none() && all.len() >= MAX_LABELS {
            return Err(TreeError::Conflict(format!("a session has at most {MAX_LABELS} labels")).into());
        }
        let from = existing.map(|existing| LabelTarget { node, following: existing.following });
        let to = Some(LabelTarget { node, following });
        Ok(if from == to { Vec::new() } else { vec![Effect::Labelled { name, from, to }] })
    }

    /// Removes a label.
    pub(super) fn remove_label(&mut self, stored: &StoredSession, name: &str) -> Result<Vec<Effect>, WriteError> {
        let name = normalize_name(name);
        let existing = self.label_rows(stored)?.into_iter().find(|label| normalize_name(&label.name) == name);
        let LabelRow { name, node_n, following } =
            existing.ok_or(TreeError::ReferenceNotFound { what: "the label", field: "name" })?;
        let node = row_id(&self.row_by_number(node_n)?)?;
        Ok(vec![Effect::Labelled { name, from: Some(LabelTarget { node, following }), to: None }])
    }

    /// Moves the following labels of a node to an appended node.
    pub(in super::super) fn move_following_labels(
        &mut self,
        stored: &StoredSession,
        at_n: i64,
        to: NodeId,
    ) -> Result<Vec<Effect>, StoreError> {
        let follows = |label: &LabelRow| label.following && label.node_n == at_n;
        let named: Vec<LabelRow> = self.label_rows(stored)?.into_iter().filter(follows).collect();
        let mut effects = Vec::with_capacity(named.len());
        for LabelRow { name, .. } in named {
            let from = Some(LabelTarget { node: row_id(&self.row_by_number(at_n)?)?, following: true });
            effects.push(Effect::Labelled { name, from, to: Some(LabelTarget { node: to, following: true }) });
        }
        Ok(effects)
    }

    /// Adds, moves or removes a label, as an effect says.
    pub(in super::super) fn apply_label_effect(
        &mut self,
        stored: &StoredSession,
        name: &str,
        to: Option<LabelTarget>,
    ) -> Result<(), StoreError> {
        let (session_n, named) = (stored.n, labels::name.eq(name));
        let own = labels::session_n.eq(session_n);
        let place = match to {
            Some(mark) => Some((self.node_number(stored, mark.node)?, mark.following)),
            None => None,
        };
        self.run_with_cache(|conn, memory| {
            memory.forget_labels(session_n);
            let of_name = labels::table.filter(own).filter(named);
            let Some((node_n, following)) = place else {
                diesel::delete(of_name).execute(conn)?;
                return Ok(());
            };
            let values = (labels::node_n.eq(node_n), labels::following.eq(following));
            if diesel::update(of_name).set(values).execute(conn)? == 0 {
                put_label(conn, memory, session_n, name, node_n, following)?;
            }
            Ok(())
        })
    }
}

/// Inserts a label with the row of its node and whether it is following.
pub fn put_label(
    conn: &mut Conn,
    memory: &mut WriterCache,
    session_n: i64,
    name: &str,
    node_n: i64,
    following: bool,
) -> Result<(), StoreError> {
    let newest = || labels::table.select(diesel::dsl::max(labels::n)).get_result(conn);
    let n = memory.next_number(NumberedTable::Labels, newest)?;
    let values = (labels::node_n.eq(node_n), labels::following.eq(following));
    let row = (labels::n.eq(n), labels::session_n.eq(session_n), labels::name.eq(name), values);
    diesel::insert_into(labels::table).values(row).execute(conn)?;
    Ok(())
}
