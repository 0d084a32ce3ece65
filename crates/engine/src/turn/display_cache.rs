//! What plugins showed lately. The same reply is looked at often — by the next page, by everybody who watches a session — and a script
//! that only reads says the same of the same things: it is asked once.
//!
//! A reply has one entry, and what it was made of decides whether it still holds ([`DisplayKey`]). Who failed at it is not asked again either,
//! so that looking at a reply a second time is no second strike.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use lru::LruCache;

use clotho_core::ids::NodeId;
use clotho_core::tree::NodeProblem;
use clotho_plugin::Catalogue;
use clotho_store::ActiveRules;

/// The bytes that are kept, estimated.
const MAX_BYTES: usize = 4 << 20;
/// What an entry takes beside its texts.
const ENTRY_BYTES: usize = 256;

/// How a reply is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DisplayResult {
    /// The text; `None` = nobody changed it.
    pub text: Option<String>,
    /// Why some plugin did not have its say.
    pub problems: Vec<NodeProblem>,
}

/// All that a reply is shown by and that may change while the node stays: its facts and its dice do not.
#[derive(Debug, Clone)]
pub struct DisplayKey {
    /// The edit of the arrangement: worlds are others after it.
    pub arrangement_edit: i64,
    /// Where the node stands: edges from the root, and its turn.
    pub place: (i32, i32),
    /// The plugins in force with their settings and grants.
    pub rules: Arc<ActiveRules>,
    /// The code of this server's plugins.
    pub catalogue: Weak<Catalogue>,
    /// The text that it is shown with where nobody changes it.
    pub text: Arc<str>,
    /// The user's name.
    pub user: String,
    /// The speaker's name.
    pub character: String,
}

impl DisplayKey {
    /// Rules and code are the same if they are the same objects: what was read anew is a miss, never a mistake.
    fn is_same(&self, other: &Self) -> bool {
        let names = |made: &Self| (made.arrangement_edit, made.place);
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

/// Replies as they were shown lately; those that nobody wanted for longest go first.
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
    /// How a node was shown that was made of the same.
    pub fn find(&self, node: NodeId, made: &DisplayKey) -> Option<DisplayResult> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.all.get(&node).filter(|(known, _)| known.is_same(made)).map(|(_, shown)| shown.clone())
    }

    /// Keeps how a node is shown, in the place of what was kept of it.
    pub fn keep(&self, node: NodeId, made: DisplayKey, shown: DisplayResult) {
        let bytes = made.size_in_bytes(&shown);
        if bytes > MAX_BYTES / 4 {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.bytes += bytes;
        if let Some((made, shown)) = kept.all.put(node, (made, shown)) {
            kept.bytes -= made.size_in_bytes(&shown);
        }
        while kept.bytes > MAX_BYTES
            && let Some((_, (made, shown))) = kept.all.pop_lru()
        {
            kept.bytes -= made.size_in_bytes(&shown);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn as_text(text: &str) -> DisplayResult {
        DisplayResult { text: Some(text.to_owned()), problems: Vec::new() }
    }

    fn node(n: u128) -> NodeId {
        NodeId::new(uuid::Uuid::from_u128(n))
    }

    fn made(text: &str) -> DisplayKey {
        DisplayKey {
            arrangement_edit: 1,
            place: (3, 2),
            rules: Arc::default(),
            catalogue: Weak::new(),
            text: Arc::from(text),
            user: "Ada".into(),
            character: "Rin".into(),
        }
    }

    /// S3-18: it holds for what it was made of, and for nothing that differs in any one thing.
    #[test]
    fn display_cache_changed_key_misses() {
        let shown = DisplayCache::default();
        let same = made("He smiles.");
        shown.keep(node(1), same.clone(), as_text("HE SMILES."));
        assert_eq!(shown.find(node(1), &same), Some(as_text("HE SMILES.")));
        assert_eq!(shown.find(node(2), &same), None);
        let catalogue = Arc::new(Catalogue::default());
        for other in [
            DisplayKey { arrangement_edit: 2, ..same.clone() },
            DisplayKey { place: (4, 2), ..same.clone() },
            DisplayKey { place: (3, 3), ..same.clone() },
            DisplayKey { rules: Arc::default(), ..same.clone() },
            DisplayKey { catalogue: Arc::downgrade(&catalogue), ..same.clone() },
            DisplayKey { text: Arc::from("He smile."), ..same.clone() },
            DisplayKey { user: "Bo".into(), ..same.clone() },
            DisplayKey { character: "Ro".into(), ..same.clone() },
        ] {
            assert_eq!(shown.find(node(1), &other), None, "{other:?}");
        }
        let other = made("He frowns.");
        shown.keep(node(1), other.clone(), DisplayResult::default());
        assert_eq!((shown.find(node(1), &other), shown.find(node(1), &same)), (Some(DisplayResult::default()), None));
    }

    /// S0-54: so many bytes are kept, whatever their number; what was wanted last stays.
    #[test]
    fn display_cache_evicts_least_recently_used() {
        let shown = DisplayCache::default();
        let wanted = made("wanted");
        let made = |n: u32| DisplayKey { text: Arc::from(format!("{n}")), ..wanted.clone() };
        shown.keep(node(0), wanted.clone(), DisplayResult::default());
        let long = "x".repeat(9_000);
        for n in 1..=1_000 {
            shown.keep(node(n.into()), made(n), as_text(&long));
            assert_eq!(shown.find(node(0), &wanted), Some(DisplayResult::default()));
        }
        let (bytes, count) = {
            let kept = shown.0.lock().unwrap();
            (kept.all.iter().map(|(_, (made, shown))| made.size_in_bytes(shown)).sum::<usize>(), kept.all.len())
        };
        assert!(bytes <= MAX_BYTES && bytes == shown.0.lock().unwrap().bytes && count > 400, "{bytes} bytes, {count}");
        assert!(shown.find(node(1_000), &made(1_000)).is_some() && shown.find(node(1), &made(1)).is_none());
        shown.keep(node(5_000), made(5_000), as_text(&"x".repeat(2 * MAX_BYTES)));
        assert!(shown.find(node(5_000), &made(5_000)).is_none() && shown.find(node(0), &wanted).is_some());
    }
}
