//! The report of an import.

use serde::Serialize;
use utoipa::ToSchema;

use clotho_compat::interop;
use clotho_engine::transfer;

/// The result of an import, item by item.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportReportResponse {
    /// One item for each card or file.
    pub items: Vec<ImportReportItem>,
}

/// The result for one card or file.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportReportItem {
    /// `character`, `session`, `lorebook`, `persona`, `preset`, `regex` or `file`.
    pub kind: &'static str,
    /// Name of the imported thing.
    pub name: String,
    /// File that contained it.
    pub file: Option<String>,
    /// Id of the result here; null if nothing was imported.
    pub id: Option<String>,
    /// Overall result: `works`, `translated`, `kept` or `skipped`.
    pub fate: &'static str,
    /// Results for single parts worth mentioning.
    pub findings: Vec<ImportReportFinding>,
}

/// The result for one part of a file.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportReportFinding {
    /// `works`, `translated`, `kept` (exported again, but no effect here) or `skipped`.
    pub fate: &'static str,
    /// Stable code of the finding.
    pub code: &'static str,
    /// Line of the file, from 1.
    pub line: Option<u64>,
    /// Number of occurrences.
    pub count: usize,
    /// Explanation for people.
    pub message: String,
    /// Names of the affected files.
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
