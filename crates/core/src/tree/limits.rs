//! How long names may be and how many things there may be of a kind: the same for one who writes and for a file that comes
//! in.

use super::edit::TreeError;

/// The longest name of a speaker, in characters.
pub const MAX_SPEAKER_CHARS: usize = 200;
/// The most characters that play in one session.
pub const MAX_CHARACTERS: usize = 16;
/// The most plugins of a session.
const MAX_PLUGINS: usize = 64;
/// The longest title, in characters.
const MAX_TITLE_CHARS: usize = 300;
/// The longest name of a collection of documents, in characters.
const MAX_COLLECTION_CHARS: usize = 100;
/// The most collections that a session looks through.
const MAX_COLLECTIONS: usize = 32;
/// The longest name of a model, in bytes.
const MAX_MODEL_BYTES: usize = 300;

/// Tokens of messages that may become one summary.
pub const SUMMARY_TOKEN_RANGE: std::ops::RangeInclusive<u32> = 100..=50_000;

/// Whether somebody may speak under a name.
///
/// # Errors
/// It is blank or too long.
pub fn check_speaker(name: &str) -> Result<(), TreeError> {
    if !name.trim().is_empty() && name.chars().count() <= MAX_SPEAKER_CHARS {
        return Ok(());
    }
    Err(invalid("name", format!("a name has 1 to {MAX_SPEAKER_CHARS} characters")))
}

/// Whether a session may have a title.
///
/// # Errors
/// It is blank or too long.
pub fn title(title: &str) -> Result<(), TreeError> {
    if title.trim().is_empty() {
        return Err(invalid("title", "a title cannot be empty".to_owned()));
    }
    if title.chars().count() > MAX_TITLE_CHARS {
        return Err(invalid("title", format!("a title has at most {MAX_TITLE_CHARS} characters")));
    }
    Ok(())
}

/// Whether a model may be named so, as far as that can be said without looking it up.
///
/// # Errors
/// It is empty or too long.
pub fn model(name: &str) -> Result<(), TreeError> {
    if (1..=MAX_MODEL_BYTES).contains(&name.len()) {
        return Ok(());
    }
    Err(invalid("model", "a model's name is expected, as /api/models lists them".to_owned()))
}

/// Whether a session may have so many plugins.
///
/// # Errors
/// There are too many.
pub fn plugins(count: usize) -> Result<(), TreeError> {
    if count <= MAX_PLUGINS {
        return Ok(());
    }
    Err(invalid("plugins", format!("a session has at most {MAX_PLUGINS} plugins")))
}

/// Whether a collection of documents may be named so.
///
/// # Errors
/// It is blank, too long, or has white space around it.
pub fn check_collection(name: &str) -> Result<(), TreeError> {
    let is_long = name.chars().count() > MAX_COLLECTION_CHARS;
    if !name.is_empty() && name.trim() == name && !is_long && !name.chars().any(char::is_control) {
        return Ok(());
    }
    let message =
        format!("the name of a collection has 1 to {MAX_COLLECTION_CHARS} characters, and none around it blank");
    Err(invalid("collection", message))
}

/// Whether a session may look through these collections.
///
/// # Errors
/// There are too many, or one cannot be named so.
pub fn check_collections(names: &[String]) -> Result<(), TreeError> {
    if names.len() > MAX_COLLECTIONS {
        return Err(invalid("recall", format!("a session looks through at most {MAX_COLLECTIONS} collections")));
    }
    names.iter().try_for_each(|name| check_collection(name))
}

/// Whether so many tokens of messages may become one summary.
///
/// # Errors
/// They are too few or too many.
pub fn check_summary_interval(tokens: u32) -> Result<(), TreeError> {
    if SUMMARY_TOKEN_RANGE.contains(&tokens) {
        return Ok(());
    }
    let message = format!(
        "a summary is made of {} to {} tokens of messages",
        SUMMARY_TOKEN_RANGE.start(),
        SUMMARY_TOKEN_RANGE.end()
    );
    Err(invalid("summaries.every", message))
}

const fn invalid(field: &'static str, message: String) -> TreeError {
    TreeError::Invalid { field, message }
}
