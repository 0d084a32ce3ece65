//! TLS for whatever asks other servers, with the root certificates inside the program: a machine without any can ask too.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};

/// Settles which cryptography is used. Whoever builds a client calls it first; the first call counts.
pub fn install_crypto_provider() {
    // A second installation is refused, and then the first one is as good.
    let _ = ring::default_provider().install_default();
}

/// What a client is built with.
///
/// # Errors
/// The cryptography offers no version of TLS that is safe.
pub fn client_config() -> Result<rustls::ClientConfig, rustls::Error> {
    let roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let provider = CryptoProvider::get_default().cloned().unwrap_or_else(|| Arc::new(ring::default_provider()));
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
