//! What the hooks of each plugin have cost since the server began: for whoever runs it (`/metrics`). What one hook cost at one
//! message stands in that message's trace.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use clotho_plugin::{Hook, HookOutcome};

/// What one hook of one plugin has cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HookMetric {
    /// How often it was called.
    pub calls: u64,
    /// How often it failed, limits included.
    pub failures: u64,
    /// How often it ended by a limit.
    pub limits: u64,
    /// Microseconds of CPU.
    pub micros: u64,
    /// Steps of the interpreter.
    pub operations: u64,
    /// What it proposed.
    pub proposed: u64,
}

/// The meters of all plugins that were called. There are as many as plugins have hooks: tools share one.
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

    /// All of them, by plugin and hook, in that order.
    pub fn all(&self) -> Vec<((String, &'static str), HookMetric)> {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().map(|(key, meter)| (key.clone(), *meter)).collect()
    }
}
