//! Lorebook entries that fire without a key because they are similar to what was said: by words, and by vectors if
//! available.

use super::api_session::ApiSession;
use super::lore_activation::{
    create_lorebook, entry, last_request_contains, lore_trace, put_lorebook_holds, start_with_entries, uids,
};
use super::*;

const RULES: &str = "/api/lorebooks/settings";

/// Returns an entry that may fire by similarity; its key never occurs.
fn vectorized_entry(uid: u64, content: &str, more: Value) -> Value {
    let mut entry = entry(uid, "zzz", content, more);
    entry["vectorized"] = json!(true);
    entry
}

/// Returns the fired entries with their reasons.
fn fired_reasons(told: &Value) -> Vec<(String, String)> {
    let fired = told["fired"].as_array().unwrap().iter();
    fired.map(|one| [&one["uid"], &one["why"]].map(|text| text.as_str().unwrap().to_owned()).into()).collect()
}

/// Starts a story with a linked lorebook and embeddings.
async fn start_with_vectors(entries: Value) -> (ApiSession, String) {
    let setup = TestApp::setup().set("recall.embeddings", "mock/embedder");
    let play = ApiSession::start_with(setup, json!({})).await;
    let book = create_lorebook(&play, entries).await;
    put_lorebook_holds(&play, &book, json!({"everything": true})).await;
    (play, book)
}

async fn wait_for_vectors(play: &ApiSession, n: u64) {
    let embedding = play.server.app().embedding.clone().unwrap();
    crate::support::wait::wait_until("vectors", async || embedding.counts()[0] >= n).await;
}

/// Domain 7.1: marked entries fire if they share words with the last messages, in any script. Preview, test and send
/// agree, and each gives the reason.
#[tokio::test]
async fn lore_similarity_by_words_fires_vectorized_entries() {
    let key = "The silver key lies under the third willow.";
    let entries = json!([
        vectorized_entry(1, key, json!({})),
        entry(2, "zzz", "A silver key for the willow gate.", json!({})),
        vectorized_entry(3, "灯塔的守灯人住在礁石上。", json!({})),
        vectorized_entry(4, "You and they would have been there again.", json!({})),
        vectorized_entry(5, "The silver key is off.", json!({"disable": true})),
    ]);
    let (play, _) = start_with_entries(entries).await;
    let text = "Where is the silver key of the willow, and would you have been there?";
    let parent = play.head().await;
    let shown = play.post("prompt", json!({"parentId": parent, "content": text})).await;
    let tried = play.server.post("/api/lorebooks/test", &json!({"sessionId": play.sid, "text": text})).await;
    let said = play.run_turn(text).await;
    let told = lore_trace(&play, &said).await;
    assert!(
        last_request_contains(&play, key)
            && !last_request_contains(&play, "willow gate")
            && !last_request_contains(&play, "been there again")
    );
    for one in [&told, &shown["lore"], &tried] {
        assert_eq!(fired_reasons(one), [("1".into(), "words".into())], "{one}");
        assert!(one["fired"][0]["score"].as_f64().unwrap() > 0.0);
        assert_eq!((&one["similar"]["by"], &one["similar"]["looked"]), (&json!(["words"]), &json!(3)));
    }
    let other = play.run_turn("守灯人在灯塔吗？").await;
    assert!(uids(&self::lore_trace(&play, &other).await["fired"]).contains(&"3"));
    play.server.put(RULES, &json!({"similar": {"all": true, "messages": 1}})).await;
    let all = play.run_turn(text).await;
    let mut fired =
        uids(&self::lore_trace(&play, &all).await["fired"]).iter().map(|uid| (*uid).to_owned()).collect::<Vec<_>>();
    fired.sort();
    assert_eq!(fired, ["1", "2"]);
    play.server.put(RULES, &json!({"similar": {"entries": 0}})).await;
    let none = self::lore_trace(&play, &play.run_turn(text).await).await;
    assert!(none["fired"].as_array().unwrap().is_empty() && none["similar"].is_null(), "{none}");
}

