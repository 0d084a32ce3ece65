//! Lorebooks: creating, editing, import, export, and the link to the character whose card contained them.

use super::*;
use crate::interop::{case_files, read_fixture, read_fixture_json};

async fn get_json_file(app: &TestServer, path: &str) -> Value {
    let heard = app.request("GET", path).send_raw().await;
    assert_eq!(
        (heard.status, heard.header("content-type")),
        (200, Some("application/json")),
        "{path}: {}",
        heard.text()
    );
    heard.json()
}

/// A book is written by entries, read whole or in pages, deleted and restored.
#[tokio::test]
async fn lorebook_create_edit_page_trash_and_restore() {
    let app = TestServer::start().await;
    let entries = json!([{"key": ["gate"], "content": "It squeaks."}, {"uid": 7, "key": ["moss"], "odd": {"a": null}}]);
    let book = app.post("/api/lorebooks", &json!({"name": " Atlas ", "entries": entries})).await;
    let path = format!("/api/lorebooks/{}", id_of(&book));
    assert_eq!((&book["name"], &book["entryCount"]), (&json!("Atlas"), &json!(2)));
    let told: Vec<(&Value, &Value)> =
        book["entries"].as_array().unwrap().iter().map(|entry| (&entry["uid"], &entry["key"])).collect();
    assert_eq!(told, [(&json!(8), &json!(["gate"])), (&json!(7), &json!(["moss"]))]);
    assert_eq!(book["entries"][0]["probability"], 100, "what nobody said has its usual value");
    assert_eq!(book["entries"][1]["odd"], json!({"a": null}));
    let page = app.get(&format!("{path}/entries?limit=1")).await;
    assert_eq!(page["items"].as_array().unwrap().len(), 1);
    let next = app.get(&format!("{path}/entries?limit=1&cursor={}", page["next"].as_str().unwrap())).await;
    assert_eq!((&next["items"][0]["uid"], &next["next"]), (&json!(7), &Value::Null));
    let changed = app.request("PATCH", &path).json(&json!({"entries": []})).send().await.expect(200);
    assert_eq!((&changed["name"], &changed["entryCount"]), (&json!("Atlas"), &json!(0)));
    let listed = app.get("/api/lorebooks").await;
    assert!(listed["items"][0].get("entries").is_none(), "{listed}");
    for (body, field) in
        [(json!({"name": " "}), "name"), (json!({"entries": [5]}), "entries[0]"), (json!({"entires": []}), "entires")]
    {
        let error = app.request("PATCH", &path).json(&body).send().await.expect_error("invalid");
        assert_eq!(error["details"]["field"], field);
    }
    app.request("DELETE", &path).send().await.expect(204);
    app.request("GET", &path).send().await.expect_error("not_found");
    let trash = app.get("/api/trash").await;
    assert_eq!((&trash["items"][0]["kind"], &trash["items"][0]["name"]), (&json!("lorebook"), &json!("Atlas")));
    app.request("POST", &format!("/api/trash/{}/restore", id_of(&book))).send().await.expect(204);
    assert_eq!(app.get(&path).await["name"], "Atlas");
    app.request("DELETE", &path).send().await.expect(204);
    app.request("DELETE", &format!("/api/trash/{}?confirm=true", id_of(&book))).send().await.expect(204);
    assert_eq!(app.get("/api/trash").await["items"], json!([]));
}

