//! The plugin workshop: the reference of script functions, and plugin tests over HTTP.

use super::api_session::ApiSession;
use super::*;

const MANIFEST: &str = "id = \"purse\"\ntitle = \"Purse\"\nversion = \"1.0.0\"\napi = \"1\"\n";
const SCRIPT: &str = "fn init(ctx) { ctx.set(\"gold\", 10); }\nfn on_reply(ctx) { ctx.add(\"gold\", 5); }\n";
const PASSES: &str = "hook = \"on_reply\"\n[expect]\nops = [{ op = \"add\", value = 5 }]\n";
const FAILS: &str = "hook = \"on_reply\"\n\n[expect]\nops = []\nstate.gold = 12\n";

async fn start_with_plugin() -> ApiSession {
    let files = [("plugin.toml", MANIFEST), ("main.rhai", SCRIPT)];
    let play = ApiSession::start_with(TestApp::setup().with_plugin("purse", &files), json!({})).await;
    for (name, text) in [("a", PASSES), ("b", FAILS)] {
        play.server.put(&format!("/api/plugins/purse/files/tests/{name}.toml"), &json!({"content": text})).await;
    }
    play
}

/// The reference lists everything that an editor completes and explains, and no plugin id hides its route.
#[tokio::test]
async fn workshop_reference_lists_script_functions() {
    let files = [("plugin.toml", MANIFEST.replace("\"purse\"", "\"reference\"")), ("main.rhai", SCRIPT.to_owned())];
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let app = ApiSession::start_with(TestApp::setup().with_plugin("reference", &files), json!({})).await.server;
    let told = app.get("/api/plugins/reference").await;
    let named = |list: &str, name: &str| {
        told[list].as_array().unwrap().iter().find(|one| one["name"] == name).cloned().unwrap_or_default()
    };
    let add = named("functions", "add");
    assert_eq!((&add["isOfCtx"], &add["isProperty"]), (&json!(true), &json!(false)), "{told}");
    assert!(add["signature"].as_str().unwrap().starts_with("ctx.add(path"), "{add}");
    assert!(!add["description"].as_str().unwrap().is_empty() && !add["group"].as_str().unwrap().is_empty());
    assert_eq!(
        (&named("functions", "text")["isProperty"], &named("hooks", "plan")["writes"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(named("hooks", "migrate")["signature"], "migrate(ctx, from)");
    assert_eq!(named("hooks", "tool_")["signature"], "tool_(ctx, args)");
    assert!(told["language"].as_array().unwrap().contains(&json!("parse_int")));
    let plugins = app.get("/api/plugins").await;
    let taken = plugins["items"].as_array().unwrap().iter().find(|one| one["id"] == "reference").unwrap().clone();
    assert_eq!(taken["isOk"], json!(false), "{taken}");
}

/// Each case reports whether it passed. A failed one has the expected value, the actual value and the line.
#[tokio::test]
async fn plugin_tests_report_expected_actual_and_line() {
    let app = start_with_plugin().await.server;
    let told = app.post("/api/plugins/purse/test", &json!({})).await;
    assert_eq!((&told["error"], &told["left"]), (&Value::Null, &json!(0)));
    let [passed, failed] = told["cases"].as_array().unwrap().as_slice() else { panic!("{told}") };
    assert_eq!(
        (&passed["file"], &passed["isPassed"], &passed["failures"]),
        (&json!("tests/a.toml"), &json!(true), &json!([]))
    );
    assert_eq!((&failed["isPassed"], &failed["expects"]), (&json!(false), &json!(true)));
    let [ops, gold] = failed["failures"].as_array().unwrap().as_slice() else { panic!("{failed}") };
    assert_eq!((&ops["what"], &ops["line"], &ops["expected"]), (&json!("ops"), &json!(4), &json!("")));
    assert!(ops["found"].as_str().unwrap().contains("\"value\":5"), "{ops}");
    let gold = ["what", "line", "expected", "found"].map(|key| gold[key].clone());
    assert_eq!(gold, [json!("state gold"), json!(5), json!("12"), json!("15")]);
}

/// Unsaved texts replace files, and script errors have their location.
#[tokio::test]
async fn plugin_tests_use_unsaved_text_over_files() {
    let app = start_with_plugin().await.server;
    let ask = async |files: Value| app.post("/api/plugins/purse/test", &json!({"files": files})).await;
    let mended = ask(json!({"tests/b.toml": FAILS.replace("ops = []\n", "").replace("12", "15")})).await;
    assert!(mended["cases"].as_array().unwrap().iter().all(|case| case["isPassed"] == true), "{mended}");
    let thrown = ask(json!({"main.rhai": "fn on_reply(ctx) {\n  ctx.get(\"none\"); ctx.nothing();\n}"})).await;
    let error = &thrown["cases"][0]["failures"][0]["error"];
    assert_eq!((&error["file"], &error["line"]), (&json!("main.rhai"), &json!(2)), "{thrown}");
    let case = ask(json!({"tests/b.toml": "hook = \"on_replay\"\n"})).await;
    let error = &case["cases"][1]["failures"][0]["error"];
    assert_eq!((&error["file"], &error["line"]), (&json!("tests/b.toml"), &json!(1)), "{case}");
    let broken = ask(json!({"main.rhai": "fn on_reply(ctx) {"})).await;
    assert_eq!((&broken["cases"], &broken["error"]["file"]), (&json!([]), &json!("main.rhai")));
    app.request("POST", "/api/plugins/nobody/test").json(&json!({})).send().await.expect_error("not_found");
    app.request("POST", "/api/plugins/purse/test")
        .json(&json!({"files": {"../x": ""}}))
        .send()
        .await
        .expect_error("invalid");
}
