//! The rules of a manifest in a test: they follow the hook, as in a story.

use serde_json::json;

use super::Bench;
use crate::plugin::call::{Hook, Outcome};
use crate::plugin::schedule::{Occasion, Ran, fire, kept_at};
use crate::world::{Change, Operation, Rules, Section, World, fold};

impl Bench<'_> {
    /// The rules that have fired already.
    pub(super) fn remember(&self, world: &mut World) {
        let id = &self.plugin.manifest().id;
        let set = self.case.fired().map(|(rule, turn)| Operation {
            section: Section::Lore,
            ..Operation::new(kept_at(id, rule), Change::Set(json!({"once": true, "turn": turn})), "", "")
        });
        fold(world, &set.collect::<Vec<_>>(), &Rules::default());
    }

    /// What the rules of the manifest do after the hook, as in a story: and all of it together.
    pub(super) fn with_rules(&self, mut outcome: Outcome) -> (Ran, Outcome) {
        let hook = self.case.hook;
        if !matches!(hook, Hook::OnInput | Hook::OnReply | Hook::OnEdit) || outcome.error.is_some() {
            return (Ran::default(), outcome);
        }
        // Before the message is what was there when the hook began.
        let Ok(base) = self.base() else { return (Ran::default(), outcome) };
        let call = self.call_on(&base);
        let manifest = self.plugin.manifest();
        let occasion = Occasion {
            plugin: &manifest.id,
            root: &manifest.state.root,
            rules: &manifest.rules,
            before: &call.before,
            is_reply: hook != Hook::OnInput,
            turn: call.node.turn,
            replies: self.case.replies(),
            schemas: &self.rules,
            grants: &call.grants,
            language: &call.language,
        };
        let ran = fire(&occasion, &mut outcome.world);
        for fired in &ran.fired {
            let own = fired.operations.iter().filter(|operation| operation.section == Section::Vars);
            outcome.operations.extend(own.cloned());
            outcome.problems.extend(fired.problems.iter().cloned());
            outcome.notes.extend(fired.notes.iter().cloned());
            outcome.warnings.extend(fired.warnings.iter().cloned());
        }
        outcome.warnings.extend(ran.troubles().into_iter().map(|(_, message)| message));
        (ran, outcome)
    }
}
