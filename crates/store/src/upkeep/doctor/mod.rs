//! The doctor: checks a database against every rule of `docs/domain.md`. A check changes nothing and can run
//! while a server does. Each session is checked on one snapshot, and its data is dropped before the next one.
//!
//! - `tree.rs`: roots, parents, cycles, derived columns, HEAD, counts, fragments, labels
//! - `log.rs`: the log is dense, and the arrangement matches it
//! - `worlds.rs`: deltas can be read, keyframes are equal to the fold
//! - `contents.rs`: everything that nodes refer to exists and matches its hash
//!
//! Faults are reported as findings. Derived data can be repaired ([`Store::repair`]); facts and the log never
//! are. To add a check: a variant of [`DoctorCheck`], a check in the matching file, and a test in
//! `tests/it/reliability/doctor.rs` that damages a real file in that way.

mod contents;
mod log;
mod tree;
mod worlds;

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use diesel::prelude::*;
use serde::Serialize;

use crate::caches::Caches;
use crate::conn::{self, Conn};
use crate::error::{StoreError, WriteError};
use crate::read::StoreReader;
use crate::replies::is_generating;
use crate::tables::{fragments, keyframes, labels, nodes, sessions, traces};
use crate::tx::Tx;
use crate::{Store, StoreSettings, lock_database, lock_folder};
use clotho_core::ids::{NodeId, SessionId};

use super::session_nodes::SessionNodes;

/// The number of repairs in one write.
const BATCH_SIZE: usize = 200;

/// The checks of the doctor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum DoctorCheck {
    /// The integrity of the database file itself.
    File,
    /// There are no triggers or views; this program makes none.
    Schema,
    /// Every foreign key refers to a row.
    References,
    /// Each session has exactly one root.
    Root,
    /// Every parent exists.
    Parent,
    /// The tree has no cycles.
    Cycle,
    /// Depth, turn, rules and distance to the last keyframe follow from the path.
    Derived,
    /// HEAD exists and is in the tree.
    Head,
    /// The remembered child exists.
    Remembered,
    /// The counts of nodes and leaves are right.
    Counts,
    /// The log is dense and can be read.
    Log,
    /// The arrangement matches the log.
    Arrangement,
    /// Fragments are complete.
    Fragment,
    /// Labels are on nodes of their session.
    Label,
    /// Texts exist and can be read.
    Text,
    /// Deltas exist and can be read.
    Delta,
    /// Keyframes are equal to the fold.
    Keyframe,
    /// The active rules can be read.
    Rules,
    /// The cards of a session exist.
    Card,
    /// Traces can be read, and their blocks exist.
    Trace,
    /// Blobs match their hashes.
    Blob,
    /// The search index has exactly the entries that it must have.
    Index,
}

/// One fault that the doctor found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DoctorFinding {
    /// The check that failed.
    pub check: DoctorCheck,
    /// One sentence for people.
    pub message: String,
    /// The session, if the fault belongs to one.
    pub session: Option<SessionId>,
    /// The node, if the fault belongs to one.
    pub node: Option<NodeId>,
    /// Whether the data is derived and can be repaired.
    pub is_derived: bool,
}

/// A finding, with its repair if the data is derived.
#[derive(Debug, Clone)]
pub struct RepairableFinding {
    pub finding: DoctorFinding,
    repair: Option<DoctorRepair>,
}

impl RepairableFinding {
    /// Creates a finding about the search index, which is rebuilt from the log.
    pub fn index_finding(message: String, node: Option<NodeId>) -> Self {
        let finding = DoctorFinding { check: DoctorCheck::Index, message, session: None, node, is_derived: true };
        Self { finding, repair: None }
    }
}

/// The columns of a node that follow from its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DerivedColumns {
    depth: i32,
    turn: i32,
    since_keyframe: i32,
    rules_n: Option<i64>,
}

/// How to repair derived data.
#[derive(Debug, Clone, Copy)]
enum DoctorRepair {
    Derive { node_n: i64, derived: DerivedColumns },
    Count { session_n: i64, nodes: i64, leaves: i64 },
    DeleteKeyframe { keyframe: i64 },
    IndexTrace { trace: i64 },
}

/// Collects the findings of one session.
struct FindingLog {
    session: Option<SessionId>,
    findings: Vec<RepairableFinding>,
}

impl FindingLog {
    fn note(
        &mut self,
        check: DoctorCheck,
        node: Option<NodeId>,
        message: impl Into<String>,
        repair: Option<DoctorRepair>,
    ) {
        let finding =
            DoctorFinding { check, message: message.into(), session: self.session, node, is_derived: repair.is_some() };
        self.findings.push(RepairableFinding { finding, repair });
    }

