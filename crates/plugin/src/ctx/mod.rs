//! `ctx`: the only value that every hook gets (`docs/modders.md`). It is a handle, so the cost of a call does not
//! depend on the number of variables. What a script writes becomes operations.
//!
//! There is one file per surface: `read.rs`, `write.rs`, `text.rs`, `chance.rs`, `prompt.rs`, `model_call.rs`,
//! `summary.rs`, `output.rs`. Each has one `register` function, used by tests and production alike. To add a function,
//! call [`CtxSurface::function`] in the file of its surface, with its parameters and one line of documentation. The
//! editor's definitions and the reference are generated from that.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rhai::{FuncRegistration, Module, RhaiNativeFunc, Shared, Variant};

use super::call::{HookCall, HookOutcome};
use super::convert::ByteBudget;
use super::dice::Roll;
use super::error::ScriptErrorKind;
use super::host_fault::{RhaiThrow, throw};
use super::limits::{LimitMonitor, ScriptLimits};
use super::model_call::PluginModelCall;
use super::permission::Permission;
use super::plan::PluginPromptPlan;
use super::runtime::PluginRuntime;
use super::summary::SummaryProposal;
use clotho_core::world::pointer::MAX_DEPTH;
use clotho_core::world::{Pointer, Problem, StateOperation, World};

mod chance;
mod model_call;
mod output;
mod prompt;
mod read;
mod summary;
mod text;
mod write;

/// The handle that scripts hold.
#[derive(Clone)]
pub(super) struct Ctx(pub(super) Arc<RunningCall>);

/// One running call: its input and its effects so far.
pub(super) struct RunningCall {
    pub(super) runtime: Arc<PluginRuntime>,
    pub(super) call: HookCall,
    pub(super) watch: LimitMonitor,
    effects: Mutex<CallEffects>,
}

/// The effects of a call so far.
pub(super) struct CallEffects {
    pub(super) world: Arc<World>,
    pub(super) operations: Vec<StateOperation>,
    pub(super) problems: Vec<Problem>,
    pub(super) rolls: Vec<Roll>,
    pub(super) notes: Vec<String>,
    pub(super) warnings: Vec<String>,
    pub(super) log: Vec<String>,
    pub(super) log_left: usize,
    pub(super) plan: PluginPromptPlan,
    pub(super) model_calls: Vec<PluginModelCall>,
    pub(super) summary: Option<SummaryProposal>,
    pub(super) bytes: ByteBudget,
    pub(super) refused: Option<String>,
    /// Patterns that are not literals of the script.
    pub(super) dynamic_patterns: HashSet<String>,
    /// Number of commands that were not understood.
    pub(super) skipped: usize,
}

impl RunningCall {
    pub(super) fn new(runtime: Arc<PluginRuntime>, mut call: HookCall) -> Self {
        let limits = &runtime.manifest.limits;
        let done = CallEffects {
            world: std::mem::take(&mut call.world),
            operations: Vec::new(),
            problems: Vec::new(),
            rolls: Vec::new(),
            notes: Vec::new(),
            warnings: Vec::new(),
            log: Vec::new(),
            log_left: limits.log,
            plan: PluginPromptPlan::default(),
            model_calls: Vec::new(),
            summary: None,
            bytes: ByteBudget::new(limits.result),
            refused: None,
            dynamic_patterns: HashSet::new(),
            skipped: 0,
        };
        Self { watch: LimitMonitor::start(limits), effects: Mutex::new(done), runtime, call }
    }

    pub(super) fn limits(&self) -> &ScriptLimits {
        &self.runtime.manifest.limits
    }

    pub(super) fn effects(&self) -> MutexGuard<'_, CallEffects> {
        self.effects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a line of `print` or `debug`, while the log has room.
    pub(super) fn log(&self, line: &str) {
        let mut done = self.effects();
        let cost = line.len() + 1;
        match done.log_left.checked_sub(cost) {
            Some(left) => {
                done.log_left = left;
                done.log.push(line.to_owned());
            }
            None if done.log_left > 0 => {
                done.log_left = 0;
                done.log.push("… the log is full".to_owned());
            }
            None => {}
        }
    }

    /// Takes the effects as the outcome of a successful call, and the message of a refusal.
    pub(super) fn take_outcome(&self) -> (HookOutcome, Option<String>) {
        let mut done = self.effects();
        let mut outcome = HookOutcome::empty(std::mem::take(&mut done.world));
        outcome.operations = std::mem::take(&mut done.operations);
        outcome.problems = std::mem::take(&mut done.problems);
        outcome.rolls = std::mem::take(&mut done.rolls);
        outcome.notes = std::mem::take(&mut done.notes);
        outcome.warnings = std::mem::take(&mut done.warnings);
        outcome.log = std::mem::take(&mut done.log);
        outcome.plan = std::mem::take(&mut done.plan);
        outcome.model_calls = std::mem::take(&mut done.model_calls);
        outcome.summary = done.summary.take();
        (outcome, done.refused.take())
    }

    /// Resolves a script's path: relative to the plugin's root, or absolute with a leading slash.
    fn resolve(&self, function: &str, path: &str) -> Result<Pointer, RhaiThrow> {
        let root = &self.runtime.manifest.state.root;
        let malformed = |why: String| throw(ScriptErrorKind::Runtime, format!("{function}(\"{path}\"): {why}"));
        if path.starts_with('/') {
            return path.parse().map_err(|error| malformed(format!("{error}")));
        }
        if path.is_empty() {
            return Ok(root.clone());
        }
        let inner: Pointer = format!("/{path}").parse().map_err(|error| malformed(format!("{error}")))?;
        if inner.keys().len() + root.keys().len() > MAX_DEPTH {
            return Err(malformed(format!("a path has at most {MAX_DEPTH} parts")));
        }
        Ok(Pointer::from_keys(root.keys().iter().chain(inner.keys()).cloned()))
    }

