//! The plugin workshop: files of plugins over HTTP, and checks and trials of unsaved code.

use super::api_session::ApiSession;
use super::*;

const MANIFEST: &str = "id = \"purse\"\ntitle = \"Purse\"\nversion = \"1.0.0\"\napi = \"1\"\n\
                        [permissions]\nrequest = [\"notes\", \"input.stop\"]\n[config.price]\ntype = \"integer\"\ndefault = 2\n";
const SCRIPT: &str = "fn init(ctx) { ctx.set(\"gold\", 10); }\n\
                      fn on_input(ctx) { if ctx.text == \"no\" { ctx.fail(\"never\"); } #{ reply: ctx.text } }\n\
                      fn on_reply(ctx) { ctx.add(\"gold\", -ctx.config.price, \"paid\"); ctx.add(\"luck\", ctx.roll(\"1d1000\").total); }\n\
                      fn quick_replies(ctx) { [#{ label: `${ctx.get(\"gold\")} gold`, send: \"count\" }] }\n";

async fn start_with_plugin() -> ApiSession {
    let setup = TestApp::setup().with_plugin("purse", &[("plugin.toml", MANIFEST), ("main.rhai", SCRIPT)]);
    let plugins = json!({"plugins": [{"id": "purse", "config": {"price": 3}}]});
    ApiSession::start_with(setup, plugins).await
}

/// Files are read and written unchanged. A plugin that can run with the written file is in force when the answer
/// arrives.
#[tokio::test]
async fn workshop_file_write_applies_working_plugin() {
    let play = start_with_plugin().await;
    let app = &play.server;
    let file = |path: &str| format!("/api/plugins/purse/files/{path}");
    let read = app.get(&file("main.rhai")).await;
    assert_eq!(read, json!({"path": "main.rhai", "content": SCRIPT, "bytes": SCRIPT.len()}));
    let next = SCRIPT.replace("\"paid\"", "\"spent\"");
    let kept = app.put(&file("main.rhai"), &json!({"content": next})).await;
    assert_eq!((&kept["isInForce"], &kept["error"], &kept["warnings"]), (&json!(true), &Value::Null, &json!([])));
    assert_eq!(app.get("/api/plugins/purse").await["codeHash"], kept["codeHash"]);
    let kept = app.put(&file("tests/deep/er.toml"), &json!({"content": "hook = \"init\"\n"})).await;
    assert_eq!((&kept["path"], &kept["isInForce"]), (&json!("tests/deep/er.toml"), &json!(true)));
    let listed = app.get("/api/plugins/purse").await["files"].clone();
    assert_eq!(listed, json!(["main.rhai", "plugin.toml", "tests/deep/er.toml"]));
    assert_eq!(app.get(&file("tests%2Fdeep%2Fer.toml")).await["content"], "hook = \"init\"\n");
    std::fs::write(app.app().home().join("plugins/purse/picture.png"), [0xff, 0xd8]).unwrap();
    assert_eq!(app.get(&file("picture.png")).await, json!({"path": "picture.png", "content": null, "bytes": 2}));
}

