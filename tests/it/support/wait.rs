//! Waits for results of other threads or processes. Only a failing test waits until the limit.

use std::time::Duration;

/// The pause between two checks.
const PAUSE: Duration = Duration::from_millis(10);
/// The number of checks; each takes some time too.
const LOOKS: usize = 6_000;

/// Waits until a condition holds.
pub async fn wait_until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    wait_for_some(what, async || holds().await.then_some(())).await;
}

/// Waits until `look` returns a value, and returns it.
pub async fn wait_for_some<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    for _ in 0..LOOKS {
        if let Some(found) = look().await {
            return found;
        }
        tokio::time::sleep(PAUSE).await;
    }
    panic!("{what} never came to be");
}
