//! Builds the messages of one request in three steps: gather candidates, allocate the budget, render what is kept.

use super::allocate::{AllocationLimits, allocate, check_required};
use super::candidate::{PromptCandidates, PromptScope};
use super::render::render_messages;
use super::sources::{self, HistoryRenderer};
use super::{OmittedText, Preset, PromptInput, PromptMessage, PromptRenderer};
use crate::prompt::TokenOverflow;
use clotho_core::tree::Role;

/// A built request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptAssembly {
    pub messages: Vec<PromptMessage>,
    /// Start of the reply, if the provider supports prefill.
    pub prefill: Option<String>,
    /// Number of history messages sent: the newest ones.
    pub history: usize,
    /// Omitted texts, without the history.
    pub omitted: Vec<OmittedText>,
    /// Tokens of the whole request.
    pub tokens: usize,
    /// Tokens that stay reserved for the substitutes of the cut history.
    pub reserve: usize,
}

impl PromptAssembly {
    /// Returns the messages with the prefill as the last one.
    pub fn messages_with_prefill(&self) -> Vec<PromptMessage> {
        let begun =
            self.prefill.as_ref().map(|text| PromptMessage::from_part(Role::Assistant, text.as_str(), "prefill"));
        self.messages.iter().cloned().chain(begun).collect()
    }
}

/// Error: the mandatory texts do not fit, so nothing is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptOverflow {
    pub too_large: TokenOverflow,
    /// Texts that would have been sent.
    pub omitted: Vec<OmittedText>,
}

/// Builds the messages of one request. The newest message is always sent whole.
///
/// Gathering and allocation meet in two places, because macros write variables. The sources of what is not required are
/// asked only if the rest fits. A message of the history is rendered only when it is its turn.
///
/// # Errors
/// Returns an error if the mandatory texts do not fit.
pub fn assemble(
    preset: &Preset,
    input: &PromptInput<'_>,
    renderer: &mut dyn PromptRenderer,
) -> Result<PromptAssembly, PromptOverflow> {
    // Gather the candidates.
    let scope = PromptScope::new(preset, input);
    let mut gathered = PromptCandidates::default();
    sources::REQUIRED.iter().for_each(|source| source.gather(&scope, renderer, &mut gathered));
    if let Err(too_large) = check_required(input.default_budget, &gathered.texts) {
        return Err(PromptOverflow { too_large, omitted: gathered.omit_all() });
    }
    sources::OPTIONAL.iter().for_each(|source| source.gather(&scope, renderer, &mut gathered));
    // Allocate the budget.
    let limits = allocation_limits(&scope, gathered.chat_tokens, renderer);
    let PromptCandidates { texts, history, prefill, omitted, .. } = gathered;
    let allocation = allocate(&limits, texts, &mut HistoryRenderer::new(&scope, history, renderer));
    // Render what is kept, and say what is not.
    Ok(PromptAssembly {
        messages: render_messages(&preset.settings, allocation.kept),
        prefill,
        history: allocation.history,
        omitted: omitted.into_iter().chain(allocation.omitted).collect(),
        tokens: allocation.tokens,
        reserve: allocation.reserve,
    })
}

/// Returns the limits of a request: its budget, and the shares of the preset.
fn allocation_limits(scope: &PromptScope<'_>, chat: usize, renderer: &dyn PromptRenderer) -> AllocationLimits {
    let PromptInput { default_budget: budget, prompt_tokens, .. } = *scope.input;
    let prompt = if prompt_tokens > 0 { prompt_tokens } else { budget.prompt() };
    let shares = &scope.preset.extensions.shares;
    AllocationLimits {
        budget,
        reserve: scope.input.reserve,
        cut_reserve: scope.input.cut_reserve,
        newest: scope.newest().map_or(0, |newest| renderer.count(&newest.text)),
        chat,
        max_examples: shares.for_examples(prompt),
        min_history: shares.for_history(prompt),
        truncation: scope.input.truncation,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{GenerationType, HistoryMessage, HistoryTruncation, PositionedText, PromptLore, PromptPosition};
    use super::*;
    use crate::prompt::PromptTokenLimits;

    /// Records the texts whose macros are expanded. A text has one token per byte.
    #[derive(Default)]
    struct MacroLog(Vec<String>);

    impl PromptRenderer for MacroLog {
        fn fill(&mut self, text: &str) -> String {
            self.0.extend((!text.is_empty()).then(|| text.to_owned()));
            text.to_owned()
        }

        fn fill_over(&mut self, text: &str, _: &str) -> String {
            self.fill(text)
        }

        fn count(&self, text: &str) -> usize {
            text.len()
        }
    }

    /// The expansion order of SillyTavern. What does not fit is not expanded: optional texts if the mandatory ones are
    /// too large, and older messages after the first one without room.
    #[test]
    fn assembly_expands_macros_in_order() {
        let mut preset = Preset::default();
        let settings = &mut preset.settings;
        settings.new_chat = "new chat".into();
        settings.new_example = "new example".into();
        settings.prefill = "prefill".into();
        settings.personality_format = String::new();
        settings.scenario_format = String::new();
        let positioned = |text: &str, place| PositionedText { text: text.into(), position: place, role: Role::System };
        let history = ["zero", "one", "two", "three"].map(|text| HistoryMessage {
            role: Role::User,
            name: "Ann".into(),
            is_other: false,
            text: text.into(),
        });
        let lore = PromptLore::NONE;
        let input = |context: usize| PromptInput {
            kind: GenerationType::Normal,
            user: "Ann",
            character: "Rin",
            description: "description",
            personality: "personality",
            scenario: "scenario",
            examples: "Ann: hi",
            card_main: "card main",
            card_post_history: "",
            card_depth: Some(positioned("depth", PromptPosition::Depth(4))),
            persona: positioned("persona", PromptPosition::Prompt),
            note: Some(positioned("note", PromptPosition::Depth(0))),
            lore: &lore,
            history: &history,
            state: "",
            injected: &[],
            filler: "",
            truncation: HistoryTruncation::Exact,
            strips_examples: false,
            pins_examples: false,
            has_prefill: true,
            reserve: 0,
            cut_reserve: 0,
            default_budget: PromptTokenLimits { context, reply: 0 },
            prompt_tokens: 0,
        };
        let required =
            ["card main", "persona", "description", "personality", "scenario", "prefill", "note", "new chat"];
        let optional = ["Ann: hi", "new example", "depth", "three", "two", "one"];
        let mut log = MacroLog::default();
        let assembled = assemble(&preset, &input(83), &mut log).unwrap();
        assert_eq!(log.0, [&required[..], &optional[..]].concat());
        assert_eq!((assembled.history, assembled.tokens), (2, 78));
        let mut log = MacroLog::default();
        let overflow = assemble(&preset, &input(63), &mut log).unwrap_err();
        assert_eq!(log.0, required);
        assert_eq!(overflow.too_large, TokenOverflow { needed: 61, budget: 60 });
        let omitted: Vec<&str> = overflow.omitted.iter().map(|omitted| omitted.text.as_str()).collect();
        assert_eq!(omitted, required[..5]);
    }
}
