//! Runs one reply from its placeholder to commit 2: read, build the prompt, stream, run the rules, commit. It is the
//! async part; the state machine decides what happens when.

use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::{Map, Value};

use crate::live::{RunningReply, StopReason};
use clotho_compat::prompt::TokenOverflow;
use clotho_core::coded_message::RenderedMessage;
use clotho_core::ids::{SessionId, UserId};
use clotho_core::secret_names::mask_secrets;
use clotho_core::tree::edit::{HeadRequest, TreeError};
use clotho_core::tree::reply_facts::{FiniteNumber, ReplyErrorRecord, ToolsRefusalRecord};
use clotho_core::tree::{Delta, NodeMetadata, Role};
use clotho_plugin::{Hook, HookAnswer, mvu};
use clotho_provider::{self as provider, Frame};
use clotho_store::{NodeDraft, ReplyCompletion, StoreReader, Trace};

use super::endings;
use super::fallback::{self, FallbackRequest, ModelAttempt, PromptRefusal, ToolsRefusal};
use crate::turn::machine::{self, PromptTexts, ReplyEvent, ReplyFailure, ReplyFault, ReplyMachine};
use crate::turn::models::{ModelSelection, ReplyWriter};
use crate::turn::problem::ModelCallProblem;
use crate::turn::prompts::PromptServices;
use crate::turn::prompts::deadline;
use crate::turn::prompts::macro_context::{GenerationTask, PromptPurpose};
use crate::turn::prompts::prompt_bounds::{self, PromptBounds};
use crate::turn::prompts::recount;
use crate::turn::prompts::trace::BuiltPrompt;
use crate::turn::rules::RuleServices;
use crate::turn::rules::hooks::HookProposal;
use crate::turn::running::RunningRequest;
use crate::turn::running::RunningWork;
use crate::turn::services::TurnServices;
use crate::turn::snapshot::{self, SnapshotQuery, TurnSnapshot};
use crate::turn::storage::TreeStorage;
use crate::turn::tools::ToolRunner;
use crate::turn::{TurnError, rules::rules_in_force};
use crate::turn::{models::token_counters, prompts, rules::summary_proposals, side_calls, tools};

/// The source of a reply, as requested.
#[derive(Debug, Clone)]
pub enum ReplyJobSource {
    /// A model by name.
    Model(String),
    /// A plugin has written it already (`on_input` with a reply).
    PluginText(String),
}

/// A reply to write.
pub struct ReplyJob {
    pub session: SessionId,
    pub user: UserId,
    /// The placeholder.
    pub draft: NodeDraft,
    pub source: ReplyJobSource,
    pub params: Map<String, Value>,
    /// The text to continue.
    pub prefix: String,
    pub asked: Option<HeadRequest>,
    /// The operation that requested it.
    pub step: i64,
    pub running: Arc<RunningReply>,
}

/// Runs a reply to its end. Even after a panic the node does not stay generating.
pub async fn run(parts: Arc<TurnServices>, job: ReplyJob) {
    let (session, node, step) = (job.session, job.draft.id, job.step);
    let (metadata, name) = (job.draft.metadata.clone(), job.draft.name.clone());
    let running = Arc::clone(&job.running);
    let work = std::panic::AssertUnwindSafe(write_reply(&parts, job)).catch_unwind().await;
    let sent = parts.work.requests.take(node);
    let failed = match work {
        Ok(Ok(())) => None,
        // The session is in the trash or the node has ended already: nothing is left to do.
        Ok(Err(TurnError::Refused(refusal))) => {
            tracing::info!(%session, %node, "a reply was refused: {refusal}");
            None
        }
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some("the reply's task panicked".to_owned()),
    };
    if let Some(cause) = failed {
        tracing::error!(%session, %node, "a reply could not be committed: {cause}");
        let fault = ReplyFault::new(&ReplyFailure::Internal { text: "reply" }, "try again");
        let written = running.partial_text();
        parts.work.live.free_slot(&running);
        let metadata = sent.as_ref().map_or(metadata, |sent| sent.metadata.clone());
        let trace = sent.map(|sent| sent.trace.clone()).unwrap_or_default();
        let ending = endings::failure_ending(metadata, trace, &fault, written.content, written.reasoning);
        let ending = ReplyCompletion { name, ..ending };
        if let Err(error) = endings::commit_reply(&parts.storage, session, node, step, ending).await {
            tracing::error!(%session, %node, "its failure could not be saved either: {error}; it is tried again later");
        }
    }
    parts.work.live.end(node);
}

