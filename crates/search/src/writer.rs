//! The only thread that writes the index. A commit costs tens of milliseconds, so changes are batched: it commits after
//! `commit_docs` changes, or when the oldest one has waited `commit_interval`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tantivy::indexer::{IndexWriterOptions, NoMergePolicy};
use tantivy::{IndexWriter, TantivyError};

use super::disk::{self, IndexFolder};
use super::queue::{ChangeBatch, IndexTask};
use super::schema::FIELDS;
use super::shared::SharedIndex;
use super::{IndexChange, IndexSource, SearchError};
use clotho_config as config;

/// After this many batches without changes the cursor is committed. That only shortens a restart.
const IDLE_STEPS_MAX: usize = 1_000;
/// The first and the longest wait after a failure.
const RETRY_DELAY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Segments are still merged for a while after a commit. This is the first interval of checks for merged segments, and
/// the longest; each is four times the previous one.
const MERGE_POLL: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));

/// The state of the writer thread.
pub(super) struct IndexWorker {
    place: IndexFolder,
    upstream: IndexSource,
    settings: config::SearchConfig,
    shared: Arc<SharedIndex>,
    /// Created for the first change, so that a server without writes needs no writer memory.
    writer: Option<IndexWriter>,
    /// The cursor of the changes given to the writer.
    cursor: i64,
    /// Changes given to the writer since the last commit.
    changes: usize,
    /// Batches without changes since the last commit.
    quiet: usize,
    /// When the oldest uncommitted change came.
    oldest: Option<Instant>,
    rest: Duration,
    /// When to check for merged segments, and the last interval.
    merging: Option<(Instant, Duration)>,
}

impl IndexWorker {
    /// Creates the worker at the last committed cursor.
    pub fn new(
        place: IndexFolder,
        upstream: IndexSource,
        settings: config::SearchConfig,
        shared: Arc<SharedIndex>,
    ) -> Self {
        let cursor = shared.queue.state().committed;
        Self {
            place,
            upstream,
            settings,
            shared,
            writer: None,
            cursor,
            changes: 0,
            quiet: 0,
            oldest: None,
            rest: RETRY_DELAY.0,
            merging: None,
        }
    }

    /// Runs until the queue is closed.
    pub fn run(mut self) {
        loop {
            let commit = self.oldest.map(|oldest| oldest + self.settings.commit_interval);
            let task = self.shared.queue.next_task(commit, self.merging.map(|(at, _)| at));
            let outcome = disk::catch_panic(|| match task {
                IndexTask::Stop => Ok(false),
                IndexTask::Apply(batch) => self.apply(batch).map(|()| true),
                IndexTask::Commit => self.commit().map(|()| true),
                IndexTask::ReloadMerged => self.reload_merged().map(|()| true),
                IndexTask::PurgeRemoved => self.purge_removed().map(|()| true),
                IndexTask::Check => self.check_files().map(|()| true),
            });
            if !outcome.unwrap_or_else(|error| self.recover(&error)) {
                break;
            }
        }
        let is_committed = self.changes == 0 && self.quiet == 0;
        let merged = self.writer.take().map_or(Ok(()), IndexWriter::wait_merging_threads);
        if is_committed && merged.is_ok() {
            self.place.mark_clean();
        }
    }

    fn apply(&mut self, batch: ChangeBatch) -> Result<(), SearchError> {
        if !batch.changes.is_empty() {
            let writer = self.writer()?;
            for change in &batch.changes {
                write(writer, change)?;
            }
            self.oldest.get_or_insert_with(Instant::now);
        }
        self.changes += batch.changes.len();
        self.quiet += usize::from(batch.changes.is_empty());
        self.cursor = batch.cursor;
        if self.changes == 0 {
            self.shared.queue.advance(self.cursor);
        }
        if self.changes >= self.settings.commit_docs || self.quiet >= IDLE_STEPS_MAX { self.commit() } else { Ok(()) }
    }

