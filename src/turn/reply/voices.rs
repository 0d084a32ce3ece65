//! Models are asked in turn: the preferred one, and where it fails before it has said anything, the next. One that wants
//! tools called is asked again with what came of them.

use std::sync::Arc;

use futures_util::StreamExt;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::live::{Stop, Writing};
use crate::provider::{Failure, FrameStream, Request, Round, Written};

use super::ends;
use crate::turn::ask::trace::Made;
use crate::turn::machine::{Action, Event, Fault, Machine};
use crate::turn::models::{Candidate, Choice, Passed};
use crate::turn::tools::Toolbox;
use crate::turn::{Parts, ask, tools, tools::spoken};

/// What is to be asked.
pub struct Wish<'a> {
    /// Of whom.
    pub choice: &'a Choice,
    /// The prompt.
    pub made: &'a Made,
    /// Parameters of the session and of this request.
    pub params: &'a Map<String, Value>,
    /// What the reply's dice come from, and its seed.
    pub dice_seed: u64,
}

/// One model that is asked.
pub struct Attempt<'a> {
    /// Who.
    pub candidate: &'a Candidate,
    /// The parameters that go with the request.
    pub params: Map<String, Value>,
    /// What wrote the prompt as one text, where it goes as one: `{name, problem?}`.
    pub template: Option<Value>,
    /// Who could not answer before.
    pub passed: &'a [Passed],
}

impl Attempt<'_> {
    /// Those who could not answer, as the trace tells them; `None` = nobody.
    pub fn passed_over(&self) -> Option<Value> {
        let told = |passed: &Passed| json!({"model": passed.model, "code": passed.code, "message": passed.message});
        (!self.passed.is_empty()).then(|| self.passed.iter().map(told).collect())
    }
}

/// A model whose server refused the request because it tells of tools. Nothing has been said.
pub struct ToolsRefused {
    /// Who.
    pub candidate: Candidate,
    /// The server's words.
    pub why: String,
}