/// Similar entries pass all other steps: conditions, groups, probability and budget.
#[tokio::test]
async fn lore_similarity_respects_conditions_groups_and_probability() {
    let text = "The silver key of the willow.";
    let group = |order: u64| json!({"group": "keys", "groupOverride": true, "order": order});
    let entries = json!([
        vectorized_entry(1, &format!("{text} One."), group(10)),
        vectorized_entry(2, &format!("{text} Two."), group(20)),
        vectorized_entry(3, &format!("{text} Never."), json!({"useProbability": true, "probability": 0})),
        vectorized_entry(4, &format!("{text} Warm."), json!({"when": "affinity > 3"})),
        vectorized_entry(5, &format!("{text} The moss calls."), json!({})),
        entry(6, "moss", "Green.", json!({})),
    ]);
    let (play, _) = start_with_entries(entries).await;
    let said = play.run_turn("Where is the silver key of the willow?").await;
    let told = lore_trace(&play, &said).await;
    let mut fired = fired_reasons(&told);
    fired.sort();
    let expected = [("2", "words"), ("5", "words"), ("6", "key")].map(|(uid, why)| (uid.to_owned(), why.to_owned()));
    assert_eq!(fired, expected, "{told}");
    let stopped = told["stopped"].as_array().unwrap().iter();
    let mut stopped: Vec<&str> = stopped.map(|one| one["why"].as_str().unwrap()).collect();
    stopped.sort_unstable();
    assert_eq!(stopped, ["condition", "group", "probability"]);
}

/// Domain 7.1: an entry without common words fires by its vector, also in a story without recall. A changed entry gets
/// a new vector, and a destroyed one leaves none.
#[tokio::test]
async fn lore_similarity_by_vectors_fires_vectorized_entries() {
    let entries = json!([
        vectorized_entry(1, "A dagger sleeps beneath granite.", json!({})),
        vectorized_entry(2, "Bread and warm soup.", json!({})),
        entry(3, "zzz", "An unmarked dagger.", json!({})),
    ]);
    let (play, book) = start_with_vectors(entries).await;
    wait_for_vectors(&play, 2).await;
    let asked = "Swords, swords and swords again!";
    let parent = play.head().await;
    let shown = play.post("prompt", json!({"parentId": parent, "content": asked})).await;
    let tried = play.server.post("/api/lorebooks/test", &json!({"text": asked, "lorebookIds": [book]})).await;
    let said = play.run_turn(asked).await;
    let told = lore_trace(&play, &said).await;
    for one in [&told, &shown["lore"], &tried] {
        assert_eq!(fired_reasons(one), [("1".into(), "vectors".into())], "{one}");
        let score = one["fired"][0]["score"].as_f64().unwrap();
        assert!((0.25..=1.0).contains(&score) && one["similar"]["by"] == json!(["vectors"]), "{one}");
    }
    assert!(!play.server.mock().embedded_texts().iter().any(|text| text.contains("unmarked")));
    let path = format!("/api/lorebooks/{book}/entries/1");
    let change = json!({"entry": {"content": "A tide of fog."}});
    play.server.request("PATCH", &path).json(&change).send().await.expect(200);
    crate::support::wait::wait_until("the new vector", async || {
        play.server.mock().embedded_texts().iter().any(|text| text == "A tide of fog.")
    })
    .await;
    let said = play.run_turn("More swords, I say, swords!").await;
    assert!(self::lore_trace(&play, &said).await["fired"].as_array().unwrap().is_empty());
    play.server.put(RULES, &json!({"similar": {"threshold": 100}})).await;
    let tried = play.server.post("/api/lorebooks/test", &json!({"text": "Fog.", "lorebookIds": [book]})).await;
    assert!(tried["fired"].as_array().unwrap().is_empty(), "none is that near: {tried}");
    play.server.request("DELETE", &format!("/api/lorebooks/{book}")).send().await.expect(204);
    play.server.request("DELETE", &format!("/api/trash/{book}?confirm=true")).send().await.expect(204);
    let hash = play.server.app().turns.documents.text_hash("A tide of fog.");
    let read = move |reader: &mut clotho_store::StoreReader<'_>| reader.hashes_with_vectors("mock/embedder", &[hash]);
    assert!(play.server.app().store.read(read).await.unwrap().is_empty(), "what is destroyed takes its vector along");
}

