//! Limits the parallel replies of one key. Others wait in order of arrival.

use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// One lane for all endpoints that share a key; clones are the same lane. The default has no limit.
#[derive(Debug, Clone, Default)]
pub struct Lane(Option<Arc<Semaphore>>);

impl Lane {
    /// Creates a lane for at most so many parallel replies; 0 = no limit.
    pub fn new(most: u32) -> Self {
        let most = usize::try_from(most).unwrap_or(Semaphore::MAX_PERMITS).min(Semaphore::MAX_PERMITS);
        Self((most > 0).then(|| Arc::new(Semaphore::new(most))))
    }

    /// Waits for a permit. Dropping it frees the place.
    pub(super) async fn acquire(&self) -> Option<OwnedSemaphorePermit> {
        let lane = Arc::clone(self.0.as_ref()?);
        // The semaphore is never closed.
        lane.acquire_owned().await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn lane_full_next_request_waits() {
        let lane = Lane::new(2);
        let shared = lane.clone();
        let first = lane.acquire().now_or_never().unwrap();
        let _second = shared.acquire().now_or_never().unwrap();
        assert!(lane.acquire().now_or_never().is_none());
        drop(first);
        assert!(lane.acquire().now_or_never().is_some());
        for open in [Lane::new(0), Lane::default()] {
            assert!(open.acquire().now_or_never().unwrap().is_none());
        }
    }
}
