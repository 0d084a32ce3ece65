//! One line of a tree: what people read, and where it leads.

use actix_web::HttpRequest;

use super::{Program, end, ends, glimpse, held, look};
use crate::http::answer::{Answer, Reply};
use crate::http::body::Body;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{Query, Sid};
use crate::http::wire::ids::Id;
use crate::http::wire::limit;
use crate::http::wire::messages::{Checkout, Head, seen};
use crate::http::wire::node::{ChatMessageNode, Trouble};
use crate::http::wire::tree::{LineQuery, Projection, QuickReply};
use crate::ids::NodeId;
use crate::store::{Actor, Held, Page, Reader, Show};
use crate::turn::{Offered, Tip, Turns};

struct Line {
    items: Vec<ChatMessageNode>,
    next: Option<NodeId>,
    leaf: NodeId,
    op: i64,
    tip: Option<Tip>,
}

/// The linear view: one page of the path to a leaf, oldest first.
///
/// # Errors
/// The session or a node is not there.
pub async fn projection(
    app: Program,
    request: HttpRequest,
    caller: Caller,
    sid: Sid,
    query: Query<LineQuery>,
) -> Answer<Projection> {
    let limit = limit(query.0.limit, 50)?;
    let (look, turns) = (look(&app), app.turns.clone());
    let here = look.clone();
    let read = move |reader: &mut Reader<'_>, held: &Held| {
        let (leaf, page) = page_of(reader, held, &query.0, limit)?;
        let dressed = reader.dress(page.nodes)?;
        let items = here.line(reader, dressed)?;
        let tip = if query.0.before.is_some() { None } else { tip(&turns, reader, caller, sid, leaf) };
        Ok(Line { items, next: page.next, leaf, op: held.session.op, tip })
    };
    let mut sight = glimpse(&app, &request, caller, sid, read).await?;
    sight.asked(&look, caller, sid, |line| &mut line.items).await?;
    let tip = sight.seen.as_mut().and_then(|line| line.tip.take());
    let Offered { replies, problems } = match tip {
        Some(tip) => app.turns.offered(tip).await,
        None => Offered::default(),
    };
    let quick_replies = replies.into_iter().map(QuickReply::from).collect();
    let problems = problems.into_iter().map(Trouble::from).collect();
    sight.shown(|Line { items, next, leaf, op, tip: _ }| {
        Reply::ok(&Projection { items, next: next.map(Id), leaf_id: Id(leaf), op, quick_replies, problems })
    })
}

/// The page of a line that a query asks for, and the leaf of that line. A linear session ignores the flags in this view
/// only (`domain.md` 2.14).
pub(super) fn page_of(
    reader: &mut Reader<'_>,
    held: &Held,
    query: &LineQuery,
    limit: i64,
) -> Result<(NodeId, Page), ApiError> {
    let (leaf, before) = ends(reader, held, query)?;
    let show = match (query.all, held.session.mode == "linear") {
        (true, _) => Show::All,
        (false, true) => Show::Disabled,
        (false, false) => Show::Enabled,
    };
    Ok((leaf, reader.page(held, leaf, before, limit, show)?))
}

/// Where plugins are asked what they offer, of the same moment as the line. What fails here costs the buttons, not the page.
fn tip(turns: &Turns, reader: &mut Reader<'_>, caller: Caller, sid: Sid, leaf: NodeId) -> Option<Tip> {
    let read = turns.tip(reader, caller.0, sid.0, leaf);
    read.inspect_err(|error| tracing::warn!(session = %sid.0, "no quick replies: {error}")).ok()
}

/// Moves HEAD: to the leaf last visited below a node, or exactly there.
///
/// # Errors
/// The node is not there or still being generated, or HEAD is not where the caller saw it.
pub async fn checkout(app: Program, caller: Caller, sid: Sid, body: Body<Checkout>) -> Answer<Head> {
    let Checkout { node_id, label, exact, expected_leaf_id, expected_op } = body.0;
    let expected_leaf = seen(expected_leaf_id, expected_op)?;
    if node_id.is_none() && label.is_none() {
        return Err(ApiError::invalid("nodeId", "the id of a message, or its label, is expected"));
    }
    let named = move |reader: &mut Reader<'_>| {
        let held = held(reader, caller, sid)?;
        Ok::<_, ApiError>(end(reader, &held, node_id, label.as_deref())?.node.id)
    };
    let node = app.store.glance(named).await?;
    let actor = Actor { user: caller.0, at: app.clock.now(), expected_leaf };
    let (op, leaf) = app.store.write(move |tx| tx.checkout(&actor, sid.0, node, exact)).await?;
    let read = move |reader: &mut Reader<'_>| {
        let held = held(reader, caller, sid)?;
        Ok::<_, ApiError>(reader.context_of(&held, leaf)?.map(|placed| placed.node.id))
    };
    let context = app.store.glance(read).await?;
    Reply::ok(&Head { leaf_id: Id(leaf), context_node_id: context.map(Id), op })
}
