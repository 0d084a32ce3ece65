//! What `plan` wants of a prompt: injected texts and selected lore. The session grants each slot separately, so that a
//! text at the very end needs another permission than a status line.

/// The slots: the word of the permission, and the default number of messages after the text.
///
/// All slots are near the end of the history or after it. Text that changes from turn to turn must not precede text
/// that stays, because the model server would have to process everything again (`domain.md` 6.3).
const SLOTS: [(&str, usize); 3] = [("status", 1), ("system", 0), ("note", 4)];

/// What a plugin wants of one prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PluginPromptPlan {
    /// Texts, in the order of the calls.
    pub injections: Vec<TextInjection>,
    /// Lorebook entries, in the order of the calls; the later of two selections of one entry applies.
    pub lore: Vec<LoreSelection>,
}

/// A text to inject into the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextInjection {
    pub slot: String,
    /// The text as it is sent.
    pub text: String,
    /// Number of messages after the text.
    pub depth: usize,
    /// -100 to 100. Among texts at one depth, a higher priority is nearer the end and takes its room first.
    pub priority: i64,
}

/// A lorebook entry to activate or exclude.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoreSelection {
    /// Title or uid of the entry.
    pub entry: String,
    /// True to activate, false to exclude.
    pub is_included: bool,
}

impl PluginPromptPlan {
    /// Returns whether the plan is empty.
    pub const fn is_empty(&self) -> bool {
        self.injections.is_empty() && self.lore.is_empty()
    }
}

/// Iterates over the names of the slots.
pub fn slots() -> impl Iterator<Item = &'static str> {
    SLOTS.iter().map(|(slot, _)| *slot)
}

/// Returns the default depth of a slot; `None` if there is no such slot.
pub fn depth_of(slot: &str) -> Option<usize> {
    SLOTS.iter().find(|(known, _)| *known == slot).map(|(_, depth)| *depth)
}