/// A file can be deleted if the plugin allows it. If the plugin cannot run without it, the error is reported and the
/// old code stays in force.
#[tokio::test]
async fn workshop_file_delete_breaking_plugin_keeps_old_code() {
    let play = start_with_plugin().await;
    let app = &play.server;
    let delete = async |path: &str| app.request("DELETE", &format!("/api/plugins/purse/files/{path}")).send().await;
    app.put("/api/plugins/purse/files/lib/words.rhai", &json!({"content": "fn gold() { 1 }"})).await;
    let using = format!("import \"lib/words\" as words;\n{SCRIPT}");
    let kept = app.put("/api/plugins/purse/files/main.rhai", &json!({"content": using})).await;
    assert_eq!((&kept["isInForce"], &kept["error"]), (&json!(true), &Value::Null));
    let gone = delete("lib/words.rhai").await.json();
    assert_eq!((&gone["path"], &gone["isInForce"]), (&json!("lib/words.rhai"), &json!(false)));
    assert!(gone["error"].is_object() && gone["codeHash"] == kept["codeHash"], "{gone}");
    let kept = app.put("/api/plugins/purse/files/main.rhai", &json!({"content": SCRIPT})).await;
    assert_eq!(kept["isInForce"], json!(true));
    assert_eq!(app.get("/api/plugins/purse").await["files"], json!(["main.rhai", "plugin.toml"]));
    assert!(!app.app().home().join("plugins/purse/lib").exists());
    for path in ["lib/words.rhai", "lib", "..%2Fsecret.txt", ""] {
        delete(path).await.expect_error("not_found");
    }
    for path in ["plugin.toml", "main.rhai"] {
        assert!(delete(path).await.expect_error("conflict")["hint"].as_str().unwrap().contains("folder"));
    }
    app.request("DELETE", "/api/plugins/combat/files/words.rhai").send().await.expect_error("forbidden");
    app.request("DELETE", "/api/plugins/nobody/files/words.rhai").send().await.expect_error("not_found");
    assert_eq!(app.get("/api/plugins/purse/files/main.rhai").await["content"], SCRIPT);
}

/// A broken file is stored, and the old code stays in force.
#[tokio::test]
async fn workshop_broken_file_is_saved_but_not_applied() {
    let play = start_with_plugin().await;
    let before = play.server.get("/api/plugins/purse").await["codeHash"].clone();
    let kept = play.server.put("/api/plugins/purse/files/main.rhai", &json!({"content": "fn on_reply(ctx) {"})).await;
    assert_eq!((&kept["isInForce"], &kept["codeHash"]), (&json!(false), &before));
    assert_eq!((&kept["error"]["file"], &kept["error"]["kind"]), (&json!("main.rhai"), &json!("parse")), "{kept}");
    assert_eq!(play.server.get("/api/plugins/purse/files/main.rhai").await["content"], "fn on_reply(ctx) {");
    let plugin = play.server.get("/api/plugins/purse").await;
    assert_eq!((&plugin["isOk"], &plugin["error"]), (&json!(true), &kept["error"]));
    let said = play.run_turn("Hello.").await;
    let delta = play.get(&format!("node/{}/delta", said.user_node)).await;
    assert_eq!(delta["problems"], json!([]), "{delta}");
    let kept = play.server.put("/api/plugins/purse/files/main.rhai", &json!({"content": SCRIPT})).await;
    assert_eq!((&kept["isInForce"], &kept["error"]), (&json!(true), &Value::Null));
}

/// No path leads out of the folder, files have a size limit, and bundled plugins cannot be changed.
#[tokio::test]
async fn workshop_path_outside_plugin_folder_is_refused() {
    let play = start_with_plugin().await;
    let home = play.server.app().home();
    std::fs::write(home.join("plugins/secret.txt"), "s").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&home, home.join("plugins/purse/link")).unwrap();
    let content = json!({"content": "x"});
    for path in
        ["..%2Fsecret.txt", "%2e%2e/secret.txt", "link/plugins/secret.txt", ".hidden", "a%5Cb", "a//b", "none", ""]
    {
        let address = format!("/api/plugins/purse/files/{path}");
        play.server.request("GET", &address).send().await.expect_error("not_found");
        if path != "none" {
            play.server.request("PUT", &address).json(&content).send().await.expect_error("not_found");
        }
    }
    for name in ["..", "%2e%2e", "nobody", ".", "purse%2F..", "secret.txt"] {
        let address = format!("/api/plugins/{name}/files/secret.txt");
        play.server.request("GET", &address).send().await.expect_error("not_found");
        play.server.request("PUT", &address).json(&content).send().await.expect_error("not_found");
    }
    let there = "/api/plugins/combat/files/main.rhai";
    let inside = play.server.get(there).await["content"].clone();
    assert!(inside.as_str().unwrap().contains("fn on_reply(ctx)"), "{inside}");
    play.server.request("GET", "/api/plugins/combat/files/none").send().await.expect_error("not_found");
    let bundled = play.server.request("PUT", there).json(&content).send().await.expect_error("forbidden");
    assert_eq!(play.server.get(there).await["content"], inside);
    assert!(bundled["hint"].as_str().unwrap().contains("[plugins] dir"), "{bundled}");
    let large = json!({"content": "/".repeat(200 << 10)});
    play.server
        .request("PUT", "/api/plugins/purse/files/main.rhai")
        .json(&large)
        .send()
        .await
        .expect_error("too_large");
    assert_eq!(std::fs::read_to_string(home.join("plugins/secret.txt")).unwrap(), "s");
    assert_eq!(play.server.get("/api/plugins/purse/files/main.rhai").await["content"], SCRIPT);
}

