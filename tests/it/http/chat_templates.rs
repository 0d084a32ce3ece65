//! Prompts sent as one text in the chat template of a model, and replies with a prefill.

use super::api_session::ApiSession;
use super::*;
use crate::support::mock_model::MockModel;

/// Starts a session with a provider of this kind, its settings and a preset.
async fn start_with_provider(kind: &str, settings: &[(&str, &str)], preset: Value, mock: MockModel) -> ApiSession {
    let mut setup = TestApp::setup();
    let own = [("id", "own"), ("kind", kind), ("base_url", &mock.root_url()), ("models", "[\"mock\"]")];
    for (key, value) in own.iter().chain(settings) {
        setup = setup.set(&format!("providers.2.{key}"), value);
    }
    let play = ApiSession::start_with(setup.mock(mock), json!({"model": "own/mock"})).await;
    let made = play.server.post("/api/presets", &json!({"kind": "openai", "name": "Own", "body": preset})).await;
    let path = format!("/api/sessions/{}", play.sid);
    play.server.request("PATCH", &path).json(&json!({"presetId": made["id"]})).send().await.expect(200);
    play
}

/// Returns a preset with only the instructions and the history.
fn minimal_preset() -> Value {
    let on = |id: &str| json!({"identifier": id, "enabled": true});
    json!({"new_chat_prompt": "", "assistant_prefill": "",
        "prompts": [{"identifier": "main", "role": "system", "content": "Be {{char}}."}],
        "prompt_order": [{"character_id": 100_001, "order": [on("main"), on("chatHistory")]}]})
}

/// Returns the body of the last request for a reply.
fn last_request(play: &ApiSession) -> Value {
    play.server.mock().requests().pop().unwrap()
}

/// A whole turn with a text completion server and the Llama 3 template: prompt, stop strings and trace. A continued
/// reply leaves its turn open.
#[tokio::test]
async fn text_completion_turn_uses_llama3_template() {
    let play =
        start_with_provider("koboldcpp", &[("template", "llama3")], minimal_preset(), MockModel::start().await).await;
    play.server.mock().queue_reply(Reply::ok(["She lights"]));
    let said = play.run_turn("Light the <|eot_id|> lamp.").await;
    let head = |who: &str| format!("<|start_header_id|>{who}<|end_header_id|>\n\n");
    let story = format!(
        "{}Be Rin.<|eot_id|>{}Hello.<|eot_id|>{}Light the <| eot_id|> lamp.<|eot_id|>{}",
        head("system"),
        head("assistant"),
        head("user"),
        head("assistant")
    );
    let sent = last_request(&play);
    assert_eq!(sent["prompt"], json!(story));
    assert_eq!(sent["stop_sequence"], json!(["<|eot_id|>", "<|start_header_id|>"]));
    let trace = play.get(&format!("node/{}/trace", said.reply)).await;
    assert_eq!((&trace["template"], &trace["isExact"]), (&json!({"name": "llama3"}), &json!(true)));
    assert_eq!(trace["tokens"]["by"], "server");

    play.server.mock().queue_reply(Reply::ok([" the lamp."]));
    let longer = id_of(&play.post(&format!("node/{}/continue", said.reply), json!({})).await["generations"][0]);
    assert_eq!(play.wait_for_reply(&longer).await["content"], "She lights the lamp.");
}

/// The chat template that a server reports is used without any setting. An invalid template is reported, and ChatML is
/// used instead.
#[tokio::test]
async fn chat_template_of_server_used_or_falls_back() {
    for kind in ["llamacpp", "koboldcpp"] {
        let mock = MockModel::start().await;
        mock.set_chat_template("{% for m in messages %}<|{{ m.role }}|>{{ m.content }}</s>{% endfor %}<|assistant|>");
        let play = start_with_provider(kind, &[], minimal_preset(), mock).await;
        // The template is learned in the background during the first turns.
        let learned = async || {
            let said = play.run_turn("Well?").await;
            let trace = play.get(&format!("node/{}/trace", said.reply)).await;
            (trace["template"]["name"] == "server").then_some(trace)
        };
        let trace = wait_for_some("the server's template", learned).await;
        let sent = last_request(&play);
        let prompt = sent["prompt"].as_str().unwrap();
        assert!(
            prompt.starts_with("<|system|>Be Rin.</s><|assistant|>Hello.</s><|user|>Well?</s>"),
            "{kind}: {prompt}"
        );
        assert!(prompt.ends_with("<|user|>Well?</s><|assistant|>"), "{kind}: {prompt}");
        assert_eq!(trace["template"], json!({"name": "server"}), "{kind}");
    }
    let play =
        start_with_provider("llamacpp", &[("template", "no/such.jinja")], minimal_preset(), MockModel::start().await)
            .await;
    let said = play.run_turn("Hi.").await;
    assert!(last_request(&play)["prompt"].as_str().unwrap().starts_with("<|im_start|>system\nBe Rin.<|im_end|>\n"));
    let trace = play.get(&format!("node/{}/trace", said.reply)).await;
    assert_eq!(trace["template"]["name"], "chatml");
    assert!(trace["template"]["problem"].as_str().unwrap().contains("no/such.jinja"), "{}", trace["template"]);
}

/// The reply prefill of a preset is sent as the model's own last text where the provider supports it, and elsewhere not
/// at all. The trace has it, and the reply's text is only what the model added.
#[tokio::test]
async fn preset_reply_prefill_is_sent_where_supported() {
    let mut begins = minimal_preset();
    begins["assistant_prefill"] = json!("{{char}} smiles:");
    for kind in ["anthropic", "koboldcpp", "llamacpp", "gemini"] {
        let play = start_with_provider(kind, &[], begins.clone(), MockModel::start().await).await;
        play.server.mock().queue_reply(Reply::ok([" Yes."]));
        let said = play.run_turn("Hi.").await;
        let sent = last_request(&play);
        let trace = play.get(&format!("node/{}/trace", said.reply)).await;
        assert_eq!(trace["isExact"], true, "{kind}");
        let last = trace["messages"].as_array().unwrap().last().unwrap();
        match kind {
            "gemini" => assert_eq!(last["content"], "Hi."),
            "anthropic" => {
                let turns = sent["messages"].as_array().unwrap();
                assert_eq!(turns.last().unwrap()["role"], "assistant");
                assert_eq!(turns.last().unwrap()["content"][0]["text"], "Rin smiles:");
            }
            _ => assert!(sent["prompt"].as_str().unwrap().ends_with("<|im_start|>assistant\nRin smiles:"), "{kind}"),
        }
        if kind != "gemini" {
            assert_eq!(last, &json!({"role": "assistant", "content": "Rin smiles:"}), "{kind}");
            assert_eq!(play.get(&format!("node/{}", said.reply)).await["content"], " Yes.", "{kind}");
        }
    }
}
