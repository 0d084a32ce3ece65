//! Runs plugins on a text before it is committed: `on_input` for a user's text, `on_reply` for a reply that a person
//! wrote, `on_edit` for an edited reply.

use std::sync::Arc;

use clotho_core::tree::{Delta, Kind, Role};
use clotho_core::world::StateOperation;
use clotho_plugin::manifest_rules::ManifestRule;
use clotho_plugin::{Hook, HookAnswer, LoadedPlugin, PluginModelCall, Roll, SlashCommand, SummaryProposal};
use clotho_store::NodeDraft;

use crate::turn::rules::RuleServices;
use crate::turn::rules::hooks::{self, ActivePlugin, HookContext, HookProposal, sort_by_dependency};
use crate::turn::snapshot::TurnSnapshot;
use crate::turn::{TurnError, side_calls};

/// The result of the input hooks.
#[derive(Debug, Default)]
pub struct InputHookResult {
    /// A plugin's own reply; no model is asked.
    pub plugin_reply: Option<PluginReply>,
    /// No model is asked.
    pub stop: bool,
    /// Model calls to make once the message is written.
    pub asks: Vec<(String, PluginModelCall)>,
    /// Summaries that plugins propose.
    pub summaries: Vec<(String, SummaryProposal)>,
}

impl InputHookResult {
    /// Returns whether a reply is written. `stop` only prevents asking a model, not a plugin's own reply.
    pub fn is_answered(&self) -> bool {
        self.plugin_reply.is_some() || !self.stop
    }
}

/// A reply that a plugin wrote instead of a model.
#[derive(Debug, Clone)]
pub struct PluginReply {
    pub plugin: String,
    pub text: String,
}

/// Runs plugins on a draft and adds what they propose to it. `before` is the delta of the edited version; `None` for a
/// new message.
///
/// # Errors
/// Returns an error if a plugin refuses the text.
pub async fn run_text_hooks(
    rule_services: &RuleServices,
    snapshot: &TurnSnapshot,
    draft: &mut NodeDraft,
    before: Option<&Delta>,
) -> Result<InputHookResult, TurnError> {
    let kept = before.map(hooks::server_operations).unwrap_or_default();
    if draft.kind != Kind::Message {
        // No rule runs on a greeting, but an imported one keeps its state.
        if draft.kind == Kind::Greeting {
            let mut proposal = HookProposal::starting_at(Arc::clone(&snapshot.world));
            proposal.apply_first(kept, &snapshot.rules.rules);
            draft.delta = proposal.delta;
        }
        return Ok(InputHookResult::default());
    }
    if draft.role == Role::Assistant {
        let HookProposal { delta, asks, summaries, .. } = run_on_reply(rule_services, snapshot, draft, before).await;
        draft.delta = delta;
        return Ok(InputHookResult { asks, summaries, ..InputHookResult::default() });
    }
    let earlier = EarlierVersion { operations: kept, rolls: before.map(hooks::recorded_rolls).unwrap_or_default() };
    run_on_input(rule_services, snapshot, draft, earlier).await
}

/// What an edited message keeps of its old version; empty for a new message.
struct EarlierVersion {
    /// The operations that no plugin proposed.
    operations: Vec<StateOperation>,
    rolls: Arc<[Roll]>,
}

/// Runs `on_input` of every plugin in order. Each sees the text as earlier ones changed it; a refusal ends the input.
async fn run_on_input(
    rule_services: &RuleServices,
    snapshot: &TurnSnapshot,
    draft: &mut NodeDraft,
    earlier: EarlierVersion,
) -> Result<InputHookResult, TurnError> {
    let facts = snapshot.next_node_facts(draft.id, draft.created, true);
    let mut context = snapshot.hook_context(&snapshot.rules, facts, draft.dice_seed);
    context.role = draft.role.as_str();
    context.recorded = earlier.rolls;
    let (original, kept) = (draft.content.clone(), earlier.operations.as_slice());
    let mut heard = run_input_hooks(rule_services, snapshot, &mut context, &original, kept).await?;
    // Only now is it known that the text is a command, but rules that count turns have run already: run everything
    // again.
    if !heard.command_plugins.is_empty() && has_turn_rules(&context.plugins) {
        context.is_command_only = true;
        heard = run_input_hooks(rule_services, snapshot, &mut context, &original, kept).await?;
    }
    let InputHookRun { text, mut input, mut proposal, command_plugins: aside } = heard;
    hooks::mark_command_only(&mut proposal.delta, &aside);
    if text != original {
        draft.metadata.original_content = Some(original);
        draft.content = text;
    }
    draft.delta = proposal.delta;
    input.asks = proposal.asks;
    Ok(input)
}

