//! The text before the history.

use super::super::candidate::{AllocationStage, HISTORY, PromptCandidates, PromptOrder, PromptScope, PromptSource};
use super::super::{PromptMessage, PromptRenderer};
use clotho_core::tree::Role;

/// The source of the text before the history.
pub(super) struct HeadingSource;

impl PromptSource for HeadingSource {
    fn gather(&self, scope: &PromptScope<'_>, renderer: &mut dyn PromptRenderer, gathered: &mut PromptCandidates) {
        let text = renderer.fill(&scope.preset.settings.new_chat);
        let Some(part) = scope.anchor(HISTORY) else { return };
        let tokens = renderer.count(&text);
        let heading = vec![PromptMessage::from_part(Role::System, text, "newChat")];
        gathered.push(PromptOrder::after(part, 0), AllocationStage::Required, tokens, heading);
    }
}
