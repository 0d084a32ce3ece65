//! Limits the parallel replies of one key. Others wait in order of arrival.

use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// One limit for all endpoints that share a key; clones are the same limit. The default has no limit.
#[derive(Debug, Clone, Default)]
pub struct ConcurrencyLimit(Option<Arc<Semaphore>>);

impl ConcurrencyLimit {
    /// Allows at most so many parallel replies; 0 = no limit.
    pub fn new(most: u32) -> Self {
        let most = usize::try_from(most).unwrap_or(Semaphore::MAX_PERMITS).min(Semaphore::MAX_PERMITS);
        Self((most > 0).then(|| Arc::new(Semaphore::new(most))))
    }

    /// Waits for a permit. Dropping it frees the place.
    pub(super) async fn acquire(&self) -> Option<OwnedSemaphorePermit> {
        let limit = Arc::clone(self.0.as_ref()?);
        // The semaphore is never closed.
        limit.acquire_owned().await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn concurrency_limit_full_next_request_waits() {
        let limit = ConcurrencyLimit::new(2);
        let shared = limit.clone();
        let first = limit.acquire().now_or_never().unwrap();
        let _second = shared.acquire().now_or_never().unwrap();
        assert!(limit.acquire().now_or_never().is_none());
        drop(first);
        assert!(limit.acquire().now_or_never().is_some());
        for open in [ConcurrencyLimit::new(0), ConcurrencyLimit::default()] {
            assert!(open.acquire().now_or_never().unwrap().is_none());
        }
    }
}
