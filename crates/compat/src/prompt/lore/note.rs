//! What a scan gave up or left unread.

use clotho_core::coded_messages;

coded_messages! {
    /// A message to the user about a part of a scan that was aborted, or of a lorebook that was not read.
    pub enum LoreNote {
        /// The keys and the texts are too large together.
        #[error("the lorebooks have too many keys for a text of this length")]
        TooManyKeys {} = "too_many_keys",
        /// The regex keys are too expensive together.
        #[error("the lorebooks have too many regex keys")]
        TooManyPatterns {} = "too_many_patterns",
        /// There were too many passes.
        #[error("the entries trigger each other without end")]
        EndlessActivation {} = "endless_activation",
        /// One regex key was too expensive.
        #[error("a regex among the keys took too long; it counts as not matched")]
        SlowPattern {} = "slow_pattern",
        /// Old messages were not scanned.
        #[error("the messages are too long to scan all of them for lorebook keys")]
        MessagesTooLong {} = "messages_too_long",
        /// Texts of entries were not scanned.
        #[error("the recursion reached its text limit; the remaining entry texts were not scanned")]
        RecursionTooLong {} = "recursion_too_long",
        /// A lorebook has more entries than are read.
        #[error("only the first {limit} entries of a book are read")]
        TooManyEntries { limit: usize } = "too_many_entries",
        /// An entry has more keys than are used.
        #[error("only the first {limit} keys of entry {uid} are used")]
        TooManyEntryKeys { limit: usize, uid: String } = "too_many_entry_keys",
    }
}
