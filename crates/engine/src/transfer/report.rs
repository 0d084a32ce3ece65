//! The report of an import. For every card and file it says whether it works, was translated, is kept without effect,
//! or was skipped. The API and the command line show the same type; nothing is dropped silently.

use std::fmt;

use serde::Serialize;

use clotho_compat::interop::{FindingOutcome, ImportFinding};
use clotho_core::printable::Printable;

/// The report of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ForeignImportReport {
    /// One item for each card and file, in the order in which they were read.
    pub items: Vec<ForeignImportItem>,
}

/// What became of one card or file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ForeignImportItem {
    /// The kind: `character`, `session`, `lorebook`, `persona`, `preset`, `regex` or `file`.
    pub kind: &'static str,
    /// The name of the character, chat or other item.
    pub name: String,
    /// The file it came from, if that has a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The id of the library item or session; `None` if it was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The outcome as a whole.
    pub fate: FindingOutcome,
    /// The outcomes of its parts, if worth mentioning.
    pub findings: Vec<ImportFinding>,
}

impl ForeignImportItem {
    /// Returns an imported item with this id.
    pub fn new(kind: &'static str, name: impl Into<String>, id: impl fmt::Display) -> Self {
        Self {
            kind,
            name: name.into(),
            file: None,
            id: Some(id.to_string()),
            fate: FindingOutcome::Works,
            findings: Vec::new(),
        }
    }

    /// Returns a skipped item with its reason.
    pub fn skipped(kind: &'static str, name: impl Into<String>, why: ImportFinding) -> Self {
        Self { kind, name: name.into(), file: None, id: None, fate: FindingOutcome::Skipped, findings: vec![why] }
    }

    /// Sets the file.
    #[must_use]
    pub fn from_file(mut self, file: impl Into<String>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// Adds findings.
    #[must_use]
    pub fn with_findings(mut self, findings: Vec<ImportFinding>) -> Self {
        self.findings.extend(findings);
        self
    }
}

/// The text form: a line for each item, with its findings below.
impl fmt::Display for ForeignImportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.items.iter().try_for_each(|item| item.fmt(f))
    }
}

impl fmt::Display for ForeignImportItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, name, file, fate, findings, .. } = self;
        write!(f, "{:<10}  {kind} {}", fate.as_str(), Printable(name))?;
        if let Some(file) = file {
            write!(f, " ({})", Printable(file))?;
        }
        writeln!(f)?;
        for ImportFinding { fate, line, message, .. } in findings {
            let at = line.map(|line| format!("line {line}: ")).unwrap_or_default();
            writeln!(f, "  {:<10}  {at}{}", fate.as_str(), Printable(message))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clotho_compat::interop::FindingDetail;

    use super::*;

    #[test]
    fn import_report_displays_items_and_findings() {
        let findings = ImportFinding::kept(&FindingDetail::EjsBlocks { count: 3 });
        let bad = ImportFinding::skipped(&FindingDetail::UnreadableLine { reason: "not JSON".into() }).at_line(812);
        let report = ForeignImportReport {
            items: vec![
                ForeignImportItem::new("character", "Rin", "1").from_file("rin.png").with_findings(vec![findings]),
                ForeignImportItem::skipped("session", "Night", bad),
            ],
        };
        insta::assert_snapshot!(report.to_string(), @r"
        works       character Rin (rin.png)
          kept        3 EJS blocks: kept as text
        skipped     session Night
          skipped     line 812: not JSON
        ");
    }
}
