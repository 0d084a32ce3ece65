//! Live events of one session over a WebSocket.
//!
//! A socket first subscribes and then reads the log, so it misses nothing in between. It *pulls*: whenever something is
//! new, it reads the operations after its position (`events.rs`) and the texts after its offsets (`reply_stream.rs`),
//! and sends them before it looks again. Drafts work the same way (`draft_stream.rs`). So a slow client gets larger
//! chunks less often, never loses an operation, and needs no queue. The size of client frames is limited as they arrive
//! (`frame_limit.rs`). To add a frame: define it in `wire/events.rs` and create it from its effect in `events.rs`.

mod draft_stream;
mod events;
mod frame_limit;
mod reply_stream;

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use actix_web::body::BoxBody;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse, rt};
use actix_ws::{AggregatedMessage, AggregatedMessageStream, CloseCode, CloseReason, ProtocolError};
use serde::Deserialize;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use utoipa::IntoParams;

use self::events::{OperationEvent, SocketLogPosition};
use super::body;
use super::caller::{Caller, ClientIdentity, unpaired_error};
use super::connection_end::{self, SocketBody};
use super::error::{ApiError, ApiErrorCode};
use super::query::{NodeIdPath, QueryParams, SessionIdPath};
use super::routes::{AppData, node_renderer};
use super::server_state::{ServerState, SocketPermit};
use super::wire::events::{ClientFrame, Event};
use super::wire::query_number::QueryNumber;
use clotho_core::oplog::Operation;
use clotho_engine::live::{LiveSessions, SessionWatcher};
use clotho_plugin::Catalogue;
use clotho_queries::error::ReadError;
use clotho_queries::lookup::{load_node, load_session};
use clotho_queries::node_view::NodeRenderer;
use clotho_store::{Store, StoreReader};

/// Maximum time to pass one frame to the connection.
const SEND_TIMEOUT: Duration = Duration::from_secs(20);
/// Interval of pings.
const PING_INTERVAL: Duration = Duration::from_secs(25);
/// A client that is silent for this long counts as disconnected.
const IDLE_TIMEOUT: Duration = Duration::from_secs(70);

/// Start position of a socket.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct SinceQuery {
    /// The newest operation that the client has; default: only new events.
    #[param(minimum = 0, value_type = Option<i64>)]
    pub since: Option<QueryNumber<0, { i64::MAX }>>,
}

/// Opens a WebSocket on one of the caller's sessions.
///
/// # Errors
/// Returns an error if the session does not exist, the caller has too many sockets, or the request is no upgrade.
pub async fn open(
    app: AppData,
    shared: Data<ServerState>,
    request: HttpRequest,
    caller: Caller,
    sid: SessionIdPath,
    query: QueryParams<SinceQuery>,
    payload: Payload,
) -> Result<HttpResponse, ApiError> {
    // Check the session and the number of open sockets.
    app.store.read_inline(move |reader| load_session(reader, caller.0, sid.0).map(drop)).await?;
    let limits = &app.config.limits;
    let place = shared.open_socket(caller.0, limits.ws_per_user).ok_or_else(|| {
        let mut error = ApiError::new(ApiErrorCode::RateLimited, "too many sockets are open");
        error.retry_after_s = Some(10);
        error.hint("close one first")
    })?;
    // Upgrade the connection with limits on frames and messages.
    let payload =
        frame_limit::limit_frames(limits.ws_frame_bytes, &request, payload).await.map_err(ApiError::internal)?;
    let (answer, session, messages) = actix_ws::handle(&request, payload)
        .map_err(|_| ApiError::new(ApiErrorCode::Malformed, "this address only supports WebSocket upgrades"))?;
    let messages = messages
        .max_frame_size(limits.ws_frame_bytes)
        .aggregate_continuations()
        .max_continuation_size(limits.ws_frame_bytes);
    // Serve it in a task of its own.
    let via = ClientIdentity::from_request_extensions(&request);
    let socket = EventSocket {
        store: Arc::clone(&app.store),
        live: Arc::clone(&app.live),
        renderer: NodeRenderer { live: None, ..node_renderer(&app) },
        json_depth: limits.json_depth,
        batch: i64::try_from(limits.ws_queue).unwrap_or(i64::MAX),
        shared: shared.into_inner(),
        caller,
        via,
        app: app.clone(),
        sid,
        session,
        last_received: Instant::now(),
        _place: place,
    };
    rt::spawn(socket.run(messages, query.0.since.map(QueryNumber::get)));
    let connection = connection_end::second_handle(&request);
    Ok(answer.map_body(|_, frames| BoxBody::new(SocketBody::new(frames, connection))))
}

