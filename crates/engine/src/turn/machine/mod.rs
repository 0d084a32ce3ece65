//! The state machine of one reply: events in, actions out. It is pure (no async, no I/O, no clock). The runner feeds it
//! and executes the actions, so every ending can be tested with plain calls.
//!
//! ```text
//! waiting -> thinking -> streaming -> over
//!     streaming: tools are wanted -> they are called -> waiting, with the text so far
//!     any state: cancelled, failed, timed out -> over
//! ```

mod fault;
mod prefix_filter;
mod reply_text;

use serde_json::Value;

use clotho_core::clock::Time;
use clotho_core::tree::reply_facts::{CostAmount, TokenCount, ToolCallRecord};
use clotho_core::tree::{ReplyFacts, Status};
use clotho_provider::{FinishReason, Frame, ParameterChange, ToolCall, Usage, rounded_cost};

use reply_text::{ArrivingText, TextChange};

pub use fault::{
    EmptyReplyReason, PromptTexts, ReplyFailure, ReplyFault, cancelled_before_text, prompt_too_slow, provider_message,
};

/// An input of the machine.
#[derive(Debug, Clone)]
pub enum ReplyEvent {
    /// A frame of the reply arrived.
    Frame(Frame),
    Ended,
    Failed(ReplyFault),
    /// The reply was cancelled.
    Cancelled,
}

/// An action for the runner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyAction {
    /// Publish this piece to the watchers.
    Show {
        /// Only so many bytes of the published text stay, because the rest was a thought; `None` = all.
        keep: Option<usize>,
        /// The text behind that.
        content: String,
        reasoning: String,
        /// The phase of the reply.
        phase: &'static str,
    },
    /// Tell the watchers that the request is at this place in the queue of the model server, counted from 1; 0 = it has
    /// begun.
    ShowQueued { place: usize },
    /// Call the tools of [`ReplyMachine::pending_tools`], ask again with their results, and then call
    /// [`ReplyMachine::continue_after_tools`].
    CallTools,
    /// The reply is over: run the rules if [`ReplyMachine::runs_rules`], then commit.
    Finish,
}

#[derive(Debug, Clone, PartialEq)]
enum MachineOutcome {
    Finished,
    Cancelled,
    Failed(ReplyFault),
}

/// The state of one reply.
#[derive(Debug, Clone)]
pub struct ReplyMachine {
    asked_at: Time,
    text: ArrivingText,
    /// What was held back until the end, to be published.
    rest: Option<ReplyAction>,
    first_at: Option<Time>,
    ended_at: Option<Time>,
    usage: Option<Usage>,
    finish: Option<FinishReason>,
    model: Option<String>,
    /// How the request was changed, because the server refused parameters.
    parameter_changes: Option<Vec<ParameterChange>>,
    /// Tool calls already made, or not ours to make.
    calls: Vec<ToolCall>,
    /// Tool calls that the model waits for.
    pending_calls: Vec<ToolCall>,
    /// How many more times tools may be called; `None` = tools are not called.
    rounds: Option<usize>,
    /// What the model server wants back with the results of the tools.
    provider_state: Option<Value>,
    /// The usage of earlier requests for the same reply.
    previous_usage: Option<Usage>,
    outcome: Option<MachineOutcome>,
}

impl ReplyMachine {
    /// Creates the state of a reply requested at a time.
    pub fn new(asked_at: Time) -> Self {
        Self {
            asked_at,
            text: ArrivingText::default(),
            rest: None,
            first_at: None,
            ended_at: None,
            usage: None,
            finish: None,
            model: None,
            parameter_changes: None,
            calls: Vec::new(),
            pending_calls: Vec::new(),
            rounds: None,
            provider_state: None,
            previous_usage: None,
            outcome: None,
        }
    }

    /// Allows up to `rounds` rounds of tool calls. With `in_words` the model writes its calls in the text.
    pub fn allow_tools(&mut self, rounds: usize, in_words: bool) {
        self.rounds = Some(rounds);
        self.text.find_tool_calls(in_words);
    }