/// Bad input: a failing embedding model costs only the vectors, and the trace says so.
#[tokio::test]
async fn lore_similarity_embedding_failure_falls_back_to_words() {
    let (play, _) =
        start_with_vectors(json!([vectorized_entry(1, "The silver key lies under the third willow.", json!({}))]))
            .await;
    wait_for_vectors(&play, 1).await;
    play.server.mock().set_embeddings_reply(Some(Reply::error(500, "out of order")));
    let said = play.run_turn("Where is the silver key of the willow?").await;
    let told = lore_trace(&play, &said).await;
    assert_eq!(fired_reasons(&told), [("1".into(), "words".into())], "{told}");
    assert_eq!(told["similar"]["by"], json!(["words"]));
    assert!(told["similar"]["problem"].as_str().is_some_and(|problem| !problem.is_empty()), "{told}");
    assert_eq!(play.get(&format!("node/{}", said.reply)).await["status"], "complete");
}

/// Bad input: a hundred thousand entries in ten books work in a send and a test. In one book they are refused with a
/// hint, and nothing is stored.
#[tokio::test]
async fn lore_100000_entries_work_but_oversized_import_fails() {
    const MOST: usize = 10_000;
    let of = |book: usize, count: usize| {
        let entry = |n: usize| {
            let key = book * MOST + n;
            (
                n.to_string(),
                json!({"uid": n, "key": [format!("key {key}.")], "content": format!("Text {key}."), "position": 0}),
            )
        };
        let entries: serde_json::Map<String, Value> = (0..count).map(entry).collect();
        json!({"entries": entries}).to_string()
    };
    let (play, _) = start_with_entries(json!([])).await;
    let import = |text: String| {
        let app = &play.server;
        async move { app.request("POST", "/api/lorebooks/import").bytes(text.as_bytes(), "application/json").send().await }
    };
    // Oversized books are refused.
    for wrong in [
        of(0, 10 * MOST),
        of(0, MOST + 1),
        json!({"entries": {"0": {"content": "x".repeat(15 << 20), "comment": "y".repeat(2 << 20)}}}).to_string(),
    ] {
        let refused = import(wrong).await;
        let error = refused.json()["error"].clone();
        assert!((400..500).contains(&refused.status), "{error}");
        assert!(error["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{error}");
    }
    assert_eq!(play.server.get("/api/lorebooks").await["items"].as_array().unwrap().len(), 1, "nothing of it was kept");
    // Ten books of the largest size.
    let mut last = String::new();
    for book in 0..10 {
        last = id_of(&import(of(book, MOST)).await.expect(201));
        put_lorebook_holds(&play, &last, json!({"sessionIds": [play.sid]})).await;
    }
    let said = play.run_turn("Of key 99999. And key 7.").await;
    let told = lore_trace(&play, &said).await;
    assert!(last_request_contains(&play, "Text 99999.") && last_request_contains(&play, "Text 7."), "{told}");
    assert_eq!((uids(&told["fired"]).len(), &told["silent"]), (2, &json!(99_998)), "{told}");
    // A test and a page are bounded.
    let tried = play.server.post("/api/lorebooks/test", &json!({"text": "key 90005.", "lorebookIds": [last]})).await;
    assert_eq!(
        (uids(&tried["fired"]), tried["silent"].as_array().unwrap().len()),
        (vec!["5"], 1_000),
        "bounded answers"
    );
    let page = play.server.get(&format!("/api/lorebooks/{last}/entries?limit=500")).await;
    assert_eq!(page["items"].as_array().unwrap().len(), 500);
}

/// Bad input: the limits on hostile books apply to tests as to sends. Such books have keys of a megabyte, runaway
/// patterns and entries that activate each other.
#[tokio::test]
async fn lorebook_test_with_hostile_entries_succeeds() {
    let long = "k".repeat(1 << 20);
    let entries = json!([
        entry(1, "/(?=(a+)+$)a/", "Runs away.", json!({})),
        entry(2, &long, "A long key.", json!({})),
        entry(3, "gate", "The wall.", json!({})),
        entry(4, "wall", "The gate.", json!({})),
        vectorized_entry(5, &"The gate of the wall. ".repeat(10_000), json!({"key": [long]})),
    ]);
    let (play, book) = start_with_entries(entries).await;
    let text = format!("The gate. {}!", "a".repeat(5_000));
    for asked in [json!({"text": text, "lorebookIds": [book]}), json!({"text": text, "sessionId": play.sid})] {
        let tried = play.server.post("/api/lorebooks/test", &asked).await;
        assert!(
            uids(&tried["fired"]).starts_with(&["3"]) && uids(&tried["fired"]).contains(&"4"),
            "{}",
            tried["fired"]
        );
        assert!(tried["notes"][0].as_str().is_some_and(|note| note.contains("took too long")), "{}", tried["notes"]);
    }
}
