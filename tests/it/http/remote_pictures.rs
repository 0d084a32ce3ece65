//! Pictures of other servers: shown for a card after consent, fetched through the guard, re-encoded and cached.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use clotho_compat::interop::picture;

use super::*;
use crate::interop::read_fixture;
use crate::support::client::HttpResponse;

/// A picture server. `/a.png` is a picture and `/moved` redirects to it. `/inside` redirects to a cloud metadata
/// address and `/on` to itself. `/text` and `/huge` are no valid pictures.
struct PictureServer {
    base_url: String,
    request_count: Arc<AtomicUsize>,
}

impl PictureServer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        // The thread ends with the test process.
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let mut head = [0; 4_096];
                let length = stream.read(&mut head).unwrap_or(0);
                counted.fetch_add(1, Ordering::SeqCst);
                let head = String::from_utf8_lossy(&head[..length]).into_owned();
                assert!(!head.to_lowercase().contains("cookie") && !head.to_lowercase().contains("referer"), "{head}");
                let _ = stream.write_all(&picture_response(head.split(' ').nth(1).unwrap_or_default()));
            }
        });
        Self { base_url: base, request_count: asked }
    }

    fn request_count(&self) -> usize {
        self.request_count.load(Ordering::SeqCst)
    }
}

fn picture_response(path: &str) -> Vec<u8> {
    let to = |place: &str| {
        format!("HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            .into_bytes()
    };
    let with = |body: &[u8]| {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        [head.as_bytes(), body].concat()
    };
    match path {
        "/a.png" => with(&read_fixture("cards/png-unicode-book.png")),
        "/moved" => to("/a.png"),
        "/inside" => to("http://169.254.169.254/latest/meta-data"),
        "/on" => to("/on"),
        "/text" => with(b"<svg onload=alert(1)>"),
        "/huge" => with(&vec![0; picture::MAX_BYTES + 1]),
        _ => b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec(),
    }
}

async fn fetch_picture(app: &TestServer, cid: &str, address: &str) -> HttpResponse {
    let escaped: String = address.bytes().map(|byte| format!("%{byte:02X}")).collect();
    app.request("GET", &format!("/api/characters/{cid}/outside/picture?url={escaped}")).send_raw().await
}

#[tokio::test]
async fn remote_picture_after_consent_is_cached_and_reencoded() {
    let app = TestServer::start_with(TestApp::setup().set("pictures.allowed_hosts", "[\"127.0.0.1\"]")).await;
    let elsewhere = PictureServer::start();
    let at = |path: &str| format!("{}{path}", elsewhere.base_url);
    let cid = id_of(&app.post("/api/characters", &json!({"name": "Rin"})).await);
    let consent = format!("/api/characters/{cid}/outside");
    assert_eq!(app.get(&consent).await, json!({"allowed": null}));
    fetch_picture(&app, &cid, &at("/a.png")).await.expect_error("forbidden");
    assert_eq!(elsewhere.request_count(), 0, "nobody has said that it may be asked");

    let put =
        async |allowed: Value| app.request("PUT", &consent).json(&json!({"allowed": allowed})).send().await.expect(200);
    assert_eq!(put(json!(true)).await, json!({"allowed": true}));
    let shown = fetch_picture(&app, &cid, &at("/moved")).await;
    assert_eq!(shown.status, 200, "{}", shown.text());
    assert!(matches!(shown.header("content-type"), Some("image/jpeg" | "image/png")));
    assert_ne!(shown.body, read_fixture("cards/png-unicode-book.png"), "nothing of the bytes that came is left");
    assert!(!shown.text().contains("chara"));
    assert_eq!(elsewhere.request_count(), 2);
    let tag = shown.header("etag").unwrap().to_owned();
    assert_eq!(fetch_picture(&app, &cid, &at("/moved")).await.header("etag"), Some(tag.as_str()));
    assert_eq!(elsewhere.request_count(), 2, "it is kept");

    fetch_picture(&app, &cid, &at("/inside")).await.expect_error("forbidden");
    fetch_picture(&app, &cid, &at("/on")).await.expect_error("provider_failed");
    fetch_picture(&app, &cid, &at("/gone")).await.expect_error("provider_failed");
    fetch_picture(&app, &cid, &at("/text")).await.expect_error("unsupported_media");
    fetch_picture(&app, &cid, &at("/huge")).await.expect_error("too_large");
    fetch_picture(&app, &cid, "file:///etc/passwd").await.expect_error("invalid");
    fetch_picture(&app, &cid, "http://localhost:1/a.png").await.expect_error("forbidden");

    // The cache is removed with the consent and is never exported with the card.
    let out = app.request("GET", &format!("/api/characters/{cid}/export?format=charx")).send_raw().await;
    assert!(!out.text().contains("outside/"));
    put(json!(false)).await;
    fetch_picture(&app, &cid, &at("/moved")).await.expect_error("forbidden");
    put(json!(true)).await;
    let asked = elsewhere.request_count();
    assert_eq!(fetch_picture(&app, &cid, &at("/moved")).await.status, 200);
    assert_eq!(elsewhere.request_count(), asked + 2, "what was kept went when it was not to be shown");
}
