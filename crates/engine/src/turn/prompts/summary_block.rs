//! The summary block of a prompt: summaries of messages that the prompt no longer holds (`docs/memory.md`). A summary
//! is valid if all its messages are on this branch, in the same order and without gaps, before the start of the
//! history. A summary of another branch, or of messages that were disabled or moved since, is ignored.
//!
//! The block changes when the history is cut at another place, and otherwise stays the same, so that the provider's
//! prefix cache still hits. The exception: it also changes if it covers less than half of what it could cover by now.
//! If a reply uses other summaries than the world has, it writes them to the world, so they follow the branch.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use clotho_compat::prompt::preset::TracePiece;
use clotho_compat::prompt::summaries::{self, SummarySpan};
use clotho_compat::prompt::{OutgoingMessage, TokenMeasure};
use clotho_core::ids::{NodeId, SummaryId};
use clotho_core::tree::reply_facts::SummariesTrace;
use clotho_core::tree::{Role, TraceHead};
use clotho_core::world::{Pointer, StateChange, StateOperation, WorldSection};
use clotho_plugin::Permission;
use clotho_store::{PathFilter, StoreError, StoreReader, StoredNode, StoredSession, StoredSummary, hash_of_rows};

use super::prompt_bounds::LastPrompt;
use crate::turn::rules::hooks::SERVER;
use crate::turn::snapshot::TurnSnapshot;

/// The name of the block in a trace.
pub const SLOT: &str = "summary";
/// The reason given in operations of summaries.
const WHY: &str = "summary";

/// The summaries that are valid on a branch.
pub struct BranchSummaries {
    /// The rows of the branch, oldest first.
    pub rows: Vec<i64>,
    /// The index of each row in `rows`.
    pub places: HashMap<i64, usize>,
    pub all: Vec<StoredSummary>,
    /// The span of each summary, in the order of `all`.
    pub spans: Vec<SummarySpan>,
}

/// What a prompt asks of its summaries.
#[derive(Clone, Copy)]
pub struct SummaryRequest<'r> {
    /// The largest number of tokens of the block.
    pub budget: usize,
    /// The tokens of the whole prompt, for the trace.
    pub prompt_tokens: usize,
    /// The row of the first message of the history; 0 for an unwritten one.
    pub first: Option<i64>,
    pub last_prompt: Option<&'r LastPrompt>,
}

/// The summary block of one prompt.
#[derive(Debug, Clone, Default)]
pub struct SummaryBlock {
    text: String,
    /// The tokens of the block.
    pub tokens: usize,
    /// The part of the trace; null if the session has no automatic summaries.
    pub trace: Option<SummariesTrace>,
    /// Sets the world's summary, if it changed.
    pub operation: Option<StateOperation>,
}

