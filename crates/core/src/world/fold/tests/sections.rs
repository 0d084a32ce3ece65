//! Tests of roots, sections, bounds, and the cost of the fold.

use serde_json::{Value, json};

use super::*;
use crate::world::ProblemKind;

/// A schema governs its root even if an operation creates the path to it, and no operation above replaces the root.
#[test]
fn fold_schema_root_created_by_parent_is_checked() {
    let combat = schema_set(
        "/p/combat",
        json!({"type": "object", "required": ["hp"], "properties": {"hp": {"type": "integer", "maximum": 9}}}),
    );
    let clamped = "Clamped /p/combat/hp hp: 12 is above 9, kept at 9";
    check(
        &combat,
        json!({}),
        json!({"op": "add", "path": "/p/combat/hp", "value": 12}),
        json!({"p": {"combat": {"hp": 9}}}),
        &[clamped],
    );
    check(
        &combat,
        json!({}),
        json!({"op": "set", "path": "/p/combat", "value": {"hp": 12}}),
        json!({"p": {"combat": {"hp": 9}}}),
        &[clamped],
    );
    check(
        &combat,
        json!({"p": {}}),
        json!({"op": "insert", "path": "/p", "key": "combat", "value": {"hp": 12}}),
        json!({"p": {"combat": {"hp": 9}}}),
        &[clamped],
    );
    check(
        &combat,
        json!({}),
        json!({"op": "set", "path": "/p/combat/mp", "value": 1}),
        json!({}),
        &["Refused /p/combat combat: \"hp\" is missing"],
    );
    check(&combat, json!({}), json!({"op": "set", "path": "/p/free", "value": 1}), json!({"p": {"free": 1}}), &[]);
    let holds = "Refused /p p: it contains /p/combat, which has its own schema";
    let before = json!({"p": {"combat": {"hp": 1}}, "q": {"combat": {"hp": 99}}});
    for operation in [
        json!({"op": "set", "path": "/p", "value": {}}),
        json!({"op": "remove", "path": "/p"}),
        json!({"op": "move", "path": "/x", "from": "/p"}),
        json!({"op": "move", "path": "/p", "from": "/q"}),
    ] {
        check(&combat, before.clone(), operation, before.clone(), &[holds]);
    }
    check(&combat, json!({}), json!({"op": "append", "path": "/p", "value": 1}), json!({}), &[holds]);
    let whole = schema_set(
        "",
        json!({"required": ["a"], "additionalProperties": false, "properties": {"a": {"type": "integer"}}}),
    );
    check(
        &whole,
        json!({"a": 1}),
        json!({"op": "remove", "path": "/a"}),
        json!({"a": 1}),
        &["Refused /a a: it is required"],
    );
    check(
        &whole,
        json!({"a": 1}),
        json!({"op": "set", "path": "/b", "value": 1}),
        json!({"a": 1}),
        &["Refused /b b: this key is not allowed here"],
    );
}

/// A refused operation does not stop the others, and its problem names its index.
#[test]
fn fold_refused_operation_does_not_stop_others() {
    let mut world = world_with_vars(json!({"hp": 10}));
    let operations = [
        StateOperation::new("/hp".parse().unwrap(), StateChange::Add(1.into()), "", ""),
        StateOperation::new("/hp/x".parse().unwrap(), StateChange::Set(json!(1)), "", ""),
        StateOperation::new("/hp".parse().unwrap(), StateChange::Add(2.into()), "", ""),
    ];
    let problems = fold(&mut world, &operations, &SchemaSet::default());
    assert_eq!(
        problems.iter().map(|problem| (problem.operation, problem.kind())).collect::<Vec<_>>(),
        [(1, ProblemKind::Refused)]
    );
    assert_eq!(world.vars["hp"], json!(13));
}

