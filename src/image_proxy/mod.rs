//! Fetches remote images that cards refer to, through an SSRF guard.
//!
//! The author of a card chooses the addresses, so requests must not reach private networks:
//!
//! - only public addresses are allowed (`address.rs`), plus the hosts that the server's settings name
//! - a name is resolved once, and the connection goes to the checked addresses
//! - each redirect is checked like the first request
//! - no proxy, no cookies, no `Referer`
//!
//! The returned bytes are untrusted: callers re-encode them before anybody sees them.

mod address;

use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, LOCATION};
use reqwest::{Client, Response, Url, redirect};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use clotho_provider::tls;

pub use address::is_public;

/// The timeout for one image, redirects included.
const TIMEOUT: Duration = Duration::from_secs(15);
/// How many redirects are followed.
const MAX_HOPS: usize = 3;
/// How many images are fetched at the same time; further requests wait.
const MAX_CONCURRENT: usize = 8;
/// The maximum length of a URL, in bytes.
const MAX_URL_BYTES: usize = 2_048;

/// Why an image could not be fetched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImageFetchError {
    /// The URL is malformed, too long, not HTTP(S) or contains credentials.
    #[error("{0}")]
    InvalidUrl(&'static str),
    /// The host is on a private network or this machine.
    #[error("{0} is not on the internet")]
    PrivateAddress(String),
    #[error("{host} cannot be reached: {cause}")]
    Unreachable {
        host: String,
        /// The innermost cause.
        cause: String,
    },
    #[error("{0} did not answer in time")]
    Timeout(String),
    /// The server answered with an error status.
    #[error("{host} answered with status {status}")]
    Status { host: String, status: u16 },
    /// The image has more bytes than the caller allows.
    #[error("{0} sends more bytes than an image may have")]
    TooLarge(String),
}

/// Fetches images from other servers.
#[derive(Debug)]
pub struct ImageProxy {
    /// Allowed hosts on private networks, in lower case.
    allowed: Arc<[String]>,
    /// Built on first use.
    client: OnceLock<Result<Client, String>>,
    permits: Semaphore,
}

impl ImageProxy {
    /// Creates a proxy that allows public addresses and the hosts in `allowed`, which must be in lower case.
    pub fn new(allowed: &[String]) -> Self {
        Self { allowed: allowed.into(), client: OnceLock::new(), permits: Semaphore::new(MAX_CONCURRENT) }
    }

    /// Fetches the bytes at `address`, at most `most` of them.
    ///
    /// # Errors
    /// Returns an error if the address is private, the request fails or times out, or the body is too large.
    pub async fn fetch(&self, address: &str, most: usize) -> Result<Vec<u8>, ImageFetchError> {
        let url = parse_url(address)?;
        let host = host_of(&url);
        let _place = self.permits.acquire().await.map_err(|_| ImageFetchError::Timeout(host.clone()))?;
        timeout(TIMEOUT, self.fetch_following_redirects(url, most)).await.unwrap_or(Err(ImageFetchError::Timeout(host)))
    }

    async fn fetch_following_redirects(&self, mut url: Url, most: usize) -> Result<Vec<u8>, ImageFetchError> {
        for _ in 0..=MAX_HOPS {
            let response = self.request(&url).await?;
            let Some(next) = redirect_target(&url, &response)? else { return read_body(&url, response, most).await };
            url = next;
        }
        Err(ImageFetchError::Unreachable { host: host_of(&url), cause: "it has too many redirects".to_owned() })
    }

    async fn request(&self, url: &Url) -> Result<Response, ImageFetchError> {
        self.check_url(url)?;
        let host = host_of(url);
        let client = self.client.get_or_init(|| build_client(&self.allowed)).as_ref();
        let client =
            client.map_err(|cause| ImageFetchError::Unreachable { host: host.clone(), cause: cause.clone() })?;
        let sent = client.get(url.clone()).header(ACCEPT, "image/png, image/jpeg, image/webp, image/gif").send().await;
        sent.map_err(|error| match is_private_address_error(&error) {
            true => ImageFetchError::PrivateAddress(host),
            false => ImageFetchError::Unreachable { host, cause: root_cause(&error) },
        })
    }

    /// Checks an IP literal. Names are checked when they are resolved, but literals never are.
    fn check_url(&self, url: &Url) -> Result<(), ImageFetchError> {
        let host = host_of(url);
        let Ok(literal) = host.parse::<IpAddr>() else { return Ok(()) };
        let is_fine = is_public(literal) || self.allowed.contains(&host);
        if is_fine { Ok(()) } else { Err(ImageFetchError::PrivateAddress(host)) }
    }
}

