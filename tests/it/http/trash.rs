//! The trash: deleted things can be restored as they were, and are destroyed only after a confirmation.

use diesel::prelude::*;

use super::purges::{files_containing, wait_until_gone};
use super::*;
use crate::support::test_store::{doctor_findings, query_count};

impl TestServer {
    async fn delete(&self, target: &str) {
        self.request("DELETE", target).send().await.expect(204);
    }

    async fn restore(&self, id: &str) {
        self.request("POST", &format!("/api/trash/{id}/restore")).send().await.expect(204);
    }
}

/// Opens the database directly.
fn open_connection(app: &TestServer) -> SqliteConnection {
    let file = app.app().home().join("data/clotho.db");
    crate::support::open_second_connection(&file)
}

/// `domain.md` 2.17: deleted things are listed with kind, name and deadline, newest first and in pages. A restored one
/// has everything that it had, and can be read and found.
#[tokio::test]
async fn trash_restore_brings_back_everything() {
    let app = TestServer::start().await;
    let (session, line) = app.create_branch(3).await;
    let sid = id_of(&session);
    let cid = session["characterIds"][0].as_str().unwrap().to_owned();
    let pid = id_of(&app.post("/api/personas", &json!({"name": "Ada"})).await);
    search_until(&app, "message", 3).await;
    let tree = app.get(&format!("/api/chat/{sid}/tree")).await["nodes"].clone();
    let card = app.get(&format!("/api/characters/{cid}")).await;
    app.delete(&format!("/api/characters/{cid}")).await;
    app.delete(&format!("/api/personas/{pid}")).await;
    app.delete(&format!("/api/sessions/{sid}")).await;

    let trash = app.get("/api/trash").await;
    let told = |item: &Value| (item["kind"].clone(), item["name"].clone(), item["id"].clone(), item["nodes"].clone());
    let expected = [
        (json!("session"), session["title"].clone(), json!(sid), json!(4)),
        (json!("persona"), json!("Ada"), json!(pid), json!(null)),
        (json!("character"), json!("Rin"), json!(cid), json!(null)),
    ];
    assert_eq!(trash["items"].as_array().unwrap().iter().map(told).collect::<Vec<_>>(), expected);
    let time = |key: &str| trash["items"][0][key].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    assert_eq!(time("until").duration_since(time("trashedAt")).as_hours(), 30 * 24);
    let page = app.get("/api/trash?limit=2").await;
    let rest = app.get(&format!("/api/trash?limit=2&cursor={}", page["next"].as_str().unwrap())).await;
    assert_eq!((rest["items"].as_array().unwrap().len(), &rest["next"]), (1, &json!(null)));

    app.request("GET", &format!("/api/sessions/{sid}")).send().await.expect_error("not_found");
    for id in [&sid, &cid, &pid] {
        app.restore(id).await;
        app.request("POST", &format!("/api/trash/{id}/restore")).send().await.expect_error("not_found");
    }
    assert_eq!(app.get("/api/trash").await["items"], json!([]));
    assert_eq!(app.get(&format!("/api/chat/{sid}/tree")).await["nodes"], tree);
    assert_eq!(app.get(&format!("/api/characters/{cid}")).await, card);
    assert_eq!(search_until(&app, "message", 3).await["total"]["value"], 3);
    let body = json!({"parentId": line[3], "content": "And on."});
    app.post(&format!("/api/chat/{sid}/message"), &body).await;
}

