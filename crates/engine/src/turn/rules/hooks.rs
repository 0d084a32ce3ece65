//! Runs one hook of every plugin in force, in order. Each sees the world with the operations of the earlier ones; a
//! failure drops only the plugin's own operations (`docs/modders.md`).

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;

use crate::turn::problem::{ToolRefusal, TurnProblem};
use clotho_core::coded_message::RenderedMessage;
use clotho_core::ids::SessionId;
use clotho_core::tree::{Delta, NodeNote, NodeProblem};
use clotho_core::world::{Problem, SchemaSet, StateOperation, World, fold};
use clotho_plugin::{
    DiceSeeds, Hook, HookAnswer, HookCall, HookNodeInfo, HookOutcome, InitVarText, LoadedPlugin, ModelCallAnswer,
    Permission, PluginModelCall, RecentMessage, Roll, ScriptError, ScriptErrorKind, ScriptHost, SlashCommand,
    SummaryProposal, TOOL_PREFIX, ToolInvocation, load_order,
};
use clotho_store::{PluginRecord, Store, StoreError, StoreReader};

use super::metrics::HookMetrics;
use super::violations::{self, ViolationCounter};

/// The author of operations made by the server itself.
pub const SERVER: &str = "server";

/// The maximum number of model calls that the plugins of one message may ask for together.
const MAX_ASKS: usize = 4;
/// The maximum number of summaries that they may propose together.
const MAX_SUMMARIES: usize = 4;

/// A plugin in force, with its settings and grants.
#[derive(Debug, Clone)]
pub struct ActivePlugin {
    pub plugin: Arc<LoadedPlugin>,
    /// Its settings and grants.
    pub in_force: PluginRecord,
    /// The version of its stored values, from which `migrate` converts.
    pub from_version: u32,
}

impl ActivePlugin {
    /// Returns whether a permission was granted.
    pub fn has_permission(&self, permission: &Permission) -> bool {
        self.in_force.grants.iter().any(|grant| grant.parse().as_ref() == Ok(permission))
    }
}

/// The context that all hooks at one node share.
#[derive(Clone)]
pub struct HookContext {
    pub session: SessionId,
    /// The plugins, in any order.
    pub plugins: Vec<ActivePlugin>,
    pub rules: Arc<SchemaSet>,
    /// The world before the node.
    pub world: Arc<World>,
    /// The text that the hooks read.
    pub text: Arc<str>,
    /// The role of its author.
    pub role: &'static str,
    pub user: String,
    pub character: String,
    pub node: HookNodeInfo,
    /// The messages before the node, oldest first.
    pub recent: Arc<[RecentMessage]>,
    /// The seeds of the dice.
    pub seeds: DiceSeeds,
    /// The rolls of an earlier version of the node, which are reused.
    pub recorded: Arc<[Roll]>,
    /// The answer of a model call, for `on_answer`.
    pub answer: Option<ModelCallAnswer>,
    /// The initial values from lorebooks; only for `init`.
    pub initial_values: Arc<[InitVarText]>,
    /// Replies from the root to the node's parent; 0 if no rule needs the count.
    pub replies: u64,
    /// Whether the message is only a command that a plugin answers; rules that count turns skip it.
    pub is_command_only: bool,
}

/// The combined proposals of the hooks of one node.
#[derive(Debug, Clone, Default)]
pub struct HookProposal {
    /// Operations, rolls, notes, problems and the record of each run.
    pub delta: Delta,
    /// The world after the operations. Empty while a hook runs, because the hook has it.
    pub world: Arc<World>,
    /// The world before the operations.
    world_before: Arc<World>,
    /// The answer of each plugin, in run order.
    pub answers: Vec<(String, HookAnswer)>,
    /// Model calls to make once the node is written.
    pub asks: Vec<(String, PluginModelCall)>,
    /// Summaries to store with the node.
    pub summaries: Vec<(String, SummaryProposal)>,
}

impl HookProposal {
    /// Creates an empty proposal for a world.
    pub fn starting_at(world: Arc<World>) -> Self {
        Self { world_before: Arc::clone(&world), world, ..Self::default() }
    }

