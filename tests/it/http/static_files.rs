//! The page and its files: existing files are served unchanged, and nothing else is.

use super::*;
use regex::Regex;

/// Returns the asset paths in a document.
fn asset_paths(html: &str) -> Vec<String> {
    let quoted = Regex::new(r#"(?:src|href)="([^"]+)""#).unwrap();
    quoted.captures_iter(html).map(|found| found[1].to_owned()).filter(|to| to.starts_with("/assets/")).collect()
}

/// The page has nothing that its content security policy forbids, and all its assets exist.
#[tokio::test]
async fn page_assets_exist_and_are_cached() {
    let app = TestServer::start().await;
    let page = app.request("GET", "/").send_raw().await;
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(page.header("cache-control"), Some("no-store"));
    let html = page.text();
    let story = app.request("GET", "/s/018f3e2a-0000-7000-8000-0000000000aa/n/x").send_raw().await;
    let ahead = Regex::new("<link rel=\"modulepreload\"[^>]*>").unwrap();
    let bare = |html: &str| ahead.replace_all(html, "").into_owned();
    assert_eq!((story.status, bare(&story.text())), (200, bare(&html)), "the page is at every address that it shows");
    assert!(!html.contains("{{") && !html.contains(" style=") && !html.contains("<style"), "{html}");
    assert!(!Regex::new(r"\son\w+=").unwrap().is_match(&html), "{html}");
    let scripts = Regex::new(r"<script\b([^>]*)>").unwrap();
    let inline: Vec<String> = scripts.captures_iter(&html).map(|found| found[1].to_owned()).collect();
    assert!(!inline.is_empty() && inline.iter().all(|attributes| attributes.contains("src=")), "{inline:?}");
    let files = asset_paths(&story.text());
    let first = asset_paths(&html);
    assert!(first.len() > 1 && first.iter().all(|file| files.contains(file)) && files.len() > first.len(), "{files:?}");
    for file in files {
        let heard = app.request("GET", &file).send_raw().await;
        assert_eq!(heard.status, 200, "{file}");
        assert_eq!(heard.header("cache-control"), Some("public, max-age=31536000, immutable"), "{file}");
        assert_eq!(heard.header("x-content-type-options"), Some("nosniff"), "{file}");
        let kind = heard.header("content-type").unwrap();
        assert!(!file.ends_with(".js") || kind.starts_with("text/javascript"), "{file}: {kind}");
        assert!(!file.ends_with(".css") || kind.starts_with("text/css"), "{file}: {kind}");
        let tag = heard.header("etag").unwrap().to_owned();
        let known = app.request("GET", &file).header("if-none-match", &tag).send_raw().await;
        assert_eq!((known.status, known.body.len()), (304, 0), "{file}");
        let head = app.request("HEAD", &file).send_raw().await;
        assert_eq!((head.status, head.body.len(), head.header("etag")), (200, 0, Some(tag.as_str())), "{file}");
    }
    let icon = app.request("GET", "/favicon.ico").send_raw().await;
    let tag = icon.header("etag").unwrap().to_owned();
    assert_eq!(app.request("GET", "/favicon.ico").header("if-none-match", &tag).send_raw().await.status, 304);
}

/// An installable page: the service worker is at the root and always revalidated, or an old one would keep an old page.
/// The manifest and its icons are ordinary files.
#[tokio::test]
async fn service_worker_and_manifest_are_served_with_icons() {
    let app = TestServer::start().await;
    let worker = app.request("GET", "/offline.js").send_raw().await;
    assert_eq!((worker.status, worker.header("cache-control")), (200, Some("no-cache")));
    assert!(worker.header("content-type").unwrap().starts_with("text/javascript"));
    assert!(worker.header("content-security-policy").is_some());
    let tag = worker.header("etag").unwrap().to_owned();
    assert_eq!(app.request("GET", "/offline.js").header("if-none-match", &tag).send_raw().await.status, 304);
    let page = app.request("GET", "/").send_raw().await.text();
    let manifest = page.split('"').find(|part| part.ends_with("app.webmanifest")).unwrap();
    let answer = app.request("GET", manifest).send_raw().await;
    assert!(answer.header("content-type").unwrap().starts_with("application/manifest+json"));
    let base = manifest.strip_suffix("app.webmanifest").unwrap();
    for icon in answer.json()["icons"].as_array().unwrap() {
        let path = format!("{base}{}", icon["src"].as_str().unwrap());
        let drawn = app.request("GET", &path).send_raw().await;
        assert_eq!(
            (drawn.status, drawn.header("content-type").map(|kind| kind.starts_with("image/"))),
            (200, Some(true))
        );
    }
}

/// Paths that try to leave a folder.
const WAYS_OUT: [&str; 16] = [
    "",
    "/",
    ".",
    "..",
    "../Cargo.toml",
    "js/../../Cargo.toml",
    "..%2fCargo.toml",
    "..%2f..%2f..%2f..%2fetc%2fpasswd",
    "%2e%2e/Cargo.toml",
    "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "..%5cCargo.toml",
    "..%252fCargo.toml",
    "/etc/passwd",
    "%2fetc%2fpasswd",
    "js/main.js%00.css",
    "js",
];

/// No path leads out of the page's files, neither bundled ones nor those of a folder.
#[tokio::test]
async fn path_traversal_returns_400_or_404() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("static");
    std::fs::create_dir_all(folder.join("js")).unwrap();
    std::fs::write(folder.join("index.html"), "<script src=\"{{assets}}/js/main.js\"></script>").unwrap();
    std::fs::write(folder.join("js/main.js"), "1").unwrap();
    std::fs::write(folder.join(".env"), "secret").unwrap();
    std::fs::write(home.path().join("Cargo.toml"), "secret").unwrap();
    std::os::unix::fs::symlink(home.path().join("Cargo.toml"), folder.join("link.txt")).unwrap();
    let on_disk = TestApp::setup().set("server.static_dir", folder.to_str().unwrap());
    for setup in [TestApp::setup(), on_disk] {
        let app = TestServer::start_with(setup).await;
        let version = app.app().assets.version().to_owned();
        for out in WAYS_OUT.iter().chain(&[".env", "link.txt"]) {
            for path in [format!("/assets/{version}/{out}"), format!("/{out}"), format!("/api/docs/{out}")] {
                if matches!(path.as_str(), "/" | "//") {
                    continue;
                }
                let heard = app.request("GET", &path).send_raw().await;
                assert!(matches!(heard.status, 400 | 404), "{path}: {} {}", heard.status, heard.text());
                assert!(!heard.text().contains("secret") && !heard.text().contains("root:"), "{path}");
            }
        }
        for other in ["none", "", "dev0", "..", "%2e%2e"] {
            app.request("GET", &format!("/assets/{other}/js/main.js")).send().await.expect_error("not_found");
        }
    }
}

