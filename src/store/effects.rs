//! Carrying out the effects of an operation on the overlay columns: one arm for each.

use diesel::prelude::*;
use serde_json::Value;

use crate::ids::NodeId;
use crate::oplog::Effect;

use super::error::StoreError;
use super::read::{Held, node_row};
use super::tables::{nodes, sessions, texts};
use super::tx::Tx;

impl Tx<'_> {
    /// Changes the rows as one effect says. `Added` and `Completed` were written with the node itself.
    pub(super) fn carry_out(&mut self, held: &mut Held, op: i64, effect: &Effect) -> Result<(), StoreError> {
        match effect {
            Effect::Added { .. } | Effect::Completed { .. } => Ok(()),
            Effect::Head { to, .. } => {
                held.head_n = self.n_of(held, *to)?;
                held.session.head = *to;
                held.session.head_op = op;
                Ok(())
            }
            Effect::Remembered { node, to, .. } => {
                let n = self.n_of(held, *node)?;
                let child = to.map(|child| self.n_of(held, child)).transpose()?;
                self.set(|conn| diesel::update(nodes::table.find(n)).set(nodes::remembered_n.eq(child)).execute(conn))
            }
            Effect::Moved { node, to, .. } => self.hang(held, *node, *to),
            Effect::Shown { node, to } => {
                let (n, hidden) = (self.n_of(held, *node)?, !to);
                self.set(|conn| diesel::update(nodes::table.find(n)).set(nodes::is_hidden.eq(hidden)).execute(conn))
            }
            Effect::Enabled { node, to } => {
                let (n, to) = (self.n_of(held, *node)?, *to);
                self.set(|conn| diesel::update(nodes::table.find(n)).set(nodes::is_enabled.eq(to)).execute(conn))
            }
            Effect::Muted { node, to } => {
                let (n, to) = (self.n_of(held, *node)?, *to);
                self.set(|conn| diesel::update(nodes::table.find(n)).set(nodes::is_muted.eq(to)).execute(conn))?;
                self.outdate(held, n)
            }
            Effect::Rated { node, to, .. } => self.rate(held, *node, *to),
            Effect::Setting { name, to, .. } => self.setting(held, name, to),
        }
    }

    fn n_of(&mut self, held: &Held, id: NodeId) -> Result<i64, StoreError> {
        let session_n = held.n;
        let row = self.run(|conn| node_row(conn, session_n, id))?;
        Ok(row.ok_or_else(|| StoreError::Database(format!("{id} is in the log, not in the tree")))?.n)
    }

    /// One row must change; anything else means that the tree and the log went apart.
    fn set(
        &mut self,
        work: impl FnOnce(&mut super::conn::Conn) -> Result<usize, diesel::result::Error>,
    ) -> Result<(), StoreError> {
        self.run(|conn| match work(conn)? {
            1 => Ok(()),
            n => Err(StoreError::Database(format!("{n} rows changed where one should"))),
        })
    }

    /// A node hangs below another parent of the same depth: its place among the new siblings is kept in their order.
    fn hang(&mut self, held: &mut Held, node: NodeId, to: NodeId) -> Result<(), StoreError> {
        let (n, parent) = (self.n_of(held, node)?, self.n_of(held, to)?);
        self.set(|conn| diesel::update(nodes::table.find(n)).set(nodes::parent_n.eq(Some(parent))).execute(conn))?;
        self.outdate(held, n)
    }

    fn rate(&mut self, held: &Held, node: NodeId, rating: Option<u8>) -> Result<(), StoreError> {
        let n = self.n_of(held, node)?;
        let text: String = self.run(|conn| Ok(texts::table.find(n).select(texts::metadata).first(conn)?))?;
        let bad = StoreError::Inconsistent { table: "texts", column: "metadata", row: n };
        let mut metadata: serde_json::Map<String, Value> = serde_json::from_str(&text).map_err(|_| bad)?;
        match rating {
            Some(stars) => _ = metadata.insert("rating".into(), stars.into()),
            None => _ = metadata.shift_remove("rating"),
        }
        let text = Value::Object(metadata).to_string();
        self.set(|conn| diesel::update(texts::table.find(n)).set(texts::metadata.eq(text)).execute(conn))
    }

    fn setting(&mut self, held: &mut Held, name: &str, to: &Value) -> Result<(), StoreError> {
        let row = sessions::table.find(held.n);
        let text = to.as_str().map(str::to_owned);
        let json = to.to_string();
        match name {
            "title" => {
                let title = text.unwrap_or_default();
                self.set(|conn| diesel::update(row).set(sessions::title.eq(title)).execute(conn))
            }
            "mode" => {
                let mode = text.unwrap_or_default();
                self.set(|conn| diesel::update(row).set(sessions::mode.eq(mode)).execute(conn))
            }
            "model" => self.set(|conn| diesel::update(row).set(sessions::model.eq(text)).execute(conn)),
            "params" => self.set(|conn| diesel::update(row).set(sessions::params.eq(json)).execute(conn)),
            "plugins" => self.set(|conn| diesel::update(row).set(sessions::plugins.eq(json)).execute(conn)),
            "persona" => {
                let persona = if to.is_null() { None } else { Some(json) };
                self.set(|conn| diesel::update(row).set(sessions::persona.eq(persona)).execute(conn))
            }
            // The row itself is written by the act, which knows the time.
            "trashed" => Ok(()),
            other => Err(StoreError::Database(format!("no setting is named {other}"))),
        }
    }
}