/// The result of one run of the input hooks.
struct InputHookRun {
    /// The text after the plugins.
    text: String,
    input: InputHookResult,
    proposal: HookProposal,
    /// The plugins that answered the text as a command of theirs.
    command_plugins: Vec<String>,
}

async fn run_input_hooks(
    rule_services: &RuleServices,
    snapshot: &TurnSnapshot,
    context: &mut HookContext,
    original: &str,
    kept: &[StateOperation],
) -> Result<InputHookRun, TurnError> {
    let mut proposal = HookProposal::starting_at(Arc::clone(&snapshot.world));
    proposal.apply_first(kept.to_vec(), &context.rules);
    let mut heard = InputHookRun {
        text: original.to_owned(),
        input: InputHookResult::default(),
        proposal,
        command_plugins: Vec::new(),
    };
    let InputHookRun { text, input, proposal, command_plugins: aside } = &mut heard;
    for active in sort_by_dependency(&context.plugins) {
        check_length(&active.plugin, text)?;
        context.text = Arc::from(text.as_str());
        rule_services.hooks.run_plugin(Hook::OnInput, context, &active, proposal).await;
        for (plugin, answer) in std::mem::take(&mut proposal.answers) {
            match answer {
                HookAnswer::Refused(message) => return Err(TurnError::InputRefused { plugin, message }),
                HookAnswer::Input { text: other, reply, stop } => {
                    let is_answer = reply.is_some() || stop;
                    aside.extend((is_answer && is_command(&active.plugin, original)).then(|| plugin.clone()));
                    *text = other.unwrap_or_else(|| std::mem::take(text));
                    input.plugin_reply = reply.map(|text| PluginReply { plugin, text }).or(input.plugin_reply.take());
                    input.stop |= stop;
                }
                _ => {}
            }
        }
        rule_services.hooks.run_manifest_rules(Hook::OnInput, context, &active, proposal).await;
    }
    Ok(heard)
}

/// Returns whether a text is a command of a plugin.
fn is_command(plugin: &LoadedPlugin, text: &str) -> bool {
    SlashCommand::parse(text).is_some_and(|typed| plugin.manifest().command(typed.word).is_some())
}

/// Returns whether a plugin has a rule that counts messages.
fn has_turn_rules(active_plugins: &[ActivePlugin]) -> bool {
    active_plugins.iter().any(|active| active.plugin.manifest().rules.iter().any(ManifestRule::counts_messages))
}

/// Checks that a plugin can read the whole text; otherwise it could refuse or change it wrongly.
fn check_length(plugin: &LoadedPlugin, content: &str) -> Result<(), TurnError> {
    let most = plugin.longest_input();
    if !plugin.has_hook(Hook::OnInput) || content.len() <= most {
        return Ok(());
    }
    Err(TurnError::TooLong { plugin: plugin.id().to_owned(), most })
}

/// Runs the rules on a reply that a person wrote, as on a model's. An edited reply keeps what its narrator did, and
/// reuses the rolls of the old version (`docs/modders.md`).
async fn run_on_reply(
    rule_services: &RuleServices,
    snapshot: &TurnSnapshot,
    draft: &NodeDraft,
    before: Option<&Delta>,
) -> HookProposal {
    let facts = snapshot.next_node_facts(draft.id, draft.created, false);
    let mut context = snapshot.hook_context(&snapshot.rules, facts, draft.dice_seed);
    context.text = side_calls::with_values(
        &rule_services.hide_tags,
        Role::Assistant,
        &draft.content,
        draft.reasoning.is_some(),
        &draft.metadata,
    );
    context.role = Role::Assistant.as_str();
    context.recorded = before.map(hooks::recorded_rolls).unwrap_or_default();
    let mut proposal =
        hooks::streamed_proposal(before.unwrap_or(&Delta::default()), Arc::clone(&snapshot.world), &context.rules);
    side_calls::apply_commands(&context, &draft.metadata, &mut proposal);
    for active in sort_by_dependency(&context.plugins) {
        let hook = if before.is_some() && active.plugin.has_hook(Hook::OnEdit) { Hook::OnEdit } else { Hook::OnReply };
        rule_services.hooks.run_plugin(hook, &context, &active, &mut proposal).await;
        rule_services.hooks.run_manifest_rules(Hook::OnReply, &context, &active, &mut proposal).await;
    }
    proposal
}