/// Manifest rules are listed with the manifest, and so are the files of a broken plugin.
#[tokio::test]
async fn workshop_lists_rules_and_files_of_broken_plugin() {
    let rule = "[[rule]]\nname = \"tired\"\nevery = 3\nif = \"gold > 2\"\ncooldown = 4\n\
                do = [{ op = \"add\", path = \"gold\", value = -1 }]\nnote = { en = \"Tired.\", zh = \"累了。\" }\n\
                [[rule]]\nname = \"poor\"\nwhen = \"gold < 1\"\nonce = true\nnote = \"Poor.\"\n\
                [[rule]]\nname = \"news\"\non = \"gold\"\nnote = \"Gold.\"\n";
    let files = [("plugin.toml", format!("{MANIFEST}{rule}")), ("main.rhai", SCRIPT.to_owned())];
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let broken = [("plugin.toml", MANIFEST), ("main.rhai", "fn on_reply(ctx) {")];
    let setup = TestApp::setup().with_plugin("purse", &files).with_plugin("broken", &broken);
    let app = ApiSession::start_with(setup, json!({})).await.server;
    let listed = app.request("GET", "/api/plugins/purse").header("accept-language", "zh").send().await.json();
    let effect = json!({"op": "add", "path": "/purse/gold", "value": -1, "why": "rule tired", "by": "purse"});
    let common = json!({"if": null, "once": false, "cooldown": 0, "do": []});
    let with = |more: Value| {
        let mut rule = common.as_object().unwrap().clone();
        rule.extend(more.as_object().unwrap().clone());
        Value::Object(rule)
    };
    let tired = json!({"name": "tired", "every": 3, "of": "user", "if": "gold > 2", "cooldown": 4, "do": [effect], "note": "累了。"});
    let poor = json!({"name": "poor", "when": "gold < 1", "once": true, "note": "Poor."});
    let news = json!({"name": "news", "on": "gold", "note": "Gold."});
    assert_eq!(listed["manifest"]["rules"], json!([with(tired), with(poor), with(news)]));
    let broken = app.get("/api/plugins/broken").await;
    assert_eq!((&broken["isOk"], &broken["files"]), (&json!(false), &json!(["main.rhai", "plugin.toml"])));
}

/// The metrics have the cost of each plugin's hooks.
#[tokio::test]
async fn plugin_hook_costs_are_in_metrics() {
    let play = start_with_plugin().await;
    play.run_turn("Hello.").await;
    let told = play.server.request("GET", "/metrics").send_raw().await.text();
    let figure = |name: &str, hook: &str| {
        let head = format!("clotho_plugin_{name}_total{{plugin=\"purse\",hook=\"{hook}\"}} ");
        let line = told.lines().find_map(|line| line.strip_prefix(&head)).unwrap_or_else(|| panic!("{head}: {told}"));
        line.parse::<u64>().unwrap()
    };
    assert_eq!((figure("calls", "on_input"), figure("calls", "on_reply"), figure("proposed", "on_reply")), (1, 1, 2));
    assert_eq!((figure("failures", "on_reply"), figure("limits", "on_reply")), (0, 0));
    assert!(figure("operations", "on_reply") > 0);
    play.server
        .request("POST", &format!("/api/chat/{}/message", play.sid))
        .json(&json!({"parentId": play.head().await, "content": "no", "role": "user"}))
        .send()
        .await
        .expect_error("input_refused");
    let told = play.server.request("GET", "/metrics").send_raw().await.text();
    assert!(told.contains("clotho_plugin_calls_total{plugin=\"purse\",hook=\"on_input\"} 2\n"), "{told}");
}

