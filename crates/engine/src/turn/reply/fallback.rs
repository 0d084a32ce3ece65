//! Asks the models of the fallback list in order: if one fails before it has sent any text, the next is asked. A model
//! that calls tools is asked again with their results.

use std::sync::Arc;

use futures_util::StreamExt;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::live::{StopReason, TextGeneration};
use clotho_provider::{FrameStream, ProviderFailure, Request, TemplatedPrompt, ToolRound};

use super::endings;
use crate::turn::machine::{ReplyAction, ReplyEvent, ReplyFailure, ReplyFault, ReplyMachine};
use crate::turn::models::{ModelCandidate, ModelSelection, SkippedModel};
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
}

/// One attempt with one model.
pub struct ModelAttempt<'a> {
    pub candidate: &'a ModelCandidate,
    /// The parameters sent with the request.
    pub params: Map<String, Value>,
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
}

/// A model whose server refused the request because of its tools. No text was sent.
pub struct ToolsRefusal {
    pub candidate: ModelCandidate,
    /// The server's message.
    pub why: String,
}

/// Asks one model after another until one begins to answer, and streams its answer to the end. Calls `asked` before
/// each attempt. All attempts and tool calls together have the time limit of a reply. Returns a refusal if a server
/// does not accept tools, because the prompt then has to be built again.
pub async fn stream_with_fallback<T>(
    parts: &Arc<TurnServices>,
    writing: &TextGeneration<T>,
    machine: &mut ReplyMachine,
    fallback: &FallbackRequest<'_>,
    mut tools: Option<&mut ToolRunner<'_>>,
    mut asked: impl FnMut(&ModelAttempt<'_>),
) -> Option<ToolsRefusal> {
    let mut passed = fallback.choice.skipped.clone();
    let mut left = fallback.choice.others.len();
    let deadline = Instant::now() + parts.prompts.config.limits.generation;
    let mut rounds = Vec::new();
    for candidate in fallback.choice.candidates() {
        let mut request = build_request(fallback, candidate);
        let params = candidate.client.wire_params(&request);
        let template = candidate.client.render_template(&request).map(|written| template_trace(&written));
        asked(&ModelAttempt { candidate, params, template, skipped: &passed });
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
            let may = FailureHandling { next_model: left > 0, without_tools: is_told };
            if let Some(failure) = stream_frames(parts, writing, machine, frames, deadline, may).await {
                if may.retries_without_tools(&failure) {
                    return Some(ToolsRefusal { candidate: candidate.clone(), why: failure.to_string() });
                }
                break failure;
            }
            let (calls, text) = machine.pending_tools();
            match &mut tools {
                Some(tools) if !machine.is_finished() => rounds.push(tools.run_calls(text, calls).await),
                _ => return None,
            }
            machine.continue_after_tools();
        };
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
}

impl FailureHandling {
    fn retries_without_tools(self, failure: &ProviderFailure) -> bool {
        self.without_tools && failure.refuses_tools()
    }

    fn tries_next_model(self, failure: &ProviderFailure) -> bool {
        self.retries_without_tools(failure) || (self.next_model && failure.should_try_fallback())
    }
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
    let endpoint = candidate.client.endpoint();
    prompts::build_request(request.params, request.dice_seed, candidate.model.clone(), request.prompt, endpoint)
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
            ReplyAction::CallTools => return true,
            ReplyAction::Finish => {}
        }
    }
    false
}
