//! Regex scripts: how they change prompts, where they come from and who can allow them. They change no message.

use super::api_session::ApiSession;
use super::*;

/// Returns a script for texts of users and models.
fn script(name: &str, find: &str, replace: &str, more: Value) -> Value {
    let mut script = json!({"scriptName": name, "findRegex": find, "replaceString": replace, "placement": [1, 2]});
    script.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    script
}

/// Starts a session with scripts of its card, its preset and its user.
async fn start_with_scripts(card: Value, preset: Value, own: Value) -> ApiSession {
    let app = TestServer::start().await;
    let card = json!({
        "name": "Rin", "firstMessage": "Hello.", "description": "{{char}} keeps a lamp.",
        "metadata": {"extensions": {"regex_scripts": card}},
    });
    let character = app.create_character(&card).await;
    let sid = id_of(&app.post("/api/sessions", &json!({"characterIds": [character]})).await);
    let body = json!({"prompts": [], "new_chat_prompt": "", "extensions": {"regex_scripts": preset}});
    let made = app.post("/api/presets", &json!({"kind": "openai", "name": "Own", "body": body})).await;
    let play = ApiSession { server: app, sid };
    for script in own.as_array().unwrap() {
        create_preset(&play, "regex", script).await;
    }
    patch_session(&play, json!({"presetId": made["id"]})).await;
    play
}

async fn create_preset(play: &ApiSession, kind: &str, body: &Value) {
    play.server.post("/api/presets", &json!({"kind": kind, "name": "One of mine", "body": body})).await;
}

async fn patch_session(play: &ApiSession, change: Value) -> Value {
    play.server.request("PATCH", &format!("/api/sessions/{}", play.sid)).json(&change).send().await.expect(200)
}

/// Returns the texts of the last request without system messages.
fn last_request_texts(play: &ApiSession) -> Vec<String> {
    let request = play.server.mock().requests().pop().unwrap();
    let messages = request["messages"].as_array().unwrap().iter().filter(|one| one["role"] != "system");
    messages.map(|one| one["content"].as_str().unwrap().to_owned()).collect()
}

async fn content(play: &ApiSession, node: &str) -> Value {
    play.get(&format!("node/{node}")).await["content"].clone()
}

/// Returns the name, scope, number of changed texts and reason of each script in a trace.
fn script_trace_rows(trace: &Value) -> Vec<(String, String, u64, String)> {
    let text = |one: &Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
    let one = |one: &Value| (text(one, "name"), text(one, "scope"), one["changed"].as_u64().unwrap(), text(one, "why"));
    trace["scripts"].as_array().unwrap().iter().map(one).collect()
}

fn script_trace_row(name: &str, scope: &str, changed: u64, why: &str) -> (String, String, u64, String) {
    (name.to_owned(), scope.to_owned(), changed, why.to_owned())
}

/// S4-51, S4-52: scripts of the user, the preset and the card apply to the prompt in this order, and change no message.
/// The preview equals the sent prompt, and the trace rebuilds it byte for byte.
#[tokio::test]
async fn regex_scripts_change_prompt_but_not_messages() {
    let of_card = json!([script("to bear", "/dog/g", "bear", json!({}))]);
    let of_preset = json!([script("to dog", "/fox/g", "dog", json!({"placement": [2], "promptOnly": true}))]);
    let own = json!([
        script("to fox", "/wolf/gi", "fox", json!({})),
        script("shown", "fox", "cat", json!({"markdownOnly": true})),
        script("off", "fox", "cat", json!({"disabled": true})),
        script("names", "/{{user}}\\?/", "{{char}}!", json!({"substituteRegex": 2})),
    ]);
    let play = start_with_scripts(of_card, of_preset, own).await;
    play.server.mock().queue_reply(Reply::ok(["A wolf howls. A wolf!"]));
    let first = play.run_turn("I see a Wolf. You?").await;
    assert_eq!(last_request_texts(&play), ["Hello.", "I see a fox. Rin!"]);
    let asked = json!({"parentId": play.head().await, "content": "Wolf or dog?"});
    let preview = play.post("prompt", asked).await;
    let second = play.run_turn("Wolf or dog?").await;
    let expected = ["Hello.", "I see a fox. Rin!", "A dog howls. A dog!", "fox or bear?"];
    assert_eq!(last_request_texts(&play), expected);
    let request = play.server.mock().requests().pop().unwrap();
    assert_eq!((&preview["messages"], &preview["scripts"].is_array()), (&request["messages"], &true));
    let trace = play.get(&format!("node/{}/trace", second.reply)).await;
    assert_eq!((&trace["messages"], &trace["isExact"]), (&request["messages"], &json!(true)));
    // Scripts that SillyTavern would apply to stored messages run first, whatever their scope.
    let expected = [
        script_trace_row("to fox", "global", 3, ""),
        script_trace_row("names", "global", 1, ""),
        script_trace_row("to dog", "preset", 1, ""),
        script_trace_row("to bear", "card", 1, ""),
    ];
    assert_eq!(script_trace_rows(&trace), expected);
    assert_eq!(script_trace_rows(&preview), expected);
    assert_eq!(content(&play, &first.user_node).await, "I see a Wolf. You?");
    assert_eq!(content(&play, &first.reply).await, "A wolf howls. A wolf!");
    assert_eq!(content(&play, &second.user_node).await, "Wolf or dog?");
}

