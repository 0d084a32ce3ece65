//! Waiting for what comes by itself, on another thread or in another process. Only a failing test waits to the end.

use std::time::Duration;

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(10);
/// So often is looked; a look takes time too.
const LOOKS: usize = 6_000;

/// Waits until something holds.
pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    until_some(what, async || holds().await.then_some(())).await;
}

/// Waits until there is something, and answers with it.
pub async fn until_some<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    for _ in 0..LOOKS {
        if let Some(found) = look().await {
            return found;
        }
        tokio::time::sleep(PAUSE).await;
    }
    panic!("{what} never came to be");
}
