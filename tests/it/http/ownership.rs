//! Other users' things do not exist: every route, and every id in a body.

use super::*;
use crate::support::client::HttpResponse;
use crate::support::server::OtherUser;
use crate::support::socket::Socket;
use clotho::http::route_table::RouteEntry;
use std::collections::BTreeSet;

fn path_with_ids_of(entry: &RouteEntry, stranger: &OtherUser) -> String {
    entry
        .path
        .replace("{sid}", &stranger.session.to_string())
        .replace("{nid}", &stranger.greeting.to_string())
        .replace("{cid}", &stranger.character.to_string())
        .replace("{pid}", &stranger.persona.to_string())
        .replace("{lid}", &stranger.lorebook.to_string())
        .replace("{n}", "1")
        .replace("{jid}", &stranger.upload_slot.job().to_string())
        .replace("{fid}", NOTHING)
        // Presets are tested in `presets.rs`.
        .replace("{rid}", NOTHING)
        // Connection profiles are tested in `connection_profiles.rs`.
        .replace("{kid}", NOTHING)
        // Documents are tested in `memory.rs`.
        .replace("{oid}", NOTHING)
        // Devices have one owner and are tested in `devices.rs`.
        .replace("{vid}", NOTHING)
        // Summaries are tested in `summaries.rs`.
        .replace("{mid}", NOTHING)
        // A required query parameter.
        .replace("/outside/picture", "/outside/picture?url=https://pictures.example/a.png")
        .replace("/variables", "/variables?path=/a")
        .replace("{tid}", &stranger.persona.to_string())
        .replace("{did}", &stranger.persona.to_string())
}

/// Returns a body that the route takes, if it takes one.
fn body(entry: &RouteEntry, stranger: &OtherUser) -> Option<Value> {
    let node = stranger.greeting.to_string();
    let last = entry.path.rsplit('/').next().unwrap();
    Some(match (entry.method.as_str(), last) {
        ("POST", "message") => json!({"parentId": node, "content": "x"}),
        ("POST", "reroll" | "continue" | "impersonate" | "copies") => json!({}),
        ("POST", "prompt") => json!({"parentId": node}),
        ("POST", "summarise") => json!({"nodeIds": [node]}),
        ("POST", "edit") => json!({"content": "x"}),
        ("POST", "world") => json!({"operations": [{"op": "set", "path": "/a", "value": 1}]}),
        ("PUT", "active_leaf") => json!({"nodeId": node}),
        ("PUT", "state") if entry.path.contains("nodes") => json!({"updates": [{"nodeId": node, "isEnabled": false}]}),
        ("PUT", "state") => json!({"isEnabled": false}),
        ("PUT", "edit") => json!({"operations": [{"op": "prune", "nodeId": node}]}),
        ("PUT", "plugins") => json!([]),
        ("PUT", "outside") => json!({"allowed": true}),
        ("PUT", "rules") => json!({"plugin": "combat"}),
        ("POST", "cards") => json!({"characterId": stranger.character.to_string()}),
        ("POST", "accept") => json!({"codeHash": "0"}),
        ("PUT", "holds") => json!({"everything": true}),
        ("POST", "entries") | ("PATCH", "{uid}") => json!({"entry": {"content": "Mine now"}}),
        ("PATCH", "{mid}") => json!({"content": "Mine now"}),
        ("PATCH", "{sid}") => json!({"title": "Mine now"}),
        ("PATCH", _) => json!({"name": "Mine now"}),
        _ => return None,
    })
}

/// An id that nothing has.
const NOTHING: &str = "018f3e2a-0000-7000-8000-0000000000aa";

impl OtherUser {
    /// Replaces the stranger's ids in a text by an unknown id.
    fn with_unknown_ids(&self, text: &str) -> String {
        let session = [self.session.to_string(), self.greeting.to_string()];
        let things = [self.lorebook.to_string(), self.upload_slot.job().to_string()];
        let people = [self.character.to_string(), self.persona.to_string()];
        session.iter().chain(&people).chain(&things).fold(text.to_owned(), |text, id| text.replace(id, NOTHING))
    }
}

