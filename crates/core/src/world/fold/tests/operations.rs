//! Tables: every operation on every kind of value, in and out of range.

use serde_json::{Value, json};

use super::*;

/// S3-20, C20: `add` on every kind of value.
#[test]
fn fold_add_changes_number() {
    let add = |path: &str, value: Value| json!({"op": "add", "path": path, "value": value});
    check_without_schema(json!({"a": 25}), add("/a", json!(-12)), json!({"a": 13}), &[]);
    check_without_schema(json!({"a": 0.1}), add("/a", json!(0.2)), json!({"a": 0.3}), &[]);
    check_without_schema(json!({}), add("/a/b", json!(5)), json!({"a": {"b": 5}}), &[]);
    check_without_schema(json!({"l": [1, 2]}), add("/l/1", json!(3)), json!({"l": [1, 5]}), &[]);
    let no = "Refused /a a: nothing can be added to ";
    for (value, called) in [
        (json!(null), "null"),
        (json!(true), "true or false"),
        (json!("1"), "a text"),
        (json!([]), "a list"),
        (json!({}), "a map"),
    ] {
        check_without_schema(
            json!({"a": value}),
            add("/a", json!(1)),
            json!({"a": value}),
            &[&format!("{no}{called}")],
        );
    }
    let way = "the path leads through a value that is not a map, or past the end of a list";
    check_without_schema(
        json!({"l": [1]}),
        add("/l/1", json!(1)),
        json!({"l": [1]}),
        &[&format!("Refused /l/1 l: {way}")],
    );
    check_without_schema(
        json!({"l": [1]}),
        add("/l/-", json!(1)),
        json!({"l": [1]}),
        &[&format!("Refused /l/- l: {way}")],
    );
    check_without_schema(json!({"a": 1}), add("/a/b", json!(1)), json!({"a": 1}), &[&format!("Refused /a/b a: {way}")]);
    let big: Value = serde_json::from_str("170141183460469231731687303715884105727").unwrap();
    let too_big = "Refused /a a: the result is too large to be exact";
    check_without_schema(json!({"a": big}), add("/a", json!(1)), json!({"a": big}), &[too_big]);
    let beyond: Value = serde_json::from_str("1e400").unwrap();
    check_without_schema(
        json!({"a": 1}),
        add("/a", beyond),
        json!({"a": 1}),
        &["Refused /a a: the absolute value of a number must be between 1e-308 and 1e308"],
    );
}

/// S3-20: a number out of range is clamped and a fraction for an integer rounded, with a note; the text is kept.
#[test]
fn fold_number_out_of_range_is_clamped() {
    let hp = json!({"type": "object", "properties": {
        "hp": {"type": "integer", "minimum": 0, "maximum": 100},
        "luck": {"type": "number", "minimum": -1, "exclusiveMaximum": 1},
        "level": {"type": "integer", "exclusiveMinimum": 0, "maximum": 9.5},
    }});
    let add = |key: &str, value: Value| json!({"op": "add", "path": format!("/g/{key}"), "value": value});
    check_with_schema(&hp, json!({"hp": 40}), add("hp", json!(-12)), json!({"hp": 28}), &[]);
    check_with_schema(
        &hp,
        json!({"hp": 7}),
        add("hp", json!(-12)),
        json!({"hp": 0}),
        &["Clamped /g/hp hp: -5 is below 0, kept at 0"],
    );
    check_with_schema(
        &hp,
        json!({"hp": 95}),
        add("hp", json!(12)),
        json!({"hp": 100}),
        &["Clamped /g/hp hp: 107 is above 100, kept at 100"],
    );
    check_with_schema(
        &hp,
        json!(null),
        add("hp", json!(-3)),
        json!({"hp": 0}),
        &["Clamped /g/hp hp: -3 is below 0, kept at 0"],
    );
    check_with_schema(
        &hp,
        json!({"hp": 10}),
        add("hp", json!(2.5)),
        json!({"hp": 13}),
        &["Rounded /g/hp hp: 12.5 is not whole, rounded to 13"],
    );
    check_with_schema(
        &hp,
        json!({"hp": 10}),
        add("hp", json!(-10.7)),
        json!({"hp": 0}),
        &["Rounded /g/hp hp: -0.7 is not whole, rounded to -1", "Clamped /g/hp hp: -1 is below 0, kept at 0"],
    );
    let set = |key: &str, value: Value| json!({"op": "set", "path": format!("/g/{key}"), "value": value});
    check_with_schema(
        &hp,
        json!({}),
        set("hp", json!(999)),
        json!({"hp": 100}),
        &["Clamped /g/hp hp: 999 is above 100, kept at 100"],
    );
    check_with_schema(&hp, json!({}), set("hp", json!(5.0)), json!({"hp": 5.0}), &[]);
    check_with_schema(
        &hp,
        json!({}),
        set("level", json!(0)),
        json!({"level": 1}),
        &["Clamped /g/level level: 0 is below 1, kept at 1"],
    );
    check_with_schema(
        &hp,
        json!({}),
        set("level", json!(20)),
        json!({"level": 9}),
        &["Clamped /g/level level: 20 is above 9, kept at 9"],
    );
    check_with_schema(
        &hp,
        json!({}),
        set("luck", json!(-1.5)),
        json!({"luck": -1}),
        &["Clamped /g/luck luck: -1.5 is below -1, kept at -1"],
    );
    check_refused(&hp, json!({}), set("luck", json!(1)), "Refused /g/luck luck: 1 must be below 1");
    check_refused(&hp, json!({"hp": 1}), set("hp", json!("full")), "Refused /g/hp hp: \"full\" is not a whole number");
    check_refused(&hp, json!({"hp": 1}), set("hp", json!(null)), "Refused /g/hp hp: null is not a whole number");
}

