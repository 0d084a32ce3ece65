//! The handlers, one file for each kind of thing, all in one gait: take, load, decide, one write, answer. What they have
//! in common stands here. To add a route: a handler in the file of its thing, and a line in the table of `http/mod.rs`. What a
//! handler takes and answers are shapes of `wire/`; what it decides is decided a floor below.

pub mod auth;
pub mod characters;
pub mod docs;
pub mod health;
pub mod line;
pub mod messages;
pub mod models;
pub mod nodes;
pub mod page;
pub mod personas;
pub mod plugins;
pub mod search;
pub mod sessions;
pub mod states;
pub mod tree;
pub mod turns;
pub mod worlds;

use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::http::header;
use actix_web::web::Data;

use super::caller::Caller;
use super::error::ApiError;
use super::query::{Nid, Sid};
use super::wire::node::{ChatMessageNode, Look};
use crate::app::App;
use crate::ids::NodeId;
use crate::store::{Held, Placed, Reader};

/// The program, as handlers take it.
pub type Program = Data<App>;

/// A session of the caller's, or `not_found`.
///
/// # Errors
/// It is not there, or not for this caller.
pub fn held(reader: &mut Reader<'_>, caller: Caller, sid: Sid) -> Result<Held, ApiError> {
    reader.session(caller.0, sid.0)?.ok_or_else(|| ApiError::not_found(Sid::WHAT))
}

/// A node of a session, or `not_found`.
///
/// # Errors
/// It is not there.
pub fn placed(reader: &mut Reader<'_>, held: &Held, node: NodeId) -> Result<Placed, ApiError> {
    reader.node(held, node)?.ok_or_else(|| ApiError::not_found(Nid::WHAT))
}

/// How nodes are shown: as configured, with the texts of running replies so far.
pub fn look(app: &App) -> Look {
    Look { hide_tags: Arc::from(app.config.generation.hide_tags.as_slice()), live: Some(Arc::clone(&app.live)) }
}

/// Nodes by id, dressed for a client; unknown ones are left out.
///
/// # Errors
/// The database fails.
pub fn shown(
    reader: &mut Reader<'_>,
    held: &Held,
    ids: &[NodeId],
    look: &Look,
) -> Result<Vec<ChatMessageNode>, ApiError> {
    let placed = reader.nodes(held, ids)?;
    Ok(reader.dress(placed)?.into_iter().map(|dressed| look.in_line(dressed)).collect())
}

/// The reader's language: the first of `Accept-Language`, as far as it is a plain tag.
pub fn language(request: &HttpRequest) -> String {
    let accepted = request.headers().get(header::ACCEPT_LANGUAGE).and_then(|accepted| accepted.to_str().ok());
    let first = accepted.and_then(|accepted| accepted.split([',', ';']).next()).unwrap_or_default().trim();
    let is_plain = (1..=35).contains(&first.len()) && first.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if is_plain { first.to_owned() } else { "en".to_owned() }
}