    fn note_unrepairable(&mut self, check: DoctorCheck, node: Option<NodeId>, message: impl Into<String>) {
        self.note(check, node, message, None);
    }
}

/// Describes which stored values differ from the expected ones. Each entry of `all` is `(what, stored,
/// expected)`.
fn describe_differences(by: &str, all: &[(&str, String, String)]) -> String {
    let differences = all.iter().filter(|(_, is, must)| is != must);
    let differences: Vec<String> =
        differences.map(|(what, is, must)| format!("its {what} is {is}, but {must} according to {by}")).collect();
    differences.join("; ")
}

/// Formats a count with its noun: adds an s unless the number is 1.
pub fn pluralize(number: i64, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}

/// A row of the stash.
#[derive(Queryable, Selectable)]
#[diesel(table_name = fragments)]
struct FragmentCheckRow {
    n: i64,
    id: Vec<u8>,
    name: Option<String>,
    top_n: i64,
    created: i64,
}

/// The data of a session that the checks need.
struct ExaminedSession {
    n: i64,
    root_n: i64,
    head_n: i64,
    op: i64,
    edits: i64,
    node_count: i64,
    leaf_count: i64,
    fragments: Vec<FragmentCheckRow>,
    labels: Vec<(String, i64, bool)>,
    nodes: SessionNodes,
}

/// Checks one database.
pub struct Doctor {
    conn: Conn,
    caches: Arc<Caches>,
}

impl Doctor {
    /// Opens a database for checking.
    ///
    /// # Errors
    /// Returns an error if it cannot be read, or if another version wrote it.
    pub fn open(database: &Path) -> Result<Self, StoreError> {
        let mut conn = conn::open_reader(database)?;
        if !conn::is_clotho_database(&mut conn)? {
            return Err(StoreError::Open(format!("{} is not a Clotho database", database.display())));
        }
        conn::refuse_newer(&mut conn)?;
        conn::refuse_older(&mut conn)?;
        Ok(Self { conn, caches: Arc::default() })
    }

    /// Checks the database file and its foreign keys.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn check_file(&mut self) -> Result<Vec<RepairableFinding>, StoreError> {
        let mut notes = FindingLog { session: None, findings: Vec::new() };
        for fault in conn::integrity_errors(&mut self.conn)? {
            notes.note_unrepairable(DoctorCheck::File, None, fault);
        }
        for object in conn::foreign_schema_objects(&mut self.conn)? {
            let message =
                format!("the {object} was not made by this program: somebody changed the file, restore a backup");
            notes.note_unrepairable(DoctorCheck::Schema, None, message);
        }
        for loose in conn::dangling_rows(&mut self.conn)? {
            let repair = (loose.table == "keyframes").then_some(DoctorRepair::DeleteKeyframe { keyframe: loose.n });
            let message =
                format!("row {} of {} refers to a row of {} that is missing", loose.n, loose.table, loose.parent);
            notes.note(DoctorCheck::References, None, message, repair);
        }
        Ok(notes.findings)
    }

    /// Returns the row numbers of all sessions, including the trash.
    ///
    /// # Errors
    /// Returns an error if the database cannot be read.
    pub fn sessions(&mut self) -> Result<Vec<i64>, StoreError> {
        // Sessions that are being imported or deleted (`trashed` of 0 or less) are skipped.
        let all = sessions::table.filter(sessions::trashed.is_null().or(sessions::trashed.gt(0)));
        Ok(all.order(sessions::n).select(sessions::n).load(&mut self.conn)?)
    }

    /// Counts the replies that are being generated. If no server runs, they were interrupted and the next start
    /// ends them; so they are not a finding.
    ///
    /// # Errors
    /// Returns an error if the database cannot be read.
    pub fn count_generating(&mut self) -> Result<i64, StoreError> {
        Ok(nodes::table.filter(is_generating()).count().get_result(&mut self.conn)?)
    }

    /// Checks one session on one snapshot.
    ///
    /// # Errors
    /// Returns an error if the database cannot be read.
    pub fn check_session(&mut self, n: i64) -> Result<Vec<RepairableFinding>, StoreError> {
        conn::begin_read(&mut self.conn)?;
        let found = self.check_session_rows(n);
        conn::end_read(&mut self.conn);
        found
    }

    fn check_session_rows(&mut self, n: i64) -> Result<Vec<RepairableFinding>, StoreError> {
        type SessionCheckColumns = (Vec<u8>, i64, i64, i64, i64, i64, i64);
        let row: Option<SessionCheckColumns> = sessions::table
            .find(n)
            .select((
                sessions::id,
                sessions::root_n,
                sessions::head_n,
                sessions::op,
                sessions::edits,
                sessions::node_count,
                sessions::leaf_count,
            ))
            .get_result(&mut self.conn)
            .optional()?;
        // It may have been deleted since it was listed.
        let Some((id, root_n, head_n, op, edits, node_count, leaf_count)) = row else { return Ok(Vec::new()) };
        // Load the tree, the stash and the labels.
        let mut notes = FindingLog { session: SessionId::from_slice(&id), findings: Vec::new() };
        let forest = SessionNodes::read(&mut self.conn, n)?;
        let stash = fragments::table.filter(fragments::session_n.eq(n)).order(fragments::n);
        let fragments = stash.select(FragmentCheckRow::as_select()).load(&mut self.conn)?;
        let named = labels::table.filter(labels::session_n.eq(n)).order(labels::name);
        let labels = named.select((labels::name, labels::node_n, labels::following)).load(&mut self.conn)?;
        let examined =
            ExaminedSession { n, root_n, head_n, op, edits, node_count, leaf_count, fragments, labels, nodes: forest };
        // Run the checks.
        tree::check(&examined, &mut notes);
        log::check(&mut self.conn, &examined, &mut notes)?;
        contents::check_contents(&mut self.conn, &examined, &mut notes)?;
        worlds::check(&mut self.conn, &examined, &mut notes)?;
        Ok(notes.findings)
    }

    /// Checks what sessions share, blobs and traces, page by page.
    ///
    /// # Errors
    /// Returns an error if the database cannot be read.
    pub fn check_contents(&mut self) -> Result<Vec<RepairableFinding>, StoreError> {
        let mut notes = FindingLog { session: None, findings: Vec::new() };
        let hashes: HashSet<u64> = contents::check_blobs(&mut self.conn, &mut notes)?;
        contents::check_traces(&mut self.conn, &hashes, &mut notes)?;
        Ok(notes.findings)
    }

    /// Runs a read on one snapshot, like any other reader.
    ///
    /// # Errors
    /// Returns the closure's error.
    pub fn read<T, E: From<StoreError>>(
        &mut self,
        closure: impl FnOnce(&mut StoreReader<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        StoreReader::new(&mut self.conn, &self.caches).snapshot(closure)
    }
}

