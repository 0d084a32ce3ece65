//! The request guard: host names, origins and CSRF tokens.

use super::contract::path_with_unknown_ids;
use super::*;
use crate::support::socket::Socket;

/// Foreign host names (DNS rebinding) are refused on every route and on socket upgrades.
#[tokio::test]
async fn foreign_host_is_refused_on_every_route() {
    let app = TestServer::start().await;
    for entry in clotho::http::all_routes() {
        let heard =
            app.request(entry.method.as_str(), &path_with_unknown_ids(&entry)).host(Some("evil.example")).send().await;
        heard.expect_error("bad_host");
    }
    app.request("GET", "/nowhere").host(Some("evil.example:80")).send().await.expect_error("bad_host");
    app.request("GET", "http://evil.example/healthz").send().await.expect_error("bad_host");
    // The HTTP library itself refuses what is no valid HTTP.
    for ask in [app.request("GET", "/healthz").host(None), app.request("GET", "/healthz").header("host", "localhost")] {
        let status = ask.send_raw().await.status;
        assert!(matches!(status, 400 | 403), "{status}");
    }
    app.request("GET", "/healthz").host(Some("localhost:1")).send().await.expect(200);
    app.request("GET", "/healthz").host(Some("[::1]:9")).send().await.expect(200);
}

#[tokio::test]
async fn foreign_origin_is_refused_on_every_route() {
    let app = TestServer::start().await;
    for entry in clotho::http::all_routes() {
        for (name, value) in [("origin", "https://evil.example"), ("origin", "null"), ("origin", "http://127.0.0.1:1")]
        {
            let ask = app.request(entry.method.as_str(), &path_with_unknown_ids(&entry)).header(name, value);
            ask.send().await.expect_error("bad_host");
        }
        if entry.method != "GET" {
            let ask = app
                .request(entry.method.as_str(), &path_with_unknown_ids(&entry))
                .header("sec-fetch-site", "cross-site");
            ask.send().await.expect_error("bad_host");
        }
    }
}

