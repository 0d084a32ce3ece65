//! Imports a session from a file. It is written in small transactions between those of others, into a session
//! row without a root. Such a session is invisible. The last write sets the root, which makes the whole session
//! visible at once. After a crash, the next start deletes sessions without a root.
//!
//! The caller must have validated the whole file before (`transfer/`); nothing is refused here.

use diesel::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::archive::{ArchiveLine, BlobLine, HistoryNode, NodeLine, OperationLine, SessionLine, SourceLine, TraceLine};
use clotho_core::clock::Time;
use clotho_core::ids::{FragmentId, NodeId, SessionId, UserId};
use clotho_core::oplog::{FragmentInfo, LabelTarget};
use clotho_core::tree::edit::TreeError;
use clotho_core::tree::{CardRef, Delta, Kind, PersonaRef, RequestedSettings, Role, Session, Status};

use super::arrange::{put_fragment, put_label};
use super::blobs;
use super::conn::{Conn, IdBytes};
use super::error::{StoreError, WriteError};
use super::library::LibraryItem;
use super::prepared::{insert, update};
use super::read::{StoreReader, any_node_row};
use super::row_numbers::{self, PermanentTable};
use super::rows::{
    NO_NODE, NewDeltaRow, NewTextRow, NodeRow, OperationRow, SessionRow, note_from_text, object_from_text,
    plugins_from_text, recall_from_text, summaries_from_text,
};
use super::script_consents::card_scripts;
use super::session_settings::check_setting;
use super::session_tags;
use super::stored::NodeCounts;
use super::tables::{characters, deltas, fragments, nodes, operations, personas, sessions, sources};
use super::traces::{self, RawTrace, put_raw};
use super::tx::{Tx, turn_below};
use super::writer_cache::NumberedTable;

/// The number of rows to publish or delete in one transaction.
const BATCH_SIZE: i64 = 256;
/// The value of `trashed` during an import, which is not a time: the session is not in the trash.
const IMPORTING: i64 = -1;

/// A session that is being imported.
#[derive(Debug, Clone, Copy)]
pub struct IncomingSession {
    n: i64,
}

/// Whether the settings of an imported session come into force that may cost money, grant permissions or run scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportConsent {
    /// They do: the owner trusts the file.
    Given,
    /// They wait in `Session::requested` for an answer. `has_scripts`: whether the file has regex scripts.
    Withheld { has_scripts: bool },
}

impl IncomingSession {
    /// Checks that a session with the settings of this line could be read back.
    ///
    /// # Errors
    /// Returns an error that names the invalid setting.
    pub fn check_line(line: &SessionLine) -> Result<(), TreeError> {
        let json = |text: &RawValue| serde_json::from_str::<Value>(text.get()).unwrap_or_default();
        check_setting("title", &line.title.as_str().into())?;
        check_setting("mode", &line.mode.as_str().into())?;
        check_setting("model", &line.model.as_deref().map_or(Value::Null, Value::from))?;
        check_setting("params", &json(&line.params))?;
        check_setting("recall", &line.recall.as_deref().map_or(Value::Null, json))?;
        check_setting("note", &line.note.as_deref().map_or(Value::Null, json))?;
        check_setting("summaries", &line.summaries.as_deref().map_or(Value::Null, json))?;
        check_setting("valuesModel", &line.values_model.as_deref().map_or(Value::Null, Value::from))?;
        check_setting("folder", &line.folder.as_deref().map_or(Value::Null, Value::from))?;
        check_setting("tags", &line.tags.as_slice().into())?;
        check_setting("plugins", &json(&line.plugins))
    }

    /// Checks that a setting in the log could be restored.
    ///
    /// # Errors
    /// Returns an error if the name or the value is invalid.
    pub fn check_setting(name: &str, value: &Value) -> Result<(), TreeError> {
        if name == "trashed" { Ok(()) } else { check_setting(name, value) }
    }
}

