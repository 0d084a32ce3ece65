//! Macros for participants: names and card texts.

use super::super::{MacroContext, MacroEngine};
use super::MacroDefinition;

/// The rows of the table.
pub const ROWS: &[MacroDefinition] = &[
    MacroDefinition::plain(&["user"], |m, _| Some(m.facts.user.clone())),
    MacroDefinition::plain(&["char"], |m, _| Some(m.facts.char_name(m.speaker.as_deref()).to_owned())),
    MacroDefinition::plain(&["group", "charIfNotGroup"], |m, _| Some(all_characters(m))),
    MacroDefinition::plain(&["groupNotMuted"], |m, _| Some(unmuted_characters(m, ""))),
    MacroDefinition::plain(&["notChar"], |m, _| {
        let facts = m.facts;
        Some(if facts.group.is_empty() { facts.user.clone() } else { unmuted_characters(m, &facts.character) })
    }),
    MacroDefinition::plain(&["persona"], |m, _| card_text(m, "persona", |facts| &facts.persona)),
    MacroDefinition::plain(&["description", "charDescription"], |m, _| {
        card_text(m, "description", |facts| &facts.card.description)
    }),
    MacroDefinition::plain(&["personality", "charPersonality"], |m, _| {
        card_text(m, "personality", |facts| &facts.card.personality)
    }),
    MacroDefinition::plain(&["scenario", "charScenario"], |m, _| {
        card_text(m, "scenario", |facts| &facts.card.scenario)
    }),
    MacroDefinition::plain(&["mesExamplesRaw"], |m, _| card_text(m, "mesExamples", |facts| &facts.card.examples)),
    MacroDefinition::plain(&["mesExamples"], |m, _| {
        card_text(m, "mesExamples", |facts| &facts.card.examples).map(|text| example_blocks(&text))
    }),
    MacroDefinition::plain(&["charPrompt"], |m, _| card_text(m, "charPrompt", |facts| &facts.card.system)),
    MacroDefinition::plain(&["charInstruction", "charJailbreak"], |m, _| {
        card_text(m, "charInstruction", |facts| &facts.card.post_history)
    }),
    MacroDefinition::plain(&["charDepthPrompt"], |m, _| {
        card_text(m, "charDepthPrompt", |facts| &facts.card.depth_prompt)
    }),
    MacroDefinition::plain(&["charCreatorNotes", "creatorNotes"], |m, _| {
        card_text(m, "charCreatorNotes", |facts| &facts.card.creator_notes)
    }),
    MacroDefinition::plain(&["charVersion", "version", "char_version"], |m, _| Some(m.facts.card.version.clone())),
    MacroDefinition {
        integer_args: &[0],
        ..MacroDefinition::with_args(&["charFirstMessage", "greeting"], 0..=1, |m, call| {
            let at = if call.args.is_empty() { 0 } else { call.arg(0).parse().unwrap_or(usize::MAX) };
            let text = m.facts.card.greetings.get(at).map_or("", String::as_str);
            fill_card_text(m, "greeting", text)
        })
    },
];

/// Returns the names of all characters.
fn all_characters(m: &MacroEngine<'_>) -> String {
    let facts = m.facts;
    if facts.group.is_empty() { facts.character.clone() } else { facts.group.join(", ") }
}

/// Returns the names of the unmuted characters, except `but`.
fn unmuted_characters(m: &MacroEngine<'_>, but: &str) -> String {
    let facts = m.facts;
    if facts.group.is_empty() {
        return facts.character.clone();
    }
    let speaks = |name: &&String| !facts.muted.contains(name) && name.as_str() != but;
    facts.group.iter().filter(speaks).map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// Returns an expanded card text.
fn card_text(m: &mut MacroEngine<'_>, name: &'static str, text: fn(&MacroContext) -> &String) -> Option<String> {
    let text = text(m.facts);
    fill_card_text(m, name, text)
}

/// Expands a card text by name. A text inside itself is not expanded, because that would never end.
pub fn fill_card_text(m: &mut MacroEngine<'_>, name: &'static str, text: &str) -> Option<String> {
    /// Largest nesting of card texts.
    const DEEPEST: usize = 4;
    if m.active_card_texts.contains(&name) || m.active_card_texts.len() >= DEEPEST {
        return None;
    }
    m.active_card_texts.push(name);
    m.work += text.len();
    let original = m.original.take();
    let filled = m.expand(text);
    m.original = original;
    m.active_card_texts.pop();
    Some(filled)
}

/// Formats example dialogue as blocks, each after its marker.
fn example_blocks(text: &str) -> String {
    const MARK: &str = "<START>";
    let lower = text.to_ascii_lowercase();
    let mark = MARK.to_ascii_lowercase();
    let starts: Vec<usize> = lower.match_indices(&mark).map(|(at, _)| at).collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let block = |(start, end): (&usize, usize)| {
        let told = text.get(start + MARK.len()..end).unwrap_or_default();
        format!("{MARK}\n{}\n", told.trim())
    };
    starts.iter().zip(ends).map(block).collect()
}