/// An entry is added, changed and removed separately. Other entries stay unchanged, with concurrent edits too.
#[tokio::test]
async fn lorebook_entry_edit_leaves_other_entries_unchanged() {
    let app = TestServer::start().await;
    let entries = json!([{"uid": 7, "key": ["moss"], "odd": {"a": null}}, {"uid": "a/b", "content": "A word."}]);
    let path = format!(
        "/api/lorebooks/{}",
        id_of(&app.post("/api/lorebooks", &json!({"name": "Atlas", "entries": entries})).await)
    );
    let add = |entry: Value| app.request("POST", &format!("{path}/entries")).json(&json!({"entry": entry}));
    let gate = add(json!({"key": ["gate"], "content": "It squeaks."})).header("idempotency-key", "once");
    let made = gate.clone().send().await.expect(201);
    assert_eq!((&made["uid"], &made["probability"]), (&json!(8), &json!(100)));
    assert_eq!(gate.send().await.expect(201), made, "asked twice, kept once");
    let at_once = futures_util::future::join_all((0..8).map(|n| add(json!({"comment": n.to_string()})).send())).await;
    let mut uids: Vec<u64> = at_once.iter().map(|heard| heard.expect(201)["uid"].as_u64().unwrap()).collect();
    uids.sort_unstable();
    assert_eq!(uids, (9..17).collect::<Vec<_>>(), "none was lost to another");

    let change = |uid: &str, entry: Value| {
        app.request("PATCH", &format!("{path}/entries/{uid}")).json(&json!({"entry": entry})).send()
    };
    let moss = change("7", json!({"disable": true})).await.expect(200);
    assert_eq!((&moss["disable"], &moss["key"], &moss["odd"]), (&json!(true), &json!(["moss"]), &json!({"a": null})));
    assert_eq!(change("a%2Fb", json!({"constant": true})).await.expect(200)["content"], "A word.");
    let error = change("7", json!({"uid": 3})).await.expect_error("invalid");
    assert_eq!(error["details"]["field"], "entry.uid");
    change("99", json!({})).await.expect_error("not_found");
    let typo = app.request("POST", &format!("{path}/entries")).json(&json!({"entries": {}})).send().await;
    assert_eq!(typo.expect_error("invalid")["details"]["field"], "entries");

    app.request("DELETE", &format!("{path}/entries/7")).send().await.expect(204);
    app.request("DELETE", &format!("{path}/entries/7")).send().await.expect_error("not_found");
    assert_eq!(add(moss.clone()).send().await.expect(201), moss, "brought back, it is the same one");
    let book = app.get(&path).await;
    assert_eq!(book["entryCount"], 11);
    let keys: Vec<&Value> = book["entries"].as_array().unwrap().iter().map(|entry| &entry["uid"]).collect();
    assert_eq!((keys.first(), keys.last()), (Some(&&json!("a/b")), Some(&&json!(7))));
}

/// A write that names the values it saw overwrites nobody. On a conflict it gets the current entry and can be
/// repeated with that. A write that names none is accepted as before.
#[tokio::test]
async fn lorebook_entry_stale_write_is_conflict() {
    let app = TestServer::start().await;
    let seen = json!({"uid": 7, "key": ["moss"], "content": "Green.", "weight": 0.70, "odd": {"a": null}});
    let book = app.post("/api/lorebooks", &json!({"name": "Atlas", "entries": [seen]})).await;
    let path = format!("/api/lorebooks/{}/entries/7", id_of(&book));
    let write = |method: &'static str, body: Value| app.request(method, &path).json(&body).send();
    let now = || async { app.get(&format!("/api/lorebooks/{}", id_of(&book))).await["entries"][0].clone() };
    let mine = json!({"content": "Mine."});

    // Two people have read the same entry. A browser may write a number differently, but it is the same number.
    let read = json!({"key": ["moss"], "content": "Green.", "weight": 0.7, "order": 100, "comment": "", "never": null});
    write("PATCH", json!({"entry": {"content": "Theirs."}, "expectedEntry": read})).await.expect(200);
    let body = json!({"entry": mine, "expectedEntry": read});
    let error = write("PATCH", body.clone()).await.expect_error("conflict");
    assert_eq!((&error["details"]["entry"], &error["details"]["fields"]), (&now().await, &json!(["content"])));
    assert!(error["hint"].as_str().unwrap().contains("expectedEntry"));
    assert_eq!(now().await["content"], "Theirs.");
    let error = write("DELETE", json!({"expectedEntry": read})).await.expect_error("conflict");
    assert_eq!(error["details"]["entry"], now().await);

    // The current entry was seen, so the write is accepted. Repeating a write is no conflict with itself, and neither
    // are changes of other fields.
    write("PATCH", json!({"entry": mine, "expectedEntry": now().await})).await.expect(200);
    assert_eq!(write("PATCH", body).await.expect(200)["content"], "Mine.");
    write("PATCH", json!({"entry": {"disable": true}})).await.expect(200);
    let own = json!({"entry": {"comment": "Moss"}, "expectedEntry": {"comment": ""}});
    assert_eq!(write("PATCH", own).await.expect(200)["disable"], true);

    let typo = write("DELETE", json!({"expected": {}})).await.expect_error("invalid");
    assert_eq!(typo["details"]["field"], "expected");
    let odd = write("PATCH", json!({"entry": {}, "expectedEntry": 5})).await.expect_error("invalid");
    assert_eq!(odd["details"]["field"], "expectedEntry");
    write("DELETE", json!({"expectedEntry": now().await})).await.expect(204);
    write("DELETE", json!({})).await.expect_error("not_found");
}

