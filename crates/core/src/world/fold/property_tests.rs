//! Property tests: laws for arbitrary operations on arbitrary worlds.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Map, Number, Value, json};

use super::*;
use crate::world::ProblemKind;
use crate::world::Schema;

fn schema() -> Value {
    json!({
        "type": "object", "required": ["hp"], "additionalProperties": false,
        "properties": {
            "hp": {"type": "integer", "minimum": 0, "maximum": 20},
            "luck": {"type": "number", "minimum": -1, "exclusiveMaximum": 10},
            "stage": {"enum": ["calm", "angry", 3]},
            "name": {"type": ["string", "null"], "minLength": 1, "maxLength": 3, "pattern": "^[a-z]+$"},
            "pack": {"type": "array", "minItems": 1, "maxItems": 3, "uniqueItems": true, "items": {"type": "integer", "minimum": 0, "maximum": 9}},
            "id": {"type": "integer", "readOnly": true},
            "friends": {"type": "object", "additionalProperties": {
                "type": "object", "required": ["love"],
                "properties": {"love": {"type": "integer", "minimum": -10, "maximum": 10}, "mood": {"type": "string"}},
            }},
        },
    })
}

fn rules() -> SchemaSet {
    SchemaSet::new(vec![("/g".parse().unwrap(), Arc::new(Schema::parse(schema()).unwrap()))]).unwrap()
}

/// An independent validator, written from the JSON Schema specification and not from the fold.
fn valid(schema: &Value, value: &Value) -> bool {
    let float = |value: &Value| value.as_f64();
    let size = |key: &str| schema[key].as_u64();
    let type_fits = |word: &Value| match word.as_str().unwrap() {
        "integer" => float(value).is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        other => panic!("{other}"),
    };
    let types = match &schema["type"] {
        Value::Null => true,
        Value::Array(words) => words.iter().any(type_fits),
        word => type_fits(word),
    };
    let listed = schema["enum"]
        .as_array()
        .is_none_or(|list| list.iter().any(|one| one == value || (float(one).is_some() && float(one) == float(value))));
    let range = float(value).is_none_or(|number| {
        schema["minimum"].as_f64().is_none_or(|least| number >= least)
            && schema["maximum"].as_f64().is_none_or(|most| number <= most)
            && schema["exclusiveMaximum"].as_f64().is_none_or(|end| number < end)
    });
    let text = value.as_str().is_none_or(|text| {
        let length = text.chars().count() as u64;
        size("minLength").is_none_or(|least| length >= least)
            && size("maxLength").is_none_or(|most| length <= most)
            && (schema["pattern"].is_null() || text.bytes().all(|byte| byte.is_ascii_lowercase()))
    });
    let list = value.as_array().is_none_or(|list| {
        let apart = |list: &[Value]| (1..list.len()).all(|i| list[..i].iter().all(|one| float(one) != float(&list[i])));
        size("minItems").is_none_or(|least| list.len() as u64 >= least)
            && size("maxItems").is_none_or(|most| list.len() as u64 <= most)
            && (schema["uniqueItems"] != json!(true) || apart(list))
            && (schema["items"].is_null() || list.iter().all(|one| valid(&schema["items"], one)))
    });
    let map = value.as_object().is_none_or(|map| {
        schema["required"].as_array().is_none_or(|keys| keys.iter().all(|key| map.contains_key(key.as_str().unwrap())))
            && map.iter().all(|(key, inner)| match (&schema["properties"][key], &schema["additionalProperties"]) {
                (Value::Null, Value::Null) => true,
                (Value::Null, Value::Bool(allowed)) => *allowed,
                (Value::Null, like) => valid(like, inner),
                (declared, _) => valid(declared, inner),
            })
    });
    types && listed && range && text && list && map
}

fn number() -> impl Strategy<Value = Number> {
    prop_oneof![
        (-30i64..30).prop_map(Number::from),
        (-300i32..300).prop_map(|tenths| Number::from_f64(f64::from(tenths) / 10.0).unwrap()),
    ]
}

fn small_value() -> impl Strategy<Value = Value> {
    let plain = prop_oneof![
        4 => number().prop_map(Value::Number),
        1 => Just(Value::Null),
        2 => prop::sample::select(vec!["calm", "angry", "a", "bob", "UP", "toolong"]).prop_map(Value::from),
    ];
    let key =
        prop::sample::select(vec!["hp", "luck", "stage", "name", "pack", "id", "friends", "ann", "love", "mood", "x"]);
    plain.prop_recursive(3, 12, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((key.clone(), inner), 0..5).prop_map(|entries| Value::Object(
                entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            )),
        ]
    })
}