/// The source of a reply, with the model name resolved.
enum ReplySource {
    PluginText(String),
    Narrator { name: String, plugin: String },
    Model { name: String, choice: ModelSelection },
    Unavailable(ReplyFault),
}

fn reply_source(prompt_services: &PromptServices, source: &ReplyJobSource) -> ReplySource {
    let name = match source {
        ReplyJobSource::PluginText(text) => return ReplySource::PluginText(text.clone()),
        ReplyJobSource::Model(name) => name.clone(),
    };
    match prompt_services.models.find(&name) {
        Ok(ReplyWriter::Narrator(plugin)) => ReplySource::Narrator { name, plugin: plugin.id().to_owned() },
        Ok(ReplyWriter::Model(choice)) => ReplySource::Model { name, choice },
        Err(error) => {
            let hint = "choose another model, or check the configuration";
            ReplySource::Unavailable(ReplyFault::new(&ReplyFailure::ModelUnusable { words: error.to_string() }, hint))
        }
    }
}

/// The facts of a reply besides its text.
#[derive(Default)]
struct ReplyRecord {
    proposal: HookProposal,
    metadata: Box<NodeMetadata>,
    trace: Trace,
    /// The provider that was asked, and its model.
    asked_model: Option<(String, String)>,
    /// The estimated tokens of its prompt, without learned corrections.
    estimated_tokens: usize,
    /// Lore texts for the values model.
    values_prompt: Vec<String>,
    /// Whether a server has found an earlier prompt too long, so that this one was built again.
    is_rebuilt: bool,
}

impl ReplyRecord {
    /// Creates the record before anything is asked.
    fn new(job: &ReplyJob, snapshot: &TurnSnapshot) -> Self {
        let proposal = HookProposal::starting_at(Arc::clone(&snapshot.world));
        Self { proposal, metadata: job.draft.metadata.clone(), ..Self::default() }
    }

    /// Keeps what is known so far, in case the reply is interrupted.
    fn save_request(&self, work: &RunningWork, job: &ReplyJob) {
        let request = RunningRequest { metadata: self.metadata.clone(), trace: self.trace.clone() };
        work.requests.keep(job.draft.id, request);
    }
}

async fn write_reply(parts: &Arc<TurnServices>, job: ReplyJob) -> Result<(), TurnError> {
    let is_queued = job.running.is_queued();
    if let Err(stop) = job.running.wait_for_turn().await {
        return end_unwritten(&parts.storage, &parts.work, &job, &stop_fault(stop)).await;
    }
    let mut machine =
        ReplyMachine::new(job.draft.created).continuing_from(&job.prefix).parting_thoughts(&parts.rules.hide_tags);
    let waited = is_queued.then(|| parts.storage.clock.now().millis_since(job.draft.created));
    let (snapshot, mut record) = match compose_text(parts, &job, &mut machine, waited).await {
        Ok(composed) => composed,
        Err(PromptFailure::Stopped(stop)) => {
            return end_unwritten(&parts.storage, &parts.work, &job, &stop_fault(stop)).await;
        }
        Err(PromptFailure::Turn(TurnError::PromptTooSlow { seconds })) => {
            return end_unwritten(&parts.storage, &parts.work, &job, &machine::prompt_too_slow(seconds)).await;
        }
        Err(PromptFailure::Turn(error)) => return Err(error),
    };
    if machine.runs_rules() {
        let text = text_for_rules(parts, &job, &snapshot, &machine, &mut record).await;
        record.proposal = run_rules(&parts.rules, &job, &snapshot, text, record.proposal, &record.metadata).await;
        record
            .proposal
            .delta
            .problems
            .extend(rules_in_force::changed_plugins(&snapshot.rules.plugins, &snapshot.catalogue));
    }
    let (asks, summaries) = match machine.runs_rules() {
        true => (std::mem::take(&mut record.proposal.asks), std::mem::take(&mut record.proposal.summaries)),
        false => Default::default(),
    };
    let summaries = summary_proposals::proposed_summaries(&parts.storage, summaries);
    let ending = reply_ending(&parts.prompts, &job, &snapshot, &machine, record);
    log_failure(&job, &ending);
    parts.work.live.free_slot(&job.running);
    endings::commit_with_summaries(&parts.storage, job.session, job.draft.id, job.step, ending, summaries).await?;
    side_calls::spawn_asks(parts, job.session, job.user, job.draft.id, asks);
    if snapshot.session().summaries.is_on {
        parts.work.summary_queue.schedule(job.session, job.draft.id);
    }
    Ok(())
}

