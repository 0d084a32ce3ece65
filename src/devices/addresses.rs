//! The addresses of this machine on the LAN: those of its interfaces, and its `.local` name.
//!
//! They change while the server runs (another network, a new lease), so they are looked up again, at most every 5
//! seconds.

use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a lookup is cached.
const CACHE_TTL: Duration = Duration::from_secs(5);
/// The maximum number of addresses shown.
const MAX_SHOWN: usize = 8;

/// The cached addresses of this machine.
#[derive(Debug, Default)]
pub struct LocalAddresses(Mutex<Option<(Instant, Vec<IpAddr>)>>);

impl LocalAddresses {
    /// Returns whether a `Host` header names this machine.
    pub fn contains(&self, name: &str) -> bool {
        match name.parse::<IpAddr>() {
            Ok(address) => self.current().contains(&address.to_canonical()),
            Err(_) => mdns_name().is_some_and(|own| own == name),
        }
    }

    /// Returns the addresses that other devices can open, those of typical home networks first.
    pub fn shareable(&self) -> Vec<IpAddr> {
        let mut own: Vec<IpAddr> = self.current().into_iter().filter(is_reachable).collect();
        own.sort_by_key(|address| (network_rank(address), *address));
        own.truncate(MAX_SHOWN);
        own
    }

    fn current(&self) -> Vec<IpAddr> {
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, own)) = cache.as_ref()
            && at.elapsed() < CACHE_TTL
        {
            return own.clone();
        }
        let own: Vec<IpAddr> = match if_addrs::get_if_addrs() {
            Ok(interfaces) => interfaces.into_iter().map(|interface| interface.ip().to_canonical()).collect(),
            Err(error) => {
                tracing::warn!("the addresses of this machine cannot be read: {error}");
                Vec::new()
            }
        };
        *cache = Some((Instant::now(), own.clone()));
        own
    }
}

/// Returns whether other devices can open an address. Link-local IPv6 needs a zone, which no `Host` header has.
fn is_reachable(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !address.is_loopback() && !address.is_link_local() && !address.is_unspecified(),
        IpAddr::V6(address) => !address.is_loopback() && !address.is_unicast_link_local() && !address.is_unspecified(),
    }
}

/// Returns the sort rank: typical home networks before networks of virtual machines, IPv4 before IPv6.
fn network_rank(address: &IpAddr) -> u8 {
    match address {
        IpAddr::V4(address) => match address.octets() {
            [192, 168, ..] => 0,
            [10, ..] => 1,
            [172, ..] => 2,
            _ => 3,
        },
        IpAddr::V6(_) => 4,
    }
}

/// Returns the mDNS name of this machine, in lower case, or `None` if its host name does not fit.
pub fn mdns_name() -> Option<String> {
    let name = rustix::system::uname();
    let name = name.nodename().to_str().ok()?.to_ascii_lowercase();
    let name = name.strip_suffix(".local").unwrap_or(&name);
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-';
    (!name.is_empty() && name != "localhost" && name.chars().all(fits)).then(|| format!("{name}.local"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_addresses_contains_only_own_addresses() {
        let addresses = LocalAddresses::default();
        assert!(addresses.contains("127.0.0.1") && addresses.contains("::ffff:127.0.0.1"));
        for other in ["evil.example", "0.0.0.0", "8.8.8.8", "", ".local", "evil.local.example"] {
            assert!(!addresses.contains(other), "{other}");
        }
        assert!(addresses.shareable().iter().all(|address| !address.is_loopback()));
        assert!(mdns_name().is_none_or(|name| addresses.contains(&name)));
    }

    #[test]
    fn local_addresses_private_networks_sort_first() {
        let mut all: Vec<IpAddr> =
            ["fd00::1", "172.17.0.1", "203.0.113.4", "10.0.0.2", "192.168.0.7"].map(|a| a.parse().unwrap()).to_vec();
        all.sort_by_key(network_rank);
        assert_eq!(all.first().map(ToString::to_string).as_deref(), Some("192.168.0.7"));
        assert!(!is_reachable(&"fe80::1".parse().unwrap()) && !is_reachable(&"169.254.1.1".parse().unwrap()));
    }
}
