//! The parts of the preset in order, with their texts.

use super::super::candidate::{
    AllocationStage, CandidateKind, ChatText, EXAMPLES, HISTORY, MAIN, PromptCandidate, PromptCandidates, PromptOrder,
    PromptScope, PromptSource, ScopePart,
};
use super::super::{
    ChatPosition, OmittedText, Preset, PresetPart, PromptInput, PromptLayout, PromptMessage, PromptPosition,
    PromptRenderer,
};
use crate::prompt::OmitReason;
use clotho_core::tree::Role;

const POST_HISTORY: &str = "jailbreak";
/// Parts in which a card or persona may repeat a text.
const CARD_PARTS: [&str; 5] = ["main", "charDescription", "charPersonality", "scenario", "personaDescription"];

/// The source of the parts.
pub(super) struct PartSource;

/// A part of a request with its rendered text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RenderedPart {
    id: String,
    role: Role,
    text: String,
    in_chat: Option<ChatPosition>,
}

impl PromptSource for PartSource {
    fn gather(&self, scope: &PromptScope<'_>, renderer: &mut dyn PromptRenderer, gathered: &mut PromptCandidates) {
        let mut parts = render_parts(scope, renderer);
        if scope.preset.settings.layout == PromptLayout::Turns {
            gathered.omitted.extend(remove_duplicates(&mut parts));
        }
        for (index, RenderedPart { id, role, text, in_chat }) in parts.into_iter().enumerate() {
            if let Some(at) = in_chat {
                gathered.chat_texts.push(ChatText { at, role, text, id, part: Some(index) });
                continue;
            }
            let is_anchor = matches!(id.as_str(), HISTORY | EXAMPLES);
            gathered.texts.push(PromptCandidate {
                kind: if is_anchor { CandidateKind::Anchor } else { CandidateKind::Part },
                order: PromptOrder::part(index),
                stage: AllocationStage::Required,
                tokens: renderer.count(&text),
                messages: vec![PromptMessage::from_part(role, text, &id)],
            });
        }
    }
}

/// Renders the parts.
///
/// The preset's own texts are rendered first, in order, so that variables written by one are visible to later ones.
/// Then the markers follow.
fn render_parts(scope: &PromptScope<'_>, renderer: &mut dyn PromptRenderer) -> Vec<RenderedPart> {
    let mut rendered: Vec<RenderedPart> =
        scope.parts.iter().map(|own| render_own(own, scope.input, renderer)).collect();
    for (rendered, own) in rendered.iter_mut().zip(&scope.parts).filter(|(_, own)| own.part.text.is_none()) {
        rendered.text = marker_text(scope.preset, &own.part.id, scope.input, renderer);
    }
    rendered
}

fn render_own(own: &ScopePart<'_>, given: &PromptInput<'_>, words: &mut dyn PromptRenderer) -> RenderedPart {
    let text = match &own.part.text {
        Some(text) if own.is_on => with_card_override(own.part, text, given, words),
        _ => String::new(),
    };
    RenderedPart { id: own.part.id.clone(), role: own.part.role, text, in_chat: own.chat_position() }
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
        "personaDescription" if given.persona.position == PromptPosition::Prompt => words.fill(&given.persona.text),
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

/// Empties each part that repeats an earlier one, and returns the removed texts: cards often have the same text in two
/// places.
fn remove_duplicates(parts: &mut [RenderedPart]) -> Vec<OmittedText> {
    let mut said: Vec<String> = Vec::new();
    let mut left = Vec::new();
    let told = |part: &&mut RenderedPart| part.in_chat.is_none() && CARD_PARTS.contains(&part.id.as_str());
    for part in parts.iter_mut().filter(told) {
        let text = part.text.trim().to_owned();
        if text.is_empty() {
            continue;
        }
        if said.contains(&text) {
            let slot = part.id.clone();
            left.push(OmittedText {
                slot,
                role: part.role,
                text: std::mem::take(&mut part.text),
                reason: OmitReason::Duplicate,
            });
        } else {
            said.push(text);
        }
    }
    left
}
