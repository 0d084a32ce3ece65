//! The public handle of the index.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use indexmap::IndexSet;
use tantivy::collector::Count;
use tantivy::query::{BooleanQuery, Occur};
use tantivy::{Searcher, Term};

use super::compile::exact;
use super::disk::IndexFolder;
use super::find::{SearchRequest, SearchResults};
use super::query::{ParsedQuery, QueryError};
use super::queue::{IndexQueue, IndexSendError};
use super::schema::FIELDS;
use super::shared::SharedIndex;
use super::writer::IndexWorker;
use super::{IndexChange, IndexSource, SearchError};
use clotho_config as config;
use clotho_core::ids::{SessionId, UserId};

/// How many keys of values per segment are examined for a listing.
const KEYS_MAX: usize = 1_000;

/// The search index. Searches never wait for writes.
pub struct Index {
    shared: Arc<SharedIndex>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The progress of the index, as cursors of the operation log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexProgress {
    /// Everything up to here was sent.
    pub fed: i64,
    /// Everything up to here can be found.
    pub visible: i64,
    /// Everything up to here survives a crash.
    pub committed: i64,
    /// A rebuilt index is complete from this cursor on; 0 if it was not rebuilt.
    pub complete_at: i64,
    /// The last commit failed, and the index pauses before the next attempt.
    pub is_down: bool,
    /// The files are being checked after a crash or failure; hits may be missing meanwhile.
    pub is_suspect: bool,
}

impl IndexProgress {
    /// Returns the progress of a rebuild in percent; `None` if the index is complete.
    pub fn rebuild_percent(self) -> Option<u8> {
        let percent = self.visible.max(0).saturating_mul(100).checked_div(self.complete_at)?;
        (self.visible < self.complete_at).then(|| u8::try_from(percent).unwrap_or(0))
    }
}

impl Index {
    /// Opens the index in `folder`, which is created if missing and must contain nothing else.
    ///
    /// A missing or damaged index, or one of another format or [`IndexSource`], is replaced by an empty one. After a
    /// crash all files are checked in the background; if they are damaged, the cursor goes back to 0.
    ///
    /// # Errors
    /// Returns an error if the folder is not readable or writable, or if no thread can be started.
    pub fn open(folder: &Path, upstream: IndexSource, settings: config::SearchConfig) -> Result<Self, SearchError> {
        let place = IndexFolder(folder.to_owned());
        let open = place.open(upstream)?;
        let queue = IndexQueue::new(open.cursor, upstream.newest, open.is_suspect);
        let shared = Arc::new(SharedIndex::new(queue, open));
        let worker = IndexWorker::new(place, upstream, settings, Arc::clone(&shared));
        let thread = thread::Builder::new().name("search".to_owned()).spawn(|| worker.run());
        Ok(Self { shared, thread: Mutex::new(Some(thread.map_err(SearchError::Thread)?)) })
    }

    /// Returns the cursor after which the next changes are expected; 0 means all. It can go back, so ask before each
    /// send.
    pub fn cursor(&self) -> i64 {
        self.shared.queue.state().fed
    }

    /// Sends the changes between the cursors `after` and `cursor`. They become visible within the commit interval.
    ///
    /// Blocks while thousands of changes wait. Changes may be sent again: a node has only one document.
    ///
    /// # Errors
    /// Returns an error if the index is not at `after` (then continue from its cursor), or if it accepts no changes
    /// now.
    pub fn send(&self, after: i64, changes: Vec<IndexChange>, cursor: i64) -> Result<(), IndexSendError> {
        self.shared.queue.send(after, changes, cursor)
    }

    /// Waits until a pending file check is done, and all sent changes are durable and visible. Blocks.
    ///
    /// # Errors
    /// Returns an error if the commit failed or the index is closed.
    pub fn flush(&self) -> Result<(), SearchError> {
        self.shared.queue.flush()
    }

    /// Rewrites the segments that contain removed documents. Removed documents are invisible at once, but only this
    /// erases them from the disk. Blocks; indexing pauses meanwhile, searches continue.
    ///
    /// # Errors
    /// Returns an error if the files cannot be written or the index is closed.
    pub fn purge_removed(&self) -> Result<(), SearchError> {
        self.shared.queue.purge_removed()
    }

    /// Returns the progress. The index is stale while `visible` is behind the newest operation, or while the files are
    /// suspect.
    pub fn progress(&self) -> IndexProgress {
        let state = self.shared.queue.state();
        let (fed, visible, committed) = (state.fed, state.visible, state.committed);
        let whole_at = state.whole_at;
        IndexProgress {
            fed,
            visible,
            committed,
            complete_at: whole_at,
            is_down: state.is_down,
            is_suspect: state.is_suspect,
        }
    }

    /// Returns how many nodes of all owners are visible.
    pub fn len(&self) -> u64 {
        self.shared.reader().searcher().num_docs()
    }