/// Why there is no prompt.
enum PromptFailure {
    /// The reply was stopped meanwhile.
    Stopped(StopReason),
    Turn(TurnError),
}

impl From<TurnError> for PromptFailure {
    fn from(error: TurnError) -> Self {
        Self::Turn(error)
    }
}

/// Reads the snapshot and has the text written. If a server refuses tools or finds the prompt too long, it does so once
/// more with another prompt.
async fn compose_text(
    parts: &Arc<TurnServices>,
    job: &ReplyJob,
    machine: &mut ReplyMachine,
    waited: Option<u64>,
) -> Result<(TurnSnapshot, ReplyRecord), PromptFailure> {
    let mut refused: Option<ToolsRefusal> = None;
    let mut is_rebuilt = false;
    loop {
        let source = reply_source(&parts.prompts, &job.source);
        let (snapshot, prompt) = tokio::select! {
            biased;
            stop = job.running.wait_for_stop() => return Err(PromptFailure::Stopped(stop)),
            built = build_fitting_prompt(parts, job, &source) => built?,
        };
        let written = prompt.as_ref().map(|prompt| prompt.macro_result.operations.clone()).unwrap_or_default();
        let mut record = ReplyRecord { is_rebuilt, ..ReplyRecord::new(job, &snapshot) };
        record.metadata.reply.queued_ms = waited.or(record.metadata.reply.queued_ms);
        record.proposal.apply_first(written, &snapshot.rules.rules);
        match prepare_text(&parts.rules, &parts.work, job, &snapshot, source, prompt, &mut record).await {
            Ok(ReplyText::Whole(pieces)) => feed_whole_text(&parts.storage, &parts.work, job, machine, pieces),
            Ok(ReplyText::FromModels { choice, prompt }) => {
                if prompt.has_names {
                    machine.strip_name(&snapshot.cast.character);
                }
                record.trace.head.tools_in_text = refused.as_ref().map(refusal_trace);
                let refusal = stream_reply(parts, job, &snapshot, machine, &choice, &prompt, &mut record).await;
                match (refusal, &refused) {
                    (None, _) => {}
                    (Some(PromptRefusal::TooLong), _) => {
                        is_rebuilt = true;
                        continue;
                    }
                    (Some(PromptRefusal::Tools(refusal)), None) => {
                        remember_refusal(&parts.prompts, &refusal);
                        refused = Some(refusal);
                        continue;
                    }
                    // Tools were in the text this time, so another refusal is unexpected; do not try forever.
                    (Some(PromptRefusal::Tools(refusal)), Some(_)) => {
                        let failure = ReplyFailure::ToolsRefused { words: refusal.why };
                        let fault = ReplyFault::new(&failure, "set `tools = \"none\"` there");
                        machine.handle_event(ReplyEvent::Failed(fault), parts.storage.clock.now());
                    }
                }
            }
            Err(fault) => _ = machine.handle_event(ReplyEvent::Failed(fault), parts.storage.clock.now()),
        }
        return Ok((snapshot, record));
    }
}

/// Records that the model gets its tools in the prompt text from now on.
fn remember_refusal(prompt_services: &PromptServices, ToolsRefusal { candidate, why }: &ToolsRefusal) {
    tracing::info!(model = candidate.name, "tools are described in the prompt from now on: {why}");
    prompt_services.models.use_text_tools(&candidate.client.endpoint().id, &candidate.model);
}

