//! The route table, the OpenAPI document and the server agree.

use super::api_session::ApiSession;
use super::*;
use crate::support::client::route_matches;
use crate::support::schema;
use clotho::http::caller::RouteAccess;
use clotho::http::openapi::list_operations;
use clotho_compat::interop::{FindingDetail, ImportFinding};
use clotho_core::tree::{NodeMetadata, ReplyFacts, TraceHead};
use clotho_engine::transfer::sillytavern::{ForeignImportResult, ImportTotals};
use clotho_engine::transfer::{ForeignImportItem, ForeignImportReport};
use std::collections::BTreeSet;

/// An id that nothing has.
const NOTHING: &str = "018f3e2a-0000-7000-8000-0000000000aa";

/// Returns the path of a route with ids that nothing has.
pub fn path_with_unknown_ids(entry: &clotho::http::route_table::RouteEntry) -> String {
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
async fn openapi_paths_match_served_routes() {
    let app = TestServer::start().await;
    let document = app.get("/api/openapi.json").await;
    let served: BTreeSet<String> = clotho::http::all_routes()
        .iter()
        .filter(|entry| entry.path.starts_with("/api") || entry.is_operational())
        .map(|entry| format!("{} {}", entry.method, entry.openapi_path()))
        .collect();
    assert_eq!(list_operations(&document).into_iter().collect::<BTreeSet<_>>(), served);
    for entry in clotho::http::all_routes() {
        let heard = app.request(entry.method.as_str(), &path_with_unknown_ids(&entry)).send().await;
        let is_elsewhere = heard.status == 404 && heard.text().contains("this address");
        assert!(!is_elsewhere && heard.status != 405, "{} {}: {}", entry.method, entry.path, heard.text());
    }
}

/// Every GET returns what the document describes, as the client checks, and none of them writes.
#[tokio::test]
async fn get_routes_match_openapi_and_write_nothing() {
    // Create one thing of every kind.
    let setup = TestApp::setup().with_plugin("broken", &[("plugin.toml", "id = 5")]);
    let play = ApiSession::start_with(setup, json!({"plugins": [{"id": "combat"}]})).await;
    play.server.mock().queue_reply(Reply::ok(["It bites. [HP -7] [GET rusty key]"]).usage(5, 7));
    let said = play.run_turn("/roll 2d6").await;
    let character = play.session().await["characterIds"][0].as_str().unwrap().to_owned();
    let drawn = clotho_compat::interop::picture::png_or_placeholder(None);
    let picture = play.server.request("PUT", &format!("/api/characters/{character}/avatar")).bytes(&drawn, "image/png");
    picture.send().await.expect(200);
    let persona = id_of(&play.server.post("/api/personas", &json!({"name": "Ann"})).await);
    let book = id_of(&play.server.post("/api/lorebooks", &json!({"name": "Atlas", "entries": [{"key": ["a"]}]})).await);
    let preset = json!({"kind": "sysprompt", "name": "Plain", "body": {"content": "Be brief."}});
    let preset = id_of(&play.server.post("/api/presets", &preset).await);
    let profile = id_of(&play.server.post("/api/profiles", &json!({"name": "Plain"})).await);
    let document = json!({"collection": "Maps", "content": "North."});
    let document = id_of(&play.server.post("/api/documents", &document).await);
    let picture = play.server.request("PUT", &format!("/api/personas/{persona}/avatar")).bytes(&drawn, "image/png");
    picture.send().await.expect(200);
    let file = super::session_transfer::export_session(&play.server, &play.sid).await.body;
    let job = id_of(&super::session_transfer::run_import_job(&play.server, &file).await);
    let draft = play.post("impersonate", json!({})).await["draftId"].as_str().unwrap().to_owned();
    let part = |part: &str| match part {
        "{sid}" => play.sid.clone(),
        "{nid}" => said.reply.clone(),
        "{cid}" => character.clone(),
        "{pid}" => persona.clone(),
        "{jid}" => job.clone(),
        "{lid}" => book.clone(),
        "{rid}" => preset.clone(),
        "{kid}" => profile.clone(),
        "{plugin}" => "combat".to_owned(),
        "{did}" => draft.clone(),
        "{oid}" => document.clone(),
        "{n}" => "1".to_owned(),
        other => other.to_owned(),
    };
    // Prune a reply, so that the stash has a fragment.
    let cut = play.regenerate_and_wait(&said.reply).await;
    let cut = json!({"operations": [{"op": "prune", "nodeId": cut}]});
    let fragment =
        play.server.put(&play.chat_path("tree/edit"), &cut).await["fragmentIds"][0].as_str().unwrap().to_owned();
    play.checkout(&said.reply, true).await;
    let part = |name: &str| if name == "{fid}" { fragment.clone() } else { part(name) };
    let before = (play.session().await, play.nodes().await);
    let mut described = 0;
    // Request every route.
    for entry in clotho::http::all_routes().into_iter().filter(|entry| entry.method == "GET") {
        // Remote pictures need another server: see `remote_pictures.rs`.
        if entry.path.contains(":.*") || entry.path.ends_with("/ws") || entry.path.ends_with("/outside/picture") {
            continue;
        }
        let path = entry.path.split('/').map(part).collect::<Vec<_>>().join("/");
        // Two routes require a query.
        let path = match path.rsplit('/').next() {
            Some("search") => path + "?q=roll",
            Some("variables") => path + "?path=/combat/hp",
            _ => path,
        };
        let heard = play.server.request("GET", &path).send().await;
        assert_eq!(heard.status, 200, "{path}: {}", heard.text());
        described += usize::from(schema::response_schema("GET", &entry.openapi_path(), 200).is_some());
    }
    assert!(described > 20, "{described}");
    assert_eq!((play.session().await, play.nodes().await), before);
    // More query variants, and every node with all its parts.
    for path in ["tree?shape=skeleton", "tree?cursor=&limit=1", "projection?all=1", "turns?limit=1"] {
        play.get(path).await;
    }
    for node in play.nodes().await.keys() {
        play.get(&format!("node/{node}?expand=world,delta,trace")).await;
    }
    for plugin in ["lantern-keep", "broken"] {
        play.server.get(&format!("/api/plugins/{plugin}")).await;
    }
}

#[tokio::test]
async fn openapi_references_and_parameters_are_complete() {
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

/// The document also describes headers: idempotency keys, tags and tokens. It describes required bodies and socket
/// frames too.
#[test]
fn openapi_describes_headers_bodies_and_socket_frames() {
    let document = clotho::http::openapi::json(&clotho::http::all_routes());
    // Headers of every route.
    for entry in clotho::http::all_routes() {
        let path = entry.openapi_path();
        let operation = &document["paths"][&path][entry.method.as_str().to_lowercase()];
        if operation.is_null() {
            continue;
        }
        let named: BTreeSet<&str> = operation["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|one| one["in"] == "header")
            .map(|one| one["name"].as_str().unwrap())
            .collect();
        let is_users = entry.access == RouteAccess::User;
        let expected: BTreeSet<&str> = [
            ("If-None-Match", entry.statuses.contains(&304)),
            ("Idempotency-Key", is_users && (entry.method == "POST" || entry.method == "PUT")),
            ("X-CSRF-Token", is_users && entry.method != "GET"),
        ]
        .into_iter()
        .filter_map(|(name, is_there)| is_there.then_some(name))
        .collect();
        assert_eq!(named, expected, "{} {path}", entry.method);
        for status in ["200", "304"].into_iter().filter(|_| entry.statuses.contains(&304)) {
            let headers = &operation["responses"][status]["headers"];
            let of_a_session = path.starts_with("/api/chat/");
            assert!(headers["ETag"].is_object(), "{path}: {headers}");
            assert_eq!(headers["Clotho-Op"].is_object(), of_a_session, "{path}: {headers}");
        }
    }
    // Bodies that must or need not be there, and limits of numbers.
    let required = |path: &str| document["paths"][path]["post"]["requestBody"]["required"].clone();
    assert_eq!(required("/api/chat/{sid}/message"), json!(true));
    assert_eq!(required("/api/chat/{sid}/node/{nid}/reroll"), json!(false), "nothing at all is a body too");
    assert_eq!(document["paths"]["/api/sessions/{sid}/plugins"]["put"]["requestBody"]["required"], json!(true));
    for shape in ["Reroll", "Generate"] {
        let n = &document["components"]["schemas"][shape]["properties"]["n"];
        assert_eq!((&n["minimum"], &n["maximum"]), (&json!(1), &json!(16)), "{n}");
    }
    // Frames of the socket.
    let frames = &document["paths"]["/api/chat/{sid}/ws"]["get"]["x-websocket"];
    assert_eq!(frames["sends"]["$ref"], "#/components/schemas/ServerFrame");
    assert_eq!(frames["takes"]["$ref"], "#/components/schemas/ClientFrame");
}

/// `docs/api.md` names every query parameter in the row of its route.
#[test]
fn api_docs_name_every_query_parameter() {
    let papers = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/api.md")).unwrap();
    let document = clotho::http::openapi::json(&clotho::http::all_routes());
    let mut named = 0;
    for entry in clotho::http::all_routes() {
        let path = entry.openapi_path();
        let operation = &document["paths"][&path][entry.method.as_str().to_lowercase()];
        let row = papers.lines().find(|line| line.contains(&format!("`{} {path}`", entry.method))).unwrap_or_default();
        for one in operation["parameters"].as_array().into_iter().flatten().filter(|one| one["in"] == "query") {
            let name = one["name"].as_str().unwrap();
            let is_named = row.contains(&format!("`{name}`")) || row.contains(&format!("`{name}="));
            assert!(is_named, "docs/api.md does not say that {} {path} takes {name}: {row}", entry.method);
            named += 1;
        }
    }
    assert!(named > 20, "{named}");
}

/// The promised names of fields stay. New ones may be added.
#[test]
fn openapi_schemas_keep_promised_fields() {
    let document = clotho::http::openapi::json(&clotho::http::all_routes());
    for (shape, names) in [
        (
            "ChatMessageNode",
            "id parentId childrenIds role kind name authorId personaId characterId content display reasoning \
          status isEnabled effects notes problems timestamp metadata",
        ),
        (
            "Session",
            "id title ownerId characterIds rootNodeId activeLeafId contextNodeId op mode model params plugins counts \
          createdAt updatedAt",
        ),
        ("Counts", "nodes branches turns"),
        (
            "Character",
            "id name description personality scenario firstMessage alternateGreetings exampleMessages systemPrompt \
          postHistoryInstructions creatorNotes tags avatar lorebookId metadata",
        ),
        ("ChatHistoryTree", "sessionId title rootNodeId activeLeafId op nodes stash labels createdAt updatedAt"),
        ("Projection", "items next leafId op quickReplies problems"),
        ("QuickReply", "plugin label send"),
        ("Siblings", "index count ids"),
        ("Turn", "contextNodeId parentId userContent selectedRecordId records isKeyframe createdAt"),
        ("Record", "id content reasoning metadata createdAt candidate"),
        ("Started", "node generations op"),
        ("NewMessage", "parentId content role name personaId generate moveHead expectedLeafId expectedOp onStale"),
        ("Generate", "n model params characterId"),
        ("Reroll", "n model params characterId moveHead expectedLeafId expectedOp"),
        ("Edit", "content carry generate moveHead expectedLeafId expectedOp"),
        ("Checkout", "nodeId label exact expectedLeafId expectedOp"),
        ("NodeState", "isEnabled effects rating"),
        ("NewSession", "characterIds personaId title plugins model mode"),
        ("Trace", "blueprint messages params model plan tools rules timings usage"),
        ("Timings", "queued firstToken total"),
        (
            "Hit",
            "sessionId sessionTitle nodeId role name snippet depth onTrunk stashed fragmentId rating timestamp score",
        ),
        ("SearchAnswer", "items total stale tookMs"),
        ("Error", "code message hint details incident"),
    ] {
        let described = document["components"]["schemas"][shape].to_string();
        for name in names.split_whitespace() {
            // A trace's model and parameters are free fields in its head.
            let is_free = shape == "Trace" && matches!(name, "params" | "model");
            assert!(is_free || described.contains(&format!("\"{name}\":")), "{shape} has no {name}: {described}");
        }
    }
}

/// Returns the names of the fields that a schema of the document describes.
fn schema_fields(name: &str) -> BTreeSet<String> {
    let reference = schema::schema_reference(name);
    let whole = schema::resolve_reference(&reference);
    let parts = whole["allOf"].as_array().into_iter().flatten().chain([whole]);
    parts.filter_map(|part| part["properties"].as_object()).flat_map(|fields| fields.keys().cloned()).collect()
}

/// The HTTP layer describes records of other crates, which do not know the document. It has every field of an import's
/// result, and none that the types do not have. Of the metadata of nodes and the heads of traces it names some fields.
#[test]
fn openapi_record_schemas_match_serialized_types() {
    let detail = FindingDetail::CardPicture { reason: "torn".to_owned() };
    let finding = ImportFinding { line: Some(1), names: vec!["a.png".to_owned()], ..ImportFinding::works(&detail) };
    let item = ForeignImportItem {
        file: Some("a.json".to_owned()),
        findings: vec![finding.clone()],
        ..ForeignImportItem::new("file", "a", "1")
    };
    let report = ForeignImportReport { items: vec![item.clone()] };
    let result = ForeignImportResult { totals: ImportTotals::default(), report: report.clone() };
    for (name, value) in [
        ("ForeignImportFinding", serde_json::to_value(&finding)),
        ("ForeignImportItem", serde_json::to_value(&item)),
        ("ForeignImportReport", serde_json::to_value(&report)),
        ("ForeignImportResult", serde_json::to_value(&result)),
        ("ImportTotals", serde_json::to_value(result.totals)),
    ] {
        let value = value.unwrap();
        assert_eq!(schema::faults(&schema::schema_reference(name), &value), [] as [String; 0], "{name}");
        let fields: BTreeSet<String> = value.as_object().unwrap().keys().cloned().collect();
        assert_eq!(schema_fields(name), fields, "{name}");
    }
    // What the server adds to the metadata when it shows a node.
    let shown = ["phase", "queuePosition", "rating"];
    for (name, keys) in [
        ("NodeMetadata", [ReplyFacts::KEYS, NodeMetadata::KEYS, &shown].concat()),
        ("TraceHead", [ReplyFacts::KEYS, TraceHead::KEYS].concat()),
    ] {
        let unknown: Vec<String> =
            schema_fields(name).into_iter().filter(|field| !keys.contains(&field.as_str())).collect();
        assert_eq!(unknown, [] as [String; 0], "{name}");
    }
}

/// Returns whether a path has no parameters. Such a route wins over one with parameters that would match too.
fn has_no_parameters(path: &str) -> bool {
    !path.contains('{')
}

#[tokio::test]
async fn unsupported_method_returns_405_with_allow() {
    let app = TestServer::start().await;
    for entry in clotho::http::all_routes() {
        let own: Vec<String> = clotho::http::all_routes()
            .iter()
            .filter(|other| {
                route_matches(other, entry.path) && has_no_parameters(other.path) == has_no_parameters(entry.path)
            })
            .map(|other| other.method.to_string())
            .collect();
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"] {
            if own.iter().any(|known| known == method) {
                continue;
            }
            let heard = app.request(method, &path_with_unknown_ids(&entry)).send().await;
            let error = heard.expect_error("method_not_allowed");
            let allow = heard.header("allow").unwrap();
            assert!(own.iter().all(|known| allow.contains(known.as_str())), "{method} {}: {allow} {error}", entry.path);
        }
    }
}

#[tokio::test]
async fn head_request_matches_get_without_body() {
    let app = TestServer::start().await;
    for path in ["/healthz", "/api/sessions", "/", "/api/openapi.json"] {
        let (head, get) = (app.request("HEAD", path).send_raw().await, app.request("GET", path).send().await);
        assert_eq!((head.status, head.body.len()), (get.status, 0), "{path}");
        assert_eq!(head.header("content-type"), get.header("content-type"), "{path}");
    }
}

#[tokio::test]
async fn unknown_path_returns_404_without_echo() {
    let app = TestServer::start().await;
    for path in
        ["/api", "/api/", "/nothing", "/api/chat", "/api/sessions/", "/api//sessions", "/assets", "/..%2f..%2fetc"]
    {
        app.request("GET", path).send().await.expect_error("not_found");
    }
    let heard = app.request("GET", "/%3Cscript%3Ealert(1)%3C/script%3E?q=%3Cscript%3E").send().await;
    heard.expect_error("not_found");
    assert!(!heard.text().contains("<script>") && heard.header("content-type") == Some("application/json"));
}

/// Every route declares its access, and all but a few are for users.
#[tokio::test]
async fn route_table_sets_access_of_every_route() {
    let open = ["/healthz", "/api/openapi.json", "/api/docs", "/api/docs/style.css"];
    // The routes that a device needs for pairing.
    let door = [
        "/",
        "/settings",
        "/s/{address:.*}",
        "/pair",
        "/assets/{version}/{path:.*}",
        "/favicon.ico",
        "/offline.js",
        "/api/devices/claim",
    ];
    for entry in clotho::http::all_routes() {
        let expected = match entry.path {
            "/readyz" | "/metrics" => RouteAccess::Operator,
            path if open.contains(&path) => RouteAccess::Public,
            path if door.contains(&path) => RouteAccess::Unpaired,
            _ => RouteAccess::User,
        };
        assert_eq!(entry.access, expected, "{}", entry.path);
        assert!(entry.access != RouteAccess::Public || entry.method == "GET", "{} {}", entry.method, entry.path);
    }
}
