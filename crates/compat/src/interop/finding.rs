//! What an import says of one thing in a file: whether it works here, and if not, what became of it.

use serde::Serialize;

/// What became of something that came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingOutcome {
    /// It came over and works.
    Works,
    /// It came over in another form, which works.
    Translated,
    /// It is kept and goes out again with an export, and does nothing here.
    Kept,
    /// It did not come over.
    Skipped,
}

impl FindingOutcome {
    /// The word on the wire and in reports.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Translated => "translated",
            Self::Kept => "kept",
            Self::Skipped => "skipped",
        }
    }
}

/// One thing of a file and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportFinding {
    /// What became of it.
    pub fate: FindingOutcome,
    /// A stable word for it, in snake case: `scripts_jquery`.
    pub code: &'static str,
    /// The line of the file, from 1, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// How many of them there are.
    pub count: usize,
    /// One sentence without a final period: what it is and what it means.
    pub message: String,
    /// What it names one by one: files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

/// So many of something, in words: `1 script`, `3 scripts`.
pub fn count_phrase(n: usize, one: &str, more: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { more })
}

impl ImportFinding {
    /// One thing.
    pub fn new(fate: FindingOutcome, code: &'static str, message: impl Into<String>) -> Self {
        Self { fate, code, line: None, count: 1, message: message.into(), names: Vec::new() }
    }

    /// The same of so many.
    #[must_use]
    pub fn of(mut self, count: usize) -> Self {
        self.count = count;
        self
    }

    /// The same that names these.
    #[must_use]
    pub fn with_names(mut self, names: Vec<String>) -> Self {
        self.names = names;
        self
    }

    /// The same at a line, from 1.
    #[must_use]
    pub fn at(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }
}
