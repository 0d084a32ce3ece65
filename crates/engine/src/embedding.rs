//! Embedding in the background: messages of sessions with recall, all documents, and lorebook entries that match by
//! meaning get a vector, in batches.
//!
//! Messages are read from the operation log, starting at a cursor stored with the vectors; a lorebook is embedded again
//! after each change. No turn waits for this. While the model server fails, the pause doubles and the problem is
//! reported; turns then recall by words.

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use indexmap::{IndexMap, IndexSet};
use tokio::runtime::Handle;
use tokio::sync::Notify;

use clotho_compat::interop::lorebook;
use clotho_compat::prompt::{lore, recall, tags};
use clotho_config as config;
use clotho_core::clock::Time;
use clotho_core::ids::{NodeId, SessionId};
use clotho_core::oplog::{Effect, Operation};
use clotho_core::tree::{Kind, RecallSettings, Status};
use clotho_provider::{Embedder, ProviderFailure};
use clotho_store::{EmbeddingBatch, Store, StoreError, StoreReader, WriteError};

/// Operations read from the log at once.
const BATCH: i64 = 256;
/// How long it waits before it checks again without a notification.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The pause after the first failure; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause after a failure.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// How many entries of one lorebook get vectors: the first ones.
const MAX_ENTRIES: usize = 5_000;
/// A text that any model can embed. If it fails too, the texts are not the cause.
const PROBE: &str = "a lamp";

/// Why embedding paused.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The model server failed.
    #[error(transparent)]
    Model(#[from] ProviderFailure),
    /// The vectors have another length than before.
    #[error(
        "the vectors of {model} have {now} numbers and had {before} before: another model has the same name, rename \
         one of them"
    )]
    DimensionMismatch {
        model: String,
        /// The new length.
        now: usize,
        /// The length before.
        before: usize,
    },
    /// The database cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The database cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// The background embedder: its settings, counters and current problem.
pub struct BackgroundEmbedder {
    embedder: Embedder,
    settings: config::RecallConfig,
    hide_tags: Arc<[String]>,
    wake: Notify,
    /// Documents without a vector may exist.
    has_documents: AtomicBool,
    embedded: AtomicU64,
    failures: AtomicU64,
    left_out: AtomicU64,
    problem: Mutex<Option<String>>,
}

/// The progress of the embedder.
#[derive(Default)]
struct EmbedState {
    /// The position in the log; `None` before the stored one is read.
    cursor: Option<i64>,
    /// Nodes to embed before the cursor advances to `next`.
    pending: VecDeque<(SessionId, NodeId)>,
    /// The next cursor, and whether to store it even if nothing was embedded.
    next: i64,
    must_save_cursor: bool,
    /// Texts that the model cannot embed.
    left_out: HashSet<blake3::Hash>,
    /// The lorebook that is being embedded.
    lorebook: Option<LorebookBacklog>,
}

/// The remaining entries of a lorebook.
struct LorebookBacklog {
    n: i64,
    updated: Time,
    left: VecDeque<EmbedText>,
}

/// A text to embed.
#[derive(Clone)]
struct EmbedText {
    hash: blake3::Hash,
    text: String,
    /// The row of the node; `None` for a document or lorebook entry.
    node: Option<i64>,
}

impl BackgroundEmbedder {
    /// Creates an embedder that is not running yet.
    pub fn new(embedder: Embedder, settings: config::RecallConfig, hide_tags: Arc<[String]>) -> Self {
        Self {
            embedder,
            settings,
            hide_tags,
            wake: Notify::new(),
            has_documents: AtomicBool::new(true),
            embedded: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            left_out: AtomicU64::new(0),
            problem: Mutex::new(None),
        }
    }

    /// Starts the task, which runs as long as the store exists.
    pub fn spawn(self: &Arc<Self>, runtime: &Handle, store: &Arc<Store>) {
        runtime.spawn(run(Arc::clone(self), Arc::downgrade(store)));
    }

    /// Notifies of a new document.
    pub fn notify(&self) {
        self.has_documents.store(true, Ordering::SeqCst);
        self.wake.notify_one();
    }

    /// Returns why nothing is embedded at the moment.
    pub fn problem(&self) -> Option<String> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the counts since the start: vectors made, failures, and texts that the model cannot embed.
    pub fn counts(&self) -> [u64; 3] {
        [&self.embedded, &self.failures, &self.left_out].map(|count| count.load(Ordering::Relaxed))
    }

    fn set_problem(&self, trouble: Option<String>) {
        *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }
}

