//! Exports a session as the lines of a file. It reads on its own connection, on one snapshot, in batches. It
//! takes no lock, so it works while a server runs. In memory it keeps a few numbers for each node.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

use diesel::prelude::*;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::archive::{
    ArchiveHistory, ArchiveLine, BlobKind, BlobLine, DeltaLine, HistoryNode, NodeLine, OperationLine, PresetLine,
    SessionLine, SourceLine, TraceLine,
};
use clotho_core::ids::{CharacterId, FragmentId, NodeId, PersonaId, SessionId, UserId};
use clotho_core::oplog::Effect;
use clotho_core::tree::{Kind, Role, Status};

use super::blobs;
use super::caches::Caches;
use super::conn::{self, Conn};
use super::error::StoreError;
use super::prepared::prepared;
use super::presets::exportable_preset;
use super::read::{StoreReader, find_session, pad_to_power_of_two};
use super::rows::{
    NodeRow, OperationRow, TextRow, cards_from_text, persona_from_text, plugins_to_text, recall_to_text,
    summaries_to_text,
};
use super::stored::StoredSession;
use super::tables::{deltas, fragments, nodes, operations, segments, sessions, sources, texts, traces, users};
use super::traces::{ELSEWHERE, read_raw};

/// The number of nodes in one batch.
const BATCH_SIZE: usize = 128;

/// The name, hash, last node and header of a source file.
type SourceColumns = (String, Option<Vec<u8>>, Option<Vec<u8>>, Option<String>);

/// A snapshot of the database for exports.
pub struct DatabaseSnapshot {
    conn: Conn,
    caches: Arc<Caches>,
}

/// The reason why an export failed.
#[derive(Debug, thiserror::Error)]
pub enum SessionExportError {
    /// The database failed, or a row is damaged.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The lines could not be written.
    #[error("the file cannot be written: {0}")]
    Write(#[from] io::Error),
}

impl From<diesel::result::Error> for SessionExportError {
    fn from(error: diesel::result::Error) -> Self {
        Self::Store(error.into())
    }
}

impl DatabaseSnapshot {
    /// Opens the current state of a database for reading only, also while a server uses it.
    ///
    /// # Errors
    /// Returns an error if it does not exist, or if its schema is not that of this program.
    pub fn open(database: &Path) -> Result<Self, StoreError> {
        let mut conn = conn::open_existing(database)?;
        conn::begin_read(&mut conn)?;
        Ok(Self { conn, caches: Arc::default() })
    }

    /// Returns a reader on this snapshot, with the same reads as readers of the store.
    pub fn reader(&mut self) -> StoreReader<'_> {
        StoreReader::new(&mut self.conn, &self.caches)
    }

    /// Returns a session that the caller may see. Without a caller, any session.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn session(&mut self, caller: Option<UserId>, id: SessionId) -> Result<Option<StoredSession>, StoreError> {
        let is_theirs = |stored: &StoredSession| caller.is_none_or(|caller| stored.session.owner == caller);
        Ok(find_session(&mut self.conn, id)?.filter(is_theirs))
    }

    /// Returns all sessions that are not in the trash, oldest first.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn sessions(&mut self) -> Result<Vec<SessionId>, StoreError> {
        let ids: Vec<Vec<u8>> = sessions::table
            .inner_join(users::table.on(users::n.eq(sessions::owner_n)))
            .filter(sessions::trashed.is_null())
            .order(sessions::n)
            .select(sessions::id)
            .load(&mut self.conn)?;
        Ok(ids.iter().filter_map(|id| SessionId::from_slice(id)).collect())
    }

    /// Writes a whole session to `out`, line by line, in the order of the file format.
    ///
    /// # Errors
    /// Returns an error if the database fails, a row is damaged, or `out` fails.
    pub fn export(
        &mut self,
        stored: &StoredSession,
        out: impl FnMut(&ArchiveLine) -> io::Result<()>,
    ) -> Result<(), SessionExportError> {
        let rows = parents_first(&mut self.conn, stored.n)?;
        let (told, traced, waiting) = (HashSet::new(), HashSet::new(), HashMap::new());
        let fragments = fragments_of(&mut self.conn, stored.n)?;
        let mut export = SessionExporter {
            conn: &mut self.conn,
            session: stored,
            out,
            fragments,
            written_blobs: told,
            written_traces: traced,
            pending_traces: waiting,
        };
        export.session(rows.len())?;
        export.operations()?;
        for piece in rows.chunks(BATCH_SIZE) {
            export.nodes(piece)?;
        }
        for piece in rows.chunks(BATCH_SIZE) {
            export.traces(piece)?;
        }
        export.check_no_pending_traces()?;
        export.sources()
    }
}