/// Formats a refusal for the trace.
fn refusal_trace(ToolsRefusal { candidate, why }: &ToolsRefusal) -> ToolsRefusalRecord {
    ToolsRefusalRecord { model: candidate.name.clone(), why: why.clone(), rest: Map::new() }
}

fn stop_fault(stop: StopReason) -> ReplyFault {
    match stop {
        StopReason::Cancelled => machine::cancelled_before_text(),
        StopReason::Interrupted => endings::interrupted_fault(),
    }
}

/// Ends a reply that never had a prompt.
async fn end_unwritten(
    storage: &TreeStorage,
    work: &RunningWork,
    job: &ReplyJob,
    fault: &ReplyFault,
) -> Result<(), TurnError> {
    let so_far = job.running.partial_text().content;
    let ending = endings::failure_ending(job.draft.metadata.clone(), Trace::default(), fault, so_far, String::new());
    let ending = ReplyCompletion { name: job.draft.name.clone(), ..ending };
    log_failure(job, &ending);
    work.live.free_slot(&job.running);
    Ok(endings::commit_reply(storage, job.session, job.draft.id, job.step, ending).await?)
}

/// Reads the snapshot and builds the prompt; once more if the server counts it as too large, with the corrected
/// estimate.
async fn build_fitting_prompt(
    parts: &Arc<TurnServices>,
    job: &ReplyJob,
    source: &ReplySource,
) -> Result<(TurnSnapshot, Option<BuiltPrompt>), TurnError> {
    let (snapshot, mut prompt) = read_snapshot(parts, job, source).await?;
    let (ReplySource::Model { choice, .. }, Some(first)) = (source, &mut prompt) else { return Ok((snapshot, prompt)) };
    if recount::recount_and_check(&parts.prompts, &choice.first, &job.params, first).await {
        return Ok((snapshot, prompt));
    }
    let (snapshot, mut prompt) = read_snapshot(parts, job, source).await?;
    if let Some(rebuilt) = &mut prompt {
        recount::recount_and_check(&parts.prompts, &choice.first, &job.params, rebuilt).await;
    }
    Ok((snapshot, prompt))
}

/// Reads the snapshot at the context node, just before the reply, and builds the prompt if a model is asked. Both use
/// one transaction.
async fn read_snapshot(
    parts: &Arc<TurnServices>,
    job: &ReplyJob,
    source: &ReplySource,
) -> Result<(TurnSnapshot, Option<BuiltPrompt>), TurnError> {
    let bounds = match source {
        ReplySource::Model { choice, .. } => {
            let (embedder, store) = (&parts.prompts.query_embedder, &parts.storage.store);
            let now = parts.storage.clock.now();
            let recall = embedder.prompt_query(store, now, job.user, job.session, job.draft.id, None).await;
            Some(PromptBounds { recall, ..prompt_bounds::prompt_bounds(&parts.prompts, choice, &job.params) })
        }
        _ => None,
    };
    let prefix = Some(job.prefix.clone()).filter(|text| !text.is_empty());
    let query = SnapshotQuery {
        speaker: job.draft.character,
        ..SnapshotQuery::at_node(&parts.rules, job.user, job.session, job.draft.id)
    };
    let rules = Arc::clone(&parts.rules);
    deadline::read_in_time(&parts.storage.store, move |reader: &mut StoreReader<'_>| {
        let stored = reader.session(query.caller, query.session)?.ok_or(TreeError::NotFound("the session"))?;
        let placeholder = reader.node(&stored, query.node)?.ok_or(TreeError::NotFound("the message"))?;
        let context = placeholder.node.parent.ok_or(TreeError::NotFound("the message"))?;
        let mut snapshot = snapshot::read_in(reader, stored, &SnapshotQuery { node: context, ..query })?;
        let from = placeholder.node.metadata.continued_from;
        let generation_task = prefix.map_or(GenerationTask::Reply, |text| GenerationTask::Continue { text, from });
        let purpose = PromptPurpose { generation_task, number: reader.siblings(&placeholder)?.index };
        let prompt =
            bounds.map(|bounds| prompts::build_prompt(&rules, reader, &mut snapshot, bounds, &purpose)).transpose()?;
        Ok((snapshot, prompt))
    })
    .await
}

