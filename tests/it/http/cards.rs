//! Cards of other programs are imported, played and exported, and characters have pictures.

use super::*;
use crate::interop::{case_files, read_fixture};
use crate::support::client::HttpResponse;

async fn import_card(app: &TestServer, file: &[u8]) -> HttpResponse {
    app.request("POST", "/api/characters/import").bytes(file, "application/octet-stream").send().await
}

async fn get_raw(app: &TestServer, path: &str) -> HttpResponse {
    let heard = app.request("GET", path).send_raw().await;
    assert_eq!(heard.status, 200, "{path}: {}", heard.text());
    heard
}

/// Returns a multipart form with one file.
fn multipart_form(file: &[u8], name: &str) -> Vec<u8> {
    let head = format!(
        "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\nContent-Type: image/png\r\n\r\n"
    );
    [head.as_bytes(), file, b"\r\n--b--\r\n"].concat()
}

const FORM: &str = "multipart/form-data; boundary=b";

/// The favourite flag is served with the character, survives other changes, and is not exported with the card.
#[tokio::test]
async fn favourite_flag_is_kept_and_not_exported() {
    let app = TestServer::start().await;
    let made = app.post("/api/characters", &json!({"name": "Rin"})).await;
    assert_eq!(made["isFavourite"], false);
    let cid = id_of(&made);
    let address = format!("/api/characters/{cid}");
    let changed = app.request("PATCH", &address).json(&json!({"isFavourite": true})).send().await.expect(200);
    assert_eq!(changed["isFavourite"], true);
    app.request("PATCH", &address).json(&json!({"description": "A pilot."})).send().await.expect(200);
    let list = app.get("/api/characters").await;
    let rin = list["items"].as_array().unwrap().iter().find(|one| one["id"] == made["id"]).unwrap();
    assert_eq!((&rin["isFavourite"], &rin["description"]), (&json!(true), &json!("A pilot.")));
    let card = get_raw(&app, &format!("{address}/export?format=json")).await.json();
    assert!(card["data"]["extensions"].get("fav").is_none_or(|fav| fav == false), "{card}");
    let wrong = app.request("PATCH", &address).json(&json!({"isFavourite": "yes"})).send().await;
    assert_eq!(wrong.status, 422);
}

/// S0-05: a card is imported, its texts are sent to the model, its picture is served, and the export has every field.
#[tokio::test]
async fn card_import_chat_and_export_keep_every_field() {
    // Import and report.
    let app = TestServer::start().await;
    let file = multipart_form(&read_fixture("cards/png-unicode-book.png"), "../灯.png");
    let came = app.request("POST", "/api/characters/import").bytes(&file, FORM).send().await.expect(201);
    assert_eq!(came["name"], "灯塔守 🦦");
    assert_eq!(came["metadata"]["creator"], "Zoë");
    let item = &came["report"]["items"][0];
    assert_eq!((&item["kind"], &item["file"], &item["id"]), (&json!("character"), &json!("灯.png"), &came["id"]));
    assert_eq!(came["report"]["items"][1]["findings"][0]["code"], "lore");
    let cid = id_of(&came);

    // The picture in all sizes, without the card's data.
    let avatar = came["avatar"].as_str().unwrap();
    let picture = get_raw(&app, avatar).await;
    assert_eq!(picture.header("content-type"), Some("image/png"));
    assert_eq!(picture.header("cache-control"), Some("private, max-age=31536000, immutable"));
    assert_eq!(picture.header("x-content-type-options"), Some("nosniff"));
    assert!(picture.header("content-security-policy").unwrap().starts_with("default-src 'none'"));
    assert!(!picture.text().contains("chara"), "the card is not in the picture that is shown");
    let mut lengths = Vec::new();
    for size in ["96", "384", "small"] {
        let small = get_raw(&app, &format!("{avatar}&size={size}")).await;
        assert!(matches!(small.header("content-type"), Some("image/jpeg" | "image/png")));
        assert_eq!(small.header("cache-control"), picture.header("cache-control"));
        lengths.push(small.body.len());
    }
    assert!(lengths[0] <= lengths[1] && lengths[1] == lengths[2], "{lengths:?}");
    let wrong = app.request("GET", &format!("{avatar}&size=97")).send().await.expect(422);
    assert_eq!(wrong["error"]["code"], "invalid");
    let tag = picture.header("etag").unwrap();
    let known = app.request("GET", avatar).header("if-none-match", tag).send_raw().await;
    assert_eq!((known.status, known.body.len()), (304, 0));

    // The card's texts are sent to the model.
    let session = app.post("/api/sessions", &json!({"characterIds": [cid]})).await;
    let (sid, leaf) = (id_of(&session), session["activeLeafId"].clone());
    app.mock().queue_reply(Reply::ok(["好。"]));
    let message = json!({"parentId": leaf, "content": "你好", "generate": true});
    app.post(&format!("/api/chat/{sid}/message"), &message).await;
    app.mock().wait_for_requests(1).await;
    let asked = app.mock().requests();
    assert!(asked[0].to_string().contains("雾里的灯"), "{}", asked[0]);

    // Every export format can be imported again without loss.
    let out = get_raw(&app, &format!("/api/characters/{cid}/export?format=json")).await;
    assert_eq!(out.header("content-type"), Some("application/json"));
    assert!(out.header("content-disposition").unwrap().starts_with("attachment"));
    assert_eq!(out.json()["data"]["character_book"]["entries"][0]["extensions"]["third_party"], json!({"a": 1}));
    for format in ["png", "charx", "json"] {
        let out = get_raw(&app, &format!("/api/characters/{cid}/export?format={format}")).await;
        let again = import_card(&app, &out.body).await.expect(201);
        for field in ["name", "description", "firstMessage", "alternateGreetings", "tags", "creatorNotes"] {
            assert_eq!(again[field], came[field], "{format}");
        }
        assert_eq!(again["metadata"]["extensions"], came["metadata"]["extensions"], "{format}");
    }
    app.request("GET", &format!("/api/characters/{cid}/export?format=exe")).send().await.expect_error("invalid");
}

