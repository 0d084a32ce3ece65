//! Lorebooks in prompts: which entries fire and why, which stay active, and what hostile books may cost.

use super::api_session::{ApiSession, TurnIds};
use super::*;

/// Starts a story with a preset and a lorebook linked to its session.
pub async fn start_with_entries(entries: Value) -> (ApiSession, String) {
    let play = ApiSession::start().await;
    let preset =
        play.server.post("/api/presets", &json!({"kind": "openai", "name": "Plain", "body": {"prompts": []}})).await;
    let path = format!("/api/sessions/{}", play.sid);
    play.server.request("PATCH", &path).json(&json!({"presetId": preset["id"]})).send().await.expect(200);
    let book = create_lorebook(&play, entries).await;
    put_lorebook_holds(&play, &book, json!({"sessionIds": [play.sid]})).await;
    (play, book)
}

pub async fn create_lorebook(play: &ApiSession, entries: Value) -> String {
    id_of(&play.server.post("/api/lorebooks", &json!({"name": "Atlas", "entries": entries})).await)
}

pub async fn put_lorebook_holds(play: &ApiSession, book: &str, holds: Value) -> Value {
    play.server.put(&format!("/api/lorebooks/{book}/holds"), &holds).await
}

/// Returns an entry in world info format.
pub fn entry(uid: u64, key: &str, content: &str, more: Value) -> Value {
    let mut entry = json!({"uid": uid, "key": [key], "content": content, "comment": format!("entry {uid}")});
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    entry
}

/// Returns whether the newest request contains a text.
pub fn last_request_contains(play: &ApiSession, text: &str) -> bool {
    play.server.mock().requests().pop().unwrap().to_string().contains(text)
}

/// The lore of a world in which no entry has fired.
fn no_lore() -> Value {
    json!({"active": [], "timers": {}})
}

async fn lore(play: &ApiSession, node: &str) -> Value {
    play.get(&format!("node/{node}/world")).await["world"]["lore"].clone()
}

pub async fn lore_trace(play: &ApiSession, said: &TurnIds) -> Value {
    play.get(&format!("node/{}/trace", said.reply)).await["lore"].clone()
}

pub fn uids(list: &Value) -> Vec<&str> {
    list.as_array().unwrap_or_else(|| panic!("{list}")).iter().map(|one| one["uid"].as_str().unwrap()).collect()
}

/// S3-16: a key in the input adds its entry to the prompt and the reason to the trace. Entries without a match stay
/// out.
#[tokio::test]
async fn lore_key_adds_entry_to_prompt_and_trace() {
    let entries = json!([
        entry(1, "gate", "The gate of {{char}} squeaks.", json!({})),
        entry(2, "harbour", "The harbour is dry.", json!({})),
        entry(3, "gate", "Never said.", json!({"disable": true})),
        entry(4, "gate", "Only with a candle.", json!({"keysecondary": ["candle"], "selective": true})),
    ]);
    let (play, book) = start_with_entries(entries).await;
    let quiet = play.run_turn("Hi.").await;
    assert!(!last_request_contains(&play, "squeaks") && !last_request_contains(&play, "dry"));
    assert_eq!(lore(&play, &quiet.reply).await, no_lore(), "nothing was in mind, nothing is written");
    let said = play.run_turn("Open the gate!").await;
    assert!(
        last_request_contains(&play, "The gate of Rin squeaks.")
            && !last_request_contains(&play, "dry")
            && !last_request_contains(&play, "candle")
    );
    let told = lore_trace(&play, &said).await;
    let fired = &told["fired"][0];
    assert_eq!((uids(&told["fired"]), &fired["why"], &fired["key"]), (vec!["1"], &json!("key"), &json!("gate")));
    assert_eq!((&fired["book"], &fired["title"]), (&json!(book), &json!("entry 1")));
    assert_eq!((uids(&told["stopped"]), &told["stopped"][0]["why"]), (vec!["4"], &json!("secondary")));
    assert_eq!((&told["silent"], &told["books"][0]["scope"]), (&json!(2), &json!("session")));
    assert_eq!(uids(&lore(&play, &said.reply).await["active"]), ["1"]);
    let trace = play.get(&format!("node/{}/trace", said.reply)).await;
    assert_eq!(trace["isExact"], true);
    let delta = play.get(&format!("node/{}/delta", said.reply)).await;
    assert_eq!((&delta["operations"][0]["in"], &delta["operations"][0]["by"]), (&json!("lore"), &json!("server")));
}

