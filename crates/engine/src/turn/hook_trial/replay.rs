//! Replays: the `on_input` and `on_reply` hooks of one plugin, and the rules of its manifest, run again along a branch
//! on a copy of the world. The author sees what new rules would have done. Recorded rolls are reused; what models,
//! narrators and tools did stays. Nothing is written unless the result is accepted: then the deltas are revised in one
//! step that undo can take back.

use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use clotho_core::ids::{NodeId, SessionId, UserId};
use clotho_core::tree::edit::TreeError;
use clotho_core::tree::{Delta, Effects, Kind, NodeNote, NodeProblem, Role};
use clotho_core::world::{PathChange, StateOperation, World, diff, fold};
use clotho_plugin::manifest_rules::RULE_PREFIX;
use clotho_plugin::{Hook, LoadedPlugin, ScriptError, SummaryProposal};
use clotho_store::{Actor, ArrangeResult, DeltaRevision, PathFilter, WriteError};

use super::{TrialHookContext, TrialPosition};
use crate::turn::rules::RuleServices;
use crate::turn::rules::hooks::{ActivePlugin, HookProposal};
use crate::turn::snapshot::SnapshotQuery;
use crate::turn::storage::TreeStorage;
use crate::turn::{TurnError, rules::summary_proposals};

/// The maximum number of nodes of one replay.
const MAX_MESSAGES: usize = 200;

/// A replay to run.
pub struct ReplaySpec {
    /// The plugin, possibly with unsaved code.
    pub plugin: Arc<LoadedPlugin>,
    pub session: SessionId,
    /// The end of the branch; `None` = HEAD.
    pub leaf: Option<NodeId>,
    /// The first message; `None` = as far back as allowed.
    pub from: Option<NodeId>,
}

/// The result of a replay.
pub struct ReplayOutcome {
    /// The replayed messages, oldest first.
    pub rows: Vec<ReplayStep>,
    /// Whether the plugin is in force at the end of the branch.
    pub is_active: bool,
    /// A token of what the replay shows. Whoever accepts it names the token, so that nothing else is written.
    pub shown: String,
    /// The newest operation of the session at the time of the replay.
    expected_op: i64,
    /// The new deltas of the messages that would change.
    deltas: Vec<(NodeId, Delta)>,
    /// The proposed summaries, each with its message and plugin.
    summaries: Vec<(NodeId, (String, SummaryProposal))>,
    /// The first message at which other rules were in force.
    first_mismatch: Option<NodeId>,
}

/// The replay of one message.
pub struct ReplayStep {
    pub node: NodeId,
    pub hook: Hook,
    /// The operations that the plugin proposed originally.
    pub old: Vec<StateOperation>,
    /// The operations that it would propose now.
    pub new: Vec<StateOperation>,
    /// The notes that it would add to the message.
    pub notes: Vec<String>,
    /// The summary that it would propose.
    pub summary: Option<SummaryProposal>,
    /// The error, if it would fail.
    pub error: Option<ScriptError>,
    /// The differences of the world after the message to the stored one.
    pub world: Vec<PathChange>,
}

/// Replays a branch.
///
/// # Errors
/// Returns an error if the session or a message does not exist or is not the caller's, `from` is not on the branch or
/// too far up, or the database fails.
pub async fn replay(
    storage: &TreeStorage,
    rule_services: &RuleServices,
    caller: UserId,
    asked: ReplaySpec,
) -> Result<ReplayOutcome, TurnError> {
    let branch = branch_nodes(storage, caller, &asked).await?;
    replay_branch(storage, rule_services, caller, &asked, branch).await
}

async fn replay_branch(
    storage: &TreeStorage,
    rule_services: &RuleServices,
    caller: UserId,
    asked: &ReplaySpec,
    (seen, line): (i64, Vec<(NodeId, Role)>),
) -> Result<ReplayOutcome, TurnError> {
    let mut outcome = ReplayOutcome {
        rows: Vec::new(),
        is_active: false,
        shown: shown_token(asked, seen, &line),
        expected_op: seen,
        deltas: Vec::new(),
        summaries: Vec::new(),
        first_mismatch: None,
    };
    let mut world: Option<Arc<World>> = None;
    for (node, role) in line {
        let hook = if role == Role::User { Hook::OnInput } else { Hook::OnReply };
        let query = SnapshotQuery::at_node(rule_services, caller, asked.session, node);
        let place = storage.store.read(move |reader| super::read_position(reader, hook, &query)).await?;
        let before = world.unwrap_or_else(|| Arc::clone(&place.world_before));
        outcome.is_active = place.snapshot.rules.plugins.iter().any(|other| other.id == asked.plugin.id());
        world = Some(replay_node(rule_services, &asked.plugin, hook, &place, before, &mut outcome).await?);
    }
    Ok(outcome)
}

