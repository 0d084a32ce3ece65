//! Names by which a proxy serves the server, as `[server] allowed_hosts` lists them.

use std::net::Ipv6Addr;

/// The scheme of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageScheme {
    Http,
    Https,
}

impl PageScheme {
    /// Returns the scheme with a name; `None` for other schemes.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "http" => Some(Self::Http),
            "https" => Some(Self::Https),
            _ => None,
        }
    }

    /// Returns the port of an address that names none.
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// A host of `allowed_hosts`, with the origins that its pages may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedHost {
    /// Name or address in lower case, without brackets and final dot.
    name: String,
    /// The scheme of its pages; `None`: any.
    scheme: Option<PageScheme>,
    /// The port of its pages; `None`: the default one of the scheme.
    port: Option<u16>,
}

impl AllowedHost {
    /// Parses `play.example.org`, optionally with a scheme before it and a port after it, as in
    /// `https://play.example.org:8443`. IPv6 addresses need brackets if a port follows. `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.to_ascii_lowercase();
        let (scheme, authority) = match text.split_once("://") {
            Some((scheme, authority)) => (Some(PageScheme::from_name(scheme)?), authority),
            None => (None, text.as_str()),
        };
        let is_address = authority.parse::<Ipv6Addr>().is_ok();
        let (name, port) = match authority.rsplit_once(':').filter(|_| !is_address) {
            Some((name, port)) if !name.contains(':') || name.ends_with(']') => (name, Some(parse_port(port)?)),
            Some(_) if !authority.ends_with(']') => return None,
            Some(_) | None => (authority, None),
        };
        let name = match name.strip_prefix('[') {
            Some(inner) => inner.strip_suffix(']').filter(|inner| inner.parse::<Ipv6Addr>().is_ok())?,
            None => name.strip_suffix('.').unwrap_or(name),
        };
        let fits = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        let is_name = (1..=253).contains(&name.len()) && name.chars().all(fits);
        (is_name || name.parse::<Ipv6Addr>().is_ok()).then(|| Self { name: name.to_owned(), scheme, port })
    }

    /// Returns whether a `Host` header may contain a name. Its port is not compared, because proxies change it.
    pub fn has_name(&self, name: &str) -> bool {
        self.name == name
    }

    /// Returns whether a page of an origin may send requests. An entry without scheme and port allows the default ports
    /// and the port that the server itself listens on.
    pub fn allows_origin(&self, scheme: PageScheme, name: &str, port: u16, own_port: u16) -> bool {
        let fits_port = match (self.scheme, self.port) {
            (_, Some(wanted)) => port == wanted,
            (Some(_), None) => port == scheme.default_port(),
            (None, None) => port == scheme.default_port() || port == own_port,
        };
        self.name == name && self.scheme.is_none_or(|wanted| wanted == scheme) && fits_port
    }
}

fn parse_port(digits: &str) -> Option<u16> {
    digits.parse().ok().filter(|port| *port > 0 && digits.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns those of some origins that an entry allows on a server that listens on port 7317.
    fn allowed(entry: &str) -> Vec<&'static str> {
        let host = AllowedHost::parse(entry).unwrap_or_else(|| panic!("{entry}"));
        let origins = [
            ("http://a", PageScheme::Http, "a", 80),
            ("https://a", PageScheme::Https, "a", 443),
            ("http://a:443", PageScheme::Http, "a", 443),
            ("https://a:80", PageScheme::Https, "a", 80),
            ("http://a:7317", PageScheme::Http, "a", 7317),
            ("https://a:8443", PageScheme::Https, "a", 8443),
            ("http://a:8443", PageScheme::Http, "a", 8443),
            ("https://b", PageScheme::Https, "b", 443),
        ];
        let allows =
            |(_, scheme, name, port): &(&str, PageScheme, &str, u16)| host.allows_origin(*scheme, name, *port, 7317);
        origins.into_iter().filter(allows).map(|(origin, ..)| origin).collect()
    }

    #[test]
    fn allowed_host_allows_origins_of_its_scheme_and_port() {
        for bare in ["a", "A", "a."] {
            assert_eq!(allowed(bare), ["http://a", "https://a", "http://a:7317"], "{bare}");
        }
        assert_eq!(allowed("https://a"), ["https://a"]);
        assert_eq!(allowed("HTTPS://A."), ["https://a"]);
        assert_eq!(allowed("http://a"), ["http://a"]);
        assert_eq!(allowed("https://a:8443"), ["https://a:8443"]);
        assert_eq!(allowed("a:8443"), ["https://a:8443", "http://a:8443"]);
        assert_eq!(allowed("a.:443"), ["https://a", "http://a:443"]);
    }

    #[test]
    fn allowed_host_parses_addresses() {
        for (entry, name) in [
            ("192.168.0.7:80", "192.168.0.7"),
            ("fd00::1", "fd00::1"),
            ("[fd00::1]", "fd00::1"),
            ("[FD00::1]:8080", "fd00::1"),
            ("https://[fd00::1]", "fd00::1"),
            ("https://[fd00::1]:8443", "fd00::1"),
        ] {
            assert!(AllowedHost::parse(entry).is_some_and(|host| host.has_name(name)), "{entry}");
        }
        for wrong in [
            "",
            ".",
            "a/",
            "https://a/",
            "ftp://a",
            "//a",
            "a:",
            "a:0",
            "a:+1",
            "a:65536",
            "a:b",
            "a b",
            "a@b",
            "*.a",
            "https://",
            "[a]",
            "[fd00::1",
            "[fd00::1]x",
            "fd00::1]:80",
            "a:1:2",
        ] {
            assert_eq!(AllowedHost::parse(wrong), None, "{wrong}");
        }
    }
}
