//! The server: listening, timeouts, and graceful shutdown.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::Server;
use actix_web::middleware::{Compress, from_fn};
use actix_web::web::Data;
use actix_web::{App as Site, HttpServer, web};
use tokio::time::timeout;

use super::connection_end;
use super::connection_limit::ConnectionLimit;
use super::file_limit;
use super::finalize::{finalize, skip_small_bodies};
use super::route_table::{RouteEntry, configure};
use super::routes::web_page;
use super::server_state::ServerState;
use crate::app::App;

/// Maximum time for the head of a request.
const REQUEST_HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum idle time of a connection between requests.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(75);
/// Maximum time for a closed connection to disconnect.
const DISCONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum time that a client may read nothing of its answer. It must not be shorter, because a paused browser download
/// also reads nothing.
#[cfg(target_os = "linux")]
const CLIENT_READ_TIMEOUT: Duration = Duration::from_secs(5 * 60);
/// Maximum time for running requests during shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// Time for answers already passed to the connections to leave during shutdown.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(100);

/// Serves until the process receives SIGTERM or Ctrl-C.
///
/// # Errors
/// Returns an error if the listener cannot be used.
pub async fn serve(app: Arc<App>, listener: TcpListener) -> io::Result<()> {
    serve_until(app, listener, shutdown_signal()).await
}

/// Serves until `stop` resolves. Then no connection is accepted, WebSockets are closed with a reason, and running
/// requests finish. Idle keep-alive connections are dropped as soon as the last request has finished.
///
/// # Errors
/// Returns an error if the listener cannot be used.
pub async fn serve_until(app: Arc<App>, listener: TcpListener, stop: impl Future<Output = ()>) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    #[cfg(target_os = "linux")]
    set_client_read_timeout(&listener);
    app.devices.set_port(listener.local_addr()?.port());
    let shared = Data::new(ServerState::default());
    let entries: Arc<[RouteEntry]> = super::all_routes().into();
    let workers = app.config.server.workers;
    let connections = Data::new(ConnectionLimit::default());
    let (program, common, counted) = (Data::from(app), shared.clone(), connections.clone());
    // The listener may hold it a little longer than the workers.
    let at_door = Arc::downgrade(&program.clone().into_inner());
    let (alive, mut gone) = tokio::sync::mpsc::channel::<()>(1);
    let mut server = HttpServer::new(move || {
        let entries = Arc::clone(&entries);
        Site::new()
            .app_data(program.clone())
            .app_data(common.clone())
            .app_data(counted.clone())
            .app_data(Data::new(alive.clone()))
            .configure(move |config| configure(config, &entries))
            .default_service(web::to(web_page::not_found))
            .wrap(from_fn(skip_small_bodies))
            .wrap(Compress::default())
            .wrap(from_fn(finalize))
    })
    .on_connect(move |connection, data| {
        connection_end::note_connection(connection, data);
        if let Some(app) = at_door.upgrade() {
            connections.admit(&app, connection, data);
        }
    })
    .tcp_nodelay(true)
    .keep_alive(KEEP_ALIVE_TIMEOUT)
    .client_request_timeout(REQUEST_HEAD_TIMEOUT)
    .client_disconnect_timeout(DISCONNECT_TIMEOUT)
    .disable_signals();
    if workers > 0 {
        server = server.workers(workers);
    }
    if let Some(files) = file_limit::raise_file_limit() {
        server = server.max_connections(file_limit::max_connections(files, workers));
    }
    let ended = run_until(server.listen(listener)?.run(), stop, &shared).await;
    // Worker threads end by themselves and then release the app.
    let _ = timeout(DISCONNECT_TIMEOUT, gone.recv()).await;
    ended
}

/// Lets the system close connections whose client reads nothing for too long, because it has vanished or does not want
/// to. The framework itself would wait forever. Accepted connections inherit the option from the listener.
#[cfg(target_os = "linux")]
fn set_client_read_timeout(listener: &TcpListener) {
    let millis = u32::try_from(CLIENT_READ_TIMEOUT.as_millis()).unwrap_or(u32::MAX);
    if let Err(error) = rustix::net::sockopt::set_tcp_user_timeout(listener, millis) {
        tracing::warn!("idle clients are not closed: {error}");
    }
}

async fn run_until(server: Server, stop: impl Future<Output = ()>, shared: &ServerState) -> io::Result<()> {
    let handle = server.handle();
    let stopping = async {
        stop.await;
        handle.pause().await;
        shared.begin_shutdown();
        if timeout(SHUTDOWN_TIMEOUT, shared.wait_until_idle()).await.is_err() {
            tracing::warn!("requests still ran after {} s and were ended", SHUTDOWN_TIMEOUT.as_secs());
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
            tracing::warn!("SIGTERM cannot be handled: {error}");
            let _ = interrupted.await;
        }
    }
}