/// S3-20, S3-07: `set` sets any JSON and creates maps, never lists.
#[test]
fn fold_set_replaces_value() {
    let set = |path: &str, value: Value| json!({"op": "set", "path": path, "value": value});
    for value in [json!(null), json!(true), json!(1.50), json!("x"), json!([1]), json!({"包": {}})] {
        check_without_schema(json!({"a": 0}), set("/a", value.clone()), json!({"a": value}), &[]);
        check_without_schema(json!({}), set("/x/y/z", value.clone()), json!({"x": {"y": {"z": value}}}), &[]);
        check_without_schema(json!({"l": [0, 1]}), set("/l/0", value.clone()), json!({"l": [value, 1]}), &[]);
    }
    check_without_schema(json!({}), set("/l/0", json!(1)), json!({"l": {"0": 1}}), &[]);
    check_without_schema(json!({"a": 1, "b": 2}), set("/a", json!(3)), json!({"a": 3, "b": 2}), &[]);
    let way = "the path leads through a value that is not a map, or past the end of a list";
    for path in ["/t/x", "/l/1", "/l/-", "/l/00", "/n/x/y"] {
        let before = json!({"t": "text", "l": [1], "n": null});
        let list = path.get(1..2).unwrap();
        check_without_schema(before.clone(), set(path, json!(1)), before, &[&format!("Refused {path} {list}: {way}")]);
    }
    check_without_schema(
        json!({"a": 1}),
        set("", json!({})),
        json!({"a": 1}),
        &["Refused  the path is empty: an operation never replaces the whole state"],
    );
}

/// S3-20: an operation that otherwise breaks the schema is skipped.
#[test]
fn fold_schema_violation_is_refused() {
    let schema = json!({"type": "object", "additionalProperties": false, "properties": {
        "stage": {"enum": ["calm", "angry", 3]},
        "one": {"const": 1},
        "name": {"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^[a-z]+$"},
        "flag": {"type": ["boolean", "null"]},
        "map": {"type": "object", "required": ["a"], "additionalProperties": {"type": "integer", "maximum": 5}},
    }});
    let set = |key: &str, value: Value| json!({"op": "set", "path": format!("/g/{key}"), "value": value});
    for (key, value) in [
        ("stage", json!("angry")),
        ("one", json!(1.0)),
        ("stage", json!(3.0)),
        ("name", json!("bob")),
        ("flag", json!(null)),
        ("map", json!({"a": 1})),
    ] {
        check_with_schema(&schema, json!({}), set(key, value.clone()), json!({key: value}), &[]);
    }
    let no = |key: &str, value: Value, problem: &str| {
        check_refused(&schema, json!({"flag": true}), set(key, value), problem)
    };
    no("stage", json!("sad"), "Refused /g/stage stage: \"sad\" is not one of \"calm\", \"angry\", 3");
    no("one", json!(2), "Refused /g/one one: 2 is not one of 1");
    no("name", json!("b"), "Refused /g/name name: it has 1 characters and needs at least 2 characters");
    no("name", json!("bobby"), "Refused /g/name name: it has 5 characters and may have at most 4 characters");
    no("name", json!("包包"), "Refused /g/name name: \"包包\" does not match ^[a-z]+$");
    no("flag", json!(0), "Refused /g/flag flag: 0 is not true or false or null");
    no("mana", json!(1), "Refused /g/mana mana: this key is not allowed here");
    no("map", json!({}), "Refused /g/map map: \"a\" is missing");
    no("map", json!({"a": "x"}), "Refused /g/map/a a: \"x\" is not a whole number");
    no("map", json!([]), "Refused /g/map map: a list is not a map");
    no("map/b", json!(1), "Refused /g/map map: \"a\" is missing");
    check_with_schema(
        &schema,
        json!({}),
        set("map", json!({"a": 9, "b": 1.5})),
        json!({"map": {"a": 5, "b": 2}}),
        &["Clamped /g/map/a a: 9 is above 5, kept at 5", "Rounded /g/map/b b: 1.5 is not whole, rounded to 2"],
    );
}