    /// Returns whether no node is visible.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the sessions that occur in the files. A session without remaining documents may be included until its
    /// segments are rewritten.
    ///
    /// # Errors
    /// Returns an error if the files cannot be read; they are then checked.
    pub fn sessions(&self) -> Result<IndexSet<SessionId>, SearchError> {
        let searcher = self.shared.reader().searcher();
        self.shared.read(|| {
            let mut found = IndexSet::new();
            for segment in searcher.segment_readers() {
                let sessions = segment.inverted_index(FIELDS.session)?;
                let mut terms = sessions.terms().stream()?;
                while terms.advance() {
                    found.extend(SessionId::from_slice(terms.key()));
                }
            }
            Ok(found)
        })
    }

    /// Resolves the names before colons in a query: either values that some message of this user has, or plain text.
    ///
    /// # Errors
    /// The outer error means that the index cannot be read; the inner one, that a name is neither.
    pub fn resolve_names(&self, owner: UserId, query: &mut ParsedQuery) -> Result<Result<(), QueryError>, SearchError> {
        let searcher = self.shared.reader().searcher();
        self.shared.read(|| {
            let mut failed = None;
            let settled = query.resolve_values(|key| {
                has_key(&searcher, owner, key).unwrap_or_else(|error| {
                    failed = Some(error);
                    true
                })
            });
            failed.map_or(Ok(settled), Err)
        })
    }

    /// Returns up to `limit` keys of values in messages of this user, sorted.
    ///
    /// # Errors
    /// Returns an error if the index cannot be read.
    pub fn keys(&self, owner: UserId, limit: usize) -> Result<Vec<String>, SearchError> {
        let searcher = self.shared.reader().searcher();
        self.shared.read(|| {
            let mut all = BTreeSet::new();
            for segment in searcher.segment_readers() {
                let keys = segment.inverted_index(FIELDS.keys)?;
                let mut terms = keys.terms().stream()?;
                while all.len() < KEYS_MAX && terms.advance() {
                    all.extend(str::from_utf8(terms.key()).map(str::to_owned));
                }
            }
            let mut names = Vec::new();
            for key in all {
                if names.len() < limit && has_key(&searcher, owner, &key)? {
                    names.push(key);
                }
            }
            Ok(names)
        })
    }

    /// Starts a search on the current state of the index. The results are fetched page by page, and each fetch blocks.
    pub fn find(&self, request: &SearchRequest) -> SearchResults {
        SearchResults::new(Arc::clone(&self.shared), self.shared.reader().searcher(), request)
    }

    /// Makes everything durable and stops the thread. Blocks. Later changes are refused; searches still work.
    ///
    /// # Errors
    /// Returns an error if the last commit failed; the next start resumes from the commit before.
    pub fn close(&self) -> Result<(), SearchError> {
        let flushed = self.flush();
        self.stop();
        flushed
    }

    fn stop(&self) {
        self.shared.queue.close();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread of the search index panicked");
        }
    }
}

/// Stops the thread without a commit; uncommitted changes are sent again after the next start. See [`Index::close`].
impl Drop for Index {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Returns whether a message of a user has a value with this key.
fn has_key(searcher: &Searcher, owner: UserId, key: &str) -> tantivy::Result<bool> {
    let term = Term::from_field_text(FIELDS.keys, key);
    let both = [FIELDS.owner_term(owner), term].map(|term| (Occur::Must, Box::new(exact(term)) as Box<_>));
    Ok(searcher.search(&BooleanQuery::new(both.into()), &Count)? > 0)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use uuid::Uuid;

    use super::*;
    use crate::SearchDocument;
    use clotho_core::clock::Time;
    use clotho_core::ids::NodeId;
    use clotho_core::tree::Role;

    /// Segments are merged after the last commit, and searches use them without another commit.
    #[test]
    fn index_merged_segments_are_searched() {
        let temp = tempfile::tempdir().unwrap();
        let upstream = IndexSource { id: Uuid::from_u128(9), newest: 1_000, texts: 1 };
        let settings =
            config::SearchConfig { commit_interval: Duration::from_secs(3_600), ..config::SearchConfig::default() };
        let index = Index::open(temp.path(), upstream, settings).unwrap();
        for n in 0..20_u128 {
            let (node, from) = (NodeId::new(Uuid::from_u128(n + 1)), index.cursor());
            let document = SearchDocument {
                node,
                session: SessionId::new(Uuid::from_u128(1)),
                owner: UserId::new(Uuid::from_u128(1)),
                character: None,
                role: Role::User,
                name: "Rin".into(),
                text: "The lantern burns.".into(),
                time: Time(0),
                facts: Vec::new(),
            };
            index.send(from, vec![IndexChange::Put(document)], from + 1).unwrap();
            index.flush().unwrap();
        }
        let seen = || index.shared.reader().searcher().segment_readers().len();
        let until = Instant::now() + Duration::from_secs(60);
        // Eight small segments are merged to one.
        while seen() >= 8 || seen() != index.shared.index().searchable_segment_ids().unwrap().len() {
            assert!(Instant::now() < until, "{} segments are searched", seen());
            std::thread::yield_now();
        }
        assert_eq!(index.len(), 20);
    }
}
