//! The report of an import: for every card and file what came over and works, was translated, is kept but does not run, or was
//! skipped. One type, shown by the API and by the command line; nothing is dropped in silence.

use std::fmt;

use serde::Serialize;

use clotho_compat::interop::{FindingOutcome, ImportFinding};

/// What an import made of everything that it was given.
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
    /// What it is: `character`, `session`, `lorebook`, `persona`, `preset`, `regex`, `file`.
    pub kind: &'static str,
    /// Its own name: of a character, of a chat.
    pub name: String,
    /// The file that it came in, as it was named there; nothing where it had no name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The id of what is there now; nothing where nothing came of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What became of it as a whole.
    pub fate: FindingOutcome,
    /// What became of its parts, where there is something to say.
    pub findings: Vec<ImportFinding>,
}

impl ForeignImportItem {
    /// Something that came over as the thing of this id.
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

    /// Something that did not come over, and why.
    pub fn skipped(kind: &'static str, name: impl Into<String>, why: ImportFinding) -> Self {
        Self { kind, name: name.into(), file: None, id: None, fate: FindingOutcome::Skipped, findings: vec![why] }
    }

    /// The same from a file.
    #[must_use]
    pub fn from_file(mut self, file: impl Into<String>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// The same with findings.
    #[must_use]
    pub fn with(mut self, findings: Vec<ImportFinding>) -> Self {
        self.findings.extend(findings);
        self
    }
}

/// As it is printed and copied: a line for each item, its findings below it.
impl fmt::Display for ForeignImportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.items.iter().try_for_each(|item| item.fmt(f))
    }
}

impl fmt::Display for ForeignImportItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, name, file, fate, findings, .. } = self;
        write!(f, "{:<10}  {kind} {name}", fate.word())?;
        if let Some(file) = file {
            write!(f, " ({file})")?;
        }
        writeln!(f)?;
        for ImportFinding { fate, line, message, .. } in findings {
            let at = line.map(|line| format!("line {line}: ")).unwrap_or_default();
            writeln!(f, "  {:<10}  {at}{message}", fate.word())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn import_report_displays_items_and_findings() {
        let kept =
            ImportFinding::new(FindingOutcome::Kept, "scripts_jquery", "3 scripts call jQuery: kept as text").of(3);
        let bad = ImportFinding::new(FindingOutcome::Skipped, "line_not_json", "not JSON").at(812);
        let report = ForeignImportReport {
            items: vec![
                ForeignImportItem::new("character", "Rin", "1").from_file("rin.png").with(vec![kept]),
                ForeignImportItem::skipped("session", "Night", bad),
            ],
        };
        insta::assert_snapshot!(report.to_string(), @r"
        works       character Rin (rin.png)
          kept        3 scripts call jQuery: kept as text
        skipped     session Night
          skipped     line 812: not JSON
        ");
    }
}
