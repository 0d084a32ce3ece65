//! Recall: messages of the branch that no longer fit, and documents, but nothing of other branches.

use std::sync::Arc;

use clotho_core::clock::{TestClock, Time};
use clotho_core::ids::DocumentId;
use clotho_store::StoredDocument;

use super::api_session::{ApiSession, short_context_preset};
use super::*;

/// Starts a session with recall and a short context.
async fn start_with_recall(setup: Setup, collections: &[&str]) -> ApiSession {
    let play = ApiSession::start_with(setup.set("recall.share", "30"), json!({})).await;
    let preset = play.set_up_short_context("Tell it.").await;
    let recall = json!({"enabled": true, "collections": collections});
    let session = play.patch_session(json!({"presetId": preset, "recall": recall})).await;
    assert_eq!(session["recall"], recall);
    play
}

fn embeddings_setup() -> Setup {
    TestApp::setup().set("recall.embeddings", "mock/embedder").set("recall.similarity", "30")
}

impl ApiSession {
    /// Changes settings of the session.
    async fn patch_session(&self, change: Value) -> Value {
        self.server.request("PATCH", &format!("/api/sessions/{}", self.sid)).json(&change).send().await.expect(200)
    }

    /// Adds enough filler turns that earlier messages no longer fit.
    async fn add_filler_turns(&self) {
        for n in 0..8 {
            self.run_turn(&format!("We walk on, mile {n}, {}", "past dull hedges and grey fields ".repeat(8))).await;
        }
    }

    /// Returns the recall block of the newest prompt; empty if there is none.
    fn recall_block(&self) -> String {
        let request = self.server.mock().requests().pop().unwrap();
        let all = request["messages"].as_array().unwrap().clone();
        let is_block = |message: &&Value| message["content"].as_str().unwrap().starts_with("What was said or written");
        all.iter().find(is_block).map(|block| block["content"].as_str().unwrap().to_owned()).unwrap_or_default()
    }

    async fn trace(&self, node: &str) -> Value {
        self.get(&format!("node/{node}/trace")).await
    }

    /// Waits until `n` texts have vectors.
    async fn wait_for_vectors(&self, n: u64) {
        let embedding = self.server.app().embedding.clone().unwrap();
        crate::support::wait::wait_until("vectors", async || embedding.counts()[0] >= n).await;
    }
}

/// S0-11, domain 7.2: messages of ancestors are found. Messages of other branches never are, even if they match better.
#[tokio::test]
async fn recall_finds_messages_of_own_branch_only() {
    let play = start_with_recall(TestApp::setup(), &[]).await;
    let fork = play.run_turn("The silver key lies under the third willow.").await;
    let other = play
        .run_turn_at(&fork.reply, "Where is the silver key? The silver key is in the chapel, the silver key!")
        .await;
    play.checkout(&fork.reply, true).await;
    play.add_filler_turns().await;
    let said = play.run_turn("Where is the silver key?").await;
    let told = play.recall_block();
    assert!(told.contains("[You] The silver key lies under the third willow."), "{told}");
    let trace = play.trace(&said.reply).await;
    assert_eq!((&trace["isExact"], &trace["recall"]["by"]), (&json!(true), &json!(["words"])));
    assert_eq!(trace["recall"]["texts"][0]["nodeId"], json!(fork.user_node), "{trace}");
    let last = play.server.mock().requests().pop().unwrap()["messages"].as_array().unwrap().clone();
    assert_eq!(last[last.len() - 1]["content"], "Where is the silver key?", "the last word stays the last");
    for request in play.server.mock().requests().iter().skip(2) {
        assert!(!request.to_string().contains("chapel"), "{request}");
    }
    // The same from the other branch.
    play.checkout(&other.reply, true).await;
    play.add_filler_turns().await;
    play.run_turn("Where is the silver key?").await;
    let told = play.recall_block();
    assert!(told.contains("chapel") && told.contains("willow"), "{told}");
    // At turn 2 nothing of the later turns exists.
    let back = play.run_turn_at(&fork.reply, "Where is the silver key?").await;
    let request = play.server.mock().requests().pop().unwrap().to_string();
    assert!(!request.contains("chapel") && !request.contains("hedges"), "{request}");
    assert_eq!(play.trace(&back.reply).await["recall"]["texts"], json!([]), "all of it is in the prompt anyway");
}

