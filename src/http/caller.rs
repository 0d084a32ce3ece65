//! Identifies the caller and decides whether a request is accepted at all.
//!
//! In mode `local` there is one owner and no password. So the server must be sure that a request comes from its own
//! page or from a program on this machine, never from a page of another site. The `Host` must be one of ours, because a
//! foreign name could resolve to this machine. The `Origin`, if there is one, must be ours too. Writes of a browser
//! carry the token of `/api/auth/me`. This applies to every request, including WebSocket upgrades.
//!
//! If LAN devices are allowed, a request has an identity: the owner's machine, a paired device, or unknown. It is
//! derived from the peer address and from the secret in the cookie. Other headers can only reduce rights: a request
//! that a proxy forwards does not count as coming from this machine, and neither does one from this machine that names
//! the server as other machines do.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::IpAddr;
use std::sync::Arc;

use actix_web::dev::{Payload, RequestHead};
use actix_web::http::Method;
use actix_web::http::header::{self, HeaderMap, HeaderName};
use actix_web::{FromRequest, HttpMessage, HttpRequest};

use super::error::{ApiError, ApiErrorCode};
use super::proxy_headers::{self, is_direct};
use crate::app::App;
use crate::devices::EXPIRY_S;
use crate::devices::addresses::LocalAddresses;
use clotho_config::{AllowedHost, PageScheme};
use clotho_core::ids::{DeviceId, UserId};

/// The required access of a route, as set in the route table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteAccess {
    /// Everyone, including devices that are not paired: static files and pairing itself.
    Unpaired,
    /// Everyone who is accepted at all: health and the API document.
    Public,
    /// The operator of the server: from this machine, not through a proxy.
    Operator,
    /// A known user.
    User,
}

impl RouteAccess {
    /// Returns the description used in the API document.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unpaired => "unpaired",
            Self::Public => "public",
            Self::Operator => "operator",
            Self::User => "user",
        }
    }
}

/// The calling user.
#[derive(Debug, Clone, Copy)]
pub struct Caller(pub UserId);

impl FromRequest for Caller {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let identity = request.extensions().get::<Self>().copied();
        ready(identity.ok_or_else(|| ApiError::new(ApiErrorCode::Unauthenticated, "nobody is logged in")))
    }
}

/// The identity of the client that sent a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientIdentity {
    /// The owner's own machine.
    LocalMachine,
    /// A paired device.
    Device(DeviceId),
    /// Another machine that is not paired.
    Unknown,
}

impl FromRequest for ClientIdentity {
    type Error = Infallible;
    type Future = Ready<Result<Self, Infallible>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(Self::from_request_extensions(request)))
    }
}

impl ClientIdentity {
    /// Returns the identity that was found when the request arrived.
    pub fn from_request_extensions(request: &HttpRequest) -> Self {
        request.extensions().get::<Self>().copied().unwrap_or(Self::Unknown)
    }

    fn find(app: &App, head: &RequestHead) -> Self {
        let devices = &app.devices;
        let from_here = || {
            let peer = head.peer_addr.map(|peer| peer.ip().to_canonical());
            peer.is_some_and(|peer| devices.is_trusted_peer(peer) && (!peer.is_loopback() || names_loopback(head)))
        };
        if !devices.serves_lan() || (is_direct(head.headers()) && from_here()) {
            return Self::LocalMachine;
        }
        let secret = device_secret(app, head.headers());
        secret.and_then(|secret| devices.find_by_secret(&secret, app.clock.now())).map_or(Self::Unknown, Self::Device)
    }

    /// Returns the id of a paired device.
    pub const fn device(self) -> Option<DeviceId> {
        match self {
            Self::Device(id) => Some(id),
            Self::LocalMachine | Self::Unknown => None,
        }
    }

    /// Returns the CSRF token for writes of a browser; each device has its own.
    pub fn csrf_token(self, app: &App) -> String {
        match self {
            Self::LocalMachine => app.csrf.clone(),
            Self::Device(id) => {
                let key = blake3::hash(app.csrf.as_bytes());
                blake3::keyed_hash(key.as_bytes(), id.as_bytes()).to_hex().to_string()
            }
            Self::Unknown => String::new(),
        }
    }