/// Returns the code that answers a client's goodbye: its own. A code that nobody may send (RFC 6455, 7.4) is answered
/// as a breach of the protocol.
fn goodbye_code(goodbye: Option<&CloseReason>) -> CloseCode {
    match goodbye.map(|goodbye| goodbye.code) {
        None => CloseCode::Normal,
        Some(CloseCode::Abnormal | CloseCode::Tls) => CloseCode::Protocol,
        Some(CloseCode::Other(code)) if !(3_000..5_000).contains(&code) => CloseCode::Protocol,
        Some(code) => code,
    }
}

struct EventSocket {
    store: Arc<Store>,
    live: Arc<LiveSessions>,
    renderer: NodeRenderer,
    json_depth: usize,
    batch: i64,
    shared: Arc<ServerState>,
    caller: Caller,
    via: ClientIdentity,
    app: AppData,
    sid: SessionIdPath,
    session: actix_ws::Session,
    last_received: Instant,
    _place: SocketPermit,
}

/// Why a socket ends.
enum SocketClose {
    /// The client is gone, or does not read what is sent.
    Disconnected,
    /// The server closes it and says why.
    WithError(CloseCode, ApiError),
}

impl From<ApiError> for SocketClose {
    fn from(error: ApiError) -> Self {
        if let Some(cause) = &error.cause {
            tracing::error!(target: "clotho::http", cause, "a socket was closed: {cause}");
        }
        let code = if error.code == ApiErrorCode::NotFound { CloseCode::Policy } else { CloseCode::Error };
        Self::WithError(code, error)
    }
}

impl EventSocket {
    async fn run(mut self, mut messages: AggregatedMessageStream, since: Option<i64>) {
        // Subscribe before reading the log, so that nothing is missed in between.
        let mut watcher = self.live.watch(self.sid.0);
        let end = match self.begin(since).await {
            Ok(position) => self.serve(&mut messages, &mut watcher, position).await,
            Err(end) => end,
        };
        let SocketClose::WithError(code, error) = end else { return };
        if let Ok(text) = Event::refusal(&error).text() {
            let _ = timeout(SEND_TIMEOUT, self.session.text(text)).await;
        }
        let reason = CloseReason { code, description: Some(error.message.clone()) };
        let _ = timeout(SEND_TIMEOUT, self.session.close(Some(reason))).await;
    }