/// Recall uses only the room that the prompt leaves: a card that nearly fills it costs the recall and not the reply.
#[tokio::test]
async fn recall_with_nearly_full_prompt_still_completes_reply() {
    let play = start_with_recall(TestApp::setup(), &["Maps"]).await;
    play.server.post("/api/documents", &json!({"collection": "Maps", "content": "The harbour lies north."})).await;
    play.run_turn("Where is the harbour?").await;
    assert!(play.recall_block().contains("north"));
    let wide = short_context_preset(&"Tell it all. ".repeat(178));
    let wide = play.server.post("/api/presets", &json!({"kind": "openai", "name": "Wide", "body": wide})).await;
    play.patch_session(json!({"presetId": wide["id"]})).await;
    let said = play.run_turn("Where is the harbour, I ask?").await;
    let node = play.get(&format!("node/{}", said.reply)).await;
    assert_eq!(node["status"], "complete", "{node}");
}

/// Domain 6.6: the preview equals the send. Without recall nothing is recalled, and disabled messages are not recalled
/// either.
#[tokio::test]
async fn prompt_preview_recall_matches_send() {
    let play = start_with_recall(embeddings_setup(), &[]).await;
    let key = play.run_turn("The silver key lies under the third willow.").await;
    play.add_filler_turns().await;
    play.wait_for_vectors(10).await;
    let (parent, content) = (play.head().await, "Where is the silver key?");
    let preview = play.post("prompt", json!({"parentId": parent, "content": content})).await;
    let said = play.run_turn(content).await;
    let request = play.server.mock().requests().pop().unwrap();
    assert_eq!(preview["messages"], request["messages"]);
    assert_eq!(preview["recall"], play.trace(&said.reply).await["recall"]);
    assert!(play.recall_block().contains("willow"));
    play.server.put(&play.chat_path(&format!("node/{}/state", key.user_node)), &json!({"isEnabled": false})).await;
    play.run_turn("Once more: where is the silver key?").await;
    assert!(!play.recall_block().contains("willow"));
    play.server.put(&play.chat_path(&format!("node/{}/state", key.user_node)), &json!({"isEnabled": true})).await;
    play.patch_session(json!({"recall": {"enabled": false}})).await;
    let said = play.run_turn("Where, I ask, is the silver key?").await;
    assert_eq!((play.recall_block().as_str(), &play.trace(&said.reply).await["recall"]), ("", &Value::Null));
}

