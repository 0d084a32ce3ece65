//! The trash: deleted items stay for a while and can be restored. They are permanently deleted by a second
//! request or after the retention time (`domain.md` 2.16, 2.17).
//!
//! A permanently deleted session is invisible at once; its rows are cleared in batches. Meanwhile its column
//! `trashed` has the value 0.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Integer, Text};
use serde_json::Value;

use clotho_core::clock::Time;
use clotho_core::ids::{NodeId, SessionId, TrashId, UserId};
use clotho_core::oplog::{Effect, OperationKind};
use clotho_core::tree::edit::TreeError;

use crate::conn::Conn;
use crate::destroy;
use crate::error::{StoreError, WriteError};
use crate::files;
use crate::lore;
use crate::lorebook_bindings;
use crate::pending_erasures;
use crate::persona_choices;
use crate::read::StoreReader;
use crate::session_tags;
use crate::stored::StoredSession;
use crate::summaries;
use crate::tables::{
    characters, edits, fragments, labels, lorebooks, nodes, operations, personas, presets, sessions, sources, users,
};
use crate::tx::{OperationDraft, Tx};

/// How long deleted items can be restored: 30 days in milliseconds.
pub const TRASH_RETENTION_MS: i64 = 30 * 24 * 60 * 60 * 1_000;

/// The number of nodes or operations that one write deletes.
const BATCH_SIZE: i64 = 250;
/// The value of `trashed` while a session is being cleared; it is not a time.
const DELETING: i64 = 0;

/// The kind of an item in the trash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrashEntryKind {
    /// A session with its whole tree.
    Session,
    Character,
    Persona,
    Lorebook,
    Preset,
}

/// An item in the trash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrashEntry {
    pub id: TrashId,
    pub kind: TrashEntryKind,
    /// Its title or name.
    pub name: String,
    /// When it was deleted.
    pub at: Time,
    /// The number of nodes of a session without its root, in the tree or not; 0 for other kinds.
    pub nodes: i64,
}

/// A row of any of the five tables.
#[derive(QueryableByName)]
struct TrashRow {
    #[diesel(sql_type = Integer)]
    kind: i32,
    #[diesel(sql_type = BigInt)]
    n: i64,
    #[diesel(sql_type = Binary)]
    id: Vec<u8>,
    /// A title, name or card.
    #[diesel(sql_type = Text)]
    about: String,
    #[diesel(sql_type = BigInt)]
    trashed: i64,
    #[diesel(sql_type = BigInt)]
    nodes: i64,
}

impl TrashRow {
    fn into_trash_entry(self) -> Result<TrashEntry, StoreError> {
        let (kind, table) = match self.kind {
            1 => (TrashEntryKind::Session, "sessions"),
            2 => (TrashEntryKind::Character, "characters"),
            3 => (TrashEntryKind::Persona, "personas"),
            4 => (TrashEntryKind::Lorebook, "lorebooks"),
            _ => (TrashEntryKind::Preset, "presets"),
        };
        let name = match kind {
            TrashEntryKind::Session | TrashEntryKind::Preset => self.about,
            _ => name_of(&self.about).ok_or(StoreError::Inconsistent { table, column: "card", row: self.n })?,
        };
        let id = TrashId::from_slice(&self.id).ok_or(StoreError::Inconsistent { table, column: "id", row: self.n })?;
        Ok(TrashEntry { id, kind, name, at: Time(self.trashed), nodes: self.nodes })
    }
}

fn name_of(card: &str) -> Option<String> {
    let card: Value = serde_json::from_str(card).ok()?;
    Some(card.get("name")?.as_str()?.to_owned())
}

