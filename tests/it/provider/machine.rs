//! The environment of the client: certificates and proxies.

use super::*;
use std::process::Command;

/// The client works without system certificates, with an unreachable proxy, and with `https`, as in a bare container
/// or on a company laptop.
#[tokio::test]
async fn client_works_without_certificates_or_reachable_proxy() {
    let child = |environment: &[(&str, &str)]| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "provider::machine::inside_a_strange_environment", "--ignored", "--nocapture"]);
        command.env_remove("NO_PROXY").env_remove("no_proxy").envs(environment.iter().copied());
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && said.contains("1 passed"), "{environment:?}: {said}");
    };
    let nowhere = "/nonexistent";
    let no_proxy_here = "http://127.0.0.1:1";
    child(&[("SSL_CERT_FILE", nowhere), ("SSL_CERT_DIR", nowhere)]);
    child(&[("HTTP_PROXY", no_proxy_here), ("http_proxy", no_proxy_here)]);
    child(&[("HTTPS_PROXY", no_proxy_here), ("ALL_PROXY", no_proxy_here), ("all_proxy", no_proxy_here)]);
}

#[tokio::test]
#[ignore = "the test above runs it in a process of its own"]
async fn inside_a_strange_environment() {
    let mock = MockModel::start().await;
    assert_eq!(request_reply(&openai_client(endpoint(&mock.base_url()))).await.failure, None);
    let secure = openai_client(endpoint(&mock.base_url().replace("http:", "https:")));
    let failure = request_reply(&secure).await.failure.unwrap();
    assert!(
        matches!(failure, ProviderFailure::Unreachable { .. }),
        "the mock speaks no TLS, but the client does: {failure}"
    );
}
