//! Asks the models of the fallback list in order: if one fails before it has sent any text, the next is asked. A model
//! that calls tools is asked again with their results.

use std::sync::Arc;

use futures_util::StreamExt;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::live::{StopReason, TextGeneration};
use clotho_provider::{FrameStream, ParameterChange, ProviderFailure, Request, TemplatedPrompt, ToolRound};

use super::endings;
use crate::turn::machine::{ReplyAction, ReplyEvent, ReplyFailure, ReplyFault, ReplyMachine};
use crate::turn::models::{ModelCandidate, ModelSelection, SkippedModel, token_counters};
use crate::turn::prompts::trace::BuiltPrompt;
use crate::turn::running::RunningWork;
use crate::turn::services::TurnServices;
use crate::turn::storage::TreeStorage;
use crate::turn::tools::ToolRunner;
use crate::turn::{prompts, tools, tools::text_tools};
use clotho_core::coded_message::RenderedMessage;
use clotho_core::tree::reply_facts::SkippedModelRecord;

/// A request to the models of a fallback list.
pub struct FallbackRequest<'a> {
    /// The models.
    pub choice: &'a ModelSelection,
    pub prompt: &'a BuiltPrompt,
    /// Parameters of the session and of the request.
    pub params: &'a Map<String, Value>,
    /// The seed of the reply and its rolls.
    pub dice_seed: u64,
    /// Whether the prompt can be built again, if a server says that it is too long.
    pub may_rebuild: bool,
}

/// One attempt with one model.
pub struct ModelAttempt<'a> {
    pub candidate: &'a ModelCandidate,
    /// The parameters sent with the request.
    pub params: Map<String, Value>,
    /// How these differ from the parameters that were asked for.
    pub changes: Vec<ParameterChange>,
    /// The template, if the prompt is sent as one text: `{name, problem?, failure?}`.
    pub template: Option<Value>,
    /// The models that failed before.
    pub skipped: &'a [SkippedModel],
}

impl ModelAttempt<'_> {
    /// Formats the skipped models for the trace; `None` without any.
    pub fn skipped_models(&self) -> Option<Vec<SkippedModelRecord>> {
        (!self.skipped.is_empty()).then(|| self.skipped.iter().map(SkippedModel::to_record).collect())
    }

    /// Formats the changes of parameters for the trace; `None` without any.
    pub fn parameter_trace(&self) -> Option<Vec<Value>> {
        let message = |change: &ParameterChange| RenderedMessage {
            code: change.code().to_owned(),
            args: change.args(),
            message: change.to_string(),
        };
        (!self.changes.is_empty()).then(|| self.changes.iter().map(|change| message(change).to_json()).collect())
    }
}

/// Why a prompt has to be built again. No text was sent.
pub enum PromptRefusal {
    /// The server does not accept tools.
    Tools(ToolsRefusal),
    /// The prompt is too long. What the server said of its length is learned.
    TooLong,
}

/// A model whose server refused the request because of its tools. No text was sent.
pub struct ToolsRefusal {
    pub candidate: ModelCandidate,
    /// The server's message.
    pub why: String,
}

