//! Lines of the history are filled when a prompt is made, and filled again when its trace is read: a trace names the node and
//! keeps none of its text. Names are filled in the same way again; where more than names was filled in, the trace keeps the
//! difference. So a trace takes room only for what macros wrote.

use serde_json::{Map, Value, json};

use super::macros::{Facts, Macros};

/// The names that are filled into every line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// The user's.
    pub user: String,
    /// The character's.
    pub character: String,
}

impl Names {
    /// A line with these names filled in, and nothing else known.
    pub fn fill(&self, text: &str) -> String {
        if !text.contains(['{', '}', '<']) {
            return text.to_owned();
        }
        let facts = Facts { user: self.user.clone(), character: self.character.clone(), ..Facts::default() };
        Macros::new(&facts, Map::new(), Map::new(), &mut || 0.0).fill(text)
    }
}

/// How a filled line differs from one with names only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// How many bytes are equal before it.
    before: usize,
    /// How many bytes are equal behind it.
    behind: usize,
    /// What stands between.
    text: String,
}

impl Difference {
    /// The difference between a line with names only and the filled one; `None` = there is none.
    pub fn between(named: &str, filled: &str) -> Option<Self> {
        if named == filled {
            return None;
        }
        let equal = |pairs: &mut dyn Iterator<Item = (char, char)>| {
            pairs.take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum::<usize>()
        };
        let before = equal(&mut named.chars().zip(filled.chars()));
        let rest = |text| str::get(text, before..).unwrap_or_default();
        let behind = equal(&mut rest(named).chars().rev().zip(rest(filled).chars().rev()));
        let text = filled.get(before..filled.len() - behind).unwrap_or_default().to_owned();
        Some(Self { before, behind, text })
    }

    /// The filled line again; `None` where the line with names is not the one that it was.
    pub fn onto(&self, named: &str) -> Option<String> {
        let behind = named.len().checked_sub(self.behind).filter(|behind| *behind >= self.before)?;
        Some([named.get(..self.before)?, &self.text, named.get(behind..)?].concat())
    }

    /// As a trace keeps it.
    pub fn to_json(&self) -> Value {
        json!([self.before, self.behind, self.text])
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
    use proptest::prelude::*;

    #[test]
    fn names_need_no_difference() {
        let names = Names { user: "Ann".into(), character: "林".into() };
        assert_eq!(names.fill("{{char}}: hello, <USER>."), "林: hello, Ann.");
        assert_eq!(names.fill("plain"), "plain");
        assert_eq!(Difference::between("same", "same"), None);
    }

    proptest! {
        /// Whatever was filled in comes out of the trace again.
        #[test]
        fn a_difference_leads_back(named in "[ab灯]{0,8}", filled in "[ab灯]{0,8}") {
            match Difference::between(&named, &filled) {
                None => prop_assert_eq!(named, filled),
                Some(difference) => {
                    let kept = Difference::from_json(&difference.to_json()).unwrap();
                    prop_assert_eq!(kept.onto(&named), Some(filled));
                    _ = kept.onto("x");
                }
            }
        }
    }
}