/// Requests a stranger's thing and an unknown one, and checks that the answers cannot be distinguished.
async fn assert_looks_missing(app: &TestServer, stranger: &OtherUser, method: &str, path: &str, body: Option<&Value>) {
    let ask = |path: &str, body: Option<String>| {
        let ask = app.request(method, path);
        body.map_or(ask.clone(), |body| ask.json_text(&body)).send()
    };
    let theirs = ask(path, body.map(ToString::to_string)).await;
    let error = theirs.expect_error("not_found");
    assert!(!error.to_string().to_lowercase().contains("stranger"), "{error}");
    let nobodys =
        ask(&stranger.with_unknown_ids(path), body.map(|body| stranger.with_unknown_ids(&body.to_string()))).await;
    let own = |(name, _): &&(String, String)| !matches!(name.as_str(), "x-request-id" | "date");
    let told =
        |heard: &HttpResponse| (heard.text(), heard.headers.iter().filter(own).cloned().collect::<BTreeSet<_>>());
    assert_eq!(told(&theirs), told(&nobodys), "{method} {path}");
}

/// S4-39: every route with an id answers for a stranger's thing exactly as for an unknown one, and changes nothing.
#[tokio::test]
async fn foreign_ids_on_every_route_return_not_found() {
    let app = TestServer::start().await;
    let stranger = app.create_other_user().await;
    let mut tried = 0;
    for entry in clotho::http::all_routes().iter().filter(|entry| entry.path.contains("id}")) {
        let (path, body) = (path_with_ids_of(entry, &stranger), body(entry, &stranger));
        assert_looks_missing(&app, &stranger, entry.method.as_str(), &path, body.as_ref()).await;
        tried += 1;
    }
    assert!(tried > 25, "{tried} routes");
    let (user, session) = (stranger.user, stranger.session);
    let held = app.app().store.read(move |reader| reader.session(user, session)).await.unwrap().unwrap();
    assert_eq!((held.session.op, held.session.title.as_str()), (1, "A stranger's story"));
    for sid in [session.to_string(), NOTHING.to_owned(), "x".to_owned()] {
        assert!(matches!(Socket::try_open(app.address, &sid, None, &[]).await, Err(404)));
    }
}

/// A stranger's nodes do not exist in one's own session either.
#[tokio::test]
async fn foreign_node_in_own_session_returns_not_found() {
    let app = TestServer::start().await;
    let stranger = app.create_other_user().await;
    let sid = id_of(&app.create_session().await);
    for entry in clotho::http::all_routes().iter().filter(|entry| entry.path.contains("{nid}")) {
        let path = path_with_ids_of(entry, &stranger).replace(&stranger.session.to_string(), &sid);
        assert_looks_missing(&app, &stranger, entry.method.as_str(), &path, body(entry, &stranger).as_ref()).await;
    }
}

