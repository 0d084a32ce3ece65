//! Follows the operation log: every durable operation is published to watchers at once, and the search index is fed
//! from the log.
//!
//! The index knows its own cursor. After a crash or rebuild it is fed again from there. So this module keeps no
//! progress, and processing a piece twice does no harm. Purged sessions lose their log too, so `secure_erase` removes
//! those from the index.

use std::borrow::Cow;
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc};

use crate::live::LiveSessions;
use clotho_compat::prompt::tags;
use clotho_core::ids::{NodeId, SessionId};
use clotho_core::oplog::{Effect, Operation};
use clotho_core::tree::{Kind, Node, Status};
use clotho_search::{
    self as search, Index, IndexChange, IndexSendError, IndexSource, IndexedValue, SearchDocument, SearchError,
};
use clotho_store::{ActiveRules, PublishedOperation, Store, StoreError, StoreReader, StoredNode, StoredSession};

/// Operations read from the log at once.
const BATCH: i64 = 256;
/// How long the feeder waits before it tries again after a failure or without a notification.
const LOOK_AGAIN: std::time::Duration = std::time::Duration::from_secs(2);

/// How long the feeder waits after a notification, so that more operations arrive: a batch costs little more than one
/// operation.
const BATCH_DELAY: std::time::Duration = std::time::Duration::from_millis(50);

/// The version of the text processing. Change it when texts are made differently, so that old indexes are rebuilt.
const TEXTS: &[u8] = b"without thoughts";

/// The search index and its text settings.
#[derive(Clone)]
pub struct IndexFeeder {
    pub index: Arc<Index>,
    /// Tags whose blocks are hidden from readers and not indexed.
    pub hide_tags: Arc<[String]>,
}

/// Returns a hash of the text settings; an index with another one is rebuilt.
pub fn text_fingerprint(hide_tags: &[String]) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(TEXTS);
    for tag in hide_tags {
        hasher.update(&tag.len().to_le_bytes()).update(tag.as_bytes());
    }
    let mut first = [0; 8];
    hasher.finalize_xof().fill(&mut first);
    u64::from_le_bytes(first)
}

/// Returns the source for an index of this database; `None` if it has no owner yet.
///
/// # Errors
/// Returns an error if the database fails or a row is damaged.
pub fn upstream(reader: &mut StoreReader<'_>, hide_tags: &[String]) -> Result<Option<IndexSource>, StoreError> {
    let owner = reader.users()?.into_iter().find(|user| user.role == "owner");
    let newest = reader.newest_cursor()?;
    Ok(owner.map(|owner| IndexSource { id: owner.id.uuid(), newest, texts: text_fingerprint(hide_tags) }))
}