impl BranchSummaries {
    /// Reads the summaries that are valid at a node.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn at_node(
        reader: &mut StoreReader<'_>,
        held: &StoredSession,
        at: &StoredNode,
        measure: &TokenMeasure,
    ) -> Result<Self, StoreError> {
        // A message that a preview only pretends to write has no row.
        let written = match (at.n, at.node.parent) {
            (0, Some(parent)) => reader.node(held, parent)?,
            _ => Some(at.clone()),
        };
        let rows = written.map(|at| reader.path_rows(&at, PathFilter::Enabled)).transpose()?.unwrap_or_default();
        let places: HashMap<i64, usize> = rows.iter().enumerate().map(|(place, row)| (*row, place)).collect();
        let mut holding: Vec<(i64, SummarySpan)> = Vec::new();
        for sources in reader.summary_sources(held)? {
            let ends = places.get(&sources.first).zip(places.get(&sources.last));
            let Some((&first, &last)) = ends.filter(|(first, last)| first <= last) else { continue };
            if rows.get(first..=last).map(hash_of_rows) == Some(sources.hash) {
                holding.push((sources.n, SummarySpan { level: sources.level, first, last, tokens: 0 }));
            }
        }
        let all = reader.summaries(&holding.iter().map(|(n, _)| *n).collect::<Vec<_>>())?;
        let tokens = |text: &str| if text.trim().is_empty() { 0 } else { measure.message(text) };
        let spans =
            holding.iter().zip(&all).map(|((_, span), one)| SummarySpan { tokens: tokens(&one.content), ..*span });
        let spans = spans.collect();
        Ok(Self { rows, places, all, spans })
    }

    /// Reads the summaries for a snapshot. If the session has automatic summaries off, only those proposed by plugins
    /// in force with the permission remain; `None` if there is no such plugin.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn for_snapshot(
        reader: &mut StoreReader<'_>,
        snapshot: &TurnSnapshot,
        measure: &TokenMeasure,
    ) -> Result<Option<Self>, StoreError> {
        if snapshot.session().summaries.is_on {
            return Self::at_node(reader, &snapshot.stored, &snapshot.at, measure).map(Some);
        }
        let word = Permission::TreeSummarise.to_string();
        let proposes = snapshot.rules.plugins.iter().filter(|plugin| plugin.grants.contains(&word));
        let proposers: Vec<&str> = proposes.map(|plugin| plugin.id.as_str()).collect();
        if proposers.is_empty() {
            return Ok(None);
        }
        let known = Self::at_node(reader, &snapshot.stored, &snapshot.at, measure)?;
        Ok(Some(known.filter(|one| one.plugin().is_some_and(|plugin| proposers.contains(&plugin)))))
    }

    /// Keeps only the wanted summaries.
    fn filter(self, is_wanted: impl Fn(&StoredSummary) -> bool) -> Self {
        let both = self.all.into_iter().zip(self.spans).filter(|(one, _)| is_wanted(one));
        let (all, spans) = both.unzip();
        Self { all, spans, ..self }
    }

    /// Returns the tokens reserved for summaries: `share` percent of the prompt, 0 without summaries.
    pub fn summary_budget(&self, share: usize, prompt: usize) -> usize {
        if self.all.is_empty() { 0 } else { prompt.saturating_mul(share) / 100 }
    }

    /// Builds the block for a prompt.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn block(
        &self,
        reader: &mut StoreReader<'_>,
        snapshot: &TurnSnapshot,
        measure: &TokenMeasure,
        request: &SummaryRequest<'_>,
    ) -> Result<SummaryBlock, StoreError> {
        // Keep the summaries of the last prompt if the history is cut at the same place.
        let SummaryRequest { budget, prompt_tokens, first, last_prompt } = *request;
        let place = first.and_then(|row| self.places.get(&row).copied()).unwrap_or(self.rows.len());
        let room = budget.saturating_sub(measure.message(summaries::heading()));
        let named = last_prompt.map(|last| traced_ids(&last.head)).unwrap_or_default();
        let is_same_cut = last_prompt.is_some_and(|last| Some(last.first) == first);
        let best = summaries::select_for_prompt(&self.spans, place, room);
        let as_before = self.reuse_previous(&named, place, room).filter(|_| is_same_cut);
        let chosen = as_before.filter(|those| summaries::covers_half(&self.spans, those, &best)).unwrap_or(best);
        // Build the block, the trace and the operation.
        let told: Vec<(&StoredSummary, &SummarySpan)> =
            chosen.iter().filter_map(|at| Some((self.all.get(*at)?, self.spans.get(*at)?))).collect();
        let left: Vec<String> = self.uncovered(&told, place).map(|one| one.id.to_string()).collect();
        let contents = || told.iter().map(|(one, _)| one.content.as_str());
        let block = summaries::block(contents());
        let plain: Vec<&str> = contents().map(str::trim).filter(|text| !text.is_empty()).collect();
        let operation = summary_operation(&snapshot.world.summary, plain.join("\n"), !named.is_empty());
        let mut texts = Vec::new();
        for (one, span) in told.iter().filter(|(_, span)| span.tokens > 0) {
            texts.push(source_trace(reader, &snapshot.stored, one, span)?);
        }
        let tokens = if block.is_empty() { 0 } else { measure.message(&block) };
        Ok(SummaryBlock {
            text: block,
            tokens,
            trace: Some(SummariesTrace {
                budget: Some(prompt_tokens as u64),
                texts: Some(texts),
                rest: Map::from_iter([("leftOut".to_owned(), left.into())]),
            }),
            operation,
        })
    }

    /// Returns the first-level summaries before `place` that no chosen summary covers, for lack of room.
    fn uncovered<'k>(
        &'k self,
        told: &[(&StoredSummary, &SummarySpan)],
        place: usize,
    ) -> impl Iterator<Item = &'k StoredSummary> {
        let is_told = |span: &SummarySpan| told.iter().any(|(_, one)| one.first <= span.first && span.last <= one.last);
        let both = self.all.iter().zip(&self.spans);
        let left = both.filter(|(_, span)| span.level == 1 && span.tokens > 0 && span.last < place && !is_told(span));
        left.map(|(one, _)| one).collect::<Vec<_>>().into_iter()
    }

    /// Returns the summaries of the previous prompt, if all of them are still valid and fit.
    fn reuse_previous(&self, named: &[String], place: usize, room: usize) -> Option<Vec<usize>> {
        let find = |id: &String| self.all.iter().position(|one| one.id.to_string() == *id);
        let found: Vec<usize> = named.iter().map(find).collect::<Option<_>>()?;
        let spans = || found.iter().filter_map(|at| self.spans.get(*at));
        let fits = spans().all(|span| span.last < place) && spans().map(|span| span.tokens).sum::<usize>() <= room;
        (fits && !found.is_empty()).then_some(found)
    }
}

