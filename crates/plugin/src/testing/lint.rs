//! Warnings of likely mistakes in a case: values that no story can have, and unknown rules or commands.

use serde_json::{Map, Value};

use super::CaseRunner;
use crate::slash_command::SlashCommand;
use crate::suggest::did_you_mean;
use clotho_core::world::{StateChange, StateOperation, World, fold};

impl CaseRunner<'_> {
    /// Returns the warnings of a case.
    pub(super) fn suspicious_parts(&self) -> Vec<String> {
        let given = [("state", self.case.state.clone()), ("before", self.case.before())];
        let states = given.into_iter().flat_map(|(name, state)| self.schema_conflicts(name, state.unwrap_or_default()));
        states.chain(self.unknown_rules()).chain(self.unknown_command()).collect()
    }

    /// Returns values that the schema refuses or changes. Each key is checked alone, because a case need not give all.
    fn schema_conflicts(&self, name: &str, state: Map<String, Value>) -> Vec<String> {
        let Some(schema) = self.plugin.schema() else { return Vec::new() };
        let root = &self.plugin.manifest().state.root;
        let mut world = World::default();
        super::put(&mut world, root, Value::Object(state.clone()));
        let mut odd = Vec::new();
        for (key, value) in state {
            // Computed values follow from the rest, whatever a case says.
            if schema.root_node().properties().any(|(known, node)| known == key && node.is_computed()) {
                continue;
            }
            let set = StateOperation::new(root.child(key.as_str()), StateChange::Set(value), "", "");
            for problem in fold(&mut world, &[set], &self.rules) {
                let keys = problem.path.below(root).unwrap_or_default();
                odd.push(format!("no session has a \"{name}\" like this: {problem}{}", self.key_suggestion(keys)));
            }
        }
        odd
    }

    /// Suggests a declared key for one that the schema excludes.
    fn key_suggestion(&self, keys: &[String]) -> String {
        let stray = self.plugin.schema().and_then(|schema| schema.root_node().first_undeclared(keys));
        let hint = stray
            .filter(|(_, node)| node.is_closed())
            .and_then(|(depth, node)| Some(did_you_mean(keys.get(depth)?, node.properties().map(|(known, _)| known))));
        hint.unwrap_or_default()
    }

    fn unknown_rules(&self) -> Vec<String> {
        let rules = &self.plugin.manifest().rules;
        let names = || rules.iter().map(|rule| rule.name.as_str());
        let unknown = self.case.fired().filter(|(fired, _)| !names().any(|name| name == *fired));
        let say = |(fired, _)| format!("\"fired\" names an unknown rule: {fired}{}", did_you_mean(fired, names()));
        unknown.map(say).collect()
    }

    fn unknown_command(&self) -> Option<String> {
        let manifest = self.plugin.manifest();
        let typed = self.case.command()?;
        let word = SlashCommand::parse(typed).map_or(typed, |typed| typed.word);
        let known = manifest.commands.iter();
        let known = known.flat_map(|one| std::iter::once(&one.name).chain(&one.aliases)).map(String::as_str);
        let hint = did_you_mean(word, known);
        manifest.command(word).is_none().then(|| format!("the manifest has no command \"{word}\"{hint}"))
    }
}

/// Returns whether manifest rules run after a hook, even if the script does not define it.
pub(super) const fn is_rule_hook(hook: crate::Hook) -> bool {
    use crate::Hook::{OnEdit, OnInput, OnReply};
    matches!(hook, OnInput | OnReply | OnEdit)
}
