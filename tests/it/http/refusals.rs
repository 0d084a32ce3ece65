//! Invalid requests, sent to every route.

use super::*;
use crate::support::client::HttpResponse;
use clotho::http::route_table::RouteEntry;
use clotho_engine::transfer::UploadSlot;
use std::collections::HashMap;

/// A server with one thing of every kind, and their ids.
struct RouteFixture {
    server: TestServer,
    ids: HashMap<&'static str, String>,
    /// Holds the slot of an upload in progress.
    _upload_slot: UploadSlot,
}

impl RouteFixture {
    async fn new() -> Self {
        Self::with_setup(TestApp::setup()).await
    }

    async fn with_setup(setup: Setup) -> Self {
        let app = TestServer::start_with(setup).await;
        let (session, line) = app.create_branch(2).await;
        let character = session["characterIds"][0].as_str().unwrap().to_owned();
        let persona = id_of(&app.post("/api/personas", &json!({"name": "Ann"})).await);
        let sid = id_of(&session);
        let beside = json!({"parentId": line[0], "content": "beside", "moveHead": false});
        let beside = id_of(&app.post(&format!("/api/chat/{sid}/message"), &beside).await["node"]);
        let prune = json!({"operations": [{"op": "prune", "nodeId": beside}]});
        let fragment = app.put(&format!("/api/chat/{sid}/tree/edit"), &prune).await["fragmentIds"][0].clone();
        let fragment = fragment.as_str().unwrap().to_owned();
        let place = app.app().import_queue.reserve_slot(app.app().owner).unwrap();
        let session = [("sid", sid), ("nid", line[1].clone()), ("fid", fragment)];
        let book = id_of(&app.post("/api/lorebooks", &json!({"name": "Atlas"})).await);
        let preset = json!({"kind": "sysprompt", "name": "Plain", "body": {}});
        let preset = id_of(&app.post("/api/presets", &preset).await);
        let profile = id_of(&app.post("/api/profiles", &json!({"name": "Plain"})).await);
        let document = id_of(&app.post("/api/documents", &json!({"collection": "Maps", "content": "North."})).await);
        let ids = session.into_iter().chain([
            ("cid", character),
            ("pid", persona),
            ("jid", place.job().to_string()),
            ("lid", book),
            ("rid", preset),
            ("kid", profile),
            // Pairing needs another machine: see `devices.rs`.
            ("vid", "018f3e2a-0000-7000-8000-0000000000aa".to_owned()),
            ("oid", document),
            // The body is checked before the summary is looked up.
            ("mid", "018f3e2a-0000-7000-8000-0000000000aa".to_owned()),
        ]);
        Self { server: app, ids: ids.collect(), _upload_slot: place }
    }

    /// Returns the path of a route with existing ids.
    fn route_path(&self, entry: &RouteEntry) -> String {
        let part = |part: &str| match part.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            Some(name) => self.ids.get(name).cloned().unwrap_or_else(|| "combat".into()),
            None => part.to_owned(),
        };
        entry.path.split('/').map(part).collect::<Vec<_>>().join("/")
    }

    async fn send(&self, entry: &RouteEntry, body: &[u8], kind: &str) -> HttpResponse {
        self.server.request(entry.method.as_str(), &self.route_path(entry)).bytes(body, kind).send().await
    }
}

/// Returns the routes that take JSON. These are all writing routes except those without a body and those that take a
/// file (`session_transfer.rs`, `cards.rs`).
fn routes_with_json_body() -> Vec<RouteEntry> {
    let takes_file = |path: &str| path.ends_with("/import") || path.ends_with("/avatar");
    let is_link = |path: &str| path.contains("/holds/");
    let is_bare =
        |path: &str| path.ends_with("/cancel") || path.ends_with("/restore") || is_link(path) || takes_file(path);
    let takes = |entry: &RouteEntry| matches!(entry.method.as_str(), "POST" | "PUT" | "PATCH") && !is_bare(entry.path);
    clotho::http::all_routes().into_iter().filter(takes).collect()
}

