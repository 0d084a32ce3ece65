//! Vectors of queries: of the last message, or of a search. After a failure the model is not asked for a while. Vectors
//! are cached, so that the same query is embedded once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::turn::machine::provider_message;
use crate::turn::problem::ModelCallProblem;
use clotho_compat::prompt::{lore, recall};
use clotho_config as config;
use clotho_core::clock::Time;
use clotho_core::coded_message::RenderedMessage;
use clotho_core::ids::{NodeId, SessionId, UserId};
use clotho_provider::Embedder;
use clotho_store::{PathFilter, Store, StoreError, StoreReader};

/// If the last message has fewer characters, the message before it is added to the query.
const SHORT_QUERY_CHARS: usize = 24;
/// The number of query vectors in the cache.
const CACHE_SIZE: usize = 64;
/// The pause after a failure of the model, in milliseconds.
const RETRY_AFTER_MS: u64 = 15_000;

/// Makes the vectors of queries.
pub struct QueryEmbedder {
    settings: config::RecallConfig,
    pub(super) embedder: Option<Embedder>,
    cache: Mutex<VecDeque<(blake3::Hash, Arc<[f32]>)>>,
    /// The time and reason of the last failure.
    last_failure: Mutex<Option<(Time, RenderedMessage)>>,
}

/// The query for recall of one prompt.
#[derive(Debug, Clone, Default)]
pub struct PromptRecallQuery {
    pub(super) settings: config::RecallConfig,
    /// The embedding model and the vector of the last message.
    pub(super) vector: Option<(String, Arc<[f32]>)>,
    /// Why there is no vector.
    pub(super) problem: Option<RenderedMessage>,
    /// The query for lorebook entries.
    pub lore: QueryVector,
}

/// A query as a vector.
#[derive(Debug, Clone, Default)]
pub struct QueryVector {
    /// The embedding model and the vector.
    pub vector: Option<(String, Arc<[f32]>)>,
    /// Why there is no vector.
    pub problem: Option<RenderedMessage>,
}

impl PromptRecallQuery {
    /// Returns how many characters of a text are embedded.
    pub const fn max_chars(&self) -> usize {
        self.settings.chars
    }
}

impl QueryEmbedder {
    /// An embedder with an empty cache. Without a model it embeds nothing.
    pub fn new(settings: config::RecallConfig, embedder: Option<Embedder>) -> Self {
        Self { settings, embedder, cache: Mutex::default(), last_failure: Mutex::default() }
    }

