//! The one thread that writes the index. Commits cost tens of milliseconds, so they are made for many changes at once:
//! after `commit_docs` changes, or when the oldest has waited `commit_interval`.

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

/// A cursor that moves without changes is committed after so many steps: that only shortens a restart.
const IDLE_STEPS_MAX: usize = 1_000;
/// The first and the longest rest after a failure.
const RETRY_DELAY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// After a commit segments are still being merged for a while: so long after it is looked for the first time whether they are, then
/// each time four times later, and so long at most.
const MERGE_POLL: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));

pub(super) struct IndexWorker {
    place: IndexFolder,
    upstream: IndexSource,
    settings: config::SearchConfig,
    shared: Arc<SharedIndex>,
    /// Made for the first change, so that a server that is only read carries no writer.
    writer: Option<IndexWriter>,
    /// How far the changes given to the writer go.
    cursor: i64,
    /// Changes given to the writer since the last commit.
    changes: usize,
    /// Batches without changes since the last commit.
    quiet: usize,
    /// When the oldest of the changes came.
    oldest: Option<Instant>,
    rest: Duration,
    /// When to look for merged segments, and how long was waited for it.
    merging: Option<(Instant, Duration)>,
}

impl IndexWorker {
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

    /// Works until the queue is closed.
    pub fn run(mut self) {
        loop {
            let commit = self.oldest.map(|oldest| oldest + self.settings.commit_interval);
            let task = self.shared.queue.next(commit, self.merging.map(|(at, _)| at));
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

    /// Looks whether segments were merged.
    fn reload_merged(&mut self) -> Result<(), SearchError> {
        let wait = self.merging.take().map(|(_, waited)| waited * 4).filter(|wait| *wait <= MERGE_POLL.1);
        self.merging = wait.map(|wait| (Instant::now() + wait, wait));
        Ok(self.shared.reload_merged()?)
    }

    /// Writes every segment anew that has removed documents, without them. What is being merged already is waited for, and
    /// nothing else is merged meanwhile.
    fn purge_removed(&mut self) -> Result<(), SearchError> {
        self.commit()?;
        self.writer.take().map_or(Ok(()), IndexWriter::wait_merging_threads)?;
        let segments = self.shared.index().searchable_segment_metas()?;
        let writer = self.writer()?;
        writer.set_merge_policy(Box::new(NoMergePolicy));
        for segment in segments.iter().filter(|segment| segment.has_deletes()) {
            writer.merge(&[segment.id()]).wait()?;
        }
        // Whoever knows the old segments keeps their files.
        drop(segments);
        self.shared.reload()?;
        self.writer()?.garbage_collect_files().wait()?;
        self.writer = None;
        self.shared.queue.purge_finished();
        Ok(())
    }

    /// Makes a damaged index anew; whoever feeds it then begins at the beginning.
    fn check_files(&mut self) -> Result<(), SearchError> {
        if disk::is_intact(&self.shared.index()) {
            self.shared.queue.mark_intact();
            return Ok(());
        }
        tracing::warn!("the search index is damaged and is made anew");
        self.drop_writer();
        let open = self.place.create()?;
        self.shared.replace(open);
        self.cursor = 0;
        self.shared.queue.restart();
        self.shared.queue.mark_intact();
        Ok(())
    }

    /// Goes back to the last commit and rests; `false` if the index was closed meanwhile.
    fn recover(&mut self, error: &SearchError) -> bool {
        tracing::error!(%error, rest = ?self.rest, "the search index could not be written; it goes back to its last commit");
        self.drop_writer();
        self.cursor = self.shared.queue.state().committed;
        self.shared.queue.rewind(self.cursor, true);
        let goes_on = self.shared.queue.rest(self.rest);
        // The folder may be gone or half written: writing on would fail for ever.
        self.shared.queue.mark_suspect();
        self.rest = (self.rest * 2).min(RETRY_DELAY.1);
        goes_on
    }

    /// Drops the writer with everything that is not committed.
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

/// However the thread ends, nobody waits for it in vain.
impl Drop for IndexWorker {
    fn drop(&mut self) {
        self.shared.queue.close();
    }
}

fn write(writer: &IndexWriter, change: &IndexChange) -> Result<(), TantivyError> {
    match change {
        IndexChange::Put(document) => {
            writer.delete_term(FIELDS.node_term(document.node));
            writer.add_document(FIELDS.write(document))?;
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
