//! Listening: threads, timeouts, and an end in order.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use actix_web::middleware::{Compress, from_fn};
use actix_web::web::Data;
use actix_web::{App as Site, HttpServer, web};

use super::error::ApiError;
use super::seal::{seal, spare_small};
use super::shared::Shared;
use super::table::{Entry, configure};
use crate::app::App;

/// How long a client may take to send the head of a request.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// How long a silent connection is kept for the next request.
const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// How long a closed connection may take to go.
const GOODBYE_WITHIN: Duration = Duration::from_secs(3);
/// How long requests that run may still take when the server stops, in seconds.
const STOP_WITHIN_S: u64 = 10;

/// Serves until the process is told to stop (SIGTERM, Ctrl-C).
///
/// # Errors
/// The listener cannot be used.
pub async fn serve(app: Arc<App>, listener: TcpListener) -> io::Result<()> {
    serve_until(app, listener, told_to_stop()).await
}

/// Serves until `stop` is over. Then sockets are told and closed, running requests finish, and nothing new comes in.
///
/// # Errors
/// The listener cannot be used.
pub async fn serve_until(app: Arc<App>, listener: TcpListener, stop: impl Future<Output = ()>) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let shared = Data::new(Shared::default());
    let entries: Arc<[Entry]> = super::table().into();
    let workers = app.config.server.workers;
    let (program, common) = (Data::from(app), shared.clone());
    let mut server = HttpServer::new(move || {
        let entries = Arc::clone(&entries);
        let nowhere = || std::future::ready(Err::<&str, ApiError>(ApiError::not_found("this address")));
        Site::new()
            .app_data(program.clone())
            .app_data(common.clone())
            .configure(move |config| configure(config, &entries))
            .default_service(web::to(nowhere))
            .wrap(from_fn(spare_small))
            .wrap(Compress::default())
            .wrap(from_fn(seal))
    })
    .tcp_nodelay(true)
    .keep_alive(KEEP_ALIVE)
    .client_request_timeout(HEAD_WITHIN)
    .client_disconnect_timeout(GOODBYE_WITHIN)
    .shutdown_timeout(STOP_WITHIN_S)
    .disable_signals();
    if workers > 0 {
        server = server.workers(workers);
    }
    let server = server.listen(listener)?.run();
    let handle = server.handle();
    tokio::pin!(server, stop);
    tokio::select! {
        ended = &mut server => return ended,
        () = &mut stop => {}
    }
    // A socket would keep its worker until the timeout: they go first.
    shared.close();
    let (ended, ()) = tokio::join!(server, handle.stop(true));
    ended
}

/// Waits for SIGTERM or Ctrl-C.
async fn told_to_stop() {
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
