//! Summaries of runs of messages. Each refers to its messages by row, so it is valid only on a branch that still
//! has them in sequence. It is deleted when one of them is. Summaries are derived and not in the log. The record
//! of their cost stays after they are deleted.

use std::collections::HashMap;

use diesel::prelude::*;

use clotho_core::clock::Time;
use clotho_core::ids::{NodeId, SessionId, SummaryId, UserId};
use clotho_core::tree::SummaryMetadata;
use clotho_core::tree::edit::TreeError;

use super::conn::Conn;
use super::error::{StoreError, WriteError};
use super::pending_erasures;
use super::prepared::prepared;
use super::read::{StoreReader, pad_to_power_of_two};
use super::rows::{metadata_from_text, metadata_to_text};
use super::stored::StoredSession;
use super::tables::{nodes, sessions, summaries, summarised};
use super::tx::Tx;

/// The number of rows in one statement.
const BATCH_SIZE: usize = 256;
/// The level of a deleted summary.
pub(super) const DELETED_LEVEL: i16 = 0;

/// The messages that a summary covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SummarySources {
    /// The row of the summary.
    pub n: i64,
    /// 1 for a summary of messages; one more than the highest level of the summaries it was made of.
    pub level: i16,
    /// The row of the first message.
    pub first: i64,
    /// The row of the last message.
    pub last: i64,
    /// The hash of all rows from the first to the last.
    pub hash: blake3::Hash,
}

/// A summary with the messages that it covers.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSummary {
    pub id: SummaryId,
    pub sources: SummarySources,
    /// The text; an empty one is never used in prompts.
    pub content: String,
    /// Whether a user has corrected it.
    pub is_edited: bool,
    /// The model, tokens and cost.
    pub metadata: SummaryMetadata,
    pub created: Time,
}

/// A summary to store.
#[derive(Debug, Clone)]
pub struct NewSummary {
    pub id: SummaryId,
    /// Its level, from 1.
    pub level: i16,
    /// The rows of its messages, oldest first.
    pub rows: Vec<i64>,
    pub content: String,
    /// The model, tokens and cost.
    pub metadata: SummaryMetadata,
    pub created: Time,
}

type SummaryColumns = (i64, Vec<u8>, i16, i64, i64, Vec<u8>, String, bool, String, i64);

/// Hashes the rows of consecutive messages. The texts are not needed, because a text never changes.
pub fn hash_of_rows(rows: &[i64]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    rows.iter().for_each(|row| _ = hasher.update(&row.to_le_bytes()));
    hasher.finalize()
}

impl StoredSummary {
    /// Returns the plugin that proposed it; `None` if the server made it.
    pub fn plugin(&self) -> Option<&str> {
        self.metadata.plugin.as_deref()
    }
}

impl StoreReader<'_> {
    /// Returns which messages the summaries of a session cover, oldest summary first.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn summary_sources(&mut self, stored: &StoredSession) -> Result<Vec<SummarySources>, StoreError> {
        let own = summaries::table.filter(summaries::session_n.eq(stored.n)).filter(summaries::level.gt(DELETED_LEVEL));
        let columns = (summaries::n, summaries::level, summaries::first_n, summaries::last_n, summaries::hash);
        let rows: Vec<(i64, i16, i64, i64, Vec<u8>)> =
            prepared(own.order(summaries::n).select(columns)).load(self.conn)?;
        rows.into_iter().map(|(n, level, first, last, hash)| sources(n, level, first, last, &hash)).collect()
    }

    /// Returns summaries by row, in the given order.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn summaries(&mut self, rows: &[i64]) -> Result<Vec<StoredSummary>, StoreError> {
        let mut found: HashMap<i64, StoredSummary> = HashMap::new();
        for some in rows.chunks(BATCH_SIZE) {
            let some = summaries::table.filter(summaries::n.eq_any(pad_to_power_of_two(some)));
            let columns = (
                summaries::n,
                summaries::id,
                summaries::level,
                summaries::first_n,
                summaries::last_n,
                summaries::hash,
                summaries::content,
                summaries::is_edited,
                summaries::metadata,
                summaries::created,
            );
            for columns in prepared(some.select(columns)).load::<SummaryColumns>(self.conn)? {
                found.insert(columns.0, summary(columns)?);
            }
        }
        Ok(rows.iter().filter_map(|n| found.remove(n)).collect())
    }

    /// Returns a summary of a session.
    ///
    /// # Errors
    /// Returns an error if the database fails or the row is damaged.
    pub fn summary(&mut self, stored: &StoredSession, id: SummaryId) -> Result<Option<StoredSummary>, StoreError> {
        let n = find(self.conn, stored.n, id)?;
        Ok(self.summaries(&n.into_iter().collect::<Vec<_>>())?.pop())
    }

    /// Returns the messages of a summary that still exist, oldest first.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn summarised_messages(&mut self, n: i64) -> Result<Vec<NodeId>, StoreError> {
        let rows = summarised::table.filter(summarised::summary_n.eq(n)).select(summarised::node_n);
        let named = nodes::table.filter(nodes::n.eq_any(rows)).order((nodes::depth, nodes::n)).select(nodes::id);
        let ids: Vec<Vec<u8>> = named.load(self.conn)?;
        Ok(ids.iter().filter_map(|id| NodeId::from_slice(id)).collect())
    }

    /// Returns the sessions with automatic summaries, each with its HEAD.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn sessions_with_summaries(&mut self) -> Result<Vec<(SessionId, NodeId)>, StoreError> {
        let own = sessions::table
            .inner_join(nodes::table.on(nodes::n.eq(sessions::head_n)))
            .filter(sessions::trashed.is_null())
            .filter(sessions::summaries.is_not_null());
        let rows: Vec<(Vec<u8>, Vec<u8>)> = own.order(sessions::n).select((sessions::id, nodes::id)).load(self.conn)?;
        let read =
            |(session, node): (Vec<u8>, Vec<u8>)| Some((SessionId::from_slice(&session)?, NodeId::from_slice(&node)?));
        Ok(rows.into_iter().filter_map(read).collect())
    }
}

