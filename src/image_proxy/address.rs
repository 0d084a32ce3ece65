//! Which addresses are public: reachable for everyone on the internet, so that requests to them reveal nothing about
//! this machine or its LAN.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns whether an address is public. Unknown ranges count as private.
pub const fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

/// Returns whether an IPv4 address is public.
const fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_inside = matches!(
        (a, b, c),
        // This network, private ranges, loopback.
        (0 | 10 | 127, ..) | (172, 16..=31, _) | (192, 168, _)
        // Carrier-grade NAT; link-local with the metadata services of clouds.
        | (100, 64..=127, _) | (169, 254, _)
        // Protocol assignments, 6to4 relays, benchmarks, documentation.
        | (192, 0, 0 | 2) | (192, 88, 99) | (198, 18..=19, _) | (198, 51, 100) | (203, 0, 113)
        // Multicast, reserved, broadcast.
        | (224..=255, ..)
    );
    !is_inside
}

/// Returns whether an IPv6 address is public. Only 2000::/3 is allocated so far; mapped, translated (64:ff9b::), local
/// and multicast addresses lie outside it.
const fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, ..] = address.segments();
    let is_global = a & 0xe000 == 0x2000;
    // Protocol assignments with Teredo, documentation (twice), 6to4. The last can carry a private IPv4 address.
    let is_special = (a == 0x2001 && (b < 0x0200 || b == 0x0db8)) || a == 0x2002 || a & 0xfff0 == 0x3ff0;
    is_global && !is_special
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every known form in which a private address can pass a naive check is refused.
    #[test]
    fn image_proxy_private_addresses_are_not_public() {
        for inside in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:a9fe:a9fe",
            "::ffff:8.8.8.8",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(inside.parse().unwrap()), "{inside}");
        }
        for outside in
            ["1.1.1.1", "8.8.8.8", "93.184.215.14", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450::1"]
        {
            assert!(is_public(outside.parse().unwrap()), "{outside}");
        }
    }
}
