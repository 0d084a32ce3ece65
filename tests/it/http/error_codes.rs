//! One refusal of each code, as clients get it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clotho_core::clock::{Clock, TestClock, Time};
use diesel::prelude::*;

use super::api_session::ApiSession;
use super::*;
use crate::support::client::HttpResponse;

/// Formats a refusal with one line each for code, message, hint and details. Ids and operation numbers are masked.
fn format_error(heard: &HttpResponse) -> String {
    let error = &heard.json()["error"];
    let mut details = error["details"].clone();
    for (key, value) in details.as_object_mut().unwrap() {
        if matches!(key.as_str(), "leafId" | "op") {
            *value = json!("…");
        }
    }
    let incident = if error["incident"].is_string() { " (with an incident)" } else { "" };
    let text = |key: &str| error[key].as_str().unwrap().to_owned();
    format!("{} {}{incident}\n{}\n-> {}\n{details}\n", heard.status, text("code"), text("message"), text("hint"))
}

#[tokio::test]
async fn errors_of_malformed_requests_name_code_and_hint() {
    let play = ApiSession::start().await;
    let parent = play.head().await;
    let message = || play.server.request("POST", &play.chat_path("message"));
    let text = json!({"parentId": parent, "content": "x"});
    let mut all = String::new();
    let mut put = |heard: HttpResponse| all += &(format_error(&heard) + "\n");
    // One request for each code.
    put(message().json_text("{\"content\": }").send().await);
    put(message().json(&json!({"parentId": parent, "contnet": "x"})).send().await);
    put(message().json(&json!({"parentId": "x", "content": "x"})).send().await);
    put(message().json(&text).header("origin", &format!("http://{}", play.server.address)).send().await);
    put(message().json(&text).host(Some("evil.example")).send().await);
    put(play.server.request("GET", "/api/sessions/x").send().await);
    put(play.server.request("PUT", "/api/models").send().await);
    put(message().bytes(b"{}", "text/plain").send().await);
    insta::assert_snapshot!(all, @r#"
    400 malformed
    not JSON at line 1, column 13: expected value
    -> send well-formed JSON in UTF-8, and a well-formed query
    {"line":1,"column":13}

    422 invalid
    unknown field "contnet", expected one of "parentId", "content", "role", "name", "personaId", "generate", "moveHead", "expectedLeafId", "expectedOp", "onStale", "timeZone"
    -> compare the request with the documentation at /api/docs
    {"field":"contnet"}

    422 invalid
    not an id: expected a lower-case UUID
    -> compare the request with the documentation at /api/docs
    {"field":"parentId"}

    403 forbidden
    the X-CSRF-Token header is missing, or from an earlier start of the server
    -> read the token from /api/auth/me and send the request again
    {"csrf":true}

    403 bad_host
    the Host header does not name this server
    -> open the server by its own address, or add the name to allowed_hosts in the configuration
    {}

    404 not_found
    the session does not exist
    -> check the address and the ids in it: the item may have been deleted
    {}

    405 method_not_allowed
    this address only supports GET, HEAD
    -> the Allow header lists the methods of this address
    {}

    415 unsupported_media
    the body must be JSON in UTF-8, but Content-Type says "text/plain"
    -> send JSON with "Content-Type: application/json"
    {}
    "#);
    assert_eq!(play.head().await, parent, "none of it was done");
}

#[tokio::test]
async fn errors_of_conflicting_requests_name_code_and_hint() {
    let play =
        ApiSession::start_with(TestApp::setup(), json!({"plugins": [{"id": "combat", "config": {"potions": 0}}]}))
            .await;
    let said = play.run_turn("Hi.").await;
    let message = || play.server.request("POST", &play.chat_path("message"));
    let text = |content: &str| json!({"parentId": said.reply, "content": content});
    let mut all = String::new();
    let mut put = |heard: HttpResponse| all += &(format_error(&heard) + "\n");
    put(message().json(&text(&"x".repeat((256 << 10) + 1))).send().await);
    put(message().json(&text("/drink")).send().await);
    put(play.server.request("POST", &play.chat_path(&format!("node/{}/cancel", said.reply))).send().await);
    let mut stale = text("x");
    stale["expectedLeafId"] = json!(said.user_node);
    put(message().json(&stale).send().await);
    insta::assert_snapshot!(all, @r#"
    413 too_large
    a message has at most 262144 bytes
    -> send less in one request
    {"field":"content","limit":262144}

    422 input_refused
    You have no healing potion left.
    -> change the message and send it again
    {"plugin":"combat"}

    409 conflict
    the reply has already ended
    -> read the current state and decide again
    {}

    409 head_moved
    HEAD has moved since your last read
    -> look at the new messages, then send again with the current expectedLeafId or expectedOp
    {"leafId":"…","op":"…"}
    "#);
    assert_eq!(play.head().await, said.reply, "none of it was done");
}

#[tokio::test]
async fn errors_of_limits_and_shutdown_set_retry_after() {
    let setup = TestApp::setup().set("limits.generations_per_user", "1").set("limits.waiting_per_user", "0");
    let setup = setup.set("limits.ws_per_user", "1");
    let play = ApiSession::start_with(setup, json!({})).await;
    let gate = Gate::new();
    play.server.mock().queue_reply(Reply::ok(["Wait."]).gate(&gate));
    let parent = play.head().await;
    let text = json!({"parentId": parent, "content": "Hi.", "generate": true});
    let running = id_of(&play.post("message", text.clone()).await["generations"][0]);
    let mut all = String::new();
    let mut put = |heard: HttpResponse, wait: Option<&str>| {
        assert_eq!(heard.header("retry-after"), wait);
        all += &(format_error(&heard) + "\n");
    };
    // Too many replies, a running reply as HEAD, too many sockets, and a shutdown.
    put(play.server.request("POST", &play.chat_path("message")).json(&text).send().await, Some("5"));
    let body = json!({"nodeId": running});
    put(play.server.request("PUT", &play.chat_path("active_leaf")).json(&body).send().await, None);
    let _socket = play.server.open_socket(&play.sid, None).await;
    put(play.server.request("GET", &play.chat_path("ws")).send().await, Some("10"));
    gate.open();
    play.wait_for_reply(&running).await;
    let app = play.server.app().shared_app();
    tokio::task::spawn_blocking(move || app.close()).await.unwrap();
    put(play.server.request("POST", &play.chat_path("message")).json(&text).send().await, None);
    insta::assert_snapshot!(all, @r#"
    429 too_many_generating
    too many replies are being generated
    -> wait for a running reply to end, or cancel one
    {}

    409 generating
    this message is still being generated
    -> wait until the reply is complete, or cancel it
    {}

    429 rate_limited
    too many sockets are open
    -> close one first
    {}

    503 unavailable
    the server is shutting down
    -> try again in a moment
    {}
    "#);
}

/// An internal error logs its cause and gives the client an incident id.
#[tokio::test]
async fn internal_error_hides_cause_and_gives_incident_id() {
    let app = TestServer::start().await;
    let database = app.app().home().join("data").join("clotho.db");
    let mut behind = crate::support::open_second_connection(&database);
    diesel::sql_query("ALTER TABLE personas RENAME TO elsewhere").execute(&mut behind).unwrap();
    let heard = app.request("GET", "/api/personas").send().await;
    insta::assert_snapshot!(format_error(&heard), @r#"
    500 internal (with an incident)
    something went wrong inside the server
    -> find the cause by the incident id in the server's log
    {}
    "#);
    assert!(!heard.text().contains("personas") && !heard.text().contains("table"), "{}", heard.text());
    diesel::sql_query("ALTER TABLE elsewhere RENAME TO personas").execute(&mut behind).unwrap();
    app.get("/api/personas").await;
}

/// Over the quota, a write is refused and changes nothing. Reads work, and a smaller write still fits.
#[tokio::test]
async fn quota_exceeded_returns_507() {
    let app = TestServer::start_with(TestApp::setup().set("storage.max_database_mb", "2")).await;
    let large = json!({"name": "Large", "description": "x".repeat(400 << 10)});
    let mut kept = app.get("/api/characters").await["items"].as_array().unwrap().len();
    let refused = loop {
        let heard = app.request("POST", "/api/characters").json(&large).send().await;
        match heard.status {
            201 => kept += 1,
            _ => break heard,
        }
    };
    insta::assert_snapshot!(format_error(&refused), @r#"
    507 storage_full (with an incident)
    the server's database has reached its quota
    -> raise storage.max_database_mb on the server; nothing was changed
    {}
    "#);
    assert_eq!(app.get("/api/characters").await["items"].as_array().unwrap().len(), kept);
    app.create_character(&json!({"name": "Small"})).await;
}

/// If the disk takes no more writes, they are refused while reads still work, and everything goes on once it does. A
/// trigger raises the same messages as the database.
#[tokio::test]
async fn disk_write_failure_refuses_message_and_changes_nothing() {
    let play = ApiSession::start().await;
    let database = play.server.app().home().join("data").join("clotho.db");
    let mut behind = crate::support::open_second_connection(&database);
    let (parent, before) = (play.head().await, play.nodes().await);
    let text = json!({"parentId": parent, "content": "Hi.", "generate": true});
    for (words, status, code) in [
        ("attempt to write a readonly database", 503, "unavailable"),
        ("database or disk is full", 507, "storage_full"),
    ] {
        let refuse = format!("CREATE TRIGGER refuse BEFORE INSERT ON nodes BEGIN SELECT RAISE(ABORT, '{words}'); END");
        diesel::sql_query(refuse).execute(&mut behind).unwrap();
        let heard = play.server.request("POST", &play.chat_path("message")).json(&text).send().await;
        assert_eq!(heard.status, status, "{}", heard.text());
        let error = heard.expect_error(code);
        assert!(error["incident"].is_string(), "{error}");
        assert!(error["hint"].as_str().unwrap().contains("nothing was changed"), "{error}");
        assert_eq!(play.nodes().await, before, "nothing was changed");
        assert!(play.server.mock().requests().is_empty(), "and nobody was asked");
        diesel::sql_query("DROP TRIGGER refuse").execute(&mut behind).unwrap();
    }
    play.run_turn("Hi.").await;
    assert_eq!(play.nodes().await.len(), before.len() + 2);
}

/// A clock that panics once when armed.
struct PanickingClock(TestClock, AtomicBool);

impl Clock for PanickingClock {
    fn now(&self) -> Time {
        // Only on server threads; background tasks must not trigger it.
        let serves = std::thread::current().name().is_some_and(|name| name.contains("actix"));
        assert!(!(serves && self.1.swap(false, Ordering::SeqCst)), "the secret of the clock");
        self.0.now()
    }
}

/// A panic in a handler is an internal error of one request, and the next request works.
#[tokio::test]
async fn handler_panic_returns_500_and_next_request_works() {
    let clock = Arc::new(PanickingClock(TestClock::new(Time(1_700_000_000_000)), AtomicBool::new(false)));
    let app = TestServer::start_with(TestApp::setup().clock(clock.clone())).await;
    // With its own request id, the request first reads the clock in its handler.
    let ask = || app.request("POST", "/api/personas").json(&json!({"name": "Mei"})).header("x-request-id", "r-1");
    clock.1.store(true, Ordering::SeqCst);
    let heard = ask().send().await;
    assert!(!clock.1.load(Ordering::SeqCst), "somebody asked for the time");
    insta::assert_snapshot!(format_error(&heard), @r#"
    500 internal (with an incident)
    something went wrong inside the server
    -> find the cause by the incident id in the server's log
    {}
    "#);
    assert!(!heard.text().contains("secret"), "{}", heard.text());
    assert_eq!(heard.header("content-type"), Some("application/json"));
    ask().send().await.expect(201);
}

/// The document lists every code.
#[tokio::test]
async fn openapi_lists_every_error_code() {
    let app = TestServer::start().await;
    let document = app.get("/api/openapi.json").await;
    let line = |code: &Value| format!("{} {}", code["status"], code["code"].as_str().unwrap());
    let codes: Vec<String> = document["x-error-codes"].as_array().unwrap().iter().map(line).collect();
    insta::assert_snapshot!(codes.join("\n"), @r"
    400 malformed
    422 invalid
    401 unauthenticated
    403 forbidden
    403 bad_host
    404 not_found
    405 method_not_allowed
    409 conflict
    409 head_moved
    409 cycle
    409 generating
    409 nothing_to_undo
    410 gone_purged
    413 too_large
    415 unsupported_media
    422 input_refused
    429 rate_limited
    429 too_many_generating
    502 provider_failed
    503 unavailable
    504 provider_timeout
    507 storage_full
    500 internal
    ");
}