/// S3-20: `remove` refuses required values.
#[test]
fn fold_remove_deletes_value() {
    let remove = |path: &str| json!({"op": "remove", "path": path});
    check_without_schema(json!({"a": 1, "b": 2, "c": 3}), remove("/b"), json!({"a": 1, "c": 3}), &[]);
    check_without_schema(json!({"l": [1, 2, 3]}), remove("/l/1"), json!({"l": [1, 3]}), &[]);
    for path in ["/x", "/a/x", "/l/1", "/l/-", "/x/y/z"] {
        let name = path.rsplit('/').next().unwrap();
        let name = if path == "/l/1" { "l/1" } else { name };
        let before = json!({"a": 1, "l": [1]});
        check_without_schema(
            before.clone(),
            remove(path),
            before,
            &[&format!("NothingThere {path} {name}: there is nothing to remove")],
        );
    }
    let schema = json!({"required": ["hp"], "properties": {"list": {"type": "array", "minItems": 1}}});
    check_refused(&schema, json!({"hp": 1}), remove("/g/hp"), "Refused /g/hp hp: it is required");
    check_refused(
        &schema,
        json!({"hp": 1, "list": [1]}),
        remove("/g/list/0"),
        "Refused /g/list/0 list/0: its list needs at least 1 value",
    );
    check_with_schema(
        &schema,
        json!({"hp": 1, "list": [1, 2]}),
        remove("/g/list/0"),
        json!({"hp": 1, "list": [2]}),
        &[],
    );
    check_with_schema(&schema, json!({"hp": 1}), remove("/g"), json!(null), &[]);
}

/// S3-20: `insert` works on maps only.
#[test]
fn fold_insert_adds_key() {
    let insert =
        |path: &str, key: &str, value: Value| json!({"op": "insert", "path": path, "key": key, "value": value});
    check_without_schema(json!({"pack": {}}), insert("/pack", "rope/~", json!(1)), json!({"pack": {"rope/~": 1}}), &[]);
    check_without_schema(
        json!({"pack": {"a": 1, "b": 2}}),
        insert("/pack", "a", json!(3)),
        json!({"pack": {"a": 3, "b": 2}}),
        &[],
    );
    check_without_schema(json!({}), insert("/p/q", "0", json!(null)), json!({"p": {"q": {"0": null}}}), &[]);
    check_without_schema(
        json!({"l": [1]}),
        insert("/l", "0", json!(2)),
        json!({"l": [1]}),
        &["Refused /l l: nothing can be inserted into a list"],
    );
    check_without_schema(
        json!({"n": 5}),
        insert("/n", "x", json!(2)),
        json!({"n": 5}),
        &["Refused /n n: nothing can be inserted into a number"],
    );
    let schema = json!({"additionalProperties": {"type": "integer", "maximum": 9}});
    check_with_schema(
        &schema,
        json!({}),
        insert("/g", "rope", json!(12)),
        json!({"rope": 9}),
        &["Clamped /g/rope rope: 12 is above 9, kept at 9"],
    );
    check_refused(
        &schema,
        json!({}),
        insert("/g", "rope", json!("x")),
        "Refused /g/rope rope: \"x\" is not a whole number",
    );
}