/// Depths count from the newest sent message. The text of a continued reply comes after that message and counts as
/// newest too.
#[tokio::test]
async fn regex_script_depth_and_placement_filter_texts() {
    let prompt = |more: Value| {
        let mut more = more;
        more["promptOnly"] = json!(true);
        more
    };
    let own = json!([
        script("newest", "/$/", " [newest]", prompt(json!({"maxDepth": 0}))),
        script("older", "/$/", " [older]", prompt(json!({"minDepth": 2}))),
        script("user", "/^/", "I: ", json!({"placement": [1]})),
        script("reply", "/^/", "R: ", json!({"placement": [2]})),
        script("lore", "/^/", "L: ", json!({"placement": [5]})),
    ]);
    let play = start_with_scripts(json!([]), json!([]), own).await;
    play.server.mock().queue_reply(Reply::ok(["Yes."]));
    let first = play.run_turn("Well?").await;
    assert_eq!(last_request_texts(&play), ["R: Hello.", "I: Well? [newest]"]);
    let hidden = play.run_turn("And?").await;
    assert_eq!(last_request_texts(&play), ["R: Hello. [older]", "I: Well? [older]", "R: Yes.", "I: And? [newest]"]);
    let off = json!({"isEnabled": false});
    play.server.put(&play.chat_path(&format!("node/{}/state", hidden.reply)), &off).await;
    play.server.put(&play.chat_path(&format!("node/{}/state", hidden.user_node)), &off).await;
    play.run_turn_at(&hidden.reply, "Now?").await;
    assert_eq!(last_request_texts(&play), ["R: Hello. [older]", "I: Well? [older]", "R: Yes.", "I: Now? [newest]"]);
    play.server.mock().queue_reply(Reply::ok([" And no."]));
    let more = play.post(&format!("node/{}/continue", first.reply), json!({})).await;
    let reply = play.wait_for_reply(&id_of(&more["generations"][0])).await;
    let texts = last_request_texts(&play);
    assert!(texts.iter().any(|text| text == "I: Well? [newest]"), "{texts:?}");
    assert!(texts.iter().any(|text| text == "R: Yes. [newest]"), "{texts:?}");
    assert_eq!(reply["content"], "Yes. And no.");
    let trace = play.get(&format!("node/{}/trace", id_of(&reply))).await;
    assert_eq!(trace["isExact"], true);
}

/// A runaway or invalid script is skipped and reported, and the turn goes on.
#[tokio::test]
async fn regex_script_runaway_or_invalid_is_skipped() {
    let own = json!([
        script("slow", "/^(a+)+\\1$/", "", json!({})),
        script("broken", "/(/", "", json!({})),
        script("for nothing", "a", "", json!({"placement": null})),
        script("good", "/!$/", "?", json!({})),
    ]);
    let play = start_with_scripts(json!([]), json!([]), own).await;
    let long = "a".repeat(6_000);
    let said = play.run_turn(&format!("{long}!")).await;
    assert_eq!(last_request_texts(&play).last().unwrap(), &format!("{long}?"));
    let trace = play.get(&format!("node/{}/trace", said.reply)).await;
    let expected = [
        script_trace_row("slow", "global", 0, "ranAway"),
        script_trace_row("broken", "global", 0, "invalid"),
        script_trace_row("for nothing", "global", 0, "noPlacement"),
        script_trace_row("good", "global", 1, ""),
    ];
    assert_eq!(script_trace_rows(&trace), expected);
    assert!(trace["scripts"][0]["message"].as_str().unwrap().contains("too long"));
    assert_eq!(trace["isExact"], true);
}

