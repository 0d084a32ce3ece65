//! Decides which rules fire on a message, in which order, and applies their effects.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{ManifestRule, RuleCondition, RuleCounter, RuleTrigger, may_read, may_write, raw, text, variable_pointer};
use crate::localized_text::LocalizedText;
use crate::permission::Permission;
use clotho_core::coded_messages;
use clotho_core::world::condition::VariablePath;
use clotho_core::world::{Pointer, Problem, SchemaSet, StateChange, StateOperation, World, WorldSection, fold, number};

/// Depth to which rules may trigger further rules.
const MAX_DEPTH: usize = 3;

/// The key under `lore` where the state records fired rules.
const FIRED_KEY: &str = "rules";

/// A message on which rules may fire.
#[derive(Debug, Clone, Copy)]
pub struct RuleInput<'a> {
    /// Id of the plugin.
    pub plugin: &'a str,
    /// The root of its values.
    pub root: &'a Pointer,
    pub rules: &'a [ManifestRule],
    /// The state before the message.
    pub before: &'a Arc<World>,
    /// Whether the message is a reply; otherwise it is a user message.
    pub is_reply: bool,
    /// Whether the message was only a command that a plugin answered. Nothing happened in the story then, so no count
    /// fires.
    pub is_side_call: bool,
    /// Number of turns on its branch, including this message.
    pub turn: u64,
    /// Number of replies on its branch, including this message.
    pub replies: u64,
    /// The active schemas.
    pub schemas: &'a SchemaSet,
    /// The permissions beyond the plugin's own root.
    pub grants: &'a [Permission],
    /// The language of note lines.
    pub language: &'a str,
}

/// One rule that fired.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleFiring {
    /// Name of the rule.
    pub rule: String,
    /// Why it fired, for users.
    pub reason: String,
    /// Its operations; they are folded into the state already.
    pub operations: Vec<StateOperation>,
    /// What the fold reported, by position in `operations`.
    pub problems: Vec<Problem>,
    /// Lines to show under the message.
    pub notes: Vec<String>,
    /// What it was not allowed to do.
    pub warnings: Vec<String>,
}

coded_messages! {
    /// Why a rule of a manifest did not do its work.
    pub enum RuleProblem {
        /// Rules triggered each other too often.
        #[error("the rule \"{rule}\" did not fire again, because rules trigger each other without end")]
        RuleChain { rule: String } = "rule_chain",
        /// The rule reads values of others without permission.
        #[error("the rule \"{rule}\" reads values outside of the plugin's own, and \"state.read:*\" is not granted")]
        RulePermission { rule: String } = "rule_permission",
    }
}

/// The result of running the rules of one plugin.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RulesOutcome {
    /// The rules that fired, in order.
    pub fired: Vec<RuleFiring>,
    /// Rules that were stopped from firing again.
    pub cut_off: Vec<String>,
    /// Rules that read something without permission.
    pub denied: Vec<String>,
}

impl RulesOutcome {
    /// Returns the problems to show.
    pub fn rule_problems(&self) -> Vec<RuleProblem> {
        let cut = self.cut_off.iter().map(|rule| RuleProblem::RuleChain { rule: rule.clone() });
        cut.chain(self.denied.iter().map(|rule| RuleProblem::RulePermission { rule: rule.clone() })).collect()
    }
}

/// Returns where `lore` records that a rule has fired: `rules/<plugin>/<rule>`.
pub fn firing_pointer(plugin: &str, rule: &str) -> Pointer {
    Pointer::from_keys([FIRED_KEY, plugin, rule])
}

/// Runs the rules of a plugin on a state. Each fires at most once per message. Changes may trigger other rules, up to
/// three levels in all.
pub fn fire(occasion: &RuleInput<'_>, world: &mut Arc<World>) -> RulesOutcome {
    let mut ran = RulesOutcome::default();
    let mut before = Arc::clone(occasion.before);
    let mut done: HashSet<&str> = HashSet::new();
    let (able, denied): (Vec<&ManifestRule>, Vec<&ManifestRule>) =
        occasion.rules.iter().partition(|rule| occasion.reads_allowed(rule));
    ran.denied = denied.into_iter().map(|rule| rule.name.clone()).collect();
    for depth in 0..=MAX_DEPTH {
        let now = Arc::clone(world);
        let ready = able.iter().filter_map(|rule| Some((*rule, occasion.trigger_reason(rule, &before, &now, depth)?)));
        let ready: Vec<(&ManifestRule, String)> = ready.collect();
        for (rule, because) in ready {
            if depth == MAX_DEPTH || done.contains(rule.name.as_str()) {
                if !ran.cut_off.contains(&rule.name) {
                    ran.cut_off.push(rule.name.clone());
                }
                continue;
            }
            done.insert(&rule.name);
            ran.fired.push(occasion.apply(rule, because, world));
        }
        before = now;
    }
    ran
}