/// A summary of messages of a branch.
#[derive(Debug, Clone, PartialEq)]
pub struct BranchSummary {
    pub summary: StoredSummary,
    /// The messages that still exist, oldest first.
    pub nodes: Vec<NodeId>,
    /// Whether the messages have changed since, so that no prompt uses the summary.
    pub is_stale: bool,
}

/// Returns the summaries whose last message is on the branch to a node, oldest first. A chapter follows its summaries.
///
/// # Errors
/// Returns an error if the database fails.
pub fn branch_summaries(
    reader: &mut StoreReader<'_>,
    held: &StoredSession,
    at: &StoredNode,
) -> Result<Vec<BranchSummary>, StoreError> {
    let known = BranchSummaries::at_node(reader, held, at, &TokenMeasure::default())?;
    let everywhere: HashSet<i64> = reader.path_rows(at, PathFilter::All)?.into_iter().collect();
    let sources = reader.summary_sources(held)?;
    let own = sources.into_iter().filter(|one| everywhere.contains(&one.last));
    let rows: Vec<i64> = own.map(|one| one.n).collect();
    let mut found = Vec::new();
    for summary in reader.summaries(&rows)? {
        let nodes = reader.summarised_messages(summary.sources.n)?;
        let is_stale = !known.all.iter().any(|one| one.sources.n == summary.sources.n);
        found.push(BranchSummary { summary, nodes, is_stale });
    }
    let place = |one: &BranchSummary| known.places.get(&one.summary.sources.last).copied().unwrap_or_default();
    found.sort_by_key(|one| (place(one), one.summary.sources.level, one.summary.sources.n));
    Ok(found)
}

/// Returns one summary of a session, as it is on the branch to HEAD.
///
/// # Errors
/// Returns an error if the database fails.
pub fn find_branch_summary(
    reader: &mut StoreReader<'_>,
    held: &StoredSession,
    id: SummaryId,
) -> Result<Option<BranchSummary>, StoreError> {
    let Some(summary) = reader.summary(held, id)? else { return Ok(None) };
    let nodes = reader.summarised_messages(summary.sources.n)?;
    let head = reader.node(held, held.session.head)?;
    let known = head.map(|head| BranchSummaries::at_node(reader, held, &head, &TokenMeasure::default())).transpose()?;
    let is_stale = !known.is_some_and(|known| known.all.iter().any(|one| one.id == id));
    Ok(Some(BranchSummary { summary, nodes, is_stale }))
}