/// Every recorded card is imported or refused with a hint. The same request twice creates one character.
#[tokio::test]
async fn card_import_of_recorded_files_matches_expectation() {
    let app = TestServer::start().await;
    for case in case_files("cards") {
        let heard = import_card(&app, &read_fixture(&format!("cards/{case}"))).await;
        let expected =
            crate::interop::read_fixture_json(&format!("cards/{}.expect.json", case.rsplit_once('.').unwrap().0));
        if expected["import_ok"] == true {
            heard.expect(201);
        } else {
            let error = heard.expect_error("invalid");
            assert_eq!(error["details"]["field"], "file", "{case} {error}");
        }
    }
    let before = app.get("/api/characters").await["items"].as_array().unwrap().len();
    let file = read_fixture("cards/v2-full.json");
    for _ in 0..2 {
        let ask = app.request("POST", "/api/characters/import").header("idempotency-key", "k1");
        ask.bytes(&file, "application/json").send().await.expect(201);
    }
    assert_eq!(app.get("/api/characters").await["items"].as_array().unwrap().len(), before + 1);
}

/// Invalid uploads are refused with a specific code: no file, a broken form, an unknown encoding or too much data.
#[tokio::test]
async fn card_import_of_bad_upload_is_refused() {
    let app = TestServer::start().await;
    let ask = |body: &[u8], kind: &str| app.request("POST", "/api/characters/import").bytes(body, kind);
    ask(b"", "image/png").send().await.expect_error("invalid");
    ask(b"--b--", FORM).send().await.expect_error("malformed");
    ask(b"x", "multipart/form-data").send().await.expect_error("malformed");
    ask(&multipart_form(b"<svg/>", "x.svg"), FORM).send().await.expect_error("invalid");
    ask(b"x", "image/png").header("content-encoding", "gzip").send().await.expect_error("unsupported_media");
    let huge =
        app.request("POST", "/api/characters/import").header("content-type", "image/png").content_length(1 << 30);
    huge.send().await.expect_error("too_large");
    let long = json!({"name": "x", "description": "y".repeat(600 << 10)}).to_string();
    let error = ask(long.as_bytes(), "application/json").send().await.expect_error("too_large");
    assert_eq!(error["details"]["field"], "description");
    assert_eq!(app.get("/api/trash").await["items"], json!([]));
}

