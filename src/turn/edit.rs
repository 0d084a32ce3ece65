//! An edited version of a message: a sibling with the new text, under the rules in force there. Its reply comes under those
//! that the session wants now.

use crate::ids::{NodeId, SessionId, UserId};
use crate::oplog::Act;
use crate::store::{Draft, Message};
use crate::tree::Role;
use crate::tree::edit::{self, Refusal};

use super::cast::Voice;
use super::scene::{self, Look};
use super::start::{self, Wish};
use super::{Edit, Generate, Started, TurnError, Turns, input};
use super::{change, force};

/// Writes an edited version of a message beside it.
pub async fn edit(
    turns: &Turns,
    caller: UserId,
    session: SessionId,
    node: NodeId,
    asked: Edit,
) -> Result<Started, TurnError> {
    let parts = &turns.parts;
    let look = Look::at(parts, caller, session, node);
    let (old, scene, before) = parts
        .store
        .read(move |reader| {
            let held = reader.session(caller, session)?.ok_or(Refusal::NotFound("the session"))?;
            let placed = reader.node(&held, node)?.ok_or(Refusal::NotFound("the message"))?;
            let before = reader.delta(&placed)?;
            let old = placed.node;
            let parent = old.parent.ok_or_else(|| Refusal::Conflict("the root has no text to edit".into()))?;
            let voice = (old.role == Role::User).then(|| Voice { persona: old.persona, name: old.name.clone() });
            let look = Look { node: parent, speaker: old.character, voice, ..look };
            Ok::<_, TurnError>((old, scene::read(reader, &look)?, before))
        })
        .await?;
    start::stale(&scene.held, asked.expected_leaf)?;
    let fits = edit::edit_generates(&old, asked.carry).then(Generate::default);
    let generate = asked.generate.unwrap_or(fits);
    edit::may_be_edited(&old, asked.carry, generate.is_some())?;
    start::can_answer(parts, scene.session(), generate.as_ref(), &asked.content)?;
    let now = parts.clock.now();
    let mut draft = Draft::new(NodeId::new(parts.ids.next(now)), old.role, old.kind, old.dice_seed, now);
    (draft.author, draft.persona, draft.character) = (Some(caller), old.persona, old.character);
    (draft.name, draft.content) = (old.name.clone(), asked.content);
    draft.metadata.insert("editedFrom".into(), old.id.to_string().into());
    let input = input::read(parts, &scene, &mut draft, &before).await?;
    let wish =
        Wish { generate: generate.filter(|_| input.is_answered()), given: input.given, move_head: asked.move_head };
    draft.delta.problems.extend(force::unlike(&scene.rules.plugins, &parts.catalogue));
    let replies = start::replies(parts, &scene.held.session, caller, &scene.cast.character, &wish, now)?;
    let bridge = if replies.is_empty() { None } else { change::below(parts, &scene, &draft, now).await };
    let message = Message {
        session,
        parent: scene.at.node.id,
        bridge,
        draft: Some(draft),
        carry_from: asked.carry.then_some(old.id),
        replies,
        move_head: asked.move_head,
        act: Act::Edit,
    };
    let actor = start::actor(caller, now, asked.expected_leaf);
    let started = start::commit(turns, actor, message, scene.session(), wish).await?;
    // Only a bridge is ever written by somebody else first.
    started.ok_or(TurnError::Stopped)
}
