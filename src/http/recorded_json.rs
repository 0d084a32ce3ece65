//! Recorded JSON, as far as it is what the API document promises. Traces and deltas keep records as they were written,
//! also those of an imported file, which may hold anything under any key. What does not fit its schema is not sent.

use std::collections::HashMap;

use serde_json::{Map, Value};
use utoipa::ToSchema;
use uuid::Uuid;

use super::json_schema::AnyJson;

/// Where the API document keeps its named schemas.
const NAMED: &str = "#/components/schemas/";

/// The schema of a record, with the named schemas that it refers to.
pub struct RecordSchema {
    root: Value,
    named: HashMap<String, Value>,
}

/// What an object schema and its parts say about fields.
#[derive(Default)]
struct FieldSchemas<'a> {
    known: HashMap<&'a str, &'a Value>,
    required: Vec<&'a str>,
    /// Whether other fields are allowed.
    is_open: bool,
    /// The schema of the other fields, if they have one.
    others: Option<&'a Value>,
}

impl RecordSchema {
    /// Returns the schema of a type of the API document. It is built anew, so keep it.
    pub fn of<T: ToSchema>() -> Self {
        let json = |schema| serde_json::to_value(schema).unwrap_or_default();
        let mut named = Vec::new();
        T::schemas(&mut named);
        Self { root: json(T::schema()), named: named.into_iter().map(|(name, schema)| (name, json(schema))).collect() }
    }

    /// Returns the value without the fields and items that do not fit. `None` if the value itself does not fit, or
    /// lacks a required field.
    pub fn fitting(&self, value: Value) -> Option<Value> {
        self.fit(&self.root, value)
    }

    /// Returns the records that fit, as [`RecordSchema::fitting`] does.
    pub fn fitting_items(&self, values: impl IntoIterator<Item = Value>) -> Vec<Value> {
        values.into_iter().filter_map(|value| self.fitting(value)).collect()
    }

    fn fit(&self, schema: &Value, value: Value) -> Option<Value> {
        let Some(schema) = self.resolve(schema) else { return Some(value) };
        if let Some(choices) = schema.get("oneOf").or(schema.get("anyOf")).and_then(Value::as_array) {
            return choices.iter().find_map(|choice| self.fit(choice, value.clone()));
        }
        match value {
            Value::Object(map) if has_kind(schema, "object") => self.fit_object(schema, map).map(Value::Object),
            Value::Array(items) if has_kind(schema, "array") => {
                let Some(each) = schema.get("items") else { return Some(Value::Array(items)) };
                Some(items.into_iter().filter_map(|item| self.fit(each, item)).collect())
            }
            Value::Object(_) | Value::Array(_) => None,
            scalar => fits_scalar(schema, &scalar).then_some(scalar),
        }
    }

    fn fit_object(&self, schema: &Value, map: Map<String, Value>) -> Option<Map<String, Value>> {
        let mut fields = FieldSchemas::default();
        self.add_fields(schema, &mut fields);
        let one = |(key, value): (String, Value)| {
            let value = match fields.known.get(key.as_str()).copied().or(fields.others) {
                Some(schema) => self.fit(schema, value)?,
                None if fields.is_open => value,
                None => return None,
            };
            Some((key, value))
        };
        let kept: Map<String, Value> = map.into_iter().filter_map(one).collect();
        fields.required.iter().all(|key| kept.contains_key(*key)).then_some(kept)
    }

    /// Adds the fields of an object schema and of all its parts.
    fn add_fields<'a>(&'a self, schema: &'a Value, fields: &mut FieldSchemas<'a>) {
        let Some(schema) = self.resolve(schema) else { return fields.is_open = true };
        let parts = schema.get("allOf").and_then(Value::as_array);
        let properties = schema.get("properties").and_then(Value::as_object);
        parts.into_iter().flatten().for_each(|part| self.add_fields(part, fields));
        fields.known.extend(properties.into_iter().flatten().map(|(key, schema)| (key.as_str(), schema)));
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        fields.required.extend(required.filter_map(Value::as_str));
        match schema.get("additionalProperties") {
            Some(others @ Value::Object(_)) => fields.others = Some(others),
            Some(Value::Bool(true)) => fields.is_open = true,
            _ => fields.is_open |= parts.is_none() && properties.is_none(),
        }
    }

    /// Follows a reference. `None` if every value fits: any JSON.
    fn resolve<'a>(&'a self, schema: &'a Value) -> Option<&'a Value> {
        let Some(name) = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix(NAMED)) else {
            return Some(schema);
        };
        self.named.get(name).filter(|_| name != AnyJson::name())
    }
}

/// Returns the types of a schema; none if it takes every type.
fn kinds(schema: &Value) -> impl Iterator<Item = &str> {
    let kinds = schema.get("type");
    let several = kinds.and_then(Value::as_array).into_iter().flatten();
    kinds.filter(|kinds| kinds.is_string()).into_iter().chain(several).filter_map(Value::as_str)
}

fn has_kind(schema: &Value, kind: &str) -> bool {
    let is_object_of_parts = schema.get("allOf").is_some() && kind == "object";
    is_object_of_parts
        || kinds(schema).any(|one| one == kind)
        || (kinds(schema).next().is_none() && !is_composed(schema))
}