/// Returns the token of a replay: a hash of the plugin's code, the session's newest operation and the messages.
fn shown_token(asked: &ReplaySpec, seen: i64, line: &[(NodeId, Role)]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(asked.plugin.code_hash().as_bytes()).update(asked.session.as_bytes()).update(&seen.to_le_bytes());
    for (node, _) in line {
        hasher.update(node.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// Replays a branch and writes the new deltas of its messages. With the token `shown` of an earlier replay, only if
/// that one ran the same code over the same messages of the unchanged session.
///
/// # Errors
/// See [`replay`]; also if the token is of another replay, other rules are in force somewhere on the branch, a rule
/// fails, or the session changed meanwhile.
pub async fn accept_replay(
    storage: &TreeStorage,
    rule_services: &RuleServices,
    caller: UserId,
    asked: ReplaySpec,
    shown: Option<&str>,
) -> Result<(ReplayOutcome, ArrangeResult), TurnError> {
    let session = asked.session;
    let (seen, line) = branch_nodes(storage, caller, &asked).await?;
    if shown.is_some_and(|shown| shown != shown_token(&asked, seen, &line)) {
        return Err(TurnError::ReplayChanged);
    }
    let outcome = replay_branch(storage, rule_services, caller, &asked, (seen, line)).await?;
    if let Some(node) = outcome.first_mismatch {
        let message = format!(
            "the message {node} was written without this plugin, or with another version of its values; start below \
             it (fromNodeId)"
        );
        return Err(TreeError::Conflict(message).into());
    }
    if let Some((node, error)) = outcome.rows.iter().find_map(|row| row.error.as_ref().map(|error| (row.node, error))) {
        let message = format!("the plugin fails at the message {node}: {}", error.message);
        return Err(TreeError::Conflict(message).into());
    }
    let revision = DeltaRevision { expected_op: outcome.expected_op, deltas: outcome.deltas.clone() };
    let actor = Actor { user: caller, at: storage.clock.now(), expected_leaf: None };
    let summaries = summary_proposals::proposed_summaries_at(storage, outcome.summaries.clone());
    let write = move |tx: &mut clotho_store::Tx<'_>| {
        let arranged = tx.revise_deltas(&actor, session, &revision)?;
        summaries.iter().try_for_each(|(node, one)| tx.propose_summary(session, *node, one).map(drop))?;
        Ok::<_, WriteError>(arranged)
    };
    let arranged = storage.store.write(write).await?;
    Ok((outcome, arranged))
}

/// Returns the session's newest operation and the nodes to replay, oldest first.
async fn branch_nodes(
    storage: &TreeStorage,
    caller: UserId,
    asked: &ReplaySpec,
) -> Result<(i64, Vec<(NodeId, Role)>), TurnError> {
    let (session, leaf, from) = (asked.session, asked.leaf, asked.from);
    let read = move |reader: &mut clotho_store::StoreReader<'_>| {
        let stored = reader.session(caller, session)?.ok_or(TreeError::NotFound("the session"))?;
        let leaf =
            reader.node(&stored, leaf.unwrap_or(stored.session.head))?.ok_or(TreeError::NotFound("the message"))?;
        if let Some(from) = from {
            reader.node(&stored, from)?.ok_or(TreeError::NotFound("the message"))?;
        }
        let most = i64::try_from(MAX_MESSAGES).unwrap_or(i64::MAX);
        let page = reader.newest_page(&stored, &leaf, most, PathFilter::All)?;
        let nodes: Vec<(NodeId, Role)> = page.nodes.iter().map(|placed| (placed.node.id, placed.node.role)).collect();
        let seen = stored.session.op;
        let Some(from) = from else { return Ok((seen, nodes)) };
        match nodes.iter().position(|(node, _)| *node == from) {
            Some(at) => Ok((seen, nodes.into_iter().skip(at).collect())),
            None => Err(TurnError::Invalid {
                field: "fromNodeId",
                message: format!("this message is not among the last {MAX_MESSAGES} of the branch"),
            }),
        }
    };
    storage.store.read(read).await
}

/// Replays one node: folds its delta with a new part for the plugin. Returns the world after it.
async fn replay_node(
    rule_services: &RuleServices,
    plugin: &Arc<LoadedPlugin>,
    hook: Hook,
    place: &TrialPosition,
    before: Arc<World>,
    outcome: &mut ReplayOutcome,
) -> Result<Arc<World>, TurnError> {
    let TrialPosition { node, delta, .. } = place;
    let TrialHookContext { context: mut hook_context, plugin: active } = super::hook_context(plugin, hook, place)?;
    let rules = Arc::clone(&hook_context.rules);
    let mut world = Arc::clone(&before);
    let is_muted = node.effects == Effects::Muted;
    let acts = plugin.has_hook(hook) || !plugin.manifest().rules.is_empty();
    // Without anything to replay, fold the delta as it is.
    if !(place.reads_message && node.kind == Kind::Message && acts && !is_muted) {
        if !is_muted {
            fold(Arc::make_mut(&mut world), &delta.operations, &rules);
        }
        return Ok(world);
    }
    // Fold what comes before the plugin's part, run the plugin, fold the rest.
    let part = HookDeltaSlice::new(delta, plugin.id(), hook);
    fold(Arc::make_mut(&mut world), part.operations_before(delta), &rules);
    hook_context.world = before;
    if let Some(typed) = &node.metadata.original_content {
        hook_context.text = Arc::from(typed.as_str());
    }
    let mut proposal = HookProposal::starting_at(world);
    let error = rule_services.hooks.replay_hook(hook, &hook_context, &active, &mut proposal).await;
    let HookProposal { delta: new, mut world, summaries, .. } = proposal;
    fold(Arc::make_mut(&mut world), part.operations_after(delta), &rules);
    let old = part.own_operations(delta).to_vec();
    if outcome.first_mismatch.is_none() && !is_comparable(plugin, &active, place) {
        outcome.first_mismatch = Some(node.id);
    }
    // Record the step.
    let notes = new.notes.iter().map(|note| note.text.clone()).collect();
    let row = ReplayStep {
        node: node.id,
        hook,
        old,
        new: new.operations.clone(),
        notes,
        summary: summaries.first().map(|(_, summary)| summary.clone()),
        error,
        world: diff(&place.world_after, &world),
    };
    outcome.summaries.extend(summaries.into_iter().map(|one| (node.id, one)));
    if part.differs(delta, &new) {
        outcome.deltas.push((node.id, part.with_replacement(delta, new)));
    }
    outcome.rows.push(row);
    Ok(world)
}

/// Returns whether the plugin was in force at a message with the same schema and root.
fn is_comparable(plugin: &LoadedPlugin, active: &ActivePlugin, place: &TrialPosition) -> bool {
    let there = place.snapshot.rules.plugins.iter().find(|other| other.id == plugin.id());
    there.is_some_and(|there| there.schema == active.in_force.schema && there.root == active.in_force.root)
}

/// The part of a delta that belongs to one hook of one plugin, including the manifest rules that fired after it. What a
/// narrator or a tool did while the reply was written belongs to other hooks.
struct HookDeltaSlice {
    plugin: String,
    runs: Range<usize>,
    operations: Range<usize>,
    /// The name of the hook, as in its rolls.
    hook: &'static str,
    /// The number of the plugin's notes that earlier runs wrote.
    notes_before: usize,
}

impl HookDeltaSlice {
    fn new(delta: &Delta, plugin: &str, hook: Hook) -> Self {
        let number =
            |run: &Value, what: &str| run.get(what).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
        let is = |run: &Value, what: &str, word: &str| run.get(what).and_then(Value::as_str) == Some(word);
        let is_rule =
            |run: &Value| run.get("hook").and_then(Value::as_str).is_some_and(|name| name.starts_with(RULE_PREFIX));
        let is_own = |run: &Value| is(run, "plugin", plugin) && (is(run, "hook", hook.name()) || is_rule(run));
        let first = delta.runs.iter().position(is_own).unwrap_or(delta.runs.len());
        let own = delta.runs.iter().skip(first).take_while(|run| is_own(run)).count();
        let ops = |runs: Range<usize>| -> usize {
            delta.runs.iter().skip(runs.start).take(runs.len()).filter_map(|run| number(run, "ops")).sum()
        };
        // Operations of the server itself come before all runs; no run counts them.
        let begin = delta.operations.len().saturating_sub(ops(0..delta.runs.len())) + ops(0..first);
        let before = delta.runs.iter().take(first).filter(|run| is(run, "plugin", plugin));
        Self {
            plugin: plugin.to_owned(),
            operations: begin..begin + ops(first..first + own),
            hook: hook.name(),
            notes_before: before.filter_map(|run| number(run, "notes")).sum(),
            runs: first..first + own,
        }
    }

    fn operations_before<'a>(&self, delta: &'a Delta) -> &'a [StateOperation] {
        delta.operations.get(..self.operations.start).unwrap_or_default()
    }

    fn own_operations<'a>(&self, delta: &'a Delta) -> &'a [StateOperation] {
        delta.operations.get(self.operations.clone()).unwrap_or_default()
    }

    fn operations_after<'a>(&self, delta: &'a Delta) -> &'a [StateOperation] {
        delta.operations.get(self.operations.end..).unwrap_or_default()
    }

    /// Returns whether operations, notes or rolls differ; costs are ignored.
    fn differs(&self, old: &Delta, new: &Delta) -> bool {
        let notes = old.notes.iter().filter(|note| note.plugin == self.plugin).skip(self.notes_before);
        let rolls = old.rolls.iter().filter(|roll| self.is_own_roll(roll));
        self.own_operations(old) != new.operations || !notes.eq(&new.notes) || !rolls.eq(&new.rolls)
    }

    fn is_own_roll(&self, roll: &Value) -> bool {
        let is = |what: &str, word: &str| roll.get(what).and_then(Value::as_str) == Some(word);
        is("plugin", &self.plugin) && is("hook", self.hook)
    }

    /// Returns the delta with this part replaced.
    fn with_replacement(&self, old: &Delta, new: Delta) -> Delta {
        let mut seen = 0;
        let is_kept_note = |note: &&NodeNote| {
            let is_own = note.plugin == self.plugin;
            seen += usize::from(is_own);
            !is_own || seen <= self.notes_before
        };
        let mut notes: Vec<NodeNote> = old.notes.iter().filter(is_kept_note).cloned().collect();
        notes.extend(new.notes);
        let is_others = |trouble: &&NodeProblem| trouble.plugin.as_ref() != Some(&self.plugin);
        let mut runs = old.runs.clone();
        runs.splice(self.runs.clone(), new.runs);
        Delta {
            operations: [self.operations_before(old), &new.operations, self.operations_after(old)].concat(),
            notes,
            problems: old.problems.iter().filter(is_others).cloned().chain(new.problems).collect(),
            rolls: old.rolls.iter().filter(|roll| !self.is_own_roll(roll)).cloned().chain(new.rolls).collect(),
            runs,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use clotho_core::world::{Pointer, StateChange};

    fn set_operation(by: &str, n: i64) -> StateOperation {
        StateOperation::new("/a".parse::<Pointer>().unwrap(), StateChange::Set(n.into()), "", by)
    }

    fn recorded_delta() -> Delta {
        let note = |plugin: &str, text: &str| NodeNote::of_plugin(plugin, text);
        Delta {
            operations: vec![
                set_operation("server", 0),
                set_operation("a", 1),
                set_operation("b", 2),
                set_operation("b", 3),
                set_operation("b", 4),
                set_operation("c", 5),
            ],
            runs: vec![
                json!({"plugin": "a", "hook": "on_reply", "ops": 1}),
                json!({"plugin": "b", "hook": "narrate", "ops": 1, "notes": 1}),
                json!({"plugin": "b", "hook": "on_reply", "ops": 1, "notes": 1}),
                json!({"plugin": "b", "hook": "rule:tide", "ops": 1}),
                json!({"plugin": "c", "hook": "on_reply", "ops": 1}),
            ],
            notes: vec![note("b", "told"), note("a", "a"), note("b", "done")],
            rolls: vec![json!({"plugin": "b", "hook": "narrate"}), json!({"plugin": "b", "hook": "on_reply"})],
            problems: Vec::new(),
        }
    }

    #[test]
    fn replay_delta_slice_finds_plugin_runs() {
        let delta = recorded_delta();
        let check = |plugin: &str, expected: [usize; 3]| {
            let part = HookDeltaSlice::new(&delta, plugin, Hook::OnReply);
            assert_eq!(
                [
                    part.operations_before(&delta).len(),
                    part.own_operations(&delta).len(),
                    part.operations_after(&delta).len()
                ],
                expected,
                "{plugin}"
            );
        };
        check("a", [1, 1, 4]);
        check("b", [3, 2, 1]);
        check("nobody", [6, 0, 0]);
    }

    #[test]
    fn replay_replaces_only_rerun_slice() {
        let delta = recorded_delta();
        let part = HookDeltaSlice::new(&delta, "b", Hook::OnReply);
        let new = Delta {
            operations: vec![set_operation("b", 9)],
            runs: vec![json!({"plugin": "b", "hook": "on_reply", "ops": 1, "notes": 1})],
            notes: vec![NodeNote::of_plugin("b", "new")],
            ..Delta::default()
        };
        let renewed = part.with_replacement(&delta, new.clone());
        let values: Vec<_> = renewed.operations.iter().map(|operation| operation.to_json()["value"].clone()).collect();
        assert_eq!(values, [0, 1, 2, 9, 5]);
        let hooks: Vec<_> = renewed.runs.iter().map(|run| run["hook"].clone()).collect();
        assert_eq!(hooks, ["on_reply", "narrate", "on_reply", "on_reply"]);
        let said: Vec<_> = renewed.notes.iter().map(|note| note.text.as_str()).collect();
        assert_eq!(said, ["told", "a", "new"]);
        assert_eq!(renewed.rolls, [json!({"plugin": "b", "hook": "narrate"})]);
        assert!(part.differs(&delta, &new));
        let again = HookDeltaSlice::new(&renewed, "b", Hook::OnReply);
        assert!(!again.differs(&renewed, &new), "the same once more changes nothing");
    }
}
