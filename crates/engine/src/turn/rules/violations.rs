//! Plugins that keep hitting their limits, per session. The counts come from the recorded runs of the last nodes. This
//! is a cache of them, filled when a session is first used; it can be dropped at any time.
//!
//! Quick replies, `plan` and `on_display` record nothing. Their violations are only counted here and reset with the
//! server.
//!
//! Violations belong to one version of the code: if a plugin's files change, it starts again from zero.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::turn::problem::TurnProblem;
use clotho_core::ids::SessionId;
use clotho_core::tree::{Delta, NodeProblem};
use clotho_plugin::manifest_rules::RULE_PREFIX;
use clotho_plugin::{Hook, LimitViolations, LoadedPlugin, ScriptErrorKind};
use clotho_store::{Store, StoreError, StoreReader};

/// The number of nodes read: [`LimitViolations::WINDOW`] calls of a plugin that runs at each message and reply.
const LOOK_BACK: i64 = 100;
/// The number of sessions in the cache.
const MAX_SESSIONS: usize = 10_000;
/// The problem code of a node at which a plugin was turned off.
pub const DISABLED_CODE: &str = "plugin_off";

/// Returns the problem of a plugin that is turned off.
pub fn disabled_problem(plugin: &str) -> NodeProblem {
    TurnProblem::PluginOff {}.for_plugin(plugin)
}

/// The counts of recently used sessions.
pub struct ViolationCounter {
    store: Arc<Store>,
    sessions: Mutex<HashMap<SessionId, HashMap<String, PluginViolations>>>,
}

/// The counts of one plugin in one session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct PluginViolations {
    recorded: LimitViolations,
    unrecorded: LimitViolations,
    is_disabled: bool,
    /// The code hash that was last seen; recorded runs have none.
    code: Option<String>,
}

impl PluginViolations {
    /// Returns the counts for this code; resets them if it has changed.
    fn for_code(&mut self, code: &str) -> &mut Self {
        if self.code.as_deref().is_some_and(|previous| previous != code) {
            *self = Self::default();
        }
        self.code.get_or_insert_with(|| code.to_owned());
        self
    }
}

impl ViolationCounter {
    /// Creates a counter for the sessions of a store.
    pub fn new(store: Arc<Store>) -> Self {
        Self { store, sessions: Mutex::default() }
    }

