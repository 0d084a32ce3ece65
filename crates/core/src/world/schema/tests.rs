//! Tests of parsing: which schemas and conditions are accepted, and the messages for the others.

use serde_json::json;

use super::*;

fn pointer_keys(path: &str) -> Vec<String> {
    path.parse::<Pointer>().unwrap().keys().to_vec()
}

fn combat_schema() -> Schema {
    Schema::parse(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Combat",
        "type": "object",
        "$defs": {
            "stat": {"type": "integer", "minimum": 0, "maximum": 20, "x-ui": "bar"},
            "friend": {"type": "object", "properties": {"love": {"$ref": "#/$defs/stat", "title": "Love"}}},
        },
        "properties": {
            "hp": {"$ref": "#/$defs/stat", "title": "Health", "default": 20, "x-search": true},
            "place": {"type": "object", "properties": {
                "room": {"type": "string", "description": "where they stand"},
                "secret": {"type": "boolean", "x-visible": false},
            }},
            "friends": {"additionalProperties": {"$ref": "#/$defs/friend"}},
            "pack": {"type": "array", "items": {"enum": ["rope", "lamp"]}},
            "plans": {"x-visible": false, "properties": {"next": {}}},
        },
    }))
    .unwrap()
}

#[test]
fn schema_node_at_traverses_all_containers() {
    let schema = combat_schema();
    let at = |path: &str| schema.node_at(&pointer_keys(path));
    assert_eq!(at("").unwrap().title(), Some("Combat"));
    let hp = at("/hp").unwrap();
    assert_eq!((hp.title(), hp.is_visible()), (Some("Health"), true));
    assert_eq!((hp.ui(), hp.maximum().unwrap().to_string()), (Some(&json!("bar")), "20".to_owned()));
    assert_eq!(at("/friends/ann/love").unwrap().title(), Some("Love"));
    assert_eq!(at("/pack/3").unwrap().choices().unwrap().len(), 2);
    assert_eq!(at("/place/room").unwrap().description(), Some("where they stand"));
    for unsaid in ["/mana", "/pack/x", "/hp/x", "/friends/ann/x"] {
        assert!(at(unsaid).is_none(), "{unsaid}");
    }
}

#[test]
fn schema_leaves_keep_document_order() {
    let schema = combat_schema();
    let names = |leaves: &mut dyn Iterator<Item = (Pointer, &SchemaNode)>| {
        leaves.map(|(path, _)| path.to_string()).collect::<Vec<_>>()
    };
    let all = ["/hp", "/place/room", "/place/secret", "/friends", "/pack", "/plans/next"];
    assert_eq!(names(&mut schema.leaves()), all);
    assert_eq!(names(&mut schema.visible_leaves()), ["/hp", "/place/room", "/friends", "/pack"]);
    let plain = Schema::parse(json!({"type": "integer"})).unwrap();
    assert_eq!(names(&mut plain.leaves()), [""]);
}

#[test]
fn schema_hash_ignores_key_order() {
    let hash = |source: Value| Schema::parse(source).unwrap().hash().to_owned();
    let one = hash(json!({"type": "integer", "minimum": 0}));
    assert_eq!(one, hash(json!({"minimum": 0, "type": "integer"})));
    assert_ne!(one, hash(json!({"type": "integer", "minimum": 1})));
    assert_eq!(one.len(), 64);
}

#[test]
fn schema_unknown_keyword_returns_error_path() {
    let check = |source: Value, start: &str| {
        let message = Schema::parse(source.clone()).unwrap_err().to_string();
        assert!(message.starts_with(start), "{source}: {message}");
    };
    check(json!([]), "a schema must be an object");
    check(
        json!({"properties": {"hp": {"minimun": 0}}}),
        "/properties/hp/minimun: \"minimun\" is not a supported keyword; did you mean \"minimum\"? Supported keywords are type, enum",
    );
    check(json!({"oneOf": []}), "/oneOf: \"oneOf\" is not a supported keyword");
    check(json!({"x-mood": 1}), "/x-mood: \"x-mood\" is not a supported keyword");
    check(json!({"type": "int"}), "/type: expected null, boolean");
    check(json!({"type": []}), "/type: expected null, boolean");
    check(json!({"enum": []}), "/enum: expected a list of at least one");
    check(json!({"enum": [[1]]}), "/enum: expected only strings, numbers");
    check(json!({"const": {}}), "/const: expected only strings, numbers");
    check(json!({"enum": [1], "const": 1}), "/const: use either");
    check(json!({"minimum": "0"}), "/minimum: expected a number");
    check(json!({"minLength": -1}), "/minLength: expected a whole number from 0");
    check(json!({"required": ["a", 1]}), "/required: expected a list of keys");
    check(json!({"readOnly": 1}), "/readOnly: expected true or false");
    check(json!({"title": 1}), "/title: expected a string");
    check(json!({"x-ui": 1}), "/x-ui: expected a string or a map");
    check(json!({"pattern": "("}), "/pattern: the pattern cannot be used");
    check(json!({"pattern": "(\\w{1000}){1000}"}), "/pattern: the pattern cannot be used");
    check(json!({"properties": []}), "/properties: expected a map of keys");
    check(json!({"properties": {"a/b": true}}), "/properties/a~1b: a schema must be an object");
    check(json!({"items": {"items": {"type": 1}}}), "/items/items/type: expected");
    check(json!({"additionalProperties": 1}), "/additionalProperties: expected true, false or a schema");
    check(json!({"type": "integer", "minimum": 5, "maximum": 4}), "no number is in this range");
    check(json!({"type": "integer", "exclusiveMinimum": 4, "exclusiveMaximum": 5}), "no number is in this range");
    check(json!({"minLength": 2, "maxLength": 1}), "\"minLength\" is above \"maxLength\"");
    check(json!({"minItems": 2, "maxItems": 1}), "\"minItems\" is above \"maxItems\"");
    check(json!({"uniqueItems": true, "items": {}}), "\"uniqueItems\" needs \"items\"");
    check(
        json!({"type": "integer", "maximum": 5, "default": 6}),
        "/default: the default breaks its own schema: default: 6 is above 5",
    );
    check(json!({"properties": {"a": {"type": "string", "default": 1}}}), "/properties/a/default: the default breaks");
}

