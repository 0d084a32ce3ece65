//! What a readable export shows: a header and messages.

use clotho_core::tree::Role;
use clotho_store::CardFile;

/// The header of a readable export.
pub struct ReadableHeader {
    /// The title.
    pub name: String,
    /// The names of characters and persona, each with a thumbnail if there is one.
    pub cast: Vec<(String, Option<CardFile>)>,
    /// The dates of the first and the last message: two, one if they are equal, or none.
    pub days: Vec<String>,
}

/// A message as readers see it.
pub struct ReadableMessage<'a> {
    /// The speaker.
    pub name: String,
    pub role: Role,
    /// The text without hidden blocks.
    pub text: &'a str,
}
