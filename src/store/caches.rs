//! What the store keeps in memory: worlds and rules, keyed by what never changes, bounded in bytes. Callers never know.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::world::World;

use super::rules::RulesInForce;

/// The bytes of worlds kept, estimated.
const WORLD_BYTES: usize = 24 << 20;
/// The number of different sets of rules kept.
const RULES_KEPT: usize = 512;

/// Worlds by node and arrangement, rules by their row; and counters that prove how much work a read did.
#[derive(Default)]
pub struct Caches {
    worlds: Mutex<Worlds>,
    rules: Mutex<HashMap<i64, Arc<RulesInForce>>>,
    folded: AtomicU64,
}

#[derive(Default)]
struct Worlds {
    /// World, estimated bytes, and when it was last wanted.
    kept: HashMap<(i64, i64), (Arc<World>, usize, u64)>,
    bytes: usize,
    tick: u64,
}

impl Caches {
    /// A world kept for a node under an arrangement.
    pub fn world(&self, node_n: i64, edits: i64) -> Option<Arc<World>> {
        let mut worlds = lock(&self.worlds);
        worlds.tick += 1;
        let tick = worlds.tick;
        let (world, _, wanted) = worlds.kept.get_mut(&(node_n, edits))?;
        *wanted = tick;
        Some(Arc::clone(world))
    }

    /// Keeps a world; the ones longest unwanted go when there are too many bytes.
    pub fn keep_world(&self, node_n: i64, edits: i64, world: &Arc<World>) {
        let bytes = weight(world);
        if bytes > WORLD_BYTES / 4 {
            return;
        }
        let mut worlds = lock(&self.worlds);
        worlds.tick += 1;
        let tick = worlds.tick;
        if let Some((_, old, _)) = worlds.kept.insert((node_n, edits), (Arc::clone(world), bytes, tick)) {
            worlds.bytes -= old;
        }
        worlds.bytes += bytes;
        if worlds.bytes > WORLD_BYTES {
            worlds.shed();
        }
    }

    /// The rules of a row, made once.
    pub fn rules<E>(
        &self,
        rules_n: i64,
        make: impl FnOnce() -> Result<RulesInForce, E>,
    ) -> Result<Arc<RulesInForce>, E> {
        if let Some(rules) = lock(&self.rules).get(&rules_n) {
            return Ok(Arc::clone(rules));
        }
        let rules = Arc::new(make()?);
        let mut kept = lock(&self.rules);
        if kept.len() >= RULES_KEPT {
            kept.clear();
        }
        kept.insert(rules_n, Arc::clone(&rules));
        Ok(rules)
    }

    /// Counts deltas folded, for the proof that a read is bounded.
    pub fn count_folds(&self, deltas: usize) {
        self.folded.fetch_add(u64::try_from(deltas).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Deltas folded since the start.
    pub fn folded(&self) -> u64 {
        self.folded.load(Ordering::Relaxed)
    }

    /// Forgets all worlds; the answers must stay the same.
    pub fn forget_worlds(&self) {
        *lock(&self.worlds) = Worlds::default();
    }
}

impl Worlds {
    fn shed(&mut self) {
        let mut by_age: Vec<_> = self.kept.iter().map(|(key, (_, bytes, wanted))| (*wanted, *key, *bytes)).collect();
        by_age.sort_unstable_by_key(|(wanted, ..)| *wanted);
        for (_, key, bytes) in by_age {
            if self.bytes <= WORLD_BYTES / 2 {
                break;
            }
            self.kept.remove(&key);
            self.bytes -= bytes;
        }
    }
}

/// A rough count of the bytes a world takes in memory.
fn weight(world: &World) -> usize {
    let map = |map: &serde_json::Map<String, Value>| map.iter().map(|(k, v)| 64 + k.len() + value(v)).sum::<usize>();
    128 + map(&world.vars) + map(&world.lore) + world.summary.len() + world.events.iter().map(value).sum::<usize>()
}

fn value(v: &Value) -> usize {
    match v {
        Value::Null | Value::Bool(_) => 8,
        Value::Number(_) => 32,
        Value::String(text) => 24 + text.len(),
        Value::Array(list) => 24 + list.iter().map(value).sum::<usize>(),
        Value::Object(map) => 64 + map.iter().map(|(k, v)| 64 + k.len() + value(v)).sum::<usize>(),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