    /// Returns whether a plugin is turned off in a session.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub async fn is_disabled(&self, session: SessionId, plugin: &LoadedPlugin) -> Result<bool, StoreError> {
        if !self.lock().contains_key(&session) {
            let recorded = self.store.read(move |reader| reader.newest_deltas(session, LOOK_BACK)).await?;
            self.remember_counts(session, count_violations(&recorded));
        }
        Ok(self.knows_disabled(session, plugin))
    }

    /// Like [`ViolationCounter::is_disabled`], on a database thread, which must not wait for another one.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn is_disabled_with_reader(
        &self,
        reader: &mut StoreReader<'_>,
        session: SessionId,
        plugin: &LoadedPlugin,
    ) -> Result<bool, StoreError> {
        if !self.lock().contains_key(&session) {
            let recorded = reader.newest_deltas(session, LOOK_BACK)?;
            self.remember_counts(session, count_violations(&recorded));
        }
        Ok(self.knows_disabled(session, plugin))
    }

    /// Returns the plugins known to be turned off in a session, sorted, because cached responses depend on them.
    pub fn known_disabled(&self, session: SessionId) -> Vec<String> {
        let sessions = self.lock();
        let counts = sessions.get(&session).into_iter().flatten();
        let mut out: Vec<String> =
            counts.filter(|(_, count)| count.is_disabled).map(|(plugin, _)| plugin.clone()).collect();
        out.sort();
        out
    }

    fn knows_disabled(&self, session: SessionId, plugin: &LoadedPlugin) -> bool {
        let mut sessions = self.lock();
        let count = sessions.get_mut(&session).and_then(|plugins| plugins.get_mut(plugin.id()));
        count.is_some_and(|count| count.for_code(plugin.code_hash()).is_disabled)
    }

    fn remember_counts(&self, session: SessionId, counts: HashMap<String, PluginViolations>) {
        let mut sessions = self.lock();
        if sessions.len() >= MAX_SESSIONS {
            sessions.clear();
        }
        // Another task may have read and counted meanwhile.
        sessions.entry(session).or_insert(counts);
    }

    /// Counts a call.
    pub fn record(&self, session: SessionId, plugin: &LoadedPlugin, hook: Hook, hit_limit: bool) {
        let (plugin, code) = (plugin.id(), plugin.code_hash());
        let mut sessions = self.lock();
        let Some(plugins) = sessions.get_mut(&session) else { return };
        // A plugin that never hit a limit needs no entry.
        if !hit_limit && !plugins.contains_key(plugin) {
            return;
        }
        let count = plugins.entry(plugin.to_owned()).or_default().for_code(code);
        let strikes = if hook.may_write() { &mut count.recorded } else { &mut count.unrecorded };
        if strikes.record(hit_limit) && !count.is_disabled {
            count.is_disabled = true;
            tracing::warn!(%session, plugin, code = DISABLED_CODE, "a plugin was turned off, because it exceeded its \
             limits too often");
        }
    }

    /// Resets one plugin of a session, because its code has changed.
    pub fn reset_plugin(&self, session: SessionId, plugin: &str) {
        if let Some(plugins) = self.lock().get_mut(&session) {
            plugins.remove(plugin);
        }
    }

    /// Resets a session, because its plugins were set anew.
    pub fn reset_session(&self, session: SessionId) {
        self.lock().insert(session, HashMap::new());
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, HashMap<String, PluginViolations>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts the violations in deltas, oldest first. A plugin that was turned off and ran again later was reset in
/// between.
fn count_violations(recorded: &[Delta]) -> HashMap<String, PluginViolations> {
    let mut counts: HashMap<String, PluginViolations> = HashMap::new();
    for delta in recorded {
        for (plugin, hit_limit) in delta.runs.iter().filter_map(plugin_run) {
            let count = counts.entry(plugin.to_owned()).or_default();
            if count.is_disabled {
                *count = PluginViolations::default();
            }
            count.is_disabled = count.recorded.record(hit_limit);
        }
        for off in delta.problems.iter().filter(|problem| problem.code == DISABLED_CODE) {
            counts.entry(off.plugin.clone().unwrap_or_default()).or_default().is_disabled = true;
        }
    }
    counts.retain(|_, count| *count != PluginViolations::default());
    counts
}

/// Returns the plugin of a run, and whether a limit ended it.
fn plugin_run(run: &Value) -> Option<(&str, bool)> {
    let plugin = run.get("plugin")?.as_str()?;
    // A manifest rule runs no script, so it cannot hit a limit and is no call.
    if run.get("hook").and_then(Value::as_str).is_some_and(|hook| hook.starts_with(RULE_PREFIX)) {
        return None;
    }
    let kind = run.get("error").and_then(|error| error.get("kind")).and_then(Value::as_str);
    Some((plugin, kind == Some(ScriptErrorKind::Limit.as_str())))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run_delta(limit: bool) -> Delta {
        let error = if limit { json!({"kind": "limit"}) } else { json!(null) };
        Delta { runs: vec![json!({"plugin": "a", "error": error})], ..Delta::default() }
    }

    fn disabled_delta() -> Delta {
        let problem = super::disabled_problem("a");
        Delta { problems: vec![problem], ..Delta::default() }
    }

    /// `modders.md`, limits: violations are reset when the code changes.
    #[test]
    fn violations_changed_code_resets_count() {
        let mut count = PluginViolations { is_disabled: true, ..PluginViolations::default() };
        assert!(count.for_code("old").is_disabled && count.for_code("old").is_disabled);
        assert!(!count.for_code("new").is_disabled && !count.for_code("old").is_disabled);
    }

    #[test]
    fn violations_recorded_runs_disable_plugin() {
        let out = |deltas: &[Delta]| count_violations(deltas).get("a").is_some_and(|count| count.is_disabled);
        let (four, five) = (vec![run_delta(true); 4], vec![run_delta(true); 5]);
        assert!(!out(&four) && out(&five));
        assert!(out(&[four.clone(), vec![run_delta(false); 40], vec![run_delta(true)]].concat()), "five in fifty");
        assert!(
            !out(&[four, vec![run_delta(false); 47], vec![run_delta(true)]].concat()),
            "the first fell out of the window"
        );
        assert!(out(&[disabled_delta()]), "also when the strikes themselves are long ago");
        assert!(!out(&[five.clone(), vec![run_delta(false)]].concat()), "it ran again, so it was forgiven");
        assert!(!out(&[five, vec![disabled_delta(), run_delta(true)]].concat()));
        assert!(count_violations(&[run_delta(false)]).is_empty());
    }
}
