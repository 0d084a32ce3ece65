//! `GET /api/chat/{sid}/ws`: live events of one session over a WebSocket (`api.md` 5).
//!
//! A socket *pulls*: the session's room says that something is new, the socket takes the operations since the last one it
//! sent and the text since the offset it has sent. So a slow reader gets larger pieces and never loses an operation, and
//! nothing queues up for it. It watches first and reads the log afterwards, so nothing falls in between.
//!
//! `frames.rs` turns operations into frames, `pieces.rs` cuts running texts. To add an event: an arm in `frames.rs`; to
//! add a client frame: a variant of [`ClientFrame`] and an arm in [`Socket::heard`].

mod frames;
mod pieces;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, web};
use actix_ws::{AggregatedMessage, AggregatedMessageStream, CloseCode, CloseReason, Session};
use futures_util::StreamExt;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::body;
use super::error::{ApiError, Code};
use super::shared::{Shared, SocketPlace};
use crate::app::App;
use crate::ids::{NodeId, SessionId, UserId};
use crate::live::Watcher;
use crate::oplog::Operation;
use crate::store::{Reader, StoreError};
use frames::Frame;
use pieces::{Piece, Place};

/// A client that says nothing for so long is asked whether it is there.
const PING_EVERY: Duration = Duration::from_secs(20);
/// Unanswered pings after which a socket counts as dead.
const PINGS_MISSED: u32 = 3;
/// How long one frame may take to be taken by the connection.
const SEND_WITHIN: Duration = Duration::from_secs(20);
/// Operations read from the log at once.
const BATCH: i64 = 200;

/// What a client may say.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
enum ClientFrame {
    /// "I have this much of that reply."
    Resume {
        id: String,
        offset: u64,
        #[serde(rename = "reasoningOffset", default)]
        reasoning_offset: u64,
    },
    /// Someone is writing; told to nobody while a session has one member.
    Typing {},
    /// "Are you there?"
    Ping {},
}

