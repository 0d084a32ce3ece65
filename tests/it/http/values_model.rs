//! The values model: a model that keeps the values beside the model that writes the story.

use super::api_session::ApiSession;
use super::*;

const MANIFEST: &str =
    "id = \"purse\"\ntitle = \"Purse\"\nversion = \"1.0.0\"\napi = \"1\"\n[state]\nschema = \"state.schema.json\"\n";
const SCHEMA: &str =
    r#"{"type": "object", "properties": {"gold": {"type": "integer", "minimum": 0, "description": "coins"}}}"#;
const SCRIPT: &str = r#"
fn init(ctx) { ctx.set("gold", 10); }
fn on_reply(ctx) {
    for c in ctx.mvu_commands() {
        if c.path == "purse/gold" && c.op == "add" { ctx.add("gold", c.value, c.reason); }
    }
}
"#;

async fn start_with_values_model() -> ApiSession {
    let files = [("plugin.toml", MANIFEST), ("main.rhai", SCRIPT), ("state.schema.json", SCHEMA)];
    let play =
        ApiSession::start_with(TestApp::setup().with_plugin("purse", &files), json!({"plugins": [{"id": "purse"}]}))
            .await;
    let set = json!({"valuesModel": "mock/mock-plain"});
    let session =
        play.server.request("PATCH", &format!("/api/sessions/{}", play.sid)).json(&set).send().await.expect(200);
    assert_eq!(session["valuesModel"], "mock/mock-plain");
    play
}

async fn gold(play: &ApiSession, node: &str) -> Value {
    play.get(&format!("node/{node}/world")).await["world"]["vars"]["purse"]["gold"].clone()
}

