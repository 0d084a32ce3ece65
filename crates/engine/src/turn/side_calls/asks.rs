//! Model calls that plugins ask for, and their answers.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::Map;

use clotho_compat::prompt::{OutgoingMessage, tags};
use clotho_core::coded_message::RenderedMessage;
use clotho_core::ids::{NodeId, SessionId, UserId};
use clotho_core::oplog::OperationKind;
use clotho_core::tree::edit::TreeError;
use clotho_core::tree::reply_facts::ModelCallRecord;
use clotho_core::tree::{Kind, ReplyFacts, Role, Session, Status};
use clotho_plugin::{Hook, ModelCallAnswer, PluginModelCall};
use clotho_store::{Actor, ExpectedVersion, NodeDraft, StoreError, StoreReader, StoredNode, WriteError};

use super::call;
use crate::turn::machine::ReplyFailure;
use crate::turn::models::{ModelSelection, ReplyWriter};
use crate::turn::problem::ModelCallProblem;
use crate::turn::prompts::PromptServices;
use crate::turn::prompts::prompt_bounds::{self, REPLY_LIMIT_KEYS};
use crate::turn::prompts::trace::BuiltPrompt;
use crate::turn::rules::hooks::HookProposal;
use crate::turn::running::MAX_PER_SESSION;
use crate::turn::services::TurnServices;
use crate::turn::snapshot::{self, SnapshotQuery, TurnSnapshot};
use crate::turn::storage::TreeStorage;
use crate::turn::{TurnError, rules::rules_in_force, rules::summary_proposals};

/// The number of attempts to write an answer node while HEAD moves.
const MAX_ATTEMPTS: usize = 64;
/// The length limit of an answer in characters; a longer one is cut.
const MAX_ANSWER_CHARS: usize = 16 << 10;

/// The message that asked.
#[derive(Debug, Clone, Copy)]
struct AskOrigin {
    session: SessionId,
    user: UserId,
    node: NodeId,
}

/// The answer with its metadata, or why there is none.
type ModelAnswer = Result<(String, ReplyFacts), RenderedMessage>;

/// Makes the calls that the plugins of a message asked for, one after the other. The message has been written
/// already.
pub fn spawn_asks(
    parts: &Arc<TurnServices>,
    session: SessionId,
    user: UserId,
    node: NodeId,
    asks: Vec<(String, PluginModelCall)>,
) {
    if asks.is_empty() {
        return;
    }
    let (parts, asker) = (Arc::clone(parts), AskOrigin { session, user, node });
    let mut now = asks;
    let late = parts.work.plugin_calls.reserve_slots(session, &mut now);
    tokio::spawn(async move {
        for (plugin, ask) in now {
            run_ask(&parts, asker, &plugin, &ask).await;
            parts.work.plugin_calls.release_slot(session);
        }
        for (plugin, ask) in late {
            let why = RenderedMessage::new(&ModelCallProblem::TooManyCalls { most: MAX_PER_SESSION });
            deliver_answer(&parts, asker, &plugin, &ask, Err(why)).await;
        }
    });
}

/// Makes one call, and has the plugin read the answer.
async fn run_ask(parts: &Arc<TurnServices>, asker: AskOrigin, plugin: &str, ask: &PluginModelCall) {
    let came = {
        let Ok(_place) = parts.work.plugin_calls.slots.acquire().await else { return };
        if parts.work.is_stopping.load(Ordering::SeqCst) {
            return;
        }
        let AskOrigin { session, user, node } = asker;
        let read = move |reader: &mut StoreReader<'_>| {
            let Some(stored) = reader.session(user, session)? else { return Ok(None) };
            Ok(reader.node(&stored, node)?.map(|_| stored.session))
        };
        match parts.storage.store.read::<_, StoreError, _>(read).await {
            // The message is gone, so nobody needs an answer.
            Ok(None) => return,
            Ok(Some(session)) => call_model(&parts.storage, &parts.prompts, &session, ask).await,
            Err(error) => Err(error.to_string().into()),
        }
    };
    if let Err(why) = &came {
        let (session, node, name) = (asker.session, asker.node, &ask.name);
        tracing::warn!(%session, %node, plugin, name, "a model call of a plugin failed: {why}");
    }
    deliver_answer(parts, asker, plugin, ask, came).await;
}

