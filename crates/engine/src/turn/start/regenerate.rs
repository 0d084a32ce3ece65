//! More replies to the same context node: beside a reply, or continuing its text.

use std::sync::Arc;

use clotho_compat::prompt::tags;
use clotho_core::ids::{NodeId, SessionId, UserId};
use clotho_core::oplog::OperationKind;
use clotho_core::tree::edit::{self, TreeError};
use clotho_core::tree::reply_facts::GenerationOverride;
use clotho_core::tree::{Kind, Node, Role, Session, Status};
use clotho_store::{ExpectedVersion, MessageWrite, StoreReader, StoredSession};

use super::replies::{self, ContinuedReply, GenerateOptions};
use crate::turn::cast::{self, UserPersona};
use crate::turn::models::ReplyWriter;
use crate::turn::prompts::PromptServices;
use crate::turn::services::TurnServices;
use crate::turn::storage::TreeStorage;
use crate::turn::{ContinueSpec, GenerationSpec, RegenerateSpec, TurnError, TurnReceipt};

/// The place of new replies, and their options.
struct RerollTarget {
    stored: StoredSession,
    /// The node that the request names.
    named_node: Node,
    /// The node that the replies answer.
    context: Node,
    generate: GenerationSpec,
    /// The speaker's name.
    speaker_name: String,
}

/// Starts other replies beside an assistant node, or below a context node.
pub async fn regenerate(
    parts: &Arc<TurnServices>,
    caller: UserId,
    session: SessionId,
    asked: RegenerateSpec,
) -> Result<TurnReceipt, TurnError> {
    let place = find_target(&parts.storage, &parts.prompts, caller, session, asked.node, asked.generate).await?;
    let options = GenerateOptions {
        generate: Some(place.generate.clone()),
        move_head: asked.move_head,
        ..GenerateOptions::default()
    };
    begin_replies(parts, caller, &place, options, asked.expected_leaf).await
}

/// Starts another reply that continues the text of one (`docs/domain.md` 5.8).
pub async fn continue_reply(
    parts: &Arc<TurnServices>,
    caller: UserId,
    session: SessionId,
    asked: ContinueSpec,
) -> Result<TurnReceipt, TurnError> {
    let generate = GenerationSpec { n: 1, model: asked.model, params: asked.params, character: None };
    let place = find_target(&parts.storage, &parts.prompts, caller, session, asked.node, generate).await?;
    replies::stale(&place.stored, asked.expected_leaf)?;
    check_continuable(&place.named_node)?;
    if let Ok(ReplyWriter::Narrator(plugin)) =
        parts.prompts.models.find(&replies::model(&parts.prompts, &place.stored.session, &place.generate))
    {
        let message = format!("the plugin \"{}\" writes complete replies and cannot continue a text", plugin.id());
        return Err(TurnError::Invalid { field: "model", message });
    }
    let named = &place.named_node;
    // An older message has its thoughts in its text. New text is no part of them.
    let text = tags::without_thoughts(&named.content, named.reasoning.is_some(), &parts.rules.hide_tags).into_owned();
    let options = GenerateOptions {
        generate: Some(place.generate.clone()),
        plugin_reply: None,
        asks: Vec::new(),
        summaries: Vec::new(),
        move_head: asked.move_head,
        continued: Some(ContinuedReply { node: named.id, text }),
    };
    begin_replies(parts, caller, &place, options, asked.expected_leaf).await
}

/// Checks that there is text to continue; an interrupted reply is allowed.
fn check_continuable(at: &Node) -> Result<(), TreeError> {
    if at.status == Status::Generating {
        return Err(TreeError::Generating);
    }
    if at.role != Role::Assistant {
        return Err(TreeError::Conflict("only a reply can be continued: edit your own message instead".into()));
    }
    if at.content.trim().is_empty() {
        return Err(TreeError::Conflict("there is no text to continue: regenerate the reply".into()));
    }
    Ok(())
}

