//! Maximum lengths of names and maximum counts, for requests and for imported files.

use std::collections::BTreeSet;

use super::edit::TreeError;
use crate::letters::fold_base_letters;

/// The maximum length of a speaker's name, in characters.
pub const MAX_SPEAKER_CHARS: usize = 200;
/// The maximum number of characters in one session.
pub const MAX_CHARACTERS: usize = 16;
/// The maximum number of lorebooks to which a new session is linked.
pub const MAX_NEW_SESSION_LOREBOOKS: usize = 64;
/// The maximum number of plugins of a session.
const MAX_PLUGINS: usize = 64;
/// The maximum length of a title, in characters.
pub const MAX_TITLE_CHARS: usize = 300;
/// The maximum length of a connection profile's name, in characters.
pub const MAX_PROFILE_NAME_CHARS: usize = 100;
/// The maximum length of a folder's name in the list of sessions, in characters.
const MAX_FOLDER_CHARS: usize = 100;
/// The maximum number of tags of a session.
const MAX_TAGS: usize = 50;
/// The maximum length of a tag, in characters.
const MAX_TAG_CHARS: usize = 60;
/// The maximum length of a document collection's name, in characters.
const MAX_COLLECTION_CHARS: usize = 100;
/// The maximum number of collections that a session searches.
const MAX_COLLECTIONS: usize = 32;
/// The maximum length of a model's name, in bytes.
const MAX_MODEL_BYTES: usize = 300;

/// The allowed tokens of messages per summary.
pub const SUMMARY_TOKEN_RANGE: std::ops::RangeInclusive<u32> = 100..=50_000;

/// Validates the name of a speaker.
///
/// # Errors
/// Returns an error if it is blank or too long.
pub fn check_speaker(name: &str) -> Result<(), TreeError> {
    if !name.trim().is_empty() && name.chars().count() <= MAX_SPEAKER_CHARS {
        return Ok(());
    }
    Err(invalid("name", format!("a name has 1 to {MAX_SPEAKER_CHARS} characters")))
}

/// Validates the title of a session.
///
/// # Errors
/// Returns an error if it is blank or too long.
pub fn check_title(title: &str) -> Result<(), TreeError> {
    if title.trim().is_empty() {
        return Err(invalid("title", "a title cannot be empty".to_owned()));
    }
    if title.chars().count() > MAX_TITLE_CHARS {
        return Err(invalid("title", format!("a title has at most {MAX_TITLE_CHARS} characters")));
    }
    Ok(())
}

/// Validates the name of a connection profile.
///
/// # Errors
/// Returns an error if it is blank, too long, or contains control characters.
pub fn check_profile_name(name: &str) -> Result<(), TreeError> {
    let is_long = name.chars().count() > MAX_PROFILE_NAME_CHARS;
    if !name.trim().is_empty() && !is_long && !name.chars().any(char::is_control) {
        return Ok(());
    }
    Err(invalid(
        "name",
        format!("the name of a connection profile is one line of 1 to {MAX_PROFILE_NAME_CHARS} characters"),
    ))
}

/// Validates the name of a folder in the list of sessions.
///
/// # Errors
/// Returns an error if it is empty, too long, contains control characters, or has white space around it.
pub fn check_folder(name: &str) -> Result<(), TreeError> {
    if is_list_name(name, MAX_FOLDER_CHARS) {
        return Ok(());
    }
    Err(invalid("folder", format!("a folder has 1 to {MAX_FOLDER_CHARS} characters and no surrounding spaces")))
}

/// Validates the tags of a session. Case and accents do not make two tags different.
///
/// # Errors
/// Returns an error if there are too many, if two are the same, or if one is empty, too long, contains control
/// characters, or has white space around it.
pub fn check_tags(tags: &[String]) -> Result<(), TreeError> {
    if tags.len() > MAX_TAGS {
        return Err(invalid("tags", format!("a session has at most {MAX_TAGS} tags")));
    }
    let mut forms = BTreeSet::new();
    for tag in tags {
        if !is_list_name(tag, MAX_TAG_CHARS) {
            let message = format!("a tag has 1 to {MAX_TAG_CHARS} characters and no surrounding spaces");
            return Err(invalid("tags", message));
        }
        if !forms.insert(fold_base_letters(tag)) {
            return Err(invalid("tags", format!("the tag \"{tag}\" appears twice")));
        }
    }
    Ok(())
}

fn is_list_name(name: &str, max_chars: usize) -> bool {
    let is_long = name.chars().count() > max_chars;
    !name.is_empty() && name.trim() == name && !is_long && !name.chars().any(char::is_control)
}

/// Validates the length of a model's name; does not check that the model exists.
///
/// # Errors
/// Returns an error if it is empty or too long.
pub fn check_model(name: &str) -> Result<(), TreeError> {
    if (1..=MAX_MODEL_BYTES).contains(&name.len()) {
        return Ok(());
    }
    Err(invalid("model", "expected a model name, as /api/models lists them".to_owned()))
}

/// Checks the number of plugins of a session.
///
/// # Errors
/// Returns an error if there are too many.
pub fn check_plugin_count(count: usize) -> Result<(), TreeError> {
    if count <= MAX_PLUGINS {
        return Ok(());
    }
    Err(invalid("plugins", format!("a session has at most {MAX_PLUGINS} plugins")))
}

/// Validates the name of a document collection.
///
/// # Errors
/// Returns an error if it is empty, too long, contains control characters, or has white space around it.
pub fn check_collection(name: &str) -> Result<(), TreeError> {
    let is_long = name.chars().count() > MAX_COLLECTION_CHARS;
    if !name.is_empty() && name.trim() == name && !is_long && !name.chars().any(char::is_control) {
        return Ok(());
    }
    let message =
        format!("the name of a collection has 1 to {MAX_COLLECTION_CHARS} characters and no surrounding spaces");
    Err(invalid("collection", message))
}

/// Validates the collections that a session searches.
///
/// # Errors
/// Returns an error if there are too many or a name is invalid.
pub fn check_collections(names: &[String]) -> Result<(), TreeError> {
    if names.len() > MAX_COLLECTIONS {
        return Err(invalid("recall", format!("a session searches at most {MAX_COLLECTIONS} collections")));
    }
    names.iter().try_for_each(|name| check_collection(name))
}

/// Validates the number of message tokens per summary.
///
/// # Errors
/// Returns an error if the number is out of [`SUMMARY_TOKEN_RANGE`].
pub fn check_summary_interval(tokens: u32) -> Result<(), TreeError> {
    if SUMMARY_TOKEN_RANGE.contains(&tokens) {
        return Ok(());
    }
    let message =
        format!("a summary covers {} to {} tokens of messages", SUMMARY_TOKEN_RANGE.start(), SUMMARY_TOKEN_RANGE.end());
    Err(invalid("summaries.every", message))
}

const fn invalid(field: &'static str, message: String) -> TreeError {
    TreeError::Invalid { field, message }
}