#[tokio::test]
async fn malformed_json_on_every_route_is_refused() {
    let house = RouteFixture::new().await;
    let cut = b"{\"content\": \"x".as_slice();
    for body in
        [b"{".as_slice(), b"}", b"{]", b"nothing", b"NaN", b"{\"a\": NaN}", b"{\"a\": Infinity}", b"\xff\xfe{}", cut]
    {
        for entry in routes_with_json_body() {
            house.send(&entry, body, "application/json").await.expect_error("malformed");
        }
    }
    for entry in routes_with_json_body() {
        let heard = house.send(&entry, b"{} {}", "application/json").await;
        assert!(matches!(heard.status, 400 | 422), "{}", heard.text());
    }
}

/// S2-02, C16: an unknown field is refused, and so is a history sent by a client.
#[tokio::test]
async fn unknown_body_fields_on_every_route_return_invalid() {
    let house = RouteFixture::new().await;
    for entry in routes_with_json_body() {
        for field in ["contnet", "history", "__proto__", "owner_id"] {
            let error = house.send(&entry, format!("{{\"{field}\": []}}").as_bytes(), "application/json").await;
            let error = error.expect_error("invalid");
            let is_list = entry.path.ends_with("/plugins");
            assert!(is_list || error["details"]["field"] == field, "{} {error}", entry.path);
        }
        for query in ["?contnet=1", "?limit=abc", "?q=%ff"] {
            let method = entry.method.as_str();
            let heard = house.server.request(method, &(house.route_path(&entry) + query)).json_text("{}").send().await;
            assert!(heard.status < 500, "{}", heard.text());
        }
    }
}

/// An array is no object, even if its values would fit the fields in order. An object is no array.
#[tokio::test]
async fn array_in_place_of_object_returns_invalid() {
    let house = RouteFixture::new().await;
    let (sid, nid) = (&house.ids["sid"], &house.ids["nid"]);
    for entry in routes_with_json_body() {
        let body = if entry.path.ends_with("/plugins") { "{}" } else { "[]" };
        house.send(&entry, body.as_bytes(), "application/json").await.expect_error("invalid");
    }
    let chat = |rest: &str| format!("/api/chat/{sid}/{rest}");
    for (method, path, body, field) in [
        ("POST", chat("message"), json!([nid, "x"]), "."),
        ("PUT", chat("active_leaf"), json!([nid]), "."),
        ("POST", "/api/characters".into(), json!(["Rin"]), "."),
        ("POST", chat("message"), json!({"parentId": nid, "content": "x", "generate": [1]}), "generate"),
        ("PUT", chat("nodes/state"), json!({"updates": [[nid, false]]}), "updates[0]"),
        ("PUT", format!("/api/sessions/{sid}/plugins"), json!([["combat"]]), "[0]"),
        (
            "POST",
            "/api/sessions".into(),
            json!({"characterIds": [house.ids["cid"]], "plugins": [["combat"]]}),
            "plugins[0]",
        ),
    ] {
        let error = house.server.request(method, &path).json(&body).send().await.expect_error("invalid");
        assert_eq!(error["details"]["field"], field, "{path} {body}: {error}");
    }
}

