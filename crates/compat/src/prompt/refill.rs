//! Lines of the history are filled when a prompt is made, and filled again when its trace is read: a trace names the node and
//! keeps none of its text. Names are filled in the same way again, so that they take no room; a line with more than names
//! filled in is a piece of its own, and in older traces a [`LinePatch`].

use serde_json::{Map, Value};

use super::macros::{MacroContext, MacroEngine};

/// The names that are filled into every line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryNames {
    /// The user's.
    pub user: String,
    /// The character's.
    pub character: String,
}

impl HistoryNames {
    /// A line with these names filled in, and nothing else known.
    pub fn fill(&self, text: &str) -> String {
        if !text.contains(['{', '}', '<']) {
            return text.to_owned();
        }
        let facts =
            MacroContext { user: self.user.clone(), character: self.character.clone(), ..MacroContext::default() };
        MacroEngine::new(&facts, Map::new(), Map::new(), &mut || 0.0).fill(text)
    }
}

/// How a filled line differs from one with names only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinePatch {
    /// How many bytes are equal before it.
    before: usize,
    /// How many bytes are equal behind it.
    behind: usize,
    /// What stands between.
    text: String,
}

impl LinePatch {
    /// The filled line again; `None` where the line with names is not the one that it was.
    pub fn onto(&self, named: &str) -> Option<String> {
        let behind = named.len().checked_sub(self.behind).filter(|behind| *behind >= self.before)?;
        Some([named.get(..self.before)?, &self.text, named.get(behind..)?].concat())
    }

    /// Reads what a trace keeps.
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

    /// What an older trace kept is put into the line with names, and into no other line.
    #[test]
    fn refill_line_patch_restores_line() {
        let kept = LinePatch::from_json(&json!([4, 1, "灯 7"])).unwrap();
        assert_eq!(kept.onto("Ann rolls."), Some("Ann 灯 7.".to_owned()));
        assert_eq!(kept.onto("x"), None);
    }
}
