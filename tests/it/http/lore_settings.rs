//! A user's lore settings: stored per owner and used by sends, previews and tests of books.

use super::lore_activation::{
    create_lorebook, entry, last_request_contains, lore_trace, put_lorebook_holds, start_with_entries, uids,
};
use super::*;

const PATH: &str = "/api/lorebooks/settings";

/// Domain 7.1: changed lore settings apply to the next send, its preview and a test alike.
#[tokio::test]
async fn lore_settings_apply_to_send_preview_and_test() {
    let entries = json!([
        entry(1, "king", "He is old.", json!({})),
        entry(2, "harbour", "Dry.", json!({})),
        entry(3, "old", "A long life.", json!({})),
    ]);
    let (play, book) = start_with_entries(entries).await;
    let usual = play.server.get(PATH).await;
    assert_eq!(
        (&usual["scanDepth"], &usual["budgetPercent"], &usual["strategy"]),
        (&json!(2), &json!(25.0), &json!("characterFirst"))
    );
    assert_eq!(usual["similar"], json!({"entries": 5, "messages": 2, "threshold": 25, "all": false}));
    play.run_turn("The harbour of the kingdom.").await;
    assert!(last_request_contains(&play, "Dry.") && !last_request_contains(&play, "He is old."));
    let rules = json!({"scanDepth": 1, "matchWholeWords": false, "recursive": false});
    let kept = play.server.put(PATH, &rules).await;
    assert_eq!(
        (&kept["scanDepth"], &kept["minActivations"], &play.server.get(PATH).await),
        (&json!(1), &json!(0), &kept)
    );
    let text = "Long live the kingdom!";
    let head = play.head().await;
    let shown = play.post("prompt", json!({"parentId": head, "content": text})).await;
    let tried = play.server.post("/api/lorebooks/test", &json!({"sessionId": play.sid, "text": text})).await;
    let alone = play.server.post("/api/lorebooks/test", &json!({"text": text, "lorebookIds": [book]})).await;
    let said = play.run_turn(text).await;
    let told = lore_trace(&play, &said).await;
    for fired in [&shown["lore"]["fired"], &tried["fired"], &alone["fired"], &told["fired"]] {
        assert_eq!(uids(fired), ["1"], "the part of a word, in the last message alone, calling nobody: {fired}");
    }
    let cap = play.server.put(PATH, &json!({"budgetCap": 1})).await;
    assert_eq!(
        (&cap["recursive"], &cap["scanDepth"]),
        (&json!(true), &json!(2)),
        "what is left out is as it is shipped"
    );
    let tight = play.server.post("/api/lorebooks/test", &json!({"text": "The king.", "lorebookIds": [book]})).await;
    assert_eq!((&tight["budget"], &tight["overflowed"]), (&json!(1), &json!(true)));
    assert_eq!(play.server.put(PATH, &json!({})).await, usual);
}

/// Bad input: an invalid value is refused with its field and a hint, and nothing is stored.
#[tokio::test]
async fn lore_settings_invalid_value_is_refused_unsaved() {
    let app = TestServer::start().await;
    for (wrong, field) in [
        (json!({"scanDepth": 1_001}), "scanDepth"),
        (json!({"scanDepth": -1}), "scanDepth"),
        (json!({"budgetPercent": 100.5}), "budgetPercent"),
        (json!({"budgetPercent": "25"}), "budgetPercent"),
        (json!({"minActivations": -1}), "minActivations"),
        (json!({"maxRecursionSteps": 1_000_000_000}), "maxRecursionSteps"),
        (json!({"strategy": "mine"}), "strategy"),
        (json!({"recursive": 1}), "recursive"),
        (json!({"depth": 3}), "depth"),
        (json!({"similar": {"threshold": 101}}), "similar.threshold"),
        (json!({"similar": {"messages": 0}}), "similar.messages"),
        (json!({"scanDepth": 9, "similar": {"entries": 101}}), "similar.entries"),
    ] {
        let refused = app.request("PUT", PATH).json(&wrong).send().await.expect_error("invalid");
        assert_eq!(refused["details"]["field"], field, "{wrong}: {refused}");
        assert!(refused["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{wrong}: {refused}");
    }
    assert_eq!(app.get(PATH).await["scanDepth"], 2);
}

/// Domain 9: the settings of one user do not apply to another.
#[tokio::test]
async fn lore_settings_are_private_to_user() {
    let app = TestServer::start().await;
    app.put(PATH, &json!({"scanDepth": 9})).await;
    let stranger = app.create_other_user().await;
    let read = move |reader: &mut clotho_store::StoreReader<'_>| reader.lore_settings(stranger.user);
    assert_eq!(app.app().store.read(read).await.unwrap(), None);
}

/// Domain 6.6: a test of a book uses global variables and counts tokens as a send does.
#[tokio::test]
async fn lorebook_test_uses_global_variables_like_send() {
    let (play, book) =
        start_with_entries(json!([entry(1, "gate", "Season: {{getglobalvar::season}}.", json!({}))])).await;
    let all = json!({"kind": "variables", "name": "All", "body": {"season": "winter"}});
    play.server.post("/api/presets", &all).await;
    let tried = |body: Value| play.server.request("POST", "/api/lorebooks/test").json(&body).send();
    let here = tried(json!({"sessionId": play.sid, "text": "The gate."})).await.json();
    let alone = tried(json!({"text": "The gate.", "lorebookIds": [book]})).await.json();
    let said = play.run_turn("The gate.").await;
    assert!(last_request_contains(&play, "Season: winter."));
    let told = lore_trace(&play, &said).await;
    for one in [&here["fired"][0], &alone["fired"][0]] {
        assert_eq!((&one["text"], &one["tokens"]), (&json!("Season: winter."), &told["fired"][0]["tokens"]));
    }
}

/// Lore settings do not activate books that are linked elsewhere.
#[tokio::test]
async fn lore_settings_do_not_activate_unlinked_books() {
    let (play, _) = start_with_entries(json!([])).await;
    let other = create_lorebook(&play, json!([entry(1, "gate", "Elsewhere.", json!({}))])).await;
    play.server.put(PATH, &json!({"scanDepth": 1_000, "minActivations": 1_000})).await;
    play.run_turn("The gate.").await;
    assert!(!last_request_contains(&play, "Elsewhere."));
    put_lorebook_holds(&play, &other, json!({"everything": true})).await;
    play.run_turn("The gate.").await;
    assert!(last_request_contains(&play, "Elsewhere."));
}