/// A picture can be replaced and removed. Anything but an accepted raster image is refused.
#[tokio::test]
async fn avatar_upload_replaces_picture_and_refuses_svg() {
    let app = TestServer::start().await;
    let cid = id_of(&app.post("/api/characters", &json!({"name": "Rin"})).await);
    let path = format!("/api/characters/{cid}/avatar");
    app.request("GET", &path).send().await.expect_error("not_found");
    let put = |body: Vec<u8>, kind: &'static str| app.request("PUT", &path).bytes(&body, kind).send();
    let drawn = clotho_compat::interop::picture::png_or_placeholder(None);
    let changed = put(drawn.clone(), "image/png").await.expect(200);
    let avatar = changed["avatar"].as_str().unwrap().to_owned();
    assert!(avatar.starts_with(&path), "{avatar}");
    assert_eq!(get_raw(&app, &avatar).await.body, drawn);
    assert_eq!(get_raw(&app, &path).await.header("cache-control"), Some("private, no-cache"));
    let svg = b"<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"alert(1)\"/>".to_vec();
    put(svg.clone(), "image/png").await.expect_error("unsupported_media");
    put(multipart_form(&svg, "x.png"), FORM).await.expect_error("unsupported_media");
    put(drawn[..100].to_vec(), "image/png").await.expect_error("invalid");
    let other = put(multipart_form(&read_fixture("cards/png-chara-v1.png"), "a.png"), FORM).await.expect(200);
    assert_ne!(other["avatar"], changed["avatar"]);
    app.app().store.gc_blobs().await.unwrap();
    assert!(!get_raw(&app, &path).await.body.is_empty(), "what is shown is not swept away");
    app.request("PATCH", &format!("/api/characters/{cid}")).json(&json!({"avatar": null})).send().await.expect(200);
    app.request("GET", &path).send().await.expect_error("not_found");
    let (gone, _) = app.app().store.gc_blobs().await.unwrap();
    assert!(gone >= 2, "{gone}");
}

/// Cards with scripts larger than the limit of a character are imported; the scripts are stored separately.
#[tokio::test]
async fn card_with_large_scripts_imports_and_exports_them() {
    let app = TestServer::start().await;
    let script = json!({"tavern_helper": {"scripts": [{"content": "x".repeat(3 << 20)}]}, "fav": true});
    let card = json!({"spec": "chara_card_v2", "data": {"name": "Rin", "extensions": script}}).to_string();
    let came = import_card(&app, card.as_bytes()).await.expect(201);
    let codes: Vec<&Value> =
        came["report"]["items"][0]["findings"].as_array().unwrap().iter().map(|finding| &finding["code"]).collect();
    assert!(codes.contains(&&json!("scripts")) && codes.contains(&&json!("extensions_beside")), "{codes:?}");
    assert!(came["metadata"].get("extensions").is_none());
    let out = get_raw(&app, &format!("/api/characters/{}/export?format=json", id_of(&came))).await.json();
    assert_eq!(out["data"]["extensions"]["tavern_helper"], script["tavern_helper"]);
    let listed = app.get("/api/characters?limit=500").await;
    assert!(listed["items"].as_array().unwrap().iter().all(|one| one["metadata"].get("card").is_none()));
}

