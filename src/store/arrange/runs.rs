//! Runs: messages that follow each other on one line. One gets a summary, or is brought over to another line.

use std::collections::HashSet;

use diesel::prelude::*;
use diesel::sql_types::BigInt;
use serde_json::Value;

use crate::clock::Ids;
use crate::ids::NodeId;
use crate::oplog::Effect;
use crate::tree::arrange::{self, Summary};
use crate::tree::edit::Refusal;
use crate::tree::{Kind, Role, Status};

use super::super::acts::{Actor, may_be_kept};
use super::super::climb;
use super::super::error::{StoreError, WriteError};
use super::super::held::Held;
use super::super::prepared::prepared;
use super::super::rows::NodeRow;
use super::super::tables::nodes;
use super::super::tx::{Draft, Tx, row_id};
use super::Made;

/// So many leaves are named of the lines that lose texts by a summary.
const NAMED: usize = 100;

#[derive(QueryableByName)]
struct Leaf {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

impl Tx<'_> {
    /// The rows of a run, the oldest first, with the change nodes between its messages: those are nobody's messages. It may
    /// be named in any order.
    pub(super) fn run_of(&mut self, held: &Held, ids: &[NodeId]) -> Result<Vec<NodeRow>, WriteError> {
        let mut named = Vec::with_capacity(ids.len());
        for id in ids {
            let row = self.standing(held, *id, "nodeIds")?;
            if row.status == Status::Generating.code() {
                return Err(Refusal::Generating.into());
            }
            if row.kind == Kind::Root.code() {
                return Err(unfit("the root has no text").into());
            }
            named.push(row);
        }
        named.sort_by_key(|row| row.depth);
        named.dedup_by_key(|row| row.n);
        let (Some(first), Some(last)) = (named.first().cloned(), named.last().cloned()) else {
            return Err(unfit("the messages of the run are expected").into());
        };
        let way = self.run(|conn| climb::climb(conn, last.n, first.depth))?;
        let wanted: HashSet<i64> = named.iter().map(|row| row.n).collect();
        let mut line = Vec::with_capacity(way.len());
        for rung in way.iter().rev() {
            line.push(self.row_n(rung.n)?);
        }
        let found = line.iter().filter(|row| wanted.contains(&row.n)).count();
        let is_whole = line.iter().all(|row| wanted.contains(&row.n) || row.kind == Kind::Change.code());
        if found == wanted.len() && is_whole {
            return Ok(line);
        }
        Err(unfit("a run of one line is expected, with no message left out").into())
    }

    /// A run gets a summary.
    pub(super) fn summarise(
        &mut self,
        (actor, ids): (&Actor, &Ids),
        held: &Held,
        run: &[NodeId],
        content: &str,
        made: &mut Made,
    ) -> Result<Vec<Effect>, WriteError> {
        may_be_kept("content", content)?;
        let line = self.run_of(held, run)?;
        let last = line.last().ok_or(unfit("the messages of the run are expected"))?;
        let mut children = Vec::new();
        for child in self.children(last)? {
            let child = row_id(&child)?;
            self.movable(held, child)?;
            children.push(child);
        }
        self.leaving(&line, made)?;
        let messages: Vec<&NodeRow> = line.iter().filter(|row| row.kind != Kind::Change.code()).collect();
        let enabled = messages.iter().filter(|row| row.is_enabled).map(|row| row_id(row)).collect::<Result<_, _>>()?;
        let names: Vec<Value> =
            messages.iter().map(|row| Ok(row_id(row)?.to_string().into())).collect::<Result<_, StoreError>>()?;
        let node = NodeId::new(ids.next(actor.at));
        let mut draft = Draft::new(node, Role::System, Kind::Summary, ids.seed(), actor.at);
        draft.author = Some(actor.user);
        content.clone_into(&mut draft.content);
        draft.metadata.insert("summarizedFrom".into(), names.into());
        self.insert(held.n, held.session.edits, Some(last), &draft)?;
        made.nodes.push(node);
        let remembered = last.remembered_n.map(|n| self.row_n(n)).transpose()?.filter(|row| !row.is_hidden);
        let remembered = remembered.as_ref().map(row_id).transpose()?;
        let summary = Summary { node, enabled, last: row_id(last)?, children, remembered };
        let mut effects = arrange::summarise(summary, held.session.head);
        effects.extend(self.labels_follow(held, last.n, node)?);
        Ok(effects)
    }

    /// What stands below a node, in its order.
    fn children(&mut self, row: &NodeRow) -> Result<Vec<NodeRow>, StoreError> {
        let below = nodes::table.filter(nodes::parent_n.eq(row.n)).filter(nodes::is_hidden.eq(false));
        self.run(|conn| Ok(prepared(below.order(nodes::n).select(NodeRow::as_select())).load(conn)?))
    }

    /// Notes the leaves of the lines that leave a run before its end: they lose its texts too.
    fn leaving(&mut self, line: &[NodeRow], made: &mut Made) -> Result<(), StoreError> {
        for (row, next) in line.iter().zip(line.iter().skip(1)) {
            for side in self.children(row)?.into_iter().filter(|side| side.n != next.n) {
                let query = diesel::sql_query(
                    "WITH RECURSIVE below (n) AS (SELECT n FROM nodes WHERE n = $1 UNION ALL \
                       SELECT c.n FROM below JOIN nodes c ON c.parent_n = below.n AND NOT c.is_hidden) \
                     SELECT n FROM below WHERE NOT EXISTS ( \
                       SELECT 1 FROM nodes k WHERE k.parent_n = below.n AND NOT k.is_hidden) ORDER BY n",
                );
                let leaves: Vec<Leaf> = self.run(|conn| Ok(prepared(query.bind::<BigInt, _>(side.n)).load(conn)?))?;
                made.affected += leaves.len();
                for leaf in leaves.iter().take(NAMED.saturating_sub(made.leaves.len())) {
                    let leaf = row_id(&self.row_n(leaf.n)?)?;
                    made.leaves.push(leaf);
                }
            }
        }
        Ok(())
    }
}

fn unfit(message: &str) -> Refusal {
    Refusal::Invalid { field: "nodeIds", message: message.to_owned() }
}