/// Of simultaneous writes that saw the same entry one is accepted, and the others get a conflict.
#[tokio::test]
async fn lorebook_entry_concurrent_writes_accept_one() {
    let app = TestServer::start().await;
    let book = app.post("/api/lorebooks", &json!({"name": "Atlas", "entries": [{"uid": 7, "content": ""}]})).await;
    let path = format!("/api/lorebooks/{}/entries/7", id_of(&book));
    let write = |n: usize| {
        let body = json!({"entry": {"content": format!("Hand {n}.")}, "expectedEntry": {"content": ""}});
        app.request("PATCH", &path).json(&body).send()
    };
    let heard = futures_util::future::join_all((0..8).map(write)).await;
    let taken: Vec<Value> =
        heard.iter().filter(|heard| heard.status == 200).map(|heard| heard.expect(200)["content"].clone()).collect();
    let now = app.get(&format!("/api/lorebooks/{}", id_of(&book))).await["entries"][0]["content"].clone();
    assert_eq!((taken.len(), taken.first()), (1, Some(&now)));
    for refused in heard.iter().filter(|heard| heard.status != 200) {
        assert_eq!(refused.expect_error("conflict")["details"]["entry"]["content"], now);
    }
}

/// Entries of other programs without a number are identified by their map key.
#[tokio::test]
async fn lorebook_entry_without_uid_uses_its_map_key() {
    let app = TestServer::start().await;
    let sent = br#"{"name": "Old", "entries": {"4": {"key": ["mill"]}, "x": {"key": ["well"], "uid": 4}}}"#;
    let book = app.request("POST", "/api/lorebooks/import").bytes(sent, "application/json").send().await.expect(201);
    let path = format!("/api/lorebooks/{}/entries", id_of(&book));
    let uids = app.get(&path).await["items"].as_array().unwrap().iter().map(|entry| entry["uid"].clone()).collect();
    assert_eq!(Value::Array(uids), json!([4, 4]));
    let change = json!({"entry": {"content": "It turns."}});
    app.request("PATCH", &format!("{path}/4")).json(&change).send().await.expect(200);
    let items = app.get(&path).await["items"].clone();
    assert_eq!((&items[0]["uid"], &items[0]["content"]), (&json!(4), &json!("It turns.")));
    assert_eq!((&items[1]["uid"], &items[1]["key"]), (&json!(5), &json!(["well"])));
}

/// Recorded books are exported as they were imported, with all unknown fields.
#[tokio::test]
async fn lorebook_import_then_export_keeps_recorded_files() {
    let app = TestServer::start().await;
    for case in case_files("books") {
        let sent = app
            .request("POST", "/api/lorebooks/import")
            .bytes(&read_fixture(&format!("books/{case}")), "application/json");
        let book = sent.send().await.expect(201);
        assert_eq!(book["report"]["items"][0]["kind"], "lorebook");
        let out = get_json_file(&app, &format!("/api/lorebooks/{}/export", id_of(&book))).await;
        if case.starts_with("native") {
            let mut expected = read_fixture_json(&format!("books/{case}"));
            expected["name"] = book["name"].clone();
            assert_eq!(out, expected, "{case}");
        }
        let in_card = get_json_file(&app, &format!("/api/lorebooks/{}/export?format=card", id_of(&book))).await;
        assert_eq!(
            in_card["entries"].as_array().unwrap().len(),
            usize::try_from(book["entryCount"].as_u64().unwrap()).unwrap()
        );
    }
    let form = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"Old mill.json\"\r\n\r\n{\"entries\": {}}\r\n--b--";
    let named = app.request("POST", "/api/lorebooks/import").bytes(form.as_bytes(), "multipart/form-data; boundary=b");
    assert_eq!(named.send().await.expect(201)["name"], "Old mill");
    let none = app.request("POST", "/api/lorebooks/import").bytes(b"{}", "application/json").send().await;
    assert_eq!(none.expect_error("invalid")["details"]["field"], "file");
}