fn find(conn: &mut Conn, session_n: i64, id: SummaryId) -> Result<Option<i64>, StoreError> {
    let own = summaries::table.filter(summaries::id.eq(id.as_bytes().to_vec()));
    let own = own.filter(summaries::session_n.eq(session_n)).filter(summaries::level.gt(DELETED_LEVEL));
    Ok(own.select(summaries::n).get_result(conn).optional()?)
}

fn sources(n: i64, level: i16, first: i64, last: i64, hash: &[u8]) -> Result<SummarySources, StoreError> {
    let hash = blake3::Hash::from_slice(hash).map_err(|_| damaged_row("hash", n))?;
    Ok(SummarySources { n, level, first, last, hash })
}

fn summary(columns: SummaryColumns) -> Result<StoredSummary, StoreError> {
    let (n, id, level, first, last, hash, content, is_edited, metadata, created) = columns;
    Ok(StoredSummary {
        id: SummaryId::from_slice(&id).ok_or_else(|| damaged_row("id", n))?,
        sources: sources(n, level, first, last, &hash)?,
        content,
        is_edited,
        metadata: metadata_from_text(&metadata).ok_or_else(|| damaged_row("metadata", n))?,
        created: Time(created),
    })
}

const fn damaged_row(column: &'static str, row: i64) -> StoreError {
    StoreError::Inconsistent { table: "summaries", column, row }
}