/// Prepares the text: from models, from a narrator plugin, or already written.
async fn prepare_text(
    rule_services: &RuleServices,
    work: &RunningWork,
    job: &ReplyJob,
    snapshot: &TurnSnapshot,
    source: ReplySource,
    prompt: Option<BuiltPrompt>,
    record: &mut ReplyRecord,
) -> Result<ReplyText, ReplyFault> {
    match (source, prompt) {
        (ReplySource::PluginText(text), _) => Ok(ReplyText::Whole(vec![text])),
        (ReplySource::Unavailable(fault), _) => Err(fault),
        (ReplySource::Narrator { name, plugin }, _) => {
            record.trace.head.reply.model = Some(name);
            record.save_request(work, job);
            narrate(rule_services, job, snapshot, &plugin, &mut record.proposal).await.map(ReplyText::Whole)
        }
        (ReplySource::Model { name, choice }, prompt) => {
            let prompt = prompt.unwrap_or_default();
            record.trace = prompt.trace();
            record.values_prompt.clone_from(&prompt.values_prompt);
            record.proposal.delta.problems.extend(prompt.plan.problems.clone());
            record.trace.head.reply.model = Some(name.clone());
            if let Some(too_large) = prompt.too_large {
                return Err(prompt_too_large(too_large, prompt.has_preset()));
            }
            if name != choice.first.name && name != choice.first.model {
                record.metadata.reply.alias = Some(name);
            }
            Ok(ReplyText::FromModels { choice, prompt: Box::new(prompt) })
        }
    }
}

/// The text of a reply.
enum ReplyText {
    /// The whole text, from a plugin or a narrator.
    Whole(Vec<String>),
    /// Models have to be asked for it.
    FromModels { choice: ModelSelection, prompt: Box<BuiltPrompt> },
}

/// Streams from the first model of the fallback list that answers; records each attempt before it is sent. Returns a
/// refusal if the prompt has to be built again.
async fn stream_reply(
    parts: &Arc<TurnServices>,
    job: &ReplyJob,
    snapshot: &TurnSnapshot,
    machine: &mut ReplyMachine,
    choice: &ModelSelection,
    prompt: &BuiltPrompt,
    record: &mut ReplyRecord,
) -> Option<PromptRefusal> {
    let (params, dice_seed) = (&job.params, job.draft.dice_seed);
    let request = FallbackRequest { choice, prompt, params, dice_seed, may_rebuild: !record.is_rebuilt };
    record.estimated_tokens = token_counters::estimate_messages(&prompt.messages);
    let is_many = record.metadata.reply.alias.is_some();
    let mut proposal = std::mem::take(&mut record.proposal);
    let facts = snapshot.next_node_facts(job.draft.id, job.draft.created, false);
    let context = snapshot.hook_context(&snapshot.rules, facts, job.draft.dice_seed);
    let mut tool_runner = ToolRunner::new(&parts.rules, &prompt.tools, context, &mut proposal);
    let tool_runner = (!prompt.tools.is_empty()).then_some(&mut tool_runner);
    if tool_runner.is_some() {
        machine.allow_tools(tools::MAX_ROUNDS, prompt.tools.are_in_text);
    }
    let note = |attempt: &ModelAttempt<'_>| {
        let candidate = attempt.candidate;
        let (facts, head) = (&mut record.metadata.reply, &mut record.trace.head);
        if is_many {
            facts.model = Some(candidate.name.clone());
        }
        facts.skipped_models = attempt.skipped_models().or(facts.skipped_models.take());
        let mut sent = attempt.params.clone();
        mask_secrets(&mut sent);
        facts.params = Some(sent.clone());
        head.reply.params = Some(sent);
        head.template = attempt.template.clone().or(head.template.take());
        head.parameters = attempt.parameter_trace();
        let seed = ["seed", "random_seed"].iter().find_map(|name| attempt.params.get(*name));
        record.metadata.seed = seed.and_then(FiniteNumber::from_json).into();
        record.asked_model = Some((candidate.client.endpoint().id.clone(), candidate.model.clone()));
        record.save_request(&parts.work, job);
    };
    let refused = fallback::stream_with_fallback(parts, &job.running, machine, &request, tool_runner, note).await;
    record.proposal = proposal;
    refused
}