/// S3-20, C20: lists are multisets of values.
#[test]
fn fold_append_and_take_change_list() {
    let op = |op: &str, path: &str, value: Value| json!({"op": op, "path": path, "value": value});
    check_without_schema(json!({"l": [1]}), op("append", "/l", json!(1)), json!({"l": [1, 1]}), &[]);
    check_without_schema(json!({}), op("append", "/x/l", json!({"a": 1})), json!({"x": {"l": [{"a": 1}]}}), &[]);
    check_without_schema(json!({"l": ["a", "b", "a"]}), op("take", "/l", json!("a")), json!({"l": ["b", "a"]}), &[]);
    check_without_schema(
        json!({"l": [{"n": 1, "m": [2]}]}),
        op("take", "/l", json!({"m": [2.0], "n": 1e0})),
        json!({"l": []}),
        &[],
    );
    for (word, verb) in [("append", "appended to"), ("take", "taken from")] {
        for (value, called) in
            [(json!(5), "a number"), (json!("x"), "a text"), (json!({}), "a map"), (json!(null), "null")]
        {
            check_without_schema(
                json!({"v": value}),
                op(word, "/v", json!(1)),
                json!({"v": value}),
                &[&format!("Refused /v v: nothing can be {verb} {called}")],
            );
        }
    }
    check_without_schema(
        json!({"l": [1]}),
        op("take", "/l", json!(2)),
        json!({"l": [1]}),
        &["NothingThere /l l: the list does not contain this value"],
    );
    check_without_schema(
        json!({}),
        op("take", "/l", json!(2)),
        json!({}),
        &["NothingThere /l l: the list does not contain this value"],
    );
    let schema = json!({"properties": {
        "tags": {"type": "array", "uniqueItems": true, "minItems": 1, "maxItems": 2, "items": {"type": "integer", "maximum": 9}},
        "pair": {"type": "array", "minItems": 2},
    }});
    check_with_schema(
        &schema,
        json!({"tags": [1]}),
        op("append", "/g/tags", json!(12)),
        json!({"tags": [1, 9]}),
        &["Clamped /g/tags/1 tags/1: 12 is above 9, kept at 9"],
    );
    check_refused(
        &schema,
        json!({"tags": [1]}),
        op("append", "/g/tags", json!(1.0)),
        "Refused /g/tags tags: it already contains this value",
    );
    check_refused(
        &schema,
        json!({"tags": [1, 2]}),
        op("append", "/g/tags", json!(3)),
        "Refused /g/tags tags: it may have at most 2 values",
    );
    check_refused(
        &schema,
        json!({"tags": [1]}),
        op("append", "/g/tags", json!("x")),
        "Refused /g/tags/1 tags/1: \"x\" is not a whole number",
    );
    check_refused(
        &schema,
        json!({"tags": [1]}),
        op("take", "/g/tags", json!(1)),
        "Refused /g/tags tags/0: its list needs at least 1 value",
    );
    check_refused(
        &schema,
        json!({"tags": [1, 2]}),
        op("set", "/g/tags/0", json!(2)),
        "Refused /g/tags/0 tags/0: the list already contains this value",
    );
    check_refused(
        &schema,
        json!({"tags": [1, 2]}),
        op("add", "/g/tags/0", json!(1)),
        "Refused /g/tags/0 tags/0: the list already contains this value",
    );
    check_refused(
        &schema,
        json!({"tags": [1]}),
        op("set", "/g/tags", json!([20, 30])),
        "Refused /g/tags tags: it contains 9 twice",
    );
    check_refused(
        &schema,
        json!({}),
        op("append", "/g/pair", json!(1)),
        "Refused /g/pair pair: it has 1 values and needs at least 2 values",
    );
}

