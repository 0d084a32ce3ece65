//! Summaries of what the prompts of a session do not hold any more: read, corrected, and made anew.

use super::{Program, end, held};
use crate::http::answer::{Answer, Nothing, Reply};
use crate::http::body::Body;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{Mid, Query, Sid};
use crate::http::wire::summaries::{Summaries, SummariesQuery, SummaryChange, SummaryShape};
use crate::store::Reader;
use crate::turn::Turns;

/// Those of one line.
///
/// # Errors
/// The session or the message is not there.
pub async fn list(app: Program, caller: Caller, sid: Sid, query: Query<SummariesQuery>) -> Answer<Summaries> {
    let read = move |reader: &mut Reader<'_>| {
        let held = held(reader, caller, sid)?;
        let at = end(reader, &held, query.0.node_id, None)?;
        Ok::<_, ApiError>(Turns::summaries(reader, &held, &at)?)
    };
    // Asked first: who hears that nothing is worked on any more is given all of it.
    let state = app.turns.summing_up(sid.0);
    let found = app.store.read(read).await?;
    Reply::ok(&Summaries::new(found, state))
}

/// Gives one another text. Chapters that a model made of it are made anew; one that somebody has corrected stays.
///
/// # Errors
/// It is not there, or the text does not fit.
pub async fn change(
    app: Program,
    caller: Caller,
    sid: Sid,
    id: Mid,
    body: Body<SummaryChange>,
) -> Answer<SummaryShape> {
    let content = body.0.read(app.config.limits.message_bytes)?;
    app.store.write(move |tx| tx.correct_summary(caller.0, sid.0, id.0, &content)).await?;
    let read = move |reader: &mut Reader<'_>| {
        let held = held(reader, caller, sid)?;
        Ok::<_, ApiError>((Turns::summary(reader, &held, id.0)?, held.session.head))
    };
    let (found, head) = app.store.read(read).await?;
    app.turns.sum_up(sid.0, head);
    Reply::ok(&SummaryShape::from(found.ok_or_else(|| ApiError::not_found(Mid::WHAT))?))
}

/// Destroys one, and what a model made of it; the server makes another of its messages.
///
/// # Errors
/// It is not there.
pub async fn delete(app: Program, caller: Caller, sid: Sid, id: Mid) -> Answer<Nothing> {
    app.store.write(move |tx| tx.drop_summary(caller.0, sid.0, id.0)).await?;
    let read = move |reader: &mut Reader<'_>| Ok::<_, ApiError>(held(reader, caller, sid)?.session.head);
    let head = app.store.read(read).await?;
    app.turns.sum_up(sid.0, head);
    Ok(Reply::done())
}
