//! Schemas: which values may be below one root of `vars`.
//!
//! A schema is a subset of JSON Schema. It is parsed once into [`SchemaNode`]s (`parser.rs`), so that the fold can
//! clamp and check only the place it touches (`conform.rs`). Unknown keywords are refused at parsing. A [`SchemaSet`]
//! holds the active schemas of a node, each governing its own root.
//!
//! Supported keywords: `type`, `enum` and `const` (of plain values), `minimum`, `maximum`, `exclusiveMinimum`,
//! `exclusiveMaximum`, `minLength`, `maxLength`, `pattern`, `properties`, `additionalProperties`, `required`,
//! `items`, `minItems`, `maxItems`, `uniqueItems` (of plain values), `default`, `readOnly`, `title`, `description`,
//! `$defs` with local acyclic `$ref`s, `$schema` and `$comment` (both ignored), the hints `x-ui`, `x-visible` and
//! `x-search`, `x-computed` (`computed.rs`, with the order of evaluation in `computed_order.rs`) and `x-prototype`.
//!
//! To add a keyword: its name in `keywords.rs`, a field of [`SchemaNode`], its parsing in `parser.rs`, its check in
//! `conform.rs`, and a line in the tables of `tests.rs`.

mod coercion;
mod comparison_check;
mod computed;
mod computed_order;
mod conform;
mod contradictions;
mod keywords;
mod node;
mod parser;
mod schema_set;
mod subschemas;
#[cfg(test)]
mod tests;
mod ui_hints;
mod visibility;

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Pointer, canonical};

pub use super::value_kind::ValueKind;
pub use comparison_check::{TWO_VALUES, is_bare_variable};
pub(super) use computed_order::{ComputedField, SchemaStep, resolve_variable};
pub(super) use conform::{ValueConformer, ValueProblem, preserves_read_only};
pub use node::SchemaNode;
pub(super) use node::SchemaRule;
pub use schema_set::SchemaSet;

/// The error for an unusable schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", prefix(.path))]
pub struct SchemaError {
    /// The place in the schema.
    pub path: Pointer,
    /// What is wrong and what was expected.
    pub message: String,
}

fn prefix(path: &Pointer) -> String {
    if path.is_root() { String::new() } else { format!("{path}: ") }
}

/// A parsed JSON Schema.
#[derive(Debug, Clone)]
pub struct Schema {
    source: Value,
    hash: String,
    top: Arc<SchemaNode>,
    followers: Arc<[ComputedField]>,
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
    }
}

impl Schema {
    /// Parses a schema.
    ///
    /// # Errors
    /// Returns an error that names the place of an unknown or malformed keyword, an empty range, a `default` that
    /// breaks its own schema, or a cycle of computed values. Also returns an error if the schema is too large or too
    /// deep.
    pub fn parse(source: Value) -> Result<Self, SchemaError> {
        let text = parser::bounded_text(&source)?;
        let top = parser::parse_schema(&source)?;
        let followers = computed_order::computed_fields(&top)?.into();
        visibility::check_conditions(&top)?;
        Ok(Self { hash: canonical::digest(&text), source, top, followers })
    }

    /// Returns warnings about a usable schema: unknown hints, required keys that are not declared, choices of another
    /// type, and conditions that never hold.
    pub fn advice(&self) -> Vec<SchemaError> {
        let mut found = ui_hints::advice(&self.source);
        found.extend(contradictions::advice(&self.source));
        visibility::condition_advice(&self.top, &self.top, &Pointer::default(), &mut found);
        found
    }

    /// Returns the outermost places, seen from the root, that `x-visible` hides from players and models in this
    /// state.
    pub fn hidden_paths(&self, state: &Value) -> Vec<Pointer> {
        visibility::hidden_paths(self.root_node(), state)
    }

    /// Returns the computed values, each after those it depends on.
    pub(super) fn computed_fields(&self) -> &[ComputedField] {
        &self.followers
    }

