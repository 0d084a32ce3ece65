//! How many connections one address may hold open before anybody knows whose they are. So nobody who is not paired can
//! take all files of the server.
//!
//! A connection counts from its start until its first request shows the owner or a paired device, or until it ends. One
//! too many is closed at once. A proxy in `trusted_proxies` has the connections of many clients, which it shares among
//! them. So its connections never count, but its unpaired clients do: each for the time of its requests.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

use actix_web::HttpRequest;
use actix_web::dev::Extensions;
use actix_web::rt::net::TcpStream;

use super::caller::{self, ClientIdentity};
use super::error::{ApiError, ApiErrorCode};
use crate::app::App;

/// Time after which a refused client may try again, in seconds.
const RETRY_AFTER_S: u64 = 5;

/// The places of connections without a known client, by address.
#[derive(Default)]
pub struct ConnectionLimit(Mutex<HashMap<IpAddr, usize>>);

/// One place; it is free again when this is dropped.
pub struct ConnectionPlace {
    limit: Arc<ConnectionLimit>,
    client: IpAddr,
}

/// The place of a connection, until a known client uses it.
struct CountedConnection(RefCell<Option<ConnectionPlace>>);

impl ConnectionLimit {
    /// Takes a place of an address; `None` if it has `most` already.
    fn take(self: &Arc<Self>, address: IpAddr, most: usize) -> Option<ConnectionPlace> {
        let client = counted_address(address);
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(client).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(ConnectionPlace { limit: Arc::clone(self), client })
    }

    /// Counts a new connection, and closes it if its address has too many.
    pub fn admit(self: &Arc<Self>, app: &App, connection: &dyn Any, data: &mut Extensions) {
        let Some(connection) = connection.downcast_ref::<TcpStream>() else { return };
        let Some(most) = most_connections(app) else { return };
        let Some(peer) = connection.peer_addr().ok().map(|peer| peer.ip().to_canonical()) else { return };
        if app.devices.is_trusted_peer(peer) || is_proxy(app, peer) {
            return;
        }
        match self.take(peer, most) {
            Some(place) => _ = data.insert(CountedConnection(RefCell::new(Some(place)))),
            None => {
                tracing::debug!(target: "clotho::http", %peer, "too many connections without a paired device");
                close(connection);
            }
        }
    }

    /// Frees the place of a connection that a known client uses. For an unknown client of a trusted proxy, returns a
    /// place for the time of the request.
    ///
    /// # Errors
    /// Returns an error if that client has too many requests at a time.
    pub fn admit_request(
        self: &Arc<Self>,
        app: &App,
        request: &HttpRequest,
        client: ClientIdentity,
    ) -> Result<Option<ConnectionPlace>, ApiError> {
        if client != ClientIdentity::Unknown {
            if let Some(CountedConnection(place)) = request.conn_data::<CountedConnection>() {
                place.take();
            }
            return Ok(None);
        }
        let peer = request.peer_addr().map(|peer| peer.ip().to_canonical());
        let (Some(most), Some(peer)) = (most_connections(app), peer) else { return Ok(None) };
        let Some(address) = caller::client_address(app, request).filter(|_| is_proxy(app, peer)) else {
            return Ok(None);
        };
        self.take(address, most).map(Some).ok_or_else(|| {
            let message = "too many requests at a time from one address without a paired device";
            let mut error = ApiError::new(ApiErrorCode::Unavailable, message);
            error.retry_after_s = Some(RETRY_AFTER_S);
            error
        })
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        let mut open = self.limit.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.client) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                open.remove(&self.client);
            }
        }
    }
}

/// Returns the limit for one address; `None` if nobody but the owner can connect, or if there is no limit.
fn most_connections(app: &App) -> Option<usize> {
    Some(app.config.server.unpaired_connections).filter(|most| app.devices.serves_lan() && *most > 0)
}

fn is_proxy(app: &App, peer: IpAddr) -> bool {
    app.config.server.trusted_proxies.iter().any(|network| network.contains(peer))
}

/// Returns the address under which a client is counted. One client has all addresses of an IPv6 network of 64 bits.
fn counted_address(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        IpAddr::V4(address) => IpAddr::V4(address),
    }
}

/// Ends a connection in both directions. The HTTP library still has its handle, sees the end and drops it.
#[cfg(unix)]
fn close(connection: &TcpStream) {
    // It fails if the client has ended the connection already.
    let _ = rustix::net::shutdown(connection, rustix::net::Shutdown::Both);
}

/// Does nothing: here the connection waits for the timeout of its first request.
#[cfg(not(unix))]
fn close(_: &TcpStream) {}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn connection_limit_counts_each_address_apart_and_frees_places() {
        let limit = Arc::new(ConnectionLimit::default());
        let take = |text: &str| limit.take(address(text), 2);
        let (first, second) = (take("192.0.2.1"), take("192.0.2.1"));
        assert!(first.is_some() && second.is_some() && take("192.0.2.1").is_none());
        assert!(take("192.0.2.2").is_some(), "another address");
        drop(first);
        let third = take("192.0.2.1");
        assert!(third.is_some() && take("192.0.2.1").is_none());
        drop((second, third));
        assert!(limit.0.lock().unwrap().is_empty(), "nothing is kept of those who left");
    }

    #[test]
    fn connection_limit_takes_an_ipv6_network_for_one_client() {
        for (one, other, is_same) in [
            ("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", true),
            ("2001:db8:1:2::1", "2001:db8:1:3::1", false),
            ("::ffff:192.0.2.1", "192.0.2.1", true),
            ("::ffff:192.0.2.1", "192.0.2.2", false),
            ("192.0.2.1", "192.0.3.1", false),
        ] {
            let limit = Arc::new(ConnectionLimit::default());
            let _one = limit.take(address(one), 1).unwrap();
            assert_eq!(limit.take(address(other), 1).is_none(), is_same, "{one} {other}");
        }
    }
}
