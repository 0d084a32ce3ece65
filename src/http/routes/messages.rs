//! What makes a tree grow: messages, other replies, edits; and stopping a reply.

use super::{Program, held, look, shown};
use crate::app::App;
use crate::http::answer::{Answer, Reply};
use crate::http::body::Body;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{Nid, Pid, Sid};
use crate::http::wire::ids::{Id, PersonaRef};
use crate::http::wire::messages::{Cancelled, Continue, Edit, NewMessage, Reroll, Started};
use crate::ids::NodeId;
use crate::store::Reader;
use crate::turn;

/// Writes a message and begins its replies, if it asks for any.
///
/// # Errors
/// A field does not fit, HEAD is elsewhere, a plugin refuses the input.
pub async fn message(app: Program, caller: Caller, sid: Sid, body: Body<NewMessage>) -> Answer<Started> {
    let persona = body.0.persona_id;
    let new = body.0.read(app.config.limits.message_bytes)?;
    own_persona(&app, caller, persona).await?;
    let started = app.turns.message(caller.0, sid.0, new).await?;
    answer(&app, caller, sid, started).await
}

/// Begins other replies beside a reply, or under what a model answers.
///
/// # Errors
/// A field does not fit, or HEAD is elsewhere.
pub async fn reroll(app: Program, caller: Caller, sid: Sid, nid: Nid, body: Body<Reroll>) -> Answer<Started> {
    let started = app.turns.reroll(caller.0, sid.0, body.0.read(nid.0)?).await?;
    answer(&app, caller, sid, started).await
}

/// Begins another reply that goes on from the text of this one.
///
/// # Errors
/// It is no reply with text, a plugin writes, or HEAD is elsewhere.
pub async fn go_on(app: Program, caller: Caller, sid: Sid, nid: Nid, body: Body<Continue>) -> Answer<Started> {
    let started = app.turns.go_on(caller.0, sid.0, body.0.read(nid.0)?).await?;
    answer(&app, caller, sid, started).await
}

/// Writes a new version of a message beside it.
///
/// # Errors
/// A field does not fit, the node cannot be edited, HEAD is elsewhere.
pub async fn edit(app: Program, caller: Caller, sid: Sid, nid: Nid, body: Body<Edit>) -> Answer<Started> {
    let edit = body.0.read(app.config.limits.message_bytes)?;
    let started = app.turns.edit(caller.0, sid.0, nid.0, edit).await?;
    answer(&app, caller, sid, started).await
}

/// Asks a running reply to stop; what arrived is kept.
///
/// # Errors
/// The node is not there, or the reply has ended.
pub async fn cancel(app: Program, caller: Caller, sid: Sid, nid: Nid) -> Answer<Cancelled> {
    app.turns.cancel(caller.0, sid.0, nid.0).await?;
    Reply::begun(&Cancelled { id: Id(nid.0) })
}

async fn own_persona(app: &App, caller: Caller, persona: Option<PersonaRef>) -> Result<(), ApiError> {
    let Some(Id(id)) = persona else { return Ok(()) };
    let found = app.store.glance::<_, ApiError, _>(move |reader| Ok(reader.persona(caller.0, id)?)).await?;
    found.map(|_| ()).ok_or_else(|| ApiError::not_found(Pid::WHAT))
}

/// 202 where replies are on their way, else 201.
pub async fn answer(app: &App, caller: Caller, sid: Sid, started: turn::Started) -> Answer<Started> {
    let look = look(app);
    let here = look.clone();
    let turn::Started { node, generations, op } = started;
    let is_running = !generations.is_empty();
    let read = move |reader: &mut Reader<'_>| {
        let held = held(reader, caller, sid)?;
        let ids: Vec<NodeId> = node.into_iter().chain(generations).collect();
        let (mut own, generations): (Vec<_>, Vec<_>) =
            shown(reader, &held, &ids, &here)?.into_iter().partition(|one| Some(one.id.0) == node);
        Ok::<_, ApiError>(Started { node: own.pop(), generations, op })
    };
    let mut body = app.store.glance(read).await?;
    look.ask(caller.0, sid.0, body.node.iter_mut().chain(&mut body.generations)).await?;
    if is_running { Reply::begun(&body) } else { Reply::created(&body) }
}
