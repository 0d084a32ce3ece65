//! Search over all branches.

use std::time::Instant;

use super::AppData;
use crate::http::caller::Caller;
use crate::http::error::{ApiError, ApiErrorCode};
use crate::http::query::QueryParams;
use crate::http::response::{ApiResponse, ApiResult};
use crate::http::wire::search::{SearchQuery, SearchResponse};
use clotho_queries::search::{MessageSearchError, search_messages};
use clotho_search::{QueryError, SearchError};

/// Returns the matches with excerpts.
///
/// # Errors
/// Returns an error if the query is invalid or the index cannot be read.
pub async fn search(app: AppData, caller: Caller, query: QueryParams<SearchQuery>) -> ApiResult<SearchResponse> {
    let begun = Instant::now();
    let wanted = query.0.read()?;
    let found = search_messages(&app.store, &app.search, caller.0, &wanted, app.clock.now()).await?;
    let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    ApiResponse::ok(&SearchResponse::new(found, took_ms))
}

impl From<MessageSearchError> for ApiError {
    fn from(error: MessageSearchError) -> Self {
        match error {
            MessageSearchError::Store(error) => error.into(),
            MessageSearchError::Index(error) => error.into(),
            MessageSearchError::Query(error) => query_error(error),
            MessageSearchError::UnknownName { error, known, rebuilding } => {
                let refusal = query_error(error).detail("known", known);
                match rebuilding {
                    Some(percent) => {
                        refusal.hint(format!("the search index is being rebuilt, {percent} % done: try again"))
                    }
                    None => refusal,
                }
            }
            MessageSearchError::Task(error) => Self::internal(error),
        }
    }
}

/// Returns the error for an invalid query, with its position.
fn query_error(error: QueryError) -> ApiError {
    let refusal = ApiError::invalid("q", error.to_string()).detail("at", error.at()).detail("length", error.length());
    refusal.detail("reason", error.as_str()).detail("what", error.what())
}

impl From<SearchError> for ApiError {
    fn from(error: SearchError) -> Self {
        let mut refusal = Self::new(ApiErrorCode::Unavailable, "the search index cannot be read at the moment");
        refusal.cause = Some(error.to_string());
        refusal
    }
}