/// Returns the session of a checked line, or the name of the setting that cannot be read.
fn session_from_line(owner: UserId, line: &SessionLine) -> Result<Session, &'static str> {
    Ok(Session {
        id: line.id,
        owner,
        title: line.title.clone(),
        cards: line.cards.iter().map(|(id, hash)| CardRef { id: *id, hash: hash.clone() }).collect(),
        persona: line.persona.as_ref().map(|(id, hash)| PersonaRef { id: *id, hash: hash.clone() }),
        root: line.root,
        head: line.head,
        op: line.op,
        head_op: line.head_op,
        mode: line.mode.clone(),
        model: line.model.clone(),
        params: object_from_text(line.params.get()).ok_or("params")?,
        preset: line.preset,
        scripts: line.scripts,
        recall: recall_from_text(line.recall.as_deref().map(RawValue::get)).ok_or("recall")?,
        note: match line.note.as_deref() {
            Some(note) => Some(note_from_text(note.get()).ok_or("note")?),
            None => None,
        },
        summaries: summaries_from_text(line.summaries.as_deref().map(RawValue::get)).ok_or("summaries")?,
        values_model: line.values_model.clone(),
        profile: line.profile,
        plugins: plugins_from_text(line.plugins.get()).ok_or("plugins")?,
        requested: RequestedSettings::default(),
        folder: line.folder.clone(),
        tags: line.tags.clone(),
        is_pinned: line.is_pinned,
        seed: line.seed,
        edits: 0,
        created: Time(line.created),
        updated: Time(line.updated),
    })
}

impl StoreReader<'_> {
    /// Returns whether any session has this id, or any node one of these ids, for any owner.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn is_id_taken(&mut self, session: SessionId, ids: &[NodeId]) -> Result<bool, StoreError> {
        let same = sessions::table.filter(sessions::id.eq(session.as_bytes().to_vec())).select(sessions::n);
        if same.get_result::<i64>(self.conn).optional()?.is_some() {
            return Ok(true);
        }
        let names: Vec<Vec<u8>> = ids.iter().map(|id| id.as_bytes().to_vec()).collect();
        let same = nodes::table.filter(nodes::id.eq_any(names)).select(nodes::n);
        Ok(same.get_result::<i64>(self.conn).optional()?.is_some())
    }
}

