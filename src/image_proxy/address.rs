//! Which addresses are outside: reachable for everyone on the internet, so that asking them tells nobody anything about
//! this machine or the house it stands in.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address belongs to the internet, and to nothing inside. What is not known to is inside.
pub const fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

const fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_inside = matches!(
        (a, b, c),
        // This network, private ones, the machine itself.
        (0 | 10 | 127, ..) | (172, 16..=31, _) | (192, 168, _)
        // Carriers' own, link-local with the addresses of clouds' metadata.
        | (100, 64..=127, _) | (169, 254, _)
        // Protocols, relays to IPv6, benchmarks, documentation.
        | (192, 0, 0 | 2) | (192, 88, 99) | (198, 18..=19, _) | (198, 51, 100) | (203, 0, 113)
        // Many at once, and the reserved rest with broadcast.
        | (224..=255, ..)
    );
    !is_inside
}

/// Only 2000::/3 is given to the internet so far; mapped, translated (64:ff9b::), local and many-at-once lie elsewhere.
const fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, ..] = address.segments();
    let is_global = a & 0xe000 == 0x2000;
    // Protocols with Teredo, documentation twice, 6to4: the last can carry an address of IPv4 that is inside.
    let is_special = (a == 0x2001 && (b < 0x0200 || b == 0x0db8)) || a == 0x2002 || a & 0xfff0 == 0x3ff0;
    is_global && !is_special
}

#[cfg(test)]
mod tests {
    use super::*;

    /// every way in which an address of the inside was smuggled past a check elsewhere.
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
