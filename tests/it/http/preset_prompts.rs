//! Prompts in the order of the session's preset.

use super::api_session::ApiSession;
use super::*;

/// Returns a preset with its own order and samplers.
fn preset() -> Value {
    let part = |id: &str, role: &str, text: &str| json!({"identifier": id, "role": role, "content": text});
    let mut deep = part("deep", "system", "Deep word.");
    deep.as_object_mut()
        .unwrap()
        .extend(json!({"injection_position": 1, "injection_depth": 1}).as_object().unwrap().clone());
    let on = |id: &str| json!({"identifier": id, "enabled": true});
    json!({
        "temperature": 0.25, "openai_max_tokens": 77, "new_chat_prompt": "=== chat ===", "new_example_chat_prompt": "",
        "prompts": [part("main", "system", "Tell it as {{char}}."), part("style", "user", "Short lines."), deep,
                    {"identifier": "charDescription", "marker": true, "role": "assistant"}],
        "prompt_order": [{"character_id": 100_001, "order": [
            on("style"), on("main"), on("charDescription"), on("chatHistory"), on("jailbreak"), on("deep"),
            {"identifier": "worldInfoBefore", "enabled": false}, {"identifier": "charPersonality", "enabled": false},
        ]}],
        "odd": {"kept": true},
    })
}

async fn start_with_preset(preset: &Value) -> ApiSession {
    let app = TestServer::start().await;
    let card = json!({"name": "Rin", "firstMessage": "Hello.", "description": "{{char}} keeps a lamp."});
    let character = app.create_character(&card).await;
    let sid = id_of(&app.post("/api/sessions", &json!({"characterIds": [character]})).await);
    let made = app.post("/api/presets", &json!({"kind": "openai", "name": "Own", "body": preset})).await;
    let path = format!("/api/sessions/{sid}");
    let session = app.request("PATCH", &path).json(&json!({"presetId": made["id"]})).send().await.expect(200);
    assert_eq!(session["presetId"], made["id"]);
    ApiSession { server: app, sid }
}

/// The prompt follows the preset's order and samplers, and the trace rebuilds it byte for byte.
#[tokio::test]
async fn preset_sets_prompt_order_and_samplers() {
    let play = start_with_preset(&preset()).await;
    play.run_turn("Hi.").await;
    let said = play.run_turn("Again.").await;
    let request = play.server.mock().requests().pop().unwrap();
    let reply = play.get(&format!("node/{}", said.reply)).await;
    let first = play.get("projection").await["items"][2]["content"].clone();
    let expected = json!([
        {"role": "user", "content": "Short lines."},
        {"role": "system", "content": "Tell it as Rin."},
        {"role": "assistant", "content": "Rin keeps a lamp."},
        {"role": "system", "content": "=== chat ==="},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "Hi."},
        {"role": "assistant", "content": first},
        {"role": "system", "content": "Deep word."},
        {"role": "user", "content": "Again."},
    ]);
    assert_eq!(request["messages"], expected);
    assert_eq!((&request["temperature"], &request["max_tokens"]), (&json!(0.25), &json!(77)));
    let trace = play.get(&format!("node/{}/trace", said.reply)).await;
    assert_eq!((&trace["messages"], &trace["isExact"]), (&expected, &json!(true)));
    assert_eq!(reply["metadata"]["params"]["temperature"], 0.25);
    // Without the preset everything is as before.
    let path = format!("/api/sessions/{}", play.sid);
    play.server.request("PATCH", &path).json(&json!({"presetId": null})).send().await.expect(200);
    play.run_turn("And now?").await;
    let request = play.server.mock().requests().pop().unwrap();
    assert!(request["messages"][0]["content"].as_str().unwrap().contains("Rin keeps a lamp."), "{request}");
    assert!(!request.to_string().contains("Deep word."));
    let again = play.get(&format!("node/{}/trace", said.reply)).await;
    assert_eq!(again["isExact"], true);
}

/// Domain 6.3: with a preset too, a full history is cut in steps, and its trace is exact.
#[tokio::test]
async fn preset_prompt_full_history_is_trimmed_in_steps() {
    let mut narrow = preset();
    narrow["openai_max_context"] = json!(500);
    let play = start_with_preset(&narrow).await;
    let long = |n: usize| format!("{n:03} {}", "abcdefg ".repeat(15));
    let (mut cuts, mut before) = (0, Vec::new());
    for n in 0..12 {
        play.server.mock().queue_reply(Reply::ok([long(1_000 + n).as_str()]));
        let said = play.run_turn(&long(n)).await;
        let request = play.server.mock().requests().pop().unwrap();
        let trace = play.get(&format!("node/{}/trace", said.reply)).await;
        assert_eq!((&trace["messages"], &trace["isExact"]), (&request["messages"], &json!(true)));
        let messages: Vec<Value> = request["messages"].as_array().unwrap().clone();
        let history: Vec<Value> = messages.into_iter().filter(|message| message["content"] != "Deep word.").collect();
        cuts += usize::from(!history.starts_with(&before));
        before = history;
    }
    assert!((1..=6).contains(&cuts), "{cuts} cuts in twelve turns");
}