    /// Returns whether the place at these keys, or one that contains it, is computed.
    pub fn is_computed(&self, keys: &[String]) -> bool {
        let mut node = Some(self.root_node());
        !self.followers.is_empty()
            && keys.iter().any(|key| {
                node = node.and_then(|node| node.child(key));
                node.is_some_and(SchemaNode::is_computed)
            })
    }

    /// Returns the source JSON.
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// Returns the blake3 hash of the canonical JSON, in hexadecimal. Schemas are stored under this name (`domain.md`
    /// 3.2).
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Renames misspelled keys, such as `Item` and `how-many` written by models, to the declared name if only one
    /// matches. Returns pairs of old and new name.
    pub fn normalize_names(&self, value: &mut Value) -> Vec<(String, String)> {
        let mut mended = Vec::new();
        coercion::normalize_names(self.root_node(), value, &mut mended);
        mended
    }

    /// Makes a standalone value, which is in no world, fit the schema. Models write such values, so obvious type
    /// errors are fixed first and missing keys get their `default` (`coercion.rs`). Then numbers are clamped as by
    /// the fold.
    ///
    /// # Errors
    /// Returns a message that says what does not fit, and where.
    pub fn coerce(&self, value: &mut Value) -> Result<(), String> {
        coercion::coerce(self.root_node(), value);
        let found = conform::ValueConformer::new(&[], &mut Vec::new()).conform_value(self.root_node(), value);
        found.map_err(|finding| match finding.path.keys() {
            [] | [_] => finding.to_string(),
            _ => format!("{}: {finding}", finding.path),
        })
    }

    /// Returns the initial value of the root: all declared defaults, including nested ones.
    pub fn default_values(&self) -> Map<String, Value> {
        parser::defaults(self.root_node())
    }

    /// Returns the rule for the root itself.
    pub fn root_node(&self) -> &SchemaNode {
        &self.top
    }

    /// Returns the rule for the place at these keys, seen from the root. It follows declared properties,
    /// `additionalProperties` and list items. `None` if the schema has no rule there.
    pub fn node_at(&self, keys: &[String]) -> Option<&SchemaNode> {
        keys.iter().try_fold(self.root_node(), |node, key| node.child(key))
    }

    /// Returns the messages the fold would produce for a value at these keys: clamped or rounded numbers, or the
    /// refusal.
    pub fn check_value(&self, keys: &[String], value: &Value) -> Vec<String> {
        let Some(node) = self.node_at(keys) else { return Vec::new() };
        let mut notes = Vec::new();
        let refused = conform::ValueConformer::new(keys, &mut notes).conform_value(node, &mut value.clone()).err();
        // Prototypes fill in values before the check, so a refusal here may not be final.
        let above = keys.split_last().and_then(|(_, above)| self.node_at(above));
        let begins = above.is_some_and(SchemaNode::has_prototypes) || node.has_prototypes();
        let findings = notes.into_iter().chain(refused.filter(|_| !begins));
        findings.map(|finding| finding.to_string()).collect()
    }

    /// Returns the declared leaves in document order, with their paths from the root. A leaf declares no properties
    /// of its own: a plain value, a list, or a map without declared keys.
    pub fn leaves(&self) -> impl Iterator<Item = (Pointer, &SchemaNode)> {
        self.walk(|_| true)
    }

    /// Returns the leaves that players can always see: neither they nor a container has an `x-visible` other than
    /// true.
    pub fn visible_leaves(&self) -> impl Iterator<Item = (Pointer, &SchemaNode)> {
        self.walk(SchemaNode::is_visible)
    }

    fn walk(&self, enter: impl Fn(&SchemaNode) -> bool) -> impl Iterator<Item = (Pointer, &SchemaNode)> {
        let mut leaves = Vec::new();
        let mut open = vec![(Pointer::default(), self.root_node())];
        while let Some((path, node)) = open.pop() {
            if !enter(node) {
                continue;
            }
            if node.properties.is_empty() {
                leaves.push((path, node));
            } else {
                open.extend(node.properties.iter().rev().map(|(key, child)| (path.child(key), child.as_ref())));
            }
        }
        leaves.into_iter()
    }
}
