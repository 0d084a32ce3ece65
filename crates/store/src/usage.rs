//! What the replies of a session took, and the summaries that were made of it: the sums of what stands on its nodes and with
//! those.

use diesel::connection::DefaultLoadingMode;
use diesel::prelude::*;
use serde_json::{Map, Number, Value};

use clotho_core::tree::{Kind, Role};
use clotho_core::world::number;

use super::error::StoreError;
use super::read::StoreReader;
use super::rows::object_from_text;
use super::stored::StoredSession;
use super::summaries::PLUGIN_KEY;
use super::tables::{nodes, summaries, texts};

/// What a reply's metadata tells by of the call that kept its values.
pub const VALUES_KEY: &str = "values";

/// What the replies of a session took, wherever they are now: also in the stash, and taken back. Copies took nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionUsageTotals {
    /// How many replies have ended.
    pub replies: u64,
    /// How many summaries were made of what prompts did not hold any more; their tokens, time and cost count too.
    pub summaries: u64,
    /// How many other calls were made in the background, for plugins and for values; what they took counts too.
    pub side_calls: u64,
    /// Tokens that models read.
    pub prompt: u64,
    /// Those of them that the providers had read before.
    pub cached: u64,
    /// Tokens that models wrote.
    pub completion: u64,
    /// From when each was asked for to its end, in milliseconds.
    pub latency_ms: u64,
    /// In the provider's currency; nothing where no reply has a price.
    pub cost: Option<Number>,
    /// What the providers' memory saved of that, in the same currency; nothing where nobody knows.
    pub cache_savings: Option<Number>,
    /// Replies without a price, which the cost leaves out.
    pub replies_without_price: u64,
    /// Replies with a price that is too big to be added, which the cost leaves out too.
    pub replies_with_price_overflow: u64,
}

impl StoreReader<'_> {
    /// Sums up what the replies of a session took. Every reply is looked at, one after the other.
    ///
    /// # Errors
    /// The database fails or a row is damaged.
    pub fn session_usage(&mut self, held: &StoredSession) -> Result<SessionUsageTotals, StoreError> {
        let replies = texts::table
            .inner_join(nodes::table.on(nodes::n.eq(texts::n)))
            .filter(nodes::session_n.eq(held.n))
            .filter(nodes::role.eq(Role::Assistant.code()).or(nodes::kind.eq(Kind::Change.code())))
            .select((texts::n, texts::metadata, nodes::kind));
        let mut spent = SessionUsageTotals::default();
        for row in replies.load_iter::<(i64, String, i16), DefaultLoadingMode>(self.conn)? {
            let (n, metadata, kind) = row?;
            let bad = StoreError::Inconsistent { table: "texts", column: "metadata", row: n };
            let known = object_from_text(&metadata).ok_or(bad)?;
            if known.contains_key("latencyMs") && !known.contains_key("provenance") {
                if kind == Kind::Change.code() {
                    spent.side_calls += 1;
                } else {
                    spent.replies += 1;
                }
                spent.add_reply(&known);
                if let Some(Value::Object(values)) = known.get(VALUES_KEY).filter(|own| own.get("latencyMs").is_some())
                {
                    spent.side_calls += 1;
                    spent.add_reply(values);
                }
            }
        }
        let made = summaries::table.filter(summaries::session_n.eq(held.n)).select((summaries::n, summaries::metadata));
        for row in made.load_iter::<(i64, String), DefaultLoadingMode>(self.conn)? {
            let (n, metadata) = row?;
            let bad = StoreError::Inconsistent { table: "summaries", column: "metadata", row: n };
            let known = object_from_text(&metadata).ok_or(bad)?;
            // What a plugin proposed took nothing by itself.
            if !known.contains_key(PLUGIN_KEY) {
                spent.summaries += 1;
                spent.add_reply(&known);
            }
        }
        Ok(spent)
    }
}

impl SessionUsageTotals {
    /// Adds a reply or a summary. What is no number there says nothing: a file of another server may have brought it.
    fn add_reply(&mut self, known: &Map<String, Value>) {
        let tokens = known.get("tokenCount");
        let count = |value: Option<&Value>| value.and_then(Value::as_u64).unwrap_or(0);
        self.prompt = self.prompt.saturating_add(count(tokens.and_then(|tokens| tokens.get("prompt"))));
        self.completion = self.completion.saturating_add(count(tokens.and_then(|tokens| tokens.get("completion"))));
        self.latency_ms = self.latency_ms.saturating_add(count(known.get("latencyMs")));
        self.cached = self.cached.saturating_add(count(known.get("cachedTokens")));
        if let Some(Value::Number(saved)) = known.get("saved") {
            // One that is too big to be added is none that anybody saved.
            self.cache_savings =
                number::add(self.cache_savings.as_ref().unwrap_or(&0.into()), saved).ok().or(self.cache_savings.take());
        }
        match known.get("cost") {
            Some(Value::Number(cost)) => self.add_cost(cost),
            _ => self.replies_without_price += 1,
        }
    }

    fn add_cost(&mut self, cost: &Number) {
        // The first is added to nothing, so that one that is too big by itself does not keep all others out.
        let sum = number::add(self.cost.as_ref().unwrap_or(&0.into()), cost);
        match sum {
            Ok(sum) => self.cost = Some(if self.cost.is_some() { sum } else { cost.clone() }),
            Err(number::NumberTooLarge) => self.replies_with_price_overflow += 1,
        }
    }
}
