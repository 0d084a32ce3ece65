//! Who is calling, and whether the call may come in at all.
//!
//! In mode `local` there is one owner and no password, so the server must be sure that a request comes from its own page
//! or from a program of this machine, never from a page of somebody else: the `Host` must be a name of ours (else a
//! foreign name could be pointed at this machine), the `Origin`, where there is one, our own, and a browser's write
//! carries the token of `/api/auth/me`. This holds for every request, the WebSocket's upgrade included.

use std::future::{Ready, ready};
use std::net::IpAddr;

use actix_web::dev::{Payload, RequestHead};
use actix_web::http::Method;
use actix_web::http::header::{self, HeaderMap, HeaderName};
use actix_web::{FromRequest, HttpMessage, HttpRequest};

use super::error::{ApiError, Code};
use crate::app::App;
use crate::ids::UserId;

/// Who may call a route; the table of routes says it for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anyone who may come in at all: health, the page's files, the document.
    Public,
    /// Whoever runs the server: from this machine, not through a proxy.
    Operator,
    /// A known user.
    User,
}

impl Access {
    /// The word for it in the document.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Operator => "operator",
            Self::User => "user",
        }
    }
}

/// The user that calls.
#[derive(Debug, Clone, Copy)]
pub struct Caller(pub UserId);

impl FromRequest for Caller {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let known = request.extensions().get::<Self>().copied();
        ready(known.ok_or_else(|| ApiError::new(Code::Unauthenticated, "nobody is logged in")))
    }
}

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const CSRF: HeaderName = HeaderName::from_static("x-csrf-token");

/// Whether a request may come in at all.
///
/// # Errors
/// `bad_host` for a foreign `Host` or `Origin`, `forbidden` for a browser's write without the token.
pub fn admit(app: &App, head: &RequestHead) -> Result<(), ApiError> {
    let gate = Gate { allowed: &app.config.server.allowed_hosts, csrf: &app.csrf };
    gate.admit(head)
}

/// Who calls a route that asks for `access`.
///
/// # Errors
/// The route is not for this caller.
pub fn identify(app: &App, request: &HttpRequest, access: Access) -> Result<Option<Caller>, ApiError> {
    match access {
        Access::Public => Ok(None),
        Access::User => Ok(Some(Caller(app.owner))),
        Access::Operator if is_operator(request) => Ok(None),
        Access::Operator => {
            let error = ApiError::new(Code::Forbidden, "this address is for whoever runs the server");
            Err(error.hint("ask from the server's own machine, not through a proxy"))
        }
    }
}

/// A call from this machine by one of its own names. A proxy on this machine passes calls of others on: it names another
/// host, or says for whom it asks.
fn is_operator(request: &HttpRequest) -> bool {
    let forwarded = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip"];
    let is_direct = !forwarded.iter().any(|name| request.headers().contains_key(*name));
    let from_here = request.peer_addr().is_some_and(|peer| peer.ip().is_loopback());
    let to_here = host(request.headers()).is_some_and(|host| is_loopback(&host.name));
    is_direct && from_here && to_here
}

struct Gate<'a> {
    allowed: &'a [String],
    csrf: &'a str,
}

impl Gate<'_> {
    fn admit(&self, head: &RequestHead) -> Result<(), ApiError> {
        let headers = head.headers();
        let host = host(headers).filter(|host| self.is_ours(&host.name));
        let host =
            host.ok_or_else(|| ApiError::new(Code::BadHost, "the Host header names no address of this server"))?;
        let named = head.uri.authority().map(|authority| Authority::parse(authority.as_str()));
        if named.is_some_and(|named| named.is_none_or(|named| !self.is_ours(&named.name))) {
            return Err(ApiError::new(Code::BadHost, "the request line names no address of this server"));
        }
        let origin = self.origin(headers, &host)?;
        let is_read = matches!(head.method, Method::GET | Method::HEAD | Method::OPTIONS);
        let upgrades = headers.contains_key(header::UPGRADE);
        if is_read && !upgrades {
            return Ok(());
        }
        let site = headers.get(SEC_FETCH_SITE).map(|site| site.to_str().unwrap_or("cross-site"));
        let foreign = site.is_some_and(|site| !matches!(site, "same-origin" | "none"));
        if foreign && origin != Some(Origin::Named) {
            return Err(ApiError::new(Code::BadHost, "the request comes from a page of another site"));
        }
        if upgrades && is_read { Ok(()) } else { self.token(headers, site.is_some() || origin.is_some()) }
    }

    /// The `Origin`, if there is one, must be our own.
    fn origin(&self, headers: &HeaderMap, host: &Authority) -> Result<Option<Origin>, ApiError> {
        let mut origins = headers.get_all(header::ORIGIN);
        let Some(origin) = origins.next() else { return Ok(None) };
        let found = origin.to_str().ok().filter(|_| origins.next().is_none()).and_then(|text| self.read(text, host));
        found.map(Some).ok_or_else(|| ApiError::new(Code::BadHost, "the Origin header names a page of another site"))
    }

    fn read(&self, text: &str, host: &Authority) -> Option<Origin> {
        let (scheme, authority) = text.split_once("://")?;
        let default_port = match scheme {
            "http" => 80,
            "https" => 443,
            _ => return None,
        };
        let origin = Authority::parse(authority)?;
        let same_port = origin.port.unwrap_or(default_port) == host.port.unwrap_or(default_port);
        if self.allowed.contains(&origin.name) {
            Some(Origin::Named)
        } else if origin.name == host.name && same_port {
            // Another port of this machine is another site: any program may serve a page there.
            Some(Origin::Own)
        } else {
            None
        }
    }

    /// A browser's write carries the token; a program that is no browser needs none, since no page can make it call.
    fn token(&self, headers: &HeaderMap, is_browser: bool) -> Result<(), ApiError> {
        let sent = headers.get(CSRF);
        let is_right = sent.is_some_and(|sent| blake3::hash(sent.as_bytes()) == blake3::hash(self.csrf.as_bytes()));
        if is_right || (sent.is_none() && !is_browser) {
            return Ok(());
        }
        let message = "the X-CSRF-Token header is missing or from an earlier start of the server";
        let error = ApiError::new(Code::Forbidden, message).detail("csrf", true);
        Err(error.hint("read the token from /api/auth/me and send the request again"))
    }

    fn is_ours(&self, name: &str) -> bool {
        is_loopback(name) || self.allowed.iter().any(|allowed| allowed == name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// The page came from where the request goes.
    Own,
    /// The configuration names it.
    Named,
}

/// A name or address, lower case, without brackets and final dot; and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Authority {
    name: String,
    port: Option<u16>,
}

