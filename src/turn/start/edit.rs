//! An edited version of a message: a sibling with the new text. Where a reply is asked for, a new turn begins: plugins see the
//! text under the rules that the session wants now, and the record of those stands between message and reply. A version that
//! only takes the old one's place keeps the rules in force there.

use crate::ids::{NodeId, SessionId, UserId};
use crate::oplog::Act;
use crate::store::{Draft, Message, VALUES};
use crate::tree::Role;
use crate::tree::edit::{self, Refusal};

use super::Wish;
use super::change;
use super::input::{self, Input};
use crate::turn::cast::Voice;
use crate::turn::rules::force;
use crate::turn::scene::{self, Look};
use crate::turn::{Edit, Generate, Started, TurnError, Turns};

/// Where a summary says which messages it stands for.
const SUMMARIZED: &str = "summarizedFrom";

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
    let (old, mut scene, before) = parts
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
    super::stale(&scene.held, asked.expected_leaf)?;
    let fits = edit::edit_generates(&old, asked.carry).then(Generate::default);
    let generate = asked.generate.unwrap_or(fits);
    edit::may_be_edited(&old, asked.carry, generate.is_some())?;
    super::can_answer(parts, scene.session(), generate.as_ref(), &asked.content)?;
    let now = parts.clock.now();
    let mut draft = Draft::new(NodeId::new(parts.ids.next(now)), old.role, old.kind, old.dice_seed, now);
    (draft.author, draft.persona, draft.character) = (Some(caller), old.persona, old.character);
    (draft.name, draft.content) = (old.name.clone(), asked.content);
    draft.metadata.insert("editedFrom".into(), old.id.to_string().into());
    // What another model said that it changes, it still changes.
    draft.metadata.extend(old.metadata.get(VALUES).map(|kept| (VALUES.to_owned(), kept.clone())));
    // Other words for a summary stand for the same messages.
    draft.metadata.extend(old.metadata.get(SUMMARIZED).map(|ids| (SUMMARIZED.to_owned(), ids.clone())));
    // Only who is asked for a reply begins a turn; what is carried on has been played under its own rules.
    let mut bridge = if generate.is_some() { change::below(parts, &mut scene, &draft, now).await } else { None };
    let input = input::read(parts, &scene, &mut draft, Some(&before)).await?;
    if let Some(bridge) = &mut bridge {
        // They fold under the new rules, which begin below the message.
        bridge.delta.operations.append(&mut draft.delta.operations);
    }
    let generate = generate.filter(|_| input.is_answered());
    let Input { given, asks, summaries, .. } = input;
    let wish = Wish { generate, given, asks, summaries, move_head: asked.move_head, ..Wish::default() };
    draft.delta.problems.extend(force::unlike(&scene.rules.plugins, &scene.catalogue));
    let replies = super::replies(parts, &scene.held.session, caller, &scene.cast.character, &wish, now)?;
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
    let actor = super::actor(caller, now, asked.expected_leaf);
    let started = super::commit(turns, actor, message, scene.session(), wish).await?;
    // Only a bridge is ever written by somebody else first.
    started.ok_or(TurnError::Stopped)
}
