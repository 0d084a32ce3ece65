//! `clotho serve`: build the app, listen, and end in order.

use std::io::IsTerminal;
use std::net::TcpListener;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use tracing_subscriber::EnvFilter;

use crate::app::App;
use crate::clock::{Ids, SystemClock};
use crate::config::{Config, Log, LogFormat};
use crate::http;

use super::{Outcome, write};

/// Serves until it is told to stop.
pub fn serve(config: Config) -> Outcome {
    log_to_stderr(&config.log)?;
    // The address first: a port in use is found before anything is touched.
    let address = config.server.listen;
    let listener = TcpListener::bind(address).with_context(|| in_use(address))?;
    let local = listener.local_addr()?;
    let ids = Arc::new(Ids::from_entropy().context("the system has no randomness to give")?);
    let app = Arc::new(App::build(config, Arc::new(SystemClock), ids)?);
    write::line(&format!("Clotho listens on http://{local}"));
    let served = actix_web::rt::System::new().block_on(http::serve(Arc::clone(&app), listener));
    app.close();
    served.context("the server stopped")?;
    Ok(ExitCode::SUCCESS)
}

fn in_use(address: std::net::SocketAddr) -> String {
    format!("cannot listen on {address}: another program may use the port; set server.listen or CLOTHO_SERVER__LISTEN")
}

fn log_to_stderr(log: &Log) -> Result<(), anyhow::Error> {
    let filter = EnvFilter::try_new(&log.level).with_context(|| format!("log.level \"{}\"", log.level))?;
    let mut builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    if !std::io::stderr().is_terminal() {
        // Colours are for eyes: in a file they are noise.
        builder = builder.with_ansi(false);
    }
    let started = match log.format {
        LogFormat::Json => builder.json().try_init(),
        LogFormat::Text => builder.try_init(),
    };
    started.map_err(|error| anyhow::anyhow!("the log cannot be started: {error}"))
}
