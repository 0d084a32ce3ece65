//! Declarative rules: the `[[rule]]` tables of a manifest (`docs/modders.md`). Each has a trigger, changes values
//! below the plugin's root, shows a line and records an event. They run after `on_input` and `on_reply` of their plugin.
//!
//! - `raw.rs` parses and checks them, `check.rs` checks them against the schema, `text.rs` fills values into their
//!   lines, and [`fire`] applies them.
//!
//! All counts follow the path: messages are counted along it. That a rule has fired is stored in the state below
//! `lore`, so undoing a node undoes it too (`docs/domain.md` 3).
//!
//! To add a trigger: add a variant of [`RuleTrigger`], its key in `raw.rs`, and its condition in `fire.rs`.

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
pub(super) use fire::story_event;
pub use fire::{RuleFiring, RuleInput, RuleProblem, RulesOutcome, fire, firing_pointer};
pub(super) use raw::{RawRule, RuleOwner, rules};

/// Prefix of a rule in records of what ran: `rule:<name>`.
pub const RULE_PREFIX: &str = "rule:";

/// The most rules of one plugin.
const MAX_RULES: usize = 64;
/// The most effects of one rule.
const MAX_EFFECTS: usize = 32;
/// The most characters of a line.
const MAX_NOTE_CHARS: usize = 400;

/// One rule.
#[derive(Debug, Clone, PartialEq)]
pub struct ManifestRule {
    /// Name, shown in traces as `rule:<name>`.
    pub name: String,
    pub trigger: RuleTrigger,
    /// An extra condition that must hold.
    pub guard: Option<RuleCondition>,
    /// Whether it fires only once on a branch.
    pub once: bool,
    /// The least number of turns between two firings; 0 means no limit.
    pub cooldown: u64,
    /// The operations to apply.
    pub effects: Vec<StateOperation>,
    /// The line to show under the message.
    pub note: Option<LocalizedText>,
    /// The event of the story that it records.
    pub event: Option<LocalizedText>,
    /// Positions in the manifest.
    pub(super) spans: RuleSpans,
}

/// The trigger of a rule.
#[derive(Debug, Clone, PartialEq)]
pub enum RuleTrigger {
    /// Fires every `n` messages.
    Every {
        n: u64,
        /// Which messages are counted.
        of: RuleCounter,
    },
    /// Fires if a condition holds after the message but not before it.
    Crosses(RuleCondition),
    /// Fires if a value differs after the message.
    Changes {
        place: Pointer,
        /// The path as written in the manifest.
        text: String,
    },
}

/// A condition and its source text.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleCondition {
    pub condition: Condition,
    /// The condition as written in the manifest.
    pub text: String,
}

/// Which messages of a branch are counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleCounter {
    /// User messages, that is turns.
    #[default]
    User,
    Model,
    /// User messages and replies.
    Total,
}

/// Byte ranges in the manifest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RuleSpans {
    trigger: Range<usize>,
    guard: Range<usize>,
    effects: Vec<Range<usize>>,
    note: Range<usize>,
    event: Range<usize>,
}

/// Resolves a variable of a rule: relative to the plugin's root, or absolute with a leading slash.
fn variable_pointer(root: &Pointer, variable: &VariablePath) -> Pointer {
    let keys = variable.keys.iter().cloned();
    if variable.is_from_top { Pointer::from_keys(keys) } else { pointer_below(root, keys) }
}

fn pointer_below(root: &Pointer, keys: impl Iterator<Item = String>) -> Pointer {
    Pointer::from_keys(root.keys().iter().cloned().chain(keys))
}

/// Returns whether a plugin with these grants may write at a place.
pub(super) fn may_write(root: &Pointer, grants: &[Permission], place: &Pointer) -> bool {
    let covers = |grant: &Permission| matches!(grant, Permission::StateWrite(other) if place.below(other).is_some());
    !place.is_root() && (place.below(root).is_some() || grants.iter().any(covers))
}

/// Returns whether a plugin with these grants may read at a place.
pub(super) fn may_read(root: &Pointer, grants: &[Permission], place: &Pointer) -> bool {
    grants.contains(&Permission::StateRead) || may_write(root, grants, place)
}

impl ManifestRule {
    /// Returns whether the rule needs the number of replies.
    pub fn counts_replies(&self) -> bool {
        matches!(self.trigger, RuleTrigger::Every { of: RuleCounter::Model | RuleCounter::Total, .. })
    }

    /// Returns whether the rule counts messages.
    pub fn counts_messages(&self) -> bool {
        matches!(self.trigger, RuleTrigger::Every { .. })
    }

    /// Returns the conditions of the rule, each with its position in the manifest.
    fn conditions(&self) -> Vec<(&Condition, Range<usize>)> {
        let trigger = match &self.trigger {
            RuleTrigger::Crosses(wanted) => Some((&wanted.condition, self.spans.trigger.clone())),
            RuleTrigger::Every { .. } | RuleTrigger::Changes { .. } => None,
        };
        trigger.into_iter().chain(self.guard.iter().map(|guard| (&guard.condition, self.spans.guard.clone()))).collect()
    }

    /// Returns every place that the rule reads, with its position in the manifest.
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
        for (words, at) in [(&self.note, &self.spans.note), (&self.event, &self.spans.event)] {
            let named = words.iter().flat_map(text::all_languages).flat_map(text::variables);
            reads.extend(named.map(|variable| (variable_pointer(root, &variable), at.clone())));
        }
        reads
    }

    /// Iterates over every operation that the rule applies, with its position in the manifest.
    fn writes(&self) -> impl Iterator<Item = (&StateOperation, Range<usize>)> {
        self.effects.iter().zip(self.spans.effects.iter().cloned())
    }
}
