//! In-memory caches of worlds and rules. Keys never change meaning, sizes are bounded in bytes, and results are
//! the same without them. Only committed data may be cached, because a row number that is rolled back is given
//! out again.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use clotho_core::world::World;

use super::rules::ActiveRules;

/// The maximum size of cached worlds in bytes, estimated.
const WORLD_BYTES: usize = 24 << 20;
/// The maximum number of cached rule sets.
const MAX_RULES: usize = 512;
/// The maximum size in bytes of worlds waiting to be cut as keyframes again, estimated.
const REPAIR_BYTES: usize = 8 << 20;

/// Worlds by node and arrangement, rules by row, and counters that prove how much work reads did.
#[derive(Default)]
pub struct Caches {
    worlds: Mutex<WorldCache>,
    rules: Mutex<HashMap<i64, Arc<ActiveRules>>>,
    keyframe_repairs: Mutex<KeyframeRepairs>,
    folds: AtomicU64,
    commits: AtomicU64,
}

/// A keyframe that a read found missing, damaged or outdated, with the right world.
#[derive(Debug, Clone)]
pub struct KeyframeRepair {
    pub session_n: i64,
    pub node_n: i64,
    /// The number of the arrangement edit under which the world was computed.
    pub edits: i64,
    pub world: Arc<World>,
}

#[derive(Default)]
struct KeyframeRepairs {
    queue: VecDeque<(KeyframeRepair, usize)>,
    bytes: usize,
}

#[derive(Default)]
struct WorldCache {
    /// The world, its estimated bytes, and the tick of its last use.
    entries: HashMap<(i64, i64), (Arc<World>, usize, u64)>,
    bytes: usize,
    tick: u64,
}

impl Caches {
    /// Returns the cached world of a node under an arrangement.
    pub fn world(&self, node_n: i64, edits: i64) -> Option<Arc<World>> {
        let mut worlds = lock(&self.worlds);
        worlds.tick += 1;
        let tick = worlds.tick;
        let (world, _, wanted) = worlds.entries.get_mut(&(node_n, edits))?;
        *wanted = tick;
        Some(Arc::clone(world))
    }

    /// Caches a world. The least recently used ones are evicted when there are too many bytes.
    pub fn keep_world(&self, node_n: i64, edits: i64, world: &Arc<World>) {
        let bytes = estimated_size(world);
        if bytes > WORLD_BYTES / 4 {
            return;
        }
        let mut worlds = lock(&self.worlds);
        worlds.tick += 1;
        let tick = worlds.tick;
        if let Some((_, old, _)) = worlds.entries.insert((node_n, edits), (Arc::clone(world), bytes, tick)) {
            worlds.bytes -= old;
        }
        worlds.bytes += bytes;
        if worlds.bytes > WORLD_BYTES {
            worlds.evict();
        }
    }

    fn cached_rules(&self, rules_n: i64) -> Option<Arc<ActiveRules>> {
        lock(&self.rules).get(&rules_n).map(Arc::clone)
    }

    /// Returns the rules of a row, and makes them on the first use.
    pub fn rules<E>(&self, rules_n: i64, make: impl FnOnce() -> Result<ActiveRules, E>) -> Result<Arc<ActiveRules>, E> {
        if let Some(rules) = self.cached_rules(rules_n) {
            return Ok(rules);
        }
        let rules = Arc::new(make()?);
        let mut cache = lock(&self.rules);
        if cache.len() >= MAX_RULES {
            cache.clear();
        }
        cache.insert(rules_n, Arc::clone(&rules));
        Ok(rules)
    }

    /// Requests a new keyframe. If there are too many, the oldest requests are dropped: those nearest to the
    /// read node come last.
    pub fn request_keyframe(&self, recut: KeyframeRepair) {
        let mut cuts = lock(&self.keyframe_repairs);
        let bytes = estimated_size(&recut.world);
        cuts.bytes += bytes;
        cuts.queue.push_back((recut, bytes));
        while cuts.bytes > REPAIR_BYTES
            && let Some((_, bytes)) = cuts.queue.pop_front()
        {
            cuts.bytes -= bytes;
        }
    }

