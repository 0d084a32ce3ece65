//! What of a case is not as expected: in words for the command line, in parts for a page that shows both sides.

use std::fmt;

use toml::de::{DeTable, DeValue};

use crate::error::ScriptError;
use crate::manifest::line_and_column;

/// One thing that is not as expected.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginTestFailure {
    /// What is compared, as `[expect]` names it: `ops`, `state gold`; or, where nothing is compared, the whole of what is wrong.
    pub what: String,
    /// What the case expects, and what came.
    pub sides: Option<(String, String)>,
    /// What the script, or the case's file, stumbled over.
    pub error: Option<Box<ScriptError>>,
    /// Whether both sides are lists, one item in a line.
    is_list: bool,
}

impl PluginTestFailure {
    /// Something that is wrong by itself.
    pub(super) fn message(what: impl Into<String>) -> Self {
        Self { what: what.into(), sides: None, error: None, is_list: false }
    }

    /// Something else came than was expected.
    pub(super) fn difference(what: &str, expected: impl fmt::Display, found: impl fmt::Display) -> Self {
        Self { sides: Some((expected.to_string(), found.to_string())), ..Self::message(what) }
    }

    /// Another list came than was expected.
    pub(super) fn list_difference(what: &str, expected: &[String], found: &[String]) -> Self {
        Self { is_list: true, ..Self::difference(what, expected.join("\n"), found.join("\n")) }
    }

    /// The line of the case, counted from 1, that is not as it says; `None` where no line says it.
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
