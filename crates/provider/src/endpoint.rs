//! What is known about one server before anything is asked of it.

use super::{ChatTemplate, Lane, ProviderFailure, RetryPolicy};
use clotho_config::Secret;
use reqwest::Url;
use serde_json::{Map, Value};
use std::{net::IpAddr, time::Duration};

/// One endpoint as configured.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The name under which the configuration lists it; for logs.
    pub id: String,
    /// The address that paths are appended to, as the vendor documents it: with or without a `/v1`, a closing slash or a
    /// query. `http` or `https`, without a user name or password in it.
    pub base_url: String,
    /// Sent as the kind of server wants it, most often as a bearer token.
    pub key: Option<Secret>,
    /// Fields of every request to this endpoint. The request's own parameters go over these.
    pub extra: Map<String, Value>,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// Bytes of text and reasoning together in one reply, as UTF-8. What is beyond is [`ProviderFailure::TooLarge`].
    pub max_reply_bytes: usize,
    /// When to ask again.
    pub retries: RetryPolicy,
    /// How many replies of its key may be under way at the same time.
    pub lane: Lane,
    /// How messages become one text, where the server only completes texts.
    pub template: ChatTemplate,
}

/// How long to wait for a server. Everything that arrives, a comment line too, starts the waiting anew: how long a whole
/// reply may take is for the caller to limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For the connection, TLS included.
    pub connect: Duration,
    /// For the answer to begin, and then between two signs of life until the first text or reasoning.
    pub first_token: Duration,
    /// Between two signs of life after that.
    pub idle: Duration,
    /// For what may still follow when the provider has said why the reply ended: usage, and the end of the body. It runs
    /// out without harm.
    pub after_finish: Duration,
}

impl Default for Timeouts {
    /// 10 s, 120 s, 60 s and 2 s.
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
    /// An endpoint without a key, with the usual limits and without parameters of its own.
    pub fn new(id: &str, base_url: &str) -> Self {
        Self {
            id: id.to_owned(),
            base_url: base_url.to_owned(),
            key: None,
            extra: Map::new(),
            timeouts: Timeouts::default(),
            max_reply_bytes: 1 << 20,
            retries: RetryPolicy::default(),
            lane: Lane::default(),
            template: ChatTemplate::default(),
        }
    }

    /// Whether `base_url` can be used at all, to be asked when the configuration is read.
    ///
    /// # Errors
    /// [`ProviderFailure::Misconfigured`] says what is wrong with it.
    pub fn check(&self) -> Result<(), ProviderFailure> {
        self.url(&[]).map(drop)
    }

    /// `base_url` with `path` appended; a query in it stays.
    pub(super) fn url(&self, path: &[&str]) -> Result<Url, ProviderFailure> {
        let wrong = |what: &str| ProviderFailure::Misconfigured { words: format!("`base_url` {what}") };
        let mut url = Url::parse(&self.base_url).map_err(|error| wrong(&format!("is no address: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("must begin with http:// or https://"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("must not hold a user name or password: a key has its own setting"));
        }
        url.set_fragment(None);
        url.path_segments_mut().map_err(|()| wrong("has no path"))?.pop_if_empty().extend(path);
        Ok(url)
    }

    /// The same for an API that begins with a word of its own: the first of `begins` is put between, unless the address
    /// ends with one of them already.
    pub(super) fn url_with_api_prefix(&self, begins: &[&str], path: &[&str]) -> Result<Url, ProviderFailure> {
        let bare = self.url(&[])?;
        let last = bare.path_segments().and_then(|segments| segments.rev().find(|segment| !segment.is_empty()));
        match begins.first().filter(|_| !last.is_some_and(|last| begins.contains(&last))) {
            Some(begin) => self.url(&[&[*begin], path].concat()),
            None => self.url(path),
        }
    }

    /// Whether the server is on this machine, where no proxy can reach it.
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
            ("", "is no address"),
            ("127.0.0.1:8080", "is no address"),
            ("localhost:8080/v1", "must begin with http"),
            ("ftp://example.org", "must begin with http"),
            ("http://me:pw@example.org", "must not hold a user name"),
            ("http://a@b", "must not hold a user name"),
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

    /// Keys never in logs.
    #[test]
    fn endpoint_debug_hides_key() {
        let endpoint = endpoint("http://example.org");
        let key = endpoint.key.clone().unwrap();
        assert!(!format!("{endpoint:?} {endpoint:#?} {key} {key:?}").contains("secret"));
        assert_eq!(key.expose(), "sk-very-secret");
    }
}
