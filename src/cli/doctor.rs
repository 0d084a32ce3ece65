//! `clotho doctor`: whether everything is as it must be, and putting right what is derived.

use std::io::IsTerminal;
use std::process::ExitCode;

use anyhow::anyhow;
use serde::Serialize;

use crate::app;
use crate::config::Config;
use crate::follow;
use crate::search;
use crate::store::checkup::{Doctor, DoctorCheck, DoctorFinding, RepairableFinding, counted};
use crate::store::{Store, WriteError};
use crate::turn;

use super::keeping::{nothing_there, unwiped};
use super::{CliResult, write};

/// What the doctor says.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct DoctorReport {
    is_clean: bool,
    sessions: usize,
    findings: Vec<DoctorFinding>,
    repaired: usize,
    /// What is no fault and yet worth knowing.
    remarks: Vec<String>,
}

/// Looks at everything. 0: nothing is wrong, or all of it was put right; 1: something is.
pub fn doctor(config: &Config, repair: bool, json: bool) -> CliResult {
    let settings = app::store_settings(config);
    let database = settings.database_path();
    if !database.is_file() {
        return Err(nothing_there(config));
    }
    let explain = |error| app::explain(config, &error);
    let is_alone = !settings.is_in_use().map_err(explain)?;
    if repair && !is_alone {
        return Err(anyhow!("a server uses {}: stop it before anything is repaired", settings.data_dir.display()));
    }
    let surgeon = match repair {
        true => Some(Store::open(&settings).map_err(explain)?.0),
        false => None,
    };
    let doctor = Doctor::open(&database).map_err(explain)?;
    let mut examination = DoctorRun { doctor, is_alone, found: Vec::new(), report: DoctorReport::default() };
    examination.everything(config).map_err(explain)?;
    let DoctorRun { found, mut report, .. } = examination;
    if let Some(store) = surgeon {
        report.repaired = put_right(config, &store, &found)?;
    }
    report.findings = found.into_iter().map(|found| found.finding).collect();
    report.is_clean = report.findings.len() == report.repaired;
    write::line(&if json { serde_json::to_string_pretty(&report)? } else { told(&report) });
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
    fn everything(&mut self, config: &Config) -> Result<(), crate::store::StoreError> {
        let progress = DoctorProgress::new();
        progress.say("the database file");
        self.found.extend(self.doctor.file()?);
        let sessions = self.doctor.sessions()?;
        self.report.sessions = sessions.len();
        for (at, session) in sessions.iter().enumerate() {
            progress.say(&format!("session {} of {}", at + 1, sessions.len()));
            self.found.extend(self.doctor.session(*session)?);
        }
        self.cut_off()?;
        progress.say("prompts and cards");
        self.found.extend(self.doctor.contents()?);
        if self.doctor.read(|reader| reader.remains())?.is_some() {
            self.report.remarks.push(unwiped(self.is_alone).into());
        }
        self.report.remarks.extend(turn::unusable_files(&config.providers));
        progress.say("the search index");
        self.index(config, &sessions)?;
        progress.end();
        Ok(())
    }

    /// Replies that were being written when a server was cut off are nothing wrong: the next start ends them.
    fn cut_off(&mut self) -> Result<(), crate::store::StoreError> {
        if !self.is_alone {
            return Ok(());
        }
        let replies = match self.doctor.generating()? {
            0 => return Ok(()),
            1 => "a reply was being written when the server was cut off; the next start ends it".to_owned(),
            many => format!("{many} replies were being written when the server was cut off; the next start ends them"),
        };
        self.report.remarks.push(format!("{replies} and keeps what had arrived"));
        Ok(())
    }

    /// Compares the index with the tree, if it got as far as the log.
    fn index(&mut self, config: &Config, sessions: &[i64]) -> Result<(), crate::store::StoreError> {
        let hide_tags = config.generation.hide_tags.clone();
        let upstream = self.doctor.read(|reader| follow::upstream(reader, &hide_tags))?;
        let Some(upstream) = upstream else { return Ok(()) };
        let mut look = match search::look(&config.storage.search_path(), upstream) {
            Ok(Some(look)) if look.cursor == upstream.newest => look,
            Ok(look) => {
                self.report.remarks.push(behind(look.is_some()).into());
                return Ok(());
            }
            Err(error) => {
                self.found.push(RepairableFinding::of_index(format!("{error}"), None));
                return Ok(());
            }
        };
        if look.count > look.documents.len() {
            self.found.push(RepairableFinding::of_index("a message stands in it twice".to_owned(), None));
        }
        for session in sessions {
            let documents = self.doctor.read(|reader| follow::documents(reader, *session, &hide_tags))?;
            for document in documents {
                let node = Some(document.node);
                match look.documents.remove(&document.node) {
                    None => self.found.push(RepairableFinding::of_index("a message is not found".to_owned(), node)),
                    Some(number) if number != search::number_of(&document) => {
                        self.found
                            .push(RepairableFinding::of_index("a message is found by other words".to_owned(), node));
                    }
                    Some(_) => {}
                }
            }
        }
        for node in look.documents.into_keys() {
            self.found.push(RepairableFinding::of_index("a message is found that must not be".to_owned(), Some(node)));
        }
        Ok(())
    }
}

