//! A message that is sent, and the stop of a running reply.

use std::sync::Arc;

use clotho_core::clock::Time;
use clotho_core::ids::{NodeId, SessionId, UserId};
use clotho_core::oplog::OperationKind;
use clotho_core::tree::edit::{TreeError, check_parent};
use clotho_core::tree::{Kind, Role, Status};
use clotho_store::{ExpectedVersion, MessageWrite, NodeDraft, StoreReader};

use super::change;
use super::input::{self, InputHookResult};
use super::replies::{GenerateOptions, actor, check_content_length, commit_message, replies, stale};
use crate::turn::cast::UserPersona;
use crate::turn::rules::RuleServices;
use crate::turn::running::RunningWork;
use crate::turn::services::TurnServices;
use crate::turn::snapshot::{self, SnapshotQuery, TurnSnapshot};
use crate::turn::storage::TreeStorage;
use crate::turn::{MessageSpec, StaleHeadPolicy, TurnError, TurnReceipt, prompts::macro_context, side_calls};

/// The number of attempts if HEAD moves meanwhile, or another request adds the same change node first. One of the
/// competing requests succeeds each time.
const MAX_ATTEMPTS: usize = 64;

/// Writes a message and starts its replies.
pub async fn message(
    parts: &Arc<TurnServices>,
    caller: UserId,
    session: SessionId,
    new: MessageSpec,
) -> Result<TurnReceipt, TurnError> {
    let mut new = new;
    for _ in 0..MAX_ATTEMPTS {
        match try_send(parts, caller, session, &new).await {
            Ok(Some(started)) => return Ok(started),
            Ok(None) => {}
            Err(TurnError::Refused(TreeError::HeadMoved { leaf, .. })) if new.on_stale == StaleHeadPolicy::Append => {
                new.parent = leaf;
                new.expected_leaf = Some(ExpectedVersion::Leaf(leaf));
            }
            Err(TurnError::Refused(TreeError::HeadMoved { .. })) if new.on_stale == StaleHeadPolicy::Branch => {
                new.expected_leaf = None;
            }
            Err(error) => return Err(error),
        }
    }
    let message = "too many other requests write at the same node: try again".to_owned();
    Err(TreeError::Conflict(message).into())
}

async fn try_send(
    parts: &Arc<TurnServices>,
    caller: UserId,
    session: SessionId,
    new: &MessageSpec,
) -> Result<Option<TurnReceipt>, TurnError> {
    if new.role == Role::Assistant && new.generate.is_some() {
        let message = "a reply written by hand is already a reply: nothing is generated below it".to_owned();
        return Err(TurnError::Invalid { field: "generate", message });
    }
    // Read the snapshot; check the precondition and the parent.
    let snapshot = snapshot_for(&parts.storage, &parts.rules, caller, session, new).await?;
    let parent = snapshot.at.node.id;
    // An answer node was added meanwhile; the message goes below it.
    let came = |seen: ExpectedVersion| {
        if seen == ExpectedVersion::Leaf(new.parent) { ExpectedVersion::Leaf(parent) } else { seen }
    };
    let expected_leaf = new.expected_leaf.map(came);
    stale(&snapshot.stored, expected_leaf)?;
    check_parent(&snapshot.at.node)?;
    // Apply a change of rules, then run the input hooks on the draft.
    let now = parts.storage.clock.now();
    let (bridge, snapshot) = change::resolve_rules_change(parts, caller, snapshot, now).await?;
    check_content_length(&parts.prompts, snapshot.session(), new.generate.as_ref(), &new.content)?;
    let mut draft = message_draft(&parts.storage, caller, &snapshot, new, now);
    let usual_zone = &parts.prompts.config.generation.time_zone;
    draft.metadata.time_zone = macro_context::recorded_zone(new.time_zone.clone(), usual_zone);
    let input = input::run_text_hooks(&parts.rules, &snapshot, &mut draft, None).await?;
    let generate = new.generate.clone().filter(|_| input.is_answered());
    let InputHookResult { plugin_reply: given, asks, summaries, .. } = input;
    let options = GenerateOptions {
        generate,
        plugin_reply: given,
        asks,
        summaries,
        move_head: new.move_head,
        ..GenerateOptions::default()
    };
    // Prepare the replies and commit.
    let replies = replies(parts, snapshot.session(), caller, &snapshot.cast.character, &options, now)?;
    let message = MessageWrite {
        session,
        // An existing change node is the parent itself; a new one comes in between.
        parent: if bridge.is_some() { parent } else { snapshot.at.node.id },
        rules_change: bridge,
        draft: Some(draft),
        move_children_from: None,
        replies,
        move_head: new.move_head,
        kind: OperationKind::Message,
    };
    commit_message(parts, actor(caller, now, expected_leaf), message, snapshot.session(), options).await
}

async fn snapshot_for(
    storage: &TreeStorage,
    rule_services: &RuleServices,
    caller: UserId,
    session: SessionId,
    new: &MessageSpec,
) -> Result<TurnSnapshot, TurnError> {
    let persona = new.persona;
    let voice = UserPersona { persona, name: new.name.clone() };
    let query = SnapshotQuery {
        user_persona: Some(voice),
        ..SnapshotQuery::at_node(rule_services, caller, session, new.parent)
    };
    let read = move |reader: &mut StoreReader<'_>| {
        if let Some(persona) = persona {
            reader.persona(caller, persona)?.ok_or(TreeError::NotFound("the persona"))?;
        }
        let stored = reader.session(caller, session)?.ok_or(TreeError::NotFound("the session"))?;
        let query = SnapshotQuery { node: side_calls::latest_after_answers(reader, &stored, query.node)?, ..query };
        snapshot::read_in(reader, stored, &query)
    };
    storage.store.read_inline(read).await
}

fn message_draft(
    storage: &TreeStorage,
    caller: UserId,
    snapshot: &TurnSnapshot,
    new: &MessageSpec,
    now: Time,
) -> NodeDraft {
    let mut draft =
        NodeDraft::new(NodeId::new(storage.ids.next_id(now)), new.role, Kind::Message, storage.ids.next_seed(), now);
    draft.author = Some(caller);
    draft.content = new.content.clone();
    let name = match new.role {
        Role::User => {
            draft.persona = new.persona.or(snapshot.session().persona.as_ref().map(|persona| persona.id));
            Some(snapshot.cast.user.clone())
        }
        Role::Assistant => {
            draft.character = snapshot.session().cards.first().map(|card| card.id);
            Some(snapshot.cast.character.clone())
        }
        Role::System => None,
    };
    draft.name = new.name.clone().or(name);
    draft
}

/// Stops a running reply.
pub async fn cancel_reply(
    storage: &TreeStorage,
    work: &RunningWork,
    caller: UserId,
    session: SessionId,
    node: NodeId,
) -> Result<(), TurnError> {
    storage
        .store
        .read(move |reader| {
            let stored = reader.session(caller, session)?.ok_or(TreeError::NotFound("the session"))?;
            let at = reader.node(&stored, node)?.ok_or(TreeError::NotFound("the message"))?;
            match at.node.status {
                Status::Generating => Ok(()),
                _ => Err(TurnError::from(TreeError::Conflict("the reply has already ended".into()))),
            }
        })
        .await?;
    match work.live.running_reply(node) {
        Some(running) => {
            running.cancel();
            Ok(())
        }
        None => Err(TreeError::Conflict("the reply has already ended".into()).into()),
    }
}