impl RuleInput<'_> {
    fn reads_allowed(&self, rule: &ManifestRule) -> bool {
        rule.reads(self.root).iter().all(|(place, _)| may_read(self.root, self.grants, place))
    }

    fn value(&self, variable: &VariablePath, world: &World) -> Option<Value> {
        world.get(&variable_pointer(self.root, variable)).cloned()
    }

    /// Returns why a rule fires now, if it does.
    fn trigger_reason(&self, rule: &ManifestRule, before: &World, now: &World, depth: usize) -> Option<String> {
        let holds = |condition: &clotho_core::world::Condition, world: &World| {
            condition.holds_with_scope(|variable| self.value(variable, world))
        };
        let because = match &rule.trigger {
            RuleTrigger::Every { n, of } if depth == 0 && !self.is_side_call => self.count_reason(*n, *of)?,
            RuleTrigger::Every { .. } => return None,
            RuleTrigger::Crosses(RuleCondition { condition, text }) => {
                (holds(condition, now) && !holds(condition, before)).then(|| text.clone())?
            }
            RuleTrigger::Changes { place, text } => {
                (!same(before.get(place), now.get(place))).then(|| format!("{text} changed"))?
            }
        };
        let is_wanted = rule.guard.as_ref().is_none_or(|guard| holds(&guard.condition, now));
        (is_wanted && !self.is_on_cooldown(rule, now)).then_some(because)
    }

    /// Returns a reason if a count that this message increased is now a multiple of `n`.
    fn count_reason(&self, n: u64, of: RuleCounter) -> Option<String> {
        let (count, what) = match of {
            RuleCounter::User => ((!self.is_reply).then_some(self.turn)?, "turn"),
            RuleCounter::Model => (self.is_reply.then_some(self.replies)?, "reply"),
            RuleCounter::Total => (self.turn.saturating_add(self.replies), "message"),
        };
        (count > 0 && count.is_multiple_of(n)).then(|| format!("{what} {count}"))
    }

    /// Returns whether a rule may fire only once and has, or fired too recently. A recorded turn after the current one
    /// belongs to another branch and does not count.
    fn is_on_cooldown(&self, rule: &ManifestRule, world: &World) -> bool {
        let firing = firing_pointer(self.plugin, &rule.name);
        let firing = firing.find(&world.lore);
        let is_over = firing.and_then(|firing| firing.get("once")) == Some(&Value::Bool(true));
        let turn = firing.and_then(|firing| firing.get("turn")?.as_u64());
        let ago = turn.and_then(|turn| self.turn.checked_sub(turn));
        (rule.once && is_over) || ago.is_some_and(|ago| ago < rule.cooldown)
    }

    fn apply(&self, rule: &ManifestRule, because: String, world: &mut Arc<World>) -> RuleFiring {
        let mut warnings = Vec::new();
        let mut operations = Vec::new();
        for effect in &rule.effects {
            match raw::places(effect).find(|place| !may_write(self.root, self.grants, place)) {
                None => operations.push(effect.clone()),
                Some(place) => warnings.push(format!("writing \"{place}\" is not granted")),
            }
        }
        operations.extend(self.record_firing(rule));
        let mut problems = fold(Arc::make_mut(world), &operations, self.schemas);
        // Texts show the values after the effects.
        let fill =
            |words: &LocalizedText, world: &World| text::fill(words.get(self.language), |one| self.value(one, world));
        if let Some(event) = rule.event.as_ref().map(|event| fill(event, world)) {
            if self.grants.contains(&Permission::Events) {
                let event = story_event(&event, &format!("rule {}", rule.name), self.plugin);
                let found = fold(Arc::make_mut(world), std::slice::from_ref(&event), self.schemas);
                problems.extend(found.into_iter().map(|problem| Problem { operation: operations.len(), ..problem }));
                operations.push(event);
            } else {
                warnings.push("the event is not recorded: \"events\" is not granted".to_owned());
            }
        }
        let told = rule.note.as_ref().map(|note| fill(note, world));
        let is_heard = self.grants.contains(&Permission::Notes);
        if told.is_some() && !is_heard {
            warnings.push("the line is not shown: \"notes\" is not granted".to_owned());
        }
        let notes = told.into_iter().filter(|_| is_heard).collect();
        RuleFiring { rule: rule.name.clone(), reason: because, operations, problems, notes, warnings }
    }

    /// Returns the operations that record the firing.
    fn record_firing(&self, rule: &ManifestRule) -> impl Iterator<Item = StateOperation> {
        let place = |what: &str| firing_pointer(self.plugin, &rule.name).child(what);
        let once = rule.once.then(|| (place("once"), Value::Bool(true)));
        let turn = (rule.cooldown > 0).then(|| (place("turn"), self.turn.into()));
        let by = self.plugin.to_owned();
        let set = move |(path, value)| StateOperation {
            section: WorldSection::Lore,
            ..StateOperation::new(path, StateChange::Set(value), "fired", by.clone())
        };
        once.into_iter().chain(turn).map(set)
    }
}

/// Returns the operation that records an event of the story: `{text}`.
pub(crate) fn story_event(text: &str, why: &str, plugin: &str) -> StateOperation {
    let append = StateChange::Append(json!({"text": text}));
    StateOperation { section: WorldSection::Events, ..StateOperation::new(Pointer::default(), append, why, plugin) }
}

fn same(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => number::values_equal(a, b),
        (a, b) => a.is_none() && b.is_none(),
    }
}