/// Values that fit the schema often enough to test more than refusals.
fn value() -> impl Strategy<Value = Value> {
    let love = number().prop_map(|love| json!({"love": love, "mood": "calm"}));
    let governed = (number(), number(), prop::option::of(0..3)).prop_map(|(hp, love, id)| {
        let mut map = json!({"hp": hp, "friends": {"ann": {"love": love}}, "pack": [1, 2]});
        if let Some(id) = id {
            map["id"] = json!(id);
        }
        map
    });
    prop_oneof![4 => small_value(), 2 => love, 2 => governed]
}

fn path() -> impl Strategy<Value = Pointer> {
    let paths = vec![
        "/g",
        "/g/hp",
        "/g/luck",
        "/g/stage",
        "/g/name",
        "/g/pack",
        "/g/pack/0",
        "/g/pack/1",
        "/g/id",
        "/g/friends",
        "/g/friends/ann",
        "/g/friends/ann/love",
        "/g/friends/bob/love",
        "/g/friends/bob",
        "/g/unknown",
        "",
        "/free",
        "/free/x",
        "/free/x/0",
        "/free/y",
        "/n",
    ];
    prop::sample::select(paths).prop_map(|path| path.parse().unwrap())
}

fn operation() -> impl Strategy<Value = StateOperation> {
    let key = prop::sample::select(vec!["hp", "g", "ann", "x", "love", "id"]);
    let change = prop_oneof![
        3 => number().prop_map(StateChange::Add),
        4 => value().prop_map(StateChange::Set),
        1 => Just(StateChange::Remove),
        2 => (key, value()).prop_map(|(key, value)| StateChange::Insert { key: key.to_owned(), value }),
        2 => value().prop_map(StateChange::Append),
        2 => number().prop_map(|number| StateChange::Take(Value::Number(number))),
        1 => path().prop_map(|from| StateChange::Move { from }),
    ];
    (path(), change).prop_map(|(path, change)| StateOperation::new(path, change, "", ""))
}

fn operations() -> impl Strategy<Value = Vec<StateOperation>> {
    prop::collection::vec(operation(), 0..40)
}

fn fold_from_default(operations: &[StateOperation]) -> World {
    let mut world = World::default();
    fold(&mut world, operations, &rules());
    world
}

fn bytes(world: &World) -> String {
    world.to_json().to_string()
}