/// Opens a socket on a session of the caller's.
///
/// # Errors
/// The session is not there, the caller has too many sockets, or the request is no upgrade.
pub async fn open(
    app: web::Data<App>,
    shared: Arc<Shared>,
    caller: UserId,
    session: SessionId,
    since: Option<i64>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, ApiError> {
    let limits = &app.config.limits;
    // Watch before anything is read: what happens from now on is seen.
    let watcher = app.live.watch(session);
    let now = standing(&app, caller, session).await?;
    let place = shared.open_socket(caller, limits.ws_per_user).ok_or_else(|| {
        let error = ApiError::new(Code::RateLimited, "too many live connections are open");
        error.hint("close another tab of this server")
    })?;
    let no_upgrade = |_| ApiError::new(Code::Malformed, "this address speaks WebSocket only");
    let (answer, out, messages) = actix_ws::handle(&request, payload).map_err(no_upgrade)?;
    let frame = limits.ws_frame_bytes;
    let messages = messages.max_frame_size(frame).aggregate_continuations().max_continuation_size(frame);
    let closing = shared.closing();
    let last = since.unwrap_or(now.op);
    let socket = Socket { app, shared, caller, session, watcher, out, last, sent: HashMap::new() };
    actix_web::rt::spawn(socket.live(messages, closing, now, place));
    Ok(answer)
}

/// Where a session stands.
#[derive(Debug, Clone, Copy)]
struct Standing {
    op: i64,
    leaf: NodeId,
}

async fn standing(app: &App, caller: UserId, session: SessionId) -> Result<Standing, ApiError> {
    let read = move |reader: &mut Reader<'_>| reader.session(caller, session);
    let held = app.store.read::<_, StoreError, _>(read).await?;
    let held = held.ok_or_else(|| ApiError::not_found("the session"))?;
    Ok(Standing { op: held.session.op, leaf: held.session.head })
}

/// Why a socket ends.
enum End {
    /// The other side went away, or does not answer.
    Gone,
    /// The server stops, or the session is not the caller's any more.
    Close(CloseCode, &'static str),
}

fn not_theirs() -> End {
    End::Close(CloseCode::Policy, "the session is not there any more")
}

struct Socket {
    app: web::Data<App>,
    shared: Arc<Shared>,
    caller: UserId,
    session: SessionId,
    watcher: Watcher,
    out: Session,
    /// The last operation sent.
    last: i64,
    /// How much of each running reply was sent.
    sent: HashMap<NodeId, Place>,
}

impl Socket {
    async fn live(
        mut self,
        messages: AggregatedMessageStream,
        closing: watch::Receiver<bool>,
        now: Standing,
        place: SocketPlace,
    ) {
        let end = self.run(messages, closing, now).await;
        drop(place);
        if let End::Close(code, why) = end {
            // The other side may be gone already.
            let _ = self.out.close(Some(CloseReason { code, description: Some(why.to_owned()) })).await;
        }
    }

    async fn run(
        &mut self,
        mut messages: AggregatedMessageStream,
        mut closing: watch::Receiver<bool>,
        now: Standing,
    ) -> End {
        if let Err(end) = self.greet(now).await {
            return end;
        }
        let mut pings = tokio::time::interval(PING_EVERY);
        pings.reset();
        let mut missed = 0;
        loop {
            let step = tokio::select! {
                biased;
                _ = closing.wait_for(|closing| *closing) => Err(End::Close(CloseCode::Away, "the server stops")),
                message = messages.next() => {
                    missed = 0;
                    match message {
                        Some(Ok(message)) => self.message(message).await,
                        Some(Err(_)) => Err(End::Close(CloseCode::Size, "no frame of this protocol, or too large")),
                        None => Err(End::Gone),
                    }
                }
                () = self.watcher.changed() => self.pull().await,
                _ = pings.tick() => {
                    missed += 1;
                    if missed > PINGS_MISSED { Err(End::Gone) } else { within(self.out.ping(b"")).await }
                }
            };
            if let Err(end) = step {
                return end;
            }
        }
    }

    /// `hello`, then what happened since the client last looked.
    async fn greet(&mut self, now: Standing) -> Result<(), End> {
        self.send(json!({"type": "hello", "op": now.op, "leafId": now.leaf.to_string()})).await?;
        // A number from the future is from another database: the client starts afresh.
        self.last = self.last.clamp(0, now.op);
        // Replies that the client knows of already are sent from here on; it asks for what it lacks with `resume`.
        for running in self.watcher.running() {
            let place = running.look(|written| Place::after(&written.content, &written.reasoning));
            self.sent.insert(running.node, place);
        }
        // What was done before this socket watched stands in the log only.
        while self.last < now.op {
            let operations = self.from_log().await?;
            if operations.is_empty() {
                break;
            }
            self.operations(operations).await?;
        }
        self.pull().await
    }

    /// Sends what is new: operations first, then text; a reply's last piece comes before its completion.
    async fn pull(&mut self) -> Result<(), End> {
        loop {
            let operations = match self.watcher.operations_since(self.last) {
                Some(operations) => operations,
                None => self.from_log().await?,
            };
            if operations.is_empty() {
                break;
            }
            self.operations(operations).await?;
        }
        for running in self.watcher.running() {
            // A placeholder whose operation has not been told yet: its text waits until it has.
            let Some(place) = self.sent.get_mut(&running.node) else { continue };
            if let Some(piece) = running.look(|written| place.take(&written.content, &written.reasoning)) {
                self.send(piece.frame(running.node)).await?;
            }
        }
        Ok(())
    }

    async fn from_log(&self) -> Result<Vec<Arc<Operation>>, End> {
        let (caller, session, last) = (self.caller, self.session, self.last);
        let read = move |reader: &mut Reader<'_>| match reader.session(caller, session)? {
            Some(held) => reader.operations(&held, last, BATCH).map(Some),
            None => Ok(None),
        };
        let found = self.app.store.read::<_, StoreError, _>(read).await.map_err(unreadable)?;
        Ok(found.ok_or_else(not_theirs)?.into_iter().map(Arc::new).collect())
    }

    async fn operations(&mut self, operations: Vec<Arc<Operation>>) -> Result<(), End> {
        let (caller, session) = (self.caller, self.session);
        let newest = operations.last().map_or(self.last, |operation| operation.op);
        let hide = self.app.config.generation.hide_tags.clone();
        let read = move |reader: &mut Reader<'_>| frames::of(reader, caller, session, &operations, &hide);
        let found = self.app.store.read::<_, StoreError, _>(read).await.map_err(unreadable)?;
        for frame in found.ok_or_else(not_theirs)? {
            self.frame(frame).await?;
        }
        self.last = newest;
        Ok(())
    }

    async fn frame(&mut self, frame: Frame) -> Result<(), End> {
        match frame {
            Frame::Plain(json) => self.send(json).await,
            Frame::Began { node, json } => {
                self.sent.insert(node, Place::default());
                self.send(json).await
            }
            Frame::Completed { node, content, reasoning, json } => {
                let mut place = self.sent.remove(&node).unwrap_or_else(|| Place::after(&content, &reasoning));
                if let Some(piece) = place.take(&content, &reasoning) {
                    self.send(piece.frame(node)).await?;
                }
                self.send(json).await
            }
        }
    }

    async fn message(&mut self, message: AggregatedMessage) -> Result<(), End> {
        match message {
            AggregatedMessage::Text(text) => {
                let depth = self.app.config.limits.json_depth;
                match body::parse::<ClientFrame>(text.as_bytes(), depth) {
                    Ok(frame) => self.heard(frame).await,
                    Err(error) => self.refuse(&error).await,
                }
            }
            AggregatedMessage::Binary(_) => {
                self.refuse(&ApiError::new(Code::Malformed, "only text frames are understood here")).await
            }
            AggregatedMessage::Ping(bytes) => within(self.out.pong(&bytes)).await,
            AggregatedMessage::Pong(_) => Ok(()),
            AggregatedMessage::Close(_) => Err(End::Gone),
        }
    }

    async fn heard(&mut self, frame: ClientFrame) -> Result<(), End> {
        match frame {
            ClientFrame::Ping {} => self.send(json!({"type": "pong"})).await,
            ClientFrame::Typing {} => Ok(()),
            ClientFrame::Resume { id, offset, reasoning_offset } => {
                match self.resume(&id, offset, reasoning_offset).await {
                    Ok((node, piece)) => self.send(piece.frame(node)).await,
                    Err(error) => self.refuse(&error).await,
                }
            }
        }
    }

    /// One piece from where the client is to where the reply is now. The node must be one of this session's.
    async fn resume(&mut self, id: &str, offset: u64, reasoning: u64) -> Result<(NodeId, Piece), ApiError> {
        let absent = || ApiError::not_found("the message");
        let node: NodeId = id.parse().map_err(|_| absent())?;
        let (caller, session) = (self.caller, self.session);
        let read = move |reader: &mut Reader<'_>| match reader.session(caller, session)? {
            Some(held) => reader.node(&held, node),
            None => Ok(None),
        };
        let stored = self.app.store.read::<_, StoreError, _>(read).await?.ok_or_else(absent)?.node;
        let from = |content: &str, thought: &str| {
            let mut place = Place::at(content, offset, thought, reasoning)?;
            let piece = place.take_always(content, thought);
            Some((place, piece))
        };
        let running = self.app.live.running(node);
        let found = match &running {
            Some(running) => running.look(|written| from(&written.content, &written.reasoning)),
            None => from(&stored.content, stored.reasoning.as_deref().unwrap_or_default()),
        };
        let beyond = || ApiError::invalid("offset", "the offset lies beyond the text, or inside a character");
        let (place, piece) = found.ok_or_else(beyond)?;
        if running.is_some() {
            self.sent.insert(node, place);
        }
        Ok((node, piece))
    }

    async fn refuse(&mut self, error: &ApiError) -> Result<(), End> {
        let mut refusal = serde_json::to_value(error.body(None)).unwrap_or_default();
        if let Some(map) = refusal.as_object_mut() {
            map.insert("type".into(), "error".into());
        }
        self.send(refusal).await
    }

    async fn send(&mut self, frame: Value) -> Result<(), End> {
        self.shared.meters.framed();
        within(self.out.text(frame.to_string())).await
    }
}

/// A database that cannot be read now: the client reconnects and catches up by number.
fn unreadable(error: StoreError) -> End {
    tracing::warn!("a socket could not read: {error}");
    End::Close(CloseCode::Again, "try again in a moment")
}

/// A reader that takes nothing for too long is gone; the log has everything for its return.
async fn within(send: impl Future<Output = Result<(), actix_ws::Closed>>) -> Result<(), End> {
    match tokio::time::timeout(SEND_WITHIN, send).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(End::Gone),
    }
}