    /// Takes the changes of parameters that the last request needed.
    pub fn take_parameter_changes(&mut self) -> Option<Vec<ParameterChange>> {
        self.parameter_changes.take()
    }

    /// Drops the speaker's name from the start of the text, because the lines of the prompt begin with names. Not for a
    /// reply that continues a text.
    pub fn strip_name(&mut self, name: &str) {
        self.text.strip_name(name);
    }

    /// Returns whether tools were called, so that the model was asked more than once.
    pub fn has_called(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Returns the tool calls that the model waits for, and its text since the last request.
    pub fn pending_tools(&self) -> (&[ToolCall], &str) {
        (&self.pending_calls, self.text.of_request())
    }

    /// Returns what the model server wants back with the results of the pending tools.
    pub fn take_provider_state(&mut self) -> Option<Value> {
        self.provider_state.take()
    }

    /// Marks the pending tools as called and begins the next request. Its text is appended, and its usage is added.
    pub fn continue_after_tools(&mut self) {
        self.previous_usage = add_usage(self.previous_usage.take(), self.usage.take());
        (self.finish, self.provider_state) = (None, None);
        self.calls.append(&mut self.pending_calls);
        self.rounds = self.rounds.map(|left| left.saturating_sub(1));
        self.text.continue_after_tools();
    }

    /// Resets what the previous model reported, to ask another one. The previous model has written no text.
    pub fn switch_model(&mut self) {
        (self.usage, self.finish, self.model, self.provider_state) = (None, None, None, None);
        self.pending_calls.clear();
        self.text.switch_model();
    }

    /// Returns whether no text or reasoning has arrived yet.
    pub fn is_empty(&self) -> bool {
        self.first_at.is_none()
    }

    /// Turns this into a reply that continues a text.
    #[must_use]
    pub fn continuing_from(self, text: &str) -> Self {
        Self { text: self.text.continuing_from(text), ..self }
    }

    /// Moves thoughts that the model writes in its text to the reasoning, as the hidden tags say.
    #[must_use]
    pub fn parting_thoughts(mut self, hide_tags: &[String]) -> Self {
        self.text.part_thoughts(hide_tags);
        self
    }

    /// Handles an event and returns the action to take. After the end it returns `None`.
    pub fn handle_event(&mut self, event: ReplyEvent, now: Time) -> Option<ReplyAction> {
        if self.outcome.is_some() {
            return None;
        }
        if !matches!(event, ReplyEvent::Frame(_)) {
            let is_whole = matches!(event, ReplyEvent::Ended);
            let is_cut = !is_whole || self.is_cut();
            let change = self.text.finish(is_cut, is_whole);
            self.rest = self.show(change, now);
            // Not before: text that turns out to be a thought has no calls.
            self.pending_calls.extend(self.text.take_calls());
        }
        match event {
            ReplyEvent::Frame(frame) => self.frame(frame, now),
            ReplyEvent::Ended if !self.pending_calls.is_empty() && self.rounds.is_some_and(|left| left > 0) => {
                Some(ReplyAction::CallTools)
            }
            ReplyEvent::Ended if self.text.added().trim().is_empty() => {
                let fault = self.empty_reply_fault();
                self.end(MachineOutcome::Failed(fault), now)
            }
            ReplyEvent::Ended => self.end(MachineOutcome::Finished, now),
            ReplyEvent::Failed(fault) => self.end(MachineOutcome::Failed(fault), now),
            ReplyEvent::Cancelled if self.text.added().trim().is_empty() => {
                self.end(MachineOutcome::Failed(cancelled_before_text()), now)
            }
            ReplyEvent::Cancelled => self.end(MachineOutcome::Cancelled, now),
        }
    }

    /// Returns whether the text may lack its end, as far as the server said why it stopped. It may after a reason that
    /// nobody knows.
    fn is_cut(&self) -> bool {
        match &self.finish {
            None | Some(FinishReason::Stop | FinishReason::ToolCalls) => false,
            Some(
                FinishReason::Length
                | FinishReason::ContentFilter(_)
                | FinishReason::Aborted(_)
                | FinishReason::Other(_)
                | FinishReason::Unstated,
            ) => true,
        }
    }

    /// Returns the fault of a reply that ended normally without text.
    fn empty_reply_fault(&self) -> ReplyFault {
        let has_calls = !(self.calls.is_empty() && self.pending_calls.is_empty());
        match &self.finish {
            Some(FinishReason::ContentFilter(words)) => {
                let hint = "rephrase the message, or choose another model";
                ReplyFault::new(&ReplyFailure::ContentFiltered { words: words.to_string() }, hint)
            }
            Some(FinishReason::Length) if !has_calls => {
                let hint = "raise `max_tokens` or `reply_tokens`: the reasoning took all of it";
                ReplyFault::new(&ReplyFailure::EmptyReplyEnded { words: "length".to_owned() }, hint)
            }
            Some(FinishReason::Other(words) | FinishReason::Aborted(words)) if !has_calls => {
                let hint = "try again, or choose another model";
                ReplyFault::new(&ReplyFailure::EmptyReplyEnded { words: words.clone() }, hint)
            }
            _ if self.text.has_prefix() => {
                let hint =
                    "the text may already be complete: try again, choose another model, or write the next message";
                empty_fault(EmptyReplyReason::NothingAdded, hint)
            }
            _ if has_calls => {
                let hint = "try again, choose another model, or turn off the plugin's tools for this model";
                empty_fault(EmptyReplyReason::OnlyTools, hint)
            }
            _ => {
                let hint = "try again, or choose another model";
                empty_fault(EmptyReplyReason::NoText, hint)
            }
        }
    }

    fn frame(&mut self, frame: Frame, now: Time) -> Option<ReplyAction> {
        match frame {
            Frame::Text(text) => {
                let change = self.text.push(&text);
                self.show(change, now)
            }
            Frame::Reasoning(text) => {
                let change = self.text.push_reasoning(&text);
                self.show(change, now)
            }
            Frame::ToolCall(call) => {
                self.pending_calls.push(call);
                None
            }
            Frame::ProviderState(state) => {
                self.provider_state = Some(state);
                None
            }
            Frame::Usage(usage) => {
                self.usage = Some(usage);
                None
            }
            Frame::Model(model) => {
                self.model = Some(model);
                None
            }
            Frame::Finish(finish) => {
                self.finish = Some(finish);
                None
            }
            Frame::ParametersChanged(changes) => {
                self.parameter_changes = Some(changes);
                None
            }
            Frame::Queued { place } => Some(ReplyAction::ShowQueued { place }),
            Frame::KeepAlive => None,
        }
    }

    fn show(&mut self, change: TextChange, now: Time) -> Option<ReplyAction> {
        let TextChange { keep, content, reasoning } = change;
        if keep.is_none() && content.is_empty() && reasoning.is_empty() {
            return None;
        }
        self.first_at.get_or_insert(now);
        let phase = if self.text.added().is_empty() { "thinking" } else { "streaming" };
        Some(ReplyAction::Show { keep, content, reasoning, phase })
    }

    /// Takes what was held back until the event that was handled last. It is to be published before anything else.
    pub fn take_rest(&mut self) -> Option<ReplyAction> {
        self.rest.take()
    }

    fn end(&mut self, over: MachineOutcome, now: Time) -> Option<ReplyAction> {
        self.outcome = Some(over);
        self.ended_at = Some(now);
        Some(ReplyAction::Finish)
    }

    /// Returns whether the reply is over.
    pub fn is_finished(&self) -> bool {
        self.outcome.is_some()
    }

    /// Returns whether rules run on the reply. Cancelled and failed replies change no world (`docs/domain.md` 5.5).
    pub fn runs_rules(&self) -> bool {
        self.outcome == Some(MachineOutcome::Finished)
    }

    /// Returns the text so far.
    pub fn content(&self) -> &str {
        self.text.content()
    }

    /// Returns the reasoning so far, if there is any.
    pub fn reasoning(&self) -> Option<&str> {
        Some(self.text.reasoning()).filter(|text| !text.is_empty())
    }

    /// Returns the status of the node. A cancelled reply with text is complete.
    pub fn status(&self) -> Status {
        match self.outcome {
            None => Status::Generating,
            Some(MachineOutcome::Finished | MachineOutcome::Cancelled) => Status::Complete,
            Some(MachineOutcome::Failed(_)) => Status::Error,
        }
    }

    /// Returns the fault, if the reply failed.
    pub fn fault(&self) -> Option<&ReplyFault> {
        match &self.outcome {
            Some(MachineOutcome::Failed(fault)) => Some(fault),
            _ => None,
        }
    }

    /// Returns the usage that the provider reported, for all requests together.
    pub fn usage(&self) -> Option<Usage> {
        add_usage(self.previous_usage, self.usage)
    }

    /// Adds to the facts of the reply how it ended.
    pub fn record_ending(&self, facts: &mut ReplyFacts) {
        facts.reported_model = self.model.clone().or(facts.reported_model.take());
        let finish = match &self.outcome {
            Some(MachineOutcome::Cancelled) => Some("cancelled"),
            // It is null if the server gave none.
            _ => self.finish.as_ref().filter(|finish| **finish != FinishReason::Unstated).map(FinishReason::as_str),
        };
        facts.finish_reason = finish.map(str::to_owned).into();
        facts.is_truncated = Some(self.is_cut() || matches!(self.outcome, Some(MachineOutcome::Cancelled)));
        if let Some(MachineOutcome::Failed(fault)) = &self.outcome {
            facts.error = Some(fault.to_record());
        }
        facts.latency_ms = self.ended_at.map(|ended| ended.millis_since(self.asked_at)).or(facts.latency_ms);
        facts.first_token_ms = self.first_at.map(|first| first.millis_since(self.asked_at)).into();
        // Usage is only known if the provider reported it.
        if let Some(usage) = self.usage() {
            let (prompt, completion) = (Some(usage.prompt), Some(usage.completion));
            facts.token_count = Some(TokenCount { prompt, completion, ..TokenCount::default() });
            facts.cached_tokens = usage.cached.into();
            let cost = usage.cost.and_then(rounded_cost).and_then(|cost| CostAmount::try_from(cost).ok());
            facts.cost_source = cost.as_ref().map(|_| "provider".to_owned()).into();
            facts.cost = cost.into();
        }
        let calls: Vec<ToolCallRecord> = self.calls.iter().chain(&self.pending_calls).map(tool_call_record).collect();
        if !calls.is_empty() {
            facts.tool_calls = Some(calls);
        }
    }
}

fn tool_call_record(call: &ToolCall) -> ToolCallRecord {
    let ToolCall { id, name, arguments } = call.clone();
    ToolCallRecord { id, name, arguments, ..ToolCallRecord::default() }
}

/// Adds the usage of two requests. A count that only one of them has is taken as it is; the cost needs both.
fn add_usage(one: Option<Usage>, other: Option<Usage>) -> Option<Usage> {
    let (Some(one), Some(other)) = (one, other) else { return one.or(other) };
    let both = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a.saturating_add(b)).or(a).or(b);
    Some(Usage {
        prompt: one.prompt.saturating_add(other.prompt),
        completion: one.completion.saturating_add(other.completion),
        cached: both(one.cached, other.cached),
        written: both(one.written, other.written),
        reasoning: both(one.reasoning, other.reasoning),
        cost: one.cost.zip(other.cost).map(|(a, b)| a + b),
    })
}

fn empty_fault(reason: EmptyReplyReason, hint: &str) -> ReplyFault {
    ReplyFault::new(&ReplyFailure::EmptyReply { reason }, hint)
}

#[cfg(test)]
mod tests;