impl StoreSettings {
    /// Returns whether a server or another writing command has the database open.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be used.
    pub fn is_in_use(&self) -> Result<bool, StoreError> {
        let locked = lock_folder(&self.data_dir).and_then(|folder| Ok([folder, lock_database(&self.database_path())?]));
        match locked {
            Ok(_) => Ok(false),
            Err(StoreError::Locked) => Ok(true),
            Err(error) => Err(error),
        }
    }
}

impl Store {
    /// Repairs the derived data among the findings in small writes; returns the number of repairs.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub async fn repair(&self, found: &[RepairableFinding]) -> Result<usize, WriteError> {
        let repairs: Vec<DoctorRepair> = found.iter().filter_map(|found| found.repair).collect();
        for piece in repairs.chunks(BATCH_SIZE) {
            let piece = piece.to_vec();
            self.write(move |tx| piece.iter().try_for_each(|repair| tx.apply_repair(*repair))).await?;
        }
        self.forget_worlds();
        Ok(repairs.len())
    }
}

impl Tx<'_> {
    fn apply_repair(&mut self, repair: DoctorRepair) -> Result<(), WriteError> {
        self.writer_cache.clear();
        Ok(self.run(|conn| {
            match repair {
                DoctorRepair::Derive { node_n, derived } => diesel::update(nodes::table.find(node_n))
                    .set((
                        nodes::depth.eq(derived.depth),
                        nodes::turn.eq(derived.turn),
                        nodes::since_keyframe.eq(derived.since_keyframe),
                        nodes::rules_n.eq(derived.rules_n),
                    ))
                    .execute(conn),
                DoctorRepair::Count { session_n, nodes, leaves } => diesel::update(sessions::table.find(session_n))
                    .set((sessions::node_count.eq(nodes), sessions::leaf_count.eq(leaves)))
                    .execute(conn),
                DoctorRepair::DeleteKeyframe { keyframe } => {
                    diesel::delete(keyframes::table.find(keyframe)).execute(conn)
                }
                DoctorRepair::IndexTrace { trace } => {
                    diesel::update(traces::table.find(trace)).set(traces::base_n.eq(None::<i64>)).execute(conn)
                }
            }?;
            Ok(())
        })?)
    }
}
