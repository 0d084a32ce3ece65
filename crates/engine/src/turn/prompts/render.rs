//! Renders a prompt: the messages to send, and the pieces of its trace.

use clotho_compat::prompt::preset::{
    self, Preset, PromptAssembly, PromptLayout, PromptOverflow, SpeakerNaming, TraceLayout, TracePiece,
};
use clotho_compat::prompt::refill::HistoryNames;
use clotho_compat::prompt::{OutgoingMessage, PromptLine};

use super::history::KeptHistory;
use super::material::PromptMaterial;
use super::preset_selection::PresetReason;
use super::prompt_bounds::PromptBounds;
use super::substitutes::HistorySubstitutes;
use super::trace::{BuiltPrompt, PromptBlueprint, PromptMacroResult};
use crate::turn::snapshot::TurnSnapshot;

/// Renders a prompt, with everything that its trace records.
pub(super) fn render_prompt(
    snapshot: &TurnSnapshot,
    material: PromptMaterial<'_, '_>,
    assembled: PromptAssembly,
    substitutes: HistorySubstitutes,
) -> BuiltPrompt {
    let PromptMaterial { bounds, limits, preset, preset_reason, scripts, history, lore, plan, .. } = material;
    let kept = history.kept(assembled.history);
    let mut shown = history.messages.iter().skip(kept.first);
    let has_names = match preset.settings.naming {
        SpeakerNaming::Before => true,
        SpeakerNaming::Others => shown.any(|message| message.is_other),
        SpeakerNaming::Never | SpeakerNaming::Field | SpeakerNaming::AsNeeded => false,
    };
    let prompt = render_messages(&preset, preset_reason, assembled, kept, &substitutes, snapshot.cast.names());
    let HistorySubstitutes { summaries, recalled } = substitutes;
    let operations = lore.operations.into_iter().chain(summaries.operation).collect();
    // What a server is told does not change with the preset: one that loads a model for it would load it anew.
    let PromptBounds { context_tokens, hide_tags, measure, .. } = bounds;
    BuiltPrompt {
        macro_result: PromptMacroResult { operations, ..prompt.macro_result },
        reply_tokens: limits.reply,
        context_tokens,
        hide_tags,
        measure,
        scripts: scripts.to_trace(),
        lore_trace: lore.trace,
        values_prompt: lore.values_prompt,
        has_names,
        summary_trace: summaries.trace,
        recall_trace: recalled.trace,
        samplers: preset.samplers,
        plan,
        ..prompt
    }
}

/// Renders a prompt that does not fit: only what was left out.
pub(super) fn render_overflow(material: PromptMaterial<'_, '_>, overflow: PromptOverflow) -> BuiltPrompt {
    let PromptMaterial { preset_reason, scripts, lore, plan, .. } = material;
    BuiltPrompt {
        blueprint: Some(PromptBlueprint { omitted: overflow.omitted, preset_reason, ..PromptBlueprint::default() }),
        too_large: Some(overflow.too_large),
        scripts: scripts.to_trace(),
        lore_trace: lore.trace,
        plan,
        ..BuiltPrompt::default()
    }
}

/// Renders the messages, and the pieces from which the trace rebuilds them.
fn render_messages(
    preset: &Preset,
    preset_reason: PresetReason,
    assembled: PromptAssembly,
    kept: KeptHistory<'_>,
    substitutes: &HistorySubstitutes,
    names: HistoryNames,
) -> BuiltPrompt {
    let named = |line: &PromptLine| PromptLine { text: names.fill(&line.text), ..line.clone() };
    let sent_lines: Vec<PromptLine> = kept.lines.iter().skip(kept.first).map(named).collect();
    let is_named = preset.settings.naming == SpeakerNaming::Before;
    let shape = TraceLayout { is_named, is_joined: preset.settings.layout == PromptLayout::Turns };
    let mut pieces = preset::to_pieces(&assembled.messages_with_prefill(), &sent_lines, kept.first, shape);
    substitutes.summaries.insert_into(&mut pieces);
    substitutes.recalled.insert_into(&mut pieces, sent_lines.len());
    let messages = preset::rebuild(&pieces, &sent_lines, shape);
    BuiltPrompt {
        stable_prefix: stable_prefix(&pieces, &sent_lines, shape, &messages),
        messages,
        history: kept.placed.iter().skip(kept.first).map(|placed| placed.n).collect(),
        first_omitted: kept.newest_cut().map(|placed| placed.node.id),
        tokens: assembled.tokens + substitutes.tokens(),
        macro_result: PromptMacroResult { names: Some(names), ..PromptMacroResult::default() },
        blueprint: Some(PromptBlueprint { pieces, shape, omitted: assembled.omitted, preset_reason }),
        ..BuiltPrompt::default()
    }
}

/// Returns how many of the first messages the next prompt will probably share. They end before the first block inside
/// the history, because such blocks move with it, or else before the last line.
fn stable_prefix(pieces: &[TracePiece], lines: &[PromptLine], shape: TraceLayout, sent: &[OutgoingMessage]) -> usize {
    let moving = pieces.iter().filter(|piece| piece.at > 0 && !piece.replaces_line).map(|piece| piece.at).min();
    let last = lines.len().saturating_sub(1);
    let edge = moving.unwrap_or(last).min(last);
    let stays = |piece: &&TracePiece| piece.at < edge || (piece.at == 0 && !piece.replaces_line);
    let before: Vec<TracePiece> = pieces.iter().filter(stays).cloned().collect();
    let stays = preset::rebuild(&before, lines.get(..edge).unwrap_or_default(), shape);
    stays.iter().zip(sent).take_while(|(stays, sent)| stays == sent).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clotho_core::tree::Role;

    fn trace_piece(at: usize, is_over: bool, text: &str) -> TracePiece {
        let sent = OutgoingMessage { role: Role::System, name: None, text: text.to_owned() };
        TracePiece { slot: String::new(), at, replaces_line: is_over, sent }
    }

    /// `domain.md` 6.3: the prefix for the provider's cache ends before the first block that moves with the history.
    #[test]
    fn prompt_stable_prefix_ends_before_moving_blocks() {
        let line = |text: &str| PromptLine { role: Role::User, name: None, text: text.to_owned() };
        let lines = ["one", "two", "three", "four"].map(line);
        let check = |pieces: &[TracePiece], expected: usize| {
            let shape = TraceLayout::default();
            let sent = preset::rebuild(pieces, &lines, shape);
            assert_eq!(stable_prefix(pieces, &lines, shape, &sent), expected, "{sent:?}");
        };
        check(&[trace_piece(0, false, "card")], 4);
        check(&[trace_piece(0, false, "card"), trace_piece(4, false, "last word")], 4);
        check(&[trace_piece(0, false, "card"), trace_piece(2, false, "note"), trace_piece(4, false, "last word")], 3);
        check(&[trace_piece(0, false, "card"), trace_piece(1, true, "TWO"), trace_piece(4, false, "last word")], 4);
        check(&[], 3);
        assert_eq!(stable_prefix(&[trace_piece(0, false, "card")], &[], TraceLayout::default(), &[]), 0);
    }
}