/// Domain 3: root and greeting have both lists, alone and as an expansion of the node.
#[tokio::test]
async fn world_before_first_entry_has_empty_lore() {
    let (play, _) = start_with_entries(json!([entry(1, "gate", "It squeaks.", json!({}))])).await;
    let session = play.session().await;
    for node in [&session["rootNodeId"], &session["activeLeafId"]].map(|id| id.as_str().unwrap()) {
        assert_eq!(lore(&play, node).await, no_lore());
        assert_eq!(play.get(&format!("node/{node}?expand=world")).await["world"]["lore"], no_lore());
    }
}

/// S3-08: the active entries of a node stay recorded, whatever happens to the book later.
#[tokio::test]
async fn lore_active_entries_stay_recorded_after_book_changes() {
    let (play, book) = start_with_entries(json!([entry(1, "gate", "It squeaks.", json!({}))])).await;
    let said = play.run_turn("The gate?").await;
    let (before, why) = (lore(&play, &said.reply).await, lore_trace(&play, &said).await);
    assert_eq!(uids(&before["active"]), ["1"]);
    let path = format!("/api/lorebooks/{book}/entries/1");
    let change = json!({"entry": {"key": ["moss"], "content": "It is quiet.", "comment": "another"}});
    play.server.request("PATCH", &path).json(&change).send().await.expect(200);
    assert_eq!((lore(&play, &said.reply).await, lore_trace(&play, &said).await), (before.clone(), why));
    // From here on the book has other texts.
    let next = play.run_turn("The gate, the moss.").await;
    assert!(last_request_contains(&play, "It is quiet.") && !last_request_contains(&play, "It squeaks."));
    assert_eq!(lore(&play, &next.reply).await["active"][0]["title"], "another");
    play.server.request("DELETE", &format!("/api/lorebooks/{book}")).send().await.expect(204);
    play.run_turn("The moss.").await;
    assert!(!last_request_contains(&play, "It is quiet."));
    assert_eq!(lore(&play, &said.reply).await, before);
}

/// Domain 3.6: sticky and cooldown count the messages of their own branch. Other branches and earlier nodes are
/// unaffected.
#[tokio::test]
async fn lore_sticky_and_cooldown_count_per_branch() {
    let (play, _) =
        start_with_entries(json!([entry(1, "gate", "It squeaks.", json!({"sticky": 6, "cooldown": 8}))])).await;
    let before = play.run_turn("Hi.").await;
    let called = play.run_turn_at(&before.reply, "The gate!").await;
    assert_eq!(lore(&play, &called.reply).await["timers"]["sticky"].as_object().unwrap().len(), 1);
    let far = play.run_turn_at(&called.reply, "And on.").await;
    let stayed = play.run_turn_at(&far.reply, "And on again.").await;
    assert!(
        last_request_contains(&play, "It squeaks."),
        "it stays for six messages: {}",
        lore_trace(&play, &stayed).await
    );
    assert_eq!(lore_trace(&play, &stayed).await["fired"][0]["why"], "sticky");
    let over = play.run_turn_at(&stayed.reply, "The gate, the gate!").await;
    assert!(!last_request_contains(&play, "It squeaks."), "it rests: {}", lore_trace(&play, &over).await);
    assert_eq!(lore_trace(&play, &over).await["stopped"][0]["why"], "cooldown");
    // Another branch from an earlier node.
    let other = play.run_turn_at(&before.reply, "Elsewhere.").await;
    assert!(!last_request_contains(&play, "It squeaks."));
    assert_eq!(lore(&play, &other.reply).await, no_lore());
    play.run_turn_at(&other.reply, "The gate.").await;
    assert!(last_request_contains(&play, "It squeaks."), "nothing rests on this line");
    // The first branch is unchanged.
    play.run_turn_at(&far.reply, "Another way.").await;
    assert!(last_request_contains(&play, "It squeaks."));
}

