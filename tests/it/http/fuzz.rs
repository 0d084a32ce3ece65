//! Random bodies and queries from the schemas of the document, half of them invalid. No route returns a 500, and
//! afterwards the tree is still consistent.

use clotho::http::route_table::RouteEntry;
use clotho_core::clock::SplitMix64;
use clotho_core::tree::reference_tree::ReferenceTree;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::api_session::ApiSession;
use super::*;
use crate::support::schema;
use crate::support::socket::Socket;
use crate::support::test_session::{TestSession, with_timeout};

/// The number of requests per route and seed.
const ROUNDS: u64 = 30;

/// A generator of random JSON for a schema.
struct JsonGenerator {
    random: SplitMix64,
    /// Existing ids.
    ids: Vec<String>,
}

impl JsonGenerator {
    fn one_in(&mut self, n: u64) -> bool {
        self.random.next_below(n) == 0
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[usize::try_from(self.random.next_below(list.len() as u64)).unwrap()]
    }

    fn text(&mut self) -> String {
        let texts = [
            "x",
            "Hello, {{user}}.",
            "/roll 2d6",
            "/drink",
            "",
            " ",
            "天空🌙\u{202e}\u{feff}",
            "a\nb\tc",
            "<script>alert(1)</script>",
            "' OR 1=1 --",
            "../../etc/passwd",
            "[HP -5]",
            "__proto__",
            "plugin:combat",
            "mock/mock",
        ];
        if self.one_in(20) { "x".repeat(300_000) } else { (*self.pick(&texts)).to_owned() }
    }

    fn junk(&mut self) -> Value {
        let deep = json!({"a": {"b": [[], {"c": null}]}});
        let huge: Value = serde_json::from_str("99999999999999999999999").unwrap();
        let some =
            [json!(null), json!(true), json!(-1), json!(0), json!(0.1), json!(1e308), json!([]), json!({}), deep, huge];
        if self.one_in(3) { json!(self.text()) } else { self.pick(&some).clone() }
    }

    fn id(&mut self) -> Value {
        let known = self.ids.clone();
        if self.one_in(6) { self.junk() } else { json!(self.pick(&known)) }
    }

    fn operation(&mut self) -> Value {
        let mut operation = serde_json::Map::new();
        let ops = ["add", "set", "remove", "insert", "append", "take", "move", "grow"];
        let paths =
            ["", "/", "/a", "/a/b", "/list", "/combat/hp", "/combat", "/combat/pack/rope", "a", "/~2", "/a~1b", "/0"];
        operation.insert("op".into(), json!(self.pick(&ops)));
        operation.insert("path".into(), json!(self.pick(&paths)));
        for key in ["value", "key", "from", "why", "by", "in", "typo"] {
            if key == "value" || self.one_in(5) {
                let value = if key == "from" { json!(self.pick(&paths)) } else { self.junk() };
                operation.insert(key.into(), value);
            }
        }
        Value::Object(operation)
    }

    /// Returns a value for a field of a schema.
    fn value(&mut self, name: &str, schema: &Value) -> Value {
        let schema = schema::resolve_reference(schema);
        if self.one_in(12) {
            return self.junk();
        }
        if let Some(choices) = schema["oneOf"].as_array() {
            let choice = self.pick(choices).clone();
            return self.value(name, &choice);
        }
        if let Some(words) = schema["enum"].as_array() {
            return self.pick(words).clone();
        }
        if schema["properties"].is_object() {
            return self.object(schema);
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => self.pick(kinds).clone(),
            kind => kind.clone(),
        };
        match kind.as_str() {
            Some("object") if name == "operations" => self.operation(),
            Some("array") => {
                let n = self.random.next_below(4);
                (0..n).map(|_| self.value(name, &schema["items"])).collect()
            }
            Some("string") if name.ends_with("Id") || name.ends_with("Ids") => self.id(),
            Some("string") => json!(self.text()),
            Some("boolean") => json!(self.one_in(2)),
            Some("integer" | "number") => json!(self.random.next_below(8)),
            Some("null") => Value::Null,
            _ => json!({"temperature": self.junk(), self.text(): self.junk()}),
        }
    }