/// S3-20: `move` removes and sets, both or neither.
#[test]
fn fold_move_relocates_value() {
    let go = |from: &str, path: &str| json!({"op": "move", "from": from, "path": path});
    check_without_schema(
        json!({"a": {"x": 1}, "b": 2}),
        go("/a/x", "/c/y"),
        json!({"a": {}, "b": 2, "c": {"y": 1}}),
        &[],
    );
    check_without_schema(json!({"a": 1, "b": 2}), go("/a", "/b"), json!({"b": 1}), &[]);
    check_without_schema(json!({"a": {"b": 1}}), go("/a/b", "/a"), json!({"a": 1}), &[]);
    check_without_schema(json!({"a": 1}), go("/a", "/a"), json!({"a": 1}), &[]);
    check_without_schema(json!({"l": [1, 2, 3]}), go("/l/0", "/x"), json!({"l": [2, 3], "x": 1}), &[]);
    check_without_schema(
        json!({"a": {}}),
        go("/a", "/a/b"),
        json!({"a": {}}),
        &["Refused /a/b b: it cannot be moved into itself"],
    );
    check_without_schema(json!({"a": 1}), go("/x", "/a"), json!({"a": 1}), &["Refused /x x: there is nothing to move"]);
    check_without_schema(json!({"a": 1}), go("", "/a"), json!({"a": 1}), &["Refused  there is nothing to move"]);
    let way = "the path leads through a value that is not a map, or past the end of a list";
    check_without_schema(
        json!({"a": 1, "b": 2, "c": 3}),
        go("/b", "/a/x"),
        json!({"a": 1, "b": 2, "c": 3}),
        &[&format!("Refused /a/x a: {way}")],
    );
    check_without_schema(
        json!({"l": [1, 2]}),
        go("/l/0", "/l/1"),
        json!({"l": [1, 2]}),
        &[&format!("Refused /l/1 l: {way}")],
    );
    let schema = json!({"required": ["must"], "properties": {
        "a": {"type": "integer", "maximum": 5}, "text": {"type": "string"}, "must": {}, "fixed": {"readOnly": true},
    }});
    check_with_schema(
        &schema,
        json!({"x": 9, "must": 1}),
        go("/g/x", "/g/a"),
        json!({"must": 1, "a": 5}),
        &["Clamped /g/a a: 9 is above 5, kept at 5"],
    );
    let before = json!({"x": 9.5, "must": 1, "fixed": 2, "text": "t"});
    check_refused(&schema, before.clone(), go("/g/x", "/g/text"), "Refused /g/text text: 9.5 is not a text");
    check_refused(&schema, before.clone(), go("/g/must", "/g/y"), "Refused /g/must must: it is required");
    check_refused(
        &schema,
        before.clone(),
        go("/g/fixed", "/g/y"),
        "Refused /g/fixed fixed: it is read-only and already has a value",
    );
    check_refused(
        &schema,
        before,
        go("/g/x", "/g/fixed"),
        "Refused /g/fixed fixed: it is read-only and already has a value",
    );
}

#[test]
fn fold_read_only_value_is_written_once() {
    let schema = json!({"properties": {
        "id": {"readOnly": true, "type": "integer"},
        "born": {"readOnly": true},
        "who": {"additionalProperties": {"properties": {"id": {"readOnly": true}}}},
    }});
    let set = |path: &str, value: Value| json!({"op": "set", "path": path, "value": value});
    check_with_schema(&schema, json!({}), set("/g/id", json!(7)), json!({"id": 7}), &[]);
    let frozen = "it is read-only and already has a value";
    check_refused(&schema, json!({"id": 7}), set("/g/id", json!(8)), &format!("Refused /g/id id: {frozen}"));
    check_refused(
        &schema,
        json!({"id": 7}),
        json!({"op": "add", "path": "/g/id", "value": 1}),
        &format!("Refused /g/id id: {frozen}"),
    );
    check_refused(
        &schema,
        json!({"id": 7}),
        json!({"op": "remove", "path": "/g/id"}),
        &format!("Refused /g/id id: {frozen}"),
    );
    check_refused(
        &schema,
        json!({"born": {"year": 1}}),
        set("/g/born/year", json!(2)),
        &format!("Refused /g/born/year year: {frozen}"),
    );
    check_refused(
        &schema,
        json!({"born": {"year": 1}}),
        set("/g/born/town", json!("x")),
        &format!("Refused /g/born/town town: {frozen}"),
    );
    check_refused(
        &schema,
        json!({"born": [1]}),
        json!({"op": "append", "path": "/g/born", "value": 1}),
        &format!("Refused /g/born born: {frozen}"),
    );
    let whole = "Refused /g g: a part of it is read-only and already has a value";
    check_refused(&schema, json!({"id": 7}), set("/g", json!({"id": 8})), whole);
    check_refused(&schema, json!({"id": 7}), set("/g", json!({})), whole);
    check_with_schema(
        &schema,
        json!({"id": 7}),
        set("/g", json!({"id": 7.0, "x": 1})),
        json!({"id": 7.0, "x": 1}),
        &[],
    );
    check_refused(
        &schema,
        json!({"who": {"ann": {"id": 1}}}),
        set("/g/who", json!({"ann": {"id": 2}})),
        "Refused /g/who who: a part of it is read-only and already has a value",
    );
    check_with_schema(
        &schema,
        json!({"who": {"ann": {"id": 1}}}),
        json!({"op": "remove", "path": "/g/who/ann"}),
        json!({"who": {}}),
        &[],
    );
}
