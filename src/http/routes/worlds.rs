//! The world at a node, what a line changed in it, and changing it by hand.

use actix_web::HttpRequest;

use super::line::page_of;
use super::messages::answer;
use super::{Program, glimpse, placed, sight};
use crate::http::answer::Answer;
use crate::http::body::Body;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{Nid, Query, Sid};
use crate::http::wire::ids::Id;
use crate::http::wire::limit;
use crate::http::wire::messages::{Started, seen};
use crate::http::wire::tree::LineQuery;
use crate::http::wire::world::{DeltaShape, Deltas, NodeDelta, WorldAnswer, WorldChange, schemas};
use crate::plugin::Catalogue;
use crate::store::{Held, Placed, Reader};
use crate::world::{MalformedOperation, Operation, Section};

/// The most operations of one change.
const OPERATIONS: usize = 256;

/// The world after a node, with the schemas in force there.
///
/// # Errors
/// The node is not there.
pub async fn world(app: Program, request: HttpRequest, caller: Caller, sid: Sid, nid: Nid) -> Answer<WorldAnswer> {
    let catalogue = app.catalogue.now();
    let read = move |reader: &mut Reader<'_>, held: &Held| {
        let at = placed(reader, held, nid.0)?;
        let world = reader.world(held, &at)?;
        let schemas = schemas(reader.rules(&at)?.as_ref(), &world, |id| title_of(&catalogue, id));
        Ok(WorldAnswer { node_id: Id(nid.0), world: world.to_json(), schemas })
    };
    glimpse(&app, &request, caller, sid, read).await?.json()
}

/// What the nodes of one page of a line do to the world, oldest first; those that do nothing are left out. One question
/// instead of one for each message.
///
/// # Errors
/// The session or a node is not there.
pub async fn deltas(
    app: Program,
    request: HttpRequest,
    caller: Caller,
    sid: Sid,
    query: Query<LineQuery>,
) -> Answer<Deltas> {
    let limit = limit(query.0.limit, 50)?;
    let read = move |reader: &mut Reader<'_>, held: &Held| {
        let (leaf, page) = page_of(reader, held, &query.0, limit)?;
        let mut items = Vec::new();
        for at in &page.nodes {
            let delta = delta_of(reader, held, at)?;
            if !delta.is_empty() {
                items.push(NodeDelta { node_id: Id(at.node.id), delta });
            }
        }
        Ok(Deltas { items, next: page.next.map(Id), leaf_id: Id(leaf), op: held.session.op })
    };
    sight(&app, &request, caller, sid, read).await?.json()
}

/// Changes the world by hand: a hidden node below this one.
///
/// # Errors
/// The node is not there, or an operation does not fit.
pub async fn change(app: Program, caller: Caller, sid: Sid, nid: Nid, body: Body<WorldChange>) -> Answer<Started> {
    let operations = operations(&body.0)?;
    let expected = seen(body.0.expected_leaf_id, body.0.expected_op)?;
    let started = app.turns.change_world(caller.0, sid.0, nid.0, operations, expected).await?;
    answer(&app, caller, sid, started).await
}

fn operations(change: &WorldChange) -> Result<Vec<Operation>, ApiError> {
    if change.operations.is_empty() || change.operations.len() > OPERATIONS {
        return Err(ApiError::invalid("operations", format!("1 to {OPERATIONS} operations are expected")));
    }
    let read = |(i, wire): (usize, &serde_json::Value)| {
        let place = format!("operations[{i}]");
        let mut operation = Operation::from_json(wire).map_err(|error| {
            let field = field(&error).map_or_else(|| place.clone(), |field| format!("{place}.{field}"));
            ApiError::invalid(&field, error.to_string())
        })?;
        if operation.section != Section::Vars {
            return Err(ApiError::invalid(&format!("{place}.in"), "by hand only \"vars\" can be changed"));
        }
        // Who changed it is a fact that the server knows.
        operation.by = "user".to_owned();
        Ok(operation)
    };
    change.operations.iter().enumerate().map(read).collect()
}

fn field(error: &MalformedOperation) -> Option<String> {
    match error {
        MalformedOperation::NotAnObject => None,
        MalformedOperation::Missing(field)
        | MalformedOperation::Wrong { field, .. }
        | MalformedOperation::Path { field, .. } => Some((*field).to_owned()),
        MalformedOperation::Unknown(field) => Some(field.clone()),
    }
}

/// What a node does to its parent's world, and what it comes to.
///
/// # Errors
/// The database fails.
pub fn delta_of(reader: &mut Reader<'_>, held: &Held, at: &Placed) -> Result<DeltaShape, ApiError> {
    let (before, after) = (reader.world_before(held, at)?, reader.world(held, at)?);
    Ok(DeltaShape::new(&reader.delta(at)?, &before, &after))
}

/// The title of an installed plugin.
pub fn title_of(catalogue: &Catalogue, id: &str) -> Option<String> {
    catalogue.get(id).map(|plugin| plugin.manifest().title.get("en").to_owned())
}
