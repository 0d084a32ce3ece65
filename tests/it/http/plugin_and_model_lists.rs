//! The lists of plugins with their permissions, and of models with the reasons why they are unusable.

use super::*;
use api_session::ApiSession;

/// Adds a plugin that asks for these permissions.
fn with_plugin(setup: Setup, id: &str, permissions: &str, script: &str) -> Setup {
    let manifest = format!(
        "id = \"{id}\"\ntitle = \"{id}\"\nversion = \"1.0.0\"\napi = \"1\"\n[permissions]\nrequest = [{permissions}]\n"
    );
    setup.with_plugin(id, &[("plugin.toml", &manifest), ("main.rhai", script)])
}

/// The permissions of a plugin are described in the language of the request before it is enabled.
#[tokio::test]
async fn plugin_permissions_are_described_in_request_language() {
    let app =
        TestServer::start_with(with_plugin(TestApp::setup(), "crier", "\"notes\", \"state.write:quests\"", "")).await;
    for (language, notes, write) in [
        ("en", "show lines under a message", "change values of other plugins: /quests"),
        ("zh-CN", "在消息下方显示说明", "更改其他部分的数值：/quests"),
    ] {
        let told = json!([{"name": "notes", "words": notes}, {"name": "state.write:quests", "words": write}]);
        let ask = |path: &str| app.request("GET", path).header("accept-language", language).send();
        assert_eq!(ask("/api/plugins/crier").await.expect(200)["permissions"], told);
        let list = ask("/api/plugins").await.expect(200);
        let crier = list["items"].as_array().unwrap().iter().find(|one| one["id"] == "crier").unwrap();
        assert_eq!(crier["permissions"], told);
    }
}

/// Without a list of grants a plugin gets those of its manifest; an empty list grants none.
#[tokio::test]
async fn plugin_grants_empty_list_gives_no_permissions() {
    let play = ApiSession::start_with(with_plugin(TestApp::setup(), "crier", "\"notes\"", ""), json!({})).await;
    let path = format!("/api/sessions/{}/plugins", play.sid);
    for (setting, grants) in [
        (json!({"id": "crier"}), json!(["notes"])),
        (json!({"id": "crier", "grants": []}), json!([])),
        (json!({"id": "crier", "grants": ["notes"]}), json!(["notes"])),
    ] {
        let set = play.server.put(&path, &json!([setting])).await;
        assert_eq!((&set["plugins"][0]["grants"], &play.session().await["plugins"][0]["grants"]), (&grants, &grants));
    }
}

/// A provider without its API key does not stop the server. Its models are listed as unusable with the reason, and
/// their replies say the same.
#[tokio::test]
async fn provider_without_api_key_is_listed_as_unusable() {
    let play = ApiSession::start_with(TestApp::setup().set("providers.0.api_key_env", "NOT_THERE"), json!({})).await;
    let models = play.server.get("/api/models").await;
    let model = |id: &str| models["items"].as_array().unwrap().iter().find(|one| one["id"] == id).unwrap().clone();
    let why = model("mock/mock")["unusable"].as_str().unwrap().to_owned();
    assert!(why.contains("variable \"NOT_THERE\" is missing"), "{why}");
    assert_eq!((&model("second/mock")["unusable"], &model("mock/mock")["isDefault"]), (&json!(null), &json!(true)));
    let args = json!({"reason": "no_key_variable", "variable": "NOT_THERE", "words": why});
    let problem = json!({"provider": "mock", "code": "provider_misconfigured", "args": args, "message": why});
    assert_eq!(models["problems"], json!([problem]));

    let said = play.run_turn("Hi.").await;
    let reply = play.get(&format!("node/{}", said.reply)).await;
    let error = &reply["metadata"]["error"];
    assert_eq!((&reply["status"], &error["code"]), (&json!("error"), &json!("provider_misconfigured")));
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("\"mock\" cannot be used") && message.contains("NOT_THERE"), "{message}");
}

/// A provider that does not list its models is a problem with the arguments of its code.
#[tokio::test]
async fn provider_refusing_model_list_is_problem_with_arguments() {
    let app = TestServer::start().await;
    app.mock().set_models_reply(Reply::error(403, "not you"));
    let models = app.get("/api/models").await;
    let problem = models["problems"].as_array().unwrap().iter().find(|one| one["provider"] == "second").unwrap();
    assert_eq!((&problem["code"], &problem["args"]["status"]), (&json!("provider_refused"), &json!(403)), "{problem}");
    let words = problem["args"]["words"].as_str().unwrap();
    assert!(words.contains("not you") && problem["message"].as_str().unwrap().ends_with(words), "{problem}");
}

/// The reason why a plugin offers no quick replies is listed beside the replies of others. An older page has neither.
#[tokio::test]
async fn quick_replies_failure_is_listed_in_projection_problems() {
    let setup = with_plugin(TestApp::setup(), "sulky", "", "fn quick_replies(ctx) { throw \"not today\"; }");
    let setup = with_plugin(setup, "kind", "", "fn quick_replies(ctx) { [#{ label: \"Wave\" }] }");
    let play = ApiSession::start_with(setup, json!({"plugins": [{"id": "sulky"}, {"id": "kind"}]})).await;
    let line = play.get("projection").await;
    assert_eq!(line["quickReplies"], json!([{"plugin": "kind", "label": "Wave", "send": "Wave"}]));
    assert_eq!(
        line["problems"],
        json!([{"code": "plugin_runtime", "args": {"error": "not today"}, "message": "not today", "plugin": "sulky"}])
    );
    let older = play.get(&format!("projection?before={}", play.head().await)).await;
    assert_eq!((&older["quickReplies"], &older["problems"]), (&json!([]), &json!([])));
}