#[tokio::test]
async fn workshop_check_reports_errors_in_unsaved_text() {
    let play = start_with_plugin().await;
    let check = async |id: &str, files: Value| {
        play.server.post(&format!("/api/plugins/{id}/check"), &json!({"files": files})).await
    };
    let said = check("purse", json!({})).await;
    let hooks = json!(["init", "on_input", "on_reply", "quick_replies"]);
    assert_eq!((&said["isOk"], &said["hooks"], &said["warnings"]), (&json!(true), &hooks, &json!([])));
    let said = check("purse", json!({"main.rhai": "fn on_replay(ctx) {}"})).await;
    assert!(said["warnings"][0]["message"].as_str().unwrap().contains("did you mean \"on_reply\"?"), "{said}");
    let said = check("purse", json!({"plugin.toml": "id = 7"})).await;
    assert_eq!(
        (&said["isOk"], &said["error"]["file"], &said["codeHash"]),
        (&json!(false), &json!("plugin.toml"), &Value::Null)
    );
    let said = check("combat", json!({"prose.rhai": "fn"})).await;
    assert_eq!((&said["isOk"], &said["error"]["file"]), (&json!(false), &json!("prose.rhai")), "{said}");
    assert_eq!(play.server.get("/api/plugins/purse/files/main.rhai").await["content"], SCRIPT);
    let bad = json!({"files": {"../x.rhai": ""}});
    play.server.request("POST", "/api/plugins/purse/check").json(&bad).send().await.expect_error("invalid");
    play.server.request("POST", "/api/plugins/nobody/check").json(&json!({})).send().await.expect_error("not_found");
}