/// S0-20, `domain.md` 2.16: destroying first reports what would be deleted. Then no table has any row of it, and other
/// data is unchanged. The server never reuses a number.
#[tokio::test]
async fn trash_destroy_after_confirmation_leaves_no_rows() {
    // Without confirmation nothing is destroyed.
    let app = TestServer::start().await;
    let kept = app.create_session().await;
    let play = app.create_branch(5).await;
    let (sid, cid) = (id_of(&play.0), play.0["characterIds"][0].as_str().unwrap().to_owned());
    app.request("DELETE", &format!("/api/trash/{sid}?confirm=true")).send().await.expect_error("not_found");
    app.delete(&format!("/api/sessions/{sid}")).await;
    app.delete(&format!("/api/characters/{cid}")).await;
    let error = app.request("DELETE", &format!("/api/trash/{sid}")).send().await.expect_error("invalid");
    let details = json!({"field": "confirm", "kind": "session", "name": play.0["title"], "nodes": 6});
    assert_eq!(error["details"], details);
    assert_eq!(app.get("/api/trash").await["items"].as_array().unwrap().len(), 2, "nothing was done");

    // After it, no table has a row of the session.
    let newest = |table: &str| query_count(&mut open_connection(&app), &format!("SELECT max(n) AS n FROM {table}"));
    let before = ["nodes", "operations"].map(newest);
    app.delete(&format!("/api/trash/{sid}?confirm=true")).await;
    app.delete(&format!("/api/trash/{cid}?confirm=true")).await;
    assert_eq!(app.get("/api/trash").await["items"], json!([]));
    app.request("POST", &format!("/api/trash/{sid}/restore")).send().await.expect_error("not_found");
    let found = |what: &str| query_count(&mut open_connection(&app), &format!("SELECT count(*) AS n FROM {what}"));
    assert_eq!(found("texts WHERE content LIKE 'message%'"), 0);
    assert_eq!((found("nodes"), found("operations")), (2, 1), "only what the other session has");
    assert_eq!((found("sessions WHERE trashed = 0"), found("sessions")), (0, 1));
    assert_eq!(found("pragma_foreign_key_check"), 0);
    let is_well = |app: &TestServer| {
        let found = doctor_findings(&app.app().home().join("data/clotho.db"), false);
        assert!(found.is_empty(), "{found:#?}");
    };
    is_well(&app);

    // The server goes on, after restarts too, and reuses no number.
    let app = app.restart().await;
    let parent = kept["activeLeafId"].clone();
    let chat = format!("/api/chat/{}/message", id_of(&kept));
    app.post(&chat, &json!({"parentId": parent, "content": "still here"})).await;
    search_until(&app, "still", 1).await;
    assert_eq!(app.get("/api/search?q=message").await["items"], json!([]));
    let newest = |table: &str| query_count(&mut open_connection(&app), &format!("SELECT max(n) AS n FROM {table}"));
    assert_eq!(["nodes", "operations"].map(newest), before.map(|n| n + 1));
    let app = app.restart().await;
    is_well(&app);
    assert_eq!(app.get(&format!("/api/sessions/{}", id_of(&kept))).await["counts"]["nodes"], 2);
}

/// Domain 2.16: a session that is deleted and destroyed at once leaves nothing in the index, in stored answers or in
/// any file. The index still reaches the end of the log, and other data is found.
#[tokio::test]
async fn trash_immediate_destroy_leaves_nothing_on_disk() {
    const WORD: &str = "Xylophonebananas";
    let app = TestServer::start().await;
    app.create_branch(1).await;
    let session = app.create_session().await;
    let sid = id_of(&session);
    let body = json!({"parentId": session["activeLeafId"], "content": format!("The password is {WORD}.")});
    let chat = format!("/api/chat/{sid}/message");
    app.request("POST", &chat).header("Idempotency-Key", "k1").json(&body).send().await.expect(201);
    search_until(&app, WORD, 1).await;
    let data = app.app().home().join("data");
    assert!(!files_containing(&data, WORD).is_empty());

    app.delete(&format!("/api/sessions/{sid}")).await;
    app.delete(&format!("/api/trash/{sid}?confirm=true")).await;
    wait_until_gone(&data, WORD).await;
    let inside = app.app();
    assert_eq!(inside.search.sessions().unwrap().len(), 1);
    assert_eq!(inside.search.len(), 2, "the greeting and the message that stay");
    let newest = inside.store.read(|reader| reader.newest_cursor()).await.unwrap();
    assert_eq!(inside.search.progress().visible, newest);
    let found = doctor_findings(&data.join("clotho.db"), false);
    assert!(found.is_empty(), "{found:#?}");
    let app = app.restart().await;
    assert_eq!(app.get(&format!("/api/search?q={WORD}")).await["items"], json!([]));
    search_until(&app, "message", 1).await;
}

