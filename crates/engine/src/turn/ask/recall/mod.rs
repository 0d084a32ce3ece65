//! Recall: old messages and documents that fit the last messages (`docs/memory.md`). The messages are those of this
//! branch before the history was cut; the documents are those of the session's collections.
//!
//! Words are always compared; vectors if an embedding model is configured and has made some. The vector of the last
//! message is made before the prompt ([`QueryEmbedder::ask`]), because the prompt is built in one read transaction. A
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
    pub told: Value,
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
pub fn recall_budget(scene: &TurnSnapshot, cue: &PromptRecallQuery, prompt: usize) -> usize {
    if scene.session().recall.is_on { prompt.saturating_mul(cue.settings.share) / 100 } else { 0 }
}

/// Builds the recall block of a snapshot. `lines` are all messages that were read; those from `first` on are in the
/// history.
///
/// # Errors
/// Returns an error if the database fails.
pub(in crate::turn) fn recall_block(
    reader: &mut StoreReader<'_>,
    scene: &TurnSnapshot,
    cue: &PromptRecallQuery,
    (room, measure): (usize, &TokenMeasure),
    (placed, lines, first): (&[StoredNode], &[PromptLine], usize),
    hide_tags: &[String],
    scripted: &mut PromptScripts<'_, '_>,
) -> Result<RecallBlock, StoreError> {
    if room == 0 {
        return Ok(RecallBlock::default());
    }
    let mut newest_first = lines.iter().rev().map(|line| line.text.as_str());
    let last = newest_first.next().map(|text| (text, 1.0));
    let before = newest_first.next().map(|text| (text, BEFORE));
    let mut pool = RecallPool::new(last.into_iter().chain(before));
    let chars = cue.settings.chars;
    pool.seen_hashes.extend(lines.iter().skip(first).map(|line| recall::hash(&line.text, chars)));
    if let Some(cut) = first.checked_sub(1).and_then(|at| placed.get(at)).filter(|cut| cut.n != 0) {
        pool.messages(reader, scene, (cut, lines.len().saturating_sub(first)), hide_tags, chars)?;
    }
    let session = scene.session();
    pool.documents(reader, session.owner, &session.recall.collections)?;
    select_items(reader, scene, cue, (room, measure), &pool, hide_tags, scripted)
}

/// Selects the best texts of a pool that fit, and orders them oldest first, with documents before messages.
fn select_items(
    reader: &mut StoreReader<'_>,
    scene: &TurnSnapshot,
    cue: &PromptRecallQuery,
    (room, measure): (usize, &TokenMeasure),
    pool: &RecallPool,
    hide_tags: &[String],
    scripted: &mut PromptScripts<'_, '_>,
) -> Result<RecallBlock, StoreError> {
    // Take the best texts while there is room.
    let mut left = room.saturating_sub(recall::block_overhead(measure));
    let (mut chosen, mut terms) = (Vec::new(), TermAnalyzer::default());
    for one in pool.rank(reader, cue)? {
        if chosen.len() >= cue.settings.texts || left < LEAST {
            break;
        }
        let Some(text) = pool.texts.get(one.at) else { continue };
        let Some(told) = read_entry(reader, scene, *text, hide_tags)? else { continue };
        let frame = RecalledText { source: told.speaker.clone(), text: String::new() }.told();
        let most = (room / 2).min(left).saturating_sub(measure.message(&frame));
        if most < LEAST / 2 {
            continue;
        }
        let RecallEntry { name, speaker: whose, content, message: of } = told;
        let content = match of {
            Some((node, said)) => sent_text(reader, scene, scripted, (&node, said), text.depth)?,
            None => content,
        };
        if content.trim().is_empty() {
            continue;
        }
        let terms = std::cell::RefCell::new(&mut terms);
        let text = recall::excerpt(&content, most, measure, |piece| pool.score_text(&mut terms.borrow_mut(), piece));
        let memory = RecalledText { source: whose, text };
        let tokens = measure.message(&memory.told());
        if tokens <= left {
            left -= tokens;
            chosen.push((one, name, memory, tokens));
        }
    }
    // The pool has the newest message first, and documents after all messages.
    chosen.sort_by_key(|(one, ..)| std::cmp::Reverse(one.at));
    // Format the block and its trace.
    let tell = |(one, RecallSource { kind, id }, _, tokens): &(RankedRecall, RecallSource, RecalledText, usize)| json!({*kind: id, "score": one.score, "words": one.words, "similarity": one.similarity, "tokens": tokens});
    let by = if cue.vector.is_some() { json!(["words", "vectors"]) } else { json!(["words"]) };
    let texts: Vec<Value> = chosen.iter().map(tell).collect();
    let mut told = json!({"by": by, "looked": pool.texts.len(), "texts": texts});
    if let (Some(problem), Some(told)) = (&cue.problem, told.as_object_mut()) {
        told.insert("problem".into(), problem.message.as_str().into());
        told.insert("failure".into(), problem.to_json());
    }
    let text = recall::block(&chosen.into_iter().map(|(_, _, memory, _)| memory).collect::<Vec<_>>());
    let tokens = if text.is_empty() { 0 } else { measure.message(&text) };
    Ok(RecallBlock { text, tokens, told })
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
    scene: &TurnSnapshot,
    text: RecallItem,
    hide_tags: &[String],
) -> Result<Option<RecallEntry>, StoreError> {
    if text.is_document {
        let document = reader.document_by_row(scene.session().owner, text.n)?;
        return Ok(document.map(|one| RecallEntry {
            name: RecallSource { kind: "documentId", id: one.id.to_string() },
            speaker: one.collection,
            content: one.content,
            message: None,
        }));
    }
    let placed = reader.nodes_by_row(&scene.stored, &[text.n])?.pop();
    Ok(placed.map(|placed| {
        let line = super::trace::line(&placed.node, hide_tags);
        let name = RecallSource { kind: "nodeId", id: placed.node.id.to_string() };
        let said = preset_message(line, &scene.cast);
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
    scene: &TurnSnapshot,
    scripted: &mut PromptScripts<'_, '_>,
    (node, said): (&Node, HistoryMessage),
    depth: usize,
) -> Result<String, StoreError> {
    let said = scripted.said(reader, &scene.stored, node, said, depth)?;
    Ok(macro_context::recalled(scene, node, &said.text))
}

impl RecallBlock {
    /// Inserts the block into a prompt with so many lines of history: before the last line, where it keeps the prefix
    /// that the provider caches.
    pub fn join(&self, pieces: &mut Vec<TracePiece>, lines: usize) {
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
            recalled.join(&mut pieces, lines);
            assert_eq!(pieces.iter().position(|piece| piece.slot == SLOT), Some(expected), "{pieces:?}");
        };
        check(vec![piece(0, false), piece(3, false), piece(4, false)], 4, 2);
        check(vec![piece(0, false), piece(3, true)], 4, 1);
        check(vec![piece(0, false), piece(1, false)], 0, 1);
        check(Vec::new(), 3, 0);
        let mut none = vec![piece(0, false)];
        RecallBlock::default().join(&mut none, 3);
        assert_eq!(none.len(), 1);
    }
}
