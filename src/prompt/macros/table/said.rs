//! What was said on this path, and what the prompt is made for.

use super::{Row, names};

/// The rows.
pub const ROWS: &[Row] = &[
    Row::plain(&["lastMessage"], |m, _| Some(m.facts.said.last.clone())),
    Row::plain(&["lastUserMessage"], |m, _| Some(m.facts.said.last_user.clone())),
    Row::plain(&["lastCharMessage"], |m, _| Some(m.facts.said.last_character.clone())),
    Row::plain(&["lastMessageId"], |m, _| Some(or_empty(m.facts.said.last_id))),
    Row::plain(&["firstIncludedMessageId"], |m, _| Some(or_empty(m.facts.said.first_included))),
    Row::plain(&["currentSwipeId"], |m, _| Some(or_empty(m.facts.said.version.map(|(which, _)| which)))),
    Row::plain(&["lastSwipeId"], |m, _| Some(or_empty(m.facts.said.version.map(|(_, of)| of)))),
    Row::plain(&["allChatRange"], |m, _| {
        Some(m.facts.said.last_id.map(|last| format!("0-{last}")).unwrap_or_default())
    }),
    Row::plain(&["input"], |m, _| Some(m.facts.input.clone())),
    Row::plain(&["model"], |m, _| Some(m.facts.model.clone())),
    Row::plain(&["lastGenerationType"], |m, _| Some(m.facts.purpose.clone())),
    Row::plain(&["systemPrompt"], |m, _| {
        let facts = m.facts;
        let text = if facts.card.system.trim().is_empty() { &facts.main } else { &facts.card.system };
        names::filled(m, "systemPrompt", text)
    }),
    Row::plain(&["defaultSystemPrompt"], |m, _| Some(m.facts.main.clone())),
    Row::plain(&["authorsNote"], |m, _| Some(m.facts.note.clone())),
    Row::plain(&["summary"], |m, _| Some(m.facts.summary.clone())),
    Row::plain(&["maxPrompt", "maxPromptTokens"], |m, _| {
        Some(m.facts.sizes.context.saturating_sub(m.facts.sizes.reply).to_string())
    }),
    Row::plain(&["maxContext", "maxContextTokens"], |m, _| Some(m.facts.sizes.context.to_string())),
    Row::plain(&["maxResponse", "maxResponseTokens"], |m, _| Some(m.facts.sizes.reply.to_string())),
    // There is no page here, and nothing is added to it.
    Row::plain(&["isMobile"], |_, _| Some("false".to_owned())),
    Row::with(&["hasExtension"], (1, 1), |_, _| Some("false".to_owned())),
    Row::with(&["outlet"], (1, 1), |m, call| {
        let outlets = m.outlets.as_ref()?;
        Some(outlets.get(call.arg(0)).cloned().unwrap_or_default())
    }),
    Row::plain(&["original"], |m, _| m.original.as_mut().map(std::mem::take)),
];

fn or_empty(number: Option<u64>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}