    /// Replaces an error by `unauthenticated` for unknown clients, so that they learn nothing else.
    pub fn mask_refusal(self, refusal: ApiError) -> ApiError {
        if self == Self::Unknown { unpaired_error() } else { refusal }
    }
}

/// Returns the error for a device that is not paired or was revoked.
pub fn unpaired_error() -> ApiError {
    let error = ApiError::new(ApiErrorCode::Unauthenticated, "this device is not paired").detail("device", true);
    error.hint("create a pairing code on the server's own machine, and open its address on this device")
}

/// Returns the cookie name. Cookies ignore ports, so the name contains the port to separate two servers on one machine.
fn cookie_name(app: &App) -> String {
    format!("clotho-device-{}", app.devices.port())
}

/// Reads the device secret from the cookie.
pub fn device_secret(app: &App, headers: &HeaderMap) -> Option<String> {
    let name = cookie_name(app);
    let lists = headers.get_all(header::COOKIE).filter_map(|list| list.to_str().ok());
    let mut pairs = lists.flat_map(|list| list.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, secret)| secret.to_owned())
}

/// Returns the cookie that stores a secret for a year. If the browser asked by HTTPS, it never sends the cookie without.
pub fn device_cookie(app: &App, headers: &HeaderMap, secret: &str) -> String {
    let name = cookie_name(app);
    let secure = if is_https(headers) { "; Secure" } else { "" };
    format!("{name}={secret}; Path=/; Max-Age={EXPIRY_S}; HttpOnly; SameSite=Strict{secure}")
}

/// Returns whether a browser sent the request by HTTPS. The server itself speaks HTTP, so its page or a proxy says it.
fn is_https(headers: &HeaderMap) -> bool {
    let is_secure = |name: &HeaderName| {
        headers.get(name).and_then(|value| value.to_str().ok()).is_some_and(|value| value.starts_with("https://"))
    };
    proxy_headers::is_https(headers) || is_secure(&header::ORIGIN) || is_secure(&header::REFERER)
}

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const CSRF: HeaderName = HeaderName::from_static("x-csrf-token");

/// Checks host, origin and CSRF token of a request, and returns the client's identity.
///
/// # Errors
/// Returns `bad_host` for a foreign `Host` or `Origin`, and `forbidden` for a browser's write without the token.
pub fn authorize(app: &App, head: &RequestHead) -> Result<ClientIdentity, ApiError> {
    let via = ClientIdentity::find(app, head);
    let csrf = (via != ClientIdentity::Unknown).then(|| via.csrf_token(app));
    let devices = &app.devices;
    let network = devices.serves_lan().then_some(&devices.addresses);
    let allowed = &app.config.server.allowed_hosts;
    HostPolicy { allowed, csrf: csrf.as_deref(), lan: network, port: devices.port() }.check(head)?;
    Ok(via)
}

/// Returns the address of the client of a request, as the connection or a trusted proxy gives it.
pub fn client_address(app: &App, request: &HttpRequest) -> Option<IpAddr> {
    let trusted = &app.config.server.trusted_proxies;
    request.peer_addr().map(|peer| proxy_headers::client_address(request.headers(), peer.ip(), trusted))
}

/// Returns the caller of a route with the required `access`.
///
/// # Errors
/// Returns an error if this client may not call the route.
pub fn identify(app: &App, request: &HttpRequest, access: RouteAccess) -> Result<Option<Caller>, ApiError> {
    let via = ClientIdentity::from_request_extensions(request);
    if via == ClientIdentity::Unknown && access != RouteAccess::Unpaired {
        return Err(unpaired_error());
    }
    if let Some(id) = via.device() {
        mark_device_seen(app, id);
    }
    match access {
        RouteAccess::Unpaired | RouteAccess::Public => Ok(None),
        RouteAccess::User => Ok(Some(Caller(app.owner))),
        RouteAccess::Operator if via == ClientIdentity::LocalMachine && is_operator(request) => Ok(None),
        RouteAccess::Operator => {
            let error = ApiError::new(ApiErrorCode::Forbidden, "this address is for the owner of the server");
            Err(error.hint("send the request from the server's own machine, not through a proxy"))
        }
    }
}