/// Domain 6.6: a preview shows what a send would send, including lore and dice, and writes nothing.
#[tokio::test]
async fn prompt_preview_lore_matches_send_and_writes_nothing() {
    let even = json!({"useProbability": true, "probability": 50, "sticky": 3});
    let entries: Vec<Value> = (0..20).map(|n| entry(n, "gate", &format!("Even {n}."), even.clone())).collect();
    let (play, _) = start_with_entries(json!(entries)).await;
    let head = play.head().await;
    let op = play.session().await["op"].clone();
    let asked = json!({"parentId": head, "content": "The gate."});
    let (one, two) = (play.post("prompt", asked.clone()).await, play.post("prompt", asked).await);
    assert_eq!((&one["messages"], &one["lore"]), (&two["messages"], &two["lore"]));
    assert_eq!((&play.session().await["op"], lore(&play, &head).await), (&op, no_lore()));
    let said = play.run_turn("The gate.").await;
    let (fired, shown) = (lore_trace(&play, &said).await["fired"].clone(), one["lore"]["fired"].clone());
    let few = uids(&fired).len();
    assert!(fired == shown && (1..20).contains(&few), "{fired} {shown}");
}

/// Formats 2b, 2d: each position has its place. Outlet entries that no macro names stay out.
#[tokio::test]
async fn lore_positions_place_entries_in_prompt_order() {
    let at = |uid: u64, text: &str, position: u64, more: Value| {
        let mut entry = entry(uid, "unused", text, more);
        entry["constant"] = json!(true);
        entry["position"] = json!(position);
        entry
    };
    let (play, _) = start_with_entries(json!([
        at(1, "BEFORE", 0, json!({})),
        at(2, "AFTER", 1, json!({})),
        at(3, "NOTE", 2, json!({})),
        at(4, "DEEP", 4, json!({"depth": 1, "role": 1})),
        at(5, "EXAMPLE", 5, json!({})),
        at(6, "OUT", 7, json!({"outletName": "door"})),
        at(7, "LOST", 7, json!({"outletName": "nowhere"})),
    ]))
    .await;
    let preset = json!({"kind": "openai", "name": "Door", "body": {"prompts": [
        {"identifier": "main", "role": "system", "content": "Door: {{outlet::door}}."}]}});
    let preset = play.server.post("/api/presets", &preset).await;
    let path = format!("/api/sessions/{}", play.sid);
    play.server.request("PATCH", &path).json(&json!({"presetId": preset["id"]})).send().await.expect(200);
    play.run_turn("One.").await;
    let said = play.run_turn("Two.").await;
    let request = play.server.mock().requests().pop().unwrap();
    let messages = request["messages"].as_array().unwrap();
    let place = |text: &str| messages.iter().position(|one| one["content"].as_str().unwrap().contains(text));
    let all = ["Door: OUT.", "BEFORE", "AFTER", "EXAMPLE", "NOTE", "DEEP", "Two."];
    let places: Vec<usize> =
        all.iter().map(|text| place(text).unwrap_or_else(|| panic!("{text}: {request}"))).collect();
    assert!(places.is_sorted(), "{places:?} {request}");
    assert_eq!(messages[place("DEEP").unwrap()]["role"], "user");
    assert_eq!((place("DEEP").unwrap() + 1, place("LOST")), (place("Two.").unwrap(), None));
    let trace = play.get(&format!("node/{}/trace", said.reply)).await;
    assert_eq!((&trace["messages"], &trace["isExact"]), (&request["messages"], &json!(true)));
}

/// Domain 7.1: a condition reads the state of its own branch.
#[tokio::test]
async fn lore_condition_reads_state_of_own_branch() {
    let entries = json!([
        entry(1, "gate", "She smiles.", json!({"when": "affinity >= 20", "constant": true})),
        entry(2, "gate", "Odd.", json!({"when": "affinity >=", "constant": true}))
    ]);
    let (play, _) = start_with_entries(entries).await;
    let cold = play.run_turn("Hi.").await;
    assert!(!last_request_contains(&play, "She smiles."));
    let stopped = lore_trace(&play, &cold).await["stopped"].clone();
    let why: Vec<&Value> = stopped.as_array().unwrap().iter().map(|one| &one["why"]).collect();
    assert_eq!(why, ["condition", "unreadable"]);
    assert_eq!(stopped[1]["failure"]["code"], "condition_no_comparison", "{stopped}");
    let warmer = json!({"operations": [{"op": "set", "path": "/affinity", "value": 25}]});
    let changed = play.post(&format!("node/{}/world", cold.reply), warmer).await;
    play.run_turn_at(&id_of(&changed["node"]), "Hello again.").await;
    assert!(last_request_contains(&play, "She smiles."));
    play.run_turn_at(&cold.reply, "On the other line.").await;
    assert!(!last_request_contains(&play, "She smiles."));
}

