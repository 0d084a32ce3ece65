//! What `plan` wants of the prompt that is being made: texts in it, and lore in or out. A slot is a place that a session
//! grants, so that a text for the last word needs another yes than a line of status.

/// The slots: the word of the permission, and how many messages stand behind a text there that does not say so itself.
///
/// All of them lie behind the history or near its end: what changes from turn to turn must not stand before what stays,
/// or the model's server reads everything anew (`domain.md` 6.3).
const SLOTS: [(&str, usize); 3] = [("status", 1), ("system", 0), ("note", 4)];

/// What a plugin wants of one prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PluginPromptPlan {
    /// Texts, in the order in which they were asked for.
    pub injections: Vec<TextInjection>,
    /// Entries of lorebooks, in the order in which they were asked for; of two wishes for one entry the later holds.
    pub lore: Vec<LoreSelection>,
}

/// A text to stand in the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextInjection {
    /// The slot.
    pub slot: String,
    /// The text, as it is sent.
    pub text: String,
    /// How many messages stand behind it.
    pub depth: usize,
    /// Of those at one depth, the higher ones stand nearer the end and take their room first; -100 to 100.
    pub priority: i64,
}

/// An entry to be active, or not to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoreSelection {
    /// The entry by what its author calls it, or by its uid.
    pub entry: String,
    /// In or out.
    pub is_included: bool,
}

impl PluginPromptPlan {
    /// Whether it wants nothing.
    pub const fn is_empty(&self) -> bool {
        self.injections.is_empty() && self.lore.is_empty()
    }
}

/// The words of the slots.
pub fn slots() -> impl Iterator<Item = &'static str> {
    SLOTS.iter().map(|(slot, _)| *slot)
}

/// How many messages stand behind a text in a slot; `None` = there is no such slot.
pub fn depth_of(slot: &str) -> Option<usize> {
    SLOTS.iter().find(|(known, _)| *known == slot).map(|(_, depth)| *depth)
}