/// Records that a device was seen, in the background.
fn mark_device_seen(app: &App, id: DeviceId) {
    let now = app.clock.now();
    if app.devices.mark_seen(id, now) {
        let store = Arc::clone(&app.store);
        actix_web::rt::spawn(async move {
            if let Err(error) = store.write(move |tx| tx.touch_device(id, now)).await {
                tracing::warn!("the last visit of a device could not be written: {error}");
            }
        });
    }
}

/// Returns whether all that a request says of the server's address is a loopback name. A browser on this machine that
/// opens a loopback address names it. If it names anything else, a local proxy forwards requests and adds no header.
fn names_loopback(head: &RequestHead) -> bool {
    let is_local = |authority: &str| HostAuthority::parse(authority).is_some_and(|named| is_loopback(&named.name));
    let mut origins = head.headers().get_all(header::ORIGIN);
    host(head.headers()).is_some_and(|host| is_loopback(&host.name))
        && head.uri.authority().is_none_or(|authority| is_local(authority.as_str()))
        && origins.all(|origin| {
            origin
                .to_str()
                .ok()
                .and_then(|text| text.split_once("://"))
                .is_some_and(|(_, authority)| is_local(authority))
        })
}

/// Returns whether a request comes from this machine to a loopback name. A local proxy that forwards requests uses
/// another host or sets a forwarding header.
fn is_operator(request: &HttpRequest) -> bool {
    let from_here = request.peer_addr().is_some_and(|peer| peer.ip().is_loopback());
    let to_here = host(request.headers()).is_some_and(|host| is_loopback(&host.name));
    is_direct(request.headers()) && from_here && to_here
}

struct HostPolicy<'a> {
    allowed: &'a [AllowedHost],
    /// The expected CSRF token. `None` for unknown clients, whose writes their route refuses.
    csrf: Option<&'a str>,
    /// LAN addresses of this machine.
    lan: Option<&'a LocalAddresses>,
    /// The port that the server listens on.
    port: u16,
}

