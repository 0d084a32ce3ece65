//! Drafts: texts that a model writes without making a node. These are a message on behalf of the user, and a summary of
//! a run of messages. Drafts queue like replies; nothing of them is stored on disk.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::FutureExt;
use serde_json::{Map, Value};

use crate::live::{Draft, DraftFailure, DraftKind};
use clotho_compat::prompt;
use clotho_core::ids::{DraftId, NodeId, SessionId, UserId};
use clotho_core::tree::edit::{self, TreeError};
use clotho_core::tree::message_run::{self, RunNode};
use clotho_core::tree::{Kind, Node, Session};
use clotho_store::{StoreReader, StoredSession};

use crate::turn::machine::{self, PromptTexts, ReplyEvent, ReplyFailure, ReplyFault, ReplyMachine};
use crate::turn::models::{ModelSelection, ReplyWriter};
use crate::turn::prompts;
use crate::turn::prompts::PromptServices;
use crate::turn::prompts::deadline;
use crate::turn::prompts::macro_context::{GenerationTask, PromptPurpose};
use crate::turn::prompts::prompt_bounds::PromptBounds;
use crate::turn::prompts::trace::{self, BuiltPrompt};
use crate::turn::reply::fallback::{self, FallbackRequest};
use crate::turn::rules::RuleServices;
use crate::turn::services::TurnServices;
use crate::turn::snapshot::{self, SnapshotQuery};
use crate::turn::storage::TreeStorage;
use crate::turn::{
    GenerationSpec, ImpersonateSpec, SummarySpec, TurnError, prompts::prompt_bounds, reply::runner, start,
};

/// Starts a draft of the user's message.
pub async fn impersonate(
    parts: &Arc<TurnServices>,
    caller: UserId,
    session: SessionId,
    asked: ImpersonateSpec,
) -> Result<DraftId, TurnError> {
    let leaf = asked.leaf;
    let look = move |reader: &mut StoreReader<'_>, stored: &StoredSession| {
        let leaf = leaf.unwrap_or(stored.session.head);
        let at = reader.node(stored, leaf)?.ok_or(TreeError::NotFound("the message"))?;
        edit::check_parent(&at.node)?;
        Ok(DraftTask::Impersonate { leaf })
    };
    begin_draft(
        parts,
        caller,
        session,
        GenerationSpec { n: 1, model: asked.model, params: asked.params, character: None },
        look,
    )
    .await
}

/// Starts a draft of a summary of a run of messages.
pub async fn summarise(
    parts: &Arc<TurnServices>,
    caller: UserId,
    session: SessionId,
    asked: SummarySpec,
) -> Result<DraftId, TurnError> {
    let nodes = asked.nodes;
    let look = move |reader: &mut StoreReader<'_>, stored: &StoredSession| {
        let run = summary_run(reader, stored, &nodes)?;
        if !run.iter().any(|node| node.is_in_prompt() && !node.content.trim().is_empty()) {
            let message = "these messages have no text for a model".to_owned();
            return Err(TurnError::Invalid { field: "nodeIds", message });
        }
        Ok(DraftTask::Summarise { run })
    };
    begin_draft(
        parts,
        caller,
        session,
        GenerationSpec { n: 1, model: asked.model, params: asked.params, character: None },
        look,
    )
    .await
}

/// The text to draft.
enum DraftTask {
    Impersonate { leaf: NodeId },
    Summarise { run: Vec<Node> },
}

impl DraftTask {
    const fn kind(&self) -> DraftKind {
        match self {
            Self::Impersonate { .. } => DraftKind::Impersonate,
            Self::Summarise { .. } => DraftKind::Summarise,
        }
    }
}

struct DraftJob {
    draft: Arc<Draft>,
    task: DraftTask,
    choice: ModelSelection,
    params: Map<String, Value>,
}