    async fn begin(&mut self, since: Option<i64>) -> Result<SocketLogPosition, SocketClose> {
        let (caller, sid, live) = (self.caller, self.sid, Arc::clone(&self.live));
        let read = move |reader: &mut StoreReader<'_>| {
            let stored = load_session(reader, caller.0, sid.0)?;
            Ok::<_, ReadError>((SocketLogPosition::new(reader, &stored, since, &live)?, events::hello_event(&stored)))
        };
        let (position, hello) = self.store.read_inline(read).await.map_err(ApiError::from)?;
        self.send(&hello).await?;
        self.catch_up(position, Vec::new()).await
    }

    /// Sends what is new, then waits for more, until the socket ends.
    async fn serve(
        &mut self,
        messages: &mut AggregatedMessageStream,
        watcher: &mut SessionWatcher,
        mut position: SocketLogPosition,
    ) -> SocketClose {
        // Subscribe to everything that can wake the socket.
        let mut closing = self.shared.subscribe_shutdown();
        let app = self.app.clone();
        let mut revoked = app.devices.subscribe_revocations();
        let mut plugins = app.catalogue.subscribe();
        let mut playing = Arc::clone(&plugins.borrow_and_update());
        let mut ticks = interval(PING_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            // Send what is new, then wait for the next wake-up.
            if self.via.device().is_some_and(|id| !app.devices.contains(id)) {
                return SocketClose::WithError(CloseCode::Policy, unpaired_error());
            }
            position = match self.send_new_operations(watcher, position).await {
                Ok(position) => position,
                Err(end) => return end,
            };
            let done = tokio::select! {
                biased;
                _ = closing.wait_for(|closing| *closing) => {
                    let error = ApiError::new(ApiErrorCode::Unavailable, "the server is shutting down");
                    Err(SocketClose::WithError(CloseCode::Away, error))
                }
                // A revoked device is detected at the start of the loop.
                _ = revoked.changed() => Ok(()),
                message = messages.recv() => self.handle_message(message, &mut position).await,
                () = watcher.changed() => Ok(()),
                _ = plugins.changed() => {
                    let old = mem::replace(&mut playing, Arc::clone(&plugins.borrow_and_update()));
                    self.send_plugin_changes(&playing, &old).await
                }
                _ = ticks.tick() => self.ping_or_time_out().await,
            };
            if let Err(end) = done {
                return end;
            }
        }
    }

    /// Sends operations first, then texts, so that a chunk never precedes its node.
    async fn send_new_operations(
        &mut self,
        watcher: &SessionWatcher,
        mut position: SocketLogPosition,
    ) -> Result<SocketLogPosition, SocketClose> {
        if watcher.is_deleted() {
            self.check_access().await?;
        }
        match watcher.operations_since(position.op()) {
            Some(told) if told.is_empty() => {}
            told => position = self.catch_up(position, told.unwrap_or_default()).await?,
        }
        let texts = position.streams.take_events(&self.live).into_iter().chain(position.drafts.take_events(&self.live));
        for event in texts.collect::<Vec<_>>() {
            self.send(&event).await?;
        }
        Ok(position)
    }

    /// Sends all operations after a position. `operations` are the next operations, if known.
    async fn catch_up(
        &mut self,
        mut position: SocketLogPosition,
        operations: Vec<Arc<Operation>>,
    ) -> Result<SocketLogPosition, SocketClose> {
        let operations: Arc<[Arc<Operation>]> = operations.into();
        loop {
            let operations = Arc::clone(&operations);
            let (caller, sid, renderer, batch) = (self.caller, self.sid, self.renderer.clone(), self.batch);
            let read = move |reader: &mut StoreReader<'_>| {
                let stored = load_session(reader, caller.0, sid.0)?;
                let events = position.advance(reader, &stored, &renderer, batch, &operations)?;
                Ok::<_, ReadError>((position, events, stored.session.op))
            };
            let (moved, mut events, newest) = self.store.read_inline(read).await.map_err(ApiError::from)?;
            position = moved;
            let nodes = events.iter_mut().filter_map(OperationEvent::node);
            self.renderer.apply_plugin_display(caller.0, sid.0, nodes).await.map_err(ApiError::from)?;
            for event in events {
                self.send(&event.into()).await?;
            }
            if position.op() >= newest {
                return Ok(position);
            }
        }
    }

    async fn send(&mut self, event: &Event) -> Result<(), SocketClose> {
        self.send_text(event.text()?).await
    }

    /// Sends a frame. The queue of the connection is short, so this waits for slow clients, up to a timeout.
    async fn send_text(&mut self, text: String) -> Result<(), SocketClose> {
        match timeout(SEND_TIMEOUT, self.session.text(text)).await {
            Ok(Ok(())) => {
                self.shared.metrics.count_frame();
                Ok(())
            }
            Ok(Err(_)) | Err(_) => Err(SocketClose::Disconnected),
        }
    }

    /// Reports changed plugins. A plugin whose new code is broken and whose old code stays active is no change.
    async fn send_plugin_changes(&mut self, now: &Catalogue, old: &Catalogue) -> Result<(), SocketClose> {
        match now.changed_names(old) {
            ids if ids.is_empty() => Ok(()),
            ids => self.send(&Event::PluginsChanged { ids }).await,
        }
    }

    async fn ping_or_time_out(&mut self) -> Result<(), SocketClose> {
        if self.last_received.elapsed() > IDLE_TIMEOUT {
            return Err(SocketClose::Disconnected);
        }
        self.check_access().await?;
        match timeout(SEND_TIMEOUT, self.session.ping(b"")).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(SocketClose::Disconnected),
        }
    }

    /// Checks that the session still exists and belongs to the caller. The log of a deleted session cannot tell.
    async fn check_access(&self) -> Result<(), ApiError> {
        let (caller, sid) = (self.caller, self.sid);
        Ok(self.store.read_inline(move |reader| load_session(reader, caller.0, sid.0).map(drop)).await?)
    }

    async fn handle_message(
        &mut self,
        message: Option<Result<AggregatedMessage, ProtocolError>>,
        position: &mut SocketLogPosition,
    ) -> Result<(), SocketClose> {
        self.last_received = Instant::now();
        match message {
            Some(Ok(AggregatedMessage::Text(text))) => self.handle_frame(text.as_bytes(), position).await,
            Some(Ok(AggregatedMessage::Binary(_))) => {
                let error = ApiError::new(ApiErrorCode::UnsupportedMedia, "frames must be text");
                self.send(&Event::refusal(&error)).await
            }
            Some(Ok(AggregatedMessage::Ping(bytes))) => {
                self.session.pong(&bytes).await.map_err(|_| SocketClose::Disconnected)
            }
            Some(Ok(AggregatedMessage::Pong(_))) => Ok(()),
            Some(Ok(AggregatedMessage::Close(goodbye))) => {
                let reason = CloseReason { code: goodbye_code(goodbye.as_ref()), description: None };
                let _ = timeout(SEND_TIMEOUT, self.session.clone().close(Some(reason))).await;
                Err(SocketClose::Disconnected)
            }
            None => Err(SocketClose::Disconnected),
            Some(Err(error)) if frame_limit::is_too_long(&error) => Err(SocketClose::WithError(
                CloseCode::Size,
                ApiError::new(ApiErrorCode::TooLarge, "the frame is too large"),
            )),
            Some(Err(_)) => Err(SocketClose::WithError(
                CloseCode::Protocol,
                ApiError::new(ApiErrorCode::Malformed, "the frame is malformed"),
            )),
        }
    }

    /// Handles a client frame. An invalid one is answered with an error, and the socket stays open.
    async fn handle_frame(&mut self, bytes: &[u8], position: &mut SocketLogPosition) -> Result<(), SocketClose> {
        let answer = match body::parse::<ClientFrame>(bytes, self.json_depth) {
            Ok(frame) => self.answer_frame(&frame, position).await,
            Err(error) => Err(error),
        };
        match answer {
            Ok(None) => Ok(()),
            Ok(Some(event)) => self.send(&event).await,
            Err(error) if error.cause.is_some() => Err(error.into()),
            Err(error) => self.send(&Event::refusal(&error)).await,
        }
    }

    async fn answer_frame(
        &self,
        frame: &ClientFrame,
        position: &mut SocketLogPosition,
    ) -> Result<Option<Event>, ApiError> {
        match frame.kind.as_str() {
            "ping" => Ok(Some(Event::Pong)),
            // No other user can be told yet.
            "typing" => Ok(None),
            "resume" => self.resume_stream(frame, position).await.map(Some),
            other => {
                let words = body::printable(other);
                Err(ApiError::invalid("type", format!("expected resume, typing or ping, got \"{words}\"")))
            }
        }
    }

    /// Sends one chunk from the client's offset. The owner of the node is checked again, because rights may have
    /// changed.
    async fn resume_stream(&self, frame: &ClientFrame, position: &mut SocketLogPosition) -> Result<Event, ApiError> {
        let id = frame.id.ok_or_else(|| ApiError::invalid("id", "missing field \"id\""))?.0;
        let offset = frame.offset.ok_or_else(|| ApiError::invalid("offset", "missing field \"offset\""))?;
        let (caller, sid) = (self.caller, self.sid);
        // Taken before the node is read: a reply that ends in between is either still held here, or read as complete.
        let running = self.live.running_reply(id).filter(|running| running.session == sid.0);
        let read = move |reader: &mut StoreReader<'_>| {
            let stored = load_session(reader, caller.0, sid.0)?;
            load_node(reader, &stored, id).map(|placed| placed.node)
        };
        let node = self.store.read_inline(read).await?;
        if node.status == clotho_core::tree::Status::Generating {
            let running = running.ok_or_else(|| ApiError::not_found(NodeIdPath::WHAT))?;
            return running
                .with_partial_text(|written| position.streams.resume(id, written, offset, frame.reasoning_offset));
        }
        let reasoning = node.reasoning.unwrap_or_default();
        reply_stream::chunk_event(id, &node.content, &reasoning, offset, frame.reasoning_offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goodbye_code_is_that_of_the_client() {
        let check = |sent: Option<u16>, answered: u16| {
            let goodbye = sent.map(|code| CloseReason { code: CloseCode::from(code), description: None });
            assert_eq!(u16::from(goodbye_code(goodbye.as_ref())), answered, "{sent:?}");
        };
        check(None, 1000);
        for code in [1000, 1001, 1008, 1011, 3000, 4001, 4999] {
            check(Some(code), code);
        }
        for code in [0, 999, 1004, 1005, 1006, 1015, 2999, 5000] {
            check(Some(code), 1002);
        }
    }
}