/// The book inside a card becomes a lorebook of the character. Edits are exported with the card, and everything else as
/// it was.
#[tokio::test]
async fn card_lorebook_edits_are_exported_with_the_card() {
    let app = TestServer::start().await;
    let card = read_fixture("cards/v2-full.json");
    let came = app.request("POST", "/api/characters/import").bytes(&card, "application/json").send().await.expect(201);
    let (cid, lid) = (id_of(&came), came["lorebookId"].as_str().unwrap().to_owned());
    let kinds: Vec<&Value> = came["report"]["items"].as_array().unwrap().iter().map(|item| &item["kind"]).collect();
    assert_eq!(kinds, ["character", "lorebook"]);
    let book = app.get(&format!("/api/lorebooks/{lid}")).await;
    assert_eq!((&book["name"], &book["entryCount"]), (&json!("Pocket Atlas"), &json!(3)));
    let export = format!("/api/characters/{cid}/export?format=json");
    let original = serde_json::from_slice::<Value>(&card).unwrap()["data"]["character_book"].clone();
    let out = get_json_file(&app, &export).await["data"]["character_book"].clone();
    let mut missing = Vec::new();
    crate::interop::collect_missing_paths(&original, &out, "", &mut missing);
    assert_eq!(missing, Vec::<String>::new());
    let mut entries = book["entries"].clone();
    let at = entries.as_array().unwrap().iter().position(|entry| entry["uid"] == 3).unwrap();
    entries[at]["content"] = json!("The bridge is dry.");
    app.request("PATCH", &format!("/api/lorebooks/{lid}")).json(&json!({"entries": entries})).send().await.expect(200);
    let out = get_json_file(&app, &export).await["data"]["character_book"]["entries"].clone();
    let bridge = out.as_array().unwrap().iter().find(|entry| entry["id"] == 3).unwrap();
    assert_eq!((&bridge["content"], &bridge["priority"]), (&json!("The bridge is dry."), &json!(5)));
    // Another book of the same user or none can be linked, but no book of another user.
    let stranger = app.create_other_user().await;
    let bind =
        |to: Value| app.request("PATCH", &format!("/api/characters/{cid}")).json(&json!({"lorebookId": to})).send();
    let error = bind(json!(stranger.lorebook.to_string())).await.expect_error("not_found");
    assert_eq!(error["details"]["field"], "lorebookId");
    assert_eq!(bind(Value::Null).await.expect(200)["lorebookId"], Value::Null);
    assert!(get_json_file(&app, &export).await["data"].get("character_book").is_none());
    assert_eq!(bind(json!(lid)).await.expect(200)["lorebookId"], json!(lid));
    app.request("DELETE", &format!("/api/lorebooks/{lid}")).send().await.expect(204);
    assert!(
        get_json_file(&app, &export).await["data"].get("character_book").is_none(),
        "in the trash it goes along with nobody"
    );
}

/// A lorebook says which characters are parts of words; a card's book keeps it.
#[tokio::test]
async fn lorebook_word_characters_decide_about_whole_words() {
    let app = TestServer::start().await;
    let entries = json!([{"key": ["кот"], "content": "A cat."}]);
    let book = app.post("/api/lorebooks", &json!({"name": "Cats", "entries": entries})).await;
    let path = format!("/api/lorebooks/{}", id_of(&book));
    for (words, text, expected) in [
        (None, "Который час?", 0),
        (None, "Вот кот.", 1),
        (Some("ascii"), "Который час?", 1),
        (Some("unicode"), "Который час?", 0),
        (Some("ascii"), "Который час?", 1),
    ] {
        if let Some(words) = words {
            let change = json!({"wordCharacters": words});
            let changed = app.request("PATCH", &path).json(&change).send().await.expect(200);
            assert_eq!((&changed["metadata"]["wordCharacters"], &changed["entryCount"]), (&json!(words), &json!(1)));
        }
        let told = app.post("/api/lorebooks/test", &json!({"text": text, "lorebookIds": [book["id"]]})).await;
        assert_eq!(told["fired"].as_array().unwrap().len(), expected, "{words:?} {text}");
    }
    let exported = get_json_file(&app, &format!("{path}/export?format=card")).await;
    let again = app.request("POST", "/api/lorebooks/import").bytes(exported.to_string().as_bytes(), "application/json");
    assert_eq!(again.send().await.expect(201)["metadata"]["wordCharacters"], "ascii");
    let odd = app.request("PATCH", &path).json(&json!({"wordCharacters": "latin"})).send().await;
    odd.expect_error("invalid");
}

/// Keys in one text are split by an import, which says so.
#[tokio::test]
async fn lorebook_import_with_keys_in_one_text_splits_them() {
    let app = TestServer::start().await;
    let sent = json!({"name": "Town", "entries": [
        {"keys": "lamp, lantern", "content": "Lit at dusk.", "enabled": true, "insertion_order": "10", "extensions": {}},
        {"keys": ["mill"], "content": "It turns.", "enabled": true, "extensions": {}},
    ]});
    let sent = app.request("POST", "/api/lorebooks/import").bytes(sent.to_string().as_bytes(), "application/json");
    let book = sent.send().await.expect(201);
    let findings = book["report"]["items"][0]["findings"].as_array().unwrap();
    let split = findings.iter().find(|finding| finding["code"] == "lore_keys_split").unwrap();
    assert_eq!((&split["fate"], &split["args"]["count"]), (&json!("translated"), &json!(1)));
    let asked = json!({"text": "The lantern is lit.", "lorebookIds": [book["id"]]});
    assert_eq!(app.post("/api/lorebooks/test", &asked).await["fired"].as_array().unwrap().len(), 1);
}