/// Feeds a whole text to the machine. If the reply was stopped before, feeds none of it, because a narrator's
/// operations belong to all of its text.
fn feed_whole_text(
    storage: &TreeStorage,
    work: &RunningWork,
    job: &ReplyJob,
    machine: &mut ReplyMachine,
    pieces: Vec<String>,
) {
    let events = match job.running.wait_for_stop().now_or_never() {
        Some(stop) => vec![fallback::stop_event(stop)],
        None => {
            let finish = Frame::Finish(provider::FinishReason::Stop);
            pieces
                .into_iter()
                .map(Frame::Text)
                .chain([finish])
                .map(ReplyEvent::Frame)
                .chain([ReplyEvent::Ended])
                .collect()
        }
    };
    for event in events {
        if !machine.is_finished() {
            fallback::feed_machine(storage, work, &job.running, machine, event);
        }
    }
}

/// Has a plugin write the reply. Its operations and rolls belong to the reply, like those of `on_reply`.
async fn narrate(
    rule_services: &RuleServices,
    job: &ReplyJob,
    snapshot: &TurnSnapshot,
    id: &str,
    proposal: &mut HookProposal,
) -> Result<Vec<String>, ReplyFault> {
    let facts = snapshot.next_node_facts(job.draft.id, job.draft.created, false);
    let context = snapshot.hook_context(&snapshot.rules, facts, job.draft.dice_seed);
    let hint = "turn on the plugin in this session, or choose another model";
    let absent = || ReplyFault::new(&ReplyFailure::NarratorInactive { plugin: id.to_owned() }, hint);
    let active = context.plugins.iter().find(|active| active.plugin.id() == id).cloned().ok_or_else(absent)?;
    rule_services.hooks.run_plugin(Hook::Narrate, &context, &active, proposal).await;
    let hint = "try again; if it fails again, tell the plugin's author";
    match proposal.answers.pop() {
        Some((_, HookAnswer::Narration(pieces))) if pieces.iter().any(|piece| !piece.trim().is_empty()) => Ok(pieces),
        Some((_, HookAnswer::Narration(_))) => {
            Err(ReplyFault::new(&ReplyFailure::EmptyNarration { plugin: id.to_owned() }, hint))
        }
        Some((_, HookAnswer::Refused(message))) => {
            let failure = ReplyFailure::PluginRefused { plugin: id.to_owned(), words: message };
            Err(ReplyFault::new(&failure, "write another message"))
        }
        _ => {
            let refusal = proposal.delta.problems.iter().rev().find(|problem| problem.plugin.as_deref() == Some(id));
            let why = refusal.map_or("it gave no reason", |problem| problem.message.as_str());
            let failure = ReplyFailure::PluginFailed { plugin: id.to_owned(), words: why.to_owned() };
            Err(ReplyFault::new(&failure, hint))
        }
    }
}

/// Returns the fault of a prompt whose mandatory texts exceed the budget.
pub fn prompt_too_large(TokenOverflow { needed, budget }: TokenOverflow, has_preset: bool) -> ReplyFault {
    let texts = if has_preset { PromptTexts::PresetAndCard } else { PromptTexts::Card };
    let hint = if has_preset {
        "shorten the preset or the card, or give the preset (`openai_max_context`) and the model a longer context"
    } else {
        "shorten the card, give the model a longer context, or raise `generation.context_tokens`"
    };
    ReplyFault::new(&ReplyFailure::PromptTooLarge { texts, needed, budget }, hint)
}

