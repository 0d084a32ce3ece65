//! What plugins make of a text before it is committed: `on_input` of a user's words, `on_reply` of a reply that a person
//! wrote, `on_edit` of one that was edited.

use std::sync::Arc;

use crate::plugin::{Answer, Hook, Loaded, Roll};
use crate::store::Draft;
use crate::tree::{Delta, Kind, Role};

use super::hooks::{self, Proposal, in_order};
use super::scene::Scene;
use super::{Parts, TurnError};

/// What plugins made of the input.
#[derive(Debug, Default)]
pub struct Input {
    /// A plugin's own reply: no model is called.
    pub given: Option<Given>,
    /// No model is asked.
    pub stop: bool,
}

impl Input {
    /// Whether a reply is written: stopping means that no model is asked, and a reply that is there needs none.
    pub fn is_answered(&self) -> bool {
        self.given.is_some() || !self.stop
    }
}

/// A reply that a plugin has given in place of a model.
#[derive(Debug, Clone)]
pub struct Given {
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
pub async fn read(parts: &Parts, scene: &Scene, draft: &mut Draft, before: Option<&Delta>) -> Result<Input, TurnError> {
    if draft.kind != Kind::Message {
        return Ok(Input::default());
    }
    if draft.role == Role::Assistant {
        draft.delta = as_reply(parts, scene, draft, before).await;
        return Ok(Input::default());
    }
    as_input(parts, scene, draft, before.map(hooks::recorded).unwrap_or_default()).await
}

/// `on_input` of every plugin in order. Each sees what earlier ones made of the text; the first refusal ends it all.
async fn as_input(parts: &Parts, scene: &Scene, draft: &mut Draft, recorded: Arc<[Roll]>) -> Result<Input, TurnError> {
    let facts = scene.next(draft.id, draft.created, true);
    let mut stage = scene.stage(&scene.rules, facts, draft.dice_seed);
    stage.role = draft.role.word();
    stage.recorded = recorded;
    let mut proposal = Proposal { world: Arc::clone(&scene.world), ..Proposal::default() };
    let mut input = Input::default();
    let original = draft.content.clone();
    for player in in_order(&std::mem::take(&mut stage.players)) {
        can_read(&player.plugin, &draft.content)?;
        stage.text = Arc::from(draft.content.as_str());
        parts.hooks.one(Hook::OnInput, &stage, &player, &mut proposal).await;
        for (plugin, answer) in std::mem::take(&mut proposal.answers) {
            match answer {
                Answer::Refused(message) => return Err(TurnError::InputRefused { plugin, message }),
                Answer::Input { text, reply, stop } => {
                    draft.content = text.unwrap_or_else(|| std::mem::take(&mut draft.content));
                    input.given = reply.map(|text| Given { plugin, text }).or(input.given);
                    input.stop |= stop;
                }
                _ => {}
            }
        }
        parts.hooks.scheduled(Hook::OnInput, &stage, &player, &mut proposal).await;
    }
    if draft.content != original {
        draft.metadata.insert("originalContent".into(), original.into());
    }
    draft.delta = proposal.delta;
    Ok(input)
}

/// A text of which a plugin sees only a part could be refused or written anew for the wrong reason.
fn can_read(plugin: &Loaded, content: &str) -> Result<(), TurnError> {
    let most = plugin.longest_input();
    if !plugin.has(Hook::OnInput) || content.len() <= most {
        return Ok(());
    }
    Err(TurnError::TooLong { plugin: plugin.id().to_owned(), most })
}

/// The rules read a reply that a person wrote as they read a model's. An edited one keeps what its narrator did, and its
/// dice are those of the version before (`docs/modders.md`).
async fn as_reply(parts: &Parts, scene: &Scene, draft: &Draft, before: Option<&Delta>) -> Delta {
    let facts = scene.next(draft.id, draft.created, false);
    let mut stage = scene.stage(&scene.rules, facts, draft.dice_seed);
    stage.text = Arc::from(draft.content.as_str());
    stage.role = Role::Assistant.word();
    stage.recorded = before.map(hooks::recorded).unwrap_or_default();
    let mut proposal = hooks::narrated(before.unwrap_or(&Delta::default()), Arc::clone(&scene.world), &stage.rules);
    for player in in_order(&stage.players) {
        let hook = if before.is_some() && player.plugin.has(Hook::OnEdit) { Hook::OnEdit } else { Hook::OnReply };
        parts.hooks.one(hook, &stage, &player, &mut proposal).await;
        parts.hooks.scheduled(Hook::OnReply, &stage, &player, &mut proposal).await;
    }
    proposal.delta
}
