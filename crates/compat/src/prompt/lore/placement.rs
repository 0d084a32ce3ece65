//! The positions of the texts of active entries.

use std::collections::BTreeMap;

use serde::Serialize;

use super::entry::{LorePosition, LorebookEntry};

/// Texts in the history at one depth, with one role: neighbours in the order of the entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LoreDepthTexts {
    /// Number of messages after it; `None` = the entry has no depth.
    pub depth: Option<i64>,
    /// 0 = system, 1 = user, 2 = assistant.
    pub role: u8,
    pub entries: Vec<String>,
}

/// The texts of a scan by position.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LorePlacement {
    /// Before the character description, one text a line.
    pub before: String,
    /// After the character description, one text a line.
    pub after: String,
    /// Above the author's note.
    pub note_top: Vec<String>,
    /// Below the author's note.
    pub note_bottom: Vec<String>,
    /// Next to the example dialogue: `true` = before it.
    pub examples: Vec<(bool, String)>,
    /// Between history messages. At one depth, the last one stands nearest to the end.
    pub at_depth: Vec<LoreDepthTexts>,
    /// Texts for outlet macros, by outlet name.
    pub outlets: BTreeMap<String, Vec<String>>,
}

/// Returns the depth for scripts on an entry's text; only entries in the history have one.
pub fn script_depth(entry: &LorebookEntry) -> Option<i64> {
    (entry.position == Some(LorePosition::AtDepth)).then_some(entry.depth).flatten()
}

impl LorePlacement {
    /// Puts the texts in their places. `sorted` has the highest order first.
    ///
    /// The output is reversed, so the highest order is nearest to the end of the prompt; outlets are not reversed.
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
        printed.at_depth.reverse();
        printed
    }

    fn place(&mut self, entry: &LorebookEntry, text: String) {
        let nearest = self.at_depth.iter_mut().rfind(|group| group.depth == entry.depth);
        match nearest.filter(|group| group.role == entry.role) {
            Some(group) => group.entries.push(text),
            None => self.at_depth.push(LoreDepthTexts { depth: entry.depth, role: entry.role, entries: vec![text] }),
        }
    }
}
