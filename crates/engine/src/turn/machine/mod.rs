//! The machine of one reply: events in, actions out. Pure: no async, no I/O, no clock; the runner feeds it and does what
//! it says, so that every ending can be tested by plain calls.
//!
//! ```text
//! waiting -> thinking -> streaming -> over
//!     streaming: tools are wanted -> they are called -> waiting, with what was said so far
//!     any state: cancelled, failed, timed out -> over
//! ```

mod prefix_filter;

use serde_json::{Map, Value, json};

use crate::turn::tools::text_tools::TextToolParser;
use clotho_core::clock::Time;
use clotho_core::tree::Status;
use clotho_provider::{FinishReason, Frame, ToolCall, Usage};

use prefix_filter::PrefixFilter;

/// What happened.
#[derive(Debug, Clone)]
pub enum ReplyEvent {
    /// A frame of the reply arrived.
    Frame(Frame),
    /// The stream ended.
    Ended,
    /// The stream failed.
    Failed(ReplyFault),
    /// Someone asked for it to stop.
    Cancelled,
}

/// What the runner must do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyAction {
    /// Show this piece to watchers.
    Show {
        /// Text.
        content: String,
        /// Thinking.
        reasoning: String,
        /// Where the reply stands.
        phase: &'static str,
    },
    /// Call the tools that [`ReplyMachine::wanted`] names, ask again with what came of them, and tell by [`ReplyMachine::go_on`].
    CallTools,
    /// The reply is over: run the rules if [`ReplyMachine::runs_rules`], then commit.
    Finish,
}

/// Why a reply failed: a stable code, the provider's words, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyFault {
    /// A code of the table for nodes.
    pub code: String,
    /// One sentence, with the provider's own words where there are some.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl ReplyFault {
    /// A fault of the server's own.
    pub fn new(code: &str, message: impl Into<String>, hint: &str) -> Self {
        Self { code: code.to_owned(), message: message.into(), hint: hint.to_owned() }
    }
}

/// Why a reply failed that somebody stopped before it said anything.
pub fn cancelled_before_text() -> ReplyFault {
    ReplyFault::new("cancelled", "the reply was stopped before any text came", "ask again")
}

#[derive(Debug, Clone, PartialEq)]
enum MachineOutcome {
    Finished,
    Cancelled,
    Failed(ReplyFault),
}

/// One reply on its way.
#[derive(Debug, Clone)]
pub struct ReplyMachine {
    asked_at: Time,
    /// Bytes of the text that it began with.
    prefix_len: usize,
    prefix_filter: PrefixFilter,
    first_at: Option<Time>,
    ended_at: Option<Time>,
    content: String,
    reasoning: String,
    usage: Option<Usage>,
    finish: Option<FinishReason>,
    model: Option<String>,
    /// Tools that the model wanted called and that are not ours to call.
    calls: Vec<ToolCall>,
    /// Tools that the model waits for.
    pending_calls: Vec<ToolCall>,
    /// So often it may still be asked again with what came of its tools; `None` = nobody calls any.
    rounds: Option<usize>,
    /// Takes calls out of the text, where they come in words.
    text_tools: Option<TextToolParser>,
    /// Where what was said since it was asked last begins.
    request_start: usize,
    /// What earlier requests for the same reply took.
    previous_usage: Option<Usage>,
    outcome: Option<MachineOutcome>,
}

impl ReplyMachine {
    /// A reply that was asked for at a moment.
    pub fn new(asked_at: Time) -> Self {
        Self {
            asked_at,
            prefix_len: 0,
            prefix_filter: PrefixFilter::default(),
            first_at: None,
            ended_at: None,
            content: String::new(),
            reasoning: String::new(),
            usage: None,
            finish: None,
            model: None,
            calls: Vec::new(),
            pending_calls: Vec::new(),
            rounds: None,
            text_tools: None,
            request_start: 0,
            previous_usage: None,
            outcome: None,
        }
    }

    /// The tools that the model wants are called, so many times at most; it may want them in words.
    pub fn allow_tools(&mut self, rounds: usize, in_words: bool) {
        self.rounds = Some(rounds);
        self.text_tools = in_words.then(TextToolParser::default);
    }