/// Returns the ids of the summaries in the head of a trace.
fn traced_ids(head: &TraceHead) -> Vec<String> {
    let texts = head.summaries.iter().filter_map(|summaries| summaries.texts.as_ref()).flatten();
    texts.filter_map(|text| text.get("id")?.as_str().map(str::to_owned)).collect()
}

/// Formats a summary for the trace, with its first and last message.
fn source_trace(
    reader: &mut StoreReader<'_>,
    held: &StoredSession,
    one: &StoredSummary,
    span: &SummarySpan,
) -> Result<Map<String, Value>, StoreError> {
    let ends = reader.nodes_by_row(held, &[one.sources.first, one.sources.last])?;
    let id = |row: i64| ends.iter().find(|placed| placed.n == row).map(|placed| placed.node.id.to_string());
    let told = [
        ("id", one.id.to_string().into()),
        ("level", span.level.into()),
        ("tokens", span.tokens.into()),
        ("messages", (span.last - span.first + 1).into()),
        ("firstId", id(one.sources.first).into()),
        ("lastId", id(one.sources.last).into()),
    ];
    Ok(told.into_iter().map(|(key, value): (&str, Value)| (key.to_owned(), value)).collect())
}

/// Returns the operation that sets the world's summary. An imported summary stays until there is a generated one.
fn summary_operation(now: &str, text: String, had_any: bool) -> Option<StateOperation> {
    let is_other = now != text && (had_any || !text.is_empty());
    let change = StateChange::Set(text.into());
    let set = || StateOperation {
        section: WorldSection::Summary,
        ..StateOperation::new(Pointer::default(), change, WHY, SERVER)
    };
    is_other.then(set)
}

impl SummaryBlock {
    /// Inserts the block into a prompt, after everything that precedes the history.
    pub fn insert_into(&self, pieces: &mut Vec<TracePiece>) {
        if self.text.is_empty() {
            return;
        }
        let place = pieces.iter().position(|piece| piece.at > 0 || piece.replaces_line).unwrap_or(pieces.len());
        let sent = OutgoingMessage { role: Role::System, name: None, text: self.text.clone() };
        pieces.insert(place, TracePiece { slot: SLOT.to_owned(), at: 0, replaces_line: false, sent });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn summary_block_is_inserted_before_history() {
        let piece = |at: usize, is_over: bool| {
            let sent = OutgoingMessage { role: Role::System, name: None, text: "x".into() };
            TracePiece { slot: "p".into(), at, replaces_line: is_over, sent }
        };
        let summed = SummaryBlock { text: "long ago".into(), ..SummaryBlock::default() };
        for (mut pieces, expected) in [
            (vec![piece(0, false), piece(0, false), piece(3, false)], 2),
            (vec![piece(0, false), piece(0, true)], 1),
            (vec![piece(1, false)], 0),
            (Vec::new(), 0),
        ] {
            summed.insert_into(&mut pieces);
            assert_eq!(pieces.iter().position(|piece| piece.slot == SLOT), Some(expected), "{pieces:?}");
        }
    }

    /// S3-09: the world's summary follows the prompt; an imported one stays until there is a generated one.
    #[test]
    fn summary_block_updates_world_summary() {
        let set = |now: &str, text: &str, had_any: bool| {
            summary_operation(now, text.to_owned(), had_any).map(|set| set.to_json())
        };
        assert_eq!(set("a", "a", true), None);
        assert_eq!(set("from elsewhere", "", false), None);
        assert_eq!(set("a", "", true).unwrap()["value"], "");
        let told = set("", "b", false).unwrap();
        assert_eq!((&told["in"], &told["op"], &told["value"]), (&json!("summary"), &json!("set"), &json!("b")));
    }
}