impl Drop for DatabaseSnapshot {
    fn drop(&mut self) {
        conn::end_read(&mut self.conn);
    }
}

/// Returns the rows of a session's nodes in the order of their creation, but never a child before its parent. A
/// node that was moved below a newer one comes right after it.
fn parents_first(conn: &mut Conn, session_n: i64) -> Result<Vec<i64>, StoreError> {
    let all: Vec<(i64, Option<i64>)> = nodes::table
        .filter(nodes::session_n.eq(session_n))
        .order(nodes::n)
        .select((nodes::n, nodes::parent_n))
        .load(conn)?;
    let mut ordered = Vec::with_capacity(all.len());
    let mut came: HashSet<i64> = HashSet::with_capacity(all.len());
    let mut waiting: HashMap<i64, Vec<i64>> = HashMap::new();
    for (n, parent) in all {
        if let Some(parent) = parent.filter(|parent| !came.contains(parent)) {
            waiting.entry(parent).or_default().push(n);
            continue;
        }
        let mut next = vec![n];
        while let Some(n) = next.pop() {
            came.insert(n);
            ordered.push(n);
            next.extend(waiting.remove(&n).unwrap_or_default().into_iter().rev());
        }
    }
    match waiting.into_keys().next() {
        None => Ok(ordered),
        Some(parent) => Err(StoreError::Inconsistent { table: "nodes", column: "parent_n", row: parent }),
    }
}

/// The state of an export.
struct SessionExporter<'a, W> {
    conn: &'a mut Conn,
    session: &'a StoredSession,
    out: W,
    /// The fragments of the stash, by row.
    fragments: HashMap<i64, FragmentId>,
    /// The blobs that have been written.
    written_blobs: HashSet<(BlobKind, blake3::Hash)>,
    /// The nodes whose traces have been written.
    written_traces: HashSet<NodeId>,
    /// Traces that must wait because their base comes later (a node was moved), by the node of the base.
    pending_traces: HashMap<NodeId, Vec<TraceLine>>,
}