/// Returns the text as rules read it. If the session has a values model, it is asked first. Cancelling at this stage
/// cancels only the values model.
async fn text_for_rules(
    parts: &Arc<TurnServices>,
    job: &ReplyJob,
    snapshot: &TurnSnapshot,
    machine: &ReplyMachine,
    record: &mut ReplyRecord,
) -> Arc<str> {
    // Its thoughts are parted already.
    let plain = machine.content();
    let hide_tags = &parts.rules.hide_tags;
    let read = |metadata: &NodeMetadata| side_calls::with_values(hide_tags, Role::Assistant, plain, true, metadata);
    let Some(model) = snapshot.values_model() else { return read(&record.metadata) };
    parts.work.live.append(&job.running, "", "", "values");
    let values = tokio::select! {
        biased;
        _ = job.running.wait_for_stop() => {
            side_calls::ValuesModelResult::failure(model, &RenderedMessage::new(&ModelCallProblem::Stopped {}))
        }
        values = side_calls::request_values(&parts.storage, &parts.prompts, snapshot, &record.values_prompt, &record.proposal.world, model, plain) => values,
    };
    let mut traced = values.record.clone();
    traced.rest.insert("messages".into(), values.messages.into());
    traced.rest.extend(values.answer.map(|answer| ("answer".to_owned(), answer.into())));
    // The reply's own commands are ignored; say so in the trace.
    let own = mvu::count_commands(plain);
    if own > 0 {
        let message = format!("the commands in the reply ({own}) are ignored, because {model} updates the values");
        traced.rest.insert("ignored".into(), message.into());
    }
    record.trace.head.values = Some(traced);
    record.metadata.values = Some(values.record);
    record.proposal.delta.problems.extend(values.problem);
    read(&record.metadata)
}

/// Runs `on_reply` of every plugin in force on the finished text. First applies the values model's changes for plugins
/// that do not read commands.
async fn run_rules(
    rule_services: &RuleServices,
    job: &ReplyJob,
    snapshot: &TurnSnapshot,
    text: Arc<str>,
    mut proposal: HookProposal,
    metadata: &NodeMetadata,
) -> HookProposal {
    let facts = snapshot.next_node_facts(job.draft.id, job.draft.created, false);
    let mut context = snapshot.hook_context(&snapshot.rules, facts, job.draft.dice_seed);
    context.text = text;
    context.role = Role::Assistant.as_str();
    side_calls::apply_commands(&context, metadata, &mut proposal);
    rule_services.hooks.run(Hook::OnReply, &context, proposal).await
}

/// Logs a failure, without any text that people wrote.
fn log_failure(job: &ReplyJob, ending: &ReplyCompletion) {
    let Some(ReplyErrorRecord { code, .. }) = &ending.metadata.reply.error else { return };
    let (session, node) = (job.session, job.draft.id);
    let model = ending.metadata.reply.model.as_deref().unwrap_or_default();
    match code.as_str() {
        "cancelled" | "interrupted" => tracing::info!(%session, %node, model, code, "a reply was stopped"),
        _ => tracing::warn!(%session, %node, model, code, "a reply failed"),
    }
}

fn reply_ending(
    prompt_services: &PromptServices,
    job: &ReplyJob,
    snapshot: &TurnSnapshot,
    machine: &ReplyMachine,
    record: ReplyRecord,
) -> ReplyCompletion {
    let ReplyRecord {
        proposal: HookProposal { delta, .. },
        mut metadata,
        mut trace,
        asked_model: asked,
        estimated_tokens: estimated,
        ..
    } = record;
    machine.record_ending(&mut metadata.reply);
    if let (Some((provider, model)), Some(usage)) = (&asked, machine.usage()) {
        // With several requests only the sum is known, so nothing can be learned.
        if !machine.has_called() {
            prompt_services.models.learn_token_count(provider, model, estimated, usage.prompt);
        }
        side_calls::add_cost(prompt_services, &mut metadata.reply, provider, model, &usage);
    }
    trace.head.reply = metadata.reply.for_trace();
    // A reply that failed or was stopped changes no world; only its problems and runs are kept.
    let delta = if machine.runs_rules() {
        delta
    } else {
        Delta { problems: delta.problems, runs: delta.runs, ..Delta::default() }
    };
    ReplyCompletion {
        status: machine.status(),
        content: machine.content().to_owned(),
        reasoning: machine.reasoning().map(str::to_owned),
        name: Some(snapshot.cast.character.clone()).filter(|name| !name.is_empty()),
        metadata,
        delta,
        trace: Some(trace),
        asked: job.asked,
    }
}