/// Why an index could not be filled.
#[derive(Debug, thiserror::Error)]
pub enum IndexFillError {
    /// The database fails or a row is damaged.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The index cannot be written.
    #[error(transparent)]
    Index(#[from] SearchError),
}

/// Feeds an index until it is complete; nothing may write meanwhile. `say` gets the cursor after each batch.
///
/// # Errors
/// Returns an error if the database fails or the index cannot be written.
pub async fn fill_index(
    store: &Arc<Store>,
    indexing: &IndexFeeder,
    mut say: impl FnMut(i64),
) -> Result<(), IndexFillError> {
    while feed_batch(store, indexing).await? {
        say(indexing.index.cursor());
    }
    let index = Arc::clone(&indexing.index);
    let flushed = tokio::task::spawn_blocking(move || index.flush()).await;
    Ok(flushed.unwrap_or(Err(SearchError::Down))?)
}

/// Starts the follower. `published` comes from the store.
pub fn follow(
    runtime: &Handle,
    store: &Arc<Store>,
    live: &Arc<LiveSessions>,
    indexing: IndexFeeder,
    mut published: mpsc::UnboundedReceiver<PublishedOperation>,
) {
    // Notifies the feeder of new operations.
    let wakeup = Arc::new(Notify::new());
    let (live, notified) = (Arc::clone(live), Arc::clone(&wakeup));
    runtime.spawn(async move {
        while let Some(event) = published.recv().await {
            live.publish(event.session, &event.operation);
            if trash_change(&event.operation) == Some(true) {
                // Nobody will read the replies that are still running there.
                live.all_running_replies()
                    .iter()
                    .filter(|one| one.session == event.session)
                    .for_each(|one| one.cancel());
            }
            notified.notify_one();
        }
    });
    let store = Arc::downgrade(store);
    runtime.spawn(async move {
        loop {
            let Some(store) = store.upgrade() else { return };
            match feed_batch(&store, &indexing).await {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => tracing::warn!("the search index is behind: {error}"),
            }
            drop(store);
            // A notification during feeding is not lost; without one this sleeps.
            let _ = tokio::time::timeout(LOOK_AGAIN, wakeup.notified()).await;
            tokio::time::sleep(BATCH_DELAY).await;
        }
    });
}

/// Returns whether an operation moves its session to the trash (`true`) or restores it (`false`).
fn trash_change(operation: &Operation) -> Option<bool> {
    operation.effects.iter().find_map(|effect| match effect {
        Effect::Setting { name, to, .. } if name == "trashed" => to.as_bool(),
        _ => None,
    })
}

/// Feeds one batch; `true` if there was one.
async fn feed_batch(store: &Arc<Store>, indexing: &IndexFeeder) -> Result<bool, StoreError> {
    let IndexFeeder { index, hide_tags } = indexing.clone();
    let after = index.cursor();
    let (changes, cursor) = store.read(move |reader| read_batch(reader, after, &hide_tags)).await?;
    if cursor == after {
        return Ok(false);
    }
    match tokio::task::spawn_blocking(move || index.send(after, changes, cursor)).await {
        Ok(Ok(())) => Ok(true),
        // The index is at another cursor; continue from there at once.
        Ok(Err(IndexSendError::CursorMismatch(_))) => Ok(true),
        Ok(Err(IndexSendError::Down)) => Ok(false),
        Err(error) => {
            tracing::error!("updating the search index failed: {error}");
            Ok(false)
        }
    }
}

/// Returns the index changes of a piece of the log, and the cursor after it. It reads one consistent snapshot, so a
/// node that several operations touched is read only once.
fn read_batch(
    reader: &mut StoreReader<'_>,
    after: i64,
    hide_tags: &[String],
) -> Result<(Vec<IndexChange>, i64), StoreError> {
    // Read the log.
    let log = reader.log_after(after, BATCH)?;
    let mut cursor = log.last().map_or(after, |(cursor, ..)| *cursor);
    if log.len().try_into().is_ok_and(|read: i64| read < BATCH) {
        // Operations at the end of the log may have been purged with their session; skip them.
        cursor = cursor.max(reader.newest_cursor()?);
    }
    // Collect the nodes that may have changed.
    let mut touched: IndexMap<SessionId, IndexSet<NodeId>> = IndexMap::new();
    let mut moved: IndexMap<SessionId, IndexSet<NodeId>> = IndexMap::new();
    for (_, session, operation) in &log {
        let touched = touched.entry(*session).or_default();
        touched.extend(operation.effects.iter().flat_map(shown_nodes));
        for node in operation.effects.iter().filter_map(moved_world_root) {
            moved.entry(*session).or_default().insert(node);
        }
        if trash_change(operation) == Some(false)
            && let Some(stored) = reader.any_session(*session)?
        {
            touched.extend(reader.node_ids(&stored)?);
        }
    }
    // Read their current documents.
    let mut changes = Vec::new();
    for (session, mut nodes) in touched {
        match reader.any_session(session)? {
            Some(stored) => {
                for above in moved.get(&session).into_iter().flatten() {
                    nodes.extend(reader.descendants_with_rules(&stored, *above, has_search_facts)?);
                }
                for node in nodes {
                    changes.push(node_change(reader, &stored, node, hide_tags)?);
                }
            }
            None => changes.push(IndexChange::RemoveSession(session)),
        }
    }
    Ok((changes, cursor))
}

/// Returns the nodes whose searchable content an effect changes.
fn shown_nodes(effect: &Effect) -> impl Iterator<Item = NodeId> {
    let (node, below) = match effect {
        Effect::Added { node, .. } | Effect::Completed { node } | Effect::Shown { node, .. } => (Some(*node), &[][..]),
        Effect::Purged { node, below, .. } => (Some(*node), below.as_slice()),
        _ => (None, &[][..]),
    };
    node.into_iter().chain(below.iter().copied())
}

/// Returns the node below which an effect changes states. Nodes there are indexed again if their schemas have
/// searchable values.
fn moved_world_root(effect: &Effect) -> Option<NodeId> {
    match effect {
        Effect::Muted { node, .. } | Effect::Moved { node, .. } | Effect::Revised { node, .. } => Some(*node),
        _ => None,
    }
}

/// Returns whether the active schemas mark searchable values.
fn has_search_facts(rules: &ActiveRules) -> bool {
    search::has_searchable_values(&rules.rules)
}

fn node_change(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    id: NodeId,
    hide_tags: &[String],
) -> Result<IndexChange, StoreError> {
    let found = reader.node_or_stashed(stored, id)?.filter(|placed| is_searchable(&placed.node));
    let Some(mut placed) = found else { return Ok(IndexChange::Remove(id)) };
    let node = &placed.node;
    if let Cow::Owned(shown) = tags::text_for_model(node.role, &node.content, node.reasoning.is_some(), hide_tags) {
        placed.node.content = shown;
    }
    if placed.node.content.is_empty() {
        return Ok(IndexChange::Remove(id));
    }
    let facts = search_facts(reader, stored, &placed)?;
    Ok(IndexChange::Put(document(stored, placed.node, facts)))
}

/// Returns the searchable values of a node's state. Most schemas mark none, and then the state is not read.
fn search_facts(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    placed: &StoredNode,
) -> Result<Vec<IndexedValue>, StoreError> {
    let rules = reader.rules(placed)?;
    if !has_search_facts(&rules) {
        return Ok(Vec::new());
    }
    let world = reader.world(stored, placed)?;
    Ok(search::indexed_values(&world, &rules.rules))
}

/// Returns the expected index documents of a session, by its row; none if it is in the trash.
///
/// # Errors
/// Returns an error if the database fails or a row is damaged.
pub fn session_documents(
    reader: &mut StoreReader<'_>,
    session_n: i64,
    hide_tags: &[String],
) -> Result<Vec<SearchDocument>, StoreError> {
    let Some(stored) = reader.session_by_row(session_n)? else { return Ok(Vec::new()) };
    let mut documents = Vec::new();
    for node in reader.node_ids(&stored)? {
        if let IndexChange::Put(document) = node_change(reader, &stored, node, hide_tags)? {
            documents.push(document);
        }
    }
    Ok(documents)
}

/// Returns whether a node is indexed: any message that is not being generated, also failed ones with partial text.
fn is_searchable(node: &Node) -> bool {
    node.status != Status::Generating && !matches!(node.kind, Kind::Root | Kind::Change) && !node.content.is_empty()
}

fn document(stored: &StoredSession, node: Node, facts: Vec<IndexedValue>) -> SearchDocument {
    SearchDocument {
        node: node.id,
        session: node.session,
        owner: stored.session.owner,
        character: node.character,
        role: node.role,
        name: node.name.unwrap_or_default(),
        text: node.content,
        time: node.created,
        facts,
    }
}