/// Asks one model after another until one has begun to answer, and hears it to its end. `asked` is told of each before it is
/// asked. All of them together, with the tools that they use, have the time that a reply may take. Where a server refuses to be
/// told of tools, that is handed back: the prompt has to be another one.
pub async fn speak<T>(
    parts: &Arc<Parts>,
    writing: &Writing<T>,
    machine: &mut Machine,
    wish: &Wish<'_>,
    mut tools: Option<&mut Toolbox<'_>>,
    mut asked: impl FnMut(&Attempt<'_>),
) -> Option<ToolsRefused> {
    let mut passed = wish.choice.passed.clone();
    let mut left = wish.choice.others.len();
    let deadline = Instant::now() + parts.config.limits.generation;
    let mut rounds = Vec::new();
    for candidate in wish.choice.candidates() {
        let mut request = request(wish, candidate);
        let params = candidate.client.wire_params(&request);
        let template = candidate.client.written(&request).map(|written| told(&written));
        asked(&Attempt { candidate, params, template, passed: &passed });
        parts.learn_again(&candidate.client);
        if let Some(wire) = tools.as_ref().and_then(|tools| tools.wire()) {
            offer(&mut request, wire);
        }
        let prompt = request.messages.len();
        let failure = loop {
            go_on(&mut request, &rounds, prompt, tools.as_deref());
            let frames = candidate.client.stream(&request);
            let is_told = rounds.is_empty() && tools.as_ref().is_some_and(|tools| tools.wire().is_some());
            let may = Handing { on: left > 0, back: is_told };
            if let Some(failure) = stream_in(parts, writing, machine, frames, deadline, may).await {
                if may.hands_back(&failure) {
                    return Some(ToolsRefused { candidate: candidate.clone(), why: failure.to_string() });
                }
                break failure;
            }
            let (calls, said) = machine.wanted();
            match &mut tools {
                Some(tools) if !machine.is_over() => rounds.push(tools.answer(said, calls).await),
                _ => return None,
            }
            machine.go_on();
        };
        tracing::warn!(model = candidate.name, code = failure.code(), "the next model is asked: {failure}");
        passed.push(Passed::failed(&candidate.name, &failure));
        left = left.saturating_sub(1);
    }
    None
}

/// What may become of a failure before the first word.
#[derive(Clone, Copy)]
struct Handing {
    /// Another model may be asked.
    on: bool,
    /// The same may be asked without being told of tools in a field of the request.
    back: bool,
}

impl Handing {
    fn hands_back(self, failure: &Failure) -> bool {
        self.back && failure.refuses_tools()
    }

    fn takes(self, failure: &Failure) -> bool {
        self.hands_back(failure) || (self.on && failure.is_elsewhere_better())
    }
}

/// Tells a model of the tools that it may use, besides those that the request's own parameters name.
fn offer(request: &mut Request, tools: Vec<Value>) {
    let own = request.params.shift_remove("tools");
    let own = own.and_then(|own| if let Value::Array(own) = own { Some(own) } else { None }).unwrap_or_default();
    request.params.insert("tools".into(), own.into_iter().chain(tools).collect());
}

/// Tells it what came of those that it has used. The last time it is asked it may use none: it has to say something.
fn go_on(request: &mut Request, rounds: &[Round], prompt: usize, tools: Option<&Toolbox<'_>>) {
    let is_last = rounds.len() >= tools::ROUNDS;
    if tools.is_some_and(|tools| tools.wire().is_none()) {
        request.messages.truncate(prompt);
        request.messages.extend(spoken::messages(rounds, is_last));
        return;
    }
    if is_last {
        request.params.insert("tool_choice".into(), "none".into());
    }
    request.rounds = rounds.to_vec();
}

/// A template, as the trace tells of it.
fn told(written: &Written) -> Value {
    match &written.problem {
        Some(problem) => json!({"name": written.by, "problem": problem}),
        None => json!({"name": written.by}),
    }
}

fn request(wish: &Wish<'_>, candidate: &Candidate) -> Request {
    let endpoint = candidate.client.endpoint();
    ask::request(wish.params, wish.dice_seed, candidate.model.clone(), wish.made, endpoint)
}

/// Feeds the machine until the text is over or the model waits for its tools, and shows watchers what comes. Where somebody may be asked
/// instead, a failure before the first word is not the end: it is handed back.
async fn stream_in<T>(
    parts: &Arc<Parts>,
    writing: &Writing<T>,
    machine: &mut Machine,
    mut frames: FrameStream,
    deadline: Instant,
    may: Handing,
) -> Option<Failure> {
    let limit = parts.config.limits.generation;
    let late = tokio::time::sleep_until(deadline);
    tokio::pin!(late);
    while !machine.is_over() {
        let event = tokio::select! {
            biased;
            stop = writing.stopped() => halt(stop),
            () = &mut late => {
                let message = format!("the reply took longer than {} s", limit.as_secs());
                Event::Failed(Fault::new("provider_timeout", message, "raise `limits.generation_s` or ask for less"))
            }
            frame = frames.next() => match frame {
                Some(Ok(frame)) => Event::Frame(frame),
                Some(Err(failure)) if machine.is_silent() && may.takes(&failure) => {
                    machine.ask_another();
                    return Some(failure);
                }
                Some(Err(failure)) => Event::Failed(fault(&failure)),
                None => Event::Ended,
            },
        };
        if hear(parts, writing, machine, event) {
            return None;
        }
    }
    None
}

/// What it means to the machine that somebody stops a text.
pub fn halt(stop: Stop) -> Event {
    match stop {
        Stop::Cancelled => Event::Cancelled,
        Stop::Interrupted => Event::Failed(ends::interrupted()),
    }
}

/// Tells the machine, and shows what is new to whoever watches. Answers whether the model waits for its tools.
pub fn hear<T>(parts: &Arc<Parts>, writing: &Writing<T>, machine: &mut Machine, event: Event) -> bool {
    match machine.on(event, parts.clock.now()) {
        Some(Action::Show { content, reasoning, phase }) => parts.live.write(writing, &content, &reasoning, phase),
        Some(Action::Call) => return true,
        Some(Action::Finish) | None => {}
    }
    false
}

fn fault(failure: &Failure) -> Fault {
    Fault::new(failure.code(), failure.to_string(), failure.hint())
}
