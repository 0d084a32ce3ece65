//! Recall: old messages and documents that fit the last messages (`docs/memory.md`). The messages are those of this
//! branch before the history was cut; the documents are those of the session's collections.
//!
//! Words are always compared; vectors if an embedding model is configured and has made some. The vector of the last
//! message is made before the prompt ([`QueryEmbedder::prompt_query`]), because the prompt is built in one read transaction. A
//! model that is too slow only costs the vectors of this prompt, and the trace says so.
use serde_json::{Value, json};

use clotho_compat::prompt::preset::{HistoryMessage, TracePiece};
use clotho_compat::prompt::recall::{self, RecalledText};
use clotho_compat::prompt::{OutgoingMessage, PromptCast, PromptLine, TokenMeasure};
use clotho_core::clock::Time;
use clotho_core::coded_message::RenderedMessage;
use clotho_core::ids::UserId;
use clotho_core::tree::{Node, Role};
use clotho_search::TermAnalyzer;
use clotho_store::{Store, StoreError, StoreReader, StoredDocument, StoredNode};

use super::macro_context;
use super::regex_scripts::PromptScripts;
use crate::turn::snapshot::TurnSnapshot;

mod candidates;
mod query_embedder;

use candidates::{RankedRecall, RecallItem, RecallPool};
pub use query_embedder::{PromptRecallQuery, QueryEmbedder};

/// The weight of the message before the last one.
const BEFORE: f32 = 0.3;
/// The least number of tokens of a recalled text.
const LEAST: usize = 16;
/// The name of the block in a trace.
pub const SLOT: &str = "memories";

/// The recall block of one prompt.
#[derive(Debug, Clone, Default)]
pub struct RecallBlock {
    text: String,
    /// The tokens of the block.
    pub tokens: usize,
    /// The part of the trace; null if recall is off in the session.
    pub trace: Value,
}

/// A document that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedDocument {
    pub document: StoredDocument,
    /// The combined rank score, for comparison only.
    pub score: f32,
    /// The cosine similarity, from -1 to 1; `None` if the document was not found by its vector.
    pub similarity: Option<f32>,
}

/// The documents that were found, best first.
#[derive(Debug, Clone, Default)]
pub struct RankedDocuments {
    pub items: Vec<RankedDocument>,
    /// Why vectors were not used, if they should have been.
    pub problem: Option<RenderedMessage>,
}

impl QueryEmbedder {
    /// Returns the caller's documents in these collections that match a question best, at most `most`.
    pub async fn search_documents(
        &self,
        store: &Store,
        now: Time,
        caller: UserId,
        collections: Vec<String>,
        asked: String,
        most: usize,
    ) -> Result<RankedDocuments, StoreError> {
        let by = match &self.embedder {
            Some(embedder) => self.with_vector(store, now, embedder, asked.clone()).await,
            None => self.words_only(),
        };
        let look = move |reader: &mut StoreReader<'_>| {
            let mut pool = RecallPool::new([(asked.as_str(), 1.0)]);
            pool.documents(reader, caller, &collections)?;
            let problem = by.problem.clone();
            let mut items = Vec::new();
            for one in pool.rank(reader, &by)?.into_iter().take(most) {
                let Some(n) = pool.texts.get(one.at).map(|text| text.n) else { continue };
                if let Some(document) = reader.document_by_row(caller, n)? {
                    items.push(RankedDocument { document, score: one.score, similarity: one.similarity });
                }
            }
            Ok(RankedDocuments { items, problem })
        };
        store.read(look).await
    }
}

/// Returns the tokens reserved for recall; 0 if it is off.
pub fn recall_budget(snapshot: &TurnSnapshot, cue: &PromptRecallQuery, prompt: usize) -> usize {
    if snapshot.session().recall.is_on { prompt.saturating_mul(cue.settings.share) / 100 } else { 0 }
}

/// What a prompt asks of recall.
#[derive(Clone, Copy)]
pub(in crate::turn) struct RecallRequest<'r> {
    pub query: &'r PromptRecallQuery,
    /// The largest number of tokens of the block.
    pub budget: usize,
    pub measure: &'r TokenMeasure,
    pub hide_tags: &'r [String],
    /// All messages that were read, and their lines.
    pub nodes: &'r [StoredNode],
    pub lines: &'r [PromptLine],
    /// The index of the first message that stays in the history.
    pub first: usize,
}

