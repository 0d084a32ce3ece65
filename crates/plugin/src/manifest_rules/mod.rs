//! Rules without code: the `[[rule]]` tables of a manifest (`docs/modders.md`). Each waits for something that a message does,
//! and then changes values below the plugin's root and says a line. They run after `on_input` and `on_reply` of their plugin.
//!
//! - `raw.rs` reads and checks them as they are written, `check.rs` holds them against the schema, `text.rs` fills values into
//!   what they say, [`fire`] lets them act.
//!
//! Nothing of them is counted anywhere but on the path: messages are counted along it, and that a rule has fired stands in the
//! world below `lore`, where it goes back with the node (`docs/domain.md` 3).
//!
//! To add a trigger: a variant of [`RuleTrigger`], its key in `raw.rs`, when it fires in `fire.rs`.

mod check;
mod fire;
mod raw;
mod text;

use std::ops::Range;

use super::localized_text::LocalizedText;
use super::permission::Permission;
use clotho_core::world::condition::VariablePath;
use clotho_core::world::{Condition, Pointer, StateOperation};

pub(super) use check::{ambiguous_comparison, rule_warnings, undeclared_path};
pub use fire::{RuleFiring, RuleInput, RulesOutcome, fire, firing_pointer};
pub(super) use raw::{RawRule, RuleOwner, rules};

/// How a record of what ran names a rule: `rule:<name>`.
pub const RULE_PREFIX: &str = "rule:";

/// The most rules of one plugin.
const MAX_RULES: usize = 64;
/// The most things that one rule does.
const MAX_EFFECTS: usize = 32;
/// The most characters of a line.
const MAX_NOTE_CHARS: usize = 400;

/// One rule.
#[derive(Debug, Clone, PartialEq)]
pub struct ManifestRule {
    /// Its name, as traces tell it: `rule:<name>`.
    pub name: String,
    /// What it waits for.
    pub trigger: RuleTrigger,
    /// What must hold besides.
    pub guard: Option<RuleCondition>,
    /// Whether it fires only once on a line.
    pub once: bool,
    /// So many turns must lie between two times; 0 = none.
    pub cooldown: u64,
    /// What it does.
    pub effects: Vec<StateOperation>,
    /// What it says under the message.
    pub note: Option<LocalizedText>,
    /// Where all that stands in the manifest.
    pub(super) spans: RuleSpans,
}

/// What a rule waits for.
#[derive(Debug, Clone, PartialEq)]
pub enum RuleTrigger {
    /// Every so many messages.
    Every {
        /// So many.
        n: u64,
        /// Which of them are counted.
        of: RuleCounter,
    },
    /// That a condition did not hold before the message and holds after it.
    Crosses(RuleCondition),
    /// That a value is another one after the message.
    Changes {
        /// The place.
        place: Pointer,
        /// As it is written.
        text: String,
    },
}

/// A condition, and how it is written.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleCondition {
    /// The condition.
    pub condition: Condition,
    /// As it is written.
    pub text: String,
}

/// Which messages of a line are counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleCounter {
    /// Those of people: turns.
    #[default]
    User,
    /// Replies.
    Model,
    /// Both.
    Total,
}

/// Byte offsets in the manifest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RuleSpans {
    trigger: Range<usize>,
    guard: Range<usize>,
    effects: Vec<Range<usize>>,
    note: Range<usize>,
}

/// The place that a variable of a rule names: seen from the plugin's root, or with a slash in front from the top.
fn variable_pointer(root: &Pointer, variable: &VariablePath) -> Pointer {
    let keys = variable.keys.iter().cloned();
    if variable.is_from_top { Pointer::from_keys(keys) } else { pointer_below(root, keys) }
}

fn pointer_below(root: &Pointer, keys: impl Iterator<Item = String>) -> Pointer {
    Pointer::from_keys(root.keys().iter().cloned().chain(keys))
}

/// Whether a plugin that asks for these may write at a place.
pub(super) fn may_write(root: &Pointer, grants: &[Permission], place: &Pointer) -> bool {
    let covers = |grant: &Permission| matches!(grant, Permission::StateWrite(other) if place.below(other).is_some());
    !place.is_root() && (place.below(root).is_some() || grants.iter().any(covers))
}

/// Whether it may read there.
pub(super) fn may_read(root: &Pointer, grants: &[Permission], place: &Pointer) -> bool {
    grants.contains(&Permission::StateRead) || may_write(root, grants, place)
}

impl ManifestRule {
    /// Whether it asks how many replies there were.
    pub fn counts_replies(&self) -> bool {
        matches!(self.trigger, RuleTrigger::Every { of: RuleCounter::Model | RuleCounter::Total, .. })
    }

    /// Whether it waits for messages to be counted.
    pub fn counts_messages(&self) -> bool {
        matches!(self.trigger, RuleTrigger::Every { .. })
    }

    /// Its conditions, each with where it stands in the manifest.
    fn conditions(&self) -> Vec<(&Condition, Range<usize>)> {
        let trigger = match &self.trigger {
            RuleTrigger::Crosses(wanted) => Some((&wanted.condition, self.spans.trigger.clone())),
            RuleTrigger::Every { .. } | RuleTrigger::Changes { .. } => None,
        };
        trigger.into_iter().chain(self.guard.iter().map(|guard| (&guard.condition, self.spans.guard.clone()))).collect()
    }

    /// Every place that it reads, each with where it stands in the manifest.
    fn reads(&self, root: &Pointer) -> Vec<(Pointer, Range<usize>)> {
        let of = |condition: &Condition, at: &Range<usize>| -> Vec<(Pointer, Range<usize>)> {
            condition.variables().map(|variable| (variable_pointer(root, variable), at.clone())).collect()
        };
        let mut reads = match &self.trigger {
            RuleTrigger::Every { .. } => Vec::new(),
            RuleTrigger::Crosses(wanted) => of(&wanted.condition, &self.spans.trigger),
            RuleTrigger::Changes { place, .. } => vec![(place.clone(), self.spans.trigger.clone())],
        };
        reads.extend(self.guard.iter().flat_map(|guard| of(&guard.condition, &self.spans.guard)));
        let told = self.note.iter().flat_map(text::all_languages).flat_map(text::variables);
        reads.extend(told.map(|variable| (variable_pointer(root, &variable), self.spans.note.clone())));
        reads
    }

    /// Every place that it writes.
    fn writes(&self) -> impl Iterator<Item = (&StateOperation, Range<usize>)> {
        self.effects.iter().zip(self.spans.effects.iter().cloned())
    }
}
