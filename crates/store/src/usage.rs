//! Usage of a session: the sums of tokens, time and cost of its replies and summaries.

use diesel::connection::DefaultLoadingMode;
use diesel::prelude::*;
use serde_json::Number;

use clotho_core::tree::{Kind, NodeMetadata, ReplyFacts, Role, SummaryMetadata};
use clotho_core::world::number;

use super::error::StoreError;
use super::read::StoreReader;
use super::rows::metadata_from_text;
use super::stored::StoredSession;
use super::tables::{nodes, summaries, texts};

/// The usage of all replies of a session, also of those that are in the stash or undone. Copies count as
/// nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionUsageTotals {
    /// The number of replies that have ended.
    pub replies: u64,
    /// The number of automatic summaries; their tokens, time and cost are included.
    pub summaries: u64,
    /// The number of background calls for plugins and values; their usage is included.
    pub side_calls: u64,
    /// The number of prompt tokens.
    pub prompt: u64,
    /// The number of prompt tokens that came from the providers' caches.
    pub cached: u64,
    /// The number of completion tokens.
    pub completion: u64,
    /// The total time from request to end, in milliseconds.
    pub latency_ms: u64,
    /// The cost in the provider's currency; `None` if no reply has a price.
    pub cost: Option<Number>,
    /// What prompt caching saved, in the same currency; `None` if unknown.
    pub cache_savings: Option<Number>,
    /// The number of replies without a price; the cost does not include them.
    pub replies_without_price: u64,
    /// The number of replies whose price is too large to add; the cost does not include them.
    pub replies_with_price_overflow: u64,
}

impl StoreReader<'_> {
    /// Sums up the usage of a session. All replies are read one by one.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn session_usage(&mut self, stored: &StoredSession) -> Result<SessionUsageTotals, StoreError> {
        let replies = texts::table
            .inner_join(nodes::table.on(nodes::n.eq(texts::n)))
            .filter(nodes::session_n.eq(stored.n))
            .filter(nodes::role.eq(Role::Assistant.code()).or(nodes::kind.eq(Kind::Change.code())))
            .select((texts::n, texts::metadata, nodes::kind));
        let mut spent = SessionUsageTotals::default();
        for row in replies.load_iter::<(i64, String, i16), DefaultLoadingMode>(self.conn)? {
            let (n, metadata, kind) = row?;
            let bad = StoreError::Inconsistent { table: "texts", column: "metadata", row: n };
            let facts: NodeMetadata = metadata_from_text(&metadata).ok_or(bad)?;
            if facts.reply.latency_ms.is_some() && facts.provenance.is_none() {
                if kind == Kind::Change.code() {
                    spent.side_calls += 1;
                } else {
                    spent.replies += 1;
                }
                spent.add_reply(&facts.reply);
                if let Some(values) = facts.values.filter(|values| values.call.latency_ms.is_some()) {
                    spent.side_calls += 1;
                    spent.add_reply(&values.call);
                }
            }
        }
        let summary_rows =
            summaries::table.filter(summaries::session_n.eq(stored.n)).select((summaries::n, summaries::metadata));
        for row in summary_rows.load_iter::<(i64, String), DefaultLoadingMode>(self.conn)? {
            let (n, metadata) = row?;
            let bad = StoreError::Inconsistent { table: "summaries", column: "metadata", row: n };
            let facts: SummaryMetadata = metadata_from_text(&metadata).ok_or(bad)?;
            // A plugin's proposal has no usage of its own.
            if facts.plugin.is_none() {
                spent.summaries += 1;
                spent.add_reply(&facts.reply);
            }
        }
        Ok(spent)
    }
}

impl SessionUsageTotals {
    /// Adds a reply or a summary. Values that are not numbers are ignored, because they may come from an
    /// imported file.
    fn add_reply(&mut self, metadata: &ReplyFacts) {
        let tokens = metadata.token_count.as_ref();
        let count = |value: Option<u64>| value.unwrap_or(0);
        self.prompt = self.prompt.saturating_add(count(tokens.and_then(|tokens| tokens.prompt)));
        self.completion = self.completion.saturating_add(count(tokens.and_then(|tokens| tokens.completion)));
        self.latency_ms = self.latency_ms.saturating_add(count(metadata.latency_ms));
        self.cached = self.cached.saturating_add(count(metadata.cached_tokens.get().copied()));
        if let Some(saved) = &metadata.saved {
            // A value that is too large to add is ignored.
            self.cache_savings = number::add(self.cache_savings.as_ref().unwrap_or(&0.into()), saved.number())
                .ok()
                .or(self.cache_savings.take());
        }
        match metadata.cost.get() {
            Some(cost) => self.add_cost(cost.number()),
            None => self.replies_without_price += 1,
        }
    }

    fn add_cost(&mut self, cost: &Number) {
        // The first cost is also added to 0, so that a value that is too large by itself does not exclude all
        // others.
        let sum = number::add(self.cost.as_ref().unwrap_or(&0.into()), cost);
        match sum {
            Ok(sum) => self.cost = Some(if self.cost.is_some() { sum } else { cost.clone() }),
            Err(number::NumberTooLarge) => self.replies_with_price_overflow += 1,
        }
    }
}
