//! Turns from end to end, in the real program with the mock model: store, plugins, prompt, stream, rules, commits, live
//! events and the index.
//!
//! - `turn_flow`: the order of the steps
//! - `head`: which replies take HEAD
//! - `regenerations_and_edits`: rerolls, continuing from old messages, edits
//! - `state`: the world of each node
//! - `active_rules`: which rules are in force
//! - `plugin_migration`: values of older plugin versions
//! - `input_hooks`, `manifest_rules`, `narrator`: hooks and rules of plugins
//! - `plugin_failures`, `model_failures`: plugins and models that fail
//! - `cancel_and_shutdown`, `crash`: replies that end early
//! - `prompt`, `speakers`, `trace`: what is sent, who speaks and what is recorded
//! - `watchers`, `search_index`: live events and the index
//!
//! To add a test, use a [`TestSession`], script the mock, and check the story afterwards. Nothing sleeps: hold the mock with
//! a gate, and wait with [`TestSession::wait_for_reply`] or [`TestSession::wait_for_partial_text`].

mod active_rules;
mod cancel_and_shutdown;
mod crash;
mod head;
mod input_hooks;
mod manifest_rules;
mod model_failures;
mod narrator;
mod plugin_failures;
mod plugin_migration;
mod prompt;
mod regenerations_and_edits;
mod search_index;
mod speakers;
mod state;
mod trace;
mod turn_flow;
mod watchers;

use clotho_core::ids::NodeId;
use clotho_core::tree::{Node, Role, Status};
use clotho_engine::turn::{
    GenerationSpec, MessageSpec, RegenerateSpec, ReplaySpec, SessionSpec, TurnError, TurnReceipt,
};
use serde_json::{Value, json};

use crate::support::app::{Setup, TestApp};
use crate::support::log_capture;
use crate::support::mock_model::{Gate, MockModel, Reply};
use crate::support::test_session::{
    TestSession, edit_spec, enabled_plugin, message_spec, request_messages, rin_card, with_timeout,
};

/// Returns a manifest with the permissions that tests need, and `more` appended.
fn manifest(id: &str, more: &str) -> String {
    format!(
        "id = \"{id}\"\ntitle = \"{id}\"\nversion = \"1.0.0\"\napi = \"1\"\n{more}\n[permissions]\nrequest = [\"notes\", \"events\", \
         \"input.rewrite\", \"input.stop\"]\n"
    )
}

/// Adds a plugin that is one script without a schema.
trait WithScript {
    fn with_script(self, id: &str, script: &str) -> Self;
    fn with_manifest_and_script(self, id: &str, more: &str, script: &str) -> Self;
}

impl WithScript for Setup {
    fn with_script(self, id: &str, script: &str) -> Self {
        self.with_manifest_and_script(id, "", script)
    }

    fn with_manifest_and_script(self, id: &str, more: &str, script: &str) -> Self {
        self.with_plugin(id, &[("plugin.toml", &manifest(id, more)), ("main.rhai", script)])
    }
}

/// A script with hit points: `[HP -10]` in a reply changes them, and each reply rolls once. The schema bounds them to
/// 0–100 and starts at 100.
const HURT: &str = r#"
fn init(ctx) { ctx.set("hp", 100); }
fn on_reply(ctx) {
    ctx.set("seen", ctx.get("hp"));
    for m in ctx.find_all("\\[HP (?<n>[+-]?\\d+)\\]") { ctx.add("hp", parse_int(m.n), "the reply says so"); }
    ctx.set("luck", ctx.roll("1d1000").total);
}
"#;
const HURT_SCHEMA: &str = r#"{"type": "object", "properties": {
    "hp": {"type": "integer", "minimum": 0, "maximum": 100, "description": "hit points"},
    "luck": {"type": "integer", "x-visible": false}, "seen": {"type": "integer", "x-visible": false}}}"#;

/// Returns a program with the plugin `hurt`.
fn hurt_setup() -> Setup {
    add_hurt_plugin(TestApp::setup(), HURT)
}

/// Adds the plugin `hurt` with another script.
fn add_hurt_plugin(setup: Setup, script: &str) -> Setup {
    let manifest = manifest("hurt", "[state]\nschema = \"state.schema.json\"");
    let files = [("plugin.toml", manifest.as_str()), ("main.rhai", script), ("state.schema.json", HURT_SCHEMA)];
    setup.with_plugin("hurt", &files)
}

/// Returns a reply whose pieces wait for a gate.
fn gated_reply(pieces: &[&str]) -> (Reply, Gate) {
    let gate = Gate::new();
    (Reply::ok(pieces.iter().copied()).gate(&gate), gate)
}

/// Returns the immutable facts of a node, without the remembered child and the keyframe flag.
fn immutable_facts(node: &Node) -> Node {
    Node { remembered: None, is_keyframe: false, ..node.clone() }
}

/// Returns the texts of nodes.
fn node_texts(nodes: &[Node]) -> Vec<&str> {
    nodes.iter().map(|node| node.content.as_str()).collect()
}