#[test]
fn schema_computed_unknown_source_returns_error_path() {
    let check = |source: Value, start: &str| {
        let message = Schema::parse(source.clone()).unwrap_err().to_string();
        assert!(message.starts_with(start), "{source}: {message}");
    };
    check(
        json!({"properties": {"a": {"x-computed": "hp > 1"}}}),
        "/properties/a/x-computed: the formula has a syntax error at: > 1",
    );
    check(json!({"x-computed": "1"}), "the root of a plugin's values cannot be computed");
    check(
        json!({"properties": {"hp": {}, "a": {"x-computed": "hq + 1"}}}),
        "/properties/a: \"x-computed\" names \"hq\", which is not declared there; did you mean \"hp\"?",
    );
    check(
        json!({"properties": {"a": {"x-computed": "b"}, "b": {"x-computed": "c"}, "c": {"x-computed": "a"}}}),
        "/properties/a: \"x-computed\" has a cycle: a, b, c depend on each other",
    );
    check(
        json!({"properties": {"hp": {}, "a": {"type": "string", "x-computed": [{"when": "hp > 1", "is": 3}]}}}),
        "/properties/a: the result of \"x-computed\" may break its own schema: a: 3 is not a text",
    );
    check(
        json!({"properties": {"a": {"items": {"properties": {"b": {"x-computed": "1"}}}}}}),
        "/properties/a: values inside of a list cannot be computed",
    );
    check(
        json!({"additionalProperties": {"x-computed": "1"}}),
        "/additionalProperties: \"x-computed\" is only allowed at a declared key",
    );
    check(json!({"x-prototype": true}), "/x-prototype: expected a map of entries with one schema");
    let like = json!({"type": "object", "additionalProperties": false, "properties": {"hp": {"maximum": 9}}});
    check(json!({"additionalProperties": like, "x-prototype": 1}), "/x-prototype: expected true (every");
    check(
        json!({"additionalProperties": like, "x-prototype": {"hp": 12}}),
        "/x-prototype/hp: it breaks the schema of an entry",
    );
    check(
        json!({"additionalProperties": like, "x-prototype": {"mp": 1}}),
        "/x-prototype/mp: it breaks the schema of an entry",
    );
    check(json!({"x-visible": "a >"}), "/x-visible: a condition has parts like");
    check(json!({"x-visible": 1}), "/x-visible: expected true, false, or a condition");
    check(
        json!({"properties": {"love": {}, "secret": {"x-visible": "lvoe > 3"}}}),
        "/properties/secret/x-visible: \"lvoe\" is not declared there; did you mean \"love\"?",
    );
}

#[test]
fn schema_cyclic_or_remote_reference_returns_error() {
    let check = |source: Value, start: &str| {
        let message = Schema::parse(source.clone()).unwrap_err().to_string();
        assert!(message.starts_with(start), "{source}: {message}");
    };
    check(json!({"$ref": "https://example.org/x"}), "/$ref: a reference has the form");
    check(json!({"$ref": "#/$defs/a/b"}), "/$ref: a reference has the form");
    check(json!({"$ref": "#/$defs/a"}), "/$ref: \"$defs\" has no \"a\"");
    check(
        json!({"$defs": {"a": {"type": "string"}}, "$ref": "#/$defs/a", "minimum": 1}),
        "/minimum: only these keywords are allowed beside \"$ref\"",
    );
    check(json!({"$defs": {"a": {"$ref": "#/$defs/a"}}}), "/$defs/a/$ref: \"a\" refers to itself");
    check(
        json!({"$defs": {"a": {"items": {"$ref": "#/$defs/b"}}, "b": {"items": {"$ref": "#/$defs/a"}}}}),
        "/$defs/b/items/$ref: \"a\" refers to itself",
    );
    check(json!({"properties": {"a": {"$defs": {}}}}), "/properties/a/$defs: \"$defs\" is only allowed at the top");
    let escaped = json!({"$defs": {"a/~b": {"type": "string"}}, "$ref": "#/$defs/a~1~0b"});
    assert_eq!(Schema::parse(escaped).unwrap().root_node().kinds(), [ValueKind::String]);
}