/// A hook is tried on a message with the session's settings, the world before it and its dice. Nothing is written.
#[tokio::test]
async fn workshop_hook_trial_writes_nothing() {
    let play = start_with_plugin().await;
    // A turn whose reply and dice the trials use.
    play.server.mock().queue_reply(Reply::ok(["Here you are."]));
    let told = json!({"parentId": play.head().await, "content": "Hi.", "role": "user", "generate": true});
    let quiet = SCRIPT.replace("#{ reply: ctx.text }", "");
    play.server.put("/api/plugins/purse/files/main.rhai", &json!({"content": quiet})).await;
    let started = play.post("message", told).await;
    let (user, reply) = (id_of(&started["node"]), id_of(&started["generations"][0]));
    play.wait_for_reply(&reply).await;
    let delta = play.get(&format!("node/{reply}/delta")).await;
    let before = (play.session().await, play.nodes().await);
    let tried = async |node: &str, hook: &str, more: Value| {
        let mut body = json!({"sessionId": play.sid, "nodeId": node, "hook": hook});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        play.server.post("/api/plugins/purse/try", &body).await
    };
    // The same code gives the same result.
    let same = tried(&reply, "on_reply", json!({})).await;
    assert_eq!((&same["operations"], &same["rolls"]), (&delta["operations"], &delta["rolls"]), "the same dice");
    assert_eq!(same["world"][0], json!({"path": "/purse/gold", "before": 10, "after": 7}));
    assert!(same["usage"]["operations"].as_u64().unwrap() > 0 && same["error"].is_null(), "{same}");
    // Unsaved code with another text and the same dice.
    let source = "fn on_reply(ctx) { ctx.note(ctx.text); ctx.warn(\"odd\"); print(1); ctx.add(\"luck\", ctx.roll(\"1d1000\").total); }";
    let other = tried(&reply, "on_reply", json!({"source": source, "text": "Other words."})).await;
    assert_eq!(
        (&other["notes"], &other["warnings"], &other["log"]),
        (&json!(["Other words."]), &json!(["odd"]), &json!(["1"]))
    );
    assert_eq!(other["rolls"][0]["total"], delta["rolls"][0]["total"]);
    // Scripts that fail or do not parse.
    let failed =
        tried(&reply, "on_reply", json!({"source": "fn on_reply(ctx) { ctx.set(\"a\", 1);\n ctx.get(\"b\") }"})).await;
    assert_eq!((&failed["error"]["line"], &failed["error"]["opsDropped"]), (&json!(2), &json!(1)), "{failed}");
    assert_eq!((&failed["operations"], &failed["world"]), (&json!([]), &json!([])));
    let broken = tried(&reply, "on_reply", json!({"source": "fn on_reply("})).await;
    assert_eq!(broken["error"]["kind"], "parse");
    // Other hooks.
    assert_eq!(tried(&user, "on_input", json!({"source": SCRIPT})).await["result"]["reply"], "Hi.");
    assert_eq!(tried(&user, "on_input", json!({"text": "no"})).await["result"], json!({"refused": "never"}));
    let offers = tried(&reply, "quick_replies", json!({})).await;
    assert_eq!(offers["result"], json!([{"label": "7 gold", "send": "count"}]));
    let shows = json!({"source": "fn on_display(ctx) { () }"});
    assert_eq!(tried(&reply, "on_display", shows.clone()).await["warnings"], json!([]));
    let unseen = tried(&user, "on_display", shows).await;
    assert!(unseen["warnings"][0].as_str().unwrap().starts_with("plugins only change the display"), "{unseen}");
    let endless = tried(&reply, "on_reply", json!({"source": "fn on_reply(ctx) { loop {} }"})).await;
    assert_eq!(endless["error"]["kind"], "limit");
    // Nothing was written, and an unknown hook is refused.
    assert_eq!((play.session().await, play.nodes().await), before, "nothing is written");
    let bad = json!({"sessionId": play.sid, "nodeId": reply, "hook": "on_replay"});
    let refused = play.server.request("POST", "/api/plugins/purse/try").json(&bad).send().await.expect_error("invalid");
    assert_eq!(refused["details"]["field"], "hook");
}

/// A replay runs new rules over an existing branch. It shows what they would do at each message, in a separate world,
/// with the recorded dice.
#[tokio::test]
async fn workshop_replay_runs_new_rules_over_branch() {
    let play = start_with_plugin().await;
    let quiet = SCRIPT.replace("#{ reply: ctx.text }", "");
    play.server.put("/api/plugins/purse/files/main.rhai", &json!({"content": quiet})).await;
    let (first, second) = (play.run_turn("One.").await, play.run_turn("Two.").await);
    let before = (play.session().await, play.nodes().await);
    let replay = async |more: Value| {
        let mut body = json!({"sessionId": play.sid});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        play.server.post("/api/plugins/purse/replay", &body).await
    };
    let same = replay(json!({})).await;
    let rows = same["rows"].as_array().unwrap();
    let told: Vec<(&str, &str)> =
        rows.iter().map(|row| (row["nodeId"].as_str().unwrap(), row["hook"].as_str().unwrap())).collect();
    let all = [
        (&first.user_node, "on_input"),
        (&first.reply, "on_reply"),
        (&second.user_node, "on_input"),
        (&second.reply, "on_reply"),
    ];
    assert_eq!(told, all.map(|(node, hook)| (node.as_str(), hook)));
    assert!(rows.iter().all(|row| row["old"] == row["new"] && row["world"] == json!([])), "{same}");
    let dear = quiet.replace("-ctx.config.price", "if ctx.get(\"gold\") < 8 { -1 } else { -5 }");
    let other = replay(json!({"source": dear})).await;
    let gold = |row: usize| other["rows"][row]["world"].clone();
    assert_eq!(gold(1), json!([{"path": "/purse/gold", "before": 7, "after": 5}]));
    assert_eq!(gold(3), json!([]), "5 and 1 are as much as 3 and 3");
    assert_eq!(other["rows"][3]["new"][0]["value"], -1, "the second reply saw what the first would have left");
    let late = replay(json!({"fromNodeId": second.user_node, "source": dear})).await;
    assert_eq!((late["rows"].as_array().unwrap().len(), &late["rows"][1]["new"][0]["value"]), (2, &json!(-1)));
    assert_eq!(replay(json!({"source": "fn on_reply("})).await["error"]["kind"], "parse");
    assert_eq!((play.session().await, play.nodes().await), before, "nothing is written");
}

