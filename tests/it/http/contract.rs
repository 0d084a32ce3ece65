//! Table, document and server say the same.

use super::*;
use crate::support::client::fits;
use clotho::http::caller::Access;
use clotho::http::document::described;
use std::collections::BTreeSet;

/// An id that nothing has.
const NOTHING: &str = "018f3e2a-0000-7000-8000-0000000000aa";

/// An address of a route, with ids of nothing.
pub fn address(entry: &clotho::http::table::Entry) -> String {
    entry
        .path
        .split('/')
        .map(|part| match part {
            "{version}" => "none",
            part if part.starts_with('{') => NOTHING,
            part => part,
        })
        .collect::<Vec<_>>()
        .join("/")
}

#[tokio::test]
async fn the_document_describes_what_is_served() {
    let app = TestServer::start().await;
    let document = app.get("/api/openapi.json").await;
    let served: BTreeSet<String> = clotho::http::table()
        .iter()
        .filter(|entry| entry.path.starts_with("/api") || entry.is_operational())
        .map(|entry| format!("{} {}", entry.method, entry.plain_path()))
        .collect();
    assert_eq!(described(&document).into_iter().collect::<BTreeSet<_>>(), served);
    for entry in clotho::http::table() {
        let heard = app.ask(entry.method.as_str(), &address(&entry)).send().await;
        let is_elsewhere = heard.status == 404 && heard.text().contains("this address");
        assert!(!is_elsewhere && heard.status != 405, "{} {}: {}", entry.method, entry.path, heard.text());
    }
}

#[tokio::test]
async fn the_document_is_whole() {
    let app = TestServer::start().await;
    let document = app.get("/api/openapi.json").await;
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let text = document.to_string();
    for reference in text.split("\"#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(schemas.contains_key(name), "{name} is named but not described");
    }
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            assert!(!operation["summary"].as_str().unwrap().is_empty(), "{method} {path}");
            assert!(operation["responses"]["default"].is_object(), "{method} {path}");
            let named = path.matches('{').count();
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            assert_eq!(parameters.filter(|one| one["in"] == "path").count(), named, "{method} {path}");
        }
    }
    let codes: Vec<&str> =
        document["x-error-codes"].as_array().unwrap().iter().map(|code| code["code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"head_moved") && codes.contains(&"storage_full"));
}

#[tokio::test]
async fn other_methods_are_refused_with_those_that_fit() {
    let app = TestServer::start().await;
    for entry in clotho::http::table() {
        let own: Vec<String> = clotho::http::table()
            .iter()
            .filter(|other| fits(other, entry.path))
            .map(|other| other.method.to_string())
            .collect();
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"] {
            if own.iter().any(|known| known == method) {
                continue;
            }
            let heard = app.ask(method, &address(&entry)).send().await;
            let error = heard.refused("method_not_allowed");
            let allow = heard.header("allow").unwrap();
            assert!(own.iter().all(|known| allow.contains(known.as_str())), "{method} {}: {allow} {error}", entry.path);
        }
    }
}

#[tokio::test]
async fn head_answers_like_get_without_a_body() {
    let app = TestServer::start().await;
    for path in ["/healthz", "/api/sessions", "/", "/api/openapi.json"] {
        let (head, get) = (app.ask("HEAD", path).send_raw().await, app.ask("GET", path).send().await);
        assert_eq!((head.status, head.body.len()), (get.status, 0), "{path}");
        assert_eq!(head.header("content-type"), get.header("content-type"), "{path}");
    }
}

#[tokio::test]
async fn addresses_of_nothing_are_refused() {
    let app = TestServer::start().await;
    for path in
        ["/api", "/api/", "/nothing", "/api/chat", "/api/sessions/", "/api//sessions", "/assets", "/..%2f..%2fetc"]
    {
        app.ask("GET", path).send().await.refused("not_found");
    }
    let heard = app.ask("GET", "/%3Cscript%3Ealert(1)%3C/script%3E?q=%3Cscript%3E").send().await;
    heard.refused("not_found");
    assert!(!heard.text().contains("<script>") && heard.header("content-type") == Some("application/json"));
}

/// Every route says who may call it, and all but a few are for users.
#[tokio::test]
async fn who_may_call_is_in_the_table() {
    let open: Vec<&str> = ["/", "/s/{address:.*}", "/assets/{version}/{path:.*}", "/favicon.ico", "/healthz"]
        .into_iter()
        .chain(["/api/openapi.json", "/api/docs", "/api/docs/style.css"])
        .collect();
    for entry in clotho::http::table() {
        let expected = match entry.path {
            "/readyz" | "/metrics" => Access::Operator,
            path if open.contains(&path) => Access::Public,
            _ => Access::User,
        };
        assert_eq!(entry.access, expected, "{}", entry.path);
        assert!(entry.access != Access::Public || entry.method == "GET", "{} {}", entry.method, entry.path);
    }
}
