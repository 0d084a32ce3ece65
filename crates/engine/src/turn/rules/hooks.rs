//! Running one hook of every plugin in force, in order: each sees the world with the earlier ones' operations folded in;
//! one plugin's failure drops only its own (`docs/modders.md`).

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value, json};
use tokio::runtime::Handle;

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

/// Who operations are by that the server itself makes.
pub const SERVER: &str = "server";

/// So many model calls the plugins of one message may ask for together.
const MAX_ASKS: usize = 4;
/// So many summaries they may propose together.
const MAX_SUMMARIES: usize = 4;

/// A plugin that plays, with its settings and grants as they are in force.
#[derive(Debug, Clone)]
pub struct ActivePlugin {
    /// The plugin.
    pub plugin: Arc<LoadedPlugin>,
    /// Its settings and grants.
    pub in_force: PluginRecord,
    /// The version of its values as they are, where they are carried over.
    pub from: u32,
}

impl ActivePlugin {
    /// Whether it was granted a permission.
    pub fn has_permission(&self, permission: &Permission) -> bool {
        self.in_force.grants.iter().any(|grant| grant.parse().as_ref() == Ok(permission))
    }
}

/// What all hooks at one node share.
#[derive(Clone)]
pub struct HookContext {
    /// The session.
    pub session: SessionId,
    /// The plugins, in any order.
    pub plugins: Vec<ActivePlugin>,
    /// The schemas in force.
    pub rules: Arc<SchemaSet>,
    /// The world before the node.
    pub world: Arc<World>,
    /// The text the hooks are about.
    pub text: Arc<str>,
    /// The role of its author.
    pub role: &'static str,
    /// The user's name.
    pub user: String,
    /// The character's name.
    pub character: String,
    /// The node.
    pub node: HookNodeInfo,
    /// The messages before it, oldest first.
    pub recent: Arc<[RecentMessage]>,
    /// Where dice come from.
    pub seeds: DiceSeeds,
    /// What fell when an earlier version of the node was made: it falls the same way again.
    pub recorded: Arc<[Roll]>,
    /// What came of a model call, where plugins read that.
    pub answer: Option<ModelCallAnswer>,
    /// What lorebooks say that values begin with; only `init` is told.
    pub initial_values: Arc<[InitVarText]>,
    /// Replies from the root to the place below which the node stands; 0 where no rule asks.
    pub replies: u64,
    /// Whether the message is only a command that a plugin answers: rules that count turns do not count it.
    pub is_command_only: bool,
}

/// What the hooks of one node proposed together.
#[derive(Debug, Clone, Default)]
pub struct HookProposal {
    /// Operations, rolls, notes, problems and the record of each run.
    pub delta: Delta,
    /// The world after it. While a hook runs, the hook has it.
    pub world: Arc<World>,
    /// The world before it.
    world_before: Arc<World>,
    /// What each plugin answered, in the order in which they ran.
    pub answers: Vec<(String, HookAnswer)>,
    /// The models that plugins want asked when the node is written.
    pub asks: Vec<(String, PluginModelCall)>,
    /// The summaries that plugins propose, to be kept with the node.
    pub summaries: Vec<(String, SummaryProposal)>,
}

impl HookProposal {
    /// One that begins with a world.
    pub fn starting_at(world: Arc<World>) -> Self {
        Self { world_before: Arc::clone(&world), world, ..Self::default() }
    }

    /// Lends the world to a call.
    fn take_world(&mut self) -> Arc<World> {
        std::mem::take(&mut self.world)
    }

    /// Takes the world back. What a call that failed has written there is of no account: the world is made once more of what was
    /// proposed before.
    fn return_world(&mut self, world: Option<Arc<World>>, rules: &SchemaSet) {
        let (world, missing): (Arc<World>, &[StateOperation]) = match world {
            Some(world) => (world, &[]),
            None => (Arc::clone(&self.world_before), &self.delta.operations),
        };
        self.world = world;
        // What is computed is there from the beginning, whether or not anybody has written.
        if rules.has_computed() || !missing.is_empty() {
            fold(Arc::make_mut(&mut self.world), missing, rules);
        }
    }

    /// What the server itself does before any hook, as what macros of the prompt wrote: folded as what they propose is.
    pub fn apply_first(&mut self, operations: Vec<StateOperation>, rules: &SchemaSet) {
        let problems = fold(Arc::make_mut(&mut self.world), &operations, rules);
        let mut own = Delta { operations, ..Delta::default() };
        own.record_problems(&problems);
        self.delta.operations.extend(own.operations);
        self.delta.problems.extend(own.problems);
        self.delta.notes.extend(own.notes);
    }
}