impl<W: FnMut(&ArchiveLine) -> io::Result<()>> SessionExporter<'_, W> {
    fn line(&mut self, line: &ArchiveLine) -> Result<(), SessionExportError> {
        Ok((self.out)(line)?)
    }

    fn session(&mut self, nodes: usize) -> Result<(), SessionExportError> {
        // The session line has all settings.
        let preset_kept = self.preset()?;
        let session = &self.session.session;
        let raw = |text: String| raw("sessions", "params", self.session.n, text);
        let line = SessionLine {
            id: session.id,
            owner: session.owner,
            title: session.title.clone(),
            cards: session.cards.iter().map(|card| (card.id, card.hash.clone())).collect(),
            persona: session.persona.as_ref().map(|persona| (persona.id, persona.hash.clone())),
            root: session.root,
            head: session.head,
            op: session.op,
            head_op: session.head_op,
            mode: session.mode.clone(),
            model: session.model.clone(),
            params: raw(Value::Object(session.params.clone()).to_string())?,
            preset: session.preset,
            preset_kept,
            scripts: session.scripts,
            recall: recall_to_text(&session.recall).map(raw).transpose()?,
            note: session.note.as_ref().map(|note| raw(note.to_json().to_string())).transpose()?,
            summaries: summaries_to_text(&session.summaries).map(raw).transpose()?,
            values_model: session.values_model.clone(),
            profile: session.profile,
            folder: session.folder.clone(),
            tags: session.tags.clone(),
            is_pinned: session.is_pinned,
            plugins: raw(plugins_to_text(&session.plugins))?,
            seed: session.seed,
            created: session.created.0,
            updated: session.updated.0,
            nodes: u64::try_from(nodes).unwrap_or(u64::MAX),
        };
        // The blobs of its cards follow.
        let cards = line.cards.iter().map(|(_, hash)| hash).chain(line.persona.iter().map(|(_, hash)| hash));
        let cards: Vec<String> = cards.cloned().collect();
        self.line(&ArchiveLine::Session(Box::new(line)))?;
        cards.iter().try_for_each(|hash| self.blob(BlobKind::Card, hash))
    }

    /// Reads the session's preset for the file.
    fn preset(&mut self) -> Result<Option<PresetLine>, SessionExportError> {
        let session = &self.session.session;
        let Some(id) = session.preset else { return Ok(None) };
        let Some((name, body)) = exportable_preset(self.conn, session.owner, id)? else { return Ok(None) };
        Ok(Some(PresetLine { name, body: raw("presets", "body", self.session.n, body)? }))
    }

    /// Writes a blob, unless it has been written.
    fn blob(&mut self, kind: BlobKind, hash: &str) -> Result<(), SessionExportError> {
        let bad = || StoreError::Inconsistent { table: "blobs", column: "bytes", row: 0 };
        if !self.written_blobs.insert((kind, blake3::Hash::from_hex(hash).map_err(|_| bad())?)) {
            return Ok(());
        }
        let bytes = blobs::by_hash(self.conn, hash)?;
        let text = String::from_utf8(bytes).map_err(|_| bad())?;
        self.line(&ArchiveLine::Blob(Box::new(BlobLine { kind, hash: hash.to_owned(), text })))
    }

    fn operations(&mut self) -> Result<(), SessionExportError> {
        let mut since = 0;
        loop {
            let page = since + i64::try_from(BATCH_SIZE).unwrap_or(i64::MAX);
            let rows: Vec<OperationRow> = operations::table
                .filter(operations::session_n.eq(self.session.n))
                .filter(operations::op.gt(since))
                .filter(operations::op.le(page))
                .order(operations::op)
                .select(OperationRow::as_select())
                .load(self.conn)?;
            if rows.is_empty() {
                return Ok(());
            }
            rows.into_iter().try_for_each(|row| self.operation(row))?;
            since = page;
        }
    }

    fn operation(&mut self, row: OperationRow) -> Result<(), SessionExportError> {
        let effects = raw("operations", "effects", row.n, row.effects.clone())?;
        let operation = row.into_operation()?;
        for hash in operation.effects.iter().flat_map(card_hashes) {
            self.blob(BlobKind::Card, &hash)?;
        }
        self.line(&ArchiveLine::Operation(Box::new(OperationLine {
            op: operation.op,
            step: operation.step,
            act: operation.kind.as_str().to_owned(),
            actor: operation.actor,
            at: operation.at.0,
            effects,
        })))
    }

    fn nodes(&mut self, piece: &[i64]) -> Result<(), SessionExportError> {
        let of_piece = nodes::table.filter(nodes::n.eq_any(pad_to_power_of_two(piece))).select(NodeRow::as_select());
        let rows = group_by(prepared(of_piece).load(self.conn)?, |row: &NodeRow| row.n);
        let of_piece =
            texts::table.filter(texts::n.eq_any(pad_to_power_of_two(piece))).select((texts::n, TextRow::as_select()));
        let mut all_texts: HashMap<i64, TextRow> =
            prepared(of_piece).load::<(i64, TextRow)>(self.conn)?.into_iter().collect();
        let mut all_deltas = self.deltas(piece)?;
        let named = rows.values().flat_map(|row| [row.parent_n, row.remembered_n]).flatten().collect();
        let ids = self.ids(named)?;
        for n in piece {
            let bad = || StoreError::Inconsistent { table: "texts", column: "n", row: *n };
            let (row, text) = (rows.get(n).ok_or_else(bad)?, all_texts.remove(n).ok_or_else(bad)?);
            let rules = if row.begins_rules { row.rules_n.map(|n| self.rules(n)).transpose()? } else { None };
            let deltas = all_deltas.remove(n).unwrap_or_default();
            let mut line = node(row, text, &ids, &self.fragments, rules, deltas)?;
            if row.status == Status::Generating.code() {
                (line.content, line.reasoning) = self.partial_reply(*n)?;
            }
            self.line(&ArchiveLine::Node(Box::new(line)))?;
        }
        Ok(())
    }

    fn deltas(&mut self, piece: &[i64]) -> Result<HashMap<i64, Vec<DeltaLine>>, SessionExportError> {
        let of_piece = deltas::table.filter(deltas::node_n.eq_any(pad_to_power_of_two(piece)));
        let of_piece = of_piece.order((deltas::node_n, deltas::revision));
        let found = prepared(of_piece.select((deltas::node_n, deltas::revision, deltas::body)));
        let mut by_node: HashMap<i64, Vec<DeltaLine>> = HashMap::new();
        for (n, revision, body) in found.load::<(i64, i32, String)>(self.conn)? {
            let body = raw("deltas", "body", n, body)?;
            by_node.entry(n).or_default().push(DeltaLine { revision, body });
        }
        Ok(by_node)
    }

    /// Maps rows to node ids. Rows that are gone or belong to other sessions are left out: a file has one
    /// session.
    fn ids(&mut self, mut rows: Vec<i64>) -> Result<HashMap<i64, NodeId>, SessionExportError> {
        let session_n = self.session.n;
        rows.sort_unstable();
        rows.dedup();
        let mut ids = HashMap::with_capacity(rows.len());
        for some in rows.chunks(4 * BATCH_SIZE) {
            let named =
                nodes::table.filter(nodes::n.eq_any(pad_to_power_of_two(some))).filter(nodes::session_n.eq(session_n));
            let found: Vec<(i64, Vec<u8>)> = prepared(named.select((nodes::n, nodes::id))).load(self.conn)?;
            ids.extend(found.into_iter().filter_map(|(n, id)| Some((n, NodeId::from_slice(&id)?))));
        }
        Ok(ids)
    }

    /// Returns which of these rows belong to other sessions and still exist.
    fn rows_of_other_sessions(&mut self, rows: Vec<i64>) -> Result<HashSet<i64>, SessionExportError> {
        let mut away: HashSet<i64> = rows.iter().copied().filter(|n| *n == ELSEWHERE).collect();
        for some in rows.chunks(4 * BATCH_SIZE) {
            let there = nodes::table.filter(nodes::n.eq_any(pad_to_power_of_two(some))).select(nodes::n);
            away.extend(prepared(there).load::<i64>(self.conn)?);
        }
        Ok(away)
    }

    /// Writes the rules of a row with their schemas; returns their hash.
    fn rules(&mut self, n: i64) -> Result<String, SessionExportError> {
        let bytes = blobs::get(self.conn, n)?;
        let hash = blake3::hash(&bytes).to_hex().to_string();
        let bad = |_| StoreError::Inconsistent { table: "blobs", column: "bytes", row: n };
        let list: Value = serde_json::from_slice(&bytes).map_err(bad)?;
        for plugin in list.as_array().into_iter().flatten() {
            if let Some(schema) = plugin.get("schemaHash").and_then(Value::as_str) {
                self.blob(BlobKind::Schema, schema)?;
            }
        }
        self.blob(BlobKind::Rules, &hash)?;
        Ok(hash)
    }

    /// Returns the text and reasoning received so far of a reply that is being generated.
    fn partial_reply(&mut self, n: i64) -> Result<(String, Option<String>), SessionExportError> {
        let of_node = segments::table.filter(segments::node_n.eq(n)).order(segments::n);
        let parts: Vec<(String, String)> = of_node.select((segments::content, segments::reasoning)).load(self.conn)?;
        let (content, reasoning): (String, String) = parts.into_iter().unzip();
        Ok((content, Some(reasoning).filter(|text| !text.is_empty())))
    }

    fn traces(&mut self, piece: &[i64]) -> Result<(), SessionExportError> {
        let of_piece = traces::table.filter(traces::node_n.eq_any(pad_to_power_of_two(piece)));
        let packed = prepared(of_piece.select((traces::node_n, traces::body)));
        let packed: HashMap<i64, Vec<u8>> = packed.load::<(i64, Vec<u8>)>(self.conn)?.into_iter().collect();
        for n in piece {
            let Some(body) = packed.get(n) else { continue };
            let line = self.trace(*n, read_raw(*n, body)?)?;
            match line.history.base.filter(|base| !self.written_traces.contains(base)) {
                Some(base) => self.pending_traces.entry(base).or_default().push(line),
                None => self.write_trace(line)?,
            }
        }
        Ok(())
    }

    /// Writes a trace, then those that waited for it.
    fn write_trace(&mut self, line: TraceLine) -> Result<(), SessionExportError> {
        let mut next = vec![line];
        while let Some(line) = next.pop() {
            line.blocks.iter().try_for_each(|(_, hash)| self.blob(BlobKind::Block, hash))?;
            self.written_traces.insert(line.node);
            next.extend(self.pending_traces.remove(&line.node).unwrap_or_default().into_iter().rev());
            self.line(&ArchiveLine::Trace(Box::new(line)))?;
        }
        Ok(())
    }

    fn check_no_pending_traces(&self) -> Result<(), SessionExportError> {
        if self.pending_traces.is_empty() {
            return Ok(());
        }
        Err(StoreError::Inconsistent { table: "traces", column: "body", row: 0 }.into())
    }

    /// Writes the foreign files from which the session was imported.
    fn sources(&mut self) -> Result<(), SessionExportError> {
        let of_session = sources::table.filter(sources::became.eq(self.session.session.id.as_bytes().to_vec()));
        let of_session =
            of_session.order(sources::n).select((sources::name, sources::hash, sources::node, sources::header));
        let rows: Vec<SourceColumns> = of_session.load(self.conn)?;
        for (name, hash, node, header) in rows {
            let hash = hash.and_then(|hash| blake3::Hash::from_slice(&hash).ok()).map(|hash| hash.to_hex().to_string());
            let own =
                nodes::table.filter(nodes::session_n.eq(self.session.n)).filter(nodes::id.eq(node.unwrap_or_default()));
            let own: Option<Vec<u8>> = own.select(nodes::id).get_result(self.conn).optional()?;
            let node = own.as_deref().and_then(NodeId::from_slice);
            self.line(&ArchiveLine::Source(Box::new(SourceLine { name, hash, node, header })))?;
        }
        Ok(())
    }

    fn trace(&mut self, n: i64, trace: super::traces::RawTrace) -> Result<TraceLine, SessionExportError> {
        let named = trace.add.iter().chain(&trace.base).copied().chain([n]).collect();
        let ids = self.ids(named)?;
        let bad = || StoreError::Inconsistent { table: "traces", column: "body", row: n };
        let base = trace.base.map(|base| ids.get(&base).copied().ok_or_else(bad)).transpose()?;
        let away = self.rows_of_other_sessions(trace.add.iter().copied().filter(|n| !ids.contains_key(n)).collect())?;
        let sent = |n: &i64| match ids.get(n) {
            Some(id) => Some(HistoryNode::Here(*id)),
            None => away.contains(n).then_some(HistoryNode::Elsewhere),
        };
        let add = trace.add.iter().map(sent).collect();
        let history = ArchiveHistory { number: trace.number, base, skip: trace.skip, add };
        let node = ids.get(&n).copied().ok_or_else(bad)?;
        Ok(TraceLine { node, head: trace.head, blocks: trace.blocks, history })
    }
}