/// Builds the recall block of a snapshot.
///
/// # Errors
/// Returns an error if the database fails.
pub(in crate::turn) fn recall_block(
    reader: &mut StoreReader<'_>,
    snapshot: &TurnSnapshot,
    request: &RecallRequest<'_>,
    scripts: &mut PromptScripts<'_, '_>,
) -> Result<RecallBlock, StoreError> {
    if request.budget == 0 {
        return Ok(RecallBlock::default());
    }
    let RecallRequest { lines, first, .. } = *request;
    let mut newest_first = lines.iter().rev().map(|line| line.text.as_str());
    let last = newest_first.next().map(|text| (text, 1.0));
    let before = newest_first.next().map(|text| (text, BEFORE));
    let mut pool = RecallPool::new(last.into_iter().chain(before));
    let chars = request.query.settings.chars;
    pool.seen_hashes.extend(lines.iter().skip(first).map(|line| recall::embed_hash(&line.text, chars)));
    if let Some(cut) = first.checked_sub(1).and_then(|at| request.nodes.get(at)).filter(|cut| cut.n != 0) {
        pool.messages(reader, snapshot, cut, lines.len().saturating_sub(first), request.hide_tags, chars)?;
    }
    let session = snapshot.session();
    pool.documents(reader, session.owner, &session.recall.collections)?;
    select_items(reader, snapshot, request, &pool, scripts)
}

/// Selects the best texts of a pool that fit, and orders them oldest first, with documents before messages.
fn select_items(
    reader: &mut StoreReader<'_>,
    snapshot: &TurnSnapshot,
    request: &RecallRequest<'_>,
    pool: &RecallPool,
    scripts: &mut PromptScripts<'_, '_>,
) -> Result<RecallBlock, StoreError> {
    let RecallRequest { query, budget, measure, hide_tags, .. } = *request;
    // Take the best texts while there is room.
    let mut left = budget.saturating_sub(recall::block_overhead(measure));
    let (mut chosen, mut terms) = (Vec::new(), TermAnalyzer::default());
    for one in pool.rank(reader, query)? {
        if chosen.len() >= query.settings.texts || left < LEAST {
            break;
        }
        let Some(text) = pool.texts.get(one.at) else { continue };
        let Some(entry) = read_entry(reader, snapshot, *text, hide_tags)? else { continue };
        let frame = RecalledText { source: entry.speaker.clone(), text: String::new() }.render();
        let most = (budget / 2).min(left).saturating_sub(measure.message(&frame));
        if most < LEAST / 2 {
            continue;
        }
        let RecallEntry { name, speaker, content, message } = entry;
        let content = match message {
            Some((node, message)) => sent_text(reader, snapshot, scripts, &node, message, text.depth)?,
            None => content,
        };
        if content.trim().is_empty() {
            continue;
        }
        let terms = std::cell::RefCell::new(&mut terms);
        let text = recall::excerpt(&content, most, measure, |piece| pool.score_text(&mut terms.borrow_mut(), piece));
        let memory = RecalledText { source: speaker, text };
        let tokens = measure.message(&memory.render());
        if tokens <= left {
            left -= tokens;
            chosen.push((one, name, memory, tokens));
        }
    }
    // The pool has the newest message first, and documents after all messages.
    chosen.sort_by_key(|(one, ..)| std::cmp::Reverse(one.at));
    // Format the block and its trace.
    let tell = |(one, RecallSource { kind, id }, _, tokens): &(RankedRecall, RecallSource, RecalledText, usize)| json!({*kind: id, "score": one.score, "words": one.words, "similarity": one.similarity, "tokens": tokens});
    let by = if query.vector.is_some() { json!(["words", "vectors"]) } else { json!(["words"]) };
    let texts: Vec<Value> = chosen.iter().map(tell).collect();
    let mut told = json!({"by": by, "looked": pool.texts.len(), "texts": texts});
    if let (Some(problem), Some(told)) = (&query.problem, told.as_object_mut()) {
        told.insert("problem".into(), problem.message.as_str().into());
        told.insert("failure".into(), problem.to_json());
    }
    let text = recall::block(&chosen.into_iter().map(|(_, _, memory, _)| memory).collect::<Vec<_>>());
    let tokens = if text.is_empty() { 0 } else { measure.message(&text) };
    Ok(RecallBlock { text, tokens, trace: told })
}