/// Runs hooks, and remembers which plugin ran into its limits too often in which session.
pub struct HookRunner {
    host: Arc<dyn ScriptHost>,
    violations: ViolationCounter,
    /// What they have cost.
    pub metrics: HookMetrics,
    /// Where those wait who cannot wait otherwise.
    runtime: Handle,
    /// Failures of read-only hooks that the log has already.
    logged: Mutex<HashSet<(String, ScriptErrorKind)>>,
}

impl HookRunner {
    /// Hooks run by a host, for the sessions of a store.
    pub fn new(host: Arc<dyn ScriptHost>, store: Arc<Store>, runtime: Handle) -> Self {
        Self {
            host,
            violations: ViolationCounter::new(store),
            metrics: HookMetrics::default(),
            runtime,
            logged: Mutex::default(),
        }
    }

    /// Runs `hook` of every plugin on the stage, after what `so_far` holds already.
    pub async fn run(&self, hook: Hook, stage: &HookContext, so_far: HookProposal) -> HookProposal {
        let mut proposal = so_far;
        for player in in_order(&stage.plugins) {
            self.one(hook, stage, &player, &mut proposal).await;
            self.run_manifest_rules(hook, stage, &player, &mut proposal).await;
        }
        proposal
    }

    /// Runs `hook` of one plugin and takes what it proposes.
    pub async fn one(&self, hook: Hook, stage: &HookContext, player: &ActivePlugin, proposal: &mut HookProposal) {
        if !player.plugin.has(hook) {
            return;
        }
        if self.is_disabled(stage.session, &player.plugin).await {
            let off = violations::off(player.plugin.id());
            // It may have been said of another hook of the same node.
            if !proposal.delta.problems.contains(&off) {
                proposal.delta.problems.push(off);
            }
            return;
        }
        let call = hook_call(hook, stage, player, proposal.take_world());
        let outcome = self.host.call(Arc::clone(&player.plugin), call).await;
        self.record_call(hook, stage, player, &outcome);
        take_outcome(hook, stage, player, outcome, proposal);
    }

    /// Runs `hook` of one plugin that only looks at what was read. `None` = the plugin is switched off.
    pub async fn run_read_only(
        &self,
        hook: Hook,
        stage: &HookContext,
        player: &ActivePlugin,
        world: &Arc<World>,
    ) -> Option<HookOutcome> {
        if self.is_disabled(stage.session, &player.plugin).await {
            return None;
        }
        let outcome =
            self.host.call(Arc::clone(&player.plugin), hook_call(hook, stage, player, Arc::clone(world))).await;
        self.record_call(hook, stage, player, &outcome);
        Some(outcome)
    }

    /// The same from a thread that reads the database, which waits for it there: what is read and what the hook says belong to
    /// one snapshot.
    ///
    /// # Errors
    /// The database fails.
    pub fn run_read_only_here(
        &self,
        reader: &mut StoreReader<'_>,
        hook: Hook,
        stage: &HookContext,
        player: &ActivePlugin,
        world: &Arc<World>,
    ) -> Result<Option<HookOutcome>, StoreError> {
        if self.violations.is_disabled_here(reader, stage.session, &player.plugin)? {
            return Ok(None);
        }
        let call = hook_call(hook, stage, player, Arc::clone(world));
        let outcome = self.runtime.block_on(self.host.call(Arc::clone(&player.plugin), call));
        self.record_call(hook, stage, player, &outcome);
        Ok(Some(outcome))
    }

    /// Counts a call, and tells the host of its failure; of what is asked with every look once.
    fn record_call(&self, hook: Hook, stage: &HookContext, player: &ActivePlugin, outcome: &HookOutcome) {
        let id = player.plugin.id();
        self.violations.record(stage.session, &player.plugin, hook, outcome.hit_limit());
        self.metrics.record(id, hook, outcome);
        if let Some(error) = &outcome.error
            && (hook.may_write() || self.is_new_failure(id, error.kind))
        {
            log_error(stage, error);
        }
    }

    /// Runs `hook` of one plugin for its author, who looks: neither a strike nor a line in the log comes of it.
    pub async fn aside(
        &self,
        hook: Hook,
        stage: &HookContext,
        player: &ActivePlugin,
        world: Arc<World>,
    ) -> HookOutcome {
        let call = hook_call(hook, stage, player, world);
        self.host.call(Arc::clone(&player.plugin), call).await
    }