fn is_composed(schema: &Value) -> bool {
    schema.get("allOf").is_some()
}

/// Returns whether a value that is no list and no object fits.
fn fits_scalar(schema: &Value, value: &Value) -> bool {
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    let has_type = match value {
        Value::Null => has_kind(schema, "null"),
        Value::Bool(_) => has_kind(schema, "boolean"),
        Value::String(_) => has_kind(schema, "string"),
        Value::Number(number) => {
            let is_whole = number.is_i64() || number.is_u64();
            (is_whole && has_kind(schema, "integer"))
                || (number.as_f64().is_some_and(f64::is_finite) && has_kind(schema, "number"))
        }
        Value::Array(_) | Value::Object(_) => false,
    };
    let is_known_word = schema.get("enum").and_then(Value::as_array).is_none_or(|words| words.contains(value));
    let is_id = value.as_str().is_none_or(|id| text("format") != Some("uuid") || Uuid::try_parse(id).is_ok());
    let least = schema.get("minimum").and_then(Value::as_f64).unwrap_or(f64::MIN);
    has_type && is_known_word && is_id && value.as_f64().is_none_or(|number| number >= least)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::http::wire::records::{DiceRollSchema, HookRunSchema, PromptBlockSchema, RecordedProblemSchema};
    use crate::http::wire::reply_records::TraceHeadSchema;

    fn check<T: ToSchema>(value: Value, expected: Option<Value>) {
        assert_eq!(RecordSchema::of::<T>().fitting(value.clone()), expected, "{value}");
    }

    #[test]
    fn recorded_roll_of_other_types_is_left_out() {
        let roll = json!({"plugin": "p", "hook": "on_reply", "n": 0, "spec": "2d6", "dice": [1, 2], "total": 3});
        check::<DiceRollSchema>(roll.clone(), Some(roll.clone()));
        for (key, value) in [
            ("plugin", json!(5)),
            ("n", json!(-1)),
            ("spec", json!([])),
            ("dice", json!({})),
            ("total", json!("3")),
            ("total", json!(1.5)),
            ("hook", json!(null)),
        ] {
            let mut odd = roll.clone();
            odd[key] = value;
            check::<DiceRollSchema>(odd, None);
        }
        for odd in [json!(5), json!([]), json!({}), json!(null), json!("x"), json!(true)] {
            check::<DiceRollSchema>(odd, None);
        }
        let (mut more, mut odd_die) = (roll.clone(), roll.clone());
        more["unknown"] = json!(1);
        odd_die["dice"] = json!([1, "x", null, 2]);
        check::<DiceRollSchema>(more, Some(roll.clone()));
        check::<DiceRollSchema>(odd_die, Some(roll));
    }

    #[test]
    fn recorded_run_keeps_what_fits_and_other_fields() {
        let run = json!({"plugin": "p", "hook": "plan", "micros": "x", "warnings": [5, "w"], "log": [{"a": 1}],
            "arguments": [[null]], "refusal": {"message": 5}, "error": {"message": "m", "line": -1}});
        let kept = json!({"plugin": "p", "hook": "plan", "warnings": ["w"], "log": [{"a": 1}], "arguments": [[null]],
            "error": {"message": "m"}});
        check::<HookRunSchema>(run, Some(kept));
        check::<HookRunSchema>(json!({"plugin": "p"}), None);
        let plain = json!({"plugin": "p", "hook": "plan", "error": null});
        check::<HookRunSchema>(plain.clone(), Some(plain));
    }

    #[test]
    fn recorded_parts_of_a_record_are_checked_together() {
        let problem = json!({"code": "c", "args": {"n": [1]}, "message": "m", "plugin": "p"});
        check::<RecordedProblemSchema>(problem.clone(), Some(problem));
        check::<RecordedProblemSchema>(json!({"message": "m", "plugin": 5, "more": 1}), Some(json!({"message": "m"})));
        check::<RecordedProblemSchema>(json!({"code": "c"}), None);
        let block = json!({"text": "t", "kept": true, "role": "user", "tokens": 3, "at": {"x": 1}});
        check::<PromptBlockSchema>(block.clone(), Some(block));
        let odd = json!({"text": "t", "kept": true, "role": "robot", "tokens": -3});
        check::<PromptBlockSchema>(odd, Some(json!({"text": "t", "kept": true})));
    }

    #[test]
    fn recorded_trace_head_loses_only_what_does_not_fit() {
        let id = "01890a5d-ac96-774b-bcce-b302099a8057";
        let lore = json!({"books": [], "fired": [], "stopped": [], "silent": 0, "overflowed": false, "notes": [],
            "similar": null, "budget": 5});
        let cut = json!({"why": "budget", "through": id});
        let head = json!({"model": "m", "historyCut": cut, "lore": lore, "newer": [1]});
        check::<TraceHeadSchema>(head.clone(), Some(head));
        let odd = json!({"model": [], "historyCut": {"why": "budget", "through": "x"}, "lore": {"books": []},
            "scripts": 5, "preset": {"by": 5, "id": 7, "name": "n"}, "template": "x", "tokens": {"count": 1},
            "newer": 2});
        check::<TraceHeadSchema>(odd, Some(json!({"preset": {"name": "n"}, "newer": 2})));
    }
}