    /// Whether tools were called, and the model asked more than once.
    pub fn has_called(&self) -> bool {
        !self.calls.is_empty()
    }

    /// The tools that the model waits for, and what it has said since it was asked last.
    pub fn pending_tools(&self) -> (&[ToolCall], &str) {
        (&self.pending_calls, self.content.get(self.request_start..).unwrap_or_default())
    }

    /// The tools that the model wanted are called, and it is asked again: what it says now is told behind what it said, and
    /// what both requests took is what the reply took.
    pub fn continue_after_tools(&mut self) {
        self.previous_usage = add_usage(self.previous_usage.take(), self.usage.take());
        self.finish = None;
        self.calls.append(&mut self.pending_calls);
        self.rounds = self.rounds.map(|left| left.saturating_sub(1));
        self.request_start = self.content.len();
        self.text_tools.iter_mut().for_each(TextToolParser::reset);
    }

    /// Another model is asked: what the one before it told of itself is forgotten. It has said nothing.
    pub fn switch_model(&mut self) {
        (self.usage, self.finish, self.model) = (None, None, None);
        self.prefix_filter = PrefixFilter::new(self.content.get(..self.prefix_len).unwrap_or_default());
        self.pending_calls.clear();
        self.text_tools.iter_mut().for_each(TextToolParser::reset);
    }

    /// Whether nothing of a reply has come.
    pub fn is_empty(&self) -> bool {
        self.first_at.is_none()
    }

    /// The same for a reply that goes on from a text.
    #[must_use]
    pub fn continuing_from(self, text: &str) -> Self {
        Self {
            prefix_len: text.len(),
            request_start: text.len(),
            prefix_filter: PrefixFilter::new(text),
            content: text.to_owned(),
            ..self
        }
    }

    /// Takes an event; answers with what to do. After the end nothing more is done.
    pub fn on(&mut self, event: ReplyEvent, now: Time) -> Option<ReplyAction> {
        if self.outcome.is_some() {
            return None;
        }
        if matches!(event, ReplyEvent::Ended) {
            let rest = self.prefix_filter.rest();
            let rest = self.strip_tool_calls(rest);
            self.content.push_str(&rest);
            if let Some((shown, calls)) = self.text_tools.as_mut().map(TextToolParser::rest) {
                self.content.push_str(&shown);
                self.pending_calls.extend(calls);
            }
        }
        match event {
            ReplyEvent::Frame(frame) => self.frame(frame, now),
            ReplyEvent::Ended if !self.pending_calls.is_empty() && self.rounds.is_some_and(|left| left > 0) => {
                Some(ReplyAction::CallTools)
            }
            ReplyEvent::Ended if self.added_text().trim().is_empty() => {
                let fault = self.empty_reply_fault();
                self.end(MachineOutcome::Failed(fault), now)
            }
            ReplyEvent::Ended => self.end(MachineOutcome::Finished, now),
            ReplyEvent::Failed(fault) => self.end(MachineOutcome::Failed(fault), now),
            ReplyEvent::Cancelled if self.added_text().trim().is_empty() => {
                self.end(MachineOutcome::Failed(cancelled_before_text()), now)
            }
            ReplyEvent::Cancelled => self.end(MachineOutcome::Cancelled, now),
        }
    }

    /// Why a reply that ended well has no text: it was held back, or there was none.
    fn empty_reply_fault(&self) -> ReplyFault {
        match &self.finish {
            Some(FinishReason::ContentFilter(words)) => {
                let hint = "say it otherwise, or choose another model";
                ReplyFault::new("provider_refused", format!("the model server held the reply back: {words}"), hint)
            }
            _ if self.prefix_len > 0 => {
                let hint = "the text may be whole as it is: ask again, choose another model, or write the next message";
                ReplyFault::new("empty_reply", "the model added nothing to the text", hint)
            }
            _ if !(self.calls.is_empty() && self.pending_calls.is_empty()) => {
                let hint = "try again, choose another model, or switch the plugin's tools off for this one";
                ReplyFault::new("empty_reply", "the model called tools again and again and wrote no text", hint)
            }
            _ => {
                let hint = "try again, or choose another model";
                ReplyFault::new("empty_reply", "the model answered without any text", hint)
            }
        }
    }

