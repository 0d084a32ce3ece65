//! The recorded requests once more, the way a user gets them: the files that SillyTavern has are imported in one
//! archive, and each prompt is read from the preview route, or from the reply or draft that was requested.
//!
//! `golden` compares the same cases by a direct call. So a case that fails only here shows a fault of the import, of
//! the server, or of what a turn gathers.

use clotho_core::tree::Role;
use serde_json::{Map, Value, json};

use super::golden::{CASES, DIFFERENCES, LORE_SETTINGS, difference, number_field, read_golden_file, text_field};
use crate::http::api_session::ApiSession;
use crate::sillytavern::hostile::zip_archive;
use crate::sillytavern::play::run_import_job;
use crate::support::app::TestApp;
use crate::support::data_root::chat_file_text;
use crate::support::mock_model::MockModel;
use crate::support::server::{TestServer, id_of};
use crate::support::wait::wait_for_some;

/// Which cases cannot go this way, and why.
const DIRECT_ONLY: [(&str, &str, &str); 7] = [
    ("preset", "tight", BUDGET),
    ("preset", "tighter", BUDGET),
    ("preset", "tight-pinned", BUDGET),
    ("id", "prompt-203", "the recorded macros see the reply that is replaced, which a swipe in SillyTavern hides"),
    ("id", "prompt-206", "a message of the user cannot be continued"),
    ("id", "prompt-208", "a greeting cannot be generated anew"),
    ("id", "prompt-211", "the recorded request answers a reply: a preview wants the next message first"),
];
const BUDGET: &str = "the server counts tokens in another way, and cuts a full history to three quarters";

/// The number of cases that go this way.
const IMPORTED: usize = 76;

fn direct_only_reason(case: &Value) -> Option<&'static str> {
    DIRECT_ONLY.iter().find(|(key, value, _)| case[*key] == *value).map(|(.., reason)| *reason)
}

/// Returns the card of a case. SillyTavern can ignore the instructions of cards; Clotho has no such setting, so the
/// card has none.
fn card_file(case: &Value) -> Value {
    let mut card = Value::Object(read_golden_file("cards", case["card"].as_str().unwrap()));
    for (setting, field) in
        [("prefer_character_prompt", "system_prompt"), ("prefer_character_jailbreak", "post_history_instructions")]
    {
        if case["setup"][setting] != true {
            card["data"][field] = json!("");
        }
    }
    card
}

/// Returns the preset of a case and its name. SillyTavern can leave out examples in every preset; here their place in
/// the order is disabled.
fn preset_file(case: &Value) -> (String, Value) {
    let name = case["preset"].as_str().unwrap();
    let mut preset = Value::Object(read_golden_file("presets", name));
    if case["setup"]["strip_examples"] != true {
        return (name.to_owned(), preset);
    }
    for order in preset["prompt_order"].as_array_mut().unwrap() {
        for prompt in order["order"].as_array_mut().unwrap() {
            if prompt["identifier"] == "dialogueExamples" {
                prompt["enabled"] = json!(false);
            }
        }
    }
    (format!("{name} without examples"), preset)
}

fn persona_file(case: &Value) -> String {
    format!("{}.png", text_field(&case["setup"], "user"))
}

fn settings_file(cases: &[Value]) -> Value {
    let (mut names, mut about) = (json!({}), json!({}));
    for case in cases {
        let file = persona_file(case);
        names[&file] = case["setup"]["user"].clone();
        about[&file] = json!({"description": case["setup"]["persona"]["description"], "position": 0});
    }
    let lore: Value = serde_json::from_str(LORE_SETTINGS).unwrap();
    json!({"power_user": {"personas": names, "persona_descriptions": about}, "world_info_settings": lore})
}

fn chat_file(case: &Value) -> String {
    let note = &case["setup"]["note"];
    let metadata = json!({
        "note_prompt": note["prompt"], "note_interval": note["interval"], "note_position": note["position"],
        "note_depth": note["depth"], "note_role": note["role"],
        "persona": persona_file(case), "variables": case["setup"]["local"],
    });
    let mut rows = vec![json!({"user_name": "unused", "character_name": "unused", "chat_metadata": metadata})];
    rows.extend(case["chat"].as_array().unwrap().iter().cloned());
    chat_file_text(&rows)
}