    /// Calls a tool of one plugin for its author, as quietly as [`HookRunner::aside`].
    pub async fn try_tool(
        &self,
        tool: ToolInvocation,
        stage: &HookContext,
        player: &ActivePlugin,
        world: Arc<World>,
    ) -> HookOutcome {
        let call = HookCall { tool: Some(tool), ..hook_call(Hook::Tool, stage, player, world) };
        self.host.call(Arc::clone(&player.plugin), call).await
    }

    /// Runs `hook` of one plugin and its rules once more for a line that is replayed, as a turn would, and is as quiet as
    /// [`HookRunner::aside`].
    pub async fn again(
        &self,
        hook: Hook,
        stage: &HookContext,
        player: &ActivePlugin,
        proposal: &mut HookProposal,
    ) -> Option<ScriptError> {
        let mut error = None;
        if player.plugin.has(hook) {
            let outcome = self.aside(hook, stage, player, proposal.take_world()).await;
            error.clone_from(&outcome.error);
            take_outcome(hook, stage, player, outcome, proposal);
        }
        self.run_manifest_rules(hook, stage, player, proposal).await;
        error
    }

    /// Lets a model use a tool of a plugin; what it does goes to the proposal. Answers what the model is told.
    ///
    /// # Errors
    /// Why nothing was done, in words for the model.
    pub async fn call_tool(
        &self,
        stage: &HookContext,
        player: &ActivePlugin,
        tool: ToolInvocation,
        proposal: &mut HookProposal,
    ) -> Result<Value, String> {
        if self.is_disabled(stage.session, &player.plugin).await {
            return Err("this tool is switched off".to_owned());
        }
        let asked = tool.arguments.clone();
        let call = HookCall { tool: Some(tool), ..hook_call(Hook::Tool, stage, player, proposal.take_world()) };
        let (name, dice) = (call.function(), call.roll_name());
        let outcome = self.host.call(Arc::clone(&player.plugin), call).await;
        self.record_call(Hook::Tool, stage, player, &outcome);
        let failed = outcome.error.as_ref().map(|error| error.message.clone());
        take_outcome(Hook::Tool, stage, player, outcome, proposal);
        let answer = match (failed, proposal.answers.pop()) {
            (Some(why), _) => Err(why),
            (None, Some((_, HookAnswer::Value(value)))) => Ok(value),
            (None, Some((_, HookAnswer::Refused(why)))) => Err(why),
            (None, _) => Ok(Value::Null),
        };
        if let Some(Value::Object(run)) = proposal.delta.runs.last_mut() {
            run.insert("hook".into(), name.into());
            run.insert("dice".into(), dice.into());
            run.insert("arguments".into(), asked);
            let (key, told) = match &answer {
                Ok(value) => ("answer", value.clone()),
                Err(why) => ("refused", why.as_str().into()),
            };
            run.insert(key.into(), told);
        }
        answer
    }

    pub(in crate::turn) async fn is_disabled(&self, session: SessionId, plugin: &LoadedPlugin) -> bool {
        self.violations.is_disabled(session, plugin).await.unwrap_or_else(|error| {
            tracing::error!(%session, plugin = plugin.id(), "what was recorded of a plugin cannot be read: {error}");
            false
        })
    }

    /// Whether a plugin is switched off in a session, for a thread that reads already.
    ///
    /// # Errors
    /// The database fails.
    pub fn is_disabled_here(
        &self,
        reader: &mut StoreReader<'_>,
        session: SessionId,
        plugin: &LoadedPlugin,
    ) -> Result<bool, StoreError> {
        self.violations.is_disabled_here(reader, session, plugin)
    }

    /// The plugins that are known to be switched off in a session.
    pub fn known_disabled(&self, session: SessionId) -> Vec<String> {
        self.violations.known_disabled(session)
    }

    /// Whether the log does not have a failure yet: one of a hook that only reads comes again with every look.
    fn is_new_failure(&self, plugin: &str, kind: ScriptErrorKind) -> bool {
        self.logged.lock().unwrap_or_else(PoisonError::into_inner).insert((plugin.to_owned(), kind))
    }

