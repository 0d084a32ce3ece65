//! The rules of a manifest, which need no script. They run after the plugin's hook; each that fires is recorded as a
//! run.

use serde_json::{Map, Value, json};

use clotho_core::tree::{Delta, NodeNote, NodeProblem};
use clotho_plugin::manifest_rules::{RULE_PREFIX, RuleFiring, RuleInput, fire};
use clotho_plugin::{Hook, Manifest, Permission};

use clotho_core::world::{SchemaSet, World};

use super::hooks::{ActivePlugin, HookContext, HookProposal, HookRunner, visible_problems};

impl HookRunner {
    /// Runs the rules of one plugin after its hook. Only `on_input` and `on_reply` trigger them.
    pub async fn run_manifest_rules(
        &self,
        hook: Hook,
        context: &HookContext,
        active: &ActivePlugin,
        proposal: &mut HookProposal,
    ) {
        let manifest = active.plugin.manifest();
        let is_reply = hook == Hook::OnReply;
        if manifest.rules.is_empty() || !(is_reply || hook == Hook::OnInput) {
            return;
        }
        if self.is_disabled(context.session, &active.plugin).await {
            return;
        }
        let in_force = &active.in_force;
        let grants: Vec<Permission> = in_force.grants.iter().filter_map(|grant| grant.parse().ok()).collect();
        let occasion = RuleInput {
            plugin: &manifest.id,
            root: &manifest.state.root,
            rules: &manifest.rules,
            before: &context.world,
            is_reply,
            is_side_call: context.is_command_only,
            turn: context.node.turn,
            replies: context.replies.saturating_add(u64::from(is_reply)),
            schemas: &context.rules,
            grants: &grants,
            language: in_force.config.get("language").and_then(Value::as_str).unwrap_or("en"),
        };
        let ran = fire(&occasion, &mut proposal.world);
        let troubles = ran.rule_problems();
        for fired in ran.fired {
            take_rule_effects(manifest, fired, &proposal.world, &context.rules, &mut proposal.delta);
        }
        let problems = troubles.iter().map(|trouble| NodeProblem::new(trouble, Some(manifest.id.clone())));
        proposal.delta.problems.extend(problems);
    }
}

/// Adds what a rule did to a delta.
fn take_rule_effects(manifest: &Manifest, fired: RuleFiring, world: &World, rules: &SchemaSet, delta: &mut Delta) {
    let lines = fired.notes.iter().map(|text| NodeNote::of_plugin(&manifest.id, text)).collect();
    let mut own = Delta { operations: fired.operations, notes: lines, ..Delta::default() };
    let facts = [
        ("plugin", json!(manifest.id)),
        ("version", json!(manifest.version.to_string())),
        ("hook", json!(format!("{RULE_PREFIX}{}", fired.rule))),
        ("because", json!(fired.reason)),
        ("ops", json!(own.operations.len())),
        ("rolls", json!(0)),
        ("notes", json!(fired.notes.len())),
        ("warnings", json!(fired.warnings)),
        ("log", json!([])),
        ("micros", json!(0)),
        ("operations", json!(0)),
        ("error", Value::Null),
    ];
    let mut run: Map<String, Value> = facts.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    own.record_problems(&visible_problems(&fired.problems, world, rules, &mut run));
    delta.runs.push(run.into());
    delta.operations.extend(own.operations);
    delta.problems.extend(own.problems);
    delta.notes.extend(own.notes);
}
