//! Checks that several request bodies share.

use crate::http::error::{ApiError, ApiErrorCode};
use clotho_store::ExpectedVersion;

use super::ids::WireNodeId;

/// Returns the precondition of a write: the expected HEAD or the expected newest operation.
///
/// # Errors
/// Returns an error if both are set, because it is unclear which one applies.
pub fn expected_version(leaf: Option<WireNodeId>, op: Option<i64>) -> Result<Option<ExpectedVersion>, ApiError> {
    match (leaf, op) {
        (Some(_), Some(_)) => {
            Err(ApiError::invalid("expectedOp", "expected either expectedLeafId or expectedOp, not both"))
        }
        (Some(leaf), None) => Ok(Some(ExpectedVersion::Leaf(leaf.0))),
        (None, op) => Ok(op.map(ExpectedVersion::Op)),
    }
}

/// Checks that a time zone is one that this server knows.
pub fn check_time_zone(name: Option<&str>) -> Result<(), ApiError> {
    if name.is_none_or(|name| clotho_config::parse_time_zone(name).is_some()) {
        return Ok(());
    }
    Err(ApiError::invalid("timeZone", "expected a time zone such as Europe/Berlin, or an offset such as +02:00"))
}

/// Checks that a message's text is not empty and not longer than the limit.
pub fn check_content(content: &str, limit: usize) -> Result<(), ApiError> {
    if content.trim().is_empty() {
        return Err(ApiError::invalid("content", "a message cannot be empty"));
    }
    if content.len() > limit {
        let message = format!("a message has at most {limit} bytes");
        return Err(ApiError::new(ApiErrorCode::TooLarge, message).detail("field", "content").detail("limit", limit));
    }
    Ok(())
}
