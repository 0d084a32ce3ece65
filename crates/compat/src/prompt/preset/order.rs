//! The parts of a request in order, with their texts.

use super::{ChatPosition, Preset, PresetPart, PromptInput, PromptPosition, PromptRenderer};
use clotho_core::tree::Role;

pub(super) const MAIN: &str = "main";
pub(super) const POST_HISTORY: &str = "jailbreak";
pub(super) const HISTORY: &str = "chatHistory";
pub(super) const EXAMPLES: &str = "dialogueExamples";

/// Markers with a text. If the order does not name one, it is sent at the end, in this order.
const TEXT_MARKERS: [&str; 6] =
    ["worldInfoBefore", "worldInfoAfter", "charDescription", "charPersonality", "scenario", "personaDescription"];

/// A part of a request with its rendered text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RenderedPart {
    pub id: String,
    pub role: Role,
    pub text: String,
    pub in_chat: Option<ChatPosition>,
}

/// Renders the enabled parts in order.
///
/// The preset's own texts are rendered first, in order, so that variables written by one are visible to later ones.
/// Then the markers follow. A disabled main part stays as an empty part, as the anchor for a note.
pub(super) fn render_parts(
    preset: &Preset,
    given: &PromptInput<'_>,
    words: &mut dyn PromptRenderer,
) -> Vec<RenderedPart> {
    let known = |id: &str| preset.parts.iter().find(|part| part.id == id);
    let mut chosen: Vec<(&PresetPart, bool)> =
        preset.order.iter().filter_map(|(id, is_on)| Some((known(id)?, *is_on))).collect();
    let is_named = |id: &str| preset.order.iter().any(|(named, _)| named == id);
    chosen.extend(TEXT_MARKERS.iter().filter(|id| !is_named(id)).filter_map(|id| Some((known(id)?, true))));
    chosen.retain_mut(|(part, is_on)| {
        *is_on &= part.triggers.is_empty() || part.triggers.iter().any(|kind| kind == given.kind.word());
        *is_on || part.id == MAIN
    });
    let mut filled: Vec<RenderedPart> =
        chosen.iter().map(|(part, is_on)| render_own(part, *is_on, given, words)).collect();
    for (filled, (part, _)) in filled.iter_mut().zip(&chosen).filter(|(_, (part, _))| part.text.is_none()) {
        filled.text = marker_text(preset, &part.id, given, words);
    }
    filled
}

fn render_own(part: &PresetPart, is_on: bool, given: &PromptInput<'_>, words: &mut dyn PromptRenderer) -> RenderedPart {
    let text = match &part.text {
        Some(text) if is_on => with_card_override(part, text, given, words),
        _ => String::new(),
    };
    let in_chat = part.chat_position.filter(|_| is_on);
    RenderedPart { id: part.id.clone(), role: part.role, text, in_chat }
}

/// Renders the text of a part, or the card's replacement for it.
fn with_card_override(
    part: &PresetPart,
    text: &str,
    given: &PromptInput<'_>,
    words: &mut dyn PromptRenderer,
) -> String {
    let card = match part.id.as_str() {
        MAIN => given.card_main,
        POST_HISTORY => given.card_post_history,
        _ => "",
    };
    if card.is_empty() || part.forbids_override { words.fill(text) } else { words.fill_over(card, text) }
}

fn marker_text(preset: &Preset, id: &str, given: &PromptInput<'_>, words: &mut dyn PromptRenderer) -> String {
    let settings = &preset.settings;
    match id {
        "worldInfoBefore" => format_lore(&settings.lore_format, &given.lore.before, words),
        "worldInfoAfter" => format_lore(&settings.lore_format, &given.lore.after, words),
        "charDescription" => words.fill(given.description),
        "charPersonality" => apply_format(&settings.personality_format, given.personality, words),
        "scenario" => apply_format(&settings.scenario_format, given.scenario, words),
        "personaDescription" if given.persona.place == PromptPosition::Prompt => words.fill(&given.persona.text),
        _ => String::new(),
    }
}

fn format_lore(frame: &str, text: &str, words: &mut dyn PromptRenderer) -> String {
    if text.is_empty() || frame.is_empty() { text.to_owned() } else { words.fill(frame).replace("{0}", text) }
}

/// Renders a card text with its format. The format refers to the text by its macro.
fn apply_format(frame: &str, text: &str, words: &mut dyn PromptRenderer) -> String {
    match (text.is_empty(), frame.is_empty()) {
        (true, _) => String::new(),
        (_, true) => words.fill(text),
        _ => words.fill(frame),
    }
}
