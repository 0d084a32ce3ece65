//! The computed values of a whole schema, in order of dependency.

use std::sync::Arc;

use serde_json::Value;

use super::computed::ComputedExpr;
use super::conform::ValueConformer;
use super::node::{AdditionalProperties, SchemaNode};
use super::{SchemaError, keywords};
use crate::world::condition::VariablePath;
use crate::world::pointer::step;
use crate::world::{Pointer, ProblemKind};

/// The maximum number of computed values in one schema.
const MAX_COMPUTED_FIELDS: usize = 256;

/// One step on the path from the root of a schema to a place.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::world) enum SchemaStep {
    /// To a declared key.
    Key(String),
    /// To every undeclared key of a map; the list holds the declared ones.
    Any(Vec<String>),
}

impl SchemaStep {
    fn admits(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Key(one), Self::Key(other)) => one == other,
            _ => true,
        }
    }
}

/// A computed value: its place and its expression.
#[derive(Debug, Clone)]
pub(in crate::world) struct ComputedField {
    /// The path to the maps that contain it.
    pub container: Vec<SchemaStep>,
    /// Its key in these maps.
    pub key: String,
    /// The rule for the value.
    pub node: Arc<SchemaNode>,
    pub computed: Arc<ComputedExpr>,
    /// Whether it depends only on values of the same map.
    pub is_local: bool,
}

/// Resolves a variable: relative to the map at `container`, or from the root if the name begins with a slash.
pub(in crate::world) fn resolve_variable(
    state: &Value,
    container: &[String],
    variable: &VariablePath,
) -> Option<Value> {
    let from = if variable.is_from_top { &[] } else { container };
    from.iter().chain(&variable.keys).try_fold(state, |value, key| step(value, key)).cloned()
}

/// Returns the computed values, each after those it depends on.
pub(super) fn computed_fields(top: &Arc<SchemaNode>) -> Result<Vec<ComputedField>, SchemaError> {
    let mut found = Vec::new();
    if top.computed.is_some() {
        return Err(error_at(&[], "the root of a plugin's values cannot be computed"));
    }
    collect(top, &mut Vec::new(), &mut found)?;
    for one in &found {
        check_field(top, one)?;
    }
    sort_by_dependency(found)
}

fn collect(
    node: &Arc<SchemaNode>,
    way: &mut Vec<SchemaStep>,
    found: &mut Vec<ComputedField>,
) -> Result<(), SchemaError> {
    if !node.has_computed {
        return Ok(());
    }
    if node.items.as_ref().is_some_and(|items| items.has_computed || items.computed.is_some()) {
        return Err(error_at(way, "values inside of a list cannot be computed; use a map instead"));
    }
    for (key, child) in &node.properties {
        if let Some(computed) = &child.computed {
            let follower = ComputedField {
                container: way.clone(),
                key: key.clone(),
                node: Arc::clone(child),
                computed: Arc::clone(computed),
                is_local: false,
            };
            found.push(follower);
        }
        way.push(SchemaStep::Key(key.clone()));
        collect(child, way, found)?;
        way.pop();
    }
    if let AdditionalProperties::Schema(like) = &node.additional_properties {
        way.push(SchemaStep::Any(node.properties.keys().cloned().collect()));
        if like.computed.is_some() {
            return Err(error_at(way, "\"x-computed\" is only allowed at a declared key"));
        }
        collect(like, way, found)?;
        way.pop();
    }
    if found.len() > MAX_COMPUTED_FIELDS {
        return Err(error_at(&[], &format!("a schema has at most {MAX_COMPUTED_FIELDS} computed values")));
    }
    Ok(())
}

/// Checks that all variables are declared and that all literal results are allowed.
fn check_field(top: &SchemaNode, one: &ComputedField) -> Result<(), SchemaError> {
    let place = one.field_steps();
    // Find the node of the containing map.
    let at = |node: &SchemaNode, step: &SchemaStep| match step {
        SchemaStep::Key(key) => node.properties.get(key).cloned(),
        SchemaStep::Any(_) => {
            if let AdditionalProperties::Schema(like) = &node.additional_properties {
                Some(Arc::clone(like))
            } else {
                None
            }
        }
    };
    let mut container = Arc::new(top.clone());
    for step in &one.container {
        container = at(&container, step).unwrap_or_default();
    }
    // All variables must be declared.
    for variable in one.computed.variables() {
        let from = if variable.is_from_top { top } else { &container };
        if let Some((depth, node)) = from.first_undeclared(&variable.keys) {
            let name = variable.keys.get(depth).map_or("", String::as_str);
            let guess = keywords::suggestion(name, node.properties().map(|(key, _)| key));
            return Err(error_at(
                &place,
                &format!("\"x-computed\" names \"{name}\", which is not declared there{guess}"),
            ));
        }
    }
    // All literal results must fit the schema.
    for written in one.computed.literal_values() {
        let mut notes = Vec::new();
        let refused = ValueConformer::new(std::slice::from_ref(&one.key), &mut notes)
            .conform_node(&one.node, &mut written.clone());
        let finding = refused.err().or_else(|| notes.into_iter().find(|note| note.kind() != ProblemKind::NothingThere));
        if let Some(finding) = finding {
            return Err(error_at(&place, &format!("the result of \"x-computed\" may break its own schema: {finding}")));
        }
    }
    Ok(())
}

impl ComputedField {
    fn field_steps(&self) -> Vec<SchemaStep> {
        self.container.iter().cloned().chain([SchemaStep::Key(self.key.clone())]).collect()
    }

    /// Returns the paths that it reads.
    fn source_steps(&self) -> Vec<Vec<SchemaStep>> {
        let place = |variable: &VariablePath| {
            let from = if variable.is_from_top { &[] } else { self.container.as_slice() };
            from.iter().cloned().chain(variable.keys.iter().cloned().map(SchemaStep::Key)).collect()
        };
        self.computed.variables().into_iter().map(place).collect()
    }

    fn depends_on(&self, other: &Self) -> bool {
        let place = other.field_steps();
        self.source_steps().iter().any(|read| read.iter().zip(&place).all(|(one, other)| one.admits(other)))
    }
}

/// Sorts by dependency; returns an error for a cycle.
fn sort_by_dependency(found: Vec<ComputedField>) -> Result<Vec<ComputedField>, SchemaError> {
    let mut waiting = found;
    let mut ready: Vec<ComputedField> = Vec::new();
    while !waiting.is_empty() {
        let free = waiting.iter().position(|one| !waiting.iter().any(|other| one.depends_on(other)));
        let Some(free) = free else {
            let names: Vec<String> = waiting.iter().take(4).map(|one| one.key.clone()).collect();
            let place = waiting.first().map(ComputedField::field_steps).unwrap_or_default();
            let message = format!("\"x-computed\" has a cycle: {} depend on each other", names.join(", "));
            return Err(error_at(&place, &message));
        };
        let mut one = waiting.remove(free);
        let is_own = one.computed.variables().iter().all(|variable| !variable.is_from_top);
        one.is_local = is_own && ready.iter().filter(|other| one.depends_on(other)).all(|other| other.is_local);
        ready.push(one);
    }
    Ok(ready)
}

/// Creates an error whose path is that of a schema without references.
fn error_at(way: &[SchemaStep], message: &str) -> SchemaError {
    let keys = way.iter().flat_map(|step| match step {
        SchemaStep::Key(key) => vec!["properties".to_owned(), key.clone()],
        SchemaStep::Any(_) => vec!["additionalProperties".to_owned()],
    });
    SchemaError { path: Pointer::from_keys(keys), message: message.to_owned() }
}