async fn find_target(
    storage: &TreeStorage,
    prompt_services: &Arc<PromptServices>,
    caller: UserId,
    session: SessionId,
    node: NodeId,
    wanted: GenerationSpec,
) -> Result<RerollTarget, TurnError> {
    let services = Arc::clone(prompt_services);
    storage
        .store
        .read(move |reader| {
            let stored = reader.session(caller, session)?.ok_or(TreeError::NotFound("the session"))?;
            let at = reader.node(&stored, node)?.ok_or(TreeError::NotFound("the message"))?.node;
            let context = context_node(reader, &stored, &at)?;
            let generate = repeat_generation(&services, &stored.session, &at, wanted);
            let name = cast::read(reader, &stored.session, generate.character, &UserPersona::default())?.character;
            Ok(RerollTarget { stored, named_node: at, context, generate, speaker_name: name })
        })
        .await
}

async fn begin_replies(
    parts: &Arc<TurnServices>,
    caller: UserId,
    place: &RerollTarget,
    options: GenerateOptions,
    expected_leaf: Option<ExpectedVersion>,
) -> Result<TurnReceipt, TurnError> {
    let session = &place.stored.session;
    edit::check_parent(&place.context)?;
    replies::check_content_length(&parts.prompts, session, options.generate.as_ref(), &place.context.content)?;
    let now = parts.storage.clock.now();
    let message = MessageWrite {
        session: session.id,
        parent: place.context.id,
        rules_change: None,
        draft: None,
        move_children_from: None,
        replies: replies::replies(parts, session, caller, &place.speaker_name, &options, now)?,
        move_head: false,
        kind: OperationKind::Reroll,
    };
    let started =
        replies::commit_message(parts, replies::actor(caller, now, expected_leaf), message, session, options).await?;
    // Only another request's change node makes this `None`, and a reroll adds none.
    started.ok_or(TurnError::Stopped)
}

/// Returns the context node of a new reply: the parent if `at` is a reply, else `at` itself. A change node counts if
/// the message above it waits for an answer. Another greeting is written below the root, as in SillyTavern.
fn context_node(reader: &mut StoreReader<'_>, stored: &StoredSession, at: &Node) -> Result<Node, TurnError> {
    let nothing = |message: &str| TurnError::from(TreeError::Conflict(message.to_owned()));
    let above = |reader: &mut StoreReader<'_>, node: &Node| {
        let parent = node.parent.ok_or_else(|| nothing("there is no message to answer"))?;
        let placed = reader.node(stored, parent)?.ok_or(TreeError::NotFound("the message"))?;
        Ok::<_, TurnError>(placed.node)
    };
    let context = if at.role == Role::Assistant { above(reader, at)? } else { at.clone() };
    let mut answered = context.clone();
    while at.role != Role::Assistant && answered.kind == Kind::Change {
        answered = above(reader, &answered)?;
    }
    if answered.kind == Kind::Root && at.role != Role::Assistant {
        return Err(nothing("there is no message to answer: write one"));
    }
    if at.role != Role::Assistant && answered.role == Role::Assistant {
        return Err(nothing("the last message is a reply: write a message, or regenerate the reply itself"));
    }
    Ok(context)
}

/// Returns the options of a repeated reply: those of the earlier one, with the request's over them. The seed is new.
fn repeat_generation(
    prompt_services: &PromptServices,
    session: &Session,
    beside: &Node,
    asked: GenerationSpec,
) -> GenerationSpec {
    if beside.role != Role::Assistant {
        return asked;
    }
    let GenerationOverride { model, mut params, .. } = beside.metadata.overridden.clone().unwrap_or_default();
    let model = model.filter(|model| prompt_services.models.find(model).is_ok());
    params.shift_remove("seed");
    params.extend(asked.params);
    GenerationSpec {
        n: asked.n,
        model: asked.model.or(model),
        params,
        character: asked.character.or(beside.character.filter(|id| super::new_session::has_character(session, *id))),
    }
}
