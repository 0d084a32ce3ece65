//! The size of prompts and who counts it.

use super::api_session::ApiSession;
use super::*;
use crate::support::mock_model::MockModel;
use clotho_provider::Tokenizer;

/// Starts a session with a preset, a model of this name and provider settings.
async fn start_with_model(model: &str, settings: &[(&str, &str)], preset: Value) -> ApiSession {
    let mock = MockModel::start().await;
    let mut setup = TestApp::setup();
    for (key, value) in [("id", "own"), ("base_url", &mock.base_url()), ("models", &format!("[{model:?}]"))] {
        setup = setup.set(&format!("providers.2.{key}"), value);
    }
    for (key, value) in settings {
        setup = setup.set(key, value);
    }
    let play = ApiSession::start_with(setup.mock(mock), json!({"model": format!("own/{model}")})).await;
    let made = play.server.post("/api/presets", &json!({"kind": "openai", "name": "Own", "body": preset})).await;
    let path = format!("/api/sessions/{}", play.sid);
    play.server.request("PATCH", &path).json(&json!({"presetId": made["id"]})).send().await.expect(200);
    play
}

/// Returns a preset without texts.
fn empty_preset() -> Value {
    json!({"new_chat_prompt": ""})
}

async fn trace(play: &ApiSession, reply: &str) -> Value {
    play.get(&format!("node/{reply}/trace")).await
}

/// Returns the texts of a sent prompt from its trace.
fn message_texts(trace: &Value) -> Vec<String> {
    let messages = trace["messages"].as_array().unwrap();
    messages.iter().map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

/// For an OpenAI model tokens are counted exactly: its texts plus four tokens per block.
#[tokio::test]
async fn token_count_for_openai_model_is_exact() {
    let play = start_with_model("gpt-4o-mini", &[], json!({"new_chat_prompt": ""})).await;
    let said = play.run_turn("お誕生日おめでとう").await;
    let trace = trace(&play, &said.reply).await;
    assert_eq!(trace["tokens"]["by"], "tiktoken o200k_base");
    let tokenizer = Tokenizer::for_model("gpt-4o").unwrap();
    for block in trace["blueprint"].as_array().unwrap() {
        let text = block["text"].as_str().unwrap();
        assert_eq!(block["tokens"], json!(tokenizer.count(text).unwrap() + 4), "{text}");
    }
    assert_eq!(trace["tokensEstimated"], trace["tokens"]["count"]);
    let newest = message_texts(&trace).iter().any(|text| text == "お誕生日おめでとう");
    assert!(newest && tokenizer.count("お誕生日おめでとう") == Some(8));
}

/// A model with a tokenizer file is counted with it. If the file is invalid, the server runs with an estimate and says
/// so.
#[tokio::test]
async fn token_count_uses_tokenizer_file_or_estimate() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("words.json");
    let words_of = json!({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
        "model": {"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"}});
    std::fs::write(&path, words_of.to_string()).unwrap();
    let named = path.to_str().unwrap();
    let play = start_with_model("mine", &[("providers.2.tokenizer", named)], empty_preset()).await;
    let said = play.run_turn("one two three").await;
    let counted = trace(&play, &said.reply).await;
    assert_eq!(counted["tokens"]["by"], "file words.json");
    let main = &counted["blueprint"][0];
    let words = regex::Regex::new(r"\w+|[^\w\s]+").unwrap();
    assert_eq!(main["tokens"], json!(words.find_iter(main["text"].as_str().unwrap()).count() + 4), "{main}");

    // A file that loads but cannot count words is invalid too.
    for none in ["{}".to_owned(), words_of.to_string().replace("{\"[UNK]\":0}", "{}")] {
        std::fs::write(&path, none).unwrap();
        let play = start_with_model("mine", &[("providers.2.tokenizer", named)], empty_preset()).await;
        let said = play.run_turn("one two three").await;
        assert_eq!(trace(&play, &said.reply).await["tokens"]["by"], "estimate");
    }
}

/// Without a tokenizer, the usage that the model server reports corrects the next estimate.
#[tokio::test]
async fn token_estimate_is_corrected_by_reported_usage() {
    let play = start_with_model("mine", &[], empty_preset()).await;
    let said = play.run_turn(&"Light the lamp. ".repeat(40)).await;
    let before = trace(&play, &said.reply).await;
    let raw = |trace: &Value| -> usize {
        message_texts(trace).iter().map(|text| clotho_compat::prompt::estimate_message(text)).sum()
    };
    let twice = u64::try_from(raw(&before) * 2).unwrap();
    play.server.mock().queue_reply(Reply::ok(["Done."]).usage(twice, 1));
    let said = play.run_turn("Again.").await;
    play.server.mock().queue_reply(Reply::ok(["Done."]));
    let after = play.run_turn("And again.").await;
    let (first, then) = (trace(&play, &said.reply).await, trace(&play, &after.reply).await);
    let count = |trace: &Value| usize::try_from(trace["tokens"]["count"].as_u64().unwrap()).unwrap();
    assert_eq!(then["tokens"]["by"], "estimate");
    assert!(count(&first) < raw(&first) * 3 / 2, "{}", first["tokens"]);
    assert!(count(&then) > raw(&then) * 3 / 2, "{} {}", raw(&then), then["tokens"]);
}

/// A server with its own tokenizer counts the whole prompt before it is sent. If it exceeds the budget, the prompt is
/// rebuilt once and fits.
#[tokio::test]
async fn token_count_from_server_over_budget_rebuilds_prompt() {
    let settings =
        [("providers.2.kind", "llamacpp"), ("generation.context_tokens", "512"), ("generation.reply_tokens", "128")];
    let play = start_with_model("mine", &settings, empty_preset()).await;
    // These words count as several times their estimate.
    let words = |text: &str| text.split_whitespace().count();
    let mut largest = 0;
    for n in 0..5 {
        let said = play.run_turn(&format!("{n} {}", "a ".repeat(120))).await;
        let trace = trace(&play, &said.reply).await;
        assert_eq!(trace["tokens"]["by"], "server");
        let sent = play.server.mock().requests().pop().unwrap()["prompt"].as_str().unwrap().to_owned();
        let count = usize::try_from(trace["tokens"]["count"].as_u64().unwrap()).unwrap();
        assert_eq!(count, words(&sent), "{sent}");
        assert!(count + 128 <= 512, "{count} words in turn {n}");
        largest = largest.max(count);
        assert_eq!(trace["isExact"], true);
    }
    assert!(largest > 200, "{largest}");
}
