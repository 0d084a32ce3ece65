//! Tests of computed values and of prototypes for new entries. Rank 1 of the later ideas.

use serde_json::{Value, json};

use super::*;

fn stages_schema() -> Value {
    json!({"type": "object", "required": ["stage"], "properties": {
        "affinity": {"type": "integer", "minimum": 0, "maximum": 100},
        "left": {"type": "integer", "maximum": 50, "x-computed": "100 - affinity"},
        "half": {"type": "integer", "x-computed": "left / 2"},
        "stage": {"type": "string", "x-computed": [
            {"when": "affinity >= 60", "is": "beloved"}, {"when": "affinity >= 20", "is": "friend"}, {"is": "stranger"}]},
        "people": {"type": "object", "x-prototype": true, "additionalProperties": {"type": "object", "properties": {
            "love": {"type": "integer", "default": 10, "maximum": 20}, "likes": {"type": "array", "default": ["tea"]},
            "mood": {"type": "string"}, "close": {"type": "boolean", "x-computed": [{"when": "gap > 0", "is": true}]},
            "gap": {"x-computed": "love - /affinity"}}}},
    }})
}

fn fold_stages(before: Value, operations: Value) -> (Value, Vec<String>) {
    let mut world = world_with_vars(json!({"g": before}));
    let said = apply_operations(&mut world, &operations, &schema_set("/g", stages_schema()));
    (world.vars["g"].clone(), said)
}

/// A graft must not leave the computed value stale: +3 on 58 is beloved, whatever it was on the original base.
#[test]
fn fold_computed_value_is_updated() {
    let add = json!([{"op": "add", "path": "/g/affinity", "value": 3}]);
    let (state, said) = fold_stages(json!({"affinity": 58, "stage": "friend"}), add.clone());
    assert_eq!((state, said.len()), (json!({"affinity": 61, "left": 39, "half": 20, "stage": "beloved"}), 0));
    let (state, _) = fold_stages(json!({"affinity": 5}), add);
    assert_eq!(
        state,
        json!({"affinity": 8, "left": 50, "half": 25, "stage": "stranger"}),
        "in its range, without a word"
    );
    let (state, _) = fold_stages(json!({"affinity": 30, "stage": "nonsense"}), json!([]));
    assert_eq!(state["stage"], json!("friend"), "also where nothing happens");
    let (state, said) =
        fold_stages(json!({}), json!([{"op": "set", "path": "/g", "value": {"affinity": 20, "stage": 7}}]));
    assert_eq!((&state["stage"], said.len()), (&json!("friend"), 0), "what is put for it is not looked at");
    let (state, _) = fold_stages(json!({"affinity": 30}), json!([{"op": "remove", "path": "/g/affinity"}]));
    assert_eq!(state, json!({"stage": "stranger"}), "a sum without its numbers is gone");
}

#[test]
fn fold_write_to_computed_value_is_refused() {
    for operation in [
        json!({"op": "set", "path": "/g/stage", "value": "friend"}),
        json!({"op": "remove", "path": "/g/stage"}),
        json!({"op": "insert", "path": "/g", "key": "stage", "value": "friend"}),
        json!({"op": "move", "path": "/g/stage", "from": "/word"}),
        json!({"op": "move", "path": "/word", "from": "/g/stage"}),
    ] {
        let (state, said) = fold_stages(json!({"affinity": 5}), json!([operation]));
        assert_eq!(
            said,
            ["Refused /g/stage stage: it is computed: change the values that it is computed from"],
            "{operation}"
        );
        assert_eq!(state["stage"], json!("stranger"));
    }
}

/// A new entry gets the prototype's values; the written value overrides them.
#[test]
fn fold_new_map_entry_gets_prototype() {
    let people = |before: Value, operation: Value| {
        let (state, said) = fold_stages(json!({"affinity": 12, "people": before}), json!([operation]));
        assert_eq!(said, Vec::<String>::new());
        state["people"].clone()
    };
    let rin = |love: i64, close: bool| {
        let mut rin = json!({"love": love, "likes": ["tea"], "gap": love - 12});
        if close {
            rin["close"] = json!(true);
        }
        rin
    };
    let at = "/g/people/rin";
    assert_eq!(people(json!({}), json!({"op": "set", "path": at, "value": {}})), json!({"rin": rin(10, false)}));
    assert_eq!(
        people(json!({}), json!({"op": "set", "path": at, "value": {"mood": "calm", "love": 15}}))["rin"],
        json!({"love": 15, "likes": ["tea"], "mood": "calm", "gap": 3, "close": true})
    );
    assert_eq!(
        people(json!({}), json!({"op": "insert", "path": "/g/people", "key": "rin", "value": {}}))["rin"],
        rin(10, false)
    );
    let add = json!({"op": "add", "path": format!("{at}/love"), "value": 5});
    assert_eq!(people(json!({}), add.clone())["rin"], rin(15, true), "it adds to what the entry begins with");
    assert_eq!(
        people(json!({"rin": {"mood": "x"}}), add.clone())["rin"],
        json!({"mood": "x", "love": 5, "gap": -7}),
        "what is there is left"
    );
    assert_eq!(people(json!({"rin": {"love": 1}}), add)["rin"], json!({"love": 6, "gap": -6}));
    let likes = json!({"op": "append", "path": format!("{at}/likes"), "value": "cake"});
    assert_eq!(people(json!({}), likes)["rin"]["likes"], json!(["tea", "cake"]));
    assert_eq!(
        people(json!({}), json!({"op": "set", "path": "/g/people", "value": {"a": {}, "b": {"love": 1}}})),
        json!({"a": rin(10, false), "b": rin(1, false)})
    );
    let (state, said) = fold_stages(json!({}), json!([{"op": "add", "path": format!("{at}/love"), "value": 50}]));
    assert_eq!((&state["people"]["rin"]["love"], said.len()), (&json!(20), 1), "made with the map, and clamped");
}

/// `close` of each entry depends on a value outside the map, so all entries are recomputed.
#[test]
fn fold_computed_map_entries_update_separately() {
    let before = json!({"affinity": 12, "people": {"rin": {"love": 15}, "tom": {"love": 3}}});
    let (state, _) = fold_stages(before.clone(), json!([{"op": "add", "path": "/g/people/tom/love", "value": 10}]));
    assert_eq!((&state["people"]["tom"]["close"], &state["people"]["rin"]["close"]), (&json!(true), &json!(true)));
    let (state, _) = fold_stages(before, json!([{"op": "add", "path": "/g/affinity", "value": 10}]));
    assert_eq!((state["people"]["rin"].get("close"), &state["stage"]), (None, &json!("friend")));
}

#[test]
fn fold_computed_in_parts_equals_fold_at_once() {
    let rules = schema_set("/g", stages_schema());
    let operations = [
        json!({"op": "add", "path": "/g/affinity", "value": 30}),
        json!({"op": "add", "path": "/g/people/rin/love", "value": 3}),
        json!({"op": "move", "path": "/g/people/tom", "from": "/g/people/rin"}),
        json!({"op": "add", "path": "/g/affinity", "value": -25}),
    ];
    let mut whole = world_with_vars(json!({}));
    apply_operations(&mut whole, &json!(operations), &rules);
    let mut parts = world_with_vars(json!({}));
    for one in operations {
        apply_operations(&mut parts, &json!([one]), &rules);
        apply_operations(&mut parts, &json!([]), &rules);
    }
    assert_eq!((whole.hash(), &whole.vars["g"]["people"]["tom"]["close"]), (parts.hash(), &json!(true)));
}