impl StoreReader<'_> {
    /// Returns the session of a row, unless it is in the trash.
    ///
    /// # Errors
    /// Returns an error if the database fails or the row is damaged.
    pub fn session_by_row(&mut self, n: i64) -> Result<Option<StoredSession>, StoreError> {
        let id: Option<Vec<u8>> = sessions::table.find(n).select(sessions::id).get_result(self.conn).optional()?;
        id.as_deref().and_then(SessionId::from_slice).map_or(Ok(None), |id| self.any_session(id))
    }

    /// Returns all nodes of a session in the tree or in the stash. They must be searchable again after a
    /// restore.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn node_ids(&mut self, stored: &StoredSession) -> Result<Vec<NodeId>, StoreError> {
        let is_kept = nodes::is_hidden.eq(false).or(nodes::fragment_n.is_not_null());
        let own = nodes::table.filter(nodes::session_n.eq(stored.n)).filter(is_kept);
        let ids: Vec<Vec<u8>> = own.order(nodes::n).select(nodes::id).load(self.conn)?;
        Ok(ids.iter().filter_map(|id| NodeId::from_slice(id)).collect())
    }

    /// Returns the items of the caller's trash, newest first, after skipping `skip` of them.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn trash(&mut self, caller: UserId, skip: i64, limit: i64) -> Result<Vec<TrashEntry>, StoreError> {
        let query = diesel::sql_query(
            "SELECT t.kind, t.n, t.id, t.about, t.trashed, t.nodes FROM ( \
               SELECT 1 AS kind, s.n, s.id, s.title AS about, s.owner_n, s.trashed, \
                 (SELECT COUNT(*) FROM nodes k WHERE k.session_n = s.n AND k.parent_n IS NOT NULL) AS nodes \
                 FROM sessions s WHERE s.trashed > 0 UNION ALL \
               SELECT 2, c.n, c.id, c.card, c.owner_n, c.trashed, 0 FROM characters c WHERE c.trashed > 0 UNION ALL \
               SELECT 3, p.n, p.id, p.card, p.owner_n, p.trashed, 0 FROM personas p WHERE p.trashed > 0 UNION ALL \
               SELECT 4, l.n, l.id, l.book, l.owner_n, l.trashed, 0 FROM lorebooks l WHERE l.trashed > 0 UNION ALL \
               SELECT 5, r.n, r.id, r.name, r.owner_n, r.trashed, 0 FROM presets r WHERE r.trashed > 0) t \
             JOIN users u ON u.n = t.owner_n WHERE u.id = $1 \
             ORDER BY t.trashed DESC, t.kind, t.n DESC LIMIT $2 OFFSET $3",
        );
        let query = query.bind::<Binary, _>(caller.as_bytes().to_vec());
        let rows: Vec<TrashRow> = query.bind::<BigInt, _>(limit).bind::<BigInt, _>(skip).load(self.conn)?;
        rows.into_iter().map(TrashRow::into_trash_entry).collect()
    }

    /// Returns one item of the caller's trash.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn trash_entry(&mut self, caller: UserId, id: TrashId) -> Result<Option<TrashEntry>, StoreError> {
        let query = diesel::sql_query(
            "SELECT t.kind, t.n, t.id, t.about, t.trashed, t.nodes FROM ( \
               SELECT 1 AS kind, s.n, s.id, s.title AS about, s.owner_n, s.trashed, \
                 (SELECT COUNT(*) FROM nodes k WHERE k.session_n = s.n AND k.parent_n IS NOT NULL) AS nodes \
                 FROM sessions s WHERE s.id = $1 AND s.trashed > 0 UNION ALL \
               SELECT 2, c.n, c.id, c.card, c.owner_n, c.trashed, 0 FROM characters c \
                 WHERE c.id = $1 AND c.trashed > 0 UNION ALL \
               SELECT 3, p.n, p.id, p.card, p.owner_n, p.trashed, 0 FROM personas p \
                 WHERE p.id = $1 AND p.trashed > 0 UNION ALL \
               SELECT 4, l.n, l.id, l.book, l.owner_n, l.trashed, 0 FROM lorebooks l \
                 WHERE l.id = $1 AND l.trashed > 0 UNION ALL \
               SELECT 5, r.n, r.id, r.name, r.owner_n, r.trashed, 0 FROM presets r \
                 WHERE r.id = $1 AND r.trashed > 0) t \
             JOIN users u ON u.n = t.owner_n WHERE u.id = $2",
        );
        let query = query.bind::<Binary, _>(id.as_bytes().to_vec());
        let row: Option<TrashRow> =
            query.bind::<Binary, _>(caller.as_bytes().to_vec()).get_result(self.conn).optional()?;
        row.map(TrashRow::into_trash_entry).transpose()
    }
}