async fn begin_draft(
    parts: &Arc<TurnServices>,
    caller: UserId,
    session: SessionId,
    generate: GenerationSpec,
    look: impl FnOnce(&mut StoreReader<'_>, &StoredSession) -> Result<DraftTask, TurnError> + Send + 'static,
) -> Result<DraftId, TurnError> {
    let (session, task) = parts
        .storage
        .store
        .read(move |reader| {
            let stored = reader.session(caller, session)?.ok_or(TreeError::NotFound("the session"))?;
            let task = look(reader, &stored)?;
            Ok::<_, TurnError>((stored.session, task))
        })
        .await?;
    let choice = select_model(&parts.prompts, &session, &generate)?;
    let id = DraftId::new(parts.storage.ids.next_id(parts.storage.clock.now()));
    let named = start::model(&parts.prompts, &session, &generate);
    let draft = parts.work.live.enqueue_draft(id, session.id, caller, task.kind(), &named).ok_or(TurnError::TooMany)?;
    let job = DraftJob { draft, task, choice, params: start::merged_params(&session, &generate) };
    parts.work.runtime.spawn(write(Arc::clone(parts), job));
    Ok(id)
}

/// Resolves the model of a draft. It has to be a model server, because narrator plugins only write replies.
pub fn select_model(
    prompt_services: &PromptServices,
    session: &Session,
    generate: &GenerationSpec,
) -> Result<ModelSelection, TurnError> {
    let invalid = |message: String| TurnError::Invalid { field: "model", message };
    match prompt_services.models.find(&start::model(prompt_services, session, generate)) {
        Ok(ReplyWriter::Model(choice)) => Ok(choice),
        Ok(ReplyWriter::Narrator(plugin)) => {
            Err(invalid(format!("the plugin \"{}\" can only write replies: choose a model", plugin.id())))
        }
        Err(error) => Err(invalid(error.to_string())),
    }
}

/// Returns the messages of a run, oldest first; they can be named in any order.
fn summary_run(reader: &mut StoreReader<'_>, stored: &StoredSession, ids: &[NodeId]) -> Result<Vec<Node>, TurnError> {
    let mut node = |id| Ok::<_, TurnError>(reader.node(stored, id)?.ok_or(TreeError::NotFound("the message"))?.node);
    let named: Vec<RunNode<NodeId>> = ids.iter().map(|id| Ok(member(&node(*id)?))).collect::<Result<_, TurnError>>()?;
    let (first, last) = message_run::run_ends(&named)?;
    let (mut line, mut next) = (Vec::new(), Some(last.id));
    while let Some(id) = next {
        let node = node(id)?;
        next = node.parent.filter(|_| node.depth > first.depth);
        line.push(node);
    }
    line.reverse();
    message_run::check_contiguous(&named, &line.iter().map(member).collect::<Vec<_>>())?;
    line.retain(|node| node.kind != Kind::Change);
    Ok(line)
}

fn member(node: &Node) -> RunNode<NodeId> {
    RunNode { id: node.id, depth: node.depth, kind: node.kind, status: node.status }
}

/// Runs a draft to its end; errors and panics end it as a failure.
async fn write(parts: Arc<TurnServices>, job: DraftJob) {
    let draft = Arc::clone(&job.draft);
    let written = std::panic::AssertUnwindSafe(stream(&parts, job)).catch_unwind().await;
    let fault = match written {
        Ok(Ok(machine)) => machine.fault().cloned(),
        Ok(Err(error)) => Some(internal_fault(&draft, &error.to_string())),
        Err(_) => Some(internal_fault(&draft, "its task panicked")),
    };
    let failed = fault.map(|ReplyFault { failure, hint }| DraftFailure { failure, hint });
    parts.work.live.end_draft(&draft, failed);
}

fn internal_fault(draft: &Draft, cause: &str) -> ReplyFault {
    tracing::error!(session = %draft.generation.session, "a draft could not be saved: {cause}");
    ReplyFault::new(&ReplyFailure::Internal { text: "draft" }, "try again")
}

async fn stream(parts: &Arc<TurnServices>, job: DraftJob) -> Result<ReplyMachine, TurnError> {
    let now = parts.storage.clock.now();
    let mut machine = ReplyMachine::new(now).parting_thoughts(&parts.rules.hide_tags);
    let writing = &job.draft.generation;
    let stop = match writing.wait_for_turn().await {
        Err(stop) => Some(stop),
        Ok(()) if parts.work.is_stopping.load(Ordering::SeqCst) => Some(crate::live::StopReason::Interrupted),
        Ok(()) => None,
    };
    if let Some(stop) = stop {
        machine.handle_event(fallback::stop_event(stop), now);
        return Ok(machine);
    }
    let bounds = bounds(&parts.storage, &parts.prompts, &job).await;
    let (task, kind, hide_tags) = (job.task, job.draft.kind, bounds.hide_tags.clone());
    let (caller, session) = (writing.user, writing.session);
    let catalogue = parts.rules.catalogue.current();
    let rules = Arc::clone(&parts.rules);
    let query =
        move |node| SnapshotQuery { caller, session, node, speaker: None, user_persona: None, hide_tags, catalogue };
    let prompt =
        deadline::read_in_time(&parts.storage.store, move |reader| build_prompt(&rules, reader, query, task, bounds));
    let prompt = tokio::select! {
        biased;
        stop = writing.wait_for_stop() => {
            machine.handle_event(fallback::stop_event(stop), parts.storage.clock.now());
            return Ok(machine);
        }
        prompt = prompt => prompt,
    };
    let prompt = match prompt {
        Err(TurnError::PromptTooSlow { seconds }) => {
            machine.handle_event(ReplyEvent::Failed(machine::prompt_too_slow(seconds)), parts.storage.clock.now());
            return Ok(machine);
        }
        prompt => prompt?,
    };
    let (prompt, own_name) = prompt;
    if let Some(too_large) = prompt.too_large {
        machine.handle_event(ReplyEvent::Failed(too_long(kind, too_large, prompt.has_preset())), now);
        return Ok(machine);
    }
    if let Some(name) = &own_name {
        machine.strip_name(name);
    }
    let request = FallbackRequest {
        choice: &job.choice,
        prompt: &prompt,
        params: &job.params,
        dice_seed: parts.storage.ids.next_seed(),
        may_rebuild: false,
    };
    // A draft offers no tools, so there is no refusal to handle.
    let _ = fallback::stream_with_fallback(parts, writing, &mut machine, &request, None, |_| {}).await;
    Ok(machine)
}

/// Returns the bounds of the prompt. Only a draft that continues the story uses recall.
async fn bounds(storage: &TreeStorage, prompt_services: &PromptServices, job: &DraftJob) -> PromptBounds {
    let bounds = prompt_bounds::prompt_bounds(prompt_services, &job.choice, &job.params);
    let DraftTask::Impersonate { leaf } = job.task else { return bounds };
    let generation = &job.draft.generation;
    let now = storage.clock.now();
    let embedder = &prompt_services.query_embedder;
    let recall = embedder.prompt_query(&storage.store, now, generation.user, generation.session, leaf, None).await;
    PromptBounds { recall, ..bounds }
}

/// Builds the prompt of a draft. Also returns the name that the draft must not begin with.
fn build_prompt(
    rule_services: &RuleServices,
    reader: &mut StoreReader<'_>,
    query: impl FnOnce(NodeId) -> SnapshotQuery,
    task: DraftTask,
    bounds: PromptBounds,
) -> Result<(BuiltPrompt, Option<String>), TurnError> {
    match task {
        DraftTask::Impersonate { leaf } => {
            let mut snapshot = snapshot::read(reader, &query(leaf))?;
            let purpose = PromptPurpose { generation_task: GenerationTask::Impersonate, number: 0 };
            let prompt = prompts::build_prompt(rule_services, reader, &mut snapshot, bounds, &purpose)?;
            let name = prompt.has_names.then(|| snapshot.cast.user.clone());
            Ok((prompt, name))
        }
        DraftTask::Summarise { run } => {
            let read = run.iter().filter(|node| node.is_in_prompt());
            let lines: Vec<_> = read.map(|node| trace::prompt_line(node, &bounds.hide_tags)).collect();
            let messages = prompt::summary_messages(&lines);
            let needed = messages.iter().map(|sent| prompt::estimate_message(&sent.text)).sum();
            let budget = bounds.budget;
            let too_large = (needed > budget).then_some(prompt::TokenOverflow { needed, budget });
            let prompt = BuiltPrompt {
                messages,
                reply_tokens: bounds.reply_tokens,
                context_tokens: bounds.context_tokens,
                too_large,
                ..BuiltPrompt::default()
            };
            Ok((prompt, None))
        }
    }
}

fn too_long(kind: DraftKind, too_large: prompt::TokenOverflow, has_preset: bool) -> ReplyFault {
    if kind == DraftKind::Impersonate {
        return runner::prompt_too_large(too_large, has_preset);
    }
    let prompt::TokenOverflow { needed, budget } = too_large;
    ReplyFault::new(
        &ReplyFailure::PromptTooLarge { texts: PromptTexts::Messages, needed, budget },
        "summarise fewer messages at once, or choose a model with a longer context",
    )
}
