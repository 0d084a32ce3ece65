//! The cache of `on_display` results. The same reply is read often: by the next page, and by every client that watches
//! a session. A script that only reads gives the same result for the same input, so it runs once.
//!
//! A reply has one entry, which is valid as long as its [`DisplayKey`] is the same. Failures are cached too, so that
//! reading a reply again is no second limit violation.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use lru::LruCache;

use clotho_core::ids::NodeId;
use clotho_core::tree::NodeProblem;
use clotho_plugin::Catalogue;
use clotho_store::ActiveRules;

/// The estimated size of the cache in bytes.
const MAX_BYTES: usize = 4 << 20;
/// The estimated overhead of an entry in bytes.
const ENTRY_BYTES: usize = 256;

/// A reply as it is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DisplayResult {
    /// The text; `None` = unchanged.
    pub text: Option<String>,
    /// Failures of plugins.
    pub problems: Vec<NodeProblem>,
}

/// All inputs of `on_display` that can change while the node exists. The node's own facts and dice seed cannot.
#[derive(Debug, Clone)]
pub struct DisplayKey {
    /// The edit counter of the arrangement; an edit can change worlds.
    pub arrangement_edit: i64,
    /// The depth of the node and its turn.
    pub position: (i32, i32),
    pub rules: Arc<ActiveRules>,
    /// The code of this server's plugins.
    pub catalogue: Weak<Catalogue>,
    /// The text as shown without plugins.
    pub text: Arc<str>,
    pub user: String,
    pub character: String,
}

impl DisplayKey {
    /// Compares two keys. Rules and code are compared by pointer, so a fresh read is a miss but never a wrong hit.
    fn is_same(&self, other: &Self) -> bool {
        let names = |key: &Self| (key.arrangement_edit, key.position);
        names(self) == names(other)
            && Arc::ptr_eq(&self.rules, &other.rules)
            && Weak::ptr_eq(&self.catalogue, &other.catalogue)
            && (&self.text, &self.user, &self.character) == (&other.text, &other.user, &other.character)
    }

    fn size_in_bytes(&self, shown: &DisplayResult) -> usize {
        let problems: usize = shown.problems.iter().map(|problem| ENTRY_BYTES + problem.message.len()).sum();
        let text = shown.text.as_ref().map_or(0, String::len);
        ENTRY_BYTES + self.text.len() + self.user.len() + self.character.len() + text + problems
    }
}

/// An LRU cache of display results, limited by bytes.
pub struct DisplayCache(Mutex<DisplayCacheState>);

struct DisplayCacheState {
    all: LruCache<NodeId, (DisplayKey, DisplayResult)>,
    bytes: usize,
}

impl Default for DisplayCache {
    fn default() -> Self {
        Self(Mutex::new(DisplayCacheState { all: LruCache::unbounded(), bytes: 0 }))
    }
}

impl DisplayCache {
    /// Returns the result for a node if its key is the same.
    pub fn find(&self, node: NodeId, key: &DisplayKey) -> Option<DisplayResult> {
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cache.all.get(&node).filter(|(cached_key, _)| cached_key.is_same(key)).map(|(_, shown)| shown.clone())
    }

    /// Stores the result for a node, replacing the old entry. Results larger than a quarter of the cache are not
    /// stored.
    pub fn insert(&self, node: NodeId, key: DisplayKey, shown: DisplayResult) {
        let bytes = key.size_in_bytes(&shown);
        if bytes > MAX_BYTES / 4 {
            return;
        }
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cache.bytes += bytes;
        if let Some((key, shown)) = cache.all.put(node, (key, shown)) {
            cache.bytes -= key.size_in_bytes(&shown);
        }
        while cache.bytes > MAX_BYTES
            && let Some((_, (key, shown))) = cache.all.pop_lru()
        {
            cache.bytes -= key.size_in_bytes(&shown);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn display_result(text: &str) -> DisplayResult {
        DisplayResult { text: Some(text.to_owned()), problems: Vec::new() }
    }

    fn node_id(n: u128) -> NodeId {
        NodeId::new(uuid::Uuid::from_u128(n))
    }

    fn display_key(text: &str) -> DisplayKey {
        DisplayKey {
            arrangement_edit: 1,
            position: (3, 2),
            rules: Arc::default(),
            catalogue: Weak::new(),
            text: Arc::from(text),
            user: "Ada".into(),
            character: "Rin".into(),
        }
    }

    /// S3-18: an entry is valid for its own key and for none that differs in one field.
    #[test]
    fn display_cache_changed_key_misses() {
        let shown = DisplayCache::default();
        let same = display_key("He smiles.");
        shown.insert(node_id(1), same.clone(), display_result("HE SMILES."));
        assert_eq!(shown.find(node_id(1), &same), Some(display_result("HE SMILES.")));
        assert_eq!(shown.find(node_id(2), &same), None);
        let catalogue = Arc::new(Catalogue::default());
        for other in [
            DisplayKey { arrangement_edit: 2, ..same.clone() },
            DisplayKey { position: (4, 2), ..same.clone() },
            DisplayKey { position: (3, 3), ..same.clone() },
            DisplayKey { rules: Arc::default(), ..same.clone() },
            DisplayKey { catalogue: Arc::downgrade(&catalogue), ..same.clone() },
            DisplayKey { text: Arc::from("He smile."), ..same.clone() },
            DisplayKey { user: "Bo".into(), ..same.clone() },
            DisplayKey { character: "Ro".into(), ..same.clone() },
        ] {
            assert_eq!(shown.find(node_id(1), &other), None, "{other:?}");
        }
        let other = display_key("He frowns.");
        shown.insert(node_id(1), other.clone(), DisplayResult::default());
        assert_eq!(
            (shown.find(node_id(1), &other), shown.find(node_id(1), &same)),
            (Some(DisplayResult::default()), None)
        );
    }

    /// S0-54: the cache is limited by bytes, not by count, and evicts the least recently used entries.
    #[test]
    fn display_cache_evicts_least_recently_used() {
        let shown = DisplayCache::default();
        let wanted = display_key("wanted");
        let key = |n: u32| DisplayKey { text: Arc::from(format!("{n}")), ..wanted.clone() };
        shown.insert(node_id(0), wanted.clone(), DisplayResult::default());
        let long = "x".repeat(9_000);
        for n in 1..=1_000 {
            shown.insert(node_id(n.into()), key(n), display_result(&long));
            assert_eq!(shown.find(node_id(0), &wanted), Some(DisplayResult::default()));
        }
        let (bytes, count) = {
            let cache = shown.0.lock().unwrap();
            (cache.all.iter().map(|(_, (key, shown))| key.size_in_bytes(shown)).sum::<usize>(), cache.all.len())
        };
        assert!(bytes <= MAX_BYTES && bytes == shown.0.lock().unwrap().bytes && count > 400, "{bytes} bytes, {count}");
        assert!(shown.find(node_id(1_000), &key(1_000)).is_some() && shown.find(node_id(1), &key(1)).is_none());
        shown.insert(node_id(5_000), key(5_000), display_result(&"x".repeat(2 * MAX_BYTES)));
        assert!(shown.find(node_id(5_000), &key(5_000)).is_none() && shown.find(node_id(0), &wanted).is_some());
    }
}
