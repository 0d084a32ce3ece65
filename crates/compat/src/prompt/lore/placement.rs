//! Where the texts of active entries go.

use std::collections::BTreeMap;

use serde::Serialize;

use super::entry::{LorePosition, LorebookEntry};

/// Texts that stand in the history at one depth, in one role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LoreDepthTexts {
    /// How many messages stand behind it; `None` where the entry does not say.
    pub depth: Option<i64>,
    /// 0 the system, 1 the user, 2 the character.
    pub role: u8,
    /// The texts.
    pub entries: Vec<String>,
}

/// Where the texts go.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LorePlacement {
    /// Before the character, one a line.
    pub before: String,
    /// After the character.
    pub after: String,
    /// Above the author's note.
    pub note_top: Vec<String>,
    /// Below the author's note.
    pub note_bottom: Vec<String>,
    /// Beside the examples: `true` = before them.
    pub examples: Vec<(bool, String)>,
    /// In the history.
    pub at_depth: Vec<LoreDepthTexts>,
    /// Where macros ask for them.
    pub outlets: BTreeMap<String, Vec<String>>,
}

/// The depth at which the macro-free scripts of an entry's text look: only what stands in the history has one.
pub fn script_depth(entry: &LorebookEntry) -> Option<i64> {
    (entry.position == Some(LorePosition::AtDepth)).then_some(entry.depth).flatten()
}

impl LorePlacement {
    /// Puts the texts of active entries in their places: they come by order, the highest first, and stand the other way
    /// round, so that the highest is nearest to the end; but for outlets.
    pub fn from_entries<'a>(sorted: impl IntoIterator<Item = (&'a LorebookEntry, String)>) -> Self {
        let mut printed = Self::default();
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for (entry, text) in sorted {
            if text.is_empty() {
                continue;
            }
            match entry.position {
                Some(LorePosition::Before) => before.push(text),
                Some(LorePosition::After) => after.push(text),
                Some(LorePosition::NoteTop) => printed.note_top.push(text),
                Some(LorePosition::NoteBottom) => printed.note_bottom.push(text),
                Some(LorePosition::ExamplesTop) => printed.examples.push((true, text)),
                Some(LorePosition::ExamplesBottom) => printed.examples.push((false, text)),
                Some(LorePosition::AtDepth) => printed.place(entry, text),
                Some(LorePosition::Outlet) if entry.outlet.is_empty() => {}
                Some(LorePosition::Outlet) => printed.outlets.entry(entry.outlet.clone()).or_default().push(text),
                None => {}
            }
        }
        before.reverse();
        after.reverse();
        printed.before = before.join("\n");
        printed.after = after.join("\n");
        printed.note_top.reverse();
        printed.note_bottom.reverse();
        printed.examples.reverse();
        printed.at_depth.iter_mut().for_each(|group| group.entries.reverse());
        printed
    }

    fn place(&mut self, entry: &LorebookEntry, text: String) {
        let own = self.at_depth.iter_mut().find(|group| group.depth == entry.depth && group.role == entry.role);
        match own {
            Some(group) => group.entries.push(text),
            None => self.at_depth.push(LoreDepthTexts { depth: entry.depth, role: entry.role, entries: vec![text] }),
        }
    }
}