impl Tx<'_> {
    /// Stores a summary if all of its messages still exist; otherwise stores only its cost. Returns whether the
    /// text was stored.
    ///
    /// # Errors
    /// Returns an error if the session does not exist, or if the database fails.
    pub fn put_summary(&mut self, session: SessionId, new: &NewSummary) -> Result<bool, WriteError> {
        let stored = self.any_session(session)?.ok_or(TreeError::NotFound("the session"))?;
        let is_kept = self.run(|conn| {
            let is_whole = all_exist(conn, &new.rows)? && !new.rows.is_empty();
            let level = if is_whole { new.level } else { DELETED_LEVEL };
            let newest: Option<i64> = summaries::table.select(diesel::dsl::max(summaries::n)).get_result(conn)?;
            let n = newest.unwrap_or(0) + 1;
            let ends = (new.rows.first().copied().unwrap_or(0), new.rows.last().copied().unwrap_or(0));
            let row = (
                summaries::n.eq(n),
                summaries::id.eq(new.id.as_bytes().to_vec()),
                summaries::session_n.eq(stored.n),
                summaries::level.eq(level),
                summaries::first_n.eq(ends.0),
                summaries::last_n.eq(ends.1),
                summaries::hash.eq(hash_of_rows(&new.rows).as_bytes().to_vec()),
                summaries::content.eq(if is_whole { new.content.as_str() } else { "" }),
                summaries::is_edited.eq(false),
                summaries::metadata.eq(metadata_to_text(&new.metadata)),
                summaries::created.eq(new.created.0),
            );
            diesel::insert_into(summaries::table).values(row).execute(conn)?;
            for node_n in new.rows.iter().filter(|_| is_whole) {
                let row = (summarised::summary_n.eq(n), summarised::node_n.eq(node_n));
                diesel::insert_into(summarised::table).values(row).execute(conn)?;
            }
            Ok(is_whole)
        })?;
        Ok(is_kept)
    }

    /// Changes the text of one of the caller's summaries. Summaries that a model made from it are deleted; those
    /// edited by a user stay.
    ///
    /// # Errors
    /// Returns an error if it does not exist.
    pub fn edit_summary(
        &mut self,
        caller: UserId,
        session: SessionId,
        id: SummaryId,
        content: &str,
    ) -> Result<(), WriteError> {
        let (n, level) = self.own_summary(caller, session, id)?;
        self.run(|conn| {
            let now: String = summaries::table.find(n).select(summaries::content).get_result(conn)?;
            if now != content {
                delete_derived_summaries(conn, n, level)?;
            }
            diesel::update(summaries::table.find(n))
                .set((summaries::content.eq(content), summaries::is_edited.eq(true)))
                .execute(conn)?;
            Ok(pending_erasures::mark_erasure(conn)?)
        })?;
        Ok(())
    }

    /// Deletes one of the caller's summaries, with those that a model made from it; those edited by a user stay.
    ///
    /// # Errors
    /// Returns an error if it does not exist.
    pub fn delete_summary(&mut self, caller: UserId, session: SessionId, id: SummaryId) -> Result<(), WriteError> {
        let (n, level) = self.own_summary(caller, session, id)?;
        self.run(|conn| {
            delete_derived_summaries(conn, n, level)?;
            delete_summaries(conn, &[n])?;
            Ok(pending_erasures::mark_erasure(conn)?)
        })?;
        Ok(())
    }

    fn own_summary(&mut self, caller: UserId, session: SessionId, id: SummaryId) -> Result<(i64, i16), WriteError> {
        let stored = self.session(caller, session)?;
        let found = self.run(|conn| {
            let Some(n) = find(conn, stored.n, id)? else { return Ok(None) };
            let level: i16 = summaries::table.find(n).select(summaries::level).get_result(conn)?;
            Ok(Some((n, level)))
        })?;
        Ok(found.ok_or(TreeError::NotFound("the summary"))?)
    }
}

fn all_exist(conn: &mut Conn, rows: &[i64]) -> QueryResult<bool> {
    for some in rows.chunks(BATCH_SIZE) {
        let there: i64 = nodes::table.filter(nodes::n.eq_any(some)).count().get_result(conn)?;
        if usize::try_from(there) != Ok(some.len()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Deletes the summaries that a model made from this one: those of a higher level that share messages with it.
fn delete_derived_summaries(conn: &mut Conn, n: i64, level: i16) -> QueryResult<()> {
    let own = summarised::table.filter(summarised::summary_n.eq(n)).select(summarised::node_n);
    let rows: Vec<i64> = own.load(conn)?;
    let mut above: Vec<i64> = Vec::new();
    for some in rows.chunks(BATCH_SIZE) {
        let of_these = summarised::table
            .inner_join(summaries::table.on(summaries::n.eq(summarised::summary_n)))
            .filter(summarised::node_n.eq_any(some))
            .filter(summaries::level.gt(level))
            .filter(summaries::is_edited.eq(false));
        above.extend(of_these.select(summaries::n).distinct().load::<i64>(conn)?);
    }
    delete_summaries(conn, &above)
}

/// Deletes the texts of summaries; the record of their cost stays.
pub(super) fn delete_summaries(conn: &mut Conn, rows: &[i64]) -> QueryResult<()> {
    for some in rows.chunks(BATCH_SIZE) {
        diesel::delete(summarised::table.filter(summarised::summary_n.eq_any(some))).execute(conn)?;
        diesel::update(summaries::table.filter(summaries::n.eq_any(some)))
            .set((summaries::level.eq(DELETED_LEVEL), summaries::content.eq("")))
            .execute(conn)?;
    }
    Ok(())
}

/// Deletes the summaries of nodes that are deleted.
pub(super) fn delete_for_nodes(conn: &mut Conn, rows: &[i64]) -> QueryResult<()> {
    let own = summarised::table.filter(summarised::node_n.eq_any(rows)).select(summarised::summary_n);
    let revisions: Vec<i64> = own.distinct().load(conn)?;
    delete_summaries(conn, &revisions)
}

/// Deletes all summaries of a session, including the record of their cost.
pub(super) fn delete_for_session(conn: &mut Conn, session_n: i64) -> QueryResult<()> {
    let own = summaries::table.filter(summaries::session_n.eq(session_n));
    let rows: Vec<i64> = own.select(summaries::n).load(conn)?;
    delete_summaries(conn, &rows)?;
    diesel::delete(own).execute(conn)?;
    Ok(())
}
