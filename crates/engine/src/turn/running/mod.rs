//! What runs at the moment, and what waits to run: the requests of running replies, the queue of the summarizer and the
//! model calls of plugins. Nothing here is stored; the state of a reply is in the tree.
//!
//! To add work in the background, put its queue into a file here and its field into [`RunningWork`].

mod plugin_calls;
mod requests;
mod summary_queue;
mod work;

pub use plugin_calls::{MAX_PER_SESSION, PluginModelCalls};
pub use requests::{RunningRequest, RunningRequests};
pub use summary_queue::SummaryQueue;
pub(crate) use work::RunningWork;
pub use work::SaveIntervals;