/// The links of a book (everything, session, persona, character or card) are one list. Each link takes effect in the
/// next turn and can be removed.
#[tokio::test]
async fn lorebook_links_decide_when_entries_fire() {
    let (play, book) = start_with_entries(json!([entry(1, "gate", "It squeaks.", json!({}))])).await;
    let path = format!("/api/lorebooks/{book}/holds");
    let character = play.session().await["characterIds"][0].clone();
    let persona = play.server.post("/api/personas", &json!({"name": "Ann"})).await["id"].clone();
    let none = json!({"everything": false, "sessionIds": [], "personaIds": [], "characterIds": []});
    let fires = |wanted: bool, what: &'static str| {
        let play = &play;
        async move {
            play.run_turn("The gate.").await;
            assert_eq!(last_request_contains(play, "It squeaks."), wanted, "{what}");
        }
    };
    // Each kind of link.
    fires(true, "session").await;
    assert_eq!(put_lorebook_holds(&play, &book, json!({"everything": false})).await, none);
    fires(false, "nothing").await;
    put_lorebook_holds(&play, &book, json!({"everything": true})).await;
    fires(true, "everything").await;
    put_lorebook_holds(&play, &book, json!({"personaIds": [persona]})).await;
    fires(false, "somebody else's").await;
    let session = format!("/api/sessions/{}", play.sid);
    play.server.request("PATCH", &session).json(&json!({"personaId": persona})).send().await.expect(200);
    fires(true, "persona").await;
    let held = put_lorebook_holds(&play, &book, json!({"characterIds": [character]})).await;
    assert_eq!(held["characterIds"], json!([character]));
    fires(true, "character").await;
    put_lorebook_holds(&play, &book, json!({"everything": false})).await;
    let card = format!("/api/characters/{}", character.as_str().unwrap());
    play.server.request("PATCH", &card).json(&json!({"lorebookId": book})).send().await.expect(200);
    assert_eq!(play.server.get(&path).await["characterIds"], json!([character]), "its card names it");
    fires(true, "card").await;
    put_lorebook_holds(&play, &book, json!({"sessionIds": [play.sid]})).await;
    assert_eq!(play.server.get(&card).await["lorebookId"], Value::Null);
    // The trash, a restore and the final deletion.
    play.server.request("DELETE", &format!("/api/lorebooks/{book}")).send().await.expect(204);
    fires(false, "trash").await;
    play.server.request("POST", &format!("/api/trash/{book}/restore")).send().await.expect(204);
    fires(true, "back").await;
    play.server.request("DELETE", &format!("/api/lorebooks/{book}")).send().await.expect(204);
    play.server.request("DELETE", &format!("/api/trash/{book}?confirm=true")).send().await.expect(204);
    play.server.request("GET", &path).send().await.expect_error("not_found");
    // Invalid links change nothing.
    let own = id_of(&play.server.post("/api/lorebooks", &json!({"name": "B"})).await);
    let own = format!("/api/lorebooks/{own}/holds");
    let bound = play.server.put(&own, &json!({"everything": true})).await;
    for wrong in [
        json!({"everything": 1}),
        json!({"sessions": []}),
        json!({"sessionIds": ["x"]}),
        json!({"personaIds": null}),
        json!({}),
    ] {
        play.server.request("PUT", &own).json(&wrong).send().await.expect_error("invalid");
    }
    // A request without a body is refused rather than removing all links.
    let error = play.server.request("PUT", &own).send().await.expect_error("invalid");
    assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("everything")), "{error}");
    assert_eq!(play.server.get(&own).await, bound);
}

/// Domain 9: a book cannot be linked to, or tested with, things of other users.
#[tokio::test]
async fn lorebook_link_or_test_of_foreign_ids_fails() {
    let (play, book) = start_with_entries(json!([])).await;
    let stranger = play.server.create_other_user().await;
    let path = format!("/api/lorebooks/{book}/holds");
    for wrong in [
        json!({"sessionIds": [stranger.session.to_string()]}),
        json!({"personaIds": [stranger.persona.to_string()]}),
        json!({"characterIds": [stranger.character.to_string()]}),
    ] {
        play.server.request("PUT", &path).json(&wrong).send().await.expect_error("not_found");
    }
    assert_eq!(play.server.get(&path).await["sessionIds"], json!([play.sid]), "nothing of it was written");
    let tried = |body: Value| play.server.request("POST", "/api/lorebooks/test").json(&body).send();
    tried(json!({"text": "x", "lorebookIds": [stranger.lorebook.to_string()]})).await.expect_error("not_found");
    tried(json!({"sessionId": stranger.session.to_string()})).await.expect_error("not_found");
    tried(json!({"sessionId": play.sid, "nodeId": stranger.greeting.to_string()})).await.expect_error("not_found");
    tried(json!({"sessionId": play.sid, "lorebookIds": [stranger.lorebook.to_string()]}))
        .await
        .expect_error("not_found");
    assert_eq!(tried(json!({})).await.expect_error("invalid")["details"]["field"], "text");
    assert_eq!(
        tried(json!({"text": "x", "nodeId": play.head().await})).await.expect_error("invalid")["details"]["field"],
        "nodeId"
    );
    assert_eq!(tried(json!({"text": "x", "books": []})).await.expect_error("invalid")["details"]["field"], "books");
    let large =
        play.server.request("POST", "/api/lorebooks/test").json(&json!({"text": "x".repeat(3 << 20)})).send().await;
    assert_eq!(large.status, 413);
}

