//! Who asks for the vectors of questions: the last word of a history, or what someone looks for. A model that failed is
//! left alone for a while, and what it made is kept, so that the same question costs nothing twice.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clotho_compat::prompt::{lore, recall};
use clotho_config as config;
use clotho_core::clock::Time;
use clotho_core::ids::{NodeId, SessionId, UserId};
use clotho_provider::Embedder;
use clotho_store::{PathFilter, Store, StoreError, StoreReader};

/// A last word that is shorter says too little for a vector: what was said before it is put in front.
const SHORT_QUERY_CHARS: usize = 24;
/// Vectors of questions that are kept in memory.
const CACHE_SIZE: usize = 64;
/// A model that failed is left alone for so many milliseconds.
const RETRY_AFTER_MS: u64 = 15_000;

/// Who asks for vectors of questions.
pub struct QueryEmbedder {
    settings: config::RecallConfig,
    pub(super) embedder: Option<Embedder>,
    cache: Mutex<VecDeque<(blake3::Hash, Arc<[f32]>)>>,
    /// When the model failed last, and why.
    last_failure: Mutex<Option<(Time, String)>>,
}

/// What a prompt may recall by.
#[derive(Debug, Clone, Default)]
pub struct PromptRecallQuery {
    pub(super) settings: config::RecallConfig,
    /// The model and the vector of what was said last.
    pub(super) vector: Option<(String, Arc<[f32]>)>,
    /// Why there is none.
    pub(super) problem: Option<String>,
    /// What entries of lorebooks are found by.
    pub lore: QueryVector,
}

/// What was said last, as a vector.
#[derive(Debug, Clone, Default)]
pub struct QueryVector {
    /// The model and the vector.
    pub vector: Option<(String, Arc<[f32]>)>,
    /// Why there is none.
    pub problem: Option<String>,
}

impl PromptRecallQuery {
    /// Of a text so many characters have a vector.
    pub const fn chars(&self) -> usize {
        self.settings.chars
    }
}

impl QueryEmbedder {
    pub fn new(settings: config::RecallConfig, embedder: Option<Embedder>) -> Self {
        Self { settings, embedder, cache: Mutex::default(), last_failure: Mutex::default() }
    }

    /// What a prompt below a node may recall by; `content` is what is about to be said there.
    pub async fn ask(
        &self,
        store: &Store,
        now: Time,
        (caller, session, leaf): (UserId, SessionId, NodeId),
        content: Option<&str>,
    ) -> PromptRecallQuery {
        let Some(embedder) = &self.embedder else { return self.words_only() };
        let read = move |reader: &mut StoreReader<'_>| {
            let Some(held) = reader.session(caller, session)? else { return Ok(None) };
            let lore = lore_scan_messages(reader, caller)?;
            let least = if held.session.recall.is_on { 2 } else { 0 };
            // What has no text, such as the place of a reply, says nothing.
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
            // Nothing is recalled there, or the prompt will hear of what failed.
            Ok(None) | Err(_) => self.words_only(),
        }
    }

    /// What entries of lorebooks are found by in a text that nobody said anywhere.
    pub async fn lore_query(&self, store: &Store, now: Time, caller: UserId, text: &str) -> PromptRecallQuery {
        let read = move |reader: &mut StoreReader<'_>| lore_scan_messages(reader, caller);
        let is_asked = store.read::<_, StoreError, _>(read).await.is_ok_and(|messages| messages > 0);
        let lore = if is_asked { self.lore_vector(store, now, text).await } else { QueryVector::default() };
        PromptRecallQuery { lore, ..self.words_only() }
    }

    /// The vector of what was said last, for entries of lorebooks.
    async fn lore_vector(&self, store: &Store, now: Time, said: &str) -> QueryVector {
        let Some(embedder) = self.embedder.as_ref().filter(|_| !said.is_empty()) else { return QueryVector::default() };
        let PromptRecallQuery { vector, problem, .. } = self.with_vector(store, now, embedder, said.to_owned()).await;
        QueryVector { vector, problem }
    }

    pub(super) fn words_only(&self) -> PromptRecallQuery {
        PromptRecallQuery { settings: self.settings.clone(), ..PromptRecallQuery::default() }
    }

    /// Waits for the vector of a question, and not for long.
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
            Ok(_) => (None, Some(format!("the vectors of {model} are of another size than they were"))),
            Err(problem) => (None, Some(problem)),
        };
        PromptRecallQuery { vector, problem, ..self.words_only() }
    }

    async fn vector(&self, now: Time, embedder: &Embedder, question: &str) -> Result<Arc<[f32]>, String> {
        let hash = recall::hash(question, self.settings.chars);
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
            Ok(Ok(mut vectors)) => vectors.pop().ok_or_else(|| "the model made no vector".to_owned()),
            Ok(Err(failure)) => Err(failure.to_string()),
            Err(_) => Err(format!("{} made no vector within {} ms", embedder.name, wait.as_millis())),
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

    fn last_failure(&self) -> MutexGuard<'_, Option<(Time, String)>> {
        self.last_failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The hash by which the vector of a text is found.
    pub fn hash(&self, text: &str) -> blake3::Hash {
        recall::hash(text, self.settings.chars)
    }
}

/// How many messages entries of lorebooks have to fit; 0 where none may be found so.
fn lore_scan_messages(reader: &mut StoreReader<'_>, owner: UserId) -> Result<usize, StoreError> {
    if !reader.has_lore_texts(owner)? {
        return Ok(0);
    }
    let similar = lore::WorldInfoSettings::from_stored(reader.lore_settings(owner)?).similar;
    Ok(if similar.entries > 0 { similar.messages } else { 0 })
}

/// What is asked with a vector: the last word, with what was said before it where it is short.
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