async fn run(own: Arc<BackgroundEmbedder>, store: Weak<Store>) {
    let mut standing = EmbedState::default();
    let mut pause = FIRST_PAUSE;
    loop {
        let Some(store) = store.upgrade() else { return };
        let done = embed_step(&own, &store, &mut standing).await;
        drop(store);
        match done {
            Ok(is_more) => {
                (pause, _) = (FIRST_PAUSE, own.set_problem(None));
                if !is_more {
                    let _ = tokio::time::timeout(POLL_INTERVAL, own.wake.notified()).await;
                }
            }
            Err(error) => {
                tracing::warn!(model = own.embedder.name, ?pause, "embeddings are paused: {error}");
                own.failures.fetch_add(1, Ordering::Relaxed);
                own.set_problem(Some(error.to_string()));
                tokio::time::sleep(pause).await;
                pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
            }
        }
    }
}

/// Embeds one batch; `true` if there may be more.
async fn embed_step(
    own: &BackgroundEmbedder,
    store: &Arc<Store>,
    standing: &mut EmbedState,
) -> Result<bool, EmbedError> {
    if own.has_documents.swap(false, Ordering::SeqCst) {
        let embedded = embed_documents(own, store, standing).await;
        // Check again after a failure or a batch: there may be more.
        own.has_documents.fetch_or(!matches!(embedded, Ok(false)), Ordering::SeqCst);
        if embedded? {
            return Ok(true);
        }
    }
    if embed_lorebook(own, store, standing).await? {
        return Ok(true);
    }
    if standing.pending.is_empty() && !read_log(own, store, standing).await? {
        return Ok(false);
    }
    embed_messages(own, store, standing).await?;
    Ok(true)
}

/// Embeds documents without a vector; `true` if there were any.
async fn embed_documents(
    own: &BackgroundEmbedder,
    store: &Arc<Store>,
    standing: &mut EmbedState,
) -> Result<bool, EmbedError> {
    let limit = i64::try_from(own.settings.batch).unwrap_or(i64::MAX);
    let mut after = 0;
    loop {
        let model = own.embedder.name.clone();
        let read = move |reader: &mut StoreReader<'_>| reader.documents_without_vector(&model, after, limit);
        let leaves = store.read::<_, StoreError, _>(read).await?;
        let Some(last) = leaves.last().map(|leaf| leaf.n) else { return Ok(false) };
        after = last;
        let new = leaves.into_iter().filter(|leaf| !standing.left_out.contains(&leaf.hash));
        let texts: Vec<EmbedText> =
            new.map(|leaf| EmbedText { hash: leaf.hash, text: leaf.content, node: None }).collect();
        if !texts.is_empty() {
            embed_batch(own, store, standing, texts).await?;
            return Ok(true);
        }
    }
}

/// Embeds a batch of entries of a changed lorebook; `true` if there was one.
async fn embed_lorebook(
    own: &BackgroundEmbedder,
    store: &Arc<Store>,
    standing: &mut EmbedState,
) -> Result<bool, EmbedError> {
    let mut shelved = match standing.lorebook.take() {
        Some(shelved) => shelved,
        None => match next_lorebook(own, store).await? {
            Some(shelved) => shelved,
            None => return Ok(false),
        },
    };
    let batch: Vec<EmbedText> = shelved.left.iter().take(own.settings.batch).cloned().collect();
    let count = batch.len();
    if let Err(error) = embed_batch(own, store, standing, batch).await {
        standing.lorebook = Some(shelved);
        return Err(error);
    }
    shelved.left.drain(..count);
    if shelved.left.is_empty() {
        let (model, n, updated) = (own.embedder.name.clone(), shelved.n, shelved.updated);
        store.write(move |tx| tx.mark_lorebook_embedded(n, &model, updated)).await?;
    } else {
        standing.lorebook = Some(shelved);
    }
    Ok(true)
}

/// Returns the next changed lorebook, with the entries that may match by meaning. Registers their hashes first, so that
/// garbage collection keeps the vectors as long as the entries exist.
async fn next_lorebook(own: &BackgroundEmbedder, store: &Arc<Store>) -> Result<Option<LorebookBacklog>, EmbedError> {
    let model = own.embedder.name.clone();
    let read = move |reader: &mut StoreReader<'_>| reader.next_lorebook_to_embed(&model);
    let Some(found) = store.read::<_, StoreError, _>(read).await? else { return Ok(None) };
    let rules = lore::WorldInfoSettings::from_stored(found.settings).similar;
    let chars = own.settings.chars;
    let texts: IndexMap<blake3::Hash, EmbedText> = lorebook::entries(&found.book)
        .into_iter()
        .map(|entry| lore::LorebookEntry::read(String::new(), entry))
        .filter(|entry| entry.may_match_content(rules.all))
        .take(if rules.entries == 0 { 0 } else { MAX_ENTRIES })
        .map(|entry| (recall::embed_hash(&entry.content, chars), entry.content))
        .map(|(hash, text)| (hash, EmbedText { hash, text, node: None }))
        .collect();
    let (n, hashes) = (found.n, texts.keys().copied().collect::<Vec<_>>());
    store.write(move |tx| tx.set_lore_texts(n, &hashes)).await?;
    Ok(Some(LorebookBacklog { n, updated: found.updated, left: texts.into_values().collect() }))
}