/// `domain.md` 2.17: a session keeps its card and persona when those are deleted and destroyed.
#[tokio::test]
async fn session_keeps_cards_deleted_from_library() {
    let app = TestServer::start().await;
    let cid = app.create_character(&json!({"name": "Rin", "firstMessage": "Hello."})).await;
    let pid = id_of(&app.post("/api/personas", &json!({"name": "Ada", "description": "A smith."})).await);
    let session = app.post("/api/sessions", &json!({"characterIds": [cid], "personaId": pid})).await;
    for (kind, one) in [("characters", &cid), ("personas", &pid)] {
        app.delete(&format!("/api/{kind}/{one}")).await;
        app.delete(&format!("/api/trash/{one}?confirm=true")).await;
    }
    app.mock().queue_reply(Reply::ok(["Welcome."]));
    let body = json!({"parentId": session["activeLeafId"], "content": "Hi.", "generate": true});
    let said = app.post(&format!("/api/chat/{}/message", id_of(&session)), &body).await;
    app.mock().wait_for_requests(1).await;
    let sent = app.mock().requests()[0].to_string();
    assert!(sent.contains("A smith.") && sent.contains("Rin"), "{sent}");
    assert!(said["generations"][0]["id"].is_string());
}

/// S0-05: unknown fields of a card are kept when it is created, changed and read, and after a restore.
#[tokio::test]
async fn card_unknown_fields_survive_update_and_restore() {
    let app = TestServer::start().await;
    let metadata = json!({"extensions": {"depth_prompt": {"depth": 4, "prompt": "斩"}, "fav": true, "talkativeness": "0.5"},
        "character_version": "1.0", "x": [null, 1.50, {}]});
    let cid = app.create_character(&json!({"name": "Rin", "metadata": metadata})).await;
    let path = format!("/api/characters/{cid}");
    app.request("PATCH", &path).json(&json!({"description": "A guard."})).send().await.expect(200);
    let merged =
        app.request("PATCH", &path).json(&json!({"metadata": {"character_version": "2.0"}})).send().await.expect(200);
    let mut expected = metadata.clone();
    expected["character_version"] = json!("2.0");
    // A nested null is data; only a null at the top level of a change removes a field.
    assert_eq!((&merged["metadata"], &merged["description"]), (&expected, &json!("A guard.")));
    app.delete(&path).await;
    app.restore(&cid).await;
    assert_eq!(app.get(&path).await["metadata"], expected);
}

/// Nobody can see, restore or destroy what another user deleted.
#[tokio::test]
async fn trash_of_other_user_returns_not_found() {
    let app = TestServer::start().await;
    let stranger = app.create_other_user().await;
    let (user, session, character) = (stranger.user, stranger.session, stranger.character);
    let at = app.app().clock.now();
    let write = app.app().store.write(move |tx| {
        tx.trash_session(user, session, at)?;
        tx.trash_character(user, character, at)
    });
    write.await.unwrap();
    assert_eq!(app.get("/api/trash").await["items"], json!([]));
    for id in [session.to_string(), character.to_string()] {
        app.request("POST", &format!("/api/trash/{id}/restore")).send().await.expect_error("not_found");
        app.request("DELETE", &format!("/api/trash/{id}?confirm=true")).send().await.expect_error("not_found");
    }
    let theirs = app.app().store.read(move |reader| reader.trash(user, 0, 10)).await.unwrap();
    assert_eq!(theirs.len(), 2);
}