    fn frame(&mut self, frame: Frame, now: Time) -> Option<ReplyAction> {
        match frame {
            Frame::Text(text) => {
                let new = self.prefix_filter.hear(&text);
                let new = self.strip_tool_calls(new);
                let gap = if self.needs_separator(&new) { "\n\n" } else { "" };
                self.show(&format!("{gap}{new}"), "", now)
            }
            Frame::Reasoning(text) => self.show("", &text, now),
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
            Frame::KeepAlive => None,
        }
    }

    /// A text without the calls in it.
    fn strip_tool_calls(&mut self, text: String) -> String {
        let Some(spoken) = &mut self.text_tools else { return text };
        let (shown, calls) = spoken.hear(&text);
        self.pending_calls.extend(calls);
        shown
    }

    /// Whether what is said now stands apart from what was said before tools were called.
    fn needs_separator(&self, new: &str) -> bool {
        let is_first = self.has_called() && self.content.len() == self.request_start;
        let ends_open = |text: &str| !text.is_empty() && !text.ends_with(char::is_whitespace);
        is_first && !new.is_empty() && ends_open(self.added_text()) && !new.starts_with(char::is_whitespace)
    }

    fn show(&mut self, content: &str, reasoning: &str, now: Time) -> Option<ReplyAction> {
        if content.is_empty() && reasoning.is_empty() {
            return None;
        }
        self.first_at.get_or_insert(now);
        // The database refuses U+0000; nothing visible is lost with it.
        let (content, reasoning) = (content.replace('\0', "\u{fffd}"), reasoning.replace('\0', "\u{fffd}"));
        self.content.push_str(&content);
        self.reasoning.push_str(&reasoning);
        let phase = if self.added_text().is_empty() { "thinking" } else { "streaming" };
        Some(ReplyAction::Show { content, reasoning, phase })
    }

    fn end(&mut self, over: MachineOutcome, now: Time) -> Option<ReplyAction> {
        self.outcome = Some(over);
        self.ended_at = Some(now);
        Some(ReplyAction::Finish)
    }

    /// Whether the reply is over.
    pub fn is_finished(&self) -> bool {
        self.outcome.is_some()
    }

    /// Whether rules run on it: cancelled and failed replies change no world (`docs/domain.md` 5.5).
    pub fn runs_rules(&self) -> bool {
        self.outcome == Some(MachineOutcome::Finished)
    }

    /// What was added to the text that it began with.
    fn added_text(&self) -> &str {
        self.content.get(self.prefix_len..).unwrap_or_default()
    }

    /// The text so far.
    pub fn content(&self) -> &str {
        &self.content
    }

    /// The thinking so far, if there is any.
    pub fn reasoning(&self) -> Option<&str> {
        Some(self.reasoning.as_str()).filter(|text| !text.is_empty())
    }

    /// How the node ends: a cancelled reply with text is complete.
    pub fn status(&self) -> Status {
        match self.outcome {
            None => Status::Generating,
            Some(MachineOutcome::Finished | MachineOutcome::Cancelled) => Status::Complete,
            Some(MachineOutcome::Failed(_)) => Status::Error,
        }
    }

    /// Why it failed, if it did.
    pub fn fault(&self) -> Option<&ReplyFault> {
        match &self.outcome {
            Some(MachineOutcome::Failed(fault)) => Some(fault),
            _ => None,
        }
    }

    /// What the provider counted, for all requests together.
    pub fn usage(&self) -> Option<Usage> {
        add_usage(self.previous_usage, self.usage)
    }