/// A script that the session does not allow does not run, and the trace says how many there are. The user's own scripts
/// always run.
#[tokio::test]
async fn regex_script_not_allowed_does_not_run() {
    let of_card =
        json!([script("card", "wolf", "bear", json!({})), script("off", "x", "y", json!({"disabled": true}))]);
    let of_preset = json!([script("preset", "bear", "dog", json!({})), script("two", "x", "y", json!({}))]);
    let play = start_with_scripts(of_card, of_preset, json!([script("mine", "/^/", "> ", json!({}))])).await;
    assert_eq!(play.session().await["regexScripts"], json!({"card": true, "preset": true}));
    let changed = patch_session(&play, json!({"regexScripts": {"card": false, "preset": false}})).await;
    assert_eq!(changed["regexScripts"], json!({"card": false, "preset": false}));
    let said = play.run_turn("A wolf and a bear.").await;
    assert_eq!(last_request_texts(&play).last().unwrap(), "> A wolf and a bear.");
    let trace = play.get(&format!("node/{}/trace", said.reply)).await;
    let expected = [
        script_trace_row("mine", "global", 2, ""),
        script_trace_row("", "preset", 0, "notAllowed"),
        script_trace_row("", "card", 0, "notAllowed"),
    ];
    assert_eq!(script_trace_rows(&trace), expected);
    assert_eq!(trace["scripts"][1]["message"], "2 scripts run only if you allow them");
    patch_session(&play, json!({"regexScripts": {"card": true, "preset": false}})).await;
    play.run_turn("A wolf and a bear.").await;
    assert_eq!(last_request_texts(&play).last().unwrap(), "> A bear and a bear.");
    for refused in [json!({"card": true}), json!({"card": true, "preset": true, "world": true}), json!(true)] {
        let ask = play.server.request("PATCH", &format!("/api/sessions/{}", play.sid));
        ask.json(&json!({"regexScripts": refused})).send().await.expect_error("invalid");
    }
}