    fn object(&mut self, schema: &Value) -> Value {
        let mut object = serde_json::Map::new();
        let is_required = |name: &String| schema["required"].as_array().is_some_and(|list| list.contains(&json!(name)));
        for (name, property) in schema["properties"].as_object().unwrap() {
            // Expected values are mostly stale by now. If they were frequent, nothing would ever be written.
            let rarely = if name.starts_with("expected") { 10 } else { 3 };
            if if is_required(name) { !self.one_in(15) } else { self.one_in(rarely) } {
                object.insert(name.clone(), self.value(name, property));
            }
        }
        if self.one_in(15) {
            object.insert(self.text(), self.junk());
        }
        Value::Object(object)
    }

    fn query(&mut self, parameters: &Value) -> String {
        let mut query = String::new();
        for parameter in parameters.as_array().into_iter().flatten().filter(|one| one["in"] == "query") {
            if self.one_in(2) {
                let name = parameter["name"].as_str().unwrap();
                let value = match self.value(name, &parameter["schema"]) {
                    Value::String(text) => text,
                    other => other.to_string(),
                };
                let escaped: String = value.bytes().take(2_000).map(|byte| format!("%{byte:02x}")).collect();
                query += &format!("{}{name}={escaped}", if query.is_empty() { "?" } else { "&" });
            }
        }
        query
    }

    /// Returns a path of a route, mostly with existing ids.
    fn route_path(&mut self, entry: &RouteEntry, play: &ApiSession) -> String {
        let mut parts = Vec::new();
        for part in entry.path.split('/') {
            parts.push(match part {
                "{sid}" if !self.one_in(20) => play.sid.clone(),
                "{plugin}" => (*self.pick(&["combat", "lantern-keep", "nobody"])).to_owned(),
                "{n}" => (*self.pick(&["1", "2", "0", "-1", "x"])).to_owned(),
                part if part.starts_with('{') => self.pick(&self.ids.clone()).clone(),
                part => part.to_owned(),
            });
        }
        parts.join("/")
    }
}

/// Returns the ids of all nodes, of the character and of a new persona.
async fn known_ids(play: &ApiSession) -> Vec<String> {
    let mut ids: Vec<String> = play.nodes().await.keys().cloned().collect();
    ids.push(play.session().await["characterIds"][0].as_str().unwrap().to_owned());
    ids.push(id_of(&play.server.post("/api/personas", &json!({"name": "Ann"})).await));
    ids
}

/// Sends a request to every route. The client checks each answer against the contract, and none may be a 500. Returns
/// the number of accepted requests.
async fn request_every_route(play: &ApiSession, dice: &mut JsonGenerator) -> u64 {
    let mut taken = 0;
    let document = clotho::http::openapi::json(&clotho::http::all_routes());
    for entry in clotho::http::all_routes() {
        // Deleting the session or its character would end the test too early.
        if entry.method == "DELETE" || entry.path.contains(":.*") || entry.path.ends_with("/ws") {
            continue;
        }
        let (method, plain) = (entry.method.as_str(), entry.openapi_path());
        let query = dice.query(&document["paths"][&plain][method.to_lowercase()]["parameters"]);
        let ask = play.server.request(method, &(dice.route_path(&entry, play) + &query));
        let ask = match schema::request_schema(method, &plain) {
            Some(shape) => ask.json(&dice.value("", shape)),
            None => ask,
        };
        let heard = ask.send().await;
        assert!(heard.status < 500, "{method} {plain}: {}", heard.text());
        taken += u64::from(heard.status < 400);
    }
    taken
}

#[tokio::test]
async fn fuzz_requests_cause_no_500_and_keep_tree() {
    for seed in [1, 2] {
        let play = ApiSession::start_with(TestApp::setup(), json!({"plugins": [{"id": "combat"}]})).await;
        play.run_turn("Hi. [HP -3]").await;
        let mut dice = JsonGenerator { random: SplitMix64::new(seed), ids: known_ids(&play).await };
        let mut told = read_in_background(play.server.open_socket(&play.sid, None).await);
        let mut taken = 0;
        for round in 0..ROUNDS {
            taken += request_every_route(&play, &mut dice).await;
            if round % 10 == 9 {
                dice.ids = known_ids(&play).await;
            }
        }
        // Every write is in the log, whatever was pruned afterwards.
        let written = play.session().await["op"].as_u64().unwrap();
        assert!(taken > 8 * ROUNDS && written > ROUNDS, "the dice should hit something, too: {taken}, {written}");
        let mut running = play.server.app().live.watch_count();
        with_timeout(running.wait_for(|running| *running == 0)).await.unwrap();
        assert_session_consistent(&play).await;
        assert_operations_received(&play, &mut told).await;
    }
}