    /// Forgets the strikes of those plugins of a session whose code is another one now.
    pub fn reset_changed_plugins(&self, session: SessionId, before: &[PluginRecord], now: &[PluginRecord]) {
        let is_new =
            |plugin: &&PluginRecord| before.iter().any(|old| old.id == plugin.id && old.code_hash != plugin.code_hash);
        now.iter().filter(is_new).for_each(|plugin| self.violations.reset_plugin(session, &plugin.id));
    }

    /// Forgets the strikes of a session: its plugins were set anew.
    pub fn reset_violations(&self, session: SessionId) {
        self.violations.reset_session(session);
    }
}

/// The order in which plugins run: each after those its manifest names, else by id.
pub fn in_order(players: &[ActivePlugin]) -> Vec<ActivePlugin> {
    let plugins: Vec<Arc<LoadedPlugin>> = players.iter().map(|player| Arc::clone(&player.plugin)).collect();
    let find = |plugin: Arc<LoadedPlugin>| players.iter().find(|player| player.plugin.id() == plugin.id()).cloned();
    load_order(&plugins).into_iter().filter_map(find).collect()
}

fn hook_call(hook: Hook, stage: &HookContext, player: &ActivePlugin, world: Arc<World>) -> HookCall {
    let config = &player.in_force.config;
    let language = config.get("language").and_then(Value::as_str).unwrap_or("en").to_owned();
    let grants: Vec<Permission> = player.in_force.grants.iter().filter_map(|grant| grant.parse().ok()).collect();
    let others = stage.plugins.iter().filter(|other| other.plugin.id() != player.plugin.id());
    let command_of = (hook == Hook::OnInput).then(|| command_of(stage, player)).flatten();
    HookCall {
        command_plugin: command_of,
        before: Arc::clone(&stage.world),
        foreign_roots: others.map(|other| other.plugin.manifest().state.root.clone()).collect(),
        config: Arc::new(config.clone()),
        grants: grants.into(),
        text: Arc::clone(&stage.text),
        role: stage.role.to_owned(),
        user: stage.user.clone(),
        character: stage.character.clone(),
        node: stage.node.clone(),
        recent: Arc::clone(&stage.recent),
        seeds: stage.seeds,
        recorded_rolls: Arc::clone(&stage.recorded),
        answer: stage.answer.clone(),
        starts: Arc::clone(&stage.initial_values),
        from: player.from,
        language,
        ..HookCall::new(hook, world, Arc::clone(&stage.rules))
    }
}

/// Who gets the command that the text begins with, where another plugin has it too: the first in the order in which they run.
fn command_of(stage: &HookContext, player: &ActivePlugin) -> Option<String> {
    let typed = SlashCommand::parse(&stage.text)?;
    let has = |player: &&ActivePlugin| {
        player.plugin.has(Hook::OnInput) && player.plugin.manifest().command(typed.word).is_some()
    };
    let others = stage.plugins.iter().filter(|other| other.plugin.id() != player.plugin.id());
    let having: Vec<ActivePlugin> = std::iter::once(player).chain(others).filter(has).cloned().collect();
    let first = in_order(&having).first()?.plugin.id().to_owned();
    (has(&player) && first != player.plugin.id()).then_some(first)
}

/// Puts an outcome into the proposal.
fn take_outcome(
    hook: Hook,
    stage: &HookContext,
    player: &ActivePlugin,
    outcome: HookOutcome,
    proposal: &mut HookProposal,
) {
    let id = player.plugin.id().to_owned();
    let said = outcome.notes.iter().map(|text| NodeNote { plugin: id.clone(), text: text.clone() }).collect();
    let mut run = run_record(hook, player, &outcome);
    if let Some(ModelCallAnswer { name, text, error, turn }) = stage.answer.as_ref().filter(|_| hook == Hook::OnAnswer)
    {
        run.insert("answer".into(), json!({"name": name, "text": text, "error": error, "turn": turn}));
    }
    proposal.return_world(outcome.world, &stage.rules);
    let mut own = Delta { operations: outcome.operations, notes: said, ..Delta::default() };
    own.record_problems(&visible_problems(&outcome.problems, &proposal.world, &stage.rules, &mut run));
    let counts = [("ops", own.operations.len()), ("rolls", outcome.rolls.len()), ("notes", outcome.notes.len())];
    run.extend(counts.into_iter().map(|(key, count)| (key.to_owned(), count.into())));
    own.problems.extend(take_asks(player, outcome.asks, &mut run, &mut proposal.asks));
    own.problems.extend(take_summary(player, outcome.summary, &mut run, &mut proposal.summaries));
    proposal.delta.runs.push(run.into());
    own.problems.extend(outcome.error.as_ref().map(|error| failed(&id, error)));
    proposal.delta.operations.extend(own.operations);
    proposal.delta.problems.extend(own.problems);
    proposal.delta.rolls.extend(outcome.rolls.iter().map(roll_json));
    proposal.delta.notes.extend(own.notes);
    proposal.answers.push((id, outcome.answer));
}