/// A book can be tested on a text, and at a node of a story, where conditions and earlier messages count.
#[tokio::test]
async fn lorebook_test_reports_fired_stopped_and_silent_entries() {
    let entries = json!([
        entry(1, "gate", "It squeaks.", json!({})),
        entry(2, "harbour", "Dry.", json!({})),
        entry(3, "gate", "Off.", json!({"disable": true})),
        entry(4, "gate", "Warm.", json!({"when": "affinity > 3"}))
    ]);
    let (play, book) = start_with_entries(entries).await;
    let app = &play.server;
    let tried = |body: Value| async move { app.post("/api/lorebooks/test", &body).await };
    let alone = tried(json!({"text": "Through the gate.", "lorebookIds": [book]})).await;
    assert_eq!(
        (uids(&alone["fired"]), uids(&alone["stopped"]), uids(&alone["silent"])),
        (vec!["1"], vec!["4"], vec!["2", "3"])
    );
    assert_eq!((&alone["fired"][0]["text"], &alone["silent"][1]["why"]), (&json!("It squeaks."), &json!("disabled")));
    assert_eq!((&alone["silentCount"], &alone["overflowed"]), (&json!(2), &json!(false)));
    let said = play.run_turn("The harbour.").await;
    let warmer = json!({"operations": [{"op": "set", "path": "/affinity", "value": 5}]});
    let node = id_of(&play.post(&format!("node/{}/world", said.reply), warmer).await["node"]);
    let op = play.session().await["op"].clone();
    let here = tried(json!({"sessionId": play.sid, "text": "The gate."})).await;
    assert_eq!(uids(&here["fired"]), ["1", "4"], "{here}");
    let there = tried(json!({"sessionId": play.sid, "nodeId": said.user_node})).await;
    assert_eq!(uids(&there["fired"]), ["2"]);
    let more = self::create_lorebook(&play, json!([entry(9, "harbour", "Another book.", json!({}))])).await;
    let both = tried(json!({"sessionId": play.sid, "nodeId": said.user_node, "lorebookIds": [more, book]})).await;
    assert_eq!(uids(&both["fired"]).len(), 2, "a book that holds already is looked through once: {both}");
    assert_eq!((&play.session().await["op"], play.head().await), (&op, node));
    assert!(tried(json!({"text": "x"})).await["fired"].as_array().unwrap().is_empty());
}

/// Bad input: whatever a hostile book contains, the turn goes on and notes what was skipped.
#[tokio::test]
async fn lore_hostile_entries_do_not_fail_turn() {
    let cyclic = |uid: u64, key: &str, text: &str| entry(uid, key, text, json!({}));
    let long = "k".repeat(1 << 20);
    let (play, _) = start_with_entries(json!([
        entry(1, "/(?=(a+)+$)a/", "Runs away.", json!({})),
        entry(2, &long, "A long key.", json!({})),
        cyclic(3, "gate", "The moss calls the wall."),
        cyclic(4, "wall", "The wall calls the moss."),
        cyclic(5, "moss", "The moss calls the gate."),
        entry(6, "/[/", "No pattern.", json!({})),
        entry(7, "gate", "{{setvar::x::{{getvar::x}}{{getvar::x}}}}{{unknown}}", json!({})),
    ]))
    .await;
    let said = play.run_turn(&format!("The gate. {}!", "a".repeat(5_000))).await;
    assert!(
        last_request_contains(&play, "The moss calls the wall.")
            && last_request_contains(&play, "The wall calls the moss.")
    );
    let told = lore_trace(&play, &said).await;
    assert!(told["notes"][0].as_str().is_some_and(|note| note.contains("took too long")), "{told}");
    assert!(!last_request_contains(&play, "Runs away.") && !last_request_contains(&play, "A long key."));
    assert_eq!(play.get(&format!("node/{}", said.reply)).await["status"], "complete");
}

