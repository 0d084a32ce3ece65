//! Renders what a prompt keeps as messages.

use super::candidate::{CandidateKind, PromptCandidate};
use super::squash::squash_system_messages;
use super::{PresetSettings, PromptLayout, PromptMessage};

/// Returns the messages of the kept candidates, which are given in the order of the prompt.
pub(super) fn render_messages(settings: &PresetSettings, kept: Vec<PromptCandidate>) -> Vec<PromptMessage> {
    let messages = kept.into_iter().flat_map(|PromptCandidate { kind, mut messages, .. }| {
        match kind {
            CandidateKind::Part => messages.iter_mut().for_each(|message| clean(settings.layout, message)),
            CandidateKind::Anchor => messages.clear(),
            CandidateKind::Message => {}
        }
        messages
    });
    let messages = messages.filter(|message| !message.text.is_empty()).collect();
    if settings.squash { squash_system_messages(messages) } else { messages }
}

fn clean(layout: PromptLayout, message: &mut PromptMessage) {
    let text = without_carriage_returns(std::mem::take(&mut message.text));
    message.text = if layout == PromptLayout::Turns { text.trim().to_owned() } else { text };
}

/// Removes carriage returns, which are never sent.
pub(super) fn without_carriage_returns(text: String) -> String {
    if text.contains('\r') { text.replace('\r', "") } else { text }
}