proptest! {
    /// C5, S3-26: folding in parts, as keyframes do, gives a byte-equal world.
    #[test]
    fn fold_split_operations_give_same_world(operations in operations(), at in 0usize..40) {
        let (first, second) = operations.split_at(at.min(operations.len()));
        let keyframe = bytes(&fold_from_default(first));
        let mut world = World::from_json(serde_json::from_str(&keyframe).unwrap()).unwrap();
        fold(&mut world, second, &rules());
        prop_assert_eq!(bytes(&world), bytes(&fold_from_default(&operations)));
        prop_assert_eq!(world.hash(), fold_from_default(&operations).hash());
    }

    /// S3-20: the governed part stays valid, whatever is proposed.
    #[test]
    fn fold_any_operations_keep_world_valid(operations in operations()) {
        let (mut world, rules) = (World::default(), rules());
        for operation in &operations {
            fold(&mut world, std::slice::from_ref(operation), &rules);
            let governed = world.vars.get("g");
            prop_assert!(governed.is_none_or(|governed| valid(&schema(), governed)), "{operation:?} gave {governed:?}");
        }
    }

    /// An operation is applied completely or not at all, and read-only values stay.
    #[test]
    fn fold_refused_operation_changes_nothing(operations in operations()) {
        let (mut world, rules) = (World::default(), rules());
        for operation in &operations {
            let before = world.clone();
            let problems = fold(&mut world, std::slice::from_ref(operation), &rules);
            let undone = problems.iter().any(|p| matches!(p.kind(), ProblemKind::Refused | ProblemKind::NothingThere));
            if undone {
                prop_assert_eq!(problems.len(), 1);
                prop_assert_eq!(bytes(&world), bytes(&before), "{:?}", operation);
            }
            let id = |world: &World| world.get(&"/g/id".parse().unwrap()).cloned();
            if let (Some(id_before), Some(_)) = (id(&before), world.vars.get("g")) {
                prop_assert!(id(&world).is_some_and(|now| values_equal(&now, &id_before)), "{operation:?}");
            }
        }
    }

    /// C20: additions that hit no bound commute.
    #[test]
    fn fold_additions_commute(amounts in prop::collection::vec(any::<i64>(), 0..20)) {
        let add = |amount: &i64| StateOperation::new("/n".parse().unwrap(), StateChange::Add((*amount).into()), "", "");
        let forth: Vec<StateOperation> = amounts.iter().map(add).collect();
        let back: Vec<StateOperation> = amounts.iter().rev().map(add).collect();
        prop_assert_eq!(bytes(&fold_from_default(&forth)), bytes(&fold_from_default(&back)));
        let sum: i128 = amounts.iter().map(|amount| i128::from(*amount)).sum();
        let expected = if amounts.is_empty() { "{}".to_owned() } else { format!("{{\"n\":{sum}}}") };
        prop_assert_eq!(Value::Object(fold_from_default(&forth).vars).to_string(), expected);
    }

    /// S3-07: any JSON value round-trips byte-equal, whatever its keys.
    #[test]
    fn fold_set_value_round_trips(entries in prop::collection::vec((".*", any_json()), 0..6)) {
        let mut world = World::default();
        for (key, value) in &entries {
            let set = StateOperation::new(Pointer::from_keys([key.clone()]), StateChange::Set(value.clone()), "", "");
            prop_assert_eq!(fold(&mut world, &[set], &SchemaSet::default()), vec![]);
        }
        let expected: Map<String, Value> = entries.into_iter().collect();
        prop_assert_eq!(Value::Object(world.vars.clone()).to_string(), Value::Object(expected).to_string());
        let read = World::from_json(serde_json::from_str(&bytes(&world)).unwrap()).unwrap();
        prop_assert_eq!(bytes(&read), bytes(&world));
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let number =
        prop::sample::select(vec!["9007199254740993", "0.1", "-0.0", "1e-7", "123456789012345678901234567890", "1.50"]);
    let plain = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number.prop_map(|text| serde_json::from_str(text).unwrap()),
        ".*".prop_map(Value::from),
    ];
    plain.prop_recursive(4, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((".*", inner), 0..4).prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// C5, S3-26: 10 000 operations with a keyframe every 1, 10 or 50 operations give the same world as without
/// keyframes.
#[test]
fn fold_keyframe_interval_does_not_change_world() {
    let rules = rules();
    let operations: Vec<StateOperation> = (0u32..10_000).map(scripted_operation).collect();
    let mut plain = World::default();
    fold(&mut plain, &operations, &rules);
    assert!(plain.vars["g"]["hp"].is_number() && plain.vars["free"]["x"].is_number(), "the script does something");
    for every in [1, 10, 50] {
        let mut world = World::default();
        for part in operations.chunks(every) {
            fold(&mut world, part, &rules);
            world = World::from_json(serde_json::from_str(&bytes(&world)).unwrap()).unwrap();
        }
        assert_eq!(bytes(&world), bytes(&plain), "every {every}");
    }
}

fn scripted_operation(turn: u32) -> StateOperation {
    let mixed = turn.wrapping_mul(2_654_435_761).rotate_left(7);
    let amount = f64::from(mixed % 41) - 20.0;
    let wire = match mixed % 7 {
        0 => json!({"op": "add", "path": "/g/hp", "value": amount}),
        1 => json!({"op": "add", "path": "/free/x", "value": amount / 10.0}),
        2 => json!({"op": "append", "path": "/g/pack", "value": mixed % 12}),
        3 => json!({"op": "take", "path": "/g/pack", "value": mixed % 12}),
        4 => json!({"op": "set", "path": format!("/g/friends/f{}/love", mixed % 5), "value": amount}),
        5 => json!({"op": "remove", "path": format!("/g/friends/f{}", mixed % 5)}),
        _ => {
            json!({"op": "move", "from": format!("/g/friends/f{}", mixed % 5), "path": format!("/g/friends/f{}", mixed % 3)})
        }
    };
    StateOperation::from_json(&wire).unwrap()
}