    /// What the node's metadata says about the ending.
    pub fn metadata(&self) -> Map<String, Value> {
        let mut facts = Map::new();
        let mut put = |key: &str, value: Value| _ = facts.insert(key.to_owned(), value);
        if let Some(model) = &self.model {
            put("reportedModel", model.as_str().into());
        }
        let finish = match &self.outcome {
            Some(MachineOutcome::Cancelled) => Some("cancelled"),
            _ => self.finish.as_ref().map(FinishReason::as_str),
        };
        put("finishReason", finish.into());
        let cut = matches!(self.finish, Some(FinishReason::Length | FinishReason::ContentFilter(_)));
        let truncated = cut || matches!(self.outcome, Some(MachineOutcome::Cancelled));
        put("isTruncated", truncated.into());
        if let Some(MachineOutcome::Failed(fault)) = &self.outcome {
            put("error", json!({"code": fault.code, "message": fault.message, "hint": fault.hint}));
        }
        if let Some(ended) = self.ended_at {
            put("latencyMs", ended.millis_since(self.asked_at).into());
        }
        put("firstTokenMs", self.first_at.map(|first| first.millis_since(self.asked_at)).into());
        if let Some(usage) = self.usage() {
            put("tokenCount", json!({"prompt": usage.prompt, "completion": usage.completion}));
            put("cachedTokens", usage.cached.into());
            put("cost", usage.cost.into());
            put("costFrom", usage.cost.map(|_| "provider").into());
        }
        let calls: Vec<&ToolCall> = self.calls.iter().chain(&self.pending_calls).collect();
        if !calls.is_empty() {
            let call = |call: &ToolCall| json!({"id": call.id, "name": call.name, "arguments": call.arguments});
            put("toolCalls", calls.into_iter().map(call).collect());
        }
        facts
    }
}