/// A page folder for development is served uncached under the same policy.
#[tokio::test]
async fn static_dir_serves_changed_files_without_cache() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("index.html"), "<link href=\"{{assets}}/a.css\">{{ahead}}").unwrap();
    std::fs::write(home.path().join("a.css"), "one").unwrap();
    let app = TestServer::start_with(TestApp::setup().set("server.static_dir", home.path().to_str().unwrap())).await;
    let page = app.request("GET", "/").send_raw().await.text();
    assert!(page.starts_with("<link href=\"/assets/dev/a.css\">"), "{page}");
    assert!(
        asset_paths(&page).contains(&"/assets/dev/built/js/first.js".to_owned()),
        "what is built is served here too: {page}"
    );
    let first = app.request("GET", "/assets/dev/a.css").send_raw().await;
    assert_eq!((first.text().as_str(), first.header("cache-control")), ("one", Some("no-cache")));
    std::fs::write(home.path().join("a.css"), "two").unwrap();
    let tag = first.header("etag").unwrap();
    let second = app.request("GET", "/assets/dev/a.css").header("if-none-match", tag).send_raw().await;
    assert_eq!((second.status, second.text().as_str()), (200, "two"));
    assert!(second.header("content-security-policy").unwrap().contains("default-src 'none'"));
    app.request("GET", "/favicon.ico").send().await.expect_error("not_found");
}