    /// Lends the world to a call.
    fn take_world(&mut self) -> Arc<World> {
        std::mem::take(&mut self.world)
    }

    /// Takes the world back. After a failed call (`None`), discards its writes: rebuilds the world from the earlier
    /// proposals.
    fn return_world(&mut self, world: Option<Arc<World>>, rules: &SchemaSet) {
        let (world, missing): (Arc<World>, &[StateOperation]) = match world {
            Some(world) => (world, &[]),
            None => (Arc::clone(&self.world_before), &self.delta.operations),
        };
        self.world = world;
        // Computed values exist from the start, even if nothing was written.
        if rules.has_computed() || !missing.is_empty() {
            fold(Arc::make_mut(&mut self.world), missing, rules);
        }
    }

    /// Applies operations of the server before any hook, such as the writes of macros.
    pub fn apply_first(&mut self, operations: Vec<StateOperation>, rules: &SchemaSet) {
        let problems = fold(Arc::make_mut(&mut self.world), &operations, rules);
        let mut own = Delta { operations, ..Delta::default() };
        own.record_problems(&problems);
        self.delta.operations.extend(own.operations);
        self.delta.problems.extend(own.problems);
        self.delta.notes.extend(own.notes);
    }
}

/// Runs hooks, and counts limit violations by plugin and session.
pub struct HookRunner {
    host: Arc<dyn ScriptHost>,
    violations: ViolationCounter,
    /// What the hooks have cost.
    pub metrics: HookMetrics,
    /// Blocks on a hook for callers that are not async.
    runtime: Handle,
    /// Failures of read-only hooks that were logged already.
    logged: Mutex<HashSet<(String, ScriptErrorKind)>>,
}

impl HookRunner {
    /// Creates a runner for a script host and the sessions of a store.
    pub fn new(host: Arc<dyn ScriptHost>, store: Arc<Store>, runtime: Handle) -> Self {
        Self {
            host,
            violations: ViolationCounter::new(store),
            metrics: HookMetrics::default(),
            runtime,
            logged: Mutex::default(),
        }
    }

    /// Runs `hook` of every plugin of the context, on top of `so_far`.
    pub async fn run(&self, hook: Hook, context: &HookContext, so_far: HookProposal) -> HookProposal {
        let mut proposal = so_far;
        for active in sort_by_dependency(&context.plugins) {
            self.run_plugin(hook, context, &active, &mut proposal).await;
            self.run_manifest_rules(hook, context, &active, &mut proposal).await;
        }
        proposal
    }

    /// Runs `hook` of one plugin and adds what it proposes.
    pub async fn run_plugin(
        &self,
        hook: Hook,
        context: &HookContext,
        active: &ActivePlugin,
        proposal: &mut HookProposal,
    ) {
        if !active.plugin.has_hook(hook) {
            return;
        }
        if self.is_disabled(context.session, &active.plugin).await {
            let off = violations::disabled_problem(active.plugin.id());
            // Another hook of the same node may have reported it already.
            if !proposal.delta.problems.contains(&off) {
                proposal.delta.problems.push(off);
            }
            return;
        }
        let call = hook_call(hook, context, active, proposal.take_world());
        let outcome = self.host.call(Arc::clone(&active.plugin), call).await;
        self.record_call(hook, context, active, &outcome);
        take_outcome(hook, context, active, outcome, proposal);
    }

    /// Runs a read-only `hook` of one plugin. Returns `None` if the plugin is turned off.
    pub async fn run_read_only(
        &self,
        hook: Hook,
        context: &HookContext,
        active: &ActivePlugin,
        world: &Arc<World>,
    ) -> Option<HookOutcome> {
        if self.is_disabled(context.session, &active.plugin).await {
            return None;
        }
        let outcome =
            self.host.call(Arc::clone(&active.plugin), hook_call(hook, context, active, Arc::clone(world))).await;
        self.record_call(hook, context, active, &outcome);
        Some(outcome)
    }

