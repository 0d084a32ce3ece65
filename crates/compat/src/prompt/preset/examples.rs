//! Parses example dialogue: blocks begin with `<START>`, turns begin with a name.

use super::{MessageSource, PromptInput, PromptLayout, PromptMessage, PromptRenderer};
use clotho_core::tree::Role;

const ID: &str = "dialogueExamples";
const START: &str = "<START>";

/// Returns the example blocks, each after the text for new examples. A block without speakers is sent as it is written.
pub(super) fn example_blocks(
    frame: &str,
    form: PromptLayout,
    given: &PromptInput<'_>,
    words: &mut dyn PromptRenderer,
) -> Vec<Vec<PromptMessage>> {
    let lore = given.lore;
    let texts = lore.examples_before.iter().map(String::as_str).chain([given.examples]);
    let texts: Vec<String> =
        texts.chain(lore.examples_after.iter().map(String::as_str)).map(|text| words.fill(text)).collect();
    let frame = words.fill(frame);
    let split: Vec<&str> = texts.iter().flat_map(|text| split_blocks(text)).collect();
    split.into_iter().map(|block| block_with_heading(&frame, form, block, given)).collect()
}

fn block_with_heading(frame: &str, form: PromptLayout, block: &str, given: &PromptInput<'_>) -> Vec<PromptMessage> {
    let mut messages = vec![PromptMessage::from_part(Role::System, frame, "newExample")];
    let turns = split_turns(block, form, given);
    if turns.is_empty() {
        messages.push(PromptMessage::from_part(Role::System, block, ID));
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
        let from = vec![MessageSource::Part(ID.to_owned())];
        let (role, name) = match form {
            PromptLayout::Parts => (Role::System, Some(word.to_owned())),
            PromptLayout::Turns => (role, None),
        };
        PromptMessage { role, name, text: text.trim().to_owned(), from }
    });
    said.collect()
}
