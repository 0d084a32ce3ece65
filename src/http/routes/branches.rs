//! Several branches of a tree: the list, the comparison of two, and the history of values along them.

use actix_web::HttpRequest;
use serde_json::Value;

use super::{AppData, conditional_read, load_node, node_renderer};
use crate::http::caller::Caller;
use crate::http::error::{ApiError, ApiErrorCode};
use crate::http::query::{QueryParams, SessionIdPath};
use crate::http::response::ApiResult;
use crate::http::wire::branches::{
    BranchResponse, DiffOperations, DiffQuery, DiffResponse, DiffSide, VariablePoint, VariableSeries, VariablesQuery,
    VariablesResponse, WorldDifferenceResponse, operation_json,
};
use crate::http::wire::ids::WireId;
use crate::http::wire::node::NodeRenderer;
use crate::http::wire::{MAX_PAGE_SIZE, PageQuery, PageResponse, check_limit, decode_cursor, encode_cursor};
use clotho_core::ids::NodeId;
use clotho_core::world::{ChangedPaths, PathChange, Pointer, World, diff};
use clotho_store::{self as store, PathPoint, StoreReader, StoredNode, StoredSession};

/// Length of a branch's preview in characters.
const PREVIEW_CHARS: usize = 160;
/// Maximum number of operations per side and path.
const MAX_OPERATIONS: usize = 50;
/// Maximum number of paths, and of branches, per request.
const MAX_BRANCHES: usize = 16;
/// Maximum size of the values of one answer, in bytes of JSON.
const MAX_RESPONSE_BYTES: usize = 8 << 20;

/// Lists the branches of a session, newest first.
///
/// # Errors
/// Returns an error if the session does not exist.
pub async fn branches(
    app: AppData,
    request: HttpRequest,
    caller: Caller,
    sid: SessionIdPath,
    query: QueryParams<PageQuery>,
) -> ApiResult<PageResponse<BranchResponse>> {
    let limit = check_limit(query.0.limit, 50)?;
    let before = query.0.cursor.as_deref().map_or(Ok(i64::MAX), decode_cursor)?;
    let look = node_renderer(&app);
    let read = move |reader: &mut StoreReader<'_>, held: &StoredSession| {
        let found = reader.branches(held, before, limit)?;
        let is_full = i64::try_from(found.len()).is_ok_and(|read| read == limit);
        let next = found.last().filter(|_| is_full).map(|oldest| encode_cursor(oldest.leaf.n));
        Ok(PageResponse { items: found.into_iter().map(|one| branch_response(held, &look, one)).collect(), next })
    };
    conditional_read(&app, &request, caller, sid, read).await?.json()
}

fn branch_response(held: &StoredSession, look: &NodeRenderer, branch: store::SessionBranch) -> BranchResponse {
    let leaf = branch.leaf.node;
    BranchResponse {
        leaf_id: WireId(leaf.id),
        depth: leaf.depth,
        turns: leaf.turn,
        preview: branch.last.map(|last| look.preview(&last.node, PREVIEW_CHARS)).unwrap_or_default(),
        status: leaf.status.into(),
        is_unread: leaf.is_unread,
        parting_id: WireId(branch.fork),
        is_trunk: leaf.id == held.session.head,
        labels: branch.labels.into_iter().map(Into::into).collect(),
        timestamp: leaf.created.to_string(),
    }
}

/// Compares two branches: the nodes of each below the common ancestor, and the differences of their states with the
/// operations that caused them.
///
/// # Errors
/// Returns an error if the session or a node does not exist.
pub async fn compare(
    app: AppData,
    request: HttpRequest,
    caller: Caller,
    sid: SessionIdPath,
    query: QueryParams<DiffQuery>,
) -> ApiResult<DiffResponse> {
    let limit = check_limit(query.0.limit, 200)?;
    let look = node_renderer(&app);
    let here = look.clone();
    let read = move |reader: &mut StoreReader<'_>, held: &StoredSession| {
        let mut end =
            |named: Option<WireId<NodeId>>| load_node(reader, held, named.map_or(held.session.head, |id| id.0));
        let (from, to) = (end(query.0.from)?, end(query.0.to)?);
        let ancestor = reader.common_ancestor(held, &from, &to)?;
        Ok(DiffResponse {
            ancestor_id: WireId(ancestor.node.id),
            from: diff_side(reader, held, &here, &ancestor, &from, limit)?,
            to: diff_side(reader, held, &here, &ancestor, &to, limit)?,
            world: world_differences(reader, held, &ancestor, &from, &to)?,
            op: held.session.op,
        })
    };
    let mut sight = conditional_read(&app, &request, caller, sid, read).await?;
    sight.asked(&look, caller, sid, |diff| diff.from.items.iter_mut().chain(&mut diff.to.items)).await?;
    sight.json()
}

fn diff_side(
    reader: &mut StoreReader<'_>,
    held: &StoredSession,
    look: &NodeRenderer,
    ancestor: &StoredNode,
    leaf: &StoredNode,
    limit: i64,
) -> Result<DiffSide, ApiError> {
    let (count, page) = reader.path_page_below(held, ancestor, leaf, limit)?;
    let dressed = reader.node_details(page.nodes)?;
    let items = look.line(reader, dressed)?;
    Ok(DiffSide { leaf_id: WireId(leaf.node.id), count, items, next: page.next.map(WireId) })
}

