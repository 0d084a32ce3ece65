//! TLS for all outgoing connections. The root certificates are bundled, so that it works on machines without any.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};

/// Installs the TLS crypto provider. Call it before building a client; only the first call has an effect.
pub fn install_crypto_provider() {
    // A second installation fails, which is fine because the first one is in effect.
    let _ = ring::default_provider().install_default();
}

/// Returns the TLS configuration of a client with the bundled certificates.
///
/// # Errors
/// Returns an error if the crypto provider supports no safe TLS version.
pub fn client_config() -> Result<rustls::ClientConfig, rustls::Error> {
    let roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let provider = CryptoProvider::get_default().cloned().unwrap_or_else(|| Arc::new(ring::default_provider()));
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