/// The story and its values come from two models. The values belong to the same node, with their cost and text. An
/// edited version keeps them, and the tree has no additional node.
#[tokio::test]
async fn values_model_updates_state_on_same_node() {
    let play = start_with_values_model().await;
    play.server.mock().queue_reply(Reply::ok(["She pays three coins."]).usage(20, 4));
    play.server.mock().queue_reply(Reply::ok(["_.add('purse.gold', -3); // paid"]).usage(50, 6));
    let said = play.run_turn("Pay her.").await;
    let requests = play.server.mock().requests();
    let [told, values] = requests.as_slice() else { panic!("{requests:?}") };
    assert_eq!((&told["model"], &values["model"]), (&json!("mock"), &json!("mock-plain")));
    let shown = values["messages"].to_string();
    for part in ["purse/gold: 10 (coins)", "Pay her.", "She pays three coins.", "<UpdateVariable>"] {
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
    let node = play.get(&format!("node/{}", said.reply)).await;
    assert_eq!((&node["content"], gold(&play, &said.reply).await), (&json!("She pays three coins."), json!(7)));
    let kept = &node["metadata"]["values"];
    assert_eq!(kept["tokenCount"]["prompt"], 50);
    assert!(kept["text"].as_str().unwrap().contains("purse.gold"), "{kept}");
    let trace = play.get(&format!("node/{}/trace", said.reply)).await;
    assert_eq!(trace["values"]["messages"], values["messages"]);
    let spent = play.get("spent").await;
    assert_eq!((&spent["replies"], &spent["asides"]), (&json!(1), &json!(1)));
    assert_eq!(spent["tokenCount"], json!({"prompt": 70, "completion": 10}));

    let edited = play.post(&format!("node/{}/edit", said.reply), json!({"content": "She pays."})).await;
    assert_eq!(gold(&play, edited["node"]["id"].as_str().unwrap()).await, 7);
    assert_eq!(play.get("spent").await["asides"], 1);
}

/// A failing values model is retried, and in the end the reply stands without values. An unknown model is refused.
#[tokio::test]
async fn values_model_failure_keeps_reply_text() {
    let play = start_with_values_model().await;
    play.server.mock().queue_reply(Reply::ok(["She pays three coins."]));
    play.server.mock().queue_reply(Reply::error(500, "busy"));
    play.server.mock().queue_reply(Reply::ok(["<UpdateVariable>_.add('purse.gold', -3);</UpdateVariable>"]));
    let said = play.run_turn("Pay her.").await;
    assert_eq!(gold(&play, &said.reply).await, 7);
    assert_eq!(play.server.mock().requests().len(), 3);

    play.server.mock().queue_reply(Reply::ok(["She pays two coins."]));
    play.server.mock().queue_reply(Reply::error(400, "no such thing"));
    let said = play.run_turn("Pay her.").await;
    let node = play.get(&format!("node/{}", said.reply)).await;
    assert_eq!((&node["status"], gold(&play, &said.reply).await), (&json!("complete"), json!(7)));
    assert!(node["metadata"]["values"]["error"].as_str().unwrap().contains("no such thing"), "{node}");
    let problems = play.get(&format!("node/{}/delta", said.reply)).await["problems"].clone();
    assert_eq!(problems[0]["code"], "values_failed", "{problems}");

    // Repeated failures get the usual number of retries and do not block the provider for others.
    for _ in 0..3 {
        let before = play.server.mock().requests().len();
        play.server.mock().queue_reply(Reply::ok(["She waits."]));
        (0..3).for_each(|_| play.server.mock().queue_reply(Reply::error(503, "down")));
        let said = play.run_turn("Wait.").await;
        assert_eq!(play.get(&format!("node/{}", said.reply)).await["status"], "complete");
        assert_eq!(play.server.mock().requests().len(), before + 4);
    }

    let path = format!("/api/sessions/{}", play.sid);
    for model in ["nobody", "plugin:purse"] {
        let refused = play
            .server
            .request("PATCH", &path)
            .json(&json!({"valuesModel": model}))
            .send()
            .await
            .expect_error("invalid");
        assert!(refused.to_string().contains("valuesModel"), "{refused}");
    }
    play.server.request("PATCH", &path).json(&json!({"valuesModel": null})).send().await.expect(200);
    let before = play.server.mock().requests().len();
    play.run_turn("And?").await;
    assert_eq!(play.server.mock().requests().len(), before + 1);
}

/// Lore entries for values go only to the values call, and entries for the story and all others only to the story. A
/// single model gets all.
#[tokio::test]
async fn values_model_lore_goes_to_selected_call() {
    let play = start_with_values_model().await;
    let entry =
        |uid: u64, title: &str, text: &str| super::lore_activation::entry(uid, "pay", text, json!({"comment": title}));
    let entries = json!([
        entry(1, "[mvu_update] prices", "Bread costs three coins."),
        entry(2, "[mvu_plot] tone", "The market is loud."),
        entry(3, "The market", "It stands by the river."),
    ]);
    let book = super::lore_activation::create_lorebook(&play, entries).await;
    super::lore_activation::put_lorebook_holds(&play, &book, json!({"sessionIds": [play.sid]})).await;
    let has = |request: &Value| {
        let text = request["messages"].to_string();
        ["Bread costs", "is loud", "by the river"].map(|part| text.contains(part))
    };
    play.server.mock().queue_reply(Reply::ok(["She pays."]));
    play.server.mock().queue_reply(Reply::ok(["_.add('purse.gold', -3); // bread"]));
    play.run_turn("Pay her.").await;
    let requests = play.server.mock().requests();
    assert_eq!([has(&requests[0]), has(&requests[1])], [[false, true, true], [true, false, false]]);
    let none = json!({"valuesModel": null});
    play.server.request("PATCH", &format!("/api/sessions/{}", play.sid)).json(&none).send().await.expect(200);
    play.run_turn("Pay him.").await;
    assert_eq!(has(&play.server.mock().requests()[2]), [true, true, true]);
}

/// S3-18: reasoning changes no values, neither the story's nor the values model's. With a values model, commands in the
/// story are hidden and ignored.
#[tokio::test]
async fn values_model_ignores_commands_in_reasoning() {
    let play = start_with_values_model().await;
    let mock = play.server.mock();
    mock.queue_reply(Reply::ok([
        "<think>_.add('purse.gold', -9);</think>She pays.<UpdateVariable>_.add('purse.gold', -5);</UpdateVariable>",
    ]));
    mock.queue_reply(Reply::ok(["<think>_.add('purse.gold', -2);</think>_.add('purse.gold', -1);"]));
    let said = play.run_turn("Pay her.").await;
    assert_eq!(gold(&play, &said.reply).await, 9);
    let trace = play.get(&format!("node/{}/trace", said.reply)).await;
    assert!(trace["values"]["ignored"].as_str().unwrap().contains("(1)"), "{trace}");
    let shown = mock.requests()[1]["messages"].to_string();
    assert!(shown.contains("She pays.") && !shown.contains("-5") && !shown.contains("-9"), "{shown}");

    let none = json!({"valuesModel": null});
    play.server.request("PATCH", &format!("/api/sessions/{}", play.sid)).json(&none).send().await.expect(200);
    mock.queue_reply(Reply::ok([
        "<think>_.add('purse.gold', -9);</think>She pays.\n<UpdateVariable><Analysis>_.add('purse.gold', -3)</Analysis>\n\
         _.add('purse.gold', -2);</UpdateVariable>",
    ]));
    let said = play.run_turn("Pay her.").await;
    assert_eq!(gold(&play, &said.reply).await, 7);
    mock.queue_reply(Reply::ok(["She may pay: _.add('purse.gold', -7);\n</think>\nShe keeps it."]));
    let said = play.run_turn("Pay her.").await;
    assert_eq!(gold(&play, &said.reply).await, 7);
}

const WOUNDS: &str =
    "id = \"wounds\"\ntitle = \"Wounds\"\nversion = \"1.0.0\"\napi = \"1\"\n[state]\nschema = \"state.schema.json\"\n";
const WOUNDS_SCHEMA: &str = r#"{"type": "object", "properties": {"hp": {"type": "integer", "minimum": 0, "maximum": 30},
    "max": {"type": "integer", "readOnly": true}, "secret": {"type": "string", "x-visible": false}}}"#;