/// What two requests took together; what one of them did not tell is not known of both.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(text: &str) -> ReplyEvent {
        ReplyEvent::Frame(Frame::Text(text.into()))
    }

    fn run(events: Vec<ReplyEvent>) -> (ReplyMachine, Vec<ReplyAction>) {
        let mut machine = ReplyMachine::new(Time(1_000));
        let mut now = 1_000;
        let actions = events
            .into_iter()
            .filter_map(|event| {
                now += 10;
                machine.on(event, Time(now))
            })
            .collect();
        (machine, actions)
    }

    /// S3-12: a model that wants tools is asked again; what it says then stands behind what it said, and both requests are
    /// what the reply took.
    #[test]
    fn machine_tool_calls_continue_reply() {
        let mut machine = ReplyMachine::new(Time(0));
        machine.allow_tools(1, false);
        let usage = |prompt| ReplyEvent::Frame(Frame::Usage(Usage { prompt, completion: 1, ..Usage::default() }));
        let wants = || {
            ReplyEvent::Frame(Frame::ToolCall(ToolCall { id: "c".into(), name: "roll".into(), ..ToolCall::default() }))
        };
        for event in [text("She rolls."), wants(), usage(10)] {
            machine.on(event, Time(1));
        }
        assert_eq!(machine.on(ReplyEvent::Ended, Time(1)), Some(ReplyAction::CallTools));
        assert_eq!((machine.is_finished(), machine.pending_tools().1), (false, "She rolls."));
        machine.continue_after_tools();
        for event in [text("A six."), usage(20)] {
            machine.on(event, Time(2));
        }
        assert_eq!(machine.on(ReplyEvent::Ended, Time(2)), Some(ReplyAction::Finish));
        assert_eq!((machine.content(), machine.usage().unwrap().prompt), ("She rolls.\n\nA six.", 30));
        assert_eq!(machine.metadata()["toolCalls"].as_array().unwrap().len(), 1);
        // The last time there is nothing more to call: a reply that still wants something and says nothing has no text.
        let mut silent = ReplyMachine::new(Time(0));
        silent.allow_tools(0, false);
        silent.on(wants(), Time(1));
        silent.on(ReplyEvent::Ended, Time(1));
        let fault = silent.fault().map(|fault| (fault.code.as_str(), fault.message.contains("called tools")));
        assert_eq!(fault, Some(("empty_reply", true)));
    }

    /// S0-36: pieces are shown as they come, and the end is one action.
    #[test]
    fn machine_reply_streams_and_finishes() {
        let usage = Usage { prompt: 7, completion: 2, cached: Some(5), ..Usage::default() };
        let (machine, actions) = run(vec![
            ReplyEvent::Frame(Frame::KeepAlive),
            ReplyEvent::Frame(Frame::Reasoning("hm".into())),
            text("Hello"),
            text(""),
            text(" there"),
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
        let facts = machine.metadata();
        assert_eq!(facts["finishReason"], "stop");
        assert_eq!(facts["tokenCount"], json!({"prompt": 7, "completion": 2}));
        assert_eq!((&facts["cachedTokens"], &facts["cost"]), (&json!(5), &Value::Null));
        // S1-13: the time to the first token and to the end.
        assert_eq!((&facts["firstTokenMs"], &facts["latencyMs"]), (&json!(20), &json!(80)));
    }

    /// A tool that a model wants called is told and called by nobody; another model begins with nothing of the one before.
    #[test]
    fn machine_uncalled_tools_are_reset_on_model_switch() {
        let call = || ReplyEvent::Frame(Frame::ToolCall(ToolCall { name: "roll".into(), ..ToolCall::default() }));
        let (machine, _) = run(vec![call(), text("Hm."), ReplyEvent::Ended]);
        assert_eq!(machine.metadata()["toolCalls"][0]["name"], "roll");
        let (mut machine, _) = run(vec![call(), ReplyEvent::Frame(Frame::Model("m".into()))]);
        assert!(machine.is_empty());
        machine.switch_model();
        machine.on(text("Hm."), Time(2_000));
        assert!(!machine.is_empty());
        assert_eq!((machine.metadata().get("toolCalls"), machine.metadata().get("reportedModel")), (None, None));
    }

    /// S3-23: a cancelled reply with text is complete and truncated, and no rule runs on it.
    #[test]
    fn machine_cancelled_reply_keeps_text_without_rules() {
        let (machine, _) = run(vec![text("Half a"), ReplyEvent::Cancelled, text(" lost")]);
        assert_eq!((machine.content(), machine.status()), ("Half a", Status::Complete));
        assert!(!machine.runs_rules());
        assert_eq!(machine.metadata()["finishReason"], "cancelled");
        assert_eq!(machine.metadata()["isTruncated"], true);
    }

    /// S4-29: a fault keeps what arrived and says why.
    #[test]
    fn machine_failed_reply_keeps_text_and_fault() {
        let fault = ReplyFault::new("cut_off", "the stream was cut", "try again");
        for (events, code) in [
            (vec![text("Half"), ReplyEvent::Failed(fault)], "cut_off"),
            (vec![ReplyEvent::Ended], "empty_reply"),
            (vec![text(" \n"), ReplyEvent::Ended], "empty_reply"),
            (vec![ReplyEvent::Frame(Frame::Reasoning("only thought".into())), ReplyEvent::Ended], "empty_reply"),
            (vec![ReplyEvent::Cancelled], "cancelled"),
            (vec![text(" \n"), ReplyEvent::Cancelled], "cancelled"),
        ] {
            let (machine, actions) = run(events);
            assert_eq!(machine.status(), Status::Error);
            assert_eq!(machine.metadata()["error"]["code"], code);
            assert_eq!(actions.last(), Some(&ReplyAction::Finish));
            assert!(!machine.runs_rules());
        }
    }

    /// `domain.md` 5.8: what a model adds is behind the text it goes on from; adding nothing is an error that keeps the text.
    #[test]
    fn machine_continued_reply_appends_to_prefix() {
        let go_on = |events: Vec<ReplyEvent>| {
            let mut machine = ReplyMachine::new(Time(1_000)).continuing_from("She lights");
            let shown: Vec<ReplyAction> =
                events.into_iter().filter_map(|event| machine.on(event, Time(1_010))).collect();
            (machine, shown)
        };
        let (machine, shown) = go_on(vec![text("She "), text("lights"), text(" the lamp."), ReplyEvent::Ended]);
        assert_eq!((machine.content(), machine.status()), ("She lights the lamp.", Status::Complete));
        let piece = ReplyAction::Show { content: " the lamp.".into(), reasoning: String::new(), phase: "streaming" };
        assert_eq!(shown, [piece, ReplyAction::Finish]);
        let (machine, _) = go_on(vec![text("She"), ReplyEvent::Ended]);
        assert_eq!(machine.content(), "She lightsShe", "what is no whole echo is text");
        let (machine, shown) =
            go_on(vec![ReplyEvent::Frame(Frame::Reasoning("hm".into())), text("She lights"), ReplyEvent::Ended]);
        assert!(matches!(&shown[0], ReplyAction::Show { phase: "thinking", .. }), "{shown:?}");
        assert_eq!((machine.content(), machine.status()), ("She lights", Status::Error));
        assert_eq!(machine.metadata()["error"]["code"], "empty_reply");
        let (machine, _) = go_on(vec![ReplyEvent::Cancelled]);
        assert_eq!((machine.content(), &machine.metadata()["error"]["code"]), ("She lights", &json!("cancelled")));
    }

    /// A reply that the provider held back: with some text it is truncated, without any it is refused in the provider's words.
    #[test]
    fn machine_content_filter_truncates_or_fails() {
        let held_back =
            || ReplyEvent::Frame(Frame::Finish(FinishReason::ContentFilter("content_filter, SAFETY".into())));
        let (machine, _) = run(vec![text("Half"), held_back(), ReplyEvent::Ended]);
        assert_eq!((machine.status(), machine.runs_rules()), (Status::Complete, true));
        assert_eq!(
            (&machine.metadata()["isTruncated"], &machine.metadata()["finishReason"]),
            (&json!(true), &json!("content_filter"))
        );
        let (machine, _) = run(vec![text(" "), held_back(), ReplyEvent::Ended]);
        assert_eq!((machine.status(), machine.runs_rules()), (Status::Error, false));
        let error = &machine.metadata()["error"];
        assert_eq!(error["code"], "provider_refused");
        assert_eq!(error["message"], "the model server held the reply back: content_filter, SAFETY");
    }

    #[test]
    fn machine_length_stop_truncates_and_nul_is_replaced() {
        let thought = ReplyEvent::Frame(Frame::Reasoning("c\0d".into()));
        let (machine, _) =
            run(vec![thought, text("a\0b"), ReplyEvent::Frame(Frame::Finish(FinishReason::Length)), ReplyEvent::Ended]);
        assert_eq!((machine.content(), machine.reasoning()), ("a\u{fffd}b", Some("c\u{fffd}d")));
        assert_eq!(machine.metadata()["isTruncated"], true);
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
            1 => Just(ReplyEvent::Failed(ReplyFault::new("cut_off", "the stream was cut", "try again"))),
        ]
    }

    proptest! {
        /// S4-47: whatever comes in whatever order, a reply ends exactly once, nothing is shown after that, and what
        /// was shown is what is kept.
        #[test]
        fn machine_any_event_order_ends_once(events in proptest::collection::vec(any_event(), 0..24)) {
            let (machine, actions) = run(events.clone());
            let ends = |event: &ReplyEvent| matches!(event, ReplyEvent::Ended | ReplyEvent::Cancelled | ReplyEvent::Failed(_));
            let finishes = actions.iter().filter(|action| **action == ReplyAction::Finish).count();
            prop_assert_eq!(finishes, usize::from(events.iter().any(ends)));
            prop_assert_eq!(machine.is_finished(), finishes == 1);
            prop_assert!(finishes == 0 || actions.last() == Some(&ReplyAction::Finish));
            let mut shown = (String::new(), String::new());
            for action in &actions {
                if let ReplyAction::Show { content, reasoning, phase } = action {
                    shown.0.push_str(content);
                    shown.1.push_str(reasoning);
                    prop_assert_eq!(*phase == "thinking", shown.0.is_empty());
                }
            }
            prop_assert_eq!((shown.0.as_str(), shown.1.as_str()), (machine.content(), machine.reasoning().unwrap_or("")));
            prop_assert!(!machine.content().contains('\0'));
        }

        /// S4-11: the ending decides the status; rules run exactly on replies that came to their own end.
        #[test]
        fn machine_status_follows_outcome(events in proptest::collection::vec(any_event(), 0..24)) {
            let (machine, _) = run(events);
            let facts = machine.metadata();
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
