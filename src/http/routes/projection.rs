//! One branch of a tree as people read it, and moving HEAD.

use actix_web::HttpRequest;

use super::{AppData, branch_leaf, branch_range, conditional_read_inline, load_session, node_renderer};
use crate::http::body::JsonBody;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{QueryParams, SessionIdPath};
use crate::http::response::{ApiResponse, ApiResult};
use crate::http::wire::check_limit;
use crate::http::wire::checks::expected_version;
use crate::http::wire::ids::WireId;
use crate::http::wire::messages::{CheckoutRequest, HeadResponse};
use crate::http::wire::node::{ChatMessageNode, NodeProblemResponse};
use crate::http::wire::tree::{BranchQuery, ProjectionResponse, QuickReplyResponse};
use clotho_core::ids::NodeId;
use clotho_engine::turn::{LeafSnapshot, ReplySuggestions, TurnEngine};
use clotho_store::{Actor, NodePage, PathFilter, StoreReader, StoredSession};

struct ProjectionPage {
    items: Vec<ChatMessageNode>,
    next: Option<NodeId>,
    leaf: NodeId,
    op: i64,
    tip: Option<LeafSnapshot>,
}

/// Returns the linear view: one page of the path to a leaf, oldest first.
///
/// # Errors
/// Returns an error if the session or a node does not exist.
pub async fn projection(
    app: AppData,
    request: HttpRequest,
    caller: Caller,
    sid: SessionIdPath,
    query: QueryParams<BranchQuery>,
) -> ApiResult<ProjectionResponse> {
    let limit = check_limit(query.0.limit, 50)?;
    let (look, turns) = (node_renderer(&app), app.turns.clone());
    let here = look.clone();
    let read = move |reader: &mut StoreReader<'_>, held: &StoredSession| {
        let (leaf, page) = read_page(reader, held, &query.0, limit)?;
        let dressed = reader.node_details(page.nodes)?;
        let items = here.line(reader, dressed)?;
        let tip = if query.0.before.is_some() { None } else { leaf_for_suggestions(&turns, reader, caller, sid, leaf) };
        Ok(ProjectionPage { items, next: page.next, leaf, op: held.session.op, tip })
    };
    let mut sight = conditional_read_inline(&app, &request, caller, sid, read).await?;
    sight.asked(&look, caller, sid, |line| &mut line.items).await?;
    let tip = sight.value.as_mut().and_then(|line| line.tip.take());
    let ReplySuggestions { replies, problems } = match tip {
        Some(tip) => app.turns.offered(tip).await,
        None => ReplySuggestions::default(),
    };
    let quick_replies = replies.into_iter().map(QuickReplyResponse::from).collect();
    let problems = problems.into_iter().map(NodeProblemResponse::from).collect();
    sight.shown(|ProjectionPage { items, next, leaf, op, tip: _ }| {
        ApiResponse::ok(&ProjectionResponse {
            items,
            next: next.map(WireId),
            leaf_id: WireId(leaf),
            op,
            quick_replies,
            problems,
        })
    })
}

/// Reads the requested page of a branch, and its leaf. A linear session ignores the flags in this view only
/// (`domain.md` 2.14).
pub(super) fn read_page(
    reader: &mut StoreReader<'_>,
    held: &StoredSession,
    query: &BranchQuery,
    limit: i64,
) -> Result<(NodeId, NodePage), ApiError> {
    let (leaf, before) = branch_range(reader, held, query)?;
    let show = match (query.all, held.session.mode == "linear") {
        (true, _) => PathFilter::All,
        (false, true) => PathFilter::WithDisabled,
        (false, false) => PathFilter::Enabled,
    };
    Ok((leaf, reader.page(held, leaf, before, limit, show)?))
}

/// Returns the leaf at which plugins are asked for quick replies, from the same snapshot as the page. A failure costs
/// the quick replies, not the page.
fn leaf_for_suggestions(
    turns: &TurnEngine,
    reader: &mut StoreReader<'_>,
    caller: Caller,
    sid: SessionIdPath,
    leaf: NodeId,
) -> Option<LeafSnapshot> {
    let read = turns.read_leaf(reader, caller.0, sid.0, leaf);
    read.inspect_err(|error| tracing::warn!(session = %sid.0, "no quick replies: {error}")).ok()
}

/// Moves HEAD: to the leaf last visited below a node, or to exactly that node.
///
/// # Errors
/// Returns an error if the node does not exist or is still being generated, or HEAD has moved.
pub async fn checkout(
    app: AppData,
    caller: Caller,
    sid: SessionIdPath,
    body: JsonBody<CheckoutRequest>,
) -> ApiResult<HeadResponse> {
    let CheckoutRequest { node_id, label, exact, expected_leaf_id, expected_op } = body.0;
    let expected_leaf = expected_version(expected_leaf_id, expected_op)?;
    if node_id.is_none() && label.is_none() {
        return Err(ApiError::invalid("nodeId", "the id of a message, or its label, is expected"));
    }
    let named = move |reader: &mut StoreReader<'_>| {
        let held = load_session(reader, caller, sid)?;
        Ok::<_, ApiError>(branch_leaf(reader, &held, node_id, label.as_deref())?.node.id)
    };
    let node = app.store.read_inline(named).await?;
    let actor = Actor { user: caller.0, at: app.clock.now(), expected_leaf };
    let (op, leaf) = app.store.write(move |tx| tx.checkout(&actor, sid.0, node, exact)).await?;
    let read = move |reader: &mut StoreReader<'_>| {
        let held = load_session(reader, caller, sid)?;
        Ok::<_, ApiError>(reader.context_of(&held, leaf)?.map(|placed| placed.node.id))
    };
    let context = app.store.read_inline(read).await?;
    ApiResponse::ok(&HeadResponse { leaf_id: WireId(leaf), context_node_id: context.map(WireId), op })
}