/// Asks the model.
async fn call_model(
    storage: &TreeStorage,
    prompt_services: &PromptServices,
    session: &Session,
    ask: &PluginModelCall,
) -> ModelAnswer {
    let choice = select_model(prompt_services, session, ask)?;
    // The session's parameters apply only to its own model; the plugin sets the length of the answer.
    let mut params = if ask.model.is_none() { session.params.clone() } else { Map::new() };
    REPLY_LIMIT_KEYS.iter().for_each(|key| _ = params.shift_remove(*key));
    let bounds = prompt_bounds::prompt_bounds(prompt_services, &choice, &params);
    let messages: Vec<OutgoingMessage> = ask.messages.iter().map(to_sent).collect();
    let needed: usize = messages.iter().map(|sent| bounds.measure.message(&sent.text)).sum();
    if needed > bounds.budget {
        return Err(RenderedMessage::new(&ModelCallProblem::CallTooLarge { needed, budget: bounds.budget }));
    }
    let reply = usize::try_from(ask.max_tokens).unwrap_or(usize::MAX).min(bounds.context_tokens.saturating_sub(needed));
    let prompt =
        BuiltPrompt { messages, reply_tokens: reply, context_tokens: bounds.context_tokens, ..BuiltPrompt::default() };
    let (content, facts) = call::complete(storage, prompt_services, &choice, &params, &prompt).await?;
    let content = tags::hide_for_reader(&content, false, &bounds.hide_tags).unwrap_or(content);
    let content = clotho_compat::prompt::recall::embed_prefix(content.trim(), MAX_ANSWER_CHARS).to_owned();
    if content.is_empty() {
        return Err(RenderedMessage::new(&ModelCallProblem::EmptyAnswer {}));
    }
    Ok((content, facts))
}

fn select_model(
    prompt_services: &PromptServices,
    session: &Session,
    ask: &PluginModelCall,
) -> Result<ModelSelection, RenderedMessage> {
    let named = ask.model.as_ref().or(session.model.as_ref()).cloned();
    let named = &named.unwrap_or_else(|| prompt_services.models.default_name());
    match prompt_services.models.find(named) {
        Ok(ReplyWriter::Model(choice)) => Ok(choice),
        Ok(ReplyWriter::Narrator(_)) => Err(RenderedMessage::new(&ModelCallProblem::NotAModel { name: named.clone() })),
        Err(error) => Err(RenderedMessage::new(&ReplyFailure::ModelUnusable { words: error.to_string() })),
    }
}

fn to_sent(line: &clotho_plugin::model_call::ModelCallMessage) -> OutgoingMessage {
    let role = Role::parse(&line.role).unwrap_or(Role::User);
    OutgoingMessage { role, name: None, text: line.text.clone() }
}

/// The place of an answer.
enum AnswerTarget {
    /// The asking message is gone.
    Gone,
    /// A reply is being generated there.
    Busy,
    /// The node below which it goes, and the turn of the asking message.
    Ready(Box<TurnSnapshot>, u64),
}

/// Has the plugin read the answer and writes its answer node. Waits while a reply is generated at the end of the
/// branch.
async fn deliver_answer(
    parts: &Arc<TurnServices>,
    asker: AskOrigin,
    plugin: &str,
    ask: &PluginModelCall,
    came: ModelAnswer,
) {
    let mut counting = parts.work.live.watch_count();
    let mut tries = 0;
    while tries < MAX_ATTEMPTS {
        if parts.work.is_stopping.load(Ordering::SeqCst) {
            return;
        }
        // Find the place, and wait while a reply is generated there.
        counting.borrow_and_update();
        let query = SnapshotQuery::at_node(&parts.rules, asker.user, asker.session, asker.node);
        let written = match parts.storage.store.read(move |reader| answer_target(reader, &query)).await {
            Ok(AnswerTarget::Gone) => return,
            Ok(AnswerTarget::Busy) => {
                if counting.changed().await.is_err() {
                    return;
                }
                continue;
            }
            Ok(AnswerTarget::Ready(snapshot, turn)) => {
                write_answer(parts, asker, &snapshot, turn, plugin, ask, &came).await
            }
            Err(error) => Err(error),
        };
        // Try again if HEAD moved meanwhile.
        match written {
            Ok(()) => return,
            Err(TurnError::Refused(TreeError::HeadMoved { .. } | TreeError::Generating)) => tries += 1,
            Err(TurnError::Refused(refusal)) => {
                let (session, node) = (asker.session, asker.node);
                tracing::info!(%session, %node, plugin, "the answer of a model call was refused: {refusal}");
                return;
            }
            Err(error) => {
                let (session, node) = (asker.session, asker.node);
                tracing::error!(%session, %node, plugin, "the changes of a model call could not be saved: {error}");
                return;
            }
        }
    }
}

