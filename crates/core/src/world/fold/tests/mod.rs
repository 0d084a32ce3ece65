//! Example-based tests of the fold; `property_tests.rs` beside this folder checks laws for arbitrary operations.
//!
//! A new kind of operation gets its table in `operations.rs`; `sections.rs` tests the world as a whole.

mod computed;
mod operations;
mod sections;

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::world::Schema;

fn schema_set(root: &str, schema: Value) -> SchemaSet {
    SchemaSet::new(vec![(root.parse().unwrap(), Arc::new(Schema::parse(schema).unwrap()))]).unwrap()
}

fn world_with_vars(vars: Value) -> World {
    World::from_json(json!({"vars": vars})).unwrap()
}

fn apply_operations(world: &mut World, operations: &Value, rules: &SchemaSet) -> Vec<String> {
    let operations: Vec<StateOperation> =
        operations.as_array().unwrap().iter().map(|wire| StateOperation::from_json(wire).unwrap()).collect();
    let problems = fold(world, &operations, rules);
    problems.into_iter().map(|problem| format!("{:?} {} {problem}", problem.kind(), problem.path)).collect()
}

fn check(rules: &SchemaSet, before: Value, operation: Value, after: Value, problems: &[&str]) {
    let mut world = world_with_vars(before.clone());
    let said = apply_operations(&mut world, &json!([operation]), rules);
    assert_eq!(said, problems, "{operation} on {before}");
    assert_eq!(Value::Object(world.vars).to_string(), after.to_string(), "{operation} on {before}");
}

/// Applies an operation without a schema.
fn check_without_schema(before: Value, operation: Value, after: Value, problems: &[&str]) {
    check(&SchemaSet::default(), before, operation, after, problems);
}

/// Applies an operation under a schema for `/g`, to a world that has only `/g`.
fn check_with_schema(schema: &Value, before: Value, operation: Value, after: Value, problems: &[&str]) {
    let whole = |inner: Value| if inner.is_null() { json!({}) } else { json!({"g": inner}) };
    check(&schema_set("/g", schema.clone()), whole(before), operation, whole(after), problems);
}

fn check_refused(schema: &Value, before: Value, operation: Value, problem: &str) {
    check_with_schema(schema, before.clone(), operation, before, &[problem]);
}