#[tokio::test]
async fn unknown_or_bad_query_parameters_are_refused() {
    let house = RouteFixture::new().await;
    let document = house.server.get("/api/openapi.json").await;
    for entry in clotho::http::all_routes() {
        let pointer = format!("/paths/{}/get/parameters", entry.openapi_path().replace('/', "~1"));
        let parameters = document.pointer(&pointer).and_then(Value::as_array).cloned().unwrap_or_default();
        let named: Vec<&Value> = parameters.iter().filter(|one| one["in"] == "query").collect();
        if entry.method != "GET" || named.is_empty() {
            continue;
        }
        let ask = |query: &str| house.server.request("GET", &format!("{}?{query}", house.route_path(&entry))).send();
        assert_eq!(ask("typo=1").await.expect_error("invalid")["details"]["field"], "typo", "{}", entry.path);
        ask("a=%zz").await.expect_error("malformed");
        ask("a=%ff").await.expect_error("malformed");
        for parameter in named {
            let name = parameter["name"].as_str().unwrap();
            let error = ask(&format!("{name}=%00")).await.expect_error("invalid");
            assert_eq!(error["details"]["field"], name, "{}", entry.path);
            let is_number = parameter["schema"].to_string().contains("integer");
            for value in if is_number { ["", "-1", "abc", "1e3", "99999999999999999999"].as_slice() } else { &[] } {
                let error = ask(&format!("{name}={value}")).await.expect_error("invalid");
                assert_eq!(error["details"]["field"], name, "{} {value}", entry.path);
            }
        }
        if parameters.iter().any(|one| one["name"] == "limit") {
            ask("limit=0").await.expect_error("invalid");
            ask("limit=501").await.expect_error("invalid");
        }
        if parameters.iter().any(|one| one["name"] == "cursor") {
            ask("cursor=abc").await.expect_error("invalid");
        }
    }
}

#[tokio::test]
async fn nul_lone_surrogate_and_deep_json_return_invalid() {
    let house = RouteFixture::new().await;
    let deep = format!("{}1{}", "{\"a\":".repeat(65), "}".repeat(65));
    let deeper = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for entry in routes_with_json_body() {
        for body in [r#"{"name": "a\u0000b"}"#, r#"{"name": "\ud800"}"#, r#"{"name": ["\udc00x"]}"#, &deep, &deeper] {
            house.send(&entry, body.as_bytes(), "application/json").await.expect_error("invalid");
        }
    }
}

/// A body of two megabytes whose values would need more memory than a request may take.
#[tokio::test]
async fn json_with_too_many_values_returns_too_large() {
    let app = TestServer::start().await;
    let body = format!("{{\"content\": \"x\", \"metadata\": {{\"a\": [{}[]]}}}}", "[],".repeat(700_000));
    let ask = app.request("POST", "/api/documents").bytes(body.as_bytes(), "application/json");
    let error = ask.send().await.expect_error("too_large");
    let (limit, field) = (error["details"]["limit"].clone(), error["details"]["field"].as_str().unwrap().to_owned());
    let megabytes = 16 + ((4 * body.len()) >> 20);
    assert_eq!(limit, megabytes << 20, "{error}");
    assert!(field.starts_with("metadata.a["), "{error}");
    assert_eq!(app.get("/api/documents").await["items"], json!([]));
}

#[tokio::test]
async fn other_content_types_return_unsupported_media() {
    let house = RouteFixture::new().await;
    for entry in routes_with_json_body() {
        for kind in [
            "",
            "text/plain",
            "multipart/form-data",
            "application/x-www-form-urlencoded",
            "application/json; charset=latin1",
        ] {
            house.send(&entry, b"{\"a\": 1}", kind).await.expect_error("unsupported_media");
        }
        let ask = house.server.request(entry.method.as_str(), &house.route_path(&entry)).json_text("{}");
        ask.header("content-encoding", "gzip").send().await.expect_error("unsupported_media");
    }
}

#[tokio::test]
async fn body_over_limit_returns_too_large() {
    let house = RouteFixture::with_setup(TestApp::setup().set("limits.body_mb", "1")).await;
    let app = &house.server;
    let large = vec![b' '; (1 << 20) + 1];
    for entry in routes_with_json_body() {
        let path = house.route_path(&entry);
        let heard = app.request(entry.method.as_str(), &path).bytes(&large, "application/json").send().await;
        assert_eq!(heard.expect_error("too_large")["details"]["limit"], 1 << 20, "{path}");
        // The announced length alone is refused, without sending the body.
        let ask = app.request(entry.method.as_str(), &path).header("content-type", "application/json");
        ask.content_length(99_999_999_999).send().await.expect_error("too_large");
    }
}