/// The id of a text in a trace.
struct RecallSource {
    kind: &'static str,
    id: String,
}

/// A text to recall.
struct RecallEntry {
    name: RecallSource,
    /// The speaker, or the collection of a document.
    speaker: String,
    /// The content of a document.
    content: String,
    /// The node of a message, and its text before scripts.
    message: Option<(Node, HistoryMessage)>,
}

fn read_entry(
    reader: &mut StoreReader<'_>,
    snapshot: &TurnSnapshot,
    text: RecallItem,
    hide_tags: &[String],
) -> Result<Option<RecallEntry>, StoreError> {
    if text.is_document {
        let document = reader.document_by_row(snapshot.session().owner, text.n)?;
        return Ok(document.map(|one| RecallEntry {
            name: RecallSource { kind: "documentId", id: one.id.to_string() },
            speaker: one.collection,
            content: one.content,
            message: None,
        }));
    }
    let placed = reader.nodes_by_row(&snapshot.stored, &[text.n])?.pop();
    Ok(placed.map(|placed| {
        let line = super::trace::prompt_line(&placed.node, hide_tags);
        let name = RecallSource { kind: "nodeId", id: placed.node.id.to_string() };
        let said = preset_message(line, &snapshot.cast);
        RecallEntry { name, speaker: said.name.clone(), content: String::new(), message: Some((placed.node, said)) }
    }))
}

fn preset_message(line: PromptLine, cast: &PromptCast) -> HistoryMessage {
    let own = match line.role {
        Role::Assistant => cast.character.as_str(),
        Role::User => cast.user.as_str(),
        Role::System => "Narration",
    };
    let name = line.name.unwrap_or_else(|| own.to_owned());
    HistoryMessage { role: line.role, is_other: line.role != Role::System && name != own, name, text: line.text }
}

/// Returns a message as it would be sent in the history: after scripts, with macros filled in.
fn sent_text(
    reader: &mut StoreReader<'_>,
    snapshot: &TurnSnapshot,
    scripts: &mut PromptScripts<'_, '_>,
    node: &Node,
    message: HistoryMessage,
    depth: usize,
) -> Result<String, StoreError> {
    let message = scripts.apply_to_message(reader, &snapshot.stored, node, message, depth)?;
    Ok(macro_context::fill_recalled(snapshot, node, &message.text, &*scripts.macros))
}

impl RecallBlock {
    /// Inserts the block into a prompt with so many lines of history: before the last line, where it keeps the prefix
    /// that the provider caches.
    pub fn insert_into(&self, pieces: &mut Vec<TracePiece>, lines: usize) {
        if self.text.is_empty() {
            return;
        }
        let at = lines.saturating_sub(1);
        let stands_after = |piece: &TracePiece| piece.at > at || (piece.at == at && piece.replaces_line);
        let place = pieces.iter().position(stands_after).unwrap_or(pieces.len());
        let sent = OutgoingMessage { role: Role::System, name: None, text: self.text.clone() };
        pieces.insert(place, TracePiece { slot: SLOT.to_owned(), at, replaces_line: false, sent });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recall_block_is_inserted_before_last_line() {
        let piece = |at: usize, is_over: bool| {
            let sent = OutgoingMessage { role: Role::System, name: None, text: "x".into() };
            TracePiece { slot: "p".into(), at, replaces_line: is_over, sent }
        };
        let recalled = RecallBlock { text: "long ago".into(), ..RecallBlock::default() };
        let check = |mut pieces: Vec<TracePiece>, lines: usize, expected: usize| {
            recalled.insert_into(&mut pieces, lines);
            assert_eq!(pieces.iter().position(|piece| piece.slot == SLOT), Some(expected), "{pieces:?}");
        };
        check(vec![piece(0, false), piece(3, false), piece(4, false)], 4, 2);
        check(vec![piece(0, false), piece(3, true)], 4, 1);
        check(vec![piece(0, false), piece(1, false)], 0, 1);
        check(Vec::new(), 3, 0);
        let mut none = vec![piece(0, false)];
        RecallBlock::default().insert_into(&mut none, 3);
        assert_eq!(none.len(), 1);
    }
}