fn fragments_of(conn: &mut Conn, session_n: i64) -> Result<HashMap<i64, FragmentId>, StoreError> {
    let of_session = fragments::table.filter(fragments::session_n.eq(session_n));
    let rows: Vec<(i64, Vec<u8>)> = of_session.select((fragments::n, fragments::id)).load(conn)?;
    Ok(rows.into_iter().filter_map(|(n, id)| Some((n, FragmentId::from_slice(&id)?))).collect())
}

/// Returns the hashes of the old and the new persona or cards of a setting.
fn card_hashes(effect: &Effect) -> Vec<String> {
    match effect {
        Effect::Setting { name, from, to } if name == "persona" => {
            [from, to].into_iter().filter_map(|value| Some(persona_from_text(&value.to_string())?.hash)).collect()
        }
        Effect::Setting { name, from, to } if name == "cards" => {
            let cards = [from, to].into_iter().filter_map(|value| cards_from_text(&value.to_string()));
            cards.flatten().map(|card| card.hash).collect()
        }
        _ => Vec::new(),
    }
}

fn node(
    row: &NodeRow,
    text: TextRow,
    ids: &HashMap<i64, NodeId>,
    fragments: &HashMap<i64, FragmentId>,
    rules: Option<String>,
    deltas: Vec<DeltaLine>,
) -> Result<NodeLine, StoreError> {
    let n = row.n;
    let bad = |column| move || StoreError::Inconsistent { table: "nodes", column, row: n };
    let parent = row.parent_n.map(|parent| ids.get(&parent).copied().ok_or_else(bad("parent_n"))).transpose()?;
    Ok(NodeLine {
        id: NodeId::from_slice(row.id.bytes()).ok_or_else(bad("id"))?,
        parent,
        role: Role::from_code(row.role).ok_or_else(bad("role"))?.as_str().to_owned(),
        kind: Kind::from_code(row.kind).ok_or_else(bad("kind"))?.as_str().to_owned(),
        status: Status::from_code(row.status).ok_or_else(bad("status"))?.as_str().to_owned(),
        author: row.author.and_then(|key| UserId::from_slice(key.bytes())),
        persona: row.persona.and_then(|key| PersonaId::from_slice(key.bytes())),
        character: row.speaker.and_then(|key| CharacterId::from_slice(key.bytes())),
        name: text.name,
        content: text.content,
        reasoning: text.reasoning,
        metadata: raw("texts", "metadata", n, text.metadata)?,
        dice_seed: row.dice_seed.cast_unsigned(),
        rules,
        revision: row.revision,
        deltas,
        is_disabled: !row.is_enabled,
        is_muted: row.is_muted,
        is_hidden: row.is_hidden,
        is_unread: row.is_unread,
        fragment: row.fragment_n.and_then(|n| fragments.get(&n).copied()),
        rating: row.rating.and_then(|stars| u8::try_from(stars).ok()),
        remembered: row.remembered_n.and_then(|n| ids.get(&n).copied()),
        created: row.created,
    })
}

fn group_by<T>(rows: Vec<T>, key: impl Fn(&T) -> i64) -> HashMap<i64, T> {
    rows.into_iter().map(|row| (key(&row), row)).collect()
}

/// Wraps the JSON text of a row, which is exported byte for byte.
fn raw(table: &'static str, column: &'static str, row: i64, text: String) -> Result<Box<RawValue>, StoreError> {
    let bad = |_| StoreError::Inconsistent { table, column, row };
    // Each item is one line, so JSON with line breaks is reformatted.
    let text = if text.contains('\n') { serde_json::from_str::<Value>(&text).map_err(bad)?.to_string() } else { text };
    RawValue::from_string(text).map_err(bad)
}
