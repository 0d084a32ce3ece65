//! The configuration of one server.

use super::{ChatTemplate, ConcurrencyLimit, ProviderFailure, RetryPolicy};
use clotho_config::Secret;
use reqwest::Url;
use serde_json::{Map, Value};
use std::{net::IpAddr, time::Duration};

/// Two seconds: the servers with a queue take some ten requests a minute from everybody.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// One endpoint as configured.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Its name in the configuration; for logs.
    pub id: String,
    /// The base address as the vendor documents it, with or without `/v1`, a trailing slash or a query. `http` or
    /// `https`, without user name and password.
    pub base_url: String,
    /// Sent in the form the kind of server needs, usually as a bearer token.
    pub key: Option<Secret>,
    /// Fields of every request. The request's own parameters override them.
    pub extra: Map<String, Value>,
    pub timeouts: Timeouts,
    /// Maximum bytes of text and reasoning in one reply, as UTF-8. More gives [`ProviderFailure::TooLarge`].
    pub max_reply_bytes: usize,
    pub retries: RetryPolicy,
    /// How long to wait before a job of a server with a queue is asked for, at first.
    pub poll_interval: Duration,
    /// Limits the parallel replies of its key.
    pub concurrency_limit: ConcurrencyLimit,
    /// Turns messages into one text, for servers that only complete text.
    pub template: ChatTemplate,
}

/// How long to wait for a server. Any received data, even a comment line, restarts the wait. The caller limits the
/// total time of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For the connection, including TLS.
    pub connect: Duration,
    /// For the response to begin, and then between received data until the first text or reasoning.
    pub first_token: Duration,
    /// Between received data after that.
    pub idle: Duration,
    /// For usage and the end of the body, after the provider has said why the reply ended. Expiry is not an error.
    pub after_finish: Duration,
}

impl Default for Timeouts {
    /// Returns 10 s, 120 s, 60 s and 2 s.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_token: Duration::from_secs(120),
            idle: Duration::from_secs(60),
            after_finish: Duration::from_secs(2),
        }
    }
}

impl Endpoint {
    /// Creates an endpoint without a key or parameters, with default limits.
    pub fn new(id: &str, base_url: &str) -> Self {
        Self {
            id: id.to_owned(),
            base_url: base_url.to_owned(),
            key: None,
            extra: Map::new(),
            timeouts: Timeouts::default(),
            max_reply_bytes: 1 << 20,
            retries: RetryPolicy::default(),
            poll_interval: POLL_INTERVAL,
            concurrency_limit: ConcurrencyLimit::default(),
            template: ChatTemplate::default(),
        }
    }

    /// Checks that `base_url` is usable; called when the configuration is read.
    ///
    /// # Errors
    /// Returns [`ProviderFailure::Misconfigured`] if it is not.
    pub fn check(&self) -> Result<(), ProviderFailure> {
        self.url(&[]).map(drop)
    }