/// Domain 6.3: with a larger budget, a cut made for less room is not kept.
#[tokio::test]
async fn preset_prompt_larger_budget_restores_older_history() {
    let mut narrow = preset();
    narrow["openai_max_context"] = json!(500);
    let play = start_with_preset(&narrow).await;
    let session = format!("/api/sessions/{}", play.sid);
    let long = |n: usize| format!("{n:03} {}", "abcdefg ".repeat(15));
    for n in 0..20 {
        play.server.mock().queue_reply(Reply::ok([long(1_000 + n).as_str()]));
        play.run_turn(&long(n)).await;
    }
    let sent = || play.server.mock().requests().pop().unwrap()["messages"].as_array().unwrap().len();
    let few = sent();
    let mut wider = narrow.clone();
    wider["openai_max_context"] = json!(1_300);
    let made = play.server.post("/api/presets", &json!({"kind": "openai", "name": "Wider", "body": wider})).await;
    let chosen = play.server.request("PATCH", &session).json(&json!({"presetId": id_of(&made)})).send().await;
    chosen.expect(200);
    play.run_turn("And now?").await;
    assert!(sent() > 2 * few, "{few} before, {} now", sent());
}

/// Domain 6.5: names in a separate field are in the trace as they were sent.
#[tokio::test]
async fn preset_prompt_name_field_is_kept_in_trace() {
    let mut named = preset();
    named["names_behavior"] = json!(1);
    let play = start_with_preset(&named).await;
    let said = play.run_turn("Hi.").await;
    let request = play.server.mock().requests().pop().unwrap();
    assert_eq!(request["messages"][4], json!({"role": "assistant", "name": "Rin", "content": "Hello."}));
    let trace = play.get(&format!("node/{}/trace", said.reply)).await;
    assert_eq!((&trace["messages"], &trace["isExact"]), (&request["messages"], &json!(true)));
}

/// Domain 6.2: a preset that does not fit is refused by name and not sent in part.
#[tokio::test]
async fn preset_prompt_over_budget_fails_without_model_request() {
    let mut large = preset();
    large["prompts"][0]["content"] = json!("word ".repeat(2_000));
    large["openai_max_context"] = json!(1_000);
    let play = start_with_preset(&large).await;
    let parent = play.head().await;
    let started = play.post("message", json!({"parentId": parent, "content": "Hi.", "generate": true})).await;
    let reply = play.wait_for_reply(&id_of(&started["generations"][0])).await;
    let error = &reply["metadata"]["error"];
    assert_eq!(error["code"], "prompt_too_large", "{reply}");
    assert!(error["message"].as_str().unwrap().contains("of the preset"), "{error}");
    assert_eq!(play.server.mock().requests().len(), 0);
}

/// A session accepts only one's own presets that make prompts. A deleted preset counts as none.
#[tokio::test]
async fn session_preset_accepts_only_own_prompt_presets() {
    let play = start_with_preset(&preset()).await;
    let path = format!("/api/sessions/{}", play.sid);
    for (kind, body) in [("theme", json!({})), ("openai", json!({"odd": 1}))] {
        let made = play.server.post("/api/presets", &json!({"kind": kind, "name": "x", "body": body})).await;
        let ask = play.server.request("PATCH", &path).json(&json!({"presetId": made["id"]}));
        assert_eq!(ask.send().await.expect_error("invalid")["details"]["field"], "presetId");
    }
    let nobody = play.server.request("PATCH", &path).json(&json!({"presetId": play.sid}));
    nobody.send().await.expect_error("not_found");
    let chosen = play.session().await["presetId"].clone();
    let preset = format!("/api/presets/{}", chosen.as_str().unwrap());
    play.server.request("DELETE", &preset).send().await.expect(204);
    play.run_turn("Hi.").await;
    assert!(!play.server.mock().requests().pop().unwrap().to_string().contains("Short lines."));
}

