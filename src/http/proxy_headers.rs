//! What proxies say about a request: that they forwarded it, whose it is, and by which scheme.
//!
//! Any client can send these headers. That a request was forwarded only takes rights away, so it is believed of
//! everyone. The address of the client is believed of proxies in `trusted_proxies` only.

use std::net::{IpAddr, SocketAddr};

use actix_web::http::header::{self, HeaderMap, HeaderName};

use clotho_config::IpNetwork;

/// Headers that proxies and their services add, besides those that begin with [`FORWARDED_PREFIX`].
const PROXY_HEADERS: [&str; 15] = [
    "forwarded",
    "forwarded-for",
    "via",
    "x-real-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-original-forwarded-for",
    "x-original-host",
    "x-envoy-external-address",
    "x-azure-clientip",
    "x-appengine-user-ip",
    "true-client-ip",
    "cf-connecting-ip",
    "fastly-client-ip",
    "fly-client-ip",
];
const FORWARDED_PREFIX: &str = "x-forwarded";
const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Returns whether no header shows that a proxy forwarded the request.
pub fn is_direct(headers: &HeaderMap) -> bool {
    !headers.keys().any(|name| PROXY_HEADERS.contains(&name.as_str()) || name.as_str().starts_with(FORWARDED_PREFIX))
}

/// Returns whether a proxy says that the browser used HTTPS: the first proxy on the way, in `X-Forwarded-Proto` or
/// `Forwarded`.
pub fn is_https(headers: &HeaderMap) -> bool {
    let list = headers.get(X_FORWARDED_PROTO).and_then(|value| value.to_str().ok());
    let named = list.and_then(|list| list.split(',').next()).map(str::to_owned);
    let scheme = named.or_else(|| forwarded_elements(headers).iter().find_map(|element| parameter(element, "proto")));
    scheme.is_some_and(|scheme| scheme.trim().eq_ignore_ascii_case("https"))
}

/// Returns the address of the client. `X-Forwarded-For` and `Forwarded` (RFC 7239) are believed if the peer is a
/// trusted proxy: their last address that is no trusted proxy itself. If the two disagree or cannot be read, it is the
/// nearest address that is sure.
pub fn client_address(headers: &HeaderMap, peer: IpAddr, trusted: &[IpNetwork]) -> IpAddr {
    let peer = peer.to_canonical();
    let is_trusted = |address: &IpAddr| trusted.iter().any(|network| network.contains(*address));
    if !is_trusted(&peer) {
        return peer;
    }
    // Walk from the server towards the client.
    let walk = |hops: Vec<Option<IpAddr>>| {
        let mut nearest = peer;
        for hop in hops.into_iter().rev() {
            let Some(address) = hop else { break };
            nearest = address;
            if !is_trusted(&address) {
                break;
            }
        }
        nearest
    };
    let is_there = |name: &HeaderName| headers.contains_key(name);
    match (is_there(&X_FORWARDED_FOR), is_there(&header::FORWARDED)) {
        (false, false) => peer,
        (true, false) => walk(listed_hops(headers)),
        (false, true) => walk(forwarded_hops(headers)),
        (true, true) => {
            let (one, other) = (walk(listed_hops(headers)), walk(forwarded_hops(headers)));
            if one == other { one } else { peer }
        }
    }
}

/// Returns the addresses in `X-Forwarded-For`, the client's first; `None` for what is no address.
fn listed_hops(headers: &HeaderMap) -> Vec<Option<IpAddr>> {
    let lists = headers.get_all(X_FORWARDED_FOR).map(|value| value.to_str().unwrap_or("?"));
    lists.flat_map(|list| list.split(',')).map(parse_node).collect()
}

/// Returns the addresses in `Forwarded`, the client's first; `None` for what is no address.
fn forwarded_hops(headers: &HeaderMap) -> Vec<Option<IpAddr>> {
    forwarded_elements(headers)
        .iter()
        .map(|element| parameter(element, "for").and_then(|node| parse_node(&node)))
        .collect()
}

/// Parses an address with or without a port: `192.0.2.1`, `192.0.2.1:4711`, `[2001:db8::1]:4711`, `2001:db8::1`.
fn parse_node(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let address = inner.parse::<IpAddr>().or_else(|_| text.parse::<SocketAddr>().map(|node| node.ip()));
    address.ok().map(|address| address.to_canonical())
}

/// Returns the elements of `Forwarded`, each as the text of its parameters.
fn forwarded_elements(headers: &HeaderMap) -> Vec<String> {
    let lists = headers.get_all(header::FORWARDED).map(|value| value.to_str().unwrap_or("?"));
    lists.flat_map(|list| split_outside_quotes(list, ',')).collect()
}

/// Returns a parameter of an element of `Forwarded`, without quotes.
fn parameter(element: &str, name: &str) -> Option<String> {
    let pairs = split_outside_quotes(element, ';');
    let mut values = pairs.iter().filter_map(|pair| pair.split_once('='));
    let (_, value) = values.find(|(key, _)| key.trim().eq_ignore_ascii_case(name))?;
    let value = value.trim();
    match value.strip_prefix('"') {
        Some(inner) => Some(inner.strip_suffix('"')?.replace('\\', "")),
        None => Some(value.to_owned()),
    }
}