    /// Like [`HookRunner::run_read_only`], on a database thread, which blocks: the hook and the data belong to one
    /// snapshot.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn run_read_only_blocking(
        &self,
        reader: &mut StoreReader<'_>,
        hook: Hook,
        context: &HookContext,
        active: &ActivePlugin,
        world: &Arc<World>,
    ) -> Result<Option<HookOutcome>, StoreError> {
        if self.violations.is_disabled_with_reader(reader, context.session, &active.plugin)? {
            return Ok(None);
        }
        let call = hook_call(hook, context, active, Arc::clone(world));
        let outcome = self.runtime.block_on(self.host.call(Arc::clone(&active.plugin), call));
        self.record_call(hook, context, active, &outcome);
        Ok(Some(outcome))
    }

    /// Counts a call and logs its failure. A failure of a read-only hook is logged only once.
    fn record_call(&self, hook: Hook, context: &HookContext, active: &ActivePlugin, outcome: &HookOutcome) {
        let id = active.plugin.id();
        self.violations.record(context.session, &active.plugin, hook, outcome.hit_limit());
        self.metrics.record(id, hook, outcome);
        if let Some(error) = &outcome.error
            && (hook.may_write() || self.is_new_failure(id, error.kind))
        {
            log_error(context, error);
        }
    }

    /// Runs `hook` of one plugin for a trial: counts no violation and logs nothing.
    pub async fn try_hook(
        &self,
        hook: Hook,
        context: &HookContext,
        active: &ActivePlugin,
        world: Arc<World>,
    ) -> HookOutcome {
        let call = hook_call(hook, context, active, world);
        self.host.call(Arc::clone(&active.plugin), call).await
    }

    /// Calls a tool of one plugin for a trial, as [`HookRunner::try_hook`] does.
    pub async fn try_tool(
        &self,
        tool: ToolInvocation,
        context: &HookContext,
        active: &ActivePlugin,
        world: Arc<World>,
    ) -> HookOutcome {
        let call = HookCall { tool: Some(tool), ..hook_call(Hook::Tool, context, active, world) };
        self.host.call(Arc::clone(&active.plugin), call).await
    }

    /// Runs `hook` of one plugin and its manifest rules for a replay, as a turn would, but counts and logs nothing, as
    /// [`HookRunner::try_hook`].
    pub async fn replay_hook(
        &self,
        hook: Hook,
        context: &HookContext,
        active: &ActivePlugin,
        proposal: &mut HookProposal,
    ) -> Option<ScriptError> {
        let mut error = None;
        if active.plugin.has_hook(hook) {
            let outcome = self.try_hook(hook, context, active, proposal.take_world()).await;
            error.clone_from(&outcome.error);
            take_outcome(hook, context, active, outcome, proposal);
        }
        self.run_manifest_rules(hook, context, active, proposal).await;
        error
    }

    /// Calls a tool of a plugin for a model and adds its effects to the proposal. Returns the answer for the model.
    ///
    /// # Errors
    /// Returns the reason why nothing was done.
    pub async fn call_tool(
        &self,
        context: &HookContext,
        active: &ActivePlugin,
        tool: ToolInvocation,
        proposal: &mut HookProposal,
    ) -> Result<Value, ToolRefusal> {
        if self.is_disabled(context.session, &active.plugin).await {
            return Err(ToolRefusal::ToolOff {});
        }
        let asked = tool.arguments.clone();
        let call = HookCall { tool: Some(tool), ..hook_call(Hook::Tool, context, active, proposal.take_world()) };
        let (name, dice) = (call.function(), call.roll_name());
        let outcome = self.host.call(Arc::clone(&active.plugin), call).await;
        self.record_call(Hook::Tool, context, active, &outcome);
        let failed = outcome.error.as_ref().map(|error| error.message.clone());
        take_outcome(Hook::Tool, context, active, outcome, proposal);
        let answer = match (failed, proposal.answers.pop()) {
            (Some(error), _) => Err(ToolRefusal::ToolFailed { error }),
            (None, Some((_, HookAnswer::Value(value)))) => Ok(value),
            (None, Some((_, HookAnswer::Refused(words)))) => Err(ToolRefusal::RefusedByTool { words }),
            (None, _) => Ok(Value::Null),
        };
        if let Some(Value::Object(run)) = proposal.delta.runs.last_mut() {
            run.insert("hook".into(), name.into());
            run.insert("dice".into(), dice.into());
            run.insert("arguments".into(), asked);
            match &answer {
                Ok(value) => {
                    run.insert("answer".into(), value.clone());
                }
                Err(refusal) => {
                    run.insert("refused".into(), refusal.to_string().into());
                    run.insert("refusal".into(), RenderedMessage::new(refusal).to_json());
                }
            }
        }
        answer
    }

    pub(in crate::turn) async fn is_disabled(&self, session: SessionId, plugin: &LoadedPlugin) -> bool {
        self.violations.is_disabled(session, plugin).await.unwrap_or_else(|error| {
            tracing::error!(%session, plugin = plugin.id(), "the stored operations of a plugin cannot be read: {error}");
            false
        })
    }

    /// Returns whether a plugin is turned off in a session, for callers that already have a reader.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn is_disabled_with_reader(
        &self,
        reader: &mut StoreReader<'_>,
        session: SessionId,
        plugin: &LoadedPlugin,
    ) -> Result<bool, StoreError> {
        self.violations.is_disabled_with_reader(reader, session, plugin)
    }

    /// Returns the plugins known to be turned off in a session.
    pub fn known_disabled(&self, session: SessionId) -> Vec<String> {
        self.violations.known_disabled(session)
    }

    /// Returns whether a failure was not logged yet. Read-only hooks fail again with every read.
    fn is_new_failure(&self, plugin: &str, kind: ScriptErrorKind) -> bool {
        self.logged.lock().unwrap_or_else(PoisonError::into_inner).insert((plugin.to_owned(), kind))
    }

    /// Resets the violations of the plugins of a session whose code has changed.
    pub fn reset_changed_plugins(&self, session: SessionId, before: &[PluginRecord], now: &[PluginRecord]) {
        let is_new =
            |plugin: &&PluginRecord| before.iter().any(|old| old.id == plugin.id && old.code_hash != plugin.code_hash);
        now.iter().filter(is_new).for_each(|plugin| self.violations.reset_plugin(session, &plugin.id));
    }

    /// Resets the violations of a session, because its plugins were set anew.
    pub fn reset_violations(&self, session: SessionId) {
        self.violations.reset_session(session);
    }
}

