//! `clotho doctor`: checks the invariants of the stored data and repairs derived data.

use std::io::IsTerminal;
use std::process::ExitCode;

use anyhow::anyhow;
use serde::Serialize;

use crate::app;
use clotho_config::Config;
use clotho_engine::log_follower;
use clotho_engine::turn;
use clotho_search as search;
use clotho_store::doctor::{Doctor, DoctorCheck, DoctorFinding, RepairableFinding, pluralize};
use clotho_store::{Store, WriteError};

use super::storage::{no_database_error, pending_erasure_notice};
use super::{CliResult, terminal};

/// The report of the doctor.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct DoctorReport {
    is_clean: bool,
    sessions: usize,
    findings: Vec<DoctorFinding>,
    repaired: usize,
    /// Remarks that are no faults.
    remarks: Vec<String>,
}

/// Checks everything. Exit code 0: no finding, or all repaired; 1: findings remain.
pub fn doctor(config: &Config, repair: bool, json: bool) -> CliResult {
    let settings = app::store_settings(config);
    let database = settings.database_path();
    if !database.is_file() {
        return Err(no_database_error(config));
    }
    let explain = |error| app::explain_store_error(config, &error);
    let is_alone = !settings.is_in_use().map_err(explain)?;
    if repair && !is_alone {
        return Err(anyhow!("a server uses {}: stop it before a repair", settings.data_dir.display()));
    }
    let repair_store = match repair {
        true => Some(Store::open(&settings).map_err(explain)?.0),
        false => None,
    };
    let doctor = Doctor::open(&database).map_err(explain)?;
    let mut examination = DoctorRun { doctor, is_alone, found: Vec::new(), report: DoctorReport::default() };
    examination.check_all(config).map_err(explain)?;
    let DoctorRun { found, mut report, .. } = examination;
    if let Some(store) = repair_store {
        report.repaired = repair_findings(config, &store, &found)?;
    }
    report.findings = found.into_iter().map(|found| found.finding).collect();
    report.is_clean = report.findings.len() == report.repaired;
    terminal::print_line(&if json { serde_json::to_string_pretty(&report)? } else { report_text(&report) });
    Ok(ExitCode::from(u8::from(!report.is_clean)))
}

struct DoctorRun {
    doctor: Doctor,
    /// Whether no server runs.
    is_alone: bool,
    found: Vec<RepairableFinding>,
    report: DoctorReport,
}

impl DoctorRun {
    fn check_all(&mut self, config: &Config) -> Result<(), clotho_store::StoreError> {
        let progress = DoctorProgress::new();
        progress.show("the database file");
        self.found.extend(self.doctor.check_file()?);
        let sessions = self.doctor.sessions()?;
        self.report.sessions = sessions.len();
        for (at, session) in sessions.iter().enumerate() {
            progress.show(&format!("session {} of {}", at + 1, sessions.len()));
            self.found.extend(self.doctor.check_session(*session)?);
        }
        self.check_interrupted()?;
        progress.show("prompts and cards");
        self.found.extend(self.doctor.check_contents()?);
        if self.doctor.read(|reader| reader.pending_erasure())?.is_some() {
            self.report.remarks.push(pending_erasure_notice(self.is_alone).into());
        }
        self.report.remarks.extend(turn::unusable_files(&config.providers));
        progress.show("the search index");
        self.check_index(config, &sessions)?;
        progress.clear();
        Ok(())
    }

    /// Adds a remark about interrupted replies. They are no fault: the next start ends them.
    fn check_interrupted(&mut self) -> Result<(), clotho_store::StoreError> {
        if !self.is_alone {
            return Ok(());
        }
        let replies = match self.doctor.count_generating()? {
            0 => return Ok(()),
            1 => "a reply was interrupted; the next start ends it".to_owned(),
            many => format!("{many} replies were interrupted; the next start ends them"),
        };
        self.report.remarks.push(format!("{replies} and keeps the text so far"));
        Ok(())
    }

