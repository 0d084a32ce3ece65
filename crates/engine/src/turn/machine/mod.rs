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

use serde_json::Number;

use clotho_core::clock::Time;
use clotho_core::tree::reply_facts::{CostAmount, TokenCount, ToolCallRecord};
use clotho_core::tree::{ReplyFacts, Status};
use clotho_provider::{FinishReason, Frame, ParameterChange, ToolCall, Usage};

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

    /// Returns whether tools were called, so that the model was asked more than once.
    pub fn has_called(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Returns the tool calls that the model waits for, and its text since the last request.
    pub fn pending_tools(&self) -> (&[ToolCall], &str) {
        (&self.pending_calls, self.text.of_request())
    }

    /// Marks the pending tools as called and begins the next request. Its text is appended, and its usage is added.
    pub fn continue_after_tools(&mut self) {
        self.previous_usage = add_usage(self.previous_usage.take(), self.usage.take());
        self.finish = None;
        self.calls.append(&mut self.pending_calls);
        self.rounds = self.rounds.map(|left| left.saturating_sub(1));
        self.text.continue_after_tools();
    }

    /// Resets what the previous model reported, to ask another one. The previous model has written no text.
    pub fn switch_model(&mut self) {
        (self.usage, self.finish, self.model) = (None, None, None);
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
            let is_cut =
                !is_whole || matches!(self.finish, Some(FinishReason::Length | FinishReason::ContentFilter(_)));
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

    /// Returns the fault of a reply that ended normally without text.
    fn empty_reply_fault(&self) -> ReplyFault {
        match &self.finish {
            Some(FinishReason::ContentFilter(words)) => {
                let hint = "rephrase the message, or choose another model";
                ReplyFault::new(&ReplyFailure::ContentFiltered { words: words.to_string() }, hint)
            }
            _ if self.text.has_prefix() => {
                let hint =
                    "the text may already be complete: try again, choose another model, or write the next message";
                empty_fault(EmptyReplyReason::NothingAdded, hint)
            }
            _ if !(self.calls.is_empty() && self.pending_calls.is_empty()) => {
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
            _ => self.finish.as_ref().map(FinishReason::as_str),
        };
        facts.finish_reason = finish.map(str::to_owned).into();
        let cut = matches!(self.finish, Some(FinishReason::Length | FinishReason::ContentFilter(_)));
        facts.is_truncated = Some(cut || matches!(self.outcome, Some(MachineOutcome::Cancelled)));
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
            let cost = usage.cost.and_then(Number::from_f64).and_then(|cost| CostAmount::try_from(cost).ok());
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
mod tests {
    use super::*;
    use clotho_core::tree::NodeMetadata;
    use clotho_provider::ProviderFailure;
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    fn text_event(text: &str) -> ReplyEvent {
        ReplyEvent::Frame(Frame::Text(text.into()))
    }

    /// The facts of a machine in their stored form.
    fn stored_facts(machine: &ReplyMachine) -> Map<String, Value> {
        let mut facts = ReplyFacts::default();
        machine.record_ending(&mut facts);
        NodeMetadata { reply: facts, ..NodeMetadata::default() }.into()
    }

    fn run_events(events: Vec<ReplyEvent>) -> (ReplyMachine, Vec<ReplyAction>) {
        let mut machine = ReplyMachine::new(Time(1_000));
        let mut now = 1_000;
        let actions = events
            .into_iter()
            .flat_map(|event| {
                now += 10;
                let action = machine.handle_event(event, Time(now));
                machine.take_rest().into_iter().chain(action)
            })
            .collect();
        (machine, actions)
    }

    /// S3-12: a model that calls tools is asked again; its new text is appended and its usage is added.
    #[test]
    fn machine_tool_calls_continue_reply() {
        let mut machine = ReplyMachine::new(Time(0));
        machine.allow_tools(1, false);
        let usage = |prompt| ReplyEvent::Frame(Frame::Usage(Usage { prompt, completion: 1, ..Usage::default() }));
        let wants = || {
            ReplyEvent::Frame(Frame::ToolCall(ToolCall { id: "c".into(), name: "roll".into(), ..ToolCall::default() }))
        };
        for event in [text_event("She rolls."), wants(), usage(10)] {
            machine.handle_event(event, Time(1));
        }
        assert_eq!(machine.handle_event(ReplyEvent::Ended, Time(1)), Some(ReplyAction::CallTools));
        assert_eq!((machine.is_finished(), machine.pending_tools().1), (false, "She rolls."));
        machine.continue_after_tools();
        for event in [text_event("A six."), usage(20)] {
            machine.handle_event(event, Time(2));
        }
        assert_eq!(machine.handle_event(ReplyEvent::Ended, Time(2)), Some(ReplyAction::Finish));
        assert_eq!((machine.content(), machine.usage().unwrap().prompt), ("She rolls.\n\nA six.", 30));
        assert_eq!(stored_facts(&machine)["toolCalls"].as_array().unwrap().len(), 1);
        // No round is left: a reply that only wants tools and has no text fails.
        let mut silent = ReplyMachine::new(Time(0));
        silent.allow_tools(0, false);
        silent.handle_event(wants(), Time(1));
        silent.handle_event(ReplyEvent::Ended, Time(1));
        let fault =
            silent.fault().map(|fault| (fault.failure.code.as_str(), fault.failure.message.contains("called tools")));
        assert_eq!(fault, Some(("empty_reply", true)));
    }

    /// S0-36: pieces are shown as they arrive, and the end is one action.
    #[test]
    fn machine_reply_streams_and_finishes() {
        let usage = Usage { prompt: 7, completion: 2, cached: Some(5), ..Usage::default() };
        let (machine, actions) = run_events(vec![
            ReplyEvent::Frame(Frame::KeepAlive),
            ReplyEvent::Frame(Frame::Reasoning("hm".into())),
            text_event("Hello"),
            text_event(""),
            text_event(" there"),
            ReplyEvent::Frame(Frame::Finish(FinishReason::Stop)),
            ReplyEvent::Frame(Frame::Usage(usage)),
            ReplyEvent::Ended,
        ]);
        let phases: Vec<&str> = actions
            .iter()
            .map(|action| match action {
                ReplyAction::Show { phase, .. } => phase,
                ReplyAction::CallTools => "call",
                ReplyAction::Finish => "finish",
            })
            .collect();
        assert_eq!(phases, ["thinking", "streaming", "streaming", "finish"]);
        assert_eq!((machine.content(), machine.reasoning()), ("Hello there", Some("hm")));
        assert!(machine.runs_rules() && machine.status() == Status::Complete);
        let facts = stored_facts(&machine);
        assert_eq!(facts["finishReason"], "stop");
        assert_eq!(facts["tokenCount"], json!({"prompt": 7, "completion": 2}));
        assert_eq!((&facts["cachedTokens"], &facts["cost"]), (&json!(5), &Value::Null));
        // S1-13: the time to the first token and to the end.
        assert_eq!((&facts["firstTokenMs"], &facts["latencyMs"]), (&json!(20), &json!(80)));
    }

    /// Uncalled tool calls are reported in the metadata; switching the model drops those of the previous one.
    #[test]
    fn machine_uncalled_tools_are_reset_on_model_switch() {
        let call = || ReplyEvent::Frame(Frame::ToolCall(ToolCall { name: "roll".into(), ..ToolCall::default() }));
        let (machine, _) = run_events(vec![call(), text_event("Hm."), ReplyEvent::Ended]);
        assert_eq!(stored_facts(&machine)["toolCalls"][0]["name"], "roll");
        let (mut machine, _) = run_events(vec![call(), ReplyEvent::Frame(Frame::Model("m".into()))]);
        assert!(machine.is_empty());
        machine.switch_model();
        machine.handle_event(text_event("Hm."), Time(2_000));
        assert!(!machine.is_empty());
        assert_eq!(
            (stored_facts(&machine).get("toolCalls"), stored_facts(&machine).get("reportedModel")),
            (None, None)
        );
    }

    /// Text that turns out to be a thought is taken back, and a tool call in it is not made.
    #[test]
    fn machine_thought_is_taken_back_with_its_calls() {
        let call = "<tool_call>{\"name\": \"roll\", \"arguments\": {}}</tool_call>";
        let mut machine = ReplyMachine::new(Time(0)).parting_thoughts(&["think".to_owned()]);
        machine.allow_tools(1, true);
        machine.handle_event(text_event("I may roll."), Time(1));
        machine.handle_event(text_event(call), Time(1));
        let back = machine.handle_event(text_event("\n</think>\n"), Time(1));
        let thought = ReplyAction::Show {
            keep: Some(0),
            content: String::new(),
            reasoning: "I may roll.".into(),
            phase: "thinking",
        };
        assert_eq!(back, Some(thought));
        machine.handle_event(text_event("She waits."), Time(2));
        assert_eq!(machine.handle_event(ReplyEvent::Ended, Time(2)), Some(ReplyAction::Finish));
        assert_eq!((machine.content(), machine.reasoning()), ("She waits.", Some("I may roll.")));
        assert!(!stored_facts(&machine).contains_key("toolCalls"));
    }

    /// A reply cut off in its thought has no text.
    #[test]
    fn machine_cut_thought_is_no_text() {
        let mut machine = ReplyMachine::new(Time(0)).parting_thoughts(&["think".to_owned()]);
        machine.handle_event(text_event("<think>He wants the"), Time(1));
        machine.handle_event(ReplyEvent::Frame(Frame::Finish(FinishReason::Length)), Time(1));
        machine.handle_event(ReplyEvent::Ended, Time(2));
        assert_eq!((machine.content(), machine.reasoning()), ("", Some("He wants the")));
        assert_eq!(stored_facts(&machine)["error"]["code"], "empty_reply");
    }

    /// S3-23: a cancelled reply with text is complete and truncated, and no rules run on it.
    #[test]
    fn machine_cancelled_reply_keeps_text_without_rules() {
        let (machine, _) = run_events(vec![text_event("Half a"), ReplyEvent::Cancelled, text_event(" lost")]);
        assert_eq!((machine.content(), machine.status()), ("Half a", Status::Complete));
        assert!(!machine.runs_rules());
        assert_eq!(stored_facts(&machine)["finishReason"], "cancelled");
        assert_eq!(stored_facts(&machine)["isTruncated"], true);
    }

    /// S4-29: a fault keeps what arrived and says why.
    #[test]
    fn machine_failed_reply_keeps_text_and_fault() {
        let fault = ReplyFault::from(&ProviderFailure::CutOff);
        for (events, code) in [
            (vec![text_event("Half"), ReplyEvent::Failed(fault)], "cut_off"),
            (vec![ReplyEvent::Ended], "empty_reply"),
            (vec![text_event(" \n"), ReplyEvent::Ended], "empty_reply"),
            (vec![ReplyEvent::Frame(Frame::Reasoning("only thought".into())), ReplyEvent::Ended], "empty_reply"),
            (vec![ReplyEvent::Cancelled], "cancelled"),
            (vec![text_event(" \n"), ReplyEvent::Cancelled], "cancelled"),
        ] {
            let (machine, actions) = run_events(events);
            assert_eq!(machine.status(), Status::Error);
            assert_eq!(stored_facts(&machine)["error"]["code"], code);
            assert_eq!(actions.last(), Some(&ReplyAction::Finish));
            assert!(!machine.runs_rules());
        }
    }

    /// `domain.md` 5.8: new text is appended to the continued text; without any the reply fails and keeps that text.
    #[test]
    fn machine_continued_reply_appends_to_prefix() {
        let go_on = |events: Vec<ReplyEvent>| {
            let mut machine = ReplyMachine::new(Time(1_000)).continuing_from("She lights");
            let shown: Vec<ReplyAction> =
                events.into_iter().filter_map(|event| machine.handle_event(event, Time(1_010))).collect();
            (machine, shown)
        };
        let (machine, shown) =
            go_on(vec![text_event("She "), text_event("lights"), text_event(" the lamp."), ReplyEvent::Ended]);
        assert_eq!((machine.content(), machine.status()), ("She lights the lamp.", Status::Complete));
        let piece = ReplyAction::Show {
            keep: None,
            content: " the lamp.".into(),
            reasoning: String::new(),
            phase: "streaming",
        };
        assert_eq!(shown, [piece, ReplyAction::Finish]);
        let (machine, _) = go_on(vec![text_event("She"), ReplyEvent::Ended]);
        assert_eq!(machine.content(), "She lightsShe", "what is no whole echo is text");
        let (machine, shown) =
            go_on(vec![ReplyEvent::Frame(Frame::Reasoning("hm".into())), text_event("She lights"), ReplyEvent::Ended]);
        assert!(matches!(&shown[0], ReplyAction::Show { phase: "thinking", .. }), "{shown:?}");
        assert_eq!((machine.content(), machine.status()), ("She lights", Status::Error));
        assert_eq!(stored_facts(&machine)["error"]["code"], "empty_reply");
        let (machine, _) = go_on(vec![ReplyEvent::Cancelled]);
        assert_eq!((machine.content(), &stored_facts(&machine)["error"]["code"]), ("She lights", &json!("cancelled")));
    }

    /// A reply stopped by a content filter is truncated if it has text; else it fails with the provider's words.
    #[test]
    fn machine_content_filter_truncates_or_fails() {
        let held_back =
            || ReplyEvent::Frame(Frame::Finish(FinishReason::ContentFilter("content_filter, SAFETY".into())));
        let (machine, _) = run_events(vec![text_event("Half"), held_back(), ReplyEvent::Ended]);
        assert_eq!((machine.status(), machine.runs_rules()), (Status::Complete, true));
        assert_eq!(
            (&stored_facts(&machine)["isTruncated"], &stored_facts(&machine)["finishReason"]),
            (&json!(true), &json!("content_filter"))
        );
        let (machine, _) = run_events(vec![text_event(" "), held_back(), ReplyEvent::Ended]);
        assert_eq!((machine.status(), machine.runs_rules()), (Status::Error, false));
        let error = &stored_facts(&machine)["error"];
        assert_eq!(error["code"], "provider_refused");
        assert_eq!(error["message"], "the model server blocked the reply: content_filter, SAFETY");
    }

    #[test]
    fn machine_length_stop_truncates_and_nul_is_replaced() {
        let thought = ReplyEvent::Frame(Frame::Reasoning("c\0d".into()));
        let (machine, _) = run_events(vec![
            thought,
            text_event("a\0b"),
            ReplyEvent::Frame(Frame::Finish(FinishReason::Length)),
            ReplyEvent::Ended,
        ]);
        assert_eq!((machine.content(), machine.reasoning()), ("a\u{fffd}b", Some("c\u{fffd}d")));
        assert_eq!(stored_facts(&machine)["isTruncated"], true);
        assert!(machine.runs_rules());
    }

    fn any_event() -> impl Strategy<Value = ReplyEvent> {
        let words = prop_oneof![Just(String::new()), Just(" \n".to_owned()), "[a\0天 ]{1,4}"];
        let usage = Usage { prompt: 1, completion: 1, ..Usage::default() };
        prop_oneof![
            8 => words.clone().prop_map(|words| ReplyEvent::Frame(Frame::Text(words))),
            3 => words.prop_map(|words| ReplyEvent::Frame(Frame::Reasoning(words))),
            1 => Just(ReplyEvent::Frame(Frame::KeepAlive)),
            1 => Just(ReplyEvent::Frame(Frame::Usage(usage))),
            1 => Just(ReplyEvent::Frame(Frame::Model("m".into()))),
            1 => Just(ReplyEvent::Frame(Frame::Finish(FinishReason::Length))),
            1 => Just(ReplyEvent::Ended),
            1 => Just(ReplyEvent::Cancelled),
            1 => Just(ReplyEvent::Failed(ReplyFault::from(&ProviderFailure::CutOff))),
        ]
    }

    proptest! {
        /// S4-47: for any order of events, a reply ends exactly once, nothing is shown after that, and the shown text
        /// is the stored text.
        #[test]
        fn machine_any_event_order_ends_once(events in proptest::collection::vec(any_event(), 0..24)) {
            let (machine, actions) = run_events(events.clone());
            let ends = |event: &ReplyEvent| matches!(event, ReplyEvent::Ended | ReplyEvent::Cancelled | ReplyEvent::Failed(_));
            let finishes = actions.iter().filter(|action| **action == ReplyAction::Finish).count();
            prop_assert_eq!(finishes, usize::from(events.iter().any(ends)));
            prop_assert_eq!(machine.is_finished(), finishes == 1);
            prop_assert!(finishes == 0 || actions.last() == Some(&ReplyAction::Finish));
            let mut shown = (String::new(), String::new());
            for action in &actions {
                if let ReplyAction::Show { content, reasoning, phase, .. } = action {
                    shown.0.push_str(content);
                    shown.1.push_str(reasoning);
                    prop_assert_eq!(*phase == "thinking", shown.0.is_empty());
                }
            }
            prop_assert_eq!((shown.0.as_str(), shown.1.as_str()), (machine.content(), machine.reasoning().unwrap_or("")));
            prop_assert!(!machine.content().contains('\0'));
        }

        /// S4-11: the ending decides the status; rules run only on replies that finished normally.
        #[test]
        fn machine_status_follows_outcome(events in proptest::collection::vec(any_event(), 0..24)) {
            let (machine, _) = run_events(events);
            let facts = stored_facts(&machine);
            let failed = facts.contains_key("error");
            match machine.status() {
                Status::Generating => prop_assert!(!machine.is_finished()),
                Status::Error => prop_assert!(failed && !machine.runs_rules()),
                Status::Complete => prop_assert!(!failed && !machine.content().trim().is_empty()),
            }
            prop_assert_eq!(machine.runs_rules(), machine.status() == Status::Complete && facts["finishReason"] != "cancelled");
            prop_assert_eq!(facts["firstTokenMs"].is_null(), machine.content().is_empty() && machine.reasoning().is_none());
        }
    }
}