/// Returns a data folder of SillyTavern as an archive. Each case has a card of its own, because chats of one card that
/// share messages become one story.
fn data_archive(cases: &[Value]) -> Vec<u8> {
    let mut files = vec![("default-user/settings.json".to_owned(), settings_file(cases).to_string())];
    let mut presets = Map::new();
    for case in cases {
        let id = case["id"].as_str().unwrap();
        files.push((format!("default-user/characters/{id}.json"), card_file(case).to_string()));
        files.push((format!("default-user/chats/{id}/{id}.jsonl"), chat_file(case)));
        presets.extend([preset_file(case)]);
    }
    let presets =
        presets.iter().map(|(name, preset)| (format!("default-user/OpenAI Settings/{name}.json"), preset.to_string()));
    files.extend(presets);
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
    zip_archive(&files)
}

/// Returns the ids of all items of a list by name.
async fn ids_by_name(app: &TestServer, path: &str, name: &str) -> Map<String, Value> {
    let list = app.get(&format!("{path}?limit=200")).await;
    list["items"].as_array().unwrap().iter().map(|item| (text_field(item, name), item["id"].clone())).collect()
}

/// The prompt of a case as the server makes it, or the code of its refusal.
type RoutePrompt = Result<Value, String>;

fn prompt_or_refusal(trace: &Value, error: &Value) -> RoutePrompt {
    match error["code"].as_str() {
        Some(code) => Err(code.to_owned()),
        None => Ok(trace["messages"].clone()),
    }
}

/// Reads the prompt of a case from its route.
async fn read_prompt(play: &ApiSession, case: &Value) -> RoutePrompt {
    let kind = case["type"].as_str().unwrap();
    // A draft has no trace, and Anthropic's form of a request has other messages.
    let is_prefilled = case["setup"]["source"] == "claude" && kind != "impersonate";
    let model = if is_prefilled { "claude/mock" } else { "mock/mock" };
    let shown = play.get("projection").await;
    let line: Vec<&Value> = shown["items"].as_array().unwrap().iter().collect();
    let last = line.last().unwrap();
    match kind {
        "continue" => {
            let started = play.post(&format!("node/{}/continue", id_of(last)), json!({"model": model})).await;
            let reply = play.wait_for_reply(&id_of(&started["generations"][0])).await;
            let error = &reply["metadata"]["error"];
            let trace =
                if error.is_null() { play.get(&format!("node/{}/trace", id_of(&reply))).await } else { json!(0) };
            prompt_or_refusal(&trace, error)
        }
        "impersonate" => {
            let started = play.post("impersonate", json!({"model": model})).await;
            let path = format!("draft/{}", started["draftId"].as_str().unwrap());
            let draft = wait_for_some("the end of the draft", async || {
                let draft = play.get(&path).await;
                matches!(draft["status"].as_str(), Some("done" | "error")).then_some(draft)
            });
            let error = draft.await["error"].clone();
            prompt_or_refusal(&play.server.mock().requests().pop().unwrap_or_default(), &error)
        }
        _ => {
            // The reply that a swipe replaces is there already.
            let parent = if last["role"] == "user" { last } else { line[line.len() - 2] };
            let preview = play.post("prompt", json!({"parentId": parent["id"], "model": model})).await;
            prompt_or_refusal(&preview, &preview["error"])
        }
    }
}

/// Returns the messages without what differs for a reason that lies outside of the prompt: chance, and the place of a
/// persona, which is always that of the preset here.
fn comparable(case: &Value, messages: &Value) -> Value {
    let persona = format!("{} carries letters.", text_field(&case["setup"], "user"));
    let is_elsewhere = number_field(&case["setup"]["persona"], "position") != 0;
    let lines = |text: &str| {
        let lines = text.split('\n').filter(|line| !is_elsewhere || *line != persona);
        lines.map(|line| if line.starts_with("Roll ") { "Roll one." } else { line }).collect::<Vec<_>>().join("\n")
    };
    let mut kept = Vec::new();
    for message in messages.as_array().unwrap() {
        let text = message["content"].as_str().unwrap();
        let mut message = message.clone();
        message["content"] = json!(lines(text));
        if message["content"] != "" || text.is_empty() {
            kept.push(message);
        }
    }
    Value::Array(kept)
}