#[tokio::test]
async fn wrong_field_types_return_invalid_naming_field() {
    let house = RouteFixture::new().await;
    let sid = &house.ids["sid"];
    let check = |method: &'static str, path: String, body: Value, field: &'static str| {
        let ask = house.server.request(method, &path).json(&body);
        async move {
            let error = ask.send().await.expect_error("invalid");
            assert_eq!(error["details"]["field"], field, "{path} {body}: {error}");
        }
    };
    let chat = |rest: &str| format!("/api/chat/{sid}/{rest}");
    let node = |rest: &str| format!("/api/chat/{sid}/node/{}/{rest}", house.ids["nid"]);
    let parent = &house.ids["nid"];
    // Library and sessions.
    check("POST", "/api/characters".into(), json!({"name": 5}), "name").await;
    check("POST", "/api/characters".into(), json!({}), "name").await;
    check("POST", "/api/characters".into(), json!({"name": "a", "tags": ["x", 1]}), "tags[1]").await;
    check("POST", "/api/personas".into(), json!({"name": " "}), "name").await;
    check("POST", "/api/sessions".into(), json!({}), "characterIds").await;
    check("POST", "/api/sessions".into(), json!({"characterIds": []}), "characterIds").await;
    check("POST", "/api/sessions".into(), json!({"characterIds": ["x"]}), "characterIds[0]").await;
    let two = json!({"characterIds": [house.ids["cid"], house.ids["cid"]]});
    check("POST", "/api/sessions".into(), two, "characterIds[1]").await;
    let plugins = json!({"characterIds": [house.ids["cid"]], "plugins": [{"id": "nobody"}]});
    check("POST", "/api/sessions".into(), plugins, "plugins").await;
    check("POST", "/api/sessions".into(), json!({"characterIds": [house.ids["cid"]], "model": "no"}), "model").await;
    check("PATCH", format!("/api/sessions/{sid}"), json!({"title": ""}), "title").await;
    check("PATCH", format!("/api/sessions/{sid}"), json!({"mode": "forest"}), "mode").await;
    check("PATCH", format!("/api/sessions/{sid}"), json!({"model": "nobody/nothing"}), "model").await;
    // S4-40, S0-14: a message needs its parent and one of three roles.
    check("POST", chat("message"), json!({"content": "x"}), "parentId").await;
    check("POST", chat("message"), json!({"content": "x", "parentId": "1"}), "parentId").await;
    check("POST", chat("message"), json!({"content": "x", "parentId": parent.to_uppercase()}), "parentId").await;
    check("POST", chat("message"), json!({"content": "x", "parentId": parent, "role": "tool"}), "role").await;
    check("POST", chat("message"), json!({"content": " ", "parentId": parent}), "content").await;
    // Options of a generation, and edits.
    let with = |generate: Value| json!({"content": "x", "parentId": parent, "generate": generate});
    check("POST", chat("message"), with(json!("yes")), "generate").await;
    check("POST", chat("message"), with(json!({"n": 17})), "generate.n").await;
    check("POST", node("reroll"), json!({"n": -1}), "n").await;
    check("POST", node("continue"), json!({"n": 2}), "n").await;
    check("POST", node("continue"), json!({"model": 5}), "model").await;
    check("POST", node("edit"), json!({"content": ""}), "content").await;
    check("POST", node("edit"), json!({"content": "x", "carry": "yes"}), "carry").await;
    check("POST", node("edit"), json!({"content": "x", "carry": true, "generate": true}), "carry").await;
    check("PUT", chat("active_leaf"), json!({}), "nodeId").await;
    // S4-28: enums accept only their values.
    check("PUT", node("state"), json!({"effects": "off"}), "effects").await;
    check("PUT", node("state"), json!({"effects": true}), "effects").await;
    let several = json!({"updates": [{"nodeId": parent, "effects": 1}]});
    check("PUT", chat("nodes/state"), several, "updates[0].effects").await;
    check("PUT", node("state"), json!({"isEnabled": 1}), "isEnabled").await;
    check("PUT", node("state"), json!({}), "isEnabled").await;
    check("PUT", node("state"), json!({"rating": 6}), "rating").await;
    check("PUT", chat("nodes/state"), json!({"updates": []}), "updates").await;
    check(
        "PUT",
        chat("nodes/state"),
        json!({"updates": [{"nodeId": parent}, {"nodeId": parent}]}),
        "updates[1].nodeId",
    )
    .await;
    // Operations on the state.
    check("POST", node("world"), json!({"operations": []}), "operations").await;
    let operation = |operation: Value| json!({"operations": [operation]});
    check("POST", node("world"), operation(json!({"op": "grow", "path": "/a"})), "operations[0].op").await;
    check("POST", node("world"), operation(json!({"op": "set", "path": "a", "value": 1})), "operations[0].path").await;
    check("POST", node("world"), operation(json!({"op": "set", "path": "/a", "value": 1, "x": 1})), "operations[0].x")
        .await;
    let summary = json!({"in": "summary", "op": "set", "path": "", "value": "x"});
    check("POST", node("world"), operation(summary), "operations[0].in").await;
    check("PUT", format!("/api/sessions/{sid}/plugins"), json!([{"id": "combat", "grants": "all"}]), "[0].grants")
        .await;
}