/// A small text must not become a huge schema, neither by depth nor by references that multiply.
#[test]
fn schema_oversized_returns_error() {
    let fails = |source: Value, start: &str| {
        let message = Schema::parse(source).unwrap_err().message;
        assert!(message.starts_with(start), "{message}");
    };
    let nested = |levels: usize| (0..levels).fold(json!({}), |inner, _| json!({"items": inner}));
    assert!(Schema::parse(nested(32)).is_ok());
    fails(nested(33), "the schema is too deep: the limit is 32");
    fails(nested(100), "the schema is too deep");
    fails(json!({"title": "x".repeat(300_000)}), "the schema has 300012 bytes");
    let doubling = |i: usize| json!({"properties": {"x": {"$ref": format!("#/$defs/d{}", i + 1)}, "y": {"$ref": format!("#/$defs/d{}", i + 1)}}});
    let mut defs: serde_json::Map<String, Value> = (0..25).map(|i| (format!("d{i}"), doubling(i))).collect();
    defs.insert("d25".into(), json!({}));
    fails(json!({"$defs": defs, "$ref": "#/$defs/d0"}), "the schema declares 33554432 leaves");
    let chain: serde_json::Map<String, Value> =
        (0..3000).map(|i| (format!("d{i}"), json!({"$ref": format!("#/$defs/d{}", i + 1)}))).collect();
    fails(json!({"$defs": chain}), "the schema is too deep: the limit is 32");
    let patterns: serde_json::Map<String, Value> = (0..65).map(|i| (i.to_string(), json!({"pattern": "a"}))).collect();
    fails(json!({"properties": patterns}), "a schema has at most 64 patterns");
}

#[test]
fn schema_two_bounds_stricter_wins() {
    let ends = |source: Value| {
        let schema = Schema::parse(source).unwrap();
        [schema.root_node().minimum(), schema.root_node().maximum()].map(|end| end.unwrap().to_string())
    };
    assert_eq!(ends(json!({"type": "integer", "minimum": 0, "exclusiveMinimum": 0, "maximum": 9.5})), ["1", "9"]);
    assert_eq!(
        ends(json!({"type": "integer", "exclusiveMinimum": 2.5, "minimum": 1, "maximum": 7, "exclusiveMaximum": 7})),
        ["3", "6"]
    );
    assert_eq!(ends(json!({"minimum": 0.5, "maximum": 1.5})), ["0.5", "1.5"]);
}

#[test]
fn schema_set_nested_roots_return_error() {
    let any = Arc::new(Schema::parse(json!({})).unwrap());
    let rules =
        |roots: &[&str]| SchemaSet::new(roots.iter().map(|root| (root.parse().unwrap(), Arc::clone(&any))).collect());
    for nested in [["/a", "/a"], ["/a", "/a/b"], ["/a/b", "/a"], ["", "/a"]] {
        assert!(rules(&nested).unwrap_err().message.ends_with("roots cannot be nested"), "{nested:?}");
    }
    let rules = rules(&["/a/b", "/ab", "/a/c"]).unwrap();
    let governing = |path: &str| rules.schema_for(&path.parse().unwrap()).map(|(root, _)| root.to_string());
    assert_eq!(governing("/a/b").as_deref(), Some("/a/b"));
    assert_eq!(governing("/a/c/x/y").as_deref(), Some("/a/c"));
    assert_eq!((governing("/a"), governing("/a/bb"), governing("")), (None, None, None));
    assert!(SchemaSet::default().roots().is_empty());
}

/// `hidden until`: a value becomes visible once its condition holds.
#[test]
fn schema_hidden_paths_depend_on_values() {
    let schema = Schema::parse(json!({"properties": {
        "love": {"type": "integer"}, "secret": {"type": "string", "x-visible": "love >= 20"},
        "never": {"x-visible": false, "properties": {"deep": {}}},
        "people": {"additionalProperties": {"properties": {"met": {}, "name": {"x-visible": "met and /love > 1"}}}},
    }}))
    .unwrap();
    let concealed = |state: Value| schema.hidden_paths(&state).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(concealed(json!({})), ["/secret", "/never"]);
    assert_eq!(concealed(json!({"love": 20, "people": {"a": {"met": true}, "b": {}}})), ["/never", "/people/b/name"]);
    let always: Vec<String> = schema.visible_leaves().map(|(path, _)| path.to_string()).collect();
    assert_eq!(always, ["/love", "/people"]);
}
