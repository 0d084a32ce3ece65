//! A changed card becomes a version, and a session keeps its own until its owner lets it use another one.

use super::api_session::ApiSession;
use super::*;

/// Starts a session with a character, and returns the session and the address of the character.
async fn start() -> (ApiSession, String) {
    let app = TestServer::start().await;
    let made = app.post("/api/characters", &json!({"name": "Rin", "description": "A pilot."})).await;
    let address = format!("/api/characters/{}", id_of(&made));
    let sid = id_of(&app.post("/api/sessions", &json!({"characterIds": [id_of(&made)]})).await);
    (ApiSession { server: app, sid }, address)
}

fn character_id(address: &str) -> &str {
    address.rsplit('/').next().unwrap()
}

async fn describe(app: &TestServer, address: &str, text: &str) -> Value {
    app.request("PATCH", address).json(&json!({"description": text})).send().await.expect(200)
}

async fn versions(app: &TestServer, address: &str) -> Vec<Value> {
    let listed = app.get(&format!("{address}/versions")).await;
    assert_eq!(listed["next"], Value::Null);
    listed["items"].as_array().unwrap().clone()
}

/// Returns number, origin and changed fields of each version.
async fn outline(app: &TestServer, address: &str) -> Value {
    let all = versions(app, address).await;
    all.iter().map(|one| json!([one["number"], one["origin"], one["changedFields"]])).collect()
}

async fn use_card(play: &ApiSession, body: Value) -> Value {
    play.server.post(&format!("/api/sessions/{}/cards", play.sid), &body).await
}

/// Returns everything that the model got for the next message.
async fn prompt(play: &ApiSession) -> String {
    play.run_turn("Go on.").await;
    play.server.mock().requests().pop().unwrap()["messages"].to_string()
}

fn card_file(description: &str, scripts: Value) -> Vec<u8> {
    let data = json!({
        "name": "Rin", "description": description, "first_mes": "Hello.", "extensions": {"regex_scripts": scripts},
    });
    json!({"spec": "chara_card_v2", "spec_version": "2.0", "data": data}).to_string().into_bytes()
}

async fn import_over(app: &TestServer, address: &str, file: &[u8]) -> Value {
    let path = format!("/api/characters/import?characterId={}", character_id(address));
    app.request("POST", &path).bytes(file, "application/json").send().await.expect(201)
}

#[tokio::test]
async fn card_without_changes_has_one_version() {
    let (play, address) = start().await;
    assert_eq!(outline(&play.server, &address).await, json!([[1, "created", []]]));
    let first = play.server.get(&format!("{address}/versions/1")).await;
    assert_eq!((&first["number"], &first["character"]["description"]), (&json!(1), &json!("A pilot.")));
    let listed = play.server.get(&format!("{address}/versions?limit=1")).await;
    assert_eq!((listed["items"].as_array().unwrap().len(), &listed["next"]), (1, &Value::Null));
}

#[tokio::test]
async fn changed_card_becomes_version_and_equal_one_does_not() {
    let (play, address) = start().await;
    describe(&play.server, &address, "A pilot.").await;
    let favourite = json!({"isFavourite": true});
    play.server.request("PATCH", &address).json(&favourite).send().await.expect(200);
    assert_eq!(outline(&play.server, &address).await, json!([[1, "created", []]]));
    describe(&play.server, &address, "A smuggler.").await;
    let creator = json!({"metadata": {"creator": "Zoe"}});
    play.server.request("PATCH", &address).json(&creator).send().await.expect(200);
    let expected = json!([[3, "edit", ["metadata.creator"]], [2, "edit", ["description"]], [1, "created", []],]);
    assert_eq!(outline(&play.server, &address).await, expected);
    let first = play.server.get(&format!("{address}/versions/1")).await;
    assert_eq!(first["character"]["description"], "A pilot.");
    assert_eq!(first["character"]["isFavourite"], true, "the mark is that of today");
    // Pages do not lose what changed at their borders.
    let page = play.server.get(&format!("{address}/versions?limit=2")).await;
    assert_eq!(page["items"][1]["changedFields"], json!(["description"]));
    let next = page["next"].as_str().unwrap();
    let rest = play.server.get(&format!("{address}/versions?limit=2&cursor={next}")).await;
    assert_eq!((&rest["items"][0]["number"], &rest["next"]), (&json!(1), &Value::Null));
}

#[tokio::test]
async fn restored_version_becomes_the_newest() {
    let (play, address) = start().await;
    describe(&play.server, &address, "A smuggler.").await;
    play.server.request("PATCH", &address).json(&json!({"isFavourite": true})).send().await.expect(200);
    let path = format!("{address}/versions/1/restore");
    let restored = play.server.request("POST", &path).send().await.expect(200);
    assert_eq!((&restored["description"], &restored["isFavourite"]), (&json!("A pilot."), &json!(true)));
    let expected = json!([[3, "restore", ["description"]], [2, "edit", ["description"]], [1, "created", []]]);
    assert_eq!(outline(&play.server, &address).await, expected);
    // The session began with this content, so it uses the newest version again.
    let used = &play.session().await["cards"][0];
    assert_eq!((&used["version"], &used["hasNewer"]), (&json!(3), &json!(false)));
}

