//! `x-visible`: values hidden always or until a condition holds.

use serde_json::Value;

use super::computed_order::resolve_variable;
use super::node::{AdditionalProperties, SchemaNode, ValueVisibility};
use super::{SchemaError, keywords};
use crate::world::Pointer;
use crate::world::condition::VariablePath;

/// Returns the outermost places, seen from the root, that are hidden from everything but scripts in this state.
pub(super) fn hidden_paths(top: &SchemaNode, state: &Value) -> Vec<Pointer> {
    let mut look = HiddenPathWalker { state, way: Vec::new(), found: Vec::new() };
    look.inside(top, Some(state));
    look.found
}

struct HiddenPathWalker<'s> {
    state: &'s Value,
    way: Vec<String>,
    found: Vec<Pointer>,
}

impl HiddenPathWalker<'_> {
    fn inside(&mut self, node: &SchemaNode, value: Option<&Value>) {
        if !node.has_hidden {
            return;
        }
        for (key, child) in &node.properties {
            self.visit_key(key, child, value.and_then(|value| value.get(key)));
        }
        if let (AdditionalProperties::Schema(like), Some(Value::Object(map))) = (&node.additional_properties, value) {
            for (key, inner) in map.iter().filter(|(key, _)| !node.properties.contains_key(*key)) {
                self.visit_key(key, like, Some(inner));
            }
        }
        if let (Some(items), Some(Value::Array(list))) = (&node.items, value) {
            for (position, inner) in list.iter().enumerate() {
                self.visit_key(&position.to_string(), items, Some(inner));
            }
        }
    }

    fn visit_key(&mut self, key: &str, node: &SchemaNode, value: Option<&Value>) {
        let is_seen = match &node.visibility {
            ValueVisibility::Always => true,
            ValueVisibility::Never => false,
            ValueVisibility::When(condition) => {
                condition.holds_with_scope(|variable| resolve_variable(self.state, &self.way, variable))
            }
        };
        self.way.push(key.to_owned());
        if is_seen {
            self.inside(node, value);
        } else {
            self.found.push(Pointer::from_keys(self.way.iter().cloned()));
        }
        self.way.pop();
    }
}

/// Checks that conditions only name declared values; otherwise the value could never become visible.
pub(super) fn check_conditions(top: &SchemaNode) -> Result<(), SchemaError> {
    check_node(top, top, &Pointer::default())
}

fn check_node(top: &SchemaNode, node: &SchemaNode, at: &Pointer) -> Result<(), SchemaError> {
    if !node.has_hidden {
        return Ok(());
    }
    for (child, at) in inside(node, at) {
        if let ValueVisibility::When(condition) = &child.visibility {
            for variable in condition.variables() {
                let from = if variable.is_from_top { top } else { node };
                if let Some((depth, stop)) = from.first_undeclared(&variable.keys) {
                    let name = variable.keys.get(depth).map_or("", String::as_str);
                    let guess = keywords::suggestion(name, stop.properties().map(|(key, _)| key));
                    let message = format!("\"{name}\" is not declared there{guess}");
                    return Err(SchemaError { path: at.child("x-visible"), message });
                }
            }
        }
        check_node(top, child, &at)?;
    }
    Ok(())
}

/// Returns the nodes declared inside a node, each with its place in the schema.
fn inside<'n>(node: &'n SchemaNode, at: &Pointer) -> Vec<(&'n SchemaNode, Pointer)> {
    let properties = node.properties.iter().map(|(key, child)| (child.as_ref(), at.child("properties").child(key)));
    let like = if let AdditionalProperties::Schema(like) = &node.additional_properties {
        Some((like.as_ref(), at.child("additionalProperties")))
    } else {
        None
    };
    let items = node.items.as_ref().map(|items| (items.as_ref(), at.child("items")));
    properties.chain(like).chain(items).collect()
}

/// Collects warnings about comparisons in conditions that make no sense.
pub(super) fn condition_advice(top: &SchemaNode, node: &SchemaNode, at: &Pointer, found: &mut Vec<SchemaError>) {
    for (child, at) in inside(node, at).into_iter().filter(|_| node.has_hidden) {
        if let ValueVisibility::When(condition) = &child.visibility {
            for comparison in condition.comparisons() {
                let from = |variable: &VariablePath| if variable.is_from_top { top } else { node };
                let message = from(comparison.variable)
                    .comparison_problem(&comparison, |variable| from(variable).declared_node(&variable.keys).is_some());
                found.extend(message.map(|message| SchemaError { path: at.child("x-visible"), message }));
            }
        }
        condition_advice(top, child, &at, found);
    }
}
