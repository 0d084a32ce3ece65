//! `clotho serve`: builds the app, listens and shuts down in order.

use std::io::IsTerminal;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::app::App;
use crate::http;
use clotho_config::{Config, LogConfig, LogFormat, ServerConfig};
use clotho_core::clock::{IdGenerator, SystemClock};

use super::{CliResult, log_level, log_rate, terminal};

/// Serves until it is stopped. With `--lan`, paired devices are allowed too, on the given address or on all.
pub fn serve(mut config: Config, lan: Option<Option<IpAddr>>) -> CliResult {
    log_to_stderr(&config.log)?;
    if let Some(address) = lan {
        enable_lan(&mut config.server, address);
    }
    // Bind first: a port in use is found before any data is touched.
    let address = config.server.listen;
    let listener = TcpListener::bind(address).with_context(|| port_in_use(address))?;
    let local = listener.local_addr()?;
    clotho_plugin::heap::spawn_memory_purger().context("no thread can be started")?;
    let ids = Arc::new(IdGenerator::from_entropy().context("the system provides no randomness")?);
    let app = Arc::new(App::build(config, Arc::new(SystemClock), ids)?);
    terminal::print_line(&format!("Clotho listens on http://{}", local_address(local)));
    if app.config.server.lan {
        print_lan_addresses(&app, local);
    }
    let served = actix_web::rt::System::new().block_on(http::serve(Arc::clone(&app), listener));
    app.close();
    served.context("the server stopped")?;
    Ok(ExitCode::SUCCESS)
}

/// Turns on the LAN mode. Without an address it listens on all, unless the settings name one that is not loopback.
fn enable_lan(server: &mut ServerConfig, address: Option<IpAddr>) {
    server.lan = true;
    if let Some(address) = address {
        server.listen.set_ip(address);
    } else if server.listen.ip().is_loopback() {
        server.listen.set_ip(Ipv4Addr::UNSPECIFIED.into());
    }
}

/// Returns the address for a browser on this machine: loopback if the server listens on all addresses.
fn local_address(local: SocketAddr) -> SocketAddr {
    let loopback: IpAddr = if local.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() };
    if local.ip().is_unspecified() { SocketAddr::new(loopback, local.port()) } else { local }
}

fn print_lan_addresses(app: &App, local: SocketAddr) {
    if local.ip().is_loopback() {
        terminal::print_line("Devices can be paired, but only this machine can reach this address");
        return;
    }
    let found = app.devices.addresses.shareable();
    let reached = found.into_iter().filter(|address| local.ip().is_unspecified() || *address == local.ip());
    for address in reached {
        terminal::print_line(&format!("In your network: http://{}", SocketAddr::new(address, local.port())));
    }
    terminal::print_line("Pair each device from this machine first");
}

fn port_in_use(address: SocketAddr) -> String {
    format!("cannot listen on {address}: another program may use the port; set server.listen or CLOTHO_SERVER__LISTEN")
}

fn log_to_stderr(log: &LogConfig) -> Result<(), anyhow::Error> {
    let filter = EnvFilter::try_new(log_level::current_targets(&log.level))
        .with_context(|| format!("log.level \"{}\"", log.level))?;
    let mut builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    if !std::io::stderr().is_terminal() {
        // No ANSI colours in log files.
        builder = builder.with_ansi(false);
    }
    let started = match log.format {
        LogFormat::Json => builder.json().finish().with(log_rate::network_lines()).try_init(),
        LogFormat::Text => builder.finish().with(log_rate::network_lines()).try_init(),
    };
    started.map_err(|error| anyhow::anyhow!("the log cannot be started: {error}"))
}