/// S0-11: recalled texts are prepared as they would be sent. Macros have their own dice, and scripts apply as in the
/// history, by depth.
#[tokio::test]
async fn recall_applies_macros_and_regex_scripts() {
    let play = start_with_recall(TestApp::setup(), &[]).await;
    let keep = async |body: Value| {
        play.server.post("/api/presets", &json!({"kind": "regex", "name": "Mine", "body": body})).await;
    };
    keep(json!({"scriptName": "trees", "findRegex": "/willow/g", "replaceString": "oak", "placement": [1]})).await;
    // Depth 18: its reply, eight turns of two messages, and the newest message.
    let far = json!({"scriptName": "far", "findRegex": "/third/", "replaceString": "last", "placement": [1],
        "promptOnly": true, "minDepth": 18, "maxDepth": 18});
    keep(far).await;
    play.run_turn("{{roll::d100000}} {{random::a::b}} paces: {{user}}'s silver key lies under the third willow.").await;
    play.add_filler_turns().await;
    let (parent, content) = (play.head().await, "Where is the silver key?");
    let preview = play.post("prompt", json!({"parentId": parent, "content": content})).await;
    let said = play.run_turn(content).await;
    let request = play.server.mock().requests().pop().unwrap();
    assert_eq!(preview["messages"], request["messages"]);
    let first = play.recall_block();
    let fallen = regex::Regex::new(r"\[You\] (\d+) ([ab]) paces: You's silver key lies under the last oak\.").unwrap();
    let found = fallen.captures(&first).unwrap_or_else(|| panic!("{first}"));
    assert_ne!(&found[1], "1", "the die rolled");
    let trace = play.trace(&said.reply).await;
    assert_eq!((&trace["isExact"], &trace["messages"]), (&json!(true), &request["messages"]));
    let told =
        |name: &str| trace["scripts"].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap().clone();
    // Once while the history was read until it was full, and once in the recalled text.
    assert_eq!((&told("trees")["changed"], &told("far")["changed"]), (&json!(2), &json!(2)));
    assert_eq!(preview["scripts"], trace["scripts"]);
    // Later it is deeper, and its dice are the same.
    play.run_turn("I ask again: where is the silver key?").await;
    let again = play.recall_block();
    assert!(again.contains(&found[0].replace("last", "third")), "{again}");
}

/// A text without common words is found by its vector. Equal texts are embedded once.
#[tokio::test]
async fn recall_by_vectors_finds_meaning_and_embeds_once() {
    let play = start_with_recall(embeddings_setup(), &[]).await;
    let dagger = play.run_turn("My dagger sleeps beneath granite.").await.user_node;
    play.add_filler_turns().await;
    play.wait_for_vectors(10).await;
    let said = play.run_turn("Swords, swords and swords again!").await;
    let told = play.recall_block();
    assert!(told.contains("[You] My dagger sleeps beneath granite."), "{told}");
    let texts = play.trace(&said.reply).await["recall"].clone();
    assert_eq!(texts["by"], json!(["words", "vectors"]));
    let found = texts["texts"].as_array().unwrap().iter().find(|text| text["nodeId"] == json!(dagger)).unwrap();
    assert!(found["similarity"].as_f64().unwrap() > 0.3 && found["words"].is_null(), "{texts}");
    let night = "Night falls over the empty road";
    assert_eq!(play.server.mock().embedded_texts().iter().filter(|text| text.starts_with(night)).count(), 1);
    let metrics = play.server.request("GET", "/metrics").send().await.text();
    assert!(metrics.contains("clotho_embeddings_total") && metrics.contains("clotho_embedding_failures_total 0"));
    assert_eq!(play.server.get("/readyz").await["parts"]["embeddings"], "ok");
    // Text from before a restart has vectors already.
    let play = play.restart().await;
    let before = play.server.mock().embedded_texts().len();
    play.run_turn("And a tide?").await;
    play.wait_for_vectors(1).await;
    assert!(play.server.mock().embedded_texts().len() < before + 4, "nothing is embedded twice");
}

