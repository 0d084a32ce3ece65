//! Garbage collection of data that is unused or has expired. It runs in small writes, so that turns can go on
//! meanwhile. What is interrupted is done in the next run.

use std::collections::HashSet;
use std::fmt;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary};
use serde_json::Value;

use crate::blobs;
use crate::compression;
use crate::conn::{self, Conn};
use crate::error::{StoreError, WriteError};
use crate::read::StoreReader;
use crate::tables::{answers, blobs as blob_rows, keyframes, nodes, operations, sessions, traces};
use crate::traces::index_bases;
use crate::tx::Tx;
use crate::{Store, TRASH_RETENTION_MS};
use clotho_core::clock::Time;
use clotho_core::oplog::Effect;

use super::session_nodes::SessionNodes;

/// The number of rows in one read or one delete.
const BATCH_SIZE: i64 = 500;
/// How long saved responses of idempotent requests are kept: a day in milliseconds.
const RESPONSE_RETENTION_MS: i64 = 24 * 60 * 60 * 1_000;

/// What a garbage collection deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GcReport {
    /// Saved responses of requests with an Idempotency-Key.
    pub responses: usize,
    /// Expired items of the trash.
    pub trash: usize,
    /// Rows of sessions that were permanently deleted.
    pub rows: usize,
    /// Keyframes that are outdated or not used by any fold.
    pub keyframes: usize,
    /// Unused blobs.
    pub blobs: usize,
    /// The total bytes of these blobs.
    pub bytes: i64,
}

impl fmt::Display for GcReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { responses: answers, trash, rows, keyframes, blobs, bytes } = self;
        write!(f, "{answers} stored answers, {trash} items of the trash with {rows} rows, ")?;
        write!(f, "{keyframes} old keyframes, {blobs} unused texts ({bytes} bytes)")
    }
}

impl Store {
    /// Runs a garbage collection in small writes.
    ///
    /// # Errors
    /// Returns an error if the database fails. What was deleted so far stays deleted; the rest is done in the
    /// next run.
    pub async fn collect_garbage(&self, now: Time) -> Result<GcReport, WriteError> {
        let mut swept = GcReport::default();
        let before = Time(now.0.saturating_sub(RESPONSE_RETENTION_MS));
        swept.responses = self.gc_in_batches(move |tx| tx.delete_old_responses(before)).await?;
        let before = Time(now.0.saturating_sub(TRASH_RETENTION_MS));
        swept.trash = self.write(move |tx| tx.delete_expired_trash(before)).await?;
        swept.rows = self.clear_deleted_rows().await?;
        swept.keyframes = self.gc_keyframes().await?;
        (swept.blobs, swept.bytes) = self.gc_blobs().await?;
        self.gc_in_batches(|tx| tx.index_traces()).await?;
        Ok(swept)
    }

    /// Deletes all rows of permanently deleted sessions; returns their number.
    ///
    /// # Errors
    /// Returns an error if the database fails; what was deleted so far stays deleted.
    pub async fn clear_deleted_rows(&self) -> Result<usize, WriteError> {
        self.gc_in_batches(|tx| tx.clear_deleted_batch()).await
    }