/// Returns the plugins in run order: each after those that its manifest names, else by id.
pub fn sort_by_dependency(active_plugins: &[ActivePlugin]) -> Vec<ActivePlugin> {
    let plugins: Vec<Arc<LoadedPlugin>> = active_plugins.iter().map(|active| Arc::clone(&active.plugin)).collect();
    let find =
        |plugin: Arc<LoadedPlugin>| active_plugins.iter().find(|active| active.plugin.id() == plugin.id()).cloned();
    load_order(&plugins).into_iter().filter_map(find).collect()
}

fn hook_call(hook: Hook, context: &HookContext, active: &ActivePlugin, world: Arc<World>) -> HookCall {
    let config = &active.in_force.config;
    let language = config.get("language").and_then(Value::as_str).unwrap_or("en").to_owned();
    let grants: Vec<Permission> = active.in_force.grants.iter().filter_map(|grant| grant.parse().ok()).collect();
    let others = context.plugins.iter().filter(|other| other.plugin.id() != active.plugin.id());
    let command_of = (hook == Hook::OnInput).then(|| command_of(context, active)).flatten();
    HookCall {
        command_plugin: command_of,
        world_before: Arc::clone(&context.world),
        foreign_roots: others.map(|other| other.plugin.manifest().state.root.clone()).collect(),
        config: Arc::new(config.clone()),
        grants: grants.into(),
        text: Arc::clone(&context.text),
        role: context.role.to_owned(),
        user: context.user.clone(),
        character: context.character.clone(),
        node: context.node.clone(),
        recent: Arc::clone(&context.recent),
        seeds: context.seeds,
        recorded_rolls: Arc::clone(&context.recorded),
        answer: context.answer.clone(),
        initial_values: Arc::clone(&context.initial_values),
        from_version: active.from_version,
        language,
        ..HookCall::new(hook, world, Arc::clone(&context.rules))
    }
}

