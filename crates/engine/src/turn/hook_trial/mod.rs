//! Trials of hooks and tools: an author runs one on a message of a session, optionally with unsaved code. It runs as it
//! would there, with the recorded rolls. Nothing is written, and failures are no limit violations.
//!
//! `replay.rs` does this along a branch, and can write the result.

pub(super) mod replay;

use std::sync::Arc;

use serde_json::Value;

use clotho_core::ids::{NodeId, SessionId, UserId};
use clotho_core::tree::edit::TreeError;
use clotho_core::tree::{Delta, Kind, Node, Role};
use clotho_core::world::World;
use clotho_plugin::{
    Hook, HookAnswer, HookNodeInfo, HookOutcome, LoadedPlugin, ModelCallAnswer, Permission, ToolInvocation,
};
use clotho_store::{ActiveRules, PluginRecord, StoreReader};

use crate::turn::rules::RuleServices;
use crate::turn::rules::hooks::{self, ActivePlugin, HookContext};
use crate::turn::snapshot::{self, SnapshotQuery, TurnSnapshot};
use crate::turn::storage::TreeStorage;
use crate::turn::{TurnError, display, side_calls, tools};

/// A trial of a hook.
pub struct HookTrialSpec {
    /// The plugin, possibly with unsaved code.
    pub plugin: Arc<LoadedPlugin>,
    pub hook: Hook,
    /// For [`Hook::Tool`]: the name of the tool and its arguments.
    pub tool: Option<(String, Value)>,
    pub session: SessionId,
    pub node: NodeId,
    /// Replaces the text of the message.
    pub text: Option<String>,
}

/// The result of a trial.
pub struct HookTrialOutcome {
    pub outcome: HookOutcome,
    /// The world before the hook.
    pub world_before: Arc<World>,
}

/// Tries a hook or tool.
///
/// # Errors
/// Returns an error if the session or message does not exist or is not the caller's, the plugin has no such tool, its
/// settings are invalid, or the database fails.
pub async fn try_hook(
    storage: &TreeStorage,
    rule_services: &RuleServices,
    caller: UserId,
    trial: HookTrialSpec,
) -> Result<HookTrialOutcome, TurnError> {
    let query = SnapshotQuery::at_node(rule_services, caller, trial.session, trial.node);
    let hook = trial.hook;
    let place = storage.store.read(move |reader| read_position(reader, hook, &query)).await?;
    let mut set = hook_context(&trial.plugin, hook, &place)?;
    let mut world = Arc::clone(&place.snapshot.world);
    if place.reads_message && matches!(hook, Hook::OnReply | Hook::OnEdit) {
        world = hooks::streamed_proposal(&place.delta, world, &set.context.rules).world;
    }
    if let Some(text) = trial.text {
        set.context.text = Arc::from(text);
    }
    if hook == Hook::OnAnswer {
        let (text, turn) = (set.context.text.to_string(), set.context.node.turn);
        let answer = || ModelCallAnswer { text, turn, ..ModelCallAnswer::default() };
        set.context.answer = Some(hooks::recorded_answer(&place.delta, trial.plugin.id()).unwrap_or_else(answer));
    }
    let mut outcome = match trial.tool {
        Some((name, arguments)) => call_tool(rule_services, &set, &name, arguments, &world).await?,
        None => rule_services.hooks.try_hook(hook, &set.context, &set.plugin, Arc::clone(&world)).await,
    };
    if hook == Hook::OnDisplay && !display::is_displayable(&place.node) {
        let line = "plugins only change the display of complete replies and of greetings";
        outcome.warnings.push(line.to_owned());
    }
    Ok(HookTrialOutcome { outcome, world_before: world })
}

/// Calls a tool as a model would. Invalid arguments are refused with the message that the model would get.
async fn call_tool(
    rule_services: &RuleServices,
    set: &TrialHookContext,
    name: &str,
    mut arguments: Value,
    world: &Arc<World>,
) -> Result<HookOutcome, TurnError> {
    let manifest = set.plugin.plugin.manifest();
    let tool = manifest.tools.iter().find(|tool| tool.name == name).ok_or_else(|| {
        let names: Vec<&str> = manifest.tools.iter().map(|tool| tool.name.as_str()).collect();
        let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        TurnError::Invalid {
            field: "tool",
            message: format!("the plugin has no tool \"{name}\"; its tools are {there}"),
        }
    })?;
    let mut outcome = HookOutcome::empty(Arc::clone(world));
    let mut lines = Vec::new();
    match tools::repair_arguments(tool, &mut arguments) {
        Ok(mended) => {
            lines.extend(tools::repair_lines(&mended));
            let called = ToolInvocation { name: tool.name.clone(), arguments, earlier_calls: 0 };
            outcome = rule_services.hooks.try_tool(called, &set.context, &set.plugin, Arc::clone(world)).await;
        }
        Err(refusal) => outcome.answer = HookAnswer::Refused(refusal.to_string()),
    }
    if !set.plugin.has_permission(&Permission::Tools) {
        lines.push("models cannot use this tool here: the session does not grant \"tools\"".to_owned());
    }
    outcome.warnings.splice(0..0, lines);
    Ok(outcome)
}

/// A message and its surroundings.
pub(in crate::turn) struct TrialPosition {
    pub(in crate::turn) node: Node,
    pub(in crate::turn) delta: Delta,
    /// The snapshot at which the hook runs: the parent if the hook reads the message, else the message.
    pub(in crate::turn) snapshot: TurnSnapshot,
    /// Tags whose blocks are hidden.
    hide_tags: Vec<String>,
    /// Whether the hook reads the message.
    pub(in crate::turn) reads_message: bool,
    /// The world before the message.
    pub(in crate::turn) world_before: Arc<World>,
    /// The world after the message.
    pub(in crate::turn) world_after: Arc<World>,
}