fn world_differences(
    reader: &mut StoreReader<'_>,
    held: &StoredSession,
    ancestor: &StoredNode,
    from: &StoredNode,
    to: &StoredNode,
) -> Result<Vec<WorldDifferenceResponse>, ApiError> {
    let changes = diff(&*reader.world(held, from)?, &*reader.world(held, to)?);
    let mut room = MAX_RESPONSE_BYTES;
    let by_from = operations_by_path(reader, ancestor, from, &changes, &mut room)?;
    let by_to = operations_by_path(reader, ancestor, to, &changes, &mut room)?;
    let told = by_from.into_iter().zip(by_to);
    let told = told.map(|(from, to)| DiffOperations { more: from.more || to.more, from: from.deeds, to: to.deeds });
    let rows = changes.into_iter().zip(told).map(|(change, operations)| WorldDifferenceResponse {
        path: change.path.to_string(),
        from: change.before,
        to: change.after,
        operations,
    });
    Ok(rows.collect())
}

/// The operations of one branch on one path.
#[derive(Default, Clone)]
struct PathOperations {
    deeds: Vec<Value>,
    more: bool,
}

/// Collects the operations of one branch for each path that differs, as far as the size limit allows.
fn operations_by_path(
    reader: &mut StoreReader<'_>,
    ancestor: &StoredNode,
    leaf: &StoredNode,
    changes: &[PathChange],
    room: &mut usize,
) -> Result<Vec<PathOperations>, ApiError> {
    let differences = ChangedPaths::new(changes);
    let mut told = vec![PathOperations::default(); changes.len()];
    let mut open = told.len();
    reader.path_operations(ancestor, leaf, |node, operations| {
        for operation in operations.iter().rev() {
            let deed = operation_json(node, operation);
            let weight = deed.to_string().len();
            for place in differences.changes_touched_by(operation) {
                let Some(one) = told.get_mut(place).filter(|one| !one.more) else { continue };
                if one.deeds.len() < MAX_OPERATIONS && weight <= *room {
                    *room -= weight;
                    one.deeds.push(deed.clone());
                } else {
                    one.more = true;
                    open -= 1;
                }
            }
        }
        open > 0
    })?;
    told.iter_mut().for_each(|one| one.deeds.reverse());
    Ok(told)
}

/// Returns the history of values along branches: the value at each path after each node.
///
/// # Errors
/// Returns an error if the session or a node does not exist, a path is invalid, or the values exceed the size limit.
pub async fn variables(
    app: AppData,
    request: HttpRequest,
    caller: Caller,
    sid: SessionIdPath,
    query: QueryParams<VariablesQuery>,
) -> ApiResult<VariablesResponse> {
    let query = query.0;
    let paths = parse_paths(&query.path)?;
    if query.leaf.len() > MAX_BRANCHES {
        return Err(ApiError::invalid("leaf", format!("at most {MAX_BRANCHES} lines at once")));
    }
    let limit = i32::try_from(check_limit(query.limit, MAX_PAGE_SIZE)?).unwrap_or(i32::MAX);
    let first = query.cursor.as_deref().map_or(Ok(0), decode_cursor)?;
    let first = i32::try_from(first).unwrap_or(i32::MAX);
    let depths = first..first.saturating_add(limit);
    let read = move |reader: &mut StoreReader<'_>, held: &StoredSession| {
        let named = query.leaf.iter().map(|id| id.0);
        let leaves: Vec<NodeId> = if query.leaf.is_empty() { vec![held.session.head] } else { named.collect() };
        let (mut items, mut room, mut goes_on) = (Vec::new(), MAX_RESPONSE_BYTES, false);
        for leaf in leaves {
            let leaf = load_node(reader, held, leaf)?;
            goes_on |= leaf.node.depth >= depths.end;
            let mut series = variable_series(&leaf, &paths);
            reader.worlds_along(held, &leaf, depths.clone(), |stop, world| {
                series.iter_mut().zip(&paths).try_for_each(|(one, path)| add_point(one, path, stop, world, &mut room))
            })?;
            items.extend(series);
        }
        Ok(VariablesResponse { items, next: goes_on.then(|| encode_cursor(depths.end.into())), op: held.session.op })
    };
    conditional_read(&app, &request, caller, sid, read).await?.json()
}

fn parse_paths(texts: &[String]) -> Result<Vec<Pointer>, ApiError> {
    if texts.is_empty() || texts.len() > MAX_BRANCHES {
        return Err(ApiError::invalid(
            "path",
            format!("1 to {MAX_BRANCHES} paths are expected, such as path=/combat/hp"),
        ));
    }
    let read = |text: &String| {
        let path: Pointer = text.parse().map_err(|error| ApiError::invalid("path", format!("\"path\": {error}")))?;
        if path.is_root() { Err(ApiError::invalid("path", "a place inside \"vars\" is expected")) } else { Ok(path) }
    };
    texts.iter().map(read).collect()
}

/// Returns the empty series of one branch.
fn variable_series(leaf: &StoredNode, paths: &[Pointer]) -> Vec<VariableSeries> {
    let series =
        |path: &Pointer| VariableSeries { leaf_id: WireId(leaf.node.id), path: path.to_string(), points: Vec::new() };
    paths.iter().map(series).collect()
}

/// Adds the value at one path after one node, as far as the size limit allows.
fn add_point(
    series: &mut VariableSeries,
    path: &Pointer,
    stop: PathPoint,
    world: &World,
    room: &mut usize,
) -> Result<(), ApiError> {
    let value = world.get(path).cloned().unwrap_or_default();
    let weight = value.to_string().len();
    *room = room.checked_sub(weight).ok_or_else(|| {
        let error = ApiError::new(ApiErrorCode::TooLarge, "the values are more than one answer holds");
        error
            .hint("ask for a deeper path, for fewer lines, or with a smaller limit")
            .detail("limit", MAX_RESPONSE_BYTES)
    })?;
    series.points.push(VariablePoint { node_id: WireId(stop.id), turn: stop.turn, depth: stop.depth, value });
    Ok(())
}