/// Plugins 3.1: values of a plugin that reads no commands are written under its schema, on the same node. Forbidden
/// changes and invalid answers are reported under the reply.
#[tokio::test]
async fn values_model_writes_plugin_state_under_schema() {
    let script = "fn init(ctx) { ctx.set(\"hp\", 20); ctx.set(\"max\", 30); ctx.set(\"secret\", \"s\"); }";
    let files = [("plugin.toml", WOUNDS), ("main.rhai", script), ("state.schema.json", WOUNDS_SCHEMA)];
    let app = TestApp::setup().with_plugin("wounds", &files);
    let play = ApiSession::start_with(app, json!({"plugins": [{"id": "wounds"}, {"id": "mvu"}]})).await;
    let set = json!({"valuesModel": "mock/mock-plain"});
    play.server.request("PATCH", &format!("/api/sessions/{}", play.sid)).json(&set).send().await.expect(200);
    let mock = play.server.mock();
    mock.queue_reply(Reply::ok([
        "The blade opens your arm.<UpdateVariable>_.insert('keeper', {name: 'Rin', $seen: 1});</UpdateVariable>",
    ]));
    mock.queue_reply(Reply::ok([
        "_.add('wounds.hp', -5);//cut\n_.set('wounds.max', 9);\n_.set('wounds.secret', 'x');\n_.insert('keeper', {name: 'Rin', '$seen': 1});",
    ]));
    let said = play.run_turn("Fight.").await;
    let vars = play.get(&format!("node/{}/world", said.reply)).await["world"]["vars"].clone();
    assert_eq!((&vars["wounds"]["hp"], &vars["stat_data"]["keeper"]["name"]), (&json!(15), &json!("Rin")), "{vars}");
    let delta = play.get(&format!("node/{}/delta", said.reply)).await;
    let own = delta["operations"].as_array().unwrap().iter().find(|one| one["by"] == "wounds").unwrap();
    assert_eq!((&own["path"], &own["why"]), (&json!("/wounds/hp"), &json!("cut")));
    let left = delta["problems"][0].clone();
    assert_eq!(left["code"], "values_left_out", "{delta}");
    assert!(left["message"].as_str().unwrap().starts_with("2 changes by"), "{left}");
    assert_eq!(delta["notes"], json!([]), "what is another plugin's is not for mvu to miss");

    let edited = play.post(&format!("node/{}/edit", said.reply), json!({"content": "It cuts."})).await;
    let edited = edited["node"]["id"].as_str().unwrap().to_owned();
    let world = play.get(&format!("node/{edited}/world")).await;
    assert_eq!(world["world"]["vars"]["wounds"]["hp"], 15);

    mock.queue_reply(Reply::ok(["You rest."]));
    mock.queue_reply(Reply::ok(["I am sorry, I can't help with that."]));
    let said = play.run_turn("Rest.").await;
    let asked = mock.requests().last().unwrap()["messages"].to_string();
    assert!(asked.contains("stat_data") && asked.contains("keeper") && !asked.contains("$seen"), "{asked}");
    let problems = play.get(&format!("node/{}/delta", said.reply)).await["problems"].clone();
    assert_eq!(problems[0]["code"], "values_failed", "{problems}");
    let trace = play.get(&format!("node/{}/trace", said.reply)).await;
    assert_eq!(trace["values"]["answer"], "I am sorry, I can't help with that.");
}

/// A model that its provider does not list is accepted with a warning.
#[tokio::test]
async fn values_model_not_offered_by_provider_gives_warning() {
    let play = ApiSession::start_with(TestApp::setup(), json!({})).await;
    let offered = play.server.get("/api/models").await["items"].as_array().unwrap().clone();
    let one = offered.iter().filter_map(|model| model["id"].as_str()).find(|id| id.starts_with("mock/")).unwrap();
    let address = format!("/api/sessions/{}", play.sid);
    let set = async |body: Value| play.server.request("PATCH", &address).json(&body).send().await.expect(200);
    assert_eq!(set(json!({"valuesModel": one, "model": one})).await["warnings"], Value::Null);
    let told = set(json!({"valuesModel": "mock/nobody-has-it"})).await;
    assert_eq!((&told["valuesModel"], told["warnings"].as_array().unwrap().len()), (&json!("mock/nobody-has-it"), 1));
    assert!(told["warnings"][0].as_str().unwrap().contains("does not list a model \"nobody-has-it\""), "{told}");
    assert_eq!(told["problems"][0]["code"], "unlisted_model");
    assert_eq!(told["problems"][0]["args"], json!({"provider": "mock", "model": "nobody-has-it"}));
}
