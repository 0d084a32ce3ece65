//! The texts of card and persona, as the input of a prompt.

use clotho_compat::prompt::preset::{
    GenerationType, HistoryTruncation, PositionedText, PromptInput, PromptLore, PromptPosition,
};
use clotho_compat::prompt::{DEFAULT_DEPTH, PromptCast, PromptTokenLimits};
use clotho_core::tree::Role;

/// Returns the input of a prompt that has only the texts of card and persona.
pub(super) fn card_input(cast: &PromptCast) -> PromptInput<'_> {
    const NONE: &PromptLore = &PromptLore::NONE;
    PromptInput {
        kind: GenerationType::Normal,
        user: &cast.user,
        character: &cast.character,
        description: &cast.description,
        personality: &cast.personality,
        scenario: &cast.scenario,
        examples: &cast.examples,
        card_main: &cast.system,
        card_post_history: &cast.post_history,
        card_depth: card_depth_text(cast),
        persona: PositionedText { text: cast.persona.clone(), position: PromptPosition::Prompt, role: Role::System },
        note: None,
        lore: NONE,
        history: &[],
        state: "",
        injected: &[],
        filler: "",
        truncation: HistoryTruncation::Exact,
        strips_examples: false,
        pins_examples: false,
        has_prefill: false,
        reserve: 0,
        cut_reserve: 0,
        default_budget: PromptTokenLimits::default(),
        prompt_tokens: 0,
    }
}

/// Returns the depth prompt of the card, if it has one.
fn card_depth_text(cast: &PromptCast) -> Option<PositionedText> {
    let (depth, role) = cast.depth_prompt_position.unwrap_or(DEFAULT_DEPTH);
    let text = cast.depth_prompt.clone();
    (!text.trim().is_empty()).then_some(PositionedText { text, position: PromptPosition::Depth(depth), role })
}