#[test]
fn fold_server_sections_accept_their_operations() {
    let mut world = World::default();
    let said = apply_operations(
        &mut world,
        &json!([
            {"in": "summary", "op": "set", "path": "", "value": "so far"},
            {"in": "events", "op": "append", "path": "", "value": {"text": "met Ann", "tags": []}},
            {"in": "events", "op": "append", "path": "", "value": {"text": "left", "tags": []}},
            {"in": "events", "op": "take", "path": "", "value": {"tags": [], "text": "met Ann"}},
            {"in": "lore", "op": "append", "path": "/active", "value": "keep"},
            {"in": "lore", "op": "insert", "path": "/timers", "key": "keep", "value": {"since": "n1"}},
            {"in": "lore", "op": "set", "path": "/x", "value": 1},
            {"in": "lore", "op": "remove", "path": "/x"},
        ]),
        &schema_set("", json!({"additionalProperties": false})),
    );
    assert_eq!(said, Vec::<String>::new(), "schemas govern vars only");
    let expected = json!({
        "vars": {}, "lore": {"active": ["keep"], "timers": {"keep": {"since": "n1"}}},
        "summary": "so far", "events": [{"text": "left", "tags": []}],
    });
    assert_eq!(world.to_json(), expected);
    let said = apply_operations(
        &mut world,
        &json!([
            {"in": "summary", "op": "set", "path": "", "value": 1},
            {"in": "summary", "op": "set", "path": "/a", "value": "x"},
            {"in": "summary", "op": "remove", "path": ""},
            {"in": "events", "op": "set", "path": "", "value": []},
            {"in": "events", "op": "append", "path": "/0", "value": 1},
            {"in": "events", "op": "take", "path": "", "value": 1},
            {"in": "lore", "op": "add", "path": "/x", "value": 1},
            {"in": "lore", "op": "set", "path": "", "value": {}},
        ]),
        &SchemaSet::default(),
    );
    let kinds: Vec<&str> = said.iter().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(
        kinds,
        ["Refused", "Refused", "Refused", "Refused", "Refused", "NothingThere", "Refused", "Refused"],
        "{said:?}"
    );
    assert_eq!(world.to_json(), expected);
}

#[test]
fn fold_oversized_value_is_refused() {
    let deep = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let refusals = |operation: Value| {
        apply_operations(&mut world_with_vars(json!({"here": deep(31)})), &json!([operation]), &SchemaSet::default())
    };
    assert_eq!(refusals(json!({"op": "set", "path": "/a", "value": deep(31)})), Vec::<String>::new());
    let too_deep = ["Refused /a a: the state may have at most 32 levels"];
    assert_eq!(refusals(json!({"op": "set", "path": "/a", "value": deep(32)})), too_deep);
    assert_eq!(refusals(json!({"op": "append", "path": "/a", "value": deep(31)})), too_deep);
    let inserted = refusals(json!({"op": "insert", "path": "/a", "key": "k", "value": deep(31)}));
    assert_eq!(inserted, ["Refused /a/k k: the state may have at most 32 levels"]);
    let moved = refusals(json!({"op": "move", "path": "/a/b", "from": "/here"}));
    assert_eq!(moved, ["Refused /a/b b: the state may have at most 32 levels"]);
    let far = Pointer::from_keys(vec!["k"; 33]);
    let problems = fold(
        &mut World::default(),
        &[StateOperation::new(far, StateChange::Set(json!(1)), "", "")],
        &SchemaSet::default(),
    );
    assert_eq!(problems[0].kind(), ProblemKind::Refused);
    assert_eq!(refusals(json!({"op": "set", "path": "/a", "value": "x".repeat(1_000_000)})), Vec::<String>::new());
    for big in [json!("x".repeat(1 << 21)), json!(vec![0; 600_000]), json!({"x".repeat(1 << 21): 1})] {
        assert_eq!(
            refusals(json!({"op": "append", "path": "/a", "value": big})),
            ["Refused /a a: the value is larger than 1 MiB"]
        );
    }
}

