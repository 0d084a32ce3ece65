//! The state at a node, the deltas of a branch, and manual changes.

use actix_web::HttpRequest;

use super::messages::start_response;
use super::{AppData, conditional_read, conditional_read_inline};
use crate::http::body::JsonBody;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{NodeIdPath, QueryParams, SessionIdPath};
use crate::http::response::{ApiResponse, ApiResult};
use crate::http::wire::checks::expected_version;
use crate::http::wire::messages::TurnStartResponse;
use crate::http::wire::tree::BranchQuery;
use crate::http::wire::world::{DeltasResponse, UpdateWorldRequest, WorldResponse};
use clotho_core::world::{MalformedOperation, StateOperation, WorldSection};
use clotho_queries::error::ReadError;
use clotho_queries::lookup::load_node;
use clotho_queries::worlds::{branch_deltas, world_at};
use clotho_store::{StoreReader, StoredSession};

/// Maximum number of operations per change.
const MAX_OPERATIONS: usize = 256;

/// Returns the state after a node, with the schemas that are active there.
///
/// # Errors
/// Returns an error if the node does not exist.
pub async fn world(
    app: AppData,
    request: HttpRequest,
    caller: Caller,
    sid: SessionIdPath,
    nid: NodeIdPath,
) -> ApiResult<WorldResponse> {
    let catalogue = app.catalogue.current();
    let read = move |reader: &mut StoreReader<'_>, stored: &StoredSession| {
        let at = load_node(reader, stored, nid.0)?;
        Ok::<_, ReadError>(world_at(reader, stored, &at, &catalogue)?)
    };
    let conditional = conditional_read_inline(&app, &request, caller, sid, read).await?;
    conditional.respond(|view| ApiResponse::ok(&WorldResponse::new(nid.0, view)))
}

/// Returns the non-empty deltas of one page of a branch, oldest first. One request replaces one per message.
///
/// # Errors
/// Returns an error if the session or a node does not exist.
pub async fn deltas(
    app: AppData,
    request: HttpRequest,
    caller: Caller,
    sid: SessionIdPath,
    query: QueryParams<BranchQuery>,
) -> ApiResult<DeltasResponse> {
    let selection = query.0.read(50);
    let read = move |reader: &mut StoreReader<'_>, stored: &StoredSession| branch_deltas(reader, stored, &selection);
    conditional_read(&app, &request, caller, sid, read).await?.respond_json()
}

/// Changes the state manually, as a hidden node below this one.
///
/// # Errors
/// Returns an error if the node does not exist or an operation is invalid.
pub async fn update(
    app: AppData,
    caller: Caller,
    sid: SessionIdPath,
    nid: NodeIdPath,
    body: JsonBody<UpdateWorldRequest>,
) -> ApiResult<TurnStartResponse> {
    let operations = parse_operations(&body.0)?;
    let expected = expected_version(body.0.expected_leaf_id, body.0.expected_op)?;
    let started = app.turns.sessions.change_world(caller.0, sid.0, nid.0, operations, expected).await?;
    start_response(&app, caller, sid, started).await
}

fn parse_operations(change: &UpdateWorldRequest) -> Result<Vec<StateOperation>, ApiError> {
    if change.operations.is_empty() || change.operations.len() > MAX_OPERATIONS {
        return Err(ApiError::invalid("operations", format!("expected 1 to {MAX_OPERATIONS} operations")));
    }
    let read = |(i, wire): (usize, &serde_json::Value)| {
        let place = format!("operations[{i}]");
        let mut operation = StateOperation::from_json(wire).map_err(|error| {
            let field = malformed_field(&error).map_or_else(|| place.clone(), |field| format!("{place}.{field}"));
            ApiError::invalid(&field, error.to_string())
        })?;
        if operation.section != WorldSection::Vars {
            return Err(ApiError::invalid(&format!("{place}.in"), "only \"vars\" can be changed by hand"));
        }
        // The server sets the author; the client cannot.
        operation.by = "user".to_owned();
        Ok(operation)
    };
    change.operations.iter().enumerate().map(read).collect()
}

fn malformed_field(error: &MalformedOperation) -> Option<String> {
    match error {
        MalformedOperation::NotAnObject => None,
        MalformedOperation::Missing(field)
        | MalformedOperation::Wrong { field, .. }
        | MalformedOperation::Path { field, .. } => Some((*field).to_owned()),
        MalformedOperation::Unknown(field) => Some(field.clone()),
    }
}