#[tokio::test]
async fn session_uses_changed_card_after_its_owner_says_so() {
    let (play, address) = start().await;
    let mut socket = play.server.open_socket(&play.sid, None).await;
    let cid = character_id(&address).to_owned();
    describe(&play.server, &address, "A smuggler.").await;
    let outdated = json!([{"characterId": cid, "version": 1, "newestVersion": 2, "hasNewer": true}]);
    assert_eq!(play.session().await["cards"], outdated);
    assert!(prompt(&play).await.contains("A pilot."));
    let told = use_card(&play, json!({"characterId": cid})).await;
    let current = json!([{"characterId": cid, "version": 2, "newestVersion": 2, "hasNewer": false}]);
    assert_eq!(told["cards"], current);
    let frame = socket.read_until_type("session.updated").await.pop().unwrap();
    assert_eq!(frame["session"]["cards"], current);
    let sent = prompt(&play).await;
    assert!(sent.contains("A smuggler.") && !sent.contains("A pilot."), "{sent}");
    assert!(sent.matches("Go on.").count() >= 2, "history stays: {sent}");
    // An older version, and the same one again, which is no operation.
    let older = use_card(&play, json!({"characterId": cid, "version": 1})).await;
    assert_eq!(older["cards"], outdated);
    let again = use_card(&play, json!({"characterId": cid, "version": 1})).await;
    assert_eq!(again["op"], older["op"]);
    assert!(prompt(&play).await.contains("A pilot."));
}

#[tokio::test]
async fn use_of_another_version_can_be_undone() {
    let (play, address) = start().await;
    describe(&play.server, &address, "A smuggler.").await;
    use_card(&play, json!({"characterId": character_id(&address)})).await;
    assert_eq!(play.session().await["cards"][0]["version"], 2);
    play.post("undo", json!({})).await;
    assert_eq!(play.session().await["cards"][0]["version"], 1);
    assert!(prompt(&play).await.contains("A pilot."));
}

#[tokio::test]
async fn import_over_character_becomes_version_and_its_scripts_wait() {
    let (play, address) = start().await;
    let scripts = json!([{"scriptName": "Loud", "findRegex": "/wolf/g", "replaceString": "bear", "placement": [1, 2]}]);
    let came = import_over(&play.server, &address, &card_file("A wolf hunter.", scripts)).await;
    assert_eq!(id_of(&came), character_id(&address));
    assert_eq!(came["requestedSettings"], json!({"regexScripts": true}));
    let newest = &versions(&play.server, &address).await[0];
    assert_eq!((&newest["number"], &newest["origin"]), (&json!(2), &json!("import")));
    let mut other_tab = play.server.open_socket(&play.sid, None).await;
    let told = use_card(&play, json!({"characterId": character_id(&address)})).await;
    assert_eq!(told["regexScripts"]["card"], false);
    assert_eq!(told["requestedSettings"]["regexScripts"]["card"], true);
    let frame = other_tab.read_until_type("session.updated").await.pop().unwrap();
    assert_eq!(frame["session"]["requestedSettings"], told["requestedSettings"]);
    play.run_turn("A wolf.").await;
    let sent = play.server.mock().requests().pop().unwrap()["messages"].to_string();
    assert!(sent.contains("A wolf.") && !sent.contains("A bear."), "{sent}");
}

#[tokio::test]
async fn card_versions_refuse_unknown_ids() {
    let (play, address) = start().await;
    let app = &play.server;
    let nobody = "01990000-0000-7000-8000-000000000009";
    for path in [format!("{address}/versions/2"), format!("{address}/versions/0"), format!("{address}/versions/x")] {
        app.request("GET", &path).send().await.expect_error("not_found");
    }
    app.request("GET", &format!("/api/characters/{nobody}/versions")).send().await.expect_error("not_found");
    app.request("GET", &format!("/api/characters/{nobody}/versions/1")).send().await.expect_error("not_found");
    let restore = format!("{address}/versions/9/restore");
    app.request("POST", &restore).send().await.expect_error("not_found");
    app.request("GET", &format!("{address}/versions?limit=0")).send().await.expect_error("invalid");
    let cards = format!("/api/sessions/{}/cards", play.sid);
    let send = async |path: &str, body: Value| app.request("POST", path).json(&body).send().await;
    let own = character_id(&address);
    send(&format!("/api/sessions/{nobody}/cards"), json!({"characterId": own})).await.expect_error("not_found");
    send(&cards, json!({"characterId": nobody})).await.expect_error("not_found");
    send(&cards, json!({"characterId": own, "version": 7})).await.expect_error("not_found");
    let import = format!("/api/characters/import?characterId={nobody}");
    let file = card_file("x", json!([]));
    app.request("POST", &import).bytes(&file, "application/json").send().await.expect_error("not_found");
    // A character in the trash has no versions, and its session keeps its card.
    app.request("DELETE", &address).send().await.expect(204);
    app.request("GET", &format!("{address}/versions")).send().await.expect_error("not_found");
    let used = &play.session().await["cards"][0];
    assert_eq!(
        (&used["version"], &used["newestVersion"], &used["hasNewer"]),
        (&Value::Null, &Value::Null, &json!(false))
    );
    send(&cards, json!({"characterId": own})).await.expect_error("not_found");
}
