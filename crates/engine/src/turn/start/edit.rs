//! Edited versions of messages: siblings with the new text. If a reply is requested, a new turn begins. Plugins then
//! read the text under the rules that the session wants now, whose change node is between message and reply. A version
//! that only replaces the old one keeps the rules in force there.

use std::sync::Arc;

use clotho_core::ids::{NodeId, SessionId, UserId};
use clotho_core::oplog::OperationKind;
use clotho_core::tree::Role;
use clotho_core::tree::edit::{self, TreeError};
use clotho_store::{MessageWrite, NodeDraft};

use super::change;
use super::input::{self, InputHookResult};
use super::replies::{self, GenerateOptions};
use crate::turn::cast::UserPersona;
use crate::turn::rules::rules_in_force;
use crate::turn::services::TurnServices;
use crate::turn::snapshot::{self, SnapshotQuery};
use crate::turn::{EditSpec, GenerationSpec, TurnError, TurnReceipt};

/// Writes an edited version of a message as its sibling.
pub async fn edit_message(
    parts: &Arc<TurnServices>,
    caller: UserId,
    session: SessionId,
    node: NodeId,
    asked: EditSpec,
) -> Result<TurnReceipt, TurnError> {
    // Read the old version and the snapshot at its parent.
    let query = SnapshotQuery::at_node(&parts.rules, caller, session, node);
    let (old, mut snapshot, before) = parts
        .storage
        .store
        .read(move |reader| {
            let stored = reader.session(caller, session)?.ok_or(TreeError::NotFound("the session"))?;
            let placed = reader.node(&stored, node)?.ok_or(TreeError::NotFound("the message"))?;
            let before = reader.delta(&placed)?;
            let old = placed.node;
            let parent = old.parent.ok_or_else(|| TreeError::Conflict("the root has no text to edit".into()))?;
            let voice = (old.role == Role::User).then(|| UserPersona { persona: old.persona, name: old.name.clone() });
            let query = SnapshotQuery { node: parent, speaker: old.character, user_persona: voice, ..query };
            Ok::<_, TurnError>((old, snapshot::read(reader, &query)?, before))
        })
        .await?;
    // Check the request.
    replies::stale(&snapshot.stored, asked.expected_leaf)?;
    let fits = edit::edit_requests_reply(&old, asked.move_children).then(GenerationSpec::default);
    let generate = asked.generate.unwrap_or(fits);
    edit::check_editable(&old, asked.move_children, generate.is_some())?;
    replies::check_content_length(&parts.prompts, snapshot.session(), generate.as_ref(), &asked.content)?;
    // Build the new version.
    let now = parts.storage.clock.now();
    let mut draft = NodeDraft::new(NodeId::new(parts.storage.ids.next_id(now)), old.role, old.kind, old.dice_seed, now);
    (draft.author, draft.persona, draft.character) = (Some(caller), old.persona, old.character);
    (draft.name, draft.content) = (old.name.clone(), asked.content);
    draft.metadata.edited_from = Some(old.id);
    draft.metadata.time_zone = asked.time_zone.or_else(|| old.metadata.time_zone.clone());
    // Keep what the values model said of the old version.
    draft.metadata.values.clone_from(&old.metadata.values);
    // An edited summary covers the same messages.
    draft.metadata.summarized_from.clone_from(&old.metadata.summarized_from);
    // Only an edit with a reply begins a turn with the wanted rules.
    let mut bridge =
        if generate.is_some() { change::rules_change_below(parts, &mut snapshot, &draft, now).await } else { None };
    let input = input::run_text_hooks(&parts.rules, &snapshot, &mut draft, Some(&before)).await?;
    if let Some(bridge) = &mut bridge {
        // These operations fold under the new rules, which start below the message.
        bridge.delta.operations.append(&mut draft.delta.operations);
    }
    let generate = generate.filter(|_| input.is_answered());
    // Prepare the replies and commit.
    let InputHookResult { plugin_reply: given, asks, summaries, .. } = input;
    let options = GenerateOptions {
        generate,
        plugin_reply: given,
        asks,
        summaries,
        move_head: asked.move_head,
        ..GenerateOptions::default()
    };
    draft.delta.problems.extend(rules_in_force::changed_plugins(&snapshot.rules.plugins, &snapshot.catalogue));
    let replies = replies::replies(parts, &snapshot.stored.session, caller, &snapshot.cast.character, &options, now)?;
    let message = MessageWrite {
        session,
        parent: snapshot.at.node.id,
        rules_change: bridge,
        draft: Some(draft),
        move_children_from: asked.move_children.then_some(old.id),
        replies,
        move_head: asked.move_head,
        kind: OperationKind::Edit,
    };
    let actor = replies::actor(caller, now, asked.expected_leaf);
    let started = replies::commit_message(parts, actor, message, snapshot.session(), options).await?;
    // Only another request's change node makes this `None`, which cannot happen for an edit.
    started.ok_or(TurnError::Stopped)
}
