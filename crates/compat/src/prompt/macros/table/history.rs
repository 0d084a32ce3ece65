//! Macros for messages of this path and for the request.

use super::{MacroDefinition, names};

/// The rows of the table.
pub const ROWS: &[MacroDefinition] = &[
    MacroDefinition::plain(&["lastMessage"], |m, _| Some(m.facts.history.last.clone())),
    MacroDefinition::plain(&["lastUserMessage"], |m, _| Some(m.facts.history.last_user.clone())),
    MacroDefinition::plain(&["lastCharMessage"], |m, _| Some(m.facts.history.last_character.clone())),
    MacroDefinition::plain(&["lastMessageId"], |m, _| Some(or_empty(m.facts.history.last_id))),
    MacroDefinition::plain(&["firstIncludedMessageId"], |m, _| Some(or_empty(m.facts.history.first_included))),
    MacroDefinition::plain(&["currentSwipeId"], |m, _| Some(or_empty(m.facts.history.version.map(|(which, _)| which)))),
    MacroDefinition::plain(&["lastSwipeId"], |m, _| Some(or_empty(m.facts.history.version.map(|(_, of)| of)))),
    MacroDefinition::plain(&["allChatRange"], |m, _| {
        Some(m.facts.history.last_id.map(|last| format!("0-{last}")).unwrap_or_default())
    }),
    MacroDefinition::plain(&["input"], |m, _| Some(m.facts.input.clone())),
    MacroDefinition::plain(&["model"], |m, _| Some(m.facts.model.clone())),
    MacroDefinition::plain(&["lastGenerationType"], |m, _| Some(m.facts.generation_type.clone())),
    MacroDefinition::plain(&["systemPrompt"], |m, _| {
        let facts = m.facts;
        let text = if facts.card.system.trim().is_empty() { &facts.main } else { &facts.card.system };
        names::fill_card_text(m, "systemPrompt", text)
    }),
    MacroDefinition::plain(&["defaultSystemPrompt"], |m, _| Some(m.facts.main.clone())),
    MacroDefinition::plain(&["authorsNote"], |m, _| Some(m.facts.note.clone())),
    MacroDefinition::plain(&["summary"], |m, _| Some(m.facts.summary.clone())),
    MacroDefinition::plain(&["maxPrompt", "maxPromptTokens"], |m, _| {
        Some(m.facts.token_limits.context.saturating_sub(m.facts.token_limits.reply).to_string())
    }),
    MacroDefinition::plain(&["maxContext", "maxContextTokens"], |m, _| Some(m.facts.token_limits.context.to_string())),
    MacroDefinition::plain(&["maxResponse", "maxResponseTokens"], |m, _| Some(m.facts.token_limits.reply.to_string())),
    // Prompts are built on the server: no page, no extensions.
    MacroDefinition::plain(&["isMobile"], |_, _| Some("false".to_owned())),
    MacroDefinition::with_args(&["hasExtension"], 1..=1, |_, _| Some("false".to_owned())),
    MacroDefinition::with_args(&["outlet"], 1..=1, |m, call| {
        let outlets = m.outlets.as_ref()?;
        Some(outlets.get(call.arg(0)).cloned().unwrap_or_default())
    }),
    MacroDefinition::plain(&["original"], |m, _| m.original.as_mut().map(std::mem::take)),
];

fn or_empty(number: Option<u64>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}
