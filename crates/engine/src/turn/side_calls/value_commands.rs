//! Applies the values model's changes for plugins that read no commands, under their schemas, on the same node and
//! before any hook.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use clotho_core::tree::{Delta, NodeMetadata, NodeProblem};
use clotho_core::world::{SchemaSet, World};
use clotho_plugin::mvu::{self, MvuTarget};

use crate::turn::problem::TurnProblem;
use crate::turn::rules::hooks::{ActivePlugin, HookContext, HookProposal, visible_problems};

/// The hook name in the record of the run.
const HOOK: &str = "values";
/// The number of skipped changes named in the problem of the message.
const NAMED: usize = 3;

/// Applies the values model's changes that no plugin reads itself.
pub fn apply_commands(context: &HookContext, metadata: &NodeMetadata, proposal: &mut HookProposal) {
    let Some(values) = &metadata.values else { return };
    let Some(text) = &values.text else { return };
    let (readers, others): (Vec<&ActivePlugin>, Vec<&ActivePlugin>) =
        context.plugins.iter().partition(|active| active.plugin.reads_commands());
    let holders: Vec<MvuTarget> = others.iter().map(|active| holder(active)).collect();
    let (done, nobodys) = mvu::apply_commands(text, &holders, Arc::make_mut(&mut proposal.world), &context.rules);
    // A change that belongs to none of these plugins may belong to one that reads commands, which reports it itself.
    let mut left_out = if readers.is_empty() { nobodys } else { Vec::new() };
    for (active, own) in others.into_iter().zip(done) {
        if !(own.operations.is_empty() && own.skipped.is_empty()) {
            left_out.extend(own.skipped.iter().cloned());
            record(active, own, &proposal.world, &context.rules, &mut proposal.delta);
        }
    }
    if left_out.is_empty() {
        return;
    }
    let model = values.call.model.as_deref().unwrap_or_default();
    let named: Vec<&str> = left_out.iter().take(NAMED).map(String::as_str).collect();
    let more = if left_out.len() > NAMED { "; …" } else { "" };
    let changes = named.join("; ") + more;
    let problem = TurnProblem::ValuesLeftOut { count: left_out.len(), model: model.to_owned(), changes };
    proposal.delta.problems.push(NodeProblem::new(&problem, None));
}

fn holder(active: &ActivePlugin) -> MvuTarget {
    let plugin = &active.plugin;
    let root = plugin.manifest().state.root.clone();
    MvuTarget { id: plugin.id().to_owned(), root, schema: plugin.schema().cloned() }
}

fn record(active: &ActivePlugin, values: mvu::MvuChanges, world: &World, rules: &SchemaSet, delta: &mut Delta) {
    let manifest = active.plugin.manifest();
    let warnings: Vec<String> = values
        .path_repairs
        .into_iter()
        .chain(values.skipped.into_iter().map(|line| format!("left out: {line}")))
        .collect();
    let mut own = Delta { operations: values.operations, ..Delta::default() };
    let mut hidden = Map::new();
    own.record_problems(&visible_problems(&values.problems, world, rules, &mut hidden));
    let mut run = json!({
        "plugin": manifest.id, "version": manifest.version.to_string(), "hook": HOOK, "ops": own.operations.len(),
        "rolls": 0, "notes": own.notes.len(), "warnings": warnings, "log": [], "micros": 0, "operations": 0, "error": null,
    });
    if let Value::Object(run) = &mut run {
        run.extend(hidden);
    }
    delta.runs.push(run);
    delta.operations.extend(own.operations);
    delta.problems.extend(own.problems);
    delta.notes.extend(own.notes);
}
