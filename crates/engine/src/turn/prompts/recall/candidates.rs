//! The candidates for recall: earlier messages and documents, ranked by words and vectors together.

use std::collections::HashSet;

use clotho_compat::prompt::recall::{self, NearestVectors, RecallQuery, TermCounts};
use clotho_compat::prompt::tags;
use clotho_core::ids::UserId;
use clotho_search::TermAnalyzer;
use clotho_store::{PathFilter, StoreError, StoreReader, StoredNode};

use super::query_embedder::PromptRecallQuery;
use crate::turn::snapshot::TurnSnapshot;

/// The maximum number of texts compared; the newest are taken.
const MAX_ITEMS: usize = 20_000;
/// The maximum total size of the texts compared, in bytes.
const MAX_BYTES: usize = 32 << 20;
/// The number of texts read at once.
const PAGE: i64 = 256;
/// The number of best places of each ranking that are combined.
const PLACES: usize = 64;

/// The texts that may be recalled.
pub(super) struct RecallPool {
    terms: TermAnalyzer,
    query: RecallQuery,
    pub(super) texts: Vec<RecallItem>,
    counted: Vec<TermCounts>,
    hashes: Vec<blake3::Hash>,
    pub(super) seen_hashes: HashSet<blake3::Hash>,
    bytes: usize,
}

/// The location of one text.
#[derive(Clone, Copy)]
pub(super) struct RecallItem {
    pub(super) is_document: bool,
    pub(super) n: i64,
    /// For a message: the number of sent messages after it.
    pub(super) depth: usize,
}

/// One text that was found, with its scores.
#[derive(Clone, Copy)]
pub(super) struct RankedRecall {
    pub(super) at: usize,
    pub(super) score: f32,
    pub(super) words: Option<f32>,
    pub(super) similarity: Option<f32>,
}

impl RecallPool {
    /// Creates an empty pool for the given query texts, each with its weight.
    pub(super) fn new<'t>(asked: impl IntoIterator<Item = (&'t str, f32)>) -> Self {
        let (mut terms, mut query) = (TermAnalyzer::default(), RecallQuery::default());
        for (text, weight) in asked {
            terms.for_each_term(text, |term| query.add_term(term, weight));
        }
        let (texts, counted, hashes, seen_hashes) = (Vec::new(), Vec::new(), Vec::new(), HashSet::new());
        Self { terms, query, texts, counted, hashes, seen_hashes, bytes: 0 }
    }

    fn is_full(&self) -> bool {
        self.texts.len() >= MAX_ITEMS || self.bytes >= MAX_BYTES
    }

    fn add(&mut self, text: RecallItem, hash: blake3::Hash, content: &str) {
        if self.is_full() || content.trim().is_empty() || !self.seen_hashes.insert(hash) {
            return;
        }
        let (mut counted, query) = (TermCounts::default(), &self.query);
        self.terms.for_each_term(content, |term| query.count(term, &mut counted));
        self.bytes += content.len();
        self.texts.push(text);
        self.counted.push(counted);
        self.hashes.push(hash);
    }

    /// Adds a message and its ancestors up to the root. `depth` is the number of messages after it.
    pub(super) fn messages(
        &mut self,
        reader: &mut StoreReader<'_>,
        snapshot: &TurnSnapshot,
        from: &StoredNode,
        mut depth: usize,
        hide_tags: &[String],
        chars: usize,
    ) -> Result<(), StoreError> {
        let mut page = reader.newest_page(&snapshot.stored, from, PAGE, PathFilter::Enabled)?;
        loop {
            reader.check_wanted()?;
            for placed in page.nodes.iter().rev().filter(|placed| placed.node.is_in_prompt()) {
                let node = &placed.node;
                let sent = tags::text_for_model(node.role, &node.content, node.reasoning.is_some(), hide_tags);
                self.add(
                    RecallItem { is_document: false, n: placed.n, depth },
                    recall::embed_hash(&sent, chars),
                    &sent,
                );
                depth += 1;
            }
            let Some(before) = page.next.filter(|_| !self.is_full()) else { return Ok(()) };
            page = reader.page(&snapshot.stored, from.node.id, Some(before), PAGE, PathFilter::Enabled)?;
        }
    }

    /// Adds the documents of some collections.
    pub(super) fn documents(
        &mut self,
        reader: &mut StoreReader<'_>,
        owner: UserId,
        names: &[String],
    ) -> Result<(), StoreError> {
        let mut before = i64::MAX;
        while !names.is_empty() && !self.is_full() {
            let leaves = reader.embeddable_documents(owner, names, before, PAGE)?;
            let Some(last) = leaves.last().map(|leaf| leaf.n) else { return Ok(()) };
            before = last;
            for leaf in leaves {
                self.add(RecallItem { is_document: true, n: leaf.n, depth: 0 }, leaf.hash, &leaf.content);
            }
        }
        Ok(())
    }

    /// Ranks the texts, best first.
    pub(super) fn rank(
        &self,
        reader: &mut StoreReader<'_>,
        cue: &PromptRecallQuery,
    ) -> Result<Vec<RankedRecall>, StoreError> {
        let words = self.query.rank(&self.counted, PLACES);
        let near = match &cue.vector {
            Some((model, vector)) => {
                let least = f32::from(u16::try_from(cue.settings.similarity).unwrap_or(u16::MAX)) / 100.0;
                reader.vectors(model).nearest(vector, &self.hashes, least, PLACES)?
            }
            None => Vec::new(),
        };
        let of =
            |list: &[(usize, f32)], at: usize| list.iter().find(|(place, _)| *place == at).map(|(_, score)| *score);
        let fused = recall::reciprocal_rank_fusion(&[words.clone(), near.clone()]).into_iter();
        Ok(fused
            .map(|(at, score)| RankedRecall { at, score, words: of(&words, at), similarity: of(&near, at) })
            .collect())
    }

    /// Returns the total weight of the query's terms in a text.
    pub(super) fn score_text(&self, terms: &mut TermAnalyzer, text: &str) -> f32 {
        let mut weight = 0.0;
        terms.for_each_term(text, |term| weight += self.query.weight(term));
        weight
    }
}
