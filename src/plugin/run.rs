//! Runs one call on the thread it is called on. Callers want [`super::ScriptHost`]: this needs a thread with a stack of
//! its own size.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rhai::{Dynamic, Scope};

use super::answer;
use super::call::{Answer, Call, Outcome, Usage};
use super::ctx::{Ctx, Running};
use super::engine;
use super::error::{ErrorKind, ScriptError};
use super::fault::{Fault, Throw, stop};
use super::limits::Stop;
use super::loaded::Loaded;

/// Runs a hook on this thread, which must have a stack of [`super::STACK`]. Whatever the script does, this returns: a
/// panic on our side becomes an error of kind `host`.
pub fn run(plugin: &Arc<Loaded>, call: Call) -> Outcome {
    if !plugin.has(call.hook) {
        return Outcome::nothing(call.world);
    }
    let given = call.clone();
    match catch_unwind(AssertUnwindSafe(|| execute(plugin, call))) {
        Ok(outcome) => outcome,
        Err(_) => failed(plugin, given, "the host failed while it ran the script; the log says more"),
    }
}

/// The outcome of a call that our side could not run.
pub(super) fn failed(plugin: &Loaded, call: Call, why: &str) -> Outcome {
    let fault = Fault { kind: ErrorKind::Host, limit: None, message: why.to_owned() };
    let error = plugin.explain().call_fault(&call, &fault);
    Outcome { error: Some(error), ..Outcome::nothing(call.world) }
}

fn execute(plugin: &Arc<Loaded>, call: Call) -> Outcome {
    let running = Arc::new(Running::new(Arc::clone(plugin), call));
    let returned = evaluate(plugin, &running);
    let (mut outcome, refused) = running.take();
    let ended = match (&refused, returned) {
        (Some(message), _) => Ok(Answer::Refused(message.clone())),
        (None, Ok(value)) => answer::read(&running.call, &value, running.limits())
            .map_err(|fault| plugin.explain().call_fault(&running.call, &fault)),
        (None, Err(error)) => Err(plugin.explain().call_error(&running.call, &error)),
    };
    match ended {
        Ok(answer) => outcome.answer = answer,
        Err(error) => drop_proposals(&mut outcome, &running, Some(error)),
    }
    if refused.is_some() {
        drop_proposals(&mut outcome, &running, None);
    }
    let watch = &running.watch;
    outcome.usage = Usage { operations: watch.operations(), micros: watch.micros(), heap_peak: watch.heap_peak() };
    outcome
}

fn evaluate(plugin: &Loaded, running: &Arc<Running>) -> Result<Dynamic, Throw> {
    let engine = engine::for_call(running, plugin.modules());
    let mut scope = Scope::new();
    let ctx = Ctx(Arc::clone(running));
    let value = engine.call_fn::<Dynamic>(&mut scope, plugin.ast(), running.call.hook.name(), (ctx,))?;
    running.watch.tripped().map_or(Ok(value), |limit| Err(stop(Stop::Limit(limit))))
}

/// A call that failed or refused proposes nothing. Rolls stay: what has been rolled has been rolled.
fn drop_proposals(outcome: &mut Outcome, running: &Running, error: Option<ScriptError>) {
    let dropped = outcome.operations.len();
    outcome.operations.clear();
    outcome.problems.clear();
    outcome.notes.clear();
    outcome.world = Arc::clone(&running.call.world);
    outcome.error = error.map(|error| ScriptError { ops_dropped: dropped, ..error });
}