/// A plugin trial on a stranger's message is refused, even for a script that does not load.
#[tokio::test]
async fn workshop_trial_with_foreign_node_returns_not_found() {
    let app = TestServer::start().await;
    let stranger = app.create_other_user().await;
    let sid = id_of(&app.create_session().await);
    let foreign = stranger.greeting.to_string();
    let (app, stranger) = (&app, &stranger);
    let refused = |method: &'static str, path: String, body: Value| async move {
        assert_looks_missing(app, stranger, method, &path, Some(&body)).await;
    };
    let theirs = stranger.session.to_string();
    for body in [
        json!({"sessionId": theirs}),
        json!({"sessionId": sid, "leafId": foreign}),
        json!({"sessionId": sid, "fromNodeId": foreign}),
        json!({"sessionId": sid, "fromNodeId": foreign, "source": "fn init("}),
    ] {
        refused("POST", "/api/plugins/combat/replay".to_owned(), body).await;
    }
    for (session, node, more) in [(&sid, &foreign, json!({})), (&theirs, &foreign, json!({"source": "fn init("}))] {
        let mut body = json!({"sessionId": session, "nodeId": node, "hook": "on_reply"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        refused("POST", "/api/plugins/combat/try".to_owned(), body).await;
    }
}

#[tokio::test]
async fn foreign_ids_in_body_or_query_return_404() {
    let app = TestServer::start().await;
    let stranger = app.create_other_user().await;
    let session = app.create_session().await;
    let (sid, own) = (id_of(&session), session["activeLeafId"].as_str().unwrap().to_owned());
    let character = session["characterIds"][0].clone();
    let foreign = stranger.greeting.to_string();
    let chat = |rest: &str| format!("/api/chat/{sid}/{rest}");
    let message = |rest: Value| {
        let mut body = json!({"parentId": own, "content": "x"});
        body.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        body
    };
    let (app, stranger) = (&app, &stranger);
    let refused = |method: &'static str, path: String, body: Value| async move {
        assert_looks_missing(app, stranger, method, &path, Some(&body)).await;
    };
    // S4-40: a parent from another session.
    refused("POST", chat("message"), message(json!({"parentId": foreign}))).await;
    refused("POST", chat("message"), message(json!({"personaId": stranger.persona.to_string()}))).await;
    refused("PUT", chat("active_leaf"), json!({"nodeId": foreign})).await;
    let updates = json!({"updates": [{"nodeId": own, "isEnabled": false}, {"nodeId": foreign, "isEnabled": false}]});
    refused("PUT", chat("nodes/state"), updates).await;
    refused("POST", "/api/sessions".into(), json!({"characterIds": [stranger.character.to_string()]})).await;
    let persona = json!({"characterIds": [character], "personaId": stranger.persona.to_string()});
    refused("POST", "/api/sessions".into(), persona).await;
    refused("PATCH", format!("/api/sessions/{sid}"), json!({"personaId": stranger.persona.to_string()})).await;
    let choice = json!({"personaId": stranger.persona.to_string()});
    refused("PUT", "/api/personas/choices".into(), choice).await;
    let lock = json!({"characterId": stranger.character.to_string(), "personaId": null});
    refused("PUT", "/api/personas/choices".into(), lock).await;
    let bound = json!({"lorebookId": stranger.lorebook.to_string()});
    refused("PATCH", format!("/api/characters/{}", character.as_str().unwrap()), bound).await;
    let bound = json!({"name": "Rin", "lorebookId": stranger.lorebook.to_string()});
    refused("POST", "/api/characters".into(), bound).await;
    // Edits of the tree.
    for edit in [
        json!({"op": "prune", "nodeId": foreign}),
        json!({"op": "graft", "nodeId": own, "targetId": foreign}),
        json!({"op": "label", "nodeId": foreign, "name": "mine"}),
    ] {
        refused("PUT", chat("tree/edit"), json!({"operations": [edit]})).await;
    }
    // Reads with a foreign leaf.
    let line = [
        "projection?leaf=",
        "projection?before=",
        "deltas?leaf=",
        "turns?leaf=",
        "turns?before=",
        "context-path?leaf=",
    ];
    for path in line.into_iter().chain(["diff?from=", "diff?to=", "line?leaf=", "variables?path=/a&leaf="]) {
        assert_looks_missing(app, stranger, "GET", &chat(&format!("{path}{foreign}")), None).await;
    }
    // A character outside the session cannot speak, whoever owns it.
    let mut told = Vec::new();
    for character in [stranger.character.to_string(), NOTHING.to_owned()] {
        let wish = json!({"characterId": character});
        for (path, body) in [
            (chat("message"), message(json!({"generate": wish.clone()}))),
            (chat(&format!("node/{own}/edit")), json!({"content": "x", "generate": wish.clone()})),
        ] {
            let heard = app.request("POST", &path).json(&body).send().await;
            told.push(heard.expect_error("invalid").to_string().replace(&character, ""));
        }
    }
    assert_eq!(told[..2], told[2..]);
    // An unknown or foreign node is a stale HEAD.
    for leaf in [foreign, NOTHING.to_owned()] {
        let stale = message(json!({"expectedLeafId": leaf}));
        let error = app.request("POST", &chat("message")).json(&stale).send().await.expect_error("head_moved");
        assert_eq!(error["details"]["leafId"], json!(own));
    }
    // Nothing was written.
    assert_eq!(app.get(&format!("/api/sessions/{sid}")).await["op"], session["op"]);
}