/// What the fold said of what everybody may see. Of what the world hides the record of the run tells, for who makes the rules.
pub(in crate::turn) fn visible_problems(
    problems: &[Problem],
    world: &World,
    rules: &SchemaSet,
    run: &mut Map<String, Value>,
) -> Vec<Problem> {
    let (hidden, shown): (Vec<Problem>, Vec<Problem>) =
        problems.iter().cloned().partition(|problem| rules.hides(world, &problem.path));
    if !hidden.is_empty() {
        run.insert("hidden".into(), hidden.into_iter().map(|problem| Value::from(problem.message)).collect());
    }
    shown
}

/// Takes what a plugin wants asked, as far as one node may ask, and tells the record of the run. Answers with what is wrong.
fn take_asks(
    player: &ActivePlugin,
    asks: Vec<PluginModelCall>,
    run: &mut Map<String, Value>,
    all: &mut Vec<(String, PluginModelCall)>,
) -> Option<NodeProblem> {
    if asks.is_empty() {
        return None;
    }
    let id = player.plugin.id();
    let trouble = |message: String| NodeProblem { code: "plugin_ask".into(), message, plugin: Some(id.to_owned()) };
    run.insert("asks".into(), asks.iter().map(PluginModelCall::to_json).collect());
    if !player.plugin.has(Hook::OnAnswer) {
        return Some(trouble("it asks a model and has no on_answer(ctx) to read what comes: nobody was asked".into()));
    }
    let surplus = (all.len() + asks.len()).saturating_sub(MAX_ASKS);
    let taken = asks.len().saturating_sub(surplus);
    all.extend(asks.into_iter().take(taken).map(|ask| (id.to_owned(), ask)));
    let message = || format!("the plugins of one message may ask {MAX_ASKS} times together: {surplus} were left out");
    (surplus > 0).then(|| trouble(message()))
}

/// Takes the summary that a plugin proposes, as far as one node may have them, and tells the record of the run. Answers with what
/// is wrong.
fn take_summary(
    player: &ActivePlugin,
    summary: Option<SummaryProposal>,
    run: &mut Map<String, Value>,
    all: &mut Vec<(String, SummaryProposal)>,
) -> Option<NodeProblem> {
    let summary = summary?;
    run.insert("summary".into(), summary.to_json());
    let plugin = player.plugin.id().to_owned();
    if all.len() >= MAX_SUMMARIES {
        let message =
            format!("the plugins of one message may propose {MAX_SUMMARIES} summaries together: this was left out");
        return Some(NodeProblem { code: "plugin_summary".into(), message, plugin: Some(plugin) });
    }
    all.push((plugin, summary));
    None
}