/// What to know of an index that is not as far as the log.
fn behind(is_there: bool) -> &'static str {
    if is_there {
        "the search index is not at the end of the log; it catches up by itself"
    } else {
        "there is no search index; the next start of a server makes it"
    }
}

/// Puts right what is derived, the index by throwing it away; answers with how many findings that ends.
fn put_right(config: &Config, store: &Store, found: &[RepairableFinding]) -> Result<usize, anyhow::Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let repaired = runtime.block_on(store.repair(found)).map_err(|error| match error {
        WriteError::Failed(error) => app::explain(config, &error).into(),
        refused => anyhow!(refused),
    })?;
    let of_index = found.iter().filter(|found| found.finding.check == DoctorCheck::Index).count();
    if of_index > 0 {
        search::discard(&config.storage.search_path())?;
    }
    Ok(repaired + of_index)
}

fn told(report: &DoctorReport) -> String {
    let mut lines: Vec<String> = report.findings.iter().map(line).collect();
    lines.extend(report.remarks.iter().cloned());
    let count = |number: usize, word: &str| counted(i64::try_from(number).unwrap_or(i64::MAX), word);
    let (found, repaired) = (report.findings.len(), report.repaired);
    let sessions = count(report.sessions, "session");
    lines.push(match (found, repaired) {
        (0, _) => format!("{sessions}, nothing is wrong"),
        (_, 0) => format!("{sessions}, {}; {}", count(found, "finding"), what_helps(&report.findings)),
        _ => format!("{sessions}, {}, {repaired} of them put right", count(found, "finding")),
    });
    lines.join("\n")
}

/// What can be done about findings of which none was put right.
fn what_helps(findings: &[DoctorFinding]) -> String {
    let derived = findings.iter().filter(|finding| finding.is_derived).count();
    let which = match (derived, findings.len()) {
        (0, _) => return "nothing of that follows from the rest: see what a copy has (\"clotho restore\")".to_owned(),
        (1, 1) => "it".to_owned(),
        (some, all) if some == all => "them".to_owned(),
        (some, _) => format!("{some} of them"),
    };
    format!("\"clotho doctor --repair\" puts {which} right")
}

fn line(finding: &DoctorFinding) -> String {
    let check = serde_json::to_value(finding.check).unwrap_or_default();
    let mut line = check.as_str().unwrap_or_default().to_owned();
    for (what, id) in
        [("session", finding.session.map(|id| id.to_string())), ("node", finding.node.map(|id| id.to_string()))]
    {
        line += &id.map_or_else(String::new, |id| format!(" · {what} {id}"));
    }
    format!("{line}: {}", finding.message)
}

/// What is being looked at, for whoever waits in front of a terminal.
struct DoctorProgress {
    is_seen: bool,
}

impl DoctorProgress {
    fn new() -> Self {
        Self { is_seen: std::io::stderr().is_terminal() }
    }

    fn say(&self, what: &str) {
        if self.is_seen {
            write::passing(&format!("\r\u{1b}[K{what} …"));
        }
    }

    fn end(&self) {
        if self.is_seen {
            write::passing("\r\u{1b}[K");
        }
    }
}
