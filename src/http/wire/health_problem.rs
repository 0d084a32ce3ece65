//! What can be wrong with a part of the server. To add a problem, add a variant, and texts for its code in both languages
//! of the page. A test compares them.

use clotho_core::coded_messages;

coded_messages! {
    /// Why a part of the server does not work.
    pub enum HealthProblem {
        /// The database does not answer.
        #[error("does not answer")]
        DatabaseSilent {} = "database_silent",
        /// The search index cannot be used now.
        #[error("is down or being checked")]
        IndexDown {} = "index_down",
        /// Some plugins cannot run.
        #[error("broken: {plugins}")]
        PluginsBroken { plugins: String } = "plugins_broken",
        /// The embedding model does not work.
        #[error("texts get no vectors, so only word search finds them: {error}")]
        NoVectors { error: String } = "no_vectors",
        /// Deleted data could not be erased.
        #[error("deleted data is still in files: erasing it failed {times} times, see the log")]
        EraseFailed { times: u64 } = "erase_failed",
    }
}