/// S4-39: a socket upgrade passes the same checks as every request.
#[tokio::test]
async fn socket_upgrade_checks_host_and_origin() {
    let app = TestServer::start().await;
    let sid = id_of(&app.create_session().await);
    let own = format!("http://{}", app.address);
    let open = |headers: Vec<(&'static str, String)>| {
        let (at, sid) = (app.address, sid.clone());
        async move {
            let headers: Vec<(&'static str, &str)> =
                headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
            Socket::try_open(at, &sid, None, &headers).await.map(|_| ())
        }
    };
    assert_eq!(open(vec![("origin", own)]).await, Ok(()));
    assert_eq!(open(vec![]).await, Ok(()));
    assert_eq!(open(vec![("origin", "https://evil.example".into())]).await, Err(403));
    assert_eq!(open(vec![("origin", "null".into())]).await, Err(403));
    assert_eq!(open(vec![("host", "evil.example".into())]).await, Err(403));
    assert_eq!(open(vec![("sec-fetch-site", "cross-site".into())]).await, Err(403));
}

#[tokio::test]
async fn csrf_token_is_required_for_browser_writes() {
    let app = TestServer::start().await;
    let own = format!("http://{}", app.address);
    let body = json!({"name": "Rin"});
    let from_page = || app.request("POST", "/api/characters").json(&body).header("origin", &own);
    let error = from_page().send().await.expect_error("forbidden");
    assert_eq!(error["details"]["csrf"], true);
    from_page().header("x-csrf-token", "wrong").send().await.expect_error("forbidden");
    let token = app.get("/api/auth/me").await["csrf"].as_str().unwrap().to_owned();
    from_page().header("x-csrf-token", &token).header("sec-fetch-site", "same-origin").send().await.expect(201);
    // A program that is no browser needs no token.
    app.request("POST", "/api/characters").json(&body).send().await.expect(201);
    assert_eq!(
        app.get("/api/characters").await["items"].as_array().unwrap().iter().filter(|c| c["name"] == "Rin").count(),
        2
    );
}

/// The same holds on every writing route, whatever its body.
#[tokio::test]
async fn csrf_token_is_required_on_every_write_route() {
    let app = TestServer::start().await;
    let own = format!("http://{}", app.address);
    let writes = clotho::http::all_routes().into_iter().filter(|entry| entry.method != "GET");
    for entry in writes {
        let ask = || app.request(entry.method.as_str(), &path_with_unknown_ids(&entry));
        for from_page in [ask().header("origin", &own), ask().header("sec-fetch-site", "same-origin")] {
            from_page.clone().send().await.expect_error("forbidden");
            from_page.header("x-csrf-token", "wrong").send().await.expect_error("forbidden");
        }
        // A form of another page cannot send the header and is refused.
        let form = ask().bytes(b"name=Rin", "application/x-www-form-urlencoded").header("origin", "null");
        form.send().await.expect_error("bad_host");
    }
}

#[tokio::test]
async fn allowed_hosts_are_accepted_but_get_no_metrics() {
    let app = TestServer::start_with(TestApp::setup().set("server.allowed_hosts", r#"["play.example.org"]"#)).await;
    app.request("GET", "/healthz").host(Some("play.example.org")).send().await.expect(200);
    app.request("GET", "/healthz").host(Some("other.example.org")).send().await.expect_error("bad_host");
    let token = app.get("/api/auth/me").await["csrf"].as_str().unwrap().to_owned();
    let through_a_proxy =
        app.request("POST", "/api/characters").json(&json!({"name": "Rin"})).host(Some("127.0.0.1:7317"));
    let through_a_proxy = through_a_proxy.header("origin", "https://play.example.org").header("x-csrf-token", &token);
    through_a_proxy.send().await.expect(201);
    // Operator routes are not served through a proxy.
    app.request("GET", "/metrics").host(Some("play.example.org")).send().await.expect_error("forbidden");
    app.request("GET", "/metrics").header("x-forwarded-for", "192.0.2.1").send().await.expect_error("forbidden");
    assert!(
        app.request("GET", "/metrics").send_raw().await.text().contains("clotho_http_answers_total{status=\"2xx\"}")
    );
    app.request("GET", "/readyz").send().await.expect(200);
}

/// A final dot is no part of the name, and a scheme and a port in an entry count.
#[tokio::test]
async fn allowed_host_with_dot_scheme_or_port_matches_origin() {
    let hosts = r#"["play.example.org.", "https://safe.example.org:8443"]"#;
    let app = TestServer::start_with(TestApp::setup().set("server.allowed_hosts", hosts)).await;
    let token = app.get("/api/auth/me").await["csrf"].as_str().unwrap().to_owned();
    let own_port = app.address.port();
    let ask = async |host: &str, origin: &str| {
        let ask = app.request("POST", "/api/characters").json(&json!({"name": "Rin"})).host(Some(host));
        ask.header("origin", origin).header("x-csrf-token", &token).send().await
    };
    for (host, origin) in [
        ("play.example.org", "https://play.example.org".to_owned()),
        ("play.example.org.", "http://play.example.org".to_owned()),
        ("play.example.org", format!("http://play.example.org:{own_port}")),
        ("safe.example.org:8443", "https://safe.example.org:8443".to_owned()),
    ] {
        ask(host, &origin).await.expect(201);
    }
    for (host, origin) in [
        ("play.example.org", "https://play.example.org:8443"),
        ("play.example.org:8443", "https://play.example.org:8443"),
        ("safe.example.org", "https://safe.example.org"),
        ("safe.example.org:8443", "http://safe.example.org:8443"),
    ] {
        ask(host, origin).await.expect_error("bad_host");
    }
}

#[tokio::test]
async fn security_headers_are_on_every_answer() {
    let app = TestServer::start().await;
    for path in ["/", "/healthz", "/nothing", "/api/sessions", "/api/docs"] {
        let heard = app.request("GET", path).send_raw().await;
        let policy = heard.header("content-security-policy").unwrap();
        assert!(
            policy.contains("default-src 'none'") && policy.contains("require-trusted-types-for 'script'"),
            "{path}"
        );
        assert!(!policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"), "{path}");
        assert_eq!(heard.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(heard.header("cross-origin-resource-policy"), Some("same-origin"), "{path}");
        assert_eq!(heard.header("access-control-allow-origin"), None, "{path}");
    }
}

#[tokio::test]
async fn request_id_is_kept_or_replaced_if_invalid() {
    let app = TestServer::start().await;
    let heard = |given: &str| app.request("GET", "/healthz").header("x-request-id", given).send();
    assert_eq!(heard("abc-1.2_3").await.header("x-request-id"), Some("abc-1.2_3"));
    for odd in ["a b", "<script>", &"x".repeat(65)] {
        let own = heard(odd).await.header("x-request-id").unwrap().to_owned();
        assert!(own != odd && own.len() == 36, "{odd}: {own}");
    }
}