    fn commit(&mut self) -> Result<(), SearchError> {
        let (upstream, cursor) = (self.upstream, self.cursor);
        if self.changes > 0 || self.quiet > 0 {
            let mut prepared = self.writer()?.prepare_commit()?;
            prepared.set_payload(&disk::payload(upstream, cursor));
            prepared.commit()?;
            self.shared.reload()?;
            self.merging = Some((Instant::now() + MERGE_POLL.0, MERGE_POLL.0));
        }
        (self.changes, self.quiet, self.oldest, self.rest) = (0, 0, None, RETRY_DELAY.0);
        self.shared.queue.commit(cursor);
        Ok(())
    }

    /// Makes merged segments visible, and schedules the next check.
    fn reload_merged(&mut self) -> Result<(), SearchError> {
        let wait = self.merging.take().map(|(_, waited)| waited * 4).filter(|wait| *wait <= MERGE_POLL.1);
        self.merging = wait.map(|wait| (Instant::now() + wait, wait));
        Ok(self.shared.reload_merged()?)
    }

    /// Rewrites every segment that has removed documents, without them. Waits for running merges first; no others start
    /// meanwhile.
    fn purge_removed(&mut self) -> Result<(), SearchError> {
        self.commit()?;
        self.writer.take().map_or(Ok(()), IndexWriter::wait_merging_threads)?;
        let segments = self.shared.index().searchable_segment_metas()?;
        let writer = self.writer()?;
        writer.set_merge_policy(Box::new(NoMergePolicy));
        for segment in segments.iter().filter(|segment| segment.has_deletes()) {
            writer.merge(&[segment.id()]).wait()?;
        }
        // Metas keep the files of the old segments alive.
        drop(segments);
        self.shared.reload()?;
        self.writer()?.garbage_collect_files().wait()?;
        self.writer = None;
        self.shared.queue.purge_finished();
        Ok(())
    }

    /// Checks the files and recreates a damaged index. The feeder then starts from the beginning.
    fn check_files(&mut self) -> Result<(), SearchError> {
        if disk::is_intact(&self.shared.index())? {
            self.shared.queue.mark_intact();
            return Ok(());
        }
        tracing::warn!("the search index is damaged and is rebuilt");
        self.drop_writer();
        let open = self.place.create()?;
        self.shared.replace(open);
        self.cursor = 0;
        self.shared.queue.restart();
        self.shared.queue.mark_intact();
        Ok(())
    }

    /// Goes back to the last commit and waits; `false` if the index was closed meanwhile.
    fn recover(&mut self, error: &SearchError) -> bool {
        tracing::error!(%error, rest = ?self.rest, "the search index could not be written; it is rolled back to its \
         last commit");
        self.drop_writer();
        self.cursor = self.shared.queue.state().committed;
        self.shared.queue.rewind(self.cursor, true);
        let goes_on = self.shared.queue.wait_after_failure(self.rest);
        // The folder may be missing or half written; without a check, writing would fail forever.
        self.shared.queue.mark_suspect();
        self.rest = (self.rest * 2).min(RETRY_DELAY.1);
        goes_on
    }

    /// Drops the writer and everything uncommitted.
    fn drop_writer(&mut self) {
        self.writer = None;
        (self.changes, self.quiet, self.oldest) = (0, 0, None);
    }

    fn writer(&mut self) -> Result<&mut IndexWriter, TantivyError> {
        match &mut self.writer {
            Some(writer) => Ok(writer),
            none => {
                let options = IndexWriterOptions::builder()
                    .num_worker_threads(1)
                    .num_merge_threads(1)
                    .memory_budget_per_thread(self.settings.heap_bytes)
                    .build();
                Ok(none.insert(self.shared.index().writer_with_options(options)?))
            }
        }
    }
}

/// Closes the queue even after a panic, so that nobody waits forever.
impl Drop for IndexWorker {
    fn drop(&mut self) {
        self.shared.queue.close();
    }
}

fn write(writer: &IndexWriter, change: &IndexChange) -> Result<(), TantivyError> {
    match change {
        IndexChange::Put(document) => {
            writer.delete_term(FIELDS.node_term(document.node));
            writer.add_document(FIELDS.to_document(document))?;
        }
        IndexChange::Remove(node) => {
            writer.delete_term(FIELDS.node_term(*node));
        }
        IndexChange::RemoveSession(session) => {
            writer.delete_term(FIELDS.session_term(*session));
        }
    }
    Ok(())
}