    /// Takes the keyframes to cut again out of the queue.
    pub fn take_keyframe_repairs(&self) -> Vec<KeyframeRepair> {
        let cuts = std::mem::take(&mut *lock(&self.keyframe_repairs));
        cuts.queue.into_iter().map(|(recut, _)| recut).collect()
    }

    /// Counts a commit.
    pub fn count_commit(&self) {
        self.commits.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of commits since the start.
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Counts folded deltas, to prove that a read is bounded.
    pub fn count_folds(&self, deltas: usize) {
        self.folds.fetch_add(u64::try_from(deltas).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Returns the number of deltas folded since the start.
    pub fn fold_count(&self) -> u64 {
        self.folds.load(Ordering::Relaxed)
    }

    /// Clears the cached worlds; results must stay the same.
    pub fn forget_worlds(&self) {
        *lock(&self.worlds) = WorldCache::default();
    }
}

impl WorldCache {
    fn evict(&mut self) {
        let mut by_age: Vec<_> = self.entries.iter().map(|(key, (_, bytes, wanted))| (*wanted, *key, *bytes)).collect();
        by_age.sort_unstable_by_key(|(wanted, ..)| *wanted);
        for (_, key, bytes) in by_age {
            if self.bytes <= WORLD_BYTES / 2 {
                break;
            }
            self.entries.remove(&key);
            self.bytes -= bytes;
        }
    }
}

/// Estimates the bytes that a world takes in memory.
pub(super) fn estimated_size(world: &World) -> usize {
    let map = |map: &serde_json::Map<String, Value>| {
        map.iter().map(|(k, v)| 64 + k.len() + estimated_value_size(v)).sum::<usize>()
    };
    128 + map(&world.vars)
        + map(&world.lore)
        + world.summary.len()
        + world.events.iter().map(estimated_value_size).sum::<usize>()
}

fn estimated_value_size(v: &Value) -> usize {
    match v {
        Value::Null | Value::Bool(_) => 8,
        Value::Number(_) => 32,
        Value::String(text) => 24 + text.len(),
        Value::Array(list) => 24 + list.iter().map(estimated_value_size).sum::<usize>(),
        Value::Object(map) => 64 + map.iter().map(|(k, v)| 64 + k.len() + estimated_value_size(v)).sum::<usize>(),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn world(n: usize) -> Arc<World> {
        let vars = json!({"n": n, "diary": "x".repeat(20_000)});
        Arc::new(World::from_json(json!({"vars": vars, "lore": {}, "summary": "", "events": []})).unwrap())
    }

    /// S0-54: reads of any number of sessions keep a bounded number of bytes of worlds, the most recently used
    /// ones.
    #[test]
    fn world_cache_many_sessions_stays_within_byte_limit() {
        let caches = Caches::default();
        for n in 0..4_000 {
            let (node_n, world) = (i64::try_from(n).unwrap(), world(n));
            caches.keep_world(node_n, 0, &world);
            caches.request_keyframe(KeyframeRepair { session_n: 1, node_n, edits: 0, world });
            let (worlds, cuts) = (lock(&caches.worlds), lock(&caches.keyframe_repairs));
            assert!(worlds.bytes <= WORLD_BYTES && cuts.bytes <= REPAIR_BYTES);
            assert_eq!(worlds.bytes, worlds.entries.values().map(|(_, bytes, _)| bytes).sum::<usize>());
        }
        assert!(caches.world(3_999, 0).is_some() && caches.world(0, 0).is_none());
        let cuts = caches.take_keyframe_repairs();
        assert!(cuts.len() < 4_000 && cuts.last().is_some_and(|cut| cut.node_n == 3_999));
    }
}