/// Reads the next piece of the log; `true` if the cursor moved.
async fn read_log(own: &BackgroundEmbedder, store: &Arc<Store>, standing: &mut EmbedState) -> Result<bool, EmbedError> {
    let (model, cursor) = (own.embedder.name.clone(), standing.cursor);
    let read = move |reader: &mut StoreReader<'_>| {
        let stored = reader.embedding_progress(&model)?.map_or(0, |embedded| embedded.cursor);
        let after = cursor.unwrap_or(stored);
        let log = reader.log_after(after, BATCH)?;
        let next = log.last().map_or(after, |(cursor, ..)| *cursor);
        let is_far = i64::try_from(log.len()).is_ok_and(|read| read == BATCH);
        Ok((after, new_nodes(reader, &log)?, next, is_far))
    };
    let (after, waiting, next, is_far) = store.read::<_, StoreError, _>(read).await?;
    let EmbedState { left_out, lorebook: shelved, .. } = std::mem::take(standing);
    *standing = EmbedState {
        cursor: Some(after),
        pending: waiting,
        next,
        must_save_cursor: is_far,
        left_out,
        lorebook: shelved,
    };
    Ok(next != after)
}

/// Returns the nodes that a piece of the log added to sessions with recall.
fn new_nodes(
    reader: &mut StoreReader<'_>,
    log: &[(i64, SessionId, Operation)],
) -> Result<VecDeque<(SessionId, NodeId)>, StoreError> {
    let mut sessions: IndexMap<SessionId, (IndexSet<NodeId>, bool)> = IndexMap::new();
    for (_, session, operation) in log {
        let (nodes, is_all) = sessions.entry(*session).or_default();
        for effect in &operation.effects {
            match effect {
                Effect::Added { node, .. } | Effect::Completed { node } => _ = nodes.insert(*node),
                Effect::Setting { name, to, .. } if name == "recall" => *is_all |= is_on(to),
                _ => {}
            }
        }
    }
    let mut touched = VecDeque::new();
    for (session, (nodes, is_all)) in sessions {
        let Some(stored) = reader.any_session(session)?.filter(|stored| stored.session.recall.is_on) else { continue };
        let nodes: Vec<NodeId> = if is_all { reader.node_ids(&stored)? } else { nodes.into_iter().collect() };
        touched.extend(nodes.into_iter().map(|node| (session, node)));
    }
    Ok(touched)
}

fn is_on(setting: &serde_json::Value) -> bool {
    RecallSettings::from_json(setting).is_some_and(|recall| recall.is_on)
}

/// Embeds a batch of pending messages. When none is left, the cursor advances.
async fn embed_messages(
    own: &BackgroundEmbedder,
    store: &Arc<Store>,
    standing: &mut EmbedState,
) -> Result<(), EmbedError> {
    let batch: Vec<(SessionId, NodeId)> = standing.pending.iter().take(own.settings.batch).copied().collect();
    let (hide_tags, chars, wanted) = (Arc::clone(&own.hide_tags), own.settings.chars, batch.clone());
    let read = move |reader: &mut StoreReader<'_>| {
        let mut texts = Vec::new();
        for (session, node) in wanted {
            texts.extend(node_text(reader, session, node, &hide_tags, chars)?);
        }
        Ok(texts)
    };
    let texts: Vec<EmbedText> = store.read::<_, StoreError, _>(read).await?;
    let is_any = !texts.is_empty();
    embed_batch(own, store, standing, texts).await?;
    standing.pending.drain(..batch.len());
    if standing.pending.is_empty() {
        standing.cursor = Some(standing.next);
        // Otherwise the same piece of the log is read again after a restart; nothing is embedded twice.
        if is_any || standing.must_save_cursor {
            let (model, next) = (own.embedder.name.clone(), standing.next);
            store.write(move |tx| tx.set_embedding_cursor(&model, next)).await?;
        }
    }
    Ok(())
}

