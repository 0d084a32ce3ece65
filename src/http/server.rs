//! Listening: threads, timeouts, and an end in order.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::Server;
use actix_web::middleware::{Compress, from_fn};
use actix_web::web::Data;
use actix_web::{App as Site, HttpServer, web};
use tokio::time::timeout;

use super::finalize::{finalize, skip_small_bodies};
use super::route_table::{RouteEntry, configure};
use super::routes::web_page;
use super::server_state::ServerState;
use crate::app::App;

/// How long a client may take to send the head of a request.
const REQUEST_HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a silent connection is kept for the next request.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(75);
/// How long a closed connection may take to go.
const DISCONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a client may take nothing of what it asked for. Not shorter: a browser whose download is paused takes nothing either.
#[cfg(target_os = "linux")]
const CLIENT_READ_TIMEOUT: Duration = Duration::from_secs(5 * 60);
/// How long requests that run may still take when the server stops.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the last pieces of answers, which the connections have taken, may take to leave when the server stops.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(100);

/// Serves until the process is told to stop (SIGTERM, Ctrl-C).
///
/// # Errors
/// The listener cannot be used.
pub async fn serve(app: Arc<App>, listener: TcpListener) -> io::Result<()> {
    serve_until(app, listener, shutdown_signal()).await
}

/// Serves until `stop` is over. Then nothing new comes in, sockets are told and closed, running requests finish, and as soon
/// as the last has, the connections that are only kept for later are dropped: nobody waits for them.
///
/// # Errors
/// The listener cannot be used.
pub async fn serve_until(app: Arc<App>, listener: TcpListener, stop: impl Future<Output = ()>) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    #[cfg(target_os = "linux")]
    set_client_read_timeout(&listener);
    app.devices.set_port(listener.local_addr()?.port());
    let shared = Data::new(ServerState::default());
    let entries: Arc<[RouteEntry]> = super::all_routes().into();
    let workers = app.config.server.workers;
    let (program, common) = (Data::from(app), shared.clone());
    let (alive, mut gone) = tokio::sync::mpsc::channel::<()>(1);
    let mut server = HttpServer::new(move || {
        let entries = Arc::clone(&entries);
        Site::new()
            .app_data(program.clone())
            .app_data(common.clone())
            .app_data(Data::new(alive.clone()))
            .configure(move |config| configure(config, &entries))
            .default_service(web::to(web_page::nowhere))
            .wrap(from_fn(skip_small_bodies))
            .wrap(Compress::default())
            .wrap(from_fn(finalize))
    })
    .tcp_nodelay(true)
    .keep_alive(KEEP_ALIVE_TIMEOUT)
    .client_request_timeout(REQUEST_HEAD_TIMEOUT)
    .client_disconnect_timeout(DISCONNECT_TIMEOUT)
    .disable_signals();
    if workers > 0 {
        server = server.workers(workers);
    }
    let ended = run_until(server.listen(listener)?.run(), stop, &shared).await;
    // The threads of the workers end by themselves, and let go of the program when they do.
    let _ = timeout(DISCONNECT_TIMEOUT, gone.recv()).await;
    ended
}

/// Whoever takes nothing for too long, because it is gone without a word or does not want to, is let go of by the system: the framework
/// waits for ever until an answer is taken. Connections have this from where they came in.
#[cfg(target_os = "linux")]
fn set_client_read_timeout(listener: &TcpListener) {
    let millis = u32::try_from(CLIENT_READ_TIMEOUT.as_millis()).unwrap_or(u32::MAX);
    if let Err(error) = rustix::net::sockopt::set_tcp_user_timeout(listener, millis) {
        tracing::warn!("clients that take nothing are not closed: {error}");
    }
}

async fn run_until(server: Server, stop: impl Future<Output = ()>, shared: &ServerState) -> io::Result<()> {
    let handle = server.handle();
    let stopping = async {
        stop.await;
        handle.pause().await;
        shared.close();
        if timeout(SHUTDOWN_TIMEOUT, shared.wait_until_idle()).await.is_err() {
            tracing::warn!("requests still ran after {} s and were cut off", SHUTDOWN_TIMEOUT.as_secs());
        }
        tokio::time::sleep(FLUSH_TIMEOUT).await;
        handle.stop(false).await;
    };
    tokio::pin!(server, stopping);
    tokio::select! {
        ended = &mut server => ended,
        () = &mut stopping => server.await,
    }
}

/// Waits for SIGTERM or Ctrl-C.
async fn shutdown_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let interrupted = tokio::signal::ctrl_c();
    match signal(SignalKind::terminate()) {
        Ok(mut terminated) => tokio::select! {
            _ = interrupted => {}
            _ = terminated.recv() => {}
        },
        Err(error) => {
            tracing::warn!("SIGTERM cannot be heard: {error}");
            let _ = interrupted.await;
        }
    }
}
