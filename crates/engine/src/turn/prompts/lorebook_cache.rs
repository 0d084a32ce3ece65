//! The cache of parsed lorebooks: parsing a large one takes longer than scanning it. The key is the id with the time of
//! the last change, so an old version is never used. The least recently used books are evicted first.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use clotho_compat::prompt::lore::ScanBook;
use clotho_core::clock::Time;
use clotho_core::ids::LorebookId;

/// The estimated size of all cached books, in bytes.
const MAX_BYTES: usize = 128 << 20;

/// An LRU cache of lorebooks, limited by bytes.
#[derive(Default)]
pub struct LorebookCache(Mutex<LorebookCacheState>);

#[derive(Default)]
struct LorebookCacheState {
    books: HashMap<LorebookId, LorebookCacheEntry>,
    bytes: usize,
    /// A counter of lookups, used as the clock of the LRU.
    asked: u64,
}

struct LorebookCacheEntry {
    updated: Time,
    book: Arc<ScanBook>,
    bytes: usize,
    asked: u64,
}

impl fmt::Debug for LorebookCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shelf").finish_non_exhaustive()
    }
}

impl LorebookCache {
    /// Returns a book in the version of `updated`, if it is cached.
    pub fn get(&self, id: LorebookId, updated: Time) -> Option<Arc<ScanBook>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.asked += 1;
        let asked = kept.asked;
        let own = kept.books.get_mut(&id).filter(|own| own.updated == updated)?;
        own.asked = asked;
        Some(Arc::clone(&own.book))
    }

    /// Stores a book, unless it is larger than the whole cache.
    pub fn put(&self, id: LorebookId, updated: Time, book: &Arc<ScanBook>) {
        let bytes = book.bytes();
        if bytes > MAX_BYTES {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = kept.asked;
        let before = kept.books.insert(id, LorebookCacheEntry { updated, book: Arc::clone(book), bytes, asked });
        kept.bytes = (kept.bytes + bytes).saturating_sub(before.map_or(0, |before| before.bytes));
        while kept.bytes > MAX_BYTES {
            let oldest = kept.books.iter().filter(|(other, _)| **other != id).min_by_key(|(_, one)| one.asked);
            let Some(oldest) = oldest.map(|(id, _)| *id) else { return };
            let gone = kept.books.remove(&oldest).map_or(0, |one| one.bytes);
            kept.bytes = kept.bytes.saturating_sub(gone);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn book(bytes: usize) -> Arc<ScanBook> {
        let book = json!({"entries": {"0": {"key": ["a"], "content": "x".repeat(bytes)}}});
        Arc::new(ScanBook::read("b", "B", book.as_object().unwrap()))
    }

    /// A changed book is a miss, and the least recently used books are evicted.
    #[test]
    fn lorebook_cache_changed_or_oldest_book_is_evicted() {
        let cache = LorebookCache::default();
        let id = |n: u8| LorebookId::from_slice(&[n; 16]).unwrap();
        cache.put(id(1), Time(1), &book(10));
        assert!(cache.get(id(1), Time(1)).is_some() && cache.get(id(1), Time(2)).is_none());
        let large = book(MAX_BYTES / 3);
        for n in 2..=3 {
            cache.put(id(n), Time(1), &large);
        }
        assert!(cache.get(id(2), Time(1)).is_some(), "asked for last");
        cache.put(id(4), Time(1), &large);
        let left: Vec<bool> = (1..=4).map(|n| cache.get(id(n), Time(1)).is_some()).collect();
        assert_eq!(left, [false, true, false, true]);
    }
}