/// Splits a text at a separator that is not within a quoted string.
fn split_outside_quotes(text: &str, separator: char) -> Vec<String> {
    let (mut parts, mut part, mut is_quoted, mut is_escaped) = (Vec::new(), String::new(), false, false);
    for c in text.chars() {
        if c == separator && !is_quoted {
            parts.push(std::mem::take(&mut part));
            continue;
        }
        is_quoted ^= c == '"' && !is_escaped;
        is_escaped = is_quoted && c == '\\' && !is_escaped;
        part.push(c);
    }
    parts.push(part);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::test::TestRequest;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let add = |request: TestRequest, (name, value): &(&str, &str)| request.append_header((*name, *value));
        pairs.iter().fold(TestRequest::default(), add).to_http_request().headers().clone()
    }

    /// Returns the client's address as a request from 10.0.0.1 shows it, where 10.0.0.0/8 are proxies.
    fn client(pairs: &[(&str, &str)]) -> String {
        let trusted = [IpNetwork::parse("10.0.0.0/8").unwrap()];
        client_address(&headers(pairs), "::ffff:10.0.0.1".parse().unwrap(), &trusted).to_string()
    }

    #[test]
    fn client_address_is_the_last_that_is_no_trusted_proxy() {
        for (list, expected) in [
            ("192.0.2.1", "192.0.2.1"),
            ("203.0.113.9, 192.0.2.1", "192.0.2.1"),
            ("203.0.113.9, 192.0.2.1, 10.2.3.4", "192.0.2.1"),
            (" 192.0.2.1:4711 ", "192.0.2.1"),
            ("[2001:db8::1]:4711", "2001:db8::1"),
            ("2001:db8::1", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("10.7.7.7", "10.7.7.7"),
            ("192.0.2.1, unknown", "10.0.0.1"),
            ("192.0.2.1, unknown, 10.2.3.4", "10.2.3.4"),
            ("", "10.0.0.1"),
        ] {
            assert_eq!(client(&[("x-forwarded-for", list)]), expected, "{list}");
        }
        let twice = [("x-forwarded-for", "203.0.113.9"), ("x-forwarded-for", "192.0.2.1")];
        assert_eq!(client(&twice), "192.0.2.1");
        assert_eq!(client(&[]), "10.0.0.1");
        assert_eq!(client(&[("x-real-ip", "192.0.2.1")]), "10.0.0.1");
    }

    #[test]
    fn client_address_reads_forwarded_header() {
        for (value, expected) in [
            ("for=192.0.2.1", "192.0.2.1"),
            ("For=\"192.0.2.1:80\";proto=https;by=10.0.0.1", "192.0.2.1"),
            ("for=203.0.113.9, proto=https;for=\"[2001:db8::1]:4711\"", "2001:db8::1"),
            ("for=\"a,b\\\";c\", for=192.0.2.1;host=\"x;for=203.0.113.9\"", "192.0.2.1"),
            ("for=192.0.2.1, for=_hidden", "10.0.0.1"),
            ("proto=https", "10.0.0.1"),
            ("for=\"192.0.2.1", "10.0.0.1"),
        ] {
            assert_eq!(client(&[("forwarded", value)]), expected, "{value}");
        }
        let both = |forwarded: &str| client(&[("x-forwarded-for", "192.0.2.1"), ("forwarded", forwarded)]);
        assert_eq!(both("for=192.0.2.1"), "192.0.2.1");
        assert_eq!(both("for=192.0.2.2"), "10.0.0.1", "one of them is the client's own");
    }

    #[test]
    fn proxy_scheme_is_read_from_both_headers() {
        for (name, value, expected) in [
            ("x-forwarded-proto", "https", true),
            ("x-forwarded-proto", "HTTPS, http", true),
            ("x-forwarded-proto", "http, https", false),
            ("x-forwarded-proto", "httpsx", false),
            ("forwarded", "for=192.0.2.1;proto=https", true),
            ("forwarded", "For=192.0.2.1; Proto=\"HTTPS\"; by=10.0.0.1", true),
            ("forwarded", "for=192.0.2.1, proto=https", true),
            ("forwarded", "proto=http, proto=https", false),
            ("forwarded", "for=\";proto=https\"", false),
            ("forwarded", "for=192.0.2.1", false),
            ("x-real-ip", "https", false),
        ] {
            assert_eq!(is_https(&headers(&[(name, value)])), expected, "{name}: {value}");
        }
        assert!(!is_https(&headers(&[])));
    }

    #[test]
    fn client_address_from_unknown_peer_ignores_headers() {
        let trusted = [IpNetwork::parse("10.0.0.0/8").unwrap()];
        let sent = headers(&[("x-forwarded-for", "203.0.113.9"), ("forwarded", "for=203.0.113.9")]);
        let peer = "192.0.2.7".parse().unwrap();
        assert_eq!(client_address(&sent, peer, &trusted), peer);
        assert_eq!(client_address(&sent, peer, &[]), peer);
    }
}