/// Returns the text of a node to embed; `None` for nodes without a message.
fn node_text(
    reader: &mut StoreReader<'_>,
    session: SessionId,
    node: NodeId,
    hide_tags: &[String],
    chars: usize,
) -> Result<Option<EmbedText>, StoreError> {
    let Some(stored) = reader.any_session(session)? else { return Ok(None) };
    let message = reader.node_or_stashed(&stored, node)?.filter(|placed| {
        placed.node.status == Status::Complete && !matches!(placed.node.kind, Kind::Root | Kind::Change)
    });
    Ok(message.and_then(|placed| {
        let node = &placed.node;
        let text = tags::text_for_model(node.role, &node.content, node.reasoning.is_some(), hide_tags).into_owned();
        let hash = recall::embed_hash(&text, chars);
        (!text.trim().is_empty()).then_some(EmbedText { hash, text, node: Some(placed.n) })
    }))
}

/// Embeds those texts that have no vector, and stores the vectors and their nodes.
async fn embed_batch(
    own: &BackgroundEmbedder,
    store: &Arc<Store>,
    standing: &mut EmbedState,
    texts: Vec<EmbedText>,
) -> Result<(), EmbedError> {
    // Skip texts that have a vector or cannot be embedded.
    let (model, hashes) = (own.embedder.name.clone(), texts.iter().map(|text| text.hash).collect::<Vec<_>>());
    let read = move |reader: &mut StoreReader<'_>| {
        let size = reader.embedding_progress(&model)?.map_or(0, |embedded| embedded.size);
        Ok((size, reader.hashes_with_vectors(&model, &hashes)?))
    };
    let (size, existing) = store.read::<_, StoreError, _>(read).await?;
    let unknown = texts.iter().filter(|text| !existing.contains(&text.hash) && !standing.left_out.contains(&text.hash));
    let new: IndexMap<blake3::Hash, String> =
        unknown.map(|text| (text.hash, recall::embed_prefix(&text.text, own.settings.chars).to_owned())).collect();
    // Request the vectors and check their length.
    let vectors = request_vectors(own, standing, new).await?;
    let before = if size == 0 { vectors.first().map_or(0, |(_, vector)| vector.len()) } else { size };
    if let Some(now) = vectors.iter().map(|(_, vector)| vector.len()).find(|now| *now != before) {
        return Err(EmbedError::DimensionMismatch { model: own.embedder.name.clone(), now, before });
    }
    // Store them.
    let count = u64::try_from(vectors.len()).unwrap_or(u64::MAX);
    let nodes: Vec<_> = texts.iter().filter_map(|text| Some((text.node?, text.hash))).collect();
    if count > 0 || !nodes.is_empty() {
        let (model, batch) = (own.embedder.name.clone(), EmbeddingBatch { vectors, nodes });
        store.write(move |tx| tx.put_vectors(&model, &batch)).await?;
    }
    own.embedded.fetch_add(count, Ordering::Relaxed);
    Ok(())
}

/// Requests the vectors of texts. If the server refuses the batch, texts are tried one by one, so that one bad text
/// does not block the others.
async fn request_vectors(
    own: &BackgroundEmbedder,
    standing: &mut EmbedState,
    texts: IndexMap<blake3::Hash, String>,
) -> Result<Vec<(blake3::Hash, Vec<f32>)>, EmbedError> {
    if texts.is_empty() {
        return Ok(Vec::new());
    }
    let all: Vec<String> = texts.values().cloned().collect();
    let failure = match own.embedder.embed(&all).await {
        Ok(vectors) => return Ok(texts.into_keys().zip(vectors).collect()),
        Err(failure) => failure,
    };
    if !is_text_failure(&failure) {
        return Err(failure.into());
    }
    // First check that the server can embed anything at all.
    own.embedder.embed(&[PROBE.to_owned()]).await?;
    let mut batch = Vec::new();
    for (hash, text) in texts {
        match own.embedder.embed(&[text]).await {
            Ok(vectors) => batch.extend(vectors.into_iter().map(|vector| (hash, vector))),
            Err(failure) if is_text_failure(&failure) => {
                tracing::info!(
                    model = own.embedder.name,
                    "a text cannot be embedded, so only word search finds it: {failure}"
                );
                own.left_out.fetch_add(1, Ordering::Relaxed);
                standing.left_out.insert(hash);
            }
            Err(failure) => return Err(failure.into()),
        }
    }
    Ok(batch)
}

/// Returns whether the texts may have caused the failure.
const fn is_text_failure(failure: &ProviderFailure) -> bool {
    matches!(
        failure,
        ProviderFailure::Refused { .. }
            | ProviderFailure::Failed { .. }
            | ProviderFailure::InvalidResponse { .. }
            | ProviderFailure::TooLarge { .. }
    )
}