/// Returns the plugin that gets the command in the text, if it is another one than `active`: the first in run order.
fn command_of(context: &HookContext, active: &ActivePlugin) -> Option<String> {
    let typed = SlashCommand::parse(&context.text)?;
    let has = |active: &&ActivePlugin| {
        active.plugin.has_hook(Hook::OnInput) && active.plugin.manifest().command(typed.word).is_some()
    };
    let others = context.plugins.iter().filter(|other| other.plugin.id() != active.plugin.id());
    let having: Vec<ActivePlugin> = std::iter::once(active).chain(others).filter(has).cloned().collect();
    let first = sort_by_dependency(&having).first()?.plugin.id().to_owned();
    (has(&active) && first != active.plugin.id()).then_some(first)
}

/// Adds an outcome to the proposal.
fn take_outcome(
    hook: Hook,
    context: &HookContext,
    active: &ActivePlugin,
    outcome: HookOutcome,
    proposal: &mut HookProposal,
) {
    let id = active.plugin.id().to_owned();
    let notes = outcome.notes.iter().map(|text| NodeNote::of_plugin(&id, text)).collect();
    let mut run = run_record(hook, active, &outcome);
    if let Some(ModelCallAnswer { name, text, error, failure, turn }) =
        context.answer.as_ref().filter(|_| hook == Hook::OnAnswer)
    {
        let mut answer = json!({"name": name, "text": text, "error": error, "turn": turn});
        if let (Some(failure), Some(answer)) = (failure, answer.as_object_mut()) {
            answer.insert("failure".into(), failure.to_json());
        }
        run.insert("answer".into(), answer);
    }
    proposal.return_world(outcome.world, &context.rules);
    let mut own = Delta { operations: outcome.operations, notes, ..Delta::default() };
    own.record_problems(&visible_problems(&outcome.problems, &proposal.world, &context.rules, &mut run));
    let counts = [("ops", own.operations.len()), ("rolls", outcome.rolls.len()), ("notes", outcome.notes.len())];
    run.extend(counts.into_iter().map(|(key, count)| (key.to_owned(), count.into())));
    own.problems.extend(take_asks(active, outcome.model_calls, &mut run, &mut proposal.asks));
    own.problems.extend(take_summary(active, outcome.summary, &mut run, &mut proposal.summaries));
    proposal.delta.runs.push(run.into());
    own.problems.extend(outcome.error.as_ref().map(|error| script_problem(&id, error)));
    proposal.delta.operations.extend(own.operations);
    proposal.delta.problems.extend(own.problems);
    proposal.delta.rolls.extend(outcome.rolls.iter().map(roll_json));
    proposal.delta.notes.extend(own.notes);
    proposal.answers.push((id, outcome.answer));
}

/// Returns the problems that everybody may see. Those of hidden values go to the record of the run, for the author.
pub(in crate::turn) fn visible_problems(
    problems: &[Problem],
    world: &World,
    rules: &SchemaSet,
    run: &mut Map<String, Value>,
) -> Vec<Problem> {
    let (hidden, shown): (Vec<Problem>, Vec<Problem>) =
        problems.iter().cloned().partition(|problem| rules.hides(world, &problem.path));
    if !hidden.is_empty() {
        run.insert("hidden".into(), hidden.into_iter().map(|problem| Value::from(problem.to_string())).collect());
    }
    shown
}

/// Adds the model calls that a plugin asks for, up to the limit, and records them in the run. Returns a problem, if
/// any.
fn take_asks(
    active: &ActivePlugin,
    asks: Vec<PluginModelCall>,
    run: &mut Map<String, Value>,
    all: &mut Vec<(String, PluginModelCall)>,
) -> Option<NodeProblem> {
    if asks.is_empty() {
        return None;
    }
    let id = active.plugin.id();
    run.insert("asks".into(), asks.iter().map(PluginModelCall::to_json).collect());
    if !active.plugin.has_hook(Hook::OnAnswer) {
        return Some(TurnProblem::PluginAsk {}.for_plugin(id));
    }
    let surplus = (all.len() + asks.len()).saturating_sub(MAX_ASKS);
    let taken = asks.len().saturating_sub(surplus);
    all.extend(asks.into_iter().take(taken).map(|ask| (id.to_owned(), ask)));
    (surplus > 0).then(|| TurnProblem::PluginAsksLeftOut { most: MAX_ASKS, surplus }.for_plugin(id))
}

