//! The whole tree and its operation log.

use actix_web::HttpRequest;
use indexmap::IndexMap;

use super::{AppData, conditional_read, load_session, node_renderer};
use crate::http::caller::Caller;
use crate::http::error::{ApiError, ApiErrorCode};
use crate::http::query::{QueryParams, SessionIdPath};
use crate::http::response::{ApiResponse, ApiResult, write};
use crate::http::wire::ids::WireId;
use crate::http::wire::node::NodeRenderer;
use crate::http::wire::tree::{
    ChatHistoryTree, OperationsQuery, OperationsResponse, TreeQuery, TreeResponse, TreeShapeParam, TreeSkeleton,
};
use crate::http::wire::tree_edits::{FragmentResponse, LabelResponse};
use crate::http::wire::{MAX_PAGE_SIZE, check_limit, decode_cursor, encode_cursor};
use clotho_store::{StoreReader, StoredSession};

/// Maximum number of nodes of a whole tree in one answer.
const WHOLE: i64 = 20_000;

/// Returns the whole tree, a page of it, or its outline.
///
/// # Errors
/// Returns an error if the session does not exist or the tree is too large for one answer.
pub async fn tree(
    app: AppData,
    request: HttpRequest,
    caller: Caller,
    sid: SessionIdPath,
    query: QueryParams<TreeQuery>,
) -> ApiResult<TreeResponse> {
    let look = NodeRenderer { live: None, ..node_renderer(&app) };
    let limit = check_limit(query.0.limit, MAX_PAGE_SIZE)?;
    let after = match query.0.cursor.as_deref() {
        Some("") => Some(0),
        Some(cursor) => Some(decode_cursor(cursor)?),
        None => None,
    };
    let shape = query.0.shape.unwrap_or_default();
    let read = move |reader: &mut StoreReader<'_>, held: &StoredSession| match (shape, after) {
        (TreeShapeParam::Skeleton, _) => skeleton_json(reader, held, &look),
        (TreeShapeParam::Full, Some(after)) => page_json(reader, held, &look, after, limit),
        (TreeShapeParam::Full, None) => full_json(reader, held, &look),
    };
    conditional_read(&app, &request, caller, sid, read).await?.shown(|json| Ok(ApiResponse::from_json(json)))
}

fn full_json(reader: &mut StoreReader<'_>, held: &StoredSession, look: &NodeRenderer) -> Result<Vec<u8>, ApiError> {
    let size = held.counts.nodes + 1;
    if size > WHOLE {
        let error =
            ApiError::new(ApiErrorCode::TooLarge, format!("the tree has {size} nodes, more than one answer holds"));
        let hint = "ask for ?shape=skeleton, or for pages: ?cursor= first, then what \"next\" says";
        return Err(error.hint(hint).detail("nodes", size).detail("limit", WHOLE));
    }
    page_json(reader, held, look, 0, WHOLE)
}

fn page_json(
    reader: &mut StoreReader<'_>,
    held: &StoredSession,
    look: &NodeRenderer,
    after: i64,
    limit: i64,
) -> Result<Vec<u8>, ApiError> {
    let placed = reader.tree_page(held, after, limit)?;
    let is_full = i64::try_from(placed.len()).is_ok_and(|read| read == limit);
    let next = placed.last().filter(|_| is_full).map(|last| encode_cursor(last.n));
    let mut nodes = IndexMap::with_capacity(placed.len());
    for dressed in reader.node_details(placed)? {
        nodes.insert(WireId(dressed.node.node.id), look.node(dressed));
    }
    let (stash, labels) = fragments_and_labels(reader, held)?;
    let session = &held.session;
    write(&ChatHistoryTree {
        session_id: WireId(session.id),
        title: session.title.clone(),
        root_node_id: WireId(session.root),
        active_leaf_id: WireId(session.head),
        op: session.op,
        nodes,
        stash,
        labels,
        next,
        created_at: session.created.to_string(),
        updated_at: session.updated.to_string(),
    })
}

fn skeleton_json(reader: &mut StoreReader<'_>, held: &StoredSession, look: &NodeRenderer) -> Result<Vec<u8>, ApiError> {
    let sketches = reader.outline(held)?;
    let (stash, labels) = fragments_and_labels(reader, held)?;
    let mut skeleton = TreeSkeleton { stash, labels, ..TreeSkeleton::of_session(&held.session) };
    skeleton.fill_previews(sketches, |role, text| look.display(role, text));
    write(&skeleton)
}

/// Returns the fragments and labels of a tree.
fn fragments_and_labels(
    reader: &mut StoreReader<'_>,
    held: &StoredSession,
) -> Result<(Vec<FragmentResponse>, Vec<LabelResponse>), ApiError> {
    let stash = reader.stash(held)?.into_iter().map(Into::into).collect();
    Ok((stash, reader.labels(held)?.into_iter().map(Into::into).collect()))
}

/// Returns a page of the operation log.
///
/// # Errors
/// Returns an error if the session does not exist.
pub async fn operations(
    app: AppData,
    caller: Caller,
    sid: SessionIdPath,
    query: QueryParams<OperationsQuery>,
) -> ApiResult<OperationsResponse> {
    let limit = check_limit(query.0.limit, 50)?;
    let since = query.0.since.unwrap_or(0);
    if since < 0 {
        return Err(ApiError::invalid("since", "the number of an operation is expected, 0 for the beginning"));
    }
    let read = move |reader: &mut StoreReader<'_>| {
        let held = load_session(reader, caller, sid)?;
        let items = reader.operations(&held, since, limit)?;
        Ok::<_, ApiError>((items, held.session.op))
    };
    let (operations, op) = app.store.read(read).await?;
    let next = operations.last().map(|last| last.op).filter(|last| *last < op);
    ApiResponse::ok(&OperationsResponse { items: operations.iter().map(Into::into).collect(), next, op })
}