/// Bad input: thousands of entries of which few match, and hundreds that are always active.
#[tokio::test]
async fn lore_thousands_of_entries_do_not_fail_turn() {
    let (play, _) = start_with_entries(json!([])).await;
    let many: Vec<Value> = (0..3_000).map(|uid| entry(uid, &format!("key {uid}"), "Many.", json!({}))).collect();
    let large = create_lorebook(&play, json!(many)).await;
    put_lorebook_holds(&play, &large, json!({"everything": true})).await;
    let said = play.run_turn("Of key 2711.").await;
    let told = self::lore_trace(&play, &said).await;
    assert!(last_request_contains(&play, "Many.") && told["silent"].as_u64().unwrap() == 2_996, "{told}");
    let always: Vec<Value> =
        (0..300).map(|uid| entry(uid, "k", &"Always here. ".repeat(20), json!({"constant": true}))).collect();
    let always = create_lorebook(&play, json!(always)).await;
    put_lorebook_holds(&play, &always, json!({"everything": true})).await;
    let said = play.run_turn("And now?").await;
    let told = self::lore_trace(&play, &said).await;
    let listed = [&told["fired"], &told["stopped"]].map(|list| list.as_array().unwrap().len());
    assert!(told["overflowed"] == true && listed.iter().all(|length| *length <= 200), "{listed:?}");
    assert!(told["stoppedInAll"].as_u64().unwrap() > 200);
}

/// The lorebook of a card applies to its character right after the import.
#[tokio::test]
async fn card_lorebook_fires_after_import() {
    let app = TestServer::start().await;
    let book = json!({"name": "Harbour", "extensions": {}, "entries": [
        {"id": 1, "keys": ["tide"], "secondary_keys": [], "content": "It turns at six.", "enabled": true, "insertion_order": 1,
         "extensions": {"position": 0}}]});
    let card = json!({"spec": "chara_card_v2", "spec_version": "2.0", "data": {
        "name": "Ivo", "description": "A ferryman.", "personality": "", "scenario": "", "first_mes": "Ahoy.", "mes_example": "",
        "character_book": book}});
    let came = app.request("POST", "/api/characters/import").bytes(card.to_string().as_bytes(), "application/json");
    let character = id_of(&came.send().await.expect(201));
    let sid = id_of(&app.post("/api/sessions", &json!({"characterIds": [character]})).await);
    let preset = app.post("/api/presets", &json!({"kind": "openai", "name": "Plain", "body": {"prompts": []}})).await;
    let path = format!("/api/sessions/{sid}");
    app.request("PATCH", &path).json(&json!({"presetId": preset["id"]})).send().await.expect(200);
    let play = ApiSession { server: app, sid };
    let said = play.run_turn("When does the tide turn?").await;
    assert!(last_request_contains(&play, "It turns at six."));
    let told = lore_trace(&play, &said).await;
    assert_eq!((&told["books"][0]["scope"], uids(&told["fired"])), (&json!("character"), vec!["1"]));
}

/// Domain 2.13: a merge brings over effects, not the active lore of the other branch. Two branches with lore do not
/// conflict because of it.
#[tokio::test]
async fn merge_ignores_active_lore_of_other_branch() {
    let (play, _) =
        start_with_entries(json!([entry(1, "gate", "A.", json!({"sticky": 9})), entry(2, "moss", "B.", json!({}))]))
            .await;
    let root = play.head().await;
    let theirs = play.run_turn_at(&root, "The gate.").await;
    let change = json!({"operations": [{"op": "set", "path": "/rope", "value": 1}]});
    let theirs = id_of(&play.post(&format!("node/{}/world", theirs.reply), change).await["node"]);
    let ours = play.run_turn_at(&root, "The moss.").await;
    let before = lore(&play, &ours.reply).await;
    let merge = json!({"op": "merge", "fromLeafId": theirs, "ontoLeafId": ours.reply});
    let edit = play.server.put(&play.chat_path("tree/edit"), &json!({"operations": [merge]})).await;
    let head = play.head().await;
    let world = play.get(&format!("node/{head}/world")).await["world"].clone();
    assert_eq!((&world["vars"]["rope"], &world["lore"]), (&json!(1), &before), "{edit}");
}
