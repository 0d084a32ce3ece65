//! Example dialogue: blocks begin with `<START>`, turns begin with a name.

use super::super::candidate::{AllocationStage, EXAMPLES, PromptCandidates, PromptOrder, PromptScope, PromptSource};
use super::super::{MessageSource, PromptInput, PromptLayout, PromptMessage, PromptRenderer};
use clotho_core::tree::Role;

const START: &str = "<START>";

/// The source of the examples.
pub(super) struct ExampleSource;

impl PromptSource for ExampleSource {
    fn gather(&self, scope: &PromptScope<'_>, renderer: &mut dyn PromptRenderer, gathered: &mut PromptCandidates) {
        let Some(part) = scope.anchor(EXAMPLES).filter(|_| !scope.input.strips_examples) else { return };
        // Examples come before the history if they are pinned, or with the layout `Turns`.
        let stage = match scope.preset.settings.layout {
            _ if scope.input.pins_examples => AllocationStage::PinnedExamples,
            PromptLayout::Turns => AllocationStage::LeadingExamples,
            PromptLayout::Parts => AllocationStage::TrailingExamples,
        };
        for (place, block) in example_blocks(scope, renderer).into_iter().enumerate() {
            let tokens = block.iter().map(|message| renderer.count(&message.text)).sum();
            gathered.push(PromptOrder::after(part, place), stage, tokens, block);
        }
    }
}

/// Returns the example blocks, each after the text for new examples. A block without speakers is sent as it is written.
fn example_blocks(scope: &PromptScope<'_>, renderer: &mut dyn PromptRenderer) -> Vec<Vec<PromptMessage>> {
    let (settings, given) = (&scope.preset.settings, scope.input);
    let before = given.lore.examples_before.iter().map(String::as_str);
    let texts = before.chain([given.examples]).chain(given.lore.examples_after.iter().map(String::as_str));
    let texts: Vec<String> = texts.map(|text| renderer.fill(text)).collect();
    let heading = renderer.fill(&settings.new_example);
    let blocks = texts.iter().flat_map(|text| split_blocks(text));
    blocks.map(|block| block_with_heading(&heading, settings.layout, block, given)).collect()
}

fn block_with_heading(heading: &str, form: PromptLayout, block: &str, given: &PromptInput<'_>) -> Vec<PromptMessage> {
    let mut messages = vec![PromptMessage::from_part(Role::System, heading, "newExample")];
    let turns = split_turns(block, form, given);
    if turns.is_empty() {
        messages.push(PromptMessage::from_part(Role::System, block, EXAMPLES));
    }
    messages.extend(turns);
    messages
}

/// Splits a text into blocks; the case of the markers is ignored.
fn split_blocks(text: &str) -> Vec<&str> {
    let lower = text.to_ascii_uppercase();
    let mut blocks = Vec::new();
    let mut from = 0;
    for (at, mark) in lower.match_indices(START) {
        blocks.push(text.get(from..at).unwrap_or_default());
        from = at + mark.len();
    }
    blocks.push(text.get(from..).unwrap_or_default());
    blocks.into_iter().map(str::trim).filter(|block| !block.is_empty()).collect()
}

/// Splits a block into turns; text before the first turn belongs to it.
fn split_turns(block: &str, form: PromptLayout, given: &PromptInput<'_>) -> Vec<PromptMessage> {
    let speakers = [(given.user, "example_user", Role::User), (given.character, "example_assistant", Role::Assistant)];
    let mut turns: Vec<(&str, &str, Role, Vec<&str>)> = Vec::new();
    let mut before: Vec<&str> = Vec::new();
    for line in block.lines() {
        let speaks = |name: &str| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(':'));
        match speakers.iter().find(|(name, ..)| speaks(name)) {
            Some((name, word, role)) => {
                let mut lines = std::mem::take(&mut before);
                lines.push(line);
                turns.push((name, word, *role, lines));
            }
            None => turns.last_mut().map_or(&mut before, |(.., lines)| lines).push(line),
        }
    }
    let said = turns.into_iter().map(|(name, word, role, lines)| {
        let text = lines.join("\n").replacen(&format!("{name}:"), "", 1);
        let from = vec![MessageSource::Part(EXAMPLES.to_owned())];
        let (role, name) = match form {
            PromptLayout::Parts => (Role::System, Some(word.to_owned())),
            PromptLayout::Turns => (role, None),
        };
        PromptMessage { role, name, text: text.trim().to_owned(), sources: from }
    });
    said.collect()
}
