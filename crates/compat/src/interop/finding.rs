//! Findings of an import: whether a feature of a file works here, and otherwise what became of it.

use serde::Serialize;
use serde_json::Value;

use clotho_core::coded_message::{CodedMessage as _, MessageArgs};

use super::finding_detail::FindingDetail;

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
    pub const fn as_str(self) -> &'static str {
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
    /// The arguments of the code.
    #[serde(skip_serializing_if = "MessageArgs::is_empty")]
    pub args: MessageArgs,
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

impl ImportFinding {
    /// Creates a finding. Its count is the argument `count`, else 1.
    pub fn new(fate: FindingOutcome, detail: &FindingDetail) -> Self {
        let (code, args, message) = (detail.code(), detail.args(), detail.to_string());
        let count = args.get("count").and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok());
        Self { fate, code, args, line: None, count: count.unwrap_or(1), message, names: Vec::new() }
    }

    /// Creates a finding about something that works here.
    pub fn works(detail: &FindingDetail) -> Self {
        Self::new(FindingOutcome::Works, detail)
    }

    /// Creates a finding about something that works here in another form.
    pub fn translated(detail: &FindingDetail) -> Self {
        Self::new(FindingOutcome::Translated, detail)
    }

    /// Creates a finding about something that is stored without effect.
    pub fn kept(detail: &FindingDetail) -> Self {
        Self::new(FindingOutcome::Kept, detail)
    }

    /// Creates a finding about something that is not imported.
    pub fn skipped(detail: &FindingDetail) -> Self {
        Self::new(FindingOutcome::Skipped, detail)
    }

    /// Sets the names.
    #[must_use]
    pub fn with_names(mut self, names: Vec<String>) -> Self {
        self.names = names;
        self
    }

    /// Sets the line number, from 1.
    #[must_use]
    pub fn at_line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }
}