/// Reads the position of a trial.
pub(in crate::turn) fn read_position(
    reader: &mut StoreReader<'_>,
    hook: Hook,
    query: &SnapshotQuery,
) -> Result<TrialPosition, TurnError> {
    let stored = reader.session(query.caller, query.session)?.ok_or(TreeError::NotFound("the session"))?;
    let placed = reader.node(&stored, query.node)?.ok_or(TreeError::NotFound("the message"))?;
    let (before, after) = (reader.world_before(&stored, &placed)?, reader.world(&stored, &placed)?);
    let (delta, node) = (reader.delta(&placed)?, placed.node);
    let reads = match hook {
        Hook::OnInput => Some(Role::User),
        Hook::OnReply | Hook::OnEdit | Hook::OnGreeting | Hook::Narrate | Hook::Tool => Some(Role::Assistant),
        _ => None,
    };
    let kind = if hook == Hook::OnGreeting { Kind::Greeting } else { Kind::Message };
    let is_own = reads == Some(node.role) && node.kind == kind;
    let parent = node.parent.filter(|_| is_own);
    let hide_tags = query.hide_tags.clone();
    let query = SnapshotQuery { node: parent.unwrap_or(node.id), ..query.clone() };
    let snapshot = snapshot::read_in(reader, stored, &query)?;
    // A narrator reads the message that it answers, which is the parent.
    let is_read = parent.is_some() && hook != Hook::Narrate;
    Ok(TrialPosition {
        node,
        delta,
        snapshot,
        hide_tags,
        reads_message: is_read,
        world_before: before,
        world_after: after,
    })
}

/// The arguments of a hook in a trial.
pub(in crate::turn) struct TrialHookContext {
    pub(in crate::turn) context: HookContext,
    pub(in crate::turn) plugin: ActivePlugin,
}

/// Builds the context of a hook at a position, with the plugin's own schema and the recorded rolls.
pub(in crate::turn) fn hook_context(
    plugin: &Arc<LoadedPlugin>,
    hook: Hook,
    place: &TrialPosition,
) -> Result<TrialHookContext, TurnError> {
    let TrialPosition { node, delta, snapshot, hide_tags, reads_message: is_read, world_before: before, .. } = place;
    let in_force = plugin_in_force(plugin, snapshot)?;
    let there = snapshot.rules.plugins.iter().find(|other| other.id == in_force.id);
    let from = there.map_or(in_force.state_version, |there| there.state_version);
    let others = snapshot.rules.plugins.iter().filter(|other| other.id != in_force.id).cloned();
    let together = others.chain([in_force.clone()]).collect();
    let invalid = |message| TurnError::Invalid { field: "plugin", message };
    let rules = ActiveRules::new(together).map_err(invalid)?;
    let facts = if *is_read {
        snapshot.next_node_facts(node.id, node.created, hook == Hook::OnInput)
    } else {
        node_facts(snapshot)
    };
    let mut hook_context = snapshot.hook_context(&rules, facts, node.dice_seed);
    if *is_read {
        hook_context.recorded = hooks::recorded_rolls(delta);
        hook_context.is_command_only = hooks::is_command_only(delta);
    }
    // A tool is called while the reply is written, so it reads the parent.
    if *is_read && hook != Hook::Tool {
        hook_context.role = node.role.as_str();
        hook_context.text =
            side_calls::with_values(hide_tags, node.role, &node.content, node.reasoning.is_some(), &node.metadata);
    } else if !*is_read {
        hook_context.world = Arc::clone(before);
    }
    Ok(TrialHookContext {
        context: hook_context,
        plugin: ActivePlugin { plugin: Arc::clone(plugin), in_force, from_version: from },
    })
}

/// Returns the facts of the snapshot's node.
fn node_facts(snapshot: &TurnSnapshot) -> HookNodeInfo {
    let at = &snapshot.at.node;
    let count = |n: i32| u64::try_from(n).unwrap_or(0);
    HookNodeInfo { id: at.id.to_string(), depth: count(at.depth), turn: count(at.turn), time: Some(at.created) }
}

/// Returns the plugin with its settings and grants at the snapshot, else with its defaults.
fn plugin_in_force(plugin: &LoadedPlugin, snapshot: &TurnSnapshot) -> Result<PluginRecord, TurnError> {
    let manifest = plugin.manifest();
    let there = snapshot.rules.plugins.iter().find(|other| other.id == plugin.id());
    let config = there.map(|there| there.config.clone()).unwrap_or_default();
    // If the new code does not accept the settings, use the defaults.
    let config = manifest.check_settings(&config).or_else(|_| manifest.check_settings(&serde_json::Map::new()));
    let asked_for = || manifest.permissions.iter().map(ToString::to_string).collect();
    Ok(PluginRecord {
        id: plugin.id().to_owned(),
        version: manifest.version.to_string(),
        code_hash: plugin.code_hash().to_owned(),
        config: config.map_err(|error| TurnError::Invalid { field: "plugin", message: error.to_string() })?,
        grants: there.map_or_else(asked_for, |there| there.grants.clone()),
        root: plugin.schema().map(|_| manifest.state.root.clone()),
        schema: plugin.schema().map(|schema| schema.source().clone()),
        state_version: manifest.state.version,
    })
}
