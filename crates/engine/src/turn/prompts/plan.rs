//! The `plan` hooks of plugins (`docs/modders.md`). They run whenever a prompt is built, on the thread that reads for
//! it. So both use one snapshot, and a preview gets the same as a real prompt. Nothing is written; a hook that fails
//! only loses its own texts.

use serde_json::{Map, Value, json};

use clotho_compat::prompt::preset::PromptInsert;
use clotho_core::tree::NodeProblem;
use clotho_plugin::{Hook, HookNodeInfo, HookOutcome, LoreSelection};
use clotho_store::{StoreError, StoreReader};

use crate::turn::rules::RuleServices;
use crate::turn::rules::hooks::{self, ActivePlugin, sort_by_dependency};
use crate::turn::rules::violations;
use crate::turn::snapshot::TurnSnapshot;

/// The additions of plugins to one prompt.
#[derive(Debug, Clone, Default)]
pub struct PromptPlan {
    pub inserts: Vec<PromptInsert>,
    /// Requests for lore entries: index in `runs`, plugin id, request.
    pub lore_requests: Vec<(usize, String, LoreSelection)>,
    /// The trace record of each hook call.
    pub runs: Vec<Map<String, Value>>,
    /// Failures, to be stored with the reply.
    pub problems: Vec<NodeProblem>,
}

/// Runs the `plan` hooks in force at a snapshot. The reply has no node yet, so they see its depth and turn but no id.
///
/// # Errors
/// Returns an error if the database fails.
pub fn plan(
    rule_services: &RuleServices,
    reader: &mut StoreReader<'_>,
    snapshot: &TurnSnapshot,
) -> Result<PromptPlan, StoreError> {
    let mut planned = PromptPlan::default();
    if !crate::turn::rules::rules_in_force::active_plugins(&snapshot.rules.plugins, &snapshot.catalogue)
        .iter()
        .any(|one| one.plugin.has_hook(Hook::Plan))
    {
        return Ok(planned);
    }
    let at = &snapshot.at.node;
    let count = |n: i32| u64::try_from(n).unwrap_or(0);
    let facts =
        HookNodeInfo { id: String::new(), depth: count(at.depth) + 1, turn: count(at.turn), time: Some(at.created) };
    let context = snapshot.hook_context(&snapshot.rules, facts, 0);
    for active in sort_by_dependency(&context.plugins).into_iter().filter(|active| active.plugin.has_hook(Hook::Plan)) {
        match rule_services.hooks.run_read_only_blocking(reader, Hook::Plan, &context, &active, &snapshot.world)? {
            Some(outcome) => planned.add_outcome(&active, outcome),
            None => planned.problems.push(violations::disabled_problem(active.plugin.id())),
        }
    }
    Ok(planned)
}

impl PromptPlan {
    fn add_outcome(&mut self, active: &ActivePlugin, outcome: HookOutcome) {
        let id = active.plugin.id();
        let mut run = hooks::run_record(Hook::Plan, active, &outcome);
        let slots: Vec<&str> = outcome.plan.injections.iter().map(|one| one.slot.as_str()).collect();
        run.insert("injected".into(), json!(slots));
        for (key, is_in) in [("lore", true), ("unlore", false)] {
            let named = outcome
                .plan
                .lore
                .iter()
                .filter(|request| request.is_included == is_in)
                .map(|request| request.entry.as_str());
            run.insert(key.into(), named.collect());
        }
        if let Some(error) = &outcome.error {
            self.problems.push(hooks::script_problem(id, error));
        }
        let place = self.runs.len();
        self.lore_requests.extend(outcome.plan.lore.into_iter().map(|request| (place, id.to_owned(), request)));
        self.inserts.extend(outcome.plan.injections.into_iter().map(|one| PromptInsert {
            slot: format!("plugin:{id}:{}", one.slot),
            depth: one.depth,
            priority: one.priority,
            text: one.text,
        }));
        self.runs.push(run);
    }

    /// Adds a warning to the record of a run.
    pub fn warn(&mut self, run: usize, line: &str) {
        let warnings = self.runs.get_mut(run).and_then(|run| run.get_mut("warnings")).and_then(Value::as_array_mut);
        warnings.into_iter().for_each(|warnings| warnings.push(line.into()));
    }

    /// Returns the plugins' warnings and failures, one line each, for the lore test.
    pub fn log_lines(&self) -> Vec<String> {
        let said = self.runs.iter().flat_map(|run| {
            let plugin = run.get("plugin").and_then(Value::as_str).unwrap_or_default();
            let lines = run.get("warnings").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
            lines.map(move |line| format!("{plugin}: {line}"))
        });
        let failed = self.problems.iter().map(|one| match &one.plugin {
            Some(plugin) => format!("{plugin}: {}", one.message),
            None => one.message.clone(),
        });
        said.chain(failed).collect()
    }
}