/// Reads a socket all the time. The server closes a socket that reads nothing for a minute.
fn read_in_background(mut socket: Socket) -> UnboundedReceiver<Value> {
    let (heard, told) = unbounded_channel();
    tokio::spawn(async move {
        while let Some(frame) = socket.next_frame().await {
            if heard.send(frame).is_err() {
                break;
            }
        }
    });
    told
}

/// Checks that the tree matches its log, that HEAD is the one of the log, and that the story can go on.
async fn assert_session_consistent(play: &ApiSession) {
    let app = play.server.app();
    let story = TestSession { app, user: app.owner, id: play.sid.parse().unwrap() };
    let mirror = ReferenceTree::replay(&story.log().await).unwrap();
    let nodes = play.nodes().await;
    let standing = mirror.nodes().iter().filter(|(_, place)| !place.is_hidden);
    let mirrored: Vec<String> = standing.map(|(id, _)| id.to_string()).collect();
    let mut served: Vec<String> = nodes.keys().cloned().collect();
    served.sort();
    assert_eq!(mirrored, served);
    assert!(nodes.values().all(|node| node["status"] != "generating"));
    let head = play.head().await;
    assert_eq!(mirror.head().map(|head| head.to_string()), Some(head.clone()));
    for node in nodes.keys() {
        play.get(&format!("node/{node}?expand=world,delta,trace")).await;
    }
    let said = play.run_turn_at(&head, "And then?").await;
    assert_eq!(play.head().await, said.reply);
}

/// Checks that a socket that was open all the time got every operation in order.
async fn assert_operations_received(play: &ApiSession, told: &mut UnboundedReceiver<Value>) {
    let newest = play.session().await["op"].as_i64().unwrap();
    let hello = with_timeout(told.recv()).await.unwrap();
    assert_eq!(hello["type"], "hello");
    let first = hello["op"].as_i64().unwrap();
    let mut ops = Vec::new();
    while ops.last() != Some(&newest) {
        ops.extend(with_timeout(told.recv()).await.unwrap()["op"].as_i64());
        ops.dedup();
    }
    assert_eq!(ops, (first + 1..=newest).collect::<Vec<_>>());
}

/// Each random frame is answered or ignored, and the socket stays open.
#[tokio::test]
async fn fuzz_random_frames_keep_socket_open() {
    let play = ApiSession::start().await;
    let said = play.run_turn("Hi 🌙.").await;
    let mut dice =
        JsonGenerator { random: SplitMix64::new(3), ids: vec![said.user_node, said.reply, play.sid.clone()] };
    let mut socket = play.server.open_socket(&play.sid, None).await;
    let kinds = ["resume", "typing", "ping", "hello", "node.created", ""];
    for _ in 0..300 {
        let mut frame = json!({"type": dice.pick(&kinds)});
        for key in ["id", "offset", "reasoningOffset", "content"] {
            if dice.one_in(2) {
                frame[key] = if key == "id" { dice.id() } else { dice.junk() };
            }
        }
        let text = frame.to_string();
        // A frame over the size limit rightly closes the socket.
        if text.len() < 60_000 {
            let half: String = text.chars().take(text.chars().count() / 2).collect();
            socket.send_text(if dice.one_in(6) { &half } else { &text }).await;
        }
    }
    // A last frame with a distinct answer marks the end.
    socket.send(&json!({"type": "the end"})).await;
    let frames =
        socket.read_until(|frame| frame["error"]["message"].as_str().is_some_and(|m| m.contains("the end"))).await;
    let known = ["hello", "pong", "error", "node.content.updated"];
    assert!(frames.iter().all(|frame| known.contains(&frame["type"].as_str().unwrap())), "{frames:#?}");
    assert!(frames.len() > 100, "{}", frames.len());
}
