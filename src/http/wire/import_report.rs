//! What an import made of what it was given.

use serde::Serialize;
use utoipa::ToSchema;

use clotho_compat::interop;
use clotho_engine::transfer;

/// What an import made of everything that it was given.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportReportResponse {
    /// One item for each card and file.
    pub items: Vec<ImportReportItem>,
}

/// What became of one card or file.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportReportItem {
    /// What it is: `character`, `session`, `lorebook`, `persona`, `preset`, `regex`, `file`.
    pub kind: &'static str,
    /// Its own name.
    pub name: String,
    /// The file that it came in.
    pub file: Option<String>,
    /// The id of what is there now; null where nothing came of it.
    pub id: Option<String>,
    /// `works`, `translated`, `kept` or `skipped`: what became of it as a whole.
    pub fate: &'static str,
    /// What became of its parts, where there is something to say.
    pub findings: Vec<ImportReportFinding>,
}

/// One thing of a file and what became of it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportReportFinding {
    /// `works`, `translated`, `kept` (it goes out again and does nothing here) or `skipped`.
    pub fate: &'static str,
    /// A stable word for it.
    pub code: &'static str,
    /// The line of the file, from 1.
    pub line: Option<u64>,
    /// How many of them there are.
    pub count: usize,
    /// What it is and what it means.
    pub message: String,
    /// What it names one by one: files.
    pub names: Vec<String>,
}

impl From<transfer::ForeignImportReport> for ImportReportResponse {
    fn from(report: transfer::ForeignImportReport) -> Self {
        Self { items: report.items.into_iter().map(ImportReportItem::from).collect() }
    }
}

impl From<transfer::ForeignImportItem> for ImportReportItem {
    fn from(item: transfer::ForeignImportItem) -> Self {
        let transfer::ForeignImportItem { kind, name, file, id, fate, findings } = item;
        Self {
            kind,
            name,
            file,
            id,
            fate: fate.word(),
            findings: findings.into_iter().map(ImportReportFinding::from).collect(),
        }
    }
}

impl From<interop::ImportFinding> for ImportReportFinding {
    fn from(finding: interop::ImportFinding) -> Self {
        let interop::ImportFinding { fate, code, line, count, message, names } = finding;
        Self { fate: fate.word(), code, line, count, message, names }
    }
}