/// Asks one model after another until one begins to answer, and streams its answer to the end. Calls `asked` before
/// each attempt, and once more if the server refused parameters of it. All attempts and tool calls together have the
/// time limit of a reply. Returns a refusal if the prompt has to be built again.
pub async fn stream_with_fallback<T>(
    parts: &Arc<TurnServices>,
    writing: &TextGeneration<T>,
    machine: &mut ReplyMachine,
    fallback: &FallbackRequest<'_>,
    mut tools: Option<&mut ToolRunner<'_>>,
    mut asked: impl FnMut(&ModelAttempt<'_>),
) -> Option<PromptRefusal> {
    let mut passed = fallback.choice.skipped.clone();
    let mut left = fallback.choice.others.len();
    let deadline = Instant::now() + parts.prompts.config.limits.generation;
    let mut rounds = Vec::new();
    for candidate in fallback.choice.candidates() {
        let mut request = build_request(fallback, candidate);
        let template = match render_template(writing, candidate, &request).await {
            Ok(template) => template,
            Err(stop) => {
                feed_machine(&parts.storage, &parts.work, writing, machine, stop_event(stop));
                return None;
            }
        };
        // The parameters without tools, which are recorded apart.
        let asked_for = Request { model: request.model.clone(), params: request.params.clone(), ..Request::default() };
        let with_not_taken = |changes| [not_taken(fallback, candidate), changes].concat();
        let params = candidate.client.wire_params(&asked_for);
        let changes = with_not_taken(candidate.client.parameter_changes(&asked_for));
        asked(&ModelAttempt { candidate, params, changes, template: template.clone(), skipped: &passed });
        parts.prompts.refresh_if_due(&candidate.client, parts.storage.clock.now());
        if let Some(wire) = tools.as_ref().and_then(|tools| tools.to_wire()) {
            add_tools(&mut request, wire);
        }
        // Ask until the model calls no more tools.
        let prompt = request.messages.len();
        let failure = loop {
            append_tool_rounds(&mut request, &rounds, prompt, tools.as_deref());
            let frames = candidate.client.stream(&request);
            let is_told = rounds.is_empty() && tools.as_ref().is_some_and(|tools| tools.to_wire().is_some());
            let may_rebuild = fallback.may_rebuild && rounds.is_empty();
            let may = FailureHandling { next_model: left > 0, without_tools: is_told, may_rebuild };
            let failure = stream_frames(parts, writing, machine, frames, deadline, may).await;
            if let Some(changes) = machine.take_parameter_changes() {
                let params = candidate.client.changed_params(&asked_for, &changes);
                let changes = with_not_taken(changes);
                asked(&ModelAttempt { candidate, params, changes, template: template.clone(), skipped: &passed });
            }
            if let Some(failure) = failure {
                if may.retries_without_tools(&failure) {
                    let refusal = ToolsRefusal { candidate: candidate.clone(), why: failure.to_string() };
                    return Some(PromptRefusal::Tools(refusal));
                }
                if may_rebuild && learn_length(parts, candidate, fallback.prompt, &failure) {
                    return Some(PromptRefusal::TooLong);
                }
                if left == 0 {
                    // It was returned only because the prompt might have been built again.
                    let event = ReplyEvent::Failed(ReplyFault::from(&failure));
                    feed_machine(&parts.storage, &parts.work, writing, machine, event);
                    return None;
                }
                break failure;
            }
            let (calls, text) = machine.pending_tools();
            let mut round = match &mut tools {
                Some(tools) if !machine.is_finished() => tools.run_calls(text, calls).await,
                _ => return None,
            };
            round.provider_state = machine.take_provider_state();
            rounds.push(round);
            machine.continue_after_tools();
        };
        // Only the server that sent it can use it.
        rounds.iter_mut().for_each(|round| round.provider_state = None);
        // The model failed before any text: try the next one.
        tracing::warn!(model = candidate.name, code = failure.code(), "trying the next model: {failure}");
        passed.push(SkippedModel::from_failure(&candidate.name, &failure));
        left = left.saturating_sub(1);
    }
    None
}

/// The attempts allowed after a failure before any text.
#[derive(Clone, Copy)]
struct FailureHandling {
    /// Another model may be asked.
    next_model: bool,
    /// The same model may be asked without the request's `tools` field.
    without_tools: bool,
    /// The same model may be asked with a shorter prompt.
    may_rebuild: bool,
}

impl FailureHandling {
    fn retries_without_tools(self, failure: &ProviderFailure) -> bool {
        self.without_tools && failure.refuses_tools()
    }

    fn tries_next_model(self, failure: &ProviderFailure) -> bool {
        self.retries_without_tools(failure)
            || (self.may_rebuild && matches!(failure, ProviderFailure::ContextTooShort { .. }))
            || (self.next_model && failure.should_try_fallback())
    }
}

/// Learns from a server that a prompt is too long: the context of the model, or how many tokens the prompt really has.
/// Returns whether the next prompt will be shorter.
fn learn_length(
    parts: &Arc<TurnServices>,
    candidate: &ModelCandidate,
    prompt: &BuiltPrompt,
    failure: &ProviderFailure,
) -> bool {
    let ProviderFailure::ContextTooShort { limit, needed, .. } = failure else { return false };
    let (models, provider) = (&parts.prompts.models, &candidate.client.endpoint().id);
    let limit = limit.and_then(|limit| usize::try_from(limit).ok());
    if limit.is_some_and(|limit| models.learn_context(provider, &candidate.model, limit, prompt.context_tokens)) {
        return true;
    }
    // The context was known, so the prompt has more tokens than was estimated.
    let Some(needed) = needed else { return false };
    let estimated = token_counters::estimate_messages(&prompt.messages);
    models.learn_token_count(provider, &candidate.model, estimated, *needed);
    true
}

/// Adds the tools to a request, after those of its own parameters.
fn add_tools(request: &mut Request, tools: Vec<Value>) {
    let own = request.params.shift_remove("tools");
    let own = own.and_then(|own| if let Value::Array(own) = own { Some(own) } else { None }).unwrap_or_default();
    request.params.insert("tools".into(), own.into_iter().chain(tools).collect());
}

/// Adds the results of tool calls to a request. After the last round no more tools are allowed, so that the model
/// writes.
fn append_tool_rounds(request: &mut Request, rounds: &[ToolRound], prompt: usize, tools: Option<&ToolRunner<'_>>) {
    let is_last = rounds.len() >= tools::MAX_ROUNDS;
    if tools.is_some_and(|tools| tools.to_wire().is_none()) {
        request.messages.truncate(prompt);
        request.messages.extend(text_tools::messages(rounds, is_last));
        return;
    }
    if is_last {
        request.params.insert("tool_choice".into(), "none".into());
    }
    request.rounds = rounds.to_vec();
}

/// Runs the chat template of a text completion server, and returns how the trace tells it. This comes before
/// everything else that needs the text, because a slow template is left here, and is not run again.
async fn render_template<T>(
    writing: &TextGeneration<T>,
    candidate: &ModelCandidate,
    request: &Request,
) -> Result<Option<Value>, StopReason> {
    tokio::select! {
        biased;
        stop = writing.wait_for_stop() => Err(stop),
        written = candidate.client.render_template(request) => Ok(written.as_ref().map(template_trace)),
    }
}

/// Formats a template for the trace.
fn template_trace(written: &TemplatedPrompt) -> Value {
    match &written.problem {
        Some(problem) => {
            let message = problem.to_string();
            let failure = RenderedMessage { code: problem.code().to_owned(), args: problem.args(), message };
            json!({"name": written.template, "problem": failure.message, "failure": failure.to_json()})
        }
        None => json!({"name": written.template}),
    }
}

fn build_request(request: &FallbackRequest<'_>, candidate: &ModelCandidate) -> Request {
    let client = &candidate.client;
    prompts::build_request(request.params, request.dice_seed, candidate.model.clone(), request.prompt, client)
}

/// Returns what the server of a model does not take of the parameters that somebody has set.
fn not_taken(request: &FallbackRequest<'_>, candidate: &ModelCandidate) -> Vec<ParameterChange> {
    let set = prompts::set_params(request.params, request.prompt, &candidate.client);
    let names = candidate.client.not_taken(&candidate.model, &set).into_iter();
    names.map(|name| ParameterChange::NotTaken { parameter: name.to_owned() }).collect()
}

/// Feeds the machine until the text is over or tools are to be called, and publishes the pieces. If `may` allows
/// another attempt, a failure before any text is returned instead of ending the reply.
async fn stream_frames<T>(
    parts: &Arc<TurnServices>,
    writing: &TextGeneration<T>,
    machine: &mut ReplyMachine,
    mut frames: FrameStream,
    deadline: Instant,
    may: FailureHandling,
) -> Option<ProviderFailure> {
    let limit = parts.prompts.config.limits.generation;
    let late = tokio::time::sleep_until(deadline);
    tokio::pin!(late);
    while !machine.is_finished() {
        let event = tokio::select! {
            biased;
            stop = writing.wait_for_stop() => stop_event(stop),
            () = &mut late => {
                let failure = ReplyFailure::TooSlow { seconds: limit.as_secs() };
                ReplyEvent::Failed(ReplyFault::new(&failure, "raise `limits.generation_s` or ask for less"))
            }
            frame = frames.next() => match frame {
                Some(Ok(frame)) => ReplyEvent::Frame(frame),
                Some(Err(failure)) if machine.is_empty() && may.tries_next_model(&failure) => {
                    machine.switch_model();
                    return Some(failure);
                }
                Some(Err(failure)) => ReplyEvent::Failed(ReplyFault::from(&failure)),
                None => ReplyEvent::Ended,
            },
        };
        if feed_machine(&parts.storage, &parts.work, writing, machine, event) {
            return None;
        }
    }
    None
}

/// Converts the reason of a stop to an event.
pub fn stop_event(stop: StopReason) -> ReplyEvent {
    match stop {
        StopReason::Cancelled => ReplyEvent::Cancelled,
        StopReason::Interrupted => ReplyEvent::Failed(endings::interrupted_fault()),
    }
}

/// Feeds an event to the machine and publishes new text. Returns whether tools are to be called.
pub fn feed_machine<T>(
    storage: &TreeStorage,
    work: &RunningWork,
    writing: &TextGeneration<T>,
    machine: &mut ReplyMachine,
    event: ReplyEvent,
) -> bool {
    let action = machine.handle_event(event, storage.clock.now());
    for action in machine.take_rest().into_iter().chain(action) {
        match action {
            ReplyAction::Show { keep: None, content, reasoning, phase } => {
                work.live.append(writing, &content, &reasoning, phase)
            }
            ReplyAction::Show { keep: Some(keep), content, reasoning, phase } => {
                work.live.rewrite(writing, keep, &content, &reasoning, phase)
            }
            ReplyAction::ShowQueued { place } => work.live.show_queued(writing, place),
            ReplyAction::CallTools => return true,
            ReplyAction::Finish => {}
        }
    }
    false
}
