//! The machine around the client.

use super::*;
use std::process::Command;

/// No system certificates, a proxy that is not there, and `https`: what a bare container or a company's laptop has.
#[tokio::test]
async fn a_strange_environment_does_no_harm() {
    let child = |name: &str, value: &str| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "provider::machine::inside_a_strange_environment", "--ignored", "--nocapture"]);
        command.env_remove("NO_PROXY").env_remove("no_proxy").env(name, value);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && said.contains("1 passed"), "{name}: {said}");
    };
    for (name, value) in [
        ("SSL_CERT_FILE", "/nonexistent/certificates.pem"),
        ("HTTP_PROXY", "http://127.0.0.1:1"),
        ("http_proxy", "http://127.0.0.1:1"),
        ("ALL_PROXY", "http://127.0.0.1:1"),
    ] {
        child(name, value);
    }
}

#[tokio::test]
#[ignore = "the test above runs it in a process of its own"]
async fn inside_a_strange_environment() {
    let mock = MockModel::start().await;
    assert_eq!(ask(&OpenAi::new(endpoint(&mock.base_url()))).await.failure, None);
    let secure = OpenAi::new(endpoint(&mock.base_url().replace("http:", "https:")));
    let failure = ask(&secure).await.failure.unwrap();
    assert!(matches!(failure, Failure::Unreachable { .. }), "the mock speaks no TLS, but the client does: {failure}");
}