/// Returns the end of the branch of the asking message: HEAD, or the leaf last visited below it.
fn answer_target(reader: &mut StoreReader<'_>, query: &SnapshotQuery) -> Result<AnswerTarget, TurnError> {
    let Some(stored) = reader.session(query.caller, query.session)? else { return Ok(AnswerTarget::Gone) };
    let Some(asking) = reader.node(&stored, query.node)? else { return Ok(AnswerTarget::Gone) };
    let head = stored.session.head;
    let turn = u64::try_from(asking.node.turn).unwrap_or(0);
    let mut at: StoredNode = asking;
    if reader.is_on_path(&stored, at.node.id, head)? {
        at = reader.node(&stored, head)?.ok_or(TreeError::NotFound("HEAD"))?;
    } else {
        while let Some(child) = at.node.remembered
            && let Some(below) = reader.node(&stored, child)?
        {
            at = below;
        }
    }
    // Nothing can go below a failed reply.
    while at.node.status == Status::Error
        && let Some(parent) = at.node.parent
        && let Some(above) = reader.node(&stored, parent)?
    {
        at = above;
    }
    if at.node.status == Status::Generating || reader.has_pending_reply(&at)? {
        return Ok(AnswerTarget::Busy);
    }
    let query = SnapshotQuery { node: at.node.id, ..query.clone() };
    Ok(AnswerTarget::Ready(Box::new(snapshot::read_in(reader, stored, &query)?), turn))
}

/// Runs `on_answer` at a snapshot and writes the answer node below it.
async fn write_answer(
    parts: &TurnServices,
    asker: AskOrigin,
    snapshot: &TurnSnapshot,
    asked_at: u64,
    plugin: &str,
    ask: &PluginModelCall,
    came: &ModelAnswer,
) -> Result<(), TurnError> {
    let storage = &parts.storage;
    let now = storage.clock.now();
    let mut draft =
        NodeDraft::new(NodeId::new(storage.ids.next_id(now)), Role::System, Kind::Change, storage.ids.next_seed(), now);
    let answered = ModelCallAnswer {
        name: ask.name.clone(),
        text: came.as_ref().map(|(text, _)| text.clone()).unwrap_or_default(),
        error: came.as_ref().err().map(|why| why.message.clone()),
        failure: came.as_ref().err().cloned(),
        turn: asked_at,
    };
    // Run the hook.
    let mut context =
        snapshot.hook_context(&snapshot.rules, snapshot.next_node_facts(draft.id, now, false), draft.dice_seed);
    (context.text, context.role) = (Arc::from(answered.text.as_str()), Role::Assistant.as_str());
    context.answer = Some(answered);
    let active = context.plugins.iter().find(|active| active.plugin.id() == plugin).cloned();
    // The plugin was turned off meanwhile, so nothing reads the answer.
    let active = active.ok_or(TreeError::NotFound("the plugin, active there"))?;
    let mut proposal = HookProposal::starting_at(Arc::clone(&context.world));
    parts.rules.hooks.run_plugin(Hook::OnAnswer, &context, &active, &mut proposal).await;
    draft.delta = proposal.delta;
    draft.delta.problems.extend(rules_in_force::changed_plugins(&snapshot.rules.plugins, &snapshot.catalogue));
    // Record the call and write the node.
    draft.metadata.reply = came.as_ref().map(|(_, facts)| facts.clone()).unwrap_or_default();
    draft.metadata.answers = Some(ModelCallRecord {
        plugin: plugin.to_owned(),
        name: ask.name.clone(),
        node_id: asker.node,
        error: came.as_ref().err().map(|why| why.message.clone()),
        failure: came.as_ref().err().cloned(),
        rest: Map::new(),
    });
    let head = snapshot.session().head;
    let actor = Actor { user: asker.user, at: now, expected_leaf: Some(ExpectedVersion::Leaf(head)) };
    let (session, parent) = (asker.session, snapshot.at.node.id);
    let summaries = summary_proposals::proposed_summaries(storage, proposal.summaries);
    let write = move |tx: &mut clotho_store::Tx<'_>| {
        tx.append_change(&actor, session, parent, &draft, OperationKind::Answer)?;
        summaries.iter().try_for_each(|one| tx.propose_summary(session, draft.id, one).map(drop))?;
        Ok::<_, WriteError>(())
    };
    Ok(storage.store.write(write).await?)
}