/// Bad input: invalid vectors, another size, or no answer at all. The turn goes on by words and says so.
#[tokio::test]
async fn recall_bad_embeddings_fall_back_to_words() {
    let clock = Arc::new(TestClock::new(Time(1_700_000_000_000)));
    let setup = embeddings_setup().set("recall.wait_ms", "200").clock(Arc::<TestClock>::clone(&clock));
    let play = start_with_recall(setup, &[]).await;
    play.run_turn("The silver key lies under the third willow.").await;
    play.add_filler_turns().await;
    play.wait_for_vectors(10).await;
    let one = |vector: Value| Reply::json(200, &json!({"data": [{"index": 0, "embedding": vector}]}));
    let bad = [
        one(json!([1.0, "NaN"])),
        one(json!([0, 0, 0])),
        one(json!([1.0, 2.0, 3.0])),
        Reply::json(200, &json!({"data": []})),
        Reply::raw(200, "application/json", "{\"data\": [{\"embedding\": [NaN]}]}"),
        Reply::error(500, "out of order"),
        Reply::error(400, "no such model"),
        Reply::silent(),
        Reply::hang_up(),
    ];
    for (n, reply) in bad.into_iter().enumerate() {
        play.server.mock().set_embeddings_reply(Some(reply));
        clock.advance(60_000);
        let said = play.run_turn(&format!("Where is the silver key, I ask for the time {n}?")).await;
        let recall = play.trace(&said.reply).await["recall"].clone();
        assert_eq!(recall["by"], json!(["words"]), "{n}: {recall}");
        assert!(!recall["problem"].as_str().unwrap().is_empty(), "{n}");
        assert!(play.recall_block().contains("willow"), "{n}");
        assert_eq!(play.get(&format!("node/{}", said.reply)).await["status"], "complete", "{n}");
        if n == 0 {
            // This check must come before the reply that never ends blocks the background task.
            let is_told = async || play.server.get("/readyz").await["parts"]["embeddings"] != "ok";
            crate::support::wait::wait_until("trouble", is_told).await;
        }
    }
    // Embeddings recover by themselves.
    play.server.mock().set_embeddings_reply(None);
    clock.advance(60_000);
    let said = play.run_turn("Where is the silver key after all?").await;
    assert_eq!(play.trace(&said.reply).await["recall"]["by"], json!(["words", "vectors"]));
}

/// A reply can be stopped while its prompt is built: here an embedding server never answers.
#[tokio::test]
async fn cancel_while_prompt_is_built_ends_reply() {
    let play = start_with_recall(embeddings_setup().set("recall.wait_ms", "60000"), &[]).await;
    let said = play.run_turn("The silver key lies under the third willow.").await;
    play.server.mock().set_embeddings_reply(Some(Reply::silent()));
    let asked = play.server.mock().requests().len();
    let sent = play.post("message", json!({"parentId": said.reply, "content": "Where is it?", "generate": true})).await;
    let reply = id_of(&sent["generations"][0]);
    play.post(&format!("node/{reply}/cancel"), json!({})).await;
    let node = wait_for_some("the end of the reply", async || {
        let node = play.get(&format!("node/{reply}")).await;
        (node["status"] != "generating").then_some(node)
    });
    let node = node.await;
    assert_eq!((&node["status"], &node["metadata"]["error"]["code"]), (&json!("error"), &json!("cancelled")), "{node}");
    assert_eq!(play.server.mock().requests().len(), asked, "no model was asked");
}

/// With an unreachable endpoint the turn goes on, the operator is told, and the server is still ready.
#[tokio::test]
async fn recall_unreachable_embedder_is_reported_and_server_ready() {
    let dead = TestApp::setup()
        .set("providers.2.id", "dead")
        .set("providers.2.base_url", "http://127.0.0.1:9/v1")
        .set("recall.embeddings", "dead/any");
    let play = start_with_recall(dead, &["Maps"]).await;
    play.server.post("/api/documents", &json!({"collection": "Maps", "content": "The harbour lies north."})).await;
    let said = play.run_turn("Where is the harbour?").await;
    assert!(play.recall_block().contains("[Maps] The harbour lies north."), "{}", play.recall_block());
    assert!(play.trace(&said.reply).await["recall"]["problem"].as_str().unwrap().contains("cannot be reached"));
    let ready = wait_for_some("trouble", async || {
        let ready = play.server.get("/readyz").await;
        (ready["parts"]["embeddings"] != "ok").then_some(ready)
    });
    assert_eq!(ready.await["status"], "ok");
}

