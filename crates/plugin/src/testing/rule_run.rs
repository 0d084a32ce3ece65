//! Runs the manifest's rules in a test, after the hook as in a story.

use serde_json::json;

use super::CaseRunner;
use super::lint::is_rule_hook;
use crate::call::{Hook, HookAnswer, HookOutcome};
use crate::manifest::Manifest;
use crate::manifest_rules::{RuleInput, RulesOutcome, fire, firing_pointer};
use crate::slash_command::SlashCommand;
use clotho_core::world::{SchemaSet, StateChange, StateOperation, World, WorldSection, fold};

/// Returns whether a text is a slash command that the plugin answered itself.
fn is_own_command(text: &str, manifest: &Manifest, answer: &HookAnswer) -> bool {
    let is_command = || SlashCommand::parse(text).is_some_and(|typed| manifest.command(typed.word).is_some());
    matches!(answer, HookAnswer::Input { reply, stop, .. } if reply.is_some() || *stop) && is_command()
}

impl CaseRunner<'_> {
    /// Records the rules that have fired already.
    pub(super) fn record_fired_rules(&self, world: &mut World) {
        let id = &self.plugin.manifest().id;
        let set = self.case.fired().map(|(rule, turn)| StateOperation {
            section: WorldSection::Lore,
            ..StateOperation::new(
                firing_pointer(id, rule),
                StateChange::Set(json!({"once": true, "turn": turn})),
                "",
                "",
            )
        });
        fold(world, &set.collect::<Vec<_>>(), &SchemaSet::default());
    }

    /// Runs the manifest's rules after the hook, as in a story. Returns their result and the outcome of both together.
    pub(super) fn run_rules(&self, mut outcome: HookOutcome) -> (RulesOutcome, HookOutcome) {
        let hook = self.case.hook;
        if !is_rule_hook(hook) || outcome.error.is_some() {
            return (RulesOutcome::default(), outcome);
        }
        // The state before the message is that before the hook.
        let Ok(base) = self.base() else { return (RulesOutcome::default(), outcome) };
        let call = self.call_on(&base);
        let manifest = self.plugin.manifest();
        let occasion = RuleInput {
            plugin: &manifest.id,
            root: &manifest.state.root,
            rules: &manifest.rules,
            before: &call.world_before,
            is_reply: hook != Hook::OnInput,
            is_side_call: hook == Hook::OnInput && is_own_command(&call.text, manifest, &outcome.answer),
            turn: call.node.turn,
            replies: self.case.replies(),
            schemas: &self.rules,
            grants: &call.grants,
            language: &call.language,
        };
        let ran = outcome.world.as_mut().map(|world| fire(&occasion, world)).unwrap_or_default();
        for fired in &ran.fired {
            let own = fired.operations.iter().filter(|operation| operation.section == WorldSection::Vars);
            outcome.operations.extend(own.cloned());
            outcome.problems.extend(fired.problems.iter().cloned());
            outcome.notes.extend(fired.notes.iter().cloned());
            outcome.warnings.extend(fired.warnings.iter().cloned());
        }
        outcome.warnings.extend(ran.rule_problems().iter().map(ToString::to_string));
        (ran, outcome)
    }
}