impl HostPolicy<'_> {
    fn check(&self, head: &RequestHead) -> Result<(), ApiError> {
        let headers = head.headers();
        let host = host(headers).filter(|host| self.is_own_host(host));
        let host =
            host.ok_or_else(|| ApiError::new(ApiErrorCode::BadHost, "the Host header does not name this server"))?;
        let named = head.uri.authority().map(|authority| HostAuthority::parse(authority.as_str()));
        if named.is_some_and(|named| named.is_none_or(|named| !self.is_own_host(&named))) {
            return Err(ApiError::new(ApiErrorCode::BadHost, "the request line does not name this server"));
        }
        let origin = self.check_origin(headers, &host)?;
        let is_read = matches!(head.method, Method::GET | Method::HEAD | Method::OPTIONS);
        let upgrades = headers.contains_key(header::UPGRADE);
        if is_read && !upgrades {
            return Ok(());
        }
        let site = headers.get(SEC_FETCH_SITE).map(|site| site.to_str().unwrap_or("cross-site"));
        let foreign = site.is_some_and(|site| !matches!(site, "same-origin" | "none"));
        if foreign && origin != Some(OriginMatch::AllowedHost) {
            return Err(ApiError::new(ApiErrorCode::BadHost, "the request comes from a page of another site"));
        }
        if upgrades && is_read { Ok(()) } else { self.check_csrf_token(headers, site.is_some() || origin.is_some()) }
    }

    /// Checks that the `Origin`, if present, is ours.
    fn check_origin(&self, headers: &HeaderMap, host: &HostAuthority) -> Result<Option<OriginMatch>, ApiError> {
        let mut origins = headers.get_all(header::ORIGIN);
        let Some(origin) = origins.next() else { return Ok(None) };
        let found =
            origin.to_str().ok().filter(|_| origins.next().is_none()).and_then(|text| self.match_origin(text, host));
        found.map(Some).ok_or_else(|| {
            let error = ApiError::new(ApiErrorCode::BadHost, "the Origin header does not name a page of this server");
            error.hint("open the server by its own address, or add the origin to allowed_hosts, with an unusual port")
        })
    }

    fn match_origin(&self, text: &str, host: &HostAuthority) -> Option<OriginMatch> {
        let (scheme, authority) = text.split_once("://")?;
        let (scheme, origin) = (PageScheme::from_name(scheme)?, HostAuthority::parse(authority)?);
        let port = origin.port.unwrap_or(scheme.default_port());
        if self.allowed.iter().any(|host| host.allows_origin(scheme, &origin.name, port, self.port)) {
            return Some(OriginMatch::AllowedHost);
        }
        // Another port of this machine is another site, because any program can serve a page there. Pages of a host in
        // `allowed_hosts` have the ports that its entries allow, and no others.
        let is_same = origin.name == host.name && port == host.port.unwrap_or(scheme.default_port());
        (is_same && self.is_own_address(host)).then_some(OriginMatch::SameOrigin)
    }

    /// Checks the CSRF token. A program that is no browser needs none, because no page can make it send requests.
    fn check_csrf_token(&self, headers: &HeaderMap, is_browser: bool) -> Result<(), ApiError> {
        let Some(csrf) = self.csrf else { return Ok(()) };
        let sent = headers.get(CSRF);
        let is_right = sent.is_some_and(|sent| blake3::hash(sent.as_bytes()) == blake3::hash(csrf.as_bytes()));
        if is_right || (sent.is_none() && !is_browser) {
            return Ok(());
        }
        let message = "the X-CSRF-Token header is missing, or from an earlier start of the server";
        let error = ApiError::new(ApiErrorCode::Forbidden, message).detail("csrf", true);
        Err(error.hint("read the token from /api/auth/me and send the request again"))
    }

    fn is_own_host(&self, host: &HostAuthority) -> bool {
        self.allowed.iter().any(|allowed| allowed.has_name(&host.name)) || self.is_own_address(host)
    }

    /// Returns whether a host is a loopback name, or with `lan` an address or the name of this machine with its port.
    fn is_own_address(&self, host: &HostAuthority) -> bool {
        let is_of_machine =
            |addresses: &LocalAddresses| host.port.unwrap_or(80) == self.port && addresses.contains(&host.name);
        is_loopback(&host.name) || self.lan.is_some_and(is_of_machine)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OriginMatch {
    /// The page comes from the requested host and port.
    SameOrigin,
    /// The page comes from a host in `allowed_hosts`.
    AllowedHost,
}

/// A lower-case host name or address without brackets and final dot, and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
struct HostAuthority {
    name: String,
    port: Option<u16>,
}

impl HostAuthority {
    /// Parses `name`, `name:port` or `[address]:port`; `None` for everything else, such as user names, paths and
    /// spaces.
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

/// Returns the origin of the calling page as other devices can reach it; `None` for a loopback name. Authorisation has
/// already checked that it is ours.
pub fn lan_origin(headers: &HeaderMap) -> Option<String> {
    let origin = headers.get(header::ORIGIN)?.to_str().ok()?;
    let (_, authority) = origin.split_once("://")?;
    let is_own = is_loopback(&HostAuthority::parse(authority)?.name);
    (!is_own).then(|| origin.to_owned())
}

/// Returns the host of a request with exactly one `Host` header.
fn host(headers: &HeaderMap) -> Option<HostAuthority> {
    let mut hosts = headers.get_all(header::HOST);
    let (first, second) = (hosts.next()?, hosts.next());
    first.to_str().ok().filter(|_| second.is_none()).and_then(HostAuthority::parse)
}

fn is_loopback(name: &str) -> bool {
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::test::TestRequest;

    fn check(method: &str, headers: &[(&str, &str)], expected: Option<ApiErrorCode>) {
        let mut request = TestRequest::default().method(method.parse().unwrap());
        for (name, value) in headers {
            request = request.append_header((*name, *value));
        }
        let allowed =
            ["play.example.org", "https://safe.example.org:8443"].map(|host| AllowedHost::parse(host).unwrap());
        let gate = HostPolicy { allowed: &allowed, csrf: Some("t0ken"), lan: None, port: 7317 };
        let found = gate.check(request.to_http_request().head()).err().map(|error| error.code);
        assert_eq!(found, expected, "{method} {headers:?}");
    }

    #[test]
    fn host_header_foreign_name_returns_bad_host() {
        let bad = Some(ApiErrorCode::BadHost);
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
    fn origin_header_foreign_site_returns_bad_host() {
        let bad = Some(ApiErrorCode::BadHost);
        let here = ("host", "localhost:7317");
        check("GET", &[here, ("origin", "http://localhost:7317")], None);
        check("GET", &[here, ("origin", "http://localhost:5173")], bad);
        check("GET", &[here, ("origin", "http://evil.example")], bad);
        check("GET", &[here, ("origin", "null")], bad);
        check("GET", &[here, ("origin", "file://localhost:7317")], bad);
        check("GET", &[here, ("origin", "https://play.example.org")], None);
        check("GET", &[("host", "play.example.org"), ("origin", "https://play.example.org")], None);
        check("GET", &[("host", "localhost"), ("origin", "http://localhost:80")], None);
        // A WebSocket upgrade counts as a write.
        let upgrade = ("upgrade", "websocket");
        check("GET", &[here, upgrade, ("origin", "http://evil.example")], bad);
        check("GET", &[here, upgrade, ("sec-fetch-site", "cross-site")], bad);
        check("GET", &[here, upgrade, ("origin", "http://localhost:7317"), ("sec-fetch-site", "same-origin")], None);
        check("GET", &[here, upgrade], None);
    }

    /// A bare entry allows the default ports and that of the server; one with scheme or port nothing else.
    #[test]
    fn origin_header_other_port_of_allowed_host_returns_bad_host() {
        let bad = Some(ApiErrorCode::BadHost);
        for (host, origin, expected) in [
            ("play.example.org", "https://play.example.org", None),
            ("play.example.org", "http://play.example.org", None),
            ("play.example.org:7317", "http://play.example.org:7317", None),
            ("localhost:7317", "https://play.example.org.:443", None),
            ("play.example.org", "https://play.example.org:8443", bad),
            ("play.example.org:8443", "https://play.example.org:8443", bad),
            ("play.example.org", "ftp://play.example.org", bad),
            ("safe.example.org:8443", "https://safe.example.org:8443", None),
            ("safe.example.org", "https://safe.example.org:8443", None),
            ("safe.example.org", "https://safe.example.org", bad),
            ("safe.example.org:8443", "http://safe.example.org:8443", bad),
            ("safe.example.org:7317", "http://safe.example.org:7317", bad),
        ] {
            check("GET", &[("host", host), ("origin", origin)], expected);
        }
    }

    #[test]
    fn csrf_browser_write_without_token_is_refused() {
        let here = ("host", "localhost:7317");
        let (own, token) = (("origin", "http://localhost:7317"), ("x-csrf-token", "t0ken"));
        check("POST", &[here], None);
        check("POST", &[here, own, token], None);
        check("POST", &[here, own], Some(ApiErrorCode::Forbidden));
        check("DELETE", &[here, own, ("x-csrf-token", "other")], Some(ApiErrorCode::Forbidden));
        check("POST", &[here, ("x-csrf-token", "other")], Some(ApiErrorCode::Forbidden));
        check("PUT", &[here, ("sec-fetch-site", "same-origin")], Some(ApiErrorCode::Forbidden));
        check("PUT", &[here, token, ("sec-fetch-site", "same-site")], Some(ApiErrorCode::BadHost));
        check("PATCH", &[here, token, ("sec-fetch-site", "cross-site")], Some(ApiErrorCode::BadHost));
        let named = ("origin", "https://play.example.org");
        check("PATCH", &[here, token, named, ("sec-fetch-site", "cross-site")], None);
        check("POST", &[here, ("upgrade", "websocket"), own], Some(ApiErrorCode::Forbidden));
    }
}