/// Parses and checks a URL. The result is both checked and requested, so that two parsers cannot disagree.
fn parse_url(address: &str) -> Result<Url, ImageFetchError> {
    let fault = ImageFetchError::InvalidUrl;
    if address.len() > MAX_URL_BYTES {
        return Err(fault("the address is too long"));
    }
    let url = Url::parse(address).map_err(|_| fault("this is not a complete address"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(fault("only http and https addresses are allowed"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(fault("addresses with a user name or password are not allowed"));
    }
    Ok(url)
}

fn host_of(url: &Url) -> String {
    url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_ascii_lowercase()
}

/// Returns the target of a redirect; `None` for a success.
fn redirect_target(from: &Url, response: &Response) -> Result<Option<Url>, ImageFetchError> {
    let status = response.status();
    let host = || host_of(from);
    if status.is_success() {
        return Ok(None);
    }
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let Some(location) = location.filter(|_| status.is_redirection()) else {
        return Err(ImageFetchError::Status { host: host(), status: status.as_u16() });
    };
    let next = from.join(location).map_err(|_| ImageFetchError::Status { host: host(), status: status.as_u16() })?;
    parse_url(next.as_str()).map(Some)
}

async fn read_body(url: &Url, mut response: Response, most: usize) -> Result<Vec<u8>, ImageFetchError> {
    let host = || host_of(url);
    let mut bytes = Vec::new();
    loop {
        let piece = response.chunk().await;
        match piece.map_err(|error| ImageFetchError::Unreachable { host: host(), cause: root_cause(&error) })? {
            None => return Ok(bytes),
            Some(piece) if bytes.len().saturating_add(piece.len()) > most => {
                return Err(ImageFetchError::TooLarge(host()));
            }
            Some(piece) => bytes.extend_from_slice(&piece),
        }
    }
}

fn build_client(allowed: &Arc<[String]>) -> Result<Client, String> {
    tls::install_crypto_provider();
    let tls = tls::client_config().map_err(|error| error.to_string())?;
    let built = Client::builder()
        .user_agent(concat!("clotho/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .referer(false)
        .no_proxy()
        .connect_timeout(TIMEOUT)
        .dns_resolver(Arc::new(GuardedResolver { allowed: Arc::clone(allowed) }))
        .tls_backend_preconfigured(tls)
        .build();
    built.map_err(|error| error.to_string())
}

/// A DNS resolver that refuses names with private addresses.
struct GuardedResolver {
    allowed: Arc<[String]>,
}

/// A name resolves to a private address.
#[derive(Debug, thiserror::Error)]
#[error("its name points to an address that is not on the internet")]
struct PrivateAddressError;

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let allowed = Arc::clone(&self.allowed);
        Box::pin(async move {
            let host = name.as_str().trim_end_matches('.').to_ascii_lowercase();
            let found: Vec<SocketAddr> = tokio::net::lookup_host((host.as_str(), 0)).await?.collect();
            let is_allowed = allowed.contains(&host);
            // One private address is enough to refuse the name: no honest host mixes them.
            if !is_allowed && found.iter().any(|address| !is_public(address.ip())) {
                return Err(PrivateAddressError.into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

fn is_private_address_error(error: &reqwest::Error) -> bool {
    causes(error).any(|cause| cause.is::<PrivateAddressError>())
}

/// Returns the innermost cause. The outer ones only repeat the address.
fn root_cause(error: &reqwest::Error) -> String {
    causes(error).last().map(ToString::to_string).unwrap_or_default()
}

fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    let first: &(dyn Error + 'static) = error;
    std::iter::successors(Some(first), |cause: &&(dyn Error + 'static)| (*cause).source())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn fetch_error(address: &str) -> ImageFetchError {
        ImageProxy::new(&[]).fetch(address, 10).await.unwrap_err()
    }

    /// Private addresses are refused in every spelling, because the checked URL is the requested one.
    #[tokio::test]
    async fn image_proxy_any_private_url_spelling_is_refused() {
        for (address, host) in [
            ("http://127.0.0.1/a.png", "127.0.0.1"),
            ("http://2130706433/a.png", "127.0.0.1"),
            ("http://0x7f.1/a.png", "127.0.0.1"),
            ("http://0177.0.0.1/a.png", "127.0.0.1"),
            ("http:\\\\127.0.0.1\\a.png", "127.0.0.1"),
            ("http://127.0.0.\t1/", "127.0.0.1"),
            ("http://１２７.0.0.1/", "127.0.0.1"),
            ("http://[::ffff:169.254.169.254]/", "::ffff:a9fe:a9fe"),
            ("http://[64:ff9b::a9fe:a9fe]/", "64:ff9b::a9fe:a9fe"),
            ("https://169.254.169.254/latest/meta-data", "169.254.169.254"),
            ("http://0.0.0.0:7317/api/sessions", "0.0.0.0"),
        ] {
            assert_eq!(fetch_error(address).await, ImageFetchError::PrivateAddress(host.to_owned()), "{address}");
        }
        // A name is checked when it is resolved.
        assert_eq!(fetch_error("http://localhost:9/").await, ImageFetchError::PrivateAddress("localhost".to_owned()));
        for address in
            ["file:///etc/passwd", "ftp://a.example/", "http://a@b.example/", "/a.png", "", "data:image/png,x"]
        {
            assert!(matches!(fetch_error(address).await, ImageFetchError::InvalidUrl(_)), "{address}");
        }
    }
}