    /// Appends `path` to `base_url` and keeps its query.
    pub(super) fn url(&self, path: &[&str]) -> Result<Url, ProviderFailure> {
        let wrong = |what: &str| ProviderFailure::Misconfigured { words: format!("`base_url` {what}") };
        let mut url = Url::parse(&self.base_url).map_err(|error| wrong(&format!("is not a valid URL: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("must begin with http:// or https://"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("must not contain a user name or password: use the setting for the key"));
        }
        url.set_fragment(None);
        url.path_segments_mut().map_err(|()| wrong("has no path"))?.pop_if_empty().extend(path);
        Ok(url)
    }

    /// Appends `path` after an API prefix: the first of `begins`, unless the address already ends with one of them.
    pub(super) fn url_with_api_prefix(&self, begins: &[&str], path: &[&str]) -> Result<Url, ProviderFailure> {
        let bare = self.url(&[])?;
        let last = bare.path_segments().and_then(|segments| segments.rev().find(|segment| !segment.is_empty()));
        match begins.first().filter(|_| !last.is_some_and(|last| begins.contains(&last))) {
            Some(begin) => self.url(&[&[*begin], path].concat()),
            None => self.url(path),
        }
    }

    /// Appends `path` to the root of a server, for native paths that are outside of `/v1`.
    pub(super) fn native_url(&self, path: &[&str]) -> Result<Url, ProviderFailure> {
        let base_url = self.base_url.trim_end_matches('/');
        let base_url = base_url.strip_suffix("/v1").unwrap_or(base_url).to_owned();
        Self { base_url, ..self.clone() }.url(path)
    }

    /// Returns whether the server is one of these vendors' own.
    pub(super) fn is_host(&self, hosts: &[&str]) -> bool {
        self.url(&[]).is_ok_and(|url| url.host_str().is_some_and(|host| hosts.contains(&host)))
    }

    /// Returns whether the server is on this machine, where no proxy can reach it.
    pub(super) fn is_loopback(url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        host == "localhost" || host.ends_with(".localhost") || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(base_url: &str) -> Endpoint {
        Endpoint { key: Some(Secret::new(" sk-very-secret\n")), ..Endpoint::new("test", base_url) }
    }

    #[test]
    fn endpoint_url_appends_path_to_base_url() {
        for (base, expected) in [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080/chat/completions"),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/chat/completions"),
            ("https://example.org/api/v1", "https://example.org/api/v1/chat/completions"),
            ("https://example.org/api/v1/", "https://example.org/api/v1/chat/completions"),
            ("https://example.org/gpt?api-version=2", "https://example.org/gpt/chat/completions?api-version=2"),
        ] {
            assert_eq!(endpoint(base).url(&["chat", "completions"]).unwrap().as_str(), expected);
        }
    }

    #[test]
    fn endpoint_api_prefix_is_not_repeated() {
        for (base, expected) in [
            ("http://a", "http://a/v1/messages"),
            ("http://a/", "http://a/v1/messages"),
            ("http://a/v1", "http://a/v1/messages"),
            ("http://a/v1beta/", "http://a/v1beta/messages"),
            ("http://a/proxy", "http://a/proxy/v1/messages"),
        ] {
            assert_eq!(
                endpoint(base).url_with_api_prefix(&["v1", "v1beta"], &["messages"]).unwrap().as_str(),
                expected
            );
        }
    }

    #[test]
    fn endpoint_invalid_base_url_returns_error() {
        for (base, expected) in [
            ("", "is not a valid URL"),
            ("127.0.0.1:8080", "is not a valid URL"),
            ("localhost:8080/v1", "must begin with http"),
            ("ftp://example.org", "must begin with http"),
            ("http://me:pw@example.org", "must not contain a user name"),
            ("http://a@b", "must not contain a user name"),
        ] {
            let said = endpoint(base).check().unwrap_err().to_string();
            assert!(said.contains(expected), "{base}: {said}");
        }
        assert_eq!(endpoint("http://example.org").check(), Ok(()));
    }

    #[test]
    fn endpoint_loopback_hosts_are_detected() {
        for (base, expected) in [
            ("http://127.0.0.1:1", true),
            ("http://127.9.9.9", true),
            ("http://0x7f000001", true),
            ("http://[::1]:8080/v1", true),
            ("http://LOCALHOST", true),
            ("http://a.localhost", true),
            ("http://192.168.0.1", false),
            ("http://localhost.example.org", false),
        ] {
            assert_eq!(Endpoint::is_loopback(&Url::parse(base).unwrap()), expected, "{base}");
        }
    }

    /// Keys never appear in logs.
    #[test]
    fn endpoint_debug_hides_key() {
        let endpoint = endpoint("http://example.org");
        let key = endpoint.key.clone().unwrap();
        assert!(!format!("{endpoint:?} {endpoint:#?} {key} {key:?}").contains("secret"));
        assert_eq!(key.expose(), "sk-very-secret");
    }
}