/// The depth prompt of a card stays between the last messages in every story and moves with them.
#[tokio::test]
async fn card_depth_prompt_is_inserted_between_messages() {
    let app = TestServer::start().await;
    let deep = json!({"prompt": "{{char}} is wary.", "depth": 1, "role": "user"});
    let card = json!({
        "name": "Rin", "firstMessage": "Hello.", "metadata": {"extensions": {"depth_prompt": deep}},
    });
    let character = app.create_character(&card).await;
    let sid = id_of(&app.post("/api/sessions", &json!({"characterIds": [character]})).await);
    let play = ApiSession { server: app, sid };
    for say in ["Hi.", "Again."] {
        let said = play.run_turn(say).await;
        let request = play.server.mock().requests().pop().unwrap();
        let messages = request["messages"].as_array().unwrap();
        let expected = json!({"role": "user", "content": format!("Rin is wary.\n\n{say}")});
        assert_eq!(messages.last(), Some(&expected), "{request}");
        assert_eq!(request.to_string().matches("wary").count(), 1);
        let trace = play.get(&format!("node/{}/trace", said.reply)).await;
        assert_eq!((&trace["messages"], &trace["isExact"]), (&request["messages"], &json!(true)));
    }
}

/// Creates a preset bound to models, with a text that identifies it in a prompt; returns its id.
async fn create_model_preset(app: &TestServer, name: &str, models: &[&str]) -> String {
    let body = json!({
        "prompts": [{"identifier": "main", "content": format!("Told by {name}.")}],
        "extensions": {"clotho": {"models": models}},
    });
    id_of(&app.post("/api/presets", &json!({"kind": "openai", "name": name, "body": body})).await)
}

/// Without a chosen preset, the one bound to the session's model applies. The closest match wins, then the
/// oldest. A session's own choice goes first, and presets in the trash are ignored.
#[tokio::test]
async fn preset_bound_to_model_applies_without_session_choice() {
    let play = ApiSession::start().await;
    let asked = async |expected: &str| {
        let said = play.run_turn("Hi.").await;
        let request = play.server.mock().requests().pop().unwrap();
        let trace = play.get(&format!("node/{}/trace", said.reply)).await;
        assert_eq!(trace["isExact"], true);
        let first = request["messages"][0]["content"].as_str().unwrap().to_owned();
        assert_eq!(first.contains("Told by"), !expected.is_empty(), "{first}");
        assert!(expected.is_empty() || first.contains(&format!("Told by {expected}.")), "{expected}: {first}");
        let mut told = trace["preset"].clone();
        told["asked"] = trace["model"].clone();
        told
    };
    // Without a matching preset the server's own applies.
    let own = asked("").await;
    assert_eq!(own["by"], "own");
    let model = own["asked"].as_str().unwrap().to_owned();
    create_model_preset(&play.server, "Nobody's", &["another-*"]).await;
    // Closer matches win, then older presets.
    let any = create_model_preset(&play.server, "Any", &["*"]).await;
    let told = asked("Any").await;
    assert_eq!((&told["by"], &told["name"], &told["model"]), (&json!("model"), &json!("Any"), &json!("*")));
    assert_eq!(told["id"], json!(any));
    let begin: String = model.chars().take(3).collect();
    create_model_preset(&play.server, "Some", &["zzz", &format!("{begin}*")]).await;
    asked("Some").await;
    let close = create_model_preset(&play.server, "This", &[&model.to_uppercase()]).await;
    create_model_preset(&play.server, "Later", &[&model]).await;
    assert_eq!(asked("This").await["model"], json!(model.to_uppercase()));
    let listed = play.server.get("/api/presets").await;
    assert_eq!(listed["items"][1]["models"], json!(["*"]));

    // Rebinding, the session's own choice, and deletion.
    let path = format!("/api/presets/{close}");
    let other = json!({"change": {"own": {"models": ["another"]}}});
    play.server.request("PATCH", &path).json(&other).send().await.expect(200);
    asked("Later").await;
    let session = format!("/api/sessions/{}", play.sid);
    play.server.request("PATCH", &session).json(&json!({"presetId": any})).send().await.expect(200);
    assert_eq!(asked("Any").await["by"], "session");
    play.server.request("PATCH", &session).json(&json!({"presetId": null})).send().await.expect(200);
    for one in play.server.get("/api/presets").await["items"].as_array().unwrap() {
        play.server.request("DELETE", &format!("/api/presets/{}", id_of(one))).send().await.expect(204);
    }
    asked("").await;
}