    /// Deletes unused blobs; returns their number and total bytes.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub async fn gc_blobs(&self) -> Result<(usize, i64), WriteError> {
        // Only one at a time, because a second one would reset the recorded puts.
        let _alone = self.gc_lock.lock().await;
        // From here on the writer records its puts, so that a blob that is used again is not deleted.
        self.record_blob_puts(true).await?;
        let blobs = self.gc_idle_blobs().await;
        self.record_blob_puts(false).await?;
        blobs
    }

    /// Moves the write-ahead log into the database file and truncates it; `false` if a reader prevents it.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn checkpoint_wal(&self) -> Result<bool, StoreError> {
        conn::checkpoint_wal(&self.database)
    }

    async fn gc_in_batches<F>(&self, piece: F) -> Result<usize, WriteError>
    where
        F: FnMut(&mut Tx<'_>) -> Result<usize, WriteError> + Clone + Send + 'static,
    {
        let mut all = 0;
        loop {
            match self.write(piece.clone()).await? {
                0 => return Ok(all),
                some => all += some,
            }
        }
    }

    /// Deletes keyframes that no read will use; returns their number.
    ///
    /// # Errors
    /// Returns an error if the database fails; what was deleted so far stays deleted.
    pub async fn gc_keyframes(&self) -> Result<usize, WriteError> {
        let (mut all, mut next) = (0, self.read(|reader| reader.next_session(0)).await?);
        while let Some(session_n) = next {
            let old = self.read(move |reader| reader.stale_keyframes(session_n)).await?;
            for piece in old.chunks(100) {
                let piece = piece.to_vec();
                all += self.write(move |tx| tx.delete_keyframes(&piece)).await?;
            }
            next = self.read(move |reader| reader.next_session(session_n)).await?;
        }
        Ok(all)
    }

    async fn record_blob_puts(&self, begins: bool) -> Result<(), WriteError> {
        let note = move |_: &mut Tx<'_>| {
            if begins {
                blobs::start_recording_puts();
            } else {
                blobs::stop_recording_puts();
            }
            Ok(())
        };
        self.write(note).await
    }

    async fn gc_idle_blobs(&self) -> Result<(usize, i64), WriteError> {
        // Collect the hashes in use.
        let mut named: HashPrefixes = self.read(|reader| reader.hashes_in_small_tables()).await?;
        let mut after = Some(0);
        while let Some(n) = after {
            let (last, hashes) = self.read(move |reader| reader.hashes_in_traces(n)).await?;
            named.extend(hashes);
            after = last;
        }
        let mut after = Some(0);
        while let Some(n) = after {
            let (last, hashes) = self.read(move |reader| reader.hashes_in_keyframes(n)).await?;
            named.extend(hashes);
            after = last;
        }
        // Delete the other blobs, page by page.
        let (mut all, mut bytes, mut after) = (0, 0, Some(0));
        while let Some(n) = after {
            let some = self.read(move |reader| reader.blob_hash_page(n)).await?;
            after = some.last().map(|blob| blob.n);
            let idle: Vec<(i64, Vec<u8>)> = some
                .into_iter()
                .filter(|blob| hash_prefix(&blob.hash).is_some_and(|hash| !named.contains(&hash)))
                .map(|blob| (blob.n, blob.hash))
                .collect();
            if !idle.is_empty() {
                let (gone, their_bytes) = self.write(move |tx| tx.delete_blobs(&idle)).await?;
                (all, bytes) = (all + gone, bytes + their_bytes);
            }
        }
        Ok((all, bytes))
    }
}

/// The first eight bytes of each hash in use. A collision only keeps an unused blob.
type HashPrefixes = HashSet<u64>;

