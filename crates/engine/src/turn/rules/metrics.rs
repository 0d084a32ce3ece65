//! What the hooks of each plugin have cost since the server started, for `/metrics`. The costs at one message are in
//! its trace.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use clotho_plugin::{Hook, HookOutcome};

/// The costs of one hook of one plugin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HookMetric {
    /// Number of calls.
    pub calls: u64,
    /// Number of failures, limits included.
    pub failures: u64,
    /// Number of calls that a limit ended.
    pub limits: u64,
    /// CPU time in microseconds.
    pub micros: u64,
    /// Interpreter steps.
    pub operations: u64,
    /// Number of proposed operations.
    pub proposed: u64,
}

/// The costs of all hooks that were called. There is one entry per plugin and hook; all tools share one.
#[derive(Debug, Default)]
pub struct HookMetrics {
    all: Mutex<BTreeMap<(String, &'static str), HookMetric>>,
}

impl HookMetrics {
    /// Counts a call.
    pub fn record(&self, plugin: &str, hook: Hook, outcome: &HookOutcome) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let meter = all.entry((plugin.to_owned(), hook.name())).or_default();
        meter.calls += 1;
        meter.failures += u64::from(outcome.error.is_some());
        meter.limits += u64::from(outcome.hit_limit());
        meter.micros = meter.micros.saturating_add(outcome.usage.micros);
        meter.operations = meter.operations.saturating_add(outcome.usage.operations);
        meter.proposed += u64::try_from(outcome.operations.len()).unwrap_or(u64::MAX);
    }

    /// Returns all entries, sorted by plugin and hook.
    pub fn all(&self) -> Vec<((String, &'static str), HookMetric)> {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().map(|(key, meter)| (key.clone(), *meter)).collect()
    }
}
