//! What a readable export shows of a story: its head and its messages.

use clotho_core::tree::Role;
use clotho_store::CardFile;

/// What stands before the messages.
pub struct ReadableHeader {
    /// What the story is called.
    pub name: String,
    /// Who plays, each with a small picture where there is one.
    pub cast: Vec<(String, Option<CardFile>)>,
    /// The days from the first to the last message: one, two, or none.
    pub days: Vec<String>,
}

/// A message as readers see it.
pub struct ReadableMessage<'a> {
    /// Who speaks.
    pub name: String,
    /// As whom.
    pub role: Role,
    /// The text, without what readers never see.
    pub text: &'a str,
}
