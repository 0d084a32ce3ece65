//! Expands the names in history lines, when a prompt is built and again when its trace is read.
//!
//! A trace names the node and stores no text of it. Names expand the same way again, so they need no storage. A line
//! with other macros is a piece of its own; in older traces it is a [`LinePatch`].

use serde_json::{Map, Value};

use super::macros::{MacroContext, MacroEngine};

/// The names that are expanded in every history line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryNames {
    pub user: String,
    pub character: String,
}

impl HistoryNames {
    /// Expands these names in a line; all other macro values are at their defaults.
    pub fn fill(&self, text: &str) -> String {
        if !text.contains(['{', '}', '<']) {
            return text.to_owned();
        }
        let facts =
            MacroContext { user: self.user.clone(), character: self.character.clone(), ..MacroContext::default() };
        MacroEngine::new(&facts, Map::new(), Map::new(), &mut || 0.0).fill(text)
    }
}

/// The difference between a fully expanded line and the line with only names expanded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinePatch {
    /// Length of the common prefix, in bytes.
    before: usize,
    /// Length of the common suffix, in bytes.
    behind: usize,
    /// Text between prefix and suffix.
    text: String,
}

impl LinePatch {
    /// Restores the expanded line; `None` if `named` is not the original line.
    pub fn apply(&self, named: &str) -> Option<String> {
        let behind = named.len().checked_sub(self.behind).filter(|behind| *behind >= self.before)?;
        Some([named.get(..self.before)?, &self.text, named.get(behind..)?].concat())
    }

    /// Reads a patch from the JSON of a trace.
    pub fn from_json(value: &Value) -> Option<Self> {
        let number = |at: usize| usize::try_from(value.get(at)?.as_u64()?).ok();
        Some(Self { before: number(0)?, behind: number(1)?, text: value.get(2)?.as_str()?.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn refill_names_are_filled_in() {
        let names = HistoryNames { user: "Ann".into(), character: "林".into() };
        assert_eq!(names.fill("{{char}}: hello, <USER>."), "林: hello, Ann.");
        assert_eq!(names.fill("plain"), "plain");
    }

    /// A patch of an older trace applies to its own line and to no other line.
    #[test]
    fn refill_line_patch_restores_line() {
        let kept = LinePatch::from_json(&json!([4, 1, "灯 7"])).unwrap();
        assert_eq!(kept.apply("Ann rolls."), Some("Ann 灯 7.".to_owned()));
        assert_eq!(kept.apply("x"), None);
    }
}