    /// Compares the index with the tree, if the index is at the end of the operation log.
    fn check_index(&mut self, config: &Config, sessions: &[i64]) -> Result<(), clotho_store::StoreError> {
        let hide_tags = config.generation.hide_tags.clone();
        let upstream = self.doctor.read(|reader| log_follower::upstream(reader, &hide_tags))?;
        let Some(upstream) = upstream else { return Ok(()) };
        // Read the index; one that is behind the log is only a remark.
        let mut contents = match search::read_contents(&config.storage.search_path(), upstream) {
            Ok(Some(contents)) if contents.cursor == upstream.newest => contents,
            Ok(contents) => {
                self.report.remarks.push(index_lag_remark(contents.is_some()).into());
                return Ok(());
            }
            Err(error) => {
                self.found.push(RepairableFinding::index_finding(format!("{error}"), None));
                return Ok(());
            }
        };
        if contents.count > contents.documents.len() {
            self.found.push(RepairableFinding::index_finding("it has a message twice".to_owned(), None));
        }
        // Every message must be in the index, with the right content.
        for session in sessions {
            let documents = self.doctor.read(|reader| log_follower::session_documents(reader, *session, &hide_tags))?;
            for document in documents {
                let node = Some(document.node);
                match contents.documents.remove(&document.node) {
                    None => {
                        self.found.push(RepairableFinding::index_finding("a message is missing in it".to_owned(), node))
                    }
                    Some(number) if number != search::document_hash(&document) => {
                        self.found
                            .push(RepairableFinding::index_finding("its text of a message is wrong".to_owned(), node));
                    }
                    Some(_) => {}
                }
            }
        }
        // What remains must not be in the index.
        for node in contents.documents.into_keys() {
            self.found.push(RepairableFinding::index_finding(
                "it has a message that it must not have".to_owned(),
                Some(node),
            ));
        }
        Ok(())
    }
}

/// Returns the remark about an index that is behind the operation log.
fn index_lag_remark(is_there: bool) -> &'static str {
    if is_there {
        "the search index is behind the log; it catches up by itself"
    } else {
        "there is no search index; the next start of the server builds it"
    }
}

/// Repairs derived data; a faulty index is discarded. Returns how many findings that fixes.
fn repair_findings(config: &Config, store: &Store, found: &[RepairableFinding]) -> Result<usize, anyhow::Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let repaired = runtime.block_on(store.repair(found)).map_err(|error| match error {
        WriteError::Failed(error) => app::explain_store_error(config, &error).into(),
        refused => anyhow!(refused),
    })?;
    let of_index = found.iter().filter(|found| found.finding.check == DoctorCheck::Index).count();
    if of_index > 0 {
        search::discard(&config.storage.search_path())?;
    }
    Ok(repaired + of_index)
}

fn report_text(report: &DoctorReport) -> String {
    let mut lines: Vec<String> = report.findings.iter().map(finding_line).collect();
    lines.extend(report.remarks.iter().cloned());
    let count = |number: usize, word: &str| pluralize(i64::try_from(number).unwrap_or(i64::MAX), word);
    let (found, repaired) = (report.findings.len(), report.repaired);
    let sessions = count(report.sessions, "session");
    lines.push(match (found, repaired) {
        (0, _) => format!("{sessions}, no problems"),
        (_, 0) => format!("{sessions}, {}; {}", count(found, "finding"), repair_hint(&report.findings)),
        _ => format!("{sessions}, {}, {repaired} of them repaired", count(found, "finding")),
    });
    lines.join("\n")
}

/// Returns a hint what to do about findings of which none was repaired.
fn repair_hint(findings: &[DoctorFinding]) -> String {
    let derived = findings.iter().filter(|finding| finding.is_derived).count();
    let which = match (derived, findings.len()) {
        (0, _) => {
            return "none of them can be repaired from other data: look for a backup (\"clotho restore\")".to_owned();
        }
        (1, 1) => "it".to_owned(),
        (some, all) if some == all => "them".to_owned(),
        (some, _) => format!("{some} of them"),
    };
    format!("\"clotho doctor --repair\" repairs {which}")
}

fn finding_line(finding: &DoctorFinding) -> String {
    let check = serde_json::to_value(finding.check).unwrap_or_default();
    let mut line = check.as_str().unwrap_or_default().to_owned();
    for (what, id) in
        [("session", finding.session.map(|id| id.to_string())), ("node", finding.node.map(|id| id.to_string()))]
    {
        line += &id.map_or_else(String::new, |id| format!(" · {what} {id}"));
    }
    format!("{line}: {}", finding.message)
}

/// Shows on a terminal what is being checked.
struct DoctorProgress {
    is_terminal: bool,
}

impl DoctorProgress {
    fn new() -> Self {
        Self { is_terminal: std::io::stderr().is_terminal() }
    }

    fn show(&self, what: &str) {
        if self.is_terminal {
            terminal::print_progress(&format!("\r\u{1b}[K{what} …"));
        }
    }

    fn clear(&self) {
        if self.is_terminal {
            terminal::print_progress("\r\u{1b}[K");
        }
    }
}
