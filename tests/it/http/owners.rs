//! Somebody else's things are not there: every route, and every id in a body.

use super::*;
use crate::support::server::Stranger;
use crate::support::socket::Socket;
use clotho::http::table::Entry;

fn address(entry: &Entry, stranger: &Stranger) -> String {
    entry
        .path
        .replace("{sid}", &stranger.session.to_string())
        .replace("{nid}", &stranger.greeting.to_string())
        .replace("{cid}", &stranger.character.to_string())
        .replace("{pid}", &stranger.persona.to_string())
}

/// A body that the route takes, if it takes one.
fn body(entry: &Entry, stranger: &Stranger) -> Option<Value> {
    let node = stranger.greeting.to_string();
    let last = entry.path.rsplit('/').next().unwrap();
    Some(match (entry.method.as_str(), last) {
        ("POST", "message") => json!({"parentId": node, "content": "x"}),
        ("POST", "reroll") => json!({}),
        ("POST", "edit") => json!({"content": "x"}),
        ("POST", "world") => json!({"operations": [{"op": "set", "path": "/a", "value": 1}]}),
        ("PUT", "active_leaf") => json!({"nodeId": node}),
        ("PUT", "state") if entry.path.contains("nodes") => json!({"updates": [{"nodeId": node, "isEnabled": false}]}),
        ("PUT", "state") => json!({"isEnabled": false}),
        ("PUT", "plugins") => json!([]),
        ("PATCH", "{sid}") => json!({"title": "Mine now"}),
        ("PATCH", _) => json!({"name": "Mine now"}),
        _ => return None,
    })
}

/// S4-39: every route that names a session, node, character or persona answers 404 for a stranger's, and changes nothing.
#[tokio::test]
async fn a_strangers_things_are_not_there() {
    let app = TestServer::start().await;
    let stranger = app.stranger().await;
    let mut tried = 0;
    for entry in clotho::http::table().iter().filter(|entry| entry.path.contains("id}")) {
        let ask = app.ask(entry.method.as_str(), &address(entry, &stranger));
        let ask = match body(entry, &stranger) {
            Some(body) => ask.json(&body),
            None => ask,
        };
        let error = ask.send().await.refused("not_found");
        assert!(!error.to_string().contains("secret"), "{error}");
        tried += 1;
    }
    assert!(tried > 25, "{tried} routes");
    let (user, session) = (stranger.user, stranger.session);
    let held = app.inside().store.read(move |reader| reader.session(user, session)).await.unwrap().unwrap();
    assert_eq!((held.session.op, held.session.title.as_str()), (1, "A stranger's story"));
    assert!(matches!(Socket::try_open(app.at, &session.to_string(), None, &[]).await, Err(404)));
}

/// A stranger's nodes are not there in one's own session either.
#[tokio::test]
async fn a_strangers_nodes_are_not_there_in_ones_own_session() {
    let app = TestServer::start().await;
    let stranger = app.stranger().await;
    let sid = id(&app.session().await);
    for entry in clotho::http::table().iter().filter(|entry| entry.path.contains("{nid}")) {
        let path = address(entry, &stranger).replace(&stranger.session.to_string(), &sid);
        let ask = app.ask(entry.method.as_str(), &path);
        let ask = match body(entry, &stranger) {
            Some(body) => ask.json(&body),
            None => ask,
        };
        ask.send().await.refused("not_found");
    }
}

#[tokio::test]
async fn ids_in_bodies_and_queries_are_looked_at_too() {
    let app = TestServer::start().await;
    let stranger = app.stranger().await;
    let session = app.session().await;
    let (sid, own) = (id(&session), session["activeLeafId"].as_str().unwrap().to_owned());
    let character = session["characterIds"][0].clone();
    let foreign = stranger.greeting.to_string();
    let chat = |rest: &str| format!("/api/chat/{sid}/{rest}");
    let message = |rest: Value| {
        let mut body = json!({"parentId": own, "content": "x"});
        body.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        body
    };
    let refused = |method: &'static str, path: String, body: Value| {
        let ask = app.ask(method, &path).json(&body);
        async move { ask.send().await.refused("not_found") }
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
    for path in ["projection?leaf=", "projection?before=", "turns?leaf=", "context-path?leaf="] {
        app.ask("GET", &chat(&format!("{path}{foreign}"))).send().await.refused("not_found");
    }
    let generate = message(json!({"generate": {"characterId": stranger.character.to_string()}}));
    let heard = app.ask("POST", &chat("message")).json(&generate).send().await;
    assert!(matches!(heard.status, 404 | 422), "{}", heard.text());
    // Nothing of all this was written.
    assert_eq!(app.get(&format!("/api/sessions/{sid}")).await["op"], session["op"]);
}

/// C21: lists and searches know only one's own.
#[tokio::test]
async fn lists_and_searches_leave_strangers_out() {
    let app = TestServer::start().await;
    let stranger = app.stranger().await;
    for path in ["/api/characters?limit=500", "/api/personas", "/api/sessions"] {
        let text = app.get(path).await.to_string();
        assert!(!text.to_lowercase().contains("stranger") && !text.contains("Somebody else"), "{path}: {text}");
    }
    let session = app.session().await;
    let parent = session["activeLeafId"].clone();
    let body = json!({"parentId": parent, "content": "my own secret"});
    app.post(&format!("/api/chat/{}/message", id(&session)), &body).await;
    let found = search_until(&app, "secret", 1).await;
    assert_eq!(found["items"][0]["snippet"]["text"], "my own secret");
    let filtered = app.get(&format!("/api/search?q=secret&session={}", stranger.session)).await;
    assert_eq!(filtered["items"], json!([]));
}
