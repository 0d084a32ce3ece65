//! A session as a client plays it, with short methods for most tests.

use super::*;
use crate::support::test_session::TestSession;

/// A server and one of its sessions.
pub struct ApiSession {
    pub app: TestServer,
    /// The id of the session.
    pub sid: String,
}

/// The ids of a message and its reply.
#[derive(Debug, Clone)]
pub struct TurnIds {
    /// The user's node.
    pub user: String,
    /// The finished reply.
    pub reply: String,
}

impl ApiSession {
    /// Starts a session with one character that has a greeting.
    pub async fn start() -> Self {
        Self::with(TestApp::with(), json!({})).await
    }

    /// Starts a session with other settings of the program and more session fields.
    pub async fn with(setup: Setup, more: Value) -> Self {
        let app = TestServer::with(setup).await;
        let character = app.character(&json!({"name": "Rin", "firstMessage": "Hello."})).await;
        let mut fields = json!({"characterIds": [character]});
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let sid = id(&app.post("/api/sessions", &fields).await);
        Self { app, sid }
    }

    /// Stops the server and starts it again in the same folder.
    pub async fn restart(self) -> Self {
        Self { app: self.app.restart().await, ..self }
    }

    /// Returns a path below `/api/chat` of the session.
    pub fn chat(&self, rest: &str) -> String {
        format!("/api/chat/{}/{rest}", self.sid)
    }

    /// Sends a GET below the session's chat path and returns the body.
    pub async fn get(&self, rest: &str) -> Value {
        self.app.get(&self.chat(rest)).await
    }

    /// Returns the session.
    pub async fn session(&self) -> Value {
        self.app.get(&format!("/api/sessions/{}", self.sid)).await
    }

    /// Returns the id of HEAD.
    pub async fn head(&self) -> String {
        self.session().await["activeLeafId"].as_str().unwrap().to_owned()
    }

    /// Sends a POST below the session's chat path and returns the body.
    pub async fn post(&self, rest: &str, body: Value) -> Value {
        self.app.post(&self.chat(rest), &body).await
    }

    /// Sends a request below the session's chat path and returns its refusal.
    pub async fn refused(&self, method: &str, rest: &str, body: Value, code: &str) -> Value {
        self.app.ask(method, &self.chat(rest)).json(&body).send().await.refused(code)
    }

    /// Sends a text at HEAD and waits for its reply.
    pub async fn say(&self, text: &str) -> TurnIds {
        self.say_to(&self.head().await, text).await
    }

    /// Sends a text below a node and waits for its reply.
    pub async fn say_to(&self, parent: &str, text: &str) -> TurnIds {
        let started = self.post("message", json!({"parentId": parent, "content": text, "generate": true})).await;
        let reply = id(&started["generations"][0]);
        self.done(&reply).await;
        TurnIds { user: id(&started["node"]), reply }
    }

    /// Asks for another reply and waits for it.
    pub async fn another(&self, node: &str) -> String {
        let started = self.post(&format!("node/{node}/reroll"), json!({})).await;
        let reply = id(&started["generations"][0]);
        self.done(&reply).await;
        reply
    }

    /// Moves HEAD and returns where it is.
    pub async fn checkout(&self, node: &str, exact: bool) -> String {
        let head = self.app.put(&self.chat("active_leaf"), &json!({"nodeId": node, "exact": exact})).await;
        head["leafId"].as_str().unwrap().to_owned()
    }

    /// Waits until a reply has ended and returns its node.
    pub async fn done(&self, node: &str) -> Value {
        let app = self.app.inside();
        let story = TestSession { app, user: app.owner, id: self.sid.parse().unwrap() };
        story.done(node.parse().unwrap()).await;
        self.get(&format!("node/{node}")).await
    }

    /// Returns the nodes of the tree by id.
    pub async fn nodes(&self) -> serde_json::Map<String, Value> {
        self.get("tree").await["nodes"].as_object().unwrap().clone()
    }

    /// Returns the ids of the linear view at a leaf.
    pub async fn line(&self, leaf: &str) -> Vec<String> {
        ids(&self.get(&format!("projection?leaf={leaf}")).await["items"])
    }
}

/// Returns the ids of the nodes in a list.
pub fn ids(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(id).collect()
}

/// Returns the path to a node by following the parents of a tree, without the root.
pub fn walk(nodes: &serde_json::Map<String, Value>, leaf: &str) -> Vec<String> {
    let mut path = vec![leaf.to_owned()];
    while let Some(parent) = nodes[path.last().unwrap()]["parentId"].as_str() {
        path.push(parent.to_owned());
    }
    path.pop();
    path.reverse();
    path
}
