//! What plugins make of a text before it is committed: `on_input` of a user's words, `on_reply` of a reply that a person
//! wrote, `on_edit` of one that was edited.

use std::sync::Arc;

use crate::plugin::schedule::ManifestRule;
use crate::plugin::{Hook, HookAnswer, LoadedPlugin, PluginModelCall, Roll, SlashCommand, SummaryProposal};
use crate::store::NodeDraft;
use crate::tree::{Delta, Kind, Role};

use crate::turn::rules::hooks::{self, ActivePlugin, HookContext, HookProposal, in_order};
use crate::turn::scene::TurnSnapshot;
use crate::turn::{TurnError, TurnServices, beside};

/// What plugins made of the input.
#[derive(Debug, Default)]
pub struct InputHookResult {
    /// A plugin's own reply: no model is called.
    pub given: Option<PluginReply>,
    /// No model is asked.
    pub stop: bool,
    /// The models that plugins want asked when it is written.
    pub asks: Vec<(String, PluginModelCall)>,
    /// The summaries that plugins propose.
    pub summaries: Vec<(String, SummaryProposal)>,
}

impl InputHookResult {
    /// Whether a reply is written: stopping means that no model is asked, and a reply that is there needs none.
    pub fn is_answered(&self) -> bool {
        self.given.is_some() || !self.stop
    }
}

/// A reply that a plugin has given in place of a model.
#[derive(Debug, Clone)]
pub struct PluginReply {
    /// The plugin.
    pub plugin: String,
    /// The text.
    pub text: String,
}

/// Lets plugins see a text that is about to be written, and puts what they propose onto the draft. `before` is the delta of
/// the version that is edited; `None` for a new message.
///
/// # Errors
/// A plugin refuses it.
pub async fn read(
    parts: &TurnServices,
    scene: &TurnSnapshot,
    draft: &mut NodeDraft,
    before: Option<&Delta>,
) -> Result<InputHookResult, TurnError> {
    if draft.kind != Kind::Message {
        return Ok(InputHookResult::default());
    }
    if draft.role == Role::Assistant {
        let HookProposal { delta, asks, summaries, .. } = as_reply(parts, scene, draft, before).await;
        draft.delta = delta;
        return Ok(InputHookResult { asks, summaries, ..InputHookResult::default() });
    }
    as_input(parts, scene, draft, before.map(hooks::recorded).unwrap_or_default()).await
}

/// `on_input` of every plugin in order. Each sees what earlier ones made of the text; the first refusal ends it all.
async fn as_input(
    parts: &TurnServices,
    scene: &TurnSnapshot,
    draft: &mut NodeDraft,
    recorded: Arc<[Roll]>,
) -> Result<InputHookResult, TurnError> {
    let facts = scene.next(draft.id, draft.created, true);
    let mut stage = scene.stage(&scene.rules, facts, draft.dice_seed);
    stage.role = draft.role.word();
    stage.recorded = recorded;
    let original = draft.content.clone();
    let mut heard = hear(parts, scene, &mut stage, &original).await?;
    // That a plugin answers its command is known at the end, and rules that count turns come before: all of it once more.
    if !heard.aside.is_empty() && counts_turns(&stage.players) {
        stage.is_aside = true;
        heard = hear(parts, scene, &mut stage, &original).await?;
    }
    let InputHookRun { text, mut input, mut proposal, aside } = heard;
    hooks::mark_aside(&mut proposal.delta, &aside);
    if text != original {
        draft.metadata.insert("originalContent".into(), original.into());
        draft.content = text;
    }
    draft.delta = proposal.delta;
    input.asks = proposal.asks;
    Ok(input)
}

/// What came of a text.
struct InputHookRun {
    /// The text as plugins left it.
    text: String,
    input: InputHookResult,
    proposal: HookProposal,
    /// The plugins that answered a command of their own, which the text was.
    aside: Vec<String>,
}

async fn hear(
    parts: &TurnServices,
    scene: &TurnSnapshot,
    stage: &mut HookContext,
    original: &str,
) -> Result<InputHookRun, TurnError> {
    let proposal = HookProposal::on(Arc::clone(&scene.world));
    let mut heard =
        InputHookRun { text: original.to_owned(), input: InputHookResult::default(), proposal, aside: Vec::new() };
    let InputHookRun { text, input, proposal, aside } = &mut heard;
    for player in in_order(&stage.players) {
        can_read(&player.plugin, text)?;
        stage.text = Arc::from(text.as_str());
        parts.hooks.one(Hook::OnInput, stage, &player, proposal).await;
        for (plugin, answer) in std::mem::take(&mut proposal.answers) {
            match answer {
                HookAnswer::Refused(message) => return Err(TurnError::InputRefused { plugin, message }),
                HookAnswer::Input { text: other, reply, stop } => {
                    let is_answer = reply.is_some() || stop;
                    aside.extend((is_answer && is_command(&player.plugin, original)).then(|| plugin.clone()));
                    *text = other.unwrap_or_else(|| std::mem::take(text));
                    input.given = reply.map(|text| PluginReply { plugin, text }).or(input.given.take());
                    input.stop |= stop;
                }
                _ => {}
            }
        }
        parts.hooks.scheduled(Hook::OnInput, stage, &player, proposal).await;
    }
    Ok(heard)
}

/// Whether a text is a command of a plugin.
fn is_command(plugin: &LoadedPlugin, text: &str) -> bool {
    SlashCommand::parse(text).is_some_and(|typed| plugin.manifest().command(typed.word).is_some())
}

/// Whether a rule of those who play counts messages.
fn counts_turns(players: &[ActivePlugin]) -> bool {
    players.iter().any(|player| player.plugin.manifest().rules.iter().any(ManifestRule::counts_messages))
}

/// A text of which a plugin sees only a part could be refused or written anew for the wrong reason.
fn can_read(plugin: &LoadedPlugin, content: &str) -> Result<(), TurnError> {
    let most = plugin.longest_input();
    if !plugin.has(Hook::OnInput) || content.len() <= most {
        return Ok(());
    }
    Err(TurnError::TooLong { plugin: plugin.id().to_owned(), most })
}

/// The rules read a reply that a person wrote as they read a model's. An edited one keeps what its narrator did, and its
/// dice are those of the version before (`docs/modders.md`).
async fn as_reply(
    parts: &TurnServices,
    scene: &TurnSnapshot,
    draft: &NodeDraft,
    before: Option<&Delta>,
) -> HookProposal {
    let facts = scene.next(draft.id, draft.created, false);
    let mut stage = scene.stage(&scene.rules, facts, draft.dice_seed);
    stage.text =
        beside::with_values(&parts.config.generation.hide_tags, Role::Assistant, &draft.content, &draft.metadata);
    stage.role = Role::Assistant.word();
    stage.recorded = before.map(hooks::recorded).unwrap_or_default();
    let mut proposal = hooks::narrated(before.unwrap_or(&Delta::default()), Arc::clone(&scene.world), &stage.rules);
    beside::keep(&stage, &draft.metadata, &mut proposal);
    for player in in_order(&stage.players) {
        let hook = if before.is_some() && player.plugin.has(Hook::OnEdit) { Hook::OnEdit } else { Hook::OnReply };
        parts.hooks.one(hook, &stage, &player, &mut proposal).await;
        parts.hooks.scheduled(Hook::OnReply, &stage, &player, &mut proposal).await;
    }
    proposal
}
