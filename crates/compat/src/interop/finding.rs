//! Findings of an import: whether a feature of a file works here, and otherwise what became of it.

use serde::Serialize;

/// What became of an imported feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingOutcome {
    /// Imported, and works.
    Works,
    /// Imported in another form, which works.
    Translated,
    /// Stored and exported again, but has no effect here.
    Kept,
    /// Not imported.
    Skipped,
}

impl FindingOutcome {
    /// Returns the name used in the API and in reports.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Translated => "translated",
            Self::Kept => "kept",
            Self::Skipped => "skipped",
        }
    }
}

/// One feature of a file and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportFinding {
    pub fate: FindingOutcome,
    /// Stable name in snake case, such as `scripts_jquery`.
    pub code: &'static str,
    /// Line number in the file, from 1, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// How many of them the file has.
    pub count: usize,
    /// One sentence without a final period: what it is and what that means.
    pub message: String,
    /// The files concerned, if any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

/// Formats a count with its noun: `1 script`, `3 scripts`.
pub fn count_phrase(n: usize, one: &str, more: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { more })
}

impl ImportFinding {
    /// Creates a finding with a count of 1.
    pub fn new(fate: FindingOutcome, code: &'static str, message: impl Into<String>) -> Self {
        Self { fate, code, line: None, count: 1, message: message.into(), names: Vec::new() }
    }

    /// Sets the count.
    #[must_use]
    pub fn of(mut self, count: usize) -> Self {
        self.count = count;
        self
    }

    /// Sets the names.
    #[must_use]
    pub fn with_names(mut self, names: Vec<String>) -> Self {
        self.names = names;
        self
    }

    /// Sets the line number, from 1.
    #[must_use]
    pub fn at(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }
}