fn hash_prefix(hash: &[u8]) -> Option<u64> {
    hash.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

fn hash_prefix_of_hex(hex: &str) -> Option<u64> {
    hash_prefix(blake3::Hash::from_hex(hex).ok()?.as_bytes())
}

/// A blob without its bytes.
#[derive(Debug, QueryableByName)]
struct BlobHashRow {
    #[diesel(sql_type = BigInt)]
    n: i64,
    #[diesel(sql_type = Binary)]
    hash: Vec<u8>,
}

impl StoreReader<'_> {
    /// Returns the next session after a row.
    pub(super) fn next_session(&mut self, after: i64) -> Result<Option<i64>, StoreError> {
        let later = sessions::table.filter(sessions::n.gt(after)).order(sessions::n);
        Ok(later.select(sessions::n).limit(1).get_result(self.conn).optional()?)
    }

    /// Returns the keyframes of a session that no read will use: those that are outdated, or at nodes where no
    /// fold begins.
    fn stale_keyframes(&mut self, session_n: i64) -> Result<Vec<(i64, i64)>, StoreError> {
        let stored: Vec<(i64, i64, i32)> = keyframes::table
            .inner_join(nodes::table.on(nodes::n.eq(keyframes::node_n)))
            .filter(nodes::session_n.eq(session_n))
            .select((keyframes::node_n, keyframes::edits, nodes::since_keyframe))
            .load(self.conn)?;
        let edits_now: i64 = sessions::table.find(session_n).select(sessions::edits).get_result(self.conn)?;
        let unread = |&(_, edits, since): &(i64, i64, i32)| since != 0 || edits < edits_now;
        if !stored.iter().any(unread) {
            return Ok(Vec::new());
        }
        let forest = SessionNodes::read(self.conn, session_n)?;
        let last = forest.last_edits(self.conn, session_n)?;
        let is_old = |&(n, edits, since): &(i64, i64, i32)| {
            since != 0 || forest.find(n).and_then(|(at, _)| last.get(at)).is_none_or(|edit| *edit > edits)
        };
        Ok(stored.into_iter().filter(is_old).map(|(n, edits, _)| (n, edits)).collect())
    }

    /// Returns the blobs used by sessions, the log, rules, versions of cards and card files. If one of these cannot be read, this
    /// fails, because its blobs are unknown and must not be deleted.
    fn hashes_in_small_tables(&mut self) -> Result<HashPrefixes, StoreError> {
        let bad = |table, column, row| move |_| StoreError::Inconsistent { table, column, row };
        let mut named = HashPrefixes::new();
        // Cards of sessions.
        let cards: Vec<(i64, String, Option<String>)> =
            sessions::table.select((sessions::n, sessions::cards, sessions::persona)).load(self.conn)?;
        for (n, cards, persona) in cards {
            collect_hashes(&serde_json::from_str(&cards).map_err(bad("sessions", "cards", n))?, &mut named);
            if let Some(persona) = persona {
                collect_hashes(&serde_json::from_str(&persona).map_err(bad("sessions", "persona", n))?, &mut named);
            }
        }
        // An undo can restore a persona or a version of a card that is not used elsewhere.
        let set: Vec<(i64, String)> = operations::table
            .filter(operations::act.eq("session"))
            .filter(operations::effects.like("%persona%").or(operations::effects.like("%\"cards\"%")))
            .select((operations::n, operations::effects))
            .load(self.conn)?;
        let mut effects: Vec<Value> = Vec::new();
        for (n, text) in set {
            effects.extend(serde_json::from_str::<Vec<Value>>(&text).map_err(bad("operations", "effects", n))?);
        }
        for effect in effects {
            if let Some(Effect::Setting { from, to, .. }) = Effect::from_json(&effect) {
                [from, to].iter().for_each(|value| collect_hashes(value, &mut named));
            }
        }
        // Rules of nodes, and files of cards.
        let rules: Vec<Option<i64>> = nodes::table.select(nodes::rules_n).distinct().load(self.conn)?;
        for n in rules.into_iter().flatten() {
            let row: Option<(Vec<u8>, Vec<u8>)> = blob_rows::table
                .find(n)
                .select((blob_rows::hash, blob_rows::bytes))
                .get_result(self.conn)
                .optional()?;
            let Some((hash, bytes)) = row else { continue };
            named.extend(hash_prefix(&hash));
            collect_hashes(&serde_json::from_slice(&bytes).map_err(bad("blobs", "bytes", n))?, &mut named);
        }
        named.extend(self.hashes_of_card_versions()?.iter().filter_map(|hash| hash_prefix(hash)));
        named.extend(self.hashes_of_card_files()?.iter().filter_map(|hash| hash_prefix(hash)));
        Ok(named)
    }

    /// Returns the blobs used by a batch of traces, and the last of these traces.
    fn hashes_in_traces(&mut self, after: i64) -> Result<(Option<i64>, HashPrefixes), StoreError> {
        let later = traces::table.filter(traces::node_n.gt(after)).order(traces::node_n).limit(BATCH_SIZE);
        let rows: Vec<(i64, Vec<u8>)> = later.select((traces::node_n, traces::body)).load(self.conn)?;
        Ok(hashes_in_bodies(rows, "blocks"))
    }

    /// Returns the blobs used by a batch of keyframes, and the last of these keyframes.
    fn hashes_in_keyframes(&mut self, after: i64) -> Result<(Option<i64>, HashPrefixes), StoreError> {
        let later = keyframes::table.filter(keyframes::node_n.gt(after)).order(keyframes::node_n).limit(BATCH_SIZE);
        let rows: Vec<(i64, Vec<u8>)> = later.select((keyframes::node_n, keyframes::body)).load(self.conn)?;
        Ok(hashes_in_bodies(rows, "apart"))
    }

    /// Returns a batch of blobs.
    fn blob_hash_page(&mut self, after: i64) -> Result<Vec<BlobHashRow>, StoreError> {
        let query = diesel::sql_query("SELECT n, hash FROM blobs WHERE n > $1 ORDER BY n LIMIT $2");
        Ok(query.bind::<BigInt, _>(after).bind::<BigInt, _>(BATCH_SIZE).load(self.conn)?)
    }
}

