//! The script host: what a hook gets, what it may do, and its limits.
//!
//! To add a test, write a short script, load it with [`plugin`] and call it with [`PluginRunner`]. A new kind of malicious
//! script is a row in `hostile_rows.rs`.

use std::sync::Arc;
use std::time::Duration;

use clotho_core::world::{SchemaSet, World};
use clotho_plugin::{
    Hook, HookCall, HookOutcome, LoadedPlugin, Permission, PluginOrigin, PluginSource, ScriptError, ScriptHost,
    ScriptLimits, ScriptPool,
};
use serde_json::{Value, json};

mod command;
mod contract;
mod hostile;
mod lints;
mod loading;
mod manifest_rules;
mod plans;
mod test_cases;
mod test_runner;

const MANIFEST: &str = "id = \"mine\"\ntitle = \"Mine\"\nversion = \"1.0.0\"\napi = \"1\"\n";

/// Loads a plugin with this script and the shortest manifest.
fn plugin(script: &str) -> Arc<LoadedPlugin> {
    try_plugin(MANIFEST, &[("main.rhai", script)]).unwrap_or_else(|error| panic!("{error}"))
}

fn try_plugin(manifest: &str, files: &[(&str, &str)]) -> Result<Arc<LoadedPlugin>, Box<ScriptError>> {
    let manifest = [("plugin.toml", manifest)];
    let files = files.iter().chain(&manifest).map(|(path, text)| (*path, text.as_bytes().to_vec()));
    LoadedPlugin::load(PluginSource::new("mine", PluginOrigin::Folder, files), &without_deadline()).map(Arc::new)
}

/// Returns the server's limits without the deadline, which depends on the machine.
fn without_deadline() -> ScriptLimits {
    ScriptLimits { deadline: Duration::from_secs(600), ..ScriptLimits::default() }
}

fn world(vars: Value) -> Arc<World> {
    Arc::new(World { vars: vars.as_object().unwrap().clone(), ..World::default() })
}

/// Returns the world that a call left.
fn world_of(outcome: &HookOutcome) -> &World {
    outcome.world.as_ref().unwrap_or_else(|| panic!("{:?}", outcome.error))
}

/// A pool of one thread, and a runtime to wait for it.
struct PluginRunner {
    pool: ScriptPool,
    runtime: tokio::runtime::Runtime,
}

impl PluginRunner {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        Self { pool: ScriptPool::new(1).unwrap(), runtime }
    }

    fn call(&self, plugin: &Arc<LoadedPlugin>, call: HookCall) -> HookOutcome {
        self.runtime.block_on(self.pool.call(Arc::clone(plugin), call))
    }

    /// Calls `on_reply` on a state of this plugin.
    fn call_on_reply(&self, plugin: &Arc<LoadedPlugin>, state: Value, text: &str) -> HookOutcome {
        self.call(plugin, hook_call(Hook::OnReply, state, text))
    }
}

/// Returns a call with every grant that the tests need. `state` is the value of the plugin's root.
fn hook_call(hook: Hook, state: Value, text: &str) -> HookCall {
    let grants = [Permission::Notes, Permission::InputRewrite, Permission::InputStop];
    HookCall {
        text: Arc::from(text),
        grants: Arc::from(grants),
        user: "Alice".to_owned(),
        character: "Rin".to_owned(),
        ..HookCall::new(hook, world(json!({"mine": state})), Arc::new(SchemaSet::default()))
    }
}

fn operations_json(outcome: &HookOutcome) -> Vec<Value> {
    outcome.operations.iter().map(clotho_core::world::StateOperation::to_json).collect()
}

/// Returns the failures as the command line prints them.
fn join_failures(failures: &[clotho_plugin::testing::PluginTestFailure]) -> String {
    failures.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
