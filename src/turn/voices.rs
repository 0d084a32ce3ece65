//! Models are asked in turn: the preferred one, and where it fails before it has said anything, the next.

use std::sync::Arc;

use futures_util::StreamExt;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::live::{Stop, Writing};
use crate::provider::{Failure, FrameStream, Request, Written};

use super::machine::{Action, Event, Fault, Machine};
use super::models::{Candidate, Choice, Passed};
use super::trace::Made;
use super::{Parts, ask, ends};

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

/// Asks one model after another until one has begun to answer, and hears it to its end. `asked` is told of each before it is
/// asked. All of them together have the time that a reply may take.
pub async fn speak<T>(
    parts: &Arc<Parts>,
    writing: &Writing<T>,
    machine: &mut Machine,
    wish: &Wish<'_>,
    mut asked: impl FnMut(&Attempt<'_>),
) {
    let mut passed = wish.choice.passed.clone();
    let mut left = wish.choice.others.len();
    let deadline = Instant::now() + parts.config.limits.generation;
    for candidate in wish.choice.candidates() {
        let request = request(wish, candidate);
        let params = candidate.client.wire_params(&request);
        let template = candidate.client.written(&request).map(|written| told(&written));
        asked(&Attempt { candidate, params, template, passed: &passed });
        parts.learn_again(&candidate.client);
        let frames = candidate.client.stream(&request);
        let may_pass = left > 0;
        let Some(failure) = stream_in(parts, writing, machine, frames, deadline, may_pass).await else { return };
        tracing::warn!(model = candidate.name, code = failure.code(), "the next model is asked: {failure}");
        passed.push(Passed::failed(&candidate.name, &failure));
        left = left.saturating_sub(1);
    }
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

/// Feeds the machine until the text is over, and shows watchers what comes. Where another model may be asked, a failure
/// before the first word is not the end: it is handed back.
async fn stream_in<T>(
    parts: &Arc<Parts>,
    writing: &Writing<T>,
    machine: &mut Machine,
    mut frames: FrameStream,
    deadline: Instant,
    may_pass: bool,
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
                Some(Err(failure)) if may_pass && machine.is_silent() && failure.is_elsewhere_better() => {
                    machine.ask_another();
                    return Some(failure);
                }
                Some(Err(failure)) => Event::Failed(fault(&failure)),
                None => Event::Ended,
            },
        };
        hear(parts, writing, machine, event);
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

/// Tells the machine, and shows what is new to whoever watches.
pub fn hear<T>(parts: &Arc<Parts>, writing: &Writing<T>, machine: &mut Machine, event: Event) {
    if let Some(Action::Show { content, reasoning, phase }) = machine.on(event, parts.clock.now()) {
        parts.live.write(writing, &content, &reasoning, phase);
    }
}

fn fault(failure: &Failure) -> Fault {
    Fault::new(failure.code(), failure.to_string(), failure.hint())
}
