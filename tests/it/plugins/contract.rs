//! The contract between host and scripts: hooks, `ctx`, answers, errors.

use serde_json::{Value, json};

use super::*;

#[test]
fn operations_come_out_as_they_were_meant() {
    let plugin = plugin(
        r#"fn on_reply(ctx) {
            ctx.add("hp", -12, "took 12 damage");
            ctx.add("pack/rope", 1);
            ctx.set("mood", #{ now: "tired", since: [1, 2.5, ()] }, "long day");
            ctx.remove("torch");
            ctx.insert("pack", "a/b", true);
            ctx.append("log", "x");
            ctx.take("log", "y", "gone");
            ctx.move("hand", "belt");
        }"#,
    );
    let outcome = Bench::new().reply(&plugin, json!({"hp": 40}), "");
    assert_eq!(outcome.error, None);
    assert_eq!(
        Value::from(operations(&outcome)),
        json!([
            {"op": "add", "path": "/mine/hp", "value": -12, "why": "took 12 damage", "by": "mine"},
            {"op": "add", "path": "/mine/pack/rope", "value": 1, "by": "mine"},
            {"op": "set", "path": "/mine/mood", "value": {"now": "tired", "since": [1, 2.5, null]}, "why": "long day", "by": "mine"},
            {"op": "remove", "path": "/mine/torch", "by": "mine"},
            {"op": "insert", "path": "/mine/pack", "key": "a/b", "value": true, "by": "mine"},
            {"op": "append", "path": "/mine/log", "value": "x", "by": "mine"},
            {"op": "take", "path": "/mine/log", "value": "y", "why": "gone", "by": "mine"},
            {"op": "move", "path": "/mine/belt", "from": "/mine/hand", "by": "mine"},
        ])
    );
}

/// The text of an error as a modder sees it.
fn failure(script: &str) -> String {
    let outcome = Bench::new().reply(&plugin(script), json!({"hp": 40}), "text");
    assert!(outcome.operations.is_empty());
    outcome.error.expect("an error").to_string()
}

#[test]
fn an_error_says_where_and_what() {
    let script = "fn hurt(ctx) {\n    let n = 3;\n    ctx.add(\"hp\", -n);\n    ctx.get(\"hpp\")\n}\nfn on_reply(ctx) {\n    hurt(ctx);\n}\n";
    assert_eq!(
        failure(script),
        "mine/main.rhai:4:9  in on_reply, plugin mine 1.0.0\n  state has no \"hpp\" (did you mean \"hp\"?)\n      \
         2 |     let n = 3;\n      3 |     ctx.add(\"hp\", -n);\n  >   4 |     ctx.get(\"hpp\")\n  \
         called from: on_reply\n  ops so far: 1 (dropped)"
    );
}
