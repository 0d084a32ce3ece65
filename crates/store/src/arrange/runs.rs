//! Runs: messages that follow each other on one branch. A run can be summarized or merged into another branch.

use diesel::prelude::*;
use diesel::sql_types::BigInt;

use clotho_core::clock::IdGenerator;
use clotho_core::ids::NodeId;
use clotho_core::oplog::Effect;
use clotho_core::tree::arrange::{self, SummaryPlacement};
use clotho_core::tree::edit::TreeError;
use clotho_core::tree::message_run::{self, RunNode};
use clotho_core::tree::{Kind, Role, Status};

use super::super::ancestors;
use super::super::error::{StoreError, WriteError};
use super::super::prepared::prepared;
use super::super::rows::NodeRow;
use super::super::stored::StoredSession;
use super::super::tables::nodes;
use super::super::tree_writes::{Actor, check_storable_text};
use super::super::tx::{NodeDraft, Tx, row_id};
use super::ArrangeReport;

/// The maximum number of reported leaves of other branches that lose texts to a summary.
const MAX_LISTED_LEAVES: usize = 100;

#[derive(QueryableByName)]
struct RunLeafRow {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

impl Tx<'_> {
    /// Returns the rows of a run, oldest first, with the change nodes between its messages. The ids may be in
    /// any order.
    pub(super) fn run_of(&mut self, stored: &StoredSession, ids: &[NodeId]) -> Result<Vec<NodeRow>, WriteError> {
        let rows: Vec<NodeRow> =
            ids.iter().map(|id| self.node_in_tree(stored, *id, "nodeIds")).collect::<Result<_, _>>()?;
        let named = members(&rows)?;
        let (first, last) = message_run::run_ends(&named)?;
        let way = self.run(|conn| ancestors::ancestors_up_to_depth(conn, last.id, first.depth))?;
        let line: Vec<NodeRow> = way.iter().rev().map(|rung| self.row_by_number(rung.n)).collect::<Result<_, _>>()?;
        message_run::check_contiguous(&named, &members(&line)?)?;
        Ok(line)
    }

    /// Adds a summary below a run, disables the run's messages and moves its children below the summary.
    pub(super) fn summarise(
        &mut self,
        actor: &Actor,
        stored: &StoredSession,
        ids: &IdGenerator,
        run: &[NodeId],
        content: &str,
        report: &mut ArrangeReport,
    ) -> Result<Vec<Effect>, WriteError> {
        check_storable_text("content", content)?;
        // Check the run and its children.
        let line = self.run_of(stored, run)?;
        message_run::check_has_message(&members(&line)?)?;
        let last = line.last().ok_or(TreeError::NotFound("the message"))?;
        let mut children = Vec::new();
        for child in self.children(last)? {
            let child = row_id(&child)?;
            self.movable_node(stored, child)?;
            children.push(child);
        }
        self.note_affected_leaves(&line, report)?;
        // Write the summary node.
        let messages: Vec<&NodeRow> = line.iter().filter(|row| row.kind != Kind::Change.code()).collect();
        let enabled = messages.iter().filter(|row| row.is_enabled).map(|row| row_id(row)).collect::<Result<_, _>>()?;
        let names = messages.iter().map(|row| row_id(row)).collect::<Result<_, StoreError>>()?;
        let node = NodeId::new(ids.next_id(actor.at));
        let mut draft = NodeDraft::new(node, Role::System, Kind::Summary, ids.next_seed(), actor.at);
        draft.author = Some(actor.user);
        content.clone_into(&mut draft.content);
        draft.metadata.summarized_from = Some(names);
        self.insert(stored.n, stored.session.edits, Some(last), &draft)?;
        report.nodes.push(node);
        // Plan the effects.
        let remembered = last.remembered_n.map(|n| self.row_by_number(n)).transpose()?.filter(|row| !row.is_hidden);
        let remembered = remembered.as_ref().map(row_id).transpose()?;
        let summary = SummaryPlacement { node, enabled, last: row_id(last)?, children, remembered };
        let mut effects = arrange::summary_effects(summary, stored.session.head);
        effects.extend(self.move_following_labels(stored, last.n, node)?);
        Ok(effects)
    }

    /// Returns the children of a node in the tree, in their order.
    fn children(&mut self, row: &NodeRow) -> Result<Vec<NodeRow>, StoreError> {
        let below = nodes::table.filter(nodes::parent_n.eq(row.n)).filter(nodes::is_hidden.eq(false));
        self.run(|conn| Ok(prepared(below.order(nodes::n).select(NodeRow::as_select())).load(conn)?))
    }

    /// Reports the leaves of branches that fork inside a run, because they lose its texts too.
    fn note_affected_leaves(&mut self, line: &[NodeRow], report: &mut ArrangeReport) -> Result<(), StoreError> {
        for (row, next) in line.iter().zip(line.iter().skip(1)) {
            for side in self.children(row)?.into_iter().filter(|side| side.n != next.n) {
                let query = diesel::sql_query(
                    "WITH RECURSIVE below (n) AS (SELECT n FROM nodes WHERE n = $1 UNION ALL \
                       SELECT c.n FROM below JOIN nodes c ON c.parent_n = below.n AND NOT c.is_hidden) \
                     SELECT n FROM below WHERE NOT EXISTS ( \
                       SELECT 1 FROM nodes k WHERE k.parent_n = below.n AND NOT k.is_hidden) ORDER BY n",
                );
                let leaves: Vec<RunLeafRow> =
                    self.run(|conn| Ok(prepared(query.bind::<BigInt, _>(side.n)).load(conn)?))?;
                report.affected_count += leaves.len();
                for leaf in leaves.iter().take(MAX_LISTED_LEAVES.saturating_sub(report.affected_leaves.len())) {
                    let leaf = row_id(&self.row_by_number(leaf.n)?)?;
                    report.affected_leaves.push(leaf);
                }
            }
        }
        Ok(())
    }
}

/// Converts rows for the checks of a run.
fn members(rows: &[NodeRow]) -> Result<Vec<RunNode<i64>>, StoreError> {
    let member = |row: &NodeRow| {
        let bad = |column| move || StoreError::Inconsistent { table: "nodes", column, row: row.n };
        let kind = Kind::from_code(row.kind).ok_or_else(bad("kind"))?;
        let status = Status::from_code(row.status).ok_or_else(bad("status"))?;
        Ok(RunNode { id: row.n, depth: row.depth, kind, status })
    };
    rows.iter().map(member).collect()
}