/// A text that the model refuses to embed does not block the others.
#[tokio::test]
async fn embedding_refused_text_does_not_block_others() {
    let play = start_with_recall(embeddings_setup().set("recall.batch", "4"), &["Maps"]).await;
    play.wait_for_vectors(1).await;
    play.server.mock().refuse_embedding_of("poison");
    for text in ["North of the ferry.", "A poison for machines.", "South of the mill."] {
        play.server.post("/api/documents", &json!({"collection": "Maps", "content": text})).await;
    }
    let embedding = play.server.app().embedding.clone().unwrap();
    crate::support::wait::wait_until("the rest", async || {
        let [embedded, _, left_out] = embedding.counts();
        embedded >= 3 && left_out == 1
    })
    .await;
    play.server.request("GET", "/readyz").send().await.expect(200);
}

/// S0-18: documents are ranked. Those of other collections or users are never found, and destroyed ones are gone.
#[tokio::test]
async fn document_search_ranks_chosen_collections_only() {
    let play = start_with_recall(embeddings_setup(), &[]).await;
    let app = &play.server;
    let new = |collection: &str, content: &str| json!({"collection": collection, "content": content, "metadata": {"page": 7}});
    let best = app.post("/api/documents", &new("Maps", "The harbour of Orm lies north of the ferry.")).await;
    app.post("/api/documents", &new("Maps", "Orm is a village.")).await;
    app.post("/api/documents", &new("Maps", "The ocean is wide.")).await;
    app.post("/api/documents", &new("Diary", "Harbour, Orm, ferry: the harbour of Orm!")).await;
    play.wait_for_vectors(4).await;
    let ask = json!({"collections": ["Maps"], "query": "Where is the harbour of Orm?"});
    let found = app.request("POST", "/api/documents/search").json(&ask).send().await.expect(200);
    let texts: Vec<&str> =
        found["items"].as_array().unwrap().iter().map(|one| one["content"].as_str().unwrap()).collect();
    assert_eq!(
        texts,
        ["The harbour of Orm lies north of the ferry.", "Orm is a village.", "The ocean is wide."],
        "{found}"
    );
    assert_eq!((&found["items"][0]["id"], &found["items"][0]["metadata"]["page"]), (&best["id"], &json!(7)));
    let meant = json!({"collections": ["Maps", "Diary"], "query": "tides?", "limit": 1});
    let found = app.request("POST", "/api/documents/search").json(&meant).send().await.expect(200);
    assert_eq!(found["items"][0]["content"], "The ocean is wide.", "by its meaning: {found}");
    let collections = json!([{"name": "Diary", "count": 1}, {"name": "Maps", "count": 3}]);
    assert_eq!(app.get("/api/collections").await, collections);
    assert_eq!(app.get("/api/documents?collection=Diary").await["items"].as_array().unwrap().len(), 1);
    assert_eq!(app.get("/api/documents?limit=2").await["items"].as_array().unwrap().len(), 2);
    // A prompt has documents of the session's collections only.
    play.patch_session(json!({"recall": {"enabled": true, "collections": ["Maps"]}})).await;
    play.run_turn("Where is the harbour of Orm?").await;
    let told = play.recall_block();
    assert!(told.contains("[Maps] The harbour of Orm lies north") && !told.contains("Diary"), "{told}");
    let path = format!("/api/documents/{}", id_of(&best));
    assert_eq!(app.get(&path).await["content"], best["content"]);
    app.request("DELETE", &path).send().await.expect(204);
    app.request("DELETE", &path).send().await.expect_error("not_found");
    app.request("GET", &path).send().await.expect_error("not_found");
    let hash = app.app().turns.documents.text_hash(best["content"].as_str().unwrap());
    let known = app.app().store.read(move |reader| reader.hashes_with_vectors("mock/embedder", &[hash])).await;
    let known: Result<_, clotho_store::StoreError> = known;
    assert!(known.unwrap().is_empty(), "its vector is gone with it");
}