impl Tx<'_> {
    /// Restores an item of the caller from the trash.
    ///
    /// # Errors
    /// Returns an error if it is not in the trash.
    pub fn restore(&mut self, owner: UserId, id: TrashId, at: Time) -> Result<(), WriteError> {
        self.all_or_nothing(|tx| match tx.find_trash_row(owner, id)? {
            (TrashEntryKind::Session, _) => tx.restore_session(owner, id, at),
            (TrashEntryKind::Character, n) => tx.update_trash_row(|conn| {
                diesel::update(characters::table.find(n)).set(characters::trashed.eq(None::<i64>)).execute(conn)
            }),
            (TrashEntryKind::Persona, n) => tx.update_trash_row(|conn| {
                diesel::update(personas::table.find(n)).set(personas::trashed.eq(None::<i64>)).execute(conn)
            }),
            (TrashEntryKind::Lorebook, n) => tx.update_trash_row(|conn| {
                diesel::update(lorebooks::table.find(n)).set(lorebooks::trashed.eq(None::<i64>)).execute(conn)
            }),
            (TrashEntryKind::Preset, n) => tx.update_trash_row(|conn| {
                diesel::update(presets::table.find(n)).set(presets::trashed.eq(None::<i64>)).execute(conn)
            }),
        })
    }

    fn restore_session(&mut self, owner: UserId, id: TrashId, at: Time) -> Result<(), WriteError> {
        let stored = self.any_session(SessionId::new(id.uuid()))?;
        let mut stored = stored.ok_or(TreeError::NotFound("the item in the trash"))?;
        let effects = vec![Effect::Setting { name: "trashed".into(), from: true.into(), to: false.into() }];
        self.log_operation(
            &mut stored,
            OperationDraft { kind: OperationKind::Session, actor: Some(owner), at, step: None, effects },
        )?;
        let row = sessions::table.find(stored.n);
        self.update_trash_row(|conn| diesel::update(row).set(sessions::trashed.eq(None::<i64>)).execute(conn))
    }

    /// Permanently deletes an item of the caller from the trash. A session is invisible at once, also in saved
    /// responses; its rows are cleared by [`Tx::clear_deleted_batch`].
    ///
    /// # Errors
    /// Returns an error if it is not in the trash.
    pub fn delete_permanently(&mut self, owner: UserId, id: TrashId) -> Result<(), WriteError> {
        self.all_or_nothing(|tx| {
            let found = tx.find_trash_row(owner, id)?;
            tx.run(|conn| Ok(pending_erasures::mark_erasure(conn)?))?;
            match found {
                (TrashEntryKind::Session, n) => {
                    let row = tx.run(|conn| {
                        let own = nodes::table.filter(nodes::session_n.eq(n));
                        Ok(own.select(nodes::id).load::<Vec<u8>>(conn)?)
                    })?;
                    tx.purge_responses(owner, &row.iter().filter_map(|id| NodeId::from_slice(id)).collect())?;
                    tx.update_trash_row(|conn| {
                        diesel::update(sessions::table.find(n)).set(sessions::trashed.eq(Some(DELETING))).execute(conn)
                    })
                }
                (TrashEntryKind::Character, n) => tx.update_trash_row(|conn| {
                    let gone = diesel::delete(characters::table.find(n)).execute(conn)?;
                    lorebook_bindings::delete_orphans(conn)?;
                    persona_choices::delete_orphans(conn)?;
                    files::delete_orphans(conn).map(|_| gone)
                }),
                (TrashEntryKind::Persona, n) => tx.update_trash_row(|conn| {
                    let gone = diesel::delete(personas::table.find(n)).execute(conn)?;
                    lorebook_bindings::delete_orphans(conn)?;
                    persona_choices::delete_orphans(conn)?;
                    files::delete_orphans(conn).map(|_| gone)
                }),
                (TrashEntryKind::Lorebook, n) => tx.update_trash_row(|conn| {
                    lorebook_bindings::delete_for_lorebooks(conn, &[n])?;
                    lore::delete_for_lorebooks(conn, &[n])?;
                    diesel::delete(lorebooks::table.find(n)).execute(conn)
                }),
                (TrashEntryKind::Preset, n) => {
                    tx.update_trash_row(|conn| diesel::delete(presets::table.find(n)).execute(conn))
                }
            }
        })
    }

    /// Permanently deletes items that were moved to the trash before a time, of all owners; returns their
    /// number.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn delete_expired_trash(&mut self, before: Time) -> Result<usize, WriteError> {
        let (before, out) = (before.0, DELETING);
        Ok(self.run(|conn| {
            let old = sessions::table.filter(sessions::trashed.gt(out)).filter(sessions::trashed.lt(before));
            let given_up = diesel::update(old).set(sessions::trashed.eq(Some(out))).execute(conn)?;
            let people = diesel::delete(characters::table.filter(characters::trashed.lt(before))).execute(conn)?;
            let personas = diesel::delete(personas::table.filter(personas::trashed.lt(before))).execute(conn)?;
            let books = lorebooks::table.filter(lorebooks::trashed.lt(before)).select(lorebooks::n);
            let books: Vec<i64> = books.load(conn)?;
            lorebook_bindings::delete_for_lorebooks(conn, &books)?;
            lore::delete_for_lorebooks(conn, &books)?;
            let books = diesel::delete(lorebooks::table.filter(lorebooks::trashed.lt(before))).execute(conn)?;
            let presets = diesel::delete(presets::table.filter(presets::trashed.lt(before))).execute(conn)?;
            lorebook_bindings::delete_orphans(conn)?;
            persona_choices::delete_orphans(conn)?;
            files::delete_orphans(conn)?;
            let all = given_up + people + personas + books + presets;
            if all > 0 {
                pending_erasures::mark_erasure(conn)?;
            }
            Ok(all)
        })?)
    }

    /// Returns the kind and the row of an item of the caller's trash.
    fn find_trash_row(&mut self, owner: UserId, id: TrashId) -> Result<(TrashEntryKind, i64), WriteError> {
        let (id, owner) = (id.as_bytes().to_vec(), owner.as_bytes().to_vec());
        macro_rules! trashed_row {
            ($table:ident) => {
                self.run(|conn| {
                    let own = $table::table
                        .inner_join(users::table.on(users::n.eq($table::owner_n)))
                        .filter(users::id.eq(&owner))
                        .filter($table::id.eq(&id))
                        .filter($table::trashed.gt(DELETING));
                    Ok(own.select($table::n).get_result::<i64>(conn).optional()?)
                })?
            };
        }
        if let Some(n) = trashed_row!(sessions) {
            return Ok((TrashEntryKind::Session, n));
        }
        if let Some(n) = trashed_row!(characters) {
            return Ok((TrashEntryKind::Character, n));
        }
        if let Some(n) = trashed_row!(personas) {
            return Ok((TrashEntryKind::Persona, n));
        }
        if let Some(n) = trashed_row!(lorebooks) {
            return Ok((TrashEntryKind::Lorebook, n));
        }
        let n = trashed_row!(presets).ok_or(TreeError::NotFound("the item in the trash"))?;
        Ok((TrashEntryKind::Preset, n))
    }

    fn update_trash_row(&mut self, work: impl FnOnce(&mut Conn) -> QueryResult<usize>) -> Result<(), WriteError> {
        Ok(self.update_row(work)?)
    }

    /// Clears a batch of permanently deleted sessions; returns the number of deleted rows, 0 when nothing is
    /// left.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn clear_deleted_batch(&mut self) -> Result<usize, WriteError> {
        let given_up: Vec<i64> = self.run(|conn| {
            let all = sessions::table.filter(sessions::trashed.eq(Some(DELETING))).order(sessions::n);
            Ok(all.select(sessions::n).load(conn)?)
        })?;
        if !given_up.is_empty() {
            // The cache may refer to deleted rows.
            self.writer_cache.clear();
        }
        for session_n in given_up {
            let rows = self.clear_session(session_n)?;
            if rows > 0 {
                return Ok(rows);
            }
        }
        Ok(0)
    }

    /// Clears a batch of one session, and finally the session itself; returns the number of deleted rows.
    pub(crate) fn clear_session(&mut self, session_n: i64) -> Result<usize, StoreError> {
        self.run(|conn| {
            diesel::delete(labels::table.filter(labels::session_n.eq(session_n))).execute(conn)?;
            diesel::delete(fragments::table.filter(fragments::session_n.eq(session_n))).execute(conn)?;
            let own = nodes::table.filter(nodes::session_n.eq(session_n)).order(nodes::n);
            let some: Vec<i64> = own.limit(BATCH_SIZE).select(nodes::n).load(conn)?;
            if !some.is_empty() {
                return Ok(destroy::delete_nodes(conn, &some)?);
            }
            let own = operations::table.filter(operations::session_n.eq(session_n)).order(operations::op);
            let some: Vec<i64> = own.limit(BATCH_SIZE).select(operations::n).load(conn)?;
            if !some.is_empty() {
                return Ok(destroy::delete_operations(conn, &some)?);
            }
            diesel::delete(edits::table.filter(edits::session_n.eq(session_n))).execute(conn)?;
            summaries::delete_for_session(conn, session_n)?;
            session_tags::replace(conn, session_n, &[])?;
            let own: Option<Vec<u8>> =
                sessions::table.find(session_n).select(sessions::id).get_result(conn).optional()?;
            diesel::delete(sources::table.filter(sources::became.eq(own.unwrap_or_default()))).execute(conn)?;
            let gone = diesel::delete(sessions::table.find(session_n)).execute(conn)?;
            lorebook_bindings::delete_orphans(conn)?;
            Ok(gone)
        })
    }
}