/// Runs a replay, and accepts what it shows.
pub async fn accept_replay(play: &ApiSession, plugin: &str) -> Value {
    let path = format!("/api/plugins/{plugin}/replay");
    let shown = play.server.post(&path, &json!({"sessionId": play.sid})).await["shown"].clone();
    play.server.post(&path, &json!({"sessionId": play.sid, "accept": true, "shown": shown})).await
}

/// An accepted replay applies the saved rules to the messages of the branch, as one step for undo and redo. Branches
/// below follow, and dice and texts stay.
#[tokio::test]
async fn workshop_replay_accepted_is_one_undo_step() {
    let play = start_with_plugin().await;
    let save = async |script: &str| {
        play.server.put("/api/plugins/purse/files/main.rhai", &json!({"content": script})).await;
    };
    let quiet = SCRIPT.replace("#{ reply: ctx.text }", "");
    save(&quiet).await;
    let (first, second) = (play.run_turn("One.").await, play.run_turn("Two.").await);
    let gold =
        async |node: &str| play.get(&format!("node/{node}/world")).await["world"]["vars"]["purse"]["gold"].clone();
    let accept = async || accept_replay(&play, "purse").await;
    let same = accept().await;
    assert_eq!(same["op"], play.session().await["op"], "nothing to change is no operation");
    let dear = quiet.replace("-ctx.config.price", "-5");
    let unsaved = json!({"sessionId": play.sid, "accept": true, "source": dear});
    let refused =
        play.server.request("POST", "/api/plugins/purse/replay").json(&unsaved).send().await.expect_error("invalid");
    assert_eq!(refused["details"]["field"], "accept");
    let before = play.get(&format!("node/{}/delta", second.reply)).await;
    save(&dear).await;
    let made = accept().await;
    assert_eq!(made["op"], play.session().await["op"]);
    assert_eq!(made["rows"][1]["world"], json!([{"path": "/purse/gold", "before": 7, "after": 5}]));
    assert_eq!([gold(&first.reply).await, gold(&second.reply).await], [5, 0]);
    let after = play.get(&format!("node/{}/delta", second.reply)).await;
    assert_eq!((&after["rolls"], &after["operations"][0]["value"]), (&before["rolls"], &json!(-5)));
    let again = accept().await;
    assert_eq!(again["op"], made["op"], "the same once more changes nothing");
    let undone = play.post("undo", json!({})).await;
    assert_eq!(undone["kind"], "replay");
    assert_eq!([gold(&first.reply).await, gold(&second.reply).await], [7, 4]);
    assert_eq!(play.get(&format!("node/{}/delta", second.reply)).await, before);
    play.post("redo", json!({})).await;
    assert_eq!(gold(&second.reply).await, 0);
}

