//! Texts inside the chat, at a depth counted from its end: card, persona, state, lore, and inserted texts of plugins.

use super::super::candidate::{ChatText, HISTORY, PromptCandidates, PromptScope, PromptSource};
use super::super::{ChatPosition, PositionedText, PromptInsert, PromptPosition, PromptRenderer};
use clotho_core::tree::Role;

/// Id of the texts of lorebook entries.
pub(super) const LORE: &str = "lore";
/// Order of texts without their own.
const DEFAULT_ORDER: i64 = 100;
/// Base order of inserted texts: they stand nearer to the end than all other texts of their depth.
const INSERT_ORDER: i64 = 1 << 40;
/// Distance between two priorities.
const PRIORITY_STEP: i64 = 1 << 20;

/// The source of texts at a depth that are no parts of the preset.
pub(super) struct ChatTextSource;

impl PromptSource for ChatTextSource {
    fn gather(&self, scope: &PromptScope<'_>, renderer: &mut dyn PromptRenderer, gathered: &mut PromptCandidates) {
        let given = scope.input;
        if scope.anchor(HISTORY).is_none() {
            gathered.omitted.extend(given.injected.iter().map(PromptInsert::without_place));
            return;
        }
        let all = &mut gathered.chat_texts;
        for (text, id) in [(given.card_depth.as_ref(), "cardDepth"), (Some(&given.persona), "personaDescription")] {
            let text = text.filter(|text| matches!(text.position, PromptPosition::Depth(_)));
            all.extend(text.and_then(|text| at_depth(text, renderer.fill(&text.text), id)));
        }
        let system = |depth: usize, order: i64, text: &str, id: &str| {
            let at = ChatPosition { depth, order };
            ChatText { at, role: Role::System, text: text.to_owned(), id: id.to_owned(), part: None }
        };
        all.push(system(1, DEFAULT_ORDER, given.state, "world"));
        for (depth, role, text) in &given.lore.in_chat {
            all.push(ChatText { role: *role, ..system(*depth, DEFAULT_ORDER, text, LORE) });
        }
        // Each gets its own order and thus its own message, so that each can be omitted separately.
        for (n, insert) in (0_i64..).zip(given.injected) {
            let order = INSERT_ORDER.saturating_add(insert.priority.saturating_mul(PRIORITY_STEP)).saturating_add(n);
            all.push(system(insert.depth, order, &insert.text, &insert.slot));
        }
    }
}

/// Returns a text at its depth; `None` if it stands elsewhere.
pub(super) fn at_depth(text: &PositionedText, filled: String, id: &str) -> Option<ChatText> {
    let PromptPosition::Depth(depth) = text.position else { return None };
    let at = ChatPosition { depth, order: DEFAULT_ORDER };
    Some(ChatText { at, role: text.role, text: filled, id: id.to_owned(), part: None })
}