/// The record of a run: who, what it said to its author, what it cost, how it failed.
pub fn run_record(hook: Hook, player: &ActivePlugin, outcome: &HookOutcome) -> Map<String, Value> {
    let (manifest, usage) = (player.plugin.manifest(), outcome.usage);
    let told = [
        ("plugin", json!(manifest.id)),
        ("version", json!(manifest.version.to_string())),
        ("hook", json!(hook.name())),
        ("warnings", json!(outcome.warnings)),
        ("log", json!(outcome.log)),
        ("micros", json!(usage.micros)),
        ("operations", json!(usage.operations)),
        ("error", json!(outcome.error.as_ref().map(error_json))),
    ];
    told.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// A failure, as a problem of the node.
pub fn failed(plugin: &str, error: &ScriptError) -> NodeProblem {
    let code = format!("plugin_{}", error.kind.word());
    NodeProblem { code, message: error.message.clone(), plugin: Some(plugin.to_owned()) }
}

/// What failed and where, for the host: never the script's own words, in which people's may be.
fn log_error(stage: &HookContext, error: &ScriptError) {
    let (session, node, kind) = (stage.session, &stage.node.id, error.kind.word());
    let ScriptError { plugin, hook, file, line, .. } = error;
    tracing::warn!(%session, node, plugin, hook, code = format!("plugin_{kind}"), file, line, "a plugin failed");
}

fn roll_json(roll: &Roll) -> Value {
    json!({
        "plugin": roll.plugin, "hook": roll.hook, "n": roll.n, "spec": roll.spec, "dice": roll.dice,
        "total": roll.total,
    })
}

/// What a narrator or a tool did while a reply was written: it stays the deed of every edited version, because an edit changes words and
/// not what happened. The world after it is folded here, under the rules in force before the reply.
pub fn streamed_proposal(old: &Delta, world: Arc<World>, rules: &SchemaSet) -> HookProposal {
    let mut proposal = HookProposal::starting_at(world);
    // What the prompt did is a fact of the prompt, whatever becomes of the words.
    let (own, of_plugins): (Vec<StateOperation>, Vec<StateOperation>) =
        old.operations.iter().cloned().partition(|operation| operation.by == SERVER);
    proposal.apply_first(own, rules);
    let count = |run: &Value, what: &str| run.get(what).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
    let all: Option<usize> = old.runs.iter().map(|run| count(run, "ops")).sum();
    // A reply that failed has runs and no operations: it changed no world, and its edited version begins with none.
    if all != Some(of_plugins.len()) {
        return proposal;
    }
    let (mut operations, mut told) = (of_plugins.iter(), Vec::new());
    for run in &old.runs {
        let own: Vec<StateOperation> = operations.by_ref().take(count(run, "ops").unwrap_or(0)).cloned().collect();
        let hook = run.get("hook").and_then(Value::as_str).unwrap_or_default();
        let is_deed = hook == Hook::Narrate.name() || hook.starts_with(TOOL_PREFIX);
        if is_deed && run.get("error").is_none_or(Value::is_null) {
            told.extend(own);
            proposal.delta.runs.push(run.clone());
            keep_run(old, run, count(run, "notes").unwrap_or(0), &mut proposal.delta);
        }
    }
    proposal.apply_first(told, rules);
    proposal
}

/// The dice and notes of one run. Who writes speaks first: these notes come before those of `on_reply`.
fn keep_run(old: &Delta, run: &Value, notes: usize, kept: &mut Delta) {
    let name = run.get("dice").or(run.get("hook"));
    let is_own = |roll: &&Value| roll.get("hook") == name && roll.get("plugin") == run.get("plugin");
    kept.rolls.extend(old.rolls.iter().filter(is_own).cloned());
    let plugin = run.get("plugin").and_then(Value::as_str);
    let is_said = |note: &&NodeNote| Some(note.plugin.as_str()) == plugin;
    let before = kept.notes.iter().filter(is_said).count();
    kept.notes.extend(old.notes.iter().filter(is_said).skip(before).take(notes).cloned());
}

/// What came of the model call whose answer a plugin read at a node.
pub fn recorded_answer(delta: &Delta, plugin: &str) -> Option<ModelCallAnswer> {
    let is_own = |run: &&Value| {
        run.get("plugin").and_then(Value::as_str) == Some(plugin)
            && run.get("hook").and_then(Value::as_str) == Some(Hook::OnAnswer.name())
    };
    let answer = delta.runs.iter().find(is_own)?.get("answer")?;
    let word = |key: &str| answer.get(key).and_then(Value::as_str).map(str::to_owned);
    let turn = answer.get("turn").and_then(Value::as_u64).unwrap_or(0);
    Some(ModelCallAnswer { name: word("name")?, text: word("text")?, error: word("error"), turn })
}

/// Marks the runs of those who answered a message that was only a command of theirs.
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

/// Whether a message was only a command that a plugin answered.
pub fn is_command_only(delta: &Delta) -> bool {
    delta.runs.iter().any(|run| run.get("answered") == Some(&Value::Bool(true)))
}

/// The rolls of a delta, to be used again.
pub fn recorded_rolls(delta: &Delta) -> Arc<[Roll]> {
    delta.rolls.iter().filter_map(|roll| serde_json::from_value(roll.clone()).ok()).collect()
}

fn error_json(error: &ScriptError) -> Value {
    let stack = error.stack.iter().map(
        |frame| json!({"function": frame.function, "file": frame.file, "line": frame.line, "column": frame.column}),
    );
    json!({
        "plugin": error.plugin, "version": error.version, "file": error.file, "line": error.line,
        "column": error.column, "hook": error.hook, "node": error.node, "kind": error.kind.word(),
        "message": error.message, "stack": stack.collect::<Vec<_>>(), "opsDropped": error.ops_dropped,
    })
}