impl Authority {
    /// `None` for what is no `name`, `name:port` or `[address]:port`: user names, paths, spaces.
    fn parse(text: &str) -> Option<Self> {
        let (name, rest) = match text.strip_prefix('[') {
            Some(inner) => {
                let (address, rest) = inner.split_once(']')?;
                address.parse::<std::net::Ipv6Addr>().ok()?;
                (address, rest)
            }
            None => text.find(':').map_or((text, ""), |colon| text.split_at(colon)),
        };
        let port = match rest.strip_prefix(':') {
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => Some(digits.parse().ok()?),
            Some(_) => return None,
            None if rest.is_empty() => None,
            None => return None,
        };
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let fits = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
        (!name.is_empty() && name.chars().all(fits)).then_some(Self { name, port })
    }
}

/// The one `Host` header of a request.
fn host(headers: &HeaderMap) -> Option<Authority> {
    let mut hosts = headers.get_all(header::HOST);
    let (first, second) = (hosts.next()?, hosts.next());
    first.to_str().ok().filter(|_| second.is_none()).and_then(Authority::parse)
}

fn is_loopback(name: &str) -> bool {
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::test::TestRequest;

    fn check(method: &str, headers: &[(&str, &str)], expected: Option<Code>) {
        let mut request = TestRequest::default().method(method.parse().unwrap());
        for (name, value) in headers {
            request = request.append_header((*name, *value));
        }
        let allowed = ["play.example.org".to_owned()];
        let gate = Gate { allowed: &allowed, csrf: "t0ken" };
        let found = gate.admit(request.to_http_request().head()).err().map(|error| error.code);
        assert_eq!(found, expected, "{method} {headers:?}");
    }

    #[test]
    fn only_our_own_names_come_in() {
        let bad = Some(Code::BadHost);
        for host in
            ["localhost", "LOCALHOST:7317", "localhost.", "127.0.0.1:1", "127.8.9.1", "[::1]:7317", "play.example.org"]
        {
            check("GET", &[("host", host)], None);
        }
        for host in
            ["", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "a@localhost", "localhost:x"]
        {
            check("GET", &[("host", host)], bad);
        }
        for host in
            ["192.168.0.7", "0.0.0.0", "[::]", "[::ffff:10.0.0.1]", "localhost/x", "localhost:7317:1", "2130706433"]
        {
            check("GET", &[("host", host)], bad);
        }
        check("GET", &[], bad);
        check("GET", &[("host", "localhost"), ("host", "localhost")], bad);
    }

    #[test]
    fn only_our_own_pages_come_in() {
        let bad = Some(Code::BadHost);
        let here = ("host", "localhost:7317");
        check("GET", &[here, ("origin", "http://localhost:7317")], None);
        check("GET", &[here, ("origin", "http://localhost:5173")], bad);
        check("GET", &[here, ("origin", "http://evil.example")], bad);
        check("GET", &[here, ("origin", "null")], bad);
        check("GET", &[here, ("origin", "file://localhost:7317")], bad);
        check("GET", &[here, ("origin", "https://play.example.org")], None);
        check("GET", &[("host", "play.example.org"), ("origin", "https://play.example.org")], None);
        check("GET", &[("host", "localhost"), ("origin", "http://localhost:80")], None);
        // A socket is as good as a write.
        let upgrade = ("upgrade", "websocket");
        check("GET", &[here, upgrade, ("origin", "http://evil.example")], bad);
        check("GET", &[here, upgrade, ("sec-fetch-site", "cross-site")], bad);
        check("GET", &[here, upgrade, ("origin", "http://localhost:7317"), ("sec-fetch-site", "same-origin")], None);
        check("GET", &[here, upgrade], None);
    }

    #[test]
    fn a_browser_writes_with_the_token_only() {
        let here = ("host", "localhost:7317");
        let (own, token) = (("origin", "http://localhost:7317"), ("x-csrf-token", "t0ken"));
        check("POST", &[here], None);
        check("POST", &[here, own, token], None);
        check("POST", &[here, own], Some(Code::Forbidden));
        check("DELETE", &[here, own, ("x-csrf-token", "other")], Some(Code::Forbidden));
        check("POST", &[here, ("x-csrf-token", "other")], Some(Code::Forbidden));
        check("PUT", &[here, ("sec-fetch-site", "same-origin")], Some(Code::Forbidden));
        check("PUT", &[here, token, ("sec-fetch-site", "same-site")], Some(Code::BadHost));
        check("PATCH", &[here, token, ("sec-fetch-site", "cross-site")], Some(Code::BadHost));
        let named = ("origin", "https://play.example.org");
        check("PATCH", &[here, token, named, ("sec-fetch-site", "cross-site")], None);
        check("POST", &[here, ("upgrade", "websocket"), own], Some(Code::Forbidden));
    }
}
