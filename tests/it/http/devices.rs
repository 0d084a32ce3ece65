//! Paired devices: an unpaired device sees nothing, and a paired one has access until it is removed. Here 127.0.0.2 is
//! a device on the local network, and 127.0.0.1 the owner at the server's machine.

use std::net::IpAddr;

use super::contract::path_with_unknown_ids;
use super::*;
use crate::support::client::{HttpRequest, HttpResponse, connect};
use crate::support::socket::Socket;
use crate::support::wait::wait_until;
use clotho::http::caller::RouteAccess;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const PHONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 2));
const AGENT: &str = "Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/131.0 Mobile Safari/537.36";

fn setup() -> Setup {
    TestApp::setup().set("server.lan", "true").set("server.trusted_peers", r#"["127.0.0.1"]"#)
}

async fn start_lan_server() -> TestServer {
    TestServer::start_with(setup()).await
}

fn phone_request(app: &TestServer, method: &str, path: &str) -> HttpRequest {
    app.request(method, path).with_source_address(PHONE)
}

async fn pairing_code(app: &TestServer) -> String {
    app.start_pairing().await["code"].as_str().unwrap().to_owned()
}

impl TestServer {
    async fn start_pairing(&self) -> Value {
        self.post("/api/devices/pairing", &json!({})).await
    }
}

async fn claim_code(app: &TestServer, code: &str) -> HttpResponse {
    let ask = phone_request(app, "POST", "/api/devices/claim").header("user-agent", AGENT);
    ask.json(&json!({"code": code})).send().await
}

/// Pairs a device; returns its description and its cookie.
async fn pair_device(app: &TestServer) -> (Value, String) {
    let heard = claim_code(app, &pairing_code(app).await).await;
    let cookie = heard.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    (heard.expect(201), cookie)
}

/// From another machine every route returns 401 with a hint, except the page's files and pairing.
#[tokio::test]
async fn unpaired_device_gets_401_on_every_route() {
    let app = start_lan_server().await;
    let forged = format!("clotho-device-{}={}", app.address.port(), "0".repeat(64));
    for entry in clotho::http::all_routes() {
        let ask = || phone_request(&app, entry.method.as_str(), &path_with_unknown_ids(&entry));
        if entry.access == RouteAccess::Unpaired {
            assert_ne!(ask().send_raw().await.status, 401, "{}", entry.path);
            continue;
        }
        // No header of the request grants access.
        for ask in [
            ask(),
            ask().header("cookie", &forged),
            ask().header("x-forwarded-for", "127.0.0.1"),
            ask().header("x-real-ip", "127.0.0.1").header("forwarded", "for=127.0.0.1"),
            ask().host(Some(&format!("localhost:{}", app.address.port()))),
            ask().header("cookie", "clotho-device-0=; =; x"),
        ] {
            let error = ask.send().await.expect_error("unauthenticated");
            assert!(
                error["hint"].as_str().unwrap().contains("create a pairing code on the server's own machine"),
                "{error}"
            );
        }
    }
    let open: Vec<&str> = clotho::http::all_routes()
        .iter()
        .filter(|entry| entry.access == RouteAccess::Unpaired)
        .map(|entry| entry.path)
        .collect();
    let files =
        ["/", "/settings", "/s/{address:.*}", "/pair", "/assets/{version}/{path:.*}", "/offline.js", "/favicon.ico"];
    assert_eq!(open, ["/api/devices/claim"].iter().chain(&files).copied().collect::<Vec<_>>());
    phone_request(&app, "GET", "/nowhere").send().await.expect_error("unauthenticated");
    phone_request(&app, "PUT", "/").send().await.expect_error("unauthenticated");
    let sid = id_of(&app.create_session().await);
    assert_eq!(Socket::try_open_from(Some(PHONE), app.address, &sid, None, &[]).await.err(), Some(401));
    // The owner at the machine needs no pairing.
    app.request("GET", "/api/sessions").send().await.expect(200);
    // A request forwarded by a proxy does not count as the machine itself.
    for (header, value) in [
        ("x-forwarded-for", "192.0.2.1"),
        ("x-forwarded-proto", "https"),
        ("via", "1.1 proxy"),
        ("cf-connecting-ip", "192.0.2.1"),
        ("x-client-ip", "192.0.2.1"),
    ] {
        let ask = app.request("GET", "/api/sessions").header(header, value);
        ask.send().await.expect_error("unauthenticated");
    }
}

/// A proxy on the machine that adds no header: the name that it passes on shows that others use it. Pairing works
/// through it.
#[tokio::test]
async fn request_from_machine_with_other_name_is_not_the_owner() {
    let app = TestServer::start_with(setup().set("server.allowed_hosts", r#"["play.example.org"]"#)).await;
    let (port, path) = (app.address.port(), "/api/sessions");
    for host in ["localhost".to_owned(), format!("127.0.0.1:{port}"), "[::1]:9".to_owned()] {
        app.request("GET", path).host(Some(&host)).send().await.expect(200);
    }
    let own = format!("http://{}", app.address);
    app.request("GET", path).header("origin", &own).send().await.expect(200);
    let asks = [
        app.request("GET", path).host(Some("play.example.org")),
        app.request("GET", path).header("origin", "https://play.example.org"),
        app.request("GET", "http://play.example.org/api/sessions"),
        app.request("POST", "/api/devices/pairing").json(&json!({})).host(Some("play.example.org")),
    ];
    for ask in asks {
        ask.send_raw().await.expect_error("unauthenticated");
    }
    let sid = id_of(&app.create_session().await);
    for name in ["host", "origin"] {
        let value = if name == "host" { "play.example.org" } else { "https://play.example.org" };
        assert_eq!(Socket::try_open(app.address, &sid, None, &[(name, value)]).await.err(), Some(401));
    }
    let code = pairing_code(&app).await;
    let ask = app.request("POST", "/api/devices/claim").host(Some("play.example.org"));
    let heard = ask.json(&json!({"code": code})).send().await;
    let cookie = heard.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let ask = app.request("GET", path).host(Some("play.example.org")).header("cookie", &cookie);
    ask.send().await.expect(200);
}

/// A cookie that was set by HTTPS is never sent without it.
#[tokio::test]
async fn device_cookie_behind_tls_is_secure() {
    let app = start_lan_server().await;
    for (name, value, is_secure) in [
        ("x-forwarded-proto", "https", true),
        ("x-forwarded-proto", "http", false),
        ("forwarded", "for=192.0.2.1;proto=https", true),
        ("forwarded", "for=192.0.2.1;proto=http", false),
    ] {
        let code = pairing_code(&app).await;
        let ask = phone_request(&app, "POST", "/api/devices/claim").header(name, value);
        let heard = ask.json(&json!({"code": code})).send().await;
        assert_eq!(heard.header("set-cookie").unwrap().ends_with("; Secure"), is_secure, "{name}: {value}");
    }
}

/// Pairing grants access, and paired devices survive a restart.
#[tokio::test]
async fn device_pairing_grants_access_and_survives_restart() {
    let app = start_lan_server().await;
    let pairing = app.start_pairing().await;
    let code = pairing["code"].as_str().unwrap();
    assert!(code.len() >= 32 && pairing["expiresInS"] == 300, "{pairing}");
    for link in pairing["links"].as_array().unwrap() {
        let (text, modules) = (link["address"].as_str().unwrap(), link["modules"].as_array().unwrap());
        assert!(text.ends_with(&format!(":{}/pair#{code}", app.address.port())), "{text}");
        assert!(modules.iter().all(|row| row.as_str().unwrap().len() == modules.len()));
    }
    let heard = claim_code(&app, code).await;
    let cookie = heard.header("set-cookie").unwrap().to_owned();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=31536000"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let device = heard.expect(201);
    assert_eq!((&device["name"], &device["isThis"]), (&json!("Chrome · Android"), &json!(true)));
    let kept = cookie.split(';').next().unwrap();
    let me = phone_request(&app, "GET", "/api/auth/me").header("cookie", kept).send().await;
    assert!(me.header("set-cookie").unwrap().starts_with(kept), "its year begins anew");
    assert_eq!((&me.json()["deviceId"], &me.json()["servesHouse"]), (&device["id"], &json!(true)));
    let sid = id_of(&app.create_session().await);
    phone_request(&app, "GET", &format!("/api/sessions/{sid}")).header("cookie", kept).send().await.expect(200);
    let listed = app.get("/api/devices").await;
    assert_eq!((&listed[0]["id"], &listed[0]["isThis"]), (&device["id"], &json!(false)));
    let app = app.restart().await;
    let renamed =
        app.request("PATCH", &format!("/api/devices/{}", id_of(&device))).json(&json!({"name": " My phone "}));
    assert_eq!(renamed.send().await.expect(200)["name"], "My phone");
    // The name of the cookie has the port, which changed with the restart.
    let again = format!("clotho-device-{}={}", app.address.port(), kept.split('=').nth(1).unwrap());
    let seen = phone_request(&app, "GET", "/api/devices").header("cookie", &again).send().await.expect(200);
    assert_eq!((&seen[0]["name"], &seen[0]["isThis"]), (&json!("My phone"), &json!(true)));
}

/// S4-39: operator routes stay at the machine.
#[tokio::test]
async fn paired_device_is_refused_metrics_and_readyz() {
    let app = start_lan_server().await;
    let (_, cookie) = pair_device(&app).await;
    for path in ["/metrics", "/readyz"] {
        phone_request(&app, "GET", path).header("cookie", &cookie).send().await.expect_error("forbidden");
    }
}

/// A wrong, used or expired code is refused with the same message, and the number of guesses is limited.
#[tokio::test]
async fn pairing_code_works_once_and_guesses_are_limited() {
    let app = start_lan_server().await;
    let good = pairing_code(&app).await;
    claim_code(&app, &good).await.expect(201);
    let mut told = Vec::new();
    for bad in [good.as_str(), "", "x", &"0".repeat(32), &"x".repeat(3_000)] {
        told.push(claim_code(&app, bad).await.expect_error("forbidden"));
    }
    assert!(told.iter().all(|one| *one == told[0]), "{told:#?}");
    let last = loop {
        let heard = claim_code(&app, "x").await;
        if heard.status != 403 {
            break heard;
        }
        told.push(heard.json());
        assert!(told.len() < 20);
    };
    last.expect_error("rate_limited");
    assert!(last.header("retry-after").unwrap().parse::<u64>().unwrap() <= 60);
    assert_eq!(app.get("/api/devices").await.as_array().unwrap().len(), 1);
    // A right code is accepted from the same address.
    let good = pairing_code(&app).await;
    claim_code(&app, &good).await.expect(201);
}

/// Clients of a trusted proxy are told to wait one by one. Nobody else can choose the address that is counted.
#[tokio::test]
async fn pairing_attempts_behind_proxy_are_counted_per_client() {
    let setup = setup().set("server.trusted_proxies", r#"["127.0.0.3"]"#);
    let app = TestServer::start_with(setup).await;
    let proxy: IpAddr = "127.0.0.3".parse().unwrap();
    let guess = async |from: IpAddr, client: &str| {
        let ask = app.request("POST", "/api/devices/claim").with_source_address(from).json(&json!({"code": "x"}));
        ask.header("x-forwarded-for", client).send().await.status
    };
    for n in 0..12 {
        let expected = if n < 10 { 403 } else { 429 };
        assert_eq!(guess(proxy, "192.0.2.1").await, expected, "{n}");
        assert_eq!(guess(PHONE, &format!("192.0.2.{n}")).await, expected, "{n}");
    }
    assert_eq!(guess(proxy, "192.0.2.2").await, 403);
    assert_eq!(guess(proxy, "192.0.2.2, 192.0.2.1").await, 429);
}

/// A device that is not paired can send a pairing code and nothing larger, so that strangers fill no memory.
#[tokio::test]
async fn unpaired_device_sends_4_kb_at_most() {
    let app = start_lan_server().await;
    let refused = claim_code(&app, &"x".repeat(5_000)).await;
    let error = refused.expect_error("too_large");
    assert_eq!(error["details"]["limit"], 4_096, "{error}");
    let (_, cookie) = pair_device(&app).await;
    let note = json!({"collection": "notes", "content": "x".repeat(5_000)});
    let csrf = phone_request(&app, "GET", "/api/auth/me").header("cookie", &cookie).send().await.expect(200);
    let ask = phone_request(&app, "POST", "/api/documents").header("cookie", &cookie).json(&note);
    ask.header("x-csrf-token", csrf["csrf"].as_str().unwrap()).send().await.expect(201);
}

/// Opens a connection that stays open after its first request. Returns it with the status; `None` if the server ends it
/// before it answers.
async fn open_connection(app: &TestServer, from: IpAddr, cookie: &str) -> Option<(TcpStream, String)> {
    let mut stream = connect(app.address, Some(from)).await;
    let head = format!("GET /api/auth/me HTTP/1.1\r\nhost: {}\r\ncookie: {cookie}\r\n\r\n", app.address);
    // The server may have ended the connection before the request is written, and then reset it.
    let _ = stream.write_all(head.as_bytes()).await;
    let mut told = Vec::new();
    while !told.windows(4).any(|end| end == b"\r\n\r\n") {
        if stream.read_buf(&mut told).await.unwrap_or(0) == 0 {
            return None;
        }
    }
    let line = String::from_utf8_lossy(&told).lines().next().unwrap_or_default().to_owned();
    Some((stream, line))
}

/// One address holds a few connections without a paired device. Paired devices, the owner and others are not affected.
#[tokio::test]
async fn unpaired_connections_of_one_address_are_limited() {
    let app = TestServer::start_with(setup().set("server.unpaired_connections", "3")).await;
    let (_, cookie) = pair_device(&app).await;
    let mut held = Vec::new();
    wait_until("the end of the pairing's connection", async || {
        held.extend(open_connection(&app, PHONE, "").await);
        held.len() == 3
    })
    .await;
    assert!(held.iter().all(|(_, line)| line.contains(" 401 ")), "{held:?}");
    assert!(open_connection(&app, PHONE, "").await.is_none());
    assert!(open_connection(&app, PHONE, &cookie).await.is_none(), "nobody knows yet whose it is");
    // Others, and the owner.
    let other: IpAddr = "127.0.0.4".parse().unwrap();
    assert!(open_connection(&app, other, "").await.is_some_and(|(_, line)| line.contains(" 401 ")));
    app.get("/api/sessions").await;
    // A place that is free again is given to the next. Connections of a paired device keep none.
    held.pop();
    let mut paired = Vec::new();
    wait_until("a free place", async || {
        paired.extend(open_connection(&app, PHONE, &cookie).await);
        paired.len() == 5
    })
    .await;
    assert!(paired.iter().all(|(_, line)| line.contains(" 200 ")), "{paired:?}");
    assert!(open_connection(&app, PHONE, "").await.is_some());
}

/// Connections of a trusted proxy do not count. Its clients count one by one, for the time of their requests.
#[tokio::test]
async fn unpaired_requests_behind_proxy_are_limited_per_client() {
    let setup = setup().set("server.trusted_proxies", r#"["127.0.0.3"]"#).set("server.unpaired_connections", "2");
    let app = TestServer::start_with(setup).await;
    let proxy: IpAddr = "127.0.0.3".parse().unwrap();
    // A body that does not arrive keeps its request open.
    let hold = async |client: &str| {
        let mut stream = connect(app.address, Some(proxy)).await;
        let head = format!(
            "POST /api/devices/claim HTTP/1.1\r\nhost: {}\r\nx-forwarded-for: {client}\r\ncontent-type: \
             application/json\r\ncontent-length: 100\r\n\r\n{{",
            app.address
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream
    };
    let status = async |client: &str| {
        let ask = app.request("GET", "/api/auth/me").with_source_address(proxy);
        ask.header("x-forwarded-for", client).send().await.status
    };
    let mut held = vec![hold("192.0.2.1").await, hold("192.0.2.1").await];
    wait_until("both requests", async || status("192.0.2.1").await == 503).await;
    assert_eq!(status("192.0.2.2").await, 401, "another client");
    held.pop();
    wait_until("the end of one request", async || status("192.0.2.1").await == 401).await;
}

/// The short code pairs like the long one in any typed variant, and then neither works again.
#[tokio::test]
async fn pairing_short_code_accepts_typed_variants_once() {
    let app = start_lan_server().await;
    let pairing = app.start_pairing().await;
    let short = pairing["shortCode"].as_str().unwrap();
    assert_eq!(short.len(), 8, "{pairing}");
    let (one, two) = short.split_at(4);
    let typed = format!(" {}-{} ", one.to_uppercase(), two.replace('0', "o").replace('1', "L"));
    claim_code(&app, &typed).await.expect(201);
    claim_code(&app, pairing["code"].as_str().unwrap()).await.expect_error("forbidden");
    claim_code(&app, short).await.expect_error("forbidden");
}

/// When pairing from another machine or through a proxy, the origin of the request is the first link. The machine's
/// loopback names are not listed.
#[tokio::test]
async fn pairing_links_list_request_origin_first() {
    let app = TestServer::start_with(setup().set("server.allowed_hosts", r#"["play.example.org"]"#)).await;
    let (_, cookie) = pair_device(&app).await;
    let me = phone_request(&app, "GET", "/api/auth/me").header("cookie", &cookie).send().await.expect(200);
    let csrf = me["csrf"].as_str().unwrap().to_owned();
    let links = async |origin: &str| {
        let ask = phone_request(&app, "POST", "/api/devices/pairing").json(&json!({})).header("origin", origin);
        let told = ask.header("cookie", &cookie).header("x-csrf-token", &csrf).send().await.expect(200);
        let all = told["links"].as_array().unwrap().iter();
        all.map(|link| link["address"].as_str().unwrap().split("/pair#").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let here = links(&format!("http://{}", app.address)).await;
    assert!(here.iter().all(|address| !address.contains("127.0.0.1")), "{here:?}");
    let elsewhere = links("https://play.example.org").await;
    assert_eq!(elsewhere.first().map(String::as_str), Some("https://play.example.org"));
    assert_eq!(elsewhere.get(1..).unwrap(), here);
}

/// The stored answer does not have the code: a repeated request gets everything but the code.
#[tokio::test]
async fn pairing_idempotent_replay_omits_code() {
    let app = start_lan_server().await;
    let ask = || app.request("POST", "/api/devices/pairing").header("idempotency-key", "k").json(&json!({}));
    let first = ask().send().await.expect(200);
    let second = ask().send().await.expect(200);
    assert_eq!((&second["code"], &second["shortCode"], &second["links"]), (&json!(""), &json!(""), &json!([])));
    assert_eq!(second["expiresAt"], first["expiresAt"]);
}

/// Stale rights on sockets: removing a device takes effect at once, on every request and on open sockets.
#[tokio::test]
async fn device_removal_closes_sockets_and_refuses_requests() {
    let app = start_lan_server().await;
    let (device, cookie) = pair_device(&app).await;
    let (_, other) = pair_device(&app).await;
    let sid = id_of(&app.create_session().await);
    let open = |cookie: String| {
        let (at, sid) = (app.address, sid.clone());
        async move { Socket::try_open_from(Some(PHONE), at, &sid, None, &[("cookie", &cookie)]).await.unwrap() }
    };
    let (mut gone, mut stays) = (open(cookie.clone()).await, open(other.clone()).await);
    for socket in [&mut gone, &mut stays] {
        assert_eq!(socket.next_frame().await.unwrap()["type"], "hello");
    }
    app.request("DELETE", &format!("/api/devices/{}", id_of(&device))).send().await.expect(204);
    let last = gone.next_frame().await.unwrap();
    assert_eq!(last["code"].as_str().or(last["error"]["code"].as_str()), Some("unauthenticated"), "{last}");
    assert!(gone.next_frame().await.is_none());
    assert_eq!(gone.close_code, Some(1008));
    phone_request(&app, "GET", "/api/sessions").header("cookie", &cookie).send().await.expect_error("unauthenticated");
    stays.send(&json!({"type": "ping"})).await;
    stays.read_until_type("pong").await;
    phone_request(&app, "GET", "/api/sessions").header("cookie", &other).send().await.expect(200);
    app.request("DELETE", &format!("/api/devices/{}", id_of(&device))).send().await.expect_error("not_found");
}

/// Each device has its own CSRF token and must write from its own origin.
#[tokio::test]
async fn device_writes_need_own_csrf_token_and_origin() {
    let app = start_lan_server().await;
    let ((_, one), (_, two)) = (pair_device(&app).await, pair_device(&app).await);
    let token = async |cookie: &str| {
        let me = phone_request(&app, "GET", "/api/auth/me").header("cookie", cookie).send().await.expect(200);
        me["csrf"].as_str().unwrap().to_owned()
    };
    let (first, second) = (token(&one).await, token(&two).await);
    let owners = app.get("/api/auth/me").await["csrf"].as_str().unwrap().to_owned();
    assert!(first != second && first != owners && first.len() == 64);
    let own = format!("http://{}", app.address);
    let write = |origin: &str, token: &str| {
        let ask = phone_request(&app, "POST", "/api/characters").json(&json!({"name": "Rin"})).header("cookie", &one);
        ask.header("origin", origin).header("x-csrf-token", token).send()
    };
    write(&own, &first).await.expect(201);
    write(&own, &second).await.expect_error("forbidden");
    write(&own, &owners).await.expect_error("forbidden");
    write("http://evil.example", &first).await.expect_error("bad_host");
    let ask = phone_request(&app, "POST", "/api/devices/claim").json(&json!({"code": "x"}));
    ask.header("origin", "http://evil.example").send().await.expect_error("bad_host");
}

/// Foreign host names are refused in LAN mode too. The machine's own names are accepted with its own port only.
#[tokio::test]
async fn lan_host_check_accepts_own_names_and_port() {
    let app = start_lan_server().await;
    let own = app.app().devices.addresses.shareable().into_iter().map(|address| address.to_string());
    let names = own.filter(|name| !name.contains(':')).chain(clotho::devices::addresses::mdns_name());
    for name in names {
        let with = |port: u16| app.request("GET", "/api/sessions").host(Some(&format!("{name}:{port}")));
        // The name is accepted, but whoever uses it may be another machine behind a proxy.
        with(app.address.port()).send().await.expect_error("unauthenticated");
        with(app.address.port() ^ 1).send().await.expect_error("bad_host");
    }
    for name in ["evil.example", "192.0.2.77", "evil.local", "0.0.0.0"] {
        let host = format!("{name}:{}", app.address.port());
        app.request("GET", "/").host(Some(&host)).send().await.expect_error("bad_host");
        phone_request(&app, "GET", "/").host(Some(&host)).send().await.expect_error("bad_host");
    }
}

/// Without `lan`, pairing is forbidden.
#[tokio::test]
async fn pairing_without_lan_mode_is_forbidden() {
    let app = TestServer::start().await;
    let error = app.request("POST", "/api/devices/pairing").json(&json!({})).send().await.expect_error("forbidden");
    assert!(error["hint"].as_str().unwrap().contains("--lan"), "{error}");
    assert_eq!(app.get("/api/auth/me").await["servesHouse"], false);
}
