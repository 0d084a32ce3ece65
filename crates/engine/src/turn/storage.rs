//! The stored trees: reads and writes, with the time and the ids of what is written.

use std::sync::Arc;

use clotho_core::clock::{Clock, IdGenerator};
use clotho_store::Store;

/// What reads and writes trees.
pub(crate) struct TreeStorage {
    pub store: Arc<Store>,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<IdGenerator>,
}
