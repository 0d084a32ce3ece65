//! A session as a client plays it, with short methods for most tests.

use super::*;
use crate::support::test_session::TestSession;

/// A server and one of its sessions.
pub struct ApiSession {
    pub server: TestServer,
    /// The id of the session.
    pub sid: String,
}

/// The ids of a message and its reply.
#[derive(Debug, Clone)]
pub struct TurnIds {
    /// The user's node.
    pub user_node: String,
    /// The finished reply.
    pub reply: String,
}

impl ApiSession {
    /// Starts a session with one character that has a greeting.
    pub async fn start() -> Self {
        Self::start_with(TestApp::setup(), json!({})).await
    }

    /// Starts a session with other settings of the program and more session fields.
    pub async fn start_with(setup: Setup, more: Value) -> Self {
        let app = TestServer::start_with(setup).await;
        let character = app.create_character(&json!({"name": "Rin", "firstMessage": "Hello."})).await;
        let mut fields = json!({"characterIds": [character]});
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let sid = id_of(&app.post("/api/sessions", &fields).await);
        Self { server: app, sid }
    }

    /// Stops the server and starts it again in the same folder.
    pub async fn restart(self) -> Self {
        Self { server: self.server.restart().await, ..self }
    }

    /// Makes replies long, and returns the id of a preset in which little history fits.
    pub async fn set_up_short_context(&self, main_prompt: &str) -> String {
        let long = "Night falls over the empty road and nobody speaks for a long while.";
        self.server.mock().set_default_reply(Reply::ok([long]));
        let preset = json!({"kind": "openai", "name": "Narrow", "body": short_context_preset(main_prompt)});
        id_of(&self.server.post("/api/presets", &preset).await)
    }

    /// Returns a path below `/api/chat` of the session.
    pub fn chat_path(&self, rest: &str) -> String {
        format!("/api/chat/{}/{rest}", self.sid)
    }

    /// Sends a GET below the session's chat path and returns the body.
    pub async fn get(&self, rest: &str) -> Value {
        self.server.get(&self.chat_path(rest)).await
    }

    /// Returns the session.
    pub async fn session(&self) -> Value {
        self.server.get(&format!("/api/sessions/{}", self.sid)).await
    }

    /// Returns the id of HEAD.
    pub async fn head(&self) -> String {
        self.session().await["activeLeafId"].as_str().unwrap().to_owned()
    }

    /// Sends a POST below the session's chat path and returns the body.
    pub async fn post(&self, rest: &str, body: Value) -> Value {
        self.server.post(&self.chat_path(rest), &body).await
    }

    /// Sends a request below the session's chat path and returns its refusal.
    pub async fn expect_error(&self, method: &str, rest: &str, body: Value, code: &str) -> Value {
        self.server.request(method, &self.chat_path(rest)).json(&body).send().await.expect_error(code)
    }

    /// Sends a text at HEAD and waits for its reply.
    pub async fn run_turn(&self, text: &str) -> TurnIds {
        self.run_turn_at(&self.head().await, text).await
    }

    /// Sends a text below a node and waits for its reply.
    pub async fn run_turn_at(&self, parent: &str, text: &str) -> TurnIds {
        let started = self.post("message", json!({"parentId": parent, "content": text, "generate": true})).await;
        let reply = id_of(&started["generations"][0]);
        self.wait_for_reply(&reply).await;
        TurnIds { user_node: id_of(&started["node"]), reply }
    }

    /// Asks for another reply and waits for it.
    pub async fn regenerate_and_wait(&self, node: &str) -> String {
        let started = self.post(&format!("node/{node}/reroll"), json!({})).await;
        let reply = id_of(&started["generations"][0]);
        self.wait_for_reply(&reply).await;
        reply
    }

    /// Moves HEAD and returns where it is.
    pub async fn checkout(&self, node: &str, exact: bool) -> String {
        let head = self.server.put(&self.chat_path("active_leaf"), &json!({"nodeId": node, "exact": exact})).await;
        head["leafId"].as_str().unwrap().to_owned()
    }

    /// Waits until a reply has ended and returns its node.
    pub async fn wait_for_reply(&self, node: &str) -> Value {
        let app = self.server.app();
        let story = TestSession { app, user: app.owner, id: self.sid.parse().unwrap() };
        story.wait_for_reply(node.parse().unwrap()).await;
        self.get(&format!("node/{node}")).await
    }

    /// Returns the nodes of the tree by id.
    pub async fn nodes(&self) -> serde_json::Map<String, Value> {
        self.get("tree").await["nodes"].as_object().unwrap().clone()
    }

    /// Returns the ids of the linear view at a leaf.
    pub async fn projection_ids(&self, leaf: &str) -> Vec<String> {
        ids_of(&self.get(&format!("projection?leaf={leaf}")).await["items"])
    }
}

/// Returns the ids of the nodes in a list.
pub fn ids_of(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(id_of).collect()
}

/// Returns the path to a node by following the parents of a tree, without the root.
pub fn path_to_node(nodes: &serde_json::Map<String, Value>, leaf: &str) -> Vec<String> {
    let mut path = vec![leaf.to_owned()];
    while let Some(parent) = nodes[path.last().unwrap()]["parentId"].as_str() {
        path.push(parent.to_owned());
    }
    path.pop();
    path.reverse();
    path
}

/// Returns a preset with a context so short that little history fits.
pub fn short_context_preset(main_prompt: &str) -> Value {
    let on = |id: &str| json!({"identifier": id, "enabled": true});
    json!({
        "openai_max_context": 700, "openai_max_tokens": 60, "new_chat_prompt": "", "new_example_chat_prompt": "",
        "prompts": [{"identifier": "main", "role": "system", "content": main_prompt}],
        "prompt_order": [{"character_id": 100_001, "order": [on("main"), on("chatHistory")]}],
    })
}