/// Returns the messages that a case should have: the recorded ones with the recorded difference; `None` if it should be
/// refused.
fn expected_messages(case: &Value, known: Option<&Value>) -> Option<Value> {
    let mut messages = case["expect"]["messages"].as_array().unwrap().clone();
    let Some(known) = known else { return Some(Value::Array(messages)) };
    if known["ours"].is_null() && known.get("at").is_none() && known.get("variables").is_none() {
        return None;
    }
    if let Some(at) = known["at"].as_u64().and_then(|at| usize::try_from(at).ok()) {
        let end = at + known["recorded"].as_array().unwrap().len();
        messages.splice(at..end, known["ours"].as_array().unwrap().iter().cloned());
    }
    Some(Value::Array(messages))
}

/// Removes the beginning of a reply, which recorded requests have in a field of its own.
fn remove_prefill(case: &Value, messages: &mut Value) {
    let Some(prefill) = case["expect"]["sampler"]["assistant_prefill"].as_str() else { return };
    let sent = json!({"role": Role::Assistant.as_str(), "content": prefill});
    if messages.as_array().unwrap().last() == Some(&sent) {
        messages.as_array_mut().unwrap().pop();
    }
}

/// Returns what is wrong with the prompt of a case.
fn fault(case: &Value, known: Option<&Value>, made: RoutePrompt) -> Option<String> {
    match (expected_messages(case, known), made) {
        (None, Err(code)) => (code != "prompt_too_large").then_some(code),
        (None, Ok(messages)) => Some(format!("not refused: {messages}")),
        (Some(_), Err(code)) => Some(format!("refused: {code}")),
        (Some(expected), Ok(mut messages)) => {
            remove_prefill(case, &mut messages);
            let differs = difference(&comparable(case, &expected), Some(&comparable(case, &messages)));
            differs.map(|differs| differs.to_string())
        }
    }
}

/// Imports regular expressions that apply to every session; returns their ids.
async fn import_scripts(app: &TestServer, case: &Value) -> Vec<String> {
    let Some(scripts) = case["setup"].get("regex_scripts") else { return Vec::new() };
    let ask = app.request("POST", "/api/presets/import?trust=true");
    let made = ask.bytes(scripts.to_string().as_bytes(), "application/json").send().await.expect(201);
    made["items"].as_array().unwrap().iter().map(id_of).collect()
}

/// Starts a server that imports the cases. A prompt without a message of the user stays as the preset makes it.
async fn start_with_cases(cases: &[Value]) -> TestServer {
    let setup = TestApp::setup().set("generation.filler", "").set("providers.2.id", "claude");
    let setup = setup.set("providers.2.kind", "anthropic").set("providers.2.models", "[\"mock\"]");
    let mock = MockModel::start().await;
    let setup = setup.set("providers.2.base_url", &mock.root_url()).set("providers.2.api_key", "k").mock(mock);
    let app = TestServer::start_with(setup).await;
    let job = run_import_job(&app, "", &data_archive(cases)).await;
    assert_eq!(job["result"]["report"]["totals"]["sessions"], json!(cases.len()), "{job}");
    app
}

/// S4-52: the recorded requests are the same after an import, read from the public routes, in everything but the
/// recorded differences.
#[tokio::test]
async fn imported_prompt_cases_match_recorded_requests_over_http() {
    let known: Map<String, Value> = serde_json::from_str(DIFFERENCES).unwrap();
    let all = CASES.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let cases: Vec<Value> = all.filter(|case| direct_only_reason(case).is_none()).collect();
    assert_eq!(cases.len(), IMPORTED);
    let mut app = start_with_cases(&cases).await;
    let presets = ids_by_name(&app, "/api/presets", "name").await;
    let sessions = ids_by_name(&app, "/api/sessions", "title").await;
    let mut wrong = Vec::new();
    for case in &cases {
        let id = case["id"].as_str().unwrap();
        let play = ApiSession { server: app, sid: sessions[id].as_str().unwrap().to_owned() };
        let scripts = import_scripts(&play.server, case).await;
        let preset = json!({"presetId": presets[&preset_file(case).0]});
        let path = format!("/api/sessions/{}", play.sid);
        play.server.request("PATCH", &path).json(&preset).send().await.expect(200);
        let made = read_prompt(&play, case).await;
        for script in scripts {
            play.server.request("DELETE", &format!("/api/presets/{script}")).send().await.expect(204);
        }
        wrong.extend(fault(case, known.get(id), made).map(|fault| format!("{id}: {fault}")));
        app = play.server;
    }
    assert!(wrong.is_empty(), "{} wrong of {IMPORTED}\n{}", wrong.len(), wrong.join("\n"));
}