/// The shares of a preset limit examples and lore, and what stays out gives the budget as the reason.
#[tokio::test]
async fn preset_budget_shares_limit_examples_and_lore() {
    let app = TestServer::start().await;
    let block = |n: usize| format!("<START>\n{{{{char}}}}: Example {n}. {}\n", "lamp oil and wick ".repeat(20));
    let examples: String = (0..8).map(block).collect();
    let character =
        app.create_character(&json!({"name": "Rin", "firstMessage": "Hello.", "exampleMessages": examples})).await;
    let sid = id_of(&app.post("/api/sessions", &json!({"characterIds": [character]})).await);
    let play = ApiSession { server: app, sid };
    let lore = |n: usize| json!({"key": ["lamp"], "comment": format!("{n}"), "content": format!("Lore {n}. {}", "tide ".repeat(60))});
    let entries: Vec<Value> = (0..8).map(lore).collect();
    let book = play.server.post("/api/lorebooks", &json!({"name": "Atlas", "entries": entries})).await;
    let holds = json!({"everything": true, "sessionIds": [], "personaIds": [], "characterIds": []});
    play.server.put(&format!("/api/lorebooks/{}/holds", id_of(&book)), &holds).await;
    let made = play.server.post("/api/presets", &json!({"from": "own", "name": "Mine"})).await;
    let path = format!("/api/presets/{}", id_of(&made));
    let head = play.head().await;
    let asked = json!({"parentId": head, "content": "The lamp?", "presetId": made["id"]});
    let with = async |shares: Value| {
        let change =
            json!({"fields": {"openai_max_context": 4000, "openai_max_tokens": 500}, "own": {"shares": shares}});
        play.server.request("PATCH", &path).json(&json!({"change": change})).send().await.expect(200);
        play.server.post(&play.chat_path("prompt"), &asked).await
    };
    let tokens = |trace: &Value, slots: &[&str], kept: bool| -> u64 {
        let of = |block: &&Value| slots.contains(&block["slot"].as_str().unwrap()) && block["kept"] == kept;
        trace["blueprint"].as_array().unwrap().iter().filter(of).map(|block| block["tokens"].as_u64().unwrap()).sum()
    };
    let examples = ["dialogueExamples"];
    let all = with(Value::Null).await;
    assert_eq!(tokens(&all, &examples, false), 0, "{}", all["blueprint"]);
    let few = with(json!({"examples": 10, "lore": 8})).await;
    let taken = tokens(&few, &examples, true);
    assert!(taken > 0 && taken <= 350, "{taken}");
    let left = few["blueprint"].as_array().unwrap().iter().filter(|block| block["kept"] == false);
    assert!(left.clone().count() > 0 && left.clone().all(|block| block["why"] == "budget"), "{}", few["blueprint"]);
    assert_eq!(few["lore"]["budget"], json!(280));
    let none = with(json!({"history": 100})).await;
    assert_eq!((tokens(&none, &examples, true), &none["lore"]["fired"]), (0, &json!([])));
    let odd = json!({"change": {"own": {"shares": {"lore": 101}}}});
    let error = play.server.request("PATCH", &path).json(&odd).send().await.expect_error("invalid");
    assert_eq!(error["details"]["field"], "change.own.shares");
}

/// A prompt part for other replies to the same message applies to rerolls only.
#[tokio::test]
async fn preset_prompt_trigger_swipe_applies_on_reroll() {
    let mut own = preset();
    own["prompts"][1]["injection_trigger"] = json!(["swipe"]);
    let play = start_with_preset(&own).await;
    let said = play.run_turn("Where am I?").await;
    let has = || play.server.mock().requests().pop().unwrap().to_string().contains("Short lines.");
    assert!(!has());
    play.regenerate_and_wait(&said.reply).await;
    assert!(has());
}

/// Macros for the sizes of a prompt know what the preset sets: in the card, the preset, the lore and messages.
#[tokio::test]
async fn size_macros_know_limits_of_preset() {
    let sizes = "{{maxPrompt}}|{{maxContext}}|{{maxResponse}}";
    let app = TestServer::start().await;
    let card = json!({"name": "Rin", "description": format!("CARD {sizes}"), "firstMessage": "Hello."});
    let sid = id_of(&app.post("/api/sessions", &json!({"characterIds": [app.create_character(&card).await]})).await);
    let play = ApiSession { server: app, sid };
    let main = json!({"identifier": "main", "role": "system", "content": format!("MAIN {sizes}")});
    let mark = |name: &str| json!({"identifier": name, "marker": true});
    let body = json!({
        "openai_max_context": 3000, "openai_max_tokens": 200,
        "prompts": [main, mark("charDescription"), mark("chatHistory")],
    });
    let preset = play.server.post("/api/presets", &json!({"kind": "openai", "name": "Small", "body": body})).await;
    let path = format!("/api/sessions/{}", play.sid);
    play.server.request("PATCH", &path).json(&json!({"presetId": preset["id"]})).send().await.expect(200);
    play.run_turn(&format!("SAID {sizes}")).await;
    let request = play.server.mock().requests().pop().unwrap().to_string();
    for place in ["CARD", "MAIN", "SAID"] {
        assert!(request.contains(&format!("{place} 2800|3000|200")), "{place}: {request}");
    }
}
