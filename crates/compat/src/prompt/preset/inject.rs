//! Texts inside the chat, at a depth counted from its end.

use std::collections::BTreeMap;

use super::order::RenderedPart;
use super::{ChatPosition, MessageSource, PositionedText, PromptInput, PromptMessage, PromptPosition, PromptRenderer};
use clotho_core::tree::Role;

/// Order of texts without their own.
const DEFAULT_ORDER: i64 = 100;
/// Base order of inserted texts: they stand nearer to the end than all other texts of their depth.
const INSERT_ORDER: i64 = 1 << 40;
/// Distance between two priorities.
const PRIORITY_STEP: i64 = 1 << 20;

/// A text with its position in the chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChatInjection {
    pub at: ChatPosition,
    pub role: Role,
    pub text: String,
    pub id: String,
}

/// Collects all texts in the chat: parts of the preset, note, card text, persona, state, lore and inserted texts.
pub(super) fn collect_injections(
    parts: &[RenderedPart],
    note: Option<&PositionedText>,
    given: &PromptInput<'_>,
    words: &mut dyn PromptRenderer,
) -> Vec<ChatInjection> {
    let own = parts.iter().filter_map(|part| {
        let at = part.in_chat?;
        Some(ChatInjection { at, role: part.role, text: part.text.clone(), id: part.id.clone() })
    });
    let mut all: Vec<ChatInjection> = own.collect();
    all.extend(note.and_then(|note| position_text(note, note.text.clone(), "authorsNote")));
    for (text, id) in [(given.card_depth.as_ref(), "cardDepth"), (Some(&given.persona), "personaDescription")] {
        let at_depth = text.filter(|text| matches!(text.place, PromptPosition::Depth(_)));
        all.extend(at_depth.and_then(|text| position_text(text, words.fill(&text.text), id)));
    }
    let world = ChatPosition { depth: 1, order: DEFAULT_ORDER };
    all.push(ChatInjection { at: world, role: Role::System, text: given.world.to_owned(), id: "world".to_owned() });
    for (depth, role, text) in &given.lore.in_chat {
        let at = ChatPosition { depth: *depth, order: DEFAULT_ORDER };
        all.push(ChatInjection { at, role: *role, text: text.clone(), id: "lore".to_owned() });
    }
    // Each gets its own order and thus its own message, so that each can be omitted separately.
    for (n, insert) in (0_i64..).zip(given.injected) {
        let order = INSERT_ORDER.saturating_add(insert.priority.saturating_mul(PRIORITY_STEP)).saturating_add(n);
        let at = ChatPosition { depth: insert.depth, order };
        all.push(ChatInjection { at, role: Role::System, text: insert.text.clone(), id: insert.slot.clone() });
    }
    all
}

fn position_text(text: &PositionedText, filled: String, id: &str) -> Option<ChatInjection> {
    let PromptPosition::Depth(depth) = text.place else { return None };
    let at = ChatPosition { depth, order: DEFAULT_ORDER };
    Some(ChatInjection { at, role: text.role, text: filled, id: id.to_owned() })
}

/// Returns the messages at each depth; the one nearest to the end is last.
///
/// Higher orders are nearer to the end. Texts of one order are joined by role: assistant first, then user, then system.
pub(super) fn messages_by_depth(all: Vec<ChatInjection>) -> BTreeMap<usize, Vec<PromptMessage>> {
    let mut sorted: BTreeMap<(usize, i64, u8), PromptMessage> = BTreeMap::new();
    for one in all.into_iter().filter(|one| !one.text.trim().is_empty()) {
        let turn = match one.role {
            Role::Assistant => 0,
            Role::User => 1,
            Role::System => 2,
        };
        let place = (one.at.depth, one.at.order, turn);
        let empty = || PromptMessage { role: one.role, name: None, text: String::new(), from: Vec::new() };
        let message = sorted.entry(place).or_insert_with(empty);
        join(message, &one.text);
        message.from.push(MessageSource::Part(one.id));
    }
    let mut depths: BTreeMap<usize, Vec<PromptMessage>> = BTreeMap::new();
    for ((depth, _, _), message) in sorted {
        depths.entry(depth).or_default().push(message);
    }
    depths
}

/// Appends a text on a new line. White space is trimmed, except at the beginning of a later text.
fn join(message: &mut PromptMessage, text: &str) {
    if message.text.is_empty() {
        message.text.push_str(text.trim());
    } else {
        message.text.push('\n');
        message.text.push_str(text.trim_end());
    }
}