/// Domain 9: documents of other users are not found, whatever the name of their collection.
#[tokio::test]
async fn documents_of_other_users_are_not_found() {
    let play = start_with_recall(TestApp::setup(), &["Maps"]).await;
    let app = &play.server;
    let stranger = app.create_other_user().await;
    let new = DocumentId::new(app.app().ids.next_id(Time(0)));
    let (collection, content) = ("Maps".to_owned(), "A stranger's harbour.".to_owned());
    let hash = app.app().turns.documents.text_hash(&content);
    let document = StoredDocument { id: new, collection, content, metadata: serde_json::Map::new(), created: Time(0) };
    let user = stranger.user;
    app.app().store.write(move |tx| tx.put_document(user, &document, hash)).await.unwrap();
    assert_eq!(app.get("/api/documents").await["items"], json!([]));
    assert_eq!(app.get("/api/collections").await, json!([]));
    let ask = json!({"collections": ["Maps"], "query": "harbour"});
    let found = app.request("POST", "/api/documents/search").json(&ask).send().await.expect(200);
    assert_eq!(found["items"], json!([]));
    for method in ["GET", "DELETE"] {
        app.request(method, &format!("/api/documents/{new}")).send().await.expect_error("not_found");
    }
    play.run_turn("Where is the harbour?").await;
    assert!(!play.server.mock().requests().pop().unwrap().to_string().contains("stranger"));
}

#[tokio::test]
async fn document_or_recall_invalid_field_is_refused() {
    let play = start_with_recall(TestApp::setup(), &[]).await;
    let app = &play.server;
    let refused = async |path: &str, body: Value, field: &str| {
        let error = app.request("POST", path).json(&body).send().await.expect_error("invalid");
        assert_eq!(error["details"]["field"], field, "{body}");
    };
    let long = "x".repeat(300_000);
    for (body, field) in [
        (json!({"collection": " ", "content": "x"}), "collection"),
        (json!({"collection": "x".repeat(101), "content": "x"}), "collection"),
        (json!({"collection": "a", "content": " "}), "content"),
        (json!({"collection": "a", "content": long}), "content"),
        (json!({"collection": "a", "content": "x", "metadata": {"long": "x".repeat(20_000)}}), "metadata"),
        (json!({"collection": "a", "content": "x", "metadata": []}), "metadata"),
    ] {
        refused("/api/documents", body, field).await;
    }
    for (body, field) in [
        (json!({"collections": ["a"], "query": ""}), "query"),
        (json!({"collections": ["a"], "query": "x", "limit": 0}), "limit"),
        (json!({"collections": [""], "query": "x"}), "collection"),
    ] {
        refused("/api/documents/search", body, field).await;
    }
    for recall in [json!(true), json!({"collections": []}), json!({"enabled": true, "collections": [""]})] {
        let path = format!("/api/sessions/{}", play.sid);
        app.request("PATCH", &path).json(&json!({"recall": recall})).send().await.expect_error("invalid");
    }
}

/// A purge deletes the vectors of purged texts and keeps those of remaining texts.
#[tokio::test]
async fn purge_deletes_vectors_of_purged_text_only() {
    let play = start_with_recall(embeddings_setup(), &[]).await;
    let kept = play.run_turn("The lamp burns low tonight.").await;
    let gone = play.run_turn("A secret that must be forgotten.").await;
    play.wait_for_vectors(3).await;
    let have = async |text: &str| {
        let hash = play.server.app().turns.documents.text_hash(text);
        let read =
            move |reader: &mut clotho_store::StoreReader<'_>| reader.hashes_with_vectors("mock/embedder", &[hash]);
        let known: Result<_, clotho_store::StoreError> = play.server.app().store.read(read).await;
        !known.unwrap().is_empty()
    };
    crate::support::wait::wait_until("the secret", async || have("A secret that must be forgotten.").await).await;
    play.checkout(&kept.reply, true).await;
    let purge = json!({"operations": [{"op": "purge", "nodeId": gone.user_node, "confirm": true}]});
    play.server.put(&play.chat_path("tree/edit"), &purge).await;
    assert!(!have("A secret that must be forgotten.").await);
    assert!(have("The lamp burns low tonight.").await);
}