impl Tx<'_> {
    /// Starts the import of a session, which is invisible for now.
    ///
    /// # Errors
    /// Returns an error if the owner does not exist, or if the database fails.
    pub fn begin_import(
        &mut self,
        owner: UserId,
        line: &SessionLine,
        consent: ImportConsent,
    ) -> Result<IncomingSession, WriteError> {
        let owner_n = self.user_row(owner)?;
        self.import_preset(owner, line, consent == ImportConsent::Given)?;
        let last: Option<i64> =
            self.run(|conn| Ok(sessions::table.select(diesel::dsl::max(sessions::n)).get_result(conn)?))?;
        let n = last.unwrap_or(0) + 1;
        let mut session = session_from_line(owner, line)
            .map_err(|column| WriteError::Failed(StoreError::Inconsistent { table: "sessions", column, row: n }))?;
        if let ImportConsent::Withheld { has_scripts } = consent {
            session.withhold_settings(has_scripts);
        }
        let row = SessionRow { trashed: Some(IMPORTING), ..SessionRow::new(n, owner_n, &session) };
        self.run(|conn| {
            diesel::insert_into(sessions::table).values(&row).execute(conn)?;
            session_tags::replace(conn, n, &session.tags)
        })?;
        Ok(IncomingSession { n })
    }

    /// Writes some lines, in their order.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn import_lines(&mut self, incoming: IncomingSession, lines: &[ArchiveLine]) -> Result<(), WriteError> {
        for line in lines {
            match line {
                ArchiveLine::Blob(blob) => self.import_blob(blob)?,
                ArchiveLine::Node(node) => self.import_node(incoming, node)?,
                ArchiveLine::Trace(trace) => self.import_trace(incoming, trace)?,
                ArchiveLine::Operation(operation) => self.import_operation(incoming, operation)?,
                ArchiveLine::Source(source) => self.import_source(incoming, source)?,
                ArchiveLine::Session(_) | ArchiveLine::End(_) => {}
            }
        }
        Ok(())
    }

    fn import_blob(&mut self, blob: &BlobLine) -> Result<(), StoreError> {
        self.run(|conn| blobs::put(conn, blob.text.as_bytes()).map(|_| ()))
    }

    /// Writes a source file. If a file of that name is known, it stays as it is.
    fn import_source(&mut self, incoming: IncomingSession, line: &SourceLine) -> Result<(), StoreError> {
        let hash = line.hash.as_ref().and_then(|hash| blake3::Hash::from_hex(hash).ok());
        self.run(|conn| {
            let (owner_n, became): (i64, Vec<u8>) =
                sessions::table.find(incoming.n).select((sessions::owner_n, sessions::id)).get_result(conn)?;
            let same = sources::table.filter(sources::owner_n.eq(owner_n)).filter(sources::name.eq(&line.name));
            if same.select(sources::n).get_result::<i64>(conn).optional()?.is_some() {
                return Ok(());
            }
            let newest: Option<i64> = sources::table.select(diesel::dsl::max(sources::n)).get_result(conn)?;
            let row = (
                sources::n.eq(newest.unwrap_or(0) + 1),
                sources::owner_n.eq(owner_n),
                sources::name.eq(&line.name),
                sources::hash.eq(hash.map(|hash| hash.as_bytes().to_vec())),
                sources::became.eq(became),
                sources::node.eq(line.node.map(|node| node.as_bytes().to_vec())),
                sources::header.eq(&line.header),
            );
            diesel::insert_into(sources::table).values(row).execute(conn)?;
            Ok(())
        })
    }

    fn import_node(&mut self, incoming: IncomingSession, line: &NodeLine) -> Result<(), StoreError> {
        // Write the node with its text.
        let parent = line.parent.map(|id| self.imported_row(incoming, id)).transpose()?;
        let row = self.imported_node_row(incoming, line, parent.as_ref())?;
        let is_running = row.status == Status::Generating.code();
        let text = NewTextRow {
            n: row.n,
            name: line.name.as_deref(),
            content: if is_running { "" } else { &line.content },
            reasoning: line.reasoning.as_deref().filter(|_| !is_running),
            metadata: line.metadata.get().to_owned(),
        };
        self.write_node(&row, &text)?;
        if row.is_unread {
            // The insert does not set this column.
            let unread = nodes::is_unread.eq(true);
            self.update_row(|conn| update(nodes::table, unread, nodes::n.eq(row.n)).execute(conn))?;
        }
        self.writer_cache.keep_node(&row);
        if let Some(parent_n) = row.parent_n {
            self.writer_cache.forget_children(parent_n);
        }
        for delta in &line.deltas {
            self.import_delta(row.n, delta.revision, delta.body.get())?;
        }
        if is_running {
            // An unfinished reply becomes a segment. The sweeper ends it like any orphaned reply once the
            // session is visible.
            let (content, reasoning) = (line.content.clone(), line.reasoning.clone().unwrap_or_default());
            return self.run_with_cache(|conn, memory| {
                super::replies::append_segment(conn, memory, row.n, &content, &reasoning)
            });
        }
        let in_force = line.deltas.iter().find(|delta| delta.revision == row.revision && !row.is_muted);
        let delta = in_force.and_then(|delta| Delta::from_json(&serde_json::from_str(delta.body.get()).ok()?));
        self.advance_world(0, &row, &delta.unwrap_or_default())
    }

    fn imported_node_row(
        &mut self,
        incoming: IncomingSession,
        line: &NodeLine,
        parent: Option<&NodeRow>,
    ) -> Result<NodeRow, StoreError> {
        // Parse the words of the line and find the rules.
        let unknown = |column| move || StoreError::Inconsistent { table: "nodes", column, row: 0 };
        let role = Role::parse(&line.role).ok_or_else(unknown("role"))?;
        let kind = Kind::parse(&line.kind).ok_or_else(unknown("kind"))?;
        let status = Status::parse(&line.status).ok_or_else(unknown("status"))?;
        let rules_n = match &line.rules {
            Some(hash) => Some(self.run(|conn| blobs::row_of(conn, hash))?),
            None => parent.and_then(|parent| parent.rules_n),
        };
        let n = self.run_with_cache(|conn, memory| {
            memory.next_number(NumberedTable::Nodes, || row_numbers::highest(conn, PermanentTable::Nodes))
        })?;
        // Columns that depend on the path follow from the parent.
        let mut row = NodeRow {
            n,
            id: IdBytes::new(line.id.as_bytes()),
            session_n: incoming.n,
            parent_n: parent.map(|parent| parent.n),
            role: role.code(),
            kind: kind.code(),
            status: status.code(),
            is_enabled: !line.is_disabled,
            is_muted: line.is_muted,
            is_hidden: line.is_hidden,
            author: line.author.map(|id| IdBytes::new(id.as_bytes())),
            persona: line.persona.map(|id| IdBytes::new(id.as_bytes())),
            speaker: line.character.map(|id| IdBytes::new(id.as_bytes())),
            remembered_n: None,
            rating: line.rating.map(i16::from),
            depth: parent.map_or(0, |parent| parent.depth + 1),
            turn: turn_below(parent, role, kind),
            since_keyframe: parent.map_or(self.context.keyframe_every, |parent| parent.since_keyframe + 1),
            rules_n,
            begins_rules: line.rules.is_some(),
            dice_seed: line.dice_seed.cast_signed(),
            revision: line.revision,
            created: line.created,
            fragment_n: None,
            is_unread: line.is_unread,
        };
        if status != Status::Generating && self.is_keyframe_due(&row) {
            row.since_keyframe = 0;
        }
        Ok(row)
    }

    fn import_delta(&mut self, node_n: i64, revision: i32, body: &str) -> Result<(), StoreError> {
        self.run_with_cache(|conn, memory| {
            let newest = || deltas::table.select(diesel::dsl::max(deltas::n)).get_result(conn);
            let n = memory.next_number(NumberedTable::Deltas, newest)?;
            Ok(insert::<NewDeltaRow>(conn, &NewDeltaRow { n, node_n, revision, body: body.to_owned() })?)
        })
    }

    fn import_trace(&mut self, incoming: IncomingSession, line: &TraceLine) -> Result<(), StoreError> {
        let node_n = self.imported_row(incoming, line.node)?.n;
        let base = line.history.base.map(|id| self.imported_row(incoming, id)).transpose()?.map(|row| row.n);
        let mut add = Vec::with_capacity(line.history.add.len());
        for sent in &line.history.add {
            add.push(match sent {
                Some(HistoryNode::Here(id)) => self.imported_row(incoming, *id)?.n,
                Some(HistoryNode::Elsewhere) => traces::ELSEWHERE,
                None => traces::GONE,
            });
        }
        let (number, skip) = (line.history.number, line.history.skip);
        let trace = RawTrace { head: line.head.clone(), blocks: line.blocks.clone(), number, base, skip, add };
        self.run(|conn| put_raw(conn, node_n, &trace))
    }

    /// Writes a log entry with a negative row number, which readers of the log never reach.
    fn import_operation(&mut self, incoming: IncomingSession, line: &OperationLine) -> Result<(), StoreError> {
        let lowest: Option<i64> =
            self.run(|conn| Ok(operations::table.select(diesel::dsl::min(operations::n)).get_result(conn)?))?;
        self.write_operation(&OperationRow {
            n: lowest.unwrap_or(0).min(0) - 1,
            session_n: incoming.n,
            op: line.op,
            step: line.step,
            act: line.act.clone(),
            actor: line.actor.map(|actor| actor.as_bytes().to_vec()),
            at: line.at,
            effects: line.effects.get().to_owned(),
        })
    }

    /// Sets the remembered children. This comes last, because children come after their parents.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn import_remembered(
        &mut self,
        incoming: IncomingSession,
        pairs: &[(NodeId, NodeId)],
    ) -> Result<(), WriteError> {
        for (node, child) in pairs {
            let (n, child_n) = (self.imported_row(incoming, *node)?.n, self.imported_row(incoming, *child)?.n);
            let remembered = nodes::remembered_n.eq(Some(child_n));
            self.update_row(|conn| update(nodes::table, remembered, nodes::n.eq(n)).execute(conn))?;
            self.writer_cache.change_node(n, |row| row.remembered_n = Some(child_n));
        }
        Ok(())
    }

    /// Writes fragments, each with its top node.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn import_stash(
        &mut self,
        incoming: IncomingSession,
        stash: &[(NodeId, FragmentInfo)],
    ) -> Result<(), WriteError> {
        for (top, cut) in stash {
            let top_n = self.imported_row(incoming, *top)?.n;
            self.run_with_cache(|conn, memory| put_fragment(conn, memory, incoming.n, top_n, cut).map(|_| ()))?;
        }
        Ok(())
    }

    /// Sets which nodes are in which fragments.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn import_stashed(
        &mut self,
        incoming: IncomingSession,
        stashed: &[(NodeId, FragmentId)],
    ) -> Result<(), WriteError> {
        for (node, fragment) in stashed {
            let n = self.imported_row(incoming, *node)?.n;
            let named = fragments::table.filter(fragments::id.eq(fragment.as_bytes().to_vec()));
            let fragment_n: i64 = self.run(|conn| Ok(named.select(fragments::n).get_result(conn)?))?;
            let lies_in = nodes::fragment_n.eq(Some(fragment_n));
            self.update_row(|conn| update(nodes::table, lies_in, nodes::n.eq(n)).execute(conn))?;
            self.writer_cache.change_node(n, |row| row.fragment_n = Some(fragment_n));
        }
        Ok(())
    }

    /// Writes labels.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn import_labels(
        &mut self,
        incoming: IncomingSession,
        labels: &[(String, LabelTarget)],
    ) -> Result<(), WriteError> {
        for (name, mark) in labels {
            let node_n = self.imported_row(incoming, mark.node)?.n;
            self.run_with_cache(|conn, memory| put_label(conn, memory, incoming.n, name, node_n, mark.following))?;
        }
        Ok(())
    }

    fn imported_row(&mut self, incoming: IncomingSession, id: NodeId) -> Result<NodeRow, StoreError> {
        self.run_with_cache(|conn, memory| {
            if let Some(row) = memory.node_number(incoming.n, id).and_then(|n| memory.node(n)) {
                return Ok(row.clone());
            }
            let row = any_node_row(conn, incoming.n, id)?.inspect(|row| memory.keep_node(row));
            row.ok_or_else(|| StoreError::Database(format!("{id} is missing")))
        })
    }

    /// Completes the import: from here on, the owner sees the session.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn finish_import(
        &mut self,
        incoming: IncomingSession,
        owner: UserId,
        line: &SessionLine,
        counts: NodeCounts,
        consent: ImportConsent,
        at: Time,
    ) -> Result<(), WriteError> {
        let (root, head) = (self.imported_row(incoming, line.root)?, self.imported_row(incoming, line.head)?);
        self.import_cards(owner, line, consent, at)?;
        let whole = (
            sessions::root_n.eq(root.n),
            sessions::head_n.eq(head.n),
            sessions::node_count.eq(counts.nodes),
            sessions::leaf_count.eq(counts.leaves),
            sessions::trashed.eq(None::<i64>),
        );
        Ok(self.update_row(|conn| update(sessions::table, whole, sessions::n.eq(incoming.n)).execute(conn))?)
    }

    /// Adds cards that do not exist here to the owner's library, in the version of the session. Asks about the scripts of
    /// every card of a file that is not trusted: the version of a known character may have other ones.
    fn import_cards(
        &mut self,
        owner: UserId,
        line: &SessionLine,
        consent: ImportConsent,
        at: Time,
    ) -> Result<(), WriteError> {
        for (id, hash) in &line.cards {
            let same = characters::table.filter(characters::id.eq(id.as_bytes().to_vec())).select(characters::n);
            let is_known = self.run(|conn| Ok(same.get_result::<i64>(conn).optional()?))?.is_some();
            let card = self.run(|conn| card(conn, hash))?;
            if consent != ImportConsent::Given {
                let known = self.stored_card_scripts(owner, *id)?;
                self.ask_for_scripts(owner, card_scripts(&card), known.as_ref())?;
            }
            if !is_known {
                self.put_character(owner, &LibraryItem { id: *id, card, created: at, updated: at })?;
            }
        }
        if let Some((id, hash)) = &line.persona {
            let same = personas::table.filter(personas::id.eq(id.as_bytes().to_vec())).select(personas::n);
            if self.run(|conn| Ok(same.get_result::<i64>(conn).optional()?))?.is_none() {
                let card = self.run(|conn| card(conn, hash))?;
                self.put_persona(owner, &LibraryItem { id: *id, card, created: at, updated: at })?;
            }
        }
        Ok(())
    }

    /// Publishes a batch of imported log entries in order, by giving them positive row numbers; `false` if none
    /// are left. Readers of the log find them by polling, as after a start.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn publish_imported(&mut self) -> Result<bool, WriteError> {
        let rows: Vec<i64> = self.run(|conn| {
            let untold = operations::table
                .inner_join(sessions::table.on(sessions::n.eq(operations::session_n)))
                .filter(operations::n.lt(0))
                .filter(sessions::root_n.ne(NO_NODE))
                .order(operations::n.desc())
                .limit(BATCH_SIZE);
            Ok(untold.select(operations::n).load(conn)?)
        })?;
        let is_rest = i64::try_from(rows.len()).is_ok_and(|count| count == BATCH_SIZE);
        for below in rows {
            self.run_with_cache(|conn, memory| {
                let n = memory.next_number(NumberedTable::Operations, || {
                    row_numbers::highest(conn, PermanentTable::Operations)
                })?;
                Ok(update(operations::table, operations::n.eq(n), operations::n.eq(below)).execute(conn)?)
            })?;
        }
        Ok(is_rest)
    }

    /// Deletes a batch of an incomplete import; `false` if nothing is left. Unused blobs stay.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn discard_imports(&mut self) -> Result<bool, WriteError> {
        let broken = sessions::table.filter(sessions::root_n.eq(NO_NODE)).select(sessions::n);
        let Some(session_n) = self.run(|conn| Ok(broken.get_result::<i64>(conn).optional()?))? else {
            return Ok(false);
        };
        self.writer_cache.clear();
        Ok(self.clear_session(session_n)? > 0)
    }
}

/// Reads a card by its hash.
fn card(conn: &mut Conn, hash: &str) -> Result<Map<String, Value>, StoreError> {
    let bad = |_| StoreError::Inconsistent { table: "blobs", column: "bytes", row: 0 };
    serde_json::from_slice(&blobs::by_hash(conn, hash)?).map_err(bad)
}