/// Adds the summary that a plugin proposes, up to the limit, and records it in the run. Returns a problem, if any.
fn take_summary(
    active: &ActivePlugin,
    summary: Option<SummaryProposal>,
    run: &mut Map<String, Value>,
    all: &mut Vec<(String, SummaryProposal)>,
) -> Option<NodeProblem> {
    let summary = summary?;
    run.insert("summary".into(), summary.to_json());
    let plugin = active.plugin.id().to_owned();
    if all.len() >= MAX_SUMMARIES {
        return Some(TurnProblem::PluginSummary { most: MAX_SUMMARIES }.for_plugin(&plugin));
    }
    all.push((plugin, summary));
    None
}

/// Returns the record of a run: plugin, log, costs and failure.
pub fn run_record(hook: Hook, active: &ActivePlugin, outcome: &HookOutcome) -> Map<String, Value> {
    let (manifest, usage) = (active.plugin.manifest(), outcome.usage);
    let facts = [
        ("plugin", json!(manifest.id)),
        ("version", json!(manifest.version.to_string())),
        ("hook", json!(hook.name())),
        ("warnings", json!(outcome.warnings)),
        ("log", json!(outcome.log)),
        ("micros", json!(usage.micros)),
        ("operations", json!(usage.operations)),
        ("error", json!(outcome.error.as_ref().map(error_json))),
    ];
    facts.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Returns a failure as a problem of the node.
pub fn script_problem(plugin: &str, error: &ScriptError) -> NodeProblem {
    let message = error.message.clone();
    let problem = match error.kind {
        ScriptErrorKind::Parse => TurnProblem::PluginParse { error: message },
        ScriptErrorKind::Runtime => TurnProblem::PluginRuntime { error: message },
        ScriptErrorKind::Limit => TurnProblem::PluginLimit { error: message },
        ScriptErrorKind::Permission => TurnProblem::PluginPermission { error: message },
        ScriptErrorKind::Schema => TurnProblem::PluginSchema { error: message },
        ScriptErrorKind::Host => TurnProblem::PluginHost { error: message },
    };
    problem.for_plugin(plugin)
}

/// Logs what failed and where. Never logs the script's message, which may contain user text.
fn log_error(context: &HookContext, error: &ScriptError) {
    let (session, node, kind) = (context.session, &context.node.id, error.kind.as_str());
    let ScriptError { plugin, hook, file, line, .. } = error;
    tracing::warn!(%session, node, plugin, hook, code = format!("plugin_{kind}"), file, line, "a plugin failed");
}

fn roll_json(roll: &Roll) -> Value {
    json!({
        "plugin": roll.plugin, "hook": roll.hook, "n": roll.n, "spec": roll.spec, "dice": roll.dice,
        "total": roll.total,
    })
}

/// Returns the operations of a delta that no plugin proposed: writes of macros, and the state of an imported message.
/// They stay, whatever the text of a new version is.
pub fn server_operations(old: &Delta) -> Vec<StateOperation> {
    old.operations.iter().filter(|operation| operation.by == SERVER).cloned().collect()
}

/// Returns what a narrator or a tool did while a reply was written. Every edited version keeps it, because an edit
/// changes words and not what happened. Folds the world after it under the rules in force before the reply.
pub fn streamed_proposal(old: &Delta, world: Arc<World>, rules: &SchemaSet) -> HookProposal {
    let mut proposal = HookProposal::starting_at(world);
    proposal.apply_first(server_operations(old), rules);
    let of_plugins = old.operations.iter().filter(|operation| operation.by != SERVER);
    let of_plugins: Vec<StateOperation> = of_plugins.cloned().collect();
    let count = |run: &Value, what: &str| run.get(what).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
    let all: Option<usize> = old.runs.iter().map(|run| count(run, "ops")).sum();
    // A failed reply has runs but no operations: it changed no world, and its edited version starts without any.
    if all != Some(of_plugins.len()) {
        return proposal;
    }
    let (mut operations, mut kept_operations) = (of_plugins.iter(), Vec::new());
    for run in &old.runs {
        let own: Vec<StateOperation> = operations.by_ref().take(count(run, "ops").unwrap_or(0)).cloned().collect();
        let hook = run.get("hook").and_then(Value::as_str).unwrap_or_default();
        let is_deed = hook == Hook::Narrate.name() || hook.starts_with(TOOL_PREFIX);
        if is_deed && run.get("error").is_none_or(Value::is_null) {
            kept_operations.extend(own);
            proposal.delta.runs.push(run.clone());
            keep_run(old, run, count(run, "notes").unwrap_or(0), &mut proposal.delta);
        }
    }
    proposal.apply_first(kept_operations, rules);
    proposal
}

/// Keeps the rolls and notes of one run. These notes come before those of `on_reply`.
fn keep_run(old: &Delta, run: &Value, notes: usize, delta: &mut Delta) {
    let name = run.get("dice").or(run.get("hook"));
    let is_own = |roll: &&Value| roll.get("hook") == name && roll.get("plugin") == run.get("plugin");
    delta.rolls.extend(old.rolls.iter().filter(is_own).cloned());
    let plugin = run.get("plugin").and_then(Value::as_str);
    let is_said = |note: &&NodeNote| Some(note.plugin.as_str()) == plugin;
    let before = delta.notes.iter().filter(is_said).count();
    delta.notes.extend(old.notes.iter().filter(is_said).skip(before).take(notes).cloned());
}

/// Returns the answer that a plugin read at a node, from the delta's runs.
pub fn recorded_answer(delta: &Delta, plugin: &str) -> Option<ModelCallAnswer> {
    let is_own = |run: &&Value| {
        run.get("plugin").and_then(Value::as_str) == Some(plugin)
            && run.get("hook").and_then(Value::as_str) == Some(Hook::OnAnswer.name())
    };
    let answer = delta.runs.iter().find(is_own)?.get("answer")?;
    let word = |key: &str| answer.get(key).and_then(Value::as_str).map(str::to_owned);
    let turn = answer.get("turn").and_then(Value::as_u64).unwrap_or(0);
    let failure = answer.get("failure").and_then(|failure| RenderedMessage::deserialize(failure).ok());
    Some(ModelCallAnswer { name: word("name")?, text: word("text")?, error: word("error"), failure, turn })
}

/// Marks the runs of plugins that answered a message which was only a command of theirs.
pub fn mark_command_only(delta: &mut Delta, by: &[String]) {
    for run in &mut delta.runs {
        let is_own = |id: &String| run.get("plugin").and_then(Value::as_str) == Some(id);
        let is_input = run.get("hook").and_then(Value::as_str) == Some(Hook::OnInput.name());
        if is_input
            && by.iter().any(is_own)
            && let Value::Object(run) = run
        {
            run.insert("answered".into(), true.into());
        }
    }
}

/// Returns whether a message was only a command that a plugin answered.
pub fn is_command_only(delta: &Delta) -> bool {
    delta.runs.iter().any(|run| run.get("answered") == Some(&Value::Bool(true)))
}

/// Returns the rolls of a delta, for reuse.
pub fn recorded_rolls(delta: &Delta) -> Arc<[Roll]> {
    delta.rolls.iter().filter_map(|roll| serde_json::from_value(roll.clone()).ok()).collect()
}

fn error_json(error: &ScriptError) -> Value {
    let stack = error.stack.iter().map(
        |frame| json!({"function": frame.function, "file": frame.file, "line": frame.line, "column": frame.column}),
    );
    json!({
        "plugin": error.plugin, "version": error.version, "file": error.file, "line": error.line,
        "column": error.column, "hook": error.hook, "node": error.node, "kind": error.kind.as_str(),
        "message": error.message, "stack": stack.collect::<Vec<_>>(), "opsDropped": error.ops_dropped,
    })
}
