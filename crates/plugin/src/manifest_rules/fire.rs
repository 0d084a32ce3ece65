//! Which rules fire on a message, in which order, and what they do.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

use super::{ManifestRule, RuleCondition, RuleCounter, RuleTrigger, may_read, may_write, raw, text, variable_pointer};
use crate::permission::Permission;
use clotho_core::world::condition::VariablePath;
use clotho_core::world::{Pointer, Problem, SchemaSet, StateChange, StateOperation, World, WorldSection, fold, number};

/// What a rule does may make others fire, and these others once more; then it is over.
const MAX_DEPTH: usize = 3;

/// Where the world keeps that rules have fired, in the section `lore`.
const FIRED_KEY: &str = "rules";

/// A message on which rules may fire.
#[derive(Debug, Clone, Copy)]
pub struct RuleInput<'a> {
    /// The plugin.
    pub plugin: &'a str,
    /// Where its values are.
    pub root: &'a Pointer,
    /// Its rules.
    pub rules: &'a [ManifestRule],
    /// The world before the message.
    pub before: &'a Arc<World>,
    /// Whether the message is a reply; else somebody wrote it.
    pub is_reply: bool,
    /// Whether it was only a command, which a plugin has answered: nothing has happened in the story, so no count fires.
    pub is_side_call: bool,
    /// Turns of its line, with it.
    pub turn: u64,
    /// Replies of its line, with it.
    pub replies: u64,
    /// The schemas in force.
    pub schemas: &'a SchemaSet,
    /// What the plugin may do beyond its own root.
    pub grants: &'a [Permission],
    /// The language of lines.
    pub language: &'a str,
}

/// One rule that fired.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleFiring {
    /// Its name.
    pub rule: String,
    /// What made it fire, as people may read it.
    pub reason: String,
    /// What it does, folded into the world already.
    pub operations: Vec<StateOperation>,
    /// What the fold said of that, by position.
    pub problems: Vec<Problem>,
    /// What it says.
    pub notes: Vec<String>,
    /// What it could not do.
    pub warnings: Vec<String>,
}

/// What came of the rules of one plugin.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RulesOutcome {
    /// Those that fired, in order.
    pub fired: Vec<RuleFiring>,
    /// Those that would have gone on firing, and were not let.
    pub cut: Vec<String>,
    /// Those that read what nobody granted.
    pub denied: Vec<String>,
}

impl RulesOutcome {
    /// What people are told: a stable word and a sentence.
    pub fn problem_messages(&self) -> Vec<(&'static str, String)> {
        let cut = |rule: &String| {
            let what = "would have fired again; rules that make each other fire end here";
            ("rule_chain", format!("the rule \"{rule}\" {what}"))
        };
        let denied = |rule: &String| {
            let why = "reads what is not the plugin's own, and \"state.read:*\" is not granted";
            ("plugin_permission", format!("the rule \"{rule}\" {why}"))
        };
        self.cut.iter().map(cut).chain(self.denied.iter().map(denied)).collect()
    }
}

/// What the world keeps of a rule that has fired: below `lore`, at `rules/<plugin>/<rule>`.
pub fn firing_pointer(plugin: &str, rule: &str) -> Pointer {
    Pointer::from_keys([FIRED_KEY, plugin, rule])
}

/// Lets the rules of a plugin act on a world. Each fires at most once on a message; what one changes may make others fire, to a
/// depth of three.
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
                if !ran.cut.contains(&rule.name) {
                    ran.cut.push(rule.name.clone());
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

    /// Why a rule fires now, if it does.
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

    /// Whether a count that this message made larger is a multiple.
    fn count_reason(&self, n: u64, of: RuleCounter) -> Option<String> {
        let (count, what) = match of {
            RuleCounter::User => ((!self.is_reply).then_some(self.turn)?, "turn"),
            RuleCounter::Model => (self.is_reply.then_some(self.replies)?, "reply"),
            RuleCounter::Total => (self.turn.saturating_add(self.replies), "message"),
        };
        (count > 0 && count.is_multiple_of(n)).then(|| format!("{what} {count}"))
    }

    /// Whether a rule has fired for good, or not long enough ago. A turn that is yet to come is of another line: what came from
    /// there rests no longer.
    fn is_on_cooldown(&self, rule: &ManifestRule, world: &World) -> bool {
        let kept = firing_pointer(self.plugin, &rule.name);
        let kept = kept.find(&world.lore);
        let is_over = kept.and_then(|kept| kept.get("once")) == Some(&Value::Bool(true));
        let turn = kept.and_then(|kept| kept.get("turn")?.as_u64());
        let ago = turn.and_then(|turn| self.turn.checked_sub(turn));
        (rule.once && is_over) || ago.is_some_and(|ago| ago < rule.cooldown)
    }

    fn apply(&self, rule: &ManifestRule, because: String, world: &mut Arc<World>) -> RuleFiring {
        let mut warnings = Vec::new();
        let mut operations = Vec::new();
        for effect in &rule.effects {
            match raw::places(effect).find(|place| !may_write(self.root, self.grants, place)) {
                None => operations.push(effect.clone()),
                Some(place) => warnings.push(format!("\"{place}\" may not be written: it is not granted")),
            }
        }
        operations.extend(self.record_firing(rule));
        let problems = fold(Arc::make_mut(world), &operations, self.schemas);
        let told = rule.note.as_ref().map(|note| text::fill(note.get(self.language), |one| self.value(one, world)));
        let is_heard = self.grants.contains(&Permission::Notes);
        if told.is_some() && !is_heard {
            warnings.push("its line is not shown: \"notes\" is not granted".to_owned());
        }
        let notes = told.into_iter().filter(|_| is_heard).collect();
        RuleFiring { rule: rule.name.clone(), reason: because, operations, problems, notes, warnings }
    }

    /// What has to be known of its having fired.
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

fn same(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => number::same(a, b),
        (a, b) => a.is_none() && b.is_none(),
    }
}