    fn may_read(&self, place: &Pointer) -> bool {
        let reads_all = || self.call.grants.contains(&Permission::StateRead);
        place.below(&self.runtime.manifest.state.root).is_some() || reads_all() || self.may_write(place)
    }

    fn may_write(&self, place: &Pointer) -> bool {
        let covers = |grant: &Permission| matches!(grant, Permission::StateWrite(root) if place.below(root).is_some());
        place.below(&self.runtime.manifest.state.root).is_some() || self.call.grants.iter().any(covers)
    }

    /// Resolves a path and checks that the plugin may read it.
    fn readable_pointer(&self, function: &str, path: &str) -> Result<Pointer, RhaiThrow> {
        let place = self.resolve(function, path)?;
        if self.may_read(&place) {
            return Ok(place);
        }
        let what = format!("{function}(\"{path}\"): reading outside the plugin's own values needs \"state.read:*\"");
        Err(throw(ScriptErrorKind::Permission, what))
    }

    fn require(&self, function: &str, permission: &Permission) -> Result<(), RhaiThrow> {
        if self.call.grants.contains(permission) {
            return Ok(());
        }
        Err(throw(ScriptErrorKind::Permission, format!("{function}: needs the permission \"{permission}\"")))
    }

    /// Checks the deadline before a slow native function; the engine's progress callback does not see inside those.
    fn check_time(&self) -> Result<(), RhaiThrow> {
        match self.watch.progress(self.watch.operations().next_multiple_of(16)) {
            Some(stop) => Err(super::host_fault::throw_stop(stop)),
            None => Ok(()),
        }
    }
}

/// Returns the module with all functions of `ctx`.
pub(super) fn module() -> Shared<Module> {
    register_all().0
}

/// Returns the documentation of all functions of `ctx`, in the order of registration.
pub(super) fn function_docs() -> Vec<FunctionDoc> {
    register_all().1
}

fn register_all() -> (Shared<Module>, Vec<FunctionDoc>) {
    let mut module = Module::new();
    module.set_id("clotho");
    module.set_custom_type::<Ctx>("Ctx");
    let mut surface = CtxSurface { module: &mut module, group: "", docs: Vec::new() };
    read::register(&mut surface);
    write::register(&mut surface);
    text::register(&mut surface);
    chance::register(&mut surface);
    prompt::register(&mut surface);
    model_call::register(&mut surface);
    summary::register(&mut surface);
    output::register(&mut surface);
    let described = surface.docs;
    module.build_index();
    (module.into(), described)
}

/// Documentation of one function or property, as registered.
#[derive(Debug, Clone)]
pub(super) struct FunctionDoc {
    /// Heading of its group in the reference.
    pub(super) group: &'static str,
    pub(super) name: String,
    /// Whether it is read without parentheses.
    pub(super) is_property: bool,
    /// Each as `name: type`; the value before the dot comes first.
    pub(super) params: Vec<String>,
    /// Type of the result.
    pub(super) result: String,
    pub(super) doc: String,
}

/// Registers functions with their parameters and documentation.
pub(super) struct CtxSurface<'m> {
    module: &'m mut Module,
    group: &'static str,
    docs: Vec<FunctionDoc>,
}

impl CtxSurface<'_> {
    /// Sets the group heading for the functions registered next.
    fn begin_group(&mut self, name: &'static str) {
        self.group = name;
    }

    /// Registers a function: its name, its parameters as `name: type` followed by the result type, and a line of
    /// documentation.
    pub(super) fn function<A: 'static, const N: usize, const X: bool, R, const F: bool>(
        &mut self,
        name: &str,
        params: &[&str],
        doc: &str,
        function: impl RhaiNativeFunc<A, N, X, R, F> + Send + Sync + 'static,
    ) where
        R: Variant + Clone,
    {
        self.describe(name, false, params, doc);
        self.register_function(FuncRegistration::new(name), params, doc, function);
    }

    /// Registers a read-only property.
    fn property<A: 'static, const N: usize, const X: bool, R, const F: bool>(
        &mut self,
        name: &str,
        result: &str,
        doc: &str,
        function: impl RhaiNativeFunc<A, N, X, R, F> + Send + Sync + 'static,
    ) where
        R: Variant + Clone,
    {
        self.describe(name, true, &["ctx: Ctx", result], doc);
        self.register_function(FuncRegistration::new_getter(name), &["ctx: Ctx", result], doc, function);
    }

    fn describe(&mut self, name: &str, is_property: bool, params: &[&str], doc: &str) {
        let Some((result, params)) = params.split_last() else { return };
        self.docs.push(FunctionDoc {
            group: self.group,
            name: name.to_owned(),
            is_property,
            params: params.iter().map(|param| (*param).to_owned()).collect(),
            result: (*result).to_owned(),
            doc: doc.to_owned(),
        });
    }

    fn register_function<A: 'static, const N: usize, const X: bool, R, const F: bool>(
        &mut self,
        registration: FuncRegistration,
        params: &[&str],
        doc: &str,
        function: impl RhaiNativeFunc<A, N, X, R, F> + Send + Sync + 'static,
    ) where
        R: Variant + Clone,
    {
        registration
            .in_global_namespace()
            .with_params_info(params)
            .with_comments([format!("/// {doc}")])
            .set_into_module(self.module, function);
    }
}
