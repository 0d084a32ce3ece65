//! The rules of a manifest, which need no script, after the hook of their plugin: each that fires is recorded as a run of its
//! own.

use serde_json::{Value, json};

use crate::plugin::schedule::{Fired, Occasion, RULE, fire};
use crate::plugin::{Hook, Permission};
use crate::tree::{Delta, Note, Trouble};

use super::hooks::{Hooks, Player, Proposal, Stage};

impl Hooks {
    /// Lets the rules of one plugin act on what a message has done so far. Only what is said moves them: a message before it is
    /// sent, and a reply.
    pub async fn scheduled(&self, hook: Hook, stage: &Stage, player: &Player, proposal: &mut Proposal) {
        let manifest = player.plugin.manifest();
        let is_reply = hook == Hook::OnReply;
        if manifest.rules.is_empty() || !(is_reply || hook == Hook::OnInput) {
            return;
        }
        if self.is_out(stage.session, &manifest.id).await {
            return;
        }
        let in_force = &player.in_force;
        let grants: Vec<Permission> = in_force.grants.iter().filter_map(|grant| grant.parse().ok()).collect();
        let occasion = Occasion {
            plugin: &manifest.id,
            root: &manifest.state.root,
            rules: &manifest.rules,
            before: &stage.world,
            is_reply,
            turn: stage.node.turn,
            replies: stage.replies.saturating_add(u64::from(is_reply)),
            schemas: &stage.rules,
            grants: &grants,
            language: in_force.config.get("language").and_then(Value::as_str).unwrap_or("en"),
        };
        let ran = fire(&occasion, &mut proposal.world);
        let troubles = ran.troubles();
        let version = manifest.version.to_string();
        for fired in ran.fired {
            take(&manifest.id, &version, fired, &mut proposal.delta);
        }
        let told = troubles.into_iter().map(|(code, message)| {
            let plugin = Some(manifest.id.clone());
            Trouble { code: code.to_owned(), message, plugin }
        });
        proposal.delta.problems.extend(told);
    }
}

/// Puts what a rule did into a delta.
fn take(plugin: &str, version: &str, fired: Fired, delta: &mut Delta) {
    let said = fired.notes.iter().map(|text| Note { plugin: plugin.to_owned(), text: text.clone() }).collect();
    let mut own = Delta { operations: fired.operations, notes: said, ..Delta::default() };
    own.note_problems(&fired.problems);
    delta.runs.push(json!({
        "plugin": plugin, "version": version, "hook": format!("{RULE}{}", fired.rule), "because": fired.because,
        "ops": own.operations.len(), "rolls": 0, "notes": fired.notes.len(), "warnings": fired.warnings, "log": [],
        "micros": 0, "operations": 0, "error": null,
    }));
    delta.operations.extend(own.operations);
    delta.problems.extend(own.problems);
    delta.notes.extend(own.notes);
}