/// S3-07: keys that the JSON library reserves would not round-trip, so they are refused.
#[test]
fn fold_reserved_key_is_refused() {
    for key in ["$serde_json::private::Number", "$serde_json::private::RawValue"] {
        for operation in [
            json!({"op": "set", "path": format!("/{key}"), "value": "x"}),
            json!({"op": "insert", "path": "/a", "key": key, "value": "x"}),
            json!({"op": "move", "path": format!("/b/{key}"), "from": "/a"}),
            json!({"op": "append", "path": format!("/{key}"), "value": 1}),
        ] {
            let mut world = world_with_vars(json!({"a": {}}));
            let said = apply_operations(&mut world, &json!([operation]), &SchemaSet::default());
            assert!(said[0].starts_with("Refused") && said[0].contains("a key cannot begin with"), "{said:?}");
        }
        let inside: serde_json::Map<String, Value> = [(key.to_owned(), json!("x"))].into_iter().collect();
        let set = StateOperation::new("/a".parse().unwrap(), StateChange::Set(json!([inside])), "", "");
        assert_eq!(fold(&mut World::default(), &[set], &SchemaSet::default())[0].kind(), ProblemKind::Refused);
    }
}

/// C20: an operation keeps its intent on another base: 40 - 12 = 28 here, 13 after a graft onto 25.
#[test]
fn fold_operation_on_other_base_keeps_intent() {
    let combat = schema_set("/combat", json!({"properties": {"hp": {"type": "integer", "minimum": 0}}}));
    for (base, expected) in [(40, 28), (25, 13), (5, 0)] {
        let mut world = world_with_vars(json!({"combat": {"hp": base}}));
        apply_operations(&mut world, &json!([{"op": "add", "path": "/combat/hp", "value": -12}]), &combat);
        assert_eq!(world.vars["combat"]["hp"], json!(expected));
    }
}

/// C15: muting a node leaves its delta out, and the rest is folded again.
#[test]
fn fold_muted_delta_equals_fold_without_it() {
    let add = |amount: i32| StateOperation::new("/hp".parse().unwrap(), StateChange::Add(amount.into()), "", "");
    for (deltas, expected) in [(vec![add(100), add(-10), add(0)], 90), (vec![add(100), add(0)], 100)] {
        let mut world = World::default();
        fold(&mut world, &deltas, &SchemaSet::default());
        assert_eq!(world.vars["hp"], json!(expected));
    }
}

/// S3-27: one operation on a 1 MB world is a small row, and the fold copies no other value.
#[test]
fn fold_large_world_is_not_copied() {
    let things: serde_json::Map<String, Value> =
        (0..5000).map(|i| (format!("thing{i}"), json!({"n": i, "text": "x".repeat(200)}))).collect();
    let mut world = world_with_vars(json!({"things": things}));
    let address = |world: &World| world.vars["things"]["thing77"]["text"].as_str().unwrap().as_ptr();
    let before = address(&world);
    let operation =
        json!({"op": "add", "path": "/things/thing4999/n", "value": -12, "why": "took 12 damage", "by": "combat"});
    assert!(operation.to_string().len() < 300);
    let schema = schema_set("/things", json!({"additionalProperties": {"properties": {"n": {"type": "integer"}}}}));
    let said = apply_operations(
        &mut world,
        &json!([
            operation,
            {"op": "set", "path": "/things/new", "value": {"n": 1}},
            {"op": "move", "path": "/things/thing1", "from": "/things/new"},
            {"op": "remove", "path": "/things/thing2"},
        ]),
        &schema,
    );
    assert_eq!(said, Vec::<String>::new());
    assert_eq!(world.vars["things"]["thing4999"]["n"], json!(4987));
    assert_eq!(address(&world), before);
}

/// Only the touched subschema is checked: an older violation elsewhere stays and blocks nothing.
#[test]
fn fold_invalid_sibling_does_not_block_operation() {
    let schema =
        json!({"additionalProperties": false, "required": ["gone"], "properties": {"hp": {"type": "integer"}}});
    check_with_schema(
        &schema,
        json!({"old": 1, "hp": 1}),
        json!({"op": "add", "path": "/g/hp", "value": 1}),
        json!({"old": 1, "hp": 2}),
        &[],
    );
    check_with_schema(
        &schema,
        json!({"old": 1, "hp": 1}),
        json!({"op": "remove", "path": "/g/old"}),
        json!({"hp": 1}),
        &[],
    );
}