/// Only the replay that was shown can be accepted: the same code, messages and story. Otherwise nothing is written.
#[tokio::test]
async fn workshop_replay_accepted_after_change_is_refused() {
    let play = start_with_plugin().await;
    let path = "/api/plugins/purse/replay";
    let quiet = SCRIPT.replace("#{ reply: ctx.text }", "");
    let save = async |price: &str| {
        let content = quiet.replace("-ctx.config.price", price);
        play.server.put("/api/plugins/purse/files/main.rhai", &json!({"content": content})).await;
    };
    let replay = async |more: Value| {
        let mut body = json!({"sessionId": play.sid});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        play.server.request("POST", path).json(&body).send().await
    };
    save("-3").await;
    let (first, second) = (play.run_turn("One.").await, play.run_turn("Two.").await);
    save("-5").await;
    let shown = replay(json!({})).await.expect(200)["shown"].clone();
    assert_eq!(replay(json!({})).await.expect(200)["shown"], shown, "the same again shows the same");
    let unsaved = replay(json!({"files": {"main.rhai": quiet}})).await.expect(200)["shown"].clone();
    let part = replay(json!({"fromNodeId": second.user_node})).await.expect(200)["shown"].clone();
    assert!(shown.is_string() && shown != unsaved && shown != part && unsaved != part);
    assert_eq!(replay(json!({"source": "fn on_reply("})).await.expect(200)["shown"], json!(null));
    let before = (play.session().await, play.nodes().await);
    let refused = async |shown: &Value| {
        let error = replay(json!({"accept": true, "shown": shown})).await.expect_error("conflict");
        assert_eq!(error["details"]["reason"], "replay_changed", "{error}");
        assert!(error["hint"].as_str().unwrap().contains("again"), "{error}");
    };
    for other in [&unsaved, &part, &json!("0"), &json!("")] {
        refused(other).await;
    }
    for absent in [json!({"accept": true}), json!({"accept": true, "shown": null})] {
        assert_eq!(replay(absent).await.expect_error("invalid")["details"]["field"], "shown");
    }
    // Other code, then the same code and another story.
    save("-1").await;
    refused(&shown).await;
    assert_eq!((play.session().await, play.nodes().await), before, "nothing is written");
    save("-5").await;
    play.checkout(&first.reply, true).await;
    play.checkout(&second.reply, true).await;
    refused(&shown).await;
    let again = replay(json!({})).await.expect(200)["shown"].clone();
    let accepted = replay(json!({"accept": true, "shown": again})).await.expect(200);
    assert_eq!((&accepted["op"], &accepted["shown"]), (&play.session().await["op"], &json!(null)));
}

/// A replay that cannot apply is a conflict: failing rules, and messages that were written without the plugin.
#[tokio::test]
async fn workshop_replay_that_cannot_apply_returns_conflict() {
    let play = start_with_plugin().await;
    play.server
        .put("/api/plugins/purse/files/main.rhai", &json!({"content": SCRIPT.replace("#{ reply: ctx.text }", "")}))
        .await;
    let said = play.run_turn("One.").await;
    let refused = async |mut body: Value| {
        let path = "/api/plugins/purse/replay";
        let shown = play.server.post(path, &body).await["shown"].clone();
        body.as_object_mut().unwrap().extend([("accept".to_owned(), json!(true)), ("shown".to_owned(), shown)]);
        play.server.request("POST", path).json(&body).send().await.expect_error("conflict")
    };
    play.server
        .put(
            "/api/plugins/purse/files/main.rhai",
            &json!({"content": "fn on_reply(ctx) { ctx.add(\"gold\", 1); nothing(); }"}),
        )
        .await;
    let told = refused(json!({"sessionId": play.sid})).await;
    assert!(told["message"].as_str().unwrap().contains(&said.reply), "{told}");
    play.server.put("/api/plugins/purse/files/main.rhai", &json!({"content": SCRIPT})).await;
    play.server.put(&format!("/api/sessions/{}/plugins", play.sid), &json!([])).await;
    let alone = play.run_turn("Two.").await;
    play.server.put(&format!("/api/sessions/{}/plugins", play.sid), &json!([{"id": "purse"}])).await;
    let told = refused(json!({"sessionId": play.sid, "fromNodeId": alone.user_node})).await;
    assert!(told["message"].as_str().unwrap().contains("fromNodeId"), "{told}");
}
