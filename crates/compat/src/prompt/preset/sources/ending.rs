//! What stands after everything else: the instruction of a task, the message to continue, the start of the reply.

use super::super::candidate::{AllocationStage, HISTORY, PromptCandidates, PromptOrder, PromptScope, PromptSource};
use super::super::render::without_carriage_returns;
use super::super::{GenerationType, MessageSource, PromptLayout, PromptMessage, PromptRenderer, names};
use clotho_core::tree::Role;

/// The source of the ending.
pub(super) struct EndingSource;

impl PromptSource for EndingSource {
    fn gather(&self, scope: &PromptScope<'_>, renderer: &mut dyn PromptRenderer, gathered: &mut PromptCandidates) {
        let (messages, prefill) = ending(scope, renderer);
        for (place, message) in messages.into_iter().enumerate() {
            // The message to continue is sent whatever its size.
            let is_said = message.history_index().is_some();
            let stage = if is_said { AllocationStage::Continuation } else { AllocationStage::Required };
            let tokens = renderer.count(&message.text);
            gathered.push(PromptOrder::end(place), stage, tokens, vec![message]);
        }
        if let Some(prefill) = &prefill {
            let tokens = renderer.count(prefill);
            gathered.push(PromptOrder::end(usize::MAX), AllocationStage::Required, tokens, Vec::new());
        }
        gathered.prefill = prefill;
    }
}

/// Returns the last messages, and the start of the reply.
fn ending(scope: &PromptScope<'_>, renderer: &mut dyn PromptRenderer) -> (Vec<PromptMessage>, Option<String>) {
    let (settings, given) = (&scope.preset.settings, scope.input);
    let prefill =
        if given.kind == GenerationType::Impersonate { &settings.impersonation_prefill } else { &settings.prefill };
    let mut prefill = given.has_prefill.then(|| renderer.fill(prefill)).filter(|text| !text.is_empty());
    let mut messages = Vec::new();
    let has_history = scope.parts.iter().any(|own| own.part.id == HISTORY);
    match (given.kind, given.history.split_last()) {
        (GenerationType::Impersonate, _) => {
            let asks = match settings.layout {
                PromptLayout::Parts => Role::System,
                PromptLayout::Turns => Role::User,
            };
            messages.push(PromptMessage::from_part(asks, renderer.fill(&settings.impersonation), "impersonation"));
        }
        (GenerationType::Continue, Some((last, before))) if has_history => {
            let text = without_carriage_returns(renderer.fill(&last.text));
            let said = text.trim().to_owned();
            let (name, text) = match (settings.continue_prefill, prefill.take()) {
                (true, Some(prefill)) => (None, format!("{prefill}\n\n{text}")),
                (true, None) => names::apply_naming(settings.naming, last, text),
                // A message moved to the end has no name field.
                (false, other) => {
                    prefill = other;
                    (None, names::apply_naming(settings.naming, last, text).1)
                }
            };
            let from = vec![MessageSource::History(before.len())];
            messages.push(PromptMessage { role: last.role, name, text, sources: from });
            if !settings.continue_prefill {
                let nudge = continue_nudge(&settings.continue_nudge, &said, renderer);
                messages.push(PromptMessage::from_part(Role::System, nudge, "nudge"));
            }
        }
        _ => {}
    }
    (messages, prefill)
}

/// Builds the instruction to continue; `{{lastChatMessage}}` in it is the message to continue.
fn continue_nudge(text: &str, said: &str, renderer: &mut dyn PromptRenderer) -> String {
    let parts: Vec<String> = text.split("{{lastChatMessage}}").map(|part| renderer.fill(part)).collect();
    parts.join(said)
}