    /// Makes the query for a prompt below a node; `content` is the message about to be written there.
    pub async fn prompt_query(
        &self,
        store: &Store,
        now: Time,
        caller: UserId,
        session: SessionId,
        leaf: NodeId,
        content: Option<&str>,
    ) -> PromptRecallQuery {
        let Some(embedder) = &self.embedder else { return self.words_only() };
        let read = move |reader: &mut StoreReader<'_>| {
            let Some(held) = reader.session(caller, session)? else { return Ok(None) };
            let lore = lore_scan_messages(reader, caller)?;
            let least = if held.session.recall.is_on { 2 } else { 0 };
            // Twice as many nodes, because some, such as placeholders, have no text.
            let most = least.max(lore.saturating_mul(2));
            let page = match most {
                0 => return Ok(None),
                most => reader.page(&held, leaf, None, i64::try_from(most).unwrap_or(i64::MAX), PathFilter::Enabled)?,
            };
            let said = page.nodes.into_iter().map(|placed| (placed.node.is_in_prompt(), placed.node.content));
            Ok(Some((least, lore, said.collect::<Vec<(bool, String)>>())))
        };
        match store.read::<_, StoreError, _>(read).await {
            Ok(Some((least, lore, mut said))) => {
                said.extend(content.map(|content| (true, content.to_owned())));
                let texts = said.iter().filter(|(is_sent, text)| *is_sent && !text.trim().is_empty());
                let texts: Vec<&str> = texts.rev().take(lore).map(|(_, text)| text.as_str()).collect();
                let lore = self.lore_vector(store, now, &texts.join("\n")).await;
                let last: Vec<String> =
                    said.into_iter().rev().take(least + usize::from(content.is_some())).map(|(_, text)| text).collect();
                let last: Vec<String> = last.into_iter().rev().collect();
                let cue = match least {
                    0 => self.words_only(),
                    _ => self.with_vector(store, now, embedder, query_text(&last)).await,
                };
                PromptRecallQuery { lore, ..cue }
            }
            // Recall is off there; or the read failed, and building the prompt will report that.
            Ok(None) | Err(_) => self.words_only(),
        }
    }

    /// Makes the query for lorebook entries for a text without a session.
    pub async fn lore_query(&self, store: &Store, now: Time, caller: UserId, text: &str) -> PromptRecallQuery {
        let read = move |reader: &mut StoreReader<'_>| lore_scan_messages(reader, caller);
        let is_asked = store.read::<_, StoreError, _>(read).await.is_ok_and(|messages| messages > 0);
        let lore = if is_asked { self.lore_vector(store, now, text).await } else { QueryVector::default() };
        PromptRecallQuery { lore, ..self.words_only() }
    }

    /// Makes the vector of the last messages for lorebook entries.
    async fn lore_vector(&self, store: &Store, now: Time, said: &str) -> QueryVector {
        let Some(embedder) = self.embedder.as_ref().filter(|_| !said.is_empty()) else { return QueryVector::default() };
        let PromptRecallQuery { vector, problem, .. } = self.with_vector(store, now, embedder, said.to_owned()).await;
        QueryVector { vector, problem }
    }

    pub(super) fn words_only(&self) -> PromptRecallQuery {
        PromptRecallQuery { settings: self.settings.clone(), ..PromptRecallQuery::default() }
    }

    /// Waits for the vector of a question, up to the configured limit.
    pub(super) async fn with_vector(
        &self,
        store: &Store,
        now: Time,
        embedder: &Embedder,
        question: String,
    ) -> PromptRecallQuery {
        if question.trim().is_empty() {
            return self.words_only();
        }
        let model = embedder.name.clone();
        let found = self.vector(now, embedder, &question).await;
        let name = model.clone();
        let size = store.read::<_, StoreError, _>(move |reader| reader.embedding_progress(&name)).await.ok().flatten();
        let size = size.map(|embedded| embedded.size).filter(|size| *size > 0);
        let fits = |vector: &Arc<[f32]>| size.is_none_or(|size| size == vector.len());
        let (vector, problem) = match found {
            Ok(vector) if fits(&vector) => (Some((model, vector)), None),
            Ok(_) => (None, Some(RenderedMessage::new(&ModelCallProblem::VectorsResized { name: model }))),
            Err(problem) => (None, Some(problem)),
        };
        PromptRecallQuery { vector, problem, ..self.words_only() }
    }

    async fn vector(&self, now: Time, embedder: &Embedder, question: &str) -> Result<Arc<[f32]>, RenderedMessage> {
        let hash = recall::embed_hash(question, self.settings.chars);
        if let Some((_, vector)) = self.cache().iter().find(|(known, _)| *known == hash) {
            return Ok(Arc::clone(vector));
        }
        if let Some((_, why)) =
            self.last_failure().as_ref().filter(|(failed, _)| now.millis_since(*failed) < RETRY_AFTER_MS)
        {
            return Err(why.clone());
        }
        let texts = [recall::embed_prefix(question, self.settings.chars).to_owned()];
        let wait = self.settings.wait;
        let made = match tokio::time::timeout(wait, embedder.embed(&texts)).await {
            Ok(Ok(mut vectors)) => vectors.pop().ok_or_else(|| RenderedMessage::new(&ModelCallProblem::NoVector {})),
            Ok(Err(failure)) => Err(provider_message(&failure)),
            Err(_) => Err(RenderedMessage::new(&ModelCallProblem::VectorsLate {
                name: embedder.name.clone(),
                milliseconds: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
            })),
        };
        match made {
            Ok(vector) => {
                let vector: Arc<[f32]> = Arc::from(vector);
                let mut kept = self.cache();
                kept.push_back((hash, Arc::clone(&vector)));
                let surplus = kept.len().saturating_sub(CACHE_SIZE);
                kept.drain(..surplus);
                Ok(vector)
            }
            Err(why) => {
                *self.last_failure() = Some((now, why.clone()));
                Err(why)
            }
        }
    }

    fn cache(&self) -> MutexGuard<'_, VecDeque<(blake3::Hash, Arc<[f32]>)>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn last_failure(&self) -> MutexGuard<'_, Option<(Time, RenderedMessage)>> {
        self.last_failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the hash under which the vector of a text is stored.
    pub fn text_hash(&self, text: &str) -> blake3::Hash {
        recall::embed_hash(text, self.settings.chars)
    }
}

/// Returns how many messages are compared with lorebook entries; 0 if similarity is off.
fn lore_scan_messages(reader: &mut StoreReader<'_>, owner: UserId) -> Result<usize, StoreError> {
    if !reader.has_lore_texts(owner)? {
        return Ok(0);
    }
    let similar = lore::WorldInfoSettings::from_stored(reader.lore_settings(owner)?).similar;
    Ok(if similar.entries > 0 { similar.messages } else { 0 })
}

/// Returns the query text: the last message, with the one before it if it is short.
fn query_text(said: &[String]) -> String {
    let mut newest_first = said.iter().rev();
    let last = newest_first.next().map(String::as_str).unwrap_or_default();
    match newest_first.next().filter(|_| last.chars().count() < SHORT_QUERY_CHARS) {
        Some(before) => format!("{before}\n{last}"),
        None => last.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recall_short_query_includes_previous_messages() {
        let said = |texts: &[&str]| query_text(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        assert_eq!(said(&["Where is the key?", "Tell me."]), "Where is the key?\nTell me.");
        assert_eq!(said(&["a", "I ask the smith about the silver key."]), "I ask the smith about the silver key.");
        assert_eq!((said(&["one"]), said(&[])), ("one".to_owned(), String::new()));
    }
}
