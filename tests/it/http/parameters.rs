//! The parameters of presets of every kind: taking them over, what a model server gets of them, and what it does not.

use super::api_session::ApiSession;
use super::*;
use clotho_core::parameters::PARAMETERS;

async fn add_preset(play: &ApiSession, kind: &str, body: Value) -> String {
    let made = play.server.post("/api/presets", &json!({"kind": kind, "name": kind, "body": body})).await;
    id_of(&made)
}

/// Imports a preset file as another program wrote it. Its kind is detected.
async fn import_preset(play: &ApiSession, kind: &str, body: &Value) -> String {
    let form = format!(
        "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{kind}.json\"\r\n\r\n{body}\r\n--b--\r\n"
    );
    let request = play.server.request("POST", "/api/presets/import");
    let came = request.bytes(form.as_bytes(), "multipart/form-data; boundary=b").send().await.expect(201);
    assert_eq!(came["items"][0]["kind"], kind);
    id_of(&came["items"][0])
}

async fn change(play: &ApiSession, body: Value) -> Value {
    let path = format!("/api/sessions/{}", play.sid);
    play.server.request("PATCH", &path).json(&body).send().await.expect(200)
}

/// Everything that an imported preset sets reaches the model.
#[tokio::test]
async fn parameters_of_chosen_preset_reach_model() {
    let play = ApiSession::start().await;
    let body = json!({"prompts": [], "temperature": 0.9, "top_k": 0, "min_p": 0.1, "dry_multiplier": 0.8,
        "dry_base": 1.75, "xtc_probability": 0, "xtc_threshold": 0.1, "logit_bias": {"9": -5}, "verbosity": "low"});
    let preset = import_preset(&play, "openai", &body).await;
    change(&play, json!({"presetId": preset})).await;
    play.run_turn("Hi.").await;
    let sent = play.server.mock().requests().pop().unwrap();
    let of = |names: [&str; 6]| names.map(|name| sent[name].clone());
    assert_eq!(
        of(["temperature", "min_p", "dry_multiplier", "dry_base", "logit_bias", "verbosity"]),
        [json!(0.9), json!(0.1), json!(0.8), json!(1.75), json!({"9": -5}), json!("low")]
    );
    for idle in ["top_k", "xtc_probability", "xtc_threshold"] {
        assert!(sent.get(idle).is_none(), "{idle} changes nothing");
    }
}

/// The samplers of a preset without prompts are taken over in one step; what presets do not set stays.
#[tokio::test]
async fn parameters_of_sampler_presets_are_taken_over() {
    let play = ApiSession::start().await;
    change(&play, json!({"params": {"top_a": 0.5, "max_tokens": 50, "own_field": true}})).await;
    for (kind, body, expected) in [
        (
            "textgen",
            json!({"temp": 1.2, "rep_pen": 1.05, "rep_pen_range": 512, "smoothing_factor": 0.3, "genamt": 321,
                "mirostat_mode": 0, "typical_p": 1}),
            json!({"own_field": true, "temperature": 1.2, "repetition_penalty": 1.05, "repetition_penalty_range": 512,
                "smoothing_factor": 0.3, "max_tokens": 321}),
        ),
        (
            "kobold",
            json!({"temp": 0.6, "tfs": 0.9, "rep_pen_slope": 0}),
            json!({"own_field": true, "temperature": 0.6, "tfs": 0.9}),
        ),
        (
            "novel",
            json!({"temperature": 1.3, "tail_free_sampling": 0.8}),
            json!({"own_field": true, "temperature": 1.3, "tfs": 0.8}),
        ),
    ] {
        let preset = import_preset(&play, kind, &body).await;
        assert_eq!(change(&play, json!({"paramsFrom": preset})).await["params"], expected, "{kind}");
    }
    play.run_turn("Hi.").await;
    let sent = play.server.mock().requests().pop().unwrap();
    assert_eq!((&sent["temperature"], &sent["tfs"], &sent["own_field"]), (&json!(1.3), &json!(0.8), &json!(true)));
    let path = format!("/api/sessions/{}", play.sid);
    let theme = add_preset(&play, "theme", json!({"main_text_color": "red"})).await;
    let refused = play.server.request("PATCH", &path).json(&json!({"paramsFrom": theme})).send().await;
    assert_eq!(refused.expect_error("invalid")["details"]["field"], "paramsFrom");
    let both = play.server.request("PATCH", &path).json(&json!({"paramsFrom": theme, "params": {}})).send().await;
    both.expect_error("invalid");
    let missing = json!({"paramsFrom": "00000000-0000-7000-8000-000000000000"});
    play.server.request("PATCH", &path).json(&missing).send().await.expect_error("not_found");
}

/// What the server of a story does not take is named for a preset, and for the story.
#[tokio::test]
async fn parameters_not_taken_by_server_are_listed() {
    let play = ApiSession::start().await;
    let path = format!("/api/sessions/{}/parameters", play.sid);
    let all = play.server.get(&path).await;
    assert_eq!((&all["kind"], &all["notTaken"], &all["notSent"]), (&json!("openai"), &json!([]), &json!([])));
    let new = json!({"id": "house", "kind": "anthropic", "baseUrl": play.server.mock().base_url(), "key": "sk-1"});
    play.server.request("POST", "/api/providers").json(&new).send().await.expect(201);
    change(&play, json!({"model": "house/claude-3-5-sonnet", "params": {"min_p": 0.1, "top_p": 0.9}})).await;
    let textgen = add_preset(&play, "textgen", json!({"temp": 1.2, "dry_multiplier": 0.8, "genamt": 300})).await;
    let told = play.server.get(&format!("{path}?presetId={textgen}")).await;
    assert_eq!(told["preset"], json!({"temperature": 1.2, "dry_multiplier": 0.8, "max_tokens": 300}));
    assert_eq!((&told["kind"], &told["notSent"]), (&json!("anthropic"), &json!(["dry_multiplier"])));
    let told = play.server.get(&path).await;
    assert_eq!((&told["preset"], &told["notSent"]), (&json!({}), &json!(["min_p"])));
    assert!(told["notTaken"].as_array().unwrap().contains(&json!("tfs")));
    let missing = format!("{path}?presetId=00000000-0000-7000-8000-000000000000");
    play.server.request("GET", &missing).send().await.expect_error("not_found");
    let theme = add_preset(&play, "theme", json!({"main_text_color": "red"})).await;
    play.server.request("GET", &format!("{path}?presetId={theme}")).send().await.expect_error("invalid");
}

/// The page has a field and a name for each parameter.
#[test]
fn parameters_all_have_field_on_page() {
    let fields = include_str!("../../../static/src/lib/generation-params.ts");
    for words in [
        include_str!("../../../static/src/lib/strings/en-generation.ts"),
        include_str!("../../../static/src/lib/strings/zh-generation.ts"),
    ] {
        for spec in PARAMETERS {
            assert!(fields.contains(&format!("\"{}\"", spec.name)), "{} has no field", spec.name);
            assert!(words.contains(&format!("\"generation.{}\"", spec.name)), "{} has no name", spec.name);
        }
    }
}
