//! What a model drafts and what is no node: a message in the user's own voice, a summary.

use super::{Program, held, placed};
use crate::app::App;
use crate::http::answer::{Answer, Nothing, Reply};
use crate::http::body::Body;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{Did, Sid};
use crate::http::wire::drafts::{Begun, DraftShape, Impersonate, Summarise};
use crate::http::wire::ids::Id;
use crate::ids::NodeId;
use crate::live::Draft;
use crate::store::Reader;
use std::sync::Arc;

/// Begins to draft the next message in the user's own voice.
///
/// # Errors
/// The leaf is not there, or no model can be asked.
pub async fn impersonate(app: Program, caller: Caller, sid: Sid, body: Body<Impersonate>) -> Answer<Begun> {
    let asked = body.0.read()?;
    are_there(&app, caller, sid, asked.leaf.map(|leaf| ("leafId".to_owned(), leaf)).into_iter().collect()).await?;
    let id = app.turns.impersonate(caller.0, sid.0, asked).await?;
    Reply::begun(&Begun { draft_id: Id(id) })
}

/// Begins to draft a summary of messages that follow each other.
///
/// # Errors
/// A message is not there, they do not follow each other, or no model can be asked.
pub async fn summarise(app: Program, caller: Caller, sid: Sid, body: Body<Summarise>) -> Answer<Begun> {
    let asked = body.0.read()?;
    let named = asked.nodes.iter().enumerate().map(|(i, node)| (format!("nodeIds[{i}]"), *node)).collect();
    are_there(&app, caller, sid, named).await?;
    let id = app.turns.summarise(caller.0, sid.0, asked).await?;
    Reply::begun(&Begun { draft_id: Id(id) })
}

/// A draft as far as it is.
///
/// # Errors
/// It is not there, or no more.
pub async fn read(app: Program, caller: Caller, sid: Sid, did: Did) -> Answer<DraftShape> {
    Reply::ok(&DraftShape::from(own(&app, caller, sid, did).await?.as_ref()))
}

/// Stops a draft that is being written, whose end is an event; forgets one that has ended.
///
/// # Errors
/// It is not there, or no more.
pub async fn delete(app: Program, caller: Caller, sid: Sid, did: Did) -> Answer<Nothing> {
    let draft = own(&app, caller, sid, did).await?;
    if draft.is_over() {
        app.live.forget_draft(did.0);
    } else {
        draft.writing.cancel();
    }
    Ok(Reply::done())
}

/// The caller's own draft, in a session that is still there for the caller.
async fn own(app: &App, caller: Caller, sid: Sid, did: Did) -> Result<Arc<Draft>, ApiError> {
    are_there(app, caller, sid, Vec::new()).await?;
    app.live.draft(caller.0, sid.0, did.0).ok_or_else(|| ApiError::not_found(Did::WHAT))
}

/// Whether the session and the messages that fields name are there for the caller.
async fn are_there(app: &App, caller: Caller, sid: Sid, named: Vec<(String, NodeId)>) -> Result<(), ApiError> {
    let look = move |reader: &mut Reader<'_>| {
        let held = held(reader, caller, sid)?;
        for (field, node) in named {
            placed(reader, &held, node).map_err(|error| error.detail("field", field))?;
        }
        Ok(())
    };
    app.store.read::<_, ApiError, _>(look).await
}
