//! The report of an import.

use serde::Serialize;
use utoipa::ToSchema;

use super::string_enums::ImportFateEnum;
use crate::http::json_schema::JsonMap;
use clotho_compat::interop;
use clotho_core::coded_message::MessageArgs;
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
    /// `character`, `session`, `lorebook`, `persona`, `preset`, `regex`, `profile` or `file`.
    pub kind: &'static str,
    /// Name of the imported thing.
    pub name: String,
    /// File that contained it.
    #[schema(required)]
    pub file: Option<String>,
    /// Id of the result here; null if nothing was imported.
    #[schema(required)]
    pub id: Option<String>,
    /// Overall result: `works`, `translated`, `kept` or `skipped`.
    #[schema(value_type = ImportFateEnum)]
    pub fate: &'static str,
    /// Results for single parts worth mentioning.
    pub findings: Vec<ImportReportFinding>,
}

/// The result for one part of a file.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportReportFinding {
    /// `works`, `translated`, `kept` (exported again, but no effect here) or `skipped`.
    #[schema(value_type = ImportFateEnum)]
    pub fate: &'static str,
    /// Stable code of the finding.
    pub code: &'static str,
    /// Arguments of the code: texts and numbers by name.
    #[schema(value_type = JsonMap)]
    pub args: MessageArgs,
    /// Line of the file, from 1.
    #[schema(required)]
    pub line: Option<u64>,
    /// Number of occurrences.
    pub count: usize,
    /// Explanation for people.
    pub message: String,
    /// Names of the affected files.
    pub names: Vec<String>,
}

/// The result of an import from another program.
#[derive(Debug, ToSchema)]
#[schema(as = ForeignImportResult)]
pub struct ForeignImportSchema {
    /// Numbers of new things.
    pub totals: ImportTotalsSchema,
    /// The result of each file.
    pub report: ForeignImportReportSchema,
}

/// The report of an import from another program. In contrast to other reports, it leaves out what is not known.
#[derive(Debug, ToSchema)]
#[schema(as = ForeignImportReport)]
pub struct ForeignImportReportSchema {
    /// One item for each card or file.
    pub items: Vec<ForeignImportItemSchema>,
}

/// The result for one card or file of another program.
#[derive(Debug, ToSchema)]
#[schema(as = ForeignImportItem)]
pub struct ForeignImportItemSchema {
    /// `character`, `session`, `lorebook`, `persona`, `preset`, `regex` or `file`.
    pub kind: String,
    /// Name of the imported thing.
    pub name: String,
    /// File that contained it.
    #[schema(nullable = false)]
    pub file: Option<String>,
    /// Id of the result here; absent if nothing was imported.
    #[schema(nullable = false)]
    pub id: Option<String>,
    /// Overall result.
    pub fate: ImportFateEnum,
    /// Results for single parts worth mentioning.
    pub findings: Vec<ForeignImportFindingSchema>,
}

/// The result for one part of a file of another program.
#[derive(Debug, ToSchema)]
#[schema(as = ForeignImportFinding)]
pub struct ForeignImportFindingSchema {
    /// The result.
    pub fate: ImportFateEnum,
    /// Stable code of the finding.
    pub code: String,
    /// Arguments of the code: texts and numbers by name; absent if there are none.
    #[schema(value_type = JsonMap, required = false)]
    pub args: Option<JsonMap>,
    /// Line of the file, from 1.
    #[schema(nullable = false)]
    pub line: Option<u64>,
    /// Number of occurrences.
    pub count: usize,
    /// Explanation for people.
    pub message: String,
    /// Names of the affected files; absent if there are none.
    #[schema(nullable = false)]
    pub names: Option<Vec<String>>,
}

/// Numbers of new things.
#[derive(Debug, ToSchema)]
#[schema(as = ImportTotals)]
pub struct ImportTotalsSchema {
    /// New or changed characters.
    pub characters: u64,
    /// New or changed lorebooks.
    pub lorebooks: u64,
    /// New or changed presets, regular expressions and groups.
    pub presets: u64,
    /// New or changed personas.
    pub personas: u64,
    /// New sessions.
    pub sessions: u64,
    /// New messages, including alternatives.
    pub messages: u64,
    /// Chats that were read.
    pub chats: u64,
    /// Chats that were imported completely before.
    pub unchanged: u64,
    /// Other things that existed already.
    pub known: u64,
    /// Files and lines that were skipped.
    pub skipped: u64,
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
            fate: fate.as_str(),
            findings: findings.into_iter().map(ImportReportFinding::from).collect(),
        }
    }
}

impl From<interop::ImportFinding> for ImportReportFinding {
    fn from(finding: interop::ImportFinding) -> Self {
        let interop::ImportFinding { fate, code, args, line, count, message, names } = finding;
        Self { fate: fate.as_str(), code, args, line, count, message, names }
    }
}