/// The page gets the display scripts in order, as the server reads them, with the macro values of each character.
/// Without such scripts the answer is empty.
#[tokio::test]
async fn regex_display_scripts_are_listed_in_order() {
    let display = |more: Value| {
        let mut more = more;
        more["markdownOnly"] = json!(true);
        more
    };
    // Scripts for display and for other purposes, in each scope.
    let of_card = json!([
        script(
            "bar",
            "/<hp>/g",
            "x".repeat(9_000).as_str(),
            display(json!({"minDepth": "0", "maxDepth": 2, "placement": [2, 6]}))
        ),
        script("sent", "a", "b", json!({"promptOnly": true})),
        script("off", "a", "b", display(json!({"disabled": true}))),
        script("lore", "a", "b", display(json!({"placement": [5]}))),
    ]);
    let of_preset =
        json!([script("both", "a", "{{getglobalvar::gold}}", json!({"promptOnly": true, "markdownOnly": true}))]);
    let own = json!([script(
        "mine",
        "{{user}}",
        "{{Description}}",
        json!({"substituteRegex": true, "trimStrings": ["("], "runOnEdit": true})
    )]);
    let play = start_with_scripts(of_card, of_preset, own).await;
    create_preset(&play, "variables", &json!({"gold": "7"})).await;
    let told = display_scripts(&play).await;
    let named = |told: &Value| {
        let names = told["items"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    // Only display scripts are listed, in order.
    assert_eq!(named(&told), ["mine", "both", "bar"]);
    let character = told["casts"][0]["characterId"].clone();
    let mine = json!({
        "scope": "global", "characterId": null, "name": "mine", "find": "{{user}}", "replace": "{{Description}}", "trim": ["("],
        "placements": [1, 2], "isForDisplay": false, "isForPrompts": false, "isOnEdit": true, "macros": "raw",
        "minDepth": null, "maxDepth": null,
    });
    assert_eq!(told["items"][0], mine);
    let bar = &told["items"][2];
    assert_eq!((&bar["characterId"], &bar["minDepth"], &bar["maxDepth"]), (&character, &json!(0.0), &json!(2.0)));
    assert_eq!((bar["replace"].as_str().unwrap().len(), &bar["placements"]), (9_000, &json!([2, 6])));
    // Macro values and global variables.
    let values = json!({
        "user": "You", "char": "Rin", "group": "Rin", "charIfNotGroup": "Rin", "notChar": "You",
        "description": "Rin keeps a lamp.",
    });
    assert_eq!((&told["casts"][0]["values"], &told["globals"]), (&values, &json!({"gold": "7"})));
    // The list of all scripts, and display scripts after two scopes are disallowed.
    let all = play.server.get(&format!("/api/sessions/{}/scripts", play.sid)).await;
    let uses =
        all["items"].as_array().unwrap().iter().map(|one| (one["isForPrompts"] == true, one["isForDisplay"] == true));
    assert_eq!(uses.take(4).collect::<Vec<_>>(), [(true, true), (true, true), (false, true), (true, false)]);
    patch_session(&play, json!({"regexScripts": {"card": false, "preset": false}})).await;
    let told = display_scripts(&play).await;
    assert_eq!((named(&told), &told["globals"]), (vec!["mine".to_owned()], &json!({})));

    let none = start_with_scripts(json!([]), json!([]), json!([])).await;
    assert_eq!(display_scripts(&none).await, json!({"items": [], "casts": [], "globals": {}}));
}

async fn display_scripts(play: &ApiSession) -> Value {
    play.server.get(&format!("/api/sessions/{}/scripts/shown", play.sid)).await
}

/// S4-39: scripts and variables of other users do not apply.
#[tokio::test]
async fn regex_scripts_of_other_user_stay_hidden() {
    let play = start_with_scripts(json!([]), json!([]), json!([])).await;
    let stranger = play.server.create_other_user().await;
    let app = play.server.app();
    let now = app.clock.now();
    for (kind, body) in [("regex", script("theirs", "wolf", "bear", json!({}))), ("variables", json!({"gold": "9"}))] {
        let card = json!({"kind": kind, "name": "Theirs", "body": body}).as_object().unwrap().clone();
        let theirs = clotho_store::StoredPreset {
            id: clotho_core::ids::PresetId::new(app.ids.next_id(now)),
            card,
            created: now,
            updated: now,
        };
        app.store.write(move |tx| tx.put_preset(stranger.user, &theirs)).await.unwrap();
    }
    play.run_turn("A wolf. {{hasglobalvar::gold}}").await;
    assert_eq!(last_request_texts(&play).last().unwrap(), "A wolf. false");
}

/// Domain 6.3: if scripts shorten old messages, the history is fitted by the sent texts, not by the stored ones.
#[tokio::test]
async fn regex_shortened_history_fits_more_messages() {
    let of_card = json!([script("old", "/<log>[^]*?<\\/log>/g", "", json!({"promptOnly": true, "minDepth": 1}))]);
    let play = start_with_scripts(of_card, json!([]), json!([])).await;
    let log = format!("<log>{}</log>", "and so on ".repeat(400));
    for n in 0..24 {
        play.server.mock().queue_reply(Reply::ok([format!("Reply {n}.{log}").as_str()]));
        play.run_turn(&format!("Turn {n}.")).await;
    }
    let texts = last_request_texts(&play);
    assert_eq!(texts.len(), 48, "{texts:?}");
    assert!(texts.iter().all(|text| text.len() < 20), "{texts:?}");
}

/// `domain.md` 6.4: global variables start at their saved values, and what macros write to them lasts on the branch.
#[tokio::test]
async fn global_variables_written_by_macros_stay_on_branch() {
    let play = start_with_scripts(json!([]), json!([]), json!([])).await;
    create_preset(&play, "variables", &json!({"gold": "7"})).await;
    play.run_turn("{{getglobalvar::gold}}{{setglobalvar::gold::8}}{{$gold}}").await;
    assert_eq!(last_request_texts(&play).last().unwrap(), "78");
    // The branch keeps what its macros wrote; the stored variables do not change.
    play.run_turn("{{$gold}}").await;
    assert_eq!(last_request_texts(&play).last().unwrap(), "8");
    let kept = play.server.get("/api/presets?kind=variables").await["items"][0].clone();
    let kept = play.server.get(&format!("/api/presets/{}", id_of(&kept))).await;
    assert_eq!(kept["body"]["gold"], "7");
    // A greeting is filled in once, when the story starts.
    let card = json!({"name": "Rin", "firstMessage": "You have {{getglobalvar::gold}}."});
    let character = play.server.create_character(&card).await;
    let sid = id_of(&play.server.post("/api/sessions", &json!({"characterIds": [character]})).await);
    let shown = play.server.get(&format!("/api/chat/{sid}/projection")).await;
    assert_eq!(shown["items"][0]["content"], "You have 7.");
}

/// A reroll knows its swipe number, and so does its preview.
#[tokio::test]
async fn swipe_number_macro_matches_reroll_and_preview() {
    let play = start_with_scripts(json!([]), json!([]), json!([])).await;
    let said = play.run_turn("[{{currentSwipeId}}/{{lastSwipeId}}]").await;
    assert_eq!(last_request_texts(&play).last().unwrap(), "[/]");
    let preview = play.post("prompt", json!({"parentId": said.user_node})).await;
    play.regenerate_and_wait(&said.reply).await;
    assert_eq!(last_request_texts(&play).last().unwrap(), "[2/1]");
    assert_eq!(preview["messages"], play.server.mock().requests().pop().unwrap()["messages"]);
    play.regenerate_and_wait(&said.reply).await;
    assert_eq!(last_request_texts(&play).last().unwrap(), "[3/2]");
}