/// Returns the hashes under a key in the bodies of rows.
fn hashes_in_bodies(rows: Vec<(i64, Vec<u8>)>, key: &str) -> (Option<i64>, HashPrefixes) {
    let (last, mut named) = (rows.last().map(|(n, _)| *n), HashPrefixes::new());
    for body in rows.iter().filter_map(|(_, body)| compression::unpack(body)) {
        if let Ok(value) = serde_json::from_slice::<Value>(&body) {
            value.get(key).into_iter().for_each(|value| collect_hashes(value, &mut named));
        }
    }
    (last, named)
}

/// Collects all strings that look like a hash, at any depth. It is better to keep a blob too many than to delete
/// one that is used.
fn collect_hashes(value: &Value, named: &mut HashPrefixes) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => named.extend(hash_prefix_of_hex(text)),
            Value::Array(list) => open.extend(list),
            Value::Object(map) => open.extend(map.values()),
            _ => {}
        }
    }
}

impl Tx<'_> {
    /// Deletes a batch of saved responses from before a time.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    fn delete_old_responses(&mut self, before: Time) -> Result<usize, WriteError> {
        Ok(self.run(|conn: &mut Conn| {
            let old = answers::table.filter(answers::created.lt(before.0)).limit(BATCH_SIZE).select(answers::n);
            let old: Vec<i64> = old.load(conn)?;
            Ok(diesel::delete(answers::table.filter(answers::n.eq_any(&old))).execute(conn)?)
        })?)
    }

    /// Deletes keyframes that have not changed since they were read.
    pub(super) fn delete_keyframes(&mut self, old: &[(i64, i64)]) -> Result<usize, WriteError> {
        let mut gone = 0;
        for (node_n, edits) in old {
            let own = keyframes::table.filter(keyframes::node_n.eq(node_n)).filter(keyframes::edits.eq(edits));
            gone += self.run(|conn| Ok(diesel::delete(own).execute(conn)?))?;
        }
        Ok(gone)
    }

    /// Indexes the bases of a batch of traces.
    fn index_traces(&mut self) -> Result<usize, WriteError> {
        Ok(self.run(index_bases)?)
    }

    /// Deletes blobs, except those that were put again since garbage collection began.
    fn delete_blobs(&mut self, idle: &[(i64, Vec<u8>)]) -> Result<(usize, i64), WriteError> {
        Ok(self.run(|conn| blobs::delete_idle(conn, idle))?)
    }
}