/// Plugins and models have names and no owners: unknown names are refused everywhere.
#[tokio::test]
async fn unknown_plugin_or_model_names_are_refused() {
    let app = TestServer::start().await;
    let (session, line) = app.create_branch(1).await;
    let (sid, cid) = (id_of(&session), session["characterIds"][0].clone());
    let refused = |method: &'static str, path: String, body: Value, field: &'static str| {
        let ask = app.request(method, &path).json(&body);
        async move {
            let error = ask.send().await.expect_error("invalid");
            assert_eq!(error["details"]["field"], field, "{path} {body}: {error}");
        }
    };
    for plugin in ["nobody", "../combat", "combat/main.rhai", "", "COMBAT", "plugin:combat"] {
        let path = format!("/api/sessions/{sid}/plugins");
        refused("PUT", path, json!([{"id": plugin}]), "plugins").await;
        let new = json!({"characterIds": [cid], "plugins": [{"id": "combat"}, {"id": plugin}]});
        refused("POST", "/api/sessions".into(), new, "plugins").await;
    }
    for plugin in ["nobody", "..%2fcombat", "combat%2fmain.rhai", "COMBAT"] {
        app.request("GET", &format!("/api/plugins/{plugin}")).send().await.expect_error("not_found");
    }
    let twice = json!([{"id": "combat"}, {"id": "combat"}]);
    refused("PUT", format!("/api/sessions/{sid}/plugins"), twice, "plugins").await;
    for model in ["nobody/mock", "plugin:nobody", "plugin:combat", "http://127.0.0.1/"] {
        refused("PATCH", format!("/api/sessions/{sid}"), json!({"model": model}), "model").await;
        let chat = |rest: &str| format!("/api/chat/{sid}/{rest}");
        let body = json!({"parentId": line[1], "content": "x", "generate": {"model": model}});
        refused("POST", chat("message"), body, "model").await;
        refused("POST", chat(&format!("node/{}/reroll", line[1])), json!({"model": model}), "model").await;
    }
    assert_eq!(app.get(&format!("/api/sessions/{sid}")).await, session);
}

/// C21: lists and searches have only one's own items.
#[tokio::test]
async fn lists_and_searches_return_only_own_items() {
    let app = TestServer::start().await;
    let stranger = app.create_other_user().await;
    for path in ["/api/characters?limit=500", "/api/personas", "/api/sessions"] {
        let text = app.get(path).await.to_string();
        assert!(!text.to_lowercase().contains("stranger") && !text.contains("Somebody else"), "{path}: {text}");
    }
    let session = app.create_session().await;
    let parent = session["activeLeafId"].clone();
    let body = json!({"parentId": parent, "content": "my own secret"});
    app.post(&format!("/api/chat/{}/message", id_of(&session)), &body).await;
    let found = search_until(&app, "secret", 1).await;
    assert_eq!(found["items"][0]["snippet"]["text"], "my own secret");
    let filtered = app.get(&format!("/api/search?q=secret&session={}", stranger.session)).await;
    assert_eq!(filtered["items"], json!([]));
}