/// Personas of a settings file are imported together, with a report on each. The same request twice creates them once.
#[tokio::test]
async fn persona_import_from_settings_reports_each_persona() {
    let app = TestServer::start().await;
    let settings = json!({"power_user": {
        "default_persona": "a.png",
        "personas": {"a.png": "Ann", "b.png": "Bo"},
        "persona_descriptions": {"a.png": {"description": "A smith.", "position": 0}, "b.png": {"description": "x".repeat(600 << 10)}},
    }});
    let stranger = TestServer::start().await;
    let untrusted = stranger.request("POST", "/api/personas/import");
    untrusted.bytes(settings.to_string().as_bytes(), "application/json").send().await.expect(201);
    assert_eq!(stranger.get("/api/personas/choices").await["defaultId"], Value::Null);
    let ask = || {
        let ask = app.request("POST", "/api/personas/import?trust=true").header("idempotency-key", "p1");
        ask.bytes(settings.to_string().as_bytes(), "application/json").send()
    };
    let came = ask().await.expect(201);
    let items = came["items"].as_array().unwrap();
    assert_eq!((items.len(), &items[0]["name"], &items[0]["description"]), (1, &json!("Ann"), &json!("A smith.")));
    let fates: Vec<&Value> = came["report"]["items"].as_array().unwrap().iter().map(|item| &item["fate"]).collect();
    assert_eq!(fates, ["works", "skipped"]);
    assert_eq!(app.get("/api/personas/choices").await["defaultId"], items[0]["id"]);
    ask().await.expect(201);
    assert_eq!(app.get("/api/personas").await["items"].as_array().unwrap().len(), 1);
    let session =
        json!({"characterIds": [app.create_character(&json!({"name": "Rin"})).await], "personaId": items[0]["id"]});
    app.post("/api/sessions", &session).await;
    app.request("POST", "/api/personas/import").bytes(b"{}", "application/json").send().await.expect_error("invalid");
    let drawn = clotho_compat::interop::picture::png_or_placeholder(None);
    let path = format!("/api/personas/{}/avatar", items[0]["id"].as_str().unwrap());
    let changed = app.request("PUT", &path).bytes(&drawn, "image/png").send().await.expect(200);
    assert_eq!(get_raw(&app, changed["avatar"].as_str().unwrap()).await.body, drawn);
}

/// A new session gets the persona that is locked to its first character, else the default one, unless it names another
/// or none. A choice does not count while its persona is in the trash.
#[tokio::test]
async fn session_created_without_persona_gets_locked_or_default_persona() {
    let app = TestServer::start().await;
    let rin = json!(app.create_character(&json!({"name": "Rin"})).await);
    let ivo = json!(app.create_character(&json!({"name": "Ivo"})).await);
    let ann = json!(id_of(&app.post("/api/personas", &json!({"name": "Ann"})).await));
    let bo = json!(id_of(&app.post("/api/personas", &json!({"name": "Bo"})).await));
    let played = async |character: &Value| {
        app.post("/api/sessions", &json!({"characterIds": [character]})).await["personaId"].clone()
    };
    let path = "/api/personas/choices";
    assert_eq!(app.get(path).await, json!({"defaultId": null, "locks": []}));
    assert_eq!(played(&rin).await, Value::Null);
    app.put(path, &json!({"personaId": ann})).await;
    let chosen = app.put(path, &json!({"characterId": ivo, "personaId": bo})).await;
    let lock = json!({"characterId": ivo, "personaId": bo});
    assert_eq!(chosen, json!({"defaultId": ann, "locks": [lock]}));
    assert_eq!(app.get(path).await, chosen);
    assert_eq!((played(&rin).await, played(&ivo).await), (ann.clone(), bo.clone()));
    let nobody = app.post("/api/sessions", &json!({"characterIds": [ivo], "personaId": null})).await;
    assert_eq!(nobody["personaId"], Value::Null, "a request can ask for no persona");
    let named = app.post("/api/sessions", &json!({"characterIds": [ivo], "personaId": ann})).await;
    assert_eq!(named["personaId"], ann);
    app.request("DELETE", &format!("/api/personas/{}", bo.as_str().unwrap())).send().await.expect(204);
    assert_eq!(played(&ivo).await, ann, "the default stands in for a persona in the trash");
    let freed = app.put(path, &json!({"characterId": null, "personaId": null})).await;
    assert_eq!((&freed["defaultId"], played(&rin).await), (&Value::Null, Value::Null));
}

/// A choice that names nothing, or something unknown, is refused and changes nothing.
#[tokio::test]
async fn persona_choice_of_unknown_thing_is_refused() {
    let app = TestServer::start().await;
    let rin = json!(app.create_character(&json!({"name": "Rin"})).await);
    let ann = json!(id_of(&app.post("/api/personas", &json!({"name": "Ann"})).await));
    let choose = async |body: Value| app.request("PUT", "/api/personas/choices").json(&body).send().await;
    choose(json!({"characterId": rin})).await.expect_error("invalid");
    choose(json!({"personaId": rin})).await.expect_error("not_found");
    choose(json!({"characterId": ann, "personaId": ann})).await.expect_error("not_found");
    choose(json!({"persona": ann})).await.expect_error("invalid");
    assert_eq!(app.get("/api/personas/choices").await, json!({"defaultId": null, "locks": []}));
}
