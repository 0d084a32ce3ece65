//! Runs one call on the current thread. Most callers use [`super::ScriptHost`], because this needs a thread with a
//! stack of a certain size.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rhai::{Caches, Dynamic, Engine, GlobalRuntimeState, INT, Scope, Stmt};

use super::answer;
use super::call::{HookAnswer, HookCall, HookOutcome, HookUsage};
use super::code::PluginCode;
use super::convert::to_script;
use super::ctx::{Ctx, RunningCall};
use super::engine;
use super::error::{ScriptError, ScriptErrorKind};
use super::host_fault::{HostFault, RhaiThrow, throw, throw_stop};
use super::limits::ScriptStop;
use super::loaded::LoadedPlugin;
use super::plan::PluginPromptPlan;

/// Runs a hook on this thread, which must have a stack of [`super::STACK_BYTES`]. It always returns: a panic of the
/// host becomes an error of kind `host`.
pub fn run(plugin: &Arc<LoadedPlugin>, call: HookCall) -> HookOutcome {
    if !plugin.defines_call(&call) {
        return HookOutcome::empty(call.world);
    }
    let code = match plugin.code() {
        Ok(code) => code,
        Err(error) => return error_outcome(call, *error),
    };
    let given = HookCall { world: Arc::default(), ..call.clone() };
    match catch_unwind(AssertUnwindSafe(|| execute(plugin, code, call))) {
        Ok(outcome) => outcome,
        Err(_) => failed_outcome(plugin, given, "the server failed during the script; the log has the cause"),
    }
}

/// Returns the outcome of a call that the host could not run.
pub(super) fn failed_outcome(plugin: &LoadedPlugin, call: HookCall, why: &str) -> HookOutcome {
    let fault = HostFault { kind: ScriptErrorKind::Host, limit: None, message: why.to_owned() };
    let error = plugin.explainer().call_fault(&call, &fault);
    error_outcome(call, error)
}

fn error_outcome(call: HookCall, error: ScriptError) -> HookOutcome {
    HookOutcome { error: Some(error), world: None, ..HookOutcome::empty(call.world) }
}

fn execute(plugin: &Arc<LoadedPlugin>, code: &PluginCode, call: HookCall) -> HookOutcome {
    let running = Arc::new(RunningCall::new(Arc::clone(&code.runtime), call));
    let returned = evaluate(plugin, code, &running);
    let (mut outcome, refused) = running.take_outcome();
    outcome.warnings.splice(0..0, running.call.command_plugin.iter().map(|other| other_plugin_message(other)));
    let ended = match (&refused, returned) {
        (Some(message), _) => Ok(HookAnswer::Refused(message.clone())),
        (None, Ok(value)) => answer::read_answer(&running.call, &value, running.limits())
            .map_err(|fault| plugin.explainer().call_fault(&running.call, &fault)),
        (None, Err(error)) => Err(plugin.explainer().call_error(&running.call, &error)),
    };
    match ended {
        Ok(answer) => outcome.answer = answer,
        Err(error) => drop_proposals(&mut outcome, Some(error)),
    }
    if refused.is_some() {
        drop_proposals(&mut outcome, None);
    }
    let watch = &running.watch;
    outcome.usage = HookUsage { operations: watch.operations(), micros: watch.micros(), heap_peak: watch.heap_peak() };
    outcome
}

/// Returns the warning for a slash command that goes to another plugin.
fn other_plugin_message(other: &str) -> String {
    format!("the command goes to \"{other}\", an earlier plugin with the same command: ctx.command is () here")
}

/// Runs the file's own statements, which set up its imports and constants, and then those of the hook. The hook is not
/// called as a function: Rhai reports an uncatchable error only with the position of the call, and this call would have
/// none.
fn evaluate(plugin: &Arc<LoadedPlugin>, code: &PluginCode, running: &Arc<RunningCall>) -> Result<Dynamic, RhaiThrow> {
    let Some(body) = code.body(&running.call) else { return Ok(Dynamic::UNIT) };
    let (engine, ast) = (engine_for(plugin, code, running), &code.ast);
    let (mut global, mut caches, mut scope) = (engine.new_global_runtime_state(), Caches::new(), Scope::new());
    global.source = Some(plugin.manifest().entry.as_str().into());
    global.lib.push(ast.shared_lib().clone());
    drop(run_all(&engine, &mut global, &mut caches, &mut scope, ast.statements())?);
    scope.rewind(0);
    for (name, argument) in
        body.parameters.iter().zip([Dynamic::from(Ctx(Arc::clone(running))), second_argument(running)?])
    {
        scope.push_dynamic(name.clone(), argument);
    }
    // Run as inside a function: its declarations are no constants of the file, and calls are one level deeper.
    (global.level, global.scope_level) = (1, 1);
    let value = run_all(&engine, &mut global, &mut caches, &mut scope, &body.statements)?;
    running.watch.exceeded_limit().map_or(Ok(value), |limit| Err(throw_stop(ScriptStop::Limit(limit))))
}

/// Returns the second argument of a hook: a tool's arguments, or the version from which to migrate.
fn second_argument(running: &RunningCall) -> Result<Dynamic, RhaiThrow> {
    match &running.call.tool {
        Some(tool) => to_script(&tool.arguments, running.limits())
            .map_err(|_| throw(ScriptErrorKind::Limit, "the arguments are too large".to_owned())),
        None => Ok(INT::from(running.call.from_version).into()),
    }
}

#[expect(deprecated, reason = "the only way to run statements with a given scope; the version of the engine is pinned")]
fn run_all(
    engine: &Engine,
    global: &mut GlobalRuntimeState,
    caches: &mut Caches,
    scope: &mut Scope<'_>,
    statements: &[Stmt],
) -> Result<Dynamic, RhaiThrow> {
    engine.eval_statements_raw(global, caches, scope, statements)
}

/// Creates the engine of one call, with its limits, its log and the plugin's modules.
fn engine_for(plugin: &Arc<LoadedPlugin>, code: &PluginCode, running: &Arc<RunningCall>) -> Engine {
    let mut engine = engine::base(running.limits());
    engine.set_module_resolver(code.modules.clone());
    let watched = Arc::clone(running);
    engine.on_progress(move |operations| watched.watch.progress(operations).map(Dynamic::from));
    let printing = Arc::clone(running);
    engine.on_print(move |line| printing.log(line));
    let (debugging, plugin) = (Arc::clone(running), Arc::clone(plugin));
    engine.on_debug(move |line, file, position| {
        let file = file.unwrap_or(&plugin.manifest().entry);
        let (at, _) = plugin.explainer().source_position(file, position);
        debugging.log(&format!("{file}:{} {line}", at.unwrap_or_default()));
    });
    engine
}

/// Removes the proposals of a call that failed or refused. Rolls stay, because they are facts.
fn drop_proposals(outcome: &mut HookOutcome, error: Option<ScriptError>) {
    let dropped = outcome.operations.len();
    outcome.operations.clear();
    outcome.problems.clear();
    outcome.notes.clear();
    outcome.plan = PluginPromptPlan::default();
    outcome.model_calls.clear();
    outcome.summary = None;
    outcome.world = None;
    outcome.error = error.map(|error| ScriptError { ops_dropped: dropped, ..error });
}
