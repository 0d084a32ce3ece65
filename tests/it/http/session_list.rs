//! The list of sessions: search, filters, orders, folders, tags and pins, and changes of several sessions.

use super::*;

impl TestServer {
    /// Creates a session with a title and returns its id.
    async fn create_titled(&self, character: &str, title: &str) -> String {
        id_of(&self.post("/api/sessions", &json!({"characterIds": [character], "title": title})).await)
    }

    async fn arrange(&self, sid: &str, changes: Value) -> Value {
        self.request("PATCH", &format!("/api/sessions/{sid}")).json(&changes).send().await.expect(200)
    }

    async fn listed(&self, query: &str) -> Vec<String> {
        let page = self.get(&format!("/api/sessions{query}")).await;
        page["items"].as_array().unwrap().iter().map(|one| one["title"].as_str().unwrap().to_owned()).collect()
    }
}

/// Search, tags, folders, characters and pins narrow the list. Each page follows the one before it in every order.
#[tokio::test]
async fn session_list_narrows_sorts_and_pages() {
    let app = TestServer::start().await;
    let rin = app.create_character(&json!({"name": "Rin", "firstMessage": "Hello."})).await;
    let ben = app.create_character(&json!({"name": "Ben", "firstMessage": "Hello."})).await;
    let ferry = app.create_titled(&rin, "Die Fähre").await;
    let lake = app.create_titled(&rin, "Lake").await;
    app.create_titled(&ben, "anchor").await;
    let changed = app.arrange(&ferry, json!({"folder": "Summer", "tags": ["Water", "boat"]})).await;
    assert_eq!((&changed["folder"], &changed["tags"]), (&json!("Summer"), &json!(["boat", "Water"])));
    assert_eq!(app.arrange(&lake, json!({"tags": ["water"], "isPinned": true})).await["isPinned"], true);

    assert_eq!(app.listed("?q=FAHRE").await, ["Die Fähre"]);
    assert_eq!(app.listed("?tag=WATER&sort=title").await, ["Lake", "Die Fähre"]);
    assert_eq!(app.listed("?tag=water&tag=boat").await, ["Die Fähre"]);
    assert_eq!(app.listed("?folder=Summer").await, ["Die Fähre"]);
    assert_eq!(app.listed("?folder=&sort=title").await, ["Lake", "anchor"]);
    assert_eq!(app.listed(&format!("?characterId={ben}")).await, ["anchor"]);
    assert_eq!(app.listed("?pinned=false&sort=title&order=desc").await, ["Die Fähre", "anchor"]);
    assert_eq!(app.listed("?sort=created&order=asc").await, ["Lake", "Die Fähre", "anchor"]);
    for sort in ["updated", "created", "title", "length"] {
        let (mut titles, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = app.get(&format!("/api/sessions?sort={sort}&limit=1{cursor}")).await;
            titles.push(page["items"][0]["title"].as_str().unwrap().to_owned());
            let Some(next) = page["next"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        assert_eq!(titles, app.listed(&format!("?sort={sort}")).await, "{sort}");
        assert_eq!(titles[0], "Lake", "pinned first");
    }
    assert_eq!(app.get("/api/sessions/folders").await, json!({"items": [{"name": "Summer", "count": 1}]}));
    let tags = app.get("/api/sessions/tags").await;
    assert_eq!(tags, json!({"items": [{"name": "boat", "count": 1}, {"name": "Water", "count": 2}]}));
}

/// Every invalid query and field is refused with its name, and numbers with their range.
#[tokio::test]
async fn session_list_invalid_value_names_field_and_range() {
    let app = TestServer::start().await;
    let sid = id_of(&app.create_session().await);
    let long = "x".repeat(301);
    for (query, field) in [
        (format!("q={long}"), "q"),
        (format!("tag={}", "x".repeat(61)), "tag"),
        (format!("folder={}", "x".repeat(101)), "folder"),
        ("characterId=x".into(), "characterId"),
        ("pinned=maybe".into(), "pinned"),
        ("sort=colour".into(), "sort"),
        ("order=up".into(), "order"),
        ("cursor=x".into(), "cursor"),
    ] {
        let told = app.request("GET", &format!("/api/sessions?{query}")).send().await.expect_error("invalid");
        assert_eq!(told["details"]["field"], field, "{query}: {told}");
    }
    for (limit, found) in [
        ("99999999999999999999", "99999999999999999999"),
        ("0", "0"),
        ("-1", "-1"),
        ("501", "501"),
        ("ten", "the text \"ten\""),
    ] {
        for path in ["/api/sessions", "/api/characters", "/api/search", &format!("/api/chat/{sid}/ops")] {
            let told = app.request("GET", &format!("{path}?limit={limit}")).send().await.expect_error("invalid");
            assert_eq!(told["message"], format!("got {found}, expected a whole number from 1 to 500"), "{path}");
        }
    }
    let told = app.request("GET", "/api/search?q=x&rating=6").send().await.expect_error("invalid");
    assert_eq!(told["message"], "got 6, expected a whole number from 1 to 5");
    for (changes, field) in [
        (json!({"folder": " Summer"}), "folder"),
        (json!({"folder": ""}), "folder"),
        (json!({"tags": ["a", "Á"]}), "tags"),
        (json!({"tags": ["a", ""]}), "tags"),
        (json!({"tags": "a"}), "tags"),
        (json!({"isPinned": 1}), "isPinned"),
    ] {
        let request = app.request("PATCH", &format!("/api/sessions/{sid}")).json(&changes);
        let told = request.send().await.expect_error("invalid");
        assert_eq!(told["details"]["field"], field, "{changes}: {told}");
    }
}

/// One request changes several sessions and says for each what happened. Other users' sessions do not exist.
#[tokio::test]
async fn sessions_change_together_with_an_answer_each() {
    let app = TestServer::start().await;
    let rin = app.create_character(&json!({"name": "Rin", "firstMessage": "Hello."})).await;
    let one = app.create_titled(&rin, "One").await;
    let two = app.create_titled(&rin, "Two").await;
    let stranger = app.create_other_user().await.session.to_string();
    let bulk = |body: Value| app.request("POST", "/api/sessions/bulk").json(&body).send();
    let ids = json!([one, stranger, two]);
    for change in [
        json!({"ids": ids, "action": "move", "folder": "Old"}),
        json!({"ids": ids, "action": "tag", "tag": "done"}),
        json!({"ids": ids, "action": "pin"}),
    ] {
        let told = bulk(change).await.expect(200);
        let done: Vec<bool> = told["items"].as_array().unwrap().iter().map(|item| item["isDone"] == true).collect();
        assert_eq!(done, [true, false, true], "{told}");
        assert_eq!(told["items"][1]["error"]["code"], "not_found");
    }
    let session = app.get(&format!("/api/sessions/{two}")).await;
    assert_eq!(
        (&session["folder"], &session["tags"], &session["isPinned"]),
        (&json!("Old"), &json!(["done"]), &json!(true))
    );
    bulk(json!({"ids": [one], "action": "move", "folder": null})).await.expect(200);
    bulk(json!({"ids": [one], "action": "untag", "tag": "DONE"})).await.expect(200);
    bulk(json!({"ids": [one], "action": "unpin"})).await.expect(200);
    let session = app.get(&format!("/api/sessions/{one}")).await;
    assert_eq!((&session["folder"], &session["tags"], &session["isPinned"]), (&json!(null), &json!([]), &json!(false)));
    bulk(json!({"ids": [one, two], "action": "delete"})).await.expect(200);
    assert!(app.listed("").await.is_empty());
    let told = bulk(json!({"ids": [one], "action": "pin"})).await.expect(200);
    assert_eq!(told["items"][0]["isDone"], false, "it is in the trash");

    let many: Vec<String> = vec![one.clone(); 501];
    for (change, field) in [
        (json!({"ids": [], "action": "pin"}), "ids"),
        (json!({"ids": many, "action": "pin"}), "ids"),
        (json!({"ids": [one, one], "action": "pin"}), "ids[1]"),
        (json!({"ids": ["x"], "action": "pin"}), "ids[0]"),
        (json!({"ids": [one], "action": "burn"}), "action"),
        (json!({"ids": [one], "action": "move"}), "folder"),
        (json!({"ids": [one], "action": "pin", "folder": "x"}), "folder"),
        (json!({"ids": [one], "action": "tag"}), "tag"),
        (json!({"ids": [one], "action": "pin", "tag": "x"}), "tag"),
        (json!({"ids": [one], "action": "tag", "tag": " x"}), "tag"),
    ] {
        let told = bulk(change.clone()).await.expect_error("invalid");
        assert_eq!(told["details"]["field"], field, "{change}: {told}");
    }
}
