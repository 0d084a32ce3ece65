//! The index as others hold it.

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

/// So many names of values are looked at when they are listed.
const KEYS_MAX: usize = 1_000;

/// The search index. Searching never waits for writing.
pub struct Index {
    shared: Arc<SharedIndex>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// How far the index got, as cursors of the operation log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexProgress {
    /// Everything up to here was sent.
    pub fed: i64,
    /// Everything up to here can be found.
    pub visible: i64,
    /// Everything up to here survives a crash.
    pub committed: i64,
    /// It was made anew, as one of another version is, and can find everything only from this cursor on.
    pub complete_at: i64,
    /// The last commit failed; the index rests before it tries again.
    pub is_down: bool,
    /// The files are being checked, after a crash or a failure: hits may be missing until that is done.
    pub is_suspect: bool,
}

impl IndexProgress {
    /// How much of an index that is made anew is there, in percent; `None` for one that is whole.
    pub fn rebuild_percent(self) -> Option<u8> {
        let percent = self.visible.max(0).saturating_mul(100).checked_div(self.complete_at)?;
        (self.visible < self.complete_at).then(|| u8::try_from(percent).unwrap_or(0))
    }
}

impl Index {
    /// Opens the index in `folder`, which is made if missing and belongs to the index alone. A missing or damaged index, or
    /// one of another format or [`IndexSource`], is replaced by an empty one. After a crash all files are checked in the background; if that finds
    /// damage, the cursor goes back to 0.
    ///
    /// # Errors
    /// The folder cannot be read or written, or the system gives no thread.
    pub fn open(folder: &Path, upstream: IndexSource, settings: config::SearchConfig) -> Result<Self, SearchError> {
        let place = IndexFolder(folder.to_owned());
        let open = place.open(upstream)?;
        let queue = IndexQueue::new(open.cursor, upstream.newest, open.is_suspect);
        let shared = Arc::new(SharedIndex::new(queue, open));
        let worker = IndexWorker::new(place, upstream, settings, Arc::clone(&shared));
        let thread = thread::Builder::new().name("search".to_owned()).spawn(|| worker.run());
        Ok(Self { shared, thread: Mutex::new(Some(thread.map_err(SearchError::Thread)?)) })
    }

    /// The cursor after which the next changes are wanted; 0 means from the beginning. It may go back: ask each time.
    pub fn cursor(&self) -> i64 {
        self.shared.queue.state().fed
    }

    /// Takes the changes that lead from the cursor `after` to `cursor`; they can be found within the commit interval.
    /// Blocks while thousands of changes wait. The same changes may be sent again: a node has one document.
    ///
    /// # Errors
    /// The index stands elsewhere than `after` (ask for its cursor and read the log from there), or it takes nothing now.
    pub fn send(&self, after: i64, changes: Vec<IndexChange>, cursor: i64) -> Result<(), IndexSendError> {
        self.shared.queue.send(after, changes, cursor)
    }

    /// Waits until the files are checked, if they had to be, and everything that was sent is durable and can be found.
    /// Blocks.
    ///
    /// # Errors
    /// The commit failed, or the index is closed.
    pub fn flush(&self) -> Result<(), SearchError> {
        self.shared.queue.flush()
    }

    /// Writes the files anew in which something lies that was removed: it is not found any more at once, but only this takes
    /// it off the disk. Blocks; nothing is indexed meanwhile, and searches go on.
    ///
    /// # Errors
    /// The files cannot be written, or the index is closed.
    pub fn purge_removed(&self) -> Result<(), SearchError> {
        self.shared.queue.purge_removed()
    }

    /// How far the index got. It is stale while `visible` is behind the newest operation of the log
    /// or the files are suspect.
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

    /// How many nodes can be found, whoever owns them.
    pub fn len(&self) -> u64 {
        self.shared.reader().searcher().num_docs()
    }

    /// Whether nothing can be found.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The sessions of which something stands in the files. One whose every document was removed may be among them until the
    /// files are written anew.
    ///
    /// # Errors
    /// The files cannot be read; they are then checked.
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

    /// Decides for a search what the names before colons are: values of the world that some message of this user has, or plain
    /// text.
    ///
    /// # Errors
    /// The index cannot be read. Inside: a name is neither.
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

    /// The names of values of the world by which messages of this user are found, in the order of the alphabet, at most so many.
    ///
    /// # Errors
    /// The index cannot be read.
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
            let mut known = Vec::new();
            for key in all {
                if known.len() < limit && has_key(&searcher, owner, &key)? {
                    known.push(key);
                }
            }
            Ok(known)
        })
    }

    /// What matches, as the index is at this moment; its hits are fetched page by page. Blocks for the time of a search.
    pub fn find(&self, request: &SearchRequest) -> SearchResults {
        SearchResults::new(Arc::clone(&self.shared), self.shared.reader().searcher(), request)
    }

    /// Makes everything durable and stops the thread. Blocks; later changes are refused, searches go on.
    ///
    /// # Errors
    /// The last commit failed; the next start resumes from the one before.
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

/// What was not committed is left to the next start; [`Index::close`] commits it.
impl Drop for Index {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Whether a message of a user has a value of this name.
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

    /// Segments are merged behind the last commit; searches see that without another one.
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
        // Eight small segments become one.
        while seen() >= 8 || seen() != index.shared.index().searchable_segment_ids().unwrap().len() {
            assert!(Instant::now() < until, "{} segments are searched", seen());
            std::thread::yield_now();
        }
        assert_eq!(index.len(), 20);
    }
}