/// A message of 10 MB or without text is refused, and nothing is written.
#[tokio::test]
async fn message_empty_or_oversized_is_refused() {
    let app = TestServer::start().await;
    let (session, line) = app.create_branch(1).await;
    let path = format!("/api/chat/{}/message", id_of(&session));
    for content in ["", " \n\t", &"x".repeat(10 << 20), &"天".repeat(90_000)] {
        let heard = app.request("POST", &path).json(&json!({"parentId": line[1], "content": content})).send().await;
        let code = if content.trim().is_empty() { "invalid" } else { "too_large" };
        assert_eq!(heard.expect_error(code)["details"]["field"], "content");
    }
    for content in ["", &"x".repeat(10 << 20)] {
        let edit = app.request("POST", &format!("/api/chat/{}/node/{}/edit", id_of(&session), line[1]));
        let code = if content.is_empty() { "invalid" } else { "too_large" };
        assert_eq!(
            edit.json(&json!({"content": content})).send().await.expect_error(code)["details"]["field"],
            "content"
        );
    }
    let largest = "x".repeat(256 << 10);
    app.post(&path, &json!({"parentId": line[1], "content": largest})).await;
    let after = app.get(&format!("/api/sessions/{}", id_of(&session))).await;
    assert_eq!(after["op"].as_i64().unwrap(), session["op"].as_i64().unwrap() + 1);
}

/// Malformed ids in a path are not found.
#[tokio::test]
async fn malformed_path_ids_return_not_found() {
    let house = RouteFixture::new().await;
    for entry in clotho::http::all_routes() {
        let Some(name) =
            ["{nid}", "{sid}", "{cid}", "{pid}", "{jid}", "{vid}"].into_iter().find(|name| entry.path.contains(name))
        else {
            continue;
        };
        for odd in ["1", "x", "..%2f", "%00", "018F3E2A-0000-7000-8000-0000000000AA", "{id}"] {
            let real = house.ids[name.trim_matches(['{', '}'])].clone();
            let path = house.route_path(&entry).replace(&real, odd);
            let body = if routes_with_json_body().iter().any(|other| other.path == entry.path) { "{}" } else { "" };
            let heard = house.server.request(entry.method.as_str(), &path).json_text(body).send_raw().await;
            assert!(heard.status == 404 || (heard.status == 400 && heard.body.is_empty()), "{path}: {}", heard.text());
        }
    }
}
