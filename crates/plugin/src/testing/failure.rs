//! The failures of a case: as text for the command line, and in parts for a page that shows both sides.

use std::fmt;

use toml::de::{DeTable, DeValue};

use crate::error::ScriptError;
use crate::manifest::line_and_column;

/// One difference from the expectation, or another failure.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginTestFailure {
    /// The compared item, named as in `[expect]`: `ops`, `state gold`. Without a comparison, the whole message.
    pub what: String,
    /// The expected and the found value.
    pub sides: Option<(String, String)>,
    /// The error in the script or in the case's file.
    pub error: Option<Box<ScriptError>>,
    /// Whether both sides are lists, with one item per line.
    is_list: bool,
}

impl PluginTestFailure {
    /// Creates a failure without a comparison.
    pub(super) fn message(what: impl Into<String>) -> Self {
        Self { what: what.into(), sides: None, error: None, is_list: false }
    }

    /// Creates a failure for a value that differs.
    pub(super) fn difference(what: &str, expected: impl fmt::Display, found: impl fmt::Display) -> Self {
        Self { sides: Some((expected.to_string(), found.to_string())), ..Self::message(what) }
    }

    /// Creates a failure for a list that differs.
    pub(super) fn list_difference(what: &str, expected: &[String], found: &[String]) -> Self {
        Self { is_list: true, ..Self::difference(what, expected.join("\n"), found.join("\n")) }
    }

    /// Returns the line of the case's file, counted from 1, with the failed expectation; `None` if there is none.
    pub fn line(&self, text: &str) -> Option<u32> {
        let (name, below) = self.what.split_once(' ').unwrap_or((&self.what, ""));
        self.sides.as_ref()?;
        let keys = ["expect", name].into_iter().chain(below.split('/').filter(|key| !key.is_empty()));
        let file = DeTable::parse(text).ok()?;
        let (mut table, mut line) = (file.get_ref(), None);
        for key in keys {
            let Some((known, value)) = table.iter().find(|(known, _)| known.get_ref().as_ref() == key) else { break };
            line = line_and_column(text, known.span().start).0;
            let DeValue::Table(inner) = value.get_ref() else { break };
            table = inner;
        }
        line
    }
}

impl From<ScriptError> for PluginTestFailure {
    fn from(error: ScriptError) -> Self {
        Self { error: Some(Box::new(error.clone())), ..Self::message(error.to_string()) }
    }
}

impl fmt::Display for PluginTestFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, sides, .. } = self;
        let lines = |text: &str| text.lines().map(|line| format!("\n  {line}")).collect::<String>();
        match sides {
            None => f.write_str(what),
            Some((expected, found)) if self.is_list => {
                write!(f, "{what}: expected{}\nbut got{}", lines(expected), lines(found))
            }
            Some((expected, found)) => {
                write!(f, "{what}: expected {expected}\n{:width$}  but got {found}", "", width = what.len())
            }
        }
    }
}
