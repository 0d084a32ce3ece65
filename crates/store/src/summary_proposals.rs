//! Summaries proposed by plugins. They are stored like those of the server, in the transaction that writes the
//! node at which they were proposed.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer};

use clotho_core::clock::Time;
use clotho_core::ids::{NodeId, SessionId, SummaryId};
use clotho_core::tree::SummaryMetadata;
use clotho_core::tree::edit::TreeError;

use super::conn::Conn;
use super::error::{StoreError, WriteError};
use super::page::PathFilter;
use super::pending_erasures;
use super::prepared::prepared;
use super::summaries::{DELETED_LEVEL, NewSummary, delete_summaries, hash_of_rows};
use super::tables::summaries;
use super::tx::Tx;

/// A summary of turns of a branch, proposed by a plugin.
#[derive(Debug, Clone)]
pub struct ProposedSummary {
    /// The id that it gets if it is stored.
    pub id: SummaryId,
    pub plugin: String,
    /// The turns; the first turn includes everything before it.
    pub turns: RangeInclusive<i32>,
    pub content: String,
    pub created: Time,
}

#[derive(QueryableByName)]
struct TurnMessageRow {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

impl Tx<'_> {
    /// Stores a summary of turns on the path to a node. It replaces one of exactly the same messages, unless a
    /// user has corrected that. If older summaries cover both of its ends, it is a chapter. Returns whether it
    /// was stored.
    ///
    /// # Errors
    /// Returns an error if the session or the node does not exist, or if the database fails.
    pub fn propose_summary(
        &mut self,
        session: SessionId,
        node: NodeId,
        new: &ProposedSummary,
    ) -> Result<bool, WriteError> {
        let stored = self.any_session(session)?.ok_or(TreeError::NotFound("the session"))?;
        let leaf = self.any_row(&stored, node)?.ok_or(TreeError::NotFound("the message"))?.n;
        let found = self.run(|conn| {
            let rows = turn_messages(conn, leaf, &new.turns)?;
            let level = replaceable_level(conn, stored.n, &rows)?;
            Ok(level.map(|level| (rows, level)))
        })?;
        let Some((rows, level)) = found else { return Ok(false) };
        let metadata = SummaryMetadata { plugin: Some(new.plugin.clone()), ..SummaryMetadata::default() };
        let (id, content, created) = (new.id, new.content.clone(), new.created);
        self.put_summary(session, &NewSummary { id, level, rows, content, metadata, created })
    }
}

/// Returns the messages of these turns on the path to a node that go into prompts, oldest first.
fn turn_messages(conn: &mut Conn, leaf: i64, turns: &RangeInclusive<i32>) -> Result<Vec<i64>, StoreError> {
    // Messages before the first user message belong to the first turn. status 0: generating.
    let first = if *turns.start() <= 1 { 0 } else { *turns.start() };
    let query = diesel::sql_query(format!(
        "WITH RECURSIVE up (n, parent_n, turn) AS (SELECT n, parent_n, turn FROM nodes WHERE n = $1 UNION ALL \
           SELECT p.n, p.parent_n, p.turn FROM nodes p JOIN up ON p.n = up.parent_n WHERE up.turn >= $2) \
         SELECT nodes.n FROM up JOIN nodes ON nodes.n = up.n WHERE status <> 0 AND up.turn BETWEEN $2 AND $3{}",
        PathFilter::Enabled.condition(),
    ));
    let query = query.bind::<BigInt, _>(leaf).bind::<Integer, _>(first).bind::<Integer, _>(*turns.end());
    let up: Vec<TurnMessageRow> = prepared(query).load(conn)?;
    Ok(up.into_iter().rev().map(|row| row.n).collect())
}

/// Deletes older summaries of exactly these messages, and returns the level for a new one. Returns `None` if
/// there are no messages, or if a user has corrected such a summary.
fn replaceable_level(conn: &mut Conn, session_n: i64, rows: &[i64]) -> Result<Option<i16>, StoreError> {
    let places: HashMap<i64, usize> = rows.iter().enumerate().map(|(place, row)| (*row, place)).collect();
    let own = summaries::table.filter(summaries::session_n.eq(session_n)).filter(summaries::level.gt(DELETED_LEVEL));
    let columns =
        (summaries::n, summaries::level, summaries::first_n, summaries::last_n, summaries::hash, summaries::is_edited);
    let all: Vec<(i64, i16, i64, i64, Vec<u8>, bool)> = own.select(columns).load(conn)?;
    let (mut same, mut parts) = (Vec::new(), Vec::new());
    for (n, level, first, last, hash, is_edited) in all {
        // Only summaries whose messages are a run of these ones count.
        let ends = places.get(&first).zip(places.get(&last)).filter(|(first, last)| first <= last);
        let Some((&first, &last)) = ends else { continue };
        if rows.get(first..=last).is_none_or(|rows| hash_of_rows(rows).as_bytes() != hash.as_slice()) {
            continue;
        }
        match last - first + 1 == rows.len() {
            true if is_edited => return Ok(None),
            true => same.push(n),
            false => parts.push((first, last, level)),
        }
    }
    if !same.is_empty() {
        delete_summaries(conn, &same)?;
        pending_erasures::mark_erasure(conn)?;
    }
    let is_whole = parts.iter().any(|part| part.0 == 0) && parts.iter().any(|part| part.1 + 1 == rows.len());
    let highest = parts.iter().map(|part| part.2).max().filter(|_| is_whole).unwrap_or(0);
    Ok((!rows.is_empty()).then_some(highest + 1))
}
